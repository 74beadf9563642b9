//! A validator for the part of JSON Schema that our schema files use: `type`, `enum`, `minimum`, `required`, `properties`,
//! `additionalProperties`, `items` and `$ref` into `$defs`.
//!
//! It is stricter than the standard in two points. An unknown keyword is a finding, so that no rule remains unchecked;
//! and so is a property that a schema with `properties` does not describe, so that a new field of an answer is added to
//! its schema too.

use serde_json::Value;

/// Maximum nesting depth; a circular reference ends here.
const MAX_DEPTH: usize = 64;
/// Keywords without any constraint.
const ANNOTATIONS: [&str; 4] = ["$schema", "$defs", "title", "description"];

/// The differences between `value` and `schema`, each with its place. Empty if there are none.
pub(crate) fn findings(schema: &Value, value: &Value) -> Vec<String> {
    let mut walk = Walk { root: schema, found: Vec::new() };
    walk.visit(schema, value, "$", 0);
    walk.found
}

struct Walk<'a> {
    root: &'a Value,
    found: Vec<String>,
}

impl<'a> Walk<'a> {
    fn say(&mut self, place: &str, what: impl std::fmt::Display) {
        self.found.push(format!("{place}: {what}"));
    }

    fn visit(&mut self, schema: &'a Value, value: &Value, place: &str, depth: usize) {
        let Some(keywords) = schema.as_object().filter(|_| depth < MAX_DEPTH) else {
            return self.say(place, "the schema is no object here, or is nested too deeply");
        };
        for (keyword, rule) in keywords {
            match keyword.as_str() {
                "$ref" => match rule.as_str().and_then(|to| self.root.pointer(to.strip_prefix('#')?)) {
                    Some(target) => self.visit(target, value, place, depth + 1),
                    None => self.say(place, format_args!("reference {rule} leads nowhere")),
                },
                "type" if !names(rule).any(|name| is_of(name, value)) => {
                    self.say(place, format_args!("{value} is not of type {rule}"));
                }
                "enum" if !rule.as_array().is_some_and(|allowed| allowed.contains(value)) => {
                    self.say(place, format_args!("{value} is none of {rule}"));
                }
                "minimum" if value.as_f64().zip(rule.as_f64()).is_some_and(|(is, least)| is < least) => {
                    self.say(place, format_args!("{value} is less than {rule}"));
                }
                "required" => {
                    for name in names(rule).filter(|name| value.is_object() && value.get(name).is_none()) {
                        self.say(place, format_args!("{name} is missing"));
                    }
                }
                "items" => {
                    for (at, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.visit(rule, item, &format!("{place}[{at}]"), depth + 1);
                    }
                }
                "properties" | "additionalProperties" => {}
                "type" | "enum" | "minimum" => {}
                known if ANNOTATIONS.contains(&known) => {}
                unknown => self.say(place, format_args!("this validator does not know the keyword {unknown}")),
            }
        }
        self.properties(schema, value, place, depth);
    }

    fn properties(&mut self, schema: &'a Value, value: &Value, place: &str, depth: usize) {
        let (described, others) = (schema.get("properties"), schema.get("additionalProperties"));
        if described.is_none() && others.is_none() {
            return;
        }
        for (name, value) in value.as_object().into_iter().flatten() {
            let place = format!("{place}.{name}");
            match (described.and_then(|all| all.get(name)), others) {
                (Some(schema), _) => self.visit(schema, value, &place, depth + 1),
                (None, Some(schema @ Value::Object(_))) => self.visit(schema, value, &place, depth + 1),
                (None, Some(Value::Bool(true))) => {}
                (None, _) => self.say(&place, "is there and not described"),
            }
        }
    }
}

/// One name or a list of names.
fn names(rule: &Value) -> impl Iterator<Item = &str> {
    let list = rule.as_array().map_or(std::slice::from_ref(rule), Vec::as_slice);
    list.iter().filter_map(Value::as_str)
}

fn is_of(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        _ => false,
    }
}

#[test]
fn the_validator_finds_what_is_wrong() {
    let check = |schema: &str, value: &str, expected: &str| {
        let read = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
        assert_eq!(findings(&read(schema), &read(value)).join("; "), expected, "{schema} on {value}");
    };
    check(r#"{"type":"integer","minimum":1}"#, "1", "");
    check(r#"{"type":"integer"}"#, "1.5", r#"$: 1.5 is not of type "integer""#);
    check(r#"{"type":["string","null"]}"#, "null", "");
    check(r#"{"type":["string","null"]}"#, "true", r#"$: true is not of type ["string","null"]"#);
    check(r#"{"type":"sting"}"#, r#""x""#, r#"$: "x" is not of type "sting""#);
    check(r#"{"minimum":1}"#, "0", "$: 0 is less than 1");
    check(r#"{"enum":["a","b"]}"#, r#""c""#, r#"$: "c" is none of ["a","b"]"#);
    check(r#"{"required":["a","b"]}"#, r#"{"a":1}"#, "$: b is missing");
    check(r#"{"properties":{"a":{"type":"string"}}}"#, r#"{"a":1}"#, r#"$.a: 1 is not of type "string""#);
    check(r#"{"properties":{"a":{}}}"#, r#"{"b":1}"#, "$.b: is there and not described");
    check(r#"{"additionalProperties":true}"#, r#"{"b":1}"#, "");
    check(
        r#"{"additionalProperties":{"items":{"type":"null"}}}"#,
        r#"{"b":[null,2]}"#,
        r#"$.b[1]: 2 is not of type "null""#,
    );
    check(r##"{"$ref":"#/$defs/n","$defs":{"n":{"type":"null"}}}"##, "1", r#"$: 1 is not of type "null""#);
    check(r##"{"$ref":"#/$defs/gone"}"##, "1", r##"$: reference "#/$defs/gone" leads nowhere"##);
    check(r##"{"$ref":"#"}"##, "1", "$: the schema is no object here, or is nested too deeply");
    check(r#"{"pattern":"a+"}"#, r#""b""#, "$: this validator does not know the keyword pattern");
}
