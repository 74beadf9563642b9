//! Agents whose files for MCP servers are edited in place: what is written, and that nothing of it remains.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{files, without_claude};
use crate::world::{BATON, World};

/// An agent's name, its program, its file below the user's home, and a file of somebody who uses it.
const AGENTS: [(&str, &str, &str, &str); 6] = [
    (
        "gemini",
        "gemini",
        ".gemini/settings.json",
        "{\n \"security\": {\n  \"auth\": {\n   \"selectedType\": \"gemini-api-key\"\n  }\n },\n \"general\": {}\n}",
    ),
    (
        "copilot",
        "copilot",
        ".copilot/mcp-config.json",
        "{\n  \"mcpServers\": {\n    \"x\": {\"type\": \"http\", \"url\": \"https://x.example/\", \"tools\": [\"*\"]}\n  }\n}\n",
    ),
    ("cursor", "cursor-agent", ".cursor/mcp.json", "{\"mcpServers\":{\"x\":{\"command\":\"x\"}}}"),
    (
        "qwen",
        "qwen",
        ".qwen/settings.json",
        "{\n\t// mine\n\t\"mcpServers\": {\n\t\t\"x\": {\"command\": \"x\"}, // theirs\n\t},\n\t\"$version\": 4\n}\n",
    ),
    (
        "droid",
        "droid",
        ".factory/mcp.json",
        "{\r\n  \"mcpServers\": {\r\n    \"x\": {\"command\": \"x\"}\r\n  }\r\n}\r\n",
    ),
    (
        "opencode",
        "opencode",
        ".config/opencode/opencode.json",
        "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"mcp\": {\n    \"x\": {\"type\": \"remote\", \"url\": \"https://x\"}\n  }\n}\n",
    ),
];

/// Baton's entry in an agent's file.
fn entry(world: &World, agent: &str) -> Value {
    let env = json!({ "BATON_HOME": world.home() });
    match agent {
        "copilot" => json!({"type": "local", "command": BATON, "args": ["mcp"], "env": env, "tools": ["*"]}),
        "droid" => json!({"type": "stdio", "command": BATON, "args": ["mcp"], "env": env}),
        "opencode" => json!({"type": "local", "command": [BATON, "mcp"], "environment": env, "enabled": true}),
        _ => json!({"command": BATON, "args": ["mcp"], "env": env}),
    }
}

