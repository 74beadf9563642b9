//! A conversation, of which a window of messages is held: what lies before and behind it is fetched when it is scrolled
//! to, found or jumped to. While its end is on the screen, what is added to it appears there.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use baton_protocol::answer::{Message, Messages};

use super::fetch::{Fetch, Survey};
use super::messages::{Drawing, Drawn};
use super::query_line::QueryLine;
use super::theme::Theme;
use crate::print::Marks;

/// Most messages that are held.
const HELD: usize = 300;
/// Lines above what was jumped to.
const ABOVE: usize = 2;
/// Messages at the end that are read again; fewer than are fetched at once.
const RECENT: usize = 20;
/// Pause until the end is read again; doubled as long as nothing is added.
const PAUSE: Duration = Duration::from_secs(2);
/// The longest such pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A line behind every transcript.
const END: u64 = u32::MAX as u64;

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

/// A conversation on the screen.
#[derive(Default)]
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
    pause: Duration,
    /// When the end is read again; at once without.
    grown_at: Option<Instant>,
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
        let pending = Some(line.map_or(Jump::Start, Jump::To));
        Self { number, id, title, marks, theme, pending, height: 1, pause: PAUSE, ..Self::default() }
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
        if is_possible {
            self.pending = Some(jump);
        }
        self.owed = 0;
        self.try_jump();
    }

    /// What is to be fetched now, if anything. Before it is drawn nobody knows how much.
    pub(super) fn wanted_fetch(&mut self) -> Option<Fetch> {
        self.try_jump();
        if self.fetching.is_some() || self.width == 0 {
            return None;
        }
        let near = self.height * 2;
        let is_due = self.due().is_some_and(|due| due <= Instant::now());
        let wanted = match self.pending {
            _ if self.has_failed() => is_due.then_some(Fetch::Grown(0)),
            Some(Jump::To(line)) => Some(Fetch::Around(line)),
            Some(Jump::Start) => Some(Fetch::From(0)),
            Some(Jump::End) => Some(Fetch::Around(END)),
            _ if self.top + near >= self.lines.len() && self.next.is_some() => self.next.map(Fetch::From),
            _ if self.top < self.height && self.before.is_some() => self.before.map(Fetch::Before),
            _ if is_due => Some(Fetch::Grown(self.unsettled())),
            _ => None,
        };
        self.fetching = wanted;
        wanted
    }

    /// When the end is to be read again, while it is on the screen.
    pub(super) fn due(&self) -> Option<Instant> {
        let is_quiet = self.fetching.is_none() && (self.pending.is_none() || self.has_failed());
        (is_quiet && self.width > 0 && self.shows_end()).then(|| self.grown_at.unwrap_or_else(Instant::now))
    }

    /// True if nothing could be fetched yet. It is tried again, and opens where it was to.
    fn has_failed(&self) -> bool {
        self.messages.is_empty() && self.note.is_some()
    }

    fn shows_end(&self) -> bool {
        self.next.is_none() && self.top + self.height >= self.lines.len()
    }

    /// The line of the first recent message that may still change: one whose call has no result, else the last one.
    fn unsettled(&self) -> u64 {
        let is_open = |message: &&Message| message.parts.iter().flat_map(|part| &part.tool).any(|tool| tool.in_flight);
        let recent = &self.messages[self.messages.len().saturating_sub(RECENT)..];
        recent.iter().find(is_open).or(recent.last()).map_or(0, |message| message.line)
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
        if let Fetch::Grown(from) = fetch {
            let unread = |error| Messages { note: Some(error), ..Messages::default() };
            return self.grow(from, answer.unwrap_or_else(unread));
        }
        self.grown_at = Some(Instant::now() + self.pause);
        let is_first = self.messages.is_empty();
        let answer = match answer {
            Ok(answer) if !is_first || !answer.messages.is_empty() => answer,
            unread => {
                self.note = Some(unread.map_or_else(|error| error, |it| it.note.unwrap_or("no messages".to_owned())));
                if !is_first {
                    (self.pending, self.next, self.before) = (None, None, None);
                }
                return;
            }
        };
        (self.total, self.note) = (answer.total, answer.note.clone().filter(|_| answer.messages.is_empty()));
        match fetch {
            Fetch::From(line) if line > 0 => self.append(answer),
            Fetch::Before(_) => self.prepend(answer),
            Fetch::From(_) | Fetch::Around(_) | Fetch::Grown(_) => {
                let focus =
                    answer.focus.and_then(|at| answer.messages.get(usize::try_from(at).ok()?)).map(|it| it.line);
                (self.messages, self.before, self.next) = (answer.messages, answer.before, answer.next);
                self.turned.clear();
                self.top = 0;
                self.draw_anew();
                self.pending = match (self.pending, focus) {
                    (Some(Jump::Start), _) => {
                        // What was on the screen may be held again.
                        self.top = 0;
                        None
                    }
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

    /// Takes the end as it is by now. An answer without messages (the daemon ends, the session was forgotten) changes nothing.
    fn grow(&mut self, from: u64, answer: Messages) {
        let at = self.messages.iter().position(|message| message.line >= from).unwrap_or(self.messages.len());
        let is_grown = !answer.messages.is_empty() && self.messages[at..] != answer.messages;
        self.pause = if is_grown { PAUSE } else { LONGEST_PAUSE.min(self.pause * 2) };
        self.grown_at = Some(Instant::now() + self.pause);
        if self.has_failed() {
            self.note = answer.note.clone().or(self.note.take());
        }
        if is_grown {
            let follows = self.shows_end() && at > 0;
            self.note = None;
            self.total = answer.total;
            self.survey = None;
            self.messages.truncate(at);
            self.append(answer);
            if follows {
                self.jump(Jump::End);
            }
        }
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
