//! The MCP server: time to its answer to `initialize`, and memory.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use super::sample::Sample;
use super::{Error, Memory, Outcome, Spread, Table, TestDaemon, io_error, process};

/// Number of servers started.
const SERVERS: usize = 30;
/// Timeout of an answer.
const ANSWER: Duration = Duration::from_secs(30);

/// Cost of a server.
#[derive(Clone, Debug, Serialize)]
pub struct Mcp {
    /// How this was measured.
    pub how: &'static str,
    /// From starting the process to its answer.
    pub to_initialize: Spread,
    /// Memory of the last one after its answer; absent where the system does not report it.
    pub memory: Option<Memory>,
}

pub(super) fn measure(daemon: &TestDaemon) -> Result<Outcome<Mcp>, Error> {
    let (mut to_initialize, mut memory) = (Sample::default(), None);
    for _ in 0..SERVERS {
        let server = match to_initialize.time(|| Server::start(daemon))? {
            Ok(server) => server,
            Err(refused) => return Ok(Outcome::skipped(refused)),
        };
        memory = process::memory(server.pid());
    }
    Ok(Outcome::Measured(Mcp {
        how: "`baton mcp` with the daemon running: from starting the process to its answer to `initialize`; memory right \
              after it.",
        to_initialize: to_initialize.spread(),
        memory,
    }))
}

impl Mcp {
    pub(super) fn table(&self) -> Table {
        let mut table = Table::new("MCP server", self.how);
        table.row("start to `initialize`", self.to_initialize.text());
        if let Some(memory) = self.memory {
            table.row("memory", memory.text());
        }
        table
    }
}

/// A running `baton mcp`. It ends when this value is dropped or this process ends, because its input is closed.
pub(super) struct Server {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    calls: u64,
}

impl Server {
    /// Starts and initialises a server; the inner `Err` holds what it printed instead.
    pub(super) fn start(daemon: &TestDaemon) -> Result<Result<Self, String>, Error> {
        let mut command = daemon.command(&["mcp"])?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(io_error("start", Path::new("baton")))?;
        let (line, lines) = mpsc::channel();
        if let Some(output) = child.stdout.take() {
            std::thread::spawn(move || {
                for text in BufReader::new(output).lines().map_while(Result::ok) {
                    if line.send(text).is_err() {
                        break;
                    }
                }
            });
        }
        let errors = child.stderr.take();
        let mut server = Self { input: child.stdin.take(), child, lines, calls: 0 };
        let params = json!({
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "baton-bench", "version": env!("CARGO_PKG_VERSION") },
        });
        if server.call("initialize", &params).is_ok() {
            return Ok(Ok(server));
        }
        server.end();
        let mut said = String::new();
        if let Some(errors) = errors {
            let _ = errors.take(4096).read_to_string(&mut said);
        }
        let said = said.lines().find(|line| !line.is_empty()).unwrap_or("it says nothing").to_owned();
        Ok(Err(format!("Not measured: `baton mcp` does not answer: {said}")))
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends the notification that it is initialised; tools may be called after that.
    pub(super) fn be_ready(&mut self) -> Result<(), Error> {
        self.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
    }

    /// Calls a method and waits for its result.
    pub(super) fn call(&mut self, method: &str, params: &Value) -> Result<Value, Error> {
        self.calls += 1;
        self.write(&json!({ "jsonrpc": "2.0", "id": self.calls, "method": method, "params": params }))?;
        loop {
            let line = self.lines.recv_timeout(ANSWER);
            let line = line.map_err(|_| Error::NothingMeasured(format!("`baton mcp` does not answer {method}")))?;
            let answer: Value =
                serde_json::from_str(&line).map_err(|error| Error::NothingMeasured(error.to_string()))?;
            if answer["id"] == json!(self.calls) {
                return match answer.get("result") {
                    Some(result) => Ok(result.clone()),
                    None => Err(Error::NothingMeasured(format!(
                        "`baton mcp` refuses {method}: {}",
                        answer["error"]["message"]
                    ))),
                };
            }
        }
    }

    fn write(&mut self, message: &Value) -> Result<(), Error> {
        let gone = || Error::NothingMeasured("`baton mcp` is gone".to_owned());
        let input = self.input.as_mut().ok_or_else(gone)?;
        writeln!(input, "{message}").and_then(|()| input.flush()).map_err(|_| gone())
    }

    fn end(&mut self) {
        drop(self.input.take());
        for _ in 0..200 {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}
