//! Parts of a transcript that are not read as usual: records that make the reader panic, prompts that never reached the
//! agent, arguments that are secrets by their names.

use serde_json::{Value, json};

use crate::record::memory;
use crate::world::{World, files_below, hits, id, text};

/// A record that makes the reader of a debug build panic: always, or only where texts are read.
fn stumbling(more: &Value) -> Value {
    let mut record = json!({ "type": "baton:stumble", "message": { "content": "the walrus is silent" } });
    record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    record
}

#[test]
fn records_that_cannot_be_read_are_named_and_the_rest_is_found() {
    let world = World::new();
    let me = id(1);
    let mut transcript = world.transcript("-work-one", &me).minutes_ago(60);
    transcript.prompt("the marmot asks").append(&stumbling(&json!({}))).reply("the badger answers");
    transcript.append(&stumbling(&json!({ "subtype": "text" }))).prompt("the otter thanks").reply("gladly");
    assert_eq!(world.found("marmot"), [me.as_str()]);
    assert_eq!((world.found("badger"), world.found("otter")), (vec![me.clone()], vec![me.clone()]));
    let shown = world.show(&me);
    assert_eq!((&shown["unread_lines"], &shown["message_count"]), (&json!([2, 4]), &json!(4)), "{shown}");
    let told = world.ok(&["show", &me]).out;
    assert!(told.contains("lines 2, 4, which this version could not read"), "{told}");
    assert!(world.ok(&["show", &me, "--messages"]).out.contains("this record could not be read"));
    let named = format!("session {me}: lines 2, 4 could not be read and left out");
    assert!(crate::world::wait(|| world.problems().contains(&named)), "{}", world.problems());
    // Later lines are read from there; another daemon reports the lines as well.
    transcript.append(&stumbling(&json!({}))).reply("the heron comes");
    world.ok(&["close", &me]);
    assert_eq!(world.found("heron"), [me.as_str()]);
    assert_eq!(world.show(&me)["unread_lines"], json!([2, 4, 7]));
    world.stop();
    assert_eq!(world.found("badger"), [me.as_str()]);
    let named = named.replace("2, 4", "2, 4, 7");
    assert!(crate::world::wait(|| world.problems().contains(&named)), "{}", world.problems());
    // Nothing is read again by itself; `reindex` reads it, although nothing was made by an older filter.
    let again = world.json(&["reindex"]);
    assert_eq!((&again["sessions"], &again["failures"]), (&json!(1), &json!(0)), "{again}");
    let log = world.log();
    assert!(log.contains("panic") && !log.contains("walrus"), "where it stumbled, and no word of what it read: {log}");
}

#[test]
fn a_queued_prompt_is_found_whether_it_was_delivered_or_not() {
    let world = World::new();
    let me = id(1);
    let mut transcript = world.transcript("-work-one", &me).minutes_ago(60);
    let queue = |operation: &str, content: &str| json!({ "type": "queue-operation", "operation": operation, "content": content, "sessionId": id(1) });
    transcript.prompt("mend the crane").call("t1", "Bash", json!({ "command": "make" }));
    transcript.append(&queue("enqueue", "and paint the lighthouse")).append(&queue("enqueue", "then sweep the quay"));
    transcript.append(&queue("remove", "and paint the lighthouse")).append(&queue("remove", "then sweep the quay"));
    transcript.result("t1", "done", false).prompt("then sweep the quay").reply("Swept.");
    world.ok(&["close", &me]);
    let snippets = |query: &str| -> Vec<String> {
        let found = world.search(query);
        hits(&found).iter().map(|hit| format!("{hit}")).collect()
    };
    let lighthouse = snippets("lighthouse").join("\n");
    assert!(lighthouse.contains("queued, not delivered"), "{lighthouse}");
    let quay = snippets("quay").join("\n");
    assert!(quay.contains("sweep the quay") && !quay.contains("not delivered: then sweep"), "{quay}");
    let shown = world.show(&me);
    assert_eq!(shown["message_count"], json!(3), "{shown}");
    assert!(!shown["episode"].to_string().contains("lighthouse"), "{shown}");
    let messages = world.ok(&["show", &me, "--messages"]).out;
    assert!(messages.contains("[queued] and paint the lighthouse"), "{messages}");
    assert_eq!(messages.matches("sweep the quay").count(), 1, "{messages}");
}

