use super::lock::LOCK;
use super::*;

fn place(vault: &Path) -> Place {
    let mut place = Place::at(vault.to_owned(), "claude".to_owned(), false);
    place.look(false).unwrap();
    place
}

fn left(result: Result<Found, Error>) -> String {
    match result {
        Err(Error::Left(why)) => why,
        other => panic!("it is left alone: {other:?}"),
    }
}

#[test]
fn a_note_is_written_whole_and_only_over_what_was_read() {
    let temp = tempfile::tempdir().unwrap();
    let place = place(temp.path());
    let note = "claude/projects/web/sessions/one.md";
    let missing = place.read(note).unwrap();
    assert_eq!(missing.text, None);
    place.write(&missing, "first").unwrap();
    assert!(matches!(place.write(&missing, "again"), Err(Error::Changed)), "somebody made it meanwhile");
    let found = place.read(note).unwrap();
    assert_eq!(found.text.as_deref(), Some("first"));
    fs::write(temp.path().join(note), "a person's words").unwrap();
    assert!(matches!(place.write(&found, "second"), Err(Error::Changed)));
    assert!(matches!(place.remove(&found), Err(Error::Changed)));
    let found = place.read(note).unwrap();
    place.write(&found, "second").unwrap();
    place.settle().unwrap();
    let folder = temp.path().join("claude/projects/web/sessions");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing else is left there");
    assert_eq!(place.all().unwrap().0, [note]);
    let found = place.read(note).unwrap();
    assert!(place.remove(&found).unwrap());
    place.settle().unwrap();
    assert_eq!(place.read(note).unwrap().text, None);
}

#[test]
fn the_home_s_own_vault_is_made_and_another_is_not() {
    let temp = tempfile::tempdir().unwrap();
    let settings = settings::Vault::default();
    let mut own = Place::of(&settings, temp.path());
    own.look(false).unwrap();
    assert!(temp.path().join("vault").is_dir());
    let missing = temp.path().join("not-mounted");
    let mut other = Place::of(&settings::Vault { path: Some(missing.clone()), ..settings }, temp.path());
    let refused = other.look(false).unwrap_err();
    assert!(refused.what.contains("not-mounted") && refused.fix.contains("mount"), "{refused:?}");
    assert!(other.turn().is_err());
    assert!(!missing.exists());
}

#[test]
fn an_empty_folder_is_not_where_notes_were() {
    let temp = tempfile::tempdir().unwrap();
    let mut place = place(temp.path());
    place.look(false).unwrap();
    let refused = place.look(true).unwrap_err();
    assert!(refused.what.contains("is empty") && refused.fix.contains("vault sync"), "{refused:?}");
    let found = place.read("claude/Start.md").unwrap();
    place.write(&found, "x").unwrap();
    place.look(true).unwrap();
}

#[test]
fn what_is_no_note_is_left_alone() {
    let temp = tempfile::tempdir().unwrap();
    let place = place(temp.path());
    fs::create_dir_all(temp.path().join("claude/folder.md")).unwrap();
    fs::write(temp.path().join("claude/bytes.md"), b"\xff\xfe").unwrap();
    File::create(temp.path().join("claude/large.md")).unwrap().set_len(NOTE_MAX_BYTES + 1).unwrap();
    for (path, why) in [
        ("claude/folder.md", "is no file"),
        ("claude/bytes.md", "is no UTF-8"),
        ("claude/large.md", "is larger"),
        ("../outside.md", "leads out"),
        ("claude/../../outside.md", "leads out"),
        ("/etc/passwd", "leads out"),
    ] {
        let told = left(place.read(path));
        assert!(told.contains(why), "{path}: {told}");
    }
}

#[test]
fn a_name_in_other_letters_is_the_same_file() {
    let temp = tempfile::tempdir().unwrap();
    let place = place(temp.path());
    fs::create_dir_all(temp.path().join("claude/Projects/Web")).unwrap();
    fs::write(temp.path().join("claude/Projects/Web/README.md"), "there").unwrap();
    let found = place.read("claude/projects/web/readme.md").unwrap();
    assert_eq!(found.text.as_deref(), Some("there"));
    place.write(&found, "here").unwrap();
    assert_eq!(place.all().unwrap().0, ["claude/Projects/Web/README.md"]);
}

