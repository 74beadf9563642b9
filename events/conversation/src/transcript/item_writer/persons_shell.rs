//! Commands that a person ran beside the agent: a call and its result, as if by a tool.

use serde_json::json;

use super::super::Stamp;
use super::ItemWriter;
use crate::filter::result::Output;
use crate::item::{Act, Outcome, PERSONS_SHELL};
use baton_redaction::raw_json::{Text, Value};

impl ItemWriter<'_> {
    /// A command that a person ran: it is activity, as a prompt is.
    pub(crate) fn persons_command(&mut self, stamp: &Stamp<'_>, command: &str) {
        self.contents.conversation = true;
        let id = format!("{PERSONS_SHELL}{}", self.cursor.line);
        let parameters = json!({ "command": command }).to_string();
        let parameters = Value::Object(parameters.as_bytes().into());
        self.emit_call(Act::Shell, stamp, Some(Text::new(id.as_bytes())), PERSONS_SHELL, parameters, None);
    }

    /// What the last command of a person printed; a notice if the command is unknown.
    pub(crate) fn persons_output(&mut self, stamp: &Stamp<'_>, printed: &str, exit_code: Option<i32>) {
        let Some(id) = self.open.last_of(PERSONS_SHELL) else { return self.notice(stamp, printed) };
        let encoded = json!(printed).to_string();
        let text = Text::new(encoded.get(1..encoded.len() - 1).unwrap_or_default().as_bytes());
        let mut output = Output::parse(Some(Value::Text(text)));
        output.facts.exit_code = exit_code;
        let outcome = if exit_code.is_some_and(|code| code != 0) { Outcome::Failed } else { Outcome::Ok };
        self.result(stamp, Some(Text::new(id.as_bytes())), outcome, &output);
    }

    /// A person stopped the command that this line tells of.
    pub(crate) fn persons_command_stopped(&mut self, stamp: &Stamp<'_>) {
        if let Some(id) = self.open.last_of(PERSONS_SHELL) {
            self.result(stamp, Some(Text::new(id.as_bytes())), Outcome::Interrupted, &Output::default());
        }
    }
}
