//! The command line, with one file per command.

mod ask;
mod backup;
mod bench;
mod blame;
mod browse;
mod close;
mod completions;
mod config;
mod correct;
mod costs;
mod daemon;
mod doctor;
mod enrich;
mod explain;
mod failure;
mod fix;
mod forget;
mod graph;
mod handoff;
mod help;
mod hook;
mod hook_stats;
mod how;
mod install;
mod keep;
mod log;
mod logs;
mod mcp;
mod overview;
mod patterns;
mod project_overview;
mod question;
mod recall;
mod reindex;
mod relay;
mod replay;
mod resume;
mod search;
mod service;
mod session_tracking;
mod sessions;
mod show;
mod status;
mod stop;
mod sync;
mod timeline;
mod today;
mod ui;
mod unindexed;
mod uninstall;
mod update;
mod vault;
mod word_args;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use baton_protocol::{Agent, SearchParams, code, method};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::client;
use crate::environment::{self, Environment, in_time};
use crate::examples::{self, Throwaway};
use ask::{ask, ask_shown, parse_result};
pub use failure::ErrorFormat;

/// Session memory for coding agents: every session becomes one episode, found in milliseconds.
///
/// Baton reads the transcripts that Claude Code, Codex, Gemini CLI, Cursor and other agents write (`baton help agents` lists
/// them), notices when a session is over, and keeps what was asked, done, broken and fixed: searchable, and offline. The first
/// command starts a daemon; `baton stop` ends it.
#[derive(Debug, Parser)]
#[command(name = "baton", version, after_help = AFTER_HELP, disable_help_subcommand = true)]
pub struct Cli {
    /// Use the example sessions of a checkout in a temporary home; none of your data is read
    #[arg(long, global = true)]
    examples: bool,
    #[command(subcommand)]
    command: Command,
}

/// Id of the option `--examples`.
const EXAMPLES: &str = "examples";

const AFTER_HELP: &str = "\
Examples:
  baton                                browse all sessions, searching while you type
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
  CODEX_HOME         Codex's directory; transcripts lie below sessions/ [default: ~/.codex]
  QWEN_HOME, …       other agents' directories: `baton help agents` names each variable
  BATON_LOG          what goes to daemon.log, such as `info,baton_actors=debug`
  NO_COLOR           no colours
  COLUMNS            width of tables [default: that of the terminal]

