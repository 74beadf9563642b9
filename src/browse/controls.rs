//! What keys and the mouse do.

use baton_ask::query::parse_moment;
use baton_conversation::record::Timestamp;
use baton_protocol::answer::Show;
use baton_protocol::{BlameParams, ProjectsParams, ShowParams, method};
use crossterm::event::{Event as Input, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEventKind};
use ratatui_core::layout::{Position, Rect};

use super::app::{Answer, App, Event, Wish, explain};
use super::choice::Chosen;
use super::conversation::{Conversation, Jump};
use super::found::Wanted;
use super::list::ENTRY_LINES;
use super::query_line::{Edit, QueryLine};
use super::screen::{self, Pick, Screen, Told};
use super::terminal::Happened;
use super::{messages, preview};
use crate::environment;
use crate::print::Marks;

/// Lines that the wheel scrolls.
const WHEEL: isize = 3;
/// Most projects to choose from.
const PROJECTS: u32 = 200;

impl App {
    /// Takes what happened.
    pub(super) fn take(&mut self, event: Event) {
        match event {
            Event::Happened(Happened::Input(input)) => self.input(input),
            Event::Happened(Happened::Continued) => self.wish = Some(Wish::DrawAnew),
            Event::Happened(Happened::Ended(signal)) => self.wish = Some(Wish::Leave(Some(signal))),
            Event::Happened(Happened::Gone) => self.wish = Some(Wish::Leave(None)),
            Event::Answered(answer) => self.answer(*answer),
        }
        self.fetch();
    }

    fn input(&mut self, input: Input) {
        match input {
            Input::Key(key) if key.kind != KeyEventKind::Release => match self.message.take() {
                // Escape answers what is complained of.
                Some((_, true)) if key.code == KeyCode::Esc => {}
                _ => self.key(key),
            },
            Input::Paste(pasted) => match self.stack.last_mut() {
                None => {
                    self.list.query.insert(&pasted);
                    self.ask_list();
                }
                Some(Screen::Choice(choice)) => choice.paste(&pasted),
                Some(Screen::Conversation(open)) => {
                    if let Some(line) = &mut open.finding {
                        line.insert(&pasted);
                    }
                }
                Some(Screen::Text { .. }) => {}
            },
            Input::Mouse(mouse) => self.mouse(mouse.kind, Position::new(mouse.column, mouse.row)),
            _ => {}
        }
    }

    fn key(&mut self, key: KeyEvent) {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let is_typing = match self.stack.last() {
            Some(Screen::Choice(_)) => true,
            Some(Screen::Conversation(open)) => open.finding.is_some(),
            _ => false,
        };
        match key.code {
            KeyCode::Char('c') if control => self.wish = Some(Wish::Leave(None)),
            KeyCode::Char('z') if control => self.wish = Some(Wish::Stop),
            KeyCode::Char('l') if control => self.wish = Some(Wish::DrawAnew),
            KeyCode::F(1) => self.help(),
            KeyCode::Char('?') if !is_typing => self.help(),
            _ => match self.stack.last_mut() {
                None => self.list_key(key),
                Some(Screen::Choice(choice)) => {
                    let chosen = choice.key(key);
                    self.take_chosen(chosen);
                }
                Some(Screen::Text { top, .. }) => match key.code {
                    KeyCode::Esc | KeyCode::Char('q') => drop(self.stack.pop()),
                    code => *top = top.saturating_add_signed(scrolled(code, 10)),
                },
                Some(Screen::Conversation(_)) => self.conversation_key(key),
            },
        }
    }

    fn help(&mut self) {
        if !matches!(self.stack.last(), Some(Screen::Text { told: Told::Help, .. })) {
            self.stack.push(Screen::Text { told: Told::Help, top: 0 });
        }
    }

