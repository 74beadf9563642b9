//! One connection: lines in, lines out, each with a bound and a deadline.

use std::io;
use std::sync::Arc;

use baton_events::protocol::{self, Answer, Failure, Hello, Request, Welcome, code, method};
use baton_events::redact::redact;
use interprocess::local_socket::tokio::Stream;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;

use super::Services;
use super::calls::{self, Ended};
use crate::limits;

/// Lines on their way out. A client that calls much and reads nothing fills this and waits.
const LINES_OUT: usize = 64;

/// Serves a client until it leaves, misbehaves or the daemon stops.
pub(super) async fn serve(stream: Stream, services: &Arc<Services>) {
    if let Err(error) = check_peer(&stream) {
        tracing::warn!(%error, "connection of another user refused");
        return;
    }
    let stream = Arc::new(stream);
    let outgoing = stream.clone();
    let (lines, mut queued) = mpsc::channel::<Vec<u8>>(LINES_OUT);
    let writing = tokio::spawn(async move {
        while let Some(line) = queued.recv().await {
            match tokio::time::timeout(limits::WRITE, (&*outgoing).write_all(&line)).await {
                Ok(Ok(())) => {}
                _ => return,
            }
        }
        let _ = (&*outgoing).flush().await;
    });
    if let Err(error) = converse(BufReader::new(&*stream), services, &Out(lines)).await {
        tracing::debug!(%error, "connection ended");
    }
    let _ = writing.await;
}

/// Says that there are too many connections, and hangs up.
pub(super) async fn refuse(stream: Stream) {
    let failure = failure(code::TOO_MUCH, "too many connections to the daemon; try again in a moment");
    let line = line_of(&Answer { jsonrpc: "2.0", id: None, result: None, error: Some(failure) });
    let refusing = async {
        (&stream).write_all(&line).await?;
        // Hanging up on a greeting that was not read would take the answer back.
        (&stream).read(&mut [0; 1024]).await
    };
    let _ = tokio::time::timeout(limits::HELLO, refusing).await;
}

#[cfg(unix)]
fn check_peer(stream: &Stream) -> io::Result<()> {
    use interprocess::local_socket::traits::StreamCommon;
    let peer = stream.peer_creds()?.euid();
    let own = rustix::process::geteuid().as_raw();
    match peer {
        // Where the system tells no uid the private folder is what protects.
        Some(peer) if peer != own => Err(io::Error::other(format!("peer has uid {peer}"))),
        _ => Ok(()),
    }
}

#[cfg(not(unix))]
fn check_peer(_stream: &Stream) -> io::Result<()> {
    Ok(())
}

/// Where a connection's lines go.
#[derive(Clone)]
pub(super) struct Out(mpsc::Sender<Vec<u8>>);

impl Out {
    async fn send(&self, value: &impl Serialize) -> io::Result<()> {
        self.0.send(line_of(value)).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Tells how far long work is. Dropped when the client does not keep up: the next one says more.
    pub(super) fn progress(&self, progress: &protocol::Progress) {
        #[derive(Serialize)]
        struct Notification<'a> {
            jsonrpc: &'static str,
            method: &'static str,
            params: &'a protocol::Progress,
        }
        let notification = Notification { jsonrpc: "2.0", method: method::PROGRESS, params: progress };
        let _ = self.0.try_send(line_of(&notification));
    }

    /// Whether the client has gone.
    pub(super) fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}

fn line_of(value: &impl Serialize) -> Vec<u8> {
    // Everything sent is made of strings and numbers; should it fail, an empty line is no answer and no harm.
    let mut line = serde_json::to_vec(value).unwrap_or_default();
    line.push(b'\n');
    line
}

async fn converse(mut incoming: impl AsyncBufRead + Unpin, services: &Arc<Services>, out: &Out) -> io::Result<()> {
    let mut line = Vec::new();
    let greeted = tokio::time::timeout(limits::HELLO, read_line(&mut incoming, &mut line)).await;
    match greeted {
        Ok(Ok(true)) => {}
        Ok(Ok(false)) => return Ok(()),
        Ok(Err(error)) => return refuse_frame(out, error).await,
        Err(_) => return Err(io::ErrorKind::TimedOut.into()),
    }
    let Some(hello) = greet(&line, services, out).await? else { return Ok(()) };
    let mut stopping = services.stop.subscribe();
    loop {
        let read = tokio::select! {
            read = read_line(&mut incoming, &mut line) => read,
            _ = stopping.wait_for(|stop| *stop) => return Ok(()),
        };
        match read {
            Ok(true) => answer(&line, &hello, services, out).await?,
            Ok(false) => return Ok(()),
            Err(error) => return refuse_frame(out, error).await,
        }
    }
}

/// Reads one line without its end. `false` at the end of input; an error when it is too long.
async fn read_line(incoming: &mut (impl AsyncBufRead + Unpin), line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    loop {
        let available = incoming.fill_buf().await?;
        if available.is_empty() {
            // A line without its end was cut off: whoever sent it has gone.
            return Ok(false);
        }
        let (taken, whole) = match available.iter().position(|byte| *byte == b'\n') {
            Some(end) => (end + 1, true),
            None => (available.len(), false),
        };
        if line.len() + taken > limits::REQUEST_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        line.extend_from_slice(&available[..taken]);
        incoming.consume(taken);
        if whole {
            line.pop();
            return Ok(true);
        }
    }
}

