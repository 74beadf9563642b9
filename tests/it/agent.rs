//! An agent as seen from outside: it writes a transcript line by line, calls the real hooks in the order in which
//! Claude Code does, and may vanish at any moment. In every case each session ends as one complete episode with its
//! reason.

mod compacting;
mod ending;
mod lines;
mod restarting;
mod resuming;
mod servers;

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use baton_conversation::record::Timestamp;
use serde_json::{Value, json};

use crate::sockets::Raw;
use crate::transcript::{Transcript, now};
use crate::world::{World, hits, list, text, wait};

/// The hook under test.
const HOOK: &str = env!("CARGO_BIN_EXE_baton-hook");

/// An agent at work in one session.
struct Script<'a> {
    world: &'a World,
    folder: String,
    session: String,
    transcript: Transcript,
    /// True if its hooks are installed.
    hooked: bool,
    turns: usize,
    /// Output of the last hook that may print something.
    told: Option<String>,
}

/// A world whose hooks wait for a daemon that is slow because the machine is busy, as long as there is one.
fn patient() -> World {
    let world = World::new();
    configure(&world);
    world
}

fn configure(world: &World) {
    std::fs::create_dir_all(world.home()).unwrap();
    std::fs::set_permissions(world.home(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    std::fs::write(world.home().join("config.json"), r#"{"hooks": {"timeout_ms": 3000}}"#).unwrap();
}

/// A word that occurs only in this turn of this session.
fn word(session: &str, turn: usize) -> String {
    let digits = |number: u32| -> String {
        let letters = b"bcdfghklmn";
        number.to_string().bytes().map(|digit| char::from(letters[usize::from(digit - b'0')])).collect()
    };
    let number = u32::from_str_radix(&session[..8], 16).unwrap();
    format!("zu{}o{}a", digits(number), digits(u32::try_from(turn).unwrap()))
}

impl<'a> Script<'a> {
    /// Starts a session: its hook is called before anything is written.
    fn starts(world: &'a World, folder: &str, session: &str, source: &str) -> Self {
        let mut script = Self::unhooked(world, folder, session);
        script.hooked = true;
        script.fire("SessionStart", json!({"source": source, "model": "claude-opus-4-6"}));
        script
    }

    /// Starts a session without installed hooks.
    fn unhooked(world: &'a World, folder: &str, session: &str) -> Self {
        // Early enough that no line is dated in the future, however many there will be.
        let transcript = world.transcript(folder, session).at(now().plus_ms(-120_000));
        let (folder, session) = (folder.to_owned(), session.to_owned());
        Self { world, folder, session, transcript, hooked: false, turns: 0, told: None }
    }

    /// Dates further lines from `at`.
    fn at(mut self, at: Timestamp) -> Self {
        self.transcript.set_time(at);
        self
    }

    fn cwd(&self) -> String {
        format!("/srv/{}", self.folder)
    }

    fn input(&self, event: &str, fields: &Value) -> String {
        let mut input = json!({
            "session_id": self.session, "transcript_path": self.transcript.path(), "cwd": self.cwd(),
            "permission_mode": "default", "hook_event_name": event,
        });
        for (name, value) in fields.as_object().unwrap() {
            input[name] = value.clone();
        }
        input.to_string()
    }

    /// Calls the hook of an event, as the agent does. It must succeed and print nothing but what the agent understands.
    fn fire(&mut self, event: &str, fields: Value) {
        if !self.hooked {
            return;
        }
        let output = run_hook(self.world, event, &self.input(event, &fields));
        assert!(output.status.success(), "{event}: {output:?}");
        let said = String::from_utf8(output.stdout).unwrap();
        if said.is_empty() {
            return;
        }
        let said: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{event}: {error}: {said}"));
        assert!(["SessionStart", "UserPromptSubmit"].contains(&event), "{event} may say nothing: {said}");
        assert_eq!(said["hookSpecificOutput"]["hookEventName"], event, "{said}");
        self.told = Some(text(&said["hookSpecificOutput"]["additionalContext"]));
    }

    /// A person types, and the agent works and answers.
    fn turn(&mut self) -> &mut Self {
        let word = word(&self.session, self.turns);
        self.turns += 1;
        let call = format!("toolu_{}_{}", self.session, self.turns);
        self.fire("UserPromptSubmit", json!({"prompt": format!("please look at the {word}")}));
        self.transcript.prompt(&format!("please look at the {word}"));
        let input = json!({"command": "cargo test"});
        self.transcript.call(&call, "Bash", input.clone());
        self.fire("PreToolUse", json!({"tool_name": "Bash", "tool_input": input, "tool_use_id": call}));
        self.transcript.result(&call, "test result: ok. 3 passed", false);
        self.transcript.reply(&format!("the {word} is done"));
        self.fire("Stop", json!({"stop_hook_active": false, "last_assistant_message": format!("the {word} is done")}));
        self
    }

    /// The agent leaves the session.
    fn ends(&mut self, reason: &str) {
        self.fire("SessionEnd", json!({"reason": reason}));
    }

    /// `/clear`: another session starts in its place.
    fn clears(&mut self, next: &str) -> Self {
        self.ends("clear");
        Self::starts(self.world, &self.folder, next, "clear")
    }

    /// Compacts the conversation as Claude Code does.
    fn compacts(&mut self, trigger: &str) {
        self.fire("PreCompact", json!({"trigger": trigger, "custom_instructions": ""}));
        self.transcript.compaction(trigger);
        self.fire("SessionStart", json!({"source": "compact"}));
        self.fire("PostCompact", json!({"trigger": trigger, "compact_summary": "as it was"}));
    }

    /// Asserts that the session has ended for this reason, and that everything said in it is found in its one episode.
    fn ended(&self, reason: &str) -> Value {
        let shown = || self.world.run(&["show", &self.session, "--json"]);
        let ended = |row: &Value| row["state"] == "indexed" && row["end"] == reason;
        let came = wait(|| {
            let ran = shown();
            ran.code == 0 && ended(&ran.json())
        });
        assert!(came, "{reason} did not come: {}\n{}", shown().out, self.told());
        let shown = self.world.show(&self.session);
        assert_eq!(shown["close_reason"], reason, "{shown}");
        self.is_whole();
        shown
    }

    /// Asserts that everything said is found, in one episode.
    fn is_whole(&self) {
        for turn in 0..self.turns {
            let word = word(&self.session, turn);
            let found = self.world.search(&word);
            let hits = hits(&found);
            assert!(!hits.is_empty(), "turn {turn} of {} is lost", self.session);
            assert!(hits.iter().all(|hit| hit["session_id"] == *self.session), "{found}");
        }
        let shown = self.world.show(&self.session);
        let episodes = episodes(self.world, &self.session);
        assert_eq!(episodes, [text(&shown["episode_uuid"])], "{shown}");
    }

    /// The output of `explain`.
    fn told(&self) -> String {
        self.world.ok(&["explain", &self.session]).out
    }

    /// Asserts that `explain` prints each of these, in this order.
    fn tells(&self, what: &[&str]) {
        let told = self.told();
        let mut rest = told.as_str();
        for expected in what {
            let Some((_, after)) = rest.split_once(expected) else {
                panic!("no {expected:?} where it belongs: {told}")
            };
            rest = after;
        }
    }
}

/// The uuids of all episodes of a session.
fn episodes(world: &World, session: &str) -> Vec<String> {
    let name = format!("session_{}", &session[..8]);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "episodes", "params": {"limit": 1000}});
    let answer = Raw::greeted(world).call(&call);
    let all = list(&answer["result"]["episodes"]);
    all.iter().filter(|episode| episode["name"] == *name).map(|episode| text(&episode["uuid"])).collect()
}

/// Runs a hook with this input.
fn run_hook(world: &World, event: &str, input: &str) -> Output {
    let seen = world.command(&[]);
    let mut hook = Command::new(HOOK);
    hook.arg(event).env_clear().current_dir(world.path("work"));
    hook.envs(seen.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut child = hook.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The hook may end before it has read everything.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

/// Signals that hooks have left in the spool.
fn spooled(world: &World) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(world.home().join("spool")) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    paths.filter(|path| path.extension().is_some_and(|ending| ending == "json")).collect()
}

/// Waits until the daemon has processed the spool.
fn taken(world: &World) {
    assert!(wait(|| spooled(world).is_empty()), "{:?}\n{}", spooled(world), world.log());
}
