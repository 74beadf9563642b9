//! Classifies the texts of a user message: Codex puts many of its own there, in elements or under a heading.

use std::borrow::Cow;

use baton_words::WordList;

/// A text and its author.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum UserText<'t> {
    /// Typed by a person.
    Prompt(Cow<'t, str>),
    /// A command that a person ran in the agent's shell, with its exit code and output.
    Command(&'t str, Option<i32>, &'t str),
    /// A summary of what was compacted away.
    Summary(&'t str),
    /// What a person answered to questions.
    Answers(String),
    /// Text of Codex itself.
    Harness,
}

/// Elements that Codex writes, besides those with a `_` in their name.
const ELEMENTS: &[&str] = &[
    "skill",
    "permissions instructions",
    "INSTRUCTIONS",
    "image",
    "goal",
    "environment",
    "hooks",
    "heartbeat",
    "scheduled-task",
    "app-context",
    "agent-message",
    BROWSER,
];
/// Element that the app writes before a prompt: what its browser shows.
const BROWSER: &str = "in-app-browser-context";
/// Element around the answers to questions, a list of `{question, answer}`.
const REPLY: &str = "send_user_message_question_reply";
/// Beginnings of texts that Codex writes without an element.
static BEGINNINGS: WordList = WordList::new(crate::WORDS, "codex context");
/// Beginning of a compaction's summary.
const SUMMARY: &str = "Another language model started to solve this problem and produced a summary";
/// Headings of texts that an editor or the app puts before a prompt, and those between both.
const BEFORE: &[&str] =
    &["# Context from my IDE setup:", "# Files mentioned by the user:", "# Response annotations:", "# Chrome tabs:"];
const REQUESTS: [&str; 2] = ["## My request for Codex:", "## My request:"];
const SHELL: &str = "user_shell_command";
/// Beginnings of lines before the output of such a command.
const FACTS: [&str; 3] = ["Exit code: ", "Duration: ", "Output:"];

/// Classifies a text of a user's response item.
pub(super) fn classify(text: &str) -> UserText<'_> {
    let text = text.trim();
    if let Some((name, inner)) = element(text) {
        if name == SHELL {
            let command = inner.split_once("<command>").and_then(|(_, rest)| rest.split_once("</command>"));
            return command.map_or(UserText::Harness, |(command, rest)| {
                let code = rest.lines().find_map(|line| line.strip_prefix("Exit code: ")?.trim().parse().ok());
                let is_fact = |line: &str| FACTS.iter().any(|fact| line.trim_start().starts_with(fact));
                let output = rest.trim_start().strip_prefix("<result>").unwrap_or(rest);
                let output = output.trim().trim_end_matches("</result>").trim();
                let facts: usize = output.split_inclusive('\n').take_while(|line| is_fact(line)).map(str::len).sum();
                let output = output.get(facts..).unwrap_or_default();
                UserText::Command(command.trim(), code, output)
            });
        }
        if name == REPLY {
            return answers(inner).map_or(UserText::Harness, UserText::Answers);
        }
        if name.contains('_') || ELEMENTS.contains(&name) {
            return UserText::Harness;
        }
    }
    if BEGINNINGS.iter().any(|start| text.starts_with(start)) || is_tag_of_image(text) {
        return UserText::Harness;
    }
    if text.starts_with(SUMMARY) {
        return UserText::Summary(text);
    }
    UserText::Prompt(Cow::Borrowed(request(text)))
}

/// Classifies a text that was shown as a person's: it may be an element of any other name.
pub(super) fn shown(text: &str) -> UserText<'_> {
    match element(text.trim()) {
        Some((name, _)) if name == REPLY || ELEMENTS.contains(&name) => classify(text),
        _ => UserText::Prompt(Cow::Borrowed(request(text))),
    }
}

/// A prompt typed in an editor or the app, without the context before it.
fn request(text: &str) -> &str {
    let text = text.trim();
    let mut typed = text;
    while let Some((_, rest)) = typed
        .strip_prefix('<')
        .and_then(|rest| rest.strip_prefix(BROWSER))
        .and_then(|rest| rest.split_once(&format!("</{BROWSER}>")))
    {
        typed = rest.trim_start();
    }
    if typed.len() < text.len() || BEFORE.iter().any(|heading| typed.starts_with(heading)) {
        let behind = |heading: &&str| {
            let at = typed.match_indices(*heading).map(|(at, _)| at);
            let at = at.into_iter().find(|at| *at == 0 || typed[..*at].ends_with('\n'))?;
            Some(&typed[at + heading.len()..])
        };
        typed = REQUESTS.iter().find_map(behind).unwrap_or(typed);
    }
    typed.trim()
}

