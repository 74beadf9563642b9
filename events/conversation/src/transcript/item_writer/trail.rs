//! Where a conversation stands whose messages have an id but do not name their parent.
//!
//! The cursor's queue holds the last messages that stand, each with the number of messages up to it, and 1 more: 0 is
//! unknown. The first entry may be the beginning itself. A message that is repeated by its id shows that the
//! conversation went back to it.

use super::super::Stamp;
use super::ItemWriter;
use crate::hash::Mark;
use crate::transcript::Queued;
use baton_redaction::raw_json::Text;

impl ItemWriter<'_> {
    /// The next message. Returns the mark of the one before it; `None` if it is a repetition.
    pub(crate) fn next_message(&mut self, id: Option<Text<'_>>) -> Option<String> {
        let before = self.last_message();
        let line = self.cursor.line.to_le_bytes();
        let mark = id.map_or_else(|| Mark::digest(&line), |id| Mark::digest(id.raw()));
        if id.is_some() && !self.cursor.remember_said(mark) {
            if !self.cursor.queue.cut_after(|message| message.mark == mark) {
                self.cursor.queue.clear();
                self.cursor.queue.push(Queued { mark, line: 0 });
            }
            return None;
        }
        let line = if before.line == 0 { 0 } else { before.line + 1 };
        self.cursor.queue.push(Queued { mark, line });
        Some(before.mark.to_string())
    }

    /// The conversation goes back to its first `count` messages.
    pub(crate) fn back_to(&mut self, stamp: &Stamp<'_>, count: u64) {
        self.last_message();
        let line = count.saturating_add(1);
        if self.cursor.queue.cut_after(|message| message.line == line) {
            let parent = self.last_message().mark.to_string();
            self.continue_below(stamp, Text::new(parent.as_bytes()));
        } else {
            // That message is too long ago.
            self.messages_begin(count);
        }
    }

    /// The last `count` messages are taken back, if it is known which these are.
    pub(crate) fn back_by(&mut self, stamp: &Stamp<'_>, count: u64) {
        if let Some(left) = self.last_message().line.checked_sub(1).and_then(|all| all.checked_sub(count)) {
            self.back_to(stamp, left);
        }
    }

    /// The conversation goes on from `count` messages that replace all before: nothing is abandoned.
    pub(crate) fn messages_begin(&mut self, count: u64) {
        let mark = Mark::digest(&[&b"begin"[..], &self.cursor.line.to_le_bytes()].concat());
        self.cursor.queue.clear();
        self.cursor.queue.push(Queued { mark, line: count.saturating_add(1) });
    }

    fn last_message(&mut self) -> Queued {
        if let Some(last) = self.cursor.queue.iter().last() {
            return last;
        }
        let beginning = Queued { mark: Mark::digest(b""), line: 1 };
        self.cursor.queue.push(beginning);
        beginning
    }
}
