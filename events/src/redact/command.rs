//! Passwords in the options of programs: one table of programs and of what their options hold.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::Cut;
use super::alphabet::{ALNUM, DIGIT, LOWER, UPPER, floor, is, run_end};
use super::fed::looks_chosen;
use super::placeholder::{Held, is_placeholder};

/// How far before an option its program may stand, in bytes.
const MAX_COMMAND_BYTES: usize = 300;
/// Longest argument that is read, in bytes.
const MAX_WORD_BYTES: usize = 256;
/// Most words of a command among which its program is looked for: `sudo docker exec -it cache redis-cli`.
const MAX_WORDS: usize = 12;
/// Shortest password, in bytes.
const MIN_PASSWORD_BYTES: usize = 3;
/// Shortest password of digits alone, in bytes: shorter ones are ports and counts.
const MIN_NUMBER_BYTES: usize = 6;

/// How an option holds its secret.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// In the next word.
    Apart,
    /// In the same word: `-pX`.
    Joined,
    /// In either.
    Either,
    /// Behind the first of such a character of either, which a user's name stands before.
    Behind(u8),
    /// Behind `pass:` in the next word.
    Source,
}

use Form::{Apart, Behind, Either, Joined, Source};

/// Options by their names without hyphens, and programs that have them.
pub(super) type Row = (&'static [(&'static str, Form)], &'static [&'static str]);

pub(super) const TABLE: &[Row] = &[
    (&[("p", Either)], &["sshpass", "mongo", "mongosh", "mongodump", "mongorestore", "mongoexport", "mongoimport"]),
    (&[("p", Either)], &["mongostat", "mongotop", "mongofiles", "cqlsh", "rabbitmqadmin", "ncftpput", "ncftpget"]),
    (&[("p", Apart)], &["evil-winrm", "crackmapexec", "cme", "nxc", "netexec", "smbmap", "psexec", "PsExec64"]),
    (&[("p", Apart)], &["rdesktop", "useradd", "usermod", "hydra", "winrs", "impacket-psexec", "bloodhound-python"]),
    (&[("p", Joined)], &["mysql", "mysqldump", "mysqladmin", "mysqlimport", "mysqlcheck", "mysqlshow", "mysqlpump"]),
    (&[("p", Joined)], &["mariadb", "mariadb-dump", "mariadb-admin", "mydumper", "mycli", "xtrabackup"]),
    (&[("p", Joined), ("hp", Joined)], &["7z", "7za", "7zr", "7zz", "7z.exe", "rar", "unrar"]),
    (&[("P", Either)], &["zip", "unzip", "zipinfo", "sqlcmd", "bcp", "osql", "isql", "tsql", "mssql-cli"]),
    (&[("P", Apart)], &["mosquitto_pub", "mosquitto_sub", "mosquitto_rr", "ipmitool", "ipmipower"]),
    (&[("P", Apart), ("N", Apart)], &["ssh-keygen"]),
    (&[("a", Apart)], &["redis-cli", "valkey-cli", "keydb-cli", "redis-benchmark"]),
    (&[("w", Either)], &["ldapsearch", "ldapadd", "ldapmodify", "ldapdelete", "ldapwhoami", "ldapmodrdn"]),
    (&[("w", Either), ("s", Either), ("a", Either)], &["ldappasswd"]),
    (&[("U", Behind(b'%'))], &["smbclient", "rpcclient", "smbget", "smbtree", "smbcacls", "net", "winexe", "wmic"]),
    (&[("u", Behind(b':')), ("U", Behind(b':'))], &["curl", "curlie", "etcdctl"]),
    (&[("a", Behind(b':'))], &["http", "https", "xh", "xhs"]),
    (&[("u", Behind(b','))], &["lftp"]),
    (&[("password", Apart)], &["influx", "impala-shell", "dsconf", "sqoop", "vsql"]),
    (&[("A", Apart), ("X", Apart)], &["snmpwalk", "snmpget", "snmpset", "snmpbulkwalk", "snmptrap", "snmpgetnext"]),
    (&[("upw", Apart), ("opw", Apart)], &["pdftotext", "pdfinfo", "pdftoppm", "pdfimages"]),
    (&[("ap", Apart)], &["swaks"]),
    (&[("w", Either)], &["ldapvi", "snowsql", "dsquery", "vsql"]),
    (
        &[("passin", Source), ("passout", Source), ("pass", Source), ("password", Source), ("k", Apart), ("K", Apart)],
        &["openssl", "libressl"],
    ),
    (
        &[
            ("storepass", Apart),
            ("keypass", Apart),
            ("srcstorepass", Apart),
            ("deststorepass", Apart),
            ("srckeypass", Apart),
            ("destkeypass", Apart),
            ("new", Apart),
            ("tsapass", Apart),
        ],
        &["keytool", "jarsigner"],
    ),
];

