//! Applies a person's corrections to an episode: the only place where they take effect.
//!
//! # Decisions
//!
//! - A verdict applies to the entry with the same words on the same line. If there is none (the file was written anew),
//!   it applies to the one entry with the same words, unless that was said after the verdict.

use std::collections::BTreeMap;

use super::excerpt::one_line;
use super::sentence::{plain, sentences};
use super::{Episode, ErrorLine, Pointed, TITLE_CHARS, continuation};
use baton_conversation::hash::Mark;
use baton_conversation::record::{SessionId, Timestamp};
use baton_events::session::{Corrections, EntryKind, Verdict};

/// Follows a title that a person gave.
pub const PERSON_MARK: &str = " · person";
/// Number of words that a fingerprint covers: an entry that is cut elsewhere stays the same.
const PRINT_WORDS: usize = 24;
/// Fewest words of a sentence that is cut.
const CUT_WORDS: usize = 2;
/// Stands for what was cut from a conclusion.
const CUT: &str = "…";
/// Prefix of a person's words, which is not part of them.
const PERSON: &str = "User: ";

/// An entry that a person can correct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Correctable {
    /// Its kind.
    pub kind: EntryKind,
    /// Its text, line and time. Of a fix: the failure, and what is told to have resolved it.
    pub said: Pointed,
    /// Fingerprint of its kind and words.
    pub print: u64,
}

/// An entry that a person has corrected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Corrected {
    /// What they say of it.
    pub verdict: Verdict,
    /// The entry, as in [`Correctable::said`].
    pub said: Pointed,
}

impl Corrected {
    /// The entry after what the person says of it.
    pub fn text(&self) -> String {
        let label = match self.verdict {
            Verdict::Wrong => "Wrong",
            Verdict::Superseded => "Superseded",
            Verdict::Done => "Done",
            Verdict::NotAFix => "No fix",
        };
        format!("{label}, says a person: {}", self.said.text)
    }
}

impl Episode {
    /// Returns what a person can correct of an uncorrected episode: decisions, resolutions of failures, open items and
    /// next steps, each in the order of its list; equal ones once.
    pub fn correctable(&self, session: &SessionId) -> Vec<Correctable> {
        let decisions = self.decisions.iter().map(|said| (EntryKind::Decision, said.clone()));
        let fixes = self.errors.iter().filter_map(|error| Some((EntryKind::Fix, fix(error)?)));
        let open = self.unresolved.iter().chain(&self.next_steps).map(|said| (EntryKind::Open, said.clone()));
        let mut entries: Vec<Correctable> = Vec::new();
        for (kind, said) in decisions.chain(fixes).chain(open) {
            let print = print(session, kind, &said.text);
            if !entries.iter().any(|known| (known.said.line, known.print) == (said.line, print)) {
                entries.push(Correctable { kind, said, print });
            }
        }
        entries
    }

    /// Applies the corrections; `title` is the text of a person's title. Decisions that are wrong and open items that are
    /// done leave their lists, decisions that no longer hold move to `superseded`, and a resolution that was none leaves
    /// its failure; all of them are in `corrected`. The continuation is composed anew. Facts, handoffs and answers
    /// follow, as they are made of the lists.
    pub fn correct(&mut self, session: &SessionId, corrections: &Corrections, title: Option<&str>) {
        if let Some(title) = title.map(|title| one_line(title, TITLE_CHARS)).filter(|title| !title.is_empty()) {
            (self.title, self.is_titled, self.is_titled_by_person) = (title, true, true);
        }
        let verdicts = verdicts(&self.correctable(session), corrections);
        if verdicts.is_empty() {
            return;
        }
        let mut corrected = Vec::new();
        let mut is_corrected = |kind: EntryKind, said: &Pointed| {
            let verdict = verdicts.get(&(said.line, print(session, kind, &said.text))).copied();
            corrected.extend(verdict.map(|verdict| Corrected { verdict, said: said.clone() }));
            verdict.is_some()
        };
        self.decisions.retain(|said| !is_corrected(EntryKind::Decision, said));
        for error in &mut self.errors {
            if fix(error).is_some_and(|fix| is_corrected(EntryKind::Fix, &fix)) {
                error.resolution = None;
                self.mendings.remove(&error.line);
            }
        }
        self.unresolved.retain(|said| !is_corrected(EntryKind::Open, said));
        self.next_steps.retain(|said| !is_corrected(EntryKind::Open, said));
        corrected.dedup();
        self.corrected = corrected;
        let superseded = self.corrected.iter().filter(|it| it.verdict == Verdict::Superseded);
        self.superseded.extend(superseded.map(|it| it.said.clone()));
        self.superseded.sort_by_key(|said| said.line);
        self.cut_from_conclusions();
        let is_of_model = self.is_of_model(0, &self.continuation_context);
        self.continuation_context = continuation::paragraph(self);
        if is_of_model {
            self.said_by_model.insert((0, self.continuation_context.clone()));
        }
    }

