//! Corrections by a person: a title, and verdicts on entries of the episode.
//!
//! # Decisions
//!
//! - An entry is named by its kind, its transcript line and a fingerprint of its words, so that a re-reading that finds
//!   other words on that line is not corrected by mistake. The log holds neither the words nor the title: a title is a
//!   note beside the conversation.
//! - Verdicts outlast forgetting and apply again once the session is restored. A title's text is erased with the
//!   session.

use std::fmt;

use serde::{Deserialize, Serialize};

use baton_conversation::hash::{ContentHash, Mark};
use baton_conversation::record::Timestamp;
use baton_protocol::named;

/// Most corrected entries per session.
pub const MAX_CORRECTIONS: usize = 256;

named! {
    /// What a person says of an entry. A verdict applies to one kind of entry.
    Verdict {
        /// The decision was never made, or says something else.
        Wrong = "wrong",
        /// The decision was made and no longer holds.
        Superseded = "superseded",
        /// The open item or next step is done.
        Done = "done",
        /// The given resolution of a failure did not resolve it.
        NotAFix = "not_a_fix",
    }
}

named! {
    /// Kind of an entry that can be corrected.
    EntryKind {
        /// A decision.
        Decision = "decision",
        /// The resolution of a failure.
        Fix = "fix",
        /// An open item or a next step.
        Open = "open",
    }
}

impl Verdict {
    /// The kind of entry that it applies to.
    pub fn kind(self) -> EntryKind {
        match self {
            Self::Wrong | Self::Superseded => EntryKind::Decision,
            Self::NotAFix => EntryKind::Fix,
            Self::Done => EntryKind::Open,
        }
    }
}

/// A correction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredCorrection", into = "StoredCorrection")]
pub enum Correction {
    /// The session's title, by the hash of its text; `None` to use the derived one again.
    Title(Option<ContentHash>),
    /// A verdict on an entry.
    Entry {
        /// The entry's transcript line.
        line: u64,
        /// Fingerprint of the entry's kind and words.
        print: u64,
        /// The verdict.
        verdict: Verdict,
        /// True if the verdict is taken back.
        withdrawn: bool,
    },
}

/// A standing verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(StoredEntry, Timestamp)", into = "(StoredEntry, Timestamp)")]
pub struct CorrectedEntry {
    /// The entry's transcript line when it was corrected.
    pub line: u64,
    /// Fingerprint of the entry's kind and words.
    pub print: u64,
    /// The verdict.
    pub verdict: Verdict,
    /// When it was given.
    pub at: Timestamp,
}

/// All standing corrections of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Corrections {
    /// Hash of the title's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<ContentHash>,
    /// Verdicts, at most [`MAX_CORRECTIONS`], in the order in which they were given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<CorrectedEntry>,
}

/// An entry or, without one, a title; neither: the title is taken back.
#[derive(Serialize, Deserialize)]
struct StoredCorrection {
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<ContentHash>,
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<StoredEntry>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    withdrawn: bool,
}

#[derive(Serialize, Deserialize)]
struct StoredEntry {
    line: u64,
    print: Mark,
    verdict: Verdict,
}

impl From<Correction> for StoredCorrection {
    fn from(correction: Correction) -> Self {
        match correction {
            Correction::Title(title) => Self { title, entry: None, withdrawn: false },
            Correction::Entry { line, print, verdict, withdrawn } => {
                Self { title: None, entry: Some(StoredEntry { line, print: Mark(print), verdict }), withdrawn }
            }
        }
    }
}

impl From<StoredCorrection> for Correction {
    fn from(stored: StoredCorrection) -> Self {
        match stored.entry {
            None => Self::Title(stored.title),
            Some(StoredEntry { line, print: Mark(print), verdict }) => {
                Self::Entry { line, print, verdict, withdrawn: stored.withdrawn }
            }
        }
    }
}

impl From<CorrectedEntry> for (StoredEntry, Timestamp) {
    fn from(entry: CorrectedEntry) -> Self {
        (StoredEntry { line: entry.line, print: Mark(entry.print), verdict: entry.verdict }, entry.at)
    }
}

impl From<(StoredEntry, Timestamp)> for CorrectedEntry {
    fn from((entry, at): (StoredEntry, Timestamp)) -> Self {
        Self { line: entry.line, print: entry.print.0, verdict: entry.verdict, at }
    }
}

impl fmt::Display for Correction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Title(Some(title)) => write!(f, "titled by a person: {}", title.short()),
            Self::Title(None) => f.write_str("a person's title taken back"),
            Self::Entry { line, verdict, withdrawn, .. } => {
                let (kind, back) = (verdict.kind(), if *withdrawn { ", taken back" } else { "" });
                write!(f, "{kind} of line {line} corrected by a person: {verdict}{back}")
            }
        }
    }
}

impl Corrections {
    /// True if nothing is corrected.
    pub fn is_empty(&self) -> bool {
        self.title.is_none() && self.entries.is_empty()
    }

    /// Changes with every correction; `None` if nothing is corrected.
    pub fn mark(&self) -> Option<Mark> {
        (!self.is_empty()).then(|| Mark::digest(format!("{self:?}").as_bytes()))
    }

    fn position(&self, line: u64, print: u64) -> Option<usize> {
        self.entries.iter().position(|entry| (entry.line, entry.print) == (line, print))
    }

    /// True if the correction changes nothing.
    pub(super) fn holds(&self, correction: &Correction) -> bool {
        match correction {
            Correction::Title(title) => self.title == *title,
            Correction::Entry { line, print, verdict, withdrawn } => {
                let standing = self.position(*line, *print).map(|at| self.entries[at].verdict);
                if *withdrawn { standing != Some(*verdict) } else { standing == Some(*verdict) }
            }
        }
    }

    /// Applies a recorded correction.
    pub(super) fn apply(&mut self, correction: &Correction, at: Timestamp) {
        match *correction {
            Correction::Title(title) => self.title = title,
            Correction::Entry { line, print, verdict, withdrawn } => {
                let known = self.position(line, print);
                if let Some(known) = known {
                    self.entries.remove(known);
                }
                if !withdrawn {
                    self.entries.push(CorrectedEntry { line, print, verdict, at });
                }
            }
        }
    }

    /// Drops what is text of a person; verdicts stay.
    pub(super) fn forget_text(&mut self) {
        self.title = None;
    }
}
