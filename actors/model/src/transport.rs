//! Sends a request once, adds the key at the last moment, and bounds the answer before it is parsed. async-openai by
//! itself would retry, wait as long as an endpoint demands, read without a bound, and log what it cannot parse.
//!
//! # Hazards
//!
//! - async-openai retries, obeys `Retry-After` without a bound, and `OpenAIConfig::new` reads variables of its own;
//!   none of this is used. Without certificates reqwest builds no client, so an `http` address gets an empty store.
//!   Redirects are not followed, and no proxy is used for this machine.

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

/// Timeout for establishing a connection.
const CONNECT: Duration = Duration::from_secs(5);
/// Timeout between two parts of an answer. Before the first part of a success [`LONGEST`] applies: a proxy may send the
/// status at once while the model is still at work.
const BETWEEN: Duration = Duration::from_secs(30);
/// How long an idle connection is kept for the next request.
const IDLE: Duration = Duration::from_secs(60);
/// Bytes that are read of an error answer.
const ERROR_BYTES: usize = 64 * 1024;
/// Longest cause of an error that is shown.
const CAUSE_CHARS: usize = 200;
/// Beginnings of HTML pages that are not declared as such; none of them begins what a model may say (`<think>`).
const PAGES: [&[u8]; 8] = [b"<!", b"<?xml", b"<html", b"<head", b"<body", b"<meta", b"<title", b"<script"];
/// Length of the longest of them.
const PAGE_BYTES: usize = 7;

/// The transport of one request to an endpoint.
#[derive(Clone)]
pub(super) struct Transport {
    pub(super) http: Client,
    pub(super) key: Option<KeySource>,
    /// Most bytes of an answer.
    pub(super) bytes_max: usize,
}

/// An HTTP client for one endpoint. For an encrypted address it reads the system's certificates, which takes some
/// milliseconds; opens no connection yet.
pub(super) fn http(base_url: &BaseUrl) -> Result<Client, Failure> {
    // Neither key nor texts go to an address that was not configured.
    client(base_url, Policy::none())
}

/// The same with another policy for redirects.
pub(super) fn client(base_url: &BaseUrl, redirects: Policy) -> Result<Client, Failure> {
    // Another caller may have installed one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .user_agent(concat!("baton/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        .pool_idle_timeout(IDLE)
        .pool_max_idle_per_host(2)
        .redirect(redirects)
        // A redirect is not told where it was followed from.
        .referer(false);
    if base_url.is_local() {
        builder = builder.no_proxy();
    }
    if !base_url.is_encrypted() {
        // No certificate is ever verified, so a machine without certificates can use it too.
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
    /// Sends the request and returns the body of a success: JSON within the size limit.
    async fn send(&self, request: HttpRequestFactory) -> Result<Vec<u8>, OpenAIError> {
        let key = match self.key.clone() {
            None => None,
            Some(source @ KeySource::Variable(_)) => Some(key::read(&source).map_err(boxed)?),
            Some(source @ KeySource::File(_)) => {
                let read = baton_base::task::spawn_blocking(move || key::read(&source)).await;
                let broke = |_| boxed(Failure::new(Kind::NoKeyFile, "reading the key's file failed"));
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
            // Failing to read an error's body is not an error of its own.
            let body = read(&mut response, ERROR_BYTES).await.unwrap_or_else(|unread| unread.body);
            let hide = |said: &str| key.map_or_else(|| said.to_owned(), |key| key.hide_in(said));
            return Err(boxed(Failure::from_http_error(status, retry_after, &body, hide)));
        }
        let body = read(&mut response, self.bytes_max).await.map_err(|unread| boxed(unread.why))?;
        match serde_json::from_slice::<&RawValue>(&body) {
            // A successful answer may repeat the key, too.
            Ok(answer) => {
                Ok(key.map_or_else(|| answer.get().to_owned(), |key| key.hide_in_json(answer.get())).into_bytes())
            }
            Err(_) => {
                let why = match classify_body(is_declared_page(response.headers()), &body, true) {
                    BodyKind::Page => page(),
                    _ => Failure::new(Kind::NotUnderstood, "the endpoint's answer is not JSON"),
                };
                Err(boxed(why))
            }
        }
    }
}

/// The part of a body that was read, and why the rest was not.
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
                let what = format!("the endpoint's answer stalled for {} s", BETWEEN.as_secs());
                return Err(Unread { body, why: Failure::new(Kind::TimedOut, what) });
            }
        };
        body.extend_from_slice(&chunk[..chunk.len().min(bytes_max - body.len() + 1)]);
        if body.len() > bytes_max {
            return Err(Unread { body, why: too_long() });
        }
        // It is no JSON object, so the rest is not needed.
        if is_success {
            let why = match classify_body(is_declared_page(response.headers()), &body, false) {
                BodyKind::Unclear | BodyKind::Object => continue,
                BodyKind::Page => page(),
                BodyKind::Else => Failure::new(Kind::NotUnderstood, "the endpoint's answer is not a JSON object"),
            };
            return Err(Unread { body, why });
        }
    }
}

