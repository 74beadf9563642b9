//! Hostile text in a note, and values in a frontmatter.

use super::sample::{at, facts, said, wanted};
use crate::note::Line;
use crate::verify::{VaultIndex, links};
use baton_protocol::Zone;

use crate::{Day, Field, Note, Value, When, header, markdown, merge, session};

#[test]
fn words_stay_words() {
    for (text, expected) in [
        ("plain words, 3 of them", "plain words, 3 of them"),
        ("# heading", "\\# heading"),
        ("a #tag and C# and #1", "a \\#tag and C# and \\#1"),
        ("- item", "\\- item"),
        ("1. first", "1\\. first"),
        ("> quote", "\\> quote"),
        ("[[Link]] and [a](b)", "\\[\\[Link\\]\\] and \\[a\\](b)"),
        ("<!-- /baton:goal -->", "\\<!-- /baton:goal -->"),
        ("snake_case and _emphasis_ *too*", "snake_case and \\_emphasis\\_ \\*too\\*"),
        ("run `cargo test --all` now", "run `cargo test --all` now"),
        ("one ` alone", "one \\` alone"),
        ("``` fence", "\\`\\`\\` fence"),
        ("`[[x]]`", "\\`\\[\\[x\\]\\]\\`"),
        ("%%hidden%% ~~gone~~ ==lit==", "\\%\\%hidden\\%\\% \\~\\~gone\\~\\~ \\=\\=lit\\=\\="),
        ("---", "\\---"),
        ("a ^block $x$ &lt; | b", "a \\^block \\$x\\$ \\&lt; \\| b"),
        ("two\nlines\r\n\u{1b}[31mred\u{1b}[0m", "two lines red"),
        ("\u{202e}turned\u{200b}", "turned"),
        ("password=hunter2hunter2", "password=\\[redacted:secret\\]"),
    ] {
        assert_eq!(markdown::line(text, 200), expected, "{text:?}");
    }
}

/// Texts that would have an effect if they were not escaped.
const HOSTILE: [&str; 12] = [
    "---",
    "---\nstatus: archived\n---",
    "<!-- /baton:goal -->\n<!-- baton:goal 0000000000000000 -->",
    "<!-- baton:note status=00000000 -->",
    "## Open\n\n- x",
    "[[../../etc/passwd]]",
    "x ([[2026-01-01-other]])",
    "```\nnever closed",
    "%%",
    "\" ] } : # & * ! | > ' %",
    "a\u{2028}b\u{85}c\u{feff}d\u{0}",
    "ends with a backslash \\",
];

#[test]
fn hostile_words_break_no_note() {
    for text in HOSTILE {
        let mut facts = facts();
        (facts.title, facts.goal) = (text.to_owned(), text.to_owned());
        facts.prompts = vec![said(text)];
        facts.decisions = vec![said(text)];
        facts.open = vec![said(text)];
        facts.preferences = vec![said(text)];
        facts.entities[1].name = text.to_owned();
        facts.files[0].path = text.to_owned();
        facts.files[0].entity = None;
        let note = merge(None, &wanted(&facts).note);
        assert_eq!(note.conflicts, 0, "{text:?}\n{}", note.text);
        let paths = ["claude/projects/shop/entities/src-auth.rs.md", "claude/a.md"];
        let findings = VaultIndex::new(paths, "claude").check("claude/a.md", &note.text);
        assert_eq!(findings, [], "{text:?}\n{}", note.text);
        let identity = session::identity(&note.text).unwrap();
        assert_eq!((identity.status, identity.project.as_str()), (session::Status::Active, "shop"));
        let headings = note.text.lines().filter(|line| line.starts_with("## ")).count();
        assert_eq!(headings, session::SECTIONS.len(), "{text:?}\n{}", note.text);
        let plan = crate::compaction::plan(
            &facts,
            &super::sample::layout(),
            Day::from_timestamp(at("2026-03-14T00:00:00Z"), Zone::UTC),
        );
        for wanted in plan.updates.iter().chain(&plan.backlinks) {
            let text = merge(None, &wanted.note).text;
            let others = text.lines().flat_map(links).filter(|link| link.starts_with("2026-01-01"));
            assert_eq!(others.count(), 0, "{text}");
        }
        assert_eq!(crate::forget::forget_own_note(&note.text), crate::forget::Remainder::Nothing, "{text:?}");
    }
}

