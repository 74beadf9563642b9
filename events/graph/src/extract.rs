//! Turns items and their digest into entities and facts.

mod commits;
pub(super) mod decisions;
mod lineage;
mod moves;

use std::collections::BTreeMap;

use serde_json::Value;
use uuid::Uuid;

pub use self::moves::renames;
use super::claim::Claim;
use super::gather::{Gather, Moment, Said};
use super::issue::Issue;
use super::package::Package;
use super::session::label_of;
use super::{Graph, Label, Relation, Surroundings, error, issue, package, path, program};
use baton_conversation::item::{Body, Call, Item, Meta, Outcome, ToolResult};
use baton_episode::digest::{Episode, ErrorLine};
use baton_redaction::redact;

/// Maximum number of files named as the resolution of one error: the last ones edited.
const MAX_CURES: usize = 5;
/// Maximum length of an error inside another sentence, in characters.
const SHORT_CHARS: usize = 160;
/// Maximum length of a title inside another sentence, in characters.
const TITLE_CHARS: usize = 80;

/// State while the entities of a session are extracted.
struct Walk<'a> {
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
    /// Edits that succeeded, by the line of their call.
    edits: Vec<(u64, &'a str)>,
    gather: Gather<'a>,
    session: Uuid,
}

pub(super) fn extract(items: &[Item], episode: &Episode, at: &Surroundings<'_>) -> Graph {
    let Some(first) = items.iter().map(moment).min_by_key(|moment| moment.line) else { return Graph::default() };
    let mut gather = Gather::new(at.group);
    let Some(session) = gather.session(at.session, &episode.title, first) else { return Graph::default() };
    let mut walk = Walk {
        at,
        name: label_of(at.session),
        place: String::new(),
        title: super::one_line::one_line(&episode.title, TITLE_CHARS),
        project: None,
        cwd: episode.cwd.as_deref(),
        moments: BTreeMap::new(),
        calls: BTreeMap::new(),
        results: BTreeMap::new(),
        edits: Vec::new(),
        gather,
        session,
    };
    walk.project(episode, first);
    walk.read(items);
    walk.lineage(items, first);
    walk.preferences(items);
    walk.decisions(episode);
    walk.modified(episode);
    walk.moves(items);
    walk.commits(items);
    walk.failures(episode);
    walk.packages(items, episode);
    walk.named(items);
    walk.commands(episode);
    walk.looked_at(episode);
    walk.tools(items);
    walk.gather.finish()
}

fn moment(item: &Item) -> Moment {
    Moment { line: item.line, at: item.at }
}

fn text<'a>(call: &'a Call, key: &str) -> Option<&'a str> {
    call.input.get(key).and_then(Value::as_str)
}

/// Returns ` (3 times)`, or an empty string for one.
fn times(count: u32) -> String {
    if count > 1 { format!(" ({count} times)") } else { String::new() }
}

impl<'a> Walk<'a> {
    /// Joins calls with their results.
    fn read(&mut self, items: &'a [Item]) {
        for item in items {
            self.moments.entry(item.line).or_insert_with(|| moment(item));
            match &item.body {
                Body::Call(call) if !call.id.is_empty() => drop(self.calls.insert(&call.id, (call, moment(item)))),
                Body::Result(result) => {
                    self.results.entry(item.line).or_default().push(result);
                    if let (Outcome::Ok, Some((call, began))) = (result.outcome, self.calls.get(&*result.id))
                        && let Some(edit) = &call.edit
                    {
                        self.edits.push((began.line, &edit.path));
                    }
                }
                _ => {}
            }
        }
    }

    fn when(&self, line: u64) -> Moment {
        self.moments.get(&line).copied().unwrap_or(Moment { line, at: None })
    }

    fn file_name(&self, path: &str) -> String {
        path::file(path, self.cwd, self.at)
    }

