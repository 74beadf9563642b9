use super::*;

use proptest::prelude::*;

fn check(input: &str, expected: &str) {
    let once = redact(input);
    assert_eq!(once, expected, "redact({input:?})");
    assert_eq!(redact(&once), once, "again");
}

/// A key of the given total length; assembled here so that no scanner takes this file for a leak.
fn made(prefix: &str, total: usize) -> String {
    let body = "a1B2c3D4e5F6g7H8";
    prefix.chars().chain(body.chars().cycle()).take(total).collect()
}

#[test]
fn keys_of_every_family_are_cut_from_20_characters_on() {
    for key in KEYS {
        for total in [20, 21, 24, 40, 51, 108, 300] {
            let secret = match key.prefix {
                "AKIA" | "ASIA" => made(key.prefix, total).to_uppercase(),
                prefix => made(prefix, total),
            };
            for (before, after) in [("", ""), ("key ", " end"), ("=\"", "\""), ("ä: ", ".\n"), ("x_", "")] {
                let clean = redact(&format!("{before}{secret}{after}")).into_owned();
                assert!(!clean.contains(&secret[key.prefix.len()..]), "{secret} in {clean}");
                assert!(clean.contains("[redacted:"), "{clean}");
                assert!(clean.starts_with(before), "{clean}");
            }
        }
        let short = made(key.prefix, 19);
        check(&short, &short);
    }
}

#[test]
fn what_only_looks_like_a_secret_stays() {
    for clean in [
        "",
        "plain prose about a refresh token: how it is renewed, and why",
        "commit 3f785c3a9f0e4d1b8a7c6e5d4f3b2a1908070605",
        "7acd37a8-2745-4b58-a8a9-46164b22ad9e",
        "task-list-of-all-things-we-do and risk-assessment-for-everything-else",
        "class sk-learn-based-classifier in a sheet",
        "/home/user/.password-store/work/mail.gpg",
        "src/auth/token.rs:120: fn refresh_token(&self) -> Token",
        "let token = generate_token(user_id);",
        "password: string; passwordConfirmation: string",
        "const password = process.env.PASSWORD_1;",
        "token_count: 12345678, max_tokens=100000000",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        "https://example.com:8080/a@b and git@github.com:owner/repo.git",
        "Authorization: Bearer $TOKEN",
        "npm_config_registry_something_long npm_package_version",
        "hf_hub_download_with_a_long_name",
        "\"password\": \"Enter your password\"",
        "<privateer> is a ship, </private> closes nothing",
        "password=********  api_key=your-api-key-here secret: ${SECRET_VALUE_1}",
        "if password == other_password1 { }",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    ] {
        check(clean, clean);
        assert!(matches!(redact(clean), Cow::Borrowed(_)), "{clean}");
    }
}

#[test]
fn private_passages_are_cut_before_everything_else() {
    check("a <private>b</private> c", "a [redacted:private] c");
    check("a <PRIVATE>b\nc</Private> d", "a [redacted:private] d");
    check("a <private>b never closed", "a [redacted:private]");
    check("<private>a<private>b</private>c</private>d", "[redacted:private]d");
    check("<private>a</private>b<private>c</private>", "[redacted:private]b[redacted:private]");
    check("<private reason=\"x\">a</private >b", "[redacted:private]b");
    check("pass<private>x</private>word=abcdefgh1", "pass[redacted:private]word=abcdefgh1");
    check("<private>password=abcdefgh1", "[redacted:private]");
    check("é<private>ü", "é[redacted:private]");
}

