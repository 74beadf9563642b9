//! Credentials of every kind, generated while the test runs: one for each row of the table, and one of each form that
//! has no row.

/// A made-up credential.
pub(super) struct Secret {
    /// The text around it and the secret, as it leaks.
    pub(super) text: String,
    /// The part that must not be found.
    pub(super) core: String,
    /// True if it is recognised by itself, wherever it occurs: in a path, in the name of a branch.
    pub(super) anywhere: bool,
}

const TABLE: &str = include_str!("../../../events/redaction/src/prefixes.rs");
const HEX: &[u8] = b"0123456789abcdef";
const LOWER: &[u8] = b"abcdefghijklmnopqrstuvwxyz234567";
const UPPER: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// Pseudo-random characters, the same in each run.
fn drawn(seed: usize, alphabet: &[u8], chars: usize) -> String {
    let mut state = (seed as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        alphabet[usize::try_from(state % alphabet.len() as u64).unwrap()] as char
    };
    (0..chars).map(|_| next()).collect()
}

/// One of every kind.
pub(super) fn all() -> Vec<Secret> {
    let rows = TABLE.lines().map(str::trim).filter(|row| row.starts_with("family(\"") || row.starts_with("long(\""));
    let keys = rows.flat_map(|row| row.rsplit('"').nth(1).unwrap().split(' ').map(move |prefix| (row, prefix)));
    let mut all: Vec<Secret> = keys.enumerate().map(|(at, (row, prefix))| of_row(at, row, prefix)).collect();
    assert!(all.len() >= 200, "the table is read: {} rows", all.len());
    all.extend(forms());
    all
}

/// `family("kind", Body::Name, "prefix prefix"),` or `long("kind", Body::Name, 40, "prefix"),`.
fn of_row(seed: usize, row: &str, prefix: &str) -> Secret {
    let mut rest = row.split("Body::").nth(1).unwrap().split(", ");
    let body = rest.next().unwrap();
    let least = rest.next().filter(|least| !least.starts_with('"')).unwrap_or("20");
    let chars = least.parse::<usize>().unwrap().max(44) - prefix.len().min(20);
    let core = match body {
        "Upper" | "UpperHyphen" => drawn(seed, UPPER, chars),
        "Lower" => drawn(seed, LOWER, chars),
        "Hex" | "HexHyphen" => drawn(seed, HEX, chars),
        "Uuid" => {
            let part = |at: usize, chars| drawn(seed * 8 + at, HEX, chars);
            [part(1, 8), part(2, 4), part(3, 4), part(4, 4), part(5, 12)].join("-")
        }
        "AirTable" => format!("{}.{}", drawn(seed, LETTERS, 14), drawn(seed, HEX, 64)),
        _ => drawn(seed, LETTERS, chars) + "a1",
    };
    Secret { text: format!("{prefix}{core}"), core, anywhere: true }
}

/// `§` stands for the part that must not be found.
fn forms() -> impl Iterator<Item = Secret> {
    let forms = [
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.§", 43),
        ("postgres://app:§@db.example:5432/x", 20),
        ("mongodb+srv://app:§@c0.example.net/?w=1", 20),
        ("redis://:§@cache", 20),
        ("https://me:§@git.example/x.git", 20),
        ("app:§@tcp(db:3306)/x", 20),
        ("Server=db;User Id=sa;Password=§;Encrypt=true", 20),
        ("AccountName=x;AccountKey=§==;EndpointSuffix=y", 86),
        ("https://x.example/a?token=§&b=1", 24),
        ("https://x.example/a?sv=2024&sig=§&se=x", 43),
        ("https://hooks.slack.com/services/T01AB2CD3/B04EF5GH6/§", 24),
        ("https://discord.com/api/webhooks/123456789012345678/§", 68),
        ("Authorization: Bearer §", 40),
        ("Authorization: Basic §", 24),
        ("Cookie: sid=§; theme=dark", 32),
        ("X-Api-Key: §", 24),
        ("curl -u admin:§ https://x.example", 16),
        ("DB_PASSWORD=§", 16),
        ("export AWS_SECRET_ACCESS_KEY=§", 40),
        ("\"client_secret\": \"§\"", 24),
        ("clientSecret: §", 24),
        ("const apiKey = \"§\";", 24),
        ("mytool --password § --user me", 16),
        ("mysql -u root -p§ app", 16),
        ("machine api.example.com login me password §", 16),
        ("//registry.example/:_authToken=§", 36),
        ("<password>§</password>", 16),
        ("-----BEGIN PRIVATE KEY-----\\n§\\n-----END PRIVATE KEY-----", 64),
        ("client-key-data: §", 120),
        ("the API key is §", 32),
        ("\"§\"", 48),
        ("<private>what §\nsaid</private>", 16),
    ];
    forms.into_iter().zip(10_000..).map(|((form, chars), seed)| {
        let core = format!("{}a1", drawn(seed, LETTERS, chars - 2));
        Secret { text: form.replace('§', &core), core, anywhere: false }
    })
}
