//! File: who touched it and why. Twin of `baton blame`.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::Html;
use baton_conversation::printable::{plain, to_sentence};
use baton_protocol::answer::Blame;
use baton_protocol::{BlameParams, method};
use maud::{Markup, html};
use serde::Deserialize;

use super::non_empty;
use crate::ask::Failed;
use crate::layout::{self, Clock, address, counted};
use crate::site::Site;

/// Most sessions.
const SESSIONS: u32 = 100;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Params {
    path: String,
    project: String,
}

pub(crate) async fn page(State(site): State<Arc<Site>>, Query(asked): Query<Params>) -> Result<Html<String>, Failed> {
    if asked.path.trim().is_empty() {
        return Ok(layout::page("/projects", "File", &html! { h1 { "File" } (form(&asked)) }));
    }
    let params = BlameParams {
        path: asked.path.clone(),
        project: non_empty(&asked.project),
        limit: SESSIONS,
        caller: site.caller(),
        ..BlameParams::default()
    };
    let blame: Blame = site.ask(method::BLAME, &params).await?;
    Ok(layout::page("/projects", &blame.path, &body(&blame, site.clock())))
}

/// Asks for a file.
fn form(asked: &Params) -> Markup {
    html! {
        form.filters {
            label for="path" { "Path, or the end of one" }
            input #path name="path" required placeholder="src/main.rs";
            label for="project" { "Project" }
            input #project name="project" value=(asked.project);
            button { "Show" }
        }
    }
}

/// The graph around the file.
fn graph(blame: &Blame) -> String {
    let project = blame.project.as_deref().map(|project| ("project", project));
    address("/graph", &std::iter::once(("about", blame.path.as_str())).chain(project).collect::<Vec<_>>())
}

fn body(blame: &Blame, clock: Clock) -> Markup {
    html! {
        h1 { code { (plain(&blame.path)) } }
        p.meta {
            (super::project_link(blame.project.as_deref()))
            @if blame.project.is_some() { a href=(graph(blame)) { "Graph" } }
        }
        p { (to_sentence(&blame.message)) }
        @if !blame.candidates.is_empty() {
            ul.plain { @for candidate in &blame.candidates { li {
                a href=(address("/file", &[("path", &candidate.ask)])) { (plain(&candidate.path)) }
                " " (layout::directory(candidate.project.as_deref()))
                " " span.faint { (counted(candidate.sessions.into(), "session")) }
            } } }
        }
        ul.rows { @for session in &blame.sessions { li {
            @let line = session.line.map(|line| line.to_string());
            @let target = format!("/session/{}", session.session_id);
            a.title href=(address(&target, &line.iter().map(|line| ("line", line.as_str())).collect::<Vec<_>>())) {
                (plain(&session.title))
            }
            div.meta {
                (clock.time(session.at.as_deref()))
                @if session.modified { span { "changed " (layout::changed_lines(session.added, session.removed)) } }
                @if session.read > 0 { span { (counted(session.read.into(), "read")) } }
                @if let Some(renamed) = &session.renamed { code { (plain(renamed)) } }
            }
            @if !session.files.is_empty() { p.faint { (plain(&session.files.join(", "))) } }
            @if !session.decisions.is_empty() { ul.plain { @for decision in &session.decisions { li {
                a href=(address(&format!("/session/{}", decision.session_id), &[("line", &decision.line.to_string())])) {
                    (plain(&decision.text))
                }
            } } } }
        } } }
        @if blame.more_sessions > 0 { p.faint { (counted(blame.more_sessions.into(), "more session")) "." } }
    }
}
