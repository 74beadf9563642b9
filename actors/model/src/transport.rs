//! How a request goes out: once, with the key put in at the last moment, and an answer that is bounded before anybody
//! reads it. async-openai's own way would try again by itself, wait as long as an endpoint says, read without bound,
//! and write what it cannot read into the log.
//!
//! # Hazards
//!
//! - async-openai retries, obeys `Retry-After` without bound, and `OpenAIConfig::new` reads variables of its
//!   own; none of this is used. Without certificates reqwest builds no client: an `http` address gets an empty
//!   store. Redirects are not followed, nor proxies for this machine.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use serde_json::value::RawValue;

use super::breaker::LONGEST;
use super::failure::{Failure, Kind};
use super::key::{self, Key};
use baton_config::endpoint::BaseUrl;
use baton_config::endpoint::KeySource;

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(5);
/// How long an answer of which something has come may stand still. Before that, whoever stands between may have sent a
/// status at once, and the model is still at it.
const BETWEEN: Duration = Duration::from_secs(30);
/// How long a connection is kept for the next request.
const IDLE: Duration = Duration::from_secs(60);
/// Of an answer that is no success, how much is read.
const ERROR_BYTES: usize = 64 * 1024;
/// Longest that the system's own words are shown.
const CAUSE_CHARS: usize = 200;
/// How pages begin that do not say that they are some; what a model may begin with (`<think>`) is none of it.
const PAGES: [&[u8]; 8] = [b"<!", b"<?xml", b"<html", b"<head", b"<body", b"<meta", b"<title", b"<script"];
/// Bytes of the longest of them.
const PAGE_BYTES: usize = 7;

/// The way to one endpoint, for one request.
#[derive(Clone)]
pub(super) struct Transport {
    pub(super) http: Client,
    pub(super) key: Option<KeySource>,
    /// Most bytes of an answer.
    pub(super) bytes_max: usize,
}

/// What speaks HTTP with an endpoint, and with nobody else. Reads the system's certificates for one that is encrypted,
/// which takes some milliseconds; connects to nothing yet.
pub(super) fn http(base_url: &BaseUrl) -> Result<Client, Failure> {
    // Somebody else may have installed one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .user_agent(concat!("baton/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        .pool_idle_timeout(IDLE)
        .pool_max_idle_per_host(2)
        // Neither key nor texts go where nobody has sent them.
        .redirect(Policy::none());
    if base_url.is_local() {
        builder = builder.no_proxy();
    }
    if !base_url.is_encrypted() {
        // Nothing is ever verified: a machine without certificates can do this too.
        let none = rustls::ClientConfig::builder().with_root_certificates(rustls::RootCertStore::empty());
        builder = builder.tls_backend_preconfigured(none.with_no_client_auth());
    }
    builder.build().map_err(|error| Failure::unconnected(&cause(&error)))
}

impl tower_service::Service<HttpRequestFactory> for Transport {
    type Response = Response;
    type Error = OpenAIError;
    type Future = Pin<Box<dyn Future<Output = Result<Response, OpenAIError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), OpenAIError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: HttpRequestFactory) -> Self::Future {
        let transport = self.clone();
        Box::pin(async move {
            let body = transport.send(request).await?;
            Ok(Response::from(http::Response::new(body)))
        })
    }
}

