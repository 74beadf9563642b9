//! Excerpts of the nearest sessions, for when there is no clear answer.

use super::change_of_mind::change_of_mind;
use super::intent::{Intent, Kind};
use super::quotes::{Quote, Quotes, Speaker};
use super::session_entries::{best_sentences, nearest_error, one_line};
use baton_episode::digest::{Episode, Exchange, Pointed, carrying_sentences, sentences_within};

/// Maximum number of decisions and of open ends, and the minimum share of the subject that a decision has.
const DECISIONS: usize = 2;
const NEAR_DECISION: f32 = 0.3;
const OPEN: usize = 4;
/// Maximum number of characters of all passages, and of any other line.
const QUOTED_CHARS: usize = 1_500;
const LINE_CHARS: usize = 280;
const DECISION_CHARS: usize = 420;
/// If more than one of so many characters is neither a letter, a digit nor a blank, the text is code or data.
const OF_LETTERS: usize = 5;
/// Maximum number of lines of the next session and of any other.
const SOME: usize = 4;
const BRIEF: usize = 2;
/// Minimum share of the subject that an error and what mended it have, if no error is asked for.
const NEAR_ERROR: f32 = 0.5;

/// How much is told of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Of the nearest one.
    Full,
    /// Of the next one: what says most.
    Some,
    /// Of any other.
    Brief,
}

/// Returns what a session has of the subject, a line each, the most telling first: the decisions that hold if a reason is
/// asked for, what is open if that is; the passages that say most, with the request that led to the first one; what
/// failed; how it ended.
pub fn told_of_nearest(episode: &Episode, quotes: &Quotes, asked: &Intent, detail: Detail) -> Vec<Pointed> {
    let is_first = detail == Detail::Full;
    let mut told: Vec<Pointed> = Vec::new();
    let mut add = |label: &str, said: &Pointed, text: String| {
        let is_told = |known: &Pointed| known.text.contains(&*text) || text.contains(strip_label(&known.text));
        if text.chars().any(char::is_alphanumeric) && !told.iter().any(is_told) {
            told.push(Pointed { text: format!("{label}{text}"), ..said.clone() });
        }
    };
    let short = |text: &str| carrying_sentences(text, LINE_CHARS, |sentence| asked.fit_of(sentence));
    // What a person asked for is often the reason.
    let request_for = |line: u64| {
        let said = request_before(episode, line).filter(|said| is_first && asked.fit_of(&said.text) > 0.0)?;
        Some((said, short(&said.text))).filter(|(_, text)| is_prose(text))
    };
    if let Some(said) = change_of_mind(episode, asked) {
        add("asked: ", &said, said.text.clone());
    }
    if asked.is_about("committed") {
        for (label, said) in commit_state(episode) {
            add(label, &said, said.text.clone());
        }
    }
    if !asked.seeks_open() {
        let mut decided: Vec<(f32, &Pointed)> =
            episode.decisions.iter().map(|said| (asked.coverage(&said.text), said)).collect();
        decided.retain(|(fit, _)| *fit >= NEAR_DECISION);
        decided.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (number, (_, said)) in decided.into_iter().take(DECISIONS).enumerate() {
            add("decided: ", said, sentences_within(&said.text, DECISION_CHARS));
            request_for(said.line)
                .filter(|_| number == 0)
                .into_iter()
                .for_each(|(said, text)| add("asked: ", said, text));
        }
    }
    let open = episode.unresolved.iter().chain(&episode.next_steps).take(OPEN);
    let add_open = |add: &mut dyn FnMut(&str, &Pointed, String)| {
        open.clone().for_each(|said| add("open: ", said, one_line(&said.text, LINE_CHARS)));
    };
    if asked.seeks_open() {
        add_open(&mut add);
    }
    let mut left = QUOTED_CHARS;
    for (number, quote) in quotes.passages.iter().enumerate() {
        let text = match mend_of(episode, quote) {
            _ if detail == Detail::Brief => short(&quote.text),
            Some(mended) => format!("{} -> {}", quote.text, sentences_within(&mended.text, LINE_CHARS)),
            None => quote.text.clone(),
        };
        left = left.saturating_sub(text.chars().count());
        if left == 0 {
            break;
        }
        add("", &Pointed { text: String::new(), line: quote.line, at: quote.at }, text);
        let request = request_for(quote.line).filter(|_| number == 0);
        request.into_iter().for_each(|(said, text)| add("asked: ", said, text));
    }
    if is_first {
        if let Some((line, text)) = best_sentences(episode, asked, LINE_CHARS) {
            add("concluded: ", &Pointed { text: String::new(), line, at: None }, text);
        }
        let asks_it = asked.is(Kind::Solved) || asked.is(Kind::Failed);
        let failed = nearest_error(episode, asked).filter(|(fit, _)| asks_it || *fit >= NEAR_ERROR);
        if let Some((error, mended)) = failed.and_then(|(_, error)| Some((error, error.resolution.as_ref()?))) {
            let said = Pointed { text: String::new(), line: error.line, at: error.at };
            let text =
                format!("{} -> {}", one_line(&error.text, LINE_CHARS), sentences_within(&mended.text, LINE_CHARS));
            add("failed: ", &said, text);
        }
        // The end of a session seldom says why something was done.
        if let Some((line, text)) = quotes.last.as_ref().filter(|_| !asked.is(Kind::Decisions)) {
            let said = Pointed { text: String::new(), line: *line, at: None };
            add("ended with: ", &said, sentences_within(text, LINE_CHARS));
        }
        add_open(&mut add);
    } else {
        told.truncate(if detail == Detail::Some { SOME } else { BRIEF });
        // A proposal may never have been carried out: a plan that was refused.
        let is_asked = |line: u64| episode.prompts.iter().any(|prompt| prompt.line == line);
        let is_told = |open: &&Pointed| told.iter().any(|said| said.line == open.line) && !is_asked(open.line);
        let undone = episode.unresolved.iter().filter(is_told);
        let labelled =
            |said: &Pointed| Pointed { text: format!("open: {}", one_line(&said.text, LINE_CHARS)), ..said.clone() };
        let undone: Vec<Pointed> = undone.map(labelled).collect();
        told.extend(undone);
    }
    told
}

