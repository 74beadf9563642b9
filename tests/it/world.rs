//! A world of its own for each test: a home, a Claude Code directory and a user's home below one temporary directory,
//! and the real `baton` run in it. Everything a test has started ends with its world.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::transcript::Transcript;

/// Longest wait for a fact that must come, 60 s; exceeded only if the program is broken or the machine is stuck.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);
/// Time that processes get to end after a test.
const LAST_STEPS: Duration = Duration::from_secs(10);
/// Interval for polling.
const LOOK: Duration = Duration::from_millis(10);

/// The program under test.
pub(crate) const BATON: &str = env!("CARGO_BIN_EXE_baton");

/// One test's world.
pub(crate) struct World {
    temp: tempfile::TempDir,
    home: PathBuf,
    config: PathBuf,
    /// A program and arguments put before the program's own name.
    runner: Vec<&'static str>,
    environment: Vec<(OsString, OsString)>,
}

/// Exit code and output of a command.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with_home("baton")
    }

    /// A world whose home folder has this name.
    pub(crate) fn with_home(name: &str) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let (home, config) = (temp.path().join(name), temp.path().join("claude"));
        for folder in ["claude/projects", "user", "tmp", "work"] {
            std::fs::create_dir_all(temp.path().join(folder)).unwrap();
        }
        // Only the owner may write there, whatever the umask is.
        #[cfg(unix)]
        for folder in ["claude", "claude/projects"] {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::set_permissions(temp.path().join(folder), std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self { temp, home, config, runner: Vec::new(), environment: Vec::new() }
    }

    /// A world in which file modes apply even if root runs the tests. `None`, with a note, if that is not possible.
    pub(crate) fn without_superpowers() -> Option<Self> {
        let mut world = Self::new();
        if rustix::process::geteuid().is_root() {
            let runner = vec!["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--"];
            let tried = Command::new(runner[0]).args(&runner[1..]).arg("true").status();
            if !tried.is_ok_and(|status| status.success()) {
                skipped("root reads every file, and there is no setpriv to take that away");
                return None;
            }
            world.runner = runner;
        }
        Some(world)
    }

    /// Runs the program through another one, which must end by executing it.
    pub(crate) fn run_by(mut self, runner: &[&'static str]) -> Self {
        self.runner = runner.to_vec();
        self
    }

    /// `BATON_HOME`.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// `CLAUDE_CONFIG_DIR`.
    pub(crate) fn config(&self) -> &Path {
        &self.config
    }

    /// The directory of transcripts.
    pub(crate) fn projects(&self) -> PathBuf {
        self.config.join("projects")
    }

    /// A path in the test's own temporary directory.
    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.temp.path().join(name)
    }

    /// Sets a variable for commands.
    pub(crate) fn set(&mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) {
        self.environment.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
    }

    /// A transcript in a project folder; its records have the working directory `/srv/<folder>`.
    pub(crate) fn transcript(&self, folder: &str, id: &str) -> Transcript {
        Transcript::new(self.projects().join(folder).join(format!("{id}.jsonl")), id, &format!("/srv/{folder}"))
    }

    /// A command of the program with these arguments, in this world.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        self.program(BATON, arguments)
    }

    /// A command of another program with these arguments, in this world.
    pub(crate) fn program(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = match self.runner.split_first() {
            Some((runner, rest)) => {
                let mut command = Command::new(runner);
                command.args(rest).arg(program);
                command
            }
            None => Command::new(program),
        };
        let kept = ["PATH", "LD_LIBRARY_PATH", "LLVM_PROFILE_FILE"];
        let kept: Vec<_> = kept.iter().filter_map(|name| Some((name, std::env::var_os(name)?))).collect();
        command.args(arguments).env_clear().envs(kept);
        command
            .env("BATON_HOME", &self.home)
            .env("CLAUDE_CONFIG_DIR", &self.config)
            .env("CODEX_HOME", self.path("codex"))
            .env("HOME", self.path("user"))
            .env("TMPDIR", self.path("tmp"))
            .env("TZ", "UTC0")
            .env("BATON_LOG", "info,baton=debug,baton_actors=debug,tantivy=warn")
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(self.path("work"))
            .stdin(Stdio::null());
        command
    }

    /// Runs the program and returns whatever comes of it.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        finished(self.command(arguments).output().unwrap())
    }

    /// Runs the program; it must succeed.
    pub(crate) fn ok(&self, arguments: &[&str]) -> Ran {
        let ran = self.run(arguments);
        assert_eq!(ran.code, 0, "baton {arguments:?}\n{}\n{}\n{}", ran.out, ran.err, self.log());
        ran
    }

    /// Runs the program with `--json`; it must succeed and print exactly one object.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let ran = self.ok(&[arguments, &["--json"]].concat());
        ran.json()
    }

    /// Closes a session, which must succeed; returns its episode.
    pub(crate) fn close(&self, id: &str) -> String {
        let closed = self.json(&["close", id]);
        assert_eq!(closed["status"], "success", "{closed}");
        text(&closed["episode_uuid"])
    }

    /// The answer of a close, which must fail.
    pub(crate) fn close_fails(&self, arguments: &[&str]) -> Value {
        let ran = self.run(&[&["close", "--json"], arguments].concat());
        assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
        let closed = ran.json();
        assert_eq!(closed["status"], "error", "{closed}");
        let error: Value = serde_json::from_str(&ran.err).unwrap_or_else(|_| panic!("one object: {}", ran.err));
        assert_eq!(error["error"]["message"], closed["message"], "{error}");
        let code = if closed["session_id"].is_null() { "not_found" } else { "failed" };
        assert_eq!(error["error"]["code"], code, "{error}");
        closed
    }

    /// Searches, waiting for all indexing.
    pub(crate) fn search(&self, query: &str) -> Value {
        self.json(&["search", query])
    }

    /// The sessions that a search finds, best first, without consecutive duplicates.
    pub(crate) fn found(&self, query: &str) -> Vec<String> {
        let found = self.search(query);
        let mut sessions: Vec<String> = hits(&found).iter().map(|hit| text(&hit["session_id"])).collect();
        sessions.dedup();
        sessions
    }

    /// The output of `show` for a session.
    pub(crate) fn show(&self, id: &str) -> Value {
        self.json(&["show", id])
    }

    /// All rows of the table, including subagents.
    pub(crate) fn sessions(&self) -> Vec<Value> {
        list(&self.json(&["sessions", "--subagents"])["sessions"])
    }

    /// Waits until `show` prints what is wanted of a session.
    pub(crate) fn wait_for(&self, id: &str, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        let came = wait(|| {
            let ran = self.run(&["show", id, "--json"]);
            last = if ran.code == 0 { ran.json() } else { Value::String(ran.err) };
            is_so(&last)
        });
        assert!(came, "{what} did not come; last: {last}\n{}", self.log());
        last
    }

    /// The problems in `status`, as text.
    pub(crate) fn problems(&self) -> String {
        self.json(&["status"])["problems"].to_string()
    }

    /// Stops the daemon.
    pub(crate) fn stop(&self) {
        self.ok(&["stop"]);
        assert_eq!(self.daemon(), None, "stopped and still there");
    }

    /// The daemon's process, if it runs. Reads the lock file without locking it, so as not to disturb a daemon.
    pub(crate) fn daemon(&self) -> Option<Pid> {
        let pid = std::fs::read_to_string(self.home.join("daemon.lock")).ok()?.trim().parse().ok()?;
        Pid::from_raw(pid).filter(|pid| is_baton(*pid))
    }

    /// All processes of this world, whoever started them. Empty except on Linux.
    pub(crate) fn processes(&self) -> Vec<Process> {
        let marker = self.path("tmp").to_str().unwrap().to_owned();
        let of = |entry: std::fs::DirEntry| {
            let pid = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
            let read =
                |name: &str| Some(String::from_utf8_lossy(&std::fs::read(entry.path().join(name)).ok()?).into_owned());
            let environment = read("environ").filter(|environment| environment.contains(&marker))?;
            let home = environment.split('\0').find_map(|variable| variable.strip_prefix("BATON_HOME="));
            let line = read("cmdline")?.replace('\0', " ");
            Some(Process { pid, line, home: home.unwrap_or_default().to_owned() })
        };
        std::fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(of).collect()
    }

    /// Kills the daemon as a crash would, and waits until it is gone.
    pub(crate) fn kill(&self) {
        let Some(daemon) = self.daemon() else { return };
        // It may be ending just now.
        let _ = kill_process(daemon, Signal::KILL);
        assert!(wait(|| self.daemon() != Some(daemon)), "killed and still there");
    }

    /// The daemon's log, for messages.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.home.join("daemon.log")).unwrap_or_default()
    }

    /// Starts a command that runs concurrently. The test must end it.
    pub(crate) fn spawn(&self, arguments: &[&str]) -> Child {
        self.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }
}

