//! `status`: daemon, log, memory, roots, counts, problems.
//!
//! # Decisions
//!
//! - `sessions` counts sessions without subagents, which are counted in `subagents`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use baton_conversation::transcript::named_lines;
use baton_events::projection::table::SessionTable;
use baton_events::session::Phase;
use baton_protocol as protocol;
use baton_protocol::{SPOOL_FILES_MAX, answer};
use baton_redaction::redact;

use super::{QueryError, enrichment, reindex, vectors};
use crate::answers;
use crate::daemon_info::DaemonInfo;
use crate::discovery::Discovery;
use crate::formats;
use crate::session_states_file::SessionStatesFile;
use baton_base::clock::Clock;
use baton_base::io_remedy::IoCause;
use baton_base::journal_health::JournalHealth;
use baton_base::latest::Latest;
use baton_base::limits;
use baton_config::configuration::Configuration;
use baton_config::settings::Settings;
use baton_journal::Journal;
use baton_store::fingerprints::ForgottenSessions;
use baton_tracking::embedding::Embedder;
use baton_tracking::enricher::Enricher;
use baton_tracking::hooks::Hooks;
use baton_tracking::indexer;
use baton_tracking::supervisor::{Degraded, Progress};
use baton_tracking::transcript_roots::Roots;
use baton_tracking::watcher::Overview;
use baton_upkeep::disk_usage::DiskUsage;
use baton_upkeep::newer_version::DailyCheck;
use baton_upkeep::redacting::Redacting;
use baton_vault::NoteWriter;
use baton_vault::{pluralize, sessions_waiting};
use baton_views::catalog::Catalog;
use tokio::sync::watch;

/// Longest wait for the watcher, which may be in its first full scan.
const LOOK: Duration = Duration::from_millis(300);
/// Most problems that are listed one by one.
const PROBLEMS: usize = 50;

/// Number of deleted or cleared entries that can be restored.
fn hidden(table: &SessionTable) -> u64 {
    let sessions = table.iter().filter(|(_, row)| row.state.phase != Phase::Forgotten && table.is_deleted(row)).count();
    let memos = table.memos().filter(|(uuid, row)| row.state.memo.is_some() && table.memo(*uuid).is_none()).count();
    (sessions + memos + table.deleted_facts().count()) as u64
}

/// The parts that a status describes.
pub(crate) struct StatusReport<'a> {
    pub(crate) daemon: &'a DaemonInfo,
    pub(crate) discovery: Discovery<'a>,
    pub(crate) journal: &'a dyn Journal,
    pub(crate) outage: &'a JournalHealth,
    pub(crate) indexer: &'a indexer::Handle,
    pub(crate) progress: &'a watch::Receiver<Progress>,
    pub(crate) degraded: &'a Latest<Vec<Degraded>>,
    pub(crate) configuration: &'a Configuration,
    pub(crate) roots: &'a Arc<Roots>,
    pub(crate) embedder: &'a Embedder,
    pub(crate) enricher: &'a Enricher,
    pub(crate) forgotten_sessions: &'a ForgottenSessions,
    pub(crate) states_file: &'a SessionStatesFile,
    pub(crate) hooks: &'a Hooks,
    pub(crate) note_writer: &'a NoteWriter,
    pub(crate) redacting: &'a Redacting,
    pub(crate) newer_version: &'a DailyCheck,
    pub(crate) disk_usage: &'a Arc<DiskUsage>,
    pub(crate) clock: &'a dyn Clock,
}

