use crate::item::Agent;
use crate::transcript::tests::{check_path, read_every_way};
use crate::transcript::{Source, store_file};

#[test]
fn sessions_are_known_by_their_paths() {
    for (agent, database) in [(Agent::Goose, "sessions.db"), (Agent::Hermes, "state.db"), (Agent::Crush, "crush.db")] {
        for (rest, expected) in [
            ("/20260603_1", Some(("20260603_1", None))),
            ("/20260603_1/a$$b", Some(("a$$b", Some("20260603_1")))),
            ("", None),
            ("/", None),
            ("-wal", None),
            ("x/a", None),
            ("/a/b/c", None),
        ] {
            check_path(agent, &format!("{database}{rest}"), expected);
        }
        check_path(agent, &format!("other/{database}/a"), None);
    }
    check_path(Agent::Crush, ".crush/crush.db/a", None);
    check_path(Agent::Crush, "crush.db/a/title-a", None);
    for (agent, path, expected) in [
        (Agent::Goose, "/d/goose/sessions/sessions.db-wal", Some("/d/goose/sessions/sessions.db")),
        (Agent::Goose, "/d/goose/sessions/20250101_1.jsonl", None),
        (Agent::Hermes, "/h/.hermes/state.db/a", Some("/h/.hermes/state.db")),
        (Agent::Hermes, "/h/.hermes/state.db.bak", None),
        (Agent::Crush, "/p/.crush/crush.db/a/b", Some("/p/.crush/crush.db")),
    ] {
        assert_eq!(store_file(agent, path), expected, "{path}");
    }
}

#[test]
fn lines_become_items_wherever_reading_stops() {
    let lines = [
        r#"{"type":"directory","at":null,"message":null,"directory":"/srv/harbor"}"#,
        r#"{"type":"prompt","at":1780480001000,"message":"m1","text":"go"}"#,
        r#"{"type":"image","at":1780480001000,"message":"m1","source":{"media_type":"image/png"},"alone":true}"#,
        r#"{"type":"model","at":null,"message":"m2","text":"m-1"}"#,
        r#"{"type":"thinking","at":null,"message":"m2","text":"hm"}"#,
        r#"{"type":"reply","at":null,"message":"m2","text":"I look."}"#,
        r#"{"type":"call","at":null,"message":"m2","id":"c1","name":"bash","input":{"command":"ls"}}"#,
        r#"{"type":"result","at":null,"message":"m3","id":"c1","output":"no such file","exit":2,"failed":false}"#,
        r#"{"type":"call","at":null,"message":"m2","id":"c2","name":"view","input":{"file_path":"a"}}"#,
        r#"{"type":"result","at":null,"message":"m3","id":"c2","output":"Tool execution canceled by user","failed":true}"#,
        r#"{"type":"call","at":null,"message":"m2","id":"c3","name":"mcp_baton_search","input":{}}"#,
        r#"{"type":"result","at":null,"message":"m3","id":"c3","output":"x","failed":true}"#,
        r#"{"type":"command","at":null,"message":"m4","command":"make","output":"done","exit":1}"#,
        r#"{"type":"compaction","at":null,"message":null}"#,
        r#"{"type":"summary","at":null,"message":null,"text":"It went."}"#,
        r#"{"type":"notice","at":null,"message":null,"text":"Overloaded"}"#,
        r#"{"type":"interruption","at":null,"message":null}"#,
        r#"{"type":"oversize"}"#,
        r#"{"type":"brand-new"}"#,
        r#"{"type":7}"#,
        r#"{"type":"call"}"#,
        r#"{"type":"result","output":{}}"#,
    ];
    let (items, _, seen) = read_every_way(Source { agent: Agent::Crush, subagent: false }, &lines);
    let expected = [
        "1 cwd /srv/harbor",
        "2 prompt go",
        "3 media [image image/png]",
        "4 usage m-1 None [0, 0, 0, 0, 0]",
        "5 thinking hm",
        "6 reply I look.",
        r#"7 call bash {"command":"ls"}"#,
        "8 result Failed bash ls: exit 2, no such file",
        r#"9 call view {"file_path":"a"}"#,
        "10 result Interrupted view a: interrupted",
    ];
    assert_eq!(items[..10], expected);
    assert!(items[10].starts_with("13 call ") && items[11].contains("Failed"), "{items:?}");
    assert_eq!(
        items[12..16],
        [
            "14 compaction  None None",
            "15 summary It went.",
            "16 notice Overloaded",
            "17 notice interrupted by the user"
        ]
    );
    let unknown: Vec<(&str, u64)> = seen.unknown.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
    assert_eq!(unknown, [("(other)", 1), ("brand-new", 1), ("oversize", 1)]);
    assert_eq!((seen.prompts, seen.oversize), (2, 1));
}
