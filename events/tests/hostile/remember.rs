//! What two tests of hostile text make of a transcript.

use std::hint::black_box;

use baton_events::conversation::{Agent, Item};
use baton_events::digest::{Episode, Show, digest};
use baton_events::graph::{Surroundings, graph};
use baton_events::messages::messages;
use baton_events::transcript::{Cursor, OpenCalls, Reader, Source};
use baton_events::turns;

/// Makes everything of a transcript until it can be searched, and returns what more can be made from.
pub(crate) fn remember(transcript: &[u8], at: &Surroundings<'_>) -> (Vec<Item>, Episode) {
    let mut items: Vec<Item> = Vec::new();
    let source = Source { agent: Agent::ClaudeCode, subagent: false };
    let mut reader = Reader::new(source, Cursor::default(), OpenCalls::default(), &mut items);
    assert_eq!(reader.feed(transcript), transcript.len());
    let episode = digest(&items, &Show::default());
    black_box(graph(&items, &episode, at));
    black_box(turns::units(&items));
    black_box(messages(&items));
    (items, episode)
}