impl Drop for World {
    /// Ends the daemon of the home, also one that is still starting. Any other process that is left fails the test.
    fn drop(&mut self) {
        if let Some(daemon) = self.daemon() {
            let _ = kill_process(daemon, Signal::KILL);
            let _ = wait(|| self.daemon().is_none());
        }
        let mut left = Vec::new();
        let mut are_gone = || {
            left = self.processes();
            let daemons = left.iter().filter(|process| process.is_daemon_of(&self.home));
            daemons.for_each(Process::kill);
            left.is_empty()
        };
        if wait_within(LAST_STEPS, &mut are_gone) {
            return;
        }
        left.iter().for_each(Process::kill);
        let shown: Vec<String> = left.iter().map(Process::shown).collect();
        let _ = wait(|| self.processes().is_empty());
        assert!(std::thread::panicking(), "the test left processes behind: {shown:?}");
    }
}

/// A process of a world.
pub(crate) struct Process {
    pid: Pid,
    line: String,
    home: String,
}

impl Process {
    /// Its id and command line.
    pub(crate) fn shown(&self) -> String {
        format!("{} {}", self.pid.as_raw_nonzero(), self.line)
    }

    /// Kills the process, unless it is already gone.
    pub(crate) fn kill(&self) {
        let _ = kill_process(self.pid, Signal::KILL);
    }

