use super::*;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

mod bounds;
mod commands;
mod cuts;
mod kinds;
mod repeated;
mod settings;
mod stays;

fn check(input: &str, expected: &str) {
    let once = redact(input);
    assert_eq!(once, expected, "redact({input:?})");
    assert_eq!(redact(&once), once, "again");
}

/// A key of the given total length, generated so that no scanner takes this file for a leak.
fn made(prefix: &str, total: usize) -> String {
    let body = "a1B2c3D4e5F6g7H8";
    prefix.chars().chain(body.chars().cycle()).take(total).collect()
}

/// Everything that the rule tables search for: words, programs with their options, names in other languages.
fn words_of_tables() -> Vec<String> {
    let announced = [announcement::WORDS, announcement::CALLS, announcement::FUNCTIONS].concat();
    let mut words: Vec<String> = announced.into_iter().map(|(word, _)| word.to_owned()).collect();
    words.extend(language::NAMES.iter().map(|name| format!("{name}: ")));
    for (options, programs) in command::TABLE {
        let option = |(at, program): (usize, &&str)| format!("{program} -{}", options[at % options.len()].0);
        words.extend(programs.iter().enumerate().map(option));
        words.extend(options.iter().map(|(option, _)| format!("{} -{option} ", programs[0])));
    }
    words.extend(["user", "from-literal"].map(|option| format!("smbclient --{option}")));
    words
}

#[test]
fn a_value_may_end_before_a_wide_character() {
    check("Password:\n``AKIAA1B2C3D4E5F6G7H8ü", "Password:\n``[redacted:aws_key]");
}

#[test]
fn no_cut_parts_a_mark() {
    for text in [
        "sshpass -proot:$6$Kx9Tq4Rv$qT7xB2mK9pV4nL6wR8sY3cF5hJ1dG0zA7uE4iO2kqT7xB2mK9pV4nL6wR8sY3cF5hJ1dG0zA7uE4iO2k:1",
        "chpasswd <<EOF\ndeploy:kW8xyzq7Lm2p\nEOFAKIAA1B2C3D4E5F6G7H8UID=app;PWD={kW8xyzq7Lm2p};",
        "RUN printf 'dev:0a==AaaAa=0+aAackup phraseecho deploy:kW8xyzq7Lm2p | chpasswd",
        "echo -e \"kW8xs admin:$apr1$Kx9Tq4Rv$22Zs1Wm3Yp6Lc8Dn5Fg0Hj echo -n 'kW8xyzq7Lm2p' | cryptsetup luksOpen x -",
    ] {
        let clean = redact(text);
        let mut marks = clean.split(MARK);
        assert!(marks.next().is_some_and(|before| !before.contains("redacted")), "{clean}");
        assert!(marks.all(|mark| mark.find(']') < mark.find('[').or(Some(mark.len()))), "{clean}");
        assert_eq!(redact(&clean), clean, "{text}");
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
    // A closing mark without an opening one.
    check("a\nb</private> c", "[redacted:private] c");
    check("a <private>b</private> c </private> d", "[redacted:private] d");
    check("a </private> b <private>c</private> d", "[redacted:private] b [redacted:private] d");
    check(r"a <\/private> b", "[redacted:private] b");
    // As JSON and HTML write it.
    check(r"a \u003cprivate\u003eb\u003c/private\u003e c", "a [redacted:private] c");
    check(r"a \u003cprivate\u003eb<\/private> c", "a [redacted:private] c");
    check(r#"{"a":"<private>b\nc<\/private> d"}"#, r#"{"a":"[redacted:private] d"}"#);
    check("a &lt;private&gt;b&lt;/private&gt; c", "a [redacted:private] c");
    // A secret that starts before a mark does not hide it.
    check(
        "-----BEGIN PRIVATE KEY-----\n<private>a\n-----END PRIVATE KEY-----\nb</private>",
        "[redacted:private_key]\n[redacted:private]",
    );
}

#[test]
fn what_is_no_tag_of_privacy_stays() {
    for clean in
        ["<privateer> is a ship, </privateer> is none", "List<private_int> and &lt;privates&gt;", "private <b>"]
    {
        check(clean, clean);
    }
}

/// Pieces of text that combine badly.
fn pieces() -> impl Strategy<Value = String> {
    let literal = prop::sample::select(vec![
        "sk-",
        "sk-ant-api03-aaaaBBBB1111",
        "eyJab1.eyJcd2.efgh3456789",
        "<private>",
        "</private>",
        "password",
        "token=",
        "key",
        "=",
        ": \"",
        "\"",
        "\\\"",
        "\\n",
        "://u:",
        "@",
        "Authorization: Bearer ",
        "Cookie: a=",
        "--secret ",
        "API_KEY ",
        "is ",
        "%3D",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "\n",
        "[redacted:",
        "[redacted:secret]",
        "é",
        "密码：",
        "пароль: ",
        "用 curl 来调用接口，",
        "\u{200b}",
        "😀",
        "\u{1b}[32m",
        "Private-Lines: 2\n",
        "<password>",
        "</password>",
        "SG.",
        "ghp_",
        "https://hooks.slack.com/services/",
        "-u a:",
        "_",
        "-",
    ]);
    let texts = kinds::texts();
    let piece = prop_oneof![
        4 => prop::sample::select(words_of_tables()),
        4 => prop::sample::select(texts.clone()),
        1 => (prop::sample::select(texts.clone()), 2..60_usize).prop_map(|(text, times)| text.repeat(times)),
        2 => (prop::sample::select(texts), 0..100_usize).prop_map(|(text, percent)| {
            let end = alphabet::floor(text.as_bytes(), text.len() * percent / 100);
            text[..end].to_owned()
        }),
        4 => literal.prop_map(str::to_owned),
        1 => Just(made("AKIA", 20).to_uppercase()),
        1 => Just(made("ghp_", 30)),
        1 => Just(made("", 40)),
        2 => "[a-z0-9_./ -]{0,12}",
        2 => "[A-Za-z0-9+/=]{0,40}",
        1 => "[äöüßéñ语密码пароль😀👩‍💻]{0,40}",
        1 => ("[äü语п😀]", 100..600_usize).prop_map(|(character, bytes)| character.repeat(bytes / character.len())),
    ];
    proptest::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1_500,
        failure_persistence: None,
        // Fixed seed. A failure found with another seed becomes a row of a table.
        rng_seed: RngSeed::Fixed(21),
        ..ProptestConfig::default()
    })]

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

    #[test]
    fn what_is_outside_a_cut_stays_to_the_byte(text in pieces()) {
        let clean = redact(&text).into_owned();
        let mut rest = text.as_str();
        let parts: Vec<&str> = clean.split(MARK).collect();
        prop_assert!(rest.starts_with(parts[0]));
        for part in parts {
            let kept = part.split_once(']').map_or(part, |(_, after)| after);
            let found = rest.find(kept);
            prop_assert!(found.is_some(), "{kept:?} of {clean:?} is not in {rest:?}");
            rest = &rest[found.unwrap_or(0) + kept.len()..];
        }
    }
}