#[cfg(unix)]
#[test]
fn links_are_followed_inside_and_never_out_of_the_vault() {
    use std::os::unix::fs::symlink;

    let temp = tempfile::tempdir().unwrap();
    let (vault, outside) = (temp.path().join("vault"), temp.path().join("outside"));
    for folder in [vault.join("claude"), vault.join("elsewhere"), outside.clone()] {
        fs::create_dir_all(folder).unwrap();
    }
    fs::write(outside.join("secret.md"), "secret").unwrap();
    symlink(vault.join("elsewhere"), vault.join("claude/inside")).unwrap();
    symlink(&outside, vault.join("claude/outside")).unwrap();
    symlink(outside.join("secret.md"), vault.join("claude/file.md")).unwrap();
    symlink("nowhere", vault.join("claude/nothing.md")).unwrap();
    let place = place(&vault);
    let found = place.read("claude/inside/note.md").unwrap();
    place.write(&found, "x").unwrap();
    assert_eq!(fs::read_to_string(vault.join("elsewhere/note.md")).unwrap(), "x");
    for path in ["claude/outside/secret.md", "claude/outside/new.md", "claude/file.md"] {
        assert!(left(place.read(path)).contains("leads out"), "{path}");
    }
    assert!(left(place.read("claude/nothing.md")).contains("link to nothing"));
    assert_eq!(place.all().unwrap().0, ["claude/inside/note.md"], "what is written is found");
    // Each folder once, under its own name if it has one here; a circular link is skipped.
    fs::create_dir(vault.join("claude/real")).unwrap();
    fs::write(vault.join("claude/real/one.md"), "x").unwrap();
    symlink(vault.join("claude/real"), vault.join("claude/again")).unwrap();
    symlink(vault.join("claude"), vault.join("claude/real/circle")).unwrap();
    symlink(vault.join("claude/real/one.md"), vault.join("claude/same.md")).unwrap();
    assert_eq!(place.whole().unwrap().0, ["claude/inside/note.md", "claude/real/one.md"]);
    assert_eq!(fs::read_to_string(outside.join("secret.md")).unwrap(), "secret");
}

#[cfg(unix)]
#[test]
fn a_note_keeps_who_may_read_it() {
    use std::os::unix::fs::PermissionsExt as _;

    let temp = tempfile::tempdir().unwrap();
    let place = place(temp.path());
    let note = temp.path().join("claude/one.md");
    fs::create_dir_all(temp.path().join("claude")).unwrap();
    fs::write(&note, "x").unwrap();
    fs::set_permissions(&note, fs::Permissions::from_mode(0o640)).unwrap();
    let found = place.read("claude/one.md").unwrap();
    place.write(&found, "y").unwrap();
    assert_eq!(fs::metadata(&note).unwrap().permissions().mode() & 0o777, 0o640);
    let mut own = Place::of(&settings::Vault::default(), temp.path());
    own.look(false).unwrap();
    let found = own.read("claude/one.md").unwrap();
    own.write(&found, "z").unwrap();
    let mode = fs::metadata(temp.path().join("vault/claude/one.md")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "conversations are their owner's");
}

#[test]
fn what_a_killed_daemon_was_writing_is_known() {
    let temp = tempfile::tempdir().unwrap();
    let place = place(temp.path());
    let turn = place.turn().unwrap();
    let left = temp.path().join("claude").join(temporary());
    fs::write(&left, "half a no").unwrap();
    assert_eq!(place.all().unwrap(), (Vec::new(), vec![left]));
    let second = File::open(temp.path().join("claude").join(LOCK)).unwrap();
    assert!(matches!(second.try_lock(), Err(fs::TryLockError::WouldBlock)), "one home at a time");
    drop(turn);
    second.try_lock().unwrap();
}

#[test]
fn what_is_gone_or_may_not_be_written_holds_nothing_up() {
    let temp = tempfile::tempdir().unwrap();
    let place = place(temp.path());
    for note in ["claude/a/one.md", "claude/b/two.md", "claude/c/three.md"] {
        place.write(&place.read(note).unwrap(), "first").unwrap();
    }
    let mut permissions = fs::metadata(temp.path().join("claude/a/one.md")).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(temp.path().join("claude/a/one.md"), permissions).unwrap();
    fs::remove_dir_all(temp.path().join("claude/b")).unwrap();
    place.settle().unwrap();
    assert!(place.unsettled.borrow().is_empty());
    let home = tempfile::tempdir().unwrap();
    let of = |path: &Path| {
        Place::of(&settings::Vault { path: Some(path.to_owned()), ..settings::Vault::default() }, home.path())
    };
    let missing = of(&temp.path().join("no"));
    assert!(of(temp.path()).is_filled() && !missing.is_filled() && missing.is_gone());
}