#[test]
fn a_value_is_read_as_it_was_written() {
    let texts = HOSTILE.into_iter().chain([
        "",
        "yes",
        "null",
        "1",
        "1e3",
        "2026-03-14",
        "a: b",
        "a #b",
        "plain text",
        " lead",
        "tail ",
        "'",
        "\"q\"",
        "~",
        "é",
    ]);
    for text in texts {
        let header =
            vec![Field::text("title", text, When::Always), Field::list("tags", vec![text.to_owned()], When::Always)];
        let note = merge(None, &Note { header, sections: Vec::new() });
        let fields = header::fields(&note.text);
        assert_eq!(fields.get("title"), Some(&Value::Text(text.to_owned())), "{}", note.text);
        assert_eq!(fields.get("tags"), Some(&Value::List(vec![text.to_owned()])), "{}", note.text);
        assert_eq!(fields.len(), 2, "{}", note.text);
    }
    for (written, value) in [
        ("'it''s'", Value::Text("it's".to_owned())),
        ("[a, \"b, c\", 'd']", Value::List(vec!["a".to_owned(), "b, c".to_owned(), "d".to_owned()])),
        ("[]", Value::List(Vec::new())),
        ("plain # remark", Value::Text("plain".to_owned())),
        ("\"\\x41\\u00e9\\U0001F600\"", Value::Text("Aé😀".to_owned())),
    ] {
        let fields = header::fields(&format!("---\nkey: {written}\n---\n"));
        assert_eq!(fields.get("key"), Some(&value), "{written}");
    }
    for odd in ["{a: b}", "|", "\"never closed", "[a", "&x y", "\"\\uD800\""] {
        assert_eq!(header::fields(&format!("---\nkey: {odd}\n---\n")).get("key"), None, "{odd}");
    }
}

#[test]
fn a_line_is_read_as_it_was_written() {
    for line in [
        Line::supported("- 2026-03-14: a".to_owned(), "s1"),
        Line { text: "- a (b)".to_owned(), support: vec!["s1".to_owned(), "s2".to_owned()] },
        Line::unsupported("- [[s1]] - Archived session (compacted)".to_owned()),
        Line::unsupported("- \\[\\[s1\\]\\]".to_owned()),
    ] {
        assert_eq!(Line::parse(&line.written()), line);
    }
}

#[test]
fn days_are_read_and_counted() {
    for bad in ["2026-02-30", "2026-3-14", "soon", "", "2026-03-14x", "٢٠٢٦-٠٣-١٤"] {
        assert_eq!(Day::parse(bad), None, "{bad}");
    }
    let day = |text: &str| Day::parse(text).unwrap();
    assert_eq!(day("2026-03-01").since(day("2026-02-27")), 2);
    assert_eq!(day("2024-03-01T10:00:00Z").since(day("2024-02-27")), 3);
    assert_eq!(Day::from_timestamp(at("2026-03-14T23:59:59Z"), Zone::UTC).to_string(), "2026-03-14");
    let pacific = Zone::parse("PST8PDT,M3.2.0,M11.1.0").unwrap();
    assert_eq!(Day::from_timestamp(at("2026-03-14T06:59:59Z"), pacific).to_string(), "2026-03-13");
    assert_eq!(Day::from_timestamp(at("2026-03-14T07:00:00Z"), pacific).to_string(), "2026-03-14");
    assert_eq!(
        Day::from_timestamp(baton_conversation::record::Timestamp(i64::MAX), Zone::UTC).to_string(),
        "9999-12-31"
    );
}
