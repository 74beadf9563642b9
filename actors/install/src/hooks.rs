//! Baton's hooks in an agent's file: finds, adds, repairs and removes them. Hooks of others stay as they are.

use std::path::Path;

use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};
use serde_json::Value;

use super::document::{Document, Error, Step};
use super::hook_command::{HookCommand, OwnHook};

/// How an agent's file holds hooks: an object `hooks` with a list for each event.
#[derive(Debug, PartialEq, Eq)]
pub struct HookForm {
    /// The events with hooks, and the timeout of each.
    pub events: &'static [(&'static str, Option<u64>)],
    /// The agent's name in the command. `None` for Claude Code and Codex, whose input is what `baton-hook` expects.
    pub(crate) agent: Option<&'static str>,
    /// True if the list has groups with a list `hooks` of their own.
    pub(crate) is_grouped: bool,
    /// The hook's `type`, if it has one.
    pub(crate) kind: Option<&'static str>,
    /// The member with the command line.
    pub(crate) command: &'static str,
    /// The file's `version`, if it must have one.
    pub(crate) version: Option<u64>,
}

/// Claude Code's hooks, and Codex's. The timeout is in seconds; the hook ends long before that. SessionEnd has none,
/// because an exit would wait for it.
pub const CLAUDE_AND_CODEX: HookForm = HookForm {
    events: &[
        ("SessionStart", Some(TIMEOUT_S)),
        ("UserPromptSubmit", Some(TIMEOUT_S)),
        ("Stop", Some(TIMEOUT_S)),
        ("PreCompact", Some(TIMEOUT_S)),
        ("PostCompact", Some(TIMEOUT_S)),
        ("SubagentStop", Some(TIMEOUT_S)),
        ("SessionEnd", None),
    ],
    agent: None,
    is_grouped: true,
    kind: Some("command"),
    command: "command",
    version: None,
};

/// Qwen Code's hooks, in Claude Code's form. Timeouts are left to the agents from here on, because their units differ.
pub(crate) const QWEN: HookForm = HookForm {
    events: &[
        ("SessionStart", None),
        ("UserPromptSubmit", None),
        ("Stop", None),
        ("PreCompact", None),
        ("PostCompact", None),
        ("SubagentStop", None),
        ("SessionEnd", None),
    ],
    agent: Some("qwen"),
    ..CLAUDE_AND_CODEX
};

/// Gemini CLI's hooks.
pub(crate) const GEMINI: HookForm = HookForm {
    events: &[("SessionStart", None), ("BeforeAgent", None), ("AfterAgent", None), ("SessionEnd", None)],
    agent: Some("gemini"),
    ..CLAUDE_AND_CODEX
};

/// Factory Droid's hooks, in Claude Code's form. No hook is called after a compaction.
pub(crate) const DROID: HookForm = HookForm {
    events: &[
        ("SessionStart", None),
        ("UserPromptSubmit", None),
        ("Stop", None),
        ("PreCompact", None),
        ("SubagentStop", None),
        ("SessionEnd", None),
    ],
    agent: Some("droid"),
    ..CLAUDE_AND_CODEX
};

/// Copilot CLI's hooks.
pub(crate) const COPILOT: HookForm = HookForm {
    events: &[
        ("sessionStart", None),
        ("userPromptSubmitted", None),
        ("agentStop", None),
        ("subagentStop", None),
        ("sessionEnd", None),
    ],
    agent: Some("copilot"),
    is_grouped: false,
    kind: Some("command"),
    command: if cfg!(windows) { "powershell" } else { "bash" },
    version: Some(1),
};

/// Cursor's hooks.
pub(crate) const CURSOR: HookForm = HookForm {
    events: &[("sessionStart", None), ("beforeSubmitPrompt", None), ("stop", None), ("sessionEnd", None)],
    agent: Some("cursor"),
    kind: None,
    command: "command",
    ..COPILOT
};

const TIMEOUT_S: u64 = 5;
/// Longest timeout that is kept if a person has set it; a larger one was meant in milliseconds.
pub const TIMEOUT_S_MAX: u64 = 60;

/// Codex's file for hooks, in the same shape.
pub(crate) const CODEX_HOOKS: &str = "hooks.json";
const HOOKS: Step = Step::Key("hooks");
const VERSION: Step = Step::Key("version");

/// A hook as written in a file.
struct Handler<'a> {
    form: &'a HookForm,
    line: String,
    timeout: Option<u64>,
}

