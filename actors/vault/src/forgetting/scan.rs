//! Notes gone through for some sessions, each read once: which may tell of them, and what leads where.
//!
//! # Hazards
//!
//! - Forgetting is owed until it is done (`Removal`), in every place that the registers know, except those in
//!   which nothing was ever written. Notes without a head are known by hashes of blocks in the register, which
//!   names a session's note before any line does, so that a write cut off half-way is forgotten too. What waits
//!   in `vault-pending/` and names the session is dropped and made anew without it.

use std::collections::{BTreeSet, HashMap};

use baton_conversation::record::SessionId;
use baton_episode::digest::head;
use baton_notes::forget;
use baton_notes::verify::LINK_BYTES;

use crate::index::stem;
use crate::open_vault::{Open, Seen};
use crate::register::name_print;
use crate::vault_fs::Refused;

/// What is looked for in notes: words as they stand there.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// Those that are found by taking a text apart.
    plain: BTreeSet<String>,
    /// Others, which are sought one by one.
    odd: Vec<String>,
}

impl Words {
    pub(super) fn of<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        let mut all = Self::default();
        for word in words.into_iter().filter(|word| !word.is_empty()) {
            match word.chars().all(is_part) {
                true => drop(all.plain.insert(word.to_owned())),
                false => all.odd.push(word.to_owned()),
            }
        }
        all
    }

    /// Whether a text has one that is no part of a longer one: another session's may begin with it.
    pub(super) fn are_in(&self, text: &str) -> bool {
        let has = |word: &String| {
            text.match_indices(word.as_str())
                .any(|(at, _)| !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part))
        };
        text.split(|c| !is_part(c)).any(|word| self.plain.contains(word)) || self.odd.iter().any(has)
    }
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Scan {
    words: Words,
    /// The prints of names that are not known any more.
    sealed: BTreeSet<String>,
    /// What notes were called that have one of these.
    pub(super) names: BTreeSet<String>,
    /// Every note.
    pub(super) paths: Vec<String>,
    /// Those that have one of the words, or were being written.
    pub(super) mentions: BTreeSet<String>,
    /// Those that cannot be read.
    pub(super) unread: BTreeSet<String>,
    /// In which of all notes a link stands, by what it names.
    links: HashMap<String, Vec<usize>>,
    /// Which of all notes remember what they told of something, by its tag: they may not lead there any more.
    tags: HashMap<String, Vec<usize>>,
}

impl Scan {
    pub(super) fn of(words: Words, sealed: BTreeSet<String>) -> Self {
        Self { words, sealed, ..Self::default() }
    }

    /// Takes in a note.
    pub(super) fn take(&mut self, path: &str, seen: &Seen<'_>) {
        let at = self.paths.len();
        self.paths.push(path.to_owned());
        self.name(stem(path).unwrap_or_default());
        let text = match seen {
            Seen::Text(text) => *text,
            Seen::Left => {
                self.unread.insert(path.to_owned());
                return;
            }
            Seen::Changing => {
                self.mentions.insert(path.to_owned());
                return;
            }
        };
        if self.words.are_in(text) {
            self.mentions.insert(path.to_owned());
        }
        for tag in forget::remembered(text) {
            self.tags.entry(tag).or_default().push(at);
        }
        for target in linked(text) {
            self.name(target);
            match self.links.get_mut(target) {
                Some(known) if known.last() == Some(&at) => {}
                Some(known) => known.push(at),
                None => drop(self.links.insert(target.to_owned(), vec![at])),
            }
        }
    }

    fn name(&mut self, name: &str) {
        if !self.sealed.is_empty() && self.sealed.contains(&name_print(name)) {
            self.names.insert(name.to_owned());
        }
    }

    /// Whether notes that have a name or a hash are among those that have one of the words.
    pub(super) fn covers(&self, word: &str) -> bool {
        self.words.are_in(word)
    }

    /// Whether a text has one of the words.
    pub(super) fn has(&self, text: &str) -> bool {
        self.words.are_in(text)
    }

