//! Health: the state of the daemon, its log and its memory, and what needs a remedy. Twin of `baton status`.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Html;
use baton_conversation::printable::plain;
use baton_protocol::answer::{HookStats, Status};
use baton_protocol::method;
use maud::{Markup, html};

use crate::ask::Failed;
use crate::layout::{self, Clock, number, size};
use crate::site::Site;

pub(crate) async fn page(State(site): State<Arc<Site>>) -> Result<Html<String>, Failed> {
    let (status, hooks) =
        tokio::join!(site.ask::<Status>(method::STATUS, &()), site.ask::<HookStats>(method::HOOK_STATS, &()));
    Ok(layout::page("/health", "Health", &body(&status?, &hooks?, site.clock())))
}

fn body(status: &Status, hooks: &HookStats, clock: Clock) -> Markup {
    // Absent until the disk has been measured.
    let disk = status.storage.map(|storage| {
        let parts = [
            ("Log", storage.segments),
            ("Index of the log", storage.sled),
            ("Conversations", storage.chunks),
            ("Memory", storage.memory),
            ("Damaged files, kept aside", storage.aside),
        ];
        parts.map(|(name, part)| (name, part.bytes))
    });
    html! {
        h1 { "Health" }
        section #health data-live {
            @if status.problems.is_empty() { p.good { "The daemon works. " code { "baton doctor" } " also checks the agents and this machine." } }
            @for problem in &status.problems {
                p.problem { (plain(&problem.what)) }
                p { (plain(&problem.fix)) }
            }
            @if let Some(note) = &status.note { p { (plain(note)) } }
            div.tiles {
                (tile(&number(status.sessions.values().sum()), "sessions"))
                (tile(&number(status.backlog.pending), "waiting to be read"))
                (tile(&number(status.memory.lag), "events not searchable yet"))
                (tile(&number(status.log.position), "events recorded"))
                @if let Some(disk) = &disk { (tile(&size(disk.iter().map(|(_, bytes)| bytes).sum()), "on disk")) }
                (tile(&number(hooks.events.values().map(|event| event.calls).sum()), "hook calls"))
            }
            h2 { "Sessions by state" }
            (pairs(status.sessions.iter().map(|(state, count)| (state.as_str(), number(*count)))))
            @if let Some(disk) = disk {
                h2 { "Disk" }
                (pairs(disk.map(|(name, bytes)| (name, size(bytes)))))
            }
            h2 { "Hooks" }
            @if hooks.events.is_empty() { p.faint { "No hook has reported anything yet. " code { "baton install" } " connects the agents." } }
            @else { div.scroll { table {
                thead { tr { th { "Event" } th.n { "Calls" } th.n { "Failed" } th.n { "Median" } th.n { "99 %" } th { "Last" } } }
                tbody { @for (event, stats) in &hooks.events { tr {
                    td { (plain(event)) }
                    td.n { (number(stats.calls)) }
                    td.n { (number(stats.failures.values().sum())) }
                    td.n { (milliseconds(stats.p50_us)) }
                    td.n { (milliseconds(stats.p99_us)) }
                    td { (clock.time(stats.last_at.as_deref())) }
                } } }
            } } }
            h2 { "Folders with transcripts" }
            div.scroll { table {
                thead { tr { th { "Folder" } th { "Agent" } th { "Exists" } th { "Watched by" } } }
                tbody { @for root in &status.roots { tr {
                    td { code { (plain(&root.path)) } }
                    td { (layout::agent(Some(&root.agent))) }
                    td { @if root.exists { "yes" } @else { span.faint { "no" } } }
                    td { (plain(&root.watched_by)) }
                } } }
            } }
            h2 { "The daemon: the process of Baton in the background" }
            (pairs([
                ("Version", status.version.clone()),
                ("Process", status.pid.to_string()),
                ("Home", plain(&status.home)),
                ("Running since", clock.text(&status.started_at)),
            ]))
        }
    }
}

fn tile(figure: &str, what: &str) -> Markup {
    html! { div.tile { b { (figure) } span { (what) } } }
}

fn pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, String)>) -> Markup {
    html! { table.pairs { tbody { @for (name, value) in pairs { tr { th scope="row" { (name) } td { (value) } } } } } }
}

fn milliseconds(us: Option<u64>) -> String {
    us.map_or_else(|| "–".to_owned(), |us| format!("{:.1} ms", us as f64 / 1e3))
}
