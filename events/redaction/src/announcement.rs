//! Tables of the words that announce a secret, and of what each announces.

use super::program_input::Argument;
use super::table::{count, spread};

/// What a word announces.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Announcement {
    Pem,
    Bearer,
    /// A name of a password: in a sentence, a call, a tag or a table.
    Named,
    /// A name of a password in another language.
    Foreign,
    /// The end of a sensitive name in a table, plus one more character.
    Cell,
    /// `ENV API_KEY …`, `setx TOKEN …`.
    Set,
    Identified,
    /// `docker login -u x -p …`, and programs that take a password the same way.
    Login,
    Tag,
    Attribute,
    Email,
    /// The opening bracket after a sensitive function name.
    Call,
    /// A function that takes a name and a value.
    Pair,
    Phrase,
    Vault,
    Cluster,
    Secure,
    /// A call whose argument at this index is a password.
    Given(usize),
    /// A program that takes a password at this place among its arguments.
    Program(Argument),
    Oracle,
    Switch,
    Written,
    Here,
    Document,
    Sent,
    /// A command of Redis, FTP or IMAP.
    Spoken(Dialect),
}

/// A text protocol whose commands carry passwords.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Redis,
    Ftp,
    Imap,
}

/// Literals to search for. They are case-sensitive, which keeps false matches rare. If two rows share a cue, the first
/// that matches wins.
pub(super) const WORDS: &[(&str, Announcement)] =
    &spread::<_, { count(WORDS_BY_MEANING, b'|') }>(WORDS_BY_MEANING, b'|');
const WORDS_BY_MEANING: &[(Announcement, &str)] = &[
    (Announcement::Pem, "-BEGIN |- BEGIN "),
    (Announcement::Bearer, "earer |EARER "),
    (Announcement::Named, "assword|ASSWORD|assphrase"),
    (Announcement::Foreign, "asswort"),
    (Announcement::Named, "asswd|pi key|PI key|PI Key"),
    (Announcement::Foreign, "ot de passe|ontrase|senha|ennwort"),
    (Announcement::Cell, "ECRET`|ecret`|_KEY`|TOKEN`"),
    (Announcement::Set, "ECRET |OKEN |_KEY "),
    (Announcement::Identified, "IDENTIFIED BY |identified by "),
    (Announcement::Login, "login -"),
    (Announcement::Tag, "ecret>|oken>|Key>|_key>"),
    (Announcement::Attribute, "\" value=\""),
    (Announcement::Email, "s email address is "),
    (Announcement::Phrase, "eed phrase|ecovery phrase|eed words|ecret phrase|eed_phrase|eedPhrase|SEED|NEMONIC"),
    (Announcement::Phrase, "nemonic|ackup phrase"),
    (Announcement::Vault, "$ANSIBLE_VAULT;"),
    (Announcement::Cluster, "kind: Secret\n"),
];

/// Literals of programs and protocols.
pub(super) const CALLS: &[(&str, Announcement)] =
    &spread::<_, { count(CALLS_BY_MEANING, b'|') }>(CALLS_BY_MEANING, b'|');
const CALLS_BY_MEANING: &[(Announcement, &str)] = &[
    (Announcement::Secure, "ConvertTo-SecureString"),
    (Announcement::Program(Argument::Named), "put-parameter |secret set "),
    (Announcement::Program(Argument::Managed), "rabbitmqctl "),
    (Announcement::Program(Argument::Number(1)), "wpa_passphrase |radtest "),
    (Announcement::Program(Argument::Only), "vault login "),
    (Announcement::Program(Argument::Number(0)), "encrypt_string "),
    (Announcement::Program(Argument::Batch), "htpasswd |mosquitto_passwd "),
    (Announcement::Program(Argument::Share), "net use "),
    (Announcement::Program(Argument::Account), "net user "),
    (Announcement::Program(Argument::Set), "config set |configure set "),
    (Announcement::Program(Argument::Only), "openssl passwd |requirepass |masterauth |rclone obscure "),
    (Announcement::Oracle, "sqlplus |expdp |impdp |rman |sqlldr |conn |jdbc:oracle:"),
    (Announcement::Switch, " /p:|/pass:"),
    (Announcement::Written, "echo |printf "),
    (Announcement::Here, "<<< "),
    (Announcement::Document, "chpasswd <<|-stdin <<"),
    (Announcement::Sent, "send |sendline("),
    (Announcement::Spoken(Dialect::Redis), "AUTH "),
    (Announcement::Spoken(Dialect::Ftp), "PASS "),
    (Announcement::Spoken(Dialect::Imap), " LOGIN "),
];

/// Literals of functions. Each ends with its opening bracket and has at least three bytes before it.
pub(super) const FUNCTIONS: &[(&str, Announcement)] =
    &spread::<_, { count(FUNCTIONS_BY_MEANING, b'|') }>(FUNCTIONS_BY_MEANING, b'|');
const FUNCTIONS_BY_MEANING: &[(Announcement, &str)] = &[
    (Announcement::Call, "Key(|_key(|ecret(|oken(|Pass(|Pwd("),
    (Announcement::Given(1), "Credential(|Credentials(|BasicAuth(|DigestAuth(|asic_auth(|.auth(|auth=(|.login("),
    (Announcement::Given(1), "PasswordAuthentication(|Credential]::new("),
    (Announcement::Pair, "define(|set_var(|setenv(|etProperty(|EnvironmentVariable(|.put(|.set("),
    (Announcement::Given(2), "mysqli(|mysqli_connect(|mysql_connect(|getConnection(|->connect(|PDO("),
    (Announcement::Given(4), "xhr.open("),
];

/// For the first, second and third byte before the bracket: the rows of [`FUNCTIONS`], one bit each, that have a given
/// byte there.
pub(super) static BEFORE: [[u32; 256]; 3] = {
    let mut rows = [[0; 256]; 3];
    let mut row = 0;
    while row < FUNCTIONS.len() {
        let word = FUNCTIONS[row].0.as_bytes();
        let mut place = 0;
        while place < rows.len() {
            rows[place][word[word.len() - 2 - place] as usize] |= 1 << row;
            place += 1;
        }
        row += 1;
    }
    rows
};

/// The cues of [`WORDS`].
pub(super) const WORD_CUES: [&str; 31] = [
    "_key>", "OKEN", "ARER", "sswo", "NEMO", "l add", "NTIF", "arer", "gin -", "Key>", "CRET", "d wo", "ken>", "t de",
    "ntra", "ied b", "_KEY", "$ANS", "nwor", "SEED", "senh", "nemo", "hras", "\" va", "cret", "EGIN", "SSWO", "sswd",
    "pi k", "PI k", "PI K",
];
/// The cues of [`CALLS`].
pub(super) const CALL_CUES: [&str; 29] = [
    "pt_s", "AUTH", "echo", "<<< ", " set", "lt lo", "send", "obsc", "net us", "radt", "/pas", "erau", " /p:", "wpa_",
    "sswd", "tmqc", "n <<", "reSt", "epas", "ntf ", "t-pa", "jdbc", "sqll", "rman ", "pdp ", "OGIN", "onn ", "PASS",
    "sqlp",
];
