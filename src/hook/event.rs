//! Which event it is, and what goes with it: how long it may take, what is read of it, whether it may say something.

use std::time::Duration;

use baton_base::limits;
use baton_events::session::SignalKind;

use super::input::Field;

/// What an agent waits for.
const BUDGET: Duration = Duration::from_millis(100);
/// What it waits for where it may be told something.
const TELLING_BUDGET: Duration = Duration::from_millis(150);
/// What may be configured at most.
const MOST: Duration = Duration::from_millis(limits::HOOK_MS);
const END_MOST: Duration = Duration::from_millis(limits::HOOK_END_MS);
/// Longest name of an event.
const NAME_CHARS: usize = 64;

/// An event of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) kind: SignalKind,
    /// As Claude Code writes it.
    pub(super) name: String,
}

impl Event {
    /// By its name, as an agent or a person writes it. Any name is one of an event.
    pub(super) fn of(name: &str) -> Self {
        let kind = SignalKind::from_hook_name(name);
        let name = match kind {
            SignalKind::Other => name.chars().filter(|c| c.is_ascii_graphic()).take(NAME_CHARS).collect(),
            known => known.as_str().split('_').map(capitalised).collect(),
        };
        Self { kind, name }
    }

    /// Whether what it prints reaches the agent.
    pub(super) fn may_say(&self) -> bool {
        matches!(self.kind, SignalKind::SessionStart | SignalKind::UserPromptSubmit)
    }

    /// How long it may take where nothing else is configured.
    pub(super) fn budget(&self) -> Duration {
        if self.may_say() { TELLING_BUDGET } else { BUDGET }
    }

    /// How long it may take whatever is configured: what is left in the spool must be there before the agent ends the hook.
    pub(super) fn most(&self) -> Duration {
        if self.kind == SignalKind::SessionEnd { END_MOST } else { MOST }
    }

    /// Where the agent says why or how.
    pub(super) fn detail(&self) -> Option<Field> {
        match self.kind {
            SignalKind::SessionStart => Some(Field::Source),
            SignalKind::SessionEnd => Some(Field::Reason),
            SignalKind::PreCompact | SignalKind::PostCompact => Some(Field::Trigger),
            _ => None,
        }
    }
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
            ("PreToolUse", "PreToolUse", 100),
            ("New Thing\n", "NewThing", 100),
            ("", "", 100),
        ] {
            let event = Event::of(written);
            assert_eq!((event.name.as_str(), event.budget()), (told, Duration::from_millis(ms)), "{written}");
        }
        assert_eq!(Event::of(&"x".repeat(1000)).name.len(), NAME_CHARS);
    }
}
