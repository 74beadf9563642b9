//! Tools, called as MCP calls them.

use std::sync::Arc;

use baton_events::protocol::{ToolParams, answer, code};

use super::Ended;
use crate::gateway::Services;
use crate::gateway::connection::{Out, failure};

pub(in crate::gateway) async fn call(
    _asked: ToolParams,
    _services: &Arc<Services>,
    _out: &Out,
) -> Result<answer::ToolResult, Ended> {
    Err(failure(code::METHOD_NOT_FOUND, "not built yet").into())
}
