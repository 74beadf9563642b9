//! Exchanges: a prompt, what was done for it, and what the agent concluded.
//!
//! The other lists of an episode are derived from them.

use super::command::Command;
use super::excerpt::{one_line, without_filter_mark};
use super::file;
use super::timeline::{Deed, Message, Round, Timeline};
use super::{LINE_CHARS, MAX_ENTRIES, Pointed, sentence};
use crate::lexicon::{Sign, Signs};
use baton_conversation::item::{Act, GitOutput, Outcome, ToolResult};
use baton_conversation::record::Timestamp;

/// Maximum length of a prompt, in characters.
const PROMPT_CHARS: usize = 600;
/// Maximum length of a conclusion, in characters.
const CONCLUSION_CHARS: usize = 1_500;
/// Length that the first and the last paragraph of a longer one may have, in characters.
const EDGE_CHARS: usize = 600;
/// A reply of fewer characters after a longer one is a remark ("Done."), not the conclusion.
const TELLING_CHARS: usize = 400;
/// Fewest words of a sentence of substance.
const MIN_WORDS: usize = 4;
/// Worth of a sentence that gives a reason or names an alternative, compared with a full match.
const REASON_WORTH: f32 = 0.15;
/// Maximum number of sentences that carry a subject.
const MAX_SENTENCES: usize = 6;
/// Maximum number of files, commands and commits of an exchange.
const MAX_DONE: usize = 20;

/// A prompt and everything up to the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exchange {
    /// What the person asked, on one line; `None` for work before the first prompt, or if prompts are not shown.
    pub prompt: Option<Pointed>,
    /// The agent's last message before the next prompt, with its paragraphs. A longer one keeps whole sentences, and its
    /// first and last paragraph. `None` if the agent only announced what it was about to do.
    pub conclusion: Option<Pointed>,
    /// Number of calls of each act.
    pub acts: Vec<(Act, u32)>,
    /// Files that were changed, by first change.
    pub files: Vec<String>,
    /// Commands that did more than look.
    pub commands: Vec<Run>,
    /// Commits, as `hash subject`, or the subject alone if no output tells the hash.
    pub commits: Vec<String>,
    /// Pull requests that were opened, as addresses without a scheme.
    pub pull_requests: Vec<String>,
    /// True if a person interrupted the agent.
    pub interrupted: bool,
}

/// A command of an exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The command, on one line.
    pub text: String,
    /// Transcript line of its last run.
    pub line: u64,
    /// How that ended, if known.
    pub outcome: Option<Outcome>,
}

/// Returns the last [`MAX_ENTRIES`] exchanges, in order.
pub(super) fn exchanges(timeline: &Timeline<'_>) -> Vec<Exchange> {
    let skipped = timeline.rounds.len().saturating_sub(MAX_ENTRIES);
    let mut rounds = timeline.rounds.iter().skip(skipped).peekable();
    let mut exchanges = Vec::new();
    while let Some(round) = rounds.next() {
        let interrupted = rounds.peek().is_some_and(|next| next.after_interruption);
        exchanges.push(exchange(timeline, round, interrupted));
    }
    exchanges
}

fn exchange(timeline: &Timeline<'_>, round: &Round<'_>, interrupted: bool) -> Exchange {
    let pointed = |text: String, said: &Message<'_>| Pointed { text, line: said.line, at: said.at };
    let mut exchange = Exchange {
        prompt: round.prompt.as_ref().map(|said| pointed(one_line(said.text, PROMPT_CHARS), said)),
        conclusion: conclusion(timeline, round).map(|said| pointed(condensed(said.text), said)),
        interrupted,
        ..Exchange::default()
    };
    for deed in &timeline.deeds[round.deeds.clone()] {
        match exchange.acts.iter_mut().find(|(act, _)| *act == deed.act()) {
            Some((_, count)) => *count = count.saturating_add(1),
            None => exchange.acts.push((deed.act(), 1)),
        }
        let written = if deed.succeeded() { file::written_files(deed) } else { Vec::new() };
        for (path, ..) in written {
            let path = one_line(timeline.relative_path(path), LINE_CHARS);
            if !exchange.files.contains(&path) && exchange.files.len() < MAX_DONE {
                exchange.files.push(path);
            }
        }
        let ran = deed.kept_command().filter(|_| !deed.was_cancelled());
        if let Some(command) = ran.filter(|command| !command.only_looks()) {
            let text = one_line(&without_filter_mark(command.shown()), LINE_CHARS);
            let run = Run { text, line: deed.line, outcome: deed.told_outcome() };
            match exchange.commands.iter().position(|known| known.text == run.text) {
                Some(at) => exchange.commands[at] = run,
                None if exchange.commands.len() < MAX_DONE => exchange.commands.push(run),
                None => {}
            }
        }
        let room = MAX_DONE - exchange.commits.len();
        if room > 0 {
            exchange.commits.extend(commits(timeline, deed).into_iter().take(room));
        }
        for made in deed.result.map_or(&[][..], ToolResult::made) {
            if let GitOutput::PullRequest(address) = made
                && exchange.pull_requests.len() < MAX_DONE
            {
                exchange.pull_requests.push(address.clone());
            }
        }
    }
    exchange
}

