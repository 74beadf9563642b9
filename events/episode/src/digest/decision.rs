//! Decisions: the choices of an approved plan, answers to questions with options, what a person tells about the how, and the
//! choices that the agent states in a conclusion or before a change.
//!
//! Who says a thing, when, and what follows decide first, its words last. A plan decides if it was carried out; a person by
//! picking, by telling which way, or by asking for a change of work that was done, not by asking for work; the agent where a
//! change follows or has been made. A later objection, a refusal or another choice of the same matter supersedes a decision;
//! it is kept apart. Pasted text, questions, quotations and what is said of tests decide nothing.

mod told_once;

use std::collections::{BTreeMap, BTreeSet};

use self::told_once::{TELLING_WORDS, tells_the_same, told_last, without_templates};

use super::agent_choice::{self, Found, is_change, pointed};
use super::commit_choice;
use super::excerpt::{head, one_line, without_filter_mark};
use super::plan::{self, Done, Plan};
use super::question::{self, named_option};
use super::repetition::{SeenTexts, significant_words, without_repetitions};
use super::request::{before_log, without_politeness};
use super::sentence::{asks, clauses, plain, sentences};
use super::settled::{PRONOUNS, Settled, settled};
use super::stated::{is_left_to_the_reader, proposes};
use super::steering::{self, Reception, Refined, Steering, without_assent};
use super::timeline::{Answer, Deed, Message, Round, Timeline};
use super::undone::parts;
use super::{DECISION_CHARS, MAX_ENTRIES, Pointed, SHORT_CHARS, fallen, without_salutation};
use crate::lexicon::{Sign, Signs};
use baton_conversation::item::{Act, Outcome};
use baton_conversation::quoted_text::own_words;

/// Maximum length of a question before an answer, in characters.
const QUESTION_CHARS: usize = 120;
/// With what it points to.
const LED_QUESTION_CHARS: usize = 160;
/// A longer prompt is a description or pasted text, and does not tell how, in bytes.
const MAX_STEERING_BYTES: usize = 1_500;
/// Number of last sentences of a reply in which the question that the next prompt answers is looked for.
const LAST_SENTENCES: usize = 3;
/// Number of last replies in which the option that a prompt names is looked for.
const OPTION_ROUNDS: usize = 3;
/// Maximum number of lines of a short prompt.
const SHORT_LINES: usize = 3;
/// Words before what is to be used.
const USING: [&str; 6] = ["use", "using", "with", "in", "to", "mit"];
/// A word of fewer bytes names nothing.
const NAMING_BYTES: usize = 6;
/// A word of fewer bytes says nothing of what is asked.
const TELLING_BYTES: usize = 5;

/// What was decided.
#[derive(Default)]
pub(super) struct Decisions {
    /// What holds at the end.
    pub(super) in_force: Vec<Pointed>,
    /// What was decided and then overruled.
    pub(super) superseded: Vec<Pointed>,
    /// What overruled it, by its line and text.
    pub(super) overruled_by: BTreeMap<(u64, String), Pointed>,
}

/// What a session changes.
struct Work {
    /// It changes something, sooner or later.
    changes: bool,
    /// Place of the last change.
    last_change: Option<usize>,
    /// See [`steering::first_change`].
    first_change: Option<usize>,
    /// See [`steering::revising`].
    revising: BTreeSet<usize>,
}

