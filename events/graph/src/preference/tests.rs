//! Rules versus tasks.

use super::*;

#[test]
fn the_list_of_habits_is_sorted() {
    assert!(HABITS.is_sorted());
}

#[test]
fn what_a_refusal_wants_is_a_rule_if_it_names_something() {
    let check = |answer: &str, expected: Option<&str>| {
        let found = rule_in_refusal("g", answer, Some("npm")).map(|rule| rule.text);
        assert_eq!(found.as_deref(), expected, "{answer:?}");
    };
    check("use pnpm", Some("use pnpm"));
    check("No, use pnpm!", Some("use pnpm"));
    check("we use pnpm here", Some("we use pnpm here"));
    check("please only use pnpm", None);
    // These are rules anywhere.
    check("don't use sudo", None);
    check("use rg instead of grep", Some("use rg instead of grep"));
    for task in [
        "use the other folder",
        "use another one",
        "use src/new.rs",
        "use it",
        "use",
        "not now",
        "use pnpm, and then look at the tests; they are slow because of the cold cache that is made anew",
        "which one would you use?",
        "",
    ] {
        check(task, None);
    }
    let reverses = |rule: Rule| rule.claims.settles;
    let (one, other) = (rule_in_refusal("g", "use pnpm", Some("npm")), rule_in_refusal("g", "use npm", Some("pnpm")));
    assert!(!reverses(one.unwrap()).is_empty() && !reverses(other.unwrap()).is_empty());
}

#[test]
fn a_rule_is_told_from_a_task() {
    let mut wrong = Vec::new();
    let mut check = |expected: &str, prompts: &[&str]| {
        for prompt in prompts {
            let found: Vec<String> = rules("g", prompt).into_iter().map(|rule| rule.text).collect();
            let right = if expected == "*" { found.len() == 1 } else { found.join(" | ") == expected };
            if !right {
                wrong.push(format!("{prompt:?}: {found:?}"));
            }
        }
    };
    check("always use pnpm", &["Always use pnpm.", "ok, please always use pnpm", "yes and always use pnpm!"]);
    check("I prefer tabs over spaces", &["I prefer tabs over spaces."]);
    check(
        "*",
        &[
            "always use pnpm by the way, you did, just keep it that way, the last session ran npm install",
            "and please always run `ruff check` and `ruff format` before you commit, the last commits were a mess",
            "I prefer plain POSIX sh there, please never use bashisms in deploy/, the box has dash only",
            "Never push to main without asking.",
            "You should always add a test.",
            "from now on use 4 spaces",
            "Don't add comments to code.",
            "do not use emojis",
            "Please use British spelling.",
            "please use `uv`",
            "I hate long functions",
            "We never commit generated files",
            "Going forward, write commit messages in the imperative",
            "I'd prefer smaller commits",
            "make sure to always run the linter",
            "Fix the test. Also, never mock the clock.",
            "We always rebase before we push",
            "Always answer with \"yes, of course I will\" first",
            "Here are my rules:\n- always use tabs",
        ],
    );
    check(
        "",
        &[
            "commit, and remember the delete thing as a follow up, don't do it now",
            "for trying it out there is a bot in our chat, don't commit it",
            "stop here, don't commit the worker.",
            "leave it red and don't merge hooghly.",
            "no, use a systemd timer instead, because cron on that box doesn't catch up",
            "Never mind!",
            "it always fails with the same error",
            "the server never answers",
            "why do you always use tabs?",
            "I prefer that one",
            "I'd prefer the second layout",
            "I don't want to make it only work for me",
            "don't use the old client here",
            "please use the new endpoint",
            "use sqlite for the tests",
            "never got an answer",
            "It should always return true",
            "I don't think we need to loop through all items",
            &format!(
                "{} To be clear: don't use mail, use the subagents.",
                "Have each of them write a page. ".repeat(20)
            ),
            "always worked before",
            "in the future we might add more",
            "Here is a README I found:\n> Always use Docker.\n```\nAlways run as root.\n```",
            "Here is a README I found:\nAlways use Docker.",
            "\"Never use tabs\" is what the linter says. Why does the test always fail?",
            "The docs say: always use Docker.",
            "README: always use docker",
            "According to the guide, always use Docker",
            "He said \"always use tabs, they are better\" and left.",
            "```\nAlways run as root.\n```",
            "~~~\nnever use npm\n~~~\nwhat does this do?",
            "I always forget this. Never mind.",
            "The user never logs out.",
            "We never had that.",
            "",
            "always",
            "never",
        ],
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_note_states_rules_of_the_user() {
    let check = |sentence: &str, expected: Option<&str>| {
        let found = rule_in_note("g", sentence).map(|rule| rule.text);
        assert_eq!(found.as_deref(), expected, "{sentence:?}");
    };
    check("The user prefers tabs over spaces.", Some("the user prefers tabs over spaces"));
    check("User always runs the tests before a commit", Some("user always runs the tests before a commit"));
    check("The team wants British spelling", Some("the team wants British spelling"));
    check("Never deploy on Fridays.", Some("never deploy on Fridays"));
    check("The user wants to know why", None);
    check("The user logs out", None);
    check("Does the user prefer tabs?", None);
    check("The user prefers tabs?", None);
    let (spaces, tabs) = (rule_in_note("g", "The user prefers spaces").unwrap(), rules("g", "always use tabs"));
    assert!(tabs[0].claims.rests.iter().any(|rest| {
        spaces.claims.settles.iter().any(|claim| claim.slot == rest.slot && claim.value != rest.value)
    }));
}

#[test]
fn rules_exclude_each_other() {
    let excludes = |one: &str, other: &str| {
        let (one, other) = (rules("g", one), rules("g", other));
        assert!(!one.is_empty() && !other.is_empty(), "{one:?} {other:?}");
        one.iter().flat_map(|rule| &rule.claims.rests).any(|rest| {
            let settled = other.iter().flat_map(|rule| &rule.claims.settles);
            settled.into_iter().any(|claim| claim.slot == rest.slot && claim.value != rest.value)
        })
    };
    let mut wrong = Vec::new();
    for (one, other) in [
        ("always use tabs", "from now on use spaces"),
        ("always use tabs", "I prefer spaces over tabs"),
        ("always add a changelog entry", "never add a changelog entry"),
        ("always use 2 spaces", "please always use 4 spaces"),
        ("I prefer short answers", "I prefer detailed answers"),
        ("please use npm", "never use npm"),
        ("always use npm", "always use pnpm"),
        ("Always commit after each step.", "Never commit without asking."),
    ] {
        if !(excludes(one, other) && excludes(other, one)) {
            wrong.push(format!("{one:?} does not exclude {other:?}"));
        }
    }
    for (one, other) in [
        ("always use tabs", "always use pnpm"),
        ("never push to main", "always push to a branch"),
        ("always add tests", "always add docs"),
        ("I prefer short answers", "I prefer detailed commit messages"),
        ("always use tabs", "always use tabs"),
        ("always push to a branch", "never push to main without asking"),
    ] {
        if excludes(one, other) {
            wrong.push(format!("{one:?} excludes {other:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
