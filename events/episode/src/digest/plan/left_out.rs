//! What approved plans name and nobody did.

use std::collections::BTreeSet;

use super::super::command::Command;
use super::super::excerpt::one_line;
use super::super::repetition::significant_words;
use super::super::sentence::plain;
use super::super::timeline::{Deed, Message, Timeline};
use super::super::{LINE_CHARS, Pointed};
use super::{Kind, NOT_DONE, Plan, Section, approved, file_of, item, sections};
use crate::lexicon::{Sign, Signs};
use baton_conversation::item::Act;

/// Number of last plans of which left out files are told.
const MAX_PLANS: usize = 4;
/// Fewest files of a list that were touched if the others count as left out.
const MIN_TOUCHED: usize = 2;
/// Fewest items of a plan of which some may be left out, how many times more there are than such, and fewest words that
/// name one.
const MIN_ITEMS: usize = 6;
const LEFT_OF: usize = 4;
const MIN_NAMING: usize = 2;
/// Words with the same beginning are one: `reorder`, `reordering`.
const STEM_CHARS: usize = 5;

/// Returns the items of the last plans about files that nobody touched afterwards, if other files of the same list were.
/// A plan does not count if a person later changed what is wanted.
pub(in crate::digest) fn left_out(timeline: &Timeline<'_>) -> Vec<Pointed> {
    let mut found: Vec<Pointed> = Vec::new();
    let plans = approved(timeline);
    for plan in &plans[plans.len().saturating_sub(MAX_PLANS)..] {
        let prompts = timeline.rounds.iter().filter_map(|round| round.prompt.as_ref());
        let objects = |said: &&Message<'_>| Signs::read(said.text).has_any(&[Sign::Object, Sign::Contrast]);
        if prompts.filter(|said| said.place > plan.place).any(|said| objects(&said)) {
            continue;
        }
        let touched = touched_names(timeline, plan.place);
        for section in sections(&plan.text) {
            let items: Vec<(&str, &str)> = section
                .text
                .lines()
                .filter_map(|line| item(line).and_then(|item| Some((item, file_of(item)?))))
                .collect();
            let is_touched = |name: &str| touched.contains(name);
            if items.iter().filter(|(_, name)| is_touched(name)).count() < MIN_TOUCHED {
                continue;
            }
            let is_left = |name: &str| !is_touched(name) && !is_looked_at(timeline, plan.place, name);
            let untouched = items.iter().filter(|(item, name)| is_left(name) && !item.contains("(if "));
            found.extend(untouched.map(|(item, _)| {
                let text = one_line(&format!("{NOT_DONE}{}", plain(item)), LINE_CHARS);
                Pointed { text, line: plan.line, at: plan.at }
            }));
        }
        found.extend(unmentioned(timeline, plan));
    }
    found
}

/// Returns the numbered items of a plan that has many, of whose names nothing that was done or said since has a word.
/// Nothing is told of one that a person or the agent may have spoken of in other words, or whose work was given away.
fn unmentioned(timeline: &Timeline<'_>, plan: &Plan<'_>) -> Vec<Pointed> {
    let later = timeline.deeds.partition_point(|deed| deed.began <= plan.place);
    let deeds = &timeline.deeds[later..];
    if deeds.iter().any(|deed| deed.act() == Act::Spawn) {
        return Vec::new();
    }
    let items: Vec<&str> = sections(&plan.text).iter().flat_map(|section| numbered(section)).collect();
    let stem = |word: String| word.chars().take(STEM_CHARS).collect::<String>();
    let stems = |text: &str| significant_words(text).into_iter().map(stem).collect::<BTreeSet<String>>();
    let replies = timeline.rounds.iter().flat_map(|round| &round.replies).filter(|reply| reply.place > plan.place);
    let prompts =
        timeline.rounds.iter().filter_map(|round| round.prompt.as_ref()).filter(|said| said.place > plan.place);
    let mut since: BTreeSet<String> = replies.chain(prompts).flat_map(|said| stems(said.text)).collect();
    for deed in deeds {
        let path = deed.edit().map_or("", |(path, ..)| path);
        since.extend([path, deed.new_text(), deed.command().unwrap_or_default()].into_iter().flat_map(stems));
        let todo = deed.call.filter(|call| call.act == Act::Todo).map(|call| call.input.values());
        since.extend(todo.into_iter().flatten().flat_map(|value| stems(&value.to_string())));
    }
    let is_left = |item: &&&str| {
        let name = stems(name_of(item));
        name.len() >= MIN_NAMING && name.is_disjoint(&since)
    };
    let left: Vec<&&str> = items.iter().filter(is_left).collect();
    if items.len() < MIN_ITEMS || left.len() * LEFT_OF > items.len() {
        return Vec::new();
    }
    let told = |item: &&str| Pointed {
        text: one_line(&format!("{NOT_DONE}{}", plain(item)), LINE_CHARS),
        line: plan.line,
        at: plan.at,
    };
    left.into_iter().map(told).collect()
}

/// Returns the items of a part that are steps of the work and have to be done.
fn numbered<'s>(section: &Section<'s>) -> Vec<&'s str> {
    let is_work = matches!(section.kind, Kind::Step | Kind::Other);
    let lines = section.text.lines().filter(|line| is_work && line.starts_with(|c: char| c.is_ascii_digit()));
    let is_due = |item: &&str| {
        let signs = Signs::read(item);
        signs.begins(Sign::Request) && !signs.has_any(&[Sign::Hedge, Sign::Later]) && !item.contains("(optional")
    };
    lines.filter_map(item).filter(is_due).collect()
}

/// Returns the bold lead of an item, or what stands before its explanation, without the verb.
fn name_of(item: &str) -> &str {
    let lead = item.strip_prefix("**").and_then(|rest| rest.split_once("**")).map(|(lead, _)| lead);
    let name = lead.unwrap_or_else(|| item.split([':', '—', '(']).next().unwrap_or(item));
    name.split_once(' ').map_or(name, |(_, rest)| rest)
}

/// Returns true if a file was looked at from a place on: left as it is, it needed no change.
fn is_looked_at(timeline: &Timeline<'_>, from: usize, name: &str) -> bool {
    let later = timeline.deeds.iter().filter(|deed| deed.began >= from && deed.succeeded());
    let mut looks = later.filter(|deed| matches!(deed.act(), Act::Read | Act::Search)).filter_map(Deed::target);
    looks.any(|path| path.rsplit(['/', '\\']).next() == Some(name))
}

/// Returns the names of the files that were edited, and all words of the commands that were run, from a place on.
fn touched_names<'a>(timeline: &Timeline<'a>, from: usize) -> BTreeSet<&'a str> {
    let later = timeline.deeds.iter().filter(|deed| deed.began >= from && deed.succeeded());
    // What git is told about a file does not change it.
    let acts = |deed: &&Deed<'a>| {
        let looks = deed.kept_command().is_some_and(Command::only_looks);
        !looks && !deed.command().is_some_and(|text| text.trim_start().starts_with("git "))
    };
    let texts = later.filter(acts).filter_map(|deed| deed.edit().map(|(path, ..)| path).or_else(|| deed.command()));
    let is_border = |c: char| c.is_whitespace() || "/\\'\"`=:;,()<>|&$".contains(c);
    texts.flat_map(|text| text.split(is_border)).filter(|word| !word.is_empty()).collect()
}
