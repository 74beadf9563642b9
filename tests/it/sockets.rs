//! Clients that use the socket in another way than `baton` does, none of which affects other clients.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::world::{DEADLINE, World, id};

/// A client without our client code.
pub(crate) struct Raw(BufReader<UnixStream>);

impl Raw {
    pub(crate) fn connect(world: &World) -> Self {
        let stream = UnixStream::connect(world.home().join("baton.sock")).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.set_write_timeout(Some(DEADLINE)).unwrap();
        Self(BufReader::new(stream))
    }

    pub(crate) fn greeted(world: &World) -> Self {
        let mut raw = Self::connect(world);
        let hello = json!({"protocol": 1, "version": "0.0.1", "client": "test"});
        let welcome = raw.call(&json!({"jsonrpc": "2.0", "id": 1, "method": "hello", "params": hello}));
        assert_eq!(welcome["result"]["protocol"], 1, "{welcome}");
        raw
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).unwrap();
    }

    /// The next line; none if the daemon has closed the connection.
    pub(crate) fn line(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.0.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => Some(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))),
            // The connection was closed while we were still sending.
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => None,
            Err(error) => panic!("{error}"),
        }
    }

    pub(crate) fn call(&mut self, request: &Value) -> Value {
        self.send(format!("{request}\n").as_bytes());
        loop {
            let line = self.line().expect("an answer");
            // Skips progress notifications.
            if line["method"].is_null() {
                return line;
            }
        }
    }

    /// The connection itself.
    pub(crate) fn stream(&self) -> &UnixStream {
        self.0.get_ref()
    }

    /// Sends `bytes`; returns the error code, and whether the daemon closes the connection after it.
    fn refused(mut self, bytes: &[u8]) -> (i64, bool) {
        self.send(bytes);
        let answer = self.line().expect("an answer");
        let code = answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {answer}"));
        assert!(!answer["error"]["message"].as_str().unwrap().is_empty());
        (code, self.line().is_none())
    }
}

fn ready() -> World {
    let world = World::new();
    world.transcript("-work-one", &id(1)).prompt("the unmoved sloth");
    world.ok(&["status"]);
    world
}

#[test]
fn garbage_is_answered_and_hung_up_on() {
    let world = ready();
    let greetings: [(&[u8], i64); 7] = [
        (b"GET / HTTP/1.1\n", -32_700),
        (b"\xff\xfe\x00garbage\n", -32_700),
        (b"[]\n", -32_600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1}\n", -32_600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"search\"}\n", -32_600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hello\",\"params\":{\"protocol\":\"one\"}}\n", -32_602),
        (b"\n", -32_700),
    ];
    for (bytes, code) in greetings {
        let shown = String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(Raw::connect(&world).refused(bytes), (code, true), "{shown:?}");
    }
    assert_eq!(world.found("sloth"), [id(1)]);
}

