//! Credentials that give themselves away by how they begin.

use super::{Cut, MIN_KEY_CHARS, run_end};

/// A family of keys.
pub(super) struct Key {
    /// How it begins; case counts.
    pub(super) prefix: &'static str,
    /// What stands in its place.
    kind: &'static str,
    /// What its rest is made of.
    body: Body,
}

/// Longest run of characters that is looked at twice, to tell a key from words; a longer one is a key.
const MAX_DOUBTFUL_CHARS: usize = 256;

/// The alphabet of a key's rest.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Body {
    /// Capitals and digits.
    Upper,
    /// Letters and digits.
    Alphanumeric,
    /// Letters, digits, `_`.
    Word,
    /// Letters, digits, `_`, `-`; words joined by hyphens are not a key.
    Hyphenated,
    /// Letters, digits, `_`, `-`, `.`; needs a digit.
    Dotted,
    /// Base64: letters, digits, `+`, `/`, `=`.
    Base64,
}

const fn key(prefix: &'static str, kind: &'static str, body: Body) -> Key {
    Key { prefix, kind, body }
}

/// Every known prefix. Where one begins with another, the shorter is enough when the body allows it.
pub(super) const KEYS: &[Key] = &[
    key("sk-", "api_key", Body::Hyphenated),
    key("sk_live_", "stripe_key", Body::Alphanumeric),
    key("sk_test_", "stripe_key", Body::Alphanumeric),
    key("rk_live_", "stripe_key", Body::Alphanumeric),
    key("rk_test_", "stripe_key", Body::Alphanumeric),
    key("whsec_", "stripe_key", Body::Base64),
    key("AKIA", "aws_key", Body::Upper),
    key("ASIA", "aws_key", Body::Upper),
    key("ghp_", "github_token", Body::Alphanumeric),
    key("gho_", "github_token", Body::Alphanumeric),
    key("ghu_", "github_token", Body::Alphanumeric),
    key("ghs_", "github_token", Body::Alphanumeric),
    key("ghr_", "github_token", Body::Alphanumeric),
    key("github_pat_", "github_token", Body::Word),
    key("glpat-", "gitlab_token", Body::Hyphenated),
    key("xoxb-", "slack_token", Body::Hyphenated),
    key("xoxp-", "slack_token", Body::Hyphenated),
    key("xoxa-", "slack_token", Body::Hyphenated),
    key("xoxs-", "slack_token", Body::Hyphenated),
    key("xoxr-", "slack_token", Body::Hyphenated),
    key("xapp-", "slack_token", Body::Hyphenated),
    key("AIza", "google_key", Body::Hyphenated),
    key("ya29.", "google_token", Body::Dotted),
    key("npm_", "npm_token", Body::Alphanumeric),
    key("pypi-", "pypi_token", Body::Hyphenated),
    key("hf_", "huggingface_token", Body::Alphanumeric),
    key("gsk_", "api_key", Body::Alphanumeric),
    key("SG.", "sendgrid_key", Body::Dotted),
    key("dop_v1_", "digitalocean_token", Body::Alphanumeric),
    key("shpat_", "shopify_token", Body::Alphanumeric),
    key("dckr_pat_", "docker_token", Body::Hyphenated),
];

impl Key {
    /// The whole key that begins at `start`, if it is one.
    pub(super) fn cut(&self, text: &str, start: usize) -> Option<Cut> {
        let body = start + self.prefix.len();
        if !text.as_bytes()[start..].starts_with(self.prefix.as_bytes()) || follows_word(text, start) {
            return None;
        }
        let end = run_end(text, body, |byte| self.body.allows(byte));
        let known = end - start > MAX_DOUBTFUL_CHARS || self.body.plausible(&text[body..end]);
        if end - start < MIN_KEY_CHARS || !known {
            return None;
        }
        Some(Cut { start, end: past_word(text, end), kind: self.kind })
    }
}

impl Body {
    fn allows(self, byte: u8) -> bool {
        match self {
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Alphanumeric => byte.is_ascii_alphanumeric(),
            Self::Word => byte.is_ascii_alphanumeric() || byte == b'_',
            Self::Hyphenated => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
            Self::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='),
        }
    }

    fn plausible(self, body: &str) -> bool {
        match self {
            Self::Hyphenated => !is_words(body),
            Self::Dotted => body.bytes().any(|byte| byte.is_ascii_digit()),
            _ => true,
        }
    }
}

/// Whether a text is lower-case words joined by hyphens, as names of packages and CSS classes are: `learn-based-tool`.
fn is_words(body: &str) -> bool {
    let mut words = 0;
    for word in body.split('-') {
        if word.is_empty() || word.len() > 10 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return false;
        }
        words += 1;
    }
    words >= 3
}

/// A JSON Web Token that begins at `start`: `eyJ….eyJ….signature`. `none_before` remembers the end of a run that has
/// none, so that a text of many beginnings is looked through once.
pub(super) fn jwt(text: &str, start: usize, none_before: &mut usize) -> Option<Cut> {
    let part = |from: usize| run_end(text, from, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    if start < *none_before || !text.as_bytes()[start..].starts_with(b"eyJ") || follows_word(text, start) {
        return None;
    }
    let header = part(start);
    if !text.as_bytes()[header..].starts_with(b".eyJ") {
        *none_before = header;
        return None;
    }
    let payload = part(header + 1);
    let end = if text.as_bytes().get(payload) == Some(&b'.') { part(payload + 1) } else { payload };
    (end - start >= MIN_KEY_CHARS).then_some(Cut { start, end: past_word(text, end), kind: "jwt" })
}

/// Whether a letter or a digit stands right before: then `sk-` is the end of `task-`.
pub(super) fn follows_word(text: &str, start: usize) -> bool {
    text[..start].chars().next_back().is_some_and(char::is_alphanumeric)
}

/// The end of the word that `end` lies in: what is left after a cut never begins in the middle of a word, so that a
/// second look finds nothing that the first did not.
fn past_word(text: &str, end: usize) -> usize {
    end + text[end..].chars().take_while(|c| c.is_alphanumeric()).map(char::len_utf8).sum::<usize>()
}
