//! Rounds: what is owed is brought in, and once a day every note is looked at.

use std::sync::Arc;
use std::time::{Duration, Instant};

use baton_events::projection::table::SessionTable;
use baton_events::protocol::answer;
use baton_events::record::{SessionId, Timestamp};
use baton_events::vault::session::{self, Status};
use baton_events::vault::threshold;
use baton_events::vault::verify::{Known, links};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::bringing::{Bringing, Failed, limits};
use super::compaction::{self, Compacted};
use super::desk::{Desk, Note, Open, day};
use super::place::{Error, Refused};
use super::promotion::promote;
use super::register::Entry;
use super::told::{Progress, several, waiting};
use super::{ANSWER, DAY_MS, ROOM, Scribe, owed};
use crate::gateway::{Services, resolve};
use crate::pace::Room;

/// Sessions that are brought in together: whoever forgets one waits for them.
const GROUP: usize = 32;
/// How long a round stands back while questions are answered.
const STAND_BACK: Duration = Duration::from_secs(5);
/// Sessions that an answer names.
const NAMED: usize = 8;

/// What somebody wants of a round.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    /// Whether somebody wants it: then notes that were removed are written again.
    pub(crate) by_somebody: bool,
    /// Only sessions of this project.
    pub(crate) project: Option<String>,
    /// Told how far it is.
    pub(crate) progress: Arc<Progress>,
}

/// What a round came to.
#[derive(Debug, Default)]
pub(super) struct Round {
    pub(super) sessions: u64,
    pub(super) written: u64,
    pub(super) without_note: u64,
    pub(super) files: u64,
    pub(super) conflicts: u64,
    pub(super) compacted: u64,
    pub(super) failed: Vec<String>,
    pub(super) refused: Option<Refused>,
}

