//! The usage of a conversation over its course: by half hour and model, as it is stored.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{ModelUsage, Requests};

/// Length of a part. All zones in use differ from UTC by whole quarters, nearly all by whole halves of an hour.
pub const HALF_HOUR_MS: i64 = 30 * 60_000;
/// Most parts of a course; a conversation of half a year without a pause has fewer.
const PARTS_MAX: usize = 10_000;

/// The usage of a conversation over its course.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Course {
    /// Fingerprint of the first request. A fork copies its origin from the beginning, so it has the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<u64>,
    /// Requests in further parts than are kept.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub left_out: u64,
    /// In order of time, then of the model's name.
    pub parts: Vec<Part>,
}

/// The usage of one model in one half hour.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Part {
    /// The half hour, counted from 1970 in UTC; absent if the transcript tells no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// The usage.
    #[serde(flatten)]
    pub usage: ModelUsage,
}

impl Requests {
    /// The usage by half hour and model.
    pub fn course(&self) -> Course {
        let mut course = Course { first: self.first.map(|mark| mark.0), ..Course::default() };
        let mut parts: BTreeMap<(Option<i64>, &str), ModelUsage> = BTreeMap::new();
        for request in self.known.values() {
            let key = (request.at.map(|at| at.0.div_euclid(HALF_HOUR_MS)), request.usage.model.as_str());
            parts.entry(key).or_insert_with(|| ModelUsage::named(key.1)).note(&request.usage);
        }
        course.left_out = parts.values().skip(PARTS_MAX).map(|usage| usage.messages).sum();
        let kept = parts.into_iter().take(PARTS_MAX);
        course.parts = kept.map(|((at, _), usage)| Part { at, usage }).collect();
        course
    }
}

impl Course {
    /// True if the conversation tells of no request.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use crate::item::{Body, Item, Meta, Usage};
    use crate::record::Timestamp;

    use super::*;

    /// A request of `model` with this output, in this minute.
    fn item(id: &str, minute: Option<i64>, model: &str, output: u64) -> Item {
        let usage = Usage { model: model.to_owned(), output, ..Usage::default() };
        let (message, body) = (Some(id.into()), Body::Meta(Meta::Usage(usage)));
        Item {
            line: 1,
            at: minute.map(|minute| Timestamp(minute * 60_000)),
            uuid: None,
            message,
            sidechain: false,
            body,
        }
    }

    fn requests(items: &[Item]) -> Requests {
        let mut requests = Requests::default();
        items.iter().for_each(|item| requests.note_any(item, item.at));
        requests
    }

    fn described(course: &Course) -> String {
        let parts = course.parts.iter().map(|part| {
            let at = part.at.map_or("?".to_owned(), |at| at.to_string());
            format!("{at} {} {}x{}", part.usage.model, part.usage.messages, part.usage.output)
        });
        parts.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn a_request_counts_in_the_half_hour_in_which_it_was_first_told() {
        let course = requests(&[
            item("a", Some(29), "opus", 5),
            item("a", Some(31), "opus", 9),
            item("b", Some(30), "haiku", 2),
            item("c", Some(59), "opus", 3),
            item("d", Some(59), "opus", 4),
            item("e", Some(-1), "opus", 1),
            item("f", None, "opus", 7),
        ])
        .course();
        assert_eq!(described(&course), "? opus 1x7, -1 opus 1x1, 0 opus 1x9, 1 haiku 1x2, 1 opus 2x7");
        let stored = serde_json::to_string(&course).unwrap();
        assert_eq!(serde_json::from_str::<Course>(&stored).unwrap(), course);
    }

    #[test]
    fn a_fork_has_the_first_request_of_its_origin_and_counts_what_is_its_own() {
        let base = [item("a", Some(1), "opus", 5), item("b", Some(40), "opus", 6)];
        let fork = [&base[..], &[item("c", Some(41), "opus", 7), item("d", Some(99), "haiku", 8)]].concat();
        let (base, fork) = (requests(&base), requests(&fork));
        let first = fork.course().first;
        assert!(first.is_some() && first == base.course().first);
        assert_ne!(first, requests(&[item("b", Some(40), "opus", 6)]).course().first);
        assert_eq!(described(&fork.without(&base).course()), "1 opus 1x7, 3 haiku 1x8");
    }

    #[test]
    fn a_course_is_bounded_and_tells_what_it_leaves_out() {
        let items: Vec<Item> = (0..10_003).map(|at| item(&at.to_string(), Some(at * 30), "opus", 1)).collect();
        let course = requests(&items).course();
        assert_eq!((course.parts.len(), course.left_out), (PARTS_MAX, 3));
    }
}
