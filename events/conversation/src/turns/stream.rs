//! Items in, units out, one after the other: of a conversation of any length only what waits for a result is held.

use std::collections::{BTreeMap, VecDeque};

use super::{NEIGHBOURS, Unit, cut, tool};
use crate::item::{Body, Item, Meta};
use crate::queued_prompts::{Withdrawn, delivers};

/// Text behind a call that waits for its result, in bytes: thousands of units. A call whose result comes later than that
/// stands without it, and the result stands alone.
const WAITING_BYTES: usize = 2 * 1024 * 1024;
/// What stands before a prompt that was queued and never reached the agent.
const UNDELIVERED: &str = "queued, not delivered: ";
/// Most withdrawn prompts that are followed.
const MAX_QUEUED: usize = 64;
/// What a unit takes besides its text.
const UNIT_BYTES: usize = size_of::<Unit>() + 64;

/// Makes the units of a conversation that is given item by item; linear.
///
/// Prompts, answers, replies and thinking give one unit or more, each of at most about 1,600 characters. A tool call
/// gives exactly one, with the result that answers it; a result that answers no call gives one of its own, and so does one
/// that comes megabytes later. Summaries repeat what was said, notices and facts about the session are nobody's words: they
/// give none. Prompts that were withdrawn, which have to be known before, give none where they were delivered, and are marked
/// where they never were. As long as lines do not decrease, `(line, part)` names a unit.
#[derive(Debug, Default)]
pub struct Stream {
    /// Units that are not told yet, in order.
    held: VecDeque<Held>,
    /// What they take.
    bytes: usize,
    /// Units told.
    told: usize,
    /// Calls that wait for their result, by id: which unit it is, counted from 0.
    open: BTreeMap<Box<str>, usize>,
    /// Line and part of the last unit made.
    last: Option<(u64, u32)>,
    /// Units that there were when [`Stream::mark`] was called.
    marked: Option<usize>,
    /// The first of them that has changed since.
    changed: Option<usize>,
    withdrawn: Withdrawn,
    /// The withdrawn prompts by their lines.
    queued: BTreeMap<u64, QueuedUnit>,
}

/// A prompt that was withdrawn: what it is as a unit changes when it leaves the queue and when it is delivered.
#[derive(Debug)]
struct QueuedUnit {
    /// Which unit it is, or would have been.
    index: usize,
    text: String,
    has_left: bool,
    is_delivered: bool,
}

#[derive(Debug)]
struct Held {
    unit: Unit,
    /// Of a call without its result.
    waits_for: Option<Box<str>>,
}

impl Stream {
    /// The units of a conversation of which these prompts are withdrawn, wherever in it that is said.
    pub fn without(withdrawn: Withdrawn) -> Self {
        Self { withdrawn, ..Self::default() }
    }

    /// Takes the next item, and gives the units that are complete now, in order, until `take` fails.
    pub fn push<E>(&mut self, item: &Item, take: &mut impl FnMut(Unit) -> Result<(), E>) -> Result<(), E> {
        match &item.body {
            Body::Prompt { text } | Body::Reply { text } if self.withdrawn.holds(item) => {
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
                if self.withdrawn.is_undelivered(item) {
                    for part in cut::parts(text) {
                        self.add(item, format!("{UNDELIVERED}{part}"), None);
                        self.tell(false, take)?;
                    }
                }
            }
            Body::Meta(Meta::Withdrawn(line)) => {
                let left = self.queued.get_mut(line).map(|queued| {
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
                    self.tell(false, take)?;
                }
            }
            Body::Call(call) => self.add(item, tool::call_line(call), Some(&*call.id).filter(|id| !id.is_empty())),
            Body::Result(result) => match self.open.remove(&*result.id) {
                Some(index) => {
                    if let Some(held) = index.checked_sub(self.told).and_then(|at| self.held.get_mut(at)) {
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
        self.tell(false, take)
    }

    /// Gives the units that are left. How many there were in all.
    pub fn finish<E>(mut self, take: &mut impl FnMut(Unit) -> Result<(), E>) -> Result<usize, E> {
        self.tell(true, take)?;
        Ok(self.told)
    }

    /// How many units the items until now have made.
    pub fn count(&self) -> usize {
        self.told + self.held.len()
    }

    /// What was pushed until now is known already: [`Stream::changed_from`] tells what differs from it.
    pub fn mark(&mut self) {
        self.marked = Some(self.count());
        self.changed = None;
    }

    /// From which unit on the body or the context may differ from what the items before the [`mark`](Self::mark) gave.
    ///
    /// A late result changes the unit of its call, a withdrawal takes one away, and every changed or new unit changes the context of the two before it.
    /// The number of all units when nothing changed; 0 without a mark.
    pub fn changed_from(&self) -> usize {
        let Some(marked) = self.marked else { return 0 };
        match self.changed {
            None if marked == self.count() => marked,
            changed => changed.unwrap_or(marked).min(marked).saturating_sub(NEIGHBOURS),
        }
    }

    /// A prompt stands at this line: queued ones that say the same are no units any more.
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

    /// This unit is another one now, or gone.
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
        let unit = Unit { line: item.line, part, at: item.at, role: item.role(), uuid: item.uuid.clone(), text };
        self.held.push_back(Held { unit, waits_for: waits_for.map(Box::from) });
        let Some(id) = waits_for else { return };
        // Of two calls of one id the second is answered.
        if let Some(earlier) = self.open.insert(id.into(), index)
            && let Some(held) = earlier.checked_sub(self.told).and_then(|at| self.held.get_mut(at))
        {
            held.waits_for = None;
        }
    }

    fn tell<E>(&mut self, all: bool, take: &mut impl FnMut(Unit) -> Result<(), E>) -> Result<(), E> {
        while let Some(first) = self.held.front() {
            if let Some(id) = &first.waits_for {
                if !all && self.bytes <= WAITING_BYTES {
                    break;
                }
                self.open.remove(id);
            }
            let Some(Held { unit, .. }) = self.held.pop_front() else { break };
            self.told += 1;
            self.bytes -= unit.text.len() + UNIT_BYTES;
            take(unit)?;
        }
        Ok(())
    }
}
