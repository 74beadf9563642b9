//! Stored shapes and printed answers against the files in `replay-fixtures/schema`.
//!
//! Shipped shapes are frozen: every file `<name>.v<N>[.<case>].json` is a shape as some version of Baton wrote it, its
//! SHA-256 is listed in `FROZEN`, and it must be readable for ever. `<name>.v<N>[.<case>].expected.json` is what the
//! current program makes of it; that changes when the shape gets a new version. `FROZEN` describes how to add a
//! version.

#[path = "schema/program.rs"]
mod program;
#[path = "schema/validator.rs"]
mod validator;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use baton_conversation::hash::canonical_json;
use baton_conversation::hex;
use baton_conversation::item::{Body, Item, ToolResult};
use baton_endpoint::FakeEndpoint;
use baton_events::envelope;
use baton_events::envelope::ChainHash;
use baton_events::memo::Source;
use baton_events::schema::{export, home, item, memo, session};
use baton_events::session::{
    Agent, Ask, CallOutcome, CloseReason, FailureReason, GaveUp, Tier, UnindexedReason, Verdict,
};
use serde_json::Value;
use sha2::{Digest, Sha256};

use program::Program;

/// If set, [`every_event_shape_is_read_and_frozen`] writes missing files. It never changes a frozen file.
const UPDATE: &str = "BATON_UPDATE_FIXTURES";
const HOW: &str = "see the head of replay-fixtures/schema/FROZEN";

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("replay-fixtures")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

/// A folder of fixtures, and the problems in it.
struct Shelf<'a> {
    folder: &'a Path,
    update: bool,
    codec: Codec,
    /// Written in this run: to be reviewed before they are frozen.
    fresh: BTreeSet<String>,
    found: Vec<String>,
}

/// Reads an event of a type and version and writes it in the newest version.
type Codec = fn(&str, u32, &str) -> Result<(u32, Value), String>;

/// All event types.
fn kinds() -> impl Iterator<Item = &'static str> {
    session::KINDS.into_iter().chain(home::KINDS).chain(memo::KINDS)
}

fn todays(kind: &str, v: u32, data: &str) -> Result<(u32, Value), String> {
    if home::KINDS.contains(&kind) {
        let encoded = home::encode(&home::decode(kind, v, data).map_err(|error| error.to_string())?);
        assert_eq!(encoded.kind, kind, "an event keeps its type");
        return Ok((encoded.v, json(&encoded.data)));
    }
    if memo::KINDS.contains(&kind) {
        let encoded = memo::encode(&memo::decode(kind, v, data).map_err(|error| error.to_string())?);
        assert_eq!(encoded.kind, kind, "an event keeps its type");
        return Ok((encoded.v, json(&encoded.data)));
    }
    let event = session::decode(kind, v, data).map_err(|error| error.to_string())?;
    let encoded = session::encode(&event);
    assert_eq!(encoded.kind, kind, "an event keeps its type");
    Ok((encoded.v, json(&encoded.data)))
}

/// One stored event in a file `<kind>.v<N>[.<case>].json`.
struct Fixture<'a> {
    kind: &'a str,
    v: u32,
    name: &'a str,
}

impl<'a> Fixture<'a> {
    fn of(name: &'a str) -> Option<Self> {
        let stem = name.strip_suffix(".json")?;
        let (kind, rest) = stem.split_once(".v")?;
        let version = rest.split('.').next()?;
        let wanted = kinds().any(|known| known == kind) && !stem.ends_with(".expected");
        wanted.then_some(()).and_then(|()| Some(Self { kind, v: version.parse().ok()?, name }))
    }

    fn expected(&self) -> String {
        format!("{}.expected.json", self.name.trim_end_matches(".json"))
    }
}

