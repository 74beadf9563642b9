//! Chat requests, and the parsing of their answers. Servers omit and add many fields, so only what is present and valid
//! is used.

use serde_json::{Map, Value, json};

use super::failure::{Failure, Kind};
use baton_config::endpoint::Endpoint;

/// Bytes of an answer per requested token: most have four, those of other scripts and escapes many more.
const TOKEN_BYTES: u64 = 32;
/// Bytes of an answer in addition to its tokens: bounds models that print their reasoning.
const FRAME_BYTES: u64 = 256 * 1024;
/// Most bytes of any answer.
const ANSWER_BYTES: u64 = 8 * 1024 * 1024;
/// A larger token count is ignored.
const TOKENS_MAX: u64 = 1_000_000_000;
/// Longest model name that is taken from an answer.
const MODEL_CHARS: usize = 200;

/// The role of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The instructions.
    System,
    /// The question.
    User,
    /// The model's answer.
    Assistant,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its role.
    pub role: Role,
    /// Its content.
    pub text: String,
}

/// A request to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatRequest {
    /// The messages so far, in order.
    pub messages: Vec<Message>,
    /// The format of the answer, as `response_format`.
    pub format: Option<Value>,
    /// Most tokens of the answer.
    pub max_tokens: u64,
}

/// A model's answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// Its content; may be empty.
    pub text: String,
    /// The refusal, if the model declines to answer.
    pub refusal: Option<String>,
    /// True if it was cut off at its maximum length.
    pub is_cut: bool,
    /// The tokens used.
    pub tokens: Tokens,
    /// The model's name according to the endpoint, if it gives one.
    pub model: Option<String>,
}

/// Token counts as reported by an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Tokens of the request, cached or not.
    pub input: Option<u64>,
    /// Of these, tokens that the endpoint had cached.
    pub cached: Option<u64>,
    /// Tokens of the answer, including reasoning.
    pub output: Option<u64>,
}

impl Role {
    fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

impl ChatRequest {
    /// The body of a request.
    pub(super) fn body(&self, endpoint: &Endpoint) -> Value {
        let messages =
            self.messages.iter().map(|message| json!({"role": message.role.as_str(), "content": message.text}));
        let mut body = Map::new();
        body.insert("model".to_owned(), endpoint.model.clone().into());
        body.insert("messages".to_owned(), messages.collect());
        // Newer models of OpenAI accept only the new name, and most imitations only the old one.
        let bound = if endpoint.base_url.is_original() { "max_completion_tokens" } else { "max_tokens" };
        body.insert(bound.to_owned(), self.max_tokens.into());
        body.insert("stream".to_owned(), false.into());
        if let Some(format) = &self.format {
            body.insert("response_format".to_owned(), format.clone());
        }
        Value::Object(body)
    }

    /// Most bytes of the answer.
    pub(super) fn bytes_max(&self) -> usize {
        let bytes = self.max_tokens.saturating_mul(TOKEN_BYTES).saturating_add(FRAME_BYTES).min(ANSWER_BYTES);
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    /// The content of the messages, to find echoes of it in errors.
    pub(super) fn texts(&self) -> Vec<String> {
        self.messages.iter().map(|message| message.text.clone()).collect()
    }
}

/// Parses an answer.
pub(super) fn read(body: &str) -> Result<Reply, Failure> {
    // serde's error may quote the body.
    let answer: Value = serde_json::from_str(body)
        .map_err(|_| Failure::new(Kind::NotUnderstood, "the endpoint's answer is JSON nested too deeply"))?;
    if let Some(failure) = Failure::from_error_field(answer.get("error"), body) {
        return Err(failure);
    }
    let choices = answer.get("choices").and_then(Value::as_array);
    let choice = choices.and_then(|choices| choices.first());
    let Some(message) = choice.and_then(|choice| choice.get("message")).filter(|message| message.is_object()) else {
        // An answer with choices speaks this API, and merely has none to give.
        let kind = if choices.is_some() { Kind::NoMessage } else { Kind::NotUnderstood };
        return Err(Failure::new(kind, "the endpoint's answer has no message of a model"));
    };
    let finish = choice.and_then(|choice| choice.get("finish_reason")).and_then(Value::as_str).unwrap_or_default();
    let refusal = message.get("refusal").and_then(Value::as_str).filter(|refusal| !refusal.trim().is_empty());
    // A filtered answer counts as a refusal.
    let refusal = refusal.or((finish == "content_filter").then_some("content_filter"));
    let usage = answer.get("usage").unwrap_or(&Value::Null);
    let count = |value: Option<&Value>| value.and_then(Value::as_u64).filter(|count| *count <= TOKENS_MAX);
    Ok(Reply {
        text: text_of(message.get("content").unwrap_or(&Value::Null)),
        refusal: refusal.map(str::to_owned),
        is_cut: finish == "length",
        tokens: Tokens {
            input: count(usage.get("prompt_tokens")),
            cached: count(usage.get("prompt_tokens_details").and_then(|details| details.get("cached_tokens"))),
            output: count(usage.get("completion_tokens")),
        },
        model: answer.get("model").and_then(Value::as_str).map(|model| model.chars().take(MODEL_CHARS).collect()),
    })
}

/// A text, or the joined texts of its parts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect::<Vec<_>>().concat()
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_config::endpoint::BaseUrl;

