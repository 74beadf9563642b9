//! The format of a set of sessions and questions.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use baton_conversation::record::Timestamp;
use serde::{Deserialize, Deserializer};

use super::super::{Error, io_error};

/// Sessions, and questions about them.
#[derive(Debug, Deserialize)]
pub(super) struct Set {
    pub(super) sessions: Vec<Session>,
    pub(super) questions: Vec<Question>,
}

/// A conversation.
#[derive(Debug, Deserialize)]
pub(super) struct Session {
    #[serde(deserialize_with = "name")]
    pub(super) id: String,
    /// Its project; sessions without one share one.
    #[serde(default)]
    pub(super) project: Option<String>,
    pub(super) turns: Vec<Turn>,
}

/// One turn of a conversation.
#[derive(Debug, Deserialize)]
pub(super) struct Turn {
    pub(super) role: Role,
    #[serde(default)]
    pub(super) speaker: Option<String>,
    #[serde(default)]
    pub(super) time: Option<String>,
    pub(super) text: String,
    /// For a tool: true if it failed.
    #[serde(default)]
    pub(super) failed: bool,
}

/// The author of a turn.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    User,
    Assistant,
    Thinking,
    /// A command and its result.
    Tool,
}

/// A question and its expected results.
#[derive(Debug, Deserialize)]
pub(super) struct Question {
    #[serde(deserialize_with = "name")]
    pub(super) id: String,
    #[serde(default, deserialize_with = "name")]
    pub(super) category: String,
    pub(super) text: String,
    #[serde(default, deserialize_with = "names")]
    pub(super) expected_sessions: Vec<String>,
    #[serde(default)]
    pub(super) expected_turns: Vec<(Name, usize)>,
}

/// A name that may be written as a number.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Name {
    Text(String),
    Number(i64),
}

impl Name {
    pub(super) fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) => number.to_string(),
        }
    }
}

fn name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Name::deserialize(deserializer).map(|name| name.text())
}

fn names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Vec::<Name>::deserialize(deserializer).map(|names| names.iter().map(Name::text).collect())
}

impl Set {
    /// Reads and checks a set.
    ///
    /// # Errors
    ///
    /// States the place of the first mistake.
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let text = fs::read(path).map_err(io_error("read", path))?;
        Self::parse(&text).map_err(|what| Error::Data { path: path.to_owned(), what })
    }

    fn parse(text: &[u8]) -> Result<Self, String> {
        let mut set: Self = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        set.check()?;
        for question in &mut set.questions {
            // If only turns are named, their sessions are expected.
            if question.expected_sessions.is_empty() {
                let named: BTreeSet<String> = question.expected_turns.iter().map(|(name, _)| name.text()).collect();
                question.expected_sessions = named.into_iter().collect();
            }
        }
        Ok(set)
    }

    fn check(&self) -> Result<(), String> {
        let mut turns = BTreeMap::new();
        for (at, session) in self.sessions.iter().enumerate() {
            let place = format!("sessions[{at}] ({})", session.id);
            if turns.insert(session.id.as_str(), session.turns.len()).is_some() {
                return Err(format!("{place}: this id is used twice"));
            }
            if session.turns.iter().all(|turn| turn.text.trim().is_empty()) {
                return Err(format!("{place}: nobody says anything"));
            }
            for (number, turn) in session.turns.iter().enumerate() {
                if let Some(time) = turn.time.as_deref().filter(|time| parse_time(time).is_none()) {
                    return Err(format!("{place}, turns[{number}]: {time:?} is no RFC 3339 time"));
                }
            }
        }
        let mut ids = BTreeSet::new();
        for (at, question) in self.questions.iter().enumerate() {
            let place = format!("questions[{at}] ({})", question.id);
            if !ids.insert(question.id.as_str()) {
                return Err(format!("{place}: this id is used twice"));
            }
            if question.text.trim().is_empty() {
                return Err(format!("{place}: the question is empty"));
            }
            let unknown = question.expected_sessions.iter().find(|id| !turns.contains_key(id.as_str()));
            if let Some(id) = unknown {
                return Err(format!("{place}: there is no session {id:?}"));
            }
            for (id, index) in &question.expected_turns {
                match turns.get(id.text().as_str()) {
                    None => return Err(format!("{place}: there is no session {:?}", id.text())),
                    Some(count) if index >= count => {
                        return Err(format!(
                            "{place}: session {:?} has {count} turns, none has index {index}",
                            id.text()
                        ));
                    }
                    Some(_) => {}
                }
            }
        }
        Ok(())
    }
}

/// Parses RFC 3339, also without a zone (then UTC), seconds or time of day.
pub(super) fn parse_time(written: &str) -> Option<Timestamp> {
    let written = written.trim().replacen(' ', "T", 1);
    ["", "Z", ":00Z", "T00:00:00Z"].iter().find_map(|rest| Timestamp::parse(&format!("{written}{rest}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let found = Set::parse(text.as_bytes()).map(|set| {
            let expected = |question: &Question| format!("{}:{:?}", question.id, question.expected_sessions);
            set.questions.iter().map(expected).collect::<Vec<_>>().join(" ")
        });
        match found {
            Ok(found) => assert_eq!(found, expected, "{text}"),
            Err(error) => assert!(error.contains(expected) && !expected.is_empty(), "{text}: {error}"),
        }
    }

    #[test]
    fn a_mistake_is_reported_with_its_line() {
        let with = |questions: &str| {
            let turns = r#"[{"role":"user","time":"2026-01-02T03:04:05Z","text":"x"},{"role":"tool","text":"y"}]"#;
            format!(r#"{{"sessions":[{{"id":"s","turns":{turns}}}],"questions":[{questions}]}}"#)
        };
        let question = |rest: &str| with(&format!(r#"{{"id":7,"category":1,"text":"what?",{rest}}}"#));
        check(&question(r#""expected_sessions":["s"]"#), r#"7:["s"]"#);
        check(&question(r#""expected_turns":[["s",1],["s",0]]"#), r#"7:["s"]"#);
        check(&question(r#""expected_turns":[["s",2]]"#), "questions[0] (7): session \"s\" has 2 turns");
        check(&question(r#""expected_turns":[["t",0]]"#), "questions[0] (7): there is no session \"t\"");
        check(&question(r#""expected_sessions":["t"]"#), "there is no session \"t\"");
        check(&with(r#"{"id":1,"text":" "}"#), "the question is empty");
        check(&with(r#"{"id":1,"text":"a"},{"id":1,"text":"b"}"#), "questions[1] (1): this id is used twice");
        check("{\n\"sessions\": 1}", "line 2");
        let said = |turn: &str| format!(r#"{{"sessions":[{{"id":"s","turns":[{turn}]}}],"questions":[]}}"#);
        check(&said(r#"{"role":"user","time":"soon","text":"x"}"#), "sessions[0] (s), turns[0]: \"soon\" is no");
        check(&said(r#"{"role":"user","text":""}"#), "nobody says anything");
        check(&said(r#"{"role":"friend","text":"x"}"#), "unknown variant `friend`");
    }

    #[test]
    fn moments_may_be_short() {
        let day = parse_time("2023-05-08T00:00:00Z");
        assert!(day.is_some());
        for written in ["2023-05-08", "2023-05-08T00:00", "2023-05-08 00:00:00", "2023-05-08T02:00:00+02:00"] {
            assert_eq!(parse_time(written), day, "{written}");
        }
        assert_eq!(parse_time("1:56 pm on 8 May, 2023"), None);
    }
}
