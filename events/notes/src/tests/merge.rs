//! Merging wanted notes into files.

use super::sample::{at, day, facts, layout, said, wanted};
use crate::{Body, Field, Line, Merged, Note, Section, When, knowledge, merge, session};

/// A note of one section.
fn note(body: Body) -> Note {
    Note { header: Vec::new(), sections: vec![Section { key: "open", heading: "Open", body }] }
}

fn whole(entries: &[&str]) -> Note {
    note(Body::Whole(entries.iter().map(|entry| (*entry).to_owned()).collect()))
}

fn lines(lines: &[(&str, &str)]) -> Note {
    note(Body::Added(lines.iter().map(|(text, session)| Line::supported((*text).to_owned(), session)).collect()))
}

/// Merges, and asserts that a second merge changes nothing.
fn merged(existing: Option<&str>, wanted: &Note) -> Merged {
    let merged = merge(existing, wanted);
    assert_eq!(merged.changed, existing != Some(merged.text.as_str()));
    let again = merge(Some(&merged.text), wanted);
    assert_eq!((again.text.as_str(), again.changed), (merged.text.as_str(), false), "a second time");
    merged
}

fn text(existing: Option<&str>, wanted: &Note) -> String {
    merged(existing, wanted).text
}

/// Returns the lines of a text that are neither markers nor empty.
fn seen(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with("<!-- ") && !line.trim().is_empty()).collect()
}

#[test]
fn a_new_note_has_everything_in_order() {
    let text = text(None, &wanted(&facts()).note);
    let expected = "\
---
type: session
project: shop
status: active
created: 2026-03-14
updated: 2026-03-14
claude_last_accessed: 2026-03-14
title: Refresh tokens expire too early
tags:
  - baton
  - baton/session
  - project/shop
session_ids:
  - \"7acd37a8-2745-4b58-a8a9-46164b22ad9e\"
episode_uuid: \"00000000-0000-0000-0000-000000000009\"
---
# Refresh tokens expire too early
## Goal
Find out why refresh tokens expire too early
## Work Log
- 2026-03-14 09:30 fix the refresh token
### 2026-03-14T10:05:00Z - Session End
Session completed. Work finalized.
## Decisions Made
- Rotate tokens on every use because a stolen one must be told ([[claude/projects/shop/entities/src-auth.rs|src/auth.rs]])
## Errors Resolved
- cargo test: exit 101, 3 failed → cargo test passed ([[claude/projects/shop/entities/src-auth.rs|src/auth.rs]])
## Files
- [[claude/projects/shop/entities/src-auth.rs|src/auth.rs]] (+12 −3)
## Open
- the alert is not deployed
## Next Steps
- deploy it";
    assert_eq!(seen(&text).join("\n"), expected);
}

#[test]
fn who_says_a_long_goal_stands_behind_it() {
    use baton_episode::digest::MODEL_MARK;

    let mut facts = facts();
    facts.goal = format!("{} end{MODEL_MARK}", "a".repeat(716));
    let text = text(None, &wanted(&facts).note);
    assert!(text.contains(&format!(" end{MODEL_MARK}\n")), "{text}");
}

#[test]
fn what_is_wanted_replaces_what_baton_wrote() {
    let first = text(None, &whole(&["- a", "- b"]));
    assert_eq!(seen(&first), ["## Open", "- a", "- b"]);
    let second = merged(Some(&first), &whole(&["- b", "- c"]));
    assert_eq!((seen(&second.text), second.conflicts), (vec!["## Open", "- b", "- c"], 0));
    let none = merged(Some(&second.text), &whole(&[]));
    assert_eq!((seen(&none.text), none.conflicts), (vec!["## Open"], 0));
}

#[test]
fn a_block_that_a_person_changed_is_theirs_and_what_is_new_goes_below() {
    let first = text(None, &whole(&["- a", "- b"])) + "\nA remark of mine.\n";
    let edited = first.replace("\n- b", "\n- b, as I see it");
    let same = merged(Some(&edited), &whole(&["- a", "- b"]));
    assert_eq!((same.text.as_str(), same.conflicts, same.changed), (edited.as_str(), 1, false), "nothing is new");
    let new = merged(Some(&edited), &whole(&["- a", "- b", "- c"]));
    assert_eq!(seen(&new.text), ["## Open", "- a", "- b, as I see it", "A remark of mine.", "- c"], "what was told");
    assert_eq!(new.conflicts, 1);
    // The new block is Baton's, the old one is not.
    let newer = merged(Some(&new.text), &whole(&["- a", "- d"]));
    assert_eq!(seen(&newer.text), ["## Open", "- a", "- b, as I see it", "A remark of mine.", "- d"]);
    assert_eq!(newer.conflicts, 1);
}

