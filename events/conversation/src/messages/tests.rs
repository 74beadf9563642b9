use super::*;
use crate::item::Edit;

/// An item from a line of text: `line[@message][~] kind words…`; for calls and results the first word is the id.
fn item(text: &str) -> Item {
    let (head, rest) = text.split_once(' ').unwrap();
    let (kind, words) = rest.split_once(' ').unwrap_or((rest, ""));
    let (head, sidechain) = head.strip_suffix('~').map_or((head, false), |head| (head, true));
    let (line, message) = head.split_once('@').map_or((head, None), |(line, message)| (line, Some(message.into())));
    let text = words.to_owned();
    let body = match kind {
        "prompt" => Body::Prompt { text },
        "answer" => Body::Answer { text },
        "media" => Body::Media { text },
        "reply" => Body::Reply { text },
        "thinking" => Body::Thinking { text },
        "summary" => Body::Summary { text },
        "notice" => Body::Notice { text },
        "below" => Body::Meta(Meta::Below(words.into())),
        "branch" => Body::Meta(Meta::Branch(text)),
        "compaction" => Body::Meta(Meta::Compaction(Compaction::default())),
        "call" => Body::Call(Call {
            act: crate::item::Act::of_tool("Bash"),
            id: words.into(),
            name: "Bash".into(),
            input: BTreeMap::new(),
            edit: None,
            commit: None,
            plan: None,
            git_line: None,
        }),
        "result" => Body::Result(ToolResult {
            id: words.into(),
            name: Some("Bash".into()),
            outcome: Outcome::Ok,
            exit_code: None,
            text: format!("answers {words}"),
            error: None,
            duration_ms: None,
            agent: None,
            report: None,
        }),
        other => panic!("{other}"),
    };
    Item { line: line.parse().unwrap(), at: None, uuid: None, message, sidechain, body }
}

/// `speaker line[~][!]: part, part`, with `!` for an abandoned message; a tool as `call id=line of its result`.
fn described(message: &Message<'_>) -> String {
    let parts: Vec<String> = message
        .parts
        .iter()
        .map(|part| match &part.content {
            Content::Text { kind, text } => format!("{kind} {text}"),
            Content::Tool { call, result } => {
                let call = call.map_or("-", |call| &call.id);
                format!("{call}={}", result.map_or("?".to_owned(), |(_, line)| line.to_string()))
            }
            Content::Compaction(_) => "compaction".to_owned(),
        })
        .collect();
    let (side, given_up) = (if message.sidechain { "~" } else { "" }, if message.abandoned { "!" } else { "" });
    format!("{} {}{side}{given_up}: {}", message.speaker.as_str(), message.line, parts.join(", "))
}

#[track_caller]
fn check(items: &[&str], expected: &[&str]) {
    let items: Vec<Item> = items.iter().map(|text| item(text)).collect();
    let found: Vec<String> = messages(&items).iter().map(described).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_message_is_all_that_carries_its_id() {
    check(&[], &[]);
    check(
        &[
            "1 prompt Go",
            "2@m1 thinking hm",
            "3@m1 reply Yes",
            "4@m1 call t1",
            "5 notice news",
            "6 result t1",
            "7@m1 call t2",
            "8@m2 reply Next",
            "9 result t2",
            "10@m1 reply late",
        ],
        &[
            "user 1: prompt Go",
            "assistant 2: thinking hm, text Yes, t1=6, t2=9, text late",
            "harness 5: notice news",
            "assistant 8: text Next",
        ],
    );
}

#[test]
fn without_an_id_each_part_stands_alone() {
    check(
        &["1 reply a", "1 reply b", "2 call t1"],
        &["assistant 1: text a", "assistant 1: text b", "assistant 2: t1=?"],
    );
}

#[test]
fn what_a_person_gave_at_once_is_one_message() {
    check(
        &["1 prompt Look", "1 media [image]", "2 prompt And", "3 answer No", "4 media [pdf]"],
        &["user 1: prompt Look, media [image]", "user 2: prompt And", "user 3: answer No", "user 4: media [pdf]"],
    );
    check(&["1 prompt a", "1 reply b", "1 prompt c"], &["user 1: prompt a", "assistant 1: text b", "user 1: prompt c"]);
}

#[test]
fn results_find_their_call_and_calls_without_one_are_open() {
    check(
        &["1 result t0", "2@m call t1", "3@m call t2", "4 result t2", "5 result t2", "6@m call "],
        &["tool 1: -=1", "assistant 2: t1=?, t2=4, =?", "tool 5: -=5"],
    );
}

#[test]
fn the_harness_is_told_apart_and_facts_are_left_out() {
    check(
        &["1 branch main", "2 compaction", "3 summary it was so", "4 notice done"],
        &["harness 2: compaction", "harness 3: summary it was so", "harness 4: notice done"],
    );
}

#[test]
fn what_was_given_up_and_what_is_a_subagents_is_marked() {
    check(
        &[
            "1 below r0",
            "1 prompt one",
            "2@m1 reply a",
            "3~ prompt for the subagent",
            "4 below r0",
            "4 prompt two",
            "5@m2 reply b",
        ],
        &[
            "user 1!: prompt one",
            "assistant 2!: text a",
            "user 3~!: prompt for the subagent",
            "user 4: prompt two",
            "assistant 5: text b",
        ],
    );
}

#[test]
fn what_a_call_changed_is_what_its_result_counts() {
    let edit = Edit { path: "a.rs".to_owned(), added: 3, removed: 0, ..Edit::default() };
    let call = |edit: Option<&Edit>| {
        let Body::Call(mut call) = item("1 call c").body else { panic!() };
        call.edit = edit.cloned();
        call
    };
    let result = |outcome, changed| {
        let Body::Result(mut result) = item("2 result c").body else { panic!() };
        let report = crate::item::Report { changed, ..Default::default() };
        (result.outcome, result.report) = (outcome, Some(Box::new(report)));
        result
    };
    let check = |edit, result: Option<ToolResult>, expected| {
        assert_eq!(changed_lines(Some(&call(edit)), result.as_ref()), expected, "{result:?}");
    };
    check(Some(&edit), None, Some((3, 0)));
    check(Some(&edit), Some(result(Outcome::Ok, Some((2, 1)))), Some((2, 1)));
    check(Some(&edit), Some(result(Outcome::Ok, None)), Some((3, 0)));
    check(Some(&edit), Some(result(Outcome::Failed, None)), None);
    check(None, Some(result(Outcome::Ok, Some((2, 1)))), None);
    assert_eq!(changed_lines(None, Some(&result(Outcome::Ok, Some((2, 1))))), None);
}
