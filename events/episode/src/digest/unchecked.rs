//! Checks by hand that a plan asks for and nobody is seen to have done.
//!
//! # Decisions
//!
//! - It is told only if it is sure: the plan is the last one, the work on it is concluded, nobody typed anything since but
//!   an order to commit or push (a person who goes on has looked at the result), and no call may have been the check: none
//!   asked a page or a tool outside, or started something that runs on.

use super::command::{Command, Family, Step};
use super::excerpt::one_line;
use super::exchange;
use super::plan;
use super::sentence::{list_marker, plain};
use super::stated::MIN_WORDS;
use super::timeline::{Deed, Round, Timeline};
use super::{LINE_CHARS, Pointed, work};
use crate::lexicon::{Sign, Signs};
use baton_conversation::item::Act;

/// Label of what was not checked.
const LABEL: &str = "Not seen to be checked: ";
/// Words of a step that is done by reading, or need not be done.
const READING: [&str; 5] = ["read", "review", "inspect", "optional", "optionally"];

/// Returns what the last plan wants to be checked by hand and nobody is seen to have checked, as one entry.
pub(super) fn by_hand(timeline: &Timeline<'_>) -> Option<Pointed> {
    let plan = plan::approved(timeline).pop()?;
    let said = timeline.rounds.iter().rev().find_map(|round| exchange::conclusion(timeline, round))?;
    let later: Vec<&Deed<'_>> = timeline.deeds.iter().filter(|deed| deed.began > plan.place).collect();
    let works = |deed: &&Deed<'_>| {
        let acts = deed.kept_command().map_or(deed.edit().is_some(), |command| !command.only_looks());
        acts && deed.succeeded()
    };
    let goes_on = work::requests(timeline).any(|said| said.place > plan.place && !orders_delivery(said.text));
    // A picture, or a prompt that is not shown.
    let is_hidden = |round: &Round<'_>| round.prompt.is_none() && round.deeds.start > 0;
    let hidden = timeline.rounds.iter().filter(|round| is_hidden(round));
    let mut hidden = hidden.filter_map(|round| timeline.deeds.get(round.deeds.start));
    if said.place < plan.place
        || !later.iter().any(works)
        || timeline.ends_interrupted
        || goes_on
        || hidden.any(|deed| deed.began > plan.place)
        || later.iter().any(|deed| may_check(deed))
    {
        return None;
    }
    let steps: Vec<String> = plan.checks().flat_map(|text| steps(text, &later)).collect();
    let text = one_line(&format!("{LABEL}{}", steps.join("; ")), LINE_CHARS);
    (!steps.is_empty()).then_some(Pointed { text, line: plan.line, at: plan.at })
}

/// Returns true for `commit`, `push it`: nobody needs to have looked at the result.
fn orders_delivery(text: &str) -> bool {
    let signs = Signs::read(text);
    text.split_whitespace().count() < MIN_WORDS && signs.begins(Sign::Order) && !signs.begins(Sign::Look)
}

/// Returns true if a call may be a look at what runs, or a person's own.
fn may_check(deed: &Deed<'_>) -> bool {
    let asks = |text: &str| text.contains("curl ") || text.contains("localhost");
    let runs = |command: &Command<'_>| command.steps().iter().any(|step| step.family() == Family::Run);
    deed.is_persons()
        || deed.in_background() && deed.kept_command().is_none_or(runs)
        || matches!(deed.act(), Act::Fetch | Act::Mcp)
        || deed.command().is_some_and(asks)
}

/// Returns the steps of a list of checks that are to be done by hand and no command does.
fn steps(text: &str, later: &[&Deed<'_>]) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        let bare = line.trim();
        let is_fence = bare.starts_with("```") || bare.starts_with("~~~");
        fenced ^= is_fence;
        if fenced || is_fence || bare.is_empty() {
            continue;
        }
        match (list_marker(bare), items.last_mut()) {
            (Some(marker), Some(last)) if line.starts_with([' ', '\t']) => {
                let joint = if last.ends_with(':') { " " } else { ", " };
                last.push_str(joint);
                last.push_str(bare[marker..].trim());
            }
            (Some(marker), _) => items.push(bare[marker..].trim().to_owned()),
            // A sentence among the items is one if it says so itself.
            (None, _) if by_hand_itself(bare) => items.push(bare.to_owned()),
            (None, _) => {}
        }
    }
    // A step that tests may cover says nothing of hands.
    items.retain(|item| by_hand_itself(item) && !is_done_otherwise(item, later));
    items.iter().map(|item| plain(item).trim_end_matches('.').to_owned()).collect()
}

fn by_hand_itself(item: &str) -> bool {
    let signs = Signs::read(item);
    signs.has(Sign::ByHand) && !signs.begins(Sign::Hedge)
}

/// Returns true for what a check of the work does, what adds to it, what is done by reading, and what was run.
fn is_done_otherwise(item: &str, later: &[&Deed<'_>]) -> bool {
    let spans: Vec<Command<'_>> = item.split('`').skip(1).step_by(2).map(Command::read).collect();
    let steps = || spans.iter().flat_map(Command::steps);
    let checks = steps().any(|step| step.family() != Family::Run);
    let ran = |step: &Step<'_>| {
        let lines = later.iter().filter(|deed| deed.succeeded()).filter_map(|deed| deed.parsed_command());
        lines.into_iter().any(|line| line.steps().iter().any(|other| other.runs_as(step)))
    };
    let mut words = item.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    words.any(|word| READING.contains(&&*word))
        || Signs::read(item).begins(Sign::Request)
        || checks && !by_hand_itself(item)
        || item.starts_with('`') && !by_hand_itself(item)
        || steps().any(ran)
}
