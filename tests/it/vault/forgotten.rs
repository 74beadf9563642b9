//! A forgotten session leaves every note.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::{notes, only_session, own, ready, until, with_notes, worked};
use crate::world::{World, files_below, id, text};

/// Files below a folder that have a word, in their names or in what they say.
fn with_word(folder: &Path, word: &str) -> Vec<String> {
    let has = |path: &&std::path::PathBuf| {
        let name = path.strip_prefix(folder).unwrap().display().to_string();
        name.contains(word) || fs::read(path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(word))
    };
    files_below(folder).iter().filter(has).map(|path| path.display().to_string()).collect()
}

#[test]
fn what_is_forgotten_is_in_no_note_and_what_others_support_stays() {
    let world = with_notes(&json!({"compact_lines": 1}));
    worked(&world, "-work-one", 1, "quokka");
    worked(&world, "-work-one", 2, "platypus");
    world.close(&id(1));
    world.close(&id(2));
    ready(&world, 2);
    assert!(with_word(world.home(), "quokka").iter().any(|path| path.contains("/archive/")));
    let done = world.json(&["forget", &id(1), "--yes"]);
    assert_eq!(done["status"], "success", "{done}");
    // At once, and whatever the daemon has still to do.
    world.kill();
    assert_eq!(with_word(world.home(), "quokka"), [""; 0]);
    assert!(with_word(&own(&world), "platypus").len() >= 4);
    until(&world, "the rest", |told| told["notes"] == 1 && told["to_remove"] == 0);
    let verified = world.json(&["vault", "verify"]);
    assert_eq!(verified["clean"], true, "{verified}");
    // Undone, it is written anew.
    world.ok(&["forget", &id(1), "--undo", "--yes"]);
    world.close(&id(1));
    ready(&world, 2);
    assert!(!with_word(&own(&world), "quokka").is_empty());
}

#[test]
fn without_a_register_notes_are_known_by_their_heads() {
    let world = with_notes(&json!({}));
    worked(&world, "-work-one", 1, "quokka");
    world.close(&id(1));
    ready(&world, 1);
    world.stop();
    fs::remove_dir_all(world.home().join("vault-register")).unwrap();
    world.ok(&["forget", &id(1), "--yes"]);
    assert_eq!(with_word(&own(&world), "quokka"), [""; 0]);
}

#[test]
fn what_a_person_wrote_into_a_forgotten_note_stays() {
    let world = with_notes(&json!({}));
    worked(&world, "-work-one", 1, "quokka");
    world.close(&id(1));
    ready(&world, 1);
    let (path, note) = only_session(&own(&world));
    fs::write(&path, note + "\nMy own conclusion.\n").unwrap();
    let forgotten = world.ok(&["forget", &id(1), "--yes"]);
    assert!(forgotten.out.contains("What people wrote in these notes stays there"), "{}", forgotten.out);
    assert!(!path.exists(), "its name told what it was about");
    let left: Vec<String> = notes(&own(&world)).into_iter().filter(|path| path.contains("/sessions/")).collect();
    let [left] = left.as_slice() else { panic!("one: {left:?}") };
    let text = fs::read_to_string(own(&world).join(left)).unwrap();
    assert!(text.contains("My own conclusion.") && !text.contains("quokka"), "{left}: {text}");
}

#[test]
fn a_name_goes_also_where_only_a_person_s_words_are_left_under_it() {
    let world = with_notes(&json!({}));
    worked(&world, "-work-one", 1, "quokka");
    world.close(&id(1));
    ready(&world, 1);
    let (path, _) = only_session(&own(&world));
    // As whoever is killed between changing the note and its name leaves it.
    fs::write(&path, "My own conclusion.\n").unwrap();
    let forgotten = world.ok(&["forget", &id(1), "--yes"]);
    assert_eq!(with_word(world.home(), "quokka"), [""; 0]);
    let [left] = &with_word(&own(&world), "My own conclusion.")[..] else { panic!("one file") };
    assert!(forgotten.out.contains(left.as_str()), "{}", forgotten.out);
}

