use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::any_items::any_items;
use crate::item::{Body, Call, Outcome, ToolResult};

fn item(line: u64, body: Body) -> Item {
    let at = Timestamp::parse("2026-03-04T05:06:07.000Z");
    Item { line, at, uuid: None, message: None, sidechain: false, body }
}

fn call(line: u64, id: &str, name: &str, input: serde_json::Value) -> Item {
    let input = input.as_object().cloned().unwrap_or_default().into_iter().collect();
    item(
        line,
        Body::Call(Call {
            act: crate::item::Act::of_tool(name),
            id: id.into(),
            name: name.into(),
            input,
            edit: None,
            commit: None,
            plan: None,
            git_line: None,
        }),
    )
}

fn result(line: u64, id: &str, text: &str) -> Item {
    let name = text.split([' ', ':']).next().map(str::to_owned);
    let result = ToolResult {
        id: id.into(),
        name,
        outcome: Outcome::Ok,
        exit_code: None,
        text: text.into(),
        error: None,
        duration_ms: None,
        agent: None,
        report: None,
    };
    item(line, Body::Result(result))
}

fn said(line: u64, text: &str) -> Item {
    item(line, Body::Reply { text: text.into() })
}

#[track_caller]
fn check(items: &[Item], expected: &[(u64, u32, &str, &str)]) {
    let units = units(items);
    let found: Vec<_> =
        units.iter().map(|unit| (unit.line, unit.part, unit.role.as_str(), unit.text.as_str())).collect();
    assert_eq!(found, expected);
}

#[test]
fn what_was_said_and_done_becomes_units() {
    let quiet = [
        item(1, Body::Summary { text: "again".into() }),
        item(2, Body::Notice { text: "news".into() }),
        item(3, Body::Prompt { text: " \n".into() }),
    ];
    check(&quiet, &[]);
    check(
        &[
            item(1, Body::Prompt { text: "Fix it".into() }),
            item(2, Body::Thinking { text: "hm".into() }),
            said(3, " Yes. "),
            item(4, Body::Answer { text: "No, the other".into() }),
        ],
        &[
            (1, 0, "user", "Fix it"),
            (2, 0, "thinking", "hm"),
            (3, 0, "assistant", "Yes."),
            (4, 0, "user", "No, the other"),
        ],
    );
    let long = format!("{}\n\n{}", "a".repeat(1_500), "b".repeat(1_500));
    check(
        &[said(7, &long), said(7, "c"), said(8, "d")],
        &[
            (7, 0, "assistant", &"a".repeat(1_500)),
            (7, 1, "assistant", &"b".repeat(1_500)),
            (7, 2, "assistant", "c"),
            (8, 0, "assistant", "d"),
        ],
    );
}

#[test]
fn a_call_and_its_result_are_one_line_without_repetition() {
    let rows = [
        (
            "Bash",
            json!({ "command": "cargo test" }),
            "Bash cargo test: exit 101, error[E0308]: x",
            "Bash: cargo test\nexit 101, error[E0308]: x",
        ),
        ("Read", json!({ "file_path": "/p/a.rs" }), "Read /p/a.rs: 245 lines", "Read: /p/a.rs\n245 lines"),
        ("Bash", json!({ "command": "ls", "description": "List" }), "something else", "Bash: ls\nList\nsomething else"),
        ("Bash", json!({ "command": "x…[+9 chars #01234567]" }), "Bash x: ok", "Bash: x\nok"),
        (
            "Bash",
            json!({ "command": "a: b\n  && c: d" }),
            "Bash a: b && c…: ok, 3 lines",
            "Bash: a: b\n  && c: d\nok, 3 lines",
        ),
        (
            "mcp__a__b",
            json!({ "id": 3, "zeta": "last", "alpha": "first" }),
            "mcp__a__b: 3 lines",
            "mcp__a__b: first\nlast\n3 lines",
        ),
        (
            "TodoWrite",
            json!({ "todos": [{ "content": "done", "status": "completed" }, { "content": "doing", "status": "in_progress" }] }),
            "TodoWrite: ok",
            "TodoWrite: doing\nok",
        ),
        (
            "AskUserQuestion",
            json!({ "questions": [{ "question": "A?" }, { "question": "B?" }] }),
            "",
            "AskUserQuestion: A?; B?",
        ),
        ("X", json!({}), "X: 2 lines", "X\n2 lines"),
    ];
    for (name, input, answer, expected) in rows {
        check(&[call(4, "t", name, input), result(5, "t", answer)], &[(4, 0, "tool", expected)]);
    }
    check(&[call(1, "t", "Grep", json!({ "pattern": "x" }))], &[(1, 0, "tool", "Grep: x")]);
    check(&[result(2, "t", "Bash make: ok")], &[(2, 0, "tool", "Bash make: ok")]);
    check(&[call(1, "", "A", json!({})), result(2, "", "A: ok")], &[(1, 0, "tool", "A"), (2, 0, "tool", "A: ok")]);
}

#[test]
fn a_body_has_date_and_role() {
    let made = units(&[said(1, "zero"), said(3, "two")]);
    let mut out = String::new();
    write_body(&made[1], &mut out);
    assert_eq!(out, "2026-03-04 4 March 2026 assistant\ntwo");
    out.clear();
    let dateless = Unit { at: None, ..made[0].clone() };
    write_body(&dateless, &mut out);
    assert_eq!(out, "assistant\nzero");
}

