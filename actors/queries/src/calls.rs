//! The methods: each resolves the session or project in question, asks the actors, and answers in the wire types.

mod blame;
mod close;
mod compact;
mod config;
mod correct;
mod costs;
mod daemon_parts;
mod deleting;
mod directories;
mod edges;
mod enrich;
mod enrichment;
mod episodes;
mod explain;
mod facts;
mod fix;
mod forget;
mod graph_around;
mod graph_search;
mod handoff;
mod hook;
mod how;
mod keep;
mod log;
mod memory;
mod messages;
mod nodes;
mod outcome_query;
mod passage;
mod patterns;
mod presence;
mod project;
mod projects;
mod quotes;
mod recall;
mod reindex;
mod relay;
mod replay;
mod search;
mod sessions;
mod short_ids;
mod show;
mod status;
mod sync;
mod timeline;
mod today;
mod tool;
mod track;
mod tracking;
mod transcript_scan;
mod unindexed;
mod update;
mod vault;
mod vectors;
mod verify;

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use baton_conversation::record::{CommandId, Timestamp};
use baton_protocol::{Failure, MessagesParams, TrackingParams, TrackingStatusParams, Zone, code, method};
use serde_json::value::RawValue;

pub use daemon_parts::DaemonParts;
pub use presence::presence;
pub use replay::CachedTables;

use super::client::{ClientRef, QueryError, failure, params};
use crate::lazy;

pub(super) fn internal(what: &str, error: impl std::fmt::Display) -> Failure {
    failure(code::INTERNAL, format!("{what}: {error}"))
}

/// The day of a time in a zone: `2026-03-14`.
fn zone_day(at: Timestamp, zone: Zone) -> String {
    Timestamp(zone.wall(at.0)).to_string().chars().take(10).collect()
}

/// The request that events name as their cause.
fn cause(command_id: Option<&str>) -> Option<CommandId> {
    // No client of ours sends a longer id.
    command_id.filter(|id| id.len() <= 128).map(CommandId::new)
}

fn result(value: &impl serde::Serialize) -> Result<Box<RawValue>, QueryError> {
    serde_json::value::to_raw_value(value).map_err(|error| internal("answer not written", error).into())
}

/// Answers a call by the name of its method.
///
/// # Errors
///
/// If the method is unknown, its arguments are wrong or the work fails.
pub async fn call(
    name: &str,
    raw: Option<&RawValue>,
    parts: &DaemonParts,
    client: &ClientRef,
) -> Result<Box<RawValue>, QueryError> {
    if *parts.stop.borrow() {
        return Err(stopping().into());
    }
    // An edit of the configuration takes effect with the next call.
    parts.configuration.look_in_time().await;
    // Sessions that this call closes must see the current setting of enrichment.
    if !parts.outage.lasts() {
        parts.enricher.record_switch().await;
    }
    // A hook reports its directory itself, and must not wait for a look at the file system.
    if name != method::HOOK {
        directories::probe_named(raw).await;
    }
    let called = catch_panic(dispatch(name, raw, parts, client)).await;
    match called {
        // While the daemon stops, internal errors come from actors that have ended.
        Err(QueryError::Failure(failure)) if failure.code == code::INTERNAL && *parts.stop.borrow() => {
            Err(stopping().into())
        }
        called => called,
    }
}

/// Turns a panic into a failure of this call, so that the connection survives.
async fn catch_panic<T>(call: impl Future<Output = Result<T, QueryError>>) -> Result<T, QueryError> {
    let mut call = pin!(call);
    poll_fn(|context| {
        catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(context))).unwrap_or_else(|_| {
            let message = "this request made the daemon panic, which is a defect of Baton; other requests are not affected. \
                           `baton logs --level error` shows where";
            Poll::Ready(Err(failure(code::INTERNAL, message).into()))
        })
    })
    .await
}

fn stopping() -> Failure {
    failure(code::STOPPING, "the daemon is stopping; call again and a new one is started")
}

