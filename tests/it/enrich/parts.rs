//! A conversation that exceeds the model's context, and one that may be sent only in part.

use std::collections::BTreeMap;

use baton_endpoint::{CHAT, FakeEndpoint, Fault};
use serde_json::json;

use super::{configure, costs, enriched, enrichment, session, talks};
use crate::world::{World, id, text, wait};

/// A session of `exchanges` exchanges, each of about `words` words.
fn long(world: &World, exchanges: usize, words: usize) {
    let mut long = world.transcript("-work-zoo", &id(1)).minutes_ago(5);
    for number in 0..exchanges {
        let reply = format!("Answer{number}z {}", "wallaby ".repeat(words));
        long.prompt(&format!("Question{number}z of many")).reply(&reply);
    }
}

/// For each line of the transcript, the number of requests that contained it.
fn told(endpoint: &FakeEndpoint) -> BTreeMap<u64, usize> {
    let requests = endpoint.requests();
    let lines = requests.iter().flat_map(|request| request.texts[1].lines());
    let mut told = BTreeMap::new();
    for number in lines.filter_map(|line| line.split_once("| ")?.0.parse::<u64>().ok()) {
        *told.entry(number).or_default() += 1;
    }
    told
}

#[test]
fn with_a_small_context_every_line_is_sent_once_and_the_answers_are_joined_step_by_step() {
    let world = World::new();
    let endpoint = FakeEndpoint::start().unwrap();
    let prices = json!({"made": {"input": 1, "output": 4}});
    let limits = json!({"context_tokens": 4096, "prices": prices, "check_interval": 600});
    configure(&world, &endpoint, limits);
    long(&world, 60, 90);
    let of_new = world.json(&["sync", "--dry-run"]);
    let uuid = world.close(&id(1));
    let preview = world.json(&["sync", "--dry-run"]);
    assert_eq!(preview["enrich_cost_estimate"], of_new["enrich_cost_estimate"], "indexed or not");
    let done = world.json(&["enrich", &id(1)]);
    assert_eq!((&done["enriched"], &done["unseen"]), (&json!(1), &json!(0)), "{done}");
    let told = told(&endpoint);
    assert!(told.len() == 120 && told.values().all(|count| *count == 1), "{told:?}");
    let requests = endpoint.requests();
    let of = |words: &str| requests.iter().filter(|it| it.texts[1].contains(words)).count();
    let (parts, steps, last) = (of("Summarise this part"), of("summaries of the parts"), of("whole session of them"));
    assert!(parts > 4 && steps > 1 && last == 1, "{parts} {steps} {last}");
    assert_eq!(parts + steps + last, requests.len());
    assert!(requests.last().unwrap().texts[1].contains("whole session of them"));
    let shown = world.show(&id(1));
    let told = (&shown["episode"]["tier"], &shown["episode"]["uuid"], &shown["enrichment"]["unseen"]);
    assert_eq!(told, (&json!("enriched"), &json!(uuid), &json!(null)));
    let total = costs(&world, "session")["total"].clone();
    assert_eq!((&total["calls"], &done["calls"]), (&json!(requests.len()), &json!(requests.len())));
    // The preview is an upper bound of the cost, and not far from it.
    let (spent, most) = (done["usd"].as_f64().unwrap(), preview["enrich_cost_estimate"].as_f64().unwrap());
    assert!(spent > 0.0 && (spent..spent * 4.0).contains(&most), "{spent} of {most}");
    // It is the sum of the estimates of all calls, with the joining ones at their maximum length.
    let explained = world.ok(&["explain", &id(1)]).out;
    let reckoned: Vec<f64> = explained
        .lines()
        .filter(|line| line.contains(" begins: about "))
        .filter_map(|line| line.rsplit_once("at most ")?.1.split_once(" USD")?.0.parse().ok())
        .collect();
    let sum = reckoned.iter().sum::<f64>();
    assert!(
        reckoned.len() == requests.len() && (sum..sum * 1.5).contains(&(most + 1e-6)),
        "{most}: {sum} of {reckoned:?}"
    );
    // An answer of the configured length does not fit here, and every report says so at once.
    let crowded = "llm.max_output_tokens is 2000, but llm.context_tokens (4096) has room for";
    for told in [world.problems(), done["message"].to_string(), world.run(&["doctor"]).out, world.ok(&["config"]).err] {
        assert!(told.contains(crowded), "{told}");
    }
    assert_eq!(world.json(&["log", "verify"])["clean"], true);
    world.ok(&["enrich", &id(1)]);
    assert_eq!(talks(&endpoint), requests.len(), "nothing is asked twice");
}

