//! Parses a configuration text: the keys it sets, and what is wrong with it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use baton_events::prices;
use baton_home::configured_path;
use baton_notes::name;
use serde_json::Value;

use super::document::{Member, Node};
use super::key::{self, Key, PROJECTS, Takes, Use};
use crate::endpoint::BaseUrl;
use crate::settings::pattern::Pattern;

/// Most entries of one list of directories or globs.
const LIST_MAX: usize = 256;
/// Most switches of projects.
const PROJECTS_MAX: usize = 4096;
/// Most globs among them: each is tried on each session.
const GLOBS_MAX: usize = 256;
/// Most models with a price of their own.
const PRICES_MAX: usize = 256;
/// Longest name or glob of a model, in bytes.
const MODEL_BYTES: usize = 200;
/// The fields of a price; the first two are required.
const PRICE_FIELDS: [&str; 5] = ["input", "output", "cache_read", "cache_write", "cache_write_1h"];
/// Longest path of the notes' folder below the vault, in bytes: names of notes are appended to it.
const BELOW_BYTES: usize = 120;
/// Most remarks of one kind; a file that is not a configuration would give thousands.
const REMARKS_MAX: usize = 50;

/// Returns the value of an environment variable; `None` if it is not set.
pub(super) type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The content of a configuration text.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Parsed {
    /// The values that are set, each with its line, by key name. Paths and globs are expanded.
    pub(super) values: BTreeMap<&'static str, (Value, usize)>,
    /// The switches of projects, in file order.
    pub(super) projects: Vec<ProjectSwitch>,
    pub(super) warnings: Vec<Remark>,
    /// If there is one, the text is not used.
    pub(super) mistakes: Vec<Remark>,
}

/// A member of `session_tracking.projects`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ProjectSwitch {
    pub(super) written: String,
    pub(super) pattern: Pattern,
    pub(super) enabled: bool,
    pub(super) line: usize,
}

/// A remark about a line of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The line, from 1, if it concerns one.
    pub line: Option<usize>,
    /// The remark.
    pub what: String,
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "config.json, line {line}: {}", self.what),
            None => write!(f, "config.json: {}", self.what),
        }
    }
}

/// Parses a text.
pub(super) fn parse(text: &str, lookup: Lookup<'_>) -> Parsed {
    let mut reader = Reader { parsed: Parsed::default(), lookup };
    if text.starts_with('\u{feff}') {
        reader.mistake(Some(1), "it begins with a byte order mark; save it as UTF-8 without one".to_owned());
        return reader.parsed;
    }
    match Node::parse(text) {
        Ok(root) if root.text().starts_with('{') => reader.object(&root, ""),
        Ok(root) => reader.mistake(Some(root.line()), format!("it must be an object {{…}}, not {}", short(&root))),
        Err(error) => reader.mistake(Some(error.line), format!("not JSON: {}", error.reason)),
    }
    reader.parsed
}

struct Reader<'a> {
    parsed: Parsed,
    lookup: Lookup<'a>,
}

