//! Choices that commands show: a commit takes only some files, overrides a safeguard, or something is deleted to get it
//! through.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use super::agent_choice::{Found, MAX_REPLY_BYTES, commits, deeds_until, pointed};
use super::command::{GitAct, Paths, Touch, git_steps, overriding_option};
use super::excerpt::{head, one_line};
use super::file;
use super::sentence::{asks, plain, sentences};
use super::stated::{self, Statement};
use super::timeline::{Deed, Message, Timeline};
use super::{DECISION_CHARS, Pointed};
use crate::lexicon::{Sign, Signs};
use baton_conversation::item::Outcome;

/// Stand around the files that a commit leaves out.
const LEAVE: &str = "Leave ";
const OUT: &str = " out of the commit";
/// Maximum number of files that are named for a commit that takes only some.
const MAX_FILES: usize = 3;

/// Returns what the agent says of the first commit that takes only some files: with them, and those that the last status
/// lists besides, if there was one. Where it says nothing, the files that it leaves tell it: those that the session did
/// not change. A commit that also takes what others staged limits nothing.
pub(super) fn limited_commit(timeline: &Timeline<'_>) -> Option<Found> {
    let listed = timeline.deeds.iter().filter_map(|deed| Some((deed.began, listed_files(deed)?)));
    let listed: Vec<_> = listed.collect();
    let staged: Vec<(usize, Vec<String>)> =
        timeline.deeds.iter().filter_map(|deed| Some((deed.began, staged_files(deed)?))).collect();
    // A status names its files from where it ran.
    let is_below = |path: &str, above: &str| {
        path.strip_prefix(above.trim_end_matches('/')).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let takes = |named: &str, file: &str| {
        is_below(file, named) || named.ends_with(&format!("/{file}")) || file.ends_with(&format!("/{named}"))
    };
    let is_taken = |file: &str| staged.iter().flat_map(|(_, named)| named).any(|named| takes(named, file));
    // What the last status before a place lists and no commit takes.
    let left_at = |place: usize| -> Option<Vec<&str>> {
        let last = listed.partition_point(|(status, _)| *status < place).checked_sub(1)?;
        Some(listed[last].1.iter().copied().filter(|file| !is_taken(file)).collect())
    };
    // A commit of more files than are known to be staged may have them.
    let trees = || timeline.deeds.iter().filter_map(|deed| deed.result?.work_tree());
    let takes_more = LazyCell::new(|| {
        let listed = trees().filter_map(|tree| tree.files.as_ref()).flat_map(|files| &files.staged);
        let known: BTreeSet<&String> = staged.iter().flat_map(|(_, named)| named).chain(listed).collect();
        trees().any(|tree| tree.committed as usize > known.len())
    });
    let name = |path: &str| path.rfind('/').map_or(0, |at| at + 1);
    let mut changed: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (path, ..) in timeline.deeds.iter().flat_map(file::written_files) {
        changed.entry(&path[name(path)..]).or_default().insert(path);
    }
    let is_changed =
        |file: &str| changed.get(&file[name(file)..]).is_some_and(|paths| paths.iter().any(|path| takes(path, file)));
    if takes_what_others_staged(timeline, &staged, |file| is_taken(file) || is_changed(file)) {
        return None;
    }
    let told = |text: &str, named: &[String], left: &[&str]| {
        let all: BTreeSet<&str> = named.iter().map(String::as_str).chain(left.iter().copied()).collect();
        let text = format!("{text}: {}", told_apart(named.iter().map(String::as_str), &all));
        let without = || format!("; not {}", told_apart(left.iter().copied(), &all));
        text + &if left.is_empty() { String::new() } else { without() }
    };
    let said = timeline.rounds.iter().find_map(|round| {
        round.replies.iter().enumerate().find_map(|(index, reply)| {
            let deeds = deeds_until(timeline, round, reply, round.replies.get(index + 1));
            let (first, last) = (deeds.first()?.began, deeds.last()?.began);
            let (began, named) = staged.get(staged.partition_point(|(began, _)| *began < first))?;
            if *began > last {
                return None;
            }
            let sentences = sentences(head(reply.text, MAX_REPLY_BYTES));
            let said = sentences.iter().rev().find(|sentence| Statement::limits_what_is_done(sentence.text))?;
            let left = left_at(*began).filter(|_| !*takes_more);
            if left.as_ref().is_some_and(Vec::is_empty) {
                return None;
            }
            let text = plain(said.text);
            let text = stated::without_announcement(&text);
            let text = told(text.trim_end_matches([':', '.']), named, &left.unwrap_or_default());
            Some(Found { place: reply.place, said: pointed(&text, reply), by_person: false })
        })
    });
    said.or_else(|| {
        let takes_all = |deed: &Deed<'_>| deed.succeeded() && deed.git_line().is_some_and(stages_all);
        let first = staged.first()?.0;
        let deed = timeline.deeds.iter().find(|deed| deed.began == first)?;
        let left: Vec<&str> = left_at(first)?.into_iter().filter(|file| !is_changed(file)).collect();
        let is_committed = timeline.deeds.iter().any(|deed| deed.began >= first && commits(deed));
        if left.is_empty() || !is_committed || *takes_more || timeline.deeds.iter().any(takes_all) {
            return None;
        }
        // Not "only": what was staged before is committed too.
        let named = staged.iter().flat_map(|(_, named)| named).map(String::as_str);
        let left = told_apart(left.iter().copied(), &named.chain(left.iter().copied()).collect());
        let text = one_line(&format!("{LEAVE}{left}{OUT}"), DECISION_CHARS);
        let said = Pointed { text, line: deed.line, at: deed.at };
        Some(Found { place: deed.began, said, by_person: false })
    })
}

/// Returns true if a commit takes files that the status before it lists as staged and that are not the session's own; one of
/// as few files as were named for it does not.
fn takes_what_others_staged(
    timeline: &Timeline<'_>,
    staged: &[(usize, Vec<String>)],
    is_own: impl Fn(&str) -> bool,
) -> bool {
    let mut others = false;
    let mut since = 0;
    timeline.deeds.iter().any(|deed| {
        let tree = deed.result.and_then(|result| result.work_tree());
        let takes = commits(deed) && others && {
            let named = staged.iter().filter(|(began, _)| (since..=deed.began).contains(began));
            let named: BTreeSet<&String> = named.flat_map(|(_, named)| named).collect();
            tree.is_none_or(|tree| tree.committed == 0 || tree.committed as usize > named.len())
        };
        if commits(deed) {
            (others, since) = (false, deed.began + 1);
        } else if let Some(files) = tree.and_then(|tree| tree.files.as_ref()) {
            others = files.staged.iter().any(|file| !is_own(file));
        }
        takes
    })
}

/// Returns true for a decision that only says which files go into one commit, as [`limited_commit`] tells it.
pub fn is_commit_scope(decision: &str) -> bool {
    let (said, files) = decision.split_once(": `").unwrap_or((decision, ""));
    // Names of files, and nothing else but what `limited_commit` puts between them.
    let mut between = files.split('`').skip(1).step_by(2);
    let are_names =
        !files.is_empty() && between.all(|text| matches!(text.trim_start_matches(" and others"), "" | ", " | "; not "));
    let lower = said.to_lowercase();
    let is_of_commit = || ["commit", "stage"].iter().any(|word| lower.contains(word)) || files.contains("; not `");
    decision.starts_with(LEAVE) && decision.ends_with(OUT)
        || are_names && is_of_commit() && Signs::read(said).has(Sign::Restrict)
}

/// Returns the changed files that a status lists and that are not staged yet.
fn listed_files<'a>(deed: &Deed<'a>) -> Option<Vec<&'a str>> {
    Some(deed.result?.work_tree()?.files.as_ref()?.unstaged.iter().map(String::as_str).collect())
}

