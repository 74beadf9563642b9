//! Approved plans: what they decide.

mod reported;
mod unapproved;

pub(super) use self::unapproved::unapproved;

use std::borrow::Cow;
use std::collections::BTreeSet;

use self::reported::Reported;
use super::DECISION_CHARS;
use super::excerpt::{one_line, without_filter_mark};
use super::label::without_brackets;
use super::repetition::significant_words;
use super::sentence::{Sentence, list_marker, plain, sentences};
use super::stated::{MIN_WORDS, concludes_choice, limits, names_test, plans_choice};
use super::substitution::Substitutions;
use super::timeline::{Deed, Timeline};
use crate::lexicon::{Sign, Signs};
use baton_conversation::item::Act;
use baton_conversation::quoted_text::own_words;
use baton_conversation::record::Timestamp;

/// Maximum number of choices from a list of decisions, and from the other sentences of a plan.
const MAX_LISTED: usize = 12;
const MAX_OF_SENTENCES: usize = 4;
/// A longer list, or one of which fewer items may be choices, is a list of steps.
const MAX_OF_LIST: usize = 6;
const MIN_CHOICES: usize = 2;
/// Words before the file that an item is about: `New file: src/a.rs`.
const WORDS_BEFORE: usize = 2;
/// A plan tells new parts up to so many choices in all.
const MAX_PARTS: usize = 4;
/// Fewest words of prose that say what a part does, and bytes of its name.
const MIN_PROSE: usize = 7;
const MIN_NAME_BYTES: usize = 6;
/// Fewest words by which a heading is named.
const MIN_NAMING: usize = 2;

/// A plan that a person approved, or gave to be carried out.
pub(super) struct Plan<'a> {
    pub(super) text: Cow<'a, str>,
    /// Place, line and time of the approval.
    pub(super) place: usize,
    pub(super) line: u64,
    pub(super) at: Option<Timestamp>,
}

/// A part of a plan.
struct Section<'a> {
    /// Without marks and numbers; empty before the first heading.
    heading: &'a str,
    /// Number of its marks; a part belongs to the one before it with fewer.
    level: usize,
    text: &'a str,
    /// What its heading says it is.
    kind: Kind,
}

/// What the heading of a part says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Decisions.
    Decisions,
    /// How something is going to be done.
    Approach,
    /// What stays as it is, or is left out.
    Limits,
    /// What is the case so far, tests, benefits.
    Aside,
    /// One step of the work: it has a number, or names a file.
    Step,
    /// Anything else.
    Other,
}

/// Returns the approved plans of a session in transcript order, as far as calls record them.
pub(super) fn approved<'a>(timeline: &Timeline<'a>) -> Vec<Plan<'a>> {
    let prompts = timeline.rounds.iter().filter_map(|round| round.prompt.as_ref());
    let given = prompts.filter_map(|said| {
        Some(Plan { text: pasted_plan(said.text)?.into(), place: said.place, line: said.line, at: said.at })
    });
    let presented = timeline.deeds.iter().filter(|deed| is_presented(deed) && deed.succeeded() && !deed.aside);
    let presented = presented.map(|deed| Plan {
        text: text(deed).unwrap_or_default(),
        place: deed.ended,
        line: deed.result_line,
        at: deed.result_at,
    });
    let mut plans: Vec<Plan<'a>> = given.chain(presented).collect();
    plans.sort_by_key(|plan| plan.place);
    plans
}

/// Returns the plan that a prompt pastes to have it carried out.
pub(super) fn pasted_plan(prompt: &str) -> Option<&str> {
    let text = prompt.trim_start();
    let (first, rest) = text.split_once('\n')?;
    let first = first.to_lowercase();
    let introduced = first.contains("plan") && first.trim_end().ends_with(':');
    let headed = text.starts_with("# ") && first.contains("plan");
    if headed {
        return Some(text);
    }
    introduced.then_some(rest.trim_start()).filter(|plan| plan.starts_with('#'))
}

