//! Secrets that must be cut wherever they are. Every value is generated from a prefix and a pattern; none is in the
//! source.

use super::*;
use crate::prefixes::{Body, KEYS, Key};

/// Pseudo-random characters of an alphabet, the same every time.
fn drawn(seed: u64, alphabet: &[u8], chars: usize) -> String {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        alphabet[usize::try_from(state % alphabet.len() as u64).unwrap()] as char
    };
    (0..chars).map(|_| next()).collect()
}

const HEX: &[u8] = b"0123456789abcdef";
const LOWER: &[u8] = b"abcdefghijklmnopqrstuvwxyz234567";
const UPPER: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// A credential of a row, with a total of that many characters.
fn example(key: &Key, total: usize) -> String {
    let chars = total.saturating_sub(key.prefix.len());
    let seed = key.prefix.bytes().fold(7, |sum: u64, byte| sum.wrapping_mul(31) + u64::from(byte));
    let body = match key.body {
        Body::Upper | Body::UpperHyphen => drawn(seed, UPPER, chars),
        Body::Lower => drawn(seed, LOWER, chars),
        Body::Hex | Body::HexHyphen => drawn(seed, HEX, chars),
        Body::Uuid => ["7acd37a8", "2745", "4b58", "a8a9", "46164b22ad9e"].join("-"),
        Body::AirTable => format!("{}.{}", drawn(seed, LETTERS, 14), drawn(seed, HEX, 64)),
        _ => drawn(seed, LETTERS, chars.saturating_sub(2)) + "a1",
    };
    format!("{}{body}", key.prefix)
}

/// Texts before and after a secret.
const PLACES: &[(&str, &str)] = &[
    ("", ""),
    ("key ", " end"),
    ("'", "'"),
    ("\"", "\""),
    ("`", "`"),
    ("VALUE=", "\n"),
    ("export VALUE=\"", "\"\n"),
    ("{\"a\": \"", "\", \"b\": 1}"),
    ("{\\\"a\\\":\\\"", "\\\"}"),
    ("a: ", "\nb: 2\n"),
    ("X-Something: ", "\r\n"),
    ("curl -H 'X-A: ", "' https://example.com"),
    ("2026-03-14 09:26:53 INFO got ", ", retrying"),
    ("let value = \"", "\";"),
    ("+    value = \"", "\",\n"),
    ("-", "\n"),
    ("first line\\n", "\\nnext line"),
    ("\u{1b}[32m", "\u{1b}[0m"),
    ("\\u001b[1;32m", "\\u001b[0m"),
    ("https://example.com/?a=1&b=", "&c=2"),
    ("a%3D", "%26b"),
    ("cat <<EOF > .env\nVALUE=", "\nEOF\n"),
    ("ä: ", ".\n"),
    ("x_", ""),
    ("(", ")"),
    ("<value>", "</value>"),
];

/// Describes what is wrong with the cut: the secret must be gone, and the text around it kept. `None` if all is well.
fn wrong(secret: &str, before: &str, after: &str) -> Option<String> {
    let text = format!("{before}{secret}{after}");
    let clean = redact(&text).into_owned();
    let tail = &secret[secret.len() - 12..];
    let begins = clean.starts_with(before.trim_end_matches("x_")) || before.contains("export");
    let right =
        !clean.contains(tail) && clean.contains(MARK) && begins && clean.ends_with(after) && redact(&clean) == clean;
    (!right).then(|| format!("{text:?}\n  became {clean:?}"))
}

fn none(wrong: Vec<String>) {
    assert!(wrong.is_empty(), "{} wrong:\n{}\n", wrong.len(), wrong[..wrong.len().min(60)].join("\n"));
}

#[test]
fn keys_of_every_family_are_cut_wherever_they_stand() {
    assert!(KEYS.len() >= 150, "{}", KEYS.len());
    let mut found = Vec::new();
    for key in KEYS {
        let secret = example(key, key.least.max(40));
        found.extend(PLACES.iter().filter_map(|(before, after)| wrong(&secret, before, after)));
        let clean = redact(&secret);
        let right = clean == format!("{MARK}{}]", key.kind);
        found.extend((!right).then(|| format!("{secret} became {clean}, not {}", key.kind)));
    }
    none(found);
}