#[test]
fn a_block_that_a_person_took_away_stays_away_until_there_is_something_new() {
    let first = text(None, &whole(&["- a"]));
    let without = "## Open\n".to_owned() + first.lines().find(|line| line.contains("baton:note")).unwrap() + "\n";
    let same = merged(Some(&without), &whole(&["- a"]));
    assert_eq!((same.text.as_str(), same.changed), (without.as_str(), false));
    let new = merge(Some(&without), &whole(&["- a", "- b"]));
    assert_eq!((seen(&new.text), new.conflicts), (vec!["## Open", "- b"], 1));
}

#[test]
fn a_marker_without_its_counterpart_leaves_everything_to_the_person() {
    let first = text(None, &whole(&["- a", "- b"]));
    for cut in ["<!-- baton:open ", "<!-- /baton:open"] {
        let kept: String =
            first.lines().filter(|line| !line.starts_with(cut)).map(|line| line.to_owned() + "\n").collect();
        let new = merged(Some(&kept), &whole(&["- a", "- b", "- c"]));
        assert_eq!(seen(&new.text), ["## Open", "- a", "- b", "- c"], "without {cut}");
        assert_eq!(new.conflicts, 1, "without {cut}");
    }
}

#[test]
fn a_section_stands_under_its_heading_wherever_a_person_has_put_it() {
    let theirs = "# Mine\n\nA text.\n\n## Open\n\nMy own point.\n\n## Later\n\nMore.\n";
    let new = text(Some(theirs), &whole(&["- a"]));
    assert_eq!(seen(&new), ["# Mine", "A text.", "## Open", "My own point.", "- a", "## Later", "More."]);
    let fenced = "```\n## Open\n```\n";
    assert_eq!(seen(&text(Some(fenced), &whole(&["- a"]))), ["```", "## Open", "```", "## Open", "- a"]);
    for heading in ["## open ##", "##  Open", "  ## OPEN"] {
        let new = text(Some(&format!("{heading}\n")), &whole(&["- a"]));
        assert_eq!(seen(&new), [heading, "- a"]);
    }
    // A heading that a person removed is not restored without content.
    let empty = text(None, &whole(&[]));
    assert_eq!(seen(&empty), ["## Open"]);
    let without = empty.replace("## Open\n", "");
    assert_eq!(text(Some(&without), &whole(&[])), without);
}

/// Asserts that sections are in the specified order, each with an empty line above it.
fn in_order(text: &str) {
    let lines: Vec<&str> = text.lines().map(|line| line.trim_end()).collect();
    let is_one = |line: &&str| session::SECTIONS.iter().any(|(_, heading)| **line == format!("## {heading}"));
    let found: Vec<&str> = lines.iter().copied().filter(is_one).collect();
    let expected: Vec<String> = session::SECTIONS.iter().map(|(_, heading)| format!("## {heading}")).collect();
    assert_eq!(found, expected, "{text}");
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| is_one(line)) {
        assert!(lines[at - 1].is_empty(), "above {line}: {text}");
    }
}

