//! The state of the vault, as `status` reports it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use baton_conversation::record::{SessionId, Timestamp};
use baton_events::projection::table::SessionTable;
use baton_protocol::answer::{Problem, Vault, VaultFailure};
use baton_redaction::redact;

use super::open_vault::Vaults;
use super::vault_fs::{Refused, VaultFs};
use super::{forgetting, owed_sessions};
use baton_config::settings::Settings;

/// Most notes named of each kind.
const NAMED: usize = 8;

/// `1 note`, `2 notes`.
pub fn pluralize(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// `1 session waits`, `2 sessions wait`.
pub fn sessions_waiting(sessions: u64) -> String {
    format!("{} {}", pluralize(sessions, "session"), if sessions == 1 { "waits" } else { "wait" })
}

/// The progress of a long operation.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU64,
    total: AtomicU64,
}

impl Progress {
    pub(super) fn begin(&self, total: usize) {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total as u64, Ordering::Relaxed);
    }

    pub(super) fn step(&self, count: usize) {
        self.done.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Returns the finished and the total count.
    pub fn now(&self) -> (u64, u64) {
        let total = self.total.load(Ordering::Relaxed);
        (self.done.load(Ordering::Relaxed).min(total), total)
    }
}

/// The last known state, available while the vault is locked.
#[derive(Debug, Default)]
pub(super) struct LastKnown {
    pub(super) counted: Vault,
    /// Sessions that the running round has still to write.
    pub(super) owed: u64,
    pub(super) last_end_ms: Option<u64>,
    problem: Option<Refused>,
    /// Why the daily sweep fails although the vault accepts notes.
    stuck: Option<Refused>,
}

impl LastKnown {
    /// Records why the vault refuses, or that it accepts notes.
    pub(super) fn set_refusal(&mut self, refused: Option<Refused>) {
        match (&self.problem, &refused) {
            (None, Some(refused)) => {
                tracing::error!(problem = %refused, "notes cannot be written, and are kept in vault-pending; trying again");
            }
            (Some(_), None) => tracing::info!("notes are written again"),
            _ => {}
        }
        self.problem = refused;
    }

    /// Records why the daily sweep fails, or that it does not.
    pub(super) fn set_stuck(&mut self, stuck: Option<Refused>) {
        if let Some(problem) = stuck.as_ref().filter(|problem| self.stuck.as_ref() != Some(problem)) {
            tracing::error!(%problem, "not all notes could be checked; trying again every hour");
        }
        self.stuck = stuck;
    }

    /// True if the vault refused the last attempt.
    pub(super) fn is_refused(&self) -> bool {
        self.problem.is_some()
    }

    pub(super) fn answer(&self, settings: &Settings, home: &Path) -> Vault {
        let (vault, vault_fs) = (&settings.vault, VaultFs::from_settings(&settings.vault, home));
        let problem = self.problem.as_ref().filter(|_| vault.enabled);
        let fails = !self.counted.failed.is_empty() || !self.counted.left_alone.is_empty();
        let state = match (vault.enabled, problem, self.owed.max(self.counted.behind)) {
            (false, ..) => "off",
            (true, Some(_), _) => "waiting",
            (true, None, 0) if fails || self.stuck.is_some() => "incomplete",
            (true, None, 0) => "ready",
            (true, None, _) => "writing",
        };
        Vault {
            enabled: vault.enabled,
            state: state.to_owned(),
            path: redact(&vault_fs.vault().display().to_string()).into_owned(),
            root: vault.root.clone(),
            last_end_ms: self.last_end_ms,
            problem: problem
                .or(self.stuck.as_ref().filter(|_| vault.enabled))
                .map(|refused| Problem { what: redact(&refused.what).into_owned(), fix: refused.fix.clone() }),
            ..self.counted.clone()
        }
    }
}

/// Counts notes and owed sessions, and returns why the vault is unreachable, if it is. With `removal_owed`, earlier
/// vaults may still have notes of forgotten sessions. Blocks for short reads.
pub(super) fn count(
    vaults: &mut Vaults,
    settings: &Arc<Settings>,
    table: &SessionTable,
    removal_owed: bool,
) -> (Vault, Option<Refused>) {
    let pending = vaults.outbox.len() as u64;
    let former =
        if removal_owed { forgetting::owed_removals(vaults, table, &settings.vault).sessions.len() as u64 } else { 0 };
    let Ok((open, _)) = vaults.open(&settings.vault) else {
        return (Vault { pending, to_remove: former, ..Vault::default() }, None);
    };
    let away = if settings.vault.enabled { open.check(false).err() } else { None };
    let register = &open.register;
    let mut counted = Vault { pending, ..Vault::default() };
    let redacted = |text: &str| redact(text).into_owned();
    for (_, entry) in register.entries() {
        let Some(note) = &entry.note else { continue };
        if entry.removed {
            continue;
        }
        counted.notes += 1;
        match entry.status.as_str() {
            "archived" => counted.archived += 1,
            "compaction_failed" => counted.compaction_failed += 1,
            _ => counted.active += 1,
        }
        let failure = |error: &String| VaultFailure { note: redacted(note), error: redacted(error) };
        if counted.failed.len() < NAMED {
            counted.failed.extend(entry.error.as_ref().map(failure));
        }
        if counted.left_alone.len() < NAMED {
            counted.left_alone.extend(entry.left.as_ref().map(failure));
        }
    }
    // For a folder that is gone they are only remembered, and nothing can be done now.
    let is_owed = |id: &SessionId| register.get(id).is_some_and(|entry| !entry.is_sealed());
    counted.to_remove =
        former.max(owed_sessions::forgotten_in_vault(table, register).iter().filter(|id| is_owed(id)).count() as u64);
    if settings.vault.enabled {
        counted.behind = open.owed(table, settings).len() as u64;
    }
    counted.swept_at = open.register.swept_at().map(|at| Timestamp(at).to_string());
    if let Some(names) = open.known_index() {
        for (note, why) in names.unreadable_heads() {
            if counted.left_alone.len() < NAMED && !counted.left_alone.iter().any(|known| known.note == note) {
                counted.left_alone.push(VaultFailure { note: redacted(note), error: redacted(why) });
            }
        }
        counted.conflicts = names.conflicts();
        counted.promoted = names.shared_count();
    }
    (counted, away)
}
