//! Baton's hooks in Claude Code's settings or in Codex's `hooks.json`, which has the same shape: finds, adds, repairs
//! and removes them. Hooks of others stay as they are.

use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};
use serde_json::Value;

use super::document::{Document, Error, Step};
use super::hook_command::{HookCommand, OwnHook};

/// The events with hooks, and the seconds after which Claude Code gives up on them. The hook ends long before that.
/// SessionEnd has no timeout, because an exit would wait for it.
pub(crate) const EVENTS: [(&str, Option<u64>); 7] = [
    ("SessionStart", Some(TIMEOUT_S)),
    ("UserPromptSubmit", Some(TIMEOUT_S)),
    ("Stop", Some(TIMEOUT_S)),
    ("PreCompact", Some(TIMEOUT_S)),
    ("PostCompact", Some(TIMEOUT_S)),
    ("SubagentStop", Some(TIMEOUT_S)),
    ("SessionEnd", None),
];
const TIMEOUT_S: u64 = 5;
/// Longest timeout that is kept if a person has set it; a larger one was meant in milliseconds.
pub(crate) const TIMEOUT_S_MAX: u64 = 60;

/// Codex's file for hooks, in the same shape.
pub(crate) const CODEX_HOOKS: &str = "hooks.json";
const HOOKS: Step = Step::Key("hooks");

/// An entry of an event's list, in Claude Code's format.
#[derive(Debug, Clone, Serialize)]
struct Group {
    hooks: [Handler; 1],
}

#[derive(Debug, Clone, Serialize)]
struct Handler {
    #[serde(rename = "type")]
    kind: &'static str,
    command: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<u64>,
}

/// All hooks, serialised as the value of `hooks`.
#[derive(Debug, Clone)]
pub(crate) struct AllHooks<'a>(pub(crate) &'a HookCommand);

impl AllHooks<'_> {
    fn group(&self, event: &str, timeout: Option<u64>) -> Group {
        Group { hooks: [Handler { kind: "command", command: self.0.line(event), timeout }] }
    }
}

impl Serialize for AllHooks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(EVENTS.len()))?;
        for (event, timeout) in EVENTS {
            map.serialize_entry(event, &[self.group(event, timeout)])?;
        }
        map.end()
    }
}

/// A hook of Baton found in a file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FoundHook {
    /// The event that calls it.
    pub(crate) event: String,
    /// The program it calls.
    pub(crate) own: OwnHook,
    /// The whole command line.
    pub(crate) line: String,
    /// The timeout as written there.
    pub(crate) timeout: Option<Value>,
    /// The matcher that limits it to some occurrences of the event.
    pub(crate) matcher: Option<String>,
    /// True unless it is a plain command that the agent waits for.
    pub(crate) is_odd: bool,
    group: usize,
    at: usize,
}

impl FoundHook {
    /// True if it is called at every occurrence and waited for, with a valid timeout.
    pub(crate) fn is_sound(&self) -> bool {
        let timeout = match (&self.timeout, is_end(&self.event)) {
            (None, _) => true,
            (Some(_), true) => false,
            (Some(value), false) => value.as_u64().is_some_and(|seconds| (1..=TIMEOUT_S_MAX).contains(&seconds)),
        };
        timeout && !self.is_odd && matches!(self.matcher.as_deref(), None | Some("" | "*"))
    }
}

/// Events whose hooks Codex has not recorded as trusted in its configuration, which has a table for each, named after
/// the file, the event, the group and the place in it.
pub(crate) fn untrusted(config: &Value) -> Vec<&'static str> {
    let trusted = config.get("hooks").and_then(|hooks| hooks.get("state")).and_then(Value::as_object);
    let is_noted = |event: &str| {
        let snake = event.chars().enumerate().fold(String::new(), |mut name, (at, letter)| {
            if at > 0 && letter.is_ascii_uppercase() {
                name.push('_');
            }
            name.push(letter.to_ascii_lowercase());
            name
        });
        let noted = format!("{CODEX_HOOKS}:{snake}:");
        trusted.is_some_and(|trusted| trusted.keys().any(|name| name.contains(&noted)))
    };
    EVENTS.iter().map(|(event, _)| *event).filter(|event| !is_noted(event)).collect()
}

fn is_end(event: &str) -> bool {
    event == "SessionEnd"
}