impl Shelf<'_> {
    /// All problems in the folder, each with the file and what to do. With `update`, missing files are written first.
    fn findings(folder: &Path, codec: Codec, update: bool) -> Vec<String> {
        let mut shelf = Shelf { folder, update, codec, fresh: BTreeSet::new(), found: Vec::new() };
        for kind in kinds() {
            shelf.versions(kind);
        }
        for name in shelf.names() {
            match Fixture::of(&name) {
                Some(fixture) => shelf.event(&fixture),
                None => shelf.stranger(&name),
            }
        }
        shelf.frozen();
        shelf.found
    }

    fn names(&self) -> BTreeSet<String> {
        let entries = fs::read_dir(self.folder).expect("the folder of fixtures");
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a plain name")).collect()
    }

    fn text(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.folder.join(name)).ok()
    }

    fn write(&self, name: &str, value: &Value) {
        // Through canonical JSON, so that the keys are sorted whatever map is behind `Value`.
        let sorted: BTreeMap<String, Value> = serde_json::from_str(&canonical_json(value)).expect("an object");
        let text = serde_json::to_string_pretty(&sorted).expect("JSON") + "\n";
        fs::write(self.folder.join(name), text).expect("a writable folder");
    }

    /// Checks that each version of an event type, from 1 to the current one, has a fixture.
    fn versions(&mut self, kind: &str) {
        let (mut v, mut newest) = (1, 1);
        let mut lifted: Option<Value> = None;
        while v <= newest {
            let name = format!("{kind}.v{v}.json");
            match (self.text(&name), &lifted) {
                (None, Some(data)) if self.update && v == newest => {
                    self.write(&name, data);
                    self.found.push(format!("{name} was written just now: give its optional fields values, {HOW}"));
                    self.fresh.insert(name.clone());
                }
                (None, _) => self.found.push(format!("{name} is missing: {HOW}")),
                (Some(_), _) => {}
            }
            if let Some(Ok((to, data))) = self.text(&name).map(|text| (self.codec)(kind, v, &text)) {
                newest = newest.max(to);
                lifted = Some(data);
            }
            v += 1;
        }
    }

    /// Checks that a stored event can be read, and that the result is as expected.
    fn event(&mut self, fixture: &Fixture<'_>) {
        let Fixture { kind, v, name } = fixture;
        let text = self.text(name).unwrap_or_default();
        let (newest, data) = match (self.codec)(kind, *v, &text) {
            Ok(read) => read,
            Err(error) => return self.found.push(format!("{name} cannot be read any more: {error}")),
        };
        if *v == newest && canonical_json(&data) != canonical_json(&json(&text)) {
            self.found.push(format!("{name} does not come back as it is: {data}"));
        }
        let now = serde_json::json!({ "type": kind, "v": newest, "data": data });
        let expected = fixture.expected();
        if self.update {
            self.write(&expected, &now);
        }
        let matches = self.text(&expected).is_some_and(|text| canonical_json(&json(&text)) == canonical_json(&now));
        if !matches {
            self.found.push(format!("{expected} is not what {name} becomes: {now}; if that is meant, {HOW}"));
        }
    }

    fn stranger(&mut self, name: &str) {
        let known = matches!(name, "FROZEN" | "episode.schema.json" | "export.v1.jsonl")
            || name.starts_with("item.v") && name.ends_with(".jsonl")
            || (name.starts_with("envelope.v") || name.starts_with("words.v")) && name.ends_with(".json");
        let about = name.strip_suffix(".expected.json").map(|stem| format!("{stem}.json"));
        let has_source = about.is_some_and(|source| Fixture::of(&source).is_some() && self.text(&source).is_some());
        if !known && !has_source {
            self.found.push(format!("{name} belongs to no event type: {HOW}"));
        }
    }

    /// Checks that every shipped file is unchanged, and that every file is listed.
    fn frozen(&mut self) {
        let list = self.text("FROZEN").unwrap_or_default();
        let lines = list.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        let frozen: BTreeMap<&str, &str> =
            lines.filter_map(|line| line.split_once("  ").map(|(a, b)| (b, a))).collect();
        let shipped = |name: &str| name.contains(".v") && !name.ends_with(".expected.json");
        let there: BTreeSet<String> = self.names().into_iter().filter(|name| shipped(name)).collect();
        let mut added = String::new();
        for name in &there {
            let digest = hex::encode(&Sha256::digest(fs::read(self.folder.join(name)).expect("a file")));
            match frozen.get(name.as_str()) {
                Some(known) if **known == digest => {}
                Some(_) => self.found.push(format!("{name} is frozen and has changed: put it back, {HOW}")),
                None if self.fresh.contains(name) => {}
                None if self.update => added += &format!("{digest}  {name}\n"),
                None => self.found.push(format!("{name} is not in FROZEN: {HOW}")),
            }
        }
        for name in frozen.keys().filter(|name| !there.contains(**name)) {
            self.found.push(format!("{name} is frozen and gone: put it back, {HOW}"));
        }
        if !added.is_empty() {
            fs::write(self.folder.join("FROZEN"), list + &added).expect("a writable folder");
        }
    }
}

