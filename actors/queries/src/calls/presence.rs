//! `presence`: the MCP server of an agent registers. It is sent once; the end of the connection ends it.

use std::sync::Arc;

use baton_protocol::{PresenceParams, code};
use serde_json::value::RawValue;

use super::{QueryError, result, stopping};
use crate::client::{ClientRef, failure, params};
use baton_tracking::hooks::{Hooks, Present};

/// Records in `present` which session the connection belongs to.
///
/// # Errors
///
/// If the arguments are wrong or the daemon is stopping.
pub fn presence(
    raw: Option<&RawValue>,
    present: &mut Option<Present>,
    hooks: &Arc<Hooks>,
    client: &ClientRef,
) -> Result<Box<RawValue>, QueryError> {
    let PresenceParams { caller } = params(raw)?;
    if *client.stopping().borrow() {
        return Err(stopping().into());
    }
    if !client.hold_open() {
        let message = "too many MCP servers hold a connection; the end of this one will not be noticed";
        return Err(failure(code::TOO_MUCH, message).into());
    }
    // A new registration replaces the previous one.
    let arrived = hooks.arrive(caller);
    *present = Some(arrived);
    result(&serde_json::json!({"present": true}))
}
