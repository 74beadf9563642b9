//! The whole daemon in this process: a home of its own, a log in memory with scripted faults, a clock that stands
//! still.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use baton_actors::System;
use baton_actors::system::{Log, Options};
use baton_base::clock::{Clock, ManualClock};
use baton_base::lock::HomeLock;
use baton_base::transcript_root::Root;
use baton_config::settings::Settings;
use baton_conversation::record::{SessionId, Timestamp};
use baton_events::session::{Phase, State};
use baton_journal::session_table::{TableFold, TableReader};
use baton_journal::{Journal, MemoryJournal};
use baton_queries::DaemonParts;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::client::Client;
use crate::faults::Faulty;
use crate::story::Story;

/// Longest wait for a fact that must come.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// The time at which all this happens.
pub(crate) const NOW: Timestamp = Timestamp(1_790_000_000_000);

/// Everything that outlives a daemon.
pub(crate) struct World {
    temp: tempfile::TempDir,
    pub(crate) journal: Arc<Faulty>,
    pub(crate) table: TableReader,
    pub(crate) clock: Arc<ManualClock>,
    settings_sender: watch::Sender<Arc<Settings>>,
    settings: watch::Receiver<Arc<Settings>>,
}

/// A running daemon.
pub(crate) struct House {
    pub(crate) system: System,
    home: PathBuf,
}

impl World {
    pub(crate) fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(temp.path().join("claude/projects")).unwrap();
        let (fold, table) = TableFold::new();
        let journal = Faulty::new(Arc::new(MemoryJournal::new(Box::new(fold))));
        let (settings_sender, settings) = watch::channel(Arc::new(Settings::default()));
        let clock = Arc::new(ManualClock::new(NOW));
        Self { temp, journal, table, clock, settings_sender, settings }
    }

    /// A path in the world's own temporary directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    pub(crate) fn projects(&self) -> PathBuf {
        self.temp.path().join("claude/projects")
    }

    /// Has growth recorded after so many seconds of real time, instead of a minute.
    pub(crate) fn record_growth_after(&self, seconds: i64) {
        self.settings_sender.send_modify(|settings| Arc::make_mut(settings).policy.check_interval_ms = seconds * 1_000);
    }

    /// A transcript whose records are a minute old.
    pub(crate) fn story(&self, name: &str) -> Story {
        Story::new(&self.projects(), name, self.clock.now().plus_ms(-60_000))
    }

    /// Starts a daemon.
    pub(crate) async fn start(&self) -> House {
        self.start_with(&self.home(), self.journal.clone(), self.clock.clone()).await
    }

    /// Starts a daemon on a log that was closed, as a new process would.
    pub(crate) async fn start_again(&self) -> House {
        self.journal.reopen();
        self.start().await
    }

    pub(crate) async fn start_with(&self, home: &Path, journal: Arc<dyn Journal>, clock: Arc<dyn Clock>) -> House {
        let options = Options {
            home: home.to_owned(),
            roots: vec![Root::claude_code(&self.temp.path().join("claude"))],
            settings: self.settings.clone().into(),
            clock,
            version: "test".to_owned(),
        };
        let lock = HomeLock::acquire(home).unwrap();
        let log = Log { journal, table: self.table.clone(), problem: None };
        let system = System::start_on(options, lock, log).await.unwrap();
        House { system, home: home.to_owned() }
    }

    /// The session's state in the table.
    pub(crate) fn state(&self, id: &SessionId) -> Option<State> {
        self.table.now().get(id).map(|row| row.state.clone())
    }

    /// Waits until the session's state in the table is as wanted.
    pub(crate) async fn until(&self, id: &SessionId, what: &str, is_so: impl Fn(&State) -> bool) {
        let mut table = self.table.clone();
        let came = table.wait_for(|table| table.get(id).is_some_and(|row| is_so(&row.state)));
        let came = tokio::time::timeout(DEADLINE, came).await.is_ok();
        assert!(came, "{id}: {what} did not come; last: {:?}", self.state(id));
    }

    /// Waits until a session is indexed and everything written to its file was read.
    pub(crate) async fn until_indexed(&self, story: &Story) {
        let is_so =
            |state: &State| state.phase == Phase::Indexed && state.read.offset == story.bytes && state.unindexed == 0;
        self.until(story.id(), "indexed", is_so).await;
    }

    /// Has the daemon look for changes, and waits until this file is read.
    pub(crate) async fn until_read(&self, house: &House, story: &Story) {
        house.call("sessions", json!({})).await.unwrap();
        self.until(story.id(), "read", |state| state.read.offset == story.bytes).await;
    }

    /// Number of events of this kind in the session's stream.
    pub(crate) fn events(&self, id: &SessionId, kind: &str) -> usize {
        let stream = baton_conversation::record::StreamId::session(id);
        let after = baton_conversation::record::SequenceNumber(0);
        let records = self.journal.log().read_stream(&stream, after, 4096).unwrap();
        records.iter().filter(|record| record.kind == kind).count()
    }
}

impl House {
    pub(crate) fn parts(&self) -> &DaemonParts {
        self.system.parts()
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(&self.home).await.unwrap()
    }

    pub(crate) async fn call(&self, method: &str, params: Value) -> Result<Value, String> {
        self.client().await.call(method, params).await
    }

    /// Closes a session with a new command; returns the whole answer.
    pub(crate) async fn close(&self, id: &SessionId) -> Value {
        self.call("close", json!({"session": id.as_str(), "deadline_ms": 30_000})).await.unwrap()
    }

    /// Closes a session, which must succeed; returns its episode.
    pub(crate) async fn closed(&self, id: &SessionId) -> String {
        let closed = self.close(id).await;
        assert_eq!(closed["status"], "success", "{closed}");
        closed["episode_uuid"].as_str().unwrap_or_default().to_owned()
    }

    /// The sessions that a search finds.
    pub(crate) async fn found(&self, query: &str) -> Vec<String> {
        let found = self.call("search", json!({"query": query})).await.unwrap();
        let hits = found["hits"].as_array().unwrap();
        let mut sessions: Vec<String> = hits.iter().map(|hit| hit["session_id"].as_str().unwrap().to_owned()).collect();
        sessions.dedup();
        sessions
    }

    /// The problems in `status`, as text.
    pub(crate) async fn problems(&self) -> String {
        self.call("status", json!({})).await.unwrap()["problems"].to_string()
    }

    /// Waits until `status` names this problem, or no longer does.
    pub(crate) async fn until_problem(&self, words: &str, named: bool) -> String {
        let looking = async {
            loop {
                let problems = self.problems().await;
                if problems.contains(words) == named {
                    return problems;
                }
                tokio::task::yield_now().await;
            }
        };
        match tokio::time::timeout(DEADLINE, looking).await {
            Ok(problems) => problems,
            Err(_) => panic!("{words:?} among the problems: {named} did not come; {}", self.problems().await),
        }
    }

    /// Stops the daemon cleanly.
    pub(crate) async fn stop(self) {
        drop(self.system.stop().await);
    }
}
