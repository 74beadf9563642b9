//! Exports and imports a small home, and damages such a file in many ways.

use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use baton_conversation::hash::ContentHash;
use baton_conversation::item::Agent;
use baton_conversation::record::{Metadata, Position, SequenceNumber, SessionId, StreamId, Timestamp};
use baton_events::envelope::NewRecord;
use baton_events::schema;
use baton_events::session::{CloseReason, EffectId, EpisodeRef, Event, FileIdentity, Kind, Tier};
use baton_protocol::Progress;
use uuid::Uuid;

use super::*;
use baton_config::import_boundary::ImportBoundary;
use baton_journal::{DiskJournal, Journal, Options};
use baton_store::chunks::{ChunkStore, Header};
use baton_store::fingerprints::ForgottenSessions;

const SECRET: &str = "sk-ant-api03-a1B2c3D4e5F6a1B2c3D4e5F6";

/// A home that no daemon has open.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn chunks(&self) -> ChunkStore {
        ChunkStore::open(self.path().join("blobs")).unwrap()
    }

    fn remains(&self) -> ForgottenSessions {
        ForgottenSessions::open(&self.path().join("log"))
    }

    /// Records the histories of sessions, each from its first event.
    fn record(&self, histories: &[(&str, Vec<Event>)]) {
        let journal = DiskJournal::open(Options::new(self.path().join("log"), Timestamp(0)), Box::new(())).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for (session, events) in histories {
            let batch = events.iter().map(|event| {
                let encoded = schema::session::encode(event);
                let (at, metadata) = (Timestamp(1_000), Metadata::default());
                NewRecord { kind: encoded.kind.to_owned(), v: encoded.v, at, metadata, data: encoded.data }
            });
            let stream = StreamId::session(&id(session));
            runtime.block_on(journal.append(stream, SequenceNumber(0), batch.collect())).unwrap();
        }
        journal.close();
    }

    /// Two sessions with episodes, the second without its conversation, and a note.
    fn usual() -> Self {
        let home = Self::new();
        let chunks = home.chunks();
        let lines = [r#"{"line":1,"kind":"text","role":"user","text":"why ümläut?"}"#, r#"{"line":2,"text":"so"}"#];
        let lines: Vec<Vec<u8>> = lines.iter().map(|line| line.as_bytes().to_vec()).collect();
        let manifest = chunks.append(&id("a"), None, &lines, Header::default()).unwrap();
        let note = chunks.put_note(&id("a"), "story done").unwrap();
        home.record(&[
            ("a", [discovered("/t/a.jsonl"), closed(note), indexed(manifest, 2)].concat()),
            ("b", [discovered("/t/b.jsonl"), indexed(ContentHash([9; 32]), 1)].concat()),
        ]);
        home
    }

    fn export(&self, wanted: &ExportRequest) -> (Result<ExportSummary, Error>, String) {
        let mut out = Vec::new();
        let exported = self.export_to(wanted, &mut out);
        (exported, String::from_utf8(out).unwrap())
    }

    fn export_to(&self, wanted: &ExportRequest, out: &mut Vec<u8>) -> Result<ExportSummary, Error> {
        let mut source = Offline::open(self.path())?;
        let chunks = ChunkStore::in_folder(self.path().join("blobs"));
        let (remains, spool) = (self.remains(), tempfile::tempfile().unwrap());
        export(&mut source, &chunks, &remains, wanted, spool, out, &mut |_: &Progress| {})
    }

    fn import(&self, file: &str) -> Result<ImportSummary, ImportError> {
        import(self.path(), &mut BufReader::new(file.as_bytes()), &mut |_| {})
    }

    /// Returns true if nothing exists but what was there before an import.
    fn is_empty(&self) -> bool {
        let mut left: Vec<PathBuf> = fs::read_dir(self.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        left.retain(|path| !matches!(path.file_name().and_then(|name| name.to_str()), Some("daemon.lock")));
        left.is_empty()
    }
}

fn id(text: &str) -> SessionId {
    SessionId::new(text).unwrap()
}

fn everything() -> ExportRequest {
    ExportRequest { session: None, since: None, until: None, conversations: true, unredacted: false }
}

fn discovered(path: &str) -> Vec<Event> {
    let identity = FileIdentity { device: 1, inode: 2 };
    vec![Event::Discovered {
        agent: Agent::ClaudeCode,
        path: path.to_owned(),
        identity,
        kind: Kind::Main,
        at: Timestamp(1_000),
    }]
}

fn closed(note: ContentHash) -> Vec<Event> {
    vec![Event::CloseRequested { reason: CloseReason::Explicit, note: Some(note) }]
}

fn indexed(manifest: ContentHash, items: u64) -> Vec<Event> {
    let effect = EffectId { generation: 1, start: 1 };
    let (hash, at) = (ContentHash([7; 32]), Timestamp(1_000));
    let (tier, filter_version, generation, to) = (Tier::Extractive, 1, 1, 10);
    let uuid = Uuid::from_u128(1);
    vec![
        Event::IndexingStarted { effect, reason: CloseReason::Explicit, to: 10 },
        Event::Indexed {
            effect,
            episode: EpisodeRef { uuid, tier, hash, filter_version, generation, to, manifest, items, at },
        },
    ]
}

#[test]
fn a_home_comes_back_to_the_byte() {
    let home = Home::usual();
    let (exported, file) = home.export(&everything());
    let exported = exported.unwrap();
    assert!(exported.whole, "{exported:?}");
    assert_eq!((exported.records, exported.items, exported.redacted, exported.missing), (7, 2, 0, 1), "{file}");
    assert_eq!(exported.conversations, 2);

    let copy = Home::new();
    let built = copy.import(&file).unwrap();
    assert_eq!((built.tail, built.sessions, built.conversations), (exported.tail, 2, 1));
    assert_eq!((built.items, built.missing, built.unknown), (2, 1, 0));
    assert_eq!(copy.export(&everything()).1, file);
    let (own, other) = (read_stats(home.path()).0, read_stats(copy.path()).0);
    assert_eq!((&own.state_hash, &own.chain, own.position), (&other.state_hash, &other.chain, other.position));
    let imported = ImportBoundary::read(&copy.path().join("log")).unwrap();
    assert_eq!(imported.position(), exported.tail.position);
    assert!(imported.is_elsewhere("/t/a.jsonl", None));

    // A daemon opens it like any log.
    let opened = DiskJournal::open(Options::new(copy.path().join("log"), Timestamp(0)), Box::new(())).unwrap();
    assert_eq!(opened.tail(), exported.tail);
}

#[test]
fn what_copies_of_forgotten_sessions_are_known_by_comes_along() {
    let home = Home::usual();
    let forgotten = |path| [discovered(path), vec![Event::Forgotten]].concat();
    home.record(&[("c", forgotten("/t/c.jsonl")), ("d", forgotten("/t/d.jsonl"))]);
    let remains = home.remains();
    // Sessions that are not forgotten, or not yet, are left out.
    remains.keep(vec![(id("a"), vec![9]), (id("c"), vec![1, u64::MAX])]).unwrap();
    remains.keep_copy(id("d"), id("c")).unwrap();
    let (exported, file) = home.export(&everything());
    assert!(exported.unwrap().whole);
    assert_eq!(file.matches("\"forgotten\":[").count(), 2, "{file}");
    let copy = Home::new();
    assert_eq!(copy.import(&file).unwrap().unknown, 0);
    let come = copy.remains();
    assert_eq!(come.original_by_marks(&id("x"), [9, u64::MAX].into_iter()), Some(id("c")));
    assert_eq!((come.original_by_marks(&id("x"), [9].into_iter()), come.original_of(&id("d"))), (None, Some(id("c"))));
    assert_eq!(copy.export(&everything()).1, file);
    // A partial export contains none of it.
    let session = ExportRequest { session: Some("c".to_owned()), ..everything() };
    assert!(!home.export(&session).1.contains("\"forgotten\":["));

    let line = file.lines().find(|line| line.contains("\"forgotten\":[\"")).unwrap();
    let many = format!(
        r#"{{"session":"c","forgotten":{:?}}}"#,
        vec!["0000000000000001"; baton_store::fingerprints::MARKS + 1]
    );
    for wrong in [
        file.replace(line, &line.replace("\"c\"", "\"a\"")),
        file.replace(line, &format!("{line}\n{line}")),
        file.replace(line, &many),
    ] {
        assert!(matches!(Home::new().import(&wrong), Err(ImportError::Refused { .. })), "{wrong}");
    }
    // An export of a version without these lines.
    let older: String = file.lines().filter(|line| !line.contains("\"forgotten\":[")).fold(String::new(), join);
    let copy = Home::new();
    copy.import(&older).unwrap();
    assert!(copy.remains().is_empty());

    fs::write(home.path().join("log/forgotten-records.json"), "{}").unwrap();
    let exported = home.export(&everything()).0.unwrap();
    assert_eq!((exported.missing, exported.lost.len()), (2, 2), "{exported:?}");
}

#[test]
fn what_was_exported_by_the_first_version_is_imported_for_ever() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../replay-fixtures/schema/export.v1.jsonl");
    if !fixture.exists() && std::env::var_os("BATON_UPDATE_FIXTURES").is_some() {
        fs::write(&fixture, Home::usual().export(&everything()).1).unwrap();
    }
    let file = fs::read_to_string(fixture).unwrap();
    let home = Home::new();
    let built = home.import(&file).unwrap();
    assert_eq!((built.sessions, built.conversations, built.missing), (2, 1, 1));
    // The hash of the states belongs to this version; the rest is the same.
    let before_end = |file: &str| file.lines().filter(|line| !line.starts_with("{\"end\"")).fold(String::new(), join);
    assert_eq!(before_end(&home.export(&everything()).1), before_end(&file));
}

