//! What each agent writes of one exchange: a prompt, a call with its result, and a reply, in the shapes of its records.

use baton_protocol::Agent;
use serde_json::{Value, json};

use crate::agent_database;
use crate::corpus::random::Random;

const CWD: &str = "/srv/harbor";
const SESSION: &str = "5d2f1c3a-7b1e-4c55-9a01-d40f7a6b8c90";
/// Milliseconds of the first exchange.
const FIRST_MS: u64 = 1_781_205_300_000;
const WORDS: [&str; 32] = [
    "the",
    "tide",
    "table",
    "is",
    "read",
    "from",
    "a",
    "file",
    "that",
    "harbor",
    "office",
    "writes",
    "each",
    "night",
    "and",
    "parser",
    "fails",
    "when",
    "zone",
    "changes",
    "because",
    "offset",
    "src/zone.rs",
    "was",
    "added",
    "twice",
    "so",
    "test",
    "covers",
    "March",
    "`cargo test`",
    "error[E0382]:",
];

/// One exchange, the same in every agent's shape.
pub(super) struct Exchange {
    number: u64,
    prompt: String,
    command: String,
    output: String,
    reply: String,
    at: String,
}

fn text(random: &mut Random, bytes: usize, lines: usize) -> String {
    let mut text = String::with_capacity(bytes + 16);
    while text.len() < bytes {
        text.push_str(WORDS[random.below(WORDS.len())]);
        text.push(if random.below(lines) == 0 { '\n' } else { ' ' });
    }
    text.truncate(text.trim_end().len());
    text
}

impl Exchange {
    pub(super) fn new(number: u64, random: &mut Random) -> Self {
        let seconds = number % 86_400;
        Self {
            number,
            prompt: text(random, 160, 40),
            command: format!("cargo test zone_{number} -- --nocapture"),
            output: text(random, 3_000, 12),
            reply: text(random, 700, 25),
            at: format!("2026-06-11T{:02}:{:02}:{:02}.000Z", seconds / 3_600, seconds / 60 % 60, seconds % 60),
        }
    }

    fn id(&self, part: &str) -> String {
        format!("{part}{:08x}", self.number)
    }

    pub(super) fn ms(&self) -> u64 {
        FIRST_MS + self.number * 1_000
    }

    /// Blocks as Claude's models have them: call, result, reply.
    fn blocks(&self, shell: &str) -> [Value; 3] {
        [
            json!({ "type": "tool_use", "id": self.id("t"), "name": shell, "input": { "command": self.command } }),
            json!({ "type": "tool_result", "tool_use_id": self.id("t"), "content": self.output }),
            json!({ "type": "text", "text": self.reply }),
        ]
    }

