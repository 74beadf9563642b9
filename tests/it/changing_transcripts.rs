//! Changing transcripts: truncated and continued, moved while they are written, written by two processes, written
//! faster than they are read, many at once, and large ones. Nothing is lost, and nothing is duplicated.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::record::Log;
use crate::transcript::Transcript;
use crate::world::{World, hits, id, text, wait, wait_within};

/// Number of turns with this word in the memory. A search also finds a session's other turns, through their title.
fn turns(world: &World, word: &str) -> usize {
    let has_word = |hit: &&Value| hit["kind"] == "turn" && text(&hit["snippet"]).contains(word);
    hits(&world.search(word)).iter().filter(has_word).count()
}

#[test]
fn a_tail_that_is_cut_off_and_written_anew_is_a_new_generation_with_nothing_lost_or_twice() {
    let world = World::new();
    let mut transcript = world.transcript("-work-one", &id(1));
    transcript.prompt("the puffin digs").reply("it does");
    let kept = std::fs::metadata(transcript.path()).unwrap().len();
    transcript.reply("the razorbill was half said");
    world.close(&id(1));
    // As an agent does when it takes back an interrupted answer: in place, by another writer.
    OpenOptions::new().write(true).open(transcript.path()).unwrap().set_len(kept).unwrap();
    transcript.reply("the guillemot was said whole, and at greater length than what was broken off before it");
    assert_eq!(world.found("guillemot"), [id(1)]);
    assert_eq!(world.found("razorbill"), [""; 0], "it was taken back");
    assert_eq!(turns(&world, "puffin"), 1, "{}", world.search("puffin"));
    assert_eq!(world.show(&id(1))["message_count"], 3);
    world.close(&id(1));
    world.stop();
    assert_eq!(Log::of(&world).states()[&id(1)].generation, 2);
}

#[test]
fn a_live_file_that_moves_leaves_a_stub_behind_and_stays_one_session() {
    let world = World::new();
    let mut transcript = world.transcript("-work-one", &id(1));
    transcript.prompt("the avocet wades").reply("yes");
    let old = transcript.path().to_owned();
    assert_eq!(world.found("avocet"), [id(1)]);
    transcript.rename(world.projects().join("-work-tree").join(format!("{}.jsonl", id(1))));
    // The stub that some versions leave at the old path.
    std::fs::write(&old, "{\"type\":\"relocated\",\"relocatedCwd\":\"/srv/-work-tree\"}\n").unwrap();
    transcript.prompt("the dunlin follows");
    assert_eq!(world.found("dunlin"), [id(1)], "{}", world.log());
    assert_eq!(world.show(&id(1))["message_count"], 3, "read on, and the stub is not read in its place");
    transcript.rename(old);
    transcript.prompt("and back again: the whimbrel");
    assert_eq!(world.found("whimbrel"), [id(1)]);
    let shown = world.show(&id(1));
    assert_eq!((&shown["message_count"], world.sessions().len()), (&4.into(), 1), "{shown}");
    assert_eq!(turns(&world, "avocet"), 1);
    world.stop();
    Log::of(&world);
}

#[test]
fn two_writers_of_one_file_are_read_as_it_stands() {
    let world = World::new();
    let mut one = world.transcript("-work-one", &id(1));
    let mut other = Transcript::new(one.path().to_owned(), &id(1), "/srv/-work-one");
    one.prompt("the smew was first");
    for number in 0..20 {
        other.prompt(&format!("other window {number}"));
        one.reply(&format!("this window {number}"));
        if number % 7 == 0 {
            world.search("window");
        }
    }
    other.prompt("the goosander was last");
    assert_eq!((world.found("smew"), world.found("goosander")), (vec![id(1)], vec![id(1)]));
    let shown = world.show(&id(1));
    assert_eq!((&shown["message_count"], &shown["malformed_lines"]), (&42.into(), &0.into()), "{shown}");
    world.stop();
    Log::of(&world);
}

