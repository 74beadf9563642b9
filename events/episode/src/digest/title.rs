//! A session's title: at most eight words that say what was done, and to what.
//!
//! Sources in order: a name that a person gave; the heading of an approved plan; the subject of the session's pull request
//! or first commit; a title that the agent recorded for this conversation; the first prompt with substance, shortened to its
//! request.

mod request;

pub(super) use self::request::{before_log, without_politeness};
use super::TITLE_CHARS;
use super::excerpt::{one_line, without_filter_mark};
use super::outcome::chief;
use super::sentence::plain;
use super::timeline::{Deed, Round, Timeline};
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
const LOOSE_ENDS: [&str; 72] = [
    "a", "an", "the", "of", "to", "in", "on", "for", "with", "by", "from", "at", "as", "that", "which", "is", "are",
    "be", "its", "this", "these", "into", "via", "when", "so", "if", "we", "you", "i", "it", "instead", "rather",
    "than", "not", "then", "after", "before", "without", "between", "per", "like", "using", "all", "any", "some",
    "each", "every", "both", "your", "our", "my", "their", "was", "were", "will", "would", "can", "could", "should",
    "has", "have", "had", "does", "got", "get", "der", "die", "das", "de", "la", "le", "how",
];
/// Words that join two parts.
const CONJUNCTIONS: [&str; 10] = ["and", "or", "but", "&", "+", "because", "while", "und", "et", "y"];
/// Words by which an agent speaks of itself before what it did.
const DOERS: [&str; 9] = ["i", "i've", "i’ve", "have", "successfully", "now", "also", "just", "we"];
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
    (request::request(timeline).or_else(replies).unwrap_or_default(), false)
}

/// Returns the heading of the last plan that a person approved, with the tool or by pasting it.
fn plan_heading(timeline: &Timeline<'_>) -> Option<String> {
    let plans = super::plan::approved(timeline);
    let heading = plans.last()?.text.lines().map(str::trim).find(|line| line.starts_with('#'))?;
    let heading = plain(&without_filter_mark(heading.trim_start_matches(['#', ' '])));
    Some(within_words(without_plan_label(&heading))).filter(|title| !title.is_empty())
}

