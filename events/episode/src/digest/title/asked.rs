//! The title of what was only asked for: no plan and no commit names it.

use super::super::agent_choice::has_changed;
use super::super::excerpt::head;
use super::super::exchange::conclusion;
use super::super::failure::shown_line;
use super::super::label::{
    MAX_WORDS, MIN_WORDS, capitalised, count, file_name, is_article, is_conjunction, is_joint, is_kept_whole, is_loose,
    label,
};
use super::super::outcome::chief_sentences;
use super::super::request::{
    Clause, THAT, before_log, begins_work, choose, clauses, content, has_substance, is_pointer, leading_sentences,
    only_looks, only_steers, own_sentences, without_command, without_lead,
};
use super::super::sentence::{is_decoration, plain};
use super::super::task::{Task, main_task};
use super::super::timeline::{Deed, Round, Timeline};
use super::super::{is_for_the_harness, is_greeting};
use crate::lexicon::{Sign, Signs};
use baton_words::WordList;
use std::collections::{BTreeMap, BTreeSet};

/// Words by which an agent speaks of itself before what it did.
const DOERS: [&str; 9] = ["i", "i've", "i’ve", "have", "successfully", "now", "also", "just", "we"];
/// What leads to how something shall be.
static WISHES: WordList = WordList::new(crate::WORDS, "wishes");
/// Words that begin a question within a sentence.
static QUESTIONS: WordList = WordList::new(crate::WORDS, "embedded questions");
/// What a long title can do without.
static FILLERS: WordList = WordList::new(crate::WORDS, "fillers");
/// Fewest words of substance in a title of few words.
const MIN_CONTENT: usize = 2;
/// Maximum number of words of what a pronoun stands for.
const MAX_OBJECT: usize = 3;
/// Only this much of a conclusion is read for its code spans and heading, in bytes.
const MAX_CONCLUSION_BYTES: usize = 20_000;
/// Verbs of what is done about an error.
static REPAIRING: WordList = WordList::new(crate::WORDS, "repairing verbs");
/// Only this much of a line is read for what it asks, in bytes.
const MAX_SPAN_BYTES: usize = 400;
/// Maximum number of files that a prompt mentions before what it says.
const MAX_MENTIONS: usize = 16;
/// Maximum number of code spans in a title.
const MAX_SPANS: usize = 2;

