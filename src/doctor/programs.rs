//! Checks Baton's programs: where they are, and that their versions agree.

use std::path::Path;
use std::time::Duration;

use super::Finding;
use baton_base::program;
use baton_install::locations::Programs;

/// Time limit for a program to print its version.
const WAIT: Duration = Duration::from_secs(10);
const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(super) fn check() -> Vec<Finding> {
    let Ok(own) = Programs::own() else {
        return vec![Finding::unknown("program", "cannot find this program's own path")];
    };
    vec![on_path(&own), hook(&own)]
}

fn on_path(own: &Programs) -> Finding {
    let shown = own.baton.display();
    let Some(found) = program::find("baton") else {
        let folder = own.baton.parent().unwrap_or(Path::new("/")).display();
        return Finding::warn(
            "program",
            format!("{shown} is version {VERSION}, and no `baton` is on the path"),
            format!("add {folder} to PATH; hooks and MCP server are called by their full path and do not need it"),
        );
    };
    let is_same = found.canonicalize().ok() == own.baton.canonicalize().ok();
    if is_same {
        return Finding::ok("program", format!("{} is version {VERSION}", found.display()));
    }
    match version(&found) {
        Some(version) if version == VERSION => {
            Finding::ok("program", format!("{} on the path and {shown} are both version {VERSION}", found.display()))
        }
        version => Finding::warn(
            "program",
            format!(
                "{} on the path is {}, and {shown} is version {VERSION}",
                found.display(),
                version.map_or("something else".to_owned(), |version| format!("version {version}"))
            ),
            "remove one of them, then run `baton install` with the other",
        ),
    }
}

fn hook(own: &Programs) -> Finding {
    let Some(hook) = &own.hook else {
        return Finding::warn(
            "baton-hook",
            format!("there is no baton-hook beside {}", own.baton.display()),
            "install both programs (`cargo install --path .`); `baton hook` does the same but takes longer",
        );
    };
    match version(hook) {
        Some(version) if version == VERSION => Finding::ok("baton-hook", format!("{} runs", hook.display())),
        Some(version) => Finding::warn(
            "baton-hook",
            format!("{} is version {version}, and this is version {VERSION}", hook.display()),
            "install both programs together (`cargo install --path .`)",
        ),
        None => Finding::error(
            "baton-hook",
            format!("{} does not run", hook.display()),
            "install both programs again (`cargo install --path .`)",
        ),
    }
}

/// Returns the last word of a program's `--version` output.
fn version(program: &Path) -> Option<String> {
    let ran = program::run(program, &["--version".to_owned()], WAIT).ok().filter(|ran| ran.is_ok)?;
    let line = ran.output.lines().next()?;
    line.starts_with("baton").then(|| line.split_whitespace().last().map(str::to_owned))?
}