impl Serialize for Handler<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(kind) = self.form.kind {
            map.serialize_entry("type", kind)?;
        }
        map.serialize_entry(self.form.command, &self.line)?;
        if let Some(timeout) = self.timeout {
            map.serialize_entry("timeout", &timeout)?;
        }
        map.end()
    }
}

/// An element of an event's list.
struct Element<'a>(Handler<'a>);

impl Serialize for Element<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.0.form.is_grouped {
            return self.0.serialize(serializer);
        }
        let mut group = serializer.serialize_map(Some(1))?;
        group.serialize_entry("hooks", &[&self.0])?;
        group.end()
    }
}

/// All hooks, serialised as the value of `hooks`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AllHooks<'a> {
    pub(crate) form: &'a HookForm,
    pub(crate) command: &'a HookCommand,
}

impl AllHooks<'_> {
    fn line(&self, event: &str) -> String {
        self.command.line(self.form.agent, event)
    }

    fn element(&self, event: &str, timeout: Option<u64>) -> Element<'_> {
        Element(Handler { form: self.form, line: self.line(event), timeout })
    }
}

impl Serialize for AllHooks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.form.events.len()))?;
        for (event, timeout) in self.form.events {
            map.serialize_entry(event, &[self.element(event, *timeout)])?;
        }
        map.end()
    }
}

/// A hook of Baton found in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundHook {
    /// The event that calls it.
    pub event: String,
    /// The program it calls.
    pub own: OwnHook,
    /// The whole command line.
    pub line: String,
    /// The timeout as written there.
    pub timeout: Option<Value>,
    /// The matcher that limits it to some occurrences of the event.
    pub(crate) matcher: Option<String>,
    /// True unless it is a plain command that the agent waits for.
    pub(crate) is_odd: bool,
    /// Its place in the event's list.
    group: usize,
    /// Its place in the group, if it is in one.
    at: Option<usize>,
}

impl FoundHook {
    /// True if it is called at every occurrence and waited for, with a valid timeout.
    pub fn is_sound(&self, form: &HookForm) -> bool {
        let wanted = form.events.iter().find(|(event, _)| *event == self.event).and_then(|(_, timeout)| *timeout);
        let timeout = match (&self.timeout, wanted) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(value), Some(_)) => value.as_u64().is_some_and(|seconds| (1..=TIMEOUT_S_MAX).contains(&seconds)),
        };
        timeout && !self.is_odd && matches!(self.matcher.as_deref(), None | Some("" | "*"))
    }
}

/// The events whose hooks Codex does not run. It runs a hook only if its configuration has a table for it, named after
/// file, event, group and index, that the user has trusted and not switched off.
pub fn events_codex_does_not_run(config: &Value, file: &Path, found: &[FoundHook]) -> Vec<String> {
    let recorded = config.get("hooks").and_then(|hooks| hooks.get("state")).and_then(Value::as_object);
    let files =
        [Some(file.to_owned()), file.canonicalize().ok()].map(|file| file.map(|file| file.display().to_string()));
    let runs = |hook: &FoundHook| {
        let place = format!(":{}:{}:{}", snake_case(&hook.event), hook.group, hook.at.unwrap_or_default());
        let is_of = |name: &str| files.iter().flatten().any(|file| name.strip_prefix(file.as_str()) == Some(&place));
        let is_on = |table: &Value| table["trusted_hash"].is_string() && table["enabled"] != false;
        recorded.into_iter().flatten().any(|(name, table)| is_of(name) && is_on(table))
    };
    let mut events: Vec<String> = found.iter().filter(|hook| !runs(hook)).map(|hook| hook.event.clone()).collect();
    events.dedup();
    events
}

/// `SessionStart` as `session_start`.
fn snake_case(event: &str) -> String {
    event.chars().enumerate().fold(String::new(), |mut name, (at, letter)| {
        if at > 0 && letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
        name
    })
}