/// Returns all decisions in transcript order without repetitions.
pub(super) fn decisions(timeline: &Timeline<'_>) -> Decisions {
    let mut found: Vec<Found> = Vec::new();
    let last_change = timeline.deeds.iter().rfind(|deed| is_change(deed)).map(|deed| deed.began);
    let first_change = steering::first_change(timeline).filter(|_| last_change.is_some());
    let work =
        Work { changes: last_change.is_some(), last_change, first_change, revising: steering::revising(timeline) };
    let mut before: Option<&Round<'_>> = None;
    for (index, round) in timeline.rounds.iter().enumerate() {
        let said = round.prompt.as_ref().map(|prompt| of_prompt(timeline, (index, round), prompt, before, &work));
        if !round.replies.is_empty() || !round.deeds.is_empty() {
            before = Some(round);
        }
        let chosen = agent_choice::stated_choices(timeline, round, timeline.rounds.get(index + 1));
        // The agent's answer to a question words the choice better.
        let first = round.replies.first().map(|reply| reply.place);
        let answered = chosen.iter().filter(|chosen| Some(chosen.place) == first);
        let is_asked = |said: &Found| answered.clone().any(|answer| answers(&said.said.text, &answer.said.text));
        found.extend(said.into_iter().flatten().filter(|said| !is_asked(said)));
        found.extend(chosen);
    }
    without_templates(&mut found);
    found.extend(timeline.answers.iter().flat_map(|answer| answered(timeline, answer)));
    found.extend(commit_choice::overrides(timeline));
    found.extend(commit_choice::limited_commit(timeline));
    found.extend(commit_choice::deletions_before_commit(timeline));
    let plans = plan::approved(timeline);
    let done = if plans.is_empty() { Done::default() } else { Done::read(timeline) };
    for plan in &plans {
        let is_carried_out = last_change.is_some_and(|change| change > plan.place);
        let said = |text: String| Pointed { text: one_line(&text, DECISION_CHARS), line: plan.line, at: plan.at };
        let choices = if is_carried_out { plan.choices(&done) } else { Vec::new() };
        found.extend(choices.into_iter().map(|text| Found { place: plan.place, said: said(text), by_person: false }));
    }
    if work.changes && found.iter().all(|found| commit_choice::is_commit_scope(&found.said.text)) {
        found.extend(agent_choice::only_change(timeline));
    }
    found.sort_by_key(|found| found.place);
    let ended = ended(timeline, &plans, &found);
    let (mut superseded, in_force): (Vec<_>, Vec<_>) =
        found.into_iter().enumerate().partition(|(at, _)| ended.contains_key(at));
    // A decision that is asked for again later is not listed as overruled.
    let again = asked_for(timeline);
    let is_back = |found: &Found, by: &Pointed| {
        let chosen = settled(&found.said.text).chosen;
        chosen.and_then(|chosen| again.get(&chosen)).is_some_and(|line| *line > by.line)
    };
    superseded.retain(|(at, found)| ended.get(at).and_then(Option::as_ref).is_some_and(|by| !is_back(found, by)));
    let key = |said: &Pointed| (said.line, said.text.clone());
    let overruled_by =
        superseded.iter().filter_map(|(at, found)| Some((key(&found.said), ended.get(at)?.clone()?))).collect();
    let list = |found: Vec<(usize, Found)>| {
        let once = told_last(found.into_iter().map(|(_, found)| found).collect());
        let (persons, agents): (Vec<Found>, Vec<Found>) = once.into_iter().partition(|found| found.by_person);
        let mut said = SeenTexts::default();
        persons.iter().for_each(|found| _ = said.is_new(&found.said.text));
        let mut list = without_repetitions(agents.into_iter().map(|found| (found.place, found.said)).collect(), said);
        list.extend(persons.into_iter().map(|found| found.said));
        list.sort_by_key(|said| said.line);
        super::keep(&mut list, MAX_ENTRIES, |_| true);
        list
    };
    Decisions { in_force: list(in_force), superseded: list(superseded), overruled_by }
}

/// Returns what prompts ask to be used, in lower case, each with the line of the last one: `rewrite it in python`.
fn asked_for(timeline: &Timeline<'_>) -> BTreeMap<String, u64> {
    let mut asked = BTreeMap::new();
    for said in timeline.rounds.iter().filter_map(|round| round.prompt) {
        let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        let words: Vec<String> = head(said.text, MAX_STEERING_BYTES).split_whitespace().map(bare).collect();
        let used = words.windows(2).filter(|pair| USING.contains(&pair[0].as_str()));
        asked.extend(used.map(|pair| (pair[1].clone(), said.line)));
    }
    asked
}

