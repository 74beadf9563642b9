//! Nothing is written twice: what a person removes from a note stays removed.

use super::sample::{at, day, facts, layout, said, wanted};
use crate::facts::Statement;
use crate::forget::Remainder;
use crate::{
    Body, EntityNote, EntityNotes, Line, Merged, Note, Section, SessionFacts, block, compaction, forget, merge,
    relink_entities, relink_session, session, start,
};

fn note(body: Body) -> Note {
    Note { header: Vec::new(), sections: vec![Section { key: "open", heading: "Open", body }] }
}

fn whole(entries: &[&str]) -> Note {
    note(Body::Whole(entries.iter().map(|entry| format!("- {entry}")).collect()))
}

fn lines(lines: &[(&str, &str)]) -> Note {
    note(Body::Added(lines.iter().map(|(text, session)| Line::supported(format!("- {text}"), session)).collect()))
}

fn logged(entries: &[&str]) -> Note {
    let at = |entry: &str| at(&format!("{}:00Z", entry[..16].replace(' ', "T")));
    note(Body::Log(entries.iter().map(|entry| (at(entry), format!("- {entry}"))).collect()))
}

/// Merges, and asserts that a second merge changes nothing.
fn merged(text: &str, wanted: &Note) -> Merged {
    let merged = merge(Some(text), wanted);
    let again = merge(Some(&merged.text), wanted);
    assert_eq!((again.text.as_str(), again.changed), (merged.text.as_str(), false), "a second time");
    merged
}

/// Returns the entries of a text without their dashes.
fn seen(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.trim_end().strip_prefix("- ")).collect()
}

fn without(text: &str, line: &str) -> String {
    let left: String = text.split_inclusive('\n').filter(|it| it.trim_end() != line).collect();
    assert_ne!(left, text, "{line}");
    left
}

/// What Baton wants first, the person's edit, and the expected entries after each further merge.
struct Case {
    what: &'static str,
    first: Note,
    edit: fn(&str) -> String,
    then: Vec<(Note, &'static [&'static str])>,
}

fn check(case: &Case) {
    let mut text = (case.edit)(&merge(None, &case.first).text);
    let before = text.clone();
    for (at, (wish, expected)) in case.then.iter().enumerate() {
        let merged = merged(&text, wish);
        assert_eq!(seen(&merged.text), *expected, "{}, wish {at}: {}", case.what, merged.text);
        text = merged.text;
    }
    for line in before.lines().filter(|line| !line.starts_with("<!-- baton:note") && !line.is_empty()) {
        let is_own = block::Blocks::parse(&before.split_inclusive('\n').collect::<Vec<_>>()).conflicts() == 0;
        assert!(is_own || text.lines().any(|it| it == line), "{}: {line} is lost", case.what);
    }
}

