//! Titles by what was changed for them, the goal, and which message concludes.

use super::*;

#[track_caller]
fn check(session: Session, expected: &str) {
    assert_eq!(session.digest().title, expected);
}

/// A prompt, an edit of so many lines, a commit.
fn committed(session: Session, prompt: &str, path: &str, lines: u32, subject: &str) -> Session {
    session.prompt(prompt).edit(path, lines, 0).ok(&format!("git commit -am '{subject}'")).reply("It is done.")
}

#[test]
fn the_title_is_what_most_lines_were_changed_for() {
    let first =
        |lines| committed(Session::default(), "Please grease the winch", "src/winch.rs", lines, "Grease the winch");
    check(first(50), "Grease the winch");
    let two = |lines| committed(first(lines), "Now put paint on the mast", "src/mast.rs", 8, "Paint the mast");
    check(two(50), "Grease the winch");
    check(two(1), "Paint the mast");
    check(two(9), "Grease the winch; Paint the mast");
    let plan = "Implement the following plan:\n\n# Plan: Replace the rope by a chain\n\nIt is worn.";
    let planned = || Session::default().prompt(plan).edit("src/rope.rs", 40, 2);
    check(planned().ok("git commit -am 'Wip: chain and hook'"), "Replace the rope by a chain");
    check(committed(planned(), "Now put paint on the mast", "src/mast.rs", 5, "Paint the mast"), {
        "Replace the rope by a chain"
    });
    let general = "Implement the following plan:\n\n# Refactoring Plan\n\nIt is worn.";
    check(Session::default().prompt(general).edit("src/rope.rs", 40, 2), "Refactoring: rope");
}

#[test]
fn a_plan_of_files_names_what_was_changed_in_them() {
    let plan = "Implement the following plan:\n\n# Grease the winch\n\nOil `winch.rs`.";
    let planned = || committed(Session::default(), plan, "src/winch.rs", 50, "Oil the winch");
    check(planned(), "Grease the winch");
    let more = |session: Session, path: &str, subject: &str| {
        session.edit(path, 30, 0).ok(&format!("git add {path} && git commit -m '{subject}'"))
    };
    let all = more(more(planned(), "src/mast.rs", "Paint the mast"), "src/jib.rs", "Cut the long jib");
    check(all, "Grease the winch; Paint the mast");
    let told = |said: &str| {
        let all = more(more(planned(), "src/mast.rs", "Paint the mast"), "src/jib.rs", "Cut the long jib");
        all.reply(said)
    };
    check(told("It is done.\n\n## The crane of pier seven\n\n`winch.rs`, `mast.rs` and `jib.rs` are new."), {
        "The crane of pier seven"
    });
    let extended = committed(Session::default(), plan, "src/winch.rs", 50, "Grease the winch: oil, new brush");
    check(extended, "Grease the winch: oil, new brush");
    let long = "Grease the winch: oil from the shed, and a brush with a handle";
    check(committed(Session::default(), plan, "src/winch.rs", 50, long), "Grease the winch: oil from the shed");
}

#[test]
fn an_order_that_only_points_is_about_the_command_before_it() {
    let ran = Session::default().ran_by_person("make lint", Report::default());
    check(ran.prompt("please fix these").edit("src/winch.rs", 4, 1), "Fix make lint errors in winch.rs");
    check(Session::default().prompt("please fix these").edit("src/winch.rs", 4, 1), "Fix these");
}

#[test]
fn a_long_prompt_keeps_its_request() {
    let digest = |prompt: &str| Session::default().prompt(prompt).edit("src/winch.rs", 4, 1).digest();
    let story = "Oh, I have just found out that the winch stops in the rain. ".repeat(12);
    let request = "Can you please make it turn in the rain and in the snow as well, also where the mast is in the way?";
    let episode = digest(&format!("{}{request} The mast is old.", &story[..420]));
    assert!(episode.objective.starts_with("Oh, I") && episode.objective.contains(request), "{}", episode.objective);
    let goal = episode.continuation_context.split(" Changed").next().unwrap_or_default().to_owned();
    assert!(goal.contains(request), "{goal}");
}

