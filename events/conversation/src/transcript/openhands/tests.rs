use super::super::tests::read_every_way;
use super::super::{Source, classify, of_message};
use super::*;

const MAIN: Source = Source { agent: Agent::OpenHands, subagent: false };
const HEADER: &str = r#"{"id":"0a1b","workspace":{"kind":"LocalWorkspace","working_dir":"/w/shop"}}"#;

fn check(events: &[&str], expected: &[&str]) {
    let lines: Vec<&str> = [HEADER].into_iter().chain(events.iter().copied()).collect();
    let (items, _, seen) = read_every_way(MAIN, &lines);
    assert_eq!(items[0], "1 cwd /w/shop");
    assert_eq!(items[1..], *expected, "{events:?}");
    assert_eq!(seen.unknown.len(), 0, "{:?}", seen.unknown);
}

#[test]
fn a_conversation_is_known_by_its_state_and_an_event_by_its_number() {
    let session = |path: &str| classify(Agent::OpenHands, path).map(|located| located.session.to_string());
    assert_eq!(session("0a1b2c/base_state.json").as_deref(), Some("0a1b2c"));
    for none in
        ["", "base_state.json", "0a/TASKS.json", "0a/b/base_state.json", "../base_state.json", ".x/base_state.json"]
    {
        assert_eq!(session(none), None, "{none}");
    }
    let of = |path: &str| of_message(Agent::OpenHands, path);
    assert_eq!(of("/c/0a/events/event-00012-5d0f.json").as_deref(), Some("/c/0a/base_state.json"));
    for none in [
        "/c/0a/events/.eventlog.lock",
        "/c/0a/events/event-x-5d0f.json",
        "/c/0a/other/event-00001-5d0f.json",
        "event-00001-5d.json",
    ] {
        assert_eq!(of(none), None, "{none}");
    }
}

