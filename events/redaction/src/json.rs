//! Redaction of JSON: every text is redacted as the value of its field. The result stays valid JSON, which redacting
//! the whole as text would not guarantee.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::name::{self, NameKind};
use super::{MARK, redact};
use crate::raw_json as raw;
use crate::raw_json::{Raw, Text};

/// Fields that hold a value whose name is in another field of the object, and the fields that may hold that name, in
/// lowercase: `{"name": "DB_PASSWORD", "value": "…"}`.
const PAIRS: &[(&str, &[&str])] = &[
    (
        "value",
        &[
            "name",
            "key",
            "header",
            "field",
            "variable",
            "parameter",
            "option",
            "selector",
            "element",
            "label",
            "type",
            "id",
        ],
    ),
    ("text", &["element", "selector", "label", "field"]),
    ("v", &["k", "key"]),
];
/// Stands for the name of every value in a Kubernetes Secret.
const SECRET_DATA: &str = "data-of-a-secret";
/// Field names that add nothing to the name above them: `{"password": {"plaintext": "…"}}`.
const SAME: &[&str] = &["value", "values", "default", "raw", "plain", "plaintext", "string", "current", "new", "old"];
/// Fields that name the program whose arguments an array in the same object holds.
const PROGRAMS: &[&str] = &["command", "cmd", "program", "executable", "exec", "bin"];
/// Longest label that is read, in bytes.
const MAX_LABEL_BYTES: usize = 100;
/// Most words of a label: `Password field of the form`.
const MAX_LABEL_WORDS: usize = 8;
/// How many levels of JSON inside JSON strings are parsed.
const MAX_NESTED: usize = 4;

/// Redacts a JSON value. Returns `None` if nothing needs redacting, which is the usual case. Input that is not JSON is
/// redacted as plain text.
pub fn redact_json(json: &str) -> Option<String> {
    let mut suspect = false;
    let mut reader = serde_json::Deserializer::from_str(json);
    if Texts(&mut suspect).deserialize(&mut reader).and_then(|()| reader.end()).is_err() {
        return match redact(json) {
            Cow::Borrowed(_) => None,
            Cow::Owned(redacted) => Some(redacted),
        };
    }
    if suspect { redact_nested("", json, MAX_NESTED) } else { None }
}

/// Redacts every text in the value, field names included.
pub fn redact_value(value: Value) -> Value {
    let clean = redact_nested("", &value.to_string(), MAX_NESTED);
    clean.map_or(value, |clean| serde_json::from_str(&clean).unwrap_or_else(|_| format!("{MARK}unchecked]").into()))
}

/// Redacts a text as the value of the field `name`.
pub fn redact_text(name: &str, text: &str) -> String {
    redact_nested_text(name, text, MAX_NESTED)
}

/// Returns the name by which a field's value is judged: the name in a neighbouring field that names it; `outer`, the
/// name of what holds the object, if its own name adds nothing; else its own name. `beside` looks up another field of
/// the object.
pub fn effective_name<'n>(key: &'n str, outer: &'n str, beside: impl Fn(&str) -> Option<Cow<'n, str>>) -> Cow<'n, str> {
    let labels = PAIRS.iter().filter(|(value, _)| key.eq_ignore_ascii_case(value)).flat_map(|(_, names)| *names);
    if let Some(name) =
        labels.filter_map(|label| beside(label)).find_map(|label| sensitive_prefix(&label).map(str::to_owned))
    {
        return Cow::Owned(name);
    }
    let adds_nothing = SAME.iter().any(|same| key.eq_ignore_ascii_case(same));
    if adds_nothing && is_sensitive(outer) { Cow::Borrowed(outer) } else { Cow::Borrowed(key) }
}

/// Returns the name by which a text in an array is judged: that of the option before it (`["--password", "…"]`), or
/// else the array's.
pub fn element_name<'n>(array: &'n str, before: Option<&'n str>, text: &str) -> &'n str {
    let option = before.filter(|_| !text.starts_with('-')).and_then(|option| option.strip_prefix('-'));
    option.map_or(array, |option| option.trim_start_matches('-'))
}

