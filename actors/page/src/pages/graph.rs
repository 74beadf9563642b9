//! Graph: entities and facts around one, as of a day. Twin of `baton graph`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::Html;
use baton_conversation::printable::{plain, to_sentence};
use baton_conversation::record::Timestamp;
use baton_protocol::answer::{Graph, GraphFact, GraphNode};
use baton_protocol::{GraphParams, method};
use maud::{Markup, html};
use serde::Deserialize;

use super::non_empty;
use crate::ask::Failed;
use crate::layout::{self, Clock, address, counted};
use crate::picture::network::{self, Edge, Point};
use crate::site::Site;

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// The colours of entities, by kind; all others have the last one.
const KINDS: &[(&str, u8)] =
    &[("Session", 1), ("Command", 2), ("File", 3), ("Topic", 4), ("Preference", 4), ("Error", 5)];

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Params {
    about: String,
    project: String,
    /// A day, or its number since 1970 as the slider has it.
    as_of: String,
}

pub(crate) async fn page(State(site): State<Arc<Site>>, Query(asked): Query<Params>) -> Result<Html<String>, Failed> {
    let as_of = match asked.as_of.parse::<i64>() {
        Ok(day) => Some(day_of(day)),
        Err(_) => non_empty(&asked.as_of),
    };
    let params = GraphParams {
        about: asked.about.trim().to_owned(),
        as_of: as_of.clone(),
        project: non_empty(&asked.project),
        caller: site.caller(),
        ..GraphParams::default()
    };
    let mut graph: Graph = site.ask(method::GRAPH, &params).await?;
    let ids: BTreeSet<String> = graph.facts.iter().filter_map(|fact| fact.session_id.clone()).collect();
    let titles = super::titles(&site, ids.into_iter().collect()).await;
    for node in graph.nodes.iter_mut().filter(|node| node.label == "Session") {
        // A session's name is the beginning of its id.
        let begin = node.name.strip_prefix("session_").unwrap_or(&node.name).to_owned();
        if let Some((_, title)) = titles.range(begin.clone()..).next().filter(|(id, _)| id.starts_with(&begin)) {
            node.name.clone_from(title);
        }
    }
    let body = html! {
        h1 { "Graph" }
        (form(&asked, as_of.as_deref(), &graph, site.clock()))
        section #graph data-live { (graph_markup(&asked, as_of.as_deref(), &graph, site.clock())) }
    };
    Ok(layout::page("/graph", "Graph", &body))
}

/// A day by its number since 1970, and the other way round.
fn day_of(number: i64) -> String {
    Timestamp(number.clamp(0, 100_000) * DAY_MS).to_string().chars().take(10).collect()
}

fn number_of(day: &str) -> Option<i64> {
    Timestamp::parse(&format!("{day}T00:00:00Z")).map(|at| at.0.div_euclid(DAY_MS))
}

fn form(asked: &Params, as_of: Option<&str>, graph: &Graph, clock: Clock) -> Markup {
    let today = number_of(&clock.day(clock.now)).unwrap_or_default();
    let days: Vec<i64> = graph.days.iter().filter_map(|day| number_of(day)).collect();
    let shown = as_of.and_then(number_of).unwrap_or(today);
    let first = days.iter().copied().chain([shown]).min().unwrap_or(today);
    // A fact may be dated in the future.
    let last = days.iter().copied().chain([shown, today]).max().unwrap_or(today);
    let at = |day: &i64| {
        let own = [("about", asked.about.as_str()), ("project", &asked.project)];
        let day = day_of(*day);
        let all: Vec<(&str, &str)> =
            own.into_iter().filter(|(_, value)| !value.is_empty()).chain([("as_of", day.as_str())]).collect();
        address("/graph", &all)
    };
    html! {
        form.filters {
            label for="about" { "Around" }
            input #about type="search" name="about" value=(asked.about) placeholder="a file, a command, an error, a session";
            label for="project" { "Project" }
            input #project name="project" value=(asked.project);
            button { "Show" }
        }
        form.slider {
            input type="hidden" name="about" value=(asked.about);
            input type="hidden" name="project" value=(asked.project);
            label for="as_of" { "As of " b { (day_of(shown)) } }
            input #as_of type="range" name="as_of" min=(first) max=(last) value=(shown) list="days" data-go autocomplete="off"
                aria-valuetext=(day_of(shown));
            datalist #days { @for day in &days { option value=(day) {} } }
            button { "Go" }
            @if let Some(before) = days.iter().rfind(|day| **day < shown) { a rel="prev" href=(at(before)) { "Change before" } }
            @if let Some(next) = days.iter().find(|day| **day > shown) { a rel="next" href=(at(next)) { "Next change" } }
        }
    }
}

