//! Stored shapes of a person's corrections: in their event, and in a session's state.

use serde::{Deserialize, Serialize};

use super::read_optional;
use super::session::shape::{CorrectedEntryV1, CorrectedV1};
use crate::session::{CorrectedEntry, Correction, Corrections, Verdict};
use baton_conversation::hash::ContentHash;
use baton_conversation::hex;
use baton_conversation::record::Timestamp;

impl CorrectedV1 {
    pub(super) fn of(correction: &Correction, at: Timestamp) -> Self {
        let (title, entry, withdrawn) = match *correction {
            Correction::Title(title) => (title.map(|hash| hash.to_string()), None, false),
            Correction::Entry { line, print, verdict, withdrawn } => {
                (None, Some(CorrectedEntryV1::of(line, print, verdict)), withdrawn)
            }
        };
        Self { title, entry, withdrawn, at: at.0 }
    }

    /// `None` if a text is not a value of its field.
    pub(super) fn read(self) -> Option<(Correction, Timestamp)> {
        let correction = match self.entry {
            None => Correction::Title(read_optional(self.title, |hash| ContentHash::parse(&hash))?),
            Some(entry) => {
                let (line, print, verdict) = entry.read()?;
                Correction::Entry { line, print, verdict, withdrawn: self.withdrawn }
            }
        };
        Some((correction, Timestamp(self.at)))
    }
}

impl CorrectedEntryV1 {
    fn of(line: u64, print: u64, verdict: Verdict) -> Self {
        Self { line, print: hex::encode(&print.to_be_bytes()), verdict: verdict.to_string() }
    }

    fn read(self) -> Option<(u64, u64, Verdict)> {
        Some((self.line, u64::from_be_bytes(hex::decode(&self.print)?), Verdict::parse(&self.verdict)?))
    }
}

/// See [`Corrections`].
#[derive(Serialize, Deserialize)]
pub(super) struct CorrectionsV1 {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    entries: Vec<(CorrectedEntryV1, i64)>,
}

impl CorrectionsV1 {
    /// `None` if nothing is corrected.
    pub(super) fn of(corrections: &Corrections) -> Option<Self> {
        let entry = |entry: &CorrectedEntry| (CorrectedEntryV1::of(entry.line, entry.print, entry.verdict), entry.at.0);
        (!corrections.is_empty()).then(|| Self {
            title: corrections.title.map(|hash| hash.to_string()),
            entries: corrections.entries.iter().map(entry).collect(),
        })
    }

    /// `None` if a text is not a value of its field.
    pub(super) fn read(self) -> Option<Corrections> {
        let entry = |(entry, at): (CorrectedEntryV1, i64)| {
            let (line, print, verdict) = entry.read()?;
            Some(CorrectedEntry { line, print, verdict, at: Timestamp(at) })
        };
        Some(Corrections {
            title: read_optional(self.title, |hash| ContentHash::parse(&hash))?,
            entries: self.entries.into_iter().map(entry).collect::<Option<_>>()?,
        })
    }
}
