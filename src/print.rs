//! What people see: colours only where they are wanted, errors on standard error, data on standard output.

mod pager;
mod progress;
mod table;
mod text;

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};

use serde_json::value::RawValue;

pub use pager::paged;
pub use progress::{Progress, Waiting};
pub use table::{Cell, Column, Table};
pub use text::{columns, counted, one_line, one_line_end, plain, size};

/// Where a terminal does not say how wide it is.
const USUAL_COLUMNS: usize = 80;
/// However narrow it is: less cannot be read.
const LEAST_COLUMNS: usize = 40;
/// For prose that is not bound to fit.
const PROSE_COLUMNS: usize = 120;

/// A kind of emphasis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// What is looked at first.
    Strong,
    /// What is looked at last.
    Faint,
    /// What is well.
    Good,
    /// What may want a look.
    Warning,
    /// What is not.
    Bad,
}

/// Standard output, for a person or a program.
pub struct Output {
    colours: bool,
    fit: Option<usize>,
    /// How short ids are shown, by the whole id.
    ids: BTreeMap<String, String>,
}

impl Output {
    /// Looks at the terminal, if there is one. `COLUMNS` says how wide it is, also where there is none.
    pub fn new() -> Self {
        let terminal = io::stdout().is_terminal();
        let colours = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let columns = columns.filter(|columns| *columns > 0);
        let fit = columns.or_else(|| terminal.then(|| terminal_width().unwrap_or(USUAL_COLUMNS)));
        Self { colours, fit: fit.map(|columns| usize::max(columns, LEAST_COLUMNS)), ids: BTreeMap::new() }
    }

    /// Without colours, and as wide as said.
    #[cfg(test)]
    pub(crate) fn plain(fit: Option<usize>) -> Self {
        Self { colours: false, fit, ids: BTreeMap::new() }
    }

    /// Shows these ids as short as is said of each.
    pub fn with_ids(self, ids: BTreeMap<String, String>) -> Self {
        Self { ids, ..self }
    }

    /// An id as a person is shown it, and may type it: of a note the beginning of its uuid. One of which nothing is known is
    /// shown whole.
    pub fn id(&self, id: &str) -> String {
        let whole = || id.strip_prefix("memory:").unwrap_or(id).to_owned();
        plain(&self.ids.get(id).cloned().unwrap_or_else(whole))
    }

    /// Columns that a line may take. `None` where lines may be as long as they are: a program reads them, or a file
    /// keeps them.
    pub fn fit(&self) -> Option<usize> {
        self.fit
    }

    /// Columns that suit prose.
    pub fn width(&self) -> usize {
        self.fit.unwrap_or(PROSE_COLUMNS)
    }

    /// Text in a style, if styles are wanted.
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

    /// Writes a line for people: of what would confuse a terminal nothing passes but our own colours.
    pub fn line(&self, text: &str) {
        self.data(&text::harmless(text, self.colours));
    }

    /// Writes a line for programs, exactly. A reader that has gone (`| head`) ends the program quietly.
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

    /// Writes a result exactly as the daemon gave it.
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

/// Says on standard error what went wrong.
#[expect(clippy::print_stderr, reason = "this is where errors are printed")]
pub fn error(message: &str) {
    eprintln!("baton: {}", plain(message));
}

/// Says on standard error what went wrong, as one JSON object: `{"error":{"code","message"}}`.
#[expect(clippy::print_stderr, reason = "this is where errors are printed")]
pub fn error_object(code: &str, message: &str) {
    eprintln!("{}", serde_json::json!({ "error": { "code": code, "message": message } }));
}

/// Says something on standard error that is no error.
#[expect(clippy::print_stderr, reason = "this is where notes are printed")]
pub fn note(message: &str) {
    eprintln!("{}", plain(message));
}