#[test]
fn a_transcript_that_grows_faster_than_it_is_read_loses_nothing_and_every_question_is_answered() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).prompt("the first of many");
    let path = world.projects().join("-work-one").join(format!("{}.jsonl", id(1)));
    let (is_over, written) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(1)));
    let writer = {
        let (is_over, written) = (is_over.clone(), written.clone());
        std::thread::spawn(move || {
            let mut transcript = Transcript::new(path, &id(1), "/srv/-work-one");
            // Limits the file on a machine on which closing takes long.
            while !is_over.load(Ordering::SeqCst) && written.load(Ordering::SeqCst) < 20_000 {
                let number = written.fetch_add(1, Ordering::SeqCst);
                transcript.prompt(&format!("prompt {number} of a writer at full speed"));
            }
        })
    };
    // On a slow machine indexing may take longer than a close waits: the close says so, and is repeated.
    let close = || loop {
        let closed = world.run(&["close", &id(1), "--json"]);
        if !closed.out.contains("is still being indexed") {
            assert_eq!((closed.code, &closed.json()["status"]), (0, &"success".into()), "{}", closed.out);
            break;
        }
    };
    for _ in 0..3 {
        close();
        assert_eq!(world.search("writer")["freshness"].get("failed"), None);
    }
    is_over.store(true, Ordering::SeqCst);
    writer.join().unwrap();
    close();
    let shown = world.show(&id(1));
    assert_eq!(shown["message_count"], written.load(Ordering::SeqCst), "{shown}");
    assert_eq!(shown["malformed_lines"], 0, "{shown}");
    world.stop();
    Log::of(&world);
}

#[test]
fn links_out_of_the_directory_are_followed_and_circles_end() {
    let world = World::new();
    let aside = world.path("elsewhere");
    let mut linked = Transcript::new(aside.join("real.jsonl"), &id(1), "/srv/-work-one");
    linked.prompt("the whinchat lies elsewhere");
    let folder = world.projects().join("-work-one");
    std::fs::create_dir_all(folder.join("deep/deeper")).unwrap();
    std::os::unix::fs::symlink(linked.path(), folder.join(format!("{}.jsonl", id(1)))).unwrap();
    std::os::unix::fs::symlink("..", folder.join("up")).unwrap();
    std::os::unix::fs::symlink(&folder, folder.join("deep/deeper/again")).unwrap();
    let (a, b) = (format!("{}.jsonl", id(2)), format!("{}.jsonl", id(3)));
    std::os::unix::fs::symlink(&a, folder.join(&b)).unwrap();
    std::os::unix::fs::symlink(&b, folder.join(&a)).unwrap();
    std::os::unix::fs::symlink("/dev/zero", folder.join(format!("{}.jsonl", id(4)))).unwrap();
    assert_eq!(world.found("whinchat"), [id(1)]);
    linked.prompt("and the stonechat beside it");
    assert_eq!(world.found("stonechat"), [id(1)], "what is written to the file behind the link is seen");
    assert_eq!(world.json(&["status"])["transcripts"], 1);
    assert_eq!(world.sessions().len(), 1);
}

#[test]
fn thousands_of_transcripts_at_once_are_all_there() {
    let world = World::new();
    world.transcript("-work-0", &id(1)).prompt("the wheatear is here before them");
    assert_eq!(world.found("wheatear"), [id(1)]);
    let record = world.transcript("-work-0", "x").prompt_record("one of the many fieldfares").to_string();
    for number in 0..3_000_u32 {
        let folder = world.projects().join(format!("-work-{}", number % 50));
        std::fs::create_dir_all(&folder).unwrap();
        let name = id(10_000 + number);
        std::fs::write(
            folder.join(format!("{name}.jsonl")),
            format!("{record}\n").replace("\"x\"", &format!("{name:?}")),
        )
        .unwrap();
    }
    let came = wait(|| {
        let status = world.json(&["status"]);
        status["transcripts"] == 3_001 && status["backlog"]["pending"] == 0
    });
    assert!(came, "{}", world.json(&["status"]));
    let sessions = world.json(&["status"])["sessions"].clone();
    let all: u64 = sessions.as_object().unwrap().values().filter_map(Value::as_u64).sum();
    assert_eq!(all, 3_001, "{sessions}");
}

