//! Identifies the session of a file by its path below a transcript root.

use serde::{Deserialize, Serialize};

use crate::item::Agent;
use crate::record::SessionId;

/// A transcript, identified by its path alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// The agent that wrote it.
    pub agent: Agent,
    /// The stem of the file name. The records inside may name another one: a subagent's records name the parent.
    pub session: SessionId,
    /// Kind of the conversation.
    pub kind: Kind,
}

/// Kind of the conversation in a transcript.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredKind", into = "StoredKind")]
pub enum Kind {
    /// A person's conversation with the agent.
    Main,
    /// A subagent's, which reports back to its parent.
    Subagent {
        /// The session that started it, if the path names it. Otherwise the records do
        /// ([`Observation::agent_session`](super::Observation::agent_session)).
        parent: Option<SessionId>,
    },
}

#[derive(Serialize, Deserialize)]
struct StoredKind {
    subagent: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<SessionId>,
}

impl From<Kind> for StoredKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Main => Self { subagent: false, parent: None },
            Kind::Subagent { parent } => Self { subagent: true, parent },
        }
    }
}

impl From<StoredKind> for Kind {
    fn from(stored: StoredKind) -> Self {
        if stored.subagent { Self::Subagent { parent: stored.parent } } else { Self::Main }
    }
}

/// Subagents that the harness runs for itself.
const HELPERS: &[&str] = &["agent-acompact-", "agent-aprompt_suggestion-"];

pub(super) fn claude(rel_path: &str) -> Option<Located> {
    let mut names: Vec<&str> = rel_path.split('/').collect();
    let stem = names.pop()?.strip_suffix(".jsonl")?;
    if names.iter().any(|name| matches!(*name, "" | "." | "..")) || HELPERS.iter().any(|name| stem.starts_with(name)) {
        return None;
    }
    // The layout of Baton's first design has one more level, which is ignored.
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
    Some(Located { agent: Agent::ClaudeCode, session: session_of(stem)?, kind })
}

/// The session of a file's stem. Names reserved for memos, or that look like a secret, are not accepted.
pub(super) fn session_of(stem: &str) -> Option<SessionId> {
    SessionId::new(stem).filter(|id| !id.is_memo() && id.may_be_shown())
}

/// Prefix of the names of Codex's transcripts.
const ROLLOUT: &str = "rollout-";
/// Digits of the folders below a root of Codex: year, month and day; or no folders, in the archive.
const DATE: [usize; 3] = [4, 2, 2];

/// `2026/06/17/rollout-<local time>-<uuid>.jsonl`, or the file alone; with `.zst` if it was compressed in place. The
/// session is the uuid, which stays the same when the file is compressed or archived.
pub(super) fn codex(rel_path: &str) -> Option<Located> {
    let mut names: Vec<&str> = rel_path.split('/').collect();
    let name = names.pop()?;
    let stem = name.strip_suffix(".zst").unwrap_or(name).strip_suffix(".jsonl")?.strip_prefix(ROLLOUT)?;
    let is_date = names.len() == DATE.len()
        && names
            .iter()
            .zip(DATE)
            .all(|(name, digits)| name.len() == digits && name.bytes().all(|b| b.is_ascii_digit()));
    let uuid = stem.get(stem.len().checked_sub(UUID_CHARS)?..)?;
    let before = &stem[..stem.len() - UUID_CHARS];
    if !(names.is_empty() || is_date) || !is_uuid(uuid) || !(before.is_empty() || before.ends_with('-')) {
        return None;
    }
    // Only the records show which of them are subagents'.
    Some(Located { agent: Agent::Codex, session: SessionId::new(uuid)?, kind: Kind::Main })
}

/// Length of a uuid as text.
const UUID_CHARS: usize = 36;

fn is_uuid(text: &str) -> bool {
    text.len() == UUID_CHARS
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::classify;

    #[test]
    fn rollouts_are_known_by_the_uuid_in_their_names() {
        const ID: &str = "019ed50c-2fb3-7002-a384-360bea6e7f04";
        let check = |path: &str, expected: bool| {
            let found = classify(Agent::Codex, path);
            let located = Located { agent: Agent::Codex, session: SessionId::new(ID).unwrap(), kind: Kind::Main };
            assert_eq!(found, expected.then_some(located), "{path}");
        };
        for known in [
            format!("2026/06/17/rollout-2026-06-17T10-06-46-{ID}.jsonl"),
            format!("2026/06/17/rollout-2026-06-17T10-06-46-{ID}.jsonl.zst"),
            format!("rollout-2026-06-17T10-06-46-{ID}.jsonl"),
            format!("rollout-{ID}.jsonl.zst"),
        ] {
            check(&known, true);
        }
        for none in [
            String::new(),
            format!("{ID}.jsonl"),
            "2026/06/17/rollout-2026-06-17T10-06-46.jsonl".to_owned(),
            format!("2026/06/17/rollout-2026-06-17T10-06-46-{ID}.json"),
            format!("2026/06/17/rollout-2026-06-17T10-06-46-{ID}.jsonl.zst.tmp"),
            format!("2026/06/17/rollout-2026-06-17T10-06-46-{}.jsonl", ID.replace('-', "_")),
            format!("2026/06/17/rollout-é{}.jsonl", &ID[1..]),
            format!("2026/06/rollout-x-{ID}.jsonl"),
            format!("2026/../17/rollout-x-{ID}.jsonl"),
            format!("a/b/c/rollout-x-{ID}.jsonl"),
            format!("2026/06/17/x/rollout-x-{ID}.jsonl"),
            format!("2026/06/17/rollout-x{ID}.jsonl"),
        ] {
            check(&none, false);
        }
    }

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
            "-home-u-app/memory:00000000-0000-0000-0000-000000000007.jsonl",
            "-home-u-app/sk-ant-api03-a1B2c3D4e5F6a1B2c3D4e5F6.jsonl",
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
