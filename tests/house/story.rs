//! Growing transcripts: whole records, each a second younger than the one before.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use baton_conversation::record::{SessionId, Timestamp};
use serde_json::{Value, json};

/// One transcript and what was written to it.
pub(crate) struct Story {
    path: PathBuf,
    id: SessionId,
    at: Timestamp,
    count: u64,
    /// Prompts and replies in the current file.
    pub(crate) messages: u64,
    /// Size of the current file in bytes.
    pub(crate) bytes: u64,
    /// The rest of a line that is only half written.
    rest: String,
}

impl Story {
    /// A transcript of which nothing is written yet.
    pub(crate) fn new(projects: &Path, name: &str, at: Timestamp) -> Self {
        let id = SessionId::new(name).unwrap();
        let path = projects.join("-srv-house").join(format!("{name}.jsonl"));
        Self { path, id, at, count: 0, messages: 0, bytes: 0, rest: String::new() }
    }

    pub(crate) fn id(&self) -> &SessionId {
        &self.id
    }

    /// Dates further records from `at`.
    pub(crate) fn set_time(&mut self, at: Timestamp) {
        self.at = at;
    }

    /// Writes a prompt and its reply.
    pub(crate) fn say(&mut self, words: &str) {
        self.finish_line();
        let prompt = self.prompt(words);
        let reply = self.reply(&format!("done: {words}"));
        self.append(&format!("{prompt}\n{reply}\n"), 2);
    }

    /// Writes the first half of a prompt: the rest comes with the next record.
    pub(crate) fn say_half(&mut self, words: &str) {
        self.finish_line();
        let line = format!("{}\n", self.prompt(words));
        let (half, rest) = line.split_at(line.len() / 2);
        self.append(half, 0);
        rest.clone_into(&mut self.rest);
    }

    /// Writes the rest of a half-written line.
    pub(crate) fn finish_line(&mut self) {
        let rest = std::mem::take(&mut self.rest);
        if !rest.is_empty() {
            self.append(&rest, 1);
        }
    }

    /// Starts the file anew with other words.
    pub(crate) fn rewrite(&mut self, words: &str) {
        self.forget();
        let prompt = self.prompt(words);
        std::fs::write(&self.path, "").unwrap();
        self.append(&format!("{prompt}\n"), 1);
    }

    /// Deletes the file.
    pub(crate) fn delete(&mut self) {
        std::fs::remove_file(&self.path).unwrap();
        self.forget();
    }

    fn forget(&mut self) {
        (self.messages, self.bytes) = (0, 0);
        self.rest.clear();
    }

    pub(crate) fn is_there(&self) -> bool {
        self.path.exists()
    }

    /// Creates the empty file.
    pub(crate) fn begin(&mut self) {
        self.append("", 0);
    }

    fn append(&mut self, lines: &str, messages: u64) {
        std::fs::create_dir_all(self.path.parent().unwrap()).unwrap();
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path).unwrap();
        file.write_all(lines.as_bytes()).unwrap();
        self.messages += messages;
        self.bytes += lines.len() as u64;
    }

    fn record(&mut self, kind: &str, message: &Value) -> Value {
        self.count += 1;
        let (number, at) = (self.count, self.at);
        self.at = at.plus_ms(1000);
        json!({
            "parentUuid": null, "isSidechain": false, "userType": "external", "cwd": "/srv/house",
            "sessionId": self.id.as_str(), "version": "2.1.39", "type": kind,
            "uuid": format!("{}-{number:05}", self.id), "timestamp": at.to_string(), "message": message,
        })
    }

    fn prompt(&mut self, words: &str) -> Value {
        self.record("user", &json!({"role": "user", "content": words}))
    }

    fn reply(&mut self, words: &str) -> Value {
        let id = format!("msg_{}_{}", self.id, self.count);
        let message = json!({
            "model": "claude-opus-4-6", "id": id, "type": "message", "role": "assistant",
            "content": [{"type": "text", "text": words}], "stop_reason": "end_turn",
            "usage": {"input_tokens": 3, "output_tokens": 9},
        });
        self.record("assistant", &message)
    }
}