impl Scribe {
    /// Brings in what is owed.
    pub(super) async fn round(&self, services: &Arc<Services>, asked: &Asked) -> Round {
        let mut round = Round::default();
        let owed = match self.owed(services, asked).await {
            Ok((owed, refused)) => {
                round.refused = refused;
                owed
            }
            Err(refused) => {
                self.shown().refused(Some(refused.clone()));
                return Round { refused: Some(refused), ..round };
            }
        };
        asked.progress.begin(owed.len());
        self.shown().owed = owed.len() as u64;
        // A few are an end of a session: each is in its note as soon as can be.
        let size = if owed.len() > GROUP / 4 { GROUP } else { 1 };
        for group in owed.chunks(size) {
            if *services.stop.borrow() || !services.settings.now().vault.enabled {
                return round;
            }
            let begun = Instant::now();
            self.stand_back(services, asked.by_somebody).await;
            let done = self.group(services, asked, group).await;
            asked.progress.step(group.len());
            let mut shown = self.shown();
            shown.owed = shown.owed.saturating_sub(group.len() as u64);
            if done.written == 1 && group.len() == 1 {
                shown.last_end_ms = Some(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX));
            }
            drop(shown);
            round.add(done);
        }
        if round.refused.is_none() {
            round.refused = self.promote(services, round.files > 0).await.err();
        }
        self.shown().refused(round.refused.clone());
        if round.written > 0 {
            tracing::info!(
                sessions = round.written,
                files = round.files,
                conflicts = round.conflicts,
                compacted = round.compacted,
                "notes written"
            );
        }
        round
    }

    async fn promote(&self, services: &Arc<Services>, is_news: bool) -> Result<(), Refused> {
        let mut desk = self.desk().await?;
        let services = services.clone();
        let promoting = tokio::task::spawn_blocking(move || {
            let (settings, table) = (services.settings.now(), services.table.now());
            promote(&mut desk, &services, &settings, &table, is_news)
        });
        answered(promoting).await?
    }

    async fn stand_back(&self, services: &Arc<Services>, is_asked: bool) {
        if !is_asked {
            let mut asked = services.pace.asked();
            let _ = timeout(STAND_BACK, asked.wait_for(|questions| *questions == 0)).await;
        }
    }

    /// What is owed, and why the vault takes nothing, if that is known before it is tried.
    async fn owed(
        &self,
        services: &Arc<Services>,
        asked: &Asked,
    ) -> Result<(Vec<SessionId>, Option<Refused>), Refused> {
        let mut desk = self.desk().await?;
        let (table, settings, asked) = (services.table.now(), services.settings.now(), asked.clone());
        let was_refused = self.shown().is_refused();
        let looking = tokio::task::spawn_blocking(move || {
            let (open, pending) = desk.at(&settings.vault)?;
            let is_idle = open.owed(&table, &settings).len() == 0 && pending.len() == 0;
            // The vault was gone through, and nothing is to be done there: its disk is let be.
            if is_idle && !asked.by_somebody && !was_refused && open.known_names().is_some() {
                return Ok((Vec::new(), None));
            }
            // What is owed is kept in the meantime.
            let refused = open.look(asked.by_somebody).and_then(|()| open.index().map(drop)).err();
            if asked.by_somebody {
                if let Some(refused) = refused {
                    return Err(refused);
                }
                write_again(open)?;
            }
            let owed = open.owed(&table, &settings).sessions();
            // What waited for another vault, and is in this one.
            let delivered = pending.sessions().filter(|id| {
                let stamp = table.get(id).and_then(|row| owed::stamp(&table, row));
                refused.is_none()
                    && stamp.is_some()
                    && open.register.get(id).map(|entry| &entry.stamp) == stamp.as_ref()
            });
            let delivered: Vec<SessionId> = delivered.cloned().collect();
            for id in delivered {
                let _ = pending.remove(&id);
            }
            Ok((in_project(owed, &table, asked.project.as_deref()), refused))
        });
        answered(looking).await?
    }

    async fn group(&self, services: &Arc<Services>, asked: &Asked, group: &[SessionId]) -> Round {
        let mut desk = match self.desk().await {
            Ok(desk) => desk,
            Err(refused) => return Round { refused: Some(refused), ..Round::default() },
        };
        // After the desk: nobody else of the background waits for whoever has that.
        let room = if asked.by_somebody { None } else { Some(services.pace.background().await) };
        let (services, group, by_somebody) = (services.clone(), group.to_vec(), asked.by_somebody);
        let working = tokio::task::spawn_blocking(move || bring(&mut desk, &services, &group, by_somebody));
        match answered_in(room, working).await {
            Ok(round) => round,
            Err(refused) => Round { refused: Some(refused), ..Round::default() },
        }
    }

    /// Everything that is owed, now.
    pub(crate) async fn sync(&self, services: &Arc<Services>, asked: &Asked) -> answer::VaultSync {
        let begun = Instant::now();
        self.remove_forgotten(services).await;
        let round = self.round(services, asked).await;
        self.wake.notify_one();
        let pending = self.told(services).await.pending;
        let is_done = round.refused.is_none() && round.failed.is_empty();
        let message = match (&round.refused, round.failed.len()) {
            (Some(Refused { what, fix }), _) => format!(
                "the vault takes nothing now: {what}; {fix}. {} in vault-pending, and it is tried again by itself",
                waiting(pending),
            ),
            (None, 0) if round.written == 0 => "Every session that is over is in its note.".to_owned(),
            (None, 0) => format!(
                "{} now: {} written{}.",
                if round.written == 1 {
                    "1 session is in its note".to_owned()
                } else {
                    format!("{} sessions are in their notes", round.written)
                },
                several(round.files, "file"),
                if round.compacted > 0 {
                    format!(", {} compacted", several(round.compacted, "note"))
                } else {
                    String::new()
                }
            ),
            (None, 1) => "1 session is not in its note; `baton vault status` says why".to_owned(),
            (None, failed) => format!("{failed} sessions are not in their notes; `baton vault status` says why"),
        };
        answer::VaultSync {
            status: if is_done { "success" } else { "error" }.to_owned(),
            sessions: round.sessions,
            written: round.written,
            without_note: round.without_note,
            files: round.files,
            conflicts: round.conflicts,
            compacted: round.compacted,
            pending,
            failed: round.failed.into_iter().take(NAMED).collect(),
            seconds: (begun.elapsed().as_secs_f64() * 1e3).round() / 1e3,
            message,
        }
    }

    /// When every note is to be looked at next.
    pub(super) async fn sweep_due(&self, services: &Arc<Services>) -> Option<Timestamp> {
        let mut desk = self.desk().await.ok()?;
        let (open, _) = desk.at(&services.settings.now().vault).ok()?;
        let swept = open.register.swept();
        Some(swept.map_or(Timestamp(0), |at| Timestamp(at.saturating_add(DAY_MS))))
    }

    /// Looks at every note: compacts what has grown old, tries again what has failed, and notices what was moved.
    pub(super) async fn sweep(&self, services: &Arc<Services>) -> Result<(), Refused> {
        let begun = Instant::now();
        let ids = self.known(services, true).await?;
        let mut all = Checked::default();
        for group in ids.chunks(GROUP) {
            self.stand_back(services, false).await;
            let mut desk = self.desk().await?;
            let room = services.pace.background().await;
            let (working, group) = (services.clone(), group.to_vec());
            let checking = tokio::task::spawn_blocking(move || check(&mut desk, &working, &group));
            all.add(answered_in(Some(room), checking).await??);
        }
        let now = services.clock.now();
        if let Ok(mut desk) = self.desk().await
            && let Ok((open, _)) = desk.at(&services.settings.now().vault)
        {
            open.register.put_swept(now.0);
            if let Err(refused) = open.settle() {
                tracing::warn!(problem = %refused, "what was written to the vault is not remembered");
            }
        }
        let looks = self.desk().await.ok().and_then(|mut desk| Some(desk.known()?.take_looks()));
        tracing::info!(
            notes = ids.len(),
            looks = looks.unwrap_or_default(),
            compacted = all.compacted,
            failed = all.failed,
            again = all.again,
            ms = begun.elapsed().as_millis() as u64,
            "notes looked at"
        );
        Ok(())
    }

    /// The sessions that have entries. `anew`: the vault is gone through once more, and everything that is owed looked at.
    async fn known(&self, services: &Arc<Services>, anew: bool) -> Result<Vec<SessionId>, Refused> {
        let mut desk = self.desk().await?;
        let settings = services.settings.now();
        let looking = tokio::task::spawn_blocking(move || {
            let (open, _) = desk.at(&settings.vault)?;
            open.look(false)?;
            if anew {
                open.forget_names();
                open.forget_owed();
            }
            open.index()?;
            if anew {
                compaction::name_copies(open)?;
            }
            Ok(open.register.entries().map(|(id, _)| id.clone()).collect())
        });
        answered(looking).await?
    }

    /// Notes that are over a threshold, or one that is asked for. The error says why nothing is compacted: the vault takes
    /// nothing, or the note that is asked for is none that can be.
    pub(crate) async fn compact(
        &self,
        services: &Arc<Services>,
        session: Option<SessionId>,
        dry_run: bool,
        progress: &Progress,
    ) -> Result<answer::VaultCompact, String> {
        let refused = |Refused { what, fix }: Refused| format!("the vault takes nothing now: {what}; {fix}");
        let known = self.known(services, false).await.map_err(refused)?;
        let ids = match &session {
            Some(session) => vec![session.clone()],
            None => known,
        };
        progress.begin(ids.len());
        let mut told = answer::VaultCompact { dry_run, ..answer::VaultCompact::default() };
        for id in ids {
            let mut desk = self.desk().await.map_err(refused)?;
            let (working, is_named) = (services.clone(), session.is_some());
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
                "{failed} of {count} {} not compacted: the heads say why. It is tried again every day.",
                if failed == 1 { "was" } else { "were" }
            ),
        };
        Ok(told)
    }
}