impl StatusReport<'_> {
    pub(crate) async fn answer(self) -> Result<answer::Status, QueryError> {
        let Discovery { catalog: Catalog { table, settings, .. }, supervisor, watcher } = self.discovery;
        let overview = tokio::time::timeout(LOOK, watcher.overview()).await.ok().and_then(Result::ok);
        let looking = overview.as_ref().is_none_or(|overview| !overview.looked);
        // After this, what the watcher has found is in the backlog.
        let _ = supervisor.settle().await;
        let overview = overview.unwrap_or_default();
        let table = table.now();
        let (mut sessions, mut subagents) = (BTreeMap::new(), BTreeMap::new());
        for (_, row) in table.iter().filter(|(_, row)| !row.state.is_unseen()) {
            let counts = if row.state.is_subagent() { &mut subagents } else { &mut sessions };
            *counts.entry(row.state.phase.as_str().to_owned()).or_default() += 1;
        }
        let (memory_position, memory_problem) = self.indexer.memory_state();
        let documents = self.indexer.searcher().map_or(0, |searcher| {
            let (turns, sessions) = searcher.counts();
            turns + sessions
        });
        let tail = self.journal.tail().position;
        let log = self.journal.stats();
        let progress = *self.progress.borrow();
        let degraded = self.degraded.now();
        let mut problems = answers::problems(&overview, &table, &degraded);
        problems.extend(self.outage.lasting().map(|refusal| answer::Problem {
            what: format!("nothing new is recorded since {}: {}", refusal.since, refusal.reason),
            fix: format!(
                "{}; it is tried every few seconds, and nothing that was acknowledged is lost",
                IoCause::in_message(&refusal.reason).remedy()
            ),
        }));
        problems.extend(self.configuration.mistakes().iter().map(|mistake| answer::Problem {
            what: mistake.to_string(),
            // Without a good copy the fix differs.
            fix: self.configuration.fix().to_owned(),
        }));
        let vectors = vectors::vectors(&settings.now(), self.configuration, self.embedder);
        problems.extend(vectors.problem.clone().map(|what| answer::Problem {
            what: format!("searches go by words alone: {what}"),
            fix: vectors.next_step.clone().unwrap_or_default(),
        }));
        let (enrichment, of_models) = enrichment::enrichment(self.discovery.catalog, self.enricher).await;
        problems.extend(of_models);
        problems.extend(self.roots.refused().into_iter().map(|refused| answer::Problem {
            what: format!("{}, named by {}, is not read: {}", refused.config_dir, refused.named_by, refused.why),
            fix: match refused.named_by.as_str() {
                // A file in a project: no list of directories changes that.
                "project" | "config.json" => "nothing need be done if its sessions are not to be read",
                _ => "if its transcripts are to be read, name its `projects` or `sessions`, and all other directories that are to be read, in session_tracking.watch_directories",
            }
            .to_owned(),
        }));
        let named: BTreeMap<_, _> =
            self.roots.with_origin().into_iter().map(|(root, by)| (root.projects, (root.agent, by))).collect();
        problems.extend(self.daemon.log_problem.iter().chain(&log.problem).map(|what| answer::Problem {
            what: what.clone(),
            fix: match IoCause::in_message(what) {
                IoCause::Other => "see `daemon.log`; `baton log verify` tells whether everything is whole".to_owned(),
                known => format!("nothing that was acknowledged is lost; {}", known.remedy()),
            },
        }));
        problems.extend(self.indexer.left_out().iter().map(|session| answer::Problem {
            what: format!("session {session} cannot be taken into the searchable memory: searches do not find it"),
            fix: "`baton show` still reads it; please report it with the lines of `daemon.log`".to_owned(),
        }));
        problems.extend(self.indexer.unreadable().into_iter().map(|(session, why)| {
            answer::Problem {
                what: format!(
                    "the stored conversation of session {session} cannot be read, so searches do not find it: {why}"
                ),
                fix: "put that file back from a backup, or the transcript as it was; `baton show` then restores it"
                    .to_owned(),
            }
        }));
        problems.extend(self.indexer.unread().into_iter().map(|(session, lines)| {
            answer::Problem {
                what: format!("session {session}: {} could not be read and left out", named_lines(&lines)),
                fix: "update Baton, then `baton reindex` reads them again; please report it with the lines of `daemon.log`"
                    .to_owned(),
            }
        }));
        problems.extend(self.indexer.partly_indexed().into_iter().map(|(session, parts)| answer::Problem {
            what: format!("session {session}: {} could not be made; what was said in it is found", parts.join(" and ")),
            fix: "please report it with the lines of `daemon.log`".to_owned(),
        }));
        problems.extend(self.forgotten_sessions.problem().map(|why| answer::Problem {
            what: format!("log/forgotten-records.json cannot be read, so new copies of forgotten sessions are not known as such: {why}"),
            fix: "put it back from a backup, or remove it, and run `baton stop`; the next command restarts it".to_owned(),
        }));
        problems
            .extend(memory_problem.map(|why| lasting(format!("the searchable memory does not follow the log: {why}"))));
        problems.extend(self.indexer.storage_problem().map(lasting));
        problems.extend(self.states_file.condition.describe().map(lasting));
        let (catalog, known) = (self.discovery.catalog.clone(), self.roots.clone());
        let older = baton_base::task::spawn_blocking(move || reindex::count_older_filter(&catalog, &known));
        let older = tokio::time::timeout(LOOK, older).await.ok().and_then(Result::ok).unwrap_or(0);
        let hooks = self.hooks.stats().await;
        problems.extend(of_hooks(&settings.now(), self.daemon, &hooks));
        let vault = self.note_writer.status().await;
        problems.extend(vault.problem.clone().map(|problem| answer::Problem {
            what: format!(
                "notes are not written: {}; {} in vault-pending",
                problem.what,
                sessions_waiting(vault.pending)
            ),
            fix: format!("{}; it is tried again by itself", problem.fix),
        }));
        problems.extend((vault.compaction_failed > 0).then(|| answer::Problem {
            what: format!("{} could not be compacted", pluralize(vault.compaction_failed, "note")),
            fix: "`baton vault status` says why; it is tried again every day".to_owned(),
        }));
        let left_alone = vault.left_alone.len() as u64;
        problems.extend((left_alone > 0).then(|| answer::Problem {
            what: format!(
                "{} left alone",
                if left_alone == 1 { "1 note is".to_owned() } else { format!("{left_alone} notes are") }
            ),
            fix: "`baton vault status` names them and says why".to_owned(),
        }));
        problems.extend((vault.to_remove > 0).then(|| answer::Problem {
            what: format!("notes of {} could not be reached", pluralize(vault.to_remove, "forgotten session")),
            fix: "mount or put back the vault that they lie in; they are removed then".to_owned(),
        }));
        let untyped = self.indexer.untyped().borrow().len() as u64;
        let redacting = self.redacting.progress();
        problems.extend(redacting.iter().filter_map(|redacting| redacting.problem.clone()).map(|what| {
            answer::Problem {
                what: format!("text that an earlier version stored is not redacted everywhere yet: {what}"),
                fix: "it is tried again by itself; `daemon.log` tells more".to_owned(),
            }
        }));
        problems.extend(self.redacting.failures(&table).map(|what| answer::Problem {
            what: format!("text that an earlier version stored cannot be redacted by today's rules: {what}"),
            fix: "`baton forget` removes such a session; it is looked at again when the daemon starts".to_owned(),
        }));
        problems.extend(self.newer_version.newer_version().map(|update| answer::Problem {
            what: format!("version {} is available, this is {}", update.newest, update.version),
            fix: format!(
                "update with what installed it{}",
                update.notes.map_or(String::new(), |notes| format!("; see {notes}"))
            ),
        }));
        let problems = bounded(problems);
        let storage = self.disk_usage.measure_cached(limits::WEIGHING).await;
        let listed = roots(self.roots, &overview).await;
        let pending = progress.pending();
        let elapsed_ms = progress.since.map(|since| self.clock.now().since_ms(since)).filter(|_| pending > 0);
        Ok(answer::Status {
            pid: std::process::id(),
            version: self.daemon.version.clone(),
            protocol: protocol::VERSION,
            home: self.daemon.home.display().to_string(),
            started_at: self.daemon.started_at.to_string(),
            roots: listed
                .iter()
                .map(|(path, exists, notified)| answer::Root {
                    path: redact(&path.display().to_string()).into_owned(),
                    exists: *exists,
                    watched_by: if *notified { "notify" } else { "sweep" }.to_owned(),
                    agent: named.get(path).map_or_else(String::new, |(agent, _)| agent.as_str().to_owned()),
                    named_by: named.get(path).map(|(_, by)| by.clone()).unwrap_or_default(),
                })
                .collect(),
            looking,
            transcripts: overview.transcripts,
            sessions,
            subagents,
            backlog: answer::Progress {
                done: progress.done,
                pending,
                bytes_done: progress.bytes_done,
                bytes_pending: progress.bytes_total.saturating_sub(progress.bytes_done),
                since: progress.since.filter(|_| pending > 0).map(|since| since.to_string()),
                sessions_per_second: elapsed_ms
                    .filter(|ms| *ms > 0)
                    .map(|ms| rounded(progress.done as f64 * 1e3 / ms as f64)),
            },
            log: answer::Log {
                position: tail.0,
                segments: log.segments,
                bytes: log.bytes,
                unreadable: table.skipped(),
            },
            memory: answer::Memory {
                position: memory_position.0,
                lag: tail.0.saturating_sub(memory_position.0),
                documents,
            },
            vectors,
            enrichment,
            vault: Some(vault).filter(|vault| vault.enabled || vault.notes > 0),
            storage,
            hooks: answer::HookSummary {
                enabled: settings.now().hooks.enabled,
                calls: hooks.events.values().map(|event| event.calls).sum(),
                present: self.hooks.connected_servers(),
                last_at: hooks
                    .events
                    .values()
                    .filter_map(|event| event.last_at.clone())
                    .max()
                    .or(hooks.last_recorded_at),
                ignored: hooks.ignored,
                spooled: hooks.spooled,
                dropped: hooks.dropped,
            },
            problems,
            note: settings.now().tracking_off_note(),
            older_filter: (older > 0).then_some(older),
            untyped: Some(untyped).filter(|untyped| *untyped > 0),
            redacting,
            hidden: Some(hidden(&table)).filter(|hidden| *hidden > 0),
            formats: formats::formats(&table, self.clock.now()),
        })
    }
}

