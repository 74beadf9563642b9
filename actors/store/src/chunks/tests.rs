use baton_conversation::transcript::Cursor;

use super::*;

fn session() -> SessionId {
    SessionId::new("7acd37a8-2745-4b58-a8a9-46164b22ad9e").unwrap()
}

fn store() -> (tempfile::TempDir, ChunkStore) {
    let home = tempfile::tempdir().unwrap();
    let store = ChunkStore::open(home.path().join("blobs")).unwrap();
    (home, store)
}

/// Different lines of these lengths.
fn lines(lengths: &[usize]) -> Vec<Vec<u8>> {
    let line = |(index, length): (usize, &usize)| format!("{index:08}{}", "x".repeat(length - 8)).into_bytes();
    lengths.iter().enumerate().map(line).collect()
}

fn header(to: u64) -> Header {
    let cursor = Cursor { offset: to, line: to / 10, ..Cursor::default() };
    Header {
        generation: 1,
        filter_version: 2,
        item_version: 2,
        cursor,
        tail: "abc".into(),
        unread: Vec::new(),
        shortened: false,
    }
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_was_appended_is_read_back_in_chunks_of_whole_items() {
    let (_home, store) = store();
    let check = |lengths: &[usize], items: &[u64]| {
        let lines = lines(lengths);
        let id = store.append(&session(), None, &lines, header(77)).unwrap();
        let (manifest, read) = store.read(&session(), &id).unwrap();
        assert_eq!(read, lines.iter().flat_map(|line| [line, &b"\n"[..]].concat()).collect::<Vec<_>>());
        assert_eq!(manifest.chunks.iter().map(|chunk| chunk.items).collect::<Vec<_>>(), items, "{lengths:?}");
        assert_eq!((manifest.items, manifest.bytes), (lines.len() as u64, read.len() as u64));
        assert_eq!(manifest.header, header(77));
        assert_eq!(ManifestId::parse(&id.to_string()), Some(id));
        for chunk in &manifest.chunks {
            assert!(chunk.bytes <= CHUNK_BYTES as u64 || chunk.items == 1, "{chunk:?}");
        }
    };
    let half = CHUNK_BYTES / 2;
    check(&[], &[]);
    check(&[8], &[1]);
    check(&[half - 1, half - 1], &[2]);
    check(&[half - 1, half], &[1, 1]);
    check(&[half, half, 100, half], &[1, 2, 1]);
    check(&[100, 3 * CHUNK_BYTES, 100], &[1, 1, 1]);
    check(&[1000; 600], &[261, 261, 78]);
}

#[test]
fn pieces_give_the_same_chunks_as_the_whole() {
    let (_home, store) = store();
    let lengths: Vec<_> = (0..300).map(|index| 8 + (index * 7919) % 9000).collect();
    let all = lines(&lengths);
    let whole = store.append(&session(), None, &all, header(300)).unwrap();
    assert!(store.manifest(&session(), &whole).unwrap().chunks.len() > 3);
    for step in [1, 7, 100, 299] {
        let mut prior = None;
        for piece in all.chunks(step) {
            prior = Some(store.append(&session(), prior.as_ref(), piece, header(300)).unwrap());
        }
        assert_eq!(prior, Some(whole), "in pieces of {step}");
    }
}

#[test]
fn an_append_alters_no_file_and_writes_only_the_last_chunk_again() {
    let (_home, store) = store();
    let all = lines(&[100_000; 10]);
    let first = store.append(&session(), None, &all[..9], header(9)).unwrap();
    let folder = store.folder_of(&session());
    let before: Vec<_> = names(&folder).into_iter().map(|name| (fs::read(folder.join(&name)).unwrap(), name)).collect();
    let second = store.append(&session(), Some(&first), &all[9..], header(10)).unwrap();
    for (bytes, name) in before {
        assert_eq!(fs::read(folder.join(&name)).unwrap(), bytes, "{name}");
    }
    let (one, two) = (store.manifest(&session(), &first).unwrap(), store.manifest(&session(), &second).unwrap());
    assert_eq!((one.chunks.len(), two.chunks.len()), (5, 5));
    assert_eq!(one.chunks[..4], two.chunks[..4]);
    assert_ne!(one.chunks[4], two.chunks[4]);
    let third = store.append(&session(), Some(&second), &[], header(11)).unwrap();
    let three = store.manifest(&session(), &third).unwrap();
    assert_eq!((three.chunks, three.header), (two.chunks, header(11)), "a newer header over the same items");
}

#[test]
fn collecting_leaves_exactly_what_is_named() {
    let (_home, store) = store();
    let all = lines(&[100_000; 6]);
    let ids: Vec<_> =
        (1..=6).map(|count| store.append(&session(), None, &all[..count], header(count as u64)).unwrap()).collect();
    let folder = store.folder_of(&session());
    fs::write(folder.join("tmp-left"), "half").unwrap();
    let expected = [store.read(&session(), &ids[1]).unwrap(), store.read(&session(), &ids[4]).unwrap()];
    let count = names(&folder).len() as u64;
    let removed = store.collect(&session(), &[ids[1], ids[4]]).unwrap();
    assert_eq!(removed.files, count - names(&folder).len() as u64);
    assert_eq!([store.read(&session(), &ids[1]).unwrap(), store.read(&session(), &ids[4]).unwrap()], expected);
    assert_eq!(names(&folder).len(), 2 + 3, "two manifests, the chunks 0-1, 2-3 and 4");
    assert!(matches!(store.read(&session(), &ids[5]), Err(Error::Missing { .. })));

    let before = names(&folder);
    let error = store.collect(&session(), &[ids[1], ids[5]]).expect_err("cannot know what to keep");
    assert!(matches!(error, Error::Missing { .. }), "{error}");
    assert_eq!(names(&folder), before);
}

#[test]
fn forgetting_leaves_nothing() {
    let (_home, store) = store();
    let other = SessionId::new("other").unwrap();
    let kept = store.append(&other, None, &lines(&[50]), header(1)).unwrap();
    let gone = store.append(&session(), None, &lines(&[50]), header(1)).unwrap();
    let stored = store.stored(&session()).unwrap();
    assert_eq!((stored.files, store.forget(&session()).unwrap()), (2, stored));
    assert_eq!(store.stored(&session()).unwrap(), Removed::default());
    assert!(!store.folder_of(&session()).exists());
    assert!(matches!(store.read(&session(), &gone), Err(Error::Missing { .. })));
    assert_eq!(store.forget(&session()).unwrap(), Removed::default());
    store.read(&other, &kept).unwrap();
    assert_eq!(store.collect(&session(), &[]).unwrap(), Removed::default());
}

#[test]
fn a_batch_appears_at_once_or_not_at_all() {
    let (_home, store) = store();
    let sessions: Vec<_> = (0..5).map(|n| SessionId::new(&format!("s{n}")).unwrap()).collect();
    let mut batch = store.batch();
    let ids: Vec<_> =
        sessions.iter().map(|session| batch.append(session, None, &lines(&[20; 3]), header(1)).unwrap()).collect();
    assert!(matches!(store.read(&sessions[0], &ids[0]), Err(Error::Missing { .. })));
    batch.commit().unwrap();
    for (session, id) in sessions.iter().zip(&ids) {
        assert_eq!(store.read(session, id).unwrap().0.items, 3);
    }
    let before = names(&store.folder_of(&sessions[0]));
    let mut batch = store.batch();
    batch.append(&sessions[0], Some(&ids[0]), &lines(&[30]), header(2)).unwrap();
    assert_ne!(names(&store.folder_of(&sessions[0])), before);
    drop(batch);
    assert_eq!(names(&store.folder_of(&sessions[0])), before, "nothing is left behind");
}

#[test]
fn damage_is_seen_and_named() {
    let (_home, store) = store();
    let id = store.append(&session(), None, &lines(&[5000; 3]), header(1)).unwrap();
    let folder = store.folder_of(&session());
    for name in names(&folder) {
        let path = folder.join(&name);
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            fs::write(&path, bytes).unwrap();
            match store.read(&session(), &id) {
                Err(Error::Damaged { path: named, .. }) => assert_eq!(named, path),
                // An irrelevant bit of the compressed form may differ: the hash verifies the lines.
                Ok((manifest, _)) => assert!(name.ends_with(".zst") && manifest.items == 3, "{name} at {at}"),
                Err(error) => panic!("{name} at {at}: {error}"),
            }
        }
        for cut in [0, 1, whole.len() / 2, whole.len() - 1] {
            fs::write(&path, &whole[..cut]).unwrap();
            let error = store.read(&session(), &id).expect_err("cut");
            assert!(matches!(error, Error::Damaged { .. }), "{name} cut at {cut}: {error}");
        }
        fs::write(&path, whole).unwrap();
    }
    store.read(&session(), &id).unwrap();
}