/// What somebody comes to who works at the disk of the vault, if that answers. A closure that hangs keeps the desk until it is
/// back.
async fn answered<T>(working: JoinHandle<T>) -> Result<T, Refused> {
    match timeout(ANSWER, working).await {
        Ok(done) => done.map_err(|_| broken()),
        Err(_) => Err(silent()),
    }
}

/// The same for who has a room of the background in the meantime: it is given back to the others when that takes long.
async fn answered_in<T>(room: Option<Room>, mut working: JoinHandle<T>) -> Result<T, Refused> {
    if let Ok(done) = timeout(ROOM, &mut working).await {
        return done.map_err(|_| broken());
    }
    drop(room);
    answered(working).await
}

fn silent() -> Refused {
    let what = "the disk of the vault does not answer".to_owned();
    Refused { what, fix: "look whether it is still connected; what was begun goes on when it is".to_owned() }
}

fn broken() -> Refused {
    Refused { what: "writing notes broke".to_owned(), fix: "`daemon.log` tells where; it is tried again".to_owned() }
}

fn in_project(ids: Vec<SessionId>, table: &SessionTable, project: Option<&str>) -> Vec<SessionId> {
    let Some(project) = project else { return ids };
    let is_in = |id: &SessionId| table.get(id).is_some_and(|row| resolve::is_in(&row.state, project));
    ids.into_iter().filter(is_in).collect()
}

