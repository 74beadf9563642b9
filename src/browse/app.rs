//! The state of the browser, what it asks, and what answers do to it.

use std::collections::BTreeMap;
use std::sync::mpsc::Sender;
use std::time::Instant;

use baton_protocol::answer::{Blame, Explain, Messages, Projects, Row, Show};
use baton_protocol::{ExplainParams, ShowParams, method};
use ratatui_core::layout::Rect;

use super::choice::Choice;
use super::conversation::Conversation;
use super::fetch::{Fetch, Survey};
use super::found::{Page, Wanted};
use super::lane::{Asking, Lane};
use super::list::{Due, ENTRY_LINES, List};
use super::screen::{self, Pick, Screen, Told};
use super::terminal::Happened;
use super::theme::Theme;
use crate::client::Client;
use crate::environment::Environment;
use crate::resume::{Plan, Ready};

/// Sessions whose episodes are held.
const SHOWN_MOST: usize = 300;
/// Length from which a session is read only when it is selected, in messages.
const LONG: u64 = 2_000;
/// Most parts of a history that are fetched.
const HISTORY_PARTS: usize = 20;

/// What reaches the browser.
pub(super) enum Event {
    Happened(Happened),
    Answered(Box<Answer>),
}

impl Event {
    fn answered(answer: Answer) -> Self {
        Self::Answered(Box::new(answer))
    }
}

/// An answer of the daemon.
pub(super) enum Answer {
    /// With `is_first`, a better answer to the same question follows.
    Listed {
        number: u64,
        skip: u32,
        is_first: bool,
        page: Result<Page, String>,
    },
    Shown(String, Box<Result<Show, String>>),
    Fetched(u64, Fetch, Result<Messages, String>),
    Surveyed(u64, String, Survey),
    Explained(Result<Box<Explain>, String>),
    Files(Result<Box<Show>, String>),
    Blamed(Result<Blame, String>),
    Projects(Result<Projects, String>),
    Resumed(Result<Box<Row>, String>),
}

impl From<Happened> for Event {
    fn from(happened: Happened) -> Self {
        Self::Happened(happened)
    }
}

/// What the browser wants of its surroundings.
#[derive(Debug)]
pub(super) enum Wish {
    /// Leave; with the number of the signal that wants it.
    Leave(Option<i32>),
    Start(Ready),
    /// Copy a text, and say what it was; false if it is only the beginning of that.
    Copy(String, &'static str, bool),
    Stop,
    DrawAnew,
}

/// Where things were drawn, for the mouse.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Areas {
    pub(super) list: Rect,
    pub(super) preview: Rect,
    /// The screen over the list.
    pub(super) over: Rect,
}

struct Lanes {
    /// What is stored, while somebody types.
    stored: Lane,
    /// Everything that is new.
    fresh: Lane,
    /// Episodes for the preview.
    details: Lane,
    /// What a key asks for.
    acts: Lane,
    /// Messages that are scrolled to.
    messages: Lane,
    /// Whole conversations.
    survey: Lane,
}

/// See the module.
pub(super) struct App {
    pub(super) theme: Theme,
    pub(super) list: List,
    pub(super) shown: BTreeMap<String, Result<Show, String>>,
    pub(super) stack: Vec<Screen>,
    pub(super) is_in_preview: bool,
    pub(super) preview_top: usize,
    /// What is told at the bottom; true if it is an error.
    pub(super) message: Option<(String, bool)>,
    /// What is told of the place, such as that these are examples.
    pub(super) about: String,
    pub(super) areas: Areas,
    pub(super) wish: Option<Wish>,
    /// Counts conversations, so that answers find theirs.
    pub(super) opened: u64,
    lanes: Lanes,
    to: Sender<Event>,
}

