//! A small vault made from the example transcripts: `replay-fixtures/vault/`, as people would read it.
//!
//! Every session ends once; those of September and October are compacted. `BATON_UPDATE_FIXTURES=1 cargo test -p
//! baton-notes --test notes` writes the notes anew.
#![expect(clippy::disallowed_methods, reason = "the fixtures are files")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use baton_conversation::item::{Agent, Item};
use baton_conversation::record::{SessionId, Timestamp};
use baton_conversation::transcript::{Cursor, OpenCalls, Reader, Source};
use baton_episode::digest::{Show, digest};
use baton_graph::{Surroundings, graph};
use baton_notes::facts::About;
use baton_notes::forget;
use baton_notes::forget::Remainder;
use baton_notes::threshold::{Limits, measure};
use baton_notes::verify::VaultIndex;
use baton_notes::{
    Day, Layout, Line, NoteRole, SessionFacts, Wanted, compaction, conflicts, knowledge, merge, name, session, start,
};
use uuid::Uuid;

/// If set, the test writes its expectation anew.
const UPDATE: &str = "BATON_UPDATE_FIXTURES";
const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../replay-fixtures");
/// The day on which everything happens.
const TODAY: &str = "2026-11-20";

/// The files of a vault, by their paths below it.
#[derive(Default)]
struct Vault {
    files: BTreeMap<String, String>,
    /// Entities without a note, with the lines that sessions would have there.
    without_note: BTreeMap<Uuid, BTreeSet<Line>>,
}

impl Vault {
    fn put(&mut self, wanted: &Wanted) {
        let merged = merge(self.files.get(&wanted.path).map(String::as_str), &wanted.note);
        let again = merge(Some(&merged.text), &wanted.note);
        assert_eq!((&again.text, again.changed), (&merged.text, false), "{}: a second time", wanted.path);
        self.files.insert(wanted.path.clone(), merged.text);
    }

    fn stems(&self, folder: &str) -> BTreeSet<String> {
        let inside = self.files.keys().filter_map(|path| path.strip_suffix(".md")?.rsplit_once('/'));
        inside.filter(|(within, _)| within.ends_with(folder)).map(|(_, stem)| name::key(stem)).collect()
    }

    /// Ends one session.
    fn end(&mut self, one: &One, layout: &Layout, today: Day) -> SessionFacts {
        let facts = one.facts(self, layout);
        for entity in facts.entities.iter().filter(|entity| !entity.is_noted) {
            self.without_note.entry(entity.uuid).or_default().insert(knowledge::deed_line(&facts, entity));
        }
        for wanted in knowledge::entity_notes(&facts, layout, today) {
            self.put(&wanted);
        }
        let note = session::wanted(&facts, layout, today);
        self.put(&note);
        for wanted in start::wanted_pages(&facts, Some(&one.project), layout, today) {
            self.put(&wanted);
        }
        facts
    }

    fn compact(&mut self, facts: &SessionFacts, layout: &Layout, today: Day) {
        let path = session::wanted(facts, layout, today).path;
        let plan = compaction::plan(facts, layout, today);
        plan.updates.iter().for_each(|wanted| self.put(wanted));
        let copy = compaction::archive_copy(&self.files[&path], today, session::OVER_THRESHOLD);
        self.files.insert(plan.archive, copy);
        plan.backlinks.iter().for_each(|wanted| self.put(wanted));
        let marked = compaction::mark_archived(&self.files[&path], today, session::OVER_THRESHOLD);
        self.files.insert(path, marked.text);
    }

    fn findings(&self) -> Vec<String> {
        let known = VaultIndex::new(self.files.keys().map(String::as_str), "claude");
        let each = self.files.iter().flat_map(|(path, text)| known.check(path, text));
        let all = known.findings().iter().cloned().chain(each);
        all.map(|finding| format!("{}:{} {}", finding.path, finding.line, finding.what)).collect()
    }
}

