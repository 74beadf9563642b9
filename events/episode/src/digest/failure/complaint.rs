//! What the telling line of a failure says by its form: that a program crashed, or which test failed.

use super::super::evidence::without_numbers;

/// Returns true if a complaint names an exception: the program did not even begin to work.
pub(super) fn is_crash(complaint: &str) -> bool {
    let (name, _) = complaint.split_once(": ").unwrap_or((complaint, ""));
    let is_exception = ["Error", "Exception"].iter().any(|end| name.ends_with(end)) && !name.contains(' ');
    is_exception || complaint.contains(" panicked at ")
}

/// Returns true if a run with this complaint may not have come to the test that failed before.
pub(super) fn may_hide(now: &str, before: &str) -> bool {
    test(before).is_some() && test(now).is_none()
}

/// Returns true if a complaint that hides nothing shows that the one before it is gone: it is of the same test or a later
/// one, or nothing could run before.
pub(super) fn gives_way(before: &str, now: &str) -> bool {
    match (test(before), test(now)) {
        (Some(before), Some(now)) if before == now => true,
        // Cargo reports failed tests sorted by name; ExUnit, whose names have several words, in any order.
        (Some(before), Some(now)) if now.starts_with("test ") => before <= now && now.split(' ').count() == 2,
        _ => true,
    }
}

/// Returns true if two complaints are the same but for numbers, or report the same rule of a linter or compiler in the same
/// file: `a.ts:7:2 lint/style/useConst …`, `a.ts(7,2): error TS2739: …`.
pub(in crate::digest) fn is_alike(one: &str, other: &str) -> bool {
    without_numbers(one) == without_numbers(other) || finding(one).is_some_and(|found| finding(other) == Some(found))
}

/// Returns the file and the rule with which a complaint begins.
fn finding(complaint: &str) -> Option<(&str, &str)> {
    let mut words = complaint.split(' ').filter(|word| !matches!(*word, "at" | "error" | "warning"));
    let file = words.next()?.split([':', '(']).next().filter(|file| file.contains('.'))?;
    let is_rule =
        |word: &str| word.starts_with(char::is_alphabetic) && word.contains(|c: char| c == '/' || c.is_ascii_digit());
    let rule = words.next().map(|word| word.trim_end_matches(':')).filter(|word| is_rule(word))?;
    Some((file, rule))
}

/// Returns the file or module of the test that a complaint names.
pub(super) fn suite(complaint: &str) -> Option<&str> {
    let test = test(complaint)?;
    // `test it winds ropes (Shop.WinchTest)`, `winch > winds ropes`, `TestWinch.test_ropes`, `test winch::ropes`
    let module = test.strip_suffix(')').and_then(|test| test.rsplit_once('(')).map(|(_, module)| module);
    module.or_else(|| {
        let separators = [" > ", " › ", "::", "."].into_iter();
        separators.filter_map(|separator| test.split_once(separator)).map(|(suite, _)| suite).next()
    })
}

/// Returns the test that a complaint names.
fn test(complaint: &str) -> Option<&str> {
    let (subject, _) = complaint.split_once(": ")?;
    let names = subject.contains("test") || subject.contains("Test") || subject.contains('›');
    (subject.starts_with("test ") || names && !subject.contains('/')).then_some(subject)
}

/// Returns true for a complaint of the agent's file tools about their arguments: nothing of the work failed.
pub(super) fn is_slip(complaint: &str) -> bool {
    static SLIPS: baton_words::WordList = baton_words::WordList::new(crate::WORDS, "slips");
    SLIPS.iter().any(|words| complaint.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_test_or_the_same_one_shows_that_a_failure_is_gone() {
        for (before, now, is_gone) in [
            ("error: no rope", "error: no drum", true),
            ("error: no rope", "Winch > winds: no drum", true),
            ("Winch > winds: no rope", "Winch > winds: no drum", true),
            ("test winch::winds: no rope", "test winch::wraps: no drum", true),
            ("test winch::winds: no rope", "test winch::ends: no drum", false),
            ("test it winds a/b (Shop.WinchTest): no rope", "test it wraps (Shop.WinchTest): no drum", false),
        ] {
            assert!(!may_hide(now, before), "{now}");
            assert_eq!(gives_way(before, now), is_gone, "{before} -> {now}");
        }
        assert!(may_hide("error: no drum", "Winch > winds test: no rope"), "what does not compile runs no test");
    }

    #[test]
    fn the_same_rule_in_the_same_file_is_the_same_failure() {
        for (one, other, same) in [
            (
                "at a.tsx:60:2 lint/x/useDeps ! More than necessary: logs.",
                "at a.tsx:61:2 lint/x/useDeps ! logCount.",
                true,
            ),
            ("a.ts(1,4): error TS2739: no rope", "a.ts(9,1): error TS2739: no drum", true),
            ("a.ts(1,4): error TS2739: no rope", "a.ts(1,4): error TS2740: no drum", false),
            ("a.ts(1,4): error TS2739: no rope", "b.ts(1,4): error TS2739: no rope", false),
            ("a.py:3:1: F401 `os` unused", "a.py:7:1: F401 `re` unused", true),
            ("winch turned 3 times", "winch turned 4 times", true),
            ("winch.rs: no rope", "winch.rs: no drum", false),
        ] {
            assert_eq!(is_alike(one, other), same, "{one} / {other}");
        }
    }

    #[test]
    fn a_test_names_its_file_or_module() {
        let check = |complaint: &str, name: Option<&str>| assert_eq!(suite(complaint), name, "{complaint}");
        check("test it winds (Shop.WinchTest): no rope", Some("Shop.WinchTest"));
        check("winch test > winds: no rope", Some("winch test"));
        check("TestWinch.test_winds: no rope", Some("TestWinch"));
        check("test winch::winds: no rope", Some("test winch"));
        check("error: no rope", None);
    }
}
