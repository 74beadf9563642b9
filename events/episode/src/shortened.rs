//! Shortens a conversation to what its episode needs, so that old sessions take less room and are told as before.
//!
//! What may go: what the agent thought, its replies, the end of long prompts and of long arguments. What stays says how
//! the session went: prompts, calls, results, commits, times, models and their tokens. Whether something is needed is not
//! guessed by kinds: a part goes only if everything that is told of the session stays equal without it.

use std::collections::{BTreeSet, VecDeque};

use baton_conversation::item::{Body, Item};
use serde_json::Value;

use crate::digest::{Episode, Exchange, Pointed};

/// Stands for text that is gone.
pub const GONE: &str = "…";
/// Beginning of a prompt that stays, in characters: more than any list shows of it.
const PROMPT_CHARS: usize = 1_000;
/// Beginning of an argument of a call that stays, in characters.
const ARGUMENT_CHARS: usize = 120;
/// Most comparisons for one conversation. What they leave undecided stays.
const TRIES: u32 = 40;

/// Returns the conversation without what is not needed: as long as `is_told_alike` holds for what is left. The lines that
/// the episode quotes stay without a look. Linear in the items for each comparison, of which there are at most a few dozen.
pub fn shortened(items: &[Item], episode: &Episode, mut is_told_alike: impl FnMut(&[Item]) -> bool) -> Vec<Item> {
    let quoted = quoted_lines(episode);
    let part = |item: &Item| Some(item).filter(|item| !quoted.contains(&item.line)).and_then(Part::of);
    let shorter: Vec<Option<Part>> = items.iter().map(part).collect();
    let candidates: Vec<usize> = (0..items.len()).filter(|at| shorter[*at].is_some()).collect();
    let mut goes = vec![false; items.len()];
    let without = |goes: &[bool]| -> Vec<Item> {
        let pairs = items.iter().zip(&shorter).zip(goes);
        pairs
            .filter_map(|((item, shorter), goes)| match (goes, shorter) {
                (true, Some(Part::Shorter(shorter))) => Some(Item::clone(shorter)),
                (true, Some(Part::Nothing)) => None,
                _ => Some(item.clone()),
            })
            .collect()
    };
    // Halves what is needed until it is alone, the largest pieces first.
    let mut pieces = VecDeque::from([&candidates[..]]);
    for _ in 0..TRIES {
        let Some(piece) = pieces.pop_front() else { break };
        if piece.is_empty() {
            continue;
        }
        let mut tried = goes.clone();
        piece.iter().for_each(|at| tried[*at] = true);
        if is_told_alike(&without(&tried)) {
            goes = tried;
        } else if piece.len() > 1 {
            let (first, second) = piece.split_at(piece.len() / 2);
            pieces.extend([first, second]);
        }
    }
    without(&goes)
}

/// The lines of the agent's words that stand in an episode.
fn quoted_lines(episode: &Episode) -> BTreeSet<u64> {
    let concluded = episode.exchanges.iter().filter_map(|Exchange { conclusion, .. }| conclusion.as_ref());
    let lists = [
        &episode.decisions,
        &episode.superseded,
        &episode.setbacks,
        &episode.external_research,
        &episode.unresolved,
        &episode.next_steps,
        &episode.state.told,
    ];
    let kept = episode.work_completed.values().chain(episode.knowledge_stored.values()).chain(lists).flatten();
    let mended = episode.errors.iter().filter_map(|error| error.resolution.as_ref());
    let pointed = concluded.chain(kept).chain(mended).chain(episode.overruled_by.values());
    pointed.map(|Pointed { line, .. }| *line).collect()
}

/// What is left of an item.
enum Part {
    Nothing,
    Shorter(Box<Item>),
}

impl Part {
    /// `None` if all of it stays.
    fn of(item: &Item) -> Option<Self> {
        let with = |body| Some(Self::Shorter(Box::new(Item { body, ..item.clone() })));
        match &item.body {
            Body::Thinking { .. } => Some(Self::Nothing),
            // It still counts as a message of the agent.
            Body::Reply { text } if text.len() > GONE.len() => with(Body::Reply { text: GONE.to_owned() }),
            Body::Prompt { text } => with(Body::Prompt { text: beginning(text, PROMPT_CHARS)? }),
            Body::Call(call) => {
                let mut call = call.clone();
                let cut = call.input.values_mut().map(cut_value).fold(false, |any, cut| any | cut);
                if cut { with(Body::Call(call)) } else { None }
            }
            _ => None,
        }
    }
}

/// Cuts long text in a value. Returns true if there was any.
fn cut_value(value: &mut Value) -> bool {
    match value {
        Value::String(text) => match beginning(text, ARGUMENT_CHARS) {
            Some(shorter) => {
                *text = shorter;
                true
            }
            None => false,
        },
        Value::Array(values) => values.iter_mut().map(cut_value).fold(false, |any, cut| any | cut),
        Value::Object(fields) => fields.values_mut().map(cut_value).fold(false, |any, cut| any | cut),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The beginning of a longer text, with [`GONE`] for the rest.
fn beginning(text: &str, chars: usize) -> Option<String> {
    let (end, _) = text.char_indices().nth(chars)?;
    Some(format!("{}{GONE}", text[..end].trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(line: u64, body: Body) -> Item {
        Item { line, at: None, uuid: None, message: None, sidechain: false, body }
    }

    fn reply(line: u64, text: &str) -> Item {
        item(line, Body::Reply { text: text.to_owned() })
    }

    fn text(item: &Item) -> &str {
        match &item.body {
            Body::Reply { text } | Body::Prompt { text } | Body::Thinking { text } => text,
            _ => "",
        }
    }

    /// Keeps those of 20 replies whose lines are `needed`, thoughts go.
    #[test]
    fn what_is_needed_stays_and_the_rest_goes() {
        for needed in [vec![], vec![7], vec![1, 20], vec![3, 4, 5, 17]] {
            let thought = item(21, Body::Thinking { text: "hm".to_owned() });
            let items: Vec<Item> = (1..=20).map(|line| reply(line, &format!("said {line}"))).chain([thought]).collect();
            let is_there = |left: &[Item], line: u64| left.iter().any(|item| item.line == line && text(item) != GONE);
            let short = shortened(&items, &Episode::default(), |left| needed.iter().all(|line| is_there(left, *line)));
            let left: Vec<u64> = short.iter().filter(|item| text(item) != GONE).map(|item| item.line).collect();
            assert_eq!(left, needed);
            assert_eq!(short.len(), 20, "a reply still counts as one");
            // Nothing more goes the next time.
            assert_eq!(
                shortened(&short, &Episode::default(), |left| needed.iter().all(|line| is_there(left, *line))),
                short
            );
        }
    }

    #[test]
    fn what_cannot_be_decided_in_time_stays() {
        let items: Vec<Item> = (1..=1000).map(|line| reply(line, &format!("said {line}"))).collect();
        let mut tries = 0;
        let short = shortened(&items, &Episode::default(), |left| {
            tries += 1;
            left == items
        });
        assert_eq!((short, tries), (items, TRIES));
    }

    #[test]
    fn long_prompts_keep_their_beginning() {
        let long = "wörd ".repeat(400);
        let items = [item(1, Body::Prompt { text: long.clone() }), item(2, Body::Prompt { text: "short".to_owned() })];
        let short = shortened(&items, &Episode::default(), |_| true);
        assert!(long.starts_with(text(&short[0]).trim_end_matches(GONE)) && text(&short[0]).ends_with(GONE));
        assert_eq!(text(&short[0]).chars().count(), PROMPT_CHARS);
        assert_eq!(short[1], items[1]);
    }
}
