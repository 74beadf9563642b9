//! Which time a question names: `yesterday`, `last week`, `on Monday`, `since 2026-03-14`, `on 18 November`, `from
//! October 1 to October 15`, both days included. Days are those of the asker: spans are
//! counted in wall times, and only the result is converted.

use std::ops::Range;

use super::phrasing::Phrasing;
use crate::query::{MONTHS, parse_moment};
use baton_conversation::record::Timestamp;
use baton_protocol::Zone;

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;
/// Weekdays, the first of the week first.
const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// Words before a month that show that it is a month: `may` and `march` are verbs as well.
const BEFORE_MONTHS: [&str; 14] =
    ["in", "on", "before", "after", "since", "until", "till", "by", "during", "from", "to", "between", "and", "of"];

/// A span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Inclusive start.
    pub after: Option<Timestamp>,
    /// Exclusive end.
    pub before: Option<Timestamp>,
}

impl Span {
    /// Returns true if something from one time to another was at least partly within.
    pub fn overlaps(self, times: Option<(Timestamp, Timestamp)>) -> bool {
        let (after, before) = (self.after, self.before);
        times.is_some_and(|(began, ended)| {
            after.is_none_or(|after| ended >= after) && before.is_none_or(|before| began < before)
        })
    }
}

/// Returns the time that is named and removes its words.
pub(super) fn take_span(phrasing: &mut Phrasing, now: Timestamp, zone: Zone) -> Option<Span> {
    let wall = take_wall_span(phrasing, Timestamp(zone.wall(now.0)))?;
    let after = wall.after.map(|at| Timestamp(zone.first_utc(at.0)));
    Some(Span { after, before: wall.before.map(|at| Timestamp(zone.last_utc(at.0))) })
}

fn take_wall_span(phrasing: &mut Phrasing, now: Timestamp) -> Option<Span> {
    let today = now.0 - now.0.rem_euclid(DAY_MS);
    let (mut range, span) = (0..phrasing.len()).find_map(|at| span_at(phrasing, at, now, today))?;
    if let Some((whole, span)) = span_between(phrasing, &range, &span, now, today) {
        phrasing.remove(whole);
        return Some(Span { after: Some(Timestamp(span.start)), before: Some(Timestamp(span.end)) });
    }
    if range.start > 1 && phrasing.word(range.start - 1) == Some("the") {
        range.start -= 1;
    }
    let mut span = Span { after: Some(Timestamp(span.start)), before: Some(Timestamp(span.end)) };
    if let Some(before) = range.start.checked_sub(1) {
        match phrasing.word(before) {
            Some("since" | "after") => span.before = None,
            Some("before" | "until") => span = Span { after: None, before: span.after },
            // `worked on last week` means work during last week.
            Some("on")
                if matches!(phrasing.word(range.start), Some("today" | "yesterday" | "this" | "last" | "past")) =>
            {
                range.start += 1;
            }
            Some("on" | "in" | "from" | "during" | "over" | "of" | "within" | "for") => {}
            _ => range.start += 1,
        }
        range.start -= 1;
    }
    phrasing.remove(range);
    Some(span)
}

/// Returns a span between two times with its words: `between … and …`, `from … to …`.
fn span_between(
    phrasing: &Phrasing,
    first: &Range<usize>,
    from: &Range<i64>,
    now: Timestamp,
    today: i64,
) -> Option<(Range<usize>, Range<i64>)> {
    let before = first.start.checked_sub(1).filter(|at| matches!(phrasing.word(*at), Some("between" | "from")));
    match (before.and_then(|at| phrasing.word(at)), phrasing.word(first.end)) {
        (Some("between"), Some("and")) | (_, Some("until" | "till" | "through")) | (Some("from"), Some("to")) => {}
        _ => return None,
    }
    let (second, to) = span_at(phrasing, first.end + 1, now, today)?;
    Some((before.unwrap_or(first.start)..second.end, from.start.min(to.start)..from.end.max(to.end)))
}

/// Returns the day of a month at `at`, in its year or the last one in which it has passed, and the number of its words.
fn day_of_month(phrasing: &Phrasing, at: usize, is_said: bool, now: Timestamp) -> Option<(usize, Timestamp)> {
    let word = |offset: usize| phrasing.word(at + offset).unwrap_or_default();
    let of = usize::from(word(1) == "of");
    let (day, month, length) = match (day(word(0)), month_named(word(1 + of))) {
        (Some(day), Some(month)) => (day, month, 2 + of),
        _ => (day(word(1))?, month_named(word(0)).filter(|month| is_said || !matches!(month, 3 | 5))?, 2),
    };
    let begins = |year: i64| parse_moment(&format!("{year:04}-{month:02}-{day:02}"), now);
    if let Ok(year @ 2_000..2_100) = word(length).parse::<i64>() {
        return begins(year).map(|begins| (length + 1, begins));
    }
    let this = now.to_string().get(..4)?.parse::<i64>().ok()?;
    [this, this - 1].into_iter().filter_map(begins).find(|begins| *begins <= now).map(|begins| (length, begins))
}

/// Parses `18`, `18th`.
fn day(text: &str) -> Option<i64> {
    let bare = ["st", "nd", "rd", "th"].iter().find_map(|end| text.strip_suffix(end)).unwrap_or(text);
    bare.parse().ok().filter(|day| (1..=31).contains(day) && bare.len() <= 2)
}

/// Returns the number of a month, from 1, from its name or its first three letters.
fn month_named(text: &str) -> Option<usize> {
    let is_short = |month: &str| text.len() == 3 && month.starts_with(text) || text == "sept" && month == "september";
    MONTHS.iter().position(|month| *month == text || is_short(month)).map(|month| month + 1)
}

