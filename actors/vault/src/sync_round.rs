//! Rounds: owed notes are written at once, and once a day every note is checked.
//!
//! # Hazards
//!
//! - A disk of notes that hangs keeps the thread and the vault's lock until it answers. Callers wait at most `DISK_WAIT`;
//!   the permit for background work is returned after `PERMIT_TIME`.

mod compact;
pub(crate) mod sweep;

use baton_views::visibility;
use std::sync::Arc;
use std::time::{Duration, Instant};

use baton_base::task::Task;
use baton_conversation::record::SessionId;
use baton_events::projection::table::SessionTable;
use baton_notes::verify::{VaultIndex, links};
use baton_protocol::answer;
use tokio::time::timeout;

use super::open_vault::{OpenVault, Vaults, day};
use super::promotion::promote;
use super::register::Entry;
use super::status::{Progress, pluralize, sessions_waiting};
use super::vault_fs::{Refused, of_file};
use super::write_session::{SessionWriter, WriteError};
use super::{DISK_WAIT, NoteWriter, PERMIT_TIME, owed_sessions};
use crate::Options;
use baton_base::throttle::Permit;

pub(super) use sweep::SweepError;

/// Number of sessions written at a time; forgetting waits for one group.
const GROUP_SESSIONS: usize = 32;
/// Longest time that a round yields to queries.
const YIELD: Duration = Duration::from_secs(5);
/// Consecutive refusals after which sessions already in the outbox are not tried again in the same round.
const REFUSALS: u32 = 3;
/// Most sessions named in an answer.
const MOST_NAMED: usize = 8;

/// What a round is to do.
#[derive(Clone, Debug, Default)]
pub struct SyncRequest {
    /// True if a person asked for it: then removed notes are written again.
    pub is_manual: bool,
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
    unresolved: Option<Refused>,
    /// Number of refusals since the vault last accepted something.
    refusals: u32,
    /// True if the outbox is full.
    is_full: bool,
}

impl NoteWriter {
    /// Writes what is owed.
    pub(super) async fn run_round(&self, request: &SyncRequest) -> Round {
        let options = &self.options;
        let mut round = Round::default();
        let owed = match self.find_owed(request).await {
            Ok((owed, refused)) => {
                // Do not try an unreachable vault for each session.
                round.refusals = if refused.is_some() { REFUSALS } else { 0 };
                round.refused = refused;
                owed
            }
            Err(refused) => {
                self.last_known().set_refusal(Some(refused.clone()));
                return Round { refused: Some(refused), ..round };
            }
        };
        request.progress.begin(owed.len());
        self.last_known().owed = owed.len() as u64;
        // A few sessions are written one by one, so that a session that just ended is in its note soon.
        let size = if owed.len() > GROUP_SESSIONS / 4 { GROUP_SESSIONS } else { 1 };
        for group in owed.chunks(size) {
            if *options.stop.borrow() || !options.settings.now().vault.enabled {
                return round;
            }
            let begun = Instant::now();
            self.yield_to_queries(request.is_manual).await;
            let done = self.run_group(request, group, (round.refused.clone(), round.refusals)).await;
            request.progress.step(group.len());
            let mut last_known = self.last_known();
            last_known.owed = last_known.owed.saturating_sub(group.len() as u64);
            if done.written == 1 && group.len() == 1 {
                last_known.last_end_ms = Some(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX));
            }
            drop(last_known);
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
        round.refused = round.refused.or(round.unresolved.take());
        self.last_known().set_refusal(round.refused.clone());
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
        self.on_disk(move |vaults, options| {
            let (settings, table) = (options.settings.now(), options.table.now());
            promote(vaults, options, &settings, &table, is_news)
        })
        .await
    }

    /// True if notes were left alone that may be written later.
    pub(super) async fn has_left_alone(&self) -> bool {
        let looking = self.on_disk(|vaults, options| {
            let (open, _) = vaults.open(&options.settings.now().vault)?;
            Ok(open.register.left_alone().next().is_some())
        });
        looking.await.unwrap_or(false)
    }

    /// Makes the next round try them again.
    pub(super) async fn retry_left_alone(&self) {
        let marking = self.on_disk(|vaults, options| {
            let (open, _) = vaults.open(&options.settings.now().vault)?;
            let left: Vec<SessionId> = open.register.left_alone().cloned().collect();
            open.register.mark_owed(&left);
            Ok(())
        });
        let _ = marking.await;
    }

    async fn yield_to_queries(&self, is_manual: bool) {
        let options = &self.options;
        if !is_manual {
            let mut asked = options.throttle.questions();
            let _ = timeout(YIELD, asked.wait_for(|questions| *questions == 0)).await;
        }
    }

