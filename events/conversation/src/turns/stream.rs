//! Units from a stream of items. Only calls that wait for a result, and what follows them, are held in memory.

use std::collections::{BTreeMap, VecDeque};

use super::{Unit, cut, tool};
use crate::item::{Body, Item, Meta};
use crate::queued_prompts::{Withdrawn, delivers};
use crate::record_identity::record_mark;

/// Bytes of text after a call that waits for its result: thousands of units. A call whose result comes later stands
/// without it, and the result stands alone.
const WAITING_BYTES: usize = 2 * 1024 * 1024;
/// Prefix of a queued prompt that never reached the agent.
const UNDELIVERED: &str = "queued, not delivered: ";
/// Most withdrawn prompts that are tracked.
const MAX_QUEUED: usize = 64;
/// Size of a unit besides its text, in bytes.
const UNIT_BYTES: usize = size_of::<Unit>() + 64;

/// Makes the units of a conversation, item by item; linear.
///
/// Prompts, answers, replies and thinking give one unit or more, each of at most about 1,600 characters. A tool call
/// gives exactly one, including its result; a result without a call, or one that comes megabytes later, gives one of
/// its own. Summaries, notices and facts about the session give none. Withdrawn prompts, which must be known
/// beforehand, give none if they were delivered, and are marked if they were not. As long as lines do not decrease,
/// `(line, part)` identifies a unit.
#[derive(Debug, Default)]
pub struct Stream {
    /// Units that were not emitted yet, in order.
    held: VecDeque<Held>,
    /// Their size in bytes.
    bytes: usize,
    /// Number of emitted units.
    emitted: usize,
    /// Calls that wait for their result, by id, with the number of their unit from 0.
    open: BTreeMap<Box<str>, usize>,
    /// Line and part of the last unit made.
    last: Option<(u64, u32)>,
    /// Number of units when [`Stream::mark`] was called.
    marked: Option<usize>,
    /// The first of those units that changed since.
    changed: Option<usize>,
    withdrawn: Withdrawn,
    /// Withdrawn prompts by line.
    queued: BTreeMap<u64, QueuedUnit>,
}

/// A withdrawn prompt: as a unit it changes when it leaves the queue and when it is delivered.
#[derive(Debug)]
struct QueuedUnit {
    /// Number of the unit that it is, or would have been.
    index: usize,
    text: String,
    has_left: bool,
    is_delivered: bool,
}

#[derive(Debug)]
struct Held {
    unit: Unit,
    /// Id of the call, as long as its result is missing.
    waits_for: Option<Box<str>>,
}

impl Stream {
    /// For a conversation with these withdrawn prompts.
    pub fn without(withdrawn: Withdrawn) -> Self {
        Self { withdrawn, ..Self::default() }
    }

    /// Adds the next item and passes units that are now complete to `take`, in order, until `take` fails.
    pub fn push<E>(&mut self, item: &Item, take: &mut impl FnMut(Unit) -> Result<(), E>) -> Result<(), E> {
        match &item.body {
            Body::Prompt { text } | Body::Reply { text } if self.withdrawn.is_withdrawn(item) => {
                let is_reply = matches!(item.body, Body::Reply { .. });
                if !is_reply {
                    self.deliver(item.line, text);
                }
                let queued =
                    QueuedUnit { index: self.count(), text: text.clone(), has_left: false, is_delivered: is_reply };
                self.queued.entry(item.line).or_insert(queued);
                if self.queued.len() > MAX_QUEUED {
                    self.queued.pop_first();
                }
                let mark = if self.withdrawn.is_taken(item) { "" } else { UNDELIVERED };
                if mark.is_empty() || self.withdrawn.is_undelivered(item) {
                    for part in cut::parts(text) {
                        self.add(item, format!("{mark}{part}"), None);
                        self.emit(false, take)?;
                    }
                }
            }
            Body::Meta(Meta::Withdrawn(line)) => {
                let line = self.withdrawn.taken_at(item.line).unwrap_or(*line);
                let left = self.queued.get_mut(&line).map(|queued| {
                    queued.has_left = true;
                    queued.index
                });
                left.into_iter().for_each(|index| self.change(index));
            }
            Body::Prompt { text } | Body::Answer { text } | Body::Reply { text } | Body::Thinking { text } => {
                if let Body::Prompt { .. } = item.body {
                    self.deliver(item.line, text);
                }
                for part in cut::parts(text) {
                    self.add(item, part.to_owned(), None);
                    self.emit(false, take)?;
                }
            }
            Body::Call(call) => self.add(item, tool::call_line(call), Some(&*call.id).filter(|id| !id.is_empty())),
            Body::Result(result) => match self.open.remove(&*result.id) {
                Some(index) => {
                    if let Some(held) = index.checked_sub(self.emitted).and_then(|at| self.held.get_mut(at)) {
                        let before = held.unit.text.clone();
                        tool::answer(&mut held.unit.text, result);
                        held.waits_for = None;
                        self.bytes = self.bytes + held.unit.text.len() - before.len();
                        if before != held.unit.text {
                            self.change(index);
                        }
                    }
                }
                None => {
                    let mut text = String::new();
                    tool::answer(&mut text, result);
                    if !text.is_empty() {
                        self.add(item, text, None);
                    }
                }
            },
            Body::Media { .. } | Body::Summary { .. } | Body::Notice { .. } | Body::Meta(_) => {}
        }
        self.emit(false, take)
    }