/// Returns the title of a task: what its first prompt with substance asks for, shortened to the clause that asks. Where the
/// clause only points ("fix these"), what it points to is looked for: before it in the prompt, in the output that was
/// pasted, in the files that were changed, in what the agent concluded.
pub(super) fn requested_title(timeline: &Timeline<'_>, task: &Task) -> Option<String> {
    let rounds: Vec<&Round<'_>> = task.rounds.iter().filter_map(|at| timeline.rounds.get(*at)).collect();
    // A prompt that came to nothing was typed again.
    let answered = |round: &Round<'_>| !round.replies.is_empty() || !round.deeds.is_empty();
    let telling = |round: &&&Round<'_>| has_substance(typed(round));
    // Looking first serves the work that follows.
    let works =
        |round: &&&Round<'_>| task.lines > 0 && answered(round) && telling(round) && !has_only_looked(timeline, round);
    let round = rounds.iter().find(works).or_else(|| rounds.iter().find(|round| answered(round) && telling(round)));
    let round = round.or_else(|| rounds.iter().find(telling));
    let says = |round: &&&Round<'_>| {
        let text = typed(round);
        !text.is_empty() && !is_for_the_harness(text) && !is_greeting(text)
    };
    let typed = typed(round.or_else(|| rounds.iter().find(says)).or(rounds.first())?);
    let text = with_names(typed);
    let text = text.as_str();
    // A paste from a shell is about the error in it.
    if let Some(line) = shown_line(text).filter(|_| text.starts_with(['➜', '❯'])) {
        return Some(fault(&line)).filter(|title| !title.is_empty());
    }
    let heading = text.lines().next().filter(|line| line.starts_with('#') && is_decoration(line));
    if let Some(heading) = heading.filter(|line| content(line) > 0 && (count(line) > 1 || !line.is_ascii())) {
        return Some(label(heading)).filter(|title| !title.is_empty());
    }
    // Items are parts of what the sentence above them asks for.
    let leading = leading_sentences(text);
    let looks = |clause: &Clause<'_>| Signs::read(clause.text).begins(Sign::Look);
    let acts = |clause: &Clause<'_>| clause.asks || clause.orders || clause.works || looks(clause);
    let wants = |clause: &Clause<'_>| acts(clause) && clause.content >= MIN_CONTENT;
    let is_asked = leading.iter().any(|own| clauses(own).iter().any(|one| wants(one) && !one.asks_for_pointed()));
    let own = if is_asked { leading } else { own_sentences(text) };
    let clauses: Vec<Clause<'_>> = own.iter().flat_map(|sentence| clauses(sentence)).collect();
    let is_pasted = before_log(text).len() < text.len();
    let pointing = clauses.iter().position(Clause::asks_for_pointed);
    let pointed = || {
        let at = pointing?;
        let before = antecedent(&clauses, at);
        let whole = before.as_deref().filter(|text| is_kept_whole(text)).map(label);
        whole.or_else(|| named(timeline, &rounds, clauses.get(at)?)).or(before.map(|text| label(&text)))
    };
    let shown = || quoted_line(text).or_else(|| shown_line(text)).map(|line| fault(&line));
    // `Fix it` is about the error.
    let fault = || {
        let told = shown()?;
        let points = |line: &&str| {
            REPAIRING.begins(&line.to_lowercase()) && line.split_whitespace().nth(1).is_some_and(is_pointer)
        };
        let verb = text
            .lines()
            .filter(|line| line.len() < MAX_SPAN_BYTES)
            .map(without_lead)
            .find(points)
            .and_then(|line| line.split(' ').next())
            .map(capitalised);
        Some(verb.map(|verb| format!("{verb}: {told}")).filter(|whole| count(whole) <= MAX_WORDS).unwrap_or(told))
    };
    let chosen = choose(&clauses, is_pasted).map(|clause| without_wish(clause_in_context(&own, clause)));
    // A cut clause that begins mid-phrase names nothing.
    let names = |text: &&str| {
        let mut words = text.split_whitespace();
        let (first, last) = (words.next().unwrap_or_default(), words.last().unwrap_or_default());
        // A text that ends in `with` goes on in a block.
        if is_joint(last.trim_end_matches(':')) {
            return false;
        }
        is_kept_whole(text) || !is_loose(first) || is_article(first) || Signs::read(text).begins(Sign::Question)
    };
    let title = chosen
        .filter(names)
        .filter(|text| embedded_question(text).is_none_or(is_kept_whole) || fault().is_none())
        .and_then(headline)
        .or_else(|| fault().filter(|_| is_pasted))
        .or_else(pointed)
        .or_else(|| {
            clauses
                .first()
                .filter(|first| first.content >= MIN_CONTENT && is_kept_whole(first.rest))
                .map(|first| label(first.rest))
        })
        .or_else(|| fault().filter(|_| text.contains('\n')))
        .or_else(|| rounds.iter().find_map(|round| concluded(timeline, round)))
        .or_else(|| {
            let first = || clauses.iter().find(|clause| clause.troubles).or(clauses.first()).map(|clause| clause.rest);
            chosen.or_else(first).map(label)
        })
        .unwrap_or_else(|| label(text));
    // A step or a part is one of the file that the prompt names.
    let is_part = count(&title) <= MIN_WORDS && content(&title) < MIN_CONTENT;
    let file = typed.split_whitespace().map(|word| (word, file_name(word))).find(|(word, name)| word != name);
    let title = match file {
        Some((_, file)) if is_part && !title.contains(file) => label(&format!("{title}: {file}")),
        _ => title,
    };
    Some(title).filter(|title| !title.is_empty())
}

/// Returns true if a task only asks for a look at something, or begins with which way to go.
pub(super) fn only_looked_at(timeline: &Timeline<'_>, task: &Task) -> bool {
    let rounds = task.rounds.iter().map(|at| &timeline.rounds[*at]);
    let mut asked = rounds.filter(|round| has_substance(typed(round))).peekable();
    asked.peek().is_some_and(|first| only_steers(typed(first)))
        || asked.peek().is_some() && asked.all(|round| has_only_looked(timeline, round))
}

