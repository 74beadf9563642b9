//! A range of history, indexed now or counted.

use std::sync::Arc;

use baton_events::protocol::{SyncParams, answer, code};

use super::Ended;
use crate::gateway::Services;
use crate::gateway::connection::{Out, failure};

pub(in crate::gateway) async fn sync(
    _asked: SyncParams,
    _services: &Arc<Services>,
    _out: &Out,
) -> Result<answer::Sync, Ended> {
    Err(failure(code::METHOD_NOT_FOUND, "not built yet").into())
}
