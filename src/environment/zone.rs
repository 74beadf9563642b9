//! Times as the person's clock shows them.

use baton_conversation::record::Timestamp;

pub(crate) use baton_base::local_zone::{rule, zone};

/// An RFC 3339 time as the person's clock shows it: `2026-03-14 09:26`. Anything else stays as it is.
pub(crate) fn minute(at: &str) -> String {
    let minute = |at: Timestamp| Some(Timestamp(zone().wall(at.0)).to_string().get(..16)?.replace('T', " "));
    Timestamp::parse(at).and_then(minute).unwrap_or_else(|| at.to_owned())
}

/// A text in which the times are as the person's clock shows them.
pub(crate) fn with_times(text: &str) -> String {
    baton_conversation::record::with_times(text, minute)
}

/// The person's day of an RFC 3339 time: `2026-03-14`. Anything else stays as it is.
pub(crate) fn day(at: &str) -> String {
    let minute = minute(at);
    minute.split_once(' ').map_or(at, |(day, _)| day).to_owned()
}
