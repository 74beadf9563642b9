//! Processing of a transcript that two tests of hostile text share.

use std::hint::black_box;

use baton_conversation::item::{Agent, Item};
use baton_conversation::messages::messages;
use baton_conversation::transcript::{Cursor, OpenCalls, Reader, Source};
use baton_conversation::turns;
use baton_episode::digest::{Episode, Show, digest};
use baton_graph::{Surroundings, graph};

/// Derives everything from a transcript up to the search document, and returns the input for further steps.
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
