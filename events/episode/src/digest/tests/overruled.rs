//! What ends a decision, and what does not.

use super::Session;
use super::undone::edit;

const OLD: &str = "let store = redis();";
const NEW: &str = "let store = postgres();";

fn decided() -> Session {
    let session = edit(Session::default().prompt("Make the store faster"), "src/store.rs", OLD, NEW);
    session.reply("I decided to use Postgres instead of Redis for the store, because it is here.")
}

fn in_force(session: Session) -> Vec<String> {
    session.digest().decisions.into_iter().map(|said| said.text).collect()
}

fn is_in_force(session: Session, word: &str) -> bool {
    in_force(session).iter().any(|text| text.contains(word))
}

#[test]
fn a_short_objection_is_against_the_only_choice() {
    assert!(is_in_force(decided(), "Postgres"));
    for no in ["No, use SQLite.", "Actually, let's keep Redis for the store.", "No, go with SQLite for the store"] {
        let session = edit(decided().prompt(no), "src/store.rs", NEW, "let store = sqlite();");
        let found = session.reply("The store is changed.").digest();
        assert!(!found.decisions.iter().any(|said| said.text.contains("I decided")), "{no}: {:?}", found.decisions);
        assert!(found.superseded.iter().any(|said| said.text.contains("I decided")), "{no}");
    }
    for other in ["No, the log is too long.", "No, keep the button blue.", "Now write the docs."] {
        let session = decided().prompt(other).edit("src/log.rs", 1, 1).reply("Done.");
        assert!(is_in_force(session, "Postgres"), "{other}");
    }
}

#[test]
fn a_person_may_change_their_mind() {
    let told = || {
        let first =
            Session::default().prompt("Make the store faster").edit("src/store.rs", 1, 1).reply("It is faster.");
        first.prompt("Use Postgres for the store, not Redis").edit("src/store.rs", 1, 1).reply("Done.")
    };
    assert_eq!(in_force(told()), ["User: Use Postgres for the store, not Redis"]);
    let changed = told().prompt("Actually no, use SQLite instead for it").edit("src/store.rs", 1, 1).reply("Done.");
    assert_eq!(in_force(changed), ["User: Actually no, use SQLite instead for it"]);
}

#[test]
fn edits_that_were_taken_back_decide_nothing() {
    let back = decided().ok("git checkout -- src/store.rs").reply("The file is as it was.");
    assert!(!is_in_force(back, "Postgres"));
    let kept = decided().ok("git checkout -- src/log.rs").reply("The log is as it was.");
    assert!(is_in_force(kept, "Postgres"));
}

#[test]
fn what_a_person_wants_of_two_things_is_both_told() {
    let session = Session::default().prompt("Look at the worker").edit("src/worker.rs", 1, 1).reply("Done.");
    let session = session.prompt("Never retry failed uploads in the background worker.");
    let session = session.edit("src/worker.rs", 1, 1).reply("Done.");
    let session = session.prompt("Never retry failed downloads in the background worker.");
    let found = in_force(session.edit("src/worker.rs", 1, 1).reply("Done."));
    assert_eq!(found.len(), 2, "{found:?}");
}

#[test]
fn a_quotation_in_the_first_prompt_decides_nothing() {
    let prompt = "The team wrote: \"we decided to use Mongo instead of Postgres because it scales\". Is that right?";
    assert_eq!(in_force(Session::default().prompt(prompt).edit("notes.md", 1, 0).reply("Yes.")), Vec::<String>::new());
}

#[test]
fn the_state_does_not_tell_what_was_overruled() {
    let first = edit(Session::default().prompt("Make the store faster"), "src/store.rs", OLD, NEW);
    let first = first.reply("The store uses Postgres instead of Redis, because it is here.");
    let then = edit(first.prompt("No, use SQLite."), "src/store.rs", NEW, "let store = sqlite();");
    let found = then.reply("The store uses SQLite.").digest();
    assert_eq!(found.concluded.as_deref(), Some("The store uses SQLite."));
}

#[test]
fn what_a_person_asks_for_again_is_not_overruled() {
    let first = || Session::default().prompt("Write the store").edit("src/store.rs", 9, 0).reply("The store is there.");
    let second = || first().prompt("Let's use SQLite instead of Redis").edit("src/store.rs", 4, 4).reply("Done.");
    let back = || second().prompt("No, let's use Redis instead of SQLite").edit("src/store.rs", 4, 4).reply("Done.");
    let names = |session: Session| {
        let superseded = session.digest().superseded;
        superseded.iter().any(|said| said.text.contains("use SQLite instead of Redis"))
    };
    assert!(names(back()));
    assert!(!names(back().prompt("Now rewrite it with SQLite").edit("src/store.rs", 4, 4).reply("Done.")));
}

#[test]
fn how_something_was_done_tells_what_was_chosen_if_nothing_else_does() {
    let session = edit(Session::default().prompt("Make the store faster"), "src/store.rs", OLD, NEW);
    let said = "The store is faster now.\n- It waits for `postgres` via a channel\n- It might be read using a pool";
    assert_eq!(in_force(session.reply(said)), ["It waits for `postgres` via a channel"]);
    let session = edit(Session::default().prompt("Make the store faster"), "src/store.rs", OLD, NEW);
    let both = format!("{said}\n\nI chose `postgres` instead of `redis`, because it is here.");
    assert_eq!(in_force(session.reply(&both)).len(), 1);
}