/// Returns true if a prompt only has something looked at, and nothing was edited for it.
fn has_only_looked(timeline: &Timeline<'_>, round: &Round<'_>) -> bool {
    only_looks(typed(round)) && !has_changed(timeline, round)
}

/// Returns the title of a request: one that does not fit loses the words that it can do without. `None` if the cut leaves too
/// little of it.
fn headline(text: &str) -> Option<String> {
    if is_kept_whole(text) {
        return Some(label(text));
    }
    // The thing sought says more than the place.
    if let Some(question) = embedded_question(text).filter(|question| is_kept_whole(question)) {
        return Some(label(question));
    }
    let title = label(&without_repeated_verb(&without_fillers(text)));
    let that = || text.split(' ').find(|word| THAT.has(word)).map(|word| word.as_ptr().addr() - text.as_ptr().addr());
    match count(&title) >= MIN_WORDS {
        true => Some(title),
        // `Check that` says less than what.
        false => text[that()?..].split_once(' ').and_then(|(_, said)| headline(said)),
    }
}

/// Returns the question that a request is about: `find out why the winch hums`.
fn embedded_question(text: &str) -> Option<&str> {
    let signs = Signs::read(text);
    let looks = signs.begins(Sign::Look) || signs.begins(Sign::Order) && !begins_work(text);
    let word = text.split(' ').find(|word| QUESTIONS.has(&word.to_lowercase()))?;
    let (lead, question) = text.split_at(word.as_ptr().addr() - text.as_ptr().addr());
    let leads = looks || (1..=MIN_WORDS + 1).contains(&count(lead)) && !begins_work(lead);
    (leads && count(question) > MIN_WORDS).then_some(question)
}

/// Strips `make sure that` before what shall be, if a text does not fit with it.
fn without_wish(text: &str) -> &str {
    if is_kept_whole(text) {
        return text;
    }
    let lower = text.to_lowercase();
    let begins = |wish: &&&str| lower.strip_prefix(**wish).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric));
    let rest = WISHES.iter().find(begins).and_then(|wish| text.get(wish.len()..));
    let rest = rest.map_or(text, |rest| rest.trim_start_matches([' ', ',']));
    rest.split_once(' ').filter(|(first, _)| THAT.has(first)).map_or(rest, |(_, rest)| rest)
}

/// Strips the words that a long title can do without, outside of quotations.
fn without_fillers(text: &str) -> String {
    let mut told = format!(" {text}");
    for filler in FILLERS.iter().map(|filler| format!(" {filler} ")) {
        while let Some(at) = told.find(&filler).filter(|at| told[..*at].matches('"').count().is_multiple_of(2)) {
            told.replace_range(at..at + filler.len() - 1, "");
        }
    }
    told.trim_start().to_owned()
}

/// Returns a text with the names of things for the marks and addresses that stand for them: `#file:src/winch.rs`, and
/// `crane issue 7` for the address of an issue.
fn with_names(text: &str) -> String {
    let named = |word: &str| {
        let word = word.strip_prefix("#file:").unwrap_or(word);
        let (_, address) = word.split_once("://")?;
        let address = address.trim_end_matches(['.', ',', ')', '/']);
        let parts: Vec<&str> = address.split(['/', '?', '#']).collect();
        let at = parts.iter().position(|part| ["issues", "pull"].contains(part)).filter(|at| *at > 1)?;
        let number = parts.get(at + 1).filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()))?;
        let kind = if parts[at] == "pull" { "PR" } else { "issue" };
        let end = &word[word.find(address)? + address.len()..];
        Some(format!("{} {kind} {number}{end}", parts[at - 1]))
    };
    // If a prompt begins with files, the request follows them.
    let mut own = text;
    for _ in 0..MAX_MENTIONS {
        let is_file =
            |word: &str| word.starts_with('@') && (word.contains('.') || word.ends_with('/') || word.starts_with("@/"));
        let rest = own.split_once([' ', '\n']).filter(|(first, _)| is_file(first)).map(|(_, rest)| rest.trim_start());
        let rest = rest.filter(|rest| rest.starts_with('@') || count(head(rest, MAX_SPAN_BYTES)) >= MIN_WORDS);
        let Some(rest) = rest else { break };
        own = rest;
    }
    let words = own.split_inclusive([' ', '\n']).map(|part| {
        let word = part.trim_end_matches([' ', '\n']);
        let name = named(word).unwrap_or_else(|| word.strip_prefix("#file:").unwrap_or(word).to_owned());
        name + &part[word.len()..]
    });
    words.collect()
}

