//! A session's title: at most eight words that say what was done, and to what.
//!
//! Sources in order: a name that a person gave; the heading of an approved plan; the subject of the session's pull request
//! or first commit; a title that the agent recorded for this conversation; the first prompt with substance, shortened to its
//! request.

use super::excerpt::{one_line, without_filter_mark};
use super::sentence::{plain, sentences};
use super::timeline::{Deed, Round, Timeline};
use super::{TITLE_CHARS, is_for_the_harness};
use crate::lexicon::{Sign, Signs};
use baton_conversation::item::{GitOutput, TitleSource};

/// Maximum number of words.
const MAX_WORDS: usize = 8;
/// Fewest words that a clause must have to stand alone as a title.
const MIN_WORDS: usize = 3;
/// Maximum number of words of a prompt that only gives an order (`commit all`).
const ORDER_WORDS: usize = 4;
/// Marks that end the clause of a request, from the most to the least telling.
const CLAUSE_ENDS: [&str; 22] = [
    ". ",
    "? ",
    "! ",
    "; ",
    ": ",
    " - ",
    " — ",
    " – ",
    " (",
    " so that ",
    " because ",
    " since ",
    ", but ",
    ", and ",
    " which ",
    ", ",
    " when ",
    " if ",
    "。",
    "，",
    "、",
    "；",
];
/// Words that must not be the last one.
const LOOSE_ENDS: [&str; 40] = [
    "a", "an", "the", "of", "to", "in", "on", "for", "and", "or", "with", "by", "from", "at", "as", "that", "which",
    "is", "are", "be", "its", "this", "these", "into", "via", "when", "so", "if", "we", "you", "i", "it", "der", "die",
    "das", "und", "de", "la", "le", "et",
];
/// Words that lead to a request wherever they stand.
const REQUESTS: [&str; 18] = [
    "can you please",
    "could you please",
    "can you",
    "could you",
    "would you",
    "i'd like you to",
    "i would like to",
    "i'd like to",
    "i'd like your help with",
    "i want you to",
    "i want to",
    "i need you to",
    "i need to",
    "we need to",
    "please",
    "your task is to",
    "kannst du",
    "help me",
];
/// Words before a request or report that say nothing.
const LEADS: [&str; 22] = [
    "ok",
    "okay",
    "so",
    "also",
    "now",
    "please",
    "let's",
    "lets",
    "we should",
    "i think we should",
    "i still have",
    "i have",
    "i've",
    "i got",
    "i get",
    "there is",
    "there are",
    "there's",
    "it looks like",
    "looks like",
    "oh",
    "well",
];
/// Words that name no matter.
const GENERAL: [&str; 30] = [
    "investigate",
    "issue",
    "issues",
    "problem",
    "error",
    "errors",
    "this",
    "that",
    "these",
    "check",
    "look",
    "please",
    "implement",
    "following",
    "plan",
    "here",
    "take",
    "into",
    "with",
    "have",
    "work",
    "works",
    "start",
    "continue",
    "going",
    "make",
    "little",
    "something",
    "then",
    "what",
];
/// Number of first sentences of a prompt in which the request is looked for.
const MAX_SENTENCES: usize = 8;

/// Returns the title, and true if somebody gave it; an empty one if nothing was asked or said.
pub(super) fn title(timeline: &Timeline<'_>) -> (String, bool) {
    let named = |source| timeline.title.as_deref().filter(|_| timeline.title_source == Some(source));
    if let Some(name) = named(TitleSource::Person) {
        return (one_line(name, TITLE_CHARS), true);
    }
    if let Some(heading) = plan_heading(timeline) {
        return (heading, true);
    }
    if let Some(subject) = made(timeline) {
        return (subject, true);
    }
    let recorded = named(TitleSource::Model).or_else(|| named(TitleSource::Summary));
    if let Some(recorded) = recorded.map(within_words).filter(|text| !text.is_empty()) {
        return (recorded, true);
    }
    let replies =
        || timeline.rounds.iter().find_map(|round| round.replies.first()).map(|reply| within_words(reply.text));
    (request(timeline).or_else(replies).unwrap_or_default(), false)
}

