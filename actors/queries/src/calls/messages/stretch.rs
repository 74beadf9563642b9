//! A stretch of the messages of a conversation. The conversation is streamed, and only the items of the stretch are
//! held.

use std::collections::{BTreeMap, BTreeSet};

use baton_conversation::abandoned_branches::{Abandoned, Prompts};
use baton_conversation::item::{Body, Call, INTERRUPTED, Item};
use baton_conversation::messages::{Message, MessagePlace, MessagePlaces, build_messages};
use baton_conversation::queued_prompts::Withdrawn;

use baton_store::conversation::Conversation;
use baton_store::conversation::Error as EpisodeError;

/// Most bytes of items that are held, by [`Item::weight`]: about a hundred answers. A larger stretch is shortened.
const HELD_BYTES: usize = 16 * 1024 * 1024;

/// The wanted messages.
#[derive(Clone, Copy, Debug)]
pub(super) enum StretchRequest {
    /// A number of messages from a line on, and those that begin in the same line as the last of them.
    From(u64, usize),
    /// The message at a line, with a number of messages on either side.
    Around(u64, usize),
}

/// Consecutive messages.
#[derive(Debug, Default)]
pub(super) struct Stretch {
    /// Number of messages in the conversation.
    pub(super) total: usize,
    /// The line where the first message begins, and the last line of the conversation's parts.
    pub(super) lines: Option<(u64, u64)>,
    /// Index of the message at the wanted line, else of the last one before it, else of the first.
    pub(super) focus: Option<usize>,
    /// Line where the previous message begins.
    pub(super) ahead: Option<u64>,
    /// Line where the next message begins.
    pub(super) behind: Option<u64>,
    /// What is known of calls that have no result.
    pub(super) unanswered: Unanswered,
    /// Range of the messages in the conversation.
    first: usize,
    end: usize,
    /// First lines of the messages that were read so far.
    begins: BTreeMap<usize, u64>,
    placed: Vec<(MessagePlace, Item)>,
    bytes: usize,
    abandoned: Abandoned,
}

impl Stretch {
    /// Reads a stretch of a conversation. Blocks for disk reads: up to three times all of a long conversation.
    pub(super) fn read(conversation: &Conversation, wanted: StretchRequest) -> Result<Self, EpisodeError> {
        Self::within(conversation, wanted, HELD_BYTES)
    }

    fn within(conversation: &Conversation, wanted: StretchRequest, most: usize) -> Result<Self, EpisodeError> {
        let (mut withdrawn, mut prompts) = (Withdrawn::default(), Prompts::default());
        conversation.each(|item| {
            withdrawn.note(item);
            prompts.note(item);
            Ok::<_, EpisodeError>(())
        })?;
        let mut stretch = Survey::new(conversation, withdrawn.clone(), wanted)?.into_stretch(wanted);
        stretch.abandoned = prompts.abandoned();
        let mut places = MessagePlaces::without(withdrawn);
        conversation.each(|item| {
            let place = places.next(item);
            stretch.unanswered.note(place, item);
            stretch.add(place, item, most);
            Ok::<_, EpisodeError>(())
        })?;
        stretch.focus = stretch.focus.map(|focus| focus - stretch.first);
        Ok(stretch)
    }

    /// The messages.
    pub(super) fn messages(&self) -> Vec<Message<'_>> {
        build_messages(self.placed.iter().map(|(place, item)| (*place, item)), self.first, &self.abandoned)
    }

    fn add(&mut self, place: MessagePlace, item: &Item, most: usize) {
        let Some(message) = place.message() else { return };
        if place.begins() {
            if message + 1 == self.first {
                self.ahead = Some(item.line);
            }
            if message == self.end {
                self.behind = Some(item.line);
            }
            if (self.first..self.end).contains(&message) {
                self.begins.insert(message, item.line);
            }
        }
        if !(self.first..self.end).contains(&message) {
            return;
        }
        self.bytes += item.weight();
        self.placed.push((place, item.clone()));
        while self.bytes > most && self.drop_least_wanted() {}
    }

    /// Drops the least wanted message; returns false if none can be dropped.
    fn drop_least_wanted(&mut self) -> bool {
        let before = (self.first, self.end);
        match self.focus {
            Some(focus) if focus - self.first > self.end - 1 - focus => self.first += 1,
            Some(focus) if self.end - 1 > focus => self.end -= 1,
            Some(_) => {}
            None => {
                // A page begins with a line, so it must end before one.
                let line = |message: usize| self.begins.get(&message);
                let last = self.begins.keys().next_back().copied().unwrap_or(self.first);
                let ends = (self.first + 1..=last.min(self.end)).rev();
                if let Some(end) = ends.filter(|end| *end < self.end).find(|end| line(*end) != line(*end - 1)) {
                    self.end = end;
                }
            }
        }
        if let Some(line) = self.begins.get(&self.end).filter(|_| self.end < before.1) {
            self.behind = Some(*line);
        }
        if let Some(line) = self.first.checked_sub(1).and_then(|last| self.begins.get(&last)) {
            self.ahead = Some(*line);
        }
        let kept = self.first..self.end;
        self.placed.retain(|(place, _)| place.message().is_some_and(|message| kept.contains(&message)));
        self.begins.retain(|message, _| kept.contains(message));
        self.bytes = self.placed.iter().map(|(_, item)| item.weight()).sum();
        before != (self.first, self.end)
    }
}