    /// Returns what is owed, and why the vault refuses if that is known without trying.
    async fn find_owed(&self, request: &SyncRequest) -> Result<(Vec<SessionId>, Option<Refused>), Refused> {
        let (request, was_refused) = (request.clone(), self.last_known().is_refused());
        let looking = self.on_disk(move |vaults, options| {
            let (table, settings) = (options.table.now(), options.settings.now());
            let (open, outbox) = vaults.open(&settings.vault)?;
            let is_idle = open.owed(&table, &settings).len() == 0 && outbox.len() == 0;
            // The vault was walked before and nothing is to be done: leave its disk alone.
            if is_idle && !request.is_manual && !was_refused && open.known_index().is_some() {
                return Ok((Vec::new(), None));
            }
            // Even then owed notes are put into the outbox.
            let refused = open.check(request.is_manual).and_then(|()| open.index().map(drop)).err();
            if request.is_manual {
                if let Some(refused) = refused {
                    return Err(refused);
                }
                owe_removed_notes(open)?;
            }
            let owed = open.owed(&table, &settings).sessions();
            // Written already, while they waited for another vault.
            let delivered = outbox.sessions().filter(|id| {
                let stamp = table.get(id).and_then(|row| owed_sessions::stamp(&table, row));
                refused.is_none()
                    && stamp.is_some()
                    && open.register.get(id).map(|entry| &entry.stamp) == stamp.as_ref()
            });
            let delivered: Vec<SessionId> = delivered.cloned().collect();
            for id in delivered {
                let _ = outbox.remove(&id);
            }
            Ok((in_project(owed, &table, request.project.as_deref()), refused))
        });
        looking.await
    }

    /// Writes one group. `before` is why the vault refused the previous group, and how often.
    async fn run_group(&self, request: &SyncRequest, group: &[SessionId], before: (Option<Refused>, u32)) -> Round {
        let options = &self.options;
        let mut vaults = match self.lock_vaults().await {
            Ok(vaults) => vaults,
            Err(refused) => return Round { refused: Some(refused), ..Round::default() },
        };
        // Taken after the vault's lock, so that background work does not wait for its holder.
        let permit = if request.is_manual { None } else { Some(options.throttle.wait_for_background().await) };
        let (options, group, is_manual) = (options.clone(), group.to_vec(), request.is_manual);
        let working =
            baton_base::task::spawn_blocking(move || write_group(&mut vaults, &options, &group, is_manual, before));
        match wait_with_permit(permit, working).await {
            Ok(round) => round,
            Err(refused) => Round { refused: Some(refused), ..Round::default() },
        }
    }

    /// Writes everything that is owed, now.
    pub async fn sync(&self, request: &SyncRequest) -> answer::VaultSync {
        let begun = Instant::now();
        let _ = timeout(YIELD, self.look_for_away()).await;
        self.remove_forgotten().await;
        let round = self.run_round(request).await;
        self.wake.notify_one();
        let pending = self.status().await.pending;
        let is_done = round.refused.is_none() && round.failed.is_empty();
        let message = match (&round.refused, round.failed.len()) {
            (Some(Refused { what, fix }), _) => format!(
                "the vault accepts {} now: {what}; {fix}. {} in vault-pending, and it is tried again by itself",
                if round.written > 0 { "not everything" } else { "nothing" },
                sessions_waiting(pending),
            ),
            (None, 0) if round.written == 0 => "Every session that is over is in its note.".to_owned(),
            (None, 0) => format!(
                "{} now: {} written{}.",
                if round.written == 1 {
                    "1 session is in its note".to_owned()
                } else {
                    format!("{} sessions are in their notes", round.written)
                },
                pluralize(round.files, "file"),
                if round.compacted > 0 {
                    format!(", {} compacted", pluralize(round.compacted, "note"))
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
            failed: round.failed.into_iter().take(MOST_NAMED).collect(),
            seconds: (begun.elapsed().as_secs_f64() * 1e3).round() / 1e3,
            message,
        }
    }
}

/// Waits for work on the vault's disk, up to [`DISK_WAIT`]. Work that hangs keeps the vault's lock until it returns.
pub(super) async fn wait_for_disk<T: 'static>(working: Task<T>) -> Result<T, Refused> {
    match timeout(DISK_WAIT, working).await {
        Ok(done) => done.map_err(|_| panicked()),
        Err(_) => Err(unresponsive()),
    }
}

/// The same with a permit for background work, which is returned to others after [`PERMIT_TIME`].
async fn wait_with_permit<T: 'static>(permit: Option<Permit>, mut working: Task<T>) -> Result<T, Refused> {
    if let Ok(done) = timeout(PERMIT_TIME, &mut working).await {
        return done.map_err(|_| panicked());
    }
    drop(permit);
    wait_for_disk(working).await
}

pub(super) fn unresponsive() -> Refused {
    let what = "the disk of the vault does not answer".to_owned();
    Refused { what, fix: "check that it is still connected; what was begun continues when it is".to_owned() }
}

