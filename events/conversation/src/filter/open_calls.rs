//! Calls that wait for their result. A result names only its call's id, so its line needs the call.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde_json::Value;

use super::one_line;
use crate::item::{Act, Body, Call, Edit, Item, Meta};
use baton_words::WordList;

/// Most unanswered calls that are remembered; agents run a few dozen at once.
pub const MAX_OPEN_CALLS: usize = 64;
/// Longest target in a result's line, in characters.
const MAX_TARGET_CHARS: usize = 120;

/// Separates the id of a call from the number of a further part of it.
pub(crate) const PART: char = '#';

/// Names of parameters that hold the subject of a call, in order of precedence.
static TARGETS: WordList = WordList::new(crate::WORDS, "target parameters");

/// The unanswered calls of a conversation, rebuilt from its items.
///
/// An index job that reads the tail of a file collects them from the stored items: `items.iter().collect()`. Cheap to
/// clone.
#[derive(Debug, PartialEq, Eq, Default)]
pub struct OpenCalls {
    calls: VecDeque<Arc<OpenCall>>,
    /// The last model named: some agents name it once and not with each token count.
    model: Arc<str>,
}

impl Clone for OpenCalls {
    fn clone(&self) -> Self {
        Self { calls: self.calls.clone(), model: self.model.clone() }
    }

    /// Reuses the allocation, because every line is read on a clone.
    fn clone_from(&mut self, source: &Self) {
        self.calls.clone_from(&source.calls);
        self.model.clone_from(&source.model);
    }
}

/// The parts of a call that its result's line needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OpenCall {
    pub(crate) act: Act,
    pub(crate) id: Box<str>,
    pub(crate) name: String,
    pub(crate) target: String,
    pub(crate) edit: Option<Edit>,
}

impl OpenCall {
    fn new(call: &Call) -> Self {
        let (id, name, edit) = (call.id.clone(), call.name.clone(), call.edit.clone());
        Self { act: call.act, id, name, target: target(&call.input), edit }
    }

    /// Name and target: the beginning of its result's line.
    pub(crate) fn subject(&self) -> String {
        if self.target.is_empty() { self.name.clone() } else { format!("{} {}", self.name, self.target) }
    }
}

/// The beginning of the line of a call's result: name and target.
pub fn subject(call: &Call) -> String {
    OpenCall::new(call).subject()
}

impl OpenCalls {
    /// Adds the next item of the conversation.
    pub fn note(&mut self, item: &Item) {
        match &item.body {
            Body::Call(call) if !call.id.is_empty() => {
                if self.calls.len() == MAX_OPEN_CALLS {
                    self.calls.pop_front();
                }
                self.calls.push_back(Arc::new(OpenCall::new(call)));
            }
            Body::Result(result) => self.calls.retain(|call| call.id != result.id),
            Body::Meta(Meta::Usage(usage)) if !usage.model.is_empty() => self.model = usage.model.as_str().into(),
            _ => {}
        }
    }

    /// The last model named; empty if none was.
    pub(crate) fn model(&self) -> &str {
        &self.model
    }

    /// Ids of the further parts of a call: each file of a patch is a call of its own.
    pub(crate) fn parts(&self, id: &str) -> Vec<Box<str>> {
        let is_part = |call: &&Arc<OpenCall>| call.id.strip_prefix(id).is_some_and(|rest| rest.starts_with(PART));
        self.calls.iter().filter(is_part).map(|call| call.id.clone()).collect()
    }

    /// Id of the last unanswered call of a tool.
    pub(crate) fn last_of(&self, tool: &str) -> Option<Box<str>> {
        self.calls.iter().rev().find(|call| call.name == tool).map(|call| call.id.clone())
    }

    /// The unanswered call with this id.
    pub(crate) fn get(&self, id: &str) -> Option<&OpenCall> {
        self.calls.iter().rev().map(AsRef::as_ref).find(|call: &&OpenCall| *call.id == *id)
    }
}

impl<'a> FromIterator<&'a Item> for OpenCalls {
    fn from_iter<I: IntoIterator<Item = &'a Item>>(items: I) -> Self {
        let mut open = Self::default();
        items.into_iter().for_each(|item| open.note(item));
        open
    }
}

/// The subject of a call, on one line: `src/auth.rs`, `cargo test`, `fn login in src`.
fn target(input: &BTreeMap<String, Value>) -> String {
    let text = |name: &str| input.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let asked = || input.get("questions")?.get(0)?.get("question")?.as_str();
    let main = TARGETS.iter().find_map(|name| text(name)).or_else(|| input.values().find_map(Value::as_str));
    let main = main.or_else(asked);
    let line = one_line(main.unwrap_or(""), MAX_TARGET_CHARS);
    match (text("pattern"), text("path")) {
        (Some(_), Some(path)) if text("file_path").is_none() && text("command").is_none() => {
            format!("{line} in {}", one_line(path, MAX_TARGET_CHARS))
        }
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &str, expected: &str) {
        assert_eq!(target(&serde_json::from_str(input).unwrap()), expected, "{input}");
    }

    #[test]
    fn the_target_is_what_a_person_would_name() {
        check(r#"{"command":"cargo test\n  --all","description":"Run"}"#, "cargo test --all");
        check(r#"{"file_path":"/a/b.rs","limit":10}"#, "/a/b.rs");
        check(r#"{"pattern":"fn x","path":"src","output_mode":"content"}"#, "fn x in src");
        check(r#"{"zz":"word","n":1}"#, "word");
        check(r#"{"questions":[{"header":"h","question":"Which?"},{"question":"Why?"}]}"#, "Which?");
        check(r#"{"n":1}"#, "");
        check(&format!(r#"{{"command":"{}"}}"#, "x".repeat(500)), &format!("{}…", "x".repeat(119)));
    }
}
