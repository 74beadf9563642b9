//! Forks and copies: sessions whose transcripts share records with one that is to be forgotten. The memory knows the
//! indexed ones; other transcripts are read.
//!
//! # Hazards
//!
//! - Related sessions are bounded by `MAX_KIN` and found by their records. A fork made by the SDK gives them new
//!   ids, but each names the one it copies, and is read under that name.

use std::collections::{BTreeMap, BTreeSet};

use baton_conversation::hash::Mark;
use baton_conversation::item::Item;
use baton_conversation::record::SessionId;
use baton_conversation::record_identity::record_mark;
use baton_conversation::transcript::Sink;
use baton_events::projection::table::SessionTable;
use baton_events::session::{EpisodeRef, Phase, State};

use super::targets::{Selection, Target};
use crate::calls::transcript_scan::scan;
use crate::calls::{QueryError, internal};
use crate::client::ClientRef;
use crate::lazy::Coverage;
use crate::transcript_peek;
use baton_base::throttle::Throttle;
use baton_base::transcript_file::FileSeen;
use baton_tracking::indexer::Want;
use baton_views::conversation::Conversations;
use std::sync::Arc;

/// Adds the sessions that share records with the chosen ones, each with the one it shares most with.
pub(super) async fn add_related(
    selection: &mut Selection,
    table: &SessionTable,
    grown: &[FileSeen],
    conversations: &Arc<Conversations>,
    coverage: Coverage<'_>,
    throttle: &Throttle,
    client: &ClientRef,
) -> Result<(), QueryError> {
    coverage.catch_up(client, table.position(), true).await?;
    let sources: Vec<Target> = selection.sessions.clone();
    let unread: Vec<FileSeen> = grown
        .iter()
        .filter(|file| {
            let is_whole = table.get(&file.session).is_some_and(|row| row.state.phase == Phase::Forgotten);
            !is_whole && !selection.contains(&file.session)
        })
        .cloned()
        .collect();
    // Sessions that were read but not indexed, or were put off, are not in the memory yet.
    let is_owed = |state: &State| state.unindexed > 0 && state.phase != Phase::Forgotten;
    let put_off = coverage.indexer.put_off(Want::Whole);
    let owed =
        table.iter().filter(|(id, row)| (is_owed(&row.state) || put_off.contains(id)) && !selection.contains(id));
    let owed: Vec<SessionId> = owed.map(|(id, _)| id.clone()).collect();
    let total = (sources.len() + unread.len() + owed.len()) as u64;
    let (indexer, rows) = (coverage.indexer.clone(), table.clone());
    let conversations = conversations.clone();
    let found = scan(throttle, client, total, move |scan_progress| {
        let searcher = indexer.searcher().map_err(|error| error.to_string())?;
        let mut relatives: BTreeMap<SessionId, (u64, SessionId, Option<FileSeen>)> = BTreeMap::new();
        let mut met = |id: SessionId, shared: u64, with: &SessionId, file: Option<FileSeen>| {
            let known = relatives.entry(id).or_insert_with(|| (0, with.clone(), None));
            if shared > known.0 {
                *known = (shared, with.clone(), file.or(known.2.take()));
            }
        };
        let owed = owed.iter().filter(|id| unread.iter().all(|file| file.session != **id));
        let owed = owed.filter_map(|id| transcript_peek::file_of(id, &rows.get(id)?.state));
        let unread: Vec<FileSeen> = owed.chain(unread.iter().cloned()).collect();
        let mut records: BTreeMap<Mark, usize> = BTreeMap::new();
        for (number, source) in sources.iter().enumerate() {
            if !scan_progress.next() {
                return Ok(BTreeMap::new());
            }
            for kin in searcher.related_sessions(&source.id).map_err(|error| error.to_string())? {
                met(kin.session, kin.shared, &source.id, None);
            }
            let row = rows.get(&source.id).map(|row| &row.state);
            let is_stored = row.is_some_and(|state| state.episode.is_some());
            // A stored session is compared by the memory, any other by its records.
            if is_stored && unread.is_empty() {
                continue;
            }
            let of_source = records_of(&conversations, source, row);
            if !is_stored {
                let mut shared: BTreeMap<SessionId, u64> = BTreeMap::new();
                for record in &of_source {
                    let holders = searcher.holders_of_record(*record).map_err(|error| error.to_string())?;
                    holders.into_iter().for_each(|holder| *shared.entry(holder).or_default() += 1);
                }
                shared.into_iter().for_each(|(id, count)| met(id, count, &source.id, None));
            }
            records.extend(of_source.into_iter().map(|record| (record, number)));
        }
        for file in unread {
            if !scan_progress.next() {
                return Ok(BTreeMap::new());
            }
            let mut shared: BTreeMap<usize, u64> = BTreeMap::new();
            let mut seen = Records::default();
            let _ = transcript_peek::read_whole(&file, &mut seen);
            for record in &seen.0 {
                if let Some(number) = records.get(record) {
                    *shared.entry(*number).or_default() += 1;
                }
            }
            let known = rows.get(&file.session).is_some();
            if let Some((number, count)) = shared.into_iter().max_by_key(|(_, count)| *count) {
                met(file.session.clone(), count, &sources[number].id, (!known).then_some(file));
            }
        }
        Ok::<_, String>(relatives)
    });
    let found = found.await?.map_err(|error| internal("forks and copies cannot be found", error))?;
    let mut also: Vec<Target> = found
        .into_iter()
        .filter(|(id, _)| !selection.contains(id))
        .filter(|(id, _)| table.get(id).is_none_or(|row| row.state.phase != Phase::Forgotten))
        .map(|(id, (shared, with, file))| {
            let of_it = if shared == 1 { "1 record".to_owned() } else { format!("{shared} records") };
            let why = format!("a fork or copy: it holds {of_it} of {with}");
            let target = file.map_or_else(|| Target::new(id), Target::of_file);
            Target { why, shared, ..target }
        })
        .collect();
    also.sort_by_key(|target| (std::cmp::Reverse(target.shared), target.id.clone()));
    selection.also = also;
    Ok(())
}

/// The records of a session: of the stored conversation, else of its transcript. Blocks for disk reads.
fn records_of(conversations: &Conversations, source: &Target, state: Option<&State>) -> BTreeSet<Mark> {
    let read = |episode: &EpisodeRef| {
        let mut records = Records::default();
        baton_store::conversation::for_each_item(conversations.chunks(), &source.id, episode, |item| {
            records.item(item);
        })?;
        Ok(records.0)
    };
    let stored = state.and_then(|state| conversations.read(&source.id, state.episode.clone()?, read).ok());
    if let Some((_, records)) = stored {
        return records;
    }
    let file = source.file.clone().or_else(|| state.and_then(|state| transcript_peek::file_of(&source.id, state)));
    let mut records = Records::default();
    if let Some(file) = file {
        let _ = transcript_peek::read_whole(&file, &mut records);
    }
    records.0
}

/// Collects the marks of records.
#[derive(Debug, Default)]
struct Records(BTreeSet<Mark>);

impl Sink for Records {
    fn wants_text(&self) -> bool {
        true
    }

    fn item(&mut self, item: Item) {
        self.0.extend(record_mark(&item));
    }
}
