//! Baton as a plugin folder.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{EVENTS, ours, settings, without_claude};
use crate::world::BATON;

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))).unwrap()
}

#[test]
fn the_folder_is_a_marketplace_with_one_plugin() {
    let world = without_claude();
    let said = world.ok(&["install", "--plugin", "shelf"]).out;
    let shelf = world.path("work/shelf");
    assert!(said.contains("/plugin marketplace add") && said.contains("/plugin install baton@baton-local"), "{said}");
    let market = read(&shelf.join(".claude-plugin/marketplace.json"));
    assert!(market["name"] == "baton-local" && market["owner"]["name"].is_string(), "{market}");
    let [plugin] = &market["plugins"].as_array().unwrap()[..] else { panic!("{market}") };
    assert_eq!(plugin["name"], "baton");
    let source = plugin["source"].as_str().unwrap();
    assert!(source.starts_with("./") && plugin.get("version").is_none(), "{plugin}");
    let root = shelf.join(source);
    let manifest = read(&root.join(".claude-plugin/plugin.json"));
    assert!(manifest["name"] == "baton" && manifest["version"].is_string(), "{manifest}");
    let hooks = read(&root.join("hooks/hooks.json"));
    assert!(EVENTS.iter().all(|event| ours(&hooks, event).len() == 1), "{hooks}");
    let servers = read(&root.join(".mcp.json"));
    assert_eq!(servers["mcpServers"]["baton"]["command"], BATON);
    assert!(world.ok(&["install", "--plugin", "shelf"]).out.contains("nothing to do"));
    assert!(!settings(&world).exists());
}

#[test]
fn never_both_ways_at_once() {
    let world = without_claude();
    world.ok(&["install", "--yes"]);
    let ran = world.run(&["install", "--plugin", "shelf"]);
    assert!(ran.code == 1 && ran.err.contains("baton uninstall"), "{}", ran.err);
    assert!(!world.path("work/shelf").exists());
    world.ok(&["uninstall", "--yes"]);
    fs::create_dir(world.path("work/full")).unwrap();
    fs::write(world.path("work/full/thesis.txt"), "mine").unwrap();
    let ran = world.run(&["install", "--plugin", "full"]);
    assert!(ran.code == 1 && ran.err.contains("holds something else"), "{}", ran.err);
    assert_eq!(fs::read_dir(world.path("work/full")).unwrap().count(), 1);
    // Refused while the server is registered anywhere; and not attempted with settings that cannot be parsed.
    let server = format!("{{\"mcpServers\": {{\"baton\": {{\"command\": \"{BATON}\", \"args\": [\"mcp\"]}}}}}}");
    for (path, text, expected) in [
        ("claude/.claude.json", server.as_str(), "run `baton uninstall` first"),
        ("work/.mcp.json", server.as_str(), "run `baton uninstall --scope project` first"),
        ("claude/settings.json", "{\"hooks\": ", "not valid JSON"),
    ] {
        fs::write(world.path(path), text).unwrap();
        let ran = world.run(&["install", "--plugin", "shelf"]);
        assert!(ran.code == 1 && ran.err.contains(expected), "{path}: {}", ran.err);
        assert!(!world.path("work/shelf").exists());
        fs::remove_file(world.path(path)).unwrap();
    }
    world.ok(&["install", "--plugin", "shelf"]);
    // Enabled in a project counts as enabled.
    fs::create_dir_all(world.path("work/.claude")).unwrap();
    fs::write(world.path("work/.claude/settings.json"), "{\"enabledPlugins\": {\"baton@team\": true}}").unwrap();
    let ran = world.run(&["install", "--yes"]);
    assert!(ran.code == 1 && ran.err.contains("baton@team"), "{}", ran.err);
}

#[test]
fn uninstall_names_a_plugin_that_it_cannot_take_out() {
    let world = without_claude();
    fs::write(settings(&world), "{\"enabledPlugins\": {\"baton@baton-local\": true, \"other@x\": true}}").unwrap();
    let told = world.ok(&["uninstall", "--yes"]).out;
    assert!(told.contains("claude plugin uninstall baton@baton-local") && !told.contains("other@x"), "{told}");
    assert!(told.contains("nothing else to remove"), "{told}");
}
