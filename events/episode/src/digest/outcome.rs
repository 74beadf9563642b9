//! What a conclusion says was done: its first sentence of substance and the heads of the items of its list.
//!
//! A sentence that names nothing (no file, code, name or number) says nothing, and neither does praise. What checks and
//! commits came to is told from their results, so it is left out here.

mod substance;

use self::substance::{MIN_WORDS, claims, is_lead, says, sums_up, tells, words_of_prose};
use super::excerpt::{self, one_line, sentences_within};
use super::label::{is_joint, is_loose};
use super::leftovers::leftovers;
use super::sentence::{Sentence, is_decoration, list_marker, plain, sentences};
use crate::lexicon::{Sign, Signs};

/// Maximum length, in characters.
pub(super) const MAX_CHARS: usize = 420;
/// Maximum length of the sentences if no list follows, in characters.
const PROSE_CHARS: usize = 320;
/// Maximum length of an item of a list of many, in characters.
const HEAD_CHARS: usize = 150;
/// Maximum length of an item of what a plan is for, in characters.
const WISH_CHARS: usize = 110;
/// A head is cut at the end of a clause after this length, in characters.
const CLAUSE_CHARS: usize = 40;
/// Of a longer list the headings above its items say more than its first items.
const MAX_ITEMS: usize = 6;
/// Only this much of a message is read, in bytes.
const MAX_BYTES: usize = 20_000;
/// Fewest words of a heading.
const MIN_HEADING_WORDS: usize = 2;
/// Words of headings that name nothing.
const GENERAL: [&str; 14] = [
    "backend",
    "changes",
    "completed",
    "created",
    "files",
    "frontend",
    "implementation",
    "modified",
    "new",
    "results",
    "summary",
    "tests",
    "updated",
    "verification",
];
/// Words of a label that names nothing.
const LABELS: [&str; 8] = ["cause", "change", "issue", "problem", "result", "root", "simple", "solution"];
/// Returns what a conclusion says was done; empty if it says nothing. With `fails` a check failed before, and a sentence
/// by which checks passed is not repeated.
pub(super) fn outcome(text: &str, fails: bool) -> String {
    let text = excerpt::head(text, MAX_BYTES);
    let left = leftovers(text);
    let whole = sentences(text);
    let is_left = |sentence: &Sentence<'_>| left.iter().any(|left| lies_in(sentence.text, left.text));
    let stays = |sentence: &Sentence<'_>| tells(sentence) && !is_left(sentence) && !(fails && claims(sentence.text));
    let all: Vec<&Sentence<'_>> = whole.iter().filter(|sentence| stays(sentence)).collect();
    let points = all.iter().filter(|one| one.point && begins_item(text, one)).map(|one| one.text.as_ptr().addr());
    let list = points.min().unwrap_or(usize::MAX);
    let items = items(text, &all);
    let last = text.trim_end().rfind("\n\n").map_or(usize::MAX, |at| text[at..].as_ptr().addr());
    // A lead stays with the list behind it, unless it only points there; without a list it ends in nothing.
    let is_before = |one: &Sentence<'_>| {
        whole.iter().find(|next| next.text.as_ptr() > one.text.as_ptr()).is_some_and(|next| next.point)
    };
    let stands = |one: &Sentence<'_>| match is_lead(one.text) {
        true => {
            one.text.as_ptr().addr() < list
                && !items.is_empty()
                && (says(one.text) || is_before(one) && !one.text.starts_with("Here"))
        }
        false => says(one.text) || sums_up(one.text) && one.text.as_ptr().addr() >= last,
    };
    let prose: Vec<&&Sentence<'_>> = all.iter().filter(|one| !one.point && stands(one)).collect();
    let Some((first, rest)) = prose.split_first() else { return listed(String::new(), &items) };
    let first = plain(first.text);
    if !items.is_empty() {
        return listed(first, &items);
    }
    let changes = |text: &str| Signs::read(text).has(Sign::Change);
    let change = rest.iter().position(|sentence| !changes(&first) && changes(sentence.text)).unwrap_or(0);
    let (middle, closing) = rest.split_at(rest.partition_point(|one| one.text.as_ptr().addr() < last));
    let fits = |told: &str, next: &str| told.chars().count() + next.chars().count() < PROSE_CHARS;
    let append = |told: String, next: &&&Sentence<'_>| {
        let next = plain(next.text);
        if fits(&told, &next) { format!("{} {next}", closed(told)) } else { told }
    };
    let sum = closing
        .iter()
        .fold(String::new(), |told, next| if told.is_empty() { plain(next.text) } else { append(told, next) });
    let sum = Some(sum).filter(|sum| !sum.is_empty() && fits(&first, sum));
    let room = PROSE_CHARS - sum.as_ref().map_or(0, |sum| sum.chars().count());
    let told = middle[change.min(middle.len())..].iter().fold(first, |told, next| {
        if told.chars().count() + next.text.chars().count() < room { append(told, next) } else { told }
    });
    let told = match sum {
        Some(sum) => format!("{} {sum}", closed(told)),
        None => closing.iter().fold(told, append),
    };
    shortened(&told, MAX_CHARS)
}

