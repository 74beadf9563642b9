//! The MCP server, registered through a `claude` that records its calls.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::{settings, without_claude};
use crate::world::{BATON, World};

/// Records each call, and keeps one server as Claude Code does.
const CLAUDE: &str = r#"#!/bin/sh
here=$(dirname "$0")
echo "$BATON_CHILD $*" >> "$here/calls"
case "$2" in
get) test -f "$here/server" || { echo "No MCP server found with name: $3" >&2; exit 1; }; cat "$here/server" ;;
add) while [ "$1" != -- ]; do shift; done; shift; printf 'baton:\n  Type: stdio\n  Command: %s\n  Args: %s\n  Environment:\n    BATON_HOME=%s\n' "$1" "$2" "$HOME_OF_TEST" > "$here/server" ;;
remove) rm "$here/server" ;;
esac
"#;

fn with_claude(script: &str) -> World {
    let mut world = World::new();
    let claude = world.path("bin/claude");
    fs::create_dir(world.path("bin")).unwrap();
    fs::write(&claude, script).unwrap();
    fs::set_permissions(&claude, fs::Permissions::from_mode(0o755)).unwrap();
    let (bin, home) = (world.path("bin"), world.home().to_owned());
    world.set("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    world.set("HOME_OF_TEST", home);
    world
}

fn calls(world: &World) -> Vec<String> {
    let calls = fs::read_to_string(world.path("bin/calls")).unwrap_or_default();
    // Queries are not counted.
    calls.lines().filter(|call| !call.contains(" mcp get ")).map(str::to_owned).collect()
}

#[test]
fn it_is_registered_once_and_taken_away_once() {
    let world = with_claude(CLAUDE);
    let shown = world.ok(&["install", "--dry-run"]).out;
    assert!(calls(&world).is_empty());
    let done = world.ok(&["install", "--yes"]).out;
    assert!(done.contains("\nClaude Code knows the MCP server now"), "{done}");
    let home = world.home().display().to_string();
    let add = format!("1 mcp add --scope user baton --env BATON_HOME={home} -- {BATON} mcp");
    assert_eq!(calls(&world), [add.as_str()]);
    assert!(shown.contains("\nBaton will run: claude mcp add --scope user baton"), "{shown}");
    assert!(world.ok(&["install", "--yes"]).out.contains("nothing to do"));
    assert_eq!(calls(&world).len(), 1);
    world.ok(&["uninstall", "--yes"]);
    assert_eq!(calls(&world), [add.as_str(), "1 mcp remove --scope user baton"]);
    assert!(world.ok(&["uninstall", "--yes"]).out.contains("nothing to remove"));
    assert_eq!(calls(&world).len(), 2);
}

#[test]
fn one_at_another_path_is_replaced_and_a_foreign_one_stays() {
    let world = with_claude(CLAUDE);
    fs::write(world.path("bin/server"), "baton:\n  Command: /old/baton\n  Args: mcp\n").unwrap();
    world.ok(&["install", "--yes"]);
    let made = calls(&world);
    assert!(made.len() == 2 && made[0].contains("mcp remove") && made[1].contains("mcp add"), "{made:?}");

    let world = with_claude(CLAUDE);
    fs::write(world.path("bin/server"), "baton:\n  Command: /usr/bin/wand\n  Args: mcp\n").unwrap();
    let said = world.ok(&["install", "--yes"]).out;
    assert!(said.contains("not Baton (it runs /usr/bin/wand)"), "{said}");
    world.ok(&["uninstall", "--yes"]);
    assert_eq!(calls(&world), [""; 0]);
}

#[test]
fn what_claude_code_has_written_down_is_believed() {
    let world = with_claude(CLAUDE);
    let servers = serde_json::json!({"mcpServers": {"baton": {
        "type": "stdio", "command": BATON, "args": ["mcp"], "env": {"BATON_HOME": world.home()}
    }}});
    let registry = world.path("user/.claude.json");
    fs::write(&registry, servers.to_string()).unwrap();
    world.ok(&["install", "--yes"]);
    assert_eq!(calls(&world), [""; 0]);
    assert_eq!(fs::read_to_string(registry).unwrap(), servers.to_string(), "this file is never written");
}

#[test]
fn a_foreign_server_without_a_command_is_named_without_empty_parentheses() {
    let world = with_claude(CLAUDE);
    let servers = r#"{"mcpServers": {"baton": {"type": "http", "url": "https://wand.example/mcp"}}}"#;
    fs::write(world.path("user/.claude.json"), servers).unwrap();
    let said = world.ok(&["install", "--yes"]).out;
    assert!(said.contains("that is not Baton (it has no command); it was not changed"), "{said}");
    assert_eq!(calls(&world), [""; 0]);
}

#[test]
fn a_claude_that_fails_costs_only_the_server() {
    let world = with_claude("#!/bin/sh\necho out of order >&2; exit 1\n");
    let ran = world.run(&["install", "--yes"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("claude mcp add") && ran.err.contains("out of order"), "{}", ran.err);
    assert!(fs::read_to_string(settings(&world)).unwrap().contains("SessionEnd"));
}

#[test]
fn without_claude_the_command_is_printed() {
    let world = without_claude();
    let said = world.ok(&["install", "--yes"]).out;
    assert!(said.contains("`claude` was not found on the path") && said.contains(&format!("-- {BATON} mcp")), "{said}");
}
