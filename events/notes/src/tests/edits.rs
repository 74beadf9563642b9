//! Whatever a person does to a note, nothing that they wrote is lost.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::sample::{at, day, facts, said, wanted};
use crate::block::written_in_text;
use crate::facts::Statement;
use crate::header::Document;
use crate::{SessionFacts, compaction, conflicts, merge, session};

/// One edit of a text.
#[derive(Clone, Debug)]
enum Edit {
    /// Inserts a line before a line.
    Insert(usize, String),
    /// Appends text to a line.
    Append(usize, String),
    /// Deletes a line.
    Remove(usize),
    /// Moves a line.
    Move(usize, usize),
    /// Duplicates a line.
    Double(usize),
    /// Converts all line ends to those of Windows.
    Carriage,
    /// Removes the end of the last line.
    Bare,
}

fn edit() -> impl Strategy<Value = Edit> {
    let line = prop_oneof![
        "[a-z#>\\-`\\[ ]{0,12}",
        Just("## Open".to_owned()),
        Just("---".to_owned()),
        Just("```".to_owned()),
        Just("<!-- /baton:open -->".to_owned()),
        Just("<!-- baton:goal 0123456789abcdef -->".to_owned()),
        Just("status: mine".to_owned()),
    ];
    prop_oneof![
        3 => (any::<usize>(), line.clone()).prop_map(|(at, text)| Edit::Insert(at, text)),
        3 => (any::<usize>(), "[a-z ]{1,5}").prop_map(|(at, text)| Edit::Append(at, text)),
        2 => any::<usize>().prop_map(Edit::Remove),
        1 => (any::<usize>(), any::<usize>()).prop_map(|(from, to)| Edit::Move(from, to)),
        1 => any::<usize>().prop_map(Edit::Double),
        1 => Just(Edit::Carriage),
        1 => Just(Edit::Bare),
    ]
}

fn edited(text: &str, edits: &[Edit]) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    for edit in edits {
        let at = |at: usize, len: usize| if len == 0 { 0 } else { at % len };
        let len = lines.len();
        match edit {
            Edit::Insert(place, text) => lines.insert(at(*place, len + 1), format!("mine {text}\n")),
            Edit::Append(place, text) if len > 0 => {
                let line = &mut lines[at(*place, len)];
                let end = line.trim_end_matches(['\r', '\n']).len();
                line.insert_str(end, text);
            }
            Edit::Remove(place) if len > 0 => drop(lines.remove(at(*place, len))),
            Edit::Move(from, to) if len > 1 => {
                let line = lines.remove(at(*from, len));
                lines.insert(at(*to, len - 1), line);
            }
            Edit::Double(place) if len > 0 => lines.insert(at(*place, len), lines[at(*place, len)].clone()),
            Edit::Carriage => {
                lines.iter_mut().for_each(|line| *line = line.replace("\r\n", "\n").replace('\n', "\r\n"));
            }
            Edit::Bare => {
                if let Some(last) = lines.last_mut() {
                    last.truncate(last.trim_end_matches(['\r', '\n']).len());
                }
            }
            _ => {}
        }
    }
    lines.concat()
}

/// The session after it has continued and ended again.
fn later(round: usize) -> SessionFacts {
    let mut facts = facts();
    facts.decisions.push(said(&format!("decision {round}")));
    facts.open = vec![said(&format!("open {round}"))];
    facts.prompts.push(Statement { at: Some(at("2026-03-14T11:00:00Z")), ..said(&format!("prompt {round}")) });
    facts.about.ended = Some(at("2026-03-14T12:00:00Z").plus_ms(i64::try_from(round).unwrap() * 60_000));
    facts
}

/// Entries of any section.
fn entries(text: &str) -> BTreeSet<String> {
    text.lines().filter(|line| line.starts_with("- ")).map(|line| line.trim_end().to_owned()).collect()
}