    /// What Baton's lines lead to, by how it begins, and what no note is called.
    pub(super) fn leading_nowhere(&self, beginning: &str) -> impl Iterator<Item = &str> {
        let is_there = |target: &str| self.paths.iter().any(|path| stem(path) == Some(target));
        let targets = self.links.keys().map(String::as_str).filter(move |target| target.starts_with(beginning));
        targets.filter(move |target| self.tags.contains_key(&forget::tag(target)) && !is_there(target))
    }

    /// Notes in which a link stands to one of these, or that told of it.
    pub(super) fn leading_to<'a>(&self, targets: impl IntoIterator<Item = &'a String>) -> BTreeSet<String> {
        let of = |target: &'a String| [self.links.get(target), self.tags.get(&forget::tag(target))];
        let notes = targets.into_iter().flat_map(of).flatten().flatten();
        notes.filter_map(|at| self.paths.get(*at).cloned()).collect()
    }
}

/// What links name wherever they stand, as [`baton_notes::forget::forget_target`] finds them.
fn linked(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("[[").filter_map(|(at, _)| {
        let rest = head(&text[at + 2..], LINK_BYTES).trim_start_matches('[');
        let ends = [rest.find('|'), rest.find("]]")].into_iter().flatten().min()?;
        let target = &rest[..ends];
        (!target.is_empty() && !target.contains('\n')).then_some(target)
    })
}

/// Whether a letter is part of a name.
fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '-' || c == '_'
}

/// What is looked for in notes of some sessions, and of the hashes of more that Baton wrote in them.
pub(super) fn sought(open: &Open, sessions: &[SessionId], prints: &BTreeSet<String>) -> Scan {
    let entries = || sessions.iter().filter_map(|id| open.register.get(id));
    let names = entries().filter_map(|entry| entry.named().and_then(stem));
    let known = entries().flat_map(|entry| &entry.prints).chain(prints).map(String::as_str);
    let words = Words::of(sessions.iter().map(|id| id.as_str()).chain(names).chain(known));
    Scan::of(words, entries().filter_map(|entry| entry.called.clone()).collect())
}

/// The vault gone through for some sessions.
pub(super) fn gone_through(
    open: &mut Open,
    sessions: &[SessionId],
    prints: &BTreeSet<String>,
) -> Result<Scan, Refused> {
    let mut scan = sought(open, sessions, prints);
    open.look_again_seeing(&mut |path, seen| scan.take(path, seen))?;
    Ok(scan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_whole_and_links_wherever_they_stand() {
        let words = Words::of(["2026-03-14-mend", "a b", "0f", ""]);
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
            assert_eq!(words.are_in(text), has, "{text:?}");
        }
        let all = |text| linked(text).collect::<Vec<_>>();
        assert_eq!(
            all("- a ([[one]], [[two]])\n`[[three|x]]` [[[four]] [[five\n]] [[six|]] [["),
            ["one", "two", "three", "four", "six"]
        );
    }

    #[test]
    fn a_note_is_known_by_its_words_and_a_sealed_name_by_what_leads_to_it() {
        let mut scan = Scan::of(Words::of(["s-1"]), [name_print("2026-03-14-mend")].into());
        scan.take("claude/a.md", &Seen::Text("session_ids: [s-1]"));
        scan.take("claude/b.md", &Seen::Text("[[2026-03-14-mend]] [[2026-03-14-mend|x]] [[claude/a]]"));
        scan.take("claude/c.md", &Seen::Changing);
        scan.take("claude/d.md", &Seen::Left);
        assert_eq!(scan.mentions, ["claude/a.md", "claude/c.md"].map(str::to_owned).into());
        assert_eq!((scan.names.clone(), scan.unread.len()), (["2026-03-14-mend".to_owned()].into(), 1));
        assert_eq!(scan.leading_to(&scan.names), ["claude/b.md".to_owned()].into());
        assert_eq!(scan.leading_to(&["claude/a".to_owned()]), ["claude/b.md".to_owned()].into());
        assert_eq!(scan.links["2026-03-14-mend"].len(), 1);
    }
}
