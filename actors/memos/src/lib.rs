//! Records memos and deletions: one at a time, durable before it is acknowledged.
//!
//! The words of a memo are on disk before the event that names them, and are removed after the event that makes them
//! unreferenced. A crash in between leaves words that no event names, which [`Memos::tidy`] removes at the next start.
//!
//! # Hazards
//!
//! - Both transcript roots and memos append to `home`, with the version in the table; memos try again on a conflict.
//!
//! # Decisions
//!
//! - The deletion of an episode is recorded in its session's stream and not in `home`. `clear_graph` applies to what
//!   entered its group up to a position. What an agent deletes or clears is only hidden; a person's `forget --undo`
//!   brings it back (`episode_restored`, `group_restored`). Deleted notes are gone.

use std::collections::BTreeSet;
use std::sync::Arc;

use baton_conversation::record::{CommandId, Metadata, Position, SequenceNumber, SessionId, StreamId, Timestamp};
use baton_events::envelope::NewRecord;
use baton_events::home;
use baton_events::memo;
use baton_events::memo::{Command, Event, Memo, Source, Words};
use baton_events::schema;
use baton_events::schema::session::Encoded;
use tokio::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard};
use uuid::Uuid;

use baton_base::clock::Clock;
use baton_base::journal_health::JournalHealth;
use baton_journal::session_table::TableReader;
use baton_journal::{AppendError, Journal};
use baton_store::chunks;
use baton_store::chunks::ChunkStore;

/// Up to this number of memos, another one is accepted whatever their size.
const ALWAYS_ACCEPTED: usize = 500;
/// Number of locks: memos that share one wait for each other.
const STRIPES: usize = 32;
/// Number of attempts to append to a stream to which others append as well.
const TRIES: u32 = 4;

/// Records memos; see the module documentation. Cheap to clone.
#[derive(Clone)]
pub struct Memos {
    journal: Arc<dyn Journal>,
    table: TableReader,
    chunks: Arc<ChunkStore>,
    clock: Arc<dyn Clock>,
    outage: JournalHealth,
    locks: Arc<Locks>,
}

/// Locks: one memo's files and events change under one of `stripes`, those of all under `all`, and the home's stream
/// under `home`.
#[derive(Default)]
struct Locks {
    all: RwLock<()>,
    stripes: [Mutex<()>; STRIPES],
    home: Mutex<()>,
}

impl Locks {
    /// Locks one memo.
    async fn lock(&self, uuid: Uuid) -> (RwLockReadGuard<'_, ()>, MutexGuard<'_, ()>) {
        let all = self.all.read().await;
        let [first, ..] = *uuid.as_bytes();
        (all, self.stripes[usize::from(first) % STRIPES].lock().await)
    }
}

/// A memo to be recorded.
#[derive(Clone, Debug)]
pub struct NewMemo {
    /// Its uuid; `None` to derive it from its words.
    pub uuid: Option<Uuid>,
    /// The kind of source.
    pub source: Source,
    /// The memo's group.
    pub group: String,
    /// The time it refers to, if given.
    pub reference_time: Option<Timestamp>,
    /// Its text.
    pub words: Words,
}

/// The result of recording a memo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoChange {
    /// The memo's uuid.
    pub uuid: Uuid,
    /// What changed.
    pub done: Done,
    /// A log position that covers it.
    pub position: Position,
}

/// What a request has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// The memo is new.
    Added,
    /// The memo has replaced an earlier one.
    Replaced,
    /// Nothing changed.
    Unchanged,
}

