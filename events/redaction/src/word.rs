//! Secrets that a word or an option announces without a separator: blocks, `Bearer …`, `--password …`, `IDENTIFIED BY
//! …`, tags.

use std::sync::LazyLock;

use super::alphabet::{ALNUM, DIGIT, HYPHEN, LOWER, UNDERSCORE, UPPER, floor, is, run_end};
use super::announcement::{Announcement, BEFORE, CALL_CUES, CALLS, Dialect, FUNCTIONS, WORD_CUES, WORDS};
use super::assignment::{self, Join, past_blanks};
use super::command::Programs;
use super::command_line;
use super::cue::{Cues, Finder, Found};
use super::delimited::{self, NextEnd};
use super::name::{self, Name, NameKind};
use super::password::{is_password, looks_chosen};
use super::placeholder::{Held, is_placeholder};
use super::program_input::{self, Argument, ProgramInput};
use super::randomness::{is_numbered, is_random, is_respelled};
use super::{Cut, block, calls_and_tables, header, language, wallet};

/// How far behind `login` its option may be, in bytes.
const MAX_COMMAND_BYTES: usize = 200;
/// Shortest password that only `login` announces, in bytes.
const MIN_LOGIN_CHARS: usize = 8;
/// Longest name of a password's owner, in bytes.
const MAX_SUBJECT_BYTES: usize = 48;
/// Longest word that is read, in bytes.
const MAX_WORD_BYTES: usize = 256;

/// Searchers for [`WORDS`], [`CALLS`] and names in other languages. Each cue consists of four bytes that are rare in
/// texts. Their order was found by counting the false candidates in a thousand files.
static TABLES: LazyLock<Option<Tables>> = LazyLock::new(|| {
    let words = Cues::new(WORDS, &WORD_CUES)?;
    let calls = Cues::new(CALLS, &CALL_CUES)?;
    let names = Finder::new(&language::NAMES)?;
    Some(Tables { words, calls, names })
});

struct Tables {
    words: Cues<Announcement>,
    calls: Cues<Announcement>,
    names: Finder,
}

/// State kept between calls.
#[derive(Default)]
pub(super) struct Words {
    next_end: NextEnd,
    /// Passwords in the table columns found so far, in order.
    columns: Vec<Cut>,
    /// End of the last of these tables.
    columns_end: usize,
}

/// True if the tables were built. Building from constants cannot fail (a test builds them).
pub(super) fn is_built() -> bool {
    TABLES.is_some()
}

/// Returns the first secret at or after `from` that a name in another language announces. ASCII text has none.
pub(super) fn find_foreign(text: &str, from: usize) -> Option<Cut> {
    if text.is_ascii() {
        return None;
    }
    let Tables { names, .. } = TABLES.as_ref()?;
    let mut at = from;
    let mut next = || {
        let found = names.find(text.as_bytes(), at)?;
        at = found.end();
        Some(found)
    };
    std::iter::from_fn(&mut next)
        .filter_map(|found| language::password(text, found.end()))
        .find(|cut| cut.start >= from)
}

/// Returns the first secret at or after `from` that a program or a protocol announces.
pub(super) fn find_call(text: &str, from: usize, input: &mut ProgramInput) -> Option<Cut> {
    let Tables { calls, .. } = TABLES.as_ref()?;
    let mut at = from;
    let secret_of = |Found { start, end, value: announcement }| match announcement {
        Announcement::Here => input.here_string(text, start, end),
        Announcement::Document => input.here_document(text, end),
        Announcement::Switch => input.windows_switch(text, end),
        announcement => secret_of(text, start, end, announcement),
    };
    let mut cuts = std::iter::from_fn(|| calls.find(text, from, &mut at)).filter_map(secret_of);
    let cut = cuts.find(|cut| cut.start >= from);
    cut.into_iter().chain(input.next_password(from)).min_by_key(|cut| cut.start)
}

