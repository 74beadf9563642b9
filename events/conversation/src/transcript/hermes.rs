//! Transcripts of Hermes: the rows of its database as [lines](super::table_lines).
//!
//! # Decisions
//!
//! - Databases of profiles are read only where one is the agent's directory: others lie deep below the main one's,
//!   beside trees of anything.
//! - Model and tokens are not told: a session has the last model and sums, and messages have neither.

mod rows;

use crate::item::{Act, Agent};

use super::format::{Format, Layout};
use super::item_writer::ItemWriter;
use super::location::Located;
use super::table::Table;
use super::table_lines::{Manner, located, record};
use super::tools::Tools;
use baton_redaction::raw_json::{Fields, Value};

const MANNER: Manner = Manner { act, refused: &["BLOCKED: User denied"], stopped: &["[Command interrupted]"] };

/// The format of Hermes.
pub(super) enum Hermes {}

impl Format for Hermes {
    const LAYOUT: Layout = Layout { folders: &[""], endings: &[".db"], ..Layout::LINES };
    const TABLE: Option<Table> = Some(rows::TABLE);
    const TOOLS: Tools = Tools {
        acts: &[
            (Act::Shell, "terminal execute_code"),
            (Act::Edit, "write_file patch"),
            (Act::Read, "read_file"),
            (Act::Search, "search_files session_search"),
            (Act::Fetch, "web_search web_extract"),
            (Act::Todo, "todo"),
            (Act::Ask, "clarify"),
            (Act::Spawn, "delegate_task"),
        ],
        parameters: &[],
    };

    fn classify(rel_path: &str) -> Option<Located> {
        located(Agent::Hermes, rel_path.strip_prefix(rows::TABLE.prefix)?.strip_prefix('/')?)
    }

    fn record(fields: Fields<'_>, writer: &mut ItemWriter<'_>) -> Option<usize> {
        record(fields, &MANNER, writer)
    }
}

fn act(name: &str, _: Value<'_>) -> Act {
    // Tools of servers are `mcp_<server>_<tool>`.
    if name.starts_with("mcp_") { Act::Mcp } else { Hermes::TOOLS.act(name) }
}