#[test]
fn a_home_with_events_or_conversations_is_not_overwritten() {
    let (_, file) = Home::usual().export(&everything());
    let full = Home::usual();
    let before = full.export(&everything()).1;
    assert!(matches!(full.import(&file), Err(ImportError::NotEmpty { .. })));
    assert_eq!(full.export(&everything()).1, before);

    let orphans = Home::new();
    orphans.chunks().put_note(&id("x"), "of another home").unwrap();
    assert!(matches!(orphans.import(&file), Err(ImportError::Orphans { .. })));

    // A home in which a daemon ran and recorded nothing.
    let fresh = Home::new();
    fresh.record(&[]);
    fresh.chunks();
    fresh.import(&file).unwrap();
    assert_eq!(fresh.export(&everything()).1, file);
}

#[test]
fn an_import_that_was_interrupted_is_begun_anew() {
    let (_, file) = Home::usual().export(&everything());
    let whole = Home::new();
    whole.import(&file).unwrap();
    for (what, moved) in [("while it was built", None), ("while it moved in", Some("blobs"))] {
        let home = Home::new();
        fs::create_dir(home.path().join("import")).unwrap();
        for part in ["blobs", "log"] {
            let target =
                if moved == Some(part) { home.path().join(part) } else { home.path().join("import").join(part) };
            copy(&whole.path().join(part), &target);
        }
        assert_eq!(read_stats(home.path()).0.events, 0, "{what}: no half home");
        home.import(&file).unwrap();
        assert_eq!(home.export(&everything()).1, file, "{what}");
        assert!(!home.path().join("import").exists());
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            assert!(fs::copy(entry.path(), target).is_ok());
        }
    }
}