/// Returns what a prompt that is no plan lists below a heading of decisions.
pub(super) fn listed_decisions(prompt: &str) -> Vec<String> {
    let decided = sections(prompt).into_iter().filter(|section| section.kind == Kind::Decisions);
    decided.flat_map(|section| section.items()).take(MAX_LISTED).map(plain).collect()
}

/// Returns true if a call presents a plan, unlike one that only begins planning.
pub(super) fn is_presented(deed: &Deed<'_>) -> bool {
    text(deed).is_some()
}

/// Returns the plan that a call presents; of an untyped call only its beginning.
fn text<'a>(deed: &Deed<'a>) -> Option<Cow<'a, str>> {
    let call = deed.call.filter(|call| call.act == Act::Plan)?;
    let begin = || deed.input("plan").map(|plan| without_filter_mark(plan).into());
    call.plan.as_deref().map(Cow::Borrowed).or_else(begin)
}

impl Plan<'_> {
    /// Returns the parts whose headings announce how the work is to be checked.
    pub(super) fn checks(&self) -> impl Iterator<Item = &str> {
        let sections = sections(&self.text).into_iter();
        sections.filter(|section| Signs::read(section.heading).begins(Sign::CheckHead)).map(|section| section.text)
    }

    /// Returns true if what it decides stands below a heading of which some words name at least half.
    pub(super) fn is_named(&self, choice: &str, words: &BTreeSet<String>) -> bool {
        let names = |heading: &str| {
            let own = significant_words(heading);
            let named = own.intersection(words).count();
            named >= MIN_NAMING && named * 2 >= own.len()
        };
        let mut above: Vec<(usize, bool)> = Vec::new();
        sections(&self.text).into_iter().any(|section| {
            above.retain(|(level, _)| *level < section.level);
            above.push((section.level, names(section.heading)));
            let tells = |text: &str| choice.starts_with(&*one_line(&plain(text), DECISION_CHARS));
            above.iter().any(|(_, is_named)| *is_named) && sentences(section.text).iter().any(|said| tells(said.text))
        })
    }

    /// Returns what the plan decides: what it names as its approach, what it leaves as it is or out, lists of which an
    /// item is a choice, and sentences that are one; and the items below a heading that announces decisions. Of the
    /// former, what the agent also concluded comes first. What the work does not show to be done needs a plain contrast
    /// or limit.
    pub(super) fn choices(&self, done: &Done<'_>) -> Vec<String> {
        let (mut listed, mut told, mut chosen, mut properties) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut parts: Vec<String> = Vec::new();
        for section in sections(&self.text) {
            let sentences = || sentences(section.text).into_iter().filter(|sentence| !sentence.quoted);
            let items = section.items();
            match section.kind {
                Kind::Decisions => listed.extend(items.into_iter().take(MAX_LISTED).map(plain)),
                Kind::Approach => {
                    let first = first_statement(sentences());
                    let more = sentences().filter(|found| plans_choice(found.text) || done.explains(found.text));
                    chosen.extend(
                        more.map(|found| plain(found.text))
                            .filter(|text| !first.as_ref().is_some_and(|first| first.starts_with(text.as_str()))),
                    );
                    told.extend(first);
                }
                Kind::Limits if !items.is_empty() && items.iter().all(|item| speaks_alone(item)) => {
                    told.extend(items.into_iter().map(plain));
                }
                Kind::Limits => told.extend(section.limits(&items)),
                Kind::Aside => chosen.extend(
                    sentences()
                        .map(|found| found.text.trim_end_matches([':', '：']))
                        .filter(|text| Signs::read(text).begins(Sign::Speaker) && plans_choice(text))
                        .map(plain),
                ),
                Kind::Other if is_list_of_choices(&items) => {
                    chosen.extend(items.into_iter().map(plain));
                }
                // Text that is written as it is.
                Kind::Step | Kind::Other if done.wrote(section.heading) => properties.extend(
                    items
                        .into_iter()
                        .filter(|item| labelled(item) && !has_lead(item) && done.concludes(item))
                        .map(plain),
                ),
                Kind::Step | Kind::Other => {
                    chosen.extend(rationale(section.text));
                    let forbids = |text: &String| text.split_once(": ").is_some_and(|(lead, _)| limits(lead));
                    chosen.extend(first_statement(sentences()).filter(forbids));
                    let own: BTreeSet<usize> = items.iter().map(|item| item.as_ptr().addr()).collect();
                    let is_own = |found: &Sentence<'_>| own.contains(&found.text.as_ptr().addr());
                    let is_limit =
                        |found: &Sentence<'_>| !found.point && Signs::read(found.text).begins(Sign::Restrict);
                    let chooses = |found: &Sentence<'_>| {
                        plans_choice(found.text)
                            || (is_own(found) || is_limit(found)) && limits_step(found.text)
                            || done.explains(found.text)
                            || limits(found.text) && done.shows(found.text)
                            || !names_test(section.heading) && done.edits.shows(found.text)
                    };
                    let labelled = items.iter().filter(|item| labelled(item) && !limits_step(item));
                    properties.extend(labelled.filter(|item| done.concludes(item)).copied().map(plain));
                    parts.extend(done.reported.step(&section).filter(|_| section.kind == Kind::Step));
                    if !names_test(section.heading) {
                        let new =
                            sentences().filter(|found| (is_own(found) || !found.point) && done.introduces(found.text));
                        parts.extend(new.map(|found| plain(found.text).trim_end_matches([':', '：']).to_owned()));
                    }
                    chosen.extend(sentences().filter(chooses).map(|found| plain(found.text)));
                }
            }
        }
        chosen.extend(properties);
        chosen.retain(|text| !done.reported.dismisses(text) && !done.declares_otherwise(text));
        chosen.sort_by_key(|text| !done.concludes(text));
        told.extend(chosen);
        told.truncate(MAX_OF_SENTENCES);
        parts.retain(|part| !told.contains(part));
        parts.truncate(MAX_PARTS.saturating_sub(told.len() + listed.len()));
        told.extend(parts);
        // If only the last item was shown, the listed items count.
        told.extend(listed);
        told
    }
}