    /// Cuts decisions that do not hold, as a person says, from a text that stands at a line.
    pub fn cut_overruled(&self, line: u64, text: &mut String) {
        overruled(&self.corrected).filter(|said| said.line == line).for_each(|said| cut(text, said));
    }

    /// Cuts decisions that do not hold from what the agent concluded.
    fn cut_from_conclusions(&mut self) {
        let answers = self.work_completed.get_mut("answers").into_iter().flatten();
        let conclusions = self.exchanges.iter_mut().filter_map(|exchange| exchange.conclusion.as_mut());
        let mut said: Vec<&mut Pointed> = answers.chain(conclusions).collect();
        for decision in overruled(&self.corrected) {
            said.iter_mut().filter(|said| said.line == decision.line).for_each(|said| cut(&mut said.text, decision));
            self.concluded.iter_mut().for_each(|text| cut(text, decision));
        }
        let is_cut = |text: &str| !text.chars().any(char::is_alphanumeric);
        self.concluded.take_if(|text| is_cut(text));
        for exchange in &mut self.exchanges {
            exchange.conclusion.take_if(|said| is_cut(&said.text));
        }
        self.work_completed.retain(|category, entries| {
            if category == "answers" {
                entries.retain(|said| !is_cut(&said.text));
            }
            !entries.is_empty()
        });
    }

    /// Returns the decisions that no longer hold, each after what the person says of it.
    pub fn superseded_by_person(&self) -> impl Iterator<Item = Pointed> {
        let superseded = self.corrected.iter().filter(|it| it.verdict == Verdict::Superseded);
        superseded.map(|it| Pointed { text: it.text(), ..it.said.clone() })
    }

    /// Returns what did not resolve a failure, as a person says; empty if nothing is known.
    pub fn not_a_fix(&self, error: &ErrorLine) -> String {
        let resolution = self.corrected.iter().find_map(|it| {
            let is_it = it.verdict == Verdict::NotAFix && it.said.line == error.line;
            it.said.text.strip_prefix(&error.text)?.strip_prefix(FIXED_BY).filter(|_| is_it)
        });
        resolution.map(|resolution| format!(" (no fix, says a person: {resolution})")).unwrap_or_default()
    }
}

/// Returns the decisions that do not hold.
fn overruled(corrected: &[Corrected]) -> impl Iterator<Item = &Pointed> {
    corrected.iter().filter(|it| it.verdict.kind() == EntryKind::Decision).map(|it| &it.said)
}

/// Replaces a decision, or the sentences that it is made of.
fn cut(text: &mut String, decision: &Pointed) {
    // Points of a list that a summary has joined are no sentences.
    *text = text.replace(&decision.text, CUT);
    let is_of_decision = |sentence: &str| {
        let plain = plain(sentence);
        let plain = plain.trim_end_matches(['.', '…']);
        plain.split_whitespace().count() >= CUT_WORDS && decision.text.contains(plain)
    };
    let found = sentences(text).into_iter().map(|sentence| sentence.text.to_owned());
    let found: Vec<String> = found.filter(|sentence| is_of_decision(sentence)).collect();
    for sentence in found {
        *text = text.replacen(&sentence, CUT, 1);
    }
    *text = text.replace("… …", CUT);
}

