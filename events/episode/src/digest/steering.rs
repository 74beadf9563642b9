//! What a person tells about the how in a prompt: by words of it, or by asking for a change of work that was done, if the
//! work that follows shows it.

use std::collections::{BTreeMap, BTreeSet};

use super::agent_choice::MAX_REPLY_BYTES;
use super::excerpt::head;
use super::file;
use super::repetition::significant_words;
use super::request::NEGATIONS;
use super::stated::MIN_WORDS;
use super::timeline::{Deed, Round, Timeline};
use crate::lexicon::{Sign, Signs};
use baton_conversation::item::Edit;
use baton_conversation::quoted_text::own_words;

/// A word of fewer bytes says nothing of what is asked.
const TELLING_BYTES: usize = 5;
/// Words before the verb of what a person tells.
const GOVERNING: [&str; 5] = ["don't ", "do not ", "never ", "always ", "use "];

/// Returns true if a clause is about how the work goes on: `don't worry`, or which tool to look with.
fn is_idle(clause: &str) -> bool {
    let lower = clause.to_lowercase();
    let verb = GOVERNING.iter().find_map(|word| lower.strip_prefix(word)).unwrap_or(&lower);
    let looks = |(_, purpose): (&str, &str)| Signs::read(purpose).begins(Sign::Look);
    Signs::read(verb).has(Sign::Idle) || lower.starts_with("use ") && lower.split_once(" to ").is_some_and(looks)
}

/// How a person's words were received.
pub(super) struct Reception {
    /// The session changes something, sooner or later.
    pub(super) in_work: bool,
    /// The prompt asks something, and nothing was done for it or the next one.
    pub(super) only_asked: bool,
    /// The agent had asked something.
    pub(super) asked: bool,
    /// The agent agreed at once and changed something.
    pub(super) agreed: bool,
    /// Few lines were said.
    pub(super) is_short: bool,
    /// What it changed after earlier work.
    pub(super) refined: Refined,
}

/// How a clause tells which way something shall be done.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Steering {
    /// In so many words.
    Told,
    /// By asking for a change of earlier work, which was made.
    Refining,
}

/// What a round changes after earlier work.
#[derive(Default)]
pub(super) struct Refined {
    /// The files' names, what was replaced by what, and what the agent says of it, in lower case.
    text: String,
    /// The files' names.
    files: BTreeSet<String>,
    /// Where something that the session wrote before is replaced: the words that only the old or only the new text has.
    revised: BTreeSet<String>,
}

impl Refined {
    /// Reads a round; `first` is the first change of the session, `revising` the edits that replace its own words.
    pub(super) fn read(
        timeline: &Timeline<'_>,
        round: &Round<'_>,
        first: Option<usize>,
        revising: &BTreeSet<usize>,
    ) -> Self {
        if first.is_none_or(|first| first >= round.deeds.start) {
            return Self::default();
        }
        let own = timeline.deeds[round.deeds.clone()].iter().filter(|deed| changes(timeline, deed));
        let edits: Vec<&Edit> = own.filter_map(Deed::effect).collect();
        if edits.is_empty() {
            return Self::default();
        }
        let name = |edit: &&Edit| edit.path.rsplit('/').next().unwrap_or_default().to_owned();
        let files: BTreeSet<String> = edits.iter().map(name).collect();
        let texts =
            edits.iter().flat_map(|edit| [&*edit.old_text, &*edit.new_text]).chain(files.iter().map(String::as_str));
        let said = round.replies.iter().map(|reply| head(reply.text, MAX_REPLY_BYTES));
        let edit = |at: &usize| timeline.deeds[*at].effect();
        let revised = revising.range(round.deeds.clone()).filter_map(edit).flat_map(|edit| {
            let (old, new) = (significant_words(&edit.old_text), significant_words(&edit.new_text));
            old.symmetric_difference(&new).cloned().collect::<Vec<_>>()
        });
        let revised = revised.collect();
        Self { text: texts.chain(said).collect::<Vec<_>>().join(" ").to_lowercase(), files, revised }
    }

    /// Returns true if what a clause names was changed.
    fn shows(&self, clause: &str) -> bool {
        let mut words = significant_words(clause);
        words.retain(|word| word.len() >= TELLING_BYTES);
        let shown = words.iter().filter(|word| self.text.contains(word.as_str())).count();
        shown > 1 || shown * 2 >= words.len().max(1)
    }

    /// Returns true if what a clause names was written or taken out in place of earlier words of the session.
    fn revises(&self, clause: &str) -> bool {
        !self.revised.is_disjoint(&significant_words(clause))
    }

    /// Returns in which file the change was made, if it is one that the clause does not name.
    pub(super) fn place(&self, clause: &str) -> String {
        let mut files = self.files.iter().filter(|file| !clause.contains(file.as_str()));
        match (files.next(), self.files.len()) {
            (Some(file), 1) => format!(" (`{file}`)"),
            _ => String::new(),
        }
    }
}

/// Returns the index of the first call that changes more than documents.
pub(super) fn first_change(timeline: &Timeline<'_>) -> Option<usize> {
    timeline.deeds.iter().position(|deed| changes(timeline, deed))
}

fn changes(timeline: &Timeline<'_>, deed: &Deed<'_>) -> bool {
    deed.succeeded() && deed.edit().is_some_and(|(path, ..)| !file::is_document(timeline.relative_path(path)))
}

