//! Shows long texts through a pager on a terminal; elsewhere they are written as they are.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Seek as _, Write as _};
use std::process::Command;

use super::Output;

/// Default pager: exits at once if the text fits the screen, passes colours, and leaves the text on the screen.
const USUAL: [&str; 2] = ["less", "-FRX"];

/// Shows a text: on a terminal through `PAGER` or else `less`, otherwise directly. An empty `PAGER` means none.
pub fn paged(text: &str) {
    let output = Output::new();
    let is_terminal = io::stdout().is_terminal() && io::stdin().is_terminal();
    let shown = is_terminal && pager(std::env::var_os("PAGER")).is_some_and(|pager| show(pager, text).is_ok());
    if !shown {
        text.lines().for_each(|line| output.line(line));
    }
}

/// The pager's command, if there is one.
fn pager(named: Option<OsString>) -> Option<Command> {
    let words: Vec<String> = match named {
        Some(named) => named.to_string_lossy().split_whitespace().map(str::to_owned).collect(),
        None => USUAL.map(str::to_owned).to_vec(),
    };
    let (name, arguments) = words.split_first()?;
    let program = if name.contains('/') { name.into() } else { baton_base::program::find(name)? };
    let mut pager = Command::new(program);
    pager.args(arguments);
    Some(pager)
}

/// Runs the pager on a file instead of a pipe, so that leaving it early breaks no pipe.
fn show(mut pager: Command, text: &str) -> io::Result<()> {
    let mut file = tempfile::tempfile()?;
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    pager.stdin(file);
    replaced_by(pager)
}

/// Replaces this process by the pager, which then handles Ctrl-C itself.
#[cfg(unix)]
fn replaced_by(mut pager: Command) -> io::Result<()> {
    use std::os::unix::process::CommandExt as _;
    Err(pager.exec())
}

#[cfg(not(unix))]
fn replaced_by(mut pager: Command) -> io::Result<()> {
    pager.status().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pager_is_named_with_its_arguments_or_not_at_all() {
        let told = |named: &str| pager(Some(named.into())).map(|pager| format!("{pager:?}"));
        assert_eq!(told(""), None);
        assert_eq!(told("  "), None);
        assert_eq!(told("no-such-pager-anywhere -x"), None);
        assert_eq!(told("/opt/pager -a -b").unwrap(), r#""/opt/pager" "-a" "-b""#);
    }
}