    /// The records, in order; none for an agent whose transcripts are not generated.
    pub(super) fn records(&self, agent: Agent) -> Vec<Value> {
        let Self { prompt, command, output, reply, at, .. } = self;
        let (at, turn) = (at.as_str(), |part: &str| self.id(part));
        let said = |text: &str| json!([{ "type": "text", "text": text }]);
        match agent {
            Agent::Aider | Agent::Goose | Agent::Hermes | Agent::Crush => Vec::new(),
            Agent::ClaudeCode => {
                let [call, result, reply] = self.blocks("Bash");
                let record = |kind: &str, part: &str, content: Value| {
                    let message = match kind {
                        "assistant" => json!({ "id": turn(part), "role": kind, "model": "opus", "content": content,
                            "usage": { "input_tokens": 9, "cache_read_input_tokens": 90_000, "output_tokens": 400 } }),
                        _ => json!({ "role": kind, "content": content }),
                    };
                    json!({ "parentUuid": null, "isSidechain": false, "type": kind, "uuid": turn(part),
                        "sessionId": SESSION, "timestamp": at, "cwd": CWD, "gitBranch": "main", "version": "2.1.180",
                        "message": message })
                };
                let mut done = record("user", "r", json!([result]));
                done["toolUseResult"] = json!({ "stdout": output, "stderr": "", "interrupted": false });
                vec![
                    record("user", "p", json!(prompt)),
                    record("assistant", "c", json!([call])),
                    done,
                    record("assistant", "a", json!([reply])),
                ]
            }
            Agent::Codex => {
                let line = |kind: &str, payload: Value| json!({ "timestamp": at, "type": kind, "payload": payload });
                let message = |role: &str, kind: &str, text: &str| json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] });
                let arguments = json!({ "command": ["bash", "-lc", command], "workdir": CWD }).to_string();
                let output = format!("Exit code: 0\nWall time: 1.2 seconds\nOutput:\n{output}");
                let usage = json!({ "input_tokens": 90_000, "cached_input_tokens": 80_000, "output_tokens": 400,
                    "total_tokens": 90_400 + self.number });
                vec![
                    line("response_item", message("user", "input_text", prompt)),
                    line("event_msg", json!({ "type": "user_message", "message": prompt })),
                    line(
                        "response_item",
                        json!({ "type": "function_call", "name": "shell", "arguments": arguments, "call_id": turn("t") }),
                    ),
                    line(
                        "response_item",
                        json!({ "type": "function_call_output", "call_id": turn("t"), "output": output }),
                    ),
                    line("event_msg", json!({ "type": "agent_message", "message": reply })),
                    line("response_item", message("assistant", "output_text", reply)),
                    line(
                        "event_msg",
                        json!({ "type": "token_count", "info": { "total_token_usage": usage, "last_token_usage": usage } }),
                    ),
                ]
            }
            Agent::Gemini => {
                let response = json!({ "output": format!("Output: {output}\nExit Code: 0\nSignal: (none)") });
                let call = json!({ "id": turn("t"), "name": "run_shell_command", "args": { "command": command },
                    "status": "success", "timestamp": at,
                    "result": [{ "functionResponse": { "id": turn("t"), "name": "run_shell_command", "response": response } }] });
                let tokens = json!({ "input": 90_000, "output": 400, "cached": 80_000, "thoughts": 0, "tool": 0, "total": 90_400 });
                vec![
                    json!({ "id": turn("p"), "timestamp": at, "type": "user", "content": [{ "text": prompt }] }),
                    json!({ "id": turn("c"), "timestamp": at, "type": "gemini", "content": "", "model": "gemini-3", "tokens": tokens }),
                    json!({ "id": turn("c"), "timestamp": at, "type": "gemini", "content": "", "model": "gemini-3", "tokens": tokens,
                        "toolCalls": [call] }),
                    json!({ "id": turn("a"), "timestamp": at, "type": "gemini", "content": reply, "model": "gemini-3", "tokens": tokens }),
                ]
            }
            Agent::Qwen => {
                let line = |part: &str, parent: &str, kind: &str, role: &str, content: Value| {
                    json!({ "uuid": turn(part), "parentUuid": turn(parent), "sessionId": SESSION, "timestamp": at, "type": kind,
                        "cwd": CWD, "version": "0.21.13", "gitBranch": "main", "message": { "role": role, "parts": [content] } })
                };
                let call = json!({ "id": turn("t"), "name": "run_shell_command", "args": { "command": command } });
                let response = json!({ "output": format!("Output: {output}\nExit Code: 0\nSignal: (none)") });
                let done = json!({ "id": turn("t"), "name": "run_shell_command", "response": response });
                let mut done = line("r", "c", "tool_result", "user", json!({ "functionResponse": done }));
                done["toolCallResult"] = json!({ "callId": turn("t"), "status": "success", "resultDisplay": output });
                vec![
                    line("p", "x", "user", "user", json!({ "text": prompt })),
                    line("c", "p", "assistant", "model", json!({ "functionCall": call })),
                    done,
                    line("a", "r", "assistant", "model", json!({ "text": reply })),
                ]
            }
            Agent::Copilot => {
                let event = |part: &str, kind: &str, data: Value| json!({ "type": kind, "id": turn(part), "timestamp": at, "data": data });
                let call = json!({ "toolCallId": turn("t"), "toolName": "bash", "arguments": { "command": command } });
                let output = format!("{output}\n<shellId: 1 completed with exit code 0>");
                let done = json!({ "toolCallId": turn("t"), "success": true,
                    "result": { "content": output, "detailedContent": output } });
                vec![
                    event("p", "user.message", json!({ "content": prompt })),
                    event("c", "tool.execution_start", call),
                    event("r", "tool.execution_complete", done),
                    event("a", "assistant.message", json!({ "messageId": turn("m"), "content": reply })),
                ]
            }
            Agent::Pi => {
                let entry = |part: &str, parent: &str, message: Value| json!({ "type": "message", "id": turn(part), "parentId": turn(parent), "timestamp": at, "message": message });
                let answer = |content: Value| {
                    json!({ "role": "assistant", "content": content, "model": "m", "stopReason": "stop",
                        "usage": { "input": 9, "output": 400, "cacheRead": 90_000 } })
                };
                let call =
                    json!({ "type": "toolCall", "id": turn("t"), "name": "bash", "arguments": { "command": command } });
                let done = json!({ "role": "toolResult", "toolCallId": turn("t"), "toolName": "bash", "isError": false,
                    "content": said(output) });
                vec![
                    entry("p", "x", json!({ "role": "user", "content": said(prompt) })),
                    entry("c", "p", answer(json!([call]))),
                    entry("r", "c", done),
                    entry("a", "r", answer(said(reply))),
                ]
            }
            Agent::Droid => {
                let [call, result, reply] = self.blocks("Execute");
                let message = |part: &str, role: &str, content: Value| json!({ "type": "message", "id": turn(part), "timestamp": at, "message": { "role": role, "content": content } });
                vec![
                    message("p", "user", said(prompt)),
                    message("c", "assistant", json!([call])),
                    message("r", "user", json!([result])),
                    message("a", "assistant", json!([reply])),
                ]
            }
            Agent::Cursor => {
                let [call, result, reply] = self.blocks("Shell");
                let message = |role: &str, content: Value| json!({ "role": role, "message": { "content": content } });
                vec![
                    message("user", said(&format!("<user_query>\n{prompt}\n</user_query>"))),
                    message("assistant", json!([call])),
                    message("user", json!([result])),
                    message("assistant", json!([reply])),
                ]
            }
            Agent::Kiro => {
                let record = |kind: &str, part: &str, content: Value| {
                    json!({ "version": "v1", "kind": kind, "data": { "message_id": turn(part), "content": [content],
                        "meta": { "timestamp": self.ms() / 1_000 } } })
                };
                let input = json!({ "command": command, "__tool_use_purpose": "Run the tests" });
                let call = json!({ "toolUseId": turn("t"), "name": "shell", "input": input });
                let output = json!({ "exit_status": "exit status: 0", "stdout": output, "stderr": "" });
                let done = json!({ "toolUseId": turn("t"), "status": "success", "content": [{ "kind": "json", "data": output }] });
                vec![
                    record("Prompt", "p", json!({ "kind": "text", "data": prompt })),
                    record("AssistantMessage", "c", json!({ "kind": "toolUse", "data": call })),
                    record("ToolResults", "r", json!({ "kind": "toolResult", "data": done })),
                    record("AssistantMessage", "a", json!({ "kind": "text", "data": reply })),
                ]
            }
            Agent::Vibe => {
                let arguments = json!({ "command": command }).to_string();
                let call = json!({ "id": turn("t"), "index": 0, "type": "function",
                    "function": { "name": "bash", "arguments": arguments } });
                let output = format!("command: {command}\nstdout: {output}\nstderr: \nreturncode: 0");
                vec![
                    json!({ "role": "user", "content": prompt, "injected": false, "message_id": turn("p") }),
                    json!({ "role": "assistant", "injected": false, "tool_calls": [call], "message_id": turn("c") }),
                    json!({ "role": "tool", "content": output, "injected": false, "name": "bash", "tool_call_id": turn("t") }),
                    json!({ "role": "assistant", "content": reply, "injected": false, "message_id": turn("a") }),
                ]
            }
            Agent::Antigravity => {
                let step = |step: u64, source: &str, kind: &str, field: &str, value: Value| {
                    json!({ "step_index": 4 * self.number + step, "source": source, "type": kind, "status": "DONE",
                        "created_at": at, field: value })
                };
                let call = json!([{ "name": "run_command", "args": { "CommandLine": command, "Cwd": CWD } }]);
                let head = "Created At: 2026-06-20T11:11:59Z\nCompleted At: 2026-06-20T11:12:00Z";
                let output = format!("{head}\n\nThe command completed successfully.\nOutput:\n{output}");
                vec![
                    step(
                        0,
                        "USER_EXPLICIT",
                        "USER_INPUT",
                        "content",
                        json!(format!("<USER_REQUEST>\n{prompt}\n</USER_REQUEST>")),
                    ),
                    step(1, "MODEL", "PLANNER_RESPONSE", "tool_calls", call),
                    step(2, "MODEL", "RUN_COMMAND", "content", json!(output)),
                    step(3, "MODEL", "PLANNER_RESPONSE", "content", json!(reply)),
                ]
            }
            Agent::Kimi => {
                let record =
                    |kind: &str, field: &str, value: Value| json!({ "type": kind, "time": self.ms(), field: value });
                let event = |value: Value| record("context.append_loop_event", "event", value);
                let origin = json!({ "kind": "user" });
                let mut typed = record("turn.prompt", "input", said(prompt));
                typed["origin"] = origin.clone();
                let message = json!({ "role": "user", "content": said(prompt), "toolCalls": [], "origin": origin });
                vec![
                    typed,
                    record("context.append_message", "message", message),
                    event(
                        json!({ "type": "tool.call", "uuid": turn("c"), "stepUuid": turn("s"), "toolCallId": turn("t"),
                        "name": "Bash", "args": { "command": command } }),
                    ),
                    event(json!({ "type": "tool.result", "toolCallId": turn("t"), "result": { "output": output } })),
                    event(json!({ "type": "content.part", "uuid": turn("a"), "stepUuid": turn("s"),
                        "part": { "type": "text", "text": reply } })),
                ]
            }
            Agent::Amp => {
                let [mut call, _, reply] = self.blocks("Bash");
                call["input"] = json!({ "cmd": command, "cwd": CWD });
                let run = json!({ "status": "done", "result": { "output": output, "exitCode": 0 } });
                let message = |role: &str, content: Value| json!({ "role": role, "messageId": self.number, "content": content, "meta": { "sentAt": self.ms() } });
                vec![
                    message("user", said(prompt)),
                    message("assistant", json!([call])),
                    message("user", json!([{ "type": "tool_result", "toolUseID": turn("t"), "run": run }])),
                    message("assistant", json!([reply])),
                ]
            }
            Agent::OpenCode => {
                let at = self.ms() as i64;
                let state = json!({ "status": "completed", "input": { "command": command }, "output": output,
                    "metadata": { "exit": 0, "output": output, "truncated": false }, "time": { "start": at, "end": at } });
                let call = json!({ "type": "tool", "tool": "bash", "callID": turn("t"), "state": state });
                vec![
                    agent_database::prompt(prompt),
                    agent_database::answer(json!([call]), at),
                    agent_database::answer(json!([agent_database::text(reply, at)]), at),
                ]
            }
            Agent::OpenHands => {
                let event = |part: &str, kind: &str, source: &str, field: &str, value: Value| json!({ "kind": kind, "id": turn(part), "timestamp": at, "source": source, field: value });
                let mut call = event("c", "ActionEvent", "agent", "action", json!({ "command": command }));
                call["thought"] = json!([]);
                call["tool_name"] = json!("terminal");
                call["tool_call_id"] = json!(turn("t"));
                call["tool_call"] = json!({ "arguments": json!({ "command": command }).to_string() });
                let done = json!({ "content": said(output), "is_error": false, "metadata": { "exit_code": 0 } });
                let mut done = event("r", "ObservationEvent", "environment", "observation", done);
                done["tool_name"] = json!("terminal");
                done["tool_call_id"] = json!(turn("t"));
                let message = |role: &str, words: &str| json!({ "role": role, "content": said(words) });
                vec![
                    event("p", "MessageEvent", "user", "llm_message", message("user", prompt)),
                    call,
                    done,
                    event("a", "MessageEvent", "agent", "llm_message", message("assistant", reply)),
                ]
            }
            Agent::Cline | Agent::Roo | Agent::Kilo => {
                let [call, _, reply] = self.blocks("execute_command");
                let output = format!("Command executed in terminal. Exit code: 0\nOutput:\n{output}");
                let done = json!({ "type": "tool_result", "tool_use_id": turn("t"), "content": output });
                let message = |role: &str, content: Value| json!({ "role": role, "content": content, "ts": self.ms() });
                vec![
                    message("user", said(&format!("<task>\n{prompt}\n</task>"))),
                    message("assistant", json!([call])),
                    message("user", json!([done])),
                    message("assistant", json!([reply])),
                ]
            }
        }
    }
}