#[test]
fn what_the_disk_refuses_to_keep_is_tried_again_with_the_next() {
    let temp = tempfile::tempdir().unwrap();
    let place = place(temp.path());
    let (one, two) = (temp.path().join("claude/one.md"), temp.path().join("claude/two.md"));
    place.write(&place.read("claude/one.md").unwrap(), "first").unwrap();
    place.write(&place.read("claude/two.md").unwrap(), "second").unwrap();
    // A file that cannot be opened for writing cannot be synced.
    fs::rename(&one, temp.path().join("kept")).unwrap();
    fs::create_dir(&one).unwrap();
    let refused = place.settle().unwrap_err();
    assert!(refused.what.contains(&temp.path().display().to_string()), "{refused:?}");
    assert_eq!(*place.unsettled.borrow(), std::slice::from_ref(&one), "the other one is there");
    assert!(place.settle().is_err(), "as long as it is refused");
    fs::remove_dir(&one).unwrap();
    fs::rename(temp.path().join("kept"), &one).unwrap();
    place.settle().unwrap();
    assert!(place.unsettled.borrow().is_empty() && two.is_file());
}

#[cfg(unix)]
#[test]
fn a_folder_of_notes_that_leads_out_of_the_vault_is_refused() {
    let temp = tempfile::tempdir().unwrap();
    let (vault, outside) = (temp.path().join("vault"), temp.path().join("outside"));
    fs::create_dir_all(&vault).unwrap();
    fs::create_dir_all(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, vault.join("claude")).unwrap();
    let refused = Place::at(vault, "claude".to_owned(), false).look(false).unwrap_err();
    assert!(refused.what.contains("leads out of the vault"), "{refused:?}");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}

#[test]
fn what_is_kept_beside_notes_is_looked_at_and_what_is_too_deep_is_said() {
    let temp = tempfile::tempdir().unwrap();
    let place = place(temp.path());
    for path in
        ["claude/a.md", "claude/a.md~", "claude/.trash/b.md", ".trash/c.md", ".stversions/claude/a~1.md", "d.txt"]
    {
        let file = temp.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "x").unwrap();
    }
    for hidden in [".obsidian/x.md", "e.png"] {
        fs::create_dir_all(temp.path().join(".obsidian")).unwrap();
        fs::write(temp.path().join(hidden), "x").unwrap();
    }
    assert_eq!(place.whole().unwrap().0, ["claude/a.md"]);
    let Outside { texts, closed, .. } = place.outside().unwrap();
    assert_eq!(texts, [".stversions/claude/a~1.md", ".trash/c.md", "claude/.trash/b.md", "claude/a.md~", "d.txt"]);
    assert!(closed.is_empty());
    fs::create_dir_all(temp.path().join(format!("claude{}", "/d".repeat(80)))).unwrap();
    assert!(place.all().is_ok());
    assert!(place.whole().unwrap_err().what.contains("deeper than"));
    assert_eq!(place.outside().unwrap().closed.len(), 1);
}

#[test]
fn more_than_is_looked_at_is_said_beside_the_notes_too() {
    let temp = tempfile::tempdir().unwrap();
    let place = place(temp.path());
    fs::create_dir_all(temp.path().join("Mine")).unwrap();
    let write = |number: usize| fs::write(temp.path().join(format!("Mine/{number}.md")), "x").unwrap();
    (0..NOTES_MAX).for_each(write);
    let outside = place.outside().unwrap();
    assert_eq!((outside.texts.len(), outside.closed.len()), (NOTES_MAX, 0), "all there is");
    write(NOTES_MAX);
    let outside = place.outside().unwrap();
    assert_eq!((outside.texts.len(), outside.closed), (NOTES_MAX, vec![place.vault().to_owned()]));
    fs::rename(temp.path().join("Mine"), temp.path().join("claude")).unwrap();
    assert!(place.whole().unwrap_err().what.contains("has more than"));
}

#[cfg(unix)]
#[test]
fn links_that_lead_nowhere_are_told_and_removed_alone() {
    let temp = tempfile::tempdir().unwrap();
    let place = place(temp.path());
    fs::create_dir_all(temp.path().join("claude")).unwrap();
    fs::write(temp.path().join("one.md"), "x").unwrap();
    for (to, link) in [("../one.md", "claude/there.md"), ("../two.md", "claude/gone.md"), ("two.md", "beside.md")] {
        std::os::unix::fs::symlink(to, temp.path().join(link)).unwrap();
    }
    let gone = ("claude/gone.md".to_owned(), PathBuf::from("../two.md"));
    assert_eq!(place.dangling().unwrap(), std::slice::from_ref(&gone));
    assert_eq!(place.outside().unwrap().dangling.len(), 2);
    for path in ["claude/gone.md", "claude/there.md", "one.md"] {
        place.remove_link(path).unwrap();
    }
    assert_eq!((place.all().unwrap().0.len(), place.dangling().unwrap().len()), (0, 0));
    assert!(temp.path().join("one.md").exists(), "it is no link");
}
