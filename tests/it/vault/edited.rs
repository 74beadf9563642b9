//! Edits by people survive everything.

use std::fs;

use serde_json::json;

use super::{goes_on, notes, only_session, own, ready, until, with_notes, worked};
use crate::world::{World, files_below, id, wait};

#[test]
fn edits_by_a_person_survive_further_ends() {
    let world = with_notes(&json!({}));
    let mut transcript = worked(&world, "-work-one", 1, "wombat cache");
    world.close(&id(1));
    ready(&world, 1);
    let (path, note) = only_session(&own(&world));
    // A line between blocks, a line within one, and a key of the frontmatter.
    let edited = note
        .replacen("## Work Log", "My own thoughts.\n\n## Work Log", 1)
        .replacen("sled instead of sqlite", "sled, after all, instead of sqlite", 1)
        .replacen("status: active", "status: active\nrating: 5 # mine", 1);
    assert_ne!(edited, note);
    fs::write(&path, &edited).unwrap();
    goes_on(&world, &mut transcript, "And the numbat index, too");
    until(&world, "the second end", |_| fs::read_to_string(&path).unwrap().contains("numbat index"));
    let again = fs::read_to_string(&path).unwrap();
    for mine in ["My own thoughts.", "sled, after all, instead of sqlite", "rating: 5 # mine"] {
        assert!(again.contains(mine), "{mine}: {again}");
    }
    let told = until(&world, "the conflict", |told| told["conflicts"].as_u64() >= Some(1));
    assert_eq!(told["state"], "ready", "{told}");
    assert_eq!(world.json(&["vault", "verify"])["clean"], true);

    // The next daemon counts the conflict again, and leaves the text as it is.
    world.stop();
    until(&world, "the conflict", |told| told["conflicts"].as_u64() >= Some(1));
    world.ok(&["vault", "sync"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), again, "nothing is new");
}

#[test]
fn what_a_person_throws_out_of_notes_stays_out() {
    let world = with_notes(&json!({"compact_lines": 1}));
    let mut transcript = worked(&world, "-work-one", 1, "wombat cache");
    world.close(&id(1));
    ready(&world, 1);
    let (path, note) = only_session(&own(&world));
    let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
    // Removes lines from the session's own note, and from all but one of the notes that link to it.
    let throw = |path: &std::path::Path, is_out: &dyn Fn(&str) -> bool| {
        let before = fs::read_to_string(path).unwrap();
        let after: String = before.split_inclusive('\n').filter(|line| !is_out(line)).collect();
        assert_ne!(before, after, "{}", path.display());
        fs::write(path, &after).unwrap();
    };
    let decision = note.lines().find(|line| line.starts_with("- ") && line.contains("sled instead of sqlite")).unwrap();
    let prompt = note.lines().find(|line| line.starts_with("- 20") && line.contains("Mend the wombat")).unwrap();
    let thrown_out = [decision, prompt].map(|line| format!("{line}\n"));
    throw(&path, &|line| thrown_out.iter().any(|out| out == line));
    let all = notes(&own(&world));
    let others: Vec<std::path::PathBuf> = all
        .iter()
        .filter(|path| !path.contains("/sessions/"))
        .map(|path| own(&world).join(path))
        .filter(|path| fs::read_to_string(path).unwrap().contains(&format!("[[{stem}]]")))
        .collect();
    assert!(others.len() >= 3, "{all:?}");
    others.iter().for_each(|path| throw(path, &|line| line.contains(&stem)));

    let is_out = |what: &str| {
        let text = fs::read_to_string(&path).unwrap();
        let back = thrown_out.iter().find(|line| text.contains(line.as_str()));
        assert_eq!(back, None, "{what}: {text}");
        for path in &others {
            let text = fs::read_to_string(path).unwrap();
            assert!(!text.contains(&stem), "{what}: {}: {text}", path.display());
        }
        text
    };
    goes_on(&world, &mut transcript, "And the numbat index, too");
    until(&world, "the second end", |_| fs::read_to_string(&path).unwrap().contains("numbat index"));
    let told = ready(&world, 1);
    let text = is_out("the next end");
    assert_eq!((text.matches("<!-- baton:decisions ").count(), text.matches("<!-- baton:work-log ").count()), (1, 2));
    world.ok(&["vault", "sync"]);
    let text = is_out("asked");
    assert_eq!(world.json(&["vault", "verify"])["clean"], true, "{}", world.run(&["vault", "verify"]).out);
    // A home without any record of it, like that of another computer.
    world.stop();
    fs::remove_dir_all(world.home().join("vault-register")).unwrap();
    world.ok(&["vault", "sync"]);
    assert_eq!(is_out("without the register"), text);
    assert_eq!(world.json(&["vault", "status"])["conflicts"], told["conflicts"], "no new ones");

    // Once the session is forgotten no note remembers it, not even those that do not name it any more.
    for path in &others {
        let text = fs::read_to_string(path).unwrap();
        fs::write(path, text + "\nMine.\n").unwrap();
    }
    let tags = |path: &std::path::PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        assert!(text.contains("Mine."), "{text}");
        baton_notes::forget::remembered_tags(&text).contains(&baton_notes::forget::target_tag(&stem))
    };
    assert!(others.iter().all(tags));
    world.ok(&["forget", &id(1), "--yes"]);
    assert!(!others.iter().any(tags), "{others:?}");
}

