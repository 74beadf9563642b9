//! `episodes`: episodes of sessions, and memos, newest first.

mod budget;

use baton_views::visibility;
use std::cmp::Reverse;
use std::sync::Arc;
use std::time::{Duration, Instant};

use baton_conversation::printable::plain;
use baton_conversation::record::SessionId;
use baton_events::memo;
use baton_events::memo::Memo;
use baton_events::projection::table::Row;
use baton_events::session::EpisodeRef;
use baton_protocol::{EpisodesParams, Failure, Progress, answer, code, method};
use baton_redaction::redact;
use uuid::Uuid;

use super::{QueryError, internal};
use crate::client::{ClientRef, failure};
use crate::lazy::{FreshMemory, FreshSearcher};
use crate::resolve::SessionResolver;
use crate::{answers, graph, lazy, memo as added, page, resolve};
use baton_views::conversation::Conversations;

/// Ends an episode that is too long for one answer.
const CUT: &str = "\n… cut; get_episodes with episode_uuids has more, `baton show` the whole";

/// Unreadable episodes after which the answer stops: then the disk is at fault.
const UNREADABLE_MOST: u64 = 10;
/// Most characters of a request that a refusal repeats.
const SHOWN_CHARS: usize = 60;
/// Fewest characters of a session's id that name it: as many as people are shown.
const SHORT_ID_CHARS: usize = 8;
/// Interval of progress reports to a waiting client.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// Sort key: end of the session, then its id. A cursor holds the key of the last episode of its page.
type Key = (Reverse<i64>, SessionId);

/// The episodes of the wanted groups, those of the latest sessions first. Subagents' episodes are only counted.
pub(crate) async fn episodes(
    asked: EpisodesParams,
    memory: FreshMemory<'_>,
    resolver: SessionResolver<'_>,
    client: &ClientRef,
) -> Result<answer::Episodes, QueryError> {
    let question = page::Question::new(method::EPISODES, &[&asked.groups, &asked.uuids]);
    let behind = asked.cursor.as_deref().map(|cursor| key(&question, cursor)).transpose()?;
    let asking = resolve::asking_session(&memory.catalog().table.now(), &asked.caller, "");
    let known = resolve::only_group(memory.catalog(), &asked.groups);
    let ask = lazy::Request { project: known.as_deref(), all: asked.wait, asking: asking.as_ref() };
    let FreshSearcher { freshness, .. } = memory.searcher(client, ask).await?;
    for name in asked.uuids.iter().filter(|name| name.len() >= SHORT_ID_CHARS) {
        resolver.check_unambiguous(name).await?;
    }
    let (table, settings) = memory.catalog().now();
    let groups = resolve::groups(&table, &settings, &asked.groups)?;
    let (conversations, telling) = (resolver.conversations.clone(), client.clone());
    let limit = page::entries(asked.limit);
    let tokens = budget::tokens(asked.budget_tokens, limit, !asked.uuids.is_empty());
    let asked_for = asked.uuids.first().cloned();
    let named = NamedEpisodes(asked.uuids);
    let found = baton_base::task::spawn_blocking(move || {
        let mut found = EpisodePage::default();
        let mut listed: Vec<(Key, Listed)> = Vec::new();
        for (uuid, _) in table.memos() {
            let Some((_, memo)) = table.memo(uuid) else { continue };
            let key = (Reverse(memo.at.0), memo::key(uuid));
            if !named.contains(&key.1, Some(uuid)) {
                continue;
            }
            if behind.as_ref().is_none_or(|behind| key > *behind)
                && !visibility::is_memo_hidden(&settings, &groups, memo)
            {
                listed.push((key, Listed::Memo(uuid, memo.clone())));
            }
        }
        for (id, row) in table.iter() {
            if row.state.episode.is_none() || graph::is_hidden(&table, &settings, &groups, id.as_str()) {
                continue;
            }
            if !named.contains(id, row.state.episode.as_ref().map(|episode| episode.uuid)) {
                continue;
            }
            if row.state.is_subagent() && named.0.is_empty() {
                found.subagents += 1;
                continue;
            }
            let key = key_of(id, row);
            if behind.as_ref().is_none_or(|behind| key > *behind) {
                listed.push((key, Listed::Session(row.clone())));
            }
        }
        listed.sort_by(|(a, _), (b, _)| a.cmp(b));
        let total = limit.min(listed.len()) as u64;
        let mut reported_at = Instant::now();
        let mut bytes = 0;
        for (key, entry) in listed {
            if found.episodes.len() == limit || found.unreadable == UNREADABLE_MOST {
                return Some(found.cut());
            }
            if telling.is_closed() {
                return None;
            }
            if reported_at.elapsed() >= PROGRESS_INTERVAL {
                reported_at = Instant::now();
                let done = found.episodes.len() as u64;
                telling.progress(&Progress { what: "reading episodes".to_owned(), done, total });
            }
            let read = match &entry {
                Listed::Session(row) => session_entry(&conversations, &key.1, row),
                Listed::Memo(uuid, memo) => memo_entry(&conversations, *uuid, memo),
            };
            match read {
                Entry::Read(entry) => {
                    bytes += serde_json::to_vec(&entry).map_or(0, |json| json.len());
                    if bytes > page::PAGE_BYTES && !found.episodes.is_empty() {
                        return Some(found.cut());
                    }
                    found.episodes.push(*entry);
                    found.keys.push(key.clone());
                }
                Entry::Unreadable => found.unreadable += 1,
                Entry::Gone => {}
            }
            found.last = Some(key);
        }
        Some(found)
    });
    let found = found.await.map_err(|error| internal("reading the episodes broke", error))?;
    let Some(mut found) = found else { return Err(QueryError::ClientGone) };
    let shortened = found.fit(tokens);
    if let Some(first) = asked_for.filter(|_| found.episodes.is_empty() && found.unreadable == 0) {
        let first: String = redact(&first).chars().take(SHOWN_CHARS).collect();
        let message =
            format!("no episode {first:?} is known; recall and get_episodes tell sessions' ids and episodes' uuids");
        return Err(failure(code::NOT_FOUND, message).into());
    }
    let next = found.last.as_ref().filter(|_| found.more);
    Ok(answer::Episodes {
        message: message(found.episodes.len(), found.unreadable) + &budget::cut_note(shortened, tokens),
        next_cursor: next.map(|(end, id)| question.cursor(&format!("e{}.{id}", end.0))),
        episodes: found.episodes,
        unreadable: found.unreadable,
        subagents_left_out: found.subagents,
        freshness,
    })
}

