use proptest::prelude::*;

use super::*;

#[derive(Default)]
struct Heard {
    words: Vec<String>,
    stops: Vec<String>,
    names: Vec<String>,
    singles: String,
    ranges: Vec<Range<usize>>,
}

impl Listener for Heard {
    fn word(&mut self, plain: &str, stem: &str, at: Range<usize>) {
        self.words.push(if plain == stem { plain.to_owned() } else { format!("{plain}>{stem}") });
        self.ranges.push(at);
    }

    fn single(&mut self, character: &str, at: Range<usize>) {
        self.singles.push_str(character);
        self.ranges.push(at);
    }

    fn stop(&mut self, word: &str, at: Range<usize>) {
        self.stops.push(word.to_owned());
        self.ranges.push(at);
    }

    fn name(&mut self, token: &str, at: Range<usize>) {
        self.names.push(token.to_owned());
        self.ranges.push(at);
    }
}

fn hear(text: &str) -> Heard {
    let mut heard = Heard::default();
    Analyzer::default().analyze(text, &mut heard);
    heard
}

#[test]
fn words_are_lowered_stemmed_and_stopped() {
    let check = |text: &str, words: &str, stops: &str| {
        let heard = hear(text);
        assert_eq!((heard.words.join(" "), heard.stops.join(" ")), (words.to_owned(), stops.to_owned()), "{text:?}");
    };
    check("The tokens were refreshed", "tokens>token refreshed>refresh", "the were");
    check("Don't you REFRESH it?", "refresh", "don t you it");
    check("Größe ÄNDERN, Ελλάδα 2026", "größe ändern ελλάδα 2026", "");
    check("bought children's", "bought>buy children>child", "s");
    check("", "", "");
    check("... -- ///", "", "");
    check(&"x".repeat(40), &"x".repeat(40), "");
    check(&"x".repeat(41), "", "");
    check(&"é".repeat(41), "", "");
    check(&"é".repeat(40), &"é".repeat(40), "");
}

#[test]
fn names_are_kept_whole() {
    let check = |text: &str, names: &[&str]| assert_eq!(hear(text).names, names, "{text:?}");
    check("fix refresh_token in src/auth.rs:42.", &["=refresh_token", "=src/auth.rs:42", "=src/auth.rs"]);
    check("error[E0308]: mismatched types", &["=e0308"]);
    check("(tokio::sync::mpsc)", &["=tokio::sync::mpsc"]);
    check("at lib.rs:10:5: panic", &["=lib.rs:10:5", "=lib.rs"]);
    check("call getUserById() or HTTP", &["=getuserbyid"]);
    check("./src/main.rs and ~/.config/x", &["=src/main.rs", "=config/x"]);
    check("C++ and C# but not c+", &["=c++", "=c#"]);
    check("C:\\Users\\me", &["=c:\\users\\me"]);
    check("A plain sentence. Ends here; 42", &[]);
    check(&format!("a_{}", "b".repeat(200)), &[&format!("=a_{}", "b".repeat(78))]);
    check("v1.2.3 2026-03-14", &["=v1.2.3", "=2026-03-14"]);
}

#[test]
fn parts_of_identifiers_are_words_beside_the_whole() {
    let check = |text: &str, words: &str| assert_eq!(hear(text).words.join(" "), words, "{text:?}");
    check("getUserById", "getuserbyid get user id");
    check("HTTPServerError", "httpservererror http server error");
    check("refreshTokens()", "refreshtokens>refreshtoken refresh tokens>token");
    check("parseSha256Sum sha256Sum utf8", "parsesha256sum parse>pars sha256 sum sha256sum utf8");
    check("URLs APIs iPhone McX", "urls>url apis>api iphone>iphon phone mcx mc");
    check("refresh_token refresh-token x/bC", "refresh token refresh token x bc");
    check("GrößeÄndern", "größeändern größe ändern");
    assert_eq!(hear("getUserById").names, ["=getuserbyid"]);
    assert!(hear("getUserById").stops.is_empty());
}

#[test]
fn scripts_without_spaces_become_pairs() {
    let check = |text: &str, words: &str, singles: &str| {
        let heard = hear(text);
        assert_eq!((heard.words.join(" "), heard.singles), (words.to_owned(), singles.to_owned()), "{text:?}");
    };
    check("設定を変更", "設定 定を を変 変更", "設定を変更");
    check("東", "東", "");
    check("東京、日", "東京 日", "東京");
    check("Rust言語で書く", "rust 言語 語で で書 書く", "言語で書く");
    check("안녕 세계", "안녕 세계", "안녕세계");
    check("カード・x", "カー ード x", "カード");
    check(&"語".repeat(100), &["語語"; 99].join(" "), &"語".repeat(100));
    assert_eq!(hear("設定.json").names, ["=設定.json"]);
}

#[test]
fn the_cache_changes_nothing() {
    let text = "running runs ran easily happy happiness tokens token the and with refresh".repeat(3);
    let mut small = Analyzer::with_cache(1);
    let mut heard = Heard::default();
    small.analyze(&text, &mut heard);
    assert_eq!(heard.words, hear(&text).words);
}

proptest! {
    #[test]
    fn any_text_gives_ranges_inside_it(text in "\\PC{0,200}|[a-zA-Z0-9_:./ \u{0}-\u{ff}]{0,200}") {
        for at in hear(&text).ranges {
            prop_assert!(text.get(at.clone()).is_some(), "{at:?}");
        }
    }

    #[test]
    fn a_word_never_looks_like_a_name(text in "\\PC{0,100}") {
        let heard = hear(&text);
        prop_assert!(heard.words.iter().all(|word| !word.starts_with(NAME_PREFIX) && !word.contains('\n')));
        prop_assert!(heard.names.iter().all(|name| name.starts_with(NAME_PREFIX) && !name.contains('\n')));
    }
}
