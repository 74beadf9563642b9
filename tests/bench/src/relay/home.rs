//! A member's home with its daemon.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use baton::client::Client;
use baton::environment::Environment;
use baton_protocol::answer::{Close, RelayInvitation, RelayStatus, Search};
use baton_protocol::{CloseParams, RelayParams, SearchParams, method};

use super::super::daemon_process::DaemonProcess;
use super::super::{Corpus, Error, io_error, latency};

/// Longest wait for anything that the other member or the relay does.
const PATIENCE: Duration = Duration::from_secs(600);
/// How often it is looked for.
const LOOK: Duration = Duration::from_millis(2);

pub(super) struct Home {
    environment: Environment,
    claude: PathBuf,
    /// Absent only while it is started anew.
    running: Option<(DaemonProcess, Client)>,
}

impl Home {
    /// A home in this folder, which may hold sessions, and its daemon. What it has of `/home/dev` it publishes once it
    /// belongs to a team, if it is to share.
    pub(super) fn start(folder: &Path, claude: &Path, shares: bool) -> Result<Self, Error> {
        let projects = claude.join("projects");
        std::fs::create_dir_all(&projects).map_err(io_error("create", &projects))?;
        baton_base::durable::create_private_folder(folder).map_err(io_error("create", folder))?;
        if shares {
            let settings = serde_json::json!({"relay": {"share": ["/home/dev"]}}).to_string();
            let path = folder.join("config.json");
            std::fs::write(&path, settings).map_err(io_error("write", &path))?;
        }
        let environment = Environment::isolated(folder.to_owned(), claude.to_owned());
        let mut home = Self { environment, claude: claude.to_owned(), running: None };
        home.restart()?;
        Ok(home)
    }

    /// Ends the daemon, if it runs.
    pub(super) fn end(&mut self) -> Result<(), Error> {
        match self.running.take() {
            Some((daemon, client)) => {
                drop(client);
                daemon.end(&self.environment)
            }
            None => Ok(()),
        }
    }

    /// Starts its daemon anew.
    pub(super) fn restart(&mut self) -> Result<(), Error> {
        self.end()?;
        let mut daemon = DaemonProcess::start(&self.environment)?;
        let mut client = daemon.client(&self.environment)?;
        DaemonProcess::wait_until_caught_up(&mut client)?;
        self.running = Some((daemon, client));
        Ok(())
    }

    /// Waits until all of a corpus is indexed.
    pub(super) fn index(&mut self, corpus: &Corpus) -> Result<(), Error> {
        let asked = SearchParams { query: corpus.common_word.clone(), limit: 1, wait: true, ..SearchParams::default() };
        let _: Search = self.client()?.call(method::SEARCH, &asked, |_| {})?;
        let status = DaemonProcess::wait_until_caught_up(self.client()?)?;
        match status.sessions.get("indexed") {
            Some(indexed) if *indexed == u64::from(corpus.sessions) => Ok(()),
            _ => Err(Error::NothingMeasured(format!("of {} sessions: {:?}", corpus.sessions, status.sessions))),
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.environment.home
    }

    pub(super) fn client(&mut self) -> Result<&mut Client, Error> {
        let running = self.running.as_mut().map(|(_, client)| client);
        running.ok_or_else(|| Error::NothingMeasured("a member's daemon does not run".to_owned()))
    }

    pub(super) fn pid(&mut self) -> Result<u32, Error> {
        Ok(self.client()?.welcome().pid)
    }

    pub(super) fn init(&mut self, url: &str) -> Result<RelayStatus, Error> {
        self.ask(&RelayParams::Init { url: url.to_owned(), name: Some("Ann".to_owned()) })
    }

    pub(super) fn invite(&mut self) -> Result<String, Error> {
        let invited: RelayInvitation = self.client()?.call(method::RELAY, &RelayParams::Invite {}, |_| {})?;
        Ok(invited.invitation)
    }

    pub(super) fn join(&mut self, invitation: String) -> Result<RelayStatus, Error> {
        self.ask(&RelayParams::Join { invitation, folder: None, name: Some("Bob".to_owned()) })
    }

    pub(super) fn pause(&mut self, paused: bool) -> Result<RelayStatus, Error> {
        self.ask(&RelayParams::Pause { paused })
    }

    fn ask(&mut self, asked: &RelayParams) -> Result<RelayStatus, Error> {
        Ok(self.client()?.call(method::RELAY, asked, |_| {})?)
    }

    /// Waits until the relay is where it should be.
    pub(super) fn wait_for(&mut self, what: &str, is_there: impl Fn(&RelayStatus) -> bool) -> Result<(), Error> {
        let begun = Instant::now();
        loop {
            let status = self.ask(&RelayParams::Status {})?;
            if is_there(&status) {
                return Ok(());
            }
            if begun.elapsed() > PATIENCE {
                return Err(Error::NothingMeasured(format!("{what} did not come: {status:?}")));
            }
            std::thread::sleep(LOOK);
        }
    }

    /// A session with one exchange that holds a word; returns its id.
    pub(super) fn write(&self, number: usize) -> Result<String, Error> {
        let id = format!("00000000-0000-4000-9000-{number:012x}");
        let folder = self.claude.join("projects").join("-home-dev-projects-ledger-api");
        std::fs::create_dir_all(&folder).map_err(io_error("create", &folder))?;
        let path = folder.join(format!("{id}.jsonl"));
        let lines = latency::exchange(&path, &latency::word(number), number);
        std::fs::write(&path, lines).map_err(io_error("write", &path))?;
        Ok(id)
    }

    /// Ends a session, as its agent does.
    pub(super) fn close(&mut self, id: &str) -> Result<(), Error> {
        let asked = CloseParams { session: Some(id.to_owned()), deadline_ms: 30_000, ..CloseParams::default() };
        let closed: Close = self.client()?.call(method::CLOSE, &asked, |_| {})?;
        match closed.episode_uuid {
            Some(_) => Ok(()),
            None => Err(Error::NothingMeasured(format!("session {id} was not closed: {}", closed.message))),
        }
    }

    /// Searches again and again until a word is found.
    pub(super) fn wait_for_hit(&mut self, word: &str) -> Result<(), Error> {
        let begun = Instant::now();
        let asked = SearchParams { query: word.to_owned(), limit: 1, ..SearchParams::default() };
        loop {
            let found: Search = self.client()?.call(method::SEARCH, &asked, |_| {})?;
            if found.hits.iter().any(|hit| hit.snippet.contains(word)) {
                return Ok(());
            }
            if begun.elapsed() > PATIENCE {
                return Err(Error::NothingMeasured(format!("{word} did not arrive")));
            }
            std::thread::sleep(LOOK);
        }
    }
}
