//! `baton search`: searches all sessions.

use std::collections::BTreeSet;
use std::process::ExitCode;

use baton_ask::query;
use baton_conversation::record::Timestamp;
use baton_episode::digest::MODEL_MARK;
use baton_protocol::answer::{Hit, Search};
use baton_protocol::{SearchParams, method};
use serde_json::value::RawValue;

use super::{Error, question};
use crate::client::{self, Client};
use crate::environment::{self, Environment, zone};
use crate::examples::{self, Throwaway};
use crate::print::{self, Marks, Output, Progress, Style};
use baton_protocol::Agent;

const WHAT_TO_TYPE: &str = "type words that occur in what you look for, as in `baton search refresh token`; `baton sessions` lists all sessions";

/// Most terminal lines of one passage.
const SNIPPET_LINES: usize = 2;

const HELP: &str = "\
First reads whatever is new in any transcript, and on the first run all history, newest first, with progress \
(--no-wait answers from what is already read and says what may be missing). Finds every session that has some of the \
words; those with all of them and with the rarest come first. Forms of a word, parts of names (`refresh_token`, \
`parseFile`), paths and error codes are found too. Any text is a query; for more control use:
  \"refresh token\"     the words in this order, in one passage
  migrat*             words with this beginning, in any form, up to 50; src/au* for names
  -tokio              no passage with this word; -\"thread pool\" likewise
  file:src/auth.rs    sessions that read or changed it: a path, part of one, or a pattern (*.toml)
  tool:Bash  branch:main          sessions that used or worked on it; part of a name if none matches
  project:shop  agent:codex       sessions of these; of repeated file, tool, branch any may match
  who:me  who:team  who:Ann       yours, others' that a relay brought, one person's or machine's
  state:active        sessions that have not ended; state:indexed, … as in `baton sessions`
  after:7d  before:2026-03-14     by time: a day, a month, a year, yesterday, 12h, 7d, 2w, 3m (months)
A dash before a filter excludes what matches (-after:7d: only what is older); put a value with spaces in quotes. \
Filters alone list sessions, the latest first. A filter with an unknown value matches nothing, and a note says so; \
\"state:x\" in quotes is searched for as text. A name before a colon that is no filter is searched for as a word, and \
a note says so.

Prints the sessions by rank: title, project, day, id; below each up to three passages with transcript line and \
speaker; `baton show ID --line N` opens one. Nothing found is not a failure.

JSON: \
{\"hits\":[{\"rank\",\"score\",\"kind\":\"episode\"|\"turn\",\"session_id\",\"episode_uuid\",\"project\",\"title\", \
\"snippet\",\"line\",\"timestamp\",\"matched\":[\"text\"|\"phrase\"|\"file\"|\"error\"|\"context\"|\"title\"|\"episode\"|\"entity\"| \
\"vector\"],\"said_by\"}],\"freshness\":{\"indexed_now\",\"pending\",\"position\"},\"notes\":[…]}

Examples:
  baton search refresh token race      any of these words; quotes are not needed
  baton search E0382 --project .       in this directory's project only
  baton search refresh token -n 3      three sessions
  baton search '\"lock file\" after:7d'  a phrase, said in the last week
  baton search file:Cargo.toml         the latest sessions that read or changed it
  baton search lock -sqlite -\"thread pool\"   without this word, without this phrase
  baton search -- --no-verify -n       flags as words
  baton show ID --line N               what was said at one of these places";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// What to look for: words, names, paths, error codes
    #[arg(required = true)]
    query: Vec<String>,
    /// How many sessions to show
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10, value_parser = super::number::<u32, 1, 100>)]
    limit: u32,
    #[command(flatten)]
    options: question::Options,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let params = SearchParams {
        query: words(&args.query)?,
        project: args.options.project(),
        limit: args.limit,
        turns: None,
        wait: args.options.waits(),
        stored: false,
        caller: environment::caller(),
    };
    let (result, output) = match examples::stand_in(environment) {
        Some(folder) => {
            print::note(&examples::note(&folder));
            let throwaway = Throwaway::start(&folder)?;
            let mut client = throwaway.client()?;
            let result = call(&mut client, &params)?;
            let output = super::ask::shown(&mut client, args.options.json, &result);
            (result, output)
        }
        None => {
            let mut is_noted = false;
            super::ask_shown(environment, args.options.json, |client| {
                if !std::mem::replace(&mut is_noted, true) {
                    note_refused_root(environment, client);
                }
                call(client, &params)
            })?
        }
    };
    if args.options.json {
        output.json(&result);
    } else {
        show(&output, &params.query, &super::parse_result(&result)?);
    }
    Ok(ExitCode::SUCCESS)
}

