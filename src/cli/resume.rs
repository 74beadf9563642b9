//! `baton resume`: goes on with a session in its agent.

use std::process::ExitCode;

use baton_protocol::answer::{Hit, Row, Search, Sessions, Show};
use baton_protocol::{Agent, SearchParams, SessionsParams, ShowParams, code, method};
use serde::Serialize;

use super::Error;
use crate::client;
use crate::environment::{self, Environment};
use crate::print::{self, Output, Style};
use crate::resume::{self, Plan};

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
    let plan = Plan::new(&row).map_err(Error::Resume)?;
    if args.json {
        output.data(&serde_json::to_string(&plan).unwrap_or_default());
        return Ok(ExitCode::SUCCESS);
    }
    if args.print {
        output.line(&print::plain(&plan.shell()));
        return Ok(ExitCode::SUCCESS);
    }
    let ready = plan.ready().map_err(Error::Resume)?;
    print::note(&print::plain(&ready.note));
    ready.start().map_err(Error::Resume)
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
    let choice = |(row, line): (Row, String)| {
        let agent = row.agent.as_deref().and_then(Agent::parse).map_or("", Agent::title);
        let title = format!("{agent} in {}", row.directory.or(row.project).unwrap_or_default());
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
fn last(environment: &Environment, project: Option<String>) -> Result<Vec<(Row, String)>, Error> {
    let params = SessionsParams { project, ..SessionsParams::default() };
    let result = super::ask(environment, |client| client.call_raw(method::SESSIONS, &params, |_| {}))?;
    let found: Sessions = super::parse_result(&result)?;
    let asking = environment::caller().agent_session;
    let may = |row: &Row| Some(&row.session_id) != asking.as_ref() && row.message_count > 0;
    let rows = found.sessions.into_iter().filter(may);
    Ok(rows.filter_map(|row| resume::line(&row).map(|line| (row, line))).collect())
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
