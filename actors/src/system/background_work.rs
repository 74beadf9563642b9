//! Starts the work that lives as long as the daemon beside the actors.

use std::collections::BTreeSet;
use std::sync::Arc;

use baton_base::supervised_task::TaskSupervisor;
use baton_queries::DaemonParts;
use baton_queries::session_states_file::Exporter;
use baton_tracking::embedding;
use baton_tracking::enricher::Enriching;
use baton_tracking::hooks;
use baton_upkeep::compaction::Upkeep;
use baton_upkeep::cut_tombstones;

/// The work that is ended by its handle when the daemon stops; the rest ends with the stop signal.
pub(super) struct BackgroundWork {
    pub(super) exporter: Exporter,
    pub(super) enriching: Enriching,
    pub(super) upkeep: Upkeep,
}

/// Starts all of it. `strays` are stored memos that no event names.
pub(super) fn start(parts: &Arc<DaemonParts>, tasks: &TaskSupervisor, strays: BTreeSet<String>) -> BackgroundWork {
    let stop = || parts.stop.clone();
    let (vitals, stopping) = (parts.vitals.clone(), stop());
    tasks.spawn("vitals", move || vitals.clone().watch(stopping.subscribe()));
    let (hooks, stopping) = (Arc::downgrade(&parts.hooks), stop());
    tasks.spawn("spool", move || hooks::watch(hooks.clone(), stopping.subscribe()));
    let memos = parts.memos.clone();
    tasks.spawn("memos", move || {
        let (memos, strays) = (memos.clone(), strays.clone());
        async move { memos.tidy(strays).await }
    });
    let (log, table) = (parts.info.home.join("log"), parts.catalog.table.clone());
    let (supervisor, indexer) = (parts.supervisor.clone(), parts.indexer.clone());
    tasks.spawn("tombstones", move || {
        cut_tombstones::forget_again(log.clone(), table.clone(), supervisor.clone(), indexer.clone())
    });
    let embedding = embedding::Options {
        settings: parts.catalog.settings.clone(),
        table: parts.catalog.table.clone(),
        indexer: parts.indexer.clone(),
        throttle: parts.throttle.clone(),
        stop: parts.stop.subscribe(),
    };
    parts.embedder.start(embedding, tasks);
    let enriching = parts.enricher.start(tasks);
    parts.note_writer.start();
    let (redacting, stored, stopping) = (parts.redacting.clone(), Arc::new(parts.stored_text()), stop());
    tasks.spawn("redaction", move || redacting.clone().run(stored.clone(), stopping.subscribe()));
    let (rereading, stopping) = (parts.rereading(), stop());
    tasks.spawn("rereading", move || rereading.clone().run(stopping.subscribe()));
    let (newer_version, stopping) = (parts.newer_version.clone(), stop());
    tasks.spawn("newer_version", move || newer_version.clone().run(stopping.subscribe()));
    let (team, stopping) = (parts.team.clone(), stop());
    tasks.spawn("relay", move || team.clone().run(stopping.subscribe()));
    let page = parts.clone();
    tasks.spawn("page", move || baton_page::serve(page.clone()));
    let exporter = Exporter::start(parts.states_file.clone(), tasks);
    let (handoffs, throttle) = (parts.handoffs.clone(), parts.throttle.clone());
    let (progress, stopping) = (parts.progress.clone(), stop());
    tasks.spawn("handoffs", move || handoffs.clone().prepare(throttle.clone(), progress.clone(), stopping.subscribe()));
    let (throttle, progress) = (parts.throttle.clone(), parts.progress.clone());
    let upkeep = Upkeep::start(parts.compaction(), throttle, progress, parts.stop.subscribe(), tasks);
    BackgroundWork { exporter, enriching, upkeep }
}
