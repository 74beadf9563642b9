//! An endpoint that misbehaves in every way we know: what is recorded, what it costs, and that the episode stays.

use std::fs;
use std::time::Duration;

use baton_endpoint::{CHAT, FakeEndpoint, Fault};
use serde_json::json;

use super::{configure, costs, enriched, enrichment, session, talks};
use crate::world::{World, files_below, id, text, wait};

fn answer(status: u16, retry_after: Option<&str>, body: &str) -> Fault {
    Fault::Answer { status, retry_after: retry_after.map(str::to_owned), body: body.to_owned() }
}

#[test]
fn after_each_fault_the_episode_stays_says_why_and_is_enriched_when_somebody_asks() {
    let world = World::new();
    let endpoint = FakeEndpoint::start().unwrap();
    let prices = json!({"made": {"input": 1, "output": 1}});
    configure(&world, &endpoint, json!({"timeout_ms": 400, "prices": prices, "check_interval": 600}));
    for (number, fault, said, unknown) in [
        (1, Fault::Hang, "no answer within", 1),
        (2, Fault::Trickle(Duration::from_millis(100)), "no answer within", 1),
        (3, Fault::Reset, "the connection broke", 1),
        (4, Fault::status(401, "no such key"), "no such key", 0),
        (5, answer(429, Some("3600"), "slow down"), "slow down", 0),
        (6, answer(429, None, "plain text"), "plain text", 0),
        (7, Fault::status(500, "boom"), "boom", 0),
        (8, answer(400, None, "{\"error\":{\"code\":400,\"message\":\"odd request\"}}"), "odd request", 0),
    ] {
        session(&world, number);
        let uuid = world.close(&id(number));
        let before = talks(&endpoint);
        endpoint.script(CHAT, [fault.clone()]);
        let failed = world.run(&["enrich", &id(number)]);
        assert!(failed.code == 1 && failed.err.contains(said), "{fault:?}: {}{}", failed.out, failed.err);
        assert_eq!(talks(&endpoint), before + 1, "{fault:?}: one request and no more");
        let shown = world.show(&id(number));
        assert_eq!((&shown["episode"]["tier"], &shown["episode"]["uuid"]), (&json!("extractive"), &json!(uuid)));
        let rows = costs(&world, "session")["rows"].clone();
        let row = rows.as_array().unwrap().iter().find(|row| row["key"] == *id(number)).cloned().unwrap();
        assert_eq!((&row["calls"], &row["unknown_calls"]), (&json!(1), &json!(unknown)), "{fault:?}: {row}");
        // An explicit request ignores backoff and breaker.
        world.ok(&["enrich", &id(number)]);
        assert_eq!(world.show(&id(number))["episode"]["tier"], "enriched", "{fault:?}");
    }
    let log = world.log();
    assert!(!log.contains("wombats") && !log.contains("They are fed"), "the log tells nothing of what was said");
}

