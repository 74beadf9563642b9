//! A relay in a folder: two homes with real daemons, each with its own sessions.

mod answers;
mod damage;
mod git;
mod hostile;
mod withdrawn;

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::transcript::Transcript;
use crate::world::{World, files_below, hits, id, list, text, wait};

/// The project that is shared, and what is said in it.
pub(crate) const SHARED: &str = "/srv/quokkaville";
pub(crate) const SAID: &str = "let the wombat cache evict its oldest entries first";
/// The one that is not, and what must never leave.
pub(crate) const UNSHARED: &str = "/srv/platypusburg";
pub(crate) const UNSAID: &str = "the narwhal ledger is confidential";

/// Two members of a team whose relay is a folder.
struct Pair {
    ann: World,
    bob: World,
    folder: PathBuf,
}

impl Pair {
    fn new() -> Self {
        let (ann, bob) = (World::new(), World::new());
        let folder = ann.path("team");
        ann.ok(&["relay", "init", folder.to_str().unwrap(), "--name", "Ann"]);
        let pair = Self { ann, bob, folder };
        pair.join(&pair.bob, "Bob");
        pair
    }

    /// Two homes, of which Bob has the session that Ann shared.
    fn sharing() -> Self {
        let pair = Self::new();
        worked(&pair.ann, 1, SHARED, SAID);
        pair.ann.ok(&["relay", "share", SHARED, "--yes"]);
        arrives(&pair.bob, "wombat cache", &id(1));
        settled(&pair.ann);
        pair
    }

    fn join(&self, world: &World, name: &str) {
        let invitation = text(&self.ann.json(&["relay", "invite"])["invitation"]);
        world.ok(&["relay", "join", &invitation, "--name", name]);
    }

    /// Everything that lies in the folder, names of files included.
    fn bytes(&self) -> Vec<u8> {
        let files = files_below(&self.folder);
        let named = |file: PathBuf| [file.to_str().unwrap().as_bytes(), &std::fs::read(&file).unwrap()].concat();
        files.into_iter().flat_map(named).collect()
    }

    fn assert_not_in_folder(&self, planted: &[&str]) {
        let bytes = self.bytes();
        for planted in planted {
            assert!(!contains(&bytes, planted), "{planted} is readable in the folder");
        }
    }
}

pub(crate) fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// A session that worked in a directory and was closed.
pub(crate) fn worked(world: &World, number: u32, directory: &str, on: &str) -> Transcript {
    let folder = directory.replace(['/', '.'], "-");
    let mut transcript = world.transcript(&folder, &id(number)).in_directory(directory);
    transcript.prompt(on).reply(&format!("I wrote {directory}/src/evict.rs, and decided on a ring buffer."));
    world.close(&id(number));
    transcript
}

/// Waits until a world finds a session.
pub(crate) fn arrives(world: &World, query: &str, id: &str) -> Value {
    let mut last = Value::Null;
    let came = wait(|| {
        last = world.search(query);
        hits(&last).iter().any(|hit| hit["session_id"] == id)
    });
    assert!(came, "{id} did not arrive; last: {last}\n{}\n{}", world.json(&["relay", "status"]), world.log());
    hits(&last).into_iter().find(|hit| hit["session_id"] == id).unwrap()
}

pub(crate) fn status(world: &World) -> Value {
    world.json(&["relay", "status"])
}

/// Waits until nothing is owed in either direction.
pub(crate) fn settled(world: &World) -> Value {
    let mut last = Value::Null;
    let is_settled = wait(|| {
        last = status(world);
        let lag = &last["lag"];
        last["connected"] == true && lag["out"]["events"] == 0 && lag["in"]["events"] == 0
    });
    assert!(is_settled, "{last}\n{}", world.log());
    last
}

