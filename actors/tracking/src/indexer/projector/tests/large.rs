//! Large conversations are put off and abandoned, but never lost. Those here only pretend to be large.

use std::sync::Mutex;

use baton_conversation::hash::ContentHash;
use baton_conversation::item::{Agent, Body, Item};
use baton_conversation::record::SessionId;
use baton_events::schema;
use baton_events::schema::item;
use baton_events::session::{CloseReason, EffectId, EpisodeRef, Event, FileIdentity, Kind, Tier};
use uuid::Uuid;

use super::super::change::Change;
use super::super::interrupt::OtherWork;
use super::super::{Coverage, Covered};
use super::*;
use crate::indexer::fresh::FreshConversations;
use crate::indexer::large::LargeConversations;
use baton_base::limits;
use baton_memory::Query;
use baton_store::chunks::{Header, ManifestId};

/// A log with its chunks, and a memory that follows it.
pub(super) struct Home {
    pub(super) temp: tempfile::TempDir,
    pub(super) options: Options,
    pub(super) large: Arc<LargeConversations>,
    pub(super) fresh: Arc<FreshConversations>,
    /// The sessions whose entries were committed, in order.
    put: Arc<Mutex<Vec<SessionId>>>,
}

impl Home {
    pub(super) fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let (fold, table) = TableFold::new();
        let options = Options {
            journal: Arc::new(Sparing(MemoryJournal::new(Box::new(fold)))),
            table,
            others: watch::channel(Default::default()).1.into(),
            settings: watch::channel(Arc::new(Settings::default())).1.into(),
            chunks: Arc::new(ChunkStore::open(temp.path().join("blobs")).unwrap()),
            memory: temp.path().join("memory"),
            vectors: None,
            jobs_at_once: 1,
            throttle: Throttle::new(1),
            is_backfill: Arc::new(|| false),
        };
        Self { temp, options, large: Arc::default(), fresh: Arc::default(), put: Arc::default() }
    }

    pub(super) fn memory(&self) -> Port {
        let handle = Handle::new(self.options.chunks.clone(), self.options.table.clone());
        let (put, restorer) = (self.put.clone(), handle.restorer());
        let collect = move |session| put.lock().unwrap().push(session);
        let (fresh, left_out) = (self.fresh.clone(), Arc::default());
        Projector::start(self.options.clone(), fresh, self.large.clone(), left_out, restorer, collect, || {}).unwrap()
    }

    /// Stores `text` as the session's conversation, and returns the position of its event.
    async fn says(&self, id: &str, text: &str, items: u64) -> Position {
        let session = SessionId::new(id).unwrap();
        let body = Body::Prompt { text: text.to_owned() };
        let said = Item { line: 1, at: None, uuid: None, message: None, sidechain: false, body };
        let mut line = Vec::new();
        item::encode(&said, &mut line).unwrap();
        line.pop();
        let manifest = self.options.chunks.append(&session, None, &[line], Header::default()).unwrap();
        self.indexed(&session, manifest, ContentHash::digest(&[said]), items).await
    }

    /// Records that a stored conversation is the session's, and returns the position of that event.
    pub(super) async fn indexed(
        &self,
        session: &SessionId,
        manifest: ManifestId,
        hash: ContentHash,
        items: u64,
    ) -> Position {
        let (effect, at) = (EffectId { generation: 1, start: 1 }, Timestamp(1_000));
        let (uuid, tier) = (Uuid::from_u128(1), Tier::Extractive);
        let episode = EpisodeRef { uuid, tier, hash, filter_version: 1, generation: 1, to: 10, manifest, items, at };
        let path = format!("/t/{session}.jsonl");
        let identity = FileIdentity { device: 1, inode: 2 };
        let discovered = Event::Discovered { agent: Agent::ClaudeCode, path, identity, kind: Kind::Main, at };
        let started = Event::IndexingStarted { effect, reason: CloseReason::Explicit, to: 10 };
        let indexed = Event::Indexed { effect, episode };
        let known = self.options.table.now().get(session).map_or(SequenceNumber(0), |row| row.version);
        let discovered = (known == SequenceNumber(0)).then_some(discovered);
        let records = discovered.into_iter().chain([started, indexed]).map(|event| {
            let encoded = schema::session::encode(&event);
            let metadata = Metadata::default();
            NewRecord { kind: encoded.kind.to_owned(), v: encoded.v, at, metadata, data: encoded.data }
        });
        let stream = StreamId::session(session);
        self.options.journal.append(stream, known, records.collect()).await.unwrap().last
    }

    fn others(&self, coverage: &Arc<Coverage>, at: Position, patience: Duration) -> OtherWork<'_> {
        OtherWork::of(&self.options, coverage, &self.large, at, patience)
    }
}

pub(super) async fn covers(port: &Port, at_least: Position, want: Want) -> Position {
    let (reply, covered) = oneshot::channel();
    port.nudge();
    port.ensure(at_least, want, reply);
    tokio::time::timeout(DEADLINE, covered).await.unwrap().unwrap()
}

