//! A relay in memory that does everything a relay may do to its users.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use crate::keys::Name;
use crate::seal::Frame;
use crate::transport::{Error, Pending, Received, Relay, Slot, Stream};

/// Random numbers from a seed (SplitMix64).
#[derive(Clone, Debug)]
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bd1_e995_7b93_a1c3)
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % bound.max(1) as u64).unwrap_or_default()
    }

    pub(super) fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }
}

/// Stream, sequence, frame and number.
type Entry = (Name, u64, Option<Vec<u8>>, u64);

/// What the relay holds.
#[derive(Clone, Debug, Default)]
pub(super) struct Sea {
    /// Frames of each writer in their order; without bytes if they were purged. The last number is another one for each.
    logs: BTreeMap<Name, Vec<Entry>>,
    slots: BTreeMap<Slot, Vec<u8>>,
    /// True once nothing goes wrong any more.
    pub(super) is_calm: bool,
    /// How often anything was changed.
    pub(super) changes: u64,
}

impl Sea {
    fn head(&self, of: Stream) -> u64 {
        let log = self.logs.get(&of.writer).into_iter().flatten();
        log.filter(|(stream, ..)| *stream == of.stream).map(|(_, sequence, ..)| *sequence).max().unwrap_or_default()
    }

    /// The frames of a session that are there: their sequences, and whether they were purged.
    pub(super) fn about(
        &self,
        keys: &crate::keys::Keys,
        id: &baton_conversation::record::SessionId,
    ) -> Vec<(u64, bool)> {
        let (writer, stream) = (keys.team.writer_name(&keys.writer()), keys.team.session_name(&keys.writer(), id));
        let log = self.logs.get(&writer).into_iter().flatten().filter(|(of, ..)| *of == stream);
        log.map(|(_, sequence, frame, _)| (*sequence, frame.is_none())).collect()
    }

    /// Loses a session's stream.
    pub(super) fn lose(&mut self, keys: &crate::keys::Keys, id: &baton_conversation::record::SessionId) {
        let stream = keys.team.session_name(&keys.writer(), id);
        self.logs.values_mut().for_each(|log| log.retain(|(of, ..)| *of != stream));
    }

    pub(super) fn take(&mut self, name: Name) -> (Slot, Vec<u8>) {
        self.slots.remove_entry(&Slot::Named(name)).unwrap()
    }

    pub(super) fn give(&mut self, (slot, bytes): (Slot, Vec<u8>)) {
        self.slots.insert(slot, bytes);
    }

    /// The named slots.
    pub(super) fn names(&self) -> impl Iterator<Item = Name> + '_ {
        self.slots.keys().filter_map(|slot| match slot {
            Slot::Named(name) => Some(*name),
            Slot::Object(_) => None,
        })
    }
}

/// How one home sees it.
#[derive(Clone)]
pub(super) struct Lossy {
    own: Name,
    sea: Arc<Mutex<Sea>>,
    chance: Arc<Mutex<Chance>>,
    ids: Arc<AtomicU64>,
    /// After so many calls the home is dead.
    pub(super) dies_after: Arc<Mutex<Option<usize>>>,
    pub(super) died: Arc<Notify>,
    /// How often it was asked.
    pub(super) calls: Arc<AtomicU64>,
}

/// What becomes of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Done,
    /// It never arrives.
    Lost,
    /// It is done, and its answer never arrives.
    AnswerLost,
}

fn lost<T>() -> Result<T, Error> {
    Err(Error::Unavailable("lost".to_owned()))
}

impl Lossy {
    pub(super) fn new(own: Name, sea: Arc<Mutex<Sea>>, ids: Arc<AtomicU64>, seed: u64) -> Self {
        let chance = Arc::new(Mutex::new(Chance::new(seed)));
        Self { own, sea, chance, ids, dies_after: Arc::default(), died: Arc::default(), calls: Arc::default() }
    }

    fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    fn percent(&self, chance: usize) -> bool {
        let is_calm = self.sea.lock().unwrap().is_calm;
        !is_calm && self.chance.lock().unwrap().percent(chance)
    }