#[test]
fn a_bomb_is_not_unpacked() {
    let (_home, store) = store();
    let id = store.append(&session(), None, &lines(&[50]), header(1)).unwrap();
    let chunk = store.manifest(&session(), &id).unwrap().chunks.remove(0);
    let path = store.folder_of(&session()).join(chunk.file_name());
    let bomb = compression::pack(&vec![b'x'; 8 * 1024 * 1024]).unwrap();
    fs::write(&path, &bomb).unwrap();
    assert!(matches!(store.read(&session(), &id), Err(Error::Damaged { .. })));
    // A manifest with the same lie does not help either.
    let greedy = ChunkRef { bytes: 1 << 40, ..chunk };
    let error = store.chunk(&session(), &greedy).expect_err("over the bound");
    assert!(error.to_string().contains("1099511627776 bytes"), "{error}");
}

#[test]
fn a_manifest_cannot_name_files_elsewhere_and_a_newer_one_says_so() {
    let (_home, store) = store();
    store.append(&session(), None, &lines(&[50]), header(1)).unwrap();
    let check = |text: &str, expected: &str| {
        let id = ManifestId::parse(&name_of(text.as_bytes())).unwrap();
        fs::write(store.folder_of(&session()).join(file_name(&id)), text).unwrap();
        let error = store.read(&session(), &id).expect_err(text).to_string();
        assert!(error.contains(expected), "{error:?} lacks {expected:?}");
    };
    let with = |format: u32, name: &str| {
        format!(
            "{{\"format\":{format},\"generation\":0,\"filter_version\":1,\"cursor\":{{\"offset\":1,\"line\":1}},\"items\":1,\"bytes\":9,\
             \"chunks\":[{{\"name\":\"{name}\",\"items\":1,\"bytes\":9}}]}}"
        )
    };
    check(&with(1, "../../../etc/passwd"), "lists an invalid chunk name");
    check(&with(1, ""), "lists an invalid chunk name");
    check(&with(2, &"0".repeat(64)), "newer version of this program");
    check("{\"format\":1}", "missing field");
    check("[]", "is damaged");
    check(&with(1, &"0".repeat(64)), "is missing");
}

