//! When a session's note is compacted: when it is long or old, whichever comes first.

use super::{Day, session};

/// From where on a note is compacted. 0 is never by this measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Lines of the note.
    pub lines: u64,
    /// Days since it was created.
    pub days: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { lines: 500, days: 3 }
    }
}

/// What a note measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Its lines.
    pub lines: u64,
    /// Days since its `created`; 0 where that is no date or lies ahead.
    pub days: u64,
    /// Whether it is as long as the bound, or longer.
    pub is_long: bool,
    /// Whether it is as old as the bound, or older.
    pub is_old: bool,
}

impl Measure {
    /// Whether the note is to be compacted.
    pub fn is_over(&self) -> bool {
        self.is_long || self.is_old
    }
}

/// Measures a session's note as it lies there, with whatever a person has written into it.
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
