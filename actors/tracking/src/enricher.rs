//! The enricher: takes the enrichments that sessions owe from the session table, asks a model within the budgets, and
//! makes each session record the calls and their results.
//!
//! Off unless a model is switched on; then nothing is read or connected to. What is owed is in the log, so nothing is
//! lost when a daemon ends; a call in flight is recorded as lost, because its cost is unknown. No close, question or
//! hook waits for it.

mod budget_reservation;
mod call_permits;
mod conversation;
mod ended;
mod outcome;
mod owed;
mod work;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use baton_conversation::hash::ContentHash;
use baton_conversation::record::{SessionId, Timestamp};
use baton_enrichment::budget;
use baton_events::prices::Price;
use baton_events::projection::table::{Row, SessionTable};
use baton_events::session::{CallOutcome, GaveUp};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use crate::indexer;
use crate::session::EnrichmentStep;
use crate::supervisor;
use baton_base::clock::Clock;
use baton_base::supervised_task::TaskSupervisor;
use baton_base::throttle::Throttle;
use baton_config::endpoint::Endpoint;
use baton_config::settings::{Llm, Settings, SettingsReader};
use baton_journal::session_table::TableReader;
use baton_memos::Memos;
use baton_model::{Client, Failure};
use baton_store::chunks::ChunkStore;
pub use budget_reservation::Allowance;
use budget_reservation::{Bound, Budgets};
use call_permits::{CallPermits, UnderWay};
pub use outcome::{By, Done, Outcome};
use owed::{DueEnrichments, Hits};

/// How long changes of the table are gathered before it is looked at again.
const GATHER: Duration = Duration::from_millis(200);
/// How often the table is looked at without a change.
const LOOK_ANYWAY: Duration = Duration::from_secs(60);
/// Delay between attempts to record something.
const RETRY: Duration = Duration::from_secs(5);
/// Pause for a session after an unsuccessful attempt, whatever its own state says.
const PAUSE_MS: i64 = 3_000;
/// The same for a session about which there is nothing more to ask, if the log did not accept that.
const UNCHANGED_MS: i64 = 600_000;
/// Time limit for a session to record something.
const RECORD: Duration = Duration::from_secs(30);
/// Time that calls in flight get when the daemon stops.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What asking a model about sessions needs.
#[derive(Clone)]
pub struct Options {
    /// Model, budget and switches.
    pub settings: SettingsReader,
    /// The session table.
    pub table: TableReader,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Conversations and model answers.
    pub chunks: Arc<ChunkStore>,
    /// Searches, and says how far they cover the log.
    pub indexer: indexer::Handle,
    /// Finds the actors of sessions.
    pub supervisor: supervisor::Handle,
    /// Notes that people and agents added.
    pub memos: Memos,
    /// Delays background work while questions are answered.
    pub throttle: Throttle,
    /// Turns `true` when the daemon stops.
    pub stop: watch::Receiver<bool>,
}

/// Enriches episodes; see the module documentation.
pub struct Enricher {
    options: Options,
    client: Mutex<Option<Client>>,
    budgets: Budgets,
    permits: CallPermits,
    hits: Hits,
    known: Mutex<Known>,
    /// Notified when work on a session has ended.
    over: Notify,
}

/// The enricher's state.
#[derive(Default)]
struct Known {
    /// Sessions being worked on.
    under_way: BTreeSet<SessionId>,
    /// Sessions whose next call exceeds a budget: for which content, its estimated cost, the budget, and the settings
    /// at the time.
    over_budget: BTreeMap<SessionId, (ContentHash, budget::Wanted, Bound, Arc<Settings>)>,
    /// Pauses that are void, because they come from failures of an endpoint that is no longer configured.
    forgiven: BTreeMap<SessionId, Timestamp>,
    /// Why the endpoint rejected the last request, and what to do about it.
    rejected: Option<(String, String)>,
    /// Sessions paused after an unsuccessful attempt, until when.
    paused: BTreeMap<SessionId, Timestamp>,
    /// Calls made on a person's request that an earlier daemon did not answer, for the command that still waits.
    outlived: BTreeMap<SessionId, Outlived>,
    /// Why nothing is sent, and what to do about it.
    problem: Option<(String, String)>,
}

