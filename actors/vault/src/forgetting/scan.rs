//! One pass over all notes, reading each once: which may mention given sessions, and which link where.
//!
//! # Hazards
//!
//! - Forgetting is owed until it is done (`Removal`), in every place that the registers know, except those in which
//!   nothing was ever written. Notes without a head are recognised by hashes of blocks in the register, which names a
//!   session's note before any line does, so that an interrupted write is forgotten too. Notes in `vault-pending/` that
//!   name the session are dropped and rendered again without it.

use std::collections::{BTreeSet, HashMap};

use baton_conversation::record::SessionId;
use baton_episode::digest::head;
use baton_notes::forget;
use baton_notes::verify::LINK_BYTES;

use crate::index::stem;
use crate::open_vault::{OpenVault, Seen};
use crate::register::name_print;
use crate::vault_fs::Refused;

/// Words to look for in notes, matched whole.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// Words of name characters only, found by splitting a text.
    plain: BTreeSet<String>,
    /// Other words, searched one by one.
    irregular: Vec<String>,
}

impl Words {
    pub(super) fn new<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        let mut all = Self::default();
        for word in words.into_iter().filter(|word| !word.is_empty()) {
            match word.chars().all(is_name_char) {
                true => drop(all.plain.insert(word.to_owned())),
                false => all.irregular.push(word.to_owned()),
            }
        }
        all
    }

    /// True if the text contains one of the words, and not only as part of a longer word, which may be another
    /// session's.
    pub(super) fn match_in(&self, text: &str) -> bool {
        let has = |word: &String| {
            text.match_indices(word.as_str()).any(|(at, _)| {
                !text[..at].ends_with(is_name_char) && !text[at + word.len()..].starts_with(is_name_char)
            })
        };
        text.split(|c| !is_name_char(c)).any(|word| self.plain.contains(word)) || self.irregular.iter().any(has)
    }
}

/// The result of a pass.
#[derive(Debug, Default)]
pub(super) struct Scan {
    words: Words,
    /// Prints of names that are no longer known themselves.
    sealed: BTreeSet<String>,
    /// Names found that have one of these prints.
    pub(super) names: BTreeSet<String>,
    /// All notes.
    pub(super) paths: Vec<String>,
    /// Notes that contain one of the words, or were being written.
    pub(super) mentions: BTreeSet<String>,
    /// Notes that cannot be read.
    pub(super) unread: BTreeSet<String>,
    /// Indices into `paths` of the notes that link to a target.
    links: HashMap<String, Vec<usize>>,
    /// Indices into `paths` of the notes that remember a line about a target, by its tag. The link itself may be gone.
    tags: HashMap<String, Vec<usize>>,
}

impl Scan {
    pub(super) fn new(words: Words, sealed: BTreeSet<String>) -> Self {
        Self { words, sealed, ..Self::default() }
    }

    /// Adds a note.
    pub(super) fn add(&mut self, path: &str, seen: &Seen<'_>) {
        let at = self.paths.len();
        self.paths.push(path.to_owned());
        self.check_name(stem(path).unwrap_or_default());
        let text = match seen {
            Seen::Text(text) => *text,
            Seen::Unreadable => {
                self.unread.insert(path.to_owned());
                return;
            }
            Seen::Changing => {
                self.mentions.insert(path.to_owned());
                return;
            }
        };
        if self.words.match_in(text) {
            self.mentions.insert(path.to_owned());
        }
        for tag in forget::remembered_tags(text) {
            self.tags.entry(tag).or_default().push(at);
        }
        for target in link_targets(text) {
            self.check_name(target);
            match self.links.get_mut(target) {
                Some(known) if known.last() == Some(&at) => {}
                Some(known) => known.push(at),
                None => drop(self.links.insert(target.to_owned(), vec![at])),
            }
        }
    }

    fn check_name(&mut self, name: &str) {
        if !self.sealed.is_empty() && self.sealed.contains(&name_print(name)) {
            self.names.insert(name.to_owned());
        }
    }

    /// True if the text, or a name or hash, contains one of the words.
    pub(super) fn matches(&self, text: &str) -> bool {
        self.words.match_in(text)
    }