/// The agents with hooks: the file below the user's home, the member with the command, and the events.
const HOOKS: [(&str, &str, &str, &[&str]); 5] = [
    (
        "qwen",
        ".qwen/settings.json",
        "command",
        &["SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "PostCompact", "SubagentStop", "SessionEnd"],
    ),
    ("gemini", ".gemini/settings.json", "command", &["SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd"]),
    (
        "copilot",
        ".copilot/hooks/baton.json",
        "bash",
        &["sessionStart", "userPromptSubmitted", "agentStop", "subagentStop", "sessionEnd"],
    ),
    ("cursor", ".cursor/hooks.json", "command", &["sessionStart", "beforeSubmitPrompt", "stop", "sessionEnd"]),
    (
        "droid",
        ".factory/settings.json",
        "command",
        &["SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SubagentStop", "SessionEnd"],
    ),
];

/// OpenCode's plugin, below the user's home.
const PLUGIN: &str = ".config/opencode/plugin/baton.js";

/// The agents with a script in place of hooks: name, title, and the script below the user's home.
const SCRIPTS: [(&str, &str, &str); 2] =
    [("opencode", "OpenCode", PLUGIN), ("pi", "Pi", ".pi/agent/extensions/baton.ts")];

/// The command lines of Baton's hooks for an event, in the agent's form.
fn lines(settings: &Value, event: &str, key: &str) -> Vec<String> {
    let elements = settings["hooks"][event].as_array().into_iter().flatten();
    let is_flat = settings["version"] == 1;
    let of = |element: &Value| match is_flat {
        true => vec![element.clone()],
        false => element["hooks"].as_array().cloned().unwrap_or_default(),
    };
    let handlers: Vec<Value> = elements.flat_map(of).collect();
    let lines = handlers.iter().filter_map(|handler| handler[key].as_str());
    lines.filter(|line| line.contains("baton")).map(str::to_owned).collect()
}

/// A user's file in a world, with its folder.
fn file(world: &World, name: &str) -> PathBuf {
    let path = world.path("user").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    path
}

/// The text without comments at the ends of lines and without trailing commas.
fn strict(text: &str) -> Value {
    let lines: Vec<&str> = text.lines().map(|line| line.split(" //").next().unwrap()).collect();
    let text: String = lines.iter().filter(|line| !line.trim().starts_with("//")).map(|line| line.trim()).collect();
    serde_json::from_str(&text.replace(",}", "}").replace(",]", "]")).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn each_agents_file_gets_the_server_once_and_comes_back_byte_for_byte() {
    for (agent, _, name, before) in AGENTS {
        let world = without_claude();
        let path = file(&world, name);
        for before in [Some(before), Some("{}\n"), None] {
            before.into_iter().for_each(|text| fs::write(&path, text).unwrap());
            let there = files(&world.path("user"));
            let dry = world.ok(&["install", agent, "--dry-run"]).out;
            assert!(dry.contains(&format!("+++ {}", path.display())), "{agent}: {dry}");
            assert_eq!(files(&world.path("user")), there, "{agent}");
            let refused = world.run(&["install", agent]);
            assert!(refused.code == 1 && refused.err.contains("--yes"), "{agent}: {}", refused.err);
            world.ok(&["install", agent, "--yes"]);
            let after = fs::read_to_string(&path).unwrap();
            let key = if agent == "opencode" { "mcp" } else { "mcpServers" };
            assert_eq!(strict(&after)[key]["baton"], entry(&world, agent), "{agent}: {after}");
            // Only insertions: everything else is unchanged.
            let mut rest = after.chars();
            assert!(before.unwrap_or_default().chars().all(|letter| rest.any(|other| other == letter)), "{after}");
            assert!(world.ok(&["install", agent, "--yes"]).out.contains("nothing to do"), "{agent}");
            assert_eq!(fs::read_to_string(&path).unwrap(), after, "{agent}");
            world.ok(&["uninstall", agent, "--yes"]);
            assert_eq!(files(&world.path("user")), there, "{agent}");
            assert!(world.ok(&["uninstall", agent, "--yes"]).out.contains("nothing to remove"), "{agent}");
            let _ = fs::remove_file(&path);
        }
    }
}

#[test]
fn an_agent_is_found_by_its_folder_or_its_program() {
    for (agent, program, name, _) in AGENTS {
        let world = without_claude();
        let path = file(&world, name);
        let shown = world.ok(&["install", "--dry-run"]).out;
        assert!(shown.contains(&format!("+++ {}", path.display())), "{agent}: {shown}");
        let mut world = without_claude();
        fs::create_dir(world.path("bin")).unwrap();
        fs::copy("/bin/true", world.path("bin").join(program)).unwrap();
        world.set("PATH", format!("{}:/usr/bin:/bin", world.path("bin").display()));
        let shown = world.ok(&["install", "--dry-run"]).out;
        assert!(shown.contains(&format!("+++ {}", world.path("user").join(name).display())), "{agent}: {shown}");
    }
}

#[test]
fn what_cannot_be_changed_is_refused_with_the_text_to_paste_and_keeps_no_other_agent_back() {
    for (agent, _, name, _) in AGENTS {
        let world = without_claude();
        let path = file(&world, name);
        for text in ["{'single': 1}", "[]", "{\"mcpServers\": [], \"mcp\": 7}"] {
            fs::write(&path, text).unwrap();
            let ran = world.run(&["install", agent, "--yes"]);
            let is_told = ran.err.contains("add this by hand:\n{") && ran.err.contains(BATON);
            assert!(ran.code == 1 && is_told, "{agent} {text}: {}", ran.err);
            assert_eq!(fs::read_to_string(&path).unwrap(), text, "{agent}");
        }
        fs::write(&path, "[]").unwrap();
        let ran = world.run(&["uninstall", agent, "--yes"]);
        assert!(ran.code == 1 && ran.err.contains("remove Baton's entries by hand"), "{agent}: {}", ran.err);
        let ran = world.run(&["install", "claude", agent, "--yes"]);
        let is_told = ran.err.contains("add this by hand:\n") && ran.out.contains("settings.json written");
        assert!(ran.code == 1 && is_told, "{agent}: {} {}", ran.out, ran.err);
        // A link is somebody else's arrangement.
        fs::remove_file(&path).unwrap();
        fs::write(world.path("elsewhere.json"), "{}\n").unwrap();
        symlink(world.path("elsewhere.json"), &path).unwrap();
        let ran = world.run(&["install", agent, "--yes"]);
        assert!(ran.code == 1 && ran.err.contains("it is a link to ") && ran.err.contains(BATON), "{}", ran.err);
        assert_eq!(fs::read_to_string(world.path("elsewhere.json")).unwrap(), "{}\n");
    }
}

#[test]
fn entries_of_others_stay_and_older_ones_of_ours_are_replaced() {
    for (agent, _, name, _) in AGENTS {
        let world = without_claude();
        let path = file(&world, name);
        let key = if agent == "opencode" { "mcp" } else { "mcpServers" };
        let with = |program: &str| {
            let command = if agent == "opencode" { json!([program, "mcp"]) } else { json!(program) };
            json!({ key: {"baton": {"command": command, "args": ["mcp"]}} }).to_string()
        };
        fs::write(&path, with("/usr/bin/wand")).unwrap();
        let said = world.ok(&["install", agent, "--yes"]).out;
        assert!(said.contains("not Baton (it runs /usr/bin/wand)"), "{agent}: {said}");
        world.ok(&["uninstall", agent, "--yes"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), with("/usr/bin/wand"), "{agent}");
        fs::write(&path, with("/old/baton")).unwrap();
        let doctor = |expected: &str| {
            let told = world.run(&["doctor"]).out;
            assert!(told.contains(expected), "{agent}: {told}");
        };
        doctor("/old/baton as MCP server, which does not exist");
        world.ok(&["install", agent, "--yes"]);
        let after: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(after[key]["baton"], entry(&world, agent), "{agent}");
        doctor("knows the MCP server");
    }
}

#[test]
fn a_file_that_a_variable_or_another_name_moves_is_found() {
    let mut world = without_claude();
    let moved = world.path("moved");
    for (variable, value, agent, name) in [
        ("GEMINI_CLI_HOME", moved.clone(), "gemini", ".gemini/settings.json"),
        ("COPILOT_HOME", moved.clone(), "copilot", "mcp-config.json"),
        ("QWEN_HOME", moved.clone(), "qwen", "settings.json"),
        ("XDG_CONFIG_HOME", moved.clone(), "opencode", "opencode/opencode.json"),
    ] {
        world.set(variable, value);
        world.ok(&["install", agent, "--yes"]);
        assert!(fs::read_to_string(moved.join(name)).unwrap().contains(BATON), "{agent}");
    }
    let world = without_claude();
    let path = file(&world, ".config/opencode/opencode.jsonc");
    fs::write(&path, "{\n  // mine\n}\n").unwrap();
    world.ok(&["install", "opencode", "--yes"]);
    assert!(fs::read_to_string(&path).unwrap().contains("// mine"));
    assert_eq!(strict(&fs::read_to_string(&path).unwrap())["mcp"]["baton"], entry(&world, "opencode"));
    let printed = world.ok(&["install", "opencode", "--print"]).out;
    let (entries, plugin) = printed.split_at(printed.find("// Written by `baton install opencode`").unwrap());
    assert_eq!(serde_json::from_str::<Value>(entries).unwrap()["mcp"]["baton"], entry(&world, "opencode"));
    assert_eq!(plugin.trim_end(), fs::read_to_string(file(&world, PLUGIN)).unwrap().trim_end());
    let ran = world.run(&["install", "opencode", "--scope", "project", "--yes"]);
    assert!(ran.code != 0 && ran.err.contains("only Claude Code"), "{}", ran.err);
}

#[test]
fn hooks_name_their_agent_and_hooks_of_others_stay_byte_for_byte() {
    for (agent, name, key, events) in HOOKS {
        let world = without_claude();
        let path = file(&world, name);
        let is_flat = matches!(agent, "copilot" | "cursor");
        let theirs = json!({ key: "theirs" });
        let theirs = if is_flat { theirs } else { json!({ "hooks": [theirs] }) };
        let others = json!({"version": 1, "hooks": { events[0]: [theirs], "other": [] }});
        let mut others = others.as_object().unwrap().clone();
        others.retain(|key, _| is_flat || key != "version");
        let others = serde_json::to_string_pretty(&others).unwrap();
        for before in [Some(others.as_str()), Some("{}"), None] {
            before.into_iter().for_each(|text| fs::write(&path, text).unwrap());
            let there = files(&world.path("user"));
            world.ok(&["install", agent, "--yes"]);
            let after = fs::read_to_string(&path).unwrap();
            let value: Value = serde_json::from_str(&after).unwrap();
            for event in events {
                let [line] = &lines(&value, event, key)[..] else { panic!("{agent} {event}: {value:#}") };
                assert!(line.ends_with(&format!("/baton-hook --agent {agent} {event}")), "{line}");
            }
            assert_eq!(value["version"] == 1, is_flat, "{after}");
            assert!(world.ok(&["install", agent, "--yes"]).out.contains("nothing to do"), "{agent}");
            let told = world.run(&["doctor"]).out;
            assert!(told.contains(&format!("all {} hooks are in", events.len())), "{agent}: {told}");
            // One that a person has broken is repaired.
            fs::write(&path, after.replacen(&format!("--agent {agent} "), "", 1)).unwrap();
            world.ok(&["install", agent, "--yes"]);
            assert_eq!(fs::read_to_string(&path).unwrap(), after, "{agent}");
            world.ok(&["uninstall", agent, "--yes"]);
            let mut left = files(&world.path("user"));
            left.retain(|(path, _)| !path.to_string_lossy().contains("baton-backup"));
            assert_eq!(left, there, "{agent}");
            for (path, _) in files(&world.path("user")) {
                fs::remove_file(path).unwrap();
            }
        }
    }
}

#[test]
fn droids_hooks_wait_until_nothing_has_them_in_their_place() {
    for name in [".factory/hooks.json", ".factory/hooks/hooks.json"] {
        let world = without_claude();
        let (settings, other) = (file(&world, ".factory/settings.json"), file(&world, name));
        let before = "{\n  // mine\n  \"model\": \"m\"\n}\n";
        fs::write(&settings, before).unwrap();
        fs::write(&other, "{}").unwrap();
        let said = world.ok(&["install", "droid", "--yes"]).out;
        assert!(said.contains(&format!("reads hooks from {}", other.display())), "{said}");
        assert_eq!(fs::read_to_string(&settings).unwrap(), before);
        let told = world.run(&["doctor"]).out;
        assert!(told.contains(&format!("reads hooks from {}", other.display())), "{told}");
        fs::remove_file(&other).unwrap();
        world.ok(&["install", "droid", "--yes"]);
        assert!(fs::read_to_string(&settings).unwrap().contains("--agent droid SessionEnd"));
        // What was added before is removed, whatever is read now.
        fs::write(&other, "{}").unwrap();
        world.ok(&["uninstall", "droid", "--yes"]);
        assert_eq!(fs::read_to_string(&settings).unwrap(), before);
        assert_eq!(fs::read_to_string(&other).unwrap(), "{}");
    }
}

#[test]
fn a_script_is_written_renewed_and_removed_and_a_file_of_somebody_else_stays() {
    for (agent, title, name) in SCRIPTS {
        check_script(agent, title, name);
    }
}

fn check_script(agent: &str, title: &str, name: &str) {
    let world = without_claude();
    let plugin = file(&world, name);
    let beside = plugin.with_file_name("mine.js");
    fs::write(&beside, "export const Mine = async () => ({})\n").unwrap();
    let there = files(&world.path("user"));
    let doctor = |expected: &str| {
        let told = world.run(&["doctor"]).out;
        assert!(told.contains(expected), "{expected}: {told}");
    };
    doctor(&format!("{title} calls none of Baton's hooks"));
    let dry = world.ok(&["install", agent, "--dry-run"]).out;
    assert!(dry.contains(&format!("+++ {}", plugin.display())) && dry.contains("/baton-hook"), "{dry}");
    assert_eq!(files(&world.path("user")), there);
    world.ok(&["install", agent, "--yes"]);
    let written = fs::read_to_string(&plugin).unwrap();
    let (words, home) =
        (format!("/baton-hook\",\"--agent\",\"{agent}\"]"), json!({ "BATON_HOME": world.home() }).to_string());
    assert!(written.contains(&words) && written.contains(&home), "{written}");
    assert!(world.ok(&["install", agent, "--yes"]).out.contains("nothing to do"));
    doctor(&format!("{}, which calls the hook", plugin.display()));
    // One of another version is replaced, and needs no copy.
    fs::write(&plugin, written.replace("SessionEnd", "SessionOver")).unwrap();
    doctor("is of another version");
    world.ok(&["install", agent, "--yes"]);
    assert_eq!(fs::read_to_string(&plugin).unwrap(), written);
    world.ok(&["uninstall", agent, "--yes"]);
    assert_eq!(files(&world.path("user")), there);

    // Somebody else's is neither replaced nor removed.
    fs::write(&plugin, "export const Other = async () => ({})\n").unwrap();
    let theirs = files(&world.path("user"));
    let ran = world.run(&["install", agent, "--yes"]);
    let is_told = ran.err.contains("it is not Baton's") && ran.err.contains("/baton-hook");
    assert!(ran.code == 1 && is_told, "{} {}", ran.out, ran.err);
    doctor(&format!("{} is not Baton's", plugin.display()));
    assert!(world.ok(&["uninstall", agent, "--yes"]).out.contains("nothing to remove"));
    assert_eq!(files(&world.path("user")), theirs);
    // Nor is what a link leads to.
    fs::remove_file(&plugin).unwrap();
    fs::write(world.path("kept.js"), written.replace("SessionEnd", "SessionOver")).unwrap();
    symlink(world.path("kept.js"), &plugin).unwrap();
    for command in ["install", "uninstall"] {
        let ran = world.run(&[command, agent, "--yes"]);
        assert!(ran.code == 1 && ran.err.contains("it is a link to "), "{command}: {} {}", ran.out, ran.err);
    }
    assert!(plugin.is_symlink() && world.path("kept.js").exists());
}

/// The agents with instructions for all projects, and the file below the user's home.
const INSTRUCTIONS: [(&str, &str); 5] = [
    ("gemini", ".gemini/GEMINI.md"),
    ("copilot", ".copilot/copilot-instructions.md"),
    ("qwen", ".qwen/QWEN.md"),
    ("droid", ".factory/AGENTS.md"),
    ("opencode", ".config/opencode/AGENTS.md"),
];

#[test]
fn rules_are_added_only_if_asked_for_and_come_out_byte_for_byte() {
    for (agent, name) in INSTRUCTIONS {
        let world = without_claude();
        let path = file(&world, name);
        for before in [Some("# Mine\r\n\r\nBe brief."), Some("\n\n"), Some("# Mine\n"), None] {
            let _ = fs::remove_file(&path);
            before.into_iter().for_each(|text| fs::write(&path, text).unwrap());
            let there = files(&world.path("user"));
            world.ok(&["install", agent, "--yes"]);
            assert_eq!(fs::read_to_string(&path).ok().as_deref(), before, "{agent}");
            let dry = world.ok(&["install", agent, "--rules", "--dry-run"]).out;
            assert!(
                dry.contains(&format!("+++ {}", path.display())) && dry.contains("+its tool `get_handoff`"),
                "{agent}: {dry}"
            );
            assert!(world.run(&["install", agent, "--rules"]).err.contains("--yes"), "{agent}");
            assert_eq!(fs::read_to_string(&path).ok().as_deref(), before, "{agent}");
            world.ok(&["install", agent, "--rules", "--yes"]);
            let after = fs::read_to_string(&path).unwrap();
            assert!(
                after.starts_with(before.unwrap_or_default()) && after.contains("search_nodes"),
                "{agent}: {after}"
            );
            let is_crlf = before.is_some_and(|text| text.contains('\r'));
            assert_eq!(after.matches("\r\n").count(), if is_crlf { after.matches('\n').count() } else { 0 }, "{agent}");
            assert!(world.ok(&["install", agent, "--rules", "--yes"]).out.contains("nothing to do"), "{agent}");
            assert_eq!(fs::read_to_string(&path).unwrap(), after, "{agent}");
            world.ok(&["uninstall", agent, "--yes"]);
            assert_eq!(files(&world.path("user")), there, "{agent}");
        }
    }
}

#[test]
fn rules_are_refused_where_they_would_not_be_read_or_the_file_is_not_to_be_changed() {
    let world = without_claude();
    let refused = world.run(&["install", "claude", "cursor", "--rules", "--yes"]);
    assert!(refused.code == 2 && refused.err.contains("Claude Code has --claude-md"), "{}", refused.err);
    let path = file(&world, ".gemini/GEMINI.md");
    let elsewhere = world.path("elsewhere.md");
    fs::write(&elsewhere, "# Mine\n").unwrap();
    symlink(&elsewhere, &path).unwrap();
    for _ in 0..2 {
        let ran = world.run(&["install", "gemini", "--rules", "--yes"]);
        let is_told = ran.err.contains("it is a link to ") && ran.err.contains("by hand:\n<!-- baton:begin");
        assert!(ran.code == 1 && is_told, "{}", ran.err);
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "# Mine\n");
        world.ok(&["uninstall", "gemini", "--yes"]);
    }
    // An agent's instructions that cannot be read keep nothing else from being set up or taken out.
    fs::remove_file(&path).unwrap();
    fs::write(&path, b"\xff\xfe").unwrap();
    let ran = world.run(&["install", "gemini", "qwen", "--rules", "--yes"]);
    assert!(ran.code == 1 && ran.err.contains("GEMINI.md is not UTF-8"), "{}", ran.err);
    assert!(fs::read_to_string(world.path("user/.qwen/QWEN.md")).unwrap().contains("baton:begin"));
    assert!(world.path("user/.gemini/settings.json").exists());
    let out = world.ok(&["uninstall", "gemini", "qwen", "--yes"]).out;
    assert!(out.contains("GEMINI.md is not UTF-8") && !world.path("user/.gemini/settings.json").exists(), "{out}");
    assert_eq!(fs::read(&path).unwrap(), b"\xff\xfe");
    // What another file keeps from being read, or this one keeps from it.
    fs::create_dir_all(world.path("codex")).unwrap();
    fs::write(world.path("codex/AGENTS.override.md"), "# Only this\n").unwrap();
    let out = world.ok(&["install", "codex", "--rules", "--dry-run"]).out;
    assert!(out.contains("AGENTS.override.md is read in place of"), "{out}");
    fs::write(file(&world, ".claude/CLAUDE.md"), "# Both\n").unwrap();
    let out = world.ok(&["install", "opencode", "--rules", "--dry-run"]).out;
    assert!(out.contains(".claude/CLAUDE.md is read only while there is no "), "{out}");
}
