//! Which sessions belong together: subagents, forks, and what took whose place.

use uuid::Uuid;

use super::{Moment, Walk, moment};
use crate::{Label, Relation, node_uuid};
use baton_conversation::item::{Body, Item, Link, Meta};
use baton_conversation::record::SessionId;

/// How the id of a subagent's session begins.
const SUBAGENT: &str = "agent-";
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

impl Walk<'_> {
    /// What the session says of others, and what is known of it.
    pub(super) fn lineage(&mut self, items: &[Item], first: Moment) {
        if let Some(parent) = self.at.parent {
            let what = if self.title.is_empty() { String::new() } else { format!(": {}", self.title) };
            let fact = format!("{} spawned {}{what}", label_of(parent), self.name);
            self.tied(Relation::SpawnedAgent, Some(parent), None, &fact, first);
        }
        if let Some(before) = self.at.follows {
            let fact = format!("{} began in the place of {}", self.name, label_of(before));
            self.tied(Relation::PrecededBy, None, Some(before), &fact, first);
        }
        for item in items {
            let of = moment(item);
            match &item.body {
                Body::Result(result) => {
                    let child = result.agent.as_deref().and_then(|id| SessionId::new(&format!("{SUBAGENT}{id}")));
                    if let Some(child) = child {
                        let fact = format!("{} spawned {}", self.name, label_of(&child));
                        self.tied(Relation::SpawnedAgent, None, Some(&child), &fact, of);
                    }
                }
                Body::Meta(Meta::Link { link, session }) => {
                    let Some(other) = SessionId::new(session).filter(|other| other != self.at.session) else {
                        continue;
                    };
                    match link {
                        Link::ForkedFrom => {
                            let fact = format!("{} goes on in {}", label_of(&other), self.name);
                            self.tied(Relation::ContinuedBy, Some(&other), None, &fact, of);
                        }
                        Link::ContinuedIn => {
                            let fact = format!("{} goes on in {}", self.name, label_of(&other));
                            self.tied(Relation::ContinuedBy, None, Some(&other), &fact, of);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// A fact of two sessions; none stands for this one.
    fn tied(&mut self, relation: Relation, from: Option<&SessionId>, to: Option<&SessionId>, fact: &str, of: Moment) {
        let mut end = |session: Option<&SessionId>| -> Option<Uuid> {
            match session {
                None => Some(self.session),
                Some(session) => self.gather.session(session, "", of),
            }
        };
        if let (Some(source), Some(target)) = (end(from), end(to)) {
            self.gather.assert(relation, source, target, fact, of);
        }
    }
}
