//! Rounds: owed notes are written at once, and once a day every note is checked.
//!
//! # Hazards
//!
//! - A disk of notes that hangs keeps the thread and the vault's lock until it answers. Callers wait at most `ANSWER`;
//!   the permit for background work is returned after `ROOM`.

mod compact;
pub(crate) mod sweep;

use baton_views::visibility;
use std::sync::Arc;
use std::time::{Duration, Instant};

use baton_conversation::record::SessionId;
use baton_events::projection::table::SessionTable;
use baton_notes::verify::{VaultIndex, links};
use baton_protocol::answer;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::open_vault::{Desk, Open, day};
use super::promotion::promote;
use super::register::Entry;
use super::status::{Progress, several, waiting};
use super::vault_fs::{Error, Refused};
use super::write_session::{Bringing, Failed};
use super::{ANSWER, ROOM, Scribe, owed_sessions};
use crate::Surroundings;
use baton_base::throttle::Permit;

pub(super) use sweep::Unswept;

/// Number of sessions written at a time; forgetting waits for one group.
const GROUP: usize = 32;
/// Longest time that a round yields to queries.
const STAND_BACK: Duration = Duration::from_secs(5);
/// Consecutive refusals after which sessions already in the outbox are not tried again in the same round.
const REFUSALS: u32 = 3;
/// Most sessions named in an answer.
const NAMED: usize = 8;

/// What a round is to do.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// True if a person asked for it: then removed notes are written again.
    pub by_somebody: bool,
    /// Only sessions of this project.
    pub project: Option<String>,
    /// Receives the progress.
    pub progress: Arc<Progress>,
}

/// The result of a round.
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
    /// Why something that is still owed was refused, even if later sessions were accepted.
    unserved: Option<Refused>,
    /// Number of refusals since the vault last accepted something.
    refusals: u32,
    /// True if the outbox is full.
    is_full: bool,
}