#[test]
fn what_a_person_throws_out_stays_out() {
    let take_b: fn(&str) -> String = |text| without(text, "- b");
    let away: fn(&str) -> String = |text| {
        let (before, rest) = text.split_once("<!-- baton:open").unwrap();
        format!("{before}{}", rest.split_once("<!-- /baton:open -->\n").unwrap().1)
    };
    let cases = [
        Case {
            what: "a line, and nothing is new",
            first: whole(&["a", "b"]),
            edit: take_b,
            then: vec![(whole(&["a", "b"]), &["a"]), (whole(&["b", "a"]), &["a"]), (whole(&["b"]), &["a"])],
        },
        Case {
            what: "a line, and others are new",
            first: whole(&["a", "b"]),
            edit: take_b,
            then: vec![
                (whole(&["a", "b", "c"]), &["a", "c"]),
                (whole(&["a", "b", "c", "d"]), &["a", "c", "d"]),
                (whole(&["a", "b"]), &["a"]),
                // Baton removed it itself.
                (whole(&["a", "b", "c"]), &["a", "c"]),
            ],
        },
        Case {
            what: "a whole block",
            first: whole(&["a", "b"]),
            edit: away,
            then: vec![(whole(&["a", "b"]), &[]), (whole(&["a"]), &[]), (whole(&["a", "b", "c"]), &["c"])],
        },
        Case {
            what: "all lines of a block",
            first: whole(&["a", "b"]),
            edit: |text| without(&without(text, "- a"), "- b"),
            then: vec![(whole(&["a", "b"]), &[]), (whole(&["b", "c"]), &["c"])],
        },
        Case {
            what: "a line that was changed is not told again as it was, and the new one is",
            first: whole(&["use sqlite", "b"]),
            edit: |text| text.replace("- use sqlite", "- use sqlite, says somebody"),
            then: vec![
                (whole(&["use sqlite", "b"]), &["use sqlite, says somebody", "b"]),
                (whole(&["use sled", "b"]), &["use sqlite, says somebody", "b", "use sled"]),
            ],
        },
        Case {
            what: "a line that is put back",
            first: whole(&["a", "b"]),
            edit: |text| without(text, "- b").replace("- a\n", "- b\n- a\n"),
            then: vec![(whole(&["a", "b"]), &["b", "a"]), (whole(&["a", "b", "c"]), &["b", "a", "c"])],
        },
        Case {
            what: "a file, whatever more was changed in it, and whether or not it has a note by then",
            first: whole(&["`src/a.rs` (+1 −0)", "`src/b.rs` (+1 −0)"]),
            edit: |text| without(text, "- `src/b.rs` (+1 −0)"),
            then: vec![
                (whole(&["`src/a.rs` (+1 −0)", "[[x/src-b.rs|src/b.rs]] (+9 −4)"]), &["`src/a.rs` (+1 −0)"]),
                (whole(&["[[y/b|src/b.rs]] (+10 −4)", "`src/b` (+1 −0)"]), &["`src/a.rs` (+1 −0)", "`src/b` (+1 −0)"]),
            ],
        },
        Case {
            what: "something decided, whatever it is linked to",
            first: whole(&["a ([[x/sled|sled]])", "b ([[x/sled|sled]], [[x/log|log]])"]),
            edit: |text| without(text, "- b ([[x/sled|sled]], [[x/log|log]])"),
            then: vec![(whole(&["a ([[x/sled|sled]])", "b", "c"]), &["a ([[x/sled|sled]])", "c"])],
        },
        Case {
            what: "a line of a log",
            first: logged(&["2026-03-14 09:30 b", "2026-03-14 09:31 a"]),
            edit: |text| without(text, "- 2026-03-14 09:30 b"),
            then: vec![
                (logged(&["2026-03-14 09:30 b", "2026-03-14 09:31 a"]), &["2026-03-14 09:31 a"]),
                (
                    logged(&["2026-03-14 09:30 b", "2026-03-14 09:31 a", "2026-03-14 09:32 b"]),
                    &["2026-03-14 09:31 a", "2026-03-14 09:32 b"],
                ),
            ],
        },
        Case {
            what: "a line that a session supports, which others may still say",
            first: lines(&[("a", "s1"), ("b", "s1"), ("b", "s2")]),
            edit: |text| without(text, "- b ([[s1]], [[s2]])"),
            then: vec![
                (lines(&[("a", "s1"), ("b", "s1")]), &["a ([[s1]])"]),
                (lines(&[("b", "s2"), ("b", "s1")]), &["a ([[s1]])"]),
                (lines(&[("c", "s1"), ("b", "s2"), ("b", "s3")]), &["a ([[s1]])", "b ([[s3]])", "c ([[s1]])"]),
            ],
        },
        Case {
            what: "one of several that show the same",
            first: whole(&["[[x/sqlite|sqlite]]", "[[x/a|src/deep…]] (+1 −0)"]),
            edit: |text| without(&without(text, "- [[x/sqlite|sqlite]]"), "- [[x/a|src/deep…]] (+1 −0)"),
            then: vec![
                (whole(&["[[y/sqlite|sqlite]]", "[[x/a|src/deep…]] (+2 −0)"]), &[]),
                (
                    whole(&["[[x/sqlite|sqlite]]", "[[x/sqlite-2|sqlite]]", "[[x/b|src/deep…]] (+1 −0)"]),
                    &["[[x/sqlite-2|sqlite]]", "[[x/b|src/deep…]] (+1 −0)"],
                ),
            ],
        },
        Case {
            what: "what a model says then, too",
            first: whole(&["deploy it", "a → b ([[x/sled|sled]])"]),
            edit: |text| without(&without(text, "- deploy it"), "- a → b ([[x/sled|sled]])"),
            then: vec![
                (whole(&["deploy it · model", "a · model → b · model ([[x/sled|sled]])", "c · model"]), &["c · model"]),
                (whole(&["deploy it", "c"]), &["c"]),
            ],
        },
        Case {
            what: "with the ends of lines of another system",
            first: whole(&["a", "b"]),
            edit: |text| without(text, "- b").replace('\n', "\r\n"),
            then: vec![(whole(&["a", "b", "c"]), &["a", "c"])],
        },
    ];
    cases.iter().for_each(check);
}

