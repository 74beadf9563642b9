use serde_json::json;

use super::*;

const HOOKS: Step = Step::Key("hooks");

/// Adds a member, expects this text, removes it, and expects the original text.
#[track_caller]
fn check(before: &str, path: &[Step], expected: &str) {
    let mut document = Document::read(before).unwrap();
    document.insert(path, "z", &json!([1])).unwrap();
    assert_eq!(document.text(), expected);
    document.remove(&[path, &[Step::Key("z")]].concat()).unwrap();
    assert_eq!(document.text(), before);
}

#[test]
fn what_is_added_leaves_every_other_byte_and_goes_without_a_trace() {
    for (before, expected) in [
        ("{}", "{\n  \"z\": [\n    1\n  ]\n}"),
        ("{}\r\n", "{\r\n  \"z\": [\r\n    1\r\n  ]\r\n}\r\n"),
        ("{\"a\":1}", "{\"a\":1,\n  \"z\": [\n    1\n  ]}"),
        ("{\n\t\"a\": 1\n}\n", "{\n\t\"a\": 1,\n\t\"z\": [\n\t\t1\n\t]\n}\n"),
        ("{\r\n    \"a\": 1\r\n}", "{\r\n    \"a\": 1,\r\n    \"z\": [\r\n        1\r\n    ]\r\n}"),
        ("\u{feff}{\n \"a\": 1\n}", "\u{feff}{\n \"a\": 1,\n \"z\": [\n  1\n ]\n}"),
        ("{\n  \"a\": 1 // one, two\n}", "{\n  \"a\": 1, // one, two\n  \"z\": [\n    1\n  ]\n}"),
        ("{\n  \"a\": 1, // one\n}", "{\n  \"a\": 1, // one\n  \"z\": [\n    1\n  ],\n}"),
        ("{\n  \"a\": 1 /* , */ /* } */\n}", "{\n  \"a\": 1, /* , */ /* } */\n  \"z\": [\n    1\n  ]\n}"),
        ("// top\n{\n  \"a\": {}\n}\n// end\n", "// top\n{\n  \"a\": {},\n  \"z\": [\n    1\n  ]\n}\n// end\n"),
        ("{\n  \"a\": \"}, // \\\" \"\n}", "{\n  \"a\": \"}, // \\\" \",\n  \"z\": [\n    1\n  ]\n}"),
    ] {
        check(before, &[], expected);
    }
    check(
        "{\n  \"hooks\": {\"a\": [ ]},\n  \"b\": 1\n}",
        &[HOOKS],
        "{\n  \"hooks\": {\"a\": [ ],\n    \"z\": [\n      1\n    ]},\n  \"b\": 1\n}",
    );
    check("{\n  \"hooks\": {}\n}", &[HOOKS], "{\n  \"hooks\": {\n    \"z\": [\n      1\n    ]\n  }\n}");
}

#[test]
fn elements_are_added_replaced_and_taken_away() {
    let mut document = Document::read("{\"l\": [\n    {\"a\": 1},\n    2\n]}").unwrap();
    let list = Step::Key("l");
    document.push(&[list], &json!({"b": 1})).unwrap();
    document.replace(&[list, Step::At(1)], &json!("two")).unwrap();
    assert_eq!(document.text(), "{\"l\": [\n    {\"a\": 1},\n    \"two\",\n    {\n        \"b\": 1\n    }\n]}");
    document.remove(&[list, Step::At(0)]).unwrap();
    document.remove(&[list, Step::At(1)]).unwrap();
    assert_eq!(document.text(), "{\"l\": [\n    \"two\"\n]}");
    document.remove(&[list, Step::At(0)]).unwrap();
    document.remove(&[list]).unwrap();
    assert_eq!(document.text(), "{}");
}

#[test]
fn of_two_members_with_one_name_the_last_is_meant() {
    let mut document = Document::read("{\"a\": [1], \"a\": [2]}").unwrap();
    document.remove(&[Step::Key("a"), Step::At(0)]).unwrap();
    document.remove(&[Step::Key("a")]).unwrap();
    assert_eq!(document.text(), "{\"a\": [1]}");
}

#[test]
fn what_is_no_object_is_refused() {
    for text in ["[]", "1", "\"a\"", "{", "{\"a\": }", "{'a': 1}", "{a: 1}", "{} {}", "{\"a\" 1}", "nope", "\0"] {
        assert!(Document::read(text).is_err(), "{text}");
    }
    assert!(Document::read(&"[".repeat(1_000_000)).is_err());
    assert!(Document::read(&"{\"a\":".repeat(100_000)).is_err());
    assert_eq!(Document::read(" \n").unwrap().value().unwrap(), json!({}));
    let mut document = Document::read("{\"hooks\": [], \"a\": {}}").unwrap();
    let error = document.insert(&[HOOKS], "b", &1).unwrap_err();
    assert_eq!(error.to_string(), "hooks is a list, and must be an object");
    assert!(document.push(&[Step::Key("a")], &1).is_err() && document.push(&[Step::Key("b")], &1).is_err());
}