    fn endpoint(base_url: &str) -> Endpoint {
        Endpoint { base_url: BaseUrl::new(base_url).unwrap(), model: "m".to_owned(), key: None }
    }

    #[test]
    fn of_an_answer_only_what_must_be_there_must_be_there() {
        let message = |message: &str, rest: &str| format!("{{\"choices\":[{{\"message\":{message}{rest}}}]}}");
        let said = |text: &str| Reply { text: text.to_owned(), ..Reply::default() };
        for (body, told) in [
            (message("{\"content\":\"a\"}", ""), Ok(said("a"))),
            (message("{\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"text\":\"b\"},7]}", ""), Ok(said("ab"))),
            (message("{\"content\":null}", ""), Ok(said(""))),
            (message("{}", ",\"finish_reason\":7"), Ok(said(""))),
            (message("{\"content\":\"{\"}", ",\"finish_reason\":\"length\""), Ok(Reply { is_cut: true, ..said("{") })),
            (
                message("{\"refusal\":\"no\",\"content\":null}", ",\"finish_reason\":\"stop\""),
                Ok(Reply { refusal: Some("no".to_owned()), ..said("") }),
            ),
            (
                message("{\"content\":\"\"}", ",\"finish_reason\":\"content_filter\""),
                Ok(Reply { refusal: Some("content_filter".to_owned()), ..said("") }),
            ),
            (message("\"a\"", ""), Err("no message of a model")),
            ("{}".to_owned(), Err("no message of a model")),
            ("{\"choices\":[]}".to_owned(), Err("no message of a model")),
            ("{\"choices\":{\"0\":1}}".to_owned(), Err("no message of a model")),
            ("{\"error\":{\"message\":\"busy\",\"code\":400}}".to_owned(), Err("400 (Bad Request): busy")),
            ("{\"error\":7}".to_owned(), Err("with an error")),
            (format!("{{\"a\":{}{}}}", "[".repeat(500), "]".repeat(500)), Err("too deep")),
        ] {
            match (read(&body), told) {
                (Ok(reply), Ok(expected)) => assert_eq!(reply, expected, "{body}"),
                (Err(failure), Err(told)) => assert!(failure.describe().contains(told), "{body}: {failure}"),
                (read, told) => panic!("{body}: {read:?}, and not {told:?}"),
            }
        }
    }

    #[test]
    fn tokens_are_believed_within_reason() {
        for (usage, tokens) in [
            ("{\"prompt_tokens\":9,\"completion_tokens\":3}", (Some(9), None, Some(3))),
            (
                "{\"prompt_tokens\":9,\"prompt_tokens_details\":{\"cached_tokens\":4},\"completion_tokens\":0}",
                (Some(9), Some(4), Some(0)),
            ),
            ("{\"prompt_tokens\":-1,\"completion_tokens\":18446744073709551615}", (None, None, None)),
            ("{\"prompt_tokens\":\"9\",\"prompt_tokens_details\":[],\"completion_tokens\":1.5}", (None, None, None)),
            ("[]", (None, None, None)),
        ] {
            let reply = read(&format!("{{\"choices\":[{{\"message\":{{}}}}],\"usage\":{usage}}}")).unwrap();
            assert_eq!((reply.tokens.input, reply.tokens.cached, reply.tokens.output), tokens, "{usage}");
        }
    }

    #[test]
    fn a_request_says_how_long_and_of_what_shape_the_answer_is_to_be() {
        let messages = vec![Message { role: Role::System, text: "s".to_owned() }];
        let request = ChatRequest { messages, format: Some(json!({"type": "json_object"})), max_tokens: 7 };
        let body = request.body(&endpoint("http://127.0.0.1:1/v1"));
        assert_eq!((&body["model"], &body["max_tokens"], &body["stream"]), (&json!("m"), &json!(7), &json!(false)));
        assert_eq!(body["messages"], json!([{"role": "system", "content": "s"}]));
        assert_eq!(body["response_format"], json!({"type": "json_object"}));
        for (base_url, name) in [
            ("https://api.openai.com/v1", "max_completion_tokens"),
            ("https://x.openai.azure.com:443/openai/v1", "max_completion_tokens"),
            ("https://api.openai.com.example.org/v1", "max_tokens"),
        ] {
            assert_eq!(request.body(&endpoint(base_url))[name], json!(7), "{base_url}");
        }
        assert!(request.bytes_max() < 300 * 1024);
        assert_eq!(ChatRequest { max_tokens: u64::MAX, ..request }.bytes_max() as u64, ANSWER_BYTES);
    }
}
