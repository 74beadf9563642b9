//! The transport: reads a client's lines and writes answers.
//!
//! Every line is answered as JSON-RPC requires: broken JSON and wrong arguments get an error, and reading goes on.
//! While a client does not take its answers nothing more is read from it, so that they do not pile up; [`AnswerStall`]
//! detects if that lasts.
//!
//! # Hazards
//!
//! - rmcp's own transport answers neither broken JSON nor lines over 16 MB, and keeps reading from a client that takes
//!   no answers; this one replaces it. rmcp reports its own name unless given ours, and waits 5 s for calls after the
//!   end of input, which `mcp` bounds.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ClientNotification, ClientRequest, ErrorCode, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};

use super::surrogates;
use baton_protocol::code;

/// Longest line that is accepted, in bytes.
const LINE_BYTES: usize = 16 * 1024 * 1024;
/// Most requests without a written answer.
const UNANSWERED: usize = 128;
/// Methods that the library treats as unknown if their arguments are wrong.
const KNOWN: [&str; 4] = ["initialize", "ping", "tools/list", "tools/call"];

/// Most characters of a wrong value shown in its error.
const SHOWN_CHARS: usize = 20;

/// Beginning of the library's error for a request that neither follows a greeting nor carries one.
const UNGREETED: &str = "request _meta is missing or has malformed required fields";
/// Advice put before that error.
const ADVICE: &str = "initialize first: send `initialize`, then `notifications/initialized`";

/// Reads a client's lines and writes its answers.
pub(super) struct Lines<R, W> {
    reader: BufReader<R>,
    line: Vec<u8>,
    state: Reading,
    writer: Arc<Mutex<Option<W>>>,
    room: Arc<Semaphore>,
    /// Number of answers written.
    taken: Arc<AtomicU64>,
    /// Requests without an answer, with the permit that each holds until it is written.
    unanswered: Vec<(RequestId, OwnedSemaphorePermit)>,
}

/// See [`Lines::answer_stall`].
pub(super) struct AnswerStall {
    room: Arc<Semaphore>,
    taken: Arc<AtomicU64>,
}

