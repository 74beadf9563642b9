//! Today: running and finished sessions, open work and costs. Twin of `baton today`.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Html;
use baton_conversation::printable::plain;
use baton_protocol::answer::{AgentCost, ProjectOpen, Spent, TimelineSession, Today};
use baton_protocol::{TodayParams, method};
use maud::{Markup, html};

use super::costs::list_price;
use super::sessions;
use crate::ask::Failed;
use crate::layout::{self, Clock, counted, usd};
use crate::site::Site;

pub(crate) async fn page(State(site): State<Arc<Site>>) -> Result<Html<String>, Failed> {
    let params = TodayParams { caller: site.caller(), ..TodayParams::default() };
    let today: Today = site.ask(method::TODAY, &params).await?;
    let clock = site.clock();
    let body = html! {
        h1 { "Today" }
        section #spent data-live { h2 { "Spent by your agents, at list prices" } (spent(&today)) }
        section #running data-live {
            h2 { "Running" }
            (list(&today.running, today.more_running, "No session is running now.", clock))
        }
        section #finished data-live {
            h2 { "Finished today" }
            (list(&today.finished, today.more_finished, "No session has ended today yet.", clock))
        }
        section #open data-live {
            h2 { "Left open" }
            p.faint { "From each project's latest session, if it was active in the last 30 days." }
            @if today.open.is_empty() { p { "Nothing." } }
            @for project in &today.open { (open(project)) }
            @if today.more_projects { p.more { "There may be more: " a href="/projects" { "all projects" } } }
        }
        @if let Some(note) = &today.freshness.note { p.faint { (plain(note)) } }
    };
    Ok(layout::page("/", "Today", &body))
}

fn list(sessions: &[TimelineSession], more: u32, none: &str, clock: Clock) -> Markup {
    html! {
        @if sessions.is_empty() { p.faint { (none) } }
        ul.rows { @for session in sessions { (sessions::row(session, clock)) } }
        @if more > 0 { p.more { a href="/sessions" { (counted(more.into(), "more session")) } } }
    }
}

fn open(project: &ProjectOpen) -> Markup {
    html! {
        h3 { (super::project_link(Some(&project.project))) }
        ul.plain { @for item in &project.items { li { (super::quote_link(item)) } } }
        @if project.more > 0 { p.faint { (counted(project.more.into(), "more item")) "." } }
    }
}

fn spent(today: &Today) -> Markup {
    html! {
        @match &today.spent {
            None => p.problem { "What was spent is not known: the memory is not available now. The page Health tells why." },
            Some(Spent { today, week, note }) => {
                dl.figures { (figure("Today", today)) (figure("Seven days", week)) }
                p.faint { (plain(note)) " " a href="/costs?days=7" { "Costs by day" } }
            },
        }
        @if today.own_calls_usd > 0.0 {
            p { "Baton's own model calls, since midnight in UTC: " (usd(today.own_calls_usd)) }
        }
    }
}

fn figure(name: &str, cost: &AgentCost) -> Markup {
    html! { div { dt { (name) } dd { b { (list_price(cost)) } " " span.faint { (counted(cost.tokens.messages, "request")) } } } }
}
