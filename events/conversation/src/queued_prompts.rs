//! Queued prompts: their record is not where they were typed.
//!
//! A prompt typed while the agent works goes into a queue, and the transcript may not mention it again. So it becomes a
//! prompt item at once, and is withdrawn when it leaves the queue ([`Meta::Withdrawn`]): then either a later prompt
//! repeats it where the agent received it, or it never reached the agent. If a working agent took it and no prompt
//! repeats it, it is a prompt of the digest at the line where it was taken.
//!
//! A reply that turns out to be the summary of a compaction is withdrawn in the same way (Codex writes such replies).
//!
//! A withdrawn prompt is in no hash and no count, and in the digest only if it was taken. One that never reached the agent is still searchable,
//! marked as undelivered ([`Withdrawn::is_undelivered`]). Items are only ever appended, so a withdrawn prompt stays in
//! the list; readers of a conversation must check it here.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::item::{Body, Item, Meta};

/// Most prompts whose delivery is tracked: many times what the reader follows of a queue.
const MAX_WAITING: usize = 64;

/// Lines whose prompts are withdrawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Withdrawn {
    lines: BTreeSet<u64>,
    /// The latest prompts that may be queued ones and were not delivered yet.
    waiting: VecDeque<(u64, String)>,
    /// Lines of the delivered ones.
    delivered: BTreeSet<u64>,
    /// Those that a working agent took and no later prompt repeats, by the line where it took them.
    taken: BTreeMap<u64, (u64, String)>,
    /// The lines where those were queued.
    taken_lines: BTreeSet<u64>,
    /// Prompts queued up to this line have left the queue.
    emptied: u64,
}

impl Withdrawn {
    /// Collects the withdrawals of a conversation.
    pub fn from_items<'a>(items: impl IntoIterator<Item = &'a Item>) -> Self {
        let mut withdrawn = Self::default();
        items.into_iter().for_each(|item| withdrawn.note(item));
        withdrawn
    }

    /// Adds the next item of a conversation.
    pub fn note(&mut self, item: &Item) {
        match &item.body {
            Body::Meta(Meta::Withdrawn(line)) if *line == item.line && !self.is_waiting(*line) => self.take(*line),
            Body::Meta(Meta::Withdrawn(0)) => self.emptied = item.line,
            Body::Meta(Meta::Withdrawn(line)) => {
                self.lines.insert(*line);
            }
            Body::Prompt { text } => {
                let queued = self.waiting.len() + self.taken.len();
                let delivered = &mut self.delivered;
                let mut waits = |line: u64, queued: &str| {
                    let is_delivered = line < item.line && delivers(text, queued);
                    is_delivered.then(|| delivered.insert(line)).is_none()
                };
                self.waiting.retain(|(line, queued)| waits(*line, queued));
                let latest = self.taken.iter().rev().take(MAX_WAITING);
                let over: Vec<u64> =
                    latest.filter(|(_, (line, queued))| !waits(*line, queued)).map(|(taken, _)| *taken).collect();
                for (line, _) in over.iter().filter_map(|taken| self.taken.remove(taken)).collect::<Vec<_>>() {
                    self.taken_lines.remove(&line);
                }
                // Records of final prompts have ids, those of queued ones have none. A person who types a new prompt has
                // found the queue empty.
                if item.uuid.is_none() {
                    if self.waiting.len() == MAX_WAITING {
                        self.waiting.pop_front();
                    }
                    self.waiting.push_back((item.line, text.clone()));
                } else if self.waiting.len() + self.taken.len() == queued {
                    self.emptied = item.line;
                }
            }
            _ => {}
        }
    }

    fn is_waiting(&self, line: u64) -> bool {
        self.waiting.iter().any(|(queued, _)| *queued == line)
    }

    /// Notes that the agent took an entry of the queue: the oldest prompt in it, if there is one. What was queued before
    /// it was empty has left already.
    fn take(&mut self, at: u64) {
        let is_typed = |text: &str| !text.trim_start().starts_with(['{', '<', '/']);
        let oldest = self.waiting.iter().position(|(line, text)| *line > self.emptied && is_typed(text));
        if let Some(queued) = oldest.and_then(|oldest| self.waiting.remove(oldest)) {
            self.taken_lines.insert(queued.0);
            if let Some((line, _)) = self.taken.insert(at, queued) {
                self.taken_lines.remove(&line);
            }
        }
    }

    /// Returns the line of the queued prompt that a working agent took at a line, if no later prompt repeats it.
    pub fn taken_at(&self, line: u64) -> Option<u64> {
        self.taken.get(&line).map(|(queued, _)| *queued)
    }

    /// True if the item is a queued prompt that a working agent took, and that no later prompt repeats.
    pub fn is_taken(&self, item: &Item) -> bool {
        self.is_withdrawn(item) && self.taken_lines.contains(&item.line)
    }

    /// Number of lines that are withdrawn.
    pub fn count(&self) -> usize {
        self.lines.len()
    }

    /// True if every item is judged as by `other`: what is withdrawn, delivered and taken is the same.
    pub fn judges_as(&self, other: &Self) -> bool {
        self.lines == other.lines
            && self.delivered == other.delivered
            && self.taken == other.taken
            && self.taken_lines == other.taken_lines
    }

    /// Bytes of text held.
    pub fn weight(&self) -> usize {
        let waiting = self.waiting.iter().chain(self.taken.values()).map(|(_, text)| text.len());
        waiting.sum::<usize>() + size_of::<u64>() * (self.lines.len() + self.delivered.len() + self.taken_lines.len())
    }

    /// True if nothing is withdrawn.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// True if the item is withdrawn: a queued prompt, or a reply that was a summary.
    pub fn is_withdrawn(&self, item: &Item) -> bool {
        let may_be = match item.body {
            Body::Prompt { .. } => item.uuid.is_none(),
            Body::Reply { .. } => true,
            _ => false,
        };
        !self.lines.is_empty() && may_be && self.lines.contains(&item.line)
    }

    /// True if the item is a queued prompt that left the queue and was never delivered.
    pub fn is_undelivered(&self, item: &Item) -> bool {
        let is_held = matches!(item.body, Body::Prompt { .. }) && self.is_withdrawn(item);
        is_held && !self.delivered.contains(&item.line) && !self.is_taken(item)
    }
}