#[test]
fn what_cannot_be_reached_is_owed_and_removed_when_it_is_back() {
    let world = World::new();
    let vault = world.path("notes");
    fs::create_dir_all(&vault).unwrap();
    super::configure(&world, &json!({"path": vault}));
    worked(&world, "-work-one", 1, "quokka");
    world.close(&id(1));
    ready(&world, 1);
    let away = world.path("away");
    fs::rename(&vault, &away).unwrap();
    let done = world.run(&["forget", &id(1), "--yes", "--json"]);
    assert_eq!(done.code, 1, "{}{}", done.out, done.err);
    assert!(text(&done.json()["message"]).contains("notes there still tell of it"), "{}", done.out);
    fs::rename(&away, &vault).unwrap();
    // Also where notes are off by then.
    fs::write(world.home().join("config.json"), "{}").unwrap();
    world.ok(&["status"]);
    assert!(crate::world::wait(|| with_word(&vault, "quokka").is_empty()), "{:?}", with_word(&vault, "quokka"));
    assert!(crate::world::wait(|| with_word(&world.home().join("vault-register"), "quokka").is_empty()));
}

#[test]
fn copies_beside_the_notes_are_named_wherever_the_vault_is() {
    for named in [false, true] {
        copies_are_named(named);
    }
}

fn copies_are_named(named: bool) {
    let world = World::new();
    let vault = if named { world.path("notes") } else { world.home().join("vault") };
    let root = vault.join("claude");
    if named {
        fs::create_dir_all(&vault).unwrap();
    }
    super::configure(&world, &if named { json!({"path": vault}) } else { json!({}) });
    worked(&world, "-work-one", 1, "quokka");
    worked(&world, "-work-one", 2, "platypus");
    world.close(&id(1));
    world.close(&id(2));
    ready(&world, 2);
    let copies = vault.join("My Stuff");
    fs::create_dir_all(&copies).unwrap();
    for path in notes(&root).iter().filter(|path| path.contains("/sessions/")) {
        fs::copy(root.join(path), copies.join(if path.contains("quokka") { "copy.md" } else { "other.md" })).unwrap();
    }
    // What a person deletes in Obsidian lies there.
    fs::create_dir_all(vault.join(".trash")).unwrap();
    fs::copy(copies.join("copy.md"), vault.join(".trash/deleted.md")).unwrap();
    let forgotten = world.ok(&["forget", &id(1), "--yes"]);
    assert!(forgotten.out.contains("no other file of Baton's home has that text"), "{}", forgotten.out);
    assert!(forgotten.out.contains(".trash/deleted.md"), "{}", forgotten.out);
    assert!(forgotten.out.contains("My Stuff/copy.md") && !forgotten.out.contains("other.md"), "{}", forgotten.out);
    assert_eq!(with_word(&root, "quokka"), [""; 0]);
    assert!(copies.join("copy.md").exists(), "it is a person's");
}

/// Whatever of a project's notes tells of it.
fn telling(folder: &Path, word: &str) -> Vec<(String, String)> {
    let read = |path: String| (fs::read_to_string(folder.join(&path)).unwrap(), path);
    notes(folder)
        .into_iter()
        .map(read)
        .filter(|(text, _)| text.contains(word))
        .map(|(text, path)| (path, text))
        .collect()
}

