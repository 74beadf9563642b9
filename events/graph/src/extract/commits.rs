//! Commits and pull requests that the session made, and commits mentioned by their hash.

use super::{Extractor, FactDraft, text};
use crate::builder::Moment;
use crate::program::{RepositoryChange, repository_changes, with_output};
use crate::{Label, Relation};
use baton_conversation::item::{Body, Call, Item, Outcome, ToolResult, Verdict};

/// Number of digits of a commit hash.
const HASH_DIGITS: std::ops::RangeInclusive<usize> = 7..=40;

/// Returns what a call left in the repository: as its output says, otherwise as the line of a command says that succeeded.
pub(super) fn made(call: &Call, result: &ToolResult) -> Vec<RepositoryChange> {
    // The parameters have only the beginning of a long line.
    let line = call.git_line.as_deref().or_else(|| text(call, "command"));
    let Some(line) = line.filter(|line| line.contains("git ") || line.contains("gh ")) else { return Vec::new() };
    let failed = result.outcome != Outcome::Ok || matches!(result.verdict(), Some(Verdict::Failed(_)));
    let mut told = if failed { Vec::new() } else { repository_changes(line) };
    let is_known = told.iter().any(|made| matches!(made, RepositoryChange::Commit { .. }));
    if let Some(subject) = call.commit.as_ref().filter(|_| !failed && !is_known) {
        told.push(RepositoryChange::Commit { subject: subject.clone(), body: String::new() });
    }
    with_output(told, line, result.made())
}

impl Extractor<'_> {
    /// Adds what commands created.
    pub(super) fn commits(&mut self, items: &[Item]) {
        for item in items {
            let Body::Result(result) = &item.body else { continue };
            let Some((call, of)) = self.calls.get(&*result.id).copied() else { continue };
            for made in made(call, result) {
                self.repository_change(made, of);
            }
        }
    }

    fn repository_change(&mut self, made: RepositoryChange, of: Moment) {
        match made {
            RepositoryChange::Commit { subject, body } => {
                let uuid = self.builder.mention(Label::Commit, &subject, &body, of, 1);
                let more = if body.is_empty() { String::new() } else { format!(". {body}") };
                self.add_session_fact(Relation::Committed, uuid, &format!("committed \"{subject}\"{more}"), of);
            }
            RepositoryChange::PullRequest { title } => {
                let uuid = self.builder.mention(Label::PullRequest, &title, "", of, 1);
                let told = if title.starts_with('#') { title } else { format!("\"{title}\"") };
                self.add_session_fact(Relation::Opened, uuid, &format!("opened pull request {told}"), of);
            }
            RepositoryChange::BranchGone(branch) => {
                let Some(uuid) = self.builder.mention(Label::Branch, &branch, "", of, 1) else { return };
                let gone = self.claim("branch", &branch, "gone");
                let fact = format!("{} deleted the local branch {branch}", self.name);
                let said = FactDraft::new(Relation::Deleted, self.session, uuid).settling(gone);
                self.builder.add(said, &fact, of);
            }
        }
    }

    /// Adds the commits that a person mentions: `commit 1a2b3c4`.
    pub(super) fn hashes(&mut self, text: &str, of: Moment) {
        let mut before = "";
        for word in text.split_whitespace() {
            let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
            let hash = HASH_DIGITS.contains(&bare.len())
                && bare.bytes().all(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase())
                && bare.bytes().any(|byte| byte.is_ascii_digit());
            if hash && before.trim_start_matches('(').eq_ignore_ascii_case("commit") {
                let uuid = self.builder.mention(Label::Commit, bare, "", of, 1);
                self.add_session_fact(Relation::Mentioned, uuid, &format!("mentioned commit {bare}"), of);
            }
            before = word;
        }
    }
}
