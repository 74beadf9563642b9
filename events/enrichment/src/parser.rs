//! Parses an answer against its schema: every type is checked, every text redacted and bounded, every line looked up.
//!
//! # Hazards
//!
//! - No claim of a model may begin like a person's words (`User: `, `User refused `), which is how rules and
//!   decisions of people are recognised; such a beginning is removed.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::answer::{Answer, Claim, Complaint, Entity, Fact, Failed, Finish, MAX_ANSWER_BYTES};
use super::lines::Lines;
use baton_episode::digest::{MAX_ENTRIES, one_line};
use baton_episode::handoff::is_unseen;
use baton_graph as graph;
use baton_graph::Label;
use baton_redaction::redact;

/// Maximum length of an objective, in characters.
const OBJECTIVE_CHARS: usize = 720;
/// Maximum length of the continuation context, in characters.
const CONTINUATION_CHARS: usize = 1_600;
/// Maximum length of a claim, in characters.
const CLAIM_CHARS: usize = 400;
/// Maximum length of a category's or a tool's name, in characters.
const KEY_CHARS: usize = 60;
/// Maximum number of categories or tools.
const MAX_KEYS: usize = 20;
/// Maximum number of entities, and of facts.
const MAX_THINGS: usize = 100;
/// Maximum length of a relation's name, in characters.
const RELATION_CHARS: usize = 40;
/// Prefixes by which a digest marks what a person said, and what a person refused.
const PERSON: &str = "User:";
const REFUSED: &str = "User refused ";
/// Category of work without one.
const NO_CATEGORY: &str = "work";
/// Name of a relation without one.
const NO_RELATION: &str = "RELATES_TO";

/// Checks a model's answer, which may be any text. Claims whose lines the transcript does not have are dropped and
/// counted.
///
/// # Errors
///
/// A cut or refused answer, and one that does not match the schema, as a whole.
pub fn check(text: &str, finish: Finish, lines: &Lines) -> Result<Answer, Complaint> {
    match finish {
        Finish::Stop => {}
        Finish::Length => return Err(Complaint::Cut),
        Finish::Refusal => return Err(Complaint::Refused),
    }
    Parser::new(text, lines)?.answer()
}

/// An answer being parsed.
struct Parser<'a> {
    fields: Map<String, Value>,
    lines: &'a Lines,
    dropped: u32,
    left_out: u32,
}

impl<'a> Parser<'a> {
    /// Finds the JSON object of a text, also inside a code fence or other words.
    fn new(text: &str, lines: &'a Lines) -> Result<Self, Complaint> {
        if text.len() > MAX_ANSWER_BYTES {
            return Err(Complaint::TooLong);
        }
        let text = text.trim();
        let within = || text.get(text.find('{')?..=text.rfind('}')?);
        let parse = |text: &str| serde_json::from_str::<Map<String, Value>>(text).ok();
        let fields = parse(text).or_else(|| within().and_then(parse));
        Ok(Self { fields: fields.ok_or(Complaint::NoObject)?, lines, dropped: 0, left_out: 0 })
    }

    fn answer(mut self) -> Result<Answer, Complaint> {
        let mut answer = Answer {
            objective: self.paragraph("objective", OBJECTIVE_CHARS)?,
            work_completed: self.by_key("work_completed", "category", NO_CATEGORY)?,
            external_research: self.claims("external_research")?,
            knowledge_stored: self.by_key("knowledge_stored", "tool", NO_CATEGORY)?,
            decisions: self.claims("decisions")?,
            errors: self.errors()?,
            unresolved: self.claims("unresolved")?,
            next_steps: self.claims("next_steps")?,
            continuation_context: self.paragraph("continuation_context", CONTINUATION_CHARS)?,
            entities: self.entities()?,
            facts: self.facts()?,
            dropped: 0,
            left_out: 0,
        };
        (answer.dropped, answer.left_out) = (self.dropped, self.left_out);
        let lists = [&answer.decisions, &answer.unresolved, &answer.next_steps, &answer.external_research];
        let says = !answer.objective.is_empty()
            || !answer.work_completed.is_empty()
            || !answer.errors.is_empty()
            || lists.iter().any(|list| !list.is_empty());
        if says { Ok(answer) } else { Err(Complaint::Nothing) }
    }

    fn paragraph(&self, key: &str, max_chars: usize) -> Result<String, Complaint> {
        match self.fields.get(key) {
            Some(Value::String(text)) => Ok(clean(text, max_chars)),
            _ => Err(invalid_field(key, "a string")),
        }
    }

