//! What a conclusion says was done or found, within a bound: the same words for the state, for the answers and for the handoff.
//!
//! Every section and every item of a list is told by its head before any is told whole; where there is too little room, the
//! section that answers the request comes first. A sentence that names nothing (no file, code, name or number) says nothing,
//! and neither does praise. What checks and commits came to is told from their results, so it is left out here.

mod outline;
mod substance;

use std::borrow::Cow;
use std::collections::BTreeSet;

use self::outline::{Kind, Part, outline};
use self::substance::{is_lead, says, tells};
use super::clause::clause_within;
use super::excerpt::{self, bare, closed, sentences_within};
use super::sentence::{Sentence, is_decoration, list_marker, plain, sentences};
use crate::lexicon::{Sign, Signs};

/// Maximum length, in characters.
pub(super) const MAX_CHARS: usize = 560;
/// Further sentences are told up to this length, in characters.
const PROSE_CHARS: usize = 400;
/// Maximum length of an item of what a plan is for, in characters.
const WISH_CHARS: usize = 110;
/// Maximum length of the head of an item of many, in characters.
const SHORT_CHARS: usize = 90;
/// Only this much of a message is read, in bytes.
const MAX_BYTES: usize = 20_000;
/// Fewest words of a remark that names nothing.
const REMARK_WORDS: usize = 4;
/// A section answers a request if it takes up so many more of its words than any other.
const CLEARLY_MORE: usize = 2;
/// Fewest letters of a word of a request that an answer takes up.
const WORD_CHARS: usize = 4;
/// Words of a label that names nothing.
const LABELS: [&str; 8] = ["cause", "change", "issue", "problem", "result", "root", "simple", "solution"];

/// Returns what a conclusion says came of a request; empty if it says nothing. With `fails` a check failed before, and a
/// sentence by which checks passed is not repeated.
pub(super) fn outcome(text: &str, request: &str, fails: bool) -> String {
    let mut parts = outline(excerpt::head(text, MAX_BYTES), fails);
    shorten_heads(&mut parts);
    let mut selection = Selection::new(&parts);
    let ranks = ranks(&parts, answering_section(&parts, request));
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|at| ranks[*at]);
    let further = MAX_CHARS - PROSE_CHARS;
    for is_again in [false, true] {
        for &at in &order {
            let spared = if ranks[at].0 == Rank::Further { further } else { 0 };
            if !is_again || !matches!(parts[at].kind, Kind::Heading | Kind::Label) {
                selection.tell(at, selection.left.saturating_sub(spared));
            }
        }
        selection.drop_bare_headings();
    }
    // So most are told whole.
    order.sort_by_key(|at| parts[*at].whole.len());
    order.iter().for_each(|at| selection.tell_whole(*at));
    selection.text()
}

/// Shortens the heads of the items if they do not all fit.
fn shorten_heads(parts: &mut [Part]) {
    if parts.iter().map(|part| part.head.chars().count() + 2).sum::<usize>() > MAX_CHARS {
        for part in parts.iter_mut().filter(|part| part.kind == Kind::Item) {
            part.head = clause_within(&part.head, SHORT_CHARS).unwrap_or_else(|| std::mem::take(&mut part.head));
        }
    }
}

/// How soon a part is told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    First,
    Head,
    Below,
    Further,
}

/// Returns the rank of every part, and its place among those of the same rank.
fn ranks(parts: &[Part], best: Option<usize>) -> Vec<(Rank, bool, usize)> {
    let named: BTreeSet<usize> =
        parts.iter().filter(|part| matches!(part.kind, Kind::Heading | Kind::Label)).map(|part| part.section).collect();
    let is_sentence = |part: &&Part| part.kind == Kind::Sentence;
    let first = parts.iter().position(|part| part.kind == Kind::Sentence && !named.contains(&part.section));
    let changes = |part: &&Part| is_sentence(part) && Signs::read(&part.whole).has(Sign::Change);
    let change = parts.iter().position(|part| changes(&part)).filter(|_| first.is_none_or(|at| !changes(&&parts[at])));
    let closing = parts.iter().position(|part| part.closes && part.kind == Kind::Sentence);
    let mut count = 0;
    let rank = |(at, part): (usize, &Part)| {
        let begins = at.checked_sub(1).is_none_or(|before| parts[before].section != part.section);
        count = if begins { 0 } else { count + 1 };
        let is_named = named.contains(&part.section);
        let rank = match part.kind {
            _ if Some(at) == first => Rank::First,
            Kind::Heading | Kind::Label => Rank::Head,
            _ if Some(at) == change || Some(at) == closing => Rank::Head,
            Kind::Item | Kind::Lead if !is_named => Rank::Head,
            Kind::Item | Kind::Lead => Rank::Below,
            Kind::Sentence if is_named && count <= 1 || part.whole.contains('`') => Rank::Below,
            Kind::Sentence => Rank::Further,
        };
        (rank, best.is_some_and(|best| best != part.section), count)
    };
    parts.iter().enumerate().map(rank).collect()
}

