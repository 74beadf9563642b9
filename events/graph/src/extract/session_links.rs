//! Related sessions: subagents, forks and replacements.

use uuid::Uuid;

use super::{Extractor, Moment, moment};
use crate::Relation;
use crate::session::{SUBAGENT, label_of};
use baton_conversation::item::{Body, Item, Link, Meta};
use baton_conversation::record::SessionId;

impl Extractor<'_> {
    /// Adds the relations of the session to others.
    pub(super) fn session_links(&mut self, items: &[Item], first: Moment) {
        if let Some(parent) = self.at.parent {
            let what = if self.title.is_empty() { String::new() } else { format!(": {}", self.title) };
            let fact = format!("{} spawned {}{what}", label_of(parent), self.name);
            self.add_session_link(Relation::SpawnedAgent, Some(parent), None, &fact, first);
        }
        if let Some(before) = self.at.follows {
            let fact = format!("{} began in the place of {}", self.name, label_of(before));
            self.add_session_link(Relation::PrecededBy, None, Some(before), &fact, first);
        }
        for item in items {
            let of = moment(item);
            match &item.body {
                Body::Result(result) => {
                    let child = result.agent.as_deref().and_then(|id| SessionId::new(&format!("{SUBAGENT}{id}")));
                    if let Some(child) = child {
                        let fact = format!("{} spawned {}", self.name, label_of(&child));
                        self.add_session_link(Relation::SpawnedAgent, None, Some(&child), &fact, of);
                    }
                }
                Body::Meta(Meta::Link { link, session }) => {
                    let Some(other) = SessionId::new(session).filter(|other| other != self.at.session) else {
                        continue;
                    };
                    match link {
                        Link::ForkedFrom => {
                            let fact = format!("{} goes on in {}", label_of(&other), self.name);
                            self.add_session_link(Relation::ContinuedBy, Some(&other), None, &fact, of);
                        }
                        Link::ContinuedIn => {
                            let fact = format!("{} goes on in {}", self.name, label_of(&other));
                            self.add_session_link(Relation::ContinuedBy, None, Some(&other), &fact, of);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Adds a fact about two sessions; `None` stands for this one.
    fn add_session_link(
        &mut self,
        relation: Relation,
        from: Option<&SessionId>,
        to: Option<&SessionId>,
        fact: &str,
        of: Moment,
    ) {
        let mut end = |session: Option<&SessionId>| -> Option<Uuid> {
            match session {
                None => Some(self.session),
                Some(session) => self.builder.mention_session(session, "", of),
            }
        };
        if let (Some(source), Some(target)) = (end(from), end(to)) {
            self.builder.add_permanent(relation, source, target, fact, of);
        }
    }
}
