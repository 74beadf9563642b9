//! Reads and writes a conversation's files byte for byte, to transfer them between homes.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use baton_conversation::hash::ContentHash;
use baton_conversation::record::SessionId;

use super::manifest::{ChunkRef, Manifest, ManifestId, file_name, name_of};
use super::{ChunkStore, Error, LINE_MAX_BYTES, MANIFEST_MAX_BYTES, compression, io_error, note, read_bounded};
use baton_base::durable;

impl ChunkStore {
    /// A store in a folder that may be missing and is not created.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), home: None, writing: Arc::default(), others: Arc::default() }
    }

    /// Reads a verified manifest and its bytes.
    pub fn manifest_bytes(&self, session: &SessionId, id: &ManifestId) -> Result<(Manifest, Vec<u8>), Error> {
        let path = self.folder_of(session).join(file_name(id));
        let bytes = read_bounded(session, &path, MANIFEST_MAX_BYTES)?;
        Ok((Manifest::decode(&path, id, &bytes)?, bytes))
    }

    /// Stores a manifest after checking its name. It is durable after [`durable::sync_below`] of the folder.
    pub fn put_manifest(&self, session: &SessionId, id: &ManifestId, bytes: &[u8]) -> Result<Manifest, Error> {
        let path = self.folder_of(session).join(file_name(id));
        let manifest = Manifest::decode(&path, id, bytes)?;
        put(&path, bytes)?;
        Ok(manifest)
    }

    /// Stores a chunk of a manifest from its lines, each with its line break. Durable like a manifest.
    pub fn put_chunk(&self, session: &SessionId, chunk: &ChunkRef, lines: &[u8]) -> Result<(), Error> {
        let path = self.folder_of(session).join(chunk.file_name());
        let items = lines.iter().filter(|byte| **byte == b'\n').count() as u64;
        let fits = lines.len() as u64 == chunk.bytes && items == chunk.items && lines.len() <= LINE_MAX_BYTES + 1;
        if !fits || name_of(lines) != chunk.name {
            return Err(Error::Damaged { path, what: "it does not match its name".to_owned() });
        }
        let packed = compression::pack(lines).map_err(io_error("compress", &path))?;
        put(&path, &packed)
    }

    /// Stores a note after checking its name. Durable like a manifest.
    pub fn put_note_as(&self, session: &SessionId, id: &ContentHash, text: &str) -> Result<(), Error> {
        let path = self.folder_of(session).join(note::file_name(id));
        if text.len() as u64 > note::NOTE_MAX_BYTES || name_of(text.as_bytes()) != id.to_string() {
            return Err(Error::Damaged { path, what: "it does not match its name, or is too long".to_owned() });
        }
        put(&path, text.as_bytes())
    }
}

fn put(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    if let Some(folder) = path.parent() {
        durable::make_private_folder(folder).map_err(io_error("create", folder))?;
    }
    if fs::exists(path).unwrap_or(false) {
        return Ok(());
    }
    // A crash leaves no half of it under its name. The caller makes it durable.
    let unfinished = path.with_extension("tmp");
    let written = File::create(&unfinished).and_then(|mut file| file.write_all(bytes));
    written.and_then(|()| fs::rename(&unfinished, path)).map_err(io_error("write", path))
}