#[test]
fn nothing_leaves_before_a_project_is_shared_and_then_that_project_alone() {
    let pair = Pair::new();
    let (ann, bob) = (&pair.ann, &pair.bob);
    worked(ann, 1, SHARED, SAID);
    worked(ann, 2, UNSHARED, UNSAID);
    settled(ann);
    let before = files_below(&pair.folder).len();
    assert_eq!(list(&ann.json(&["relay", "log"])["published"]).len(), 1, "its introduction alone");

    // Without a terminal it must be told.
    let refused = ann.run(&["relay", "share", SHARED]);
    assert!(refused.code == 1 && refused.err.contains("--yes"), "{}", refused.err);
    ann.ok(&["relay", "share", SHARED, "--yes"]);
    let hit = arrives(bob, "wombat cache", &id(1));
    assert_eq!((&hit["from"]["name"], &hit["resume"]), (&"Ann".into(), &Value::Null), "{hit}");
    assert!(files_below(&pair.folder).len() > before);

    assert_eq!(bob.found("narwhal ledger"), [] as [String; 0]);
    settled(ann);
    let chunk = files_below(&ann.home().join("blobs").join(id(1)));
    let names: Vec<&str> = chunk.iter().map(|path| path.file_stem().unwrap().to_str().unwrap()).collect();
    pair.assert_not_in_folder(&[
        "wombat",
        "narwhal",
        "quokkaville",
        "platypusburg",
        "evict",
        &id(1),
        &id(2),
        "Ann",
        "Bob",
    ]);
    pair.assert_not_in_folder(&names);
    let of_others = files_below(&bob.home().join("relay"));
    let is_there = |planted: &str| of_others.iter().any(|file| contains(&std::fs::read(file).unwrap(), planted));
    assert!(is_there(&id(1)) && !is_there(&id(2)) && !is_there("platypusburg") && !is_there(SHARED));
}

#[test]
fn sessions_of_others_are_shown_with_their_author_and_count_as_nobodys_own() {
    let pair = Pair::new();
    let (ann, bob) = (&pair.ann, &pair.bob);
    let mut transcript = worked(ann, 1, SHARED, SAID);
    worked(bob, 3, "/srv/own", "the wombat cache of mine evicts its newest entries");
    ann.ok(&["relay", "share", SHARED, "--yes"]);
    arrives(bob, "wombat cache", &id(1));

    let shown = bob.show(&id(1));
    assert_eq!(
        (&shown["from"]["name"], &shown["project"], &shown["tracked"]),
        (&"Ann".into(), &"quokkaville".into(), &false.into())
    );
    assert_eq!(shown["episode"]["uuid"], ann.show(&id(1))["episode"]["uuid"]);
    assert!(shown["file_path"].is_null() && shown["episode"]["resume"].is_null(), "{shown}");
    assert!(!shown.to_string().contains(SHARED), "paths are relative: {shown}");
    assert!(shown["episode"].to_string().contains("src/evict.rs"), "{shown}");

    let rows = list(&bob.json(&["sessions"])["sessions"]);
    let from = |number: u32| rows.iter().find(|row| row["session_id"] == id(number)).unwrap()["from"]["name"].clone();
    assert_eq!((from(1), from(3)), ("Ann".into(), Value::Null));
    let own = text(&bob.json(&["relay", "status"])["writer"]);
    for who in ["bob", &own[..8]] {
        assert_eq!(bob.found(&format!("who:{who} wombat cache")), [id(3)], "who {who} is, is known");
    }
    let days = bob.json(&["timeline"]).to_string();
    assert!(days.contains("\"name\":\"Ann\"") && days.contains(&id(3)), "{days}");
    let messages = bob.json(&["show", &id(1), "--messages"]).to_string();
    assert!(messages.contains("evict its oldest entries"), "{messages}");
    let recalled = bob.json(&["recall", "which entries does the wombat cache evict"]);
    let of_ann = list(&recalled["answer"]).into_iter().filter(|entry| entry["session_id"] == id(1));
    assert!(of_ann.clone().count() > 0 && of_ann.clone().all(|entry| entry["from"]["name"] == "Ann"), "{recalled}");

    // What Bob himself did, prefers, spent and is handed.
    for own in [
        &["recall", "what were we working on last time"][..],
        &["recall", "what does the user prefer"],
        &["how", "cargo"],
        &["costs"],
        &["today"],
        &["patterns"],
        &["handoff", "--project", "/srv/own"],
    ] {
        let answer = bob.run(&[own, &["--json"]].concat());
        assert!(!answer.out.contains(&id(1)), "{own:?}: {}", answer.out);
    }
    for refused in [&["close", &id(1)][..], &["forget", &id(1), "--yes"], &["reindex", &id(1)]] {
        assert_eq!(bob.run(refused).code, 1, "{refused:?}");
    }

    // It goes on, and so does what Bob has of it; also after a restart, and if what he had of Ann is lost.
    transcript.prompt("now the numbat queue has to drain").reply("It drains.");
    ann.close(&id(1));
    arrives(bob, "numbat queue", &id(1));
    bob.stop();
    arrives(bob, "numbat queue", &id(1));
    bob.stop();
    let writer = text(&status(ann)["writer"]);
    let log = bob.home().join("relay").join(&writer).join("log");
    let mut bytes = std::fs::read(&log).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&log, bytes).unwrap();
    arrives(bob, "numbat queue", &id(1));
    assert_eq!(settled(bob)["problems"], Value::Array(Vec::new()));
    bob.ok(&["log", "verify"]);
}

