//! A person's time zone as a request carries it: a POSIX `TZ` rule such as `PST8PDT,M3.2.0,M11.1.0`.
//!
//! # Decisions
//!
//! - A rule instead of an offset: the offset differs over the year, and questions are mostly about earlier days. A rule
//!   instead of a zone's name: the core needs no database of zones, and the asker's own files decide.
//! - The present rule holds for every year. Days before a country changed its rules may begin an hour off.
//! - Parsed here in place of a crate (`jiff`, `tz-rs`): this is the one format that is needed, and it needs no clock,
//!   no file and no table.

const SECOND_MS: i64 = 1_000;
const HOUR_MS: i64 = 3_600 * SECOND_MS;
const DAY_MS: i64 = 24 * HOUR_MS;
/// Longest rule that is read.
const MAX_BYTES: usize = 100;
/// When summer time begins and ends if a rule does not say it, as in POSIX: the rule of the United States.
const SUMMER: &str = "M3.2.0,M11.1.0";

/// A time zone. Times are in milliseconds since 1970; a wall time is what a clock on the wall shows, written as if it
/// were UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Zone {
    /// Standard time minus UTC.
    offset: i64,
    summer: Option<Summer>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Summer {
    /// Summer time minus UTC.
    offset: i64,
    begins: Change,
    ends: Change,
}

/// A moment of each year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    day: YearDay,
    /// Wall time since midnight; may be negative or beyond the day.
    at: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum YearDay {
    /// `M3.2.0`: month, week (5 is the last), weekday (0 is Sunday).
    Weekday { month: i64, week: i64, weekday: i64 },
    /// `J60`: from 1, never 29 February.
    WithoutLeapDay(i64),
    /// `59`: from 0.
    Day(i64),
}

impl Zone {
    /// UTC.
    pub const UTC: Self = Self { offset: 0, summer: None };

    /// Parses a POSIX rule. `None` for anything else, also for names like `Europe/Berlin`.
    pub fn parse(rule: &str) -> Option<Self> {
        let rule = Some(rule.trim()).filter(|rule| rule.len() <= MAX_BYTES && rule.is_ascii())?;
        let (west, rest) = offset(name(rule)?)?;
        let zone = Self { offset: -west, summer: None };
        if rest.is_empty() {
            return Some(zone);
        }
        let rest = name(rest)?;
        let (west, rest) = match rest.starts_with(',') || rest.is_empty() {
            true => (west - HOUR_MS, rest),
            false => offset(rest)?,
        };
        let changes = if rest.is_empty() { SUMMER } else { rest.strip_prefix(',')? };
        let (begins, ends) = changes.split_once(',')?;
        let (begins, ends) = (Change::parse(begins)?, Change::parse(ends)?);
        Some(Self { summer: Some(Summer { offset: -west, begins, ends }), ..zone })
    }

    /// The wall time of a time.
    pub fn wall(self, utc: i64) -> i64 {
        utc.saturating_add(self.offset_at(utc))
    }

    /// The first time with this wall time. A wall time that summer time skips is read in standard time.
    pub fn first_utc(self, wall: i64) -> i64 {
        self.candidates(wall).min().unwrap_or(wall.saturating_sub(self.offset))
    }

    /// The last time with this wall time; see [`Zone::first_utc`].
    pub fn last_utc(self, wall: i64) -> i64 {
        self.candidates(wall).max().unwrap_or(wall.saturating_sub(self.offset))
    }

    fn candidates(self, wall: i64) -> impl Iterator<Item = i64> {
        let offsets = [Some(self.offset), self.summer.map(|summer| summer.offset)];
        let times = offsets.into_iter().flatten().map(move |offset| wall.saturating_sub(offset));
        times.filter(move |utc| self.wall(*utc) == wall)
    }

    fn offset_at(self, utc: i64) -> i64 {
        let Some(summer) = self.summer else { return self.offset };
        // Far beyond these years the sums would overflow.
        let year = year_of(utc.saturating_add(self.offset)).clamp(0, 10_000);
        let begins = summer.begins.wall_in(year) - self.offset;
        let ends = summer.ends.wall_in(year) - summer.offset;
        let is_summer = match begins < ends {
            true => (begins..ends).contains(&utc),
            // South of the equator summer goes over the new year.
            false => !(ends..begins).contains(&utc),
        };
        if is_summer { summer.offset } else { self.offset }
    }
}

impl Change {
    fn parse(text: &str) -> Option<Self> {
        let (day, at) = text.split_once('/').unwrap_or((text, "2"));
        let (at, rest) = offset(at)?;
        rest.is_empty().then_some(Self { day: YearDay::parse(day)?, at })
    }

    fn wall_in(self, year: i64) -> i64 {
        let first = days_before(year, 1);
        let is_leap = days_before(year + 1, 1) - first == 366;
        let day = match self.day {
            YearDay::Day(day) => first + day,
            YearDay::WithoutLeapDay(day) => first + day - 1 + i64::from(is_leap && day > 59),
            YearDay::Weekday { month, week, weekday } => {
                let (begins, next) = (days_before(year, month), days_before(year, month + 1));
                // 1970-01-01 was a Thursday.
                let day = begins + (weekday - (begins + 4)).rem_euclid(7) + (week - 1) * 7;
                if day < next { day } else { day - 7 }
            }
        };
        day * DAY_MS + self.at
    }
}