/// Returns the section that takes up clearly more words of a request than any other.
fn answering_section(parts: &[Part], request: &str) -> Option<usize> {
    let words = |text: &str| -> BTreeSet<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() >= WORD_CHARS);
        words.map(str::to_lowercase).collect()
    };
    let asked = words(request);
    let mut found: Vec<(usize, BTreeSet<String>)> = Vec::new();
    for part in parts {
        if found.last().is_none_or(|(section, _)| *section != part.section) {
            found.push((part.section, BTreeSet::new()));
        }
        let known = found.last_mut().map(|(_, known)| known);
        known.into_iter().for_each(|known| known.extend(words(&part.whole).intersection(&asked).cloned()));
    }
    found.sort_by_key(|(_, known)| usize::MAX - known.len());
    let (best, known) = found.first()?;
    let other = found.get(1).map_or(0, |(_, known)| known.len());
    (known.len() >= other + CLEARLY_MORE).then_some(*best)
}

/// The parts that are told so far.
struct Selection<'p> {
    parts: &'p [Part],
    /// The lead that an item stands behind.
    leads: Vec<Option<usize>>,
    told: Vec<Option<Cow<'p, str>>>,
    /// The sections of which no more items fit.
    full: BTreeSet<usize>,
    left: usize,
}

impl<'p> Selection<'p> {
    fn new(parts: &'p [Part]) -> Self {
        let mut lead = None;
        let leads = parts.iter().enumerate().map(|(at, part)| {
            if part.kind != Kind::Item {
                lead = Some(at).filter(|_| part.kind == Kind::Lead);
            }
            lead
        });
        Self { parts, leads: leads.collect(), told: vec![None; parts.len()], full: BTreeSet::new(), left: MAX_CHARS }
    }

    /// Tells the head of a part if it fits, with the lead that it stands behind.
    fn tell(&mut self, at: usize, room: usize) {
        if !self.is_reached(at) {
            return;
        }
        let lead = self.leads[at].filter(|lead| self.told[*lead].is_none());
        let cost = |at: usize| self.parts[at].head.chars().count() + 2;
        let costs = cost(at) + lead.map_or(0, |lead| if lead == at { 0 } else { cost(lead) });
        let is_item = self.parts[at].kind == Kind::Item;
        let section = self.parts[at].section;
        if self.told[at].is_some() || lead == Some(at) || is_item && self.full.contains(&section) {
            return;
        }
        if costs > room.min(self.left) {
            // The items of a list are told without gaps.
            self.full.extend(is_item.then_some(section));
            return;
        }
        self.left -= costs;
        [Some(at), lead].into_iter().flatten().for_each(|at| self.told[at] = Some(Cow::Borrowed(&self.parts[at].head)));
    }

    /// Returns true unless a part goes on from a label that cannot be told whole.
    fn is_reached(&mut self, at: usize) -> bool {
        let section = self.parts[at].section;
        let label = self.parts[..at].iter().rposition(|part| part.section != section).map_or(0, |before| before + 1);
        let label = Some(label).filter(|label| *label < at && self.parts[*label].kind == Kind::Label);
        label.is_none_or(|label| {
            self.tell_whole(label);
            self.told[label].as_ref().is_some_and(|told| told.len() == self.parts[label].whole.len())
        })
    }

    /// Tells all of a part whose head is told, or as many of its clauses as fit.
    fn tell_whole(&mut self, at: usize) {
        let Some(told) = &self.told[at] else { return };
        let (whole, known) = (&self.parts[at].whole, told.chars().count());
        let more = clause_within(whole, known + self.left).filter(|more| more.chars().count() > known);
        if let Some(more) = more {
            self.left -= more.chars().count() - known;
            self.told[at] = Some(Cow::Owned(more));
        }
    }

