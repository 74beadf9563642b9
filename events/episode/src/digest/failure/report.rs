//! Errors that a person reports: pasted output, and defects in words that the agent then mends.

use super::super::command::{Command, Step};
use super::super::excerpt::{one_line, without_filter_mark};
use super::super::exchange::conclusion;
use super::super::file;
use super::super::leftovers::leftovers;
use super::super::request::{before_log, has_substance, without_politeness};
use super::super::sentence::{Sentence, clauses, plain, sentences};
use super::super::timeline::{Deed, Message, Round, Timeline};
use super::super::{
    ERROR_CHARS, ErrorLine, Mend, Mending, PASSED_LATER, Pointed, SHORT_CHARS, Show, without_salutation,
};
use super::explanation::{Edited, Speech};
use super::mend::with_words;
use super::{Failure, OPINION, is_alike};
use crate::lexicon::{Sign, Signs};
use baton_conversation::filter::pasted_line;
use baton_conversation::record::Timestamp;

/// A longer prompt describes work rather than a defect, in bytes; pasted output may be longer.
const MAX_PROMPT_BYTES: usize = 600;
/// Maximum length of a prompt with a copied screen, whose lines are padded, in bytes.
const MAX_SCREEN_BYTES: usize = 4_000;
/// A prompt with more headings is a plan or a document.
const MAX_HEADINGS: usize = 1;
/// Maximum number of lines of a prompt that may be the command that failed.
const MAX_RAN_LINES: usize = 20;
/// Maximum number of labelled items of a conclusion.
const MAX_LABELLED: usize = 3;
/// Maximum number of files that are named.
const MAX_FILES: usize = 4;
/// Maximum number of errors whose command is looked for among the later ones, and that are open at once.
const MAX_RERUNS: usize = 50;
const MAX_OPEN: usize = 20;
/// Maximum number of errors of the service that another is compared with, the latest.
const MAX_ALIKE: usize = 20;
/// Labels of what mended an error, in lower case.
const MENDED: [&str; 4] = ["fix", "fixed", "changed", "fixed by"];

