//! What of a conversation is fetched from the daemon.

use baton_protocol::answer::{Message, Messages};
use baton_protocol::{MessagesParams, method};

use super::lane::Asking;
use super::messages;
use crate::print::Marks;

/// Messages that are fetched at once.
const FETCHED: u32 = 60;
/// Messages on either side of a line that is jumped to; the daemon gives at most 50.
const AROUND: u32 = 30;

/// What is to be fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fetch {
    /// The messages that begin at or after a line, to be added at the end.
    From(u64),
    /// Those before a line, to be added at the beginning.
    Before(u64),
    /// Those around a line, in place of what is held.
    Around(u64),
    /// The messages that begin at or after a line, newly read, in place of those held from there on.
    Grown(u64),
}

/// The lines of all messages of a kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Survey {
    /// Messages in which a person asks.
    pub(super) prompts: Vec<u64>,
    /// Messages with what is looked for.
    pub(super) matches: Vec<u64>,
}

impl Fetch {
    /// Fetches from the daemon.
    pub(super) fn ask(self, asking: &mut Asking<'_>, id: &str) -> Result<Messages, String> {
        let session = id.to_owned();
        let params = match self {
            Self::From(from) => MessagesParams { session, from, limit: Some(FETCHED), ..MessagesParams::default() },
            Self::Grown(from) => {
                MessagesParams { session, from, limit: Some(FETCHED), fresh: true, ..MessagesParams::default() }
            }
            Self::Before(line) => {
                MessagesParams { session, around: Some(line), context: AROUND, ..MessagesParams::default() }
            }
            Self::Around(line) => {
                MessagesParams { session, around: Some(line), context: AROUND, ..MessagesParams::default() }
            }
        };
        asking.call(method::MESSAGES, &params)
    }
}

impl Survey {
    /// Adds a page of messages.
    pub(super) fn note(&mut self, page: &[Message], needle: &str) {
        let marks = Marks::literal(needle);
        let lines = |is: &dyn Fn(&&Message) -> bool| page.iter().filter(is).map(|it| it.line).collect::<Vec<_>>();
        self.prompts.extend(lines(&|message| messages::is_prompt(message)));
        self.matches.extend(lines(&|message| !needle.is_empty() && messages::is_match(message, &marks)));
    }

    /// Reads a whole conversation, page by page. `None` if nobody wants to know any more.
    pub(super) fn ask(asking: &mut Asking<'_>, id: &str, needle: &str) -> Option<Self> {
        let (mut survey, mut from) = (Self::default(), Some(0));
        while let Some(line) = from {
            if !asking.is_wanted() {
                return None;
            }
            let params = MessagesParams { session: id.to_owned(), from: line, ..MessagesParams::default() };
            let page: Messages = asking.call(method::MESSAGES, &params).ok()?;
            survey.note(&page.messages, needle);
            from = page.next.filter(|next| *next > line);
        }
        Some(survey)
    }
}
