//! Shortens a text to the words of a title: whole phrases, at most eight words.

use super::TITLE_CHARS;
use super::excerpt::{ARTICLES, one_line};
use super::sentence::plain;
use baton_words::WordList;

/// Maximum number of words.
pub(crate) const MAX_WORDS: usize = 8;
/// Maximum number of words of a phrase that can be cut nowhere.
const MAX_WHOLE: usize = 10;
/// Maximum number of words of the second part of a pair, with the conjunction.
const JOINED_WORDS: usize = 4;
/// Fewest words that a clause must have to stand alone as a title.
pub(super) const MIN_WORDS: usize = 3;
/// Marks that end the clause of a request, from the most to the least telling.
static CLAUSE_ENDS: WordList = WordList::new(crate::WORDS, "clause ends");
/// Those that end a sentence for certain.
const SENTENCE_ENDS: [&str; 2] = ["? ", "! "];
/// Those that lead to a reason or a detail, which few words before them can do without.
const REASONS: [&str; 4] = [" so that ", " because ", " since ", " which "];
/// Words that begin a phrase: prepositions, conjunctions, relative words.
static JOINTS: WordList = WordList::new(crate::WORDS, "joints");
/// Other words that must not be the last one.
static LOOSE_ENDS: WordList = WordList::new(crate::WORDS, "loose ends");
/// Words that join two phrases.
static CONJUNCTIONS: WordList = WordList::new(crate::WORDS, "conjunctions");
/// Words that begin a clause within a phrase.
static CLAUSE_WORDS: WordList = WordList::new(crate::WORDS, "clause words");
/// Words before a verb without a subject.
static INFINITIVES: WordList = WordList::new(crate::WORDS, "infinitives");

/// Words that begin a clause which another follows.
const SUBORDINATORS: [&str; 12] =
    ["when", "if", "while", "once", "wenn", "falls", "cuando", "si", "quand", "quando", "если", "когда"];

/// Marks around quotations and insertions.
const PAIRS: [(char, char); 6] = [('"', '"'), ('(', ')'), ('[', ']'), ('“', '”'), ('«', '»'), ('「', '」')];

/// Returns true for a word that begins a clause which another follows.
pub(super) fn is_subordinator(word: &str) -> bool {
    SUBORDINATORS.contains(&word.to_lowercase().as_str())
}

/// Shortens a text to a clause of at most eight words: brackets and articles go first, then everything behind the last joint
/// between two phrases.
pub(super) fn label(text: &str) -> String {
    let line = plain(&one_line(text.trim_start_matches(['#', ' ', '-', '*']), TITLE_CHARS * 2)).replace('`', "");
    let line = line.split(' ').map(file_name).collect::<Vec<_>>().join(" ");
    let line = if is_long(&line) { without_brackets(&line) } else { line };
    let is_label = |(label, rest): &(&str, &str)| count(label) < MIN_WORDS && count(rest) >= MIN_WORDS;
    let labelled = line.split_once(": ").filter(|_| is_long(&line)).filter(is_label);
    let mut clause = labelled.map_or(line.as_str(), |(_, rest)| rest);
    let mut short = without_articles(clause);
    for &end in CLAUSE_ENDS.iter() {
        // Another sentence is no part of a title.
        if !is_long(&short) && !SENTENCE_ENDS.contains(&end) {
            break;
        }
        let fewest = if REASONS.contains(&end) { MIN_WORDS - 1 } else { MIN_WORDS };
        let all = clause.match_indices(end).map(|(at, _)| at);
        // A short addition to a few words stays with them.
        let longer = all.clone().filter(|at| end == ", " && !is_long(&without_articles(&clause[..*at]))).last();
        let first = all.clone().next();
        let is_short = first.is_some_and(|at| count(&clause[..at]) <= MIN_WORDS);
        if let Some(at) = longer.filter(|_| is_short).or(first)
            && (count(&clause[..at]) >= fewest || (!end.is_ascii() && at > 0))
        {
            // A subordinate clause says nothing without the main one behind it.
            let is_subordinate = end == ", " && is_subordinator(clause.split(' ').next().unwrap_or_default());
            clause = if is_subordinate { &clause[at + end.len()..] } else { &clause[..at] };
            short = without_articles(clause);
        }
    }
    let words: Vec<&str> = if is_long(clause) { &short } else { clause }.split_whitespace().collect();
    let kept = if is_long(&short) { before_last_joint(&words) } else { &words[..] };
    let is_cut = kept.len() < words.len();
    let end = clause.as_ptr().addr() - line.as_ptr().addr() + clause.len();
    let next = || line[end..].split_whitespace().next().unwrap_or_default();
    let next = words.get(kept.len()).copied().unwrap_or_else(next);
    let leads = !is_cut && kept.last().is_some_and(|last| last.ends_with(':'));
    let kept = if leads || CLAUSE_WORDS.has(&bare(next)) { without_open_verb(kept) } else { kept };
    let kept = if is_cut { without_open_clause(kept) } else { kept };
    // A conjunction whose second part is cut off joins nothing.
    let loose = |word: &&str| if is_cut { is_loose(word) } else { is_conjunction(word) };
    let fewest = if is_cut { MIN_WORDS - 1 } else { MIN_WORDS };
    let tail = kept[fewest.min(kept.len())..].iter().rev().take_while(|word| loose(word)).count();
    let title = kept[..kept.len() - tail].join(" ");
    let title = title.trim_end_matches(['.', ',', ':', ';', '-', '—', '(', ' ', '。', '，', '?', '？']);
    let title = &closed(title);
    // The label stays if there is room for it. Without `Fix` a title would say that the defect is still there.
    let label = labelled.and_then(|(label, _)| {
        let whole = |title: &str| Some(format!("{label}: {title}")).filter(|whole| count(whole) <= MAX_WORDS);
        let is_fix = label.to_lowercase().ends_with("fix");
        let shorter = || before_last_joint(&title.split(' ').collect::<Vec<_>>()).join(" ");
        whole(title).or_else(|| whole(&shorter()).filter(|_| is_fix))
    });
    // A capital may be longer than its letter.
    one_line(&capitalised(label.as_deref().unwrap_or(title)), TITLE_CHARS)
}

