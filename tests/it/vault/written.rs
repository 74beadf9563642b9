//! What is written, where, and when.

use std::collections::BTreeSet;
use std::fs;

use baton_memory::Store;
use serde_json::json;

use super::{configure, goes_on, notes, only_session, own, ready, until, with_notes, worked};
use crate::transcript::now;
use crate::world::{World, files_below, hits, id, text, wait};

#[test]
fn an_ended_session_becomes_a_note_that_leads_to_what_it_was_about() {
    let world = with_notes(&json!({}));
    let mut transcript = worked(&world, "-work-one", 1, "wombat cache");
    world.close(&id(1));
    ready(&world, 1);
    let (path, note) = only_session(&own(&world));
    let shown = path.display().to_string();
    assert!(
        shown.contains("/projects/-work-one/sessions/") || shown.contains("/projects/work-one/sessions/"),
        "{shown}"
    );
    assert!(shown.contains("wombat-cache"), "{shown}");
    for part in [
        "type: session",
        "status: active",
        &id(1),
        "## Goal",
        "## Work Log",
        "Session End",
        "Session completed. Work finalized.",
        "## Decisions Made",
        "sled instead of sqlite",
        "## Errors Resolved",
        "## Files",
        "wombat_cache.rs",
        "## Next Steps",
        "Mend the wombat cache of the service",
    ] {
        assert!(note.contains(part), "{part}: {note}");
    }
    let all = notes(&own(&world));
    assert!(all.contains(&"Start.md".to_owned()), "{all:?}");
    assert!(all.iter().any(|path| path.contains("/entities/")), "{all:?}");
    let verified = world.json(&["vault", "verify"]);
    assert_eq!((&verified["clean"], &verified["notes"]), (&json!(true), &json!(all.len())), "{verified}");
    // A copy is a second note of the same session.
    let copy = path.with_file_name("copy.md");
    fs::copy(&path, &copy).unwrap();
    let verified = world.run(&["vault", "verify"]);
    assert!(verified.code == 1 && verified.out.contains("of the same session"), "{}", verified.out);
    fs::remove_file(&copy).unwrap();
    let status = world.json(&["status"])["vault"].clone();
    assert_eq!((&status["notes"], &status["state"]), (&json!(1), &json!("ready")), "{status}");
    // A session that continues stays in the same note, which gets another end: ends are dated to the second.
    let second = now().0 / 1000;
    assert!(wait(|| now().0 / 1000 > second));
    goes_on(&world, &mut transcript, "And the numbat index, too");
    until(&world, "the second end", |_| only_session(&own(&world)).1.matches("Session End").count() == 2);
    let (again, note) = only_session(&own(&world));
    assert_eq!(again, path, "the name is fixed");
    assert!(note.contains("numbat index"), "{note}");
}

#[test]
fn what_is_off_writes_nothing_and_what_nobody_typed_has_no_note() {
    let world = World::new();
    worked(&world, "-work-one", 1, "wombat cache");
    world.close(&id(1));
    let status = world.json(&["vault", "status"]);
    assert_eq!((&status["enabled"], &status["state"]), (&json!(false), &json!("off")), "{status}");
    assert!(world.run(&["vault", "sync"]).err.contains("vault.enabled"));
    let verified = world.run(&["vault", "verify"]);
    assert!(verified.code == 1 && verified.err.contains("is not there"), "{}{}", verified.out, verified.err);
    let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "vault_read", "arguments": {"path": "Start.md"}}});
    assert_eq!(crate::sockets::Raw::greeted(&world).call(&asked)["result"]["isError"], true);
    world.stop();
    for folder in ["vault", "vault-register", "vault-pending"] {
        assert!(!world.home().join(folder).exists(), "{folder}");
    }
    // Enabled later: what is known by then is written without a request, except sessions without a prompt.
    configure(&world, &json!({}));
    world.transcript("-work-one", &id(2)).minutes_ago(90).reply("nobody asked");
    ready(&world, 1);
    let all = files_below(&own(&world));
    assert!(all.iter().all(|path| !fs::read_to_string(path).unwrap().contains("nobody asked")), "{all:?}");
}

