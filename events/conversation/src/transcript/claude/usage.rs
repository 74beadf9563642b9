//! Token counts of the model's messages.
//!
//! Every line of a message repeats the counts or updates them: each distinct one is emitted once, and readers of the
//! items use the one with the most output.

use crate::filter::{MAX_NAME_CHARS, one_line};
use crate::hash::Mark;
use crate::item::Usage;
use baton_redaction::raw_json::{Text, Value};

/// Versions that record the output too early: up to this one, except those from [`COUNTED_FROM`] to [`COUNTED_TO`].
const NOTED_TOO_EARLY_TO: [u32; 3] = [2, 1, 58];
const COUNTED_FROM: [u32; 3] = [2, 0, 37];
const COUNTED_TO: [u32; 3] = [2, 0, 44];

/// The counts of one line.
#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_creation: u64,
    cache_creation_1h: u64,
}

impl Counts {
    /// Reads a `usage` object; `None` if all counts are 0.
    pub(super) fn parse(usage: Value<'_>) -> Option<Self> {
        let (mut counts, mut minutes, mut hour) = (Self::default(), 0, 0);
        for (key, value) in usage.fields() {
            match key.raw() {
                b"input_tokens" => counts.input = number(value),
                b"output_tokens" => counts.output = number(value),
                b"cache_read_input_tokens" => counts.cache_read = number(value),
                b"cache_creation_input_tokens" => counts.cache_creation = number(value),
                b"cache_creation" => {
                    for (key, value) in value.fields() {
                        match key.raw() {
                            b"ephemeral_5m_input_tokens" => minutes = number(value),
                            b"ephemeral_1h_input_tokens" => hour = number(value),
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        counts.cache_creation = counts.cache_creation.max(minutes.saturating_add(hour));
        counts.cache_creation_1h = hour;
        let any = [counts.input, counts.output, counts.cache_read, counts.cache_creation].iter().any(|one| *one > 0);
        any.then_some(counts)
    }

    /// Fingerprint of these counts of this message.
    pub(super) fn mark(&self, message: Text<'_>, request: Option<Text<'_>>) -> Mark {
        let request = request.map_or(&b""[..], Text::raw);
        let mut key = Vec::with_capacity(message.raw().len() + request.len() + 48);
        for id in [message.raw(), request] {
            key.extend_from_slice(id);
            key.push(0);
        }
        for count in [self.input, self.output, self.cache_read, self.cache_creation, self.cache_creation_1h] {
            key.extend_from_slice(&count.to_le_bytes());
        }
        Mark::digest(&key)
    }

    /// The item's usage. `version` is that of the agent that wrote it, if known.
    pub(super) fn usage(self, model: Option<Text<'_>>, request: Option<Box<str>>, version: Option<[u32; 3]>) -> Usage {
        Usage {
            model: model.map_or(String::new(), |model| one_line(&model.decode(), MAX_NAME_CHARS)),
            request,
            input: self.input,
            output: self.output,
            cache_read: self.cache_read,
            cache_creation: self.cache_creation,
            cache_creation_1h: self.cache_creation_1h,
            output_is_lower_bound: version.is_some_and(notes_too_early),
        }
    }
}

fn notes_too_early(version: [u32; 3]) -> bool {
    version <= NOTED_TOO_EARLY_TO && !(COUNTED_FROM..=COUNTED_TO).contains(&version)
}

/// A count: a number, or one in quotes, as gateways write it. 0 for anything else.
pub(super) fn number(value: Value<'_>) -> u64 {
    let digits = match value {
        Value::Number(digits) => digits,
        Value::Text(text) => text.raw().trim_ascii(),
        _ => return 0,
    };
    let Ok(digits) = std::str::from_utf8(digits) else { return 0 };
    if let Ok(whole) = digits.parse() {
        return whole;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float saturates, below zero to zero"
    )]
    digits.parse::<f64>().ok().filter(|float| float.is_finite()).map_or(0, |float| float as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(usage: &str, expected: Option<[u64; 5]>) {
        let counts = Counts::parse(Value::Object(usage.as_bytes().into()));
        let counts = counts.map(|c| [c.input, c.output, c.cache_read, c.cache_creation, c.cache_creation_1h]);
        assert_eq!(counts, expected, "{usage}");
    }

    #[test]
    fn counts_are_taken_as_they_come() {
        check(
            r#"{"input_tokens":4,"cache_creation_input_tokens":30,"cache_read_input_tokens":5,"cache_creation":{"ephemeral_5m_input_tokens":10,"ephemeral_1h_input_tokens":20},"output_tokens":7,"service_tier":"standard"}"#,
            Some([4, 7, 5, 30, 20]),
        );
        check(r#"{"input_tokens":"4","output_tokens":" 7 ","cache_read_input_tokens":null}"#, Some([4, 7, 0, 0, 0]));
        check(
            r#"{"cache_creation":{"ephemeral_5m_input_tokens":1,"ephemeral_1h_input_tokens":2}}"#,
            Some([0, 0, 0, 3, 2]),
        );
        check(r#"{"input_tokens":1e3,"output_tokens":2.0,"cache_read_input_tokens":-5}"#, Some([1_000, 2, 0, 0, 0]));
        check(r#"{"input_tokens":0,"output_tokens":0}"#, None);
        check(r#"{"input_tokens":1e999,"output_tokens":"many","cache_creation":7}"#, None);
        check("{}", None);
    }

    #[test]
    fn what_is_known_of_a_version_is_told() {
        for (version, expected) in [
            ([1, 0, 24], true),
            ([2, 0, 36], true),
            ([2, 0, 37], false),
            ([2, 0, 44], false),
            ([2, 0, 45], true),
            ([2, 1, 58], true),
            ([2, 1, 59], false),
            ([3, 0, 0], false),
        ] {
            assert_eq!(notes_too_early(version), expected, "{version:?}");
        }
    }
}
