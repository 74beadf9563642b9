//! Test agents: one with an MCP client library, and one that writes raw lines.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ProgressNotificationParam, Tool,
};
use rmcp::service::{NotificationContext, PeerRequestOptions, RequestHandle, RunningService, ServiceError};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ClientHandler, RoleClient, ServiceExt};
use serde_json::Value;
use tokio::net::unix::pipe;
use tokio::runtime::Runtime;

use crate::world::{World, wait};

/// An agent with a client library, and its own `baton mcp`.
pub(crate) struct Agent {
    service: Option<RunningService<RoleClient, Listener>>,
    runtime: Runtime,
    child: Child,
    told: Listener,
}

/// Records progress notifications.
#[derive(Clone, Default)]
struct Listener(Arc<Mutex<Vec<ProgressNotificationParam>>>);

impl ClientHandler for Listener {
    async fn on_progress(&self, told: ProgressNotificationParam, _context: NotificationContext<RoleClient>) {
        self.0.lock().unwrap().push(told);
    }
}

/// The answer of a tool.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) is_error: bool,
    pub(crate) value: Value,
}

impl Answer {
    /// The value; panics if the tool reported an error.
    pub(crate) fn ok(self) -> Value {
        assert!(!self.is_error, "{}", self.value);
        self.value
    }

    /// The error; panics if there is none.
    pub(crate) fn refused(self) -> String {
        assert!(self.is_error, "{}", self.value);
        self.value["error"].as_str().unwrap_or_else(|| panic!("no reason: {}", self.value)).to_owned()
    }
}

fn start(mut command: Command) -> Child {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

impl Agent {
    pub(crate) fn start(world: &World) -> Self {
        let mut child = start(world.command(&["mcp"]));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let told = Listener::default();
        let (output, input) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
        let service = runtime.block_on(async {
            let output = pipe::Receiver::from_owned_fd(OwnedFd::from(output)).unwrap();
            let input = pipe::Sender::from_owned_fd(OwnedFd::from(input)).unwrap();
            told.clone().serve(AsyncRwTransport::new_client(output, input)).await.unwrap()
        });
        Self { service: Some(service), runtime, child, told }
    }

    pub(crate) fn service(&self) -> &RunningService<RoleClient, impl ClientHandler> {
        self.service.as_ref().unwrap()
    }

    pub(crate) fn tools(&self) -> Vec<Tool> {
        self.runtime.block_on(self.service().list_all_tools()).unwrap()
    }

    /// Calls a tool and returns whatever comes of it.
    pub(crate) fn try_call(&self, tool: &str, arguments: &Value) -> Result<CallToolResult, ServiceError> {
        self.runtime.block_on(self.service().call_tool(request(tool, arguments)))
    }

    /// Calls a tool. Text and structured content must say the same.
    pub(crate) fn call(&self, tool: &str, arguments: Value) -> Answer {
        let result = self.try_call(tool, &arguments).unwrap_or_else(|error| panic!("{tool} {arguments}: {error}"));
        let text = &result.content[0].as_text().unwrap().text;
        let value: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{tool}: {error}: {text}"));
        assert_eq!(result.content.len(), 1);
        let structured = result.structured_content.as_ref().unwrap();
        // All tools but one wrap their result, as in Graphiti's server.
        let wraps = baton_protocol::tool::named(tool).is_some_and(|tool| tool.wraps_result());
        assert_eq!(if wraps { &structured["result"] } else { structured }, &value, "{tool}");
        assert!(text.len() <= 80_000, "{tool}: {} bytes", text.len());
        Answer { is_error: result.is_error == Some(true), value }
    }

    /// Starts a call without waiting for the result.
    pub(crate) fn begin(&self, tool: &str, arguments: &Value) -> RequestHandle<RoleClient> {
        let call = CallToolRequest::new(request(tool, arguments));
        let options = PeerRequestOptions::no_options();
        let sent = self.service().send_cancellable_request(ClientRequest::CallToolRequest(call), options);
        self.runtime.block_on(sent).unwrap()
    }

    /// Cancels a call.
    pub(crate) fn cancel(&self, call: RequestHandle<RoleClient>) {
        self.runtime.block_on(call.cancel(Some("not needed any more".to_owned()))).unwrap();
    }

    /// The progress received so far: done, total, what.
    pub(crate) fn told(&self) -> Vec<(f64, Option<f64>, String)> {
        let told = self.told.0.lock().unwrap();
        told.iter().map(|told| (told.progress, told.total, told.message.clone().unwrap_or_default())).collect()
    }

    /// Disconnects; the server must end by itself.
    pub(crate) fn end(mut self) {
        drop(self.service.take());
        let mut status = None;
        let ended = wait(|| {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        assert!(ended, "nobody speaks to it and it goes on");
        assert_eq!(status.unwrap().code(), Some(0));
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn request(tool: &str, arguments: &Value) -> CallToolRequestParams {
    let request = CallToolRequestParams::new(tool.to_owned());
    match arguments {
        Value::Object(arguments) => request.with_arguments(arguments.clone()),
        _ => request,
    }
}

/// An agent that writes raw lines.
pub(crate) struct Lines {
    pub(crate) child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Lines {
    pub(crate) fn start(world: &World) -> Self {
        Self::with(world, &[])
    }

    /// Starts a server with these arguments.
    pub(crate) fn with(world: &World, arguments: &[&str]) -> Self {
        let mut child = start(world.command(&[&["mcp"], arguments].concat()));
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, input, output }
    }

    pub(crate) fn send(&mut self, line: impl AsRef<[u8]>) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line.as_ref()).and_then(|()| input.write_all(b"\n")).unwrap();
    }

    /// The next line; `None` at the end.
    pub(crate) fn line(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.output.read_line(&mut line).unwrap() {
            0 => None,
            _ => Some(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))),
        }
    }

    pub(crate) fn ask(&mut self, request: &Value) -> Value {
        self.send(request.to_string());
        self.line().expect("an answer")
    }

    /// Sends the greeting of an agent with that protocol version.
    pub(crate) fn greet(&mut self, version: &str) -> Value {
        let client = serde_json::json!({"name": "test", "version": "1"});
        let params = serde_json::json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
        let greeted =
            self.ask(&serde_json::json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}));
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        greeted
    }

    /// Closes the server's standard input.
    pub(crate) fn hang_up(&mut self) {
        drop(self.input.take());
    }

    /// Waits until its server has ended; returns the exit code.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        let mut status = None;
        let _ = wait(|| {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.and_then(|status| status.code())
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
