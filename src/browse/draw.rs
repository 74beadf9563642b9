//! Draws the browser. Everything that comes from sessions is cleaned before it gets here.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::app::App;
use super::choice::Choice;
use super::found::name_of;
use super::key_help::KEYS;
use super::list::ENTRY_LINES;
use super::preview::{self, Sheet};
use super::query_line::QueryLine;
use super::screen::{Pick, Screen, Told};
use super::text;
use super::theme::Theme;
use crate::print::Marks;

/// Width from which the preview stands beside the list.
const BESIDE: u16 = 96;
/// Height from which there is a preview below the list.
const BELOW: u16 = 14;
/// Prompt of what is typed.
const PROMPT: &str = "> ";
/// Keys of the list, of its preview and of a conversation as the last line shows them, the most useful first.
const LIST_HINTS: &[&str] = &[
    "Enter open",
    "? keys",
    "Esc leave",
    "Tab to preview",
    "^F filter",
    "^R resume",
    "^Y copy id",
    "^X why",
    "^B blame",
];
const PREVIEW_HINTS: &[&str] = &[
    "Preview: Up Down scroll",
    "Tab to list",
    "Enter open",
    "? keys",
    "^R resume",
    "^Y copy id",
    "^X why",
    "^B blame",
];
const CONVERSATION_HINTS: &[&str] =
    &["/ find", "? keys", "q back", "] [ prompts", "t tools", "r resume", "y c copy", "e why", "b blame"];
/// What stands between two of them.
const GAP: &str = "  ";
/// Width of the column of keys in the help.
const KEY_COLUMNS: usize = 24;

/// Draws everything; returns where the cursor stands.
pub(super) fn draw(app: &mut App, buffer: &mut Buffer) -> Option<Position> {
    let area = buffer.area;
    if area.width < 10 || area.height < 4 {
        buffer.set_stringn(area.x, area.y, "too small", usize::from(area.width), Style::new());
        return None;
    }
    let body = Rect { y: area.y + 1, height: area.height - 2, ..area };
    let is_over = matches!(app.stack.last(), Some(Screen::Conversation(_) | Screen::Text { .. }));
    let mut cursor = if is_over { None } else { list(app, buffer, body) };
    let mut stack = std::mem::take(&mut app.stack);
    match stack.last_mut() {
        None => {}
        Some(Screen::Conversation(open)) => {
            let theme = app.theme;
            let (title, place) = (text::one_line(&open.title), open.place());
            app.areas.over = body;
            let lines = open.visible(usize::from(body.width), usize::from(body.height));
            for (y, drawn) in (body.y..).zip(lines) {
                buffer.set_line(body.x, y, &drawn.line, body.width);
            }
            let is_empty = lines.is_empty();
            if let Some(note) = open.note.as_ref().filter(|_| is_empty) {
                let note = text::fitted(note, usize::from(body.width));
                buffer.set_stringn(body.x, body.y, note, usize::from(body.width), theme.faint());
            }
            head(buffer, area, theme, &title, &place);
            let row = area.bottom() - 1;
            match &open.finding {
                Some(line) => cursor = Some(typed(buffer, Rect { y: row, height: 1, ..area }, "/", line, theme)),
                None => foot(app, buffer, area, CONVERSATION_HINTS),
            }
        }
        Some(Screen::Text { told, top }) => {
            let theme = app.theme;
            let title = match told {
                Told::Help => "Keys".to_owned(),
                Told::Explained(explained) => {
                    format!("Why {} is {}", text::one_line(&explained.row.session_id), explained.row.state)
                }
            };
            let marks = Marks::default();
            let mut sheet = Sheet { width: usize::from(body.width), theme, marks: &marks, lines: Vec::new() };
            match told {
                Told::Help => help(&mut sheet),
                Told::Explained(explained) => preview::explained(&mut sheet, explained),
            }
            app.areas.over = body;
            scrolled(buffer, body, &sheet.lines, top);
            head(buffer, area, theme, &title, "");
            foot(app, buffer, area, &["Up Down scroll", "Esc back"]);
        }
        Some(Screen::Choice(choice)) => cursor = Some(chooser(app, buffer, area, choice)),
    }
    app.stack = stack;
    cursor
}

