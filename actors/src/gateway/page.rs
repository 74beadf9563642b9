//! Long lists in pages: each answer is bounded in bytes, and says where the next one goes on.

use baton_events::protocol::{Failure, code};

use super::connection::failure;

/// About how many bytes the entries of one answer take: what an agent can read without drowning.
pub(super) const PAGE_BYTES: usize = 60_000;
/// Most entries of one answer.
pub(super) const PAGE_ENTRIES: usize = 100;

/// How many entries an answer has that was asked for so many.
pub(super) fn entries(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(PAGE_ENTRIES).min(PAGE_ENTRIES)
}

/// Where to go on in a ranking: how many were given already.
pub(super) fn offset(cursor: Option<&str>) -> Result<usize, Failure> {
    let Some(cursor) = cursor else { return Ok(0) };
    let digits = cursor.strip_prefix('n').filter(|digits| digits.len() <= 9);
    digits.and_then(|digits| digits.parse().ok()).ok_or_else(|| unknown(cursor))
}

/// The cursor behind so many.
pub(super) fn after(given: usize) -> String {
    format!("n{given}")
}

/// The refusal of a cursor that no answer gave.
pub(super) fn unknown(cursor: &str) -> Failure {
    failure(code::INVALID_PARAMS, format!("no answer gave the cursor {cursor:?}; leave it out to begin at the top"))
}

/// As many of the entries as fit into an answer, at least one. True when some were left out.
pub(super) fn fitting<T: serde::Serialize>(entries: &mut Vec<T>) -> bool {
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
            assert_eq!((fitting(&mut entries), entries.len()), (cut, kept), "{sizes:?}");
        };
        check(&[], 0, false);
        check(&[10, 10], 2, false);
        check(&[PAGE_BYTES, 10], 1, true);
        check(&[PAGE_BYTES * 2], 1, false);
        check(&[30_000, 29_000, 2_000, 1], 2, true);
    }

    #[test]
    fn a_cursor_comes_from_an_answer() {
        assert_eq!(offset(None).unwrap(), 0);
        assert_eq!(offset(Some(&after(20))).unwrap(), 20);
        for wrong in ["", "20", "n", "n-1", "nx", "n99999999999"] {
            assert_eq!(offset(Some(wrong)).unwrap_err().code, code::INVALID_PARAMS, "{wrong:?}");
        }
    }
}