#[test]
fn what_is_said_and_done_is_read_event_by_event() {
    check(
        &[
            r#"{"kind":"SystemPromptEvent","id":"e0","timestamp":"2026-03-14T09:26:53.589","source":"agent","system_prompt":{"type":"text","text":"You are"}}"#,
            r#"{"kind":"MessageEvent","id":"e1","source":"user","llm_message":{"role":"user","content":[{"type":"text","text":"round it"}]},"extended_content":[{"type":"text","text":"a skill"}]}"#,
            r#"{"kind":"ActionEvent","id":"e2","source":"agent","thought":[{"type":"text","text":"I look."}],"reasoning_content":"hm","action":{"kind":"TerminalAction","command":"ls","is_input":false},"tool_name":"terminal","tool_call_id":"c1","tool_call":{"id":"c1","name":"terminal","arguments":"{\"command\": \"ls\", \"security_risk\": \"LOW\"}"},"llm_response_id":"r1"}"#,
            r#"{"kind":"ObservationEvent","id":"e3","source":"environment","tool_name":"terminal","tool_call_id":"c1","observation":{"kind":"TerminalObservation","content":[{"type":"text","text":"no such file"}],"is_error":false,"metadata":{"exit_code":2}}}"#,
            r#"{"kind":"ActionEvent","id":"e4","source":"agent","thought":[],"action":{"kind":"FileEditorAction","command":"str_replace","path":"/w/a"},"tool_name":"file_editor","tool_call_id":"c2","tool_call":{"arguments":"{\"command\":\"str_replace\",\"path\":\"/w/a\",\"old_str\":\"x\",\"new_str\":\"y\\nz\"}"}}"#,
            r#"{"kind":"ObservationEvent","id":"e5","source":"environment","tool_name":"file_editor","tool_call_id":"c2","observation":{"content":[{"type":"text","text":"The file has been edited."}],"is_error":false}}"#,
            r#"{"kind":"ActionEvent","id":"e6","source":"agent","thought":[],"tool_name":"none","tool_call_id":"c3","tool_call":{"arguments":"{\"x\":1}"}}"#,
            r#"{"kind":"AgentErrorEvent","id":"e7","source":"agent","tool_name":"none","tool_call_id":"c3","error":"Tool 'none' not found."}"#,
            r#"{"kind":"ActionEvent","id":"e8","source":"agent","thought":[],"action":{"kind":"ThinkAction","thought":"so it is"},"tool_name":"think","tool_call_id":"c4","tool_call":{"arguments":"{}"}}"#,
            r#"{"kind":"ObservationEvent","id":"e9","source":"environment","tool_name":"think","tool_call_id":"c4","observation":{"content":[{"type":"text","text":"Your thought has been logged."}]}}"#,
            r#"{"kind":"ActionEvent","id":"e10","source":"agent","thought":[],"action":{"kind":"FinishAction","message":"It is round."},"tool_name":"finish","tool_call_id":"c5","tool_call":{"arguments":"{}"}}"#,
            r#"{"kind":"MessageEvent","id":"e11","source":"user","llm_message":{"role":"user","content":[{"type":"image","image_urls":["data:x"]}]}}"#,
            r#"{"kind":"MessageEvent","id":"e12","source":"agent","llm_message":{"role":"assistant","content":[{"type":"text","text":"A picture."}]}}"#,
            r#"{"kind":"ConversationErrorEvent","id":"e13","source":"environment","code":"X","detail":"no more money"}"#,
        ],
        &[
            "3 prompt round it",
            "4 thinking hm",
            "4 reply I look.",
            r#"4 call terminal {"command":"ls"}"#,
            "5 result Failed terminal ls: exit 2, no such file",
            r#"6 call file_editor {"command":"str_replace","file_path":"/w/a","new_string":"y\nz","old_string":"x"}"#,
            "7 result Ok file_editor /w/a: +2 -1",
            r#"8 call none {"x":1}"#,
            "9 result Failed none: failed, Tool 'none' not found.",
            "10 thinking so it is",
            "12 reply It is round.",
            "13 media [image]",
            "14 reply A picture.",
            "15 notice no more money",
        ],
    );
}

#[test]
fn a_person_refuses_interrupts_and_goes_back() {
    let call = r#"{"kind":"ActionEvent","id":"a1","parent_id":"u1","source":"agent","thought":[],"action":{"kind":"MCPToolAction","data":{"q":"x"}},"tool_name":"docs_find","tool_call_id":"c1","tool_call":{"arguments":"{\"q\":\"x\"}"}}"#;
    check(
        &[
            r#"{"kind":"MessageEvent","id":"u1","parent_id":"s","source":"user","llm_message":{"content":[{"type":"text","text":"one"}]}}"#,
            call,
            r#"{"kind":"UserRejectObservation","id":"o1","parent_id":"a1","source":"environment","tool_name":"docs_find","tool_call_id":"c1","rejection_reason":"not that","rejection_source":"user"}"#,
            r#"{"kind":"PauseEvent","id":"p1","parent_id":"o1","source":"user"}"#,
            r#"{"kind":"MessageEvent","id":"u2","parent_id":"__root__","source":"user","llm_message":{"content":[{"type":"text","text":"two"}]}}"#,
            r#"{"kind":"MessageEvent","id":"u3","parent_id":"u2","source":"user","sender":"boss","llm_message":{"content":[{"type":"text","text":"a task"}]}}"#,
            r#"{"kind":"Condensation","id":"k","parent_id":"u3","source":"environment","summary":"All of it."}"#,
        ],
        &[
            "2 below s",
            "2 prompt one",
            r#"3 call docs_find {"q":"x"}"#,
            "4 result Denied docs_find x: denied",
            "4 answer not that",
            "5 notice interrupted by the user",
            "6 below ",
            "6 prompt two",
            "7 notice a task",
            "8 compaction  None None",
            "8 summary All of it.",
        ],
    );
}