/// Finds Baton's hooks in a file, whatever else is wrong with it.
pub(crate) fn find(settings: &Value) -> Vec<FoundHook> {
    let Some(events) = settings.get("hooks").and_then(Value::as_object) else { return Vec::new() };
    let mut found = Vec::new();
    for (event, groups) in events {
        for (group, value) in groups.as_array().into_iter().flatten().enumerate() {
            let handlers = value.get("hooks").and_then(Value::as_array);
            let matcher = value.get("matcher").map(|value| value.as_str().map_or(value.to_string(), str::to_owned));
            for (at, handler) in handlers.into_iter().flatten().enumerate() {
                let Some(line) = line(handler) else { continue };
                let Some(own) = OwnHook::parse(&line) else { continue };
                let kind = handler.get("type").and_then(Value::as_str);
                let odd = ["args", "async", "asyncRewake", "shell", "if", "once"];
                found.push(FoundHook {
                    event: event.clone(),
                    own,
                    line,
                    timeout: handler.get("timeout").cloned(),
                    matcher: matcher.clone(),
                    is_odd: kind != Some("command") || odd.iter().any(|key| handler.get(key).is_some()),
                    group,
                    at,
                });
            }
        }
    }
    found
}

/// The command line of a handler, including arguments given separately.
fn line(handler: &Value) -> Option<String> {
    let command = handler.get("command")?.as_str()?;
    let Some(arguments) = handler.get("args").and_then(Value::as_array) else { return Some(command.to_owned()) };
    let words = std::iter::once(Some(command)).chain(arguments.iter().map(Value::as_str));
    let words: Option<Vec<String>> = words.map(|word| word.map(super::hook_command::quoted)).collect();
    words.map(|words| words.join(" "))
}

/// Adds missing hooks and repairs wrong ones.
pub(crate) fn put_in(document: &mut Document, command: &HookCommand) -> Result<(), Error> {
    let wanted = AllHooks(command);
    let before = document.value()?;
    match before.get("hooks") {
        None => return document.insert(&[], "hooks", &wanted),
        Some(Value::Object(_)) => {}
        Some(_) => document.must_be_object(&[HOOKS])?,
    }
    for (event, timeout) in EVENTS {
        let path = [HOOKS, Step::Key(event)];
        let line = command.line(event);
        // Keeps the first correct hook, or repairs the first one; removes all others.
        let own = of_event(document, event)?;
        let kept = own.iter().position(|found| found.line == line && found.is_sound()).unwrap_or(0);
        // From the back, so that earlier positions stay valid.
        for (_, surplus) in own.iter().enumerate().rev().filter(|(index, _)| *index != kept) {
            take_one(document, surplus)?;
        }
        let own = of_event(document, event)?;
        let group = wanted.group(event, timeout);
        match own.first() {
            Some(found) if found.line == line && found.is_sound() => {}
            Some(found) if is_alone(&document.value()?, found) => {
                document.replace(&[path[0], path[1], Step::At(found.group)], &group)?;
            }
            Some(found) => {
                take_one(document, found)?;
                document.push(&path, &group)?;
            }
            None if document.has(&path) => document.push(&path, &group)?,
            None => document.insert(&[HOOKS], event, &[group])?,
        }
    }
    Ok(())
}

/// Removes all of Baton's hooks, and lists and objects that become empty.
pub(crate) fn take_out(document: &mut Document) -> Result<(), Error> {
    // Each round removes one hook.
    while let Some(last) = find(&document.value()?).pop() {
        take_one(document, &last)?;
        let value = document.value()?;
        let hooks = &value["hooks"];
        if hooks[&last.event].as_array().is_some_and(Vec::is_empty) {
            document.remove(&[HOOKS, Step::Key(&last.event)])?;
            if hooks.as_object().is_some_and(|hooks| hooks.len() == 1) {
                document.remove(&[HOOKS])?;
            }
        }
    }
    Ok(())
}

fn of_event(document: &Document, event: &str) -> Result<Vec<FoundHook>, Error> {
    Ok(find(&document.value()?).into_iter().filter(|found| found.event == event).collect())
}

/// True if it is the only hook in its group.
fn is_alone(settings: &Value, found: &FoundHook) -> bool {
    settings["hooks"][&found.event][found.group]["hooks"].as_array().is_some_and(|handlers| handlers.len() == 1)
}

fn take_one(document: &mut Document, found: &FoundHook) -> Result<(), Error> {
    let group = [HOOKS, Step::Key(&found.event), Step::At(found.group)];
    if is_alone(&document.value()?, found) {
        return document.remove(&group);
    }
    document.remove(&[group[0], group[1], group[2], Step::Key("hooks"), Step::At(found.at)])
}

#[cfg(test)]
mod tests;
