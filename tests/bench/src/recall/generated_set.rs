//! A generated set: hundreds of sessions with the same vocabulary, and questions made of a few words of one turn, one
//! of them in another form.

use std::collections::{BTreeMap, BTreeSet};

use baton_conversation::item;

use super::set::{Name, Question, Role, Session, Set, Turn};
use crate::corpus::random::Random;
use crate::corpus::talk::Talk;

const SESSIONS: u64 = 200;
const QUESTIONS: usize = 400;
/// Words of a question.
const WORDS: std::ops::RangeInclusive<usize> = 2..=4;
/// Number of sessions with a word that a question may contain.
const KNOWN_IN: std::ops::RangeInclusive<usize> = 3..=80;

impl Set {
    /// A set with the same sessions and questions for the same seed.
    pub(super) fn generated(seed: u64) -> Self {
        let talk = Talk::new(seed);
        let sessions: Vec<Session> = (0..SESSIONS).map(|number| session(&talk, number)).collect();
        let mut known_in: BTreeMap<&str, usize> = BTreeMap::new();
        for session in &sessions {
            let words: BTreeSet<&str> = session.turns.iter().flat_map(|turn| words(&turn.text)).collect();
            words.into_iter().for_each(|word| *known_in.entry(word).or_default() += 1);
        }
        let mut random = Random::for_part(seed, 4);
        let mut questions = Vec::with_capacity(QUESTIONS);
        while questions.len() < QUESTIONS {
            let session = random.pick(&sessions);
            let index = random.below(session.turns.len());
            let turn = &session.turns[index];
            let mut middling: Vec<&str> = words(&turn.text).filter(|word| KNOWN_IN.contains(&known_in[word])).collect();
            let wanted = random.between(*WORDS.start(), *WORDS.end());
            if turn.role == Role::Tool || middling.len() < wanted {
                continue;
            }
            while middling.len() > wanted {
                middling.remove(random.below(middling.len()));
            }
            let other = random.below(wanted);
            let asked = middling
                .iter()
                .enumerate()
                .map(|(at, word)| if at == other { other_form(word) } else { (*word).to_owned() });
            questions.push(Question {
                id: questions.len().to_string(),
                category: format!("{wanted} words"),
                text: asked.collect::<Vec<_>>().join(" "),
                expected_sessions: vec![session.id.clone()],
                expected_turns: vec![(Name::Text(session.id.clone()), index)],
            });
        }
        Self { sessions, questions }
    }
}

fn session(talk: &Talk, number: u64) -> Session {
    let generated = talk.session(number, false);
    let turns = generated.units.into_iter().filter_map(|unit| {
        let (role, text) = match unit.role {
            item::Role::User => (Role::User, unit.text),
            item::Role::Assistant => (Role::Assistant, unit.text),
            _ => (Role::Tool, unit.text.strip_prefix("Bash: ")?.to_owned()),
        };
        Some(Turn { role, speaker: None, time: unit.at.map(|at| at.to_string()), text, failed: false })
    });
    Session { id: generated.id, project: Some(generated.project), turns: turns.collect() }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_lowercase()).filter(|word| word.len() > 3)
}

/// The word with another ending.
fn other_form(word: &str) -> String {
    let (stem, ending) = [("ing", "ed"), ("ed", "s"), ("s", "")]
        .into_iter()
        .find_map(|(ending, other)| Some((word.strip_suffix(ending)?, other)))
        .unwrap_or((word, "ing"));
    format!("{stem}{ending}")
}