    /// Adds a relation from the session to an entity.
    fn of_session(&mut self, relation: Relation, target: Option<Uuid>, says: &str, of: Moment) {
        if let Some(target) = target {
            let fact = format!("{} {says}", self.name);
            self.gather.assert(relation, self.session, target, &fact, of);
        }
    }

    /// Adds what the session did with a file; it holds as long as the file exists under that name.
    fn of_file(&mut self, relation: Relation, target: Option<Uuid>, name: &str, fact: &str, of: Moment) {
        if let Some(target) = target {
            let lies = self.claim("file", name, "there");
            self.gather.say(Said::of(relation, self.session, target).resting(lies), fact, of);
        }
    }

    fn claim(&self, kind: &str, question: &str, value: &str) -> Claim {
        Claim::new(self.gather.group(), kind, question, value)
    }

    fn project(&mut self, episode: &Episode, of: Moment) {
        // Redacted, as a directory may be named like a key.
        let Some(project) = self.at.project.map(redact) else { return };
        let name = project.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or(&project);
        if name.is_empty() {
            return;
        }
        self.place = format!(" in {name}");
        let uuid = self.gather.mention(Label::Project, name, &project, of, 1);
        self.project = uuid;
        let title = if episode.title.is_empty() { String::new() } else { format!(": {}", episode.title) };
        self.of_session(Relation::InProject, uuid, &format!("worked in {name}{title}"), of);
    }

    fn modified(&mut self, episode: &Episode) {
        let mut files: Vec<_> = episode.files_modified.iter().collect();
        files.sort_by_key(|file| (std::cmp::Reverse(u64::from(file.added) + u64::from(file.removed)), file.line));
        for file in files {
            let (name, of) = (self.file_name(&file.path), self.when(file.line));
            let uuid = self.gather.mention(Label::File, &name, "", of, 1);
            let what = if self.title.is_empty() { String::new() } else { format!(": {}", self.title) };
            let fact = format!("{} modified {name} (+{} -{}){what}", self.name, file.added, file.removed);
            self.of_file(Relation::Modified, uuid, &name, &fact, of);
        }
    }

    fn failures(&mut self, episode: &Episode) {
        for failure in &episode.errors {
            self.failure(failure);
        }
    }

    /// Adds a failure: the error, what failed with it, and its resolution.
    fn failure(&mut self, failure: &ErrorLine) {
        let of = Moment { line: failure.line, at: failure.at };
        let failed = self.result(failure.line, Outcome::Failed);
        let line = failed
            .and_then(|result| result.error.as_deref())
            .filter(|line| !line.trim().is_empty())
            .unwrap_or_else(|| failure.text.split_once(": ").map_or(failure.text.as_str(), |(_, what)| what))
            .to_owned();
        let name = error::normal(&line);
        let Some(uuid) = self.gather.mention(Label::Error, &name, &failure.text, of, 1) else { return };
        let call = failed.and_then(|result| self.calls.get(&*result.id)).copied();
        let cures = self.cures(failure);
        let cure = match cures.split_last() {
            None => String::new(),
            Some((Cure::File(last), [])) => format!(", resolved by editing {last}"),
            Some((Cure::File(last), more)) => format!(", resolved by editing {last} and {} more", more.len()),
            Some((Cure::Command(command), _)) => format!(", resolved by `{command}`"),
        };
        let (source, who) = self.culprit(call);
        let told = super::one_line::one_line(&line, SHORT_CHARS);
        let fact = format!("{who} failed with {told}{}{cure}", self.place);
        let question = format!("{uuid} of {source}");
        let (open, resolved) = (self.claim("error", &question, "open"), self.claim("error", &question, "resolved"));
        self.gather.say(Said::of(Relation::FailedWith, source, uuid).resting(open), &fact, of);
        let Some(resolution) = &failure.resolution else { return };
        let after = Moment { line: resolution.line, at: resolution.at };
        for cure in cures {
            let (target, how) = match &cure {
                Cure::File(file) => (self.gather.mention(Label::File, file, "", after, 0), format!("editing {file}")),
                Cure::Command(name) => {
                    (self.gather.mention(Label::Command, name, "", after, 0), format!("running `{name}`"))
                }
            };
            if let Some(target) = target {
                let fact = format!("{told}{} was resolved by {how}", self.place);
                self.gather.say(Said::of(Relation::ResolvedBy, uuid, target).settling(resolved), &fact, after);
            }
        }
    }