#[test]
fn a_team_is_paused_left_and_joined_by_invitation_alone() {
    let pair = Pair::sharing();
    let (ann, bob) = (&pair.ann, &pair.bob);

    let used = text(&ann.json(&["relay", "invite"])["invitation"]);
    for (arguments, expected) in [
        (&["relay", "join", &used, "--name", "Bob"][..], "belongs to a team already"),
        (&["relay", "init", pair.folder.to_str().unwrap()], "belongs to a team already"),
    ] {
        let refused = bob.run(arguments);
        assert!(refused.code == 1 && refused.err.contains(expected), "{arguments:?}: {}", refused.err);
    }
    let carl = World::new();
    for (invitation, expected) in [("nonsense", "not a complete invitation"), (&used[..used.len() - 2], "not reached")]
    {
        let refused = carl.run(&["relay", "join", invitation]);
        assert!(refused.code == 1, "{invitation}: {}", refused.out);
        assert!(refused.err.contains(expected) || refused.err.contains("is not there"), "{}", refused.err);
    }
    carl.ok(&["relay", "join", &used, "--name", "Carl"]);
    arrives(&carl, "wombat cache", &id(1));
    let again = World::new();
    let refused = again.run(&["relay", "join", &used]);
    assert!(refused.code == 1 && refused.err.contains("was used"), "{}", refused.err);

    bob.ok(&["relay", "pause"]);
    assert_eq!(status(bob)["enabled"], false);
    assert_eq!(bob.found("wombat cache"), [id(1)], "what was taken in stays");
    bob.ok(&["relay", "resume"]);
    settled(bob);
    assert_eq!(bob.run(&["relay", "leave"]).code, 1);
    bob.ok(&["relay", "leave", "--yes"]);
    assert!(wait(|| bob.found("wombat cache").is_empty()), "{}", bob.log());
    assert!(!bob.home().join("relay").exists());
    let has_left = || list(&status(ann)["writers"]).iter().any(|it| it["name"] == "Bob" && it["left"] == true);
    assert!(wait(has_left), "{}", status(ann));
    let refused = bob.run(&["relay", "share", SHARED, "--yes"]);
    assert!(refused.code == 1, "{}", refused.out);
}

