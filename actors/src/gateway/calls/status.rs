//! Daemon, log, memory, roots, counts, problems.

use std::collections::BTreeMap;
use std::sync::Arc;

use baton_events::protocol::{self, answer};

use super::Ended;
use crate::gateway::{Services, answers};

pub(in crate::gateway) async fn status(services: &Arc<Services>) -> Result<answer::Status, Ended> {
    let overview = services.watcher.overview().await.unwrap_or_default();
    let table = services.table.borrow().clone();
    let mut sessions = BTreeMap::new();
    for (_, row) in table.iter() {
        *sessions.entry(row.state.phase.as_str().to_owned()).or_default() += 1;
    }
    let (memory_position, memory_problem) = services.indexer.memory();
    let documents = services.indexer.searcher().map_or(0, |searcher| {
        let (turns, sessions) = searcher.counts();
        turns + sessions
    });
    let tail = services.journal.tail().position;
    let log = services.journal.stats();
    let progress = *services.progress.borrow();
    let degraded = services.degraded.borrow().clone();
    let mut problems = answers::problems(&overview, &table, &degraded);
    problems.extend(services.configuration.mistakes().iter().map(|mistake| answer::Problem {
        what: mistake.to_string(),
        fix: "mend it; until then the last good configuration holds (`baton config` shows it)".to_owned(),
    }));
    problems.extend(services.roots.refused().into_iter().map(|refused| answer::Problem {
        what: format!("{}, named by {}, is not read: {}", refused.config_dir, refused.named_by, refused.why),
        fix: "if its transcripts are to be read, name its `projects` in session_tracking.watch_directories".to_owned(),
    }));
    let named: BTreeMap<_, _> =
        services.roots.with_origin().into_iter().map(|(root, by)| (root.projects, by)).collect();
    problems.extend(services.log_problem.iter().chain(&log.problem).map(|what| answer::Problem {
        what: what.clone(),
        fix: "see `daemon.log`; nothing that was acknowledged is lost".to_owned(),
    }));
    problems.extend(services.indexer.left_out().iter().map(|session| answer::Problem {
        what: format!("session {session} cannot be taken into the searchable memory: searches do not find it"),
        fix: "`baton show` still reads it; please report it with the lines of `daemon.log`".to_owned(),
    }));
    problems.extend(memory_problem.map(|what| answer::Problem {
        what: format!("the searchable memory does not follow the log: {what}"),
        fix: "free disk space or fix the permissions of `memory/`; it is tried again every few seconds".to_owned(),
    }));
    Ok(answer::Status {
        pid: std::process::id(),
        version: services.version.clone(),
        protocol: protocol::VERSION,
        home: services.home.display().to_string(),
        started_at: services.started_at.to_string(),
        roots: overview
            .roots
            .iter()
            .map(|(path, exists, notified)| answer::Root {
                path: path.display().to_string(),
                exists: *exists,
                watched_by: if *notified { "notify" } else { "sweep" }.to_owned(),
                named_by: named.get(path).cloned().unwrap_or_default(),
            })
            .collect(),
        transcripts: overview.transcripts,
        sessions,
        backlog: answer::Progress { done: progress.done, pending: progress.pending() },
        log: answer::Log { position: tail.0, segments: log.segments, bytes: log.bytes, unreadable: table.skipped() },
        memory: answer::Memory {
            position: memory_position.0,
            lag: tail.0.saturating_sub(memory_position.0),
            documents,
        },
        problems,
    })
}
