//! Passwords that a program reads from its input or takes as a positional argument: `echo x | sudo -S`, `sudo -S <<<
//! x`, `net use … x`, `sqlplus a/x@b`, `expect` scripts and the like.

use super::alphabet::{ALNUM, floor, is};
use super::command_line::{Commands, line, word, words};
use super::password::{is_password, looks_chosen};
use super::{Cut, assignment, name};
use baton_words::WordList;

/// How far before an answer the password prompt may be, in bytes.
const MAX_QUESTION_BYTES: usize = 300;
/// Most answers to one prompt.
const MAX_ANSWERS: usize = 2;
/// Most words of a command that are read.
const MAX_WORDS: usize = 20;
/// The same where a sentence may precede the command.
const MAX_WORDS_BEFORE: usize = 64;
/// Most programs of a pipeline that are checked for reading the password.
const MAX_READERS: usize = 4;

/// Marks in a command that reads a password from its input.
static INPUT_READERS: WordList = WordList::new(crate::WORDS, "input readers");

/// What a command reads from its input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    Password,
    /// A user and a password, separated by a colon.
    Pair,
}

/// Returns what the command of these words reads from its input, if that is a secret.
fn expected_input(text: &str, words: &[(usize, usize)]) -> Option<Expected> {
    let words: Vec<&str> = words
        .iter()
        .flat_map(|(start, end)| text[*start..*end].split_ascii_whitespace())
        .map(|word| word.trim_matches(['"', '\'', '`', '(', ')', '\\']))
        .collect();
    let command = words.join(" ");
    if command.contains("chpasswd") {
        return Some(Expected::Pair);
    }
    let reads = INPUT_READERS.iter().any(|mark| command.contains(mark)) || is_sudo(&words) || is_passwd(&words);
    reads.then_some(Expected::Password)
}

/// True if `sudo` reads a password from its input: `sudo -S`, `sudo -u me -kS`.
fn is_sudo(words: &[&str]) -> bool {
    let sudo = words.iter().position(|word| *word == "sudo" || word.ends_with("/sudo"));
    let mut options = words.iter().skip(sudo.map_or(words.len(), |at| at + 1));
    while let Some(option) = options.next().filter(|word| word.starts_with('-')) {
        let short = !option.starts_with("--");
        if *option == "--stdin" || (short && option.contains('S')) {
            return true;
        }
        // Options for a user, a group, a prompt, a host, with their value in the next word.
        if short && option.ends_with(['u', 'g', 'p', 'h', 'C', 'T']) {
            options.next();
        }
    }
    false
}

/// True if the program of a command is `passwd`.
fn is_passwd(words: &[&str]) -> bool {
    let program =
        words.iter().find(|word| !(word.starts_with('-') || word.contains('=') || ["sudo", "env"].contains(*word)));
    program.is_some_and(|program| *program == "passwd" || program.ends_with("/passwd"))
}

fn password(text: &str, (start, end): (usize, usize)) -> Option<Cut> {
    is_password(&text[start..end]).then_some(Cut { start, end, kind: "password" })
}

/// `echo x | …`, `printf '%s' x | …`: returns what is written if a program down the pipe reads a password. `end` is the
/// end of `echo `.
pub(super) fn piped(text: &str, end: usize) -> Option<Cut> {
    if !line(text, end).contains('|') {
        return None;
    }
    let written = words(text, end, MAX_WORDS);
    let expected = pipeline_input(text, written.last()?.1)?;
    let format = |word_text: &str| matches!(word_text, "%s" | "%s\\n" | "%b" | "%s:%s\\n");
    let (start, last) = written.into_iter().find(|(start, last)| {
        let word_text = &text[*start..*last];
        !word_text.starts_with('-') && !format(word_text)
    })?;
    fed_password(text, start, last, expected)
}