async fn dispatch(
    name: &str,
    raw: Option<&RawValue>,
    parts: &DaemonParts,
    client: &ClientRef,
) -> Result<Box<RawValue>, QueryError> {
    match name {
        method::SEARCH => result(&search::search(params(raw)?, parts.questions(), &parts.enricher, client).await?),
        method::SESSIONS => {
            let (searcher, now) = (parts.indexer.searcher().ok(), parts.clock.now());
            let (discovery, rows) = (parts.discovery(), parts.rows());
            result(&sessions::sessions(&params(raw)?, discovery, &rows, &parts.progress, searcher, now).await?)
        }
        method::SHORT_IDS => result(&short_ids::short_ids(params(raw)?, &parts.catalog.table.now())),
        method::SHOW => result(&show::show(&params(raw)?, parts.resolver(), parts.rows(), &parts.indexer).await?),
        method::MESSAGES => {
            let asked: MessagesParams = params(raw)?;
            if asked.fresh {
                parts.memory().searcher(client, lazy::Request { project: None, all: false, asking: None }).await?;
            }
            result(&messages::messages(&asked, parts.resolver()).await?)
        }
        method::PASSAGE => result(&passage::passage(params(raw)?, parts.resolver()).await?),
        method::EXPLAIN => result(&parts.explain().answer(&params(raw)?, parts.resolver()).await?),
        method::REPLAY => result(&parts.replay().answer(params(raw)?, parts.resolver()).await?),
        method::RELAY => parts.relay().answer(params(raw)?).await,
        method::CLOSE => result(&close::close(params(raw)?, parts.resolver(), &parts.indexer, &parts.enricher).await?),
        method::STATUS => result(&parts.status().answer().await?),
        method::UNINDEXED => result(
            &unindexed::unindexed(params(raw)?, parts.discovery(), &parts.throttle, &*parts.clock, client).await?,
        ),
        method::SYNC => result(&parts.history_sync(client).answer(params(raw)?).await?),
        method::TRACKING => result(&tracking::tracking(params(raw)?, parts.discovery(), &parts.configuration).await?),
        method::TRACKING_STATUS => {
            let asked: TrackingStatusParams = params(raw)?;
            match asked.session {
                Some(session) => result(&tracking::session(&session, parts.resolver(), parts.rows()).await?),
                None => {
                    let all = TrackingParams::default();
                    result(&tracking::tracking(all, parts.discovery(), &parts.configuration).await?)
                }
            }
        }
        method::TRACK => result(&track::track(params(raw)?, parts.resolver()).await?),
        method::UNTRACK => result(&track::untrack(params(raw)?, parts.resolver()).await?),
        method::FORGET => result(&parts.forget().answer(params(raw)?, parts.selector(client), &parts.journal).await?),
        method::REINDEX => result(&reindex::reindex(params(raw)?, parts.resolver(), parts.coverage(), client).await?),
        method::ENRICH => {
            result(&enrich::enrich(params(raw)?, parts.resolver(), parts.coverage(), &parts.enricher, client).await?)
        }
        method::CORRECT => result(&correct::correct(params(raw)?, parts.resolver(), &parts.indexer).await?),
        method::COSTS => result(&costs::costs(params(raw)?, parts.agent_usage(), &parts.enricher, client).await?),
        method::CONFIG => result(&config::config(params(raw)?, &parts.configuration).await?),
        method::NODES => result(&nodes::nodes(params(raw)?, parts.graph_search(client), parts.recalls()).await?),
        method::FACTS => result(&facts::facts(params(raw)?, parts.graph_search(client), &*parts.clock).await?),
        method::EPISODES => result(&episodes::episodes(params(raw)?, parts.memory(), parts.resolver(), client).await?),
        method::HOW => result(&how::how(params(raw)?, parts.memory(), client).await?),
        method::FIX => result(&fix::fix(params(raw)?, parts.memory(), &parts.conversations, client).await?),
        method::BLAME => result(&blame::blame(params(raw)?, parts.memory(), client).await?),
        method::PATTERNS => result(&patterns::patterns(params(raw)?, parts.memory(), client).await?),
        method::PROJECTS => {
            result(&projects::projects(params(raw)?, parts.memory(), &parts.conversations, client).await?)
        }
        method::TODAY => result(&today::today(params(raw)?, parts.agent_usage(), &parts.enricher, client).await?),
        method::PROJECT => result(&project::project(params(raw)?, parts.memory(), &parts.conversations, client).await?),
        method::GRAPH => {
            result(&graph_around::graph(params(raw)?, parts.memory(), &parts.conversations, client).await?)
        }
        method::EPISODE_ENTITIES => result(&parts.edges().episode_entities(params(raw)?).await?),
        method::EPISODE_DELETE => result(
            &deleting::episode(params(raw)?, &parts.catalog.table, &parts.supervisor, &parts.memos, &parts.wiper())
                .await?,
        ),
        method::FACT => result(&parts.edges().get(params(raw)?).await?),
        method::FACT_ADD => result(&parts.edges().add(params(raw)?, &*parts.clock).await?),
        method::FACT_DELETE => result(&parts.edges().delete(params(raw)?, &parts.wiper()).await?),
        method::MEMORY_CLEAR => result(&deleting::clear(params(raw)?, parts.memory(), &parts.memos, client).await?),
        method::MEMORY_STATUS => {
            let table = parts.catalog.table.now();
            result(&memory::status(&table, &*parts.journal, &parts.indexer, &parts.outage))
        }
        method::MEMORY_ADD => {
            result(&memory::add(params(raw)?, &parts.catalog, &parts.memos, &parts.indexer, &*parts.clock).await?)
        }
        method::RECALL => result(
            &recall::recall(
                params(raw)?,
                parts.questions(),
                &parts.conversations,
                &parts.enricher,
                parts.recalls(),
                client,
            )
            .await?,
        ),
        method::TIMELINE => {
            result(&timeline::timeline(params(raw)?, parts.memory(), &parts.conversations, client).await?)
        }
        method::LOG_STATS => {
            result(&log::stats(&parts.info, &parts.journal, &parts.catalog.table, &parts.disk_usage).await?)
        }
        method::LOG_READ => result(&log::read(params(raw)?, parts.resolver(), &parts.journal, client).await?),
        method::LOG_VERIFY => {
            let (open, verifying) = (parts.open_home(), &parts.verifying);
            result(&verify::verify(params(raw)?, open, &parts.team, verifying, client).await?)
        }
        method::KEEP => result(&keep::keep(params(raw)?, parts.keeping(), client).await?),
        method::UPDATE => result(&update::update(params(raw)?, &parts.catalog.settings).await?),
        method::LOG_COMPACT => result(&compact::compact(parts.compaction(), client).await?),
        method::HOOK => result(&hook::hook(params(raw)?, &parts.hooks, &parts.handoffs).await?),
        method::HOOK_TOOK => result(&hook::record_duration(&params(raw)?, &parts.hooks)),
        method::HOOK_STATS => result(&hook::stats(&parts.hooks).await?),
        method::HANDOFF => result(&handoff::handoff(params(raw)?, &parts.handoffs, parts.memory(), client).await?),
        method::VAULT_STATUS => result(&vault::status(&parts.note_writer).await),
        method::VAULT_SYNC => result(&vault::sync(params(raw)?, &parts.catalog, &parts.note_writer, client).await?),
        method::VAULT_COMPACT => {
            result(&vault::compact(params(raw)?, parts.resolver(), &parts.note_writer, client).await?)
        }
        method::VAULT_VERIFY => result(&vault::verify(&parts.note_writer, client).await?),
        method::VAULT_READ => result(&vault::read(params(raw)?, &parts.note_writer).await?),
        method::PAGE => result(&parts.page_requests.open(params(raw)?).await?),
        method::TOOL => result(&tool::call(params(raw)?, parts, client).await?),
        method::STOP => {
            tracing::info!("stop requested");
            parts.stop.send_replace(true);
            result(&BTreeMap::from([("stopping", true)]))
        }
        other => {
            let mut known = method::ALL.to_vec();
            known.sort_unstable();
            let known = known.join(", ");
            Err(failure(code::METHOD_NOT_FOUND, format!("unknown method {other:?}; there are {known}")).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_fails_one_call() {
        let breaks = async |at: Option<usize>| {
            tokio::task::yield_now().await;
            at.map(|at| [0_u8; 1][at]).ok_or(QueryError::ClientGone)
        };
        let Err(QueryError::Failure(failure)) = catch_panic(breaks(Some(1))).await else {
            panic!("an index beyond the end")
        };
        assert!(failure.code == code::INTERNAL && failure.message.contains("defect"), "{failure:?}");
        assert!(matches!(catch_panic(breaks(Some(0))).await, Ok(0)));
        assert!(matches!(catch_panic(breaks(None)).await, Err(QueryError::ClientGone)));
    }
}
