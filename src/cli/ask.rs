//! Calls to the daemon that are repeated if it was just stopping.

use std::io::ErrorKind;
use std::time::Duration;

use baton_protocol::code;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::client::{Client, Error};
use crate::environment::Environment;
use crate::print::Output;

/// How many "stopping" answers are followed by another try.
const STOPPING: u32 = 3;
/// Pause in which a stopping daemon removes its socket; its successor then waits for its exit.
const PAUSE: Duration = Duration::from_millis(100);

/// Connects to the daemon, starting one if none runs, and makes a call that may safely be made twice: one that only
/// reads, or carries an id. The call is repeated if the answer is "stopping", and once if the connection breaks before
/// an answer.
pub(super) fn ask<T>(
    environment: &Environment,
    mut call: impl FnMut(&mut Client) -> Result<T, Error>,
) -> Result<T, Error> {
    let (mut stopping, mut broken) = (0, 0);
    loop {
        let error = match call(&mut Client::connect_or_start(environment)?) {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        match &error {
            Error::Refused(failure) if failure.code == code::STOPPING && stopping < STOPPING => stopping += 1,
            Error::Broken(cause) if is_gone(cause.kind()) && broken == 0 => broken += 1,
            _ => return Err(error),
        }
        std::thread::sleep(PAUSE);
    }
}

/// Like [`ask`], and returns the output with the short forms of the ids in the answer. With `json` ids stay whole.
pub(super) fn ask_shown(
    environment: &Environment,
    json: bool,
    mut call: impl FnMut(&mut Client) -> Result<Box<RawValue>, Error>,
) -> Result<(Box<RawValue>, Output), Error> {
    ask(environment, |client| {
        let result = call(client)?;
        let output = shown(client, json, &result);
        Ok((result, output))
    })
}

/// Creates the output for an answer, with the short forms of its ids unless `json` is set.
pub(super) fn shown(client: &mut Client, json: bool, result: &RawValue) -> Output {
    let output = Output::new();
    if json { output } else { output.with_ids(client.short_ids(result)) }
}

/// True if the peer has closed the connection. A timeout does not count: the daemon is still there and may still do the
/// work.
fn is_gone(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
}

/// Parses a result to print it for a person.
pub(super) fn parse_result<T: DeserializeOwned>(result: &RawValue) -> Result<T, Error> {
    baton_protocol::read(result.get()).map_err(|error| Error::Garbled(error.to_string()))
}
