//! The answer for a line that many failures share: `npm ERR! code 1`.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::likeness::Likeness;
use super::{SHORT_CHARS, Witness};
use baton_episode::digest::one_line;
use baton_events::schema::outcomes::FailureHistory;

/// Maximum number of commands whose last failure is told.
const MOST: usize = 3;

/// Says that a failure is too general, with the last ones of each command of a program that it names.
pub(super) fn general_message(line: &str, witnesses: &[Witness]) -> String {
    let said: Vec<String> = line.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase).collect();
    let mut last: BTreeMap<&str, &FailureHistory> = BTreeMap::new();
    for failure in witnesses.iter().flat_map(|witness| &witness.outcomes.failures) {
        let program = failure.command.split(' ').next().filter(|program| !program.is_empty());
        let is_named = program.is_some_and(|program| said.iter().any(|it| it == program));
        if !is_named || Likeness::of(&failure.text).is_general() {
            continue;
        }
        let known = last.entry(&failure.command).or_insert(failure);
        if last_time(failure) > last_time(known) {
            *known = failure;
        }
    }
    let mut last: Vec<(&str, &FailureHistory)> = last.into_iter().collect();
    last.sort_by_key(|(_, failure)| Reverse(last_time(failure)));
    let told =
        last.iter().take(MOST).map(|(command, it)| format!("; `{command}`: {}", one_line(&it.text, SHORT_CHARS)));
    let lead = if last.is_empty() { "" } else { "; the last ones of the programs it names" };
    format!("too general: say a line of the error, its code, or the name of the test{lead}{}", told.collect::<String>())
}

/// Returns when a failure last occurred.
pub(super) fn last_time(failure: &FailureHistory) -> Option<i64> {
    failure.last_at.or(failure.at)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Script, fix_of};

    #[test]
    fn a_line_of_any_failure_is_answered_by_the_last_ones_of_its_program() {
        let session = Script::default()
            .fails("npm run deploy", "Error: no such winch: heron")
            .fails("npm test", "AssertionError: 3 jibs, expected 4")
            .fails("cargo test", "error[E0382]: borrow of moved value: `token`");
        let told = fix_of("npm ERR! code 1", &[session.witness("one", "/srv/shop")]);
        let (lead, rest) = told.message.split_once("; ").unwrap();
        assert_eq!(lead, "too general: say a line of the error, its code, or the name of the test");
        assert_eq!(
            rest,
            "the last ones of the programs it names; `npm test`: AssertionError: 3 jibs, expected 4; \
             `npm run deploy`: Error: no such winch: heron"
        );
        assert!(told.matches.is_empty() && told.accounts.is_empty());
        assert_eq!(fix_of("exited with code 1", &[]).message, lead);
    }

    #[test]
    fn a_check_is_no_attempt() {
        let moved = "error[E0382]: borrow of moved value: `token`";
        let session = Script::default()
            .prompt("fix the login")
            .fails("cargo test -p auth", moved)
            .ok("cargo fmt --check && cargo clippy")
            .fails("cargo test -p auth", moved)
            .ok("cargo add moka")
            .fails("cargo test -p auth", moved);
        let told = fix_of(moved, &[session.witness("one", "/srv/shop")]);
        let tried: Vec<&str> =
            told.matches[0].tried_in_vain.iter().flat_map(|it| &it.commands).map(String::as_str).collect();
        assert_eq!(tried, ["cargo add moka"]);
    }
}
