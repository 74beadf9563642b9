//! Checks the arguments of a tool call against the table.

use serde_json::{Map, Value, json};

use crate::Agent;

use super::{Argument, Kind, MOST_ENTRIES, Tool, nearest};

/// Longest string accepted, in bytes: queries are words, not files.
const TEXT_BYTES: usize = 16 * 1024;
/// Most strings in a list.
const TEXTS: usize = 100;

/// The checked arguments of a call, as fields of the method's arguments, with defaults filled in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arguments {
    /// The fields. `ignored` lists the names of arguments given without effect.
    pub fields: Map<String, Value>,
    /// The argument whose number of entries was reduced, and the number it was reduced to.
    pub cut: Option<(&'static str, u32)>,
}

impl Arguments {
    fn insert(&mut self, argument: &Argument, value: Value) {
        let (fields, field) = match argument.field.split_once('.') {
            Some((outer, inner)) => match self.fields.entry(outer).or_insert_with(|| json!({})).as_object_mut() {
                Some(fields) => (fields, inner),
                None => return,
            },
            None => (&mut self.fields, argument.field),
        };
        fields.insert(field.to_owned(), value);
    }
}

impl Tool {
    /// Checks the arguments given by a caller: the text of a JSON object, or nothing. `null` counts as absent.
    ///
    /// # Errors
    ///
    /// Says what is wrong, what is expected and, for an unknown name, which one was probably meant.
    pub fn check(&self, given: Option<&str>) -> Result<Arguments, String> {
        let given: Value = serde_json::from_str(given.unwrap_or("{}"))
            .map_err(|error| format!("{}: the arguments are not JSON: {error}", self.name))?;
        let mut given = match given {
            Value::Object(given) => given,
            Value::Null => Map::new(),
            other => return Err(format!("{}: the arguments are {}, not an object", self.name, describe(&other))),
        };
        if let Some(unknown) = given.keys().find(|key| self.arguments.iter().all(|argument| !argument.is(key))) {
            return Err(self.unknown_argument(unknown));
        }
        let mut checked = Arguments::default();
        let mut ignored = Vec::new();
        for argument in self.arguments {
            let Some(value) = self.value_of(argument, &mut given)? else { continue };
            match argument.kind {
                Kind::Ignored => ignored.push(argument.name),
                Kind::Entries { .. } if value.as_u64().is_some_and(|count| count > u64::from(MOST_ENTRIES)) => {
                    checked.cut = Some((argument.name, MOST_ENTRIES));
                    checked.insert(argument, json!(MOST_ENTRIES));
                }
                _ => checked.insert(argument, value),
            }
        }
        if !ignored.is_empty() {
            ignored.sort_unstable();
            checked.fields.insert("ignored".to_owned(), json!(ignored));
        }
        Ok(checked)
    }

    /// Returns the value given for an argument under any of its names, or its default.
    fn value_of(&self, argument: &Argument, given: &mut Map<String, Value>) -> Result<Option<Value>, String> {
        let mut values: Vec<(&str, Value)> = Vec::new();
        for name in std::iter::once(&argument.name).chain(argument.aliases) {
            if let Some(value) = given.remove(*name).filter(|value| !value.is_null()) {
                values.push((*name, value));
            }
        }
        if let [(first, _), (second, _), ..] = values.as_slice() {
            return Err(format!("{}: {first} and {second} are the same argument; give one of them", self.name));
        }
        let Some((name, value)) = values.pop() else {
            return match argument.kind {
                Kind::Needed | Kind::Words | Kind::Long { .. } | Kind::TextsNeeded => {
                    Err(format!("{}: {} is missing: {}", self.name, argument.name, argument.description))
                }
                Kind::Count { default, .. } | Kind::Entries { default } => Ok(Some(json!(default))),
                Kind::Flag { default } => Ok(Some(json!(default))),
                Kind::Text | Kind::Agent | Kind::Texts | Kind::AtMost { .. } | Kind::Ignored => Ok(None),
            };
        };
        argument.kind.convert(&value).map_err(|wrong| format!("{}: {name} {wrong}", self.name))
    }

    fn unknown_argument(&self, unknown: &str) -> String {
        let names = || self.arguments.iter().flat_map(|it| std::iter::once(&it.name).chain(it.aliases)).copied();
        let listed = self.listed().map(|argument| argument.name).collect::<Vec<_>>().join(", ");
        let shown: String = unknown.chars().take(80).collect();
        match nearest(unknown, names()) {
            Some(near) => {
                format!("{}: no argument {shown:?}; did you mean {near}? There are {listed}", self.name)
            }
            None => format!("{}: no argument {shown:?}; there are {listed}", self.name),
        }
    }
}

