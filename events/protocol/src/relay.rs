//! Arguments of `relay`.

use serde::{Deserialize, Serialize};

/// What is asked of the relay.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case", deny_unknown_fields)]
pub enum RelayParams {
    /// Begin a team whose relay this is.
    Init {
        /// The folder, absolute.
        url: String,
        /// What the team is to call this person.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// Invite one more member.
    Invite {},
    /// Join the team of an invitation.
    Join {
        /// Its text.
        invitation: String,
        /// Where the team's folder is here, absolute, if it is not where it is for who invites.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        folder: Option<String>,
        /// What the team is to call this person.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// Exclude a member's home from what is published from now on.
    Remove {
        /// Fingerprint of its key, or the beginning of one.
        writer: String,
    },
    /// Leave the team.
    Leave {},
    /// Share a project, or stop sharing it.
    Share {
        /// A directory, or a name that fits one project.
        project: String,
        /// False to stop.
        shared: bool,
        /// To stop: true to have the others remove what was published, too.
        #[serde(default)]
        retract: bool,
        /// True to report what it would mean without changing anything.
        #[serde(default)]
        dry_run: bool,
    },
    /// The state of the relay.
    Status {},
    /// Exactly what would be published of a session, or what is owed of all.
    Preview {
        /// The session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<String>,
    },
    /// What was published last.
    Log {
        /// Most entries.
        limit: u32,
    },
    /// Who has removed what was forgotten or retracted here.
    Forgotten {},
    /// Stop publishing and taking in, or go on.
    Pause {
        /// False to go on.
        paused: bool,
    },
}
