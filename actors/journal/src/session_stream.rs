//! One session's events in the journal: domain events on one side, stored records on the other.

use std::sync::Arc;

use baton_conversation::record::{Metadata, Position, Recorded, SequenceNumber, SessionId, StreamId, Timestamp};
use baton_events::envelope::{NewRecord, StoredRecord};
use baton_events::schema;
use baton_events::session::{Aggregate, Event, GapInHistory};

use crate::{AppendError, Journal, ReadError};

/// Why a session's history could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The journal could not be read.
    #[error(transparent)]
    Journal(#[from] ReadError),
    /// An event was written by a newer program, or is damaged.
    #[error(transparent)]
    Event(#[from] schema::session::Error),
    /// The history has a gap.
    #[error(transparent)]
    Gap(#[from] GapInHistory),
}

/// Decodes the event of a record.
pub fn decode(record: &StoredRecord) -> Result<Recorded<Event>, schema::session::Error> {
    Ok(Recorded {
        position: record.position,
        stream: record.stream.clone(),
        sequence: record.sequence,
        at: record.at,
        metadata: record.metadata.clone(),
        event: schema::session::decode(&record.kind, record.v, &record.data)?,
    })
}

/// The stream of one session.
#[derive(Clone)]
pub struct SessionStream {
    journal: Arc<dyn Journal>,
    id: SessionId,
    stream: StreamId,
}

impl SessionStream {
    /// The stream of `id` in `journal`.
    pub fn new(journal: Arc<dyn Journal>, id: SessionId) -> Self {
        let stream = StreamId::session(&id);
        Self { journal, id, stream }
    }

    /// Rebuilds the session from its events. Blocks for short disk reads.
    pub fn rehydrate(&self) -> Result<Aggregate, Error> {
        const STEP: usize = 512;
        let mut aggregate = Aggregate::new(self.id.clone());
        loop {
            let records = self.journal.read_stream(&self.stream, aggregate.version(), STEP)?;
            for record in &records {
                aggregate.commit(&decode(record)?)?;
            }
            if records.is_empty() {
                return Ok(aggregate);
            }
        }
    }

    /// Appends events to the stream and, when they are durable, commits them to the aggregate. If the answer is lost,
    /// reads the stream to find out whether they were stored. On an error the aggregate is unchanged; after `Closed`
    /// only rehydrating tells what is stored.
    pub async fn record(
        &self,
        aggregate: &mut Aggregate,
        events: Vec<Event>,
        metadata: &Metadata,
        now: Timestamp,
    ) -> Result<(), AppendError> {
        let batch: Vec<NewRecord> = events.iter().map(|event| encode(event, metadata, now)).collect();
        let before = aggregate.version();
        let appended = match self.journal.append(self.stream.clone(), before, batch).await {
            Err(AppendError::Closed) => {
                let batch = events.iter().map(|event| encode(event, metadata, now)).collect();
                self.find_stored(before, batch).await.ok_or(AppendError::Closed)?
            }
            answer => answer?.first,
        };
        for (index, event) in (1..).zip(events) {
            let sequence = SequenceNumber(before.0 + index);
            let position = Position(appended.0 + index - 1);
            let (stream, metadata) = (self.stream.clone(), metadata.clone());
            let recorded = Recorded { position, stream, sequence, at: now, metadata, event };
            // The sequences were counted from the aggregate's own version, so there is no gap.
            let actual = SequenceNumber(before.0 + index);
            aggregate.commit(&recorded).map_err(|_| AppendError::Conflict { actual })?;
        }
        Ok(())
    }

    /// Looks up a batch whose answer was lost: the position of its first record, if it was stored.
    async fn find_stored(&self, before: SequenceNumber, batch: Vec<NewRecord>) -> Option<Position> {
        let (journal, stream) = (self.journal.clone(), self.stream.clone());
        let looking = baton_base::task::spawn_blocking(move || {
            let records = journal.read_stream(&stream, before, batch.len()).ok()?;
            let same = |(record, new): (&StoredRecord, &NewRecord)| {
                (&record.kind, record.v, record.at, &record.metadata, &record.data)
                    == (&new.kind, new.v, new.at, &new.metadata, &new.data)
            };
            let all = records.len() == batch.len() && records.iter().zip(&batch).all(same);
            all.then(|| records.first().map(|record| record.position)).flatten()
        });
        looking.await.ok().flatten()
    }
}

fn encode(event: &Event, metadata: &Metadata, now: Timestamp) -> NewRecord {
    let encoded = schema::session::encode(event);
    NewRecord { kind: encoded.kind.to_owned(), v: encoded.v, at: now, metadata: metadata.clone(), data: encoded.data }
}
