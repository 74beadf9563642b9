//! Projects: all of them. Twin of `baton project --all`.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Html;
use baton_conversation::printable::plain;
use baton_protocol::answer::{AgentCount, Projects};
use baton_protocol::{ProjectsParams, method};
use maud::{Markup, html};

use crate::ask::Failed;
use crate::layout::{self, address, counted};
use crate::site::Site;

/// Most projects.
const PROJECTS: u32 = 60;

pub(crate) async fn page(State(site): State<Arc<Site>>) -> Result<Html<String>, Failed> {
    page_with_note(&site, html! {}).await
}

/// All projects, below a note.
pub(super) async fn page_with_note(site: &Site, said: Markup) -> Result<Html<String>, Failed> {
    let params = ProjectsParams { limit: PROJECTS, caller: site.caller(), ..ProjectsParams::default() };
    let answer: Projects = site.ask(method::PROJECTS, &params).await?;
    let clock = site.clock();
    let body = html! {
        h1 { "Projects" }
        (said)
        section #projects data-live {
            @if answer.projects.is_empty() { p.faint { "No project is known here yet." } }
            ul.rows { @for project in &answer.projects { li {
                a.title href=(address("/project", &[("name", &project.project)])) { (layout::directory(Some(&project.project))) }
                div.meta {
                    span { (plain(&project.project)) }
                    (clock.time(project.last_at.as_deref()))
                    span { (counted(project.sessions.into(), "session")) }
                    @if project.active > 0 { span.good { (project.active) " not ended" } }
                    (agents(&project.agents))
                    @match project.open {
                        Some(0) => {},
                        Some(open) => span { (counted(open.into(), "open item")) " in the latest session" },
                        None => span { "latest session not read yet" },
                    }
                }
            } } }
            @if answer.more > 0 { p.faint { (counted(answer.more.into(), "more project")) "." } }
            @if answer.without_project > 0 { p.faint { (counted(answer.without_project.into(), "session")) " without a project." } }
            @if let Some(note) = &answer.freshness.note { p.faint { (plain(note)) } }
        }
    };
    Ok(layout::page("/projects", "Projects", &body))
}

/// How many sessions each agent has.
pub(crate) fn agents(agents: &[AgentCount]) -> Markup {
    html! { @for one in agents { span { (layout::agent(Some(&one.agent))) " " (one.sessions) } } }
}
