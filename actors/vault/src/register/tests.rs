use super::*;

fn id(text: &str) -> SessionId {
    SessionId::new(text).unwrap()
}

fn entry(note: &str, stamp: &str) -> Entry {
    let (note, stamp, status) = (Some(note.to_owned()), stamp.to_owned(), "active".to_owned());
    Entry { note, stamp, status, ..Entry::default() }
}

#[test]
fn the_last_line_of_a_session_wins() {
    let home = tempfile::tempdir().unwrap();
    let settings = settings::Vault::default();
    let open = || Register::open(home.path(), &settings).unwrap();
    let mut register = open();
    assert!(register.entries.is_empty() && !register.has_notes());
    register.put(&id("a"), entry("one.md", "1"));
    register.put_folder("/srv/web", "web");
    register.set_swept_at(7);
    register.save().unwrap();
    register.put(&id("a"), entry("one.md", "2"));
    register.put(&id("b"), entry("two.md", "1"));
    register.save().unwrap();
    let again = open();
    assert_eq!(again.entries, register.entries);
    assert_eq!((again.get(&id("a")).unwrap().stamp.as_str(), again.swept_at()), ("2", Some(7)));
    assert_eq!(again.folder("/srv/web"), Some("web"));
    assert!(again.has_notes());
}

#[test]
fn a_directory_that_contains_a_key_is_redacted() {
    let home = tempfile::tempdir().unwrap();
    let settings = settings::Vault::default();
    let key = |above: &str, letters: &str| format!("/{above}/sk-ant-api03-{}", letters.repeat(12));
    let (one, other) = (key("srv", "a1B2c3D4"), key("home", "e5F6g7H8"));
    let mut register = Register::open(home.path(), &settings).unwrap();
    register.put_folder(&one, "one");
    register.put_folder("/srv/web", "web");
    register.save().unwrap();
    let file = register.file().to_owned();
    // As earlier versions wrote it.
    let mut text = fs::read_to_string(&file).unwrap();
    assert!(!text.contains(&one));
    text += &format!("{}\n", serde_json::json!({"project": {"path": other, "folder": "other"}}));
    fs::write(&file, text).unwrap();
    for _ in 0..2 {
        let again = Register::open(home.path(), &settings).unwrap();
        let folders = [&one, &other, "/srv/web"].map(|path| again.folder(path).map(str::to_owned));
        assert_eq!(folders, ["one", "other", "web"].map(|folder| Some(folder.to_owned())));
        assert!(again.folders().all(|(path, _)| path != one && path != other));
        let text = fs::read_to_string(&file).unwrap();
        assert!(!text.contains(&other) && !text.contains(&one), "{text}");
    }
}

#[test]
fn a_name_stays_reserved_for_its_session() {
    let home = tempfile::tempdir().unwrap();
    let mut register = Register::open(home.path(), &settings::Vault::default()).unwrap();
    register.put(&id("a"), entry("claude/projects/web/sessions/2026-03-14-Mend.md", "1"));
    let key = name::key("2026-03-14-mend");
    assert!(register.is_name_in_use(&key, &id("b")) && !register.is_name_in_use(&key, &id("a")));
    assert!(
        !register.is_name_in_use(&name::key("2026-03-15-mend"), &id("b")) && !register.is_name_in_use("x", &id("b"))
    );
}

#[test]
fn a_begun_note_survives_a_kill_and_unsaved_lines_do_not() {
    let home = tempfile::tempdir().unwrap();
    let settings = settings::Vault::default();
    let open = || Register::open(home.path(), &settings).unwrap();
    let mut register = open();
    register.begin_note(&id("a"), "one.md", None).unwrap();
    register.put(&id("a"), entry("one.md", "1"));
    register.begin_note(&id("b"), "two.md", None).unwrap();
    let killed = open();
    let known = |id: &SessionId| killed.get(id).map(|entry| (entry.note.clone(), entry.linked_note(), &*entry.stamp));
    assert_eq!(known(&id("a")), Some((None, Some("one.md"), "")));
    assert_eq!(known(&id("b")), Some((None, Some("two.md"), "")));
    assert!(killed.had_notes() && !killed.has_notes());
    assert!(killed.is_name_in_use(&name::key("two"), &id("a")), "no other session has the name");
    register.save().unwrap();
    assert_eq!(open().get(&id("a")), Some(&entry("one.md", "1")));
    // Also after a torn line; and a known name is not written again.
    let torn = fs::read_to_string(&register.file).unwrap() + "{\"session\":";
    fs::write(&register.file, torn).unwrap();
    let mut register = open();
    register.begin_note(&id("a"), "one.md", None).unwrap();
    register.begin_note(&id("c"), "three.md", None).unwrap();
    let after = open();
    assert_eq!(after.get(&id("a")), Some(&entry("one.md", "1")));
    assert_eq!(after.get(&id("c")).and_then(Entry::linked_note), Some("three.md"));
}

