//! A scripted stand-in for the daemon, for what a real one does only by chance.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex};

use baton_protocol::tool;
use serde_json::{Value, json};

use super::agent::{Agent, Lines};
use crate::world::{World, text, wait};

/// The reaction to a call.
#[derive(Clone)]
enum Act {
    /// Reports progress (what, done, total), then does the next act.
    Tell(&'static str, u64, u64),
    /// Answers with this result of a tool.
    Answer(&'static str),
    /// Answers that it is stopping.
    Stopping,
    /// Closes the connection without an answer.
    HangUp,
    /// Sends nothing until the other side disconnects.
    Wait,
}

#[derive(Clone)]
struct StandIn(Arc<Mutex<Noted>>);

#[derive(Default)]
struct Noted {
    acts: VecDeque<Act>,
    calls: Vec<Value>,
    gone: usize,
}

impl StandIn {
    fn start(world: &World, protocol: u32, acts: &[Act]) -> Self {
        // The id of a process that has ended, so that no client waits for a living one.
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let pid = ended.id();
        std::fs::create_dir_all(world.home()).unwrap();
        let socket = world.home().join("baton.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let noted = Self(Arc::new(Mutex::new(Noted { acts: acts.iter().cloned().collect(), ..Noted::default() })));
        let shared = noted.clone();
        std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                let (shared, socket) = (shared.clone(), socket.clone());
                let welcome = json!({"protocol": protocol, "version": "9.9.9", "pid": pid});
                std::thread::spawn(move || shared.serve(stream, &welcome, &socket));
            }
        });
        noted
    }

    fn serve(&self, stream: UnixStream, welcome: &Value, socket: &std::path::Path) {
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        while stream.read_line(&mut line).is_ok_and(|read| read > 0) {
            let request: Value = serde_json::from_str(&line).unwrap();
            line.clear();
            let answer = |result: Value| json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
            let mut say = |value: Value| drop(writeln!(stream.get_mut(), "{value}"));
            match text(&request["method"]).as_str() {
                "hello" => say(answer(welcome.clone())),
                "stop" => {
                    std::fs::remove_file(socket).unwrap();
                    return say(answer(json!({})));
                }
                // An agent announces its presence on a connection of its own; this is no scripted call.
                "presence" => say(answer(json!({}))),
                _ => {
                    self.0.lock().unwrap().calls.push(request["params"].clone());
                    loop {
                        let act = self.0.lock().unwrap().acts.pop_front();
                        match act.expect("no act for a call") {
                            Act::Tell(what, done, total) => {
                                let params = json!({"what": what, "done": done, "total": total});
                                say(json!({"jsonrpc": "2.0", "method": "progress", "params": params}));
                            }
                            Act::Answer(word) => {
                                let value = json!({"message": word});
                                let content = json!([{"type": "text", "text": value.to_string()}]);
                                let structured = match tool::named(&text(&request["params"]["name"])) {
                                    Some(tool) if tool.wraps_result() => json!({"result": value}),
                                    _ => value,
                                };
                                let result =
                                    json!({"content": content, "structuredContent": structured, "isError": false});
                                break say(answer(result));
                            }
                            Act::Stopping => {
                                let error = json!({"code": -32_005, "message": "the daemon is stopping"});
                                break say(json!({"jsonrpc": "2.0", "id": request["id"], "error": error}));
                            }
                            Act::HangUp => return,
                            Act::Wait => {
                                let _ = stream.read_line(&mut line);
                                self.0.lock().unwrap().gone += 1;
                                return;
                            }
                        }
                    }
                }
            }
        }
    }

    fn calls(&self) -> Vec<Value> {
        self.0.lock().unwrap().calls.clone()
    }

    fn gone(&self) -> usize {
        self.0.lock().unwrap().gone
    }

    fn then(&self, act: Act) {
        self.0.lock().unwrap().acts.push_back(act);
    }
}

#[test]
fn a_call_is_forwarded_with_who_asks() {
    let mut world = World::new();
    world.set("CLAUDE_CODE_SESSION_ID", "the-session");
    world.set("CLAUDE_PROJECT_DIR", "/srv/project");
    let daemon = StandIn::start(&world, 1, &[Act::Answer("yes")]);
    let agent = Agent::start(&world);
    assert_eq!(agent.call("search_nodes", json!({"query": "a", "max_nodes": 3})).ok()["message"], "yes");
    let call = daemon.calls().remove(0);
    assert_eq!(call["name"], "search_nodes", "names are the daemon's matter");
    assert_eq!(call["arguments"], json!({"query": "a", "max_nodes": 3}));
    let caller = &call["caller"];
    assert_eq!((&caller["agent_session"], &caller["directory"]), (&json!("the-session"), &json!("/srv/project")));
    assert!(caller["since"].is_i64(), "since when it is so: {caller}");
}

