//! The figures of answers, per file and in total.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use serde::Serialize;

use super::super::Table;
use super::super::table::percent;

/// One list of statements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Statements given.
    pub given: usize,
    /// Of these, those that mean something in the gold.
    pub right: usize,
    /// Statements of the gold.
    pub gold: usize,
    /// Of these, those that are given.
    pub found: usize,
}

impl Counts {
    fn text(self) -> String {
        let share = |part, whole| format!("{part} of {whole} ({})", percent(part as f64, whole as f64));
        format!("right {}, found {}", share(self.right, self.given), share(self.found, self.gold))
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.given += other.given;
        self.right += other.right;
        self.gold += other.gold;
        self.found += other.found;
    }
}

/// What episodes say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EpisodeFigures {
    /// Sessions.
    pub sessions: usize,
    /// Decisions.
    pub decisions: Counts,
    /// Decisions given although they were undone or replaced.
    pub overruled: usize,
    /// Errors, without slips of a tool.
    pub errors: Counts,
    /// Resolutions of these errors.
    pub resolutions: Counts,
    /// Resolutions given of errors of which the gold knows none.
    pub resolutions_of_unresolved: usize,
    /// Resolutions given of errors that something else resolved.
    pub other_resolutions: usize,
    /// Open matters.
    pub open: Counts,
    /// Open matters given that mean an error with a resolution.
    pub open_though_resolved: usize,
    /// Next steps.
    pub next: Counts,
    /// Titles that are short and have at least half of the gold title's words, or 2 of 3.
    pub good_titles: usize,
    /// Titles of at most 8 words.
    pub short_titles: usize,
    /// Content words of all titles of the gold.
    pub title_words: usize,
    /// Of these, those that the given titles have.
    pub title_words_found: usize,
    /// Sessions with a statement that contradicts the gold.
    pub contradicting_sessions: usize,
}

impl AddAssign for EpisodeFigures {
    fn add_assign(&mut self, other: Self) {
        self.sessions += other.sessions;
        self.decisions += other.decisions;
        self.overruled += other.overruled;
        self.errors += other.errors;
        self.resolutions += other.resolutions;
        self.resolutions_of_unresolved += other.resolutions_of_unresolved;
        self.other_resolutions += other.other_resolutions;
        self.open += other.open;
        self.open_though_resolved += other.open_though_resolved;
        self.next += other.next;
        self.good_titles += other.good_titles;
        self.short_titles += other.short_titles;
        self.title_words += other.title_words;
        self.title_words_found += other.title_words_found;
        self.contradicting_sessions += other.contradicting_sessions;
    }
}

impl EpisodeFigures {
    pub(super) fn table(&self, of: &str) -> Table {
        let how = "Right: of those given. Found: of those in the gold. Matched by line or by half of the words.";
        let mut table = Table::new(&format!("Episodes, {of}"), how);
        table.row("sessions", self.sessions.to_string());
        table.row("decisions", self.decisions.text());
        table.row("  overruled, given as current", self.overruled.to_string());
        table.row("errors", self.errors.text());
        table.row("resolutions", self.resolutions.text());
        table.row("  of errors never resolved", self.resolutions_of_unresolved.to_string());
        table.row("  something else resolved it", self.other_resolutions.to_string());
        table.row("open", self.open.text());
        table.row("  unmatched", (self.open.given - self.open.right).to_string());
        table.row("  of these, resolved errors", self.open_though_resolved.to_string());
        table.row("next steps", self.next.text());
        let both = Counts {
            given: self.open.given + self.next.given,
            right: self.open.right + self.next.right,
            gold: self.open.gold + self.next.gold,
            found: self.open.found + self.next.found,
        };
        table.row("open and next steps", both.text());
        let share = percent(self.title_words_found as f64, self.title_words as f64);
        table.row("good titles", format!("{} of {}", self.good_titles, self.sessions));
        table.row("  at most 8 words; words shared", format!("{}; {share}", self.short_titles));
        table.row("sessions contradicting the gold", format!("{} of {}", self.contradicting_sessions, self.sessions));
        table
    }
}

/// The answers to questions.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct QuestionFigures {
    /// All questions as they are.
    pub all: Points,
    /// By kind.
    pub kinds: BTreeMap<String, Points>,
    /// The exact text of an error, asked of `fix`.
    pub exact_error: Points,
    /// The question behind an error, asked of `recall`.
    pub recall_variant: Points,
}

/// Points of some questions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Points {
    /// Questions.
    pub questions: usize,
    /// 1 for an answer with the gold, 0.5 for one that names the right session.
    pub points: f64,
    /// Questions without an answer that were answered nevertheless.
    pub confidently_wrong: usize,
    /// Questions with an answer that got nothing of it, and not that nothing is known.
    pub beside_the_point: usize,
}

impl Points {
    fn text(self) -> String {
        let Self { questions, points, confidently_wrong, beside_the_point } = self;
        let share = percent(points, questions as f64);
        let wrong = format!("{beside_the_point} wrong, {confidently_wrong} unanswerable");
        format!("{points} of {questions} ({share}); answered without abstaining: {wrong}")
    }
}

impl AddAssign for Points {
    fn add_assign(&mut self, other: Self) {
        self.questions += other.questions;
        self.points += other.points;
        self.confidently_wrong += other.confidently_wrong;
        self.beside_the_point += other.beside_the_point;
    }
}

impl AddAssign<&Self> for QuestionFigures {
    fn add_assign(&mut self, other: &Self) {
        self.all += other.all;
        for (kind, points) in &other.kinds {
            *self.kinds.entry(kind.clone()).or_default() += *points;
        }
        self.exact_error += other.exact_error;
        self.recall_variant += other.recall_variant;
    }
}

impl QuestionFigures {
    pub(super) fn table(&self, of: &str) -> Table {
        let how =
            "Points: 1 for an answer with all keys (or an abstention, if nothing is known), 0.5 for the right session.";
        let mut table = Table::new(&format!("Questions, {of}"), how);
        table.row("all", self.all.text());
        for (kind, points) in &self.kinds {
            table.row(&format!("  {kind}"), points.text());
        }
        table.row("exact errors, asked of fix", self.exact_error.text());
        table.row("the same questions to recall", self.recall_variant.text());
        table
    }
}
