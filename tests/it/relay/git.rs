//! A relay's folder that is a git checkout, exchanged through a repository.

use std::process::Command;

use super::*;
use crate::world::skipped;

fn git(folder: &Path, arguments: &[&str]) -> String {
    let ran = Command::new("git").arg("-C").arg(folder).args(arguments).output().unwrap();
    assert!(ran.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

#[test]
fn a_checkout_is_exchanged_and_history_keeps_no_key() {
    if Command::new("git").arg("--version").output().is_err() {
        return skipped("there is no git");
    }
    let (ann, bob) = (World::new(), World::new());
    let hub = ann.path("hub.git");
    std::fs::create_dir(&hub).unwrap();
    git(&hub, &["init", "-q", "--bare", "-b", "main"]);
    let clone = |world: &World| {
        let folder = world.path("team");
        git(&world.path(""), &["clone", "-q", hub.to_str().unwrap(), folder.to_str().unwrap()]);
        git(&folder, &["checkout", "-q", "-B", "main"]);
        folder
    };
    let (at_ann, at_bob) = (clone(&ann), clone(&bob));
    ann.ok(&["relay", "init", at_ann.to_str().unwrap(), "--name", "Ann"]);
    settled(&ann);
    let invitation = text(&ann.json(&["relay", "invite"])["invitation"]);
    ann.ok(&["relay", "git"]);
    // Before one has joined, its folder is named.
    let refused = bob.run(&["relay", "git", bob.path("work").to_str().unwrap()]);
    assert!(refused.code == 1 && refused.err.contains("not a git checkout"), "{}", refused.err);
    bob.ok(&["relay", "git", at_bob.to_str().unwrap()]);
    bob.ok(&["relay", "join", &invitation, at_bob.to_str().unwrap(), "--name", "Bob"]);
    settled(&bob);
    worked(&ann, 1, SHARED, SAID);
    worked(&ann, 4, SHARED, "the bilby index is next");
    ann.ok(&["relay", "share", SHARED, "--yes"]);
    settled(&ann);
    let exchange = || {
        for world in [&ann, &bob, &ann] {
            world.ok(&["relay", "git"]);
        }
    };
    exchange();
    arrives(&bob, "wombat cache", &id(1));
    arrives(&bob, "bilby index", &id(4));
    let kept = files_below(&at_ann.join("s"));
    assert_eq!(kept.len(), 3, "two keys and the invitation");

    ann.ok(&["forget", &id(1), "--yes"]);
    assert!(wait(|| files_below(&at_ann.join("s")).len() == 2), "{}", ann.log());
    let gone = kept.iter().find(|file| !file.exists()).unwrap();
    exchange();
    assert!(wait(|| bob.found("wombat cache").is_empty()), "{}", bob.log());
    assert_eq!(bob.found("bilby index"), [id(4)]);
    assert!(!at_bob.join("s").join(gone.file_name().unwrap()).exists());
    // No commit of the repository has a key, and none names anybody or anything.
    git(&hub, &["gc", "-q", "--prune=now"]);
    let objects = git(&hub, &["rev-list", "--all", "--objects"]);
    assert!(!objects.contains(gone.file_name().unwrap().to_str().unwrap()), "{objects}");
    assert!(!objects.contains(" s/"), "{objects}");
    let history = git(&hub, &["log", "--all", "-p", "--text", "--format=%an %ae %s"]);
    for planted in ["wombat", "bilby", "quokkaville", "Ann", "Bob", &id(1)] {
        assert!(!history.contains(planted), "{planted} is in history");
    }
    // Nothing more to do.
    bob.ok(&["relay", "git"]);
    assert_eq!(settled(&bob)["problems"], Value::Array(Vec::new()));
}
