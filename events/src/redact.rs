//! What must never be kept: text in, the same text without secrets out.
//!
//! Two things are cut. What a person marked with `<private>…</private>` (an unclosed mark reaches to
//! the end), and what looks like a credential: the well-known key prefixes with any total length from
//! [`MIN_KEY_CHARS`] on, JSON Web Tokens, private key blocks, `Authorization` headers, passwords in URLs
//! and assignments such as `password=…`. A cut leaves `[redacted:<kind>]` in its place.
//!
//! Promises: [`redact`] is idempotent, linear in the text's length, borrows when there is nothing to cut,
//! and keeps everything outside a cut byte for byte.

use std::borrow::Cow;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};

mod assignment;
pub mod json;
mod key;
mod span;

use key::KEYS;

/// Shortest credential with a well-known prefix, prefix included, in characters.
pub const MIN_KEY_CHARS: usize = 20;

/// How much text a private key block may have before its end is no longer looked for, in bytes. RSA keys of
/// 16,384 bits take 13 KB.
const MAX_PEM_BYTES: usize = 16 * 1024;

/// What starts every mark in the text's place; it never starts a secret itself.
const MARK: &str = "[redacted:";

/// A part of the text that must go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cut {
    start: usize,
    end: usize,
    kind: &'static str,
}

/// What a trigger in the text may be the beginning of.
#[derive(Clone, Copy)]
enum Rule {
    Mark,
    Private,
    Key(usize),
    Jwt,
    Pem,
    Authorization,
    Bearer,
    Url,
    Assignment { strict: bool },
}

/// Literals that cannot be missing where a rule applies; matched without regard to ASCII case.
const TRIGGERS: &[(&str, Rule)] = &[
    (MARK, Rule::Mark),
    ("<private", Rule::Private),
    ("eyj", Rule::Jwt),
    ("-----begin ", Rule::Pem),
    ("authorization", Rule::Authorization),
    ("bearer ", Rule::Bearer),
    ("://", Rule::Url),
    ("password", Rule::Assignment { strict: false }),
    ("passwd", Rule::Assignment { strict: false }),
    ("passphrase", Rule::Assignment { strict: false }),
    ("pwd=", Rule::Assignment { strict: false }),
    ("secret", Rule::Assignment { strict: false }),
    ("api_key", Rule::Assignment { strict: false }),
    ("api-key", Rule::Assignment { strict: false }),
    ("apikey", Rule::Assignment { strict: false }),
    ("access_key", Rule::Assignment { strict: false }),
    ("accesskey", Rule::Assignment { strict: false }),
    ("private_key", Rule::Assignment { strict: false }),
    ("account_key", Rule::Assignment { strict: false }),
    ("accountkey", Rule::Assignment { strict: false }),
    ("auth_token", Rule::Assignment { strict: false }),
    ("access_token", Rule::Assignment { strict: false }),
    ("refresh_token", Rule::Assignment { strict: false }),
    ("token", Rule::Assignment { strict: true }),
];

/// One automaton over all triggers decides whether anything has to be done.
struct Triggers {
    automaton: AhoCorasick,
    rules: Vec<Rule>,
}

static TRIGGER_AUTOMATON: LazyLock<Option<Triggers>> = LazyLock::new(|| {
    let keys = KEYS.iter().enumerate().map(|(at, key)| (key.prefix, Rule::Key(at)));
    let (literals, rules): (Vec<&str>, Vec<Rule>) = keys.chain(TRIGGERS.iter().copied()).unzip();
    let automaton = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::Standard)
        .kind(Some(AhoCorasickKind::DFA))
        .build(literals)
        .ok()?;
    Some(Triggers { automaton, rules })
});

/// The text without secrets and without what was marked private.
///
/// Borrowed when there is nothing to cut. Applying it again changes nothing.
pub fn redact(text: &str) -> Cow<'_, str> {
    // Building from constants cannot fail (a test builds it); if it did, nothing may pass.
    let Some(triggers) = TRIGGER_AUTOMATON.as_ref() else {
        return Cow::Owned(format!("{MARK}unchecked]"));
    };
    let mut out = String::new();
    let mut copied = 0;
    let mut from = 0;
    let mut no_jwt_before = 0;
    let mut pem_end = span::NextEnd::default();
    while let Some(found) = triggers.automaton.find(Input::new(text).range(from..)) {
        from = found.start() + 1;
        let cut = match triggers.rules[found.pattern().as_usize()] {
            Rule::Mark => {
                // The kind in a mark is a word like any other; it must not be taken for the name of a secret.
                let kind = run_end(text, found.end(), |byte| byte.is_ascii_lowercase() || byte == b'_');
                from = if text.as_bytes().get(kind) == Some(&b']') { kind + 1 } else { from };
                None
            }
            Rule::Private => span::private(text, found.start(), found.end()),
            Rule::Key(at) => KEYS[at].cut(text, found.start()),
            Rule::Jwt => key::jwt(text, found.start(), &mut no_jwt_before),
            Rule::Pem => span::pem(text, found.start(), found.end(), &mut pem_end),
            Rule::Authorization => span::authorization(text, found.end()),
            Rule::Bearer => span::bearer(text, found.start(), found.end()),
            Rule::Url => span::url_password(text, found.end()),
            Rule::Assignment { strict } => assignment::value(text, found.start(), found.end(), strict),
        };
        if let Some(cut) = cut {
            out.push_str(&text[copied..cut.start]);
            out.push_str(MARK);
            out.push_str(cut.kind);
            out.push(']');
            copied = cut.end;
            from = cut.end;
        }
    }
    if copied == 0 && out.is_empty() {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// Redacts a text that is owned anyway, without copying it when it is clean.
pub fn redact_owned(text: String) -> String {
    match redact(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(clean) => clean,
    }
}

/// The end of the longest run of bytes from `from` on that satisfy `belongs`.
fn run_end(text: &str, from: usize, belongs: impl Fn(u8) -> bool) -> usize {
    let bytes = text.as_bytes();
    from + bytes[from..].iter().take_while(|byte| belongs(**byte)).count()
}

#[cfg(test)]
mod tests;