/// Strips the verb of a request where it stands a second time: `build a mast and build a jib`.
fn without_repeated_verb(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let verb = words.first().copied().unwrap_or_default();
    let repeats = |at: usize| at > 1 && is_conjunction(words[at - 1]) && words[at].eq_ignore_ascii_case(verb);
    (0..words.len()).filter(|at| !repeats(*at)).map(|at| words[at]).collect::<Vec<_>>().join(" ")
}

/// Returns the line that stands alone behind words that say that something fails, in a block or without one: `we get this
/// error:`.
fn quoted_line(text: &str) -> Option<String> {
    let is_fence = |line: &&str| line.starts_with("```");
    let mut lines = text.lines().map(str::trim).peekable();
    while let Some(lead) = lines.next() {
        if !lead.ends_with(':') || !Signs::read(lead).has(Sign::Trouble) {
            continue;
        }
        let is_fenced = lines.next_if(is_fence).is_some();
        let line = lines.next()?;
        let ends = lines.peek().is_none_or(|next| if is_fenced { is_fence(next) } else { next.is_empty() });
        return Some(line.to_owned()).filter(|line| ends && count(line) >= MIN_WORDS && is_kept_whole(line));
    }
    None
}

/// Returns a clause up to the end of its sentence. What only reports is told from the beginning of its sentence if all of it
/// fits.
fn clause_in_context<'t>(sentences: &'t [String], clause: &Clause<'t>) -> &'t str {
    let at = clause.text.as_ptr().addr();
    let sentence = sentences.iter().find(|own| (own.as_ptr().addr()..own.as_ptr().addr() + own.len()).contains(&at));
    // `The problem is simple:` says nothing of it.
    let is_led = |own: &&str| {
        let lead = own.split_once(clause.text).and_then(|(before, _)| before.trim_end().strip_suffix(':'));
        lead.is_some_and(|lead| count(lead) > 1 && content(lead) == 0 || Signs::read(lead).has(Sign::Cause))
    };
    let whole = sentence.map(|own| without_lead(own)).filter(|own| own.as_ptr().addr() <= at);
    // `fix: ` says what is to become of the rest.
    let is_verb = |own: &&str| own.split_once(": ").is_some_and(|(verb, _)| !verb.contains(' ') && begins_work(verb));
    let tells = |own: &&str| !clause.asks && !clause.orders && !is_led(own) || is_verb(own);
    let whole = whole.filter(|own| is_kept_whole(own) && tells(own));
    whole.unwrap_or(clause.rest)
}

/// Returns the title of a conversation without changes: what it asks for first. If that has to be cut, the heading of the
/// answer says more, and if several answers are about the same things, their names do.
pub(super) fn discussion_title(timeline: &Timeline<'_>, tasks: &[Task]) -> Option<String> {
    let answers: Vec<&str> = timeline
        .rounds
        .iter()
        .filter_map(|round| Some(head(conclusion(timeline, round)?.text, MAX_CONCLUSION_BYTES)))
        .collect();
    let task = tasks.get(main_task(timeline, tasks)?)?;
    let asked = requested_title(timeline, task)?;
    let shared = shared_spans(&answers).join(" and ");
    if !shared.is_empty() && !asked.contains(&shared) {
        let both = format!("{asked}: {shared}");
        let named = timeline.rounds.iter().find_map(|round| with_matter(typed(round), &shared));
        let short = named.or(Some(both)).filter(|title| count(title) <= MAX_WORDS);
        return short
            .or(Some(asked).filter(|asked| is_kept_whole(asked) && !asked.split(' ').any(is_pointer)))
            .or(Some(shared));
    }
    let prompt = task.rounds.iter().map(|at| typed(&timeline.rounds[*at])).find(|text| has_substance(text));
    let is_cut = prompt.is_some_and(|text| own_sentences(text).first().is_some_and(|first| !is_kept_whole(first)));
    let heading = answers.first().filter(|_| is_cut && answers.len() == 1).and_then(|answer| heading(answer));
    heading.or(Some(asked))
}