#[test]
fn a_note_of_another_session_that_is_called_the_same_keeps_what_it_has() {
    let world = with_notes(&json!({}));
    worked(&world, "-work-one", 1, "quokka");
    worked(&world, "-work-two", 2, "platypus");
    world.close(&id(1));
    world.close(&id(2));
    ready(&world, 2);
    for path in notes(&own(&world)).iter().filter(|path| path.contains("/sessions/")) {
        let path = own(&world).join(path);
        fs::rename(&path, path.with_file_name("Plan.md")).unwrap();
    }
    world.ok(&["vault", "sync"]);
    let before = telling(&own(&world), "platypus");
    assert!(before.len() >= 4 && before.iter().any(|(path, _)| path.contains("/entities/")), "{before:?}");
    world.ok(&["forget", &id(1), "--yes"]);
    assert_eq!(with_word(&own(&world), "quokka"), [""; 0]);
    world.ok(&["vault", "sync"]);
    let after = telling(&own(&world), "platypus");
    let paths = |notes: &[(String, String)]| notes.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>();
    assert_eq!(paths(&after), paths(&before));
    for ((path, before), (_, after)) in before.iter().zip(&after) {
        assert_eq!(before.matches("platypus").count(), after.matches("platypus").count(), "{path}: {after}");
    }
}

#[test]
fn two_homes_that_share_a_vault_give_no_name_twice_and_forget_their_own() {
    let (one, other) = (World::new(), World::new());
    let vault = one.path("notes");
    fs::create_dir_all(&vault).unwrap();
    // Both have looked at the names before the first of these is written.
    for (world, project, number) in [(&one, "-work-one", 7), (&other, "-work-two", 8)] {
        super::configure(world, &json!({"path": vault}));
        worked(world, project, number, "wallaby");
        world.close(&id(number));
        ready(world, 1);
    }
    worked(&one, "-work-one", 1, "quokka");
    one.close(&id(1));
    ready(&one, 2);
    worked(&other, "-work-two", 2, "quokka");
    other.close(&id(2));
    ready(&other, 2);
    let verified = one.json(&["vault", "verify"]);
    assert_eq!(verified["clean"], true, "{verified}");
    let of = |project: &str, word: &str| {
        let is_of = |(path, _): &(String, String)| path.contains("projects/") && path.contains(project);
        telling(&vault, word).into_iter().filter(is_of).collect::<Vec<_>>()
    };
    let [of_one, of_other] = ["one/", "two/"].map(|project| move |word: &str| of(project, word));
    let before = of_other("quokka");
    assert!(before.len() >= 3 && !of_one("quokka").is_empty(), "{before:?}");
    one.ok(&["forget", &id(1), "--yes"]);
    assert_eq!(of_other("quokka"), before);
    assert_eq!(of_one("quokka"), []);
    assert_eq!(other.json(&["vault", "verify"])["clean"], true);
}

#[test]
fn a_session_whose_name_only_begins_alike_is_not_named() {
    let world = with_notes(&json!({}));
    for number in [1, 2] {
        worked(&world, "-work-one", number, "quokka");
        world.close(&id(number));
        ready(&world, u64::from(number));
    }
    let names: Vec<String> = notes(&own(&world)).into_iter().filter(|path| path.contains("/sessions/")).collect();
    assert!(names.iter().any(|name| name.ends_with("-2.md")), "{names:?}");
    let forgotten = world.ok(&["forget", &id(1), "--yes"]);
    assert!(forgotten.out.contains("no file of Baton's home"), "{}", forgotten.out);
    assert_eq!(world.json(&["vault", "verify"])["clean"], true);
}

#[test]
fn what_may_not_be_looked_into_is_not_said_to_be_gone() {
    use std::os::unix::fs::PermissionsExt as _;

    let Some(world) = World::without_superpowers() else { return };
    super::configure(&world, &json!({}));
    worked(&world, "-work-one", 1, "quokka");
    world.close(&id(1));
    ready(&world, 1);
    let (path, _) = only_session(&own(&world));
    let folder = path.parent().unwrap();
    let mode = |bits| fs::set_permissions(folder, fs::Permissions::from_mode(bits)).unwrap();
    mode(0o000);
    let done = world.run(&["forget", &id(1), "--yes", "--json"]);
    assert_eq!(done.code, 1, "{}{}", done.out, done.err);
    mode(0o755);
    // It is made up for by itself.
    assert!(
        crate::world::wait(|| with_word(&own(&world), "quokka").is_empty()),
        "{:?}",
        with_word(&own(&world), "quokka")
    );
}