/// Returns the items of the lists, each once; of a long list the headings above its items if they name things.
fn items(text: &str, all: &[&Sentence<'_>]) -> Vec<String> {
    let points: Vec<&&Sentence<'_>> = all.iter().filter(|one| one.point && !is_link(one.text)).collect();
    let told = points.iter().enumerate().filter(|(_, one)| begins_item(text, one)).filter_map(|(at, one)| {
        let item = bare(&plain(one.text));
        if !is_lead(one.text) || words_of_prose(&item) > MIN_WORDS {
            return Some(item);
        }
        // An item that only leads to the list below it is told with its first item.
        let below = points.get(at + 1).filter(|next| !begins_item(text, next))?;
        Some(format!("{item}: {}", bare(&plain(below.text))))
    });
    let mut items: Vec<String> = Vec::new();
    for item in told.chain(rows(text)) {
        if !items.contains(&item) {
            items.push(item);
        }
    }
    match headings(text) {
        headings if items.len() > MAX_ITEMS && headings.len() > 1 => headings,
        _ => items,
    }
}

/// Returns the rows of tables of what was done to which file.
fn rows(text: &str) -> impl Iterator<Item = String> + '_ {
    let cells = |line: &str| line.trim().trim_matches('|').split(" | ").map(str::trim).map(plain).collect::<Vec<_>>();
    let rows = text.lines().filter(|line| line.trim_start().starts_with('|')).map(cells);
    rows.filter_map(|cells| match cells.as_slice() {
        [file, change] if file.starts_with('`') && change.contains(' ') && !claims(change) => {
            Some(format!("{file}: {}", bare(change)))
        }
        _ => None,
    })
}

