//! A home with sessions, and its team.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use baton_base::clock::{Clock, ManualClock};
use baton_config::settings::{self, Settings};
use baton_conversation::filter::FILTER_VERSION;
use baton_conversation::hash::ContentHash;
use baton_conversation::item::{Body, Item};
use baton_conversation::record::{Metadata, SequenceNumber, SessionId, StreamId, Timestamp};
use baton_conversation::transcript::Cursor;
use baton_events::envelope::NewRecord;
use baton_events::schema;
use baton_events::session::{
    Agent, CloseReason, Counts, EffectId, EpisodeRef, Event, FileIdentity, Kind, Place, TailDigest, Tier, episode_uuid,
};
use baton_journal::session_table::{TableFold, TableReader};
use baton_journal::{Journal as _, MemoryJournal};
use baton_store::chunks::{ChunkStore, Header};
use tokio::sync::watch;

use super::super::{Member, Options, Team};
use super::sea::{Chance, Lossy};
use crate::keys::{Keys, WriterId};

const PROJECT: &str = "/srv/shop";

pub(super) struct Home {
    _folder: tempfile::TempDir,
    name: String,
    pub(super) keys: Keys,
    relay: Lossy,
    journal: Arc<MemoryJournal>,
    table: TableReader,
    pub(super) chunks: Arc<ChunkStore>,
    clock: Arc<ManualClock>,
    settings: watch::Sender<Arc<Settings>>,
    pub(super) team: Arc<Team>,
    round: Option<Member>,
    /// The items of its sessions; forgotten ones have none.
    sessions: BTreeMap<SessionId, Vec<Item>>,
    forgotten: BTreeSet<SessionId>,
    pub(super) home: std::path::PathBuf,
}

impl Home {
    pub(super) fn new(name: &str, keys: Keys, relay: Lossy) -> Self {
        let memory = std::path::Path::new("/dev/shm");
        let folder = match memory.is_dir() {
            true => tempfile::tempdir_in(memory).unwrap(),
            false => tempfile::tempdir().unwrap(),
        };
        let home = folder.path().to_owned();
        keys.write(&home.join("relay").join("keys.json")).unwrap();
        let relay_settings = settings::Relay {
            enabled: true,
            url: Some("simulated".to_owned()),
            name: Some(name.to_owned()),
            share: vec![PROJECT.to_owned()],
            ..settings::Relay::default()
        };
        let settings = watch::Sender::new(Arc::new(Settings { relay: relay_settings, ..Settings::default() }));
        let (fold, table) = TableFold::new();
        let journal = Arc::new(MemoryJournal::new(Box::new(fold)));
        let chunks = Arc::new(ChunkStore::open(home.join("blobs")).unwrap());
        let clock = Arc::new(ManualClock::new(Timestamp(1_900_000_000_000)));
        let team = Self::opened(&home, &settings, &table, &journal, &chunks, &clock);
        let (sessions, forgotten) = (BTreeMap::new(), BTreeSet::new());
        Self {
            _folder: folder,
            name: name.to_owned(),
            keys,
            relay,
            journal,
            table,
            chunks,
            clock,
            settings,
            team,
            round: None,
            sessions,
            forgotten,
            home,
        }
    }

    fn opened(
        home: &std::path::Path,
        settings: &watch::Sender<Arc<Settings>>,
        table: &TableReader,
        journal: &Arc<MemoryJournal>,
        chunks: &Arc<ChunkStore>,
        clock: &Arc<ManualClock>,
    ) -> Arc<Team> {
        Arc::new(Team::new(Options {
            home: home.to_owned(),
            settings: settings.subscribe().into(),
            table: table.clone(),
            journal: journal.clone(),
            chunks: chunks.clone(),
            clock: clock.clone(),
            purge: Box::new(|_| Box::pin(std::future::ready(Ok(())))),
        }))
    }

    /// Everything that is in memory is lost.
    pub(super) async fn crash(&mut self) {
        self.round = None;
        // What was being written is whole or not there.
        drop(self.team.recording.lock().await);
        self.team = Self::opened(&self.home, &self.settings, &self.table, &self.journal, &self.chunks, &self.clock);
    }

