//! The exchange with the daemon: greeting and event in one write, two answers, and finally the time it took.

use std::io::{self, Read, Write};
use std::time::Duration;

use baton_home::connection;
use baton_home::environment::Environment;
use baton_home::hooks::Hooks;
use baton_protocol as protocol;
use baton_protocol::answer::Hook;
use baton_protocol::{Call, HookParams, HookTook, Incoming, Welcome, code, method};
use interprocess::local_socket::Stream;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::event::Event;

/// Most bytes read from a daemon.
const ANSWER_BYTES: usize = 64 * 1024;
/// Call id of the greeting.
const HELLO: u64 = 1;
/// Call id of the event.
const HOOK: u64 = 2;

/// Reason why the daemon did not take an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotTaken {
    /// There is no daemon.
    Absent,
    /// No answer came in time.
    Timeout,
    /// The daemon refused it, or hung up.
    Refused,
    /// The answer could not be parsed.
    Garbled,
    /// The daemon has another protocol version.
    OtherVersion,
}

impl NotTaken {
    /// The value of [`protocol::Spooled::why`].
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Timeout => "timeout",
            Self::Refused => "refused",
            Self::Garbled => "garbled",
            Self::OtherVersion => "other_version",
        }
    }
}

/// A connection to a daemon that has answered.
pub(super) struct Link(Stream);

/// Reports an event to the daemon and waits for the answer without a time limit; the watchdog enforces one.
pub(super) fn report(environment: &Environment, hooks: &Hooks, params: &HookParams) -> Result<(Link, Hook), NotTaken> {
    let stream = connection::connect(environment, hooks).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => NotTaken::Absent,
        _ => NotTaken::Refused,
    })?;
    let mut lines = line(Some(HELLO), method::HELLO, &connection::hello(environment, "hook"));
    lines.extend(line(Some(HOOK), method::HOOK, params));
    // A peer that closes early may still have sent a reason.
    let sent = (&stream).write_all(&lines);
    let answer = read_answer(&stream)
        .map_err(|why| if sent.is_err() && why == NotTaken::Garbled { NotTaken::Refused } else { why })?;
    Ok((Link(stream), answer))
}

impl Link {
    /// Reports how long the hook took; does not wait for an answer.
    pub(super) fn report_duration(self, event: &Event, time: Duration) {
        let took = HookTook { event: event.name.clone(), us: u64::try_from(time.as_micros()).unwrap_or(u64::MAX) };
        let _ = (&self.0).write_all(&line(None, method::HOOK_TOOK, &took));
    }
}