fn head(buffer: &mut Buffer, area: Rect, theme: Theme, title: &str, beside: &str) {
    let width = usize::from(area.width);
    let beside = text::fitted(beside, width / 2);
    let room = width.saturating_sub(beside.width() + 2);
    buffer.set_stringn(area.x, area.y, text::fitted(title, room), room, theme.strong());
    right(buffer, area, area.y, &beside, theme.faint());
}

fn right(buffer: &mut Buffer, area: Rect, y: u16, text: &str, style: Style) {
    let x = area.right().saturating_sub(u16::try_from(text.width()).unwrap_or(area.width));
    buffer.set_stringn(x.max(area.x), y, text, usize::from(area.width), style);
}

/// What is told at the bottom: a message, in as many lines as it needs, or as many of the keys as fit.
fn foot(app: &App, buffer: &mut Buffer, area: Rect, keys: &[&str]) {
    let width = usize::from(area.width);
    let (lines, style) = match &app.message {
        Some((message, is_error)) => {
            let style = if *is_error { app.theme.bad() } else { app.theme.plain() };
            (text::wrapped(&text::one_line(message), width), style)
        }
        None => {
            let fits = |count: &usize| keys[..*count].join(GAP).width() <= width;
            let count = (0..=keys.len()).rev().find(fits).unwrap_or(0);
            (vec![keys[..count].join(GAP)], app.theme.faint())
        }
    };
    let count = u16::try_from(lines.len()).unwrap_or(u16::MAX).clamp(1, area.height);
    for (y, line) in (area.bottom() - count..area.bottom()).zip(&lines) {
        buffer.set_stringn(area.x, y, " ".repeat(width), width, Style::reset());
        buffer.set_stringn(area.x, y, line, width, style);
    }
}

/// A line that is typed; returns where the cursor stands.
fn typed(buffer: &mut Buffer, area: Rect, prompt: &str, line: &QueryLine, theme: Theme) -> Position {
    let (x, _) = buffer.set_stringn(area.x, area.y, prompt, usize::from(area.width), theme.heading());
    let room = usize::from(area.right().saturating_sub(x + 1)).max(1);
    let (before, behind) = line.halves();
    // Of a long line the place at which is typed is shown.
    let mut shown = before.as_str();
    while shown.width() > room {
        shown = shown.get(shown.chars().next().map_or(0, char::len_utf8)..).unwrap_or_default();
    }
    let (at, _) = buffer.set_stringn(x, area.y, shown, room, theme.plain());
    let rest = usize::from(area.right().saturating_sub(at));
    buffer.set_stringn(at, area.y, behind, rest, theme.plain());
    Position::new(at.min(area.right() - 1), area.y)
}

fn list(app: &mut App, buffer: &mut Buffer, body: Rect) -> Option<Position> {
    let (theme, area) = (app.theme, buffer.area);
    let status = status(app);
    let room = u16::try_from(status.width() + 1).unwrap_or(area.width).min(area.width / 2);
    let cursor = typed(buffer, Rect { height: 1, width: area.width - room, ..area }, PROMPT, &app.list.query, theme);
    let status = text::fitted(&status, usize::from(room));
    right(buffer, area, area.y, &status, theme.faint());
    let (listed, previewed) = split(body);
    (app.areas.list, app.areas.preview) = (listed, previewed);
    entries(app, buffer, listed);
    if previewed.height > 0 {
        let is_beside = previewed.x > body.x;
        let edge = if app.is_in_preview { theme.heading() } else { theme.faint() };
        match is_beside {
            true => (previewed.y..previewed.bottom()).for_each(|y| {
                buffer.set_stringn(previewed.x - 2, y, "│", 1, edge);
            }),
            false => {
                let rule = "─".repeat(usize::from(body.width));
                buffer.set_stringn(body.x, previewed.y - 1, rule, usize::from(body.width), edge);
            }
        }
        preview_of(app, buffer, previewed);
    }
    foot(app, buffer, area, if app.is_in_preview { PREVIEW_HINTS } else { LIST_HINTS });
    Some(cursor)
}