#[test]
fn an_answer_of_no_use_is_asked_once_more_and_then_the_episode_stays() {
    let world = World::new();
    let endpoint = FakeEndpoint::start().unwrap();
    configure(&world, &endpoint, json!({"check_interval": 600}));
    let wrong = |field: &str, value: serde_json::Value| {
        let mut said = json!({
            "objective": "x", "work_completed": [], "external_research": [], "knowledge_stored": [], "decisions": [],
            "errors": [], "unresolved": [], "next_steps": [], "continuation_context": "", "entities": [], "facts": [],
        });
        said[field] = value;
        Fault::Says(said.to_string())
    };
    for (number, fault, why) in [
        (1, Fault::Declines("I would rather not".to_owned()), "refused"),
        (2, Fault::Cut, "cut_off"),
        (3, Fault::Says("I cannot do that.".to_owned()), "invalid"),
        (4, wrong("decisions", json!("none")), "invalid"),
        (5, wrong("objective", json!(7)), "invalid"),
        (6, wrong("next_steps", json!([{"text": "go", "line": "three"}])), "invalid"),
        (7, Fault::Garbage(10_000_000), "invalid"),
        (8, answer(200, None, "{\"choices\":[]}"), "invalid"),
    ] {
        session(&world, number);
        world.close(&id(number));
        let before = talks(&endpoint);
        endpoint.script(CHAT, [fault.clone(), fault.clone()]);
        let given_up = world.run(&["enrich", &id(number)]);
        assert!(
            given_up.code == 1 && given_up.err.contains("the model was asked twice"),
            "{fault:?}: {}",
            given_up.err
        );
        assert_eq!(enrichment(&world)["given_up"], number, "{fault:?}");
        assert_eq!(talks(&endpoint), before + 2, "{fault:?}");
        let closed = world.json(&["close", &id(number)]);
        assert!(text(&closed["message"]).contains(&format!("given up ({why})")), "{fault:?}: {closed}");
        let shown = world.show(&id(number));
        assert_eq!(shown["episode"]["tier"], "extractive");
        let told = &shown["enrichment"];
        assert_eq!((&told["state"], &told["why"]), (&json!("given_up"), &json!(why)), "{fault:?}");
        assert!(text(&told["next_step"]).contains(&format!("then `baton enrich {}`", id(number))), "{told}");
    }
    assert!(world.ok(&["show", &id(2)]).out.contains("given_up (cut_off)"));
    let requests = endpoint.requests();
    assert!(requests.iter().any(|request| request.texts.last().unwrap().contains("decisions must be an array")));
    // One failure is forgiven.
    let odd = [Fault::Cut, Fault::Bare, Fault::Fenced, Fault::Trickle(Duration::from_millis(2))];
    for (number, fault) in (9..).zip(odd) {
        session(&world, number);
        endpoint.script(CHAT, [fault]);
        world.ok(&["enrich", &id(number)]);
        assert_eq!(world.show(&id(number))["episode"]["tier"], "enriched");
    }
    // The same in the background.
    configure(&world, &endpoint, json!({}));
    session(&world, 13);
    endpoint.script(CHAT, [Fault::Cut, Fault::Cut]);
    world.close(&id(13));
    assert!(wait(|| enrichment(&world)["given_up"] == 9), "{}\n{}", enrichment(&world), world.log());
    // A person may ask again, and gets a message written for people.
    endpoint.script(CHAT, [Fault::Cut, Fault::Cut]);
    let again = world.run(&["enrich", &id(2)]);
    assert!(again.code == 1 && again.err.contains("raise llm.max_output_tokens"), "{}{}", again.out, again.err);
    assert!(!again.err.contains("be much shorter"), "{}", again.err);
    world.ok(&["enrich", &id(1)]);
    assert_eq!(enrichment(&world)["given_up"], 8);
}

#[test]
fn an_endpoint_that_is_down_keeps_nobody_waiting_and_what_is_owed_is_done_when_it_is_back() {
    let world = World::new();
    let endpoint = FakeEndpoint::start().unwrap();
    configure(&world, &endpoint, json!({}));
    let port = endpoint.port();
    drop(endpoint);
    session(&world, 1);
    world.close(&id(1));
    assert!(wait(|| world.problems().contains("no connection")), "{}", world.log());
    // Neither queries nor closes wait for it.
    session(&world, 2);
    world.close(&id(2));
    assert_eq!(world.found("number2x"), [id(2)]);
    let row = costs(&world, "session")["total"].clone();
    assert_eq!((&row["unknown_calls"], &row["usd"]), (&json!(0), &json!(0.0)), "a refused connection costs nothing");
    let endpoint = FakeEndpoint::listen(port).unwrap();
    world.ok(&["enrich", &id(1)]);
    world.ok(&["enrich", &id(2)]);
    assert_eq!((talks(&endpoint), enrichment(&world)["owed"].as_u64()), (2, Some(0)));
}

