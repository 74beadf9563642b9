//! A session's title: at most eight words that say what was done, and to what.
//!
//! A name that a person gave comes first. Otherwise every change of a file counts for what it was made for: the plan that was
//! approved before it, the pull request or commit that it went into, or else the request. The heading, subject or request with
//! most changed lines is the title; two are joined if neither has two thirds and both fit. A title that the agent recorded for
//! this conversation says more than a request.

mod asked;

use std::collections::{BTreeMap, BTreeSet};

use super::command::{GitAct, Paths, git_steps};
use super::excerpt::{one_line, without_filter_mark};
use super::failure::Failure;
use super::label::{MAX_WORDS, MIN_WORDS, capitalised, count, is_kept_whole, label, without_plan_label};
use super::plan::{self, Plan};
use super::sentence::plain;
use super::task::{Task, changed_by};
use super::timeline::{Deed, Timeline};
use super::{Mend, Mending, TITLE_CHARS, is_greeting};
use baton_conversation::item::{GitOutput, TitleSource};

/// A line that was changed for something with a given name counts so much, compared with one for a request.
const GIVEN_WORTH: u64 = 2;

/// A session of so many purposes with a name is told by none of them.
const MANY_PURPOSES: usize = 3;
/// A purpose counts among many if so many times its lines are all that was changed.
const OWN_SHARE: u64 = 10;
/// Fewest letters of a word of substance, and fewest words by which titles are about the same.
const WORD_CHARS: usize = 4;
const MIN_SHARED: usize = 2;
/// Beginnings of subjects of commits that undo others.
const UNDOING: [&str; 4] = ["drop ", "remove ", "revert ", "undo "];
/// Number of commits after a change among which the one that took it is looked for.
const MAX_LATER: usize = 20;

/// What changes were made for, from the most to the least telling.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Purpose {
    /// An index into the approved plans.
    Plan(usize),
    /// An index into what was made of the changes.
    Made(usize),
    /// An index into the tasks.
    Request(usize),
}

/// A commit or a pull request.
struct Made {
    /// The call, as an index into [`Timeline::deeds`].
    deed: usize,
    title: String,
    is_pull: bool,
    /// True if its type is `feat`.
    adds: bool,
    /// True if its type is another one.
    is_minor: bool,
    /// The files that the session staged for it; empty if it is unknown.
    staged: Vec<Paths>,
}

impl Made {
    /// Returns true if a commit is known to take the changes of a file, relative to the session's directory.
    fn takes(&self, path: &str) -> bool {
        let is_below = |name: &String| {
            let at = path.strip_suffix(name.as_str()).is_some_and(|before| before.is_empty() || before.ends_with('/'));
            at || name == "." || path.strip_prefix(name.trim_end_matches('/')).is_some_and(|rest| rest.starts_with('/'))
        };
        self.staged.iter().any(|paths| match paths {
            Paths::All => true,
            Paths::Named(names) => names.iter().any(is_below),
        })
    }
}

/// Returns the title, and true if somebody gave it; an empty one if nothing was asked or said.
pub(super) fn title(
    timeline: &Timeline<'_>,
    tasks: &[Task],
    objective: &str,
    gone: &BTreeSet<usize>,
) -> (String, bool) {
    let named = |source| timeline.title.as_deref().filter(|_| timeline.title_source == Some(source));
    if let Some(name) = named(TitleSource::Person) {
        return (one_line(name, TITLE_CHARS), true);
    }
    let recorded = named(TitleSource::Model).or_else(|| named(TitleSource::Summary)).map(label);
    let recorded = recorded.filter(|text| !text.is_empty() && !is_greeting(text));
    if let Some(title) = of_changes(timeline, tasks, recorded.as_deref(), objective, gone) {
        return title;
    }
    if let Some(recorded) = recorded {
        return (recorded, true);
    }
    let replies = || timeline.rounds.iter().find_map(|round| round.replies.first()).map(|reply| label(reply.text));
    (asked::discussion_title(timeline, tasks).or_else(replies).unwrap_or_default(), false)
}

/// Returns a title that is the words of an error with what came of it, if edits mended that: `Fix: The winch is stuck`.
pub(super) fn with_mend(title: String, failures: &[Failure]) -> String {
    let by_edits = |mending: &Mending| mending.by.iter().any(|by| matches!(by, Mend::File(_)));
    let mended = failures.iter().filter(|failure| failure.mending.as_ref().is_some_and(by_edits));
    let words = title.to_lowercase();
    let told = mended.map(|failure| failure.line.text.to_lowercase()).any(|text| text.contains(&words));
    let bare = title.strip_prefix("Error: ").unwrap_or(&title);
    if told && !words.is_empty() && !words.starts_with("fix") && count(bare) < MAX_WORDS {
        format!("Fix: {}", capitalised(bare))
    } else {
        title
    }
}