/// Has notes that somebody has removed written again, and those that lead to one.
fn write_again(open: &mut Open) -> Result<(), Refused> {
    let mut gone = Vec::new();
    let (paths, _) = open.place.all()?;
    let known = Known::of(paths.iter().map(String::as_str), open.place.root());
    for (id, entry) in open.register.entries() {
        let Some(path) = entry.note.as_deref() else { continue };
        let is_there = match open.text(path) {
            Ok(text) => text.is_some_and(|text| text.lines().flat_map(links).all(|target| known.leads(target))),
            Err(Error::Vault(refused)) => return Err(refused),
            Err(Error::Left(_) | Error::Changed) => true,
        };
        if !is_there || entry.left.is_some() {
            gone.push((id.clone(), entry.clone()));
        }
    }
    for (id, entry) in gone {
        open.register.put(&id, Entry { stamp: String::new(), left: None, ..entry });
    }
    Ok(())
}

/// Brings sessions in, one after another.
fn bring(desk: &mut Desk, services: &Services, group: &[SessionId], by_somebody: bool) -> Round {
    let mut round = Round::default();
    let (table, settings, today) = (services.table.now(), services.settings.now(), day(services.clock.now()));
    let (open, pending) = match desk.at(&settings.vault) {
        Ok(open) => open,
        Err(refused) => return Round { refused: Some(refused), ..round },
    };
    open.held_back = (group.len() > 1).then(Vec::new);
    for id in group {
        if *services.stop.borrow() {
            break;
        }
        let Some(row) = table.get(id).cloned() else { continue };
        let Some(stamp) = owed::stamp(&table, &row) else { continue };
        // Another round may have come first.
        if owed::is_in(&row, &stamp, open.register.get(id)) {
            continue;
        }
        if round.refused.is_some() && pending.has(id, &stamp) {
            continue;
        }
        round.sessions += 1;
        let bringing = Bringing { services, id, row: &row, stamp: stamp.clone(), today, is_asked: by_somebody };
        match bringing.carry_out(open, pending) {
            Ok(brought) => {
                round.without_note += u64::from(brought.is_without_note);
                round.written += u64::from(brought.written.files > 0);
                round.files += brought.written.files;
                round.conflicts += brought.written.conflicts;
                round.compacted += u64::from(brought.compacted.is_some_and(|compacted| compacted.error.is_none()));
                round.failed.extend(brought.written.left.first().map(|_| id.to_string()));
            }
            Err(Failed::Refused(refused)) => round.refused = Some(refused),
            Err(Failed::Unreadable(why)) => {
                tracing::warn!(session = %id, %why, "session not brought into its note");
                let before = open.register.get(id).cloned().unwrap_or_default();
                open.register.put(id, Entry { stamp, left: Some(why), ..before });
                round.failed.push(id.to_string());
            }
        }
    }
    // A vault that takes nothing is not touched: it may not even be there.
    if let Some(pages) = open.held_back.take().filter(|pages| !pages.is_empty()) {
        let mut written = super::desk::Written::default();
        let put = open.place.turn().and_then(|_turn| open.put(&pages, &mut written));
        round.files += written.files;
        round.conflicts += written.conflicts;
        if let Err(refused) = put {
            // What leads to their notes is missing: they are owed as they were.
            for id in group {
                if let Some(entry) = open.register.get(id).cloned() {
                    open.register.put(id, Entry { stamp: String::new(), ..entry });
                }
            }
            round.refused = Some(refused);
        }
    }
    if let Err(refused) = open.settle() {
        round.refused.get_or_insert(refused);
    }
    round
}

/// What looking at notes came to.
#[derive(Debug, Default)]
struct Checked {
    compacted: u64,
    failed: u64,
    again: u64,
}

impl Checked {
    fn add(&mut self, other: Self) {
        self.compacted += other.compacted;
        self.failed += other.failed;
        self.again += other.again;
    }
}

