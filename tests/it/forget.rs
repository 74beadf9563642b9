//! Forgotten content is in no file of the home and in no answer, and stays forgotten, whatever happens to its
//! transcript, to the daemon and to the home.

mod copies;

use std::collections::BTreeSet;
use std::path::Path;

use baton_memory::Store;
use serde_json::{Value, json};

use crate::tracking::ask;
use crate::transcript::Transcript;
use crate::world::{World, copy, files_below, hits, id, list, text, wait};

/// One word for each place that can hold text.
const WORDS: [&str; 11] = [
    "quokkaprompt",
    "bilbyreply",
    "numbatinput",
    "potorooresult",
    "dunnartthought",
    "bettongtitle",
    "wombatnote",
    "glidercall",
    "cuscusagent",
    "thylacine",
    "echidnafile",
];

/// A session with a word in every place.
fn planted(world: &World, number: u32) -> Transcript {
    let me = id(number);
    let mut transcript = world.transcript("-work-one", &me);
    transcript.prompt("the quokkaprompt fails, and who knows why");
    let mut thinking = transcript.reply_record("");
    thinking["message"]["content"] =
        json!([{"type": "thinking", "thinking": "a dunnartthought of mine", "signature": "c2ln"}]);
    transcript.append(&thinking);
    transcript.call("c1", "Bash", json!({"command": "cargo test numbatinput", "description": "glidercall"}));
    transcript.result("c1", "error: potorooresult is not there\nexit code 101", true);
    let edit = json!({"file_path": "/srv/-work-one/src/thylacine.rs", "old_string": "a", "new_string": "echidnafile"});
    transcript.call("c2", "Edit", edit).result("c2", "The file has been updated.", false);
    transcript.reply("I decided to mend the bilbyreply because of the quokkaprompt.");
    transcript.append(&json!({"type": "custom-title", "customTitle": "the bettongtitle", "sessionId": me}));
    let agent = world.projects().join(format!("-work-one/{me}/subagents/agent-a{number}b2c3d.jsonl"));
    let mut agent = Transcript::new(agent, &me, "/srv/-work-one").of_subagent(&format!("a{number}b2c3d"));
    agent.prompt("look for the cuscusagent").reply("the cuscusagent is found");
    transcript
}

/// Names and contents of all files of a home without a daemon, decompressed where necessary.
pub(crate) fn contents(home: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for path in files_below(home) {
        let bytes = std::fs::read(&path).unwrap();
        let name = path.display().to_string();
        all.extend(zstd::decode_all(bytes.as_slice()).ok().map(|unpacked| (name.clone(), unpacked)));
        all.push((name, bytes));
    }
    let opened = Store::open(&home.join("memory")).unwrap();
    assert_eq!(opened.wiped, None);
    all.push(("memory, read".to_owned(), opened.store.raw_contents().unwrap().join("\n").into_bytes()));
    all
}

fn contains(haystack: &[u8], needle: &str) -> bool {
    haystack.windows(needle.len()).any(|window| window.eq_ignore_ascii_case(needle.as_bytes()))
}

/// Those of the words that occur in a home, each with its first place.
pub(crate) fn found_in(home: &Path, words: &[&str]) -> Vec<String> {
    let contents = contents(home);
    let of_word = |word: &&str| {
        let (name, _) = contents.iter().find(|(_, bytes)| contains(bytes, word))?;
        Some(format!("{word} in {name}"))
    };
    words.iter().filter_map(of_word).collect()
}

fn forget(world: &World, arguments: &[&str]) -> Value {
    let done = world.json(&[&["forget", "--yes"], arguments].concat());
    assert_eq!(done["status"], "success", "{done}");
    done
}