#[test]
fn a_file_is_cut_off_anywhere_and_never_taken() {
    let (_, file) = Home::usual().export(&everything());
    let home = Home::new();
    let step = file.len() / 60;
    for end in (0..file.len()).step_by(step.max(1)).filter(|end| file.is_char_boundary(*end)) {
        assert!(home.import(&file[..end]).is_err(), "cut at {end}");
        assert!(home.is_empty(), "cut at {end}");
    }
}

/// Turns one bit of a byte at regular distances, another one each time. Either the file is refused, or the turned bit
/// is meaningless (in the name of an optional field) and the home is the same.
#[test]
fn no_turned_bit_makes_another_home() {
    let (_, file) = Home::usual().export(&everything());
    let mut refused = 0;
    let mut home = Home::new();
    let turned = (0..file.len()).step_by(11);
    let count = turned.len();
    for (round, at) in turned.enumerate() {
        let mut bytes = file.clone().into_bytes();
        bytes[at] ^= 1 << (round % 8);
        let outcome = import(home.path(), &mut BufReader::new(&bytes[..]), &mut |_| {});
        match outcome {
            Err(_) => {
                refused += 1;
                assert!(home.is_empty(), "byte {at}");
            }
            Ok(_) => {
                let again = home.export(&everything()).1;
                assert_eq!(again, file, "byte {at}");
                home = Home::new();
            }
        }
    }
    assert!(refused * 100 > count * 95, "{refused} of {count} refused");
}

