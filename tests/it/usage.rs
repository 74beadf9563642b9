//! A session's usage of models, as `show` prints it.

use serde_json::{Value, json};

use baton_conversation::record::Timestamp;

use crate::families::fork;
use crate::transcript::Transcript;
use crate::world::{World, id, list, text};

/// A model's reply with its usage.
fn reply(record: Value, message: &str, model: &str, usage: Value) -> Value {
    let mut record = record;
    record["message"]["id"] = message.into();
    record["message"]["model"] = model.into();
    record["message"]["usage"] = usage;
    record["requestId"] = format!("req_{message}").into();
    record
}

fn tokens(input: u64, output: u64) -> Value {
    json!({
        "input_tokens": input, "output_tokens": output, "cache_read_input_tokens": 1_000_000,
        "cache_creation_input_tokens": 300_000,
        "cache_creation": {"ephemeral_5m_input_tokens": 200_000, "ephemeral_1h_input_tokens": 100_000},
    })
}

#[test]
fn each_request_counts_once_and_costs_what_is_configured() {
    let world = World::new();
    let mut transcript = world.transcript("-work-one", &id(1));
    transcript.prompt("count the okapi");
    let lines = [
        ("m1", "claude-opus-4-6", tokens(1_000, 5)),
        ("m1", "claude-opus-4-6", tokens(1_000, 700)),
        ("m1", "claude-opus-4-6", tokens(1_000, 700)),
        ("m2", "house-model", tokens(10, 20)),
        ("m3", "<synthetic>", tokens(0, 0)),
    ];
    for (number, (message, model, usage)) in lines.into_iter().enumerate() {
        let record = transcript.reply_record(&format!("part {number}"));
        let mut record = reply(record, message, model, usage);
        record["version"] = "2.1.120".into();
        transcript.append(&record);
    }
    world.close(&id(1));

    let usage = world.show(&id(1))["usage"].clone();
    let opus = &usage["models"][0];
    assert_eq!((&opus["model"], &opus["messages"]), (&"claude-opus-4-6".into(), &1.into()), "{usage}");
    assert_eq!((&opus["input_tokens"], &opus["output_tokens"]), (&1_000.into(), &700.into()));
    assert_eq!(opus["cache_read_input_tokens"], 1_000_000);
    assert_eq!(
        (&opus["cache_creation_input_tokens"], &opus["cache_creation_1h_input_tokens"]),
        (&300_000.into(), &100_000.into())
    );
    // 1000 at 5, 700 at 25, a million at 0.50, 200,000 at 6.25, and 100,000 at 10 dollars per million.
    assert_eq!(opus["cost_usd"], 2.7725);
    let own = &usage["models"][1];
    assert_eq!((&own["model"], &own["cost_usd"]), (&"house-model".into(), &Value::Null));
    assert_eq!(usage["models"].as_array().map(Vec::len), Some(2), "nobody's model is none: {usage}");
    assert_eq!((&usage["total"]["messages"], &usage["cost_usd"]), (&2.into(), &json!(2.7725)));
    assert_eq!(usage["unpriced_models"], json!(["house-model"]));
    let human = world.ok(&["show", &id(1)]).out;
    assert!(human.contains("about $2.77") && human.contains("no price known (llm.prices)"), "{human}");

    let config = json!({"llm": {"prices": {"house-*": {"input": 100, "output": 1_000, "cache_read": 0, "cache_write": 0,
        "cache_write_1h": 0}}}});
    std::fs::write(world.home().join("config.json"), config.to_string()).unwrap();
    let usage = world.show(&id(1))["usage"].clone();
    assert_eq!((&usage["models"][1]["cost_usd"], &usage["cost_usd"]), (&json!(0.021), &json!(2.7935)), "{usage}");
    assert!(usage.get("unpriced_models").is_none(), "{usage}");
}

#[test]
fn a_wrong_price_is_reported_with_its_line() {
    let world = World::new();
    world.ok(&["sessions"]);
    std::fs::write(
        world.home().join("config.json"),
        "{\"llm\": {\"prices\": {\n\"m\": {\"input\": -1, \"output\": 2}}}}",
    )
    .unwrap();
    let problems = world.problems();
    assert!(
        problems.contains("line 2") && problems.contains("llm.prices") && problems.contains("not -1"),
        "{problems}"
    );
}

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

