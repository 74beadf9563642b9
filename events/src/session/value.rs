//! Values that events and the state share, with their stored shapes.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::project;
use baton_conversation::hash::ContentHash;
use baton_conversation::hex;
use baton_conversation::record::Timestamp;
use baton_conversation::transcript::{Observation, add_type, add_unknown};
use baton_protocol::is_zero;
use baton_protocol::{named, serde_as_text};

/// Identity of a file: survives a rename, not a replacement. Zeros if the platform reports none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileIdentity {
    /// Device.
    pub device: u64,
    /// Inode or file index.
    pub inode: u64,
}

/// Where a session works.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "StoredPlace", into = "StoredPlace")]
pub struct Place {
    /// The first working directory named in the transcript.
    pub cwd: String,
    /// The project: the repository of `cwd`, else `cwd`; see [`project::of_path`].
    pub project: String,
    /// The address of the repository, if it was seen; see [`project::remote`].
    pub remote: Option<String>,
    /// The project as it was recorded, if another one is derived from it. Stored in place of `project`, so that what was
    /// stored before keeps its bytes and hashes.
    recorded: Option<String>,
}

impl Place {
    /// A place with the project as it is recorded.
    pub fn new(cwd: impl Into<String>, project: impl Into<String>) -> Self {
        let recorded = project.into();
        let project = project::of_path(&recorded).into_owned();
        let recorded = Some(recorded).filter(|recorded| *recorded != project);
        Self { cwd: cwd.into(), project, remote: None, recorded }
    }

    /// This place with the address of its repository.
    pub fn with_remote(self, remote: Option<String>) -> Self {
        Self { remote, ..self }
    }

    /// This place in another project.
    pub fn in_project(self, project: impl Into<String>) -> Self {
        Self::new(self.cwd, project).with_remote(self.remote)
    }

    /// The project as it is stored.
    pub fn recorded_project(&self) -> &str {
        self.recorded.as_deref().unwrap_or(&self.project)
    }
}

#[derive(Serialize, Deserialize)]
struct StoredPlace {
    cwd: String,
    project: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remote: Option<String>,
}

impl From<Place> for StoredPlace {
    fn from(place: Place) -> Self {
        Self { cwd: place.cwd, project: place.recorded.unwrap_or(place.project), remote: place.remote }
    }
}

impl From<StoredPlace> for Place {
    fn from(stored: StoredPlace) -> Self {
        Self::new(stored.cwd, stored.project).with_remote(stored.remote)
    }
}

/// First half of the SHA-256 of up to 4,096 bytes before an offset.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct TailDigest(pub [u8; 16]);

serde_as_text!(TailDigest, TailDigest::parse);

impl TailDigest {
    /// Parses 32 hex digits.
    pub fn parse(text: &str) -> Option<Self> {
        hex::decode(text).map(Self)
    }
}

impl fmt::Display for TailDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(&self.0))
    }
}

impl fmt::Debug for TailDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Counts of a range of a transcript.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Lines that hold a JSON object.
    pub records: u64,
    /// Records that carry conversation: prompts, replies, thinking, calls, results.
    pub conversation: u64,
    /// Typed prompts plus assistant messages (by message id) that carry text.
    pub messages: u64,
    /// Typed prompts.
    pub prompts: u64,
    /// Lines that are not a JSON object.
    #[serde(default)]
    pub malformed: u64,
    /// Lines too long to be buffered.
    #[serde(default)]
    pub oversize: u64,
    /// All records by type (bounded); empty for events recorded in version 1.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_type: BTreeMap<String, u64>,
    /// Records of a type this version does not know, by type (bounded).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unknown: BTreeMap<String, u64>,
    /// See [`Observation::agent_version`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_version: Option<String>,
}

