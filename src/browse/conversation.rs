//! A conversation, of which a window of messages is held: what lies before and behind it is fetched when it is scrolled
//! to, found or jumped to.

use std::collections::BTreeSet;

use baton_protocol::answer::{Message, Messages};
use baton_protocol::{MessagesParams, method};

use super::lane::Asking;
use super::messages::{self, Drawing, Drawn};
use super::query_line::QueryLine;
use super::theme::Theme;
use crate::print::Marks;

/// Messages that are fetched at once.
const FETCHED: u32 = 60;
/// Messages on either side of a line that is jumped to; the daemon gives at most 50.
const AROUND: u32 = 30;
/// Most messages that are held.
const HELD: usize = 300;
/// Lines above what was jumped to.
const ABOVE: usize = 2;
/// A line behind every transcript.
const END: u64 = u32::MAX as u64;

/// What is to be fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fetch {
    /// The messages that begin at or after a line, to be added at the end.
    From(u64),
    /// Those before a line, to be added at the beginning.
    Before(u64),
    /// Those around a line, in place of what is held.
    Around(u64),
}

/// Where to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Jump {
    /// The message with a transcript line.
    To(u64),
    NextPrompt,
    LastPrompt,
    NextMatch,
    LastMatch,
    Start,
    End,
}

/// The lines of all messages of a kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Survey {
    /// Messages in which a person asks.
    pub(super) prompts: Vec<u64>,
    /// Messages with what is looked for.
    pub(super) matches: Vec<u64>,
}

/// A conversation on the screen.
pub(super) struct Conversation {
    /// Tells it from others that were opened.
    pub(super) number: u64,
    /// The session.
    pub(super) id: String,
    /// Its title.
    pub(super) title: String,
    messages: Vec<Message>,
    total: u64,
    before: Option<u64>,
    next: Option<u64>,
    lines: Vec<Drawn>,
    width: usize,
    top: usize,
    /// Lines that are still to be scrolled once what follows is fetched.
    owed: isize,
    cursor: Option<usize>,
    height: usize,
    is_unfolded: bool,
    turned: BTreeSet<u64>,
    marks: Marks,
    /// What is being typed to be looked for.
    pub(super) finding: Option<QueryLine>,
    needle: String,
    survey: Option<Survey>,
    /// Where to go once what it needs is there.
    pending: Option<Jump>,
    fetching: Option<Fetch>,
    is_surveying: bool,
    /// Why nothing is shown, or a remark.
    pub(super) note: Option<String>,
    theme: Theme,
}

impl Conversation {
    /// A conversation that opens at a line, or at its beginning. `marks` are the words that led to it.
    pub(super) fn new(
        number: u64,
        (id, title): (String, String),
        line: Option<u64>,
        marks: Marks,
        theme: Theme,
    ) -> Self {
        Self {
            number,
            id,
            title,
            messages: Vec::new(),
            total: 0,
            before: None,
            next: None,
            lines: Vec::new(),
            width: 0,
            top: 0,
            owed: 0,
            cursor: None,
            height: 1,
            is_unfolded: false,
            turned: BTreeSet::new(),
            marks,
            finding: None,
            needle: String::new(),
            survey: None,
            pending: Some(line.map_or(Jump::Start, Jump::To)),
            fetching: None,
            is_surveying: false,
            note: None,
            theme,
        }
    }

    /// The lines on the screen of this size.
    pub(super) fn visible(&mut self, width: usize, height: usize) -> &[Drawn] {
        self.height = height.max(1);
        if width != self.width {
            self.width = width;
            self.draw_anew();
        }
        self.top = self.top.min(self.lines.len().saturating_sub(self.height));
        &self.lines[self.top..usize::min(self.top + self.height, self.lines.len())]
    }

