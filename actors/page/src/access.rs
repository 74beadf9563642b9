//! Access control: only the browser of the person who asked for an address may read.
//!
//! # Decisions
//!
//! - The host's name is random. Cookies ignore ports, so under `localhost` the cookie would be sent to every other
//!   server on this machine; browsers resolve all names below `localhost` to this machine without a lookup.
//! - The token in the first address ends up in the browser's history and in the list of processes. So it works once, and
//!   the redirect leaves an address without it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::{Query, Request, State};
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use tokio::time::Instant;
use uuid::Uuid;

use crate::layout;

/// How long the token of a first address is valid.
pub(crate) const TOKEN_VALID: Duration = Duration::from_secs(60);
/// Most unused tokens; a further one replaces the oldest.
const TOKENS: usize = 8;
/// The path of the first address.
pub(crate) const ENTER: &str = "/enter";
/// The cookie's name.
const COOKIE: &str = "baton";

/// Sent with every answer: nothing is loaded from other sites, framed, cached or sent as a referrer.
const HEADERS: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
         form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// The secrets of a server.
pub(crate) struct Access {
    /// `<random>.localhost:<port>`.
    host: String,
    /// The cookie's value.
    cookie: String,
    /// Unused tokens, and when they expire.
    tokens: Mutex<Vec<(String, Instant)>>,
}

/// Why a request is refused.
enum Refusal {
    /// Wrong host, or sent by another site.
    Foreign,
    /// Not a read request.
    Method,
    /// Without the cookie.
    Unknown,
}

impl Access {
    pub(crate) fn new(port: u16) -> Self {
        let name = secret().split_off(16);
        Self { host: format!("{name}.localhost:{port}"), cookie: secret(), tokens: Mutex::default() }
    }

    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// An address that opens the pages once.
    pub(crate) fn first_address(&self) -> String {
        let token = secret();
        let address = format!("http://{}{ENTER}?token={token}", self.host);
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if tokens.len() == TOKENS {
            tokens.remove(0);
        }
        tokens.push((token, Instant::now() + TOKEN_VALID));
        address
    }

    /// Uses a token up. True if it was valid.
    fn redeem(&self, token: &str) -> bool {
        let now = Instant::now();
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.retain(|(_, until)| *until > now);
        let found = tokens.iter().position(|(known, _)| is_equal_in_constant_time(known, token));
        found.map(|index| tokens.remove(index)).is_some()
    }

    fn check(&self, request: &Request) -> Result<(), Refusal> {
        let headers = request.headers();
        let only = |name: HeaderName| {
            let mut values = headers.get_all(name).iter();
            (values.next().and_then(|value| value.to_str().ok()), values.next().is_none())
        };
        if request.uri().authority().is_some() || only(header::HOST) != (Some(self.host.as_str()), true) {
            return Err(Refusal::Foreign);
        }
        let mut origins = headers.get_all(header::ORIGIN).iter();
        if !origins.all(|origin| origin.as_bytes() == format!("http://{}", self.host).as_bytes()) {
            return Err(Refusal::Foreign);
        }
        let mut sites = headers.get_all("sec-fetch-site").iter();
        if !sites.all(|site| matches!(site.as_bytes(), b"same-origin" | b"none")) {
            return Err(Refusal::Foreign);
        }
        if request.method() != Method::GET {
            return Err(Refusal::Method);
        }
        if request.uri().path() == ENTER || self.has_cookie(headers) { Ok(()) } else { Err(Refusal::Unknown) }
    }

    fn has_cookie(&self, headers: &HeaderMap) -> bool {
        let sent = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        sent.flat_map(|value| value.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .any(|(name, value)| name == COOKIE && is_equal_in_constant_time(value, &self.cookie))
    }
}

/// 32 random hexadecimal digits, 122 bits of them random.
fn secret() -> String {
    Uuid::new_v4().simple().to_string()
}

/// Compares in constant time.
fn is_equal_in_constant_time(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

/// Refuses all but GET requests to this host with the cookie or a token; adds the headers to every answer.
pub(crate) async fn guard(State(access): State<Arc<Access>>, request: Request, next: Next) -> Response {
    let checked = access.check(&request);
    let is_refused = checked.is_err();
    let mut response = match checked {
        Ok(()) => next.run(request).await,
        Err(Refusal::Foreign) => {
            (StatusCode::FORBIDDEN, "Refused: this address answers the pages of `baton ui` only.\n").into_response()
        }
        Err(Refusal::Method) => {
            (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "GET")], "These pages only read.\n").into_response()
        }
        Err(Refusal::Unknown) => (StatusCode::FORBIDDEN, layout::locked_page()).into_response(),
    };
    let headers = response.headers_mut();
    if is_refused {
        // Refused clients are disconnected.
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

#[derive(Deserialize)]
pub(crate) struct Enter {
    #[serde(default)]
    token: String,
}

/// Gives the browser its cookie and an address without the token.
pub(crate) async fn enter(State(access): State<Arc<Access>>, Query(asked): Query<Enter>) -> Response {
    if !access.redeem(&asked.token) {
        return (StatusCode::FORBIDDEN, layout::locked_page()).into_response();
    }
    let cookie = format!("{COOKIE}={}; Path=/; HttpOnly; SameSite=Strict", access.cookie);
    (StatusCode::SEE_OTHER, [(header::SET_COOKIE, cookie.as_str()), (header::LOCATION, "/")]).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(address: &str) -> &str {
        address.split_once("token=").unwrap().1
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_works_once_and_for_a_minute() {
        let access = Access::new(80);
        let [used, late] = [access.first_address(), access.first_address()];
        assert!(access.redeem(token(&used)) && !access.redeem(token(&used)));
        assert!(!access.redeem("") && !access.redeem(&token(&late)[1..]));
        tokio::time::advance(TOKEN_VALID).await;
        assert!(!access.redeem(token(&late)));
    }

    #[tokio::test(start_paused = true)]
    async fn of_too_many_tokens_the_oldest_goes() {
        let access = Access::new(80);
        let addresses: Vec<String> = (0..=TOKENS).map(|_| access.first_address()).collect();
        let works = |address: &String| access.redeem(token(address));
        assert_eq!(addresses.iter().map(works).collect::<Vec<_>>(), [&[false][..], &[true; TOKENS]].concat());
    }
}