/// True if the prompt contains all lines of the queued one in a row: several entries of the queue may be delivered
/// together.
pub(crate) fn delivers(prompt: &str, queued: &str) -> bool {
    let queued = queued.trim();
    let apart = |c: Option<char>| c.is_none_or(|c| c == '\n');
    let places = prompt.match_indices(queued).take(MAX_WAITING);
    !queued.is_empty()
        && places.map(|(at, found)| (&prompt[..at], &prompt[at + found.len()..])).any(|(before, after)| {
            let blank = |c: char| c != '\n' && c.is_whitespace();
            apart(before.trim_end_matches(blank).chars().next_back())
                && apart(after.trim_start_matches(blank).chars().next())
        })
}

/// The items without withdrawn ones, and with those that a working agent took at the line where it took them.
pub fn without_withdrawn(items: &[Item]) -> Cow<'_, [Item]> {
    let withdrawn = Withdrawn::from_items(items);
    if !items.iter().any(|item| withdrawn.is_withdrawn(item)) {
        return Cow::Borrowed(items);
    }
    let stands = items.iter().filter(|item| !withdrawn.is_withdrawn(item)).map(|item| {
        match (&item.body, withdrawn.taken.get(&item.line)) {
            (Body::Meta(Meta::Withdrawn(_)), Some((_, text))) => {
                Item { body: Body::Prompt { text: text.clone() }, ..item.clone() }
            }
            _ => item.clone(),
        }
    });
    stands.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::ContentHash;
    use crate::messages::{message_count, messages};
    use crate::turns::units;

    fn item(line: u64, uuid: Option<&str>, body: Body) -> Item {
        Item { line, at: None, uuid: uuid.map(Into::into), message: None, sidechain: false, body }
    }

    fn prompt(line: u64, uuid: Option<&str>, text: &str) -> Item {
        item(line, uuid, Body::Prompt { text: text.to_owned() })
    }

    fn withdrawn(line: u64, of: u64) -> Item {
        item(line, None, Body::Meta(Meta::Withdrawn(of)))
    }

    #[test]
    fn a_withdrawn_prompt_is_in_nothing_that_is_made_of_a_conversation() {
        let start = prompt(1, Some("u-1"), "mend the crane of the harbour");
        let reply = item(4, Some("u-2"), Body::Reply { text: "The crane is mended.".to_owned() });
        let delivered = prompt(5, Some("u-3"), "and paint the lighthouse");
        let queued = prompt(2, None, "and paint the lighthouse");
        let items = [start.clone(), queued, withdrawn(3, 2), reply.clone(), delivered.clone()];
        let plain = [start, reply, delivered];
        assert_eq!(ContentHash::digest(&items), ContentHash::digest(&plain));
        assert_eq!(units(&items), units(&plain));
        assert_eq!(messages(&items), messages(&plain));
        assert_eq!(message_count(&items), message_count(&plain));
        assert_ne!(ContentHash::digest(&items[..2]), ContentHash::digest(&plain[..1]), "as long as it waits it stands");
    }

    #[test]
    fn a_queued_prompt_that_was_never_delivered_is_told_as_such() {
        let undelivered = |items: &[Item]| -> Vec<u64> {
            let all = Withdrawn::from_items(items);
            items.iter().filter(|item| all.is_undelivered(item)).map(|item| item.line).collect()
        };
        let typed = |line, text| prompt(line, Some("u"), text);
        // Taken back; delivered after that, before that, with others, alone with white space around it.
        assert_eq!(undelivered(&[prompt(2, None, "b"), withdrawn(3, 2)]), [2]);
        assert_eq!(undelivered(&[prompt(2, None, "b"), withdrawn(3, 2), typed(4, "b")]), [0; 0]);
        assert_eq!(undelivered(&[prompt(2, None, "b"), typed(3, "b"), withdrawn(4, 2)]), [0; 0]);
        assert_eq!(undelivered(&[prompt(2, None, "b\nc"), withdrawn(3, 2), typed(4, "a\n b\nc \nd")]), [0; 0]);
        assert_eq!(undelivered(&[prompt(2, None, "b"), withdrawn(3, 2), typed(4, "abc\nb c")]), [2]);
        // A prompt that came before is not a delivery.
        assert_eq!(undelivered(&[typed(1, "b"), prompt(2, None, "b"), withdrawn(3, 2)]), [2]);
        // Queued twice and never delivered: only the second one counts as undelivered.
        assert_eq!(undelivered(&[prompt(2, None, "b"), withdrawn(3, 2), prompt(4, None, "b"), withdrawn(5, 4)]), [4]);
        // A prompt that is not withdrawn stands.
        assert_eq!(undelivered(&[prompt(2, None, "b")]), [0; 0]);
    }

    #[test]
    fn only_the_words_of_an_undelivered_prompt_are_found() {
        let start = prompt(1, Some("u-1"), "mend the crane");
        let items = [start.clone(), prompt(2, None, "paint the lighthouse"), withdrawn(3, 2)];
        let texts: Vec<String> = units(&items).into_iter().map(|unit| unit.text).collect();
        assert_eq!(texts, ["mend the crane", "queued, not delivered: paint the lighthouse"]);
        let described: Vec<String> =
            messages(&items).iter().map(|message| format!("{:?}", message.parts[0].content)).collect();
        assert!(described[1].contains("\"queued\"") && described.len() == 2, "{described:?}");
        let alone = [start];
        assert_eq!(ContentHash::digest(&items), ContentHash::digest(&alone));
        assert_eq!(message_count(&items), message_count(&alone));
    }

    #[test]
    fn a_prompt_that_a_working_agent_took_stands_where_it_took_it() {
        let start = prompt(1, Some("u-1"), "mend the crane");
        let items = [start.clone(), prompt(2, None, "paint the lighthouse"), withdrawn(2, 2), withdrawn(5, 5)];
        let stand = without_withdrawn(&items);
        assert_eq!(stand.as_ref(), [start.clone(), withdrawn(2, 2), prompt(5, None, "paint the lighthouse")]);
        let texts: Vec<String> = units(&items).into_iter().map(|unit| unit.text).collect();
        assert_eq!(texts, ["mend the crane", "paint the lighthouse"]);
        let described = messages(&items);
        assert!(!format!("{described:?}").contains("\"queued\"") && described.len() == 2, "{described:?}");
        // No hash and no count depends on it.
        let alone = [start];
        assert_eq!(ContentHash::digest(&items), ContentHash::digest(&alone));
        assert_eq!(message_count(&items), message_count(&alone));
    }

    #[test]
    fn only_what_was_said_of_the_queue_is_withdrawn() {
        let check = |items: &[Item], expected: &[u64]| {
            let lines: Vec<u64> = without_withdrawn(items).iter().map(|item| item.line).collect();
            assert_eq!(lines, expected, "{items:?}");
        };
        check(&[prompt(1, None, "a"), prompt(2, None, "b"), withdrawn(3, 2)], &[1, 3]);
        check(&[prompt(2, Some("u"), "b"), prompt(2, None, "c"), withdrawn(3, 2)], &[2, 3]);
        check(&[prompt(2, Some("u"), "b"), withdrawn(3, 2), withdrawn(4, 9)], &[2, 3, 4]);
        check(&[item(2, None, Body::Notice { text: "x".to_owned() }), withdrawn(3, 2)], &[2, 3]);
        check(&[], &[]);
    }
}
