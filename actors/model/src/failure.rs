//! Why a model did not answer: what happened in one line, what to do next, and whether a retry helps. An endpoint's
//! message may contain anything, so it is cut short, and neither the key nor what was sent to it is repeated.
//!
//! # Hazards
//!
//! - Status 200 with a body that is no answer of the API (no JSON, no `choices`) is the endpoint's failure: the request
//!   stays owed and waits for the breaker. Its cost is unknown, because a model may have been asked all the same. An
//!   HTML page comes from no model and costs nothing (`web_page` in the ledger); otherwise a night behind a login page
//!   would use up the day's budget. Only an answer of the API that cannot be used is a bad answer, which is requested
//!   once more and then given up.

use std::fmt;
use std::time::Duration;

use baton_redaction::redact;
use reqwest::StatusCode;
use serde_json::Value;

/// Most characters of an endpoint's message that are shown.
const SAID_CHARS: usize = 200;
/// Most bytes of an endpoint's message that are examined.
const SAID_BYTES: usize = 4096;
/// A repeated piece of the sent text this long counts as an echo.
const ECHO_BYTES: usize = 32;
/// A shorter sent text is not searched for.
const ECHO_LEAST_BYTES: usize = 8;

/// The kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The key's variable is not set or not usable.
    NoKey,
    /// The key's file is missing or not usable.
    NoKeyFile,
    /// No connection, or a broken one.
    Unreachable,
    /// The endpoint's identity cannot be verified, because of its certificate or missing certificate authorities.
    Untrusted,
    /// No answer in time.
    TimedOut,
    /// The key is not accepted.
    Unauthorised,
    /// The rate limit is exceeded.
    RateLimited {
        /// The pause that the endpoint asks for.
        retry_after: Option<Duration>,
    },
    /// The account's quota is used up.
    QuotaSpent,
    /// The endpoint has no such method or model.
    NotThere,
    /// The endpoint failed internally.
    ServerError,
    /// The endpoint redirects, which is not followed, so that the key stays where it was sent.
    Redirected,
    /// The endpoint refuses this request.
    Refused,
    /// The request is too large for the model.
    TooLarge,
    /// At least one of several texts got no usable vector.
    Unusable,
    /// The body is no answer of this API.
    NotUnderstood,
    /// The body is an HTML page: a network login, or a server's user interface. No model was asked.
    Page,
    /// An answer of this API without a message of a model.
    NoMessage,
    /// The answer exceeds its size limit.
    TooLong,
    /// The answer has another number or length of vectors than requested.
    WrongShape,
    /// No request was sent, because the breaker is open.
    Paused,
}

/// A failure as it is shown to people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    kind: Kind,
    what: String,
    /// The endpoint's message, shortened and redacted.
    said: Option<String>,
    is_of_request: bool,
    may_have_cost: bool,
}

impl Failure {
    /// `what` is a sentence of ours without a full stop.
    pub(super) fn new(kind: Kind, what: impl Into<String>) -> Self {
        let is_of_request = matches!(kind, Kind::Refused | Kind::TooLarge | Kind::Unusable | Kind::NoMessage);
        // An endpoint that answers with an error or an HTML page charges nothing; one that does not answer, or not
        // comprehensibly, may charge.
        let is_answer = matches!(kind, Kind::NotUnderstood | Kind::NoMessage | Kind::TooLong | Kind::WrongShape);
        let may_have_cost = is_answer || matches!(kind, Kind::TimedOut | Kind::Unusable);
        Self { kind, what: what.into(), said: None, is_of_request, may_have_cost }
    }

    /// A connection that could not be established; `cause` is the system's message.
    pub(super) fn unconnected(cause: &str) -> Self {
        let kind = if cause.to_lowercase().contains("certificate") { Kind::Untrusted } else { Kind::Unreachable };
        Self::new(kind, format!("no connection: {}", shorten_message(cause).unwrap_or_default()))
    }

    /// An HTTP error. `hide` removes the key from its message.
    pub(super) fn from_http_error(
        status: StatusCode,
        retry_after: Option<Duration>,
        body: &[u8],
        hide: impl FnOnce(&str) -> String,
    ) -> Self {
        let said = message_of(body).map(|said| hide(&said));
        let kind = kind_of(status, retry_after, &said.as_deref().unwrap_or_default().to_lowercase());
        let what = format!("the endpoint answers {} ({})", status.as_u16(), status.canonical_reason().unwrap_or("?"));
        Self { said: said.as_deref().and_then(shorten_message), ..Self::new(kind, what) }
    }

