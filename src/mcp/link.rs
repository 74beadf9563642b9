//! Connections to the daemon: one per call; starts a daemon if none runs.

use std::io;
use std::time::{Duration, Instant};

use baton_base::{limits, lock};
use baton_home::endpoint::Endpoint;
use baton_home::{connection, trust};
use baton_protocol as protocol;
use baton_protocol::answer::ToolResult;
use baton_protocol::{Call, Caller, Incoming, PresenceParams, Progress, ToolParams, Welcome, code, method};
use interprocess::local_socket::tokio::Stream;
use interprocess::local_socket::traits::tokio::Stream as _;
use interprocess::local_socket::{GenericFilePath, ToFsName};
use serde::Serialize;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;

use crate::client::{self, Client, Error};
use crate::environment::Environment;

/// Longest line of an answer: more than twice the daemon's own limit.
const LINE_BYTES: u64 = 4 * 1024 * 1024;
/// How long a call waits for a stopping daemon to exit.
const STOPPING: Duration = Duration::from_secs(20);
/// Interval between two tries meanwhile.
const LOOK: Duration = Duration::from_millis(25);

/// Access to the daemon of a home.
pub(super) struct Daemon {
    environment: Environment,
    /// Held while a daemon is being started.
    starting: Mutex<()>,
}

/// Receives the progress of a call.
pub(super) trait OnProgress {
    /// Called with the progress of long work.
    fn progress(&mut self, progress: Progress) -> impl Future<Output = ()> + Send;
}

impl Daemon {
    pub(super) fn new(environment: Environment) -> Self {
        Self { environment, starting: Mutex::new(()) }
    }

    /// Calls a tool. If the connection breaks before an answer, tries once more, starting a daemon if none runs. If the
    /// daemon is stopping, waits until it is gone.
    pub(super) async fn call(
        &self,
        params: &ToolParams,
        listener: &mut (impl OnProgress + Send),
    ) -> Result<ToolResult, Error> {
        let line = line_of(2, method::TOOL, params)?;
        if line.len() > limits::REQUEST_LINE_BYTES {
            let message =
                format!("the call has {} bytes; at most {} are accepted", line.len(), limits::REQUEST_LINE_BYTES);
            return Err(Error::Refused(protocol::Failure { code: code::TOO_MUCH, message }));
        }
        let since = Instant::now();
        let mut broke = false;
        loop {
            let called = async { self.link().await?.call(&line, listener).await }.await;
            match called {
                Err(Error::Broken(error)) if !broke => {
                    tracing::debug!(%error, "connection broke, trying once more");
                    broke = true;
                }
                Err(Error::Refused(failure)) if failure.code == code::STOPPING && since.elapsed() < STOPPING => {
                    tokio::time::sleep(LOOK).await;
                }
                called => return called,
            }
        }
    }

    /// Holds a connection that reports an agent's presence, until it breaks. Starts no daemon. Returns true if a daemon
    /// had accepted it.
    pub(super) async fn hold_presence(&self, caller: &Caller) -> bool {
        let params = PresenceParams { caller: caller.clone() };
        let Ok(line) = line_of(2, method::PRESENCE, &params) else { return false };
        let Ok(Some(mut link)) = Link::connect(&self.environment).await else { return false };
        if link.send(&line).await.is_err() {
            return false;
        }
        let mut is_known = false;
        // After the answer the daemon sends nothing until it exits.
        while let Ok(incoming) = link.line().await {
            match incoming.error {
                None => is_known = true,
                Some(failure) => {
                    tracing::debug!(reason = %failure.message, "presence refused");
                    return false;
                }
            }
        }
        is_known
    }

    /// Connects to a daemon of this version, starting one if none runs.
    async fn link(&self) -> Result<Link, Error> {
        if let Some(link) = Link::connect(&self.environment).await? {
            return Ok(link);
        }
        self.start().await?;
        let link = Link::connect(&self.environment).await?;
        link.ok_or_else(|| Error::Broken(io::ErrorKind::NotConnected.into()))
    }

    /// Starts a daemon of this version, unless one runs.
    pub(super) async fn start(&self) -> Result<(), Error> {
        let _starting = self.starting.lock().await;
        let environment = self.environment.clone();
        let started = tokio::task::spawn_blocking(move || Client::connect_or_start_for_agent(&environment).map(drop));
        started.await.unwrap_or_else(|error| Err(Error::NotStarted(error.to_string())))
    }
}

