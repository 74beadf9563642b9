//! Reads the log from the daemon, page by page.

use std::collections::BTreeSet;

use baton_conversation::record::{Position, SessionId};
use baton_events::envelope::{ChainHash, Tail, decode};
use baton_journal::Exact;
use baton_protocol::LogReadParams;
use baton_protocol::answer::{LogRead, LogRecord};
use baton_upkeep::archive::{Error, Source};

use crate::client::{self, Client};

/// Records per page.
const PAGE: u32 = 2048;

/// The log of a running daemon.
pub(super) struct Remote<'a>(pub(super) &'a mut Client);

impl Remote<'_> {
    fn read(&mut self, asked: &LogReadParams) -> Result<LogRead, Error> {
        self.0.read_log(asked).map_err(|error| Error::Source(Box::new(error)))
    }
}

impl Source for Remote<'_> {
    fn tail(&mut self) -> Result<Tail, Error> {
        let read = self.read(&LogReadParams { from: u64::MAX, limit: 1, ..LogReadParams::default() })?;
        Ok(Tail { position: Position(read.position), chain: chain(&read.chain)? })
    }

    fn session(&mut self, text: &str) -> Result<SessionId, Error> {
        let session = Some(text.to_owned());
        let read = self.read(&LogReadParams { session, limit: 1, ..LogReadParams::default() })?;
        let first = read.records.into_iter().next().map(exact).transpose()?;
        let record = first.and_then(|first| decode(&first.bytes).ok());
        let id = record.and_then(|record| record.stream.session_id());
        id.ok_or_else(|| Error::NoSession(format!("nothing is recorded of session {text:?}")))
    }

    fn forgotten(&mut self) -> Result<BTreeSet<SessionId>, Error> {
        let asked = LogReadParams { from: u64::MAX, limit: 1, forgotten: true, ..LogReadParams::default() };
        Ok(ids(self.read(&asked)?.forgotten))
    }

    fn records(
        &mut self,
        from: Position,
        to: Position,
        session: Option<&SessionId>,
        each: &mut dyn FnMut(Exact) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let session = session.map(ToString::to_string);
        let mut asked = LogReadParams { limit: PAGE, session, ..LogReadParams::default() };
        if asked.session.is_none() {
            asked.from = from.0;
        }
        loop {
            let read = self.read(&asked)?;
            if read.records.is_empty() {
                return Ok(());
            }
            for record in read.records {
                let exact = exact(record)?;
                if exact.position > to {
                    return Ok(());
                }
                if exact.position >= from {
                    each(exact)?;
                }
            }
            asked.from = read.next;
        }
    }
}

/// Parses the session ids of an answer; skips invalid ones.
pub(super) fn ids(ids: Vec<String>) -> BTreeSet<SessionId> {
    ids.iter().filter_map(|id| SessionId::new(id)).collect()
}

/// Rebuilds a record's bytes from an answer.
pub(super) fn exact(record: LogRecord) -> Result<Exact, Error> {
    let json = record.record.get();
    let mut bytes = Vec::with_capacity(json.len() + 1);
    bytes.push(record.format);
    bytes.extend_from_slice(json.as_bytes());
    let position = decode(&bytes).map_err(|error| garbled(&error.to_string()))?.position;
    Ok(Exact { position, bytes, chain: chain(&record.chain)? })
}

fn chain(text: &str) -> Result<ChainHash, Error> {
    ChainHash::parse(text).ok_or_else(|| garbled("a chain hash is none"))
}

fn garbled(what: &str) -> Error {
    Error::Source(Box::new(client::Error::Garbled(what.to_owned())))
}
