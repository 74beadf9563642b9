//! Sessions forgotten wherever their notes are: in vaults that were moved, copied, unplugged, emptied or mistyped.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::{in_vault, notes, ready, until, with_one, with_two, with_word, worked};
use crate::world::{World, files_below, id, text};

#[test]
fn a_place_that_was_mistyped_is_none_where_notes_were() {
    let world = World::new();
    let vault = world.path("notes");
    fs::create_dir_all(&vault).unwrap();
    for path in [world.path("mistyped"), vault.clone()] {
        super::configure(&world, &json!({"path": path}));
        worked(&world, "-work-one", 1, "quokka");
        worked(&world, "-work-one", 2, "platypus");
        world.close(&id(1));
        until(&world, "the place", |told| {
            told["path"] == path.display().to_string() && (told["pending"] == 1 || told["notes"] == 1)
        });
    }
    ready(&world, 1);
    for number in [1, 2] {
        let done = world.json(&["forget", &id(number), "--yes"]);
        assert_eq!(done["status"], "success", "{done}");
    }
    assert_eq!(with_word(&vault, "quokka"), [""; 0]);
    let told = world.json(&["vault", "status"]);
    assert_eq!((&told["to_remove"], &told["state"]), (&json!(0), &json!("ready")), "{told}");
}

#[test]
fn a_vault_that_was_moved_is_one_place_and_one_that_is_away_is_another() {
    for moved in [true, false] {
        let world = World::new();
        let (before, after) = (world.path("before"), world.path("after"));
        in_vault(&world, &before);
        fs::create_dir_all(&after).unwrap();
        with_two(&world);
        world.stop();
        match moved {
            true => {
                fs::rename(before.join("claude"), after.join("claude")).unwrap();
                fs::remove_dir(&before).unwrap();
            }
            // A disk that is not plugged in, with notes of its own.
            false => fs::rename(&before, world.path("unplugged")).unwrap(),
        }
        super::configure(&world, &json!({"path": after}));
        ready(&world, 2);
        let done = world.run(&["forget", &id(1), "--yes", "--json"]);
        assert_eq!(
            (done.code, with_word(&after, "quokka")),
            (i32::from(!moved), Vec::new()),
            "{}{}",
            done.out,
            done.err
        );
        assert_eq!(with_word(&world.home().join("vault-register"), "quokka").len(), usize::from(!moved));
        assert_eq!(world.json(&["vault", "status"])["to_remove"], u64::from(!moved));
        assert!(!with_word(&after, "platypus").is_empty());
    }
}

#[test]
fn a_copy_is_forgotten_in_and_its_original_too_once_it_is_back() {
    let world = World::new();
    let (original, copy, unplugged) = (world.path("original"), world.path("copy"), world.path("unplugged"));
    in_vault(&world, &original);
    with_two(&world);
    // Its own note is gone: the links to it can be recognised by the name alone.
    let (bare, name) = {
        let all = notes(&original);
        let path = all.iter().find(|path| path.contains("/sessions/") && path.contains("quokka")).unwrap().clone();
        let name = path.rsplit('/').next().unwrap().trim_end_matches(".md").to_owned();
        (original.join(path), name)
    };
    world.stop();
    let mut copying = std::process::Command::new("cp");
    assert!(copying.arg("-a").arg(&original).arg(&copy).status().unwrap().success());
    fs::remove_file(&bare).unwrap();
    fs::write(original.join("claude/Mine.md"), format!("See [[{name}]].\n")).unwrap();
    assert!(!with_word(&original, "quokka").is_empty(), "entities lead to it");
    fs::rename(&original, &unplugged).unwrap();
    super::configure(&world, &json!({"path": copy}));
    ready(&world, 2);
    for number in [1, 2] {
        // The second one with a new daemon, which knows only what is on the disk.
        let done = world.json(&["forget", &id(number), "--yes"]);
        assert_eq!(done["status"], "success", "{done}");
        let told = world.json(&["vault", "status"]);
        assert_eq!((&told["to_remove"], &told["state"]), (&json!(0), &json!("ready")), "{told}");
        world.stop();
    }
    for word in ["quokka", "platypus"] {
        assert_eq!((with_word(&copy, word), with_word(world.home(), word)), (Vec::new(), Vec::new()), "{word}");
    }
    world.ok(&["status"]);
    fs::rename(&unplugged, &original).unwrap();
    world.ok(&["vault", "sync"]);
    let left = || (with_word(&original, "quokka"), with_word(&original, "platypus"));
    let mine = original.join("claude/Mine.md").display().to_string();
    assert!(crate::world::wait(|| left() == (vec![mine.clone()], Vec::new())), "{:?}", left());
    assert_eq!(world.json(&["vault", "status"])["to_remove"], 0);
}

