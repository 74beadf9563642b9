//! One connection: reads and writes lines, each with a size limit and a deadline.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use baton_conversation::item::Agent;
use baton_protocol as protocol;
use baton_protocol::{Answer, Failure, Hello, Request, Welcome, code, method};
use interprocess::local_socket::tokio::Stream;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

use super::connection_slots::{Activity, ConnectionSlot};
use baton_base::limits;
use baton_queries::DaemonParts;
use baton_queries::calls;
use baton_queries::client::{Client, ClientRef, QueryError, failure, params, redacted};
use baton_tracking::hooks::Present;

/// Limit of queued lines. A client that calls a lot without reading its answers must wait.
const LINES_OUT: usize = 64;
/// Buffer capacity kept between lines.
const LINE_KEPT_BYTES: usize = 64 * 1024;

/// Serves a client until it disconnects, misbehaves or the daemon stops.
pub(super) async fn serve(stream: Stream, slot: &Arc<ConnectionSlot>, parts: &Arc<DaemonParts>) {
    let stream = Arc::new(stream);
    let outgoing = stream.clone();
    let (lines, mut queued) = mpsc::channel::<Line>(LINES_OUT);
    let writing = baton_base::task::spawn(async move {
        while let Some(Line { bytes, room: _room }) = queued.recv().await {
            match tokio::time::timeout(limits::WRITE, (&*outgoing).write_all(&bytes)).await {
                Ok(Ok(())) => {}
                _ => return,
            }
        }
        let _ = (&*outgoing).flush().await;
    });
    let room = Arc::new(Semaphore::new(limits::ANSWERS_BYTES));
    let out = LineWriter { lines, room, slot: slot.clone(), stopping: parts.stop.subscribe() };
    if let Err(error) = converse(BufReader::new(&*stream), parts, &out).await {
        tracing::debug!(%error, "connection ended");
    }
    drop(out);
    let _ = writing.await;
}

/// Answers that there are too many connections, and disconnects.
pub(super) async fn refuse(stream: Stream) {
    let failure = failure(code::TOO_MUCH, "too many connections to the daemon; try again in a moment");
    let line = encode_line(&Answer { jsonrpc: "2.0", id: None, result: None, error: Some(failure) });
    let refusing = async {
        (&stream).write_all(&line).await?;
        // Read the greeting first: closing with unread input would discard the answer.
        (&stream).read(&mut [0; 1024]).await
    };
    let _ = tokio::time::timeout(limits::HELLO, refusing).await;
}

/// A line to be written, with its share of the buffer until then.
struct Line {
    bytes: Vec<u8>,
    room: OwnedSemaphorePermit,
}

/// Writes a connection's lines.
#[derive(Clone)]
struct LineWriter {
    lines: mpsc::Sender<Line>,
    room: Arc<Semaphore>,
    slot: Arc<ConnectionSlot>,
    stopping: watch::Receiver<bool>,
}

impl LineWriter {
    async fn send(&self, value: &impl Serialize) -> io::Result<()> {
        let bytes = encode_line(value);
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        let room = self.room.clone().acquire_many_owned(buffer_share(&bytes)).await.map_err(|_| gone())?;
        self.lines.send(Line { bytes, room }).await.map_err(|_| gone())
    }
}

impl Client for LineWriter {
    fn progress(&self, progress: &protocol::Progress) {
        #[derive(Serialize)]
        struct Notification<'a> {
            jsonrpc: &'static str,
            method: &'static str,
            params: &'a protocol::Progress,
        }
        let notification = Notification { jsonrpc: "2.0", method: method::PROGRESS, params: progress };
        let bytes = encode_line(&notification);
        if let Ok(room) = self.room.clone().try_acquire_many_owned(buffer_share(&bytes)) {
            let _ = self.lines.try_send(Line { bytes, room });
        }
    }

    fn is_closed(&self) -> bool {
        self.lines.is_closed()
    }

    fn stopping(&self) -> watch::Receiver<bool> {
        self.stopping.clone()
    }

    fn hold_open(&self) -> bool {
        self.slot.hold_open()
    }
}

/// A line's share of the buffer; a longer line waits until all of it is free.
fn buffer_share(line: &[u8]) -> u32 {
    u32::try_from(line.len().min(limits::ANSWERS_BYTES)).unwrap_or(u32::MAX)
}