/// Returns the first secret at or after `from` that a function is given.
pub(super) fn find_function(text: &str, from: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let given = |at: usize| {
        let &[third, second, first] = bytes[from..from + at].last_chunk()?;
        let mut rows = BEFORE[0][usize::from(first)] & BEFORE[1][usize::from(second)] & BEFORE[2][usize::from(third)];
        let end = from + at + 1;
        while rows != 0 {
            let (word, announcement) = FUNCTIONS[rows.trailing_zeros() as usize];
            if bytes[from..end].ends_with(word.as_bytes()) {
                return secret_of(text, end - word.len(), end, announcement);
            }
            rows &= rows - 1;
        }
        None
    };
    memchr::memchr_iter(b'(', &bytes[from..]).filter_map(given).find(|cut| cut.start >= from)
}

impl Words {
    /// Returns the first secret at or after `from` that a word announces.
    pub(super) fn find(&mut self, text: &str, from: usize) -> Option<Cut> {
        let Tables { words, .. } = TABLES.as_ref()?;
        let mut at = from;
        while let Some(Found { start, end, value: announcement }) = words.find(text, from, &mut at) {
            let cut = match announcement {
                Announcement::Pem => delimited::pem(text, end, &mut self.next_end),
                Announcement::Named => self.named(text, end),
                Announcement::Foreign => language::password(text, end).or_else(|| self.headed(text, end)),
                Announcement::Cell => self.headed(text, end - 1),
                Announcement::Cluster => self.keep(calls_and_tables::cluster(text, end)),
                announcement => secret_of(text, start, end, announcement),
            };
            if let Some(cut) = cut.filter(|cut| cut.start >= from) {
                return Some(cut);
            }
        }
        None
    }

    /// Returns the first cell at or after `from` of the columns found so far.
    pub(super) fn column(&self, from: usize) -> Option<Cut> {
        self.columns.get(self.columns.partition_point(|cut| cut.start < from)).copied()
    }

    /// Returns the secret after a name of a password, depending on what follows the name.
    fn named(&mut self, text: &str, end: usize) -> Option<Cut> {
        let next = text.as_bytes().get(end).copied().unwrap_or(b'\n');
        match next {
            b' ' => {
                let cut = fallback(text, end).or_else(|| spoken(text, end + 1));
                cut.or_else(|| self.headed(text, end))
            }
            b'>' => tag(text, end + 1),
            b'(' => calls_and_tables::call(text, end),
            b'<' => calls_and_tables::cell(text, end),
            b'"' | b'\'' | b'\\' => {
                let held = calls_and_tables::argument(text, end).or_else(|| calls_and_tables::attribute(text, end));
                held.or_else(|| fallback(text, end)).or_else(|| self.headed(text, end))
            }
            b',' | b';' | b'\t' | b'\n' | b'\r' | b'|' | b'`' => self.headed(text, end),
            _ => None,
        }
    }

    fn headed(&mut self, text: &str, end: usize) -> Option<Cut> {
        self.hold(end, |at| calls_and_tables::columns(text, at))
    }

    /// Stores the cells of a table found at `at`. Each table is searched once.
    fn hold(&mut self, at: usize, cells: impl FnOnce(usize) -> (Vec<Cut>, usize)) -> Option<Cut> {
        if at < self.columns_end {
            return None;
        }
        let (cuts, end) = cells(at);
        self.columns_end = end.max(self.columns_end);
        self.keep(cuts)
    }

    /// Stores cuts, some of which may be far ahead.
    fn keep(&mut self, cuts: Vec<Cut>) -> Option<Cut> {
        let last = self.columns.last().map_or(0, |cut| cut.start);
        let in_order = cuts.first().is_none_or(|cut| cut.start >= last);
        self.columns.extend(cuts);
        if !in_order {
            self.columns.sort_unstable_by_key(|cut| cut.start);
        }
        None
    }
}