#[test]
fn what_is_thrown_out_of_a_second_block_stays_out_too() {
    let first = without(&merge(None, &whole(&["a", "b"])).text, "- b");
    let second = without(&merged(&first, &whole(&["a", "b", "c", "d"])).text, "- c");
    let third = merged(&second, &whole(&["a", "b", "c", "d", "e"]));
    assert_eq!((seen(&third.text), third.conflicts), (vec!["a", "d", "e"], 2));
    // A person restores the first block: it is Baton's again, and knows nothing of what was written elsewhere.
    let back = third.text.replacen("- a\n", "- a\n- b\n", 1);
    let fourth = merged(&back, &whole(&["a", "b", "c", "d", "e", "f"]));
    assert_eq!((seen(&fourth.text), fourth.conflicts), (vec!["a", "b", "d", "e", "f"], 1));
}

#[test]
fn a_note_without_traces_goes_on_as_before() {
    let bare = |text: &str| {
        let words = text.split(' ').filter(|word| !word.contains('~'));
        words.collect::<Vec<_>>().join(" ")
    };
    let old = bare(&merge(None, &whole(&["a", "b"])).text);
    assert!(!old.contains('~'));
    // An unedited older note learns what it contains.
    let learned = merged(&old, &whole(&["a", "b"]));
    assert_eq!(seen(&merged(&without(&learned.text, "- b"), &whole(&["a", "b", "c"])).text), ["a", "c"]);
    // If it was edited, it learns what it wrote from the recorded hash, as long as the same is wanted.
    let edited = without(&old, "- b");
    let away = format!("## Open\n{}\n", old.lines().find(|line| line.contains("baton:note")).unwrap());
    for (edited, expected) in [(&edited, vec!["a", "c"]), (&away, vec!["c"])] {
        let same = merged(edited, &whole(&["a", "b"])).text;
        assert_eq!(seen(&same), seen(edited));
        assert_eq!(seen(&merged(&same, &whole(&["a", "b", "c"])).text), expected);
    }
    // Otherwise it writes once more, and only once, what the person does not have.
    let new = merged(&edited, &whole(&["a", "b", "c"])).text;
    assert_eq!(seen(&new), ["a", "b", "c"]);
    let thrown_out = without(&without(&new, "- b"), "- a");
    assert_eq!(seen(&merged(&thrown_out, &whole(&["a", "b", "c", "d"])).text), ["c", "d"]);
    // Invalid traces in the marker have no effect.
    for garbage in ["", "x", "....", "short.toolongforatrace", "öäüöäü"] {
        let mut written = block::written_in_text(&learned.text).unwrap();
        written.insert("#open~".to_owned(), garbage.to_owned());
        let text = block::with_written(&learned.text, &written, "\n");
        assert_eq!(seen(&merged(&text, &whole(&["a", "b", "c"])).text), ["a", "b", "c"], "{garbage:?}");
    }
}

