use serde_json::json;

use super::Session;
use baton_conversation::item::{Body, ListedFiles, Meta, Outcome, Report, WorkTree};

#[track_caller]
fn check(session: Session, expected: &[(u64, &str)]) {
    let episode = session.digest();
    let found: Vec<_> = episode.decisions.iter().map(|decision| (decision.line, decision.text.as_str())).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_choice_of_the_agent_is_told_once_with_its_reason() {
    let choice = "I take a queue instead of a thread, because a queue is bounded by nature.";
    check(
        Session::default()
            .prompt("Make it faster")
            .reply(&format!("I looked at it. **{choice}** It works."))
            .reply(choice),
        &[(3, choice)],
    );
    check(Session::default().prompt("Make it faster").reply("I looked at it. All tests pass."), &[]);
    check(
        Session::default()
            .prompt("x")
            .edit("a.rs", 1, 1)
            .reply("The lock cannot help, since two processes run. Dead end, I take it out again."),
        &[(4, "The lock cannot help, since two processes run. Dead end, I take it out again.")],
    );
}

#[test]
fn of_several_ways_thought_of_before_an_edit_the_last_one_is_told() {
    let thought = |said: &str| Session::default().prompt("Make it faster").reply(said).edit("a.rs", 1, 1);
    let (first, last) = ("I'll keep the map instead of a list.", "I'll use a list instead of the map.");
    check(thought(first), &[(2, first)]);
    check(thought(&format!("{first} Actually, {last}")), &[(2, &format!("Actually, {last}"))]);
    check(thought("Let me keep the map instead of a list, or better yet, drop both."), &[]);
}

#[test]
fn a_proposal_is_no_decision_and_the_answer_to_it_may_be_one() {
    let proposal = || Session::default().prompt("How would you do it?").reply("I'd keep the key in the header.");
    check(proposal().prompt("yes, do that"), &[]);
    check(proposal().prompt("no, use a cookie there").edit("a.rs", 1, 1), &[(3, "User: no, use a cookie there")]);
    let taken_up = proposal().prompt("good. go on").edit("a.rs", 1, 1);
    check(taken_up, &[(2, "I'd keep the key in the header.")]);
    let offer = || Session::default().prompt("Where to?").reply("Both work. Shall I take the header?");
    check(offer().prompt("ok, the header then"), &[(3, "Shall I take the header? User: ok, the header then")]);
    check(offer().prompt("ok, commit what is there"), &[]);
}

#[test]
fn a_person_corrects_and_lays_down() {
    let start = || Session::default().prompt("never use tabs in this").reply("Done: the form is validated now.");
    check(start(), &[]);
    check(start().prompt("thanks. commit it"), &[]);
    check(
        start().prompt("good. please don't touch the lock file. two days is enough").edit("a.rs", 1, 1),
        &[(3, "User: please don't touch the lock file"), (3, "User: two days is enough")],
    );
    check(start().prompt("please don't touch the lock file"), &[]);
    // How long a text shall be is no choice that stands.
    check(start().prompt("say in the notes how long it waits. one line is enough").edit("a.md", 1, 1), &[]);
    check(start().prompt("why don't you use the lock file?").edit("a.rs", 1, 1), &[]);
    check(start().prompt("let's update the manual with that. add a section on locks").edit("a.md", 1, 1), &[]);
    let asked = |reply| start().prompt("could we use the lockfile for it?").reply(reply).edit("a.rs", 1, 1);
    check(asked("Yes, that is simpler."), &[(3, "User: could we use the lockfile for it? (agreed)")]);
    let answered = "User: could we use the lockfile for it? Agent: The lockfile has room for it.";
    check(asked("Yes! The lockfile has room for it."), &[(3, answered)]);
    let doubted = "maybe we should use the lockfile for it?\nerror: no such table";
    check(
        start().prompt(doubted).reply("Yes! The lockfile has room.").ok("git mv a b"),
        &[(3, "User: maybe we should use the lockfile for it? Agent: The lockfile has room.")],
    );
    check(asked("The lockfile is gone."), &[]);
    check(start().prompt("leave that for tomorrow"), &[]);
    let again = |prompt| start().add(Body::Notice { text: "interrupted by the user".into() }).prompt(prompt);
    check(again("no, the library can do this"), &[(4, "User: no, the library can do this")]);
    check(again("another program was here, read the files again"), &[]);
    let asked = || start().reply("Which one do you want, a table or a list?");
    check(asked().prompt("the table"), &[(4, "Which one do you want, a table or a list? User: the table")]);
    check(asked().prompt("what is the difference?"), &[]);
}

#[test]
fn answers_refusals_and_approved_plans_are_decisions() {
    let answered = "User has answered your questions: \"Where?\"=\"Postgres\", \"How long?\"=\"a day\". You can now continue with the user's answers in mind.";
    let question = json!({ "questions": [{ "question": "Where?" }, { "question": "How long?" }] });
    let mut session = Session::default().prompt("go").call("AskUserQuestion", question, None);
    session = session.result(Outcome::Ok, None, None).add(Body::Answer { text: answered.into() });
    session.items[3].line = 3;
    check(session, &[(3, "Where? User: Postgres"), (3, "How long? User: a day")]);

    let denied = |reason: &str| {
        let call = Session::default().prompt("go").call("Bash", json!({ "command": "git push" }), None);
        let mut session = call.result(Outcome::Denied, None, None).add(Body::Answer { text: reason.into() });
        session.items[3].line = 3;
        session
    };
    check(denied("never push from here"), &[(3, "User refused `git push`: never push from here")]);
    check(denied("what would that do?"), &[]);
}

#[test]
fn a_plan_decides_what_it_lists_as_decided_or_names_as_its_approach() {
    let planned = |plan: &str, outcome| {
        let plan = json!({ "plan": plan });
        Session::default().prompt("go").call("ExitPlanMode", plan, None).result(outcome, None, None)
    };
    let carried_out = |plan: &str| planned(plan, Outcome::Ok).edit("a.rs", 1, 1);
    let listed = "# Faster\n\n## Design decisions\n- **Store**: one file\n  - how it is named\n- No index\n\n## Steps\n1. Index it instead of a scan\n";
    check(carried_out(listed), &[(3, "Index it instead of a scan"), (3, "Store: one file"), (3, "No index")]);
    check(planned(listed, Outcome::Ok), &[]);
    let reverted = carried_out(listed).prompt("no, I've reverted all that");
    check(reverted, &[]);
    check(planned(listed, Outcome::Denied), &[]);
    let approach = "# Faster\n\n## Approach\nAn index is kept beside the file. It is small.\n\n## Steps\n- Read pages instead of lines there\n- The sorting stays unchanged in it\n";
    let chosen = [(3, "An index is kept beside the file."), (3, "Read pages instead of lines there")];
    check(carried_out(approach), &chosen);
    check(carried_out("# Faster\n\n1. Index it\n2. Page it…[+900 chars #01234567]"), &[]);
    let kept = "# Faster\nIt is slow.\n\n## Steps\n- Index it\n- Read only what is new (the rest is sorted)\n- Page only the list\n\n## Unchanged files\n- `a.rs`\n- `b.rs`\n\n## Tests\n- Run it only once\n";
    check(carried_out(kept), &[(3, "Read only what is new (the rest is sorted)")]);
    let left = "# Faster\nIt is slow.\n\n## Steps\n- Index it\n\n## Out of scope\n- The archive\n";
    check(carried_out(left), &[(3, "Out of scope: The archive")]);
    let introduced = "# Faster\n\n## Approach\nOne index:\n- by name\n- by day\n\n## Steps\n- Index it\n";
    check(carried_out(introduced), &[(3, "One index: by name; by day")]);
    let reasoned = "# Faster\nIt is slow.\n\n## Steps\n- Index it\n- Name the order by day; fallback: by name\n- Sort it first to avoid a second pass\n- This is fine since it is small\n";
    let chosen = [(3, "Name the order by day; fallback: by name"), (3, "Sort it first to avoid a second pass")];
    check(carried_out(reasoned), &chosen);
    let labelled = "# Faster\nIt is slow.\n\n**User decisions:**\n- One file\n- No index\n\n## Steps\n- Read it\n";
    check(carried_out(labelled), &[(3, "One file"), (3, "No index")]);
    let asked = Session::default().prompt("Make it faster.\n\n**Decisions:**\n- One file\n- No index\n\nGo on.");
    check(asked.edit("a.rs", 1, 1), &[(1, "User: One file"), (1, "User: No index")]);
}

#[test]
fn who_stops_a_plan_says_what_becomes_of_it() {
    let stopped = |said: &str| {
        let plan = json!({ "plan": "# Winch\n1. Grease it\n" });
        let session = Session::default().prompt("go").call("ExitPlanMode", plan, None);
        let session = session.result(Outcome::Denied, None, None);
        session.add(Body::Notice { text: "interrupted by the user".into() }).prompt(said).edit("a.rs", 1, 1)
    };
    let said = "Never mind, write down how the drum turns first";
    check(stopped(said), &[(5, &format!("User on the plan: {said}"))]);
    check(stopped("Why would the drum be greased first then?"), &[]);
    check(stopped("Go on"), &[]);
}

#[test]
fn what_is_done_for_a_reason_is_a_choice_where_the_change_follows() {
    let said = "The cache is shared. Since two processes write it, I lock it first.";
    let chosen = [(2, said)];
    check(Session::default().prompt("Make it safe").reply(said).edit("a.rs", 1, 1), &chosen);
    check(Session::default().prompt("Make it safe").reply(said).read("a.rs"), &[]);
    let said = "take the lock out, since nobody else writes";
    let chosen = [(2, "Take the lock out, since nobody else writes")];
    check(Session::default().prompt("Make it safe").reply(&format!("Let me {said}:")).edit("a.rs", 1, 1), &chosen);
    for narrated in
        ["I need to lock it first, since two processes write it.", "I'm checking who writes it, since only one may."]
    {
        check(Session::default().prompt("Make it safe").reply(narrated).edit("a.rs", 1, 1), &[]);
    }
}

#[test]
fn what_overruled_a_decision_is_told_with_it() {
    let told = |session: Session| {
        let episode = session.digest();
        let by = |said: &super::Pointed| episode.overruled_by[&(said.line, said.text.clone())].text.clone();
        episode.superseded.iter().map(|said| (said.text.clone(), by(said))).collect::<Vec<_>>()
    };
    let choice = "I take a queue instead of a thread, because a queue is bounded by nature.";
    let start = || Session::default().prompt("Make it faster").reply(choice).edit("a.rs", 1, 1);
    assert_eq!(told(start().prompt("commit it")), []);
    let objection = "no, a queue is not bounded here, use the thread";
    assert_eq!(told(start().prompt(objection)), [(choice.to_owned(), format!("User: {objection}"))]);
    assert_eq!(told(start().prompt("undo that")), [(choice.to_owned(), "User: undo that".to_owned())]);
    assert_eq!(told(start().prompt("no, keep the old name of the file")), []);
    assert_eq!(told(start().prompt("oh no, the queue and the thread are lost")), [], "a complaint chooses nothing");
    let again = "I keep the queue instead of a thread, because a queue is bounded by nature.";
    assert_eq!(told(start().prompt(objection).reply(again).edit("a.rs", 1, 1)), [], "it stands again");
}

#[test]
fn what_a_person_went_back_from_decides_nothing() {
    let below = |session: Session, parent: &str| session.add(Body::Meta(Meta::Below(parent.into())));
    let asked = || below(Session::default(), "").prompt("Make it faster").reply("An index helps, or a cache.");
    let first = below(asked(), "a").prompt("use a cache for it").edit("a.rs", 1, 1).reply("The cache is there.");
    let again = below(first, "a").prompt("use an index for it").edit("b.rs", 1, 1).reply("The index is there.");
    let found: Vec<_> = again.digest().decisions.into_iter().map(|said| said.text).collect();
    assert_eq!(found, ["User: use an index for it"]);
}

#[test]
fn a_conclusion_decides_by_what_it_takes_or_leaves() {
    let concluded = |said: &str| Session::default().prompt("Make it safe").edit("a.rs", 1, 1).reply(said);
    let kept = "The old format is kept for one release.";
    check(concluded(kept), &[(4, kept)]);
    check(Session::default().prompt("Make it safe").reply(kept), &[]);
    check(concluded("Fixed the lock instead of the map."), &[]);
    check(concluded("All writers now use the lock instead of the map."), &[]);
    check(concluded("The lock is taken once (instead of twice) now."), &[]);
    check(concluded("## Tests added\n- one writer instead of two"), &[]);
    check(concluded("Key benefits:\n- one lock instead of two"), &[]);
    check(concluded("- `a.rs`: one lock instead of two"), &[(4, "`a.rs`: one lock instead of two")]);
}

#[test]
fn one_choice_is_told_once_at_the_later_place() {
    let listed = json!({ "plan": "# Faster\n\n## Decisions\n- One index file beside the archive\n- No cache\n" });
    let session = Session::default().prompt("go").call("ExitPlanMode", listed, None).result(Outcome::Ok, None, None);
    let again = "One index file beside the archive instead of one for each page.";
    let session = session.edit("a.rs", 1, 1).reply(again);
    check(session, &[(3, "No cache"), (6, again)]);
}

#[test]
fn a_choice_is_one_in_every_language() {
    for said in [
        "Die Liste ist jetzt eine Tabelle statt eines Baums.",
        "El formato anterior se mantiene por ahora en el archivo.",
        "La liste reste inchangée, au lieu de la trier.",
        "A lista usa uma tabela em vez de uma árvore.",
        "Список теперь таблица вместо дерева.",
        "列表现在用表格而不是树。",
        "一覧は木ではなく表を使います。",
    ] {
        check(Session::default().prompt("go").edit("a.rs", 1, 1).reply(said), &[(4, said)]);
    }
    for said in [
        "nein, nimm hier eine Tabelle",
        "no, usa una tabla para eso",
        "non, utilise un tableau ici",
        "não, use uma tabela para isso",
        "нет, используй здесь таблицу",
        "不要用树，用表格",
        "木ではなく表にして",
    ] {
        let session = Session::default().prompt("go").edit("a.rs", 1, 1).reply("Done: it is sorted.").prompt(said);
        check(session, &[(5, &*format!("User: {said}"))]);
    }
}

#[test]
fn how_the_work_goes_on_decides_nothing() {
    let told = |session: Session| session.digest().decisions.into_iter().map(|said| said.text).collect::<Vec<_>>();
    for said in [
        "Use ctrl-c if it hangs again",
        "always happens on Mondays when the cron runs",
        "use the Chrome tool to look at the page",
        "don't stop until it is all green",
        "Don't worry about the tests, they are slow",
    ] {
        let start = Session::default().prompt("Grease the winch").edit("winch.rs", 5, 1).reply("It is greased.");
        let session = start.prompt(said).edit("winch.rs", 2, 1).reply("Done.");
        assert_eq!(told(session), [""; 0], "{said}");
    }
    for said in [
        "I'll use grep instead of reading the whole file, because it is large.",
        "I'm restarting the server because the port is taken.",
        "I decided to read the config first.",
        "I kept the terminal open so you can look at it.",
        "The server returns a string instead of a number, because the mock is old.",
    ] {
        let session = Session::default().prompt("Grease the winch").reply(said).edit("winch.rs", 5, 1);
        assert_eq!(told(session.ok("make").reply("I greased `winch.rs`.")), [""; 0], "{said}");
    }
    let asked = Session::default().prompt("Look at it").edit("a.rs", 1, 1).reply("Do you want a table or a list?");
    assert_eq!(told(asked.prompt("wait 1 sec").edit("a.rs", 1, 1)), [""; 0]);
}

#[test]
fn what_the_changes_show_to_be_replaced_is_a_choice() {
    let wrote = |text: &str| Session::default().prompt("Grease the winch").wrote("winch.rs", text);
    let grease = || wrote("let grease = Grease::of(mutton);");
    for said in [
        "- Replaced the `tallow` with `Grease::of(mutton)`",
        "- **Squeak mended**: replaced the tallow with grease",
        "- Changed the drum from tallow to grease",
    ] {
        check(grease().reply(said), &[(4, said.trim_start_matches("- ").replace("**", "").as_str())]);
    }
    // Nothing of it was written.
    check(wrote("let rope = 1;").reply("- Replaced the `tallow` with `Grease::of(mutton)`"), &[]);
    check(grease().reply("- Replaced the old test of the winch with one of grease"), &[]);
    let details = "The winch is quiet. Switched the drum from tallow to grease:\n- `a`: grease of mutton\n- `b`: replaced tallow with grease";
    check(grease().reply(details), &[(4, "Switched the drum from tallow to grease")]);
    let committed = |subject: &str| {
        let mut session = grease().ok(&format!("git commit -m '{subject}'"));
        if let Some(Body::Call(call)) = session.items.iter_mut().rev().nth(1).map(|item| &mut item.body) {
            call.commit = Some(subject.to_owned());
        }
        session
    };
    // A subject says what was done.
    check(committed("Replace tallow with grease on the drum"), &[]);
    let told =
        committed("Replace tallow with grease on the drum").reply("- Replaced the tallow with grease on the drum.");
    check(told, &[(6, "Replaced the tallow with grease on the drum.")]);
    let told =
        committed("Add grease to the drum").reply("**`src/drum.rs`**:\n- Uses the grease instead of the tallow.");
    check(told, &[(6, "`drum.rs`: Uses the grease instead of the tallow.")]);
}

#[test]
fn a_commit_of_some_files_and_an_overridden_safeguard_are_choices() {
    let status = |listed: &[&str]| {
        let unstaged = listed.iter().map(|path| (*path).to_owned()).collect();
        let files = Some(ListedFiles { unstaged, ..ListedFiles::default() });
        let report = Report { work_tree: Some(WorkTree { files, ..WorkTree::default() }), ..Report::default() };
        let session = Session::default().prompt("Commit it").ran_by_person("git status", report);
        session.reply("Let me only commit the two files of the winch.")
    };
    let all = ["src/winch.rs", "src/drum.rs", "crane/drum.rs"];
    let add = "git add src/winch.rs src/drum.rs && git commit -m x";
    let told = (4, "Only commit the two files of the winch: `src/drum.rs`, `winch.rs`; not `crane/drum.rs`");
    check(status(&all).ok(add), &[told]);
    check(
        status(&all).ok(add).reply("I'll only commit one file more.").ok("git add rope.rs && git commit -m y"),
        &[told],
    );
    check(status(&all).ok(add).ok("git add crane/drum.rs && git commit -m y"), &[]);
    check(status(&all[..2]).ok(add), &[]);
    // Without a word: what the session did not change, and what no commit takes.
    let unsaid = |listed: &[&str]| status(listed).prompt("now").edit("crane/jib.rs", 1, 1);
    let unsaid = |listed: &[&str]| unsaid(listed).ok(add);
    check(unsaid(&all), &[(8, "Leave `crane/drum.rs` out of the commit")]);
    check(unsaid(&["src/winch.rs", "crane/jib.rs"]), &[]);
    check(unsaid(&all).ok("git add -A && git commit -m y"), &[]);
    let unlisted = Session::default().prompt("Commit it").reply("I'll only commit the two files of the winch.");
    check(unlisted.ok(add), &[(2, "I'll only commit the two files of the winch: `drum.rs`, `winch.rs`")]);
    check(status(&all).ok("git add -A && git commit -m x"), &[]);
    check(status(&all).ok("git add . && git commit -m x"), &[]);
    check(status(&all).ok("git status"), &[]);
    let forced = || Session::default().prompt("Commit it").reply("The hook tests the harbour. This is a text.");
    let told = (2, "`git commit --no-verify`: The hook tests the harbour. This is a text");
    check(forced().ok("git commit --no-verify -m x"), &[told]);
    let again = forced().ok("git commit --no-verify -m x").reply("And the rest.").ok("git commit --no-verify -m y");
    check(again, &[told]);
    check(forced().ok("git commit -m 'no --no-verify'"), &[]);
}

#[test]
fn an_item_of_a_plan_counts_with_what_it_belongs_to() {
    let told = |plan: &str| {
        let plan = json!({ "plan": format!("# Faster\n\n## Context\nIt is slow, not fast.\n\n{plan}") });
        let session = Session::default().prompt("go").call("ExitPlanMode", plan, None).result(Outcome::Ok, None, None);
        session.edit("a.rs", 1, 1).digest().decisions.into_iter().map(|said| said.text).collect::<Vec<_>>()
    };
    for (plan, expected) in [
        ("## 1. Index `a.rs`\nAdd a branch that:\n- Keeps the order (no sorting)\n", &[][..]),
        ("## 1. Index `a.rs`\n- Read only the head\n", &[]),
        (
            "## 1. Index `a.rs`\n- **Read only the head** (the rest is text)\n- **Read** it\n",
            &["Read only the head (the rest is text)"],
        ),
        (
            "## Edges\n- **No file**: an empty list\n- **Two files**: both\n",
            &["No file: an empty list", "Two files: both"],
        ),
        ("## Edges\n1. **No file**: an empty list\n2. **Two files**: both\n", &[]),
        (
            "## Why no other changes needed\n- **Lock**: it is there\n- **Log**: as it was\n",
            &["Lock: it is there", "Log: as it was"],
        ),
        ("## No changes needed\nThe log has it all.\n", &["No changes needed: The log has it all."]),
        ("## Steps\nNo new files, no new crates.\n", &["No new files, no new crates."]),
        ("## Fix\n**File:** `a.rs`\n\nSort the pages by name.\n", &["Sort the pages by name."]),
        ("## Wishes (confirmed)\n- By name\n- At once\n", &["By name", "At once"]),
    ] {
        assert_eq!(told(plan), expected, "{plan}");
    }
    let opened = json!({ "plan": "# Faster\nI'll read pages instead of lines:\n\n## Steps\n- Read\n" });
    let session = Session::default().prompt("go").call("ExitPlanMode", opened, None).result(Outcome::Ok, None, None);
    check(session.edit("a.rs", 1, 1), &[(3, "I'll read pages instead of lines")]);
}

#[test]
fn a_choice_of_a_plan_counts_if_it_was_written_or_concluded() {
    let told = |plan: &str, concluded: &str| {
        let plan = json!({ "plan": format!("# Faster\n\n## Context\nIt is slow.\n\n{plan}") });
        let session = Session::default().prompt("go").call("ExitPlanMode", plan, None).result(Outcome::Ok, None, None);
        session.edit("winch.rs", 1, 1).reply(concluded).digest().decisions.into_iter().map(|said| said.text).collect()
    };
    let (safe, doubt) =
        ("**Fail-safe**: If the drum is broken, the winch stops.", "Default: when in doubt, prefer the drum");
    let stops = "Broken drum: the winch stops (fail-safe).";
    for (plan, concluded, expected) in [
        (
            "## Turn\nTurn the drum.\n\nIt uses `winch` directly (no lock needed — one hand turns it).",
            "",
            &["It uses `winch` directly (no lock needed — one hand turns it)."][..],
        ),
        ("## Turn\nTurn the drum.\n\nIt uses `crane` directly (no lock needed — one hand turns it).", "", &[]),
        (
            "## Approach\nAdd a brake. It sits on the rope, not on the drum.",
            "",
            &["Add a brake.", "It sits on the rope, not on the drum."],
        ),
        (
            &format!("## Turn\n- {safe}\n- **Drum**: grease the bearing"),
            stops,
            &["Fail-safe: If the drum is broken, the winch stops."],
        ),
        (&format!("## Turn\n- {safe}"), "Done.", &[]),
        (&format!("## Turn\n- {doubt}"), "In doubt, prefer the drum by default.", &[doubt]),
        (
            &format!("## A \"Drum\" section\n- **Drum**: only what the rope needs, not more\n- {doubt}"),
            "In doubt, prefer the drum by default.",
            &[doubt],
        ),
        (
            "## Files\n**Rationale for the split**: The drum comes first. The rope is rare.\n",
            "",
            &["Rationale for the split: The drum comes first. The rope is rare."],
        ),
        (
            "## Ropes\nThese must NOT be cut:\n- The long rope\n- The short rope\n",
            "",
            &["These must NOT be cut: The long rope; The short rope"],
        ),
    ] {
        let found: Vec<String> = told(plan, concluded);
        assert_eq!(found, expected, "{plan}");
    }
}

#[test]
fn what_follows_from_another_sentence_is_told_with_it() {
    let said = |text: &str| Session::default().prompt("Grease the winch").reply(text).edit("winch.rs", 1, 1);
    let whole = "The drum greases itself. So I don't grease the drum by hand, because that would double it.";
    check(said(whole), &[(2, whole)]);
    check(said("So I don't grease the drum by hand, because that would double it."), &[]);
    let done = "The work is done — the drum now takes grease instead of tallow.";
    let session = Session::default().prompt("Grease the winch").edit("winch.rs", 1, 1).reply(done);
    check(session, &[(4, "the drum now takes grease instead of tallow.")]);
}

#[test]
fn what_is_said_to_a_commit_is_no_word_against_it() {
    let call = Session::default().prompt("go").call("Bash", json!({ "command": "git commit -m 'Grease it'" }), None);
    let mut session = call.result(Outcome::Denied, None, None).add(Body::Answer { text: "add the drum first".into() });
    if let Body::Call(call) = &mut session.items[1].body {
        call.commit = Some("Grease it".to_owned());
    }
    session.items[3].line = 3;
    check(session, &[(3, "User: add the drum first")]);
}

#[test]
fn what_prepares_the_work_decides_nothing() {
    let said = "The branch is behind, so I'm catching up first to avoid a conflict with the rope.";
    let session = |command: &str| Session::default().prompt("Grease it").reply(said).ok(command).edit("a.rs", 1, 1);
    check(session("git pull --ff-only"), &[]);
    check(session("git push origin --delete rope"), &[(2, said)]);
}

#[test]
fn a_conclusion_that_lists_decisions_tells_them() {
    let told = "## Key decisions\n- The drum is greased at night only\n\n## Checks\n- The drum turns at night\n";
    let session = Session::default().prompt("Grease it").edit("winch.rs", 1, 1).reply(told);
    check(session, &[(4, "The drum is greased at night only")]);
}

#[test]
fn what_is_deleted_to_get_a_commit_through_is_a_choice() {
    let blocked = |path: &str| {
        let session = Session::default().prompt("Commit it").edit("jib.rs", 1, 1).failed("git commit -m x", 1, "boom");
        session.reply("The hook reads old copies. Let me clear them away:").ok(&format!("rm -rf {path}"))
    };
    let told = (6, "`rm tmp/copies`: The hook reads old copies. Let me clear them away");
    check(blocked("tmp/copies/").ok("git commit -m x"), &[told]);
    check(blocked("tmp/copies/"), &[]);
    // Its own file.
    check(blocked("jib.rs").ok("git commit -m x"), &[]);
}

#[test]
fn a_better_approach_takes_the_place_of_the_one_before() {
    let first = "A better approach is to keep the winch in the drum.";
    let session = || Session::default().prompt("x").reply(first).edit("drum.rs", 1, 1);
    check(session(), &[(2, first)]);
    check(session().reply("Let me take a cleaner approach.").edit("winch.rs", 1, 1), &[]);
    // What is announced and then only looked into was not done.
    let simpler = "Instead, let me take a simpler approach, because of the frost: keep the winch in the drum.";
    let looked = Session::default().prompt("x").reply(simpler).ok("cat drum.rs").reply("It is full.");
    check(looked.edit("winch.rs", 1, 1).reply("Done."), &[]);
}

#[test]
fn what_is_said_of_a_cause_is_no_choice() {
    let session = |said: &str| Session::default().prompt("x").edit("winch.rs", 1, 1).reply(said);
    let rope = "The winch keeps the rope, so it never turns.";
    check(session(&format!("Done.\n\n**Root cause**: The drum is worn. {rope}")), &[]);
    check(session(&format!("Done.\n\n**Root cause**: The drum is worn.\n\n{rope}")), &[(4, rope)]);
}