/// Returns the heading of the last plan that a person approved, with the tool or by pasting it.
fn plan_heading(timeline: &Timeline<'_>) -> Option<String> {
    let mut pasted =
        timeline.rounds.iter().filter_map(|round| round.prompt).filter_map(|said| super::plan::pasted(said.text));
    let approved =
        timeline.deeds.iter().filter(|deed| super::plan::is_presented(deed) && deed.succeeded() && !deed.aside);
    let plan = pasted.next_back().or_else(|| approved.filter_map(|deed| deed.input("plan")).next_back())?;
    let heading = plan.lines().map(str::trim).find(|line| line.starts_with('#'))?;
    let heading = plain(&without_filter_mark(heading.trim_start_matches(['#', ' '])));
    let (label, rest) = heading.split_once([':', '—', '–']).unwrap_or(("", &heading));
    let is_label = count(label) <= 2 && label.trim_end().to_lowercase().ends_with("plan");
    Some(within_words(if is_label { rest } else { &heading })).filter(|title| !title.is_empty())
}

/// Returns the title of the session's pull request, or the subject of its first commit.
fn made(timeline: &Timeline<'_>) -> Option<String> {
    let own = || timeline.deeds.iter().filter(|deed| !deed.aside && deed.result.is_some());
    let pulls = own().filter(|deed| deed.result.is_some_and(|result| result.made().iter().any(is_pull_request)));
    let title =
        |deed: &Deed<'_>| flag_value(deed.command()?, "--title").map(|title| within_words(&without_prefix(&title)));
    let pull = pulls.filter_map(title).next();
    let subjects = own().filter(|deed| deed.commits() && deed.succeeded()).filter_map(commit_subject);
    let subjects = subjects.map(|subject| within_words(&without_prefix(&subject)));
    pull.or_else(|| subjects.into_iter().find(|subject| count(subject) >= MIN_WORDS && !subject.ends_with('…')))
}

/// Returns the subject of the commit that a command made: as git printed it, or as the command line says. One that the
/// filter has cut ends with `…` after its last whole word.
pub(super) fn commit_subject(deed: &Deed<'_>) -> Option<String> {
    let printed = deed.result?.made().iter().find_map(|made| match made {
        GitOutput::Commit { subject, .. } => Some(subject.clone()),
        GitOutput::PullRequest(_) => None,
    });
    printed.or_else(|| {
        let message = ["-m", "-am", "--message"].iter().find_map(|flag| flag_value(deed.command()?, flag))?;
        let document = message.strip_prefix("$(cat <<").and_then(|rest| rest.split_once('\n')).map(|(_, body)| body);
        let subject = document.unwrap_or(&message).trim_start().lines().next()?.trim();
        let whole = match subject.strip_suffix('…') {
            Some(cut) => format!("{}…", cut.rsplit_once(' ')?.0.trim_end()),
            None => subject.to_owned(),
        };
        Some(whole).filter(|subject| !subject.is_empty())
    })
}

fn is_pull_request(made: &GitOutput) -> bool {
    matches!(made, GitOutput::PullRequest(_))
}

/// Returns the quoted value of a flag.
fn flag_value(command: &str, flag: &str) -> Option<String> {
    let rest = command.split_once(flag)?.1.trim_start_matches(['=', ' ']);
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let inner = &rest[1..];
    let is_end = |at: &usize| quote == '\'' || !inner[..*at].ends_with('\\');
    let end = inner.match_indices(quote).map(|(at, _)| at).find(is_end).unwrap_or(inner.len());
    let value = inner[..end].replace("\\\"", "\"");
    Some(without_filter_mark(&value)).filter(|value| !value.trim().is_empty())
}