/// Returns true if the agent's words are about what a question proposes.
fn answers(question: &str, said: &str) -> bool {
    let names = |text: &str| significant_words(text).into_iter().filter(|word| word.len() >= NAMING_BYTES).collect();
    let (asked, said): (BTreeSet<String>, BTreeSet<String>) = (names(question), names(said));
    question.ends_with('?') && !asked.is_disjoint(&said)
}

/// Returns true if a prompt that objects also says what is wanted: a complaint alone overrules nothing.
fn chooses(text: &str) -> bool {
    clauses(text).flat_map(|clause| clause.split([',', ';', '—'])).any(|clause| {
        let signs = Signs::read(without_assent(clause));
        signs.has_any(&[Sign::Direct, Sign::Steer, Sign::Contrast, Sign::Suggest, Sign::Revert, Sign::Keep])
    })
}

/// Returns what a prompt decides.
fn of_prompt(
    timeline: &Timeline<'_>,
    (index, round): (usize, &Round<'_>),
    prompt: &Message<'_>,
    before: Option<&Round<'_>>,
    work: &Work,
) -> Vec<Found> {
    let found = |text: String| Found { place: prompt.place, said: pointed(&text, prompt), by_person: true };
    if work.changes && plan::pasted_plan(prompt.text).is_none() {
        let listed = plan::listed_decisions(prompt.text);
        if !listed.is_empty() {
            return listed.into_iter().map(|text| found(format!("User: {text}"))).collect();
        }
    }
    let own = before_log(prompt.text);
    if own.len() > MAX_STEERING_BYTES
        || plan::pasted_plan(prompt.text).is_some()
        || super::is_for_the_harness(prompt.text.trim())
    {
        return Vec::new();
    }
    let clauses: Vec<&str> = clauses(own).collect();
    let Some(before) = before else {
        // Everything else in the first prompt is the purpose of the session.
        let reasoned = clauses.into_iter().filter(|clause| {
            let signs = Signs::read(&own_words(clause));
            let tells = signs.has(Sign::Reason) || work.changes && signs.has(Sign::Steer);
            signs.has(Sign::Contrast) && tells && !signs.asks() && !signs.has(Sign::Trouble)
        });
        return reasoned.map(|clause| found(format!("User: {}", plain(clause)))).collect();
    };
    // A person who stops a plan says what to do with it.
    let last = timeline.deeds.get(before.deeds.clone()).and_then(|deeds| deeds.iter().rfind(|deed| !deed.aside));
    let stops_plan = round.after_interruption && last.is_some_and(|deed| plan::is_presented(deed) && !deed.succeeded());
    if stops_plan && !asks(own) && significant_words(own).len() >= TELLING_WORDS {
        return vec![found(format!("User on the plan: {own}"))];
    }
    if let Some(chosen) = picked(prompt, &timeline.rounds[..index]).or_else(|| chosen(prompt, before)) {
        return vec![found(chosen)];
    }
    let reply = round.replies.first();
    let agreed = reply.is_some_and(|reply| Signs::read(reply.text).begins(Sign::Assent));
    let works = |round: &Round<'_>| {
        let plans = |deed: &Deed<'_>| plan::is_presented(deed);
        agent_choice::has_worked(timeline, round) || timeline.deeds[round.deeds.clone()].iter().any(plans)
    };
    let received = Reception {
        in_work: work.changes,
        only_asked: asks(own) && !works(round) && work.last_change.is_none_or(|place| place < prompt.place),
        is_short: prompt.text.trim().lines().count() <= SHORT_LINES,
        asked: before.replies.last().is_some_and(|reply| question::asks_several(reply.text)),
        agreed: agreed && agent_choice::has_worked(timeline, round),
        refined: Refined::read(timeline, round, work.first_change, &work.revising),
    };
    let steering: Vec<(&str, Steering)> =
        clauses.iter().filter_map(|clause| Some((*clause, steering::steering(clause, &received)?))).collect();
    let objects = |clause: &&str| Signs::read(clause).begins(Sign::Object);
    if steering.is_empty() && round.after_interruption && clauses.first().is_some_and(objects) {
        let short = prompt.text.len() <= DECISION_CHARS
            && !asks(prompt.text)
            && clauses.iter().any(|clause| significant_words(clause).len() >= 2);
        return if short { vec![found(format!("User: {}", prompt.text))] } else { Vec::new() };
    }
    let told = |(clause, how): (&str, Steering)| {
        if how == Steering::Refining {
            let said = plain(clause).trim_end_matches([' ', '.', ':']).to_owned();
            return format!("User: {said}{}", received.refined.place(clause));
        }
        let signs = Signs::read(clause);
        let orders = signs.has(Sign::Contrast) || signs.has(Sign::Direct) && !signs.has(Sign::Suggest);
        let answer = reply.filter(|_| signs.asks() && !orders).map(|reply| answer(clause, reply)).unwrap_or_default();
        format!("User: {}{answer}", plain(clause))
    };
    steering.into_iter().map(told).map(found).collect()
}