/// Returns the files that a command line names for the next commit, unless it takes all.
fn staged_files(deed: &Deed<'_>) -> Option<Vec<String>> {
    let line = deed.git_line().filter(|line| deed.succeeded() && !stages_all(line))?;
    let mut files: Vec<String> = Vec::new();
    for step in git_steps(line) {
        if let GitAct::Stage(Paths::Named(named)) | GitAct::Commit { also: Some(Paths::Named(named)), .. } = step.act {
            files.extend(named);
        }
    }
    (!files.is_empty()).then_some(files)
}

/// Returns true if the next commit takes everything.
fn stages_all(line: &str) -> bool {
    git_steps(line).iter().any(|step| match &step.act {
        GitAct::Stage(paths) | GitAct::Commit { also: Some(paths), .. } => match paths {
            Paths::All => true,
            Paths::Named(named) => named.iter().any(|path| matches!(path.as_str(), "." | "./")),
        },
        _ => false,
    })
}

/// Returns the names of the first files, with so much of the directory that no other has the same.
fn told_apart<'p>(paths: impl Iterator<Item = &'p str>, all: &BTreeSet<&str>) -> String {
    let paths: BTreeSet<&str> = paths.collect();
    let ending = |path: &str, parts: usize| {
        let from = path.trim_end_matches('/').rmatch_indices('/').nth(parts).map_or(0, |(at, _)| at + 1);
        path.get(from..).unwrap_or_default().to_owned()
    };
    let is_shared =
        |name: &String| all.iter().filter(|path| **path == *name || path.ends_with(&format!("/{name}"))).count() > 1;
    let name = |path: &&str| {
        let names = (0..path.matches('/').count()).map(|parts| ending(path, parts));
        let name = names.into_iter().find(|name| !is_shared(name));
        format!("`{}`", name.as_deref().unwrap_or(path))
    };
    let names: Vec<String> = paths.iter().take(MAX_FILES).map(name).collect();
    // Not how many: a status may have been cut.
    let others = if paths.len() > MAX_FILES { " and others" } else { "" };
    format!("{}{others}", names.join(", "))
}