#[test]
fn a_vault_of_one_s_own_is_named_and_everything_lies_below_its_folder() {
    let world = World::new();
    let vault = world.path("notes");
    fs::create_dir_all(vault.join(".obsidian")).unwrap();
    fs::write(vault.join("mine.md"), "# mine\n").unwrap();
    configure(&world, &json!({"path": vault, "root": "agents/claude"}));
    let mut transcript = worked(&world, "-work-one", 1, "wombat cache");
    worked(&world, "-work-two", 2, "numbat index");
    world.close(&id(1));
    world.close(&id(2));
    ready(&world, 2);
    let status = world.json(&["vault", "status"]);
    assert_eq!(text(&status["root"]), "agents/claude");
    assert_eq!(fs::read_to_string(vault.join("mine.md")).unwrap(), "# mine\n");
    let top: Vec<_> = fs::read_dir(&vault).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(top.len(), 3, "{top:?}");
    assert!(!world.home().join("vault").exists());
    let printed = world.ok(&["vault", "open", "--print"]).out;
    assert_eq!(printed.trim(), fs::canonicalize(vault.join("agents/claude")).unwrap().display().to_string());
    // A note that a person has moved is found at its new path.
    let (path, _) = {
        let all = notes(&vault.join("agents/claude"));
        let one = all.iter().find(|path| path.contains("/sessions/") && path.contains("wombat")).unwrap().clone();
        (vault.join("agents/claude").join(one), ())
    };
    let moved = vault.join("agents/claude/projects/Read this.md");
    fs::rename(&path, &moved).unwrap();
    goes_on(&world, &mut transcript, "And the bilby, too");
    until(&world, "the moved note", |_| fs::read_to_string(&moved).unwrap().contains("bilby"));
    assert!(!path.exists());
}

#[test]
fn a_home_that_is_renamed_goes_on_with_its_notes_and_one_that_is_imported_finds_them() {
    let mut world = with_notes(&json!({}));
    worked(&world, "-work-one", 1, "wombat cache");
    world.close(&id(1));
    ready(&world, 1);
    world.stop();
    let renamed = world.path("renamed");
    fs::rename(world.home(), &renamed).unwrap();
    world.set("BATON_HOME", &renamed);
    let synced = world.json(&["vault", "sync"]);
    assert_eq!((&synced["status"], &synced["files"]), (&json!("success"), &json!(0)), "{synced}");
    let root = renamed.join("vault/claude");
    let before = (notes(&root), only_session(&root).1);

    // Another home, built from an export, is configured with the same vault.
    let export = world.path("export.jsonl");
    world.ok(&["log", "export", "--unredacted", "-o", export.to_str().unwrap()]);
    world.ok(&["stop"]);
    let imported = world.path("imported");
    world.set("BATON_HOME", &imported);
    world.ok(&["log", "import", export.to_str().unwrap()]);
    let vault = json!({"vault": {"enabled": true, "path": renamed.join("vault")}});
    fs::write(imported.join("config.json"), vault.to_string()).unwrap();
    ready(&world, 1);
    assert_eq!((notes(&root), only_session(&root).1), before, "the same note, not another one");
    world.ok(&["stop"]);
}

#[test]
fn words_that_are_not_to_be_shown_were_typed_all_the_same() {
    let world = World::new();
    let filtering = json!({"keep_user_messages": false});
    let config = |filtering: serde_json::Value| json!({"vault": {"enabled": true, "compact_lines": 1}, "session_tracking": {"filtering": filtering}});
    fs::create_dir_all(world.home()).unwrap();
    fs::write(world.home().join("config.json"), config(filtering).to_string()).unwrap();
    let mut transcript = world.transcript("-work-one", &id(1));
    transcript.prompt("From now on always use pnpm for the bandicoot, never npm");
    super::tell(&mut transcript, "-work-one", "wombat cache");
    world.close(&id(1));
    let mut nobody = world.transcript("-work-one", &id(2));
    nobody.reply("nobody asked for the quoll");
    world.close(&id(2));
    let told = ready(&world, 1);
    assert_eq!((&told["archived"], &told["behind"]), (&json!(1), &json!(0)), "{told}");
    let (_, note) = only_session(&own(&world));
    for part in ["Session completed. Work finalized.", "sled instead of sqlite", "## Work Log"] {
        assert!(note.contains(part), "{part}: {note}");
    }
    for path in files_below(&own(&world)) {
        let text = fs::read_to_string(&path).unwrap_or_default();
        for typed in ["bandicoot", "Mend the wombat", "quoll"] {
            assert!(!text.contains(typed), "{typed} in {}: {text}", path.display());
        }
    }
}

