//! `baton log verify`: reads and compares everything that is stored.

use std::process::ExitCode;

use baton_base::clock::{Clock, SystemClock};
use baton_protocol as protocol;
use baton_protocol::answer::Verify;
use baton_protocol::{VerifyParams, method};
use baton_upkeep::verify;

use super::super::Error;
use super::{LogAccess, open_log};
use crate::environment::Environment;
use crate::print::{self, Output, Progress, Style};

const HELP: &str = "\
Reads every event and checks the chain that links them, gaps, and every session's history. Compares the index with the \
segments, both ways; the session table with the events; every conversation and note in use with its hash; and the \
memory with a freshly built one. Nothing is changed. A running daemon is asked and keeps working meanwhile; if none \
runs, or none can start, the files are read directly, which takes as much disk space again as the log and the memory.

JSON: \
{\"clean\",\"complete\",\"position\",\"chain\",\"state_hash\",\"checked\":{…},\"findings\":[{\"what\",\"place\",\"fix\"}],\
\"found\",\"left_out\":[…],\"seconds\",\"bytes_per_second\"}

Exit code 0 only if nothing is wrong.

Examples:
  baton log verify                     is everything as it was written?
  baton log verify --quick             without the memory, which takes longest";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// Leave the memory out
    #[arg(long)]
    quick: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let progress = Progress::new();
    let verified = match open_log(environment)? {
        LogAccess::Daemon(mut client) => {
            let params = VerifyParams { quick: args.quick };
            client.call(method::LOG_VERIFY, &params, |update| progress.show(&update)).map_err(Error::from)
        }
        LogAccess::Home(lock) => {
            let mut show = |what: &str, done, total| {
                progress.show(&protocol::Progress { what: what.to_owned(), done, total });
                true
            };
            let now = SystemClock::default().now();
            let verified = verify::verify_home(&environment.home, &lock, now, args.quick, &mut show);
            verified.map_err(|source| Error::Log { path: environment.home.join("log"), source })
        }
    };
    progress.end();
    let verified = verified?;
    let output = Output::new();
    match args.json {
        true => output.data(&serde_json::to_string(&verified).unwrap_or_default()),
        false => report(&output, &verified),
    }
    Ok(if verified.clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn report(output: &Output, verified: &Verify) {
    let checked = &verified.checked;
    let read = checked.segment_bytes + checked.conversation_bytes;
    output.line(&format!(
        "Read {} events of {} streams in {} segments, {} conversations and {} notes: {} in {:.1} s, {} a second.",
        checked.events,
        checked.streams,
        checked.segments,
        checked.conversations,
        checked.notes,
        print::size(read),
        verified.seconds,
        print::size(verified.bytes_per_second)
    ));
    output.line(&format!(
        "Compared {} records and {} keys of the index, {} rows of the table, {} documents of the memory \
         (turns, episodes, entities, facts).",
        checked.indexed, checked.keys, checked.sessions, checked.documents
    ));
    for finding in &verified.findings {
        output.line("");
        let what = format!("{}: {}", finding.place, finding.what);
        output.line(&output.styled(Style::Bad, &print::plain(&what)));
        output.line(&format!("  {}", print::plain(&finding.fix)));
    }
    let more = verified.found.saturating_sub(verified.findings.len() as u64);
    if more > 0 {
        output.line(&format!("… and {more} more"));
    }
    output.line("");
    for left_out in &verified.left_out {
        output.line(&print::plain(&format!("Not checked: {left_out}.")));
    }
    let verdict = match verified.clean {
        true => output.styled(Style::Good, "Nothing is wrong."),
        false if verified.found == 1 => output.styled(Style::Bad, "1 thing is wrong."),
        false if verified.found > 1 => output.styled(Style::Bad, &format!("{} things are wrong.", verified.found)),
        false => "It was not read to the end.".to_owned(),
    };
    output.line(&format!("{verdict} The log ends at position {}, chain {}.", verified.position, verified.chain));
}