pub(super) fn finds(port: &Port, word: &str) -> usize {
    port.searcher().unwrap().search(&Query::new(word)).unwrap().len()
}

pub(super) const LARGE: u64 = limits::LARGE_ITEMS + 1;

#[tokio::test]
async fn what_is_large_comes_after_everything_else() {
    let home = Home::new();
    home.says("giant", "wombats", LARGE).await;
    home.says("other", "herons", 1).await;
    let last = home.says("third", "otters", 1).await;
    let port = home.memory();
    covers(&port, last, Want::Whole).await;
    let put: Vec<String> = home.put.lock().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(put, ["other", "third", "giant"]);
    assert_eq!((finds(&port, "wombats"), finds(&port, "herons")), (1, 1));
    port.close().await;
}

#[tokio::test]
async fn what_is_put_off_when_a_daemon_ends_is_taken_in_by_the_next() {
    let home = Home::new();
    let giant = SessionId::new("giant").unwrap();
    let first = home.says("giant", "wombats", LARGE).await;
    let port = home.memory();
    assert_eq!(covers(&port, first, Want::Whole).await, first);
    // Let it rest for the remainder of the test.
    home.large.note_taken_in(&giant, Duration::from_secs(3_600));
    let grown = home.says("giant", "wombats and numbats", LARGE).await;
    let last = home.says("other", "herons", 1).await;
    assert_eq!(covers(&port, last, Want::ButLarge).await, last);
    assert_eq!((finds(&port, "herons"), finds(&port, "numbats")), (1, 0));
    let whole = Position(grown.0 - 1);
    assert_eq!(port.covered(), Covered { whole, turns: whole, but_large: last });
    assert_eq!(home.large.let_alone(std::time::Instant::now()).len(), 1);
    port.close().await;
    let next = home.memory();
    assert!(next.covered().whole < grown, "it is owed by the log");
    assert_eq!(finds(&next, "herons"), 1, "what was committed is there");
    covers(&next, last, Want::Whole).await;
    let found = ["herons", "numbats", "wombats"].map(|word| finds(&next, word));
    assert_eq!(found, [1, 1, 1]);
    next.close().await;
    // Whatever happened in between, the result equals a rebuilt memory.
    std::fs::remove_dir_all(home.temp.path().join("memory")).unwrap();
    let afresh = home.memory();
    covers(&afresh, last, Want::Whole).await;
    let dump = |port: &Port| port.searcher().unwrap().dump().unwrap();
    assert_eq!(dump(&next), dump(&afresh));
    afresh.close().await;
}

#[tokio::test]
async fn who_waits_for_what_rests_does_not_wait_for_its_rest() {
    let home = Home::new();
    let port = home.memory();
    home.says("giant", "wombats", LARGE).await;
    home.large.note_taken_in(&SessionId::new("giant").unwrap(), Duration::from_secs(3_600));
    let last = home.says("giant", "numbats", LARGE).await;
    assert_eq!(covers(&port, last, Want::Whole).await, last);
    assert_eq!(finds(&port, "numbats"), 1);
    port.close().await;
}

#[tokio::test]
async fn it_is_given_up_only_for_other_work_that_somebody_waits_for() {
    let (home, coverage) = (Home::new(), Arc::new(Coverage::default()));
    let at = home.says("giant", "wombats", LARGE).await;
    let goes_on = |others: &OtherWork<'_>| others.check().is_ok();
    let now = home.others(&coverage, at, Duration::ZERO);
    let patient = home.others(&coverage, at, Duration::MAX);
    assert!(goes_on(&now), "there is nothing else");
    let grown = home.says("giant", "wombats and numbats", LARGE).await;
    coverage.ask(grown);
    assert!(goes_on(&now), "nothing else than itself");
    assert_eq!(coverage.covered().but_large, grown, "and who waits for the rest is answered");
    let other = home.says("other", "herons", 1).await;
    assert!(goes_on(&now), "nobody waits for it");
    coverage.ask(other);
    assert!(goes_on(&patient) && !goes_on(&now));
    let (home, closing) = (Home::new(), Arc::new(Coverage::default()));
    closing.close();
    assert!(!goes_on(&home.others(&closing, Position(0), Duration::ZERO)));
}

#[tokio::test]
async fn what_changes_nothing_is_told_from_what_does() {
    let home = Home::new();
    home.says("a", "wombats", 1).await;
    home.says("a", "numbats", 1).await;
    let (table, mut told) = (home.options.table.now(), Vec::new());
    for position in 1..=table.position().0 {
        let records = home.options.journal.read(Position(position), 1).unwrap();
        told.extend(records.iter().map(|record| matches!(Change::of(record, &table), Change::Nothing)));
    }
    assert_eq!(told, [true, true, true, true, false], "the first episode is superseded");
}
