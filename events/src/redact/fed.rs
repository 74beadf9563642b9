//! Passwords that a program is fed or given in a place of its own: `echo x | sudo -S`, `sudo -S <<< x`, `net use … x`,
//! `sqlplus a/x@b`, `expect` and its like.

use super::alphabet::{ALNUM, DIGIT, LOWER, UPPER, is};
use super::chance::is_words;
use super::command::{command_start, is_password, word};
use super::{Cut, assignment, name};

/// How much of a command is looked at, in bytes.
const MAX_COMMAND_BYTES: usize = 300;
/// Most words of a command that are read.
const MAX_WORDS: usize = 16;
/// How far before an answer the question for a password may stand, in bytes.
const MAX_QUESTION_BYTES: usize = 300;

/// What a program that is fed a password has in its command.
const FED: &[&str] = &[
    "--password-stdin",
    "--with-token",
    "sudo -S",
    "sudo -kS",
    "sudo -Sk",
    "sudo --stdin",
    "--passphrase-fd",
    " passwd",
    "chpasswd",
    "cryptsetup",
    "luksOpen",
    "kinit",
    "ConvertTo-SecureString",
    "secret put",
    "secrets create",
    "secrets versions add",
    "env add",
    "gpg-preset-passphrase",
    "openconnect",
    "secret create",
];

/// The command from `at` on: to the end of its line, or to where another one begins.
fn rest_of_line(text: &str, at: usize) -> &str {
    let bytes = text.as_bytes();
    let window = &bytes[at..bytes.len().min(at + MAX_COMMAND_BYTES)];
    let end = memchr::memchr(b'\n', window).unwrap_or(window.len());
    &text[at..super::alphabet::floor(bytes, at + end)]
}

fn is_fed(command: &str) -> bool {
    let asked = command.contains("sudo ") && command.contains(" -S ");
    asked || FED.iter().any(|mark| command.contains(mark))
}

fn password(text: &str, (start, end): (usize, usize)) -> Option<Cut> {
    is_password(&text[start..end]).then_some(Cut { start, end, kind: "password" })
}

/// `echo x | …`, `printf '%s' x | …`: what is written, if who reads it takes a password. `end` is behind `echo `.
pub(super) fn written(text: &str, end: usize) -> Option<Cut> {
    let line = rest_of_line(text, end);
    let pipe = line.find('|')?;
    let reader = &line[pipe + 1..];
    let reader = &reader[..reader.find("&&").unwrap_or(reader.len())];
    if !is_fed(reader) {
        return None;
    }
    let pairs = reader.contains("chpasswd");
    let mut at = end;
    // Options, and the form that `printf` writes by.
    while at < end + pipe {
        let blanks = text.as_bytes()[at..].iter().take_while(|byte| **byte == b' ').count();
        let (start, last) = word(text, at + blanks)?;
        let said = &text[start..last];
        at = last + usize::from(text.as_bytes().get(last).is_some_and(|byte| matches!(byte, b'"' | b'\'')));
        if start >= end + pipe || said.starts_with('-') || matches!(said, "%s" | "%s\\n" | "%b" | "%s:%s\\n") {
            continue;
        }
        return answer(text, start, last, pairs);
    }
    None
}

/// What a word says that a program is fed: a password, one twice, or pairs of users and passwords.
fn answer(text: &str, start: usize, last: usize, pairs: bool) -> Option<Cut> {
    let said = &text[start..last];
    let start = match pairs {
        true => start + said.find(':')? + 1,
        false => start,
    };
    let end = text[start..last].find("\\n").map_or(last, |at| start + at);
    // `a\na`, as `passwd` asks twice.
    let end = if text[end..last].trim_start_matches("\\n") == &text[start..end] { last } else { end };
    password(text, (start, end))
}