#[test]
fn secrets_between_marks_are_cut() {
    let body = "MIIEpAIBAAKCAQEA7\n".repeat(3);
    let block = |label: &str| format!("-----BEGIN {label}-----\n{body}-----END {label}-----");
    for label in ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"] {
        check(&format!("x\n{}\ny", block(label)), "x\n[redacted:private_key]\ny");
    }
    check(&format!("-----BEGIN PRIVATE KEY-----\n{body}"), "[redacted:private_key]\n");
    check("see -----BEGIN PRIVATE KEY----- in docs", "see [redacted:private_key] in docs");
    let jwt = format!("eyJ{0}.eyJ{0}.{0}", "hbGciOiJIUzI1NiJ9");
    check(&format!("cookie={jwt}; path=/"), "cookie=[redacted:jwt]; path=/");
    check("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [redacted:authorization]");
    check(
        "-H \"authorization: bearer abc.def-123\" http://x",
        "-H \"authorization: bearer [redacted:authorization]\" http://x",
    );
    check("{\"Authorization\": \"Token abcdef12\"}", "{\"Authorization\": \"Token [redacted:authorization]\"}");
    check("postgres://app:hunter2@db:5432/x", "postgres://app:[redacted:password]@db:5432/x");
    check("redis://:p4ss!word@cache", "redis://:[redacted:password]@cache");
    check("postgres://app:$PASS@db", "postgres://app:$PASS@db");
}

#[test]
fn assigned_secrets_are_cut() {
    for (input, expected) in [
        ("password=correcthorse", "password=[redacted:secret]"),
        ("DB_PASSWORD='hunter2hunter2'", "DB_PASSWORD='[redacted:secret]'"),
        ("\"api_key\": \"abcd1234efgh\",", "\"api_key\": \"[redacted:secret]\","),
        ("{\\\"clientSecret\\\":\\\"abcd1234\\\"}", "{\\\"clientSecret\\\":\\\"[redacted:secret]\\\"}"),
        ("passwd: s3cret-value ok", "passwd: [redacted:secret] ok"),
        ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPx", "aws_secret_access_key = [redacted:secret]"),
        ("SECRET_KEY_BASE=0123456789abcdef", "SECRET_KEY_BASE=[redacted:secret]"),
        ("token: 9f8e7d6c5b4a39281706abcd", "token: [redacted:secret]"),
        ("--password=abc12345 --user=me", "--password=[redacted:secret] --user=me"),
        ("?api-key=abc12345&x=1", "?api-key=[redacted:secret]&x=1"),
    ] {
        check(input, expected);
    }
}

#[test]
fn hostile_repetition_is_still_linear() {
    // Each of these once took, or would take, quadratic time; a second is far above the linear cost.
    for piece in
        ["sk-ab-cd-", "SG.a", "eyJ-", "password=", "-----BEGIN PRIVATE KEY-----", "<private", "://a:", "bearer a"]
    {
        let text = piece.repeat(1_000_000 / piece.len());
        let clean = redact(&text);
        assert!(clean.len() <= text.len() * 2);
    }
}

/// Pieces that meet in unlucky ways.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("sk-".to_owned()),
        Just("sk-ant-api03-aaaaBBBB1111".to_owned()),
        Just(made("AKIA", 20).to_uppercase()),
        Just(made("ghp_", 30)),
        Just("eyJab1.eyJcd2.efgh3456789".to_owned()),
        Just("<private>".to_owned()),
        Just("</private>".to_owned()),
        Just("password".to_owned()),
        Just("token=".to_owned()),
        Just("=".to_owned()),
        Just(": \"".to_owned()),
        Just("://u:".to_owned()),
        Just("@".to_owned()),
        Just("Authorization: Bearer ".to_owned()),
        Just("-----BEGIN PRIVATE KEY-----".to_owned()),
        Just("-----END PRIVATE KEY-----".to_owned()),
        Just("\n".to_owned()),
        Just("[redacted:".to_owned()),
        Just("é".to_owned()),
        "[a-z0-9_./ -]{0,12}",
        "[A-Za-z0-9+/=]{0,40}",
    ];
    proptest::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn redacting_twice_is_redacting_once(text in pieces()) {
        let once = redact(&text).into_owned();
        prop_assert_eq!(redact(&once).into_owned(), once);
    }

    #[test]
    fn any_text_is_taken(text in any::<String>()) {
        let once = redact(&text).into_owned();
        prop_assert_eq!(redact(&once).into_owned(), once);
    }
}
