//! Removes a session from the notes that mention it. What people wrote is kept.

use std::collections::BTreeSet;

use super::block::{self, Block, without_line_end};
use super::header::{self, Head, Parsed};
use super::note::{Field, Line, Note, When};
use super::rewrite::rewrite;
use super::{knowledge, merge, session, trace};

/// Result of removing a session from a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remainder {
    /// The note did not mention the session.
    Unchanged,
    /// The remaining text.
    Text(String),
    /// Nothing that a person or another session wrote is left: the file may be deleted.
    Nothing,
}

/// Headings of notes other than those of sessions and entities.
const OTHER_HEADINGS: [&str; 6] = ["Patterns", "Preferences", "Projects", "Sessions", "Entities", "Topics"];
/// Characters that are ignored at the ends of a text.
const BLANK: [char; 5] = ['\u{feff}', ' ', '\t', '\r', '\n'];
/// Heading on the start page of all projects.
const ABOUT_HEADING: &str = "About The User";

/// Removes everything of Baton's from a session's own note or an archive copy: blocks, keys and headings.
pub fn forget_own_note(text: &str) -> Remainder {
    let rest = without_baton_text(text);
    match rest.trim_matches(BLANK).is_empty() {
        true => Remainder::Nothing,
        false if rest == text => Remainder::Unchanged,
        false => Remainder::Text(rest),
    }
}

/// Removes from any other note the lines that link to `target` and those that only it supported, with the traces of
/// such lines. `target` is written as in links: the name of a session's note, or the whole path of another note,
/// without extension.
pub fn forget_target(text: &str, target: &str) -> Remainder {
    let with = |block: &Block, content: &str, _: &_| if block.is_intact { without_line(content, target) } else { None };
    // This includes traces of lines that a person removed.
    match rewrite(text, &with, &|written| trace::forget(written, target)) {
        None => Remainder::Unchanged,
        Some(text) if is_empty(&text) => Remainder::Nothing,
        Some(text) => Remainder::Text(text),
    }
}

/// Removes sessions from the frontmatter of another session's note that continues them. A list that a person changed is
/// left alone.
pub fn forget_continued(text: &str, sessions: &[&str]) -> Remainder {
    let Some(identity) = session::identity(text).filter(|identity| identity.is_sure) else {
        return Remainder::Unchanged;
    };
    let is_gone = |id: &String| sessions.contains(&id.as_str()) && identity.own.as_ref() != Some(id);
    if !identity.session_ids.iter().any(is_gone) {
        return Remainder::Unchanged;
    }
    let left = identity.session_ids.iter().filter(|id| !is_gone(id)).cloned().collect();
    let header = vec![Field::list(session::SESSION_IDS, left, When::Always)];
    let merged = merge(Some(text), &Note { header, sections: Vec::new() });
    if merged.changed { Remainder::Text(merged.text) } else { Remainder::Unchanged }
}

/// Returns a note for readers that do not merge into it: without the traces.
pub fn without_traces(text: &str) -> String {
    trace::without_traces(text)
}

/// Returns the tags of all sessions and notes that a note ever mentioned, see [`target_tag`].
pub fn remembered_tags(text: &str) -> BTreeSet<String> {
    block::written_in_text(text).map(|written| trace::tags(&written)).unwrap_or_default()
}

/// Returns the tag by which [`remembered_tags`] lists a target of [`forget_target`].
pub fn target_tag(target: &str) -> String {
    trace::tag(target)
}

/// Sections of a session's note that identify the session.
const TELLING: [&str; 5] = ["goal", "work-log", "decisions", "errors", "open"];
/// A shorter block may occur in the notes of two sessions, in bytes.
const TELLING_BYTES: usize = 40;

/// Returns hashes of what Baton wrote, by which a session's note without a frontmatter is recognised.
pub fn fingerprints(text: &str) -> BTreeSet<String> {
    let parsed = Parsed::new(text);
    let is_telling = |block: &&Block| {
        let bytes: usize = parsed.content(block).iter().map(|line| line.len()).sum();
        TELLING.contains(&block.key.as_str()) && bytes >= TELLING_BYTES
    };
    parsed.blocks.found.iter().filter(is_telling).map(|block| block.hash.clone()).collect()
}

