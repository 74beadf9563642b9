//! A home that an earlier version has written: secrets that its redaction rules missed are in no file of it once this
//! version has redacted it again.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use baton_endpoint::FakeEndpoint;
use baton_memory::Store;
use baton_memory::vectors::{Model, Vectors, key};
use serde_json::{Value, json};

use crate::newer::append_unknown;
use crate::world::{World, files_below, id, list, wait_within};

/// Secrets in it that must go: in calls, prompts, replies, titles, a close note, answers of a model, added notes, the
/// memory, notes for people and their names.
const PLANTED: [&str; 7] =
    ["tango77Quay", "kW8xyzq7Lm2p", "Zx81kLmn29Qp", "Enterprise2024", "Hiddenlake22", "Winter2025", "Yourmum1987"];
/// Text of a turn with a secret, and of one without: each has a vector.
const SPOKEN: [&str; 2] = ["Run redis-cli -a tango77Quay ping and set the shop up", "Paint the wombat barn red"];
/// Longest wait for all of it, 240 s.
const LONG: Duration = Duration::from_secs(240);

/// The files of a tar archive without extensions: name and content.
fn untar(archive: &[u8]) -> Vec<(String, Vec<u8>)> {
    const BLOCK: usize = 512;
    let field = |bytes: &[u8]| String::from_utf8(bytes.split(|byte| *byte == 0).next().unwrap().to_vec()).unwrap();
    let (mut files, mut at) = (Vec::new(), 0);
    while archive.len() >= at + BLOCK && archive[at] != 0 {
        let head = &archive[at..at + BLOCK];
        let size = usize::from_str_radix(field(&head[124..136]).trim(), 8).unwrap();
        let (name, prefix) = (field(&head[..100]), field(&head[345..500]));
        let name = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        at += BLOCK;
        if head[156] == b'0' {
            files.push((name, archive[at..at + size].to_vec()));
        }
        at += size.div_ceil(BLOCK) * BLOCK;
    }
    files
}

/// A home that an earlier version has written. Transcripts exist of the given sessions.
pub(crate) fn world_of(archive: &str, transcripts: &[u32]) -> World {
    let world = World::new();
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join("replay-fixtures/homes").join(archive);
    let archive = zstd::decode_all(fs::File::open(packed).unwrap()).unwrap();
    let is_there = |file: &str| transcripts.iter().any(|number| file.contains(&id(*number)));
    for (name, content) in untar(&archive) {
        let target = match name.split_once('/') {
            Some(("home", below)) => world.home().join(below),
            Some(("claude", below)) if is_there(below) => world.config().join(below),
            _ => continue,
        };
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::write(target, content).unwrap();
    }
    world
}

/// The home of the earlier version. Two of its transcripts still exist. A model is enabled that answers everything.
fn earlier(endpoint: &FakeEndpoint) -> World {
    let world = world_of("earlier.tar.zst", &[2, 3]);
    let llm = json!({"enabled": true, "base_url": endpoint.base_url(), "model": "made"});
    let config = json!({"llm": llm, "vault": {"enabled": true}});
    fs::write(world.home().join("config.json"), config.to_string()).unwrap();
    waiting(&world);
    world
}

/// Other things that the earlier version may have left, in formats that both versions share: vectors, notes that their
/// vault did not accept, and unprocessed hook signals.
fn waiting(world: &World) {
    let model = Model { name: "made".to_owned(), dimensions: None };
    let table = Vectors::new(&world.home().join("vectors")).select(Some(&model)).unwrap().unwrap();
    assert!(table.add(&SPOKEN.map(|text| (key(text), vec![0.5, -1.0])), 0).unwrap());
    for number in [1, 2] {
        let folder = world.home().join(format!("vault-pending/{number:08}-{number:08}"));
        fs::create_dir_all(folder.join("shop/sessions")).unwrap();
        let note = format!("# The shop\n\n- {}\n", SPOKEN[0]);
        fs::write(folder.join("shop/sessions/note.md"), note).unwrap();
        let head = json!({"session": id(number), "stamp": "an earlier end"});
        fs::write(folder.join("session.json"), head.to_string()).unwrap();
    }
    let spool = world.home().join("spool");
    fs::create_dir_all(&spool).unwrap();
    for (name, event) in [
        (format!("{:013}-{}", 1_790_000_000_000_u64, id(8)), "Notification"),
        (format!("activity-{}", id(3)), "PostToolUse"),
    ] {
        let hook = json!({"id": name, "event": event, "at": 1_790_000_000_000_u64, "session_id": id(3),
            "cwd": "/srv/shop", "detail": SPOKEN[0], "wait_ms": 0});
        let spooled = json!({"v": 1, "why": "absent", "took_us": 5, "hook": hook});
        fs::write(spool.join(format!("{name}.json")), spooled.to_string()).unwrap();
    }
}