/// Returns the errors of the prompts: those that show a line of an error, and those that say that something does not work,
/// or state something of which the agent names the cause, where the agent then changed something and said so.
pub(super) fn reports(timeline: &Timeline<'_>, speech: &Speech<'_, '_>, show: &Show) -> Vec<Failure> {
    let mut found: Vec<Failure> = Vec::new();
    // Those that nothing has ended so far, and what was tried last.
    let mut open: Vec<(usize, String)> = Vec::new();
    let mut sought = 0;
    let mut tried: Option<(Mended<'_>, &Round<'_>, Message<'_>)> = None;
    for (at, round) in timeline.rounds.iter().enumerate() {
        let Some(prompt) = round.prompt else { continue };
        let attempt = tried.take().filter(|_| confirms(prompt.text));
        if let Some((mended, of, asked)) = attempt {
            for (index, said) in open.drain(..) {
                let (resolution, mending) = mended.report(timeline, speech, of, (asked, &said), true);
                (found[index].line.resolution, found[index].mending) = (Some(resolution), Some(mending));
            }
        }
        let mended = Mended::of(timeline, round, prompt.text);
        tried = mended.clone().map(|mended| (mended, round, prompt));
        let mends = mended.as_ref().filter(|mended| !mended.files.is_empty() && says_mended(timeline, round));
        let pasted = shown_line(prompt.text).or_else(|| named_error(prompt.text));
        let is_pasted = pasted.is_some();
        let said = pasted.or_else(|| {
            let change = mends?.edits.last()?.0;
            // `Actually, put it there` only asks for something else.
            let asks = |said: &str| {
                let rest = said.split_once([' ', ',']).map_or("", |(_, rest)| rest.trim_start_matches([' ', ',']));
                let rest = Signs::read(rest);
                rest.begins(Sign::Direct) || rest.begins(Sign::Request)
            };
            let is_trouble = |said: &String| {
                let signs = Signs::read(said);
                signs.has_any(&[Sign::Trouble, Sign::Absent])
                    || signs.has(Sign::Object) && !asks(said)
                    || speech.names_cause((prompt.place, change), said)
            };
            defect(prompt.text).or_else(|| complaint(prompt.text).filter(is_trouble))
        });
        let Some(said) = said else { continue };
        let text = one_line(&without_filter_mark(&said), show.output_chars(ERROR_CHARS));
        let text = one_line(&format!("reported: {text}"), ERROR_CHARS);
        let next = timeline.rounds.iter().skip(at + 1).find_map(|round| round.prompt);
        // Another error shows that this one is gone.
        let is_another = |next: &str| {
            let signs = Signs::read(next);
            is_pasted && !speech.is_about(next, &said) && !signs.has(Sign::Result) && !signs.begins(Sign::Object)
        };
        let is_back = next.is_some_and(|next| {
            speech.shows_again(&said, next.text)
                || shown_line(next.text).is_none()
                    && complains_again(next.text)
                    && !confirms(next.text)
                    && !is_another(next.text)
        });
        let is_confirmed = next.is_some_and(|next| confirms(next.text));
        // A person who speaks of it again has not seen it go.
        let doubts = |next: &str| {
            let is_content = !Signs::read(next).has_any(&[Sign::Object, Sign::Trouble, Sign::Defect]);
            shown_line(next).is_none() && !is_content && speech.is_about(next, &said)
        };
        let is_doubted = !is_confirmed && next.is_some_and(|next| doubts(next.text));
        let is_mended = |mended: &Mended<'_>| {
            !is_back
                && !mended.is_of_documents(prompt.text)
                && (mended.passed.as_ref().is_some_and(|passed| prompt.text.contains(&passed.name))
                    || !is_doubted && conclusion(timeline, round).is_some_and(|said| claims_mend(said.text))
                    || is_confirmed)
        };
        let told = |mended: Mended<'_>| mended.report(timeline, speech, round, (prompt, &said), is_confirmed);
        let resolution = mended.filter(is_mended).map(told);
        // A new error is what the attempts are about from now on.
        if is_pasted && !open.iter().any(|(_, earlier)| speech.shows_again(earlier, prompt.text)) {
            open.clear();
        }
        // A command that the person ran and pasted is over once it passes.
        let reruns = || {
            let ran = ran_lines(prompt.text, &said);
            let passed = if ran.is_empty() { None } else { passes_later(timeline, prompt.place, &ran) }?;
            Some(match Mended::of(timeline, round, prompt.text) {
                Some(mended) => told(Mended { passed: Some(passed), ..mended }),
                None => {
                    let Passed { line, at, .. } = passed;
                    let text = PASSED_LATER.to_owned();
                    (Pointed { text, line, at }, Mending { by: Vec::new(), line, at })
                }
            })
        };
        let is_sought = is_pasted && resolution.is_none() && sought < MAX_RERUNS;
        sought += usize::from(is_sought);
        let resolution = if is_sought { reruns() } else { resolution };
        if resolution.is_none() && open.len() < MAX_OPEN {
            open.push((found.len(), said));
        }
        let goes_on = |later: &Round<'_>| later.prompt.is_some_and(|next| has_substance(next.text));
        let is_open = is_pasted
            && resolution.is_none()
            && !timeline.rounds[at + 1..].iter().any(goes_on)
            && !commits_fix(timeline, round);
        let (resolution, mending) = resolution.unzip();
        let line = ErrorLine { text, line: prompt.line, at: prompt.at, resolution };
        found.push(Failure { line, mending, of_the_work: false, is_open, is_of_all_tests: false });
    }
    found.extend(refusals(timeline));
    found
}

/// Returns true if a commit of a round calls itself a fix.
fn commits_fix(timeline: &Timeline<'_>, round: &Round<'_>) -> bool {
    let subject = |deed: &Deed<'_>| deed.call.and_then(|call| call.commit.as_ref()).map(|text| text.to_lowercase());
    // `fixtures: more of them` is none.
    let is_fix =
        |text: &str| text.strip_prefix("fix").is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphabetic()));
    let fixes = |deed: &Deed<'_>| deed.succeeded() && subject(deed).is_some_and(|text| is_fix(&text));
    timeline.deeds[round.deeds.clone()].iter().any(fixes)
}

