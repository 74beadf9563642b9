//! What every relay must do, as [`Relay`] promises it. A relay's own tests run [`all`] with a way to open it.

use std::time::Duration;

use baton_conversation::hash::ContentHash;
use ed25519_dalek::SigningKey;

use crate::keys::{Name, Secret};
use crate::seal::{self, Frame, Header, Kind};
use crate::transport::{Error, Relay, Slot, Stream};

/// Longest wait for news, far above any relay's own timeout.
const NEWS: Duration = Duration::from_secs(30);

/// Opens the relay of one team, as another process would.
type Open<'a> = &'a dyn Fn() -> Box<dyn Relay>;

fn stream(writer: u8, stream: u8) -> Stream {
    Stream { writer: Name([writer; 16]), stream: Name([stream; 16]) }
}

/// A frame as a writer would publish it.
fn frame(of: Stream, sequence: u64, bytes: usize) -> Vec<u8> {
    let header = Header { kind: Kind::Batch, epoch: 1, writer: of.writer, stream: of.stream, sequence };
    // Hard to compress, so that the frame has about this size.
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random.to_be_bytes()[0]
    };
    let message: Vec<u8> = (0..bytes).map(|_| next()).collect();
    seal::seal(&header, &message, &Secret([9; 32]), &SigningKey::from_bytes(&[7; 32])).unwrap()
}

/// Everything after a cursor, as streams and sequences, and the next cursor.
async fn received(relay: &dyn Relay, cursor: &str) -> (Vec<(Stream, u64)>, String) {
    let (mut found, mut cursor) = (Vec::new(), cursor.to_owned());
    loop {
        let received = relay.receive(&cursor).await.unwrap();
        assert_eq!(received.problems, [] as [String; 0]);
        for frame in &received.frames {
            let Header { writer, stream, sequence, .. } = Frame::parse(frame).unwrap().header;
            found.push((Stream { writer, stream }, sequence));
        }
        cursor = received.cursor;
        if !received.more {
            return (found, cursor);
        }
    }
}

fn of(found: &[(Stream, u64)], stream: Stream) -> Vec<u64> {
    found.iter().filter(|(of, _)| *of == stream).map(|(_, sequence)| *sequence).collect()
}

/// Runs every case, each on a relay of its own.
pub(crate) async fn all(fresh: impl Fn() -> Box<dyn Fn() -> Box<dyn Relay>>) {
    appends_have_no_gaps(&*fresh()).await;
    streams_come_in_order_from_any_cursor(&*fresh()).await;
    a_purged_stream_keeps_its_sequence(&*fresh()).await;
    a_stream_is_raised_over_what_was_lost(&*fresh()).await;
    slots_are_kept(&*fresh()).await;
    news_wakes_a_reader(&*fresh()).await;
    long_streams_come_in_pieces(&*fresh()).await;
}

async fn appends_have_no_gaps(open: Open<'_>) {
    let (relay, of) = (open(), stream(1, 1));
    assert_eq!(relay.head(of).await, Ok(0));
    relay.publish(of, 0, frame(of, 1, 10)).await.unwrap();
    for (expected, actual) in [(0, 1), (2, 1)] {
        assert_eq!(relay.publish(of, expected, frame(of, expected + 1, 10)).await, Err(Error::Conflict { actual }));
    }
    relay.publish(of, 1, frame(of, 2, 10)).await.unwrap();
    relay.publish(stream(1, 2), 0, frame(stream(1, 2), 1, 10)).await.unwrap();
    drop(relay);
    let relay = open();
    assert_eq!(
        (relay.head(of).await, relay.head(stream(1, 2)).await, relay.head(stream(2, 1)).await),
        (Ok(2), Ok(1), Ok(0))
    );
    assert_eq!(relay.publish(of, 1, frame(of, 2, 10)).await, Err(Error::Conflict { actual: 2 }));
    let (one, other) = tokio::join!(relay.publish(of, 2, frame(of, 3, 10)), relay.publish(of, 2, frame(of, 3, 11)));
    assert!(one.is_ok() != other.is_ok(), "{one:?} {other:?}");
    assert_eq!(self::of(&received(&*relay, "").await.0, of), [1, 2, 3]);
}

async fn streams_come_in_order_from_any_cursor(open: Open<'_>) {
    let (writer, reader) = (open(), open());
    let (none, start) = received(&*reader, "").await;
    assert_eq!(none, []);
    for sequence in 0..3 {
        for of in [stream(1, 1), stream(1, 2), stream(2, 1)] {
            writer.publish(of, sequence, frame(of, sequence + 1, 10)).await.unwrap();
        }
    }
    let (all, cursor) = received(&*reader, &start).await;
    assert_eq!(all, received(&*reader, "").await.0);
    for stream in [stream(1, 1), stream(1, 2), stream(2, 1)] {
        assert_eq!(of(&all, stream), [1, 2, 3]);
    }
    assert_eq!(received(&*reader, &cursor).await.0, []);
    writer.publish(stream(2, 1), 3, frame(stream(2, 1), 4, 10)).await.unwrap();
    // A cursor outlives the process; an invalid one begins at the start.
    assert_eq!(received(&*open(), &cursor).await.0, [(stream(2, 1), 4)]);
    assert_eq!(received(&*reader, "no cursor").await.0.len(), 10);
}