    /// Returns what is told, in the order of the message.
    fn text(&self) -> String {
        let mut text = String::new();
        let mut last: Option<&Part> = None;
        let mut more = 0;
        for (part, told) in self.parts.iter().zip(&self.told) {
            let goes_on = last.is_some_and(|last| last.section == part.section);
            let Some(told) = told else {
                more +=
                    usize::from(part.kind == Kind::Item && goes_on && last.is_some_and(|last| last.kind == Kind::Item));
                continue;
            };
            if part.kind != Kind::Item || !goes_on {
                text.push_str(&and_more(&mut more));
            }
            text = match last.map(|last| last.kind) {
                None => text,
                Some(Kind::Item) if part.kind == Kind::Item => text + "; ",
                Some(Kind::Heading) if goes_on && !last.is_some_and(|last| last.whole.contains(": ")) => text + ": ",
                Some(_) => closed(text) + " ",
            };
            text.push_str(told);
            last = Some(part);
        }
        text + &and_more(&mut more)
    }

    /// Drops the headings that name no code and no number and have nothing told below them.
    fn drop_bare_headings(&mut self) {
        let mut below = None;
        for (at, part) in self.parts.iter().enumerate().rev() {
            let Some(told) = &self.told[at] else { continue };
            let names = told.contains(['`', '(']) || told.contains(|c: char| c.is_ascii_digit());
            if part.kind == Kind::Heading && below != Some(part.section) && !names {
                self.left += told.chars().count() + 2;
                self.told[at] = None;
            }
            below = Some(part.section);
        }
    }
}

/// Counts items that are not told, and begins to count anew.
fn and_more(count: &mut usize) -> String {
    match std::mem::take(count) {
        0 => String::new(),
        count => format!("; and {count} more"),
    }
}

/// Returns the first sentences that tell anything, if none names a thing; or else those that are no question and announce
/// nothing.
pub(super) fn remark(text: &str) -> String {
    let all = sentences(excerpt::head(text, MAX_BYTES));
    let is_statement = |one: &&Sentence<'_>| {
        let signs = Signs::read(one.text);
        let is_idle = signs.asks() || signs.begins(Sign::Announce) || signs.has(Sign::Offer) || is_lead(one.text);
        !is_idle && !one.quoted && one.text.split_whitespace().nth(REMARK_WORDS - 1).is_some()
    };
    let first = |of: &dyn Fn(&&Sentence<'_>) -> bool| {
        let told = all.iter().filter(of).take(2).map(|one| closed(plain(one.text)));
        sentences_within(&told.collect::<Vec<_>>().join(" "), PROSE_CHARS)
    };
    Some(first(&|one| tells(one))).filter(|told| !told.is_empty()).unwrap_or_else(|| first(&is_statement))
}

/// Returns the sentences that name a thing, without their labels: first those that say what was changed. An item of a list is
/// only a part.
pub(super) fn chief(text: &str) -> Vec<String> {
    let all = sentences(excerpt::head(text, MAX_BYTES)).into_iter();
    let stands = |one: &Sentence<'_>| !one.point && tells(one) && says(one.text) && !is_lead(one.text);
    let (changes, rest): (Vec<_>, Vec<_>) = all.filter(stands).partition(|one| Signs::read(one.text).has(Sign::Change));
    let words = |label: &str| {
        label
            .split(|c: char| !c.is_alphanumeric())
            .all(|word| word.len() <= 3 || LABELS.contains(&word.to_lowercase().as_str()))
    };
    let bare = |said: &Sentence<'_>| {
        let said = plain(said.text);
        let label = said.split_once(": ").filter(|(label, rest)| words(label) && rest.contains(' '));
        label.map_or(said.clone(), |(_, rest)| rest.to_owned())
    };
    changes.iter().chain(&rest).map(bare).collect()
}

