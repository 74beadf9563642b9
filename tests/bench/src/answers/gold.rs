//! The format of gold: what a careful reader says that sessions came to, and questions about them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use baton_conversation::item::Agent;
use baton_conversation::transcript::{Source, classify};
use regex::{Regex, RegexBuilder};
use serde::Deserialize;

use super::super::{Error, io_error};

/// The kind of a question that no session answers.
pub(super) const UNANSWERABLE: &str = "none";
/// The kind of an error that is only a slip of a tool.
const TRIVIAL: &str = "trivial";

/// Sessions, and questions about them.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Gold {
    #[serde(default)]
    pub(super) sessions: Vec<Session>,
    #[serde(default)]
    pub(super) questions: Vec<Question>,
}

/// A session that was read.
#[derive(Debug, Deserialize)]
pub(super) struct Session {
    pub(super) session_id: String,
    /// Below the agent's directory: `projects/…` of Claude Code, `sessions/…` of Codex.
    pub(super) path: String,
    pub(super) gold: Reading,
}

/// What its reader says.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Reading {
    #[serde(default)]
    pub(super) title: String,
    #[serde(default)]
    pub(super) decisions: Vec<Item>,
    /// Choices that were undone or replaced.
    #[serde(default)]
    pub(super) overruled: Vec<Item>,
    #[serde(default)]
    pub(super) errors: Vec<Failure>,
    #[serde(default)]
    pub(super) open: Vec<Item>,
    #[serde(default)]
    pub(super) next: Vec<Item>,
    /// Changes that were left uncommitted where nobody expected a commit: right if given, not missed if not.
    #[serde(default)]
    pub(super) uncommitted: Vec<Item>,
}

/// A statement, and the lines that say it.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Item {
    pub(super) text: String,
    #[serde(default)]
    pub(super) lines: Vec<u64>,
}

/// An error, and what made it go away.
#[derive(Debug, Deserialize)]
pub(super) struct Failure {
    #[serde(flatten)]
    pub(super) error: Item,
    #[serde(default)]
    resolution: Option<String>,
    #[serde(default)]
    resolution_lines: Vec<u64>,
    #[serde(default)]
    kind: String,
}

impl Failure {
    /// False for a slip of a tool.
    pub(super) fn counts(&self) -> bool {
        self.kind != TRIVIAL
    }

    /// What made it go away, if that is known.
    pub(super) fn resolution(&self) -> Option<Item> {
        let text = self.resolution.clone().filter(|text| !text.trim().is_empty())?;
        Some(Item { text, lines: self.resolution_lines.clone() })
    }
}

/// A question, and what a right answer contains.
#[derive(Debug, Deserialize)]
pub(super) struct Question {
    pub(super) id: String,
    pub(super) kind: String,
    pub(super) cmd: Command,
    pub(super) text: String,
    /// The beginning of the session that answers it.
    #[serde(default)]
    pub(super) session: Option<String>,
    #[serde(default)]
    pub(super) gold: String,
    #[serde(default)]
    keys: Vec<String>,
    /// The keys, compiled by [`Gold::read`].
    #[serde(skip)]
    pub(super) patterns: Vec<Regex>,
    /// The directory it is asked from.
    #[serde(default)]
    pub(super) project: Option<String>,
    /// The error as the transcript has it, asked of `fix` too.
    #[serde(default)]
    pub(super) exact_error: Option<String>,
    /// The same question for `recall`.
    #[serde(default)]
    pub(super) recall_variant: Option<String>,
}

/// The command that is asked.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Command {
    Recall,
    Fix,
    How,
}

impl Command {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Recall => "recall",
            Self::Fix => "fix",
            Self::How => "how",
        }
    }
}

impl Session {
    /// The agent that wrote its transcript, and how that is read.
    pub(super) fn source(&self) -> Option<Source> {
        let (agent, below) = match self.path.split_once('/')? {
            ("projects", below) => (Agent::ClaudeCode, below),
            ("sessions" | "archived_sessions", below) => (Agent::Codex, below),
            _ => return None,
        };
        Some(classify(agent, below)?.source())
    }
}

impl Gold {
    /// Reads and checks a file.
    ///
    /// # Errors
    ///
    /// States the place of the first mistake.
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let text = fs::read(path).map_err(io_error("read", path))?;
        Self::parse(&text).map_err(|what| Error::Data { path: path.to_owned(), what })
    }

    pub(super) fn parse(text: &[u8]) -> Result<Self, String> {
        let mut gold: Self = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        for (at, session) in gold.sessions.iter().enumerate() {
            if session.source().is_none() {
                let place = format!("sessions[{at}] ({})", session.session_id);
                return Err(format!(
                    "{place}: {:?} is no path of a transcript, as projects/… or sessions/…",
                    session.path
                ));
            }
        }
        let mut ids = BTreeSet::new();
        for (at, question) in gold.questions.iter_mut().enumerate() {
            let place = format!("questions[{at}] ({})", question.id);
            if !ids.insert(question.id.clone()) {
                return Err(format!("{place}: this id is used twice"));
            }
            if question.text.trim().is_empty() {
                return Err(format!("{place}: the question is empty"));
            }
            if question.keys.is_empty() != (question.kind == UNANSWERABLE) {
                return Err(format!("{place}: keys are needed, except for the kind {UNANSWERABLE:?}, which has none"));
            }
            for key in &question.keys {
                let pattern = RegexBuilder::new(key).case_insensitive(true).dot_matches_new_line(true).build();
                question.patterns.push(pattern.map_err(|error| format!("{place}: key {key:?}: {error}"))?);
            }
        }
        Ok(gold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        match Gold::parse(text.as_bytes()) {
            Ok(gold) => assert_eq!(format!("{} {}", gold.sessions.len(), gold.questions.len()), expected, "{text}"),
            Err(error) => assert!(error.contains(expected) && !expected.is_empty(), "{text}: {error}"),
        }
    }

    #[test]
    fn a_mistake_is_told_with_its_place() {
        let session = |path: &str| {
            format!(r#"{{"sessions":[{{"session_id":"s","path":{path:?},"gold":{{"title":"t","objective":{{}}}}}}]}}"#)
        };
        check(&session("projects/p/s.jsonl"), "1 0");
        check(&session("sessions/2026/01/02/rollout-019ed50c-2fb3-7002-a384-360bea6e7f04.jsonl"), "1 0");
        check(&session("p/s.jsonl"), "sessions[0] (s): \"p/s.jsonl\" is no path");
        let question = |kind: &str, cmd: &str, keys: &str| {
            format!(
                r#"{{"questions":[{{"id":"W1","kind":"{kind}","cmd":"{cmd}","text":"x","keys":{keys},"project":null}}]}}"#
            )
        };
        check(&question("why", "recall", r#"["a|b"]"#), "0 1");
        check(&question("none", "recall", "[]"), "0 1");
        check(&question("why", "recall", "[]"), "questions[0] (W1): keys are needed");
        check(&question("why", "recall", r#"["(?!a)b"]"#), "questions[0] (W1): key \"(?!a)b\": regex parse error");
        check(&question("why", "tell", r#"["a"]"#), "unknown variant `tell`");
        check("{\n\"sessions\": 1}", "line 2");
    }
}