/// Where the list and the preview stand.
fn split(body: Rect) -> (Rect, Rect) {
    if body.width >= BESIDE {
        let width = body.width * 9 / 20;
        let x = body.x + width + 3;
        (Rect { width, ..body }, Rect { x, width: body.right() - x, ..body })
    } else if body.height >= BELOW {
        let height = (body.height / 2) & !1;
        let y = body.y + height + 1;
        (Rect { height, ..body }, Rect { y, height: body.bottom() - y, ..body })
    } else {
        (body, Rect::default())
    }
}

/// What stands beside the query: filters, the number of sessions, whether something is awaited.
fn status(app: &App) -> String {
    let wanted = &app.list.wanted;
    let project = wanted.project.as_deref().map(|project| format!("project:{}", text::one_line(name_of(project))));
    let agent = wanted.agent.map(|agent| format!("agent:{}", agent.as_str()));
    let since = wanted.since.as_deref().map(text::one_line);
    let span = match (since, wanted.until.is_some()) {
        (Some(since), false) => Some(format!("since {since}")),
        // The spans that end are named by their beginning.
        (since, _) => since,
    };
    let count = match (app.list.is_answered, app.list.is_fresh) {
        (true, true) => app.list.count(),
        (true, false) => format!("{}…", app.list.count()),
        (false, _) => "…".to_owned(),
    };
    let about = Some(app.about.clone()).filter(|about| !about.is_empty());
    [about, project, agent, span, Some(count)].into_iter().flatten().collect::<Vec<_>>().join("  ")
}

fn entries(app: &mut App, buffer: &mut Buffer, area: Rect) {
    let (theme, width) = (app.theme, usize::from(area.width));
    if app.list.entries.is_empty() && app.list.is_answered {
        let mut sheet = Sheet { width, theme, marks: &Marks::default(), lines: Vec::new() };
        preview::nothing(&mut sheet, &app.list.wanted, app.list.is_fresh, &app.list.notes);
        return scrolled(buffer, area, &sheet.lines, &mut 0);
    }
    let (selected, marks) = (app.list.selected, app.list.marks.clone());
    let (first, visible) = app.list.visible(usize::from(area.height) / ENTRY_LINES);
    for (at, entry) in visible.iter().enumerate() {
        let y = area.y + u16::try_from(at * ENTRY_LINES).unwrap_or(area.height);
        let row = &entry.row;
        let is_over = crate::resume::is_over(row);
        let mark = Span::styled(if is_over { "○ " } else { "● " }, theme.state(&row.state));
        let title = text::marked(&text::fitted(preview::title(row), width - 2), &marks, theme.strong(), theme);
        let line = Line::from(std::iter::once(mark).chain(title.spans).collect::<Vec<_>>());
        buffer.set_line(area.x, y, &line, area.width);
        let shown = app.shown.get(&row.session_id).and_then(|shown| shown.as_ref().ok());
        let cost = shown.and_then(|shown| shown.usage.as_ref()?.cost_usd);
        let about = preview::summary(row, cost, width - 2);
        if area.bottom() > y + 1 {
            buffer.set_stringn(area.x + 2, y + 1, about, width - 2, theme.faint());
        }
        if first + at == selected {
            buffer.set_style(Rect { y, height: 1, ..area }, theme.chosen());
        }
    }
}

fn preview_of(app: &mut App, buffer: &mut Buffer, area: Rect) {
    let Some(entry) = app.list.selected_entry() else { return };
    let (theme, width) = (app.theme, usize::from(area.width));
    let mut sheet = Sheet { width, theme, marks: &app.list.marks, lines: Vec::new() };
    preview::entry(&mut sheet, entry, app.shown.get(&entry.row.session_id));
    if !app.list.notes.is_empty() {
        preview::notes(&mut sheet, &app.list.notes);
    }
    let lines = sheet.lines;
    scrolled(buffer, area, &lines, &mut app.preview_top);
}

