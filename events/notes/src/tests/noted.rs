//! Which entities have notes.

use super::sample::{day, facts, layout, wanted};
use crate::facts::SessionFacts;
use crate::{Line, compaction, knowledge, merge, start};
use baton_graph::Label;

/// The same session, in which a file was only changed.
fn only_changed() -> SessionFacts {
    let mut facts = facts();
    (facts.entities[1].is_subject, facts.entities[1].is_noted) = (false, false);
    facts
}

/// Returns the path of the file's note among all that a session wants.
fn paths(facts: &SessionFacts) -> Vec<String> {
    let today = day("2026-03-14");
    let plan = compaction::plan(facts, &layout(), today);
    let all = knowledge::entity_notes(facts, &layout(), today).into_iter().chain(plan.updates).chain(plan.backlinks);
    let pages = start::wanted_pages(facts, None, &layout(), today);
    let texts = pages.iter().chain([&wanted(facts)]).map(|wanted| merge(None, &wanted.note).text).collect::<String>();
    let mut paths: Vec<String> = all.map(|wanted| wanted.path).collect();
    paths.extend(texts.contains("entities/src-auth.rs|").then(|| "linked".to_owned()));
    paths.retain(|path| path == "linked" || path.contains("src-auth.rs"));
    paths.dedup();
    paths
}

#[test]
fn what_was_only_changed_has_no_note_and_no_link() {
    let entity = "claude/projects/shop/entities/src-auth.rs.md";
    assert_eq!(paths(&facts()), [entity, "linked"]);
    assert_eq!(paths(&only_changed()), [""; 0]);
    let text = merge(None, &wanted(&only_changed()).note).text;
    assert!(text.contains("- `src/auth.rs` (+12 −3)"), "{text}");
}

#[test]
fn it_has_one_as_soon_as_two_sessions_support_it_or_somebody_has_made_it() {
    let first = only_changed();
    let line = knowledge::deed_line(&first, &first.entities[1]);
    assert_eq!(line.written(), "- 2026-03-14: Changed ([[2026-03-14-refresh-tokens]])");
    let mut second = only_changed();
    second.about.note = "2026-03-15-again".to_owned();
    second.note_entities(|_| false, |_| vec![line.clone()]);
    let notes = knowledge::entity_notes(&second, &layout(), day("2026-03-15"));
    let text = merge(None, &notes[1].note).text;
    let both = "- 2026-03-14: Changed ([[2026-03-14-refresh-tokens]], [[2026-03-15-again]])\n";
    assert!(text.contains(both), "{text}");
    // A session's own note depends only on that session, so that a second run gives the same.
    let own = merge(None, &wanted(&second).note).text;
    assert!(own.contains("- `src/auth.rs` (+12 −3)"), "{own}");
    let mut there = only_changed();
    there.note_entities(|entity| entity.label == Label::File, |_| vec![Line::unsupported("- not asked".to_owned())]);
    assert!(there.entities[1].is_noted && there.entities[1].earlier.is_empty());
}
