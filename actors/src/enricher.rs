//! Who has a model enrich episodes: takes what sessions owe from the session table, one call after another, within the
//! budgets, and has each session record what it was asked and what came of it.
//!
//! Off unless somebody switches a model on; then nothing is read or connected to. What is owed stands in the log, so nothing
//! is lost with a daemon; a call that it had under way is recorded as lost, for what it cost is unknown. Nothing waits for it:
//! no close, no question, no hook.

mod budget_reservation;
mod call_permits;
mod conversation;
mod ended;
mod hits;
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
use crate::memo_writer::Memos;
use crate::session::Asking;
use crate::supervisor;
use baton_base::clock::Clock;
use baton_base::supervised_task::TaskSupervisor;
use baton_base::throttle::Throttle;
use baton_config::endpoint::Endpoint;
use baton_config::settings::{Llm, Settings, SettingsReader};
use baton_journal::session_table::TableReader;
use baton_model::{Client, Failure};
use baton_store::chunks::ChunkStore;
pub use budget_reservation::Allowance;
use budget_reservation::{Bound, Purse};
use call_permits::Rooms;
use hits::Hits;
pub(crate) use outcome::{By, Done, Outcome};
use owed::Owing;

/// How long the table is let change before it is looked at again.
const GATHER: Duration = Duration::from_millis(200);
/// How often it is looked without a change.
const LOOK_ANYWAY: Duration = Duration::from_secs(60);
/// Between two attempts to record something.
const RETRY: Duration = Duration::from_secs(5);
/// How long a session is let alone with which nothing came about, whatever its own state says.
const PAUSE_MS: i64 = 3_000;
/// The same with one that there is nothing more to ask about, if the log did not take that.
const UNCHANGED_MS: i64 = 600_000;
/// How long a session may take to record something.
const RECORD: Duration = Duration::from_secs(30);
/// What calls that are under way are given when the daemon stops.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What the enricher needs.
#[derive(Clone)]
pub(crate) struct Surroundings {
    pub(crate) settings: SettingsReader,
    pub(crate) table: TableReader,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) chunks: Arc<ChunkStore>,
    pub(crate) indexer: indexer::Handle,
    pub(crate) supervisor: supervisor::Handle,
    pub(crate) memos: Memos,
    pub(crate) throttle: Throttle,
    pub(crate) stop: watch::Receiver<bool>,
}

/// See the module. Shared by whoever asks.
pub struct Enricher {
    around: Surroundings,
    client: Mutex<Option<Client>>,
    purse: Purse,
    rooms: Rooms,
    hits: Hits,
    known: Mutex<Known>,
    /// Something is over.
    over: Notify,
}

/// What is going on.
#[derive(Default)]
struct Known {
    /// Sessions that are worked on.
    under_way: BTreeSet<SessionId>,
    /// Sessions whose next call does not fit into a budget: for which content, and what it may cost.
    over_budget: BTreeMap<SessionId, (ContentHash, budget::Wanted, Bound, Arc<Settings>)>,
    /// Pauses after failures of an endpoint that is not configured any more.
    forgiven: BTreeMap<SessionId, Timestamp>,
    /// What the endpoint has said of the last request that it did not take, and what to do about it.
    rejected: Option<(String, String)>,
    /// Sessions with which nothing came about, and when they are tried again at the earliest.
    paused: BTreeMap<SessionId, Timestamp>,
    /// What was made of a wish that a daemon before this one did not come to answer: for whoever still waits.
    outlived: BTreeMap<SessionId, Outlived>,
    /// Why nothing is sent, and what to do about it.
    problem: Option<(String, String)>,
}

/// See [`Known::outlived`].
#[derive(Clone, Debug, Default)]
struct Outlived {
    /// Estimates of the calls that were cut off, by their numbers.
    lost: BTreeMap<u32, u64>,
    /// Calls that were made since, those of them of unknown cost, and what they cost.
    since: (u64, u64, u64),
}