/// Returns what the programs of the pipeline after `from` read, if one of them reads a secret.
fn pipeline_input(text: &str, mut from: usize) -> Option<Expected> {
    for _ in 0..MAX_READERS {
        let rest = line(text, from);
        let end = rest.find(['|', ';', '&'])?;
        if !rest[end..].starts_with('|') || rest[end..].starts_with("||") {
            return None;
        }
        let words = words(text, from + end + 1, MAX_WORDS);
        if let Some(expected) = expected_input(text, &words) {
            return Some(expected);
        }
        from = words.last()?.1;
    }
    None
}

/// Returns the password in a word that a program reads: alone, repeated, or after a user name.
fn fed_password(text: &str, start: usize, last: usize, expected: Expected) -> Option<Cut> {
    let word_text = &text[start..last];
    let start = match expected {
        Expected::Pair => start + word_text.find(':')? + 1,
        Expected::Password => start,
    };
    let end = text[start..last].find("\\n").map_or(last, |at| start + at);
    // `a\na`: `passwd` asks twice.
    let end = if text[end..last].trim_start_matches("\\n") == &text[start..end] { last } else { end };
    password(text, (start, end))
}

/// State kept between calls.
#[derive(Default)]
pub(super) struct ProgramInput {
    commands: Commands,
    /// Passwords in the here-documents found so far, in order.
    lines: Vec<Cut>,
    /// End of the last of these documents.
    end: usize,
}

impl ProgramInput {
    /// Returns the first password of these documents at or after `from`.
    pub(super) fn next_password(&self, from: usize) -> Option<Cut> {
        self.lines.get(self.lines.partition_point(|cut| cut.start < from)).copied()
    }

    /// `… <<< x`. The `<<<` starts at `start`; `end` is behind it.
    pub(super) fn here_string(&mut self, text: &str, start: usize, end: usize) -> Option<Cut> {
        let expected =
            expected_input(text, &words(text, self.commands.start_of(text.as_bytes(), start), MAX_WORDS_BEFORE))?;
        let blanks = text.as_bytes()[end..].iter().take_while(|byte| **byte == b' ').count();
        let (start, last) = word(text, end + blanks)?;
        fed_password(text, start, last, expected)
    }

    /// `chpasswd <<EOF`, `--password-stdin <<EOF`: collects the passwords in the lines from the mark that ends at `end`
    /// to its delimiter. Each document is searched once.
    pub(super) fn here_document(&mut self, text: &str, end: usize) -> Option<Cut> {
        if text[end..].starts_with('<') {
            return self.here_string(text, end - 2, end + 1);
        }
        if end < self.end {
            return None;
        }
        let first = line(text, end);
        let named = first.trim_start_matches(['-', ' ']);
        let (from, to) = word(text, end + (first.len() - named.len()))?;
        let stop = &text[from..to];
        // JSON and logs write a line end as two characters or more.
        let tail = &text[to..end + first.len()];
        let broken = tail.find("\\n").map(|at| {
            let slashes = tail[..at].len() - tail[..at].trim_end_matches('\\').len();
            (to + at + 2, &tail[at - slashes..at + 2])
        });
        let (mut at, newline) = broken.unwrap_or((end + first.len() + 1, "\n"));
        let pairs = text[..end].ends_with("chpasswd <<");
        while let Some(row) = document_line(text, at, newline).filter(|row| !ends_document(row, stop)) {
            let next = at + row.len() + newline.len();
            let user = row.find(':').filter(|colon| pairs && !row[..*colon].contains(' ')).map_or(0, |colon| colon + 1);
            let ends = || document_line(text, next, newline).is_some_and(|next| ends_document(next, stop));
            let value = row[user..].trim_end();
            // If the delimiter is not in sight, a line with spaces may be text after the command.
            let foreign = if pairs { user == 0 || value.starts_with(' ') } else { value.contains(' ') && !ends() };
            if foreign {
                break;
            }
            self.lines.extend(password(text, (at + user, at + user + value.len())));
            self.end = next;
            at = next;
            if !pairs {
                break;
            }
        }
        None
    }