impl Reader<'_> {
    fn mistake(&mut self, line: Option<usize>, what: String) {
        if self.parsed.mistakes.len() < REMARKS_MAX {
            self.parsed.mistakes.push(Remark { line, what });
        }
    }

    fn warn(&mut self, line: usize, what: String) {
        if self.parsed.warnings.len() < REMARKS_MAX {
            self.parsed.warnings.push(Remark { line: Some(line), what });
        }
    }

    /// The members of an object except comments; a duplicate key is a mistake.
    fn members<'n>(&mut self, node: &Node<'n>, name: &str) -> Vec<Member<'n>> {
        let Some(members) = node.members() else {
            self.mistake(Some(node.line()), format!("{name} must be an object {{…}}, not {}", short(node)));
            return Vec::new();
        };
        let mut first: BTreeMap<&str, usize> = BTreeMap::new();
        for member in &members {
            if let Some(line) = first.insert(&member.name, member.line()) {
                let key = shown(&member.name);
                let what = format!("{key} occurs twice, in lines {line} and {}; remove one", member.line());
                self.mistake(Some(member.line()), what);
            }
        }
        members.into_iter().filter(|member| !member.name.starts_with('_')).collect()
    }

    fn object(&mut self, node: &Node<'_>, name: &str) {
        for member in self.members(node, name) {
            let full = if name.is_empty() { member.name.clone() } else { format!("{name}.{}", member.name) };
            match Key::find(&full) {
                Some(Key { used: Use::Former(why), .. }) => {
                    self.warn(member.line(), format!("{full} is not used: {why}"));
                }
                Some(key) => self.key(key, &member),
                None if full == PROJECTS => self.projects(&member.value),
                None if key::is_object(&full) => self.object(&member.value, &full),
                None if self.parsed.warnings.len() >= REMARKS_MAX => {}
                None => {
                    let near = key::nearest(&full).map(|near| format!("; did you mean {near}?")).unwrap_or_default();
                    self.warn(member.line(), format!("{} is not a key{near}", shown(&full)));
                }
            }
        }
    }

    fn key(&mut self, key: &'static Key, member: &Member<'_>) {
        let line = member.value.line();
        let value = match check(key, &member.value) {
            Ok(value) => value,
            Err(why) => return self.mistake(Some(line), why),
        };
        let value = match (key.takes, &value) {
            (Takes::Directories | Takes::Globs, Value::Array(texts)) => match self.paths(key, texts, &member.value) {
                Some(paths) => Value::Array(paths),
                None => return,
            },
            (Takes::File, Value::String(text)) => match configured_path::expand(text, || (self.lookup)("HOME")) {
                Ok(path) => Value::String(path),
                Err(why) => return self.mistake(Some(line), format!("{}: {} {why}", key.name, shown(text))),
            },
            (Takes::Url, Value::String(text)) => match BaseUrl::new(text) {
                Ok(url) => Value::String(url.as_str().to_owned()),
                // The value is not quoted, because it may contain a key.
                Err(why) => return self.mistake(Some(line), format!("{}: its value {why}", key.name)),
            },
            (Takes::Prices, Value::Object(_)) => match self.prices(key, &member.value) {
                Some(prices) => prices,
                None => return,
            },
            _ => value,
        };
        self.parsed.values.insert(key.name, (value, member.line()));
    }

    /// Expands and checks absolute directories, or globs of them.
    fn paths(&mut self, key: &Key, texts: &[Value], node: &Node<'_>) -> Option<Vec<Value>> {
        let lines = node.elements().unwrap_or_default();
        let mut paths = Vec::new();
        for (text, at) in texts.iter().filter_map(Value::as_str).zip(&lines) {
            let path = match expand(text, self.lookup) {
                Ok(path) => path,
                Err(why) => {
                    self.mistake(Some(at.line()), format!("{}: {} {why}", key.name, shown(text)));
                    return None;
                }
            };
            let wrong = match key.takes {
                Takes::Directories if !Path::new(&path).is_absolute() => Some("is not absolute".to_owned()),
                Takes::Globs => Pattern::new(&path).err().map(|why| format!("is not a glob: {why}")),
                _ => None,
            };
            if let Some(why) = wrong {
                self.mistake(Some(at.line()), format!("{}: {} {why}", key.name, shown(text)));
                return None;
            }
            paths.push(Value::String(path));
        }
        Some(paths)
    }

    /// Checks prices by model and drops comments and unknown fields.
    fn prices(&mut self, key: &Key, node: &Node<'_>) -> Option<Value> {
        let mut prices = serde_json::Map::new();
        for model in self.members(node, key.name) {
            let name = format!("{}.{}", key.name, shown(&model.name));
            if prices.len() >= PRICES_MAX {
                self.mistake(Some(model.line()), format!("{} has more than {PRICES_MAX} members; use globs", key.name));
                return None;
            }
            if model.name.trim().is_empty() || model.name.len() > MODEL_BYTES {
                self.mistake(Some(model.line()), format!("{name} is not a model's name or glob"));
                return None;
            }
            let mut price = serde_json::Map::new();
            for member in self.members(&model.value, &name) {
                let amount = member.value.value().filter(|value| value.as_f64().is_some_and(is_price));
                match (PRICE_FIELDS.contains(&member.name.as_str()), amount) {
                    (true, Some(amount)) => drop(price.insert(member.name.clone(), amount)),
                    (true, None) => {
                        let (field, given) = (&member.name, short(&member.value));
                        let most = prices::MAX_USD;
                        let what = format!(
                            "{name}.{field} must be a number of US dollars for a million tokens from 0 to {most}, not {given}"
                        );
                        self.mistake(Some(member.value.line()), what);
                        return None;
                    }
                    (false, _) => {
                        let what = format!(
                            "{name}.{} is not a key; a price has {}",
                            shown(&member.name),
                            PRICE_FIELDS.join(", ")
                        );
                        self.warn(member.line(), what);
                    }
                }
            }
            model.value.members()?;
            if let Some(missing) = PRICE_FIELDS[..2].iter().find(|field| !price.contains_key(**field)) {
                self.mistake(Some(model.line()), format!("{name} has no {missing}: a price needs input and output"));
                return None;
            }
            prices.insert(model.name.clone(), Value::Object(price));
        }
        Some(Value::Object(prices))
    }

    fn projects(&mut self, node: &Node<'_>) {
        let mut globs = 0;
        for project in self.members(node, PROJECTS) {
            let (name, line) = (format!("{PROJECTS}.{}", shown(&project.name)), project.line());
            if self.parsed.projects.len() >= PROJECTS_MAX {
                return self.mistake(Some(line), format!("{PROJECTS} has more than {PROJECTS_MAX} members; use globs"));
            }
            let pattern = match pattern(&project.name, self.lookup) {
                Ok(pattern) if pattern.is_glob() && globs >= GLOBS_MAX => {
                    let what = format!("{PROJECTS} has more than {GLOBS_MAX} globs; name directories, or join some");
                    return self.mistake(Some(line), what);
                }
                Ok(pattern) => pattern,
                Err(why) => {
                    self.mistake(Some(line), format!("{name} is not a path or glob: {why}"));
                    continue;
                }
            };
            globs += usize::from(pattern.is_glob());
            for member in self.members(&project.value, &name) {
                match (member.name.as_str(), member.value.value()) {
                    ("enabled", Some(Value::Bool(enabled))) => self.parsed.projects.push(ProjectSwitch {
                        written: project.name.clone(),
                        pattern: pattern.clone(),
                        enabled,
                        line: member.line(),
                    }),
                    ("enabled", _) => {
                        let what = format!("{name}.enabled must be true or false, not {}", short(&member.value));
                        self.mistake(Some(member.value.line()), what);
                    }
                    (other, _) => {
                        let what = format!("{name}.{} is not a key; a project has `enabled`", shown(other));
                        self.warn(member.line(), what);
                    }
                }
            }
        }
    }
}