#[test]
fn a_torn_line_loses_only_its_session() {
    let home = tempfile::tempdir().unwrap();
    let settings = settings::Vault::default();
    let mut register = Register::open(home.path(), &settings).unwrap();
    register.put(&id("a"), entry("one.md", "1"));
    register.put(&id("b"), entry("two.md", "1"));
    register.save().unwrap();
    let text = fs::read_to_string(&register.file).unwrap();
    for end in 0..text.len() {
        fs::write(&register.file, &text[..end]).unwrap();
        let mut torn = Register::open(home.path(), &settings).unwrap();
        assert!(torn.entries.iter().all(|(id, entry)| register.get(id) == Some(entry)), "at {end}");
        torn.put(&id("c"), entry("three.md", "1"));
        torn.save().unwrap();
        let after = Register::open(home.path(), &settings).unwrap();
        assert_eq!(after.entries, torn.entries, "at {end}");
    }
}

#[test]
fn a_register_torn_inside_a_character_is_read_and_other_files_are_reported() {
    let home = tempfile::tempdir().unwrap();
    let mut register = Register::open(home.path(), &settings::Vault::default()).unwrap();
    register.put(&id("a"), entry("eins.md", "1"));
    register.put(&id("b"), entry("für-später.md", "1"));
    register.save().unwrap();
    let bytes = fs::read(&register.file).unwrap();
    let letter = bytes.windows(2).rposition(|pair| pair == "ä".as_bytes()).unwrap();
    fs::write(&register.file, &bytes[..=letter]).unwrap();
    let (all, unread) = Register::open_all(home.path());
    assert_eq!((all.len(), unread.len()), (1, 0));
    assert!(all[0].get(&id("a")).is_some());
    fs::write(home.path().join(FOLDER).join("other.jsonl"), "{").unwrap();
    let (all, unread) = Register::open_all(home.path());
    assert!(all.len() == 1 && unread.len() == 1 && unread[0].contains("other.jsonl"), "{unread:?}");
}

#[test]
fn sealed_entries_reveal_no_name_and_are_found_by_name() {
    let home = tempfile::tempdir().unwrap();
    let elsewhere = settings::Vault { path: Some("/mnt/notes".into()), ..settings::Vault::default() };
    let mut register = Register::open(home.path(), &elsewhere).unwrap();
    let note = Entry {
        left: Some("secret: it is no file".to_owned()),
        prints: ["0123456789abcdef".to_owned()].into(),
        without_note: [(Uuid::from_u128(1), "- secret".to_owned())].into(),
        ..entry("claude/projects/web/sessions/2026-03-14-secret-plans.md", "1")
    };
    register.put(&id("a"), note);
    register.put(&id("b"), Entry { stamp: "nobody typed anything".to_owned(), ..Entry::default() });
    register.save().unwrap();
    for _ in 0..2 {
        register.seal(&[id("a"), id("b"), id("unknown")], false).unwrap();
        let text = fs::read_to_string(register.file()).unwrap();
        assert!(!text.contains("secret") && !text.contains("typed"), "{text}");
        register = Register::open(home.path(), &elsewhere).unwrap();
        let sealed = register.get(&id("a")).unwrap();
        assert_eq!(sealed.called.as_deref(), Some(name_print("2026-03-14-secret-plans").as_str()));
        assert_eq!((sealed.prints.len(), sealed.without_note.len(), register.entries.len()), (1, 0, 1));
        assert!(register.had_notes() && register.has_sealed() && !register.has_notes());
    }
}

#[test]
fn entries_of_an_unknown_folder_are_lost_until_removed_somewhere() {
    let home = tempfile::tempdir().unwrap();
    let mut register = Register::open(home.path(), &settings::Vault::default()).unwrap();
    register.put(&id("a"), entry("one.md", "1"));
    register.set_id("0f").unwrap();
    for (found, is_lost) in [(None, true), (None, true), (Some("aa"), true), (Some("0f"), false), (None, false)] {
        match found {
            Some(folder) => register.mark_removed(&[id("a"), id("unknown")], folder).unwrap(),
            None => register.seal(&[id("a")], true).unwrap(),
        }
        register.set_id("aa").unwrap();
        register = Register::open(home.path(), &settings::Vault::default()).unwrap();
        let sealed = register.get(&id("a")).unwrap();
        assert!(
            sealed.is_sealed()
                && sealed.applies_to(Some("0f"))
                && !sealed.applies_to(Some("aa"))
                && !sealed.applies_to(None)
        );
        assert_eq!((sealed.is_lost_from("0f"), sealed.is_lost_from("aa")), (is_lost, false));
    }
}

#[test]
fn forgotten_sessions_leave_no_line() {
    let home = tempfile::tempdir().unwrap();
    let elsewhere = settings::Vault { path: Some("/mnt/notes".into()), ..settings::Vault::default() };
    let mut register = Register::open(home.path(), &elsewhere).unwrap();
    for number in 0..500 {
        register.put(&id("a"), entry("secret-plans.md", &number.to_string()));
        register.put(&id("b"), entry("other.md", &number.to_string()));
        register.save().unwrap();
    }
    assert!(register.lines <= SLACK + 10, "{}", register.lines);
    register.forget([&id("a"), &id("unknown")]).unwrap();
    let text = fs::read_to_string(&register.file).unwrap();
    assert!(!text.contains("secret") && text.contains("other.md"), "{text}");
    let (all, unread) = Register::open_all(home.path());
    assert_eq!(unread, [""; 0]);
    let [one] = all.as_slice() else { panic!("one register: {}", all.len()) };
    assert_eq!((&one.path, one.entries.len()), (&elsewhere.path, 1));
}
