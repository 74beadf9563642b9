//! The record of an import: the position up to which the log came from another home, and the transcripts that its
//! sessions had there.
//!
//! Directories that clients of that home had registered are not read here. A session whose transcript lies in none of
//! this home's directories stays as it was imported: its file is on another machine, and what is at its path here says
//! nothing about it.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use baton_conversation::record::Position;
use baton_events::envelope::{ChainHash, Tail};
use serde::{Deserialize, Serialize};

use baton_base::durable;

/// The file in the log's folder.
const FILE: &str = "imported.json";
/// Largest file that is read: more than 100,000 long paths.
const FILE_MAX_BYTES: u64 = 64 * 1024 * 1024;
/// The format of the file.
const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
struct ImportedV1 {
    format: u32,
    position: u64,
    chain: String,
    transcripts: BTreeSet<String>,
}

/// See the module. Cheap to clone; a home that was never imported has an empty one.
#[derive(Clone, Debug, Default)]
pub struct ImportBoundary(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    tail: Tail,
    transcripts: BTreeSet<String>,
    /// Directories that are read if the configuration names none.
    roots: RwLock<Vec<PathBuf>>,
}

impl PartialEq for ImportBoundary {
    /// Compares the import only; the directories read here change independently.
    fn eq(&self, other: &Self) -> bool {
        self.0.tail == other.0.tail && self.0.transcripts == other.0.transcripts
    }
}

impl ImportBoundary {
    /// The record of a log that was imported up to `tail`, whose sessions had these transcripts.
    pub fn new(tail: Tail, transcripts: BTreeSet<String>) -> Self {
        Self(Arc::new(Inner { tail, transcripts, roots: RwLock::default() }))
    }

    /// The same record for a log that now ends earlier.
    pub fn up_to(&self, tail: Tail) -> Self {
        Self::new(tail, self.0.transcripts.clone())
    }

    /// Reads the record from a log's folder. Fails if its content is not understood.
    pub fn read(log: &Path) -> io::Result<Self> {
        let Some(shape) = durable::read_json::<ImportedV1>(&log.join(FILE), FILE_MAX_BYTES)? else {
            return Ok(Self::default());
        };
        let chain = ChainHash::parse(&shape.chain).filter(|_| shape.format == FORMAT);
        let chain = chain
            .ok_or_else(|| io::Error::other("it was written by a newer version of this program, or is damaged"))?;
        Ok(Self::new(Tail { position: Position(shape.position), chain }, shape.transcripts))
    }

    /// Writes the record to a log's folder, durably.
    pub fn write(&self, log: &Path) -> io::Result<()> {
        let shape = ImportedV1 {
            format: FORMAT,
            position: self.0.tail.position.0,
            chain: self.0.tail.chain.to_string(),
            transcripts: self.0.transcripts.clone(),
        };
        durable::write_file(&log.join(FILE), &serde_json::to_vec(&shape)?)?;
        durable::sync_folder(log)
    }

    /// The last position that came from another home; 0 if there is none.
    pub fn position(&self) -> Position {
        self.0.tail.position
    }

    /// Sets the directories that are read if the configuration names none.
    pub fn set_roots(&self, roots: Vec<PathBuf>) {
        *self.0.roots.write().unwrap_or_else(PoisonError::into_inner) = roots;
    }

    /// True if a transcript was imported and lies in none of the directories that are read: `configured`, or the
    /// default ones if that is `None`.
    pub fn is_elsewhere(&self, transcript: &str, configured: Option<&[PathBuf]>) -> bool {
        if !self.0.transcripts.contains(transcript) {
            return false;
        }
        let within = |roots: &[PathBuf]| roots.iter().any(|root| Path::new(transcript).starts_with(root));
        match configured {
            Some(roots) => !within(roots),
            None => !within(&self.0.roots.read().unwrap_or_else(PoisonError::into_inner)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn imported() -> ImportBoundary {
        let tail = Tail { position: Position(7), chain: ChainHash([3; 16]) };
        ImportBoundary::new(tail, ["/old/projects/a/s.jsonl".to_owned()].into())
    }

    #[test]
    fn what_was_left_is_read_back() {
        let log = tempfile::tempdir().unwrap();
        assert_eq!(ImportBoundary::read(log.path()).unwrap(), ImportBoundary::default());
        imported().write(log.path()).unwrap();
        assert_eq!(ImportBoundary::read(log.path()).unwrap(), imported());
        for broken in ["", "{}", r#"{"format":2,"position":1,"chain":"","transcripts":[]}"#] {
            fs::write(log.path().join(FILE), broken).unwrap();
            assert!(ImportBoundary::read(log.path()).is_err(), "{broken:?}");
        }
    }

    #[test]
    fn only_what_came_along_and_lies_where_nothing_is_read_is_elsewhere() {
        let imported = imported();
        let (came, own) = ("/old/projects/a/s.jsonl", "/old/projects/a/other.jsonl");
        assert!(imported.is_elsewhere(came, None) && !imported.is_elsewhere(own, None));
        assert!(!imported.is_elsewhere(came, Some(&["/old/projects".into()])));
        assert!(imported.is_elsewhere(came, Some(&["/old/proj".into()])), "another folder's name");
        imported.set_roots(vec!["/new".into(), "/old/projects".into()]);
        assert!(!imported.is_elsewhere(came, None));
        assert!(imported.is_elsewhere(came, Some(&[])), "nothing is read");
    }
}
