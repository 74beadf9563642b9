//! Issues that the session filed in a tracker and did not close.

use std::collections::BTreeSet;

use super::command::{IssueAct, issue_acts};
use super::excerpt::{one_line, without_filter_mark};
use super::timeline::{Deed, Timeline};
use super::{LINE_CHARS, Pointed, SHORT_CHARS};

/// Maximum number of titles that are named.
const MAX_NAMED: usize = 3;

/// Returns the issues that are open at the end, as one entry. The id that the tracker gave is not known: an id that is
/// closed belongs to an issue of the session if nobody named it before the first one was filed.
pub(super) fn left_open(timeline: &Timeline<'_>) -> Option<Pointed> {
    let ran = timeline.deeds.iter().filter(|deed| deed.succeeded() && !deed.aside);
    let acts =
        ran.flat_map(|deed| issue_acts(deed.command().unwrap_or_default()).into_iter().map(move |act| (act, deed)));
    let acts: Vec<_> = acts.skip_while(|(act, _)| !matches!(act, IssueAct::File { .. })).collect();
    let first = acts.first()?.1.began;
    let prompts = timeline.rounds.iter().filter_map(|round| round.prompt.as_ref());
    let prompts = prompts.filter(|prompt| prompt.place < first).map(|prompt| prompt.text);
    let commands = timeline.deeds.iter().filter(|deed| deed.began < first).filter_map(Deed::command);
    let known: BTreeSet<&str> = prompts.chain(commands).flat_map(words).collect();
    let mut open: Vec<(String, String, &Deed<'_>)> = Vec::new();
    for (act, deed) in acts {
        match act {
            IssueAct::File { program, title } => open.push((program, title, deed)),
            IssueAct::Close(ids) => {
                let own = ids.iter().filter(|id| !known.contains(id.as_str())).count();
                open.drain(..own.min(open.len()));
            }
        }
    }
    let (.., last) = open.last()?;
    let programs: BTreeSet<String> = open.iter().map(|(program, ..)| format!("`{program}`")).collect();
    let programs = programs.into_iter().collect::<Vec<_>>().join(", ");
    let shown = |(_, title, _): &(_, String, _)| one_line(&without_filter_mark(title), SHORT_CHARS);
    let mut known = BTreeSet::new();
    let mut titles: Vec<String> = open.iter().map(shown).filter(|title| known.insert(title.clone())).collect();
    let more = titles.len().saturating_sub(MAX_NAMED);
    titles.truncate(MAX_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let text =
        one_line(&format!("Issue filed with {programs} and not closed: {}{more}", titles.join("; ")), LINE_CHARS);
    Some(Pointed { text, line: last.line, at: last.at })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_border = |c: char| c.is_whitespace() || "\"'`=,;()<>".contains(c);
    text.split(is_border).map(|word| word.trim_matches(['.', ':'])).filter(|word| !word.is_empty())
}