#[test]
fn a_note_that_somebody_removes_stays_away_until_there_is_something_new_to_say() {
    let world = with_notes(&json!({}));
    let mut transcript = worked(&world, "-work-one", 1, "wombat cache");
    let mut other = worked(&world, "-work-two", 2, "numbat index");
    world.close(&id(1));
    world.close(&id(2));
    ready(&world, 2);
    let all = notes(&own(&world));
    let path =
        own(&world).join(all.iter().find(|path| path.contains("wombat") && path.contains("/sessions/")).unwrap());
    fs::remove_file(&path).unwrap();
    // The other session has new content, this one has not.
    goes_on(&world, &mut other, "And the bettong, too");
    let all = || notes(&own(&world)).iter().filter(|path| path.contains("/sessions/")).count();
    until(&world, "the other's news", |_| {
        files_below(&own(&world)).iter().any(|path| fs::read_to_string(path).is_ok_and(|text| text.contains("bettong")))
    });
    assert!(!path.exists() && all() == 1);
    // On request it is written again; so is the note of an entity that it links to.
    let synced = world.json(&["vault", "sync"]);
    assert_eq!(synced["status"], "success", "{synced}");
    assert!(wait(|| path.exists()), "{synced}");
    let entity = notes(&own(&world)).into_iter().find(|path| path.contains("/entities/") && path.contains("wombat"));
    let entity = own(&world).join(entity.unwrap());
    fs::remove_file(&entity).unwrap();
    world.ok(&["vault", "sync"]);
    assert!(wait(|| entity.exists()));
    assert_eq!(world.json(&["vault", "verify"])["clean"], true);
    // With new content of its own it is written again.
    fs::remove_file(&path).unwrap();
    goes_on(&world, &mut transcript, "And the bilby, too");
    assert!(wait(|| fs::read_to_string(&path).is_ok_and(|text| text.contains("bilby"))), "{}", world.log());
}

#[test]
fn what_is_no_note_is_left_alone_and_said() {
    let world = with_notes(&json!({}));
    let mut transcript = worked(&world, "-work-one", 1, "wombat cache");
    world.close(&id(1));
    ready(&world, 1);
    let (path, _) = only_session(&own(&world));
    fs::write(&path, b"\xff\xfe no text").unwrap();
    goes_on(&world, &mut transcript, "And the bilby, too");
    let told = until(&world, "what is left alone", |told| told["state"] == "incomplete");
    assert_eq!(told["left_alone"][0]["error"], "it is no UTF-8 text", "its name is said once: {told}");
    assert_eq!(fs::read(&path).unwrap(), b"\xff\xfe no text");
    // Corrected by hand, it is accepted on request.
    fs::write(&path, "mine\n").unwrap();
    world.ok(&["vault", "sync"]);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("mine\n") && text.contains("bilby"), "{text}");
}

#[test]
fn a_head_that_nobody_can_read_is_said_and_what_is_below_is_written() {
    let world = with_notes(&json!({"compact_lines": 1}));
    let mut transcript = world.transcript("-work-one", &id(1));
    transcript.prompt("From now on always use pnpm, never npm").reply("ok");
    world.close(&id(1));
    ready(&world, 1);
    let preferences = own(&world).join("preferences.md");
    let text = fs::read_to_string(&preferences).unwrap();
    let broken = text.replacen("type: preferences", "type: [unclosed", 1);
    assert_ne!(broken, text);
    fs::write(&preferences, &broken).unwrap();
    let verified = world.run(&["vault", "verify"]);
    assert_eq!(verified.code, 1, "{}", verified.out);
    let told = world.json(&["vault", "status"]);
    assert_eq!(told["state"], "incomplete", "{told}");
    assert_eq!(told["left_alone"][0]["note"], "claude/preferences.md", "{told}");
    assert!(told["left_alone"][0]["error"].as_str().unwrap().contains("line 2"), "{told}");
    assert!(world.problems().contains("1 note is left alone"), "{}", world.problems());
    // The next daemon notices it without a request, and the report ends when the note is corrected.
    world.stop();
    until(&world, "the broken head", |told| told["state"] == "incomplete");
    fs::write(&preferences, &text).unwrap();
    world.ok(&["vault", "verify"]);
    let told = world.json(&["vault", "status"]);
    assert_eq!((&told["state"], &told["left_alone"]), (&json!("ready"), &serde_json::Value::Null), "{told}");
}