/// Those spoken texts that have vectors.
fn vectors(world: &World) -> Vec<&'static str> {
    let files: Vec<_> = files_below(&world.home().join("vectors")).iter().map(|file| fs::read(file).unwrap()).collect();
    let holds = |text: &&str| files.iter().any(|file| file.windows(8).any(|at| at == key(text).to_le_bytes()));
    SPOKEN.into_iter().filter(holds).collect()
}

/// Every place that contains a planted secret: names of files, files, and what they unpack to.
fn leaks(world: &World) -> Vec<String> {
    let mut found = Vec::new();
    let mut look = |place: &str, content: &[u8]| {
        let lower = String::from_utf8_lossy(content).to_lowercase();
        let planted = PLANTED.iter().filter(|planted| lower.contains(&planted.to_lowercase()));
        found.extend(planted.map(|planted| format!("{planted} in {place}")));
    };
    for file in files_below(world.home()) {
        let place = file.strip_prefix(world.home()).unwrap().display().to_string();
        // The daemon may remove a file in the meantime.
        let bytes = match fs::read(&file) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            read => read.unwrap(),
        };
        look(&format!("the name {place}"), place.as_bytes());
        look(&format!("{place}, unpacked"), &zstd::decode_all(bytes.as_slice()).unwrap_or_default());
        look(&place, &bytes);
    }
    found
}

/// Like [`leaks`], and also looks into what the memory returns.
fn all_leaks(world: &World) -> Vec<String> {
    let mut found = leaks(world);
    let opened = Store::open(&world.home().join("memory")).unwrap();
    assert_eq!(opened.wiped, None, "the memory is readable");
    for entry in opened.store.raw_contents().unwrap() {
        let planted = PLANTED.iter().filter(|planted| entry.to_lowercase().contains(&planted.to_lowercase()));
        found.extend(planted.map(|planted| format!("{planted} in the memory")));
    }
    found
}

/// Waits until everything is redacted again and every note is written.
fn redacted(world: &World) {
    let mut last = Value::Null;
    let done = wait_within(LONG, || {
        last = world.json(&["status"]);
        last["redacting"].is_null() && world.json(&["vault", "status"])["behind"] == 0
    });
    assert!(done, "not done: {last}\n{}", world.log());
    assert_eq!(last["problems"], json!([]), "{last}");
}

/// For each session, the number of events that record a redaction.
fn recorded(world: &World) -> Vec<usize> {
    let events = |number| list(&world.json(&["explain", &id(number)])["events"]);
    (1..=5).map(|number| events(number).iter().filter(|event| event["type"] == "redacted").count()).collect()
}

#[test]
fn a_note_in_which_a_person_changed_a_block_that_keeps_a_secret_is_named() {
    let endpoint = FakeEndpoint::start().unwrap();
    let world = earlier(&endpoint);
    let tells = |line: &str| line.starts_with("- ") && PLANTED.iter().any(|planted| line.contains(planted));
    let notes = files_below(&world.home().join("vault")).into_iter().filter_map(|path| {
        let text = fs::read_to_string(&path).ok()?;
        text.lines().any(tells).then_some((path, text))
    });
    let (path, note) = notes.min().expect("a note that tells a secret");
    let secret = note.lines().find(|line| tells(line)).unwrap().to_owned();
    fs::write(&path, note.replace(&secret, &format!("{secret}, as I know"))).unwrap();
    let mut last = Value::Null;
    let done = wait_within(LONG, || {
        last = world.json(&["status"]);
        last["redacting"].is_null()
    });
    assert!(done, "not done: {last}\n{}", world.log());
    assert!(fs::read_to_string(&path).unwrap().contains("as I know"), "what a person wrote stays");
    let problems = last["problems"].to_string();
    assert!(problems.contains(path.file_name().unwrap().to_str().unwrap()), "{problems}");
    assert!(problems.contains("in a block that you have changed"), "{problems}");
    // Until that person removes it.
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.lines().filter(|line| !tells(line)).collect::<Vec<_>>().join("\n")).unwrap();
    world.stop();
    assert!(!world.problems().contains("in a block that you have changed"), "{}", world.problems());
}