impl Transport {
    /// The body of a success: JSON, and not too long.
    async fn send(&self, request: HttpRequestFactory) -> Result<Vec<u8>, OpenAIError> {
        let key = match self.key.clone() {
            None => None,
            Some(source @ KeySource::Variable(_)) => Some(key::read(&source).map_err(boxed)?),
            Some(source @ KeySource::File(_)) => {
                let read = tokio::task::spawn_blocking(move || key::read(&source)).await;
                let broke = |_| boxed(Failure::new(Kind::NoKeyFile, "reading the file of the key broke"));
                Some(read.map_err(broke)?.map_err(boxed)?)
            }
        };
        let mut request = request.build().await?;
        request.headers_mut().remove(AUTHORIZATION);
        if let Some(value) = key.as_ref().and_then(Key::header) {
            request.headers_mut().insert(AUTHORIZATION, value);
        }
        let mut response = self.http.execute(request).await.map_err(|error| boxed(broken(&error)))?;
        let status = response.status();
        if !status.is_success() {
            let retry_after = retry_after(response.headers());
            // What cannot be read of it is no reason of its own.
            let body = read(&mut response, ERROR_BYTES).await.unwrap_or_else(|unread| unread.body);
            let hide = |said: &str| key.map_or_else(|| said.to_owned(), |key| key.hide_in(said));
            return Err(boxed(Failure::answered(status, retry_after, &body, hide)));
        }
        let body = read(&mut response, self.bytes_max).await.map_err(|unread| boxed(unread.why))?;
        match serde_json::from_slice::<&RawValue>(&body) {
            // What is a success for HTTP may say the key all the same.
            Ok(answer) => {
                Ok(key.map_or_else(|| answer.get().to_owned(), |key| key.hide_in_json(answer.get())).into_bytes())
            }
            Err(_) => {
                let why = match looks(says_page(response.headers()), &body, true) {
                    Looks::Page => page(),
                    _ => Failure::new(Kind::NotUnderstood, "the endpoint's answer is no JSON"),
                };
                Err(boxed(why))
            }
        }
    }
}

/// What had come, and why no more of it.
struct Unread {
    body: Vec<u8>,
    why: Failure,
}

async fn read(response: &mut Response, bytes_max: usize) -> Result<Vec<u8>, Unread> {
    let mut body = Vec::new();
    let too_long = || Failure::new(Kind::TooLong, format!("the endpoint's answer is longer than {bytes_max} bytes"));
    let is_success = response.status().is_success();
    if is_success && response.content_length().is_some_and(|length| length > bytes_max as u64) {
        return Err(Unread { body, why: too_long() });
    }
    loop {
        let patience = if body.is_empty() && is_success { LONGEST } else { BETWEEN };
        let chunk = match tokio::time::timeout(patience, response.chunk()).await {
            Ok(Ok(Some(chunk))) => chunk,
            Ok(Ok(None)) => return Ok(body),
            Ok(Err(error)) => return Err(Unread { body, why: broken(&error).after_sending() }),
            Err(_) => {
                let what = format!("the endpoint's answer stood still for {} s", BETWEEN.as_secs());
                return Err(Unread { body, why: Failure::new(Kind::TimedOut, what) });
            }
        };
        body.extend_from_slice(&chunk[..chunk.len().min(bytes_max - body.len() + 1)]);
        if body.len() > bytes_max {
            return Err(Unread { body, why: too_long() });
        }
        // No JSON object: the rest need not come.
        if is_success {
            let why = match looks(says_page(response.headers()), &body, false) {
                Looks::Unclear | Looks::Object => continue,
                Looks::Page => page(),
                Looks::Else => Failure::new(Kind::NotUnderstood, "the endpoint's answer is no JSON object"),
            };
            return Err(Unread { body, why });
        }
    }
}

/// What an answer looks like, as far as it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Looks {
    /// Too little has come.
    Unclear,
    Object,
    /// A page for browsers.
    Page,
    /// Neither; a model may have been asked for it all the same.
    Else,
}

fn looks(says_page: bool, body: &[u8], is_whole: bool) -> Looks {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).trim_ascii_start();
    match body.first() {
        Some(b'{') => Looks::Object,
        None if !is_whole => Looks::Unclear,
        // Some say so of whatever they send, what a model has said among it.
        None | Some(b'<') if says_page => Looks::Page,
        Some(b'<') => {
            let begins = |with: &&[u8]| body.get(..with.len()).is_some_and(|head| head.eq_ignore_ascii_case(with));
            match PAGES.iter().any(begins) {
                true => Looks::Page,
                // The longest of them would have shown itself.
                false if !is_whole && body.len() < PAGE_BYTES => Looks::Unclear,
                false => Looks::Else,
            }
        }
        _ => Looks::Else,
    }
}

