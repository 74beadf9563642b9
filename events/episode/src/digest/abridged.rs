//! A conversation within the memory limit of a digest: whole if it takes no more than [`WHOLE_BYTES`], as almost all
//! do; otherwise its beginning, its end, and from the middle the prompts and the changed files. The number of omitted
//! items is counted.
//!
//! # Hazards
//!
//! - Above 16 MB of items (a transcript of some 100 MB) digest, graph and outcomes are made from this. All turns are
//!   still found; for the session as a whole its first 8 MB of words count. A call has no result if that comes more
//!   than 2 MB of text later.

use std::collections::{BTreeSet, VecDeque};

use super::metadata::Times;
use super::{Episode, Show};
use baton_conversation::item::{Body, Item, Meta, Outcome};

/// For the beginning: the purpose of the session and how it started.
const BEGINNING_BYTES: usize = 1024 * 1024;
/// For prompts and changes in the middle; the oldest are dropped.
const BETWEEN_BYTES: usize = 3 * 1024 * 1024;
/// For the end, which has the latest open matters and decisions.
const END_BYTES: usize = 12 * 1024 * 1024;
/// Maximum size of a conversation that is held whole, by [`Item::weight`]: a transcript of about a hundred megabytes.
pub const WHOLE_BYTES: usize = BEGINNING_BYTES + BETWEEN_BYTES + END_BYTES;
/// Maximum number of changes in the middle whose results are awaited.
const OPEN_CHANGES: usize = 64;
/// Parameters of a change that name its file.
const PATHS: [&str; 3] = ["file_path", "notebook_path", "path"];

/// A conversation that is passed item by item and abridged if necessary. Memory is bounded, except for eight bytes per
/// item.
#[derive(Clone, Debug, Default)]
pub struct Abridged {
    beginning: Part,
    between: Part,
    end: Part,
    changes: BTreeSet<Box<str>>,
    times: Times,
    left_out: u64,
}

#[derive(Clone, Debug, Default)]
struct Part {
    items: VecDeque<Item>,
    bytes: usize,
}

impl Part {
    fn push(&mut self, item: Item) {
        self.bytes += item.weight();
        self.items.push_back(item);
    }

    fn pop(&mut self) -> Option<Item> {
        let item = self.items.pop_front()?;
        self.bytes -= item.weight();
        Some(item)
    }
}

impl Abridged {
    /// Adds the next item.
    pub fn push(&mut self, item: Item) {
        self.times.note(&item);
        if self.end.items.is_empty() && self.beginning.bytes < BEGINNING_BYTES {
            self.beginning.push(item);
            return;
        }
        self.end.push(item);
        while self.beginning.bytes + self.between.bytes + self.end.bytes > WHOLE_BYTES
            && let Some(item) = self.end.pop()
        {
            self.put_between(item);
        }
    }

    /// Returns the digest of the conversation.
    pub fn digest(self, show: &Show) -> Episode {
        let (left_out, span) = (self.left_out, self.times.span());
        Episode { span, ..super::digest_whole(&self.into_items(), show, left_out) }
    }

    /// Returns the remaining items, in file order.
    pub fn into_items(self) -> Vec<Item> {
        let Self { beginning, between, end, .. } = self;
        beginning.items.into_iter().chain(between.items).chain(end.items).collect()
    }

    /// Returns the number of items that were dropped, or kept only in part.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    fn put_between(&mut self, mut item: Item) {
        match &mut item.body {
            Body::Prompt { .. } if !item.sidechain => {}
            Body::Meta(Meta::Title { .. } | Meta::Branch(_) | Meta::Cwd(_) | Meta::Withdrawn(_)) => {}
            Body::Call(call) if call.edit.is_some() => {
                call.input.retain(|key, _| PATHS.contains(&key.as_str()));
                if self.changes.len() < OPEN_CHANGES && !call.id.is_empty() {
                    self.changes.insert(call.id.clone());
                }
                self.left_out += 1;
            }
            Body::Result(result) if self.changes.remove(&result.id) && result.outcome == Outcome::Ok => {}
            _ => {
                self.left_out += 1;
                return;
            }
        }
        self.between.push(item);
        while self.between.bytes > BETWEEN_BYTES && self.between.pop().is_some() {
            self.left_out += 1;
        }
    }
}

