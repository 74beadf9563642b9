//! A vault that is missing or not writable: finished notes wait, and are delivered when it is back.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::{configure, goes_on, notes, ready, until, worked};
use crate::full_disk::{read_only, run_where_mounting_is_allowed};
use crate::world::{World, files_below, id, skipped, text, wait};

fn with_vault() -> (World, PathBuf) {
    let world = World::new();
    let vault = world.path("notes");
    fs::create_dir_all(&vault).unwrap();
    configure(&world, &json!({"path": vault}));
    (world, vault)
}

/// Waits until `count` ends were tried and none of them could be written.
fn waits(world: &World, count: u64) -> Value {
    until(world, "what waits", |told| told["state"] == "waiting" && told["pending"] == count)
}

/// Files of waiting notes.
fn waiting(world: &World) -> Vec<String> {
    let files = files_below(&world.home().join("vault-pending"));
    files.iter().map(|path| path.display().to_string()).collect()
}

#[test]
fn a_vault_that_is_missing_gets_everything_when_it_is_back() {
    let (world, vault) = with_vault();
    let mut transcript = worked(&world, "-work-one", 1, "wombat cache");
    world.close(&id(1));
    ready(&world, 1);
    let away = world.path("away");
    fs::rename(&vault, &away).unwrap();
    goes_on(&world, &mut transcript, "And the numbat index, too");
    worked(&world, "-work-one", 2, "bilby burrow");
    // A close neither waits for it nor fails.
    world.close(&id(1));
    world.close(&id(2));
    let told = waits(&world, 2);
    assert_eq!(told["state"], "waiting", "{told}");
    assert!(text(&told["problem"]["fix"]).contains("mount or put back"), "{told}");
    assert!(world.problems().contains("notes are not written"), "{}", world.problems());
    let kept = waiting(&world);
    assert!(kept.iter().any(|path| path.contains("bilby")), "{kept:?}");
    assert!(!vault.exists(), "it is not made");
    // Meanwhile a person edits a note, and the daemon is replaced.
    world.kill();
    let note = files_below(&away).into_iter().find(|path| path.display().to_string().contains("sessions/")).unwrap();
    let edited = fs::read_to_string(&note).unwrap() + "\nMy own words.\n";
    fs::write(&note, edited).unwrap();
    fs::rename(&away, &vault).unwrap();
    world.ok(&["status"]);
    ready(&world, 2);
    assert!(wait(|| waiting(&world).is_empty()), "{:?}", waiting(&world));
    let note = vault.join(note.strip_prefix(&away).unwrap());
    let text = fs::read_to_string(&note).unwrap();
    assert!(text.contains("My own words.") && text.contains("numbat index"), "{text}");
    assert!(notes(&vault).iter().any(|path| path.contains("bilby")));
    assert!(!world.problems().contains("notes are not written"));
}

#[test]
fn an_empty_folder_is_not_the_vault_until_somebody_says_so() {
    let (world, vault) = with_vault();
    let mut transcript = worked(&world, "-work-one", 1, "wombat cache");
    world.close(&id(1));
    ready(&world, 1);
    fs::remove_dir_all(vault.join("claude")).unwrap();
    goes_on(&world, &mut transcript, "And the numbat index, too");
    world.close(&id(1));
    let told = waits(&world, 1);
    assert!(text(&told["problem"]["fix"]).contains("vault sync"), "{told}");
    world.ok(&["vault", "sync"]);
    ready(&world, 1);
    assert!(waiting(&world).is_empty());
}

#[test]
fn a_place_where_nothing_is_mounted_is_not_written_to() {
    let (world, vault) = with_vault();
    worked(&world, "-work-one", 1, "wombat cache");
    world.close(&id(1));
    ready(&world, 1);
    world.stop();
    let away = world.path("away");
    fs::rename(&vault, &away).unwrap();
    fs::create_dir(&vault).unwrap();
    // More than are written individually.
    for number in 2..14 {
        let mut transcript = world.transcript("-work-one", &id(number)).minutes_ago(90);
        super::tell(&mut transcript, "-work-one", &format!("bilby burrow {number}"));
    }
    world.ok(&["sync"]);
    waits(&world, 12);
    // The next daemons try again, and the folder stays empty.
    for _ in 0..2 {
        world.stop();
        waits(&world, 12);
    }
    assert!(files_below(&vault).is_empty());
    fs::remove_dir(&vault).unwrap();
    fs::rename(&away, &vault).unwrap();
    ready(&world, 13);
}

#[test]
fn a_vault_that_is_not_there_or_no_folder_is_called_so() {
    let world = World::new();
    let (missing, file) = (world.path("missing"), world.path("file"));
    fs::write(&file, "").unwrap();
    worked(&world, "-work-one", 1, "wombat cache");
    for (path, what) in [(&missing, "is not there"), (&file, "is not a folder")] {
        configure(&world, &json!({"path": path}));
        world.close(&id(1));
        // The status may check the vault before anything was to be written.
        let told =
            until(&world, "what waits", |told| told["pending"] == 1 && text(&told["problem"]["what"]).contains(what));
        assert!(!text(&told["problem"]["what"]).contains("claude"), "{told}");
        assert_eq!(told["state"], "waiting", "{told}");
    }
}