/// The rows of each program.
static PROGRAMS: LazyLock<BTreeMap<&str, &[(&str, Form)]>> = LazyLock::new(|| {
    TABLE.iter().flat_map(|(options, names)| names.iter().map(move |name| (*name, *options))).collect()
});

/// The password in an option of a program. Its name begins at `at`, behind one hyphen.
pub(super) fn short(text: &str, at: usize) -> Option<Cut> {
    may_be_told(text.as_bytes(), at).then(|| option(text, at)).flatten()
}

/// Whether some program has an option of that name that holds a secret: most options end here.
fn may_be_told(bytes: &[u8], at: usize) -> bool {
    match bytes.get(at).copied().unwrap_or_default() {
        b'p' | b'P' | b'a' | b'A' | b'w' | b'u' | b'U' | b'N' | b'X' | b'k' | b'K' | b'h' | b'd' | b's' | b'n'
        | b't' => true,
        first => {
            is(first, LOWER | UPPER) && matches!(bytes.get(at + 1..at + 3), Some([b'u' | b'U', _] | [_, b'u' | b'U']))
        }
    }
}

/// The password of the option whose name begins at `at`.
fn option(text: &str, at: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let name = at + bytes[at..].iter().take(16).take_while(|byte| is(**byte, ALNUM)).count();
    let options = program(bytes, at)?;
    options.iter().find_map(|(letter, form)| {
        let joined = bytes[at..].starts_with(letter.as_bytes()).then_some(at + letter.len());
        // `-su` is `-s -u`.
        let cluster = bytes[at..name].ends_with(letter.as_bytes())
            && (name - at == letter.len() || (letter.len() == 1 && name - at <= 4));
        let apart = cluster.then(|| past_joint(bytes, name)).flatten();
        match form {
            Apart => secret(text, apart?, *form),
            Joined => secret(text, joined?, *form),
            // `-port` is an option of its own.
            Either if apart.is_none() => {
                let quoted = matches!(bytes.get(joined?), Some(b'"' | b'\''));
                secret(text, joined?, *form).filter(|cut| quoted || looks_chosen(&text[cut.start..cut.end]))
            }
            Either | Behind(_) | Source => secret(text, apart.or(joined)?, *form),
        }
    })
}

/// Where the word behind an option begins: past blanks, `=`, or the end of one word of a list and the beginning of the next.
fn past_joint(bytes: &[u8], at: usize) -> Option<usize> {
    let quote = usize::from(matches!(bytes.get(at), Some(b'"' | b'\'')));
    let comma = at + quote + usize::from(quote == 1 && bytes.get(at + 1) == Some(&b','));
    let joint = |byte: &&u8| matches!(**byte, b' ' | b'\t');
    let blanks = bytes[comma..].iter().take(8).take_while(joint).count();
    if bytes.get(at) == Some(&b'=') {
        return Some(at + 1);
    }
    (blanks > 0).then_some(comma + blanks)
}

/// What an option holds, if it is a secret.
fn secret(text: &str, at: usize, form: Form) -> Option<Cut> {
    let (start, end) = word(text, at)?;
    let value = &text[start..end];
    let (start, value) = match form {
        Behind(mark) => {
            let skipped = value.bytes().position(|byte| byte == mark)? + 1;
            // `DOMAIN\user`, a user's name or none.
            let user = &value[..skipped - 1];
            let named = user.bytes().all(|byte| is(byte, ALNUM) || b"_-.@\\/+".contains(&byte) || byte >= 0x80);
            let value = value.get(skipped..).filter(|_| named)?;
            let end = value.trim_start_matches(['\'', '"']);
            (start + skipped + (value.len() - end.len()), end)
        }
        Source => {
            let value = value.strip_prefix("pass:")?;
            let bare = value.trim_start_matches(['\'', '"']);
            let (from, to) = match value.len() - bare.len() {
                0 => (end - value.len(), end),
                _ => word(text, end - value.len())?,
            };
            (from, &text[from..to])
        }
        _ => (start, value),
    };
    is_password(value).then_some(Cut { start, end: start + value.len(), kind: "password" })
}

