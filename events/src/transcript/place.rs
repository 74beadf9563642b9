//! What a path below a transcript root says: which session a file is, or that it is none.

use crate::conversation::Agent;
use crate::record::SessionId;

/// A transcript, known by its path alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// Who wrote it.
    pub agent: Agent,
    /// The stem of the file's name. The records inside may name another: a subagent's carry its parent's.
    pub session: SessionId,
    /// Whose conversation it is.
    pub kind: Kind,
}

/// Whose conversation a transcript holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A person's with the agent.
    Main,
    /// An agent's with another agent, which reports back.
    Subagent {
        /// The session that started it, where the path tells. Otherwise the records do
        /// ([`Observation::agent_session`](super::Observation::agent_session)).
        parent: Option<SessionId>,
    },
}

/// Which session a file is, by its path below the root (for Claude Code the `projects/` folder), with `/` between
/// the names. `None` for everything that is no transcript of a conversation: journals of workflows, spilled
/// results, memory files, and the agent's own helpers.
pub fn classify(agent: Agent, rel_path: &str) -> Option<Located> {
    match agent {
        Agent::ClaudeCode => claude(rel_path),
    }
}

/// Subagents that no person and no agent asked for.
const HELPERS: &[&str] = &["agent-acompact-", "agent-aprompt_suggestion-"];

fn claude(rel_path: &str) -> Option<Located> {
    let mut names: Vec<&str> = rel_path.split('/').collect();
    let stem = names.pop()?.strip_suffix(".jsonl")?;
    if names.iter().any(|name| matches!(*name, "" | "." | "..")) || HELPERS.iter().any(|name| stem.starts_with(name)) {
        return None;
    }
    // The layout of Baton's first design has one level more; it is taken as if it were not there.
    if names.get(1) == Some(&"sessions") {
        names.remove(1);
    }
    let subagent = stem.starts_with("agent-");
    let kind = match names.as_slice() {
        [_] if subagent => Kind::Subagent { parent: None },
        [_] if stem != "journal" && !stem.starts_with('.') => Kind::Main,
        [_, parent, "subagents", ..] if subagent => Kind::Subagent { parent: Some(SessionId::new(parent)?) },
        _ => return None,
    };
    Some(Located { agent: Agent::ClaudeCode, session: SessionId::new(stem)?, kind })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, expected: Option<(&str, Kind)>) {
        let found = classify(Agent::ClaudeCode, path).map(|located| (located.session.to_string(), located.kind));
        assert_eq!(found, expected.map(|(id, kind)| (id.to_owned(), kind)), "{path}");
    }

    #[test]
    fn every_layout_is_told_apart() {
        let parent = |id: &str| Kind::Subagent { parent: SessionId::new(id) };
        check("-home-u-app/0a1b.jsonl", Some(("0a1b", Kind::Main)));
        check("9f86d081884c7d65/sessions/0a1b.jsonl", Some(("0a1b", Kind::Main)));
        check("-home-u-app/agent-3430b97e.jsonl", Some(("agent-3430b97e", Kind::Subagent { parent: None })));
        check("-home-u-app/0a1b/subagents/agent-1.jsonl", Some(("agent-1", parent("0a1b"))));
        check("-home-u-app/0a1b/subagents/workflows/wf_1/agent-2.jsonl", Some(("agent-2", parent("0a1b"))));
        for none in [
            "",
            "0a1b.jsonl",
            "/0a1b.jsonl",
            "-home-u-app/0a1b.json",
            "-home-u-app/0a1b.jsonl.tmp",
            "-home-u-app/.0a1b.jsonl",
            "-home-u-app/journal.jsonl",
            "-home-u-app/../0a1b.jsonl",
            "-home-u-app/0a1b/0a1b.jsonl",
            "-home-u-app/0a1b/tool-results/x.jsonl",
            "-home-u-app/memory/notes.jsonl",
            "-home-u-app/agent-acompact-12.jsonl",
            "-home-u-app/0a1b/subagents/agent-aprompt_suggestion-12.jsonl",
            "-home-u-app/0a1b/subagents/workflows/wf_1/journal.jsonl",
            "-home-u-app/0a1b/subagents/agent-1.meta.json",
        ] {
            check(none, None);
        }
    }
}
