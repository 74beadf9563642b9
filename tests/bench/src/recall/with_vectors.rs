//! The same questions, asked when every text has its vector.

use std::time::Instant;

use baton_endpoint::FakeEndpoint;
use baton_protocol::answer::Status;
use baton_protocol::method;
use serde::Serialize;

use super::{Error, Level, TestDaemon, io_error};

/// Timeout for all vectors: a small model on a small machine makes some ten per second.
const FILLING: std::time::Duration = std::time::Duration::from_secs(4 * 3600);
/// Interval between two checks.
const LOOK: std::time::Duration = std::time::Duration::from_millis(100);

/// The endpoint that makes the vectors.
#[derive(Clone, Debug)]
pub enum Endpoint {
    /// An endpoint in this process, which gives similar vectors to the few words that it knows as synonyms.
    Own,
    /// Another endpoint.
    Other {
        /// As in `memory.embedding.base_url`.
        base_url: String,
        /// As in `memory.embedding.model`.
        model: String,
        /// As in `memory.embedding.api_key_env`.
        key: Option<String>,
    },
}

/// Figures with vectors.
#[derive(Clone, Debug, Serialize)]
pub struct RecallWithVectors {
    /// The model that made them.
    pub model: String,
    /// Texts that got one.
    pub texts: u64,
    /// Time that took.
    pub filling_seconds: f64,
    /// Questions answered by words alone because their vector did not come in time.
    pub by_words_alone: usize,
    /// Like the level without vectors.
    pub session_level: Level,
    /// Like the level without vectors.
    pub turn_level: Level,
}

/// The filled vectors; keeps its own endpoint alive.
pub(super) struct Filled {
    pub(super) model: String,
    pub(super) texts: u64,
    pub(super) seconds: f64,
    _own: Option<FakeEndpoint>,
}

/// Configures the endpoint and waits until every text has its vector.
pub(super) fn fill(daemon: &mut TestDaemon, endpoint: &Endpoint, progress: &dyn Fn(&str)) -> Result<Filled, Error> {
    let own = match endpoint {
        Endpoint::Own => Some(FakeEndpoint::start().map_err(io_error("listen on", std::path::Path::new("127.0.0.1")))?),
        Endpoint::Other { .. } => None,
    };
    let (base_url, model, key) = match (endpoint, &own) {
        (Endpoint::Other { base_url, model, key }, _) => (base_url.clone(), model.clone(), key.clone()),
        (Endpoint::Own, own) => {
            (own.as_ref().map(FakeEndpoint::base_url).unwrap_or_default(), "words".to_owned(), None)
        }
    };
    let embedding = match key {
        Some(key) => serde_json::json!({"base_url": base_url, "model": model, "api_key_env": key}),
        None => serde_json::json!({"base_url": base_url, "model": model}),
    };
    let path = daemon.environment().home.join("config.json");
    let config = serde_json::json!({"memory": {"embedding": embedding}}).to_string();
    std::fs::write(&path, config).map_err(io_error("write", &path))?;
    let since = Instant::now();
    loop {
        let status: Status = daemon.client.call(method::STATUS, &(), |_| {})?;
        let vectors = status.vectors;
        if vectors.state == "ready" && vectors.done > 0 {
            return Ok(Filled { model, texts: vectors.done, seconds: since.elapsed().as_secs_f64(), _own: own });
        }
        let problem = vectors.problem.unwrap_or_default();
        if since.elapsed() > FILLING || (vectors.state == "waiting" && vectors.done == 0) {
            return Err(Error::NothingMeasured(format!("the endpoint makes no vectors: {problem}")));
        }
        progress(&format!("making vectors: {} done, {} to go {problem}", vectors.done, vectors.pending));
        std::thread::sleep(LOOK);
    }
}
