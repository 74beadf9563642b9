//! What is told of a session beside the list.

use baton_protocol::Agent;
use baton_protocol::answer::{Explain, Line as Said, Row, Show};
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};

use super::found::{Entry, Wanted, dollars, name_of, when};
use super::text;
use super::theme::Theme;
use crate::environment::zone;
use crate::print::{self, Marks};

/// Most decisions, open ends and files that are listed.
const LISTED: usize = 12;
/// Width below which the line below a title is shortened.
const NARROW: usize = 64;
/// Width of the column of names.
const NAMES: usize = 9;

/// Lines of a width.
pub(super) struct Sheet<'a> {
    pub(super) width: usize,
    pub(super) theme: Theme,
    pub(super) marks: &'a Marks,
    pub(super) lines: Vec<Line<'static>>,
}

impl Sheet<'_> {
    fn heading(&mut self, text: &str) {
        if !self.lines.is_empty() {
            self.lines.push(Line::default());
        }
        self.lines.push(Line::styled(text.to_owned(), self.theme.heading()));
    }

    /// A text with its matches marked; what continues it is indented by `indent` columns.
    fn text(&mut self, text: &str, style: Style) {
        for line in text::wrapped(&text::clean(text), self.width) {
            self.lines.push(text::marked(&line, self.marks, style, self.theme));
        }
    }

    /// An event of a history: what continues it stands below what happened, not below the time.
    fn event(&mut self, at: &str, told: &str) {
        let line = format!("{at}  {}", text::one_line(told));
        let lines = print::wrapped(&line, self.width, at.len() + 2);
        self.lines.extend(lines.into_iter().map(Line::raw));
    }

    fn item(&mut self, text: &str) {
        self.text(&format!("- {}", text::one_line(text)), self.theme.plain());
    }

    fn items<'a>(&mut self, heading: &str, said: impl Iterator<Item = &'a Said>) {
        let mut count = 0;
        for said in said {
            if count == 0 {
                self.heading(heading);
            }
            count += 1;
            if count <= LISTED {
                self.item(&said.text);
            }
        }
        self.more(count);
    }

    fn more(&mut self, count: usize) {
        if count > LISTED {
            self.lines.push(Line::styled(format!("  and {} more", count - LISTED), self.theme.faint()));
        }
    }

    fn fact(&mut self, name: &str, value: &str, style: Style) {
        let value = text::fitted(value, self.width.saturating_sub(NAMES));
        if !value.is_empty() {
            let name = Span::styled(format!("{name:NAMES$}"), self.theme.faint());
            self.lines.push(Line::from(vec![name, Span::styled(value, style)]));
        }
    }
}

/// Everything that is told of an entry. `shown` is what `show` answers, once it is there.
pub(super) fn entry(sheet: &mut Sheet<'_>, entry: &Entry, shown: Option<&Result<Show, String>>) {
    let theme = sheet.theme;
    let row = &entry.row;
    sheet.text(&text::one_line(title(row)), theme.strong());
    if !entry.places.is_empty() {
        sheet.heading("Matches");
        for place in &entry.places {
            let at = place.line.map_or_else(|| place.role.clone(), |line| format!("{} {line}", place.role));
            sheet.text(&format!("- {}: {}", text::one_line(&at), text::one_line(&place.text)), theme.plain());
        }
    }
    sheet.lines.push(Line::default());
    facts(sheet, row, shown.and_then(|shown| shown.as_ref().ok()));
    match shown {
        Some(Ok(shown)) => episode(sheet, shown),
        Some(Err(error)) => {
            sheet.heading("Not shown");
            sheet.text(error, theme.bad());
        }
        None => {}
    }
}

/// Remarks on the answer.
pub(super) fn notes(sheet: &mut Sheet<'_>, notes: &[String]) {
    sheet.heading("Notes");
    notes.iter().for_each(|note| sheet.item(note));
}

/// What is told if there is nothing to list.
pub(super) fn nothing(sheet: &mut Sheet<'_>, wanted: &Wanted, is_fresh: bool, remarks: &[String]) {
    let theme = sheet.theme;
    let told = match (is_fresh, wanted.query.trim().is_empty(), wanted.is_filtered()) {
        (false, ..) => "Looking…",
        (_, true, false) => {
            "No sessions yet. Work with an agent, or try `baton --examples`. `baton status` shows where transcripts are looked for."
        }
        (_, _, true) => "Nothing found with these filters; Esc clears them.",
        (_, false, false) => "Nothing found. Fewer or other words may help; Esc shows the latest sessions.",
    };
    sheet.text(told, theme.plain());
    if !remarks.is_empty() {
        notes(sheet, remarks);
    }
}

/// The title of a session, or what stands in its place.
pub(super) fn title(row: &Row) -> &str {
    match row.title.as_deref() {
        Some(title) if !title.trim().is_empty() => title,
        _ if row.message_count == 0 && row.source.is_none() => "(no messages)",
        _ => "(no title)",
    }
}

