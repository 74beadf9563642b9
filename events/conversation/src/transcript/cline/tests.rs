use super::super::tests::read_every_way;
use super::super::{Source, classify, document};
use super::*;

const MAIN: Source = Source { agent: Agent::Roo, subagent: false };
const PATH: &str = "1781205335513/api_conversation_history.json";

fn check(messages: &str, expected: &[&str]) {
    let lines = document(Agent::Roo, PATH).unwrap().lines(format!("[{messages}]").as_bytes()).unwrap();
    let lines = String::from_utf8(lines).unwrap();
    let (items, _, seen) = read_every_way(MAIN, &lines.lines().collect::<Vec<_>>());
    assert_eq!(items, expected, "{messages}");
    assert_eq!(seen.unknown.len(), 0, "{:?}", seen.unknown);
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
