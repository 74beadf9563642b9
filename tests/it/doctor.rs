//! `baton doctor` and `baton service`: their findings in worlds where something is wrong.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use serde_json::{Value, json};

use crate::install::{settings, without_claude};
use crate::transcript::Transcript;
use crate::world::{BATON, World, id, list, skipped, text};

fn script(path: &Path, script: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, script).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The findings of doctor, passing or not. Asserts that the exit code agrees with them.
fn doctor(world: &World) -> Vec<Value> {
    let ran = world.run(&["doctor", "--json"]);
    let report = ran.json();
    let findings = list(&report["findings"]);
    let is_bad = findings.iter().any(|finding| finding["status"] == "error");
    assert!(report["healthy"] == !is_bad && ran.code == i32::from(is_bad), "{report:#}");
    for finding in &findings {
        let wants_fix = finding["status"] == "warn" || finding["status"] == "error";
        assert_eq!(finding["fix"].is_string(), wants_fix, "{finding}");
    }
    findings
}

/// The finding of this check and status whose text contains `what`.
#[track_caller]
fn found(findings: &[Value], check: &str, status: &str, what: &str) -> Value {
    let fits = |finding: &&Value| finding["check"] == check && finding["status"] == status;
    let found = findings.iter().filter(fits).find(|finding| text(&finding["what"]).contains(what));
    found.unwrap_or_else(|| panic!("no {check} {status} {what:?} in {findings:#?}")).clone()
}

#[test]
fn where_nothing_is_set_up_it_says_how() {
    let world = without_claude();
    let findings = doctor(&world);
    found(&findings, "program", "warn", "no `baton` is on the path");
    assert_eq!(found(&findings, "hooks", "warn", "calls none of")["fix"], "baton install");
    assert!(text(&found(&findings, "mcp", "warn", "does not know")["fix"]).contains("claude mcp add"));
    found(&findings, "home", "ok", "does not exist yet");
    found(&findings, "daemon", "unknown", "none is running");
    found(&findings, "retention", "warn", "30 days");
    assert!(!world.home().exists() && world.daemon().is_none(), "it only looks");
    let told = world.ok(&["doctor"]).out;
    assert!(told.contains("fix: baton install") && told.contains("! hooks"), "{told}");
}

#[test]
fn where_all_is_well_it_says_so() {
    let mut world = World::new();
    fs::create_dir(world.path("bin")).unwrap();
    symlink(BATON, world.path("bin/baton")).unwrap();
    world.set("PATH", format!("{}:/usr/bin:/bin", world.path("bin").display()));
    fs::write(settings(&world), "{\"cleanupPeriodDays\": 365}").unwrap();
    world.ok(&["install", "--yes"]);
    let servers = serde_json::json!({"mcpServers": {"baton": {
        "type": "stdio", "command": BATON, "args": ["mcp"], "env": {"BATON_HOME": world.home()}
    }}});
    fs::write(world.path("user/.claude.json"), servers.to_string()).unwrap();
    let mut transcript = world.transcript("app", "5a6b0000-0000-4000-8000-000000000001");
    transcript.prompt("hello there").reply("good day");
    world.search("hello");
    let findings = doctor(&world);
    for (check, what) in [
        ("program", "is version"),
        ("baton-hook", "runs"),
        ("home", "yours alone"),
        ("socket", "yours alone"),
        ("spool", "no signal"),
        ("environment", "BATON_HOME="),
        ("hooks", "all 7"),
        ("mcp", "registered in"),
        ("retention", "as long as"),
        ("daemon", "version"),
        ("transcripts", "1 on disk, 1 sessions known, 1 indexed"),
        ("log", "0 events behind"),
    ] {
        found(&findings, check, "ok", what);
    }
    assert!(
        findings.iter().all(|finding| finding["status"] == "ok" || finding["status"] == "unknown"),
        "{findings:#?}"
    );
}

