//! Prompts that wait in a queue, and what is taken back.

use super::{ItemWriter, Stamp};
use crate::item::{Body, Meta};
use crate::transcript::cursor::Queued;

impl ItemWriter<'_> {
    /// Emits a queued prompt by `say` and withdraws it: it stands where it is delivered, and does not show whether the
    /// agent works.
    pub(crate) fn queued(&mut self, stamp: &Stamp<'_>, say: impl FnOnce(&mut Self)) {
        let working = self.cursor.working;
        say(self);
        (self.cursor.working, self.contents.prompt) = (working, false);
        let line = self.cursor.line;
        self.emit(stamp, || Some(Body::Meta(Meta::Withdrawn(line))));
    }

    /// Marks the line on which a working agent takes an entry of its queue, which it does between two calls.
    pub(crate) fn take_queued(&mut self, stamp: &Stamp<'_>) {
        let line = self.cursor.line;
        if self.cursor.working && self.cursor.open_calls.is_empty() {
            self.emit(stamp, || Some(Body::Meta(Meta::Withdrawn(line))));
        }
    }

    /// Marks the line on which a person takes all prompts back.
    pub(crate) fn empty_queue(&mut self, stamp: &Stamp<'_>) {
        self.emit(stamp, || Some(Body::Meta(Meta::Withdrawn(0))));
    }

    /// Withdraws the prompts that a cursor of an earlier version holds as queued: in that version they stood until they
    /// left the queue.
    pub(crate) fn withdraw_queued(&mut self, stamp: &Stamp<'_>) {
        while let Some(queued) = self.cursor.queue.take_first(|queued| queued.line > 0) {
            self.withdraw(stamp, queued);
        }
    }

    /// Withdraws an earlier line: a reply that turned out to be a summary, or a queued prompt.
    pub(crate) fn withdraw(&mut self, stamp: &Stamp<'_>, queued: Queued) {
        if queued.line > 0 {
            self.contents.conversation = true;
            self.cursor.overcounted = self.cursor.overcounted.saturating_add(1);
            self.emit(stamp, || Some(Body::Meta(Meta::Withdrawn(queued.line))));
        }
    }
}