    /// `/p:x` of a Windows program. `end` is behind the colon.
    pub(super) fn windows_switch(&mut self, text: &str, end: usize) -> Option<Cut> {
        const PROGRAMS: &[&str] =
            &["freerdp", "cmdkey", "mstsc", "runas", "schtasks", "wfreerdp", "dism", "signtool", "sqlpackage"];
        let words = words(text, self.commands.start_of(text.as_bytes(), end), MAX_WORDS);
        let known = |(start, last): &(usize, usize)| PROGRAMS.iter().any(|name| text[*start..*last].contains(name));
        words
            .iter()
            .take_while(|(start, _)| *start < end)
            .any(known)
            .then(|| password(text, word(text, end)?))
            .flatten()
    }
}

/// Returns the line of a document that starts at `at`, if a line starts there.
fn document_line<'t>(text: &'t str, at: usize, newline: &str) -> Option<&'t str> {
    text.get(..at).filter(|before| before.ends_with(newline))?;
    let rest = line(text, at);
    Some(&rest[..rest.find(newline).unwrap_or(rest.len())])
}

fn ends_document(row: &str, stop: &str) -> bool {
    let rest = row.trim_start().strip_prefix(stop);
    rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric()))
}

/// Returns the password that a program takes as a positional argument. `end` is the end of the program's name, `which`
/// says where its password is.
pub(super) fn argument(text: &str, end: usize, which: Argument) -> Option<Cut> {
    let all = words(text, end, MAX_WORDS);
    let word_at = |at: usize| all.get(at).map_or("", |(start, last)| &text[*start..*last]);
    let plain: Vec<usize> = (0..all.len()).filter(|at| !word_at(*at).starts_with('-')).collect();
    let at = match which {
        Argument::Number(number) => *plain.get(number)?,
        Argument::Managed => plain.iter().position(|at| matches!(word_at(*at), "add_user" | "change_password"))? + 2,
        Argument::Batch => {
            let flags = (0..all.len()).find(|at| word_at(*at).starts_with('-') && word_at(*at).contains('b'))?;
            let shown = word_at(flags).contains('n') && !word_at(flags).starts_with("--");
            *plain.get(if shown { 1 } else { 2 })?
        }
        Argument::Share => {
            let share = |at: &usize| word_at(*at).starts_with(['/', '*', '\\']) || word_at(*at).ends_with(':');
            *plain.iter().find(|at| !share(at))?
        }
        Argument::Account => plain.get(1).copied().filter(|at| !word_at(*at).starts_with('/'))?,
        Argument::Only => (plain.len() == 1).then(|| plain[0])?,
        Argument::Named => {
            let options = ["--value", "--body", "-b", "--secret-string"];
            let at =
                (0..all.len()).find(|at| options.contains(&word_at(*at)) || word_at(*at).starts_with("--value="))?;
            match word_at(at).split_once('=') {
                Some((option, _)) => return password(text, (all[at].0 + option.len() + 1, all[at].1)),
                None => at + 1,
            }
        }
        Argument::Literal => {
            text.as_bytes().get(end).filter(|byte| matches!(byte, b'=' | b' '))?;
            let (start, last) = word(text, end + 1)?;
            let name = text[start..last].find('=')?;
            return password(text, word(text, start + name + 1)?);
        }
        Argument::Set => {
            let named = name::name_ending_at(text, all.get(*plain.first()?)?.1)?;
            return assignment::secret_value(text, all.get(*plain.get(1)?)?.0, named, assignment::Join::Option);
        }
    };
    let (start, last) = *all.get(at)?;
    let value = &text[start..last];
    let sentence = which.is_bare() && !looks_chosen(value);
    password(text, (start, last)).filter(|_| !sentence)
}

