//! Verifies a whole home: the log, the session table, the conversations and the memory, each against its source.
//!
//! | what | against |
//! |---|---|
//! | segments | chain, positions, streams |
//! | index of the log | segments, in both directions |
//! | session table | a fold of the events |
//! | conversations and notes that the current state names | their hashes |
//! | data received through a relay | its checks and hashes |
//! | memory | one that is rebuilt in `BATON_HOME/verify.tmp/` |
//!
//! Changes nothing. [`verify_daemon`] checks what a running daemon has open; [`verify_home`] checks copies of the files of a
//! home that no daemon has open.

mod conversations;
mod home;
mod memory;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use baton_base::durable;
use baton_conversation::hash::ContentHash;
use baton_conversation::record::{Position, SequenceNumber, SessionId, StreamId, Timestamp};
use baton_events::envelope::{StoredRecord, Tail};
use baton_events::memo;
use baton_events::projection::others::Others;
use baton_events::projection::table::SessionTable;
use baton_events::schema::checkpoint_row::CheckpointRow;
use baton_events::session::Phase;
use baton_protocol::answer;
use baton_protocol::answer::Checked;
use baton_redaction::redact;
use uuid::Uuid;

use crate::archive::track_notes;
use baton_tracking::indexer;

use baton_journal::session_table::{TableFold, TableReader};
use baton_journal::{Finding, Fold, Journal, Rows, Verified, VerifyVisitor};

pub(crate) use home::index_beyond;
pub use home::verify_home;

/// Most findings that are listed one by one.
const FINDINGS: usize = 100;

/// Notes that the current state names, by the id of their folder.
type Notes = BTreeMap<SessionId, BTreeSet<ContentHash>>;

/// Called with the current step, what is done, and the total (0 if unknown). `false` stops the verification.
pub type GoOn<'a> = dyn FnMut(&str, u64, u64) -> bool + 'a;

/// What a running daemon has open.
pub struct OpenHome {
    /// Its home.
    pub home: PathBuf,
    /// What the memory is built from.
    pub source: indexer::Options,
    /// The memory in use.
    pub indexer: indexer::Handle,
}

/// Verifies what a daemon has open. `quick` leaves the memory out. Blocks; must be called within a runtime, but not on
/// an async worker.
pub fn verify_daemon(open: &OpenHome, quick: bool, go_on: &mut GoOn<'_>) -> answer::Verify {
    let mut report = Report::begin(true);
    let journal = &*open.source.journal;
    let table = open.source.table.now();
    let mut folding = Folding::new(Some(&table), go_on);
    let verified = journal.verify(&mut folding);
    let is_measure = verified.as_ref().is_ok_and(Verified::is_authoritative);
    match verified {
        Ok(verified) => report.log(verified),
        Err(error) => report.find(error.to_string(), "log/segments".to_owned(), "see `daemon.log`".to_owned()),
    }
    let (folded, notes) = folding.end(is_measure, &mut report);
    let named = |session: &SessionId| named_now(&open.source.table, session);
    let is_named = |owner: &SessionId, note: &ContentHash| is_named_now(&open.source.table, owner, note);
    conversations::verify(&open.source.chunks, &folded, &notes, &named, &is_named, &mut report, go_on);
    report.others(&open.home, "it is fetched again from the relay, if that is not paused", go_on);
    if quick {
        report.left_out.push("the memory: without --quick it is compared with a rebuilt one".to_owned());
    } else if report.is_going_on {
        let compared = create_scratch(&open.home).map_err(|error| error.to_string()).and_then(|scratch| {
            let live = memory::Live::Running(&open.indexer);
            memory::verify(&open.source, &live, &scratch.0.join("memory"), &mut report, go_on)
        });
        if let Err(reason) = compared {
            report.left_out.push(format!("the memory: {reason}"));
        }
    }
    report.end(&folded)
}

fn named_now(table: &TableReader, session: &SessionId) -> Option<ContentHash> {
    let table = table.now();
    table.get(session)?.state.episode.as_ref().map(|episode| episode.manifest)
}

fn is_named_now(table: &TableReader, owner: &SessionId, note: &ContentHash) -> bool {
    let table = table.now();
    match memo::uuid_of_key(owner.as_str()) {
        Some(uuid) => table.memo_row(uuid).and_then(|row| row.state.memo.as_ref()).is_some_and(|it| it.words == *note),
        None => table.get(owner).is_none_or(|row| row.state.phase != Phase::Forgotten),
    }
}

/// The scratch folder. It is removed on drop; one that a crash left is removed first.
struct Scratch(PathBuf);

fn create_scratch(home: &Path) -> std::io::Result<Scratch> {
    let folder = home.join(durable::VERIFY_FOLDER);
    remove(&folder)?;
    baton_base::durable::make_private_folder(&folder)?;
    Ok(Scratch(folder))
}

fn remove(folder: &Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.0) {
            tracing::warn!(folder = %self.0.display(), %error, "scratch folder of a verification not removed");
        }
    }
}

