//! Parameters of a call in key order, with long values cut to a head and a mark.
//!
//! A mark gives the length of the rest and the first 8 hex digits of the SHA-256 of the whole, after redaction: `…[+812
//! chars #1f2e3d4c]`. So calls that differ anywhere differ in their items, except in values meant only for the screen.
//! Content written to files is cut shorter, because the files have it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{MAX_VALUE_CHARS, Manifest, without_recall};
use crate::hash::{canonical_json, hex_digest};
use baton_redaction::json::{effective_name, element_name, find_program, redact_arguments, redact_number, redact_text};
use baton_redaction::raw_json;
use baton_redaction::redact_owned;

/// Most values kept of one array or object.
const MAX_ENTRIES: usize = 50;
/// Deepest nesting kept, in levels below the parameters.
const MAX_DEPTH: usize = 5;
/// Most values kept of one call.
const MAX_VALUES: usize = 400;
/// Longest key, in characters.
const MAX_KEY_CHARS: usize = 100;
/// Longest value of content that is written to a file or replaced in it, in characters. Manifests are exempt: they show
/// which packages were added.
const MAX_FILE_TEXT_CHARS: usize = 60;
/// Parameters with such content.
const FILE_TEXTS: &[&str] = &["old_string", "new_string", "content", "new_source"];
/// Parameters that name the file.
const FILE_NAMES: [&[u8]; 3] = [b"file_path", b"notebook_path", b"path"];
/// Parameters that repeat another one in words for the screen.
const ECHOES: &[&str] = &["activeForm"];

/// What may still be kept of a call.
struct Budget {
    /// Number of values.
    left: usize,
    /// Characters of a file's text.
    file_text: usize,
}

/// The parameters of a call, from the transcript's object. Anything but an object is kept under an empty key.
pub(crate) fn parameters(raw: raw_json::Value<'_>) -> BTreeMap<String, Value> {
    let mut budget = Budget { left: MAX_VALUES, file_text: file_text_chars(raw) };
    match raw {
        raw_json::Value::Object(_) => object(raw, "", 0, &mut budget).into_iter().collect(),
        raw_json::Value::Null => BTreeMap::new(),
        other => BTreeMap::from([(String::new(), value(other, "", 0, &mut budget, MAX_VALUE_CHARS))]),
    }
}

/// Bound for content written to a file: shorter if the file is named and is not a manifest.
fn file_text_chars(raw: raw_json::Value<'_>) -> usize {
    let file = FILE_NAMES.into_iter().find_map(|name| raw.get(name)?.text());
    if file.is_some_and(|file| Manifest::from_path(&file.decode()).is_none()) {
        MAX_FILE_TEXT_CHARS
    } else {
        MAX_VALUE_CHARS
    }
}

/// Converts a value; strings are cut to `chars`. The name helps to recognise secrets.
fn value(raw: raw_json::Value<'_>, name: &str, depth: usize, budget: &mut Budget, chars: usize) -> Value {
    budget.left = budget.left.saturating_sub(1);
    match raw {
        raw_json::Value::Text(text) => {
            Value::String(shortened(redact_text(name, &without_recall(&text.decode())), chars))
        }
        raw_json::Value::Object(bytes) if depth >= MAX_DEPTH || budget.left == 0 => cut(&bytes),
        raw_json::Value::Array(bytes) if depth >= MAX_DEPTH || budget.left == 0 => cut(&bytes),
        raw_json::Value::Object(_) => Value::Object(object(raw, name, depth, budget).into_iter().collect()),
        raw_json::Value::Array(_) => array(raw, name, depth, budget),
        raw_json::Value::Number(digits) => {
            redact_number(name, &String::from_utf8_lossy(digits)).map_or_else(|| number(digits), Value::String)
        }
        raw_json::Value::Bool(value) => Value::Bool(value),
        raw_json::Value::Null => Value::Null,
    }
}

/// Fields in key order, so that cuts do not depend on the order in which they were written.
fn object(raw: raw_json::Value<'_>, outer: &str, depth: usize, budget: &mut Budget) -> Vec<(String, Value)> {
    let fields = raw.fields().map(|(key, value)| (key.decode(), value));
    let fields: BTreeMap<_, _> = fields.filter(|(key, _)| !ECHOES.contains(&&**key)).collect();
    let all = fields.len();
    let mut kept = Vec::with_capacity(all.min(MAX_ENTRIES));
    let mut rest = String::new();
    let beside = |name: &str| {
        let mut same = fields.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name));
        same.find_map(|(_, field)| field.text()).map(raw_json::Text::decode)
    };
    let program = find_program(beside);
    for (key, field) in &fields {
        if kept.len() < MAX_ENTRIES && budget.left > 0 {
            let chars = if FILE_TEXTS.contains(&&**key) { budget.file_text } else { MAX_VALUE_CHARS };
            let name = super::head(redact_owned(key.clone().into_owned()), MAX_KEY_CHARS);
            let mut clean = value(*field, &effective_name(key, outer, beside), depth + 1, budget, chars);
            if let (Some(program), Value::Array(arguments)) = (&program, &mut clean) {
                redact_arguments(Some(program), arguments);
            }
            kept.push((name, clean));
        } else {
            rest.push_str(key);
            rest.push_str(&whole(*field));
        }
    }
    if kept.len() < all {
        kept.push(("…".to_owned(), mark(all - kept.len(), "keys", &rest)));
    }
    kept
}

