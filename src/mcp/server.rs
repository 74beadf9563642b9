//! The MCP server: greets, lists the tools, forwards calls.

use std::sync::Arc;

use baton_protocol::answer::ToolResult;
use baton_protocol::tool;
use baton_protocol::tool::Tool;
use baton_protocol::{Caller, Progress, ToolParams, code};
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorCode, ErrorData, Implementation,
    JsonObject, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, RoleServer};
use serde_json::json;
use tokio::sync::Semaphore;
use uuid::Uuid;

use super::link::{self, Daemon};
use super::presence::Presence;
use super::{listing, progress};
use crate::client::Error;
use crate::environment::{self, Environment};

/// Calls forwarded at once; each has its own connection.
const AT_ONCE: usize = 8;
/// Calls accepted at once; further ones get an error.
const TAKEN: usize = 64;

/// Forwards calls to the daemon.
pub(super) struct Server {
    daemon: Arc<Daemon>,
    caller: Caller,
    /// The tools that are listed.
    tools: Vec<&'static Tool>,
    presence: Presence,
    taken: Semaphore,
    at_once: Semaphore,
}

impl Server {
    pub(super) fn new(environment: Environment, tools: Vec<&'static Tool>) -> Self {
        let (daemon, caller) = (Arc::new(Daemon::new(environment)), environment::agent());
        Self {
            presence: Presence::new(daemon.clone(), caller.clone()),
            daemon,
            caller,
            tools,
            taken: Semaphore::new(TAKEN),
            at_once: Semaphore::new(AT_ONCE),
        }
    }

    /// Reports the agent's presence to the daemon for as long as this lives. Needs a runtime.
    pub(super) fn begin(&self) {
        self.presence.begin();
    }

    async fn forward(
        &self,
        asked: CallToolRequestParams,
        caller: Caller,
        relay: &mut Relay,
    ) -> Result<CallToolResult, ErrorData> {
        let Ok(_taken) = self.taken.try_acquire() else {
            return Ok(error_result(&format!("{TAKEN} calls are already waiting for answers; wait for some of them")));
        };
        let Ok(_turn) = self.at_once.acquire().await else { return Ok(error_result("this server is ending")) };
        let arguments = asked.arguments.map(|arguments| serde_json::value::to_raw_value(&arguments)).transpose();
        let arguments = arguments.map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
        let wraps = tool::named(&asked.name).is_some_and(Tool::wraps_result);
        let params = ToolParams {
            name: asked.name.into_owned(),
            arguments,
            caller,
            // The id makes a call repeated after a broken connection the same request.
            command_id: Some(Uuid::new_v4().to_string()),
        };
        match self.daemon.call(&params, relay).await {
            Ok(answer) => {
                self.presence.reached();
                Ok(result(answer))
            }
            Err(Error::Refused(failure)) if failure.code == code::INVALID_PARAMS => {
                Err(ErrorData::invalid_params(failure.message, None))
            }
            Err(error) => {
                let mut failed = error_result(&error.to_string());
                if wraps {
                    failed.structured_content = failed.structured_content.map(|content| json!({"result": content}));
                }
                Ok(failed)
            }
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let this = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")).with_title("Baton");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(this)
            .with_instructions(listing::INSTRUCTIONS)
    }

    /// The client is already being served, so a slow start of the daemon does not delay it.
    async fn on_initialized(&self, _context: NotificationContext<RoleServer>) {
        match self.daemon.start().await {
            Ok(()) => self.presence.reached(),
            // The first call reports the error to the agent.
            Err(error) => tracing::warn!(%error, "daemon not started"),
        }
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(listing::tools(&self.tools)))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let caller = match session_of_call(&context.meta) {
            Some(id) => {
                self.presence.called(&id);
                Caller { agent_session: Some(id), since: None, ..self.caller.clone() }
            }
            None => self.caller.clone(),
        };
        let reporter = context.meta.get_progress_token().map(progress::Reporter::new);
        let mut relay = Relay { peer: context.peer, reporter };
        tokio::select! {
            forwarded = self.forward(request, caller, &mut relay) => forwarded.map(CallToolResponse::from),
            // Dropping the call closes its connection to the daemon; a cancelled call has no answer.
            () = context.ct.cancelled() => Err(ErrorData::new(ErrorCode::INTERNAL_ERROR, "cancelled", None)),
        }
    }
}

/// Returns the session that a call names in its metadata, as Codex does: it starts servers without naming one.
fn session_of_call(meta: &JsonObject) -> Option<String> {
    let text = |key: &str| meta.get(key)?.as_str().filter(|id| !id.is_empty()).map(str::to_owned);
    text("threadId").or_else(|| text("sessionId"))
}

/// Passes progress on to a client that asked for it.
struct Relay {
    peer: Peer<RoleServer>,
    reporter: Option<progress::Reporter>,
}

impl link::OnProgress for Relay {
    async fn progress(&mut self, progress: Progress) {
        if let Some(notification) = self.reporter.as_mut().and_then(|reporter| reporter.next(progress)) {
            let _ = self.peer.notify_progress(notification).await;
        }
    }
}

fn result(answer: ToolResult) -> CallToolResult {
    let content = answer.content.into_iter().map(|content| ContentBlock::text(content.text)).collect();
    let mut result = if answer.is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
    result.structured_content = answer.structured_content;
    result
}

/// Builds an error result, which the agent sees.
fn error_result(message: &str) -> CallToolResult {
    let value = json!({"error": message});
    let mut result = CallToolResult::error(vec![ContentBlock::text(value.to_string())]);
    result.structured_content = Some(value);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_names_its_session_as_codex_does() {
        for (meta, expected) in [
            (json!({"progressToken": 3, "sessionId": "a", "threadId": "b"}), Some("b")),
            (json!({"sessionId": "a"}), Some("a")),
            (json!({"sessionId": ""}), None),
            (json!({"sessionId": 7, "threadId": {}}), None),
            (json!({}), None),
        ] {
            let named = session_of_call(meta.as_object().unwrap());
            assert_eq!(named.as_deref(), expected, "{meta}");
        }
    }
}
