//! Embedding requests, and the validation of their answers.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::failure::{Failure, Kind};

/// Most dimensions of a vector if none were requested.
const DIMENSIONS_MAX: usize = 8192;
/// Bytes of one number of an answer: `-0.012345678901234567, ` and some indentation.
const NUMBER_BYTES: usize = 32;
/// Bytes of an answer in addition to its vectors.
const FRAME_BYTES: usize = 64 * 1024;
/// Most bytes of any answer.
const ANSWER_BYTES: usize = 16 * 1024 * 1024;
/// Longest model name that is taken from an answer.
const MODEL_CHARS: usize = 200;

/// The result of an embedding request.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedded {
    /// One vector per text, in order: all of one length, of finite numbers, none all zeros.
    pub vectors: Vec<Vec<f32>>,
    /// Tokens used, if the endpoint reports them.
    pub tokens: Option<u64>,
    /// The model's name according to the endpoint, if it gives one.
    pub model: Option<String>,
}

/// The body of a request.
#[derive(Serialize)]
pub(super) struct Request<'a> {
    pub(super) model: &'a str,
    pub(super) input: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) dimensions: Option<usize>,
}

/// The body of an answer; servers omit many fields.
#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    data: Vec<Row>,
    #[serde(default)]
    model: Value,
    #[serde(default)]
    usage: Value,
    #[serde(default)]
    error: Value,
}

#[derive(Deserialize)]
struct Row {
    #[serde(default)]
    index: Option<usize>,
    embedding: Vec<Number>,
}

/// Some servers write `null` for a number that is not finite.
struct Number(f32);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = Option::<f64>::deserialize(deserializer)?;
        Ok(Self(number.map_or(f32::NAN, |number| number as f32)))
    }
}

/// Most bytes of an answer for this many texts.
pub(super) fn bytes_max(texts: usize, dimensions: Option<usize>) -> usize {
    let vector = dimensions.unwrap_or(DIMENSIONS_MAX).saturating_mul(NUMBER_BYTES);
    texts.saturating_mul(vector).saturating_add(FRAME_BYTES).min(ANSWER_BYTES)
}

/// Parses and validates an answer for this many texts.
pub(super) fn read(body: &str, texts: usize, dimensions: Option<usize>) -> Result<Embedded, Failure> {
    let not_understood = |what: &str| Failure::new(Kind::NotUnderstood, what);
    // serde's error may quote the body.
    let answer: Body =
        serde_json::from_str(body).map_err(|_| not_understood("the endpoint's answer is JSON without vectors"))?;
    if let Some(failure) = Failure::from_error_field(Some(&answer.error), body) {
        return Err(failure);
    }
    if answer.data.len() != texts {
        let what = format!("the endpoint answers with {} vectors for {texts} texts", answer.data.len());
        return Err(Failure::new(Kind::WrongShape, what));
    }
    let tokens = ["total_tokens", "prompt_tokens"].iter().find_map(|name| answer.usage.get(name)?.as_u64());
    let model = answer.model.as_str().map(|model| model.chars().take(MODEL_CHARS).collect());
    let rows = in_order(answer.data).ok_or_else(|| not_understood("the endpoint's answer has wrong vector indices"))?;
    let vectors: Vec<Vec<f32>> =
        rows.into_iter().map(|row| row.embedding.into_iter().map(|number| number.0).collect()).collect();
    let length = dimensions.unwrap_or_else(|| vectors.first().map_or(0, Vec::len));
    if let Some(other) = vectors.iter().find(|vector| vector.len() != length || vector.is_empty()) {
        let what = match dimensions {
            Some(asked) => format!("the endpoint answers with {} dimensions instead of {asked}", other.len()),
            None => format!("the endpoint answers with vectors of {length} and of {} dimensions", other.len()),
        };
        return Err(Failure::new(Kind::WrongShape, what));
    }
    let is_usable = |vector: &Vec<f32>| vector.iter().all(|n| n.is_finite()) && vector.iter().any(|n| *n != 0.0);
    match vectors.iter().filter(|vector| !is_usable(vector)).count() {
        0 => Ok(Embedded { vectors, tokens, model }),
        bad => {
            let what =
                format!("{bad} of {texts} texts got a vector that is all zeros or has a value that is not a number");
            Err(Failure::new(Kind::Unusable, what))
        }
    }
}

