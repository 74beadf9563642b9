//! A person who has changed their mind: earlier decisions about the same matter no longer hold.

use super::intent::Intent;
use baton_episode::digest::{Episode, Pointed, sentences_within};
use baton_words::WordList;

/// Phrases of a change of mind, in lower case.
static SIGNS: WordList = WordList::new(crate::WORDS, "changes of mind");
/// Minimum share of the subject of the request that says so, with what the agent concluded.
const ABOUT_IT: f32 = 0.5;
/// Maximum length of what is told of the request, in characters.
const TOLD_CHARS: usize = 280;

/// Returns the request of a session in which a person says that they have changed their mind about the subject, from the
/// line that says so.
pub fn change_of_mind(episode: &Episode, asked: &Intent) -> Option<Pointed> {
    let said = episode.exchanges.iter().rev().filter_map(|exchange| Some((exchange.prompt.as_ref()?, exchange)));
    let mut said = said.filter_map(|(prompt, exchange)| {
        let says_so = |line: &&str| {
            let lowered = line.to_lowercase();
            SIGNS.iter().any(|sign| lowered.contains(sign))
        };
        let line = prompt.text.lines().find(says_so)?;
        let concluded = exchange.conclusion.as_ref().map_or("", |said| said.text.as_str());
        let is_about = asked.fit_of(&format!("{} {concluded}", prompt.text)) >= ABOUT_IT;
        is_about.then(|| Pointed { text: sentences_within(line, TOLD_CHARS), ..prompt.clone() })
    });
    said.next().filter(|_| !asked.about.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::{Context, read};
    use super::*;
    use baton_conversation::record::Timestamp;
    use baton_episode::digest::Exchange;

    #[test]
    fn only_what_is_about_the_subject_counts() {
        let around = Context { projects: &[], now: Timestamp(0), zone: baton_protocol::Zone::UTC };
        let check = |prompt: &str, question: &str, expected: Option<&str>| {
            let said = |line: u64, text: &str| Some(Pointed { text: text.to_owned(), line, at: None });
            let exchange =
                Exchange { prompt: said(3, prompt), conclusion: said(9, "The deepest one."), ..Exchange::default() };
            let episode = Episode { exchanges: vec![exchange], ..Episode::default() };
            let told = change_of_mind(&episode, &read(question, &around));
            assert_eq!(told.map(|said| said.text).as_deref(), expected, "{prompt}: {question}");
        };
        let prompt = "See the diff.\nI changed my mind: take the deepest heron directory.\n+ code";
        let told = Some("I changed my mind: take the deepest heron directory.");
        check(prompt, "which heron directory is taken", told);
        check(prompt, "which cache is used", None);
        check(prompt, "what is open", None);
        check("Take the deepest heron directory.", "which heron directory is taken", None);
        let german = "Ich habe es mir anders überlegt: das tiefste heron directory.";
        check(german, "which heron directory is taken", Some(german));
    }
}