#[test]
fn what_is_counted_is_named_wherever_it_is_counted() {
    let world = without_claude();
    let me = "5a6b0000-0000-4000-8000-000000000001";
    world.transcript("app", me).prompt("hello there").reply("good day");
    let agent = world.projects().join(format!("app/{me}/subagents/agent-a1b2c3d.jsonl"));
    Transcript::new(agent, me, "/srv/app").of_subagent("a1b2c3d").prompt("look at it").reply("looked");
    world.search("hello");
    let findings = doctor(&world);
    found(&findings, "transcripts", "ok", "2 on disk, 1 sessions and 1 of subagents known, 2 indexed");
    found(&findings, "log", "ok", "turns and episodes, 0 events behind");
    let status = world.ok(&["status"]).out;
    assert!(status.contains(" in 1 segment, ") && status.contains("turns and episodes, 0 events behind"), "{status}");
    let stats = world.ok(&["log", "stats"]).out;
    assert!(stats.contains("of 2 sessions with subagents'"), "{stats}");
    let verified = world.ok(&["log", "verify"]).out;
    assert!(verified.contains("(turns, episodes, entities, facts)"), "{verified}");
    let exported = world.ok(&["log", "export", "-o", world.path("x.jsonl").to_str().unwrap()]).err;
    assert!(exported.contains("2 conversations (subagents' too) with"), "{exported}");
}

#[test]
fn codex_is_seen_where_it_is_used() {
    let world = without_claude();
    let findings = doctor(&world);
    assert!(findings.iter().all(|finding| finding["check"] != "codex"), "{findings:#?}");
    found(&findings, "environment", "ok", "CODEX_HOME=");
    fs::create_dir_all(world.path("codex/sessions")).unwrap();
    found(&doctor(&world), "codex", "ok", "codex/sessions is read");
}