fn encode_line(value: &impl Serialize) -> Vec<u8> {
    // Strings and numbers always serialise; if they did not, an empty line would do no harm.
    let mut line = serde_json::to_vec(value).unwrap_or_default();
    line.push(b'\n');
    line
}

async fn converse(
    mut incoming: impl AsyncBufRead + Unpin,
    parts: &Arc<DaemonParts>,
    out: &LineWriter,
) -> io::Result<()> {
    let mut line = Vec::new();
    let greeted = tokio::time::timeout(limits::HELLO, read_line(&mut incoming, &mut line)).await;
    match greeted {
        Ok(Ok(true)) => {}
        Ok(Ok(false)) => return Ok(()),
        Ok(Err(error)) => return refuse_frame(out, error).await,
        Err(_) => return Err(io::ErrorKind::TimedOut.into()),
    }
    let Some(hello) = greet(&line, parts, out).await? else { return Ok(()) };
    let mut rate = Rate::new(Instant::now());
    let mut stopping = out.stopping();
    let mut present = None;
    loop {
        out.slot.set_activity(Activity::Idle);
        let read = tokio::select! {
            read = read_line(&mut incoming, &mut line) => read,
            _ = stopping.wait_for(|stop| *stop) => return Ok(()),
        };
        match read {
            Ok(true) => {
                out.slot.set_activity(Activity::Calling);
                let wait = rate.take(Instant::now());
                if !wait.is_zero() {
                    tokio::time::sleep(wait).await;
                }
                answer(&line, &hello, &mut present, parts, out).await?;
                line.shrink_to(LINE_KEPT_BYTES);
            }
            Ok(false) => return Ok(()),
            Err(error) => return refuse_frame(out, error).await,
        }
    }
}

/// Reads one line without its end. Returns `false` at the end of input, and an error if the line is too long or arrives
/// too slowly.
async fn read_line(incoming: &mut (impl AsyncBufRead + Unpin), line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    // The start of a line may take any time.
    incoming.fill_buf().await?;
    tokio::time::timeout(limits::REQUEST_TIME, read_begun(incoming, line)).await.map_err(|_| io::ErrorKind::TimedOut)?
}

