//! Prompts that do not stand where they were typed.
//!
//! What a person types while the agent works goes into a queue, and the transcript may never say more of it. So it is said
//! as a prompt at once. When it leaves the queue that is withdrawn ([`Meta::Withdrawn`]): a record of its own says it again
//! where the agent got it, or it was taken back and never reached the agent. What nothing withdraws stands.
//!
//! Items are only ever added, so a withdrawn prompt stays among them; whoever reads a conversation asks here.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::conversation::{Body, Item, Meta};

/// The lines whose queued prompts are withdrawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Withdrawn(BTreeSet<u64>);

impl Withdrawn {
    /// Looks for withdrawals; linear, but for a logarithm.
    pub fn of<'a>(items: impl IntoIterator<Item = &'a Item>) -> Self {
        let line = |item: &Item| match &item.body {
            Body::Meta(Meta::Withdrawn(line)) => Some(*line),
            _ => None,
        };
        Self(items.into_iter().filter_map(line).collect())
    }

    /// Takes note of the next item of a conversation.
    pub fn note(&mut self, item: &Item) {
        if let Body::Meta(Meta::Withdrawn(line)) = &item.body {
            self.0.insert(*line);
        }
    }

    /// Whether nothing is withdrawn.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an item is a prompt that is withdrawn. Records that say a prompt for good have ids, those of the queue none.
    pub fn holds(&self, item: &Item) -> bool {
        !self.0.is_empty()
            && matches!(item.body, Body::Prompt { .. })
            && item.uuid.is_none()
            && self.0.contains(&item.line)
    }
}

/// The items without what is withdrawn.
pub fn standing(items: &[Item]) -> Cow<'_, [Item]> {
    let withdrawn = Withdrawn::of(items);
    if items.iter().any(|item| withdrawn.holds(item)) {
        return items.iter().filter(|item| !withdrawn.holds(item)).cloned().collect();
    }
    Cow::Borrowed(items)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::{Metadata, Show, digest};
    use crate::hash::ContentHash;
    use crate::messages::messages;
    use crate::turns::units;

    fn item(line: u64, uuid: Option<&str>, body: Body) -> Item {
        Item { line, at: None, uuid: uuid.map(Into::into), message: None, sidechain: false, body }
    }

    fn prompt(line: u64, uuid: Option<&str>, text: &str) -> Item {
        item(line, uuid, Body::Prompt { text: text.to_owned() })
    }

    fn withdrawn(line: u64, of: u64) -> Item {
        item(line, None, Body::Meta(Meta::Withdrawn(of)))
    }

    #[test]
    fn a_withdrawn_prompt_is_in_nothing_that_is_made_of_a_conversation() {
        let start = prompt(1, Some("u-1"), "mend the crane of the harbour");
        let reply = item(4, Some("u-2"), Body::Reply { text: "The crane is mended.".to_owned() });
        let items = [start.clone(), prompt(2, None, "and paint the lighthouse"), withdrawn(3, 2), reply.clone()];
        let plain = [start, reply];
        assert_eq!(ContentHash::of(&items), ContentHash::of(&plain));
        assert_eq!(units(&items), units(&plain));
        assert_eq!(messages(&items), messages(&plain));
        assert_eq!(digest(&items, &Show::default()), digest(&plain, &Show::default()));
        assert_eq!(Metadata::of(&items, 9), Metadata::of(&plain, 9));
        assert_ne!(ContentHash::of(&items[..2]), ContentHash::of(&plain[..1]), "as long as it waits it stands");
    }

    #[test]
    fn only_what_was_said_of_the_queue_is_withdrawn() {
        let check = |items: &[Item], expected: &[u64]| {
            let lines: Vec<u64> = standing(items).iter().map(|item| item.line).collect();
            assert_eq!(lines, expected, "{items:?}");
        };
        check(&[prompt(1, None, "a"), prompt(2, None, "b"), withdrawn(3, 2)], &[1, 3]);
        check(&[prompt(2, Some("u"), "b"), prompt(2, None, "c"), withdrawn(3, 2)], &[2, 3]);
        check(&[prompt(2, Some("u"), "b"), withdrawn(3, 2), withdrawn(4, 9)], &[2, 3, 4]);
        check(&[item(2, None, Body::Notice { text: "x".to_owned() }), withdrawn(3, 2)], &[2, 3]);
        check(&[], &[]);
    }
}
