//! A terminal in which a command runs, and the person who uses it.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::world::{World, wait};

pub(crate) struct Screen {
    keyboard: File,
    shown: Arc<Mutex<Vec<u8>>>,
    reading: JoinHandle<()>,
    child: Child,
}

impl Screen {
    /// Starts a command.
    pub(crate) fn run(world: &World, arguments: &[&str]) -> Self {
        Self::run_with(world, arguments, &[])
    }

    /// Like [`Self::run`], with these variables set.
    pub(crate) fn run_with(world: &World, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let theirs = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap();
        let mut command = world.command(arguments);
        command.envs(variables.iter().copied());
        let (stdin, stdout) = (theirs.try_clone().unwrap(), theirs.try_clone().unwrap());
        let child = command.stdin(stdin).stdout(stdout).stderr(theirs).spawn().unwrap();
        // Closes our copies of the command's end of the terminal, without which reading would never end.
        drop(command);
        let keyboard = File::from(ours);
        let (mut screen, shown) = (keyboard.try_clone().unwrap(), Arc::new(Mutex::new(Vec::new())));
        let seen = shown.clone();
        let reading = std::thread::spawn(move || {
            let mut piece = [0; 4096];
            // Reading fails once no process has the other end open.
            while let Ok(count) = screen.read(&mut piece) {
                seen.lock().unwrap().extend_from_slice(&piece[..count]);
            }
        });
        Self { keyboard, shown, reading, child }
    }

    fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned()
    }

    /// Waits until `question` is shown, then types `typed`.
    pub(crate) fn answer(&mut self, question: &str, typed: &str) {
        assert!(wait(|| self.shown().contains(question)), "no {question:?} in {}", self.shown());
        self.keyboard.write_all(typed.as_bytes()).unwrap();
    }

    /// Waits for the end of the command; returns its exit code and everything that was shown.
    pub(crate) fn end(mut self) -> (i32, String) {
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        self.reading.join().unwrap();
        let shown = String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned();
        (code, shown)
    }
}
