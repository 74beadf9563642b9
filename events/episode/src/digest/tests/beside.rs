//! External research, stored knowledge, numbers, and what must not be shown.

use serde_json::json;

use super::*;

#[test]
fn research_tells_what_was_asked_and_what_came_of_it() {
    let search = |query: &str| Session::default().call("WebSearch", json!({ "query": query }), None);
    let told = |session: Session| {
        let episode = session.digest();
        episode.external_research.iter().map(|entry| (entry.line, entry.text.clone())).collect::<Vec<_>>()
    };
    let mut found = search("tokio budget").result(Outcome::Ok, None, None);
    if let Body::Result(result) = &mut found.items[1].body {
        result.text = "WebSearch tokio budget: 8 lines, 2.1 KB".into();
    }
    let remarked = found.reply("The budget of a task is 128 operations, and then it yields.");
    let text = "tokio budget -> 8 lines, 2.1 KB: The budget of a task is 128 operations, and then it yields.";
    assert_eq!(told(remarked), [(1, text.to_owned())]);
    let failed = search("x").result(Outcome::Failed, None, Some("status code 503"));
    assert_eq!(told(failed), [(1, "x -> failed: status code 503".to_owned())]);
    assert_eq!(told(search("x")), [(1, "x".to_owned())]);
    assert_eq!(told(search(" ")), []);
}

#[test]
fn knowledge_is_what_a_writing_tool_was_given() {
    let call = |tool: &str, input: serde_json::Value, outcome| {
        Session::default().call(tool, input, None).result(outcome, None, None).digest().knowledge_stored
    };
    let note = json!({ "title": "Budget", "body": "128 operations", "tags": ["tokio"] });
    let stored = call("mcp__notes__add_note", note.clone(), Outcome::Ok);
    assert_eq!(stored["mcp__notes__add_note"][0].text, "Budget: 128 operations");
    let stored = call("mcp__graph__create_relations", json!({ "relations": [1, 2] }), Outcome::Ok);
    assert_eq!(stored["mcp__graph__create_relations"][0].text, "relations: [1,2]");
    assert!(call("mcp__notes__add_note", note.clone(), Outcome::Failed).is_empty());
    assert!(call("mcp__notes__search_notes", note.clone(), Outcome::Ok).is_empty());
    assert!(call("Write", note, Outcome::Ok).is_empty());
}

#[test]
fn numbers_are_of_the_conversation() {
    let mut session = a_fixed_bug().call("mcp__b__x", json!({}), None).call("mcp__a__y", json!({}), None);
    session = session.call("mcp__b__x", json!({}), None).reply("one message").reply("of two parts");
    let count = session.items.len();
    for part in &mut session.items[count - 2..] {
        part.message = Some("msg_1".into());
    }
    let numbers = Metadata::new(&session.items, 40_000);
    assert_eq!(numbers.mcp_tools_used, ["mcp__a__y", "mcp__b__x"]);
    let times = session.items[1].at.zip(session.items[count - 1].at);
    assert_eq!(numbers.start_time.zip(numbers.end_time), times, "a working directory is no part of it");
    assert_eq!(numbers.duration_seconds, count as u64 - 2);
    assert_eq!(numbers.message_count, 1 + 2 + 1);
    assert_eq!(numbers.token_count, 10_000);
    assert!((100..1_000).contains(&numbers.filtered_token_count), "{numbers:?}");
    assert_eq!(numbers.llm_cost_estimate, baton_conversation::tokens::summary_usd(numbers.filtered_token_count));
    let nothing = Metadata::new(&[], 0);
    assert_eq!((nothing.start_time, nothing.duration_seconds, nothing.llm_cost_estimate), (None, 0, 0.0032));
}

#[test]
fn what_is_not_to_be_shown_is_not_told() {
    let session = a_fixed_bug().prompt("no, use the clock of the server").reply("I keep UTC, because logs are in UTC.");
    let told = |show: Show| format!("{:?}", digest(&session.items, &show));
    let all = Show::default();
    let check = |show: Show, gone: &[&str], left: &[&str]| {
        let text = told(show);
        gone.iter().for_each(|part| assert!(!text.contains(part), "{part:?} in {text}"));
        left.iter().for_each(|part| assert!(text.contains(part), "no {part:?} in {text}"));
    };
    let (user, agent, tools) = ("clock of the server", "I moved the check", "cargo test -p auth");
    check(all, &[], &[user, agent, tools, "I keep UTC"]);
    check(Show { keep_user_messages: false, ..all }, &[user, "expires too early"], &[agent, tools]);
    check(Show { keep_agent_responses: false, ..all }, &[agent, "I keep UTC"], &[user, tools]);
    check(Show { keep_tool_structure: false, ..all }, &[tools, "auth.rs", "token.is_valid"], &[user, agent]);
    check(Show { max_output_summary_chars: 12, ..all }, &["token.is_valid"], &["assertion…"]);
    check(Show { max_output_summary_chars: 12, omit_tool_outputs: false, ..all }, &[], &["token.is_valid"]);
    let titled = Session::default().title(TitleSource::Model, "Token bug").prompt("the secret plan");
    let episode = digest(&titled.items, &Show { keep_user_messages: false, ..all });
    assert_eq!((episode.title.as_str(), episode.objective.as_str(), episode.prompts.len()), ("Token bug", "", 0));
}

#[test]
fn a_withdrawn_prompt_is_in_no_episode() {
    let item = |line, uuid: Option<&str>, body| Item {
        line,
        at: None,
        uuid: uuid.map(Into::into),
        message: None,
        sidechain: false,
        body,
    };
    let prompt = |line, uuid, text: &str| item(line, uuid, Body::Prompt { text: text.to_owned() });
    let start = prompt(1, Some("u-1"), "mend the crane of the harbour");
    let queued = prompt(2, None, "and paint the lighthouse");
    let withdrawn = item(3, None, Body::Meta(Meta::Withdrawn(2)));
    let reply = item(4, Some("u-2"), Body::Reply { text: "The crane is mended.".to_owned() });
    let delivered = prompt(5, Some("u-3"), "and paint the lighthouse");
    for (with, without) in [
        (
            vec![start.clone(), queued.clone(), withdrawn.clone(), reply.clone(), delivered.clone()],
            vec![start.clone(), reply, delivered],
        ),
        (vec![start.clone(), queued, withdrawn], vec![start]),
    ] {
        assert_eq!(digest(&with, &Show::default()), digest(&without, &Show::default()));
        assert_eq!(Metadata::new(&with, 9), Metadata::new(&without, 9));
    }
}