#[test]
fn of_very_many_lines_the_last_ones_are_known() {
    const MANY: usize = 6_100;
    let all = |to: usize| -> Note { note(Body::Whole((0..to).map(|number| format!("- line {number:05}")).collect())) };
    let edited = without(&merge(None, &all(MANY)).text, "- line 06099");
    let marker = edited.lines().find(|line| line.contains("baton:note")).unwrap();
    assert!(marker.len() < 6_000 * 7 + 200, "{}", marker.len());
    assert_eq!(seen(&merged(&edited, &all(MANY + 1)).text).len(), MANY);
}

/// Returns what a session's note remembers of others, by the tags of their names.
fn remembers(text: &str, name: &str) -> bool {
    forget::remembered_tags(text).contains(&forget::target_tag(name))
}

#[test]
fn what_was_told_of_a_forgotten_session_is_not_remembered() {
    const ONE: &str = "2026-03-14-refresh-tokens";
    let today = day("2026-03-20");
    let mut two: SessionFacts = facts();
    two.about.note = "2026-03-14-other".to_owned();
    two.decisions = vec![said("Keep tokens for a day")];
    let of = |facts: &SessionFacts| compaction::plan(facts, &layout(), today).updates.into_iter().nth(1).unwrap().note;
    let text = merge(Some(&merge(None, &of(&facts())).text), &of(&two)).text;
    // A person removes everything about the first one, and a part of the second.
    let theirs: String = text
        .split_inclusive('\n')
        .filter(|line| !line.contains(ONE) && !line.contains("Keep tokens"))
        .collect::<String>()
        + "\nMine.\n";
    assert!(!theirs.contains(ONE) && remembers(&theirs, ONE) && remembers(&theirs, "2026-03-14-other"));
    let Remainder::Text(left) = forget::forget_target(&theirs, ONE) else { panic!("{theirs}") };
    let seen_of =
        |text: &str| text.lines().filter(|line| !line.contains("baton:note")).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(seen_of(&left), seen_of(&theirs), "what a person has made of it stays");
    assert!(!remembers(&left, ONE) && remembers(&left, "2026-03-14-other"), "{left}");
    assert_eq!(forget::forget_target(&left, ONE), Remainder::Unchanged);
    // What they removed of the second one stays removed.
    assert!(!merged(&left, &of(&two)).text.contains("Keep tokens"));
    // As if the first one had never existed.
    let never = merge(None, &of(&two)).text;
    let tags = |text: &str| forget::remembered_tags(text).len();
    assert_eq!(tags(&left), tags(&never));
}

#[test]
fn a_line_that_was_taken_back_with_a_forgotten_session_may_be_told_again() {
    let facts = facts();
    let page = start::wanted_pages(&facts, None, &layout(), day("2026-03-20")).remove(0);
    let text = merge(None, &page.note).text;
    let entity = "claude/projects/shop/entities/src-auth.rs";
    let Remainder::Text(left) = forget::forget_target(&text, entity) else { panic!("{text}") };
    assert!(!left.contains("src-auth.rs") && !remembers(&left, entity), "{left}");
    let again = merged(&left, &page.note).text;
    assert!(again.contains(entity) && remembers(&again, entity), "{again}");
}

#[test]
fn what_was_told_of_a_note_that_is_renamed_is_known_by_its_new_name() {
    let (mut facts, today) = (facts(), day("2026-03-20"));
    let of = |facts: &SessionFacts| start::wanted_pages(facts, None, &layout(), today).remove(0).note;
    let theirs = without(&merge(None, &of(&facts)).text, "- 2026-03-14: [[2026-03-14-refresh-tokens]]");
    let text = relink_session(&theirs, "2026-03-14-refresh-tokens", "Line 59").unwrap();
    assert!(!remembers(&text, "2026-03-14-refresh-tokens") && remembers(&text, "Line 59"));
    facts.about.note = "Line 59".to_owned();
    assert!(!merged(&text, &of(&facts)).text.contains("[[Line 59]]"), "it was thrown out");
    // Another session of the same day gives another line.
    facts.about.note = "Line 60".to_owned();
    assert!(merged(&text, &of(&facts)).text.contains("[[Line 60]]"));
}