/// Joins the query; an error if it is empty.
fn words(typed: &[String]) -> Result<String, Error> {
    let query = super::word_args::join(typed);
    match query.trim().is_empty() {
        true => Err(Error::Usage(format!("the query is empty; {WHAT_TO_TYPE}"))),
        false => Ok(query),
    }
}

/// The message for an empty result, with what to do about it.
fn nothing(query: &str, found: &Search) -> String {
    if found.freshness.pending > 0 {
        return "Nothing found in what is read so far.".to_owned();
    }
    if found.freshness.position == 0 && found.freshness.note.is_none() {
        return "Nothing found: no session of this machine has been read yet. `baton status` shows where transcripts are looked for."
            .to_owned();
    }
    let asked = query::parse(query, Timestamp(0));
    match query.contains(char::is_alphanumeric) {
        true if asked.is_filters_only() && asked.is_restricted() => {
            "No session matches. `baton sessions` lists all of them.".to_owned()
        }
        true => "Nothing found. Fewer or other words may help; `baton sessions` lists what is there.".to_owned(),
        false => format!("Nothing found: there is no word in {query:?}; {WHAT_TO_TYPE}."),
    }
}

fn call(client: &mut Client, params: &SearchParams) -> Result<Box<RawValue>, client::Error> {
    let progress = Progress::new();
    let result = client.call_raw(method::SEARCH, params, |update| progress.show(&update));
    progress.end();
    result
}

/// Notes that the daemon does not read the caller's transcripts, and why.
fn note_refused_root(environment: &Environment, client: &Client) {
    if let Some(why) = &client.welcome().root_refused {
        let own = environment.directory(Agent::ClaudeCode).join("projects");
        print::note(&format!("The daemon does not read {}: {}.\n", own.display(), print::plain(why)));
    }
}

fn show(output: &Output, query: &str, found: &Search) {
    let marks = Marks::of_query(query);
    let mut rank = 0;
    let mut said = BTreeSet::new();
    for (at, hit) in found.hits.iter().enumerate() {
        if hit.rank != rank {
            if rank > 0 {
                output.line("");
            }
            rank = hit.rank;
            said.clear();
            heading(output, hit);
        }
        // Print a passage that several turns repeat only once.
        if said.insert(print::one_line(&hit.snippet, usize::MAX)) {
            passage(output, &marks, hit);
        }
        let is_last = found.hits.get(at + 1).is_none_or(|next| next.rank != rank);
        if let Some(resume) = hit.resume.as_ref().filter(|_| is_last) {
            output.line(&output.styled(Style::Faint, &format!("     {}", print::plain(resume))));
        }
    }
    if found.hits.is_empty() {
        output.line(&print::plain(&nothing(query, found)));
    }
    found.notes.iter().for_each(|note| print::note(&format!("\nNote: {}.", print::plain(note))));
    let fresh = &found.freshness;
    if let Some(note) = &fresh.note {
        print::note(&format!("\n{}", print::plain(note)));
    }
    if fresh.pending > 0 {
        let (noun, verb) = if fresh.pending == 1 { ("session", "is") } else { ("sessions", "are") };
        print::note(&format!("\n{} {noun} {verb} still being read and may be missing.", fresh.pending));
    }
    note_vectors(fresh.vectors.as_deref());
    if fresh.left_out_asking {
        print::note("\nThe latest messages of this session itself were left out; name its id to search them too.");
    }
    if !fresh.failed.is_empty() {
        let failed = fresh.failed.join(", ");
        print::note(&format!("\nWhat is new in {failed} could not be read and is missing; `baton status` says why."));
    }
}

fn passage(output: &Output, marks: &Marks, hit: &Hit) {
    let place = hit.line.map_or_else(String::new, |line| {
        format!(
            "line {line}, {}: ",
            hit.role.as_deref().map_or_else(|| "?".to_owned(), |role| print::one_line(role, 20))
        )
    });
    let beside = 5 + print::columns(&place);
    let fit = output.fit().map_or(usize::MAX, |fit| (fit * SNIPPET_LINES).saturating_sub(beside));
    let said = output.marked(marks, &snippet(hit, fit));
    output.hanging(5, &format!("     {}{said}", output.styled(Style::Faint, &place)));
}

