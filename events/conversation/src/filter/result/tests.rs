use super::*;

fn check(call: Option<(&str, &str)>, outcome: Outcome, content: &str, expected: &str) -> ToolResult {
    let result = summarised(call, outcome, content);
    assert_eq!(result.text, expected, "{content}");
    result
}

fn summarised(call: Option<(&str, &str)>, outcome: Outcome, content: &str) -> ToolResult {
    let call = call.map(|(name, target)| {
        let edit = (name == "Edit").then(|| Edit { path: target.to_owned(), added: 3, removed: 1, ..Edit::default() });
        OpenCall { act: Act::of_tool(name), id: "c".into(), name: name.to_owned(), target: target.to_owned(), edit }
    });
    let raw =
        serde_json::to_vec(&serde_json::json!({ "c": serde_json::from_str::<serde_json::Value>(content).unwrap() }));
    let raw = raw.unwrap();
    let output = Output::parse(Value::Object((&raw).into()).get(b"c"));
    summarise("c", call.as_ref(), outcome, &output)
}

#[test]
fn what_an_output_says_of_itself_is_kept() {
    let ok = |line: &str, content: &str, expected: &str| {
        let kept = check(Some(("Bash", line)), Outcome::Ok, content, expected);
        assert_eq!((kept.outcome, kept.error), (Outcome::Ok, None));
    };
    ok("npm test | tail -2", r#""Tests: 3 passed""#, "Bash npm test | tail -2: ok, 1 line, says passed");
    ok("npm test", r#""Tests: 3 passed""#, "Bash npm test: ok, 1 line");
    let failed = "Bash npm test | tail: ok, 2 lines, says failed: TypeError: no";
    ok("npm test | tail", r#""Tests: 1 failed, 2 passed\nTypeError: no""#, failed);
    ok("ls | tail", r#""a\nb""#, "Bash ls | tail: ok, 2 lines");
    let end = format!("\"{}\\n10 passed in 0.1s\"", "x\\n".repeat(9_000));
    ok("pytest | cat", &end, "Bash pytest | cat: ok, 9002 lines, says passed");
}

#[test]
fn successes_say_how_much() {
    let ok = |call, content: &str, expected| drop(check(Some(call), Outcome::Ok, content, expected));
    ok(("Read", "a.rs"), r#""     1→x\n     2→y""#, "Read a.rs: 2 lines");
    ok(("Read", "a.rs"), r#""     1→x\n\n<system-reminder>\nno\n</system-reminder>\n""#, "Read a.rs: 1 line");
    ok(("Read", "a.png"), r#"[{"type":"image","source":{"data":"AAAA"}}]"#, "Read a.png: image, 3 B");
    ok(("Bash", "ls"), r#""a\nb\n""#, "Bash ls: ok, 2 lines");
    ok(("Bash", "true"), r#""""#, "Bash true: ok, no output");
    ok(
        ("Bash", "sleep"),
        r#""Command running in background with ID: b1""#,
        "Bash sleep: running in the background as b1",
    );
    ok(
        ("Bash", "cat"),
        r#""<persisted-output>\nOutput too large (45.2KB). Full output saved to: /x""#,
        "Bash cat: ok, 45.2KB, saved beside the transcript",
    );
    ok(("Edit", "a.rs"), r#""The file has been updated""#, "Edit a.rs: +3 -1");
    ok(("Grep", "fn"), r#""Found 12 files\na\nb""#, "Grep fn: 12 files");
    ok(("Grep", "fn"), r#""No matches found""#, "Grep fn: no matches");
    ok(("Glob", "*"), r#""a\nb\nc""#, "Glob *: 3 lines");
    ok(("mcp__x__y", "q"), r#"[{"type":"text","text":"é\n"},{"type":"text","text":"b"}]"#, "mcp__x__y q: 2 lines, 3 B");
    ok(("WebFetch", "u"), &format!("\"{}\"", "x".repeat(3_000)), "WebFetch u: 1 line, 2.9 KB");
    check(None, Outcome::Ok, r#""a""#, "result: 1 line, 1 B");
    check(None, Outcome::Ok, "null", "result: ok, no output");
}

#[test]
fn failures_say_why() {
    let failed = |call, content: &str, expected| check(Some(call), Outcome::Failed, content, expected);
    let result = failed(
        ("Bash", "cargo test"),
        r#""Exit code 101\n   Compiling x\nwarning: unused\nerror[E0308]: mismatched types\n --> a.rs""#,
        "Bash cargo test: exit 101, error[E0308]: mismatched types",
    );
    assert_eq!((result.exit_code, result.error.as_deref()), (Some(101), Some("error[E0308]: mismatched types")));
    failed(("Bash", "x"), r#""Exit code 2\n\u001b[31m\nhm""#, "Bash x: exit 2, hm");
    failed(("Bash", "x"), r#""Exit code 1""#, "Bash x: exit 1");
    failed(
        ("Edit", "a.rs"),
        r#""<tool_use_error>String to replace not found in file.</tool_use_error>""#,
        "Edit a.rs: failed, String to replace not found in file.",
    );
    failed(
        ("Bash", "python x"),
        r#""Traceback (most recent call last):\n  File \"x\"\nImportError: cannot import name""#,
        "Bash python x: failed, ImportError: cannot import name",
    );
    failed(
        ("Bash", "x"),
        r#""error: <private>key\nmore</private> bad""#,
        "Bash x: failed, error: [redacted:private] bad",
    );
    failed(("Bash", "x"), r#""""#, "Bash x: failed");
    let unmarked = check(Some(("Bash", "x")), Outcome::Ok, r#""Exit code 3\nboom""#, "Bash x: exit 3, boom");
    assert_eq!(unmarked.outcome, Outcome::Failed);
    check(Some(("Bash", "x")), Outcome::Denied, r#""no""#, "Bash x: denied");
    check(Some(("Bash", "x")), Outcome::Interrupted, r#""no""#, "Bash x: interrupted");
}

#[test]
fn a_key_that_the_bound_halves_leaves_nothing() {
    let key = format!("ghp_{}", "aB3".repeat(12));
    for before in ERROR_HEAD_BYTES - 40..ERROR_HEAD_BYTES {
        let text = format!("{} error: {key} is bad", "\n".repeat(before / 2 - 4));
        let output = serde_json::to_string(&text).unwrap();
        let raw = format!("{{\"c\":{output}}}");
        let output = Output::parse(Value::Object(raw.as_bytes().into()).get(b"c"));
        let result = summarise("c", None, Outcome::Failed, &output);
        assert!(!format!("{result:?}").contains("aB3"), "{before}");
    }
}

#[test]
fn sizes_do_not_depend_on_how_the_text_was_escaped() {
    let size = |raw: &str| {
        let raw = format!("{{\"c\":\"{raw}\"}}");
        Output::parse(Value::Object(raw.as_bytes().into()).get(b"c")).size()
    };
    assert_eq!(size("é😀\\na"), size("\\u00e9\\ud83d\\ude00\\u000aa"));
    assert_eq!(size("a\\\\n\\n"), Size { lines: 1, bytes: 3 });
    assert_eq!(size(""), Size::default());
}

#[test]
fn facts_stand_beside_the_line_and_cannot_be_forged_by_a_command() {
    let bash = |command: &str, outcome, content: &str| {
        *summarised(Some(("Bash", command)), outcome, content).report.expect("the reader always reports")
    };
    let forged = bash("git log --grep \"CI, says failed: x\" | head", Outcome::Ok, r#""a\nb\nc\nd""#);
    assert_eq!(forged, Report::default());
    let piped = bash("cargo test | tail -3", Outcome::Ok, r#""test result: FAILED. 1 passed; 1 failed""#);
    assert!(matches!(piped.verdict, Some(Verdict::Failed(_))), "{piped:?}");
    let committed = bash("git commit -m x", Outcome::Ok, r#""[main 1a2b3c4] Fix it""#);
    assert_eq!(committed.made, [GitOutput::Commit { hash: "1a2b3c4".to_owned(), subject: "Fix it".to_owned() }]);
    let printed = bash("make run", Outcome::Ok, r#""starting\nerror: no such table: users\nbye""#);
    assert_eq!(printed.failing.as_deref(), Some("error: no such table: users"));
    assert_eq!(bash("make run", Outcome::Failed, r#""error: no such table""#).failing, None);
}

#[test]
fn a_commit_is_found_in_the_whole_output_and_the_stored_line_stays() {
    let output = format!("\"[main 1a2b3c4] Pay twice\\n{}bye\"", "$ check\\nfine\\n".repeat(4_000));
    let call = Some(("Bash", "git commit -m \"Pay twice\""));
    let result = check(call, Outcome::Ok, &output, "Bash git commit -m \"Pay twice\": ok, 8002 lines");
    assert_eq!(result.made(), [GitOutput::Commit { hash: "1a2b3c4".to_owned(), subject: "Pay twice".to_owned() }]);
    assert_eq!(result.echoed()[0], "check");
    let failed = r#""FAILED: git commit\n$ lint\nsrc/a.ts:3:1: unused\nhook - script failed (code 1)""#;
    let result = check(Some(("Bash", "run git commit")), Outcome::Ok, failed, "Bash run git commit: ok, 4 lines");
    assert_eq!(result.verdict(), Some(&Verdict::Failed("src/a.ts:3:1: unused".to_owned())));
    let chain = r#""Exit code 1\n 9 pass\n 0 fail\nsrc/a.ts:3:1: unused\nerror: script \"lint\" exited with code 1""#;
    let result = summarised(Some(("Bash", "run test && run lint")), Outcome::Failed, chain);
    assert_eq!((result.verdict(), result.script()), (Some(&Verdict::Passed), Some("lint")));
    assert_eq!(result.error.as_deref(), Some("src/a.ts:3:1: unused"));
}
