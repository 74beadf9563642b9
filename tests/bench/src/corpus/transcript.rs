//! Writing one transcript: records in the formats of Claude Code, one content block per line.

use std::collections::BTreeMap;
use std::fmt::Write;

use baton_conversation::record::Timestamp;

use super::plan::Plan;
use super::random::Random;

/// Bytes by kind of content, as in the manifest.
pub(super) type Shares = BTreeMap<&'static str, u64>;

/// A transcript being written.
pub(super) struct Transcript<'a> {
    plan: &'a Plan,
    directory: &'a str,
    nickname: String,
    pub(super) random: Random,
    /// Its lines.
    pub(super) text: String,
    /// Time and end offset of each line.
    pub(super) marks: Vec<(i64, usize)>,
    /// Bytes by kind of content; the rest is the envelope.
    pub(super) shares: Shares,
    now_ms: i64,
    parent: Option<String>,
    message: String,
}

impl<'a> Transcript<'a> {
    pub(super) fn new(plan: &'a Plan, directory: &'a str, mut random: Random, nickname: String) -> Self {
        let message = id("msg_01", &mut random);
        Self {
            plan,
            directory,
            nickname,
            random,
            text: String::with_capacity(plan.bytes + plan.bytes / 4),
            marks: Vec::new(),
            shares: Shares::new(),
            now_ms: plan.started_ms,
            parent: None,
            message,
        }
    }

    /// Advances the clock.
    pub(super) fn pass(&mut self, ms: usize) {
        self.now_ms += i64::try_from(ms).unwrap_or(0);
    }