/// Separates a failure from its resolution.
const FIXED_BY: &str = " -> ";

/// Returns a failure with its resolution, if it has one.
fn fix(error: &ErrorLine) -> Option<Pointed> {
    let resolution = error.resolution.as_ref()?;
    Some(Pointed { text: format!("{}{FIXED_BY}{}", error.text, resolution.text), line: error.line, at: error.at })
}

/// Returns the fingerprint of an entry. It depends on the session, so that equal words of two sessions differ.
fn print(session: &SessionId, kind: EntryKind, text: &str) -> u64 {
    let text = text.strip_prefix(PERSON).unwrap_or(text).to_lowercase();
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).take(PRINT_WORDS);
    let words: Vec<&str> = words.collect();
    Mark::digest(format!("{session}\n{}\n{}", kind.as_str(), words.join(" ")).as_bytes()).0
}

/// Returns the verdicts that apply, by line and fingerprint of the entry.
pub fn verdicts(entries: &[Correctable], corrections: &Corrections) -> BTreeMap<(u64, u64), Verdict> {
    let mut verdicts = BTreeMap::new();
    for correction in &corrections.entries {
        let was_said = |at: Option<Timestamp>| at.is_none_or(|at| at <= correction.at);
        let alike: Vec<&Correctable> = entries.iter().filter(|entry| entry.print == correction.print).collect();
        let entry = match alike.iter().find(|entry| entry.said.line == correction.line) {
            Some(entry) => Some(*entry),
            None => alike.first().copied().filter(|entry| alike.len() == 1 && was_said(entry.said.at)),
        };
        verdicts.extend(entry.map(|entry| ((entry.said.line, entry.print), correction.verdict)));
    }
    verdicts
}

#[cfg(test)]
mod tests {
    use baton_events::session::CorrectedEntry;

    use super::super::Exchange;
    use super::*;

    fn session() -> SessionId {
        SessionId::new("s").unwrap()
    }

    fn said(text: &str, line: u64, at: i64) -> Pointed {
        Pointed { text: text.to_owned(), line, at: Some(Timestamp(at)) }
    }

    fn episode() -> Episode {
        let failed = |line: u64, resolution: &str| {
            let resolution = Some(said(resolution, line + 2, 5));
            ErrorLine { text: "`cargo test`: boom".to_owned(), line, at: None, resolution }
        };
        let mut episode = Episode {
            title: "Log".to_owned(),
            objective: "move it to sled".to_owned(),
            decisions: vec![said("use sled", 10, 5), said("User: one file per day", 12, 6)],
            errors: vec![failed(20, "passed after an edit of a.rs"), failed(30, "passed after an edit of b.rs")],
            unresolved: vec![said("the index grows", 40, 7)],
            work_completed: [(
                "answers".to_owned(),
                vec![said("use sled", 10, 5), said("Done. Use it. use sled", 10, 5)],
            )]
            .into(),
            next_steps: vec![said("the index grows", 40, 7), said("write the docs", 50, 8)],
            ..Episode::default()
        };
        let conclusion = said("**Done** in a.rs.\n- use sled\n- it is fast", 10, 5);
        episode.exchanges = vec![Exchange { conclusion: Some(conclusion), ..Exchange::default() }];
        episode.concluded = Some("Done in a.rs. use sled".to_owned());
        episode.continuation_context = continuation::paragraph(&episode);
        episode
    }

    /// Corrects the entries with these numbers, from 0, as told.
    fn corrections(verdicts: &[(usize, Verdict)]) -> Corrections {
        let entries = episode().correctable(&session());
        let entry = |(at, verdict): &(usize, Verdict)| {
            let Correctable { said, print, .. } = &entries[*at];
            CorrectedEntry { line: said.line, print: *print, verdict: *verdict, at: Timestamp(100) }
        };
        Corrections { title: None, entries: verdicts.iter().map(entry).collect() }
    }

    fn texts(list: &[Pointed]) -> Vec<&str> {
        list.iter().map(|said| said.text.as_str()).collect()
    }

