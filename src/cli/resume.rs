//! `baton resume`: goes on with a session in its agent.

use std::process::ExitCode;

use baton_protocol::answer::{Row, Search, Sessions, Show};
use baton_protocol::{SearchParams, SessionsParams, ShowParams, code, method};

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
either it takes the last session of this directory's project. If words fit several sessions, they are listed and none \
is started.

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
    let row = match args.words.as_slice() {
        [] => last_of_project(environment)?,
        words => match find(environment, words)? {
            Found::One(row) => *row,
            Found::Several(found) => {
                list(&found, args.json, &output);
                return Ok(ExitCode::FAILURE);
            }
        },
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
    Several(Search),
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
        _ => Ok(Found::Several(found)),
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

/// The last session of this directory's project, except the one that asks.
fn last_of_project(environment: &Environment) -> Result<Row, Error> {
    let params = SessionsParams { project: Some(super::project(".")), ..SessionsParams::default() };
    let result = super::ask(environment, |client| client.call_raw(method::SESSIONS, &params, |_| {}))?;
    let found: Sessions = super::parse_result(&result)?;
    let asking = environment::caller().agent_session;
    let may =
        |row: &Row| Some(&row.session_id) != asking.as_ref() && row.message_count > 0 && resume::line(row).is_some();
    let last = found.sessions.into_iter().find(may);
    last.ok_or_else(|| {
        let next = "name one by its id or by words, as in `baton resume rotate token`";
        Error::Resume(format!("this directory's project has no session to go on with; {next}"))
    })
}

fn list(found: &Search, is_json: bool, output: &Output) {
    if is_json {
        let entry = |hit: &baton_protocol::answer::Hit| serde_json::json!({ "session_id": hit.session_id, "title": hit.title, "resume": hit.resume });
        let sessions: Vec<_> = found.hits.iter().map(entry).collect();
        output.data(&serde_json::json!({ "sessions": sessions }).to_string());
        return;
    }
    output.line("Several sessions fit; name one by its id:");
    for hit in &found.hits {
        let (id, title) = (output.id(&hit.session_id), print::one_line(&hit.title, 100));
        output.line(&format!("  baton resume {}  {}", output.styled(Style::Strong, &id), print::plain(&title)));
    }
}