    /// Where the screen is: `line 28, 340 messages`.
    pub(super) fn place(&self) -> String {
        let found = match (&self.survey, self.needle.is_empty()) {
            (Some(survey), false) => {
                format!("{} with {:?}, ", crate::print::counted(survey.matches.len() as u64, "message"), self.needle)
            }
            (None, false) if self.is_surveying => format!("looking for {:?}, ", self.needle),
            _ => String::new(),
        };
        let line = self.current().map_or(0, |message| message.line);
        format!("{found}line {line}, {}", crate::print::counted(self.total, "step"))
    }

    /// The message at the top of the screen.
    pub(super) fn current(&self) -> Option<&Message> {
        let line = self.lines.get(self.top)?.of;
        self.messages.iter().find(|message| message.line == line)
    }

    /// Scrolls by lines; beyond what is held, once more is fetched.
    pub(super) fn scroll(&mut self, lines: isize) {
        let from = self.top;
        self.top = self.top.saturating_add_signed(lines).min(self.lines.len().saturating_sub(self.height));
        let is_more = if lines < 0 { self.before } else { self.next }.is_some();
        let left = lines.unsigned_abs().saturating_sub(from.abs_diff(self.top));
        self.owed = if is_more { lines.signum().saturating_mul(isize::try_from(left).unwrap_or(0)) } else { 0 };
    }

    /// Lines of a screen.
    pub(super) fn page(&self) -> isize {
        isize::try_from(self.height.saturating_sub(2).max(1)).unwrap_or(1)
    }

    /// Folds all calls of tools, or unfolds them.
    pub(super) fn fold_all(&mut self) {
        self.is_unfolded = !self.is_unfolded;
        self.turned.clear();
        self.draw_anew();
    }

    /// Folds or unfolds the calls on a line of the screen. False if there are none.
    pub(super) fn fold_at(&mut self, row: usize) -> bool {
        let Some(line) = self.lines.get(self.top + row).filter(|line| line.is_fold) else { return false };
        let of = line.of;
        if !self.turned.remove(&of) {
            self.turned.insert(of);
        }
        self.draw_anew();
        true
    }

    /// Looks for a text, from here on.
    pub(super) fn find(&mut self, needle: &str) {
        self.needle = needle.to_owned();
        self.marks = Marks::literal(needle);
        self.survey = None;
        self.is_surveying = false;
        // What is folded cannot be found.
        self.is_unfolded |= !needle.is_empty();
        self.pending = (!needle.is_empty()).then_some(Jump::NextMatch);
        self.draw_anew();
    }

    /// Goes somewhere; what is missing for it is fetched.
    pub(super) fn jump(&mut self, jump: Jump) {
        let is_possible = !matches!(jump, Jump::NextMatch | Jump::LastMatch) || !self.needle.is_empty();
        self.pending = is_possible.then_some(jump);
        self.owed = 0;
        self.try_jump();
    }

    /// What is to be fetched now, if anything.
    pub(super) fn wanted_fetch(&mut self) -> Option<Fetch> {
        self.try_jump();
        if self.fetching.is_some() {
            return None;
        }
        let near = self.height * 2;
        let wanted = match self.pending {
            Some(Jump::To(line)) => Some(Fetch::Around(line)),
            Some(Jump::Start) => Some(Fetch::From(0)),
            Some(Jump::End) => Some(Fetch::Around(END)),
            _ if self.top + near >= self.lines.len() && self.next.is_some() => self.next.map(Fetch::From),
            _ if self.top < self.height => self.before.map(Fetch::Before),
            _ => None,
        };
        self.fetching = wanted;
        wanted
    }

    /// What is to be looked for in the whole conversation now, if anything.
    pub(super) fn wanted_survey(&mut self) -> Option<String> {
        let needs =
            matches!(self.pending, Some(Jump::NextPrompt | Jump::LastPrompt | Jump::NextMatch | Jump::LastMatch));
        if needs && self.survey.is_none() && self.before.is_none() && self.next.is_none() && !self.messages.is_empty() {
            let mut survey = Survey::default();
            survey.note(&self.messages, &self.needle);
            self.survey = Some(survey);
            self.try_jump();
            return None;
        }
        let is_wanted = needs && self.survey.is_none() && !self.is_surveying;
        self.is_surveying |= is_wanted;
        is_wanted.then(|| self.needle.clone())
    }