#[test]
fn a_stored_conversation_that_cannot_be_read_for_a_moment_is_not_given_up() {
    let world = World::new();
    let endpoint = FakeEndpoint::start().unwrap();
    configure(&world, &endpoint, json!({"check_interval": 600}));
    session(&world, 1);
    world.close(&id(1));
    // Folders in place of the files: they exist, and reading them fails.
    let (blobs, aside) = (world.home().join("blobs").join(id(1)), world.path("aside"));
    let stored = files_below(&blobs);
    assert!(!stored.is_empty());
    fs::rename(&blobs, &aside).unwrap();
    stored.iter().for_each(|file| fs::create_dir_all(file).unwrap());
    let failed = world.run(&["enrich", &id(1)]);
    assert!(failed.code == 1 && failed.err.contains("cannot be read now"), "{}{}", failed.out, failed.err);
    configure(&world, &endpoint, json!({}));
    let told = enrichment(&world);
    assert_eq!((&told["given_up"], &told["owed"], talks(&endpoint)), (&json!(0), &json!(1), 0), "{told}");
    // The daemon may be about to write there again.
    let put_back = || fs::remove_dir_all(&blobs).and_then(|()| fs::rename(&aside, &blobs)).is_ok();
    assert!((0..100).any(|_| put_back()), "{}", blobs.display());
    enriched(&world, 1);
    assert_eq!(talks(&endpoint), 1);
}

#[test]
fn a_page_of_whoever_stands_between_is_no_answer_and_nothing_is_given_up_for_it() {
    let world = World::new();
    let endpoint = FakeEndpoint::start().unwrap();
    configure(&world, &endpoint, json!({"prices": {"made": {"input": 1, "output": 1}}}));
    endpoint.always(CHAT, Some(answer(200, None, "<html>Please log in to the network</html>")));
    for number in 1..=3 {
        session(&world, number);
        world.close(&id(number));
    }
    assert!(wait(|| world.problems().contains("sent an HTML page")), "{}", world.problems());
    let says = || world.problems().contains("log in to the network if it requires that");
    assert!(wait(says), "while a call is under way another remedy is told: {}", world.problems());
    let failed = world.run(&["enrich", &id(1)]);
    assert!(failed.code == 1 && failed.err.contains("check that base_url is that of"), "{}{}", failed.out, failed.err);
    assert!(failed.err.contains("it stays owed, and is tried again by itself"), "{}", failed.err);
    // No model was asked: a night of such failures spends nothing of the budget.
    let (total, told) = (costs(&world, "day")["total"].clone(), enrichment(&world));
    assert!(total["calls"].as_u64() > Some(1), "{total}");
    assert_eq!((&total["unknown_calls"], &total["usd"]), (&json!(0), &json!(0.0)), "{total}");
    assert_eq!((&told["unknown_calls"], &told["spent_today_usd"]), (&json!(0), &json!(0.0)), "{told}");
    let explained = world.ok(&["explain", &id(1)]).out;
    assert!(explained.contains("web_page") && explained.contains("no model was asked"), "{explained}");
    endpoint.always(CHAT, Some(answer(200, None, "{\"object\": \"list\", \"data\": []}")));
    let failed = world.run(&["enrich", &id(2)]);
    assert!(failed.code == 1 && failed.err.contains("has no message of a model"), "{}{}", failed.out, failed.err);
    let told = enrichment(&world);
    assert_eq!((&told["given_up"], &told["owed"]), (&json!(0), &json!(3)), "{told}");
    assert!(told["unknown_calls"].as_u64() > Some(0), "what it cost nobody knows: {told}");
    assert!(world.ok(&["explain", &id(2)]).out.contains("not_understood"));
    // Unsuccessful calls change nothing that is searched, and leave no lag.
    assert!(wait(|| world.json(&["status"])["memory"]["lag"] == 0), "{}", world.json(&["status"])["memory"]);
    endpoint.always(CHAT, None);
    let all = world.json(&["enrich", "--all"]);
    assert_eq!(all["failures"], 0, "{all}");
    (1..=3).for_each(|number| drop(enriched(&world, number)));
    assert_eq!(world.problems(), "[]");
}