fn array(raw: raw_json::Value<'_>, name: &str, depth: usize, budget: &mut Budget) -> Value {
    let mut kept = Vec::new();
    let mut before = None;
    let mut rest = String::new();
    let mut dropped = 0;
    for element in raw.elements() {
        if kept.len() < MAX_ENTRIES && budget.left > 0 && dropped == 0 {
            let text = element.text().map(raw_json::Text::decode);
            let name = element_name(name, before.as_deref(), text.as_deref().unwrap_or(""));
            kept.push(value(element, name, depth + 1, budget, MAX_VALUE_CHARS));
            before = text;
        } else {
            dropped += 1;
            rest.push_str(&whole(element));
        }
    }
    redact_arguments(None, &mut kept);
    if dropped > 0 {
        kept.push(mark(dropped, "items", &rest));
    }
    Value::Array(kept)
}

/// Cuts a string that is too long to its head and a mark.
fn shortened(text: String, chars: usize) -> String {
    // Bytes are never fewer than characters, so most texts need no counting.
    if text.len() <= chars {
        return text;
    }
    let Some((end, _)) = text.char_indices().nth(chars) else {
        return text;
    };
    let more = text[end..].chars().count();
    format!("{}…[+{more} chars #{}]", &text[..end], hex_digest(text.as_bytes(), 8))
}

fn mark(count: usize, what: &str, rest: &str) -> Value {
    let rest = redact_owned(rest.to_owned());
    Value::String(format!("…[+{count} {what} #{}]", hex_digest(rest.as_bytes(), 8)))
}

/// The mark of a container that is too deep, or exceeds the budget.
fn cut(bytes: &[u8]) -> Value {
    let rest = redact_owned(canonical(bytes));
    Value::String(format!("…[+{} bytes #{}]", rest.len(), hex_digest(rest.as_bytes(), 8)))
}

/// A value in canonical form, for digests.
fn whole(value: raw_json::Value<'_>) -> String {
    match value {
        raw_json::Value::Text(text) => text.decode().into_owned(),
        raw_json::Value::Object(bytes) | raw_json::Value::Array(bytes) => canonical(&bytes),
        raw_json::Value::Number(digits) => number(digits).to_string(),
        raw_json::Value::Bool(value) => value.to_string(),
        raw_json::Value::Null => "null".to_owned(),
    }
}

/// Canonical JSON, or the bytes themselves if a strict parser refuses them (nesting bombs, lone surrogates).
fn canonical(bytes: &[u8]) -> String {
    serde_json::from_slice::<Value>(bytes)
        .map_or_else(|_| String::from_utf8_lossy(bytes).into_owned(), |value| canonical_json(&value))
}

/// Writes integral floats as integers, like JavaScript: `1.0` and `1` are the same number.
fn number(digits: &[u8]) -> Value {
    let text = String::from_utf8_lossy(digits);
    match serde_json::from_str::<Value>(&text) {
        Ok(Value::Number(number)) => match number.as_f64() {
            Some(float) if !number.is_i64() && !number.is_u64() && float.fract() == 0.0 && float.abs() < EXACT => {
                #[expect(clippy::cast_possible_truncation, reason = "bounded by EXACT just above")]
                let whole = float as i64;
                Value::from(whole)
            }
            _ => Value::Number(number),
        },
        _ => Value::String(super::head(text.into_owned(), MAX_VALUE_CHARS)),
    }
}

