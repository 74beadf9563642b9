//! A set's sessions as transcripts, and the mapping from search results back to the set.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use baton_conversation::record::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use super::super::{Error, io_error};
use super::set::{Role, Session, Set, Turn, parse_time};

/// Project of the sessions without one.
const PROJECT: &str = "set";
/// Start of a session whose first turn has no time: 2026-01-01.
const BEGINNING: Timestamp = Timestamp(1_767_225_600_000);
/// Time between a turn and one without a time after it.
const PACE_MS: i64 = 1000;

/// The written transcripts.
pub(super) struct SetTranscripts {
    /// By the transcript's id: the index of its session in the set, and the turn of each line.
    sessions: BTreeMap<String, (usize, Vec<usize>)>,
}

impl SetTranscripts {
    /// Writes all sessions below `claude` in the format of Claude Code: one file each, one record per turn, two for a
    /// tool's.
    ///
    /// A transcript has roles but no names, so a named speaker's text begins with `Name: `.
    pub(super) fn write(set: &Set, claude: &Path) -> Result<Self, Error> {
        let mut sessions = BTreeMap::new();
        for (number, session) in set.sessions.iter().enumerate() {
            let id = transcript_id(&session.id);
            let directory = directory(session.project.as_deref().unwrap_or(PROJECT));
            let folder = claude.join("projects").join(directory.replace(|c: char| !c.is_ascii_alphanumeric(), "-"));
            fs::create_dir_all(&folder).map_err(io_error("create", &folder))?;
            let mut lines = TranscriptLines { id: &id, directory: &directory, text: String::new(), turns: Vec::new() };
            lines.session(session);
            let path = folder.join(format!("{id}.jsonl"));
            fs::write(&path, &lines.text).map_err(io_error("write", &path))?;
            let turns = lines.turns;
            sessions.insert(id, (number, turns));
        }
        Ok(Self { sessions })
    }

    /// Number of transcripts.
    pub(super) fn count(&self) -> u64 {
        self.sessions.len() as u64
    }

    /// The index of a transcript's session in the set.
    pub(super) fn session(&self, id: &str) -> Option<usize> {
        self.sessions.get(id).map(|(number, _)| *number)
    }

    /// The turn of a line; lines count from 1.
    pub(super) fn turn(&self, id: &str, line: u64) -> Option<usize> {
        let turns = &self.sessions.get(id)?.1;
        turns.get(usize::try_from(line).ok()?.checked_sub(1)?).copied()
    }
}

/// An id as an agent would give it: the session's own if it is one.
fn transcript_id(id: &str) -> String {
    let own = Uuid::parse_str(id).ok().filter(|uuid| uuid.to_string() == id);
    own.unwrap_or_else(|| Uuid::new_v5(&Uuid::NAMESPACE_OID, id.as_bytes())).to_string()
}

/// The directory of a project: the project itself if it is an absolute path.
fn directory(project: &str) -> String {
    if Path::new(project).is_absolute() { project.to_owned() } else { format!("/home/dev/{project}") }
}

/// A transcript being written.
struct TranscriptLines<'a> {
    id: &'a str,
    directory: &'a str,
    text: String,
    /// The turn of each line.
    turns: Vec<usize>,
}

impl TranscriptLines<'_> {
    fn session(&mut self, session: &Session) {
        let mut at = BEGINNING.0 - PACE_MS;
        for (number, turn) in session.turns.iter().enumerate() {
            at = turn.time.as_deref().and_then(parse_time).map_or(at + PACE_MS, |at| at.0);
            let text = match &turn.speaker {
                Some(speaker) => format!("{speaker}: {}", turn.text),
                None => turn.text.clone(),
            };
            self.turn(number, turn, &text, Timestamp(at));
        }
    }

    fn turn(&mut self, number: usize, turn: &Turn, text: &str, at: Timestamp) {
        match turn.role {
            Role::User => self.record(number, at, "user", &json!({ "role": "user", "content": text })),
            Role::Assistant => self.block(number, at, json!({ "type": "text", "text": text })),
            Role::Thinking => self.block(number, at, json!({ "type": "thinking", "thinking": text, "signature": "" })),
            Role::Tool => {
                let (command, result) = text.split_once('\n').unwrap_or((text, ""));
                let call = format!("toolu_{number:08x}");
                let input = json!({ "command": command });
                self.block(number, at, json!({ "type": "tool_use", "id": call, "name": "Bash", "input": input }));
                let result =
                    json!([{ "type": "tool_result", "tool_use_id": call, "content": result, "is_error": turn.failed }]);
                self.record(number, at, "user", &json!({ "role": "user", "content": result }));
            }
        }
    }

    /// Adds a message of the agent with one block.
    fn block(&mut self, number: usize, at: Timestamp, block: Value) {
        let message = json!({
            "id": format!("msg_{number:08x}"), "type": "message", "role": "assistant", "model": "set",
            "content": [block], "stop_reason": "end_turn", "usage": { "input_tokens": 1, "output_tokens": 1 },
        });
        self.record(number, at, "assistant", &message);
    }

    fn record(&mut self, number: usize, at: Timestamp, kind: &str, message: &Value) {
        let uuid = Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("{}:{}", self.id, self.turns.len()).as_bytes());
        let record = json!({
            "parentUuid": null, "isSidechain": false, "userType": "external", "cwd": self.directory,
            "sessionId": self.id, "version": "2.1.219", "gitBranch": "main", "type": kind, "message": message,
            "uuid": uuid.to_string(), "timestamp": at.to_string(),
        });
        self.text.push_str(&record.to_string());
        self.text.push('\n');
        self.turns.push(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_knows_its_turn() {
        let set = r#"{"sessions":[{"id":"one","project":"p","turns":[
            {"role":"user","speaker":"Ann","text":"run it"},
            {"role":"tool","time":"2026-03-04T05:06:07Z","text":"cargo test\nok"},
            {"role":"assistant","text":"done"}]}],"questions":[]}"#;
        let set: Set = serde_json::from_str(set).unwrap();
        let claude = tempfile::tempdir().unwrap();
        let written = SetTranscripts::write(&set, claude.path()).unwrap();
        let id = transcript_id("one");
        assert_eq!((written.count(), written.session(&id), written.session("one")), (1, Some(0), None));
        let turns: Vec<_> = (0..6).map(|line| written.turn(&id, line)).collect();
        assert_eq!(turns, [None, Some(0), Some(1), Some(1), Some(2), None]);
        let path = claude.path().join(format!("projects/-home-dev-p/{id}.jsonl"));
        let text = fs::read_to_string(path).unwrap();
        let records: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(records[0]["message"]["content"], "Ann: run it");
        assert_eq!(records[0]["timestamp"], BEGINNING.to_string());
        assert_eq!(records[1]["message"]["content"][0]["input"]["command"], "cargo test");
        assert_eq!(records[2]["message"]["content"][0]["content"], "ok");
        assert_eq!(records[3]["timestamp"], "2026-03-04T05:06:08.000Z");
    }

    #[test]
    fn an_id_that_an_agent_may_give_is_kept() {
        let own = "0198c5a2-1111-4222-8333-123456789abc";
        assert_eq!(transcript_id(own), own);
        assert_ne!(transcript_id("0198C5A2-1111-4222-8333-123456789ABC"), own);
        assert_eq!(transcript_id("conv-26/1"), transcript_id("conv-26/1"));
    }
}
