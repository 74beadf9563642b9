//! Names and values in neighbouring fields: `{"name": "DB_PASSWORD", "value": "x"}`.

use super::alphabet::{ALNUM, HYPHEN, UNDERSCORE, floor, is, run_end};
use super::assignment::{self, Join};
use super::name::{self, Name, NameKind};
use super::password::looks_chosen;
use super::{Cut, MARK};

/// Longest distance between a value and its name, in bytes.
const MAX_BESIDE_BYTES: usize = 240;
/// Fields that hold a name.
const FIELDS: &[&str] = &["name", "Name", "NAME", "key", "Key", "ariable", "arameter"];
/// Fields that may hold a name if none of [`FIELDS`] does.
const KINDS: &[&str] = &["\"type", "\"id"];

/// Returns the value of a field called `value` or the like if a neighbouring field names a secret.
pub(super) fn secret_value(text: &str, from: usize, field: Name, join: Join) -> Option<Cut> {
    let strong = Name { kind: NameKind::Strong, screams: false, spoken: false, ..field };
    let cut = assignment::secret_value(text, from, strong, join)?;
    let value = &text[cut.start..cut.end];
    if !looks_chosen(value) || value.contains(MARK) {
        return None;
    }
    let bytes = text.as_bytes();
    let before = &text[floor(bytes, field.start.saturating_sub(MAX_BESIDE_BYTES))..field.start];
    let before = &before[before.rfind('}').map_or(0, |at| at + 1)..];
    let after = &text[cut.end..floor(bytes, bytes.len().min(cut.end + MAX_BESIDE_BYTES))];
    let after = &after[..after.find('}').unwrap_or(0)];
    let kind = named(before, FIELDS, true)
        .or_else(|| opened(before))
        .or_else(|| named(after, FIELDS, false))
        .or_else(|| named(before, KINDS, true))?;
    matches!(kind, NameKind::Strong | NameKind::Weak).then_some(cut)
}

/// Returns the meaning of the name in the last of these fields, or in the first.
fn named(text: &str, fields: &[&str], last: bool) -> Option<NameKind> {
    let places = fields.iter().filter_map(|field| {
        let at = if last { text.rfind(field) } else { text.find(field) };
        at.map(|at| at + field.len())
    });
    let end = if last { places.max() } else { places.min() }?;
    let bytes = text.as_bytes();
    let joint = |byte: &&u8| matches!(**byte, b'"' | b'\'' | b'\\' | b' ' | b':' | b'=' | b'>');
    let start = end + bytes[end..].iter().take(8).take_while(joint).count();
    let stop = run_end(bytes, start, ALNUM | UNDERSCORE | HYPHEN | super::alphabet::DOT | super::alphabet::PLUS);
    if start == end || stop == start {
        return None;
    }
    name::name_ending_at(text, stop).map(|name| name.kind)
}

/// Returns the meaning of the name before the last opened brace: `variable "db_password" {`, `"db_password": {`.
fn opened(text: &str) -> Option<NameKind> {
    let brace = text.rfind('{')?;
    let head = text[..brace].trim_end_matches([' ', ':', '=', '"', '\'', '\\']);
    is(*head.as_bytes().last()?, ALNUM).then(|| name::name_ending_at(head, head.len())).flatten().map(|name| name.kind)
}