/// Returns the secret that a word announces, for words that need no state.
fn secret_of(text: &str, start: usize, end: usize, announcement: Announcement) -> Option<Cut> {
    match announcement {
        Announcement::Bearer => header::bearer(text, start - usize::from(start > 0), end),
        Announcement::Set => set(text, end),
        Announcement::Identified => chosen(text, end).filter(|cut| {
            // In lowercase it is ordinary English.
            let quoted = cut.start > end;
            quoted || text.as_bytes()[start].is_ascii_uppercase() || is_random(&text.as_bytes()[cut.start..cut.end])
        }),
        Announcement::Login => login(text, end - 2),
        Announcement::Tag => tag(text, end),
        Announcement::Attribute => name::name_ending_at(text, start)
            .and_then(|name| assignment::secret_value(text, end - 1, name, Join::Loose)),
        Announcement::Email => email(text, end),
        Announcement::Call => calls_and_tables::call(text, end - 1),
        Announcement::Pair => calls_and_tables::named_argument(text, end),
        Announcement::Phrase => wallet::phrase(text, end),
        Announcement::Vault => calls_and_tables::vault(text, end),
        Announcement::Secure => calls_and_tables::secure(text, end).or_else(|| piped(text, start)),
        Announcement::Given(number) => calls_and_tables::given(text, end, number),
        Announcement::Program(argument) => program_input::argument(text, end, argument),
        Announcement::Oracle => program_input::oracle(text, start, end),
        Announcement::Written => program_input::piped(text, end),
        Announcement::Sent => program_input::expect_send(text, start, end),
        Announcement::Spoken(dialect) => dialogue(text, start, end, dialect),
        Announcement::Here | Announcement::Document | Announcement::Switch => None,
        Announcement::Pem
        | Announcement::Named
        | Announcement::Foreign
        | Announcement::Cell
        | Announcement::Cluster => None,
    }
}

/// `'x' | ConvertTo-SecureString`: returns the piped text. The name starts at `start`.
fn piped(text: &str, start: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let pipe = memchr::memrchr(b'|', &bytes[start.saturating_sub(24)..start])? + start.saturating_sub(24);
    let close = bytes[..pipe].iter().rposition(|byte| *byte != b' ')?;
    let quote = *bytes.get(close).filter(|byte| matches!(byte, b'"' | b'\''))?;
    let first = floor(bytes, close.saturating_sub(MAX_WORD_BYTES));
    let open = memchr::memrchr(quote, &bytes[first..close])? + first + 1;
    is_password(&text[open..close]).then_some(Cut { start: open, end: close, kind: "secret" })
}

/// `AUTH x`, `PASS x` below `USER`, `a1 LOGIN me x`: returns the last word of the line.
fn dialogue(text: &str, start: usize, end: usize, dialect: Dialect) -> Option<Cut> {
    let bytes = text.as_bytes();
    let apart = start.checked_sub(1).is_none_or(|at| !is(bytes[at], ALNUM | UNDERSCORE));
    let window = &text[end..floor(bytes, bytes.len().min(end + MAX_WORD_BYTES))];
    let line = window.lines().next().unwrap_or_default().trim_end();
    let words: Vec<&str> = line.split(' ').collect();
    let value = words.last().copied().unwrap_or_default().trim_matches(['"', '\'']);
    let before = &bytes[start.saturating_sub(100)..start];
    let fits = match dialect {
        Dialect::Redis => apart && words.len() <= 2,
        Dialect::Ftp => words.len() == 1 && memchr::memmem::find(before, b"USER ").is_some() && before.ends_with(b"\n"),
        Dialect::Imap => {
            words.len() == 2 && before.rsplit(|byte| *byte == b'\n').next().is_some_and(|tag| tag.len() <= 10)
        }
    };
    let plain = dialect == Dialect::Redis && matches!(words[0], "PLAIN" | "LOGIN" | "XOAUTH2") && words.len() == 2;
    let at = end + line.rfind(value)?;
    let cut = Cut { start: at, end: at + value.len(), kind: "password" };
    (fits && (plain || looks_chosen(value)) && is_password(value)).then_some(cut)
}

/// Returns the first secret at or after `from` in an option: `--password x`, `-p x` of a known program.
pub(super) fn find_option(text: &str, from: usize, programs: &mut Programs) -> Option<Cut> {
    let bytes = text.as_bytes();
    let mut at = from;
    loop {
        let start = at + memchr::memchr(b'-', &bytes[at..])?;
        at = run_end(bytes, start + 1, HYPHEN);
        let cut = match at - start {
            1 if start > from && matches!(bytes[start - 1], b' ' | b'"') => programs.short(text, at),
            2 => option(text, at).or_else(|| match &bytes[at..] {
                rest if rest.starts_with(b"user") => programs.user(text, start, at + 4),
                rest if rest.starts_with(b"from-literal") => program_input::argument(text, at + 12, Argument::Literal),
                _ => None,
            }),
            _ => None,
        };
        if let Some(cut) = cut.filter(|cut| cut.start >= from) {
            return Some(cut);
        }
    }
}

