//! Transcripts of Crush: the rows of the database that it keeps in a project's folder `.crush`, as
//! [lines](super::table_lines).
//!
//! # Decisions
//!
//! - Tokens are not told: a session has those of its last request and messages have none. Earlier versions of the files
//!   that were changed are not read.

mod rows;

use crate::item::{Act, Agent};

use super::format::{Format, Layout, WorkingDirectory};
use super::item_writer::ItemWriter;
use super::location::Located;
use super::table::Table;
use super::table_lines::{Manner, located, record};
use super::tools::Tools;
use baton_redaction::raw_json::{Fields, Value};

/// A session that only made a title.
const TITLES: &str = "title-";
const MANNER: Manner = Manner { act, refused: &["User denied permission"], stopped: &["Tool execution canceled"] };

/// The format of Crush.
pub(super) enum Crush {}

impl Format for Crush {
    const LAYOUT: Layout = Layout {
        in_project: Some(".crush/crush.db"),
        endings: &[".db"],
        // Commands say where they ended, which may be anywhere.
        working_directory: WorkingDirectory::Project,
        ..Layout::LINES
    };
    const TABLE: Option<Table> = Some(rows::TABLE);
    const TOOLS: Tools = Tools {
        acts: &[
            (Act::Shell, "bash"),
            (Act::Edit, "edit multiedit write"),
            (Act::Read, "view ls"),
            (Act::Search, "grep glob sourcegraph"),
            (Act::Fetch, "fetch agentic_fetch download"),
            (Act::Todo, "todos"),
            (Act::Spawn, "agent"),
        ],
        parameters: &[],
    };

    /// `crush.db/<session>` or `crush.db/<parent>/<session>`.
    fn classify(rel_path: &str) -> Option<Located> {
        let sessions = rel_path.strip_prefix(rows::TABLE.prefix)?.strip_prefix('/')?;
        located(Agent::Crush, sessions).filter(|located| !located.session.to_string().starts_with(TITLES))
    }

    fn record(fields: Fields<'_>, writer: &mut ItemWriter<'_>) -> Option<usize> {
        record(fields, &MANNER, writer)
    }
}

fn act(name: &str, _: Value<'_>) -> Act {
    // Tools of servers are `mcp_<server>_<tool>`.
    if name.starts_with("mcp_") { Act::Mcp } else { Crush::TOOLS.act(name) }
}