#[test]
fn what_an_earlier_version_let_through_is_in_no_file_of_its_home_any_more() {
    let endpoint = FakeEndpoint::start().unwrap();
    let world = earlier(&endpoint);
    let before = leaks(&world);
    for planted in PLANTED {
        assert!(before.iter().any(|leak| leak.starts_with(planted)), "{planted} is not in the fixture");
    }
    for folder in ["vault-pending/00000001", "vault-pending/00000002", "spool/1790", "spool/activity"] {
        assert!(before.iter().any(|leak| leak.contains(&format!(" in {folder}"))), "none in {folder}");
    }
    assert_eq!(vectors(&world), SPOKEN);
    // Left by a process that was killed while it wrote a note, of a session and of a memo.
    let notes = files_below(&world.home().join("blobs"))
        .into_iter()
        .filter(|file| file.extension().is_some_and(|ending| ending == "note"));
    for folder in notes.map(|note| note.parent().unwrap().to_owned()).collect::<std::collections::BTreeSet<_>>() {
        fs::write(folder.join(format!("{}.note.tmp", "0".repeat(64))), PLANTED[0]).unwrap();
    }
    redacted(&world);
    // Asks through every command and tool.
    let mut answers = Vec::new();
    for number in 1..=5 {
        answers.push(world.run(&["show", &id(number), "--json"]).out);
        answers.push(world.run(&["show", &id(number), "--messages", "--json"]).out);
    }
    for planted in PLANTED {
        answers.push(world.json(&["search", planted])["hits"].to_string());
    }
    answers.push(world.ok(&["log", "export", "--unredacted"]).out);
    for planted in PLANTED {
        let found: Vec<_> = answers.iter().filter(|answer| answer.contains(planted)).collect();
        assert!(found.is_empty(), "{planted} in {found:.400?}");
    }
    // The model's contribution stays, and what was hidden stays hidden.
    let shown = |number: u32| world.json(&["show", &id(number)]);
    for number in 1..=4 {
        assert_eq!(shown(number)["episode"]["tier"], "enriched", "session {number}");
    }
    assert_eq!((&shown(4)["state"], &shown(4)["why"]), (&json!("unindexed"), &json!("untracked")));
    assert_eq!(world.json(&["status"])["hidden"], 2, "a deleted episode and a cleared note");
    assert_eq!(endpoint.connections(), 0, "no model is asked");
    let verified = world.json(&["log", "verify"]);
    assert_eq!(verified["clean"], true, "{verified}");
    let events = recorded(&world);
    // The third session contains no secret. The fourth is not tracked, and the episode of the fifth is deleted.
    assert_eq!(events.iter().map(|count| usize::from(*count > 0)).collect::<Vec<_>>(), [1, 1, 0, 1, 1], "{events:?}");
    world.stop();
    assert_eq!(all_leaks(&world), [""; 0]);
    assert_eq!(vectors(&world), SPOKEN[1..], "what is still said keeps its vector");
    // Nothing is redacted a second time.
    redacted(&world);
    assert_eq!(recorded(&world), events);
}

/// The files of a session's conversation with this extension.
fn stored(world: &World, number: u32, ending: &str) -> Vec<PathBuf> {
    let files = files_below(&world.home().join("blobs").join(id(number))).into_iter();
    files.filter(|file| file.extension().is_some_and(|found| found == ending)).collect()
}

/// Waits until the first pass is over: nothing is owed, or what will be retried is named.
fn looked_at(world: &World) -> Value {
    let mut last = Value::Null;
    let over = wait_within(LONG, || {
        last = world.json(&["status"]);
        last["redacting"].is_null() || !last["redacting"]["problem"].is_null()
    });
    assert!(over, "not looked at: {last}\n{}", world.log());
    last
}

