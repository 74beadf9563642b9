//! Notes in the vault: status, sync, compaction, verification, reading; and records entities that were recalled outside
//! of their project.

use std::path::Path;
use std::sync::Arc;

use baton_conversation::record::SessionId;
use baton_events::projection::table::SessionTable;
use baton_protocol::{Caller, Failure, VaultCompactParams, VaultReadParams, VaultSyncParams, answer, code};
use uuid::Uuid;

use super::QueryError;
use super::transcript_scan::with_progress;
use crate::client::{ClientRef, failure};
use crate::resolve;
use crate::resolve::SessionResolver;
use baton_config::settings::Settings;
use baton_memory::{GraphQuery, Node, Sieve};
use baton_tracking::indexer;
use baton_vault::{NoteWriter, Progress, ReadError, SyncRequest};
use baton_views::catalog::Catalog;

pub(crate) async fn status(note_writer: &NoteWriter) -> answer::Vault {
    note_writer.status().await
}

fn vault_off() -> Failure {
    failure(code::REFUSED, "notes are off: set vault.enabled to true in config.json (`baton config` shows it)")
}

fn check(settings: &Settings) -> Result<(), Failure> {
    if settings.vault.enabled { Ok(()) } else { Err(vault_off()) }
}

pub(crate) async fn sync(
    asked: VaultSyncParams,
    catalog: &Catalog,
    note_writer: &Arc<NoteWriter>,
    client: &ClientRef,
) -> Result<answer::VaultSync, QueryError> {
    let (table, settings) = catalog.now();
    check(&settings)?;
    let project = asked.project.map(|name| resolve::project(&table, &settings, &name)).transpose()?;
    let progress = Arc::new(Progress::default());
    let asked = SyncRequest { is_manual: true, project, progress: progress.clone() };
    // A task of its own, so that it does not stop half-way when the client disconnects.
    let working = note_writer.clone();
    let syncing = baton_base::task::spawn(async move { working.sync(&asked).await });
    let synced = with_progress(client, "writing notes", || progress.now(), syncing).await?;
    Ok(synced.map_err(|error| super::internal("writing notes broke", error))?)
}

pub(crate) async fn compact(
    asked: VaultCompactParams,
    resolver: SessionResolver<'_>,
    note_writer: &NoteWriter,
    client: &ClientRef,
) -> Result<answer::VaultCompact, QueryError> {
    check(&resolver.catalog().settings.now())?;
    let session = match &asked.session {
        Some(text) => Some(resolver.find_session(text).await?),
        None => None,
    };
    let progress = Progress::default();
    let work = note_writer.compact(session, asked.dry_run, &progress);
    let compacted = with_progress(client, "compacting notes", || progress.now(), work).await?;
    Ok(compacted.map_err(|why| failure(code::NOT_FOUND, why))?)
}

pub(crate) async fn verify(note_writer: &NoteWriter, client: &ClientRef) -> Result<answer::VaultVerify, QueryError> {
    let progress = Arc::new(Progress::default());
    let work = note_writer.verify(progress.clone());
    let verified = with_progress(client, "reading notes", || progress.now(), work).await?;
    Ok(verified.map_err(|unread| failure(code::NOT_FOUND, unread.to_string()))?)
}

pub(crate) async fn read(asked: VaultReadParams, note_writer: &NoteWriter) -> Result<answer::VaultRead, QueryError> {
    let read = note_writer.read(&asked.path).await;
    Ok(read.map_err(|unread| match unread {
        ReadError::Outside(..) => failure(code::INVALID_PARAMS, unread.to_string()),
        ReadError::Unknown(..) | ReadError::Unreadable(_) | ReadError::Refused { .. } => {
            failure(code::NOT_FOUND, unread.to_string())
        }
    })?)
}

/// Entities that an answer contained.
pub(super) enum Recalled {
    /// These entities.
    Nodes(Vec<Uuid>),
    /// The entities that words mean, in these sessions.
    Words {
        /// The words.
        words: String,
        /// The sessions.
        sessions: Vec<String>,
    },
}

/// Most entities that the words of a question are taken to mean.
const MEANT: usize = 5;

/// Records which entities were recalled outside of their project.
pub(crate) struct RecallRecorder<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) indexer: &'a indexer::Handle,
    pub(crate) note_writer: &'a Arc<NoteWriter>,
}

impl RecallRecorder<'_> {
    /// Records it after the answer. The first time is an event.
    pub(super) fn record(&self, caller: &Caller, recalled: Recalled) {
        let is_on = self.catalog.settings.now().vault.enabled;
        let Some(directory) = caller.directory.clone().filter(|_| is_on) else { return };
        let (catalog, indexer) = (self.catalog.clone(), self.indexer.clone());
        let note_writer = self.note_writer.clone();
        baton_base::task::spawn(async move {
            let looked = baton_base::task::spawn_blocking(move || {
                let table = catalog.table.now();
                let Some(project) = project_of(&directory, &table) else { return (String::new(), Vec::new()) };
                let nodes = nodes(&indexer, &catalog.hidden_now(), &recalled).unwrap_or_default();
                let elsewhere = nodes.into_iter().filter(|node| !is_own_project(node, &project, &table));
                let elsewhere = elsewhere.map(|node| (node.uuid, node.label)).collect();
                (project, elsewhere)
            });
            let Ok((project, nodes)) = looked.await else { return };
            note_writer.record_recalls(&project, nodes).await;
        });
    }
}

/// The project of a directory in which a session has worked. A folder inside a project without a repository belongs to
/// that project.
fn project_of(directory: &str, table: &SessionTable) -> Option<String> {
    let project = baton_views::clones::project_of(table, directory);
    let known = table.iter().filter_map(|(_, row)| row.state.place.as_ref()).map(|place| place.project.as_str());
    let is_above = |known: &&str| Path::new(&project).starts_with(known);
    known.filter(is_above).max_by_key(|known| known.len()).map(str::to_owned)
}

/// Returns true if the project is the entity's own: its group, or the project of a session that has it, because
/// sessions may be in a group of their own.
fn is_own_project(node: &Node, project: &str, table: &SessionTable) -> bool {
    let works_there = |id: &SessionId| {
        let place = table.get(id).and_then(|row| row.state.place.as_ref());
        place.is_some_and(|place| place.project == project)
    };
    node.group_id == project || node.latest.iter().any(|(id, _)| works_there(id))
}

/// The entities in question; `None` while the memory is not available.
fn nodes(indexer: &indexer::Handle, hidden: &dyn Fn(&str) -> bool, recalled: &Recalled) -> Option<Vec<Node>> {
    let searcher = indexer.searcher().ok()?;
    let found = match recalled {
        Recalled::Nodes(uuids) => uuids.iter().filter_map(|uuid| searcher.node(*uuid, hidden).ok()?).collect(),
        Recalled::Words { words, sessions } => {
            let asked = GraphQuery {
                text: words,
                exclude: hidden,
                labels: &[],
                sieve: Sieve::default(),
                center: None,
                limit: MEANT,
                offset: 0,
            };
            let mut found = searcher.nodes(&asked).ok()?.found;
            let is_of_them = |(id, _): &(SessionId, u64)| sessions.iter().any(|session| session == id.as_str());
            found.retain(|node| node.latest.iter().any(is_of_them));
            found
        }
    };
    Some(found)
}