/// What a session committed last, and what it left uncommitted.
fn commit_state(episode: &Episode) -> Vec<(&'static str, Pointed)> {
    let last =
        |exchange: &Exchange| [&exchange.prompt, &exchange.conclusion].into_iter().flatten().map(|it| it.line).max();
    let of_exchange = |exchange: &Exchange| Some((last(exchange)?, exchange.commits.last()?.clone()));
    let committed = episode.exchanges.iter().rev().find_map(of_exchange);
    let end = episode.exchanges.iter().filter_map(last).max().unwrap_or_default();
    let left = (!episode.state.uncommitted.is_empty())
        .then(|| ("not committed at its end: ", (end, episode.state.uncommitted.join(", "))));
    let told = committed.map(|said| ("committed: ", said)).into_iter().chain(left);
    told.map(|(label, (line, text))| (label, Pointed { text: one_line(&text, LINE_CHARS), line, at: None })).collect()
}

/// The prompt of the exchange that a line belongs to, unless that is the prompt.
fn request_before(episode: &Episode, line: u64) -> Option<&Pointed> {
    let prompts = episode.exchanges.iter().filter_map(|exchange| exchange.prompt.as_ref());
    prompts.take_while(|prompt| prompt.line <= line).last().filter(|prompt| prompt.line < line)
}

/// What mended the failure that a passage begins with.
fn mend_of<'e>(episode: &'e Episode, quote: &Quote) -> Option<&'e Pointed> {
    let failed = quote.text.split(" → ").next().filter(|_| quote.speaker == Speaker::Failure)?.trim_end_matches('…');
    let mut errors = episode.errors.iter().rev().filter(|error| error.line <= quote.line);
    errors.find(|error| error.text.contains(failed))?.resolution.as_ref()
}

fn is_prose(text: &str) -> bool {
    let others = text.chars().filter(|c| !c.is_alphanumeric() && !c.is_whitespace()).count();
    others * OF_LETTERS <= text.chars().count()
}