#[test]
fn a_section_that_comes_later_stands_where_it_belongs_whatever_a_person_has_put_between() {
    let all = wanted(&facts()).note;
    // Without headings, with a person's own heading, without empty lines, and without a final line end.
    let ways: [fn(usize) -> String; 4] = [
        |_| String::new(),
        |at| format!("remark {at}\n"),
        |at| format!("## Part {at}\nremark {at}\n# Top {at}\nremark\n"),
        |at| format!("\n\n## Part {at}\n```\n## Open\n```\nremark {at}\n\n\n"),
    ];
    for (which, way) in (0..1_u32 << session::SECTIONS.len()).flat_map(|which| ways.map(|way| (which, way))) {
        let mut some = all.clone();
        let mut at = 0;
        some.sections.retain(|section| {
            let number = session::SECTIONS.iter().position(|(key, _)| *key == section.key);
            number.is_none_or(|number| which & (1 << number) != 0)
        });
        let first = text(None, &some);
        let edited: String = first
            .split_inclusive('\n')
            .map(|line| {
                let is_end = line.starts_with("<!-- /baton:");
                at += usize::from(is_end);
                format!("{line}{}", if is_end { way(at) } else { String::new() })
            })
            .collect();
        for edited in [edited.trim_end().to_owned(), edited.replace('\n', "\r\n"), edited] {
            let new = merged(Some(&edited), &all);
            assert_eq!(new.conflicts, 0, "{}", new.text);
            let mut there = new.text.lines();
            let is_lost = |line: &&str| !there.any(|other| other == *line);
            let mine = edited.lines().filter(|line| line.contains("remark") || line.contains("Part"));
            assert_eq!(mine.clone().find(is_lost), None, "{edited}\n=>\n{}", new.text);
            in_order(&new.text.replace("```\n## Open\n```", "").replace("```\r\n## Open\r\n```", ""));
        }
    }
}

#[test]
fn a_section_that_a_person_calls_otherwise_is_known_by_what_stands_in_it() {
    let mut some = wanted(&facts()).note;
    some.sections.retain(|section| !matches!(section.key, "decisions" | "next-steps"));
    let theirs = text(None, &some)
        .replace("## Work Log", "## Was geschah")
        .replace("## Errors Resolved", "## Fehler")
        .replace("## Open", "## Offen\n\n# Anhang");
    let new = text(Some(&theirs), &wanted(&facts()).note);
    let headings: Vec<&str> = new.lines().filter(|line| line.starts_with('#')).collect();
    assert_eq!(
        headings[1..],
        [
            "## Goal",
            "## Was geschah",
            "### 2026-03-14T10:05:00Z - Session End",
            "## Decisions Made",
            "## Fehler",
            "## Files",
            "## Offen",
            "# Anhang",
            "## Next Steps",
        ]
    );
    // All of them removed but the last one.
    some.sections.retain(|section| section.key == "open");
    let alone = "Theirs.\n\n# Notes\ntext\n".to_owned()
        + &text(None, &some).split("-->\n").skip(1).collect::<Vec<_>>().join("-->\n");
    in_order(&text(Some(&alone), &wanted(&facts()).note));
}

#[test]
fn line_ends_marks_and_missing_ends_stay_as_they_are() {
    for (before, after) in [
        ("\u{feff}# Mine\r\n\r\n## Open\r\n", "\r\n"),
        ("# Mine\n\n## Open", "\n"),
        ("# Mine\r\n\r\n## Open\r\n\r\ntheirs", "\r\n"),
    ] {
        let new = text(Some(before), &whole(&["- a"]));
        assert_eq!(new.matches(after).count(), new.matches('\n').count(), "{new:?}");
        assert_eq!(new.starts_with('\u{feff}'), before.starts_with('\u{feff}'));
        assert_eq!(new.matches('\u{feff}').count(), before.matches('\u{feff}').count());
        // A conversion of line ends by git on another system is not an edit.
        let other = if after == "\n" { new.replace('\n', "\r\n") } else { new.replace("\r\n", "\n") };
        // Nor is a repeated conversion by another program.
        for other in [other, new.replace('\n', "\r\r\n")] {
            let again = merge(Some(&other), &whole(&["- a"]));
            assert_eq!((again.text.as_str(), again.conflicts), (other.as_str(), 0));
        }
    }
}

#[test]
fn each_line_is_there_once_with_all_that_support_it() {
    let mut now = text(None, &lines(&[("- 2026-03-14: b", "s2"), ("- 2026-03-14: a", "s1")]));
    for (line, session) in [("- 2026-03-14: a", "s3"), ("- 2026-03-14: a", "s1"), ("- 2026-01-01: c", "s3")] {
        now = text(Some(&now), &lines(&[(line, session)]));
    }
    let expected =
        ["## Open", "- 2026-01-01: c ([[s3]])", "- 2026-03-14: a ([[s1]], [[s3]])", "- 2026-03-14: b ([[s2]])"];
    assert_eq!(seen(&now), expected);
    // What a person took over is not repeated.
    let edited = now.replace("- 2026-03-14: b ([[s2]])", "- 2026-03-14: b ([[s2]])\n- mine");
    let new = merged(Some(&edited), &lines(&[("- 2026-03-14: a", "s1"), ("- 2026-03-15: d", "s4")]));
    assert_eq!(new.conflicts, 1);
    assert_eq!(seen(&new.text)[5..], ["- 2026-03-15: d ([[s4]])"]);
}

