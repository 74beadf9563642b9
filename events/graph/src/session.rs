//! The entity of a session: its name and its uuid.

use uuid::Uuid;

use super::{Label, node_uuid};
use baton_conversation::record::SessionId;

/// Prefix of a subagent's session id.
pub(super) const SUBAGENT: &str = "agent-";
/// Number of id characters that distinguish sessions.
const SHORT_CHARS: usize = 8;

/// Returns the name of a session's entity, which other sessions may share: `session_7acd37a8`, `agent_3430b97e`.
pub fn session_name(session: &SessionId) -> String {
    label_of(session).replace(' ', "_")
}

/// Returns the uuid of a session's entity, made from its name if that is unique, otherwise from the whole id.
pub fn session_uuid(group: &str, session: &SessionId) -> Uuid {
    let name = if is_named_alone(session) { session_name(session) } else { session.to_string() };
    node_uuid(group, Label::Session, &name)
}

/// Returns true if the short name identifies the session: it has random digits, or all of the id. Ids that begin with a
/// time (UUIDv7) share their beginning with all others of the same minute.
fn is_named_alone(session: &SessionId) -> bool {
    let id = session.as_str();
    let own = id.strip_prefix(SUBAGENT).unwrap_or(id);
    match Uuid::try_parse(own) {
        Ok(uuid) => uuid.get_version_num() == 4,
        Err(_) => own.len() < id.len() || own.len() <= SHORT_CHARS,
    }
}

/// Returns the session as it appears in a sentence: `session 7acd37a8`, `agent 3430b97e`.
pub(super) fn label_of(session: &SessionId) -> String {
    match session.as_str().strip_prefix(SUBAGENT) {
        Some(id) => format!("agent {}", id.chars().take(SHORT_CHARS).collect::<String>()),
        None => format!("session {}", session.short()),
    }
}