#[test]
fn what_strangers_put_into_the_folder_is_refused_and_said() {
    let pair = Pair::sharing();
    let (ann, bob) = (&pair.ann, &pair.bob);

    // A copy of Ann's log under another name, noise, an endless length, a pipe's and a folder's place.
    let logs = |folder: &Path| -> Vec<PathBuf> { files_below(&folder.join("w")) };
    let stranger = |name: &str, bytes: &[u8]| {
        let folder = pair.folder.join("w").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("00000001.log"), bytes).unwrap();
    };
    let copied = logs(&pair.folder).into_iter().map(|log| std::fs::read(log).unwrap()).max_by_key(Vec::len).unwrap();
    stranger(&"ab".repeat(16), &copied);
    stranger(&"cd".repeat(16), &[0xff; 4096]);
    stranger(&"ef".repeat(16), &[1, 0, 0, 0, 4, b'j', b'u', b'n', b'k', 0, 0, 0, 0, 0, 0, 0, 0]);
    std::fs::create_dir_all(pair.folder.join("w").join("12".repeat(16)).join("00000001.log")).unwrap();

    worked(ann, 4, SHARED, "the bilby index is next");
    arrives(bob, "bilby index", &id(4));
    let told = || !list(&status(bob)["problems"]).is_empty();
    assert!(wait(told), "{}", status(bob));
    assert_eq!(list(&status(bob)["writers"]).len(), 2, "nobody else has joined");
    assert!(bob.daemon().is_some());
}

#[test]
fn a_preview_shows_what_would_be_published_without_directories_and_secrets() {
    let pair = Pair::new();
    let ann = &pair.ann;
    let home = ann.path("user");
    let project = home.join("work/quokkaville");
    let directory = project.to_str().unwrap().to_owned();
    let folder = directory.replace(['/', '.'], "-");
    let mut transcript = ann.transcript(&folder, &id(1)).in_directory(&directory);
    transcript.prompt(&format!("read {directory}/src/a.rs and {}/.ssh/config", home.display()));
    transcript.call("toolu_1", "Read", serde_json::json!({"file_path": format!("{directory}/src/a.rs")}));
    transcript.result("toolu_1", "fn main() {}", false).reply("<private>the aardvark is mine</private> It is empty.");
    ann.close(&id(1));
    let preview = ann.json(&["relay", "preview", &id(1)]);
    let lines = list(&preview["lines"]).iter().map(text).collect::<Vec<_>>().join("\n");
    assert!(!lines.contains(home.to_str().unwrap()) && !lines.contains("aardvark"), "{lines}");
    assert!(lines.contains("read src/a.rs and ~/.ssh/config") && lines.contains("\"located\""), "{lines}");
    assert_eq!(status(ann)["share"], Value::Array(Vec::new()), "a preview shares nothing");
}

#[test]
fn what_is_forgotten_leaves_every_home_and_the_folder() {
    let pair = Pair::new();
    let (ann, bob) = (&pair.ann, &pair.bob);
    for (number, said) in [(1, SAID), (4, "the bilby index is next"), (5, "the dugong is last")] {
        worked(ann, number, SHARED, said);
    }
    worked(bob, 3, "/srv/own", "the wombat cache of mine evicts its newest entries");
    ann.ok(&["relay", "share", SHARED, "--yes"]);
    for (query, number) in [("wombat cache", 1), ("bilby index", 4), ("dugong", 5)] {
        arrives(bob, query, &id(number));
    }
    settled(ann);
    let objects = || files_below(&pair.folder.join("o")).len() + files_below(&pair.folder.join("s")).len();
    assert_eq!(objects(), 6, "a chunk and a key for each");
    bob.stop();
    ann.ok(&["forget", &id(1), "--yes"]);
    let is_destroyed = || objects() == 4;
    assert!(wait(is_destroyed), "{}\n{}", objects(), ann.log());
    let told = |removed_by: u64, waiting: u64| {
        let forgotten = ann.json(&["relay", "forgotten"]);
        let of = |name: &str| list(&forgotten["forgotten"][0][name]).len() as u64;
        forgotten["forgotten"][0]["session_id"] == id(1)
            && (of("removed_by"), of("waiting_for")) == (removed_by, waiting)
    };
    assert!(told(0, 1), "{}", ann.json(&["relay", "forgotten"]));
    assert!(wait(|| bob.found("wombat cache") == [id(3)]), "{}", bob.log());
    assert!(wait(|| told(1, 0)), "{}", ann.json(&["relay", "forgotten"]));
    let names_it = |world: &World| {
        let files = files_below(&world.home().join("relay"));
        files.iter().filter(|file| file.to_str().unwrap().contains(&id(1))).count()
    };
    assert_eq!((names_it(ann), names_it(bob)), (0, 0), "no conversation of it is left");
    assert_eq!(bob.found("bilby index"), [id(4)]);

    // Restored and retracted, shared again.
    ann.ok(&["forget", "--undo", &id(1)]);
    ann.close(&id(1));
    arrives(bob, "wombat cache", &id(1));
    ann.ok(&["relay", "unshare", SHARED, "--retract"]);
    let is_gone = || bob.found("bilby index").is_empty() && bob.found("dugong").is_empty();
    assert!(wait(is_gone), "{}", bob.log());
    assert!(wait(|| objects() == 0), "{}", ann.log());
    ann.ok(&["relay", "share", SHARED, "--yes"]);
    arrives(bob, "bilby index", &id(4));
    assert_eq!(settled(bob)["problems"], Value::Array(Vec::new()));
}

