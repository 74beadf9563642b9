//! Days in a time zone, as notes write them: `2026-03-14`.

use std::fmt;

use time::{Date, Month, OffsetDateTime};

use baton_conversation::record::Timestamp;
use baton_protocol::Zone;

/// One day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(Date);

impl Day {
    /// Returns the day of a time in a zone; times outside of the years 0 to 9999 are clamped.
    pub fn from_timestamp(at: Timestamp, zone: Zone) -> Self {
        let text = Timestamp(zone.wall(at.0)).to_string();
        Self::parse(text.get(..10).unwrap_or_default()).unwrap_or(Self(OffsetDateTime::UNIX_EPOCH.date()))
    }

    /// Parses `2026-03-14`, alone or followed by a time.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (date, rest) = (text.get(..10)?, &text[10..]);
        if !(rest.is_empty() || rest.starts_with(['T', ' '])) {
            return None;
        }
        let mut parts = date.split('-');
        let mut digits = |width: usize| {
            let part = parts.next()?;
            (part.len() == width && part.bytes().all(|b| b.is_ascii_digit()))
                .then(|| part.parse::<u16>().ok())
                .flatten()
        };
        let (year, month, day) = (digits(4)?, digits(2)?, digits(2)?);
        let month = Month::try_from(u8::try_from(month).ok()?).ok()?;
        Date::from_calendar_date(i32::from(year), month, u8::try_from(day).ok()?).ok().map(Self)
    }

    /// Returns the number of days from `earlier` to this one; negative if `earlier` is later.
    pub fn since(self, earlier: Self) -> i64 {
        i64::from(self.0.to_julian_day()) - i64::from(earlier.0.to_julian_day())
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.0.year(), u8::from(self.0.month()), self.0.day())
    }
}