    fn list_key(&mut self, key: KeyEvent) {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let page = isize::try_from(usize::from(self.areas.list.height) / ENTRY_LINES).unwrap_or(1).max(2) - 1;
        match key.code {
            KeyCode::Esc if self.is_in_preview => self.is_in_preview = false,
            KeyCode::Esc if self.list.wanted.is_filtered() => self.pick(Pick::NoFilter),
            KeyCode::Esc if !self.list.query.is_empty() => {
                self.list.query.clear();
                self.ask_list();
            }
            KeyCode::Esc => self.wish = Some(Wish::Leave(None)),
            KeyCode::Char('d') if control && self.list.query.is_empty() => self.wish = Some(Wish::Leave(None)),
            KeyCode::Tab | KeyCode::BackTab => self.is_in_preview = !self.is_in_preview,
            KeyCode::Home if control => self.select(0),
            KeyCode::End if control => self.select(usize::MAX),
            KeyCode::Char('p') if control => self.scroll_list(-1),
            KeyCode::Char('n' | 'j') if control => self.scroll_list(1),
            KeyCode::Up | KeyCode::Down | KeyCode::PageUp | KeyCode::PageDown if self.is_in_preview => {
                self.preview_top = self.preview_top.saturating_add_signed(scrolled(key.code, 10));
            }
            KeyCode::Up | KeyCode::Down | KeyCode::PageUp | KeyCode::PageDown => {
                self.scroll_list(scrolled(key.code, page));
            }
            KeyCode::Enter => self.open_selected(),
            KeyCode::F(2) => self.pick(Pick::ByProject),
            KeyCode::F(3) => self.pick(Pick::ByAgent),
            KeyCode::F(4) => self.pick(Pick::ByTime),
            KeyCode::Char('f') if control => self.stack.push(Screen::Choice(screen::filters())),
            KeyCode::Char(c @ ('r' | 'y' | 't' | 'x' | 'b')) if control => self.act_on_selected(c),
            _ => {
                if self.list.query.key(key) == Edit::Changed {
                    self.ask_list();
                }
            }
        }
    }

    fn act_on_selected(&mut self, key: char) {
        let Some(entry) = self.list.selected_entry() else { return };
        let id = entry.row.session_id.clone();
        match key {
            't' => {
                let shown = self.shown.get(&id).and_then(|shown| shown.as_ref().ok());
                self.wish = Some(Wish::Copy(preview::copied(entry, shown), "the episode", true));
            }
            key => self.act_on(key, id),
        }
    }

    fn act_on(&mut self, key: char, id: String) {
        match key {
            'y' => self.wish = Some(Wish::Copy(super::text::one_line(&id), "the id", true)),
            'r' => self.act(|asking| {
                let shown: Result<Show, String> = asking.call(method::SHOW, &ShowParams { session: id });
                Answer::Resumed(shown.map(|shown| Box::new(shown.row)))
            }),
            'b' => self.act(|asking| Answer::Files(asking.call(method::SHOW, &ShowParams { session: id }))),
            _ => self.act(|asking| Answer::Explained(explain(asking, id))),
        }
    }

    fn select(&mut self, index: usize) {
        self.list.select(index);
        self.preview_top = 0;
        self.ask_details();
    }

    fn scroll_list(&mut self, by: isize) {
        self.select(self.list.selected.saturating_add_signed(by));
    }

    fn open_selected(&mut self) {
        let Some(entry) = self.list.selected_entry() else { return };
        let line = entry.places.iter().find_map(|place| place.line);
        let (id, title) = (entry.row.session_id.clone(), preview::title(&entry.row).to_owned());
        self.open(id, title, line, self.list.marks.clone());
    }

    fn open(&mut self, id: String, title: String, line: Option<u64>, marks: Marks) {
        self.opened += 1;
        let open = Conversation::new(self.opened, (id, title), line, marks, self.theme);
        self.stack.push(Screen::Conversation(Box::new(open)));
    }

    fn take_chosen(&mut self, chosen: Chosen<Pick>) {
        match chosen {
            Chosen::Nothing => {}
            Chosen::Closed => drop(self.stack.pop()),
            Chosen::One(pick) => {
                // What a person comes back to stays: the sessions behind a file.
                if !matches!(pick, Pick::Session { .. }) {
                    self.stack.pop();
                }
                self.pick(pick);
            }
        }
    }

    fn pick(&mut self, pick: Pick) {
        let wanted = &mut self.list.wanted;
        match pick {
            Pick::ByProject => {
                let params =
                    ProjectsParams { limit: PROJECTS, caller: environment::caller(), ..ProjectsParams::default() };
                return self.act(move |asking| Answer::Projects(asking.call(method::PROJECTS, &params)));
            }
            Pick::ByAgent => return self.stack.push(Screen::Choice(screen::agents())),
            Pick::ByTime => return self.stack.push(Screen::Choice(screen::spans())),
            Pick::File { path, project } => {
                let params = BlameParams { path, project, caller: environment::caller(), ..BlameParams::default() };
                return self.act(move |asking| Answer::Blamed(asking.call(method::BLAME, &params)));
            }
            Pick::Session { id, title, line } => return self.open(id, title, line, Marks::default()),
            Pick::NoFilter => self.list.wanted = Wanted::default(),
            Pick::Project(project) => wanted.project = Some(project),
            Pick::Agent(agent) => wanted.agent = Some(agent),
            Pick::Time { since, .. } if parse_moment(&since, Timestamp(0)).is_none() => {
                return self.complain(format!(
                    "{since:?} is no date; type one like 2026-03-14, 2026-03, last week, 12h, 7d, 2w or 3m (months)"
                ));
            }
            Pick::Time { since, until } => (wanted.since, wanted.until) = (Some(since), until),
        }
        self.ask_list();
    }

