//! Codex: hooks in a file of their own, and the server in its `config.toml`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::Value;

use super::{EVENTS, ours};
use crate::world::{BATON, World, list, text};

/// A world with Codex's folder and without its program, and with Claude Code's folder like every world.
fn with_codex() -> World {
    let mut world = World::new();
    fs::create_dir(world.path("codex")).unwrap();
    world.set("PATH", "/usr/bin:/bin");
    world
}

/// Variables of the shell that Codex does not pass on to its servers.
fn variables(world: &World) -> [(&'static str, PathBuf); 3] {
    [
        ("BATON_HOME", world.home().to_owned()),
        ("CLAUDE_CONFIG_DIR", world.config().to_owned()),
        ("CODEX_HOME", world.path("codex")),
    ]
}

fn hooks(world: &World) -> PathBuf {
    world.path("codex/hooks.json")
}

fn config(world: &World) -> PathBuf {
    world.path("codex/config.toml")
}

/// Baton's table. Codex starts its servers without the shell's variables.
fn table(world: &World) -> String {
    let env = variables(world).map(|(name, path)| format!("{name} = \"{}\"", path.display())).join(", ");
    format!("[mcp_servers.baton]\ncommand = \"{BATON}\"\nargs = [\"mcp\"]\nenv = {{ {env} }}\n")
}

/// Writes what Codex writes when its user trusts the hooks.
fn trust(world: &World) {
    let snake =
        ["session_start", "user_prompt_submit", "stop", "pre_compact", "post_compact", "subagent_stop", "session_end"];
    let path = hooks(world);
    let tables = snake.map(|event| format!("[hooks.state.\"{}:{event}:0:0\"]\ntrusted_hash = \"x\"\n", path.display()));
    fs::write(config(world), fs::read_to_string(config(world)).unwrap_or_default() + &tables.concat()).unwrap();
}

/// Status and text of doctor's findings about Codex.
fn of_codex(world: &World) -> Vec<(String, String)> {
    let findings = list(&world.run(&["doctor", "--json"]).json()["findings"]);
    let fits = |finding: &&Value| finding["check"] == "codex";
    findings.iter().filter(fits).map(|finding| (text(&finding["status"]), text(&finding["what"]))).collect()
}

#[test]
fn codex_is_set_up_and_taken_out_beside_claude_code() {
    let world = with_codex();
    let both = world.ok(&["install", "--dry-run"]);
    assert!(both.out.contains("codex/hooks.json") && both.out.contains("claude/settings.json"), "{}", both.out);
    assert!(!hooks(&world).exists() && !config(&world).exists());
    let only = world.ok(&["install", "codex", "--yes"]);
    assert!(only.out.contains("start `codex` once and accept"), "{}", only.out);
    assert!(!world.config().join("settings.json").exists(), "the other was not named");
    let value: Value = serde_json::from_str(&fs::read_to_string(hooks(&world)).unwrap()).unwrap();
    assert!(EVENTS.iter().all(|event| ours(&value, event).len() == 1), "{value:#}");
    assert_eq!(fs::read_to_string(config(&world)).unwrap(), table(&world));
    let untrusted = world.ok(&["install", "codex", "--yes"]).out;
    assert!(untrusted.contains("nothing to do") && untrusted.contains("accept them"), "{untrusted}");
    let found = of_codex(&world);
    assert!(found.iter().any(|(status, what)| status == "warn" && what.contains("have not trusted")), "{found:?}");
    fs::write(config(&world), "").unwrap();
    trust(&world);
    let before = fs::read_to_string(config(&world)).unwrap();
    world.ok(&["install", "codex", "--yes"]);
    let trusted = world.ok(&["install", "codex", "--yes"]).out;
    assert!(trusted.contains("nothing to do") && !trusted.contains("accept them"), "{trusted}");
    let found = of_codex(&world);
    assert!(found.iter().all(|(status, _)| status == "ok"), "{found:?}");
    let uninstalled = world.ok(&["uninstall", "codex", "--yes"]).out;
    for told in ["removed", "the daemon stay; `baton stop`", "[hooks.state]", &world.home().display().to_string()] {
        assert!(uninstalled.contains(told), "{told:?} in {uninstalled}");
    }
    assert!(!hooks(&world).exists());
    assert_eq!(fs::read_to_string(config(&world)).unwrap(), before);
    assert!(world.ok(&["uninstall", "--yes"]).out.contains("nothing to remove"));
}

#[test]
fn an_entry_that_somebody_wrote_by_hand_is_known() {
    let world = with_codex();
    let entry = |command: &str, close: &str| {
        let env = variables(&world).map(|(name, path)| format!("{name} = '{}'", path.display())).join(", ");
        let env = format!("env = {{ {env} }}");
        format!("# mine\nmcp_servers.\"baton\" = {{ command = '{command}', args = ['mcp'], {env} {close} # ours\n")
    };
    let config = config(&world);
    fs::write(&config, entry(BATON, "}")).unwrap();
    world.ok(&["install", "codex", "--yes"]);
    assert_eq!(fs::read_to_string(&config).unwrap(), entry(BATON, "}"));
    assert!(of_codex(&world).iter().any(|(status, what)| status == "ok" && what.contains("MCP server")));

    let broken = entry(BATON, "");
    fs::write(&config, &broken).unwrap();
    fs::remove_file(hooks(&world)).unwrap();
    for command in ["install", "uninstall"] {
        let refused = world.run(&[command, "codex", "--yes"]);
        assert_eq!(refused.code, 1);
        assert!(refused.err.contains("config.toml: it is not valid TOML: line 2: "), "{}", refused.err);
        assert_eq!(refused.err.contains("[mcp_servers.baton]"), command == "install", "{}", refused.err);
    }
    assert!(!hooks(&world).exists());
    assert_eq!(fs::read_to_string(&config).unwrap(), broken);
    let found = of_codex(&world);
    let told: Vec<&String> = found.iter().filter(|(status, _)| status == "error").map(|(_, what)| what).collect();
    assert!(matches!(told[..], [what] if what.contains("not valid TOML")), "{found:?}");
}

#[test]
fn hooks_of_others_stay_byte_for_byte_and_a_killed_runs_leftovers_go() {
    let world = with_codex();
    let theirs =
        "{\n  \"hooks\": {\n    \"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"bell\"}]}]\n  }\n}\n";
    fs::write(hooks(&world), theirs).unwrap();
    fs::write(world.path("codex/.baton-unfinished-a1B2c3"), "half").unwrap();
    world.ok(&["install", "codex", "--dry-run"]);
    assert!(world.path("codex/.baton-unfinished-a1B2c3").exists(), "nothing is changed");
    world.ok(&["install", "codex", "--yes"]);
    assert!(!world.path("codex/.baton-unfinished-a1B2c3").exists());
    world.ok(&["uninstall", "codex", "--yes"]);
    assert_eq!(fs::read_to_string(hooks(&world)).unwrap(), theirs);
}

#[test]
fn with_only_codex_doctor_suggests_only_its_fixes() {
    let world = with_codex();
    fs::remove_dir_all(world.config()).unwrap();
    let findings = list(&world.run(&["doctor", "--json"]).json()["findings"]);
    let fixes: Vec<String> = findings.iter().filter_map(|finding| Some(finding["fix"].as_str()?.to_owned())).collect();
    let is_of_claude = |fix: &String| fix == "baton install" || fix.split_whitespace().any(|word| word == "claude");
    assert!(!fixes.iter().any(is_of_claude), "{findings:#?}");
    assert!(fixes.iter().any(|fix| fix == "baton install codex"), "{findings:#?}");
    assert_eq!(world.run(&["install", "codex", "--scope", "project"]).code, 2, "there is nothing of it for a project");
}

#[test]
fn a_configuration_is_changed_in_place_and_restored() {
    let mine = "model = 'm' # mine\n\n[mcp_servers.x]\ncommand = 'x'\n\n# the end";
    for before in [None, Some(mine), Some("# é\r\n[tui]\r\n")] {
        let world = with_codex();
        before.into_iter().for_each(|text| fs::write(config(&world), text).unwrap());
        world.ok(&["install", "codex", "--yes"]);
        let after = fs::read_to_string(config(&world)).unwrap();
        assert!(after.starts_with(before.unwrap_or_default()), "{after}");
        assert!(after.replace("\r\n", "\n").ends_with(&table(&world)), "{after}");
        assert!(world.ok(&["install", "codex", "--yes"]).out.contains("nothing to do"));
        // One that names another program is renewed.
        fs::write(config(&world), after.replace(BATON, "/gone/baton")).unwrap();
        assert!(of_codex(&world).iter().any(|(status, what)| status == "error" && what.contains("/gone/baton")));
        world.ok(&["install", "codex", "--yes"]);
        assert_eq!(fs::read_to_string(config(&world)).unwrap(), after);
        world.ok(&["uninstall", "codex", "--yes"]);
        assert_eq!(fs::read_to_string(config(&world)).ok().as_deref(), before);
    }
}

#[test]
fn a_configuration_that_is_a_link_or_of_another_form_is_refused_with_the_text() {
    let world = with_codex();
    let real = world.path("dotfiles.toml");
    fs::write(&real, "model = 'm'\n").unwrap();
    symlink(&real, config(&world)).unwrap();
    let refused = |why: &str| {
        let ran = world.run(&["install", "codex", "--yes"]);
        assert!(ran.code == 1 && ran.err.contains(why) && ran.err.contains(table(&world).trim_end()), "{}", ran.err);
    };
    refused("it is a link to");
    assert_eq!(fs::read_to_string(&real).unwrap(), "model = 'm'\n");
    fs::write(&real, table(&world)).unwrap();
    world.ok(&["install", "codex", "--yes"]);
    fs::remove_file(config(&world)).unwrap();
    fs::write(config(&world), "mcp_servers = { x = { command = 'x' } }\n").unwrap();
    refused("written in a form that Baton does not edit");
}