#[test]
fn what_is_worked_on_says_more_than_the_first_question() {
    let asked = || Session::default().prompt("What does the winch do in the rain?").reply("It slips.");
    check(asked(), "What does the winch do in the rain");
    let worked = asked().prompt("Please replace the old rope by a chain").edit("src/rope.rs", 3, 1);
    assert_eq!(worked.digest().objective, "Please replace the old rope by a chain");
    check(worked, "Replace the old rope by a chain");
    let answered = Session::default()
        .prompt("Please replace the old rope by a chain")
        .reply("Which one do you want?")
        .prompt("We need the long one for now")
        .edit("src/rope.rs", 3, 1);
    check(answered, "Replace the old rope by a chain");
}

#[test]
fn a_request_that_points_takes_its_matter_from_elsewhere() {
    let edited = |prompt: &str| Session::default().prompt(prompt).edit("src/winch.rs", 4, 1);
    check(edited("I've added the ropes for it. Update them in the big crane"), "Update ropes in the big crane");
    check(edited("I got these errors:\n[crane] turning\nerror: no rope for the winch left"), {
        "No rope for the winch left"
    });
    check(edited("Please fix these lint errors"), "Fix lint errors in winch.rs");
    check(edited("Could you fix it please?").reply("I've replaced the worn `rope` by a chain. Nice."), {
        "Replaced the worn rope by a chain"
    });
    check(
        edited("Could you fix it please?").reply("Done:\n- Changed to `chain`\n- Added proper links"),
        "Fix it please",
    );
}

#[test]
fn a_conversation_is_about_what_its_answers_share() {
    let ask = |session: Session, prompt: &str, reply: &str| session.prompt(prompt).reply(reply);
    let first = ask(Session::default(), "Tell me something about these two", "The `rope` wears out, a `chain` rusts.");
    let second = ask(first, "And the strengths of this one?", "A `rope` is light, the `chain` holds.");
    check(ask(second, "So which is better?", "The `chain`, not the `rope`."), "rope and chain");
    let long = "Find out whether the crane can make use of ropes and chains, also in the rain and in the snow";
    check(Session::default().prompt(long).reply("## Summary: Ropes and chains of cranes\n\nBoth hold."), {
        "Ropes and chains of cranes"
    });
}

#[test]
fn a_goal_is_told_in_the_order_in_which_it_was_asked() {
    let first = Session::default().prompt("Please grease the winch.").edit("src/winch.rs", 9, 0).reply("It is done.");
    let two = first.prompt("Please paint the mast in red.").edit("src/mast.rs", 12, 0).reply("It is done.");
    let goal = "Goal: grease the winch. Then: paint the mast in red.";
    let episode = two.digest();
    assert!(episode.continuation_context.starts_with(goal), "{}", episode.continuation_context);
    // Whoever reads a part of a request knows that it is one.
    let long = format!("Please grease the winch. {}", "But never touch the rope of the old crane here. ".repeat(9));
    let first = Session::default().prompt(&long).edit("src/winch.rs", 9, 0).reply("It is done.");
    let two = first.prompt("Please paint the mast in red.").edit("src/mast.rs", 12, 0).reply("It is done.");
    let goal = two.digest().objective;
    assert!(goal.contains("crane here. … Then: paint the mast in red."), "{goal}");
}

#[test]
fn a_comment_on_the_work_concludes_nothing() {
    let conclusion = |session: Session| {
        let exchanges = session.digest().exchanges;
        exchanges[0].conclusion.as_ref().map(|said| said.text.clone())
    };
    let asked = || Session::default().prompt("Please grease the winch");
    let long = "The winch is behind the mast, which is why greasing it needs the long ladder from the shed.";
    assert_eq!(conclusion(asked().reply(long).ok("ls shed")), None);
    assert_eq!(conclusion(asked().reply(long).ok("ls shed").reply("The shed is empty.")).as_deref(), {
        Some("The shed is empty.")
    });
    assert_eq!(conclusion(asked().ok("ls shed").reply(long)).as_deref(), Some(long));
}