/// `--user me%x`: the password that some programs take joined to a user's name. `end` is behind the option's name.
pub(super) fn user(text: &str, end: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let (_, form) = *program(bytes, end)?.iter().find(|(_, form)| *form == Behind(b'%'))?;
    secret(text, past_joint(bytes, run_end(bytes, end, LOWER))?, form)
}

/// Whether what stands in a password's place can be one.
pub(super) fn is_password(value: &str) -> bool {
    // A number, but no port, address or date.
    let digits = value.bytes().filter(|byte| is(*byte, DIGIT)).count();
    let number = value.bytes().all(|byte| is(byte, DIGIT) || b":./-".contains(&byte));
    let fits =
        if number { digits == value.len() && digits >= MIN_NUMBER_BYTES } else { value.len() >= MIN_PASSWORD_BYTES };
    fits && !value.starts_with(['-', '<', '['])
        && !value.contains("$(")
        && !value.contains('`')
        && !is_placeholder(value, "password", Held::FIRMLY)
}

/// The word of a command line that begins at `at`, without its quotes: where it begins and ends.
pub(super) fn word(text: &str, at: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let slashes = bytes[at..].iter().take(4).take_while(|byte| **byte == b'\\').count();
    let quote = bytes.get(at + slashes).copied().filter(|byte| matches!(byte, b'"' | b'\''));
    let start = if quote.is_some() { at + slashes + 1 } else { at };
    let window = &bytes[start..bytes.len().min(start + MAX_WORD_BYTES)];
    let ends = |place: usize, byte: u8| match quote {
        Some(quote) => {
            let before = window[..place].iter().rev().take_while(|byte| **byte == b'\\').count();
            byte == b'\n' || (byte == quote && (before <= slashes || quote == b'\''))
        }
        None => {
            byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>' | b'|' | b';' | b'&' | b'\\')
        }
    };
    let mut end = window.iter().enumerate().position(|(place, byte)| ends(place, *byte)).unwrap_or(window.len());
    while quote.is_some() && slashes > 0 && end > 0 && window[end - 1] == b'\\' {
        end -= 1;
    }
    let end = floor(bytes, start + end);
    (end > start).then_some((start, end))
}

/// Where the command begins that `at` lies in.
pub(super) fn command_start(bytes: &[u8], at: usize) -> usize {
    let first = floor(bytes, at.saturating_sub(MAX_COMMAND_BYTES));
    let ends = |place: usize| match bytes[place] {
        b'\n' => place == 0 || bytes[place - 1] != b'\\',
        b';' | b'|' | b'`' => true,
        b'&' => place > 0 && bytes[place - 1] == b'&',
        b'(' => place > 0 && bytes[place - 1] == b'$',
        _ => false,
    };
    (first..at).rev().find(|place| ends(*place)).map_or(first, |place| place + 1)
}

/// The options of the program whose command `at` lies in: the first known word among the first ones.
fn program(bytes: &[u8], at: usize) -> Option<&'static [(&'static str, Form)]> {
    let command = &bytes[command_start(bytes, at)..at];
    let ends =
        |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'(' | b'[' | b'=' | b',' | b'`');
    let mut named = false;
    let words = command.split(ends).filter(|word| word.len() > 1).filter(|word| {
        // `--name mongo` names something else.
        let own = !std::mem::replace(&mut named, word.starts_with(b"--"));
        own && word[0] != b'-'
    });
    words.take(MAX_WORDS).find_map(|word| {
        let start = memchr::memrchr(b'/', word).map_or(0, |slash| slash + 1);
        let name = std::str::from_utf8(&word[start..]).ok()?;
        PROGRAMS.get(name.strip_suffix(".exe").unwrap_or(name)).copied()
    })
}