impl Argument {
    fn is(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}

impl Kind {
    /// Converts a value to this kind, or describes what is wrong with it.
    fn convert(self, value: &Value) -> Result<Option<Value>, String> {
        let read = self.unquoted(value);
        let value = read.as_ref().unwrap_or(value);
        let expected = |what: &str| Err(format!("is {}; expected {what}", describe(value)));
        match (self, value) {
            (Self::Ignored, value) => Ok(Some(value.clone())),
            (Self::Needed | Self::Long { .. } | Self::TextsNeeded, Value::String(text)) if text.trim().is_empty() => {
                Err("is empty".to_owned())
            }
            (Self::Long { most_bytes }, Value::String(text)) => match text.len() <= most_bytes {
                // Not trimmed: leading spaces may be an indentation.
                true => Ok(Some(json!(text))),
                false => Err(format!("has {} bytes; at most {most_bytes} are taken", text.len())),
            },
            (Self::Needed | Self::Words | Self::Text, Value::String(text)) => {
                Ok(texts(&[text.as_str()])?.and_then(|texts| texts.into_iter().next()).map(Value::String))
            }
            (Self::Agent, Value::String(text)) if text.trim().is_empty() => Ok(None),
            (Self::Agent, Value::String(text)) => match Agent::named(text) {
                Some(agent) => Ok(Some(json!(agent.as_str()))),
                None => expected(&format!("an agent: {}", Agent::names())),
            },
            (Self::Texts | Self::TextsNeeded, Value::String(text)) => Ok(texts(&[text.as_str()])?.map(|it| json!(it))),
            (Self::Long { .. }, Value::Object(_) | Value::Array(_)) => self.convert(&Value::String(value.to_string())),
            (Self::Texts | Self::TextsNeeded, Value::Array(list)) => {
                match list.iter().map(Value::as_str).collect::<Option<Vec<_>>>().map(|list| texts(&list)) {
                    Some(Ok(None)) if self == Self::TextsNeeded => Err("is empty".to_owned()),
                    Some(texts) => Ok(texts?.map(|texts| json!(texts))),
                    None => {
                        let odd = list.iter().find(|value| !value.is_string()).map_or_else(String::new, describe);
                        Err(format!("is a list with {odd}; expected a string or a list of strings"))
                    }
                }
            }
            (Self::Needed | Self::Words | Self::Long { .. } | Self::Text | Self::Agent, _) => expected("a string"),
            (Self::Texts | Self::TextsNeeded, _) => expected("a string or a list of strings"),
            (Self::Entries { .. }, value) => match whole(value).filter(|count| *count > 0) {
                Some(count) => Ok(Some(json!(count))),
                None => expected(&format!("a whole number from 1 to {MOST_ENTRIES}")),
            },
            (Self::AtMost { most }, value) => match whole(value) {
                Some(count) => Ok(Some(json!(count.min(u64::from(most))))),
                None => expected(&format!("a whole number up to {most}")),
            },
            (Self::Count { least, most, .. }, value) => {
                match whole(value).and_then(|whole| u32::try_from(whole).ok()).filter(|it| (least..=most).contains(it))
                {
                    Some(count) => Ok(Some(json!(count))),
                    None => expected(&format!("a whole number from {least} to {most}")),
                }
            }
            (Self::Flag { .. }, Value::Bool(flag)) => Ok(Some(json!(flag))),
            (Self::Flag { .. }, _) => expected("true or false"),
        }
    }
}

impl Kind {
    /// Parses a string if another type is expected: some clients quote numbers and lists.
    fn unquoted(self, value: &Value) -> Option<Value> {
        let read: Value = serde_json::from_str(value.as_str()?).ok()?;
        let is_meant = match self {
            Self::Count { .. } | Self::Entries { .. } | Self::AtMost { .. } => read.is_number(),
            Self::Flag { .. } => read.is_boolean(),
            Self::Texts | Self::TextsNeeded => read.as_array()?.iter().all(Value::is_string),
            Self::Needed | Self::Words | Self::Long { .. } | Self::Text | Self::Agent | Self::Ignored => false,
        };
        is_meant.then_some(read)
    }
}

/// Returns a non-negative whole number.
fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        // Some clients write every number as a float.
        let float = value.as_f64().filter(|float| float.fract() == 0.0 && (0.0..1e9).contains(float))?;
        float.to_string().parse().ok()
    })
}

/// Trims strings and leaves out empty ones; nothing if none is left.
fn texts(given: &[&str]) -> Result<Option<Vec<String>>, String> {
    if let Some(long) = given.iter().find(|text| text.len() > TEXT_BYTES) {
        return Err(format!("has {} bytes; at most {TEXT_BYTES} are taken", long.len()));
    }
    if given.len() > TEXTS {
        return Err(format!("lists {} strings; at most {TEXTS} are taken", given.len()));
    }
    let texts: Vec<String> =
        given.iter().map(|text| text.trim()).filter(|it| !it.is_empty()).map(str::to_owned).collect();
    Ok(Some(texts).filter(|texts| !texts.is_empty()))
}

/// Describes a value for an error: short ones by their content, others by their type.
fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) if text.len() <= 40 => format!("the string {text:?}"),
        Value::String(_) => "a string".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}