/// Returns the title of the purpose that most lines were changed for, or of the first two, and true if somebody gave it.
fn of_changes(
    timeline: &Timeline<'_>,
    tasks: &[Task],
    recorded: Option<&str>,
    objective: &str,
    gone: &BTreeSet<usize>,
) -> Option<(String, bool)> {
    let plans = plan::approved(timeline);
    let made = made(timeline, gone);
    let weights = weigh(timeline, tasks, &plans, &made);
    let total: u64 = weights.values().map(|weight| weight.lines).sum();
    let mut order: Vec<(Purpose, Weight)> = weights.into_iter().collect();
    order.sort_by_key(|(_, weight)| u64::MAX - weight.lines);
    carrying(&mut order, &made, objective);
    let is_given = |(purpose, weight): &&(Purpose, Weight)| {
        !matches!(purpose, Purpose::Request(_)) && weight.lines * OWN_SHARE >= total
    };
    if order.iter().filter(is_given).count() >= MANY_PURPOSES
        && order.first().is_some_and(|(_, first)| first.lines * 3 < total * 2)
        && let Some(heading) = asked::last_heading(timeline)
    {
        return Some((heading, true));
    }
    let tell = |purpose: &Purpose, weight: &Weight| {
        let (text, is_given) = match purpose {
            Purpose::Plan(at) => {
                let plan = plans.get(*at)?;
                // A plan does not title work that a person took back.
                let stands =
                    |title: &String| made.is_empty() || timeline.undone.place_of_named(title, plan.place).is_none();
                let title = plan_title(plan, weight).filter(stands)?;
                let later = made.iter().filter(|made| timeline.deeds[made.deed].began > plan.place);
                (later.map(|made| made.title.as_str()).find_map(|made| extended(&title, made)).unwrap_or(title), true)
            }
            Purpose::Made(at) => (made.get(*at)?.title.clone(), true),
            Purpose::Request(at) => match recorded {
                Some(recorded) => (recorded.to_owned(), true),
                None => (asked::requested_title(timeline, tasks.get(*at)?)?, false),
            },
        };
        Some((text, is_given)).filter(|(text, _)| !text.is_empty())
    };
    // Things only looked at are told if nothing else is.
    let looks = |purpose: &Purpose| match purpose {
        Purpose::Request(at) => tasks.get(*at).is_some_and(|task| asked::only_looked_at(timeline, task)),
        _ => false,
    };
    order.sort_by_cached_key(|(purpose, _)| looks(purpose));
    let mut told = order
        .iter()
        .filter_map(|(purpose, weight)| tell(purpose, weight).map(|(text, is_given)| (text, is_given, weight)));
    let (first, is_given, weight) = told.next()?;
    let second = told.next().filter(|(_, _, other)| weight.lines * 3 < total * 2 && other.lines * 2 >= weight.lines);
    let joined = second.and_then(|(second, also_given, other)| {
        let joins = is_kept_whole(&first)
            && is_kept_whole(&second)
            && count(&first) + count(&second) <= MAX_WORDS
            && first != second;
        let (one, two) = if weight.first < other.first { (&first, &second) } else { (&second, &first) };
        joins.then(|| (format!("{one}; {two}"), is_given || also_given))
    });
    Some(joined.unwrap_or_else(|| (label(&first), is_given)))
}

/// Leaves of several commits those that say most of what was asked for, if the first ones say much less of it; and none that a
/// later one undoes.
fn carrying(order: &mut Vec<(Purpose, Weight)>, made: &[Made], objective: &str) {
    let asked = words(objective);
    let shares = |at: usize| words(&made[at].title).intersection(&asked).count();
    let commit = |purpose: &Purpose| match purpose {
        Purpose::Made(at) if !made[*at].is_pull => Some(*at),
        _ => None,
    };
    let is_undone = |at: usize| {
        let own = words(&made[at].title);
        let undoes = |later: &&Made| {
            let title = later.title.to_lowercase();
            UNDOING.iter().any(|word| title.starts_with(word)) && words(&title).intersection(&own).count() >= MIN_SHARED
        };
        made[at + 1..].iter().any(|later| undoes(&later))
    };
    let commits: Vec<usize> = order.iter().filter_map(|(purpose, _)| commit(purpose)).collect();
    let stays: Vec<usize> = commits.iter().copied().filter(|at| !is_undone(*at)).collect();
    let most = stays.iter().map(|at| shares(*at)).max().unwrap_or(0);
    let first = stays.first().map_or(0, |at| shares(*at));
    let is_clear = most >= first + MIN_SHARED;
    if commits.len() > 1 && !stays.is_empty() {
        let is_kept = |at: usize| stays.contains(&at) && (!is_clear || shares(at) == most);
        order.retain(|(purpose, _)| commit(purpose).is_none_or(is_kept));
    }
    // A fix or description of another addition is covered by that one.
    let is_minor = |purpose: &Purpose| matches!(purpose, Purpose::Made(at) if made[*at].is_minor);
    let adds = |(purpose, _): &(Purpose, Weight)| matches!(purpose, Purpose::Made(at) if made[*at].adds);
    let lines = |(purpose, weight): &(Purpose, Weight)| commit(purpose).map(|_| weight.lines);
    let total: u64 = order.iter().filter_map(lines).sum();
    if order.iter().any(adds) && order.iter().find_map(lines).is_some_and(|first| first * 3 < total * 2) {
        order.sort_by_key(|(purpose, _)| is_minor(purpose));
    }
}

