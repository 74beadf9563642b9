//! The key of an endpoint, for as long as one request is written. Only the name of its variable is kept anywhere.

use reqwest::header::HeaderValue;

use super::failure::{Failure, Kind};

/// What stands for a key wherever it would be said again.
const HIDDEN: &str = "[redacted:key]";

/// The name of an environment variable that holds a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyVariable(String);

/// A key. It has no [`std::fmt::Debug`], and nothing but a header is made of it.
pub(super) struct Key(String);

impl KeyVariable {
    /// A name, as the configuration has checked it.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// Why the daemon's environment gives no key under this name, if it does not.
    pub fn problem(&self) -> Option<Failure> {
        self.read().err()
    }

    pub(super) fn read(&self) -> Result<Key, Failure> {
        self.take(std::env::var_os(&self.0).map(|value| value.to_string_lossy().into_owned()))
    }

    fn take(&self, value: Option<String>) -> Result<Key, Failure> {
        let wrong = |what: &str| Failure::new(Kind::NoKey, format!("the variable {} {what}", self.0));
        let value = value.ok_or_else(|| wrong("is not set in the daemon's environment"))?;
        // Files from which variables are set often end with a line break.
        match value.trim() {
            "" => Err(wrong("is empty in the daemon's environment")),
            key if key.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(Key(key.to_owned())),
            _ => Err(wrong("holds characters that no key has")),
        }
    }
}

impl Key {
    /// The value of the header that shows it, marked so that nobody prints it.
    pub(super) fn header(&self) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// What somebody says, without the key.
    pub(super) fn hide_in(&self, said: &str) -> String {
        said.replace(&self.0, HIDDEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_header_can_hold_is_no_key_and_is_not_said_again() {
        let variable = KeyVariable::new("MY_KEY");
        for (value, problem) in [
            (Some("abc-123"), None),
            (Some(" abc-123\n"), None),
            (None, Some("is not set")),
            (Some(" \n"), Some("is empty")),
            (Some("abc\n123"), Some("holds characters")),
            (Some("schlüssel"), Some("holds characters")),
        ] {
            match (variable.take(value.map(str::to_owned)), problem) {
                (Ok(key), None) => {
                    let header = key.header().unwrap();
                    assert_eq!(header.as_bytes(), b"Bearer abc-123");
                    assert!(!format!("{header:?}").contains("abc"), "{header:?}");
                    assert_eq!(key.hide_in("no abc-123, but abc-123"), "no [redacted:key], but [redacted:key]");
                }
                (Err(failure), Some(problem)) => {
                    let told = format!("{} {}", failure.what(), failure.next_step());
                    assert!(told.contains(problem) && told.contains("MY_KEY") && !told.contains("abc"), "{told}");
                }
                (taken, _) => panic!("{value:?} {}", taken.is_ok()),
            }
        }
    }
}
