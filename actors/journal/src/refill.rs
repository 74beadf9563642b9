//! Writing a new log from the records of another: the same bytes at the same positions, so the same chain.

use std::path::Path;
use std::sync::Arc;

use baton_events::envelope;
use baton_events::envelope::{ChainHash, StoredRecord, Tail};

use super::disk::SEGMENT_BYTES;
use super::files::DiskFiles;
use super::ledger::{Ledger, Placed};
use super::writer::Writer;
use super::{RECORD_MAX_BYTES, STREAM_MAX_BYTES};
use baton_base::durable;

/// Most records written and synced together.
const GROUP_RECORDS: usize = 4096;
/// Bytes after which a group is written.
const GROUP_BYTES: usize = 4 * 1024 * 1024;

/// A log being written, in a folder that nobody else uses.
pub struct Refill {
    writer: Writer,
    ledger: Ledger,
    group: Vec<Placed>,
    group_bytes: usize,
}

/// Why a record was refused.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be decoded.
    #[error(transparent)]
    Envelope(#[from] envelope::Error),
    /// It does not match its chain hash.
    #[error(
        "its chain hash is {given}, but {computed} follows from the records before it: it, or one before it, was changed"
    )]
    Chain {
        /// The hash that was passed with it.
        given: ChainHash,
        /// The hash that follows from the records before it.
        computed: ChainHash,
    },
    /// It does not follow from the records before it, or exceeds a bound.
    #[error("{0}")]
    Place(String),
    /// It could not be written.
    #[error("cannot write the log: {0}")]
    Io(#[from] std::io::Error),
}

fn check_bound(what: &str, bytes: usize, bound: usize) -> Result<(), Error> {
    if bytes <= bound {
        return Ok(());
    }
    Err(Error::Place(format!("{what} of {bytes} bytes is over the bound of {bound}")))
}

impl Refill {
    /// Begins a log in folder `log`, which must not contain one.
    pub fn begin(log: &Path) -> Result<Self, Error> {
        let segments = log.join("segments");
        durable::create_private_folder(&segments)?;
        let writer = Writer::create(Arc::new(DiskFiles), segments, SEGMENT_BYTES, 1, Tail::default(), 0)?;
        Ok(Self { writer, ledger: Ledger::default(), group: Vec::new(), group_bytes: 0 })
    }

    /// Appends the next record, given its bytes and the chain hash at it.
    pub fn append(&mut self, bytes: Vec<u8>, given: ChainHash) -> Result<StoredRecord, Error> {
        // A journal would not have accepted a record over these bounds.
        let record = envelope::decode(&bytes)?;
        check_bound("a record", bytes.len(), RECORD_MAX_BYTES)?;
        check_bound("a stream's name", record.stream.as_str().len(), STREAM_MAX_BYTES)?;
        let computed = envelope::chain(self.ledger.tail().chain, &bytes);
        if computed != given {
            return Err(Error::Chain { given, computed });
        }
        self.ledger.admit(&record, computed).map_err(Error::Place)?;
        self.group_bytes += bytes.len();
        // Nobody opens this log before all of it is durable, so no append of it can be torn.
        self.group.push(Placed { record: record.clone(), bytes, chain: computed, append_continues: false });
        if self.group.len() >= GROUP_RECORDS || self.group_bytes >= GROUP_BYTES {
            self.flush()?;
        }
        Ok(record)
    }

    /// Writes the rest. The log is durable when this returns; returns its end.
    pub fn finish(mut self) -> Result<Tail, Error> {
        self.flush()?;
        Ok(self.ledger.tail())
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.writer.append(&self.group)?;
        self.group.clear();
        self.group_bytes = 0;
        Ok(())
    }
}