impl Scribe {
    /// Writes what is owed.
    pub(super) async fn round(&self, asked: &Asked) -> Round {
        let around = &self.around;
        let mut round = Round::default();
        let owed = match self.owed(asked).await {
            Ok((owed, refused)) => {
                // Do not try an unreachable vault for each session.
                round.refusals = if refused.is_some() { REFUSALS } else { 0 };
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
        // A few sessions are written one by one, so that a session that just ended is in its note soon.
        let size = if owed.len() > GROUP / 4 { GROUP } else { 1 };
        for group in owed.chunks(size) {
            if *around.stop.borrow() || !around.settings.now().vault.enabled {
                return round;
            }
            let begun = Instant::now();
            self.stand_back(asked.by_somebody).await;
            let done = self.group(asked, group, (round.refused.clone(), round.refusals)).await;
            asked.progress.step(group.len());
            let mut shown = self.shown();
            shown.owed = shown.owed.saturating_sub(group.len() as u64);
            if done.written == 1 && group.len() == 1 {
                shown.last_end_ms = Some(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX));
            }
            drop(shown);
            round.add(done);
            if round.refused.is_some() && round.is_full {
                // The outbox is full until the vault accepts something.
                break;
            }
        }
        if round.refused.is_none() {
            round.refused = self.promote(round.files > 0).await.err();
        }
        // A refused session is tried again, even if others were accepted.
        round.refused = round.refused.or(round.unserved.take());
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

    async fn promote(&self, is_news: bool) -> Result<(), Refused> {
        let around = &self.around;
        let mut desk = self.desk().await?;
        let around = around.clone();
        let promoting = tokio::task::spawn_blocking(move || {
            let (settings, table) = (around.settings.now(), around.table.now());
            promote(&mut desk, &around, &settings, &table, is_news)
        });
        answered(promoting).await?
    }

    /// True if notes were left alone that may be written later.
    pub(super) async fn has_left(&self) -> bool {
        let around = &self.around;
        let Ok(mut desk) = self.desk().await else { return false };
        let vault = around.settings.now().vault.clone();
        desk.at(&vault).is_ok_and(|(open, _)| open.register.left().next().is_some())
    }

    /// Makes the next round try them again.
    pub(super) async fn retry_left(&self) {
        let around = &self.around;
        let Ok(mut desk) = self.desk().await else { return };
        let vault = around.settings.now().vault.clone();
        let Ok((open, _)) = desk.at(&vault) else { return };
        let left: Vec<SessionId> = open.register.left().cloned().collect();
        owe_again(open, &left);
    }

    async fn stand_back(&self, is_asked: bool) {
        let around = &self.around;
        if !is_asked {
            let mut asked = around.throttle.questions();
            let _ = timeout(STAND_BACK, asked.wait_for(|questions| *questions == 0)).await;
        }
    }

    /// Returns what is owed, and why the vault refuses if that is known without trying.
    async fn owed(&self, asked: &Asked) -> Result<(Vec<SessionId>, Option<Refused>), Refused> {
        let around = &self.around;
        let mut desk = self.desk().await?;
        let (table, settings, asked) = (around.table.now(), around.settings.now(), asked.clone());
        let was_refused = self.shown().is_refused();
        let looking = tokio::task::spawn_blocking(move || {
            let (open, pending) = desk.at(&settings.vault)?;
            let is_idle = open.owed(&table, &settings).len() == 0 && pending.len() == 0;
            // The vault was walked before and nothing is to be done: leave its disk alone.
            if is_idle && !asked.by_somebody && !was_refused && open.known_names().is_some() {
                return Ok((Vec::new(), None));
            }
            // Even then owed notes are put into the outbox.
            let refused = open.look(asked.by_somebody).and_then(|()| open.index().map(drop)).err();
            if asked.by_somebody {
                if let Some(refused) = refused {
                    return Err(refused);
                }
                write_again(open)?;
            }
            let owed = open.owed(&table, &settings).sessions();
            // Written already, while they waited for another vault.
            let delivered = pending.sessions().filter(|id| {
                let stamp = table.get(id).and_then(|row| owed_sessions::stamp(&table, row));
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

    /// Writes one group. `before` is why the vault refused the previous group, and how often.
    async fn group(&self, asked: &Asked, group: &[SessionId], before: (Option<Refused>, u32)) -> Round {
        let around = &self.around;
        let mut desk = match self.desk().await {
            Ok(desk) => desk,
            Err(refused) => return Round { refused: Some(refused), ..Round::default() },
        };
        // Taken after the vault's lock, so that background work does not wait for its holder.
        let room = if asked.by_somebody { None } else { Some(around.throttle.wait_for_background().await) };
        let (around, group, by_somebody) = (around.clone(), group.to_vec(), asked.by_somebody);
        let working = tokio::task::spawn_blocking(move || bring(&mut desk, &around, &group, by_somebody, before));
        match answered_in(room, working).await {
            Ok(round) => round,
            Err(refused) => Round { refused: Some(refused), ..Round::default() },
        }
    }

    /// Writes everything that is owed, now.
    pub async fn sync(&self, asked: &Asked) -> answer::VaultSync {
        let begun = Instant::now();
        let _ = timeout(STAND_BACK, self.look_for_away()).await;
        self.remove_forgotten().await;
        let round = self.round(asked).await;
        self.wake.notify_one();
        let pending = self.told().await.pending;
        let is_done = round.refused.is_none() && round.failed.is_empty();
        let message = match (&round.refused, round.failed.len()) {
            (Some(Refused { what, fix }), _) => format!(
                "the vault accepts {} now: {what}; {fix}. {} in vault-pending, and it is tried again by itself",
                if round.written > 0 { "not everything" } else { "nothing" },
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
}

/// Waits for work on the vault's disk, up to [`ANSWER`]. Work that hangs keeps the vault's lock until it returns.
pub(super) async fn answered<T>(working: JoinHandle<T>) -> Result<T, Refused> {
    match timeout(ANSWER, working).await {
        Ok(done) => done.map_err(|_| broken()),
        Err(_) => Err(silent()),
    }
}

/// The same with a permit for background work, which is returned to others after [`ROOM`].
async fn answered_in<T>(room: Option<Permit>, mut working: JoinHandle<T>) -> Result<T, Refused> {
    if let Ok(done) = timeout(ROOM, &mut working).await {
        return done.map_err(|_| broken());
    }
    drop(room);
    answered(working).await
}

pub(super) fn silent() -> Refused {
    let what = "the disk of the vault does not answer".to_owned();
    Refused { what, fix: "check that it is still connected; what was begun continues when it is".to_owned() }
}

fn broken() -> Refused {
    Refused { what: "writing notes panicked".to_owned(), fix: "see `daemon.log`; it is tried again".to_owned() }
}

fn in_project(ids: Vec<SessionId>, table: &SessionTable, project: Option<&str>) -> Vec<SessionId> {
    let Some(project) = project else { return ids };
    let is_in = |id: &SessionId| table.get(id).is_some_and(|row| visibility::is_in(&row.state, project));
    ids.into_iter().filter(is_in).collect()
}

/// Marks sessions as owed whose notes were removed, or have links to removed notes.
fn write_again(open: &mut Open) -> Result<(), Refused> {
    // Notes that people have renamed are not removed.
    open.look_again()?;
    let turn = open.place.turn()?;
    open.follow_entities()?;
    drop(turn);
    open.settle()?;
    let mut gone = Vec::new();
    let (paths, _) = open.place.all()?;
    let known = VaultIndex::new(paths.iter().map(String::as_str), open.place.root());
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

/// Writes sessions one after another.
pub(super) fn bring(
    desk: &mut Desk,
    around: &Surroundings,
    group: &[SessionId],
    by_somebody: bool,
    (refused, refusals): (Option<Refused>, u32),
) -> Round {
    let mut round = Round { refused, refusals, ..Round::default() };
    let (table, settings, today) = (around.table.now(), around.settings.now(), day(around.clock.now()));
    let (open, pending) = match desk.at(&settings.vault) {
        Ok(open) => open,
        Err(refused) => return Round { refused: Some(refused), ..round },
    };
    open.held_back = (group.len() > 1).then(Vec::new);
    for id in group {
        if *around.stop.borrow() {
            break;
        }
        let Some(row) = table.get(id).cloned() else { continue };
        let Some(stamp) = owed_sessions::stamp(&table, &row) else { continue };
        // Another round may have written it.
        if owed_sessions::is_in(&row, &stamp, open.register.get(id), &settings.filtering) {
            continue;
        }
        // It stays owed; do not render what would not be kept.
        if round.refusals >= REFUSALS && (pending.is_full() || pending.has(id, &stamp)) {
            round.unserved.clone_from(&round.refused);
            continue;
        }
        round.sessions += 1;
        let bringing = Bringing { around, id, row: &row, stamp: stamp.clone(), today, is_asked: by_somebody };
        match bringing.carry_out(open, pending) {
            Ok(brought) => {
                if !brought.is_without_note {
                    (round.refused, round.refusals) = (None, 0);
                }
                round.without_note += u64::from(brought.is_without_note);
                round.written += u64::from(brought.written.files > 0);
                round.files += brought.written.files;
                round.conflicts += brought.written.conflicts;
                round.compacted += u64::from(brought.compacted.is_some_and(|compacted| compacted.error.is_none()));
                round.failed.extend(brought.written.left.first().map(|_| id.to_string()));
            }
            Err(Failed::Refused(refused)) => {
                round.unserved = Some(refused.clone());
                (round.refused, round.refusals) = (Some(refused), round.refusals.saturating_add(1));
            }
            Err(Failed::Unreadable(why)) => {
                tracing::warn!(session = %id, %why, "session not written into its note");
                let before = open.register.get(id).cloned().unwrap_or_default();
                open.register.put(id, Entry { stamp, left: Some(why), ..before });
                round.failed.push(id.to_string());
            }
        }
    }
    round.is_full = pending.is_full();
    // Do not touch a vault that refuses; it may not be there.
    if let Some(pages) = open.held_back.take().filter(|pages| !pages.is_empty()) {
        let mut written = super::open_vault::Written::default();
        let put = open.place.turn().and_then(|_turn| open.put(&pages, &mut written));
        round.files += written.files;
        round.conflicts += written.conflicts;
        if let Err(refused) = put {
            // The links to their notes are missing, so they stay owed.
            owe_again(open, group);
            round.refused = Some(refused);
        }
    }
    if let Err(refused) = open.settle() {
        // The notes may not survive a power cut, so they stay owed.
        owe_again(open, group);
        round.refused.get_or_insert(refused);
    }
    round
}

fn owe_again(open: &mut Open, group: &[SessionId]) {
    for id in group {
        if let Some(entry) = open.register.get(id).cloned() {
            open.register.put(id, Entry { stamp: String::new(), ..entry });
        }
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
        // The last attempt decides whether the vault accepts notes.
        (self.refused, self.refusals) = (other.refused, other.refusals);
        self.unserved = other.unserved.or(self.unserved.take());
        self.is_full = other.is_full;
    }
}
