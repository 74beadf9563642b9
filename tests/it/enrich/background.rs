//! What happens in the background while a model is asked, or cannot be: waiting, order, limits, other endpoints.

use std::time::Duration;

use baton_config::endpoint::{BaseUrl, Endpoint};
use baton_config::settings::{Llm, Settings};
use baton_endpoint::{CHAT, FakeEndpoint, Fault};
use baton_events::session::{CallOutcome, CloseReason, Enrichment};
use serde_json::json;

use super::{configure, costs, enriched, enrichment, session, talks};
use crate::time::{Held, after};
use crate::world::{World, id, text, wait};

/// Settings with this endpoint.
fn with_a_model(endpoint: &FakeEndpoint) -> Settings {
    let endpoint =
        Endpoint { base_url: BaseUrl::new(&endpoint.base_url()).unwrap(), model: "made".to_owned(), key: None };
    let llm = Llm {
        endpoint,
        context_tokens: 128_000,
        max_output_tokens: 2_000,
        timeout: Duration::from_secs(60),
        max_concurrency: 2,
        session_budget_usd: None,
        daily_budget_usd: None,
    };
    Settings { llm: Some(llm), ..Settings::default() }
}

/// Stops the daemon and starts one that knows nothing of the endpoint, so that retries depend on the log alone.
fn begin_anew(held: &mut Held, endpoint: &FakeEndpoint) {
    held.stop();
    held.begin_with(with_a_model(endpoint));
}

fn known(held: &Held, session: &str) -> Enrichment {
    held.state(session).unwrap().enrichment().cloned().unwrap_or_default()
}

/// A session with a prompt at 5 s that is then closed, so that a model is asked about it at 65 s.
fn closed(held: &Held, number: u32) -> String {
    let me = id(number);
    held.world.transcript("-work-one", &me).at(after(0)).prompt("the marmot asks").reply("it is answered");
    held.world.ok(&["sessions"]);
    held.close(&me, CloseReason::Explicit, &format!("close {number}"));
    me
}

#[test]
fn an_endpoint_that_wants_to_be_left_alone_is_for_a_quarter_of_an_hour_at_most() {
    let endpoint = FakeEndpoint::start().unwrap();
    let mut held = Held::new();
    begin_anew(&mut held, &endpoint);
    held.at(5);
    let me = closed(&held, 1);
    let retry_after = Some("3600".to_owned());
    endpoint.script(CHAT, [Fault::Answer { status: 429, retry_after, body: "{}".to_owned() }]);
    held.at(66);
    let waits = held.wait_for(&me, |state| state.enrichment().is_some_and(|known| known.failures == 1));
    let retry_at = waits.enrichment().unwrap().retry_at.unwrap();
    assert_eq!(retry_at, after(66 + 15 * 60), "an hour is more than is granted");
    let shown = held.world.show(&me);
    assert_eq!((&shown["enrichment"]["state"], &shown["enrichment"]["why"]), (&json!("owed"), &json!("rate_limited")));
    assert_eq!(shown["enrichment"]["retry_at"], retry_at.to_string());
    let explained = held.world.ok(&["explain", &me]).out;
    assert!(explained.contains("Next: enrich 2026-03-14 09:16"), "{explained}");
    assert_eq!(enrichment(&held.world)["owed"], 1);
    // A moment before the retry is due, another session is asked about, and this one is not.
    begin_anew(&mut held, &endpoint);
    held.at(66 + 13 * 60);
    let other = closed(&held, 2);
    held.at(66 + 15 * 60 - 1);
    held.wait_for(&other, |state| state.enriched_by().is_some());
    assert_eq!((talks(&endpoint), known(&held, &me).calls), (2, 1));
    held.at(66 + 15 * 60);
    held.wait_for(&me, |state| state.enriched_by().is_some());
    assert_eq!((talks(&endpoint), known(&held, &me).calls), (3, 2));
}