/// Why a request was not recorded.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A rule of memos refuses it.
    #[error(transparent)]
    Memo(#[from] memo::Rejection),
    /// A rule of the home refuses it.
    #[error(transparent)]
    Home(#[from] home::Rejection),
    /// The memo was deleted, and its words are gone.
    #[error("it was deleted together with its words; add it again with add_memory")]
    Gone,
    /// There is no room for another memo.
    #[error(transparent)]
    Full(#[from] memo::Full),
    /// The words could not be stored.
    #[error(transparent)]
    Words(#[from] chunks::Error),
    /// The log did not accept the event.
    #[error(transparent)]
    Log(#[from] AppendError),
    /// The storing task panicked.
    #[error("storing it panicked; see `daemon.log`")]
    Broken,
}

impl Memos {
    /// Creates a writer to this log and these files.
    pub fn new(
        journal: Arc<dyn Journal>,
        table: TableReader,
        chunks: Arc<ChunkStore>,
        clock: Arc<dyn Clock>,
        outage: JournalHealth,
    ) -> Self {
        Self { journal, table, chunks, clock, outage, locks: Arc::default() }
    }

    /// Records a memo. Words and event are durable when this returns.
    pub async fn record(&self, wanted: NewMemo, cause: Option<CommandId>) -> Result<MemoChange, Error> {
        let NewMemo { uuid, source, group, reference_time, words } = wanted;
        let text = schema::memo::encode_words(&words);
        let hash = chunks::note_name(&text);
        let uuid = uuid.unwrap_or_else(|| memo::uuid_of(&group, &hash, reference_time));
        let bytes = text.len() as u64;
        let memo = Memo { source, group, words: hash, bytes, reference_time, at: self.clock.now() };
        let _one = self.locks.lock(uuid).await;
        let (known, is_shown) = self.state_of(uuid);
        // A memo that was cleared with its group becomes visible when it is added again.
        let again = known.memo.is_some() && !is_shown;
        let events = match memo::decide(&known, &Command::Keep(memo.clone()))? {
            events if events.is_empty() && again => vec![Event::Replaced(memo)],
            events => events,
        };
        let done = match events.first() {
            None => return Ok(MemoChange { uuid, done: Done::Unchanged, position: self.table.now().position() }),
            Some(Event::Replaced(_)) if is_shown => Done::Replaced,
            Some(_) => Done::Added,
        };
        let table = self.table.now();
        if table.memos_len() >= ALWAYS_ACCEPTED {
            let others = table.memos().filter(|(other, _)| *other != uuid);
            memo::has_room(others.filter_map(|(_, row)| Some(row.state.memo.as_ref()?.bytes)), bytes)?;
        }
        let encoded = events.iter().map(schema::memo::encode).collect();
        let put = self.blocking(move |chunks| chunks.put_note(&memo::key(uuid), &text)).await;
        let appended = match put {
            Ok(_) => self.append(StreamId::memo(uuid), encoded, cause).await,
            Err(error) => Err(error),
        };
        let position = match appended {
            Ok(position) => position,
            Err(error) => {
                // Remove the words, unless they were there before.
                self.sweep(uuid).await;
                return Err(error);
            }
        };
        tracing::info!(memo = %uuid, hash = %hash.short(), bytes, source = source.as_str(), ?done, "memo kept");
        self.sweep(uuid).await;
        Ok(MemoChange { uuid, done, position })
    }

    /// Deletes a memo. Its words are in no file of conversations when this returns.
    pub async fn delete(&self, uuid: Uuid, cause: Option<CommandId>) -> Result<MemoChange, Error> {
        let _one = self.locks.lock(uuid).await;
        let (known, _) = self.state_of(uuid);
        let events = memo::decide(&known, &Command::Delete)?;
        if events.is_empty() {
            self.sweep(uuid).await;
            return Ok(MemoChange { uuid, done: Done::Unchanged, position: self.table.now().position() });
        }
        let encoded = events.iter().map(schema::memo::encode).collect();
        let position = self.append(StreamId::memo(uuid), encoded, cause).await?;
        tracing::info!(memo = %uuid, reason = "asked for", "memo deleted");
        self.sweep(uuid).await;
        Ok(MemoChange { uuid, done: Done::Replaced, position })
    }

    /// Clears the present content of these groups, or of all if none is given. Returns a position that covers it.
    pub async fn clear(&self, groups: &[String], cause: Option<CommandId>) -> Result<Position, Error> {
        self.home(cause, |state, now| home::clear(state, groups, now)).await
    }

    /// Restores what was cleared of a group, or of all groups.
    pub async fn restore_group(&self, group: Option<&str>, cause: Option<CommandId>) -> Result<Position, Error> {
        self.home(cause, |state, _| Ok(home::restore(state, group))).await
    }

    /// Restores a memo that was cleared with its group, as if it were added now. A deleted memo has no words any more.
    pub async fn restore(&self, uuid: Uuid, cause: Option<CommandId>) -> Result<MemoChange, Error> {
        let _one = self.locks.lock(uuid).await;
        let (known, is_shown) = self.state_of(uuid);
        let position = self.table.now().position();
        match known.memo {
            None if known.created_at.is_some() => Err(Error::Gone),
            None => Err(memo::Rejection::Unknown.into()),
            Some(_) if is_shown => Ok(MemoChange { uuid, done: Done::Unchanged, position }),
            Some(memo) => {
                let encoded = vec![schema::memo::encode(&Event::Replaced(memo))];
                let position = self.append(StreamId::memo(uuid), encoded, cause).await?;
                tracing::info!(memo = %uuid, reason = "asked for", "memo found again");
                Ok(MemoChange { uuid, done: Done::Added, position })
            }
        }
    }

    /// True if the current rules redact more of a memo's words. Blocks for a disk read.
    pub fn holds_more_to_redact(&self, uuid: Uuid) -> Result<bool, chunks::Error> {
        self.chunks.remove_unfinished_notes(&memo::key(uuid))?;
        let Some(memo) = self.state_of(uuid).0.memo else { return Ok(false) };
        Ok(redacted(&self.chunks, uuid, &memo)?.is_some())
    }

    /// Redacts a memo's words again. The former words are in no file of conversations when this returns.
    pub async fn redact_again(&self, uuid: Uuid) -> Result<(), Error> {
        let _one = self.locks.lock(uuid).await;
        let known = self.state_of(uuid).0;
        let Some(memo) = known.memo.clone() else { return Ok(()) };
        let of = memo.words;
        let put = self.blocking(move |chunks| match redacted(chunks, uuid, &memo)? {
            Some(text) => Ok(Some((chunks.put_note(&memo::key(uuid), &text)?, text.len() as u64))),
            None => Ok(None),
        });
        if let Some((words, bytes)) = put.await? {
            let events = memo::decide(&known, &Command::Redact { of, words, bytes })?;
            self.append(StreamId::memo(uuid), events.iter().map(schema::memo::encode).collect(), None).await?;
            tracing::info!(memo = %uuid, reason = "newer rules", "memo redacted again");
        }
        self.sweep(uuid).await;
        Ok(())
    }

    /// Hides a fact.
    pub async fn delete_fact(&self, fact: Uuid, cause: Option<CommandId>) -> Result<Position, Error> {
        self.home(cause, |state, _| home::delete_fact(state, fact)).await
    }

    /// Shows a deleted fact again.
    pub async fn restore_fact(&self, fact: Uuid, cause: Option<CommandId>) -> Result<Position, Error> {
        self.home(cause, |state, _| Ok(home::restore_fact(state, fact))).await
    }

    /// Records that a model was enabled or disabled, unless the log says so already.
    pub async fn switch_model(&self, is_enabled: bool) -> Result<Position, Error> {
        let now = self.clock.now();
        self.home(None, |state, _| Ok(home::switch_model(state, is_enabled, now))).await
    }

    /// Records the first recall of an entity in a project other than its own.
    pub async fn record_recall(&self, entity: Uuid, project: &str) -> Result<Position, Error> {
        self.home(None, |state, _| Ok(home::recall(state, entity, project))).await
    }

    async fn home(
        &self,
        cause: Option<CommandId>,
        decide: impl Fn(&home::State, Position) -> Result<Vec<home::Event>, home::Rejection>,
    ) -> Result<Position, Error> {
        let _one = self.locks.home.lock().await;
        let table = self.table.now();
        let events = decide(&table.home().state, table.position())?;
        if events.is_empty() {
            return Ok(table.position());
        }
        for event in &events {
            let kind = schema::home::encode(event).kind;
            match event {
                home::Event::EntityRecalled { entity, .. } => {
                    tracing::info!(%entity, kind, "recalled in another project");
                }
                _ => tracing::info!(reason = "asked for", kind, "home changed"),
            }
        }
        self.append(StreamId::home(), events.iter().map(schema::home::encode).collect(), cause).await
    }

    /// Lists folders that belong to no session and no memo, to be called before anything is written: a daemon killed
    /// between a memo's words and its event leaves one. Empty if some events are readable only by a newer version.
    /// Blocks for the disk.
    pub fn strays(&self) -> BTreeSet<String> {
        let table = self.table.now();
        let mut folders = match table.skipped() {
            0 => self.chunks.folders().unwrap_or_default(),
            _ => BTreeSet::new(),
        };
        let memos = table.memos().map(|(uuid, _)| memo::key(uuid));
        for owner in table.iter().map(|(session, _)| session.clone()).chain(memos) {
            if let Some(name) = self.chunks.folder_of(&owner).file_name().and_then(|name| name.to_str()) {
                folders.remove(name);
            }
        }
        folders
    }

    /// Removes words that no event names: of memos that were deleted or replaced just before a daemon ended, and of
    /// memos that were never recorded, whose folders are `strays`.
    pub async fn tidy(&self, strays: BTreeSet<String>) {
        for folder in strays {
            let _all = self.locks.all.write().await;
            // The memo may have been added meanwhile.
            if !self.strays().contains(&folder) {
                continue;
            }
            let name = folder.clone();
            match self.blocking(move |chunks| chunks.discard_if_only_notes(&name)).await {
                Ok(removed) if removed.files > 0 => {
                    tracing::info!(%folder, files = removed.files, reason = "never recorded", "unnamed words of a memo removed");
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%folder, %error, "unnamed words of a memo not removed; the next start tries again");
                }
            }
        }
        let Ok(folders) = self.blocking(ChunkStore::folders).await else { return };
        let table = self.table.now();
        // A memo with a single event has never had other words.
        let changed = table.memos().filter(|(_, row)| row.version > SequenceNumber(1)).map(|(uuid, _)| uuid);
        let has_folder = |uuid: &Uuid| {
            let folder = self.chunks.folder_of(&memo::key(*uuid));
            folder.file_name().and_then(|name| name.to_str()).is_some_and(|name| folders.contains(name))
        };
        let owed: Vec<Uuid> = changed.filter(has_folder).collect();
        for uuid in owed {
            let _one = self.locks.lock(uuid).await;
            self.sweep(uuid).await;
        }
        self.collect(folders).await;
    }

    /// Removes folders that hold only words of memos without an event, left by a daemon that ended in between.
    async fn collect(&self, folders: BTreeSet<String>) {
        // Exclude memos whose words are written but whose event is not.
        let _all = self.locks.all.write().await;
        let table = self.table.now();
        let name =
            |id: &SessionId| self.chunks.folder_of(id).file_name().map(|name| name.to_string_lossy().into_owned());
        let sessions = table.iter().filter_map(|(id, _)| name(id));
        let known: BTreeSet<String> =
            sessions.chain(table.memos().filter_map(|(uuid, _)| name(&memo::key(uuid)))).collect();
        for folder in folders.into_iter().filter(|folder| !known.contains(folder)) {
            let named = folder.clone();
            match self.blocking(move |chunks| chunks.discard_words(&folder)).await {
                Ok(removed) if removed.files > 0 => {
                    tracing::info!(folder = %named, "unnamed words of a memo removed");
                }
                Ok(_) => {}
                Err(error) => tracing::warn!(folder = %named, %error, "unnamed words of a memo not removed"),
            }
        }
    }

    /// Removes a memo's former words. The caller holds its lock. The next start removes what cannot be removed now.
    async fn sweep(&self, uuid: Uuid) {
        let named: BTreeSet<_> = self.state_of(uuid).0.memo.map(|memo| memo.words).into_iter().collect();
        if let Err(error) = self.blocking(move |chunks| chunks.keep_notes(&memo::key(uuid), &named)).await {
            tracing::warn!(memo = %uuid, %error, "unnamed words of a memo not removed; the next start tries again");
        }
    }

    /// Returns a memo's state, and whether it is visible.
    fn state_of(&self, uuid: Uuid) -> (memo::State, bool) {
        let table = self.table.now();
        (table.memo_row(uuid).map(|row| row.state.clone()).unwrap_or_default(), table.memo(uuid).is_some())
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&ChunkStore) -> Result<T, chunks::Error> + Send + 'static,
    ) -> Result<T, Error> {
        let chunks = self.chunks.clone();
        let done = baton_base::task::spawn_blocking(move || work(&chunks)).await;
        Ok(done.map_err(|_| Error::Broken)??)
    }

    /// Appends to the end of a stream and returns the position of the last event.
    async fn append(
        &self,
        stream: StreamId,
        events: Vec<Encoded>,
        cause: Option<CommandId>,
    ) -> Result<Position, Error> {
        let metadata = Metadata { correlation: cause.clone(), cause };
        let now = self.clock.now();
        let record = |encoded: &Encoded| NewRecord {
            kind: encoded.kind.to_owned(),
            v: encoded.v,
            at: now,
            metadata: metadata.clone(),
            data: encoded.data.clone(),
        };
        let mut expected = self.version_of(&stream);
        for tried in 1.. {
            let appended = self.journal.append(stream.clone(), expected, events.iter().map(record).collect()).await;
            match appended {
                Ok(appended) => {
                    self.outage.record_success(now);
                    return Ok(Position(appended.first.0 + events.len() as u64 - 1));
                }
                // Others append to the home's stream too, and a memo's may have events that only a newer version reads.
                Err(AppendError::Conflict { actual }) if tried < TRIES => expected = actual,
                Err(error) => {
                    if let AppendError::Refused { reason, .. } = &error {
                        self.outage.record_failure(reason, now);
                    }
                    return Err(error.into());
                }
            }
        }
        Err(Error::Broken)
    }

    fn version_of(&self, stream: &StreamId) -> SequenceNumber {
        let table = self.table.now();
        match stream.memo_uuid() {
            Some(uuid) => table.memo_row(uuid).map(|row| row.version).unwrap_or_default(),
            None => table.home().version,
        }
    }
}

/// Returns the stored form of a memo's words as redacted by the current rules; `None` if nothing changes, or if they
/// are missing or damaged. Blocks for a disk read.
fn redacted(chunks: &ChunkStore, uuid: Uuid, memo: &Memo) -> Result<Option<String>, chunks::Error> {
    let text = match chunks.note(&memo::key(uuid), &memo.words) {
        Err(chunks::Error::Missing { .. } | chunks::Error::Damaged { .. }) => return Ok(None),
        text => text?,
    };
    let words = schema::memo::decode_words(&text).ok().map(|words| schema::memo::encode_words(&words.redacted()));
    Ok(words.filter(|redacted| *redacted != text))
}
