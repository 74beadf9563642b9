//! What a conclusion says was done or found, within a bound: the same words for the state, for the answers and for the handoff.
//!
//! Every section and every item of a list is told by its head before any is told whole; where there is too little room, the
//! section that answers the request comes first. A sentence that names nothing (no file, code, name or number) says nothing,
//! and neither does praise. What checks and commits came to is told from their results, so it is left out here.

mod marks;
mod outline;
mod selection;
mod substance;

#[cfg(test)]
pub(super) use self::selection::MAX_CHARS;

use self::outline::outline;
use self::selection::select;
use self::substance::{MIN_WORDS, is_lead, names_thing, tells};
use super::clause::clause_within;
use super::excerpt::{self, bare, sentences_within, with_full_stop};
use super::label::capitalised;
use super::sentence::{Sentence, is_decoration, list_marker, plain, sentences};
use super::settled::PRONOUNS;
use crate::lexicon::{Sign, Signs};
use baton_words::WordList;

/// Labels of what a plan is for.
static GOALS: WordList = WordList::new(crate::WORDS, "goals");
/// Words that agree or deny.
static ANSWERS: WordList = WordList::new(crate::WORDS, "answers");
/// Further sentences are told up to this length, in characters.
const PROSE_CHARS: usize = 400;
/// Maximum length of an item of what a plan is for, in characters.
const WISH_CHARS: usize = 110;
/// First sentences among which the one that says on what a message rests is looked for.
const BASIS_SENTENCES: usize = 2;
/// Only this much of a message is read, in bytes.
const MAX_BYTES: usize = 20_000;
/// Fewest words of a remark that names nothing.
const REMARK_WORDS: usize = 4;
/// Words of a label that names nothing.
const LABELS: [&str; 8] = ["cause", "change", "issue", "problem", "result", "root", "simple", "solution"];

/// Returns what a conclusion says came of a request; empty if it says nothing. With `fails` a check failed before, and a
/// sentence by which checks passed is not repeated.
pub(super) fn outcome(text: &str, request: &str, fails: bool) -> String {
    let parts = outline(excerpt::head(text, MAX_BYTES), request, fails);
    let says = !parts.is_empty();
    let told = select(parts, request);
    // A message too long to be told in parts is told by one sentence.
    let told = if told.is_empty() && says { remark(text) } else { told };
    let told = match basis(text).filter(|basis| !told.is_empty() && !told.contains(basis.as_str())) {
        Some(basis) => format!("{basis}: {told}"),
        None => told,
    };
    match verdict(text, request).filter(|_| !told.is_empty()) {
        Some(verdict) => format!("{verdict} {told}"),
        None => told,
    }
}

/// Returns the clause by which a message begins with saying that it rests on no look at the matter: all that follows does.
fn basis(text: &str) -> Option<String> {
    let all = sentences(text);
    let first = all.iter().take(BASIS_SENTENCES).take_while(|one| !one.point).filter(|one| !one.quoted);
    let clauses = first.flat_map(|one| one.text.split(", "));
    let found = clauses.into_iter().find(|clause| Signs::read(clause).has(Sign::Basis))?;
    Some(plain(found).trim_end_matches(['.', ':', ' ']).to_owned())
}

/// Returns the sentence of few words with which a message answers a question: `Not yet.`
fn verdict<'t>(text: &'t str, request: &str) -> Option<&'t str> {
    let said = sentences(text).into_iter().next().filter(|said| !said.point && !request.is_empty())?.text;
    let mut words = said.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    let is_short = said.split_whitespace().count() < MIN_WORDS && !is_lead(said);
    (is_short && words.any(|word| ANSWERS.has(&word))).then_some(said)
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
        let told = all.iter().filter(of).take(2).map(|one| with_full_stop(plain(one.text)));
        sentences_within(&told.collect::<Vec<_>>().join(" "), PROSE_CHARS)
    };
    Some(first(&|one| tells(one) && !one.point && !is_lead(one.text)))
        .filter(|told| !told.is_empty())
        .unwrap_or_else(|| first(&is_statement))
}

