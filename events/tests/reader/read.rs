//! Reading bytes as a whole, and in pieces between which only stored data is kept.

use baton_conversation::item::{Agent, Item};
use baton_conversation::transcript::{Cursor, NullSink, Observation, OpenCalls, Reader, Source};

/// Result of reading.
#[derive(Clone, Debug, PartialEq, Default)]
pub(crate) struct Outcome {
    pub(crate) items: Vec<Item>,
    pub(crate) cursor: Cursor,
    pub(crate) seen: Observation,
}

/// All kinds of sources.
pub(crate) fn sources() -> Vec<Source> {
    let agents = ["claude_code", "codex"].into_iter().filter_map(Agent::parse);
    agents.flat_map(|agent| [false, true].map(|subagent| Source { agent, subagent })).collect()
}

/// Claude Code's own conversation.
pub(crate) const MAIN: Source = Source { agent: Agent::ClaudeCode, subagent: false };

/// Reads it at once; counting alone must give the same result.
pub(crate) fn whole(source: Source, bytes: &[u8]) -> Outcome {
    let mut items = Vec::new();
    let mut reader = Reader::new(source, Cursor::default(), OpenCalls::default(), &mut items);
    let fed = reader.feed(bytes);
    reader.finish(&bytes[fed..]);
    let (cursor, seen) = reader.into_parts();
    let mut none = NullSink;
    let mut reader = Reader::new(source, Cursor::default(), OpenCalls::default(), &mut none);
    let fed = reader.feed(bytes);
    reader.finish(&bytes[fed..]);
    assert_eq!(reader.into_parts(), (cursor.clone(), seen.clone()), "counting and reading see the same");
    Outcome { items, cursor, seen }
}

/// Reads it as it grows to each of these lengths; in between, cursor and items are stored and loaded.
pub(crate) fn in_pieces(source: Source, bytes: &[u8], lengths: &[usize]) -> Outcome {
    let mut outcome = Outcome::default();
    for length in lengths.iter().copied().chain([bytes.len()]) {
        let from = usize::try_from(outcome.cursor.offset).unwrap();
        let Some(piece) = bytes.get(from..length) else { continue };
        let stored = serde_json::to_vec(&outcome.cursor).unwrap();
        let cursor = serde_json::from_slice::<Cursor>(&stored).unwrap();
        let mut later = Vec::new();
        let mut reader = Reader::new(source, cursor, outcome.items.iter().collect(), &mut later);
        let fed = reader.feed(piece);
        reader.finish(&piece[fed..]);
        let (cursor, seen) = reader.into_parts();
        outcome.cursor = cursor;
        outcome.seen.absorb(&seen);
        outcome.items.append(&mut later);
    }
    outcome
}
