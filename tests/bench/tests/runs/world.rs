//! The environment of one test: a home, an agent's directory and a temporary directory below one folder, in which the
//! real `baton-bench` runs.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Timeout for something that must happen; reached only if the program is broken or the machine is stuck.
const DEADLINE: Duration = Duration::from_secs(60);
/// Interval between two polls.
const LOOK: Duration = Duration::from_millis(10);

const BENCH: &str = env!("CARGO_BIN_EXE_baton-bench");

/// The environment of one test.
pub(crate) struct World(tempfile::TempDir);

/// The result of a command.
pub(crate) struct Finished {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl World {
    pub(crate) fn new() -> Self {
        // Cargo builds it for `cargo test`, but not for `cargo test -p baton-bench`.
        let baton = Path::new(BENCH).with_file_name("baton");
        assert!(baton.is_file(), "{} is not there; run `cargo build` before these tests", baton.display());
        let temp = tempfile::tempdir().unwrap();
        for folder in ["claude/projects", "user", "tmp", "work"] {
            std::fs::create_dir_all(temp.path().join(folder)).unwrap();
        }
        Self(temp)
    }

    /// A path in the test's own directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// `BATON_HOME`, which no run may touch.
    pub(crate) fn home(&self) -> PathBuf {
        self.path("baton")
    }

    /// The program with these arguments in this environment.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(BENCH);
        let kept = ["PATH", "LD_LIBRARY_PATH", "LLVM_PROFILE_FILE"];
        let kept = kept.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        command.args(arguments).env_clear().envs(kept);
        command
            .env("BATON_HOME", self.home())
            .env("CLAUDE_CONFIG_DIR", self.path("claude"))
            .env("CODEX_HOME", self.path("codex"))
            .env("HOME", self.path("user"))
            .env("TMPDIR", self.path("tmp"))
            .current_dir(self.path("work"))
            .stdin(Stdio::null());
        command
    }

    /// Runs the program, whether it succeeds or not.
    pub(crate) fn run(&self, arguments: &[&str]) -> Finished {
        self.run_with(&[], arguments)
    }

    /// Runs the program with additional environment variables.
    pub(crate) fn run_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Finished {
        let ended = self.command(arguments).envs(variables.iter().copied()).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Finished { code: ended.status.code().unwrap_or(-1), out: text(ended.stdout), err: text(ended.stderr) }
    }

    /// Runs the program, which must succeed.
    pub(crate) fn run_ok(&self, arguments: &[&str]) -> Finished {
        let ran = self.run(arguments);
        assert_eq!(ran.code, 0, "baton-bench {arguments:?}\n{}\n{}", ran.out, ran.err);
        ran
    }

    /// Starts the program; the test must end it.
    pub(crate) fn spawn(&self, arguments: &[&str]) -> Child {
        self.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// The names in the temporary directory.
    pub(crate) fn temporary(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path("tmp")).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// Id and command line of the processes of this test; only on Linux.
    pub(crate) fn processes(&self) -> Vec<(Pid, String)> {
        let marker = self.path("tmp").to_str().unwrap().to_owned();
        let process = |entry: std::fs::DirEntry| {
            let pid = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
            let read =
                |name: &str| Some(String::from_utf8_lossy(&std::fs::read(entry.path().join(name)).ok()?).into_owned());
            read("environ").filter(|environment| environment.contains(&marker))?;
            Some((pid, read("cmdline")?.replace('\0', " ")))
        };
        std::fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(process).collect()
    }

    /// Checks that no folder and no process is left, and that the home was never created.
    pub(crate) fn assert_nothing_is_left(&self) {
        assert_eq!(self.temporary(), [""; 0], "no folder is left");
        assert_eq!(self.processes(), [], "no process is left");
        assert!(!self.home().exists(), "BATON_HOME was not touched");
    }
}

impl Drop for World {
    /// Kills the processes that a failed test may have left.
    fn drop(&mut self) {
        for (pid, _) in self.processes() {
            let _ = kill_process(pid, Signal::KILL);
        }
        let _ = wait_until(|| self.processes().is_empty());
    }
}

impl Finished {
    /// The JSON object on standard output.
    pub(crate) fn json(&self) -> Value {
        let mut lines = self.out.lines();
        let line = lines.next().unwrap_or_default();
        assert_eq!(lines.next(), None, "more than one line: {}", self.out);
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {:?}\n{}", self.out, self.err))
    }
}

/// Polls until `condition` holds; `false` at the deadline.
pub(crate) fn wait_until(mut condition: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + DEADLINE;
    while !condition() {
        if Instant::now() >= until {
            return false;
        }
        std::thread::sleep(LOOK);
    }
    true
}

/// Prints that a test does not run here, and why. libtest counts it as passed, since a running test cannot be skipped;
/// `.ci/run` names the file that collects these lines, and fails if it is not empty.
pub(crate) fn skipped(reason: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(std::io::stderr(), "skipped: {test}: {reason}");
    if let Some(file) = std::env::var_os("BATON_SKIPPED") {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
        file.write_all(format!("{test}: {reason}\n").as_bytes()).unwrap();
    }
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no string: {value}"))
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