async fn refuse_frame(out: &Out, error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::InvalidData {
        let message = format!("a request may have {} bytes", limits::REQUEST_BYTES);
        return fail(out, None, failure(code::TOO_MUCH, message)).await;
    }
    Err(error)
}

/// What the client has said of itself, if it may go on.
async fn greet(line: &[u8], services: &Services, out: &Out) -> io::Result<Option<Hello>> {
    let request = match parse(line) {
        Ok(request) => request,
        Err(failure) => return fail(out, None, failure).await.map(|()| None),
    };
    if request.method != method::HELLO {
        let wrong = failure(code::INVALID_REQUEST, "a connection begins with the method `hello`");
        return fail(out, request.id, wrong).await.map(|()| None);
    }
    let hello: Hello = match params(request.params) {
        Ok(hello) => hello,
        Err(failure) => return fail(out, request.id, failure).await.map(|()| None),
    };
    let root_refused = match &hello.claude_config_dir {
        // Another protocol's client may mean something else by it.
        Some(directory) if hello.protocol == protocol::VERSION => {
            let named_by = match hello.client.as_str() {
                known @ ("cli" | "mcp" | "hook") => known,
                _ => "client",
            };
            services.roots.name(directory, named_by, &hello.works_in).await.err()
        }
        _ => None,
    };
    let welcome = Welcome {
        protocol: protocol::VERSION,
        version: services.version.clone(),
        pid: std::process::id(),
        roots: services.roots.now().iter().map(|root| redacted(&root.projects.display().to_string())).collect(),
        root_refused: root_refused.map(|why| redacted(&why)),
    };
    tracing::debug!(client = %hello.client, version = %hello.version, protocol = hello.protocol, "client greeted");
    succeed(out, request.id, &welcome).await?;
    Ok(Some(hello))
}

async fn answer(line: &[u8], hello: &Hello, services: &Arc<Services>, out: &Out) -> io::Result<()> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Ok(());
    }
    let request = match parse(line) {
        Ok(request) => request,
        Err(failure) => return fail(out, None, failure).await,
    };
    // `hello` and `stop` are understood for ever; everything else only between programs of one protocol.
    if hello.protocol != protocol::VERSION && request.method != method::STOP {
        let message = format!(
            "this daemon is Baton {} (protocol {}), the client speaks protocol {}: run `baton stop` with either, then the newer one",
            services.version,
            protocol::VERSION,
            hello.protocol
        );
        return fail(out, request.id, failure(code::OTHER_VERSION, message)).await;
    }
    let called = calls::call(&request.method, request.params, services, out).await;
    // A notification is not answered, whatever came of it.
    let Some(id) = request.id else { return Ok(()) };
    match called {
        Ok(result) => out.send(&Answer { jsonrpc: "2.0", id: Some(id), result: Some(result), error: None }).await,
        Err(Ended::Failure(failure)) => fail(out, Some(id), failure).await,
        Err(Ended::ClientGone) => Err(io::ErrorKind::BrokenPipe.into()),
    }
}

fn parse(line: &[u8]) -> Result<Request<'_>, Failure> {
    let request: Request<'_> = serde_json::from_slice(line).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => failure(code::INVALID_REQUEST, format!("not a request: {error}")),
        _ => failure(code::PARSE, format!("not JSON: {error}")),
    })?;
    let plain_id = request.id.is_none_or(|id| matches!(id.get().as_bytes().first(), Some(b'"' | b'0'..=b'9' | b'-')));
    if request.jsonrpc != "2.0" || !plain_id {
        return Err(failure(code::INVALID_REQUEST, "not a JSON-RPC 2.0 request with a string or number as id"));
    }
    Ok(request)
}

/// The arguments of a call; none are an empty object.
pub(super) fn params<'a, T: serde::Deserialize<'a>>(raw: Option<&'a RawValue>) -> Result<T, Failure> {
    let text = raw.map_or("{}", RawValue::get);
    serde_json::from_str(text).map_err(|error| failure(code::INVALID_PARAMS, format!("wrong arguments: {error}")))
}

/// Why a call has no result. It may name what was asked for, and directories: like all that is answered it holds nothing
/// that looks like a secret.
pub(super) fn failure(code: i64, message: impl Into<String>) -> Failure {
    Failure { code, message: redacted(&message.into()) }
}

fn redacted(text: &str) -> String {
    redact(text).into_owned()
}

async fn fail(out: &Out, id: Option<&RawValue>, failure: Failure) -> io::Result<()> {
    out.send(&Answer { jsonrpc: "2.0", id, result: None, error: Some(failure) }).await
}

async fn succeed(out: &Out, id: Option<&RawValue>, result: &impl Serialize) -> io::Result<()> {
    let result = serde_json::value::to_raw_value(result).map_err(io::Error::other)?;
    out.send(&Answer { jsonrpc: "2.0", id, result: Some(result), error: None }).await
}
