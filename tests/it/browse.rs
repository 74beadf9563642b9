//! The browser in a terminal: what is on the screen after which keys.

mod glass;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use rustix::process::{Signal, WaitOptions, waitpid};

use self::glass::Glass;
use crate::transcript::now;
use crate::world::{World, id};

const ENTER: &str = "\r";
const ESC: &str = "\u{1b}";
const DOWN: &str = "\u{1b}[B";

/// A control key.
fn control(key: char) -> String {
    char::from(key as u8 & 0x1f).to_string()
}

fn open(world: &World, arguments: &[&str], columns: u16, rows: u16) -> Glass {
    Glass::start(world.command(arguments), columns, rows)
}

/// A browser on the example sessions, once they are read.
fn examples(world: &World, columns: u16, rows: u16) -> Glass {
    let glass = open(world, &["--examples", "browse"], columns, rows);
    glass.wait("list of sessions", |screen| screen.contains("16 sessions\n"));
    glass
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("replay-fixtures/screens").join(format!("{name}.txt"))
}

/// Compares the screen with a golden one; waits until it is so.
fn is_golden(glass: &Glass, name: &str) {
    let path = golden(name);
    if std::env::var_os("BATON_UPDATE_FIXTURES").is_some() {
        // Until nothing has changed for a while.
        let mut last = (String::new(), 0);
        crate::world::wait(|| {
            let now = glass.text();
            last = if now == last.0 { (now, last.1 + 1) } else { (now, 0) };
            last.1 > 100
        });
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, last.0 + "\n").unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    glass.wait(&format!("screen as in {}:\n{expected}", path.display()), |screen| {
        screen == expected.trim_end_matches('\n')
    });
}

#[test]
fn screens_of_three_sizes_are_as_expected() {
    for (columns, rows) in [(60, 20), (100, 30), (200, 50)] {
        let world = World::new();
        let mut glass = examples(&world, columns, rows);
        is_golden(&glass, &format!("list_{columns}x{rows}"));
        glass.press("web locks");
        glass.sees("Matches");
        is_golden(&glass, &format!("found_{columns}x{rows}"));
        glass.press(ENTER);
        glass.sees("q back");
        is_golden(&glass, &format!("conversation_{columns}x{rows}"));
        glass.press("?");
        glass.sees("Ctrl-P Ctrl-N");
        glass.press(&control('c'));
        let (code, glass) = glass.end();
        assert!(code == 0 && !glass.is_taken());
    }
}

#[test]
fn typing_searches_and_escape_goes_back() {
    let world = World::new();
    for (number, words) in [(1, "the patient sloth sleeps"), (2, "a giraffe drinks")] {
        world.transcript("-work-one", &id(number)).at(now()).prompt(words).reply("It is so.");
        world.close(&id(number));
    }
    let mut glass = open(&world, &[], 100, 30);
    glass.sees("2 sessions\n");
    glass.press("slot");
    let screen = glass.wait("the sloth alone", |screen| screen.contains("1 session\n") && screen.contains("Matches"));
    assert!(screen.starts_with("> slot") && !screen.contains("giraffe"), "{screen}");
    assert!(glass.cells(vt100::Cell::underline).contains("sloth"), "the word is marked");
    glass.press("hx");
    glass.sees("Nothing found.");
    glass.press(ESC);
    glass.sees("2 sessions\n");
    glass.press(&control('f'));
    let foot = |screen: &str| screen.lines().last().unwrap_or_default().to_owned();
    glass.wait("a foot with nothing left of the one below", |screen| {
        screen.contains("Filter by") && foot(screen) == "type to narrow  Enter choose  Esc back"
    });
    glass.press(ESC);
    glass.wait("no choice any more", |screen| !screen.contains("Filter by"));
    glass.press("\t");
    glass.wait("keys of the preview", |screen| foot(screen).starts_with("Preview: Up Down scroll"));
    glass.press("\t");
    glass.wait("keys of the list", |screen| foot(screen).starts_with("Enter open"));
    glass.press(ESC);
    let (code, glass) = glass.end();
    assert!(code == 0 && !glass.is_taken());
    let written = String::from_utf8_lossy(&glass.bytes()).into_owned();
    assert!(written.ends_with("\u{1b}[?25h"), "the cursor is shown again");
}

