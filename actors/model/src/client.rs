//! The client of an endpoint: one request per call, each with a deadline, and none while the breaker is open.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_openai::config::OpenAIConfig;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::breaker::{Breaker, Down};
use super::chat::{self, ChatRequest, Reply};
use super::embedding::{self, Embedded, Request};
use super::failure::{Failure, Kind};
use super::transport::{self, Transport};
use baton_config::endpoint::Endpoint;

/// A call with a shorter deadline says little about an endpoint when it times out.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest interval at which [`Client::wait_until_ready`] checks.
const LOOK: Duration = Duration::from_secs(5);

/// A client of one endpoint. Clones share its state. Its [`std::fmt::Debug`] contains no key, because it has none.
#[derive(Clone, Debug)]
pub struct Client {
    endpoint: Arc<Endpoint>,
    /// Dimensions to request of vectors.
    dimensions: Option<usize>,
    http: reqwest::Client,
    /// Does not use this process's environment.
    config: OpenAIConfig,
    breaker: Arc<Mutex<Breaker>>,
    /// False once the endpoint has refused `response_format`.
    takes_format: Arc<AtomicBool>,
}

/// What a request does while the breaker is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenPaused {
    /// It fails at once, as [`Kind::Paused`].
    Fails,
    /// It is sent all the same: a person wants to know now.
    AsksAnyway,
}

/// A request that was admitted and has not ended.
struct Admitted<'a> {
    client: &'a Client,
    has_ended: bool,
}

impl Client {
    /// Opens no connection yet. For an `https` address it reads the system's certificates, which takes some
    /// milliseconds.
    pub fn new(endpoint: &Endpoint, dimensions: Option<usize>) -> Result<Self, Failure> {
        // Gives each process other pauses; nothing else depends on this randomness.
        let seed = RandomState::new().build_hasher().finish();
        let config = OpenAIConfig::new()
            .with_api_base(endpoint.base_url.as_str())
            .with_api_key("")
            .with_org_id("")
            .with_project_id("");
        Ok(Self {
            http: transport::http(&endpoint.base_url)?,
            endpoint: Arc::new(endpoint.clone()),
            dimensions,
            config,
            breaker: Arc::new(Mutex::new(Breaker::new(seed))),
            takes_format: Arc::new(AtomicBool::new(true)),
        })
    }

    /// The endpoint.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Requests vectors of texts in one request with deadline `within`. Without texts no request is sent. Most
    /// endpoints refuse empty texts. While the breaker is open this fails at once, as [`Kind::Paused`].
    pub async fn embed(&self, texts: &[String], within: Duration) -> Result<Embedded, Failure> {
        if texts.is_empty() {
            return Ok(Embedded { vectors: Vec::new(), tokens: None, model: None });
        }
        let asking = async {
            let request = Request { model: &self.endpoint.model, input: texts, dimensions: self.dimensions };
            let openai = self.openai(embedding::bytes_max(texts.len(), self.dimensions));
            let body: Box<RawValue> = openai.embeddings().create_byot(request).await.map_err(transport::failure)?;
            embedding::read(body.get(), texts.len(), self.dimensions)
        };
        self.send(asking, within, texts, WhenPaused::Fails).await
    }

    /// Requests a model's answer, in one request with deadline `within`. If the endpoint turns out not to support an
    /// answer format, a second request is sent without it, as are all later ones.
    pub async fn chat(
        &self,
        request: &ChatRequest,
        within: Duration,
        when_paused: WhenPaused,
    ) -> Result<Reply, Failure> {
        if self.takes_format.load(Ordering::Relaxed) {
            match self.send_chat(request, within, when_paused).await {
                Err(failure) if request.format.is_some() && failure.is_of_format() => {
                    tracing::warn!(base_url = %self.endpoint.base_url, "endpoint takes no response_format, left out");
                    self.takes_format.store(false, Ordering::Relaxed);
                }
                replied => return replied,
            }
        }
        self.send_chat(&ChatRequest { format: None, ..request.clone() }, within, when_paused).await
    }