/// A connection after the greeting.
struct Link {
    stream: BufReader<Stream>,
}

impl Link {
    /// Connects to the running daemon. `None` if there is none, or an older one that has to be replaced.
    async fn connect(environment: &Environment) -> Result<Option<Self>, Error> {
        lock::check_home(&environment.home)?;
        let configured = environment.endpoint();
        let mut stream = open(&configured).await;
        if stream.is_err() {
            for endpoint in connection::other_endpoints(&environment.home, &configured) {
                stream = stream.or(open(&endpoint).await);
            }
        }
        let Ok(stream) = stream else { return Ok(None) };
        trust::check_peer(&stream).map_err(Error::Broken)?;
        let mut link = Self { stream: BufReader::new(stream) };
        let hello = line_of(1, method::HELLO, &connection::hello(environment, "mcp"))?;
        let greeting = async {
            link.send(&hello).await?;
            link.line().await
        };
        let welcomed = match tokio::time::timeout(client::GREET, greeting).await {
            Ok(welcomed) => welcomed,
            Err(_) => return Err(Error::NotAnswering(lock::holder_pid(&environment.home))),
        };
        let welcomed = match welcomed {
            Ok(incoming) => incoming,
            // The daemon is shutting down.
            Err(Error::Broken(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        if let Some(failure) = welcomed.error {
            return Err(Error::Refused(failure));
        }
        let result = welcomed.result.as_deref().map_or("{}", serde_json::value::RawValue::get);
        let welcome: Welcome = serde_json::from_str(result).map_err(|error| Error::Garbled(error.to_string()))?;
        match welcome.protocol.cmp(&protocol::VERSION) {
            std::cmp::Ordering::Equal => Ok(Some(link)),
            std::cmp::Ordering::Greater => Err(Error::NewerDaemon { version: welcome.version }),
            std::cmp::Ordering::Less => Ok(None),
        }
    }

    /// Sends a call and waits for its answer.
    async fn call(mut self, line: &[u8], listener: &mut (impl OnProgress + Send)) -> Result<ToolResult, Error> {
        self.send(line).await?;
        loop {
            let incoming = match tokio::time::timeout(client::SILENT, self.line()).await {
                Ok(incoming) => incoming?,
                Err(_) => return Err(Error::NotAnswering(None)),
            };
            match incoming {
                Incoming { error: Some(failure), .. } => return Err(Error::Refused(failure)),
                Incoming { id: Some(2), result: Some(result), .. } => {
                    return protocol::read(result.get()).map_err(|error| Error::Garbled(error.to_string()));
                }
                Incoming { method: Some(name), params: Some(params), .. } if name == method::PROGRESS => {
                    if let Ok(progress) = protocol::read(params.get()) {
                        listener.progress(progress).await;
                    }
                }
                _ => {}
            }
        }
    }

    async fn send(&mut self, line: &[u8]) -> Result<(), Error> {
        self.stream.get_mut().write_all(line).await.map_err(Error::Broken)
    }

    async fn line(&mut self) -> Result<Incoming, Error> {
        let mut line = Vec::new();
        let read = (&mut self.stream).take(LINE_BYTES).read_until(b'\n', &mut line).await.map_err(Error::Broken)?;
        match line.last() {
            Some(b'\n') => serde_json::from_slice(&line).map_err(|error| Error::Garbled(error.to_string())),
            _ if read as u64 == LINE_BYTES => Err(Error::Garbled("a line that is too long".to_owned())),
            // Truncated: the daemon has gone.
            _ => Err(Error::Broken(io::ErrorKind::UnexpectedEof.into())),
        }
    }
}

async fn open(endpoint: &Endpoint) -> io::Result<Stream> {
    Stream::connect(endpoint.path().to_fs_name::<GenericFilePath>()?).await
}

fn line_of(id: u64, method: &str, params: &impl Serialize) -> Result<Vec<u8>, Error> {
    let call = Call { jsonrpc: "2.0", id, method, params };
    let mut line = serde_json::to_vec(&call).map_err(|error| Error::Garbled(error.to_string()))?;
    line.push(b'\n');
    Ok(line)
}