/// Collects findings.
struct Report {
    answer: answer::Verify,
    left_out: Vec<String>,
    begun: Instant,
    is_going_on: bool,
}

impl Report {
    fn begin(running: bool) -> Self {
        let answer = answer::Verify { running, ..answer::Verify::default() };
        Self { answer, left_out: Vec::new(), begun: Instant::now(), is_going_on: true }
    }

    fn checked(&mut self) -> &mut Checked {
        &mut self.answer.checked
    }

    fn find(&mut self, what: String, place: String, fix: String) {
        self.answer.found += 1;
        if self.answer.findings.len() < FINDINGS {
            // A name may look like a secret.
            let [what, place, fix] = [what, place, fix].map(|text| redact(&text).into_owned());
            self.answer.findings.push(answer::Finding { what, place, fix });
        }
    }

    /// Checks the data received from others through a relay.
    fn others(&mut self, home: &Path, fix: &str, go_on: &mut GoOn<'_>) {
        let verified = baton_relay::verify(&home.join("relay"), &mut |done| {
            self.is_going_on &= go_on("reading conversations of others", done, 0);
            self.is_going_on
        });
        self.checked().others = verified.sessions;
        for (writer, why) in verified.damaged {
            self.find(
                format!("what was received of a member is damaged: {why}"),
                format!("relay/{writer}"),
                fix.to_owned(),
            );
        }
    }

    fn log(&mut self, verified: Verified) {
        let Verified { tail, segments, bytes, streams, indexed, keys, damage, findings, complete, lacking } = verified;
        (self.answer.position, self.answer.chain) = (tail.position.0, tail.chain.to_string());
        let checked = self.checked();
        (checked.events, checked.segments, checked.segment_bytes) = (tail.position.0, segments, bytes);
        (checked.streams, checked.indexed, checked.keys) = (streams, indexed, keys);
        for Finding { what, place, fix } in findings {
            self.find(what, place, fix);
        }
        if damage.is_some_and(|damage| !damage.torn) {
            self.left_out.push("what lies behind the damage in the log, and what it names".to_owned());
        }
        if lacking > 0 {
            self.left_out.push("the table's checkpoint: the segments must have all events for that".to_owned());
        }
        self.is_going_on &= complete;
    }

    fn end(mut self, folded: &SessionTable) -> answer::Verify {
        let seconds = self.begun.elapsed().as_secs_f64();
        if !self.is_going_on {
            self.left_out.push("the remaining checks: the caller disconnected".to_owned());
        }
        let answer = &mut self.answer;
        answer.state_hash = folded.state_hash().to_string();
        answer.complete = self.left_out.is_empty();
        // A quick verification is clean without the memory, which `left_out` names.
        answer.clean = answer.found == 0 && self.is_going_on;
        answer.seconds = (seconds * 1e3).round() / 1e3;
        let bytes = answer.checked.segment_bytes + answer.checked.conversation_bytes;
        answer.bytes_per_second = if seconds > 0.0 { (bytes as f64 / seconds) as u64 } else { 0 };
        answer.left_out = self.left_out;
        self.answer
    }
}

/// Folds the table from the events as they are read, and compares it with the one in use at the same position.
struct Folding<'a, 'g> {
    fold: TableFold,
    folded: TableReader,
    tail: Tail,
    in_use: Option<&'a SessionTable>,
    notes: Notes,
    differing: Option<Vec<String>>,
    /// Rows of the checkpoint that the fold has not reached yet, as stored.
    stored: BTreeMap<StreamId, (SequenceNumber, String)>,
    stored_at: Position,
    /// Sessions whose stored row is missing or differs from the fold.
    wrong_rows: BTreeSet<String>,
    compared: u64,
    go_on: &'a mut GoOn<'g>,
}

impl<'a, 'g> Folding<'a, 'g> {
    fn new(in_use: Option<&'a SessionTable>, go_on: &'a mut GoOn<'g>) -> Self {
        let (fold, folded) = TableFold::new();
        let (notes, stored, wrong_rows) = (Notes::new(), BTreeMap::new(), BTreeSet::new());
        let (tail, stored_at) = (Tail::default(), Position(0));
        Self { fold, folded, tail, in_use, notes, differing: None, stored, stored_at, wrong_rows, compared: 0, go_on }
    }

