//! Settings of many shapes: what they become, that a second run changes nothing, and that uninstalling restores them
//! exactly.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use super::{EVENTS, ours, settings, without_claude};

/// Each is installed into and uninstalled from, with and without the backup.
const SHAPES: [(&str, &str); 21] = [
    ("empty object", "{}"),
    ("empty object on two lines", "{\n}\n"),
    ("one line", "{\"model\":\"opus\"}"),
    ("one spacious line", "{ \"model\": \"opus\", \"env\": { \"A\": \"1\" } }\n"),
    (
        "two spaces",
        "{\n  \"model\": \"opus\",\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(ls)\"\n    ]\n  }\n}\n",
    ),
    ("four spaces", "{\n    \"model\": \"opus\"\n}"),
    ("tabs", "{\n\t\"model\": \"opus\",\n\t\"x\": [\n\t\t1\n\t]\n}\n"),
    ("Windows lines", "{\r\n  \"model\": \"opus\",\r\n  \"hooks\": {}\r\n}\r\n"),
    ("byte order mark", "\u{feff}{\n  \"model\": \"opus\"\n}\n"),
    ("remarks", "// mine\n{\n  /* the best */ \"model\": \"opus\", // really, {\n  // end }\n}\n// after\n"),
    (
        "trailing commas",
        "{\n  \"x\": [1, 2,],\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": [],},\n    ],\n  },\n}\n",
    ),
    ("unknown keys, odd order", "{\n  \"zzz\": {\"b\": 1, \"a\": 2},\n  \"hooks\": {},\n  \"aaa\": null\n}\n"),
    ("no last line end", "{\n  \"model\": \"opus\"\n}"),
    ("blank lines", "\n\n{\n\n  \"model\": \"opus\"\n\n}\n\n"),
    ("letters and escapes", "{\n  \"näme\": \"\\u00e4 \\\" } , // \\\\\",\n  \"🙂\": 1e400\n}\n"),
    (
        "hooks of others",
        "{\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\n        \"matcher\": \"Bash\",\n        \"hooks\": [\n          {\n            \
         \"type\": \"command\",\n            \"command\": \"check\"\n          }\n        ]\n      }\n    ],\n    \"Stop\": [\n      \
         {\n        \"hooks\": [\n          { \"type\": \"command\", \"command\": \"say done\" }\n        ]\n      }\n    ]\n  },\n  \
         \"model\": \"opus\"\n}\n",
    ),
    (
        "others on one line",
        "{\"hooks\":{\"SessionEnd\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"bye\"}]}]},\"a\":1}",
    ),
    ("empty lists", "{\n  \"hooks\": {\n    \"Stop\": [],\n    \"SessionStart\": [ ]\n  }\n}\n"),
    ("a plugin of another", "{\n  \"enabledPlugins\": {\n    \"other@baton\": true,\n    \"baton@x\": false\n  }\n}\n"),
    (
        "hooks that do more than ours, or call others of our name",
        "{\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"/usr/bin/baton-hook Stop && \
         notify-send done\"}]}\n    ],\n    \"Notification\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"/opt/x/baton hook \
         notify --to me\"}]}\n    ],\n    \"PreToolUse\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"baton hook | \
         my-guard\"}]}\n    ]\n  }\n}\n",
    ),
    ("nothing", ""),
];

#[test]
fn each_shape_gets_every_hook_once_and_comes_back_byte_for_byte() {
    let world = without_claude();
    let path = settings(&world);
    for (name, before) in SHAPES {
        fs::write(&path, before).unwrap();
        world.ok(&["install", "--yes"]);
        let after = fs::read_to_string(&path).unwrap();
        assert!(world.ok(&["install", "--yes"]).out.contains("nothing to do"), "{name}");
        assert_eq!(fs::read_to_string(&path).unwrap(), after, "{name}");
        for event in EVENTS {
            let ends = ["\"\n", "\",\n", "\"\r", "\",\r"].map(|end| format!(" {event}{end}"));
            assert_eq!(ends.iter().map(|end| after.matches(end.as_str()).count()).sum::<usize>(), 1, "{name}: {event}");
        }
        // Only insertions: everything else is unchanged.
        let mut rest = after.chars();
        assert!(before.chars().all(|letter| rest.any(|other| other == letter)), "{name}: {after}");
        if before.contains("\r\n") {
            assert_eq!(after.matches('\n').count(), after.matches("\r\n").count(), "{name}");
        }
        world.ok(&["uninstall", "--yes"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), before, "{name}");
        let left: Vec<_> = fs::read_dir(world.config()).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert!(!left.iter().any(|name| name.to_string_lossy().contains("backup")), "{name}: {left:?}");
    }
}

