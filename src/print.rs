//! Output for people: colours only on request, errors on standard error, data on standard output.

mod marks;
mod pager;
mod progress;
mod table;
mod text;

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};

use serde_json::value::RawValue;

pub use marks::Marks;
pub use pager::paged;
pub use progress::{Progress, Waiting};
pub use table::{Cell, Column, Table};
pub use text::{changed_lines, columns, counted, grouped, one_line, one_line_end, plain, size, wrapped};
pub(crate) use text::{lost_signals, unreadable_signals};

/// Assumed width of a terminal that does not report its own.
const USUAL_COLUMNS: usize = 80;
/// Least width used; less is unreadable.
const LEAST_COLUMNS: usize = 40;
/// Width for prose if nothing limits it.
const PROSE_COLUMNS: usize = 120;

/// A kind of emphasis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Most important.
    Strong,
    /// Least important.
    Faint,
    /// In order.
    Good,
    /// May need attention.
    Warning,
    /// Not in order.
    Bad,
}

/// Standard output, for a person or a program.
pub struct Output {
    colours: bool,
    fit: Option<usize>,
    /// Short forms of ids, by the full id.
    ids: BTreeMap<String, String>,
}

impl Output {
    /// Detects the terminal. `COLUMNS` sets the width, even without a terminal.
    pub fn new() -> Self {
        let terminal = io::stdout().is_terminal();
        let colours = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let columns = columns.filter(|columns| *columns > 0);
        let fit = columns.or_else(|| terminal.then(|| terminal_width().unwrap_or(USUAL_COLUMNS)));
        Self { colours, fit: fit.map(|columns| usize::max(columns, LEAST_COLUMNS)), ids: BTreeMap::new() }
    }

    /// An output without colours and with this width.
    #[cfg(test)]
    pub(crate) fn plain(fit: Option<usize>) -> Self {
        Self { colours: false, fit, ids: BTreeMap::new() }
    }

    /// Sets the short forms of ids.
    pub fn with_ids(self, ids: BTreeMap<String, String>) -> Self {
        Self { ids, ..self }
    }

    /// The form of an id that is shown to a person and can be typed; for a note the beginning of its uuid. An id
    /// without a short form is shown whole.
    pub fn id(&self, id: &str) -> String {
        let whole = || id.strip_prefix("memory:").unwrap_or(id).to_owned();
        plain(&self.ids.get(id).cloned().unwrap_or_else(whole))
    }

    /// Width of a line. `None` if lines are not limited, because a program reads them or they go to a file.
    pub fn fit(&self) -> Option<usize> {
        self.fit
    }

    /// Width for prose.
    pub fn width(&self) -> usize {
        self.fit.unwrap_or(PROSE_COLUMNS)
    }

    /// Applies a style, if colours are on.
    pub fn styled(&self, style: Style, text: &str) -> String {
        let code = match style {
            Style::Strong => "\u{1b}[1m",
            Style::Faint => "\u{1b}[2m",
            Style::Good => "\u{1b}[32m",
            Style::Warning => "\u{1b}[33m",
            Style::Bad => "\u{1b}[31m",
        };
        if self.colours { format!("{code}{text}{}", text::PLAIN) } else { text.to_owned() }
    }

    /// Writes a line for people. Removes control sequences except our own colours.
    pub fn line(&self, text: &str) {
        self.data(&text::harmless(text, self.colours));
    }

    /// Writes a line for people; on a terminal it is broken at words, and what continues it is indented.
    pub fn hanging(&self, indent: usize, text: &str) {
        match self.fit {
            Some(fit) => {
                let lines = text::wrapped(&text::harmless(text, self.colours), fit, indent);
                lines.iter().for_each(|line| self.data(line));
            }
            None => self.line(text),
        }
    }

    /// Emphasises what is marked, if colours are on.
    pub fn marked(&self, marks: &Marks, text: &str) -> String {
        let (mut shown, mut end) = (String::new(), 0);
        for place in marks.places(text) {
            shown.push_str(&text[end..place.start]);
            end = place.end;
            shown.push_str(&self.styled(Style::Strong, &text[place]));
        }
        shown + &text[end..]
    }

    /// Writes a line for programs, unchanged. If the reader has gone (`| head`), the program exits quietly.
    pub fn data(&self, text: &str) {
        let mut out = io::stdout().lock();
        match writeln!(out, "{text}").and_then(|()| out.flush()) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
            Err(cause) => {
                error(&format!("cannot write the output: {cause}"));
                std::process::exit(1);
            }
        }
    }

    /// Writes a result exactly as the daemon sent it.
    pub fn json(&self, result: &RawValue) {
        self.data(result.get());
    }
}

impl Default for Output {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(unix)]
fn terminal_width() -> Option<usize> {
    rustix::termios::tcgetwinsize(io::stdout()).ok().map(|size| usize::from(size.ws_col)).filter(|width| *width > 0)
}

#[cfg(not(unix))]
fn terminal_width() -> Option<usize> {
    None
}

/// Prints an error on standard error.
#[expect(clippy::print_stderr, reason = "this is where errors are printed")]
pub fn error(message: &str) {
    eprintln!("baton: {}", plain(message));
}

/// Prints an error on standard error as one JSON object: `{"error":{"code","message"}}`.
#[expect(clippy::print_stderr, reason = "this is where errors are printed")]
pub fn error_object(code: &str, message: &str) {
    eprintln!("{}", serde_json::json!({ "error": { "code": code, "message": message } }));
}

/// Prints a note, which is no error, on standard error.
#[expect(clippy::print_stderr, reason = "this is where notes are printed")]
pub fn note(message: &str) {
    eprintln!("{}", plain(message));
}