/// Returns what the first section of a plan with sentences says; a lead takes the items behind it.
pub(super) fn purpose(plan: &str, chars: usize) -> String {
    let is_heading = |line: &str| line.starts_with('#') && is_decoration(line);
    let mut sections = plan.split_inclusive('\n').fold(vec![String::new()], |mut sections, line| {
        match sections.last_mut() {
            Some(section) if !is_heading(line) => section.push_str(line),
            _ => sections.push(String::new()),
        }
        sections
    });
    let has_prose = |section: &String| sentences(section).iter().any(|sentence| !sentence.point && !sentence.quoted);
    let at = sections.iter().position(has_prose).unwrap_or(0);
    let section = sections.swap_remove(at);
    // The wishes of a list say more than the story before it.
    let all: Vec<Sentence<'_>> = sentences(&section).into_iter().filter(|sentence| !sentence.quoted).collect();
    let lead =
        (1..all.len()).find(|at| all[*at].point && !all[at - 1].point && is_lead(all[at - 1].text)).map(|at| at - 1);
    let list = lead.map_or(0..0, |lead| {
        lead..all[lead + 1..].iter().position(|one| !one.point).map_or(all.len(), |end| lead + 1 + end)
    });
    let rest = all.iter().enumerate().filter(|(at, one)| !list.contains(at) && !one.point).map(|(_, one)| one);
    let mut told = String::new();
    for sentence in all[list.clone()].iter().filter(|one| !one.point || begins_item(&section, one)).chain(rest) {
        let next = match sentence.point {
            true => {
                let item = bare(&plain(sentence.text));
                clause_within(&item, WISH_CHARS).unwrap_or(item)
            }
            false => plain(sentence.text),
        };
        if !told.is_empty() && told.chars().count() + next.chars().count() + 2 > chars {
            break;
        }
        if !told.is_empty() {
            let joint = if !sentence.point {
                ". "
            } else if is_lead(&told) {
                " "
            } else {
                "; "
            };
            told.push_str(if told.ends_with(['.', '!', '?']) { " " } else { joint });
        }
        told.push_str(&next);
    }
    sentences_within(&told, chars)
}