/// The graph around an entity, as of the same day.
fn graph_address(node: &str, asked: &Params, as_of: Option<&str>) -> String {
    let all = [("about", node), ("project", asked.project.as_str()), ("as_of", as_of.unwrap_or_default())];
    let all: Vec<(&str, &str)> = all.into_iter().filter(|(_, value)| !value.is_empty()).collect();
    address("/graph", &all)
}

fn kind_series(label: &str) -> u8 {
    KINDS.iter().find(|(kind, _)| *kind == label).map_or(0, |(_, series)| *series)
}

fn graph_markup(asked: &Params, as_of: Option<&str>, graph: &Graph, clock: Clock) -> Markup {
    let names: BTreeMap<&str, &GraphNode> = graph.nodes.iter().map(|node| (node.uuid.as_str(), node)).collect();
    let points: Vec<Point> = graph
        .nodes
        .iter()
        .map(|node| Point {
            key: node.uuid.clone(),
            name: plain(&node.name),
            series: kind_series(&node.label),
            hops: node.hops,
            target: graph_address(&node.uuid, asked, as_of),
            text: format!("{} {}: {}", node.label, plain(&node.name), counted(node.facts.into(), "fact")),
        })
        .collect();
    let edges: Vec<Edge> = graph
        .facts
        .iter()
        .map(|fact| Edge { from: fact.source.clone(), to: fact.target.clone(), text: plain(&fact.fact) })
        .collect();
    html! {
        p { (to_sentence(&graph.message)) }
        @if !points.is_empty() {
            (network::draw_graph("Entities and the facts between them", &points, &edges))
            p.meta.keys {
                @for (kind, series) in [("Sessions", 1), ("Commands", 2), ("Files", 3), ("Decisions' topics and preferences", 4), ("Errors", 5), ("Others", 0)] {
                    span { svg width="12" height="12" viewBox="0 0 12 12" aria-hidden="true" { circle class=(format!("s{series}")) cx="6" cy="6" r="5" {} } " " (kind) }
                }
            }
        }
        @if graph.more_nodes > 0 || graph.more_facts > 0 {
            p.faint { @if graph.cut { "At least " } (counted(graph.more_nodes.into(), "thing")) " and "
                (counted(graph.more_facts.into(), "fact")) " are not shown." }
        } @else if graph.cut {
            p.faint { "There are further facts that were not looked at." }
        }
        @if !graph.facts.is_empty() {
            h2 { "Facts" }
            div.scroll { table {
                thead { tr { th { "From" } th { "Fact" } th { "To" } th { "Since" } th { "Until" } th { "Source" } } }
                tbody { @for fact in &graph.facts { (row(fact, &names, asked, as_of, clock)) } }
            } }
        }
    }
}

fn row(
    fact: &GraphFact,
    names: &BTreeMap<&str, &GraphNode>,
    asked: &Params,
    as_of: Option<&str>,
    clock: Clock,
) -> Markup {
    let end = |uuid: &str| {
        html! { @if let Some(node) = names.get(uuid) {
            a href=(graph_address(uuid, asked, as_of)) title=(node.label) { (plain(&node.name)) }
        } }
    };
    html! { tr {
        td { (end(&fact.source)) }
        td.words { (plain(&fact.fact)) }
        td { (end(&fact.target)) }
        td { (clock.time(fact.valid_at.as_deref())) }
        td { (clock.time(fact.invalid_at.as_deref())) }
        td {
            @if let (Some(session), Some(line)) = (&fact.session_id, fact.line) {
                a href=(address(&format!("/session/{session}"), &[("line", &line.to_string())])) { "line " (line) }
            }
            @if fact.sessions > 1 { span.faint { " of " (fact.sessions) " sessions" } }
        }
    } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_a_number_for_the_slider() {
        for day in ["1970-01-01", "2026-03-14", "2028-02-29"] {
            assert_eq!(number_of(day).map(day_of).as_deref(), Some(day));
        }
        assert_eq!(number_of("soon"), None);
    }
}
