//! Redaction of JSON: of every text in it, each by itself. Its form stays valid, which redaction of the whole would not
//! promise.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::redact;

/// One JSON value without what must not be shown; `None` where nothing is to be redacted in it, as in almost all. What is no
/// JSON is redacted as a text.
pub fn redact_json(json: &str) -> Option<String> {
    let mut found = false;
    let mut reader = serde_json::Deserializer::from_str(json);
    if Texts(&mut found).deserialize(&mut reader).and_then(|()| reader.end()).is_err() {
        return match redact(json) {
            Cow::Borrowed(_) => None,
            Cow::Owned(redacted) => Some(redacted),
        };
    }
    if !found {
        return None;
    }
    serde_json::from_str(json).ok().map(|value| redact_value(value).to_string())
}

/// The same value with every text in it redacted, names of fields included.
pub fn redact_value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(redact(&text).into_owned()),
        Value::Array(values) => values.into_iter().map(redact_value).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (redact(&name).into_owned(), redact_value(value))).collect()
        }
        other => other,
    }
}

/// Passes over a value and keeps nothing of it but whether redaction would change it.
struct Texts<'a>(&'a mut bool);

impl<'de> DeserializeSeed<'de> for Texts<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Texts<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<(), E> {
        *self.0 |= matches!(redact(text), Cow::Owned(_));
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<(), A::Error> {
        while values.next_element_seed(Texts(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        while fields.next_key_seed(Texts(self.0))?.is_some() {
            fields.next_value_seed(Texts(self.0))?;
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "sk-ant-api03-a1B2c3D4e5F6a1B2c3D4e5F6";

    fn check(json: &str, expected: Option<&str>) {
        let redacted = redact_json(json);
        assert_eq!(redacted.is_some(), expected.is_some(), "{json}: {redacted:?}");
        if let (Some(redacted), Some(expected)) = (redacted, expected) {
            assert!(!redacted.contains(SECRET), "{redacted}");
            assert!(redacted.contains(expected), "{redacted} lacks {expected}");
        }
    }

    #[test]
    fn what_holds_no_secret_stays_to_the_byte() {
        check(r#"{ "a" : [1, -2, 3.5, true, null, "plain \n text"] }"#, None);
        check(r#""/srv/work""#, None);
        check("", None);
        check("{no json", None);
    }

    #[test]
    fn a_secret_goes_wherever_it_stands_and_the_rest_stays_json() {
        check(&format!(r#"{{"path":"/srv/{SECRET}/x","n":7}}"#), Some("\"n\":7"));
        check(&format!(r#"{{"deep":[{{"text":"first\n{SECRET}\nlast"}}]}}"#), Some("first\\n"));
        check(&format!(r#"{{"{SECRET}":1}}"#), Some(":1"));
        check(&format!("no json {SECRET}"), Some("no json"));
    }
}