/// Sorts rows by their index, or keeps their order if one has none. `None` if the indices are wrong.
fn in_order(mut rows: Vec<Row>) -> Option<Vec<Row>> {
    if rows.iter().any(|row| row.index.is_none()) {
        return Some(rows);
    }
    rows.sort_by_key(|row| row.index);
    rows.iter().enumerate().all(|(at, row)| row.index == Some(at)).then_some(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_answer_only_what_is_whole_counts() {
        let two = |a: &str, b: &str| format!("{{\"data\":[{a},{b}]}}");
        let (one, other) = ("{\"index\":0,\"embedding\":[1,2.5]}", "{\"index\":1,\"embedding\":[-3e-2,0]}");
        let bare = "{\"embedding\":[1,2]}";
        for (body, dimensions, told) in [
            (two(one, other), None, Ok([1.0, 2.5])),
            (two(other, one), None, Ok([1.0, 2.5])),
            (two(one, other), Some(2), Ok([1.0, 2.5])),
            (two("{\"embedding\":[7,8]}", bare), None, Ok([7.0, 8.0])),
            (two("{\"index\":null,\"embedding\":[7,8],\"object\":\"embedding\"}", bare), None, Ok([7.0, 8.0])),
            (two(one, one), None, Err("wrong vector indices")),
            (two(one, "{\"index\":2,\"embedding\":[1,2]}"), None, Err("wrong vector indices")),
            (format!("{{\"data\":[{one}]}}"), None, Err("1 vectors for 2 texts")),
            ("{}".to_owned(), None, Err("0 vectors for 2 texts")),
            ("{\"embeddings\":[[1,2],[3,4]]}".to_owned(), None, Err("0 vectors for 2 texts")),
            (two(one, other), Some(3), Err("2 dimensions instead of 3")),
            (two(one, "{\"index\":1,\"embedding\":[1]}"), None, Err("of 2 and of 1 dimensions")),
            (two(one, "{\"index\":1,\"embedding\":[1,null]}"), None, Err("1 of 2 texts got")),
            (two(one, "{\"index\":1,\"embedding\":[1,1e99]}"), None, Err("1 of 2 texts got")),
            (two(one, "{\"index\":1,\"embedding\":[0,0.0]}"), None, Err("1 of 2 texts got")),
            (two("{\"embedding\":[]}", "{\"embedding\":[]}"), None, Err("of 0 and of 0 dimensions")),
            (two("{\"embedding\":\"AAAA\"}", bare), None, Err("JSON without vectors")),
            (two("{\"embedding\":[\"secret\"]}", bare), None, Err("JSON without vectors")),
            ("[]".to_owned(), None, Err("0 vectors for 2 texts")),
            ("{\"error\":{\"message\":\"overloaded\"}}".to_owned(), None, Err("with an error: overloaded")),
            ("{\"error\":\"overloaded\"}".to_owned(), None, Err("with an error: overloaded")),
        ] {
            match (read(&body, 2, dimensions), told) {
                (Ok(embedded), Ok(first)) => assert_eq!(embedded.vectors[0], first, "{body}"),
                (Err(failure), Err(told)) => assert!(failure.describe().contains(told), "{body}: {failure}"),
                (read, told) => panic!("{body}: {read:?}, and not {told:?}"),
            }
        }
    }

    #[test]
    fn what_an_answer_says_besides_is_taken_as_it_comes() {
        let data = "\"data\":[{\"embedding\":[1]}]";
        for (rest, tokens, model) in [
            ("", None, None),
            (",\"model\":\"m\",\"usage\":{\"prompt_tokens\":3,\"total_tokens\":5}", Some(5), Some("m")),
            (",\"usage\":{\"prompt_tokens\":3}", Some(3), None),
            (",\"usage\":[],\"model\":7,\"object\":{}", None, None),
            (",\"usage\":{\"total_tokens\":\"many\"},\"error\":null", None, None),
        ] {
            let embedded = read(&format!("{{{data}{rest}}}"), 1, None).unwrap();
            assert_eq!((embedded.tokens, embedded.model.as_deref()), (tokens, model), "{rest}");
        }
    }

    #[test]
    fn an_answer_may_be_as_long_as_its_vectors_are() {
        assert!(bytes_max(1, Some(64)) < 70_000 && bytes_max(64, Some(1536)) > 64 * 1536 * 24);
        assert_eq!(bytes_max(128, None), ANSWER_BYTES);
        assert_eq!(bytes_max(usize::MAX, Some(usize::MAX)), ANSWER_BYTES);
    }
}