#[test]
fn a_note_without_a_head_is_known_by_what_baton_wrote_in_it() {
    let world = with_notes(&json!({}));
    worked(&world, "-work-one", 1, "quokka");
    worked(&world, "-work-one", 2, "platypus");
    world.close(&id(1));
    world.close(&id(2));
    ready(&world, 2);
    let all = notes(&own(&world));
    let path = |word: &str| {
        own(&world).join(all.iter().find(|path| path.contains("/sessions/") && path.contains(word)).unwrap())
    };
    let headless = |text: &str| {
        let body = text.split("\n---\n").nth(1).unwrap();
        body.lines()
            .filter(|line| !line.starts_with("<!-- baton:note"))
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    };
    // A person has made two notes of their own of them: one by a copy, one by another name.
    for word in ["quokka", "platypus"] {
        let text = fs::read_to_string(path(word)).unwrap();
        fs::write(own(&world).join(format!("projects/A copy of {}.md", word.len())), headless(&text)).unwrap();
    }
    let text = fs::read_to_string(path("quokka")).unwrap();
    fs::remove_file(path("quokka")).unwrap();
    fs::write(own(&world).join("projects/Another name.md"), headless(&text) + "\nMine.\n").unwrap();
    world.ok(&["forget", &id(1), "--yes"]);
    assert_eq!(with_word(world.home(), "quokka"), [""; 0]);
    assert!(!with_word(&own(&world).join("projects"), "A copy of 8").is_empty(), "the other's stays");
    assert!(with_word(&own(&world), "Mine.").len() == 1);
}

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
        fs::create_dir_all(&before).unwrap();
        fs::create_dir_all(&after).unwrap();
        super::configure(&world, &json!({"path": before}));
        for (number, word) in [(1, "quokka"), (2, "platypus")] {
            worked(&world, "-work-one", number, word);
            world.close(&id(number));
        }
        ready(&world, 2);
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

/// A vault with notes of two sessions, and whatever a person has made of it.
fn with_two(world: &World, vault: &Path) {
    fs::create_dir_all(vault).unwrap();
    super::configure(world, &json!({"path": vault}));
    for (number, word) in [(1, "quokka"), (2, "platypus")] {
        worked(world, "-work-one", number, word);
        world.close(&id(number));
    }
    ready(world, 2);
}

