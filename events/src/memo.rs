//! Memos: what an agent or a person told the memory directly, outside of any session: a note, or a triplet of two names
//! and the relation between them.
//!
//! Decided and folded like a session, only smaller: a memo is kept, kept again with other words, or deleted. Its events
//! contain none of its text: the [`Words`] are in a file beside the log, named by the hash in the event and durable
//! before it.
//!
//! # Decisions
//!
//! - The limits in number and bytes count existing notes only; a deleted one keeps a row of a few bytes. A note added
//!   twice with the same words is one note.

mod turn;
mod words;

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::codec::events;
use crate::session::NAMESPACE;
use baton_conversation::hash::ContentHash;
use baton_conversation::record::{MEMO_PREFIX, SessionId, Timestamp};
use baton_protocol::named;

pub use turn::{Turn, turns};
pub use words::{DESCRIPTION_MAX_CHARS, NAME_MAX_CHARS, Triplet, Unfit, Words};

/// Most memos of a home: each is a row in memory and a file. Deleted ones do not count.
pub const MEMOS_MAX: usize = 100_000;
/// Most bytes of the words of all memos of a home together.
pub const MEMOS_BYTES_MAX: u64 = 1024 * 1024 * 1024;

named! {
    /// Kind of a memo.
    Source {
        /// Prose.
        Text = "text",
        /// A JSON value.
        Json = "json",
        /// Lines of a conversation.
        Message = "message",
        /// Two names and the relation between them.
        Triplet = "triplet",
    }
}

/// A memo without its words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memo {
    /// The kind of its content.
    pub source: Source,
    /// The group that it belongs to.
    pub group: String,
    /// Name of the file with its words: SHA-256 of their stored form.
    pub words: ContentHash,
    /// Size of the stored words in bytes.
    pub bytes: u64,
    /// The time that it is about, if given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference_time: Option<Timestamp>,
    /// When it was added.
    pub at: Timestamp,
}

/// A request to change a memo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Keep this memo, in place of an existing one.
    Keep(Memo),
    /// Its words were redacted again: replace them. No effect if it has other words by now.
    Redact {
        /// Hash of the words that were redacted.
        of: ContentHash,
        /// Hash of the redacted words.
        words: ContentHash,
        /// Size of the redacted words in bytes.
        bytes: u64,
    },
    /// Delete the memo.
    Delete,
}

events! {
    /// Something that happened to a memo.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum Event;

    /// It was added, for the first time or after it was deleted.
    "memo_added" 1 => Added(memo: Memo) text ("told: {memo}");

    /// It was added again with other content.
    "memo_replaced" 1 => Replaced(memo: Memo) text ("told anew: {memo}");

    /// Its words were redacted again by newer rules and changed: another file replaces the old one.
    "memo_redacted" 1 => Redacted(memo: Memo) text ("redacted again: {memo}");

    /// It was deleted; its words are gone.
    "memo_deleted" 1 => Deleted text ("deleted");
}

/// State of a memo.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// When it was first added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// The memo, unless it is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memo: Option<Memo>,
}

/// Why a command was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// No memo was ever added under this uuid.
    #[error("nothing was added under this uuid")]
    Unknown,
}

/// The limit that another memo would exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    /// [`MEMOS_MAX`] is reached.
    #[error("a home keeps at most {MEMOS_MAX} notes; delete_episode makes room")]
    Many,
    /// [`MEMOS_BYTES_MAX`] would be exceeded.
    #[error("the notes of this home take {} MB, the maximum; delete_episode makes room", MEMOS_BYTES_MAX / 1024 / 1024)]
    Large,
}

/// Checks the limits for a further memo of so many bytes, given the sizes of the existing ones.
pub fn has_room(standing: impl IntoIterator<Item = u64>, bytes: u64) -> Result<(), Full> {
    let (count, sum) = standing.into_iter().fold((0, 0_u64), |(count, sum), one| (count + 1, sum.saturating_add(one)));
    if count >= MEMOS_MAX {
        return Err(Full::Many);
    }
    if sum.saturating_add(bytes) > MEMOS_BYTES_MAX { Err(Full::Large) } else { Ok(()) }
}

