use super::*;
use baton_conversation::item::{GitOutput, ListedFiles, Report, Verdict, WorkTree};

fn item(body: Body) -> Item {
    Item {
        line: 12,
        at: Timestamp::parse("2026-03-14T09:26:53.589Z"),
        uuid: Some("u-1".into()),
        message: None,
        sidechain: false,
        body,
    }
}

fn check(item: &Item, expected: &str) {
    let mut out = Vec::new();
    encode(item, &mut out).unwrap();
    assert_eq!(String::from_utf8(out.clone()).unwrap(), format!("{expected}\n"));
    assert_eq!(decode(&out).unwrap(), *item);
}

#[test]
fn items_are_read_as_they_were_written() {
    let call = Call {
        act: Act::Edit,
        id: "toolu_1".into(),
        name: "Edit".into(),
        input: serde_json::from_str(r#"{"file_path":"a\n\"","n":[1,{"x":null}]}"#).unwrap(),
        edit: Some(Edit { path: "a".into(), added: 3, removed: 1, ..Edit::default() }),
        commit: Some("Pay".into()),
        plan: Some("Pay later".into()),
        git_line: Some("git add a".into()),
    };
    check(
        &item(Body::Call(call)),
        r#"{"line":12,"at":"2026-03-14T09:26:53.589Z","uuid":"u-1","role":"tool","kind":"call","tool_id":"toolu_1","name":"Edit","act":"edit","input":{"file_path":"a\n\"","n":[1,{"x":null}]},"edit":{"path":"a","added":3,"removed":1},"commit":"Pay","plan":"Pay later","git_line":"git add a"}"#,
    );
    let result = ToolResult {
        id: "toolu_1".into(),
        name: Some("Bash".into()),
        outcome: Outcome::Failed,
        exit_code: Some(101),
        text: "Bash cargo test: exit 101, é".into(),
        error: Some("é".into()),
        duration_ms: Some(1_200),
        agent: Some("a1".into()),
        report: Some(Box::new(Report {
            verdict: Some(Verdict::Failed("é".to_owned())),
            made: vec![
                GitOutput::Commit { hash: "1a2b3c4".to_owned(), subject: "x".to_owned() },
                GitOutput::PullRequest("github.com/o/r/pull/1".to_owned()),
            ],
            changed: Some((3, 1)),
            failing: Some("error: x".to_owned()),
            script: Some("lint".to_owned()),
            logged: vec![("1a2b3c4".to_owned(), "Pay".to_owned())],
            echoed: vec!["tsc".to_owned()],
            in_background: true,
            work_tree: Some(WorkTree {
                branch: Some("main".to_owned()),
                ahead: Some(2),
                pushed: true,
                committed: 3,
                files: Some(ListedFiles { unstaged: vec!["a.rs".to_owned()], is_cut: true, ..ListedFiles::default() }),
            }),
        })),
    };
    check(
        &item(Body::Result(result)),
        r#"{"line":12,"at":"2026-03-14T09:26:53.589Z","uuid":"u-1","role":"tool","kind":"result","tool_id":"toolu_1","name":"Bash","outcome":"failed","exit_code":101,"error":"é","duration_ms":1200,"agent":"a1","report":{"verdict":"failed","why":"é","commits":[["1a2b3c4","x"]],"pulls":["github.com/o/r/pull/1"],"changed":[3,1],"failing":"error: x","script":"lint","logged":[["1a2b3c4","Pay"]],"echoed":["tsc"],"background":true,"work_tree":{"branch":"main","ahead":2,"pushed":true,"committed":3,"files":{"unstaged":["a.rs"],"cut":true}}},"text":"Bash cargo test: exit 101, é"}"#,
    );
    let title = Meta::Title { source: TitleSource::Person, text: "a name".into() };
    let bare = Item { at: None, uuid: None, sidechain: true, ..item(Body::Meta(title)) };
    check(&bare, r#"{"line":12,"sidechain":true,"role":"harness","kind":"title","source":"person","text":"a name"}"#);
    let message =
        Item { message: Some("msg_1".into()), at: None, uuid: None, ..item(Body::Reply { text: "x".into() }) };
    check(&message, r#"{"line":12,"message":"msg_1","role":"assistant","kind":"reply","text":"x"}"#);
}

#[test]
fn every_kind_comes_back() {
    let text = || "t".to_owned();
    let usage = Usage {
        model: "m".to_owned(),
        request: Some("r".into()),
        input: 1,
        output: 2,
        cache_read: 3,
        cache_creation: 4,
        cache_creation_1h: 5,
        output_is_lower_bound: true,
    };
    let compaction = Compaction { trigger: "auto".to_owned(), tokens_before: Some(9), tokens_after: Some(1) };
    let bodies = [
        Body::Prompt { text: text() },
        Body::Answer { text: text() },
        Body::Reply { text: text() },
        Body::Thinking { text: text() },
        Body::Summary { text: text() },
        Body::Notice { text: text() },
        Body::Meta(Meta::Branch(text())),
        Body::Meta(Meta::Cwd(text())),
        Body::Meta(Meta::Title { source: TitleSource::Summary, text: text() }),
        Body::Meta(Meta::Title { source: TitleSource::Model, text: text() }),
        Body::Meta(Meta::Title { source: TitleSource::LastPrompt, text: text() }),
        Body::Media { text: text() },
        Body::Meta(Meta::Below("u-0".into())),
        Body::Meta(Meta::Usage(usage)),
        Body::Meta(Meta::Usage(Usage::default())),
        Body::Meta(Meta::Compaction(compaction)),
        Body::Meta(Meta::Compaction(Compaction::default())),
        Body::Meta(Meta::Withdrawn(7)),
        Body::Meta(Meta::Link { link: Link::ForkedFrom, session: "s".into() }),
        Body::Meta(Meta::Link { link: Link::ContinuedIn, session: "s".into() }),
    ];
    let items: Vec<Item> = bodies.into_iter().map(item).collect();
    let mut chunk = Vec::new();
    items.iter().for_each(|item| encode(item, &mut chunk).unwrap());
    let read: Vec<Item> = decode_all(&chunk).map(Result::unwrap).collect();
    assert_eq!(read, items);
}

#[test]
fn what_is_not_understood_is_refused_with_its_place() {
    for (line, expected) in [
        (r#"{"line":7,"kind":"song","text":"x"}"#, "line 7 has an unknown kind"),
        (r#"{"line":7,"kind":"result","outcome":"odd","text":"x"}"#, "line 7 has an unknown outcome"),
        (r#"{"line":7,"kind":"link","link":"odd","text":"x"}"#, "line 7 has an unknown link"),
        (r#"{"line":7,"kind":"usage"}"#, "line 7 has an unknown usage"),
        (r#"{"line":7,"kind":"withdrawn"}"#, "line 7 has an unknown withdrawn"),
        (r#"{"line":7,"kind":"prompt","at":"noon","text":"x"}"#, "line 7 has an unknown at"),
        (r#"{"line":7"#, "not readable"),
    ] {
        let error = decode(line.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let newer = decode(br#"{"line":7,"kind":"prompt","text":"x","mood":"good"}"#).unwrap();
    assert_eq!(newer.body, Body::Prompt { text: "x".into() });
}
