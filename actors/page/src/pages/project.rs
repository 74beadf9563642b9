//! Project: its sessions on a time axis, decisions, open work, files and checks. Twin of `baton project`.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use baton_conversation::printable::plain;
use baton_conversation::record::Timestamp;
use baton_protocol::answer::{Project, ProjectCheck, Quote};
use baton_protocol::{Agent, ProjectParams, method};
use maud::{Markup, html};
use serde::Deserialize;

use super::{projects, quote_link, sessions};
use crate::ask::Failed;
use crate::layout::{self, Clock, address, counted, number};
use crate::picture::lanes::{self, Span};
use crate::site::Site;

/// Most entries of a list.
const ENTRIES: u32 = 30;
/// Sessions of the list that are open from the start.
const SESSIONS: usize = 12;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Params {
    name: String,
}

pub(crate) async fn page(State(site): State<Arc<Site>>, Query(asked): Query<Params>) -> Result<Response, Failed> {
    let params = ProjectParams {
        project: super::non_empty(&asked.name),
        limit: ENTRIES,
        caller: site.caller(),
        ..ProjectParams::default()
    };
    let project: Project = match site.ask(method::PROJECT, &params).await {
        Ok(project) => project,
        // No project has this name: list all projects.
        Err(failed) => {
            let status = failed.status();
            return Ok((status, projects::page_with_note(&site, failed.beside_form()?).await?).into_response());
        }
    };
    let name = plain(project.project.trim_end_matches('/').rsplit('/').next().unwrap_or(&project.project));
    Ok(layout::page("/projects", &name, &body(&project, &name, site.clock())).into_response())
}

fn body(project: &Project, name: &str, clock: Clock) -> Markup {
    html! {
        h1 { (name) }
        div.meta {
            code { (plain(&project.project)) }
            span { (counted(project.sessions_total.into(), "session")) }
            span { (clock.span(project.first_at.as_deref(), project.last_at.as_deref())) }
            (projects::agents(&project.agents))
            a href=(address("/graph", &[("project", &project.project)])) { "Graph" }
            a href=(address("/workflows", &[("project", &project.project)])) { "Workflows" }
            a href=(address("/sessions", &[("project", &project.project)])) { "All sessions" }
        }
        section #sessions data-live { (session_list(project, clock)) }
        section #decisions data-live { (decisions(project, clock)) }
        section #open data-live {
            @if !project.open.is_empty() {
                h2 { "Open" }
                (quotes(&project.open, clock))
                (more(project.more_open, "open item"))
                p.faint { "What the sessions above left open. Later ones may have done it." }
            }
        }
        section #files data-live { (files(project, clock)) }
        section #checks data-live { (checks(project)) }
        @if let Some(note) = &project.freshness.note { p.faint { (plain(note)) } }
    }
}

fn more(count: u32, what: &str) -> Markup {
    html! { @if count > 0 { p.faint { (counted(count.into(), &format!("more {what}"))) "." } } }
}

fn session_list(project: &Project, clock: Clock) -> Markup {
    let title = |name: Option<&str>| Agent::title_of(name.unwrap_or("unknown")).to_owned();
    let mut lanes: Vec<String> = Vec::new();
    let mut spans = Vec::new();
    for session in &project.sessions {
        let time = |at: &Option<String>| at.as_deref().and_then(Timestamp::parse).map(|at| at.0);
        let Some(to) = time(&session.ended_at) else { continue };
        let agent = title(session.agent.as_deref());
        let lane = lanes.iter().position(|known| *known == agent).unwrap_or_else(|| {
            lanes.push(agent.clone());
            lanes.len() - 1
        });
        let day = clock.day(Timestamp(to));
        let text = format!("{agent}, {day}: {}", plain(&session.title));
        let target = format!("/session/{}", session.session_id);
        spans.push(Span { lane, from: time(&session.started_at).unwrap_or(to).min(to), to, target, text });
    }
    let day = |at: Option<i64>| at.map(|at| clock.day(Timestamp(at))).unwrap_or_default();
    let ends = [day(spans.iter().map(|span| span.from).min()), day(spans.iter().map(|span| span.to).max())];
    html! {
        h2 { "Sessions" }
        (lanes::draw_lanes("Sessions by agent", &lanes, &spans, [&ends[0], &ends[1]]))
        ul.rows { @for session in project.sessions.iter().take(SESSIONS) { (sessions::row(session, clock)) } }
        @if project.sessions.len() > SESSIONS {
            details { summary { (project.sessions.len() - SESSIONS) " more" }
                ul.rows { @for session in &project.sessions[SESSIONS..] { (sessions::row(session, clock)) } } }
        }
        @if project.more_sessions > 0 {
            p.faint { (counted(project.more_sessions.into(), "older session")) " not drawn here." }
        }
    }
}