    /// Takes what was found in the whole conversation, unless something else is looked for by now.
    pub(super) fn take_survey(&mut self, needle: &str, survey: Survey) {
        if needle == self.needle {
            self.survey = Some(survey);
            self.is_surveying = false;
            self.try_jump();
        }
    }

    /// Takes fetched messages.
    pub(super) fn take(&mut self, fetch: Fetch, answer: Result<Messages, String>) {
        if self.fetching.take() != Some(fetch) {
            return;
        }
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                (self.note, self.pending, self.next, self.before) = (Some(error), None, None, None);
                return;
            }
        };
        self.total = answer.total;
        if answer.messages.is_empty() {
            self.note = answer.note.clone().or_else(|| self.messages.is_empty().then(|| "no messages".to_owned()));
        }
        match fetch {
            Fetch::From(line) if line > 0 => self.append(answer),
            Fetch::Before(_) => self.prepend(answer),
            Fetch::From(_) | Fetch::Around(_) => {
                let focus =
                    answer.focus.and_then(|at| answer.messages.get(usize::try_from(at).ok()?)).map(|it| it.line);
                (self.messages, self.before, self.next) = (answer.messages, answer.before, answer.next);
                self.turned.clear();
                self.top = 0;
                self.draw_anew();
                self.pending = match (self.pending, focus) {
                    (Some(Jump::Start), _) => None,
                    (Some(Jump::End), _) => {
                        self.top = self.lines.len().saturating_sub(self.height);
                        None
                    }
                    (Some(Jump::To(_)), focus) => focus.map(Jump::To),
                    (other, _) => other,
                };
            }
        }
        self.try_jump();
    }

    fn append(&mut self, answer: Messages) {
        let last = self.messages.last().map_or(0, |message| message.line);
        self.messages.extend(answer.messages.into_iter().filter(|message| message.line > last));
        self.next = answer.next.filter(|next| *next > last);
        let too_many = self.messages.len().saturating_sub(HELD);
        if too_many > 0 {
            let first = self.messages.drain(..too_many).next_back().map(|message| message.line);
            self.before = first.or(self.before);
        }
        self.draw_in_place();
    }

    fn prepend(&mut self, answer: Messages) {
        let first = self.messages.first().map_or(u64::MAX, |message| message.line);
        let earlier: Vec<Message> = answer.messages.into_iter().filter(|message| message.line < first).collect();
        // Without anything earlier it would be asked for ever.
        self.before = answer.before.filter(|_| !earlier.is_empty());
        self.messages.splice(..0, earlier);
        if self.messages.len() > HELD {
            self.next = self.messages.get(HELD).map(|message| message.line);
            self.messages.truncate(HELD);
        }
        self.draw_in_place();
    }

    /// Draws anew with the same message at the same place of the screen.
    fn draw_in_place(&mut self) {
        let at = self.lines.get(self.top).map(|line| line.of);
        let within = at.map_or(0, |of| self.top - self.first_of(of).unwrap_or(self.top));
        self.lines = self.drawn();
        if let Some(first) = at.and_then(|of| self.first_of(of)) {
            let top = std::mem::replace(&mut self.top, first + within);
            self.cursor = self.cursor.map(|cursor| (cursor + self.top).saturating_sub(top));
        }
        self.scroll(self.owed);
    }

    fn draw_anew(&mut self) {
        let at = self.lines.get(self.top).map(|line| line.of);
        self.lines = self.drawn();
        self.top = at.and_then(|of| self.first_of(of)).unwrap_or(0);
        self.cursor = None;
    }

    fn drawn(&self) -> Vec<Drawn> {
        let (width, theme) = (self.width, self.theme);
        let drawing = Drawing { width, theme, marks: &self.marks, is_unfolded: self.is_unfolded, turned: &self.turned };
        if width == 0 { Vec::new() } else { drawing.lines(&self.messages) }
    }

    fn first_of(&self, line: u64) -> Option<usize> {
        self.lines.iter().position(|drawn| drawn.of == line)
    }

    /// Goes where it is to go, if that is held.
    fn try_jump(&mut self) {
        let Some(jump) = self.pending.filter(|_| self.width > 0 && !self.messages.is_empty()) else { return };
        let found = match jump {
            Jump::Start => self.before.is_none().then_some(0),
            Jump::End => self.next.is_none().then_some(self.lines.len()),
            Jump::To(line) => self.held_at(line),
            Jump::NextPrompt => self.find_line(true, |line| line.is_prompt),
            Jump::LastPrompt => self.find_line(false, |line| line.is_prompt),
            Jump::NextMatch => self.find_line(true, |line| line.is_match),
            Jump::LastMatch => self.find_line(false, |line| line.is_match),
        };
        let is_sought: fn(&Drawn) -> bool = match jump {
            Jump::NextMatch | Jump::LastMatch => |line| line.is_match,
            _ => |line| line.is_prompt,
        };
        if let Some(at) = found {
            self.go(at);
        } else if let Some(survey) = self.survey.as_ref() {
            let here = self.lines.get(self.here()).map_or(0, |line| line.of);
            let after = |lines: &[u64]| lines.iter().find(|line| **line > here).or(lines.first()).copied();
            let before = |lines: &[u64]| lines.iter().rev().find(|line| **line < here).or(lines.last()).copied();
            let line = match jump {
                Jump::NextPrompt => after(&survey.prompts),
                Jump::LastPrompt => before(&survey.prompts),
                Jump::NextMatch => after(&survey.matches),
                Jump::LastMatch => before(&survey.matches),
                Jump::To(_) | Jump::Start | Jump::End => return,
            };
            match line.map(|line| (line, self.held_at(line))) {
                // Nowhere in the conversation.
                None => self.pending = None,
                Some((line, None)) => self.pending = Some(Jump::To(line)),
                Some((line, Some(at))) => {
                    let within = self.lines[at..].iter().take_while(|drawn| drawn.of == line).position(is_sought);
                    self.go(at + within.unwrap_or(0));
                }
            }
        }
    }

    fn go(&mut self, at: usize) {
        self.top = at.saturating_sub(ABOVE).min(self.lines.len().saturating_sub(self.height));
        self.cursor = Some(at);
        self.pending = None;
    }

    /// The line from which is looked on: the last one that was gone to, while it is on the screen.
    fn here(&self) -> usize {
        self.cursor.filter(|at| (self.top..self.top + self.height).contains(at)).unwrap_or(self.top)
    }

    fn find_line(&self, is_forward: bool, is: impl Fn(&Drawn) -> bool) -> Option<usize> {
        let here = self.here();
        if is_forward {
            // What is looked for first may stand where the screen begins.
            let start = if self.cursor.is_none() && !self.needle.is_empty() { here } else { here + 1 };
            self.lines.iter().skip(start).position(is).map(|at| start + at)
        } else {
            self.lines[..here.min(self.lines.len())].iter().rposition(is)
        }
    }

    /// The first line on the screen of the message that contains a transcript line, if it is held.
    fn held_at(&self, line: u64) -> Option<usize> {
        let last = self.messages.last()?.line;
        let message = self.messages.iter().rev().find(|message| message.line <= line)?;
        // What lies behind the last message may belong to another one.
        (line <= last || self.next.is_none()).then(|| self.first_of(message.line)).flatten()
    }
}

impl Fetch {
    /// Fetches from the daemon.
    pub(super) fn ask(self, asking: &mut Asking<'_>, id: &str) -> Result<Messages, String> {
        let session = id.to_owned();
        let params = match self {
            Self::From(from) => MessagesParams { session, from, limit: Some(FETCHED), ..MessagesParams::default() },
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
    fn note(&mut self, page: &[Message], needle: &str) {
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