#[test]
fn what_is_forgotten_twice_is_forgotten_in_whatever_can_be_reached() {
    let world = World::new();
    let (original, copy, unplugged) = (world.path("original"), world.path("copy"), world.path("unplugged"));
    in_vault(&world, &original);
    with_two(&world);
    world.stop();
    let mut copying = std::process::Command::new("cp");
    assert!(copying.arg("-a").arg(&original).arg(&copy).status().unwrap().success());
    fs::rename(&original, &unplugged).unwrap();
    super::configure(&world, &json!({"path": copy}));
    ready(&world, 2);
    world.ok(&["forget", &id(1), "--yes"]);
    // The vault is back when the next one is forgotten: the command succeeds only when both are gone from there.
    fs::rename(&unplugged, &original).unwrap();
    let done = world.json(&["forget", &id(2), "--yes"]);
    world.kill();
    assert_eq!(done["status"], "success", "{done}");
    for word in ["quokka", "platypus"] {
        for place in [&original, &copy] {
            assert_eq!(with_word(place, word), [""; 0], "{word}");
        }
    }
}

#[test]
fn a_folder_that_is_gone_for_good_and_is_known_by_nothing_can_be_given_up() {
    let world = World::new();
    let (before, after) = (world.path("before"), world.path("after"));
    in_vault(&world, &before);
    with_two(&world);
    world.stop();
    // As folders were before they had an id.
    fs::remove_file(before.join("claude/.baton.id")).unwrap();
    let [register] = &files_below(&world.home().join("vault-register"))[..] else { panic!("one register") };
    let written = fs::read_to_string(register).unwrap();
    let (head, rest) = written.split_once('\n').unwrap();
    let mut head: serde_json::Value = serde_json::from_str(head).unwrap();
    assert!(head["vault"].as_object_mut().unwrap().remove("id").is_some(), "{head}");
    fs::write(register, format!("{head}\n{rest}")).unwrap();
    fs::create_dir_all(after.join("claude")).unwrap();
    // A move with `*` leaves hidden files behind.
    let mut moving = std::process::Command::new("sh");
    assert!(
        moving.args(["-c", "mv \"$0\"/claude/* \"$1\"/claude/"]).arg(&before).arg(&after).status().unwrap().success()
    );
    assert!(before.join("claude/.baton.lock").exists());
    super::configure(&world, &json!({"path": after}));
    ready(&world, 2);
    let done = world.run(&["forget", &id(1), "--yes", "--json"]);
    assert_eq!((done.code, with_word(&after, "quokka")), (1, Vec::new()), "{}{}", done.out, done.err);
    let message = text(&done.json()["message"]);
    assert!(message.contains("is empty") && message.contains("mount or put back"), "{message}");
    let (_, named) = message.split_once("if that folder is gone for good, remove ").expect(&message);
    let named = named.split([';', ' ']).next().unwrap();
    assert_eq!(Path::new(named), register, "{message}");
    fs::remove_file(named).unwrap();
    let done = world.json(&["forget", &id(1), "--yes"]);
    assert_eq!(done["status"], "success", "{done}");
    let told = world.json(&["vault", "status"]);
    assert_eq!((&told["to_remove"], &told["state"], &told["notes"]), (&json!(0), &json!("ready"), &json!(1)), "{told}");
    assert_eq!(with_word(world.home(), "quokka"), [""; 0]);
}

#[test]
fn who_deletes_the_notes_of_a_vault_that_is_there_has_nothing_to_forget_in() {
    for named in [false, true] {
        let world = World::new();
        let vault = if named { world.path("notes") } else { world.home().join("vault") };
        let mine = vault.join("Mine.md");
        fs::create_dir_all(&vault).unwrap();
        super::configure(&world, &if named { json!({"path": vault}) } else { json!({}) });
        with_one(&world);
        if named {
            fs::write(&mine, format!("session {}", id(1))).unwrap();
        }
        fs::write(world.home().join("config.json"), "{}").unwrap();
        fs::remove_dir_all(if named { vault.join("claude") } else { vault.clone() }).unwrap();
        let forgotten = world.ok(&["forget", &id(1), "--yes"]);
        assert_eq!(forgotten.out.contains("Mine.md"), named, "{}", forgotten.out);
        assert_eq!(with_word(&world.home().join("vault-register"), "quokka"), [""; 0]);
        assert_eq!(world.json(&["vault", "status"])["to_remove"], 0);
        assert!(!vault.join("claude").exists(), "it is not made again");
    }
}