/// `… <<< x`. The mark begins at `start` and ends at `end`.
pub(super) fn here(text: &str, start: usize, end: usize) -> Option<Cut> {
    let command = &text[command_start(text.as_bytes(), start)..start];
    if !is_fed(command) {
        return None;
    }
    let blanks = text.as_bytes()[end..].iter().take_while(|byte| **byte == b' ').count();
    let (start, last) = word(text, end + blanks)?;
    answer(text, start, last, command.contains("chpasswd"))
}

/// What a program reads from a document in the script: `chpasswd <<EOF`, `--password-stdin <<EOF`.
pub(super) fn pairs(text: &str, end: usize) -> Option<Cut> {
    let line = rest_of_line(text, end);
    if line.starts_with("<<<") {
        return here(text, end, end + 3);
    }
    if !line.starts_with("<<") {
        return None;
    }
    let start = end + line.len() + 1;
    // Nothing follows, or the line is longer than what is read of it.
    if text.as_bytes().get(start - 1) != Some(&b'\n') {
        return None;
    }
    let pair = rest_of_line(text, start);
    let pairs = text[..end].ends_with("chpasswd ");
    let from = if pairs { pair.find(':').filter(|at| !pair[..*at].contains(' '))? + 1 } else { 0 };
    let value = pair[from..].trim_end();
    (!value.contains(' ')).then(|| password(text, (start + from, start + from + value.len()))).flatten()
}

/// The words of a command from `at` on, to its end.
fn words(text: &str, mut at: usize) -> Vec<(usize, usize)> {
    let end = at + rest_of_line(text, at).len();
    let bytes = text.as_bytes();
    let mut words = Vec::new();
    while at < end && words.len() < MAX_WORDS {
        at += bytes[at..end].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        if bytes[at..end].first().is_none_or(|byte| matches!(byte, b';' | b'|' | b'&' | b'>' | b'<')) {
            break;
        }
        // A share's name begins with a backslash, at which words end elsewhere.
        let (start, last) = word(text, at).unwrap_or((at, at));
        at = last.min(end) + bytes[last.min(end)..end].iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
        words.push((start, if last > start { last } else { at }));
    }
    words
}

/// The password among the arguments of a program that takes it by its place. `end` is behind the program's name, which
/// `which` tells.
pub(super) fn argument(text: &str, end: usize, which: Argument) -> Option<Cut> {
    let all = words(text, end);
    let said = |at: usize| all.get(at).map_or("", |(start, last)| &text[*start..*last]);
    let plain: Vec<usize> = (0..all.len()).filter(|at| !said(*at).starts_with('-')).collect();
    let at = match which {
        Argument::Number(number) => *plain.get(number)?,
        Argument::Managed => plain.iter().position(|at| matches!(said(*at), "add_user" | "change_password"))? + 2,
        Argument::Batch => {
            let flags = (0..all.len()).find(|at| said(*at).starts_with('-') && said(*at).contains('b'))?;
            let shown = said(flags).contains('n') && !said(flags).starts_with("--");
            *plain.get(if shown { 1 } else { 2 })?
        }
        Argument::Share => {
            let share = |at: &usize| said(*at).starts_with(['/', '*', '\\']) || said(*at).ends_with(':');
            *plain.iter().find(|at| !share(at))?
        }
        Argument::Account => plain.get(1).copied().filter(|at| !said(*at).starts_with('/'))?,
        Argument::Only => (plain.len() == 1).then(|| plain[0])?,
        Argument::Named => {
            let options = ["--value", "--body", "-b", "--secret-string"];
            let at = (0..all.len()).find(|at| options.contains(&said(*at)) || said(*at).starts_with("--value="))?;
            match said(at).split_once('=') {
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
            let named = name::before(text, all.get(*plain.first()?)?.1)?;
            return assignment::value(text, all.get(*plain.get(1)?)?.0, named, assignment::Join::Option);
        }
    };
    let (start, last) = *all.get(at)?;
    let value = &text[start..last];
    let sentence = which.is_bare() && !looks_chosen(value);
    password(text, (start, last)).filter(|_| !sentence)
}

/// Which of a program's arguments is its password.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Argument {
    /// The one of that number among those that are no options, from 0 on.
    Number(usize),
    /// The second behind `add_user` or `change_password`.
    Managed,
    /// The last of `htpasswd -b FILE USER X`, `-nb USER X`.
    Batch,
    /// The one that is neither a share nor an option: `net use`.
    Share,
    /// The second, if it is no option: `net user`.
    Account,
    /// The only one.
    Only,
    /// The one behind an option for values: `--value x`.
    Named,
    /// What follows the second `=` of `--from-literal=name=x`.
    Literal,
    /// The second, where the first is a telling name: `configure set NAME X`.
    Set,
}

