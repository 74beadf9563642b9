//! Compaction of a note: what the note knows goes into the notes of entities, and a copy of it into the archive.
//! Nothing is ever deleted; an interrupted compaction is repeated and has the same result.

use std::time::Instant;

use baton_conversation::hash::Mark;
use baton_conversation::record::SessionId;
use baton_notes::compaction::{active, archived, failed, is_same, marked, plan, unverified};
use baton_notes::facts::SessionFacts;
use baton_notes::layout::Place as Lies;
use baton_notes::note::{Body, Wanted};
use baton_notes::session;
use baton_notes::threshold::Measure;
use baton_notes::{Day, Merged, forget};

use super::open_vault::{Open, Written};
use super::register::Entry;
use super::vault_fs::{Error, Refused};

/// Most archive copies of one session's note, each of another end.
const COPIES: u32 = 1_000;

/// The result of compacting a note.
#[derive(Clone, Debug, Default)]
pub(super) struct Compacted {
    pub(super) note: String,
    pub(super) archive: String,
    pub(super) lines: u64,
    pub(super) days: u64,
    pub(super) reason: &'static str,
    /// Updated notes, each with the number of lines added.
    pub(super) updated: Vec<(String, u64)>,
    pub(super) error: Option<String>,
    pub(super) duration_ms: u64,
}

/// The reason of a compaction on request, when no threshold is exceeded.
const ASKED: &str = "asked";

/// Names the thresholds that a note exceeds.
pub(super) fn reason(measure: &Measure) -> &'static str {
    match (measure.is_long, measure.is_old) {
        (true, true) => "lines and days",
        (true, false) => "lines",
        (false, true) => "days",
        (false, false) => ASKED,
    }
}

/// Describes what compacting a note would do, without doing it.
pub(super) fn preview(
    open: &Open,
    told: &SessionFacts,
    path: &str,
    measure: &Measure,
    reason: &'static str,
    today: Day,
) -> Compacted {
    let plan = plan(told, &open.layout, today);
    Compacted {
        note: path.to_owned(),
        archive: plan.archive,
        lines: measure.lines,
        days: measure.days,
        reason,
        updated: plan
            .updates
            .iter()
            .map(|wanted| (wanted.path.clone(), lines(wanted)))
            .filter(|(_, it)| *it > 0)
            .collect(),
        ..Compacted::default()
    }
}

fn lines(wanted: &Wanted) -> u64 {
    let added = wanted.note.sections.iter().map(|section| match &section.body {
        Body::Added(lines) => lines.len() as u64,
        _ => 0,
    });
    added.sum()
}

/// Why a note was not compacted.
enum Stopped {
    Refused(Refused),
    /// A file could not be written; the note's head says so.
    Failed(String),
    /// The archive copy does not read back as it was written.
    Unverified,
}

impl Stopped {
    /// Converts the error of a file, given its path.
    fn at(path: &str) -> impl Fn(Error) -> Self {
        move |error| match error {
            Error::Vault(refused) => Self::Refused(refused),
            Error::Left(_) | Error::Changed => Self::Failed(format!("{path}: {error}")),
        }
    }
}

/// Compacts a note whose names have been chosen. A failure is recorded in the head of the note itself, for a person and
/// for the next sweep.
pub(super) fn carry_out(
    open: &mut Open,
    told: &SessionFacts,
    path: &str,
    measure: &Measure,
    reason: &'static str,
    today: Day,
) -> Result<Compacted, Refused> {
    let begun = Instant::now();
    let mut compacted = preview(open, told, path, measure, reason, today);
    match steps(open, told, path, &mut compacted, today) {
        Ok(()) => {}
        Err(Stopped::Refused(refused)) => return Err(refused),
        Err(Stopped::Failed(why)) => {
            mark(open, path, &|text| failed(text, &why, today))?;
            compacted.error = Some(why);
        }
        Err(Stopped::Unverified) => {
            mark(open, path, &|text| unverified(text, today))?;
            compacted.error = Some(baton_notes::compaction::UNVERIFIED.to_owned());
        }
    }
    compacted.duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    match &compacted.error {
        None => tracing::info!(
            session = %told.about.session,
            %reason,
            lines = compacted.lines,
            days = compacted.days,
            entities = compacted.updated.len(),
            duration_ms = compacted.duration_ms,
            "note compacted"
        ),
        Some(_) => tracing::warn!(session = %told.about.session, %reason, "note not compacted; its head says why"),
    }
    Ok(compacted)
}