    /// One call; what it does it does at once or not at all.
    fn call<'a, T: Send + 'a>(&'a self, work: impl FnOnce(&mut Sea) -> Result<T, Error> + Send + 'a) -> Pending<'a, T> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            let is_dead = {
                let mut left = self.dies_after.lock().unwrap();
                *left = left.map(|left| left.saturating_sub(1));
                *left == Some(0)
            };
            let fate = match () {
                () if self.percent(4) => Fate::Lost,
                () if self.percent(4) => Fate::AnswerLost,
                () => Fate::Done,
            };
            if fate == Fate::Lost && !is_dead {
                return lost();
            }
            let done = work(&mut self.sea.lock().unwrap());
            if is_dead {
                self.died.notify_one();
                std::future::pending::<()>().await;
            }
            if fate == Fate::AnswerLost { lost() } else { done }
        })
    }

    fn change<'a>(&'a self, work: impl FnOnce(&mut Sea) -> Result<(), Error> + Send + 'a) -> Pending<'a, ()> {
        self.call(move |sea| {
            sea.changes += 1;
            work(sea)
        })
    }
}

impl Relay for Lossy {
    fn publish(&self, stream: Stream, expected: u64, frame: Vec<u8>) -> Pending<'_, ()> {
        self.change(move |sea| {
            let (actual, id) = (sea.head(stream), self.next_id());
            if actual != expected {
                return Err(Error::Conflict { actual });
            }
            assert_eq!(Frame::parse(&frame).unwrap().header.sequence, expected + 1);
            sea.logs.entry(stream.writer).or_default().push((stream.stream, expected + 1, Some(frame), id));
            Ok(())
        })
    }

    /// Each writer's frames arrive in their order, but of each other one only some, some of them again, and writers in any
    /// order.
    fn receive<'a>(&'a self, cursor: &'a str) -> Pending<'a, Received> {
        let mut places: BTreeMap<String, (usize, u64)> = serde_json::from_str(cursor).unwrap_or_default();
        self.call(move |sea| {
            let mut received = Received::default();
            let mut writers: Vec<Name> = sea.logs.keys().copied().collect();
            let is_calm = sea.is_calm;
            let mut chance = self.chance.lock().unwrap();
            let mut percent = |of: usize| !is_calm && chance.percent(of);
            if percent(50) {
                writers.reverse();
            }
            received.is_set_back = places.keys().any(|name| !writers.iter().any(|writer| writer.to_string() == *name));
            for writer in writers {
                let log = &sea.logs[&writer];
                let place = places.entry(writer.to_string()).or_default();
                let before = |place: usize| place.checked_sub(1).map_or(0, |last| log[last].3);
                if place.0 > log.len() || before(place.0) != place.1 {
                    received.is_set_back = true;
                    place.0 = 0;
                }
                if percent(10) {
                    place.0 = place.0.saturating_sub(3);
                }
                for (_, _, frame, _) in &log[place.0..] {
                    if percent(15) && writer != self.own {
                        break;
                    }
                    place.0 += 1;
                    received.frames.extend(frame.clone());
                }
                place.1 = before(place.0);
            }
            received.cursor = serde_json::to_string(&places).unwrap();
            Ok(received)
        })
    }

    fn head(&self, stream: Stream) -> Pending<'_, u64> {
        self.call(move |sea| Ok(sea.head(stream)))
    }

    fn put(&self, slot: Slot, bytes: Vec<u8>) -> Pending<'_, ()> {
        self.change(move |sea| {
            match slot {
                Slot::Object(_) => drop(sea.slots.entry(slot).or_insert(bytes)),
                Slot::Named(_) => drop(sea.slots.insert(slot, bytes)),
            }
            Ok(())
        })
    }

    /// It may not have arrived yet.
    fn get(&self, slot: Slot) -> Pending<'_, Option<Vec<u8>>> {
        let is_late = self.percent(15);
        self.call(move |sea| Ok(sea.slots.get(&slot).filter(|_| !is_late).cloned()))
    }

    fn delete(&self, slot: Slot) -> Pending<'_, ()> {
        self.change(move |sea| {
            sea.slots.remove(&slot);
            Ok(())
        })
    }

    fn purge(&self, stream: Stream) -> Pending<'_, ()> {
        self.call(move |sea| {
            let log = sea.logs.get_mut(&stream.writer).into_iter().flatten();
            let frames = log.filter(|(of, _, frame, _)| *of == stream.stream && frame.is_some());
            frames.for_each(|(_, _, frame, _)| *frame = None);
            Ok(())
        })
    }

    fn continue_after(&self, stream: Stream, sequence: u64) -> Pending<'_, ()> {
        self.call(move |sea| {
            let id = self.next_id();
            if sea.head(stream) < sequence {
                sea.logs.entry(stream.writer).or_default().push((stream.stream, sequence, None, id));
            }
            Ok(())
        })
    }

    fn changed<'a>(&'a self, _: &'a str) -> Pending<'a, ()> {
        Box::pin(std::future::ready(Ok(())))
    }
}
