use super::super::tests::read_every_way;
use super::super::{Observation, Source, classify, document};
use super::*;

const MAIN: Source = Source { agent: Agent::Roo, subagent: false };
const PATH: &str = "1781205335513/api_conversation_history.json";

fn check(messages: &str, expected: &[&str]) {
    check_document(MAIN, &format!("[{messages}]"), expected);
}

fn check_document(source: Source, text: &str, expected: &[&str]) -> Observation {
    let lines = document(source.agent, PATH).unwrap().lines(text.as_bytes()).unwrap();
    let lines = String::from_utf8(lines).unwrap();
    let (items, _, seen) = read_every_way(source, &lines.lines().collect::<Vec<_>>());
    assert_eq!(items, expected, "{text}");
    assert_eq!(seen.unknown.len(), 0, "{:?}", seen.unknown);
    seen
}

#[test]
fn a_task_is_known_by_its_folder() {
    for agent in [Agent::Cline, Agent::Roo, Agent::Kilo] {
        let found = classify(agent, PATH).map(|located| (located.agent, located.session.to_string()));
        assert_eq!(found, Some((agent, "1781205335513".to_owned())));
        for none in ["", "api_conversation_history.json", "1/ui_messages.json", "../api_conversation_history.json"] {
            assert_eq!(classify(agent, none), None, "{none}");
        }
    }
}

#[test]
fn what_was_typed_is_told_from_what_the_program_adds() {
    check(
        r##"{"role":"user","ts":1781205335600,"content":[{"type":"text","text":"<task>\nmake it\nround\n</task>"},
              {"type":"text","text":"<environment_details>\n# Current Workspace Directory (/w/a (b)) Files\nx.rs\n</environment_details>"}]},
           {"role":"assistant","content":[{"type":"text","text":"Done? "}]},
           {"role":"user","content":[{"type":"text","text":"[ERROR] You did not use a tool in your previous response!"}]},
           {"role":"user","content":[{"type":"text","text":"[TASK RESUMPTION] This task was interrupted.\n<user_message>\ngo on\n</user_message>"}]},
           {"role":"assistant","isSummary":true,"content":"All of it."}"##,
        &[
            "1 cwd /w/a (b)",
            "1 prompt make it\nround",
            "2 reply Done?",
            "4 prompt go on",
            "5 compaction  None None",
            "5 summary All of it.",
        ],
    );
}

#[test]
fn calls_are_blocks_or_elements() {
    check(
        r#"{"role":"assistant","content":[{"type":"text","text":"I look."},
             {"type":"tool_use","id":"c1","name":"execute_command","input":{"command":"ls"}},
             {"type":"tool_use","id":"c2","name":"mcp--docs--find","input":{"q":"x"}}]},
           {"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"Command executed in terminal. Exit code: 2\nOutput:\nno such file"},
             {"type":"tool_result","tool_use_id":"c2","content":"The user denied this operation and provided the following feedback:\n<feedback>\nnot that\n</feedback>"}]},
           {"role":"assistant","content":"<thinking>hm</thinking>\n\nI write.\n<write_to_file>\n<path>a.txt</path>\n<content>\"one\"\ntwo\n</content>\n</write_to_file>"},
           {"role":"user","content":[{"type":"text","text":"[write_to_file for 'a.txt'] Result:"},{"type":"text","text":"The content was saved."},
             {"type":"text","text":"<environment_details>\n</environment_details>"}]},
           {"role":"assistant","content":"<attempt_completion>\n<result>\nIt is round.\n</result>\n</attempt_completion>"},
           {"role":"user","content":[{"type":"text","text":"[attempt_completion] Result:"},
             {"type":"text","text":"The user has provided feedback on the results.\n<feedback>\nrounder\n</feedback>"}]}"#,
        &[
            "1 reply I look.",
            r#"1 call execute_command {"command":"ls"}"#,
            r#"1 call mcp__docs__find {"q":"x"}"#,
            "2 result Failed execute_command ls: exit 2, no such file",
            "2 result Denied mcp__docs__find x: denied",
            "2 answer not that",
            "3 thinking hm",
            "3 reply I write.",
            r#"3 call write_to_file {"content":"\"one\"\ntwo\n","path":"a.txt"}"#,
            "4 result Ok write_to_file a.txt: +2 -0",
            "5 reply It is round.",
            "6 prompt rounder",
        ],
    );
}

