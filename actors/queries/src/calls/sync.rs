//! `sync`: indexes a range of history, or previews it.
//!
//! The range consists of main sessions, newest first. Their subagents' sessions are included, and subagents without a
//! known parent if the range is not limited by number. Finished work stays if the client disconnects.
//!
//! # Decisions
//!
//! - A range counts main sessions; subagents are processed with their parents and counted separately. Tokens and price
//!   include them.

use baton_views::visibility;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use baton_conversation::record::{Position, SessionId, Timestamp};
use baton_conversation::tokens;
use baton_enrichment::{Limits, budget, plan_of};
use baton_episode::digest::{Abridged, Show};
use baton_events::prices::Price;
use baton_events::session::{CloseReason, Kind, Phase, State};
use baton_protocol::{SyncParams, answer, code};
use baton_redaction::redact;
use tokio::task::JoinSet;

use super::QueryError;
use super::transcript_scan::{self, ScanProgress, with_progress};
use crate::client::{ClientRef, failure};
use crate::discovery::Discovery;
use crate::lazy::Coverage;
use crate::lazy::stale;
use crate::lazy::stale::StaleSession;
use crate::transcript_peek;
use crate::transcript_peek::EpisodeItems;
use crate::{SESSIONS_NAMED, resolve};
use baton_base::actor_address::CallError;
use baton_base::limits;
use baton_base::throttle::Throttle;
use baton_base::transcript_file::FileSeen;
use baton_config::settings::{Llm, Settings};
use baton_events::projection::table::SessionTable;
use baton_store::chunks::ChunkStore;
use baton_tracking::session::{CloseCall, Closed, Outcome};
use baton_tracking::supervisor;

/// The model assumed if none is configured, and its limits.
const DEFAULT_MODEL: &str = "gpt-4.1-mini";
const DEFAULT_LIMITS: Limits = Limits { context_tokens: 128_000, max_output_tokens: 2_000 };

const DAY_MS: i64 = 24 * 3_600_000;

/// Indexes what is not indexed yet, or estimates the cost.
pub(crate) struct HistorySync<'a> {
    pub(crate) discovery: Discovery<'a>,
    pub(crate) coverage: Coverage<'a>,
    pub(crate) chunks: &'a Arc<ChunkStore>,
    pub(crate) throttle: &'a Throttle,
    pub(crate) client: &'a ClientRef,
}