    /// A failure if HTTP reports success but the body has a field `error`, in which a proxy passes on what the server
    /// behind it has answered.
    pub(super) fn from_error_field(error: Option<&Value>, body: &str) -> Option<Self> {
        let error = error.filter(|error| !error.is_null())?;
        let code = error.get("code").and_then(|code| code.as_u64().or_else(|| code.as_str()?.parse().ok()));
        let code = code.and_then(|code| u16::try_from(code).ok()).filter(|code| (400..600).contains(code));
        if let Some(status) = code.and_then(|code| StatusCode::from_u16(code).ok()) {
            return Some(Self::from_http_error(status, None, body.as_bytes(), str::to_owned));
        }
        let mut failure = Self::new(Kind::Refused, "the endpoint answers with an error");
        failure.said = error.get("message").unwrap_or(error).as_str().and_then(shorten_message);
        Some(failure)
    }

    /// An internal error before anything was sent.
    pub fn broken(what: &str) -> Self {
        Self::new(Kind::Unreachable, what)
    }

    /// The kind.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What happened, in one line.
    pub fn describe(&self) -> String {
        self.to_string()
    }

    /// True if only this request fails and others may not: send a smaller one instead. If false, the same request may
    /// be sent again when the endpoint is ready.
    pub fn is_of_request(&self) -> bool {
        self.is_of_request
    }

    /// Marks it as a failure of this request: another request may get a usable answer.
    pub(super) fn of_request(mut self) -> Self {
        self.is_of_request = true;
        self
    }

    /// Marks it as a failure of the endpoint, because it occurs with every request.
    pub(super) fn of_endpoint(mut self) -> Self {
        self.is_of_request = false;
        self
    }

    /// True if the endpoint does not support `response_format`.
    pub(super) fn is_of_format(&self) -> bool {
        let said = self.said.as_deref().unwrap_or_default().to_lowercase();
        self.kind == Kind::Refused && ["response_format", "json_schema"].iter().any(|name| said.contains(name))
    }

    /// True if the endpoint may have processed the request and charge for it.
    pub fn may_have_cost(&self) -> bool {
        self.may_have_cost
    }

    /// Marks it as a failure after the request was sent, so it may have cost something.
    pub(super) fn after_sending(mut self) -> Self {
        self.may_have_cost = true;
        self
    }