#[test]
fn notes_that_were_moved_before_anybody_said_where_to_are_forgotten_there_once_it_is_said() {
    for (enabled, begins_anew) in [(true, false), (true, true), (false, false)] {
        let world = World::new();
        let (before, after) = (world.path("before"), world.path("after"));
        in_vault(&world, &before);
        with_two(&world);
        for vault in [&before, &after] {
            fs::create_dir_all(vault).unwrap();
            fs::write(vault.join("Mine.md"), "mine\n").unwrap();
        }
        super::configure(&world, &json!({"path": before, "enabled": enabled}));
        fs::rename(before.join("claude"), after.join("claude")).unwrap();
        let done = world.json(&["forget", &id(1), "--yes"]);
        assert_eq!(done["status"], "success", "nobody knows of another place: {done}");
        assert_eq!(with_word(world.home(), "quokka"), [""; 0]);
        assert_eq!(world.json(&["vault", "status"])["to_remove"], 0);
        if begins_anew {
            // The sync writes new notes into the vault from which they were moved.
            world.ok(&["vault", "sync"]);
            assert!(!with_word(&before, "platypus").is_empty());
            // Repeating the request there does not find the moved notes.
            world.ok(&["forget", &id(1), "--yes"]);
            assert_eq!(world.json(&["vault", "status"])["to_remove"], 0);
        }
        super::configure(&world, &json!({"path": after, "enabled": enabled}));
        world.ok(&["status"]);
        assert!(crate::world::wait(|| with_word(&after, "quokka").is_empty()), "{:?}", with_word(&after, "quokka"));
        assert!(!with_word(&after, "platypus").is_empty());
        until(&world, "the end of it", |told| told["to_remove"] == 0);
        // And at the old path, in case that was a copy.
        super::configure(&world, &json!({"path": after}));
        ready(&world, 1);
        let known = files_below(&world.home().join("vault-register"));
        let lost = |path: &std::path::PathBuf| fs::read_to_string(path).unwrap().contains("\"lost\":true");
        assert!(!known.iter().any(lost), "it was found");
    }
}

#[test]
fn notes_that_come_back_to_where_they_were_are_forgotten_then() {
    let world = World::new();
    let (vault, away) = (world.path("notes"), world.path("away"));
    in_vault(&world, &vault);
    with_two(&world);
    fs::write(vault.join("Mine.md"), "mine\n").unwrap();
    fs::rename(vault.join("claude"), &away).unwrap();
    let done = world.json(&["forget", &id(1), "--yes"]);
    assert_eq!(done["status"], "success", "{done}");
    assert_eq!(world.json(&["vault", "status"])["to_remove"], 0);
    // The same with another daemon.
    world.stop();
    world.ok(&["status"]);
    fs::rename(&away, vault.join("claude")).unwrap();
    assert!(!with_word(&vault, "quokka").is_empty());
    world.ok(&["vault", "sync"]);
    assert!(crate::world::wait(|| with_word(&vault, "quokka").is_empty()), "{:?}", with_word(&vault, "quokka"));
    assert!(!with_word(&vault, "platypus").is_empty());
    assert_eq!(with_word(&world.home().join("vault-register"), "called"), [""; 0], "nothing is to be remembered");
}

#[cfg(unix)]
#[test]
fn what_cannot_be_read_and_what_links_lead_to_is_named_also_where_no_note_is_left() {
    use std::os::unix::fs::symlink;

    let world = World::new();
    let (real, vault) = (world.path("data"), world.path("notes"));
    fs::create_dir_all(real.join(".store")).unwrap();
    symlink(&real, &vault).unwrap();
    super::configure(&world, &json!({"path": vault}));
    with_one(&world);
    fs::remove_dir_all(real.join("claude")).unwrap();
    fs::write(real.join(".store/kept.md"), format!("session {}", id(1))).unwrap();
    fs::write(real.join(".store/other.md"), "nothing of it").unwrap();
    symlink(".store/kept.md", real.join("Kept.md")).unwrap();
    symlink(".store/other.md", real.join("Other.md")).unwrap();
    fs::write(real.join("Scanned.txt"), b"\xff\xfe").unwrap();
    let forgotten = world.ok(&["forget", &id(1), "--yes"]);
    for (name, is_named) in [("Kept.md", true), ("Scanned.txt", true), ("Other.md", false)] {
        assert_eq!(forgotten.out.contains(name), is_named, "{name}: {}", forgotten.out);
    }
}
