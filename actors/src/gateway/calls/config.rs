//! The configuration with the origin of each value.

use std::sync::Arc;

use baton_events::protocol::code;

use super::Ended;
use crate::gateway::Services;
use crate::gateway::connection::failure;

pub(in crate::gateway) async fn config(_services: &Arc<Services>) -> Result<serde_json::Value, Ended> {
    Err(failure(code::METHOD_NOT_FOUND, "not built yet").into())
}