#[test]
fn the_way_back_needs_no_copy_but_where_something_was_empty() {
    let world = without_claude();
    let path = settings(&world);
    let is_empty_somewhere =
        |name: &str| name.contains("empty") || matches!(name, "nothing" | "Windows lines" | "unknown keys, odd order");
    for (name, before) in SHAPES.iter().filter(|(name, _)| !is_empty_somewhere(name)) {
        fs::write(&path, before).unwrap();
        world.ok(&["install", "--yes"]);
        fs::remove_file(world.config().join("settings.json.baton-backup-1")).unwrap();
        world.ok(&["uninstall", "--yes"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), *before, "{name}");
        for entry in fs::read_dir(world.config()).unwrap().flatten().filter(|entry| entry.path().is_file()) {
            fs::remove_file(entry.path()).unwrap();
        }
    }
}

#[test]
fn what_is_no_settings_file_is_refused_and_left_alone() {
    let huge = format!("{{\"a\": \"{}\"}}", "x".repeat(8 * 1024 * 1024));
    for (text, expected) in [
        ("{", "not valid JSON"),
        ("{'model': 'opus'}", "not valid JSON"),
        ("{\"a\": 1 \"b\": 2}", "not valid JSON"),
        ("<<<<<<< HEAD\n{}\n", "not valid JSON"),
        ("[]", "is a list, and must be an object"),
        ("null", "is null"),
        ("{\"hooks\": []}", "hooks is a list, and must be an object"),
        ("{\"hooks\": {\"Stop\": {}}}", "hooks.Stop is an object, and must be a list"),
        ("{\"hooks\": {\"SessionEnd\": \"x\"}}", "hooks.SessionEnd is a string"),
        ("{\"enabledPlugins\": {\"baton@team\": true}}", "plugin baton@team"),
        (&huge, "larger than 8 MB"),
    ] {
        let world = without_claude();
        fs::write(settings(&world), text).unwrap();
        let ran = world.run(&["install", "--yes"]);
        assert!(ran.code == 1 && ran.err.contains(expected), "{expected}: {}", ran.err);
        assert!(ran.err.contains("settings.json"), "{}", ran.err);
        assert_eq!(fs::read_to_string(settings(&world)).unwrap(), text);
        assert_eq!(fs::read_dir(world.config()).unwrap().count(), 2, "nothing beside it");
    }
    let world = without_claude();
    fs::write(settings(&world), b"{\"a\": \"\xff\"}").unwrap();
    assert!(world.run(&["install", "--yes"]).err.contains("UTF-8"));
    fs::remove_file(settings(&world)).unwrap();
    fs::create_dir(settings(&world)).unwrap();
    assert!(world.run(&["install", "--yes"]).err.contains("is not a file"));
}

#[test]
fn a_read_only_file_stays_read_only_and_as_it_is() {
    let world = without_claude();
    fs::write(settings(&world), "{}").unwrap();
    fs::set_permissions(settings(&world), fs::Permissions::from_mode(0o444)).unwrap();
    let ran = world.run(&["install", "--yes"]);
    assert!(ran.code == 1 && ran.err.contains("read-only") && ran.err.contains("chmod u+w"), "{}", ran.err);
    assert_eq!(fs::read_to_string(settings(&world)).unwrap(), "{}");
    assert_eq!(fs::read_dir(world.config()).unwrap().count(), 2);
}

#[test]
fn older_entries_of_ours_are_mended_and_never_doubled() {
    let world = without_claude();
    for old in [
        r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "/old/bin/baton-hook Stop", "timeout": 30000}]}]}}"#,
        r#"{"hooks": {"SessionEnd": [{"matcher": "compact", "hooks": [{"type": "command", "command": "baton hook session-end"}]}]}}"#,
        r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}, {"type": "command", "command": "\"/a b/baton-hook\" Stop"}]}, {"hooks": [{"type": "command", "command": "/c/baton-hook", "args": ["Stop"]}]}]}}"#,
    ] {
        fs::write(settings(&world), old).unwrap();
        world.ok(&["install", "--yes"]);
        let after: Value = serde_json::from_slice(&fs::read(settings(&world)).unwrap()).unwrap();
        for event in EVENTS {
            let [one] = ours(&after, event)[..] else { panic!("{event}: {after:#}") };
            let command = one["command"].as_str().unwrap();
            assert!(command.ends_with(event) && !command.contains("/old/") && !command.contains("/a b/"), "{command}");
            assert!(one["timeout"].as_u64().is_none_or(|seconds| seconds <= 10));
        }
        world.ok(&["uninstall", "--yes"]);
        let left = fs::read_to_string(settings(&world)).unwrap();
        assert_eq!(left.contains("\"x\""), old.contains("\"x\""), "{left}");
        assert!(!left.contains("baton"), "{left}");
    }
}