/// Reads lines until the answer to the event.
fn read_answer(mut stream: impl Read) -> Result<Hook, NotTaken> {
    let (mut read, mut done) = (Vec::with_capacity(4096), 0);
    let mut piece = [0; 4096];
    loop {
        while let Some(end) = read[done..].iter().position(|byte| *byte == b'\n') {
            if let Some(answer) = parse_line(&read[done..done + end])? {
                return Ok(answer);
            }
            done += end + 1;
        }
        if read.len() > ANSWER_BYTES {
            return Err(NotTaken::Garbled);
        }
        match stream.read(&mut piece) {
            // The peer hung up.
            Ok(0) => return Err(NotTaken::Refused),
            Ok(count) => read.extend_from_slice(&piece[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Err(NotTaken::Refused),
        }
    }
}

/// Parses a line: the answer to the event, or `None` for any other valid line.
fn parse_line(line: &[u8]) -> Result<Option<Hook>, NotTaken> {
    let incoming: Incoming = serde_json::from_slice(line).map_err(|_| NotTaken::Garbled)?;
    match incoming {
        Incoming { error: Some(failure), .. } if failure.code == code::OTHER_VERSION => Err(NotTaken::OtherVersion),
        Incoming { error: Some(_), .. } => Err(NotTaken::Refused),
        Incoming { id: Some(HELLO), result: Some(result), .. } => {
            let welcome: Welcome = result_of(&result)?;
            if welcome.protocol == protocol::VERSION { Ok(None) } else { Err(NotTaken::OtherVersion) }
        }
        Incoming { id: Some(HOOK), result: Some(result), .. } => {
            let answer: Hook = result_of(&result)?;
            if answer.status.is_empty() { Err(NotTaken::Garbled) } else { Ok(Some(answer)) }
        }
        Incoming { method: Some(_), .. } => Ok(None),
        _ => Err(NotTaken::Garbled),
    }
}

fn result_of<T: DeserializeOwned>(result: &RawValue) -> Result<T, NotTaken> {
    serde_json::from_str(result.get()).map_err(|_| NotTaken::Garbled)
}

fn line(id: Option<u64>, method: &str, params: &impl Serialize) -> Vec<u8> {
    #[derive(Serialize)]
    struct Notification<'a, P: Serialize> {
        jsonrpc: &'static str,
        method: &'a str,
        params: P,
    }
    let line = match id {
        Some(id) => serde_json::to_vec(&Call { jsonrpc: "2.0", id, method, params }),
        None => serde_json::to_vec(&Notification { jsonrpc: "2.0", method, params }),
    };
    // Only strings and numbers: cannot fail, and an empty line does no harm.
    let mut line = line.unwrap_or_default();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    const WELCOME: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"protocol":1,"version":"0","pid":1}}"#;

    fn check(lines: &[&str], expected: Result<&str, NotTaken>) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let heard = read_answer(text.as_bytes()).map(|answer| answer.status);
        assert_eq!(heard.as_deref().map_err(|why| *why), expected, "{text}");
    }

    #[test]
    fn only_a_daemon_of_this_version_is_believed() {
        let taken = r#"{"jsonrpc":"2.0","id":2,"result":{"status":"recorded"}}"#;
        let progress = r#"{"jsonrpc":"2.0","method":"progress","params":{}}"#;
        check(&[WELCOME, taken], Ok("recorded"));
        check(&[WELCOME, progress, taken, "garbage"], Ok("recorded"));
        check(&[r#"{"id":1,"result":{"protocol":2,"version":"9","pid":1}}"#, taken], Err(NotTaken::OtherVersion));
        check(&[WELCOME, r#"{"id":2,"error":{"code":-32001,"message":"x"}}"#], Err(NotTaken::OtherVersion));
        check(&[WELCOME, r#"{"id":2,"error":{"code":-32601,"message":"x"}}"#], Err(NotTaken::Refused));
        check(&[r#"{"id":null,"error":{"code":-32002,"message":"x"}}"#], Err(NotTaken::Refused));
        check(&[WELCOME], Err(NotTaken::Refused));
        check(&[], Err(NotTaken::Refused));
        check(&["HTTP/1.1 400 Bad Request"], Err(NotTaken::Garbled));
        check(&["{}"], Err(NotTaken::Garbled));
        check(&[WELCOME, r#"{"id":2,"result":{}}"#], Err(NotTaken::Garbled));
        check(&[WELCOME, r#"{"id":2,"result":{"status":7}}"#], Err(NotTaken::Garbled));
        check(&[WELCOME, r#"{"id":3,"result":{"status":"recorded"}}"#], Err(NotTaken::Garbled));
    }

    #[test]
    fn nobody_is_listened_to_without_end() {
        assert_eq!(read_answer(io::repeat(b'x')).err(), Some(NotTaken::Garbled));
        let long = format!("{WELCOME}\n{}", "{\"method\":\"progress\"}\n".repeat(5000));
        assert_eq!(read_answer(long.as_bytes()).err(), Some(NotTaken::Garbled));
        let mut pieces = io::Read::chain(WELCOME.as_bytes(), &b"\n{\"id\":2,\"result\":{\"status\":\"known\"}}\n"[..]);
        assert_eq!(read_answer(&mut pieces).map(|answer| answer.status).as_deref(), Ok("known"));
    }
}