#[test]
fn a_session_whose_history_is_of_a_newer_version_keeps_no_other_from_being_redacted() {
    let endpoint = FakeEndpoint::start().unwrap();
    let world = earlier(&endpoint);
    append_unknown(&world, &id(1));
    assert!(looked_at(&world)["redacting"].is_null(), "it cannot be redacted, and is not tried again and again");
    let problems = world.problems();
    assert!(problems.contains(&format!("session {}: its history has events of a newer", id(1))), "{problems}");
    assert_eq!(recorded(&world).iter().map(|count| usize::from(*count > 0)).collect::<Vec<_>>(), [0, 1, 0, 1, 1]);
    let found = leaks(&world);
    for number in 2..=5 {
        assert!(!found.iter().any(|leak| leak.contains(&format!("blobs/{}", id(number)))), "{found:?}");
    }
    // The next daemon reports it as well.
    world.stop();
    looked_at(&world);
    assert!(world.problems().contains(&format!("session {}: its history", id(1))), "{}", world.problems());
}

#[test]
fn what_cannot_be_read_for_a_while_is_named_and_tried_again_and_holds_up_no_other() {
    let endpoint = FakeEndpoint::start().unwrap();
    let world = earlier(&endpoint);
    let [chunk, ..] = &stored(&world, 4, "zst")[..] else { panic!("no chunk") };
    let away = world.path("away");
    fs::rename(chunk, &away).unwrap();
    fs::create_dir(chunk).unwrap();
    let status = looked_at(&world);
    assert!(status["redacting"]["problem"].as_str().is_some_and(|problem| problem.contains(&id(4))), "{status}");
    assert!(world.problems().contains(&id(4)), "{}", world.problems());
    let mut found = Vec::new();
    let gone = wait_within(LONG, || {
        found = leaks(&world);
        found.retain(|leak| !leak.contains(&id(4)));
        found.is_empty()
    });
    assert!(gone, "{found:?}");
    fs::remove_dir(chunk).unwrap();
    fs::rename(away, chunk).unwrap();
    redacted(&world);
    world.stop();
    assert_eq!(all_leaks(&world), [""; 0]);
}

#[test]
fn notes_are_redacted_beside_a_conversation_that_is_damaged() {
    let endpoint = FakeEndpoint::start().unwrap();
    let world = earlier(&endpoint);
    for chunk in stored(&world, 1, "zst") {
        fs::write(chunk, "damaged").unwrap();
    }
    let before = leaks(&world);
    assert!(before.iter().any(|leak| leak.contains(&id(1)) && leak.contains(".note")), "{before:?}");
    assert!(looked_at(&world)["redacting"].is_null());
    let found = leaks(&world);
    assert!(!found.iter().any(|leak| leak.contains("blobs/")), "{found:?}");
    assert!(world.problems().contains(&format!("session {}: ", id(1))), "{}", world.problems());
}

#[test]
fn a_list_that_cannot_be_read_is_no_empty_one() {
    let endpoint = FakeEndpoint::start().unwrap();
    let world = earlier(&endpoint);
    let list = world.home().join("log/redacted.list");
    fs::create_dir(&list).unwrap();
    let status = looked_at(&world);
    let problem = status["redacting"]["problem"].to_string();
    assert!(problem.contains("redacted.list"), "{status}");
    assert_eq!(status["redacting"]["done"], 0, "{status}");
    fs::remove_dir(&list).unwrap();
    redacted(&world);
    world.stop();
    assert_eq!(all_leaks(&world), [""; 0]);
}

#[test]
fn whoever_is_killed_meanwhile_goes_on_with_it() {
    let endpoint = FakeEndpoint::start().unwrap();
    let world = earlier(&endpoint);
    let mut killed = 0;
    for changed in 1..=7 {
        let mut status = Value::Null;
        let came = wait_within(LONG, || {
            status = world.json(&["status"]);
            status["redacting"].is_null() || status["redacting"]["changed"].as_u64().unwrap_or(0) >= changed
        });
        assert!(came, "{status}\n{}", world.log());
        if !status["redacting"].is_null() {
            killed += 1;
            world.kill();
        }
    }
    assert!(killed > 0, "it was done before anybody was killed");
    redacted(&world);
    let verified = world.json(&["log", "verify"]);
    assert_eq!(verified["clean"], true, "{verified}");
    assert_eq!(list(&verified["findings"]), [Value::Null; 0]);
    world.stop();
    assert_eq!(all_leaks(&world), [""; 0]);
    assert_eq!(endpoint.connections(), 0, "no model is asked");
}
