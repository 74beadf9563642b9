//! The manifest: a conversation's chunks, and how far its transcript was read.

use std::path::Path;

use baton_conversation::hash::ContentHash;
use baton_conversation::transcript::Cursor;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Error;

const FORMAT: u32 = 1;

/// The name of a manifest: the SHA-256 of its bytes.
pub type ManifestId = ContentHash;

pub(super) fn file_name(id: &ManifestId) -> String {
    format!("{id}.json")
}

/// The state of the transcript that an append was read from.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Header {
    /// The transcript's generation: the number of times it was rewritten.
    pub generation: u32,
    /// The version of the filter that produced the items.
    pub filter_version: u32,
    /// The version of the stored items' shape. Absent in manifests of version 1.
    #[serde(default = "first_item_version")]
    pub item_version: u32,
    /// The reader's cursor after the last item, from which the next index job continues.
    pub cursor: Cursor,
    /// Digest of the transcript's last bytes before the cursor, 32 hex digits.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tail: String,
    /// The first lines of the transcript that the reader could not read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<u64>,
    /// True if only what the episode needs is stored: no job continues it, and reading the same transcript again stores
    /// nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shortened: bool,
}

fn first_item_version() -> u32 {
    1
}

/// A conversation: its chunks in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The format of this file.
    pub format: u32,
    /// How far its transcript was read.
    #[serde(flatten)]
    pub header: Header,
    /// Number of items.
    pub items: u64,
    /// Bytes of all lines, including line breaks.
    pub bytes: u64,
    /// Its chunks.
    pub chunks: Vec<ChunkRef>,
}

/// One chunk of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkRef {
    /// SHA-256 of its lines, 64 lower-case hex digits.
    pub name: String,
    /// Number of items.
    pub items: u64,
    /// Bytes of its lines, including line breaks.
    pub bytes: u64,
}

impl ChunkRef {
    /// The name of its file.
    pub fn file_name(&self) -> String {
        format!("{}.zst", self.name)
    }
}

/// Read first, to find out whether the rest can be understood.
#[derive(Deserialize)]
struct Format {
    format: u32,
}

impl Manifest {
    pub(super) fn new(header: Header, chunks: Vec<ChunkRef>) -> Self {
        let items = chunks.iter().map(|chunk| chunk.items).sum();
        let bytes = chunks.iter().map(|chunk| chunk.bytes).sum();
        Self { format: FORMAT, header, items, bytes, chunks }
    }

    /// A manifest of these chunks, with its name and its bytes.
    ///
    /// # Errors
    ///
    /// If it has no JSON form.
    pub fn assemble(header: Header, chunks: Vec<ChunkRef>) -> serde_json::Result<(ManifestId, Vec<u8>)> {
        Self::new(header, chunks).encode()
    }

    pub(super) fn encode(&self) -> serde_json::Result<(ManifestId, Vec<u8>)> {
        let bytes = serde_json::to_vec(self)?;
        Ok((ContentHash(digest(&bytes)), bytes))
    }

    pub(super) fn decode(path: &Path, id: &ManifestId, bytes: &[u8]) -> Result<Self, Error> {
        let damaged = |what: String| Error::Damaged { path: path.to_owned(), what };
        if digest(bytes) != id.0 {
            return Err(damaged("it does not match its name".into()));
        }
        let Format { format } = serde_json::from_slice(bytes).map_err(|error| damaged(error.to_string()))?;
        if format != FORMAT {
            return Err(Error::Newer { path: path.to_owned(), format });
        }
        let manifest: Self = serde_json::from_slice(bytes).map_err(|error| damaged(error.to_string()))?;
        if manifest.chunks.iter().any(|chunk| ManifestId::parse(&chunk.name).is_none()) {
            return Err(damaged("it lists an invalid chunk name".into()));
        }
        Ok(manifest)
    }
}

/// The name of some bytes: their SHA-256 as 64 lower-case hex digits.
pub(super) fn name_of(bytes: &[u8]) -> String {
    ContentHash(digest(bytes)).to_string()
}

fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}
