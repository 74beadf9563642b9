//! A throwaway daemon over a folder of transcripts, with a connection to it.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use baton::client::Client;
use baton::environment::Environment;
use baton::examples::Throwaway;
use baton_protocol::answer::{Search, Status};
use baton_protocol::{SearchParams, method};

use super::daemon_process::DaemonProcess;
use super::workspace::Workspace;
use super::{Corpus, CorpusOptions, Error, io_error, program};

/// Longest silence of the daemon: far more than indexing takes.
const PATIENCE: Duration = Duration::from_secs(600);

/// The daemon. It ends and its home is removed when this value is dropped or this process ends.
pub(super) struct TestDaemon {
    pub(super) client: Client,
    throwaway: Throwaway,
}

impl TestDaemon {
    /// Starts a daemon in an empty home and waits until it is ready.
    pub(super) fn start(claude: &Path) -> Result<Self, Error> {
        Self::start_on(claude, None)
    }

    /// Like [`Self::start`], over a directory of Codex too.
    pub(super) fn start_on(claude: &Path, codex: Option<&Path>) -> Result<Self, Error> {
        let throwaway = Throwaway::start_program(&program::baton()?, claude, codex)?;
        let client = throwaway.client()?;
        client.set_answer_timeout(PATIENCE);
        Ok(Self { client, throwaway })
    }

    /// Writes a corpus below the workspace, and starts a daemon that has indexed it. Calls `progress` with each step.
    pub(super) fn with_corpus(
        options: CorpusOptions,
        workspace: &Workspace,
        progress: impl Fn(&str),
    ) -> Result<(Corpus, Self), Error> {
        progress("writing a corpus");
        let claude = workspace.path().join("claude");
        let corpus = Corpus::write(options, &claude)?;
        progress("indexing it");
        let mut daemon = Self::start(&claude)?;
        daemon.index_all(&corpus.common_word, corpus.transcripts)?;
        Ok((corpus, daemon))
    }

    pub(super) fn environment(&self) -> &Environment {
        self.throwaway.environment()
    }

    pub(super) fn pid(&self) -> u32 {
        self.client.welcome().pid
    }

    /// Searches; with `wait`, after all history is read.
    pub(super) fn ask(&mut self, query: &str, wait: bool) -> Result<Search, Error> {
        let params = SearchParams { query: query.to_owned(), limit: 10, wait, ..SearchParams::default() };
        Ok(self.client.call(method::SEARCH, &params, |_| {})?)
    }

    /// Waits until everything is read and in the memory, and checks that; a search alone waits for a very large
    /// transcript only so long.
    pub(super) fn index_all(&mut self, query: &str, transcripts: u64) -> Result<Status, Error> {
        self.ask(query, true)?;
        let status = DaemonProcess::wait_until_caught_up(&mut self.client)?;
        let indexed: u64 =
            [&status.sessions, &status.subagents].into_iter().filter_map(|counts| counts.get("indexed")).sum();
        if indexed != transcripts {
            return Err(Error::NothingMeasured(format!(
                "{indexed} of {transcripts} sessions are indexed; states: {:?}",
                status.sessions
            )));
        }
        Ok(status)
    }

    /// The `baton` to measure, with the daemon's environment.
    pub(super) fn command(&self, arguments: &[&str]) -> Result<Command, Error> {
        let mut command = program::command(self.environment())?;
        command.args(arguments);
        Ok(command)
    }

    /// Runs `baton` to its end and checks that it succeeds with output.
    pub(super) fn run(&self, arguments: &[&str]) -> Result<(), Error> {
        let ended = self.command(arguments)?.output().map_err(io_error("run", Path::new("baton")))?;
        match ended.status.success() && !ended.stdout.is_empty() {
            true => Ok(()),
            false => Err(Error::NothingMeasured(format!("`baton {}` failed", arguments.join(" ")))),
        }
    }
}