/// Returns the first words of an agreeing reply that are about the question.
fn answer(question: &str, reply: &Message<'_>) -> String {
    let mut asked = significant_words(question);
    asked.retain(|word| word.len() >= TELLING_BYTES);
    let is_about = |text: &str| !asked.is_disjoint(&significant_words(text));
    let all = sentences(reply.text);
    let said = all.iter().take(LAST_SENTENCES).find(|said| !said.quoted && is_about(said.text));
    said.map_or_else(
        || " (agreed)".to_owned(),
        |said| format!(" Agent: {}", plain(said.text).trim_end_matches([':', '：'])),
    )
}

/// Returns the option of one of the last lists that a short prompt names by its label.
fn picked(prompt: &Message<'_>, earlier: &[Round<'_>]) -> Option<String> {
    let signs = Signs::read(without_assent(prompt.text));
    if prompt.text.len() > DECISION_CHARS || asks(prompt.text) || signs.begins(Sign::Look) {
        return None;
    }
    let replies = earlier.iter().rev().filter_map(|round| round.replies.last()).take(OPTION_ROUNDS);
    let mut options = replies.enumerate().filter_map(|(back, reply)| named_option(reply.text, prompt.text, back > 0));
    let option = sentences(options.next()?).into_iter().next().map(|first| plain(first.text))?;
    // `1. Should I look into it?` offers work.
    if asks(&option) {
        return None;
    }
    Some(format!("User: {} ({option})", prompt.text))
}

/// Returns what a short prompt answers to the agent's last question, or chooses by naming again what the agent offered: `ok,
/// the small one then`.
fn chosen(prompt: &Message<'_>, before: &Round<'_>) -> Option<String> {
    let orders = Signs::read(without_assent(prompt.text)).begins(Sign::Order);
    // A request for something else is no answer.
    let requests = without_politeness(prompt.text).len() < without_salutation(prompt.text).len();
    if prompt.text.len() > DECISION_CHARS || orders || requests || asks(prompt.text) {
        return None;
    }
    let reply = before.replies.last()?;
    let all = sentences(reply.text);
    let agreed = clauses(prompt.text).next().filter(|first| Signs::read(first).begins(Sign::Assent));
    let named = agreed.map(significant_words).unwrap_or_default();
    let names = |sentence: &str| !named.is_disjoint(&significant_words(sentence));
    // A question in brackets explains an option.
    let is_whole = |text: &&str| text.matches('(').count() == text.matches(')').count();
    let texts = || all.iter().rev().map(|sentence| sentence.text).filter(is_whole);
    // Otherwise the person goes on with something else.
    let said = significant_words(prompt.text);
    let answers = Signs::read(prompt.text);
    let picks_up = [Sign::Assent, Sign::Steer, Sign::Object].iter().any(|sign| answers.begins(*sign))
        || answers.has(Sign::Hedge)
        || texts().take(LAST_SENTENCES).any(|sentence| !said.is_disjoint(&significant_words(sentence)));
    let agrees = question::only_agrees(prompt.text);
    let is_answered = |sentence: &str| {
        is_left_to_the_reader(sentence) && picks_up
            || agrees && question::proposes_way(sentence)
            || Signs::read(sentence).asks() && names(sentence)
    };
    let question = texts().take(LAST_SENTENCES).find(|sentence| is_answered(sentence));
    let question = question.or_else(|| texts().find(|sentence| proposes(sentence) && names(sentence)));
    let question = one_line(&question.map(plain)?, QUESTION_CHARS);
    Some(format!("{question} User: {}", prompt.text))
}