/// Strips the type of a conventional commit and a picture: `✨ feat(ui): add tabs` is `Add tabs`.
fn without_prefix(subject: &str) -> String {
    let bare = subject.trim_start_matches(|c: char| !c.is_alphanumeric());
    let (label, rest) = bare.split_once(": ").unwrap_or(("", bare));
    let kind = label.split(['(', '!']).next().unwrap_or_default();
    let is_kind = !kind.is_empty() && kind.len() <= 8 && kind.bytes().all(|b| b.is_ascii_lowercase());
    capitalised(if is_kind { rest } else { bare })
}

/// Returns the first request with substance for which something was changed, or else the first one, shortened to the clause
/// that asks.
fn request(timeline: &Timeline<'_>) -> Option<String> {
    let typed = || timeline.rounds.iter().filter_map(|round| Some((round, round.prompt?.text.trim())));
    let prompts = || typed().filter(|(_, text)| !text.is_empty() && !is_for_the_harness(text));
    // A question at the beginning is seldom what the session came to.
    let only_asked = |(round, text): &(&Round<'_>, &str)| {
        let changed = timeline.deeds[round.deeds.clone()].iter().any(|deed| deed.succeeded() && deed.edit().is_some());
        let signs = Signs::read(without_lead(text));
        !changed && (signs.asks() || signs.begins(Sign::Order)) && round.deeds.end < timeline.deeds.len()
    };
    let telling = || prompts().filter(|(_, text)| has_substance(text));
    let (_, text) = telling()
        .find(|it| !only_asked(it))
        .or_else(|| telling().next())
        .or_else(|| prompts().next())
        .or_else(|| typed().next())?;
    Some(within_words(&clause(text))).filter(|title| !title.is_empty())
}