/// The type of an answer, as far as it has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyKind {
    /// Too little has arrived.
    Unclear,
    Object,
    /// An HTML page.
    Page,
    /// Neither; a model may still have been asked.
    Else,
}

fn classify_body(says_page: bool, body: &[u8], is_whole: bool) -> BodyKind {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).trim_ascii_start();
    match body.first() {
        Some(b'{') => BodyKind::Object,
        None if !is_whole => BodyKind::Unclear,
        // Some servers declare every answer a page, even a model's.
        None | Some(b'<') if says_page => BodyKind::Page,
        Some(b'<') => {
            let begins = |with: &&[u8]| body.get(..with.len()).is_some_and(|head| head.eq_ignore_ascii_case(with));
            match PAGES.iter().any(begins) {
                true => BodyKind::Page,
                // The longest beginning of a page would have shown.
                false if !is_whole && body.len() < PAGE_BYTES => BodyKind::Unclear,
                false => BodyKind::Else,
            }
        }
        _ => BodyKind::Else,
    }
}

/// True if the answer is declared as an HTML page.
fn is_declared_page(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    ["text/html", "application/xhtml+xml"].iter().any(|page| kind.eq_ignore_ascii_case(page))
}

fn page() -> Failure {
    Failure::new(Kind::Page, "the endpoint sent an HTML page instead of a model's answer")
}

/// The pause that the endpoint asks for, up to the longest allowed. Dates are ignored: few servers send them, and
/// clocks differ.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: f64 = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(LONGEST).min(LONGEST))
}

fn boxed(failure: Failure) -> OpenAIError {
    OpenAIError::Boxed(Box::new(failure))
}

/// Converts an error of async-openai back into what caused it.
pub(super) fn failure(error: OpenAIError) -> Failure {
    match error {
        OpenAIError::Boxed(inner) => match inner.downcast::<Failure>() {
            Ok(failure) => *failure,
            Err(_) => Failure::new(Kind::NotUnderstood, "the request failed"),
        },
        OpenAIError::Reqwest(error) => broken(&error),
        // Its text may contain what was sent or received.
        _ => Failure::new(Kind::NotUnderstood, "the request could not be made"),
    }
}

/// Classifies an error of the HTTP client.
pub(super) fn broken(error: &reqwest::Error) -> Failure {
    let what = match () {
        () if error.is_connect() && error.is_timeout() => format!("no connection within {} s", CONNECT.as_secs()),
        () if error.is_connect() => return Failure::unconnected(&cause(error)),
        () if error.is_timeout() => return Failure::new(Kind::TimedOut, "no answer in time"),
        () if error.is_builder() => format!("no request could be made: {}", cause(error)),
        // The connection was established, so the request may have been read.
        () => {
            let what = format!("the connection broke: {}", cause(error));
            return Failure::new(Kind::Unreachable, what).after_sending();
        }
    };
    Failure::new(Kind::Unreachable, what)
}

/// The innermost cause, which contains no address.
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
            is_declared_page(&headers)
        };
        assert!(says("text/html") && says("Text/HTML; charset=utf-8") && says("application/xhtml+xml"));
        assert!(!says("application/json") && !says("text/plain") && !says("") && !is_declared_page(&HeaderMap::new()));
        for (says, body, so_far, whole) in [
            (false, "", BodyKind::Unclear, BodyKind::Else),
            (true, " \n", BodyKind::Unclear, BodyKind::Page),
            (false, " \u{feff}{", BodyKind::Else, BodyKind::Else),
            (false, "\u{feff} {\"a\"", BodyKind::Object, BodyKind::Object),
            // Some servers declare every answer a page.
            (true, "{\"choices\"", BodyKind::Object, BodyKind::Object),
            (true, "Please log in", BodyKind::Else, BodyKind::Else),
            (true, "data: {\"choices\"", BodyKind::Else, BodyKind::Else),
            (true, "[{\"choices\"", BodyKind::Else, BodyKind::Else),
            (true, "<center>Please log in", BodyKind::Page, BodyKind::Page),
            (false, "Please log in", BodyKind::Else, BodyKind::Else),
            (false, "\n<!DOCTYPE html>", BodyKind::Page, BodyKind::Page),
            (false, "\u{feff}<HTML><body>", BodyKind::Page, BodyKind::Page),
            (false, "<", BodyKind::Unclear, BodyKind::Else),
            (false, "<scrip", BodyKind::Unclear, BodyKind::Else),
            (false, "<script", BodyKind::Page, BodyKind::Page),
            (false, "<think>It was", BodyKind::Else, BodyKind::Else),
            (false, "[1]", BodyKind::Else, BodyKind::Else),
        ] {
            let told = (classify_body(says, body.as_bytes(), false), classify_body(says, body.as_bytes(), true));
            assert_eq!(told, (so_far, whole), "{says} {body:?}");
        }
        assert_eq!(PAGES.iter().map(|page| page.len()).max(), Some(PAGE_BYTES));
    }
}
