//! The command line, with one file per command.

mod ask;
mod bench;
mod blame;
mod close;
mod completions;
mod config;
mod costs;
mod daemon;
mod doctor;
mod enrich;
mod explain;
mod failure;
mod fix;
mod forget;
mod handoff;
mod help;
mod hook;
mod hook_stats;
mod how;
mod install;
mod log;
mod logs;
mod mcp;
mod overview;
mod patterns;
mod question;
mod recall;
mod reindex;
mod replay;
mod search;
mod service;
mod session_tracking;
mod sessions;
mod show;
mod status;
mod stop;
mod sync;
mod timeline;
mod unindexed;
mod uninstall;
mod vault;
mod worded;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use baton_protocol::{SearchParams, method};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::client;
use crate::environment::{self, Environment, in_time};
use crate::examples::{self, Throwaway};
use ask::{ask, ask_shown, read};
pub use failure::Telling;

/// Session memory for coding agents: every session becomes one episode, found in milliseconds.
///
/// Baton reads the transcripts that Claude Code and Codex write, notices when a session is over, and keeps what was asked, done,
/// broken and fixed: searchable, and offline. The first command starts a daemon; `baton stop` ends it.
#[derive(Debug, Parser)]
#[command(name = "baton", version, after_help = AFTER_HELP, disable_help_subcommand = true)]
pub struct Cli {
    /// Use the example sessions of a checkout in a temporary home; none of your data is read
    #[arg(long, global = true)]
    examples: bool,
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  baton search refresh token race      what was found out about it, in any project
  baton search E0382 --project .       in this directory's project only
  baton recall what is still open      in one answer, short enough for an agent
  baton sessions --state active        which sessions are open
  baton show a94e0d17                  a session and its episode
  baton sync --dry-run                 what is not indexed yet, and what a model would cost
  baton close --reason \"story done\"    close the open session of this directory
  baton --examples recall web locks    try it on example sessions; nothing of yours is read

Environment:
  BATON_HOME         Baton's own files [default: ~/.baton]
  CLAUDE_CONFIG_DIR  Claude Code's directory; transcripts lie below projects/ [default: ~/.claude]
  CODEX_HOME         Codex' directory; transcripts lie below sessions/ [default: ~/.codex]
                     (if one of these two is set, the other's default is not read)
  BATON_LOG          what goes to daemon.log, such as `info,baton_actors=debug`
  NO_COLOR           no colours
  COLUMNS            width of tables [default: that of the terminal]

`baton COMMAND --help` describes a command, with examples; `baton help` lists longer topics.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Search everything that was said and done; new sessions are read first
    Search(search::Typed),
    /// Answer a question from past sessions, within a token budget
    Recall(recall::Typed),
    /// Show one session and its episode, or a place in it
    Show(show::Typed),
    /// Close a session now and index it
    Close(close::Typed),
    /// Show what the last session of a project leaves to the next
    Handoff(handoff::Typed),
    /// List sessions by day, one line each: goal, outcome, open work
    Timeline(timeline::Typed),
    /// List sessions and their states
    Sessions(sessions::Typed),
    /// List sessions that are not fully indexed yet
    Unindexed(unindexed::Typed),
    /// Index a range of history now, or count what it would index
    Sync(sync::Typed),
    /// Find the sessions that changed or read a file, or made decisions about it
    Blame(blame::Typed),
    /// Find what fixed an error before, and what did not help
    Fix(fix::Typed),
    /// Show how a command is really run here, and how often it succeeds
    How(how::Typed),
    /// Show recurring sequences, commands that mostly fail, and retries
    Patterns(patterns::Typed),
    /// Manage the Markdown notes written for people
    Vault(vault::Typed),
    /// Forget sessions: delete what is stored about them and never read them again
    Forget(forget::Typed),
    /// Rebuild what is stored, with the current filter and redaction rules
    Reindex(reindex::Typed),
    /// Have a model enrich stored sessions now
    Enrich(enrich::Typed),
    /// Show what model calls have cost, by day, session, project or model
    Costs(costs::Typed),
    /// Explain why a session is in its state: each event with its effect, and what comes next
    Explain(explain::Typed),
    /// Replay an exported log, event by event
    Replay(replay::Typed),
    /// Show the state of the daemon, the log and the memory
    Status(status::Typed),
    /// Inspect, export, import and repair the event log
    Log(log::Typed),
    /// Show how fast hooks are answered, and which failed
    HookStats(hook_stats::Typed),
    /// Show the daemon's log
    Logs(logs::Typed),
    /// Print long help on a topic, or list the topics
    Help(help::Typed),
    /// Print a completion script for a shell
    Completions(completions::Typed),
    /// Set Baton up in Claude Code and Codex: hooks, MCP server, guidance
    Install(install::Typed),
    /// Remove what `baton install` added to Claude Code and Codex
    Uninstall(uninstall::Typed),
    /// Check that everything is installed and works together, with a fix for each problem
    Doctor(doctor::Typed),
    /// Run the daemon as a user service that starts at login
    Service(service::Typed),
    /// Switch session tracking on or off, for all projects or for one
    SessionTracking(session_tracking::Typed),
    /// Show the configuration and where each value comes from, or import a graphiti.config.json
    Config(config::Typed),
    /// Start the daemon (other commands do this automatically)
    Daemon(daemon::Typed),
    /// Stop the daemon and wait until its process has exited
    Stop(stop::Typed),
    /// Run the MCP server for agents on standard input and output
    Mcp(mcp::Typed),
    /// Report an agent's event to the daemon, as baton-hook does
    Hook(hook::Typed),
    /// Measure how fast Baton is on this machine
    Bench(bench::Typed),
}

impl Command {
    /// Returns true if the command queries or changes only the contents of a home. The others set up the machine or
    /// manage daemons.
    fn answers_from_examples(&self) -> bool {
        !matches!(
            self,
            Self::Help(_)
                | Self::Completions(_)
                | Self::Replay(_)
                | Self::Hook(_)
                | Self::Install(_)
                | Self::Uninstall(_)
                | Self::Doctor(_)
                | Self::Service(_)
                | Self::Daemon(_)
                | Self::Stop(_)
                | Self::Bench(_)
        )
    }
}

/// Reason why a command failed. Messages say what happened, to what, and what to do next.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The environment could not be read.
    #[error(transparent)]
    Environment(#[from] environment::Error),
    /// The daemon failed or could not be reached.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// The daemon itself, run by this process, failed.
    #[error(transparent)]
    Daemon(#[from] crate::daemon::Error),
    /// A file named on the command line could not be read.
    #[error("cannot read {path}: {reason}")]
    File {
        /// The file.
        path: String,
        /// The reason, and what to do.
        reason: String,
    },
    /// The home does not exist.
    #[error("{} does not exist: nothing was ever recorded there; set BATON_HOME to the right directory", home.display())]
    NoHome {
        /// The directory taken for Baton's home.
        home: PathBuf,
    },
    /// An output file could not be written.
    #[error("cannot write {}: {source}; what was there is unchanged", path.display())]
    Output {
        /// Which one.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The export failed.
    #[error(transparent)]
    Archive(#[from] baton_actors::queries::archive::Error),
    /// The import failed.
    #[error(transparent)]
    Import(#[from] baton_actors::queries::archive::ImportError),
    /// The home's lock could not be taken.
    #[error(transparent)]
    Lock(baton_base::lock::LockError),
    /// The log could not be repaired.
    #[error("{0}")]
    Repair(String),
    /// The MCP server failed.
    #[error(transparent)]
    Mcp(#[from] crate::mcp::Error),
    /// An exported log is damaged, or differs from what was expected.
    #[error("{0}")]
    Replay(String),
    /// `install` could not work out what to change.
    #[error(transparent)]
    Installer(#[from] crate::install::Error),
    /// `install` could not make a change.
    #[error(transparent)]
    Install(crate::install::Failed),
    /// The service could not be managed.
    #[error(transparent)]
    Service(#[from] crate::service::Error),
    /// Confirmation is needed, but there is no terminal to ask on.
    #[error("nothing was changed: there is no terminal to ask on; run it with --yes if this is what you want")]
    NotAgreed,
    /// The benchmarks could not be run.
    #[error(transparent)]
    Bench(#[from] bench::Error),
    /// The log file could not be read.
    #[error("cannot read {}: {source}; make it readable for you", path.display())]
    Log {
        /// Which file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The arguments make no sense together; the message says what to type instead.
    #[error("{0}")]
    Usage(String),
}

/// The whole command line, for help and completions.
fn command() -> clap::Command {
    overview::complete(Cli::command())
}

/// Parses the command line and returns it with the way to report errors. If it was not understood, or asks for help,
/// this has printed the text already and only the exit code is left.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<(Cli, Telling), ExitCode> {
    let arguments: Vec<OsString> = worded::sorted(arguments.into_iter().collect());
    let telling = Telling::of(&arguments);
    let parsed = |command: clap::Command| {
        let matches = command.try_get_matches_from(&arguments);
        matches.and_then(|mut matches| Cli::from_arg_matches_mut(&mut matches))
    };
    // The endings of all help texts are built only when one is shown.
    let typed = parsed(Cli::command()).or_else(|_| parsed(command()));
    typed.map(|typed| (typed, telling)).map_err(|error| telling.misunderstood(&error))
}

/// Runs the command.
pub fn run(typed: Cli) -> Result<ExitCode, Error> {
    if typed.examples && !typed.command.answers_from_examples() {
        let why = "--examples works only with commands that query sessions";
        return Err(Error::Usage(why.to_owned()));
    }
    let environment = match &typed.command {
        // Needs no environment; a package build has none.
        Command::Completions(typed) => return Ok(completions::run(typed)),
        // Help is compiled into the program.
        Command::Help(typed) => return help::run(typed),
        // Needs only a file.
        Command::Replay(typed) => return replay::run(typed),
        // Must succeed in any environment.
        Command::Hook(typed) => return Ok(hook::run(typed)),
        // Runs another program.
        Command::Bench(typed) => return Ok(bench::run(typed)?),
        _ => Environment::read()?,
    };
    // Lives until the command has ended.
    let throwaway = typed.examples.then(throwaway).transpose()?;
    let environment = throwaway.as_ref().map_or(environment, |throwaway| throwaway.environment().clone());
    match typed.command {
        Command::Search(typed) => search::run(&environment, &typed),
        Command::Blame(typed) => blame::run(&environment, &typed),
        Command::Fix(typed) => fix::run(&environment, &typed),
        Command::How(typed) => how::run(&environment, &typed),
        Command::Patterns(typed) => patterns::run(&environment, &typed),
        Command::Recall(typed) => recall::run(&environment, &typed),
        Command::Timeline(typed) => timeline::run(&environment, &typed),
        Command::Show(typed) => show::run(&environment, &typed),
        Command::Close(typed) => close::run(&environment, &typed),
        Command::Handoff(typed) => handoff::run(&environment, &typed),
        Command::Sessions(typed) => sessions::run(&environment, &typed),
        Command::Unindexed(typed) => unindexed::run(&environment, &typed),
        Command::Sync(typed) => sync::run(&environment, &typed),
        Command::Vault(typed) => vault::run(&environment, &typed),
        Command::Forget(typed) => forget::run(&environment, &typed),
        Command::Reindex(typed) => reindex::run(&environment, &typed),
        Command::Enrich(typed) => enrich::run(&environment, &typed),
        Command::Costs(typed) => costs::run(&environment, &typed),
        Command::Status(typed) => status::run(&environment, &typed),
        Command::Log(typed) => log::run(&environment, &typed),
        Command::HookStats(typed) => hook_stats::run(&environment, &typed),
        Command::Logs(typed) => logs::run(&environment, &typed),
        Command::Help(typed) => help::run(&typed),
        Command::Completions(typed) => Ok(completions::run(&typed)),
        Command::Explain(typed) => explain::run(&environment, &typed),
        Command::Replay(typed) => replay::run(&typed),
        Command::Install(typed) => install::run(&environment, &typed),
        Command::Uninstall(typed) => uninstall::run(&environment, &typed),
        Command::Doctor(typed) => doctor::run(&environment, &typed),
        Command::Service(typed) => service::run(&environment, &typed),
        Command::SessionTracking(typed) => session_tracking::run(&environment, &typed),
        Command::Config(typed) => config::run(&environment, &typed),
        Command::Daemon(typed) => daemon::run(&environment, &typed),
        Command::Stop(typed) => stop::run(&environment, &typed),
        Command::Mcp(typed) => mcp::run(&environment, &typed),
        Command::Hook(typed) => Ok(hook::run(&typed)),
        Command::Bench(typed) => Ok(bench::run(&typed)?),
    }
}

/// Starts a daemon on the example sessions.
fn throwaway() -> Result<Throwaway, Error> {
    let folder = examples::anywhere().ok_or_else(|| {
        Error::Usage("the example sessions are part of a checkout of Baton; run this command in one".to_owned())
    })?;
    let throwaway = Throwaway::start(&folder)?;
    // Every command then answers from fully read sessions.
    let all = SearchParams { query: "a".to_owned(), limit: 1, wait: true, ..SearchParams::default() };
    throwaway.client()?.call_raw(method::SEARCH, &all, |_| {})?;
    Ok(throwaway)
}

/// Converts a project argument for the daemon: a directory becomes an absolute path, a name stays a name.
fn project(typed: &str) -> String {
    let path = std::path::Path::new(typed);
    let looks_like_path = typed.contains(['/', '\\']) || matches!(typed, "." | "..");
    let (written, looked_at) = (std::path::absolute(path), path.to_owned());
    let look = move || looked_at.canonicalize().ok().filter(|absolute| absolute.is_dir());
    match (in_time(look), written) {
        (Some(Some(absolute)), _) if looks_like_path => absolute.display().to_string(),
        // The file system does not answer; the daemon reports that.
        (None, Ok(written)) if looks_like_path => written.display().to_string(),
        _ => typed.to_owned(),
    }
}

/// Normalises a session id or the beginning of one: hexadecimal digits become lower case.
fn session(typed: &str) -> String {
    let is_hexadecimal = typed.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    if is_hexadecimal { typed.to_ascii_lowercase() } else { typed.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::session;

    #[test]
    fn ids_are_taken_in_capital_letters_too() {
        for (typed, known) in [
            ("7ACD37A8", "7acd37a8"),
            ("7ACD37A8-1F2E", "7acd37a8-1f2e"),
            ("agent-7ACD", "agent-7ACD"),
            ("Named", "Named"),
        ] {
            assert_eq!(session(typed), known);
        }
    }
}
