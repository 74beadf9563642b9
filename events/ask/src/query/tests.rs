use super::*;

fn now() -> Timestamp {
    Timestamp::parse("2026-03-14T09:26:53Z").unwrap()
}

/// Formats a parsed question: words, `"phrases"`, prefixes with a star, exclusions with a dash, filters, bounds.
fn format_question(asked: &Question) -> String {
    let mut parts = vec![asked.words.clone()];
    parts.extend(asked.phrases.iter().map(|phrase| format!("<{phrase}>")));
    parts.extend(asked.prefixes.iter().map(|prefix| format!("{prefix}*")));
    parts.extend(asked.without.iter().map(|without| match without {
        Without::Word(word) => format!("-{word}"),
        Without::Phrase(phrase) => format!("-<{phrase}>"),
    }));
    parts.extend(asked.filters.iter().map(|filter| {
        let dash = if filter.negated { "-" } else { "" };
        format!("{dash}{}={}", filter.field.as_str(), filter.value)
    }));
    parts.extend(asked.after.map(|at| format!("after={at}")));
    parts.extend(asked.before.map(|at| format!("before={at}")));
    parts.retain(|part| !part.is_empty());
    parts.join(" | ")
}

fn check(text: &str, expected: &str) {
    assert_eq!(format_question(&parse(text, now())), expected, "{text:?}");
}

#[test]
fn words_stay_as_they_are() {
    for text in [
        "refresh token race",
        "git push --no-verify",
        "rm -rf target -n",
        "well-known multi-word",
        "src/auth.rs:42",
        "std::sync::Mutex",
        "http://localhost:8080/a?b=c",
        "file:///srv/a.txt",
        "error[E0382]: use of moved value",
        "SELECT * FROM t",
        "*ptr **bold** a* foo*bar",
        "-",
        "--",
        "\"",
        "\"\"",
        "an \"unclosed quote",
        "don't can't",
        "key=\"some value\"",
        "C:\\work\\main.rs",
        "東京 タワー",
        "file: and tool:",
        "-DNAME=value -Wl,-rpath",
        "-Wall -Werror",
    ] {
        check(text, text);
    }
    check("", "");
    check(" \n\t ", "");
    check("  two\n words ", "two words");
}

#[test]
fn operators_stand_at_the_beginning_of_a_word() {
    check("\"refresh token\" race", "refresh token race | <refresh token>");
    check("a “refresh token” b", "a refresh token b | <refresh token>");
    check("expected \"foo\", found \"bar\"", "expected foo , found bar | <foo> | <bar>");
    check("say\"nothing\" here", "say\"nothing\" here");
    check("\"git push --force\"", "git push --force | <git push --force>");
    check("\"-name\" find", "-name find | <-name>");
    check("\"--\" dashes", "\"--\" dashes");
    check("migrat* now", "now | migrat*");
    check("src/auth* error", "error | src/auth*");
    check("retry -tokio", "retry | -tokio");
    check("retry -Tokio -async-std", "retry | -Tokio | -async-std");
    check("retry -\"thread pool\" now", "retry now | -<thread pool>");
    check("検索 -東京", "検索 | -東京");
    check("-tokio", "-tokio");
    check("-tokio -\"thread pool\"", "-tokio -\"thread pool\"");
    check("find . -name", "find . | -name");
}

#[test]
fn filters_are_known_by_name() {
    check("file:auth.rs login", "login | file=auth.rs");
    check("FILE:auth.rs path:src/*.rs", "file=auth.rs | file=src/*.rs");
    check("project:\"my project\" x", "x | project=my project");
    check("-file:auth.rs login", "login | -file=auth.rs");
    check("tool:Bash branch:feature/x project:.", "tool=Bash | branch=feature/x | project=.");
    check("agent:claude agent:Claude-Code agent:codex", "agent=claude_code | agent=claude_code | agent=codex");
    check("state:Indexed -state:failed", "state=indexed | -state=failed");
    check("file:C:\\a.rs", "file=C:\\a.rs");
    check("-tokio file:a.rs", "-tokio | file=a.rs");
    // An unknown value stays a filter that nothing matches.
    check("state:sleeping lock", "lock | state=sleeping");
    check("agent:emacs lock", "lock | agent=emacs");
    check("state::Open", "state::Open");
}