/// Returns the indices of the edits that replace lines which the session wrote for an earlier prompt.
pub(super) fn revising(timeline: &Timeline<'_>) -> BTreeSet<usize> {
    fn telling(text: &str) -> impl Iterator<Item = &str> {
        let is_telling =
            |line: &&str| line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).count() > 1;
        text.lines().map(str::trim).filter(is_telling)
    }
    let mut written: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut found = BTreeSet::new();
    for round in &timeline.rounds {
        let edit = |at: usize| timeline.deeds[at].effect().filter(|_| timeline.deeds[at].succeeded());
        let edits = || round.deeds.clone().filter_map(|at| Some((at, edit(at)?)));
        let replaces = |edit: &Edit| {
            written.get(&*edit.path).is_some_and(|lines| telling(&edit.old_text).any(|line| lines.contains(line)))
        };
        found.extend(edits().filter(|(_, edit)| replaces(edit)).map(|(at, _)| at));
        edits().for_each(|(_, edit)| written.entry(&*edit.path).or_default().extend(telling(&edit.new_text)));
    }
    found
}

/// Strips what [`Refined::place`] adds to a person's words.
pub(super) fn without_place(text: &str) -> &str {
    let place = text.strip_suffix("`)").and_then(|text| text.rsplit_once(" (`")).filter(|_| text.starts_with("User: "));
    place.map_or(text, |(said, _)| said)
}

/// Returns how a clause of a person tells which way something shall be done, if it does. A question does if it proposes
/// something that the agent then did.
pub(super) fn steering(clause: &str, received: &Reception) -> Option<Steering> {
    let own = own_words(clause);
    let signs = Signs::read(&own);
    let rest = without_assent(&own);
    let rest_signs = Signs::read(rest);
    if is_idle(rest) {
        return None;
    }
    let says_little = rest.split_whitespace().count() < MIN_WORDS && rest.is_ascii();
    let begins = rest_signs.begins(Sign::Steer) || signs.begins(Sign::Steer);
    if says_little || signs.has(Sign::Later) || rest_signs.begins(Sign::Order) && !signs.has(Sign::Contrast) {
        return None;
    }
    // `instead` alone may tell of the trouble.
    let without = Signs::read(&own.replace("instead", ""));
    let tells = without.has_any(&[Sign::Direct, Sign::Steer]) || signs.asks() && without.has(Sign::Suggest);
    if signs.asks() {
        let proposes = signs.has(Sign::Suggest) && !signs.has(Sign::Request);
        let is_taken = received.agreed && (proposes || signs.has(Sign::Steer))
            || received.in_work && signs.has(Sign::Contrast) && tells && !signs.begins(Sign::Question);
        return (is_taken && !signs.has(Sign::Trouble)).then_some(Steering::Told);
    }
    if !received.in_work || signs.has(Sign::Trouble) && !begins {
        return None;
    }
    let contrasts = signs.has(Sign::Contrast) && (tells || signs.has(Sign::Reason) || signs.begins(Sign::Object));
    let directs = signs.has(Sign::Direct) || orders(rest).any(|part| Signs::read(&part).begins(Sign::Direct));
    // A wish for this answer only is no choice.
    let holds = !received.only_asked || received.asked || contrasts || signs.has(Sign::Standing);
    let is_taken = received.agreed || received.asked;
    if !holds {
        return None;
    }
    if begins || signs.has(Sign::Steer) || contrasts || forbids(rest) || signs.has(Sign::Direct) && is_taken {
        return Some(Steering::Told);
    }
    // A request to change words that were written chooses the new ones, in any language.
    let tells_else = || {
        let of_trouble = [Sign::Trouble, Sign::Defect, Sign::Absent, Sign::Setback, Sign::Works];
        signs.has_any(&of_trouble)
            || [Sign::Request, Sign::Question, Sign::Speaker].iter().any(|sign| rest_signs.begins(*sign))
    };
    let revises = received.is_short && received.refined.revises(rest) && !tells_else();
    let checks =
        || orders(rest).any(|part| [Sign::Look, Sign::Order].iter().any(|sign| Signs::read(&part).begins(*sign)));
    ((directs || revises) && received.refined.shows(rest) && !checks()).then_some(Steering::Refining)
}

/// Returns true if a clause goes on with what is not to be done: `write the message but don't commit it`.
fn forbids(clause: &str) -> bool {
    orders(clause).any(|part| NEGATIONS.iter().any(|word| part.starts_with(word)) && !is_idle(&part))
}

/// Returns the parts of a clause of which each may be an order, in lower case.
fn orders(clause: &str) -> impl Iterator<Item = String> {
    let parts = clause.split([',', ';']).flat_map(|part| part.split(" but ")).flat_map(|part| part.split(" and "));
    parts.map(|part| part.trim().to_lowercase())
}

/// Strips agreement and objection before the clause: `yes please, and let's make it simple`, `no, use a cookie`.
pub(super) fn without_assent(text: &str) -> &str {
    let mut rest = text.trim_start();
    for _ in 0..4 {
        let word = rest.split([' ', ',']).next().unwrap_or_default();
        let lower = word.to_lowercase();
        if word.is_empty()
            || !(matches!(lower.as_str(), "please" | "and" | "but" | "so" | "then" | "fine" | "also")
                || Signs::read(&lower).begins(Sign::Assent)
                || rest[word.len()..].starts_with(',') && Signs::read(&lower).begins(Sign::Object))
        {
            break;
        }
        rest = rest[word.len()..].trim_start_matches([' ', ',', '.', '!']);
    }
    rest
}
