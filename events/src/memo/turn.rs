//! The turns of a note that is a conversation with speakers: `user: hi`, `assistant: hello`.

/// Longest name of a speaker, in characters.
const SPEAKER_CHARS: usize = 40;
/// Most turns of a note; text after them belongs to the last one.
const MAX_TURNS: usize = 2_000;
/// Names of agents; sorted.
const AGENTS: [&str; 13] = [
    "agent",
    "ai",
    "assistant",
    "bot",
    "chatgpt",
    "claude",
    "codex",
    "copilot",
    "function",
    "gemini",
    "gpt",
    "system",
    "tool",
];

/// What one speaker says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn<'a> {
    /// The speaker; `None` before the first name.
    pub speaker: Option<&'a str>,
    /// Line of the text on which it begins, from 1.
    pub line: u64,
    /// The text without the speaker's name.
    pub text: &'a str,
}

impl Turn<'_> {
    /// True if an agent or a program speaks, not a person.
    pub fn is_of_an_agent(&self) -> bool {
        let name = self.speaker.unwrap_or_default().to_lowercase();
        AGENTS.binary_search(&name.split([' ', '(']).next().unwrap_or_default()).is_ok()
    }
}

/// The turns of a text, in order, without empty ones. Linear time.
pub fn turns(text: &str) -> Vec<Turn<'_>> {
    let mut found: Vec<Turn<'_>> = Vec::new();
    // Start of the last turn, whose end is not known yet.
    let mut open = (None, 1, 0);
    let mut close = |(speaker, line, begin): (Option<_>, u64, usize), end: usize| {
        let said = &text[begin..end];
        if !said.trim().is_empty() {
            let blank = said.len() - said.trim_start().len();
            let line = line + said[..blank].matches('\n').count() as u64;
            found.push(Turn { speaker, line, text: said.trim() });
        }
    };
    let (mut at, mut count) = (0, 0);
    for (line, whole) in (1..).zip(text.split_inclusive('\n')) {
        if let Some((name, after)) = speaker(whole).filter(|_| count < MAX_TURNS) {
            close(open, at);
            count += 1;
            open = (Some(name), line, at + after);
        }
        at += whole.len();
    }
    close(open, text.len());
    found
}

/// The speaker's name at the beginning of a line, and the offset behind it: `Ada (she): hello`.
fn speaker(line: &str) -> Option<(&str, usize)> {
    let (name, said) = line.split_once(':')?;
    let is_said = said.starts_with([' ', '\t', '\n', '\r']) || said.is_empty();
    let bare = name.trim().trim_matches('*');
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.' | '(' | ')' | '@' | '\'');
    let is_name = (1..=SPEAKER_CHARS).contains(&bare.chars().count())
        && bare.starts_with(char::is_alphabetic)
        && bare.chars().all(is_plain)
        && bare.split(' ').count() <= 3;
    (is_said && is_name).then_some((bare, name.len() + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_is_cut_at_the_names_of_who_speaks() {
        let check = |text: &str, expected: &[(Option<&str>, u64, &str)]| {
            let found: Vec<_> = turns(text).into_iter().map(|turn| (turn.speaker, turn.line, turn.text)).collect();
            assert_eq!(found, expected, "{text:?}");
        };
        check(
            "user: hi\nassistant: hello\nand more\n\nAda (she):\n\nbye",
            &[(Some("user"), 1, "hi"), (Some("assistant"), 2, "hello\nand more"), (Some("Ada (she)"), 7, "bye")],
        );
        check("see https://x.y: no\nuser:", &[(None, 1, "see https://x.y: no")]);
        check(
            "a::b\n12:30 is late\nthis is a long sentence with: a colon",
            &[(None, 1, "a::b\n12:30 is late\nthis is a long sentence with: a colon")],
        );
        check("", &[]);
        check(":", &[(None, 1, ":")]);
    }

    #[test]
    fn agents_are_told_from_people() {
        let is_agent = |text: &str| turns(text)[0].is_of_an_agent();
        assert!(is_agent("assistant: x") && is_agent("**AI**: x") && is_agent("Claude (opus): x"));
        assert!(!is_agent("user: x") && !is_agent("Ada: x") && !is_agent("x"));
        assert!(AGENTS.is_sorted());
    }
}
