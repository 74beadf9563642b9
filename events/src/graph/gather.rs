//! What has been found of a session so far: each entity and each fact once, within the bounds.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::{Assertion, Graph, Label, MAX_ASSERTIONS, MAX_NAME_CHARS, MAX_TEXT_CHARS, Mention, Relation};
use crate::record::Timestamp;

/// A line of the transcript, and when it was written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) line: u64,
    pub(super) at: Option<Timestamp>,
}

/// Collects; what comes first is kept when a bound is reached.
pub(super) struct Gather<'a> {
    group: &'a str,
    graph: Graph,
    nodes: BTreeMap<Uuid, usize>,
    of_label: BTreeMap<Label, usize>,
    facts: BTreeSet<Uuid>,
}

impl<'a> Gather<'a> {
    pub(super) fn new(group: &'a str) -> Self {
        Self {
            group,
            graph: Graph::default(),
            nodes: BTreeMap::new(),
            of_label: BTreeMap::new(),
            facts: BTreeSet::new(),
        }
    }

    /// An entity of the session: its uuid, or none when it has no name or there are too many of its kind. One that comes
    /// again is counted on; its first detail stays.
    pub(super) fn mention(&mut self, label: Label, name: &str, detail: &str, of: Moment, count: u32) -> Option<Uuid> {
        let name = one_line(name, MAX_NAME_CHARS);
        if name.is_empty() {
            return None;
        }
        let uuid = super::node_uuid(self.group, label, &name);
        if let Some(known) = self.nodes.get(&uuid).and_then(|index| self.graph.mentions.get_mut(*index)) {
            known.count = known.count.saturating_add(count);
            if of.line < known.line {
                (known.line, known.at) = (of.line, of.at);
            }
            return Some(uuid);
        }
        let of_label = self.of_label.entry(label).or_default();
        if *of_label >= label.bound() {
            self.graph.left_out = self.graph.left_out.saturating_add(1);
            return None;
        }
        *of_label += 1;
        self.nodes.insert(uuid, self.graph.mentions.len());
        let detail = one_line(detail, MAX_TEXT_CHARS);
        self.graph.mentions.push(Mention { uuid, label, name, detail, line: of.line, at: of.at, count });
        Some(uuid)
    }

    /// A fact of the session; one that it already has is not said again.
    pub(super) fn assert(&mut self, relation: Relation, source: Uuid, target: Uuid, fact: &str, of: Moment) {
        let uuid = super::fact_uuid(self.group, relation, source, target);
        if self.facts.contains(&uuid) {
            return;
        }
        if self.graph.assertions.len() >= MAX_ASSERTIONS {
            self.graph.left_out = self.graph.left_out.saturating_add(1);
            return;
        }
        self.facts.insert(uuid);
        let fact = one_line(fact, MAX_TEXT_CHARS);
        self.graph.assertions.push(Assertion { uuid, relation, source, target, fact, valid_at: of.at, line: of.line });
    }

    pub(super) fn finish(self) -> Graph {
        self.graph
    }
}

/// The text on one line, at most so many characters; a cut is marked.
pub(super) fn one_line(text: &str, max_chars: usize) -> String {
    let mut line = String::new();
    let mut left = max_chars;
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        let space = usize::from(!line.is_empty());
        let chars = word.chars().take(left + 1).count();
        if chars + space > left {
            // One character is kept for the mark; a full line gives its last one up.
            let room = left.saturating_sub(space + 1);
            if room > 0 {
                line.extend(" ".chars().take(space));
                line.extend(word.chars().take(room));
            } else if left == 0 {
                line.pop();
            }
            line.push('…');
            return line;
        }
        line.extend(" ".chars().take(space));
        line.push_str(word);
        left -= chars + space;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_becomes_one_bounded_line() {
        let check = |text: &str, max: usize, line: &str| {
            assert_eq!(one_line(text, max), line, "{text:?}");
            assert!(line.chars().count() <= max);
        };
        check(" a\n\tb ", 9, "a b");
        check("one two", 7, "one two");
        check("one two", 6, "one t…");
        check("one two", 5, "one…");
        check("one two", 4, "one…");
        check("one two", 3, "on…");
        check("ünïcode", 4, "ünï…");
        check("", 4, "");
    }
}