/// Returns the clause that asks: one with a request, else one that reports trouble, else the first.
fn clause(text: &str) -> String {
    let own = sentences(text).into_iter().filter(|sentence| !sentence.quoted).take(MAX_SENTENCES);
    let sentences: Vec<String> =
        own.map(|sentence| sentence.text.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let clauses = sentences.iter().flat_map(|sentence| sentence.split(" and ").flat_map(|part| part.split(", but ")));
    let clauses: Vec<(&str, Signs)> = clauses.map(without_lead).map(|clause| (clause, Signs::read(clause))).collect();
    let telling = |clause: &&(&str, Signs)| count(clause.0) >= MIN_WORDS && !is_general(clause.0);
    let asks =
        |clause: &&(&str, Signs)| (clause.1.begins(Sign::Direct) || clause.1.begins(Sign::Order)) && telling(clause);
    let troubles = |clause: &&(&str, Signs)| clause.1.has(Sign::Trouble) && telling(clause);
    let chosen =
        clauses.iter().find(asks).or_else(|| clauses.iter().find(troubles)).or_else(|| clauses.iter().find(telling));
    let chosen = chosen.or(clauses.first()).map_or("", |(clause, _)| clause);
    // The rest of its sentence, unless that is too long.
    let whole = sentences.iter().find_map(|sentence| sentence.find(chosen).map(|at| &sentence[at..]));
    whole.filter(|_| !chosen.is_empty()).map_or_else(|| text.to_owned(), str::to_owned)
}

/// Returns true if a clause asks for something without naming it: `investigate and fix this bug`.
fn is_general(clause: &str) -> bool {
    let words = clause.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.clone().all(|word| word.len() <= 3 || GENERAL.contains(&word.to_lowercase().as_str())) && clause.is_ascii()
}

/// Returns true if a prompt says what the session is about: it is no mere agreement or order, and no path.
fn has_substance(text: &str) -> bool {
    let words = count(text);
    let signs = Signs::read(text);
    let wide = !text.is_ascii() && text.chars().count() >= 6;
    let only_order = words <= ORDER_WORDS && (signs.begins(Sign::Order) || signs.begins(Sign::Assent));
    (words >= MIN_WORDS || wide) && !only_order && !super::is_courtesy(text)
}

/// Strips a greeting, politeness and everything else before the request.
fn without_lead(text: &str) -> &str {
    let text = super::without_salutation(text).trim_start();
    let lower = text.to_lowercase();
    if lower.len() != text.len() {
        return text;
    }
    let ends = REQUESTS.iter().filter_map(|lead| {
        let end = lower.find(lead)? + lead.len();
        let begins = lower[..end - lead.len()].chars().next_back().is_none_or(|c| !c.is_alphanumeric());
        let follows = lower[end..].starts_with([' ', ',']) && !lower[end..].starts_with(" not ");
        (begins && follows && count(&text[end..]) >= 2).then_some(end)
    });
    let mut rest = ends.min().map_or(text, |end| text[end..].trim_start_matches([' ', ',']));
    for _ in 0..4 {
        let lower = rest.to_lowercase();
        let lead =
            LEADS.iter().find(|lead| lower.strip_prefix(**lead).is_some_and(|after| after.starts_with([' ', ','])));
        let Some(after) = lead.and_then(|lead| rest.get(lead.len()..)) else { break };
        let after = after.trim_start_matches([' ', ',']);
        if after.is_empty() || after.starts_with("not ") {
            break;
        }
        rest = after;
    }
    rest
}

/// Shortens a text to a clause of at most eight words, or to its first eight words.
fn within_words(text: &str) -> String {
    let line = plain(&one_line(text.trim_start_matches(['#', ' ', '-', '*']), TITLE_CHARS * 2)).replace('`', "");
    let mut clause = line.as_str();
    for end in CLAUSE_ENDS {
        if count(clause) <= MAX_WORDS && clause.chars().count() <= TITLE_CHARS {
            break;
        }
        if let Some(at) = clause.find(end)
            && (count(&clause[..at]) >= MIN_WORDS || (!end.is_ascii() && at > 0))
        {
            clause = &clause[..at];
        }
    }
    let mut words: Vec<&str> = clause.split_whitespace().take(MAX_WORDS).collect();
    if count(clause) > MAX_WORDS {
        while words.len() > MIN_WORDS && words.last().is_some_and(|word| is_loose(word)) {
            words.pop();
        }
    }
    let title = words.join(" ");
    let title = title.trim_end_matches(['.', ',', ':', ';', '-', '—', '(', ' ', '。']);
    // A capital may be longer than its letter.
    one_line(&capitalised(title), TITLE_CHARS)
}

fn is_loose(word: &str) -> bool {
    LOOSE_ENDS.contains(&word.to_lowercase().trim_end_matches(','))
}

fn count(text: &str) -> usize {
    text.split_whitespace().count()
}

fn capitalised(text: &str) -> String {
    let mut chars = text.trim().chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_a_clause_of_at_most_eight_words() {
        for (text, expected) in [
            ("Update the home page so that it mentions that it's open source.", "Update the home page"),
            ("Fix the login", "Fix the login"),
            ("a b c d e f g of the h i", "A b c d e f g"),
            ("**Add** `tabs`: one, two", "Add tabs: one, two"),
            ("", ""),
            (
                "修复登录页面的错误，并且添加测试，然后提交代码，最后更新文档说明。",
                "修复登录页面的错误，并且添加测试，然后提交代码，最后更新文档说明",
            ),
        ] {
            assert_eq!(within_words(text), expected, "{text}");
        }
        assert_eq!(without_lead("Hey Claude, can you please fix the tests?"), "fix the tests?");
        assert_eq!(without_prefix("✨ feat(ui): add tabs"), "Add tabs");
        assert_eq!(without_prefix("Note: this stays"), "Note: this stays");
        assert_eq!(flag_value("gh pr create --title \"Add tabs\" --body x", "--title").as_deref(), Some("Add tabs"));
    }
}
