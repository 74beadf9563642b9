//! `baton enrich`: has a model enrich episodes now.

use std::process::ExitCode;

use baton_protocol::answer::{Enrich, EnrichFailure};
use baton_protocol::{EnrichParams, method};

use super::Error;
use crate::environment::{self, Environment};
use crate::print::{self, Output, Progress};

/// Longest silence accepted during the call; the daemon reports progress ten times a second.
const SILENT: std::time::Duration = std::time::Duration::from_secs(120);

const HELP: &str = "\
Sends the filtered, redacted conversation of a session to the model configured as llm.* in config.json, and replaces \
the episode with the model's version, under the same uuid. Nothing is ever sent while llm.enabled is false. Sessions \
that are closed while a model is enabled are enriched automatically; this command is for earlier ones, and for those \
that should not wait: it starts at once, whatever failed before. A session that is already enriched and has not \
changed since costs nothing.

Without SESSION it enriches the caller's own session, or else the only open one of this directory. An open session is \
indexed first.

The budgets apply (llm.session_budget_usd, llm.daily_budget_usd): what exceeds them is left out. --max-usd replaces \
the daily budget for this run. `baton sync --dry-run` estimates beforehand what everything would cost.

JSON: \
{\"status\",\"sessions\",\"enriched\",\"unchanged\",\"over_budget\",\"failures\",\"failed\":[{\"session_id\",\"why\"}],\
\"dropped_claims\",\"unseen\",\"not_held\",\"calls\",\"unknown_calls\",\"usd\",\"message\"}.

Examples:
  baton enrich                         the open session of this directory
  baton enrich a94e0d17                this one
  baton enrich --all --max-usd 2       everything that is not enriched, for two dollars at most";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// A session's id, or the beginning of one [default: the open session of this directory]
    #[arg(value_name = "SESSION", conflicts_with = "all")]
    session: Option<String>,
    /// All sessions that have ended, have an episode and are not enriched
    #[arg(long)]
    all: bool,
    /// Budget of this run in US dollars, instead of the daily one
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

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let params = EnrichParams {
        session: args.session.as_deref().map(super::session),
        all: args.all,
        max_usd: args.max_usd,
        caller: environment::caller(),
    };
    let progress = Progress::new();
    let result = super::ask(environment, |client| {
        client.set_answer_timeout(SILENT);
        client.call_raw(method::ENRICH, &params, |update| progress.show(&update))
    });
    progress.end();
    let result = result?;
    let done: Enrich = super::parse_result(&result)?;
    let output = Output::new();
    if args.json {
        output.json(&result);
    } else {
        output.line(&print::plain(&done.message));
        by_reason(&done.failed).iter().for_each(|line| print::note(line));
    }
    let is_done = done.failures == 0 && (args.all || done.over_budget == 0);
    Ok(if is_done { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Groups the failed sessions by reason, one line each, in the order in which the reasons first occur.
fn by_reason(failed: &[EnrichFailure]) -> Vec<String> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for EnrichFailure { session_id, why } in failed {
        match groups.iter_mut().find(|(known, _)| known == why) {
            Some((_, sessions)) => sessions.push(session_id),
            None => groups.push((why, vec![session_id])),
        }
    }
    groups.iter().map(|(why, sessions)| format!("{}: {}", sessions.join(", "), print::one_line(why, 600))).collect()
}

#[cfg(test)]
mod tests {
    use super::{EnrichFailure, by_reason, usd};

    #[test]
    fn a_reason_is_shown_once() {
        let failed = |session_id: &str, why: &str| EnrichFailure { session_id: session_id.into(), why: why.into() };
        let all = [failed("a", "no key"), failed("b", "over budget"), failed("c", "no key")];
        assert_eq!(by_reason(&all), ["a, c: no key", "b: over budget"]);
    }

    #[test]
    fn an_amount_is_a_number_of_dollars() {
        for (typed, amount) in [("2", Some(2.0)), ("$0.50", Some(0.5)), ("-1", None), ("nan", None), ("two", None)] {
            assert_eq!(usd(typed).ok(), amount, "{typed}");
        }
    }
}