    #[test]
    fn corrected_entries_leave_their_lists_and_are_marked() {
        let kinds: Vec<EntryKind> = episode().correctable(&session()).iter().map(|entry| entry.kind).collect();
        let (decision, fix, open) = (EntryKind::Decision, EntryKind::Fix, EntryKind::Open);
        assert_eq!(kinds, [decision, decision, fix, fix, open, open], "equal ones count once");

        let mut corrected = episode();
        let verdicts = [(0, Verdict::Wrong), (1, Verdict::Superseded), (3, Verdict::NotAFix), (4, Verdict::Done)];
        corrected.correct(&session(), &corrections(&verdicts), Some("Move the  log"));
        assert_eq!(corrected.decisions, []);
        assert_eq!(texts(&corrected.work_completed["answers"]), ["Done. Use it. …"]);
        let concluded = corrected.exchanges[0].conclusion.as_ref().map(|said| said.text.as_str());
        assert_eq!(concluded, Some("**Done** in a.rs.\n- …\n- it is fast"));
        assert_eq!(texts(&corrected.superseded), ["User: one file per day"]);
        let mut passage = "**Done**: use sled".to_owned();
        corrected.cut_overruled(11, &mut passage);
        assert_eq!(passage, "**Done**: use sled", "another line");
        corrected.cut_overruled(10, &mut passage);
        assert_eq!(passage, "**Done**: …");
        let superseded: Vec<Pointed> = corrected.superseded_by_person().collect();
        assert_eq!(texts(&superseded), ["Superseded, says a person: User: one file per day"]);
        assert!(corrected.errors[0].resolution.is_some() && corrected.errors[1].resolution.is_none());
        assert_eq!(corrected.not_a_fix(&corrected.errors[0]), "");
        let note = " (no fix, says a person: passed after an edit of b.rs)";
        assert_eq!(corrected.not_a_fix(&corrected.errors[1]), note);
        assert_eq!((texts(&corrected.unresolved), texts(&corrected.next_steps)), (vec![], vec!["write the docs"]));
        assert_eq!((corrected.title.as_str(), corrected.objective.as_str()), ("Move the log", "move it to sled"));
        assert_eq!(
            corrected.continuation_context,
            "Goal: Move the log: move it to sled. The agent reported: Done in a.rs. … Next: write the docs."
        );
        assert!(corrected.content().starts_with("# Move the log · person\n"), "{}", corrected.content());
        let (read, searched) = (corrected.content(), corrected.content_with_marks());
        assert!(read.contains("Wrong, says a person: use sled") && !searched.contains("use sled"), "{searched}");
    }

    #[test]
    fn nothing_else_is_corrected_by_mistake() {
        let wrong = corrections(&[(0, Verdict::Wrong)]);
        let decisions_of = |decisions: Vec<Pointed>| {
            let mut episode = Episode { decisions, ..Episode::default() };
            episode.correct(&session(), &wrong, None);
            episode.decisions.len()
        };
        assert_eq!(decisions_of(vec![said("User: Use  sled.", 10, 5)]), 0, "the same words");
        assert_eq!(decisions_of(vec![said("use SQLite", 10, 5)]), 1, "other words on that line");
        assert_eq!(decisions_of(vec![said("use sled", 90, 5)]), 0, "the line has moved");
        assert_eq!(decisions_of(vec![said("use sled", 90, 101)]), 1, "said again after the correction");
        assert_eq!(decisions_of(vec![said("use sled", 90, 5), said("use sled", 95, 5)]), 2, "one of two is meant");
        assert_eq!(decisions_of(vec![said("use sled", 10, 5), said("use sled", 95, 5)]), 1, "only that one");
        let mut open = Episode { unresolved: vec![said("use sled", 10, 5)], ..Episode::default() };
        open.correct(&session(), &wrong, None);
        assert_eq!(open.unresolved.len(), 1, "of another kind");
        let mut other = episode();
        other.correct(&SessionId::new("t").unwrap(), &wrong, None);
        assert_eq!(other, episode(), "of another session");
    }
}