/// Returns true if only Baton wrote in the note.
pub fn is_own(text: &str) -> bool {
    without_baton_text(text).trim_matches(BLANK).is_empty()
}

/// Returns true if every line that a person wrote in a note is also in the other one.
pub fn is_told_in(text: &str, other: &str) -> bool {
    let (theirs, others) = (without_baton_text(text), without_baton_text(other));
    let others: BTreeSet<&str> = others.lines().map(str::trim).collect();
    theirs.lines().map(str::trim).filter(|line| !line.is_empty()).all(|line| others.contains(line))
}

/// Returns true if nothing that a person wrote, and no line of a session, is left; a link to a shared note does not
/// count.
pub fn is_empty(text: &str) -> bool {
    let parsed = Parsed::new(text);
    let is_news = |line: &&str| !without_line_end(line).ends_with(knowledge::SHARED);
    let says = |block: &Block| block.key != "title" && parsed.content(block).iter().any(is_news);
    !parsed.blocks.found.iter().any(says) && is_own(text)
}

/// Returns the content of a block without the lines of a target; `None` if it has none.
fn without_line(content: &str, target: &str) -> Option<String> {
    let mut changed = false;
    let mut kept: Vec<String> = Vec::new();
    for line in content.split('\n') {
        let mut read = Line::parse(line);
        let before = read.support.len();
        read.support.retain(|name| name != target);
        let unsupported = before > 0 && read.support.is_empty();
        if unsupported || leads_to(&read.text, target) {
            changed = true;
        } else if read.support.len() < before {
            changed = true;
            kept.push(read.written());
        } else {
            kept.push(line.to_owned());
        }
    }
    changed.then(|| kept.join("\n"))
}

fn leads_to(text: &str, target: &str) -> bool {
    [format!("[[{target}]]"), format!("[[{target}|")].iter().any(|link| text.contains(link.as_str()))
}

/// Returns the text without intact blocks, markers, own keys, and own headings over empty sections.
fn without_baton_text(text: &str) -> String {
    let Parsed { document, lines, blocks, marker, written } = Parsed::new(text);
    let mut gone = vec![false; lines.len()];
    for block in &blocks.found {
        gone[block.open] = true;
        gone[block.close] = true;
        if block.is_intact {
            // Including the empty line before it.
            let gap = usize::from(block.open > 0 && lines[block.open - 1].trim().is_empty());
            gone[block.open - gap..=block.close].fill(true);
        }
    }
    blocks.stray.iter().map(|(at, _)| *at).chain(marker).for_each(|at| gone[at] = true);
    empty_headings(&lines, &mut gone);
    let rest: String = lines.iter().zip(&gone).filter(|(_, gone)| !**gone).map(|(line, _)| *line).collect();
    let head = match &document.head {
        Head::Read { open, entries, close } => {
            let theirs = entries.iter().filter(|entry| entry.key.is_empty() || !header::is_own(entry, &written));
            let theirs: String = theirs.flat_map(|entry| entry.lines.iter().copied()).collect();
            if theirs.trim().is_empty() { String::new() } else { format!("{open}{theirs}{close}") }
        }
        _ => document.head_text(),
    };
    format!("{}{head}{rest}", document.bom)
}

/// Marks Baton's headings over empty sections, and the empty lines below them.
fn empty_headings(lines: &[&str], gone: &mut [bool]) {
    let own = session::SECTIONS.iter().chain(&knowledge::ENTITY_SECTIONS).map(|(_, heading)| *heading);
    let own: Vec<String> = own.chain(OTHER_HEADINGS).chain([ABOUT_HEADING]).map(|name| format!("## {name}")).collect();
    for at in 0..lines.len() {
        if gone[at] || !own.iter().any(|heading| heading == without_line_end(lines[at])) {
            continue;
        }
        let below = (at + 1..lines.len()).find(|line| !gone[*line] && !lines[*line].trim().is_empty());
        if below.is_none_or(|line| own.iter().any(|heading| heading == without_line_end(lines[line]))) {
            gone[at..below.unwrap_or(lines.len())].fill(true);
        }
    }
}