impl Argument {
    /// Whether sentences have the same words, so that the value must tell.
    fn is_bare(self) -> bool {
        matches!(self, Self::Only | Self::Share | Self::Account)
    }
}

/// Whether a word is what a person chooses for a password: letters with digits or signs, no word of a language.
pub(super) fn looks_chosen(value: &str) -> bool {
    let has = |class| value.bytes().any(|byte| is(byte, class));
    let digits = value.bytes().filter(|byte| is(*byte, DIGIT)).count();
    let signs = value.bytes().any(|byte| byte.is_ascii_punctuation() && !b"_-./:,".contains(&byte));
    let mixed = has(UPPER) && value.bytes().skip(1).any(|byte| is(byte, UPPER)) && has(LOWER);
    value.len() >= 6
        && value.bytes().any(|byte| is(byte, ALNUM))
        && has(LOWER | UPPER)
        && (signs || (digits > 0 && (digits > 1 || mixed || !is_words(value.as_bytes()))))
}

/// `user/x@base`, as Oracle's programs and addresses have it, from `at` on.
pub(super) fn oracle(text: &str, at: usize) -> Option<Cut> {
    let line = rest_of_line(text, at);
    let slash = line.find('/').filter(|slash| !line[..*slash].contains(['@', '"', '\'', ';', '|']))?;
    let user = line[..slash].rsplit([' ', '=', ':']).next().unwrap_or_default();
    let named = !user.is_empty() && user.bytes().all(|byte| is(byte, ALNUM) || b"_$#".contains(&byte));
    let from = at + slash + 1;
    let (start, end) = word(text, from)?;
    let said = &text[start..end];
    let value = match said.find('@').filter(|_| start == from) {
        Some(end) => &said[..end],
        // Without a database: only what looks like a password, for paths have slashes too.
        None if start > from || (looks_chosen(said) && !said.contains('/')) => said,
        None => return None,
    };
    (named && !value.contains('/')).then(|| password(text, (start, start + value.len()))).flatten()
}

/// What an `expect` script sends after it was asked for a password: `send "x\r"`. `end` is behind `send `.
pub(super) fn sent(text: &str, end: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let at = end + if text[end..].starts_with("-- ") { 3 } else { 0 };
    let slashes = bytes[at..].iter().take(3).take_while(|byte| **byte == b'\\').count();
    if !matches!(bytes.get(at + slashes), Some(b'"' | b'\'')) {
        return None;
    }
    let window = &bytes[end.saturating_sub(MAX_QUESTION_BYTES)..end];
    let asked = ["assword", "assphrase", "asscode", "PIN"]
        .iter()
        .any(|word| memchr::memmem::find(window, word.as_bytes()).is_some());
    let (start, last) = word(text, at)?;
    let said = &text[start..last];
    let last = start + said.find("\\r").or_else(|| said.find("\\n")).or_else(|| said.find('\\')).unwrap_or(said.len());
    (asked && looks_chosen(&text[start..last])).then(|| password(text, (start, last))).flatten()
}

/// `/p:x` of a program of Windows. `end` is behind the colon.
pub(super) fn switch(text: &str, end: usize) -> Option<Cut> {
    let command = &text[command_start(text.as_bytes(), end)..end];
    let known = ["freerdp", "cmdkey", "mstsc", "runas", "schtasks", "wfreerdp", "dism", "signtool", "sqlpackage"];
    known.iter().any(|program| command.contains(program)).then(|| password(text, word(text, end)?)).flatten()
}
