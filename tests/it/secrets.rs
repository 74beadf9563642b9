//! No secret is in any file of a home or in any answer: neither those planted in the examples, nor one of any known
//! kind, wherever it occurs in a session.

mod kinds;

use std::collections::HashSet;
use std::path::Path;

use serde_json::{Value, json};

use crate::mcp::agent::Agent;
use crate::record::memory;
use crate::transcript::Transcript;
use crate::world::{World, copy, files_below, id, text};
use kinds::Secret;

fn examples() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("replay-fixtures/transcripts/claude")
}

/// The values of the table in PLANTED.md: head and tail joined.
fn planted() -> Vec<String> {
    let text = std::fs::read_to_string(examples().join("PLANTED.md")).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let mut cells = row.rsplit('`').skip(1).step_by(2);
        let tail = cells.next().unwrap();
        format!("{}{tail}", cells.next().unwrap())
    })
    .collect()
}

/// The bytes of a file, raw and decompressed.
fn contents(path: &Path) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(path).unwrap();
    let unpacked = zstd::decode_all(bytes.as_slice()).ok();
    [Some(bytes), unpacked].into_iter().flatten().collect()
}

fn contains(haystack: &[u8], needle: &str) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle.as_bytes())
}

#[test]
fn no_secret_is_in_any_file_of_the_home_or_in_any_answer() {
    let planted = planted();
    assert_eq!(planted.len(), 10, "{planted:?}");
    let everything: Vec<Vec<u8>> =
        files_below(&examples().join("projects")).iter().map(|path| std::fs::read(path).unwrap()).collect();
    for value in &planted {
        assert!(everything.iter().any(|file| contains(file, value)), "{value:?} is not in the examples");
    }

    let mut world = World::new();
    // The most verbose daemon log that can be requested.
    world.set("BATON_LOG", "trace,tantivy=info,sled=info,mio=info,notify=info");
    copy(&examples().join("projects"), &world.projects());
    let mut answers = vec![world.search("refresh token password key mirror").to_string()];
    let sessions = world.sessions();
    for (row, value) in sessions.iter().zip(&planted) {
        let id = row["session_id"].as_str().unwrap();
        world.ok(&["close", id, "--reason", &format!("the value is <private>{value}</private>, and no more")]);
        answers.push(world.json(&["search", &format!("the value {value}")]).to_string());
    }
    for row in &sessions {
        let id = row["session_id"].as_str().unwrap();
        answers.push(world.show(id).to_string());
        answers.push(world.ok(&["show", id]).out);
    }
    answers.push(world.json(&["status"]).to_string());
    world.stop();
    answers.extend(memory(world.home()));

    let files = files_below(world.home());
    for kind in ["log/segments", "log/sled", "blobs", "memory", "daemon.log"] {
        let of_kind = files.iter().filter(|file| file.starts_with(world.home().join(kind)));
        assert!(of_kind.count() > 0, "there is no {kind} to look into: {files:?}");
    }
    let mut leaks = Vec::new();
    // True once text that is certainly there was found: a secret would be found, too.
    let mut control = false;
    for file in &files {
        for content in contents(file) {
            control |= contains(&content, "users get logged out at random");
            leaks.extend(
                planted.iter().filter(|value| contains(&content, value)).map(|value| format!("{value:?} in {file:?}")),
            );
        }
    }
    for answer in &answers {
        leaks.extend(
            planted.iter().filter(|value| answer.contains(*value)).map(|value| format!("{value:?} in {answer:.200}")),
        );
    }
    assert!(control, "the stored conversations were looked into");
    assert!(leaks.is_empty(), "{leaks:#?}");
}

#[test]
fn no_word_of_a_conversation_is_in_the_log() {
    let world = World::new();
    copy(&examples().join("projects"), &world.projects());
    world.search("anything");
    world.stop();
    let words = ["users get logged out", "refresh token", "cargo test", "I'll start with"];
    for file in files_below(&world.home().join("log")) {
        for content in contents(&file) {
            let found: Vec<_> = words.iter().filter(|word| contains(&content, word)).collect();
            assert!(found.is_empty(), "{found:?} in {file:?}");
        }
    }
    let log = world.log();
    assert!(words.iter().all(|word| !log.contains(word)), "daemon.log");
}

/// Minimum length of a part of a secret that reveals too much, in bytes.
const TELLING_BYTES: usize = 12;
/// Account data that the harness writes: an address, and ids.
const ACCOUNT: [&str; 3] =
    ["quokka.keeper@example.org", "0d5c7a11-93be-4f02-8c6d-51e2ab90f374", "6be1f0c2-4a7d-4b19-9e35-7c80d2a4f611"];
/// Text that must be found, to prove that the files are searched.
const CONTROL: &str = "a numbat that nobody hides";