#[test]
fn keys_are_cut_at_any_length_from_the_least_on() {
    let mut found = Vec::new();
    for key in KEYS.iter().filter(|key| !matches!(key.body, Body::Uuid | Body::AirTable)) {
        for total in [key.least, key.least + 1, key.least + 4, 108, 300] {
            let secret = example(key, total.max(key.least));
            found.extend((!redact(&secret).starts_with(MARK)).then_some(secret));
        }
        if key.least == MIN_KEY_CHARS && key.prefix.len() < 18 {
            let short = example(key, 19);
            found.extend((redact(&short) != short).then_some(short));
        }
    }
    none(found);
}

#[test]
fn no_prefix_is_there_twice() {
    for (at, key) in KEYS.iter().enumerate() {
        assert!(!KEYS[..at].iter().any(|other| other.prefix == key.prefix), "{}", key.prefix);
        assert!(key.kind.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{}", key.kind);
        assert!(key.prefix.len() >= 2 && key.prefix.as_bytes()[0].is_ascii_alphanumeric(), "{}", key.prefix);
    }
}

#[test]
fn credentials_of_a_known_form_are_cut_wherever_they_stand() {
    let hex = |chars| drawn(3, HEX, chars);
    let any = |chars| drawn(5, LETTERS, chars);
    let jwt = format!("eyJ{}.eyJ{}.{}", "hbGciOiJIUzI1NiJ9", any(40), any(43));
    let mut found = Vec::new();
    for (secret, kind) in [
        (jwt.clone(), "jwt"),
        (jwt[..60].to_owned(), "jwt"),
        (format!("eyJhbGciOi{}", any(30)), "jwt"),
        (format!("{}-us21", hex(32)), "mailchimp_key"),
        (format!("{}.atlasv1.{}", any(14), any(67)), "terraform_token"),
        (format!("MT{}.G{}.{}", any(22), any(5), any(38)), "discord_token"),
        (format!("{}8Q~{}", "aB1", any(34)), "azure_secret"),
        (format!("{}:A{}", "123456789", any(34)), "telegram_token"),
        (format!("{}_{}_mmk", any(6), any(29)), "maxmind_key"),
        (
            format!("A3-{}-{}-{}", drawn(1, UPPER, 6), drawn(2, UPPER, 11), ["ABCDE", "FGH23", "KLMNO"].join("-")),
            "onepassword_key",
        ),
        (any(40), "high_entropy"),
        (any(64), "high_entropy"),
        (format!("{}/{}+{}==", any(20), any(20), any(20)), "high_entropy"),
    ] {
        let alone = |before: &str| {
            kind != "high_entropy" || (before.ends_with(['"', '\'', '`', ' ', '=']) && !before.starts_with("https"))
        };
        let places = PLACES.iter().filter(|(before, _)| alone(before));
        found.extend(places.filter_map(|(before, after)| wrong(&secret, before, after)));
        let clean = redact(&secret);
        let right = clean == format!("{MARK}{kind}]");
        found.extend((!right).then(|| format!("{secret} became {clean}, not {kind}")));
    }
    none(found);
    check(
        &format!("access_token$production${}${}", any(16).to_lowercase(), hex(32))
            .replace("$production$", "$production$"),
        &format!("access_token$production${}$[redacted:braintree_token]", any(16).to_lowercase()),
    );
}

#[test]
fn blocks_of_keys_are_cut_whole_or_torn() {
    let body = format!("{}\n", drawn(9, LETTERS, 64)).repeat(3);
    let block = |label: &str| format!("-----BEGIN {label}-----\n{body}-----END {label}-----");
    for label in [
        "PRIVATE KEY",
        "RSA PRIVATE KEY",
        "EC PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "ENCRYPTED PRIVATE KEY",
        "PGP PRIVATE KEY BLOCK",
    ] {
        check(&format!("x\n{}\ny", block(label)), "x\n[redacted:private_key]\ny");
        let one_line = block(label).replace('\n', "\\n");
        check(&format!("{{\"private_key\": \"{one_line}\\n\"}}"), "{\"private_key\": \"[redacted:private_key]\\n\"}");
        check(&one_line.replace("\\n", "\\\\n"), "[redacted:private_key]");
    }
    check(&format!("-----BEGIN PRIVATE KEY-----\n{body}"), "[redacted:private_key]\n");
    check(&format!("-----BEGIN PRIVATE KEY-----\n{}", &body[..100]), "[redacted:private_key]");
    check(
        &format!("+-----BEGIN PRIVATE KEY-----\n{}", body.replace("\n", "\n+").trim_end_matches('+')),
        "+[redacted:private_key]\n",
    );
    check(
        &format!("> -----BEGIN RSA PRIVATE KEY-----\n> {}", body.replace('\n', "\n> ").trim_end_matches(" >\n")),
        "> [redacted:private_key]\n> ",
    );
    check("see -----BEGIN PRIVATE KEY----- in docs", "see [redacted:private_key] in docs");
    check(
        &format!(
            "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: \"x\"\n{body}---- END SSH2 ENCRYPTED PRIVATE KEY ----"
        ),
        "[redacted:private_key]",
    );
    check(
        &format!(
            "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPrivate-Lines: 3\n{body}Private-MAC: {}\n",
            drawn(2, HEX, 64)
        ),
        "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPrivate-Lines: [redacted:private_key]\nPrivate-MAC: [redacted:private_key]\n",
    );
}

/// Checks rows of input and expected text. `§` stands for 24 random letters and digits, `¶` for a chosen password of
/// eleven characters.
pub(super) fn table(rows: &[(&str, &str)]) {
    let fill = |text: &str| text.replace('§', &drawn(11, LETTERS, 24)).replace('¶', &["Tr4wl", "er-Net"].concat());
    let wrong = rows.iter().filter_map(|(input, expected)| {
        let once = redact(&fill(input)).into_owned();
        let right = once == fill(expected) && redact(&once) == once;
        (!right).then(|| format!("{:?}\n  became {once:?}\n      not {:?}", fill(input), fill(expected)))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn headers_are_cut() {
    table(&[
        ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [redacted:authorization]"),
        ("Authorization: Bearer §", "Authorization: Bearer [redacted:authorization]"),
        ("Authorization: §", "Authorization: [redacted:authorization]"),
        ("Proxy-Authorization: Basic dXNlcjpwYXNz", "Proxy-Authorization: Basic [redacted:authorization]"),
        (
            "-H \"authorization: bearer abc.def-123\" http://x",
            "-H \"authorization: bearer [redacted:authorization]\" http://x",
        ),
        ("{\"Authorization\": \"Token abcdef12\"}", "{\"Authorization\": \"Token [redacted:authorization]\"}"),
        ("headers = {'Authorization': 'Bearer §'}", "headers = {'Authorization': 'Bearer [redacted:authorization]'}"),
        (
            "headers[\"Authorization\"] = \"Bearer §\"",
            "headers[\"Authorization\"] = \"Bearer [redacted:authorization]\"",
        ),
        ("\\\"Authorization\\\":\\\"Bearer §\\\"", "\\\"Authorization\\\":\\\"Bearer [redacted:authorization]\\\""),
        ("authorization=Bearer%20x", "authorization=Bearer%20x"),
        ("use Bearer § here", "use Bearer [redacted:authorization] here"),
        ("Authorization: SSWS §", "Authorization: SSWS [redacted:authorization]"),
        ("X-Api-Key: ¶", "X-Api-Key: [redacted:secret]"),
        ("x-auth-token: §", "x-auth-token: [redacted:secret]"),
        ("X-Vault-Token: §", "X-Vault-Token: [redacted:secret]"),
        ("PRIVATE-TOKEN: §", "PRIVATE-TOKEN: [redacted:secret]"),
        ("curl -H 'X-API-KEY: §' https://x.example", "curl -H 'X-API-KEY: [redacted:secret]' https://x.example"),
        ("Cookie: sid=§; theme=dark", "Cookie: [redacted:cookie]"),
        ("Set-Cookie: sid=§; Path=/; HttpOnly\r\nX: 1", "Set-Cookie: [redacted:cookie]\r\nX: 1"),
        ("curl -H 'Cookie: session=§' https://x.example", "curl -H 'Cookie: [redacted:cookie]' https://x.example"),
        ("{\"cookie\": \"session=§; a=b\", \"b\": 1}", "{\"cookie\": \"[redacted:cookie]\", \"b\": 1}"),
        ("curl -u admin:¶ https://x.example", "curl -u admin:[redacted:password] https://x.example"),
        ("curl --user 'admin:¶' https://x.example", "curl --user 'admin:[redacted:password]' https://x.example"),
        ("JSESSIONID=§", "JSESSIONID=[redacted:secret]"),
        ("Cookie: sid=§; a=b and then it works again", "Cookie: [redacted:cookie] and then it works again"),
        (
            "sends `Cookie: sid=§`, and the rest; of it = x",
            "sends `Cookie: [redacted:cookie]`, and the rest; of it = x",
        ),
        ("Cookie: sid=§. Then, a=b", "Cookie: [redacted:cookie]. Then, a=b"),
        (
            "Set-Cookie: sid=§; Expires=Wed, 21 Oct 2026 07:28:00 GMT; Secure; HttpOnly; SameSite=Lax\n",
            "Set-Cookie: [redacted:cookie]\n",
        ),
        ("PHPSESSID=§; a", "PHPSESSID=[redacted:secret]; a"),
    ]);
}

#[test]
fn urls_are_cut() {
    table(&[
        ("postgres://app:hunter2@db:5432/x", "postgres://app:[redacted:password]@db:5432/x"),
        ("postgresql+asyncpg://app:¶@db/x", "postgresql+asyncpg://app:[redacted:password]@db/x"),
        ("mysql://root:x@localhost", "mysql://root:[redacted:password]@localhost"),
        ("mongodb+srv://app:p%40ss@c0.example.net/?w=1", "mongodb+srv://app:[redacted:password]@c0.example.net/?w=1"),
        ("redis://:p4ss!word@cache", "redis://:[redacted:password]@cache"),
        ("amqp://guest:¶@mq:5672/%2f", "amqp://guest:[redacted:password]@mq:5672/%2f"),
        ("https://me:p@ss:w0rd@example.com/", "https://me:[redacted:password]@example.com/"),
        (
            "\"url\":\"https:\\/\\/me:¶@example.com\\/x\"",
            "\"url\":\"https:\\/\\/me:[redacted:password]@example.com\\/x\"",
        ),
        ("https://§@example.com/x.git", "https://[redacted:password]@example.com/x.git"),
        (
            "https://3f785c3a9f0e4d1b8a7c6e5d4f3b2a1908070605:@api.example/v1",
            "https://[redacted:password]:@api.example/v1",
        ),
        (
            "https://3f785c3a9f0e4d1b8a7c6e5d4f3b2a1908070605@api.example/v1",
            "https://[redacted:password]@api.example/v1",
        ),
        ("https://§:x-oauth-basic@github.com/a/b", "https://[redacted:password]@github.com/a/b"),
        ("https://§:¶@github.com/a/b", "https://[redacted:password]@github.com/a/b"),
        ("https://§:$PASS@github.com/a/b", "https://[redacted:password]:$PASS@github.com/a/b"),
        ("https://x-access-token:§@github.com/a/b", "https://x-access-token:[redacted:password]@github.com/a/b"),
        ("url%3Dpostgres%3A%2F%2Fapp%3A¶%40db", "url%3Dpostgres%3A%2F%2Fapp%3A[redacted:password]%40db"),
        ("jdbc:postgresql://db/x?user=app&password=¶", "jdbc:postgresql://db/x?user=app&password=[redacted:secret]"),
        (
            "Server=db;User Id=sa;Password=¶;Encrypt=true",
            "Server=db;User Id=sa;Password=[redacted:secret];Encrypt=true",
        ),
        (
            "AccountName=x;AccountKey=§§§abcd==;EndpointSuffix=y",
            "AccountName=x;AccountKey=[redacted:secret];EndpointSuffix=y",
        ),
        ("Endpoint=sb://x/;SharedAccessKey=§=", "Endpoint=sb://x/;SharedAccessKey=[redacted:secret]"),
        ("app:¶@tcp(db:3306)/x", "app:[redacted:password]@tcp(db:3306)/x"),
        ("https://x.example/a?token=§&b=1", "https://x.example/a?token=[redacted:secret]&b=1"),
        ("https://x.example/a?b=1&api-key=abc12345&x=1", "https://x.example/a?b=1&api-key=[redacted:secret]&x=1"),
        ("https://x.example/a?sv=2024&sig=§%2B1%3D&se=x", "https://x.example/a?sv=2024&sig=[redacted:secret]&se=x"),
        (
            "https://s3.example/o?X-Amz-Signature=3f9a1c7e55aa&x=1",
            "https://s3.example/o?X-Amz-Signature=[redacted:secret]&x=1",
        ),
        ("https://x.example/cb?access_token=§", "https://x.example/cb?access_token=[redacted:secret]"),
        ("https://maps.example/api?key=§", "https://maps.example/api?key=[redacted:secret]"),
        (
            "https://hooks.slack.com/services/T01AB2CD3/B04EF5GH6/§",
            "https://hooks.slack.com/services/[redacted:webhook]",
        ),
        (
            "https://discord.com/api/webhooks/123456789012345678/§§",
            "https://discord.com/api/webhooks/[redacted:webhook]",
        ),
        ("https://api.telegram.org/bot123456789:A§/getMe", "https://api.telegram.org/bot[redacted:webhook]"),
        (
            "https://x.webhook.office.com/webhookb2/7acd37a8-2745@x/IncomingWebhook/§",
            "https://x.webhook.office.com/webhookb2/[redacted:webhook]",
        ),
    ]);
}

#[test]
fn assigned_secrets_are_cut() {
    table(&[
        ("password=correcthorse", "password=[redacted:secret]"),
        ("DB_PASSWORD='hunter2hunter2'", "DB_PASSWORD='[redacted:secret]'"),
        ("DB_PASSWORD=hunter2", "DB_PASSWORD=[redacted:secret]"),
        ("export PGPASSWORD=¶", "export PGPASSWORD=[redacted:secret]"),
        ("ENV API_KEY=¶", "ENV API_KEY=[redacted:secret]"),
        ("ENV API_KEY ¶", "ENV API_KEY [redacted:secret]"),
        ("set -x GITHUB_TOKEN §", "set -x GITHUB_TOKEN [redacted:secret]"),
        ("setx OPENAI_SECRET ¶", "setx OPENAI_SECRET [redacted:secret]"),
        ("$env:API_KEY = \"¶\"", "$env:API_KEY = \"[redacted:secret]\""),
        ("PASS_PHRASE=\"correct horse battery staple\"", "PASS_PHRASE=\"[redacted:secret]\""),
        ("passphrase: \"correct horse battery staple\"", "passphrase: \"[redacted:secret]\""),
        ("DB_PASSWORD=p@ss&w(rd,1", "DB_PASSWORD=[redacted:secret]"),
        ("\"api_key\": \"abcd1234efgh\",", "\"api_key\": \"[redacted:secret]\","),
        ("{\\\"clientSecret\\\":\\\"abcd1234\\\"}", "{\\\"clientSecret\\\":\\\"[redacted:secret]\\\"}"),
        (
            "{\\\\\\\"clientSecret\\\\\\\":\\\\\\\"abcd1234\\\\\\\"}",
            "{\\\\\\\"clientSecret\\\\\\\":\\\\\\\"[redacted:secret]\\\\\\\"}",
        ),
        ("passwd: s3cret-value ok", "passwd: [redacted:secret] ok"),
        ("aws_secret_access_key = wJalrXUtnF/K7MDENG/bPx", "aws_secret_access_key = [redacted:secret]"),
        ("\"secretAccessKey\": \"wJalrXUtnF\\/K7MDENG\\/bPx\"", "\"secretAccessKey\": \"[redacted:secret]\""),
        ("SECRET_KEY_BASE=0123456789abcdef", "SECRET_KEY_BASE=[redacted:secret]"),
        ("SECRET_KEY = 'django-insecure-¶'", "SECRET_KEY = '[redacted:secret]'"),
        ("token: 9f8e7d6c5b4a39281706abcd", "token: [redacted:secret]"),
        ("token = \"§\"", "token = \"[redacted:secret]\""),
        ("const apiKey: string = \"abc12345\";", "const apiKey: string = \"[redacted:secret]\";"),
        ("let password: &str = \"hunter22\";", "let password: &str = \"[redacted:secret]\";"),
        ("password = b\"hunter22\"", "password = b\"[redacted:secret]\""),
        ("os.environ[\"API_KEY\"] = \"¶\"", "os.environ[\"API_KEY\"] = \"[redacted:secret]\""),
        ("'password' => 'hunter22',", "'password' => '[redacted:secret]',"),
        (":password => \"hunter22\"", ":password => \"[redacted:secret]\""),
        ("password := \"hunter22\"", "password := \"[redacted:secret]\""),
        ("--password=abc12345 --user=me", "--password=[redacted:secret] --user=me"),
        ("mytool --password ¶ --user me", "mytool --password [redacted:secret] --user me"),
        ("mytool --api-key '¶'", "mytool --api-key '[redacted:secret]'"),
        ("[\"--password\", \"hunter22\"]", "[\"--password\", \"[redacted:secret]\"]"),
        ("mysql -u root -phunter2 app", "mysql -u root -p[redacted:password] app"),
        ("sshpass -p 'hunter2' ssh me@x", "sshpass -p '[redacted:password]' ssh me@x"),
        (
            "machine api.example.com login me password hunter22",
            "machine api.example.com login me password [redacted:secret]",
        ),
        ("//registry.example/:_authToken=§", "//registry.example/:_authToken=[redacted:secret]"),
        ("//registry.example/:_password=¶", "//registry.example/:_password=[redacted:secret]"),
        ("\"auths\": {\"x\": {\"auth\": \"§\"}}", "\"auths\": {\"x\": {\"auth\": \"[redacted:secret]\"}}"),
        ("client-key-data: §§", "client-key-data: [redacted:secret]"),
        ("WITH PASSWORD 'hunter22';", "WITH PASSWORD '[redacted:secret]';"),
        ("CREATE USER x IDENTIFIED BY 'hunter22';", "CREATE USER x IDENTIFIED BY '[redacted:secret]';"),
        ("<password>hunter22</password>", "<password>[redacted:secret]</password>"),
        ("<add key=\"DbPassword\" value=\"hunter22\" />", "<add key=\"DbPassword\" value=\"[redacted:secret]\" />"),
        ("my password is Hunter2!xyz, do not tell", "my password is [redacted:secret], do not tell"),
        ("the API key is §.", "the API key is [redacted:secret]."),
        ("use token § for that", "use token [redacted:secret] for that"),
        ("+  secret: \"¶\"", "+  secret: \"[redacted:secret]\""),
        ("-DB_PASSWORD=¶", "-DB_PASSWORD=[redacted:secret]"),
        ("cat > .env <<'EOF'\nDB_PASSWORD=¶\nEOF", "cat > .env <<'EOF'\nDB_PASSWORD=[redacted:secret]\nEOF"),
        ("DB_PASSWORD=\u{1b}[32m¶\u{1b}[0m", "DB_PASSWORD=\u{1b}[32m[redacted:secret]\u{1b}[0m"),
        ("echo \"DB_PASSWORD=¶\" >> .env", "echo \"DB_PASSWORD=[redacted:secret]\" >> .env"),
        ("password%3D¶%26x", "password%3D[redacted:secret]"),
        ("password: $2b$12$§", "password: [redacted:password_hash]"),
        ("APP_KEY=base64:§=", "APP_KEY=[redacted:secret]"),
        ("spring.datasource.password=hunter22", "spring.datasource.password=[redacted:secret]"),
        ("dataSource.passWord: ¶", "dataSource.passWord: [redacted:secret]"),
        ("HEROKU_API_KEY=7acd37a8-2745-4b58-a8a9-46164b22ad9e", "HEROKU_API_KEY=[redacted:secret]"),
        ("DD_API_KEY: 3f785c3a9f0e4d1b8a7c6e5d4f3b2a19", "DD_API_KEY: [redacted:secret]"),
        ("twilio auth_token=3f785c3a9f0e4d1b8a7c6e5d4f3b2a19", "twilio auth_token=[redacted:secret]"),
        ("cloudflare_api_token = \"§\"", "cloudflare_api_token = \"[redacted:secret]\""),
        ("MNEMONIC=\"apple brick cradle delta\"", "MNEMONIC=\"[redacted:secret]\""),
        ("\"password\": \"hunter22", "\"password\": \"[redacted:secret]"),
        ("api_key=abcd1234ef", "api_key=[redacted:secret]"),
    ]);
}

#[test]
fn accounts_are_cut() {
    table(&[
        ("\"accountUuid\":\"7acd37a8-2745-4b58-a8a9-46164b22ad9e\"", "\"accountUuid\":\"[redacted:account]\""),
        (
            "\"organizationUuid\": \"7acd37a8-2745-4b58-a8a9-46164b22ad9e\"",
            "\"organizationUuid\": \"[redacted:account]\"",
        ),
        ("userEmail: me@example.com", "userEmail: [redacted:account]"),
        ("The user's email address is me@example.com.", "The user's email address is [redacted:account]."),
        ("write to me@example.com", "write to me@example.com"),
        ("\"emailAddress\": \"me@example.com\"", "\"emailAddress\": \"me@example.com\""),
        (
            "{\"oauthAccount\":{\"emailAddress\":\"me@example.com\",\"n\":1}}",
            "{\"oauthAccount\":{\"emailAddress\":\"[redacted:account]\",\"n\":1}}",
        ),
        (
            "account_uuid: 7acd37a8-2745-4b58-a8a9-46164b22ad9e\nemail_address: me@example.com",
            "account_uuid: [redacted:account]\nemail_address: [redacted:account]",
        ),
        ("account_email=me@example.com", "account_email=[redacted:account]"),
    ]);
}