#[test]
fn times_are_absolute_or_counted_from_now() {
    check("after:2026-03-01 before:2026-04", "after=2026-03-01T00:00:00.000Z | before=2026-04-01T00:00:00.000Z");
    check("since:7d", "after=2026-03-07T09:26:53.000Z");
    check("until:yesterday", "before=2026-03-13T00:00:00.000Z");
    check("after:7d after:2d after:2020", "after=2026-03-12T09:26:53.000Z");
    check("-after:2026-03", "before=2026-03-01T00:00:00.000Z");
    check("-before:2026-03", "after=2026-03-01T00:00:00.000Z");
    for (text, fits_nothing) in [("after:tomorow lock", true), ("after:2026-02-30", true), ("-after:soon x", false)] {
        let asked = parse(text, now());
        assert_eq!(
            (asked.fits_nothing, asked.after, asked.is_restricted()),
            (fits_nothing, None, fits_nothing),
            "{text}"
        );
        assert!(!asked.words.contains("after"), "{text}");
    }
    for (text, expected) in [
        ("2026", "2026-01-01T00:00:00.000Z"),
        ("2026-02", "2026-02-01T00:00:00.000Z"),
        ("2026/2/3", "2026-02-03T00:00:00.000Z"),
        ("2026-02-03T04:05:06Z", "2026-02-03T04:05:06.000Z"),
        ("2026-02-03t04:05:06+01:00", "2026-02-03T03:05:06.000Z"),
        ("today", "2026-03-14T00:00:00.000Z"),
        ("Yesterday", "2026-03-13T00:00:00.000Z"),
        ("this week", "2026-03-09T00:00:00.000Z"),
        ("Last Week", "2026-03-02T00:00:00.000Z"),
        ("this month", "2026-03-01T00:00:00.000Z"),
        ("last month", "2026-02-01T00:00:00.000Z"),
        ("12h", "2026-03-13T21:26:53.000Z"),
        ("2 weeks ago", "2026-02-28T09:26:53.000Z"),
        ("1m", "2026-02-12T09:26:53.000Z"),
        ("1y", "2025-03-14T09:26:53.000Z"),
    ] {
        assert_eq!(parse_moment(text, now()).map(|at| at.to_string()).as_deref(), Some(expected), "{text}");
    }
    // 20:00 on 14 March in Los Angeles.
    let evening = Timestamp::parse("2026-03-15T03:00:00Z").unwrap();
    let asked = AskedAt { now: evening, zone: Zone::parse("PST8PDT,M3.2.0,M11.1.0").unwrap() };
    for (text, expected) in [
        ("today", "2026-03-14T07:00:00.000Z"),
        ("yesterday", "2026-03-13T07:00:00.000Z"),
        ("this week", "2026-03-09T07:00:00.000Z"),
        ("last month", "2026-02-01T08:00:00.000Z"),
        ("2026-03-08", "2026-03-08T08:00:00.000Z"),
        ("2026-03-08 12:00", "2026-03-08T19:00:00.000Z"),
        ("2026-03-08T12:00:00Z", "2026-03-08T12:00:00.000Z"),
        ("2026", "2026-01-01T08:00:00.000Z"),
        ("12h", "2026-03-14T15:00:00.000Z"),
    ] {
        assert_eq!(parse_moment(text, asked).map(|at| at.to_string()).as_deref(), Some(expected), "{text}");
    }
    for text in
        ["", "soon", "2026-13", "2026-02-30", "26-03-14", "7", "d", "-7d", "7x", "99999999999999999999d", "7 d x"]
    {
        assert_eq!(parse_moment(text, now()), None, "{text}");
    }
    assert!(parse_moment("9223372036854775807h", now()).is_none());
}

#[test]
fn what_is_taken_otherwise_than_it_looks_is_said() {
    for (text, words, note) in [
        ("author:bob x", "author:bob x", "there is no filter \"author\""),
        ("fil:auth.rs", "fil:auth.rs", "there is no filter \"fil\""),
        ("state:sleeping", "", "nothing fits \"state:sleeping\": there is no such state; there are active"),
        ("-state:sleeping x", "x", "\"-state:sleeping\" leaves nothing out: there is no such state"),
        ("agent:emacs", "", "no such agent; there are claude_code, codex"),
        ("after:soon", "", "not a date"),
        ("-before:soon x", "x", "leaves nothing out: not a date"),
        ("a -word", "a", "passages with word are left out; \"-word\" in quotes"),
    ] {
        let asked = parse(text, now());
        assert_eq!(asked.words, words, "{text}");
        assert!(asked.notes.len() == 1 && asked.notes[0].contains(note), "{text}: {:?}", asked.notes);
    }
    for text in ["std::sync", "localhost:8080", "a:b", "main.rs:12:3", "TypeError:x", "http://x.y"] {
        assert_eq!(parse(text, now()).notes, [""; 0], "{text}");
    }
}

#[test]
fn everything_is_bounded() {
    let many = "\"a b\" pre* -without file:x ".repeat(100);
    let asked = parse(&many, now());
    assert_eq!(asked.phrases.len() + asked.prefixes.len() + asked.without.len(), MAX_OPERATORS);
    assert_eq!(asked.filters.len(), MAX_FILTERS);
    let long = parse(&"語".repeat(MAX_BYTES), now());
    assert!(long.words.len() <= MAX_BYTES && long.notes.len() == 1, "{:?}", long.notes);
    for text in ["“a ".repeat(6_000), "\"a\"b ".repeat(4_000), "-".repeat(20_000), "a:".repeat(9_000)] {
        parse(&text, now());
    }
}

#[test]
fn words_outside_of_phrases_are_loose() {
    for (text, loose) in
        [("\"a b\"", false), ("\"a b\" \"c\" file:x -without", false), ("\"a b\" c", true), ("\"a b\" pre*", true)]
    {
        assert_eq!(parse(text, now()).has_loose_words(), loose, "{text}");
    }
}

#[test]
fn filters_alone_ask_for_sessions() {
    for (text, only) in [
        ("file:a.rs", true),
        ("after:7d -tokio", true),
        ("file:a.rs word", false),
        ("file:a.rs wor*", false),
        ("file:a.rs \"a phrase\"", false),
        ("", true),
    ] {
        assert_eq!(parse(text, now()).is_filters_only(), only, "{text}");
    }
}