/// Strips the beginning of a clause that a cut has left without its verb: `that all ropes`.
fn without_open_clause<'w, 'a>(kept: &'w [&'a str]) -> &'w [&'a str] {
    let begun = kept.iter().rposition(|word| CLAUSE_WORDS.has(&bare(word)));
    &kept[..begun.filter(|at| *at > 0 && kept.len() - at <= MIN_WORDS).unwrap_or(kept.len())]
}

/// Strips a verb whose object is the clause that follows, or its adverb: `to find`, `and tell me`, `, probably` before `whether`.
fn without_open_verb<'w, 'a>(kept: &'w [&'a str]) -> &'w [&'a str] {
    let infinitive = kept.len().checked_sub(2).filter(|at| INFINITIVES.has(&bare(kept[*at])));
    let joined = || kept.iter().rposition(|word| is_conjunction(word)).filter(|at| kept.len() - at <= MIN_WORDS);
    let alone =
        kept.len().checked_sub(1).filter(|at| at.checked_sub(1).is_some_and(|before| kept[before].ends_with(',')));
    let end = infinitive.or(alone).or_else(joined).filter(|at| *at >= MIN_WORDS);
    &kept[..end.unwrap_or(kept.len())]
}

/// Cuts a title before a quotation or a bracket that does not end in it, or drops the mark if little is left before that.
fn closed(title: &str) -> String {
    let mut open: Vec<(usize, char)> = Vec::new();
    for (at, c) in title.char_indices() {
        let is_inch = c == '"' && title[..at].ends_with(|c: char| c.is_ascii_digit());
        let Some((begin, end)) = PAIRS.iter().find(|(begin, end)| c == *begin || c == *end) else { continue };
        match open.iter().rposition(|(_, begun)| begun == end).filter(|_| c == *end) {
            Some(begun) => open.truncate(begun),
            None if c == *begin && !is_inch => open.push((at, *end)),
            None => {}
        }
    }
    let Some((at, _)) = open.first() else { return title.to_owned() };
    let words: Vec<&str> = title[..*at].split_whitespace().collect();
    let end = words.iter().rposition(|word| !is_loose(word)).map_or(0, |last| last + 1);
    if end >= MIN_WORDS {
        return words[..end].join(" ").trim_end_matches([',', ':', ';', '-', '—']).to_owned();
    }
    let is_dropped = |at: usize| open.iter().any(|(place, _)| *place == at);
    title.char_indices().filter(|(at, _)| !is_dropped(*at)).map(|(_, c)| c).collect()
}

