//! One call of a hook, and the daemons that it may meet.

use std::cell::RefCell;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use baton::environment::Environment;
use baton_protocol::SPOOL;
use interprocess::local_socket::{GenericFilePath, Listener, ListenerOptions, ToFsName};
use serde_json::json;

use crate::latency::exchange;
use crate::test_daemon::TestDaemon;
use crate::workspace::Workspace;
use crate::{Error, io_error};

/// The session that calls the hooks.
const SESSION: &str = "00000000-0000-4000-8000-00000000f00d";
/// Its directory.
const DIRECTORY: &str = "/home/dev/projects/ledger-api";

/// What a process gets on its standard input.
pub(super) enum Input {
    Nothing,
    Object(Vec<u8>),
}

/// An agent whose daemon is in one of three states.
pub(super) struct Caller {
    program: PathBuf,
    home: PathBuf,
    claude: PathBuf,
    daemon: Daemon,
}

enum Daemon {
    /// Ends when this value is dropped.
    Up(#[expect(dead_code, reason = "held until it is dropped")] Box<TestDaemon>),
    Down,
    /// A socket like that of a process under SIGSTOP: the system accepts connections, and nobody answers them.
    Stopped(RefCell<Option<Listener>>),
}

impl Caller {
    /// Callers with a running daemon, without a daemon, and with a stopped one.
    pub(super) fn in_each_state(workspace: &Workspace, program: &Path) -> Result<[Self; 3], Error> {
        let claude = workspace.path().join("claude");
        let transcript = transcript(&claude);
        let folder = transcript.parent().unwrap_or(&claude);
        fs::create_dir_all(folder).map_err(io_error("create", folder))?;
        fs::write(&transcript, exchange(&transcript, "hooked", 0)).map_err(io_error("write", &transcript))?;
        let mut daemon = TestDaemon::start(&claude)?;
        daemon.ask("hooked", true)?;
        let up = Self {
            program: program.to_owned(),
            home: daemon.environment().home.clone(),
            claude: claude.clone(),
            daemon: Daemon::Up(Box::new(daemon)),
        };
        let alone = |name: &str, daemon| {
            let folder = workspace.path().join(name);
            let program = without_daemon(&folder, program)?;
            Ok::<_, Error>(Self { program, home: folder.join("home"), claude: claude.clone(), daemon })
        };
        Ok([up, alone("down", Daemon::Down)?, alone("stopped", Daemon::Stopped(RefCell::default()))?])
    }

    /// Removes what earlier calls have left behind, so that it does not slow down later ones.
    pub(super) fn reset(&self) -> Result<(), Error> {
        if let Daemon::Stopped(listener) = &self.daemon {
            // Also closes the connections that it holds.
            drop(listener.take());
            let environment = Environment::isolated(self.home.clone(), self.claude.clone());
            let path = environment.endpoint().path().to_owned();
            let name = path.as_path().to_fs_name::<GenericFilePath>().map_err(io_error("listen at", &path))?;
            let listening = ListenerOptions::new().name(name).create_sync().map_err(io_error("listen at", &path))?;
            listener.replace(Some(listening));
        }
        let spool = self.home.join(SPOOL);
        match fs::remove_dir_all(&spool) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(io_error("remove", &spool)(error)),
            _ => Ok(()),
        }
    }

    pub(super) fn call(&self, event: &str) -> Result<(), Error> {
        let object = json!({
            "session_id": SESSION, "transcript_path": transcript(&self.claude), "cwd": DIRECTORY,
            "hook_event_name": event, "source": "startup", "reason": "other", "trigger": "manual",
            "prompt": "what is left to be done here?",
        });
        call(&self.program, &self.home, &self.claude, event, &object).map(drop)
    }
}

/// Calls a hook and returns its output.
pub(super) fn call(
    program: &Path,
    home: &Path,
    claude: &Path,
    event: &str,
    object: &serde_json::Value,
) -> Result<Vec<u8>, Error> {
    let mut command = Command::new(program);
    command
        .arg(event)
        .env("BATON_HOME", home)
        .env("CLAUDE_CONFIG_DIR", claude)
        .env("CODEX_HOME", claude.join(".codex"));
    run(&mut command, &Input::Object(object.to_string().into_bytes()))
}

/// Runs a process to its end and returns its output.
pub(super) fn run(command: &mut Command, input_object: &Input) -> Result<Vec<u8>, Error> {
    let program = PathBuf::from(command.get_program());
    let input = if matches!(input_object, Input::Nothing) { Stdio::null() } else { Stdio::piped() };
    let mut child =
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(io_error("run", &program))?;
    if let (Input::Object(object), Some(mut stdin)) = (input_object, child.stdin.take()) {
        stdin.write_all(object).map_err(io_error("write to", &program))?;
    }
    let ended = child.wait_with_output().map_err(io_error("wait for", &program))?;
    match ended.status.success() {
        true => Ok(ended.stdout),
        false => Err(Error::NothingMeasured(format!("{} ended with {}", program.display(), ended.status))),
    }
}

fn transcript(claude: &Path) -> PathBuf {
    claude.join("projects").join("-home-dev-projects-hooks").join(format!("{SESSION}.jsonl"))
}

/// Copies the program to a new folder with a home, and a program that does nothing in the place of `baton`.
fn without_daemon(folder: &Path, program: &Path) -> Result<PathBuf, Error> {
    // The home exists already after the very first call.
    baton_base::durable::make_private_folder(&folder.join("home")).map_err(io_error("create", folder))?;
    let copy = folder.join(program.file_name().unwrap_or_default());
    fs::copy(program, &copy).map_err(io_error("copy", program))?;
    let idle_program = ["/bin/true", "/usr/bin/true"].into_iter().map(Path::new).find(|path| path.is_file());
    let idle_program =
        idle_program.ok_or_else(|| Error::NothingMeasured("there is no program `true` on this machine".to_owned()))?;
    let place = folder.join(format!("baton{}", std::env::consts::EXE_SUFFIX));
    fs::copy(idle_program, &place).map_err(io_error("copy", idle_program))?;
    Ok(copy)
}