#[test]
fn ends_stay_in_the_work_log_and_each_is_there_once() {
    let mut facts = facts();
    let mut now = text(None, &wanted(&facts).note);
    facts.about.ended = Some(at("2026-03-14T12:00:00Z"));
    facts.prompts.push(crate::facts::Statement { at: Some(at("2026-03-14T11:00:00Z")), ..said("and the alert") });
    now = text(Some(&now), &wanted(&facts).note);
    now = text(Some(&now), &wanted(&facts).note);
    facts.about.ended = None;
    now = text(Some(&now), &wanted(&facts).note);
    let log: Vec<&str> = seen(&now).into_iter().skip_while(|line| *line != "## Work Log").skip(1).take(6).collect();
    let expected = [
        "- 2026-03-14 09:30 fix the refresh token",
        "### 2026-03-14T10:05:00Z - Session End",
        "Session completed. Work finalized.",
        "- 2026-03-14 11:00 and the alert",
        "### 2026-03-14T12:00:00Z - Session End",
        "Session completed. Work finalized.",
    ];
    assert_eq!(log, expected);
}

#[test]
fn keys_of_a_person_and_their_order_and_remarks_stay() {
    let fields = |status: &str| Note {
        header: vec![
            Field::text("type", "session", When::Once),
            Field::text("status", status, When::Always),
            Field::text("updated", "2026-03-15", When::Touched),
        ],
        sections: Vec::new(),
    };
    let theirs = "---\n# mine\naliases: [x, y]\nstatus: reading\ncssclass: wide # a remark\n---\ntext\n";
    let new = merged(Some(theirs), &fields("active"));
    assert!(new.text.starts_with("---\n# mine\naliases: [x, y]\nstatus: reading\n"), "{}", new.text);
    assert!(new.text.contains("cssclass: wide # a remark\n") && new.text.contains("\ntype: session\n"), "{}", new.text);
    assert_eq!(new.conflicts, 0, "it never was Baton's");

    let ours = text(None, &fields("active"));
    assert!(text(Some(&ours), &fields("archived")).contains("status: archived\n"));
    // Obsidian reformats values; that is not an edit.
    let respelled = ours.replace("status: active", "status:   \"active\"");
    let new = merged(Some(&respelled), &fields("archived"));
    assert!(new.text.contains("status: archived\n") && new.conflicts == 0, "{}", new.text);
    for edited in ["status: done", "status: active # for now", "status:\n  - active", "status: {a: b}"] {
        let edited = ours.replace("status: active", edited);
        let new = merged(Some(&edited), &fields("archived"));
        assert_eq!((new.text.as_str(), new.conflicts), (edited.as_str(), 1), "it is theirs now");
    }
    let without = ours.replace("status: active\n", "");
    assert_eq!(text(Some(&without), &fields("active")), without, "taken away");
    assert!(text(Some(&without), &fields("archived")).contains("status: archived\n"), "something new");
}

#[test]
fn a_key_in_quotes_is_the_key_and_is_not_written_twice() {
    let title = |title: &str| Note {
        header: vec![Field::text("title", title, When::Always), Field::text("status", "active", When::Always)],
        sections: Vec::new(),
    };
    let first = text(None, &title("One"));
    for (quoted, is_theirs) in [("\"title\": One", false), ("'title': One", false), ("\"title\" : One # mine", true)] {
        let theirs = first.replace("title: One", quoted);
        assert_ne!(theirs, first);
        let new = merged(Some(&theirs), &title("Two"));
        assert_eq!((new.text.contains(quoted), new.conflicts), (is_theirs, usize::from(is_theirs)), "{}", new.text);
        assert_eq!(new.text.contains("\ntitle: Two\n"), !is_theirs, "{}", new.text);
        assert_eq!(crate::verify::header_defect(&new.text), None, "{}", new.text);
    }
    let theirs = "---\n\"status\": reading\n---\n";
    let new = text(Some(theirs), &title("One"));
    assert_eq!(new.matches("status").count(), 1 + new.matches("status=").count(), "{new}");
}