/// The records before the first exchange.
pub(super) fn head(agent: Agent) -> Vec<Value> {
    let at = "2026-06-11T00:00:00.000Z";
    match agent {
        Agent::Codex => {
            let meta = json!({ "id": SESSION, "timestamp": at, "cwd": CWD, "cli_version": "0.133.0", "source": "cli" });
            vec![json!({ "timestamp": at, "type": "session_meta", "payload": meta })]
        }
        Agent::Gemini => vec![json!({ "sessionId": SESSION, "startTime": at, "kind": "main", "directories": [CWD] })],
        Agent::Copilot => {
            let data = json!({ "sessionId": SESSION, "copilotVersion": "1.0.78", "context": { "cwd": CWD } });
            vec![json!({ "type": "session.start", "id": "s", "timestamp": at, "data": data })]
        }
        Agent::Pi => vec![json!({ "type": "session", "version": 3, "id": SESSION, "timestamp": at, "cwd": CWD })],
        Agent::Droid => {
            vec![json!({ "type": "session_start", "id": SESSION, "title": "Tides", "cwd": CWD, "version": 2 })]
        }
        Agent::Kimi => vec![json!({ "type": "metadata", "protocol_version": "1.4", "time": FIRST_MS })],
        _ => Vec::new(),
    }
}