/// Cuts the passage to `fit` columns. The mark of a model's words stays when it is cut.
fn snippet(hit: &Hit, fit: usize) -> String {
    let marks = |text: &str| text.matches(MODEL_MARK).count();
    let shown = print::one_line(&hit.snippet, fit);
    match hit.said_by.is_some() && marks(&shown) < marks(&print::one_line(&hit.snippet, usize::MAX)) {
        true => print::one_line(&hit.snippet, fit.saturating_sub(print::columns(MODEL_MARK))) + MODEL_MARK,
        false => shown,
    }
}

fn heading(output: &Output, hit: &Hit) {
    let project = hit.project.as_deref().map_or("", |path| path.rsplit(['/', '\\']).next().unwrap_or(path));
    let day = hit.timestamp.as_deref().map(zone::day).unwrap_or_default();
    let id = output.id(&hit.session_id);
    let of =
        hit.parent_session_id.as_deref().map_or(String::new(), |parent| format!(", subagent of {}", output.id(parent)));
    let about = [project, &day, &id].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
    let from = hit.from.as_ref().map_or_else(String::new, |from| format!(", by {} on {}", from.name, from.machine));
    let about = print::one_line(&format!("({about}{of}{from})"), usize::MAX);
    let room = output.fit().map_or(usize::MAX, |fit| fit.saturating_sub(print::columns(&about) + 6).max(20));
    let title = match print::one_line(&hit.title, room) {
        title if title.is_empty() => "(no title)".to_owned(),
        title => title,
    };
    let number = format!("{:>2}.", hit.rank);
    output.line(&format!(
        "{} {}  {}",
        output.styled(Style::Faint, &number),
        output.styled(Style::Strong, &title),
        output.styled(Style::Faint, &about)
    ));
}

/// Notes why vectors were not used, if they are configured.
pub(super) fn note_vectors(vectors: Option<&str>) {
    if let Some((_, why)) = vectors.and_then(|state| state.split_once(": ")).filter(|(how, _)| *how != "behind") {
        print::note(&format!("\nSearched by words alone: {}.", print::plain(why)));
    }
}

#[cfg(test)]
mod tests {
    use baton_protocol::answer::Freshness;

    use super::*;

    #[test]
    fn a_passage_that_is_cut_stays_a_models() {
        let of = |snippet: &str, said_by: Option<&str>| Hit {
            snippet: snippet.to_owned(),
            said_by: said_by.map(str::to_owned),
            ..Hit::default()
        };
        let (short, long) = ("a claim · model", "a claim that is longer than what is shown · model, and a measure");
        assert_eq!(snippet(&of(short, Some("model")), 40), short);
        let cut = snippet(&of(long, Some("model")), 40);
        assert!(cut.ends_with("… · model") && print::columns(&cut) <= 40, "{cut}");
        assert!(!snippet(&of(&"word ".repeat(20), None), 40).contains(MODEL_MARK));
        assert_eq!(snippet(&of(short, Some("model")), usize::MAX), short);
    }

    #[test]
    fn an_empty_result_suggests_the_next_step() {
        for empty in ["", "   "] {
            assert!(matches!(words(&[empty.to_owned()]), Err(Error::Usage(_))), "{empty:?}");
        }
        let found =
            |position| Search { freshness: Freshness { position, ..Freshness::default() }, ..Search::default() };
        for (query, position, expected) in [
            ("refresh token", 7, "other words"),
            ("東京", 7, "other words"),
            ("after:2099", 7, "No session matches."),
            ("file:a.rs x", 7, "other words"),
            ("*", 7, "no word in \"*\"; type words"),
            ("** ?", 7, "no word in \"** ?\""),
            ("*", 0, "no session of this machine has been read yet"),
        ] {
            let told = nothing(query, &found(position));
            assert!(told.contains(expected), "{query}: {told}");
        }
        let pending = Freshness { position: 7, pending: 1, ..Freshness::default() };
        let told = nothing("lock", &Search { freshness: pending, ..Search::default() });
        assert!(told.contains("so far") && !told.contains("other words"), "{told}");
    }
}
