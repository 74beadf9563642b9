//! `show --messages`: the conversation, message by message.

use serde_json::{Value, json};

use crate::world::{World, id, list, text};

fn messages(world: &World, arguments: &[&str]) -> Value {
    world.json(&[&["show", &id(1), "--messages"], arguments].concat())
}

/// `line role kind,kind` of each message, with `!` for an abandoned one.
fn told(shown: &Value) -> Vec<String> {
    let one = |message: &Value| {
        let kinds: Vec<String> = list(&message["parts"]).iter().map(|part| text(&part["kind"])).collect();
        let given_up = if message["abandoned"] == true { "!" } else { "" };
        format!("{}{given_up} {} {}", message["line"], text(&message["role"]), kinds.join(","))
    };
    list(&shown["messages"]).iter().map(one).collect()
}

#[test]
fn parts_of_a_message_stand_together_with_their_results() {
    let world = World::new();
    let mut transcript = world.transcript("-work-one", &id(1));
    transcript.prompt("look at the zebra");
    let secret = format!("sk-ant-api03-{}", "a1B2c3D4e5F6".repeat(8));
    let records = [
        transcript.reply_record("I look."),
        transcript.call_record("t1", "Bash", json!({"command": format!("cat zebra {secret}")})),
        transcript.result_record("t1", "Exit code 1\nno zebra", true),
        transcript.call_record("t2", "Read", json!({"file_path": "/srv/zebra"})),
    ];
    for mut record in records {
        if record["type"] == "assistant" {
            record["message"]["id"] = "msg_1".into();
        }
        transcript.append(&record);
    }
    transcript.prompt("stop");
    world.close(&id(1));

    let shown = messages(&world, &[]);
    assert_eq!(told(&shown), ["1 user prompt", "2 assistant text,tool,tool", "6 user prompt"], "{shown}");
    assert_eq!((&shown["total"], &shown["next"]), (&3.into(), &Value::Null));
    let parts = list(&shown["messages"][1]["parts"]);
    let (bash, read) = (&parts[1]["tool"], &parts[2]["tool"]);
    assert_eq!(
        (&bash["outcome"], &bash["result_line"], &bash["in_flight"]),
        (&"failed".into(), &4.into(), &false.into())
    );
    assert_eq!((&read["outcome"], &read["in_flight"]), (&Value::Null, &true.into()));
    assert!(!shown.to_string().contains(&secret), "{shown}");
    assert_eq!(shown["messages"][1]["message_id"], "msg_1");

    let human = world.ok(&["show", &id(1), "--messages"]).out;
    assert!(human.contains("2 assistant") && human.contains("> Read: no result"), "{human}");
}

#[test]
fn what_somebody_went_back_to_before_is_marked() {
    let world = World::new();
    let mut transcript = world.transcript("-work-one", &id(1));
    transcript.prompt("begin");
    let reply = transcript.reply_record("begun");
    transcript.append(&reply).prompt("go left").reply("left").prompt("further left").reply("far left");
    let mut back = transcript.prompt_record("go right");
    back["parentUuid"] = reply["uuid"].clone();
    transcript.append(&back).reply("right");
    world.close(&id(1));
    assert_eq!(
        told(&messages(&world, &[])),
        [
            "1 user prompt",
            "2 assistant text",
            "3! user prompt",
            "4! assistant text",
            "5! user prompt",
            "6! assistant text",
            "7 user prompt",
            "8 assistant text",
        ]
    );
    assert!(world.ok(&["show", &id(1), "--messages"]).out.contains("3 user"), "it is there all the same");
    assert_eq!(world.found("further left"), [id(1)], "and found");
}

#[test]
fn pages_go_on_where_the_last_one_ended() {
    let world = World::new();
    let mut transcript = world.transcript("-work-one", &id(1));
    for number in 0..12 {
        transcript.prompt(&format!("question {number}")).reply(&format!("answer {number}"));
    }
    world.close(&id(1));
    let whole = told(&messages(&world, &[]));
    assert_eq!(whole.len(), 24);
    let (mut pages, mut from) = (Vec::new(), "0".to_owned());
    loop {
        let page = messages(&world, &["--from", &from, "--limit", "7"]);
        pages.extend(told(&page));
        match page["next"].as_u64() {
            Some(next) => from = next.to_string(),
            None => break,
        }
    }
    assert_eq!(pages, whole);
    assert_eq!(told(&messages(&world, &["--from", "9999"])), [""; 0]);
    let human = world.ok(&["show", &id(1), "--messages", "-n", "2"]).out;
    assert!(human.contains("2 of 24 messages; --from 3 continues"), "{human}");
    assert_eq!(world.run(&["show", &id(1), "--from", "3"]).code, 2, "--from needs --messages");
}

#[test]
fn a_session_that_is_not_indexed_has_no_messages_yet() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).at(crate::transcript::now()).prompt("just begun");
    world.ok(&["sessions"]);
    let shown = messages(&world, &[]);
    assert!(text(&shown["note"]).contains("not indexed yet") && told(&shown).is_empty(), "{shown}");
}
