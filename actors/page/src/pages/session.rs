//! Session: its episode, its conversation, its costs, its relatives, and why it ended.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::response::Html;
use baton_base::shell::quoted;
use baton_conversation::printable::{plain, to_sentence};
use baton_conversation::record::{Timestamp, with_times};
use baton_protocol::answer::{Episode, Explain, Line, Messages, Relation, Show, Usage, UsagePart};
use baton_protocol::{ExplainParams, MessagesParams, ShowParams, method};
use maud::{Markup, html};
use serde::Deserialize;

use crate::ask::Failed;
use crate::conversation::{self, Ends};
use crate::layout::{self, Clock, address, counted, duration, number, usd};
use crate::picture::{self, Bar, Mark};
use crate::site::Site;

/// Messages of a window.
const WINDOW: u32 = 100;
/// Most messages of a window that ends before another one: a call gives no more on either side of a line.
const EARLIER: u32 = 50;
/// Messages on either side of a line.
const AROUND: u32 = 20;
/// Most entries of a list of the episode that are open from the start.
const ENTRIES: usize = 12;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Params {
    /// Opens the conversation at this line.
    line: Option<u64>,
    /// A window that begins at this line.
    from: Option<u64>,
    /// A window that ends with this line.
    before: Option<u64>,
}

async fn messages(site: &Site, session: &str, asked: &Params, fresh: bool) -> Result<Messages, Failed> {
    let params = MessagesParams { session: session.to_owned(), fresh, ..MessagesParams::default() };
    let params = match (asked.line, asked.before) {
        (Some(line), _) => MessagesParams { around: Some(line), context: AROUND, ..params },
        (None, Some(line)) => MessagesParams { around: Some(line), context: EARLIER, ..params },
        (None, None) => MessagesParams { from: asked.from.unwrap_or(0), limit: Some(WINDOW), ..params },
    };
    let mut messages: Messages = site.ask(method::MESSAGES, &params).await?;
    if asked.line.is_none() && asked.before.is_some() {
        let end = messages.focus.map_or(messages.messages.len(), |focus| focus as usize + 1);
        messages.messages.truncate(end);
    }
    Ok(messages)
}

/// A window of the conversation alone, for the script. For what follows the last message, the transcript on disk is
/// read.
pub(crate) async fn window(
    State(site): State<Arc<Site>>,
    Path(session): Path<String>,
    Query(asked): Query<Params>,
) -> Result<Html<String>, Failed> {
    let mut messages = messages(&site, &session, &asked, false).await?;
    if messages.next.is_none() && asked.from.is_some() {
        messages = self::messages(&site, &session, &asked, true).await?;
    }
    // Without a link on the near side, because the neighbouring window is shown already.
    let ends = if asked.before.is_some() { Ends::Earlier } else { Ends::Later };
    let drawn = conversation::window(&messages, None, ends, site.clock());
    Ok(Html(drawn.into_string()))
}

