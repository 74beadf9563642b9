//! Pull requests of a session: those that are still drafts, and the calls that deal with any.

use crate::digest::excerpt::one_line;
use crate::digest::timeline::{Deed, Timeline};
use crate::digest::{Pointed, SHORT_CHARS};
use baton_conversation::item::GitOutput;

/// Returns the last pull request that was opened as a draft and not made ready.
pub(super) fn draft(timeline: &Timeline<'_>) -> Option<Pointed> {
    let runs = |deed: &&Deed<'_>, words: &str| deed.command().is_some_and(|text| text.contains(words));
    let deed = timeline.deeds.iter().rfind(|deed| runs(deed, " --draft") && deed.succeeded())?;
    let made = deed.result?.made().iter().find_map(|made| match made {
        GitOutput::PullRequest(address) => Some(address),
        GitOutput::Commit { .. } => None,
    })?;
    let later = |other: &Deed<'_>| other.began > deed.began && other.succeeded();
    let is_over =
        timeline.deeds.iter().any(|other| later(other) && (runs(&other, "pr ready") || runs(&other, "pr merge")));
    let text = format!("Pull request is a draft: {}", one_line(made, SHORT_CHARS));
    (!is_over).then_some(Pointed { text, line: deed.result_line, at: deed.result_at })
}

/// Returns true if a call opened a pull request, or looked at or merged one.
pub(super) fn is_dealt_with(deed: &Deed<'_>) -> bool {
    let opens = |made: &GitOutput| matches!(made, GitOutput::PullRequest(_));
    deed.result.is_some_and(|result| result.made().iter().any(opens))
        || deed.succeeded()
            && (deed.command().is_some_and(|line| line.contains("gh pr ") || line.contains("glab mr "))
                || ["pull_request", "merge_request"].iter().any(|words| deed.tool().contains(words)))
}