#[test]
fn what_is_typed_finds_what_was_never_indexed() {
    let world = World::new();
    let mut glass = open(&world, &[], 100, 30);
    glass.sees("No sessions yet.");
    world.transcript("-work-one", &id(1)).at(now()).prompt("a wombat digs").reply("It does.");
    glass.press("wombat");
    glass.sees("a wombat digs");
}

#[test]
fn the_list_is_refreshed_by_itself_while_something_is_read_or_runs() {
    let world = World::new();
    for number in 2..20 {
        let mut old = world.transcript("-work-one", &id(number)).minutes_ago(2_000 + i64::from(number));
        old.prompt(&format!("task {number} of an older day")).reply("It is done.");
    }
    let mut running = world.transcript("-work-one", &id(1)).at(now());
    running.prompt("the patient sloth").reply("It sleeps.");
    let glass = open(&world, &[], 100, 60);
    let is_whole = |screen: &str| {
        screen.contains("19 sessions\n")
            && (2..20).all(|number| screen.contains(&format!("Task {number} of")))
            && screen.contains("state    running")
            && !screen.contains("msgs · ind")
    };
    glass.wait("the titles of all, without a key", is_whole);
    running.prompt("and the giraffe").reply("It drinks.");
    // The browser only looks again; a question from elsewhere reads what came.
    assert_eq!(world.found("giraffe"), [id(1)]);
    glass.wait("the answer to it", |screen| screen.contains("4 msgs") && screen.contains("state    running"));
    world.close(&id(1));
    glass.wait("the end of it", |screen| screen.contains("4 msgs") && !screen.contains("runn"));
}

/// A long conversation, with calls of tools.
fn long(world: &World) -> String {
    let mut transcript = world.transcript("-work-one", &id(1)).at(now());
    for number in 0..400 {
        transcript.prompt(&format!("question {number} of many")).reply(&format!("reply {number}"));
        if number == 371 {
            transcript.reply("a needle lies here");
        }
    }
    world.close(&id(1));
    id(1)
}

#[test]
fn a_long_conversation_is_read_in_windows_and_found_in() {
    let world = World::new();
    long(&world);
    let mut glass = open(&world, &[], 100, 30);
    glass.sees("1 session\n");
    glass.press(ENTER);
    let screen =
        glass.wait("the beginning", |screen| screen.contains("question 0 of many") && screen.contains("q back"));
    assert!(screen.lines().next().unwrap().contains("801 steps"), "{screen}");
    glass.press("/NEEDLE\r");
    let screen = glass.wait("the needle", |screen| screen.contains("a needle lies here"));
    assert!(screen.contains("reply 371"), "{screen}");
    glass.press("]");
    glass.wait("the next prompt", |screen| screen.lines().nth(4).is_some_and(|line| line.contains("question 372")));
    glass.press("[[");
    glass.wait("the prompt before", |screen| screen.lines().nth(4).is_some_and(|line| line.contains("question 370")));
    glass.press("G");
    glass.sees("reply 399");
    glass.press("g");
    glass.sees("question 0 of many");
    glass.press("/no such words\r");
    glass.sees("0 messages with");
    // Scrolled through, nothing is left out: each screen begins with the last two lines of the one before.
    let mut last = body(&glass.text());
    while turns(&last).iter().all(|turn| *turn < 300) {
        glass.press(" ");
        let ends = &last[last.len() - 2..];
        // A screen that is being drawn is a part of two.
        let is_next = |screen: &str| {
            let lines = body(screen);
            lines.starts_with(ends) && turns(&lines).windows(2).all(|pair| pair[1] == pair[0] + 1)
        };
        last = body(&glass.wait("the next screen", is_next));
    }
    glass.press(&control('c'));
    assert_eq!(glass.end().0, 0);
}

