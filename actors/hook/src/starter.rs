//! Starts a daemon without waiting for it.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use baton_home::daemon_command::daemon_command;
use baton_home::environment::Environment;
use baton_home::lock;

/// Name of the daemon's program.
const PROGRAM: &str = "baton";

/// Starts a daemon unless one holds the home, which then is starting or hangs. The daemon detaches itself from this
/// process. Failures are ignored; the next command that needs a daemon reports them.
pub(super) fn start(environment: &Environment) {
    if !lock::is_free(&environment.home) {
        return;
    }
    let _ = daemon_command(&program(std::env::current_exe().ok().as_deref()), environment)
        .arg("--detached")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
}

/// `baton` in the directory of this program, or else on the path.
fn program(this: Option<&Path>) -> PathBuf {
    let file_name = format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX);
    this.map(|this| this.with_file_name(&file_name))
        .filter(|beside| beside.is_file())
        .unwrap_or_else(|| PathBuf::from(PROGRAM))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn the_program_beside_this_one_comes_first() {
        let temp = tempfile::tempdir().unwrap();
        let hook = temp.path().join("baton-hook");
        assert_eq!(program(Some(&hook)), Path::new("baton"));
        std::fs::write(temp.path().join("baton"), "").unwrap();
        assert_eq!(program(Some(&hook)), temp.path().join("baton"));
        assert_eq!(program(Some(&temp.path().join("baton"))), temp.path().join("baton"));
        assert_eq!(program(None), Path::new("baton"));
    }
}
