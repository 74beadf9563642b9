//! Codex: hooks in a file of their own, and the server registered through a `codex` that records its calls.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::Value;

use super::{EVENTS, ours};
use crate::world::{BATON, World, list, text};

/// Records each call, and keeps one server in its configuration as Codex does.
const CODEX: &str = r#"#!/bin/sh
config="$CODEX_HOME/config.toml"
case "$2" in
get) grep -q '^.mcp_servers.baton.' "$config" 2>/dev/null || { echo "Error: No MCP server named '$3' found." >&2; exit 1; }
     echo '{"name":"baton","transport":{"type":"stdio","command":"'"$(sed -n 's/^command = "\(.*\)"/\1/p' "$config")"'","args":["mcp"],"env":{"BATON_HOME":"'"$BATON_HOME"'","CLAUDE_CONFIG_DIR":"'"$CLAUDE_CONFIG_DIR"'","CODEX_HOME":"'"$CODEX_HOME"'"}}}' ;;
add) echo "$*" >> "$CODEX_HOME/../calls"; while [ "$1" != -- ]; do shift; done
     printf '[mcp_servers.baton]\ncommand = "%s"\nargs = ["mcp"]\n\n[mcp_servers.baton.env]\nBATON_HOME = "%s"\nCLAUDE_CONFIG_DIR = "%s"\nCODEX_HOME = "%s"\n' "$2" "$BATON_HOME" "$CLAUDE_CONFIG_DIR" "$CODEX_HOME" >> "$config" ;;
remove) echo "$*" >> "$CODEX_HOME/../calls"; : > "$config" ;;
esac
"#;

/// A world with Codex, and with Claude Code's folder like every world.
fn with_codex() -> World {
    let mut world = World::new();
    let codex = world.path("bin/codex");
    fs::create_dir(world.path("bin")).unwrap();
    fs::create_dir(world.path("codex")).unwrap();
    fs::write(&codex, CODEX).unwrap();
    fs::set_permissions(&codex, fs::Permissions::from_mode(0o755)).unwrap();
    world.set("PATH", format!("{}:/usr/bin:/bin", world.path("bin").display()));
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

fn calls(world: &World) -> Vec<String> {
    fs::read_to_string(world.path("calls")).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// Writes what Codex writes when its user trusts the hooks.
fn trust(world: &World) {
    let snake =
        ["session_start", "user_prompt_submit", "stop", "pre_compact", "post_compact", "subagent_stop", "session_end"];
    let path = hooks(world);
    let tables = snake.map(|event| format!("[hooks.state.\"{}:{event}:0:0\"]\ntrusted_hash = \"x\"\n", path.display()));
    let config = world.path("codex/config.toml");
    fs::write(&config, fs::read_to_string(&config).unwrap_or_default() + &tables.concat()).unwrap();
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
    assert!(!hooks(&world).exists() && calls(&world).is_empty());
    let only = world.ok(&["install", "codex", "--yes"]);
    assert!(only.out.contains("start `codex` once and accept"), "{}", only.out);
    assert!(!world.config().join("settings.json").exists(), "the other was not named");
    let value: Value = serde_json::from_str(&fs::read_to_string(hooks(&world)).unwrap()).unwrap();
    assert!(EVENTS.iter().all(|event| ours(&value, event).len() == 1), "{value:#}");
    // Codex starts its servers without the shell's variables.
    let env: String =
        variables(&world).iter().map(|(name, path)| format!("--env {name}={} ", path.display())).collect();
    let add = format!("mcp add baton {env}-- {BATON} mcp");
    assert_eq!(calls(&world), [add.as_str()]);
    let untrusted = world.ok(&["install", "codex", "--yes"]).out;
    assert!(untrusted.contains("nothing to do") && untrusted.contains("accept them"), "{untrusted}");
    let found = of_codex(&world);
    assert!(found.iter().any(|(status, what)| status == "warn" && what.contains("have not trusted")), "{found:?}");
    trust(&world);
    let trusted = world.ok(&["install", "codex", "--yes"]).out;
    assert!(trusted.contains("nothing to do") && !trusted.contains("accept them"), "{trusted}");
    let found = of_codex(&world);
    assert!(found.iter().all(|(status, _)| status == "ok"), "{found:?}");
    let uninstalled = world.ok(&["uninstall", "codex", "--yes"]).out;
    for told in ["removed", "the daemon stay; `baton stop`", "[hooks.state]", &world.home().display().to_string()] {
        assert!(uninstalled.contains(told), "{told:?} in {uninstalled}");
    }
    assert!(!hooks(&world).exists());
    assert_eq!(calls(&world), [add.as_str(), "mcp remove baton"]);
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
    let config = world.path("codex/config.toml");
    fs::write(&config, entry(BATON, "}")).unwrap();
    world.ok(&["install", "codex", "--yes"]);
    assert_eq!(calls(&world), [""; 0]);
    assert!(of_codex(&world).iter().any(|(status, what)| status == "ok" && what.contains("MCP server")));

    let broken = entry(BATON, "");
    fs::write(&config, &broken).unwrap();
    fs::remove_file(hooks(&world)).unwrap();
    for command in ["install", "uninstall"] {
        let refused = world.run(&[command, "codex", "--yes"]);
        assert_eq!(refused.code, 1);
        assert!(refused.err.contains("config.toml is not valid TOML: line 2: "), "{}", refused.err);
    }
    assert!(!hooks(&world).exists() && calls(&world).is_empty());
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