/// Returns what a person said to a tool: answers with their questions, a refusal with its reason.
fn answered(timeline: &Timeline<'_>, answer: &Answer<'_>) -> Vec<Found> {
    let said = &answer.said;
    let found = |text: &str| Found { place: said.place, said: pointed(text, said), by_person: true };
    let deed = answer.deed.and_then(|index| timeline.deeds.get(index));
    let whole = |before: &str| {
        let text = question::without_frame(said.text);
        if text.is_empty() { Vec::new() } else { vec![found(&format!("{before}{text}"))] }
    };
    if deed.is_some_and(|deed| deed.outcome() == Some(Outcome::Denied) && deed.act() != Act::Ask) {
        if asks(said.text) {
            return Vec::new();
        }
        // Something to do before a commit does not speak against it.
        if deed.is_some_and(|deed| deed.call.is_some_and(|call| call.commit.is_some())) {
            return whole("User: ");
        }
        let what = deed.map(|deed| refused(timeline, deed)).unwrap_or_default();
        return whole(&format!("User refused {what}: "));
    }
    let pairs = question::questions_with_answers(said.text);
    if pairs.is_empty() {
        return whole("User: ");
    }
    let pairs = pairs.into_iter().filter(|(_, answer)| !answer.is_empty() && !question::reports(deed, answer));
    pairs.map(|(question, answer)| found(&format!("{} User: {answer}", asked(question)))).collect()
}

/// Returns what a question asks, without what leads to it unless it points there: `May I remove this directory?`
fn asked(question: &str) -> String {
    let sentences = sentences(question);
    let Some(at) = sentences.iter().rposition(|sentence| asks(sentence.text)) else {
        return one_line(question, QUESTION_CHARS);
    };
    let alone = sentences[at].text;
    let led = sentences[at.saturating_sub(1)..=at].iter().map(|sentence| sentence.text).collect::<Vec<_>>().join(" ");
    let points = alone.split(|c: char| !c.is_alphanumeric()).any(|word| PRONOUNS.contains(&&*word.to_lowercase()));
    match points && led.chars().count() <= LED_QUESTION_CHARS {
        true => one_line(&led, LED_QUESTION_CHARS),
        false => one_line(alone, QUESTION_CHARS),
    }
}

/// Returns what a person refused.
fn refused(timeline: &Timeline<'_>, deed: &Deed<'_>) -> String {
    if plan::is_presented(deed) {
        return "the plan".to_owned();
    }
    let what = deed.command().or_else(|| deed.target().map(|target| timeline.relative_path(target)));
    let what = what.map(|what| one_line(&without_filter_mark(what), SHORT_CHARS));
    match what {
        Some(what) if deed.command().is_some() => format!("`{what}`"),
        Some(what) => format!("{} {what}", deed.tool()),
        None => deed.tool().to_owned(),
    }
}

