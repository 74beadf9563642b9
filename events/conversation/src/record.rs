//! Basic types of all other modules: identities, times, places in the log.
//!
//! Nothing here reads a clock: a [`Timestamp`] comes from a transcript line or from the shell.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use uuid::Uuid;

use baton_protocol::{is_session_id, serde_as_text};
use baton_redaction::redact;

macro_rules! shared_text {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The text as written in events and answers.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                self.as_str()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({:?})", stringify!($name), &*self.0)
            }
        }
    };
}

/// Prefix of the ids and streams of memos.
pub const MEMO_PREFIX: &str = "memory:";

shared_text! {
    /// A session of an agent: the stem of its transcript's file name.
    SessionId
}

shared_text! {
    /// An ordered history of events: `session:<id>`, `memory:<uuid>` or `home`.
    StreamId
}

shared_text! {
    /// Identity of a command, chosen by the sender: a repeated id gets the first answer.
    CommandId
}

serde_as_text!(SessionId, SessionId::new);

impl SessionId {
    /// Accepts what [`is_session_id`] accepts.
    pub fn new(text: &str) -> Option<Self> {
        is_session_id(text).then(|| Self(text.into()))
    }

    /// True if redaction finds nothing in it. Ids appear unredacted in answers, file names and the log, so a file whose
    /// name looks like a secret is not treated as a session.
    pub fn may_be_shown(&self) -> bool {
        matches!(redact(&self.0), Cow::Borrowed(_))
    }

    /// The id under which a memo's words are stored and found beside conversations; no transcript has it.
    pub fn memo(uuid: Uuid) -> Self {
        Self(format!("{MEMO_PREFIX}{uuid}").into())
    }

    /// True if the id is reserved for memos: a transcript with such a file name is not a session.
    pub fn is_memo(&self) -> bool {
        self.0.starts_with(MEMO_PREFIX)
    }

    /// The first 8 characters, for names of episodes (`session_<short>`).
    pub fn short(&self) -> &str {
        let end = self.0.char_indices().nth(8).map_or(self.0.len(), |(at, _)| at);
        &self.0[..end]
    }
}

/// Fewest characters of a displayed id. The common prefix of subagents' ids is not counted.
const SHORT_ID_CHARS: usize = 8;
const SUBAGENT: &str = "agent-";

/// The shortest prefix of an id, of at least 8 characters, that no other id starts with; the whole id if another one
/// continues it.
pub fn unique_prefix<'a, 'b>(id: &'a str, others: impl Iterator<Item = &'b str>) -> &'a str {
    let shared = |other: &str| id.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let least = SHORT_ID_CHARS + if id.starts_with(SUBAGENT) { SUBAGENT.len() } else { 0 };
    let chars = others.map(|other| shared(other) + 1).max().unwrap_or(0).max(least);
    id.char_indices().nth(chars).map_or(id, |(end, _)| &id[..end])
}

impl StreamId {
    /// The stream of one session.
    pub fn session(id: &SessionId) -> Self {
        Self(format!("session:{id}").into())
    }

    /// The stream of a memo.
    pub fn memo(uuid: Uuid) -> Self {
        Self(format!("{MEMO_PREFIX}{uuid}").into())
    }

    /// The stream of the home.
    pub fn home() -> Self {
        Self("home".into())
    }

    /// A recorded stream; accepts any text, because recorded events cannot be refused.
    pub fn recorded(text: &str) -> Self {
        Self(text.into())
    }

    /// The session, if this is a session's stream.
    pub fn session_id(&self) -> Option<SessionId> {
        self.0.strip_prefix("session:").and_then(SessionId::new)
    }

    /// The memo, if this is a memo's stream.
    pub fn memo_uuid(&self) -> Option<Uuid> {
        self.0.strip_prefix(MEMO_PREFIX).and_then(|uuid| Uuid::try_parse(uuid).ok())
    }

    /// True for the stream of the home.
    pub fn is_home(&self) -> bool {
        &*self.0 == "home"
    }
}

impl CommandId {
    /// Accepts any text; callers bound its length (the gateway refuses ids over 128 bytes).
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }
}

/// Number of an event in its stream: from 1, gapless. 0 means none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct SequenceNumber(pub u64);

/// Position of an event in the whole journal: from 1, increasing. 0 is before the first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Position(pub u64);

impl SequenceNumber {
    /// The next number.
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl Position {
    /// The next position.
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Debug for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

impl fmt::Debug for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}", self.0)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A time in milliseconds since 1970-01-01T00:00:00Z, without leap seconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Timestamp(pub i64);

/// Earliest and latest times that RFC 3339 can express (years 0 to 9999).
const WRITABLE_MS: std::ops::RangeInclusive<i64> = -62_167_219_200_000..=253_402_300_799_999;

impl Timestamp {
    /// Parses RFC 3339 with any offset. `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let moment = OffsetDateTime::parse(text, &Rfc3339).ok()?;
        let ms = moment.unix_timestamp_nanos().div_euclid(1_000_000);
        i64::try_from(ms).ok().map(Self)
    }