#[test]
fn two_homes_write_one_vault_and_neither_takes_the_others_lines() {
    let (one, other) = (World::new(), World::new());
    let vault = one.path("shared");
    fs::create_dir_all(&vault).unwrap();
    for (world, number, words) in [(&one, 1, "wombat cache"), (&other, 2, "numbat index")] {
        super::configure(world, &json!({"path": vault}));
        worked(world, "-work-one", number, words);
    }
    one.close(&id(1));
    other.close(&id(2));
    ready(&one, 1);
    ready(&other, 1);
    let root = vault.join("claude");
    let has_both = || {
        let all = notes(&root);
        let page = all.iter().filter(|path| path.split('/').count() == 3 && path.starts_with("projects/"));
        page.map(|path| fs::read_to_string(root.join(path)).unwrap())
            .any(|text| text.contains("wombat-cache") && text.contains("numbat-index"))
    };
    assert!(has_both(), "{:?}", notes(&root));
    // Each home writes its own sessions again, and the other's stay.
    for world in [&one, &other] {
        world.stop();
        fs::remove_dir_all(world.home().join("vault-register")).unwrap();
        let synced = world.json(&["vault", "sync"]);
        assert_eq!((&synced["status"], &synced["files"]), (&json!("success"), &json!(0)), "{synced}");
    }
    assert!(has_both());
    assert_eq!(one.json(&["vault", "verify"])["clean"], true);
}

#[test]
fn two_homes_with_projects_of_one_name_keep_them_apart() {
    let (one, other) = (World::new(), World::new());
    let vault = one.path("shared");
    fs::create_dir_all(&vault).unwrap();
    let of = |world: &World, number: u32, directory: &str, words: &str| {
        let mut transcript = world.transcript("-srv-one", &id(number)).in_directory(directory);
        super::tell(&mut transcript, "one", words);
        world.close(&id(number));
    };
    for world in [&one, &other] {
        super::configure(world, &json!({"path": vault}));
    }
    // The first home scans the vault before the other one creates a folder in it.
    of(&one, 1, "/srv/one", "wombat cache");
    ready(&one, 1);
    of(&other, 2, "/home/them/api", "numbat index");
    ready(&other, 1);
    of(&one, 3, "/srv/other/api", "numbat index");
    ready(&one, 2);
    let root = vault.join("claude");
    let page = |folder: &str| fs::read_to_string(root.join(format!("projects/{folder}/{folder}.md"))).unwrap();
    assert!(page("api").contains("/home/them/api"), "{}", page("api"));
    assert!(page("api-2").contains("/srv/other/api"), "{}", page("api-2"));
    // The same for entities: the name of an unknown file is looked up again.
    let entities = |folder: &str| {
        let path = format!("projects/{folder}/entities/");
        let all = notes(&root).into_iter().filter(move |note| note.starts_with(&path));
        all.map(|note| fs::read_to_string(root.join(note)).unwrap()).collect::<String>()
    };
    assert_eq!(
        (entities("api").contains("api-2"), entities("api-2").contains("[[claude/projects/api/")),
        (false, false)
    );
    assert_eq!(one.json(&["vault", "verify"])["clean"], true);
}

