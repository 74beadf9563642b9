//! Turns items and their digest into entities and facts.

mod commits;
pub(super) mod decisions;
mod failures;
mod moves;
mod session_links;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use uuid::Uuid;

pub use self::moves::renames;
use super::builder::{FactDraft, GraphBuilder, Moment};
use super::claim::Claim;
use super::issue::Issue;
use super::package::Package;
use super::program::RepositoryChange;
use super::session::label_of;
use super::{Graph, Label, Relation, Surroundings, issue, package, path, program};
use baton_conversation::item::{Act, Body, Call, Item, Meta, Outcome, ToolResult};
use baton_episode::digest::{CommandLine, Episode, FileModified, check_kind, failing_line, failing_program, programs};
use baton_redaction::redact;

/// Maximum length of a title inside another sentence, in characters.
const TITLE_CHARS: usize = 80;

/// State while the entities of a session are extracted.
struct Extractor<'a> {
    at: &'a Surroundings<'a>,
    /// `session 7acd37a8`.
    name: String,
    /// ` in ledger-api`, or empty.
    place: String,
    /// The session's title.
    title: String,
    project: Option<Uuid>,
    cwd: Option<&'a str>,
    moments: BTreeMap<u64, Moment>,
    /// Calls by id.
    calls: BTreeMap<&'a str, (&'a Call, Moment)>,
    /// Results by line.
    results: BTreeMap<u64, Vec<&'a ToolResult>>,
    /// Files that were edited, with the line of the last edit.
    edits: BTreeMap<&'a str, u64>,
    /// Subjects of the commits that were made, with the directory that they were made in if it is known, by the line of the
    /// call.
    commits: BTreeMap<u64, (Option<&'a str>, String)>,
    /// Results that show a failure, by the line of their call.
    failed: BTreeMap<u64, &'a ToolResult>,
    /// Names of the commands that failed without a mend.
    unmended: BTreeSet<String>,
    builder: GraphBuilder<'a>,
    session: Uuid,
}

pub(super) fn extract(items: &[Item], episode: &Episode, at: &Surroundings<'_>) -> Graph {
    let Some(first) = items.iter().map(moment).min_by_key(|moment| moment.line) else { return Graph::default() };
    if at.parent.is_some() && is_idle(items) {
        return Graph::default();
    }
    let mut builder = GraphBuilder::new(at.group);
    let Some(session) = builder.mention_session(at.session, &episode.title, first) else { return Graph::default() };
    let mut extractor = Extractor {
        at,
        name: label_of(at.session),
        place: String::new(),
        title: super::one_line::one_line(&episode.title, TITLE_CHARS),
        project: None,
        cwd: episode.cwd.as_deref(),
        moments: BTreeMap::new(),
        calls: BTreeMap::new(),
        results: BTreeMap::new(),
        edits: BTreeMap::new(),
        commits: BTreeMap::new(),
        failed: BTreeMap::new(),
        unmended: BTreeSet::new(),
        builder,
        session,
    };
    extractor.project(episode, first);
    extractor.read(items);
    extractor.session_links(items, first);
    extractor.preferences(items);
    extractor.decisions(episode);
    extractor.modified(episode);
    extractor.moves(items, episode);
    extractor.commits(items);
    extractor.failures(episode);
    extractor.packages(items, episode);
    extractor.mentions(items);
    extractor.commands(episode);
    extractor.files_read(episode);
    extractor.tools(items);
    extractor.builder.finish()
}

/// Returns true if a subagent was asked for nothing and did nothing, such as one that an agent only starts early: no call,
/// and prompts of one word.
fn is_idle(items: &[Item]) -> bool {
    items.iter().all(|item| match &item.body {
        Body::Call(_) => false,
        Body::Prompt { text } => text.split_whitespace().count() <= 1,
        _ => true,
    })
}

fn moment(item: &Item) -> Moment {
    Moment { line: item.line, at: item.at }
}

fn text<'a>(call: &'a Call, key: &str) -> Option<&'a str> {
    call.input.get(key).and_then(Value::as_str)
}

