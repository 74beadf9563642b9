//! Which part of a prompt its author typed, and which a program printed.

use std::ops::Range;

use super::super::is_courtesy;
use super::super::label::count;
use super::{has_question, has_substance, wants};
use baton_conversation::filter::pasted_line;

/// Number of places of a line where output may begin.
const MAX_TAGS: usize = 64;

/// Returns what stands before the first line that looks like output, or what is said behind a block that stands first.
pub(in crate::digest) fn before_log(text: &str) -> &str {
    let text = without_leading_block(text);
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_start();
        let prints = at > 0 && (is_output(bare) || bare.starts_with("```") && text[..at].trim_end().ends_with(':'));
        if prints {
            let before = &text[..at];
            // The output may begin on the line of the words.
            let line = before.trim_end().rfind('\n').map_or(0, |end| end + 1);
            let begun = before[line..]
                .match_indices(" [")
                .take(MAX_TAGS)
                .find(|(place, _)| is_output(&before[line + place + 1..]));
            let end = if line == 0 { begun.map_or(at, |(place, _)| place) } else { at };
            let own = text[..end].trim_end();
            return if count(own) > 1 { own } else { text };
        }
        at += line.len();
    }
    text
}

/// Returns the request behind a block of output, code or data that a prompt begins with: of what stands outside of such
/// blocks the first part that asks, or else the first of substance; all of it if there is none.
fn without_leading_block(text: &str) -> &str {
    let begins = text.lines().map(str::trim).find(|line| !line.is_empty()).is_some_and(is_block);
    if !begins {
        return text;
    }
    let error = pasted_line(text).unwrap_or_default();
    let (mut parts, mut at, mut is_fenced, mut is_within): (Vec<Range<usize>>, _, _, _) = (Vec::new(), 0, false, true);
    for line in text.split_inclusive('\n') {
        let (from, bare) = (at, line.trim());
        at += line.len();
        let is_fence = bare.starts_with("```");
        is_fenced ^= is_fence;
        let continues = is_within && !bare.is_empty() && (line.starts_with([' ', '\t']) || error.ends_with(bare));
        if is_fence || is_fenced || is_block(bare) || continues {
            is_within = true;
        } else if !bare.is_empty() && std::mem::take(&mut is_within) {
            parts.push(from..at);
        } else if let Some(part) = parts.last_mut().filter(|_| !is_within) {
            part.end = at;
        }
    }
    let mut parts = parts.into_iter().map(|part| text[part].trim()).filter(|part| count(part) > 1);
    let asks = |part: &&str| wants(part) || has_question(part);
    let tells = |part: &&str| has_substance(part) && !is_courtesy(part);
    parts.clone().find(asks).or_else(|| parts.find(tells)).unwrap_or(text)
}

/// Returns true for a line of a block: a fence, output, a line of data, of markup, of a table, of a terminal.
fn is_block(line: &str) -> bool {
    let begins = ["```", "$ ", "> ", "│", "└", "├", "┌", "|"].iter().any(|start| line.starts_with(start));
    let is_markup = line.starts_with('<') && line.ends_with('>');
    let inner = line.strip_prefix(['{', '[']).map(str::trim_start);
    let is_data = line.starts_with(['}', ']'])
        || inner.is_some_and(|inner| inner.is_empty() || inner.starts_with(['"', '{', '[']));
    begins || is_markup || is_data || is_output(line)
}

/// Returns true for a line that a program prints: `[tag] …`, a time, a frame of a trace, a line of a diff, an error.
fn is_output(line: &str) -> bool {
    let tagged = line.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let is_tag = |(tag, rest): (&str, &str)| {
        !tag.trim().is_empty()
            && tag.len() <= 40
            && !rest.starts_with('(')
            && !tag.starts_with("Image #")
            && !tag.starts_with("redacted:")
    };
    let timed = line.len() > 8 && line.bytes().take(8).all(|b| b.is_ascii_digit() || matches!(b, b':' | b'-' | b'.'));
    let begins = ["at ", "diff --git", "@@ ", "Traceback", "error:", "error[", "Error:", "npm ERR", "fatal:"];
    tagged.is_some_and(is_tag) || timed || is_shell_line(line) || begins.iter().any(|start| line.starts_with(start))
}

/// Returns true for a line that a shell shows before what is typed: `➜ crane git:(main) make`, `❯ make`.
fn is_shell_line(line: &str) -> bool {
    line.starts_with('❯') || line.starts_with('➜') && line.contains(" git:(")
}
