//! An event, and what depends on it: time limits, the detail to read, and whether output reaches the agent.

use std::time::Duration;

use baton_protocol::{HOOK_END_MS, HOOK_MS, SignalKind};

use super::input::Field;
use super::output::Output;

/// Budget of an event.
const BUDGET: Duration = Duration::from_millis(100);
/// Budget of an event whose output reaches the agent.
const CONTEXT_BUDGET: Duration = Duration::from_millis(150);
/// Largest budget that can be configured.
const BUDGET_MAX: Duration = Duration::from_millis(HOOK_MS);
const END_BUDGET_MAX: Duration = Duration::from_millis(HOOK_END_MS);
/// Longest name of an event, in characters.
const NAME_CHARS: usize = 64;

/// An event of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) kind: SignalKind,
    /// The name as Claude Code writes it.
    pub(super) name: String,
    /// The agent's own name for it, if the input gives a different one.
    pub(super) own_name: Option<String>,
    /// What the agent reads of the hook's output.
    pub(super) output: Output,
    /// True for a prompt without text typed by a person. It is not reported.
    pub(super) is_untyped: bool,
}

impl Event {
    /// Parses an event's name as an agent or a person writes it. Every name is accepted.
    pub(super) fn parse(name: &str) -> Self {
        let kind = SignalKind::from_hook_name(name);
        let name = match kind {
            SignalKind::Other => printable(name),
            known => known.as_str().split('_').map(capitalised).collect(),
        };
        Self { kind, name, own_name: None, output: Output::Claude, is_untyped: false }
    }

    /// The event with the output that the agent reads, and with the agent's own name of it, unless that is Claude Code's.
    pub(super) fn for_agent(self, named: Option<&str>, output: Output) -> Self {
        let letters = |name: &str| name.chars().filter(char::is_ascii_alphanumeric).collect::<String>();
        let is_own = |name: &&str| {
            SignalKind::from_hook_name(name) == self.kind && !letters(name).eq_ignore_ascii_case(&self.name)
        };
        let own_name = named.filter(is_own).map(printable);
        Self { own_name, output, ..self }
    }

    /// The name as the agent writes it.
    pub(super) fn agent_event_name(&self) -> &str {
        self.own_name.as_deref().unwrap_or(&self.name)
    }

    /// True if the hook's output reaches the agent.
    pub(super) fn reaches_agent(&self) -> bool {
        self.output.is_read(self.kind)
    }

    /// Budget unless configured otherwise.
    pub(super) fn budget(&self) -> Duration {
        if Output::Claude.is_read(self.kind) { CONTEXT_BUDGET } else { BUDGET }
    }

    /// Upper limit of the budget, whatever is configured: a signal must be in the spool before the agent kills the
    /// hook.
    pub(super) fn max_budget(&self) -> Duration {
        if self.kind == SignalKind::SessionEnd { END_BUDGET_MAX } else { BUDGET_MAX }
    }

    /// The input field that holds the reason or trigger of this event.
    pub(super) fn detail(&self) -> Option<Field> {
        match self.kind {
            SignalKind::SessionStart => Some(Field::Source),
            SignalKind::SessionEnd => Some(Field::Reason),
            SignalKind::PreCompact | SignalKind::PostCompact => Some(Field::Trigger),
            _ => None,
        }
    }
}

fn printable(name: &str) -> String {
    name.chars().filter(|c| c.is_ascii_graphic()).take(NAME_CHARS).collect()
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_told_as_the_agent_writes_it() {
        for (written, told, ms) in [
            ("session-start", "SessionStart", 150),
            ("UserPromptSubmit", "UserPromptSubmit", 150),
            ("STOP", "Stop", 100),
            ("subagent_stop", "SubagentStop", 100),
            ("PreCompact", "PreCompact", 100),
            ("post-compact", "PostCompact", 100),
            ("session-end", "SessionEnd", 100),
            ("BeforeAgent", "UserPromptSubmit", 150),
            ("PreToolUse", "PreToolUse", 100),
            ("New Thing\n", "NewThing", 100),
            ("", "", 100),
        ] {
            let event = Event::parse(written);
            assert_eq!((event.name.as_str(), event.budget()), (told, Duration::from_millis(ms)), "{written}");
        }
        assert_eq!(Event::parse(&"x".repeat(1000)).name.len(), NAME_CHARS);
        for (written, named, told) in [
            ("BeforeAgent", Some("BeforeAgent"), "BeforeAgent"),
            ("session-start", Some("Stop"), "SessionStart"),
            ("sessionStart", None, "SessionStart"),
        ] {
            assert_eq!(Event::parse(written).for_agent(named, Output::Claude).agent_event_name(), told, "{written}");
        }
    }
}