    fn is_daemon_of(&self, home: &Path) -> bool {
        self.line.starts_with(&format!("{BATON} daemon ")) && Path::new(&self.home) == home
    }
}

impl Ran {
    /// The single object on standard output.
    pub(crate) fn json(&self) -> Value {
        let mut lines = self.out.lines();
        let line = lines.next().unwrap_or_default();
        assert_eq!(lines.next(), None, "more than one line: {}", self.out);
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {:?}\n{}", self.out, self.err))
    }
}

/// True if a process runs and is the program under test: its id may have been reused since it was written.
fn is_baton(pid: Pid) -> bool {
    if !cfg!(target_os = "linux") {
        return pid != rustix::process::getpid() && rustix::process::test_kill_process(pid).is_ok();
    }
    let process = PathBuf::from(format!("/proc/{}", pid.as_raw_nonzero()));
    match std::fs::read_link(process.join("exe")) {
        Ok(exe) => exe == Path::new(BATON),
        // It is ending: until it is a zombie it may hold files and locks.
        Err(_) => {
            let stat = std::fs::read_to_string(process.join("stat")).unwrap_or_default();
            stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
        }
    }
}

pub(crate) fn finished(output: Output) -> Ran {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

/// Polls until the condition holds. Returns false at the deadline.
pub(crate) fn wait(is_so: impl FnMut() -> bool) -> bool {
    wait_within(DEADLINE, is_so)
}

pub(crate) fn wait_within(within: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + within;
    while !is_so() {
        if Instant::now() >= until {
            return false;
        }
        std::thread::sleep(LOOK);
    }
    true
}

/// Prints a note for readers of the tests' output.
pub(crate) fn say(note: &str) {
    let _ = writeln!(std::io::stderr(), "{note}");
}

/// Reports that a test does not run here, and why. For libtest, which has no other result once a test runs, it passes;
/// `.ci/run` names the file, and fails if it contains anything.
pub(crate) fn skipped(reason: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    say(&format!("skipped: {test}: {reason}"));
    if let Some(file) = std::env::var_os("BATON_SKIPPED") {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
        file.write_all(format!("{test}: {reason}\n").as_bytes()).unwrap();
    }
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no string: {value}")).to_owned()
}

pub(crate) fn list(value: &Value) -> Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("no list: {value}")).clone()
}

pub(crate) fn hits(found: &Value) -> Vec<Value> {
    list(&found["hits"])
}

/// A session id that looks like Claude Code's and contains `number`.
pub(crate) fn id(number: u32) -> String {
    format!("{number:08x}-1f2e-4d3c-8b4a-5a6b7c8d9e0f")
}

/// Every file below a folder.
pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else { return files };
    for entry in entries.flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files.extend(files_below(&entry.path())),
            Ok(kind) if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
    }
    files.sort();
    files
}

/// Copies a folder with its contents.
pub(crate) fn copy(from: &Path, to: &Path) {
    for file in files_below(from) {
        let target = to.join(file.strip_prefix(from).unwrap());
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::copy(&file, &target).unwrap();
    }
}
