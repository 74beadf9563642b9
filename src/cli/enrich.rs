//! `baton enrich`: what a model makes of sessions, now.

use std::process::ExitCode;

use baton_events::protocol::answer::Enrich;
use baton_events::protocol::{EnrichParams, method};
use clap::Args;

use super::Error;
use crate::environment::{self, Environment};
use crate::print::{self, Output, Progress};

/// Longest silence of the daemon in the middle of it: it tells its progress ten times a second.
const SILENT: std::time::Duration = std::time::Duration::from_secs(120);

const HELP: &str = "\
Sends the filtered, redacted conversation of a session to the model that llm.* in config.json names, and replaces the episode by \
what it makes of it, under the same uuid. Nothing is ever sent while llm.enabled is false. Sessions that are closed while a model \
is enabled are enriched by themselves; this command is for those before that, and for whoever will not wait: it starts at once, \
whatever went wrong before. What is enriched already, and has not changed since, costs nothing.

Without SESSION the caller's own session is meant, else the only open one of this directory. An open session is indexed first.

The budgets hold (llm.session_budget_usd, llm.daily_budget_usd): what does not fit into them is left. --max-usd is the budget of \
this run instead of the day's. `baton sync --dry-run` tells beforehand what everything would cost.

JSON: {\"status\",\"sessions\",\"enriched\",\"unchanged\",\"over_budget\",\"failures\",\"failed\":[{\"session_id\",\"why\"}],\
\"dropped_claims\",\"unseen\",\"calls\",\"unknown_calls\",\"usd\",\"message\"}.

Examples:
  baton enrich                         the open session of this directory
  baton enrich a94e0d17                this one
  baton enrich --all --max-usd 2       everything that is not enriched, for two dollars at most";

#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(super) struct Typed {
    /// A session's id, or the beginning of one [default: the open session of this directory]
    #[arg(value_name = "SESSION", conflicts_with = "all")]
    session: Option<String>,
    /// All sessions that have an episode and are not enriched
    #[arg(long)]
    all: bool,
    /// Most US dollars for this run, instead of the daily budget
    #[arg(long, value_name = "N", value_parser = usd)]
    max_usd: Option<f64>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

fn usd(typed: &str) -> Result<f64, String> {
    let amount: Option<f64> = typed.trim_start_matches('$').parse().ok();
    amount.filter(|usd| (0.0..=1e6).contains(usd)).ok_or_else(|| "a number of US dollars from 0 to 1000000".to_owned())
}

pub(super) fn run(environment: &Environment, typed: &Typed) -> Result<ExitCode, Error> {
    let params = EnrichParams {
        session: typed.session.as_deref().map(super::session),
        all: typed.all,
        max_usd: typed.max_usd,
        caller: environment::caller(),
    };
    let progress = Progress::new();
    let result = super::ask(environment, |client| {
        client.be_patient(SILENT);
        client.call_raw(method::ENRICH, &params, |told| progress.show(&told))
    });
    progress.end();
    let result = result?;
    let done: Enrich = super::read(&result)?;
    let output = Output::new();
    if typed.json {
        output.json(&result);
    } else {
        output.line(&print::plain(&done.message));
        for failed in &done.failed {
            print::note(&format!("{}: {}", failed.session_id, print::one_line(&failed.why, 400)));
        }
    }
    let is_done = done.failures == 0 && (typed.all || done.over_budget == 0);
    Ok(if is_done { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::usd;

    #[test]
    fn an_amount_is_a_number_of_dollars() {
        for (typed, amount) in [("2", Some(2.0)), ("$0.50", Some(0.5)), ("-1", None), ("nan", None), ("two", None)] {
            assert_eq!(usd(typed).ok(), amount, "{typed}");
        }
    }
}
