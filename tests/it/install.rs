//! `baton install` and `baton uninstall`: what they write into Claude Code's files, and that they leave no trace.

mod agents;
mod asking;
mod codex;
mod plugin;
mod server;
mod shapes;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use serde_json::Value;

use crate::world::World;

/// The events for which hooks are installed.
pub(crate) const EVENTS: [&str; 7] =
    ["SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "PostCompact", "SubagentStop", "SessionEnd"];

/// A world without a `claude`, whatever is installed on this machine.
pub(crate) fn without_claude() -> World {
    let mut world = World::new();
    world.set("PATH", "/usr/bin:/bin");
    world
}

pub(crate) fn settings(world: &World) -> PathBuf {
    world.config().join("settings.json")
}

/// Baton's handlers for an event in the value of a settings file.
pub(crate) fn ours<'a>(settings: &'a Value, event: &str) -> Vec<&'a Value> {
    let groups = settings["hooks"][event].as_array().into_iter().flatten();
    let handlers = groups.flat_map(|group| group["hooks"].as_array().into_iter().flatten());
    handlers.filter(|handler| handler["command"].as_str().is_some_and(|command| command.contains("/baton"))).collect()
}

/// Names and contents of everything below a folder.
fn files(folder: &std::path::Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        match entry.path() {
            path if path.is_dir() => found.extend(files(&path)),
            path => found.push((path.clone(), fs::read(path).unwrap())),
        }
    }
    found.sort();
    found
}

#[test]
fn nothing_is_written_unless_it_is_asked_for() {
    let world = without_claude();
    fs::write(settings(&world), "{\"model\": \"opus\"}").unwrap();
    let before = files(world.config());
    let dry = world.ok(&["install", "--dry-run", "--claude-md"]);
    assert!(dry.out.contains("+++ "), "{}", dry.out);
    for event in EVENTS {
        let added = |line: &str| {
            line.starts_with('+') && line.contains("\"command\":") && line.contains(&format!(" {event}\""))
        };
        assert_eq!(dry.out.lines().filter(|line| added(line)).count(), 1, "{event}: {}", dry.out);
    }
    assert!(dry.out.contains("Session Handoff Best Practice") && dry.out.contains("claude mcp add"), "{}", dry.out);
    let refused = world.run(&["install"]);
    assert!(refused.code == 1 && refused.err.contains("--yes"), "{}", refused.err);
    let printed: Value = serde_json::from_str(&world.ok(&["install", "--print"]).out).unwrap();
    for event in EVENTS {
        let [ours] = ours(&printed, event)[..] else { panic!("{event}: {printed}") };
        assert_eq!(ours["type"], "command");
        assert_eq!(ours.get("timeout").is_some(), event != "SessionEnd", "{ours}");
        assert!(ours["timeout"].as_u64().is_none_or(|seconds| seconds <= 10), "seconds, not milliseconds: {ours}");
    }
    assert_eq!(files(world.config()), before);
    assert_eq!(world.daemon(), None, "setting up needs no daemon");
}