/// How it stands, for `status`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shown {
    /// Sessions whose episode is enriched.
    pub enriched: u64,
    /// Sessions that are owed it.
    pub owed: u64,
    /// Sessions that are worked on.
    pub under_way: u64,
    /// Sessions that wait because a budget is spent.
    pub over_budget: u64,
    /// Of these, those that need more than the budget of a session.
    pub over_session: u64,
    /// Sessions that are owed it, and whose last request the endpoint did not take.
    pub rejected: u64,
    /// What it has said, and what to do about it; none before it was asked by this daemon.
    pub rejected_why: Option<(String, String)>,
    /// Sessions of which a model makes nothing.
    pub given_up: u64,
    /// The first of them for which something can be done, and why.
    pub given_up_first: Option<(SessionId, GaveUp)>,
    /// Sessions that are enriched and were asked about again in vain.
    pub kept: u64,
    /// The first of them, and why.
    pub kept_first: Option<(SessionId, GaveUp)>,
    /// Calls of whose end nothing is known.
    pub unknown_calls: u64,
    /// What was spent today, in thousandths of a millionth of a US dollar.
    pub spent_today_nanos: u64,
    /// Why nothing is sent, and what to do about it.
    pub problem: Option<(String, String)>,
}

/// A session is worked on as long as this lives.
struct UnderWay<'a> {
    enricher: &'a Enricher,
    session: SessionId,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.enricher.known().under_way.remove(&self.session);
        self.enricher.over.notify_waiters();
    }
}

impl Enricher {
    pub(crate) fn new(around: Surroundings) -> Self {
        Self {
            around,
            client: Mutex::default(),
            purse: Purse::default(),
            rooms: Rooms::default(),
            hits: Hits::default(),
            known: Mutex::default(),
            over: Notify::new(),
        }
    }

    /// Enriches in the background from now on, as the settings say, until the daemon stops.
    pub(crate) fn start(self: &Arc<Self>, tasks: &TaskSupervisor) -> Enriching {
        let enricher = self.clone();
        Enriching(tasks.spawn("enricher", move || enricher.clone().run()))
    }

    /// A question has found these sessions.
    pub(crate) fn hit(&self, sessions: impl Iterator<Item = SessionId>) {
        if self.around.settings.now().llm.is_some() {
            self.hits.note(sessions);
        }
    }

    /// How it stands.
    pub fn shown(&self) -> Shown {
        let (table, settings, now) = (self.around.table.now(), self.around.settings.now(), self.around.clock.now());
        let mut shown = Shown { spent_today_nanos: self.purse.today(&table, now), ..Shown::default() };
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
                // What says nothing is no model's fault.
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
        // Where nothing is owed, what once kept it from being sent is of no matter.
        shown.problem = known.problem.clone().filter(|_| settings.llm.is_some() && shown.owed > 0);
        shown
    }

    /// Whether the next call about a session waits until a budget allows it.
    pub fn over_budget(&self, id: &SessionId) -> bool {
        self.known().over_budget.contains_key(id)
    }

    /// What keeps a model from being asked at all as it is configured: no price, no key. Blocks for a short read where the
    /// key is in a file.
    pub fn obstacle(settings: &Settings) -> Option<(String, String)> {
        let llm = settings.llm.as_ref()?;
        price(settings, llm).err().or_else(|| {
            let missing = llm.endpoint.key.as_ref().and_then(baton_model::key_problem)?;
            Some((missing.what(), missing.next_step().to_owned()))
        })
    }