/// Draws lines from `top` on, which is kept within them.
fn scrolled(buffer: &mut Buffer, area: Rect, lines: &[Line<'_>], top: &mut usize) {
    *top = (*top).min(lines.len().saturating_sub(usize::from(area.height)));
    for (y, line) in (area.y..area.bottom()).zip(&lines[*top..]) {
        buffer.set_line(area.x, y, line, area.width);
    }
}

fn help(sheet: &mut Sheet<'_>) {
    let theme = sheet.theme;
    for (screen, keys) in KEYS {
        if !sheet.lines.is_empty() {
            sheet.lines.push(Line::default());
        }
        sheet.lines.push(Line::styled(*screen, theme.heading()));
        for (key, does) in *keys {
            let beside = sheet.width > KEY_COLUMNS * 2;
            let room = if beside { sheet.width - KEY_COLUMNS - 2 } else { sheet.width.saturating_sub(4) };
            let mut does = text::wrapped(does, room).into_iter();
            let first = if beside { does.next().unwrap_or_default() } else { String::new() };
            let key = Span::styled(format!("  {key:KEY_COLUMNS$}"), theme.strong());
            sheet.lines.push(Line::from(vec![key, Span::raw(first)]));
            let indent = " ".repeat(if beside { KEY_COLUMNS + 2 } else { 4 });
            sheet.lines.extend(does.map(|line| Line::raw(format!("{indent}{line}"))));
        }
    }
}

/// A list to choose from, over the rest; returns where the cursor stands.
fn chooser(app: &mut App, buffer: &mut Buffer, area: Rect, choice: &Choice<Pick>) -> Position {
    let theme = app.theme;
    let fitting = choice.fitting();
    let rows = u16::try_from(fitting.len().max(1)).unwrap_or(u16::MAX).min(area.height.saturating_sub(6).max(1));
    let width = area.width.saturating_sub(4).min(90);
    let frame = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height.saturating_sub(rows + 4)) / 3,
        width,
        height: (rows + 4).min(area.height),
    };
    for y in frame.y..frame.bottom() {
        buffer.set_stringn(frame.x, y, " ".repeat(usize::from(width)), usize::from(width), Style::reset());
    }
    let within = usize::from(width.saturating_sub(4));
    let rule = "─".repeat(usize::from(width.saturating_sub(2)));
    buffer.set_stringn(frame.x, frame.y, format!("┌{rule}┐"), usize::from(width), theme.faint());
    buffer.set_stringn(frame.x, frame.bottom() - 1, format!("└{rule}┘"), usize::from(width), theme.faint());
    for y in frame.y + 1..frame.bottom() - 1 {
        buffer.set_stringn(frame.x, y, "│", 1, theme.faint());
        buffer.set_stringn(frame.right() - 1, y, "│", 1, theme.faint());
    }
    let inner = Rect { x: frame.x + 2, y: frame.y + 1, width: width.saturating_sub(4), height: 1 };
    buffer.set_stringn(inner.x, inner.y, text::fitted(&choice.title, within), within, theme.strong());
    let cursor = typed(buffer, Rect { y: inner.y + 1, ..inner }, PROMPT, &choice.typed, theme);
    let over = Rect { y: inner.y + 2, height: rows, ..inner };
    app.areas.over = over;
    let first = choice.selected().saturating_sub(usize::from(rows) - 1);
    for (y, (at, item)) in (over.y..over.bottom()).zip(fitting.iter().enumerate().skip(first)) {
        let about = text::fitted(&item.about, within / 2);
        let room = within.saturating_sub(about.width() + 2);
        buffer.set_stringn(over.x, y, text::fitted(&item.text, room), room, theme.plain());
        right(buffer, over, y, &about, theme.faint());
        if at == choice.selected() {
            buffer.set_style(Rect { y, height: 1, ..over }, theme.chosen());
        }
    }
    if fitting.is_empty() {
        buffer.set_stringn(over.x, over.y, "nothing fits", within, theme.faint());
    }
    foot(app, buffer, area, &["type to narrow", "Enter choose", "Esc back"]);
    cursor
}

#[cfg(test)]
mod tests;