pub(crate) async fn page(
    State(site): State<Arc<Site>>,
    Path(session): Path<String>,
    Query(asked): Query<Params>,
) -> Result<Html<String>, Failed> {
    let show = ShowParams { session: session.clone() };
    let explain = ExplainParams { session: Some(session.clone()), ..ExplainParams::default() };
    let (show, explain, messages) = tokio::join!(
        site.ask::<Show>(method::SHOW, &show),
        site.ask::<Explain>(method::EXPLAIN, &explain),
        messages(&site, &session, &asked, false),
    );
    let (show, explain, messages, clock) = (show?, explain?, messages?, site.clock());
    let title = show.episode.as_ref().map_or("", |episode| episode.title.as_str());
    let title = if title.is_empty() { format!("Session {}", show.row.session_id) } else { plain(title) };
    let body = html! {
        h1 { (title) }
        (head(&show, clock))
        @if asked.line.is_none() { section #episode data-live { (episode(&show, clock)) } }
        @if asked.line.is_none() { section #why data-live { (ending(&explain, clock)) } }
        h2 #conversation { "Conversation" }
        @if let Some(note) = &messages.note { p.faint { (plain(note)) } }
        @if asked.line.is_some() { p { a href=(format!("/session/{}", show.row.session_id)) { "The whole session" } } }
        (conversation::window(&messages, asked.line, Ends::Both, clock))
    };
    Ok(layout::page("/sessions", &title, &body))
}

fn head(show: &Show, clock: Clock) -> Markup {
    let (row, episode) = (&show.row, show.episode.as_ref());
    html! {
        div.meta {
            (layout::agent(row.agent.as_deref()))
            @if let Some(project) = &row.project {
                a href=(address("/project", &[("name", project)])) { (layout::directory(Some(project))) }
            }
            (layout::state(&row.state, row.end.is_none()))
            @if let Some(why) = &row.why { span { (plain(why)) } }
            span { (counted(row.message_count, "message")) }
            @if let Some(metadata) = episode.map(|episode| &episode.metadata) {
                span { (clock.span(metadata.start_time.as_deref(), metadata.end_time.as_deref())) }
                span { (duration(metadata.duration_seconds)) }
            }
            @if let Some(cost) = show.usage.as_ref().and_then(|usage| usage.cost_usd) { span { "about " (usd(cost)) } }
            code { (row.session_id) }
        }
        @if let Some(resume) = episode.and_then(|episode| episode.resume.as_ref()) {
            @let directory = row.directory.as_deref().map(|directory| format!("cd {} && ", quoted(directory)));
            p { "Go on with it: " code.copy { (plain(&directory.unwrap_or_default())) (plain(resume)) } " or " code.copy { "baton resume " (row.session_id) } }
        }
    }
}

fn episode(show: &Show, clock: Clock) -> Markup {
    let id = &show.row.session_id;
    let Some(episode) = &show.episode else {
        return html! { p.faint { "It has no episode yet: it is made when the session ends, or with the next search." } };
    };
    html! {
        @if !episode.objective.is_empty() { p { (plain(&episode.objective)) } }
        (list(id, "Decisions", &episode.decisions))
        (open_work(id, episode))
        @if !episode.errors.is_empty() {
            h2 { "Failures" }
            ul.plain { @for error in &episode.errors { li {
                (linked_line(id, &error.error))
                @match &error.resolution {
                    Some(resolution) => p { span.faint { "went away: " } (linked_line(id, resolution)) },
                    None => p.faint { "not known to have gone away" },
                }
            } } }
        }
        @if !episode.files_modified.is_empty() {
            h2 { "Files" }
            ul.plain { @for file in &episode.files_modified { li {
                a href=(file_address(show, &file.path)) { code { (plain(&file.path)) } }
                " " @if file.deleted { "deleted" } @else { (layout::changed_lines(file.added, file.removed)) }
                " " a.faint href=(line_address(id, file.line)) { "line " (file.line) }
            } } }
        }
        @if let Some(usage) = &show.usage { (costs(usage, clock)) }
        (relations(&show.relations))
        (exchanges(id, episode, clock))
        p { a href=(address("/graph", &[("about", id)])) { "What is known around this session" } }
    }
}

/// The page of a file of this session.
fn file_address(show: &Show, path: &str) -> String {
    let project = show.row.project.as_deref().map(|project| ("project", project));
    let parameters: Vec<(&str, &str)> = std::iter::once(("path", path)).chain(project).collect();
    address("/file", &parameters)
}

fn open_work(id: &str, episode: &Episode) -> Markup {
    html! { (list(id, "Open", &episode.unresolved)) (list(id, "Next", &episode.next_steps)) }
}

fn exchanges(id: &str, episode: &Episode, clock: Clock) -> Markup {
    html! {
        @if !episode.exchanges.is_empty() {
            h2 { "What was asked and done" }
            ul.rows { @for exchange in &episode.exchanges { li {
                @if let Some(prompt) = &exchange.prompt { p { a.title href=(line_address(id, prompt.line)) { (plain(&prompt.text)) } } }
                @if let Some(conclusion) = &exchange.conclusion { pre { (plain(&conclusion.text)) } }
                div.meta {
                    (clock.time(exchange.at.as_deref()))
                    @for (act, count) in &exchange.acts { span { (act) " " (count) } }
                    @if exchange.interrupted { span.bad { "interrupted" } }
                    @for commit in &exchange.commits { code { (plain(commit)) } }
                }
            } } }
        }
    }
}

fn list(id: &str, title: &str, lines: &[Line]) -> Markup {
    let item = |entry: &Line| html! { li { (linked_line(id, entry)) } };
    html! {
        @if !lines.is_empty() {
            h2 { (title) }
            ul.plain { @for entry in lines.iter().take(ENTRIES) { (item(entry)) } }
            @if lines.len() > ENTRIES {
                details { summary { (lines.len() - ENTRIES) " more" }
                    ul.plain { @for entry in &lines[ENTRIES..] { (item(entry)) } } }
            }
        }
    }
}

/// A text with a link to its line in the conversation.
fn linked_line(id: &str, line: &Line) -> Markup {
    html! {
        a href=(line_address(id, line.line)) { (plain(&line.text)) }
        @if line.said_by.is_some() { span.faint { " · model" } }
    }
}

fn line_address(id: &str, line: u64) -> String {
    address(&format!("/session/{id}"), &[("line", &line.to_string())])
}

fn costs(usage: &Usage, clock: Clock) -> Markup {
    if usage.models.is_empty() {
        return html! {};
    }
    html! {
        h2 { "Tokens and cost" }
        (course(&usage.course, clock))
        div.scroll { table {
            thead { tr { th { "Model" } th.n { "Input" } th.n { "Cache read" } th.n { "Output" } th.n { "Cost" } } }
            tbody { @for model in usage.models.iter().chain(&usage.subagents.models) { tr {
                td { (plain(&model.model)) }
                td.n { (number(model.tokens.input_tokens)) }
                td.n { (number(model.tokens.cache_read_input_tokens)) }
                td.n { (number(model.tokens.output_tokens)) }
                td.n { @if let Some(cost) = model.tokens.cost_usd { (usd(cost)) } @else { "–" } }
            } } }
        } }
        p.faint { (to_sentence(&usage.note)) }
    }
}

/// Cost over the session's course, or tokens if no price is known, as a picture and a table.
fn course(parts: &[UsagePart], clock: Clock) -> Markup {
    if parts.len() < 2 {
        return html! {};
    }
    let tokens = |part: &UsagePart| {
        let tokens = &part.tokens;
        tokens.input_tokens + tokens.cache_read_input_tokens + tokens.cache_creation_input_tokens + tokens.output_tokens
    };
    let is_priced = parts.iter().any(|part| part.tokens.cost_usd.is_some_and(|cost| cost > 0.0));
    let bar = |part: &UsagePart| {
        let (value, shown) = match (is_priced, part.tokens.cost_usd.unwrap_or_default()) {
            (true, cost) => (cost, usd(cost)),
            (false, _) => (tokens(part) as f64, counted(tokens(part), "token")),
        };
        Bar { label: clock.text(&part.at), value, shown }
    };
    let mut bars: Vec<Bar> = parts.iter().map(bar).collect();
    // A day that all times share is left to the table.
    let day = bars.first().and_then(|bar| bar.label.rsplit_once(' ')).map(|(day, _)| format!("{day} "));
    if let Some(day) = day.filter(|day| bars.iter().all(|bar| bar.label.starts_with(day.as_str()))) {
        bars.iter_mut().for_each(|bar| bar.label.replace_range(..day.len(), ""));
    }
    let so_far = parts.iter().scan(0.0, |sum, part| {
        *sum += part.tokens.cost_usd.unwrap_or_default();
        Some(*sum)
    });
    html! {
        (picture::bars(if is_priced { "Cost over the session's course" } else { "Tokens over the session's course" }, &bars))
        details { summary { "Its course, in " (counted(parts.len() as u64, "part")) }
            div.scroll { table {
                thead { tr { th { "From" } th.n { "Requests" } th.n { "Tokens" } th.n { "Cost" } th.n { "Cost so far" } } }
                tbody { @for (part, so_far) in parts.iter().zip(so_far) { tr {
                    td { (clock.time(Some(&part.at))) }
                    td.n { (number(part.tokens.messages)) }
                    td.n { (number(tokens(part))) }
                    td.n { @if let Some(cost) = part.tokens.cost_usd { (usd(cost)) } @else { "–" } }
                    td.n { @if is_priced { (usd(so_far)) } @else { "–" } }
                } } }
            } } }
    }
}

fn relations(relations: &[Relation]) -> Markup {
    html! {
        @if !relations.is_empty() {
            h2 { "Related sessions" }
            ul.plain { @for relation in relations { li {
                (relation.name.replace('_', " ")) " "
                a href=(format!("/session/{}", relation.session_id)) {
                    @match &relation.title { Some(title) => (plain(title)), None => code { (relation.session_id) } }
                }
                @if let Some(kind) = &relation.agent_type { " " (plain(kind)) }
                @if let Some(description) = &relation.description { ": " (plain(description)) }
            } } }
        }
    }
}

/// Why the session ended: each signal and its effect, on a time axis and in a table.
fn ending(explain: &Explain, clock: Clock) -> Markup {
    let told = |text: &str| with_times(&plain(text), |at| clock.text(at));
    let marks = explain.events.iter().filter_map(|event| {
        let at = Timestamp::parse(&event.at)?;
        let is_turn = event.before != event.after;
        Some(Mark { at: at.0, series: if is_turn { 2 } else { 1 }, text: told(&event.told) })
    });
    html! {
        h2 { "Why it ended" }
        @if let Some(ending) = explain.row.ending(|at| clock.text(at)) { p { (plain(&ending)) } }
        (picture::time_axis("Events of the session", &marks.collect::<Vec<_>>()))
        details { summary { (explain.events.len()) " events" }
            div.scroll { table {
                thead { tr { th { "When" } th { "What" } th { "Why" } th { "State" } } }
                tbody { @for event in &explain.events { tr {
                    td { (clock.time(Some(&event.at))) }
                    td { (told(&event.told)) }
                    td { @if let Some(why) = &event.why { (told(why)) } }
                    td { @if event.before != event.after {
                        (event.before.as_deref().unwrap_or("none")) " → " (event.after.as_deref().unwrap_or("none"))
                    } }
                } } }
            } }
            @if explain.next.is_some() { p.faint { "Later events: " code { "baton explain " (explain.row.session_id) } "." } }
        }
        @for owed in &explain.owed { p { "Next: " (plain(&owed.what)) " " (clock.time(owed.at.as_deref())) ", " (told(&owed.why)) } }
        @for note in &explain.notes { p.faint { (plain(note)) } }
    }
}