/// Whether whoever answers says that it is a page.
fn says_page(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    ["text/html", "application/xhtml+xml"].iter().any(|page| kind.eq_ignore_ascii_case(page))
}

fn page() -> Failure {
    Failure::new(Kind::Page, "a page for browsers came and no answer of a model")
}

/// What an endpoint wants, as far as it is granted. Dates are not understood: few send them, and clocks differ.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: f64 = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(LONGEST).min(LONGEST))
}

fn boxed(failure: Failure) -> OpenAIError {
    OpenAIError::Boxed(Box::new(failure))
}

/// What async-openai gives back, as what it was.
pub(super) fn failure(error: OpenAIError) -> Failure {
    match error {
        OpenAIError::Boxed(inner) => match inner.downcast::<Failure>() {
            Ok(failure) => *failure,
            Err(_) => Failure::new(Kind::NotUnderstood, "the request broke"),
        },
        OpenAIError::Reqwest(error) => broken(&error),
        // Its words may hold what was sent or what came.
        _ => Failure::new(Kind::NotUnderstood, "the request could not be made"),
    }
}

/// Why there is no answer.
fn broken(error: &reqwest::Error) -> Failure {
    let what = match () {
        () if error.is_connect() && error.is_timeout() => format!("no connection within {} s", CONNECT.as_secs()),
        () if error.is_connect() => return Failure::unconnected(&cause(error)),
        () if error.is_timeout() => return Failure::new(Kind::TimedOut, "no answer in time"),
        () if error.is_builder() => format!("no request could be made: {}", cause(error)),
        // It had come about: what was sent may have been read.
        () => {
            let what = format!("the connection broke: {}", cause(error));
            return Failure::new(Kind::Unreachable, what).after_sending();
        }
    };
    Failure::new(Kind::Unreachable, what)
}

/// The innermost reason, which names no address.
fn cause(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    baton_redaction::redact(&inner.to_string()).chars().take(CAUSE_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_for_browsers_is_known_from_what_a_model_may_have_said() {
        let says = |kind: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, kind.parse().unwrap());
            says_page(&headers)
        };
        assert!(says("text/html") && says("Text/HTML; charset=utf-8") && says("application/xhtml+xml"));
        assert!(!says("application/json") && !says("text/plain") && !says("") && !says_page(&HeaderMap::new()));
        for (says, body, so_far, whole) in [
            (false, "", Looks::Unclear, Looks::Else),
            (true, " \n", Looks::Unclear, Looks::Page),
            (false, " \u{feff}{", Looks::Else, Looks::Else),
            (false, "\u{feff} {\"a\"", Looks::Object, Looks::Object),
            // Some say so of whatever they send.
            (true, "{\"choices\"", Looks::Object, Looks::Object),
            (true, "Please log in", Looks::Else, Looks::Else),
            (true, "data: {\"choices\"", Looks::Else, Looks::Else),
            (true, "[{\"choices\"", Looks::Else, Looks::Else),
            (true, "<center>Please log in", Looks::Page, Looks::Page),
            (false, "Please log in", Looks::Else, Looks::Else),
            (false, "\n<!DOCTYPE html>", Looks::Page, Looks::Page),
            (false, "\u{feff}<HTML><body>", Looks::Page, Looks::Page),
            (false, "<", Looks::Unclear, Looks::Else),
            (false, "<scrip", Looks::Unclear, Looks::Else),
            (false, "<script", Looks::Page, Looks::Page),
            (false, "<think>It was", Looks::Else, Looks::Else),
            (false, "[1]", Looks::Else, Looks::Else),
        ] {
            let told = (looks(says, body.as_bytes(), false), looks(says, body.as_bytes(), true));
            assert_eq!(told, (so_far, whole), "{says} {body:?}");
        }
        assert_eq!(PAGES.iter().map(|page| page.len()).max(), Some(PAGE_BYTES));
    }
}
