//! Hooks of agents, and the text that they return.

use std::sync::Arc;
use std::time::Duration;

use baton_events::session::SignalKind;
use baton_protocol::answer::{Hook, HookStats};
use baton_protocol::{HookParams, HookTook, code};
use tokio::time::Instant;

use super::QueryError;
use crate::client::failure;
use crate::handoff::Handoffs;
use baton_tracking::hooks::{CheckedHook, Hooks, Taken};

/// Longest wait of a hook for its text, whatever it requests.
const WAIT: Duration = Duration::from_secs(10);
/// Share of the wait reserved for delivering the answer.
const WAY_PERCENT: u32 = 20;

pub(crate) async fn hook(asked: HookParams, hooks: &Arc<Hooks>, handoffs: &Arc<Handoffs>) -> Result<Hook, QueryError> {
    let wait = Duration::from_millis(asked.wait_ms).min(WAIT);
    let until = Instant::now() + wait * (100 - WAY_PERCENT) / 100;
    // Earlier spooled hooks come first, as far as time permits, above all the end of the previous session.
    let _ = tokio::time::timeout_at(until, hooks.drain()).await;
    let (status, signal) = match hooks.handle(&asked).await {
        Taken::Recorded(signal) => ("recorded", signal),
        Taken::Known(signal) => ("known", signal),
        Taken::Accepted(signal) => ("accepted", signal),
        Taken::Ignored(why) => {
            let why = Some(why.as_str().to_owned());
            return Ok(Hook { status: "ignored".to_owned(), why, context: None });
        }
        Taken::Failed(reason) => return Err(failure(code::INTERNAL, format!("not recorded: {reason}")).into()),
    };
    let context = context(handoffs, &signal, until).await;
    Ok(Hook { status: status.to_owned(), why: None, context })
}

/// The text for the agent, if it is available in time.
async fn context(handoffs: &Arc<Handoffs>, signal: &CheckedHook, until: Instant) -> Option<String> {
    match signal.kind {
        SignalKind::SessionStart => handoffs.for_start(signal, until).await,
        SignalKind::UserPromptSubmit => handoffs.for_prompt(signal, until).await,
        _ => None,
    }
}

pub(crate) fn record_duration(took: &HookTook, hooks: &Hooks) -> serde_json::Value {
    hooks.record_duration(took);
    serde_json::json!({})
}

pub(crate) async fn stats(hooks: &Hooks) -> Result<HookStats, QueryError> {
    Ok(hooks.stats().await)
}