#[test]
fn an_open_conversation_grows_while_its_end_is_on_the_screen() {
    let world = World::new();
    let mut running = world.transcript("-work-one", &id(1)).at(now());
    running.prompt("the patient sloth").reply("It sleeps.");
    let mut glass = open(&world, &[], 100, 30);
    glass.sees("1 session\n");
    glass.press(ENTER);
    glass.wait("the conversation", |screen| screen.contains("It sleeps.") && screen.contains("q back"));
    running.prompt("and the giraffe").reply("It drinks.");
    glass.wait("what was added, without a key", |screen| screen.contains("It drinks.") && screen.contains("4 steps"));
    for turn in 0..30 {
        running.prompt(&format!("question {turn}")).reply(&format!("reply {turn}"));
    }
    // The screen follows the end.
    glass.sees("reply 29");
    glass.press("g");
    glass.sees("the patient sloth");
    glass.press(&control('c'));
    assert_eq!(glass.end().0, 0);
}

/// The lines between the first and the last of a screen.
fn body(screen: &str) -> Vec<String> {
    let lines: Vec<String> = screen.lines().map(str::to_owned).collect();
    lines[1..lines.len() - 1].to_vec()
}

/// The numbers of the turns on a screen: a question and its reply are two.
fn turns(lines: &[String]) -> Vec<usize> {
    let turn = |line: &String| {
        let (said, number) = line.trim().split_once(' ')?;
        let number: usize = number.split(' ').next()?.parse().ok()?;
        matches!(said, "question" | "reply").then(|| number * 2 + usize::from(said == "reply"))
    };
    lines.iter().filter_map(turn).collect()
}

#[test]
fn calls_of_tools_are_folded_and_a_click_unfolds_them() {
    let world = World::new();
    let mut glass = examples(&world, 100, 40);
    glass.press("web locks");
    glass.sees("Matches");
    glass.press(ENTER);
    glass.press("g");
    glass.sees("▸ ");
    let calls = |glass: &Glass, mark: &str| glass.lines().iter().position(|line| line.trim().starts_with(mark));
    assert_eq!(calls(&glass, "▾"), None);
    glass.press("t");
    glass.sees("▾ ");
    glass.press("t");
    glass.wait("folded calls", |screen| screen.contains("▸ ") && !screen.contains('▾'));
    let row = calls(&glass, "▸").unwrap() + 1;
    glass.press(&format!("\u{1b}[<0;10;{row}M"));
    glass.sees("▾ ");
}

#[test]
fn a_resize_draws_anew_in_the_new_size() {
    let world = World::new();
    let mut glass = examples(&world, 120, 30);
    assert!(glass.text().contains('│'), "{}", glass.text());
    glass.resize(60, 20);
    glass.wait("the list above the preview", |screen| screen.contains("─────") && !screen.contains('│'));
    glass.resize(250, 60);
    glass.wait("the preview beside the list", |screen| screen.contains('│'));
    glass.resize(9, 3);
    glass.sees("too small");
}

#[test]
fn hostile_text_steers_nothing_not_even_when_copied() {
    let world = World::new();
    let hostile = "evil\u{1b}]0;owned\u{7} \u{1b}[2J\u{202e}title\u{9b}31m \u{1b}]52;c;aGk=\u{7}end";
    world.transcript("-work-\u{202e}one", &id(1)).at(now()).prompt(hostile).reply(hostile);
    world.close(&id(1));
    let mut glass = open(&world, &[], 100, 30);
    let screen = glass.sees("evil ");
    assert!(screen.contains("end"), "{screen}");
    glass.press(ENTER);
    glass.wait("the conversation", |screen| screen.contains("q back") && screen.contains("line 2"));
    glass.press("c");
    glass.sees("copied the message");
    glass.press(&control('c'));
    let (_, glass) = glass.end();
    let written = String::from_utf8(glass.bytes()).unwrap();
    for steering in ["\u{1b}]0;", "\u{202e}", "\u{9b}", "aGk=\u{7}"] {
        assert!(!written.contains(steering), "{steering:?} in {written:?}");
    }
    let copied = written.split("\u{1b}]52;c;").nth(1).unwrap().split('\u{1b}').next().unwrap();
    let copied = String::from_utf8(decoded(copied)).unwrap();
    assert!(copied.contains("evil") && copied.contains("end"), "{copied:?}");
    assert!(!copied.contains(['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}']), "{copied:?}");
}

