//! Secrets at `=`, `:` and their URL-encoded forms (`%3D`, `%3A`): assignments, headers, URLs, `user:password`.

use super::assignment::{self, Join, past_blanks};
use super::name::{self, Name, NameKind};
use super::{Cut, delimited, header, in_mark, neighbour, shape, url};
use baton_words::WordList;

/// Types that may be between a name and its `=`: `password: &str = "…"`.
const TYPES: &[&str] =
    &["str", "&str", "&'static str", "String", "string", "text", "Optional[str]", "str | None", "SecretStr", "any"];
/// Length of the longest type with a space on either side, in bytes.
const MAX_TYPE_BYTES: usize = 18;

/// Names of account fields. An email address near one is the user's.
static ACCOUNTS: WordList = WordList::new(crate::WORDS, "accounts");
/// How far from an address they may be, in bytes.
const MAX_ACCOUNT_BYTES: usize = 400;

/// Returns the first secret at a separator at or after `from`.
pub(super) fn find(text: &str, from: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    memchr::memchr3_iter(b'=', b':', b'%', &bytes[from..])
        .filter_map(|at| {
            let at = from + at;
            match bytes[at] {
                b'=' => secret_at_equals(text, at),
                b':' => secret_at_colon(text, at),
                _ => secret_at_percent(text, at),
            }
        })
        .find(|cut| cut.start >= from)
}

fn secret_at_equals(text: &str, at: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let before = at.checked_sub(1).map(|at| bytes[at])?;
    // `==`, `!=`, `<=` and `=~` are comparisons.
    if matches!(before, b'=' | b'!' | b'<' | b'>' | b'~') || matches!(bytes.get(at + 1), Some(b'=' | b'~')) {
        return None;
    }
    let end = if matches!(before, b':' | b'?' | b'+') { at - 1 } else { at };
    let arrow = bytes.get(at + 1) == Some(&b'>');
    let from = at + 1 + usize::from(arrow);
    let name =
        name::name_ending_at(text, end).or_else(|| name::name_ending_at(text, name_end_before_type(text, end)?))?;
    let tight = end == at && !arrow && !matches!(before, b' ' | b'\t' | b'"' | b'\'' | b']') && !is_blank(bytes, from);
    let query = tight && name.start > 0 && matches!(bytes[name.start - 1], b'?' | b'&' | b';' | b'#');
    secret_of(
        text,
        from,
        name,
        if query {
            Join::Query
        } else if tight {
            Join::Tight
        } else {
            Join::Loose
        },
    )
}

fn secret_at_colon(text: &str, at: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let next = bytes.get(at + 1).copied()?;
    match next {
        // `userPassword:: x`, in Base64.
        b':' if bytes.get(at + 2) == Some(&b' ') && at > 0 && bytes[at - 1] != b':' => {
            return secret_of(text, at + 2, name::name_ending_at(text, at)?, Join::Loose);
        }
        b':' | b'=' => return None,
        b'/' | b'\\' => {
            if let Some(end) = url::opens(bytes, at) {
                return url::secret(text, at, end);
            }
        }
        _ => {}
    }
    let before = at.checked_sub(1).map(|at| bytes[at])?;
    if before == b':' || in_mark(text, at + 1) {
        return None;
    }
    if matches!(next, b'0'..=b'9' | b'*')
        && let Some(cut) = delimited::pgpass(text, at)
    {
        return Some(cut);
    }
    if before.is_ascii_alphanumeric() && !next.is_ascii_whitespace() {
        let pair = shape::telegram(text, at).or_else(|| delimited::user(text, at));
        if pair.is_some() {
            return pair;
        }
    }
    secret_of(text, at + 1, name::name_ending_at(text, at)?, Join::Loose)
}

/// `%3D` and `%3A`: encoded `=` and `:`.
fn secret_at_percent(text: &str, at: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    match bytes.get(at + 1..at + 3)? {
        b"3D" | b"3d" => secret_of(text, at + 3, name::name_ending_at(text, at)?, Join::Query),
        b"3A" | b"3a" => url::encoded(text, at),
        _ => None,
    }
}

/// Returns the value at `from` if its name makes it a secret.
fn secret_of(text: &str, from: usize, name: Name, join: Join) -> Option<Cut> {
    match name.kind {
        NameKind::Authorization => header::authorization(text, from),
        NameKind::Cookie => header::cookie(text, from),
        NameKind::Putty => delimited::putty(text, from),
        NameKind::Carrier => neighbour::secret_value(text, from, name, join),
        NameKind::Email if !is_beside_account(text.as_bytes(), name.start) => None,
        NameKind::Email => secret_of(text, from, Name { kind: NameKind::Account, ..name }, join),
        _ => assignment::secret_value(text, from, name, join).filter(|cut| !in_mark(text, cut.start)),
    }
}

/// True if an account is named near a position, as in the files of programs that sign in.
fn is_beside_account(bytes: &[u8], at: usize) -> bool {
    let near = &bytes[at.saturating_sub(MAX_ACCOUNT_BYTES)..bytes.len().min(at + MAX_ACCOUNT_BYTES)];
    ACCOUNTS.iter().any(|name| memchr::memmem::find(near, name.as_bytes()).is_some())
}

fn is_blank(bytes: &[u8], from: usize) -> bool {
    past_blanks(bytes, from) > from
}

/// Returns the end of the name in `name: type =` if the type is one of [`TYPES`].
fn name_end_before_type(text: &str, end: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let floor = end.saturating_sub(MAX_TYPE_BYTES);
    let colon = floor + memchr::memrchr(b':', &bytes[floor..end])?;
    let kind = bytes[colon + 1..end].trim_ascii();
    TYPES.iter().any(|known| kind == known.as_bytes()).then_some(colon)
}
