//! A daemon that is killed while a model is asked: there is one current episode, unknown costs are reported as unknown,
//! and at most one call is made twice.

use std::time::Duration;

use baton_endpoint::{CHAT, FakeEndpoint, Fault};
use serde_json::json;

use super::{configure, costs, enriched, enrichment, session, talks};
#[cfg(target_os = "linux")]
use crate::full_disk::limit_files;
use crate::world::{World, files_below, finished, id, list, wait};

#[test]
fn a_call_that_was_cut_off_is_unknown_and_made_once_more() {
    let world = World::new();
    let endpoint = FakeEndpoint::start().unwrap();
    let prices = json!({"made": {"input": 1, "output": 1}});
    configure(&world, &endpoint, json!({"prices": prices}));
    endpoint.script(CHAT, [Fault::Hang]);
    session(&world, 1);
    let uuid = world.close(&id(1));
    assert!(wait(|| talks(&endpoint) == 1), "{}", world.log());
    // The call has started and is not answered.
    world.kill();
    let shown = enriched(&world, 1);
    assert_eq!(shown["episode"]["uuid"], uuid);
    assert_eq!(talks(&endpoint), 2);
    let total = costs(&world, "session")["total"].clone();
    assert_eq!((&total["calls"], &total["unknown_calls"]), (&json!(2), &json!(1)), "{total}");
    assert!(total["unknown_usd"].as_f64().unwrap() > 0.0, "{total}");
    let spent = enrichment(&world)["spent_today_usd"].as_f64().unwrap();
    let (known, unknown) = (total["usd"].as_f64().unwrap(), total["unknown_usd"].as_f64().unwrap());
    assert!((spent - known - unknown).abs() < 1e-9, "what is unknown counts against the budget");
    assert_eq!(enrichment(&world)["unknown_calls"], 1);
    assert!(world.ok(&["costs"]).out.contains("at most"));
    assert_eq!(world.json(&["log", "verify"])["clean"], true);
}

/// The answer is stored, but the log accepts no more events, so its cost is not recorded when the daemon is killed.
#[cfg(target_os = "linux")]
#[test]
fn killed_between_an_answer_and_its_event_the_call_is_unknown_and_made_once_more() {
    let world = World::new().run_by(&["sh", "-c", "trap '' XFSZ; exec \"$@\"", "sh"]);
    let endpoint = FakeEndpoint::start().unwrap();
    configure(&world, &endpoint, json!({}));
    session(&world, 1);
    let uuid = world.close(&id(1));
    let (daemon, segments, blobs) =
        (world.daemon().unwrap(), world.home().join("log/segments"), world.home().join("blobs").join(id(1)));
    let before = files_below(&blobs);
    // While the model answers, limit the size of files to that of the log.
    endpoint.says(move |request| {
        let lengths = files_below(&segments).into_iter().filter_map(|file| Some(file.metadata().ok()?.len()));
        limit_files(daemon, lengths.max());
        usual(request)
    });
    assert!(
        wait(|| files_below(&blobs).iter().any(|file| !before.contains(file) && is_whole(file))),
        "{}",
        world.log()
    );
    world.kill();
    endpoint.says(usual);
    let shown = enriched(&world, 1);
    assert_eq!((&shown["episode"]["uuid"], talks(&endpoint)), (&json!(uuid), 2), "once more, and no more");
    let total = costs(&world, "session")["total"].clone();
    assert_eq!((&total["calls"], &total["unknown_calls"]), (&json!(2), &json!(1)), "{total}");
    assert_eq!(world.json(&["log", "verify"])["clean"], true);
}

/// True if the note is complete.
fn is_whole(file: &std::path::Path) -> bool {
    std::fs::read_to_string(file).is_ok_and(|text| text.contains("continuation_context") && text.ends_with('}'))
}

/// The model's answer about a session of one prompt and one reply.
fn usual(_: &baton_endpoint::Request) -> String {
    json!({
        "objective": "Fed", "work_completed": [], "external_research": [], "knowledge_stored": [], "decisions": [],
        "errors": [], "unresolved": [], "next_steps": [], "continuation_context": "", "entities": [], "facts": [],
    })
    .to_string()
}

#[test]
fn a_command_that_outlives_its_daemon_tells_of_every_call_once() {
    let world = World::new();
    let endpoint = FakeEndpoint::start().unwrap();
    let prices = json!({"made": {"input": 1, "output": 1}});
    configure(&world, &endpoint, json!({"prices": prices, "check_interval": 600}));
    session(&world, 1);
    world.close(&id(1));
    endpoint.script(CHAT, [Fault::Hang]);
    let waiting = world.spawn(&["enrich", &id(1), "--json"]);
    assert!(wait(|| talks(&endpoint) == 1), "{}", world.log());
    world.kill();
    let done = finished(waiting.wait_with_output().unwrap()).json();
    // Either the command that retries was faster, or the daemon that continues the request.
    let made = done["enriched"].as_u64().unwrap() + done["unchanged"].as_u64().unwrap();
    assert_eq!((made, &done["calls"], &done["unknown_calls"]), (1, &json!(2), &json!(1)), "{done}");
    let total = costs(&world, "session")["total"].clone();
    let spent = total["usd"].as_f64().unwrap() + total["unknown_usd"].as_f64().unwrap();
    assert!((done["usd"].as_f64().unwrap() - spent).abs() < 1e-9, "{done} {total}");
}

#[test]
fn whenever_it_is_killed_there_is_one_episode_and_at_most_one_call_for_each_kill_more() {
    let world = World::new();
    let endpoint = FakeEndpoint::start().unwrap();
    configure(&world, &endpoint, json!({"context_tokens": 5000, "max_output_tokens": 500, "max_concurrency": 1}));
    endpoint.always(CHAT, Some(Fault::Slow(Duration::from_millis(20))));
    let mut long = world.transcript("-work-zoo", &id(1)).minutes_ago(5);
    for number in 0..20 {
        long.prompt(&format!("Question {number} of many")).reply(&format!("{number} {}", "wallaby ".repeat(400)));
    }
    let uuid = world.close(&id(1));
    // Kills once at each call: before it is answered, or while its answer is stored.
    let mut kills = 0;
    while world.show(&id(1))["episode"]["tier"] != "enriched" && kills < 30 {
        // The interrupted call is made again and answered; after two failures in a row the daemon would pause.
        let before = talks(&endpoint);
        if !wait(|| talks(&endpoint) > before + 1 || world.show(&id(1))["episode"]["tier"] == "enriched") {
            panic!("nothing goes on: {}", world.log());
        }
        if kills < 6 {
            world.kill();
            kills += 1;
        }
    }
    let shown = world.show(&id(1));
    assert_eq!((&shown["episode"]["tier"], &shown["episode"]["uuid"]), (&json!("enriched"), &json!(uuid)), "{shown}");
    let made = talks(&endpoint);
    let steps = endpoint.requests().iter().filter(|it| it.texts[1].contains("summaries of the parts")).count();
    assert!(steps > 0, "some were joined before all were");
    let distinct: std::collections::BTreeSet<String> =
        endpoint.requests().into_iter().map(|request| request.texts[1].clone()).collect();
    assert!(made - distinct.len() <= kills, "{made} calls of {} for {kills} kills", distinct.len());
    // A call that was recorded and not yet sent counts too.
    let rows = list(&costs(&world, "session")["rows"]);
    let recorded = rows[0]["calls"].as_u64().unwrap() as usize;
    assert!((made..=made + kills).contains(&recorded), "{recorded} calls recorded, {made} made: {rows:?}");
    assert_eq!(world.json(&["log", "verify"])["clean"], true);
}
