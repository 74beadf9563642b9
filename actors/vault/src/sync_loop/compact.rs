//! Compaction on request.

use baton_conversation::record::SessionId;
use baton_notes::session;
use baton_notes::session::Status;
use baton_notes::threshold;
use baton_protocol::answer;

use super::super::Scribe;
use super::super::compaction::{self, Compacted};
use super::super::open_vault::{Desk, Note, day};
use super::super::register::Entry;
use super::super::status::{Progress, several};
use super::super::vault_fs::Refused;
use super::super::write_session::{Bringing, Failed, limits};
use super::broken;
use crate::Surroundings;

impl Scribe {
    /// Compacts the notes that exceed a threshold, or the note of one session. Fails if the vault refuses, or if the
    /// note of that session cannot be compacted.
    pub async fn compact(
        &self,
        session: Option<SessionId>,
        dry_run: bool,
        progress: &Progress,
    ) -> Result<answer::VaultCompact, String> {
        let around = &self.around;
        let refused = |Refused { what, fix }: Refused| format!("the vault accepts nothing now: {what}; {fix}");
        let known = self.known(false).await.map_err(refused)?;
        let ids = match &session {
            Some(session) => vec![session.clone()],
            None => known,
        };
        progress.begin(ids.len());
        let mut told = answer::VaultCompact { dry_run, ..answer::VaultCompact::default() };
        for id in ids {
            let mut desk = self.desk().await.map_err(refused)?;
            let (working, is_named) = (around.clone(), session.is_some());
            let compacting = tokio::task::spawn_blocking(move || {
                let compacted = compact_one(&mut desk, &working, &id, is_named, dry_run);
                (id, compacted)
            });
            progress.step(1);
            match compacting.await {
                Ok((id, Ok(One::Compacted(compacted)))) => told.notes.push(shown(&id, compacted)),
                Ok((_, Ok(One::Below))) => told.below += 1,
                Ok((_, Ok(One::Unfit(why)))) if session.is_some() => return Err(why),
                Ok((_, Ok(One::Unfit(_)))) => {}
                Ok((_, Err(error))) => return Err(refused(error)),
                Err(_) => return Err(refused(broken())),
            }
        }
        self.wake.notify_one();
        let failed = told.notes.iter().filter(|note| note.error.is_some()).count();
        told.status = if failed == 0 { "success" } else { "error" }.to_owned();
        let (count, is_one) = (several(told.notes.len() as u64, "note"), told.notes.len() == 1);
        let below = match told.below {
            _ if session.is_some() => String::new(),
            1 => "; 1 is below the thresholds".to_owned(),
            below => format!("; {below} are below the thresholds"),
        };
        told.message = match failed {
            0 if dry_run => format!("{count} would be compacted{below}. Nothing was changed."),
            0 => format!("{count} {} compacted{below}.", if is_one { "was" } else { "were" }),
            1 if is_one => "The note was not compacted: its head says why. It is tried again every day.".to_owned(),
            failed => format!(
                "{failed} of {count} {} not compacted: their heads say why. It is tried again every day.",
                if failed == 1 { "was" } else { "were" }
            ),
        };
        Ok(told)
    }
}

/// The result for one note.
enum One {
    Compacted(Compacted),
    Below,
    /// It cannot be compacted, with the reason.
    Unfit(String),
}

fn compact_one(
    desk: &mut Desk,
    around: &Surroundings,
    id: &SessionId,
    is_named: bool,
    dry_run: bool,
) -> Result<One, Refused> {
    let (table, settings, today) = (around.table.now(), around.settings.now(), day(around.clock.now()));
    let (open, _) = desk.at(&settings.vault)?;
    open.index()?;
    let unfit = |why: &str| Ok(One::Unfit(format!("session {id} is not compacted: {why}")));
    let Some(entry) = open.register.get(id).cloned() else {
        return unfit("it has no note yet; `baton vault sync` writes the notes of ended sessions");
    };
    let path = match open.note_of(id)? {
        Note::There(path) => path,
        Note::Removed(path) => return unfit(&format!("{path} was removed")),
        Note::None => return unfit("nobody typed anything in it, so it has no note"),
    };
    let text = open.text(&path).ok().flatten().unwrap_or_default();
    let status = session::identity(&text).map(|identity| identity.status);
    let measure = threshold::measure(&text, &limits(&settings.vault), today);
    match status {
        Some(Status::CompactionFailed) => {}
        Some(Status::Active) if is_named || measure.is_over() => {}
        Some(Status::Active) => return Ok(One::Below),
        Some(Status::Archived) => return unfit("it is archived already"),
        Some(Status::Other(_)) | None => return unfit("a person has changed its status"),
    }
    let Some(row) = table.get(id).cloned() else { return unfit("it is no longer known") };
    let bringing = Bringing { around, id, row: &row, stamp: entry.stamp.clone(), today, is_asked: true };
    let folder = bringing.folder(open, true);
    let mut told = match bringing.told(folder) {
        Ok(told) => told,
        Err(Failed::Refused(refused)) => return Err(refused),
        Err(Failed::Unreadable(why)) => return unfit(&why),
    };
    bringing.name(open, &mut told, Some(&path));
    let reason = compaction::reason(&measure);
    if dry_run {
        return Ok(One::Compacted(compaction::preview(open, &told, &path, &measure, reason, today)));
    }
    let turn = open.place.turn()?;
    open.follow(id, &path)?;
    bringing.make_way_for_entities(open, &mut told)?;
    open.follow_entities()?;
    let compacted = compaction::carry_out(open, &told, &path, &measure, reason, today)?;
    drop(turn);
    let mut entry = Entry { note: Some(path.clone()), ..entry };
    bringing.note_status(open, &path, &mut entry);
    open.register.put(id, entry);
    open.settle()?;
    Ok(One::Compacted(compacted))
}

fn shown(id: &SessionId, compacted: Compacted) -> answer::VaultCompacted {
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