#[test]
fn text_that_fits_no_part_is_reported_to_the_model_and_to_people() {
    let world = World::new();
    let endpoint = FakeEndpoint::start().unwrap();
    configure(&world, &endpoint, json!({"context_tokens": 4000, "max_output_tokens": 300, "check_interval": 600}));
    // Each exchange is a part of its own, and the number of parts is limited.
    long(&world, 70, 300);
    world.close(&id(1));
    let done = world.json(&["enrich", &id(1)]);
    let unseen = done["unseen"].as_u64().unwrap();
    let told = told(&endpoint);
    assert_eq!((told.len() as u64 + unseen, &done["enriched"]), (140, &json!(1)), "{done}");
    assert!(unseen > 0 && told.values().all(|count| *count == 1), "{told:?}");
    assert!(told.contains_key(&1) && told.contains_key(&140), "beginning and end: {told:?}");
    let message = text(&done["message"]);
    assert!(
        message.contains(&format!("{unseen} messages between beginning and end not sent: set llm.context_tokens")),
        "{message}"
    );
    let requests = endpoint.requests();
    let gap = format!("{unseen} things that were said or done are left out");
    assert!(requests[0].texts[1].contains(&gap) && requests.last().unwrap().texts[1].contains(&gap));
    let shown = world.show(&id(1));
    assert_eq!(shown["enrichment"]["unseen"], unseen, "{shown}");
    assert!(text(&shown["enrichment"]["next_step"]).contains("llm.context_tokens"), "{shown}");
    assert!(world.ok(&["show", &id(1)]).out.contains(&format!("{unseen} messages in the middle not sent")));
    // It is not asked about again as long as no more would be sent; with a larger context all of it is sent.
    let (before, again) = (talks(&endpoint), world.json(&["enrich", &id(1)]));
    let told = (&again["unchanged"], &again["unseen"], talks(&endpoint));
    assert_eq!(told, (&json!(1), &json!(unseen), before), "{again}");
    // A session that waits for budget to be sent more completely stops waiting when no more of it would be sent.
    let dear = json!({"made": {"input": 1_000, "output": 1_000}});
    configure(&world, &endpoint, json!({"context_tokens": 128_000, "prices": dear, "check_interval": 600}));
    let waits = world.run(&["enrich", &id(1)]);
    assert!(
        waits.code == 1 && waits.err.contains("what a model made of it before stays; it stays owed"),
        "{}{}",
        waits.out,
        waits.err
    );
    // The daemon may load the new configuration a moment later; then what waits is estimated anew.
    let told = world.wait_for(&id(1), "the budget's no", |shown| shown["enrichment"]["again"] == "over_budget");
    assert_eq!((&told["enrichment"]["state"], &enrichment(&world)["owed"]), (&json!("enriched"), &json!(1)), "{told}");
    configure(&world, &endpoint, json!({"context_tokens": 4000, "max_output_tokens": 300, "check_interval": 600}));
    assert!(wait(|| enrichment(&world)["owed"] == 0), "{}\n{}", enrichment(&world), world.log());
    world.stop();
    let (told, status) = (world.show(&id(1))["enrichment"].clone(), enrichment(&world));
    assert_eq!(
        (&told["again"], &status["owed"], &status["given_up"]),
        (&json!(null), &json!(0), &json!(0)),
        "{status}"
    );
    assert_eq!((world.problems().as_str(), talks(&endpoint)), ("[]", before));
    assert!(world.ok(&["explain", &id(1)]).out.contains("a model would receive no more than before"));
    // After another attempt that fails it is as enriched as before.
    configure(&world, &endpoint, json!({"context_tokens": 128_000, "check_interval": 600}));
    endpoint.script(CHAT, [Fault::Cut, Fault::Cut]);
    let vain = world.run(&["enrich", &id(1)]);
    assert!(vain.code == 1 && vain.err.contains("; what a model made of it before stays"), "{}{}", vain.out, vain.err);
    let (told, status) = (world.show(&id(1)), enrichment(&world));
    assert_eq!((&status["enriched"], &status["given_up"]), (&json!(1), &json!(0)), "{status}");
    assert_eq!(
        (&told["episode"]["tier"], &told["enrichment"]["again"]),
        (&json!("enriched"), &json!("given_up")),
        "{told}"
    );
    let problems = world.problems();
    assert!(problems.contains("asked again about session") && !problems.contains("made anything of"), "{problems}");
    let shown = world.ok(&["show", &id(1)]).out;
    assert!(shown.contains("enriched by made") && shown.contains("asked again: given_up (cut_off)"), "{shown}");
    let before = talks(&endpoint);
    let all = world.json(&["enrich", &id(1)]);
    assert_eq!((&all["enriched"], &all["unseen"], talks(&endpoint)), (&json!(1), &json!(0), before + 1), "{all}");
    assert_eq!(world.show(&id(1))["enrichment"]["unseen"], json!(null));
    assert_eq!(world.json(&["enrich", &id(1)])["unchanged"], 1);
    assert_eq!(talks(&endpoint), before + 1);
    assert_eq!((&enrichment(&world)["owed"], world.problems().as_str()), (&json!(0), "[]"));
    let explained = world.ok(&["explain", &id(1)]).out;
    assert!(explained.contains(&format!("llm.context_tokens: {unseen} things said or done")), "{explained}");
}