impl HistorySync<'_> {
    pub(crate) async fn answer(&self, asked: SyncParams) -> Result<answer::Sync, QueryError> {
        let range = self.range(&asked).await?;
        match asked.dry_run {
            true => self.preview(range).await,
            false => self.carry_out(range).await,
        }
    }

    async fn range(&self, asked: &SyncParams) -> Result<Range, QueryError> {
        let grown = self.discovery.watcher.refresh().await;
        let grown =
            grown.map_err(|error| failure(code::INTERNAL, format!("transcripts could not be checked: {error}")))?;
        let ((table, settings), now) = (self.discovery.catalog.now(), self.coverage.clock.now());
        let known = asked.project.as_deref().map(|name| resolve::project(&table, &settings, name));
        let project = match (&known, &asked.project) {
            (Some(Err(_)), Some(name)) => Some(baton_views::clones::project_of(&table, name)),
            _ => known.as_ref().and_then(|known| known.as_ref().ok().cloned()),
        };

        let mut candidates = Vec::new();
        let mut wanted = stale::find_all(&table, &settings, now, grown);
        // A full sync includes what has failed.
        let has_failed = |state: &State| state.phase == Phase::Failed && settings.may_read(state);
        let listed: BTreeSet<SessionId> = wanted.iter().map(|wanted| wanted.id.clone()).collect();
        for (id, row) in table.iter().filter(|(id, row)| has_failed(&row.state) && !listed.contains(*id)) {
            wanted.push(StaleSession {
                id: id.clone(),
                file: None,
                is_new: false,
                is_large: false,
                bytes: 0,
                at: row.state.last_activity(),
            });
        }
        let in_project = |state: &State| project.as_deref().is_none_or(|project| visibility::is_in(state, project));
        let mut wanted: std::collections::BTreeMap<SessionId, StaleSession> =
            wanted.into_iter().map(|wanted| (wanted.id.clone(), wanted)).collect();
        for (id, row) in table.iter() {
            let state = &row.state;
            if !settings.may_read(state) || state.transcript.is_none() {
                wanted.remove(id);
                continue;
            }
            // A session without a known directory is judged by the head of its file.
            if state.place.is_none() && wanted.get(id).is_some_and(|wanted| wanted.file.is_some()) {
                continue;
            }
            let wanted = wanted.remove(id);
            if !in_project(state) {
                continue;
            }
            let at = wanted.as_ref().map_or(state.last_activity(), |wanted| wanted.at.max(state.last_activity()));
            let file = wanted.as_ref().and_then(|wanted| wanted.file.clone());
            let (subagent, parent) = (state.is_subagent(), state.parent().cloned());
            candidates.push(Candidate { id: id.clone(), at, subagent, parent, wanted, file });
        }
        // The rest are files of unknown sessions.
        let new: Vec<StaleSession> = wanted.into_values().collect();
        let total = (candidates.len() + new.len()) as u64;
        let rows = table.clone();
        let looked = transcript_scan::scan(self.throttle, self.client, total, move |scan_progress| {
            for candidate in &mut candidates {
                if !scan_progress.next() {
                    return Vec::new();
                }
                let state = rows.get(&candidate.id).map(|row| &row.state);
                candidate.file = candidate.file.take().or_else(|| transcript_peek::file_of(&candidate.id, state?));
            }
            candidates.extend(judge(new, project.as_deref(), &settings, scan_progress));
            candidates
        });
        let candidates = looked.await?;
        if let (true, Some(Err(unknown))) = (candidates.is_empty(), known) {
            return Err(unknown.into());
        }
        Ok(choose(candidates, asked, now))
    }

    /// Reads everything that would be indexed, and stores nothing.
    async fn preview(&self, range: Range) -> Result<answer::Sync, QueryError> {
        let (table, settings) = self.discovery.catalog.now();
        // Without a model, indexed sessions need not be read again.
        let indexed = if settings.llm.is_some() { range.indexed } else { Vec::new() };
        let total = (range.work.len() + indexed.len()) as u64;
        let chunks = self.chunks.clone();
        let looked = transcript_scan::scan(self.throttle, self.client, total, move |scan_progress| {
            let mut sum = answer::Sync {
                sessions: range.sessions,
                note: settings.tracking_off_note(),
                ..answer::Sync::default()
            };
            let mut enriching = Pricing::new(&settings);
            for work in range.work.into_iter().take_while(|_| scan_progress.next()) {
                let row = table.get(&work.wanted.id);
                let kept = preview_session(&work, row.map(|row| &row.state), &mut sum);
                if let Some(kept) = kept.filter(|_| !work.subagent) {
                    enriching.add(kept);
                }
            }
            for id in indexed.into_iter().take_while(|_| scan_progress.next()) {
                let Some(row) = table.get(&id).filter(|row| row.state.enriched_by().is_none()) else { continue };
                let Some(episode) = table.visible_episode(row) else { continue };
                let mut kept = Abridged::default();
                // What cannot be read is not sent to a model either.
                if baton_store::conversation::for_each_item(&chunks, &id, episode, |item| kept.push(item)).is_ok() {
                    enriching.add(kept);
                }
            }
            enriching.fill_in(&mut sum);
            sum
        });
        looked.await
    }

    /// Closes everything that is not indexed, several at a time, and waits until searches find it.
    async fn carry_out(&self, range: Range) -> Result<answer::Sync, QueryError> {
        let total = range.work.len() as u64;
        let done = std::sync::atomic::AtomicU64::new(0);
        let mut sum = answer::Sync {
            sessions: range.sessions,
            note: self.discovery.catalog.settings.now().tracking_off_note(),
            ..answer::Sync::default()
        };
        let mut position = Position(0);
        let working = async {
            let mut waiting = range.work.into_iter();
            // Dropped with the call: sessions finish what has begun, and nothing more begins.
            let mut at_work = JoinSet::new();
            loop {
                while at_work.len() < limits::LAZY_AT_ONCE
                    && let Some(work) = waiting.next()
                {
                    let (supervisor, table) = (self.discovery.supervisor.clone(), self.discovery.catalog.table.clone());
                    let chunks = self.chunks.clone();
                    at_work.spawn(async move {
                        let closed = close(&supervisor, &work).await;
                        let tokens = match &closed {
                            Ok(closed) if is_new(closed) => measure(&table.now(), chunks, &work.wanted.id).await,
                            _ => Tokens::default(),
                        };
                        (work, closed, tokens)
                    });
                }
                let Some(next) = at_work.join_next().await else { break };
                done.fetch_add(1, Ordering::Relaxed);
                let Ok((work, closed, tokens)) = next else {
                    sum.failures += 1;
                    continue;
                };
                match closed {
                    Ok(closed) if is_new(&closed) => {
                        position = position.max(closed.position);
                        match work.subagent {
                            true => sum.subagents += 1,
                            false => (sum.would_index, sum.indexed) = (sum.would_index + 1, sum.indexed + 1),
                        }
                        add(&mut sum, tokens);
                    }
                    // There was nothing to index, or it may not be indexed.
                    Ok(Closed { outcome: Outcome::Unchanged | Outcome::Empty | Outcome::Refused(_), .. }) => {}
                    _ => {
                        sum.would_index += u64::from(!work.subagent);
                        failed(&mut sum, &work.wanted.id);
                    }
                }
            }
            (sum, position)
        };
        let (sum, position) =
            with_progress(self.client, "indexing sessions", || (done.load(Ordering::Relaxed), total), working).await?;
        self.coverage.catch_up(self.client, position, true).await?;
        Ok(sum)
    }
}

