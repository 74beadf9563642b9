//! Repairs a home whose log is damaged: reports the damage and what a cut would cost, and makes the cut.
//!
//! The caller holds the lock of the home. A cut moves what it removes to `log/cut-<time>/`: the bytes of the segments
//! from there on, in `blobs/` the files of conversations that only events after the cut name, and in `sled/` the index
//! of the log. The memory is removed. Index and memory are rebuilt from what remains.
//!
//! # Hazards
//!
//! - The conversation of an earlier episode may already be collected when a cut makes that episode current again: it is
//!   counted (`conversations_missing`) and comes back only with its transcript. A cut removes whole appends, so the log
//!   may end before the requested position.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use baton_conversation::hash::ContentHash;
use baton_conversation::record::{Position, SessionId, Timestamp};
use baton_events::envelope::{StoredRecord, Tail};
use baton_events::memo;
use baton_events::projection::table::SessionTable;
use baton_events::schema;
use baton_events::session::Event;
use baton_protocol::answer;
use baton_protocol::answer::Lost;
use baton_redaction::redact;

use crate::cut_tombstones;
use baton_base::durable;
use baton_base::lock::HomeLock;
use baton_config::import_boundary::ImportBoundary;
use baton_journal::Fold;
use baton_journal::repair;
use baton_journal::repair::CutPlace;
use baton_journal::session_stream;
use baton_journal::session_table::TableFold;
use baton_journal::verify::Finding;
use baton_journal::{Verified, VerifyVisitor, verify};
use baton_store::chunks;
use baton_store::chunks::ChunkStore;