/// Returns the events that follow from `command`; none if nothing changes. Adding the same memo again changes nothing,
/// so a repeated request is recorded once.
pub fn decide(state: &State, command: &Command) -> Result<Vec<Event>, Rejection> {
    match (command, &state.memo) {
        (Command::Keep(memo), Some(known)) if known.says_the_same(memo) => Ok(Vec::new()),
        (Command::Keep(memo), Some(_)) => Ok(vec![Event::Replaced(memo.clone())]),
        (Command::Keep(memo), None) => Ok(vec![Event::Added(memo.clone())]),
        (Command::Redact { of, words, bytes }, Some(known)) if known.words == *of && of != words => {
            Ok(vec![Event::Redacted(Memo { words: *words, bytes: *bytes, ..known.clone() })])
        }
        (Command::Redact { .. }, _) => Ok(Vec::new()),
        (Command::Delete, Some(_)) => Ok(vec![Event::Deleted]),
        (Command::Delete, None) if state.created_at.is_some() => Ok(Vec::new()),
        (Command::Delete, None) => Err(Rejection::Unknown),
    }
}

/// Folds one event in. Total.
pub fn evolve(mut state: State, event: &Event) -> State {
    match event {
        Event::Added(memo) | Event::Replaced(memo) | Event::Redacted(memo) => {
            state.created_at = state.created_at.or(Some(memo.at));
            state.memo = Some(memo.clone());
        }
        Event::Deleted => state.memo = None,
    }
    state
}

/// The uuid of a memo for which none was given: the same words in the same group always have the same one.
pub fn uuid_of(group: &str, words: &ContentHash, reference_time: Option<Timestamp>) -> Uuid {
    let time = reference_time.map(|at| at.0.to_string()).unwrap_or_default();
    Uuid::new_v5(&NAMESPACE, format!("{MEMO_PREFIX}{}:{group}:{words}:{time}", group.len()).as_bytes())
}

/// The id under which a memo's words are stored and found beside conversations: `memory:<uuid>`, the name of its
/// stream. No session has such an id: see [`SessionId::is_memo`].
pub fn key(uuid: Uuid) -> SessionId {
    SessionId::memo(uuid)
}

/// The memo of a key; `None` for a session's id.
pub fn uuid_of_key(id: &str) -> Option<Uuid> {
    id.strip_prefix(MEMO_PREFIX).and_then(|uuid| Uuid::try_parse(uuid).ok())
}

impl Memo {
    /// True if nothing but the time of adding differs.
    fn says_the_same(&self, other: &Self) -> bool {
        let Self { source, group, words, bytes: _, reference_time, at: _ } = self;
        (source, group, words, reference_time) == (&other.source, &other.group, &other.words, &other.reference_time)
    }

    /// The time that it is about: the given one, else the time of adding.
    pub fn time(&self) -> Timestamp {
        self.reference_time.unwrap_or(self.at)
    }
}

impl fmt::Display for Memo {
    /// What it is, without its text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, group, words, bytes, .. } = self;
        write!(f, "{source} of {bytes} bytes, hash {}, in group {group}", words.short())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memo(words: u8, at: i64) -> Memo {
        Memo {
            source: Source::Text,
            group: "ledger".to_owned(),
            words: ContentHash([words; 32]),
            bytes: 9,
            reference_time: None,
            at: Timestamp(at),
        }
    }

    /// Runs a sequence of commands; each results in its events' names, `-` for none, `!` for a refusal.
    fn check(story: &str, expected: &str) {
        let mut state = State::default();
        let mut results = Vec::new();
        for (at, word) in (1..).zip(story.split_whitespace()) {
            let command = match word {
                "delete" => Command::Delete,
                words => Command::Keep(memo(words.as_bytes()[0], at)),
            };
            results.push(match decide(&state, &command) {
                Err(Rejection::Unknown) => "!".to_owned(),
                Ok(events) => {
                    let names = events.iter().map(|event| match event {
                        Event::Added(_) => "added",
                        Event::Replaced(_) => "replaced",
                        Event::Redacted(_) => "redacted",
                        Event::Deleted => "deleted",
                    });
                    let names: Vec<&str> = names.collect();
                    state = events.iter().fold(state, evolve);
                    if names.is_empty() { "-".to_owned() } else { names.join("+") }
                }
            });
        }
        assert_eq!(results.join(" "), expected, "{story}");
        let last = story.split_whitespace().next_back();
        let held = state.memo.map(|memo| memo.words.0[0]);
        assert_eq!(held, last.filter(|word| *word != "delete").map(|word| word.as_bytes()[0]), "{story}");
    }

