//! Items in, search units out: what one hit of a search is.
//!
//! A unit is a typed prompt, an assistant text or a tool line, cut at paragraph borders to about 1,600
//! characters. Units of an append-only list of items are append-only too, but for the last few, and those since a prompt
//! that was withdrawn.

mod cut;
mod tool;

use std::collections::BTreeMap;

use crate::conversation::{Body, Item, Role};
use crate::record::Timestamp;
use crate::withdrawn::Withdrawn;

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

/// All units in the order of the items; linear.
///
/// Prompts, answers, replies and thinking give one unit or more, each of at most about 1,600 characters. A tool call
/// gives exactly one, with the result that answers it; a result that answers no call gives one of its own. Summaries
/// repeat what was said, notices and facts about the session are nobody's words: they give none. Nor do prompts that were
/// withdrawn. As long as lines do not
/// decrease, `(line, part)` names a unit.
pub fn units(items: &[Item]) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::with_capacity(items.len());
    let mut open: BTreeMap<&str, usize> = BTreeMap::new();
    let withdrawn = Withdrawn::of(items);
    for item in items.iter().filter(|item| !withdrawn.holds(item)) {
        match &item.body {
            Body::Prompt { text } | Body::Answer { text } | Body::Reply { text } | Body::Thinking { text } => {
                for part in cut::parts(text) {
                    push(&mut units, item, part.to_owned());
                }
            }
            Body::Call(call) => {
                if !call.id.is_empty() {
                    open.insert(&call.id, units.len());
                }
                push(&mut units, item, tool::call_line(call));
            }
            Body::Result(result) => match open.remove(&*result.id).and_then(|index| units.get_mut(index)) {
                Some(unit) => tool::answer(&mut unit.text, result),
                None => {
                    let mut text = String::new();
                    tool::answer(&mut text, result);
                    if !text.is_empty() {
                        push(&mut units, item, text);
                    }
                }
            },
            Body::Media { .. } | Body::Summary { .. } | Body::Notice { .. } | Body::Meta(_) => {}
        }
    }
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

/// From which of the new units on the body or the context may differ from what the old items gave.
///
/// `old_items` are a prefix of the items that `new_units` were made of. A late result changes the unit of its call, a
/// withdrawal takes one away, and
/// every changed or new unit changes the context of the two before it. `new_units.len()` when nothing changed.
pub fn changed_from(old_items: &[Item], new_units: &[Unit]) -> usize {
    let old = units(old_items);
    let same = old.iter().zip(new_units).take_while(|(old, new)| old == new).count();
    if same == old.len() && same == new_units.len() { same } else { same.saturating_sub(NEIGHBOURS) }
}

fn push(units: &mut Vec<Unit>, item: &Item, text: String) {
    let part = units.last().filter(|last| last.line == item.line).map_or(0, |last| last.part.saturating_add(1));
    units.push(Unit { line: item.line, part, at: item.at, role: item.role(), uuid: item.uuid.clone(), text });
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