    /// `is_measure`: the fold has reached the end of the log, and the index has no more than that. Only then the
    /// checkpoint is judged, because the remedy is to delete the index.
    fn end(mut self, is_measure: bool, report: &mut Report) -> (SessionTable, Notes) {
        self.fold.publish(self.tail);
        let table = self.folded.now();
        report.checked().sessions = self.compared;
        if is_measure {
            // These rows lie beyond the end of the log.
            self.wrong_rows.extend(self.stored.keys().map(ToString::to_string));
        } else {
            self.wrong_rows.clear();
        }
        for session in self.wrong_rows {
            report.find(
                "the checkpoint of the session table does not match the events".to_owned(),
                session,
                "`baton stop`, delete `log/sled/`, then `baton daemon`: it is built from the segments, which are whole"
                    .to_owned(),
            );
        }
        if let Some(differing) = &self.differing {
            report.checked().sessions = self.in_use.map_or(0, |in_use| in_use.len() as u64);
            for session in differing {
                report.find(
                    "the session's state in the daemon does not match its events".to_owned(),
                    format!("session {session}"),
                    "`baton stop`: the next start rebuilds it; please report it with the lines of `daemon.log`"
                        .to_owned(),
                );
            }
        }
        (table, self.notes)
    }
}

impl Folding<'_, '_> {
    /// Compares a row of the checkpoint once the fold has reached it.
    fn compare_row(&mut self, record: &StoredRecord) {
        let name = || record.stream.to_string();
        match self.stored.get(&record.stream) {
            Some((sequence, row)) if *sequence == record.sequence => {
                self.compared += u64::from(record.stream.session_id().is_some());
                if self.fold.row(&record.stream).as_ref() != Some(row) {
                    self.wrong_rows.insert(name());
                }
                self.stored.remove(&record.stream);
            }
            None if record.sequence == SequenceNumber(1)
                && record.position <= self.stored_at
                && self.fold.row(&record.stream).is_some() =>
            {
                self.wrong_rows.insert(name());
            }
            _ => {}
        }
    }
}

/// Reads the rows of the checkpoint.
impl Rows for Folding<'_, '_> {
    fn form(&self) -> u32 {
        self.fold.form()
    }

    fn dictionary(&self) -> &'static str {
        self.fold.dictionary()
    }

    fn row(&self, _stream: &StreamId) -> Option<String> {
        None
    }

    fn skipped(&self) -> u64 {
        0
    }

    fn restore(&mut self, stream: &StreamId, row: &str) -> bool {
        let read = CheckpointRow::read(stream, row);
        self.stored.extend(read.as_ref().map(|read| (stream.clone(), (read.version(), row.to_owned()))));
        read.is_some()
    }

    fn restored(&mut self, position: Position, _skipped: u64) {
        self.stored_at = position;
    }

    fn clear(&mut self) {
        self.stored.clear();
    }
}

impl VerifyVisitor for Folding<'_, '_> {
    fn rows(&mut self) -> Option<&mut dyn Rows> {
        Some(self)
    }

    fn record(&mut self, record: &StoredRecord) {
        self.fold.apply(record);
        self.tail.position = record.position;
        self.compare_row(record);
        track_notes(&mut self.notes, record);
        if let Some(in_use) = self.in_use
            && in_use.position() == record.position
        {
            self.fold.publish(self.tail);
            self.differing = Some(differing(in_use, &self.folded.now()));
        }
    }

    fn go_on(&mut self, done: u64, total: u64) -> bool {
        (self.go_on)("reading the log", done, total)
    }
}

/// The first few sessions in which two tables differ; none if their hashes are equal.
fn differing(one: &SessionTable, other: &SessionTable) -> Vec<String> {
    if one.state_hash() == other.state_hash() {
        return Vec::new();
    }
    let ids: BTreeSet<&SessionId> = one.iter().chain(other.iter()).map(|(id, _)| id).collect();
    let sessions = ids.into_iter().filter(|id| one.get(id) != other.get(id)).map(ToString::to_string);
    let uuids: BTreeSet<Uuid> = one.memos().chain(other.memos()).map(|(uuid, _)| uuid).collect();
    let memos = uuids.into_iter().filter(|uuid| one.memo_row(*uuid) != other.memo_row(*uuid));
    let home = (one.home() != other.home()).then(|| "home".to_owned());
    sessions.chain(memos.map(|uuid| memo::key(uuid).to_string())).chain(home).take(FINDINGS).collect()
}

/// Options for an index over a journal that was opened for verification.
fn index_options(
    journal: Arc<dyn Journal>,
    table: TableReader,
    chunks: baton_store::chunks::ChunkStore,
) -> indexer::Options {
    let settings = tokio::sync::watch::channel(Arc::default()).1.into();
    indexer::Options {
        journal,
        table,
        others: tokio::sync::watch::channel(Others::default()).1.into(),
        settings,
        chunks: Arc::new(chunks),
        memory: PathBuf::new(),
        vectors: None,
        jobs_at_once: 1,
        throttle: baton_base::throttle::Throttle::new(1),
        is_backfill: Arc::new(|| false),
    }
}

/// Opens a copy of a log, with its table.
fn open_copy(log: &Path, now: Timestamp) -> Result<(baton_journal::DiskJournal, TableReader), String> {
    let (fold, table) = TableFold::new();
    let journal = baton_journal::DiskJournal::open(baton_journal::Options::new(log, now), Box::new(fold));
    Ok((journal.map_err(|error| error.to_string())?, table))
}
