//! Whether a session contains anything that the next one should know.

use crate::digest::{Episode, Pointed, is_courtesy};

/// Words of greetings, which ask for nothing.
const GREETINGS: [&str; 12] =
    ["are", "day", "evening", "hello", "hey", "hi", "how", "morning", "test", "testing", "there", "you"];

/// Fewest characters of an answer that came of reading, or of the work of a subagent.
const ANSWER_CHARS: usize = 200;

/// Returns true if something was done, decided, stored, looked up, answered at length, failed or left open. A greeting
/// and its answer do not count, whatever the answer asks in return.
pub fn is_relevant(episode: &Episode) -> bool {
    let done = !episode.files_modified.is_empty()
        || !episode.commands.is_empty()
        || !episode.external_research.is_empty()
        || !episode.knowledge_stored.is_empty();
    let answered = episode.exchanges.iter().any(|exchange| {
        let tells = |said: &Pointed| said.text.chars().nth(ANSWER_CHARS - 1).is_some();
        !exchange.acts.is_empty() && exchange.conclusion.as_ref().is_some_and(tells)
    });
    let open = !episode.unresolved.is_empty() || !episode.next_steps.is_empty();
    done || answered
        || !episode.errors.is_empty()
        || ((open || !episode.decisions.is_empty()) && episode.prompts.iter().any(|prompt| asks(&prompt.text)))
}

/// Returns true if a prompt asks for anything: more than a greeting, thanks, or a bare slash command.
fn asks(prompt: &str) -> bool {
    let is_command = prompt.starts_with('/') && !prompt.trim().contains(char::is_whitespace);
    let mut words = prompt.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let says = |word: &str| !GREETINGS.iter().any(|known| known.eq_ignore_ascii_case(word)) && !is_courtesy(word);
    !is_command && words.any(says)
}