/// Returns the words of substance of a text.
fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    words.filter(|word| word.chars().count() >= WORD_CHARS && !baton_words::is_stop(word)).collect()
}

/// How much was changed for a purpose.
#[derive(Default)]
struct Weight {
    lines: u64,
    /// Where it was first pursued, as an index into the list of items.
    first: usize,
    /// Changed lines by the name of the file, without its ending.
    files: BTreeMap<String, u64>,
}

/// Counts the changed lines for what they were changed for.
fn weigh(timeline: &Timeline<'_>, tasks: &[Task], plans: &[Plan<'_>], made: &[Made]) -> BTreeMap<Purpose, Weight> {
    let mut owners = vec![0; timeline.rounds.len()];
    for (at, task) in tasks.iter().enumerate() {
        task.rounds.iter().for_each(|round| owners[*round] = at);
    }
    let mut weights: BTreeMap<Purpose, Weight> = BTreeMap::new();
    let mut add = |purpose, place, file: &str, lines| {
        let weight = weights.entry(purpose).or_insert(Weight { first: place, ..Weight::default() });
        weight.lines = weight.lines.saturating_add(lines);
        let name = name(file);
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        *weight.files.entry(stem.to_owned()).or_insert(0) += lines;
    };
    // A pull request holds everything before it, a commit what was staged; if that is unknown, what was changed for the same
    // task.
    let mut pulls = Vec::new();
    let mut commits: Vec<Vec<usize>> = vec![Vec::new(); tasks.len()];
    for (at, made) in made.iter().enumerate() {
        let round = timeline.rounds.partition_point(|round| round.deeds.end <= made.deed);
        let commits = owners.get(round).and_then(|owner| commits.get_mut(*owner));
        if made.is_pull { Some(&mut pulls) } else { commits }.into_iter().for_each(|list| list.push(at));
        // A change by other means counts as one line.
        add(Purpose::Made(at), timeline.deeds[made.deed].began, "", 1);
    }
    let changed: BTreeSet<String> =
        timeline.deeds.iter().flat_map(|deed| changed_by(timeline, deed)).map(|one| one.0).collect();
    let of_files: Vec<bool> =
        plans.iter().map(|plan| changed.iter().any(|path| plan.text.contains(name(path)))).collect();
    let mut current: Vec<Option<usize>> = vec![None; tasks.len()];
    let mut next = 0;
    for (round, owner) in timeline.rounds.iter().zip(&owners) {
        for index in round.deeds.clone() {
            let deed = &timeline.deeds[index];
            while plans.get(next).is_some_and(|plan| plan.place <= deed.began) {
                current[*owner] = Some(next);
                next += 1;
            }
            let after = |list: &[usize]| list.get(list.partition_point(|at| made[*at].deed < index)).copied();
            let later = made.get(made.partition_point(|made| made.deed < index)..).unwrap_or_default();
            let first = made.len() - later.len();
            for (path, lines) in changed_by(timeline, deed) {
                let taken = || later.iter().take(MAX_LATER).position(|made| made.takes(&path)).map(|at| first + at);
                let unknown = || after(&commits[*owner]).filter(|at| made[*at].staged.is_empty());
                let into = after(&pulls).or_else(taken).or_else(unknown).map(Purpose::Made);
                // A file that a commit includes and the plan does not name belongs to the commit.
                let is_planned = |at: &usize| !of_files[*at] || plans[*at].text.contains(name(&path));
                let planned = current[*owner].filter(|at| into.is_none() || is_planned(at));
                let purpose = planned.map(Purpose::Plan).or(into).unwrap_or(Purpose::Request(*owner));
                // A given name says more than a request.
                let worth = if matches!(purpose, Purpose::Request(_)) { 1 } else { GIVEN_WORTH };
                add(purpose, deed.began, &path, worth * lines);
            }
        }
    }
    (0..next).for_each(|at| add(Purpose::Plan(at), plans[at].place, "", 1));
    weights
}