/// What came of the plans of a session.
#[derive(Default)]
pub(super) struct Done<'a> {
    /// Words of what the agent concluded.
    concluded: BTreeSet<String>,
    /// Words of the files that were edited, and of what was written.
    written: BTreeSet<String>,
    /// Headings that were written.
    headings: BTreeSet<String>,
    edits: Substitutions<'a>,
    reported: Reported,
}

impl<'a> Done<'a> {
    pub(super) fn read(timeline: &Timeline<'a>) -> Self {
        let said = timeline.rounds.iter().filter_map(|round| round.replies.last());
        let edits = || timeline.deeds.iter().filter(|deed| deed.succeeded() && deed.edit().is_some());
        let texts = edits().flat_map(|deed| [deed.edit().map_or("", |(path, ..)| path), deed.new_text()]);
        let lines = edits().flat_map(|deed| deed.new_text().lines());
        Self {
            concluded: said.flat_map(|said| significant_words(said.text)).collect(),
            written: texts.flat_map(significant_words).collect(),
            headings: lines.filter(|line| line.starts_with('#')).map(title).collect(),
            edits: Substitutions::read(timeline, 0..timeline.deeds.len()),
            reported: Reported::read(timeline),
        }
    }

    /// Returns true if the agent concluded at least half of it.
    fn concludes(&self, text: &str) -> bool {
        let words = significant_words(text);
        words.intersection(&self.concluded).count() * 2 >= words.len().max(MIN_WORDS)
    }

    /// Returns true if a section of a plan is one of a text that was written, or has the title of one.
    fn wrote(&self, heading: &str) -> bool {
        heading.contains('"') || self.headings.contains(&title(heading))
    }