#[test]
fn a_note_that_is_missing_for_what_was_not_to_be_shown_is_written_after_all() {
    let world = with_notes(&json!({}));
    worked(&world, "-work-one", 1, "wombat cache");
    world.close(&id(1));
    ready(&world, 1);
    world.stop();
    // The register as it was when such a session got no note.
    let register = files_below(&world.home().join("vault-register")).into_iter().next().unwrap();
    let lines = fs::read_to_string(&register).unwrap();
    let without = lines.lines().map(|line| {
        let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
        if let Some(entry) = line.pointer_mut("/session/entry") {
            *entry = json!({"stamp": entry["stamp"]});
        }
        line.to_string() + "\n"
    });
    let without: String = without.collect();
    assert_ne!(without, lines);
    fs::write(&register, without).unwrap();
    fs::remove_dir_all(own(&world)).unwrap();
    let config = json!({"vault": {"enabled": true}, "session_tracking": {"filtering": {"keep_user_messages": false}}});
    fs::write(world.home().join("config.json"), config.to_string()).unwrap();
    ready(&world, 1);
}

#[test]
fn what_was_only_changed_has_a_note_when_a_second_session_changes_it() {
    let world = with_notes(&json!({}));
    let changes = |number: u32, words: &str| {
        let mut transcript = world.transcript("-work-one", &id(number));
        let file = json!({"file_path": "/srv/-work-one/src/numbat.rs", "old_string": "a", "new_string": "b"});
        transcript
            .prompt(words)
            .call("c1", "Edit", file)
            .result("c1", "The file has been updated.", false)
            .reply("done");
        world.close(&id(number));
    };
    let entities =
        || -> Vec<String> { notes(&own(&world)).into_iter().filter(|path| path.contains("numbat")).collect() };
    changes(1, "Rename one thing");
    ready(&world, 1);
    assert_eq!(entities(), [""; 0]);
    let first = only_session(&own(&world));
    assert!(first.1.contains("- `src/numbat.rs` (+1 −1)"), "{}", first.1);
    changes(2, "Rename another thing");
    ready(&world, 2);
    let [entity] = entities().try_into().unwrap();
    let text = fs::read_to_string(own(&world).join(&entity)).unwrap();
    for session in ["rename-one-thing", "rename-another-thing"] {
        assert!(text.contains(session), "{session}: {text}");
    }
    let page = notes(&own(&world))
        .into_iter()
        .find(|path| path.ends_with("work-one/-work-one.md") || path.ends_with("work-one/work-one.md"));
    assert!(fs::read_to_string(own(&world).join(page.unwrap())).unwrap().contains("numbat.rs|"));
    assert_eq!(world.json(&["vault", "verify"])["clean"], true);
    // All of it again, without any record of it.
    let before: Vec<String> = files_below(&own(&world)).iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    world.stop();
    fs::remove_dir_all(world.home().join("vault-register")).unwrap();
    let synced = world.json(&["vault", "sync"]);
    assert_eq!((&synced["status"], &synced["files"]), (&json!("success"), &json!(0)), "{synced}");
    let after: Vec<String> = files_below(&own(&world)).iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    assert_eq!(after, before);
}

#[test]
fn places_that_are_not_for_notes_are_refused() {
    let world = World::new();
    for (vault, why) in [
        (json!({"path": "notes"}), "is not absolute"),
        (json!({"path": "~"}), "is not absolute"),
        (json!({"path": world.home().join("log")}), "lies in BATON_HOME"),
        (json!({"path": world.projects().join("x")}), "transcripts are read"),
        (json!({"root": "../out"}), "vault.root must be the name of a folder"),
        (json!({"root": ".obsidian"}), "vault.root must be the name of a folder"),
        (json!({"root": "CON"}), "line 1: vault.root must be the name of a folder"),
        (json!({"compact_lines": 0}), "vault.compact_lines must be a whole number"),
    ] {
        configure(&world, &vault);
        let problems = world.problems();
        assert!(problems.contains(why), "{vault}: {problems}");
    }
}

