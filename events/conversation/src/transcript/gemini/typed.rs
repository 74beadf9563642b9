//! Tells what a person typed from what the program put into the message.

use baton_redaction::raw_json::{Text, Value};

use super::texts;

/// A text of a message to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Typed<'t> {
    /// Typed by a person; empty if there is nothing but context.
    Prompt(&'t str),
    /// The context of the session.
    Context {
        /// The working directory, if it is named.
        directory: Option<&'t str>,
    },
    /// The summary of a compaction.
    Summary(&'t str),
    /// A command that a person ran, with what it printed.
    Command { line: &'t str, output: &'t str },
}

/// Elements around a prompt that hooks and the program add for the model.
const AROUND: &[&str] = &[
    "hook_context",
    "session_context",
    "environment_context",
    "system-reminder",
    "qwen:user-prompt-submit-context",
    "qwen:session-start-context",
];
/// Beginnings of texts that are context as a whole.
const SESSION: &[&str] = &["<session_context>", "This is the Gemini CLI. We are setting up the context for our chat."];
/// Beginnings of messages that the program sends in a person's name.
const BY_PROGRAM: &[&str] = &[
    "System: Please continue.",
    "System: Potential loop detected",
    "Here is the user's editor context as a JSON object",
    "Here is a summary of changes in the user's editor context",
];
/// Frame of a command that a person ran, with what it printed.
const COMMAND: (&str, &str, &str) =
    ("I ran the following shell command:\n```sh\n", "\n```\n\nThis produced the following result:\n```\n", "\n```");
/// The model's answer to a summary, which the program writes itself.
const THANKS: &str = "Got it. Thanks for the additional context!";
/// Begins the content of files that a prompt refers to by `@`.
const REFERENCES: &str = "--- Content from referenced files ---";
const SUMMARY: &str = "<state_snapshot>";
/// Lines that announce the working directory.
const DIRECTORIES: &[&str] =
    &["Workspace Directories:", "working in the following directories:", "working in the directory:"];

/// Quickly excludes texts that are neither context nor summary.
pub(crate) fn may_be_context(text: Text<'_>) -> bool {
    let has = |mark: &str| memchr::memmem::find(text.raw(), mark.as_bytes()).is_some();
    has(SUMMARY) || SESSION.iter().any(|start| has(start))
}

/// True for what the program lets the model say after a summary.
pub(crate) fn is_thanks(content: Value<'_>) -> bool {
    texts(content).next().is_some_and(|text| text.raw() == THANKS.as_bytes())
}

/// True for the first of the parts that repeat files for the model.
pub(crate) fn is_reference(text: &str) -> bool {
    text.trim_start().starts_with(REFERENCES)
}

pub(crate) fn split(text: &str) -> Typed<'_> {
    let whole = text.trim();
    if SESSION.iter().any(|start| whole.starts_with(start)) {
        return Typed::Context { directory: directory(whole) };
    }
    // The model writes its notes before the summary.
    if whole.starts_with('<') && whole.contains(SUMMARY) && whole.contains("</state_snapshot>") {
        return Typed::Summary(whole);
    }
    if let Some((line, output)) = command(whole) {
        return Typed::Command { line, output };
    }
    if BY_PROGRAM.iter().any(|start| whole.starts_with(start)) {
        return Typed::Prompt("");
    }
    let typed = whole.split_once(&format!("\n{REFERENCES}")).map_or(whole, |(typed, _)| typed);
    Typed::Prompt(without_context(typed))
}

fn command(text: &str) -> Option<(&str, &str)> {
    let (open, between, close) = COMMAND;
    let (line, output) = text.strip_prefix(open)?.split_once(between)?;
    Some((line, output.strip_suffix(close).unwrap_or(output)))
}

/// The text without context before and behind it.
fn without_context(text: &str) -> &str {
    let mut rest = text.trim();
    loop {
        let inner = AROUND.iter().find_map(|name| {
            let (open, close) = (format!("<{name}>"), format!("</{name}>"));
            let behind =
                rest.strip_prefix(&open).and_then(|inside| inside.split_once(&close)).map(|(_, behind)| behind);
            behind.or_else(|| rest.strip_suffix(&close)?.rsplit_once(&open).map(|(before, _)| before))
        });
        match inner {
            Some(inner) => rest = inner.trim(),
            None => return rest,
        }
    }
}

fn directory(context: &str) -> Option<&str> {
    let (_, behind) = DIRECTORIES.iter().find_map(|mark| context.split_once(mark))?;
    let line = behind.trim_start_matches(['*', ' ']);
    let line = line.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.trim_start_matches("- ")).filter(|path| !path.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_is_told_from_what_was_added() {
        for (text, expected) in [
            ("fix it", Typed::Prompt("fix it")),
            ("<hook_context>h</hook_context>\nfix it", Typed::Prompt("fix it")),
            ("fix it\n\n<hook_context>h</hook_context>", Typed::Prompt("fix it")),
            ("what is <hook_context>?", Typed::Prompt("what is <hook_context>?")),
            ("<b>is bold</b>", Typed::Prompt("<b>is bold</b>")),
            ("see @a\n--- Content from referenced files ---\nsecret", Typed::Prompt("see @a")),
            ("System: Please continue.", Typed::Prompt("")),
            (
                "I ran the following shell command:\n```sh\nls\n```\n\nThis produced the following result:\n```\na\nb\n```",
                Typed::Command { line: "ls", output: "a\nb" },
            ),
            (
                "<session_context>\nx\n- **Workspace Directories:**\n  - /w/a\n  - /b\n</session_context>",
                Typed::Context { directory: Some("/w/a") },
            ),
            ("<session_context>\nx</session_context>", Typed::Context { directory: None }),
            (
                "This is the Gemini CLI. We are setting up the context for our chat.\nI'm currently working in the directory: /w",
                Typed::Context { directory: Some("/w") },
            ),
            ("<state_snapshot>s</state_snapshot>", Typed::Summary("<state_snapshot>s</state_snapshot>")),
            ("why <state_snapshot>?", Typed::Prompt("why <state_snapshot>?")),
        ] {
            assert_eq!(split(text), expected, "{text}");
        }
    }
}