    /// Returns the result with this outcome at a line.
    fn result(&self, line: u64, outcome: Outcome) -> Option<&'a ToolResult> {
        self.results.get(&line)?.iter().find(|result| result.outcome == outcome).copied()
    }

    /// Returns what failed: a command, a tool, or the session if neither is known.
    fn culprit(&mut self, call: Option<(&Call, Moment)>) -> (Uuid, String) {
        let named = call.and_then(|(call, of)| {
            let command = text(call, "command").and_then(|line| program::commands(line).pop());
            match command {
                Some(name) => Some((self.gather.mention(Label::Command, &name, "", of, 0)?, format!("`{name}`"))),
                None => Some((self.gather.mention(Label::Tool, &call.name, "", of, 0)?, call.name.clone())),
            }
        });
        named.unwrap_or_else(|| (self.session, self.name.clone()))
    }

    /// Returns the last files edited between a failure and its resolution; if there are none, the command that
    /// succeeded.
    fn cures(&self, failure: &ErrorLine) -> Vec<Cure> {
        let Some(resolution) = &failure.resolution else { return Vec::new() };
        let mut files: Vec<String> = Vec::new();
        let between = self.edits.iter().rev().filter(|(line, _)| (failure.line..resolution.line).contains(line));
        for (_, path) in between {
            let name = self.file_name(path);
            if !files.contains(&name) {
                files.push(name);
            }
            if files.len() == MAX_CURES {
                break;
            }
        }
        files.reverse();
        if !files.is_empty() {
            return files.into_iter().map(Cure::File).collect();
        }
        let call = self.result(resolution.line, Outcome::Ok).and_then(|result| self.calls.get(&*result.id));
        let command = call.and_then(|(call, _)| text(call, "command")).and_then(|line| program::commands(line).pop());
        command.into_iter().map(Cure::Command).collect()
    }

    fn packages(&mut self, items: &'a [Item], episode: &Episode) {
        let mut changed: Vec<(Package, Moment)> = Vec::new();
        for command in episode.commands.iter().filter(|command| matches!(command.outcome, "ok" | "unknown")) {
            let of = self.when(command.line);
            changed.extend(package::changed(&command.text).into_iter().map(|package| (package, of)));
        }
        let done = |call: &Call| self.edits.iter().any(|(_, path)| call.edit.as_ref().is_some_and(|e| e.path == *path));
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
            let Some(uuid) = self.gather.mention(Label::Package, &package.name, &detail, of, 1) else { continue };
            let (relation, verb, value) = match package.added {
                true => (Relation::AddedPackage, "added", "there"),
                false => (Relation::RemovedPackage, "removed", "gone"),
            };
            let fact = format!("{} {verb} package {} from {}", self.name, package.name, package.from);
            let is = self.claim("package", &format!("{} {}", package.from, package.name), value);
            self.gather.say(Said::of(relation, self.session, uuid).resting(is).settling(is), &fact, of);
        }
    }

    /// Adds the branches, pages and issues that the session names.
    fn named(&mut self, items: &'a [Item]) {
        for item in items {
            let of = moment(item);
            match &item.body {
                Body::Meta(Meta::Branch(branch)) => {
                    if let Some(uuid) = self.gather.mention(Label::Branch, branch, "", of, 1) {
                        let fact = format!("{} worked on branch {branch}", self.name);
                        let is = self.claim("branch", branch, "there");
                        self.gather.say(Said::of(Relation::OnBranch, self.session, uuid).resting(is), &fact, of);
                    }
                    self.issues(branch, of);
                }
                Body::Prompt { text } | Body::Answer { text } => {
                    for page in path::pages(text) {
                        self.page(Relation::Mentioned, "mentioned", &page, of);
                    }
                    self.issues(text, of);
                    self.hashes(text, of);
                }
                Body::Call(call) => {
                    if let Some(page) = text(call, "url").and_then(path::page) {
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
        let uuid = self.gather.mention(Label::Url, page, "", of, 1);
        self.of_session(relation, uuid, &format!("{verb} {page}"), of);
        let domain = page.split('/').next().unwrap_or(page);
        if let Some((uuid, domain_uuid)) = uuid.zip(self.gather.mention(Label::Domain, domain, "", of, 1))
            && domain != page
        {
            self.gather.assert(Relation::PartOf, uuid, domain_uuid, &format!("{page} is a page of {domain}"), of);
        }
        if let Some(issue) = issue::of_page(page) {
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
        let uuid = self.gather.mention(label, &issue.name, "", of, 1);
        self.of_session(Relation::Mentioned, uuid, &format!("mentioned {kind} {}", issue.name), of);
    }

    fn commands(&mut self, episode: &Episode) {
        let mut ran: BTreeMap<String, (u32, Moment, &str, &str)> = BTreeMap::new();
        for command in episode.commands.iter().filter(|command| command.outcome != "denied") {
            let of = self.when(command.line);
            let names = program::commands(&command.text);
            // A line with several programs is no example of either.
            let line = if names.len() == 1 { command.text.as_str() } else { "" };
            for name in names {
                let known = ran.entry(name).or_insert((0, of, line, command.outcome));
                known.0 = known.0.saturating_add(command.count);
                if of.line < known.1.line {
                    known.1 = of;
                } else {
                    known.3 = command.outcome;
                }
            }
        }
        let mut ran: Vec<_> = ran.into_iter().collect();
        ran.sort_by(|(a, (times, ..)), (b, (others, ..))| others.cmp(times).then_with(|| a.cmp(b)));
        for (name, (count, of, line, outcome)) in ran {
            let uuid = self.gather.mention(Label::Command, &name, line, of, count);
            let ended = if outcome == "failed" { ", failed in the end" } else { "" };
            self.of_session(Relation::Ran, uuid, &format!("ran `{name}`{}{ended}", times(count)), of);
        }
    }

    fn looked_at(&mut self, episode: &Episode) {
        let mut files: Vec<_> = episode.files_read.iter().collect();
        files.sort_by_key(|file| (std::cmp::Reverse(file.count), file.line));
        for file in files {
            let (name, of) = (self.file_name(&file.path), self.when(file.line));
            let uuid = self.gather.mention(Label::File, &name, "", of, file.count);
            let fact = format!("{} read {name}{}", self.name, times(file.count));
            self.of_file(Relation::Read, uuid, &name, &fact, of);
        }
    }

    fn tools(&mut self, items: &'a [Item]) {
        let mut used: BTreeMap<&str, (u32, Moment)> = BTreeMap::new();
        for item in items {
            if let Body::Call(call) = &item.body {
                used.entry(&call.name).or_insert((0, moment(item))).0 += 1;
            }
        }
        let mut used: Vec<_> = used.into_iter().collect();
        // Tools of MCP servers first: every session uses the agent's own.
        used.sort_by_key(|(name, (count, _))| (!name.starts_with("mcp__"), std::cmp::Reverse(*count), *name));
        for (name, (count, of)) in used {
            let server = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")).map(|(server, _)| server);
            let detail = server.map(|server| format!("MCP tool of {server}")).unwrap_or_default();
            let uuid = self.gather.mention(Label::Tool, name, &detail, of, count);
            self.of_session(Relation::Used, uuid, &format!("used {name}{}", times(count)), of);
        }
    }
}

/// What resolved an error.
enum Cure {
    File(String),
    Command(String),
}