/// Returns true for a file that an agent keeps for itself: a plan, a spilled output.
fn is_agents_own(path: &str) -> bool {
    ["/.claude/plans/", "/.claude/projects/", "/.codex/sessions/"].iter().any(|folder| path.contains(folder))
}

/// Returns the absolute directory that a command line changes to first, or that it tells git.
fn other_directory(line: &str) -> Option<&str> {
    let told = line.trim_start().strip_prefix("cd ").or_else(|| line.split_once("git -C ").map(|(_, rest)| rest))?;
    let told = told.split([' ', ';', '&', '\n']).next()?.trim_matches(['"', '\'']);
    Some(told).filter(|told| told.starts_with('/'))
}

fn lies_below(path: &str, directory: &str) -> bool {
    let rest = path.strip_prefix(directory.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.starts_with('/'))
}

/// Returns ` (3 times)`, or an empty string for one.
fn times(count: u32) -> String {
    if count > 1 { format!(" ({count} times)") } else { String::new() }
}

impl<'a> Extractor<'a> {
    /// Joins calls with their results.
    fn read(&mut self, items: &'a [Item]) {
        let mut cwd = None;
        for item in items {
            self.moments.entry(item.line).or_insert_with(|| moment(item));
            match &item.body {
                Body::Meta(Meta::Cwd(now)) => cwd = Some(now.as_str()),
                Body::Call(call) if !call.id.is_empty() => drop(self.calls.insert(&call.id, (call, moment(item)))),
                Body::Result(result) => {
                    self.results.entry(item.line).or_default().push(result);
                    if let (Some(_), Some((_, of))) = (failing_line(result), self.calls.get(&*result.id)) {
                        self.failed.insert(of.line, result);
                    }
                    if let (Outcome::Ok, Some((call, of))) = (result.outcome, self.calls.get(&*result.id))
                        && let Some(edit) = &call.edit
                    {
                        self.edits.insert(&edit.path, of.line);
                    }
                    if let Some((call, of)) = self.calls.get(&*result.id).copied() {
                        let made = commits::made(call, result).into_iter();
                        let subject = made.into_iter().find_map(|made| match made {
                            RepositoryChange::Commit { subject, .. } => Some(subject),
                            _ => None,
                        });
                        let place = text(call, "command").and_then(other_directory).or(cwd);
                        let commit = subject.map(|subject| (place, subject));
                        commit.into_iter().for_each(|commit| _ = self.commits.entry(of.line).or_insert(commit));
                    }
                }
                _ => {}
            }
        }
    }

    fn moment_at(&self, line: u64) -> Moment {
        self.moments.get(&line).copied().unwrap_or(Moment { line, at: None })
    }

    fn file_name(&self, path: &str) -> String {
        path::file_name(path, self.cwd, self.at)
    }

    /// Adds a relation from the session to an entity.
    fn add_session_fact(&mut self, relation: Relation, target: Option<Uuid>, says: &str, of: Moment) {
        if let Some(target) = target {
            let fact = format!("{} {says}", self.name);
            self.builder.add_permanent(relation, self.session, target, &fact, of);
        }
    }

    /// Adds what the session did with a file; it holds as long as the file exists under that name.
    fn add_file_fact(&mut self, relation: Relation, target: Option<Uuid>, name: &str, fact: &str, of: Moment) {
        if let Some(target) = target {
            let lies = self.claim("file", name, "there");
            self.builder.add(FactDraft::new(relation, self.session, target).resting_on(lies), fact, of);
        }
    }

    fn claim(&self, kind: &str, question: &str, value: &str) -> Claim {
        Claim::new(self.builder.group(), kind, question, value)
    }