#[test]
fn each_field_that_says_something_else_is_refused_with_the_reason() {
    let (_, file) = Home::usual().export(&everything());
    let chunk = field(&file, "chunk");
    let of_chunk = |items: &str| format!("\"chunk\":\"{chunk}\",\"items\":{items},");
    let (two, three, countless) = (of_chunk("2"), of_chunk("3"), of_chunk("18446744073709551615"));
    // The text after the name tells its line from a record that contains the same.
    let named = |name: &str, digits: &str, behind: &str| format!("\"{name}\":\"{digits}\"{behind}");
    let renamed =
        [("manifest", ",\"content\""), ("chunk", ""), ("note", ",\"text\""), ("missing", ""), ("state_hash", "")];
    let [manifest, chunk, note, missing, state] =
        renamed.map(|(name, behind)| (named(name, field(&file, name), behind), named(name, &"0".repeat(64), behind)));
    for (from, to, expected) in [
        ("\"baton_export\":1", "\"baton_export\":2", "newer version"),
        ("\"baton_export\":1", "\"baton_export\":0", "does not begin"),
        ("\"whole\":true", "\"whole\":false", "`baton replay`"),
        ("\"whole\":true,\"position\":7", "\"whole\":true,\"position\":6", "end at position 7"),
        ("\"sequence\":2", "\"sequence\":3", "chain hash"),
        ("\"record\":{\"position\":1", "\"format\":2,\"record\":{\"position\":1", "record format 2"),
        ("why ümläut?", "why?", "does not match its name"),
        ("story done", "story gone", "does not match its name"),
        (&*two, &*three, "another chunk"),
        (&two, &countless, "another chunk"),
        (&manifest.0, &manifest.1, "no event names this conversation"),
        (&chunk.0, &chunk.1, "another chunk"),
        (&note.0, &note.1, "no event names this note"),
        (&missing.0, &missing.1, "no event names what is missing"),
        (&state.0, &state.1, "state_hash"),
        ("\"session\":\"a\",\"manifest\"", "\"session\":\"b\",\"manifest\"", "no event names"),
        ("\"session\":\"a\",\"manifest\"", "\"session\":\"../a\",\"manifest\"", "not a line of an export"),
        ("\"session\":\"a\",\"chunk\"", "\"session\":\"b\",\"chunk\"", "follows no manifest"),
        ("\"records\":7", "\"records\":8", "records"),
        ("\"items\":2,\"redacted\"", "\"items\":1,\"redacted\"", "items"),
        ("\"redacted\":0", "\"redacted\":1", "redacted"),
    ] {
        assert!(file.contains(from), "{from} is not in {file}");
        let (home, changed) = (Home::new(), file.replacen(from, to, 1));
        let error = home.import(&changed).expect_err(to).to_string();
        assert!(error.contains(expected), "{to}: {error}");
        assert!(home.is_empty(), "{to}");
    }
    for (what, changed, expected) in [
        ("the same twice", format!("{file}{file}"), "line after the last one"),
        ("no end", file.lines().filter(|line| !line.contains("\"end\"")).fold(String::new(), join), "no last line"),
        (
            "no note",
            file.lines().filter(|line| !line.contains("\"text\":\"story")).fold(String::new(), join),
            "a note of",
        ),
        ("no conversation", file.lines().filter(|line| !of_conversation(line)).fold(String::new(), join), "not in it"),
        (
            "half a conversation",
            file.lines().filter(|line| !line.contains("{\"line\":2")).fold(String::new(), join),
            "missing",
        ),
        ("nothing", String::new(), "no last line"),
        ("something else", "{\"mood\":\"fine\"}\n".to_owned(), "does not begin"),
        ("no JSON", "fine\n".to_owned(), "not a line of an export"),
    ] {
        let home = Home::new();
        let error = home.import(&changed).expect_err(what).to_string();
        assert!(error.contains(expected), "{what}: {error}");
        assert!(home.is_empty(), "{what}");
    }
}

fn join(text: String, line: &str) -> String {
    text + line + "\n"
}

fn of_conversation(line: &str) -> bool {
    ["\"manifest\":\"", "\"chunk\":\"", "{\"item\""]
        .iter()
        .any(|mark| line.contains(mark) && !line.contains("\"record\""))
}

/// The hex digits after a name that no record has.
fn field<'a>(file: &'a str, name: &str) -> &'a str {
    let mark = format!("\"{name}\":\"");
    let line = file.lines().find(|line| line.contains(&mark) && !line.contains("\"record\"")).unwrap();
    &line[line.find(&mark).unwrap() + mark.len()..][..64]
}