/// Episodes requested by name; empty: all.
struct NamedEpisodes(Vec<String>);

impl NamedEpisodes {
    /// Returns true if an episode is requested, by its uuid, its session's id, or a prefix of that.
    fn contains(&self, id: &SessionId, uuid: Option<Uuid>) -> bool {
        let uuid = uuid.map(|uuid| uuid.to_string());
        let is = |name: &String| {
            let begins = name.len() >= SHORT_ID_CHARS && id.as_str().starts_with(name.as_str());
            begins || uuid.as_deref() == Some(name.as_str())
        };
        self.0.is_empty() || self.0.iter().any(is)
    }
}

/// The entries of one answer.
#[derive(Default)]
struct EpisodePage {
    episodes: Vec<answer::EpisodeEntry>,
    /// Sort keys of the episodes, in the same order.
    keys: Vec<Key>,
    unreadable: u64,
    subagents: u64,
    /// The last one that was examined.
    last: Option<Key>,
    /// True if more follow.
    more: bool,
}

impl EpisodePage {
    fn cut(self) -> Self {
        Self { more: true, ..self }
    }

    /// Shortens the episodes to a token budget. Returns how many were cut. Those without any room are left for the next
    /// page.
    fn fit(&mut self, tokens: u64) -> usize {
        let cut = budget::fit(&mut self.episodes, tokens, CUT);
        if self.episodes.len() < self.keys.len() {
            self.keys.truncate(self.episodes.len());
            self.last = self.keys.last().cloned();
            self.more = true;
        }
        cut
    }
}

fn message(read: usize, unreadable: u64) -> String {
    match (read, unreadable) {
        (0, 0) => "No episodes found".to_owned(),
        (_, 0) => "Episodes retrieved successfully".to_owned(),
        (0, several) => format!("No episode could be read: {several} cannot be, see `daemon.log`"),
        (_, several) => format!("Episodes retrieved successfully, but {several} cannot be read, see `daemon.log`"),
    }
}

fn key_of(id: &SessionId, row: &Row) -> Key {
    (Reverse(row.state.last_conversation_at.map_or(i64::MIN, |at| at.0)), id.clone())
}

/// Parses the key in a cursor.
fn key(question: &page::Question, cursor: &str) -> Result<Key, Failure> {
    let parts = question.position(cursor)?.strip_prefix('e').and_then(|rest| rest.split_once('.'));
    let read = parts.and_then(|(end, id)| Some((Reverse(end.parse().ok()?), SessionId::new(id)?)));
    read.ok_or_else(|| page::unknown_cursor(cursor))
}

/// What is to be read.
enum Listed {
    Session(Arc<Row>),
    Memo(Uuid, Memo),
}

/// The result of reading one.
enum Entry {
    Read(Box<answer::EpisodeEntry>),
    /// The conversation exists but cannot be read.
    Unreadable,
    /// It was forgotten since the table was read.
    Gone,
}