fn panicked() -> Refused {
    Refused { what: "writing notes panicked".to_owned(), fix: "see `daemon.log`; it is tried again".to_owned() }
}

fn in_project(ids: Vec<SessionId>, table: &SessionTable, project: Option<&str>) -> Vec<SessionId> {
    let Some(project) = project else { return ids };
    let is_in = |id: &SessionId| table.get(id).is_some_and(|row| visibility::is_in(&row.state, project));
    ids.into_iter().filter(is_in).collect()
}

/// Marks sessions as owed whose notes were removed, or have links to removed notes.
fn owe_removed_notes(open: &mut OpenVault) -> Result<(), Refused> {
    // Notes that people have renamed are not removed.
    open.refresh_index()?;
    let lock = open.vault_fs.lock()?;
    open.relink_entity_notes()?;
    drop(lock);
    open.sync()?;
    let mut gone = Vec::new();
    let (paths, _) = open.vault_fs.list_notes()?;
    let known = VaultIndex::new(paths.iter().map(String::as_str), open.vault_fs.root());
    for (id, entry) in open.register.entries() {
        let Some(path) = entry.note.as_deref() else { continue };
        let leads = |text: String| text.lines().flat_map(links).all(|target| known.is_link_target(target));
        let is_there = of_file(open.read_text(path))?.map_or(true, |text| text.is_some_and(leads));
        if !is_there || entry.left.is_some() {
            gone.push(id.clone());
        }
    }
    for id in gone {
        open.register.update(&id, Entry::try_again);
    }
    Ok(())
}

/// Writes sessions one after another.
pub(super) fn write_group(
    vaults: &mut Vaults,
    options: &Options,
    group: &[SessionId],
    is_manual: bool,
    (refused, refusals): (Option<Refused>, u32),
) -> Round {
    let mut round = Round { refused, refusals, ..Round::default() };
    let (table, settings, today) = (options.table.now(), options.settings.now(), day(&*options.clock));
    let (open, outbox) = match vaults.open(&settings.vault) {
        Ok(open) => open,
        Err(refused) => return Round { refused: Some(refused), ..round },
    };
    open.held_back = (group.len() > 1).then(Vec::new);
    for id in group {
        if *options.stop.borrow() {
            break;
        }
        let Some(row) = table.get(id).cloned() else { continue };
        let Some(stamp) = owed_sessions::stamp(&table, &row) else { continue };
        // Another round may have written it.
        if owed_sessions::is_written(&row, &stamp, open.register.get(id), &settings.filtering) {
            continue;
        }
        // It stays owed; do not render what would not be kept.
        if round.refusals >= REFUSALS && (outbox.is_full() || outbox.has(id, &stamp)) {
            round.unresolved.clone_from(&round.refused);
            continue;
        }
        round.sessions += 1;
        let writer = SessionWriter { options, id, row: &row, stamp: stamp.clone(), today, is_manual };
        match writer.write_or_queue(open, outbox) {
            Ok(outcome) => {
                if !outcome.is_without_note {
                    (round.refused, round.refusals) = (None, 0);
                }
                round.without_note += u64::from(outcome.is_without_note);
                round.written += u64::from(outcome.written.files > 0);
                round.files += outcome.written.files;
                round.conflicts += outcome.written.conflicts;
                round.compacted += u64::from(outcome.compacted.is_some_and(|compacted| compacted.error.is_none()));
                round.failed.extend(outcome.written.left.first().map(|_| id.to_string()));
            }
            Err(WriteError::Refused(refused)) => {
                round.unresolved = Some(refused.clone());
                (round.refused, round.refusals) = (Some(refused), round.refusals.saturating_add(1));
            }
            Err(WriteError::Unreadable(why)) => {
                tracing::warn!(session = %id, %why, "session not written into its note");
                let before = open.register.get(id).cloned().unwrap_or_default();
                open.register.put(id, Entry { stamp, left: Some(why), ..before });
                round.failed.push(id.to_string());
            }
        }
    }
    round.is_full = outbox.is_full();
    // Do not touch a vault that refuses; it may not be there.
    if let Some(pages) = open.held_back.take().filter(|pages| !pages.is_empty()) {
        let mut written = super::open_vault::Written::default();
        let put = open.vault_fs.lock().and_then(|_lock| open.merge_notes(&pages, &mut written));
        round.files += written.files;
        round.conflicts += written.conflicts;
        if let Err(refused) = put {
            // The links to their notes are missing, so they stay owed.
            open.register.mark_owed(group);
            round.refused = Some(refused);
        }
    }
    if let Err(refused) = open.sync() {
        // The notes may not survive a power cut, so they stay owed.
        open.register.mark_owed(group);
        round.refused.get_or_insert(refused);
    }
    round
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
        self.unresolved = other.unresolved.or(self.unresolved.take());
        self.is_full = other.is_full;
    }
}
