//! Names that say what their value is: `DB_PASSWORD`, `apiKey`, `X-Auth-Token`, `refresh_token`. Such a name is called
//! sensitive.
//!
//! # Decisions
//!
//! - A name is read from its end, in a tree built at compile time. Session ids are not secrets: `session` and
//!   `session_id` redact nothing.

use super::alphabet::{ALNUM, DIGIT, DOT, HYPHEN, LOWER, UNDERSCORE, UPPER, class, is, run_start};
use super::in_mark;
use super::table::{count, spread};
use baton_words::WordList;

/// Length of the end of a name that is read, in bytes.
const MAX_NAME_BYTES: usize = 64;
/// Most spaces between a name and what follows.
const MAX_BLANKS: usize = 8;
/// Most quotes, brackets and backslashes there.
const MAX_CLOSERS: usize = 5;
/// Most digits at the end of a name that number it: `API_KEY_2`.
const MAX_DIGITS: usize = 3;
/// Characters of a name.
const NAME: u8 = ALNUM | UNDERSCORE | HYPHEN | DOT;

/// How strongly a name indicates that its value is a secret.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NameKind {
    /// A short value is enough.
    Strong,
    /// The value must look random: `token`, `auth`.
    Weak,
    /// A short word for a password that also names other things: `pass`, `pw`. A prefix makes it strong.
    Pass,
    /// A short word for a credential, strong with a prefix in uppercase: `NPM_AUTH`. Else it is weak.
    Auth,
    /// The value must look random, be long and be no UUID: `key`. `api key` is strong.
    Faint,
    /// The value is a number, longer than the number of a pin of a board: `pin`.
    Pin,
    /// A signature: only in a URL's query, because elsewhere it proves something but grants nothing.
    Signed,
    /// An authorization header.
    Authorization,
    /// A cookie header.
    Cookie,
    /// A person's account with the provider of the model.
    Account,
    /// An address. It is an account if one is named near it.
    Email,
    /// A field of a PuTTY key file.
    Putty,
    /// A code that a server exchanges for a token: only in a URL's query, and only if it looks random.
    Code,
    /// A field that holds the value of what another field names: `value`, `default`.
    Carrier,
    /// Public: the value is no secret.
    Open,
}

/// A name that ends at a given position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Name {
    /// Where it starts.
    pub(super) start: usize,
    pub(super) kind: NameKind,
    /// Uppercase only, as in environments.
    pub(super) screams: bool,
    /// It ends in a word for something that a person chooses and remembers; the value may consist of several words.
    pub(super) spoken: bool,
}

/// Ends of names, in lowercase without separators, and their meaning. The first that matches wins. `session` and
/// `session_id` are missing on purpose: they identify a conversation, which a reader must be able to find again.
const ENDS: &[(&str, NameKind)] = &spread::<_, { count(ENDS_BY_KIND, b' ') }>(ENDS_BY_KIND, b' ');
const ENDS_BY_KIND: &[(NameKind, &str)] = &[
    (NameKind::Authorization, "proxyauthorization authorization"),
    (NameKind::Cookie, "setcookie cookie cookies"),
    (NameKind::Account, "accountuuid organizationuuid useremail accountemail useremailaddress"),
    (NameKind::Email, "emailaddress"),
    (NameKind::Putty, "privatelines privatemac"),
    (NameKind::Strong, "password passwords passwd kennwort contrasena motdepasse wachtwoord usercode passwort pwd"),
    (NameKind::Strong, "passphrase mnemonic seedphrase passcode secret secrets secretkeybase apikey apikeys accesskey"),
    (NameKind::Strong, "secretkey privatekey accountkey signingkey encryptionkey masterkey sharedkey servicekey"),
    (NameKind::Strong, "authkey clientkeydata credentials authtoken accesstoken refreshtoken sessiontoken"),
    (NameKind::Strong, "securitytoken bearertoken apitoken bottoken deploytoken personaltoken privatetoken vaulttoken"),
    (NameKind::Weak, "codeverifier devicecode authorizationcode noncesalt appkey licensekey idtoken token jwt"),
    (NameKind::Weak, "jsessionid aspnetsessionid phpsessid connectsid bearer"),
    (NameKind::Open, "publickey cachekey primarykey foreignkey partitionkey sortkey routingkey groupkey objectkey"),
    (NameKind::Open, "indexkey mapkey querykey idempotencykey dedupkey i18nkey translationkey messagekey hostkey"),
    (NameKind::Open, "publishablekey rowkey reactkey configkey storagekey"),
];
/// Ends of names that must be a word of their own: `MYSQL_PASS`, not `bypass`.
const WORDS: &[(&str, NameKind)] = &spread::<_, { count(WORDS_BY_KIND, b' ') }>(WORDS_BY_KIND, b' ');
const WORDS_BY_KIND: &[(NameKind, &str)] = &[
    (NameKind::Pass, "pass pw"),
    (NameKind::Strong, "psk clave mdp senha heslo haslo sifre"),
    (NameKind::Code, "code"),
    (NameKind::Auth, "auth"),
    (NameKind::Pin, "pin"),
    (NameKind::Weak, "sid"),
    (NameKind::Signed, "sig signature credential"),
    (NameKind::Faint, "key pat dsn"),
];
/// Ends of names that do not change the meaning of what precedes them.
const TAILS: &[(&str, ())] = &spread::<_, { count(TAIL_ROWS, b' ') }>(TAIL_ROWS, b' ');
const TAIL_ROWS: &[((), &str)] = &[
    ((), "base value plain plaintext raw string prod production dev test live staging old new default current env"),
    ((), "confirmation confirm again repeat"),
];
/// Ends of names whose values look like secrets but are not.
static DATA: WordList = WordList::new(crate::WORDS, "names of data");