#[test]
fn one_folder_that_takes_nothing_is_made_up_for() {
    let Some(world) = World::without_superpowers() else { return };
    configure(&world, &json!({}));
    let mut transcript = worked(&world, "-work-one", 1, "wombat cache");
    world.close(&id(1));
    ready(&world, 1);
    let (path, _) = super::only_session(&super::own(&world));
    let mode = |bits| {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(path.parent().unwrap(), fs::Permissions::from_mode(bits)).unwrap();
    };
    mode(0o555);
    goes_on(&world, &mut transcript, "And the bilby, too");
    until(&world, "what is left", |told| told["state"] == "incomplete");
    mode(0o755);
    assert!(wait(|| fs::read_to_string(&path).unwrap().contains("bilby")), "{}", world.log());
    ready(&world, 1);
}

/// A vault that never answers: opening the file for writing waits for a reader.
#[test]
fn a_disk_that_hangs_holds_nobody_up() {
    let world = World::new();
    let vault = world.path("notes");
    fs::create_dir_all(&vault).unwrap();
    let vaulted = json!({"enabled": true, "path": vault});
    fs::create_dir_all(world.home()).unwrap();
    fs::write(world.home().join("config.json"), json!({"vault": vaulted}).to_string()).unwrap();
    worked(&world, "-work-one", 1, "wombat cache");
    world.close(&id(1));
    ready(&world, 1);
    let lock = vault.join("claude/.baton.lock");
    fs::remove_file(&lock).unwrap();
    assert!(Command::new("mkfifo").arg(&lock).status().unwrap().success());
    worked(&world, "-work-one", 2, "bilby burrow");
    world.close(&id(2));
    // Background work continues: an abandoned session is closed and indexed.
    let mut abandoned = world.transcript("-work-one", &id(3)).minutes_ago(90);
    abandoned.prompt("the question about the numbat").reply("an answer");
    world.wait_for(&id(3), "the background", |row| row["state"] == "indexed");
    assert!(!notes(&vault).iter().any(|path| path.contains("bilby")), "it hangs still");
    let told = until(&world, "what is not written", |told| told["state"] == "writing");
    assert_eq!(told["notes"], 1, "{told}");
    // A daemon also stops when told to.
    world.stop();
    let reader = std::thread::spawn(move || fs::File::open(lock));
    world.ok(&["status"]);
    ready(&world, 3);
    drop(reader.join());
}

#[test]
fn what_waits_goes_with_a_forgotten_session() {
    let (world, vault) = with_vault();
    fs::remove_dir_all(&vault).unwrap();
    worked(&world, "-work-one", 1, "quokka");
    world.close(&id(1));
    waits(&world, 1);
    assert!(!waiting(&world).is_empty());
    world.ok(&["forget", &id(1), "--yes"]);
    assert_eq!(waiting(&world), [""; 0]);
    let said: Vec<_> = files_below(world.home())
        .into_iter()
        .filter(|path| fs::read(path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains("quokka")))
        .collect();
    assert!(said.is_empty(), "{said:?}");
}

#[test]
fn a_vault_that_may_not_be_written_is_said() {
    let Some(world) = World::without_superpowers() else { return };
    let vault = world.path("notes");
    fs::create_dir_all(vault.join("claude")).unwrap();
    configure(&world, &json!({"path": vault}));
    let mode = |bits| {
        use std::os::unix::fs::PermissionsExt as _;
        for folder in [vault.join("claude"), vault.clone()] {
            fs::set_permissions(folder, fs::Permissions::from_mode(bits)).unwrap();
        }
    };
    mode(0o555);
    worked(&world, "-work-one", 1, "wombat cache");
    world.close(&id(1));
    let told = waits(&world, 1);
    assert!(text(&told["problem"]["fix"]).contains("readable and writable for you"), "{told}");
    mode(0o755);
    ready(&world, 1);
}

/// Runs the tests of [`mounted`] if mounting is allowed.
#[test]
fn on_a_small_file_system_of_its_own() {
    if !run_where_mounting_is_allowed("vault::refused::mounted::", 4) {
        skipped("a small file system may not be mounted here");
    }
}

/// Tests on file systems of their own; the mounts go with the mount namespace of each test.
mod mounted {
    use super::*;

    fn mount(arguments: &[&str], at: &Path) {
        let ran = Command::new("mount").args(arguments).arg(at).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    }

    /// A vault of a megabyte with the notes of one session.
    fn with_one_note() -> (World, PathBuf) {
        let (world, vault) = with_vault();
        mount(&["-t", "tmpfs", "-o", "size=1m,mode=700", "none"], &vault);
        worked(&world, "-work-one", 1, "wombat cache");
        world.close(&id(1));
        ready(&world, 1);
        (world, vault)
    }