#[test]
fn every_event_shape_is_read_and_frozen() {
    let found = Shelf::findings(&fixtures().join("schema"), todays, std::env::var_os(UPDATE).is_some());
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

/// A copy of the fixtures in a folder of its own, to be damaged.
fn copied_shelf() -> tempfile::TempDir {
    let copy = tempfile::tempdir().expect("a folder");
    for entry in fs::read_dir(fixtures().join("schema")).expect("the folder of fixtures") {
        let entry = entry.expect("an entry");
        fs::copy(entry.path(), copy.path().join(entry.file_name())).expect("a copy");
    }
    copy
}

fn first_words(found: &[String]) -> String {
    let words = |line: &String| line.split_whitespace().take(5).collect::<Vec<_>>().join(" ");
    found.iter().map(words).collect::<Vec<_>>().join("; ")
}

#[test]
fn a_broken_shelf_is_noticed() {
    // Damages a copy, and compares what is found before and after an update.
    let check = |damage: &dyn Fn(&Path), expected: &str, after_update: &str| {
        let copy = copied_shelf();
        damage(copy.path());
        assert_eq!(first_words(&Shelf::findings(copy.path(), todays, false)), expected);
        assert_eq!(first_words(&Shelf::findings(copy.path(), todays, true)), after_update);
    };
    let replace = |name: &'static str, from: &'static str, to: &'static str| {
        move |folder: &Path| {
            let text = read(&folder.join(name));
            assert!(text.contains(from), "{name} lacks {from}");
            fs::write(folder.join(name), text.replace(from, to)).expect("written");
        }
    };
    let remove = |name: &'static str| move |folder: &Path| fs::remove_file(folder.join(name)).expect("removed");
    check(&|_| (), "", "");
    check(
        &replace("group_assigned.v1.json", "ledger-team", "ledger-crew"),
        "group_assigned.v1.expected.json is not what group_assigned.v1.json; group_assigned.v1.json is frozen and has",
        "group_assigned.v1.json is frozen and has",
    );
    check(
        &replace("ended.v1.json", "hook_prompt_input_exit", "boredom"),
        "ended.v1.json cannot be read any; ended.v1.json is frozen and has",
        "ended.v1.json cannot be read any; ended.v1.json is frozen and has",
    );
    check(&replace("moved.v1.expected.json", "2053", "2054"), "moved.v1.expected.json is not what moved.v1.json", "");
    check(&remove("moved.v1.expected.json"), "moved.v1.expected.json is not what moved.v1.json", "");
    let gone = "moved.v1.json is missing: see the; moved.v1.expected.json belongs to no event; moved.v1.json is frozen and gone:";
    check(&remove("moved.v1.json"), gone, gone);
    let odd = |folder: &Path| {
        fs::write(folder.join("moved.v1.odd.json"), r#"{"path":"/a","file":{"device":1,"inode":2},"mood":1}"#)
            .expect("written");
    };
    check(
        &odd,
        "moved.v1.odd.json does not come back; moved.v1.odd.expected.json is not what moved.v1.odd.json; \
         moved.v1.odd.json is not in FROZEN:",
        "moved.v1.odd.json does not come back",
    );
    check(
        &|folder| fs::write(folder.join("teleported.v1.json"), "{}").expect("written"),
        "teleported.v1.json belongs to no event; teleported.v1.json is not in FROZEN:",
        "teleported.v1.json belongs to no event",
    );
}

#[test]
fn a_new_version_gets_its_fixture_from_the_one_before() {
    fn moved_has_a_second_version(kind: &str, v: u32, data: &str) -> Result<(u32, Value), String> {
        if kind != "moved" {
            return todays(kind, v, data);
        }
        let mut data = json(data);
        if v == 1 {
            data["bytes"] = 7.into();
        }
        Ok((2, data))
    }
    let copy = copied_shelf();
    let found = |update| first_words(&Shelf::findings(copy.path(), moved_has_a_second_version, update));
    assert_eq!(found(false), "moved.v2.json is missing: see the; moved.v1.expected.json is not what moved.v1.json");
    assert_eq!(found(true), "moved.v2.json was written just now:");
    assert_eq!(found(false), "moved.v2.json is not in FROZEN:");
    assert_eq!((found(true), found(false)), (String::new(), String::new()));
    assert_eq!(json(&read(&copy.path().join("moved.v1.expected.json")))["v"], 2);
    assert_eq!(json(&read(&copy.path().join("moved.v2.json")))["bytes"], 7);
}

#[test]
fn every_word_in_an_event_stays_readable() {
    let mut words: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for v in 1.. {
        let Ok(text) = fs::read_to_string(fixtures().join(format!("schema/words.v{v}.json"))) else { break };
        let file: BTreeMap<String, BTreeSet<String>> = serde_json::from_str(&text).expect("lists of words");
        file.into_iter().for_each(|(list, more)| words.entry(list).or_default().extend(more));
    }
    let known = |list: &str, now: &[&str], parses: &dyn Fn(&str) -> bool| {
        let frozen = words.get(list).unwrap_or_else(|| panic!("no words of {list}"));
        let unread: Vec<_> = frozen.iter().filter(|word| !parses(word)).collect();
        assert!(unread.is_empty(), "{list}: {unread:?} can no longer be read");
        let new: Vec<_> = now.iter().filter(|word| !frozen.contains(**word)).collect();
        assert!(new.is_empty(), "{list}: put {new:?} into a new words.v<N>.json; {HOW}");
    };
    fn texts<T: Copy>(all: &[T], text: impl Fn(T) -> &'static str) -> Vec<&'static str> {
        all.iter().map(|word| text(*word)).collect()
    }
    known("agent", &texts(Agent::ALL, Agent::as_str), &|word| Agent::parse(word).is_some_and(|it| it.as_str() == word));
    known("tier", &[Tier::Extractive.as_str(), Tier::Enriched.as_str()], &|word| {
        Tier::parse(word).is_some_and(|it| it.as_str() == word)
    });
    known("close_reason", &texts(CloseReason::ALL, CloseReason::as_str), &|word| CloseReason::parse(word).is_some());
    known("failure_why", &texts(FailureReason::ALL, FailureReason::as_str), &|word| {
        FailureReason::parse(word).is_some()
    });
    known("memo_source", &texts(Source::ALL, Source::as_str), &|word| Source::parse(word).is_some());
    known("ask", &texts(Ask::ALL, Ask::as_str), &|word| Ask::parse(word).is_some());
    known("call_outcome", &texts(CallOutcome::ALL, CallOutcome::as_str), &|word| CallOutcome::parse(word).is_some());
    known("gave_up", &texts(GaveUp::ALL, GaveUp::as_str), &|word| GaveUp::parse(word).is_some());
    known("verdict", &texts(Verdict::ALL, Verdict::as_str), &|word| Verdict::parse(word).is_some());
    known("why", &texts(UnindexedReason::ALL, UnindexedReason::as_str), &|word| UnindexedReason::parse(word).is_some());
}

#[test]
fn a_stored_record_is_read_and_written_to_the_byte() {
    let check = |name: &str, stream: &str, kind: &str, chain: &str| {
        let json = read(&fixtures().join("schema").join(name));
        let bytes = [&[envelope::FORMAT], json.trim_end().as_bytes()].concat();
        let record = envelope::decode(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!((record.stream.as_str(), record.kind.as_str()), (stream, kind), "{name}");
        assert_eq!(envelope::encode(&record).expect("bytes"), bytes, "{name}");
        assert_eq!(envelope::chain(ChainHash::GENESIS, &bytes).to_string(), chain, "{name}");
        assert!(session::decode(&record.kind, record.v, &record.data).is_ok(), "{name}");
    };
    check(
        "envelope.v1.json",
        "session:3f1c9a52-7d84-4e0b-9b61-0c5e8ad2f417",
        "close_requested",
        "4d8798ef4fbbebd2579047d4a4c8653d",
    );
    check("envelope.v1.minimal.json", "home", "went_idle", "194b12e67c7309e49de22e909252e016");
}

#[test]
fn stored_items_are_read_and_written_to_the_byte() {
    let stored = |version: u32| read(&fixtures().join(format!("schema/item.v{version}.jsonl")));
    let items = |text: &str| item::decode_all(text.as_bytes()).map(|read| read.expect("an item")).collect::<Vec<_>>();
    let (current, mut written) = (stored(item::ITEM_VERSION), Vec::new());
    items(&current).iter().for_each(|item| item::encode(item, &mut written).expect("a line"));
    assert_eq!(String::from_utf8_lossy(&written), current);
    // Older ones lack some facts. Version 1 has no acts, which follow from the tool's name, and no reports.
    for version in 1..item::ITEM_VERSION {
        let older: Vec<Item> = items(&current).into_iter().map(|item| as_of_version(version, item)).collect();
        assert_eq!(items(&stored(version)), older);
    }
}

fn as_of_version(version: u32, mut item: Item) -> Item {
    match &mut item.body {
        Body::Call(call) => {
            (call.git_line, call.commit) = (None, call.commit.take().filter(|_| version == 3));
            call.edit.iter_mut().for_each(|edit| edit.new_text.clear());
        }
        Body::Result(result) if version == 1 => result.report = None,
        Body::Result(ToolResult { report: Some(report), .. }) => {
            report.work_tree = None;
            if version < 3 {
                (report.script, report.logged, report.echoed) = Default::default();
            }
        }
        _ => {}
    }
    item
}

#[test]
fn lines_of_an_export_are_read_and_written_to_the_byte() {
    let written = read(&fixtures().join("schema/export.v1.jsonl"));
    let mut kinds = Vec::new();
    for line in written.lines() {
        let read = export::read(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(export::write(&read), line);
        assert!(!matches!(read, export::Line::Other), "{line}");
        let kind = std::mem::discriminant(&read);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    assert_eq!(kinds.len(), 8, "one of each kind of line");
}

/// Parts of an episode that at least one example session must have, sorted.
const PARTS: [&str; 11] = [
    "commands",
    "decisions",
    "errors",
    "exchanges",
    "external_research",
    "files_modified",
    "files_read",
    "knowledge_stored",
    "next_steps",
    "state",
    "unresolved",
];

#[test]
fn show_prints_what_the_episode_schema_describes() {
    let program = Program::over_the_examples();
    let endpoint = FakeEndpoint::start().expect("an endpoint");
    program.configure(&serde_json::json!({"llm": {"enabled": true, "base_url": endpoint.base_url(), "model": "made"}}));
    let schema = json(&read(&fixtures().join("schema/episode.schema.json")));
    program.json(&["search", "refresh", "token", "--json"]);
    let table = program.json(&["sessions", "--subagents", "--json"]);
    let rows = table["sessions"].as_array().expect("rows");
    let first = rows[0]["session_id"].as_str().expect("an id");
    program.json(&["enrich", first, "--json"]);
    let (mut resolved, mut parts, mut tiers) = (0, BTreeSet::new(), BTreeSet::new());
    for row in rows {
        let id = row["session_id"].as_str().expect("an id");
        let episode = &program.json(&["show", id, "--json"])["episode"];
        let found = validator::findings(&schema, episode);
        assert!(found.is_empty(), "{id}:\n{}", found.join("\n"));
        let told = |part: &&str| match &episode[*part] {
            Value::Array(list) => !list.is_empty(),
            Value::Object(fields) => !fields.is_empty(),
            _ => false,
        };
        parts.extend(PARTS.iter().copied().filter(told));
        tiers.insert(episode["tier"].as_str().expect("a tier").to_owned());
        assert_eq!(episode["metadata"]["message_count"], row["message_count"], "{id}");
        resolved +=
            episode["errors"].as_array().expect("errors").iter().filter(|it| it.get("resolution").is_some()).count();
    }
    assert_eq!(Vec::from_iter(tiers), ["enriched", "extractive"]);
    assert!(parts.iter().eq(PARTS.iter()), "only {parts:?} are told of any session");
    assert!(rows.len() >= 4 && resolved > 0, "{} sessions with {resolved} failures resolved are no test", rows.len());
}