#[test]
fn a_file_that_was_not_there_is_gone_again() {
    let world = without_claude();
    let before = files(world.config());
    world.ok(&["install", "--yes", "--claude-md"]);
    let guidance = fs::read_to_string(world.config().join("CLAUDE.md")).unwrap();
    assert!(guidance.contains("## Session Handoff Best Practice") && guidance.contains("session_tracking_close"));
    assert_eq!(fs::metadata(settings(&world)).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(world.ok(&["install", "--yes", "--claude-md"]).out.contains("nothing to do"));
    world.ok(&["uninstall", "--yes"]);
    assert_eq!(files(world.config()), before);
    assert!(world.ok(&["uninstall", "--yes"]).out.contains("nothing to remove"));
}

#[test]
fn a_link_and_a_mode_stay_what_they_are() {
    let world = without_claude();
    let real = world.path("dotfiles.json");
    fs::write(&real, "{}\n").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("../dotfiles.json", settings(&world)).unwrap();
    world.ok(&["install", "--yes"]);
    assert!(settings(&world).is_symlink() && fs::read_to_string(&real).unwrap().contains("SessionStart"));
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    let backup = world.config().join("settings.json.baton-backup-1");
    assert_eq!(fs::read_to_string(&backup).unwrap(), "{}\n");
    assert_eq!(fs::metadata(&backup).unwrap().permissions().mode() & 0o777, 0o600);
    world.ok(&["uninstall", "--yes"]);
    assert!(settings(&world).is_symlink() && !backup.exists());
    assert_eq!(fs::read_to_string(&real).unwrap(), "{}\n");
    // A link whose target does not exist.
    fs::remove_file(&real).unwrap();
    world.ok(&["install", "--yes"]);
    assert!(settings(&world).is_symlink() && real.is_file());
}

#[test]
fn a_projects_link_leads_to_nothing_outside_of_it() {
    let world = without_claude();
    let project = world.path("work");
    fs::create_dir_all(project.join(".git")).unwrap();
    let outside = world.path("user/.bashrc");
    let install = |more: &[&str]| world.run(&[&["install", "--scope", "project", "--yes"], more].concat());
    for (name, target) in [("CLAUDE.md", "../user/.bashrc"), (".mcp.json", "../user/none"), (".claude", "../user")] {
        fs::write(&outside, "export A=1\n").unwrap();
        let before = files(&world.path("user"));
        symlink(target, project.join(name)).unwrap();
        let ran = install(&["--claude-md"]);
        assert!(ran.code == 1 && ran.err.contains(name) && ran.err.contains("leads out of the project"), "{}", ran.err);
        assert_eq!(files(&world.path("user")), before, "{name}");
        assert!(!project.join(".claude/settings.json").exists(), "all or nothing");
        fs::remove_file(project.join(name)).unwrap();
    }
    // A link whose target is inside the project is followed, and one in place of a file that is not to be changed does
    // not matter.
    fs::write(project.join("AGENTS.md"), "# Ours\n").unwrap();
    symlink("AGENTS.md", project.join("CLAUDE.md")).unwrap();
    assert_eq!(install(&["--claude-md"]).code, 0);
    assert!(fs::read_to_string(project.join("AGENTS.md")).unwrap().contains("baton:begin"));
    world.ok(&["uninstall", "--scope", "project", "--yes"]);
    assert_eq!(fs::read_to_string(project.join("AGENTS.md")).unwrap(), "# Ours\n");
    fs::remove_file(project.join("CLAUDE.md")).unwrap();
    symlink("../user/.bashrc", project.join("CLAUDE.md")).unwrap();
    let ran = install(&[]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    world.ok(&["uninstall", "--scope", "project", "--yes"]);
    assert_eq!(fs::read_to_string(&outside).unwrap(), "export A=1\n");
}

#[test]
fn a_copy_of_the_guidance_goes_only_when_the_file_is_as_it_was() {
    let world = without_claude();
    let (guidance, copy) = (world.config().join("CLAUDE.md"), world.config().join("CLAUDE.md.baton-backup-1"));
    for (before, edit, after) in
        [("# Mine\n", "", Some("# Mine\n")), ("", "", Some("")), ("# Mine\n", "later words\n", None)]
    {
        fs::write(&guidance, before).unwrap();
        world.ok(&["install", "--yes", "--claude-md"]);
        fs::write(&guidance, fs::read_to_string(&guidance).unwrap() + edit).unwrap();
        let said = world.ok(&["uninstall", "--yes"]).out;
        assert_eq!(
            fs::read_to_string(&guidance).unwrap(),
            after.map_or_else(|| format!("{before}{edit}"), str::to_owned)
        );
        assert_eq!(copy.exists(), after.is_none(), "{before:?} {edit:?}: {said}");
        assert_eq!(said.contains("CLAUDE.md is as it was before"), after.is_some(), "{said}");
    }
    assert_eq!(fs::read_to_string(&copy).unwrap(), "# Mine\n");
    // Text that a person deletes while the block is there is still in the copy.
    fs::write(&guidance, "# Mine\n").unwrap();
    world.ok(&["install", "--yes", "--claude-md"]);
    let with = fs::read_to_string(&guidance).unwrap();
    fs::write(&guidance, &with["# Mine\n\n".len()..]).unwrap();
    world.ok(&["uninstall", "--yes"]);
    assert_eq!((fs::read_to_string(&guidance).unwrap().as_str(), copy.exists()), ("", true));
}

#[test]
fn copies_are_few_and_the_first_stays() {
    let world = without_claude();
    for round in 0..9 {
        fs::write(settings(&world), format!("{{\"round\": {round}}}")).unwrap();
        world.ok(&["install", "--yes"]);
    }
    let copies: Vec<PathBuf> = files(world.config()).into_iter().map(|(path, _)| path).collect();
    let copies: Vec<_> = copies.iter().filter(|path| path.to_string_lossy().contains("baton-backup")).collect();
    assert_eq!(copies.len(), 5, "{copies:?}");
    assert_eq!(fs::read_to_string(copies[0]).unwrap(), "{\"round\": 0}");
}

#[test]
fn a_change_that_was_made_between_install_and_uninstall_stays() {
    let world = without_claude();
    fs::write(settings(&world), "{\n  \"model\": \"opus\"\n}\n").unwrap();
    world.ok(&["install", "--yes"]);
    let installed = fs::read_to_string(settings(&world)).unwrap();
    let changed =
        installed.replace("\"opus\"", "\"haiku\"").replacen("\"Stop\": [", "\"Stop\": [\n{\"hooks\": []},", 1);
    fs::write(settings(&world), &changed).unwrap();
    world.ok(&["uninstall", "--yes"]);
    let left = fs::read_to_string(settings(&world)).unwrap();
    assert_eq!(left, "{\n  \"model\": \"haiku\",\n  \"hooks\": {\n    \"Stop\": [\n{\"hooks\": []}\n    ]\n  }\n}\n");
}

#[test]
fn what_keeps_hooks_from_running_is_said() {
    for (text, expected) in [
        ("{\"disableAllHooks\": true}", "disableAllHooks"),
        ("{\"allowManagedHooksOnly\": true}", "allowManagedHooksOnly"),
        ("{}", "cleanupPeriodDays is not set"),
        ("{\"cleanupPeriodDays\": 7}", "after 7 days"),
        ("{\"cleanupPeriodDays\": \"never\"}", "must be a number"),
        ("{\"a\": 1, }", "trailing commas"),
    ] {
        let world = without_claude();
        fs::write(settings(&world), text).unwrap();
        let said = world.ok(&["install", "--dry-run"]).out;
        assert!(said.contains(expected), "{text}: {said}");
    }
    let world = without_claude();
    fs::write(settings(&world), "{\"cleanupPeriodDays\": 365}").unwrap();
    assert!(!world.ok(&["install", "--dry-run"]).out.contains("cleanupPeriodDays is"));
    // A person's own settings apply in a project that sets nothing else.
    fs::create_dir_all(world.path("work/.git")).unwrap();
    let in_project = || world.ok(&["install", "--scope", "project", "--dry-run"]).out;
    assert!(!in_project().contains("cleanupPeriodDays"), "{}", in_project());
    fs::create_dir_all(world.path("work/.claude")).unwrap();
    fs::write(world.path("work/.claude/settings.json"), "{\"cleanupPeriodDays\": 7}").unwrap();
    assert!(in_project().contains("after 7 days"), "{}", in_project());
}

#[test]
fn a_project_has_its_own_files() {
    let world = without_claude();
    let project = world.path("work");
    fs::create_dir_all(project.join(".git")).unwrap();
    fs::create_dir_all(project.join("deep/down")).unwrap();
    fs::write(project.join(".mcp.json"), "{\n\t\"mcpServers\": {\n\t\t\"x\": {\"command\": \"x\"}\n\t}\n}\n").unwrap();
    let before = files(&project);
    let run = |arguments: &[&str]| {
        let ran = world.command(arguments).current_dir(project.join("deep/down")).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap()
    };
    run(&["install", "--scope", "project", "--yes"]);
    let written: Value = serde_json::from_slice(&fs::read(project.join(".claude/settings.json")).unwrap()).unwrap();
    assert!(EVENTS.iter().all(|event| ours(&written, event).len() == 1), "{written}");
    let servers: Value = serde_json::from_slice(&fs::read(project.join(".mcp.json")).unwrap()).unwrap();
    assert_eq!(servers["mcpServers"]["baton"]["args"], serde_json::json!(["mcp"]));
    assert!(!settings(&world).exists());
    assert!(run(&["install", "--scope", "project", "--yes"]).contains("nothing to do"));
    run(&["uninstall", "--scope", "project", "--yes"]);
    assert_eq!(files(&project), before);
    assert!(!project.join(".claude").exists());
}