#[test]
fn lines_that_are_none_are_refused_and_nothing_is_written() {
    let (_home, store) = store();
    let check = |line: Vec<u8>, expected: &str| {
        let error = store.append(&session(), None, &[b"fine".to_vec(), line], header(1)).expect_err(expected);
        assert!(matches!(error, Error::BadLine { index: 1, .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    };
    check(Vec::new(), "empty");
    check(b"a\nb".to_vec(), "line break");
    check(vec![b'x'; LINE_MAX_BYTES + 1], "too long");
    assert!(!store.folder_of(&session()).exists());
}

#[test]
fn a_folder_is_named_so_that_every_file_system_can_tell_sessions_apart() {
    let name = |id: &str| folder_name(&SessionId::new(id).unwrap());
    for plain in ["7acd37a8-2745-4b58-a8a9-46164b22ad9e", "agent-x_1", &"a".repeat(64)] {
        assert_eq!(name(plain), plain);
    }
    let odd = ["A", "a.b", "ä", "con", "com1", "x-1", "a b", &"a".repeat(65), "~", "CON"];
    let mut seen = BTreeSet::new();
    for id in odd {
        let name = name(id);
        assert!(name.len() == 34 && name.starts_with("x-"), "{id}: {name}");
        assert!(seen.insert(name), "{id}");
    }
}

proptest::proptest! {
    /// Arbitrary bytes in place of a manifest, a chunk or a note are refused without a panic.
    #[test]
    fn arbitrary_bytes_are_no_conversation(
        bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..400),
        text in "(\\{\"format\":[0-9]{1,3})?[\\[\\]{}\":,a-z0-9]{0,60}",
    ) {
        let path = Path::new("somewhere");
        for bytes in [bytes.as_slice(), text.as_bytes()] {
            let id = ManifestId::parse(&name_of(bytes)).unwrap();
            proptest::prop_assert!(Manifest::decode(path, &id, bytes).is_err());
            let _ = compression::unpack(bytes, 1000).map(|lines| lines.len());
            // Stored under the name of something else.
            let (_home, store) = store();
            let kept = store.append(&session(), None, &lines(&[50]), header(1)).unwrap();
            let chunk = store.manifest(&session(), &kept).unwrap().chunks.remove(0);
            fs::write(store.folder_of(&session()).join(chunk.file_name()), bytes).unwrap();
            let damaged = matches!(store.read(&session(), &kept), Err(Error::Damaged { .. }));
            proptest::prop_assert!(damaged);
            let note = store.put_note(&session(), "a note").unwrap();
            fs::write(store.folder_of(&session()).join(format!("{note}.note")), bytes).unwrap();
            proptest::prop_assert!(store.note(&session(), &note).is_err());
        }
    }
}

#[test]
fn a_conversations_files_are_known_by_name_and_a_folder_of_nobody_goes_unless_a_note_lies_in_it() {
    let (_home, store) = store();
    let folder = store.folder_of(&session());
    let id = store.append(&session(), None, &lines(&[1000; 600]), header(1)).unwrap();
    let mut files = store.files_of(&session(), &id).unwrap();
    assert_eq!(files.len(), 4, "a manifest and its chunks");
    files.sort();
    assert_eq!(files, names(&folder).iter().map(|name| folder.join(name)).collect::<Vec<_>>());
    fs::remove_file(&files[1]).unwrap();
    let known = |store: &ChunkStore| store.folders().unwrap().into_iter().collect::<Vec<_>>();
    let name = session().to_string();
    assert_eq!(known(&store), std::slice::from_ref(&name));

    let note = store.put_note(&session(), "done").unwrap();
    assert!(store.note_path(&session(), &note).exists());
    assert_eq!(store.discard(&name).unwrap(), Removed::default(), "a note may be of an event that is still to come");
    fs::remove_file(store.note_path(&session(), &note)).unwrap();
    assert_eq!(store.discard(&name).unwrap().files, 3);
    assert!(known(&store).is_empty() && store.files_of(&session(), &id).is_err());
    for name in ["none", "../blobs", ".."] {
        assert!(!matches!(store.discard(name), Ok(removed) if removed.files > 0), "{name}");
    }
}

/// One close stores its note while another session's index is being collected.
#[test]
fn a_note_that_is_being_written_is_no_leftover() {
    let (_home, store) = store();
    let folder = store.folder_of(&session());
    let id = store.append(&session(), None, &lines(&[10]), header(1)).unwrap();
    for (name, stays) in [("a.note.tmp", false), ("b.note", true), ("c.zst.tmp", false), ("tmp-1-2-d.zst", false)] {
        fs::write(folder.join(name), "x").unwrap();
        store.collect(&session(), std::slice::from_ref(&id)).unwrap();
        assert_eq!(folder.join(name).exists(), stays, "{name}");
    }
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            for number in 0..50 {
                store.put_note(&session(), &format!("note {number}")).unwrap();
            }
        });
        while !writing.is_finished() {
            store.collect(&session(), std::slice::from_ref(&id)).unwrap();
        }
    });
    assert_eq!(store.notes(&session()).unwrap().len(), 50);
}