#[test]
fn a_program_that_has_gone_is_an_error_with_its_fix() {
    let world = without_claude();
    world.ok(&["install", "--yes"]);
    let installed = fs::read_to_string(settings(&world)).unwrap();
    let folder = Path::new(BATON).parent().unwrap().display().to_string();
    fs::write(settings(&world), installed.replace(&folder, "/gone/bin")).unwrap();
    fs::write(world.path("user/.claude.json"), r#"{"mcpServers":{"baton":{"command":"/gone/baton","args":["mcp"]}}}"#)
        .unwrap();
    let findings = doctor(&world);
    assert_eq!(found(&findings, "hooks", "error", "SessionEnd")["fix"], "baton install");
    assert!(text(&found(&findings, "mcp", "error", "/gone/baton")["fix"]).contains("claude mcp remove"));
    world.ok(&["install", "--yes"]);
    found(&doctor(&world), "hooks", "ok", "all 7");
}

#[test]
fn a_server_that_is_registered_for_one_project_is_seen_there() {
    let world = without_claude();
    let here = fs::canonicalize(world.path("work")).unwrap();
    let baton =
        serde_json::json!({"type": "stdio", "command": BATON, "args": ["mcp"], "env": {"BATON_HOME": world.home()}});
    let registry = world.path("user/.claude.json");
    for (folder, command, status, what) in [
        (&*here, BATON, "ok", "for this project only"),
        (&*here, "/gone/baton", "error", "/gone/baton for this project only"),
        (Path::new("/elsewhere"), BATON, "warn", "does not know"),
    ] {
        let mut baton = baton.clone();
        baton["command"] = command.into();
        let file = serde_json::json!({"projects": {folder.to_str().unwrap(): {"mcpServers": {"baton": baton}}}});
        fs::write(&registry, file.to_string()).unwrap();
        let finding = found(&doctor(&world), "mcp", status, what);
        assert!(status != "error" || text(&finding["fix"]).contains("--scope local"), "{finding}");
        for command in [&["install", "--dry-run"][..], &["uninstall", "--dry-run"]] {
            let said = world.ok(command).out;
            assert_eq!(said.contains("registered for this project only"), folder == here, "{said}");
        }
    }
}

#[test]
fn settings_that_do_not_work_are_named() {
    let world = without_claude();
    world.ok(&["install", "--yes"]);
    let installed = fs::read_to_string(settings(&world)).unwrap();
    for (changed, status, what) in [
        (
            installed.replacen("\"timeout\": 5", "\"timeout\": 30000", 1),
            "warn",
            "it is in seconds, not in milliseconds",
        ),
        (installed.replacen("\"Stop\"", "\"Stopped\"", 1), "warn", "not called for Stop"),
        (installed.replacen('{', "{\"disableAllHooks\": true,", 1), "error", "disableAllHooks"),
        (installed.replacen('{', "{\"enabledPlugins\": {\"baton@x\": true},", 1), "error", "called twice"),
    ] {
        fs::write(settings(&world), &changed).unwrap();
        found(&doctor(&world), "hooks", status, what);
    }
    fs::write(settings(&world), installed.replacen('{', "{,", 1)).unwrap();
    found(&doctor(&world), "settings", "error", "cannot be read");
}

#[test]
fn two_versions_are_distinguished() {
    let mut world = World::new();
    script(&world.path("bin/baton"), "#!/bin/sh\necho baton 9.9.9\n");
    world.set("PATH", format!("{}:/usr/bin:/bin", world.path("bin").display()));
    found(&doctor(&world), "program", "warn", "is version 9.9.9");
}

#[test]
fn a_home_that_others_can_write_to_is_an_error() {
    let world = without_claude();
    for (mode, status, what) in [(0o770, "error", "others can write to"), (0o755, "warn", "others can read")] {
        fs::create_dir_all(world.home()).unwrap();
        fs::set_permissions(world.home(), fs::Permissions::from_mode(mode)).unwrap();
        assert!(text(&found(&doctor(&world), "home", status, what)["fix"]).starts_with("chmod 700 "));
    }
}

#[test]
fn a_full_spool_is_an_error_and_a_waiting_one_is_reported() {
    let world = without_claude();
    let spool = world.home().join("spool");
    fs::create_dir_all(&spool).unwrap();
    fs::write(spool.join("0000000000001-x.json"), "{}").unwrap();
    found(&doctor(&world), "spool", "warn", "1 signal of a hook is waiting");
    fs::write(spool.join("dropped"), "...").unwrap();
    found(&doctor(&world), "spool", "warn", "3 signals of hooks were lost");
    for number in 0..4_096 {
        fs::write(spool.join(format!("{number:013}-x.json")), "").unwrap();
    }
    found(&doctor(&world), "spool", "error", "full");
    fs::rename(&spool, world.path("elsewhere")).unwrap();
    symlink(world.path("elsewhere"), &spool).unwrap();
    assert!(text(&found(&doctor(&world), "spool", "error", "is not a folder of its own")["fix"]).starts_with("rm "));
}

#[test]
fn a_service_is_written_started_and_taken_away() {
    if !cfg!(target_os = "linux") {
        return skipped("only Linux has this service manager");
    }
    let mut world = World::new();
    script(&world.path("bin/systemctl"), "#!/bin/sh\necho \"$*\" >> \"$(dirname \"$0\")/calls\"\n");
    world.set("PATH", format!("{}:/usr/bin:/bin", world.path("bin").display()));
    let unit = world.path("user/.config/systemd/user/baton.service");
    world.ok(&["service", "install"]);
    let written = fs::read_to_string(&unit).unwrap();
    assert!(written.contains(&format!("ExecStart=\"{BATON}\" daemon --foreground\n")), "{written}");
    assert!(written.contains(&format!("Environment=\"BATON_HOME={}\"\n", world.home().display())), "{written}");
    let calls = fs::read_to_string(world.path("bin/calls")).unwrap();
    assert_eq!(calls, "--user daemon-reload\n--user enable --now baton.service\n");
    assert!(world.ok(&["service", "install"]).out.contains("nothing to do"));
    let status = world.json(&["service", "status"]);
    assert!(status["installed"] == true && status["current"] == true && status["enabled"] == true, "{status}");
    world.ok(&["service", "uninstall"]);
    assert!(!unit.exists());
    assert!(world.ok(&["service", "uninstall"]).out.contains("nothing to do"));
    assert_eq!(world.json(&["service", "status"])["installed"], false);
    // A unit that Baton did not write.
    fs::write(&unit, "[Unit]\n").unwrap();
    let ran = world.run(&["service", "install"]);
    assert!(ran.code == 1 && ran.err.contains("not written by Baton"), "{}", ran.err);
    assert_eq!(fs::read_to_string(&unit).unwrap(), "[Unit]\n");
}

#[test]
fn without_a_service_manager_the_commands_are_printed() {
    if !cfg!(target_os = "linux") {
        return skipped("only Linux has this service manager");
    }
    let mut world = World::new();
    world.set("PATH", world.path("nowhere"));
    let said = world.ok(&["service", "install"]).out;
    assert!(said.contains("  systemctl --user enable --now baton.service"), "{said}");
    assert!(world.path("user/.config/systemd/user/baton.service").exists());
    assert_eq!(world.json(&["service", "status"])["running"], Value::Null);
}

/// What doctor says of each agent's MCP server, hooks and trust.
fn connections(world: &World) -> Vec<[String; 3]> {
    let of = |row: &Value| {
        let trust = row["hooks_trusted"].as_bool().map_or_else(String::new, |is_trusted| is_trusted.to_string());
        [text(&row["mcp_server"]), text(&row["hooks"]), trust]
    };
    list(&world.run(&["doctor", "--json"]).json()["agents"]).iter().map(of).collect()
}

#[test]
fn each_agent_has_a_row_with_what_is_connected() {
    let world = without_claude();
    let folder = |name: &str| {
        let folder = world.path("user").join(name);
        fs::create_dir_all(&folder).unwrap();
        folder
    };
    fs::remove_dir_all(world.config()).unwrap();
    let (gemini, opencode, codex) = (folder(".gemini"), folder(".config/opencode"), world.path("codex"));
    fs::create_dir(&codex).unwrap();
    let rows = |expected: [[&str; 3]; 3]| assert_eq!(connections(&world), expected.map(|row| row.map(str::to_owned)));
    rows([["absent", "absent", ""]; 3]);
    world.ok(&["install", "--yes"]);
    rows([["present", "present", "false"], ["present", "present", ""], ["present", "present", ""]]);
    let shown = world.ok(&["doctor"]).out;
    assert!(
        shown.contains("agent       MCP server  hooks\nCodex       present     present, not all trusted\n"),
        "{shown}"
    );

    // Codex has trusted the hooks, then a person has switched one off; somebody else's hook stands before another.
    let hooks = codex.join("hooks.json");
    let names =
        ["session_start", "user_prompt_submit", "stop", "pre_compact", "post_compact", "subagent_stop", "session_end"];
    let trusted =
        |name: &str| format!("[hooks.state.\"{}:{name}:0:0\"]\ntrusted_hash = \"sha256:x\"\n", hooks.display());
    let server = format!("[mcp_servers.baton]\ncommand = \"{BATON}\"\nargs = [\"mcp\"]\n");
    let env = format!("env = {{ BATON_HOME = \"{}\" }}\n", world.home().display());
    let config =
        |more: &str| fs::write(codex.join("config.toml"), format!("{server}{more}{}", names.map(trusted).concat()));
    config(&env).unwrap();
    let others = [["present", "present", ""]; 2];
    let [second, third] = others;
    rows([["changed", "present", "true"], second, third]);
    fs::write(codex.join("config.toml"), names.map(trusted).concat() + "enabled = false\n").unwrap();
    rows([["absent", "present", "false"], second, third]);
    assert!(text(&found(&doctor(&world), "codex", "warn", "have not trusted")["what"]).ends_with(": SessionEnd"));
    config(&format!("enabled = false\n{env}")).unwrap();
    let written = fs::read_to_string(&hooks).unwrap();
    let bell = r#"{"hooks": [{"type": "command", "command": "bell"}]}, "#;
    fs::write(&hooks, written.replacen("\"Stop\": [", &format!("\"Stop\": [{bell}"), 1)).unwrap();
    rows([["off", "present", "false"], second, third]);
    assert!(text(&found(&doctor(&world), "codex", "warn", "have not trusted")["what"]).ends_with(": Stop"));

    // Programs that are gone, files that cannot be read, and entries that somebody else has changed.
    fs::remove_dir_all(&codex).unwrap();
    let rows = |expected: [[&str; 3]; 2]| assert_eq!(connections(&world), expected.map(|row| row.map(str::to_owned)));
    let own = Path::new(BATON).parent().unwrap().display().to_string();
    let (settings, plugin) = (gemini.join("settings.json"), opencode.join("plugin/baton.js"));
    let there = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, there.replace(&own, "/gone/bin")).unwrap();
    let js = fs::read_to_string(&plugin).unwrap();
    fs::write(&plugin, js + "// mine\n").unwrap();
    let servers = opencode.join("opencode.json");
    let entry = fs::read_to_string(&servers).unwrap();
    fs::write(&servers, entry.replace("\"enabled\": true", "\"enabled\": false")).unwrap();
    rows([["gone", "gone", ""], ["off", "changed", ""]]);
    fs::write(&settings, there.replacen("\"BeforeAgent\"", "\"BeforeTool\"", 1)).unwrap();
    fs::remove_file(&plugin).unwrap();
    fs::write(&servers, r#"{"mcp": {"baton": {"command": ["/usr/bin/wand"]}}}"#).unwrap();
    rows([["present", "changed", ""], ["changed", "absent", ""]]);
    fs::write(&settings, "[]").unwrap();
    rows([["unknown", "unknown", ""], ["changed", "absent", ""]]);
}

/// Qwen Code's session `number` by a version, with these records, each of a time in the far future, which counts as now.
fn of_qwen(world: &World, number: u32, version: &str, records: &[Value]) {
    let folder = world.path("user/.qwen/projects/-srv-harbor/chats");
    fs::create_dir_all(&folder).unwrap();
    let line = |(at, record): (usize, &Value)| {
        let mut record = record.clone();
        let head = json!({ "uuid": at.to_string(), "sessionId": id(number), "timestamp": "2999-01-01T00:00:00.000Z",
                           "cwd": "/srv/harbor", "version": version });
        record.as_object_mut().unwrap().extend(head.as_object().unwrap().clone());
        format!("{record}\n")
    };
    let lines: String = records.iter().enumerate().map(line).collect();
    fs::write(folder.join(format!("{}.jsonl", id(number))), lines).unwrap();
}

#[test]
fn an_agent_that_is_ahead_of_its_reader_is_named_with_its_version() {
    let world = without_claude();
    let said = |role: &str, key: &str| {
        let kind = if role == "model" { "assistant" } else { role };
        json!({ "type": kind, "message": { "role": role, key: [{ "text": "the otter swims" }] } })
    };
    let talk = |key: &str| ["user", "model"].repeat(4).iter().map(|role| said(role, key)).collect::<Vec<_>>();
    for number in 1..=3 {
        of_qwen(&world, number, "0.21.13", &talk("parts"));
    }
    world.search("otter");
    found(&doctor(&world), "formats", "ok", "every kind of record is known: Qwen Code 0.21.13");
    let with_new = |count: usize| [talk("parts"), vec![json!({ "type": "foo" }); count]].concat();
    of_qwen(&world, 4, "0.30.0+next", &with_new(5));
    of_qwen(&world, 5, "0.30.0+next", &with_new(9));
    for number in 6..=8 {
        of_qwen(&world, number, "\u{1b}[31m0.31", &talk("pieces"));
    }
    world.search("otter");
    let findings = doctor(&world);
    let of_formats = |finding: &&Value| finding["check"] == "formats";
    assert_eq!(findings.iter().filter(of_formats).count(), 2, "{findings:#?}");
    let what = "Qwen Code 0.30.0+next: 14 records of unknown type `foo` in 2 sessions: the reader may be behind";
    let fix = found(&findings, "formats", "warn", what);
    assert!(text(&fix["fix"]).starts_with("update Baton"), "{fix}");
    // A version that is no plain word is no word of ours.
    let what = "Qwen Code (other): no prompt in any of 3 sessions; no reply in any of 3 sessions: ";
    found(&findings, "formats", "warn", what);
    let shown = world.ok(&["doctor"]).out;
    assert!(shown.contains("! formats") && !shown.contains('\u{1b}'), "{shown}");
    let formats = list(&world.json(&["status"])["formats"]);
    let of = |version: &str| formats.iter().find(|format| format["version"] == version).unwrap().clone();
    let new = of("0.30.0+next");
    assert_eq!(new["unknown"], json!({ "foo": { "records": 14, "sessions": 2 } }));
    assert_eq!((&new["agent"], &new["sessions"], &new["behind"]), (&json!("qwen"), &json!(2), &json!(true)));
    assert_eq!(of("(other)")["without"], json!({ "prompt": 3, "reply": 3 }));
    assert_eq!(of("0.21.13")["behind"], false);
    // It is derived from the log.
    world.stop();
    assert_eq!(list(&world.json(&["status"])["formats"]), formats);
}