    fn conversation_key(&mut self, key: KeyEvent) {
        let Some(Screen::Conversation(open)) = self.stack.last_mut() else { return };
        if let Some(line) = &mut open.finding {
            match key.code {
                KeyCode::Esc => open.finding = None,
                KeyCode::Enter => {
                    let needle = line.text();
                    open.finding = None;
                    open.find(&needle);
                }
                _ => drop(line.key(key)),
            }
            return;
        }
        let page = open.page();
        match key.code {
            KeyCode::Esc | KeyCode::Char('q') => drop(self.stack.pop()),
            KeyCode::Char('/') => open.finding = Some(QueryLine::default()),
            KeyCode::Char('n') => open.jump(Jump::NextMatch),
            KeyCode::Char('N') => open.jump(Jump::LastMatch),
            KeyCode::Char(']') | KeyCode::Tab => open.jump(Jump::NextPrompt),
            KeyCode::Char('[') | KeyCode::BackTab => open.jump(Jump::LastPrompt),
            KeyCode::Char('g') | KeyCode::Home => open.jump(Jump::Start),
            KeyCode::Char('G') | KeyCode::End => open.jump(Jump::End),
            KeyCode::Char('t') => open.fold_all(),
            KeyCode::Char('d') => open.scroll(page / 2),
            KeyCode::Char('u') => open.scroll(-page / 2),
            KeyCode::Char('c') => {
                self.wish = open
                    .current()
                    .map(|message| Wish::Copy(messages::copied(message), "the message", messages::is_whole(message)));
            }
            KeyCode::Char(c @ ('r' | 'y' | 'e' | 'b')) => {
                let id = open.id.clone();
                self.act_on(c, id);
            }
            code => open.scroll(scrolled(code, page)),
        }
    }

    fn mouse(&mut self, kind: MouseEventKind, at: Position) {
        let by = match kind {
            MouseEventKind::ScrollUp => -WHEEL,
            MouseEventKind::ScrollDown => WHEEL,
            MouseEventKind::Down(MouseButton::Left) => return self.click(at),
            _ => return,
        };
        match self.stack.last_mut() {
            None if self.areas.preview.contains(at) => self.preview_top = self.preview_top.saturating_add_signed(by),
            None => self.scroll_list(by.signum()),
            Some(Screen::Conversation(open)) => open.scroll(by),
            Some(Screen::Text { top, .. }) => *top = top.saturating_add_signed(by),
            Some(Screen::Choice(choice)) => choice.scroll(by.signum()),
        }
    }

    fn click(&mut self, at: Position) {
        self.message = None;
        let row = |area: Rect| usize::from(at.y.saturating_sub(area.y));
        let over = self.areas.over;
        match self.stack.last_mut() {
            None if self.areas.list.contains(at) => {
                let index = self.list.top + row(self.areas.list) / ENTRY_LINES;
                self.is_in_preview = false;
                if index == self.list.selected {
                    self.open_selected();
                } else if index < self.list.entries.len() {
                    self.select(index);
                }
            }
            None => self.is_in_preview = self.areas.preview.contains(at),
            Some(Screen::Conversation(open)) if over.contains(at) => drop(open.fold_at(row(over))),
            Some(Screen::Choice(choice)) if over.contains(at) => {
                let first = choice.selected().saturating_sub(usize::from(over.height).saturating_sub(1));
                let chosen = choice.choose(first + row(over));
                self.take_chosen(chosen);
            }
            Some(_) => {}
        }
    }
}

/// Lines by which a key scrolls.
fn scrolled(key: KeyCode, page: isize) -> isize {
    match key {
        KeyCode::Up | KeyCode::Char('k') => -1,
        KeyCode::Down | KeyCode::Char('j') => 1,
        KeyCode::PageUp => -page,
        KeyCode::PageDown | KeyCode::Char(' ') => page,
        _ => 0,
    }
}