#[test]
fn an_agent_reads_notes_and_nothing_else() {
    let world = with_notes(&json!({}));
    worked(&world, "-work-one", 1, "wombat cache");
    world.close(&id(1));
    ready(&world, 1);
    let (path, note) = only_session(&own(&world));
    fs::write(world.home().join("vault/private.md"), "mine\n").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(world.home().join("vault/private.md"), own(&world).join("link.md")).unwrap();
    let mut raw = crate::sockets::Raw::greeted(&world);
    let mut call = |name: &str, arguments: serde_json::Value| {
        let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
        raw.call(&asked)["result"].clone()
    };
    let below = path.strip_prefix(own(&world)).unwrap().display().to_string();
    for name in [below.clone(), format!("claude/{below}"), below.trim_end_matches(".md").to_owned()] {
        let read = call("vault_read", json!({"path": name}));
        // Without the traces for merging, which only the writer of notes needs.
        assert_eq!(read["structuredContent"]["text"], baton_notes::forget::without_traces(&note), "{read}");
        assert_eq!(read["structuredContent"]["bytes"], note.len(), "{read}");
    }
    for outside in [
        "../private.md",
        "../../config.json",
        "/etc/hosts",
        "link.md",
        "claude/../private.md",
        "none.md",
        "",
        ".",
        "claude",
        "projects",
        "..\\private.md",
        "claude\\..\\..\\private.md",
        "./../private.md",
        "projects/../../private.md",
        "%2e%2e/private.md",
        "CLAUDE/../private.md",
        ".baton.lock",
        "private.md\0.md",
        &"../".repeat(4_000),
        &"x".repeat(100_000),
    ] {
        let read = call("vault_read", json!({"path": outside}));
        assert_eq!(read["isError"], true, "{outside}: {read}");
        assert!(!read.to_string().contains("mine\\n"), "{read}");
    }
    for wrong in [json!(7), json!(null), json!(["a"]), json!({"path": "a"})] {
        assert_eq!(call("vault_read", json!({"path": wrong}))["isError"], true, "{wrong}");
    }
    assert_eq!(call("vault_status", json!({}))["structuredContent"]["notes"], 1);
}

#[test]
fn a_directory_that_is_called_like_a_key_stands_in_no_file_beside_the_log() {
    let world = with_notes(&json!({}));
    let names = ["a1B2c3D4e5F6", "g7H8i9J0k1L2"].map(|letters| format!("sk-ant-api03-{}", letters.repeat(8)));
    let directories = [format!("/srv/{}", names[0]), format!("/home/{}", names[1])];
    for (number, directory) in (1..).zip(&directories) {
        let transcript = world.transcript("-work-keys", &id(number)).in_directory(directory);
        { transcript }.prompt("Mend the quokka").reply("I decided to mend the quokka with a lock.");
        world.close(&id(number));
    }
    ready(&world, 2);
    let folders = |path: &String| path.strip_prefix("projects/")?.split_once('/').map(|(folder, _)| folder.to_owned());
    let folders: BTreeSet<String> = notes(&own(&world)).iter().filter_map(folders).collect();
    assert_eq!(folders.len(), 2, "{folders:?}");
    for (name, directory) in names.iter().zip(&directories) {
        let found = world.json(&["search", "quokka", "--project", directory]);
        assert!(!hits(&found).is_empty() && !found.to_string().contains(name), "{found}");
    }
    world.stop();
    let mut said: Vec<(String, String)> = Vec::new();
    for path in files_below(world.home()).into_iter().filter(|path| !path.starts_with(world.home().join("log"))) {
        let bytes = fs::read(&path).unwrap();
        said.push((path.display().to_string(), String::from_utf8_lossy(&bytes).into_owned()));
    }
    let opened = Store::open(&world.home().join("memory")).unwrap();
    said.push(("memory".to_owned(), opened.store.raw_contents().unwrap().join("\n")));
    for (place, text) in said {
        assert!(names.iter().all(|name| !text.contains(name)), "{place}");
    }
}