#[test]
fn what_filtering_hides_is_not_sent() {
    let world = World::new();
    let endpoint = FakeEndpoint::start().unwrap();
    for (number, key, hidden, sent) in
        [(1, "keep_user_messages", "wombats", "They are fed"), (2, "keep_agent_responses", "They are fed", "wombats")]
    {
        configure(&world, &endpoint, json!({"filtering": {key: false}}));
        session(&world, number);
        world.close(&id(number));
        enriched(&world, number);
        let body = endpoint.requests().pop().unwrap().body;
        assert!(!body.contains(hidden) && body.contains(sent), "{key}: {body}");
    }
    configure(&world, &endpoint, json!({"filtering": {"keep_tool_structure": false}, "check_interval": 600}));
    let mut tools = world.transcript("-work-zoo", &id(3)).minutes_ago(5);
    tools
        .prompt("Count the numbats")
        .call("t1", "Bash", json!({"command": "wc -l numbats.txt"}))
        .result("t1", "7 numbats.txt", false)
        .reply("Seven.");
    world.ok(&["enrich", &id(3)]);
    let body = endpoint.requests().pop().unwrap().body;
    assert!(!body.contains("wc -l") && !body.contains("7 numbats") && body.contains("Seven."), "{body}");
    // If nothing may be sent, no model is asked and nothing is estimated.
    let nothing = json!({"keep_user_messages": false, "keep_agent_responses": false, "keep_tool_structure": false});
    configure(&world, &endpoint, json!({"filtering": nothing, "check_interval": 600}));
    session(&world, 4);
    assert_eq!(world.json(&["sync", "--dry-run"])["would_enrich"], json!(null), "none");
    let before = talks(&endpoint);
    assert_eq!(world.run(&["enrich", &id(4)]).code, 1);
    assert_eq!(talks(&endpoint), before);
}