#[test]
fn a_whole_note_stays_as_a_person_has_left_it() {
    let mut facts = facts();
    let mut text = merge(None, &wanted(&facts).note).text;
    for line in [
        "- deploy it",
        "- the alert is not deployed",
        "- 2026-03-14 09:30 fix the refresh token",
        "Find out why refresh tokens expire too early",
    ] {
        text = without(&text, line);
    }
    let same = merged(&text, &wanted(&facts).note);
    assert_eq!((same.text.as_str(), same.changed, same.conflicts), (text.as_str(), false, 4));
    facts.about.ended = Some(at("2026-03-14T12:00:00Z"));
    facts.prompts.push(Statement { at: Some(at("2026-03-14T11:00:00Z")), ..said("and the alert") });
    facts.next_steps.push(said("watch it"));
    let new = merged(&text, &wanted(&facts).note);
    assert_eq!(new.conflicts, 4, "{}", new.text);
    let added: Vec<&str> = new.text.lines().filter(|line| !text.contains(line)).collect();
    let expected = ["- 2026-03-14 11:00 and the alert", "### 2026-03-14T12:00:00Z - Session End", "- watch it"];
    let is_marker = |line: &&&str| line.starts_with("<!-- ");
    assert_eq!(added.iter().filter(|line| !is_marker(line)).copied().collect::<Vec<_>>(), expected);
}

#[test]
fn what_was_told_of_an_entity_is_known_by_the_name_that_its_note_has_now() {
    let page = start::wanted_pages(&facts(), None, &layout(), day("2026-03-20")).remove(0).note;
    let (old, new) = ("claude/projects/shop/entities/src-auth.rs", "claude/projects/shop/entities/Auth");
    let theirs = without(&merge(None, &page).text, &format!("- [[{old}|src/auth.rs]]"));
    let noted = |file: &str| {
        let own = |text: &str| text.to_owned();
        EntityNote {
            project: Some(own("shop")),
            kind: own("File"),
            name: own("src/auth.rs"),
            file: own(file),
            before: None,
        }
    };
    let follow = |text: &str, file: &str, there: &str| {
        let leads = |target: &str| target == there || target == "claude/projects/shop/entities/shop";
        relink_entities(text, "claude/projects/shop/shop.md", &layout(), &EntityNotes::new([noted(file)]), &leads)
    };
    assert_eq!(follow(&theirs, "src-auth.rs", old), None);
    assert_eq!(follow(&theirs, "Auth", old), None, "another one is called so now");
    let text = follow(&theirs, "Auth", new).unwrap();
    assert!(!remembers(&text, old) && remembers(&text, new), "{text}");
    assert_eq!(follow(&text, "Auth", new), None, "once");
    let Remainder::Text(left) = forget::forget_target(&text, new) else { panic!("{text}") };
    assert!(!remembers(&left, new));
}

#[test]
fn who_reads_a_note_sees_no_traces() {
    let text = merge(None, &wanted(&facts()).note).text;
    let read = forget::without_traces(&text);
    assert!(text.contains("~=") && !read.contains("~="), "{read}");
    let marker = |text: &str| block::written_in_text(text).unwrap();
    let mut expected = marker(&text);
    expected.retain(|key, _| !key.ends_with('~'));
    assert_eq!(marker(&read), expected);
    let body = |text: &str| text.split_once(" -->").map(|(_, body)| body.to_owned());
    assert_eq!(body(&read), body(&text));
    for none in ["", "no marker", "a~=b\n"] {
        assert_eq!(forget::without_traces(none), none);
    }
}

#[test]
fn a_line_of_very_many_markers_takes_no_longer_than_its_length() {
    let marker = "<!-- baton:note a=b ";
    for line in [marker.repeat(400_000), format!("x {}", "<!-- baton:note".repeat(400_000))] {
        let text = format!("---\ntype: session\nsession_ids: [a, b]\n---\n{line}-->\n");
        assert_eq!(forget::remembered_tags(&text), std::collections::BTreeSet::new());
        assert_eq!(forget::without_traces(&text), text);
        assert!(session::identity(&text).is_some_and(|identity| !identity.is_sure));
    }
}