#[test]
fn an_entity_of_another_home_whose_file_is_called_alike_keeps_its_note() {
    let (one, other) = (World::new(), World::new());
    let vault = one.path("shared");
    fs::create_dir_all(&vault).unwrap();
    for world in [&one, &other] {
        super::configure(world, &json!({"path": vault}));
    }
    let of = |world: &World, number: u32, file: &str, words: &str| {
        let mut transcript = world.transcript("-work-one", &id(number));
        transcript
            .prompt(words)
            .call(
                "c1",
                "Edit",
                json!({"file_path": format!("/srv/-work-one/{file}"), "old_string": "a", "new_string": "b"}),
            )
            .result("c1", "The file has been updated.", false)
            .reply(&format!("I decided to use sled instead of sqlite in {file}, because it needs no server."));
        world.close(&id(number));
    };
    of(&one, 1, "lib/first.rs", "Begin with the first");
    ready(&one, 1);
    of(&other, 2, "src/cache.rs", "Mend the cache of the other home");
    ready(&other, 1);
    // Of another file, whose note would have the same name.
    of(&one, 3, "src-cache.rs", "Mend the cache of this home");
    ready(&one, 2);
    let text = |name: &str| {
        let path = notes(&vault).into_iter().find(|path| path.ends_with(&format!("/entities/{name}.md")));
        fs::read_to_string(vault.join(path.unwrap_or_else(|| panic!("{name}: {:?}", notes(&vault))))).unwrap()
    };
    for (name, of, not) in [("src-cache.rs", "other-home", "this-home"), ("src-cache.rs-2", "this-home", "other-home")]
    {
        let text = text(name);
        assert!(text.contains(of) && !text.contains(not), "{name}: {text}");
    }
    assert_eq!(one.json(&["vault", "verify"])["clean"], true);
}

#[test]
fn what_leads_to_a_note_that_is_renamed_follows_it() {
    let world = with_notes(&json!({"compact_lines": 1}));
    let mut transcript = worked(&world, "-work-one", 1, "wombat cache");
    world.close(&id(1));
    ready(&world, 1);
    let (path, _) = only_session(&own(&world));
    let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
    let moved = own(&world).join("projects/Zeile 59 öäü.md");
    fs::rename(&path, &moved).unwrap();
    // Changes a link as Obsidian does, in one of the notes that have it.
    let leads = |name: &str| -> Vec<std::path::PathBuf> {
        let link = format!("[[{name}]]");
        files_below(&own(&world))
            .into_iter()
            .filter(|path| fs::read_to_string(path).is_ok_and(|text| text.contains(&link)))
            .collect()
    };
    let before = leads(&stem);
    assert!(before.len() >= 3, "{before:?}");
    let text = fs::read_to_string(&before[0]).unwrap();
    fs::write(&before[0], text.replace(&format!("[[{stem}]]"), "[[Zeile 59 öäü]]")).unwrap();
    goes_on(&world, &mut transcript, "And the bilby, too");
    until(&world, "the moved note", |_| fs::read_to_string(&moved).unwrap().contains("bilby"));
    let told = ready(&world, 1);
    assert_eq!(told["conflicts"], 0, "{told}");
    assert_eq!((leads(&stem), leads("Zeile 59 öäü").len() >= before.len()), (Vec::new(), true));
    assert_eq!(world.json(&["vault", "verify"])["clean"], true, "{}", world.run(&["vault", "verify"]).out);
    let forgotten = world.ok(&["forget", &id(1), "--yes"]);
    assert!(forgotten.out.contains("no file of Baton's home"), "{}", forgotten.out);
    assert!(leads("Zeile 59 öäü").is_empty() && !moved.exists());
}

