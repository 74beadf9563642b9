//! What stands in a message, in order: headings, sentences, rows of tables, code.

use super::super::repetition::significant_words;
use super::super::sentence::{Sentence, is_decoration, lines, plain, words_of_prose};
use baton_words::WordList;

/// Maximum length of a line of code that is told with what leads to it, in characters.
const CODE_CHARS: usize = 80;

/// What reports count in brackets.
static COUNTED: WordList = WordList::new(crate::WORDS, "counted things");

/// Something that stands in a message.
pub(super) enum Mark<'t> {
    Heading(&'t str),
    /// A row of a table, with the names of its columns.
    Row(&'t str, &'t str),
    Said(&'t Sentence<'t>),
    /// A block of code; with its line if it has only one.
    Code(Option<&'t str>),
}

/// Returns what stands in a message of these sentences.
pub(super) fn marks<'t>(text: &'t str, said: &'t [Sentence<'t>]) -> Vec<(usize, Mark<'t>)> {
    let place = |part: &str| part.as_ptr().addr() - text.as_ptr().addr();
    let mark = |one: &'t Sentence<'t>| match code_alone(one.text).filter(|_| !one.point) {
        Some(code) => Mark::Code(Some(code)),
        None => Mark::Said(one),
    };
    let mut marks: Vec<(usize, Mark<'_>)> = said.iter().map(|one| (place(one.text), mark(one))).collect();
    marks.extend(headings_and_rows(text));
    marks.extend(code_blocks(text).map(|(at, line)| (at, Mark::Code(line))));
    marks.sort_by_key(|(at, _)| *at);
    marks
}

/// Returns what stands between the backticks of a sentence that is nothing else.
fn code_alone(text: &str) -> Option<&str> {
    let code = text.trim_end_matches('.').strip_prefix('`')?.strip_suffix('`')?;
    (!code.contains('`') && code.chars().count() <= CODE_CHARS).then_some(code)
}

/// Returns the blocks of code of a message, each with its line if it has only one that is short.
fn code_blocks(text: &str) -> impl Iterator<Item = (usize, Option<&str>)> {
    let mut blocks: Vec<(usize, Vec<&str>)> = Vec::new();
    let mut end = None;
    for (at, line, _) in lines(text).filter(|(.., is_code)| *is_code) {
        match blocks.last_mut().filter(|_| end == Some(at)) {
            Some((_, block)) => block.push(line.trim()),
            None => blocks.push((at, vec![line.trim()])),
        }
        end = Some(at + line.len());
    }
    let is_told = |line: &&str| !line.is_empty() && !line.contains('`') && line.chars().count() <= CODE_CHARS;
    blocks.into_iter().map(move |(at, block)| match block[..] {
        [_, line, _] => (at, Some(line).filter(is_told)),
        _ => (at, None),
    })
}

/// Returns the headings of a message and the rows of its tables without the names of the columns.
fn headings_and_rows(text: &str) -> Vec<(usize, Mark<'_>)> {
    let mut marks: Vec<(usize, Mark<'_>)> = Vec::new();
    let mut columns = "";
    for (at, line, is_code) in lines(text) {
        let bare = line.trim();
        if is_code || !is_decoration(bare) || !bare.contains(char::is_alphanumeric) {
            // The line below the names of the columns.
            if let Some((_, Mark::Row(names, _))) = marks.last().filter(|_| bare.starts_with('|')) {
                columns = *names;
                marks.pop();
            }
        } else if bare.starts_with('|') {
            marks.push((at, Mark::Row(bare, columns)));
        } else if bare.starts_with(['#', '*']) {
            marks.push((at, Mark::Heading(bare)));
        }
    }
    marks
}

/// Returns a row of a table as an item: the first cells, those of which a request names the column, and the one with most
/// prose.
pub(super) fn row(line: &str, columns: &str, request: &str) -> String {
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches(['|', ' ']).split(" | ").map(|cell| plain(cell.trim())).collect()
    };
    let (cells, columns) = (cells(line), cells(columns));
    let most = (0..cells.len()).max_by_key(|at| words_of_prose(&cells[*at])).unwrap_or(0);
    let before = cells[..most].iter().enumerate().filter(|(at, cell)| *at == 0 || words_of_prose(cell) > 0);
    let before = before.map(|(_, cell)| cell.as_str()).collect::<Vec<_>>().join(" ");
    let asked = significant_words(request);
    let columns = cells.iter().zip(&columns).skip(most + 1);
    let named = columns.filter(|(_, name)| !significant_words(name).is_disjoint(&asked));
    let before = named.fold(before, |before, (cell, name)| format!("{before}, {name} {cell}"));
    let told = cells.get(most).map_or("", String::as_str);
    if before.is_empty() { told.to_owned() } else { format!("{}: {told}", before.trim_start_matches([',', ' '])) }
}

/// Strips marks of emphasis, line breaks and what is counted in brackets, which the next edit makes wrong: `(92 lines)`.
pub(super) fn on_one_line(text: &str) -> String {
    let text = plain(text);
    let mut told = String::with_capacity(text.len());
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let number = word.strip_prefix('(').filter(|number| !number.is_empty());
        let is_count = number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
        let thing = words.peek().filter(|_| is_count).and_then(|next| next.split_once(')'));
        if let Some((_, rest)) = thing.filter(|(thing, _)| COUNTED.has(&thing.to_lowercase())) {
            words.next();
            told.push_str(rest);
            continue;
        }
        told.push_str(if told.is_empty() { "" } else { " " });
        told.push_str(word);
    }
    told
}
