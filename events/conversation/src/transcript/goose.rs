//! Transcripts of Goose: the rows of its database as [lines](super::table_lines).
//!
//! # Decisions
//!
//! - Tokens are not told: the ledger has no message's id, and its times say only roughly what they were for.
//! - A session is named to be read on by its last message: what changes in rows that are there is who sees them.

mod rows;

use crate::item::{Act, Agent};

use super::format::{Format, Layout};
use super::item_writer::ItemWriter;
use super::location::Located;
use super::table::Table;
use super::table_lines::{Manner, located, record};
use super::tools::Tools;
use baton_redaction::raw_json::{Fields, Text, Value};

/// A tool that reads or changes a file by a command.
const EDITOR: &str = "text_editor";
const MANNER: Manner =
    Manner { act, refused: &["The user has declined to run this tool"], stopped: &["Interrupted by the user"] };

/// The format of Goose.
pub(super) enum Goose {}

impl Format for Goose {
    const LAYOUT: Layout = Layout {
        // The variable stands for the directory of all programs' data.
        folders: &["goose/sessions"],
        endings: &[".db"],
        ..Layout::LINES
    };
    const TABLE: Option<Table> = Some(rows::TABLE);
    const TOOLS: Tools = Tools {
        acts: &[
            (Act::Shell, "shell"),
            (Act::Edit, "edit write text_editor"),
            (Act::Read, "read view"),
            (Act::Search, "tree"),
            (Act::Todo, "todo_write todo__todo_write"),
            (Act::Spawn, "delegate dynamic_task__create_task subagent__execute_task"),
        ],
        parameters: &[
            ("path", "file_path"),
            ("file_text", "content"),
            ("before", "old_string"),
            ("after", "new_string"),
            ("old_str", "old_string"),
            ("new_str", "new_string"),
        ],
    };

    fn classify(rel_path: &str) -> Option<Located> {
        located(Agent::Goose, rel_path.strip_prefix(rows::TABLE.prefix)?.strip_prefix('/')?)
    }

    fn record(fields: Fields<'_>, writer: &mut ItemWriter<'_>) -> Option<usize> {
        record(fields, &MANNER, writer)
    }
}

fn act(name: &str, input: Value<'_>) -> Act {
    let command = || input.get(b"command").and_then(Value::text).map(Text::raw);
    match Goose::TOOLS.act(name) {
        Act::Edit if name == EDITOR && command() == Some(b"view") => Act::Read,
        // Tools of extensions are `<extension>__<tool>`.
        Act::Other if name.contains("__") => Act::Mcp,
        act => act,
    }
}
