//! The entity of a session: its name and its uuid.

use uuid::Uuid;

use super::{Label, node_uuid};
use baton_conversation::record::SessionId;

/// How the id of a subagent's session begins.
pub(super) const SUBAGENT: &str = "agent-";
/// Characters of an id that tell sessions apart.
const SHORT_CHARS: usize = 8;

/// The name of a session's entity, which others may have, too: `session_7acd37a8`, `agent_3430b97e`.
pub fn session_name(session: &SessionId) -> String {
    label_of(session).replace(' ', "_")
}

/// The uuid of a session's entity: of its name where that is its own, else of its whole id.
pub fn session_uuid(group: &str, session: &SessionId) -> Uuid {
    let name = if is_named_alone(session) { session_name(session) } else { session.to_string() };
    node_uuid(group, Label::Session, &name)
}

/// Whether a name shows what tells the session apart: random digits, or all of its id. Ids that begin with the time (UUIDv7)
/// share that with all of their minute.
fn is_named_alone(session: &SessionId) -> bool {
    let id = session.as_str();
    let own = id.strip_prefix(SUBAGENT).unwrap_or(id);
    match Uuid::try_parse(own) {
        Ok(uuid) => uuid.get_version_num() == 4,
        Err(_) => own.len() < id.len() || own.len() <= SHORT_CHARS,
    }
}

/// The session in a sentence: `session 7acd37a8`, `agent 3430b97e`.
pub(super) fn label_of(session: &SessionId) -> String {
    match session.as_str().strip_prefix(SUBAGENT) {
        Some(id) => format!("agent {}", id.chars().take(SHORT_CHARS).collect::<String>()),
        None => format!("session {}", session.short()),
    }
}