/// The selected sessions.
struct Range {
    /// Number of main sessions.
    sessions: u64,
    /// Main sessions and subagents that are not indexed, newest first.
    work: Vec<Work>,
    /// Main sessions that are indexed.
    indexed: Vec<SessionId>,
}

/// A session to index.
struct Work {
    wanted: StaleSession,
    /// The file to read for a preview.
    file: Option<FileSeen>,
    subagent: bool,
}

/// A session that may be in the range.
struct Candidate {
    id: SessionId,
    at: Timestamp,
    subagent: bool,
    parent: Option<SessionId>,
    wanted: Option<StaleSession>,
    file: Option<FileSeen>,
}

/// Files of unknown sessions, judged by their heads: those of the project that may be read. Blocks for disk reads.
fn judge(
    new: Vec<StaleSession>,
    project: Option<&str>,
    settings: &Settings,
    scan_progress: &ScanProgress,
) -> Vec<Candidate> {
    let judge = |wanted: StaleSession| {
        let file = wanted.file.clone().filter(|file| stale::may_read_all(settings, None, file))?;
        let glance = transcript_peek::summarise_head(&file).unwrap_or_default();
        let state = transcript_peek::as_state(&glance);
        let is_in = project.is_none_or(|project| visibility::is_in(&state, project));
        let (subagent, parent) = match &file.kind {
            Kind::Main => (false, None),
            Kind::Subagent { parent } => (true, parent.clone().or(glance.parent)),
        };
        (is_in && settings.may_read(&state)).then_some(Candidate {
            id: wanted.id.clone(),
            at: wanted.at,
            subagent,
            parent,
            wanted: Some(wanted),
            file: Some(file),
        })
    };
    new.into_iter().take_while(|_| scan_progress.next()).filter_map(judge).collect()
}