#[test]
fn the_note_of_an_entity_that_is_renamed_goes_on_and_what_leads_to_it_follows() {
    let world = with_notes(&json!({}));
    let root = own(&world);
    let mut transcript = worked(&world, "-work-one", 1, "wombat cache");
    world.close(&id(1));
    ready(&world, 1);
    let find = |name: &str| -> Vec<String> {
        let suffix = format!("/{name}.md");
        notes(&root).into_iter().filter(|path| path.ends_with(&suffix)).collect()
    };
    let of_entity = |path: &String| path.contains("/entities/") && path.contains("wombat");
    let first = notes(&root).into_iter().find(of_entity).unwrap();
    let stem = |path: &str| path.rsplit('/').next().unwrap().strip_suffix(".md").unwrap().to_owned();
    let rename = |from: &str, to: &str| fs::rename(root.join(from), root.join(to)).unwrap();
    let text = |path: &str| fs::read_to_string(root.join(path)).unwrap();
    // Changes the links like a program that follows renames.
    let relink = |from: &str, to: &str| {
        let mut changed = 0;
        for note in notes(&root) {
            let (before, from) = (text(&note), format!("[[claude/{}|", from.strip_suffix(".md").unwrap()));
            changed += before.matches(&from).count();
            fs::write(root.join(&note), before.replace(&from, &format!("[[{to}|"))).unwrap();
        }
        assert!(changed >= 2, "{from}");
    };
    let is_sound = |what: &str| {
        let told = until(&world, what, |told| told["state"] == "ready" && told["behind"] == 0);
        assert_eq!(told["conflicts"], 0, "{what}: {told}");
        let verified = world.run(&["vault", "verify"]);
        assert_eq!(verified.code, 0, "{what}: {}", verified.out);
    };

    // The next session finds it during the same daemon's life, and creates no other one.
    let mut path = format!("{}/Cache.md", first.rsplit_once('/').unwrap().0);
    rename(&first, &path);
    worked(&world, "-work-one", 2, "wombat cache");
    world.close(&id(2));
    ready(&world, 2);
    is_sound("another name");
    assert_eq!(find(&stem(&first)), Vec::<String>::new());
    let changes = text(&path);
    let sessions: Vec<String> = notes(&root).into_iter().filter(|note| note.contains("/sessions/")).collect();
    assert_eq!(sessions.iter().filter(|note| changes.contains(&stem(note))).count(), 2, "{changes}");

    // Moved elsewhere, twice, with links as Obsidian writes them: by their whole paths, or as short as possible.
    for (to, link) in [("projects/Mein Cache.md", "claude/projects/Mein Cache"), ("Last.md", "Last")] {
        rename(&path, to);
        relink(&path, link);
        path = to.to_owned();
        goes_on(&world, &mut transcript, &format!("And the {link}, too"));
        until(&world, "the end", |_| sessions.iter().any(|note| text(note).contains(&format!("{link}, too"))));
        is_sound(to);
        assert_eq!((find(&stem(&first)).len(), find("Cache").len()), (0, 0), "{:?}", notes(&root));
    }

    // Without a session end, a request is enough.
    let last = first.replace(&stem(&first), "Asked");
    rename(&path, &last);
    assert_eq!(world.run(&["vault", "verify"]).code, 1);
    world.ok(&["vault", "sync"]);
    is_sound("asked");
    assert!(!root.join(&path).exists() && text(&last).contains("- "), "{:?}", notes(&root));
    // The note goes with the sessions that it is about.
    world.ok(&["forget", &id(1), &id(2), "--yes"]);
    assert!(wait(|| !root.join(&last).exists()), "{:?}", notes(&root));
    for note in notes(&root) {
        assert!(!text(&note).contains("/Asked"), "{note}: {}", text(&note));
    }
}

#[test]
fn what_a_session_writes_that_knows_nothing_of_a_renamed_note_opens_no_second_block() {
    let world = with_notes(&json!({}));
    let root = own(&world);
    worked(&world, "-work-one", 1, "wombat cache");
    world.close(&id(1));
    ready(&world, 1);
    let from = notes(&root).into_iter().find(|path| path.contains("/entities/") && path.contains("wombat")).unwrap();
    let folder = from.rsplit_once('/').unwrap().0;
    fs::rename(root.join(&from), root.join(folder).join("Cache.md")).unwrap();
    for note in notes(&root) {
        let text = fs::read_to_string(root.join(&note)).unwrap();
        let link = format!("[[claude/{}|", from.strip_suffix(".md").unwrap());
        fs::write(root.join(&note), text.replace(&link, &format!("[[claude/{folder}/Cache|"))).unwrap();
    }
    worked(&world, "-work-one", 2, "numbat index");
    world.close(&id(2));
    let told = ready(&world, 2);
    assert_eq!(told["conflicts"], 0, "{told}");
    let page = notes(&root).into_iter().find(|path| path.split('/').count() == 3).unwrap();
    let page = fs::read_to_string(root.join(page)).unwrap();
    assert_eq!(page.matches("<!-- baton:entities ").count(), 1, "{page}");
    assert!(page.contains("/Cache|") && page.contains("numbat"), "{page}");
}

#[test]
fn what_could_not_follow_a_renamed_note_does_once_it_may_be_written_and_somebody_asks() {
    use std::os::unix::fs::PermissionsExt as _;

    let Some(world) = World::without_superpowers() else { return };
    super::configure(&world, &json!({}));
    worked(&world, "-work-one", 1, "wombat cache");
    world.close(&id(1));
    ready(&world, 1);
    let (path, _) = only_session(&own(&world));
    // The page of the project links to it.
    let folder = path.parent().unwrap().parent().unwrap();
    let mode = |bits| fs::set_permissions(folder, fs::Permissions::from_mode(bits)).unwrap();
    let of_entity = |path: &String| path.contains("/entities/") && path.contains("wombat");
    let note = own(&world).join(notes(&own(&world)).into_iter().find(of_entity).unwrap());
    fs::rename(&note, note.with_file_name("Cache.md")).unwrap();
    mode(0o555);
    world.run(&["vault", "sync"]);
    assert_eq!(world.run(&["vault", "verify"]).code, 1, "its page is as it was");
    mode(0o755);
    world.ok(&["vault", "sync"]);
    let verified = world.run(&["vault", "verify"]);
    assert_eq!(verified.code, 0, "{}", verified.out);
}
