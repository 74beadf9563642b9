//! One session tracked again, or no more.

use std::sync::Arc;

use baton_events::protocol::{TrackParams, UntrackParams, answer, code};

use super::Ended;
use crate::gateway::Services;
use crate::gateway::connection::failure;

pub(in crate::gateway) async fn track(_asked: TrackParams, _services: &Arc<Services>) -> Result<answer::Track, Ended> {
    Err(failure(code::METHOD_NOT_FOUND, "not built yet").into())
}

pub(in crate::gateway) async fn untrack(
    _asked: UntrackParams,
    _services: &Arc<Services>,
) -> Result<answer::Track, Ended> {
    Err(failure(code::METHOD_NOT_FOUND, "not built yet").into())
}