/// Returns the program whose arguments an object holds, if a field names it. `beside` looks up a field of the object.
pub fn find_program<'n>(beside: impl Fn(&str) -> Option<Cow<'n, str>>) -> Option<Cow<'n, str>> {
    PROGRAMS.iter().find_map(|name| beside(name))
}

/// Redacts the arguments of a program as on a command line: `["sshpass", "-p", "…"]`, or `["-p", "…"]` if `program`
/// comes from a neighbouring field.
pub fn redact_arguments(program: Option<&str>, arguments: &mut Vec<Value>) {
    let texts = arguments.iter().map(Value::as_str).collect::<Option<Vec<_>>>();
    if let Some(clean) = texts.and_then(|texts| clean_arguments(program, &texts)) {
        *arguments = clean.into_iter().map(Value::from).collect();
    }
}

/// Redacts arguments given as texts. Returns `None` if nothing needs redacting.
fn clean_arguments(program: Option<&str>, texts: &[impl AsRef<str>]) -> Option<Vec<String>> {
    if !texts.iter().any(|text| text.as_ref().starts_with('-')) {
        return None;
    }
    let line = Value::from_iter(program.into_iter().chain(texts.iter().map(AsRef::as_ref))).to_string();
    let Cow::Owned(clean) = redact(&line) else { return None };
    let first = usize::from(program.is_some());
    let clean = serde_json::from_str::<Vec<String>>(&clean).ok().filter(|clean| clean.len() == texts.len() + first);
    // If a cut spans several arguments, the remains cannot be assigned to any of them.
    Some(clean.map_or_else(|| vec![format!("{MARK}secret]"); texts.len()], |clean| clean[first..].to_vec()))
}

/// True if a field of this name may hold a secret. Names that are not ASCII are left to the rules for texts.
fn is_sensitive(name: &str) -> bool {
    name::name_ending_at(name, name.len()).is_some() || !name.is_ascii()
}

/// Returns the sensitive prefix of a label: `Password` of `Password field`.
fn sensitive_prefix(label: &str) -> Option<&str> {
    if label.len() > MAX_LABEL_BYTES || is_sensitive(label) {
        return Some(label).filter(|label| label.len() <= MAX_LABEL_BYTES);
    }
    let ends = label.match_indices(' ').map(|(at, _)| at).take(MAX_LABEL_WORDS);
    let mut starts = ends.map(|end| &label[..end]);
    starts.find(|start| name::name_ending_at(start, start.len()).is_some_and(|name| name.kind == NameKind::Strong))
}

/// True if a text may itself be JSON.
fn may_be_json(text: &str) -> bool {
    let text = text.trim();
    (text.starts_with('{') && text.ends_with('}')) || (text.starts_with('[') && text.ends_with(']'))
}

/// Returns the redacted form of the JSON that field `name` holds. `None` if nothing needs redacting, or if it is not
/// JSON.
fn redact_nested(name: &str, json: &str, depth: usize) -> Option<String> {
    serde_json::from_str::<IgnoredAny>(json).ok()?;
    let whole = format!("[{json}]");
    let mut writer = Writer { out: String::with_capacity(json.len()), changed: false };
    writer.value(name, raw::Value::Array(Raw::from(&whole)).elements().next()?, depth);
    writer.changed.then_some(writer.out)
}

/// Rewrites JSON value by value from its source, so that numbers keep their digits and every occurrence of a duplicate
/// field is checked.
struct Writer {
    out: String,
    changed: bool,
}

impl Writer {
    fn value(&mut self, name: &str, value: raw::Value<'_>, depth: usize) {
        match value {
            raw::Value::Text(text) => self.text(text, |text| redact_nested_text(name, text, depth)),
            raw::Value::Number(digits) => {
                let digits = String::from_utf8_lossy(digits);
                let mark = redact_number(name, &digits);
                self.changed |= mark.is_some();
                self.out += &mark.map_or(digits, |mark| Value::from(mark).to_string().into());
            }
            raw::Value::Array(_) => self.array(name, None, value, depth),
            raw::Value::Object(_) => self.object(name, value, depth),
            raw::Value::Bool(value) => self.out += if value { "true" } else { "false" },
            raw::Value::Null => self.out += "null",
        }
    }