    /// What the user should do.
    pub fn next_step(&self) -> &'static str {
        match self.kind {
            Kind::NoKey => {
                "set the variable where Baton is started, then run `baton stop`; the next command starts a daemon that has it"
            }
            Kind::NoKeyFile => "write the key, and nothing else, into the file that api_key_file names",
            Kind::Unreachable => "start the server, or fix base_url in config.json; it is tried again by itself",
            Kind::Untrusted => {
                "where the server is your own, name the file of its certificate authority in SSL_CERT_FILE where Baton is \
                 started, then run `baton stop`; else install the system's ca-certificates"
            }
            Kind::TimedOut => "use a smaller model or a faster machine; it is tried again by itself",
            Kind::Unauthorised => {
                "check the key that llm.api_key_env or llm.api_key_file names, and what it may be used for"
            }
            Kind::RateLimited { .. } => "it continues automatically when the endpoint allows it",
            Kind::QuotaSpent => "check the plan and billing of the account; it is tried again by itself",
            Kind::NotThere => "check base_url (it usually ends with /v1) and the model's name in config.json",
            Kind::ServerError => "check the server's own log; it is tried again by itself",
            Kind::Redirected => "set base_url to the address that it names",
            Kind::Refused => "check the model's name and the dimensions in config.json",
            Kind::TooLarge => "smaller requests are sent automatically",
            Kind::Unusable => "texts without a vector are found by their words",
            Kind::NotUnderstood => "check that base_url is that of an API like OpenAI's (it usually ends with /v1)",
            Kind::Page => {
                "log in to the network if it requires that; else check that base_url is that of an API like OpenAI's \
                 (it usually ends with /v1)"
            }
            Kind::NoMessage => "check the server's own log: a filter may have removed the answer",
            Kind::TooLong => "check that base_url is that of an API like OpenAI's, which keeps to max_tokens",
            Kind::WrongShape => "check the model and the dimensions in config.json",
            Kind::Paused => "it is tried again by itself",
        }
    }

    /// Removes the endpoint's message if it repeats any of what was sent.
    pub(super) fn without_echo(mut self, sent: &[String]) -> Self {
        self.said = self.said.filter(|said| !echoes(said, sent));
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.said {
            Some(said) => write!(f, "{}: {said}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl std::error::Error for Failure {}

/// The kind of an HTTP error. `said` is its message in lower case.
fn kind_of(status: StatusCode, retry_after: Option<Duration>, said: &str) -> Kind {
    let says = |any: &[&str]| any.iter().any(|words| said.contains(words));
    let is_too_large =
        says(&["context length", "maximum context", "context window", "too long", "too large", "too many"])
            || says(&["batch size", "input length", "token limit", "tokens limit", "max_tokens", "physical batch"]);
    match status.as_u16() {
        401 | 403 => Kind::Unauthorised,
        402 => Kind::QuotaSpent,
        404 | 405 => Kind::NotThere,
        408 | 504 => Kind::TimedOut,
        413 => Kind::TooLarge,
        // A mere rate limit may mention quotas and billing too.
        429 if says(&["insufficient_quota", "insufficient balance"]) => Kind::QuotaSpent,
        429 => Kind::RateLimited { retry_after },
        300..=399 => Kind::Redirected,
        // Some servers answer 500 to a request that is too long.
        400 | 422 | 500 if is_too_large => Kind::TooLarge,
        400 if says(&["model"]) && says(&["not found", "does not exist", "not exist", "unknown model", "no such"]) => {
            Kind::NotThere
        }
        // An overloaded server may say for how long.
        503 if retry_after.is_some() => Kind::RateLimited { retry_after },
        500..=599 => Kind::ServerError,
        _ => Kind::Refused,
    }
}

/// The error message of a body with its code, in any of the usual forms.
fn message_of(body: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(&body[..body.len().min(SAID_BYTES)]);
    let whole = serde_json::from_slice::<Value>(body).ok();
    match whole {
        Some(Value::Object(said)) => {
            let inner = said.get("error").unwrap_or(&Value::Null);
            let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
            let message = [inner.get("message"), Some(inner), said.get("message"), said.get("detail")];
            let message = message.into_iter().find_map(text)?;
            let code = text(inner.get("code")).map(|code| format!(" ({code})")).unwrap_or_default();
            Some(message.chars().take(SAID_BYTES).collect::<String>() + &code)
        }
        // An HTML page has no message.
        _ if text.trim_start().starts_with('<') => None,
        _ => Some(text.into_owned()),
    }
}

/// A message on one line, shortened and redacted; `None` if it is empty.
fn shorten_message(said: &str) -> Option<String> {
    let line: Vec<&str> =
        said.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()).collect();
    let line = redact(&line.join(" ")).into_owned();
    let mut shown: String = line.chars().take(SAID_CHARS).collect();
    if shown.len() < line.len() {
        shown.push('…');
    }
    (!shown.is_empty()).then_some(shown)
}

/// True if a message repeats any of the sent texts, or a piece too long to be a coincidence.
fn echoes(said: &str, sent: &[String]) -> bool {
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let said = one_line(said);
    let starts = || std::iter::once(0).chain(said.match_indices(' ').map(|(at, _)| at + 1));
    sent.iter().map(|text| one_line(text)).any(|text| {
        let is_whole = text.len() >= ECHO_LEAST_BYTES && said.contains(&text);
        is_whole || starts().any(|at| said.get(at..at + ECHO_BYTES).is_some_and(|piece| text.contains(piece)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_http_error(status: u16, body: &str) -> Failure {
        let hide = |said: &str| said.replace("the-key", "[redacted:key]");
        Failure::from_http_error(StatusCode::from_u16(status).unwrap(), None, body.as_bytes(), hide)
    }

    #[test]
    fn what_an_endpoint_says_is_understood_in_all_its_dialects() {
        let limited = Kind::RateLimited { retry_after: None };
        for (status, body, kind, said) in [
            (
                401,
                r#"{"error":{"message":"Incorrect API key provided: the-key","code":"invalid_api_key"}}"#,
                Kind::Unauthorised,
                "provided: [redacted:key] (invalid_api_key)",
            ),
            (403, r#"{"error":"forbidden"}"#, Kind::Unauthorised, "forbidden"),
            (402, "", Kind::QuotaSpent, "402"),
            (
                404,
                r#"{"error":{"message":"model \"x\" not found, try pulling it first"}}"#,
                Kind::NotThere,
                "try pulling it",
            ),
            (404, "<html><body>404</body></html>", Kind::NotThere, "answers 404 (Not Found)"),
            (
                400,
                r#"{"error":{"message":"The model `x` does not exist","code":400}}"#,
                Kind::NotThere,
                "does not exist",
            ),
            (
                400,
                r#"{"error":{"message":"This model's maximum context length is 8192 tokens"}}"#,
                Kind::TooLarge,
                "8192",
            ),
            (
                422,
                r#"{"error":"batch size 128 > maximum allowed batch size 32","error_type":"Validation"}"#,
                Kind::TooLarge,
                "32",
            ),
            (
                500,
                r#"{"error":{"code":500,"message":"input is too large to process. increase the physical batch size"}}"#,
                Kind::TooLarge,
                "physical",
            ),
            (413, "Payload Too Large", Kind::TooLarge, "Payload"),
            (400, r#"{"detail":"dimensions are not supported"}"#, Kind::Refused, "dimensions"),
            (422, r#"{"detail":[{"loc":["body"],"msg":"field required"}]}"#, Kind::Refused, "422"),
            (429, "Too Many Requests", limited, "Too Many Requests"),
            (429, "Rate limit reached; a payment method can be added under billing", limited, "Rate limit"),
            (
                429,
                r#"{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}"#,
                Kind::QuotaSpent,
                "quota",
            ),
            (307, "", Kind::Redirected, "307"),
            (500, "", Kind::ServerError, "500 (Internal Server Error)"),
            (504, "upstream", Kind::TimedOut, "upstream"),
            (418, "[1, 2]", Kind::Refused, "[1, 2]"),
        ] {
            let failure = from_http_error(status, body);
            assert_eq!(failure.kind(), kind, "{status} {body}");
            assert!(failure.describe().contains(said), "{status} {body}: {failure}");
            assert!(!failure.describe().contains("the-key") && !failure.next_step().is_empty(), "{failure}");
        }
    }

    #[test]
    fn a_certificate_is_another_matter_than_a_server_that_is_off() {
        for (cause, kind) in [
            ("Connection refused (os error 111)", Kind::Unreachable),
            ("failed to lookup address information: Name or service not known", Kind::Unreachable),
            ("invalid peer certificate: UnknownIssuer", Kind::Untrusted),
            ("unexpected error: No CA certificates were loaded from the system", Kind::Untrusted),
        ] {
            let failure = Failure::unconnected(cause);
            assert_eq!((failure.kind(), failure.describe()), (kind, format!("no connection: {cause}")));
        }
    }

    #[test]
    fn what_is_shown_is_one_short_line_without_secrets() {
        let secret = format!("sk-ant-api03-{}", "a1B2c3D4e5F6".repeat(4));
        let failure = from_http_error(400, &format!("line one\u{7}\r\nline two {secret} {}", "x ".repeat(10_000)));
        let told = failure.describe();
        assert!(told.contains("line one line two [redacted:") && told.ends_with('…'), "{told}");
        assert!(!told.contains(&secret) && told.lines().count() == 1 && told.chars().count() < 300, "{told}");
        assert!(!from_http_error(400, "\u{fffd}\0 ").describe().contains('\0'));
    }

    #[test]
    fn what_was_sent_is_not_said_again() {
        let sent = [
            "The quick brown fox jumps over the lazy dog, and is seen".to_owned(),
            "short one".to_owned(),
            "no".to_owned(),
        ];
        for (body, is_hidden) in [
            ("cannot embed: quick  brown fox JUMPS over the lazy dog!", true),
            ("bad input 'Short one'", true),
            ("the quick brown fox", false),
            ("no such model; no, not that one", false),
        ] {
            let failure = from_http_error(400, body).without_echo(&sent);
            assert_eq!(failure.describe() == "the endpoint answers 400 (Bad Request)", is_hidden, "{body}: {failure}");
        }
    }
}