    /// A round that may fail, or be cut off by a crash after some calls of the relay.
    pub(super) async fn round(&mut self, chance: &mut Chance) {
        let dies_after = chance.percent(25).then(|| 1 + chance.below(25));
        *self.relay.dies_after.lock().unwrap() = dies_after;
        let died = self.relay.died.clone();
        let is_dead = tokio::select! {
            biased;
            () = died.notified() => true,
            () = self.one_round() => false,
        };
        *self.relay.dies_after.lock().unwrap() = None;
        if is_dead {
            self.crash().await;
        }
    }

    pub(super) async fn calm_round(&mut self) {
        self.one_round().await;
    }

    async fn one_round(&mut self) {
        self.clock.advance(std::time::Duration::from_secs(1));
        let settings = self.settings.borrow().clone();
        if self.round.is_none() {
            let keys = self.team.read_records(&settings.relay).unwrap();
            self.team.state().has_looked_back = false;
            let cursor = self.team.read_cursor("simulated");
            let relay = Arc::new(self.relay.clone());
            let settings = settings.relay.clone();
            self.round = Some(Member { settings, keys, relay, cursor, is_current: false, received_again: None });
        }
        let done = self.team.round(&mut self.round, &settings).await;
        {
            let mut state = self.team.state();
            state.is_connected = done.is_ok();
            state.problem = done.clone().err();
        }
        if done.is_err() {
            self.round = None;
        }
    }

    /// Takes in what there is, and dies before anything else.
    pub(super) async fn receive_and_crash(&mut self) {
        self.clock.advance(std::time::Duration::from_secs(1));
        let mut member = self.round.take().unwrap();
        self.team.receive(&mut member).await.unwrap();
        self.crash().await;
    }

    /// How often the relay is asked in a round in which nothing that has failed is tried again.
    pub(super) async fn calls_of_a_round(&mut self) -> u64 {
        let before = self.relay.calls.load(std::sync::atomic::Ordering::Relaxed);
        self.team.state().holds_back = true;
        self.one_round().await;
        self.team.state().holds_back = false;
        self.relay.calls.load(std::sync::atomic::Ordering::Relaxed) - before
    }

    /// Reopens the relay in the next round.
    pub(super) fn reconnect(&mut self) {
        self.round = None;
    }

    pub(super) fn pause(&mut self, is_paused: bool) {
        self.settings.send_modify(|settings| {
            let mut changed = Settings::clone(settings);
            changed.relay.enabled = !is_paused;
            *settings = Arc::new(changed);
        });
        self.round = None;
    }

    pub(super) async fn fetch_damaged(&mut self) {
        *self.team.round.lock().await = self.round.take();
        self.team.fetch_damaged().await.unwrap();
        self.round = self.team.round.lock().await.take();
    }

    /// Excludes another home from the team.
    pub(super) async fn remove(&mut self, gone: &WriterId) {
        *self.team.round.lock().await = self.round.take();
        self.team.remove(gone.as_str()).await.unwrap();
        self.round = self.team.round.lock().await.take();
    }

    /// The team's newest epoch, as far as this home has its key.
    pub(super) fn epoch(&self) -> u32 {
        self.round.as_ref().map_or(0, |member| member.keys.team.current().0)
    }

    /// True if the last round left nothing to do.
    pub(super) fn is_quiet(&self) -> bool {
        let state = self.team.state();
        state.is_connected
            && state.held.is_empty()
            && state.unpublished().next().is_none()
            && state.lost.is_empty()
            && !state.has_dropped
    }

    pub(super) fn told(&self) -> String {
        let status = self.team.status();
        let state = self.team.state();
        let held: Vec<_> = state.held.values().map(|held| held.why.clone()).collect();
        format!("{}: {:?} {:?} {:?} {held:?}", self.name, state.problem, status.problems, state.refused)
    }

    /// The sessions that others must have.
    pub(super) fn live(&self) -> Vec<SessionId> {
        self.sessions.keys().filter(|id| !self.forgotten.contains(*id)).cloned().collect()
    }

    pub(super) fn episode(&self, id: &SessionId) -> Option<uuid::Uuid> {
        self.table.now().get(id)?.state.episode.as_ref().map(|episode| episode.uuid)
    }