    fn text(&mut self, text: Text<'_>, clean: impl FnOnce(&str) -> String) {
        let decoded = text.decode();
        let clean = clean(&decoded);
        if clean == decoded {
            self.out.push('"');
            self.out += &String::from_utf8_lossy(text.raw());
            self.out.push('"');
        } else {
            self.changed = true;
            self.out += &Value::from(clean).to_string();
        }
    }

    /// An array in field `name` whose elements may be the arguments of `program`.
    fn array(&mut self, name: &str, program: Option<&str>, array: raw::Value<'_>, depth: usize) {
        let option = |value: raw::Value<'_>| value.text().is_some_and(|text| text.raw().starts_with(b"-"));
        let texts = || array.elements().map(|value| value.text().map(Text::decode)).collect::<Option<Vec<_>>>();
        let texts = array.elements().any(option).then(texts).flatten();
        let clean = texts.and_then(|texts| clean_arguments(program, &texts)).unwrap_or_default();
        let mut before: Option<Cow<'_, str>> = None;
        let mut joint = '[';
        for (at, value) in array.elements().enumerate() {
            self.out.push(joint);
            joint = ',';
            let text = value.text().map(Text::decode);
            let name = element_name(name, before.as_deref(), text.as_deref().unwrap_or(""));
            match (value, clean.get(at)) {
                (raw::Value::Text(text), Some(clean)) => self.text(text, |_| redact_nested_text(name, clean, depth)),
                _ => self.value(name, value, depth),
            }
            before = text;
        }
        self.out += if joint == '[' { "[]" } else { "]" };
    }

    fn object(&mut self, outer: &str, object: raw::Value<'_>, depth: usize) {
        let fields: Vec<_> = object.fields().map(|(key, value)| (key, key.decode(), value)).collect();
        let texts: Vec<_> =
            fields.iter().filter_map(|(_, key, value)| Some((key.as_ref(), value.text()?.decode()))).collect();
        let beside = |name: &str| {
            let mut same = texts.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, text)| text);
            same.clone()
                .find(|text| sensitive_prefix(text).is_some())
                .or_else(|| same.next())
                .map(|text| Cow::Borrowed(&**text))
        };
        let program = find_program(beside);
        let is_secret = texts.iter().any(|(key, text)| *key == "kind" && text == "Secret");
        let mut marks = BTreeMap::new();
        let mut joint = '{';
        for (key, decoded, value) in &fields {
            self.out.push(joint);
            joint = ',';
            // Names redacted to the same mark are numbered, because readers keep only one field per name.
            self.text(*key, |key| match redact(key) {
                Cow::Borrowed(key) => key.to_owned(),
                Cow::Owned(mark) => {
                    let count = marks.entry(mark.clone()).and_modify(|count| *count += 1).or_insert(1);
                    if *count == 1 { mark } else { format!("{mark} {count}") }
                }
            });
            self.out.push(':');
            let in_secret = outer == SECRET_DATA || (is_secret && matches!(&**decoded, "data" | "stringData"));
            let name = if in_secret { Cow::Borrowed(SECRET_DATA) } else { effective_name(decoded, outer, beside) };
            match value {
                raw::Value::Array(_) => self.array(&name, program.as_deref(), *value, depth),
                _ => self.value(&name, *value, depth),
            }
        }
        self.out += if joint == '{' { "{}" } else { "}" };
    }
}

/// Returns the replacement for a number if a field of this name holds a secret in it.
pub fn redact_number(name: &str, digits: &str) -> Option<String> {
    if !is_sensitive(name) {
        return None;
    }
    let clean = redact_by_name(name, digits.to_owned());
    (clean != digits).then_some(clean)
}

fn redact_nested_text(name: &str, text: &str, depth: usize) -> String {
    let mut clean = redact(text).into_owned();
    if depth > 0
        && may_be_json(&clean)
        && let Some(redacted) = redact_nested(name, &clean, depth - 1)
    {
        clean = redacted;
    }
    if is_sensitive(name) { redact_by_name(name, clean) } else { clean }
}