/// Why a repair failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The log cannot be read or cut.
    #[error(transparent)]
    Log(#[from] repair::Error),
    /// The conversations cannot be read.
    #[error(transparent)]
    Chunks(#[from] chunks::Error),
    /// A file could not be read or written.
    #[error("cannot {what} {}: {source}; fix that and run the same command again", path.display())]
    Io {
        /// The operation.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

fn io_error<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Error + 'a {
    move |source| Error::Io { what, path: path.to_owned(), source }
}

/// Reports the damage of a log, and what would be lost by a cut there. Changes nothing.
pub fn inspect(home: &Path, _lock: &HomeLock) -> Result<answer::Repair, Error> {
    let log = home.join("log");
    let verified = verify::segments(&log, &mut IgnoreRecords).map_err(io_error("read", &log))?;
    let Verified { tail, damage, findings, .. } = verified;
    let mut report = answer::Repair { position: tail.position.0, chain: tail.chain.to_string(), ..Default::default() };
    let (Some(damage), Some(finding)) = (damage, findings.into_iter().next()) else {
        report.damage = crate::verify::index_beyond(home, tail).map(to_answer_finding);
        return Ok(report);
    };
    // The next start restores a bad end that the index has.
    if let Some(surplus) = damage.is_last.then(|| crate::verify::index_beyond(home, tail)).flatten() {
        report.damage = Some(to_answer_finding(surplus));
        return Ok(report);
    }
    report.damage = Some(to_answer_finding(finding));
    // A torn tail after a crash loses nothing acknowledged; the next start removes it.
    if !damage.torn {
        let cut = Cut::find(home, damage.position)?;
        report.cut_at = Some(cut.place.at.0);
        report.lost = cut.lost;
    }
    Ok(report)
}

fn to_answer_finding(finding: Finding) -> answer::Finding {
    let [what, place, fix] = [finding.what, finding.place, finding.fix].map(|text| redact(&text).into_owned());
    answer::Finding { what, place, fix }
}

/// Reports what a cut at a position would remove. Changes nothing.
pub fn preview_cut(home: &Path, _lock: &HomeLock, at: Position) -> Result<answer::Repair, Error> {
    Ok(Cut::find(home, at)?.answer())
}

/// Cuts the log before a position, or before the append that contains it. An interrupted cut can be repeated.
pub fn cut(home: &Path, _lock: &HomeLock, at: Position, now: Timestamp) -> Result<answer::Repair, Error> {
    let cut = Cut::find(home, at)?;
    let log = home.join("log");
    let kept = free_name(&log, now);
    durable::create_private_folder(&kept).map_err(io_error("create", &kept))?;
    for (folder, files) in &cut.files {
        let target = kept.join("blobs").join(folder);
        durable::create_private_folder(&target).map_err(io_error("create", &target))?;
        for file in files {
            keep(file, &target).map_err(io_error("keep", file))?;
        }
        durable::sync_folder(&target).map_err(io_error("sync", &target))?;
    }
    // Forgotten sessions must not come back through the cut.
    cut_tombstones::add(&log, &cut.forgotten).map_err(io_error("write forgotten.json in", &log))?;
    // From here on no event names the files; before, some do.
    repair::cut(&log, &cut.place, &kept)?;
    // Records after the cut belong to this home, not to the imported one.
    let imported = ImportBoundary::read(&log).map_err(io_error("read imported.json in", &log))?;
    if imported.position() > cut.tail.position {
        imported.up_to(cut.tail).write(&log).map_err(io_error("write imported.json in", &log))?;
    }
    for file in cut.files.values().flatten() {
        remove_file(file).map_err(io_error("remove", file))?;
    }
    let memory = home.join("memory");
    match fs::remove_dir_all(&memory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io_error("remove", &memory)(error)),
        _ => {}
    }
    let kept = redact(&kept.display().to_string()).into_owned();
    Ok(answer::Repair { cut: true, kept: Some(kept), ..cut.answer() })
}

/// An auditor that ignores everything.
struct IgnoreRecords;

impl VerifyVisitor for IgnoreRecords {
    fn record(&mut self, _record: &StoredRecord) {}

    fn go_on(&mut self, _done: u64, _total: u64) -> bool {
        true
    }
}

/// A cut, and what it removes.
struct Cut {
    place: CutPlace,
    tail: Tail,
    lost: Lost,
    /// Files that only events after the cut name, by the folder of their session.
    files: BTreeMap<String, BTreeSet<PathBuf>>,
    /// Sessions whose tombstone lies after the cut.
    forgotten: BTreeSet<SessionId>,
}

impl Cut {
    fn find(home: &Path, at: Position) -> Result<Self, Error> {
        let log = home.join("log");
        let (mut fold, folded) = TableFold::new();
        let mut last = Tail::default();
        let mut notes = BTreeSet::new();
        let place = repair::find_cut(&log, at, &mut |record| {
            fold.apply(record);
            let named = files_named_by(record);
            notes.extend(
                named.iter().flat_map(|(session, named)| named.notes.iter().map(|note| (session.clone(), *note))),
            );
        })?;
        last.position = Position(place.at.0.saturating_sub(1));
        last.chain = place.before;
        fold.publish(last);
        let table = folded.now();

        let mut behind = CutReferences::default();
        let found = repair::read_cut_off(&log, &place, &mut |record| behind.add(record))?;
        let mut lost = Lost {
            events: found.records,
            unreadable_bytes: found.unreadable_bytes,
            segments: found.segments,
            episodes: behind.episodes,
            ..Lost::default()
        };
        for session in &behind.sessions {
            match table.get(session) {
                Some(_) => lost.sessions_set_back += 1,
                None => lost.sessions += 1,
            }
        }
        let mut files = BTreeMap::new();
        if home.join("blobs").is_dir() {
            let chunks = ChunkStore::open(home.join("blobs"))?;
            files = behind.files(&chunks, &table, &notes, &mut lost);
        }
        Ok(Self { place, tail: last, lost, files, forgotten: behind.forgotten })
    }

    fn answer(&self) -> answer::Repair {
        let Tail { position, chain } = self.tail;
        let (chain, cut_at) = (chain.to_string(), Some(self.place.at.0));
        answer::Repair { position: position.0, chain, cut_at, lost: self.lost, ..Default::default() }
    }
}

/// Files that a record names.
struct NamedFiles {
    manifest: Option<ContentHash>,
    notes: Vec<ContentHash>,
}

fn files_named_by(record: &StoredRecord) -> Option<(SessionId, NamedFiles)> {
    if let Some(uuid) = record.stream.memo_uuid() {
        let notes = match schema::memo::decode(&record.kind, record.v, &record.data).ok()? {
            memo::Event::Added(memo) | memo::Event::Replaced(memo) | memo::Event::Redacted(memo) => vec![memo.words],
            memo::Event::Deleted => Vec::new(),
        };
        return Some((memo::key(uuid), NamedFiles { manifest: None, notes }));
    }
    let session = record.stream.session_id()?;
    let names = match session_stream::decode(record).ok()?.event {
        Event::Indexed { episode, .. } | Event::Shortened { episode } => {
            NamedFiles { manifest: Some(episode.manifest), notes: Vec::new() }
        }
        Event::CloseRequested { note, .. } => NamedFiles { manifest: None, notes: note.into_iter().collect() },
        Event::ModelAnswered { answer } => NamedFiles { manifest: None, notes: answer.answer.into_iter().collect() },
        Event::Redacted { episode, notes } => NamedFiles {
            manifest: episode.map(|episode| episode.manifest),
            notes: notes.into_iter().map(|(_, new)| new).collect(),
        },
        _ => NamedFiles { manifest: None, notes: Vec::new() },
    };
    Some((session, names))
}

/// What events after a cut refer to.
#[derive(Default)]
struct CutReferences {
    sessions: BTreeSet<SessionId>,
    manifests: BTreeSet<(SessionId, ContentHash)>,
    notes: BTreeSet<(SessionId, ContentHash)>,
    episodes: u64,
    forgotten: BTreeSet<SessionId>,
}

impl CutReferences {
    fn add(&mut self, record: &StoredRecord) {
        let Some((session, names)) = files_named_by(record) else { return };
        match session_stream::decode(record).map(|recorded| recorded.event) {
            Ok(Event::Forgotten) => drop(self.forgotten.insert(session.clone())),
            Ok(Event::Restored { .. }) => drop(self.forgotten.remove(&session)),
            _ => {}
        }
        if let Some(manifest) = names.manifest {
            self.episodes += 1;
            self.manifests.insert((session.clone(), manifest));
        }
        self.notes.extend(names.notes.into_iter().map(|note| (session.clone(), note)));
        self.sessions.insert(session);
    }

    /// Files that no remaining event names. What cannot be read names nothing, and stays.
    fn files(
        &self,
        chunks: &ChunkStore,
        table: &SessionTable,
        notes: &BTreeSet<(SessionId, ContentHash)>,
        lost: &mut Lost,
    ) -> BTreeMap<String, BTreeSet<PathBuf>> {
        let mut all: BTreeMap<String, BTreeSet<PathBuf>> = BTreeMap::new();
        for session in &self.sessions {
            let mut files: BTreeSet<PathBuf> = self
                .manifests
                .iter()
                .filter(|(of, _)| of == session)
                .filter_map(|(_, manifest)| chunks.files_of(session, manifest).ok())
                .flatten()
                .collect();
            let current = table.get(session).and_then(|row| row.state.episode.as_ref());
            match current.map(|current| chunks.files_of(session, &current.manifest)) {
                Some(Ok(stays)) => {
                    lost.conversations_missing += u64::from(!stays.iter().all(|file| file.exists()));
                    files.retain(|file| !stays.contains(file));
                }
                Some(Err(_)) => lost.conversations_missing += 1,
                None => {}
            }
            let noted = self.notes.iter().filter(|(of, note)| of == session && !notes.contains(&(of.clone(), *note)));
            files.extend(noted.map(|(_, note)| chunks.note_path(session, note)));
            files.retain(|file| file.exists());
            lost.conversation_files += files.len() as u64;
            let folder = chunks.folder_of(session);
            if let Some(name) = folder.file_name().and_then(|name| name.to_str())
                && !files.is_empty()
            {
                all.insert(name.to_owned(), files);
            }
        }
        all
    }
}

/// `log/cut-<time>`, or the next free name with a number.
fn free_name(log: &Path, now: Timestamp) -> PathBuf {
    let name = format!("cut-{}", now.to_string().replace([':', '-', '.'], ""));
    let names = (2..).map(|number| format!("{name}-{number}"));
    let free = std::iter::once(name.clone()).chain(names).map(|name| log.join(name)).find(|path| !path.exists());
    free.unwrap_or_else(|| log.join(name))
}

/// Links a file into another folder, durably; copies it where links are not supported.
fn keep(file: &Path, folder: &Path) -> io::Result<()> {
    let target = folder.join(file.file_name().unwrap_or_default());
    if fs::hard_link(file, &target).is_ok() {
        return Ok(());
    }
    fs::copy(file, &target)?;
    fs::File::open(&target)?.sync_all()
}

fn remove_file(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