`baton COMMAND --help` describes a command, with examples; `baton help` lists longer topics.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Search, read and resume sessions in a browser on the terminal; `baton` alone does the same
    Browse(browse::Args),
    /// Search everything that was said and done; new sessions are read first
    Search(search::Args),
    /// Answer a question from past sessions, within a token budget
    Recall(recall::Args),
    /// Show one session and its episode, or a place in it
    Show(show::Args),
    /// Go on with a session in its agent, in its directory
    Resume(resume::Args),
    /// Close a session now and index it
    Close(close::Args),
    /// Correct what is told of a session: its title, decisions, fixes, open items
    Correct(correct::Args),
    /// Show what the last session of a project leaves to the next
    Handoff(handoff::Args),
    /// List sessions by day, one line each: goal, outcome, open work
    Timeline(timeline::Args),
    /// Open pages about your sessions in a browser
    Ui(ui::Args),
    /// List sessions and their states
    Sessions(sessions::Args),
    /// List sessions that are not fully indexed yet
    Unindexed(unindexed::Args),
    /// Index a range of history now, or count what it would index
    Sync(sync::Args),
    /// Find the sessions that changed or read a file, or made decisions about it
    #[command(visible_alias = "file")]
    Blame(blame::Args),
    /// Find what fixed an error before, and what did not help
    Fix(fix::Args),
    /// Show how a command is really run here, and how often it succeeds
    How(how::Args),
    /// Show recurring sequences, commands that mostly fail, and retries
    Patterns(patterns::Args),
    /// Show recurring sequences, commands that mostly fail, and retries
    #[command(hide = true)]
    Workflows(patterns::Args),
    /// Show what runs, what was finished today, what is open and what was spent
    Today(today::Args),
    /// Show a project: its sessions, decisions, open work, files and checks
    Project(project_overview::Args),
    /// Show what is known around a thing, also as it was on an earlier day
    Graph(graph::Args),
    /// Manage the Markdown notes written for people
    Vault(vault::Args),
    /// Share sessions with your other machines and your team, through a folder that reads nothing
    Relay(relay::Args),
    /// Forget sessions: delete what is stored about them and never read them again
    Forget(forget::Args),
    /// Shorten old conversations to what their episodes need
    Keep(keep::Args),
    /// Rebuild what is stored, with the current filter and redaction rules
    Reindex(reindex::Args),
    /// Have a model enrich stored sessions now
    Enrich(enrich::Args),
    /// Show what your agents' tokens cost at list prices, and Baton's own model calls
    Costs(costs::Args),
    /// Explain why a session is in its state, event by event, and what comes next
    Explain(explain::Args),
    /// Replay an exported log, event by event
    Replay(replay::Args),
    /// Show the state of the daemon, the log and the memory
    Status(status::Args),
    /// Write everything that was recorded to one file
    Backup(backup::Args),
    /// Inspect, export, import and repair the event log
    Log(log::Args),
    /// Show how fast hooks are answered, and which failed
    HookStats(hook_stats::Args),
    /// Show the daemon's log
    Logs(logs::Args),
    /// Print long help on a topic, or list the topics
    Help(help::Args),
    /// Print a completion script for a shell
    Completions(completions::Args),
    /// Set Baton up in the agents found here, or in those named: hooks, MCP server, guidance
    Install(install::Args),
    /// Remove what `baton install` added to agents
    Uninstall(uninstall::Args),
    /// Check that everything is installed and works, with a fix for each problem
    Doctor(doctor::Args),
    /// Run the daemon as a user service that starts at login
    Service(service::Args),
    /// Switch session tracking on or off, for all projects or for one
    SessionTracking(session_tracking::Args),
    /// Show the configuration and its sources, or import a graphiti.config.json
    Config(config::Args),
    /// Start the daemon (other commands do this automatically)
    Daemon(daemon::Args),
    /// Tell whether there is a newer version
    Update(update::Args),
    /// Stop the daemon and wait until its process has exited
    Stop(stop::Args),
    /// Run the MCP server for agents on standard input and output
    Mcp(mcp::Args),
    /// Report an agent's event to the daemon, as baton-hook does
    Hook(hook::Args),
    /// Measure how fast Baton is on this machine
    Bench(bench::Args),
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
    Archive(#[from] baton_upkeep::archive::Error),
    /// The import failed.
    #[error(transparent)]
    Import(#[from] baton_upkeep::archive::ImportError),
    /// The home's lock could not be taken.
    #[error(transparent)]
    Lock(baton_base::lock::LockError),
    /// A backup would not be whole.
    #[error("{0}")]
    Backup(String),
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
    Installer(#[from] baton_install::Error),
    /// `install` could not make a change.
    #[error(transparent)]
    Install(baton_install::ChangeError),
    /// The service could not be managed.
    #[error(transparent)]
    Service(#[from] crate::service::Error),
    /// Confirmation is needed, but there is no terminal to ask on.
    #[error("nothing was changed: there is no terminal to ask on; run it with --yes if this is what you want")]
    NotAgreed,
    /// The relay's folder could not be exchanged with its repository; the message says why.
    #[error("{0}")]
    RelayGit(String),
    /// No agent could go on with a session; the message says why.
    #[error("{0}")]
    Resume(String),
    /// The browser cannot draw on the terminal; the message says why.
    #[error("{0}")]
    Browse(String),
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

/// The whole command line with the words that help takes, for completions and man pages.
pub fn command_line() -> clap::Command {
    help::completed(command())
}

/// The whole command line, for help.
fn command() -> clap::Command {
    overview::complete(Cli::command())
}

/// Parses the command line and returns it with the way to report errors. If it was not understood, or asks for help,
/// this has printed the text already and only the exit code is left.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<(Cli, ErrorFormat), ExitCode> {
    let mut arguments: Vec<OsString> = word_args::options_first(arguments.into_iter().collect());
    if arguments.iter().skip(1).all(|argument| argument == "--examples") && browse::has_screen() {
        arguments.push("browse".into());
    }
    let error_format = ErrorFormat::from_arguments(&arguments);
    let parsed = |mut command: clap::Command| {
        let mut matches = command.try_get_matches_from_mut(&arguments)?;
        let name = matches.subcommand_name().unwrap_or_default();
        if matches.get_flag(EXAMPLES) && overview::WITHOUT_EXAMPLES.contains(&name) {
            let why = format!("--examples works only with commands that query sessions, not with `{name}`");
            return Err(command.error(ErrorKind::ArgumentConflict, why));
        }
        Cli::from_arg_matches_mut(&mut matches)
    };
    // The endings of all help texts are built only when one is shown.
    let cli = parsed(Cli::command()).or_else(|_| parsed(command()));
    cli.map(|cli| (cli, error_format)).map_err(|error| error_format.print_usage_error(&best_first(error)))
}

/// Puts the most similar command first; clap lists it last.
fn best_first(mut error: clap::Error) -> clap::Error {
    if let Some(ContextValue::Strings(names)) = error.get(ContextKind::SuggestedSubcommand) {
        let names = names.iter().rev().cloned().collect();
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(names));
    }
    error
}

/// Parses a number within bounds; a bound of `u32::MAX` or more is none.
fn number<T: TryFrom<u64>, const LEAST: u64, const MOST: u64>(text: &str) -> Result<T, String> {
    let number = text.parse().ok().filter(|number| (LEAST..=MOST).contains(number));
    number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| match MOST < u64::from(u32::MAX) {
        true => format!("write a number from {LEAST} to {MOST}"),
        false => format!("write a number, at least {LEAST}"),
    })
}

/// Runs the command.
pub fn run(cli: Cli) -> Result<ExitCode, Error> {
    let environment = match &cli.command {
        // Needs no environment; a package build has none.
        Command::Completions(args) => return Ok(completions::run(args)),
        // Help is compiled into the program.
        Command::Help(args) => return help::run(args),
        // Needs only a file.
        Command::Replay(args) if args.reads_a_file() => return replay::file(args),
        // Must succeed in any environment.
        Command::Hook(args) => return Ok(hook::run(args)),
        // Runs another program.
        Command::Bench(args) => return Ok(bench::run(args)?),
        _ => Environment::read()?,
    };
    // Lives until the command has ended.
    let throwaway = cli.examples.then(throwaway).transpose()?;
    let environment = throwaway.as_ref().map_or(environment, |throwaway| throwaway.environment().clone());
    let done = match cli.command {
        Command::Browse(args) => browse::run(&environment, &args),
        Command::Search(args) => search::run(&environment, &args),
        Command::Keep(args) => keep::run(&environment, &args),
        Command::Update(args) => update::run(&environment, &args),
        Command::Backup(args) => backup::run(&environment, &args),
        Command::Ui(args) => ui::run(&environment, &args, throwaway.is_some()),
        Command::Blame(args) => blame::run(&environment, &args),
        Command::Fix(args) => fix::run(&environment, &args),
        Command::How(args) => how::run(&environment, &args),
        Command::Patterns(args) | Command::Workflows(args) => patterns::run(&environment, &args),
        Command::Today(args) => today::run(&environment, &args),
        Command::Project(args) => project_overview::run(&environment, &args),
        Command::Graph(args) => graph::run(&environment, &args),
        Command::Recall(args) => recall::run(&environment, &args),
        Command::Timeline(args) => timeline::run(&environment, &args),
        Command::Show(args) => show::run(&environment, &args),
        Command::Resume(args) => resume::run(&environment, &args),
        Command::Close(args) => close::run(&environment, &args),
        Command::Correct(args) => correct::run(&environment, &args),
        Command::Handoff(args) => handoff::run(&environment, &args),
        Command::Sessions(args) => sessions::run(&environment, &args),
        Command::Unindexed(args) => unindexed::run(&environment, &args),
        Command::Sync(args) => sync::run(&environment, &args),
        Command::Vault(args) => vault::run(&environment, &args),
        Command::Relay(args) => relay::run(&environment, &args),
        Command::Forget(args) => forget::run(&environment, &args),
        Command::Reindex(args) => reindex::run(&environment, &args),
        Command::Enrich(args) => enrich::run(&environment, &args),
        Command::Costs(args) => costs::run(&environment, &args),
        Command::Status(args) => status::run(&environment, &args),
        Command::Log(args) => log::run(&environment, &args),
        Command::HookStats(args) => hook_stats::run(&environment, &args),
        Command::Logs(args) => logs::run(&environment, &args),
        Command::Help(args) => help::run(&args),
        Command::Completions(args) => Ok(completions::run(&args)),
        Command::Explain(args) => explain::run(&environment, &args),
        Command::Replay(args) => replay::live(&environment, &args),
        Command::Install(args) => install::run(&environment, &args),
        Command::Uninstall(args) => uninstall::run(&environment, &args),
        Command::Doctor(args) => doctor::run(&environment, &args),
        Command::Service(args) => service::run(&environment, &args),
        Command::SessionTracking(args) => session_tracking::run(&environment, &args),
        Command::Config(args) => config::run(&environment, &args),
        Command::Daemon(args) => daemon::run(&environment, &args),
        Command::Stop(args) => stop::run(&environment, &args),
        Command::Mcp(args) => mcp::run(&environment, &args),
        Command::Hook(args) => Ok(hook::run(&args)),
        Command::Bench(args) => Ok(bench::run(&args)?),
    };
    done.map_err(|error| name_examples(error, &environment))
}

/// Adds to "not found" where the example sessions are, if questions are answered from them.
fn name_examples(mut error: Error, environment: &Environment) -> Error {
    if let Error::Client(client::Error::Refused(failure)) = &mut error
        && failure.code == code::NOT_FOUND
        && examples::stand_in(environment).is_some()
    {
        failure.message.push_str("; for a session of the examples add --examples, as in `baton --examples show ID`");
    }
    error
}

/// Starts a daemon on the example sessions.
fn throwaway() -> Result<Throwaway, Error> {
    let folder = examples::anywhere().ok_or_else(|| {
        Error::Usage("the example sessions are part of a checkout of Baton; run this command in one".to_owned())
    })?;
    start_examples(&folder)
}

fn start_examples(folder: &std::path::Path) -> Result<Throwaway, Error> {
    let throwaway = Throwaway::start(folder)?;
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

/// Parses the name of an agent.
fn agent(typed: &str) -> Result<Agent, String> {
    Agent::named(typed).ok_or_else(|| format!("there is no such agent; there are {}", Agent::names()))
}

/// Normalises a session id or the beginning of one: hexadecimal digits become lower case.
fn session(typed: &str) -> String {
    let is_hexadecimal = typed.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    if is_hexadecimal { typed.to_ascii_lowercase() } else { typed.to_owned() }
}

#[cfg(test)]
mod tests;
