//! Parses points in time as people write them.

use baton_conversation::record::Timestamp;
use baton_protocol::Zone;

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;
/// Names of the months, January first.
pub const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Names of units with their length, the letter first; months and years count as 30 and 365 days.
const UNITS: [(&[&str], i64); 5] = [
    (&["h", "hour", "hours"], HOUR_MS),
    (&["d", "day", "days"], DAY_MS),
    (&["w", "week", "weeks"], 7 * DAY_MS),
    (&["m", "month", "months"], 30 * DAY_MS),
    (&["y", "year", "years"], 365 * DAY_MS),
];
/// Maximum length of a text that is parsed.
const MAX_BYTES: usize = 40;

/// When a question is asked, and the time zone in which its days are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskedAt {
    /// The reference for `7d` and `yesterday`.
    pub now: Timestamp,
    /// The asker's time zone.
    pub zone: Zone,
}

impl From<Timestamp> for AskedAt {
    /// In UTC.
    fn from(now: Timestamp) -> Self {
        Self { now, zone: Zone::UTC }
    }
}

/// Parses a point in time: the beginning of a year (`2026`), month (`2026-03`) or day (`2026-03-14`); RFC 3339, also
/// without seconds, with a space for its `T`, and without a zone; `today` and `yesterday`, `this week` and `last month`:
/// the beginning of that day, week (a Monday) or month; `7d`, `12h`, `2w`, `3m`, `1y`, `10 days`: that long before now. Days, and times without a zone, are in the asker's
/// zone. `None` for everything else.
pub fn parse_moment(text: &str, asked: impl Into<AskedAt>) -> Option<Timestamp> {
    let AskedAt { now, zone } = asked.into();
    let text = text.trim();
    if text.is_empty() || text.len() > MAX_BYTES || !text.is_ascii() {
        return None;
    }
    let lower = text.to_ascii_lowercase();
    let utc = |wall: Timestamp| Timestamp(zone.first_utc(wall.0));
    let wall = Timestamp(zone.wall(now.0));
    let today = Timestamp(wall.0 - wall.0.rem_euclid(DAY_MS));
    // 1970-01-01 was a Thursday.
    let monday = today.plus_ms(-((today.0.div_euclid(DAY_MS) + 3).rem_euclid(7) * DAY_MS));
    let month = || parse_date(today.to_string().get(..7)?);
    let named = match lower.as_str() {
        "now" => return Some(now),
        "today" => Some(today),
        "yesterday" => Some(today.plus_ms(-DAY_MS)),
        "this week" => Some(monday),
        "last week" => Some(monday.plus_ms(-7 * DAY_MS)),
        "this month" => month(),
        "last month" => month().and_then(|begins| parse_date(begins.plus_ms(-DAY_MS).to_string().get(..7)?)),
        _ => None,
    };
    if let Some(wall) = named {
        return Some(utc(wall));
    }
    parse_date(&lower).map(utc).or_else(|| parse_ago(&lower, now)).or_else(|| parse_time(text, utc))
}

/// Parses RFC 3339, and what ISO 8601 also allows: a space for the `T`, no seconds, no zone, which means a wall time.
fn parse_time(text: &str, utc: impl Fn(Timestamp) -> Timestamp) -> Option<Timestamp> {
    let (day, rest) = text.split_once(['T', 't', ' '])?;
    let digits = rest.find(|c: char| !matches!(c, '0'..='9' | ':' | '.')).unwrap_or(rest.len());
    let (clock, zone) = rest.split_at(digits);
    let seconds = if clock.len() == 5 { ":00" } else { "" };
    let parse = |zone: &str| Timestamp::parse(&format!("{day}T{clock}{seconds}{}", zone.to_ascii_uppercase()));
    if zone.is_empty() { parse("Z").map(utc) } else { parse(zone.trim_start()) }
}

/// Parses `2026`, `2026-03`, `2026-03-14`, also with slashes.
fn parse_date(text: &str) -> Option<Timestamp> {
    let parts: Vec<&str> = text.split(['-', '/']).collect();
    let widths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    let is_number = parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
    let is_date = matches!(widths.as_slice(), [4] | [4, 1 | 2] | [4, 1 | 2, 1 | 2]);
    if !is_number || !is_date {
        return None;
    }
    let part = |at: usize| parts.get(at).copied().unwrap_or("01");
    Timestamp::parse(&format!("{}-{:0>2}-{:0>2}T00:00:00Z", part(0), part(1), part(2)))
}

/// Parses `7d`, `10 days`, `2w`.
fn parse_ago(text: &str, now: Timestamp) -> Option<Timestamp> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim().trim_end_matches("ago").trim();
    let (_, length) = UNITS.into_iter().find(|(names, _)| names.contains(&unit))?;
    let number: i64 = number.parse().ok()?;
    Some(now.plus_ms(number.checked_mul(length)?.checked_neg()?))
}