/// What a conversation tells of calls that have no result.
#[derive(Debug, Default)]
pub(super) struct Unanswered {
    /// The last line where a person typed a prompt or stopped the agent.
    turned: u64,
    /// Tools whose results the agent records.
    answered: BTreeSet<String>,
}

impl Unanswered {
    fn note(&mut self, place: MessagePlace, item: &Item) {
        let turns = match &item.body {
            Body::Prompt { .. } => matches!(place, MessagePlace::Begins(_) | MessagePlace::In(_)),
            Body::Notice { text } => text == INTERRUPTED,
            Body::Result(result) => {
                if let Some(name) = result.name.as_ref().filter(|name| !self.answered.contains(*name)) {
                    self.answered.insert(name.clone());
                }
                false
            }
            _ => false,
        };
        if turns && !item.sidechain {
            self.turned = self.turned.max(item.line);
        }
    }

    /// True if a call without result in this line was cut off: a person went on, and the tool's other calls have results.
    pub(super) fn is_cut_off(&self, call: &Call, line: u64) -> bool {
        line < self.turned && !call.id.is_empty() && self.answered.contains(&call.name)
    }
}

/// Locates the messages.
#[derive(Default)]
struct Survey {
    total: usize,
    lines: Option<(u64, u64)>,
    /// The first message from a line on, and the one after the last wanted.
    page: Option<(usize, usize)>,
    /// Line where the last message begins.
    last: Option<u64>,
    /// The first message that contains a line, and the last one before it.
    holder: Option<usize>,
    before: Option<usize>,
}

impl Survey {
    fn new(conversation: &Conversation, withdrawn: Withdrawn, wanted: StretchRequest) -> Result<Self, EpisodeError> {
        let (mut survey, mut places) = (Self::default(), MessagePlaces::without(withdrawn));
        conversation.each(|item| {
            let place = places.next(item);
            survey.add(place, item.line, wanted);
            Ok::<_, EpisodeError>(())
        })?;
        survey.total = places.count();
        Ok(survey)
    }

    fn add(&mut self, place: MessagePlace, at: u64, wanted: StretchRequest) {
        let Some(message) = place.message() else { return };
        if !matches!(place, MessagePlace::Answers(_)) {
            let (first, last) = self.lines.unwrap_or((at, at));
            self.lines = Some((first, last.max(at)));
        }
        match wanted {
            StretchRequest::Around(line, _) => {
                if at == line {
                    self.holder = Some(self.holder.map_or(message, |holder| holder.min(message)));
                }
                if at <= line && place.begins() {
                    self.before = Some(message);
                }
            }
            StretchRequest::From(line, limit) if place.begins() => {
                match &mut self.page {
                    None if at >= line => self.page = Some((message, message + limit)),
                    Some((_, end)) if message == *end && self.last == Some(at) => *end += 1,
                    _ => {}
                }
                self.last = Some(at);
            }
            StretchRequest::From(..) => {}
        }
    }