/// All ends of names as a tree, last letter first.
static TREE: Tree = Tree::new();

/// Most nodes of the tree: the total number of letters. Building it fails to compile if there are more.
const MAX_PLACES: usize = 880;
/// No end is complete at this node.
const NONE: u8 = u8::MAX;

struct Tree {
    /// The next node for each letter; 0 if no end continues with it.
    next: [[u16; 32]; MAX_PLACES],
    /// The index in [`ENDS`] of the end that is complete at a node.
    ends: [u8; MAX_PLACES],
    /// The same for [`WORDS`].
    words: [u8; MAX_PLACES],
    /// True if one of [`TAILS`] is complete at a node.
    tails: [bool; MAX_PLACES],
    /// Number of nodes.
    places: usize,
}

impl Tree {
    const fn new() -> Self {
        let mut tree = Self {
            next: [[0; 32]; MAX_PLACES],
            ends: [NONE; MAX_PLACES],
            words: [NONE; MAX_PLACES],
            tails: [false; MAX_PLACES],
            places: 1,
        };
        // From last to first, so that the first of two equal ends wins.
        let mut at = ENDS.len();
        while at > 0 {
            at -= 1;
            let place = tree.add(ENDS[at].0);
            tree.ends[place] = at as u8;
        }
        at = 0;
        while at < WORDS.len() {
            let place = tree.add(WORDS[at].0);
            tree.words[place] = at as u8;
            at += 1;
        }
        at = 0;
        while at < TAILS.len() {
            let place = tree.add(TAILS[at].0);
            tree.tails[place] = true;
            at += 1;
        }
        tree
    }

    /// True if the last three letters of a name suffice to see that it has no known end.
    #[inline]
    fn is_dead_end(&self, name: &[u8]) -> bool {
        let [before, last_but_one, last] = match name.last_chunk() {
            Some(three) => *three,
            None => match *name {
                [last_but_one, last] => [b' ', last_but_one, last],
                _ => return true,
            },
        };
        if !is(last, LOWER | UPPER) {
            return true;
        }
        let place = usize::from(self.next[0][letter(last)]);
        if place == 0 || !is(last_but_one, ALNUM) {
            return place == 0 || !is(last_but_one, NAME);
        }
        let place = usize::from(self.next[place][letter(last_but_one)]);
        let on = match class(before) {
            classes if classes & ALNUM != 0 => self.next[place][letter(before)] != 0,
            classes => classes & NAME != 0,
        };
        place == 0 || !(on || self.words[place] != NONE)
    }

    /// Returns the node of an end, adding nodes where needed.
    const fn add(&mut self, end: &str) -> usize {
        let bytes = end.as_bytes();
        let mut place = 0;
        let mut left = bytes.len();
        while left > 0 {
            left -= 1;
            let letter = letter(bytes[left]);
            if self.next[place][letter] == 0 {
                self.next[place][letter] = self.places as u16;
                self.places += 1;
            }
            place = self.next[place][letter] as usize;
        }
        place
    }
}

/// Returns the column of a letter in the tree, equal for both cases. Of the digits only those of `i18n` have columns of
/// their own.
const fn letter(byte: u8) -> usize {
    match byte {
        b'1' => 27,
        b'8' => 28,
        b'0'..=b'9' => 29,
        _ => (byte & 31) as usize,
    }
}

/// Returns the sensitive name that ends before `end`, apart from spaces, quotes and brackets.
pub(super) fn name_ending_at(text: &str, end: usize) -> Option<Name> {
    let bytes = text.as_bytes();
    let end = name_end(bytes, end);
    let mut letters = end;
    while letters > 0 && end - letters < MAX_DIGITS && is(bytes[letters - 1], DIGIT | UNDERSCORE) {
        letters -= 1;
    }
    if TREE.is_dead_end(&bytes[..letters]) {
        return None;
    }
    let floor = end.saturating_sub(MAX_NAME_BYTES);
    let (kind, spoken) = classify(&bytes[floor..letters])?;
    let start = run_start(bytes, end, MAX_NAME_BYTES, NAME);
    if in_mark(text, start) {
        return None;
    }
    let api = kind == NameKind::Faint
        && letters - start == 3
        && bytes[start.saturating_sub(4)..start].eq_ignore_ascii_case(b"api ");
    let name = &bytes[start..letters];
    let screams = name.iter().all(|byte| !is(*byte, LOWER)) && name.iter().any(|byte| is(*byte, UPPER));
    // `DB_PASS` and `smtpPass` are more specific than `pass`.
    let prefixed = || !matches!(name.iter().filter(|byte| is(**byte, ALNUM)).count(), 2 | 4);
    let kind = match kind {
        NameKind::Pass if prefixed() => NameKind::Strong,
        NameKind::Auth if screams && prefixed() => NameKind::Strong,
        NameKind::Auth => NameKind::Weak,
        NameKind::Faint if api => NameKind::Strong,
        kind => kind,
    };
    Some(Name { start, kind, screams, spoken })
}