    #[test]
    fn a_memo_is_told_told_anew_and_deleted() {
        check("a", "added");
        check("a a", "added -");
        check("a b", "added replaced");
        check("a b a", "added replaced replaced");
        check("delete", "!");
        check("a delete", "added deleted");
        check("a delete delete", "added deleted -");
        check("a delete a", "added deleted added");
        check("a delete b b", "added deleted added -");
    }

    #[test]
    fn anything_but_the_time_of_telling_makes_another_memo() {
        let known = evolve(State::default(), &Event::Added(memo(1, 5)));
        let decided = |memo: Memo| decide(&known, &Command::Keep(memo)).unwrap().len();
        assert_eq!(decided(memo(1, 99)), 0);
        for other in [
            Memo { group: "other".to_owned(), ..memo(1, 5) },
            Memo { source: Source::Json, ..memo(1, 5) },
            Memo { reference_time: Some(Timestamp(1)), ..memo(1, 5) },
            memo(2, 5),
        ] {
            assert_eq!(decided(other.clone()), 1, "{other:?}");
        }
        assert_eq!(known.created_at, Some(Timestamp(5)));
    }

    #[test]
    fn the_same_words_of_the_same_group_have_the_same_uuid() {
        let hash = ContentHash([7; 32]);
        let uuid = uuid_of("ledger", &hash, None);
        assert_eq!(uuid.to_string(), "3a837221-73ca-5292-a589-4713de64560b");
        for other in [
            uuid_of("ledger2", &hash, None),
            uuid_of("ledger", &ContentHash([8; 32]), None),
            uuid_of("ledger", &hash, Some(Timestamp(0))),
        ] {
            assert_ne!(uuid, other);
        }
    }

    #[test]
    fn a_key_names_one_memo_and_no_session() {
        let uuid = Uuid::from_u128(7);
        assert_eq!(uuid_of_key(key(uuid).as_str()), Some(uuid));
        for (id, reserved) in [("memory:x", true), ("memory:", true), ("memory", false), ("7acd37a8", false)] {
            let is_memo = SessionId::new(id).expect("an id").is_memo();
            assert_eq!((uuid_of_key(id), is_memo), (None, reserved), "{id}");
        }
        assert_eq!(baton_conversation::record::StreamId::memo(uuid).memo_uuid(), Some(uuid));
        assert_eq!(baton_conversation::record::StreamId::recorded("session:memory:x").memo_uuid(), None);
    }

    #[test]
    fn there_is_room_for_so_many_and_so_much() {
        let few = |count: usize, bytes: u64| has_room(std::iter::repeat_n(bytes, count), 256);
        assert_eq!(few(0, 0), Ok(()));
        assert_eq!(few(MEMOS_MAX - 1, 10), Ok(()));
        assert_eq!(few(MEMOS_MAX, 10), Err(Full::Many));
        assert_eq!(few(4_096, 256 * 1024 - 1), Ok(()));
        assert_eq!(few(4_096, 256 * 1024), Err(Full::Large));
        assert_eq!(few(3, u64::MAX), Err(Full::Large));
        assert!(Full::Large.to_string().contains("1024 MB"));
    }

    #[test]
    fn events_are_told_without_words() {
        assert_eq!(
            Event::Added(memo(0xab, 0)).to_string(),
            "told: text of 9 bytes, hash abababababababab, in group ledger"
        );
        assert_eq!(
            Event::Replaced(Memo { source: Source::Triplet, ..memo(0xab, 0) }).to_string(),
            "told anew: triplet of 9 bytes, hash abababababababab, in group ledger"
        );
        assert_eq!(Event::Deleted.to_string(), "deleted");
    }
}
