//! What a person reports, and what ends it.

use super::Session;
use super::errors::check_errors as check;

#[test]
fn a_word_that_it_works_is_about_what_was_tried_last() {
    let tried = || {
        Session::default()
            .prompt("`make lift` fails:\n\nerror: pathspec 'winch' did not match any files\n")
            .edit("winch.sh", 1, 0)
            .reply("I moved the path in front.")
            .prompt("Still not working: the path is the same")
            .edit("drum.sh", 1, 0)
            .reply("I changed the path of the drum.")
    };
    let by_drum = Some("by edits to drum.sh: \"I changed the path of the drum.\"");
    for word in ["It works now", "Can we make it faster? This does the job, but we wait too long."] {
        let found = tried().prompt(word).digest();
        let mended = found.errors[0].resolution.as_ref().map(|resolution| resolution.text.as_str());
        assert_eq!(mended, by_drum, "{word}");
    }
    for word in ["It works on the left, but not on the right.", "Does it work now?", "Count the ropes"] {
        let found = tried().prompt(word).digest();
        assert_eq!(found.errors[0].resolution, None, "{word}");
    }
}

#[test]
fn another_error_is_another_matter() {
    let session = Session::default()
        .prompt("`make lift` fails:\n\nerror: pathspec 'winch' did not match any files\n")
        .edit("winch.sh", 1, 0)
        .reply("I wrote it down for you.")
        .prompt("And now this:\n\nerror: no rope on the drum\n")
        .edit("drum.sh", 1, 0)
        .reply("I wrote it down for you.")
        .prompt("It works now");
    check(
        session,
        &[
            ("reported: error: pathspec 'winch' did not match any files", None),
            ("reported: error: no rope on the drum", Some("by edits to drum.sh")),
        ],
    );
}

#[test]
fn nothing_is_said_of_an_end_that_nobody_saw() {
    let told = |session: Session| session.digest().content();
    let seen_once = Session::default().prompt("go").failed("python3 -c 'x()'", 1, "NameError: x").reply("I go on.");
    assert!(told(seen_once).contains("NameError: x\n"), "without a verdict");
    let fails = Session::default().prompt("go").failed("make test", 2, "no rope").reply("It fails.");
    assert!(told(fails).contains("no rope -> not resolved\n"), "the last run failed");
}

#[test]
fn an_error_that_a_prompt_names_within_its_words_is_one() {
    let first = |prompt: &str| {
        let errors = Session::default().prompt(prompt).reply("I look.").digest().errors;
        errors.first().map(|error| (error.text.clone(), error.resolution.is_some()))
    };
    let screen = "find out why i get  Turn the winch (shell)            ┃  │ winch --turn 2>/dev/null      ┃  └ Stopped by the brake (hook errored)    \n\nand fix";
    assert_eq!(first(screen), Some(("reported: Stopped by the brake (hook errored)".to_owned(), false)));
    for prompt in [
        "please fix this in the drum: TypeError: rope is not a function",
        "why do I get `TypeError: rope is not a function` at night?",
    ] {
        assert_eq!(first(prompt), Some(("reported: TypeError: rope is not a function".to_owned(), false)), "{prompt}");
    }
    for prompt in ["rename the class: Winch to Drum", "print \"no rope\" if there is none", "make it red │ or blue"] {
        assert_eq!(first(prompt), None, "{prompt}");
    }
}

#[test]
fn only_a_word_against_it_doubts_a_mend() {
    let mended = |next: &str| {
        let session = Session::default().prompt("`make lift` fails:\n\nerror: no rope on the drum\n");
        let session = session.edit("drum.sh", 1, 0).reply("Fix: I put a rope on the drum.").prompt(next);
        session.digest().errors[0].resolution.is_some()
    };
    assert!(mended("Add a test for the rope on the drum"));
    assert!(!mended("There is an issue with the rope on the drum"));
}
