use super::lock::LOCK;
use super::*;

fn vault_fs(vault: &Path) -> VaultFs {
    let mut vault_fs = VaultFs::new(vault.to_owned(), "claude".to_owned(), false);
    vault_fs.check(false).unwrap();
    vault_fs
}

fn left(result: Result<Found, Error>) -> String {
    match result {
        Err(Error::LeftAlone(why)) => why,
        other => panic!("it is left alone: {other:?}"),
    }
}

#[test]
fn a_note_is_written_atomically_and_only_over_what_was_read() {
    let temp = tempfile::tempdir().unwrap();
    let vault_fs = vault_fs(temp.path());
    let note = "claude/projects/web/sessions/one.md";
    let missing = vault_fs.read(note).unwrap();
    assert_eq!(missing.text, None);
    vault_fs.write(&missing, "first").unwrap();
    assert!(matches!(vault_fs.write(&missing, "again"), Err(Error::Changed)), "somebody has created it meanwhile");
    let found = vault_fs.read(note).unwrap();
    assert_eq!(found.text.as_deref(), Some("first"));
    fs::write(temp.path().join(note), "a person's words").unwrap();
    assert!(matches!(vault_fs.write(&found, "second"), Err(Error::Changed)));
    assert!(matches!(vault_fs.remove(&found), Err(Error::Changed)));
    let found = vault_fs.read(note).unwrap();
    vault_fs.write(&found, "second").unwrap();
    vault_fs.sync().unwrap();
    let folder = temp.path().join("claude/projects/web/sessions");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "no temporary file is left");
    assert_eq!(vault_fs.list_notes().unwrap().0, [note]);
    let found = vault_fs.read(note).unwrap();
    assert!(vault_fs.remove(&found).unwrap());
    vault_fs.sync().unwrap();
    assert_eq!(vault_fs.read(note).unwrap().text, None);
}

#[test]
fn only_the_home_s_own_vault_is_created() {
    let temp = tempfile::tempdir().unwrap();
    let settings = settings::Vault::default();
    let mut own = VaultFs::from_settings(&settings, temp.path());
    own.check(false).unwrap();
    assert!(temp.path().join("vault").is_dir());
    let missing = temp.path().join("not-mounted");
    let mut other = VaultFs::from_settings(&settings::Vault { path: Some(missing.clone()), ..settings }, temp.path());
    let refused = other.check(false).unwrap_err();
    assert!(refused.what.contains("not-mounted") && refused.fix.contains("mount"), "{refused:?}");
    assert!(other.lock().is_err());
    assert!(!missing.exists());
}

#[test]
fn an_empty_folder_of_notes_is_refused() {
    let temp = tempfile::tempdir().unwrap();
    let mut vault_fs = vault_fs(temp.path());
    vault_fs.check(false).unwrap();
    let refused = vault_fs.check(true).unwrap_err();
    assert!(refused.what.contains("is empty") && refused.fix.contains("vault sync"), "{refused:?}");
    let found = vault_fs.read("claude/Start.md").unwrap();
    vault_fs.write(&found, "x").unwrap();
    vault_fs.check(true).unwrap();
}

#[test]
fn other_files_are_left_alone() {
    let temp = tempfile::tempdir().unwrap();
    let vault_fs = vault_fs(temp.path());
    fs::create_dir_all(temp.path().join("claude/folder.md")).unwrap();
    fs::write(temp.path().join("claude/bytes.md"), b"\xff\xfe").unwrap();
    File::create(temp.path().join("claude/large.md")).unwrap().set_len(NOTE_MAX_BYTES + 1).unwrap();
    for (path, why) in [
        ("claude/folder.md", "is not a file"),
        ("claude/bytes.md", "is no UTF-8"),
        ("claude/large.md", "is larger"),
        ("../outside.md", "leads out"),
        ("claude/../../outside.md", "leads out"),
        ("/etc/passwd", "leads out"),
    ] {
        let reason = left(vault_fs.read(path));
        assert!(reason.contains(why), "{path}: {reason}");
    }
}

#[test]
fn a_name_in_another_case_is_the_same_file() {
    let temp = tempfile::tempdir().unwrap();
    let vault_fs = vault_fs(temp.path());
    fs::create_dir_all(temp.path().join("claude/Projects/Web")).unwrap();
    fs::write(temp.path().join("claude/Projects/Web/README.md"), "there").unwrap();
    let found = vault_fs.read("claude/projects/web/readme.md").unwrap();
    assert_eq!(found.text.as_deref(), Some("there"));
    vault_fs.write(&found, "here").unwrap();
    assert_eq!(vault_fs.list_notes().unwrap().0, ["claude/Projects/Web/README.md"]);
}

