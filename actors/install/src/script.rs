//! OpenCode's plugin and Pi's extension: a whole file of ours that the agent loads, and that calls the hook.

use std::path::Path;

use super::agents::Host;
use super::foreign_file::Target;
use super::hook_command::HookCommand;
use super::plan::{Change, Kind};
use super::{Error, Installer, UnfitKind};

/// What reports an event, in every agent.
const REPORT: &str = include_str!("report.js");
/// Time after which an event is no longer waited for, in milliseconds; the hook ends long before that.
const LIMIT_MS: u64 = 5_000;

/// The state of the file at the script's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Nothing,
    /// The script as it should be.
    This,
    /// Another version of it.
    Otherwise,
    /// A file that is not ours.
    Foreign,
}

/// The first line, by which the file is recognised as ours.
fn first_line(host: Host) -> String {
    let agent = host.cli_name();
    format!("// Written by `baton install {agent}`, removed by `baton uninstall {agent}`.")
}

/// The file's text.
pub fn text(command: &HookCommand, host: Host) -> String {
    let (words, variables) = command.words(&host.cli_name());
    format!(
        "{}\nconst COMMAND = {}\nconst VARIABLES = {}\nconst LIMIT_MS = {LIMIT_MS}\n\n{REPORT}{}",
        first_line(host),
        serde_json::json!(words),
        serde_json::json!(variables),
        host.setup().script.map_or("", |script| script.events)
    )
}

/// Compares what is at a path with the text that should be there.
pub fn compare(there: Option<&str>, text: &str) -> Found {
    match there {
        None => Found::Nothing,
        Some(there) if there == text => Found::This,
        Some(there) if there.lines().next() == text.lines().next() => Found::Otherwise,
        Some(_) => Found::Foreign,
    }
}

impl Installer {
    /// The script's text.
    pub(super) fn script(&self) -> String {
        text(&self.hook_command, self.host)
    }

    /// Plans to write the script; `None` if it is up to date. A file that is not ours is refused.
    pub(super) fn plan_script(&self, path: &Path) -> Result<Option<Change>, Error> {
        let (target, text) = (Target::read(path)?, self.script());
        match compare(target.text.as_deref(), &text) {
            Found::This => Ok(None),
            Found::Foreign => Err(self.unfit_script(path, UnfitKind::Foreign)),
            Found::Nothing | Found::Otherwise => {
                self.script_must_be_no_link(path)?;
                Ok(Some(Change(Kind::Own { target, text })))
            }
        }
    }

    /// Plans to remove the script; `None` if it is not ours.
    pub(super) fn plan_script_removal(&self, path: &Path) -> Result<Option<Change>, Error> {
        let target = Target::read(path)?;
        match compare(target.text.as_deref(), &self.script()) {
            Found::Nothing | Found::Foreign => Ok(None),
            Found::This | Found::Otherwise => {
                self.script_must_be_no_link(path).map_err(Error::of_removal)?;
                let folder = path.parent().map(Path::to_owned);
                Ok(Some(Change(Kind::Remove { target, folder })))
            }
        }
    }

    fn script_must_be_no_link(&self, path: &Path) -> Result<(), Error> {
        std::fs::read_link(path).map_or(Ok(()), |leads_to| Err(self.unfit_script(path, UnfitKind::Link(leads_to))))
    }

    fn unfit_script(&self, path: &Path, kind: UnfitKind) -> Error {
        let remedy = format!("move it away, or add this file by hand:\n{}", self.script());
        Error::Content { path: path.to_owned(), source: super::Unfit(kind), remedy }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_ours_is_recognised() {
        let made = text(&HookCommand::new(Some(Path::new("/a \"b/baton-hook")), Path::new("/b"), None), Host::OpenCode);
        assert!(made.contains(r#"const COMMAND = ["/a \"b/baton-hook","--agent","opencode"]"#), "{made}");
        let older = made.replace("/baton-hook", "/old/baton-hook");
        for (there, expected) in [
            (None, Found::Nothing),
            (Some(made.as_str()), Found::This),
            (Some(older.as_str()), Found::Otherwise),
            (Some(""), Found::Foreign),
            (Some("export const Mine = async () => ({})\n"), Found::Foreign),
            (Some(&made[1..]), Found::Foreign),
        ] {
            assert_eq!(compare(there, &made), expected, "{there:?}");
        }
    }
}