impl Counts {
    /// Adds the counts of the next range. The number of distinct types is bounded.
    pub fn add(&mut self, other: &Self) {
        self.records = self.records.saturating_add(other.records);
        self.conversation = self.conversation.saturating_add(other.conversation);
        self.messages = self.messages.saturating_add(other.messages);
        self.prompts = self.prompts.saturating_add(other.prompts);
        self.malformed = self.malformed.saturating_add(other.malformed);
        self.oversize = self.oversize.saturating_add(other.oversize);
        for (kind, count) in &other.by_type {
            add_type(&mut self.by_type, kind, *count);
        }
        for (kind, count) in &other.unknown {
            add_unknown(&mut self.unknown, kind, *count);
        }
        if other.agent_version.is_some() {
            self.agent_version.clone_from(&other.agent_version);
        }
    }
}

/// Counts as an event stores them.
#[derive(Serialize)]
#[serde(remote = "Counts")]
pub(super) struct CountsWithoutZeros {
    records: u64,
    conversation: u64,
    messages: u64,
    prompts: u64,
    #[serde(skip_serializing_if = "is_zero")]
    malformed: u64,
    #[serde(skip_serializing_if = "is_zero")]
    oversize: u64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    by_type: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    unknown: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_version: Option<String>,
}

impl fmt::Display for Counts {
    /// Without the zeros: `7 records, 4 of conversation, 2 messages, 1 typed`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.records, if self.records == 1 { "record" } else { "records" })?;
        for (count, one, many) in [
            (self.conversation, "of conversation", "of conversation"),
            (self.messages, "message", "messages"),
            (self.prompts, "typed", "typed"),
            (self.malformed, "malformed line", "malformed lines"),
            (self.oversize, "line too long", "lines too long"),
        ] {
            if count > 0 {
                write!(f, ", {count} {}", if count == 1 { one } else { many })?;
            }
        }
        self.unknown.iter().try_for_each(|(kind, count)| write!(f, ", {count} of unknown type {kind:?}"))
    }
}

impl From<&Observation> for Counts {
    fn from(seen: &Observation) -> Self {
        Self {
            records: seen.records,
            conversation: seen.conversation,
            messages: seen.messages,
            prompts: seen.prompts,
            malformed: seen.malformed,
            oversize: seen.oversize,
            by_type: seen.by_type.clone(),
            unknown: seen.unknown.clone(),
            agent_version: seen.agent_version.clone(),
        }
    }
}

/// The session's current episode, and where its conversation is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EpisodeRef {
    /// UUIDv5 of session id and hash: the same content has the same uuid.
    #[serde(alias = "episode")]
    pub uuid: Uuid,
    /// Extractive or enriched.
    pub tier: Tier,
    /// Hash of the filtered content.
    pub hash: ContentHash,
    /// Version of the filter that produced it.
    pub filter_version: u32,
    /// Generation of the transcript from which it was read.
    pub generation: u32,
    /// Byte offset up to which it was read.
    pub to: u64,
    /// Manifest that lists the conversation's chunks.
    pub manifest: ContentHash,
    /// Number of items of the conversation.
    pub items: u64,
    /// When it was recorded.
    pub at: Timestamp,
}

impl EpisodeRef {
    /// True if both have the same content: the same hash, or the same bytes through another filter version.
    pub fn has_same_content(&self, other: &Self) -> bool {
        let same_bytes = (self.generation, self.to) == (other.generation, other.to);
        self.uuid == other.uuid || (same_bytes && self.filter_version != other.filter_version)
    }
}

named! {
    /// How an episode was made.
    Tier {
        /// By rules, offline.
        Extractive = "extractive",
        /// By a model, from the same conversation.
        Enriched = "enriched",
    }
}

/// Identity of an effect: the n-th index job of a session, for one generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EffectId {
    /// The generation.
    pub generation: u32,
    /// Number of the job, from 1 over the session's life.
    pub start: u32,
}

impl fmt::Display for EffectId {
    /// The form in logs and answers: `2.3` is the third job of the session, in its second generation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.generation, self.start)
    }
}