#[test]
fn a_wrong_call_is_answered_and_the_connection_goes_on() {
    let world = ready();
    let mut raw = Raw::greeted(&world);
    let calls = [
        (json!({"jsonrpc": "2.0", "id": 2, "method": "nothing"}), -32_601),
        (json!({"jsonrpc": "1.0", "id": 2, "method": "status"}), -32_600),
        (json!({"jsonrpc": "2.0", "id": {"a": 1}, "method": "status"}), -32_600),
        (json!({"jsonrpc": "2.0", "id": 2, "method": "search"}), -32_602),
        (json!({"jsonrpc": "2.0", "id": 2, "method": "search", "params": {"query": "  "}}), -32_602),
        (json!({"jsonrpc": "2.0", "id": 2, "method": "search", "params": {"query": "a", "typo": 1}}), -32_602),
        (json!({"jsonrpc": "2.0", "id": 2, "method": "search", "params": {"query": ["a"]}}), -32_602),
        (json!({"jsonrpc": "2.0", "id": 2, "method": "sessions", "params": {"state": "odd"}}), -32_602),
        (json!({"jsonrpc": "2.0", "id": 2, "method": "show", "params": {"session": "nobody"}}), -32_004),
        (
            json!({"jsonrpc": "2.0", "id": 2, "method": "close", "params": {"session": "a", "command_id": "x".repeat(500)}}),
            0,
        ),
    ];
    for (call, code) in calls {
        let answer = raw.call(&call);
        assert_eq!(answer["error"]["code"].as_i64().unwrap_or_default(), code, "{call}: {answer}");
    }
    let answer = raw.call(&json!({"jsonrpc": "2.0", "id": "my own", "method": "status"}));
    assert_eq!(answer["id"], "my own");
    assert!(answer["result"]["pid"].is_u64(), "{answer}");
    // A notification gets no answer: the next answer is that of the next call.
    raw.send(b"{\"jsonrpc\":\"2.0\",\"method\":\"status\"}\n\n");
    assert_eq!(raw.call(&json!({"jsonrpc": "2.0", "id": 9, "method": "status"}))["id"], 9);
    // Huge numbers.
    let search = json!({"query": "sloth", "limit": 4_000_000_000_u32});
    let answer = raw.call(&json!({"jsonrpc": "2.0", "id": 10, "method": "search", "params": search}));
    assert_eq!(answer["result"]["hits"][0]["session_id"], *id(1), "{answer}");
}

#[test]
fn an_oversize_request_is_refused_and_others_are_served() {
    let world = ready();
    for greeted in [false, true] {
        let mut raw = if greeted { Raw::greeted(&world) } else { Raw::connect(&world) };
        let block = vec![b'x'; 64 * 1024];
        // The daemon disconnects after a megabyte, so the rest cannot be sent.
        let sent = (0..64).take_while(|_| raw.0.get_mut().write_all(&block).is_ok()).count();
        assert!(sent < 64, "four megabytes without an end were taken");
        assert_eq!(world.found("sloth"), [id(1)]);
        let mut rest = Vec::new();
        let _ = raw.0.read_to_end(&mut rest);
    }
}

#[test]
fn silent_and_vanishing_clients_are_let_go() {
    let world = ready();
    let mut silent = Raw::connect(&world);
    let half: Vec<Raw> = (0..20)
        .map(|_| {
            let mut raw = Raw::connect(&world);
            raw.send(b"{\"jsonrpc\":\"2.0\",");
            raw
        })
        .collect();
    drop(half);
    for _ in 0..20 {
        // Calls without waiting for the answer.
        let mut raw = Raw::greeted(&world);
        raw.send(
            b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"search\",\"params\":{\"query\":\"sloth\",\"wait\":true}}\n",
        );
    }
    assert_eq!(world.found("sloth"), [id(1)]);
    assert_eq!(silent.line(), None, "who does not say hello is let go");
}

#[test]
fn a_client_that_reads_nothing_is_let_go_and_holds_up_nobody() {
    let world = ready();
    let mut deaf = Raw::greeted(&world);
    deaf.0.get_ref().set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    let call = b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"status\"}\n";
    // Sends until neither side can send any more.
    let sent = (0..200_000).take_while(|_| deaf.0.get_mut().write_all(call).is_ok()).count();
    assert!(sent < 200_000, "answers to nobody pile up somewhere");
    assert_eq!(world.found("sloth"), [id(1)]);
}

#[test]
fn too_many_connections_of_one_process_are_refused_and_block_no_other() {
    let world = ready();
    let mut crowd: Vec<Raw> = Vec::new();
    let refused = loop {
        let mut raw = Raw::connect(&world);
        raw.send(
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hello\",\"params\":{\"protocol\":1,\"version\":\"0\"}}\n",
        );
        let answer = raw.line().expect("an answer");
        if answer.get("error").is_some() {
            break answer;
        }
        crowd.push(raw);
        assert!(crowd.len() < 1_000, "there is a bound");
    };
    assert!(refused["error"]["message"].as_str().unwrap().contains("too many connections"), "{refused}");
    assert_eq!(world.found("sloth"), [id(1)], "others are served");
    // A connection that has been idle for long is closed in favour of a new one, also of the same process.
    let mut came_in = || {
        let mut raw = Raw::connect(&world);
        raw.send(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hello\",\"params\":{\"protocol\":1}}\n");
        raw.line().is_some_and(|answer| answer["error"]["code"] != -32_002)
    };
    assert!(crate::world::wait(&mut came_in));
    drop(crowd);
    assert!(crate::world::wait(came_in));
}