    /// Passes on the remaining units. Returns the number of all units.
    pub fn finish<E>(mut self, take: &mut impl FnMut(Unit) -> Result<(), E>) -> Result<usize, E> {
        self.emit(true, take)?;
        Ok(self.emitted)
    }

    /// Number of units passed on so far. They change no more, unless [`Stream::changed_from`] says so.
    pub fn emitted(&self) -> usize {
        self.emitted
    }

    /// The units that follow those: what comes next may still change them.
    pub fn pending(&self) -> impl Iterator<Item = &Unit> {
        self.held.iter().map(|held| &held.unit)
    }

    /// Bytes of text held.
    pub fn weight(&self) -> usize {
        self.bytes + self.withdrawn.weight() + self.queued.values().map(|queued| queued.text.len()).sum::<usize>()
    }

    /// Number of units made so far.
    pub fn count(&self) -> usize {
        self.emitted + self.held.len()
    }

    /// Marks the units so far as known: [`Stream::changed_from`] refers to them.
    pub fn mark(&mut self) {
        self.marked = Some(self.count());
        self.changed = None;
    }

    /// First unit that may differ from what the items before the [`mark`](Self::mark) gave.
    ///
    /// A late result changes the unit of its call, a withdrawal removes one. Equals the number of units if nothing
    /// changed; 0 without a mark.
    pub fn changed_from(&self) -> usize {
        let Some(marked) = self.marked else { return 0 };
        self.changed.map_or(marked, |changed| changed.min(marked))
    }

    /// A prompt stands at this line: queued ones with the same text are units no longer.
    fn deliver(&mut self, line: u64, text: &str) {
        let mut changed = Vec::new();
        for (_, queued) in self.queued.range_mut(..line).filter(|(_, queued)| !queued.is_delivered) {
            if delivers(text, &queued.text) {
                queued.is_delivered = true;
                changed.push(queued.index);
            }
        }
        changed.into_iter().for_each(|index| self.change(index));
        self.queued.retain(|_, queued| !(queued.has_left && queued.is_delivered));
    }

    /// Notes that a unit changed or is gone.
    fn change(&mut self, index: usize) {
        if self.marked.is_some_and(|marked| index <= marked) {
            self.changed = Some(self.changed.map_or(index, |first| first.min(index)));
        }
    }

    fn add(&mut self, item: &Item, text: String, waits_for: Option<&str>) {
        let part = self.last.filter(|(line, _)| *line == item.line).map_or(0, |(_, part)| part.saturating_add(1));
        self.last = Some((item.line, part));
        let index = self.count();
        self.bytes += text.len() + UNIT_BYTES;
        let unit = Unit { line: item.line, part, at: item.at, role: item.role(), record: record_mark(item), text };
        self.held.push_back(Held { unit, waits_for: waits_for.map(Box::from) });
        let Some(id) = waits_for else { return };
        // If two calls have the same id, the second one is answered.
        if let Some(earlier) = self.open.insert(id.into(), index)
            && let Some(held) = earlier.checked_sub(self.emitted).and_then(|at| self.held.get_mut(at))
        {
            held.waits_for = None;
        }
    }

    fn emit<E>(&mut self, all: bool, take: &mut impl FnMut(Unit) -> Result<(), E>) -> Result<(), E> {
        while let Some(first) = self.held.front() {
            if let Some(id) = &first.waits_for {
                if !all && self.bytes <= WAITING_BYTES {
                    break;
                }
                self.open.remove(id);
            }
            let Some(Held { unit, .. }) = self.held.pop_front() else { break };
            self.emitted += 1;
            self.bytes -= unit.text.len() + UNIT_BYTES;
            take(unit)?;
        }
        Ok(())
    }
}