#[test]
fn a_prompt_that_an_idle_agent_never_took_is_found_as_such() {
    let world = World::new();
    let me = id(1);
    let mut transcript = world.transcript("-work-one", &me).minutes_ago(60);
    let queue = |content: &str| json!({ "type": "queue-operation", "operation": "enqueue", "content": content, "sessionId": id(1) });
    transcript.prompt("mend the crane").reply("Mended.").append(&queue("then sweep the quay"));
    transcript.prompt("then sweep the quay").reply("Swept.");
    let uuid = world.close(&me);
    // The agent is killed before it takes the next prompt.
    transcript.append(&queue("and paint the lighthouse"));
    let told = |query: &str| hits(&world.search(query)).iter().map(|hit| format!("{hit}\n")).collect::<String>();
    for closed in [false, true] {
        if closed {
            assert_eq!(world.close(&me), uuid, "nothing else was said");
        }
        let lighthouse = told("lighthouse");
        assert!(lighthouse.contains("queued, not delivered: and paint"), "closed {closed}: {lighthouse}");
        let quay = told("quay");
        assert!(quay.contains("sweep the quay") && !quay.contains("delivered: then sweep"), "{quay}");
    }
    let shown = world.show(&me);
    assert_eq!(shown["message_count"], json!(4), "{shown}");
    assert!(!shown["episode"].to_string().contains("lighthouse"), "{shown}");
    let messages = world.ok(&["show", &me, "--messages"]).out;
    assert!(messages.contains("[queued] and paint the lighthouse"), "{messages}");
    assert_eq!(messages.matches("sweep the quay").count(), 1, "{messages}");
    // After it is resumed it gets the same words again, and they appear where it got them.
    transcript.append(&queue("and paint the lighthouse")).prompt("and paint the lighthouse").reply("Painted.");
    assert_ne!(world.close(&me), uuid);
    let lighthouse = told("lighthouse");
    assert!(lighthouse.contains("paint the lighthouse") && !lighthouse.contains("not delivered"), "{lighthouse}");
    world.stop();
    let before = memory(world.home());
    std::fs::remove_dir_all(world.home().join("memory")).unwrap();
    assert_eq!(told("lighthouse"), lighthouse, "the memory built anew");
    world.stop();
    assert_eq!(memory(world.home()), before, "I-5");
}

#[test]
fn a_prompt_that_mentions_the_mark_of_recalled_text_keeps_what_stands_behind_it() {
    let world = World::new();
    world
        .transcript("-work-one", &id(1))
        .minutes_ago(60)
        .prompt("Why is <baton-recall here? Mend the pelican.")
        .reply("ok");
    assert_eq!(world.found("pelican"), [id(1)]);
}

#[test]
fn what_a_calls_arguments_name_as_a_secret_is_kept_nowhere() {
    let world = World::new();
    let me = id(1);
    let mut transcript = world.transcript("-work-one", &me).minutes_ago(60);
    // Assembled here, so that no scanner takes this file for a leak.
    let secret = |seed: &str| format!("{seed}W8xyzq7{}", "Lm2p");
    let all: Vec<String> = ["a", "b", "c", "d", "e", "f", "g", "h"].map(secret).to_vec();
    let input = json!({
        "host": "gizmo.example.net", "password": all[0], "nested": { "client_secret": all[1] },
        "headers": { "X-Api-Key": all[2] }, "env": [{ "name": "DB_PASSWORD", "value": all[3] }],
        "pairs": [{ "value": all[4], "key": "apiToken" }], "args": ["--password", all[5]],
        "body": json!({ "password": all[6] }).to_string(),
        "deep": json!({ "inner": json!({ "env": [{ "name": "DB_PASSWORD", "value": all[7] }] }).to_string() }).to_string(),
    });
    transcript.prompt("connect the gizmo");
    for (at, tool) in ["mcp__db__connect", "Task", "Bash", "Edit", "Unknown"].into_iter().enumerate() {
        let call = format!("t{at}");
        transcript.call(&call, tool, input.clone()).result(&call, "error: connection refused", true);
    }
    transcript.reply("The gizmo is connected.");
    world.ok(&["close", &me]);
    let exported = world.path("all.jsonl");
    world.ok(&["log", "export", "-o", exported.to_str().unwrap()]);
    let mut told = vec![std::fs::read_to_string(&exported).unwrap(), world.show(&me).to_string()];
    told.push(world.ok(&["show", &me, "--messages"]).out);
    told.push(world.search("gizmo").to_string());
    world.stop();
    told.extend(memory(world.home()));
    for file in files_below(world.home()) {
        let bytes = std::fs::read(&file).unwrap();
        told.extend(zstd::decode_all(bytes.as_slice()).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()));
        told.push(String::from_utf8_lossy(&bytes).into_owned());
    }
    assert!(told.iter().any(|text| text.contains("gizmo.example.net")), "it would be seen if it were there");
    let leaked: Vec<&String> =
        all.iter().filter(|secret| told.iter().any(|text| text.contains(secret.as_str()))).collect();
    assert!(leaked.is_empty(), "{leaked:?} of {}", text(&json!(me)));
}