    pub(super) async fn begin(&mut self, chance: &mut Chance) {
        let id = SessionId::new(&format!("{}-{}", self.name, self.sessions.len())).unwrap();
        let at = self.clock.now();
        let place = Place::new(format!("{PROJECT}/src"), PROJECT);
        let identity = FileIdentity::default();
        let path = format!("/transcripts/{id}.jsonl");
        let begun = vec![
            Event::Discovered { agent: Agent::ClaudeCode, path, identity, kind: Kind::Main, at },
            Event::Located { place },
        ];
        self.record(&id, begun).await;
        self.sessions.insert(id.clone(), Vec::new());
        self.work(&id, chance).await;
    }

    pub(super) async fn go_on(&mut self, chance: &mut Chance) {
        let live = self.live();
        if let Some(id) = live.get(chance.below(live.len())) {
            self.record(id, vec![Event::Resumed]).await;
            self.work(id, chance).await;
        }
    }

    pub(super) async fn forget(&mut self, chance: &mut Chance) {
        let live = self.live();
        if let Some(id) = live.get(chance.below(live.len())) {
            self.record(id, vec![Event::Forgotten]).await;
            self.forgotten.insert(id.clone());
        }
    }

    /// Some rounds of work in a session, which ends and is indexed.
    async fn work(&mut self, id: &SessionId, chance: &mut Chance) {
        self.clock.advance(std::time::Duration::from_secs(60));
        let now = self.clock.now();
        let items = self.sessions.get_mut(id).unwrap();
        let from = items.len() as u64;
        let say = |line: u64, body: Body| Item {
            line,
            at: Some(now),
            uuid: None,
            message: Some(format!("msg-{id}-{line}").into()),
            sidechain: false,
            body,
        };
        for line in from..from + 1 + chance.below(4) as u64 {
            let text = format!("{PROJECT}/src/a.rs has {} lines", chance.below(1 << 20));
            items.push(say(line + 1, Body::Prompt { text }));
        }
        let items = items.clone();
        let lines = items.iter().map(|item| {
            let mut line = Vec::new();
            schema::item::encode(item, &mut line).unwrap();
            line.truncate(line.trim_ascii_end().len());
            line
        });
        let to = items.len() as u64 * 100;
        let cursor = Cursor { offset: to, line: items.len() as u64, ..Cursor::default() };
        let header =
            Header { generation: 1, filter_version: FILTER_VERSION, cursor: cursor.clone(), ..Header::default() };
        let manifest = self.chunks.append(id, None, &lines.collect::<Vec<_>>(), header).unwrap();
        let effect = EffectId { generation: 1, start: u32::try_from(items.len()).unwrap() };
        let hash = ContentHash::digest(&items);
        let counts = Counts { records: items.len() as u64 - from, ..Counts::default() };
        let (first_at, last_at) = (Some(now), Some(now));
        let episode = EpisodeRef {
            uuid: episode_uuid(id, &hash),
            tier: Tier::Extractive,
            hash,
            filter_version: FILTER_VERSION,
            generation: 1,
            to,
            manifest,
            items: items.len() as u64,
            at: now,
        };
        let events = vec![
            Event::RecordsAppended {
                generation: 1,
                from: from * 100,
                to: Box::new(cursor),
                tail: TailDigest([0; 16]),
                counts,
                first_at,
                last_at,
                last_conversation_at: last_at,
                late_index_at: None,
            },
            Event::Ended { reason: CloseReason::Explicit, at: now, by_self: false },
            Event::IndexingStarted { effect, reason: CloseReason::Explicit, to },
            Event::Indexed { effect, episode },
        ];
        self.record(id, events).await;
    }

    async fn record(&self, id: &SessionId, events: Vec<Event>) {
        let stream = StreamId::session(id);
        let version = self.table.now().get(id).map_or(SequenceNumber(0), |row| row.version);
        let at = self.clock.now();
        let records = events.iter().map(|event| {
            let encoded = schema::session::encode(event);
            let (kind, v, data) = (encoded.kind.to_owned(), encoded.v, encoded.data);
            NewRecord { kind, v, at, metadata: Metadata { correlation: None, cause: None }, data }
        });
        self.journal.append(stream, version, records.collect()).await.unwrap();
    }
}
