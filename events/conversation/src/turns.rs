//! Search units made of items: a unit is one hit of a search.
//!
//! A unit is a typed prompt, an agent's text or a tool line, split at paragraph borders into parts of about 1,600
//! characters. If items are appended, units are appended too, except that the last few may change, and those since a
//! withdrawn prompt.

mod cut;
mod stream;
mod tool;

use std::convert::Infallible;

pub use self::stream::Stream;
use crate::hash::Mark;
use crate::item::{Item, Role};
use crate::queued_prompts::Withdrawn;
use crate::record::Timestamp;

/// The smallest thing that a search finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Transcript line on which it starts.
    pub line: u64,
    /// Part of that line's text, from 0: a long text is split.
    pub part: u32,
    /// Time of the record.
    pub at: Option<Timestamp>,
    /// The speaker.
    pub role: Role,
    /// What its record is known by, or that of the call for a tool line. Forks of the session repeat it.
    pub record: Option<Mark>,
    /// The text from which snippets are cut.
    pub text: String,
}

/// All units in the order of the items; linear. [`Stream`] gives them one by one.
pub fn units(items: &[Item]) -> Vec<Unit> {
    let mut units = Vec::with_capacity(items.len());
    let mut stream = Stream::without(Withdrawn::from_items(items));
    let mut take = |unit| {
        units.push(unit);
        Ok::<_, Infallible>(())
    };
    let Ok(()) = items.iter().try_for_each(|item| stream.push(item, &mut take));
    let Ok(_) = stream.finish(&mut take);
    units
}

/// Appends the `body` field of a unit: its date as `2026-03-14` and `14 March 2026` if it has one, the speaker, the
/// text.
pub fn write_body(unit: &Unit, out: &mut String) {
    if let Some(at) = unit.at {
        push_date(at, out);
    }
    out.push_str(unit.role.as_str());
    out.push('\n');
    out.push_str(&unit.text);
}

fn push_date(at: Timestamp, out: &mut String) {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let written = at.to_string();
    let Some((date, _)) = written.split_once('T') else { return };
    out.push_str(date);
    out.push(' ');
    let mut fields = date.splitn(3, '-');
    if let (Some(year), Some(month), Some(day)) = (fields.next(), fields.next(), fields.next()) {
        let month = month.parse::<usize>().ok().and_then(|month| MONTHS.get(month.wrapping_sub(1)));
        for field in [day.trim_start_matches('0'), month.copied().unwrap_or_default(), year] {
            out.push_str(field);
            out.push(' ');
        }
    }
}

#[cfg(test)]
mod tests;