/// Returns true if nothing of a text is lost in its label but articles, brackets and marks.
pub(super) fn is_kept_whole(text: &str) -> bool {
    !is_long(&without_articles(&without_brackets(text)))
}

fn is_long(text: &str) -> bool {
    count(text) > MAX_WORDS || text.chars().count() > TITLE_CHARS
}

/// Returns the words before the last joint of the first eight words, outside of quotations; without a joint, all of a short
/// text.
fn before_last_joint<'w, 'a>(words: &'w [&'a str]) -> &'w [&'a str] {
    // A short part joined at the end is kept whole.
    let joins = words.iter().rposition(|word| is_conjunction(word)).is_some_and(|at| {
        at > MIN_WORDS && words.len() - at <= JOINED_WORDS && !words[at + 1..].iter().any(|word| is_joint(word))
    });
    if joins && count(&words.join(" ")) <= MAX_WHOLE {
        return words;
    }
    let (mut counted, mut quotes, mut end, mut cut) = (0, 0, words.len(), None);
    for (at, word) in words.iter().enumerate() {
        if is_joint(word) && counted >= MIN_WORDS && quotes % 2 == 0 {
            cut = Some(at);
        }
        counted += count(word).min(1);
        quotes += word.matches('"').count();
        if counted > MAX_WORDS {
            end = at;
            break;
        }
        if word.ends_with([',', ';']) && counted >= MIN_WORDS && quotes % 2 == 0 {
            cut = Some(at + 1);
        }
    }
    let whole = cut.is_none() && count(&words.join(" ")) <= MAX_WHOLE;
    if whole { words } else { &words[..cut.unwrap_or(end)] }
}

/// Strips `Plan:`, `Plan to` and a `Plan` at the end from a heading.
pub(super) fn without_plan_label(heading: &str) -> &str {
    if let Some(rest) = ["Plan to ", "Plan for "].iter().find_map(|label| heading.strip_prefix(label)) {
        return rest;
    }
    let (label, rest) = heading.split_once([':', '—', '–']).unwrap_or(("", heading));
    let is_label = count(label) <= 2 && label.trim_end().to_lowercase().ends_with("plan");
    let heading = if is_label { rest.trim_start() } else { heading };
    heading.strip_suffix(" Plan").filter(|rest| count(rest) >= MIN_WORDS).unwrap_or(heading)
}

/// Returns the number of words; three signs of a script without blanks count as one.
pub(super) fn count(text: &str) -> usize {
    let is_wide = |c: char| matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}');
    let words = text.split_whitespace().filter(|word| word.contains(char::is_alphanumeric) && !word.contains(is_wide));
    words.count() + text.chars().filter(|c| is_wide(*c)).count().div_ceil(3)
}

/// Returns the name of a file for its path: `@docs/a/b.md` is `b.md`; a pattern stays whole.
pub(super) fn file_name(word: &str) -> &str {
    let folders = word.trim_start_matches('@').rsplit_once('/').map_or("", |(folders, _)| folders);
    let ends = word.rsplit('/').next().is_some_and(|name| name.trim_end_matches(['.', ',']).contains('.'));
    // `A.md/B.md` are two files.
    let is_path = !folders.is_empty() && !folders.contains(['.', '*']) && (ends || word.starts_with('@'));
    let name = word.trim_end_matches('/').rsplit('/').next().unwrap_or(word);
    if is_path && name.contains(char::is_alphanumeric) { name } else { word }
}

/// Strips insertions in brackets, but no code.
pub(super) fn without_brackets(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut depth = 0_usize;
    let mut is_code = false;
    for (at, c) in text.char_indices() {
        is_code ^= c == '`';
        match c {
            _ if is_code && depth == 0 => out.push(c),
            '(' | '[' if depth > 0 || text[..at].ends_with(' ') => depth += 1,
            ')' | ']' if depth > 0 => depth -= 1,
            _ if depth == 0 => out.push(c),
            _ => {}
        }
    }
    // An insertion without an end.
    let out = if depth > 0 { text.to_owned() } else { out };
    let mut told = String::with_capacity(out.len());
    for word in out.split_whitespace() {
        if !told.is_empty() && !word.chars().all(|c| ",;:.!?".contains(c)) {
            told.push(' ');
        }
        told.push_str(word);
    }
    told
}