/// Returns the indices of decisions that something later ended, each with what did: a person's objection to what the agent
/// decided for the prompt before, one after which it was undone (`None` if in part), or a choice that replaces the earlier one.
fn ended(timeline: &Timeline<'_>, plans: &[Plan<'_>], found: &[Found]) -> BTreeMap<usize, Option<Pointed>> {
    let matter: Vec<BTreeSet<String>> = found.iter().map(|found| significant_words(&found.said.text)).collect();
    let settled: Vec<Settled> = found.iter().map(|found| settled(&found.said.text)).collect();
    let mut ended = BTreeMap::new();
    for pair in timeline.rounds.windows(2) {
        let [before, after] = pair else { continue };
        let Some(prompt) = &after.prompt else { continue };
        let Some(first) = clauses(prompt.text).next() else { continue };
        if prompt.text.len() > MAX_STEERING_BYTES || !Signs::read(first).begins(Sign::Object) {
            continue;
        }
        let other = super::settled::settled(prompt.text).chosen;
        if other.is_none() && !chooses(prompt.text) {
            continue;
        }
        let begins = before.prompt.as_ref().map_or(0, |prompt| prompt.place);
        let objection = significant_words(prompt.text);
        let from = found.partition_point(|earlier| earlier.place < begins);
        let until = found.partition_point(|earlier| earlier.place < prompt.place);
        let shared = |at: usize, words: &BTreeSet<String>| matter[at].intersection(words).count();
        // `I've reverted your changes` names none and means all; what is wanted instead follows it.
        let reverting = parts(first).find(|part| Signs::read(part).has(Sign::Revert)).map(significant_words);
        let means_all = reverting.is_some_and(|words| (from..until).all(|at| shared(at, &words) < 2));
        let later = found.partition_point(|later| later.place <= prompt.place);
        let is_restated = |at: usize| {
            (later..found.len().min(later + MAX_ENTRIES)).any(|again| tells_the_same(&matter[at], &matter[again]))
        };
        // Parts of a plan that the objection names are still to be done.
        let is_kept = |found: &Found| {
            let mut plans = plans.iter().filter(|plan| plan.place == found.place);
            plans.any(|plan| plan.is_named(&found.said.text, &objection))
        };
        let is_overruled = |at: &usize| {
            !found[*at].by_person
                && (means_all && !is_kept(&found[*at])
                    || shared(*at, &objection) >= 2 && !is_restated(*at) && !means_all)
        };
        let by = pointed(&format!("User: {}", prompt.text), prompt);
        ended.extend((from..until).filter(is_overruled).map(|at| (at, Some(by.clone()))));
        // `No, use SQLite` is against the only thing that was chosen.
        let chosen = |at: &usize| settled[*at].chosen.as_ref();
        let names: BTreeSet<&String> = (from..until).filter_map(|at| chosen(&at)).collect();
        if names.len() == 1 && other.is_some_and(|other| !names.contains(&other)) {
            ended.extend((from..until).filter(|at| chosen(at).is_some()).map(|at| (at, Some(by.clone()))));
        }
    }
    for (at, place) in fallen::undone_decisions(timeline, found) {
        let prompts = timeline.rounds.iter().filter_map(|round| round.prompt);
        let prompt = place.and_then(|place| prompts.rev().find(|said| said.place < place));
        ended.entry(at).or_insert_with(|| prompt.map(|it| pointed(&format!("User: {}", it.text), &it)));
    }
    for at in fallen::refuted(timeline, found).chain(taken_back(timeline, found)) {
        ended.entry(at).or_insert(None);
    }
    for (at, later) in settled.iter().enumerate() {
        // Only so many are kept in the end.
        let from = at.saturating_sub(MAX_ENTRIES);
        let is_replaced = |before: &usize| found[*before].place < found[at].place && later.replaces(&settled[*before]);
        ended.extend((from..at).filter(is_replaced).map(|before| (before, Some(found[at].said.clone()))));
    }
    ended
}

/// Returns the indices of the agent's choices in rounds whose edits were all taken back.
fn taken_back<'f>(timeline: &'f Timeline<'_>, found: &'f [Found]) -> impl Iterator<Item = usize> + 'f {
    let is_gone = |round: &&Round<'_>| {
        let is_edit = |at: &usize| timeline.deeds[*at].succeeded() && timeline.deeds[*at].edit().is_some();
        let mut edits = round.deeds.clone().filter(is_edit).peekable();
        edits.peek().is_some() && edits.all(|at| timeline.undone.edits.contains(&at))
    };
    let gone = timeline.rounds.iter().filter(is_gone);
    let replies: BTreeSet<usize> = gone.flat_map(|round| &round.replies).map(|reply| reply.place).collect();
    // A decision to leave something as it was is the result of taking it back.
    let stays = |found: &Found| Signs::read(&found.said.text).has_any(&[Sign::Keep, Sign::Revert]);
    let own = found.iter().enumerate().filter(|(_, found)| !found.by_person);
    own.filter(move |(_, found)| replies.contains(&found.place) && !stays(found)).map(|(at, _)| at)
}
