//! Planned changes: shown, confirmed, then made in order.

use std::path::{Path, PathBuf};

use similar::TextDiff;

use super::foreign_file::{self, Target};
use super::server::Server;

/// Context lines around a change.
const CONTEXT: usize = 3;

/// All planned changes, with remarks for the person.
#[derive(Debug, Default)]
pub struct Plan {
    /// Changes, in order.
    pub changes: Vec<Change>,
    /// Sentences on what is not changed but may matter.
    pub remarks: Vec<String>,
    /// Why agents are left as they are.
    pub refused: Vec<String>,
}

/// One change.
#[derive(Debug)]
pub struct Change(pub(super) Kind);

#[derive(Debug)]
pub(super) enum Kind {
    /// Replaces a file's text.
    Write {
        target: Target,
        text: String,
        /// True if the backups are no longer needed.
        is_undone: bool,
    },
    /// Replaces a file of our own, without a backup.
    Own { target: Target, text: String },
    /// Removes a file that we created, and its folder if that is empty then.
    Remove { target: Target, folder: Option<PathBuf> },
    /// Runs the agent's command that registers the server.
    Register { server: Server, cli: PathBuf },
    /// Runs the agent's command that removes the server.
    Unregister { server: Server, cli: PathBuf },
}

/// Reason why a change was not made.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// A file could not be changed.
    #[error(transparent)]
    Target(#[from] foreign_file::Error),
    /// Another program failed; the message names what to run.
    #[error("{0}")]
    Program(String),
}

impl Change {
    /// Shows the change: for a file the lines that change, like `diff -u`.
    pub fn diff(&self) -> String {
        match &self.0 {
            Kind::Write { target, text, .. } | Kind::Own { target, text } => {
                difference(&target.path, target.text.as_deref(), Some(text))
            }
            Kind::Remove { target, .. } => difference(&target.path, target.text.as_deref(), None),
            Kind::Register { server, .. } => format!("Baton will run: {}\n", server.add_line()),
            Kind::Unregister { .. } => format!("Baton will run: {}\n", Server::remove_line()),
        }
    }

    /// Makes the change and returns what was done.
    pub fn make(&self) -> Result<String, ChangeError> {
        match &self.0 {
            Kind::Write { target, text, is_undone } => {
                target.write(text)?;
                if *is_undone {
                    target.forget_backups();
                    return Ok(format!("{} is as it was before", target.path.display()));
                }
                Ok(match target.backups().into_iter().rfind(|(_, copy)| Some(copy) == target.text.as_ref()) {
                    Some((copy, _)) => format!("{} written; before: {}", target.path.display(), copy.display()),
                    None => format!("{} written", target.path.display()),
                })
            }
            Kind::Own { target, text } => {
                target.replace(text)?;
                Ok(format!("{} written", target.path.display()))
            }
            Kind::Remove { target, folder } => {
                target.remove()?;
                target.forget_backups();
                // Fails unless the folder is empty.
                let _ = folder.as_ref().map(std::fs::remove_dir);
                Ok(format!("{} removed", target.path.display()))
            }
            Kind::Register { server, cli } => {
                server.register(cli).map_err(ChangeError::Program)?;
                let agent = server.host().title();
                Ok(format!("{agent} knows the MCP server now; running sessions see it after a restart or `/mcp`"))
            }
            Kind::Unregister { server, cli } => {
                server.unregister(cli).map_err(ChangeError::Program)?;
                Ok(format!("{} no longer knows the MCP server", server.host().title()))
            }
        }
    }
}

fn difference(path: &Path, before: Option<&str>, after: Option<&str>) -> String {
    let name = |text: Option<&str>| text.map_or("/dev/null".to_owned(), |_| path.display().to_string());
    let (from, to) = (name(before), name(after));
    let diff = TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default());
    diff.unified_diff().context_radius(CONTEXT).header(&from, &to).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_shows_what_changes_and_little_else() {
        let before: String = (0..100).map(|line| format!("{line}\n")).collect();
        let shown = difference(Path::new("/f"), Some(&before), Some(&before.replace("50\n", "fifty\n")));
        assert!(shown.starts_with("--- /f\n+++ /f\n@@ ") && shown.contains("\n-50\n+fifty\n"), "{shown}");
        assert_eq!(shown.lines().count(), 2 + 1 + 3 + 2 + 3);
        assert!(difference(Path::new("/f"), None, Some("a\n")).starts_with("--- /dev/null\n+++ /f\n"));
    }
}