    /// Returns true if a sentence has the reason for what it says in brackets or after a dash, and the work shows it.
    fn explains(&self, text: &str) -> bool {
        self.shows(text) && gives_reason(text)
    }

    /// Returns true if a sentence asks for a new part by its name in code and says what it does, the work has it, and the
    /// agent concluded so.
    fn introduces(&self, text: &str) -> bool {
        let signs = Signs::read(text);
        let bare = without_brackets(text);
        let prose = bare
            .split('`')
            .step_by(2)
            .flat_map(str::split_whitespace)
            .filter(|word| word.contains(char::is_alphabetic));
        let name = text.split('`').nth(1).unwrap_or_default();
        let is_new = text.split('`').next().is_some_and(|before| before.split_whitespace().count() <= WORDS_BEFORE + 1);
        let is_named = name.len() >= MIN_NAME_BYTES && !name.contains([' ', '/', '.']) && self.names(name);
        signs.begins(Sign::Request) && is_new && is_named && prose.count() >= MIN_PROSE && self.shows(text)
    }

    /// Returns true if a choice begins with a declaration in code, and the work and the conclusions have no such name.
    fn declares_otherwise(&self, text: &str) -> bool {
        let code = text.strip_prefix('`').and_then(|rest| rest.split('`').next()).unwrap_or_default();
        let name = code.split_once([':', '=']).map_or("", |(name, _)| name.trim_end_matches(['?', ' ']));
        let has = |known: &BTreeSet<String>| significant_words(name).is_subset(known);
        name.len() >= MIN_NAME_BYTES && !name.contains([' ', '/', '.']) && !has(&self.written) && !has(&self.concluded)
    }

    /// Returns true if the agent named something in what it concluded.
    fn names(&self, name: &str) -> bool {
        let words = significant_words(name);
        !words.is_empty() && words.is_subset(&self.concluded) && words.is_subset(&self.written)
    }

    /// Returns true if all code that a sentence names was written, or some of it, or it names none, and the agent concluded
    /// half of what it says.
    fn shows(&self, text: &str) -> bool {
        let code: BTreeSet<String> = text.split('`').skip(1).step_by(2).flat_map(significant_words).collect();
        let is_named = !code.is_empty();
        is_named && code.is_subset(&self.written)
            || (!is_named || !code.is_disjoint(&self.written)) && self.concludes(text)
    }
}

/// Returns a heading without marks and numbers, in lower case.
fn title(heading: &str) -> String {
    heading.trim_matches(|c: char| !c.is_alphabetic()).to_lowercase()
}

impl<'a> Section<'a> {
    fn new(heading: &'a str) -> Self {
        let marks = heading.len() - heading.trim_start_matches('#').len();
        let level = if marks == 0 { usize::from(!heading.is_empty()) * usize::MAX } else { marks };
        let bare = heading.trim_start_matches('#').trim_start();
        let heading = bare.trim_start_matches(|c: char| !c.is_alphabetic());
        let signs = Signs::read(heading);
        let is_numbered = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
        let is_step = bare.split_whitespace().take(2).any(is_numbered);
        let kind = if signs.has(Sign::DecisionHead) {
            Kind::Decisions
        } else if signs.begins(Sign::ApproachHead) && !is_step {
            Kind::Approach
        } else if signs.has(Sign::Keep) || signs.begins(Sign::Restrict) {
            Kind::Limits
        } else if signs.has_any(&[Sign::AsideHead, Sign::CheckHead]) {
            Kind::Aside
        } else if is_step || heading.contains('`') || file_of(heading).is_some() {
            Kind::Step
        } else {
            Kind::Other
        };
        Self { heading, level, text: "", kind }
    }