fn choose(mut candidates: Vec<Candidate>, asked: &SyncParams, now: Timestamp) -> Range {
    let since = asked.days.filter(|days| *days > 0).map(|days| now.plus_ms(-i64::from(days).saturating_mul(DAY_MS)));
    let most = asked.max_sessions.filter(|most| *most > 0).map_or(usize::MAX, |most| most as usize);
    candidates.sort_by(|a, b| (b.at, &a.id).cmp(&(a.at, &b.id)));
    let is_young = |candidate: &Candidate| since.is_none_or(|since| candidate.at >= since);
    let mains: BTreeSet<SessionId> = candidates
        .iter()
        .filter(|candidate| !candidate.subagent && is_young(candidate))
        .take(most)
        .map(|candidate| candidate.id.clone())
        .collect();
    let known: BTreeSet<SessionId> =
        candidates.iter().filter(|candidate| !candidate.subagent).map(|candidate| candidate.id.clone()).collect();
    let is_in = |candidate: &Candidate| match &candidate.parent {
        _ if !candidate.subagent => mains.contains(&candidate.id),
        Some(parent) if known.contains(parent) => mains.contains(parent),
        _ => most == usize::MAX && is_young(candidate),
    };
    let sessions = mains.len() as u64;
    let chosen: Vec<bool> = candidates.iter().map(is_in).collect();
    let (mut work, mut indexed) = (Vec::new(), Vec::new());
    for (candidate, _) in candidates.into_iter().zip(chosen).filter(|(_, chosen)| *chosen) {
        let Candidate { id, wanted, file, subagent, .. } = candidate;
        match wanted {
            Some(wanted) => work.push(Work { wanted, file, subagent }),
            None if !subagent => indexed.push(id),
            None => {}
        }
    }
    Range { sessions, work, indexed }
}

/// Estimates the cost of enriching sessions with the configured or the default model.
struct Pricing {
    model: String,
    is_local: bool,
    price: Option<Price>,
    limits: Limits,
    show: Show,
    sessions: u64,
    nanos: u64,
}

impl Pricing {
    fn new(settings: &Settings) -> Self {
        let llm = settings.llm.as_ref().or(settings.llm_off.as_ref());
        let is_local = llm.is_some_and(|llm| llm.endpoint.base_url.is_local());
        let model = llm.map_or(DEFAULT_MODEL, |llm| &llm.endpoint.model).to_owned();
        let limits = llm.map_or(DEFAULT_LIMITS, Llm::limits);
        let (price, show) = (settings.prices.price(&model), settings.filtering);
        Self { price, model, is_local, limits, show, sessions: 0, nanos: 0 }
    }

    /// Adds the maximum for one session: all requests, including those that join partial answers.
    fn add(&mut self, kept: Abridged) {
        let (plan, _) = plan_of(kept, &self.limits, &self.show);
        if plan.requests.is_empty() {
            return;
        }
        let (read, written) = plan.tokens();
        self.sessions += 1;
        self.nanos = self.nanos.saturating_add(budget::estimate(self.price.as_ref(), read, written));
    }

    fn fill_in(self, sum: &mut answer::Sync) {
        sum.would_enrich = self.sessions;
        sum.enrich_model = redact(&self.model).into_owned();
        // Without a known price there is no estimate, unless the model runs on this machine.
        let costs = self.price.is_some() || self.is_local;
        sum.enrich_cost_estimate = costs.then_some(self.nanos as f64 / 1e9);
    }
}

/// Adds one session to a preview, and returns what would be kept; `None` if it would not be indexed.
fn preview_session(work: &Work, state: Option<&State>, sum: &mut answer::Sync) -> Option<Abridged> {
    let owed = state.is_some_and(|state| state.unindexed > 0 || state.phase == Phase::Failed);
    if let (Some(file), false) = (&work.wanted.file, owed)
        && transcript_peek::summarise_unread(state, file).is_some_and(|glance| glance.conversation == 0)
    {
        // Only records outside of the conversation were added.
        return None;
    }
    let mut kept = EpisodeItems::default();
    let read = work.file.as_ref().and_then(|file| Some((file, transcript_peek::read_whole(file, &mut kept)?)));
    let Some((file, glance)) = read else {
        failed(sum, &work.wanted.id);
        return None;
    };
    if glance.conversation == 0 {
        return None;
    }
    let tokens = Tokens { raw: tokens::of_bytes(file.stat.size), kept: kept.tokens };
    count(work.subagent, &mut sum.would_index, &mut sum.subagents);
    add(sum, tokens);
    Some(kept.items)
}

/// Tokens of one session.
#[derive(Clone, Copy, Debug, Default)]
struct Tokens {
    raw: u64,
    kept: u64,
}