    fn project(&mut self, episode: &Episode, of: Moment) {
        // Redacted, as a directory may be named like a key.
        let Some(project) = self.at.project.map(redact) else { return };
        let name = project.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or(&project);
        if name.is_empty() {
            return;
        }
        self.place = format!(" in {name}");
        let uuid = self.builder.mention(Label::Project, name, &project, of, 1);
        self.project = uuid;
        let title = if episode.title.is_empty() { String::new() } else { format!(": {}", episode.title) };
        self.add_session_fact(Relation::InProject, uuid, &format!("worked in {name}{title}"), of);
    }

    fn modified(&mut self, episode: &Episode) {
        let mut files: Vec<_> = episode.files_modified.iter().collect();
        files.sort_by_key(|file| (std::cmp::Reverse(u64::from(file.added) + u64::from(file.removed)), file.line));
        let is_work = |file: &&FileModified| !is_agents_own(&file.path) && !file.deleted;
        for file in files.into_iter().filter(is_work) {
            let (name, of) = (self.file_name(&file.path), self.moment_at(file.line));
            let uuid = self.builder.mention(Label::File, &name, "", of, 1);
            let purpose = self.purpose(&file.path);
            let what = if purpose.is_empty() { String::new() } else { format!(": {purpose}") };
            let lines = match (file.added, file.removed) {
                (0, 0) => String::new(),
                (added, removed) => format!(" (+{added} -{removed})"),
            };
            let fact = format!("{} modified {name}{lines}{what}", self.name);
            self.add_file_fact(Relation::Modified, uuid, &name, &fact, of);
        }
    }

    /// Returns what a file was changed for: the subject of the first commit after its last change; without one, the title.
    fn purpose(&self, path: &str) -> String {
        let last = self.edits.get(path);
        // A commit of another repository did not take it.
        let takes = |place: Option<&str>| place.is_none_or(|place| !path.starts_with('/') || lies_below(path, place));
        let later = last.into_iter().flat_map(|last| self.commits.range(last..));
        let commit = later.map(|(_, commit)| commit).find(|(place, _)| takes(*place)).map(|(_, subject)| subject);
        super::one_line::one_line(commit.unwrap_or(&self.title), TITLE_CHARS)
    }