/// The answers to questions, one per line.
fn answers(list: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Reply {
        answer: String,
    }
    let replies: Vec<Reply> = serde_json::from_str(list.trim()).ok()?;
    let answers: Vec<String> = replies.into_iter().map(|reply| reply.answer).collect();
    Some(answers.join("\n"))
}

/// True for the opening or closing tag around an image.
fn is_tag_of_image(text: &str) -> bool {
    text == "</image>" || (text.starts_with("<image") && text.ends_with('>') && !text[1..].contains('<'))
}

/// Name and content of the element that makes up the whole text.
fn element(text: &str) -> Option<(&str, &str)> {
    let (open, rest) = text.strip_prefix('<')?.split_once('>')?;
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b' ' | b'-'))
    };
    let inner = |name: &str| rest.strip_suffix('>')?.strip_suffix(name)?.strip_suffix("</");
    // The whole tag may be the name (`permissions instructions`), or name and attributes.
    if is_name(open)
        && let Some(inner) = inner(open)
    {
        return Some((open, inner));
    }
    let name = open.split(' ').next().filter(|name| is_name(name))?;
    Some((name, inner(name)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_persons_words_are_told_from_codex() {
        let check = |text: &str, expected: UserText<'_>| assert_eq!(classify(text), expected, "{text}");
        let prompt = |text: &'static str| UserText::Prompt(Cow::Borrowed(text));
        check(" fix it\n", prompt("fix it"));
        check("<div>why is this <b>bold</b>?</div>", prompt("<div>why is this <b>bold</b>?</div>"));
        check("<environment_context> is not closed", prompt("<environment_context> is not closed"));
        check("a < b and c > d", prompt("a < b and c > d"));
        check("Warning: this fails", prompt("Warning: this fails"));
        check(
            "# Context from my IDE setup:\n\n## Open tabs:\n- a.rs\n\n## My request for Codex:\nfix a.rs\n",
            prompt("fix a.rs"),
        );
        check("# Context from my IDE setup: why?", prompt("# Context from my IDE setup: why?"));
        check(
            "# Files mentioned by the user:\n\n## a.png: /t/a.png\n\n## My request:\nwhat is it?\n",
            prompt("what is it?"),
        );
        check(
            "# Response annotations:\nx\n<response-annotations>\n[]\n</response-annotations>\n\n## My request for Codex:\nno",
            prompt("no"),
        );
        let page = "<in-app-browser-context source=\"ambient-ui-state\">\n- URL: x\n</in-app-browser-context>";
        for typed in ["why is it blue?".to_owned(), "## My request:\nwhy is it blue?".to_owned()] {
            check(&format!("{page}\n{typed}"), prompt("why is it blue?"));
        }
        check(page, UserText::Harness);
        check(
            "<send_user_message_question_reply>\n[{\"question\":\"Which?\",\"answer\":\"the first\"},{\"answer\":\"no\"}]\n</send_user_message_question_reply>",
            UserText::Answers("the first\nno".to_owned()),
        );
        check("My request: x\n## My request:\ny", prompt("My request: x\n## My request:\ny"));
        for harness in [
            "<environment_context>\n  <cwd>/a</cwd>\n</environment_context>",
            "<user_instructions>\n\nBe kind.\n\n</user_instructions>",
            "# AGENTS.md instructions for /a\n\n<INSTRUCTIONS>\nx\n</INSTRUCTIONS>",
            "<permissions instructions>\nx\n</permissions instructions>",
            "<turn_aborted>\nx\n</turn_aborted>",
            "<skill>\n<name>worktree</name>\n</skill>",
            "<heartbeat>\n<id>1</id>\n</heartbeat>",
            "<scheduled-task name=\"x\">run</scheduled-task>",
            "<send_user_message_question_reply>x</send_user_message_question_reply>",
            "<subagent_notification>{}</subagent_notification>",
            "<image name=[Image #1]>",
            "</image>",
            "Warning: apply_patch was requested via exec_command. Use the apply_patch tool instead.",
        ] {
            check(harness, UserText::Harness);
        }
        check(
            "<user_shell_command>\n<command>\ngit status\n</command>\n<result>\nExit code: 0\n</result>\n</user_shell_command>",
            UserText::Command("git status", Some(0), ""),
        );
        check(
            "<user_shell_command><command>x</command><result>\nExit code: 2\nDuration: 1 s\nOutput:\na\nb\n</result></user_shell_command>",
            UserText::Command("x", Some(2), "a\nb"),
        );
        let summary = format!("{SUMMARY} of its thinking process.");
        check(&summary, UserText::Summary(&summary));
    }
}
