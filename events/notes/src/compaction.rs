//! The notes that compacting a session's note writes: dated lines in the notes of entities, topics and preferences, a
//! copy in the archive, and links back. The original is kept and marked.
//!
//! ```text
//! measure is over ─► plan.updates merged ─► copy written, read back ─► plan.backlinks merged ─► original marked
//!                        │ failed                    │ differs
//!                        └► failed(text, error)      └► unverified(text)
//! ```

use super::facts::{Statement, Topic};
use super::knowledge::{self, Lines, dated_line, entity_note, preferences_note, statement_text, topic_note};
use super::layout::{Layout, NoteRole};
use super::note::{Field, Line, Note, Section, Wanted, When};
use super::session::OVER_THRESHOLD;
use super::{Day, Merged, SessionFacts, markdown, merge, start};

/// Value of `archive_error` if the copy could not be read back.
pub const UNVERIFIED: &str = "Verification failed";
/// Maximum length of an error in a note, in characters.
const ERROR_CHARS: usize = 300;

/// Everything that compacting a note writes into other notes, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The lessons of the session, in the notes that they belong to.
    pub updates: Vec<Wanted>,
    /// Path of the copy below the vault; if another note is there already, see [`is_same`].
    pub archive: String,
    /// Links back from every updated note of an entity or topic, written once the copy is verified.
    pub backlinks: Vec<Wanted>,
    /// Number of dated lines.
    pub lines: usize,
}

/// Plans the compaction; idempotent.
pub fn plan(facts: &SessionFacts, layout: &Layout, today: Day) -> Plan {
    let about = &facts.about;
    let mut all: Vec<Lines> = facts.entities.iter().map(|_| Lines::default()).collect();
    let mut put = |said: &Statement, pick: fn(&mut Lines) -> &mut Vec<Line>| {
        let line = dated_line(facts.day_of(said), &statement_text(said), &about.note);
        for at in &said.about {
            if let Some(lines) = all.get_mut(*at) {
                pick(lines).push(line.clone());
            }
        }
    };
    facts.decisions.iter().for_each(|said| put(said, |lines| &mut lines.decisions));
    facts.errors.iter().for_each(|said| put(said, |lines| &mut lines.gotchas));
    let of_project = |said: &Statement| Statement { about: vec![0], ..said.clone() };
    facts.references.iter().for_each(|said| put(&of_project(said), |lines| &mut lines.references));
    let lines = |lines: &Lines| lines.decisions.len() + lines.gotchas.len() + lines.references.len();
    let mut count: usize = all.iter().map(lines).sum();

    let mut updates: Vec<Wanted> = Vec::new();
    for (entity, lines) in facts.entities.iter().zip(all).filter(|(entity, _)| entity.is_noted) {
        updates.push(entity_note(facts, entity, lines, layout, today));
    }
    let linked = |path: &String| backlink(path, &about.note, today);
    let mut backlinks: Vec<Wanted> = updates.iter().map(|wanted| linked(&wanted.path)).collect();
    let mut leads = Vec::new();
    for topic in [Topic::FailedApproaches, Topic::Conventions] {
        let said: Vec<&Statement> =
            facts.patterns.iter().filter(|(of, _)| *of == topic).map(|(_, said)| said).collect();
        if said.is_empty() {
            continue;
        }
        count += said.len();
        let wanted = topic_note(facts, topic, &said, layout, today);
        backlinks.push(linked(&wanted.path));
        updates.push(wanted);
        let role = NoteRole::Topic(about.project.clone(), topic.as_str().to_owned());
        leads.extend(start::leading_to(&role, topic.as_str(), layout, today));
    }
    if !facts.preferences.is_empty() {
        count += facts.preferences.len();
        updates.push(preferences_note(facts, layout, today));
        leads.extend(start::leading_to(&NoteRole::Preferences, "Preferences", layout, today));
    }
    updates.extend(leads);
    let archive = layout.path(&NoteRole::Archived(about.project.clone(), about.note.clone()));
    Plan { updates, archive, backlinks, lines: count }
}

fn backlink(path: &str, session: &str, today: Day) -> Wanted {
    let (key, heading) = knowledge::ENTITY_SECTIONS[3];
    let line = Line::unsupported(format!("- [[{session}]] - Archived session (compacted)"));
    let header = vec![
        Field::text("updated", today.to_string(), When::Touched),
        Field::text("claude_last_accessed", today.to_string(), When::Touched),
    ];
    let sections = vec![Section::added(key, heading, vec![line])];
    Wanted { path: path.to_owned(), note: Note { header, sections } }
}

/// Returns the archive copy of a note; `reason` is [`OVER_THRESHOLD`] or [`ON_REQUEST`](super::session::ON_REQUEST).
pub fn archive_copy(text: &str, today: Day, reason: &str) -> String {
    with_fields(text, archive_fields(today, reason, When::Forced)).text
}

/// Marks the original as archived after its copy was verified, and clears earlier errors.
pub fn mark_archived(text: &str, today: Day, reason: &str) -> Merged {
    with_fields(text, archive_fields(today, reason, When::Always))
}

/// Returns true if a note in the archive is this copy, apart from its dates and reason.
pub fn is_same(there: &str, copy: &str) -> bool {
    let same_day = Day::parse("2000-01-01")
        .map(|day| (archive_copy(there, day, OVER_THRESHOLD), archive_copy(copy, day, OVER_THRESHOLD)));
    same_day.is_some_and(|(there, copy)| there == copy)
}

/// Marks the original after a failed compaction; it stays in place for the next attempt.
pub fn mark_failed(text: &str, error: &str, today: Day) -> Merged {
    with_fields(
        text,
        vec![
            Field::text("status", "compaction_failed", When::Always),
            Field::text("updated", today.to_string(), When::Touched),
            Field::text("error", markdown::property(error, ERROR_CHARS), When::Always),
            Field::gone("archive_error"),
        ],
    )
}

/// Marks the original after its copy could not be read back as written.
pub fn mark_unverified(text: &str, today: Day) -> Merged {
    with_fields(
        text,
        vec![
            Field::text("status", "active", When::Always),
            Field::text("updated", today.to_string(), When::Touched),
            Field::text("archive_error", UNVERIFIED, When::Always),
            Field::gone("error"),
        ],
    )
}

/// Marks the original as active again if it is below the thresholds after all; clears errors.
pub fn mark_active(text: &str) -> Merged {
    let fields =
        vec![Field::text("status", "active", When::Always), Field::gone("error"), Field::gone("archive_error")];
    with_fields(text, fields)
}

fn archive_fields(today: Day, reason: &str, when: When) -> Vec<Field> {
    let dated = if when == When::Forced { When::Forced } else { When::Touched };
    vec![
        Field::text("status", "archived", when),
        Field::text("updated", today.to_string(), dated),
        Field::text("archived_date", today.to_string(), dated),
        Field::text("archived_reason", reason, when),
        Field::gone("error"),
        Field::gone("archive_error"),
    ]
}

fn with_fields(text: &str, header: Vec<Field>) -> Merged {
    merge(Some(text), &Note { header, sections: Vec::new() })
}