/// Returns what the agent says before the first command of a kind that overrides a safeguard.
pub(super) fn overrides(timeline: &Timeline<'_>) -> Vec<Found> {
    let mut flags: BTreeSet<&str> = BTreeSet::new();
    let mut found = Vec::new();
    for round in &timeline.rounds {
        let at_once = timeline.deeds[round.deeds.clone()].first();
        // An explicit request decides.
        let asked = round
            .prompt
            .filter(|_| round.replies.first().is_none_or(|it| at_once.is_some_and(|at| at.began < it.place)));
        if let Some((prompt, flag)) = asked.zip(at_once.and_then(overriding_flag))
            && prompt.text.len() <= DECISION_CHARS
            && flag.rsplit(' ').next().is_some_and(|flag| prompt.text.contains(flag))
            && flags.insert(flag)
        {
            let said = pointed(&format!("User: {}", prompt.text), &prompt);
            found.push(Found { place: prompt.place, said, by_person: true });
        }
        for (index, reply) in round.replies.iter().enumerate() {
            let deeds = deeds_until(timeline, round, reply, round.replies.get(index + 1));
            let flag = deeds.first().and_then(overriding_flag).filter(|flag| flags.insert(flag));
            let Some(flag) = flag else { continue };
            found.extend(announced(reply, flag));
        }
    }
    found
}

/// Returns the flag by which a command overrode a safeguard.
fn overriding_flag(deed: &Deed<'_>) -> Option<&'static str> {
    deed.git_line().filter(|_| deed.succeeded()).and_then(overriding_option)
}

/// Returns the last words of a reply with the command that they lead to.
fn announced(reply: &Message<'_>, command: &str) -> Option<Found> {
    let sentences = sentences(head(reply.text, MAX_REPLY_BYTES));
    let last = &sentences[sentences.len().saturating_sub(2)..];
    let text = last.iter().map(|sentence| plain(sentence.text)).collect::<Vec<_>>().join(" ");
    // Shortening then cuts the end of the sentence, not the command.
    let told = format!("`{command}`: {}", text.trim_end_matches([':', '.']));
    (!text.is_empty()).then(|| Found { place: reply.place, said: pointed(&told, reply), by_person: false })
}

/// Returns what the agent says before it deletes what it did not write, between a commit that failed and one that did not.
pub(super) fn deletions_before_commit(timeline: &Timeline<'_>) -> Vec<Found> {
    let tries = |deed: &Deed<'_>| deed.commits() && !deed.aside;
    let written = timeline.deeds.iter().flat_map(file::written_files).map(|(path, ..)| timeline.relative_path(path));
    let written: BTreeSet<&str> = written.collect();
    let mut found = Vec::new();
    for round in &timeline.rounds {
        let deeds = &timeline.deeds[round.deeds.clone()];
        let Some(failed) = deeds.iter().find(|deed| tries(deed) && deed.outcome() == Some(Outcome::Failed)) else {
            continue;
        };
        let Some(passed) = deeds.iter().rfind(|deed| commits(deed)) else { continue };
        for (index, reply) in round.replies.iter().enumerate() {
            let deeds = deeds_until(timeline, round, reply, round.replies.get(index + 1));
            // If the agent asks, the person decides.
            if asks(reply.text) {
                continue;
            }
            let between = |deed: &&Deed<'_>| (failed.began..passed.began).contains(&deed.began);
            let removed = deeds.iter().filter(between).find_map(|deed| removed(deed, &written));
            found.extend(removed.and_then(|path| announced(reply, &format!("rm {}", path.trim_end_matches('/')))));
        }
    }
    found
}

/// Returns the first path that a command deleted and the session did not write.
fn removed<'t>(deed: &'t Deed<'_>, written: &BTreeSet<&str>) -> Option<&'t str> {
    let is_written = |path: &str| written.range(path..).next().is_some_and(|file| file.starts_with(path));
    let mut paths = deed.touched.iter().filter(|_| deed.succeeded()).filter_map(|touch| match touch {
        Touch::Removed(path) => Some(path.as_str()),
        Touch::Read(_) | Touch::Written(_) => None,
    });
    paths.find(|path| !is_written(path))
}

#[cfg(test)]
mod tests {
    use super::is_commit_scope;

    #[test]
    fn a_decision_about_the_files_of_one_commit_is_known_by_its_form() {
        for scope in [
            "Leave `mast.rs` out of the commit",
            "I'll commit only the files of the jib: `jib.rs`, `hook.rs`; not `mast.rs`",
            "Stage only what belongs to it: `jib.rs`",
            "Only these are part of the task: `jib.rs` and others; not `mast.rs`",
        ] {
            assert!(is_commit_scope(scope), "{scope}");
        }
        for other in [
            "Commit messages name only the part: `jib: shorter`, as the log does",
            "Keep only the stages of the mast",
            "Use only these: `jib.rs`, `hook.rs`",
        ] {
            assert!(!is_commit_scope(other), "{other}");
        }
    }
}
