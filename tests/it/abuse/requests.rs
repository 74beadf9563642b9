//! JSON that is not a request, requests with invalid calls, and unknown methods.

use serde_json::json;

use super::{Abused, code};
use crate::sockets::Raw;

#[test]
fn every_wrong_request_has_its_answer_and_the_connection_goes_on() {
    let abused = Abused::new();
    let mut raw = Raw::greeted(&abused.world);
    let deep = |open: &str, close: &str| format!("{}1{}", open.repeat(50_000), close.repeat(50_000));
    let call = |rest: &str| format!(r#"{{"jsonrpc":"2.0","id":7,{rest}}}"#);
    let (parse, request, method, params) = (-32_700, -32_600, -32_601, -32_602);
    for (line, expected) in [
        // Not JSON.
        ("nonsense".to_owned(), parse),
        (r#"{"jsonrpc":"2.0","id":1"#.to_owned(), parse),
        (r#"{"jsonrpc":"2.0","id":1,"method":"status"} trailing"#.to_owned(), parse),
        ("\u{feff}{}".to_owned(), parse),
        (r#"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#.to_owned(), parse),
        (call(r#""method":"search","params":{"query":"a\u0000""#), parse),
        (deep("[", "]"), request),
        (deep(r#"{"a":"#, "}"), request),
        // Not a request.
        ("null".to_owned(), request),
        ("7".to_owned(), request),
        (r#""status""#.to_owned(), request),
        ("[]".to_owned(), request),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"status"}]"#.to_owned(), request),
        ("{}".to_owned(), request),
        (r#"{"jsonrpc":"2.0","id":1}"#.to_owned(), request),
        (r#"{"id":1,"method":"status"}"#.to_owned(), request),
        (r#"{"jsonrpc":2.0,"id":1,"method":"status"}"#.to_owned(), request),
        (r#"{"jsonrpc":"2.1","id":1,"method":"status"}"#.to_owned(), request),
        (r#"{"jsonrpc":"2.0","id":true,"method":"status"}"#.to_owned(), request),
        (r#"{"jsonrpc":"2.0","id":[1],"method":"status"}"#.to_owned(), request),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#.to_owned(), request),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"status"}"#.to_owned(), request),
        // No such method.
        (call(r#""method":"""#), method),
        (call(r#""method":"STATUS""#), method),
        (call(r#""method":"hello""#), method),
        (call(&format!(r#""method":"{}""#, "m".repeat(900_000))), method),
        // Invalid arguments.
        (call(r#""method":"search","params":[]"#), params),
        (call(r#""method":"search","params":"sloth""#), params),
        (call(r#""method":"search","params":{"query":null}"#), params),
        (call(r#""method":"search","params":{"query":"a","limit":-1}"#), params),
        (call(r#""method":"search","params":{"query":"a","limit":1e99}"#), params),
        (call(&format!(r#""method":"search","params":{{"query":"a","{}":1}}"#, "k".repeat(900_000))), params),
        (call(r#""method":"tools/call","params":{"name":"no such tool"}"#), params),
        (call(r#""method":"hook","params":{"id":7}"#), params),
        (call(r#""method":"hook","params":"SessionEnd""#), params),
        (call(r#""method":"track","params":{"caller":7}"#), params),
    ] {
        raw.send(format!("{line}\n").as_bytes());
        let shown = line.get(..line.len().min(90)).unwrap_or_default().to_owned();
        let answer = raw.line().unwrap_or_else(|| panic!("hung up: {shown}"));
        assert_eq!(code(&answer), expected, "{shown}: {answer}");
        assert!(answer["id"].is_null() || answer["id"] == 7, "{shown}: {answer}");
    }
    let answer = raw.call(&json!({"jsonrpc": "2.0", "id": "still here", "method": "status"}));
    assert_eq!(answer["id"], "still here", "{answer}");
    abused.check();
}

#[test]
fn wrong_arguments_of_any_method_are_refused_and_never_fatal() {
    let abused = Abused::new();
    let mut raw = Raw::greeted(&abused.world);
    // Takes the names from the daemon, so that new methods are covered.
    let unknown = raw.call(&json!({"jsonrpc": "2.0", "id": 1, "method": "?"}));
    let told = unknown["error"]["message"].as_str().unwrap().to_owned();
    let (_, names) = told.split_once("there are ").unwrap();
    let methods: Vec<&str> = names.split(", ").filter(|name| !["stop", "presence"].contains(name)).collect();
    assert!(methods.len() > 15, "{told}");
    let long = "ü".repeat(50_000);
    for method in methods {
        for params in [
            json!(null),
            json!([]),
            json!([1, 2, 3]),
            json!("text"),
            json!(7),
            json!({"": {}}),
            json!({"session": long, "query": long, "project": long, "name": long, "id": long, "event": long}),
            json!({"session": "../../etc/passwd", "project": "\u{0}", "query": "\u{0}"}),
            json!({"query": "a", "limit": u64::MAX, "from": u64::MAX, "days": u32::MAX, "after": u64::MAX}),
            json!({"caller": {"agent_session": long, "directory": "/\u{0}", "since": i64::MIN}}),
        ] {
            // Calls that start long work on everything are covered by other tests.
            if ["log/compact", "log/verify", "sync"].contains(&method) && !params.is_string() {
                continue;
            }
            let answer = raw.call(&json!({"jsonrpc": "2.0", "id": 5, "method": method, "params": params}));
            assert_eq!(answer["id"], 5, "{method}");
            let refused = answer["error"]["message"].as_str().unwrap_or_default();
            assert!(refused.len() < 10_000, "{method}: {} bytes", refused.len());
            let internal = answer["error"]["code"] == -32_603;
            assert!(!internal, "{method}: {answer}");
        }
    }
    abused.check();
}