/// Returns the errors with which the service answered, each once.
fn refusals(timeline: &Timeline<'_>) -> Vec<Failure> {
    let mut found: Vec<Failure> = Vec::new();
    for (at, round) in timeline.rounds.iter().enumerate() {
        let Some(said) = round.refusal else { continue };
        let is_open = at + 1 == timeline.rounds.len();
        let text = one_line(&without_filter_mark(said.text), ERROR_CHARS);
        match found.iter_mut().rev().take(MAX_ALIKE).find(|known| is_alike(&known.line.text, &text)) {
            Some(known) => known.is_open = is_open,
            None => {
                let line = ErrorLine { text, line: said.line, at: said.at, resolution: None };
                found.push(Failure { line, mending: None, of_the_work: false, is_open, is_of_all_tests: false });
            }
        }
    }
    found
}

/// Returns the lines before an error that a prompt shows: one of them may end with the command that failed.
fn ran_lines<'p>(prompt: &'p str, said: &str) -> Vec<&'p str> {
    let before = prompt.split_once(said).map_or("", |(before, _)| before);
    before.lines().map(str::trim_end).filter(|line| line.len() <= MAX_PROMPT_BYTES).take(MAX_RAN_LINES).collect()
}

/// Returns the first command after a position that one of these lines ends with and that passed.
fn passes_later(timeline: &Timeline<'_>, from: usize, lines: &[&str]) -> Option<Passed> {
    let later = timeline.deeds.iter().filter(|deed| deed.began > from && deed.succeeded());
    later.filter_map(|deed| Some((deed, deed.parsed_command()?))).find_map(|(deed, command)| {
        let is_it = |step: &&&Step<'_>| {
            let text = step.text();
            text.contains(' ')
                && lines.iter().any(|line| line.strip_suffix(text).is_some_and(|prompt| prompt.ends_with(' ')))
        };
        let passed = command.proven();
        let step = passed.iter().find(is_it)?;
        let shown = one_line(&without_filter_mark(step.text()), SHORT_CHARS);
        Some(Passed { name: step.name(), shown, line: deed.result_line, at: deed.result_at })
    })
}

fn is_document(text: &str) -> bool {
    text.trim_start().starts_with(['/', '{', '<'])
        || text.lines().filter(|line| line.starts_with('#')).count() > MAX_HEADINGS
}

/// Returns the line of an error in what a prompt shows: pasted output, or a block behind words that say that it fails.
pub(in crate::digest) fn shown_line(text: &str) -> Option<String> {
    let own = before_log(text);
    if is_document(own) {
        return failing_block(text);
    }
    // The words are a part of the text, before the output or behind it.
    let begin = own.as_ptr().addr() - text.as_ptr().addr();
    let output = text[..begin].lines().chain(text[begin + own.len()..].lines());
    let bare: Vec<&str> = output.map(without_tag).collect();
    let ends = |line: &&&str| line.contains(" exited with code ") || line.contains(" failed: ");
    let line = pasted_line(text).or_else(|| pasted_line(&bare.join("\n")));
    let line = line.or_else(|| bare.iter().find(ends).map(|line| (*line).to_owned()))?;
    Some(without_tag(&line).to_owned())
}

/// Returns the error that a prompt names within its words: in a part of a copied screen, in quotes, or behind a colon.
fn named_error(text: &str) -> Option<String> {
    let is_frame = |c: char| ('\u{2500}'..='\u{257f}').contains(&c);
    let words = || text.split(is_frame).flat_map(str::split_whitespace).map(str::len).sum::<usize>();
    if is_document(text) || text.len() > MAX_SCREEN_BYTES || words() > MAX_PROMPT_BYTES {
        return None;
    }
    if text.contains(is_frame) {
        let mut parts = text.split(|c| is_frame(c) || c == '\n').map(str::trim);
        return parts.rfind(|part| Signs::read(part).has(Sign::Defect)).map(plain);
    }
    let quoted = ['`', '"'].into_iter().flat_map(|mark| text.split(mark).skip(1).step_by(2));
    let quoted =
        quoted.chain(text.split('“').skip(1).filter_map(|rest| rest.split_once('”')).map(|(quoted, _)| quoted));
    let explained = text.lines().filter_map(|line| line.split_once(": ")).map(|(_, rest)| rest);
    quoted.chain(explained).find_map(pasted_line)
}

