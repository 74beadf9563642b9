//! Checks a set of notes: readable frontmatter, paired markers, links with targets, safe names.
//!
//! # Hazards
//!
//! - YAML is read line by line (quotes, brackets, colons, repeated keys); people's nested values are not checked.

use std::collections::{BTreeMap, BTreeSet};

use super::block::{self, without_line_end};
use super::header::{self, Document, Head, Parsed};
use super::name;
use baton_episode::digest::head as beginning;

/// A defect of a note.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Path of the note below the vault.
    pub path: String,
    /// Line, from 1; 0 for the file itself.
    pub line: usize,
    /// The defect, as a sentence.
    pub what: String,
}

/// Every note of a vault, by the targets that links may use.
#[derive(Clone, Debug, Default)]
pub struct VaultIndex {
    targets: BTreeSet<String>,
    /// Number of notes with the same name, if more than one.
    several: BTreeMap<String, usize>,
    findings: Vec<Finding>,
}

impl VaultIndex {
    /// Indexes all files of a vault, by paths below it with `/`; the names of those below `root` are checked.
    pub fn new<'a>(paths: impl IntoIterator<Item = &'a str>, root: &str) -> Self {
        let mut known = Self::default();
        let mut keys: BTreeMap<String, String> = BTreeMap::new();
        for path in paths {
            let target = path.strip_suffix(".md").unwrap_or(path).to_lowercase();
            let name = target.rsplit('/').next().unwrap_or_default().to_owned();
            if target != name && !known.targets.insert(name.clone()) {
                *known.several.entry(name).or_insert(1) += 1;
            }
            known.targets.insert(target);
            let below = match root {
                "" => Some(path),
                root => path.strip_prefix(root).and_then(|rest| rest.strip_prefix('/')),
            };
            let Some(below) = below else { continue };
            let mut say = |what: String| known.findings.push(Finding { path: path.to_owned(), line: 0, what });
            for part in below.split('/').filter(|part| !name::is_safe(part)) {
                say(format!("the name {part:?} is not safe on every system"));
            }
            let key = below.split('/').map(name::key).collect::<Vec<_>>().join("/");
            if let Some(other) = keys.insert(key, path.to_owned()) {
                say(format!("on some systems it is the same file as {other:?}"));
            }
        }
        known
    }

    /// Returns the defects of names.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Returns true if a link has a target.
    pub fn is_link_target(&self, target: &str) -> bool {
        self.targets.contains(&normalise_target(target))
    }

    /// Returns the number of notes that a link may mean.
    fn meaning_count(&self, target: &str) -> usize {
        self.several.get(&normalise_target(target)).copied().unwrap_or(1)
    }

    /// Returns the defects of one note. Only links that Baton wrote are checked: a person may link to a note that does
    /// not exist yet.
    pub fn check(&self, path: &str, text: &str) -> Vec<Finding> {
        let parsed = Parsed::new(text);
        let head_lines = parsed.document.head_text().lines().count();
        let mut findings = Vec::new();
        let mut say = |line: usize, what: String| findings.push(Finding { path: path.to_owned(), line, what });
        frontmatter_defects(&parsed.document).into_iter().for_each(|(line, what)| say(line, what));
        for (at, key) in &parsed.blocks.stray {
            say(head_lines + at + 1, format!("a marker of the block {key} has no counterpart"));
        }
        for block in parsed.blocks.found.iter().filter(|block| block.is_intact) {
            for (at, line) in parsed.lines.iter().enumerate().take(block.close).skip(block.open + 1) {
                for target in links(without_line_end(line)) {
                    match self.meaning_count(target) {
                        _ if !self.is_link_target(target) => {
                            say(head_lines + at + 1, format!("the link to {target:?} leads nowhere"));
                        }
                        1 => {}
                        several => say(head_lines + at + 1, format!("the link to {target:?} may mean {several} notes")),
                    }
                }
            }
        }
        findings.sort();
        findings
    }
}

/// Normalises a link's target: without heading, in lower case.
fn normalise_target(target: &str) -> String {
    let target = target.split('#').next().unwrap_or_default().trim().trim_start_matches('/');
    target.strip_suffix(".md").unwrap_or(target).to_lowercase()
}

/// Returns the first defect of a note's frontmatter as a sentence, if any.
pub fn header_defect(text: &str) -> Option<String> {
    let (line, what) = frontmatter_defects(&Document::parse(text)).into_iter().next()?;
    Some(format!("line {line}: {what}"))
}

/// Returns why a note lacks the frontmatter that it should have.
fn missing_frontmatter(document: &Document<'_>) -> Option<String> {
    let is_open = document.rest.lines().next().is_some_and(|line| line.trim_end() == "---");
    let is_ours = block::written_in_text(document.rest).is_some_and(|written| header::is_lost(&written));
    match (is_open, is_ours) {
        (true, _) if is_ours || document.rest.contains("<!-- baton:") => {
            Some("the frontmatter that begins here is never closed".to_owned())
        }
        (_, true) => Some("Baton's frontmatter is gone from the head of it".to_owned()),
        _ => None,
    }
}

/// Returns the defects of a frontmatter with their lines, from 1.
fn frontmatter_defects(document: &Document<'_>) -> Vec<(usize, String)> {
    let entries = match &document.head {
        Head::None => return missing_frontmatter(document).into_iter().map(|what| (1, what)).collect(),
        Head::Odd(_, line) => {
            return vec![(*line, "this line of the frontmatter is no YAML that can be read".to_owned())];
        }
        Head::Read { entries, .. } => entries,
    };
    let (mut found, mut line, mut seen) = (Vec::new(), 2, BTreeSet::new());
    for entry in entries {
        if !entry.key.is_empty() && !seen.insert(entry.key) {
            found.push((line, format!("the key {} stands there twice", entry.key)));
        }
        if entry.is_broken() {
            found.push((line, format!("the value of the key {} is no YAML", entry.key)));
        }
        line += entry.lines.len();
    }
    found
}

/// Maximum length of a link, in bytes.
pub const LINK_BYTES: usize = 1_024;

/// Returns the targets of a line's wikilinks, except those in code and escaped ones.
pub fn links(line: &str) -> impl Iterator<Item = &str> {
    let mut code = spans(line).into_iter().peekable();
    line.match_indices("[[").filter_map(move |(at, _)| {
        // Both iterators advance along the line.
        while code.next_if(|(_, to)| *to <= at).is_some() {}
        let in_code = code.peek().is_some_and(|(from, _)| *from <= at);
        if in_code || line[..at].ends_with('\\') {
            return None;
        }
        let rest = beginning(&line[at + 2..], LINK_BYTES);
        let link = &rest[..rest.find("]]")?];
        link.split('|').next().filter(|target| !target.is_empty())
    })
}

/// Returns the ranges of code in backticks.
fn spans(line: &str) -> Vec<(usize, usize)> {
    let mut spans = Vec::new();
    let mut open: Option<usize> = None;
    for (at, _) in line.match_indices('`').filter(|(at, _)| !line[..*at].ends_with('\\')) {
        match open.take() {
            Some(from) => spans.push((from, at)),
            None => open = Some(at),
        }
    }
    spans
}