    /// Removes a list from the fields; only the eight keys (`is_key`) are required.
    fn list(&mut self, key: &str, is_key: bool) -> Result<Vec<Value>, Complaint> {
        match self.fields.remove(key) {
            Some(Value::Array(entries)) => Ok(entries),
            None if !is_key => Ok(Vec::new()),
            _ => Err(invalid_field(key, "an array")),
        }
    }

    fn claims(&mut self, key: &str) -> Result<Vec<Claim>, Complaint> {
        let entries = self.list(key, true)?;
        self.claims_of(key, entries)
    }

    fn claims_of(&mut self, key: &str, entries: Vec<Value>) -> Result<Vec<Claim>, Complaint> {
        let mut claims = Vec::new();
        for (at, entry) in entries.iter().enumerate() {
            let claim = self.claim(&format!("{key}[{at}]"), entry)?;
            self.keep(&mut claims, claim, MAX_ENTRIES);
        }
        Ok(claims)
    }

    fn keep<T>(&mut self, list: &mut Vec<T>, entry: Option<T>, max: usize) {
        match entry {
            Some(entry) if list.len() < max => list.push(entry),
            Some(_) => self.left_out = self.left_out.saturating_add(1),
            None => {}
        }
    }

    /// Parses a claim; `None` if the transcript does not have its line, or if no text is left.
    fn claim(&mut self, path: &str, entry: &Value) -> Result<Option<Claim>, Complaint> {
        let entry = object_fields(path, entry)?;
        let text = own_words(&clean(text_field(path, entry, "text")?, CLAIM_CHARS));
        let line = self.line(path, entry)?;
        Ok(line.filter(|_| !text.is_empty()).map(|line| Claim { text, line }))
    }

    /// Returns the first line of an entry that the transcript has, from `line` or `lines`.
    fn line(&mut self, path: &str, entry: &Map<String, Value>) -> Result<Option<u64>, Complaint> {
        let one = entry.get("line").into_iter();
        let numbers: Vec<&Value> = match entry.get("lines") {
            Some(Value::Array(many)) => one.chain(many).collect(),
            Some(_) => return Err(invalid_field(&format!("{path}.lines"), "an array of integers")),
            None => one.collect(),
        };
        if let Some(wanting) = numbers.iter().find(|number| !number.is_number()) {
            let wanted = if wanting.is_null() { "an integer, not null" } else { "an integer" };
            return Err(invalid_field(&format!("{path}.line"), wanted));
        }
        // Negative, fractional and huge numbers are lines that no transcript has.
        let found = numbers.into_iter().filter_map(Value::as_u64).find(|line| self.lines.contains(*line));
        self.dropped = self.dropped.saturating_add(u32::from(found.is_none()));
        Ok(found)
    }

    /// Parses claims by category: a list of objects with their category, or an object of lists.
    fn by_key(&mut self, key: &str, named: &str, unnamed: &str) -> Result<BTreeMap<String, Vec<Claim>>, Complaint> {
        let mut found: BTreeMap<String, Vec<Claim>> = BTreeMap::new();
        match self.fields.remove(key) {
            Some(Value::Array(entries)) => {
                for (at, entry) in entries.iter().enumerate() {
                    let path = format!("{key}[{at}]");
                    let claim = self.claim(&path, entry)?;
                    let category = text_field(&path, object_fields(&path, entry)?, named)?;
                    self.put(&mut found, category, unnamed, claim);
                }
            }
            Some(Value::Object(categories)) => {
                for (category, entries) in categories {
                    let Value::Array(entries) = entries else { return Err(invalid_field(key, "lists by category")) };
                    for claim in self.claims_of(&format!("{key}.{named}"), entries)? {
                        self.put(&mut found, &category, unnamed, Some(claim));
                    }
                }
            }
            _ => return Err(invalid_field(key, "an array")),
        }
        Ok(found)
    }

    fn put(&mut self, found: &mut BTreeMap<String, Vec<Claim>>, name: &str, unnamed: &str, claim: Option<Claim>) {
        let Some(claim) = claim else { return };
        let name = clean(name, KEY_CHARS);
        let name = if name.is_empty() { unnamed.to_owned() } else { name };
        let total: usize = found.values().map(Vec::len).sum();
        if total >= MAX_ENTRIES || (found.len() >= MAX_KEYS && !found.contains_key(&name)) {
            self.left_out = self.left_out.saturating_add(1);
            return;
        }
        found.entry(name).or_default().push(claim);
    }