fn strip_label(text: &str) -> &str {
    ["decided: ", "open: ", "asked: ", "concluded: ", "committed: ", "not committed at its end: "]
        .iter()
        .find_map(|it| text.strip_prefix(it))
        .unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::super::quotes::tests::{fails, quotes, reply};
    use super::super::{Context, read};
    use super::*;
    use baton_conversation::record::Timestamp;
    use baton_episode::digest::{ErrorLine, Exchange};

    fn said(line: u64, text: &str) -> Pointed {
        Pointed { text: text.to_owned(), line, at: None }
    }

    fn told(question: &str, detail: Detail) -> Vec<String> {
        let around = Context { projects: &[], now: Timestamp(0), zone: baton_protocol::Zone::UTC };
        let exchange = Exchange {
            prompt: Some(said(1, "The heron cache loses entries, please move it.")),
            conclusion: Some(said(9, "The heron cache lies on the disk now.")),
            ..Exchange::default()
        };
        let episode = Episode {
            decisions: vec![said(5, "No retries."), said(6, "Keep the heron cache on the disk: memory is scarce.")],
            unresolved: vec![said(9, "Not pushed.")],
            exchanges: vec![exchange],
            ..Episode::default()
        };
        let quotes = Quotes { last: Some((9, "All of it is done.".to_owned())), ..Quotes::default() };
        let told = told_of_nearest(&episode, &quotes, &read(question, &around), detail);
        told.iter().map(|said| format!("{} {}", said.line, said.text)).collect()
    }

    #[test]
    fn what_is_asked_for_leads() {
        let decided = "6 decided: Keep the heron cache on the disk: memory is scarce.";
        let concluded = "9 concluded: The heron cache lies on the disk now.";
        let asked = "1 asked: The heron cache loses entries, please move it.";
        assert_eq!(
            told("why is the heron cache slow", Detail::Full),
            [decided, asked, concluded, "9 open: Not pushed."]
        );
        assert_eq!(told("why is the heron cache slow", Detail::Brief), [decided]);
        let open = told("what is still open about the heron cache", Detail::Full);
        assert_eq!(open, ["9 open: Not pushed.", concluded, "9 ended with: All of it is done."]);
        assert_eq!(told("numbat", Detail::Brief), Vec::<String>::new());
    }

    #[test]
    fn a_failure_carries_what_mended_it() {
        let asked = read("heron test", &Context { projects: &[], now: Timestamp(0), zone: baton_protocol::Zone::UTC });
        let quotes =
            quotes("heron test", &[fails(3, "heron.test: 1 is not 2"), reply(4, "The heron test must expect 1.")]);
        let error = |line: u64| ErrorLine {
            text: "make: heron.test: 1 is not 2".to_owned(),
            line,
            at: None,
            resolution: Some(said(5, "by edits to heron.test")),
        };
        let told = |line: u64, detail: Detail| {
            let episode = Episode { errors: vec![error(line)], ..Episode::default() };
            told_of_nearest(&episode, &quotes, &asked, detail).remove(0).text
        };
        let line = "heron.test: 1 is not 2 → The heron test must expect 1.";
        assert_eq!(told(3, Detail::Some), format!("{line} -> by edits to heron.test"));
        assert_eq!(told(9, Detail::Some), line);
    }

    #[test]
    fn what_is_quoted_and_was_not_done_is_told_as_open() {
        let decisions = vec![said(6, "Keep the heron cache on the disk.")];
        let episode = |line: u64| Episode {
            decisions: decisions.clone(),
            unresolved: vec![said(line, "Plan not approved: Heron cache")],
            ..Episode::default()
        };
        let around = Context { projects: &[], now: Timestamp(0), zone: baton_protocol::Zone::UTC };
        let asked = read("why is the heron cache on the disk", &around);
        let told = |line: u64| told_of_nearest(&episode(line), &Quotes::default(), &asked, Detail::Brief);
        assert_eq!(told(6).last().map(|said| said.text.as_str()), Some("open: Plan not approved: Heron cache"));
        assert_eq!(told(7).len(), 1);
    }

    #[test]
    fn whether_it_was_committed_is_told_if_that_is_asked() {
        let around = Context { projects: &[], now: Timestamp(0), zone: baton_protocol::Zone::UTC };
        let mut episode = Episode {
            exchanges: vec![Exchange {
                conclusion: Some(said(9, "Done.")),
                commits: vec!["heron: a cache".to_owned()],
                ..Exchange::default()
            }],
            ..Episode::default()
        };
        episode.state.uncommitted = vec!["src/heron.rs".to_owned()];
        let told = |question: &str| {
            let told = told_of_nearest(&episode, &Quotes::default(), &read(question, &around), Detail::Some);
            told.into_iter().map(|said| said.text).collect::<Vec<_>>()
        };
        let expected = ["committed: heron: a cache", "not committed at its end: src/heron.rs"];
        assert_eq!(told("did the heron cache get committed"), expected);
        assert_eq!(told("why is the heron cache slow"), [""; 0]);
    }

    #[test]
    fn code_and_data_are_no_prose() {
        assert!(is_prose("Move the cache (it is slow), please.") && is_prose(""));
        assert!(!is_prose("{\"a\": {\"b\": 1, \"c\": [\"d\"]}}"));
    }
}