#[test]
fn i11_what_is_forgotten_is_in_no_file_of_the_home() {
    let world = World::new();
    let me = id(1);
    let mut transcript = planted(&world, 1);
    world.transcript("-work-one", &id(2)).prompt("the platypus stays").reply("it does");
    world.ok(&["close", &me, "--reason", "done with the wombatnote"]);
    assert_eq!(world.found("quokkaprompt"), [me.as_str()]);
    world.run(&["handoff", "--project", "/srv/-work-one"]);
    world.show(&me);
    world.stop();
    // All of them are found in their places before.
    let there: Vec<String> = found_in(world.home(), &WORDS);
    assert!(there.len() >= 9, "{there:?}");

    let done = forget(&world, &[&me[..8]]);
    world.kill();
    assert_eq!(found_in(world.home(), &WORDS), [""; 0]);
    assert_eq!(found_in(world.home(), &["platypus"]).len(), 1);
    let sessions: Vec<String> = list(&done["sessions"]).iter().map(|row| text(&row["session_id"])).collect();
    assert_eq!(sessions[0], me);
    assert_eq!((sessions.len(), list(&done["also"]).len()), (2, 0), "{done}");
    assert!(text(&done["kept_elsewhere"]).contains("exports"), "{done}");
    assert_eq!(done["transcripts"][0], transcript.path().display().to_string(), "{done}");
    assert!(transcript.path().exists());

    // A second time, nothing is left to do.
    let again = forget(&world, &[&me]);
    assert!(text(&again["message"]).contains("as before"), "{again}");
    // The transcript grows and moves, its agent calls a hook, a command closes the session: nothing comes back.
    transcript.prompt("the quokkaprompt again").reply("and the bilbyreply");
    assert_eq!(world.found("quokkaprompt"), [""; 0]);
    let hook = json!({"id": "h1", "event": "SessionEnd", "session_id": me, "detail": "clear", "at": 0,
        "transcript_path": transcript.path()});
    let _ = crate::sockets::Raw::greeted(&world)
        .call(&json!({"jsonrpc": "2.0", "id": 7, "method": "hook", "params": hook}));
    let closed = world.close_fails(&[&me, "--reason", "the wombatnote once more"]);
    assert!(text(&closed["message"]).contains("baton forget --undo"), "{closed}");
    transcript.rename(world.projects().join(format!("-work-two/{me}.jsonl")));
    assert_eq!(world.found("bilbyreply"), [""; 0]);
    assert_eq!(world.show(&me)["state"], "forgotten");
    let explained = world.json(&["explain", &me]);
    assert!(explained["notes"].to_string().contains("forget --undo"), "{explained}");
    // A subagent that appears later is forgotten too.
    let agent = world.projects().join(format!("-work-one/{me}/subagents/agent-afffffff.jsonl"));
    let mut agent = Transcript::new(agent, &me, "/srv/-work-one").of_subagent("afffffff");
    agent.prompt("the cuscusagent is late").reply("it is");
    assert_eq!(world.found("cuscusagent"), [""; 0]);
    world.ok(&["log", "compact"]);
    world.stop();
    assert_eq!(found_in(world.home(), &WORDS), [""; 0]);

    // An export contains none of it, and another home built from the export forgets it as well.
    let export = world.path("export.jsonl");
    world.ok(&["log", "export", "--unredacted", "-o", export.to_str().unwrap()]);
    let exported = std::fs::read(&export).unwrap();
    assert!(WORDS.iter().all(|word| !contains(&exported, word)) && contains(&exported, "platypus"));
    std::fs::remove_dir_all(world.home()).unwrap();
    world.ok(&["log", "import", export.to_str().unwrap()]);
    assert_eq!(world.found("quokkaprompt"), [""; 0]);
    assert_eq!(world.found("platypus"), [id(2)]);
    assert_eq!(world.show(&me)["state"], "forgotten");
    world.stop();
    assert_eq!(found_in(world.home(), &WORDS), [""; 0]);
    // A rebuilt memory does not contain it either.
    std::fs::remove_dir_all(world.home().join("memory")).unwrap();
    assert_eq!(world.found("platypus"), [id(2)]);
    world.stop();
    assert_eq!(found_in(world.home(), &WORDS), [""; 0]);
}

#[test]
fn what_was_interrupted_is_done_by_the_next_start() {
    let world = World::new();
    let me = id(1);
    planted(&world, 1);
    world.transcript("-work-one", &id(2)).prompt("the platypus stays").reply("it does");
    world.ok(&["close", &me, "--reason", "done with the wombatnote"]);
    assert_eq!(world.found("quokkaprompt"), [me.as_str()]);
    world.stop();
    let before = world.path("before");
    copy(world.home(), &before);
    forget(&world, &[&me]);
    world.stop();
    // The state just after the tombstone was recorded.
    for folder in ["blobs", "memory"] {
        std::fs::remove_dir_all(world.home().join(folder)).unwrap();
        copy(&before.join(folder), &world.home().join(folder));
    }
    assert!(found_in(world.home(), &WORDS).len() >= 9);
    assert_eq!(world.found("quokkaprompt"), [""; 0]);
    let folder = world.home().join("blobs").join(&me);
    assert!(wait(|| !folder.exists()), "its conversation is still there\n{}", world.log());
    forget(&world, &[&me]);
    world.kill();
    assert_eq!(found_in(world.home(), &WORDS), [""; 0]);
    assert_eq!(world.found("platypus"), [id(2)]);

    // The same without repeating the request.
    world.stop();
    std::fs::remove_dir_all(world.home().join("memory")).unwrap();
    copy(&before.join("memory"), &world.home().join("memory"));
    let purged = || world.log().matches("memory purged").count();
    let known = purged();
    world.ok(&["daemon"]);
    let gone = wait(|| {
        world.ok(&["status"]);
        std::thread::yield_now();
        purged() > known
    });
    world.stop();
    assert!(gone, "{}", world.log());
    assert_eq!(found_in(world.home(), &WORDS), [""; 0]);
}