async fn a_purged_stream_keeps_its_sequence(open: Open<'_>) {
    let (relay, gone, stays) = (open(), stream(1, 1), stream(1, 2));
    for of in [gone, stays] {
        for sequence in 0..2 {
            relay.publish(of, sequence, frame(of, sequence + 1, 10)).await.unwrap();
        }
    }
    let (_, before) = received(&*relay, "").await;
    relay.purge(gone).await.unwrap();
    relay.purge(gone).await.unwrap();
    relay.purge(stream(3, 3)).await.unwrap();
    for relay in [relay, open()] {
        assert_eq!((relay.head(gone).await, relay.head(stays).await), (Ok(2), Ok(2)));
        let (found, _) = received(&*relay, "").await;
        assert_eq!((of(&found, gone), of(&found, stays)), (vec![], vec![1, 2]));
        let (later, _) = received(&*relay, &before).await;
        assert_eq!(of(&later, gone), [] as [u64; 0]);
        assert_eq!(relay.publish(gone, 0, frame(gone, 1, 10)).await, Err(Error::Conflict { actual: 2 }));
    }
    let relay = open();
    relay.publish(gone, 2, frame(gone, 3, 10)).await.unwrap();
    let (later, _) = received(&*relay, &before).await;
    assert_eq!(of(&later, gone), [3]);
}

async fn a_stream_is_raised_over_what_was_lost(open: Open<'_>) {
    let (relay, of, other) = (open(), stream(1, 1), stream(1, 2));
    relay.publish(of, 0, frame(of, 1, 10)).await.unwrap();
    for (stream, sequence) in [(of, 4), (of, 2), (other, 3)] {
        relay.continue_after(stream, sequence).await.unwrap();
    }
    for relay in [relay, open()] {
        assert_eq!((relay.head(of).await, relay.head(other).await), (Ok(4), Ok(3)));
        assert_eq!(relay.publish(of, 1, frame(of, 2, 10)).await, Err(Error::Conflict { actual: 4 }));
    }
    let relay = open();
    relay.publish(of, 4, frame(of, 5, 10)).await.unwrap();
    relay.publish(other, 3, frame(other, 4, 10)).await.unwrap();
    let (found, _) = received(&*relay, "").await;
    assert_eq!((self::of(&found, of), self::of(&found, other)), (vec![1, 5], vec![4]));
    relay.purge(of).await.unwrap();
    assert_eq!(relay.head(of).await, Ok(5));
}

async fn slots_are_kept(open: Open<'_>) {
    let relay = open();
    let (object, named) = (Slot::Object(ContentHash::of(b"content")), Slot::Named(Name([5; 16])));
    for slot in [object, named] {
        assert_eq!(relay.get(slot).await, Ok(None));
        relay.delete(slot).await.unwrap();
        relay.put(slot, b"content".to_vec()).await.unwrap();
        relay.put(slot, b"other".to_vec()).await.unwrap();
    }
    let relay = open();
    assert_eq!(relay.get(object).await, Ok(Some(b"content".to_vec())), "an object stays what it is");
    assert_eq!(relay.get(named).await, Ok(Some(b"other".to_vec())));
    assert_eq!(relay.get(Slot::Object(ContentHash([1; 32]))).await, Ok(None));
    for slot in [object, named] {
        relay.delete(slot).await.unwrap();
        assert_eq!(open().get(slot).await, Ok(None));
    }
    let large = vec![0; crate::transport::MAX_OBJECT_BYTES + 1];
    assert!(matches!(relay.put(object, large).await, Err(Error::Refused(_))));
}

async fn news_wakes_a_reader(open: Open<'_>) {
    let (writer, reader, of) = (open(), open(), stream(1, 1));
    let (_, cursor) = received(&*reader, "").await;
    let publish = async {
        writer.publish(of, 0, frame(of, 1, 10)).await.unwrap();
    };
    let (woken, ()) = tokio::join!(tokio::time::timeout(NEWS, reader.changed(&cursor)), publish);
    assert_eq!(woken, Ok(Ok(())));
    assert_eq!(received(&*reader, &cursor).await.0, [(of, 1)]);
}

async fn long_streams_come_in_pieces(open: Open<'_>) {
    let (relay, of) = (open(), stream(1, 1));
    for sequence in 0..6 {
        relay.publish(of, sequence, frame(of, sequence + 1, 2 * 1024 * 1024)).await.unwrap();
    }
    let first = relay.receive("").await.unwrap();
    assert!(first.more && first.frames.len() < 6, "{}", first.frames.len());
    assert_eq!(self::of(&received(&*relay, "").await.0, of), [1, 2, 3, 4, 5, 6]);
}