/// Returns the end of the name before a position, skipping spaces and then closing quotes and brackets.
fn name_end(bytes: &[u8], end: usize) -> usize {
    // The most frequent cases: directly there, or behind one quote.
    match *bytes[..end].last_chunk().unwrap_or(&[0; 2]) {
        [_, last] if is(last, ALNUM) => return end,
        [last, b'"'] if is(last, ALNUM) => return end - 1,
        _ => {}
    }
    let over = |end: usize, most: usize, part: fn(u8) -> bool| {
        end - bytes[..end].iter().rev().take(most).take_while(|byte| part(**byte)).count()
    };
    let end = over(end, MAX_BLANKS, |byte| matches!(byte, b' ' | b'\t'));
    over(end, MAX_CLOSERS, |byte| matches!(byte, b'"' | b'\'' | b'`' | b']' | b'\\' | b'*' | b'?'))
}

/// Returns the meaning of a name by its end, and whether it names something that a person remembers. What precedes the
/// name is ignored.
fn classify(text: &[u8]) -> Option<(NameKind, bool)> {
    let found = KnownEnds::new(text);
    let found = match found.tail {
        Some(tail) => {
            let (rest, tail) = text.split_at(text.len() - tail);
            let last = rest.iter().rposition(|byte| is(*byte, ALNUM) || !is(*byte, NAME));
            let bare = last.is_none_or(|at| !is(rest[at], ALNUM));
            if bare && (tail.eq_ignore_ascii_case(b"value") || tail.eq_ignore_ascii_case(b"default")) {
                return Some((NameKind::Carrier, false));
            }
            KnownEnds::new(&rest[..last.map_or(0, |at| at + 1)])
        }
        None => found,
    };
    if let Some((end, kind)) = found.end {
        let spoken = end.starts_with("pass") || matches!(end, "mnemonic" | "seedphrase");
        return (kind != NameKind::Open).then_some((kind, spoken));
    }
    found.word.map(|kind| (kind, false))
}

/// The known ends of a name.
#[derive(Default)]
struct KnownEnds {
    /// The first of [`ENDS`].
    end: Option<(&'static str, NameKind)>,
    /// The first of [`WORDS`] that is a word of its own.
    word: Option<NameKind>,
    /// Length in bytes of the matching entry of [`TAILS`], if it is a word of its own.
    tail: Option<usize>,
}

impl KnownEnds {
    fn new(text: &[u8]) -> Self {
        let mut found = Self::default();
        let (mut end, mut word) = (NONE, NONE);
        let mut place = 0;
        for (at, byte) in text.iter().enumerate().rev() {
            if !is(*byte, ALNUM) {
                if is(*byte, NAME) {
                    continue;
                }
                break;
            }
            place = usize::from(TREE.next[place][letter(*byte)]);
            if place == 0 {
                break;
            }
            end = end.min(TREE.ends[place]);
            let length = text.len() - at;
            if TREE.words[place] < word && is_word(text, length) {
                word = TREE.words[place];
            }
            if TREE.tails[place] && is_word(text, length) {
                found.tail = Some(length);
            }
        }
        found.end = ENDS.get(usize::from(end)).copied();
        found.word = WORDS.get(usize::from(word)).map(|(_, kind)| *kind);
        found
    }
}

/// True if the last `length` bytes of a name are a word of their own.
fn is_word(name: &[u8], length: usize) -> bool {
    let Some(at) = name.len().checked_sub(length) else { return false };
    let Some(before) = at.checked_sub(1) else { return true };
    !is(name[before], ALNUM) || (is(name[at], UPPER) && !is(name[before], UPPER))
}

/// True if the name before a position says that its value is a checksum, an id or public.
pub(super) fn is_of_data(bytes: &[u8], end: usize) -> bool {
    let end = name_end(bytes, end);
    let start = run_start(bytes, end, MAX_NAME_BYTES, NAME);
    let name = &bytes[start..end];
    DATA.iter().any(|word| {
        let tail = name.len().checked_sub(word.len()).map(|at| &name[at..]);
        tail.is_some_and(|tail| tail.eq_ignore_ascii_case(word.as_bytes())) && is_word(name, word.len())
    })
}
