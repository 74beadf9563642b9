use super::*;

#[test]
fn a_name_is_safe_whatever_it_is_made_of() {
    for (text, name) in [
        ("src/auth.rs", "src-auth.rs"),
        ("README.md", "README-md"),
        ("cargo test", "cargo test"),
        ("CON", "CON_"),
        ("nul.txt", "nul-txt_"),
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
    ] {
        assert_eq!(safe(text), name, "{text:?}");
        assert!(is_safe(&safe(text)), "{text:?}");
    }
}
