//! The identity by which a record is recognised in forks and copies of its session.
//!
//! # Decisions
//!
//! - How much must agree depends on how much chance is in the record's id. Of a long one nobody makes a second. A short
//!   one (Pi's eight digits) comes again among many sessions, so time and content must agree too; a number or a word
//!   (`call_0`, `e12`) says nothing outside of its own file.

use sha2::{Digest, Sha256};

use crate::hash::{ContentHasher, Mark};
use crate::item::Item;

/// From this many letters and digits on (88 bits of hex) an id is unique in the world.
const UNIQUE_CHARS: usize = 22;
/// From this many on, an id and its time are.
const RARE_CHARS: usize = 8;

/// Fingerprint of the item's record, which only copies of the record have; `None` if nothing distinguishes it. Of a
/// unique id it is [`Mark::digest`]. Items of one record have the same if its id is unique.
pub fn record_mark(item: &Item) -> Option<Mark> {
    let id = item.uuid.as_deref()?;
    match chance_chars(id) {
        UNIQUE_CHARS.. => Some(Mark::digest(id.as_bytes())),
        RARE_CHARS.. => {
            let mut content = ContentHasher::default();
            content.item(item);
            let mut whole = Sha256::new();
            whole.update(item.at?.0.to_be_bytes());
            whole.update(content.finish().0);
            whole.update(id);
            Some(Mark::digest(&whole.finalize()))
        }
        _ => None,
    }
}

/// Number of letters and digits of an id that may be chance: without the words before them (`chatcmpl-tool-`).
fn chance_chars(id: &str) -> usize {
    let mut rest = id;
    while let Some((word, after)) = rest.split_once(|c: char| !c.is_alphanumeric())
        && word.bytes().all(|byte| byte.is_ascii_lowercase())
    {
        rest = after;
    }
    rest.chars().filter(|c| c.is_alphanumeric()).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::Body;
    use crate::record::Timestamp;

    fn item(id: &str, at: Option<i64>, text: &str) -> Item {
        let body = Body::Prompt { text: text.to_owned() };
        Item { line: 1, at: at.map(Timestamp), uuid: Some(id.into()), message: None, sidechain: false, body }
    }

    #[test]
    fn a_unique_id_is_enough() {
        for id in [
            "019f0000-0000-7000-8000-000000000001",
            "abcdefab-1a2b-4c3d-8e4f-0123456789ab",
            "call_Hh2Jk9LmNoPqRsTuVwXyZ012",
            "chatcmpl-tool-6a6e4de55921302405c635e6",
            "rs_00000000-0000-4000-8000-000000000003",
        ] {
            let mark = record_mark(&item(id, Some(1), "one"));
            assert_eq!(mark, Some(Mark::digest(id.as_bytes())), "{id}: as stored by earlier versions");
            assert_eq!(mark, record_mark(&item(id, None, "other")), "{id}");
        }
    }

    #[test]
    fn a_short_id_needs_time_and_content() {
        for id in ["0a1b2c3d", "call_x8k2m4p1", "2026-11-29T10:00:00.000Z-1", "tool_call_1764412345678_0001"] {
            let mark = record_mark(&item(id, Some(1), "one"));
            assert!(mark.is_some() && mark == record_mark(&Item { line: 7, ..item(id, Some(1), "one") }), "{id}");
            for other in [item(id, Some(2), "one"), item(id, Some(1), "two"), item("0a1b2c3e", Some(1), "one")] {
                assert_ne!(mark, record_mark(&other), "{id}");
            }
            assert_eq!(record_mark(&item(id, None, "one")), None, "{id}");
        }
    }

    #[test]
    fn a_number_or_a_word_identifies_nothing() {
        for id in ["", "1", "call_0", "e12", "m1", "functions.shell:0", "synthetic-call-1", "zatanna-moon-groot", "é_-"]
        {
            assert_eq!(record_mark(&item(id, Some(1), "one")), None, "{id}");
        }
        assert_eq!(record_mark(&Item { uuid: None, ..item("", Some(1), "one") }), None);
    }
}
