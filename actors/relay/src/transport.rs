//! The contract of a relay, which carries sealed messages between the members of a team without understanding them.

use std::pin::Pin;

use baton_conversation::hash::ContentHash;

use crate::keys::Name;

/// Largest object: a chunk of one very long item, sealed.
pub(crate) const MAX_OBJECT_BYTES: usize = 17 * 1024 * 1024;

/// A stream on a relay: a writer's notices, or one of their sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stream {
    /// The writer.
    pub(crate) writer: Name,
    /// The stream.
    pub(crate) stream: Name,
}

/// An address outside the streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Slot {
    /// Immutable; named by the hash of its content.
    Object(ContentHash),
    /// May be replaced and deleted.
    Named(Name),
}

/// Why a call of a relay failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    /// It cannot be reached, or refuses; trying again may help.
    #[error("{0}")]
    Unavailable(String),
    /// The stream is at another sequence than expected.
    #[error(
        "the stream is at {actual} on the relay, not where this home left it; what the relay lost is published again, and \
         what another copy of this home published is taken in first"
    )]
    Conflict {
        /// The sequence of its last frame.
        actual: u64,
    },
    /// The content cannot be stored there.
    #[error("{0}")]
    Refused(String),
    /// A single entry cannot be read or removed: too long, not a file, or not permitted. Everything else works.
    #[error("{0}")]
    Place(String),
}

/// Frames in the order of their streams.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Received {
    /// The frames.
    pub(crate) frames: Vec<Vec<u8>>,
    /// Where to continue. Only the relay that made it understands it.
    pub(crate) cursor: String,
    /// True if there is more already.
    pub(crate) more: bool,
    /// Problems with reading individual writers.
    pub(crate) problems: Vec<String>,
    /// True if messages that existed when the cursor was made are gone without having been purged stream by stream.
    pub(crate) is_set_back: bool,
}

/// The outcome of a call, as a future.
pub(crate) type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// Carries frames and objects. Every implementation promises:
///
/// * **Streams have no gaps.** A frame is appended only if its stream's last sequence is the expected one; otherwise
///   nothing changes, and the answer is [`Error::Conflict`]. After a lost answer the same frame conflicts, and the
///   caller finds it by reading.
/// * **Whole or not at all**, and durable once `Ok` is returned. A reader never sees part of a frame.
/// * **Order.** The frames of one stream are received in order, each at least once; between streams of one writer in
///   the order of publishing, where the relay can keep it.
/// * **A cursor never skips.** Receiving from a cursor gives every frame published since that is still there. A cursor
///   that the relay does not know, such as an empty one, begins at the start.
/// * **A purged stream keeps its sequence**, so that nothing can replace what was removed; its frames are no longer
///   received.
/// * **Everything read is bounded**, whoever wrote it: frames by [`MAX_FRAME_BYTES`](crate::seal::MAX_FRAME_BYTES),
///   slots by [`MAX_OBJECT_BYTES`], one answer by a few megabytes.
pub(crate) trait Relay: Send + Sync {
    /// Appends a frame as the one after `expected`.
    fn publish(&self, stream: Stream, expected: u64, frame: Vec<u8>) -> Pending<'_, ()>;

    /// Frames of all writers after a cursor.
    fn receive<'a>(&'a self, cursor: &'a str) -> Pending<'a, Received>;

    /// The sequence of a stream's last frame, purged or not; 0 if there is none.
    fn head(&self, stream: Stream) -> Pending<'_, u64>;

    /// Stores the content of a slot; an existing object stays.
    fn put(&self, slot: Slot, bytes: Vec<u8>) -> Pending<'_, ()>;

    /// Reads a slot.
    fn get(&self, slot: Slot) -> Pending<'_, Option<Vec<u8>>>;

    /// Deletes a slot; a missing one is no error.
    fn delete(&self, slot: Slot) -> Pending<'_, ()>;

    /// Removes the frames of a stream.
    fn purge(&self, stream: Stream) -> Pending<'_, ()>;

    /// Makes a stream continue after `sequence`, without the frames up to it, which the relay has lost. Does nothing if
    /// the stream has reached it.
    fn continue_after(&self, stream: Stream, sequence: u64) -> Pending<'_, ()>;

    /// Resolves when there may be frames after a cursor. May wake without any.
    fn changed<'a>(&'a self, cursor: &'a str) -> Pending<'a, ()>;
}