/// Appends a reply of a model.
fn replied(transcript: &mut Transcript, message: &str, model: &str) {
    let mut record = reply(transcript.reply_record(message), message, model, tokens(1_000, 700));
    record["version"] = "2.1.120".into();
    transcript.append(&record);
}

/// `key cost requests` of each row.
fn rows(world: &World, arguments: &[&str]) -> Vec<String> {
    let costs = world.json(&[&["costs"], arguments].concat());
    let told = list(&costs["agents"]["rows"]);
    told.iter().map(|row| format!("{} {} {}", text(&row["key"]), row["cost_usd"], row["messages"])).collect()
}

#[test]
fn the_costs_of_the_agents_are_added_up_and_each_request_counts_once() {
    let mut world = World::new();
    world.set("TZ", "XXX-1");
    let mut base = world.transcript("-work-base", &id(1)).at(at("2026-03-14T23:10:00Z"));
    base.prompt("count the okapi");
    replied(&mut base, "m1", "claude-opus-4-6");
    replied(&mut base, "m2", "house-model");
    world.close(&id(1));
    let mut fork = fork(&world, &base, &id(2), |_| {}).at(at("2026-03-15T23:10:00Z"));
    fork.prompt("and now the giraffes");
    replied(&mut fork, "m3", "claude-opus-4-6");
    let folder = world.projects().join("-work-base").join(id(1)).join("subagents");
    std::fs::create_dir_all(&folder).unwrap();
    let agent =
        Transcript::new(folder.join("agent-a1b2c3d.jsonl"), "agent-a1b2c3d", "/srv/-work-base").of_subagent(&id(1));
    let mut agent = agent.at(at("2026-03-14T23:20:00Z"));
    agent.prompt("look for okapi");
    replied(&mut agent, "m4", "claude-haiku-4-5");
    world.close(&id(2));

    // Days are those of the person: an hour before midnight in UTC it is the next day there.
    assert_eq!(rows(&world, &[]), ["2026-03-16 2.7725 1", "2026-03-15 3.327 3"]);
    let by = |key: &str| rows(&world, &["--by", key]);
    assert_eq!(by("model"), ["claude-opus-4-6 5.545 2", "claude-haiku-4-5 0.5545 1", "house-model null 1"]);
    assert_eq!(by("session"), [format!("{} 3.327 3", id(1)), format!("{} 2.7725 1", id(2))]);
    assert_eq!(by("agent"), ["claude_code 6.0995 4"]);
    assert_eq!(by("project"), ["/srv/-work-base 6.0995 4"]);
    assert_eq!(rows(&world, &["--project", "/srv/-work-base", "--by", "agent"]), ["claude_code 6.0995 4"]);
    assert_eq!(rows(&world, &["--days", "1"]), [""; 0], "long ago");
    assert_eq!(rows(&world, &["--since", "2026-03-15", "--until", "2026-03-16"]), ["2026-03-15 3.327 3"]);
    assert_eq!(rows(&world, &["--since", "2026-03-16"]), ["2026-03-16 2.7725 1"]);
    assert_eq!(world.run(&["costs", "--since", "soon"]).code, 2);
    let agents = world.json(&["costs"])["agents"].clone();
    assert_eq!((&agents["unpriced_models"], &agents["sessions"]), (&json!(["house-model"]), &json!(2)), "{agents}");
    assert_eq!((&agents["not_counted"], &agents["total"]["cost_usd"]), (&json!(0), &json!(6.0995)), "{agents}");
    assert_eq!(agents["subagents"], 1, "{agents}");
    let by_session = world.ok(&["costs", "--by", "session"]).out;
    assert!(by_session.contains("Count the okapi"), "sessions have titles: {by_session}");
    let told = world.ok(&["costs"]).out;
    assert!(told.contains("In 2 sessions and 1 subagent.") && told.contains("1,000,000"), "{told}");
    assert!(told.ends_with("No model was called.\n"), "nothing of today, of which nothing was spent: {told}");
    let address = crate::page::Address::new(&world);
    let page = address.get("/costs?since=2026-03-10", &address.enter()).body;
    assert!(page.contains("in 2 sessions and 1 subagent") && page.contains(">last week</a>"), "{page}");
    assert!(told.contains("$3.33+") && told.contains("whose price is not known: house-model"), "{told}");
    assert_eq!(world.run(&["costs", "--project", "/nowhere"]).code, 1);
}