/// `--password x`, `"--password", "x"`.
fn option(text: &str, start: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let end = start + bytes[start..].iter().take(40).take_while(|byte| is(**byte, ALNUM | HYPHEN | UNDERSCORE)).count();
    if end == start || !bytes.get(end).is_some_and(|byte| matches!(byte, b' ' | b'"' | b'\'')) {
        return None;
    }
    let name = name::name_ending_at(text, end)?;
    // An option of that name holds nothing else.
    let name = if name.kind == NameKind::Pass { Name { kind: NameKind::Strong, ..name } } else { name };
    let mut value = end;
    if matches!(bytes[value], b'"' | b'\'') {
        value += 1 + usize::from(bytes.get(value + 1) == Some(&b','));
    }
    let next = past_blanks(bytes, value);
    // In a list a quote precedes the next option.
    let listed = value > end && matches!(bytes.get(next), Some(b'"' | b'\''));
    let dashed = bytes.get(next + usize::from(listed)) == Some(&b'-');
    (next > end && !dashed).then(|| assignment::secret_value(text, next, name, Join::Option)).flatten()
}

/// `process.env.DB_PASSWORD || 'x'`, `env["DB_PASSWORD"] ?? "x"`: the default value.
fn fallback(text: &str, end: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let closers = bytes[end..].iter().take(4).take_while(|byte| matches!(byte, b'"' | b'\'' | b']' | b')')).count();
    let operator = end + closers;
    let operators = [&b" || "[..], b" ?? ", b" or "];
    let value = operator + operators.iter().find(|known| bytes[operator..].starts_with(known))?.len();
    let quoted = matches!(bytes.get(value), Some(b'"' | b'\'' | b'`'));
    let name = name::name_ending_at(text, end).filter(|name| quoted && name.kind == NameKind::Strong)?;
    assignment::secret_value(text, value, name, Join::Loose).filter(|cut| looks_chosen(&text[cut.start..cut.end]))
}

/// `my password is …`, `login x password …`, `WITH PASSWORD '…'`.
fn spoken(text: &str, end: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let mut at = past_blanks(bytes, end - 1);
    let subject = subject(text, at);
    at = subject.unwrap_or(at);
    for filler in ["is ", "was ", "now ", "changed ", "set ", "reset ", "to ", "= ", ": "] {
        at += if text[at..].starts_with(filler) { filler.len() } else { 0 };
    }
    if let Some(filler) = ["is:\n", "was:\n", "to:\n"].iter().find(|filler| text[at..].starts_with(**filler)) {
        return block::below(text, at + filler.len() - 1, name::name_ending_at(text, end)?);
    }
    let quoted = matches!(bytes.get(at), Some(b'\'' | b'"' | b'`'));
    let line = bytes[end.saturating_sub(120)..end].rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let name = name::name_ending_at(text, end)?;
    let first = name.start.saturating_sub(120);
    let netrc = memchr::memmem::find(line, b"login ").is_some()
        || memchr::memmem::find(line, b"wifi connect ").is_some()
        || (bytes[first..name.start].trim_ascii_end().rsplit(|byte| *byte == b'\n').next())
            .is_some_and(|line| line.trim_ascii_start().starts_with(b"login "));
    let cut = assignment::secret_value(text, at, name, if netrc { Join::Tight } else { Join::Loose })?;
    let value = &bytes[cut.start..cut.end];
    let has = |class| value.iter().any(|byte| is(*byte, class));
    let signs = value.iter().any(|byte| !is(*byte, ALNUM | HYPHEN | UNDERSCORE) && !matches!(byte, b'.' | b'/' | b':'));
    let drawn = signs || is_random(value) || is_respelled(value) || is_numbered(value);
    let strong = value.len() >= 8 && has(DIGIT) && has(LOWER | UPPER) && drawn;
    ((quoted && subject.is_none()) || netrc || strong).then_some(cut)
}

