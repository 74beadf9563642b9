//! The program in a terminal: help, tables that fit, errors that a program can parse, completions.

use serde_json::{Value, json};

use crate::screen::Screen;
use crate::transcript::now;
use crate::world::{Ran, World, finished, id, list, text};

const COMMANDS: [&str; 9] = ["search", "show", "close", "sessions", "status", "logs", "completions", "daemon", "stop"];

/// Commands that share their name with a topic of the long help.
const TOPICS: [&str; 2] = ["search", "sessions"];

fn with(world: &World, name: &str, value: &str, arguments: &[&str]) -> Ran {
    finished(world.command(arguments).env(name, value).output().unwrap())
}

#[test]
fn help_teaches_in_groups() {
    let world = World::new();
    let help = world.ok(&["--help"]).out;
    let at = |text: &str| help.find(text).unwrap_or_else(|| panic!("no {text:?} in {help}"));
    let groups = ["\nUse:\n", "\nLook:\n", "\nConfigure:\n", "\nMaintain:\n", "\nOptions:\n", "\nExamples:\n"];
    assert!(groups.iter().map(|group| at(group)).is_sorted(), "{help}");
    for command in COMMANDS {
        assert!(at(&format!("\n  {command} ")) > at("\nUse:\n"));
        let taught = world.ok(&[command, "--help"]).out;
        let told = world.ok(&["help", command]).out;
        match TOPICS.contains(&command) {
            true => assert!(told.starts_with("# ") && told.contains(&format!("`baton {command} --help`")), "{told}"),
            false => assert_eq!(taught, told),
        }
        for part in ["Usage:", "Exit codes:", "Environment:"] {
            assert!(taught.contains(part), "{command} lacks {part}: {taught}");
        }
        assert!(taught.contains("\nExamples:\n"), "{taught}");
    }
    let near = world.run(&["sesions"]);
    assert_eq!(near.code, 2);
    assert!(near.err.contains("sessions"), "the nearest command is named: {}", near.err);
    let near = world.run(&["serch"]).err;
    assert!(near.find("'search'") < near.find("'service'"), "the nearest command comes first: {near}");
    assert!(!world.home().exists());
}

#[test]
fn long_help_is_listed_and_printed_by_topic() {
    let world = World::new();
    let all = world.ok(&["help"]).out;
    assert!(all.contains("\nUse:\n") && all.contains("\nTopics:\n"), "{all}");
    let listed = list(&world.json(&["help"])["topics"]);
    assert!(listed.len() >= 15, "{listed:?}");
    for topic in listed {
        let (name, about) = (text(&topic["topic"]), text(&topic["about"]));
        assert!(all.contains(&format!("\n  {name} ")) && all.contains(&about), "{name}: {all}");
        let plain = world.ok(&["help", &name]).out;
        let object = world.json(&["help", &name]);
        assert_eq!((text(&object["topic"]), text(&object["text"])), (name, plain));
    }
    assert_eq!(world.ok(&["help", "log", "tail"]).out, world.ok(&["log", "tail", "--help"]).out);
    assert_eq!(world.ok(&["help", "Obsidian"]).out, world.ok(&["help", "vault"]).out);
    let near = world.run(&["help", "configuraton"]);
    assert!(near.code == 2 && near.out.is_empty() && near.err.contains("`configuration`"), "{}", near.err);
    assert!(!world.home().exists());
}

#[cfg(unix)]
#[test]
fn long_help_is_paged_on_a_terminal_and_nowhere_else() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    let pager = world.path("pager");
    std::fs::write(&pager, "#!/bin/sh\necho paged $1\nexec head -n 1\n").unwrap();
    std::fs::set_permissions(&pager, std::fs::Permissions::from_mode(0o755)).unwrap();
    let named = format!("{} twice", pager.display());
    let paged = |value: &str, json: bool| {
        let arguments: &[&str] = if json { &["help", "privacy", "--json"] } else { &["help", "privacy"] };
        Screen::run_with(&world, arguments, &[("PAGER", value)]).end()
    };
    assert_eq!(
        paged(&named, false),
        (0, "paged twice\r\n# Privacy: what is kept, what is cut, what leaves the machine\r\n".to_owned())
    );
    // No pager, a pager that does not exist, and output for a program.
    for (value, json) in [("", false), ("no-such-pager", false), (named.as_str(), true)] {
        let (code, shown) = paged(value, json);
        assert!(code == 0 && !shown.contains("paged twice") && shown.contains("<private>"), "{value}: {shown}");
    }
    let piped = with(&world, "PAGER", &named, &["help", "privacy"]).out;
    assert!(piped.starts_with("# Privacy") && piped.lines().count() > 20, "{piped}");
}