fn quotes(quotes: &[Quote], clock: Clock) -> Markup {
    html! { ul.plain { @for one in quotes { li { (quote_link(one)) " " (clock.time(one.at.as_deref())) } } } }
}

fn decisions(project: &Project, clock: Clock) -> Markup {
    html! {
        @if !project.decisions.is_empty() {
            h2 { "Decisions that hold" }
            ul.plain { @for decision in &project.decisions { li {
                (quote_link(&decision.said)) " " (clock.time(decision.said.at.as_deref()))
                @if decision.said_by.is_some() { span.faint { " · model" } }
            } } }
            (more(project.more_decisions, "decision"))
        }
        @if !project.replaced.is_empty() {
            h2 { "Superseded decisions" }
            ul.plain { @for replaced in &project.replaced { li {
                (quote_link(&replaced.said)) " " span.faint { (clock.span(replaced.said.at.as_deref(), replaced.until.as_deref())) }
                @if let Some(by) = &replaced.by { p { "now: " (quote_link(by)) } }
            } } }
            (more(project.more_replaced, "decision"))
        }
        @if project.decisions_cut { p.faint { "There are further decisions that were not looked at." } }
    }
}

fn files(project: &Project, clock: Clock) -> Markup {
    html! {
        @if !project.files.is_empty() {
            h2 { "Files" }
            div.scroll { table {
                thead { tr { th { "File" } th.n { "Changed in" } th.n { "Only read in" } th.n { "Lines" } th { "Last" } } }
                tbody { @for file in &project.files { tr {
                    td.words { a href=(address("/file", &[("path", &file.ask), ("project", &project.project)])) { code { (plain(&file.path)) } } }
                    td.n { (counted(file.changed_in.into(), "session")) }
                    td.n { (number(file.read_in.into())) }
                    td.n { (layout::changed_lines(file.added, file.removed)) }
                    td { (clock.time(file.last_at.as_deref())) }
                } } }
            } }
            (more(project.more_files, "file"))
        }
        @if project.not_counted > 0 {
            p.faint { "Files and checks are those of the newest " (counted(project.counted.into(), "session")) "; "
                (number(project.not_counted.into())) " older ones are not counted." }
        }
    }
}

fn checks(project: &Project) -> Markup {
    html! {
        @if !project.checks.is_empty() {
            h2 { "Checks" }
            div.scroll { table {
                thead { tr { th { "Check" } th { "Kind" } th.n { "Runs" } th.n { "Passed" } th.n { "Failed" } th.n { "Rate" } } }
                tbody { @for check in &project.checks { tr {
                    td { code { (plain(&check.command)) } }
                    td { (check.kind) }
                    td.n { (number(check.runs.count.into())) }
                    td.n { (number(check.runs.ok.into())) }
                    td.n { (number(check.runs.failed.into())) }
                    td.n { @if let Some(rate) = check.runs.success_rate { (format!("{:.0} %", rate * 100.0)) } @else { "–" } }
                } } }
            } }
            (more(project.more_checks, "check"))
            @for check in &project.checks { (weeks(check)) }
            p.faint { "A session's runs count for the week in which it ended. Runs whose outcome is not known count as runs only." }
        }
    }
}

fn weeks(check: &ProjectCheck) -> Markup {
    html! {
        details { summary { code { (plain(&check.command)) } " by week" }
            div.scroll { table {
                thead { tr { th { "Week of" } th.n { "Runs" } th.n { "Passed" } th.n { "Failed" } } }
                tbody { @for week in &check.weeks { tr {
                    td { @if week.week.is_empty() { "not known" } @else { (week.week) } }
                    td.n { (number(week.runs.count.into())) }
                    td.n { (number(week.runs.ok.into())) }
                    td.n { (number(week.runs.failed.into())) }
                } } }
            } }
            @if check.earlier > 0 { p.faint { (counted(check.earlier.into(), "earlier run")) "." } }
        }
    }
}
