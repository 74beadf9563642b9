//! The browser in the terminal: search while typing, with a preview, and whole conversations.
//!
//! One thread draws and takes keys. Lanes ask the daemon beside it, by the calls that the commands make, so a slow answer
//! never holds up a key. While somebody types, the daemon answers from what is stored, and reads and records nothing; a
//! moment of quiet later the same question is asked as `baton search` asks it.
//!
//! # Decisions
//!
//! - Times are shown as times, not as ages: a screen that stays open would show old ages.
//! - What a session costs is known from its conversation only, so it appears in the list once its preview was read.
//! - Of the drawing library its core is used, without its widgets: what is needed of them is a list, a text and a frame.

mod app;
mod choice;
mod controls;
mod conversation;
mod draw;
mod fetch;
mod found;
mod key_help;
mod lane;
mod list;
mod messages;
mod preview;
mod query_line;
mod screen;
mod terminal;
mod text;
mod theme;

use std::io;
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver};
use std::time::Instant;

use self::app::{App, Event, Wish};
use self::terminal::Taken;
use crate::client::{self, Client};
use crate::environment::Environment;
use crate::print;

/// Why the browser failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The daemon could not be reached.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// The terminal cannot be drawn on.
    #[error("the terminal cannot be used: {0}; `baton search` and `baton sessions` print the same")]
    Terminal(#[from] io::Error),
    /// The agent could not be started.
    #[error("{0}")]
    Resume(String),
}

/// Added to the number of a signal that ended the program.
const SIGNALLED: u8 = 128;

/// Opens the browser with a query, until somebody leaves it. `about` is told of the sessions, if anything.
pub(crate) fn run(environment: &Environment, query: &str, about: &str) -> Result<ExitCode, Error> {
    let client = Client::connect_or_start(environment)?;
    let (to, events) = mpsc::channel();
    let mut taken = Taken::new()?;
    terminal::watch(&to)?;
    let mut app = App::new(environment, Some(client), query, to);
    app.ask_list();
    about.clone_into(&mut app.about);
    loop {
        draw(&mut app, &mut taken)?;
        let Some(event) = next(&events, app.due()) else {
            app.tick();
            continue;
        };
        app.take(event);
        app.tick();
        // What has come meanwhile is drawn at once with it; a wish comes first.
        while app.wish.is_none() {
            let Ok(event) = events.try_recv() else { break };
            app.take(event);
        }
        match app.wish.take() {
            None => {}
            Some(Wish::Leave(None)) => return Ok(ExitCode::SUCCESS),
            Some(Wish::Leave(Some(signal))) => {
                return Ok(ExitCode::from(SIGNALLED.saturating_add(u8::try_from(signal).unwrap_or(0))));
            }
            Some(Wish::Copy(text, what, is_whole)) => {
                let copied = if terminal::copy(&text)? && is_whole { "copied" } else { "copied the beginning of" };
                app.message = Some((format!("{copied} {what}, if the terminal allows it"), false));
            }
            Some(Wish::Stop) => taken.stop()?,
            Some(Wish::DrawAnew) => taken.take_again()?,
            Some(Wish::Start(ready)) => {
                drop(taken);
                print::note(&print::plain(&ready.note));
                return ready.start().map_err(Error::Resume);
            }
        }
    }
}

/// The next event; `None` if the browser is due first.
fn next(events: &Receiver<Event>, due: Option<Instant>) -> Option<Event> {
    let Some(due) = due else { return events.recv().ok() };
    events.recv_timeout(due.saturating_duration_since(Instant::now())).ok()
}

fn draw(app: &mut App, taken: &mut Taken) -> io::Result<()> {
    taken.screen.draw(|frame| {
        if let Some(cursor) = draw::draw(app, frame.buffer_mut()) {
            frame.set_cursor_position(cursor);
        }
    })?;
    app.fetch();
    Ok(())
}