#[test]
fn nothing_is_stored_or_removed_where_the_home_is_another() {
    let temp = tempfile::tempdir().unwrap();
    let (home, elsewhere) = (temp.path().join("home"), temp.path().join("elsewhere"));
    let blobs = home.join("blobs");
    let store = ChunkStore::open(&blobs).unwrap();
    let id = store.append(&session(), None, &lines(&[50]), header(1)).unwrap();
    let mut begun = store.batch();
    begun.append(&session(), Some(&id), &lines(&[60]), header(2)).unwrap();
    fs::rename(&home, &elsewhere).unwrap();
    for round in ["gone", "another"] {
        let moved = |result: Result<(), Error>| {
            let error = result.expect_err(round).to_string();
            assert!(error.contains("was moved"), "{round}: {error}");
        };
        moved(store.append(&session(), Some(&id), &lines(&[70]), header(3)).map(drop));
        moved(store.put_note(&session(), "a note").map(drop));
        moved(store.forget(&session()).map(drop));
        moved(store.collect(&session(), &[]).map(drop));
        assert_eq!(blobs.exists(), round == "another", "{round}: it is not made anew");
        fs::create_dir_all(blobs.join(session().as_str())).unwrap();
        fs::write(blobs.join(session().as_str()).join("of-another.zst"), "x").unwrap();
    }
    assert!(begun.commit().is_err(), "what was begun before is not acknowledged");
    assert!(blobs.join(session().as_str()).join("of-another.zst").exists());
    assert!(ChunkStore::open(elsewhere.join("blobs")).unwrap().read(&session(), &id).is_ok());
}

/// The folders whose names are synced while `work` runs.
#[cfg(unix)]
fn synced(root: &Path, work: impl FnOnce()) -> BTreeSet<std::path::PathBuf> {
    let recorder = durable::recorder::Recorder::begin(root, |_| {});
    work();
    recorder.synced()
}

#[cfg(unix)]
#[test]
fn a_note_that_is_there_is_acknowledged_when_its_names_are_durable() {
    let (home, store) = store();
    let (folder, blobs) = (store.folder_of(&session()), store.folder.clone());
    let both = BTreeSet::from([folder, blobs]);
    // A batch has created the folder and was not committed.
    let mut batch = store.batch();
    batch.append(&session(), None, &lines(&[50]), header(1)).unwrap();
    drop(batch);
    let put = || {
        store.put_note(&session(), "a note").unwrap();
    };
    assert!(synced(home.path(), put).is_superset(&both));
    // Syncing its name may have failed the first time.
    assert!(synced(home.path(), put).is_superset(&both));
    let note = store.note_path(&session(), &note_name("a note"));
    fs::write(&note, "").unwrap();
    put();
    assert_eq!(fs::read_to_string(note).unwrap(), "a note", "one that a power cut has emptied is written anew");
}
