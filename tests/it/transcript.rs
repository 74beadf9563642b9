//! Transcripts as Claude Code writes them: one record per line, chained by uuid, each with a time.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use baton_conversation::record::Timestamp;
use serde_json::{Value, json};

/// Writes one transcript. Each record is dated a second after the one before, the first a minute ago.
pub(crate) struct Transcript {
    path: PathBuf,
    session: String,
    cwd: String,
    /// Time of the next record.
    at: Timestamp,
    count: u64,
    last: Option<String>,
    sidechain: bool,
}

/// The machine's time.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Timestamp(i64::try_from(since.as_millis()).unwrap())
}

impl Transcript {
    pub(crate) fn new(path: PathBuf, session: &str, cwd: &str) -> Self {
        let at = now().plus_ms(-60_000);
        Self { path, session: session.to_owned(), cwd: cwd.to_owned(), at, count: 0, last: None, sidechain: false }
    }

    /// Dates the next record this many minutes ago.
    pub(crate) fn minutes_ago(self, minutes: i64) -> Self {
        Self { at: now().plus_ms(-minutes * 60_000), ..self }
    }

    /// Dates the next record `at`.
    pub(crate) fn at(self, at: Timestamp) -> Self {
        Self { at, ..self }
    }

    /// Dates the next record `at`.
    pub(crate) fn set_time(&mut self, at: Timestamp) {
        self.at = at;
    }

    /// Sets the working directory in its records.
    pub(crate) fn in_directory(self, cwd: &str) -> Self {
        Self { cwd: cwd.to_owned(), ..self }
    }

    /// Makes it a transcript of a subagent.
    pub(crate) fn of_subagent(self, parent: &str) -> Self {
        Self { session: parent.to_owned(), sidechain: true, ..self }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn record(&mut self, kind: &str, fields: Value) -> Value {
        self.count += 1;
        let stem = self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let uuid = format!("{stem}-{:04}", self.count);
        let parent = self.last.replace(uuid.clone());
        let at = self.at.to_string();
        self.at = self.at.plus_ms(1000);
        let mut record = json!({
            "parentUuid": parent, "isSidechain": self.sidechain, "userType": "external", "cwd": self.cwd,
            "sessionId": self.session, "version": "2.1.39", "gitBranch": "main", "type": kind, "uuid": uuid,
            "timestamp": at,
        });
        merge(&mut record, fields);
        record
    }

    /// A person's prompt.
    pub(crate) fn prompt_record(&mut self, text: &str) -> Value {
        self.record("user", json!({"message": {"role": "user", "content": text}, "permissionMode": "default"}))
    }

    fn assistant(&mut self, stop: &str, block: Value) -> Value {
        let number = self.count;
        let message = json!({
            "model": "claude-opus-4-6", "id": format!("msg_{}_{number}", self.session), "type": "message",
            "role": "assistant", "content": [block], "stop_reason": stop,
            "usage": {"input_tokens": 3, "output_tokens": 9},
        });
        self.record("assistant", json!({"message": message, "requestId": format!("req_{number}")}))
    }

    /// A reply of the agent.
    pub(crate) fn reply_record(&mut self, text: &str) -> Value {
        self.assistant("end_turn", json!({"type": "text", "text": text}))
    }

    /// A tool call of the agent.
    pub(crate) fn call_record(&mut self, call: &str, tool: &str, input: Value) -> Value {
        self.assistant("tool_use", json!({"type": "tool_use", "id": call, "name": tool, "input": input}))
    }

    /// The result of a tool call.
    pub(crate) fn result_record(&mut self, call: &str, text: &str, is_error: bool) -> Value {
        let block = json!({"tool_use_id": call, "type": "tool_result", "content": text, "is_error": is_error});
        self.record("user", json!({"message": {"role": "user", "content": [block]}, "toolUseResult": text}))
    }

    /// A record that is not part of the conversation.
    pub(crate) fn metadata_record(&mut self) -> Value {
        json!({
            "type": "file-history-snapshot", "messageId": format!("snapshot-{}", self.count),
            "snapshot": {"trackedFileBackups": {}, "timestamp": self.at.to_string()}, "isSnapshotUpdate": false,
        })
    }

    pub(crate) fn prompt(&mut self, text: &str) -> &mut Self {
        let record = self.prompt_record(text);
        self.append(&record)
    }

    pub(crate) fn reply(&mut self, text: &str) -> &mut Self {
        let record = self.reply_record(text);
        self.append(&record)
    }

    pub(crate) fn call(&mut self, call: &str, tool: &str, input: Value) -> &mut Self {
        let record = self.call_record(call, tool, input);
        self.append(&record)
    }

    pub(crate) fn result(&mut self, call: &str, text: &str, is_error: bool) -> &mut Self {
        let record = self.result_record(call, text, is_error);
        self.append(&record)
    }

    pub(crate) fn metadata(&mut self) -> &mut Self {
        let record = self.metadata_record();
        self.append(&record)
    }

    /// Appends a compaction: a boundary without a parent, and a summary that repeats what was said.
    pub(crate) fn compaction(&mut self, trigger: &str) -> &mut Self {
        let before = self.last.take();
        let boundary = self.record(
            "system",
            json!({
                "subtype": "compact_boundary", "content": "Conversation compacted", "logicalParentUuid": before,
                "isMeta": false, "level": "info", "compactMetadata": {"trigger": trigger, "preTokens": 150_000},
            }),
        );
        self.append(&boundary);
        let summary = "This session is being continued from a previous conversation that ran out of context.";
        let mut record = self.prompt_record(summary);
        merge(&mut record, json!({"isCompactSummary": true, "isVisibleInTranscriptOnly": true}));
        self.append(&record)
    }

    /// Appends a whole record.
    pub(crate) fn append(&mut self, record: &Value) -> &mut Self {
        self.write(format!("{record}\n").as_bytes())
    }

    /// Appends bytes as they are.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> &mut Self {
        std::fs::create_dir_all(self.path.parent().unwrap()).unwrap();
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path).unwrap();
        file.write_all(bytes).unwrap();
        self
    }

    /// Moves the file; further records go to the new path.
    pub(crate) fn rename(&mut self, path: PathBuf) -> &mut Self {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::rename(&self.path, &path).unwrap();
        self.path = path;
        self
    }
}

fn merge(record: &mut Value, fields: Value) {
    let (Value::Object(record), Value::Object(fields)) = (record, fields) else { panic!("objects only") };
    record.extend(fields);
}
