//! The tracking switch, shown or set.

use std::sync::Arc;

use baton_events::protocol::{TrackingParams, answer, code};

use super::Ended;
use crate::gateway::Services;
use crate::gateway::connection::failure;

pub(in crate::gateway) async fn tracking(
    _asked: TrackingParams,
    _services: &Arc<Services>,
) -> Result<answer::Tracking, Ended> {
    Err(failure(code::METHOD_NOT_FOUND, "not built yet").into())
}