/// Finds Baton's hooks in a file, whatever else is wrong with it.
pub fn find(form: &HookForm, settings: &Value) -> Vec<FoundHook> {
    let Some(events) = settings.get("hooks").and_then(Value::as_object) else { return Vec::new() };
    let mut found = Vec::new();
    for (event, list) in events {
        for (group, element) in list.as_array().into_iter().flatten().enumerate() {
            let grouped = element.get("hooks").and_then(Value::as_array).into_iter().flatten().enumerate();
            let handlers: Vec<(Option<usize>, &Value)> = match form.is_grouped {
                true => grouped.map(|(at, handler)| (Some(at), handler)).collect(),
                false => vec![(None, element)],
            };
            let matcher = element.get("matcher").map(|value| value.as_str().map_or(value.to_string(), str::to_owned));
            for (at, handler) in handlers {
                let Some(line) = line(form, handler) else { continue };
                let Some(own) = OwnHook::parse(&line) else { continue };
                let kind = handler.get("type").and_then(Value::as_str);
                let odd = ["args", "async", "asyncRewake", "shell", "if", "once"];
                found.push(FoundHook {
                    event: event.clone(),
                    own,
                    line,
                    timeout: handler.get("timeout").cloned(),
                    matcher: matcher.clone(),
                    is_odd: kind != form.kind || odd.iter().any(|key| handler.get(key).is_some()),
                    group,
                    at,
                });
            }
        }
    }
    found
}

/// The command line of a handler, including arguments given separately.
fn line(form: &HookForm, handler: &Value) -> Option<String> {
    let command = handler.get(form.command)?.as_str()?;
    let Some(arguments) = handler.get("args").and_then(Value::as_array) else { return Some(command.to_owned()) };
    let words = std::iter::once(Some(command)).chain(arguments.iter().map(Value::as_str));
    let words: Option<Vec<String>> = words.map(|word| word.map(super::hook_command::quoted)).collect();
    words.map(|words| words.join(" "))
}

/// Adds missing hooks and repairs wrong ones.
pub(crate) fn put_in(document: &mut Document, wanted: AllHooks) -> Result<(), Error> {
    let form = wanted.form;
    if let Some(version) = form.version.filter(|_| !document.has(&[VERSION])) {
        document.insert(&[], "version", &version)?;
    }
    let before = document.value()?;
    match before.get("hooks") {
        None => return document.insert(&[], "hooks", &wanted),
        Some(Value::Object(_)) => {}
        Some(_) => document.must_be_object(&[HOOKS])?,
    }
    for (event, timeout) in form.events {
        let path = [HOOKS, Step::Key(event)];
        let line = wanted.line(event);
        let is_right = |found: &FoundHook| found.line == line && found.is_sound(form);
        // Keeps the first correct hook, or repairs the first one; removes all others.
        let own = of_event(form, document, event)?;
        let kept = own.iter().position(is_right).unwrap_or(0);
        // From the back, so that earlier positions stay valid.
        for (_, surplus) in own.iter().enumerate().rev().filter(|(index, _)| *index != kept) {
            take_one(document, surplus)?;
        }
        let own = of_event(form, document, event)?;
        let element = wanted.element(event, *timeout);
        match own.first() {
            Some(found) if is_right(found) => {}
            Some(found) if is_alone(&document.value()?, found) => {
                document.replace(&[path[0], path[1], Step::At(found.group)], &element)?;
            }
            Some(found) => {
                take_one(document, found)?;
                document.push(&path, &element)?;
            }
            None if document.has(&path) => document.push(&path, &element)?,
            None => document.insert(&[HOOKS], event, &[element])?,
        }
    }
    Ok(())
}

/// Removes all of Baton's hooks, and lists and objects that become empty.
pub(crate) fn take_out(document: &mut Document, form: &HookForm) -> Result<(), Error> {
    // Each round removes one hook.
    while let Some(last) = find(form, &document.value()?).pop() {
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

fn of_event(form: &HookForm, document: &Document, event: &str) -> Result<Vec<FoundHook>, Error> {
    Ok(find(form, &document.value()?).into_iter().filter(|found| found.event == event).collect())
}

/// True if it is the only hook in its group, or in none.
fn is_alone(settings: &Value, found: &FoundHook) -> bool {
    let group = &settings["hooks"][&found.event][found.group]["hooks"];
    found.at.is_none() || group.as_array().is_some_and(|handlers| handlers.len() == 1)
}

fn take_one(document: &mut Document, found: &FoundHook) -> Result<(), Error> {
    let element = [HOOKS, Step::Key(&found.event), Step::At(found.group)];
    match found.at {
        Some(at) if !is_alone(&document.value()?, found) => {
            document.remove(&[&element[..], &[Step::Key("hooks"), Step::At(at)]].concat())
        }
        _ => document.remove(&element),
    }
}

#[cfg(test)]
mod tests;