/// Problems with how hooks reach the daemon.
fn of_hooks(settings: &Settings, daemon: &DaemonInfo, hooks: &answer::HookStats) -> Vec<answer::Problem> {
    let mut problems = Vec::new();
    let configured = settings.hooks.socket_path.clone();
    if configured != daemon.socket_path {
        let shown = |path: Option<PathBuf>| path.map_or("its home".to_owned(), |path| path.display().to_string());
        problems.push(answer::Problem {
            what: format!(
                "the daemon listens in {}, and hooks.socket_path says {}",
                shown(daemon.socket_path.clone()),
                shown(configured)
            ),
            fix: "run `baton stop`; the next command starts a daemon that listens there".to_owned(),
        });
    }
    if hooks.spooled as usize >= SPOOL_FILES_MAX / 2 {
        problems.push(answer::Problem {
            what: format!("{} signals of hooks wait in the spool", hooks.spooled),
            fix: "they are taken in as soon as the log takes writes; `daemon.log` tells why it does not".to_owned(),
        });
    }
    problems
}

/// The transcript folders: path, whether it exists, whether changes are announced.
async fn roots(roots: &Roots, overview: &Overview) -> Vec<(PathBuf, bool, bool)> {
    match overview.roots.is_empty() {
        // The watcher could not answer in time.
        true => {
            let there = roots.now().into_iter().map(|root| {
                let path = root.projects.clone();
                let looking = baton_base::task::spawn_blocking(move || path.is_dir());
                (root.projects, tokio::time::timeout(LOOK, looking))
            });
            let mut roots = Vec::new();
            for (path, looked) in there {
                // A folder whose file system does not answer counts as missing.
                let is_there = looked.await.is_ok_and(|is_there| is_there.unwrap_or(false));
                roots.push((path, is_there, false));
            }
            roots
        }
        false => overview
            .roots
            .iter()
            .map(|root| (root.path.clone(), root.exists, root.exists && root.swept.is_none()))
            .collect(),
    }
}

