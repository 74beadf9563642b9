//! `baton backup`: everything in one file, while the daemon works.

use std::os::unix::fs::PermissionsExt;
use std::{fs, thread};

use serde_json::Value;

use crate::record::memory;
use crate::verify::lived_in;
use crate::world::{World, files_below, id};

fn identity(world: &World) -> [Value; 3] {
    let stats = world.json(&["log", "stats"]);
    ["position", "chain", "state_hash"].map(|field| stats[field].clone())
}

#[test]
fn a_backup_that_was_made_while_sessions_grow_is_a_home_again() {
    let world = lived_in();
    let file = world.path("backup.jsonl");
    let name = file.to_str().unwrap();
    let backup = thread::scope(|scope| {
        // Conversations are replaced while they are read.
        scope.spawn(|| {
            for number in 1..=3 {
                let mut transcript = world.transcript("-work-one", &id(number + 10));
                transcript.prompt(&format!("what of egret{number}?")).reply("It flies.");
                world.close(&id(number + 10));
            }
        });
        world.json(&["backup", name])
    });
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(backup["bytes"], fs::metadata(&file).unwrap().len(), "{backup}");
    let other = World::new();
    other.ok(&["log", "import", name]);
    assert_eq!(identity(&other)[..2], [backup["position"].clone(), backup["chain"].clone()]);
    assert_eq!(other.found("subject2"), [id(2)]);
    assert_eq!(other.show(&id(1))["close_note"], "done with 1");

    // Without a daemon, over the earlier one, and through a pipe: the same bytes.
    world.stop();
    let said = world.ok(&["backup", name]).err;
    assert!(said.contains("`baton log import` restores"), "{said}");
    let piped = world.ok(&["backup", "-"]).out;
    assert_eq!(fs::read_to_string(&file).unwrap(), piped);
    let last = World::new();
    last.ok(&["log", "import", name]);
    assert_eq!(identity(&last), identity(&world));
    assert_eq!(last.found("egret3"), [id(13)]);
    last.stop();
    assert_eq!(memory(last.home()), memory(world.home()));
}

#[test]
fn what_is_not_whole_replaces_no_backup() {
    let world = lived_in();
    world.stop();
    let folder = world.path("backups");
    fs::create_dir(&folder).unwrap();
    let file = folder.join("backup.jsonl");
    let name = file.to_str().unwrap();
    world.ok(&["backup", name]);
    let before = fs::read(&file).unwrap();
    let chunk = files_below(&world.home().join("blobs"))
        .into_iter()
        .find(|file| file.extension().is_some_and(|end| end == "zst"));
    fs::remove_file(chunk.unwrap()).unwrap();
    let ran = world.run(&["backup", name, "--json"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("no backup was written") && ran.err.contains("baton log verify"), "{}", ran.err);
    assert_eq!(fs::read(&file).unwrap(), before);
    assert_eq!(files_below(&folder), [file], "nothing unfinished is left");
    let wrong = world.run(&["backup", "-", "--json"]);
    assert!(wrong.code == 2 && wrong.err.contains("\"usage\""), "{}", wrong.err);
}