#[test]
fn nothing_that_the_agent_says_is_lost() {
    check(
        r##"{"role":"assistant","content":[{"type":"text","text":"First the list.\n<update_todo_list>\n<todos>\n[x] one\n</todos>\n</update_todo_list>\n\n## Phase two\n\n[Response interrupted by a tool use result. Only one tool may be used at a time and should be placed at the end of the message.]"}]},
           {"role":"user","content":[{"type":"text","text":"[update_todo_list] Result:"},{"type":"text","text":"Todo list updated successfully."},
             {"type":"text","text":"\n\nNew instructions for task continuation:\n<user_message>\nand the rest?\n</user_message>"}]},
           {"role":"assistant","content":"<attempt_completion>\n<result>\nIt is\n\n[Response interrupted by user]"},
           {"role":"user","content":"New message to respond to with plan_mode_respond tool (be sure to provide your response in the <response> parameter):\n<user_message>\nwhy [so]\n</user_message>"},
           {"role":"assistant","content":"It says [Response interrupted by user] and goes on."}"##,
        &[
            "1 reply First the list.",
            r#"1 call update_todo_list {"todos":"\n[x] one\n"}"#,
            "1 reply ## Phase two",
            "1 notice [Response interrupted by a tool use result. Only one tool may be used at a time and should be placed at the end of the message.]",
            "2 result Ok update_todo_list [x] one: ok",
            "2 prompt and the rest?",
            "3 reply It is",
            "3 notice interrupted by the user",
            "4 prompt why [so]",
            "5 reply It says [Response interrupted by user] and goes on.",
        ],
    );
}

#[test]
fn a_file_may_have_the_elements_of_a_persons_words() {
    check(
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"read_file","input":{"path":"a.xml"}}]},
           {"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"<answers>\n<answer>no</answer>\n</answers>"}]},
           {"role":"assistant","content":[{"type":"tool_use","id":"c2","name":"ask_followup_question","input":{"question":"which?"}}]},
           {"role":"user","content":[{"type":"tool_result","tool_use_id":"c2","content":"<answer>\nthis\n</answer>"}]}"#,
        &[
            r#"1 call read_file {"path":"a.xml"}"#,
            "2 result Ok read_file a.xml: 3 lines",
            r#"3 call ask_followup_question {"question":"which?"}"#,
            "4 result Ok ask_followup_question which?: 3 lines, 23 B",
            "4 answer this",
        ],
    );
}

#[test]
fn sessions_in_the_terminal_and_their_subagents_are_found() {
    let kind = |agent, path: &str| classify(agent, path).map(|located| (located.session.to_string(), located.kind));
    assert_eq!(kind(Agent::Cline, "17_a/17_a.messages.json"), Some(("17_a".to_owned(), Kind::Main)));
    let parent = location::session_of("17_a");
    for stem in ["agent_18_b", "agent_18_b__task_2"] {
        let expected = Some((stem.to_owned(), Kind::Subagent { parent: parent.clone() }));
        assert_eq!(kind(Agent::Cline, &format!("17_a/{stem}.messages.json")), expected);
    }
    for none in ["17_a/17_a.json", "17_a/17_a.compaction.json", "17_a.messages.json", "17_a/b/17_a.messages.json"] {
        assert_eq!(kind(Agent::Cline, none), None, "{none}");
    }
    assert_eq!(kind(Agent::Roo, "17_a/17_a.messages.json"), None);
}

