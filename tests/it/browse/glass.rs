//! A terminal whose screen can be read back: what a person would see.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::NonZeroU16;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::world::wait;

struct Seen {
    parser: vt100::Parser,
    bytes: Vec<u8>,
}

pub(crate) struct Glass {
    keyboard: File,
    seen: Arc<Mutex<Seen>>,
    child: Child,
}

fn size(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap()
}

fn winsize((columns, rows): (u16, u16)) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

impl Glass {
    /// Starts a command on a terminal of this many columns and rows.
    pub(crate) fn start(mut command: Command, columns: u16, rows: u16) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let theirs = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap();
        tcsetwinsize(&ours, winsize((columns, rows))).unwrap();
        let (stdin, stdout) = (theirs.try_clone().unwrap(), theirs.try_clone().unwrap());
        // A group of its own, so that it can be stopped alone.
        command.env("TERM", "xterm-256color").process_group(0);
        let child = command.stdin(stdin).stdout(stdout).stderr(theirs).spawn().unwrap();
        // Closes our copies of the command's end of the terminal, without which reading would never end.
        drop(command);
        let keyboard = File::from(ours);
        let parser = vt100::Parser::new(size(rows), size(columns), 0);
        let seen = Arc::new(Mutex::new(Seen { parser, bytes: Vec::new() }));
        let (mut screen, filled) = (keyboard.try_clone().unwrap(), seen.clone());
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(count @ 1..) = screen.read(&mut piece) {
                let mut seen = filled.lock().unwrap();
                seen.parser.process(&piece[..count]);
                seen.bytes.extend_from_slice(&piece[..count]);
            }
        });
        Self { keyboard, seen, child }
    }

    /// The lines of the screen.
    pub(crate) fn lines(&self) -> Vec<String> {
        let seen = self.seen.lock().unwrap();
        let width = seen.parser.screen().size().1.get();
        seen.parser.screen().rows(0, width).map(|line| line.trim_end().to_owned()).collect()
    }

    pub(crate) fn text(&self) -> String {
        self.lines().join("\n")
    }

    /// Everything that was written to the terminal.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.seen.lock().unwrap().bytes.clone()
    }

    /// True if the terminal is taken: the other screen is shown.
    pub(crate) fn is_taken(&self) -> bool {
        self.seen.lock().unwrap().parser.screen().alternate_screen()
    }

    /// The cells of the screen that are drawn as `is` says.
    pub(crate) fn cells(&self, is: impl Fn(&vt100::Cell) -> bool) -> String {
        let seen = self.seen.lock().unwrap();
        let screen = seen.parser.screen();
        let (rows, columns) = screen.size();
        let places = (0..rows.get()).flat_map(|row| (0..columns.get()).map(move |column| (row, column)));
        let cells = places.filter_map(|(row, column)| screen.cell(row, column)).filter(|cell| is(cell));
        cells.map(|cell| cell.contents().to_owned()).collect()
    }

    /// Waits until the screen is as wanted.
    pub(crate) fn wait(&self, what: &str, is: impl Fn(&str) -> bool) -> String {
        assert!(wait(|| is(&self.text())), "no {what}:\n{}", self.text());
        self.text()
    }

    /// Waits until a text is on the screen.
    pub(crate) fn sees(&self, text: &str) -> String {
        self.wait(text, |screen| screen.contains(text))
    }

    /// Presses keys.
    pub(crate) fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Changes the size of the terminal.
    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        self.seen.lock().unwrap().parser = vt100::Parser::new(size(rows), size(columns), 0);
        // The new parser begins on the other screen, as the terminal stays on it.
        self.seen.lock().unwrap().parser.process(b"\x1b[?1049h");
        tcsetwinsize(&self.keyboard, winsize((columns, rows))).unwrap();
        self.signal(Signal::WINCH);
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Waits for the end of the command; returns its exit code.
    pub(crate) fn end(mut self) -> (i32, Self) {
        let mut code = None;
        assert!(
            wait(|| {
                code = self.child.try_wait().unwrap();
                code.is_some()
            }),
            "it does not end:\n{}",
            self.text()
        );
        // What was written last may still be on its way.
        wait(|| !self.is_taken());
        (code.unwrap().code().unwrap_or(-1), self)
    }
}

impl Drop for Glass {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