/// Returns the telling line of the first block that follows a line such as `it fails with:`.
fn failing_block(text: &str) -> Option<String> {
    let (before, block) = text.split_once("```")?;
    let lead = before.trim_end().lines().next_back().filter(|line| line.ends_with(':'))?;
    // A block with a language is code.
    let (_, block) = block.split_once('\n').filter(|(language, _)| language.trim().is_empty())?;
    let block = block.split("```").next()?;
    let first = || block.lines().map(str::trim).find(|line| line.chars().any(char::is_alphanumeric)).map(str::to_owned);
    Signs::read(lead).has(Sign::Defect).then(|| pasted_line(block).or_else(first)).flatten()
}

/// Strips the tags before a line: `[server] [12:00] …`.
fn without_tag(line: &str) -> &str {
    let mut rest = line.trim();
    while let Some((_, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
        rest = after.trim_start();
    }
    rest
}

/// Returns the sentence of a short prompt that says that something does not work; one that only asks for it to be mended
/// gives the sentence before it.
fn defect(text: &str) -> Option<String> {
    if is_document(text) || text.len() > MAX_PROMPT_BYTES {
        return None;
    }
    let all = sentences(text);
    let at = all.iter().position(|sentence| clauses(sentence.text).any(is_defect))?;
    let asks =
        clauses(all[at].text).filter(|clause| is_defect(clause)).all(|clause| Signs::read(clause).begins(Sign::Order));
    let told = all[at - usize::from(asks && at > 0)].text;
    says_something(told).then(|| plain(told))
}

/// Returns true if a clause says that something does not work, and neither asks nor tells what to do.
fn is_defect(clause: &str) -> bool {
    let signs = Signs::read(clause);
    signs.has(Sign::Defect) && ![Sign::Direct, Sign::Hedge].iter().any(|sign| signs.begins(*sign))
}

/// Returns the first sentence of a short prompt that only states something: it asks for nothing.
fn complaint(text: &str) -> Option<String> {
    let asks = |clause: &str| {
        let signs = Signs::read(clause);
        signs.asks() || signs.has_any(&[Sign::Direct, Sign::Suggest]) || signs.begins(Sign::Order)
    };
    let is_short = !is_document(text) && text.len() <= MAX_PROMPT_BYTES;
    let all = sentences(text);
    let states = is_short && without_politeness(text) == without_salutation(text) && !clauses(text).any(asks);
    all.first().filter(|first| says_something(first.text)).filter(|_| states).map(|first| plain(first.text))
}

/// Returns true for more than a word: `Stop.` complains of nothing.
fn says_something(sentence: &str) -> bool {
    sentence.contains(' ') || !sentence.is_ascii()
}

/// Returns true if the agent concluded that it changed something.
fn says_mended(timeline: &Timeline<'_>, round: &Round<'_>) -> bool {
    let said = conclusion(timeline, round).map(|said| sentences(said.text)).unwrap_or_default();
    said.iter().any(|sentence| !sentence.quoted && Signs::read(sentence.text).has_any(&[Sign::Change, Sign::Works]))
}

/// Returns true if a conclusion says that something was changed or works now, or tells it behind a label such as `Fix:`,
/// which may also explain the trouble. Trouble that is mentioned later takes the claim back, remaining work the label too;
/// listed next steps leave neither, since one of them may be the mend.
fn claims_mend(said: &str) -> bool {
    let (mut claims, mut is_labelled) = (false, false);
    for sentence in sentences(said).into_iter().filter(|sentence| !sentence.quoted) {
        let labels = |text: &str| {
            let text = plain(text).to_lowercase();
            let rest = MENDED.iter().find_map(|label| text.trim_start_matches("the ").strip_prefix(label));
            rest.is_some_and(|rest| rest.trim_start().starts_with([':', '(']))
        };
        let signs = Signs::read(sentence.text);
        let repairs = signs.begins(Sign::Repair) && !signs.has(Sign::Trouble);
        is_labelled |= repairs || with_label(sentence.text).is_some() || labels(sentence.head);
        let tells_cause = signs.has(Sign::Cause);
        for part in sentence.text.split([',', ';', '—', '–', ':', '(', ')']).flat_map(|part| part.split(" but ")) {
            let signs = Signs::read(part);
            if signs.has(Sign::Remaining) {
                (claims, is_labelled) = (false, false);
            } else if signs.has(Sign::Trouble) && !signs.has(Sign::Repair) && !tells_cause {
                claims = false;
            } else if signs.has_any(&[Sign::Change, Sign::Works]) && !signs.has(Sign::Hedge) && !is_negated(part) {
                claims = true;
            }
        }
    }
    (claims || is_labelled) && !leftovers(said).iter().any(|left| left.next && left.listed)
}

/// Returns true if a word of it denies something.
pub(super) fn is_negated(part: &str) -> bool {
    let lower = part.to_lowercase();
    lower.split_whitespace().any(|word| word == "not" || word.ends_with("n't") || word.ends_with("n’t"))
}

/// Returns true if a person says that it works now; what they go on with may be something else.
fn confirms(text: &str) -> bool {
    let works = |text: &str| {
        let signs = Signs::read(text);
        signs.has(Sign::Works) && !signs.has_any(&[Sign::Trouble, Sign::Hedge]) && !signs.asks() && !is_negated(text)
    };
    let confirms = |sentence: &Sentence<'_>| {
        let (head, rest) = sentence.text.split_once(" but ").unwrap_or((sentence.text, ""));
        !sentence.quoted && works(head) && !is_negated(rest)
    };
    text.len() <= MAX_PROMPT_BYTES && sentences(text).iter().any(confirms)
}