/// Returns the digest of a conversation that is too long to be held whole; `None` for any other.
pub(super) fn digest_abridged(items: &[Item], show: &Show) -> Option<Episode> {
    let mut left = WHOLE_BYTES;
    let is_whole = items.iter().all(|item| match left.checked_sub(item.weight()) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    });
    if is_whole {
        return None;
    }
    let mut abridged = Abridged::default();
    items.iter().for_each(|item| abridged.push(item.clone()));
    Some(abridged.digest(show))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::super::digest;
    use super::*;
    use crate::any_items::any_items;
    use baton_conversation::item::{Call, Edit, ToolResult};

    fn item(line: u64, body: Body) -> Item {
        Item { line, at: None, uuid: None, message: None, sidechain: false, body }
    }

    fn reply(line: u64) -> Item {
        item(line, Body::Reply { text: format!("{line} {}", "x".repeat(6_000)) })
    }

    fn edit(line: u64, path: &str) -> [Item; 2] {
        let id: Box<str> = format!("t{line}").into();
        let input = [("file_path", path.to_owned()), ("new_string", "x".repeat(3_000))];
        let input: BTreeMap<_, _> = input.map(|(key, value)| (key.to_owned(), value.into())).into();
        let edit = Some(Edit { path: path.to_owned(), added: 3, removed: 1, ..Edit::default() });
        let result = ToolResult {
            id: id.clone(),
            name: Some("Edit".to_owned()),
            outcome: Outcome::Ok,
            exit_code: None,
            text: format!("Edit {path}: +3 -1"),
            error: None,
            duration_ms: None,
            agent: None,
            report: None,
        };
        [
            item(
                line,
                Body::Call(Call {
                    act: baton_conversation::item::Act::of_tool("Edit"),
                    id,
                    name: "Edit".to_owned(),
                    input,
                    edit,
                    commit: None,
                    plan: None,
                    git_line: None,
                }),
            ),
            item(line + 1, Body::Result(result)),
        ]
    }

    fn abridged(items: &[Item]) -> Abridged {
        let mut abridged = Abridged::default();
        items.iter().for_each(|item| abridged.push(item.clone()));
        abridged
    }

    #[test]
    fn of_a_giant_both_ends_are_told_and_between_them_what_was_typed_and_changed() {
        let mut items = vec![item(1, Body::Prompt { text: "Rewrite the ledger, please.".to_owned() })];
        items.extend((2..1_000).map(reply));
        items.push(item(1_000, Body::Prompt { text: "Now the importer as well.".to_owned() }));
        items.extend(edit(1_001, "src/importer.rs"));
        items.extend((1_010..4_000).map(reply));
        items.push(item(4_000, Body::Prompt { text: "And what is left?".to_owned() }));
        let abridged = abridged(&items);
        let left_out = abridged.left_out();
        let kept = abridged.into_items();
        assert!(kept.iter().map(Item::weight).sum::<usize>() <= WHOLE_BYTES);
        assert_eq!((&kept[0], kept.last()), (&items[0], items.last()));
        assert!(kept.iter().is_sorted_by_key(|item| item.line));
        // All are whole except the call, of which a part is kept.
        assert_eq!(left_out, (items.len() - kept.len()) as u64 + 1);
        let episode = digest(&items, &Show::default());
        assert_eq!((episode.left_out, episode.prompts.len()), (left_out, 3));
        assert_eq!(episode.title, "Rewrite the ledger, please");
        let changed: Vec<_> = episode.files_modified.iter().map(|file| (&*file.path, file.added, file.line)).collect();
        assert_eq!(changed, [("src/importer.rs", 3, 1_001)]);
        assert!(episode.content().contains(&format!("Left out: {left_out} parts of a very long conversation")));
    }

    #[test]
    fn what_is_held_is_bounded_whatever_comes() {
        let prompts = |line| item(line, Body::Prompt { text: "again ".repeat(200) });
        let calls = |line| edit(line, &format!("src/{line}.rs"))[0].clone();
        let big = |line| item(line, Body::Reply { text: "x".repeat(WHOLE_BYTES) });
        let table = [
            ("prompts", 20_000, &prompts as &dyn Fn(u64) -> Item),
            ("calls without an end", 20_000, &calls),
            ("giants", 4, &big),
        ];
        for (what, count, make) in table {
            let mut abridged = Abridged::default();
            for line in 1..=count {
                abridged.push(make(line));
                let held = abridged.beginning.bytes + abridged.between.bytes + abridged.end.bytes;
                assert!(held <= WHOLE_BYTES + make(1).weight(), "{what}: {held} bytes of {line}");
            }
            assert!(abridged.left_out() > 0 && abridged.changes.len() <= OPEN_CHANGES, "{what}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn what_is_not_too_long_is_held_whole(items in any_items()) {
            let abridged = abridged(&items);
            prop_assert_eq!(abridged.left_out(), 0);
            prop_assert_eq!(abridged.into_items(), items);
        }
    }
}
