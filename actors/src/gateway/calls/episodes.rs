//! Episodes, newest first.

use std::sync::Arc;

use baton_events::protocol::{EpisodesParams, answer, code};

use super::Ended;
use crate::gateway::Services;
use crate::gateway::connection::{Out, failure};

pub(in crate::gateway) async fn episodes(
    _asked: EpisodesParams,
    _services: &Arc<Services>,
    _out: &Out,
) -> Result<answer::Episodes, Ended> {
    Err(failure(code::METHOD_NOT_FOUND, "not built yet").into())
}
