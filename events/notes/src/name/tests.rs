use proptest::prelude::*;

use super::*;

#[test]
fn a_name_is_safe_whatever_it_is_made_of() {
    for (text, name) in [
        ("src/auth.rs", "src-auth.rs"),
        ("README.md", "README-md"),
        ("cargo test", "cargo test"),
        ("CON", "CON_"),
        ("nul.txt", "nul-txt_"),
        ("Lpt1 .x", "Lpt1 -x_"),
        ("a [[b]] | c # d ^e", "a-b-c-d-e"),
        ("trailing. . ", "trailing"),
        (" .hidden", "hidden"),
        ("", "unnamed"),
        ("///", "unnamed"),
        ("e\u{301}te\u{301}", "été"),
        ("line\nbreak\u{0}", "line-break"),
        ("日本語", "日本語"),
        ("C:\\Users\\x", "C-Users-x"),
        ("<!-- baton:x -->", "baton-x"),
        ("password=hunter2hunter2", "password=-redacted-secret"),
    ] {
        assert_eq!(safe_file_name(text), name, "{text:?}");
        assert!(is_safe(&safe_file_name(text)), "{text:?}");
    }
    assert_eq!(safe_file_name(&"\u{301}".repeat(100)), "unnamed");
    assert_eq!(safe_file_name(&"é".repeat(100)), "é".repeat(MAX_BYTES / 2));
    for bad in ["", "a/b", "a\\b", "con", "AUX.md", "a.", "a ", " a", ".a", "a:b", "a\u{7}", "a[b", "a#b", "a|b", "a^b"]
    {
        assert!(!is_safe(bad), "{bad:?}");
    }
}

#[test]
fn a_topic_is_words_with_dashes() {
    for (title, expected) in [
        ("Refresh tokens: expire too early!", "refresh-tokens-expire-too-early"),
        ("…", ""),
        ("Überprüfe die Größe", "überprüfe-die-größe"),
        ("api_key=sk-abc", "api-key-sk-abc"),
        (
            "one two three four five six seven eight nine ten eleven twelve thirteen",
            "one-two-three-four-five-six-seven-eight-nine-ten-eleven",
        ),
    ] {
        assert_eq!(topic(title), expected, "{title:?}");
    }
    assert_eq!(topic(&"x".repeat(200)).len(), MAX_TOPIC_BYTES);
}

#[test]
fn names_that_are_one_file_somewhere_have_one_key() {
    for (one, other) in [
        ("Auth", "auth"),
        ("été", "e\u{301}te\u{301}"),
        ("Ａ", "ａ"),
        ("name.", "name"),
        ("한", "\u{1112}\u{1161}\u{11ab}"),
        ("が", "か\u{3099}"),
        ("й", "и\u{306}"),
        ("ế", "e\u{302}\u{301}"),
    ] {
        assert_eq!(key(one), key(other), "{one} {other}");
    }
    for (one, other) in [("auth", "auth2"), ("日", "月"), ("한", "할"), ("a-b", "a b"), ("straße", "strase")] {
        assert_ne!(key(one), key(other), "{one} {other}");
    }
}

#[test]
fn a_taken_name_gets_a_suffix() {
    let taken = ["auth", "auth-2"];
    assert_eq!(free_name("Auth", |key| taken.contains(&key)), "Auth-3");
    assert_eq!(free_name("other", |key| taken.contains(&key)), "other");
    assert!(free_name("auth", |_| true).starts_with("auth-"), "there is always one");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_makes_a_safe_name(text in any::<String>()) {
        let name = safe_file_name(&text);
        prop_assert!(is_safe(&name), "{name:?}");
        let file = format!("{name}-999.md");
        prop_assert!(is_safe(&file) && file.len() <= MAX_BYTES + 10, "{file:?}");
        prop_assert_eq!(key(&name.to_uppercase()), key(&name.to_uppercase().to_lowercase()));
        let topic = topic(&text);
        let dated = format!("2026-03-14-{topic}");
        prop_assert!(topic.len() <= MAX_TOPIC_BYTES && is_safe(&dated), "{topic:?}");
    }
}
