//! Durable appends: how many per second, and how long each one waits, with few and many writers.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use baton_conversation::record::{CommandId, Metadata, SequenceNumber, StreamId, Timestamp};
use baton_events::envelope::NewRecord;
use baton_journal::{DiskJournal, Journal, Options};
use serde::Serialize;

use super::super::sample::{Sample, Spread};
use super::super::{Error, io_error};
use super::history;

/// Numbers of concurrent writers.
const WRITERS: [u64; 3] = [1, 8, 64];
/// How long each writer writes.
const LONG: Duration = Duration::from_secs(2);

/// Appends of one event each, each durable before its writer continues.
#[derive(Clone, Debug, Serialize)]
pub struct Appends {
    /// Number of concurrent writers, each with a stream of its own.
    pub writers: u64,
    /// Durable events per second.
    pub events_per_second: f64,
    /// From the call to the acknowledgement.
    pub waited: Spread,
}

impl Appends {
    pub(super) fn text(&self) -> String {
        format!("{:.0} events/s; {}", self.events_per_second, self.waited.text())
    }
}

pub(super) fn measure(folder: &Path) -> Result<Vec<Appends>, Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build();
    let runtime = runtime.map_err(io_error("start threads for", folder))?;
    let journal = DiskJournal::open(Options::new(folder, Timestamp(0)), Box::new(()));
    let journal: Arc<dyn Journal> = Arc::new(journal.map_err(|error| Error::NothingMeasured(error.to_string()))?);
    let mut measured = Vec::new();
    let mut first = 0;
    for writers in WRITERS {
        let since = Instant::now();
        let tasks: Vec<_> = (first..first + writers)
            .map(|number| runtime.spawn(write(journal.clone(), number, since + LONG)))
            .collect();
        let mut sample = Sample::default();
        for task in tasks {
            let times = runtime.block_on(task).map_err(|error| Error::NothingMeasured(error.to_string()))?;
            times?.into_iter().for_each(|time| sample.add(time));
        }
        let seconds = since.elapsed().as_secs_f64();
        let waited = sample.spread();
        measured.push(Appends { writers, events_per_second: waited.n as f64 / seconds, waited });
        first += writers;
    }
    journal.close();
    Ok(measured)
}

/// Runs one writer until `until`. Returns the time that each append took.
async fn write(journal: Arc<dyn Journal>, number: u64, until: Instant) -> Result<Vec<Duration>, Error> {
    let stream = StreamId::session(&history::session(number));
    let mut times = Vec::new();
    for version in 0.. {
        let since = Instant::now();
        if since >= until {
            break;
        }
        let appended = journal.append(stream.clone(), SequenceNumber(version), vec![event(version)]).await;
        appended.map_err(|error| Error::NothingMeasured(error.to_string()))?;
        times.push(since.elapsed());
    }
    Ok(times)
}

/// An event of the usual size: about 450 bytes as a record.
fn event(number: u64) -> NewRecord {
    NewRecord {
        kind: "measured".to_owned(),
        v: 1,
        at: Timestamp(0),
        metadata: Metadata { correlation: Some(CommandId::new("0123456789abcdef")), cause: None },
        data: format!("{{\"generation\":1,\"from\":{number},\"to\":{},\"tail\":\"{number:0>200}\"}}", number + 1),
    }
}