/// Strips articles if the text is too long with them.
fn without_articles(text: &str) -> String {
    if !is_long(text) {
        return text.to_owned();
    }
    // Behind a comma it may be a relative pronoun.
    let mut is_free = true;
    // `A` is a preposition beside articles of other languages.
    let is_foreign =
        text.split_whitespace().any(|word| is_article(word) && !["a", "an", "the"].contains(&&*bare(word)));
    let words = text.split_whitespace().filter(|word| {
        let follows_comma = !std::mem::replace(&mut is_free, !word.ends_with(','));
        follows_comma || is_foreign && *word == "a" || !is_article(word)
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Returns true for a word that joins two phrases.
pub(super) fn is_conjunction(word: &str) -> bool {
    CONJUNCTIONS.has(&bare(word))
}

/// Returns true for a word that begins a phrase.
pub(super) fn is_joint(word: &str) -> bool {
    JOINTS.has(&bare(word))
}

pub(super) fn is_article(word: &str) -> bool {
    ARTICLES.has(&bare(word))
}

/// Returns true for a word that only leads to the next one.
pub(super) fn is_loose(word: &str) -> bool {
    is_joint(word) || is_article(word) || LOOSE_ENDS.has(&bare(word))
}

fn bare(word: &str) -> String {
    word.to_lowercase().trim_end_matches(',').to_owned()
}

pub(super) fn capitalised(text: &str) -> String {
    let mut chars = text.trim().chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_told_by_its_name_and_a_pattern_whole() {
        for (path, expected) in [
            ("src/mast.rs", "mast.rs"),
            ("**/*.rs", "**/*.rs"),
            ("src/**/mast.rs", "src/**/mast.rs"),
            ("a.rs/b.rs", "a.rs/b.rs"),
        ] {
            assert_eq!(file_name(path), expected);
        }
    }

    #[test]
    fn a_title_is_a_clause_of_at_most_eight_words() {
        for (text, expected) in [
            ("When the load of a crane is taken off, the hook of the jib slips", "The hook of the jib slips"),
            ("Update the home page so that it mentions that it's open source.", "Update the home page"),
            ("Fix the login", "Fix the login"),
            ("a b c d e f g of the h i", "B c d e f g"),
            ("Turn the crane (left, right or not at all) to the mark by night", "Turn the crane to the mark by night"),
            ("Paint the mast of the crane red and blue with a brush", "Paint mast of crane red and blue"),
            ("Raise the mast of the crane and lower its jib", "Raise mast of crane and lower its jib"),
            ("Hoist: the winch of the crane stops before its mark", "Hoist: winch of crane stops before its mark"),
            ("Fix: the winch of the crane stops before its mark", "Fix: winch of crane stops before its mark"),
            ("Fix: \"Hoist load\" button not shown on winch page", "Fix: \"Hoist load\" button not shown"),
            ("Plan: \"Hoist load\" button not shown on winch page", "\"Hoist load\" button not shown on winch page"),
            ("Hoist \"the winch and the jib and the mast\" to the top", "Hoist \"the winch and jib and mast\""),
            ("One two three four five six seven eight nine", "One two three four five six seven eight nine"),
            ("Turn the crane so far but got", "Turn the crane so far but got"),
            ("Turn the crane and", "Turn the crane"),
            (
                "Update @docs/cranes/winch.md with all that is new there and here",
                "Update winch.md with all that is new there and here",
            ),
            ("Merge CRANE.md/WINCH.md pairs", "Merge CRANE.md/WINCH.md pairs"),
            ("**Add** `tabs`: one, two", "Add tabs: one, two"),
            (
                "Merge the winch + jib sections into one list of parts of cranes",
                "Merge winch + jib sections into one list",
            ),
            ("Paint the whole mast and the word \"Hoist only what the winch can lift\" on it", "Paint whole mast"),
            ("Put on each mast \"Hoist only what the winch can lift\" today", "Put on each mast"),
            (
                "Say \"hoist only what the winch lifts today and tomorrow by night\" twice",
                "Say hoist only what winch lifts today",
            ),
            ("Turn the crane (left", "Turn the crane"),
            ("Read \"(\" as left", "Read \"(\" as left"),
            ("Hoist 5\" ropes", "Hoist 5\" ropes"),
            ("", ""),
            ("修复登录页面的错误，并且添加测试，然后提交代码，最后更新文档说明。", "修复登录页面的错误"),
        ] {
            assert_eq!(label(text), expected, "{text}");
        }
    }
}
