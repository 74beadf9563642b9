//! Passwords in program options: a table of programs and the options that hold secrets.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::Cut;
use super::alphabet::{ALNUM, LOWER, UPPER, is, run_end};
use super::command_line::{Commands, word};
use super::password::{is_password, looks_chosen};

/// Most words at the start of a command among which its program is sought: `sudo docker exec -it cache redis-cli`.
const MAX_WORDS: usize = 12;
/// Most words between a program and its option if the option's value does not look like a chosen password. Counted in
/// words, because a cut shortens the text between.
const MAX_WORDS_BETWEEN: usize = 40;
/// Most words between an option and a program that is not among the first words of its command.
const MAX_WORDS_NEAR: usize = 20;
/// Where an option holds its secret.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// In the next word.
    Apart,
    /// In the same word: `-pX`.
    Joined,
    /// In either.
    Either,
    /// In either, after the first such character, which follows a user name.
    Behind(u8),
    /// After `pass:` in the next word.
    Source,
}

use Form::{Apart, Behind, Either, Joined, Source};

/// Option names without hyphens.
type Options = &'static [(&'static str, Form)];
/// Options, and the programs that have them.
pub(super) type Row = (Options, &'static [&'static str]);

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

/// The options of each program.
static PROGRAMS: LazyLock<BTreeMap<&str, Options>> = LazyLock::new(|| {
    TABLE.iter().flat_map(|(options, names)| names.iter().map(move |name| (*name, *options))).collect()
});

/// State of the command read last, so that no word is read twice.
#[derive(Default)]
pub(super) struct Programs {
    commands: Commands,
    /// Where the command starts.
    start: usize,
    /// Its words were read up to here.
    read: usize,
    /// How many of them are neither options nor the argument of a long option.
    words: usize,
    /// True if the last word was a long option, which names the next word: `--name mongo`.
    named: bool,
    /// The first known program among the first [`MAX_WORDS`] words, and the number of that word.
    first: Option<(Options, usize)>,
    /// The last known program, likewise.
    last: Option<(Options, usize)>,
}

impl Programs {
    /// Returns the password in a single-hyphen option whose name starts at `at`.
    pub(super) fn short(&mut self, text: &str, at: usize) -> Option<Cut> {
        let bytes = text.as_bytes();
        if !may_hold_secret(bytes, at) {
            return None;
        }
        let (options, near) = self.options_at(bytes, at - 1)?;
        let cut = option(text, at, options)?;
        (near || looks_chosen(&text[cut.start..cut.end])).then_some(cut)
    }

    /// `--user me%x`: returns the password that some programs take joined to a user name. The option starts at `start`,
    /// its name ends at `end`.
    pub(super) fn user(&mut self, text: &str, start: usize, end: usize) -> Option<Cut> {
        let bytes = text.as_bytes();
        let (options, _) = self.options_at(bytes, start)?;
        let (_, form) = *options.iter().find(|(_, form)| *form == Behind(b'%'))?;
        secret(text, past_joint(bytes, run_end(bytes, end, LOWER))?, form)
    }

    /// Returns the options of the program that an option at `at` belongs to, and whether the program is near enough
    /// that the option's value need not look like a password. The program is the first known one among the first words
    /// of the command, or else the last known one.
    fn options_at(&mut self, bytes: &[u8], at: usize) -> Option<(Options, bool)> {
        let start = self.commands.start_of(bytes, at);
        if start != self.start || at < self.read {
            let commands = std::mem::take(&mut self.commands);
            *self = Self { commands, start, read: start, ..Self::default() };
        }
        let ends =
            |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'(' | b'[' | b'=' | b',' | b'`');
        while self.read < at {
            let rest = &bytes[self.read..at];
            let word = &rest[..rest.iter().position(ends).unwrap_or(rest.len())];
            self.read = at.min(self.read + word.len() + 1);
            self.count_word(word);
        }
        let words = self.words;
        let near = |(_, word): &(Options, usize), most: usize| words - word <= most;
        match (self.first, self.last) {
            (Some(first), _) => Some((first.0, near(&first, MAX_WORDS_BETWEEN))),
            (None, last) => last.filter(|last| near(last, MAX_WORDS_NEAR)).map(|last| (last.0, false)),
        }
    }

    /// Takes the next word of the command.
    fn count_word(&mut self, word: &[u8]) {
        if word.len() <= 1 {
            return;
        }
        let named = std::mem::replace(&mut self.named, word.starts_with(b"--"));
        if named || word[0] == b'-' {
            return;
        }
        self.words += 1;
        if let Some(options) = options_of(word) {
            self.last = Some((options, self.words));
            if self.words <= MAX_WORDS && self.first.is_none() {
                self.first = self.last;
            }
        }
    }
}