impl App {
    /// The browser with a query, before it has asked anything. `client` is a connection to the daemon.
    pub(super) fn new(environment: &Environment, client: Option<Client>, query: &str, to: Sender<Event>) -> Self {
        let lane = || Lane::start(environment, None);
        let lanes = Lanes {
            stored: Lane::start(environment, client),
            fresh: lane(),
            details: lane(),
            acts: lane(),
            messages: lane(),
            survey: lane(),
        };
        let list = List::new(query);
        Self {
            theme: Theme::of_environment(),
            list,
            shown: BTreeMap::new(),
            stack: Vec::new(),
            is_in_preview: false,
            preview_top: 0,
            message: None,
            about: String::new(),
            areas: Areas::default(),
            wish: None,
            opened: 0,
            lanes,
            to,
        }
    }

    /// When [`Self::tick`] has something to do.
    pub(super) fn due(&self) -> Option<Instant> {
        match self.stack.last() {
            Some(Screen::Conversation(open)) => open.due(),
            _ => self.list.due().filter(|_| self.shows_list()),
        }
    }

    /// False if another screen covers the list.
    fn shows_list(&self) -> bool {
        !matches!(self.stack.last(), Some(Screen::Conversation(_) | Screen::Text { .. }))
    }

    /// Asks again, if it is time.
    pub(super) fn tick(&mut self) {
        if self.shows_list()
            && let Some(due) = self.list.take_due(Instant::now())
        {
            self.ask_page(0, due == Due::Refresh, false);
        }
    }

    /// Asks for what is typed.
    pub(super) fn ask_list(&mut self) {
        self.list.ask_anew(Instant::now());
        self.ask_page(0, true, true);
    }

    fn ask_page(&self, skip: u32, is_stored: bool, is_first: bool) {
        let (wanted, number): (Wanted, u64) = (self.list.wanted.clone(), self.list.number);
        let lane = if is_stored { &self.lanes.stored } else { &self.lanes.fresh };
        lane.ask(&self.to, move |asking, tell| {
            let page = wanted.ask(asking, skip, is_stored);
            tell(Event::answered(Answer::Listed { number, skip, is_first, page }));
        });
    }

    /// Asks for the episodes of what is on the screen, the selected one first.
    pub(super) fn ask_details(&mut self) {
        let rows = usize::from(self.areas.list.height) / ENTRY_LINES;
        let (selected, (_, visible)) = (self.list.selected_entry().cloned(), self.list.visible(rows));
        let others = visible.iter().filter(|entry| entry.row.message_count < LONG);
        let rows: Vec<&Row> = selected.iter().chain(others).map(|entry| &entry.row).collect();
        let is_known = |row: &Row| match self.shown.get(&row.session_id) {
            Some(Ok(shown)) => {
                let as_of = |row: &Row| (row.content_hash.clone(), row.state.clone());
                row.source.is_some() || as_of(&shown.row) == as_of(row)
            }
            Some(Err(_)) => true,
            None => false,
        };
        let ids: Vec<String> =
            rows.into_iter().filter(|row| !is_known(row)).map(|row| row.session_id.clone()).collect();
        if ids.is_empty() {
            return;
        }
        self.lanes.details.ask(&self.to, move |asking, tell| {
            for session in ids {
                if !asking.is_wanted() {
                    return;
                }
                let shown = asking.call(method::SHOW, &ShowParams { session: session.clone() });
                tell(Event::answered(Answer::Shown(session, Box::new(shown))));
            }
        });
    }