/// Returns the sentences that name a thing, without their labels: first those that say what was changed. An item of a list is
/// only a part.
pub(super) fn chief_sentences(text: &str) -> Vec<String> {
    let all = sentences(excerpt::head(text, MAX_BYTES)).into_iter();
    // `That was stopped` says nothing without the sentence before.
    let points = |text: &str| text.split(' ').next().is_some_and(|first| PRONOUNS.contains(&&*first.to_lowercase()));
    let stands = |one: &Sentence<'_>| {
        !one.point && tells(one) && names_thing(one.text) && !is_lead(one.text) && !points(one.text)
    };
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

/// Returns what the first section of a plan with sentences says; a lead takes the items behind it, or is left out.
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
    if let Some(goal) = goal(&all, chars) {
        return goal;
    }
    // Another lead introduces code, which is not told.
    let stands = |(at, one): &(usize, &Sentence<'_>)| !list.contains(at) && !one.point && !is_lead(one.text);
    let rest = all.iter().enumerate().filter(stands).map(|(_, one)| one);
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

/// Returns what a text calls its goal.
pub(super) fn stated_goal(text: &str, chars: usize) -> Option<String> {
    goal(&sentences(excerpt::head(text, MAX_BYTES)), chars)
}

/// Returns the sentence that calls itself the goal, which says most, with those that go on from it.
fn goal(all: &[Sentence<'_>], chars: usize) -> Option<String> {
    let is_goal = |one: &Sentence<'_>| {
        plain(one.text).split_once([':', '：']).is_some_and(|(label, _)| GOALS.has(&label.trim().to_lowercase()))
            && !is_lead(one.text)
    };
    let at = all.iter().position(is_goal)?;
    let goes_on = all[at + 1..].iter().take_while(|one| !one.point && !is_lead(one.text));
    let told = plain(all[at].text).split_once([':', '：']).map(|(_, goal)| capitalised(goal)).into_iter();
    let told: Vec<String> = told.chain(goes_on.map(|one| plain(one.text))).collect();
    Some(sentences_within(told.join(" ").trim(), chars))
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
    fn what_only_assures_is_not_told() {
        check("- `a.rs`: turns left\n- Maintained the same speed of the winch of crane 7", "`a.rs`: turns left");
        check("- `a.rs`: turns left\n- Preserved order: by the load of crane 7", "`a.rs`: turns left");
        check("The winch turns by `step`. Verified the load of crane 7.", "The winch turns by `step`.");
        check("### Verified:\n- the 4 ropes\n- crane 7\n### Made:\n- rope 5", "rope 5");
        let kept = "Preserved `Hook::turn` for callers of crane 7.";
        check(kept, kept);
    }

    #[test]
    fn what_is_counted_in_brackets_is_left_out() {
        check("- `a.rs` (92 lines), the mast\n- the jib (3 metres)", "`a.rs`, the mast; the jib (3 metres)");
    }

    #[test]
    fn findings_are_told_with_what_they_rest_on() {
        let said = "Based on my own knowledge of cranes, here is a summary:\n\n- the winch lifts 40 tonnes\n- `hoist` stops it";
        check(said, "Based on my own knowledge of cranes: the winch lifts 40 tonnes; `hoist` stops it");
        check("I looked at `a.rs`.\n- the winch lifts 40 tonnes", "I looked at `a.rs`. the winch lifts 40 tonnes");
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
    fn of_several_lists_each_is_told_in_part_before_one_is_left_out() {
        let item = |n: usize| format!("- `part{n}.rs` — Added the winch{n} and whatever it takes to lift its load\n");
        let list = |from: usize| (from..from + 8).map(item).collect::<String>();
        let told = outcome(&format!("### Harbour Changes\n{}### Crane Changes\n{}", list(10), list(20)), "", false);
        assert!(told.starts_with("Harbour Changes: `part10.rs` — Added the winch10"), "{told}");
        assert!(told.contains("; and 2 more. Crane Changes: `part20.rs`") && told.ends_with("; and 3 more."), "{told}");
        assert!(told.chars().count() <= selection::MAX_CHARS, "{told}");
        let nested = "- `a.rs` — Three changes:\n  - Raised the mast of crane 7\n  - Oiled it\n  - Lowered the jib to a mark that the harbour asks for whenever a ship with a high mast lies below it\n";
        let told = outcome(&format!("{nested}{}", list(10).replace("whatever", "everything whatsoever")), "", false);
        assert!(told.starts_with("`a.rs` — Raised the mast of crane 7 and 2 more; `part10.rs`"), "{told}");
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
        check(
            "| File | Change |\n|---|---|\n| `a.rs` | Raised the mast |\n| `b.rs` | ⏳ Pending |",
            "`a.rs`: Raised the mast",
        );
        let table = "| Part | What it does | Load |\n|---|---|---|\n| `Hook` | Holds the rope of the crane | 7 tons |";
        check(table, "`Hook`: Holds the rope of the crane");
        let asked = outcome(table, "Which load does each part of the crane take?", false);
        assert_eq!(asked, "`Hook`, Load 7 tons: Holds the rope of the crane");
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
    fn a_bold_head_may_have_the_number() {
        let items =
            "**1. `mast.rs`** - Added a rope.\n**2. `sail.rs`** - Took the reef out.\n**3. `hull.rs`** - Caulked.";
        let told = "`mast.rs` - Added a rope. `sail.rs` - Took the reef out. `hull.rs` - Caulked.";
        check(&format!("All is done. Here's a summary:\n{items}"), told);
        check(&format!("All is done. Here's a summary:\n{}", items.replace('\n', "\n\n")), told);
    }

    #[test]
    fn code_is_told_with_what_leads_to_it_or_neither() {
        let list = "- Instead of a search by hand, use:\n  ```sh\n  hoist  --reset\n  ```\n- This lowers the `Hook`";
        check(list, "Instead of a search by hand, use: `hoist --reset`; This lowers the `Hook`");
        check(&list.replace("hoist  --reset\n", "hoist\n reset\n"), "");
        check("Keep the mast local:\n\n```\na\nb\n```\n\nReasoning:\n\n- the `Hook` is old", "the `Hook` is old");
        check(
            "The hook takes:\n\n`load:7`\n\nRaised the jib of `a.rs`.",
            "The hook takes: `load:7`. Raised the jib of `a.rs`.",
        );
        check(
            "- `a.rs`: logs the load of the hook. This is what you see:\n  ```\n  a\n  b\n  ```\n- `b.rs` turns left",
            "`a.rs`: logs the load of the hook; `b.rs` turns left",
        );
    }

    #[test]
    fn a_sentence_is_not_told_without_what_it_goes_on_from() {
        check("If it rains, does the `Hook` slip? In that case I raise `mast.rs`. The jib turns by `turn`.", {
            "The jib turns by `turn`."
        });
        check("The jib turns by `turn`. This frees the `Hook`.", "The jib turns by `turn`. This frees the `Hook`.");
        check("Done. This frees the `Hook`.", "This frees the `Hook`.");
        let items = |from: usize| (from..from + 9).map(|n| format!("- the {n} ropes of `x{n}` that were laid anew\n"));
        let list = |from: usize| items(from).collect::<String>();
        let fixes = format!("**Ropes laid** (9 places)\n{}\n**Knots tied** (9 places)\n{}\n", list(1), list(11));
        let told = outcome(&format!("{fixes}This keeps the `Hook` in its place."), "", false);
        assert!(told.ends_with(". Knots tied (9 places)"), "{told}");
        let said = "Not yet. The `Hook` is open by hand.";
        assert_eq!(outcome(said, "Does the hook open by itself?", false), said);
        assert_eq!(outcome(said, "", false), "The `Hook` is open by hand.");
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
        assert_eq!(told, "Findings: the winch lifts 40 tonnes by its brake; a second one");
    }

    #[test]
    fn a_list_is_told_whole_or_by_its_lead() {
        let items = |many: usize, text: &str| (1..=many).map(|n| format!("- part {n}{text}\n")).collect::<String>();
        let long = items(12, " of the old mast stays where it has always been by the winch of the deck");
        let told = outcome(&format!("I moved the `winch` to the deck. Three changes:\n{long}"), "", false);
        assert_eq!(told, "I moved the `winch` to the deck.");
        let told = outcome(&format!("Added 12 parts to the mast of `a.rs`:\n{long}"), "", false);
        assert_eq!(told, "Added 12 parts to the mast of `a.rs`.");
        // A counted list is complete.
        check("Longer in both places:\n- `a.rs` of the jib\n- All 12 tests pass", "");
        check("- Split the `hoist` job into 3 jobs:\n  1. **lift it**\n  2. **turn it**\n  3. **lower it**", {
            "Split the `hoist` job into 3 jobs: lift it, turn it, lower it"
        });
        let jobs = items(9, " of the hoist has a name that is long enough to fill the room that there is for a list");
        let nested = jobs.replace("- ", "  - ");
        check(&format!("- Split the `hoist` job into 9 jobs:\n{nested}"), "Split the `hoist` job into 9 jobs");
        check("To go on, you need to add these secrets:\n\n| Secret | Value |\n|---|---|\n| `KEY` | the key |", "");
    }

    #[test]
    fn sections_that_are_too_long_are_told_by_their_headings() {
        let section = |name: &str| {
            let items =
                (1..7).map(|n| format!("- Added `part_{name}_{n}` and what is told of it in many more words\n"));
            format!("### {name} (`src/deck/{name}.rs`)\n{}", items.collect::<String>())
        };
        let told = outcome(&["mast", "jib", "hook"].map(section).concat(), "", false);
        let areas = |head: fn(&str) -> String| {
            let area = |name: &str| {
                let item = |n| format!("Added `part_{name}_{n}` and what is told of it in many more words");
                format!("{} (`{name}.rs`): {}, {}, {} and 3 more", head(name), item(1), item(2), item(3))
            };
            format!("Changed: {}", ["mast", "jib", "hook"].map(area).join("; "))
        };
        assert_eq!(told, areas(str::to_owned));
        let label = |name: &str| {
            let items = section(name);
            let items = items.split_once('\n').map_or("", |(_, items)| items);
            format!("**The {name} of it** (`src/deck/{name}.rs`):\n{items}\n")
        };
        let told = outcome(&["mast", "jib", "hook"].map(label).concat(), "", false);
        assert_eq!(told, areas(|name| format!("The {name} of it")));
        let more = |n| format!("- and part {n} of the same mast of the deck, as it is told in the log of crane 7\n");
        let long = format!("Added the parts of `Deck`.\n\n{}{}", section("mast"), (0..9).map(more).collect::<String>());
        let told = outcome(&long, "", false);
        assert!(told.starts_with("Added the parts of `Deck`. mast (`mast.rs`): Added `part_mast_1`"), "{told}");
    }

    #[test]
    fn an_item_carries_the_bold_label_above_it() {
        check("Two files changed:\n\n**`src/mast.rs`:**\n- Line 3: raised\n\n**`src/jib.rs`:**\n- Line 4: cut", {
            "`src/mast.rs`: Line 3: raised. `src/jib.rs`: Line 4: cut"
        });
    }

    #[test]
    fn items_stand_below_the_heading_that_names_them() {
        check("**`src/mast.rs`**\n- Raised the mast\n\n**`src/jib.rs`**\n- Raised the mast\n- Cut the jib", {
            "`src/mast.rs`: Raised the mast. `src/jib.rs`: Raised the mast; Cut the jib"
        });
        let parts = "**New files:**\n- `a.rs` — the brake\n\n**Modified files:**\n- `b.rs` — the drum";
        check(&format!("## Mast\n- Raised the mast\n\n## Winch of 7\n\n{parts}"), {
            "Mast: Raised the mast. Winch of 7: `a.rs` — the brake. `b.rs` — the drum"
        });
        check(&format!("## Mast\n- Raised the mast\n\n## Changes\n\n{parts}"), {
            "Mast: Raised the mast. `a.rs` — the brake. `b.rs` — the drum"
        });
    }

    #[test]
    fn an_item_is_told_beyond_its_label_or_not_at_all() {
        let body = "lifts the load from the deck to the quay without any stop on the way, ".repeat(12);
        check(&format!("- the winch of `a.rs` turns\n- **The hook of the crane**: {}", body.replace(", ", " ")), {
            "the winch of `a.rs` turns"
        });
        check(
            "- Use **Hook** for: heavy loads\n- Use **Jib** for: light loads",
            "Use Hook for: heavy loads; Use Jib for: light loads",
        );
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
        assert_eq!(purpose("# Winch\n\nIt is slow. The log shows:\n```\nslow\n```\n", 600), "It is slow.");
        let said = "Nice. The `jib` was long. **Fix**: Replaced the `jib` by 2 hooks.\n- Changed `x`";
        assert_eq!(chief_sentences(said), ["Replaced the `jib` by 2 hooks.", "The `jib` was long."]);
    }
}
