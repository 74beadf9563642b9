//! `baton close`: closes a session explicitly.

use std::process::ExitCode;
use std::time::Duration;

use baton_protocol::answer::Close;
use baton_protocol::{CloseParams, method};
use uuid::Uuid;

use super::Error;
use crate::environment::{self, Environment};
use crate::print::{self, Output, Waiting};

const HELP: &str = "\
Reads the session to its end, makes its episode durable and searchable, and prints the session, what was done and the \
uuid of the episode. Content that has not changed since it was last indexed keeps its episode. A session that grows \
again is open again. Without SESSION it closes the caller's own session (CLAUDE_CODE_SESSION_ID), or else the only \
open one of this directory; if there are several, the error lists them. The exit code is also 1 if indexing does not \
finish in time: it continues, and `baton show` says when it is done.

JSON: {\"status\":\"success\"|\"error\",\"session_id\",\"episode_uuid\",\"message\"}, on standard output in both \
cases; an error also on standard error, as with every command. Its code is not_found if no session was found, \
otherwise failed

Examples:
  baton close                          the open session of this directory
  baton close a94e0d17                 this one
  baton close --reason \"story done\"    with a note that `baton show` repeats
  baton close --wait 0                 request it without waiting";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// A session's id, or the beginning of one [default: the open session of this directory]
    session: Option<String>,
    /// Reason, in your own words
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Seconds to wait until the session is indexed
    #[arg(long, value_name = "S", default_value_t = 30, value_parser = super::number::<u64, 0, 600>)]
    wait: u64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let params = CloseParams {
        session: args.session.as_deref().map(super::session),
        caller: environment::caller(),
        reason: args.reason.clone(),
        // The id makes a repeated call the same close.
        command_id: Some(Uuid::new_v4().to_string()),
        deadline_ms: args.wait * 1000,
    };
    let result = super::ask(environment, |client| {
        let _waiting = Waiting::new("reading and indexing the session");
        client.set_answer_timeout(Duration::from_secs(args.wait + 60));
        client.call_raw(method::CLOSE, &params, |_| {})
    })?;
    let closed: Close = super::parse_result(&result)?;
    let output = Output::new();
    let success = closed.status == "success";
    match (args.json, success) {
        (true, _) => {
            output.json(&result);
            if !success {
                let code = if closed.session_id.is_none() { "not_found" } else { "failed" };
                print::error_object(code, &closed.message);
            }
        }
        (false, true) => {
            let id = closed.session_id.as_deref().unwrap_or_default();
            output.line(&format!("{id}: {}", print::plain(&closed.message)));
            if let Some(uuid) = &closed.episode_uuid {
                output.line(&format!("episode {uuid}"));
            }
        }
        (false, false) => print::error(&closed.message),
    }
    Ok(if success { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