/// See [`Known::outlived`].
#[derive(Clone, Debug, Default)]
struct Outlived {
    /// Estimated costs of the calls that were cut off, by call number.
    lost: BTreeMap<u32, u64>,
    /// Number of calls since then, number of those with unknown cost, and their cost.
    since: (u64, u64, u64),
}

/// The state of enrichment, for `status`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shown {
    /// Sessions with an enriched episode.
    pub enriched: u64,
    /// Sessions that owe an enrichment.
    pub owed: u64,
    /// Sessions being worked on.
    pub under_way: u64,
    /// Sessions that wait because a budget is spent.
    pub over_budget: u64,
    /// Of these, sessions that need more than the budget per session.
    pub over_session: u64,
    /// Sessions that owe one and whose last request the endpoint rejected.
    pub rejected: u64,
    /// Why it rejected it, and what to do about it; `None` before this daemon has asked it.
    pub rejected_why: Option<(String, String)>,
    /// Sessions that a model could not enrich.
    pub given_up: u64,
    /// The first of them for which something can be done, and why.
    pub given_up_first: Option<(SessionId, GaveUp)>,
    /// Enriched sessions about which a model was asked again without success.
    pub kept: u64,
    /// The first of them, and why.
    pub kept_first: Option<(SessionId, GaveUp)>,
    /// Calls whose result is unknown.
    pub unknown_calls: u64,
    /// Cost of today's calls in nanodollars.
    pub spent_today_nanos: u64,
    /// Why nothing is sent, and what to do about it.
    pub problem: Option<(String, String)>,
}

impl Enricher {
    /// An enricher that has not started yet.
    pub fn new(options: Options) -> Self {
        Self {
            options,
            client: Mutex::default(),
            budgets: Budgets::default(),
            permits: CallPermits::default(),
            hits: Hits::default(),
            known: Mutex::default(),
            over: Notify::new(),
        }
    }

    /// Starts enriching in the background, as configured, until the daemon stops.
    pub fn start(self: &Arc<Self>, tasks: &TaskSupervisor) -> Enriching {
        let enricher = self.clone();
        Enriching(tasks.spawn("enricher", move || enricher.clone().run()))
    }

    /// Notes that a question has found these sessions.
    pub fn note_hits(&self, sessions: impl Iterator<Item = SessionId>) {
        if self.options.settings.now().llm.is_some() {
            self.hits.note(sessions);
        }
    }

    /// The state of enrichment.
    pub fn state(&self) -> Shown {
        let (table, settings, now) = (self.options.table.now(), self.options.settings.now(), self.options.clock.now());
        let mut shown = Shown { spent_today_nanos: self.budgets.today(&table, now), ..Shown::default() };
        let known = self.known();
        for (id, row) in table.iter() {
            let Some(enrichment) = row.state.enrichment() else { continue };
            let is_enriched = row.state.enriched_by().is_some();
            shown.enriched += u64::from(is_enriched);
            if let Some((_, why)) = enrichment.given_up {
                let (count, first) = match is_enriched {
                    true => (&mut shown.kept, &mut shown.kept_first),
                    false => (&mut shown.given_up, &mut shown.given_up_first),
                };
                *count += 1;
                // An empty session is not the model's fault.
                if first.is_none() && why != GaveUp::Empty {
                    *first = Some((id.clone(), why));
                }
            }
            let lost: u64 = enrichment.costs.iter().map(|cost| cost.unknown).sum();
            let is_open = enrichment.call.is_some() && !known.under_way.contains(id);
            shown.unknown_calls += lost + u64::from(is_open);
            if let Some(job) = owed::job_of(&settings, &row.state) {
                shown.owed += 1;
                let bound = known.over_budget.get(id).filter(|(content, ..)| *content == job.content);
                shown.over_budget += u64::from(bound.is_some());
                shown.over_session += u64::from(bound.is_some_and(|(_, _, bound, _)| *bound == Bound::Session));
                let is_rejected = enrichment.failed == Some(CallOutcome::Rejected);
                shown.rejected += u64::from(is_rejected);
            }
        }
        shown.under_way = known.under_way.len() as u64;
        shown.rejected_why = known.rejected.clone();
        // Without owed sessions, an old problem does not matter.
        shown.problem = known.problem.clone().filter(|_| settings.llm.is_some() && shown.owed > 0);
        shown
    }

