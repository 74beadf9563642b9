//! A note that a person has given another name: what leads to it follows.

use super::block::{self, Blocks};
use super::header::Document;

/// The text with the links of Baton's blocks to a note as it is called now; `None` where none leads there by its former name.
/// A block in which nothing was changed but these links, as Obsidian does it when a note is renamed, is Baton's again.
pub fn renamed(text: &str, from: &str, to: &str) -> Option<String> {
    let document = Document::of(text);
    let eol = Document::eol(text);
    let lines: Vec<&str> = document.rest.split_inclusive('\n').collect();
    let mut out: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    let mut written = block::written(&lines).map(|(_, written)| written).unwrap_or_default();
    let mut changed = false;
    for block in Blocks::of(&lines).found.iter().rev() {
        let content = block::content(&lines[block.open + 1..block.close]);
        let followed = match block.is_intact {
            true => relinked(&content, from, to),
            false if block::hash(&relinked(&content, to, from)) == block.hash => content.clone(),
            false => continue,
        };
        if block.is_intact && followed == content {
            continue;
        }
        let mut new = block::block(&block.key, &followed).replace('\n', eol);
        if !lines[block.close].ends_with('\n') {
            new.truncate(new.trim_end_matches(['\r', '\n']).len());
        }
        written.insert(format!("#{}", block.key), block::short(&followed));
        out.splice(block.open..=block.close, [new]);
        changed = true;
    }
    changed.then(|| {
        let rest = block::with_written(&out.concat(), &written, eol);
        format!("{}{}{rest}", document.bom, document.head_text())
    })
}

fn relinked(content: &str, from: &str, to: &str) -> String {
    let mut content = content.to_owned();
    for end in ["]]", "|", "#"] {
        content = content.replace(&format!("[[{from}{end}"), &format!("[[{to}{end}"));
    }
    content
}
