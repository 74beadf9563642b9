//! Purging: removes deleted documents from the files.
//!
//! A deleted document stays in its segment until that is merged. Purging rewrites exactly the segments that ever held
//! one of the sessions, deletes the old files, and looks for files that belong to no segment: those of an interrupted
//! merge may hold text of a session that existed when it began.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use baton_conversation::record::SessionId;
use tantivy::index::SegmentId;
use tantivy::indexer::NoMergePolicy;
use tantivy::schema::{OwnedValue, Value};
use tantivy::{TantivyDocument, Term};

use super::{Error, Store, durability};

/// Files in the memory's directory that belong to no segment and contain no text.
const OWN_FILES: [&str; 3] = ["meta.json", ".managed.json", durability::MARK];

impl Store {
    /// Ensures that no file holds anything of the sessions in `gone`, whose removal must be committed, or replaced text
    /// of the sessions in `changed`, not even after a power cut. Costs next to nothing if that is so already. Running
    /// searches continue on their snapshot.
    ///
    /// # Errors
    ///
    /// When something is uncommitted, when a segment cannot be merged, or when a file cannot be deleted. What is
    /// committed stays searchable.
    pub fn purge(&mut self, gone: &[SessionId], changed: &[SessionId]) -> Result<(), Error> {
        if self.dirty {
            return Err(Error::Broken("cannot purge while something is uncommitted".to_owned()));
        }
        self.rewrite(gone, changed)?;
        Ok(durability::sync(&self.dir)?)
    }

    fn rewrite(&mut self, gone: &[SessionId], changed: &[SessionId]) -> Result<(), Error> {
        if self.touched(gone, changed)?.is_empty() && self.strays()?.is_empty() {
            return Ok(());
        }
        // Running merges could remove segments that we are about to merge.
        self.release()?;
        let touched = self.touched(gone, changed)?;
        let writer = self.writer()?;
        writer.set_merge_policy(Box::new(NoMergePolicy));
        let merged = touched.iter().try_for_each(|segment| writer.merge(&[*segment]).wait().map(drop));
        let collected = writer.garbage_collect_files().wait();
        // Drops this writer, which has no work left; the next one has the usual merge policy.
        self.release()?;
        merged?;
        collected?;
        match (self.touched(gone, changed)?.len(), self.strays()?) {
            (0, strays) if strays.is_empty() => Ok(()),
            (0, strays) => {
                // The system may keep a file that a search has open; no other process writes here.
                strays.iter().try_for_each(fs::remove_file)?;
                Ok(())
            }
            (left, _) => Err(Error::Broken(format!("{left} segments still hold what was removed from them"))),
        }
    }

    /// Everything that the files hold, deleted documents included: each stored value and each indexed term.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn raw_contents(&self) -> Result<Vec<String>, Error> {
        let snapshot = self.snapshot();
        let schema = snapshot.searcher.schema();
        let mut found = Vec::new();
        for reader in snapshot.searcher.segment_readers() {
            let store = reader.get_store_reader(1)?;
            for doc in 0..reader.max_doc() {
                let document: TantivyDocument = store.get(doc)?;
                for (_, value) in document.field_values() {
                    found.push(format!("{:?}", OwnedValue::from(value.as_value())));
                }
            }
            for (field, _) in schema.fields().filter(|(_, entry)| entry.is_indexed()) {
                let index = reader.inverted_index(field)?;
                let mut terms = index.terms().stream()?;
                while terms.advance() {
                    found.push(String::from_utf8_lossy(terms.key()).into_owned());
                }
            }
        }
        Ok(found)
    }

    /// Segments with a document, deleted or not, of a session in `gone`; and segments with deletions that have a
    /// document of a session in `changed`.
    pub(super) fn touched(&self, gone: &[SessionId], changed: &[SessionId]) -> Result<Vec<SegmentId>, Error> {
        let snapshot = self.snapshot();
        let mut touched = Vec::new();
        for reader in snapshot.searcher.segment_readers() {
            let index = reader.inverted_index(self.fields.session)?;
            let changed = if reader.has_deletes() { changed } else { &[] };
            for session in gone.iter().chain(changed) {
                if index.get_term_info(&Term::from_field_text(self.fields.session, session.as_str()))?.is_some() {
                    touched.push(reader.segment_id());
                    break;
                }
            }
        }
        Ok(touched)
    }

    /// Files that belong to no segment of the newest commit.
    pub(super) fn strays(&self) -> Result<Vec<PathBuf>, Error> {
        let segments: BTreeSet<String> =
            self.index.searchable_segment_ids()?.iter().map(SegmentId::uuid_string).collect();
        let mut strays = Vec::new();
        for entry in fs::read_dir(&self.dir)? {
            let path = entry?.path();
            if !is_known(&path, &segments) {
                strays.push(path);
            }
        }
        Ok(strays)
    }
}

fn is_known(path: &Path, segments: &BTreeSet<String>) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let segment = name.split('.').next().unwrap_or_default();
    OWN_FILES.contains(&name) || name.ends_with(".lock") || segments.contains(segment) || path.is_dir()
}