/// Skips whose password it is, and the colon: `password for admin: …`.
fn subject(text: &str, at: usize) -> Option<usize> {
    let rest = text[at..].strip_prefix("for ").or_else(|| text[at..].strip_prefix("of "))?;
    let window = &rest[..floor(rest.as_bytes(), rest.len().min(MAX_SUBJECT_BYTES))];
    let colon = window.find([':', '\n', '.', ',', ';']).filter(|colon| window[*colon..].starts_with(": "))?;
    Some(text.len() - rest.len() + colon + 2)
}

/// `ENV API_KEY …`, `setx TOKEN …`, `set -x TOKEN …`: the name is in capitals, the value random or set by a shell
/// command.
fn set(text: &str, end: usize) -> Option<Cut> {
    if let Some(cut) = fallback(text, end - 1) {
        return Some(cut);
    }
    let name = name::name_ending_at(text, end).filter(|name| name.screams && name.kind != NameKind::Faint)?;
    let bytes = text.as_bytes();
    let before = bytes[name.start.saturating_sub(12)..name.start].trim_ascii_end();
    let sets = [&b"ENV"[..], b"setx", b" -x", b" -gx", b" -Ux", b"setenv"].iter().any(|word| before.ends_with(word));
    let cut = assignment::secret_value(text, end, name, Join::Loose)?;
    let value = &bytes[cut.start..cut.end];
    ((sets && value.len() >= 8) || (value.len() >= 16 && is_random(value))).then_some(cut)
}

/// A chosen password, quoted or not.
fn chosen(text: &str, from: usize) -> Option<Cut> {
    let name = Name { start: from, kind: NameKind::Strong, screams: false, spoken: false };
    assignment::secret_value(text, from, name, Join::Tight)
}

/// `docker login -u x -p X`. Some programs use `-p` for other things, but none as long as a password.
fn login(text: &str, from: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let window = &bytes[from..bytes.len().min(from + MAX_COMMAND_BYTES)];
    let line = window.split(|byte| matches!(byte, b'\n' | b';' | b'|' | b'&')).next().unwrap_or_default();
    let option = from + memchr::memmem::find(line, b" -p ")? + 3;
    let (start, end) = command_line::word(text, past_blanks(bytes, option))?;
    let likely = end - start >= MIN_LOGIN_CHARS && is_password(&text[start..end]);
    likely.then_some(Cut { start, end, kind: "password" })
}

/// `<password>x</password>`.
fn tag(text: &str, end: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let name = name::name_ending_at(text, end - 1)?;
    let opens = name.start.checked_sub(1).is_some_and(|at| bytes[at] == b'<');
    let window = &bytes[end..bytes.len().min(end + MAX_WORD_BYTES)];
    let part = window
        .iter()
        .take_while(|byte| !byte.is_ascii_whitespace() && !matches!(**byte, b'<' | b'{' | b'$') && byte.is_ascii());
    let last = end + part.count();
    let closes = bytes[last..].starts_with(b"</");
    let value = &text[end..last];
    let least = if name.kind == NameKind::Strong { 6 } else { 16 };
    let likely = name.kind == NameKind::Strong || is_random(value.as_bytes());
    let stays =
        value.len() < least || is_placeholder(value, &text[name.start..end], Held { set: false, ..Held::FIRMLY });
    (opens && closes && likely && !stays).then_some(Cut { start: end, end: last, kind: "secret" })
}

/// `The user's email address is …`, which agents tell the model.
fn email(text: &str, end: usize) -> Option<Cut> {
    let part = |c: &char| !c.is_whitespace() && !matches!(c, '<' | '>' | '"' | '[');
    let length: usize = text[end..].chars().take(MAX_WORD_BYTES).take_while(part).map(char::len_utf8).sum();
    let address = text[end..end + length].trim_end_matches(['.', ',', ')']);
    address.contains('@').then_some(Cut { start: end, end: end + address.len(), kind: "account" })
}
