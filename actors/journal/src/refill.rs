//! Writing a log anew from records that were another's: the same bytes at the same places, so the same positions and chain.

use std::path::Path;
use std::sync::Arc;

use baton_events::envelope;
use baton_events::envelope::{ChainHash, StoredRecord, Tail};

use super::files::DiskFiles;
use super::ledger::{Ledger, Placed};
use super::writer::Writer;
use super::{RECORD_MAX_BYTES, STREAM_MAX_BYTES};
use baton_base::durable;

/// Records that are written and synced together.
const GROUP_RECORDS: usize = 4096;
/// Bytes after which a group is written.
const GROUP_BYTES: usize = 4 * 1024 * 1024;
/// A full segment, as a journal writes them.
const SEGMENT_BYTES: u64 = 16 * 1024 * 1024;

/// A log in the making, in a folder of its own that nobody else knows.
pub struct Refill {
    writer: Writer,
    ledger: Ledger,
    group: Vec<Placed>,
    group_bytes: usize,
}

/// Why a record was not taken.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is no record.
    #[error(transparent)]
    Envelope(#[from] envelope::Error),
    /// It is not what was recorded at its place.
    #[error("its chain hash is {said}, and {is} follows from the records before it: it, or one before it, was changed")]
    Chain {
        /// What came with it.
        said: ChainHash,
        /// What follows.
        is: ChainHash,
    },
    /// It does not follow from what came before.
    #[error("{0}")]
    Place(String),
    /// It could not be written.
    #[error("cannot write the log: {0}")]
    Io(#[from] std::io::Error),
}

fn within(what: &str, bytes: usize, bound: usize) -> Result<(), Error> {
    if bytes <= bound {
        return Ok(());
    }
    Err(Error::Place(format!("{what} of {bytes} bytes is over the bound of {bound}")))
}

impl Refill {
    /// Begins a log in folder `log`, which must not hold one.
    pub fn begin(log: &Path) -> Result<Self, Error> {
        let segments = log.join("segments");
        durable::create_private_folder(&segments)?;
        let writer = Writer::create(Arc::new(DiskFiles), segments, SEGMENT_BYTES, 1, Tail::default(), 0)?;
        Ok(Self { writer, ledger: Ledger::default(), group: Vec::new(), group_bytes: 0 })
    }

    /// Takes in the next record: its bytes, and the chain hash that it must come to.
    pub fn take(&mut self, bytes: Vec<u8>, said: ChainHash) -> Result<StoredRecord, Error> {
        // A journal would not have taken it.
        let record = envelope::decode(&bytes)?;
        within("a record", bytes.len(), RECORD_MAX_BYTES)?;
        within("a stream's name", record.stream.as_str().len(), STREAM_MAX_BYTES)?;
        let is = envelope::chain(self.ledger.tail().chain, &bytes);
        if is != said {
            return Err(Error::Chain { said, is });
        }
        self.ledger.admit(&record, is).map_err(Error::Place)?;
        self.group_bytes += bytes.len();
        // Nobody opens this log before all of it is durable: no append of it can be torn.
        self.group.push(Placed { record: record.clone(), bytes, chain: is, goes_on: false });
        if self.group.len() >= GROUP_RECORDS || self.group_bytes >= GROUP_BYTES {
            self.flush()?;
        }
        Ok(record)
    }

    /// Writes what is left. The log is durable when this returns, and ends where it says.
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
