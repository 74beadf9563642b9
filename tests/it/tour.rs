//! The tour of the README and the examples of the long help, word for word, in a clone on a machine whose user has
//! sessions of their own, none of which is read. Also directories that a variable names and that are refused: nothing
//! is read in their place.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::demo::{entries, processes_of};
use crate::transcript::Transcript;
use crate::world::{BATON, Ran, World, copy, files_below, finished, id, text, wait};

const CHECKOUT: &str = env!("CARGO_MANIFEST_DIR");
const EXAMPLES: &str = "replay-fixtures/transcripts/claude";
const CODEX: &str = "replay-fixtures/transcripts/codex/usual.jsonl";
/// Words that occur only in the user's own sessions.
const OWN: [&str; 2] = ["dugong", "manatee"];

/// A user with sessions of Claude Code and of Codex in their default places.
fn with_history() -> World {
    let world = World::new();
    let user = world.path("user");
    Transcript::new(user.join(".claude/projects/-srv-app").join(format!("{}.jsonl", id(1))), &id(1), "/srv/app")
        .prompt("the dugong and the advisory lock of the refresh token, by Web Locks")
        .reply("the dugong it is");
    let codex = user.join(".codex/sessions/2026/06/17");
    std::fs::create_dir_all(&codex).unwrap();
    let rollout = std::fs::read_to_string(Path::new(CHECKOUT).join(CODEX)).unwrap();
    // One more prompt, which Codex writes twice.
    let said = r#"{"timestamp":"2026-06-17T10:00:00.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"the manatee and the advisory lock"}]}}
{"timestamp":"2026-06-17T10:00:00.000Z","type":"event_msg","payload":{"type":"user_message","message":"the manatee and the advisory lock"}}"#;
    let name = "rollout-2026-06-17T11-00-00-019ed50c-2fb3-7002-a384-000000000001.jsonl";
    std::fs::write(codex.join(name), format!("{rollout}{said}\n")).unwrap();
    world
}

/// A checkout with what the tour needs: a git work tree with the examples.
fn clone(world: &World) -> PathBuf {
    let clone = std::fs::canonicalize(world.path("work")).unwrap().join("clone");
    std::fs::create_dir_all(clone.join(".git")).unwrap();
    copy(&Path::new(CHECKOUT).join(EXAMPLES).join("projects"), &clone.join(EXAMPLES).join("projects"));
    clone
}