    /// Targets of Baton's links that begin with `beginning` and lead to no note.
    pub(super) fn dangling_targets(&self, beginning: &str) -> impl Iterator<Item = &str> {
        let is_there = |target: &str| self.paths.iter().any(|path| stem(path) == Some(target));
        let targets = self.links.keys().map(String::as_str).filter(move |target| target.starts_with(beginning));
        targets.filter(move |target| self.tags.contains_key(&forget::target_tag(target)) && !is_there(target))
    }

    /// Returns the notes that link to one of the targets, or remember a line about one.
    pub(super) fn notes_linking_to<'a>(&self, targets: impl IntoIterator<Item = &'a String>) -> BTreeSet<String> {
        let of = |target: &'a String| [self.links.get(target), self.tags.get(&forget::target_tag(target))];
        let notes = targets.into_iter().flat_map(of).flatten().flatten();
        notes.filter_map(|at| self.paths.get(*at).cloned()).collect()
    }
}

/// Returns link targets wherever they stand, as [`baton_notes::forget::forget_target`] finds them.
fn link_targets(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("[[").filter_map(|(at, _)| {
        let rest = head(&text[at + 2..], LINK_BYTES).trim_start_matches('[');
        let ends = [rest.find('|'), rest.find("]]")].into_iter().flatten().min()?;
        let target = &rest[..ends];
        (!target.is_empty() && !target.contains('\n')).then_some(target)
    })
}

/// True if the character can be part of a name.
fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || c == '-' || c == '_'
}

/// Prepares a pass that looks for sessions: their ids, the names of their notes, and hashes of blocks, including
/// `prints`.
pub(super) fn prepare_scan(open: &OpenVault, sessions: &[SessionId], prints: &BTreeSet<String>) -> Scan {
    let entries = || sessions.iter().filter_map(|id| open.register.get(id));
    let names = entries().filter_map(|entry| entry.linked_note().and_then(stem));
    let known = entries().flat_map(|entry| &entry.prints).chain(prints).map(String::as_str);
    let words = Words::new(sessions.iter().map(|id| id.as_str()).chain(names).chain(known));
    Scan::new(words, entries().filter_map(|entry| entry.called.clone()).collect())
}

/// Rebuilds the vault's index and looks for sessions in the same pass.
pub(super) fn scan_vault(
    open: &mut OpenVault,
    sessions: &[SessionId],
    prints: &BTreeSet<String>,
) -> Result<Scan, Refused> {
    let mut scan = prepare_scan(open, sessions, prints);
    open.rebuild_index(&mut |path, seen| scan.add(path, seen))?;
    Ok(scan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_match_whole_and_links_match_anywhere() {
        let words = Words::new(["2026-03-14-mend", "a b", "0f", ""]);
        for (text, has) in [
            ("see 2026-03-14-mend.", true),
            ("[[2026-03-14-mend (archived)]]", true),
            ("2026-03-14-mend-2", false),
            ("x2026-03-14-mend", false),
            ("a b", true),
            ("xa b, a bc", false),
            ("xa b (a b)", true),
            ("<!-- baton:goal 0f -->", true),
            ("", false),
        ] {
            assert_eq!(words.match_in(text), has, "{text:?}");
        }
        let all = |text| link_targets(text).collect::<Vec<_>>();
        assert_eq!(
            all("- a ([[one]], [[two]])\n`[[three|x]]` [[[four]] [[five\n]] [[six|]] [["),
            ["one", "two", "three", "four", "six"]
        );
    }

    #[test]
    fn notes_are_found_by_words_and_sealed_names_by_links() {
        let mut scan = Scan::new(Words::new(["s-1"]), [name_print("2026-03-14-mend")].into());
        scan.add("claude/a.md", &Seen::Text("session_ids: [s-1]"));
        scan.add("claude/b.md", &Seen::Text("[[2026-03-14-mend]] [[2026-03-14-mend|x]] [[claude/a]]"));
        scan.add("claude/c.md", &Seen::Changing);
        scan.add("claude/d.md", &Seen::Unreadable);
        assert_eq!(scan.mentions, ["claude/a.md", "claude/c.md"].map(str::to_owned).into());
        assert_eq!((scan.names.clone(), scan.unread.len()), (["2026-03-14-mend".to_owned()].into(), 1));
        assert_eq!(scan.notes_linking_to(&scan.names), ["claude/b.md".to_owned()].into());
        assert_eq!(scan.notes_linking_to(&["claude/a".to_owned()]), ["claude/b.md".to_owned()].into());
        assert_eq!(scan.links["2026-03-14-mend"].len(), 1);
    }
}