    /// Takes all remaining space of a vault.
    fn filled(vault: &Path) -> (PathBuf, fs::File) {
        use std::io::Write as _;
        let filler = vault.join("filler");
        let mut file = fs::File::create(&filler).unwrap();
        while file.write(&[b'x'; 4096]).is_ok_and(|written| written > 0) {}
        (filler, file)
    }

    fn problem(told: &Value) -> String {
        format!("{} {}", told["problem"]["what"], told["problem"]["fix"])
    }

    #[test]
    #[ignore = "run by on_a_small_file_system_of_its_own"]
    fn a_full_vault() {
        let (world, vault) = with_one_note();
        let (filler, file) = filled(&vault);
        drop(file);
        worked(&world, "-work-one", 2, "bilby burrow");
        world.close(&id(2));
        let told = waits(&world, 1);
        assert!(problem(&told).contains("free space on the disk of the vault"), "{told}");
        fs::remove_file(&filler).unwrap();
        ready(&world, 2);
        assert!(waiting(&world).is_empty());
        assert_eq!(world.json(&["vault", "verify"])["clean"], true);
    }

    #[test]
    #[ignore = "run by on_a_small_file_system_of_its_own"]
    fn a_vault_that_turns_read_only() {
        let (world, vault) = with_vault();
        mount(&["-t", "tmpfs", "-o", "size=4m,mode=700", "none"], &vault);
        worked(&world, "-work-one", 1, "wombat cache");
        world.close(&id(1));
        ready(&world, 1);
        read_only(&vault, true);
        worked(&world, "-work-one", 2, "bilby burrow");
        world.close(&id(2));
        let told = waits(&world, 1);
        assert!(problem(&told).contains("writable again"), "{told}");
        read_only(&vault, false);
        ready(&world, 2);
        assert!(waiting(&world).is_empty());
    }

    #[test]
    #[ignore = "run by on_a_small_file_system_of_its_own"]
    fn what_was_begun_on_a_full_disk_is_forgotten_whole() {
        let (world, vault) = with_one_note();
        let (filler, file) = filled(&vault);
        worked(&world, "-work-one", 2, "quokka burrow");
        world.close(&id(2));
        waits(&world, 1);
        let telling = || {
            let has = |path: &PathBuf| fs::read_to_string(path).is_ok_and(|text| text.contains("quokka"));
            files_below(&vault.join("claude")).into_iter().filter(has).collect::<Vec<_>>()
        };
        // Enough room for the first of its notes, and not for the session's own.
        while telling().is_empty() {
            let length = file.metadata().unwrap().len();
            file.set_len(length.checked_sub(4096).expect("a note finds room")).unwrap();
            assert_ne!(world.run(&["vault", "sync"]).code, 0);
        }
        assert!(telling().iter().all(|path| path.components().any(|part| part.as_os_str() == "entities")));
        // Nothing more is written, and what is there is known.
        fs::write(world.home().join("config.json"), json!({"vault": {"path": vault}}).to_string()).unwrap();
        world.stop();
        drop(file);
        fs::remove_file(&filler).unwrap();
        let done = world.json(&["forget", &id(2), "--yes"]);
        assert_eq!(done["status"], "success", "{done}");
        assert_eq!(telling(), [""; 0].map(PathBuf::from));
        assert!(notes(&vault).iter().any(|path| path.contains("wombat")), "what others support stays");
    }

    #[test]
    #[ignore = "run by on_a_small_file_system_of_its_own"]
    fn what_a_vault_refuses_one_session_is_said_although_it_takes_another() {
        let (world, vault) = with_one_note();
        let (filler, file) = filled(&vault);
        let mut large = world.transcript("-work-one", &id(2));
        for at in 0..600 {
            large.prompt(&format!("Prompt {at} of many, {}", "with many words ".repeat(20))).reply("done");
        }
        world.close(&id(2));
        waits(&world, 1);
        worked(&world, "-work-two", 3, "bilby burrow");
        world.close(&id(3));
        waits(&world, 2);
        // Room for the small one, and for all notes that the large one links to.
        let length = file.metadata().unwrap().len();
        file.set_len(length - 64 * 1024).unwrap();
        let told = until(&world, "the small one", |told| {
            told["notes"] == 2 && told["pending"] == 1 && told["state"] == "waiting"
        });
        for _ in 0..3 {
            // Whichever was tried last.
            let told = world.json(&["vault", "status"]);
            assert!(problem(&told).contains("free space on the disk of the vault"), "{told}");
            assert_ne!(world.run(&["vault", "sync"]).code, 0);
        }
        assert_eq!(told["state"], "waiting", "{told}");
        drop(file);
        fs::remove_file(&filler).unwrap();
        // Without a request.
        ready(&world, 3);
        assert!(waiting(&world).is_empty());
        let all = notes(&vault);
        let note = all
            .iter()
            .map(|path| fs::read_to_string(vault.join(path)).unwrap())
            .find(|text| text.contains("Prompt 0 "));
        let note = note.unwrap();
        assert!((0..600).all(|at| note.contains(&format!(" Prompt {at} of many"))), "a line for each");
    }
}