fn complains_again(text: &str) -> bool {
    text.len() <= MAX_PROMPT_BYTES && Signs::read(text).has_any(&[Sign::Trouble, Sign::Object, Sign::Absent])
}

/// Returns a sentence that has a label such as `Fix:` or `Fixed by`.
fn with_label(sentence: &str) -> Option<String> {
    let text = plain(sentence);
    let lower = text.to_lowercase();
    let label = lower.split_once(':').map(|(label, _)| label.trim_start_matches("the ").trim());
    let is_labelled = label.is_some_and(|label| MENDED.contains(&label));
    let by = lower.find("fixed by ").or_else(|| lower.starts_with("changed to ").then_some(0));
    let whole = is_labelled || by.is_some_and(|at| at == 0 || lower[..at].ends_with([' ', '(']));
    whole.then(|| text.trim_end_matches('.').to_owned())
}

/// Returns what stands behind a label, in all items that have one.
fn labelled(reply: &Message<'_>) -> Option<Pointed> {
    let said = sentences(reply.text).into_iter().filter(|sentence| !sentence.quoted);
    let told: Vec<String> = said.filter_map(|sentence| with_label(sentence.text)).take(MAX_LABELLED).collect();
    (!told.is_empty()).then(|| Pointed { text: told.join("; "), line: reply.line, at: reply.at })
}

/// A check that passed, with the line and time of its result.
#[derive(Clone)]
struct Passed {
    name: String,
    shown: String,
    line: u64,
    at: Option<Timestamp>,
}

/// What was changed in answer to a prompt.
#[derive(Clone)]
struct Mended<'a> {
    files: Vec<&'a str>,
    edits: Vec<Edited<'a>>,
    commands: Vec<String>,
    /// Line and time of the first change.
    line: u64,
    at: Option<Timestamp>,
    /// The first check, or command that the prompt names, that passed after the last change.
    passed: Option<Passed>,
}

