//! What is appended to a large conversation can be found at once, and the memory is in the end as one filled afresh.

use std::collections::BTreeMap;

use baton_conversation::item::{Act, Body, Call, Item, Meta, Outcome, ToolResult};
use baton_conversation::record::SessionId;
use baton_conversation::transcript::Sink;
use baton_store::chunks::{Header, ManifestId};

use super::large::{Home, LARGE, covers, finds};
use super::*;
use crate::indexer::append_state::AppendState;
use crate::indexer::conversation_builder::{ConversationBuilder, Written};

/// A conversation that grows as jobs make it grow.
struct Growing {
    session: SessionId,
    stored: Option<(ManifestId, AppendState)>,
}

impl Growing {
    fn new() -> Self {
        Self { session: SessionId::new("giant").unwrap(), stored: None }
    }

    /// Stores what follows, and returns the position of its event.
    async fn grow(&mut self, home: &Home, items: &[Item]) -> Position {
        let chunks = &home.options.chunks;
        let mut builder = match self.stored.take() {
            Some((prior, append_state)) => ConversationBuilder::continuing(chunks, &self.session, prior, append_state),
            None => ConversationBuilder::new(chunks, &self.session),
        };
        items.iter().for_each(|item| builder.item(item.clone()));
        let hash = builder.hash().unwrap();
        let Written { batch, manifest, held, append_state } = builder.written(Header::default()).unwrap();
        batch.commit().unwrap();
        held.into_iter().for_each(|held| home.fresh.put(manifest, held));
        self.stored = Some((manifest, append_state));
        home.indexed(&self.session, manifest, hash, LARGE).await
    }
}

fn item(line: u64, body: Body) -> Item {
    Item { line, at: Some(Timestamp(line as i64 * 1_000)), uuid: None, message: None, sidechain: false, body }
}

fn typed(line: u64, text: &str) -> Item {
    Item { uuid: Some(format!("u{line}").into()), ..queued(line, text) }
}

fn queued(line: u64, text: &str) -> Item {
    item(line, Body::Prompt { text: text.to_owned() })
}

fn call(line: u64, id: &str) -> Item {
    let input = BTreeMap::from([("command".to_owned(), format!("run {id}").into())]);
    let (act, id, name) = (Act::Shell, id.into(), "Bash".to_owned());
    item(line, Body::Call(Call { act, id, name, input, edit: None, commit: None, plan: None, git_line: None }))
}

fn result(line: u64, id: &str) -> Item {
    let text = format!("Bash run {id}: ok, {line} lines");
    let (name, outcome) = (Some("Bash".to_owned()), Outcome::Ok);
    let (exit_code, error, duration_ms, agent, report) = (Some(0), None, None, None, None);
    let id = id.into();
    item(line, Body::Result(ToolResult { id, name, outcome, exit_code, text, error, duration_ms, agent, report }))
}

/// What a session may be of: calls that are answered late, and prompts that are queued, withdrawn and delivered.
fn random(seed: u64) -> Vec<Item> {
    let mut state = seed;
    let mut below = |most: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % most
    };
    let (mut items, mut open, mut waiting) = (Vec::new(), Vec::new(), Vec::new());
    for line in 1..=60 {
        let next = match below(8) {
            0 | 1 => typed(line, &format!("please mend part {line}")),
            2 => item(line, Body::Reply { text: format!("part {line} is mended\n\n").repeat(1 + below(60) as usize) }),
            3 | 4 => {
                open.push(line);
                call(line, &format!("c{line}"))
            }
            5 if !open.is_empty() => {
                let called = open.swap_remove(below(open.len() as u64) as usize);
                result(line, &format!("c{called}"))
            }
            6 if seed.is_multiple_of(2) => {
                waiting.push(line);
                queued(line, &format!("later part {line}"))
            }
            7 if !waiting.is_empty() => {
                let left = waiting.swap_remove(0);
                items.push(item(line, Body::Meta(Meta::Withdrawn(left))));
                typed(line, &format!("later part {left}"))
            }
            _ => item(line, Body::Meta(Meta::Branch(format!("b{line}")))),
        };
        items.push(next);
    }
    items
}

#[tokio::test]
async fn appends_of_any_kind_come_to_what_a_memory_filled_afresh_has() {
    for seed in 1..=12 {
        let (home, mut growing) = (Home::new(), Growing::new());
        let port = home.memory();
        let items = random(seed);
        let mut last = growing.grow(&home, &items[..10]).await;
        covers(&port, last, Want::Whole).await;
        for (number, piece) in items[10..].chunks(1 + seed as usize % 4).enumerate() {
            last = growing.grow(&home, piece).await;
            covers(&port, last, if number % 5 == 4 { Want::Whole } else { Want::ButLarge }).await;
        }
        covers(&port, last, Want::Whole).await;
        let dump = |port: &Port| port.searcher().unwrap().dump().unwrap();
        let maintained = dump(&port);
        port.close().await;
        std::fs::remove_dir_all(home.temp.path().join("memory")).unwrap();
        let afresh = home.memory();
        covers(&afresh, last, Want::Whole).await;
        assert_eq!(maintained, dump(&afresh), "seed {seed}");
        afresh.close().await;
    }
}

#[tokio::test]
async fn what_is_appended_is_found_before_the_rest_is_made() {
    let (home, mut growing) = (Home::new(), Growing::new());
    let port = home.memory();
    let found = |word: &str| finds(&port, word) > 0;
    let first = growing.grow(&home, &[typed(1, "feed the wombats"), call(2, "c2")]).await;
    covers(&port, first, Want::Whole).await;
    assert_eq!(["wombats", "herons"].map(found), [true, false]);
    // Let it rest for the remainder of the test.
    home.large.note_taken_in(&growing.session, Duration::from_secs(3_600));
    let answered = growing.grow(&home, &[result(3, "c2"), typed(4, "feed the herons")]).await;
    assert_eq!(covers(&port, answered, Want::Turns).await, answered);
    assert_eq!(["wombats", "herons", "lizards"].map(found), [true, true, false]);
    assert!(port.covered().whole < answered, "its episode is still to be made");
    // Two appends before the memory looks, the second of which continues the first.
    growing.grow(&home, &[typed(5, "feed the lizards")]).await;
    let last = growing.grow(&home, &[typed(6, "feed the quokkas")]).await;
    assert_eq!(covers(&port, last, Want::Turns).await, last);
    assert_eq!(["herons", "lizards", "quokkas", "otters"].map(found), [true, true, true, false]);
    // A prompt that was found is withdrawn: that takes the whole conversation.
    growing.grow(&home, &[queued(7, "feed the otters")]).await;
    let last = growing.grow(&home, &[item(8, Body::Meta(Meta::Withdrawn(7))), typed(8, "feed the cranes")]).await;
    assert_eq!(covers(&port, last, Want::ButLarge).await, last);
    assert!(port.covered().turns < last && !found("cranes"));
    assert_eq!(covers(&port, last, Want::Whole).await, last);
    assert!(found("cranes"));
    port.close().await;
}