fn facts(sheet: &mut Sheet<'_>, row: &Row, shown: Option<&Show>) {
    let theme = sheet.theme;
    let plain = theme.plain();
    sheet.fact("session", row.session_id.strip_prefix("memory:").unwrap_or(&row.session_id), theme.faint());
    sheet.fact("project", row.project.as_deref().unwrap_or_default(), plain);
    let at = row.last_activity.as_deref().map(|at| when(at, 16)).unwrap_or_default();
    sheet.fact("when", &at, plain);
    let agent = row.agent.as_deref().map_or("", Agent::title_of);
    sheet.fact("agent", agent, plain);
    if row.message_count > 0 {
        let cost = shown.and_then(|shown| shown.usage.as_ref()?.cost_usd).map(|cost| format!(", {}", dollars(cost)));
        let messages = print::counted(row.message_count, "message");
        sheet.fact("length", &format!("{messages}{}", cost.unwrap_or_default()), plain);
    }
    let why = row.why.as_deref().map(|why| format!(" ({why})")).unwrap_or_default();
    let runs = if is_running(row) { "running, " } else { "" };
    sheet.fact("state", &format!("{runs}{}{why}", row.state), theme.state(&row.state));
}

fn episode(sheet: &mut Sheet<'_>, shown: &Show) {
    let theme = sheet.theme;
    let Some(episode) = &shown.episode else { return };
    if !episode.objective.trim().is_empty() {
        sheet.heading("Goal");
        sheet.text(&episode.objective, theme.plain());
    }
    if let Some(conclusion) = episode.exchanges.iter().rev().find_map(|exchange| exchange.conclusion.as_ref()) {
        sheet.heading("Conclusion");
        sheet.text(&conclusion.text, theme.plain());
    }
    sheet.items("Decisions", episode.decisions.iter());
    sheet.items("Open", episode.unresolved.iter().chain(&episode.next_steps));
    let errors = episode.errors.iter().filter(|error| error.resolution.is_none()).map(|error| &error.error);
    sheet.items("Not fixed", errors);
    let root = shown.row.project.as_deref().map(|project| format!("{project}/")).unwrap_or_default();
    let changed = episode.files_modified.iter().map(|file| {
        let lines =
            if file.deleted { "  deleted".to_owned() } else { print::changed_lines("  ", file.added, file.removed) };
        format!("{}{lines}", file.path.strip_prefix(&root).unwrap_or(&file.path))
    });
    let read =
        episode.files_read.iter().filter(|read| episode.files_modified.iter().all(|file| file.path != read.path));
    let read = read.map(|file| format!("{}  read", file.path.strip_prefix(&root).unwrap_or(&file.path)));
    let files: Vec<String> = changed.chain(read).collect();
    if !files.is_empty() {
        sheet.heading("Files");
        files.iter().take(LISTED).for_each(|file| sheet.item(file));
        sheet.more(files.len());
    }
}

fn is_running(row: &Row) -> bool {
    row.source.is_none() && !crate::resume::is_over(row)
}

/// The state as far as it is not the usual one.
fn state(row: &Row) -> &str {
    match (row.state.as_str(), &row.why) {
        ("active" | "indexed", _) if is_running(row) => "running",
        ("indexed", _) => "",
        ("unindexed", Some(why)) => why,
        (state, _) => state,
    }
}

/// The line below a title in the list: project, agent, time, messages, cost, and the state if it is unusual.
pub(super) fn summary(row: &Row, cost: Option<f64>, width: usize) -> String {
    let agent = row.agent.as_deref().map_or("", Agent::title_of);
    let is_narrow = width < NARROW;
    let at = row.last_activity.as_deref().map(|at| when(at, if is_narrow { 5 } else { 16 })).unwrap_or_default();
    let messages = if row.message_count > 0 { format!("{} msgs", row.message_count) } else { String::new() };
    let parts = [
        text::fitted(name_of(row.project.as_deref().unwrap_or_default()), 24),
        row.parent_session_id.as_ref().map_or("", |_| "subagent").to_owned(),
        if is_narrow { String::new() } else { agent.to_owned() },
        at,
        messages,
        cost.map(dollars).unwrap_or_default(),
        state(row).to_owned(),
        // What is cut off first.
        if is_narrow { agent.to_owned() } else { String::new() },
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    text::fitted(&parts.join(" · "), width)
}

/// Why a session is in its state, event by event.
pub(super) fn explained(sheet: &mut Sheet<'_>, explained: &Explain) {
    let theme = sheet.theme;
    let row = &explained.row;
    let state = format!("It is {} now.", row.state);
    let ending = row.ending(zone::minute).map_or_else(|| state.clone(), |ending| format!("{ending} {state}"));
    sheet.text(&text::one_line(&ending), theme.strong());
    for owed in &explained.owed {
        let at = owed.at.as_deref().map_or_else(|| "now".to_owned(), zone::minute);
        let why = zone::with_times(&text::one_line(&owed.why));
        sheet.text(&format!("Next: {} {at}, {why}", owed.what), theme.plain());
    }
    explained.notes.iter().for_each(|note| sheet.text(&format!("Note: {}", text::one_line(note)), theme.plain()));
    sheet.heading("What happened");
    for event in &explained.events {
        let told = event.unreadable.as_ref().map_or(&event.told, |_| &event.kind);
        sheet.event(&zone::minute(&event.at), &zone::with_times(told));
        if let Some(why) = event.why.as_ref().or(event.unreadable.as_ref()) {
            sheet.text(&format!("    {}", zone::with_times(&text::one_line(why))), theme.faint());
        }
        if let (Some(before), Some(after)) = (&event.before, &event.after)
            && before != after
        {
            sheet.text(&format!("    {before} -> {after}"), theme.state(after));
        }
    }
}

/// What is copied of an entry.
pub(super) fn copied(entry: &Entry, shown: Option<&Show>) -> String {
    let content = shown.and_then(|shown| shown.episode.as_ref()).map(|episode| episode.content.as_str());
    text::clean_whole(content.unwrap_or_else(|| title(&entry.row)))
}