/// Lines that a person inserted.
fn theirs(text: &str) -> Vec<&str> {
    text.lines().map(|line| line.trim_end_matches('\r')).filter(|line| line.contains("mine ")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_line_that_a_person_wrote_is_lost(rounds in prop::collection::vec(prop::collection::vec(edit(), 0..6), 1..4)) {
        let mut text = merge(None, &wanted(&facts()).note).text;
        let mut thrown_out = BTreeSet::new();
        for (round, edits) in rounds.iter().enumerate() {
            let mine = edited(&text, edits);
            let merged = merge(Some(&mine), &wanted(&later(round)).note);
            let marker = |text| written_in_text(Document::parse(text).rest);
            match marker(&mine) == marker(&text) {
                true => thrown_out.extend(entries(&text).difference(&entries(&mine)).cloned()),
                // The marker was edited, so it is unknown what was written before.
                false => thrown_out.clear(),
            }
            thrown_out.retain(|line| !entries(&mine).contains(line));
            let there = entries(&merged.text);
            prop_assert_eq!(there.intersection(&thrown_out).next(), None, "{}\n=>\n{}", mine, merged.text);
            prop_assert_eq!(theirs(&merged.text), theirs(&mine), "{}\n=>\n{}", mine, merged.text);
            prop_assert_eq!(without_own(&mine), kept_of(&mine, &merged.text), "{}\n=>\n{}", mine, merged.text);
            let again = merge(Some(&merged.text), &wanted(&later(round)).note);
            prop_assert_eq!(&again.text, &merged.text);
            prop_assert!(!again.changed);
            let (before, after) = (close_headings(&mine), close_headings(&merged.text));
            prop_assert_eq!(after.difference(&before).next(), None, "{}\n=>\n{}", mine, merged.text);
            prop_assert_eq!(again.conflicts, conflicts(&again.text));
            text = compaction::mark_archived(&merged.text, day("2026-03-20"), session::OVER_THRESHOLD).text;
            prop_assert_eq!(theirs(&text), theirs(&merged.text));
        }
    }

    #[test]
    fn any_text_can_be_merged_into(text in "(---\n)?[ -~\n\r\u{feff}é]{0,120}") {
        let merged = merge(Some(&text), &wanted(&facts()).note);
        let again = merge(Some(&merged.text), &wanted(&facts()).note);
        prop_assert_eq!(&again.text, &merged.text);
        let squeezed = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        let (mine, all) = (squeezed(&text), squeezed(&merged.text));
        let mut rest = all.chars();
        prop_assert!(mine.chars().all(|c| rest.any(|there| there == c)), "{:?} in {:?}", text, merged.text);
    }
}

/// Returns the headings after the head that lack an empty line above, with their text.
fn close_headings(text: &str) -> BTreeSet<(&str, &str)> {
    // The marker of the note changes with every merge.
    let marked = |line: &'_ str| line.starts_with("<!-- baton:note");
    let body = Document::parse(text).rest;
    let lines: Vec<&str> = body.lines().map(|line| if marked(line) { "marker" } else { line.trim_end() }).collect();
    let pairs = lines.windows(2).map(|pair| (pair[0], pair[1]));
    pairs.filter(|(above, line)| line.starts_with("## ") && !above.is_empty()).collect()
}

/// Returns everything but intact blocks, own keys and markers, line by line.
fn without_own(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let blocks = crate::block::Blocks::parse(&lines);
    let is_own = |at: usize| {
        let within = |block: &&crate::block::Block| block.is_intact && (block.open..=block.close).contains(&at);
        blocks.found.iter().find(within).is_some()
    };
    let head = Document::parse(text).head_text().lines().count();
    let bare = |line: &str| line.trim_end_matches(['\r', '\n']).to_owned();
    let kept = (head..lines.len()).filter(|at| !is_own(*at)).map(|at| bare(lines[at]));
    kept.filter(|line| !line.starts_with("<!-- baton:note") && !line.trim().is_empty()).collect()
}

/// Returns the lines that were a person's before and are still there, in order.
fn kept_of(before: &str, after: &str) -> Vec<String> {
    let mut there = after.lines().map(|line| line.trim_end_matches('\r').to_owned());
    without_own(before).into_iter().filter(|line| there.any(|other| other == *line)).collect()
}