/// Returns true if the sentence is the first of an item that is not nested in another.
fn begins_item(text: &str, sentence: &Sentence<'_>) -> bool {
    let at = sentence.text.as_ptr().addr() - text.as_ptr().addr();
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
    list_marker(&text[line..end]).is_some_and(|marker| line + marker == at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(outcome(text, "", false), expected, "{text:?}");
    }

    #[test]
    fn a_sentence_says_something_if_it_names_a_thing() {
        check("It is done now. The crane turns by `Motor::step`.", "The crane turns by `Motor::step`.");
        check("Perfect work all around.", "");
        check("All 12 tests pass and lint is clean. ✅ Build passes.", "");
        check("Commit successful. Committed as `0a1b2c3d`. The other files remain unstaged.", "");
        check("The tree is clean but for `src/hook.rs`, which still matches `origin/main`.", "");
        check("Once the crane has power, you need to call `start`.", "");
        check("起重机现在会在标记处停下。", "起重机现在会在标记处停下。");
        check("The jib was too long for `Hook`. I shortened it, and added 2 stops.", {
            "The jib was too long for `Hook`. I shortened it, and added 2 stops."
        });
    }

    #[test]
    fn the_last_paragraph_sums_up() {
        let text = "The jib suits `Hook`. It is old.\n\nThe rest of it grows.\n\nIn short: the idea is sound, the jib too long.";
        check(text, "The jib suits `Hook`. In short: the idea is sound, the jib too long.");
        check("**New file: `a.rs`**\n\nAll parts are replaced. Turned `x` left today.", "Turned `x` left today.");
    }

    #[test]
    fn an_item_that_only_leads_is_told_with_its_first_item() {
        check("- `a.rs` — Two changes:\n  - Raised the mast\n- `b.rs` — Nothing:\n- `c.rs` — turns left now", {
            "`a.rs` — Two changes: Raised the mast; `c.rs` — turns left now"
        });
        check(
            "- raised `a.rs`\n\n**Part 2**: the jib:\n- lowered `b.rs`",
            "raised `a.rs`. Part 2: the jib: lowered `b.rs`",
        );
    }

    #[test]
    fn a_list_is_told_by_the_heads_of_its_items() {
        check("Two cranes changed:\n- **Jib**: longer\n  - nested `x` detail\n- **Hook**: turns left", {
            "Two cranes changed: Jib: longer; Hook: turns left"
        });
        check("Here it is:\n\n- the mast and the jib\n- [the manual](https://x.org/a)\n- the mast and the jib", {
            "the mast and the jib"
        });
        check("## Next steps\n- paint the mast of crane 7", "");
        check("Longer in both:\n- `a.rs`\n- `b.rs`", "Longer in both: `a.rs`; `b.rs`");
        check("| File | Change |\n|---|---|\n| `a.rs` | Raised the mast |", "`a.rs`: Raised the mast");
        let long =
            format!("`src/mast.rs`: {}, {}", "raises the mast by one step ".repeat(3).trim(), "and more ".repeat(80));
        check(
            &long.replacen("", "- ", 1),
            &format!("`src/mast.rs`: {}", "raises the mast by one step ".repeat(3).trim()),
        );
        let items = |from: usize| (from..from + 4).map(|n| format!("- part {n} of it\n")).collect::<String>();
        check(&format!("### 1. Mast of `a.rs`\n{}### 2. Jib of `b.rs`\n{}", items(1), items(5)), {
            "Mast of `a.rs`: part 1 of it; part 2 of it; part 3 of it; part 4 of it. Jib of `b.rs`: part 5 of it; part 6 of it; \
             part 7 of it; part 8 of it"
        });
    }

    #[test]
    fn every_section_is_told_before_any_item_is_told_whole() {
        let body = "raises the mast by one step for every turn of the winch until it stands at the mark of the load";
        let section = |name: &str| {
            let items = ["one", "two", "three"].map(|one| format!("- **{one} mast of {name} raised** — {body}\n"));
            format!("### The part of `{name}`\n{}", items.concat())
        };
        let told = outcome(&format!("## Summary\n{}{}", section("a.rs"), section("b.rs")), "", false);
        assert!(told.starts_with("The part of `a.rs`: one mast of a.rs raised"), "{told}");
        assert!(told.contains(". The part of `b.rs`: one mast of b.rs raised"), "{told}");
        assert!(told.chars().count() <= MAX_CHARS && told.contains(body), "{told}");
    }

    #[test]
    fn the_section_that_answers_comes_first_where_room_is_short() {
        let items = |from: usize| {
            (from..from + 19).map(|n| format!("- the {n} cranes of `x{n}` are old and slow\n")).collect::<String>()
        };
        let text =
            format!("## Cranes\n{}## Findings\n- the winch lifts 40 tonnes by its brake\n- a second one", items(1));
        let told = outcome(&text, "Does the winch lift by its brake?", false);
        assert!(told.ends_with("Findings: the winch lifts 40 tonnes by its brake; a second one"), "{told}");
        assert!(told.contains("the 1 cranes") && told.contains("more. Findings"), "{told}");
    }

    #[test]
    fn what_is_offered_is_not_done() {
        check("The `jib` is longer.\n\nShall I go on? I can:\n- paint `a.rs`\n- cut `b.rs`", "The `jib` is longer.");
        check("The `jib` is longer.\n\nWhich one?\n\nIt now has:\n- a `hook`", "The `jib` is longer.");
        check(
            "Which one?\n\nThe `jib` is longer. It now has:\n- a `hook`",
            "The `jib` is longer. It now has: a `hook`",
        );
    }

    #[test]
    fn a_bold_label_is_a_heading_that_says_something() {
        let text = "**1. `a.rs`** — Raised the mast. It has two stops:\n- **A.** low\n- **B.** high\n\n**2. `b.rs`** — Cut the jib.";
        check(text, "`a.rs` — Raised the mast. It has two stops: A. low; B. high. `b.rs` — Cut the jib.");
        check("| Commit | Part |\n|---|---|\n| `0a1b2c3` | Raised the mast |\n| `1a2b3c4` | Cut the jib |", {
            "`0a1b2c3`: Raised the mast; `1a2b3c4`: Cut the jib"
        });
    }

    #[test]
    fn the_purpose_of_a_plan_is_the_list_of_what_is_wanted() {
        let plan = "# Winch\n\n## Context\n\nThe winch is slow. We need to:\n1. Grease **it**. Well.\n2. Turn it\n\n## Steps\n- no";
        assert_eq!(purpose(plan, 600), "We need to: Grease it; Turn it. The winch is slow.");
        assert_eq!(purpose("# Winch\n\nIt is slow. It is old.\n- a part", 600), "It is slow. It is old.");
        let said = "Nice. The `jib` was long. **Fix**: Replaced the `jib` by 2 hooks.\n- Changed `x`";
        assert_eq!(chief(said), ["Replaced the `jib` by 2 hooks.", "The `jib` was long."]);
    }
}
