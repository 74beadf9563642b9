//! Items in, search units out: what one hit of a search is.
//!
//! A unit is a typed prompt, an assistant text or a tool line, cut at paragraph borders to about 1,600
//! characters. Units of an append-only list of items are append-only too, but for the last few, and those since a prompt
//! that was withdrawn.

mod author;
mod cut;
mod stream;
mod tool;

use std::convert::Infallible;

pub use self::stream::Stream;
use crate::item::{Item, Role};
use crate::queued_prompts::Withdrawn;
use crate::record::Timestamp;

pub use author::speakers;

/// Units on each side that a unit's context takes in.
pub const NEIGHBOURS: usize = 2;
/// How much of a neighbour its context takes in, in characters.
const NEIGHBOUR_CHARS: usize = 400;

/// The smallest thing that a search finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Transcript line it starts at.
    pub line: u64,
    /// Which part of that line's text, from 0: a long text is cut in several.
    pub part: u32,
    /// When.
    pub at: Option<Timestamp>,
    /// Who speaks.
    pub role: Role,
    /// The id of the record it is from, of a tool line that of the call. Forks of the session repeat it.
    pub uuid: Option<Box<str>>,
    /// The text itself: what a snippet is cut from.
    pub text: String,
}

/// All units in the order of the items; linear. What of them is told one by one: [`Stream`].
pub fn units(items: &[Item]) -> Vec<Unit> {
    let mut units = Vec::with_capacity(items.len());
    let mut stream = Stream::without(Withdrawn::of(items));
    let mut take = |unit| {
        units.push(unit);
        Ok::<_, Infallible>(())
    };
    let Ok(()) = items.iter().try_for_each(|item| stream.push(item, &mut take));
    let Ok(_) = stream.finish(&mut take);
    units
}

/// Appends the `body` field of a unit: its date as `2026-03-14` and `14 March 2026` when it has one, who speaks, the text.
pub fn body(unit: &Unit, out: &mut String) {
    if let Some(at) = unit.at {
        push_date(at, out);
    }
    out.push_str(unit.role.as_str());
    out.push('\n');
    out.push_str(&unit.text);
}

/// Appends the `context` field of `units[index]`: the end of the two units before, its own body, the start of the two
/// after; of each neighbour at most 400 characters. Nothing when there is no such unit.
pub fn context(units: &[Unit], index: usize, out: &mut String) {
    let Some(unit) = units.get(index) else { return };
    for before in &units[index.saturating_sub(NEIGHBOURS)..index] {
        out.push_str(cut::end(&before.text, NEIGHBOUR_CHARS));
        out.push('\n');
    }
    body(unit, out);
    for after in units[index + 1..].iter().take(NEIGHBOURS) {
        out.push('\n');
        out.push_str(cut::start(&after.text, NEIGHBOUR_CHARS));
    }
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
