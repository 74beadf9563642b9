//! `baton resume`: goes on with a session in its agent.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use baton_base::transcript_file::TranscriptHeads;
use baton_conversation::record::SessionId;
use baton_protocol::answer::{Hit, Row, Search, Sessions, Show};
use baton_protocol::{Agent, SearchParams, SessionsParams, ShowParams, code, method};
use serde::Serialize;

use super::Error;
use super::sessions::is_over;
use crate::client;
use crate::environment::{self, Environment, in_time};
use crate::install::hook_command::quoted;
use crate::print::{self, Output, Style};
use crate::program;

/// Most sessions listed for words that fit several.
const LISTED: u32 = 5;
/// Shortest beginning of an id that is looked up as one.
const MIN_ID_CHARS: usize = 4;

const HELP: &str = "\
Starts the session's agent with the session, in the directory in which the session began: `claude --resume ID`, \
`codex resume ID` and so on. Names a session by its id, the beginning of one, or words that are searched for; without \
either it takes the last session of this directory's project. If words fit several sessions, or the project has none, \
sessions are listed and none is started.

A session that is still open somewhere is refused, because two agents would write one transcript: end it there, or \
close it with `baton close ID`. The directory must exist and be yours.

JSON: {\"session_id\",\"agent\",\"directory\",\"command\":[…]} with --print; with several sessions \
{\"sessions\":[{\"session_id\",\"title\",\"resume\"}]}.

Examples:
  baton resume                       the last session of this project
  baton resume a94e0d17              this session
  baton resume rotate refresh token  the session that these words find
  baton resume a94e0d17 --print      only print the command";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// A session's id, the beginning of one, or words to search for
    #[arg(value_name = "QUERY|ID")]
    words: Vec<String>,
    /// Print the command and start nothing
    #[arg(long)]
    print: bool,
    /// Print one JSON object and start nothing
    #[arg(long)]
    json: bool,
}

/// How a session is gone on with.
#[derive(Serialize)]
struct Plan<'a> {
    session_id: &'a str,
    agent: Agent,
    directory: &'a str,
    command: Vec<String>,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let output = Output::new();
    let found = match args.words.as_slice() {
        [] => last_of_project(environment)?,
        words => find(environment, words)?,
    };
    let row = match found {
        Found::One(row) => *row,
        Found::Several(why, choices) => {
            list(why, &choices, args.json, &output);
            return Ok(ExitCode::FAILURE);
        }
    };
    let plan = plan(&row)?;
    if args.json {
        output.data(&serde_json::to_string(&plan).unwrap_or_default());
        return Ok(ExitCode::SUCCESS);
    }
    let line = plan.command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    if args.print {
        output.line(&print::plain(&format!("cd {} && {line}", quoted(plan.directory))));
        return Ok(ExitCode::SUCCESS);
    }
    if !is_over(&row) {
        return Err(Error::Resume(format!(
            "session {} is still open; end it in its agent, or close it with `baton close {0}`",
            row.session_id
        )));
    }
    let directory = own_directory(plan.directory).map_err(|why| {
        Error::Resume(format!("the session's directory {} {why}; `{line}` goes on with it elsewhere", plan.directory))
    })?;
    let name = plan.command.first().map_or("", String::as_str);
    let Some(program) = program::find(name) else {
        return Err(Error::Resume(format!("`{name}` is not on the path; install {} or add it", plan.agent.title())));
    };
    print::note(&print::plain(&format!("{line}  (in {})", plan.directory)));
    start(&program, plan.command.get(1..).unwrap_or_default(), &directory).map_err(|error| {
        let directory = quoted(plan.directory);
        Error::Resume(format!("`{name}` could not be started: {error}; try it yourself: cd {directory} && {line}"))
    })
}

