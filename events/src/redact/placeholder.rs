//! Values that stand where a secret would: asked for, read from elsewhere, or known to everybody.
//!
//! They stay. `changeme` and `xxxx` protect nothing, `$TOKEN` and `${{ secrets.X }}` say where the secret is kept, and what
//! they say is worth remembering. Everything else behind a telling name goes, weak passwords (`hunter2`, `postgres1`) too.

use super::MARK;
use super::alphabet::{ALNUM, LOWER, UPPER, is};
use super::chance::is_words;

/// How such values begin, in small letters. Sorted, so that those of one first letter stand together.
const STARTS: &[&str] = &[
    "&str",
    "***",
    "...",
    "../",
    "./",
    "args.",
    "arn:",
    "box<",
    "change-me",
    "change-this",
    "change_me",
    "changeme",
    "changethis",
    "config.",
    "context.",
    "ctx.",
    "data.",
    "dummy",
    "enc[",
    "enter",
    "env(",
    "env.",
    "env:",
    "example",
    "false",
    "file:",
    "fixme",
    "form.",
    "hidden",
    "http://",
    "https://",
    "import.meta",
    "input.",
    "insert",
    "key:",
    "masked",
    "none",
    "null",
    "op://",
    "option<",
    "optional",
    "options.",
    "os.environ",
    "os.getenv",
    "params.",
    "placeholder",
    "process.env",
    "projects/",
    "props.",
    "redacted",
    "redis://",
    "ref+",
    "ref:",
    "replace",
    "req.",
    "request.",
    "required",
    "sample",
    "secrets.",
    "self.",
    "settings.",
    "ssm:",
    "state.",
    "string",
    "this.",
    "todo",
    "true",
    "undefined",
    "user.",
    "vault:",
    "vec<",
    "xxx",
    "your",
    "~/",
];
/// Beginnings of values in tests, where the rest is words too: `test-key`.
const MADE_UP: &[&str] = &["test-", "test_", "fake", "mock", "foo"];
/// The same, where the rest has no digit: `my-key`, but `my-very-own-key-2024` may be one that somebody uses.
const SPOKEN: &[&str] = &["my-", "my_", "some-", "some_", "a-", "the-", "no-"];
/// Words that no secret has in it, whatever the language: they name the field.
const INSIDE: &[&str] =
    &["passw", "kennw", "geheim", "contrase", "senha", "secret", "token", "api_key", "api-key", "apikey", "credential"];
/// Beginnings of password hashes: they are kept in place of passwords, and can be broken.
const HASHES: &[&str] = &["$2a$", "$2b$", "$2y$", "$argon2", "$6$", "$5$", "$1$", "$y$", "$scrypt", "$pbkdf2"];

/// How a value is held by what stands before it.
#[derive(Clone, Copy)]
pub(super) struct Held {
    pub(super) quoted: bool,
    /// In quotes, right behind `=`, or behind an option: no code stands there, so that a digit in it is a value's.
    pub(super) joined: bool,
    /// Set for good, as in `.env`, where no names of fields stand.
    pub(super) set: bool,
}

impl Held {
    /// By a place where nothing but a secret stands.
    pub(super) const FIRMLY: Self = Self { quoted: true, joined: true, set: true };
}

/// Whether a value stands in a secret's place. `name` is what stands before it.
pub(super) fn is_placeholder(value: &str, name: &str, held: Held) -> bool {
    let bytes = value.as_bytes();
    let Some(first) = bytes.first() else { return true };
    if HASHES.iter().any(|start| value.starts_with(start)) {
        return false;
    }
    let has_letters = bytes.iter().any(|byte| is(*byte, LOWER | UPPER));
    let reads = || value.starts_with('$') || (value.starts_with('%') && value.ends_with('%')) || value.contains("${");
    let same = |start: &str| bytes.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start.as_bytes()));
    let small = first.to_ascii_lowercase();
    let starts = || {
        let from = STARTS.partition_point(|start| start.as_bytes()[0] < small);
        STARTS[from..].iter().take_while(|start| start.as_bytes()[0] == small).any(|start| same(start))
    };
    value.starts_with(MARK)
        || ((bytes.len() >= 3 || !is(*first, ALNUM)) && bytes.iter().all(|byte| byte == first))
        || reads()
        || value.contains("{{")
        || (bytes[0] == b'{' && value.ends_with('}'))
        || (bytes[0] == b'[' && value.ends_with(']'))
        || (bytes[0] == b'<' && value.ends_with('>'))
        || (bytes[0] == b'!' && bytes.get(1).is_some_and(|byte| is(*byte, UPPER)))
        || (bytes[0] == b'@' && !held.quoted)
        || (has_letters && starts())
        || (MADE_UP.iter().any(|start| value.starts_with(start)) && is_words(bytes))
        || (SPOKEN.iter().any(|start| value.starts_with(start))
            && is_words(bytes)
            && !(held.joined && bytes.iter().any(u8::is_ascii_digit)))
        || is_named_after(value, name, held)
        || is_path(value, name)
        || is_masked(bytes)
}

/// Whether a value is the name of a field, or of a variable that holds it: `userPassword`, `X-Auth-Token`, in code
/// `password1` too.
fn is_named_after(value: &str, name: &str, held: Held) -> bool {
    let plain = value.bytes().all(|byte| is(byte, ALNUM) || matches!(byte, b'_' | b'-' | b'.' | b' ' | b':'));
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    if !plain || digits > 2 || (digits > 0 && held.joined) {
        return false;
    }
    let lower = value.to_ascii_lowercase();
    let chosen = digits > 0 && value.starts_with(|first: char| first.is_ascii_uppercase());
    if !held.set && !chosen && INSIDE.iter().any(|word| lower.contains(word)) {
        return true;
    }
    let letters = |text: &str| -> String {
        text.bytes().filter(u8::is_ascii_alphabetic).map(|byte| char::from(byte.to_ascii_lowercase())).collect()
    };
    let (word, said) = (letters(name), letters(&lower));
    word.len() >= 3 && !said.is_empty() && (said.contains(&word) || (said.len() >= 5 && word.contains(&said)))
}

/// A path to where the secret is kept.
fn is_path(value: &str, name: &str) -> bool {
    let rooted = value.starts_with('/') || value.get(1..3).is_some_and(|drive| drive == ":\\" || drive == ":/");
    let directory = name.to_ascii_lowercase().starts_with("pwd") || name.contains("OLDPWD");
    rooted && (directory || value.matches('/').count() > 1 && !value.contains(['+', '=']))
}

/// `****abcd`, `sk-...xyz`, `abc…`: somebody was careful already.
fn is_masked(value: &[u8]) -> bool {
    let (mut last, mut alike) = (0, 0);
    value.iter().enumerate().any(|(at, byte)| {
        let small = byte.to_ascii_lowercase();
        alike = if small == last { alike + 1 } else { 1 };
        last = small;
        match small {
            b'*' | b'.' => alike >= 3,
            b'x' => alike >= 4,
            0xE2 => value[at..].starts_with("…".as_bytes()),
            _ => false,
        }
    })
}