fn add(sum: &mut answer::Sync, tokens: Tokens) {
    sum.tokens_raw += tokens.raw;
    sum.tokens_filtered += tokens.kept;
    // Rounded to a millionth of a dollar, because sums of floats are not exact.
    sum.llm_cost_estimate = ((sum.llm_cost_estimate + tokens::summary_usd(tokens.kept)) * 1e6).round() / 1e6;
}

fn count(subagent: bool, mains: &mut u64, subagents: &mut u64) {
    *(if subagent { subagents } else { mains }) += 1;
}

fn failed(sum: &mut answer::Sync, id: &SessionId) {
    sum.failures += 1;
    if sum.failed.len() < SESSIONS_NAMED {
        sum.failed.push(id.to_string());
    }
}

fn is_new(closed: &Closed) -> bool {
    matches!(closed.outcome, Outcome::Stored | Outcome::Replaced(_))
}

async fn close(supervisor: &supervisor::Handle, work: &Work) -> Result<Closed, CallError> {
    let StaleSession { id, file, .. } = &work.wanted;
    let call = CloseCall::new(CloseReason::Sync);
    supervisor.close(id, file.clone(), call, limits::CLOSE_DEADLINE).await
}

/// The tokens of a session that was just indexed.
async fn measure(table: &SessionTable, chunks: Arc<ChunkStore>, id: &SessionId) -> Tokens {
    let Some(row) = table.get(id).cloned() else { return Tokens::default() };
    let id = id.clone();
    let measured = baton_base::task::spawn_blocking(move || {
        let episode = row.state.episode.as_ref()?;
        let mut kept = 0;
        baton_store::conversation::for_each_item(&chunks, &id, episode, |item| {
            kept += tokens::of_items(&[item]);
        })
        .ok()?;
        Some(Tokens { raw: tokens::of_bytes(episode.to), kept })
    });
    measured.await.ok().flatten().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Main sessions `m1` to `m3`, the first the newest, each a day older; `m1` and `m3` have a subagent, and one
    /// subagent has no known parent.
    fn candidates() -> Vec<Candidate> {
        let id = |name: &str| SessionId::new(name).unwrap();
        let candidate = |name: &str, days_old: i64, parent: Option<&str>| Candidate {
            id: id(name),
            at: Timestamp(100 * DAY_MS - days_old * DAY_MS),
            subagent: name.starts_with('s'),
            parent: parent.map(id),
            wanted: Some(StaleSession {
                id: id(name),
                file: None,
                is_new: false,
                is_large: false,
                bytes: 0,
                at: Timestamp(0),
            }),
            file: None,
        };
        vec![
            candidate("s3", 2, Some("m3")),
            candidate("m3", 2, None),
            candidate("m1", 0, None),
            candidate("s1", 9, Some("m1")),
            candidate("m2", 1, None),
            candidate("sx", 1, Some("gone")),
        ]
    }

    fn check(days: Option<u32>, max_sessions: Option<u32>, sessions: u64, expected: &[&str]) {
        let asked = SyncParams { days, max_sessions, ..SyncParams::default() };
        let range = choose(candidates(), &asked, Timestamp(100 * DAY_MS));
        let work: Vec<String> = range.work.iter().map(|work| work.wanted.id.to_string()).collect();
        assert_eq!(
            (range.sessions, work),
            (sessions, expected.iter().map(|id| (*id).to_owned()).collect()),
            "{asked:?}"
        );
    }

    #[test]
    fn a_range_is_of_main_sessions_and_takes_their_subagents_along() {
        let all = ["m1", "m2", "sx", "m3", "s3", "s1"];
        check(None, None, 3, &all);
        check(Some(0), Some(0), 3, &all);
        check(Some(1), None, 2, &["m1", "m2", "sx", "s1"]);
        check(None, Some(1), 1, &["m1", "s1"]);
        check(None, Some(3), 3, &["m1", "m2", "m3", "s3", "s1"]);
        check(Some(1), Some(5), 2, &["m1", "m2", "s1"]);
        check(Some(u32::MAX), None, 3, &all);
    }
}
