//! The terminal: taken over for drawing and put back however the program ends or is stopped.
//!
//! # Hazards
//!
//! - The program must not print while the terminal is taken. A panic of any thread puts it back, prints, and ends the
//!   program.

use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use crossterm::event::{DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{clipboard, cursor, event, execute};
use ratatui_core::layout::Rect;
use ratatui_core::terminal::Terminal;
use ratatui_crossterm::CrosstermBackend;

/// Exit code of a program that panicked.
const PANICKED: i32 = 101;
/// Longest text that is copied, in bytes: terminals refuse longer ones.
const COPIED_BYTES: usize = 74_000;

/// True while the terminal is taken.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// What happens at the terminal.
#[derive(Debug)]
#[cfg_attr(not(unix), expect(dead_code, reason = "there are no such signals"))]
pub(super) enum Happened {
    /// A key, the mouse, a resize, a paste.
    Input(event::Event),
    /// A signal wants the program to end.
    Ended(i32),
    /// The program goes on after it was stopped.
    Continued,
    /// The terminal gives no more input.
    Gone,
}

/// The terminal while it is taken. Dropping it puts it back.
pub(super) struct Taken {
    pub(super) screen: Terminal<CrosstermBackend<io::Stdout>>,
}

impl Taken {
    /// Takes the terminal.
    pub(super) fn new() -> io::Result<Self> {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let was_taken = IS_TAKEN.load(Ordering::SeqCst);
            put_back();
            before(panic);
            if was_taken {
                std::process::exit(PANICKED);
            }
        }));
        take()?;
        let screen = Terminal::new(CrosstermBackend::new(io::stdout())).inspect_err(|_| put_back())?;
        Ok(Self { screen })
    }

    /// Takes the terminal again and draws everything anew.
    pub(super) fn take_again(&mut self) -> io::Result<()> {
        IS_TAKEN.store(false, Ordering::SeqCst);
        // A shell may have changed the mode since.
        let _ = disable_raw_mode();
        take()?;
        // To clear, the library would ask the terminal where the cursor is, and another thread would read the answer.
        let size = self.screen.size()?;
        self.screen.resize(Rect::new(0, 0, size.width, size.height))
    }

    /// Puts the terminal back and stops this process as Ctrl-Z does, until it is continued.
    #[cfg(unix)]
    pub(super) fn stop(&mut self) -> io::Result<()> {
        put_back();
        let stopped = rustix::process::kill_current_process_group(rustix::process::Signal::TSTP);
        self.take_again()?;
        Ok(stopped?)
    }

    /// There is no stopping here.
    #[cfg(not(unix))]
    pub(super) fn stop(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        put_back();
    }
}

/// Copies a text to the clipboard, if the terminal allows it. False if it is too long to be copied whole.
pub(super) fn copy(text: &str) -> io::Result<bool> {
    let end = (0..=COPIED_BYTES.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    execute!(io::stdout(), clipboard::CopyToClipboard::to_clipboard_from(&text[..end]))?;
    Ok(end == text.len())
}

fn take() -> io::Result<()> {
    IS_TAKEN.store(true, Ordering::SeqCst);
    let taken = enable_raw_mode().and_then(|()| {
        execute!(io::stdout(), EnterAlternateScreen, EnableMouseCapture, EnableBracketedPaste, cursor::Hide)
    });
    taken.inspect_err(|_| put_back())
}

/// Puts the terminal back, if it is taken.
fn put_back() {
    if IS_TAKEN.swap(false, Ordering::SeqCst) {
        let mut out = io::stdout();
        // If the terminal is gone, nothing is to be put back.
        let _ = execute!(out, DisableBracketedPaste, DisableMouseCapture, LeaveAlternateScreen, cursor::Show);
        let _ = disable_raw_mode();
        let _ = out.flush();
    }
}

/// Reports what happens, from threads of their own.
pub(super) fn watch<T: From<Happened> + Send + 'static>(to: &Sender<T>) -> io::Result<()> {
    let input = to.clone();
    std::thread::spawn(move || {
        while let Ok(event) = event::read() {
            if input.send(Happened::Input(event).into()).is_err() {
                return;
            }
        }
        drop(input.send(Happened::Gone.into()));
    });
    watch_signals(to)
}

#[cfg(unix)]
fn watch_signals<T: From<Happened> + Send + 'static>(to: &Sender<T>) -> io::Result<()> {
    use rustix::process::Signal;
    use tokio::signal::unix::{SignalKind, signal};
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let to = to.clone();
    let guard = runtime.enter();
    let of = |kind: Signal| signal(SignalKind::from_raw(kind.as_raw()));
    let mut ending = [of(Signal::TERM)?, of(Signal::HUP)?, of(Signal::INT)?, of(Signal::QUIT)?];
    let mut continued = of(Signal::CONT)?;
    drop(guard);
    std::thread::spawn(move || {
        let [term, hup, int, quit] = &mut ending;
        runtime.block_on(async {
            loop {
                let happened = tokio::select! {
                    _ = term.recv() => Happened::Ended(Signal::TERM.as_raw()),
                    _ = hup.recv() => Happened::Ended(Signal::HUP.as_raw()),
                    _ = int.recv() => Happened::Ended(Signal::INT.as_raw()),
                    _ = quit.recv() => Happened::Ended(Signal::QUIT.as_raw()),
                    _ = continued.recv() => Happened::Continued,
                };
                if to.send(happened.into()).is_err() {
                    return;
                }
            }
        });
    });
    Ok(())
}

#[cfg(not(unix))]
fn watch_signals<T: From<Happened> + Send + 'static>(_: &Sender<T>) -> io::Result<()> {
    Ok(())
}
