//! Memos and deletions: memos are entries of the memory like sessions.
//!
//! Everything is judged by the newest table, so a rebuilt memory never takes in what was deleted since.

use baton_conversation::item::{Agent, Body, Item};
use baton_conversation::record::SessionId;
use baton_conversation::turns;
use baton_conversation::usage::Course;
use baton_episode::digest;
use baton_events::envelope::StoredRecord;
use baton_events::memo;
use baton_events::memo::{Memo, Source};
use baton_events::projection::table::SessionTable;
use baton_events::schema::outcomes::Outcomes;
use baton_events::session::{EpisodeRef, Tier};
use baton_events::{home, schema};
use baton_graph as graph;
use uuid::Uuid;

use super::{Error, Projector};
use baton_memory::{Entry, Titles};
use baton_store::chunks;
use baton_store::text_keeper::is_gone;

impl<C: Fn(SessionId) + Send + 'static> Projector<C> {
    /// Applies an event of a memo.
    pub(super) fn apply_memo(&mut self, uuid: Uuid, record: &StoredRecord) -> Result<(), Error> {
        let table = self.options.table.now();
        match (schema::memo::decode(&record.kind, record.v, &record.data), table.memo(uuid)) {
            // The session table counts and reports unreadable events.
            (Err(_), _) => Ok(()),
            // If it was replaced since, this puts in the newest words already; the later event does so again.
            (Ok(memo::Event::Added(_) | memo::Event::Replaced(_) | memo::Event::Redacted(_)), Some((_, memo))) => {
                self.put_memo(uuid, memo)
            }
            (Ok(memo::Event::Deleted), Some(_)) => Ok(()),
            (Ok(_), None) => self.remove_memo(uuid, &table),
        }
    }

    /// Applies an event of the home.
    pub(super) fn apply_home(&mut self, record: &StoredRecord) -> Result<(), Error> {
        let event = schema::home::decode(&record.kind, record.v, &record.data);
        let table = self.options.table.now();
        match event {
            Ok(home::Event::GroupCleared { .. }) => {}
            Ok(home::Event::GroupRestored { .. }) => return self.add_all_missing(&table),
            _ => return Ok(()),
        }
        for (session, row) in table.iter().filter(|(_, row)| table.is_deleted(row)) {
            tracing::debug!(%session, position = row.since.0, reason = "cleared", "episode leaves the memory");
            if self.store.holds(session)? {
                self.remove(session)?;
            }
        }
        for (uuid, _) in table.memos().filter(|(uuid, _)| table.memo(*uuid).is_none()) {
            self.remove_memo(uuid, &table)?;
        }
        Ok(())
    }

    /// Puts in a memo.
    pub(super) fn put_memo(&mut self, uuid: Uuid, memo: &Memo) -> Result<(), Error> {
        let key = memo::key(uuid);
        let words = match words(&self.options.chunks, &key, memo) {
            Ok(words) => words,
            Err(why) => {
                if self.left_out.unreadable(&key, why.clone()) {
                    tracing::error!(memo = %uuid, %why, "memo not readable, left out of the memory");
                }
                return if self.store.holds(&key)? { self.remove(&key) } else { Ok(()) };
            }
        };
        let current = as_episode(uuid, memo);
        if self.left_out.holds(&key, &current) {
            tracing::error!(memo = %uuid, "memo makes the memory panic and is left out");
            return self.remove(&key);
        }
        self.left_out.suspect(&key, &current);
        let units = turns::units(&items(&words, memo));
        let graph = graph::memo(&words, memo.source, &memo.group, memo.time());
        // Remove the marks of a model's words, which a memo must not imitate.
        let body = words.body.replace([digest::MODEL_BEGINS, digest::MODEL_ENDS], "");
        let entry = Entry {
            session: &key,
            generation: 0,
            project: memo.group.contains(['/', '\\']).then_some(memo.group.as_str()),
            group_id: &memo.group,
            agent: Agent::ClaudeCode,
            title: &words.name,
            episode_uuid: uuid,
            episode_text: &body,
            ended_at: Some(memo.time()),
            indexed_at: memo.at,
            parent: None,
            links: &[],
            titles: &Titles::default(),
            units: &units,
            changed_from: 0,
            graph: &graph,
            // A memo states knowledge, not attempts.
            outcomes: &Outcomes::default(),
            usage: &Course::default(),
        };
        let stored = self.store.put(&entry);
        self.left_out.clear(&key);
        self.left_out.readable(&key);
        stored?;
        self.dirty();
        Ok(())
    }

    fn remove_memo(&mut self, uuid: Uuid, table: &SessionTable) -> Result<(), Error> {
        let key = memo::key(uuid);
        self.left_out.readable(&key);
        if is_gone(table, &key) {
            // A deleted memo must leave every file.
            self.forgotten.insert(key.clone());
        }
        if self.store.holds(&key)? { self.remove(&key) } else { Ok(()) }
    }
}

/// Reads the words of a memo. Blocks for a disk read.
fn words(chunks: &chunks::ChunkStore, key: &SessionId, memo: &Memo) -> Result<memo::Words, String> {
    let text = chunks.note(key, &memo.words).map_err(|error| error.to_string())?;
    schema::memo::decode_words(&text)
}

/// The text of a memo as items: one prompt, or one item per speaker.
pub fn items(words: &memo::Words, memo: &Memo) -> Vec<Item> {
    let item = |line, body| Item { line, at: Some(memo.time()), uuid: None, message: None, sidechain: false, body };
    if memo.source != Source::Message {
        return vec![item(1, Body::Prompt { text: words.text() })];
    }
    let head = memo::Words { body: String::new(), ..words.clone() };
    // The name is on the first line, and the body starts on the third.
    let said = memo::turns(&words.body).into_iter().map(|turn| {
        let text = match turn.speaker {
            Some(speaker) => format!("{speaker}: {}", turn.text),
            None => turn.text.to_owned(),
        };
        let body = if turn.is_of_an_agent() { Body::Reply { text } } else { Body::Prompt { text } };
        item(turn.line + 2, body)
    });
    std::iter::once(item(1, Body::Prompt { text: head.text() })).chain(said).collect()
}

/// Presents a memo as an episode.
pub fn as_episode(uuid: Uuid, memo: &Memo) -> EpisodeRef {
    EpisodeRef {
        uuid,
        tier: Tier::Extractive,
        hash: memo.words,
        filter_version: 0,
        generation: 0,
        to: 0,
        manifest: memo.words,
        items: 1,
        at: memo.at,
    }
}