    fn into_stretch(self, wanted: StretchRequest) -> Stretch {
        let focus = self.holder.or(self.before).or((self.total > 0).then_some(0));
        let (first, end, focus) = match (wanted, focus) {
            (StretchRequest::From(..), _) => {
                let (first, end) = self.page.unwrap_or((self.total, self.total));
                (first, end, None)
            }
            (StretchRequest::Around(_, context), Some(focus)) => {
                (focus.saturating_sub(context), self.total.min(focus + context + 1), Some(focus))
            }
            (StretchRequest::Around(..), None) => (0, 0, None),
        };
        Stretch { total: self.total, lines: self.lines, focus, first, end, ..Stretch::default() }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use baton_conversation::item::{Outcome, ToolResult};
    use baton_conversation::messages::messages;

    use super::*;

    fn item(line: u64, body: Body) -> Item {
        Item { line, at: None, uuid: Some(format!("r{line}").into()), message: None, sidechain: false, body }
    }

    fn reply(line: u64, message: &str, chars: usize) -> Item {
        Item { message: Some(message.into()), ..item(line, Body::Reply { text: "x".repeat(chars) }) }
    }

    fn call(line: u64, message: &str, id: &str) -> Item {
        let call = Call {
            act: baton_conversation::item::Act::Shell,
            id: id.into(),
            name: "Bash".to_owned(),
            input: BTreeMap::new(),
            edit: None,
            commit: None,
            plan: None,
            git_line: None,
        };
        Item { message: Some(message.into()), ..item(line, Body::Call(call)) }
    }

    fn result(line: u64, id: &str) -> Item {
        let result = ToolResult {
            id: id.into(),
            name: None,
            outcome: Outcome::Ok,
            exit_code: None,
            text: format!("of {id}"),
            error: None,
            duration_ms: None,
            agent: None,
            report: None,
        };
        item(line, Body::Result(result))
    }

    /// Messages with interleaved parts, results long after their calls, and a result without a call.
    fn tangled() -> Vec<Item> {
        let mut items = Vec::new();
        for round in 0..20 {
            let (line, name) = (round * 10, format!("m{round}"));
            items.push(item(line + 1, Body::Prompt { text: "go on".to_owned() }));
            items.push(item(line + 1, Body::Media { text: "a picture".to_owned() }));
            items.push(reply(line + 2, &name, 100));
            items.push(call(line + 3, &name, &format!("c{round}")));
            items.push(item(line + 4, Body::Notice { text: "by the way".to_owned() }));
            items.push(reply(line + 5, &name, 50));
            if round >= 3 {
                items.push(result(line + 6, &format!("c{}", round - 3)));
            }
            items.push(result(line + 7, "nobody"));
        }
        items
    }

    #[test]
    fn a_stretch_has_the_messages_as_they_stand_in_the_whole() {
        let items = tangled();
        let all = messages(&items);
        let held = Conversation::Held(Arc::new(items.clone()));
        for most in [HELD_BYTES, 2_000, 1] {
            for line in 0..210 {
                let page = Stretch::within(&held, StretchRequest::From(line, 4), most).unwrap();
                let from = all.partition_point(|message| message.line < line);
                let found = page.messages();
                assert_eq!(found, all[from..from + found.len()], "from {line} within {most}");
                assert_eq!(page.behind, all.get(from + found.len()).map(|message| message.line), "from {line}");
                assert!(found.len() == 4.min(all.len() - from) || (most < HELD_BYTES && !found.is_empty()), "{line}");
                assert_eq!((page.total, page.lines), (all.len(), Some((1, 197))));

                let around = Stretch::within(&held, StretchRequest::Around(line, 2), most).unwrap();
                let found = around.messages();
                let focus = &found[around.focus.unwrap()];
                let at = all.iter().position(|message| message == focus).unwrap() - around.focus.unwrap();
                assert_eq!(found, all[at..at + found.len()], "around {line} within {most}");
                assert_eq!(around.behind, all.get(at + found.len()).map(|message| message.line), "around {line}");
                assert_eq!(around.ahead, at.checked_sub(1).map(|last| all[last].line), "around {line} within {most}");
                assert!(focus.line <= line || at == 0, "{line}");
            }
        }
    }

    #[test]
    fn messages_of_one_line_are_in_one_page_whatever_they_weigh() {
        let items: Vec<Item> =
            [1, 7, 7, 7, 9].iter().zip(0..).map(|(line, n)| reply(*line, &format!("m{n}"), 900)).collect();
        let held = Conversation::Held(Arc::new(items));
        for (from, most, expected) in
            [(0, 1, "1|7"), (7, 1, "7 7 7|9"), (7, 9_000, "7 7 7|9"), (0, 9_000, "1 7 7 7|9"), (9, 1, "9|")]
        {
            let page = Stretch::within(&held, StretchRequest::From(from, 2), most).unwrap();
            let lines: Vec<String> = page.messages().iter().map(|message| message.line.to_string()).collect();
            let behind = page.behind.map(|line| line.to_string()).unwrap_or_default();
            assert_eq!(format!("{}|{behind}", lines.join(" ")), expected, "{from} within {most}");
        }
    }
}