#[test]
fn a_service_that_fails_three_times_is_asked_later_each_time_and_costs_nothing() {
    let endpoint = FakeEndpoint::start().unwrap();
    let mut held = Held::new();
    begin_anew(&mut held, &endpoint);
    held.at(5);
    let me = closed(&held, 1);
    let (mut now, mut waited) = (66, 0);
    for failures in 1..=3 {
        endpoint.script(CHAT, [Fault::status(500, "boom")]);
        held.at(now);
        let failed = held.wait_for(&me, |state| state.enrichment().is_some_and(|known| known.failures == failures));
        let known = failed.enrichment().unwrap();
        assert_eq!((known.failed, talks(&endpoint)), (Some(CallOutcome::Unavailable), failures as usize));
        let waits = known.retry_at.unwrap().since_ms(after(now)) / 1000;
        assert!(waits > waited, "{failures}: {waits} s after {waited} s");
        (waited, now) = (waits, now + waits + 1);
        // A new daemon has no pause for the endpoint, so the log alone decides.
        begin_anew(&mut held, &endpoint);
    }
    held.at(now);
    held.wait_for(&me, |state| state.enriched_by().is_some());
    assert_eq!(talks(&endpoint), 4);
    let total = costs(&held.world, "session")["total"].clone();
    assert_eq!((&total["calls"], &total["unknown_calls"], &total["usd"]), (&json!(4), &json!(0), &json!(0.0)));
}

#[test]
fn nobody_waits_while_a_model_is_asked() {
    let world = World::new();
    let endpoint = FakeEndpoint::start().unwrap();
    configure(&world, &endpoint, json!({"max_concurrency": 1}));
    endpoint.script(CHAT, [Fault::Hang]);
    session(&world, 1);
    world.close(&id(1));
    assert!(wait(|| talks(&endpoint) == 1), "{}", world.log());
    // Waiting for it would take two minutes.
    session(&world, 2);
    let begun = std::time::Instant::now();
    world.close(&id(2));
    session(&world, 3);
    assert_eq!(world.found("number3x"), [id(3)]);
    assert_eq!(world.show(&id(1))["enrichment"]["state"], "owed");
    world.ok(&["recall", "what is still open"]);
    world.ok(&["handoff"]);
    world.ok(&["session-tracking", "status"]);
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    let total = costs(&world, "session")["total"].clone();
    assert_eq!((&total["running_calls"], talks(&endpoint)), (&json!(1), 1), "it is asked all the while");
}

#[test]
fn what_a_question_has_found_is_asked_about_before_the_rest_and_never_more_at_once_than_may_be() {
    let world = World::new();
    let endpoint = FakeEndpoint::start().unwrap();
    // All become due at once when the quiet time is shortened.
    let close = |numbers: std::ops::RangeInclusive<u32>| {
        configure(&world, &endpoint, json!({"check_interval": 600}));
        for number in numbers {
            session(&world, number);
            world.close(&id(number));
        }
    };
    endpoint.always(CHAT, Some(Fault::Slow(Duration::from_millis(700))));
    close(1..=12);
    configure(&world, &endpoint, json!({"max_concurrency": 3}));
    assert!(wait(|| enrichment(&world)["enriched"] == 12), "{}\n{}", enrichment(&world), world.log());
    assert_eq!((talks(&endpoint), endpoint.most_at_once()), (12, 3));

    // One at a time: the first occupies the only slot while the others become due.
    endpoint.always(CHAT, None);
    endpoint.script(CHAT, [Fault::Slow(Duration::from_secs(8))]);
    close(21..=24);
    configure(&world, &endpoint, json!({"max_concurrency": 1}));
    assert!(wait(|| talks(&endpoint) == 13), "{}", world.log());
    let first = endpoint.requests().pop().unwrap().texts[1].clone();
    let asked = (22..=24).rev().find(|number| !first.contains(&format!("number{number}x"))).unwrap();
    assert_eq!(world.found(&format!("number{asked}x")), [id(asked)]);
    assert!(wait(|| enrichment(&world)["enriched"] == 16), "{}\n{}", enrichment(&world), world.log());
    let second = endpoint.requests()[13].texts[1].clone();
    assert!(second.contains(&format!("number{asked}x")), "{asked}: {second}");
}