/// Which argument of a program is its password.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Argument {
    /// The argument with this index among those that are not options.
    Number(usize),
    /// The second after `add_user` or `change_password`.
    Managed,
    /// The `X` of `htpasswd -b FILE USER X` or `-nb USER X`.
    Batch,
    /// The first that is neither a share nor an option: `net use`.
    Share,
    /// The second, unless it is a switch: `net user`.
    Account,
    /// The only one.
    Only,
    /// The value of a value option: `--value x`.
    Named,
    /// The text after the second `=` of `--from-literal=name=x`.
    Literal,
    /// The second, if the first is a sensitive name: `configure set NAME X`.
    Set,
}

impl Argument {
    /// True if ordinary sentences contain the same words, so that the value itself must look like a password.
    fn is_bare(self) -> bool {
        matches!(self, Self::Only | Self::Share | Self::Account)
    }
}

/// `user/x@base`, as in Oracle programs and URLs. The announcing word spans `start` to `end`.
pub(super) fn oracle(text: &str, start: usize, end: usize) -> Option<Cut> {
    let connects = text[start..end].starts_with("conn ");
    // Sentences and code use the word for connections, too.
    let before = text[..start].trim_end_matches(' ');
    if connects && !before.is_empty() && !before.ends_with(['\n', '>', '"', '\'', ';']) && !before.ends_with("\\n") {
        return None;
    }
    let line = line(text, end);
    let slash = line.find('/').filter(|slash| !line[..*slash].contains(['@', '"', '\'', ';', '|']))?;
    let user = line[..slash].rsplit([' ', '=', ':']).next().unwrap_or_default();
    let named = !user.is_empty() && user.bytes().all(|byte| is(byte, ALNUM) || b"_$#".contains(&byte));
    let from = end + slash + 1;
    let (start, end) = word(text, from)?;
    let word_text = &text[start..end];
    let value = match word_text.find('@').filter(|_| start == from) {
        Some(end) => &word_text[..end],
        // Without a database only what looks like a password, because paths contain slashes too.
        None if start > from || (!connects && looks_chosen(word_text) && !word_text.contains('/')) => word_text,
        None => return None,
    };
    (named && !value.contains('/')).then(|| password(text, (start, start + value.len()))).flatten()
}

/// Returns what an `expect` script sends after a password prompt: `send "x\r"`. The announcing word spans `start` to
/// `end`.
pub(super) fn expect_send(text: &str, start: usize, end: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let at = end + if text[end..].starts_with("-- ") { 3 } else { 0 };
    let slashes = bytes[at..].iter().take(3).take_while(|byte| **byte == b'\\').count();
    if !matches!(bytes.get(at + slashes), Some(b'"' | b'\'')) {
        return None;
    }
    // `socket.send "…"` is something else.
    let called = start > 0 && (is(bytes[start - 1], ALNUM) || bytes[start - 1] == b'.');
    let before = &text[floor(bytes, start.saturating_sub(MAX_QUESTION_BYTES))..start];
    let asked = last_prompt(before).filter(|_| !called || text[start..end].ends_with('('))?;
    if before[asked..].matches("send").count() > MAX_ANSWERS {
        return None;
    }
    let (start, last) = word(text, at)?;
    let word_text = &text[start..last];
    let last = start
        + word_text
            .find("\\r")
            .or_else(|| word_text.find("\\n"))
            .or_else(|| word_text.find('\\'))
            .unwrap_or(word_text.len());
    looks_chosen(&text[start..last]).then(|| password(text, (start, last))).flatten()
}

/// Returns the end of the last password prompt in a text.
fn last_prompt(text: &str) -> Option<usize> {
    let words = ["assword", "assphrase", "asscode"].iter().filter_map(|word| text.rfind(word));
    let letter = |at: usize| text.as_bytes().get(at).is_some_and(|byte| is(*byte, ALNUM));
    let pin = text.rmatch_indices("PIN").map(|(at, _)| at).find(|at| !letter(at + 3) && (*at == 0 || !letter(at - 1)));
    words.chain(pin).max()
}