#[test]
fn a_head_without_a_line_end_behind_it_stays_one() {
    use crate::verify;

    for eol in ["\n", "\r\n"] {
        let first = text(None, &wanted(&facts()).note).replace('\n', eol);
        let end = first.match_indices("---").nth(1).unwrap().0 + 3;
        let cut = &first[..end];
        let new = text(Some(cut), &wanted(&facts()).note);
        assert!(new.starts_with(&format!("{cut}{eol}")), "{new}");
        assert_eq!(new.matches("session_ids:").count(), 1, "{new}");
        assert!(session::identity(&new).is_some() && verify::header_defect(&new).is_none());
        let glued = new.replacen(&format!("---{eol}<!-- baton:note"), "---<!-- baton:note", 1);
        assert_ne!(glued, new);
        assert!(verify::header_defect(&glued).is_some_and(|what| what.contains("never closed")), "{glued}");
    }
    assert_eq!(verify::header_defect("---\nA line across, and no head\n"), None);
}

#[test]
fn a_head_that_a_person_has_lost_gets_no_other_one_and_is_named() {
    use crate::verify;

    let first = text(None, &wanted(&facts()).note);
    let end = first.find("---\n<!-- baton:note").unwrap();
    let mut later = facts();
    later.about.episode = Some(uuid::Uuid::from_u128(10));
    later.open.push(said("something new"));
    for slip in [
        format!("\n{first}"),
        first.replacen("---\n", "", 1),
        format!("{}{}", &first[..end], &first[end + 4..]),
        first[end + 4..].to_owned(),
    ] {
        let new = merged(Some(&slip), &wanted(&later).note);
        assert!(new.text.contains("something new"), "{}", new.text);
        let keys = |text: &str| text.matches("episode_uuid: ").count();
        assert_eq!(keys(&new.text), keys(&slip), "{}", new.text);
        let unmarked = |text: &str| text.lines().find(|line| !line.starts_with("<!-- baton:note")).map(str::to_owned);
        assert_eq!(unmarked(&new.text), unmarked(&slip), "nothing stands before it");
        assert!(verify::header_defect(&new.text).is_some(), "{}", new.text);
    }
}

#[test]
fn spaces_beside_a_marker_make_nothing_of_it() {
    let first = text(None, &wanted(&facts()).note);
    let spaced: String = first
        .lines()
        .map(|line| if line.starts_with("<!-- ") { format!(" {line}  \n") } else { format!("{line}\n") })
        .collect();
    let same = merge(Some(&spaced), &wanted(&facts()).note);
    assert_eq!((same.text.as_str(), same.changed, same.conflicts), (spaced.as_str(), false, 0));
}

#[test]
fn a_frontmatter_that_is_not_understood_is_left() {
    let odd = "---\n: : [\nkey without end\n---\n\n## Open\n";
    let mut wanted = whole(&["- a"]);
    wanted.header.push(Field::text("type", "session", When::Once));
    let new = merged(Some(odd), &wanted);
    assert!(new.text.starts_with("---\n: : [\nkey without end\n---\n<!-- baton:note"), "{}", new.text);
    assert_eq!(new.conflicts, 1);
    // A horizontal rule is not frontmatter.
    let rule = "---\nText without an end of a frontmatter\n";
    assert!(text(Some(rule), &wanted).contains("---\nText without an end of a frontmatter\n"));
}

#[test]
fn a_title_is_the_persons_once_they_have_changed_it() {
    let title = |title: &str| Note {
        header: Vec::new(),
        sections: vec![Section { key: "title", heading: "", body: Body::Sole(vec![format!("# {title}")]) }],
    };
    let first = text(None, &title("One"));
    assert_eq!(seen(&text(Some(&first), &title("Two"))), ["# Two"]);
    let edited = first.replace("# One", "# Mine");
    assert_eq!(seen(&text(Some(&edited), &title("Two"))), ["# Mine"]);
    assert_eq!(seen(&text(Some("# Theirs\n\ntext\n"), &title("Two"))), ["# Theirs", "text"]);
}

