//! Workflows: recurring sequences of tools and programs, and attempts that keep failing. Twin of `baton patterns`.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::Html;
use baton_conversation::printable::{plain, to_sentence};
use baton_protocol::answer::Patterns;
use baton_protocol::{Agent, PatternsParams, method};
use maud::{Markup, html};
use serde::Deserialize;

use super::non_empty;
use crate::ask::Failed;
use crate::layout::{self, number};
use crate::picture::steps::{self, Again, Arrow};
use crate::site::Site;

/// Most entries of each kind.
const ENTRIES: u32 = 40;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Params {
    project: String,
    agent: String,
}

pub(crate) async fn page(State(site): State<Arc<Site>>, Query(asked): Query<Params>) -> Result<Html<String>, Failed> {
    let params = PatternsParams {
        project: non_empty(&asked.project),
        agent: Agent::ALL.iter().copied().find(|agent| agent.as_str() == asked.agent),
        limit: ENTRIES,
        pairs: true,
        caller: site.caller(),
        ..PatternsParams::default()
    };
    let patterns = match site.ask::<Patterns>(method::PATTERNS, &params).await {
        Ok(patterns) => pattern_tables(&patterns),
        Err(failed) => failed.beside_form()?,
    };
    Ok(layout::page("/workflows", "Workflows", &body(&asked, &patterns)))
}

fn body(asked: &Params, patterns: &Markup) -> Markup {
    html! {
        h1 { "Workflows" }
        form.filters {
            label for="project" { "Project" }
            input #project name="project" value=(asked.project);
            (super::agent_choice(&asked.agent))
            button { "Show" }
        }
        (patterns)
    }
}

fn pattern_tables(patterns: &Patterns) -> Markup {
    html! {
        p { (to_sentence(&patterns.message)) }
        @if !patterns.sequences.is_empty() {
            h2 { "Sequences" }
            (picture(patterns))
            div.scroll { table {
                thead { tr { th { "Steps" } th.n { "Times" } th.n { "Sessions" } th.n { "Last step worked" } } }
                tbody { @for sequence in &patterns.sequences { tr {
                    td { @for (index, step) in sequence.steps.iter().enumerate() { @if index > 0 { " → " } code { (plain(step)) } } }
                    td.n { (number(sequence.count.into())) }
                    td.n { (number(sequence.sessions.into())) }
                    td.n { @if let Some(rate) = sequence.success_rate { (format!("{:.0} %", rate * 100.0)) } @else { "–" } }
                } } }
            } }
        }
        @if !patterns.mostly_failing.is_empty() {
            h2 { "Commands that fail more often than not" }
            div.scroll { table {
                thead { tr { th { "Command" } th.n { "Runs" } th.n { "Failed" } th { "Last failure" } } }
                tbody { @for command in &patterns.mostly_failing { tr {
                    td { code { (plain(&command.command)) } }
                    td.n { (number(command.runs.count.into())) }
                    td.n { (number(command.runs.failed.into())) }
                    td { @if let Some(last) = &command.last_failure { (super::quote_link(last)) } }
                } } }
            } }
        }
        @if !patterns.retry_loops.is_empty() {
            h2 { "Attempts that failed at least three times in a row" }
            div.scroll { table {
                thead { tr { th { "What" } th.n { "Loops" } th.n { "Longest" } th.n { "Ended well" } th { "Last" } } }
                tbody { @for retry in &patterns.retry_loops { tr {
                    td { code { (plain(&retry.what)) } }
                    td.n { (number(retry.loops.into())) }
                    td.n { (number(retry.longest.into())) }
                    td.n { (number(retry.resolved.into())) }
                    td { (super::quote_link(&retry.last)) }
                } } }
            } }
        }
        @if patterns.more > 0 { p.faint { (number(patterns.more.into())) " more." } }
    }
}

/// A picture of which steps follow each other, and which are retried.
fn picture(patterns: &Patterns) -> Markup {
    let arrows = patterns.pairs.iter().filter_map(|pair| {
        let [from, to] = &pair.steps[..] else { return None };
        Some(Arrow { from: plain(from), to: plain(to), count: pair.count, rate: pair.success_rate })
    });
    let again = patterns.retry_loops.iter().map(|retry| Again { step: plain(&retry.what), longest: retry.longest });
    html! {
        (steps::draw_steps("Steps that follow each other", &arrows.collect::<Vec<_>>(), &again.collect::<Vec<_>>()))
        p.faint { "An arrow has how often the second step followed the first and how often it then worked, if that is known of \
            three or more. A red loop is a step that failed at least three times in a row. The table leaves out what hardly \
            occurs outside of a longer sequence." }
    }
}
