//! Kills at random on every side of a relay: the daemons of two and of five homes, the server, the folder. Afterwards
//! all homes have the same shared sessions, nothing is there twice, what was not shared is nowhere, and neither is what
//! was forgotten.
//!
//! `BATON_RELAY_SEED` repeats a run, `BATON_RELAY_ROUNDS` makes it longer.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

use baton_endpoint::nats::NatsServer;
use serde_json::{Value, json};

use crate::forget;
use crate::relay::{SHARED, status};
use crate::transcript::Transcript;
use crate::world::{World, files_below, id, list, say, skipped, text, wait, wait_within};

/// Longest wait for something to happen before a kill.
const GLIMPSE_MS: usize = 250;

/// Random numbers from a seed (SplitMix64), which is printed if the test fails.
struct Chance {
    seed: u64,
    state: u64,
}

impl Chance {
    fn new(seed: u64) -> Self {
        Self { seed, state: seed }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % bound as u64).unwrap()
    }

    fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }
}

impl Drop for Chance {
    fn drop(&mut self) {
        if std::thread::panicking() {
            say(&format!("again: BATON_RELAY_SEED={}", self.seed));
        }
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// What carries the messages.
enum Carrier {
    Folder(PathBuf),
    Server(NatsServer),
}

impl Carrier {
    fn address(&self) -> String {
        match self {
            Self::Folder(folder) => folder.to_str().unwrap().to_owned(),
            Self::Server(server) => server.url(),
        }
    }

    /// Takes it away, as an unmounted file system or a crash would.
    fn go(&mut self) {
        match self {
            Self::Folder(folder) => {
                let _ = std::fs::rename(&folder, folder.with_extension("away"));
            }
            Self::Server(server) => server.end(),
        }
    }

    fn come_back(&mut self) {
        match self {
            Self::Folder(folder) => {
                let away = folder.with_extension("away");
                // Whoever was writing may have made it anew.
                let stray = files_below(folder);
                assert!(!away.exists() || stray.is_empty(), "{stray:?} were written where no relay is");
                let _ = std::fs::rename(away, folder);
            }
            Self::Server(server) => {
                server.end();
                server.begin().unwrap();
            }
        }
    }

    /// Names and contents of all files.
    fn bytes(&self) -> Vec<u8> {
        let folder = match self {
            Self::Folder(folder) => folder.clone(),
            Self::Server(server) => server.store(),
        };
        let named = |file: PathBuf| [file.to_str().unwrap().as_bytes(), &std::fs::read(&file).unwrap()].concat();
        files_below(&folder).into_iter().flat_map(named).collect()
    }

    /// How many keys of sessions there are.
    fn keys(&self) -> usize {
        match self {
            // Others than what a killed writer has left unfinished.
            Self::Folder(folder) => {
                files_below(&folder.join("s")).iter().filter(|file| file.extension().is_none()).count()
            }
            Self::Server(server) => {
                let streams = ask(server, "$JS.API.STREAM.NAMES", &json!({}));
                let kept = list(&streams["streams"]).into_iter().map(|name| text(&name));
                let kept = kept.filter(|name| name.ends_with("_KEPT")).collect::<Vec<_>>();
                let about = json!({"subjects_filter": ">"});
                let info = ask(server, &format!("$JS.API.STREAM.INFO.{}", kept[0]), &about);
                let subjects = info["state"]["subjects"].as_object().cloned().unwrap_or_default();
                subjects.keys().filter(|subject| subject.contains(".k.s.")).count()
            }
        }
    }
}

/// Asks the server itself.
pub(crate) fn ask(server: &NatsServer, subject: &str, body: &Value) -> Value {
    // A server without accounts looks at neither.
    let sign_in = json!({"verbose": false, "user": "team", "pass": "s3cret-pass"});
    let mut connection = TcpStream::connect(("127.0.0.1", server.port("nats").unwrap())).unwrap();
    let body = body.to_string();
    let asking = format!("CONNECT {sign_in}\r\nSUB answers 1\r\nPUB {subject} answers {}\r\n{body}\r\n", body.len());
    connection.write_all(asking.as_bytes()).unwrap();
    let mut lines = BufReader::new(connection);
    loop {
        let mut line = String::new();
        assert!(lines.read_line(&mut line).unwrap() > 0, "the server does not answer");
        if let Some(length) = line.strip_prefix("MSG ").and_then(|line| line.trim().rsplit(' ').next()) {
            let mut answer = vec![0; length.parse().unwrap()];
            lines.read_exact(&mut answer).unwrap();
            return serde_json::from_slice(&answer).unwrap();
        }
    }
}

/// A session that a home has written.
struct Written {
    by: usize,
    /// A word that is nowhere else.
    word: String,
    transcript: Transcript,
    is_shared: bool,
    is_forgotten: bool,
}

struct Storm {
    worlds: Vec<World>,
    carrier: Carrier,
    chance: Chance,
    sessions: BTreeMap<String, Written>,
    /// Commands whose daemon was killed meanwhile.
    cut_off: Vec<Child>,
}

impl Storm {
    fn new(homes: usize, carrier: Carrier, seed: u64) -> Self {
        let worlds: Vec<World> = (0..homes).map(|_| World::new()).collect();
        worlds[0].ok(&["relay", "init", &carrier.address(), "--name", "Member0"]);
        for (number, world) in worlds.iter().enumerate().skip(1) {
            let invitation = text(&worlds[0].json(&["relay", "invite"])["invitation"]);
            world.ok(&["relay", "join", &invitation, "--name", &format!("Member{number}")]);
        }
        let chance = Chance::new(number("BATON_RELAY_SEED").unwrap_or(seed));
        let mut storm = Self { worlds, carrier, chance, sessions: BTreeMap::new(), cut_off: Vec::new() };
        for by in 0..homes {
            let me = storm.write(by, true);
            storm.worlds[by].close(&me);
            storm.worlds[by].ok(&["relay", "share", SHARED, "--yes"]);
        }
        storm
    }

    /// Writes a transcript; returns its session.
    fn write(&mut self, by: usize, is_shared: bool) -> String {
        let number = u32::try_from(self.sessions.len()).unwrap() + 1;
        let directory = if is_shared { SHARED.to_owned() } else { format!("/srv/platypusburg{by}") };
        let word = format!("{}{number}x", if is_shared { "quoll" } else { "narwhal" });
        let mut transcript = self.worlds[by].transcript(&directory.replace('/', "-"), &id(number));
        transcript = transcript.in_directory(&directory);
        transcript.prompt(&format!("the {word} has to move")).reply(&format!("I moved {directory}/src/{word}.rs."));
        if self.chance.percent(20) {
            let many: Vec<String> =
                (0..4000).map(|at| format!("{word} line {at} {}", self.chance.below(1 << 30))).collect();
            transcript.reply(&many.join("\n"));
        }
        self.sessions.insert(id(number), Written { by, word, transcript, is_shared, is_forgotten: false });
        id(number)
    }

    /// One of the sessions of a home that were not forgotten.
    fn pick(&mut self, by: usize) -> Option<String> {
        let of = self.sessions.iter().filter(|(_, it)| it.by == by && !it.is_forgotten).map(|(id, _)| id.clone());
        let of: Vec<String> = of.collect();
        (!of.is_empty()).then(|| of[self.chance.below(of.len())].clone())
    }

    /// Bytes that a home has of all writers.
    fn received(&self, by: usize) -> u64 {
        let files = files_below(&self.worlds[by].home().join("relay"));
        files.iter().filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
    }

    /// Something happens, then something is killed at some point of it.
    fn round(&mut self) {
        let by = self.chance.below(self.worlds.len());
        match self.chance.below(10) {
            0..=4 => {
                let is_shared = !self.chance.percent(25);
                let me = self.write(by, is_shared);
                self.close(by, &me);
            }
            5..=7 => {
                if let Some(me) = self.pick(by) {
                    let written = self.sessions.get_mut(&me).unwrap();
                    let word = written.word.clone();
                    written.transcript.prompt(&format!("and {word} once more")).reply("It moved again.");
                    self.close(by, &me);
                }
            }
            _ => {
                if let Some(me) = self.pick(by) {
                    self.worlds[by].ok(&["forget", &me, "--yes"]);
                    self.sessions.get_mut(&me).unwrap().is_forgotten = true;
                }
            }
        }
        let before = self.received(by);
        let glimpse = Duration::from_millis(self.chance.below(GLIMPSE_MS) as u64);
        let _ = wait_within(glimpse, || self.received(by) != before);
        if self.chance.percent(30) {
            self.carrier.go();
        }
        for world in 0..self.worlds.len() {
            if self.chance.percent(if world == by { 60 } else { 25 }) {
                self.worlds[world].kill();
            }
        }
        if self.chance.percent(60) {
            self.carrier.come_back();
        }
        // Most are back soon, some stay away for a while.
        for world in 0..self.worlds.len() {
            if self.chance.percent(60) {
                self.worlds[world].ok(&["status"]);
            }
        }
    }

    /// Closes a session, or has it closed while the daemon is killed.
    fn close(&mut self, by: usize, me: &str) {
        if self.chance.percent(70) {
            self.worlds[by].close(me);
            return;
        }
        let mut closing = self.worlds[by].command(&["close", me]);
        self.cut_off.push(closing.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    }

    /// Everything is there again; waits until every home has the same.
    fn calm(&mut self) {
        self.carrier.come_back();
        for mut command in self.cut_off.drain(..) {
            let _ = command.wait();
        }
        for (me, written) in self.sessions.iter().filter(|(_, it)| !it.is_forgotten) {
            self.worlds[written.by].close(me);
        }
        for world in &self.worlds {
            world.ok(&["status"]);
        }
        for (number, world) in self.worlds.iter().enumerate() {
            let expected = self.expected(number);
            let (mut last, mut told) = (BTreeSet::new(), Value::Null);
            let is_calm = wait(|| {
                last = rows(world).into_keys().collect();
                told = status(world);
                let lag = &told["lag"];
                last == expected
                    && told["connected"] == true
                    && (&lag["out"]["events"], &lag["in"]["events"]) == (&json!(0), &json!(0))
            });
            let missing: Vec<_> = expected.difference(&last).collect();
            let more: Vec<_> = last.difference(&expected).collect();
            assert!(is_calm, "home {number} lacks {missing:?}, has {more:?}: {told}\n{}", world.log());
            assert_eq!(told["problems"], json!([]), "home {number}");
        }
    }

    /// The sessions that a home has in the end.
    fn expected(&self, home: usize) -> BTreeSet<String> {
        let is_there = |it: &&Written| !it.is_forgotten && (it.is_shared || it.by == home);
        self.sessions.iter().filter(|(_, it)| is_there(it)).map(|(id, _)| id.clone()).collect()
    }

    fn check(&self) {
        let shared = |it: &Written| it.is_shared && !it.is_forgotten;
        let all: BTreeSet<&str> =
            self.sessions.iter().filter(|(_, it)| shared(it)).map(|(id, _)| id.as_str()).collect();
        // What is published comes to the same everywhere, and was taken in once.
        let mut forms = Vec::new();
        let is_same = wait(|| {
            forms = self.worlds.iter().map(published).collect::<Vec<_>>();
            forms.iter().all(|form| *form == forms[0])
        });
        let other = forms.iter().flatten().find(|(id, form)| forms[0].get(*id) != Some(form));
        assert!(is_same, "not all homes have recorded {other:?}: {:?}", other.map(|(id, _)| &forms[0][id]));
        assert_eq!(forms[0].keys().map(String::as_str).collect::<BTreeSet<_>>(), all);
        let shown: Vec<_> = self.worlds.iter().map(rows).collect();
        for (me, written) in self.sessions.iter().filter(|(_, it)| shared(it)) {
            for (number, world) in self.worlds.iter().enumerate() {
                assert_eq!(shown[number][me], shown[written.by][me], "{me} in home {number}");
                assert_eq!(world.found(&written.word), [me.as_str()], "{} in home {number}", written.word);
            }
        }
        let has_acknowledged = || {
            let forgotten = self.worlds.iter().map(|world| list(&world.json(&["relay", "forgotten"])["forgotten"]));
            forgotten.flatten().all(|it| list(&it["waiting_for"]).is_empty())
        };
        assert!(wait(has_acknowledged), "{}", self.worlds[0].json(&["relay", "forgotten"]));
        assert!(wait(|| self.carrier.keys() == all.len()), "{} keys of {} sessions", self.carrier.keys(), all.len());
        self.worlds.iter().for_each(World::stop);

        // Words of what was not shared, or was forgotten, are in no home but the own one, and no word is on the relay.
        let carried = String::from_utf8_lossy(&self.carrier.bytes()).to_lowercase();
        for planted in ["quoll", "narwhal", "quokkaville", "platypusburg", "member", "1f2e-4d3c-8b4a"] {
            assert!(!carried.contains(planted), "{planted} is readable on the relay");
        }
        for (number, world) in self.worlds.iter().enumerate() {
            let contents = forget::contents(world.home()).into_iter();
            let contents: Vec<(String, String)> =
                contents.map(|(name, bytes)| (name, String::from_utf8_lossy(&bytes).to_lowercase())).collect();
            for (me, written) in &self.sessions {
                let is_allowed = !written.is_forgotten && (written.is_shared || written.by == number);
                let found = contents.iter().find(|(_, text)| text.contains(&written.word));
                match is_allowed {
                    true => assert!(found.is_some(), "{me} ({}) is not in home {number}", written.word),
                    false => assert!(found.is_none(), "{} in {:?} of home {number}", written.word, found.unwrap().0),
                }
            }
        }
    }
}

/// Episode and number of messages of each session that is shown, none twice.
fn rows(world: &World) -> BTreeMap<String, (Value, Value)> {
    let rows = list(&world.json(&["sessions"])["sessions"]).into_iter().filter(|row| row["state"] != "forgotten");
    let rows: Vec<_> = rows
        .map(|row| (text(&row["session_id"]), (row["episode_uuid"].clone(), row["message_count"].clone())))
        .collect();
    let by_id: BTreeMap<_, _> = rows.iter().cloned().collect();
    assert_eq!(rows.len(), by_id.len(), "a session is shown twice: {rows:?}");
    by_id
}

/// What a home has recorded of each session that is published: its writer, and the hash of what its events come to.
/// The messages of a stream are recorded once and in order.
fn published(world: &World) -> BTreeMap<String, (String, String)> {
    let mut forms = BTreeMap::new();
    for log in files_below(&world.home().join("relay")).into_iter().filter(|file| file.ends_with("log")) {
        let writer = text_of(log.parent().unwrap());
        let mut reached: BTreeMap<String, u64> = BTreeMap::new();
        for line in std::fs::read_to_string(&log).unwrap().lines() {
            let line: Value = serde_json::from_str(line.split_once(' ').unwrap().1).unwrap();
            let (stream, sequence) = (text(&line["stream"]), line["sequence"].as_u64().unwrap());
            if sequence == 0 {
                // A remark of the home itself.
                continue;
            }
            let before = reached.insert(stream, sequence).unwrap_or_default();
            assert!(sequence > before, "message {sequence} after {before} in {}", log.display());
            if let Some(batch) = line.get("batch") {
                let known = forms.insert(text(&batch["session"]), (writer.clone(), text(&batch["form"])));
                assert!(known.is_none_or(|(by, _)| by == writer), "two writers have published {}", batch["session"]);
            }
        }
    }
    forms
}

fn text_of(path: &std::path::Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

fn ride(homes: usize, carrier: Carrier, seed: u64, rounds: u64) {
    let mut storm = Storm::new(homes, carrier, seed);
    for _ in 0..number("BATON_RELAY_ROUNDS").unwrap_or(rounds) {
        storm.round();
    }
    storm.calm();
    storm.check();
}

/// A folder of its own, or a server.
fn folder(temp: &tempfile::TempDir) -> Option<Carrier> {
    Some(Carrier::Folder(temp.path().join("team")))
}

fn server(temp: &tempfile::TempDir) -> Option<Carrier> {
    let server = NatsServer::start(&temp.path().join("server"), "").unwrap();
    if server.is_none() {
        skipped("there is no nats-server");
    }
    server.map(Carrier::Server)
}

#[test]
fn two_homes_at_a_folder_come_to_the_same_after_any_kills() {
    let temp = tempfile::tempdir().unwrap();
    folder(&temp).into_iter().for_each(|carrier| ride(2, carrier, 1, 14));
}

#[test]
fn two_homes_at_a_server_come_to_the_same_after_any_kills() {
    let temp = tempfile::tempdir().unwrap();
    server(&temp).into_iter().for_each(|carrier| ride(2, carrier, 2, 14));
}

#[test]
fn five_homes_at_a_folder_come_to_the_same_after_any_kills() {
    let temp = tempfile::tempdir().unwrap();
    folder(&temp).into_iter().for_each(|carrier| ride(5, carrier, 3, 8));
}

#[test]
fn five_homes_at_a_server_come_to_the_same_after_any_kills() {
    let temp = tempfile::tempdir().unwrap();
    server(&temp).into_iter().for_each(|carrier| ride(5, carrier, 4, 8));
}
