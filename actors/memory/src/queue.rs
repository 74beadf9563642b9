//! Limits the text that waits for the index writer.
//!
//! tantivy limits its queue by documents, ten thousand batches of them, which for long sessions is most of a gigabyte.
//! Here each document counts its bytes until the writer is done with it, and a caller that hands over more waits.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use tantivy::TantivyDocument;
use tantivy::schema::{Document, Value};

use super::Error;
use super::limits::{QUEUE_STALL, QUEUED_BYTES};

/// Counts the bytes that wait.
#[derive(Clone, Default)]
pub(super) struct Queue(Arc<Room>);

#[derive(Default)]
struct Room {
    used: Mutex<usize>,
    freed: Condvar,
}

/// A document in the writer's queue; dropping it frees its bytes. A pointer, because for each commit tantivy makes a new
/// queue with room for tens of thousands of them.
pub(super) struct Queued(Box<Waiting>);

struct Waiting {
    document: TantivyDocument,
    bytes: usize,
    room: Arc<Room>,
}

impl Queue {
    /// Waits until a batch fits, or the queue is empty, and reserves its bytes.
    ///
    /// # Errors
    ///
    /// When the writer accepts nothing for [`QUEUE_STALL`]: it has died or the disk hangs.
    pub(super) fn admit(&self, documents: Vec<TantivyDocument>) -> Result<Vec<Queued>, Error> {
        let sizes: Vec<usize> = documents.iter().map(bytes_of).collect();
        let all: usize = sizes.iter().sum();
        let mut used = self.0.used.lock().unwrap_or_else(PoisonError::into_inner);
        while *used > 0 && *used + all > QUEUED_BYTES {
            let before = *used;
            let waited = self.0.freed.wait_timeout(used, QUEUE_STALL).unwrap_or_else(PoisonError::into_inner);
            used = waited.0;
            if waited.1.timed_out() && *used >= before {
                return Err(Error::Broken("its writer accepts nothing".to_owned()));
            }
        }
        *used += all;
        drop(used);
        let waiting = documents.into_iter().zip(sizes);
        let waiting = waiting.map(|(document, bytes)| Waiting { document, bytes, room: Arc::clone(&self.0) });
        Ok(waiting.map(|waiting| Queued(Box::new(waiting))).collect())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut used = self.room.used.lock().unwrap_or_else(PoisonError::into_inner);
        *used = used.saturating_sub(self.bytes);
        drop(used);
        self.room.freed.notify_all();
    }
}

impl Document for Queued {
    type Value<'a> = <TantivyDocument as Document>::Value<'a>;
    type FieldsValuesIter<'a> = <TantivyDocument as Document>::FieldsValuesIter<'a>;

    fn iter_fields_and_values(&self) -> Self::FieldsValuesIter<'_> {
        self.0.document.iter_fields_and_values()
    }
}

/// Approximate memory that a document takes.
fn bytes_of(document: &TantivyDocument) -> usize {
    let texts = document.field_values().filter_map(|(_, value)| value.as_str().map(str::len));
    512 + texts.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use tantivy::schema::Field;

    use super::*;

    fn document(bytes: usize) -> TantivyDocument {
        let mut document = TantivyDocument::new();
        document.add_text(Field::from_field_id(0), "x".repeat(bytes));
        document
    }

    #[test]
    fn what_is_dropped_makes_room() {
        let queue = Queue::default();
        let first = queue.admit(vec![document(QUEUED_BYTES / 2), document(QUEUED_BYTES)]).unwrap();
        assert!(*queue.0.used.lock().unwrap() > QUEUED_BYTES, "a batch alone is always admitted");
        let other = std::thread::spawn({
            let queue = queue.clone();
            move || queue.admit(vec![document(10)]).map(|batch| batch.len()).unwrap()
        });
        drop(first);
        assert_eq!(other.join().unwrap(), 1);
        assert_eq!(*queue.0.used.lock().unwrap(), 0);
    }
}