#[test]
fn a_session_in_the_terminal_is_read() {
    let source = Source { agent: Agent::Cline, subagent: false };
    let seen = check_document(
        source,
        r##"{"version":1,"updated_at":"x","agent":"lead","origin":{"version":"3.0.65","sessionId":"17_a"},"messages":[
           {"id":"m1","role":"user","ts":1795936200833,"content":[{"type":"text","text":"<user_input mode=\"act\"><mode_notice>The user switched.</mode_notice>fix <b> it</user_input>"}]},
           {"id":"m2","role":"assistant","ts":1795936200968,"modelInfo":{"id":"gpt-6"},
             "metrics":{"inputTokens":50,"outputTokens":4,"cacheReadTokens":3,"cacheWriteTokens":2},
             "content":[{"type":"text","text":"I look. <read_file>"},
               {"type":"tool_use","id":"c1","name":"run_commands","input":{"commands":["cargo test","exit 3"]}},
               {"type":"tool_use","id":"c2","name":"editor","input":{"path":"a.txt","old_text":"two","new_text":"three\nfour"}},
               {"type":"tool_use","id":"c3","name":"editor","input":{"path":"b.txt","new_text":"x"}},
               {"type":"tool_use","id":"c4","name":"read_files","input":{"files":[{"path":"a.txt","start_line":2}]}},
               {"type":"tool_use","id":"c5","name":"Bash","input":{"command":"ls"}},
               {"type":"tool_use","id":"c6","name":"apply_patch","input":{"input":"*** Begin Patch\n*** Add File: c.txt\n+c\n*** End Patch"}}]},
           {"id":"m3","role":"user","content":[
               {"type":"tool_result","tool_use_id":"c1","name":"run_commands","content":[{"query":"cargo test","result":"ok","success":true},
                 {"query":"exit 3","result":"[Command exited with code 3]\nhi\n","error":"Command exited with code 3","success":false}]},
               {"type":"tool_result","tool_use_id":"c2","name":"editor","content":"{\"query\":\"edit:a.txt\",\"result\":\"Edited\",\"success\":true}"},
               {"type":"tool_result","tool_use_id":"c3","name":"editor","is_error":true,"content":"This tool call was rejected by the user and not executed."},
               {"type":"tool_result","tool_use_id":"c4","name":"read_files","content":[{"query":"a.txt","result":"<feedback>no</feedback>","success":true}]},
               {"type":"tool_result","tool_use_id":"c5","name":"Bash","is_error":true,"content":"{\"error\":\"unavailable tool 'Bash'\"}"},
               {"type":"tool_result","tool_use_id":"c6","name":"apply_patch","content":[{"query":"c.txt","result":"done","success":true}]}]},
           {"id":"m4","role":"user","content":"<user_command slash=\"team\">ship</user_command>"},
           {"id":"m5","role":"user","content":"old","metadata":{"kind":"compaction_summary","summary":"All before."}},
           {"id":"e1","role":"assistant","content":[{"type":"text","text":"No key."}],"metadata":{"displayOnly":true}}]}"##,
        &[
            "2 prompt fix <b> it",
            "3 reply I look. <read_file>",
            r#"3 call run_commands {"command":"cargo test\nexit 3"}"#,
            r#"3 call editor {"new_string":"three\nfour","old_string":"two","path":"a.txt"}"#,
            r#"3 call editor {"new_string":"x","path":"b.txt"}"#,
            r#"3 call read_files {"path":"a.txt"}"#,
            r#"3 call Bash {"command":"ls"}"#,
            r#"3 call apply_patch {"change":"add","patch":"+c\n","path":"c.txt"}"#,
            "3 usage gpt-6 None [50, 4, 3, 2, 0]",
            "4 result Failed run_commands cargo test exit 3: exit 3, hi",
            "4 result Ok editor a.txt: +2 -1",
            "4 result Denied editor b.txt: denied",
            "4 result Ok read_files a.txt: 1 line",
            "4 result Failed Bash ls: failed, unavailable tool 'Bash'",
            "4 result Ok apply_patch c.txt: +1 -0",
            "5 prompt /team ship",
            "6 compaction  None None",
            "6 summary All before.",
            "7 notice No key.",
        ],
    );
    assert_eq!(seen.agent_version.as_deref(), Some("3.0.65"));
    assert_eq!(seen.agent_session.as_deref(), Some("17_a"));
}

#[test]
fn a_subagents_first_text_is_its_prompt() {
    let seen = check_document(
        Source { agent: Agent::Cline, subagent: true },
        r#"{"origin":{"sessionId":"17_a__agent_1","parentThreadId":"17_a"},"messages":[
            {"id":"m1","role":"user","content":[{"type":"text","text":"count"}]}]}"#,
        &["2 prompt count"],
    );
    assert_eq!(seen.agent_session.as_deref(), Some("17_a"));
}