impl AnswerStall {
    /// Resolves when the client took no answer and nothing was read for `time`.
    pub(super) async fn persists(&self, time: Duration) {
        loop {
            let taken = self.taken.load(Ordering::Relaxed);
            tokio::time::sleep(time).await;
            if self.room.available_permits() == 0 && self.taken.load(Ordering::Relaxed) == taken {
                return;
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// The line is incomplete.
    Begun,
    /// The line is too long; its rest is being skipped.
    TooLong,
    /// A complete line is ready.
    Whole,
}

impl<R: AsyncRead + Unpin, W> Lines<R, W> {
    pub(super) fn new(reader: R, writer: W) -> Self {
        Self {
            reader: BufReader::new(reader),
            line: Vec::new(),
            state: Reading::Begun,
            writer: Arc::new(Mutex::new(Some(writer))),
            room: Arc::new(Semaphore::new(UNANSWERED)),
            taken: Arc::default(),
            unanswered: Vec::new(),
        }
    }

    /// Returns a detector for a client that takes no answers.
    pub(super) fn answer_stall(&self) -> AnswerStall {
        AnswerStall { room: self.room.clone(), taken: self.taken.clone() }
    }

    /// Reads a line to its end. Returns false at the end of the input. Cancel-safe: continues where it stopped.
    async fn read(&mut self) -> io::Result<bool> {
        while self.state != Reading::Whole {
            let read = self.reader.fill_buf().await?;
            if read.is_empty() {
                // An unterminated last line is truncated: ignore it.
                return Ok(false);
            }
            let end = read.iter().position(|byte| *byte == b'\n').map(|end| end + 1);
            let taken = end.unwrap_or(read.len());
            if self.state == Reading::Begun && self.line.len() + taken > LINE_BYTES {
                self.line = Vec::new();
                self.state = Reading::TooLong;
            }
            if self.state == Reading::Begun {
                self.line.extend_from_slice(&read[..taken]);
            }
            self.reader.consume(taken);
            if end.is_some() {
                self.state = Reading::Whole;
            }
        }
        Ok(true)
    }

    /// Parses the line that was read. `None` if it needs no handling.
    fn taken(&mut self) -> Result<Option<RxJsonRpcMessage<RoleServer>>, Value> {
        self.state = Reading::Begun;
        let mut line = std::mem::take(&mut self.line);
        let message = match line.is_empty() {
            true => {
                return Err(refusal(
                    Value::Null,
                    code::INVALID_REQUEST,
                    &format!("a line may have at most {LINE_BYTES} bytes"),
                ));
            }
            false => parsed(&mut line)?,
        };
        if let Some(JsonRpcMessage::Request(request)) = &message
            && self.unanswered.iter().any(|(id, _)| *id == request.id)
        {
            return Err(refusal(
                json!(request.id),
                code::INVALID_REQUEST,
                "another request with this id has no answer yet",
            ));
        }
        Ok(message)
    }

    /// Records a request as unanswered, and forgets cancelled ones.
    fn note(&mut self, message: &RxJsonRpcMessage<RoleServer>, room: OwnedSemaphorePermit) {
        match message {
            JsonRpcMessage::Request(request) => self.unanswered.push((request.id.clone(), room)),
            JsonRpcMessage::Notification(notification) => {
                // Cancelled requests get no answer.
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification {
                    self.unanswered.retain(|(id, _)| Some(id) != cancelled.params.request_id.as_ref());
                }
            }
            _ => {}
        }
    }
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        mut item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let JsonRpcMessage::Error(refusal) = &mut item
            && refusal.error.message.starts_with(UNGREETED)
        {
            refusal.error.message = format!("{ADVICE} ({})", refusal.error.message).into();
        }
        // The library's message is only the method's name.
        if let JsonRpcMessage::Error(refusal) = &mut item
            && refusal.error.code == ErrorCode::METHOD_NOT_FOUND
        {
            refusal.error.message = format!("unknown method {:?}", refusal.error.message).into();
        }
        let answered = match &item {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(refusal) => refusal.id.as_ref(),
            _ => None,
        };
        let at = answered.and_then(|answered| self.unanswered.iter().position(|(id, _)| id == answered));
        let room = at.map(|at| self.unanswered.swap_remove(at).1);
        let (writer, taken) = (self.writer.clone(), self.taken.clone());
        let line = line_of(&item);
        async move {
            let written = write(&writer, line?).await;
            taken.fetch_add(1, Ordering::Relaxed);
            drop(room);
            written
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            match self.read().await {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    tracing::debug!(%error, "input not read");
                    return None;
                }
            }
            let room = self.room.clone().acquire_owned().await.ok()?;
            match self.taken() {
                Ok(None) => {}
                Ok(Some(message)) => {
                    self.note(&message, room);
                    return Some(message);
                }
                Err(refusal) => {
                    // In a separate task: this future may be dropped, which must not cut an answer in half.
                    let (writer, taken) = (self.writer.clone(), self.taken.clone());
                    tokio::spawn(async move {
                        if let Ok(line) = line_of(&refusal) {
                            let _ = write(&writer, line).await;
                        }
                        taken.fetch_add(1, Ordering::Relaxed);
                        drop(room);
                    });
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        drop(self.writer.lock().await.take());
        Ok(())
    }
}

fn line_of(message: &impl serde::Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

async fn write<W: AsyncWrite + Unpin>(writer: &Mutex<Option<W>>, line: Vec<u8>) -> io::Result<()> {
    let mut writer = writer.lock().await;
    let writer = writer.as_mut().ok_or(io::ErrorKind::NotConnected)?;
    writer.write_all(&line).await?;
    writer.flush().await
}

fn refusal(id: Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// Parses a line, or returns the error that answers it. `None` for an empty line and for an unknown notification.
fn parsed(line: &mut [u8]) -> Result<Option<RxJsonRpcMessage<RoleServer>>, Value> {
    surrogates::replace_lone(line);
    let line: &[u8] = line;
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Ok(None);
    }
    let value: Value = serde_json::from_slice(line)
        .map_err(|error| refusal(Value::Null, code::PARSE, &format!("the line is not JSON: {error}")))?;
    let id = value.get("id").filter(|id| id.is_string() || id.is_number()).cloned();
    let invalid = |why: &str| {
        let message = format!("not a JSON-RPC 2.0 request: {why}");
        Err(refusal(id.clone().unwrap_or_default(), code::INVALID_REQUEST, &message))
    };
    if let Some(why) = malformed(&value) {
        return invalid(&why);
    }
    let method = value.get("method").and_then(Value::as_str).map(str::to_owned);
    let is_wrong = |method: &&str| KNOWN.contains(method) || value.get("params").is_some_and(|it| !it.is_object());
    let wrong = method.as_deref().filter(is_wrong).map(|method| wrong_params(method, &value));
    let wrong_params = || {
        let wrong = wrong.clone().unwrap_or_default();
        Err(refusal(id.clone().unwrap_or_default(), code::INVALID_PARAMS, &wrong))
    };
    let is_known = method.as_deref().is_some_and(|method| KNOWN.contains(&method));
    match serde_json::from_value(value.clone()) {
        Ok(JsonRpcMessage::Request(request)) => match &request.request {
            ClientRequest::CustomRequest(_) if is_known => wrong_params(),
            _ => Ok(Some(JsonRpcMessage::Request(request))),
        },
        Ok(message) => Ok(Some(message)),
        Err(_) if id.is_some() && wrong.is_some() => wrong_params(),
        // Notifications are never answered.
        Err(_) if id.is_none() && method.is_some() => Ok(None),
        Err(_) => invalid("it has neither a method nor a result"),
    }
}

/// Reason why a line is no message. Only the shape of notifications and answers is checked.
fn malformed(value: &Value) -> Option<String> {
    let Some(message) = value.as_object() else {
        return Some(format!("the line is {}; an object is expected", kind(value)));
    };
    let (method, id) = (message.get("method")?, message.get("id"));
    let is_notification = method.as_str().is_some_and(|method| method.starts_with("notifications/"));
    let id = id.filter(|_| !is_notification)?;
    let shown = |value: &Value| match value {
        Value::String(text) => format!("{:?}", text.chars().take(SHOWN_CHARS).collect::<String>()),
        Value::Number(number) => number.to_string(),
        value => kind(value).to_owned(),
    };
    match message.get("jsonrpc") {
        _ if !method.is_string() => Some(format!("method is {}; a string is expected", kind(method))),
        None => Some("jsonrpc is missing; \"2.0\" is expected".to_owned()),
        Some(version) if version != "2.0" => Some(format!("jsonrpc is {}; \"2.0\" is expected", shown(version))),
        _ if id.is_string() || id.is_i64() => None,
        _ => Some(format!("id is {}; a string or an integer is expected", shown(id))),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Describes what is wrong with a method's arguments.
fn wrong_params(method: &str, value: &Value) -> String {
    let params = &value["params"];
    let is_call = method == "tools/call";
    match (&params["name"], &params["arguments"]) {
        _ if !params.is_object() => format!("{method}: params is {}; an object is expected", kind(params)),
        (name, _) if is_call && !name.is_string() => format!("{method}: name is {}; a string is expected", kind(name)),
        (_, arguments) if is_call && !(arguments.is_object() || arguments.is_null()) => {
            format!("{method}: arguments is {}; an object is expected", kind(arguments))
        }
        _ => format!("{method}: params do not fit the method"),
    }
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use rmcp::model::ErrorData;
    use tokio::io::AsyncReadExt;

    use super::*;

    fn check(line: &str, expected: Result<bool, (Value, i64, &str)>) {
        match (parsed(&mut line.as_bytes().to_vec()), expected) {
            (Ok(message), Ok(is_message)) => assert_eq!(message.is_some(), is_message, "{line}"),
            (Err(refused), Err((id, code, says))) => {
                assert_eq!((&refused["id"], &refused["error"]["code"]), (&id, &json!(code)), "{line}: {refused}");
                assert!(refused["error"]["message"].as_str().unwrap().contains(says), "{line}: {refused}");
            }
            (found, expected) => panic!("{line}: {found:?}, not {expected:?}"),
        }
    }

    #[test]
    fn every_line_gets_what_the_protocol_says_of_it() {
        let call = |params: &str| format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}"#);
        check(&call(r#"{"name":"get_status","arguments":{}}"#), Ok(true));
        check(&call(r#"{"name":"get_status","arguments":null}"#), Ok(true));
        check(&call(r#"{"name":"get_status"}"#), Ok(true));
        check(&format!("\u{feff} {}\r", call(r#"{"name":"x \ud83d"}"#)), Ok(true));
        for (params, says) in [
            (r#"{"name":"get_status","arguments":[]}"#, "arguments is a list"),
            (r#"{"name":"get_status","arguments":"{}"}"#, "arguments is a string"),
            (r#"{"name":"get_status","arguments":7}"#, "arguments is a number"),
            (r#"{"name":7}"#, "name is a number"),
            ("{}", "name is null"),
            (r#""x""#, "params is a string"),
            ("[]", "params is a list"),
        ] {
            check(&call(params), Err((json!(7), code::INVALID_PARAMS, says)));
        }
        for broken in ["{", "}{", "nonsense", "\u{0}", r#"{"jsonrpc":"2.0","id":7,"method":"#] {
            check(broken, Err((Value::Null, code::PARSE, "not JSON")));
        }
        for odd in ["[]", "7", "{}", r#"{"id":{}}"#, r#""text""#] {
            check(odd, Err((Value::Null, code::INVALID_REQUEST, "not a JSON-RPC")));
        }
        check(r#"{"jsonrpc":"2.0","id":"a","method":7}"#, Err((json!("a"), code::INVALID_REQUEST, "not a JSON-RPC")));
        for (wrong, id, says) in [
            (r#"{"jsonrpc":"1.0","id":13,"method":"ping"}"#, json!(13), r#"jsonrpc is "1.0"; "2.0" is expected"#),
            (r#"{"id":13,"method":"ping"}"#, json!(13), "jsonrpc is missing"),
            (r#"{"jsonrpc":2,"id":13,"method":"ping"}"#, json!(13), "jsonrpc is 2;"),
            (r#"{"jsonrpc":"2.0","id":19.5,"method":"ping"}"#, json!(19.5), "id is 19.5; a string or an integer"),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, Value::Null, "id is null;"),
            (r#"{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{}}"#, Value::Null, "id is null;"),
            (r#"{"jsonrpc":"2.0","id":[7],"method":"no/such"}"#, Value::Null, "id is a list;"),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, Value::Null, "the line is a list"),
        ] {
            check(wrong, Err((id, code::INVALID_REQUEST, says)));
        }
        for (method, params, says) in
            [("resources/read", "[]", "resources/read: params is a list"), ("prompts/get", "7", "params is a number")]
        {
            let line = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#);
            check(&line, Err((json!(7), code::INVALID_PARAMS, says)));
        }
        check(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, Ok(true));
        check(r#"{"jsonrpc":"2.0","id":null,"method":"notifications/initialized"}"#, Ok(false));
        check("  \t", Ok(false));
        check(r#"{"jsonrpc":"2.0","id":8,"method":"no/such"}"#, Ok(true));
    }

    fn poll_once<F: Future>(future: F) -> impl Future<Output = Option<F::Output>> {
        let mut future = Box::pin(future);
        std::future::poll_fn(move |context| match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => Poll::Ready(None),
        })
    }

    #[test]
    fn nothing_is_read_for_a_client_that_takes_no_answers() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let calls: String =
                (0..1_000).map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n")).collect();
            let (mut client, output) = tokio::io::duplex(16);
            let mut lines = Lines::new(std::io::Cursor::new(calls.into_bytes()), output);
            let mut taken = Vec::new();
            while let Some(Some(JsonRpcMessage::Request(request))) = poll_once(lines.receive()).await {
                taken.push(request.id);
            }
            assert_eq!(taken.len(), UNANSWERED);
            // An answer that is not taken frees no room.
            let refused = ErrorData::internal_error("x".repeat(100), None);
            let answer = JsonRpcMessage::error(refused, Some(taken[0].clone()));
            let mut sending = Box::pin(lines.send(answer));
            assert!(poll_once(sending.as_mut()).await.is_none());
            assert!(poll_once(lines.receive()).await.is_none());
            let mut read = vec![0; 1024];
            let reading = async {
                let mut all = 0;
                while !read[..all].contains(&b'\n') {
                    all += client.read(&mut read[all..]).await.unwrap();
                }
            };
            let (sent, ()) = tokio::join!(sending, reading);
            sent.unwrap();
            assert!(poll_once(lines.receive()).await.flatten().is_some());
            assert!(poll_once(lines.receive()).await.is_none(), "one was taken, one more is read");
            // A cancelled request is not answered and takes no room.
            let before = lines.unanswered.len();
            let mut cancelled =
                br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#.to_vec();
            let message = parsed(&mut cancelled).unwrap().unwrap();
            let room = Arc::new(Semaphore::new(1)).acquire_owned().await.unwrap();
            lines.note(&message, room);
            assert_eq!(lines.unanswered.len(), before - 1);
        });
    }
}