fn changed_from(old: &[Item], all: &[Item]) -> usize {
    let mut stream = Stream::without(Withdrawn::from_items(all));
    let mut let_go = |_| Ok::<_, Infallible>(());
    for (index, item) in all.iter().enumerate() {
        if index == old.len() {
            stream.mark();
        }
        let Ok(()) = stream.push(item, &mut let_go);
    }
    if old.len() == all.len() {
        stream.mark();
    }
    stream.changed_from()
}

#[test]
fn a_call_waits_for_its_result_within_a_bound() {
    let far = |texts: u64| {
        let mut items = vec![call(1, "t", "Bash", json!({ "command": "make" })), call(2, "u", "Read", json!({}))];
        items.extend((0..texts).map(|line| said(3 + line, &"x".repeat(1_000))));
        items.extend([result(9_000, "u", "Read: 3 lines"), result(9_001, "t", "Bash make: ok")]);
        items
    };
    let near = units(&far(1_000));
    assert_eq!((near.len(), &*near[0].text, &*near[1].text), (1_002, "Bash: make\nok", "Read\n3 lines"));
    let late = units(&far(4_000));
    let described: Vec<_> = [0, 1, 4_002, 4_003].map(|at| late[at].text.as_str()).into();
    assert_eq!(described, ["Bash: make", "Read", "Read: 3 lines", "Bash make: ok"]);
    // The held text is bounded, whatever is never answered.
    let mut stream = Stream::default();
    let mut described = 0;
    let mut count = |_| {
        described += 1;
        Ok::<_, Infallible>(())
    };
    for line in 0..20_000 {
        let open = call(line, &format!("t{line}"), "Bash", json!({ "command": "x".repeat(400) }));
        let Ok(()) = stream.push(&open, &mut count);
    }
    let made = stream.count();
    let Ok(all) = stream.finish(&mut |_| Ok::<_, Infallible>(()));
    assert!(made == 20_000 && all == made && described > 15_000, "{described} of {made}");
}

#[test]
fn an_append_changes_the_tail_and_a_late_result_its_call() {
    let queued = |line| item(line, Body::Prompt { text: "later".into() });
    let taken_back = |line, of| item(line, Body::Meta(crate::item::Meta::Withdrawn(of)));
    let delivered = |line| item(line, Body::Prompt { text: "later".into() });
    let rows: [(&[Item], &[Item], usize); 10] = [
        (&[said(1, "a"), said(2, "b"), said(3, "c")], &[], 3),
        (&[said(1, "a"), said(2, "b"), said(3, "c")], &[said(4, "d")], 3),
        (&[], &[said(1, "a")], 0),
        (
            &[said(1, "a"), said(2, "b"), said(3, "c"), call(4, "t", "Bash", json!({})), said(5, "e"), said(6, "f")],
            &[result(7, "t", "Bash: ok")],
            3,
        ),
        (&[said(1, "a"), said(2, "b"), said(3, "c"), queued(4)], &[taken_back(5, 4)], 3),
        (&[said(1, "a"), said(2, "b"), said(3, "c"), queued(4), said(5, "d")], &[taken_back(6, 4), said(7, "e")], 3),
        (&[said(1, "a"), said(2, "b"), queued(3), taken_back(4, 3), said(5, "c")], &[], 4),
        (&[said(1, "a"), said(2, "b"), queued(3), taken_back(4, 3), said(5, "c")], &[said(6, "d")], 4),
        (
            &[said(1, "a"), said(2, "b"), said(3, "c"), queued(4), taken_back(5, 4), said(6, "d"), said(7, "e")],
            &[delivered(8)],
            3,
        ),
        (&[said(1, "a"), said(2, "b"), said(3, "c"), queued(4), delivered(5)], &[taken_back(6, 4)], 3),
    ];
    for (old, new, expected) in rows {
        let all = [old, new].concat();
        assert_eq!(changed_from(old, &all), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn units_are_bounded_and_append_only_but_for_the_tail(items in any_items(), cut in any::<prop::sample::Index>()) {
        let made = units(&items);
        for unit in &made {
            prop_assert!(unit.text.chars().count() <= cut::PART_CHARS);
            prop_assert!(items.iter().any(|item| item.line == unit.line));
        }
        let mut names: Vec<_> = made.iter().map(|unit| (unit.line, unit.part)).collect();
        names.dedup();
        prop_assert_eq!(names.len(), made.len());
        let old_items = &items[..cut.index(items.len() + 1)];
        let old = units(old_items);
        let from = changed_from(old_items, &items);
        prop_assert!(from <= made.len());
        for index in 0..from {
            prop_assert_eq!(&old[index], &made[index]);
        }
    }
}

#[test]
fn a_unit_names_the_record_it_is_from() {
    let unique = |name: &str| format!("{name}-0000-4000-8000-000000000000");
    let named = |item: Item, uuid: &str| Item { uuid: Some(unique(uuid).into()), ..item };
    let items = [
        named(said(1, &"word ".repeat(700)), "r1"),
        named(call(2, "t", "Bash", json!({})), "r2"),
        named(result(3, "t", "Bash: ok"), "r3"),
        said(4, "nameless"),
    ];
    let found: Vec<_> = units(&items).iter().map(|unit| (unit.line, unit.record)).collect();
    let mark = |name| Some(Mark::digest(unique(name).as_bytes()));
    let r1 = || mark("r1");
    assert_eq!(found, [(1, r1()), (1, r1()), (1, r1()), (2, mark("r2")), (4, None)]);
}