/// One of the example sessions.
struct One {
    session: SessionId,
    project: String,
    items: Vec<Item>,
}

impl One {
    fn facts(&self, vault: &Vault, layout: &Layout) -> SessionFacts {
        let episode = digest(&self.items, &Show::default());
        let place = Surroundings {
            session: &self.session,
            group: &self.project,
            project: Some(&self.project),
            parent: None,
            follows: None,
        };
        let graph = graph(&self.items, &episode, &place);
        let at =
            |pick: fn(Timestamp, Timestamp) -> Timestamp| self.items.iter().filter_map(|item| item.at).reduce(pick);
        let about = About {
            session: self.session.clone(),
            others: Vec::new(),
            episode: Some(Uuid::from_u128(7)),
            project: self.project.rsplit('/').next().unwrap_or_default().to_owned(),
            note: String::new(),
            started: at(Timestamp::min).unwrap_or_default(),
            ended: at(Timestamp::max),
            zone: baton_protocol::Zone::UTC,
        };
        let folder = layout.project(&about.project);
        let mut facts = SessionFacts::new(about, Some(&self.project), &episode, &graph);
        let known = vault.files.iter().find_map(|(path, text)| {
            let is_it = layout.role(path).is_some_and(|role| matches!(role, NoteRole::Session(..)))
                && session::identity(text)?.session_ids.contains(&self.session.to_string());
            is_it.then(|| path.rsplit('/').next().unwrap_or_default().trim_end_matches(".md").to_owned())
        });
        let taken = vault.stems("sessions");
        facts.about.note = known.unwrap_or_else(|| facts.note_name(|key| taken.contains(key)));
        let one = facts.about.note.clone();
        let entities = format!("{folder}/entities/");
        let named = |entity: &baton_notes::facts::Entity| {
            vault.files.iter().find_map(|(path, text)| {
                let stem = path.strip_prefix(&entities)?.strip_suffix(".md")?;
                let known = knowledge::entity(text)?;
                known.is(entity).then(|| stem.to_owned())
            })
        };
        let others = |entity: &baton_notes::facts::Entity| {
            let lines = vault.without_note.get(&entity.uuid).into_iter().flatten();
            lines.filter(|line| line.support != [one.clone()]).cloned().collect()
        };
        facts.note_entities(|entity| named(entity).is_some(), others);
        let taken = vault.stems(entities.trim_end_matches('/'));
        facts.name_entities(named, |key| taken.contains(key));
        facts
    }
}

fn all() -> Vec<One> {
    let projects = Path::new(FIXTURES).join("transcripts/claude/projects");
    let mut all: Vec<One> = Vec::new();
    let mut folders: Vec<PathBuf> =
        fs::read_dir(projects).expect("the fixtures").map(|entry| entry.expect("one").path()).collect();
    folders.sort();
    for folder in folders {
        let mut files: Vec<PathBuf> =
            fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("one").path()).collect();
        files.retain(|path| path.extension().is_some_and(|kind| kind == "jsonl"));
        files.sort();
        for path in files
            .iter()
            .filter(|path| !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("agent-")))
        {
            let bytes = fs::read(path).expect("a fixture");
            let source = Source { agent: Agent::ClaudeCode, subagent: false };
            let mut items: Vec<Item> = Vec::new();
            let mut reader = Reader::new(source, Cursor::default(), OpenCalls::default(), &mut items);
            reader.feed(&bytes);
            reader.into_parts();
            let session = SessionId::new(&path.file_stem().expect("a stem").to_string_lossy()).expect("an id");
            let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
            let project = format!("/home/dev/projects/{}", name.trim_start_matches("-home-dev-projects-"));
            all.push(One { session, project, items });
        }
    }
    all.sort_by_key(|one| one.items.iter().find_map(|item| item.at));
    all
}

fn layout() -> Layout {
    Layout::below("claude").expect("a root")
}