    async fn run(self: Arc<Self>) {
        let (mut settings, mut table) = (self.around.settings.clone(), self.around.table.clone());
        let mut stop = self.around.stop.clone();
        let mut at_work: JoinSet<()> = JoinSet::new();
        let mut before = settings.now();
        loop {
            let (set, now) = (settings.newest(), self.around.clock.now());
            if set.llm.as_ref().map(|llm| &llm.endpoint) != before.llm.as_ref().map(|llm| &llm.endpoint) {
                // Another one: what went wrong with the one before says nothing of it.
                let waits = |(id, row): (&SessionId, &Arc<Row>)| Some((id.clone(), row.state.enrichment()?.retry_at?));
                let waiting: Vec<(SessionId, Timestamp)> = table.newest().enriching().filter_map(waits).collect();
                let mut known = self.known();
                (known.problem, known.rejected) = (None, None);
                known.forgiven = waiting.into_iter().collect();
            }
            if !asks_alike(&set, &before) {
                // What it would cost is reckoned anew, and what there is to ask.
                self.known().paused.clear();
                before = set.clone();
            }
            // They may have changed and changed back since.
            self.known().over_budget.retain(|_, (.., under)| asks_alike(under, &set));
            // What has ended makes room, all of it at once.
            while at_work.try_join_next().is_some() {}
            self.keep_switch().await;
            self.lose_orphans(&table.newest()).await;
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
                () = self.around.clock.sleep_until(wake) => true,
            };
            if !goes_on {
                break;
            }
            // Much may change at once, and all of it is looked at.
            tokio::time::sleep(GATHER).await;
        }
        // What comes in a moment is not lost.
        let ending = async { while at_work.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(LAST_WORDS, ending).await;
    }