#[test]
fn a_client_of_another_protocol_is_refused_and_may_stop_the_daemon() {
    let world = ready();
    let mut raw = Raw::connect(&world);
    let hello = json!({"protocol": 99, "version": "99.0.0", "client": "test"});
    let welcome = raw.call(&json!({"jsonrpc": "2.0", "id": 1, "method": "hello", "params": hello}));
    assert_eq!(welcome["result"]["protocol"], 1, "{welcome}");
    let refused = raw.call(&json!({"jsonrpc": "2.0", "id": 2, "method": "status"}));
    assert_eq!(refused["error"]["code"], -32_001, "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("baton stop"), "{refused}");
    let stopped = raw.call(&json!({"jsonrpc": "2.0", "id": 3, "method": "stop"}));
    assert_eq!(stopped["result"]["stopping"], true, "{stopped}");
}

#[test]
fn tools_are_called_by_whoever_speaks_to_the_socket() {
    let world = ready();
    let mut raw = Raw::greeted(&world);
    let mut ask =
        |params: Value| raw.call(&json!({"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": params}));
    // In the form of an MCP answer: text that is JSON, and the same as structured content.
    let told = |answer: &Value| {
        let result = &answer["result"];
        assert_eq!(result["content"][0]["type"], "text", "{answer}");
        let value: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        let structured = &result["structuredContent"];
        assert_eq!(structured.get("result").unwrap_or(structured), &value);
        (result["isError"] == true, value)
    };
    let (failed, closed) = told(&ask(json!({"name": "session_tracking_close", "arguments": {"session_id": id(1)}})));
    assert!(!failed && closed["status"] == "success" && closed["episode_uuid"].is_string(), "{closed}");
    let (failed, row) = told(&ask(json!({"name": "get_session_tracking_status", "arguments": {"session_id": id(1)}})));
    assert!(!failed && row["state"] == "indexed" && row["episode_uuid"] == closed["episode_uuid"], "{row}");
    let (failed, why) = told(&ask(json!({"name": "search_nodes", "arguments": {"qery": "sloth"}})));
    assert!(failed && why["error"].as_str().unwrap().contains("did you mean query?"), "{why}");
    let (failed, why) = told(&ask(json!({"name": "search_nodes", "arguments": ["sloth"]})));
    assert!(failed && why["error"].as_str().unwrap().contains("not an object"), "{why}");
    let (failed, why) = told(&ask(json!({"name": "session_tracking_status", "arguments": {"session_id": "nobody"}})));
    assert!(failed && why["error"].as_str().unwrap().contains("nobody"), "{why}");
    for params in [json!({"name": "no_such_tool"}), json!({"arguments": {}}), json!({"name": 7}), json!(null)] {
        let answer = ask(params.clone());
        assert_eq!(answer["error"]["code"], -32_602, "{params}: {answer}");
    }
    // The same command id twice: the second call gets the first answer, whatever has happened since.
    let wish = json!({"name": "session_tracking_close", "arguments": {"session_id": id(1)}, "command_id": "my-wish"});
    let first = told(&ask(wish.clone()));
    world.transcript("-work-one", &id(1)).prompt("more of the sloth").reply("much more");
    assert_eq!(told(&ask(wish)).1["episode_uuid"], first.1["episode_uuid"]);
    let (_, later) = told(&ask(json!({"name": "session_tracking_close", "arguments": {"session_id": id(1)}})));
    assert_ne!(later["episode_uuid"], first.1["episode_uuid"], "{later}");
}