#[test]
fn a_daemon_that_is_killed_over_it_leaves_nothing_that_is_not_forgotten_later() {
    let world = World::new();
    for number in 1..=8 {
        planted(&world, number);
    }
    world.transcript("-work-two", &id(20)).prompt("the platypus stays").reply("it does");
    assert_eq!(world.found("quokkaprompt").len(), 8);
    let mut forgetting = world.spawn(&["forget", "--project", "/srv/-work-one", "--yes"]);
    assert!(wait(|| world.log().contains("session forgotten")), "{}", world.log());
    world.kill();
    let _ = forgetting.wait();
    let done = forget(&world, &["--project", "/srv/-work-one"]);
    assert_eq!(list(&done["sessions"]).len(), 16, "{done}");
    world.kill();
    assert_eq!(found_in(world.home(), &WORDS), [""; 0]);
    assert_eq!((world.found("quokkaprompt").len(), world.found("platypus")), (0, vec![id(20)]));
    let later = text(&done["later"]);
    assert!(later.contains("/srv/-work-one") && later.contains("session_tracking.exclude"), "{later}");
    assert_eq!(list(&forget(&world, &["--project", "/srv/-work-one"])["sessions"]).len(), 16, "again");
    // New sessions there are read, as the message said, unless they are excluded as it advised.
    world.transcript("-work-one", &id(30)).prompt("the tuatara is new").reply("yes");
    assert_eq!(world.found("tuatara"), [id(30)]);
    let config = json!({"session_tracking": {"exclude": ["/srv/-work-one"]}}).to_string();
    std::fs::write(world.home().join("config.json"), config).unwrap();
    let done = forget(&world, &["--project", "/srv/-work-one"]);
    assert!(done["later"].is_null(), "{done}");
    world.transcript("-work-one", &id(31)).prompt("the tuatara again").reply("yes");
    assert_eq!(world.found("tuatara"), [""; 0]);
}

#[test]
fn one_that_is_killed_over_a_merge_leaves_nothing_either() {
    // A merge takes a while, but on a busy machine the test may miss it.
    assert!((0..3).any(|_| kill_over_a_merge()), "no merge was caught");
}

/// Returns true if the daemon was killed in the middle of the merge.
fn kill_over_a_merge() -> bool {
    let world = World::new();
    let mut transcript = planted(&world, 1);
    for part in 0..300 {
        transcript.prompt(&format!("the quokkaprompt again, part {part}, {}", words(part)));
    }
    transcript.reply("the bilbyreply to all of it");
    world.transcript("-work-two", &id(20)).prompt("the platypus stays").reply("it does");
    assert!(wait(|| world.found("quokkaprompt") == [id(1)]), "{}", world.log());
    let memory = world.home().join("memory");
    let before = segments(&memory);
    let is_over = || world.log().contains("memory purged");
    let mut forgetting = world.spawn(&["forget", &id(1), "--yes"]);
    // A new segment is the one into which others are being merged.
    let merges = || segments(&memory).iter().any(|segment| !before.contains(segment));
    while !merges() && !is_over() && forgetting.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    // Otherwise the command would start another daemon and repeat the request.
    let _ = forgetting.kill();
    let _ = forgetting.wait();
    world.kill();
    let caught = !is_over();
    // The next daemon finishes the work without a request.
    world.ok(&["daemon"]);
    assert!(wait(is_over), "{}", world.log());
    world.stop();
    assert_eq!(found_in(world.home(), &WORDS), [""; 0]);
    assert_eq!((world.found("quokkaprompt").len(), world.found("platypus")), (0, vec![id(20)]));
    caught
}

/// Words that are unique to this number.
fn words(number: u32) -> String {
    (0..60).map(|word| format!("w{:x}", (number * 61 + word).wrapping_mul(2_654_435_761))).collect::<Vec<_>>().join(" ")
}

