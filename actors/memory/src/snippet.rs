//! Cuts the passage of a text that shows why it was found.

use std::ops::Range;

use baton_episode::digest::{MODEL_BEGINS, MODEL_ENDS, MODEL_MARK};

use super::analyzer::Analyzer;
use super::limits::SNIPPET_CHARS;
use super::query::{self, Found, Wanted, find};

/// Bytes of a text that are searched for a passage.
const SEARCHED_BYTES: usize = 32 * 1024;
/// Characters shown before the first match are at most the total divided by this.
const LEAD_SHARE: usize = 4;
/// Marks omitted text.
const CUT: char = '…';

/// At most `chars` characters of `text` on one line: the passage with the highest weight of wanted tokens, or
/// the beginning if it has none.
pub(super) fn cut(analyzer: &mut Analyzer, text: &str, wanted: &[Wanted], chars: usize) -> String {
    let line = one_line(query::head(text, SEARCHED_BYTES));
    let within = widen(&line, passage(analyzer, &line, wanted, chars), chars);
    render(&line, within, &[])
}

/// The same for an episode's text, with [`MODEL_MARK`] after each part that is known only from a model; true if there
/// is any.
pub(super) fn cut_episode(analyzer: &mut Analyzer, text: &str, wanted: &[Wanted]) -> (String, bool) {
    let (line, claims) = mark_claims(query::head(text, SEARCHED_BYTES));
    let passage = passage(analyzer, &line, wanted, SNIPPET_CHARS);
    let (mark, mut marks) = (MODEL_MARK.chars().count(), 0);
    loop {
        let within = widen(&line, passage.clone(), SNIPPET_CHARS.saturating_sub(mark * marks));
        let is_shown = |claim: &&Range<usize>| claim.start < within.end && within.start < claim.end;
        let claims: Vec<Range<usize>> = claims.iter().filter(is_shown).cloned().collect();
        // The marks must fit too.
        if claims.len() <= marks {
            return (render(&line, within, &claims), !claims.is_empty());
        }
        marks += 1;
    }
}

/// Byte range of a line from the first to the last match of its best passage.
fn passage(analyzer: &mut Analyzer, line: &str, wanted: &[Wanted], chars: usize) -> Range<usize> {
    let mut found = find(analyzer, line, wanted);
    found.sort_by_key(|found| (found.at.start, found.at.end));
    best_passage(line, &found, wanted, chars)
}

/// Joins a text to one line, and returns the byte ranges known only from a model: from [`MODEL_BEGINS`] to
/// [`MODEL_ENDS`], or to the end of the text's line.
fn mark_claims(text: &str) -> (String, Vec<Range<usize>>) {
    let (mut line, mut claims) = (String::with_capacity(text.len()), Vec::new());
    for source in text.lines() {
        let mut is_claim = false;
        for piece in source.split_inclusive([MODEL_BEGINS, MODEL_ENDS]) {
            let said = one_line(piece.trim_end_matches([MODEL_BEGINS, MODEL_ENDS]));
            if !said.is_empty() {
                if !line.is_empty() {
                    line.push(' ');
                }
                let begin = line.len();
                line.push_str(&said);
                if is_claim {
                    claims.push(begin..line.len());
                }
            }
            is_claim = piece.ends_with(MODEL_BEGINS) || (is_claim && !piece.ends_with(MODEL_ENDS));
        }
    }
    (line, claims)
}

/// Replaces every run of white space and control characters by one space.
fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// Byte range from the first to the last match of the best passage; empty at the beginning if there are none.
fn best_passage(line: &str, found: &[Found], wanted: &[Wanted], chars: usize) -> Range<usize> {
    let room = chars - 2;
    let mut best = (0.0, 0..0);
    for (first, start) in found.iter().enumerate() {
        let limit = line[start.at.start..].char_indices().nth(room).map_or(line.len(), |(at, _)| start.at.start + at);
        let mut seen = vec![false; wanted.len()];
        let (mut score, mut end) = (0.0, start.at.end.min(limit));
        for found in found[first..].iter().take_while(|found| found.at.end <= limit) {
            // A repeated token adds a little, so that a passage full of the word wins over a single mention.
            score += wanted[found.wanted].weight * if seen[found.wanted] { 0.05 } else { 1.0 };
            seen[found.wanted] = true;
            end = end.max(found.at.end);
        }
        if score > best.0 {
            best = (score, start.at.start..end);
        }
    }
    best.1
}

