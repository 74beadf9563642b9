//! What was added, in the contract's words: as a session is shown, and as an episode is listed.

use std::sync::Arc;

use baton_events::digest::{self, Metadata, Show};
use baton_events::memo::{self, Memo, Words};
use baton_events::protocol::answer;
use baton_events::redact::redact;
use baton_events::schema;
use uuid::Uuid;

use super::{Services, answers, shown};
use crate::chunks;
use crate::indexer;

/// Why what was added cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// Its file.
    #[error(transparent)]
    File(#[from] chunks::Error),
    /// What is in it.
    #[error("its words cannot be read: {0}")]
    Words(String),
}

/// What somebody means who writes its uuid, alone or as hits give it, if it may be shown.
pub(super) fn meant(services: &Services, text: &str) -> Option<(Uuid, Memo)> {
    let uuid = memo::of_key(text).or_else(|| Uuid::try_parse(text).ok())?;
    let (table, settings) = (services.table.now(), services.settings.now());
    let (_, memo) = table.memo(uuid)?;
    (!shown::is_memo_hidden(&settings, &[], memo)).then(|| (uuid, memo.clone()))
}

/// Its words with today's rules of redaction. Blocks for a disk read.
pub(super) fn words(services: &Services, uuid: Uuid, memo: &Memo) -> Result<Words, Error> {
    let text = services.chunks.note(&memo::key(uuid), &memo.words)?;
    Ok(schema::memo::decode_words(&text).map_err(Error::Words)?.redacted())
}

/// As a row of the session table.
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

/// As a session is shown: a row and an episode. Blocks for a disk read.
pub(super) fn show(services: &Arc<Services>, uuid: Uuid, memo: &Memo) -> Result<answer::Show, Error> {
    let words = words(services, uuid, memo)?;
    let key = memo::key(uuid);
    let row = row(uuid, memo);
    let items = indexer::memo_items(&words, memo);
    let current = indexer::as_episode(uuid, memo);
    let (digest, numbers) = (digest::digest(&items, &Show::default()), Metadata::of(&items, current.to));
    let episode = answer::Episode {
        name: words.name.clone(),
        title: words.name.clone(),
        objective: words.description.clone(),
        content: words.body,
        ..answers::episode(&key, &current, digest, &numbers)
    };
    Ok(answer::Show { row, episode: Some(episode), usage: None, relations: Vec::new() })
}

/// As an episode is listed. Blocks for a disk read.
pub(super) fn entry(services: &Services, uuid: Uuid, memo: &Memo) -> Result<answer::EpisodeEntry, Error> {
    let Words { name, body, description, .. } = words(services, uuid, memo)?;
    Ok(answer::EpisodeEntry {
        uuid: uuid.to_string(),
        name,
        content: body,
        created_at: Some(memo.at.to_string()),
        source: memo.source.as_str().to_owned(),
        source_description: description,
        group_id: Some(redact(&memo.group).into_owned()),
    })
}