    /// Begins what is due, as far as there is room. Answers when to look again.
    async fn begin_due(
        self: &Arc<Self>,
        settings: &Arc<Settings>,
        llm: &Llm,
        at_work: &mut JoinSet<()>,
        mut wake: Timestamp,
    ) -> Timestamp {
        let (table, now) = (self.around.table.now(), self.around.clock.now());
        let Owing { due, next } = {
            let forgiven = self.known().forgiven.clone();
            owed::owing(&table, settings, now, &forgiven, |id| self.hits.holds(id))
        };
        wake = next.map_or(wake, |next| next.min(wake));
        if due.is_empty() {
            return wake;
        }
        let looked = settings.clone();
        let obstacle = tokio::task::spawn_blocking(move || Self::obstacle(&looked)).await.unwrap_or(None);
        if obstacle.is_some() {
            self.known().problem = obstacle;
            // The environment stays as it is; a file may be written.
            return wake.min(now.plus_ms(15_000));
        }
        // What is known of another endpoint says nothing of this one.
        let client = self.client().filter(|client| client.endpoint() == &llm.endpoint);
        let down = client.and_then(|client| client.health()).filter(|down| !down.again_in.is_zero());
        if let Some(down) = down {
            let again = i64::try_from(down.again_in.as_millis()).unwrap_or(i64::MAX);
            return wake.min(now.plus_ms(again.saturating_add(1)));
        }
        // An endpoint that has failed is asked by one, and by all when that one was answered.
        let is_tried = self.client().is_some_and(|it| it.endpoint() == &llm.endpoint && it.health().is_some());
        let most = if is_tried { 1 } else { llm.max_concurrency };
        let today = self.purse.today(&table, now);
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
                    || over.is_some_and(|wanted| !self.purse.allows(&id, &wanted, llm, &table, today))
            };
            if waits {
                continue;
            }
            let (enricher, set) = (self.clone(), settings.clone());
            at_work.spawn(async move {
                let done = enricher.enrich(&id, &By::Itself).await;
                let mut known = enricher.known();
                // What came of other settings says nothing of those that hold now.
                if done.outcome != Outcome::Enriched && asks_alike(&set, &enricher.around.settings.now()) {
                    let pause_ms = if done.outcome == Outcome::Unchanged { UNCHANGED_MS } else { PAUSE_MS };
                    let until = enricher.around.clock.now().plus_ms(pause_ms);
                    known.paused.insert(id, until);
                }
            });
        }
        wake
    }

    /// Has the log say whether a model is enabled: only what ends while one is owes anything. Mostly it says so already.
    pub(crate) async fn keep_switch(&self) {
        let is_enabled = self.around.settings.now().llm.is_some();
        if self.around.table.now().home().state.model_since.is_some() == is_enabled {
            return;
        }
        if let Err(error) = self.around.memos.switch_model(is_enabled).await {
            tracing::debug!(%error, "not recorded whether a model is enabled, trying again");
        }
    }

    /// Calls that another daemon had under way are nobody's.
    async fn lose_orphans(&self, table: &SessionTable) {
        let orphans: Vec<(SessionId, u32, Arc<Row>)> = {
            let known = self.known();
            let orphans = table.enriching().filter(|(id, _)| !known.under_way.contains(*id));
            orphans.filter_map(|(id, row)| Some((id.clone(), call_of(row)?, row.clone()))).collect()
        };
        for (id, call, row) in orphans {
            // Whoever works on it since then looks at it himself.
            if self.known().under_way.contains(&id) {
                continue;
            }
            // Before it is recorded: whoever asks next finds nothing under way, and is told of it.
            self.note_lost(&id, &row);
            let lost = self.around.supervisor.asking(&id, Asking::Lost(call), RECORD).await;
            if !matches!(lost, Ok(Ok(_))) {
                tracing::debug!(session = %id, "lost call not recorded, trying again");
            }
        }
    }

    /// Keeps in mind what was lost of what a person asked for: the command still waits, and asks again.
    fn note_lost(&self, id: &SessionId, before: &Row) {
        let Some(enrichment) = before.state.enrichment().filter(|it| it.owed.is_some_and(|owed| owed.asked)) else {
            return;
        };
        if let Some(call) = &enrichment.call {
            let mut known = self.known();
            known.outlived.entry(id.clone()).or_default().lost.insert(call.id, call.nanos);
        }
    }

    /// The same with what came of the wish before, told once.
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

    /// A wish is carried out further by itself, as long as nobody asks again.
    fn note_since(&self, id: &SessionId, done: &Done) {
        if let Some(outlived) = self.known().outlived.get_mut(id) {
            let (calls, unknown, nanos) = outlived.since;
            outlived.since = (calls + done.calls, unknown + done.unknown, nanos.saturating_add(done.nanos));
        }
    }

    /// The way to the configured endpoint; what is known of another one is forgotten.
    async fn client_of(&self, endpoint: &Endpoint) -> Result<Client, Failure> {
        if let Some(client) = self.client().filter(|client| client.endpoint() == endpoint) {
            return Ok(client);
        }
        let wanted = endpoint.clone();
        // Reads the system's certificates.
        let made = tokio::task::spawn_blocking(move || Client::new(&wanted, None)).await;
        let made = made.unwrap_or_else(|_| Err(Failure::broken("the way to the endpoint could not be prepared")))?;
        let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        // Somebody else may have been faster: there is one breaker.
        if let Some(known) = client.as_ref().filter(|known| known.endpoint() == endpoint) {
            return Ok(known.clone());
        }
        Ok(client.insert(made).clone())
    }

    fn client(&self) -> Option<Client> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Marks a session as worked on. `None`: it is already.
    fn begin(&self, session: &SessionId) -> Option<UnderWay<'_>> {
        let begins = self.known().under_way.insert(session.clone());
        begins.then(|| UnderWay { enricher: self, session: session.clone() })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether what a model is asked, and what that costs, are the same under both.
fn asks_alike(one: &Settings, other: &Settings) -> bool {
    one.llm == other.llm && one.prices == other.prices && one.filtering == other.filtering
}

/// The number of the call that is recorded as under way.
fn call_of(row: &Row) -> Option<u32> {
    row.state.enrichment()?.call.as_ref().map(|call| call.id)
}

/// What the model costs; on this machine one without a price costs nothing. The error says what is missing, and what to do.
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

/// Enriching in the background.
#[derive(Debug)]
pub(crate) struct Enriching(tokio::task::JoinHandle<()>);

impl Enriching {
    /// Waits a moment for what is under way. The daemon has been told to stop.
    pub(crate) async fn finish(self) {
        let _ = tokio::time::timeout(LAST_WORDS * 2, self.0).await;
    }
}