enum Found {
    One(Box<Row>),
    /// Why there is more than one, and those to choose from.
    Several(&'static str, Vec<Choice>),
}

/// A session to choose.
#[derive(Serialize)]
struct Choice {
    session_id: String,
    title: String,
    resume: Option<String>,
}

/// The session with an id, or else those that the words find.
fn find(environment: &Environment, words: &[String]) -> Result<Found, Error> {
    if let [word] = words
        && word.chars().count() >= MIN_ID_CHARS
    {
        match show(environment, word) {
            Err(Error::Client(client::Error::Refused(failure))) if failure.code == code::NOT_FOUND => {}
            // A search reads first what is new.
            Ok(row) if row.directory.is_none() => {
                search(environment, word)?;
                return Ok(Found::One(Box::new(show(environment, word)?)));
            }
            shown => return Ok(Found::One(Box::new(shown?))),
        }
    }
    let query = words.join(" ");
    let mut found = search(environment, &query)?;
    let mut seen = std::collections::BTreeSet::new();
    found.hits.retain(|hit| hit.resume.is_some() && seen.insert(hit.session_id.clone()));
    match found.hits.as_slice() {
        [] => Err(Error::Resume(format!(
            "no session that an agent can go on with fits {query:?}; `baton sessions` lists them all"
        ))),
        [hit] => Ok(Found::One(Box::new(show(environment, &hit.session_id)?))),
        _ => {
            let choice = |hit: Hit| Choice { session_id: hit.session_id, title: hit.title, resume: hit.resume };
            Ok(Found::Several("Several sessions fit", found.hits.into_iter().map(choice).collect()))
        }
    }
}

fn search(environment: &Environment, query: &str) -> Result<Search, Error> {
    let (query, limit) = (query.to_owned(), LISTED);
    let params = SearchParams { query, limit, caller: environment::caller(), ..SearchParams::default() };
    let result = super::ask(environment, |client| client.call_raw(method::SEARCH, &params, |_| {}))?;
    Ok(super::parse_result(&result)?)
}

fn show(environment: &Environment, session: &str) -> Result<Row, Error> {
    let params = ShowParams { session: super::session(session) };
    let result = super::ask(environment, |client| client.call_raw(method::SHOW, &params, |_| {}))?;
    Ok(super::parse_result::<Show>(&result)?.row)
}

/// The last session of this directory's project, or if it has none, the last ones of all.
fn last_of_project(environment: &Environment) -> Result<Found, Error> {
    let of_project = match last(environment, Some(super::project("."))) {
        Err(Error::Client(client::Error::Refused(failure))) if failure.code == code::NOT_FOUND => None,
        found => found?.into_iter().next(),
    };
    if let Some((row, _)) = of_project {
        return Ok(Found::One(Box::new(row)));
    }
    let choice = |(row, command): (Row, Vec<String>)| {
        let agent = row.agent.as_deref().and_then(Agent::parse).map_or("", Agent::title);
        let title = format!("{agent} in {}", row.directory.or(row.project).unwrap_or_default());
        let line = command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        Choice { session_id: row.session_id, title, resume: Some(line) }
    };
    let choices: Vec<Choice> = last(environment, None)?.into_iter().take(LISTED as usize).map(choice).collect();
    if choices.is_empty() {
        let next = "`baton sessions` lists all that are known";
        return Err(Error::Resume(format!("there is no session yet that an agent can go on with; {next}")));
    }
    Ok(Found::Several("This directory's project has no session to go on with. The last ones of others", choices))
}

/// The sessions that an agent can go on with, the last one first, except the one that asks.
fn last(environment: &Environment, project: Option<String>) -> Result<Vec<(Row, Vec<String>)>, Error> {
    let params = SessionsParams { project, ..SessionsParams::default() };
    let result = super::ask(environment, |client| client.call_raw(method::SESSIONS, &params, |_| {}))?;
    let found: Sessions = super::parse_result(&result)?;
    let asking = environment::caller().agent_session;
    let may = |row: &Row| Some(&row.session_id) != asking.as_ref() && row.message_count > 0;
    let rows = found.sessions.into_iter().filter(may);
    Ok(rows.filter_map(|row| command(&row).map(|(_, words)| (row, words))).collect())
}

fn command(row: &Row) -> Option<(Agent, Vec<String>)> {
    let agent = row.agent.as_deref().and_then(Agent::parse).filter(|_| row.parent_session_id.is_none())?;
    let session = SessionId::new(&row.session_id)?;
    Some((agent, TranscriptHeads::default().resume(agent, &session, row.file_path.as_deref()?)?))
}

fn plan(row: &Row) -> Result<Plan<'_>, Error> {
    let (id, none) = (&row.session_id, "no agent can go on with");
    let (agent, command) = command(row).ok_or_else(|| {
        let what = match (&row.parent_session_id, &row.source) {
            (Some(parent), _) => format!("it is a subagent's; its parent can: `baton resume {parent}`"),
            (None, Some(_)) => format!("it is a note; `baton show {id}` shows it"),
            (None, None) => match row.agent.as_deref().and_then(Agent::parse).map(Agent::home) {
                Some(home) if home.resume.is_empty() => format!("{} has no command for it", home.title),
                _ => "no transcript that names its whole id is there any more, or its id is unusual".to_owned(),
            },
        };
        Error::Resume(format!("{none} {id}: {what}"))
    })?;
    let directory = row.directory.as_deref();
    let directory = directory.ok_or_else(|| {
        let line = command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        Error::Resume(format!("{id}: its transcript names no directory; run `{line}` where it belongs"))
    })?;
    Ok(Plan { session_id: id, agent, directory, command })
}

fn list(why: &str, choices: &[Choice], is_json: bool, output: &Output) {
    if is_json {
        output.data(&serde_json::json!({ "sessions": choices }).to_string());
        return;
    }
    output.line(&format!("{why}; name one by its id:"));
    for choice in choices {
        let (id, title) = (output.id(&choice.session_id), print::one_line(&choice.title, 100));
        output.line(&format!("  baton resume {}  {}", output.styled(Style::Strong, &id), print::plain(&title)));
    }
}

/// The directory if it exists and belongs to this user; else what is wrong with it.
fn own_directory(path: &str) -> Result<PathBuf, &'static str> {
    let directory = PathBuf::from(path);
    let looked_at = directory.clone();
    let metadata = in_time(move || std::fs::metadata(looked_at)).ok_or("does not answer")?;
    let metadata = metadata.ok().filter(|it| it.is_dir() && directory.is_absolute()).ok_or("does not exist")?;
    if is_own(&metadata) { Ok(directory) } else { Err("belongs to another user") }
}

#[cfg(unix)]
fn is_own(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    metadata.uid() == rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
fn is_own(_: &std::fs::Metadata) -> bool {
    true
}

/// Replaces this process by the agent. Returns only if it cannot be started.
#[cfg(unix)]
fn start(program: &Path, arguments: &[String], directory: &Path) -> std::io::Result<ExitCode> {
    use std::os::unix::process::CommandExt as _;
    Err(Command::new(program).args(arguments).current_dir(directory).exec())
}

/// Runs the agent to its end.
#[cfg(not(unix))]
fn start(program: &Path, arguments: &[String], directory: &Path) -> std::io::Result<ExitCode> {
    let status = Command::new(program).args(arguments).current_dir(directory).status()?;
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}
