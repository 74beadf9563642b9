//! Tables of the words that announce a secret, and of what each announces.

use super::fed::Argument;

/// What a word announces.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Announces {
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
pub(super) const WORDS: &[(&str, Announces)] = &[
    ("-BEGIN ", Announces::Pem),
    ("- BEGIN ", Announces::Pem),
    ("earer ", Announces::Bearer),
    ("EARER ", Announces::Bearer),
    ("assword", Announces::Named),
    ("ASSWORD", Announces::Named),
    ("assphrase", Announces::Named),
    ("asswort", Announces::Foreign),
    ("asswd", Announces::Named),
    ("pi key", Announces::Named),
    ("PI key", Announces::Named),
    ("PI Key", Announces::Named),
    ("ot de passe", Announces::Foreign),
    ("ontrase", Announces::Foreign),
    ("senha", Announces::Foreign),
    ("ennwort", Announces::Foreign),
    ("ECRET`", Announces::Cell),
    ("ecret`", Announces::Cell),
    ("_KEY`", Announces::Cell),
    ("TOKEN`", Announces::Cell),
    ("ECRET ", Announces::Set),
    ("OKEN ", Announces::Set),
    ("_KEY ", Announces::Set),
    ("IDENTIFIED BY ", Announces::Identified),
    ("identified by ", Announces::Identified),
    ("login -", Announces::Login),
    ("ecret>", Announces::Tag),
    ("oken>", Announces::Tag),
    ("Key>", Announces::Tag),
    ("_key>", Announces::Tag),
    ("\" value=\"", Announces::Attribute),
    ("s email address is ", Announces::Email),
    ("eed phrase", Announces::Phrase),
    ("ecovery phrase", Announces::Phrase),
    ("eed words", Announces::Phrase),
    ("ecret phrase", Announces::Phrase),
    ("eed_phrase", Announces::Phrase),
    ("eedPhrase", Announces::Phrase),
    ("SEED", Announces::Phrase),
    ("NEMONIC", Announces::Phrase),
    ("nemonic", Announces::Phrase),
    ("ackup phrase", Announces::Phrase),
    ("$ANSIBLE_VAULT;", Announces::Vault),
    ("kind: Secret\n", Announces::Cluster),
];

/// Literals of programs and protocols.
pub(super) const CALLS: &[(&str, Announces)] = &[
    ("ConvertTo-SecureString", Announces::Secure),
    ("put-parameter ", Announces::Program(Argument::Named)),
    ("secret set ", Announces::Program(Argument::Named)),
    ("rabbitmqctl ", Announces::Program(Argument::Managed)),
    ("wpa_passphrase ", Announces::Program(Argument::Number(1))),
    ("radtest ", Announces::Program(Argument::Number(1))),
    ("vault login ", Announces::Program(Argument::Only)),
    ("encrypt_string ", Announces::Program(Argument::Number(0))),
    ("htpasswd ", Announces::Program(Argument::Batch)),
    ("mosquitto_passwd ", Announces::Program(Argument::Batch)),
    ("net use ", Announces::Program(Argument::Share)),
    ("net user ", Announces::Program(Argument::Account)),
    ("config set ", Announces::Program(Argument::Set)),
    ("configure set ", Announces::Program(Argument::Set)),
    ("openssl passwd ", Announces::Program(Argument::Only)),
    ("requirepass ", Announces::Program(Argument::Only)),
    ("masterauth ", Announces::Program(Argument::Only)),
    ("rclone obscure ", Announces::Program(Argument::Only)),
    ("sqlplus ", Announces::Oracle),
    ("expdp ", Announces::Oracle),
    ("impdp ", Announces::Oracle),
    ("rman ", Announces::Oracle),
    ("sqlldr ", Announces::Oracle),
    ("conn ", Announces::Oracle),
    ("jdbc:oracle:", Announces::Oracle),
    (" /p:", Announces::Switch),
    ("/pass:", Announces::Switch),
    ("echo ", Announces::Written),
    ("printf ", Announces::Written),
    ("<<< ", Announces::Here),
    ("chpasswd <<", Announces::Document),
    ("-stdin <<", Announces::Document),
    ("send ", Announces::Sent),
    ("sendline(", Announces::Sent),
    ("AUTH ", Announces::Spoken(Dialect::Redis)),
    ("PASS ", Announces::Spoken(Dialect::Ftp)),
    (" LOGIN ", Announces::Spoken(Dialect::Imap)),
];

/// Literals of functions. Each ends with its opening bracket and has at least three bytes before it.
pub(super) const FUNCTIONS: &[(&str, Announces)] = &[
    ("Key(", Announces::Call),
    ("_key(", Announces::Call),
    ("ecret(", Announces::Call),
    ("oken(", Announces::Call),
    ("Pass(", Announces::Call),
    ("Pwd(", Announces::Call),
    ("Credential(", Announces::Given(1)),
    ("Credentials(", Announces::Given(1)),
    ("BasicAuth(", Announces::Given(1)),
    ("DigestAuth(", Announces::Given(1)),
    ("asic_auth(", Announces::Given(1)),
    (".auth(", Announces::Given(1)),
    ("auth=(", Announces::Given(1)),
    (".login(", Announces::Given(1)),
    ("PasswordAuthentication(", Announces::Given(1)),
    ("Credential]::new(", Announces::Given(1)),
    ("define(", Announces::Pair),
    ("set_var(", Announces::Pair),
    ("setenv(", Announces::Pair),
    ("etProperty(", Announces::Pair),
    ("EnvironmentVariable(", Announces::Pair),
    (".put(", Announces::Pair),
    (".set(", Announces::Pair),
    ("mysqli(", Announces::Given(2)),
    ("mysqli_connect(", Announces::Given(2)),
    ("mysql_connect(", Announces::Given(2)),
    ("getConnection(", Announces::Given(2)),
    ("->connect(", Announces::Given(2)),
    ("PDO(", Announces::Given(2)),
    ("xhr.open(", Announces::Given(4)),
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