/// Strips `Plan:` from a heading.
pub(super) fn without_plan_label(heading: &str) -> &str {
    let (label, rest) = heading.split_once([':', '—', '–']).unwrap_or(("", heading));
    let is_label = count(label) <= 2 && label.trim_end().to_lowercase().ends_with("plan");
    if is_label { rest.trim_start() } else { heading }
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
    printed.or_else(|| deed.call?.commit.clone()).or_else(|| {
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

/// Returns a title made of what the agent concluded in a round.
fn conclusion_title(timeline: &Timeline<'_>, round: &Round<'_>) -> Option<String> {
    let said = chief(super::exchange::conclusion(timeline, round)?.text)?;
    let mut rest = said.as_str();
    // What is said is the agent's doing.
    while let Some((first, after)) = rest.split_once(' ')
        && DOERS.contains(&first.to_lowercase().trim_end_matches(','))
    {
        rest = after;
    }
    Some(within_words(rest)).filter(|title| count(title) >= MIN_WORDS)
}

/// Shortens a text to a clause of at most eight words, or to its first eight words.
fn within_words(text: &str) -> String {
    let line = plain(&one_line(text.trim_start_matches(['#', ' ', '-', '*']), TITLE_CHARS * 2)).replace('`', "");
    let line = line.split(' ').map(file_name).collect::<Vec<_>>().join(" ");
    let is_long = |text: &str| count(text) > MAX_WORDS || text.chars().count() > TITLE_CHARS;
    let line = if is_long(&line) { without_brackets(&line) } else { line };
    let mut clause = line.as_str();
    if is_long(clause)
        && let Some((label, rest)) = clause.split_once(": ")
        && count(label) < MIN_WORDS
        && count(rest) >= MIN_WORDS
    {
        clause = rest;
    }
    for end in CLAUSE_ENDS {
        if !is_long(clause) {
            break;
        }
        if let Some(at) = clause.find(end)
            && (count(&clause[..at]) >= MIN_WORDS || (!end.is_ascii() && at > 0))
        {
            clause = &clause[..at];
        }
    }
    let mut words: Vec<&str> = clause.split_whitespace().take(MAX_WORDS).collect();
    let is_cut = count(clause) > MAX_WORDS;
    let length = words.len();
    while words.len() > MIN_WORDS && words.last().is_some_and(|word| if is_cut { is_loose(word) } else { joins(word) })
    {
        words.pop();
    }
    // A conjunction whose second part is cut off joins nothing; a verb without its object says nothing.
    let last = |words: &[&str], back: usize| {
        words.len().checked_sub(back).and_then(|at| words.get(at).copied()).unwrap_or_default().to_owned()
    };
    if is_cut
        && words.len() > MIN_WORDS + 1
        && (joins(&last(&words, 2)) || words.len() < length && last(&words, 2) == "to")
    {
        words.truncate(words.len() - 2);
    }
    let title = words.join(" ");
    let title = title.trim_end_matches(['.', ',', ':', ';', '-', '—', '(', ' ', '。', '?', '？']);
    // A capital may be longer than its letter.
    one_line(&capitalised(title), TITLE_CHARS)
}

/// Returns the name of a file for its path: `@docs/a/b.md` is `b.md`.
fn file_name(word: &str) -> &str {
    let folders = word.trim_start_matches('@').rsplit_once('/').map_or("", |(folders, _)| folders);
    let ends = word.rsplit('/').next().is_some_and(|name| name.trim_end_matches(['.', ',']).contains('.'));
    // `A.md/B.md` are two files.
    let is_path = !folders.is_empty() && !folders.contains('.') && (ends || word.starts_with('@'));
    let name = word.trim_end_matches('/').rsplit('/').next().unwrap_or(word);
    if is_path && name.contains(char::is_alphanumeric) { name } else { word }
}

/// Strips insertions in brackets.
fn without_brackets(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' if depth > 0 || text[..at].ends_with(' ') => depth += 1,
            ')' | ']' if depth > 0 => depth -= 1,
            _ if depth == 0 => out.push(c),
            _ => {}
        }
    }
    // An insertion without an end.
    let out = if depth > 0 { text.to_owned() } else { out };
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns true for a word that must join two parts.
fn joins(word: &str) -> bool {
    CONJUNCTIONS.contains(&word.to_lowercase().trim_end_matches(','))
}

fn is_loose(word: &str) -> bool {
    joins(word) || LOOSE_ENDS.contains(&word.to_lowercase().trim_end_matches(','))
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
            ("Turn the crane (left, right or not at all) to the mark by night", "Turn the crane to the mark by night"),
            ("Paint the mast of the crane red and blue with a brush", "Paint the mast of the crane red"),
            ("Hoist: the winch of the crane stops before its mark", "The winch of the crane stops"),
            ("Turn the crane so far but got", "Turn the crane so far but got"),
            ("Turn the crane and", "Turn the crane"),
            (
                "Update @docs/cranes/winch.md with all that is new there and here",
                "Update winch.md with all that is new there",
            ),
            ("Merge CRANE.md/WINCH.md pairs", "Merge CRANE.md/WINCH.md pairs"),
            ("**Add** `tabs`: one, two", "Add tabs: one, two"),
            ("", ""),
            (
                "修复登录页面的错误，并且添加测试，然后提交代码，最后更新文档说明。",
                "修复登录页面的错误，并且添加测试，然后提交代码，最后更新文档说明",
            ),
        ] {
            assert_eq!(within_words(text), expected, "{text}");
        }
        assert_eq!(without_prefix("✨ feat(ui): add tabs"), "Add tabs");
        assert_eq!(without_prefix("Note: this stays"), "Note: this stays");
        assert_eq!(flag_value("gh pr create --title \"Add tabs\" --body x", "--title").as_deref(), Some("Add tabs"));
    }
}