async fn read_begun(incoming: &mut (impl AsyncBufRead + Unpin), line: &mut Vec<u8>) -> io::Result<bool> {
    loop {
        let available = incoming.fill_buf().await?;
        if available.is_empty() {
            // An unfinished line means that the client has gone.
            return Ok(false);
        }
        let (taken, whole) = match available.iter().position(|byte| *byte == b'\n') {
            Some(end) => (end + 1, true),
            None => (available.len(), false),
        };
        if line.len() + taken > limits::REQUEST_LINE_BYTES {
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

async fn refuse_frame(out: &LineWriter, error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::InvalidData {
        let message = format!("a request may have {} bytes", limits::REQUEST_LINE_BYTES);
        return fail(out, None, failure(code::TOO_MUCH, message)).await;
    }
    Err(error)
}

/// Handles the greeting. Returns it if the client may go on.
async fn greet(line: &[u8], parts: &DaemonParts, out: &LineWriter) -> io::Result<Option<Hello>> {
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
    // Disconnect: the client then starts a daemon for the home that it means.
    if parts.vitals.check() {
        return Ok(None);
    }
    let (mut root_refused, mut codex_refused, mut refused) = (None, None, BTreeMap::new());
    // The directory may mean something else in another protocol version.
    if hello.protocol == protocol::VERSION {
        let named_by = match hello.client.as_str() {
            known @ ("cli" | "mcp" | "hook") => known,
            _ => "client",
        };
        if let Some(directory) = &hello.claude_config_dir {
            root_refused = parts.roots.admit_claude_code(directory, named_by, &hello.works_in).await.err();
        }
        if let Some(directory) = &hello.codex_home {
            codex_refused = parts.roots.admit(Agent::Codex, directory, named_by, &hello.works_in).await.err();
        }
        for (name, directory) in &hello.directories {
            if let Some(agent) = Agent::parse(name)
                && let Err(why) = parts.roots.admit(agent, directory, named_by, &hello.works_in).await
            {
                refused.insert(name.clone(), redacted(&why));
            }
        }
    }
    let welcome = Welcome {
        protocol: protocol::VERSION,
        version: parts.info.version.clone(),
        pid: std::process::id(),
        roots: parts.roots.now().iter().map(|root| redacted(&root.projects.display().to_string())).collect(),
        root_refused: root_refused.map(|why| redacted(&why)),
        refused,
        codex_refused: codex_refused.map(|why| redacted(&why)),
        roots_configured: parts.catalog.settings.now().watch_directories.is_some(),
    };
    tracing::debug!(client = %hello.client, version = %hello.version, protocol = hello.protocol, "client greeted");
    succeed(out, request.id, &welcome).await?;
    Ok(Some(hello))
}

async fn answer(
    line: &[u8],
    hello: &Hello,
    present: &mut Option<Present>,
    parts: &Arc<DaemonParts>,
    out: &LineWriter,
) -> io::Result<()> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Ok(());
    }
    let request = match parse(line) {
        Ok(request) => request,
        Err(failure) => return fail(out, None, failure).await,
    };
    // `hello` and `stop` are understood for ever; everything else requires the same protocol version.
    if hello.protocol != protocol::VERSION && request.method != method::STOP {
        let message = format!(
            "this daemon is Baton {} (protocol {}), the client speaks protocol {}: run `baton stop` with either, then the newer one",
            parts.info.version,
            protocol::VERSION,
            hello.protocol
        );
        return fail(out, request.id, failure(code::OTHER_VERSION, message)).await;
    }
    let client: ClientRef = Arc::new(out.clone());
    let called = match request.method.as_str() {
        // Applies to the connection, for as long as it lasts.
        method::PRESENCE => calls::presence(request.params, present, &parts.hooks, &client),
        name => calls::call(name, request.params, parts, &client).await,
    };
    // A notification is not answered.
    let Some(id) = request.id else { return Ok(()) };
    // The home was lost, and the call may have touched two homes: do not acknowledge it.
    if let Some(reason) = parts.vitals.failure() {
        let message = format!("{reason}, so this daemon ends; run the command again");
        return fail(out, Some(id), failure(code::STOPPING, message)).await;
    }
    match called {
        Ok(result) => out.send(&Answer { jsonrpc: "2.0", id: Some(id), result: Some(result), error: None }).await,
        Err(QueryError::Failure(failure)) => fail(out, Some(id), failure).await,
        Err(QueryError::ClientGone) => Err(io::ErrorKind::BrokenPipe.into()),
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

async fn fail(out: &LineWriter, id: Option<&RawValue>, failure: Failure) -> io::Result<()> {
    out.send(&Answer { jsonrpc: "2.0", id, result: None, error: Some(failure) }).await
}

async fn succeed(out: &LineWriter, id: Option<&RawValue>, result: &impl Serialize) -> io::Result<()> {
    let result = serde_json::value::to_raw_value(result).map_err(io::Error::other)?;
    out.send(&Answer { jsonrpc: "2.0", id, result: Some(result), error: None }).await
}

/// The rate limit of one client: generous, and beyond it calls are delayed. A token bucket: full at first, and refilled at a steady rate.
#[derive(Debug)]
struct Rate {
    /// When the bucket will be full again.
    full_at: Instant,
}

impl Rate {
    fn new(now: Instant) -> Self {
        Self { full_at: now }
    }

    /// Takes one token, and returns how long the call must wait for it.
    fn take(&mut self, now: Instant) -> Duration {
        self.full_at = self.full_at.max(now) + limits::CALL_EVERY;
        let full_in = self.full_at.saturating_duration_since(now);
        full_in.saturating_sub(limits::CALL_EVERY * limits::CALLS_AT_ONCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_free_and_what_follows_comes_at_the_steady_rate() {
        let start = Instant::now();
        let mut rate = Rate::new(start);
        for call in 0..limits::CALLS_AT_ONCE {
            assert_eq!(rate.take(start), Duration::ZERO, "call {call}");
        }
        assert_eq!(rate.take(start), limits::CALL_EVERY);
        assert_eq!(rate.take(start), limits::CALL_EVERY * 2);
        // A client that waits as told gets one each time.
        let later = start + limits::CALL_EVERY * 2;
        assert_eq!(rate.take(later), limits::CALL_EVERY);
        // After any pause there is one full burst.
        let much_later = start + Duration::from_secs(3600);
        for _ in 0..limits::CALLS_AT_ONCE {
            assert_eq!(rate.take(much_later), Duration::ZERO);
        }
        assert_eq!(rate.take(much_later), limits::CALL_EVERY);
    }
}