/// Peak memory of the daemon, in MB.
fn peak_mb(world: &World) -> u64 {
    let daemon = world.daemon().unwrap().as_raw_nonzero();
    let status = std::fs::read_to_string(format!("/proc/{daemon}/status")).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() / 1024
}

#[test]
#[cfg(target_os = "linux")]
fn a_large_file_and_a_large_line_are_read_in_little_memory() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).prompt("the small one: a siskin");
    world.close(&id(1));
    let before = peak_mb(&world);
    // 300 MB of progress records of a running command, and one line of 100 MB.
    let mut large = world.transcript("-work-two", &id(2));
    large.prompt("before it the brambling");
    let output = "x".repeat(1_000);
    let line =
        format!("{{\"type\":\"progress\",\"data\":{{\"type\":\"bash_progress\",\"fullOutput\":\"{output}\"}}}}\n");
    let mut file = BufWriter::new(OpenOptions::new().append(true).open(large.path()).unwrap());
    for _ in 0..300_000_000 / line.len() {
        file.write_all(line.as_bytes()).unwrap();
    }
    fill(&mut file, 100_000_000);
    file.flush().unwrap();
    large.reply("after it the crossbill");
    world.close(&id(2));
    assert_eq!((world.found("brambling"), world.found("crossbill")), (vec![id(2)], vec![id(2)]));
    let shown = world.show(&id(2));
    assert_eq!(
        (&shown["message_count"], &shown["oversize_lines"], &shown["malformed_lines"]),
        (&2.into(), &1.into(), &0.into())
    );
    let more = peak_mb(&world) - before;
    assert!(more < 64, "{more} MB more than for a small one ({before} MB)");
}

#[test]
#[cfg(target_os = "linux")]
fn a_long_conversation_is_indexed_in_little_memory() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).prompt("the small one: a siskin");
    world.close(&id(1));
    let before = peak_mb(&world);
    // 120 MB as agents write them: each turn has some words, a call, and far more output than is kept.
    let mut long = world.transcript("-work-two", &id(2));
    long.prompt("before it the brambling");
    let output = "a line that a build has printed\n".repeat(320);
    let mut file = BufWriter::new(OpenOptions::new().append(true).open(long.path()).unwrap());
    for turn in 0..6_000_u32 {
        let word = |at: u32| format!("w{}", (turn * 31 + at * at).wrapping_mul(2_654_435_761) % 9_973);
        let words: Vec<String> = (0..90).map(word).collect();
        let (call, command) = (format!("t{turn}"), format!("make part-{turn}"));
        for record in [
            long.reply_record(&words.join(" ")),
            long.call_record(&call, "Bash", serde_json::json!({ "command": command })),
            long.result_record(&call, &output, false),
        ] {
            writeln!(file, "{record}").unwrap();
        }
    }
    file.flush().unwrap();
    assert!(std::fs::metadata(long.path()).unwrap().len() > 120_000_000);
    long.reply("after it the crossbill");
    // May take longer than a close or a search waits.
    assert!(wait_within(Duration::from_secs(600), || world.found("crossbill") == [id(2)]), "{}", world.log());
    assert_eq!(world.found("brambling"), [id(2)]);
    let hit = &hits(&world.search("\"make part-3000\""))[0];
    assert!(text(&hit["snippet"]).contains("part-3000"), "what is in its middle is found: {hit}");
    let more = peak_mb(&world) - before;
    assert!(more < 96, "{more} MB more than for a small one ({before} MB)");
}

/// Writes one line of about `bytes` bytes.
fn fill(file: &mut BufWriter<File>, bytes: usize) {
    let block = vec![b'z'; 1_000_000];
    file.write_all(b"{\"type\":\"progress\",\"data\":\"").unwrap();
    (0..bytes / block.len()).for_each(|_| file.write_all(&block).unwrap());
    file.write_all(b"\"}\n").unwrap();
}
