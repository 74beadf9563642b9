//! What lies on the relay where it should not, and homes that come back with what they had before.

use super::*;
use crate::world::copy;

fn problems(world: &World) -> String {
    status(world)["problems"].to_string()
}

#[test]
fn what_is_wrong_in_one_place_holds_up_nothing_else() {
    let pair = Pair::new();
    let (ann, bob) = (&pair.ann, &pair.bob);
    worked(ann, 1, SHARED, SAID);
    bob.stop();
    ann.ok(&["relay", "share", SHARED, "--yes"]);
    settled(ann);
    let [object] = &files_below(&pair.folder.join("o"))[..] else { panic!("one chunk") };
    let [slot] = &files_below(&pair.folder.join("s"))[..] else { panic!("one key") };
    let (sealed, key) = (std::fs::read(object).unwrap(), std::fs::read(slot).unwrap());
    std::fs::remove_file(object).unwrap();
    std::fs::create_dir(object).unwrap();
    worked(ann, 4, SHARED, "the bilby index is next");

    arrives(bob, "bilby index", &id(4));
    let waits = || status(bob)["lag"]["in"]["events"] == 1;
    assert!(wait(waits), "{}", status(bob));
    assert!(bob.found("wombat cache").is_empty());
    // The key is a torn file for a while, the object too long; then both are what they were.
    std::fs::remove_dir(object).unwrap();
    std::fs::write(slot, &key[..key.len() / 2]).unwrap();
    std::fs::write(object, vec![0; 18 << 20]).unwrap();
    worked(ann, 5, SHARED, "the dugong is last");
    arrives(bob, "dugong", &id(5));
    assert!(waits(), "{}", status(bob));
    std::fs::write(object, &sealed).unwrap();
    std::fs::write(slot, &key).unwrap();
    bob.stop();
    arrives(bob, "wombat cache", &id(1));
    settled(bob);

    // Nor does what cannot be removed keep anything else on the relay.
    std::fs::remove_file(object).unwrap();
    std::fs::create_dir(object).unwrap();
    ann.ok(&["forget", &id(1), "--yes"]);
    ann.ok(&["forget", &id(4), "--yes"]);
    worked(ann, 6, SHARED, "the quoll comes after it");
    arrives(bob, "quoll", &id(6));
    assert!(wait(|| bob.found("wombat cache").is_empty() && bob.found("bilby index").is_empty()), "{}", bob.log());
    assert!(wait(|| problems(ann).contains("not removed from the relay")), "{}", status(ann));
    let keys = || files_below(&pair.folder.join("s")).len();
    assert!(wait(|| keys() == 2), "{} keys, of the two that are shown", keys());
    std::fs::remove_dir(object).unwrap();
    ann.stop();
    assert!(wait(|| problems(ann) == "[]"), "{}", status(ann));
}

#[test]
fn a_home_that_is_set_back_publishes_nothing_that_was_forgotten_since() {
    let pair = Pair::sharing();
    let (ann, bob) = (&pair.ann, &pair.bob);
    let kept = ann.path("kept");
    ann.stop();
    copy(ann.home(), &kept);
    ann.ok(&["forget", &id(1), "--yes"]);
    assert!(wait(|| bob.found("wombat cache").is_empty()), "{}", bob.log());
    settled(ann);
    ann.stop();

    std::fs::remove_dir_all(ann.home()).unwrap();
    copy(&kept, ann.home());
    assert!(wait(|| problems(ann).contains("withdrawn")), "{}", status(ann));
    worked(ann, 4, SHARED, "the bilby index is next");
    arrives(bob, "bilby index", &id(4));
    settled(ann);
    assert!(bob.found("wombat cache").is_empty());
    assert_eq!(files_below(&pair.folder.join("s")).len(), 1, "its key is not there");
    assert_eq!(ann.found("wombat cache"), [id(1)]);

    // Only what the person asks for brings it back.
    ann.ok(&["relay", "unshare", SHARED, "--retract"]);
    assert!(wait(|| bob.found("bilby index").is_empty()), "{}", bob.log());
    ann.ok(&["relay", "share", SHARED, "--yes"]);
    arrives(bob, "wombat cache", &id(1));
    assert_eq!(problems(ann), "[]");
}

