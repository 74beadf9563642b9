//! `baton close`: the explicit end of a session.

use std::process::ExitCode;
use std::time::Duration;

use baton_events::protocol::answer::Close;
use baton_events::protocol::{CloseParams, method};
use clap::Args;
use uuid::Uuid;

use super::Error;
use crate::client::{self, Client};
use crate::environment::{self, Environment};
use crate::print::{self, Output};

#[derive(Debug, Args)]
pub(super) struct Typed {
    /// A session's id, or the beginning of one [default: the open session of this directory]
    session: Option<String>,
    /// Why, in your words
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// How many seconds to wait until the session is indexed
    #[arg(long, value_name = "S", default_value_t = 30, value_parser = clap::value_parser!(u64).range(0..=600))]
    wait: u64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, typed: &Typed) -> Result<ExitCode, Error> {
    let params = CloseParams {
        session: typed.session.clone(),
        caller: environment::caller(),
        reason: typed.reason.clone(),
        command_id: Some(Uuid::new_v4().to_string()),
        deadline_ms: typed.wait * 1000,
    };
    let mut client = Client::connect_or_start(environment)?;
    client.be_patient(Duration::from_secs(typed.wait + 60));
    let result = client.call_raw(method::CLOSE, &params, |_| {})?;
    let closed: Close =
        serde_json::from_str(result.get()).map_err(|error| client::Error::Garbled(error.to_string()))?;
    let output = Output::new();
    let success = closed.status == "success";
    match (typed.json, success) {
        (true, _) => output.json(&result),
        (false, true) => {
            let id = closed.session_id.as_deref().unwrap_or_default();
            output.line(&format!("{id}: {}", print::plain(&closed.message)));
            if let Some(uuid) = &closed.episode_uuid {
                output.line(&format!("episode {uuid}"));
            }
        }
        (false, false) => print::error(&print::plain(&closed.message)),
    }
    Ok(if success { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