    /// Returns the result with this outcome at a line.
    fn result(&self, line: u64, outcome: Outcome) -> Option<&'a ToolResult> {
        self.results.get(&line)?.iter().find(|result| result.outcome == outcome).copied()
    }

    fn packages(&mut self, items: &'a [Item], episode: &Episode) {
        let mut changed: Vec<(Package, Moment)> = Vec::new();
        for command in episode.commands.iter().filter(|command| matches!(command.outcome, "ok" | "unknown")) {
            let of = self.moment_at(command.line);
            changed.extend(package::changed(&command.text).into_iter().map(|package| (package, of)));
        }
        let done = |call: &Call| call.edit.as_ref().is_some_and(|edit| self.edits.contains_key(edit.path.as_str()));
        for item in items {
            if let Body::Call(call) = &item.body
                && call.edit.is_some()
            {
                let declared = package::declared(call);
                if !declared.is_empty() && done(call) {
                    changed.extend(declared.into_iter().map(|package| (package, moment(item))));
                }
            }
        }
        changed.sort_by_key(|(_, of)| of.line);
        for (package, of) in changed {
            let detail = format!("package from {}", package.from);
            let Some(uuid) = self.builder.mention(Label::Package, &package.name, &detail, of, 1) else { continue };
            let (relation, verb, value) = match package.added {
                true => (Relation::AddedPackage, "added", "there"),
                false => (Relation::RemovedPackage, "removed", "gone"),
            };
            let fact = format!("{} {verb} package {} from {}", self.name, package.name, package.from);
            let is = self.claim("package", &format!("{} {}", package.from, package.name), value);
            self.builder.add(FactDraft::new(relation, self.session, uuid).resting_on(is).settling(is), &fact, of);
        }
    }

    /// Adds the branches, pages and issues that the session names.
    fn mentions(&mut self, items: &'a [Item]) {
        for item in items {
            let of = moment(item);
            match &item.body {
                // A detached head is no branch.
                Body::Meta(Meta::Branch(branch)) if branch != "HEAD" => {
                    if let Some(uuid) = self.builder.mention(Label::Branch, branch, "", of, 1) {
                        let fact = format!("{} worked on branch {branch}", self.name);
                        let is = self.claim("branch", branch, "there");
                        self.builder.add(
                            FactDraft::new(Relation::OnBranch, self.session, uuid).resting_on(is),
                            &fact,
                            of,
                        );
                    }
                    self.issues(branch, of);
                }
                Body::Prompt { text } | Body::Answer { text } => {
                    for page in path::page_names(text) {
                        self.page(Relation::Mentioned, "mentioned", &page, of);
                    }
                    // `#3` in a text is mostly a point of a list.
                    let is_told = |issue: &Issue<'_>| issue.merges || issue.name.len() > 2;
                    issue::issues(text).into_iter().filter(is_told).for_each(|issue| self.issue(issue, of));
                    self.hashes(text, of);
                }
                Body::Call(call) => {
                    if let Some(page) = text(call, "url").and_then(path::page_name) {
                        self.page(Relation::Fetched, "fetched", &page, of);
                    }
                    if let Some(command) = text(call, "command").filter(|line| line.contains("git commit")) {
                        self.issues(command, of);
                    }
                }
                _ => {}
            }
        }
    }

    /// Adds a page with its domain; the page of an issue or a pull request also mentions that.
    fn page(&mut self, relation: Relation, verb: &str, page: &str, of: Moment) {
        let uuid = self.builder.mention(Label::Url, page, "", of, 1);
        self.add_session_fact(relation, uuid, &format!("{verb} {page}"), of);
        let domain = page.split('/').next().unwrap_or(page);
        if let Some((uuid, domain_uuid)) = uuid.zip(self.builder.mention(Label::Domain, domain, "", of, 1))
            && domain != page
        {
            self.builder.add_permanent(
                Relation::PartOf,
                uuid,
                domain_uuid,
                &format!("{page} is a page of {domain}"),
                of,
            );
        }
        if let Some(issue) = issue::issue_of_page(page) {
            self.issue(issue, of);
        }
    }

    fn issues(&mut self, text: &str, of: Moment) {
        for issue in issue::issues(text) {
            self.issue(issue, of);
        }
    }

    fn issue(&mut self, issue: Issue<'_>, of: Moment) {
        let (label, kind) = match issue.merges {
            true => (Label::PullRequest, "pull request"),
            false => (Label::Issue, "issue"),
        };
        let uuid = self.builder.mention(label, &issue.name, "", of, 1);
        self.add_session_fact(Relation::Mentioned, uuid, &format!("mentioned {kind} {}", issue.name), of);
    }

    fn commands(&mut self, episode: &Episode) {
        let mut ran: BTreeMap<String, (u32, Moment, &str, &str)> = BTreeMap::new();
        // Commands of lines that may run them more often than once.
        let mut uncounted: BTreeSet<String> = BTreeSet::new();
        // A hook of a later commit may have run the same check with success.
        let commits = |command: &&CommandLine| {
            command.outcome == "ok" && programs(&command.text).iter().any(|program| program.name == "git commit")
        };
        let committed = episode.commands.iter().filter(commits).map(|command| command.line).max();
        for command in episode.commands.iter().filter(|command| command.outcome != "denied") {
            let of = self.moment_at(command.line);
            let names = self.names(command);
            // A line with several programs is no example of either.
            let line = if names.len() == 1 { command.text.as_str() } else { "" };
            let is_open = command.text.ends_with('…') || command.text.contains("; done");
            for name in names {
                let may_be_over = committed.is_some_and(|line| line > of.line) && check_kind(&name).is_some();
                if is_open || programs(&command.text).iter().filter(|program| program.name == name).count() > 1 {
                    uncounted.insert(name.clone());
                }
                let known = ran.entry(name).or_insert((0, of, line, command.outcome));
                known.0 = known.0.saturating_add(command.count);
                if of.line < known.1.line {
                    known.1 = of;
                } else {
                    known.3 = if may_be_over { "unknown" } else { command.outcome };
                }
            }
        }
        let mut ran: Vec<_> = ran.into_iter().collect();
        ran.sort_by(|(a, (times, ..)), (b, (others, ..))| others.cmp(times).then_with(|| a.cmp(b)));
        for (name, (count, of, line, outcome)) in ran {
            let uuid = self.builder.mention(Label::Command, &name, line, of, count);
            let has_failed = outcome == "failed" && self.unmended.contains(&name);
            let ended = if has_failed { ", failed in the end" } else { "" };
            let times = if uncounted.contains(&name) { String::new() } else { times(count) };
            self.add_session_fact(Relation::Ran, uuid, &format!("ran `{name}`{times}{ended}"), of);
        }
    }

    /// Returns the commands of a line. One that a wrapper did not understand has never run.
    fn names(&self, command: &CommandLine) -> Vec<String> {
        let mut names = program::commands(&command.text);
        names.retain(|name| !program::ROUTINE.contains(&name.as_str()));
        let failed = self.failed.get(&command.line).filter(|_| command.outcome == "failed" && command.ok == 0);
        let failed = failed.and_then(|result| failing_program(&command.text, result));
        let is_wrapper = |name: &String| programs(&command.text).iter().all(|program| program.name != *name);
        if failed.as_ref().is_some_and(is_wrapper) {
            names.pop();
        }
        names
    }

    fn files_read(&mut self, episode: &Episode) {
        let mut files: Vec<_> = episode.files_read.iter().collect();
        files.sort_by_key(|file| (std::cmp::Reverse(file.count), file.line));
        for file in files {
            let (name, of) = (self.file_name(&file.path), self.moment_at(file.line));
            if path::is_elsewhere(&name) {
                continue;
            }
            let uuid = self.builder.mention(Label::File, &name, "", of, file.count);
            let fact = format!("{} read {name}{}", self.name, times(file.count));
            self.add_file_fact(Relation::Read, uuid, &name, &fact, of);
        }
    }

    /// Adds the tools that worked at least once, as the filter `tool:` finds them. That a session used one is a fact only of
    /// tools of the person's own choice: every session uses the agent's own.
    fn tools(&mut self, items: &'a [Item]) {
        let results = self.results.values().flatten();
        let failed: BTreeSet<&str> =
            results.filter(|result| result.outcome == Outcome::Failed).map(|result| &*result.id).collect();
        let mut used: BTreeMap<&str, (u32, Moment, bool)> = BTreeMap::new();
        for item in items {
            if let Body::Call(call) = &item.body
                && !failed.contains(&*call.id)
            {
                let is_chosen = matches!(call.act, Act::Mcp | Act::Other);
                used.entry(&call.name).or_insert((0, moment(item), is_chosen)).0 += 1;
            }
        }
        let mut used: Vec<_> = used.into_iter().collect();
        used.sort_by_key(|(name, (count, _, is_chosen))| (!is_chosen, std::cmp::Reverse(*count), *name));
        for (name, (count, of, is_chosen)) in used {
            let server = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")).map(|(server, _)| server);
            let detail = server.map(|server| format!("MCP tool of {server}")).unwrap_or_default();
            let uuid = self.builder.mention(Label::Tool, name, &detail, of, count);
            if is_chosen {
                self.add_session_fact(Relation::Used, uuid, &format!("used {name}{}", times(count)), of);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_tells_where_it_commits() {
        for (line, place) in [
            ("cd /srv/crane && git commit -m x", Some("/srv/crane")),
            ("cd \"/srv/crane\"; git commit", Some("/srv/crane")),
            ("git -C /srv/crane commit -m x", Some("/srv/crane")),
            ("cd crane && git commit", None),
            ("git commit -m 'cd /srv'", None),
        ] {
            assert_eq!(other_directory(line), place, "{line}");
        }
        assert!(lies_below("/srv/crane/a.rs", "/srv/crane/") && !lies_below("/srv/crane2/a.rs", "/srv/crane"));
    }
}
