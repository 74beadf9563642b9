//! A client of the socket, like any program: JSON-RPC 2.0, one line in each direction.

use std::collections::BTreeMap;
use std::path::Path;

use baton_protocol as protocol;
use baton_protocol::{Hello, method};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use crate::world::DEADLINE;

pub(crate) struct Client {
    stream: BufReader<UnixStream>,
    calls: u64,
}

impl Client {
    /// Connects and greets.
    pub(crate) async fn connect(home: &Path) -> Result<Self, String> {
        let told = |error: std::io::Error| error.to_string();
        let endpoint = baton_home::endpoint::Endpoint::for_home(home);
        let stream = UnixStream::connect(endpoint.path()).await.map_err(told)?;
        let mut client = Self { stream: BufReader::new(stream), calls: 0 };
        let hello = Hello {
            protocol: protocol::VERSION,
            version: "test".to_owned(),
            client: "cli".to_owned(),
            claude_config_dir: None,
            codex_home: None,
            directories: BTreeMap::new(),
            works_in: Vec::new(),
        };
        client.call(method::HELLO, serde_json::to_value(hello).unwrap()).await?;
        Ok(client)
    }

    /// Calls a method; returns the result, or the message of the error.
    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Result<Value, String> {
        tokio::time::timeout(DEADLINE, self.called(method, params))
            .await
            .unwrap_or_else(|_| panic!("no answer to {method} in time"))
    }

    async fn called(&mut self, method: &str, params: Value) -> Result<Value, String> {
        let told = |error: std::io::Error| error.to_string();
        self.calls += 1;
        let line = format!("{}\n", json!({"jsonrpc": "2.0", "id": self.calls, "method": method, "params": params}));
        self.stream.get_mut().write_all(line.as_bytes()).await.map_err(told)?;
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line).await.map_err(told)? == 0 {
                return Err("the connection has ended".to_owned());
            }
            let mut answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] == json!(self.calls) {
                return match answer["error"].take() {
                    Value::Null => Ok(answer["result"].take()),
                    error => Err(error["message"].as_str().unwrap_or_default().to_owned()),
                };
            }
        }
    }
}
