//! Budgets: each call reserves its estimated cost before it is made, so that concurrent calls cannot exceed a budget
//! together.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use baton_conversation::record::{SessionId, Timestamp};
use baton_enrichment::budget::{Afford, Budget, Spending, Wanted, afford_all};
use baton_enrichment::ledger;
use baton_events::prices;
use baton_events::prices::usd;
use baton_events::projection::table::SessionTable;

use baton_config::settings::Llm;

/// Reserved costs that are not recorded as spent yet.
#[derive(Debug, Default)]
pub(super) struct Budgets {
    taken: Arc<Mutex<BTreeMap<SessionId, u64>>>,
}

/// A reservation for one call, released on drop, when the recorded cost counts instead. An allowance gets back what was
/// not [spent](Self::spent).
#[derive(Debug)]
pub(super) struct Reservation {
    budgets: Arc<Mutex<BTreeMap<SessionId, u64>>>,
    session: SessionId,
    /// The reserved amount in nanodollars.
    pub(super) nanos: u64,
    allowance: Option<Arc<Allowance>>,
    /// What was spent, or is assumed to be.
    pub(super) spent: u64,
}

/// A person's allowance for one run, which replaces the daily budget.
#[derive(Debug)]
pub struct Allowance {
    left: Mutex<u64>,
}

/// Why a call is not made now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OverBudget {
    /// The limit and its state, in words.
    pub(super) why: String,
    /// The limit.
    pub(super) bound: Bound,
}

/// Limits of spending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// A person's allowance for one run.
    Run,
    /// `llm.session_budget_usd`.
    Session,
    /// `llm.daily_budget_usd`.
    Day,
}

