//! Names that say what their value is: `DB_PASSWORD`, `apiKey`, `X-Auth-Token`, `refresh_token`.

use super::alphabet::{ALNUM, DIGIT, DOT, HYPHEN, LOWER, UNDERSCORE, UPPER, is, run_start};
use super::run::in_mark;

/// Longest name that is looked at, in bytes: its end tells.
const MAX_NAME_BYTES: usize = 64;
/// Most blanks between a name and what follows.
const MAX_BLANKS: usize = 8;
/// Most quotes, brackets and backslashes there.
const MAX_CLOSERS: usize = 5;
/// What a name is made of.
const NAME: u8 = ALNUM | UNDERSCORE | HYPHEN | DOT;

/// How sure a name makes that its value is a secret.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sign {
    /// A value of few characters is enough.
    Strong,
    /// The value must look drawn by lot: `token`, `auth`.
    Weak,
    /// The value must look drawn by lot, be long, and no UUID: `key`.
    Faint,
    /// Only in a URL's query: elsewhere it proves something and gives nothing.
    Signed,
    /// A header that says who asks.
    Authorization,
    /// A header of cookies.
    Cookie,
    /// Which account a person has with whoever runs the model.
    Account,
    /// A part of a key file of PuTTY.
    Putty,
}

/// A name right before a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Name {
    /// Where it begins.
    pub(super) start: usize,
    pub(super) sign: Sign,
    /// Capitals only, as names in environments are.
    pub(super) screams: bool,
    /// It ends in a word for what a person chooses and remembers: such values may be words with blanks.
    pub(super) spoken: bool,
}

/// Ends of names, without their separators and in small letters, and what they tell. The first that fits holds.
const ENDS: &[(&str, Sign)] = &[
    ("proxyauthorization", Sign::Authorization),
    ("authorization", Sign::Authorization),
    ("setcookie", Sign::Cookie),
    ("cookie", Sign::Cookie),
    ("cookies", Sign::Cookie),
    ("accountuuid", Sign::Account),
    ("organizationuuid", Sign::Account),
    ("useremail", Sign::Account),
    ("accountemail", Sign::Account),
    ("emailaddress", Sign::Account),
    ("privatelines", Sign::Putty),
    ("privatemac", Sign::Putty),
    ("password", Sign::Strong),
    ("passwd", Sign::Strong),
    ("passwort", Sign::Strong),
    ("pwd", Sign::Strong),
    ("passphrase", Sign::Strong),
    ("mnemonic", Sign::Strong),
    ("seedphrase", Sign::Strong),
    ("passcode", Sign::Strong),
    ("secret", Sign::Strong),
    ("secrets", Sign::Strong),
    ("secretkeybase", Sign::Strong),
    ("apikey", Sign::Strong),
    ("apikeys", Sign::Strong),
    ("appkey", Sign::Weak),
    ("accesskey", Sign::Strong),
    ("secretkey", Sign::Strong),
    ("privatekey", Sign::Strong),
    ("accountkey", Sign::Strong),
    ("signingkey", Sign::Strong),
    ("encryptionkey", Sign::Strong),
    ("masterkey", Sign::Strong),
    ("sharedkey", Sign::Strong),
    ("servicekey", Sign::Strong),
    ("licensekey", Sign::Weak),
    ("authkey", Sign::Strong),
    ("clientkeydata", Sign::Strong),
    ("credentials", Sign::Strong),
    ("authtoken", Sign::Strong),
    ("accesstoken", Sign::Strong),
    ("refreshtoken", Sign::Strong),
    ("sessiontoken", Sign::Strong),
    ("securitytoken", Sign::Strong),
    ("bearertoken", Sign::Strong),
    ("apitoken", Sign::Strong),
    ("bottoken", Sign::Strong),
    ("deploytoken", Sign::Strong),
    ("personaltoken", Sign::Strong),
    ("privatetoken", Sign::Strong),
    ("vaulttoken", Sign::Strong),
    ("publickey", Sign::Account),
    ("primarykey", Sign::Account),
    ("idtoken", Sign::Weak),
    ("token", Sign::Weak),
    ("jwt", Sign::Weak),
    ("sessionid", Sign::Faint),
    ("phpsessid", Sign::Weak),
    ("connectsid", Sign::Weak),
    ("bearer", Sign::Weak),
];
/// The same, where the end must be a word of its own: `MYSQL_PASS`, not `bypass`.
const WORDS: &[(&str, Sign)] = &[
    ("pass", Sign::Weak),
    ("pw", Sign::Weak),
    ("auth", Sign::Weak),
    ("sid", Sign::Weak),
    ("sig", Sign::Signed),
    ("signature", Sign::Signed),
    ("session", Sign::Faint),
    ("credential", Sign::Signed),
    ("key", Sign::Faint),
    ("pat", Sign::Faint),
    ("dsn", Sign::Faint),
];
/// Words before `key` that make it one which may be seen.
const OPEN_KEYS: &[&str] = &[
    "public",
    "cache",
    "primary",
    "foreign",
    "partition",
    "sort",
    "routing",
    "group",
    "object",
    "index",
    "map",
    "query",
    "idempotency",
    "dedup",
    "i18n",
    "translation",
    "message",
    "host",
    "publishable",
    "row",
    "react",
    "config",
    "storage",
];
/// Ends of names that add nothing to what was said before them.
const TAILS: &[&str] = &[
    "base64",
    "b64",
    "value",
    "plain",
    "plaintext",
    "raw",
    "string",
    "prod",
    "production",
    "dev",
    "test",
    "live",
    "staging",
    "old",
    "new",
    "default",
    "current",
    "env",
];
/// Ends of names whose values look like secrets and are not.
const DATA: &[&str] = &[
    "hash",
    "sha",
    "sha1",
    "sha256",
    "sha512",
    "md5",
    "checksum",
    "digest",
    "integrity",
    "etag",
    "fingerprint",
    "nonce",
    "id",
    "uuid",
    "guid",
    "cursor",
    "pubkey",
    "publickey",
    "public_key",
    "public-key",
    "public",
    "address",
    "signature",
    "certificate",
    "cert",
    "thumbprint",
    "revision",
    "commit",
    "version",
    "name",
    "path",
    "url",
    "encrypted",
    "ciphertext",
    "salt",
    "iv",
];