impl<'a> Mended<'a> {
    fn of(timeline: &Timeline<'a>, round: &Round<'_>, prompt: &str) -> Option<Self> {
        let mut mended: Option<Self> = None;
        for at in round.deeds.clone() {
            let deed = &timeline.deeds[at];
            let command = deed.parsed_command();
            let steps = command.map(Command::steps).unwrap_or_default();
            let changing = steps.iter().find(|step| step.is_mutating() && !step.text().starts_with("git add"));
            if !deed.succeeded() || timeline.undone.edits.contains(&at) {
                continue;
            }
            if deed.edit().is_none() && changing.is_none() {
                let proven = command.map(Command::proven).unwrap_or_default();
                let is_named = |step: &&&Step<'_>| step.name().contains(' ') && prompt.contains(&step.name());
                let checks = |step: &&&Step<'_>| step.family().is_check();
                let check = proven.iter().find(is_named).or_else(|| proven.iter().find(checks));
                if let (Some(all), Some(check)) = (&mut mended, check) {
                    let shown = one_line(&without_filter_mark(check.text()), SHORT_CHARS);
                    let (line, at) = (deed.result_line, deed.result_at);
                    all.passed.get_or_insert(Passed { name: check.name(), shown, line, at });
                }
                continue;
            }
            let all = mended.get_or_insert_with(|| Self {
                files: Vec::new(),
                edits: Vec::new(),
                commands: Vec::new(),
                line: deed.line,
                at: deed.at,
                passed: None,
            });
            all.passed = None;
            if let Some((path, ..)) = deed.edit() {
                if all.files.is_empty() {
                    (all.line, all.at) = (deed.line, deed.at);
                }
                all.edits.push((deed.began, deed.new_text()));
                let path = timeline.relative_path(path);
                if !all.files.contains(&path) {
                    all.files.push(path);
                }
            } else if let Some(step) = changing {
                if all.files.is_empty() {
                    (all.line, all.at) = (deed.line, deed.at);
                }
                all.commands.push(one_line(&without_filter_mark(step.text()), SHORT_CHARS));
            }
        }
        mended
    }

    /// Returns true if only documents were edited that a prompt does not name: what is written about an error mends none.
    fn is_of_documents(&self, prompt: &str) -> bool {
        let prompt = prompt.to_lowercase();
        let is_other = |path: &&str| {
            let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
            file::is_document(path) && !prompt.contains(name.split('.').next().unwrap_or(&name))
        };
        !self.files.is_empty() && self.files.iter().all(is_other)
    }

    fn report(
        &self,
        timeline: &Timeline<'a>,
        speech: &Speech<'_, 'a>,
        round: &Round<'a>,
        (prompt, error): (Message<'_>, &str),
        is_confirmed: bool,
    ) -> (Pointed, Mending) {
        let more = self.files.len().saturating_sub(MAX_FILES);
        let named = self.files.iter().take(MAX_FILES).copied().collect::<Vec<_>>().join(", ");
        let what = match (self.files.is_empty(), more) {
            (true, _) => format!("by `{}`", self.commands.last().map_or("", String::as_str)),
            (false, 0) => format!("by edits to {named}"),
            (false, more) => format!("by edits to {named} and {more} more"),
        };
        let last = self.edits.last().map_or(prompt.place, |(place, _)| *place);
        let said = conclusion(timeline, round).filter(|reply| reply.place > last);
        let about = format!("{} {error}", before_log(prompt.text));
        let mut told = speech.explain((prompt.place, last), (error, &[]), &self.edits, None);
        // If nothing was seen to pass, an observed fact may be unrelated.
        let is_seen = self.passed.is_some() || is_confirmed;
        told.cause = told.cause.filter(|cause| is_seen || Signs::read(&cause.text).has(Sign::Cause));
        let concluded = said
            .and_then(|said| labelled(said).or_else(|| speech.best_change(said, (prompt.place, &about), &self.edits)));
        // Of several mends it is unknown which one the cause is of.
        let are_many = concluded.as_ref().is_some_and(|said| said.text.contains("; "));
        told.cause = told.cause.filter(|_| !are_many);
        // A label says nothing without what follows it.
        told.mend = concluded.or(told.mend).filter(|said| !said.text.ends_with(':'));
        let (line, at) = told.mend.as_ref().map_or((self.line, self.at), |said| (said.line, said.at));
        let passed = self.passed.as_ref().map(|check| check.shown.as_str());
        let text = with_words(what, &told, &self.edits, passed);
        let text = if is_seen { text } else { one_line(&format!("{text}{OPINION}"), ERROR_CHARS) };
        let by = self.files.iter().take(MAX_FILES).map(|file| Mend::File((*file).to_owned()));
        let by = by.chain(self.commands.last().filter(|_| self.files.is_empty()).cloned().map(Mend::Command)).collect();
        let end = self.passed.as_ref().map_or((line, at), |check| (check.line, check.at));
        (Pointed { text, line, at }, Mending { by, line: end.0, at: end.1 })
    }
}