#[test]
fn a_removed_member_reads_nothing_that_is_published_later() {
    let pair = Pair::new();
    let (ann, bob, carl) = (&pair.ann, &pair.bob, World::new());
    pair.join(&carl, "Carl");
    let mut transcript = worked(ann, 1, SHARED, SAID);
    ann.ok(&["relay", "share", SHARED, "--yes"]);
    for world in [bob, &carl] {
        arrives(world, "wombat cache", &id(1));
    }
    let writer = text(&status(bob)["writer"]);
    for (named, expected) in [("0000", "no other member"), (&text(&status(ann)["writer"])[..], "no other member")] {
        let refused = ann.run(&["relay", "remove", named, "--yes"]);
        assert!(refused.code == 1 && refused.err.contains(expected), "{}", refused.err);
    }
    settled(bob);
    ann.ok(&["relay", "remove", &writer[..8], "--yes"]);
    let is_told = || list(&status(bob)["problems"]).iter().any(|told| text(told).contains("removed this home"));
    assert!(wait(is_told), "{}", status(bob));

    transcript.prompt("now the numbat queue has to drain").reply("It drains.");
    ann.close(&id(1));
    worked(ann, 4, SHARED, "the bilby index is next");
    arrives(&carl, "numbat queue", &id(1));
    arrives(&carl, "bilby index", &id(4));
    assert_eq!(settled(&carl)["problems"], Value::Array(Vec::new()));
    assert!(bob.found("numbat queue").is_empty() && bob.found("bilby index").is_empty());
    // What Bob says from now on is refused.
    worked(bob, 3, SHARED, "the echidna is mine");
    bob.ok(&["relay", "share", SHARED, "--yes"]);
    let shown = list(&status(&carl)["writers"]);
    assert!(shown.iter().any(|it| it["name"] == "Bob" && it["removed"] == true), "{shown:?}");
    // One who joins later has all of it.
    let dora = World::new();
    pair.join(&dora, "Dora");
    arrives(&dora, "numbat queue", &id(1));
    arrives(&dora, "bilby index", &id(4));
    for world in [ann, &carl, &dora] {
        assert!(!world.found("echidna").contains(&id(3)));
    }
    // Two in a row, while nothing else goes out or comes in: the second gets a key of its own.
    ann.ok(&["relay", "pause"]);
    for world in [&carl, &dora] {
        ann.ok(&["relay", "remove", &text(&status(world)["writer"])[..8], "--yes"]);
    }
    ann.ok(&["relay", "resume"]);
    for world in [&carl, &dora] {
        let is_told = || list(&status(world)["problems"]).iter().any(|told| text(told).contains("removed this home"));
        assert!(wait(is_told), "{}", status(world));
    }
}