/// Redacts a text that is already clean by itself together with its name, as one line of JSON, so that every rule for
/// texts applies.
fn redact_by_name(name: &str, text: String) -> String {
    let start = format!("{}: ", Value::from(name));
    let line = format!("{start}{}", Value::from(text.as_str()));
    let Cow::Owned(clean) = redact(&line) else { return text };
    let value = clean.strip_prefix(&start).and_then(|value| serde_json::from_str::<String>(value).ok());
    // The rules for texts see only one line of a value.
    let is_first_line = |value: &String| value.starts_with(MARK) && !text.starts_with(MARK) && text.contains('\n');
    value.filter(|value| !is_first_line(value)).unwrap_or_else(|| format!("{MARK}secret]"))
}

/// Visits a value and records only whether redaction might change it.
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

    /// A sensitive text may be the name of a field or of a neighbouring value; a text that starts with a hyphen may be
    /// an option of a program.
    fn visit_str<E: de::Error>(self, text: &str) -> Result<(), E> {
        let is_sensitive = || text.starts_with('-') || may_be_json(text) || sensitive_prefix(text).is_some();
        *self.0 = *self.0 || matches!(redact(text), Cow::Owned(_)) || is_sensitive();
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

    /// Values that only their field names give away; `§` marks their place.
    const NAMED: &[(&str, &str)] = &[
        (r#"{"password":"§","n":1}"#, "kW8xyzq7Lm2p"),
        (r#"{"apiKey":"§"}"#, "Zx81kLmn29Qp"),
        (r#"{"a":[{"b":{"client_secret":"§"}}]}"#, "aB3dE5gH7jK9"),
        (r#"{"env":{"DB_PASSWORD":"§"}}"#, "Enterprise2024!"),
        (r#"{"headers":{"X-Api-Key":"§","Accept":"*/*"}}"#, "yT5rE4wQ3uI2"),
        (r#"{"headers":{"Authorization":"Bearer §"}}"#, "q1w2e3r4t5y6u7i8o9p0"),
        (r#"{"headers":{"Cookie":"sid=§"}}"#, "q1w2e3r4t5y6"),
        (r#"{"name":"DB_PASSWORD","value":"§"}"#, "kW8xyzq7Lm2p"),
        (r#"{"value":"§","name":"DB_PASSWORD"}"#, "kW8xyzq7Lm2p"),
        (r#"{"environment":[{"Name":"DB_PASSWORD","Value":"§"}]}"#, "kW8xyzq7Lm2p"),
        (r#"{"key":"client_secret","value":"§"}"#, "kW8xyzq7Lm2p"),
        (r#"{"k":"password","v":"§"}"#, "kW8xyzq7Lm2p"),
        (r##"{"selector":"#login-password","value":"§"}"##, "kW8xyzq7Lm2p"),
        (r#"{"element":"Password field of the form","ref":"e12","text":"§"}"#, "kW8xyzq7Lm2p"),
        (r#"{"fields":[{"name":"Password","type":"textbox","value":"§"}]}"#, "kW8xyzq7Lm2p"),
        (r#"{"password":{"value":"§"}}"#, "kW8xyzq7Lm2p"),
        (r#"{"password":["§"],"secrets":["§"]}"#, "kW8xyzq7Lm2p"),
        (r#"{"args":["--user","app","--password","§"]}"#, "kW8xyzq7Lm2p"),
        (r#"{"args":["-password","§"]}"#, "kW8xyzq7Lm2p"),
        (r#"{"command":"sshpass","args":["-p","§","ssh","me@h"]}"#, "Hunter2024"),
        (r#"{"args":["-p","§","ssh"],"Command":"/usr/bin/sshpass"}"#, "Hunter2024"),
        (r#"{"args":["sshpass","-p","§"]}"#, "Hunter2024"),
        (r#"{"command":["mysql","-uroot","-p§"]}"#, "Hunter2024"),
        (r#"{"command":"curl","args":["-s","-u","me:§","https://x.example"]}"#, "Hunter 2024"),
        (r#"[["redis-cli","-a","pa\"§","ping"]]"#, "Hunter2024"),
        (r#"{"password":§}"#, "84729183"),
        (r#"{"password":"pa\"§"}"#, "quotedLm2p"),
        (r#"{"password":"äöü§"}"#, "geheim77x"),
        (r#"{"secret":"Zx81kLmn29Qp\n§"}"#, "second1line2"),
        (r#"{"arguments":"{\"env\":[{\"name\":\"DB_PASSWORD\",\"value\":\"§\"}]}"}"#, "kW8xyzq7Lm2p"),
        (r#"{"kind":"Secret","data":{"foo":"§"}}"#, "SHVudGVyMjAyNA=="),
        (r#"{"type":"password","value":"§"}"#, "Hunter2024"),
        (r#"{"pin":§}"#, "990817"),
        (r#"{"a":"§","a":"x"}"#, SECRET),
        (r#"{"password":"§","password":"x"}"#, "Hunter2024"),
        (r#"{"a":"{\"name\":\"DB_PASSWORD\",\"value\":\"§\",\"value\":\"x\"}"}"#, "kW8xyzq7Lm2p"),
        (r#"{"name":"x","name":"DB_PASSWORD","value":"§"}"#, "kW8xyzq7Lm2p"),
        (r#"{"a":"{\"b\":\"{\\\"password\\\":\\\"§\\\"}\"}"}"#, "kW8xyzq7Lm2p"),
    ];

    #[test]
    fn a_secret_goes_that_only_its_field_names() {
        for (json, secret) in NAMED {
            let json = json.replace('§', secret);
            let redacted = redact_json(&json).unwrap_or_else(|| panic!("{json} is kept"));
            assert!(!redacted.contains(secret), "{json} became {redacted}");
            assert!(serde_json::from_str::<Value>(&redacted).is_ok(), "{json} became {redacted}");
            assert_eq!(redact_json(&redacted), None, "again");
        }
    }

    #[test]
    fn what_stands_beside_a_secret_stays_as_it_is_written() {
        for (json, expected) in [
            (
                r#"{"z":12345678901234567890123,"a":1.50,"§":0}"#,
                r#"{"z":12345678901234567890123,"a":1.50,"[redacted:api_key]":0}"#,
            ),
            (
                r#"{"§":1,"§B":2,"b":[],"c":{},"d":[true,null]}"#,
                r#"{"[redacted:api_key]":1,"[redacted:api_key] 2":2,"b":[],"c":{},"d":[true,null]}"#,
            ),
            (
                r#"{"a":"{\"b\":12345678901234567890123,\"password\":84729183}","c":"\u00e9\/"}"#,
                r#"{"a":"{\"b\":12345678901234567890123,\"password\":\"[redacted:secret]\"}","c":"\u00e9\/"}"#,
            ),
        ] {
            assert_eq!(redact_json(&json.replace('§', SECRET)).as_deref(), Some(expected));
        }
    }

    #[test]
    fn fields_that_only_resemble_such_stay() {
        for json in [
            r#"{"key":"ArrowLeft","name":"token","value":"next"}"#,
            r#"{"password":"your-password","api_key":"${API_KEY}","token":null,"secret":true}"#,
            r#"{"password_file":"/run/secrets/db","secretKeyRef":{"name":"db","key":"password"}}"#,
            r#"{"name":"reset password","text":"Reset it by the link in the mail that was sent"}"#,
            r#"{"name":"max_tokens","value":100000000}"#,
            r#"{"credentials":{"user":"shopadmin","host":"db.example.net"}}"#,
            r#"{"args":["--password","--username","--token","$TOKEN"]}"#,
            r#"{"command":"ssh","args":["-p","22222222","me@h"]}"#,
            r#"{"command":"docker","args":["run","--name","mongo","-p","27017:27017","mongo:7"]}"#,
            r#"["sshpass","-p","$PASS","-e"]"#,
            r#"{"element":"Search field","text":"password reset does not work"}"#,
            r#"{"session_id":"019efedf-a8dc-7b20-ba1d-f1c6ff7ea96e","pattern":"password: (.*)"}"#,
            r#"{"todos":[{"content":"Ask for the password","status":"pending"}]}"#,
            r#"{ "a" : "[1, 2, \"plain\"]" }"#,
        ] {
            assert_eq!(redact_json(json), None, "{json}");
        }
    }
}
