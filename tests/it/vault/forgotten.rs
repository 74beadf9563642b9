//! A forgotten session is removed from every note.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::{in_vault, notes, only_session, own, ready, until, with_notes, with_one, with_two, with_word, worked};
use crate::world::{World, id, text};

#[test]
fn what_is_forgotten_is_in_no_note_and_what_others_support_stays() {
    let world = with_notes(&json!({"compact_lines": 1}));
    with_two(&world);
    assert!(with_word(world.home(), "quokka").iter().any(|path| path.contains("/archive/")));
    let done = world.json(&["forget", &id(1), "--yes"]);
    assert_eq!(done["status"], "success", "{done}");
    // At once, before the daemon has done anything else.
    world.kill();
    assert_eq!(with_word(world.home(), "quokka"), [""; 0]);
    assert!(with_word(&own(&world), "platypus").len() >= 4);
    until(&world, "the rest", |told| told["notes"] == 1 && told["to_remove"] == 0);
    let verified = world.json(&["vault", "verify"]);
    assert_eq!(verified["clean"], true, "{verified}");
    // After the undo it is written again.
    world.ok(&["forget", &id(1), "--undo", "--yes"]);
    world.close(&id(1));
    ready(&world, 2);
    assert!(!with_word(&own(&world), "quokka").is_empty());
}

#[test]
fn without_a_register_notes_are_known_by_their_heads() {
    let world = with_notes(&json!({}));
    with_one(&world);
    world.stop();
    fs::remove_dir_all(world.home().join("vault-register")).unwrap();
    world.ok(&["forget", &id(1), "--yes"]);
    assert_eq!(with_word(&own(&world), "quokka"), [""; 0]);
}

#[test]
fn a_note_s_first_name_goes_also_where_it_was_renamed_or_removed_and_no_register_knows_it() {
    let check = |is_removed: bool, is_brought_in: bool| {
        let world = with_notes(&json!({}));
        with_two(&world);
        world.stop();
        fs::remove_dir_all(world.home().join("vault-register")).unwrap();
        let sessions = notes(&own(&world)).into_iter().filter(|path| path.contains("/sessions/"));
        let [note] = &sessions.filter(|path| path.contains("quokka")).collect::<Vec<_>>()[..] else {
            panic!("one note")
        };
        let note = own(&world).join(note);
        match is_removed {
            true => fs::remove_file(&note).unwrap(),
            false => fs::rename(&note, note.with_file_name("my own name.md")).unwrap(),
        }
        if is_brought_in {
            world.ok(&["vault", "sync"]);
        }
        world.ok(&["forget", &id(1), "--yes"]);
        let left = with_word(&world.home().join("vault"), "quokka");
        assert_eq!(left, [""; 0], "removed: {is_removed}, brought in: {is_brought_in}");
        assert_eq!(with_word(&world.home().join("vault-register"), "quokka"), [""; 0]);
        // The other session of that day still has everything.
        until(&world, "the rest", |told| told["notes"] == 1 && told["to_remove"] == 0 && told["behind"] == 0);
        assert!(with_word(&own(&world), "platypus").len() >= 4);
        assert_eq!(world.json(&["vault", "verify"])["clean"], true);
    };
    check(false, false);
    check(false, true);
    check(true, false);
    check(true, true);
}

#[test]
fn what_a_person_wrote_into_a_forgotten_note_stays() {
    let world = with_notes(&json!({}));
    with_one(&world);
    let (path, note) = only_session(&own(&world));
    fs::write(&path, note + "\nMy own conclusion.\n").unwrap();
    let forgotten = world.ok(&["forget", &id(1), "--yes"]);
    assert!(forgotten.out.contains("What people wrote or changed in these notes stays there"), "{}", forgotten.out);
    assert!(!path.exists(), "its name told what it was about");
    let left: Vec<String> = notes(&own(&world)).into_iter().filter(|path| path.contains("/sessions/")).collect();
    let [left] = left.as_slice() else { panic!("one: {left:?}") };
    let text = fs::read_to_string(own(&world).join(left)).unwrap();
    assert!(text.contains("My own conclusion.") && !text.contains("quokka"), "{left}: {text}");
}

