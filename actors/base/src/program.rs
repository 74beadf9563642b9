//! Runs other programs: found on the path, without a shell, with a time limit.

use std::fs::Metadata;
use std::io::{self, Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use baton_protocol::OWN_CHILD;

/// Most output of a program that is kept, in bytes.
const OUTPUT_BYTES_MAX: u64 = 64 * 1024;
/// Interval between two checks for the program's exit.
const LOOK: Duration = Duration::from_millis(5);

/// Result of a program.
#[derive(Debug)]
pub struct ProgramOutput {
    /// True if it exited with success.
    pub is_ok: bool,
    /// Its standard output and standard error.
    pub output: String,
}

impl ProgramOutput {
    /// The last line of output: the reason of a failure.
    pub fn reason(&self) -> &str {
        self.output.trim().lines().last().unwrap_or("it does not say why")
    }
}

/// Finds a program on the path.
pub fn find(name: &str) -> Option<PathBuf> {
    let endings: &[&str] = if cfg!(windows) { &[".exe", ".cmd", ""] } else { &[""] };
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect();
    let candidates =
        folders.iter().flat_map(|folder| endings.iter().map(move |ending| folder.join(format!("{name}{ending}"))));
    candidates.into_iter().find(|path| is_program(path))
}

/// True if the file is executable.
pub fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && is_executable(&metadata))
}

#[cfg(unix)]
fn is_executable(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &Metadata) -> bool {
    true
}

/// Runs a program with empty standard input. It is killed after `wait`, which is an error.
pub fn run(program: &Path, arguments: &[String], wait: Duration) -> io::Result<ProgramOutput> {
    // A file instead of a pipe: a process that the program leaves behind cannot block us.
    let mut output = tempfile::tempfile()?;
    let mut child = Command::new(program)
        .args(arguments)
        .env(OWN_CHILD, "1")
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output.try_clone()?)
        .spawn()?;
    let until = Instant::now() + wait;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() >= until {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::new(io::ErrorKind::TimedOut, format!("no answer within {} s", wait.as_secs())));
        }
        std::thread::sleep(LOOK);
    };
    let mut bytes = Vec::new();
    output.rewind()?;
    output.take(OUTPUT_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(ProgramOutput { is_ok: status.success(), output: String::from_utf8_lossy(&bytes).into_owned() })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn sh(script: &str, wait: Duration) -> io::Result<ProgramOutput> {
        run(Path::new("/bin/sh"), &["-c".to_owned(), script.to_owned()], wait)
    }

    #[test]
    fn a_program_is_given_its_time_and_no_more() {
        let ran = sh("echo one; echo two >&2; exit 3", Duration::from_secs(30)).unwrap();
        assert!(!ran.is_ok && ran.output == "one\ntwo\n" && ran.reason() == "two");
        assert!(sh("test -n \"$BATON_CHILD\" && cat", Duration::from_secs(30)).unwrap().is_ok);
        let error = sh("exec sleep 600", Duration::from_millis(1)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(run(Path::new("/nowhere/program"), &[], Duration::from_secs(1)).is_err());
    }
}