    /// Returns its items that are neither numbered, which makes them steps, nor below another item or, unless they have a
    /// lead, a line that ends in a colon, without which they say nothing.
    fn items(&self) -> Vec<&'a str> {
        let (mut items, mut introduced, mut fenced) = (Vec::new(), false, false);
        for line in self.text.lines() {
            let bare = line.trim();
            fenced ^= bare.starts_with("```") || bare.starts_with("~~~");
            match item(line) {
                _ if fenced || bare.starts_with(['`', '~']) || bare.is_empty() || line.starts_with([' ', '\t']) => {}
                Some(_) if bare.starts_with(|c: char| c.is_ascii_digit() || c == '>') => {}
                Some(item) if !introduced || has_lead(item) => items.push(item),
                Some(_) => {}
                None => introduced = bare.trim_end_matches('*').ends_with([':', '：']),
            }
        }
        items
    }

    /// Returns what it leaves out, or a sentence of what it leaves as it is: a list of that says only how far the work goes.
    fn limits(&self, items: &[&str]) -> Option<String> {
        let signs = Signs::read(self.heading);
        let is_excluded = signs.begins(Sign::Restrict) && !signs.has_any(&[Sign::Keep, Sign::Lack]);
        let items: Vec<String> = items.iter().copied().map(plain).collect();
        let text = match items.is_empty() {
            true => first_statement(sentences(self.text).into_iter())?,
            false if is_excluded => items.join("; "),
            false => return None,
        };
        Some(format!("{}: {text}", plain(self.heading)))
    }
}

/// Returns the first sentence that is no label of a file, with the points that it introduces.
fn first_statement<'s>(mut sentences: impl Iterator<Item = Sentence<'s>>) -> Option<String> {
    let words = |text: &str| text.split('`').step_by(2).flat_map(str::split_whitespace).count();
    let is_label = |text: &str| text.contains('`') && text.is_ascii() && words(text) < MIN_WORDS;
    let first = sentences.find(|first| !is_label(first.text)).map(|first| plain(first.text))?;
    if !first.ends_with(':') {
        return Some(first);
    }
    let points: Vec<String> = sentences.take_while(|next| next.point).map(|next| plain(next.text)).collect();
    (!points.is_empty()).then(|| format!("{first} {}", points.join("; ")))
}

/// Returns true for a short list that begins with an item that has a lead, limits what is done or says what is to stay, and
/// has another one, one of them a choice.
fn is_list_of_choices(items: &[&str]) -> bool {
    let is_set = |item: &&&str| has_lead(item) || limits(item) || Signs::read(item).begins(Sign::Keep);
    items.len() <= MAX_OF_LIST
        && items.first().is_some_and(|first| is_set(&first))
        && items.iter().filter(is_set).count() >= MIN_CHOICES
        && items.iter().any(|item| limits_step(item))
}

/// Returns true if an item of a plan limits what is done or says what is to stay, and why or how far, or has a bold lead
/// and a reason or an alternative.
fn limits_step(item: &str) -> bool {
    let signs = Signs::read(&own_words(item));
    let is_led = has_lead(item);
    let is_explained = is_led || [" — ", " – ", " - ", " (", ": ", ", "].iter().any(|mark| item.contains(mark));
    let reasoned = is_led && signs.has_any(&[Sign::Reason, Sign::Keep, Sign::Contrast]) && concludes_choice(item) > 0;
    is_explained && (limits(item) || signs.begins(Sign::Keep)) || reasoned
}

/// Returns true if a sentence gives the reason of what it says in brackets or after a dash: `(no lock needed — one writer)`.
fn gives_reason(text: &str) -> bool {
    let Some((said, aside)) = text.split_once(" (").or_else(|| text.split_once(" — ")) else { return false };
    let signs = Signs::read(aside);
    let is_reason = signs.begins(Sign::Restrict) || signs.has_any(&[Sign::Reason, Sign::Keep, Sign::Contrast]);
    let tells = |text: &str| text.split_whitespace().count() >= MIN_WORDS;
    let is_idle = Signs::read(text).has_any(&[Sign::Trouble, Sign::Hedge, Sign::Cause, Sign::Later]);
    is_reason && tells(said) && tells(aside) && !is_idle
}