/// Returns the name of a file.
fn name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Returns the heading of a plan; one that names no matter takes the file that was changed most.
fn plan_title(plan: &Plan<'_>, weight: &Weight) -> Option<String> {
    let heading = plan.text.lines().map(str::trim).find(|line| line.starts_with('#'))?;
    let heading = plain(&without_filter_mark(heading.trim_start_matches(['#', ' '])));
    let heading = without_plan_label(&heading);
    let names = || heading.split_whitespace().filter(|word| !word.eq_ignore_ascii_case("plan"));
    if names().count() > 1 || !heading.is_ascii() {
        return Some(heading.to_owned());
    }
    let (file, _) = weight.files.iter().filter(|(file, _)| !file.is_empty()).max_by_key(|(_, lines)| **lines)?;
    Some(names().chain([file.as_str()]).collect::<Vec<_>>().join(": "))
}

/// Returns the subject of a commit that begins with a title and goes on behind a colon, as far as it fits.
fn extended(title: &str, subject: &str) -> Option<String> {
    let more = subject.get(title.len()..).filter(|more| more.starts_with(": "))?;
    if !subject[..title.len()].eq_ignore_ascii_case(title) {
        return None;
    }
    let ends = more.match_indices(", ").map(|(at, _)| at).chain([more.len()]).collect::<Vec<_>>();
    let end = ends.into_iter().rfind(|end| count(&subject[..title.len() + end]) <= MAX_WORDS)?;
    Some(format!("{title}{}", &more[..end]))
}

/// Returns the titles of the session's pull requests and the subjects of its commits, in order, without those whose
/// results are `gone`: they were taken back.
fn made(timeline: &Timeline<'_>, gone: &BTreeSet<usize>) -> Vec<Made> {
    let own = timeline.deeds.iter().enumerate().filter(|(_, deed)| !deed.aside);
    let mut staged: Vec<Paths> = Vec::new();
    let named = own.filter_map(|(index, deed)| {
        staged.extend(staged_by(deed));
        let staged = if deed.commits() && deed.succeeded() { std::mem::take(&mut staged) } else { Vec::new() };
        let is_pull = deed.result?.made().iter().any(|made| matches!(made, GitOutput::PullRequest(_)));
        let title = match is_pull {
            true => flag_value(deed.command()?, "--title")?,
            false if gone.contains(&deed.ended) => return None,
            false => commit_subject(deed).filter(|_| deed.commits() && deed.succeeded())?,
        };
        let (kind, subject) = split_kind(&title);
        let (adds, is_minor) = (kind == "feat", !["", "feat"].contains(&kind));
        Some(Made { deed: index, title: capitalised(subject), is_pull, adds, is_minor, staged })
    });
    named.filter(|made| count(&made.title) >= MIN_WORDS && !made.title.ends_with('…')).collect()
}

/// Returns the files that a command stages, or commits without staging.
fn staged_by(deed: &Deed<'_>) -> Vec<Paths> {
    let line = deed.git_line();
    let steps = line.filter(|line| line.contains("git ")).map(git_steps).unwrap_or_default();
    let staged = steps.into_iter().filter_map(|step| match step.act {
        GitAct::Stage(paths) | GitAct::Commit { also: Some(paths), .. } => Some(paths),
        _ => None,
    });
    staged.collect()
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

/// Splits the type of a conventional commit off, and a picture: `✨ feat(ui): add tabs` is `feat` and `add tabs`.
fn split_kind(subject: &str) -> (&str, &str) {
    let bare = subject.trim_start_matches(|c: char| !c.is_alphanumeric());
    let (label, rest) = bare.split_once(": ").unwrap_or(("", bare));
    let kind = label.split(['(', '!']).next().unwrap_or_default();
    let is_kind = !kind.is_empty() && kind.len() <= 8 && kind.bytes().all(|b| b.is_ascii_lowercase());
    if is_kind { (kind, rest) } else { ("", bare) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_lose_their_kind() {
        assert_eq!(split_kind("✨ feat(ui): add tabs"), ("feat", "add tabs"));
        assert_eq!(split_kind("Note: this stays"), ("", "Note: this stays"));
        assert_eq!(flag_value("gh pr create --title \"Add tabs\" --body x", "--title").as_deref(), Some("Add tabs"));
    }
}