fn today() -> Day {
    Day::parse(TODAY).expect("a day")
}

/// Every session ended, and compacted if it is due.
fn whole() -> (Vault, Vec<SessionFacts>) {
    let (mut vault, mut facts) = (Vault::default(), Vec::new());
    for one in all() {
        let one = vault.end(&one, &layout(), today());
        let path = session::wanted(&one, &layout(), today()).path;
        if measure(&vault.files[&path], &Limits { lines: 500, days: 30 }, today()).is_over() {
            vault.compact(&one, &layout(), today());
        }
        facts.push(one);
    }
    (vault, facts)
}

#[test]
fn the_shipped_sessions_make_the_vault_that_was_expected() {
    let (vault, facts) = whole();
    assert_eq!(facts.len(), 16);
    assert_eq!(vault.findings(), Vec::<String>::new());
    let folder = Path::new(FIXTURES).join("vault");
    if std::env::var_os(UPDATE).is_some() {
        let _ = fs::remove_dir_all(&folder);
        for (path, text) in &vault.files {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a note");
        }
    }
    let mut wrong: Vec<String> = Vec::new();
    for (path, text) in &vault.files {
        if fs::read_to_string(folder.join(path)).ok().as_deref() != Some(text) {
            wrong.push(path.clone());
        }
    }
    assert_eq!(count(&folder), vault.files.len(), "no file too many");
    assert!(
        wrong.is_empty(),
        "{}\nIs it meant? Then `{UPDATE}=1 cargo test -p baton-notes --test notes`.",
        wrong.join("\n")
    );
}

fn count(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("one").path());
    entries.map(|path| if path.is_dir() { count(&path) } else { 1 }).sum()
}

#[test]
fn everything_again_changes_nothing() {
    let (mut vault, _) = whole();
    let before = vault.files.clone();
    for one in all() {
        let facts = vault.end(&one, &layout(), Day::parse("2026-12-24").expect("a day"));
        let path = session::wanted(&facts, &layout(), today()).path;
        let status = session::identity(&vault.files[&path]).expect("a session's note").status;
        let is_due = measure(&before[&path], &Limits { lines: 500, days: 30 }, today()).is_over();
        assert_eq!(status == session::Status::Archived, is_due, "{path}");
    }
    for (path, text) in &before {
        assert_eq!(vault.files.get(path), Some(text), "{path}");
    }
    assert_eq!(vault.files.len(), before.len());
}

#[test]
fn a_forgotten_session_leaves_nothing_and_takes_nothing_of_others() {
    let (mut vault, facts) = whole();
    for gone in &facts {
        let mut left: Vec<String> = vec![gone.about.note.clone()];
        let mut tags = BTreeSet::new();
        while let Some(target) = left.pop() {
            tags.insert(forget::target_tag(&target));
            let mut after = BTreeMap::new();
            for (path, text) in std::mem::take(&mut vault.files) {
                let is_own = match layout().role(&path) {
                    Some(NoteRole::Session(_, name) | NoteRole::Archived(_, name)) => name == target,
                    _ => false,
                };
                let out = if is_own { forget::forget_own_note(&text) } else { forget::forget_target(&text, &target) };
                match out {
                    Remainder::Unchanged => drop(after.insert(path, text)),
                    Remainder::Text(text) => drop(after.insert(path, text)),
                    Remainder::Nothing => left.push(path.trim_end_matches(".md").to_owned()),
                }
            }
            vault.files = after;
        }
        for (path, text) in &vault.files {
            assert!(!path.contains(&gone.about.note) && !text.contains(&gone.about.note), "{path}\n{text}");
            assert_eq!(conflicts(text), 0, "{path}");
            assert_eq!(forget::remembered_tags(text).intersection(&tags).next(), None, "{path}\n{text}");
        }
        assert_eq!(vault.findings(), Vec::<String>::new());
    }
    assert_eq!(vault.files, BTreeMap::new(), "nothing is left of nothing");
}