/// Returns the first sentences that tell anything, if none names a thing.
pub(super) fn remark(text: &str) -> String {
    let told = sentences(excerpt::head(text, MAX_BYTES)).into_iter().filter(tells).map(|sentence| plain(sentence.text));
    sentences_within(&told.take(2).map(closed).collect::<Vec<_>>().join(" "), PROSE_CHARS)
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
                within(&item, WISH_CHARS).unwrap_or(item)
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

/// Returns the lead and the heads of the items that fit.
fn listed(lead: String, items: &[String]) -> String {
    let mut told = shortened(&lead, MAX_CHARS / 2);
    if !told.is_empty() && !is_lead(&told) {
        told = closed(told);
    }
    let room = MAX_CHARS.saturating_sub(told.chars().count()) / items.len().max(1);
    let mut kept = 0;
    for item in items {
        let Some(head) = within(item, room.clamp(HEAD_CHARS, 2 * HEAD_CHARS)) else { continue };
        if kept > 0 && told.chars().count() + head.chars().count() + 2 > MAX_CHARS {
            break;
        }
        told.push_str(if kept > 0 {
            "; "
        } else if told.is_empty() {
            ""
        } else {
            " "
        });
        told.push_str(&head);
        kept += 1;
    }
    let more = items.len() - kept;
    if more > 0 && kept > 0 { format!("{told}; and {more} more") } else { told }
}

/// Strips marks before an item and punctuation behind it.
fn bare(text: &str) -> String {
    let opens = |c: char| c.is_alphanumeric() || matches!(c, '`' | '"' | '\'' | '/' | '.' | '@' | '(' | '[');
    text.trim_start_matches(|c: char| !opens(c)).trim_end_matches(['.', ';', ',', ':', '。']).to_owned()
}

/// Shortens a text to whole sentences, or else to a clause of the first one.
pub(super) fn shortened(text: &str, max_chars: usize) -> String {
    let cut = sentences_within(text, max_chars);
    match cut.strip_suffix('…') {
        Some(whole) if whole.ends_with(' ') => whole.trim_end().to_owned(),
        Some(_) => within(text, max_chars).unwrap_or(cut),
        None => cut,
    }
}

/// Returns the beginning of a text, up to the end of a clause or at least of a phrase behind its label. `None` if no such end
/// is near.
fn within(text: &str, max_chars: usize) -> Option<String> {
    if text.chars().count() <= max_chars {
        return Some(text.to_owned());
    }
    let after = |chars: usize| text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    let until = after(max_chars);
    let label = [": ", " — ", " – ", " - "].iter().filter_map(|mark| text.find(mark)).min().unwrap_or(0);
    let is_label = !text[..label].trim().contains(' ') || label < after(CLAUSE_CHARS);
    let from = if is_label { label + CLAUSE_CHARS } else { after(CLAUSE_CHARS) };
    let is_open = |end: usize| {
        let count = |c: char| text[..end].matches(c).count();
        count('`') % 2 == 1 || count('"') % 2 == 1 || count('(') > count(')')
    };
    let fits = |at: &usize| (from..until).contains(at) && !is_open(*at);
    let last =
        |marks: &[&str]| marks.iter().flat_map(|mark| text.match_indices(mark)).map(|(at, _)| at).filter(fits).max();
    let half = after(max_chars / 2);
    let clause =
        last(&["; ", ". ", "。"]).filter(|at| *at >= half).or_else(|| last(&[" — ", " – ", " - ", ", ", " (", "，"]));
    let phrases = text.match_indices(' ').filter(|(at, _)| {
        let next = text[at + 1..].split(' ').next().unwrap_or_default();
        is_joint(next)
    });
    let cut = clause.or_else(|| phrases.map(|(at, _)| at).filter(fits).max())?;
    let mut kept = text[..cut].trim_end_matches([',', ';', ':', ' ']);
    while let Some((before, last)) = kept.rsplit_once(' ')
        && is_loose(last)
    {
        kept = before.trim_end_matches([',', ';', ':', ' ']);
    }
    Some(kept.to_owned())
}

/// Returns the headings and labels that name things, of the level that has most of them.
fn headings(text: &str) -> Vec<String> {
    let mut levels: [Vec<String>; 7] = Default::default();
    for line in text.lines().map(str::trim).filter(|line| line.starts_with(['#', '*']) && is_decoration(line)) {
        let level = line.bytes().take_while(|byte| *byte == b'#').count();
        let line = plain(line[level..].trim());
        let line = line.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ')' | ' '));
        let line = line.trim_end_matches(':');
        let words = line.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 1);
        let names = words.filter(|word| !GENERAL.contains(&word.to_lowercase().as_str())).count();
        if names >= MIN_HEADING_WORDS
            && !line.ends_with('!')
            && !Signs::read(line).has_any(&[Sign::NextHead, Sign::RemainingHead])
        {
            levels[level.min(6)].push(one_line(line, HEAD_CHARS));
        }
    }
    let most = levels.into_iter().max_by_key(Vec::len).unwrap_or_default();
    // `Key features` names nothing.
    let named = most.iter().filter(|line| line.contains(['`', '(']) || line.contains(|c: char| c.is_ascii_digit()));
    if 2 * named.count() >= most.len() { most } else { Vec::new() }
}

/// Returns true if the sentence is the first of an item that is not nested in another.
fn begins_item(text: &str, sentence: &Sentence<'_>) -> bool {
    let at = sentence.text.as_ptr().addr() - text.as_ptr().addr();
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
    list_marker(&text[line..end]).is_some_and(|marker| line + marker == at)
}

/// Returns true for an item that is only a link.
fn is_link(text: &str) -> bool {
    text.starts_with('[') && text.ends_with(')') && text.matches("](").count() == 1
}

fn lies_in(part: &str, whole: &str) -> bool {
    let (part, begin) = (part.as_ptr().addr(), whole.as_ptr().addr());
    (begin..begin + whole.len()).contains(&part)
}

/// Adds a full stop unless the text ends with punctuation.
pub(super) fn closed(mut text: String) -> String {
    if !text.ends_with(['.', '!', '?', '…', '。', '！', '？', ':']) {
        text.push('.');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(outcome(text, false), expected, "{text:?}");
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
        let long = "`b.rs` turns the crane to the left until it stands at the mark of the load that is to be lifted";
        check(&format!("- {long} by {}\n- `c.rs` turns", "verylongwords".repeat(9)), &format!("{long}; `c.rs` turns"));
        check("- raised `a.rs`\n\n**Part 2**: the jib:\n- lowered `b.rs`", "raised `a.rs`; lowered `b.rs`");
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
            format!("`src/mast.rs`: {}, {}", "raises the mast by one step ".repeat(3).trim(), "and more ".repeat(40));
        check(
            &long.replacen("", "- ", 1),
            &format!("`src/mast.rs`: {}", "raises the mast by one step ".repeat(3).trim()),
        );
        let items = |from: usize| (from..from + 4).map(|n| format!("- part {n} of it\n")).collect::<String>();
        check(&format!("### 1. Mast of `a.rs`\n{}### 2. Jib of `b.rs`\n{}", items(1), items(5)), {
            "Mast of `a.rs`; Jib of `b.rs`"
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