    pub(super) fn act(&mut self, ask: impl FnOnce(&mut Asking<'_>) -> Answer + Send + 'static) {
        self.lanes.acts.ask(&self.to, |asking, tell| tell(Event::answered(ask(asking))));
    }

    /// Fetches what the screen needs by now.
    pub(super) fn fetch(&mut self) {
        let rows = usize::from(self.areas.list.height) / ENTRY_LINES;
        if let Some(skip) = self.list.wanted_page(rows) {
            self.ask_page(skip, true, true);
        }
        let Some(Screen::Conversation(open)) = self.stack.last_mut() else { return };
        let (number, id) = (open.number, open.id.clone());
        if let Some(fetch) = open.wanted_fetch() {
            let id = id.clone();
            self.lanes.messages.ask(&self.to, move |asking, tell| {
                tell(Event::answered(Answer::Fetched(number, fetch, fetch.ask(asking, &id))));
            });
        }
        if let Some(needle) = open.wanted_survey() {
            self.lanes.survey.ask(&self.to, move |asking, tell| {
                if let Some(survey) = Survey::ask(asking, &id, &needle) {
                    tell(Event::answered(Answer::Surveyed(number, needle, survey)));
                }
            });
        }
    }

    pub(super) fn answer(&mut self, answer: Answer) {
        match answer {
            Answer::Listed { number, skip, is_first, page } => match page {
                Ok(page) => {
                    let selected = |list: &List| list.selected_entry().map(|entry| entry.row.session_id.clone());
                    let before = selected(&self.list);
                    self.list.take(number, skip, is_first, page);
                    if selected(&self.list) != before {
                        self.preview_top = 0;
                    }
                    self.ask_details();
                }
                // What is new is asked for next, and its failure is told.
                Err(error) if number == self.list.number && (skip > 0 || !is_first) => {
                    self.list.give_up_page();
                    self.list.is_answered = true;
                    self.complain(error);
                }
                Err(_) => {}
            },
            Answer::Shown(id, shown) => {
                if self.shown.len() >= SHOWN_MOST {
                    self.shown.clear();
                }
                self.shown.insert(id, *shown);
            }
            Answer::Fetched(number, fetch, answer) => {
                if let Some(open) = self.conversation(number) {
                    open.take(fetch, answer);
                }
            }
            Answer::Surveyed(number, needle, survey) => {
                if let Some(open) = self.conversation(number) {
                    open.take_survey(&needle, survey);
                }
            }
            Answer::Explained(Ok(explained)) => {
                self.stack.push(Screen::Text { told: Told::Explained(explained), top: 0 });
            }
            Answer::Files(Ok(shown)) => self.choose(screen::files(&shown), "no file of it is known"),
            Answer::Blamed(Ok(blame)) => self.choose(screen::blame(&blame), &blame.message),
            // Without any, a name can still be typed.
            Answer::Projects(Ok(projects)) => self.stack.push(Screen::Choice(screen::projects(&projects))),
            Answer::Resumed(Ok(row)) => match Plan::new(&row).and_then(Plan::ready) {
                Ok(ready) => self.wish = Some(Wish::Start(ready)),
                Err(why) => self.complain(why),
            },
            Answer::Explained(Err(error))
            | Answer::Files(Err(error))
            | Answer::Blamed(Err(error))
            | Answer::Projects(Err(error))
            | Answer::Resumed(Err(error)) => self.complain(error),
        }
    }

    fn conversation(&mut self, number: u64) -> Option<&mut Conversation> {
        self.stack.iter_mut().find_map(|screen| match screen {
            Screen::Conversation(open) if open.number == number => Some(&mut **open),
            _ => None,
        })
    }

    pub(super) fn complain(&mut self, error: String) {
        self.message = Some((error, true));
    }

    fn choose(&mut self, choice: Choice<Pick>, otherwise: &str) {
        if choice.fitting().is_empty() {
            self.complain(otherwise.to_owned());
        } else {
            self.stack.push(Screen::Choice(choice));
        }
    }
}

/// Asks why a session is in its state; a long history comes in several parts.
pub(super) fn explain(asking: &mut Asking<'_>, session: String) -> Result<Box<Explain>, String> {
    let (mut events, mut after) = (Vec::new(), 0);
    for _ in 0..HISTORY_PARTS {
        let params = ExplainParams { session: Some(session.clone()), after, ..ExplainParams::default() };
        let mut part: Explain = asking.call(method::EXPLAIN, &params)?;
        events.append(&mut part.events);
        match part.next.take() {
            Some(next) if next > after => after = next,
            _ => return Ok(Box::new(Explain { events, ..part })),
        }
    }
    Err("its history is too long to be shown; `baton explain` prints it".to_owned())
}
