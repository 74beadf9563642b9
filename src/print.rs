//! What people see: colours only where they are wanted, errors on standard error, data on standard output.

use std::io::{self, IsTerminal, Write};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::value::RawValue;

/// A kind of emphasis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// What is looked at first.
    Strong,
    /// What is looked at last.
    Faint,
    /// What is well.
    Good,
    /// What is not.
    Bad,
}

/// Standard output, for a person or a program.
pub struct Output {
    colours: bool,
    width: usize,
}

impl Output {
    /// Looks at the terminal, if there is one.
    pub fn new() -> Self {
        let terminal = io::stdout().is_terminal();
        let colours = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let width = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let width = width.or_else(|| terminal.then(terminal_width).flatten()).unwrap_or(120);
        Self { colours, width: usize::max(width, 40) }
    }

    /// How many characters fit on a line.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Text in a style, if styles are wanted.
    pub fn styled(&self, style: Style, text: &str) -> String {
        let code = match style {
            Style::Strong => "1",
            Style::Faint => "2",
            Style::Good => "32",
            Style::Bad => "31",
        };
        if self.colours { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// Writes a line. A reader that has gone (`| head`) ends the program quietly.
    pub fn line(&self, text: &str) {
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
        self.line(result.get());
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
    eprintln!("baton: {message}");
}

/// Says something on standard error that is no error.
#[expect(clippy::print_stderr, reason = "this is where notes are printed")]
pub fn note(message: &str) {
    eprintln!("{message}");
}

/// Text without what would confuse a terminal, on one line, at most `width` characters.
pub fn one_line(text: &str, width: usize) -> String {
    let mut line = String::new();
    for (count, c) in text.split_whitespace().collect::<Vec<_>>().join(" ").chars().enumerate() {
        if count + 1 >= width {
            line.push('…');
            break;
        }
        line.push(if c.is_control() { '\u{fffd}' } else { c });
    }
    line
}

/// Text of several lines without what would confuse a terminal.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c }).collect()
}

/// Progress on standard error, if that is a terminal.
pub struct Progress(ProgressBar);

impl Progress {
    /// Nothing is shown before the first step.
    pub fn new() -> Self {
        let target = match io::stderr().is_terminal() {
            true => ProgressDrawTarget::stderr_with_hz(10),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len}") {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// Shows how far it is.
    pub fn show(&self, told: &baton_events::protocol::Progress) {
        self.0.set_length(told.total);
        self.0.set_message(told.what.clone());
        self.0.set_position(told.done);
    }

    /// Takes it away.
    pub fn end(&self) {
        self.0.finish_and_clear();
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_fits_and_holds_nothing_that_moves_the_cursor() {
        assert_eq!(one_line("a\n  b\tc", 20), "a b c");
        assert_eq!(one_line("abcdef", 4), "abc…");
        assert_eq!(one_line("a\u{1b}[31mred", 20), "a\u{fffd}[31mred");
        assert_eq!(plain("a\n\u{7}b"), "a\n\u{fffd}b");
    }
}