/// The last two letters of every name that tells something: a name with another end needs no second look.
const PAIRS: [bool; 1024] = {
    let mut pairs = [false; 1024];
    let mut at = 0;
    while at < ENDS.len() {
        pairs[pair_of(ENDS[at].0)] = true;
        at += 1;
    }
    at = 0;
    while at < WORDS.len() {
        pairs[pair_of(WORDS[at].0)] = true;
        at += 1;
    }
    at = 0;
    while at < TAILS.len() {
        pairs[pair_of(TAILS[at])] = true;
        at += 1;
    }
    pairs
};

const fn pair_of(word: &str) -> usize {
    let bytes = word.as_bytes();
    pair(bytes[bytes.len() - 2], bytes[bytes.len() - 1])
}

/// A place in [`PAIRS`], the same for either case.
const fn pair(last_but_one: u8, last: u8) -> usize {
    ((last_but_one & 31) as usize) << 5 | (last & 31) as usize
}

/// The name that ends right before `end`, but for blanks, quotes and brackets, if it tells something.
pub(super) fn before(text: &str, end: usize) -> Option<Name> {
    let bytes = text.as_bytes();
    let end = name_end(bytes, end);
    let letters = end - bytes[..end].iter().rev().take(3).take_while(|byte| is(**byte, DIGIT | UNDERSCORE)).count();
    let [last_but_one, last] = *bytes[..letters].last_chunk()?;
    if !PAIRS[pair(last_but_one, last)] || !(is(last, ALNUM)) {
        return None;
    }
    let start = run_start(bytes, end, MAX_NAME_BYTES, NAME);
    let name = &bytes[start..letters];
    if name.is_empty() || in_mark(text, start) {
        return None;
    }
    let (sign, spoken) = sign(name)?;
    let screams = name.iter().all(|byte| !is(*byte, LOWER)) && name.iter().any(|byte| is(*byte, UPPER));
    Some(Name { start, sign, screams, spoken })
}

/// The end of the name before a place: over blanks, then over what may close a name.
fn name_end(bytes: &[u8], end: usize) -> usize {
    let over = |end: usize, most: usize, part: fn(u8) -> bool| {
        end - bytes[..end].iter().rev().take(most).take_while(|byte| part(**byte)).count()
    };
    let end = over(end, MAX_BLANKS, |byte| matches!(byte, b' ' | b'\t'));
    over(end, MAX_CLOSERS, |byte| matches!(byte, b'"' | b'\'' | b'`' | b']' | b'\\' | b'*' | b'?'))
}

/// What a name says by its end.
fn sign(name: &[u8]) -> Option<(Sign, bool)> {
    let mut buffer = [0; MAX_NAME_BYTES];
    let mut length = 0;
    for byte in name.iter().filter(|byte| is(**byte, ALNUM)) {
        buffer[length] = byte.to_ascii_lowercase();
        length += 1;
    }
    let mut told = &buffer[..length];
    let mut rest = name;
    if let Some(tail) = TAILS.iter().find(|tail| told.ends_with(tail.as_bytes()) && is_word(name, tail.len())) {
        told = &told[..told.len() - tail.len()];
        rest = &rest[..rest.len() - tail.len()];
        rest = &rest[..rest.iter().rposition(|byte| is(*byte, ALNUM)).map_or(0, |at| at + 1)];
    }
    let by_end = ENDS.iter().find(|(end, _)| told.ends_with(end.as_bytes()));
    if let Some((end, sign)) = by_end {
        let email = *end == "emailaddress" && !told.ends_with(b"useremailaddress");
        let public = matches!(*end, "publickey" | "primarykey") || email;
        let spoken = end.starts_with("pass") || matches!(*end, "mnemonic" | "seedphrase");
        return (!public).then_some((*sign, spoken));
    }
    let (word, sign) = WORDS.iter().find(|(word, _)| told.ends_with(word.as_bytes()) && is_word(rest, word.len()))?;
    let open =
        *word == "key" && OPEN_KEYS.iter().any(|open| told[..told.len() - word.len()].ends_with(open.as_bytes()));
    (!open).then_some((*sign, false))
}

/// Whether the last `length` bytes of a name are a word of their own.
fn is_word(name: &[u8], length: usize) -> bool {
    let Some(at) = name.len().checked_sub(length) else { return false };
    let Some(before) = at.checked_sub(1) else { return true };
    !is(name[before], ALNUM) || (is(name[at], UPPER) && !is(name[before], UPPER))
}

/// Whether the name before a place says that its value is a check sum, an id, or public.
pub(super) fn is_of_data(bytes: &[u8], end: usize) -> bool {
    let end = name_end(bytes, end);
    let start = run_start(bytes, end, MAX_NAME_BYTES, NAME);
    let name = &bytes[start..end];
    DATA.iter().any(|word| {
        let tail = name.len().checked_sub(word.len()).map(|at| &name[at..]);
        tail.is_some_and(|tail| tail.eq_ignore_ascii_case(word.as_bytes())) && is_word(name, word.len())
    })
}
