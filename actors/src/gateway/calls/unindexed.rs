//! What a query would index.

use std::sync::Arc;

use baton_events::protocol::{UnindexedParams, answer, code};

use super::Ended;
use crate::gateway::Services;
use crate::gateway::connection::failure;

pub(in crate::gateway) async fn unindexed(
    _asked: UnindexedParams,
    _services: &Arc<Services>,
) -> Result<answer::Unindexed, Ended> {
    Err(failure(code::METHOD_NOT_FOUND, "not built yet").into())
}
