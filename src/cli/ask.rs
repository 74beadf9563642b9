//! Asking the daemon: once, and once more where the first one was just going away.

use std::io::ErrorKind;
use std::time::Duration;

use baton_protocol::code;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::client::{Client, Error};
use crate::environment::Environment;
use crate::print::Output;

/// How often a daemon may say that it is stopping before that is the answer.
const STOPPING: u32 = 3;
/// What a stopping daemon is given to take its socket away; its successor then waits until it is gone.
const PAUSE: Duration = Duration::from_millis(100);

/// Connects to the daemon, starting one if need be, and makes a call that does no harm if it is made twice: one that only
/// reads, or that carries an id. One that is answered with "stopping" is made again, and once so is one whose connection
/// breaks before there is an answer.
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

/// As [`ask`], and how short the ids of the answer are shown; a program, which gets JSON, is not told.
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

/// Where an answer is printed, with how short its ids are shown.
pub(super) fn shown(client: &mut Client, json: bool, result: &RawValue) -> Output {
    let output = Output::new();
    if json { output } else { output.with_ids(client.short_ids(result)) }
}

/// A daemon that is silent is still there, and what was asked of it may still come.
fn is_gone(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
}

/// Takes a result apart, to print it for a person.
pub(super) fn read<T: DeserializeOwned>(result: &RawValue) -> Result<T, Error> {
    serde_json::from_str(result.get()).map_err(|error| Error::Garbled(error.to_string()))
}