fn steps(
    open: &mut Open,
    told: &SessionFacts,
    path: &str,
    compacted: &mut Compacted,
    today: Day,
) -> Result<(), Stopped> {
    let plan = plan(told, &open.layout, today);
    put(open, &plan.updates)?;
    let text = open
        .text(path)
        .map_err(Stopped::at(path))?
        .ok_or_else(|| Stopped::Failed("the note is not there any more".to_owned()))?;
    let reason = if compacted.reason == ASKED { session::ON_REQUEST } else { session::OVER_THRESHOLD };
    let copy = archived(&text, today, reason);
    compacted.archive = keep(open, &told.about.session, &plan.archive, &copy)?;
    put(open, &plan.backlinks)?;
    // The copy must be durable before the original claims that it exists. For a group of sessions this is not ensured
    // here: `missing` restores a lost copy when the note is next written.
    if open.held_back.is_none() {
        open.place.settle().map_err(Stopped::Refused)?;
    }
    mark(open, path, &|text| marked(text, today, reason)).map_err(Stopped::Refused)
}

/// Removes a recorded compaction failure from a note that no longer needs compaction.
pub(super) fn clear(open: &mut Open, path: &str) -> Result<(), Refused> {
    mark(open, path, &active)
}

/// Restores the archive copy of a note whose head says that it is archived, if a power cut has lost the copy. A note
/// that a person has renamed is left alone.
pub(super) fn missing(open: &mut Open, told: &SessionFacts, path: &str, today: Day) -> Result<(), Refused> {
    let archive = plan(told, &open.layout, today).archive;
    let mut kept = || -> Result<(), Stopped> {
        if open.text(&archive).map_err(Stopped::at(&archive))?.is_none()
            && let Some(text) = open.text(path).map_err(Stopped::at(path))?
            && let Some(reason) = session::identity(&text).and_then(|identity| identity.compacted)
        {
            keep(open, &told.about.session, &archive, &archived(&text, today, reason))?;
        }
        Ok(())
    };
    match kept() {
        Err(Stopped::Refused(refused)) => Err(refused),
        // The session's next end tries again.
        Ok(()) | Err(Stopped::Failed(_) | Stopped::Unverified) => Ok(()),
    }
}

/// Restores lines of this session in notes shared by all projects, which were removed together with a forgotten session
/// whose note had the same name. `text` is this session's note. If they cannot be written now, `entry.left` is set so
/// that it is tried again.
pub(super) fn put_back(
    open: &mut Open,
    told: &SessionFacts,
    text: &str,
    entry: &mut Entry,
    today: Day,
) -> Result<(), Refused> {
    let is_compacted = || session::identity(text).is_some_and(|identity| identity.compacted.is_some());
    // A note that was never compacted has no lines there.
    if entry.lacks && is_compacted() {
        match put(open, &plan(told, &open.layout, today).updates) {
            Ok(()) => {}
            Err(Stopped::Refused(refused)) => return Err(refused),
            Err(Stopped::Failed(why)) => {
                entry.left.get_or_insert(why);
                return Ok(());
            }
            Err(Stopped::Unverified) => return Ok(()),
        }
    }
    entry.lacks = false;
    Ok(())
}

/// Renames archive copies that have the same name as their note, unless a person has edited them.
pub(super) fn name_copies(open: &mut Open) -> Result<(), Refused> {
    let copies = open.index()?.copies_before();
    if copies.is_empty() {
        return Ok(());
    }
    let turn = open.place.turn()?;
    for before in copies {
        match name_copy(open, &before) {
            Ok(()) => {}
            Err(Error::Vault(refused)) => return Err(refused),
            Err(Error::Left(_) | Error::Changed) => tracing::debug!("archive copy keeps its name"),
        }
    }
    drop(turn);
    open.look_again()
}

fn name_copy(open: &Open, before: &str) -> Result<(), Error> {
    let Some(Lies::Archived(project, name)) = open.layout.place(before) else { return Ok(()) };
    let found = open.place.read(before)?;
    let Some(text) = found.text.as_deref().filter(|text| forget::is_own(text)) else { return Ok(()) };
    let path = open.layout.path(&Lies::Archived(project, name));
    let to = open.place.read(&path)?;
    match to.text.as_deref() {
        None => drop(open.place.write(&to, text)?),
        // A process killed here earlier has written the new file and not yet removed the old one.
        Some(there) if there == text => {}
        Some(_) => return Ok(()),
    }
    open.place.settle()?;
    if open.place.read(&path)?.text.as_deref() == Some(text) {
        open.place.remove(&found)?;
    }
    open.place.settle()?;
    Ok(())
}