#[cfg(unix)]
#[test]
fn links_are_followed_only_inside_the_vault() {
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
    let vault_fs = vault_fs(&vault);
    let found = vault_fs.read("claude/inside/note.md").unwrap();
    vault_fs.write(&found, "x").unwrap();
    assert_eq!(fs::read_to_string(vault.join("elsewhere/note.md")).unwrap(), "x");
    for path in ["claude/outside/secret.md", "claude/outside/new.md", "claude/file.md"] {
        assert!(left(vault_fs.read(path)).contains("leads out"), "{path}");
    }
    assert!(left(vault_fs.read("claude/nothing.md")).contains("link to nothing"));
    assert_eq!(vault_fs.list_notes().unwrap().0, ["claude/inside/note.md"], "what is written is found");
    // Each folder once, under its own name if it has one here; a circular link is skipped.
    fs::create_dir(vault.join("claude/real")).unwrap();
    fs::write(vault.join("claude/real/one.md"), "x").unwrap();
    symlink(vault.join("claude/real"), vault.join("claude/again")).unwrap();
    symlink(vault.join("claude"), vault.join("claude/real/circle")).unwrap();
    symlink(vault.join("claude/real/one.md"), vault.join("claude/same.md")).unwrap();
    assert_eq!(vault_fs.list_all_notes().unwrap().0, ["claude/inside/note.md", "claude/real/one.md"]);
    assert_eq!(fs::read_to_string(outside.join("secret.md")).unwrap(), "secret");
}

#[cfg(unix)]
#[test]
fn a_note_keeps_its_permissions() {
    use std::os::unix::fs::PermissionsExt as _;

    let temp = tempfile::tempdir().unwrap();
    let vault_fs = vault_fs(temp.path());
    let note = temp.path().join("claude/one.md");
    fs::create_dir_all(temp.path().join("claude")).unwrap();
    fs::write(&note, "x").unwrap();
    fs::set_permissions(&note, fs::Permissions::from_mode(0o640)).unwrap();
    let found = vault_fs.read("claude/one.md").unwrap();
    vault_fs.write(&found, "y").unwrap();
    assert_eq!(fs::metadata(&note).unwrap().permissions().mode() & 0o777, 0o640);
    let mut own = VaultFs::from_settings(&settings::Vault::default(), temp.path());
    own.check(false).unwrap();
    let found = own.read("claude/one.md").unwrap();
    own.write(&found, "z").unwrap();
    let mode = fs::metadata(temp.path().join("vault/claude/one.md")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "conversations are private to their owner");
}

#[test]
fn leftovers_of_a_killed_daemon_are_listed() {
    let temp = tempfile::tempdir().unwrap();
    let vault_fs = vault_fs(temp.path());
    let lock = vault_fs.lock().unwrap();
    let left = temp.path().join("claude").join(temporary_name());
    fs::write(&left, "half a no").unwrap();
    assert_eq!(vault_fs.list_notes().unwrap(), (Vec::new(), vec![left]));
    let second = File::open(temp.path().join("claude").join(LOCK)).unwrap();
    assert!(matches!(second.try_lock(), Err(fs::TryLockError::WouldBlock)), "one home at a time");
    drop(lock);
    second.try_lock().unwrap();
}

#[test]
fn missing_and_unwritable_files_do_not_block_a_sync() {
    let temp = tempfile::tempdir().unwrap();
    let vault_fs = vault_fs(temp.path());
    for note in ["claude/a/one.md", "claude/b/two.md", "claude/c/three.md"] {
        vault_fs.write(&vault_fs.read(note).unwrap(), "first").unwrap();
    }
    let mut permissions = fs::metadata(temp.path().join("claude/a/one.md")).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(temp.path().join("claude/a/one.md"), permissions).unwrap();
    fs::remove_dir_all(temp.path().join("claude/b")).unwrap();
    vault_fs.sync().unwrap();
    assert!(vault_fs.unsettled.borrow().is_empty());
    let home = tempfile::tempdir().unwrap();
    let of = |path: &Path| {
        VaultFs::from_settings(
            &settings::Vault { path: Some(path.to_owned()), ..settings::Vault::default() },
            home.path(),
        )
    };
    let missing = of(&temp.path().join("no"));
    assert!(of(temp.path()).has_entries() && !missing.has_entries() && missing.is_gone());
}