/// Names of the segments that have files.
fn segments(memory: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(memory).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let stems = names.filter_map(|name| name.split_once('.').map(|(stem, _)| stem.to_owned()));
    stems.filter(|stem| stem.len() == 32).collect()
}

#[test]
fn what_is_forgotten_goes_while_others_are_indexed() {
    const OTHERS: u32 = 60;
    let world = World::new();
    let mut growing = planted(&world, 1);
    planted(&world, 2);
    assert_eq!(world.found("quokkaprompt").len(), 2);
    for number in 100..100 + OTHERS {
        world.transcript("-work-two", &id(number)).prompt(&format!("the platypus {}", words(number))).reply("it stays");
    }
    // One of the sessions to forget is in progress as well.
    growing.prompt("the quokkaprompt once more").reply("and the bilbyreply");
    let mut searching = world.spawn(&["search", "platypus"]);
    let mut hidden = world.spawn(&["search", "quokkaprompt"]);
    let done = forget(&world, &["--project", "/srv/-work-one"]);
    assert_eq!(list(&done["sessions"]).len(), 4, "{done}");
    assert!(searching.wait().unwrap().success() && hidden.wait().unwrap().success(), "{}", world.log());
    world.ok(&["search", "platypus"]);
    let indexed = world.json(&["sessions", "--state", "indexed"]);
    assert_eq!(list(&indexed["sessions"]).len(), OTHERS as usize, "{}", world.log());
    assert_eq!((world.found("quokkaprompt").len(), world.found("bilbyreply").len()), (0, 0));
    assert!(world.found("platypus").len() >= 10);
    world.kill();
    assert_eq!(found_in(world.home(), &WORDS), [""; 0]);
    world.ok(&["log", "verify"]);
}

#[test]
fn a_person_takes_it_back() {
    let world = World::new();
    let transcript = planted(&world, 1);
    assert_eq!(world.found("quokkaprompt"), [id(1)]);
    forget(&world, &[&id(1)]);
    let not = world.run(&["forget", "--undo", &id(1)[..8]]);
    assert_eq!(not.code, 0, "{}{}", not.out, not.err);
    assert!(not.out.contains("read again"), "{}", not.out);
    assert_eq!(world.found("quokkaprompt"), [id(1)]);
    assert!(world.found("cuscusagent").iter().any(|found| found.starts_with("agent-")));
    assert_eq!(world.run(&["forget", "--undo", &id(1)]).code, 1, "it is not forgotten");

    forget(&world, &["--project=-work-one"]);
    let listed = world.ok(&["sessions", "--project=-work-one"]);
    assert!(
        listed.out.contains("forgotten") && listed.err.contains("All sessions of this project are forgotten"),
        "{}",
        listed.err
    );
    assert_eq!(world.json(&["sessions", "--project=-work-one"])["sessions"][0]["state"], "forgotten");
    assert_eq!(world.run(&["search", "x", "--project=-work-one"]).code, 1, "searched is what is left");
    std::fs::remove_file(transcript.path()).unwrap();
    let back = world.ok(&["forget", "--undo", &id(1)]);
    assert!(back.out.contains("without a transcript left, 1 cannot be restored"), "{}", back.out);
    let shown = world.show(&id(1));
    assert_eq!((&shown["state"], &shown["why"]), (&"unindexed".into(), &"gone".into()), "{shown}");
    let log = crate::record::Log::of({
        world.stop();
        &world
    });
    let restored =
        log.of_session(&id(1)).filter(|event| matches!(event, baton_events::session::Event::Restored { .. }));
    assert_eq!(restored.count(), 2);
}

