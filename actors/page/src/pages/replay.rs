//! Replay: the sessions as of a position of the log, and what the event there did and why. Twin of `baton replay --at`.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::Html;
use baton_conversation::printable::plain;
use baton_conversation::record::{Timestamp, with_times};
use baton_protocol::answer::{HistoryEvent, Owed, Replay, ReplayedSession};
use baton_protocol::{ReplayParams, method};
use maud::{Markup, html};
use serde::Deserialize;

use super::{Titles, non_empty};
use crate::ask::Failed;
use crate::layout::{self, Clock, address, counted, number};
use crate::site::Site;

/// Most sessions on the page.
const SESSIONS: u32 = 100;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Params {
    /// A position; text, since a form may leave it empty.
    at: String,
    session: String,
    /// Set by the button beside the session: leads to an event of it.
    to: String,
}

pub(crate) async fn page(State(site): State<Arc<Site>>, Query(asked): Query<Params>) -> Result<Html<String>, Failed> {
    let at = super::parse_number("at", &asked.at)?;
    let params = ReplayParams { at, session: non_empty(&asked.session), limit: SESSIONS };
    let mut replay: Replay = site.ask(method::REPLAY, &params).await?;
    if !asked.to.is_empty()
        && !is_of_session(&replay)
        && let Some(at) = replay.previous.or(replay.next)
    {
        replay = site.ask(method::REPLAY, &ReplayParams { at: Some(at), ..params }).await?;
    }
    let is_live = at.is_none();
    let of_event = replay.event.iter().filter_map(|event| event.stream.strip_prefix("session:"));
    let listed = replay.sessions.iter().map(|session| session.session_id.as_str());
    let titles = super::titles(&site, of_event.chain(listed).map(str::to_owned).collect()).await;
    let body = html! {
        h1 { "Replay" }
        p.faint { "Everything that Baton has recorded, event by event: move through the log, and see what each event changed and \
            which state every session was in at that point." }
        @match &replay.event {
            None => p.faint { "Nothing is recorded yet." },
            Some(event) => {
                (position_slider(&replay, &asked.session))
                section #event data-live[is_live] { (event_markup(&replay, event, &titles, site.clock())) }
                section #sessions data-live[is_live] { (sessions(&replay, event, &titles)) }
            },
        }
    };
    Ok(layout::page("/replay", &format!("Replay at {}", replay.position), &body))
}

/// True if the event is one of the session that was asked for.
fn is_of_session(replay: &Replay) -> bool {
    let stream = replay.session_id.as_ref().map(|id| format!("session:{id}"));
    stream.is_some() && stream.as_ref() == replay.event.as_ref().map(|event| &event.stream)
}

fn replay_address(at: u64, session: &str) -> String {
    let at = at.to_string();
    let with = [("at", at.as_str()), ("session", session)];
    address("/replay", if session.is_empty() { &with[..1] } else { &with })
}

/// The slider, and links to the positions beside.
fn position_slider(replay: &Replay, session: &str) -> Markup {
    let (position, last) = (replay.position, replay.last);
    let link = |name: &str, target: Option<u64>| {
        html! {
            @match target.filter(|target| *target != position) {
                Some(target) => a href=(replay_address(target, session)) { (name) },
                None => span.faint { (name) },
            }
        }
    };
    html! {
        form.filters action="/replay" {
            label for="at" { "Position" }
            input #at.wide type="range" name="at" min="1" max=(last) value=(position) data-go;
            output for="at" { (number(position)) " of " (number(last)) }
            label for="session" { "Session" }
            input #session name="session" value=(session) placeholder="id, or its beginning" autocomplete="off";
            button name="to" value="session" { "Show" }
        }
        nav.filters aria-label="Positions" {
            (link("First", Some(1)))
            (link("Back", position.checked_sub(1).filter(|at| *at > 0)))
            (link("Forward", Some(position + 1).filter(|at| *at <= last)))
            (link("Last", Some(last)))
            @if replay.session_id.is_some() {
                (link("Session's event before", replay.previous))
                (link("Session's next event", replay.next))
                (link("Change of state before", replay.previous_change))
                (link("Next change of state", replay.next_change))
            }
        }
    }
}

fn event_markup(replay: &Replay, event: &HistoryEvent, titles: &Titles, clock: Clock) -> Markup {
    let told_at = |text: &str| with_times(&plain(text), |at| clock.text(at));
    // What was due then may be long past.
    let is_past = |owed: &Owed| owed.at.as_deref().and_then(Timestamp::parse).is_some_and(|at| at < clock.now);
    html! {
        h2 { "Event " (number(event.position)) ": " (event.kind.replace('_', " ")) }
        div.meta {
            (clock.time(Some(&event.at)))
            @match event.stream.strip_prefix("session:") {
                Some(id) => a href=(format!("/session/{id}")) { (session_name(id, titles)) },
                None => code { (plain(&event.stream)) },
            }
            span { "its event " (number(event.sequence)) }
        }
        p { (told_at(&event.told)) }
        @if let Some(why) = &event.why { p { "Why: " (told_at(why)) } }
        @if let Some(why) = &event.unreadable { p.problem { "It cannot be read, and has no effect: " (plain(why)) } }
        @if let (Some(before), Some(after)) = (&event.before, &event.after) {
            p { "State: " @if before == after { (plain(after)) } @else { (plain(before)) " → " b { (plain(after)) } } }
        }
        @if !event.changed.is_empty() {
            div.scroll { table {
                thead { tr { th { "What changed" } th { "Before" } th { "After" } } }
                tbody { @for change in &event.changed { tr {
                    td { (change.field.replace('_', " ")) }
                    td { (plain(change.before.as_deref().unwrap_or("–"))) }
                    td { (plain(change.after.as_deref().unwrap_or("–"))) }
                } } }
            } }
        }
        @for owed in &event.owed {
            p { @if is_past(owed) { "Was due then: " } @else { "Next: " }
                (plain(&owed.what)) " " (clock.time(owed.at.as_deref())) ", " (told_at(&owed.why)) }
        }
        @if let Some(id) = replay.session_id.as_ref().filter(|_| !is_of_session(replay)) {
            p.faint { "The links above lead through the events of " code { (plain(id)) } "." }
        }
    }
}

/// A session by its title and its id.
fn session_name(id: &str, titles: &Titles) -> Markup {
    html! { @if let Some(title) = titles.get(id) { (plain(title)) " " } code { (plain(id)) } }
}

fn sessions(replay: &Replay, event: &HistoryEvent, titles: &Titles) -> Markup {
    let is_changed = |session: &ReplayedSession| event.stream == format!("session:{}", session.session_id);
    html! {
        h2 { "Sessions as of this position" }
        p { @for (index, (state, count)) in replay.states.iter().enumerate() {
            @if index > 0 { ", " } (number(*count)) " " (state)
        } }
        div.scroll { table {
            thead { tr { th { "Session" } th { "State" } th { "Why it ended" } th.n { "Messages" } th.n { "Not indexed" } th.n { "Events" } } }
            tbody { @for session in &replay.sessions { tr.changed[is_changed(session)] {
                td {
                    a href=(replay_address(replay.position, &session.session_id)) { (session_name(&session.session_id, titles)) }
                    @if is_changed(session) { " " span.state { "changed here" } }
                }
                td { (plain(&session.state)) }
                td { (plain(session.end.as_deref().unwrap_or(""))) }
                td.n { (number(session.message_count)) }
                td.n { (number(session.unindexed)) }
                td.n { (number(session.version)) }
            } } }
        } }
        @if replay.more > 0 { p.faint { (counted(replay.more, "more session")) ", with older records." } }
    }
}