/// Bytes written in base64.
fn decoded(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits = text.bytes().filter_map(|byte| DIGITS.iter().position(|digit| *digit == byte));
    let bits: Vec<usize> = bits.flat_map(|digit| (0..6).rev().map(move |bit| digit >> bit & 1)).collect();
    bits.chunks_exact(8).map(|byte| byte.iter().fold(0, |sum, bit| sum * 2 + *bit as u8)).collect()
}

#[test]
fn without_colours_there_are_none() {
    let mut world = World::new();
    world.set("NO_COLOR", "1");
    world.transcript("-work-one", &id(1)).at(now()).prompt("the patient sloth").reply("Sleeps.");
    world.close(&id(1));
    let mut glass = open(&world, &["browse", "sloth"], 100, 30);
    glass.sees("Matches");
    let coloured = |glass: &Glass| {
        glass.cells(|cell| cell.fgcolor() != vt100::Color::Default || cell.bgcolor() != vt100::Color::Default)
    };
    assert_eq!(coloured(&glass), "");
    assert!(glass.cells(vt100::Cell::underline).contains("sloth"));
    glass.press(&control('c'));
    assert_eq!(glass.end().0, 0);

    let world_with_colours = World::new();
    world_with_colours.transcript("-work-one", &id(1)).at(now()).prompt("the patient sloth").reply("Sleeps.");
    world_with_colours.close(&id(1));
    let glass = open(&world_with_colours, &["browse", "sloth"], 100, 30);
    glass.sees("Matches");
    let seen = coloured(&glass);
    assert!(seen.contains("sloth"), "{seen}");
    let is_background = |cell: &vt100::Cell| cell.bgcolor() != vt100::Color::Default;
    assert_eq!(glass.cells(is_background), "", "no background is assumed");
    let is_of_16 = |cell: &vt100::Cell| !matches!(cell.fgcolor(), vt100::Color::Default | vt100::Color::Idx(0..16));
    assert_eq!(glass.cells(is_of_16), "");
}

#[test]
fn signals_put_the_terminal_back() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).at(now()).prompt("the patient sloth");
    let mut glass = open(&world, &[], 80, 24);
    glass.sees("1 session\n");
    glass.press(&control('z'));
    let mut stopped = None;
    let is_stopped = || {
        let status = waitpid(Some(glass.pid()), WaitOptions::UNTRACED | WaitOptions::NOHANG).unwrap();
        stopped = status.map(|(_, status)| status.stopped());
        stopped == Some(true)
    };
    assert!(crate::world::wait(is_stopped), "Ctrl-Z stops it: {stopped:?}");
    assert!(crate::world::wait(|| !glass.is_taken()), "the terminal is put back");
    glass.signal(Signal::CONT);
    assert!(crate::world::wait(|| glass.is_taken()), "it is taken again");
    glass.sees("1 session\n");
    glass.signal(Signal::TERM);
    let (code, glass) = glass.end();
    assert!(code == 128 + 15 && !glass.is_taken(), "{code}");
}

#[test]
fn a_session_goes_on_in_its_agent_and_what_cannot_is_said() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut world = World::new();
    let programs = world.path("programs");
    std::fs::create_dir_all(&programs).unwrap();
    let agent = programs.join("claude");
    std::fs::write(&agent, "#!/bin/sh\nprintf 'started %s in %s\\n' \"$*\" \"$(pwd -P)\"\n").unwrap();
    std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).unwrap();
    world.set("PATH", format!("{}:{}", programs.display(), std::env::var("PATH").unwrap()));
    let work = std::fs::canonicalize(world.path("work")).unwrap().display().to_string();
    world.transcript("-work", &id(1)).at(now()).in_directory(&work).prompt("the patient sloth").reply("Sleeps.");
    let mut glass = open(&world, &[], 200, 24);
    glass.sees("1 session\n");
    glass.press(&control('r'));
    glass.sees("is still open");
    glass.resize(60, 20);
    glass.sees("`baton close");
    glass.press(ESC);
    glass.wait("the keys again", |screen| screen.ends_with("^F filter"));
    glass.resize(200, 24);
    glass.sees("^B blame");
    world.close(&id(1));
    glass.press(&control('r'));
    let (code, glass) = glass.end();
    let screen = glass.sees(&format!("started --resume {} in {work}", id(1)));
    assert!(code == 0 && !glass.is_taken(), "{screen}");
}