#[test]
fn a_name_goes_also_where_only_a_person_s_words_are_left_under_it() {
    let world = with_notes(&json!({}));
    with_one(&world);
    let (path, _) = only_session(&own(&world));
    // The state left by a kill between the changes of the note and of its name.
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
    in_vault(&world, &vault);
    with_one(&world);
    let away = world.path("away");
    fs::rename(&vault, &away).unwrap();
    let done = world.run(&["forget", &id(1), "--yes", "--json"]);
    assert_eq!(done.code, 1, "{}{}", done.out, done.err);
    assert!(text(&done.json()["message"]).contains("notes there still mention it"), "{}", done.out);
    fs::rename(&away, &vault).unwrap();
    // Also if notes are disabled by then.
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
    with_two(&world);
    let copies = vault.join("My Stuff");
    fs::create_dir_all(&copies).unwrap();
    for path in notes(&root).iter().filter(|path| path.contains("/sessions/")) {
        fs::copy(root.join(path), copies.join(if path.contains("quokka") { "copy.md" } else { "other.md" })).unwrap();
    }
    // Obsidian's folder for deleted notes.
    fs::create_dir_all(vault.join(".trash")).unwrap();
    fs::copy(copies.join("copy.md"), vault.join(".trash/deleted.md")).unwrap();
    let forgotten = world.ok(&["forget", &id(1), "--yes"]);
    assert!(forgotten.out.contains("no other file of Baton's home has that text"), "{}", forgotten.out);
    assert!(forgotten.out.contains(".trash/deleted.md"), "{}", forgotten.out);
    assert!(forgotten.out.contains("My Stuff/copy.md") && !forgotten.out.contains("other.md"), "{}", forgotten.out);
    assert_eq!(with_word(&root, "quokka"), [""; 0]);
    assert!(copies.join("copy.md").exists(), "it is a person's");
}

/// The notes below a folder that contain a word, with their text.
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
    assert!(before.len() >= 3 && before.iter().any(|(path, _)| path.contains("/entities/")), "{before:?}");
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
    // Both homes have scanned the names before the first of these is written.
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
    with_one(&world);
    let (path, _) = only_session(&own(&world));
    let folder = path.parent().unwrap();
    let mode = |bits| fs::set_permissions(folder, fs::Permissions::from_mode(bits)).unwrap();
    mode(0o000);
    let done = world.run(&["forget", &id(1), "--yes", "--json"]);
    assert_eq!(done.code, 1, "{}{}", done.out, done.err);
    mode(0o755);
    // It is done later without a request.
    assert!(
        crate::world::wait(|| with_word(&own(&world), "quokka").is_empty()),
        "{:?}",
        with_word(&own(&world), "quokka")
    );
}