/// Extends the passage to at most `most` characters: to whole sentences if they fit, else to whole words. A line that fits
/// is taken whole.
fn widen(line: &str, passage: Range<usize>, most: usize) -> Range<usize> {
    if line.chars().nth(most).is_none() {
        return 0..line.len();
    }
    let room = most.saturating_sub(2);
    let lead = (most / LEAD_SHARE).min(room.saturating_sub(line[passage.clone()].chars().count()));
    let earliest = match lead {
        0 => passage.start,
        lead => line[..passage.start].char_indices().rev().nth(lead - 1).map_or(0, |(at, _)| at),
    };
    let start = sentence_ends(&line[earliest..passage.start]).last().map_or_else(
        || match earliest > 0 && !line[..earliest].ends_with(' ') {
            true => earliest + line[earliest..passage.start].find(' ').map_or(0, |space| space + 1),
            false => earliest,
        },
        |end| earliest + end,
    );
    let end = line[start..].char_indices().nth(room).map_or(line.len(), |(at, _)| start + at);
    if end == line.len() {
        return start..end;
    }
    let kept = passage.end.clamp(start, end);
    let words = || if line[end..].starts_with(' ') { None } else { line[kept..end].rfind(' ') };
    let whole = sentence_ends(&line[kept..end]).last().or_else(words);
    start..whole.map_or(end, |at| kept + at)
}

/// Positions after sentences that end within a line, each at the beginning of the next.
fn sentence_ends(line: &str) -> impl Iterator<Item = usize> {
    let stops = line.char_indices().filter(|(_, c)| matches!(c, '.' | '!' | '?' | '。' | '！' | '？'));
    stops.filter_map(|(at, stop)| {
        let after = at + stop.len_utf8();
        let is_wide = stop.len_utf8() > 1;
        let blank = line[after..].starts_with(' ');
        (is_wide || blank).then_some(after + usize::from(blank))
    })
}

