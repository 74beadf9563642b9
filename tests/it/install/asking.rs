//! Which agents are set up: by their names, and by what a person answers.

use std::fs;

use super::{files, without_claude};
use crate::screen::Screen;

#[test]
fn each_agent_is_asked_for_and_one_can_be_declined() {
    let there = |typed: &[&str]| {
        let world = without_claude();
        let args = ["install", "gemini", "qwen", "copilot"];
        let mut screen = Screen::run(&world, &args);
        typed.iter().for_each(|typed| screen.answer("q to stop]", typed));
        let (code, shown) = screen.end();
        let files = [".gemini/settings.json", ".qwen/settings.json", ".copilot/mcp-config.json"];
        (files.map(|file| world.path("user").join(file).exists()), code, shown)
    };
    for (typed, expected, code) in [
        (&["y\n", "n\n", "y\n"][..], [true, false, true], 0),
        (&["n\n", "a\n"], [false, true, true], 0),
        (&["y\n", "q\n"], [true, false, false], 0),
        (&["\n", "maybe\n", "\u{4}"], [false; 3], 1),
    ] {
        let (written, ended, shown) = there(typed);
        assert_eq!((written, ended), (expected, code), "{typed:?}: {shown}");
        assert_eq!(shown.contains("Nothing was changed"), code == 1, "{shown}");
        assert!(shown.contains("Make these changes for Gemini CLI?"), "{shown}");
    }
}

#[test]
fn an_agent_is_named_as_everywhere_and_one_without_a_setup_is_told() {
    let world = without_claude();
    for (name, title) in [("gemini-cli", "gemini"), ("Qwen-Code", "qwen"), ("claude_code", "claude")] {
        let [by_name, by_word] = [name, title].map(|agent| world.ok(&["install", agent, "--print"]));
        assert_eq!((by_name.out, by_name.err), (by_word.out, by_word.err), "{name}");
    }
    for name in ["kiro", "mistral-vibe"] {
        let ran = world.run(&["install", name, "--yes"]);
        assert!(ran.code == 2 && ran.err.contains("there is nothing to set up in"), "{name}: {}", ran.err);
    }
    let ran = world.run(&["install", "copilt"]);
    assert!(ran.code == 2 && ran.err.contains("'copilot'"), "{}", ran.err);
    let out = world.run(&["install", "--dry-run"]).out;
    assert!(out.contains("Read as well, with nothing to set up: Kiro CLI, "), "{out}");
}

#[test]
fn a_folder_made_for_hooks_goes_with_them() {
    let world = without_claude();
    world.ok(&["install", "copilot", "--yes"]);
    let hooks = world.path("user/.copilot/hooks");
    assert!(hooks.is_dir());
    fs::write(hooks.join("mine.json"), "{}").unwrap();
    world.ok(&["uninstall", "copilot", "--yes"]);
    assert_eq!(files(&hooks).len(), 1, "somebody else's stays");
    fs::remove_file(hooks.join("mine.json")).unwrap();
    world.ok(&["install", "copilot", "--yes"]);
    world.ok(&["uninstall", "copilot", "--yes"]);
    assert!(!hooks.exists());
}