#[test]
fn a_note_without_a_head_is_known_by_what_baton_wrote_in_it() {
    let world = with_notes(&json!({}));
    with_two(&world);
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
    // A person has made two notes of their own from them, one by a copy and one by another name.
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
fn two_concurrent_forgets_each_report_their_result() {
    let world = World::new();
    let (vault, away) = (world.path("notes"), world.path("away"));
    in_vault(&world, &vault);
    with_two(&world);
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
    // Each success is true, whatever the other command does.
    for word in ["quokka", "platypus"] {
        assert_eq!((with_word(&vault, word), with_word(world.home(), word)), (Vec::new(), Vec::new()), "{word}");
    }
    fs::rename(&vault, &away).unwrap();
    for done in both(3, 3) {
        assert_eq!((done.code, text(&done.json()["status"]).as_str()), (1, "error"), "{}{}", done.out, done.err);
        assert!(text(&done.json()["message"]).contains("notes there still mention it"), "{}", done.out);
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
fn notes_in_a_folder_that_is_linked_within_the_vault_are_forgotten_too() {
    let world = World::new();
    let vault = world.path("notes");
    fs::create_dir_all(vault.join("claude")).unwrap();
    fs::create_dir_all(vault.join("Elsewhere/projects")).unwrap();
    std::os::unix::fs::symlink("../Elsewhere/projects", vault.join("claude/projects")).unwrap();
    super::configure(&world, &json!({"path": vault, "compact_lines": 1}));
    with_two(&world);
    assert!(!with_word(&vault.join("Elsewhere"), "quokka").is_empty());
    let verified = world.json(&["vault", "verify"]);
    assert_eq!(verified["clean"], true, "{verified}");
    let forgotten = world.ok(&["forget", &id(1), "--yes"]);
    assert!(forgotten.out.contains("no file of Baton's home"), "{}", forgotten.out);
    assert_eq!(with_word(&vault, "quokka"), [""; 0]);
    assert!(!with_word(&vault.join("Elsewhere"), "platypus").is_empty());
}

#[cfg(unix)]
#[test]
fn a_note_that_is_a_link_goes_with_what_it_leads_to() {
    use std::os::unix::fs::symlink;

    for is_written_in in [false, true] {
        let world = World::new();
        let vault = world.path("notes");
        in_vault(&world, &vault);
        with_two(&world);
        let path = notes(&vault).into_iter().find(|path| path.contains("/sessions/") && path.contains("quokka"));
        let link = vault.join(path.unwrap());
        let (kept, beside) = (vault.join("Elsewhere/kept.md"), link.with_file_name("Favourite.md"));
        fs::create_dir_all(kept.parent().unwrap()).unwrap();
        fs::rename(&link, &kept).unwrap();
        symlink(&kept, &link).unwrap();
        // A link to another note of the folder is not a note of its own.
        symlink(link.file_name().unwrap(), &beside).unwrap();
        if is_written_in {
            let text = fs::read_to_string(&kept).unwrap();
            fs::write(&kept, text + "\nMy own conclusion.\n").unwrap();
        }
        let forgotten = world.ok(&["forget", &id(1), "--yes"]);
        for gone in [&link, &kept, &beside] {
            assert!(fs::symlink_metadata(gone).is_err(), "{}: {}", gone.display(), forgotten.out);
        }
        assert_eq!(with_word(&vault, "quokka"), [""; 0]);
        assert_eq!(with_word(&vault, "My own conclusion.").len(), usize::from(is_written_in));
        assert!(!with_word(&vault, "platypus").is_empty());
        assert_eq!(world.json(&["vault", "verify"])["clean"], true);
    }
}

#[test]
fn what_a_person_always_wants_goes_from_where_a_note_of_the_same_name_has_lines_too_and_these_stay() {
    let world = with_notes(&json!({"compact_lines": 1}));
    for (project, number, word) in [("-work-one", 1, "quokka"), ("-work-two", 2, "platypus")] {
        let wish = format!("From now on always use the {word}, never npm");
        world.transcript(project, &id(number)).prompt(&wish).reply("ok");
        world.close(&id(number));
    }
    ready(&world, 2);
    let is_own = |path: &&String| path.contains("/sessions/") && !path.contains("/archive/");
    for path in notes(&own(&world)).iter().filter(is_own) {
        let path = own(&world).join(path);
        fs::rename(&path, path.with_file_name("Plan.md")).unwrap();
    }
    world.ok(&["vault", "sync"]);
    let preferences = || fs::read_to_string(own(&world).join("preferences.md")).unwrap();
    assert_eq!(preferences().matches("[[Plan]]").count(), 2, "{}", preferences());
    let forgotten = world.ok(&["forget", &id(1), "--yes"]);
    assert!(!forgotten.out.contains("preferences.md"), "{}", forgotten.out);
    assert_eq!(with_word(&own(&world), "quokka"), [""; 0]);
    // The other preference was last written when its session was compacted, and is written again.
    let is_back = || fs::read_to_string(own(&world).join("preferences.md")).is_ok_and(|it| it.contains("platypus"));
    assert!(crate::world::wait(is_back), "{:?}", telling(&own(&world), "platypus"));
    assert_eq!(world.json(&["vault", "verify"])["clean"], true);
}

#[test]
fn a_note_that_a_person_deleted_is_not_written_again_because_one_of_its_name_is_forgotten() {
    let world = with_notes(&json!({}));
    for (project, number, word) in
        [("-work-one", 1, "quokka"), ("-work-two", 2, "platypus"), ("-work-three", 3, "wallaby")]
    {
        worked(&world, project, number, word);
        world.close(&id(number));
    }
    ready(&world, 3);
    for path in notes(&own(&world)).iter().filter(|path| path.contains("/sessions/")) {
        let path = own(&world).join(path);
        fs::rename(&path, path.with_file_name("Plan.md")).unwrap();
    }
    world.ok(&["vault", "sync"]);
    let plan = |project: &str| {
        let is_it = |path: &String| path.contains(&format!("/{project}/")) && path.ends_with("/Plan.md");
        notes(&own(&world)).into_iter().find(is_it).map(|path| own(&world).join(path))
    };
    let (kept, deleted) = (plan("work-two"), plan("work-three"));
    fs::remove_file(deleted.as_ref().unwrap()).unwrap();
    world.ok(&["forget", &id(1), "--yes"]);
    assert_eq!(with_word(&own(&world), "quokka"), [""; 0]);
    until(&world, "what the other one has", |told| told["behind"] == 0 && told["to_remove"] == 0);
    assert_eq!((plan("work-two"), plan("work-three")), (kept, None));
}

#[test]
fn what_waits_of_others_does_not_name_it_either() {
    let world = World::new();
    let (vault, away) = (world.path("notes"), world.path("away"));
    in_vault(&world, &vault);
    let changed = |number: u32, words: &str| {
        let mut transcript = world.transcript("-work-one", &id(number));
        transcript
            .prompt(words)
            .call(
                "c1",
                "Edit",
                json!({"file_path": "/srv/-work-one/src/shared.rs", "old_string": "a", "new_string": "b"}),
            )
            .result("c1", "The file has been updated.", false)
            .reply("done");
        world.close(&id(number));
    };
    changed(1, "Mend the quokka");
    ready(&world, 1);
    fs::rename(&vault, &away).unwrap();
    changed(2, "Look at it again");
    let waits = |what: &str| until(&world, what, |told| told["pending"] == 1 && told["state"] == "waiting");
    waits("the second one");
    let pending = world.home().join("vault-pending");
    assert!(!with_word(&pending, "quokka").is_empty(), "both have changed that file");
    let done = world.run(&["forget", &id(1), "--yes", "--json"]);
    assert_eq!((done.code, with_word(&pending, "quokka")), (1, Vec::new()), "{}{}", done.out, done.err);
    // A note that is made again while the removal is owed does not name it either.
    world.stop();
    waits("the second one, once more");
    assert_eq!(with_word(&pending, "quokka"), [""; 0]);
    assert!(!with_word(&pending, "Look at it again").is_empty());
    fs::rename(&away, &vault).unwrap();
    until(&world, "both", |told| told["pending"] == 0 && told["to_remove"] == 0 && told["notes"] == 1);
    assert_eq!(with_word(&vault, "quokka"), [""; 0]);
}