    fn errors(&mut self) -> Result<Vec<Failed>, Complaint> {
        let mut errors = Vec::new();
        for (at, entry) in self.list("errors", false)?.iter().enumerate() {
            let path = format!("errors[{at}]");
            let resolution = match object_fields(&path, entry)?.get("resolution") {
                None | Some(Value::Null) => None,
                Some(resolution) => self.claim(&format!("{path}.resolution"), resolution)?,
            };
            let error = self.claim(&path, entry)?;
            self.keep(&mut errors, error.map(|error| Failed { error, resolution }), MAX_ENTRIES);
        }
        Ok(errors)
    }

    fn entities(&mut self) -> Result<Vec<Entity>, Complaint> {
        let mut entities = Vec::new();
        for (at, entry) in self.list("entities", false)?.iter().enumerate() {
            let path = format!("entities[{at}]");
            let entry = object_fields(&path, entry)?;
            let name = clean(text_field(&path, entry, "name")?, graph::MAX_NAME_CHARS);
            let label = label_or_topic(text_field(&path, entry, "type")?);
            let summary = clean(text_field(&path, entry, "summary")?, CLAIM_CHARS);
            let line = self.line(&path, entry)?;
            let entity = line.filter(|_| !name.is_empty()).map(|line| Entity { name, label, summary, line });
            self.keep(&mut entities, entity, MAX_THINGS);
        }
        Ok(entities)
    }

    fn facts(&mut self) -> Result<Vec<Fact>, Complaint> {
        let mut facts = Vec::new();
        for (at, entry) in self.list("facts", false)?.iter().enumerate() {
            let path = format!("facts[{at}]");
            let entry = object_fields(&path, entry)?;
            let end = |name: &str, kind: &str| -> Result<(Label, String), Complaint> {
                Ok((
                    label_or_topic(text_field(&path, entry, kind)?),
                    clean(text_field(&path, entry, name)?, graph::MAX_NAME_CHARS),
                ))
            };
            let (source, target) = (end("source", "source_type")?, end("target", "target_type")?);
            let relation = relation_name(text_field(&path, entry, "relation")?);
            let fact = clean(text_field(&path, entry, "fact")?, graph::MAX_TEXT_CHARS);
            let line = self.line(&path, entry)?;
            let says = !source.1.is_empty() && !target.1.is_empty() && source != target && !fact.is_empty();
            let fact = line.filter(|_| says).map(|line| Fact { source, relation, target, fact, line });
            self.keep(&mut facts, fact, MAX_THINGS);
        }
        Ok(facts)
    }
}

/// Returns the text on one line, without secrets and invisible characters, and bounded. It is redacted before it is
/// cut: half a key would not be recognised, nor one with an invisible character inside.
fn clean(text: &str, max_chars: usize) -> String {
    one_line(&redact(&text.replace(is_unseen, "")), max_chars)
}

/// Removes the marks of a person's words from a claim: a model does not speak for people.
fn own_words(claim: &str) -> String {
    let mut said = claim;
    while let Some(rest) = said.get(..PERSON.len()).filter(|head| head.eq_ignore_ascii_case(PERSON)) {
        said = said[rest.len()..].trim_start();
    }
    match said.get(..REFUSED.len()).is_some_and(|head| head.eq_ignore_ascii_case(REFUSED)) {
        true => format!("The user{}", &said["User".len()..]),
        false => said.to_owned(),
    }
}

fn invalid_field(path: &str, wanted: &'static str) -> Complaint {
    Complaint::Field { path: path.to_owned(), wanted }
}

fn object_fields<'v>(path: &str, entry: &'v Value) -> Result<&'v Map<String, Value>, Complaint> {
    entry.as_object().ok_or_else(|| invalid_field(path, "an object"))
}

fn text_field<'v>(path: &str, entry: &'v Map<String, Value>, key: &str) -> Result<&'v str, Complaint> {
    entry.get(key).and_then(Value::as_str).ok_or_else(|| invalid_field(&format!("{path}.{key}"), "a string"))
}

/// A label that was not offered becomes a topic, so that the entity is kept.
fn label_or_topic(name: &str) -> Label {
    Label::named(name).filter(|label| super::form::LABELS.contains(label)).unwrap_or(Label::Topic)
}

/// Normalises the name of a relation: upper-case letters, digits and underscores.
fn relation_name(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars().take(RELATION_CHARS) {
        match c {
            c if c.is_ascii_alphanumeric() => out.push(c.to_ascii_uppercase()),
            _ if out.ends_with('_') || out.is_empty() => {}
            _ => out.push('_'),
        }
    }
    let name = out.trim_end_matches('_');
    if name.is_empty() { NO_RELATION.to_owned() } else { name.to_owned() }
}