/// A memo with its text.
fn memo_entry(conversations: &Conversations, uuid: Uuid, memo: &Memo) -> Entry {
    match added::entry(conversations.chunks(), uuid, memo) {
        Ok(entry) => Entry::Read(Box::new(answer::EpisodeEntry { content: bounded(entry.content), ..entry })),
        // It was deleted or replaced meanwhile.
        Err(_) if conversations.catalog().table.now().memo(uuid).is_none_or(|(_, now)| now.words != memo.words) => {
            Entry::Gone
        }
        Err(error) => {
            tracing::warn!(memo = %uuid, %error, "memo not readable, left out of the list");
            Entry::Unreadable
        }
    }
}

/// A session's episode with its text.
fn session_entry(conversations: &Conversations, id: &SessionId, row: &Row) -> Entry {
    let state = &row.state;
    let Some(current) = state.episode.as_ref() else { return Entry::Gone };
    let show = conversations.catalog().settings.now().filtering;
    match conversations.digest(id, current.clone(), &show) {
        Ok((current, episode)) => {
            Entry::Read(Box::new(episode_entry(id, row, &current, &episode.with_model_marks().content())))
        }
        Err(_) if conversations.catalog().table.now().get(id).is_none_or(|row| row.state.episode.is_none()) => {
            Entry::Gone
        }
        Err(error) => {
            tracing::warn!(session = %id, %error, "episode not readable, left out of the list");
            Entry::Unreadable
        }
    }
}

fn episode_entry(id: &SessionId, row: &Row, current: &EpisodeRef, content: &str) -> answer::EpisodeEntry {
    let state = &row.state;
    let agent = state.transcript.as_ref().map_or("claude_code", |transcript| transcript.agent.as_str());
    let project = state.place.as_ref().map_or("an unknown project", |place| place.project.as_str());
    answer::EpisodeEntry {
        uuid: current.uuid.to_string(),
        name: answers::episode_name(id),
        content: bounded(redact(content).into_owned()),
        created_at: state.last_conversation_at.map(|at| at.to_string()),
        source: format!("{agent}_jsonl"),
        source_description: plain(&redact(&format!("Session from {project}"))),
        group_id: state.group_id().map(|group| redact(group).into_owned()),
    }
}

/// Limits a text to what one answer holds, with its escaped quotes and line ends.
fn bounded(content: String) -> String {
    const MOST: usize = page::PAGE_BYTES / 2;
    if content.len() <= MOST {
        return content;
    }
    let mut end = MOST;
    while !content.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{CUT}", &content[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_episode_is_asked_for_by_its_uuid_or_its_session() {
        let (id, uuid) = (SessionId::new("7acd37a8-1111").unwrap(), Uuid::from_u128(7));
        let check = |names: &[&str], expected: bool| {
            let named = NamedEpisodes(names.iter().map(|name| (*name).to_owned()).collect());
            assert_eq!(named.contains(&id, Some(uuid)), expected, "{names:?}");
        };
        check(&[], true);
        check(&["7acd37a8-1111"], true);
        check(&["x", "7acd37a8"], true);
        check(&["7acd37a"], false);
        check(&[&uuid.to_string()], true);
        check(&["memory:7"], false);
        let note = NamedEpisodes(vec![uuid.to_string()]);
        assert!(note.contains(&memo::key(uuid), Some(uuid)));
    }

    #[test]
    fn a_cursor_is_the_key_of_the_last_one() {
        let id = SessionId::new("7acd37a8.x").unwrap();
        let question = page::Question::new(method::EPISODES, &[&["ledger".to_owned()]]);
        assert_eq!(key(&question, &question.cursor("e-5.7acd37a8.x")).unwrap(), (Reverse(-5), id));
        for wrong in ["", "e", "e5", "e5.", "5.a", "ex.a", "n20"] {
            assert!(key(&question, &question.cursor(wrong)).is_err(), "{wrong:?}");
        }
        for forged in ["e-5.7acd37a8.x", "e9223372036854775807.zzz", &question.cursor("e5.a").replace("e5", "e6")] {
            assert!(key(&question, forged).is_err(), "{forged:?}");
        }
        let other = page::Question::new(method::EPISODES, &[]);
        assert!(key(&other, &question.cursor("e5.a")).is_err(), "given to another question");
    }

    #[test]
    fn a_long_episode_is_cut_inside_no_character() {
        assert_eq!(bounded("short".to_owned()), "short");
        let cut = bounded("語".repeat(page::PAGE_BYTES));
        assert!(cut.ends_with(CUT) && cut.len() <= page::PAGE_BYTES / 2 + CUT.len(), "{}", cut.len());
    }
}