/// Returns the words from `at` that name a time, and that time.
fn span_at(phrasing: &Phrasing, at: usize, now: Timestamp, today: i64) -> Option<(Range<usize>, Range<i64>)> {
    let word = |offset: usize| phrasing.word(at + offset).unwrap_or_default();
    let days = |from: i64, length: i64| from..from + length * DAY_MS;
    // 1970-01-01 was a Thursday.
    let weekday = (today.div_euclid(DAY_MS) + 3).rem_euclid(7);
    let week = today - weekday * DAY_MS;
    let until_now = now.0.saturating_add(1);
    let found = |length: usize, span: Range<i64>| Some((at..at + length, span));
    match (word(0), word(1)) {
        ("today", _) => return found(1, days(today, 1)),
        ("this", "morning" | "afternoon" | "evening") => return found(2, days(today, 1)),
        ("yesterday", _) => return found(1, days(today - DAY_MS, 1)),
        ("last", "night") => return found(2, today - DAY_MS..until_now),
        ("this", "week") => return found(2, days(week, 7)),
        ("last" | "previous", "week") => return found(2, days(week - 7 * DAY_MS, 7)),
        ("past", "week") => return found(2, now.0 - 7 * DAY_MS..until_now),
        ("past", "month") => return found(2, now.0 - 30 * DAY_MS..until_now),
        ("this", "month") => return found(2, month_range(now, 0)?),
        ("last" | "previous", "month") => return found(2, month_range(now, -1)?),
        ("this", "year") => return found(2, year_range(now, 0)?),
        ("last" | "previous", "year") => return found(2, year_range(now, -1)?),
        _ => {}
    }
    if matches!(word(0), "last" | "past")
        && let Some((number, unit)) = number(word(1)).zip(unit_ms(word(2)))
    {
        return found(3, now.0.saturating_sub(number * unit)..until_now);
    }
    if let Some((number, unit)) = number(word(0)).zip(unit_ms(word(1))).filter(|_| word(2) == "ago") {
        let there = now.0.saturating_sub(number * unit);
        let begins = there - there.rem_euclid(DAY_MS);
        let span = if unit < DAY_MS { there..until_now } else { days(begins, (unit / DAY_MS).max(1)) };
        return found(3, span);
    }
    let (named, length) = if word(0) == "last" { (word(1), 2) } else { (word(0), 1) };
    let is_capital = phrasing.written(at).is_some_and(|text| text.starts_with(char::is_uppercase));
    let before = at.checked_sub(1).and_then(|before| phrasing.word(before));
    let is_said = is_capital || before.is_some_and(|before| BEFORE_MONTHS.contains(&before));
    if let Some((length, begins)) = day_of_month(phrasing, at, is_said, now) {
        return found(length, days(begins.0, 1));
    }
    if let Some(day) = WEEKDAYS.iter().position(|known| *known == named) {
        let back = match (weekday - day as i64).rem_euclid(7) {
            0 => 7,
            back => back,
        };
        return found(length, days(today - back * DAY_MS, 1));
    }
    if let Some(named) = MONTHS.iter().position(|known| *known == named)
        && (length == 2 || is_said)
    {
        let current = now.to_string().get(5..7).and_then(|month| month.parse::<i64>().ok())? - 1;
        let back = match (current - named as i64).rem_euclid(12) {
            0 if length == 2 => 12,
            back => back,
        };
        return found(length, month_range(now, -back)?);
    }
    let written = phrasing.written(at).filter(|text| text.len() >= 7 && text.starts_with("20"))?;
    let begins = parse_moment(written, now)
        .filter(|_| written.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'-' | b'/')))?;
    let parts = super::words(written).len();
    let span = if parts == 2 { begins.0..next_month(begins)? } else { days(begins.0, 1) };
    found(parts, span)
}

fn number(text: &str) -> Option<i64> {
    const NUMBERS: [&str; 11] = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
    let known = NUMBERS.iter().position(|known| *known == text).map(|number| number as i64);
    let few = matches!(text, "few" | "couple").then_some(3);
    known.or(few).or_else(|| text.parse().ok().filter(|number| (1..=10_000).contains(number)))
}

/// Returns the length of a unit, in milliseconds.
fn unit_ms(text: &str) -> Option<i64> {
    Some(match text {
        "hour" | "hours" => HOUR_MS,
        "day" | "days" => DAY_MS,
        "week" | "weeks" => 7 * DAY_MS,
        "month" | "months" => 30 * DAY_MS,
        "year" | "years" => 365 * DAY_MS,
        _ => return None,
    })
}

/// Returns the month at this offset from the current one, in milliseconds.
fn month_range(now: Timestamp, offset: i64) -> Option<Range<i64>> {
    let text = now.to_string();
    let (year, month) = (text.get(..4)?.parse::<i64>().ok()?, text.get(5..7)?.parse::<i64>().ok()?);
    let count = year * 12 + month - 1 + offset;
    let begins = month_begin(count, now)?;
    Some(begins.0..month_begin(count + 1, now)?.0)
}

fn next_month(begins: Timestamp) -> Option<i64> {
    month_range(begins, 0).map(|month| month.end)
}

fn year_range(now: Timestamp, offset: i64) -> Option<Range<i64>> {
    let year = now.to_string().get(..4)?.parse::<i64>().ok()? + offset;
    Some(month_begin(year * 12, now)?.0..month_begin((year + 1) * 12, now)?.0)
}

/// Returns the beginning of a month, given as a count of months since year 0.
fn month_begin(months: i64, now: Timestamp) -> Option<Timestamp> {
    parse_moment(&format!("{:04}-{:02}", months.div_euclid(12), months.rem_euclid(12) + 1), now)
}