/// Below this limit every whole number is exact as a float.
const EXACT: f64 = 9_007_199_254_740_992.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(raw: &str) -> String {
        let map = parameters(raw_json::Value::Object(raw.as_bytes().into()));
        canonical_json(&Value::Object(map.into_iter().collect()))
    }

    fn check(raw: &str, expected: &str) {
        assert_eq!(kept(raw), expected, "{raw}");
    }

    #[test]
    fn small_parameters_stay_as_they_are_in_key_order() {
        check("{}", "{}");
        check(r#"{"b":[1,true,null,{"y":2,"x":"é"}],"a":"x\ny"}"#, r#"{"a":"x\ny","b":[1,true,null,{"x":"é","y":2}]}"#);
        check(r#"{"a":1,"a":2}"#, r#"{"a":2}"#);
        check(r#"{"a":1.0,"b":1e2,"c":-0,"d":1.5,"e":1e999}"#, r#"{"a":1,"b":100,"c":0,"d":1.5,"e":"1e999"}"#);
        check(r#"{"password":"x","a":"<private>me</private>"}"#, r#"{"a":"[redacted:private]","password":"x"}"#);
        check(
            r#"{"todos":[{"content":"Mend it","activeForm":"Mending it","status":"pending"}]}"#,
            r#"{"todos":[{"content":"Mend it","status":"pending"}]}"#,
        );
        check(r#"{"content":"a\n<baton-recall kind=\"handoff\">\ntold</baton-recall>\nb"}"#, r#"{"content":"a\n\nb"}"#);
    }

    #[test]
    fn the_key_of_a_value_tells_whether_it_is_a_secret() {
        check(
            r#"{"host":"db","password":"kW8xyzq7Lm2p","headers":{"X-Api-Key":"yT5rE4wQ3uI2","Accept":"*/*"}}"#,
            r#"{"headers":{"Accept":"*/*","X-Api-Key":"[redacted:secret]"},"host":"db","password":"[redacted:secret]"}"#,
        );
        check(
            r#"{"env":[{"value":"kW8xyzq7Lm2p","name":"DB_PASSWORD"},{"name":"HOST","value":"db.example.net"}]}"#,
            r#"{"env":[{"name":"DB_PASSWORD","value":"[redacted:secret]"},{"name":"HOST","value":"db.example.net"}]}"#,
        );
        check(
            r#"{"args":["--password","kW8xyzq7Lm2p"],"pin":{"password":84729183},"n":84729183}"#,
            r#"{"args":["--password","[redacted:secret]"],"n":84729183,"pin":{"password":"[redacted:secret]"}}"#,
        );
        check(
            r#"{"input":"{\"env\":[{\"key\":\"DB_PASSWORD\",\"value\":\"kW8xyzq7Lm2p\"}]}"}"#,
            r#"{"input":"{\"env\":[{\"key\":\"DB_PASSWORD\",\"value\":\"[redacted:secret]\"}]}"}"#,
        );
        let whole = parameters(raw_json::Value::Text(raw_json::Text::new(br#"{\"password\":\"kW8xyzq7Lm2p\"}"#)));
        assert_eq!(whole[""], r#"{"password":"[redacted:secret]"}"#);
        // A long value is checked for secrets before it is cut.
        let long = kept(&format!("{{\"api_key\":\"{}\"}}", "aB3dE5gH7jK9".repeat(100)));
        assert_eq!(long, r#"{"api_key":"[redacted:secret]"}"#);
    }

    #[test]
    fn bulky_values_are_cut_to_a_head_and_a_mark_that_tells_them_apart() {
        let long = |last: &str| kept(&format!("{{\"a\":\"{}{last}\"}}", "é".repeat(300)));
        assert!(long("x").starts_with(&format!("{{\"a\":\"{}…[+101 chars #", "é".repeat(200))), "{}", long("x"));
        assert_ne!(long("x"), long("y"));
        let exact = format!("{{\"a\":\"{}\"}}", "é".repeat(200));
        check(&exact, &exact);

        let written =
            |path: &str, key: &str| kept(&format!("{{\"file_path\":\"{path}\",\"{key}\":\"{}\"}}", "x".repeat(300)));
        for key in FILE_TEXTS {
            assert!(written("/a/b.rs", key).contains(&format!("\"{}…[+240 chars #", "x".repeat(60))), "{key}");
            assert!(written("/a/Cargo.toml", key).contains(&format!("\"{}…[+100 chars #", "x".repeat(200))), "{key}");
        }
        assert!(written("/a/b.rs", "description").contains("…[+100 chars #"));
        let edits = format!("{{\"path\":\"b\",\"edits\":[{{\"old_string\":\"{}\"}}]}}", "x".repeat(300));
        assert!(kept(&edits).contains("…[+240 chars #"));

        let many = |last: u32| format!("{{\"a\":[{}{last}]}}", "7,".repeat(60));
        assert!(kept(&many(1)).contains("…[+11 items #"), "{}", kept(&many(1)));
        assert_ne!(kept(&many(1)), kept(&many(2)));

        let wide: Vec<_> = (0..60).map(|key| format!("\"k{key:02}\":{key}")).collect();
        let backwards: Vec<_> = wide.iter().rev().cloned().collect();
        let object = |fields: &[String]| kept(&format!("{{{}}}", fields.join(",")));
        assert!(object(&wide).contains("\"…\":\"…[+10 keys #"));
        assert_eq!(object(&wide), object(&backwards));
    }

    #[test]
    fn no_nesting_and_no_number_of_values_is_too_much() {
        let bomb = format!("{{\"a\":{}1{}}}", "[".repeat(50_000), "]".repeat(50_000));
        assert!(kept(&bomb).len() < 100, "{}", kept(&bomb));
        let row = format!("[{}0]", "0,".repeat(49));
        let wide = format!("{{\"a\":[{}{row}]}}", format!("{row},").repeat(40));
        assert!(kept(&wide).len() < 4_000, "{}", kept(&wide).len());
    }
}