#[test]
fn a_copy_is_forgotten_in_and_its_original_too_once_it_is_back() {
    let world = World::new();
    let (original, copy, unplugged) = (world.path("original"), world.path("copy"), world.path("unplugged"));
    with_two(&world, &original);
    // Its own note has gone since: what led to it is known by the name alone.
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
        // The second one after another daemon has begun, with nothing to remember but what lies on the disk.
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
    with_two(&world, &original);
    world.stop();
    let mut copying = std::process::Command::new("cp");
    assert!(copying.arg("-a").arg(&original).arg(&copy).status().unwrap().success());
    fs::rename(&original, &unplugged).unwrap();
    super::configure(&world, &json!({"path": copy}));
    ready(&world, 2);
    world.ok(&["forget", &id(1), "--yes"]);
    // It is back when the next one is forgotten: nothing is done before both are gone from there.
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
    with_two(&world, &before);
    world.stop();
    // As folders were before they were known by an id.
    fs::remove_file(before.join("claude/.baton.id")).unwrap();
    let [register] = &files_below(&world.home().join("vault-register"))[..] else { panic!("one register") };
    let written = fs::read_to_string(register).unwrap();
    let (head, rest) = written.split_once('\n').unwrap();
    let mut head: serde_json::Value = serde_json::from_str(head).unwrap();
    assert!(head["vault"].as_object_mut().unwrap().remove("id").is_some(), "{head}");
    fs::write(register, format!("{head}\n{rest}")).unwrap();
    fs::create_dir_all(after.join("claude")).unwrap();
    // Whoever moves what he sees leaves what is hidden.
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
fn two_who_forget_at_once_are_each_told_what_came_of_it() {
    let world = World::new();
    let (vault, away) = (world.path("notes"), world.path("away"));
    with_two(&world, &vault);
    for number in [3, 4] {
        worked(&world, "-work-one", number, if number == 3 { "numbat" } else { "bilby" });
        world.close(&id(number));
    }
    ready(&world, 4);
    let both = |one: u32, other: u32| {
        let forget = |number: u32| world.run(&["forget", &id(number), "--yes", "--json"]);
        std::thread::scope(|scope| {
            let (one, other) = (scope.spawn(move || forget(one)), scope.spawn(move || forget(other)));
            [one.join().unwrap(), other.join().unwrap()]
        })
    };
    for done in both(1, 2) {
        assert_eq!((done.code, text(&done.json()["status"]).as_str()), (0, "success"), "{}{}", done.out, done.err);
    }
    // Whoever hears that it is done is told the truth, whatever the other one does.
    for word in ["quokka", "platypus"] {
        assert_eq!((with_word(&vault, word), with_word(world.home(), word)), (Vec::new(), Vec::new()), "{word}");
    }
    fs::rename(&vault, &away).unwrap();
    for done in both(3, 3) {
        assert_eq!((done.code, text(&done.json()["status"]).as_str()), (1, "error"), "{}{}", done.out, done.err);
        assert!(text(&done.json()["message"]).contains("notes there still tell of it"), "{}", done.out);
    }
    fs::rename(&away, &vault).unwrap();
    for done in both(3, 4) {
        assert_eq!(done.code, 0, "{}{}", done.out, done.err);
    }
    for word in ["numbat", "bilby"] {
        assert_eq!((with_word(&vault, word), with_word(world.home(), word)), (Vec::new(), Vec::new()), "{word}");
    }
    assert_eq!(world.json(&["vault", "verify"])["clean"], true);
}

#[test]
fn who_deletes_the_notes_of_a_vault_that_is_there_has_nothing_to_forget_in() {
    for named in [false, true] {
        let world = World::new();
        let vault = if named { world.path("notes") } else { world.home().join("vault") };
        let mine = vault.join("Mine.md");
        fs::create_dir_all(&vault).unwrap();
        super::configure(&world, &if named { json!({"path": vault}) } else { json!({}) });
        worked(&world, "-work-one", 1, "quokka");
        world.close(&id(1));
        ready(&world, 1);
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
fn notes_in_a_folder_that_is_linked_within_the_vault_are_forgotten_too() {
    let world = World::new();
    let vault = world.path("notes");
    fs::create_dir_all(vault.join("claude")).unwrap();
    fs::create_dir_all(vault.join("Elsewhere/projects")).unwrap();
    std::os::unix::fs::symlink("../Elsewhere/projects", vault.join("claude/projects")).unwrap();
    super::configure(&world, &json!({"path": vault, "compact_lines": 1}));
    for (number, word) in [(1, "quokka"), (2, "platypus")] {
        worked(&world, "-work-one", number, word);
        world.close(&id(number));
    }
    ready(&world, 2);
    assert!(!with_word(&vault.join("Elsewhere"), "quokka").is_empty());
    let verified = world.json(&["vault", "verify"]);
    assert_eq!(verified["clean"], true, "{verified}");
    let forgotten = world.ok(&["forget", &id(1), "--yes"]);
    assert!(forgotten.out.contains("no file of Baton's home"), "{}", forgotten.out);
    assert_eq!(with_word(&vault, "quokka"), [""; 0]);
    assert!(!with_word(&vault.join("Elsewhere"), "platypus").is_empty());
}