#[test]
fn completions_are_scripts_and_need_no_home() {
    let world = World::new();
    for (shell, part) in [
        ("bash", "complete -F"),
        ("zsh", "#compdef baton"),
        ("fish", "complete -c baton"),
        ("powershell", "Register-ArgumentCompleter"),
        ("elvish", "edit:completion"),
    ] {
        let mut command = world.command(&["completions", shell]);
        let ran = finished(command.env_clear().output().unwrap());
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{shell}");
        assert!(ran.out.contains(part) && ran.out.contains("sessions"), "{shell}: {}", ran.out);
    }
    assert_eq!(world.run(&["completions", "tcsh"]).code, 2);
    assert!(!world.home().exists());
}

#[test]
fn errors_are_objects_where_json_is_asked_for() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).prompt("the patient sloth");
    let cases: [(i32, &str, &[&str]); 7] = [
        (1, "not_found", &["show", "nobody", "--json"]),
        (1, "not_found", &["sessions", "--project", "nowhere", "--json"]),
        (1, "not_found", &["search", "sloth", "--json", "--project", "nowhere"]),
        (2, "usage", &["search", "--json", "  "]),
        (2, "usage", &["search", "--json"]),
        (2, "usage", &["sessions", "--json", "--state", "odd"]),
        (2, "usage", &["nonsense", "--json"]),
    ];
    for (code, name, arguments) in cases {
        let ran = world.run(arguments);
        assert_eq!((ran.code, ran.out.as_str()), (code, ""), "baton {arguments:?}: {}", ran.err);
        let error: Value =
            serde_json::from_str(&ran.err).unwrap_or_else(|_| panic!("baton {arguments:?}: {}", ran.err));
        assert_eq!(error["error"]["code"], name, "baton {arguments:?}: {error}");
        assert!(text(&error["error"]["message"]).len() > 10, "{error}");
    }
    // After `--` it is a search word.
    let ran = world.run(&["search", "sloth", "--project", "nowhere", "--", "--json"]);
    assert!(ran.code == 1 && ran.err.starts_with("baton: "), "{}", ran.err);
    let blank = world.run(&["search", " "]);
    assert!(blank.code == 2 && blank.err.contains("baton search refresh token"), "{}", blank.err);
    let wild = world.ok(&["search", "*"]).out;
    assert!(wild.contains("no word in") && wild.contains("baton search refresh token"), "{wild}");
}

#[test]
fn tables_fit_the_terminal_and_are_whole_elsewhere() {
    let world = World::new();
    let folder = "日本語のとても長い名前のプロジェクト-with-a-long-latin-name-after-it";
    world.transcript(folder, &id(1)).at(now()).prompt("mend the 漢字 parser \u{202e}sloth \u{1b}[31mred");
    world.transcript("-work-two", &id(2)).at(now()).prompt("a giraffe");
    // A transcript with only a snapshot, and the newest file of all.
    world
        .transcript("-work-two", &id(3))
        .append(&json!({"type": "file-history-snapshot", "messageId": "m", "snapshot": {}}));

    let whole = world.ok(&["sessions"]).out;
    assert!(whole.contains(&format!("/srv/{folder}")), "{whole}");
    let lines: Vec<&str> = whole.lines().collect();
    assert!(lines[0].contains("session") && lines[0].contains("project"), "{whole}");
    assert!(lines.last().unwrap().contains("00000003"), "where nothing was said comes last: {whole}");
    assert!(lines[1].starts_with('●'), "{whole}");
    let fitted = with(&world, "COLUMNS", "60", &["sessions"]).out;
    for line in fitted.lines() {
        let columns: usize = line.chars().map(|c| if c > '\u{2fff}' { 2 } else { 1 }).sum();
        assert!(columns <= 60, "{columns} columns: {line}");
    }
    assert!(fitted.contains("…") && fitted.contains("after-it"), "of a path the end is kept: {fitted}");

    let found = world.ok(&["search", "sloth"]).out;
    assert!(!found.contains(['\u{1b}', '\u{202e}']), "{found:?}");
    assert!(found.contains("漢字"), "{found}");
    world.transcript("-work-two", &id(0xabc)).prompt("an old one");
    for typed in ["00000ABC", &id(0xabc).to_uppercase()] {
        assert_eq!(world.show(typed)["session_id"], *id(0xabc));
    }
}

#[test]
fn sessions_are_filtered_by_why_and_those_without_words_come_last_in_json_too() {
    let world = World::new();
    let mut snapshot = world.transcript("-work-two", &id(3)).at(now());
    snapshot.append(&json!({"type": "file-history-snapshot", "messageId": "m", "snapshot": {}}));
    world.transcript("-work-one", &id(1)).prompt("an old sloth");
    world.close(&id(1));
    let closed = world.json(&["close", &id(3)]);
    assert_eq!(closed["episode_uuid"], Value::Null, "{closed}");
    let ids = |arguments: &[&str]| -> Vec<String> {
        let rows = list(&world.json(&[&["sessions"], arguments].concat())["sessions"]);
        rows.iter().map(|row| text(&row["session_id"])).collect()
    };
    assert_eq!(ids(&[]), [id(1), id(3)]);
    assert_eq!(ids(&["--state", "empty"]), [id(3)]);
    assert_eq!(ids(&["--state", "UNINDEXED"]), [id(3)]);
    assert_eq!(ids(&["--state", "gone"]), [""; 0]);
}

