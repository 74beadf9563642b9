//! What a session's note comes to when it is compacted: dated lines in the notes of entities, topics and preferences, a copy
//! in the archive, and links back. The original stays, marked.
//!
//! ```text
//! measure is over ─► plan.updates merged ─► copy written, read back ─► plan.backlinks merged ─► original marked
//!                        │ failed                    │ differs
//!                        └► failed(text, error)      └► unverified(text)
//! ```

use super::knowledge::{self, Lines, dated, of_entity, of_preferences, of_topic, words};
use super::layout::{Layout, Place};
use super::note::{Field, Line, Note, Wanted, When};
use super::session::OVER_THRESHOLD;
use super::told::{Said, Topic};
use super::{Day, Merged, Told, markdown, merge, start};

/// What is said where the copy could not be read back.
pub const UNVERIFIED: &str = "Verification failed";
/// Longest error in a note, in characters.
const ERROR_CHARS: usize = 300;

/// Everything that compacting a note writes into others, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What was learned, in the notes that it belongs to.
    pub updates: Vec<Wanted>,
    /// Where the copy goes, below the vault; where another note lies there already, see [`is_same`].
    pub archive: String,
    /// Links back from every note of an entity or topic that was updated, once the copy is verified.
    pub backlinks: Vec<Wanted>,
    /// Dated lines in all.
    pub lines: usize,
}

/// What compacting comes to. It is the same however often it is asked for.
pub fn plan(told: &Told, layout: &Layout, today: Day) -> Plan {
    let about = &told.about;
    let mut all: Vec<Lines> = told.entities.iter().map(|_| Lines::default()).collect();
    let mut put = |said: &Said, pick: fn(&mut Lines) -> &mut Vec<Line>| {
        let line = dated(told.dated(said), &words(said), &about.note);
        for at in &said.about {
            if let Some(lines) = all.get_mut(*at) {
                pick(lines).push(line.clone());
            }
        }
    };
    told.decisions.iter().for_each(|said| put(said, |lines| &mut lines.decisions));
    told.errors.iter().for_each(|said| put(said, |lines| &mut lines.gotchas));
    let of_project = |said: &Said| Said { about: vec![0], ..said.clone() };
    told.references.iter().for_each(|said| put(&of_project(said), |lines| &mut lines.references));
    let lines = |lines: &Lines| lines.decisions.len() + lines.gotchas.len() + lines.references.len();
    let mut count: usize = all.iter().map(lines).sum();

    let mut updates: Vec<Wanted> = Vec::new();
    for (entity, lines) in told.entities.iter().zip(all).filter(|(entity, _)| entity.is_noted) {
        updates.push(of_entity(told, entity, lines, layout, today));
    }
    let linked = |path: &String| backlink(path, &about.note, today);
    let mut backlinks: Vec<Wanted> = updates.iter().map(|wanted| linked(&wanted.path)).collect();
    let mut leads = Vec::new();
    for topic in [Topic::FailedApproaches, Topic::Conventions] {
        let said: Vec<&Said> = told.patterns.iter().filter(|(of, _)| *of == topic).map(|(_, said)| said).collect();
        if said.is_empty() {
            continue;
        }
        count += said.len();
        let wanted = of_topic(told, topic, &said, layout, today);
        backlinks.push(linked(&wanted.path));
        updates.push(wanted);
        let place = Place::Topic(about.project.clone(), topic.as_str().to_owned());
        leads.extend(start::leading_to(&place, topic.as_str(), layout, today));
    }
    if !told.preferences.is_empty() {
        count += told.preferences.len();
        updates.push(of_preferences(told, layout, today));
        leads.extend(start::leading_to(&Place::Preferences, "Preferences", layout, today));
    }
    updates.extend(leads);
    let archive = layout.path(&Place::Archived(about.project.clone(), about.note.clone()));
    Plan { updates, archive, backlinks, lines: count }
}

fn backlink(path: &str, session: &str, today: Day) -> Wanted {
    let (key, heading) = knowledge::ENTITY_SECTIONS[3];
    let line = Line::alone(format!("- [[{session}]] - Archived session (compacted)"));
    let header = vec![
        Field::text("updated", today.to_string(), When::Touched),
        Field::text("claude_last_accessed", today.to_string(), When::Touched),
    ];
    let section = super::Section { key, heading, body: super::Body::Added(vec![line]) };
    Wanted { path: path.to_owned(), note: Note { header, sections: vec![section] } }
}

/// The copy for the archive of a note as it lies there; `reason` is [`OVER_THRESHOLD`] or
/// [`ON_REQUEST`](super::session::ON_REQUEST).
pub fn archived(text: &str, today: Day, reason: &str) -> String {
    set(text, archive_fields(today, reason, When::Forced)).text
}

/// The original after its copy was verified: it stays, and says so; what went wrong before is gone.
pub fn marked(text: &str, today: Day, reason: &str) -> Merged {
    set(text, archive_fields(today, reason, When::Always))
}

/// Whether a note in the archive is this copy: all but the dates on which it was made, and why.
pub fn is_same(there: &str, copy: &str) -> bool {
    let same_day =
        Day::parse("2000-01-01").map(|day| (archived(there, day, OVER_THRESHOLD), archived(copy, day, OVER_THRESHOLD)));
    same_day.is_some_and(|(there, copy)| there == copy)
}

/// The original after compacting has failed: it stays active for the next try.
pub fn failed(text: &str, error: &str, today: Day) -> Merged {
    set(
        text,
        vec![
            Field::text("status", "compaction_failed", When::Always),
            Field::text("updated", today.to_string(), When::Touched),
            Field::text("error", markdown::property(error, ERROR_CHARS), When::Always),
            Field::gone("archive_error"),
        ],
    )
}

/// The original after its copy could not be read back as it was written.
pub fn unverified(text: &str, today: Day) -> Merged {
    set(
        text,
        vec![
            Field::text("status", "active", When::Always),
            Field::text("updated", today.to_string(), When::Touched),
            Field::text("archive_error", UNVERIFIED, When::Always),
            Field::gone("error"),
        ],
    )
}

/// The original when it turns out to be below the thresholds after all: whatever went wrong is gone.
pub fn active(text: &str) -> Merged {
    let fields =
        vec![Field::text("status", "active", When::Always), Field::gone("error"), Field::gone("archive_error")];
    set(text, fields)
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

fn set(text: &str, header: Vec<Field>) -> Merged {
    merge(Some(text), &Note { header, sections: Vec::new() })
}