/// Writes notes; stops at the first file that cannot be written.
fn put(open: &mut Open, wanted: &[Wanted]) -> Result<(), Stopped> {
    let mut written = Written::default();
    open.put(wanted, &mut written).map_err(Stopped::Refused)?;
    match written.left.into_iter().next() {
        Some((path, why)) => Err(Stopped::Failed(format!("{path}: {why}"))),
        None => Ok(()),
    }
}

/// Writes an archive copy, reads it back, and compares it byte for byte. Chooses another name where another note lies,
/// or a copy that a person has edited. Returns the path.
fn keep(open: &mut Open, id: &SessionId, archive: &str, copy: &str) -> Result<String, Stopped> {
    let known = open.register.get(id).and_then(|entry| entry.copy.clone());
    // Text that a person wrote in the note and has removed since survives in this copy alone.
    let is_as_written =
        |text: &str| forget::is_own(text) || (known.as_deref() == Some(&print(text)) && forget::is_told_in(text, copy));
    let stem = archive.strip_suffix(".md").unwrap_or(archive);
    let names = std::iter::once(archive.to_owned()).chain((2..COPIES).map(|number| format!("{stem}-{number}.md")));
    for path in names {
        let found = open.place.read(&path).map_err(Stopped::at(&path))?;
        match &found.text {
            Some(there) if is_same(there, copy) => return Ok(path),
            // An earlier copy of this note, unedited since.
            Some(there) if is_of(there, copy) && is_as_written(there) => {}
            Some(_) => continue,
            None => {}
        }
        let stamp = match open.place.write(&found, copy) {
            Err(Error::Changed) => continue,
            written => written.map_err(Stopped::at(&path))?,
        };
        let is_whole = open.place.read(&path).map_err(Stopped::at(&path))?.text.as_deref() == Some(copy);
        if !is_whole {
            return Err(Stopped::Unverified);
        }
        open.names();
        open.take_in(&path, copy, found.seen, stamp);
        let entry = open.register.get(id).cloned().unwrap_or_default();
        open.register.put(id, Entry { copy: Some(print(copy)), ..entry });
        return Ok(path);
    }
    Err(Stopped::Failed(format!("{archive} has {COPIES} copies already")))
}

/// Fingerprint of an archive copy, by which an unedited one is recognised.
fn print(text: &str) -> String {
    Mark::digest(text.as_bytes()).to_string()
}

/// True if both notes belong to the same session.
fn is_of(there: &str, copy: &str) -> bool {
    let own = |text| session::identity(text).and_then(|identity| identity.own);
    own(copy).is_some_and(|id| own(there) == Some(id))
}

