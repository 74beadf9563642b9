use crate::abandoned_branches::without_abandoned;
use crate::item::{Agent, Body};
use crate::transcript::tests::{read_as, read_every_way};
use crate::transcript::{Source, classify, kind_of};

const KIRO: Source = Source { agent: Agent::Kiro, subagent: false };

fn record(kind: &str, id: &str, content: &str) -> String {
    format!(r#"{{"version":"v1","kind":"{kind}","data":{{"message_id":"{id}","content":[{content}]}}}}"#)
}

fn said(kind: &str, id: &str, words: &str) -> String {
    record(kind, id, &format!(r#"{{"kind":"text","data":"{words}"}}"#))
}

fn check(lines: &[String], expected: &[&str]) {
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (items, _, seen) = read_every_way(KIRO, &lines);
    let items: Vec<&String> = items.iter().filter(|item| !item.contains(" below ")).collect();
    assert_eq!(items, expected, "{lines:#?}");
    assert!(seen.unknown.is_empty(), "{:?}", seen.unknown);
}

/// The talk that stands.
fn check_standing(lines: &[String], expected: &[&str]) {
    let (items, ..) = read_as(KIRO, format!("{}\n", lines.join("\n")).as_bytes());
    let standing = without_abandoned(&items);
    let talk = standing.iter().filter_map(|item| match &item.body {
        Body::Prompt { text } | Body::Reply { text } => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(talk.collect::<Vec<_>>(), expected, "{lines:#?}");
}

#[test]
fn messages_become_items() {
    let call = |id: &str, name: &str, input: &str| {
        format!(r#"{{"kind":"toolUse","data":{{"toolUseId":"{id}","name":"{name}","input":{input}}}}}"#)
    };
    let result = |id: &str, status: &str, content: &str| {
        let data = format!(r#"{{"toolUseId":"{id}","status":"{status}","content":[{content}]}}"#);
        record("ToolResults", "r", &format!(r#"{{"kind":"toolResult","data":{data}}}"#))
            .replace("\"r\"", &format!("\"r{id}\""))
    };
    let prompt = r#"{"version":"v1","kind":"Prompt","data":{"message_id":"p","content":[{"kind":"text","data":"hi"},{"kind":"image","data":{"source":{"type":"base64","media_type":"image/png","data":"AAAA"}}}],"meta":{"timestamp":1780617364}}}"#;
    let thinking = r#"{"kind":"thinking","data":{"text":"hm","modelId":"opus"}},{"kind":"text","data":"I run it"},"#;
    check(
        &[
            prompt.to_owned(),
            record(
                "AssistantMessage",
                "a1",
                &format!("{thinking}{}", call("1", "shell", r#"{"command":"false","__tool_use_purpose":"why"}"#)),
            ),
            result(
                "1",
                "success",
                r#"{"kind":"json","data":{"exit_status":"exit status: 1","stdout":"","stderr":"no\n"}}"#,
            ),
            record(
                "AssistantMessage",
                "a2",
                &call("2", "write", r#"{"command":"create","path":"/a","content":"x\ny\n"}"#),
            ),
            result("2", "success", r#"{"kind":"text","data":"Successfully created /a (2 lines)."}"#),
            record("AssistantMessage", "a3", &call("3", "read", r#"{"operations":[{"mode":"Line","path":"/b"}]}"#)),
            result("3", "error", r#"{"kind":"text","data":"No such file"}"#),
            record("AssistantMessage", "a4", &call("4", "gh___issue", r#"{"n":1}"#)),
            result("4", "error", r#"{"kind":"text","data":"Tool use was cancelled by the user"}"#),
            record("AssistantMessage", "a5", &call("5", "baton___get_episodes", "{}")),
            result("5", "success", r#"{"kind":"text","data":"ours"}"#),
            said("AssistantMessage", "a6", "done"),
        ],
        &[
            "1 prompt hi",
            "1 media [image image/png, 3 B]",
            "2 usage opus None [0, 0, 0, 0, 0]",
            "2 thinking hm",
            "2 reply I run it",
            r#"2 call shell {"command":"false","description":"why"}"#,
            "3 result Failed shell false: exit 1, no",
            r#"4 call write {"command":"create","content":"x\ny\n","file_path":"/a"}"#,
            "5 result Ok write /a: +2 -0",
            r#"6 call read {"file_path":"/b","mode":"Line"}"#,
            "7 result Failed read /b: failed, No such file",
            r#"8 call mcp__gh__issue {"n":1}"#,
            "9 result Interrupted mcp__gh__issue: interrupted",
            "12 reply done",
        ],
    );
}

#[test]
fn what_was_taken_back_does_not_stand() {
    let turn = |id: &str| {
        [said("Prompt", &format!("p{id}"), id), said("AssistantMessage", &format!("a{id}"), &format!("re {id}"))]
    };
    let turns = |ids: &[&str]| ids.iter().flat_map(|id| turn(id)).collect::<Vec<_>>();
    let reset = |index: u64| format!(r#"{{"version":"v1","kind":"ResetTo","data":{{"target_index":{index}}}}}"#);
    let clear = r#"{"version":"v1","kind":"Clear","data":{}}"#.to_owned();
    let compaction = r#"{"version":"v1","kind":"Compaction","data":{"summary":"so far","messages_snapshot":[{},{}]}}"#;
    check_standing(&turns(&["1", "2", "1", "3"]), &["1", "re 1", "3", "re 3"]);
    check_standing(&[turns(&["1", "2"]), vec![reset(2)], turns(&["3"])].concat(), &["1", "re 1", "3", "re 3"]);
    check_standing(&[turns(&["1", "2"]), vec![reset(0)]].concat(), &[]);
    check_standing(&[turns(&["1"]), vec![clear.clone()], turns(&["2"])].concat(), &["1", "re 1", "2", "re 2"]);
    check_standing(&[turns(&["1"]), vec![clear], turns(&["2"]), vec![reset(0)]].concat(), &["1", "re 1"]);
    let compacted = [turns(&["1"]), vec![compaction.to_owned()], turns(&["2"])].concat();
    check_standing(&compacted, &["1", "re 1", "2", "re 2"]);
    check_standing(&[compacted, vec![reset(2)]].concat(), &["1", "re 1"]);
    // Too long ago.
    let many: Vec<String> = (0..20).map(|id| id.to_string()).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let all: Vec<String> = [turns(&many), vec![reset(2)], turns(&["x"])].concat();
    let (items, ..) = read_as(KIRO, format!("{}\n", all.join("\n")).as_bytes());
    assert_eq!(without_abandoned(&items).len(), items.len());
}

#[test]
fn a_transcript_is_known_by_its_path() {
    for (path, expected) in [
        ("cli/0a1b-2c.jsonl", Some("0a1b-2c")),
        ("cli/0a1b.json", None),
        ("cli/.0a1b.jsonl", None),
        ("cli/a/0a1b.jsonl", None),
        ("0a1b.jsonl", None),
        ("cli/.jsonl", None),
    ] {
        let found = classify(Agent::Kiro, path).map(|located| located.session.to_string());
        assert_eq!(found.as_deref(), expected, "{path}");
    }
    assert_eq!(
        kind_of(Agent::Kiro, br#"{"version":"v1","kind":"ToolResults","data":{"#).as_deref(),
        Some("ToolResults")
    );
}
