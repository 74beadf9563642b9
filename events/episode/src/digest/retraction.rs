//! Prompts that the person takes back: `ignore my last message`, or `never mind` once the agent was stopped.
//!
//! What was said in that turn is no purpose, decision or state. What was done in it stays done.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::request::own_sentences;
use crate::lexicon::{Sign, Signs};
use baton_conversation::item::{Body, INTERRUPTED, Item};

/// A longer prompt is about something else, in bytes.
const MAX_BYTES: usize = 600;
/// A clause of more words says more than that something is taken back.
const MAX_WORDS: usize = 8;
/// One of more words, after a stop, says what is not to be minded.
const DISMISSING_WORDS: usize = 3;
/// Number of first sentences in which a prompt takes back the one before.
const FIRST_SENTENCES: usize = 3;
/// Separators of clauses.
const CLAUSES: [char; 5] = [',', ';', '—', '，', '、'];

/// Leaves out what prompts say that the next one takes back, the replies to them, and the words that take them back. Such
/// a prompt stays where an exchange begins, as a picture without a text does. Linear.
pub(super) fn without_retracted(items: Cow<'_, [Item]>) -> Cow<'_, [Item]> {
    let mut gone: BTreeSet<usize> = BTreeSet::new();
    let mut texts: Vec<(usize, Body)> = Vec::new();
    // The last prompt, the replies to it, and whether the agent was stopped since.
    let (mut asked, mut replies, mut is_stopped): (Option<usize>, Vec<usize>, bool) = (None, Vec::new(), false);
    for (place, item) in items.iter().enumerate().filter(|(_, item)| !item.sidechain) {
        match &item.body {
            Body::Prompt { text } => {
                if let Some((asked, rest)) = asked.zip(takes_back(text, is_stopped)) {
                    gone.extend(replies.drain(..));
                    texts.push((asked, Body::Media { text: String::new() }));
                    texts.extend(rest.contains(char::is_alphanumeric).then_some((place, Body::Prompt { text: rest })));
                }
                (asked, replies, is_stopped) = (Some(place), Vec::new(), false);
            }
            Body::Reply { .. } | Body::Answer { .. } if asked.is_some() => replies.push(place),
            Body::Notice { text } => is_stopped |= text == INTERRUPTED,
            _ => {}
        }
    }
    if texts.is_empty() {
        return items;
    }
    let mut items = items.into_owned();
    for (place, body) in texts {
        items[place].body = body;
    }
    let mut place = 0..;
    items.retain(|_| place.next().is_none_or(|place| !gone.contains(&place)));
    Cow::Owned(items)
}

/// Returns what else a prompt says that takes back the one before; `None` if it takes nothing back.
fn takes_back(text: &str, is_stopped: bool) -> Option<String> {
    if text.len() > MAX_BYTES {
        return None;
    }
    let own = own_sentences(text);
    let is_it = |said: &str| {
        let signs = Signs::read(said);
        let words = said.split_whitespace().count();
        let dismisses = is_stopped && signs.begins(Sign::Dismiss) && words <= DISMISSING_WORDS;
        (dismisses || signs.begins(Sign::Retract) && words <= MAX_WORDS) && !signs.asks()
    };
    let has_it = |said: &String| said.split(CLAUSES).any(|clause| is_it(clause.trim()));
    own.iter().take(FIRST_SENTENCES).any(has_it).then(|| {
        let words = own.iter().filter(|said| is_it(said) && !said.contains(CLAUSES));
        words.fold(text.to_owned(), |rest, said| rest.replacen(said.as_str(), "", 1)).trim().to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_takes_back_by_naming_the_message_or_after_a_stop() {
        for (text, is_stopped, expected) in [
            ("oops wrong chat. ignore last message. the mast can be lighter", false, Some("the mast can be lighter")),
            ("Please ignore my previous prompt!", false, Some("")),
            ("Falscher Chat. Ignoriere die letzte Nachricht.", false, Some("")),
            ("chat equivocado", false, Some("")),
            ("发错了", false, Some("")),
            ("never mind", true, Some("")),
            ("never mind, lift the other one", true, Some("never mind, lift the other one")),
            ("never mind", false, None),
            ("never mind the mast, the winch is what counts in this harbour", true, None),
            ("ignore the last error message", false, None),
            ("Why does it ignore the last message?", false, None),
            ("Ignore the last message of every thread when the list of the inbox is counted", false, None),
        ] {
            assert_eq!(takes_back(text, is_stopped).as_deref(), expected, "{text}");
        }
    }
}