/// Returns the first request of a prompt that points to its matter, with the matter instead: `a word on this`.
fn with_matter(prompt: &str, matter: &str) -> Option<String> {
    let own = own_sentences(prompt);
    let clauses = own.iter().flat_map(|sentence| clauses(sentence)).filter(|clause| clause.asks || clause.orders);
    clauses.into_iter().find_map(|clause| {
        let words: Vec<&str> = clause.text.split_whitespace().collect();
        let pointer = words.iter().position(|word| is_pointer(word)).filter(|at| *at > 1)?;
        let title = capitalised(&[&words[..pointer], &[matter]].concat().join(" "));
        (count(&title) <= MAX_WORDS).then_some(title)
    })
}

/// Returns what a person typed in a round, without the command that asks for a plan.
fn typed<'a>(round: &Round<'a>) -> &'a str {
    round.prompt.map_or("", |said| without_command(said.text.trim()))
}

/// Returns the code spans that more than half of several answers name, the most frequent ones in the order of their first
/// mention.
fn shared_spans(answers: &[&str]) -> Vec<String> {
    let mut known: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (at, answer) in answers.iter().enumerate() {
        let spans: BTreeSet<&str> =
            answer.split("```").step_by(2).flat_map(|prose| prose.split('`').skip(1).step_by(2)).collect();
        for span in spans.into_iter().filter(|span| !span.contains(char::is_whitespace) && !span.is_empty()) {
            let first = span.as_ptr().addr() - answer.as_ptr().addr();
            known.entry(span).or_insert((0, at * MAX_CONCLUSION_BYTES + first)).0 += 1;
        }
    }
    let mut shared: Vec<_> =
        known.into_iter().filter(|(_, (times, _))| *times > 2 && times * 2 > answers.len()).collect();
    shared.sort_by_key(|(_, (times, _))| usize::MAX - times);
    shared.truncate(MAX_SPANS);
    shared.sort_by_key(|(_, (_, first))| *first);
    shared.into_iter().map(|(span, _)| span.to_owned()).collect()
}

/// Returns the first heading of the last conclusion that names its matter, if that is about work.
pub(super) fn last_heading(timeline: &Timeline<'_>) -> Option<String> {
    let (round, last) = timeline.rounds.iter().rev().find_map(|round| Some((round, conclusion(timeline, round)?)))?;
    let works = |deed: &Deed<'_>| deed.commits() || deed.edit().is_some();
    if !timeline.deeds[round.deeds.clone()].iter().any(works) {
        return None;
    }
    heading(head(last.text, MAX_CONCLUSION_BYTES))
}

/// Returns the first heading of an answer if it names its matter.
fn heading(answer: &str) -> Option<String> {
    let line = answer.lines().map(str::trim).find(|line| line.starts_with('#'))?;
    let bare = plain(line.trim_start_matches(['#', ' ']));
    let bare = bare
        .split_once(": ")
        .filter(|(label, rest)| count(label) < MIN_WORDS && count(rest) >= MIN_WORDS)
        .map_or(bare.as_str(), |(_, rest)| rest);
    (count(bare) >= MIN_WORDS && is_kept_whole(bare)).then(|| label(bare))
}

/// Returns the telling part of a line that a program printed: what stands behind its labels.
fn fault(line: &str) -> String {
    let mut rest = line;
    let says_little = |part: &str, rest: &str| count(part) < 2 || !is_kept_whole(rest);
    while let Some((_, after)) =
        rest.split_once(": ").filter(|(part, after)| count(after) >= MIN_WORDS && says_little(part, rest))
    {
        rest = after;
    }
    label(rest)
}

