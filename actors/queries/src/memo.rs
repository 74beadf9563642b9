//! Converts memos to the wire types: as a session and as an episode.

use baton_views::visibility;

use baton_conversation::printable::plain;
use baton_episode::digest;
use baton_episode::digest::{Metadata, Show};
use baton_events::memo;
use baton_events::memo::{Memo, Words};
use baton_events::projection::table::SessionTable;
use baton_events::schema;
use baton_protocol::answer;
use baton_redaction::redact;
use uuid::Uuid;

use super::answers;
use baton_store::chunks;
use baton_store::chunks::ChunkStore;
use baton_tracking::indexer;
use baton_views::catalog::Catalog;

/// Prefix of a memo's key.
const KEY: &str = "memory:";
/// Fewest characters of a uuid that name a memo without its key.
const START_CHARS: usize = 4;

/// Why a memo cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// Its file cannot be read.
    #[error(transparent)]
    File(#[from] chunks::Error),
    /// Its content cannot be decoded.
    #[error("its words cannot be read: {0}")]
    Words(String),
}

/// The memo, deleted or not, that a text names: a uuid, with or without the key's prefix, or a prefix of one that fits
/// no other memo.
pub(super) fn find(table: &SessionTable, text: &str) -> Option<Uuid> {
    let bare = text.strip_prefix(KEY).unwrap_or(text);
    if let Ok(uuid) = Uuid::try_parse(bare) {
        return table.memo_row(uuid).map(|_| uuid);
    }
    let is_key = bare.len() < text.len();
    let is_start =
        bare.len() >= if is_key { 1 } else { START_CHARS } && bare.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    if !is_start || (!is_key && table.iter().any(|(id, _)| id.as_str().starts_with(bare))) {
        return None;
    }
    let bare = bare.to_ascii_lowercase();
    let begins = |uuid: &Uuid| uuid.hyphenated().to_string().starts_with(&bare);
    // Existing memos take precedence over deleted ones.
    let one = |is_wanted: &dyn Fn(&Uuid) -> bool| {
        let mut fits = table.memos().map(|(uuid, _)| uuid).filter(|uuid| begins(uuid) && is_wanted(uuid));
        fits.next().filter(|_| fits.next().is_none())
    };
    one(&|uuid| table.memo(*uuid).is_some()).or_else(|| one(&|_| true))
}

/// The memo that a text names, if it may be shown.
pub(super) fn find_visible(catalog: &Catalog, text: &str) -> Option<(Uuid, Memo)> {
    let (table, settings) = catalog.now();
    let uuid = find(&table, text)?;
    let (_, memo) = table.memo(uuid)?;
    (!visibility::is_memo_hidden(&settings, &[], memo)).then(|| (uuid, memo.clone()))
}

/// The words of a memo, redacted with the current rules. Blocks for a disk read.
pub(super) fn words(chunks: &ChunkStore, uuid: Uuid, memo: &Memo) -> Result<Words, Error> {
    let text = chunks.note(&memo::key(uuid), &memo.words)?;
    Ok(schema::memo::decode_words(&text).map_err(Error::Words)?.redacted())
}

/// A memo as a row of the session table.
pub(super) fn row(uuid: Uuid, memo: &Memo) -> answer::Row {
    let group = redact(&memo.group).into_owned();
    answer::Row {
        session_id: memo::key(uuid).to_string(),
        project: memo.group.contains(['/', '\\']).then(|| group.clone()),
        group_id: Some(group),
        tracked: true,
        state: "indexed".to_owned(),
        content_hash: Some(memo.words.short()),
        episode_uuid: Some(uuid.to_string()),
        last_indexed_at: Some(memo.at.to_string()),
        last_activity: Some(memo.time().to_string()),
        source: Some(memo.source.as_str().to_owned()),
        ..answer::Row::default()
    }
}

/// A memo as a session: a row and an episode. Blocks for a disk read.
pub(super) fn show(chunks: &ChunkStore, uuid: Uuid, memo: &Memo) -> Result<answer::Show, Error> {
    let words = words(chunks, uuid, memo)?;
    let key = memo::key(uuid);
    let row = row(uuid, memo);
    let items = indexer::memo_items(&words, memo);
    let current = indexer::as_episode(uuid, memo);
    let (digest, numbers) = (digest::digest(&items, &Show::default()), Metadata::new(&items, current.to));
    let episode = answer::Episode {
        name: plain(&words.name),
        title: words.name.clone(),
        objective: words.description.clone(),
        content: words.body,
        ..answers::episode(&key, &current, digest, &numbers)
    };
    Ok(answer::Show { row, unread_lines: Vec::new(), episode: Some(episode), usage: None, relations: Vec::new() })
}

/// A memo as a listed episode. Blocks for a disk read.
pub(super) fn entry(chunks: &ChunkStore, uuid: Uuid, memo: &Memo) -> Result<answer::EpisodeEntry, Error> {
    let Words { name, body, description, .. } = words(chunks, uuid, memo)?;
    Ok(answer::EpisodeEntry {
        uuid: uuid.to_string(),
        name: plain(&name),
        content: body,
        created_at: Some(memo.at.to_string()),
        source: memo.source.as_str().to_owned(),
        source_description: plain(&description),
        group_id: Some(redact(&memo.group).into_owned()),
    })
}