impl Round {
    fn add(&mut self, other: Self) {
        self.sessions += other.sessions;
        self.written += other.written;
        self.without_note += other.without_note;
        self.files += other.files;
        self.conflicts += other.conflicts;
        self.compacted += other.compacted;
        self.failed.extend(other.failed);
        // Whether the vault takes something is what was tried last.
        self.refused = other.refused;
    }
}

/// Looks at the notes of some sessions.
fn check(desk: &mut Desk, services: &Services, group: &[SessionId]) -> Result<Checked, Refused> {
    let mut checked = Checked::default();
    let (table, settings, today) = (services.table.now(), services.settings.now(), day(services.clock.now()));
    let (open, _) = desk.at(&settings.vault)?;
    open.index()?;
    let _turn = open.place.turn()?;
    for id in group {
        let Some(entry) = open.register.get(id).cloned() else { continue };
        if entry.removed && open.names().note(id).is_none() {
            continue;
        }
        if entry.left.is_some() {
            // The next round tries it again.
            open.register.put(id, Entry { stamp: String::new(), left: None, ..entry });
            checked.again += 1;
            continue;
        }
        if entry.note.is_none() {
            continue;
        }
        // The vault was gone through when this began: once for all notes that were moved or removed.
        let Note::There(path) = open.note_as_known(id)? else {
            open.register.put(id, Entry { removed: true, ..entry });
            continue;
        };
        let mut entry = Entry { note: Some(path.clone()), removed: false, ..entry };
        let is_due = {
            let text = open.text(&path).ok().flatten().unwrap_or_default();
            match session::identity(&text).map(|identity| identity.status) {
                Some(Status::CompactionFailed) => true,
                Some(Status::Active) => threshold::measure(&text, &limits(&settings.vault), today).is_over(),
                _ => false,
            }
        };
        if is_due && let Some(row) = table.get(id).cloned() {
            let bringing = Bringing { services, id, row: &row, stamp: entry.stamp.clone(), today, is_asked: false };
            let folder = bringing.folder(open);
            let compacted = match bringing.told(folder) {
                Ok(mut told) => {
                    bringing.name(open, &mut told, &Note::There(path.clone()));
                    bringing.finish(open, &told, &path, &mut entry)?
                }
                Err(Failed::Refused(refused)) => return Err(refused),
                Err(Failed::Unreadable(why)) => {
                    tracing::warn!(session = %id, %why, "note not compacted");
                    None
                }
            };
            let failed = compacted.as_ref().is_some_and(|compacted| compacted.error.is_some());
            checked.compacted += u64::from(compacted.is_some() && !failed);
            checked.failed += u64::from(failed);
        }
        open.register.put(id, entry);
    }
    open.settle()?;
    Ok(checked)
}

/// What came of one note that may be compacted.
enum One {
    Compacted(Compacted),
    Below,
    /// It cannot be, and why.
    Unfit(String),
}

fn compact_one(
    desk: &mut Desk,
    services: &Services,
    id: &SessionId,
    is_named: bool,
    dry_run: bool,
) -> Result<One, Refused> {
    let (table, settings, today) = (services.table.now(), services.settings.now(), day(services.clock.now()));
    let (open, _) = desk.at(&settings.vault)?;
    open.index()?;
    let unfit = |why: &str| Ok(One::Unfit(format!("session {id} is not compacted: {why}")));
    let Some(entry) = open.register.get(id).cloned() else {
        return unfit("it has no note yet; `baton vault sync` writes those of sessions that are over");
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
        Some(Status::Other(_)) | None => return unfit("its status is a person's"),
    }
    let Some(row) = table.get(id).cloned() else { return unfit("it is not known any more") };
    let bringing = Bringing { services, id, row: &row, stamp: entry.stamp.clone(), today, is_asked: true };
    let folder = bringing.folder(open);
    let mut told = match bringing.told(folder) {
        Ok(told) => told,
        Err(Failed::Refused(refused)) => return Err(refused),
        Err(Failed::Unreadable(why)) => return unfit(&why),
    };
    bringing.name(open, &mut told, &Note::There(path.clone()));
    let reason = compaction::reason(&measure);
    if dry_run {
        return Ok(One::Compacted(compaction::preview(open, &told, &path, &measure, reason, today)));
    }
    let turn = open.place.turn()?;
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
