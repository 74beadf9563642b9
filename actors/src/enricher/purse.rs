//! What may be spent: each call takes its estimate out of the purse before it is made, so that calls at the same time cannot
//! spend together what each of them may spend alone.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use baton_events::prices;
use baton_events::projection::table::SessionTable;
use baton_events::record::{SessionId, Timestamp};
use baton_events::session::DAY_MS;

use crate::settings::Llm;

/// What is taken out of the purse and not recorded as spent yet.
#[derive(Debug, Default)]
pub(super) struct Purse {
    taken: Arc<Mutex<BTreeMap<SessionId, u64>>>,
}

/// What one call may cost; it goes back when this is dropped, and what was recorded meanwhile counts instead.
#[derive(Debug)]
pub(super) struct Taken {
    purse: Arc<Mutex<BTreeMap<SessionId, u64>>>,
    session: SessionId,
    nanos: u64,
}

/// What a person allows for one run, instead of the day's budget.
#[derive(Debug)]
pub struct Allowance {
    left: Mutex<u64>,
}

/// Why a call is not made now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OverBudget {
    /// Which bound, and how it stands.
    pub(super) why: String,
}

impl Taken {
    /// How much, in thousandths of a millionth of a US dollar.
    pub(super) fn nanos(&self) -> u64 {
        self.nanos
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        lock(&self.purse).remove(&self.session);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Allowance {
    /// So many US dollars.
    pub fn new(usd: f64) -> Self {
        Self { left: Mutex::new(prices::nanos(usd)) }
    }

    /// Gives back what was not needed after all.
    pub(super) fn give_back(&self, nanos: u64) {
        let mut left = lock(&self.left);
        *left = left.saturating_add(nanos);
    }
}

impl Purse {
    /// Takes out what a call about a session will cost at most, if every budget allows it.
    pub(super) fn take(
        &self,
        session: &SessionId,
        nanos: u64,
        llm: &Llm,
        allowance: Option<&Allowance>,
        table: &SessionTable,
        now: Timestamp,
    ) -> Result<Taken, OverBudget> {
        let mut taken = lock(&self.taken);
        let of_session = spent_on(table, session, &taken);
        check("the session's budget", "llm.session_budget_usd", llm.session_budget_usd, of_session, nanos)?;
        match allowance {
            Some(allowance) => {
                let mut left = lock(&allowance.left);
                if *left < nanos {
                    let (left, wanted) = (prices::usd(*left), prices::usd(nanos));
                    let why = format!("the next call may cost {wanted}, and {left} is left of --max-usd");
                    return Err(OverBudget { why });
                }
                *left -= nanos;
            }
            None => {
                let today = spent_today(table, &taken, now);
                check("today's budget", "llm.daily_budget_usd", llm.daily_budget_usd, today, nanos)?;
            }
        }
        taken.insert(session.clone(), nanos);
        Ok(Taken { purse: self.taken.clone(), session: session.clone(), nanos })
    }

    /// Whether a call would be allowed now.
    pub(super) fn allows(
        &self,
        session: &SessionId,
        nanos: u64,
        llm: &Llm,
        table: &SessionTable,
        now: Timestamp,
    ) -> bool {
        let taken = lock(&self.taken);
        let fits = |budget: Option<f64>, spent: u64| {
            budget.is_none_or(|budget| spent.saturating_add(nanos) <= prices::nanos(budget))
        };
        fits(llm.session_budget_usd, spent_on(table, session, &taken))
            && fits(llm.daily_budget_usd, spent_today(table, &taken, now))
    }

    /// What was spent today, in thousandths of a millionth of a US dollar; what is unknown or under way at its estimate.
    pub(super) fn today(&self, table: &SessionTable, now: Timestamp) -> u64 {
        spent_today(table, &lock(&self.taken), now)
    }
}

fn check(whose: &str, key: &str, budget: Option<f64>, spent: u64, nanos: u64) -> Result<(), OverBudget> {
    let Some(budget) = budget else { return Ok(()) };
    if spent.saturating_add(nanos) <= prices::nanos(budget) {
        return Ok(());
    }
    let (spent, wanted) = (prices::usd(spent), prices::usd(nanos));
    let why = format!("the next call may cost {wanted}, and {spent} of {whose} of {budget:.2} USD is spent ({key})");
    Err(OverBudget { why })
}

/// A call that is under way counts once, as what was taken out for it.
fn spent_on(table: &SessionTable, session: &SessionId, taken: &BTreeMap<SessionId, u64>) -> u64 {
    let known = table.get(session).and_then(|row| row.state.enrichment());
    let ended: u64 = known.map_or(0, |enrichment| {
        let running = enrichment.call.as_ref().map_or(0, |call| call.nanos);
        enrichment.spent_nanos().saturating_sub(running)
    });
    let running = known.and_then(|enrichment| enrichment.call.as_ref()).map_or(0, |call| call.nanos);
    ended.saturating_add(taken.get(session).copied().unwrap_or(running))
}

fn spent_today(table: &SessionTable, taken: &BTreeMap<SessionId, u64>, now: Timestamp) -> u64 {
    let today = now.0.div_euclid(DAY_MS);
    let recorded = table.iter().filter_map(|(id, row)| Some((id, row.state.enrichment()?))).map(|(id, enrichment)| {
        let of_today = enrichment.costs.iter().filter(|cost| cost.day == today);
        let ended = of_today.map(|cost| cost.nanos.saturating_add(cost.unknown_nanos)).fold(0, u64::saturating_add);
        let call = enrichment.call.as_ref().filter(|call| call.at.0.div_euclid(DAY_MS) == today);
        let running = call.filter(|_| !taken.contains_key(id)).map_or(0, |call| call.nanos);
        ended.saturating_add(running)
    });
    recorded.chain(taken.values().copied()).fold(0, u64::saturating_add)
}