/// A command as typed in a directory, in a shell without variables for Baton or the agents.
fn bare(world: &World, program: &str, arguments: &[&str], directory: &Path) -> Command {
    let mut command = world.program(program, arguments);
    for name in ["BATON_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"] {
        command.env_remove(name);
    }
    let path = std::env::join_paths(
        std::iter::once(Path::new(BATON).parent().unwrap().to_owned())
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    command.env("PATH", path.unwrap()).current_dir(directory);
    command
}

/// A command line for the reader to type, and the output that the text shows for it.
struct Step {
    line: String,
    prints: Vec<String>,
}

/// The command lines of a text that are answered from the examples, wherever they are.
fn steps(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for block in text.split("```").skip(1).step_by(2) {
        let Some((kind @ ("sh" | "console"), block)) = block.split_once('\n') else { continue };
        for line in block.lines() {
            let typed = if kind == "sh" { Some(line) } else { line.strip_prefix("$ ") };
            match typed {
                Some(line) if line.starts_with("baton --examples ") => {
                    steps.push(Step { line: line.to_owned(), prints: Vec::new() });
                }
                Some(_) => {}
                None => steps.last_mut().unwrap().prints.push(line.to_owned()),
            }
        }
    }
    steps
}

/// All command lines that README and the long help ask their reader to try, each once.
fn tour() -> Vec<Step> {
    let mut texts = vec![std::fs::read_to_string(Path::new(CHECKOUT).join("README.md")).unwrap()];
    let help = std::fs::read_dir(Path::new(CHECKOUT).join("src/help")).unwrap().map(|entry| entry.unwrap().path());
    let mut help: Vec<PathBuf> = help.filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect();
    help.sort();
    texts.extend(help.iter().map(|path| std::fs::read_to_string(path).unwrap()));
    let mut tour: Vec<Step> = Vec::new();
    for step in texts.iter().flat_map(|text| steps(text)) {
        if !step.prints.is_empty() || tour.iter().all(|known| known.line != step.line) {
            tour.retain(|known| known.line != step.line || !known.prints.is_empty());
            tour.push(step);
        }
    }
    tour
}

/// True if a text contains these lines, one after another; `…` alone stands for any number of lines.
fn prints(text: &str, lines: &[String]) -> bool {
    let mut rest = text.lines();
    let mut any = false;
    lines.iter().all(|line| match line == "…" {
        true => {
            any = true;
            true
        }
        false if std::mem::take(&mut any) => rest.any(|printed| printed.trim_end() == line),
        false => rest.next().is_some_and(|printed| printed.trim_end() == line),
    })
}

#[test]
fn the_tour_of_the_readme_reads_the_examples_and_nothing_of_the_users() {
    let world = with_history();
    let (clone, user) = (clone(&world), world.path("user"));
    let before = files_below(&user);
    let tour = tour();
    for verb in ["search", "show", "recall", "handoff", "close", "status", "unindexed", "sync"] {
        let is_there = |step: &Step| format!("{} ", step.line).starts_with(&format!("baton --examples {verb} "));
        assert!(tour.iter().any(is_there), "the tour shows no {verb}");
    }
    assert!(tour.iter().any(|step| !step.prints.is_empty()), "the tour shows nothing that is printed");
    for Step { line, prints: shown } in tour {
        let ran = finished(bare(&world, "sh", &["-c", &line], &clone).env("COLUMNS", "80").output().unwrap());
        assert_eq!(ran.code, 0, "{line}\n{}\n{}", ran.out, ran.err);
        assert!(!ran.out.is_empty(), "{line} answers nothing\n{}", ran.err);
        assert!(!ran.out.contains("Nothing found") && !ran.out.contains("is not known"), "{line}\n{}", ran.out);
        for word in OWN {
            assert!(!format!("{}{}", ran.out, ran.err).contains(word), "{line}\n{}\n{}", ran.out, ran.err);
        }
        assert!(prints(&ran.out, &shown), "{line} does not print\n{}\nbut\n{}", shown.join("\n"), ran.out);
        assert_eq!(entries(&world.path("tmp")), [""; 0], "{line} leaves its home");
    }
    assert_eq!(files_below(&user), before, "nothing of the user's was touched");
    assert_eq!(processes_of(&world), [""; 0]);
}

#[test]
fn examples_are_read_by_commands_that_ask_from_wherever_they_are_called() {
    let world = with_history();
    let ask = |arguments: &[&str]| finished(bare(&world, BATON, arguments, &world.path("work")).output().unwrap());
    let ran = ask(&["search", "advisory", "lock", "--json", "--examples"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(!ran.out.contains("dugong") && ran.out.contains("2c7a0f95"), "{}", ran.out);
    for arguments in [&["stop"][..], &["install"], &["daemon"], &["doctor"], &["completions", "bash"]] {
        let ran = ask(&[&["--examples"], arguments].concat());
        assert_eq!(ran.code, 2, "{arguments:?}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains("--examples"), "{}", ran.err);
    }
    assert_eq!(entries(&world.path("tmp")), [""; 0]);
    assert!(!world.path("user/.baton").exists());
}

/// Runs a command in a clone, with a variable set to the examples or to a planted directory of Codex.
fn naming(world: &World, variable: &str, directory: &Path, arguments: &[&str], clone: &Path) -> Ran {
    let mut command = bare(world, BATON, arguments, clone);
    finished(command.env("BATON_HOME", world.home()).env(variable, directory).output().unwrap())
}

#[test]
fn a_named_directory_that_is_refused_stops_the_command_and_nothing_is_read_instead() {
    let world = with_history();
    let clone = clone(&world);
    let examples = clone.join(EXAMPLES);
    let codex = clone.join("codex");
    std::fs::create_dir_all(codex.join("sessions")).unwrap();
    let check = |variable, directory: &Path, reason: &str| {
        for arguments in [&["search", "advisory"][..], &["recall", "advisory"], &["sessions"], &["status"], &["sync"]] {
            let ran = naming(&world, variable, directory, arguments, &clone);
            let said = format!("{variable} names {}, which is not read: ", directory.display());
            assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{arguments:?}: {}", ran.err);
            assert!(ran.err.contains(&said) && ran.err.contains(reason), "{arguments:?}: {}", ran.err);
            assert!(ran.err.contains("watch_directories"), "{}", ran.err);
        }
        let ran = naming(&world, variable, directory, &["search", "advisory", "--json"], &clone);
        assert!(ran.err.starts_with(r#"{"error":{"#), "{}", ran.err);
    };
    check("CLAUDE_CONFIG_DIR", &examples, "git work tree");
    check("CODEX_HOME", &codex, "git work tree");
    assert_eq!(world.daemon(), None, "none was started");
    assert!(!world.home().join("log").exists());
    // Neither does a running daemon read it.
    world.ok(&["status"]);
    check("CLAUDE_CONFIG_DIR", &examples, "git work tree");
    assert_eq!(world.found(OWN[0]), [""; 0]);
    check("CODEX_HOME", &codex, "git work tree");
    // A directory that does not exist cannot be refused; and stopping a daemon needs no transcripts.
    let ran = naming(&world, "CLAUDE_CONFIG_DIR", &world.path("not-there"), &["sessions"], &clone);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let ran = naming(&world, "CLAUDE_CONFIG_DIR", &examples, &["stop"], &clone);
    assert_eq!(ran.code, 0, "{}", ran.err);
}

#[test]
fn a_directory_is_refused_wherever_the_command_is_called_and_whoever_is_to_start_a_daemon() {
    use std::os::unix::fs::PermissionsExt;
    let world = with_history();
    let clone = clone(&world);
    let open = world.path("open");
    std::fs::create_dir_all(open.join("projects")).unwrap();
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o777)).unwrap();
    for (directory, reason) in [(clone.join(EXAMPLES), "git work tree"), (open, "can be written by others")] {
        for arguments in [&["search", "advisory"][..], &["daemon"], &["daemon", "--foreground"]] {
            let ran = naming(&world, "CLAUDE_CONFIG_DIR", &directory, arguments, &world.path("work"));
            assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{arguments:?}: {}", ran.err);
            assert!(ran.err.contains("which is not read: ") && ran.err.contains(reason), "{arguments:?}: {}", ran.err);
            assert_eq!(world.daemon(), None, "{arguments:?}");
        }
        // If a hook starts the daemon, the directory is left out.
        let hook = Path::new(BATON).with_file_name("baton-hook");
        let mut command = bare(&world, hook.to_str().unwrap(), &["SessionStart"], &world.path("work"));
        command.env("BATON_HOME", world.home()).env("CLAUDE_CONFIG_DIR", &directory);
        assert_eq!(finished(command.output().unwrap()).code, 0);
        assert!(wait(|| world.daemon().is_some() && world.run(&["status"]).code == 0), "{}", world.log());
        let roots = world.json(&["status"])["roots"].to_string();
        assert!(!roots.contains(directory.to_str().unwrap()) && !roots.contains("/.claude/"), "{roots}");
        world.stop();
    }
}

#[test]
fn a_variable_changes_the_directory_of_its_own_agent_only() {
    let world = with_history();
    let home = world.path("other");
    for folder in ["own-claude/projects", "own-codex/sessions"] {
        std::fs::create_dir_all(world.path(folder)).unwrap();
    }
    let check = |variable: &str, directory: &str, expected: [bool; 2]| {
        let run = |arguments: &[&str]| {
            let mut command = bare(&world, BATON, arguments, &world.path("work"));
            finished(command.env("BATON_HOME", &home).env(variable, world.path(directory)).output().unwrap())
        };
        let found = OWN.map(|word| run(&["search", word, "--json"]).json()["hits"] != serde_json::json!([]));
        assert_eq!(found, expected, "{variable}");
        let roots = run(&["status", "--json"]).json()["roots"].to_string();
        assert!(roots.contains(directory), "{roots}");
        assert_eq!(run(&["stop"]).code, 0);
        std::fs::remove_dir_all(&home).unwrap();
    };
    check("CLAUDE_CONFIG_DIR", "own-claude", [false, true]);
    check("CODEX_HOME", "own-codex", [true, false]);
    check("CLAUDE_CONFIG_DIR", "user/.claude", [true, true]);
}

#[test]
fn an_agent_is_never_failed_by_a_directory_that_is_refused_and_nothing_is_read_instead() {
    let world = with_history();
    let clone = clone(&world);
    let hook = Path::new(BATON).with_file_name("baton-hook");
    let mut command = bare(&world, hook.to_str().unwrap(), &["SessionStart"], &clone);
    command.env("BATON_HOME", world.home()).env("CLAUDE_CONFIG_DIR", clone.join(EXAMPLES));
    assert_eq!(finished(command.output().unwrap()).code, 0);
    assert!(wait(|| world.daemon().is_some() && world.run(&["status"]).code == 0), "{}", world.log());
    assert_eq!(world.found(OWN[0]), [""; 0], "another home than the user's own does not read what is theirs instead");
    world.stop();
    // The user's own home reads the user's own sessions, whatever a project sets.
    let mut command = bare(&world, hook.to_str().unwrap(), &["SessionStart"], &clone);
    command.env("CLAUDE_CONFIG_DIR", clone.join(EXAMPLES));
    assert_eq!(finished(command.output().unwrap()).code, 0);
    let ask = |arguments: &[&str]| finished(bare(&world, BATON, arguments, &world.path("work")).output().unwrap());
    assert!(wait(|| world.path("user/.baton/daemon.lock").exists()));
    let found = ask(&["search", "dugong", "--json"]).json();
    assert_eq!(text(&found["hits"][0]["session_id"]), id(1));
    assert_eq!(ask(&["stop"]).code, 0);
}