#[test]
fn what_was_said_again_and_again_is_shown_once() {
    let world = World::new();
    let mut transcript = world.transcript("-work-one", &id(1));
    for _ in 0..3 {
        transcript.prompt("where does the marmot sleep").reply("I shall look.");
    }
    let found = world.ok(&["search", "marmot"]).out;
    let passages = found.lines().filter(|line| line.contains(", user: ") && line.contains("marmot")).count();
    assert_eq!(passages, 1, "{found}");
    let hits = list(&world.search("marmot")["hits"]);
    assert!(hits.iter().filter(|hit| hit["kind"] == "turn").count() > 1, "a program gets them all: {hits:?}");
}

#[test]
fn forgetting_is_asked_for_and_only_a_yes_is_one() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).prompt("the secretive numbat").reply("yes");
    assert_eq!(world.found("numbat"), [id(1)]);
    let ask = |arguments: &[&str], typed: &str| {
        let mut screen = Screen::run(&world, arguments);
        screen.answer("[y/N]", typed);
        let (code, shown) = screen.end();
        let listed = shown.find("00000001").unwrap_or_else(|| panic!("{shown}"));
        let asked = shown.find("Forget this session (1), 2 files, 1 KB?").unwrap_or_else(|| panic!("{shown}"));
        assert!(listed < asked, "what goes is shown first: {shown}");
        (code, shown)
    };
    let ways: [&[&str]; 3] =
        [&["forget", "00000001"], &["forget", "--project=-work-one"], &["forget", "--before", "0d"]];
    // The last one is the end of input.
    for typed in ["n\n", "\n", "maybe\n", "yes please\n", "\u{4}"] {
        for way in ways {
            let (code, shown) = ask(way, typed);
            assert!(code == 1 && shown.contains("Nothing was changed"), "{typed:?}: {code} {shown}");
        }
    }
    assert_eq!(world.found("numbat"), [id(1)]);
    let (code, shown) = ask(ways[1], " Yes \n");
    assert!(code == 0 && shown.contains("1 session forgotten"), "{code} {shown}");
    assert!(
        shown.contains("Note: sessions of /srv/-work-one that begin later")
            && shown.contains("session_tracking.exclude"),
        "{shown}"
    );
    assert_eq!((world.found("numbat").len(), world.show(&id(1))["state"].clone()), (0, "forgotten".into()));
    // If nothing matches, there is no question, and a program is never asked.
    let (code, shown) = Screen::run(&world, &["forget", "--before", "90d"]).end();
    assert!(code == 0 && shown.contains("nothing to forget") && !shown.contains("[y/N]"), "{code} {shown}");
    let (code, shown) = Screen::run(&world, &["forget", "00000001", "--json"]).end();
    assert!(code == 1 && shown.contains("--yes") && !shown.contains("[y/N]"), "{code} {shown}");
}

#[test]
fn a_close_that_could_mean_several_lists_them_with_state_and_time() {
    let world = World::new();
    let work = world.path("work");
    let work = work.canonicalize().unwrap();
    for number in [1, 2] {
        let transcript = world.transcript("-work", &id(number)).at(now()).in_directory(work.to_str().unwrap());
        { transcript }.prompt("which of us");
    }
    let ran = world.run(&["close"]);
    assert_eq!(ran.code, 1, "{}", ran.out);
    for number in [1, 2] {
        let line = ran.err.lines().find(|line| line.contains(&id(number)));
        let line = line.unwrap_or_else(|| panic!("{}", ran.err));
        assert!(line.contains("active, last activity 20"), "{}", ran.err);
    }
}

#[test]
fn a_command_that_meets_a_stopping_daemon_is_answered_by_the_next() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).prompt("the unhurried sloth");
    world.close(&id(1));
    let commands =
        [["show", "00000001", "--json"], ["sessions", "--subagents", "--json"], ["search", "sloth", "--json"]];
    let asked = [const { std::sync::atomic::AtomicU32::new(0) }; 3];
    let over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        use std::sync::atomic::Ordering::Relaxed;
        for (arguments, asked) in commands.iter().zip(&asked) {
            let (world, over) = (&world, &over);
            scope.spawn(move || {
                while !over.load(Relaxed) {
                    assert!(world.ok(arguments).out.contains(&id(1)), "{arguments:?}");
                    asked.fetch_add(1, Relaxed);
                }
            });
        }
        for _ in 0..5 {
            let before = asked.each_ref().map(|asked| asked.load(Relaxed));
            // A command may have stopped it just now, or be starting it.
            world.ok(&["stop"]);
            // A command survives one daemon that stops, but not two during the same request, so each command is
            // answered in between.
            let each = || asked.iter().zip(&before).all(|(asked, before)| asked.load(Relaxed) > before + 1);
            assert!(crate::world::wait(each), "answers go on");
        }
        over.store(true, Relaxed);
    });
}