/// A problem caused by the system, with its remedy.
fn lasting(what: String) -> answer::Problem {
    let fix = format!("{}; it is tried again every few seconds", IoCause::in_message(&what).remedy());
    answer::Problem { what, fix }
}

/// Lists the first problems, with the number of the others. Redacted, because names may look like secrets.
fn bounded(mut problems: Vec<answer::Problem>) -> Vec<answer::Problem> {
    if problems.len() > PROBLEMS {
        let more = problems.len() - PROBLEMS;
        problems.truncate(PROBLEMS);
        problems.push(answer::Problem {
            what: format!("and {more} more"),
            fix: "mend these first; `daemon.log` and `baton sessions --state failed` name the others".to_owned(),
        });
    }
    for problem in &mut problems {
        problem.what = redact(&problem.what).into_owned();
        problem.fix = redact(&problem.fix).into_owned();
    }
    problems
}

fn rounded(rate: f64) -> f64 {
    (rate * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_problems_are_told_as_a_few_and_a_number() {
        let problems = |count: usize| {
            let problem = |number| answer::Problem { what: format!("problem {number}"), fix: String::new() };
            bounded((0..count).map(problem).collect())
        };
        assert_eq!(problems(PROBLEMS).len(), PROBLEMS);
        let bounded_problems = problems(PROBLEMS + 7);
        assert_eq!((bounded_problems.len(), bounded_problems[PROBLEMS].what.as_str()), (PROBLEMS + 1, "and 7 more"));
        assert_eq!(bounded_problems[0].what, "problem 0");
    }

    #[test]
    fn no_problem_tells_a_secret() {
        let secret = "sk-ant-api03-a1B2c3D4e5F6a1B2c3D4e5F6";
        let problem = answer::Problem { what: format!("/srv/{secret} is not read"), fix: format!("name {secret}") };
        let bounded_problems = bounded(vec![problem]);
        assert!(
            !bounded_problems[0].what.contains(secret) && !bounded_problems[0].fix.contains(secret),
            "{bounded_problems:?}"
        );
    }
}