/// Returns the options of a program by its name, which a path may precede.
fn options_of(word: &[u8]) -> Option<Options> {
    let start = memchr::memrchr(b'/', word).map_or(0, |slash| slash + 1);
    let name = std::str::from_utf8(&word[start..]).ok()?;
    PROGRAMS.get(name.strip_suffix(".exe").unwrap_or(name)).copied()
}

/// False if no program in the table has such an option. Most options are rejected here.
fn may_hold_secret(bytes: &[u8], at: usize) -> bool {
    match bytes.get(at).copied().unwrap_or_default() {
        b'p' | b'P' | b'a' | b'A' | b'w' | b'u' | b'U' | b'N' | b'X' | b'k' | b'K' | b'h' | b'd' | b's' | b'n'
        | b't' => true,
        first => {
            is(first, LOWER | UPPER) && matches!(bytes.get(at + 1..at + 3), Some([b'u' | b'U', _] | [_, b'u' | b'U']))
        }
    }
}

/// Returns the password in the option whose name starts at `at`.
fn option(text: &str, at: usize, options: Options) -> Option<Cut> {
    let bytes = text.as_bytes();
    let name = at + bytes[at..].iter().take(16).take_while(|byte| is(**byte, ALNUM)).count();
    options.iter().find_map(|(letter, form)| {
        let joined = bytes[at..].starts_with(letter.as_bytes()).then_some(at + letter.len());
        // `-su` is `-s -u`.
        let cluster = bytes[at..name].ends_with(letter.as_bytes())
            && (name - at == letter.len() || (letter.len() == 1 && name - at <= 4));
        let apart = cluster.then(|| past_joint(bytes, name)).flatten();
        match form {
            Apart => secret(text, apart?, *form),
            Joined => secret(text, joined?, *form),
            // `-port` is a different option.
            Either if apart.is_none() => {
                let quoted = matches!(bytes.get(joined?), Some(b'"' | b'\''));
                secret(text, joined?, *form).filter(|cut| quoted || looks_chosen(&text[cut.start..cut.end]))
            }
            Either | Behind(_) | Source => secret(text, apart.or(joined)?, *form),
        }
    })
}

/// Returns the start of the word after an option: past spaces, `=`, or the boundary between two quoted list items.
fn past_joint(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes.get(at) == Some(&b'=') {
        return Some(at + 1);
    }
    let quoted = matches!(bytes.get(at), Some(b'"' | b'\''));
    let listed = quoted && bytes.get(at + 1) == Some(&b',');
    let joint = at + usize::from(quoted) + usize::from(listed);
    let blanks = bytes[joint..].iter().take(8).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    (listed || blanks > 0).then_some(joint + blanks)
}

/// Returns the secret that starts at `at` in the given form.
fn secret(text: &str, at: usize, form: Form) -> Option<Cut> {
    let (start, end) = word(text, at)?;
    let value = &text[start..end];
    // A joined value may be quoted by itself: `me:'x'`.
    let rest = |from: usize| match text.as_bytes().get(from) {
        Some(b'"' | b'\'') if start == at => word(text, from),
        _ => Some((from, end)),
    };
    let (start, end) = match form {
        Behind(mark) => {
            let skipped = value.bytes().position(|byte| byte == mark)? + 1;
            // `DOMAIN\user`, a user name, or nothing.
            let user = &value[..skipped - 1];
            let named = user.bytes().all(|byte| is(byte, ALNUM) || b"_-.@\\/+".contains(&byte) || byte >= 0x80);
            named.then(|| rest(start + skipped)).flatten()?
        }
        Source => rest(start + value.strip_prefix("pass:").map(|_| "pass:".len())?)?,
        _ => (start, end),
    };
    is_password(&text[start..end]).then_some(Cut { start, end, kind: "password" })
}
