//! What was taken in of others is verified, and fetched again if it is damaged; what a relay has lost is published again.

use super::*;

#[test]
fn what_is_damaged_of_others_is_found_and_fetched_again() {
    let pair = Pair::sharing();
    let bob = &pair.bob;
    let verified = bob.json(&["log", "verify", "--quick"]);
    assert_eq!((&verified["checked"]["others"], &verified["found"]), (&1.into(), &0.into()), "{verified}");
    let folder = bob.home().join("relay").join(text(&status(&pair.ann)["writer"]));
    let chunk = || {
        let files = files_below(&folder.join("blobs")).into_iter();
        files.filter(|file| file.extension().is_none_or(|extension| extension != "json")).collect::<Vec<_>>()
    };
    for file in [folder.join("log"), chunk()[0].clone()] {
        let mut bytes = std::fs::read(&file).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&file, bytes).unwrap();
        let found = bob.run(&["log", "verify", "--quick", "--json"]);
        assert!(
            found.code == 1 && found.out.contains("relay/") && found.out.contains("fetched again"),
            "{}",
            found.out
        );
        arrives(bob, "wombat cache", &id(1));
        let is_whole = || bob.run(&["log", "verify", "--quick"]).code == 0;
        assert!(wait(is_whole), "{}\n{}", bob.run(&["log", "verify", "--quick"]).out, bob.log());
        assert_eq!(list(&settled(bob)["writers"]).len(), 2);
    }
    let messages = bob.json(&["show", &id(1), "--messages"]).to_string();
    assert!(messages.contains("evict its oldest entries"), "{messages}");
}

/// The folder is put back from a copy; sessions of since then, and what was forgotten, are as they were before that.
#[test]
fn a_folder_that_is_set_back_gets_again_what_it_lost() {
    let pair = Pair::sharing();
    let (ann, bob) = (&pair.ann, &pair.bob);
    worked(ann, 4, SHARED, "the bilby index is next");
    arrives(bob, "bilby index", &id(4));
    settled(ann);
    let copy = ann.path("copy");
    crate::world::copy(&pair.folder, &copy);
    ann.ok(&["forget", &id(4), "--yes"]);
    worked(ann, 5, SHARED, "the dugong is last");
    arrives(bob, "dugong", &id(5));
    assert!(wait(|| bob.found("bilby index").is_empty()), "{}", bob.log());
    settled(ann);

    // Offline homes and homes that follow.
    bob.stop();
    std::fs::remove_dir_all(&pair.folder).unwrap();
    crate::world::copy(&copy, &pair.folder);
    let carl = World::new();
    let keys = || files_below(&pair.folder.join("s")).len();
    assert!(wait(|| keys() == 2), "{} keys\n{}", keys(), ann.log());
    pair.join(&carl, "Carl");
    for (world, query, number) in [(&carl, "wombat cache", 1), (&carl, "dugong", 5), (bob, "dugong", 5)] {
        arrives(world, query, &id(number));
    }
    worked(ann, 6, SHARED, "the potoroo comes after");
    for world in [&carl, bob] {
        arrives(world, "potoroo", &id(6));
        assert_eq!(world.found("bilby index"), [] as [String; 0]);
        assert_eq!(settled(world)["problems"], Value::Array(Vec::new()));
    }
    assert_eq!(settled(ann)["problems"], Value::Array(Vec::new()));
}
