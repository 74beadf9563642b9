use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::{fixtures, json};

/// The real program with a daemon of its own over the example sessions; the daemon ends when this is dropped.
pub(super) struct Program(tempfile::TempDir);

impl Program {
    /// Transcripts in a work tree are not read, so the examples are copied out of it.
    pub(super) fn over_the_examples() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        copy(&fixtures().join("transcripts/claude/projects"), &folder.path().join("claude/projects"));
        Self(folder)
    }

    /// Writes the configuration, before the first command.
    pub(super) fn configure(&self, config: &Value) {
        fs::create_dir_all(self.0.path().join("home")).expect("a folder");
        fs::write(self.0.path().join("home/config.json"), config.to_string()).expect("a file");
    }

    fn run(&self, arguments: &[&str]) -> std::process::Output {
        Command::new(env!("CARGO_BIN_EXE_baton"))
            .args(arguments)
            .current_dir(self.0.path())
            .env("HOME", self.0.path())
            .env("BATON_HOME", self.0.path().join("home"))
            .env("CLAUDE_CONFIG_DIR", self.0.path().join("claude"))
            .env_remove("CODEX_HOME")
            .env_remove("CLAUDE_CODE_SESSION_ID")
            .output()
            .expect("the program runs")
    }

    pub(super) fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        json(&String::from_utf8_lossy(&output.stdout))
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).expect("an entry");
        match path.is_dir() {
            true => copy(&path, &to.join(name)),
            false => drop(fs::copy(&path, to.join(name)).expect("a file")),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.run(&["stop"]);
    }
}