#[test]
fn a_call_that_meets_a_dying_daemon_is_asked_once_more_as_the_same_wish() {
    let world = World::new();
    let daemon = StandIn::start(&world, 1, &[Act::HangUp, Act::Answer("second"), Act::Stopping, Act::Stopping]);
    let agent = Agent::start(&world);
    assert_eq!(agent.call("session_tracking_close", json!({})).ok()["message"], "second");
    daemon.then(Act::Answer("third"));
    assert_eq!(agent.call("session_tracking_close", json!({})).ok()["message"], "third");
    let ids: Vec<String> = daemon.calls().iter().map(|call| text(&call["command_id"])).collect();
    assert_eq!(ids.len(), 5);
    assert_eq!(ids[0], ids[1]);
    assert_ne!(ids[1], ids[2], "another call is another wish");
    assert!(ids[2] == ids[3] && ids[3] == ids[4]);
    // One disconnect is retried, two are an error.
    daemon.then(Act::HangUp);
    daemon.then(Act::HangUp);
    let refused = agent.call("session_tracking_close", json!({})).refused();
    assert!(refused.contains("broke"), "{refused}");
    assert_eq!(daemon.calls().len(), 7);
}

#[test]
fn progress_is_passed_on_and_only_grows() {
    let world = World::new();
    let acts = [
        Act::Tell("reading sessions", 1, 4),
        Act::Tell("reading sessions", 4, 4),
        Act::Tell("indexing", 0, 2),
        Act::Tell("indexing", 2, 2),
        Act::Answer("done"),
    ];
    StandIn::start(&world, 1, &acts);
    let agent = Agent::start(&world);
    assert_eq!(agent.call("get_episodes", json!({"wait": true})).ok()["message"], "done");
    let told = |done: f64, total: f64, what: &str| (done, Some(total), what.to_owned());
    let expected = [told(1.0, 4.0, "reading sessions"), told(4.0, 4.0, "reading sessions"), told(6.0, 6.0, "indexing")];
    // Notifications are handled concurrently with answers.
    assert!(wait(|| agent.told().len() == 3), "{:?}", agent.told());
    let mut came = agent.told();
    came.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert_eq!(came, expected);
}

#[test]
fn who_asks_for_no_progress_gets_none() {
    let world = World::new();
    StandIn::start(&world, 1, &[Act::Tell("reading sessions", 1, 4), Act::Answer("done")]);
    let mut lines = Lines::start(&world);
    lines.greet("2025-06-18");
    let params = json!({"name": "get_episodes", "arguments": {}});
    let answer = lines.ask(&json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": params}));
    assert_eq!(
        (&answer["id"], &answer["result"]["structuredContent"]["result"]["message"]),
        (&json!("a"), &json!("done"))
    );
}

#[test]
fn a_cancelled_call_is_let_go_and_the_next_is_served() {
    let world = World::new();
    let daemon = StandIn::start(&world, 1, &[Act::Wait]);
    let agent = Agent::start(&world);
    let call = agent.begin("get_episodes", &json!({"wait": true}));
    assert!(wait(|| daemon.calls().len() == 1));
    agent.cancel(call);
    assert!(wait(|| daemon.gone() == 1), "the daemon is left to work for nobody");
    daemon.then(Act::Answer("next"));
    assert_eq!(agent.call("get_episodes", json!({})).ok()["message"], "next");
    agent.end();
}

#[test]
fn many_calls_at_once_are_all_answered() {
    let world = World::new();
    let daemon = StandIn::start(&world, 1, &vec![Act::Answer("one of many"); 40]);
    let mut lines = Lines::start(&world);
    lines.greet("2025-11-25");
    for id in 0..40 {
        let params = json!({"name": "get_episodes", "arguments": {}});
        lines.send(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string());
    }
    let mut answered: Vec<i64> = (0..40).map(|_| lines.line().unwrap()["id"].as_i64().unwrap()).collect();
    answered.sort_unstable();
    assert_eq!(answered, (0..40).collect::<Vec<i64>>());
    assert_eq!(daemon.calls().len(), 40);
}

#[test]
fn input_that_ends_in_the_middle_of_a_call_ends_the_server() {
    let world = World::new();
    let daemon = StandIn::start(&world, 1, &[Act::Wait]);
    let mut lines = Lines::start(&world);
    lines.greet("2025-06-18");
    let params = json!({"name": "get_episodes", "arguments": {}});
    lines.send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string());
    assert!(wait(|| daemon.calls().len() == 1));
    let since = std::time::Instant::now();
    lines.hang_up();
    assert_eq!(lines.ended(), Some(0));
    assert!(since.elapsed().as_secs() < 5, "the client library would have waited that long");
    assert_eq!(lines.line(), None, "no answer, and nothing else");
    assert!(wait(|| daemon.gone() == 1));
}

#[test]
fn a_newer_daemon_is_named_and_left_alone() {
    let world = World::new();
    let daemon = StandIn::start(&world, 99, &[]);
    let agent = Agent::start(&world);
    let refused = agent.call("get_episodes", json!({})).refused();
    assert!(refused.contains("9.9.9") && refused.contains("update this program"), "{refused}");
    assert!(daemon.calls().is_empty());
    assert!(world.home().join("baton.sock").exists(), "it was not stopped");
}

#[test]
fn an_older_daemon_is_replaced() {
    let world = World::new();
    let daemon = StandIn::start(&world, 0, &[]);
    let agent = Agent::start(&world);
    let status = agent.call("session_tracking_status", json!({"session_id": "nobody"}));
    assert!(status.refused().contains("nobody"));
    assert!(daemon.calls().is_empty());
    assert!(world.daemon().is_some(), "{}", world.log());
}
