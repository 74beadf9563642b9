//! Entities of the memory.

use std::sync::Arc;

use baton_events::protocol::{NodesParams, answer, code};

use super::Ended;
use crate::gateway::Services;
use crate::gateway::connection::{Out, failure};

pub(in crate::gateway) async fn nodes(
    _asked: NodesParams,
    _services: &Arc<Services>,
    _out: &Out,
) -> Result<answer::Nodes, Ended> {
    Err(failure(code::METHOD_NOT_FOUND, "not built yet").into())
}
