//! Who belongs to a team, and which keys it has: what its administrator has said, in order.
//!
//! The administrator is the home that began the team. It alone removes members, and with each removal gives the team the
//! keys of a new epoch, in one notice. The notices of a writer have an order that nobody else can change, so all who have
//! read the same ones agree, in whatever order they have read those of other writers.
//!
//! A writer is a member if they were given the newest keys, or introduced themselves by them, and were never removed.

use std::collections::{BTreeMap, BTreeSet};

use crate::batch::Said;

/// The epoch with which every team begins.
pub const FIRST_EPOCH: u32 = 1;

/// The result of an administrator's notices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Membership {
    removed: BTreeSet<String>,
    epochs: BTreeMap<u32, NewKey>,
}

/// The key of a new epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NewKey {
    /// SHA-256 of the key, 64 hex digits.
    pub hash: String,
    /// The key, sealed for each member of that moment.
    pub boxes: BTreeMap<String, String>,
}

impl Membership {
    /// Adds a notice of the administrator. A removal stands for ever, and epochs follow each other without gaps.
    pub fn apply(&mut self, said: &Said) {
        if let Said::Removed { writers, epoch, key, boxes } = said
            && Some(*epoch) == self.epoch().checked_add(1)
        {
            self.removed.extend(writers.iter().cloned());
            let mut boxes = boxes.clone();
            boxes.retain(|writer, _| !self.removed.contains(writer));
            self.epochs.insert(*epoch, NewKey { hash: key.clone(), boxes });
        }
    }

    /// The newest epoch.
    pub fn epoch(&self) -> u32 {
        self.epochs.last_key_value().map_or(FIRST_EPOCH, |(epoch, _)| *epoch)
    }

    /// True if a writer was removed.
    pub fn is_removed(&self, writer: &str) -> bool {
        self.removed.contains(writer)
    }

    /// True if a writer who has introduced themselves by the keys of an epoch is a member.
    pub fn is_member(&self, writer: &str, introduced: u32) -> bool {
        let newest = self.epochs.last_key_value();
        !self.is_removed(writer)
            && newest.is_none_or(|(epoch, key)| introduced >= *epoch || key.boxes.contains_key(writer))
    }

    /// The keys that a writer was given, the oldest first: the epoch, the key's hash, and the sealed key.
    pub fn keys_of<'a>(&'a self, writer: &'a str) -> impl Iterator<Item = (u32, &'a str, &'a str)> {
        self.epochs
            .iter()
            .filter_map(move |(epoch, key)| Some((*epoch, key.hash.as_str(), key.boxes.get(writer)?.as_str())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(of: char) -> String {
        String::from(of).repeat(32)
    }

    fn removed(writers: &str, epoch: u32, left: &str) -> Said {
        let boxes = left.chars().map(|of| (id(of), format!("{of}{epoch}"))).collect();
        Said::Removed { writers: writers.chars().map(id).collect(), epoch, key: format!("key {epoch}"), boxes }
    }

    #[test]
    fn a_removal_is_final_and_whoever_has_no_new_key_is_no_member() {
        // Writers with the epoch by whose keys they introduced themselves.
        let all = ["a1", "b1", "b2", "b3", "c1", "d1", "d2", "d3"];
        for (said, members) in [
            (vec![], "a1 b1 b2 b3 c1 d1 d2 d3"),
            (vec![removed("b", 2, "ac")], "a1 c1 d2 d3"),
            // A later notice that names the removed one again, or another one's removal, brings nobody back.
            (vec![removed("b", 2, "ac"), removed("", 3, "abc")], "a1 c1 d3"),
            (vec![removed("b", 2, "acd"), removed("c", 3, "ad")], "a1 d1 d2 d3"),
            // A member who joined by old keys, unknown to the administrator, needs another invitation.
            (vec![removed("c", 2, "ab")], "a1 b1 b2 b3 d2 d3"),
            (vec![removed("bc", 2, "a")], "a1 d2 d3"),
            // A notice out of order is ignored.
            (vec![removed("b", 3, "ac")], "a1 b1 b2 b3 c1 d1 d2 d3"),
            (vec![removed("b", 2, "ac"), removed("c", 2, "ab")], "a1 c1 d2 d3"),
            (vec![removed("b", u32::MAX, "a")], "a1 b1 b2 b3 c1 d1 d2 d3"),
        ] {
            let mut team = Membership::default();
            said.iter().for_each(|said| team.apply(said));
            let is_member = |of: &&str| team.is_member(&id(of.chars().next().unwrap()), of[1..].parse().unwrap());
            let found: Vec<&str> = all.into_iter().filter(is_member).collect();
            assert_eq!(found.join(" "), members, "{said:?}");
        }
    }

    #[test]
    fn the_removed_one_gets_no_key_of_a_later_epoch() {
        let mut team = Membership::default();
        for said in [removed("b", 2, "ac"), removed("c", 3, "abc"), removed("d", 4, "abc")] {
            team.apply(&said);
        }
        let epochs = |of: char| team.keys_of(&id(of)).map(|(epoch, ..)| epoch).collect::<Vec<_>>();
        assert_eq!((epochs('a'), epochs('b'), epochs('c')), (vec![2, 3, 4], vec![], vec![2]));
        assert_eq!(team.keys_of(&id('c')).next(), Some((2, "key 2", "c2")));
    }
}