/// All parts of all secrets that have [`TELLING_BYTES`] bytes.
struct Parts {
    parts: HashSet<Vec<u8>>,
    /// True at [`Parts::place`] of the first four bytes of each part: rules out most of the text quickly.
    begins: Vec<bool>,
}

impl Parts {
    fn of(secrets: &[Secret]) -> Self {
        let cores = secrets.iter().map(|secret| secret.core.as_str()).chain(ACCOUNT);
        let parts: HashSet<_> =
            cores.flat_map(|core| core.as_bytes().windows(TELLING_BYTES).map(<[u8]>::to_vec)).collect();
        let mut begins = vec![false; 1 << 20];
        parts.iter().for_each(|part| begins[Self::place(part[0], part[1], part[2], part[3])] = true);
        Self { parts, begins }
    }

    fn place(a: u8, b: u8, c: u8, d: u8) -> usize {
        (u32::from_le_bytes([a, b, c, d]).wrapping_mul(0x9E37_79B1) >> 12) as usize
    }

    /// The first part that occurs in a text, with its surroundings.
    fn found(&self, text: &[u8]) -> Option<String> {
        let at = text.windows(TELLING_BYTES).position(|window| {
            self.begins[Self::place(window[0], window[1], window[2], window[3])] && self.parts.contains(window)
        })?;
        Some(String::from_utf8_lossy(&text[at.saturating_sub(100)..text.len().min(at + 40)]).into_owned())
    }
}

/// The kinds named by the redaction marks in a text.
fn kinds_in(text: &[u8]) -> impl Iterator<Item = String> {
    let text = String::from_utf8_lossy(text).into_owned();
    let marks: Vec<String> =
        text.split("[redacted:").skip(1).filter_map(|mark| Some(mark.split_once(']')?.0.to_owned())).collect();
    marks.into_iter()
}

/// Writes a session with every secret in every place that can hold one.
fn write_everywhere(transcript: &mut Transcript, secrets: &[Secret]) {
    let mut account = transcript.prompt_record("x");
    account["type"] = "attachment".into();
    account["attachment"] = json!({"type": "session_context", "content": format!("userEmail: {}", ACCOUNT[0]),
        "email": ACCOUNT[0]});
    transcript.append(&account);
    transcript.append(&json!({"type": "bridge-session", "sessionId": id(1), "bridgeSessionId": "cse_1",
        "accountUuid": ACCOUNT[1], "organizationUuid": ACCOUNT[2], "account": ACCOUNT[1], "org": ACCOUNT[2]}));
    let mut failed = transcript.prompt_record("x");
    failed["type"] = "system".into();
    failed["subtype"] = "api_error".into();
    failed["error"] = json!({"status": 401, "message": format!("no access for {}", ACCOUNT[0]), "headers":
        {"anthropic-organization-id": ACCOUNT[2]}, "account": {"email": ACCOUNT[0], "uuid": ACCOUNT[1]}});
    transcript.append(&failed);

    transcript.prompt(&format!("look at {CONTROL}"));
    for (at, secret) in secrets.iter().enumerate() {
        let (value, call) = (&secret.text, format!("toolu_{at}"));
        transcript.prompt(&format!("numbat {at}: {value}\nis what I have"));
        let mut thought = transcript.reply_record("");
        thought["message"]["content"] =
            json!([{"type": "thinking", "thinking": format!("so the user has {value}\nthen"), "signature": "c2ln"}]);
        transcript.append(&thought);
        transcript.reply(&format!("I use it.\n\n{value}\n\nDecision: keep {value}"));
        transcript.call(&call, "Bash", json!({"command": format!("echo start\n{value}\n"), "description": value}));
        transcript.result(&call, &format!("Exit code 1\nerror: {value}\n{value}"), true);
        let call = format!("{call}_b");
        transcript.call(&call, "mcp__notes__write", json!({"title": value, "body": [value, {"inner": value}]}));
        transcript.result(&call, &format!("{value}\nwritten"), false);
        transcript.append(&json!({"type": "queue-operation", "operation": "enqueue", "sessionId": id(1),
            "timestamp": "2026-03-14T09:26:53.000Z", "content": value}));
        for (kind, field) in [("custom-title", "customTitle"), ("last-prompt", "lastPrompt"), ("summary", "summary")] {
            transcript.append(&json!({"type": kind, field: value, "sessionId": id(1), "leafUuid": "x"}));
        }
        if secret.anywhere {
            let call = format!("{call}_c");
            let path = format!("/srv/work/{value}");
            let mut edit = transcript.call_record(
                &call,
                "Edit",
                json!({"file_path": path, "old_string": value, "new_string": format!("new {value}")}),
            );
            edit["gitBranch"] = format!("feature/{value}").into();
            transcript.append(&edit);
            transcript.result(&call, &format!("The file {path} has been updated."), false);
        }
    }
    transcript.reply("That is all.\n\nNext steps:\n- ask the numbat");
}