    async fn send_chat(
        &self,
        request: &ChatRequest,
        within: Duration,
        when_paused: WhenPaused,
    ) -> Result<Reply, Failure> {
        let asking = async {
            let openai = self.openai(request.bytes_max());
            let asked = request.body(&self.endpoint);
            let asked = openai.chat().create_byot(asked).await.map_err(transport::failure);
            // A model may exceed its length on one subject and not on another.
            let of_model = |failure: Failure| match failure.kind() {
                Kind::TooLong => failure.of_request(),
                _ => failure,
            };
            let body: Box<RawValue> = asked.map_err(of_model)?;
            chat::read(body.get())
        };
        self.send(asking, within, &request.texts(), when_paused).await
    }

    /// Waits until a request may be sent.
    pub async fn wait_until_ready(&self) {
        while let Some(down) = self.current_pause().filter(|down| !down.again_in.is_zero()) {
            tokio::time::sleep(down.again_in.min(LOOK)).await;
        }
    }

    /// The reason why no request is sent, if there is one.
    pub fn current_pause(&self) -> Option<Down> {
        self.breaker().down(now())
    }

    /// Sends a request if the breaker admits it, and reports its outcome to the breaker.
    async fn send<T>(
        &self,
        asking: impl Future<Output = Result<T, Failure>>,
        within: Duration,
        sent: &[String],
        when_paused: WhenPaused,
    ) -> Result<T, Failure> {
        let passed = self.admit(when_paused)?;
        let ended = tokio::time::timeout(within, asking).await;
        let ended = ended.unwrap_or_else(|_| {
            let seconds = within.as_secs_f64();
            Err(Failure::new(Kind::TimedOut, format!("no answer within {seconds} s")))
        });
        match ended {
            Ok(answer) => {
                passed.succeeded();
                Ok(answer)
            }
            Err(failure) => Err(passed.failed(failure.without_echo(sent), within < PATIENCE)),
        }
    }

    fn admit(&self, when_paused: WhenPaused) -> Result<Admitted<'_>, Failure> {
        match self.breaker().admit(now()) {
            // Its outcome is recorded all the same.
            Err(_) if when_paused == WhenPaused::AsksAnyway => Ok(Admitted { client: self, has_ended: false }),
            Ok(()) => Ok(Admitted { client: self, has_ended: false }),
            Err(Down { failure, again_in }) => {
                let what = format!("{failure}; it is tried again in {} s", again_in.as_secs() + 1);
                Err(Failure::new(Kind::Paused, what))
            }
        }
    }

    /// An async-openai client for one request, whose answer may have this many bytes.
    fn openai(&self, bytes_max: usize) -> async_openai::Client<OpenAIConfig> {
        let transport = Transport { http: self.http.clone(), key: self.endpoint.key.clone(), bytes_max };
        async_openai::Client::build(self.http.clone(), self.config.clone()).with_http_service(transport)
    }

    fn breaker(&self) -> MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Admitted<'_> {
    fn succeeded(mut self) {
        self.has_ended = true;
        if self.client.breaker().succeeded() {
            tracing::info!(base_url = %self.client.endpoint.base_url, "endpoint answers again");
        }
    }

    fn failed(mut self, failure: Failure, is_short: bool) -> Failure {
        self.has_ended = true;
        let mut breaker = self.client.breaker();
        let failure = breaker.failed(now(), failure, is_short);
        if let Some(down) = breaker.down(now()) {
            // The endpoint's own message is not logged, because it may contain what was sent.
            let (kind, again_s) = (failure.kind(), down.again_in.as_secs());
            tracing::warn!(base_url = %self.client.endpoint.base_url, ?kind, again_s, "endpoint failed, paused");
        }
        failure
    }
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.client.breaker().cancelled(now());
        }
    }
}

/// Tokio's clock, so that tests can advance it.
fn now() -> std::time::Instant {
    Instant::now().into_std()
}
