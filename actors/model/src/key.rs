//! The key of an endpoint, read for each request. Only the name of its variable or file is stored.

use std::io::Read;
use std::path::Path;

use baton_config::endpoint::KeySource;
use reqwest::header::HeaderValue;

use super::failure::{Failure, Kind};

/// Replaces the key wherever an endpoint repeats it.
const HIDDEN: &str = "[redacted:key]";

/// Shortest key that is hidden in a successful answer: a placeholder for servers that accept any word (`none`,
/// `ollama`) is no secret, and occurs in answers for other reasons.
const SECRET_CHARS: usize = 12;

/// Largest key file in bytes.
const FILE_BYTES: u64 = 16 * 1024;

/// A key. It has no [`std::fmt::Debug`], and only a header is made of it.
pub(super) struct Key(String);

/// The reason why there is no key, if there is none. Blocks for a short read if it is in a file.
pub fn key_problem(source: &KeySource) -> Option<Failure> {
    read(source).err()
}

/// Reads the key. Blocks for a short read if it is in a file.
pub(super) fn read(source: &KeySource) -> Result<Key, Failure> {
    match source {
        KeySource::Variable(name) => {
            let value = std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
            parse_key(value, Kind::NoKey, &format!("the variable {name}"), "in the daemon's environment")
        }
        KeySource::File(path) => {
            let whose = format!("the file {}", baton_redaction::redact(&path.display().to_string()));
            match read_file(path) {
                Ok(text) => parse_key(Some(text), Kind::NoKeyFile, &whose, "as a key"),
                Err(why) => Err(Failure::new(Kind::NoKeyFile, format!("{whose} {why}"))),
            }
        }
    }
}

/// Reads a key file. The error continues a sentence that begins with the file.
fn read_file(path: &Path) -> Result<String, String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {}", error.kind());
    // Opening a pipe would block.
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    if !metadata.is_file() || metadata.len() > FILE_BYTES {
        return Err("is not a file that contains only a key".to_owned());
    }
    let mut text = String::new();
    let file = baton_base::transcript_file::open(path).map_err(unreadable)?;
    file.take(FILE_BYTES).read_to_string(&mut text).map_err(unreadable)?;
    Ok(text)
}

fn parse_key(value: Option<String>, kind: Kind, whose: &str, seen: &str) -> Result<Key, Failure> {
    let wrong = |what: String| Failure::new(kind, format!("{whose} {what}"));
    let value = value.ok_or_else(|| wrong(format!("is not set {seen}")))?;
    // A pasted key often ends with a line break.
    match value.trim() {
        "" => Err(wrong(format!("is empty {seen}"))),
        key if key.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(Key(key.to_owned())),
        _ => Err(wrong("contains characters that no key has".to_owned())),
    }
}

impl Key {
    /// The value of the authorization header, marked as sensitive so that it is not printed.
    pub(super) fn header(&self) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// Removes the key from an error text.
    pub(super) fn hide_in(&self, said: &str) -> String {
        said.replace(&self.0, HIDDEN)
    }

    /// Removes the key from JSON, in its escaped form. Short keys stay, see [`SECRET_CHARS`].
    pub(super) fn hide_in_json(&self, said: &str) -> String {
        let quoted = serde_json::Value::from(self.0.as_str()).to_string();
        match quoted.get(1..quoted.len() - 1) {
            Some(written) if self.0.len() >= SECRET_CHARS => said.replace(written, HIDDEN),
            _ => said.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_header_can_hold_is_no_key_and_is_not_said_again() {
        let take =
            |value: Option<&str>| parse_key(value.map(str::to_owned), Kind::NoKey, "the variable MY_KEY", "here");
        for (value, problem) in [
            (Some("abc-123"), None),
            (Some(" abc-123\n"), None),
            (None, Some("is not set")),
            (Some(" \n"), Some("is empty")),
            (Some("abc\n123"), Some("contains characters")),
            (Some("schlüssel"), Some("contains characters")),
        ] {
            match (take(value), problem) {
                (Ok(key), None) => {
                    let header = key.header().unwrap();
                    assert_eq!(header.as_bytes(), b"Bearer abc-123");
                    assert!(!format!("{header:?}").contains("abc"), "{header:?}");
                    assert_eq!(key.hide_in("no abc-123, but abc-123"), "no [redacted:key], but [redacted:key]");
                }
                (Err(failure), Some(problem)) => {
                    let told = format!("{} {}", failure.describe(), failure.next_step());
                    assert!(told.contains(problem) && told.contains("MY_KEY") && !told.contains("abc"), "{told}");
                }
                (taken, _) => panic!("{value:?} {}", taken.is_ok()),
            }
        }
    }

    #[test]
    fn json_is_handed_on_without_the_key_and_a_word_that_is_no_secret_stays() {
        let key = Key("abc\"12345678/9".to_owned());
        let said = serde_json::json!({"content": "it is abc\"12345678/9 or abc"}).to_string();
        assert_eq!(key.hide_in_json(&said), r#"{"content":"it is [redacted:key] or abc"}"#);
        assert_eq!(Key("ollama".to_owned()).hide_in_json("{\"a\":\"ollama\"}"), "{\"a\":\"ollama\"}");
    }

    #[test]
    fn a_file_holds_a_key_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let source = KeySource::file(&path);
        let told = || key_problem(&source).map(|failure| (failure.kind(), failure.describe()));
        assert!(told().is_some_and(|(kind, what)| kind == Kind::NoKeyFile && what.contains("cannot be read")));
        for (text, problem) in [
            ("abc-123\n".to_owned(), None),
            (" \n".to_owned(), Some("is empty")),
            ("one\ntwo".to_owned(), Some("contains characters")),
            ("x".repeat(20_000), Some("not a file that contains only a key")),
        ] {
            std::fs::write(&path, &text).unwrap();
            assert_eq!(told().is_none(), problem.is_none(), "{problem:?}");
            assert!(
                told().is_none_or(|(_, what)| problem.is_some_and(|problem| what.contains(problem))),
                "{:?}",
                told()
            );
        }
        assert!(key_problem(&KeySource::file(folder.path())).is_some());
    }
}