/// Returns the commits that a call made: those that its output reports, else the one that its command line made, with the
/// hash that a later log gives it.
fn commits(timeline: &Timeline<'_>, deed: &Deed<'_>) -> Vec<String> {
    if deed.kept_command().is_none_or(Command::only_looks) {
        return Vec::new();
    }
    let made: Vec<String> = deed.result.map_or(&[][..], ToolResult::made).iter().filter_map(shown_commit).collect();
    let subject = deed.call.and_then(|call| call.commit.as_deref());
    let Some(subject) =
        subject.filter(|_| made.is_empty() && deed.commits() && deed.succeeded() && !deed.in_background())
    else {
        return made;
    };
    let later = timeline.deeds.iter().filter(|other| other.began > deed.began).filter_map(|other| other.result);
    let hash = later.flat_map(ToolResult::logged).find(|(_, logged)| logged == subject).map(|(hash, _)| hash);
    vec![hash.map_or_else(|| subject.to_owned(), |hash| format!("{hash} {subject}"))]
}

/// Returns a commit as `hash subject`.
pub(super) fn shown_commit(made: &GitOutput) -> Option<String> {
    match made {
        GitOutput::Commit { hash, subject } => Some(format!("{hash} {subject}")),
        GitOutput::PullRequest(_) => None,
    }
}

/// Returns the message with which a round ends: the last one of substance since the last change. A remark that follows
/// it ("the background task has ended as well") is not the conclusion.
pub(super) fn conclusion<'t, 'a>(timeline: &Timeline<'a>, round: &'t Round<'a>) -> Option<&'t Message<'a>> {
    let found = round.conclusion.get_or_init(|| find_conclusion(timeline, round));
    found.and_then(|index| round.replies.get(index))
}

/// Returns its index among the replies.
fn find_conclusion(timeline: &Timeline<'_>, round: &Round<'_>) -> Option<usize> {
    let deeds = &timeline.deeds[round.deeds.clone()];
    let changes = |deed: &&Deed<'_>| !deed.aside && file::changes(deed);
    let changed = deeds.iter().rfind(changes).map_or(0, |deed| deed.began);
    let since = || {
        let rest = round.replies.iter().enumerate().rev().filter(|(_, reply)| reply.place > changed);
        rest.filter(|(_, reply)| !reply.comments && !only_announces(reply.text)).map(|(index, _)| index)
    };
    let length = |index: usize| round.replies[index].text.chars().take(TELLING_CHARS * 2).count();
    let last = since().next()?;
    let longest = since().max_by_key(|index| length(*index)).filter(|index| length(*index) > length(last) * 2);
    Some(longest.unwrap_or(last))
}

/// Returns true if a reply only says what the agent is about to do.
fn only_announces(text: &str) -> bool {
    let sentences = sentence::sentences(text);
    let last = sentences.last().map_or(&text[..0], |sentence| sentence.text);
    // A colon may announce the code or the table after it.
    let end = last.as_ptr().addr() - text.as_ptr().addr() + last.len();
    let gives_block = text[end..].contains(char::is_alphanumeric);
    begins_work(last) || !gives_block && (last.ends_with([':', '：']) || last.is_empty())
}

/// Returns true if a sentence says what the agent is about to do.
pub(super) fn begins_work(sentence: &str) -> bool {
    let signs = Signs::read(sentence);
    signs.begins(Sign::Begin) && !signs.begins(Sign::Offer)
}

/// Shortens a message to whole sentences, keeping its first and last paragraph.
pub(super) fn condensed(text: &str) -> String {
    let text = text.trim();
    let length = |text: &str| text.chars().count();
    if length(text) <= CONCLUSION_CHARS {
        return paragraphs(text).collect::<Vec<_>>().join("\n");
    }
    let all: Vec<&str> = paragraphs(text).collect();
    let Some((last, before)) = all.split_last() else { return String::new() };
    let last = super::sentences_within(last, EDGE_CHARS);
    let mut left = CONCLUSION_CHARS - length(&last);
    let mut kept: Vec<String> = Vec::new();
    let mut complete = true;
    for (at, paragraph) in before.iter().enumerate() {
        let paragraph =
            if at == 0 { super::sentences_within(paragraph, EDGE_CHARS) } else { one_line(paragraph, LINE_CHARS * 2) };
        let room = length(&paragraph) + 3;
        if room > left {
            complete = false;
            break;
        }
        left -= room;
        kept.push(paragraph);
    }
    if !complete {
        kept.push("…".to_owned());
    }
    kept.push(last);
    kept.join("\n")
}

