//! Whether a call may be made: known before it is spent.

use baton_conversation::record::Timestamp;
use baton_events::prices::Price;
use baton_events::session::{CallTokens, DAY_MS};

/// What may be spent, in thousandths of a millionth of a US dollar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// On one session over its life; `None` for no bound.
    pub session_nanos: Option<u64>,
    /// On one day (UTC); `None` for no bound.
    pub daily_nanos: Option<u64>,
}

/// Whether a call can be afforded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Afford {
    /// It can.
    Yes,
    /// It waits for a larger `llm.session_budget_usd`.
    OverSession {
        /// What the session would have spent with it, at most.
        nanos: u64,
        /// What it may.
        budget: u64,
    },
    /// It waits for another day, or for a larger `llm.daily_budget_usd`.
    OverDay {
        /// What the day would have spent with it, at most.
        nanos: u64,
        /// What it may.
        budget: u64,
        /// When the next day begins.
        until: Timestamp,
    },
}

/// What was spent so far; what is unknown or under way counts as estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spending {
    /// On the session.
    pub session_nanos: u64,
    /// On the day.
    pub day_nanos: u64,
}

/// Whether calls that cost at most `nanos` fit both budgets. What costs nothing always does.
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

/// What is to be spent on one conversation, at most, in thousandths of a millionth of a US dollar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// On the next call.
    pub next: u64,
    /// On all that are left to be made, the next one included.
    pub all: u64,
}

/// Whether the next call fits both budgets, and all that are left the session's: nothing is begun that could not be brought to
/// its end. What does not fit a day goes on with the next one.
pub fn afford_all(wanted: &Wanted, spent: &Spending, budget: &Budget, now: Timestamp) -> Afford {
    let of_session = Budget { daily_nanos: None, ..*budget };
    match afford(wanted.all.max(wanted.next), spent, &of_session, now) {
        Afford::Yes => afford(wanted.next, spent, budget, now),
        over => over,
    }
}

/// The most that a request costs: nothing where there is no price.
pub fn estimate(price: Option<&Price>, tokens_in: u64, tokens_out: u64) -> u64 {
    price.map_or(0, |price| price.nanos(&CallTokens { input: tokens_in, output: tokens_out, cached: 0 }))
}

/// Whether a model may be asked: one without a price only on this machine, or where no budget is set that it could exceed
/// unseen. Which key helps, if not.
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
            // The rest goes on tomorrow.
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