#[test]
fn a_note_says_which_session_or_entity_it_is_of() {
    let note = text(None, &wanted(&facts()).note);
    let identity = session::identity(&note).unwrap();
    assert_eq!(identity.session_ids, ["7acd37a8-2745-4b58-a8a9-46164b22ad9e"]);
    assert_eq!(identity.episode_uuid.as_deref(), Some("00000000-0000-0000-0000-000000000009"));
    assert_eq!((identity.status, identity.created), (session::Status::Active, Some(day("2026-03-14"))));
    // The sessions that it continues come before its own.
    let mut later = facts();
    later.about.others = ["s-1", "s-2"].map(|id| baton_conversation::record::SessionId::new(id).unwrap()).to_vec();
    let own = "7acd37a8-2745-4b58-a8a9-46164b22ad9e";
    let continued = text(Some(&note), &wanted(&later).note);
    let identity = session::identity(&continued).unwrap();
    assert_eq!((identity.session_ids, identity.own), (vec!["s-1".into(), "s-2".into(), own.into()], Some(own.into())));
    assert!(identity.is_sure);
    let respelled = continued.replace("\n  - s-1\n  - s-2\n  - \"7acd", "\n- 's-1'\n- \"s-2\"\n- \"7acd");
    assert_ne!(respelled, continued);
    assert!(session::identity(&respelled).unwrap().is_sure);
    for theirs in [continued.replace("  - s-2\n", ""), continued.replace("<!-- baton:note", "<!-- note")] {
        assert_ne!(theirs, continued);
        assert!(!session::identity(&theirs).unwrap().is_sure);
    }
    assert_eq!(session::identity("---\ntype: other\n---\n"), None);
    assert_eq!(session::identity("no frontmatter"), None);
    let entities = knowledge::entity_notes(&facts(), &layout(), day("2026-03-14"));
    let named: Vec<_> = entities.iter().map(|wanted| knowledge::entity(&text(None, &wanted.note)).unwrap()).collect();
    let kinds: Vec<_> = named.iter().map(|entity| (entity.kind.as_str(), entity.name.as_str())).collect();
    assert_eq!(kinds, [("Project", "shop"), ("File", "src/auth.rs")]);
}

#[test]
fn prompts_that_are_not_known_any_more_stay_in_the_log() {
    use crate::facts::{MAX_PROMPTS, Statement};

    let all: Vec<Statement> = (0..MAX_PROMPTS as i64 + 30)
        .map(|number| Statement {
            at: Some(at("2026-03-14T09:30:00Z").plus_ms(number * 20_000)),
            ..said(&format!("step {number}"))
        })
        .collect();
    let of = |prompts: &[Statement]| {
        let mut facts = facts();
        facts.prompts = prompts.to_vec();
        facts.has_all_prompts = prompts.len() < MAX_PROMPTS;
        wanted(&facts).note
    };
    let mut text = merge(None, &of(&all[..10])).text;
    // The session continues, and of very many prompts only the last ones are known.
    for end in [100, MAX_PROMPTS, MAX_PROMPTS + 10, MAX_PROMPTS + 30] {
        let merged = merge(Some(&text), &of(&all[end.saturating_sub(MAX_PROMPTS)..end]));
        text = merged.text;
        assert_eq!(merged.conflicts, 0);
        let steps: Vec<&str> =
            text.lines().filter_map(|line| line.split_once(" step ").map(|(_, step)| step)).collect();
        let expected: Vec<String> = (0..end).map(|number| number.to_string()).collect();
        assert_eq!(steps, expected);
    }
    assert!(!merge(Some(&text), &of(&all[30..])).changed, "once more");
    // Of an abridged conversation beginning and end are known, and what was between them is kept.
    let mut giant = facts();
    giant.prompts = [&all[..5], &all[MAX_PROMPTS..]].concat();
    giant.has_all_prompts = false;
    let kept = merge(Some(&text), &wanted(&giant).note).text;
    assert_eq!(kept.matches(" step ").count(), all.len());
    // Prompts are no longer to be shown.
    giant.prompts.clear();
    assert_eq!(merge(Some(&kept), &wanted(&giant).note).text.matches(" step ").count(), 0);
    // If all prompts are known, any other entry was withdrawn.
    let fewer = merge(Some(&text), &of(&all[..3])).text;
    assert_eq!(fewer.matches(" step ").count(), 3);
}
