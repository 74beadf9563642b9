//! Pages of long lists: each answer is bounded in bytes and carries the cursor of the next page.
//!
//! # Decisions
//!
//! - Cursors carry a digest of the question, which guards against mistakes, not against attackers.

use baton_conversation::hex;
use baton_protocol::{Failure, code};

use sha2::{Digest, Sha256};

use super::client::failure;

/// Approximate size of one answer's entries, in bytes: what an agent can read in one go.
pub(super) const PAGE_BYTES: usize = 60_000;
/// Most entries of one answer.
pub(super) const PAGE_ENTRIES: usize = 100;

/// Bytes of the digest in a cursor: guards against mistakes, not against forgery.
const MARK_BYTES: usize = 4;
/// Longest part of a wrong cursor that is repeated, in characters.
const CURSOR_CHARS: usize = 100;

/// Number of entries in an answer, given the requested limit.
pub(super) fn entries(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(PAGE_ENTRIES).min(PAGE_ENTRIES)
}

/// Digest of a question; a cursor is valid only for the question that returned it.
pub(super) struct Question(Sha256);

impl Question {
    /// Digests everything that decides which entries are listed, and in which order.
    pub(super) fn new(method: &str, texts: &[&[String]]) -> Self {
        let mut hash = Sha256::new();
        hash.update(method);
        for text in texts.iter().flat_map(|texts| texts.iter().map(String::as_str).chain(["\0"])) {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        }
        Self(hash)
    }

    /// The offset in a ranking at which the page begins.
    pub(super) fn offset(&self, cursor: Option<&str>) -> Result<usize, Failure> {
        let Some(cursor) = cursor else { return Ok(0) };
        let digits = self.position(cursor)?.strip_prefix('n').filter(|digits| digits.len() <= 9);
        digits.and_then(|digits| digits.parse().ok()).ok_or_else(|| unknown_cursor(cursor))
    }

    /// The cursor after `given` entries.
    pub(super) fn cursor_after(&self, given: usize) -> String {
        self.cursor(&format!("n{given}"))
    }

    /// The cursor that names a position: a digest of question and position, and the position.
    pub(super) fn cursor(&self, position: &str) -> String {
        format!("{}.{position}", self.mark(position))
    }

    /// The position that a cursor names, if it belongs to this question.
    pub(super) fn position<'a>(&self, cursor: &'a str) -> Result<&'a str, Failure> {
        let parts = cursor.split_once('.').filter(|(mark, position)| *mark == self.mark(position));
        parts.map(|(_, position)| position).ok_or_else(|| unknown_cursor(cursor))
    }

    fn mark(&self, position: &str) -> String {
        let digest = self.0.clone().chain_update(position).finalize();
        hex::encode(&digest[..MARK_BYTES])
    }
}

/// The refusal of a cursor past the end, which happens when the list has become shorter.
pub(super) fn cursor_past_end(cursor: &str) -> Failure {
    let shown: String = cursor.chars().take(CURSOR_CHARS).collect();
    failure(code::INVALID_PARAMS, format!("nothing follows the cursor {shown:?}; leave it out to begin at the top"))
}

/// The refusal of a cursor that does not belong to the question.
pub(super) fn unknown_cursor(cursor: &str) -> Failure {
    let shown: String = cursor.chars().take(CURSOR_CHARS).collect();
    let message = format!("no answer to this query returned the cursor {shown:?}; leave it out to begin at the top");
    failure(code::INVALID_PARAMS, message)
}

/// Keeps the entries that fit into one answer, at least one. Returns true if some were left out.
pub(super) fn truncate_to_page<T: serde::Serialize>(entries: &mut Vec<T>) -> bool {
    let mut bytes = 0;
    let fits = entries.iter().position(|entry| {
        bytes += serde_json::to_vec(entry).map_or(0, |json| json.len());
        bytes > PAGE_BYTES
    });
    match fits {
        Some(fits) => {
            let kept = fits.max(1);
            let cut = kept < entries.len();
            entries.truncate(kept);
            cut
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_bounded_and_never_empty() {
        let check = |sizes: &[usize], kept: usize, cut: bool| {
            let mut entries: Vec<String> = sizes.iter().map(|size| "x".repeat(*size)).collect();
            assert_eq!((truncate_to_page(&mut entries), entries.len()), (cut, kept), "{sizes:?}");
        };
        check(&[], 0, false);
        check(&[10, 10], 2, false);
        check(&[PAGE_BYTES, 10], 1, true);
        check(&[PAGE_BYTES * 2], 1, false);
        check(&[30_000, 29_000, 2_000, 1], 2, true);
    }

    #[test]
    fn a_cursor_comes_from_an_answer() {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let question = |words: &str, groups: &[&str]| Question::new("nodes", &[&texts(&[words]), &texts(groups)]);
        let asked = question("login", &["a", "b"]);
        assert_eq!(asked.offset(None).unwrap(), 0);
        let given = asked.cursor_after(20);
        assert_eq!(asked.offset(Some(&given)).unwrap(), 20);
        let refused = |question: &Question, cursor: &str| {
            let refused = question.offset(Some(cursor));
            assert_eq!(refused.unwrap_err().code, code::INVALID_PARAMS, "{cursor:?}");
        };
        for wrong in
            ["", "20", "n", "n-1", "nx", "n99999999999", "n20", ".n20", &format!("{given}1"), &asked.cursor("nx")]
        {
            refused(&asked, wrong);
        }
        for other in [
            question("login", &["a"]),
            question("login", &["ab"]),
            question("logout", &["a", "b"]),
            Question::new("facts", &[&texts(&["login"]), &texts(&["a", "b"])]),
            Question::new("nodes", &[&texts(&["login", "a"]), &texts(&["b"])]),
        ] {
            refused(&other, &given);
        }
    }
}