#[test]
fn no_secret_of_any_kind_comes_through_any_door() {
    let secrets = kinds::all();
    let parts = Parts::of(&secrets);
    assert!(parts.found(secrets[7].text.as_bytes()).is_some(), "it would be seen");
    let mut world = World::new();
    world.set("BATON_LOG", "trace,tantivy=info,sled=info,mio=info,notify=info");
    let mut transcript = world.transcript("-work-one", &id(1));
    write_everywhere(&mut transcript, &secrets);

    let mut answers: Vec<(String, String)> = Vec::new();
    let mut note = |what: &str, answer: String| answers.push((what.to_owned(), answer));
    let mut said = 0;
    for (at, some) in secrets.chunks(64).enumerate() {
        let words: Vec<&str> = some.iter().map(|secret| secret.text.as_str()).collect();
        let ran = world.run(&["search", "--json", &format!("numbat {}", words.join(" "))]);
        said += usize::from(ran.code == 0);
        note("search", ran.out + &ran.err);
        let reason = format!("round {at}: {}", words.join("\n"));
        let closed = world.ok(&["close", &id(1), "--reason", &reason]);
        note("close", closed.out + &closed.err);
        // So that the next close has new content.
        transcript.prompt(&format!("numbat again {at}"));
    }
    assert!(said > 0, "some search was answered");
    let export = text(&Value::from(world.path("export").to_str().unwrap()));
    for command in [
        &["show", &id(1)][..],
        &["show", &id(1), "--json"],
        &["show", &id(1), "--messages"],
        &["show", &id(1), "--messages", "--json"],
        &["sessions"],
        &["sessions", "--json"],
        &["unindexed", "--json"],
        &["explain", &id(1)],
        &["explain", &id(1), "--json"],
        &["handoff", "--project", "/srv/-work-one"],
        &["handoff", "--project", "/srv/-work-one", "--json"],
        &["handoff", "--project", "/srv/-work-one", "--for", "claude"],
        &["sync", "--json"],
        &["reindex", "--all", "--json"],
        &["forget", &id(1), "--dry-run", "--json"],
        &["search", "numbat", "--json"],
        &["search", "decision keep", "--limit", "50"],
        &["log", "tail"],
        &["log", "export", "-o", &export],
        &["status", "--json"],
        &["show", &secrets[0].text],
        &["close", &secrets[1].text],
        &["search", "x", "--project", &secrets[2].text],
    ] {
        let ran = world.run(command);
        note(&command.join(" ").replace(&secrets[0].text, "…"), ran.out + &ran.err);
    }
    let agent = Agent::start(&world);
    for (tool, arguments) in [
        ("search_memory_nodes", json!({"query": "numbat", "max_nodes": 50})),
        ("search_memory_nodes", json!({"query": secrets[3].text, "max_nodes": 50})),
        ("search_memory_nodes", json!({"query": "x", "entity_types": [secrets[3].text]})),
        ("search_memory_facts", json!({"query": "numbat", "max_facts": 50})),
        ("search_memory_facts", json!({"query": "x", "group_ids": [secrets[4].text]})),
        ("get_episodes", json!({"max_episodes": 10})),
        ("session_tracking_status", json!({"session_id": id(1)})),
        ("session_tracking_status", json!({"session_id": secrets[5].text})),
        ("session_tracking_list_unindexed", json!({})),
        ("session_tracking_close", json!({"session_id": id(1), "reason": secrets[6].text})),
        ("track_session", json!({"session_id": id(1), "group_id": secrets[0].text})),
    ] {
        note(tool, agent.call(tool, arguments).value.to_string());
    }
    agent.end();
    world.stop();
    for document in memory(world.home()) {
        note("the memory", document);
    }
    note("the export", String::from_utf8_lossy(&contents(Path::new(&export)).concat()).into_owned());

    assert!(answers.iter().any(|(_, answer)| answer.contains(CONTROL)), "there are answers");
    let mut leaks: Vec<String> = answers
        .iter()
        .filter_map(|(what, answer)| parts.found(answer.as_bytes()).map(|leak| format!("{what}: {leak}")))
        .collect();
    let mut control = false;
    let mut kinds = HashSet::new();
    for file in files_below(world.home()) {
        for content in contents(&file) {
            control |= contains(&content, CONTROL);
            kinds.extend(kinds_in(&content));
            leaks.extend(parts.found(&content).map(|leak| format!("{}: {leak}", file.display())));
        }
    }
    assert!(control, "the stored conversations were looked into");
    assert!(kinds.len() >= 80, "every kind was there to be cut: {kinds:?}");
    assert!(leaks.is_empty(), "{} leaks:\n{}", leaks.len(), leaks.join("\n"));
}