#[test]
fn a_request_is_shortened_to_whole_phrases_in_every_language() {
    for (prompt, expected) in [
        ("# Add a brake to the winch\n\nWe need one. Use a spring.", "Add a brake to the winch"),
        ("Take a look at the picture. The mast hides the whole flag at noon.", "The mast hides the whole flag at noon"),
        ("In the shed there is a rope Cat7 which is long. Split it into shorter parts", {
            "Split rope Cat7 into shorter parts"
        }),
        ("Now that the mast is up, build the new bridge: with rails", "Build the new bridge: with rails"),
        ("My hooks are loose. Find out which ones and fix them.", "My hooks are loose"),
        ("can we make the winch faster? it takes 12 minutes", "Make the winch faster"),
        ("hey! so at noon when i turn the crane, it drops two hooks. can you look into it?", "It drops two hooks"),
        ("read docs/plan.md and implement step 3", "Implement step 3: plan.md"),
        ("Paint the winch so that it is not seen by the birds of the sea at night", "Paint the winch"),
        ("Bitte füge eine Bremse für die Winde hinzu, die leise hält", "Füge Bremse für Winde hinzu, die leise hält"),
        ("¿Puedes arreglar el freno de la grúa del puerto de la ciudad? No para", {
            "Arreglar freno de grúa del puerto de ciudad"
        }),
        ("Ajoute un frein pour arrêter les grues en haut avec les cordes neuves", {
            "Ajoute frein pour arrêter grues en haut"
        }),
        ("Почини лебёдку, она не держит груз", "Почини лебёдку, она не держит груз"),
        ("给起重机加上刹车，然后写测试并且更新说明文档再提交所有的修改", "给起重机加上刹车"),
    ] {
        check(Session::default().prompt(prompt).edit("src/a.rs", 3, 1).reply("Fine."), expected);
    }
}

#[test]
fn a_request_behind_a_pasted_block_is_title_and_goal() {
    let log = "[winch] turning left\n[winch] error: the mast is bent\n\n";
    check_purpose(
        Session::default().prompt(&format!("{log}Can you straighten the mast of crane 7?")),
        "Straighten the mast of crane 7",
        "Can you straighten the mast of crane 7?: error: the mast is bent",
    );
    check_purpose(
        Session::default().prompt("```\nlift(3)\nlift(4)\n```\nMake both of these lifts safer by night"),
        "Make both of these lifts safer by night",
        "Make both of these lifts safer by night",
    );
}

#[test]
fn a_title_that_is_an_error_says_that_it_was_mended() {
    let reported = || Session::default().prompt("error: the winch is stuck at its mark");
    let mended = reported().edit("src/winch.rs", 4, 1).ok("cargo test").reply("Fixed: the winch turns past its mark.");
    check(mended, "Fix: The winch is stuck at its mark");
    check(reported().reply("I do not know why it is stuck."), "Error: the winch is stuck at its mark");
}

#[test]
fn a_greeting_is_neither_title_nor_goal_if_anything_else_was_said() {
    let greeted = || Session::default().prompt("hi").reply("Hello.").prompt("¡Hola!").reply("Hello.");
    let told = |session: Session| {
        let episode = session.digest();
        (episode.title, episode.objective)
    };
    let both = |title: &str, objective: &str| (title.to_owned(), objective.to_owned());
    assert_eq!(told(greeted().prompt("run ls").ok("ls").reply("3 files.")), both("Run ls", "run ls"));
    let titled = greeted().title(TitleSource::Model, "hi").prompt("Why does the winch hum?").reply("It is dry.");
    assert_eq!(told(titled), both("Why does the winch hum", "Why does the winch hum?"));
    assert_eq!(told(greeted()).0, "Hi");
}

#[test]
fn what_is_only_looked_at_is_looked_at_for_the_work_that_follows() {
    let looked = Session::default().prompt("Inspect the brake of the winch.").ok("ls").reply("It is in `brake.rs`.");
    let built = looked.prompt("Build a second brake for the hoist").edit("src/brake.rs", 9, 0).reply("It is there.");
    let Episode { title, objective, .. } = built.digest();
    assert_eq!(title, "Build a second brake for the hoist");
    assert_eq!(objective, "Build a second brake for the hoist");
}

