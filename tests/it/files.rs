//! Files are rewritten, renamed, copied and deleted while a session exists; folders have odd names and are links.

use crate::record::Log;
use crate::world::{World, hits, id, text};

#[test]
fn a_rewritten_transcript_is_read_anew_and_its_old_text_is_gone() {
    let world = World::new();
    let mut transcript = world.transcript("-work-one", &id(1));
    transcript.prompt("the walrus was first").reply("the walrus it was, and at some length at that");
    let first = world.close(&id(1));

    // Truncated and rewritten with other content, shorter than what was read.
    std::fs::write(transcript.path(), "").unwrap();
    let mut shorter = world.transcript("-work-one", &id(1));
    shorter.prompt("the beluga came after");
    assert_eq!(world.found("beluga"), [id(1)]);
    assert_eq!(world.found("walrus"), [""; 0]);
    let second = world.close(&id(1));
    assert_ne!(second, first);
    assert_eq!(world.show(&id(1))["message_count"], 1);

    // Replaced by a longer file through a rename, as editors do.
    let mut longer = world.transcript("-work-aside", &id(1));
    longer.prompt("the manatee at last").reply("and it says more than all those before it");
    std::fs::rename(longer.path(), transcript.path()).unwrap();
    assert_eq!(world.found("manatee"), [id(1)]);
    assert_eq!(world.found("beluga"), [""; 0]);
    assert_eq!(world.show(&id(1))["message_count"], 2);

    world.stop();
    let log = Log::of(&world);
    assert_eq!(log.of_session(&id(1)).filter(|event| format!("{event:?}").starts_with("Rewritten")).count(), 2);
    assert_eq!(log.states()[&id(1)].generation, 3);
}

#[test]
fn an_emptied_transcript_does_not_take_its_episode_along() {
    let world = World::new();
    let mut transcript = world.transcript("-work-one", &id(1));
    transcript.prompt("the walrus was first").reply("indeed");
    world.close(&id(1));
    std::fs::write(transcript.path(), "").unwrap();
    let closed = world.json(&["close", &id(1)]);
    assert_eq!(closed["status"], "success", "{closed}");
    let shown = world.show(&id(1));
    assert_eq!(shown["message_count"], 0, "{shown}");
    assert_eq!(shown["episode"]["objective"], "the walrus was first", "{shown}");
    assert_eq!(world.found("walrus"), [id(1)]);
    transcript.prompt("the seal came later").reply("indeed");
    world.close(&id(1));
    assert_eq!((world.found("walrus"), world.found("seal")), (vec![], vec![id(1)]), "new content replaces it");
}

#[test]
fn a_transcript_renamed_into_another_project_folder_stays_one_session() {
    let world = World::new();
    let mut transcript = world.transcript("-work-one", &id(1));
    transcript.prompt("the tern flies north").reply("yes");
    let uuid = world.close(&id(1));
    transcript.rename(world.projects().join("-work-moved").join(format!("{}.jsonl", id(1))));
    assert_eq!(world.found("tern"), [id(1)]);
    assert_eq!(world.close(&id(1)), uuid);
    transcript.prompt("and the skua south");
    assert_eq!(world.found("skua"), [id(1)]);
    let shown = world.show(&id(1));
    assert_eq!(shown["message_count"], 3, "read on, not anew");
    assert!(text(&shown["file_path"]).contains("-work-moved"), "{shown}");
    assert_eq!(shown["project"], "/srv/-work-one", "the project is the first record's directory");
    assert_eq!(world.sessions().len(), 1);
    world.stop();
    let log = Log::of(&world);
    assert_eq!(log.of_session(&id(1)).filter(|event| format!("{event:?}").starts_with("Moved")).count(), 1);
    assert_eq!(log.states()[&id(1)].generation, 1);
}

#[test]
fn a_deleted_transcripts_episode_is_still_shown_and_found() {
    let world = World::new();
    let mut transcript = world.transcript("-work-one", &id(1));
    transcript.prompt("the fulmar nests here").reply("on the cliff");
    let uuid = world.close(&id(1));
    std::fs::remove_dir_all(transcript.path().parent().unwrap()).unwrap();
    for restart in [false, true] {
        if restart {
            world.stop();
        }
        assert_eq!(world.found("fulmar"), [id(1)]);
        let shown = world.show(&id(1));
        assert_eq!((&shown["state"], &shown["episode"]["uuid"]), (&"indexed".into(), &uuid.clone().into()));
        assert!(text(&shown["episode"]["content"]).contains("fulmar"));
    }
    // Also after the memory is lost: the conversation is kept.
    world.stop();
    std::fs::remove_dir_all(world.home().join("memory")).unwrap();
    assert_eq!(world.found("cliff"), [id(1)]);
}

#[test]
fn a_second_file_of_one_session_is_named_and_takes_over_only_when_it_continues() {
    let world = World::new();
    let mut transcript = world.transcript("-work-one", &id(1));
    transcript.prompt("the petrel is the first").reply("yes");
    world.close(&id(1));
    // Another conversation in a file of the same name.
    let mut other = world.transcript("-work-two", &id(1));
    other.prompt("the cormorant is not").reply("no").reply("it is longer, though, by far");
    assert_eq!(world.found("cormorant"), [""; 0]);
    assert_eq!(world.found("petrel"), [id(1)]);
    let problems = world.problems();
    assert!(problems.contains("-work-two") && problems.contains(&id(1)), "{problems}");
    assert_eq!(world.show(&id(1))["message_count"], 2);
    // A copy that continues where the first one ends.
    std::fs::copy(transcript.path(), other.path()).unwrap();
    other.prompt("resumed elsewhere: the shearwater");
    assert_eq!(world.found("shearwater"), [id(1)]);
    let shown = world.show(&id(1));
    assert_eq!(shown["message_count"], 3, "{shown}");
    assert!(text(&shown["file_path"]).contains("-work-two"), "{shown}");
    assert_eq!(world.sessions().len(), 1);
    world.stop();
    Log::of(&world);
}