#[test]
fn it_is_asked_for_in_so_many_words() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).minutes_ago(3 * 24 * 60).prompt("the old quokkaprompt").reply("yes");
    world.transcript("-work-one", &id(2)).prompt("the new bilbyreply").reply("yes");
    assert_eq!(world.found("quokkaprompt"), [id(1)]);
    // There is no terminal to ask on.
    let refused = world.run(&["forget", &id(1)]);
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("--yes") && refused.err.contains("nothing was changed"), "{}", refused.err);
    // If nothing matches, the command reports that first.
    for wrong in [&["zzzz"][..], &["--project", "zzzz"]] {
        let refused = world.run(&[&["forget", "--json"], wrong].concat());
        assert_eq!((refused.code, refused.out.as_str()), (1, ""), "{}", refused.err);
        assert!(refused.err.contains(r#""code":"not_found""#) && refused.err.contains("zzzz"), "{}", refused.err);
    }
    let nothing = world.json(&["forget", "--before", "90d"]);
    assert_eq!(list(&nothing["sessions"]).len(), 0, "nothing has to be agreed to: {nothing}");
    for wrong in [&["forget"][..], &["forget", &id(1), "--project", "x"], &["forget", "--before", "soon"]] {
        assert_eq!(world.run(wrong).code, 2, "{wrong:?}");
    }
    assert_eq!(world.run(&["forget", "--yes", "ffffffff"]).code, 1);
    // A directory above a project does not name the project, and an empty name matches nothing.
    for wrong in ["/srv", "/", "", " "] {
        let told = world.run(&["forget", "--yes", "--project", wrong]);
        assert_ne!(told.code, 0, "{wrong:?}: {}", told.out);
    }
    assert_eq!((world.found("quokkaprompt"), world.found("bilbyreply")), (vec![id(1)], vec![id(2)]));
    let would = world.json(&["forget", "--before", "1d", "--dry-run"]);
    let ids: Vec<String> = list(&would["sessions"]).iter().map(|row| text(&row["session_id"])).collect();
    assert_eq!((ids, &would["dry_run"]), (vec![id(1)], &true.into()), "{would}");
    // Also for a session that may not have been read yet, the time of its records decides, not the file's time.
    world.transcript("-work-one", &id(3)).minutes_ago(3 * 24 * 60).prompt("another old one").reply("yes");
    let would = world.json(&["forget", "--before", "1d", "--dry-run"]);
    let ids: BTreeSet<String> = list(&would["sessions"]).iter().map(|row| text(&row["session_id"])).collect();
    assert_eq!(ids, [id(1), id(3)].into(), "{would}");
    assert!(list(&would["sessions"]).iter().all(|row| row["last_activity"].is_string()), "{would}");
    assert_eq!(world.found("quokkaprompt"), [id(1)], "nothing was changed");
    forget(&world, &["--before", "1d", "--project", "/srv/-work-one"]);
    assert_eq!((world.found("quokkaprompt").len(), world.found("bilbyreply")), (0, vec![id(2)]));
    assert_eq!(list(&forget(&world, &["--before", "90d"])["sessions"]).len(), 0);
    // No tool allows an agent to forget.
    let called = crate::sockets::Raw::greeted(&world).call(
        &json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "forget", "arguments": {}}}),
    );
    assert!(called["result"].is_null() || called["result"]["isError"] == true, "{called}");
    assert!(!hits(&world.search("bilbyreply")).is_empty());
}

#[test]
fn what_is_only_there_as_a_file_is_forgotten_before_it_is_read() {
    let world = World::new();
    std::fs::create_dir_all(world.home()).unwrap();
    let switches = r#"{"session_tracking": {"projects": {"/srv/-work-one": {"enabled": false}}}}"#;
    std::fs::write(world.home().join("config.json"), switches).unwrap();
    world.transcript("-work-one", &id(1)).prompt("the quokkaprompt").reply("yes");
    world.ok(&["sessions"]);
    let done = forget(&world, &[&id(1)]);
    assert_eq!(done["sessions"][0]["state"], "not read", "{done}");
    world.ok(&["session-tracking", "enable", "--project", "/srv/-work-one"]);
    assert_eq!(world.found("quokkaprompt"), [""; 0]);
    let told = ask(&world, "show", &json!({"session": id(1)}));
    assert_eq!(told["state"], "forgotten", "{told}");
}

#[test]
fn what_is_forgotten_stays_so_when_a_repair_cuts_its_tombstone_off() {
    let world = World::new();
    planted(&world, 1);
    world.transcript("-work-one", &id(2)).prompt("the platypus stays").reply("it does");
    assert_eq!(world.found("quokkaprompt"), [id(1)]);
    forget(&world, &[&id(1)]);
    world.stop();
    let log = crate::record::Log::of(&world);
    let at = log.events.iter().find(|event| matches!(event.event, baton_events::session::Event::Forgotten)).unwrap();
    world.ok(&["log", "repair", "--cut-at", &at.position.0.to_string(), "--yes"]);
    world.ok(&["daemon"]);
    world.wait_for(&id(1), "the tombstone", |row| row["state"] == "forgotten");
    assert_eq!(world.found("quokkaprompt"), [""; 0]);
    assert!(wait(|| !world.home().join("log/forgotten.json").exists()), "{}", world.log());
    world.kill();
    assert_eq!(found_in(world.home(), &WORDS), [""; 0]);
    assert_eq!(world.found("platypus"), [id(2)]);
}