    /// True if the next call about a session waits for a budget.
    pub fn is_over_budget(&self, id: &SessionId) -> bool {
        self.known().over_budget.contains_key(id)
    }

    /// Returns why no call can be made as configured, for lack of a price or key. Blocks for a short read if the key is
    /// in a file.
    pub fn configuration_problem(settings: &Settings) -> Option<(String, String)> {
        let llm = settings.llm.as_ref()?;
        price(settings, llm).err().or_else(|| {
            let missing = llm.endpoint.key.as_ref().and_then(baton_model::key_problem)?;
            Some((missing.describe(), missing.next_step().to_owned()))
        })
    }

    async fn run(self: Arc<Self>) {
        let (mut settings, mut table) = (self.options.settings.clone(), self.options.table.clone());
        let mut stop = self.options.stop.clone();
        let mut at_work: JoinSet<()> = JoinSet::new();
        let mut before = settings.now();
        loop {
            let (set, now) = (settings.newest(), self.options.clock.now());
            if set.llm.as_ref().map(|llm| &llm.endpoint) != before.llm.as_ref().map(|llm| &llm.endpoint) {
                // Forget the failures of the former endpoint.
                let waits = |(id, row): (&SessionId, &Arc<Row>)| Some((id.clone(), row.state.enrichment()?.retry_at?));
                let waiting: Vec<(SessionId, Timestamp)> = table.newest().enriching().filter_map(waits).collect();
                let mut known = self.known();
                (known.problem, known.rejected) = (None, None);
                known.forgiven = waiting.into_iter().collect();
            }
            if !asks_alike(&set, &before) {
                // Costs and requests may differ now.
                self.known().paused.clear();
                before = set.clone();
            }
            // The settings may have changed and changed back since.
            self.known().over_budget.retain(|_, (.., under)| asks_alike(under, &set));
            // Collect all tasks that have ended.
            while at_work.try_join_next().is_some() {}
            self.record_switch().await;
            self.record_lost_calls(&table.newest()).await;
            let mut wake = now.plus_ms(i64::try_from(LOOK_ANYWAY.as_millis()).unwrap_or(i64::MAX));
            if let Some(llm) = &set.llm {
                wake = self.begin_due(&set, llm, &mut at_work, wake).await;
            } else {
                let mut known = self.known();
                known.over_budget.clear();
                known.problem = None;
            }
            let goes_on = tokio::select! {
                _ = stop.wait_for(|stop| *stop) => false,
                changed = settings.changed() => changed.is_ok(),
                changed = table.changed() => changed.is_ok(),
                Some(_) = at_work.join_next(), if !at_work.is_empty() => true,
                () = self.options.clock.sleep_until(wake) => true,
            };
            if !goes_on {
                break;
            }
            // Gather changes that come together.
            tokio::time::sleep(GATHER).await;
        }
        // Give running calls a moment.
        let ending = async { while at_work.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(LAST_WORDS, ending).await;
    }

    /// Starts what is due, as far as the limits allow. Returns when to look again.
    async fn begin_due(
        self: &Arc<Self>,
        settings: &Arc<Settings>,
        llm: &Llm,
        at_work: &mut JoinSet<()>,
        mut wake: Timestamp,
    ) -> Timestamp {
        let (table, now) = (self.options.table.now(), self.options.clock.now());
        let DueEnrichments { due, next } = {
            let forgiven = self.known().forgiven.clone();
            owed::due_enrichments(&table, settings, now, &forgiven, |id| self.hits.contains(id))
        };
        wake = next.map_or(wake, |next| next.min(wake));
        if due.is_empty() {
            return wake;
        }
        let looked = settings.clone();
        let obstacle =
            baton_base::task::spawn_blocking(move || Self::configuration_problem(&looked)).await.unwrap_or(None);
        if obstacle.is_some() {
            self.known().problem = obstacle;
            // An environment variable cannot appear, but a key file can.
            return wake.min(now.plus_ms(15_000));
        }
        // Ignore the health of another endpoint.
        let client = self.client().filter(|client| client.endpoint() == &llm.endpoint);
        let down = client.and_then(|client| client.current_pause()).filter(|down| !down.again_in.is_zero());
        if let Some(down) = down {
            let again = i64::try_from(down.again_in.as_millis()).unwrap_or(i64::MAX);
            return wake.min(now.plus_ms(again.saturating_add(1)));
        }
        // After a failure, only one call is made; once it succeeds, all are.
        let is_tried = self.client().is_some_and(|it| it.endpoint() == &llm.endpoint && it.current_pause().is_some());
        let most = if is_tried { 1 } else { llm.max_concurrency };
        let today = self.budgets.today(&table, now);
        for (id, content) in due {
            if at_work.len() >= most {
                break;
            }
            let waits = {
                let mut known = self.known();
                known.paused.retain(|_, until| *until > now);
                if let Some(until) = known.paused.get(&id) {
                    wake = wake.min(*until);
                    continue;
                }
                let over = known.over_budget.get(&id).filter(|(of, ..)| *of == content).map(|(_, wanted, ..)| *wanted);
                known.under_way.contains(&id)
                    || over.is_some_and(|wanted| !self.budgets.allows(&id, &wanted, llm, &table, today))
            };
            if waits {
                continue;
            }
            let (enricher, set) = (self.clone(), settings.clone());
            at_work.spawn(async move {
                let done = enricher.enrich(&id, &By::Itself).await;
                let mut known = enricher.known();
                // A failure under other settings is no reason to pause.
                if done.outcome != Outcome::Enriched && asks_alike(&set, &enricher.options.settings.now()) {
                    let pause_ms = if done.outcome == Outcome::Unchanged { UNCHANGED_MS } else { PAUSE_MS };
                    let until = enricher.options.clock.now().plus_ms(pause_ms);
                    known.paused.insert(id, until);
                }
            });
        }
        wake
    }

    /// Records whether a model is enabled, if that has changed: only sessions that end while one is enabled owe an
    /// enrichment.
    pub async fn record_switch(&self) {
        let is_enabled = self.options.settings.now().llm.is_some();
        if self.options.table.now().home().state.model_since.is_some() == is_enabled {
            return;
        }
        if let Err(error) = self.options.memos.switch_model(is_enabled).await {
            tracing::debug!(%error, "model switch not recorded, trying again");
        }
    }

    /// Records calls left by an earlier daemon as lost.
    async fn record_lost_calls(&self, table: &SessionTable) {
        let orphans: Vec<(SessionId, u32, Arc<Row>)> = {
            let known = self.known();
            let orphans = table.enriching().filter(|(id, _)| !known.under_way.contains(*id));
            orphans.filter_map(|(id, row)| Some((id.clone(), call_of(row)?, row.clone()))).collect()
        };
        for (id, call, row) in orphans {
            // If work on it has started since, that handles the call.
            if self.known().under_way.contains(&id) {
                continue;
            }
            // Before it is recorded, so that the next caller finds no call in flight and learns about the loss.
            self.note_lost(&id, &row);
            let lost = self.options.supervisor.record_enrichment_step(&id, EnrichmentStep::Lost(call), RECORD).await;
            if !matches!(lost, Ok(Ok(_))) {
                tracing::debug!(session = %id, "lost call not recorded, trying again");
            }
        }
    }

    /// Remembers a lost call that a person had asked for: their command still waits and will ask again.
    fn note_lost(&self, id: &SessionId, before: &Row) {
        let Some(enrichment) = before.state.enrichment().filter(|it| it.owed.is_some_and(|owed| owed.asked)) else {
            return;
        };
        if let Some(call) = &enrichment.call {
            let mut known = self.known();
            known.outlived.entry(id.clone()).or_default().lost.insert(call.id, call.nanos);
        }
    }

    /// Adds the calls remembered in [`Known::outlived`], once.
    fn with_outlived(&self, id: &SessionId, done: Done) -> Done {
        let Outlived { lost, since: (calls, unknown, nanos) } = self.known().outlived.remove(id).unwrap_or_default();
        let cut_off = lost.len() as u64;
        Done {
            calls: done.calls + calls + cut_off,
            unknown: done.unknown + unknown + cut_off,
            nanos: lost.values().copied().chain([nanos]).fold(done.nanos, u64::saturating_add),
            ..done
        }
    }

    /// Adds the calls of a background attempt to those remembered for the person who asked.
    fn note_since(&self, id: &SessionId, done: &Done) {
        if let Some(outlived) = self.known().outlived.get_mut(id) {
            let (calls, unknown, nanos) = outlived.since;
            outlived.since = (calls + done.calls, unknown + done.unknown, nanos.saturating_add(done.nanos));
        }
    }

    /// Returns the client of the configured endpoint, replacing that of another.
    async fn client_of(&self, endpoint: &Endpoint) -> Result<Client, Failure> {
        if let Some(client) = self.client().filter(|client| client.endpoint() == endpoint) {
            return Ok(client);
        }
        let wanted = endpoint.clone();
        // Reads the system's certificates.
        let made = baton_base::task::spawn_blocking(move || Client::new(&wanted, None)).await;
        let made = made.unwrap_or_else(|_| Err(Failure::broken("the way to the endpoint could not be prepared")))?;
        let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        // Use a client made concurrently, so that there is one circuit breaker.
        if let Some(known) = client.as_ref().filter(|known| known.endpoint() == endpoint) {
            return Ok(known.clone());
        }
        Ok(client.insert(made).clone())
    }

    fn client(&self) -> Option<Client> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Marks a session as being worked on. Returns `None` if it already is.
    fn begin(&self, session: &SessionId) -> Option<UnderWay<'_>> {
        let begins = self.known().under_way.insert(session.clone());
        begins.then(|| UnderWay { enricher: self, session: session.clone() })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// True if both settings result in the same requests and costs.
fn asks_alike(one: &Settings, other: &Settings) -> bool {
    one.llm == other.llm && one.prices == other.prices && one.filtering == other.filtering
}

/// The number of the call recorded as in flight.
fn call_of(row: &Row) -> Option<u32> {
    row.state.enrichment()?.call.as_ref().map(|call| call.id)
}

/// Returns the model's price; a local model without one is free. Otherwise returns what is missing and what to do.
fn price(settings: &Settings, llm: &Llm) -> Result<Option<Price>, (String, String)> {
    let model = &llm.endpoint.model;
    let price = settings.prices.price(model);
    let is_local = llm.endpoint.base_url.is_local();
    let Err(key) = budget::may_ask(price.as_ref(), is_local, &budget_reservation::budget(llm)) else {
        return Ok(price);
    };
    let shown = baton_redaction::redact(model);
    let what = format!("no price is known of the model {shown:?}, so no budget can be kept");
    let fix = format!(
        "set {key} to {{{shown:?}: {{\"input\": …, \"output\": …}}}} (US dollars for a million tokens), or both budgets to null"
    );
    Err((what, fix))
}

/// The running enricher.
pub struct Enriching(baton_base::task::Task<()>);

impl Enriching {
    /// Waits a moment for calls in flight. The daemon must have been told to stop.
    pub async fn finish(self) {
        let _ = tokio::time::timeout(LAST_WORDS * 2, self.0).await;
    }
}
