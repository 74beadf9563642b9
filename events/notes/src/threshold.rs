//! When a session's note is compacted: if it is long or old, whichever comes first.

use super::{Day, session};

/// Thresholds of compaction; 0 disables one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Number of lines.
    pub lines: u64,
    /// Number of days since it was created.
    pub days: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { lines: 500, days: 3 }
    }
}

/// Size and age of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Number of lines.
    pub lines: u64,
    /// Days since `created`; 0 if that is no date or in the future.
    pub days: u64,
    /// True if it has reached the limit of lines.
    pub is_long: bool,
    /// True if it has reached the limit of days.
    pub is_old: bool,
}

impl Measure {
    /// Returns true if the note is to be compacted.
    pub fn is_over(&self) -> bool {
        self.is_long || self.is_old
    }
}

/// Measures a session's note, including what a person wrote into it.
pub fn measure(text: &str, limits: &Limits, today: Day) -> Measure {
    let lines = u64::try_from(text.lines().count()).unwrap_or(u64::MAX);
    let created = session::identity(text).and_then(|identity| identity.created);
    let days = created.map_or(0, |created| u64::try_from(today.since(created)).unwrap_or(0));
    Measure {
        lines,
        days,
        is_long: limits.lines > 0 && lines >= limits.lines,
        is_old: limits.days > 0 && days >= limits.days,
    }
}