#[test]
fn subagents_are_found_with_their_parent_and_not_listed() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).prompt("send somebody out").reply("I send an agent.");
    let below = world.projects().join("-work-one").join(id(1)).join("subagents");
    let mut new = crate::transcript::Transcript::new(below.join("agent-a1.jsonl"), "agent-a1", "/srv/-work-one");
    new = new.of_subagent(&id(1));
    new.prompt("look for the gyrfalcon").reply("the gyrfalcon is here");
    // The older layout: only the records name the session.
    let old = world.projects().join("-work-one").join("agent-b2.jsonl");
    let mut old = crate::transcript::Transcript::new(old, "agent-b2", "/srv/-work-one").of_subagent(&id(1));
    old.prompt("look for the merlin").reply("the merlin is there");

    for (word, agent) in [("gyrfalcon", "agent-a1"), ("merlin", "agent-b2")] {
        let found = hits(&world.search(word));
        assert_eq!(found[0]["session_id"], *agent, "{found:?}");
        assert_eq!(found[0]["parent_session_id"], *id(1), "{found:?}");
        assert_eq!(world.show(agent)["parent_session_id"], *id(1));
    }
    let listed = world.json(&["sessions"]);
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(listed["sessions"][0]["session_id"], *id(1));
    assert_eq!(world.sessions().len(), 3, "with --subagents");
    assert_eq!(world.show(&id(1))["message_count"], 2, "a subagent's words are its own");
    let human = world.ok(&["search", "gyrfalcon"]);
    assert!(human.out.contains(&format!("subagent of {}", &id(1)[..8])), "{}", human.out);
}

#[test]
fn odd_names_and_words_go_all_the_way() {
    let world = World::new();
    let names =
        ["Проект 日本 (π≈3)", "with 'quotes' \"and\" $dollars", "-leading-dash", "trailing.", "emoji-\u{1f980}"];
    for (number, name) in (1..).zip(names) {
        let directory = world.path("work").join(name);
        std::fs::create_dir_all(&directory).unwrap();
        let transcript = world.transcript(&format!("-work-{name}"), &id(number));
        { transcript.in_directory(directory.to_str().unwrap()) }
            .prompt(&format!("Wo ist der Größenwahn, in «{name}»? 東京タワー\u{1f600}"))
            .reply("Grüße aus Łódź: naïveté");
    }
    assert_eq!(world.found("Größenwahn").len(), names.len());
    assert_eq!(world.found("grössenwahn größenwahn").len(), names.len(), "in any case");
    for (number, name) in (1..).zip(names) {
        let directory = world.path("work").join(name);
        let found = hits(&world.json(&["search", "Łódź", "--project", directory.to_str().unwrap()]));
        assert!(!found.is_empty() && found.iter().all(|hit| hit["session_id"] == *id(number)), "{name}: {found:?}");
        assert_eq!(found[0]["project"], directory.to_str().unwrap());
        let human = world.ok(&["show", &id(number)]);
        assert!(human.out.contains(name), "{}", human.out);
    }
    for odd in ["\"", "AND OR NOT", "title:(", "*", "東京", "\u{1f600}", "a\0b".trim_end_matches("\0b"), "--", "^~"] {
        let ran = world.run(&["search", "--json", "--", odd]);
        assert_eq!(ran.code, 0, "{odd}: {}", ran.err);
    }
}

#[test]
fn a_projects_folder_may_be_a_link_and_hold_links() {
    let world = World::new();
    let real = world.path("elsewhere/real-projects");
    std::fs::create_dir_all(&real).unwrap();
    std::fs::remove_dir(world.projects()).unwrap();
    std::os::unix::fs::symlink(&real, world.projects()).unwrap();
    let mut transcript = world.transcript("-work-one", &id(1));
    transcript.prompt("the linnet sings");
    let aside = world.path("elsewhere/aside");
    std::fs::create_dir_all(&aside).unwrap();
    std::os::unix::fs::symlink(&aside, real.join("-work-linked")).unwrap();
    world.transcript("-work-linked", &id(2)).prompt("the siskin sings too");
    assert_eq!(world.found("linnet"), [id(1)]);
    assert_eq!(world.found("siskin"), [id(2)]);
    transcript.prompt("and the redpoll");
    assert_eq!(world.found("redpoll"), [id(1)]);
    assert_eq!(world.sessions().len(), 2);
    assert!(!world.problems().contains("there is no"), "{}", world.problems());
}

#[test]
fn a_projects_folder_may_come_later_and_go_away() {
    let world = World::new();
    std::fs::remove_dir_all(world.config()).unwrap();
    assert!(world.problems().contains("there is no"), "{}", world.problems());
    std::fs::create_dir_all(world.path("codex/sessions")).unwrap();
    world.stop();
    assert!(!world.problems().contains("there is no"), "where Codex is used: {}", world.problems());
    world.transcript("-work-one", &id(1)).prompt("the linnet sings");
    assert_eq!(world.found("linnet"), [id(1)]);
    std::fs::remove_dir_all(world.config()).unwrap();
    assert_eq!(world.found("linnet"), [id(1)]);
}
