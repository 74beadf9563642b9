//! The pages, one file each, and their addresses.

mod costs;
mod file;
mod graph;
mod health;
mod project;
mod projects;
mod replay;
mod session;
mod sessions;
mod today;
mod workflows;

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

use axum::Router;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use baton_conversation::printable::plain;
use baton_protocol::answer::{Quote, Sessions};
use baton_protocol::{Agent, Failure, SessionsParams, code, method};
use baton_queries::parse_moment;
use maud::{Markup, html};

use crate::ask::Failed;
use crate::layout::{ICON, ICON_PATH, SCRIPT, SCRIPT_PATH, STYLE, STYLE_PATH, address};
use crate::site::Site;
use crate::{access, live};

/// Answers all addresses.
pub(crate) fn router(site: Arc<Site>) -> Router {
    let asset = |kind: &'static str, text: &'static str| {
        get(move || async move { ([(header::CONTENT_TYPE, kind)], text).into_response() })
    };
    Router::new()
        .route("/", get(today::page))
        .route("/sessions", get(sessions::page))
        .route("/session/{id}", get(session::page))
        .route("/session/{id}/window", get(session::window))
        .route("/projects", get(projects::page))
        .route("/project", get(project::page))
        .route("/graph", get(graph::page))
        .route("/file", get(file::page))
        .route("/workflows", get(workflows::page))
        .route("/costs", get(costs::page))
        .route("/replay", get(replay::page))
        .route("/health", get(health::page))
        .route("/live", get(live::changes))
        .route(access::ENTER, get(access::enter).with_state(site.access.clone()))
        .route(STYLE_PATH, asset("text/css; charset=utf-8", STYLE))
        .route(ICON_PATH, asset("image/svg+xml", ICON))
        .route(SCRIPT_PATH, asset("text/javascript; charset=utf-8", SCRIPT))
        .fallback(not_found)
        .layer(axum::middleware::from_fn_with_state(site.access.clone(), access::guard))
        .with_state(site)
}

async fn not_found() -> impl IntoResponse {
    (axum::http::StatusCode::NOT_FOUND, crate::layout::failure_page("There is no such page."))
}

/// A field of a form: none if it was left empty.
fn non_empty(field: &str) -> Option<String> {
    Some(field.trim()).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// A number in an address or a form: none if it was left empty.
fn parse_number<T: FromStr>(name: &str, field: &str) -> Result<Option<T>, Failed> {
    let message = || format!("{name} has to be a number, not {field:?}");
    let wrong = |_| Failed(Failure { code: code::INVALID_PARAMS, message: message() });
    non_empty(field).map(|text| text.parse().map_err(wrong)).transpose()
}

/// Titles of sessions, by id.
type Titles = BTreeMap<String, String>;

/// The titles of sessions that have one; none if they cannot be read.
async fn titles(site: &Site, ids: Vec<String>) -> Titles {
    if ids.is_empty() {
        return Titles::new();
    }
    let params = SessionsParams { ids, subagents: true, stored: true, ..SessionsParams::default() };
    let rows =
        site.ask::<Sessions>(method::SESSIONS, &params).await.map_or_else(|_| Vec::new(), |found| found.sessions);
    let titled =
        rows.into_iter().filter_map(|row| Some((row.session_id, row.title.filter(|title| !title.is_empty())?)));
    titled.collect()
}

/// Checks that a text is a time.
fn check_time(text: &str, site: &Site) -> Result<(), Failed> {
    let message = || {
        format!(
            "{text:?} is not a date; use one like 2026-03-14, 2026-03, yesterday, last week, 12h, 7d, 2w or 3m (months)"
        )
    };
    let wrong = || Failed(Failure { code: code::INVALID_PARAMS, message: message() });
    parse_moment(text, site.clock().now).map(drop).ok_or_else(wrong)
}

/// Fields for the beginning and the end of a time.
fn time_fields(since: &str, until: &str) -> Markup {
    html! {
        label for="since" { "Since" }
        input.short #since name="since" value=(since) placeholder="last week" list="moments";
        label for="until" { "Until" }
        input.short #until name="until" value=(until) placeholder="2026-03" list="moments";
        datalist #moments { @for (name, ..) in SPANS { option value=(name) {} } }
    }
}

/// Time spans on offer: their name, and their end if not now.
const SPANS: &[(&str, &str)] = &[
    ("today", ""),
    ("yesterday", "today"),
    ("this week", ""),
    ("last week", "this week"),
    ("last month", "this month"),
];

/// Links to the same page for a time.
fn span_links(path: &str, others: &[(&str, &str)]) -> Markup {
    let target = |since: &str, until: &str| {
        let all = others.iter().copied().chain([("since", since), ("until", until)]);
        address(path, &all.filter(|(_, value)| !value.is_empty()).collect::<Vec<_>>())
    };
    html! { p.meta { @for (since, until) in SPANS { a href=(target(since, until)) { (since) } } } }
}

/// A link to a project, by its directory.
fn project_link(path: Option<&str>) -> Markup {
    html! { @if let Some(path) = path {
        a href=(crate::layout::address("/project", &[("name", path)])) { (crate::layout::directory(Some(path))) }
    } }
}

/// A quoted text with a link to its position in the session.
fn quote_link(quote: &Quote) -> Markup {
    let target =
        crate::layout::address(&format!("/session/{}", quote.session_id), &[("line", &quote.line.to_string())]);
    html! { a href=(target) { (plain(&quote.text)) } }
}

/// A choice of an agent, for a form.
fn agent_choice(chosen: &str) -> Markup {
    html! {
        label for="agent" { "Agent" }
        select #agent name="agent" {
            option value="" { "all" }
            @for agent in Agent::ALL { option value=(agent.as_str()) selected[agent.as_str() == chosen] { (agent.title()) } }
        }
    }
}