/// The given range of a line, with ellipses where the line continues, and marks after the claims of a model.
fn render(line: &str, within: Range<usize>, claims: &[Range<usize>]) -> String {
    let text = &line[within.clone()];
    let begin = within.start + (text.len() - text.trim_start().len());
    let end = (within.start + text.trim_end().len()).max(begin);
    let mut out = String::with_capacity(text.len() + 2 * CUT.len_utf8() + claims.len() * MODEL_MARK.len());
    if within.start > 0 {
        out.push(CUT);
    }
    let (mut written, mut goes_on) = (begin, within.end < line.len());
    for claim in claims {
        let upto = claim.end.clamp(written, end);
        out.push_str(&line[written..upto]);
        if claim.end > end && goes_on {
            out.push(CUT);
            goes_on = false;
        }
        out.push_str(MODEL_MARK);
        written = upto;
    }
    out.push_str(&line[written..end]);
    if goes_on {
        out.push(CUT);
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn wanted(tokens: &[&str]) -> Vec<Wanted> {
        tokens.iter().map(|token| Wanted::unsought(token)).collect()
    }

    fn check(text: &str, tokens: &[&str], expected: &str) {
        assert_eq!(cut(&mut Analyzer::default(), text, &wanted(tokens), SNIPPET_CHARS), expected);
    }

    #[test]
    fn a_short_text_is_shown_whole_on_one_line() {
        check("", &["x"], "");
        check("  one\n\n\ttwo\u{0}three ", &["two"], "one two three");
    }

    #[test]
    fn the_passage_with_the_words_is_shown() {
        let filler = "lorem ipsum dolor sit amet ".repeat(20);
        let text = format!("{filler}the refresh token expired at src/auth.rs:42 {filler}");
        let snippet = cut(&mut Analyzer::default(), &text, &wanted(&["refresh", "=src/auth.rs:42"]), SNIPPET_CHARS);
        assert!(snippet.contains("refresh token expired at src/auth.rs:42"), "{snippet}");
        assert!(snippet.starts_with('…') && snippet.ends_with('…'), "{snippet}");
        let none = cut(&mut Analyzer::default(), &text, &wanted(&["absent"]), SNIPPET_CHARS);
        assert!(none.starts_with("lorem ipsum") && none.ends_with('…'), "{none}");
    }

    #[test]
    fn whole_sentences_are_shown_if_they_fit() {
        let filler = "lorem ipsum dolor sit amet ".repeat(20);
        let text = format!("{filler}ends. The refresh token expired too early. {filler}");
        let snippet = cut(&mut Analyzer::default(), &text, &wanted(&["refresh"]), SNIPPET_CHARS);
        assert!(snippet.starts_with("…The refresh token expired too early."), "{snippet}");
        let text = format!("A refresh is due. {} It ends here. {filler}", "so it is ".repeat(20));
        let snippet = cut(&mut Analyzer::default(), &text, &wanted(&["refresh"]), SNIPPET_CHARS);
        assert!(snippet.ends_with("It ends here.…"), "{snippet}");
    }

    #[test]
    fn two_words_together_beat_one_twice() {
        let filler = "x ".repeat(200);
        let text = format!("token token {filler} refresh token {filler}");
        let snippet = cut(&mut Analyzer::default(), &text, &wanted(&["token", "refresh"]), SNIPPET_CHARS);
        assert!(snippet.contains("refresh token"), "{snippet}");
    }

    #[test]
    fn of_an_episode_it_is_known_whether_a_model_says_what_is_shown() {
        let check = |text: &str, token: &str, expected: &str, by_model: bool| {
            let cut = cut_episode(&mut Analyzer::default(), text, &wanted(&[token]));
            assert_eq!(cut, (expected.to_owned(), by_model), "{text:?}");
        };
        check("# A title\n\n## Done\n- measured\n", "measur", "# A title ## Done - measured", false);
        check(
            "- \u{fdd0}claimed\u{fdd1} -> resolved: by hand\n",
            "hand",
            "- claimed · model -> resolved: by hand",
            true,
        );
        check("- \u{fdd0}cut off\n- said\n", "said", "- cut off · model - said", true);
        check("\u{fdd1}- \u{fdd0}\u{fdd1}said\n", "said", "- said", false);
        // In a long text only the shown part counts.
        let filler = "lorem ipsum dolor sit amet ".repeat(20);
        let text = format!("Objective: \u{fdd0}claimed {filler}\u{fdd1}\n\n## Open\n- measured {filler}\n");
        let of = |token: &str| cut_episode(&mut Analyzer::default(), &text, &wanted(&[token]));
        let (claimed, by_model) = of("claim");
        assert!(
            claimed.starts_with("Objective: claimed lorem") && claimed.ends_with("… · model") && by_model,
            "{claimed}"
        );
        // Text before the match is shown too; here it is the model's.
        let (measured, by_model) = of("measur");
        assert!(measured.starts_with('…') && measured.contains("amet · model ## Open - measured lorem"), "{measured}");
        assert!(measured.ends_with('…') && by_model, "{measured}");
        let text = format!("- \u{fdd0}claimed\u{fdd1}\n{}- measured {filler}\n", "- x\n".repeat(80));
        let (measured, by_model) = cut_episode(&mut Analyzer::default(), &text, &wanted(&["measur"]));
        assert!(measured.contains("measured lorem") && !measured.contains(MODEL_MARK) && !by_model, "{measured}");
        // Every claim has its mark, and the snippet is no longer than any other.
        let many = format!("## Open\n{}- done\n", "- \u{fdd0}a claim\u{fdd1}\n".repeat(30));
        let (snippet, _) = cut_episode(&mut Analyzer::default(), &many, &wanted(&["claim"]));
        assert!(snippet.matches("a claim").count() > 8 && snippet.chars().count() <= SNIPPET_CHARS, "{snippet}");
        assert_eq!(snippet.matches("claim").count(), snippet.matches(MODEL_MARK).count(), "{snippet}");
    }

    proptest! {
        #[test]
        fn what_tells_a_models_words_apart_changes_no_passage(text in "(a|token|=| |\n|x.y|\u{fdd0}|\u{fdd1}){0,400}") {
            let (snippet, by_model) = cut_episode(&mut Analyzer::default(), &text, &wanted(&["token", "=x.y"]));
            prop_assert!(!snippet.contains([MODEL_BEGINS, MODEL_ENDS]) && snippet.chars().count() <= SNIPPET_CHARS);
            prop_assert_eq!(by_model, snippet.contains(MODEL_MARK));
            prop_assert!(!by_model || text.contains(MODEL_BEGINS));
        }

        #[test]
        fn any_text_gives_one_bounded_line(text in "\\PC{0,50}|[a-z \n]{0,900}|(ä|token|=| |\n|x.y){0,400}") {
            let snippet = cut(&mut Analyzer::default(), &text, &wanted(&["token", "a", "x", "=x.y"]), SNIPPET_CHARS);
            prop_assert!(snippet.chars().count() <= SNIPPET_CHARS);
            prop_assert!(!snippet.contains('\n'));
        }
    }
}