/// Returns true if an item begins with a label that names a property or a rule, and tells what that means: one in bold
/// before a whole sentence, or one before what is preferred.
fn labelled(item: &str) -> bool {
    let Some((label, said)) = item.split_once(": ") else { return false };
    let is_word = |c: char| c.is_alphabetic() || matches!(c, ' ' | '-' | '*');
    // `when in doubt, prefer a list`
    let prefers = || said.split(", ").skip(1).any(|clause| Signs::read(clause).begins(Sign::Steer));
    let is_label = label.chars().all(is_word) && label.split_whitespace().count() < MIN_WORDS;
    let is_sentence = said.ends_with(['.', '。']);
    is_label && said.split_whitespace().count() >= MIN_WORDS && (has_lead(item) && is_sentence || prefers())
}

/// Returns the paragraphs that say by their lead that they give the reasons.
fn rationale(text: &str) -> impl Iterator<Item = String> {
    let is_lead = |line: &&str| Signs::read(line.trim_start_matches('*')).begins(Sign::Verdict);
    text.lines().filter(is_lead).filter(|line| line.contains([':', '：'])).map(plain)
}

/// Returns true if an item below a heading of limits needs no heading.
fn speaks_alone(item: &str) -> bool {
    has_lead(item) || Signs::read(item).begins(Sign::Restrict)
}

/// Returns true if an item begins with a bold lead that is no code.
fn has_lead(item: &str) -> bool {
    let lead = item.strip_prefix("**").and_then(|rest| rest.split_once("**"));
    lead.is_some_and(|(lead, rest)| !lead.contains('`') && rest.chars().any(char::is_alphanumeric))
}

/// Returns the name of the file that an item begins with.
fn file_of(item: &str) -> Option<&str> {
    let words = item.split(|c: char| c.is_whitespace() || "`*[](),".contains(c)).filter(|word| !word.is_empty());
    let paths = words.take(WORDS_BEFORE + 1).map(|word| word.trim_end_matches([':', '.']));
    let names = paths.map(|path| path.rsplit(['/', '\\']).next().unwrap_or(path));
    let is_file = |name: &&str| {
        let extension =
            name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map_or("", |(_, extension)| extension);
        (1..=8).contains(&extension.len()) && extension.starts_with(|c: char| c.is_ascii_lowercase())
    };
    names.into_iter().find(is_file)
}

fn item(line: &str) -> Option<&str> {
    let line = line.trim();
    list_marker(line).map(|marker| line[marker..].trim()).filter(|item| !item.is_empty())
}

/// Returns true for a line in bold that stands as a heading of decisions: `**User decisions:**`.
fn announces_decisions(line: &str) -> bool {
    let label = line.strip_prefix("**").and_then(|rest| rest.trim_end_matches([':', '：']).strip_suffix("**"));
    label.is_some_and(|label| !label.contains("**") && Signs::read(label).has(Sign::DecisionHead))
}

fn sections(plan: &str) -> Vec<Section<'_>> {
    let mut found = vec![Section::new("")];
    let (mut begin, mut end) = (0, 0);
    let mut fenced = false;
    for line in plan.split_inclusive('\n') {
        let bare = line.trim();
        fenced ^= bare.starts_with("```") || bare.starts_with("~~~");
        end += line.len();
        if (bare.starts_with('#') || announces_decisions(bare)) && !fenced {
            found.push(Section::new(bare));
            begin = end;
        }
        if let Some(section) = found.last_mut() {
            section.text = &plan[begin..end];
        }
    }
    let mut filled = found.iter().enumerate().filter(|(_, section)| !section.text.trim().is_empty());
    let context = filled.next().and_then(|(first, _)| filled.next().map(|_| first));
    // The first of several says what is the case so far.
    if let Some(first) = context.filter(|first| matches!(found[*first].kind, Kind::Step | Kind::Other)) {
        found[first].kind = Kind::Aside;
    }
    found
}
