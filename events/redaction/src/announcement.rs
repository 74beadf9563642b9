//! Tables of the words that announce a secret, and of what each announces.

use super::program_input::Argument;

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
pub(super) const WORDS: &[(&str, Announcement)] = &[
    ("-BEGIN ", Announcement::Pem),
    ("- BEGIN ", Announcement::Pem),
    ("earer ", Announcement::Bearer),
    ("EARER ", Announcement::Bearer),
    ("assword", Announcement::Named),
    ("ASSWORD", Announcement::Named),
    ("assphrase", Announcement::Named),
    ("asswort", Announcement::Foreign),
    ("asswd", Announcement::Named),
    ("pi key", Announcement::Named),
    ("PI key", Announcement::Named),
    ("PI Key", Announcement::Named),
    ("ot de passe", Announcement::Foreign),
    ("ontrase", Announcement::Foreign),
    ("senha", Announcement::Foreign),
    ("ennwort", Announcement::Foreign),
    ("ECRET`", Announcement::Cell),
    ("ecret`", Announcement::Cell),
    ("_KEY`", Announcement::Cell),
    ("TOKEN`", Announcement::Cell),
    ("ECRET ", Announcement::Set),
    ("OKEN ", Announcement::Set),
    ("_KEY ", Announcement::Set),
    ("IDENTIFIED BY ", Announcement::Identified),
    ("identified by ", Announcement::Identified),
    ("login -", Announcement::Login),
    ("ecret>", Announcement::Tag),
    ("oken>", Announcement::Tag),
    ("Key>", Announcement::Tag),
    ("_key>", Announcement::Tag),
    ("\" value=\"", Announcement::Attribute),
    ("s email address is ", Announcement::Email),
    ("eed phrase", Announcement::Phrase),
    ("ecovery phrase", Announcement::Phrase),
    ("eed words", Announcement::Phrase),
    ("ecret phrase", Announcement::Phrase),
    ("eed_phrase", Announcement::Phrase),
    ("eedPhrase", Announcement::Phrase),
    ("SEED", Announcement::Phrase),
    ("NEMONIC", Announcement::Phrase),
    ("nemonic", Announcement::Phrase),
    ("ackup phrase", Announcement::Phrase),
    ("$ANSIBLE_VAULT;", Announcement::Vault),
    ("kind: Secret\n", Announcement::Cluster),
];

/// Literals of programs and protocols.
pub(super) const CALLS: &[(&str, Announcement)] = &[
    ("ConvertTo-SecureString", Announcement::Secure),
    ("put-parameter ", Announcement::Program(Argument::Named)),
    ("secret set ", Announcement::Program(Argument::Named)),
    ("rabbitmqctl ", Announcement::Program(Argument::Managed)),
    ("wpa_passphrase ", Announcement::Program(Argument::Number(1))),
    ("radtest ", Announcement::Program(Argument::Number(1))),
    ("vault login ", Announcement::Program(Argument::Only)),
    ("encrypt_string ", Announcement::Program(Argument::Number(0))),
    ("htpasswd ", Announcement::Program(Argument::Batch)),
    ("mosquitto_passwd ", Announcement::Program(Argument::Batch)),
    ("net use ", Announcement::Program(Argument::Share)),
    ("net user ", Announcement::Program(Argument::Account)),
    ("config set ", Announcement::Program(Argument::Set)),
    ("configure set ", Announcement::Program(Argument::Set)),
    ("openssl passwd ", Announcement::Program(Argument::Only)),
    ("requirepass ", Announcement::Program(Argument::Only)),
    ("masterauth ", Announcement::Program(Argument::Only)),
    ("rclone obscure ", Announcement::Program(Argument::Only)),
    ("sqlplus ", Announcement::Oracle),
    ("expdp ", Announcement::Oracle),
    ("impdp ", Announcement::Oracle),
    ("rman ", Announcement::Oracle),
    ("sqlldr ", Announcement::Oracle),
    ("conn ", Announcement::Oracle),
    ("jdbc:oracle:", Announcement::Oracle),
    (" /p:", Announcement::Switch),
    ("/pass:", Announcement::Switch),
    ("echo ", Announcement::Written),
    ("printf ", Announcement::Written),
    ("<<< ", Announcement::Here),
    ("chpasswd <<", Announcement::Document),
    ("-stdin <<", Announcement::Document),
    ("send ", Announcement::Sent),
    ("sendline(", Announcement::Sent),
    ("AUTH ", Announcement::Spoken(Dialect::Redis)),
    ("PASS ", Announcement::Spoken(Dialect::Ftp)),
    (" LOGIN ", Announcement::Spoken(Dialect::Imap)),
];

/// Literals of functions. Each ends with its opening bracket and has at least three bytes before it.
pub(super) const FUNCTIONS: &[(&str, Announcement)] = &[
    ("Key(", Announcement::Call),
    ("_key(", Announcement::Call),
    ("ecret(", Announcement::Call),
    ("oken(", Announcement::Call),
    ("Pass(", Announcement::Call),
    ("Pwd(", Announcement::Call),
    ("Credential(", Announcement::Given(1)),
    ("Credentials(", Announcement::Given(1)),
    ("BasicAuth(", Announcement::Given(1)),
    ("DigestAuth(", Announcement::Given(1)),
    ("asic_auth(", Announcement::Given(1)),
    (".auth(", Announcement::Given(1)),
    ("auth=(", Announcement::Given(1)),
    (".login(", Announcement::Given(1)),
    ("PasswordAuthentication(", Announcement::Given(1)),
    ("Credential]::new(", Announcement::Given(1)),
    ("define(", Announcement::Pair),
    ("set_var(", Announcement::Pair),
    ("setenv(", Announcement::Pair),
    ("etProperty(", Announcement::Pair),
    ("EnvironmentVariable(", Announcement::Pair),
    (".put(", Announcement::Pair),
    (".set(", Announcement::Pair),
    ("mysqli(", Announcement::Given(2)),
    ("mysqli_connect(", Announcement::Given(2)),
    ("mysql_connect(", Announcement::Given(2)),
    ("getConnection(", Announcement::Given(2)),
    ("->connect(", Announcement::Given(2)),
    ("PDO(", Announcement::Given(2)),
    ("xhr.open(", Announcement::Given(4)),
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