#[test]
fn who_leaves_and_joins_again_is_shown_with_what_they_do_from_then_on() {
    let pair = Pair::new();
    let (ann, bob) = (&pair.ann, &pair.bob);
    let mut transcript = worked(bob, 1, SHARED, SAID);
    bob.ok(&["relay", "share", SHARED, "--yes"]);
    arrives(ann, "wombat cache", &id(1));
    bob.ok(&["relay", "leave", "--yes"]);
    pair.join(bob, "Bob");
    bob.ok(&["relay", "share", SHARED, "--yes"]);
    transcript.prompt("now the numbat queue has to drain").reply("It drains.");
    bob.close(&id(1));
    arrives(ann, "numbat queue", &id(1));
    // A name is nobody's: the one who was here first has it without more.
    let from = text(&ann.show(&id(1))["from"]["name"]);
    assert!(from.starts_with("Bob ("), "{from}");
    let refused = bob.run(&["relay", "remove", &text(&status(ann)["writer"])[..8], "--yes"]);
    assert!(refused.code == 1 && refused.err.contains("Ann on"), "{}", refused.err);
}

/// What a relay that was set back has lost is published anew, and nothing is added that nobody can reach.
#[test]
fn a_relay_that_was_set_back_gets_no_objects_that_nobody_can_reach() {
    let pair = Pair::new();
    let (ann, bob) = (&pair.ann, &pair.bob);
    let mut transcript = worked(ann, 1, SHARED, SAID);
    ann.ok(&["relay", "share", SHARED, "--yes"]);
    settled(ann);
    let kept = ann.path("kept");
    copy(&pair.folder, &kept);
    transcript.prompt("now the numbat queue has to drain").reply("It drains.");
    ann.close(&id(1));
    arrives(bob, "numbat queue", &id(1));
    settled(ann);
    ann.stop();
    std::fs::remove_dir_all(&pair.folder).unwrap();
    copy(&kept, &pair.folder);
    for said in ["and the potoroo too", "and the bandicoot"] {
        transcript.prompt(said).reply("It moved.");
        ann.close(&id(1));
        arrives(bob, said, &id(1));
        assert!(wait(|| problems(ann) == "[]"), "{}", status(ann));
    }
    assert_eq!(files_below(&pair.folder.join("o")).len(), 1, "the one chunk that there is");
}

/// Also of a session that was only begun to be published, nothing stays once it is forgotten.
#[test]
fn what_an_interrupted_upload_has_left_goes_with_the_session() {
    let pair = Pair::new();
    let ann = &pair.ann;
    let objects = || files_below(&pair.folder.join("o")).len();
    settled(&pair.bob);
    std::fs::remove_dir_all(pair.folder.join("s")).unwrap();
    std::fs::write(pair.folder.join("s"), b"no folder").unwrap();
    worked(ann, 1, SHARED, SAID);
    ann.ok(&["relay", "share", SHARED, "--yes"]);
    assert!(wait(|| problems(ann).contains("is not published") && objects() == 1), "{}", status(ann));
    ann.ok(&["forget", &id(1), "--yes"]);
    assert!(wait(|| problems(ann).contains("is not removed from the relay")), "{}", status(ann));
    std::fs::remove_file(pair.folder.join("s")).unwrap();
    ann.stop();
    assert!(wait(|| problems(ann) == "[]" && objects() == 0), "{}", status(ann));
    worked(ann, 4, SHARED, "the bilby index is next");
    arrives(&pair.bob, "bilby index", &id(4));
    assert_eq!(objects(), 1);
}

#[test]
fn two_machines_with_the_same_keys_are_told_and_publish_nothing_on_top_of_each_other() {
    let pair = Pair::sharing();
    let (ann, bob, twin) = (&pair.ann, &pair.bob, World::new());
    ann.stop();
    copy(ann.home(), twin.home());
    settled(ann);
    settled(&twin);
    worked(&twin, 7, SHARED, "the dugong is last");
    arrives(bob, "dugong", &id(7));
    assert!(wait(|| problems(ann).contains("another machine uses")), "{}", status(ann));
    worked(ann, 8, SHARED, "the bilby index is next");
    arrives(ann, "bilby index", &id(8));
    // What reaches Bob later is not behind it.
    worked(&twin, 9, SHARED, "the numbat queue");
    arrives(bob, "numbat queue", &id(9));
    assert!(bob.found("bilby index").is_empty());
}