/// Changes the head of a note. A note that cannot be written is left alone.
fn mark(open: &mut Open, path: &str, with: &dyn Fn(&str) -> Merged) -> Result<(), Refused> {
    let marked = open.edit(path, &mut |text| {
        let merged = with(text?);
        merged.changed.then_some(merged.text)
    });
    match marked {
        Err(Error::Vault(refused)) => Err(refused),
        Err(_) => {
            tracing::warn!("head of a note not changed: somebody is writing it, or it is no longer a note");
            Ok(())
        }
        Ok(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use baton_conversation::record::Timestamp;
    use baton_episode::digest::{Episode, Pointed};
    use baton_graph::Graph;
    use baton_notes::facts::{About, Statement};
    use baton_notes::merge;

    use super::*;
    use crate::register::Register;
    use baton_config::settings;

    #[test]
    fn a_threshold_is_named() {
        let measure = |is_long, is_old| Measure { lines: 1, days: 1, is_long, is_old };
        for (long, old, named) in
            [(true, true, "lines and days"), (true, false, "lines"), (false, true, "days"), (false, false, "asked")]
        {
            assert_eq!(reason(&measure(long, old)), named);
        }
    }

    /// Returns an empty vault and the facts of a session.
    fn a_session() -> (tempfile::TempDir, Open, SessionFacts) {
        let home = tempfile::tempdir().unwrap();
        let settings = settings::Vault::default();
        let register = Register::open(home.path(), &settings).unwrap();
        let mut open = Open::new(settings, home.path(), register).unwrap();
        open.look(false).unwrap();
        let about = About {
            session: SessionId::new("s-1").unwrap(),
            others: Vec::new(),
            episode: None,
            project: "web".to_owned(),
            note: "2026-03-14-cache".to_owned(),
            started: Timestamp::parse("2026-03-14T09:00:00Z").unwrap(),
            ended: Timestamp::parse("2026-03-14T10:00:00Z"),
        };
        let prompt = Pointed { text: "Mend the cache".to_owned(), line: 1, at: None };
        let episode = Episode { title: "Cache".to_owned(), prompts: vec![prompt], ..Episode::default() };
        (home, open, SessionFacts::new(about, None, &episode, &Graph::default()))
    }

    #[test]
    fn what_cannot_be_put_back_now_stays_lacking_and_is_tried_again() {
        let today = Day::parse("2026-03-20").unwrap();
        let (_home, mut open, mut told) = a_session();
        let wish = Statement { text: "Always use tabs".to_owned(), resolution: None, at: None, about: Vec::new() };
        told.preferences.push(wish);
        let text = merge(None, &session::wanted(&told, &open.layout, today).note).text;
        let mut entry = Entry { lacks: true, ..Entry::default() };
        put_back(&mut open, &told, &text, &mut entry, today).unwrap();
        assert!(!entry.lacks && open.place.all().unwrap().0.is_empty(), "it never wrote there");

        let compacted = archived(&text, today, session::OVER_THRESHOLD);
        let preferences = open.place.vault().join("claude/preferences.md");
        std::fs::create_dir_all(preferences.parent().unwrap()).unwrap();
        std::fs::write(&preferences, b"\xff").unwrap();
        let mut entry = Entry { lacks: true, ..Entry::default() };
        put_back(&mut open, &told, &compacted, &mut entry, today).unwrap();
        assert!(entry.lacks && entry.left.as_deref().is_some_and(|why| why.contains("no UTF-8")), "{entry:?}");
        std::fs::remove_file(&preferences).unwrap();
        put_back(&mut open, &told, &compacted, &mut entry, today).unwrap();
        assert!(!entry.lacks && std::fs::read_to_string(&preferences).unwrap().contains("Always use tabs"));
    }

    #[test]
    fn a_copy_that_is_not_what_was_written_leaves_the_note_active() {
        let today = Day::parse("2026-03-20").unwrap();
        let (_home, mut open, told) = a_session();
        let wanted = session::wanted(&told, &open.layout, today);
        let found = open.place.read(&wanted.path).unwrap();
        open.place.write(&found, &merge(None, &wanted.note).text).unwrap();
        let measure = Measure { lines: 40, days: 6, is_long: false, is_old: true };
        let compact =
            |open: &mut Open| carry_out(open, &told, &wanted.path, &measure, reason(&measure), today).unwrap();

        open.place.garbles = true;
        let compacted = compact(&mut open);
        assert_eq!(compacted.error.as_deref(), Some("Verification failed"));
        let note = open.text(&wanted.path).unwrap().unwrap();
        assert!(note.contains("status: active") && note.contains("archive_error: Verification failed"), "{note}");

        // Next time it reads back as it was written; that copy is already there.
        open.place.garbles = false;
        let compacted = compact(&mut open);
        assert_eq!(compacted.error, None);
        let note = open.text(&wanted.path).unwrap().unwrap();
        assert!(note.contains("status: archived") && !note.contains("archive_error"), "{note}");
        let (all, _) = open.place.all().unwrap();
        assert!(all.contains(&compacted.archive), "{all:?}");
        assert_eq!(compact(&mut open).archive, compacted.archive, "once is enough");

        // A person edits the note: the copy contains the edit, and only the newest copy is kept.
        let append = |open: &mut Open, path: &str, words: &str| {
            let found = open.place.read(path).unwrap();
            let text = format!("{}\n{words}\n", found.text.as_deref().unwrap());
            open.place.write(&found, &text).unwrap();
        };
        for words in ["My own line.", "And one more."] {
            append(&mut open, &wanted.path, words);
            let again = compact(&mut open);
            assert_eq!(again.archive, compacted.archive, "{words}");
            assert!(open.text(&again.archive).unwrap().unwrap().contains(words));
        }
        // A copy that a person has edited is kept.
        append(&mut open, &compacted.archive, "In the copy.");
        append(&mut open, &wanted.path, "The third.");
        let beside = compact(&mut open).archive;
        assert_ne!(beside, compacted.archive);
        assert!(open.text(&compacted.archive).unwrap().unwrap().contains("In the copy."));
        append(&mut open, &wanted.path, "The fourth.");
        assert_eq!(compact(&mut open).archive, beside);
        // A copy is kept as well if it has text that was removed from the note.
        let found = open.place.read(&wanted.path).unwrap();
        let text = found.text.as_deref().unwrap().replace("The fourth.", "");
        open.place.write(&found, &text).unwrap();
        let after = compact(&mut open).archive;
        assert_ne!(after, beside);
        assert!(open.text(&beside).unwrap().unwrap().contains("The fourth."));
    }
}