/// Returns a clause that points to something said before it, with that in place of the pronoun; what was said before if the
/// clause only says that something be done about it.
fn antecedent(clauses: &[Clause<'_>], at: usize) -> Option<String> {
    let (before, pointing) = (clauses.get(..at)?, clauses.get(at)?);
    let telling = before.iter().rev().filter(|clause| clause.content > 0 && !clause.orders);
    let words: Vec<&str> = pointing.rest.split_whitespace().collect();
    let pointer = words.iter().position(|word| is_pointer(word))?;
    let follows = words.get(pointer + 1).copied().unwrap_or_default();
    let is_pronoun = !follows.is_empty() && (is_loose(follows) || ["it", "them"].contains(&words[pointer]));
    if is_pronoun {
        let is_other = |object: &Vec<&str>| !object.iter().any(|word| words.contains(word));
        let object = telling.clone().filter_map(|clause| object(clause.text)).find(is_other)?;
        return Some([&words[..pointer], &object, &words[pointer + 1..]].concat().join(" "));
    }
    telling.clone().find(|clause| count(clause.text) >= MIN_WORDS).map(|clause| clause.text.to_owned())
}

/// Returns the words behind the first article or pronoun of a clause that follows no preposition, up to the end of the phrase.
fn object(clause: &str) -> Option<Vec<&str>> {
    let words: Vec<&str> = clause.split_whitespace().collect();
    let begins = |at: usize| is_article(words[at]) || Signs::read(words[at]).has(Sign::Pointer);
    let at =
        (0..words.len()).find(|at| begins(*at) && at.checked_sub(1).is_none_or(|before| !is_joint(words[before])))?;
    let object: Vec<&str> =
        words.into_iter().skip(at + 1).take_while(|word| !is_loose(word)).take(MAX_OBJECT).collect();
    let object: Vec<&str> = object.into_iter().map(|word| word.trim_end_matches(['.', ',', ';'])).collect();
    (!object.is_empty()).then_some(object)
}

/// Returns a clause that points to things in a file that was changed, with its name: `update these tests`.
fn named(timeline: &Timeline<'_>, rounds: &[&Round<'_>], clause: &Clause<'_>) -> Option<String> {
    let words: Vec<&str> = clause.text.trim_end_matches(['.', '?', '!']).split_whitespace().collect();
    let at = words.iter().position(|word| Signs::read(word).has(Sign::Pointer))?;
    let (before, after) = (words.get(..at)?, words.get(at + 1..)?);
    let deeds = rounds.iter().flat_map(|round| &timeline.deeds[round.deeds.clone()]);
    let edited = deeds.filter(|deed| deed.succeeded()).find_map(|deed| deed.edit());
    let name = edited?.0.rsplit(['/', '\\']).next()?;
    // `Fix these` is about what the person has just run.
    let ran = timeline.deeds.iter().take_while(|deed| rounds.first().is_some_and(|round| is_before(deed, round)));
    let ran =
        ran.filter(|deed| deed.is_persons()).last().and_then(|deed| deed.kept_command()).filter(|_| after.is_empty());
    if let Some(ran) = ran.map(|command| command.shown().to_owned()) {
        let title = |what: &str| format!("{} {ran}{what} in {name}", before.join(" "));
        return [title(" errors"), title("")]
            .into_iter()
            .find(|title| is_kept_whole(title))
            .map(|title| capitalised(&title));
    }
    let told = [before, after].concat().join(" ");
    // `Them` and `here` stand for all of it.
    let names = !after.is_empty() && count(&told) <= MIN_WORDS && content(&after.join(" ")) > 0;
    names.then(|| label(&format!("{told} in {name}")))
}

fn is_before(deed: &Deed<'_>, round: &Round<'_>) -> bool {
    round.prompt.is_some_and(|said| deed.began < said.place)
}

/// Returns a title made of what the agent concluded in a round: the first sentence whose verb has an object.
fn concluded(timeline: &Timeline<'_>, round: &Round<'_>) -> Option<String> {
    let said = chief_sentences(conclusion(timeline, round)?.text);
    said.iter().map(|said| without_doer(said)).find_map(|said| {
        let has_object = said.split_whitespace().nth(1).is_some_and(|second| !is_loose(second) || is_article(second));
        let title = label(said);
        (has_object && count(&title) >= MIN_WORDS).then_some(title)
    })
}

/// Strips the words by which an agent speaks of itself: what is said is its doing.
fn without_doer(said: &str) -> &str {
    let mut rest = said;
    while let Some((first, after)) = rest.split_once(' ')
        && DOERS.contains(&first.to_lowercase().trim_end_matches(','))
    {
        rest = after;
    }
    rest
}
