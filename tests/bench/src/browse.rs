//! The browser in a terminal: from a key to the list that answers it, as drawn on the screen.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::NonZeroU16;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde::Serialize;

use super::sample::Sample;
use super::table::megabytes;
use super::workspace::Workspace;
use super::{Corpus, CorpusOptions, Error, Spread, Table, TestDaemon, io_error};

const COLUMNS: u16 = 120;
const ROWS: u16 = 40;
/// Columns of the list; the preview is beside it.
const LIST: u16 = 54;
/// Where the first line says how many sessions are listed; the query is left of it.
const COUNT: u16 = 100;
/// Pause between two keys, in which the answer and the fresh one that follows it are drawn.
const PAUSE: Duration = Duration::from_millis(600);
/// Longest wait for the first list.
const BEGIN: Duration = Duration::from_secs(60);
/// Deletes the query.
const DELETE: &str = "\u{15}";

/// Time from a key to what it brings.
#[derive(Clone, Debug, Serialize)]
pub struct Browse {
    /// How this was measured.
    pub how: &'static str,
    /// The sessions that the daemon knows.
    pub corpus: Corpus,
    /// From a key to the last change of the list.
    pub list: Spread,
    /// From a key to the last change of the screen: the preview comes after the list.
    pub screen: Spread,
    /// Keys after which the list stayed as it was; they are not in `list`.
    pub unchanged: u64,
}

/// Measures the browser; each of two words is typed `rounds` times. Calls `progress` with each step.
pub fn measure(options: CorpusOptions, rounds: u32, progress: impl Fn(&str)) -> Result<Browse, Error> {
    let workspace = Workspace::new()?;
    let (corpus, daemon) = TestDaemon::with_corpus(options, &workspace, &progress)?;
    progress("typing");
    let mut terminal = Terminal::start(daemon.command(&["browse"])?)?;
    terminal.wait_for_list()?;
    let (mut list, mut screen, mut unchanged) = (Sample::default(), Sample::default(), 0);
    for _ in 0..rounds {
        for word in [&corpus.common_word, &corpus.rare_word] {
            for key in word.chars() {
                let drawn = terminal.press(&key.to_string())?;
                drawn.screen.into_iter().for_each(|time| screen.add(time));
                match drawn.list {
                    Some(time) => list.add(time),
                    None => unchanged += 1,
                }
            }
            terminal.press(DELETE)?;
        }
    }
    let (list, screen) = (list.spread(), screen.spread());
    if list.n == 0 {
        return Err(Error::NothingMeasured("no key changed the list".to_owned()));
    }
    Ok(Browse {
        how: "A key is written to the terminal of `baton browse`; its screen is read back. The answer is drawn when the \
              list, or the number of its sessions, has changed for the last time within 600 ms. Nothing new is to be read.",
        corpus,
        list,
        screen,
        unchanged,
    })
}

impl Browse {
    /// The figures as a table.
    pub fn table(&self) -> Table {
        let mut table = Table::new("Browser", self.how);
        table.row("sessions", format!("{} in {}", self.corpus.sessions, megabytes(self.corpus.bytes)));
        table.row("key to list", self.list.text());
        table.row("key to preview", self.screen.text());
        table.row("list unchanged", format!("after {} keys", self.unchanged));
        table
    }
}

/// When the screen changed last, in its parts.
struct Seen {
    parser: vt100::Parser,
    list: (String, Instant),
    screen: (String, Instant),
}

/// The times after a key until the last change, if something changed.
struct Drawn {
    list: Option<Duration>,
    screen: Option<Duration>,
}

/// A terminal with the browser in it, which ends with it.
struct Terminal {
    keyboard: File,
    seen: Arc<Mutex<Seen>>,
    child: Child,
}

impl Terminal {
    fn start(mut command: Command) -> Result<Self, Error> {
        let open = || -> std::io::Result<(File, File)> {
            let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
            grantpt(&ours)?;
            unlockpt(&ours)?;
            let name = ptsname(&ours, Vec::new())?;
            let theirs = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
            tcsetwinsize(&ours, Winsize { ws_row: ROWS, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 })?;
            Ok((ours.into(), theirs.into()))
        };
        let copies = |terminal: &File| Ok((terminal.try_clone()?, terminal.try_clone()?));
        let not_opened = || io_error("open", Path::new("a terminal"));
        let (keyboard, terminal) = open().map_err(not_opened())?;
        let (input, output) = copies(&terminal).map_err(not_opened())?;
        let mut screen = keyboard.try_clone().map_err(not_opened())?;
        command.env("TERM", "xterm-256color").stdin(input).stdout(output).stderr(terminal);
        let child = command.spawn().map_err(io_error("run", Path::new("baton")))?;
        // Closes our copies of its end of the terminal, without which reading would never end.
        drop(command);
        let size = |number| NonZeroU16::new(number).unwrap_or(NonZeroU16::MIN);
        let (parser, nothing) = (vt100::Parser::new(size(ROWS), size(COLUMNS), 0), (String::new(), Instant::now()));
        let seen = Arc::new(Mutex::new(Seen { parser, list: nothing.clone(), screen: nothing }));
        let filled = seen.clone();
        std::thread::spawn(move || {
            let mut piece = [0; 65_536];
            while let Ok(count @ 1..) = screen.read(&mut piece) {
                lock(&filled).take_in(&piece[..count]);
            }
        });
        Ok(Self { keyboard, seen, child })
    }

    /// Waits until sessions are listed.
    fn wait_for_list(&self) -> Result<(), Error> {
        let until = Instant::now() + BEGIN;
        while !lock(&self.seen).list.0.contains(" sessions") {
            if Instant::now() > until {
                return Err(Error::NothingMeasured(format!("no list of sessions:\n{}", lock(&self.seen).screen.0)));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(PAUSE);
        Ok(())
    }

    /// Presses a key and waits until nothing more is drawn.
    fn press(&mut self, key: &str) -> Result<Drawn, Error> {
        let since = Instant::now();
        self.keyboard.write_all(key.as_bytes()).map_err(io_error("write to", Path::new("a terminal")))?;
        std::thread::sleep(PAUSE);
        let seen = lock(&self.seen);
        let [list, screen] = [seen.list.1, seen.screen.1].map(|at| at.checked_duration_since(since));
        Ok(Drawn { list, screen })
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Seen {
    fn take_in(&mut self, bytes: &[u8]) {
        self.parser.process(bytes);
        let now = Instant::now();
        let count: String = self.parser.screen().rows(COUNT, COLUMNS - COUNT).take(1).collect();
        // The ellipsis goes with the fresh answer, which is the same here.
        let count = count.trim_matches(['…', ' ']).to_owned();
        let rows = |width| self.parser.screen().rows(0, width).skip(1);
        let list: String = rows(LIST).fold(count, |list, row| list + "\n" + &row);
        let screen = rows(COLUMNS).fold(String::new(), |screen, row| screen + "\n" + &row);
        for (known, drawn) in [(&mut self.list, list), (&mut self.screen, screen)] {
            if known.0 != drawn {
                *known = (drawn, now);
            }
        }
    }
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
