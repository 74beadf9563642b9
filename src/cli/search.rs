//! `baton search`: the main job.

use std::process::ExitCode;

use baton_events::protocol::answer::{Hit, Search};
use baton_events::protocol::{SearchParams, method};
use clap::Args;

use super::Error;
use crate::client::{self, Client};
use crate::environment::{self, Environment};
use crate::examples::{self, Throwaway};
use crate::print::{self, Output, Progress, Style};

#[derive(Debug, Args)]
pub(super) struct Typed {
    /// What to look for: words, names, paths, error codes
    #[arg(required = true)]
    query: Vec<String>,
    /// Only this project: a directory, or a name that fits one project
    #[arg(long, short, value_name = "P")]
    project: Option<String>,
    /// How many sessions to show
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100))]
    limit: u32,
    /// Answer at once, without waiting until all history is read
    #[arg(long)]
    no_wait: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, typed: &Typed) -> Result<ExitCode, Error> {
    let params = SearchParams {
        query: typed.query.join(" "),
        project: typed.project.as_deref().map(super::project),
        limit: typed.limit,
        wait: !typed.no_wait,
        caller: environment::caller(),
    };
    let examples = examples::stand_in(environment);
    if let Some(folder) = &examples {
        print::note(&format!(
            "No transcripts below {} yet: answering from the example sessions in {}.\n",
            environment.claude_config_dir.display(),
            folder.display()
        ));
        let throwaway = Throwaway::start(folder)?;
        return ask(&mut throwaway.client()?, &params, typed);
    }
    let mut client = Client::connect_or_start(environment)?;
    let own = environment.claude_config_dir.join("projects");
    let reads_own = client.welcome().roots.iter().any(|root| std::path::Path::new(root) == own);
    if !reads_own {
        print::note(&format!(
            "The running daemon does not read {}: it was started with another CLAUDE_CONFIG_DIR. Run `baton stop` first \
             to change that.\n",
            own.display()
        ));
    }
    ask(&mut client, &params, typed)
}

fn ask(client: &mut Client, params: &SearchParams, typed: &Typed) -> Result<ExitCode, Error> {
    let progress = Progress::new();
    let result = client.call_raw(method::SEARCH, params, |told| progress.show(&told));
    progress.end();
    let result = result?;
    let output = Output::new();
    if typed.json {
        output.json(&result);
        return Ok(ExitCode::SUCCESS);
    }
    let found: Search =
        serde_json::from_str(result.get()).map_err(|error| client::Error::Garbled(error.to_string()))?;
    show(&output, &found);
    Ok(ExitCode::SUCCESS)
}

fn show(output: &Output, found: &Search) {
    let mut rank = 0;
    for hit in &found.hits {
        if hit.rank != rank {
            if rank > 0 {
                output.line("");
            }
            rank = hit.rank;
            heading(output, hit);
        }
        let (place, indent) = match hit.line {
            Some(line) => (format!("line {line}, {}: ", hit.role.as_deref().unwrap_or("?")), 5),
            None => (String::new(), 5),
        };
        let width = output.width().saturating_mul(2).saturating_sub(indent + place.len());
        let snippet = print::one_line(&hit.snippet, width);
        output.line(&format!("     {}{snippet}", output.styled(Style::Faint, &place)));
    }
    if found.hits.is_empty() {
        output.line(match found.freshness.position {
            0 => "Nothing found: no session was ever read. `baton status` tells where transcripts are looked for.",
            _ => "Nothing found. Fewer or other words may help; `baton sessions` lists what is there.",
        });
    }
    let fresh = &found.freshness;
    if fresh.pending > 0 {
        let (noun, verb) = if fresh.pending == 1 { ("session", "is") } else { ("sessions", "are") };
        print::note(&format!("\n{} {noun} {verb} still being read and may be missing.", fresh.pending));
    }
    if !fresh.failed.is_empty() {
        let failed = fresh.failed.join(", ");
        print::note(&format!("\nWhat is new in {failed} could not be read and is missing; `baton status` says why."));
    }
}

fn heading(output: &Output, hit: &Hit) {
    let project = hit.project.as_deref().map_or("", |path| path.rsplit(['/', '\\']).next().unwrap_or(path));
    let day = hit.timestamp.as_deref().map_or("", |at| at.get(..10).unwrap_or(at));
    let id: String = hit.session_id.chars().take(if hit.parent_session_id.is_some() { 16 } else { 8 }).collect();
    let of = hit
        .parent_session_id
        .as_deref()
        .map_or(String::new(), |parent| format!(", subagent of {}", parent.chars().take(8).collect::<String>()));
    let about = [project, day, &id].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
    let width = output.width().saturating_sub(about.len() + of.len() + 8).max(20);
    let title = match print::one_line(&hit.title, width) {
        title if title.is_empty() => "(no title)".to_owned(),
        title => title,
    };
    let number = format!("{:>2}.", hit.rank);
    output.line(&format!(
        "{} {}  {}",
        output.styled(Style::Faint, &number),
        output.styled(Style::Strong, &title),
        output.styled(Style::Faint, &format!("({about}{of})"))
    ));
}
