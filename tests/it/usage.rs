//! A session's usage of models, as `show` prints it.

use serde_json::{Value, json};

use crate::world::{World, id};

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