    /// This time plus `ms` milliseconds, which may be negative; saturates.
    pub fn plus_ms(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Milliseconds from `earlier` to `self`; negative if `earlier` is later.
    pub fn since_ms(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// A text with each time in it, as [`Timestamp`] is written, in the words of `shown`.
pub fn with_times(text: &str, shown: impl Fn(&str) -> String) -> String {
    const LENGTH: usize = "2026-03-14T09:26:53.589Z".len();
    let (mut told, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(at);
        told.push_str(before);
        let time = from.get(..LENGTH).filter(|text| text.ends_with('Z') && Timestamp::parse(text).is_some());
        let other = || from.find(|c: char| !c.is_ascii_digit()).unwrap_or(from.len());
        let length = time.map_or_else(other, str::len);
        match time {
            Some(time) => told.push_str(&shown(time)),
            None => told.push_str(&from[..length]),
        }
        rest = &from[length..];
    }
    told + rest
}

impl fmt::Display for Timestamp {
    /// RFC 3339 in UTC with milliseconds: `2026-03-14T09:26:53.589Z`. Times outside the years 0 to 9999 are clamped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.clamp(*WRITABLE_MS.start(), *WRITABLE_MS.end());
        let moment = OffsetDateTime::from_unix_timestamp_nanos(i128::from(ms) * 1_000_000).map_err(|_| fmt::Error)?;
        let (date, time) = (moment.date(), moment.time());
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
            date.year(),
            u8::from(date.month()),
            date.day(),
            time.hour(),
            time.minute(),
            time.second(),
            time.millisecond()
        )
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Origin of an event.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Metadata {
    /// The exchange that it belongs to: one request with all its effects.
    pub correlation: Option<CommandId>,
    /// The command that directly caused the event.
    pub cause: Option<CommandId>,
}

/// An event with its place in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded<E> {
    /// Position in the whole journal.
    pub position: Position,
    /// The stream that it belongs to.
    pub stream: StreamId,
    /// Number in its stream.
    pub sequence: SequenceNumber,
    /// When it was recorded, by the shell's clock.
    pub at: Timestamp,
    /// Correlation and cause.
    pub metadata: Metadata,
    /// The event itself.
    pub event: E,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_survives_being_written_and_read() {
        for text in ["2026-03-14T09:26:53.589Z", "1970-01-01T00:00:00.000Z", "0001-12-31T23:59:59.999Z"] {
            assert_eq!(Timestamp::parse(text).map(|t| t.to_string()).as_deref(), Some(text));
        }
        assert_eq!(Timestamp::parse("2026-03-14T10:26:53+01:00"), Timestamp::parse("2026-03-14T09:26:53.000Z"));
        assert_eq!(Timestamp::parse("yesterday"), None);
        assert_eq!(Timestamp(i64::MAX).to_string(), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn an_id_is_shown_as_short_as_it_names_one_session() {
        let check = |id: &str, others: &[&str], expected: &str| {
            assert_eq!(unique_prefix(id, others.iter().copied()), expected, "{id} among {others:?}");
        };
        check("a94e0d17-1f2e", &[], "a94e0d17");
        check("a94e0d17-1f2e", &["b94e0d17-1f2e", "a94e0d18-1f2e"], "a94e0d17");
        // Ids that begin with the time share their first characters within a minute.
        check("019f2a3b-4c5d-7000", &["019f2a3b-4c5e-7000", "019f2a3b-5000-7000"], "019f2a3b-4c5d");
        check("019f2a3b-4c5d-7000", &["019f2a3b-4c5d-7001"], "019f2a3b-4c5d-7000");
        check("019f2a3b", &["019f2a3b-4c5d-7000"], "019f2a3b");
        check("agent-a94e0d17c0ffee", &["agent-a94e0d18c0ffee"], "agent-a94e0d17");
        check("agent-a94e0d17c0ffee", &["agent-a94e0d17c1ffee"], "agent-a94e0d17c0");
        check("日本語日本語日本語日本語", &["日本語日本語日本語日本"], "日本語日本語日本語日本語");
        check("s1", &["s2"], "s1");
    }

    #[test]
    fn a_session_id_is_a_plain_file_stem() {
        assert!(SessionId::new("7acd37a8-2745-4b58-a8a9-46164b22ad9e").is_some());
        assert!(SessionId::new("Sitzung 1 \u{2603}").is_some());
        for bad in ["", "..", "a/b", "a\\b", "a\nb", &"x".repeat(baton_protocol::MAX_SESSION_ID_BYTES + 1)] {
            assert_eq!(SessionId::new(bad), None, "{bad:?}");
        }
        assert_eq!(SessionId::new("é23456789").map(|id| id.short().to_owned()).as_deref(), Some("é2345678"));
    }
}