#[test]
fn events_of_a_newer_version_are_refused_with_the_way_out() {
    let home = Home::new();
    let journal = DiskJournal::open(Options::new(home.path().join("log"), Timestamp(0)), Box::new(())).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let new = NewRecord {
        kind: "dreamt".to_owned(),
        v: 1,
        at: Timestamp(0),
        metadata: Metadata::default(),
        data: "{}".to_owned(),
    };
    runtime.block_on(journal.append(StreamId::session(&id("a")), SequenceNumber(0), vec![new])).unwrap();
    journal.close();
    let (exported, file) = home.export(&everything());
    assert!(exported.unwrap().whole);
    let error = Home::new().import(&file).expect_err("newer").to_string();
    assert!(error.contains("dreamt") && error.contains("install that one"), "{error}");
}

#[test]
fn what_looks_like_a_secret_is_redacted_counted_and_not_for_import() {
    let home = Home::new();
    let chunks = home.chunks();
    let item = format!("{{\"line\":1,\"text\":\"the key is {SECRET}\"}}");
    let manifest = chunks.append(&id("a"), None, &[item.into_bytes()], Header::default()).unwrap();
    let note = chunks.put_note(&id("a"), &format!("key {SECRET}")).unwrap();
    let path = format!("/srv/{SECRET}/a.jsonl");
    home.record(&[("a", [discovered(&path), closed(note), indexed(manifest, 1)].concat())]);

    let (exported, file) = home.export(&everything());
    let exported = exported.unwrap();
    assert_eq!((exported.whole, exported.redacted), (false, 3), "{file}");
    assert!(!file.contains(SECRET), "{file}");
    assert!(matches!(Home::new().import(&file), Err(ImportError::Refused { line: 1, refusal: Refusal::Filtered })));

    let (exported, file) = home.export(&ExportRequest { unredacted: true, ..everything() });
    assert!(exported.unwrap().whole && file.contains(SECRET));
    let copy = Home::new();
    copy.import(&file).unwrap();
    assert_eq!(read_stats(copy.path()).0.state_hash, read_stats(home.path()).0.state_hash);
}

#[test]
fn a_part_is_what_was_asked_for_and_says_so() {
    let home = Home::usual();
    let check = |wanted: ExportRequest, records: u64, conversations: u64| {
        let (exported, file) = home.export(&wanted);
        let exported = exported.unwrap();
        assert_eq!((exported.records, exported.conversations), (records, conversations), "{wanted:?}: {file}");
        assert!(!exported.whole && file.starts_with("{\"baton_export\":1,\"whole\":false"), "{file}");
        let chain_at = exported.tail.position.0;
        let full = home.export(&everything()).1;
        let line = full.lines().nth(usize::try_from(chain_at).unwrap()).unwrap();
        assert!(line.contains(&exported.tail.chain.to_string()), "the chain is the log's at {chain_at}");
    };
    check(ExportRequest { session: Some("a".into()), ..everything() }, 4, 1);
    check(ExportRequest { since: Some(Position(5)), ..everything() }, 3, 1);
    check(ExportRequest { until: Some(Position(4)), ..everything() }, 4, 1);
    check(ExportRequest { until: Some(Position(1)), ..everything() }, 1, 0);
    check(ExportRequest { since: Some(Position(2)), until: Some(Position(2)), ..everything() }, 1, 1);
    check(ExportRequest { conversations: false, ..everything() }, 7, 0);
    check(ExportRequest { since: Some(Position(99)), ..everything() }, 0, 0);
    let (unknown, _) = home.export(&ExportRequest { session: Some("c".into()), ..everything() });
    assert!(matches!(unknown, Err(Error::NoSession(_))), "{unknown:?}");
}

#[test]
fn a_damaged_log_is_exported_up_to_the_damage() {
    let home = Home::usual();
    let full = home.export(&everything()).1;
    let segment = home.path().join("log/segments/0001.seg");
    let mut bytes = fs::read(&segment).unwrap();
    let at = bytes.windows(5).position(|window| window == b"/t/b.").unwrap();
    bytes[at] ^= 1;
    // A whole group behind it makes it damage instead of a torn tail.
    fs::write(&segment, &bytes).unwrap();
    let (exported, file) = home.export(&everything());
    let exported = exported.unwrap();
    assert_eq!((exported.records, exported.whole), (4, true), "{file}");
    assert!(full.lines().nth(4).is_some_and(|line| file.contains(line)), "all before the damage");
    let copy = Home::new();
    assert_eq!(copy.import(&file).unwrap().tail.position, Position(4));
}
