//! Costs of model calls, by each grouping.

use super::*;
use crate::ledger::{By, costs, day, day_name, spent_on};
use baton_conversation::record::SessionId;
use baton_events::session::{Cost, DAY_MS, Enrichment, ModelCall, Place, State};

/// A session of a project with rows `day model calls unknown nanos unknown_nanos`, and optionally a running call with
/// its day and maximum cost.
fn session(project: Option<&str>, rows: &[(i64, &str, u64, u64, u64, u64)], running: Option<(i64, u64)>) -> State {
    let cost = |(day, model, calls, unknown, nanos, unknown_nanos): &(i64, &str, u64, u64, u64, u64)| Cost {
        calls: *calls,
        unknown: *unknown,
        tokens_in: 10 * calls,
        nanos: *nanos,
        unknown_nanos: *unknown_nanos,
        ..Cost::new(*day, model)
    };
    let call = running.map(|(day, nanos)| ModelCall {
        id: 9,
        model: "m".to_owned(),
        content: baton_conversation::hash::ContentHash([1; 32]),
        request: baton_conversation::hash::ContentHash([1; 32]),
        ask: baton_events::session::Ask::Whole,
        part: 0,
        parts: 1,
        again: false,
        tokens_in: 5,
        tokens_out: 5,
        nanos,
        at: Timestamp(day * DAY_MS + 7),
    });
    let known = Enrichment { costs: rows.iter().map(cost).collect(), call, ..Enrichment::default() };
    let place = project.map(|project| Place::new(project, project));
    State { place, enrichment: Some(Box::new(known)), ..State::default() }
}

fn world() -> Vec<(SessionId, State)> {
    let id = |text| SessionId::new(text).unwrap();
    vec![
        (id("a"), session(Some("/p"), &[(10, "m", 2, 0, 50, 0), (11, "n", 1, 1, 0, 30)], None)),
        (id("b"), session(Some("/q"), &[(11, "m", 1, 0, 200, 0)], Some((11, 7)))),
        (id("c"), session(None, &[], None)),
        (id("d"), session(None, &[(9, "m", 1, 0, 1, 0)], None)),
        (id("e"), State::default()),
    ]
}

#[test]
fn costs_are_told_apart_and_what_is_unknown_is_told_as_that() {
    let world = world();
    let told = |by, from_day| {
        let costs = costs(world.iter().map(|(id, state)| (id, state)), by, &(from_day..=i64::MAX));
        let line = |key: &str, it: &Spent| {
            format!(
                "{key} {} calls {} unknown {} running {}+{}",
                it.calls, it.unknown, it.running, it.nanos, it.unknown_nanos
            )
        };
        let mut lines: Vec<String> = costs.lines.iter().map(|(key, spent)| line(key, spent)).collect();
        lines.push(line("all", &costs.total));
        lines
    };
    let all = "all 6 calls 1 unknown 1 running 251+37";
    assert_eq!(
        told(By::Session, 0),
        [
            "b 2 calls 0 unknown 1 running 200+7",
            "a 3 calls 1 unknown 0 running 50+30",
            "d 1 calls 0 unknown 0 running 1+0",
            all
        ]
    );
    assert_eq!(
        told(By::Project, 0),
        [
            "/q 2 calls 0 unknown 1 running 200+7",
            "/p 3 calls 1 unknown 0 running 50+30",
            "- 1 calls 0 unknown 0 running 1+0",
            all
        ]
    );
    assert_eq!(told(By::Model, 0), ["m 5 calls 0 unknown 1 running 251+7", "n 1 calls 1 unknown 0 running 0+30", all]);
    assert_eq!(
        told(By::Day, 10),
        [
            "1970-01-12 3 calls 1 unknown 1 running 200+37",
            "1970-01-11 2 calls 0 unknown 0 running 50+0",
            "all 5 calls 1 unknown 1 running 250+37"
        ]
    );
    for (day, expected) in [(9, 1), (10, 50), (11, 237), (12, 0)] {
        assert_eq!(spent_on(world.iter().map(|(_, state)| state), day), expected, "{day}");
    }
    for by in By::ALL.iter().copied() {
        assert_eq!(By::parse(by.as_str()), Some(by));
    }
}

#[test]
fn a_day_is_one_of_utc() {
    for (at, number, name) in [(0, 0, "1970-01-01"), (-1, -1, "1969-12-31"), (DAY_MS, 1, "1970-01-02")] {
        assert_eq!((day(Timestamp(at)), day_name(number).as_str()), (number, name));
    }
}
