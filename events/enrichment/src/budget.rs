//! Decides before a call whether the budgets allow it.

use baton_conversation::record::Timestamp;
use baton_events::prices::Price;
use baton_events::session::{CallTokens, DAY_MS};

/// Spending limits, in nano-dollars (10⁻⁹ US dollars).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Per session over its lifetime; `None` for no limit.
    pub session_nanos: Option<u64>,
    /// Per day (UTC); `None` for no limit.
    pub daily_nanos: Option<u64>,
}

/// Whether the budgets allow a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Afford {
    /// They do.
    Yes,
    /// It waits for a larger `llm.session_budget_usd`.
    OverSession {
        /// Maximum spending of the session including the call.
        nanos: u64,
        /// The limit.
        budget: u64,
    },
    /// It waits for the next day, or for a larger `llm.daily_budget_usd`.
    OverDay {
        /// Maximum spending of the day including the call.
        nanos: u64,
        /// The limit.
        budget: u64,
        /// Beginning of the next day.
        until: Timestamp,
    },
}

/// Spending so far, in nano-dollars; calls with unknown cost and running calls count with their estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spending {
    /// Of the session.
    pub session_nanos: u64,
    /// Of the day.
    pub day_nanos: u64,
}

/// Checks whether a call that costs at most `nanos` fits both budgets. A free call always does.
pub fn afford(nanos: u64, spent: &Spending, budget: &Budget, now: Timestamp) -> Afford {
    let session = spent.session_nanos.saturating_add(nanos);
    let day = spent.day_nanos.saturating_add(nanos);
    match (budget.session_nanos, budget.daily_nanos) {
        _ if nanos == 0 => Afford::Yes,
        (Some(budget), _) if session > budget => Afford::OverSession { nanos: session, budget },
        (_, Some(budget)) if day > budget => {
            let until = Timestamp((now.0.div_euclid(DAY_MS) + 1).saturating_mul(DAY_MS));
            Afford::OverDay { nanos: day, budget, until }
        }
        _ => Afford::Yes,
    }
}

/// Maximum cost of the calls for one conversation, in nano-dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The next call.
    pub next: u64,
    /// All remaining calls, including the next.
    pub all: u64,
}

/// Checks the next call against both budgets, and all remaining calls against the session's: nothing is started that
/// could not be finished. Calls that exceed the day's budget continue the next day.
pub fn afford_all(wanted: &Wanted, spent: &Spending, budget: &Budget, now: Timestamp) -> Afford {
    let of_session = Budget { daily_nanos: None, ..*budget };
    match afford(wanted.all.max(wanted.next), spent, &of_session, now) {
        Afford::Yes => afford(wanted.next, spent, budget, now),
        over => over,
    }
}

/// Returns the maximum cost of a request in nano-dollars; 0 without a price.
pub fn estimate(price: Option<&Price>, tokens_in: u64, tokens_out: u64) -> u64 {
    price.map_or(0, |price| price.nanos(&CallTokens { input: tokens_in, output: tokens_out, cached: 0 }))
}

/// Checks whether a model may be called: a model without a price only on this machine, or if no budget is set that it
/// could exceed unnoticed.
///
/// # Errors
///
/// The configuration key that would allow it.
pub fn may_ask(price: Option<&Price>, is_loopback: bool, budget: &Budget) -> Result<(), &'static str> {
    let is_bound = budget.session_nanos.is_some() || budget.daily_nanos.is_some();
    match price.is_some() || is_loopback || !is_bound {
        true => Ok(()),
        false => Err("llm.prices"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_exceed_a_budget_waits() {
        let budget = |session, daily| Budget { session_nanos: session, daily_nanos: daily };
        let now = Timestamp(DAY_MS * 3 + 5);
        let until = Timestamp(DAY_MS * 4);
        for (nanos, session, day, budget, expected) in [
            (10, 0, 0, budget(Some(10), Some(10)), Afford::Yes),
            (11, 0, 0, budget(Some(10), Some(100)), Afford::OverSession { nanos: 11, budget: 10 }),
            (1, 10, 10, budget(Some(10), Some(100)), Afford::OverSession { nanos: 11, budget: 10 }),
            (1, 0, 10, budget(Some(10), Some(10)), Afford::OverDay { nanos: 11, budget: 10, until }),
            (1, 99, 99, budget(None, None), Afford::Yes),
            (0, 99, 99, budget(Some(1), Some(1)), Afford::Yes),
            (1, 0, 0, budget(Some(0), None), Afford::OverSession { nanos: 1, budget: 0 }),
            (u64::MAX, 1, 1, budget(None, Some(1)), Afford::OverDay { nanos: u64::MAX, budget: 1, until }),
        ] {
            let spent = Spending { session_nanos: session, day_nanos: day };
            assert_eq!(afford(nanos, &spent, &budget, now), expected, "{nanos} {session} {day}");
        }
    }

    #[test]
    fn a_conversation_in_parts_is_begun_only_if_it_can_be_ended() {
        let budget = Budget { session_nanos: Some(10), daily_nanos: Some(6) };
        let until = Timestamp(DAY_MS);
        for (next, all, session, day, expected) in [
            (5, 10, 0, 0, Afford::Yes),
            (5, 11, 0, 0, Afford::OverSession { nanos: 11, budget: 10 }),
            (2, 2, 8, 4, Afford::Yes),
            (2, 2, 9, 0, Afford::OverSession { nanos: 11, budget: 10 }),
            // The rest continues tomorrow.
            (5, 9, 1, 2, Afford::OverDay { nanos: 7, budget: 6, until }),
            (5, 0, 0, 0, Afford::Yes),
            (0, 0, 99, 99, Afford::Yes),
        ] {
            let spent = Spending { session_nanos: session, day_nanos: day };
            assert_eq!(afford_all(&Wanted { next, all }, &spent, &budget, Timestamp(0)), expected, "{next} {all}");
        }
    }

    #[test]
    fn a_model_without_a_price_is_asked_on_this_machine_or_without_a_budget() {
        let price = Price::new(0.4, 1.6);
        let set = Budget { session_nanos: Some(1), daily_nanos: None };
        for (price, loopback, budget, may) in [
            (Some(&price), false, set, true),
            (None, true, set, true),
            (None, false, set, false),
            (None, false, Budget { session_nanos: None, daily_nanos: Some(1) }, false),
            (None, false, Budget::default(), true),
        ] {
            assert_eq!(may_ask(price, loopback, &budget).is_ok(), may, "{price:?} {loopback} {budget:?}");
        }
        assert_eq!(estimate(Some(&price), 1_000_000, 1_000), 401_600_000);
        assert_eq!(estimate(None, 1_000_000, 1_000), 0);
    }
}