/// Checks a value against its key; returns the value without positions.
pub(super) fn check(key: &Key, node: &Node<'_>) -> Result<Value, String> {
    let wrong = || match key.takes {
        // The value is not quoted: in place of a variable's name it is mostly the secret itself.
        Takes::Variable => format!("{} must be {}", key.name, key.allowed()),
        _ => format!("{} must be {}, not {}", key.name, key.allowed(), short(node)),
    };
    let value = node.value().ok_or_else(wrong)?;
    let texts = |least: usize| {
        let texts = value.as_array().filter(|texts| texts.len() >= least && texts.len() <= LIST_MAX);
        texts.is_some_and(|texts| texts.iter().all(|text| text.as_str().is_some_and(|text| !text.trim().is_empty())))
    };
    let is_text = || value.as_str().is_some_and(configured_path::is_text);
    let fits = (key.is_nullable() && value.is_null())
        || match key.takes {
            Takes::Switch => value.is_boolean(),
            Takes::Whole { least, most, .. } => value.as_u64().is_some_and(|number| (least..=most).contains(&number)),
            Takes::Amount { most, .. } => value.as_f64().is_some_and(|number| (0.0..=most).contains(&number)),
            Takes::Text | Takes::File | Takes::Url => is_text(),
            Takes::Word(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Takes::Below => value.as_str().is_some_and(is_below),
            Takes::Variable => value.as_str().is_some_and(is_variable),
            // Where there are directories by default, none would be read.
            Takes::Directories => texts(usize::from(key.default != "[]")),
            Takes::Globs => texts(0),
            Takes::Prices => value.is_object(),
            Takes::Anything => true,
        };
    if fits { Ok(value) } else { Err(wrong()) }
}

/// True if the text is a relative folder path that is valid on every system.
fn is_below(text: &str) -> bool {
    text.len() <= BELOW_BYTES && text.split('/').all(name::is_safe)
}

fn is_price(usd: f64) -> bool {
    (0.0..=prices::MAX_USD).contains(&usd)
}

fn is_variable(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.len() <= key::VARIABLE_CHARS
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(is_part)
}

/// Parses a path or glob and adds its meaning with links resolved.
pub(super) fn pattern(text: &str, lookup: Lookup<'_>) -> Result<Pattern, String> {
    Ok(Pattern::new(&expand(text, lookup)?)?.through_links())
}

/// Expands `~`, `$NAME` and `${NAME}`.
pub(super) fn expand(text: &str, lookup: Lookup<'_>) -> Result<String, String> {
    let set = |name: &str| lookup(name).ok_or_else(|| format!("names ${name}, which is not set"));
    let (mut expanded, mut rest) = (String::new(), text);
    if let Some(below) = rest.strip_prefix('~')
        && (below.is_empty() || below.starts_with(['/', '\\']))
    {
        expanded += &set("HOME")?;
        rest = below;
    }
    while let Some((before, after)) = rest.split_once('$') {
        expanded += before;
        let (name, after) = match after.strip_prefix('{') {
            Some(braced) => braced.split_once('}').ok_or("has a `${` without its `}`")?,
            None => {
                let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
                after.split_at(end)
            }
        };
        if name.is_empty() {
            expanded.push('$');
        } else {
            expanded += &set(name)?;
        }
        rest = after;
    }
    Ok(expanded + rest)
}

fn shown(text: &str) -> String {
    let plain: String = text.chars().filter(|c| !c.is_control()).take(80).collect();
    format!("{:?}", baton_redaction::redact(&plain))
}

/// Quotes a wrong value in at most 40 characters, redacted, because it may be a misplaced secret.
fn short(node: &Node<'_>) -> String {
    let text = node.text();
    match text.as_bytes().first() {
        Some(b'{') => "an object".to_owned(),
        Some(b'[') => "this list".to_owned(),
        Some(b'"') if text.len() > 40 => "this text".to_owned(),
        _ if text.len() > 40 => "this".to_owned(),
        _ => baton_redaction::redact(text).into_owned(),
    }
}

#[cfg(test)]
mod tests;
