//! Changes what Baton wrote in a note other than by merging: links that follow a note, lines of what is forgotten.

use std::collections::BTreeMap;

use super::block::{self, Block, HEADING_ONLY};
use super::header::{Document, Parsed};
use super::trace;

/// Returns the new content of a block, from the block, its content and what the note's marker says.
type Rewrite<'a> = &'a dyn Fn(&Block, &str, &BTreeMap<String, String>) -> Option<String>;

/// Replaces the contents of blocks by those that `with` returns, which become Baton's, and lets `mark` change the
/// note's marker; `mark` returns whether it did. `with` also receives what the note's marker says. A block without
/// content is removed. `None` if nothing changes.
pub(super) fn rewrite(
    text: &str,
    with: Rewrite<'_>,
    mark: &dyn Fn(&mut BTreeMap<String, String>) -> bool,
) -> Option<String> {
    let parsed = Parsed::new(text);
    let (eol, lines) = (Document::eol(text), &parsed.lines);
    let mut out: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    let mut written = parsed.written.clone();
    let mut changed = false;
    for block in parsed.blocks.found.iter().rev() {
        let before = block::content(parsed.content(block));
        let after = with(block, &before, &written).filter(|after| !block.is_intact || *after != before);
        let Some(after) = after else { continue };
        trace::take_back(&mut written, &block.key, &before, &after);
        let (mut from, mut new, mut hash) = (block.open, String::new(), HEADING_ONLY.to_owned());
        if after.is_empty() {
            // Including the empty line before it.
            from -= usize::from(from > 0 && lines[from - 1].trim().is_empty());
        } else {
            new = block::block(&block.key, &after).replace('\n', eol);
            hash = block::short_hash(&after);
        }
        if !lines[block.close].ends_with('\n') {
            new.truncate(new.trim_end_matches(['\r', '\n']).len());
        }
        written.insert(format!("#{}", block.key), hash);
        out.splice(from..=block.close, [new]);
        changed = true;
    }
    changed |= mark(&mut written);
    changed.then(|| {
        let rest = block::with_written(&out.concat(), &written, eol);
        format!("{}{}{rest}", parsed.document.bom, parsed.document.head_text())
    })
}