impl Bound {
    /// The remedy.
    pub(super) fn next_step(self) -> &'static str {
        match self {
            Self::Run => "give a larger --max-usd",
            Self::Session => "raise llm.session_budget_usd",
            Self::Day => "raise llm.daily_budget_usd, give --max-usd, or wait for another day (UTC)",
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        lock(&self.budgets).remove(&self.session);
        if let Some(allowance) = &self.allowance {
            let mut left = lock(&allowance.left);
            *left = left.saturating_add(self.nanos).saturating_sub(self.spent);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Allowance {
    /// Creates an allowance in US dollars.
    pub fn new(usd: f64) -> Self {
        Self { left: Mutex::new(prices::nanos(usd)) }
    }
}

impl Budgets {
    /// Reserves the maximum cost of a session's next call, if every budget allows it and the session's budget allows
    /// all its remaining calls.
    pub(super) fn reserve(
        &self,
        session: &SessionId,
        wanted: &Wanted,
        llm: &Llm,
        allowance: Option<&Arc<Allowance>>,
        table: &SessionTable,
        now: Timestamp,
    ) -> Result<Reservation, OverBudget> {
        let (mut taken, nanos) = (lock(&self.taken), wanted.next);
        // A person's allowance replaces the daily budget.
        let of = budget(llm);
        let budget = Budget { daily_nanos: of.daily_nanos.filter(|_| allowance.is_none()), ..of };
        let why = match afford_all(wanted, &spent(table, session, &taken, now), &budget, now) {
            Afford::Yes => None,
            Afford::OverSession { nanos, budget } => Some((
                Bound::Session,
                format!(
                    "what is to be asked about it would bring the session to {}, and llm.session_budget_usd allows {}",
                    usd(nanos),
                    usd(budget)
                ),
            )),
            Afford::OverDay { nanos, budget, until } => Some((
                Bound::Day,
                format!(
                    "its next call would bring today to {}, and llm.daily_budget_usd allows {} until {until}",
                    usd(nanos),
                    usd(budget)
                ),
            )),
        };
        if let Some((bound, why)) = why {
            return Err(OverBudget { why, bound });
        }
        if let Some(allowance) = allowance {
            let mut left = lock(&allowance.left);
            if *left < nanos {
                let why = format!("its next call may cost {}, and {} is left of --max-usd", usd(nanos), usd(*left));
                return Err(OverBudget { why, bound: Bound::Run });
            }
            *left -= nanos;
        }
        taken.insert(session.clone(), nanos);
        let (budgets, session) = (self.taken.clone(), session.clone());
        Ok(Reservation { budgets, session, nanos, allowance: allowance.cloned(), spent: 0 })
    }

    /// True if a call would be allowed on a day with [this spending](Self::today).
    pub(super) fn allows(
        &self,
        session: &SessionId,
        wanted: &Wanted,
        llm: &Llm,
        table: &SessionTable,
        day_nanos: u64,
    ) -> bool {
        let spent = Spending { session_nanos: spent_on_session(table, session, &lock(&self.taken)), day_nanos };
        afford_all(wanted, &spent, &budget(llm), Timestamp::default()) == Afford::Yes
    }

    /// Today's spending in nanodollars; calls in flight or of unknown cost count with their estimate.
    pub(super) fn today(&self, table: &SessionTable, now: Timestamp) -> u64 {
        spent_on_day(table, &lock(&self.taken), now)
    }
}

/// The configured budgets.
pub(super) fn budget(llm: &Llm) -> Budget {
    Budget {
        session_nanos: llm.session_budget_usd.map(prices::nanos),
        daily_nanos: llm.daily_budget_usd.map(prices::nanos),
    }
}

/// What counts against the budgets. A call that is both reserved and recorded as in flight counts once.
fn spent(table: &SessionTable, session: &SessionId, taken: &BTreeMap<SessionId, u64>, now: Timestamp) -> Spending {
    let session_nanos = spent_on_session(table, session, taken);
    Spending { session_nanos, day_nanos: spent_on_day(table, taken, now) }
}

fn spent_on_session(table: &SessionTable, session: &SessionId, taken: &BTreeMap<SessionId, u64>) -> u64 {
    let known = table.get(session).and_then(|row| row.state.enrichment());
    let (all, call) = known.map_or((0, 0), |known| (known.spent_nanos(), known.call.as_ref().map_or(0, |it| it.nanos)));
    match taken.get(session) {
        Some(taken) => all.saturating_sub(call).saturating_add(*taken),
        None => all,
    }
}

fn spent_on_day(table: &SessionTable, taken: &BTreeMap<SessionId, u64>, now: Timestamp) -> u64 {
    let today = ledger::day(now);
    let recorded = ledger::spent_on(table.iter().map(|(_, row)| &row.state), today);
    let twice = taken.keys().filter_map(|id| table.get(id)?.state.enrichment()?.call.as_ref());
    let twice = twice.filter(|call| ledger::day(call.at) == today).map(|call| call.nanos).fold(0, u64::saturating_add);
    taken.values().copied().fold(recorded.saturating_sub(twice), u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use baton_config::endpoint::{BaseUrl, Endpoint};

    fn llm(session: Option<f64>, daily: Option<f64>) -> Llm {
        Llm {
            endpoint: Endpoint {
                base_url: BaseUrl::new("http://localhost/v1").unwrap(),
                model: "m".to_owned(),
                key: None,
            },
            context_tokens: 8_000,
            max_output_tokens: 100,
            timeout: Duration::from_secs(1),
            max_concurrency: 2,
            session_budget_usd: session,
            daily_budget_usd: daily,
        }
    }

    #[test]
    fn calls_at_once_cannot_spend_together_what_each_may_alone() {
        let (budgets, table, llm) = (Budgets::default(), SessionTable::default(), llm(Some(0.5), Some(1.0)));
        let id = |text: &str| SessionId::new(text).unwrap();
        let wanted = |usd: f64| Wanted { next: prices::nanos(usd), all: prices::nanos(usd) };
        let take = |session: &str, usd: f64, allowance: Option<&Arc<Allowance>>| {
            budgets.reserve(&id(session), &wanted(usd), &llm, allowance, &table, Timestamp(0))
        };
        assert!(take("a", 0.6, None).unwrap_err().why.contains("llm.session_budget_usd"));
        let (a, b) = (take("a", 0.5, None).unwrap(), take("b", 0.4, None).unwrap());
        let over = take("c", 0.2, None).unwrap_err().why;
        assert!(over.contains("llm.daily_budget_usd") && over.contains("1970-01-02"), "{over}");
        assert_eq!(budgets.today(&table, Timestamp(0)), prices::nanos(0.9));
        let today = budgets.today(&table, Timestamp(0));
        assert!(!budgets.allows(&id("c"), &wanted(0.2), &llm, &table, today));
        assert!(budgets.allows(&id("c"), &wanted(0.1), &llm, &table, today));
        drop(b);
        let c = take("c", 0.2, None).unwrap();
        // A person's allowance replaces the daily budget and covers the whole run.
        let allowance = Arc::new(Allowance::new(0.5));
        let mut d = take("d", 0.4, Some(&allowance)).unwrap();
        assert!(take("e", 0.2, Some(&allowance)).unwrap_err().why.contains("--max-usd"));
        // A call that was not made returns everything, one that was made returns what it did not cost, and one costs
        // more than estimated.
        drop(take("e", 0.1, Some(&allowance)).unwrap());
        d.spent = prices::nanos(0.3);
        drop((a, c, d));
        let mut e = take("e", 0.15, Some(&allowance)).unwrap();
        e.spent = prices::nanos(0.19);
        drop(e);
        assert!(take("f", 0.02, Some(&allowance)).unwrap_err().why.contains("--max-usd"));
        let mut f = take("f", 0.01, Some(&allowance)).unwrap();
        f.spent = prices::nanos(7.0);
        drop(f);
        assert!(take("g", 0.000_001, Some(&allowance)).is_err(), "nothing is left");
        assert_eq!(budgets.today(&table, Timestamp(0)), 0);
    }
}