#[test]
fn files_are_blamed_states_explained_and_sessions_filtered() {
    let world = World::new();
    let mut glass = examples(&world, 120, 30);
    glass.press("web locks");
    glass.sees("Matches");
    glass.press(&control('b'));
    glass.sees("Who changed which file?");
    glass.press("session.ts\r");
    glass.wait("the sessions behind it", |screen| screen.contains("changed in") && screen.contains("changed it"));
    glass.press(ENTER);
    glass.sees("q back");
    glass.press("e");
    glass.sees("What happened");
    glass.press("qq");
    glass.press(ESC);
    glass.sees("Enter open");
    glass.press(&control('u'));
    glass.sees("16 sessions\n");
    glass.press("\u{1b}OQ");
    glass.sees("Project, or type a name");
    glass.press("ledger\r");
    let screen = glass.wait("one project", |screen| {
        screen.lines().next().is_some_and(|line| line.contains("project:ledger-api") && line.ends_with("sessions"))
    });
    assert!(!screen.contains("harbor-ui ·"), "{screen}");
    glass.press(ESC);
    glass.sees("16 sessions\n");
    let by_time = |glass: &mut Glass, typed: &str| {
        glass.press("\u{1b}OS");
        glass.sees("Active when?");
        glass.press(&format!("{typed}\r"));
    };
    by_time(&mut glass, "last month");
    glass.wait("a span", |screen| screen.lines().next().is_some_and(|line| line.contains("last month ")));
    glass.press(ESC);
    glass.sees("16 sessions\n");
    by_time(&mut glass, "soonish");
    glass.sees("\"soonish\" is no date");
    by_time(&mut glass, "2026-11-19");
    glass.wait("the sessions since then", |screen| screen.contains("since 2026-11-19 5 sessions\n"));
}

#[test]
fn many_sessions_are_listed_in_pages() {
    let world = World::new();
    for number in 1..=130 {
        world
            .transcript("-work-one", &id(number))
            .minutes_ago(2_000 + i64::from(number))
            .prompt(&format!("task {number}"));
    }
    world.ok(&["search", "task"]);
    let mut glass = open(&world, &[], 100, 30);
    glass.sees("100+ sessions");
    let mut down = String::new();
    (0..110).for_each(|_| write!(down, "{DOWN}").unwrap());
    glass.press(&down);
    glass.sees("130 sessions\n");
    glass.press("\u{1b}[1;5F");
    glass.wait("the oldest", |screen| screen.contains("task 130"));
}

#[test]
fn a_pipe_gets_the_help_and_a_dead_daemon_is_started_anew() {
    let world = World::new();
    let ran = world.run(&[]);
    assert!(ran.code == 2 && ran.err.contains("Usage: baton"), "{}{}", ran.out, ran.err);
    let ran = world.run(&["browse"]);
    assert!(ran.code == 2 && ran.err.contains("needs a terminal"), "{}", ran.err);
    world.transcript("-work-one", &id(1)).at(now()).prompt("the patient sloth");
    let mut glass = open(&world, &[], 80, 24);
    glass.sees("1 session\n");
    world.kill();
    glass.press("sloth");
    glass.sees("Matches");
    assert!(world.daemon().is_some());
    glass.press(&control('c'));
    assert_eq!(glass.end().0, 0);
    // The home is a file: no daemon can start.
    let mut world = World::new();
    let file = world.path("file");
    std::fs::write(&file, "x").unwrap();
    world.set("BATON_HOME", &file);
    let (code, glass) = open(&world, &[], 80, 24).end();
    glass.sees("baton: ");
    assert_eq!(code, 1);
}