#[test]
fn a_long_request_loses_what_leads_to_it() {
    for (prompt, expected) in [
        ("look at the crane again and make sure that all ropes without hooks have a red mark.", {
            "All ropes without hooks have a red mark"
        }),
        ("Stelle sicher, dass alle Seile ohne Haken eine rote Marke tragen und halten", {
            "Alle Seile ohne Haken rote Marke tragen und halten"
        }),
        ("crane list: For this week, ropes in the shed should be limited to one row, to leave room", {
            "Ropes in the shed limited to one row"
        }),
        ("The problem is simple: The crane is turning to the wrong side.", "The crane is turning to the wrong side"),
        ("Vérifie que toutes les cordes du port portent une marque rouge quand il pleut", {
            "Toutes cordes du port portent marque rouge"
        }),
        ("I want you to grease the winch so that it no longer squeaks in the cold of the night", "Grease the winch"),
        ("You are an old sailor. Your task is to mend the big rope", "Mend the big rope"),
        ("please see to the winch: https://cranes.test/port/crane/issues/7", "See to the winch: crane issue 7"),
    ] {
        check(Session::default().prompt(prompt).edit("src/a.rs", 3, 1).reply("Fine."), expected);
    }
}

#[test]
fn a_request_is_found_behind_praise_and_what_is_to_be_read() {
    for (prompt, expected) in [
        ("Great! The winch works now. But the rope slips off the drum", "The rope slips off the drum"),
        ("Super, das klappt. Die Bremse findet keinen Halt im Regen, kannst du das beheben?", {
            "Die Bremse findet keinen Halt im Regen"
        }),
        ("Read @docs/winch.md and @docs/rope.md, then replace the rope by a chain", "Replace the rope by a chain"),
        ("@docs/winch.md mend the brake of it", "Mend the brake of it"),
        (
            "all results go into this file\nto be found again\n\nlook at the shed\nbuild a new hoist",
            "Build a new hoist",
        ),
        ("The ropes of the shed are torn (on the hooks, use of chains, only in rain), and so we wait", {
            "The ropes of the shed are torn"
        }),
        ("Inspect two winches of the pier:\n- Look at how the ropes are wound\n- Find where oil drips on a rope", {
            "Inspect two winches of the pier"
        }),
        ("Let's do a review of the winch. Focus on the brake of it", "Do a review of the winch"),
    ] {
        check(Session::default().prompt(prompt).edit("src/a.rs", 3, 1).reply("Fine."), expected);
    }
}

#[test]
fn a_cut_leaves_no_part_of_a_clause() {
    for (prompt, expected) in [
        ("Add hooks and spare ropes to find if both the red crane and the blue crane lift as they should", {
            "Add hooks and spare ropes"
        }),
        ("Mend it, using the same `rope` and `hook` parts as most other cranes of this pier do", {
            "Mend it, using same rope and hook parts"
        }),
        ("Create 3 red cranes and then create a long pier of stone for them", "Create 3 red cranes and long pier"),
        ("Bitte schau dir mal den Kran im Hafen an und sag mir, warum die Winde bei Regen stehen bleibt", {
            "Warum die Winde bei Regen stehen bleibt"
        }),
        ("Please review the ropes on this crane and tell me if any of them is worn before I lift", {
            "Review ropes on this crane"
        }),
    ] {
        check(Session::default().prompt(prompt).edit("src/a.rs", 3, 1).reply("Fine."), expected);
    }
}

#[test]
fn the_error_that_a_prompt_shows_is_its_title() {
    let edited = |prompt: &str| Session::default().prompt(prompt).edit("src/winch.rs", 4, 1).reply("Fine.");
    check(edited("With this winch, we get this error:\n```\n\"[\" was not wound\n```\nFix it, then explain."), {
        "Fix: \"[\" was not wound"
    });
    check(
        edited(
            "finde raus warum beim Start der neuen Winde im Hafen am Abend das Seil reißt. der Fehler ist:\nHoist of the pier: no rope on it\n\nDanke",
        ),
        "Hoist of the pier: no rope on it",
    );
}

#[test]
fn of_small_commits_one_that_adds_something_is_the_title() {
    let session = committed(Session::default(), "Build a hoist", "src/hoist.rs", 5, "feat: add a small hoist");
    let mended = committed(session, "It squeaks", "src/winch.rs", 6, "fix: grease the old winch");
    check(
        committed(mended, "Write it down", "src/mast.rs", 6, "docs: tell how the mast stands"),
        "Add a small hoist; Grease the old winch",
    );
}
