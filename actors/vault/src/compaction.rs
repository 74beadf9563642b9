//! Compaction of a note: what the note knows goes into the notes of entities, and a copy of it into the archive.
//! Nothing is ever deleted; an interrupted compaction is repeated and has the same result.

use std::time::Instant;

use baton_conversation::hash::Mark;
use baton_conversation::record::SessionId;
use baton_notes::compaction::{archive_copy, is_same, mark_active, mark_archived, mark_failed, mark_unverified, plan};
use baton_notes::facts::SessionFacts;
use baton_notes::layout::NoteRole;
use baton_notes::note::{Body, Wanted};
use baton_notes::session;
use baton_notes::threshold::Measure;
use baton_notes::{Day, Merged, forget};

use super::open_vault::{OpenVault, Written};
use super::register::Entry;
use super::vault_fs::{Error, Refused, of_file};

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
const ON_REQUEST: &str = "asked";

/// Names the thresholds that a note exceeds.
pub(super) fn reason(measure: &Measure) -> &'static str {
    match (measure.is_long, measure.is_old) {
        (true, true) => "lines and days",
        (true, false) => "lines",
        (false, true) => "days",
        (false, false) => ON_REQUEST,
    }
}

/// Describes what compacting a note would do, without doing it.
pub(super) fn preview(
    open: &OpenVault,
    facts: &SessionFacts,
    path: &str,
    measure: &Measure,
    reason: &'static str,
    today: Day,
) -> Compacted {
    let plan = plan(facts, &open.layout, today);
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
enum StepError {
    Refused(Refused),
    /// A file could not be written; the note's head says so.
    Failed(String),
    /// The archive copy does not read back as it was written.
    Unverified,
}

impl StepError {
    /// Converts the error of a file, given its path.
    fn for_file(path: &str) -> impl Fn(Error) -> Self {
        move |error| match error {
            Error::Vault(refused) => Self::Refused(refused),
            Error::LeftAlone(_) | Error::Changed => Self::Failed(format!("{path}: {error}")),
        }
    }
}

/// Compacts a note whose names have been chosen. A failure is recorded in the head of the note itself, for a person and
/// for the next sweep.
pub(super) fn compact(
    open: &mut OpenVault,
    facts: &SessionFacts,
    path: &str,
    measure: &Measure,
    reason: &'static str,
    today: Day,
) -> Result<Compacted, Refused> {
    let begun = Instant::now();
    let mut compacted = preview(open, facts, path, measure, reason, today);
    match run_steps(open, facts, path, &mut compacted, today) {
        Ok(()) => {}
        Err(StepError::Refused(refused)) => return Err(refused),
        Err(StepError::Failed(why)) => {
            edit_head(open, path, &|text| mark_failed(text, &why, today))?;
            compacted.error = Some(why);
        }
        Err(StepError::Unverified) => {
            edit_head(open, path, &|text| mark_unverified(text, today))?;
            compacted.error = Some(baton_notes::compaction::UNVERIFIED.to_owned());
        }
    }
    compacted.duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    match &compacted.error {
        None => tracing::info!(
            session = %facts.about.session,
            %reason,
            lines = compacted.lines,
            days = compacted.days,
            entities = compacted.updated.len(),
            duration_ms = compacted.duration_ms,
            "note compacted"
        ),
        Some(_) => tracing::warn!(session = %facts.about.session, %reason, "note not compacted; its head says why"),
    }
    Ok(compacted)
}

fn run_steps(
    open: &mut OpenVault,
    facts: &SessionFacts,
    path: &str,
    compacted: &mut Compacted,
    today: Day,
) -> Result<(), StepError> {
    let plan = plan(facts, &open.layout, today);
    write_all(open, &plan.updates)?;
    let text = open
        .read_text(path)
        .map_err(StepError::for_file(path))?
        .ok_or_else(|| StepError::Failed("the note no longer exists".to_owned()))?;
    let reason = if compacted.reason == ON_REQUEST { session::ON_REQUEST } else { session::OVER_THRESHOLD };
    let copy = archive_copy(&text, today, reason);
    compacted.archive = write_copy(open, &facts.about.session, &plan.archive, &copy)?;
    write_all(open, &plan.backlinks)?;
    // The copy must be durable before the original claims that it exists. For a group of sessions this is not ensured
    // here: `restore_missing_copy` restores a lost copy when the note is next written.
    if open.held_back.is_none() {
        open.vault_fs.sync().map_err(StepError::Refused)?;
    }
    edit_head(open, path, &|text| mark_archived(text, today, reason)).map_err(StepError::Refused)
}

/// Removes a recorded compaction failure from a note that no longer needs compaction.
pub(super) fn clear_failure(open: &mut OpenVault, path: &str) -> Result<(), Refused> {
    edit_head(open, path, &mark_active)
}

/// Restores the archive copy of a note whose head says that it is archived, if a power cut has lost the copy. A note
/// that a person has renamed is left alone.
pub(super) fn restore_missing_copy(
    open: &mut OpenVault,
    facts: &SessionFacts,
    path: &str,
    today: Day,
) -> Result<(), Refused> {
    let archive = plan(facts, &open.layout, today).archive;
    let mut kept = || -> Result<(), StepError> {
        if open.read_text(&archive).map_err(StepError::for_file(&archive))?.is_none()
            && let Some(text) = open.read_text(path).map_err(StepError::for_file(path))?
            && let Some(reason) = session::identity(&text).and_then(|identity| identity.compacted)
        {
            write_copy(open, &facts.about.session, &archive, &archive_copy(&text, today, reason))?;
        }
        Ok(())
    };
    match kept() {
        Err(StepError::Refused(refused)) => Err(refused),
        // The session's next end tries again.
        Ok(()) | Err(StepError::Failed(_) | StepError::Unverified) => Ok(()),
    }
}

/// Restores lines of this session in notes shared by all projects, which were removed together with a forgotten session
/// whose note had the same name. `text` is this session's note. If they cannot be written now, `entry.left` is set so
/// that it is tried again.
pub(super) fn restore_shared_lines(
    open: &mut OpenVault,
    facts: &SessionFacts,
    text: &str,
    entry: &mut Entry,
    today: Day,
) -> Result<(), Refused> {
    let is_compacted = || session::identity(text).is_some_and(|identity| identity.compacted.is_some());
    // A note that was never compacted has no lines there.
    if entry.lacks && is_compacted() {
        match write_all(open, &plan(facts, &open.layout, today).updates) {
            Ok(()) => {}
            Err(StepError::Refused(refused)) => return Err(refused),
            Err(StepError::Failed(why)) => {
                entry.left.get_or_insert(why);
                return Ok(());
            }
            Err(StepError::Unverified) => return Ok(()),
        }
    }
    entry.lacks = false;
    Ok(())
}

/// Renames archive copies that have the same name as their note, unless a person has edited them.
pub(super) fn rename_copies(open: &mut OpenVault) -> Result<(), Refused> {
    let copies = open.index()?.ambiguous_copies();
    if copies.is_empty() {
        return Ok(());
    }
    let lock = open.vault_fs.lock()?;
    for before in copies {
        if of_file(rename_copy(open, &before))?.is_err() {
            tracing::debug!("archive copy keeps its name");
        }
    }
    drop(lock);
    open.refresh_index()
}

fn rename_copy(open: &OpenVault, before: &str) -> Result<(), Error> {
    let Some(NoteRole::Archived(project, name)) = open.layout.role(before) else { return Ok(()) };
    let Some(text) = open.read_text(before)?.filter(|text| forget::is_own(text)) else { return Ok(()) };
    let path = open.layout.path(&NoteRole::Archived(project, name));
    if open.read_text(&path)?.is_none_or(|there| there == text) {
        open.vault_fs.move_text(before, &path, &text)?;
    }
    Ok(open.vault_fs.sync()?)
}

/// Writes notes; stops at the first file that cannot be written.
fn write_all(open: &mut OpenVault, wanted: &[Wanted]) -> Result<(), StepError> {
    let mut written = Written::default();
    open.merge_notes(wanted, &mut written).map_err(StepError::Refused)?;
    match written.left.into_iter().next() {
        Some((path, why)) => Err(StepError::Failed(format!("{path}: {why}"))),
        None => Ok(()),
    }
}

/// Writes an archive copy, reads it back, and compares it byte for byte. Chooses another name where another note lies,
/// or a copy that a person has edited. Returns the path.
fn write_copy(open: &mut OpenVault, id: &SessionId, archive: &str, copy: &str) -> Result<String, StepError> {
    let known = open.register.get(id).and_then(|entry| entry.copy.clone());
    // Text that a person wrote in the note and has removed since survives in this copy alone.
    let is_as_written = |text: &str| {
        forget::is_own(text) || (known.as_deref() == Some(&fingerprint(text)) && forget::is_told_in(text, copy))
    };
    let stem = archive.strip_suffix(".md").unwrap_or(archive);
    let names = std::iter::once(archive.to_owned()).chain((2..COPIES).map(|number| format!("{stem}-{number}.md")));
    for path in names {
        let found = open.vault_fs.read(&path).map_err(StepError::for_file(&path))?;
        match &found.text {
            Some(there) if is_same(there, copy) => return Ok(path),
            // An earlier copy of this note, unedited since.
            Some(there) if is_same_session(there, copy) && is_as_written(there) => {}
            Some(_) => continue,
            None => {}
        }
        let stamp = match open.vault_fs.write(&found, copy) {
            Err(Error::Changed) => continue,
            written => written.map_err(StepError::for_file(&path))?,
        };
        let is_whole = open.vault_fs.read(&path).map_err(StepError::for_file(&path))?.text.as_deref() == Some(copy);
        if !is_whole {
            return Err(StepError::Unverified);
        }
        open.index_or_default();
        open.record_write(&path, copy, found.seen, stamp);
        let entry = open.register.get(id).cloned().unwrap_or_default();
        open.register.put(id, Entry { copy: Some(fingerprint(copy)), ..entry });
        return Ok(path);
    }
    Err(StepError::Failed(format!("{archive} has {COPIES} copies already")))
}

/// Fingerprint of an archive copy, by which an unedited one is recognised.
fn fingerprint(text: &str) -> String {
    Mark::digest(text.as_bytes()).to_string()
}

/// True if both notes belong to the same session.
fn is_same_session(there: &str, copy: &str) -> bool {
    let own = |text| session::identity(text).and_then(|identity| identity.own);
    own(copy).is_some_and(|id| own(there) == Some(id))
}

/// Changes the head of a note. A note that cannot be written is left alone.
fn edit_head(open: &mut OpenVault, path: &str, with: &dyn Fn(&str) -> Merged) -> Result<(), Refused> {
    let marked = open.edit(path, &mut |text| {
        let merged = with(text?);
        merged.changed.then_some(merged.text)
    });
    if of_file(marked)?.is_err() {
        tracing::warn!("head of a note not changed: somebody is writing it, or it is no longer a note");
    }
    Ok(())
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
    fn a_session() -> (tempfile::TempDir, OpenVault, SessionFacts) {
        let home = tempfile::tempdir().unwrap();
        let settings = settings::Vault::default();
        let register = Register::open(home.path(), &settings).unwrap();
        let mut open = OpenVault::new(settings, home.path(), register).unwrap();
        open.check(false).unwrap();
        let about = About {
            session: SessionId::new("s-1").unwrap(),
            others: Vec::new(),
            episode: None,
            project: "web".to_owned(),
            note: "2026-03-14-cache".to_owned(),
            started: Timestamp::parse("2026-03-14T09:00:00Z").unwrap(),
            ended: Timestamp::parse("2026-03-14T10:00:00Z"),
            zone: baton_protocol::Zone::UTC,
        };
        let prompt = Pointed { text: "Mend the cache".to_owned(), line: 1, at: None };
        let episode = Episode { title: "Cache".to_owned(), prompts: vec![prompt], ..Episode::default() };
        (home, open, SessionFacts::new(about, None, &episode, &Graph::default()))
    }

    #[test]
    fn lines_that_cannot_be_restored_now_are_tried_again() {
        let today = Day::parse("2026-03-20").unwrap();
        let (_home, mut open, mut facts) = a_session();
        let preference =
            Statement { text: "Always use tabs".to_owned(), resolution: None, at: None, about: Vec::new() };
        facts.preferences.push(preference);
        let text = merge(None, &session::wanted(&facts, &open.layout, today).note).text;
        let mut entry = Entry { lacks: true, ..Entry::default() };
        restore_shared_lines(&mut open, &facts, &text, &mut entry, today).unwrap();
        assert!(
            !entry.lacks && open.vault_fs.list_notes().unwrap().0.is_empty(),
            "a note that was never compacted has no lines there"
        );

        let compacted = archive_copy(&text, today, session::OVER_THRESHOLD);
        let preferences = open.vault_fs.vault().join("claude/preferences.md");
        std::fs::create_dir_all(preferences.parent().unwrap()).unwrap();
        std::fs::write(&preferences, b"\xff").unwrap();
        let mut entry = Entry { lacks: true, ..Entry::default() };
        restore_shared_lines(&mut open, &facts, &compacted, &mut entry, today).unwrap();
        assert!(entry.lacks && entry.left.as_deref().is_some_and(|why| why.contains("no UTF-8")), "{entry:?}");
        std::fs::remove_file(&preferences).unwrap();
        restore_shared_lines(&mut open, &facts, &compacted, &mut entry, today).unwrap();
        assert!(!entry.lacks && std::fs::read_to_string(&preferences).unwrap().contains("Always use tabs"));
    }

    #[test]
    fn a_garbled_copy_leaves_the_note_active() {
        let today = Day::parse("2026-03-20").unwrap();
        let (_home, mut open, facts) = a_session();
        let wanted = session::wanted(&facts, &open.layout, today);
        let found = open.vault_fs.read(&wanted.path).unwrap();
        open.vault_fs.write(&found, &merge(None, &wanted.note).text).unwrap();
        let measure = Measure { lines: 40, days: 6, is_long: false, is_old: true };
        let compact =
            |open: &mut OpenVault| compact(open, &facts, &wanted.path, &measure, reason(&measure), today).unwrap();

        open.vault_fs.garbles = true;
        let compacted = compact(&mut open);
        assert_eq!(compacted.error.as_deref(), Some("Verification failed"));
        let note = open.read_text(&wanted.path).unwrap().unwrap();
        assert!(note.contains("status: active") && note.contains("archive_error: Verification failed"), "{note}");

        // Next time it reads back as it was written; that copy is already there.
        open.vault_fs.garbles = false;
        let compacted = compact(&mut open);
        assert_eq!(compacted.error, None);
        let note = open.read_text(&wanted.path).unwrap().unwrap();
        assert!(note.contains("status: archived") && !note.contains("archive_error"), "{note}");
        let (all, _) = open.vault_fs.list_notes().unwrap();
        assert!(all.contains(&compacted.archive), "{all:?}");
        assert_eq!(compact(&mut open).archive, compacted.archive, "the existing copy is reused");

        // A person edits the note: the copy contains the edit, and only the newest copy is kept.
        let append = |open: &mut OpenVault, path: &str, words: &str| {
            let found = open.vault_fs.read(path).unwrap();
            let text = format!("{}\n{words}\n", found.text.as_deref().unwrap());
            open.vault_fs.write(&found, &text).unwrap();
        };
        for words in ["My own line.", "And one more."] {
            append(&mut open, &wanted.path, words);
            let again = compact(&mut open);
            assert_eq!(again.archive, compacted.archive, "{words}");
            assert!(open.read_text(&again.archive).unwrap().unwrap().contains(words));
        }
        // A copy that a person has edited is kept.
        append(&mut open, &compacted.archive, "In the copy.");
        append(&mut open, &wanted.path, "The third.");
        let beside = compact(&mut open).archive;
        assert_ne!(beside, compacted.archive);
        assert!(open.read_text(&compacted.archive).unwrap().unwrap().contains("In the copy."));
        append(&mut open, &wanted.path, "The fourth.");
        assert_eq!(compact(&mut open).archive, beside);
        // A copy is kept as well if it has text that was removed from the note.
        let found = open.vault_fs.read(&wanted.path).unwrap();
        let text = found.text.as_deref().unwrap().replace("The fourth.", "");
        open.vault_fs.write(&found, &text).unwrap();
        let after = compact(&mut open).archive;
        assert_ne!(after, beside);
        assert!(open.read_text(&beside).unwrap().unwrap().contains("The fourth."));
    }
}
