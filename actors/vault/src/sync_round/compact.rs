//! Compaction on request.

use baton_conversation::record::SessionId;
use baton_notes::session;
use baton_notes::session::Status;
use baton_notes::threshold;
use baton_protocol::answer;

use super::super::NoteWriter;
use super::super::compaction::{self, Compacted};
use super::super::open_vault::{Note, Vaults, day};
use super::super::register::Entry;
use super::super::status::{Progress, pluralize};
use super::super::vault_fs::Refused;
use super::super::write_session::{SessionWriter, WriteError, thresholds};
use super::panicked;
use crate::Options;

impl NoteWriter {
    /// Compacts the notes that exceed a threshold, or the note of one session. Fails if the vault refuses, or if the
    /// note of that session cannot be compacted.
    pub async fn compact(
        &self,
        session: Option<SessionId>,
        dry_run: bool,
        progress: &Progress,
    ) -> Result<answer::VaultCompact, String> {
        let options = &self.options;
        let refused = |Refused { what, fix }: Refused| format!("the vault accepts nothing now: {what}; {fix}");
        let known = self.list_sessions(false).await.map_err(refused)?;
        let ids = match &session {
            Some(session) => vec![session.clone()],
            None => known,
        };
        progress.begin(ids.len());
        let mut result = answer::VaultCompact { dry_run, ..answer::VaultCompact::default() };
        for id in ids {
            let mut vaults = self.lock_vaults().await.map_err(refused)?;
            let (working, is_named) = (options.clone(), session.is_some());
            let compacting = baton_base::task::spawn_blocking(move || {
                let compacted = compact_one(&mut vaults, &working, &id, is_named, dry_run);
                (id, compacted)
            });
            progress.step(1);
            match compacting.await {
                Ok((id, Ok(Outcome::Compacted(compacted)))) => result.notes.push(to_answer(&id, compacted)),
                Ok((_, Ok(Outcome::Below))) => result.below += 1,
                Ok((_, Ok(Outcome::Unfit(why)))) if session.is_some() => return Err(why),
                Ok((_, Ok(Outcome::Unfit(_)))) => {}
                Ok((_, Err(error))) => return Err(refused(error)),
                Err(_) => return Err(refused(panicked())),
            }
        }
        self.wake.notify_one();
        let failed = result.notes.iter().filter(|note| note.error.is_some()).count();
        result.status = if failed == 0 { "success" } else { "error" }.to_owned();
        let (count, is_one) = (pluralize(result.notes.len() as u64, "note"), result.notes.len() == 1);
        let below = match result.below {
            _ if session.is_some() => String::new(),
            1 => "; 1 is below the thresholds".to_owned(),
            below => format!("; {below} are below the thresholds"),
        };
        result.message = match failed {
            0 if dry_run => format!("{count} would be compacted{below}. Nothing was changed."),
            0 => format!("{count} {} compacted{below}.", if is_one { "was" } else { "were" }),
            1 if is_one => "The note was not compacted: its head says why. It is tried again every day.".to_owned(),
            failed => format!(
                "{failed} of {count} {} not compacted: their heads say why. It is tried again every day.",
                if failed == 1 { "was" } else { "were" }
            ),
        };
        Ok(result)
    }
}

/// The result for one note.
enum Outcome {
    Compacted(Compacted),
    Below,
    /// It cannot be compacted, with the reason.
    Unfit(String),
}

fn compact_one(
    vaults: &mut Vaults,
    options: &Options,
    id: &SessionId,
    is_named: bool,
    dry_run: bool,
) -> Result<Outcome, Refused> {
    let (table, settings, today) = (options.table.now(), options.settings.now(), day(&*options.clock));
    let (open, _) = vaults.open(&settings.vault)?;
    open.index()?;
    let unfit = |why: &str| Ok(Outcome::Unfit(format!("session {id} is not compacted: {why}")));
    let Some(entry) = open.register.get(id).cloned() else {
        return unfit("it has no note yet; `baton vault sync` writes the notes of ended sessions");
    };
    let path = match open.find_note(id)? {
        Note::At(path) => path,
        Note::Removed(path) => return unfit(&format!("{path} was removed")),
        Note::None => return unfit("no prompt was typed in it, so it has no note"),
    };
    let text = open.read_text(&path).ok().flatten().unwrap_or_default();
    let status = session::identity(&text).map(|identity| identity.status);
    let measure = threshold::measure(&text, &thresholds(&settings.vault), today);
    match status {
        Some(Status::CompactionFailed) => {}
        Some(Status::Active) if is_named || measure.is_over() => {}
        Some(Status::Active) => return Ok(Outcome::Below),
        Some(Status::Archived) => return unfit("it is archived already"),
        Some(Status::Other(_)) | None => return unfit("a person has changed its status"),
    }
    let Some(row) = table.get(id).cloned() else { return unfit("it is no longer known") };
    let writer = SessionWriter { options, id, row: &row, stamp: entry.stamp.clone(), today, is_manual: true };
    let folder = writer.project_folder(open, true);
    let mut facts = match writer.read_facts(folder) {
        Ok(facts) => facts,
        Err(WriteError::Refused(refused)) => return Err(refused),
        Err(WriteError::Unreadable(why)) => return unfit(&why),
    };
    writer.choose_names(open, &mut facts, Some(&path));
    let reason = compaction::reason(&measure);
    if dry_run {
        return Ok(Outcome::Compacted(compaction::preview(open, &facts, &path, &measure, reason, today)));
    }
    let lock = open.vault_fs.lock()?;
    open.relink_session_note(id, &path)?;
    writer.choose_free_entity_names(open, &mut facts)?;
    open.relink_entity_notes()?;
    let compacted = compaction::compact(open, &facts, &path, &measure, reason, today)?;
    drop(lock);
    let mut entry = Entry { note: Some(path.clone()), ..entry };
    writer.copy_status(open, &path, &mut entry);
    open.register.put(id, entry);
    open.sync()?;
    Ok(Outcome::Compacted(compacted))
}

fn to_answer(id: &SessionId, compacted: Compacted) -> answer::VaultCompacted {
    let updated = compacted.updated.into_iter().map(|(note, lines)| answer::VaultUpdated { note, lines });
    answer::VaultCompacted {
        session_id: id.to_string(),
        note: compacted.note,
        archive: compacted.archive,
        lines: compacted.lines,
        days: compacted.days,
        reason: compacted.reason.to_owned(),
        updated: updated.collect(),
        error: compacted.error,
        duration_ms: compacted.duration_ms,
    }
}
