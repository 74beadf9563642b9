//! Results of `relay`.

use serde::{Deserialize, Serialize};

use crate::is_zero;

/// The author of a session that is not of this home.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Author {
    /// Their name.
    pub name: String,
    /// Their machine.
    pub machine: String,
}

/// Result of every action but those below.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RelayStatus {
    /// The relay; absent if this home belongs to no team.
    pub relay: Option<String>,
    /// True if projects are published and sessions of others taken in.
    pub enabled: bool,
    /// True if the relay was reached when it was last needed.
    pub connected: bool,
    /// What the team calls this person.
    pub name: String,
    /// This machine.
    pub machine: String,
    /// Fingerprint of this home's key.
    pub writer: Option<String>,
    /// The name by which this home's files on the relay go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<String>,
    /// The projects that are shared.
    pub share: Vec<String>,
    /// What is behind.
    pub lag: RelayLag,
    /// The other members' homes.
    pub writers: Vec<RelayWriter>,
    /// What is wrong, and what to do.
    pub problems: Vec<String>,
}

/// What is behind, in both directions.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RelayLag {
    /// What is not published yet.
    pub out: RelayLagOneWay,
    /// What has arrived and waits for something.
    #[serde(rename = "in")]
    pub incoming: RelayLagOneWay,
}

/// What is behind in one direction.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RelayLagOneWay {
    /// Events; in the other direction messages.
    pub events: u64,
    /// Their bytes, as far as they are known.
    pub bytes: u64,
    /// How long the oldest of them has waited; in the other direction also how long ago the relay was last read, while
    /// it is not reached.
    pub seconds: u64,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A member's home.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RelayWriter {
    /// The person's name.
    pub name: String,
    /// The machine.
    pub machine: String,
    /// Fingerprint of its key.
    pub writer: String,
    /// True for this home.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub me: bool,
    /// True for the home that began the team, which alone removes members.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub admin: bool,
    /// True if it was removed from the team, or has no keys of it any more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
    /// True if it has left the team.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub left: bool,
    /// Sessions that it has published.
    pub sessions: u64,
    /// Last activity in them, RFC 3339 UTC.
    pub last_at: Option<String>,
    /// Messages that were refused.
    #[serde(skip_serializing_if = "is_zero")]
    pub refused: u64,
    /// Why the last one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_refused: Option<String>,
}

/// Result of an invitation.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RelayInvitation {
    /// Its text, a secret.
    pub invitation: String,
    /// Until when it may be used, RFC 3339 UTC.
    pub expires: String,
}

/// Result of sharing a project, and of a preview without a session.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RelayPreview {
    /// The project, if one was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// True if it was shared before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub was_shared: bool,
    /// Sessions that would be published.
    pub sessions: u64,
    /// Their items.
    pub items: u64,
    /// Bytes of their conversations, before compression.
    pub bytes: u64,
    /// Of one session: each event and each item, exactly as it would be published, before it is sealed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
    /// Sessions that the others were asked to remove.
    #[serde(skip_serializing_if = "is_zero")]
    pub retracted: u64,
    /// Lines that the answer has no room for.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

/// Result of `log`: what was published, the last first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RelayLog {
    /// The entries.
    pub published: Vec<RelayEntry>,
}

/// Something that was published.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RelayEntry {
    /// When, RFC 3339 UTC.
    pub at: String,
    /// The session; absent for a notice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Types of the events, or what the notice says.
    pub what: Vec<String>,
    /// Items of the conversation that it names.
    #[serde(skip_serializing_if = "is_zero")]
    pub items: u64,
    /// Its place in its stream.
    pub sequence: u64,
}

/// Result of `forgotten`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RelayRemovals {
    /// Sessions that others were asked to remove.
    pub forgotten: Vec<RelayRemoved>,
}

/// A session that others were asked to remove.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RelayRemoved {
    /// The session.
    pub session_id: String,
    /// Members who have removed it: name and machine.
    pub removed_by: Vec<String>,
    /// Members who have not said so yet.
    pub waiting_for: Vec<String>,
}