impl YearDay {
    fn parse(text: &str) -> Option<Self> {
        let number = |text: &str, range: std::ops::RangeInclusive<i64>| {
            let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|number| is_plain && range.contains(number))
        };
        if let Some(day) = text.strip_prefix('J') {
            return number(day, 1..=365).map(Self::WithoutLeapDay);
        }
        let Some(rest) = text.strip_prefix('M') else { return number(text, 0..=365).map(Self::Day) };
        let mut parts = rest.split('.');
        let mut next = |range| number(parts.next()?, range);
        let day = Self::Weekday { month: next(1..=12)?, week: next(1..=5)?, weekday: next(0..=6)? };
        parts.next().is_none().then_some(day)
    }
}

/// Strips the name of a zone: `PST`, `<-03>`.
fn name(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix('<') {
        return rest.split_once('>').map(|(_, rest)| rest);
    }
    let end = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
    (end >= 3).then(|| &text[end..])
}

/// Parses the hours, minutes and seconds at the beginning of a text: `8`, `-5:30`; returns the rest, too.
fn offset(text: &str) -> Option<(i64, &str)> {
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = text.find(|c: char| !c.is_ascii_digit() && c != ':').unwrap_or(text.len());
    let (written, rest) = text.split_at(end);
    let (mut ms, mut unit) = (0, HOUR_MS);
    for part in written.split(':') {
        let most = if unit == HOUR_MS { 167 } else { 59 };
        ms += part.parse::<i64>().ok().filter(|number| *number <= most && unit >= SECOND_MS)? * unit;
        unit /= 60;
    }
    Some((sign * ms, rest))
}

/// Days from 1970-01-01 to the first of a month, which may be the thirteenth.
fn days_before(year: i64, month: i64) -> i64 {
    // Counted from March, so that the leap day is the last day of a year.
    let months = year * 12 + month - 3;
    let (year, month) = (months.div_euclid(12), months.rem_euclid(12));
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + (153 * month + 2) / 5 - 719_468
}

/// The year of a wall time.
fn year_of(wall: i64) -> i64 {
    let day = wall.div_euclid(DAY_MS);
    let year = 1970 + (day * 400).div_euclid(146_097);
    // The estimate is off by one at most.
    (year - 1..=year + 1).rev().find(|year| days_before(*year, 1) <= day).unwrap_or(year)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Days and hours since 1970.
    fn at(days: i64, hours: i64) -> i64 {
        days * DAY_MS + hours * HOUR_MS
    }

    #[test]
    fn months_and_years_are_counted_from_1970() {
        for (year, month, expected) in
            [(1970, 1, 0), (1970, 2, 31), (2000, 3, 11_017), (2024, 3, 19_783), (2025, 13, 20_454), (2026, 1, 20_454)]
        {
            assert_eq!(days_before(year, month), expected, "{year}-{month}");
        }
        for year in 1800..2300 {
            let begins = days_before(year, 1) * DAY_MS;
            assert_eq!((year_of(begins), year_of(begins - 1)), (year, year - 1));
        }
    }

    #[test]
    fn a_rule_gives_the_wall_time_of_any_day() {
        // 2026-07-01 and 2026-01-01.
        let (july, january) = (days_before(2026, 7), days_before(2026, 1));
        for (rule, in_january, in_july) in [
            ("UTC0", 0, 0),
            ("PST8PDT,M3.2.0,M11.1.0", -480, -420),
            ("PST8PDT", -480, -420),
            ("CET-1CEST,M3.5.0,M10.5.0/3", 60, 120),
            ("<+0530>-5:30", 330, 330),
            ("<-03>3", -180, -180),
            ("AEST-10AEDT,M10.1.0,M4.1.0/3", 660, 600),
            ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", -120, -60),
            ("IST-1GMT0,M10.5.0,M3.5.0/1", 0, 60),
            ("ABC5DEF,J60/0,300", -300, -240),
        ] {
            let zone = Zone::parse(rule).unwrap();
            let minutes = |day| (zone.wall(at(day, 12)) - at(day, 12)) / 60_000;
            assert_eq!((minutes(january), minutes(july)), (in_january, in_july), "{rule}");
        }
        for rule in
            ["", "Europe/Berlin", "PST", "PST8PDT,M3.2.0", "PST8PDT,M13.2.0,M11.1.0", "PST8é", "PST1:2:3:4", ",,"]
        {
            assert_eq!(Zone::parse(rule), None, "{rule}");
        }
    }

    #[test]
    fn an_hour_that_comes_twice_has_two_times_and_a_skipped_one_is_read_in_standard_time() {
        let zone = Zone::parse("PST8PDT,M3.2.0,M11.1.0").unwrap();
        // 2026-03-08 and 2026-11-01.
        let (march, november) = (days_before(2026, 3) + 7, days_before(2026, 11));
        assert_eq!(zone.wall(at(march, 10) - 1), at(march, 2) - 1);
        assert_eq!(zone.wall(at(march, 10)), at(march, 3));
        assert_eq!(zone.first_utc(at(march, 2)), at(march, 10));
        assert_eq!(zone.first_utc(at(november, 1)), at(november, 8));
        assert_eq!(zone.last_utc(at(november, 1)), at(november, 9));
        assert_eq!(zone.first_utc(at(november, 3)), at(november, 11));
        for wall in [i64::MIN, i64::MAX] {
            let _ = (zone.first_utc(wall), zone.last_utc(wall), zone.wall(wall));
        }
    }
}