#[test]
fn failed_syncs_are_repeated() {
    let temp = tempfile::tempdir().unwrap();
    let vault_fs = vault_fs(temp.path());
    let (one, two) = (temp.path().join("claude/one.md"), temp.path().join("claude/two.md"));
    vault_fs.write(&vault_fs.read("claude/one.md").unwrap(), "first").unwrap();
    vault_fs.write(&vault_fs.read("claude/two.md").unwrap(), "second").unwrap();
    // A file that cannot be opened for writing cannot be synced.
    fs::rename(&one, temp.path().join("kept")).unwrap();
    fs::create_dir(&one).unwrap();
    let refused = vault_fs.sync().unwrap_err();
    assert!(refused.what.contains(&temp.path().display().to_string()), "{refused:?}");
    assert_eq!(*vault_fs.unsettled.borrow(), std::slice::from_ref(&one), "the other one is durable");
    assert!(vault_fs.sync().is_err(), "while the disk refuses");
    fs::remove_dir(&one).unwrap();
    fs::rename(temp.path().join("kept"), &one).unwrap();
    vault_fs.sync().unwrap();
    assert!(vault_fs.unsettled.borrow().is_empty() && two.is_file());
}

#[cfg(unix)]
#[test]
fn a_folder_of_notes_outside_the_vault_is_refused() {
    let temp = tempfile::tempdir().unwrap();
    let (vault, outside) = (temp.path().join("vault"), temp.path().join("outside"));
    fs::create_dir_all(&vault).unwrap();
    fs::create_dir_all(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, vault.join("claude")).unwrap();
    let refused = VaultFs::new(vault, "claude".to_owned(), false).check(false).unwrap_err();
    assert!(refused.what.contains("leads out of the vault"), "{refused:?}");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}

#[test]
fn other_texts_are_listed_and_deep_folders_reported() {
    let temp = tempfile::tempdir().unwrap();
    let vault_fs = vault_fs(temp.path());
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
    assert_eq!(vault_fs.list_all_notes().unwrap().0, ["claude/a.md"]);
    let OtherFiles { texts, closed, .. } = vault_fs.other_files().unwrap();
    assert_eq!(texts, [".stversions/claude/a~1.md", ".trash/c.md", "claude/.trash/b.md", "claude/a.md~", "d.txt"]);
    assert!(closed.is_empty());
    fs::create_dir_all(temp.path().join(format!("claude{}", "/d".repeat(80)))).unwrap();
    assert!(vault_fs.list_notes().is_ok());
    assert!(vault_fs.list_all_notes().unwrap_err().what.contains("deeper than"));
    assert_eq!(vault_fs.other_files().unwrap().closed.len(), 1);
}

#[test]
fn too_many_files_are_reported() {
    let temp = tempfile::tempdir().unwrap();
    let vault_fs = vault_fs(temp.path());
    fs::create_dir_all(temp.path().join("Mine")).unwrap();
    let write = |number: usize| fs::write(temp.path().join(format!("Mine/{number}.md")), "x").unwrap();
    (0..NOTES_MAX).for_each(write);
    let outside = vault_fs.other_files().unwrap();
    assert_eq!((outside.texts.len(), outside.closed.len()), (NOTES_MAX, 0), "all files are listed");
    write(NOTES_MAX);
    let outside = vault_fs.other_files().unwrap();
    assert_eq!((outside.texts.len(), outside.closed), (NOTES_MAX, vec![vault_fs.vault().to_owned()]));
    fs::rename(temp.path().join("Mine"), temp.path().join("claude")).unwrap();
    assert!(vault_fs.list_all_notes().unwrap_err().what.contains("has more than"));
}

#[cfg(unix)]
#[test]
fn dangling_links_are_listed_and_only_links_removed() {
    let temp = tempfile::tempdir().unwrap();
    let vault_fs = vault_fs(temp.path());
    fs::create_dir_all(temp.path().join("claude")).unwrap();
    fs::write(temp.path().join("one.md"), "x").unwrap();
    for (to, link) in [("../one.md", "claude/there.md"), ("../two.md", "claude/gone.md"), ("two.md", "beside.md")] {
        std::os::unix::fs::symlink(to, temp.path().join(link)).unwrap();
    }
    let gone = ("claude/gone.md".to_owned(), PathBuf::from("../two.md"));
    assert_eq!(vault_fs.dangling_links().unwrap(), std::slice::from_ref(&gone));
    assert_eq!(vault_fs.other_files().unwrap().dangling.len(), 2);
    for path in ["claude/gone.md", "claude/there.md", "one.md"] {
        vault_fs.remove_link(path).unwrap();
    }
    assert_eq!((vault_fs.list_notes().unwrap().0.len(), vault_fs.dangling_links().unwrap().len()), (0, 0));
    assert!(temp.path().join("one.md").exists(), "it is no link");
}