    pub(super) fn prompt(&mut self, text: &str) {
        self.count("user text", text.len());
        let is_new = self.plan.version.is_new;
        self.chain("user", |out, _| {
            let _ = write!(out, r#""message":{{"role":"user","content":"{text}"}}"#);
            if is_new {
                out.push_str(r#","permissionMode":"acceptEdits","promptSource":"typed","origin":{"kind":"human"}"#);
            }
        });
    }

    /// Puts the following blocks into another message.
    pub(super) fn next_message(&mut self) {
        self.message = id("msg_01", &mut self.random);
    }

    pub(super) fn thinking(&mut self, text: &str, signature: usize) {
        self.count("thinking", text.len());
        self.count("signatures", signature);
        self.assistant(|out, random| {
            let _ = write!(out, r#"{{"type":"thinking","thinking":"{text}","signature":""#);
            random.base64(signature, out);
            out.push_str("\"}");
        });
    }

    pub(super) fn say(&mut self, text: &str) {
        self.count("assistant text", text.len());
        self.assistant(|out, _| _ = write!(out, r#"{{"type":"text","text":"{text}"}}"#));
    }

    /// Writes a tool call and returns its id, which the result refers to.
    pub(super) fn call(&mut self, tool: &str, input: &str) -> String {
        self.count("tool inputs", input.len());
        let call = id("toolu_01", &mut self.random);
        self.assistant(|out, _| {
            let _ = write!(
                out,
                r#"{{"type":"tool_use","id":"{call}","name":"{tool}","input":{input},"caller":{{"type":"direct"}}}}"#
            );
        });
        call
    }

    /// Writes a result: what the agent sees and, as JSON, the copy that its screen shows.
    pub(super) fn result(&mut self, call: &str, content: &str, failed: bool, copy: &str) {
        self.count("tool results", content.len());
        self.count("tool results, copy for the screen", copy.len());
        let source = self.parent.clone().unwrap_or_default();
        self.chain("user", |out, _| {
            let _ = write!(
                out,
                r#""message":{{"role":"user","content":[{{"tool_use_id":"{call}","type":"tool_result","content":"{content}","is_error":{failed}}}]}},"toolUseResult":{copy},"sourceToolAssistantUUID":"{source}""#
            );
        });
    }

    /// Writes a command's output so far, as some versions did every second.
    pub(super) fn progress(&mut self, call: &str, output: &str) {
        self.count("progress", output.len());
        self.chain("progress", |out, _| {
            let _ = write!(
                out,
                r#""data":{{"type":"bash_progress","output":"","fullOutput":"{output}","elapsedTimeSeconds":2,"totalLines":40}},"toolUseID":"bash-progress-1","parentToolUseID":"{call}""#
            );
        });
    }

    pub(super) fn attachment(&mut self, kind: &str, content: &str) {
        self.count("attachments", content.len());
        self.chain("attachment", |out, _| {
            let _ = write!(out, r#""attachment":{{"type":"{kind}","content":"{content}"}}"#);
        });
    }

    /// Writes the end of a turn, with the metadata that is repeated at each.
    pub(super) fn end_turn(&mut self, title: &str, prompt: &str) {
        let session = self.plan.session.clone();
        self.chain("system", |out, random| {
            let (ms, messages) = (random.between(4000, 200_000), random.between(3, 90));
            let _ =
                write!(out, r#""subtype":"turn_duration","durationMs":{ms},"messageCount":{messages},"isMeta":false"#);
        });
        if self.plan.version.is_new {
            let prompt: String = prompt.chars().take_while(|c| *c != '\\').take(200).collect();
            for line in [
                format!(r#"{{"type":"last-prompt","lastPrompt":"{prompt}","sessionId":"{session}"}}"#),
                format!(r#"{{"type":"mode","mode":"normal","sessionId":"{session}"}}"#),
                format!(r#"{{"type":"ai-title","aiTitle":"{title}","sessionId":"{session}"}}"#),
            ] {
                self.metadata(&line);
            }
        }
    }

    /// Writes a snapshot, as old versions did before each prompt.
    pub(super) fn snapshot(&mut self, files: &[String]) {
        let (message, at) = (self.random.uuid(), Timestamp(self.now_ms));
        let mut backups = String::new();
        for file in files {
            let comma = if backups.is_empty() { "" } else { "," };
            let _ = write!(backups, r#"{comma}"{file}":{{"backupFileName":""#);
            self.random.hex(16, &mut backups);
            let _ = write!(backups, r#"@v1","version":1,"backupTime":"{at}"}}"#);
        }
        self.metadata(&format!(
            r#"{{"type":"file-history-snapshot","messageId":"{message}","snapshot":{{"messageId":"{message}","trackedFileBackups":{{{backups}}},"timestamp":"{at}"}},"isSnapshotUpdate":false}}"#
        ));
    }

    fn metadata(&mut self, line: &str) {
        self.count("metadata", line.len());
        self.text.push_str(line);
        self.text.push('\n');
        self.marks.push((self.now_ms, self.text.len()));
    }

    fn assistant(&mut self, block: impl FnOnce(&mut String, &mut Random)) {
        let message = self.message.clone();
        self.chain("assistant", |out, random| {
            let _ = write!(
                out,
                r#""message":{{"model":"claude-opus-4-5-20251101","id":"{message}","type":"message","role":"assistant","content":["#
            );
            block(out, random);
            let (created, read, output) =
                (random.between(100, 20_000), random.between(10_000, 180_000), random.between(1, 2000));
            let _ = write!(
                out,
                r#"],"stop_reason":null,"stop_sequence":null,"usage":{{"input_tokens":4,"cache_creation_input_tokens":{created},"cache_read_input_tokens":{read},"cache_creation":{{"ephemeral_5m_input_tokens":{created},"ephemeral_1h_input_tokens":0}},"output_tokens":{output},"service_tier":"standard","inference_geo":"not_available"}}}},"requestId":""#
            );
            out.push_str(&id("req_011C", random));
            out.push('"');
        });
    }

    fn chain(&mut self, kind: &str, fields: impl FnOnce(&mut String, &mut Random)) {
        let uuid = self.random.uuid();
        let (plan, out) = (self.plan, &mut self.text);
        match &self.parent {
            Some(parent) => _ = write!(out, r#"{{"parentUuid":"{parent}","#),
            None => out.push_str(r#"{"parentUuid":null,"#),
        }
        let _ = write!(out, r#""isSidechain":{},"#, plan.agent.is_some());
        if let Some(agent) = &plan.agent {
            let _ = write!(out, r#""agentId":"{agent}","#);
        }
        let _ = write!(
            out,
            r#""userType":"external","cwd":"{}","sessionId":"{}","version":"{}","gitBranch":"{}","slug":"{}","type":"{kind}","#,
            self.directory, plan.session, plan.version.name, plan.branch, self.nickname
        );
        fields(out, &mut self.random);
        let _ = writeln!(out, r#","uuid":"{uuid}","timestamp":"{}"}}"#, Timestamp(self.now_ms));
        self.marks.push((self.now_ms, out.len()));
        self.parent = Some(uuid);
    }

    fn count(&mut self, what: &'static str, bytes: usize) {
        *self.shares.entry(what).or_default() += bytes as u64;
    }
}

/// An id in the format of the model's API.
fn id(kind: &str, random: &mut Random) -> String {
    let mut id = String::with_capacity(kind.len() + 22);
    id.push_str(kind);
    random.hex(22, &mut id);
    id
}