#[test]
fn another_endpoint_or_a_lower_price_is_not_held_up_by_what_was_before() {
    let world = World::new();
    let (refusing, endpoint) = (FakeEndpoint::start().unwrap(), FakeEndpoint::start().unwrap());
    refusing.always(CHAT, Some(Fault::status(401, "no such key")));
    configure(&world, &refusing, json!({}));
    session(&world, 1);
    world.close(&id(1));
    assert!(wait(|| world.problems().contains("no such key")), "{}", world.log());
    session(&world, 2);
    world.close(&id(2));
    // The refusing endpoint is not asked again for at least half a minute; that does not affect the second endpoint.
    let begun = std::time::Instant::now();
    configure(&world, &endpoint, json!({}));
    enriched(&world, 2);
    // The pause of session 1 was due to a failure of the other endpoint.
    enriched(&world, 1);
    assert_eq!(world.problems(), "[]");
    assert!(begun.elapsed() < Duration::from_secs(25), "{:?}", begun.elapsed());

    // A price per thousand tokens instead of per million: no session may be asked about.
    let price = |usd: f64| json!({"prices": {"made": {"input": usd, "output": usd}}});
    configure(&world, &endpoint, price(1_000.0));
    session(&world, 3);
    world.close(&id(3));
    world.wait_for(&id(3), "the budget's no", |shown| shown["enrichment"]["state"] == "over_budget");
    let problems = world.problems();
    assert!(problems.contains("raise llm.session_budget_usd") && !problems.contains("another day"), "{problems}");
    configure(&world, &endpoint, price(1.0));
    enriched(&world, 3);
    assert_eq!(enrichment(&world)["over_budget"], 0);
}

#[test]
fn what_an_endpoint_does_not_take_and_what_a_model_makes_nothing_of_is_said_with_what_helps() {
    let world = World::new();
    let endpoint = FakeEndpoint::start().unwrap();
    configure(&world, &endpoint, json!({}));
    let body =
        json!({"error": {"code": "context_length_exceeded", "message": "maximum context length is 2048 tokens"}});
    endpoint.always(CHAT, Some(Fault::Answer { status: 400, retry_after: None, body: body.to_string() }));
    session(&world, 1);
    world.close(&id(1));
    assert!(wait(|| world.problems().contains("set llm.context_tokens")), "{}\n{}", world.problems(), world.log());
    assert!(world.problems().contains("1 session waits to be enriched"), "{}", world.problems());
    endpoint.always(CHAT, None);
    world.ok(&["enrich", &id(1)]);
    assert_eq!(world.problems(), "[]");
    session(&world, 2);
    endpoint.script(CHAT, [Fault::Cut, Fault::Cut]);
    world.close(&id(2));
    assert!(wait(|| world.problems().contains("raise llm.max_output_tokens")), "{}", world.problems());
    assert!(world.problems().contains(&format!("then `baton enrich {}`", &id(2)[..8])), "{}", world.problems());
}

#[test]
fn a_call_that_broke_is_of_unknown_cost_also_where_there_is_no_price() {
    let world = World::new();
    let endpoint = FakeEndpoint::start().unwrap();
    configure(&world, &endpoint, json!({"check_interval": 600}));
    session(&world, 1);
    endpoint.script(CHAT, [Fault::Reset]);
    let broken = world.run(&["enrich", &id(1)]);
    assert!(broken.out.contains("1 call, 0.000000 USD at most, 1 of them of unknown cost"), "{}", broken.out);
    let total = costs(&world, "session")["total"].clone();
    assert_eq!((&total["calls"], &total["unknown_calls"]), (&json!(1), &json!(1)), "{total}");
    let told = world.ok(&["costs"]).out;
    assert!(text(&json!(told)).contains("1, $0.00 at most"), "{told}");
}