/// Returns true for a sentence of substance.
pub(super) fn is_of_substance(sentence: &sentence::Sentence<'_>) -> bool {
    let signs = Signs::read(sentence.text);
    let words = sentence.text.split_whitespace().count();
    let says = words >= MIN_WORDS || !sentence.text.is_ascii() && sentence.text.chars().count() > MIN_WORDS;
    let idle = signs.asks() || signs.begins(Sign::Announce) || signs.begins(Sign::Offer);
    says && !idle
        && !sentence.quoted
        && !sentence::is_of_links(sentence.text)
        && !sentence.text.trim_end_matches(['*', '_', ' ']).ends_with([':', '：'])
}

/// Returns the sentences of a conclusion that carry a subject, whole and in order: those that fit best, within `chars`.
/// `fit` tells how well a sentence fits, from 0.
pub fn carrying_sentences(conclusion: &str, chars: usize, fit: impl Fn(&str) -> f32) -> String {
    let sentences = sentence::sentences(conclusion);
    let worth = |text: &str| fit(text) + if gives_reason(text) { REASON_WORTH } else { 0.0 };
    let fits: Vec<f32> = sentences.iter().map(|sentence| worth(sentence.text)).collect();
    let mut order: Vec<usize> = (0..sentences.len()).filter(|at| is_of_substance(&sentences[*at])).collect();
    // The first sentences usually say what the message is about.
    order.sort_by(|a, b| fits[*b].total_cmp(&fits[*a]).then(a.cmp(b)));
    let mut kept: Vec<usize> = Vec::new();
    let mut left = chars;
    for at in order.into_iter().take(MAX_SENTENCES) {
        let length = sentences[at].text.chars().count() + 1;
        if length > left && !kept.is_empty() {
            break;
        }
        left = left.saturating_sub(length);
        kept.push(at);
    }
    kept.sort_unstable();
    let text = kept.into_iter().map(|at| sentence::plain(sentences[at].text)).collect::<Vec<_>>().join(" ");
    super::sentences_within(&text, chars)
}

/// Returns true if a text gives a reason or names an alternative.
pub fn gives_reason(text: &str) -> bool {
    Signs::read(text).has_any(&[Sign::Reason, Sign::Contrast])
}

/// Returns the lines of a text that are neither blank nor rules. Code keeps its indentation.
fn paragraphs(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter_map(move |line| {
        let bare = line.trim();
        let is_fence = bare.starts_with("```") || bare.starts_with("~~~");
        is_code ^= is_fence;
        let kept = if is_code && !is_fence { line.trim_end() } else { bare };
        (!bare.chars().all(|c| c.is_whitespace() || "-*_=|:".contains(c))).then_some(kept)
    })
}

impl Exchange {
    /// Time of its prompt, or of its conclusion.
    pub fn at(&self) -> Option<Timestamp> {
        [&self.prompt, &self.conclusion].into_iter().flatten().find_map(|said| said.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_conclusion_keeps_its_first_and_last_paragraph() {
        let middle = "A sentence in the middle of it all.\n\n".repeat(80);
        let text = format!("The cause was a race.\n\n{middle}Shall I commit it?");
        let kept = condensed(&text);
        assert!(kept.starts_with("The cause was a race.\n") && kept.ends_with("…\nShall I commit it?"), "{kept}");
        assert!(kept.chars().count() <= CONCLUSION_CHARS, "{}", kept.len());
        assert_eq!(condensed(" One.\n\n---\n- two\n"), "One.\n- two");
        let code = "So:\n```json\n{\n  \"mast\": {\n    \"jib\": 2\n  }\n}\n```";
        assert_eq!(condensed(&format!(" {code}\n\n")), code);
        assert_eq!(condensed(""), "");
    }

    #[test]
    fn a_colon_announces_only_if_nothing_follows_it() {
        let check = |text: &str, announces: bool| assert_eq!(only_announces(text), announces, "{text:?}");
        check("The mast is up. Here is a summary:\n\n| Part | State |\n|---|---|\n| jib | longer |", false);
        check("These parts changed:\n- the jib", false);
        check("The log says:\n> the jib is too long", false);
        check("It is called so:\n```\nhoist()\n```", false);
        check("| jib | longer |", false);
        check("The mast is up. Now the jib:", true);
        check("The mast is up. Now the jib:\n\n---", true);
        check("Let me look at the jib.", true);
        check("Now the jib uses the long rope.", false);
        check("I'll leave the old mast.", false);
        check("", true);
    }
}
