//! Abandoned branches of a conversation. A person who goes back types a second prompt below the same record, and what
//! came in between stays in the transcript.
//!
//! Only typed prompts make branches. Parallel tool calls, their results and the harness' progress records also share a
//! parent, but are not branches. The first prompt of a conversation has no parent, recorded as the empty id; a second
//! prompt without a parent means that the person went back to the very beginning, unless the conversation was compacted
//! in between.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use crate::hash::Mark;
use crate::item::{Body, Item, Meta};
use crate::queued_prompts::without_withdrawn;

/// The items that stand at the end: without what was withdrawn, and without what was said in abandoned branches. What
/// was done there stays done.
pub fn without_abandoned(items: &[Item]) -> Cow<'_, [Item]> {
    let abandoned = Abandoned::from_items(items);
    let items = without_withdrawn(items);
    let is_talk = |item: &Item| matches!(item.body, Body::Prompt { .. } | Body::Answer { .. } | Body::Reply { .. });
    let is_given_up = |item: &Item| is_talk(item) && !item.sidechain && abandoned.contains(item.line);
    if !items.iter().any(is_given_up) {
        return items;
    }
    items.iter().filter(|item| !is_given_up(item)).cloned().collect()
}

/// Lines of a transcript that belong to abandoned branches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Abandoned(Vec<Range<u64>>);

impl Abandoned {
    /// Finds prompts with the same parent: everything from one of them up to the next is abandoned. Linear in the
    /// items, times a logarithm. Prompts inside a subagent's conversation are ignored.
    pub fn from_items(items: &[Item]) -> Self {
        let mut prompts = Prompts::default();
        items.iter().for_each(|item| prompts.note(item));
        prompts.abandoned()
    }

    fn merged(mut ranges: Vec<Range<u64>>) -> Self {
        ranges.sort_by_key(|range| (range.start, range.end));
        let mut merged: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match merged.last_mut() {
                Some(before) if range.start <= before.end => before.end = before.end.max(range.end),
                _ => merged.push(range),
            }
        }
        Self(merged)
    }

    /// True if the line was abandoned.
    pub fn contains(&self, line: u64) -> bool {
        let at = self.0.partition_point(|range| range.end <= line);
        self.0.get(at).is_some_and(|range| range.contains(&line))
    }

    /// The lines, in order; no two ranges overlap or touch.
    pub fn ranges(&self) -> &[Range<u64>] {
        &self.0
    }
}

/// Collects the prompts of a conversation, item by item, by their parent.
#[derive(Clone, Debug, Default)]
pub struct Prompts {
    last: BTreeMap<Mark, u64>,
    ranges: Vec<Range<u64>>,
}

impl Prompts {
    /// Adds the next item.
    pub fn note(&mut self, item: &Item) {
        let key = |parent: &str| Mark::digest(parent.as_bytes());
        match &item.body {
            _ if item.sidechain => {}
            Body::Meta(Meta::Below(parent)) => match self.last.insert(key(parent), item.line) {
                Some(earlier) if earlier < item.line => self.ranges.push(earlier..item.line),
                _ => {}
            },
            // The prompt after a compaction may have no parent although nothing was abandoned.
            Body::Meta(Meta::Compaction(_)) | Body::Summary { .. } => drop(self.last.remove(&key(""))),
            _ => {}
        }
    }

    /// The result; the same as [`Abandoned::from_items`] of all items.
    pub fn abandoned(self) -> Abandoned {
        Abandoned::merged(self.ranges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::Compaction;

    /// Words: `line` a reply, `line<parent` a typed prompt, with `~` inside a subagent's conversation, `line!` a compaction.
    fn check(story: &str, expected: &str) {
        let mut items = Vec::new();
        for word in story.split_whitespace() {
            let (word, sidechain) = word.strip_prefix('~').map_or((word, false), |word| (word, true));
            let (line, parent) = word.split_once('<').map_or((word, None), |(line, parent)| (line, Some(parent)));
            let (line, compaction) = line.strip_suffix('!').map_or((line, false), |line| (line, true));
            let line = line.parse().unwrap();
            let item = |body| Item { line, at: None, uuid: None, message: None, sidechain, body };
            match parent {
                Some(parent) => {
                    items.push(item(Body::Meta(Meta::Below(parent.into()))));
                    items.push(item(Body::Prompt { text: "do".into() }));
                }
                None if compaction => {
                    let compaction = Compaction { trigger: "auto".into(), tokens_before: None, tokens_after: None };
                    items.push(item(Body::Meta(Meta::Compaction(compaction))));
                }
                None => items.push(item(Body::Reply { text: "done".into() })),
            }
        }
        let abandoned = Abandoned::from_items(&items);
        let described: Vec<String> =
            abandoned.ranges().iter().map(|range| format!("{}-{}", range.start, range.end)).collect();
        assert_eq!(described.join(" "), expected, "{story}");
        for line in 0..30 {
            let is_in = abandoned.ranges().iter().any(|range| range.contains(&line));
            assert_eq!(abandoned.contains(line), is_in, "{story}: {line}");
        }
    }

    #[test]
    fn going_back_gives_up_what_came_between() {
        check("", "");
        check("1 2<a 3 4<b 5", "");
        check("1 2<a 3 4 5<a 6", "2-5");
        check("1<a 2 3<a 4 5<a 6", "1-5");
        check("1<a 2 3<b 4 5<b 6 7<a 8", "1-7");
        check("1<a 2 3<b 4 5<c 6 7<b 8 9<d 10 11<c 12", "3-11");
        check("1<a 2<a 3 4<b 5<c 6<b 7", "1-2 4-6");
        check("2<a 2<a 3", "");
    }

    #[test]
    fn going_back_to_the_beginning_gives_up_everything_since() {
        check("1< 2 3<b 4 5< 6", "1-5");
        check("1< 2 3! 4< 5", "");
        check("1< 2 3! 4< 5 6< 7", "4-6");
        check("1<a 2 3! 4<a 5", "1-4");
        check("1< 2 ~3< 4 ~5< 6", "");
    }

    #[test]
    fn a_subagents_prompts_make_no_branch() {
        check("1<a 2 ~3<x ~4 ~5<x ~6 7<b", "");
        check("1<a ~2<a ~3 4<b 5<a", "1-5");
    }
}
