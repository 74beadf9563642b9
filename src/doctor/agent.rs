//! What Claude Code has of Baton: hooks, server, how long it keeps transcripts; and whether Codex is read beside it.

use std::path::{Path, PathBuf};

use baton_events::conversation::Agent;
use serde_json::Value;

use super::Finding;
use crate::environment::Environment;
use crate::install::document::Document;
use crate::install::hooks::{self, EVENTS, Found};
use crate::install::place::{self, Place, Programs, Scope};
use crate::install::server::{self, Registered, Server};
use crate::install::target::Target;
use crate::install::{plugin, retention};
use crate::program;

/// A settings file that is there.
struct Settings {
    path: PathBuf,
    value: Value,
}

pub(super) fn look(environment: &Environment, directory: &Path) -> Vec<Finding> {
    let (user, project) =
        (Place::of(Scope::User, environment, directory), Place::of(Scope::Project, environment, directory));
    let paths: Vec<PathBuf> =
        [user.settings.clone(), project.settings.clone()].into_iter().chain(project.overriding()).collect();
    let mut findings = Vec::new();
    let mut all = Vec::new();
    for path in paths {
        match read(&path) {
            Ok(Some(value)) if !all.iter().any(|known: &Settings| known.path == path) => {
                all.push(Settings { path, value });
            }
            Ok(_) => {}
            Err(why) => findings.push(Finding::error(
                "settings",
                format!("{} cannot be read, so Claude Code runs none of its hooks: {why}", path.display()),
                "mend the file; `/doctor` in Claude Code says where it is wrong",
            )),
        }
    }
    let plugins: Vec<String> = all.iter().flat_map(|settings| plugin::enabled(&settings.value)).collect();
    findings.extend(all.iter().filter_map(switched_off));
    findings.extend(hooks(&all, &plugins, environment));
    findings.push(server(environment, directory, &project, &plugins));
    findings.extend(codex(environment));
    let of_user = all.iter().find(|settings| settings.path == user.settings);
    findings.push(match retention(of_user.map_or(&Value::Null, |settings| &settings.value)) {
        None => Finding::ok("retention", "transcripts are kept for as long as cleanupPeriodDays says"),
        Some(what) => Finding::warn(
            "retention",
            what,
            format!("set \"cleanupPeriodDays\" in {} to the days you want, as 365", user.settings.display()),
        ),
    });
    findings
}

/// Nothing where Codex was never used.
fn codex(environment: &Environment) -> Option<Finding> {
    let folder = environment.roots().into_iter().find(|root| root.agent == Agent::Codex && root.projects.is_dir())?;
    Some(Finding::ok(
        "codex",
        format!(
            "{} is read; Codex calls no hooks, so its sessions end by a close, a search or the timeout",
            folder.projects.display()
        ),
    ))
}

fn read(path: &Path) -> Result<Option<Value>, String> {
    let target = Target::read(path).map_err(|error| error.to_string())?;
    let Some(text) = target.text else { return Ok(None) };
    Document::read(&text).and_then(|document| document.value()).map(Some).map_err(|error| error.to_string())
}

fn switched_off(settings: &Settings) -> Option<Finding> {
    let key = ["disableAllHooks", "allowManagedHooksOnly"].into_iter().find(|key| settings.value[*key] == true)?;
    Some(Finding::error(
        "hooks",
        format!("{} says {key}: no hook of yours runs", settings.path.display()),
        format!("take {key} away, if that is yours to decide; without hooks Baton still reads every session"),
    ))
}

fn hooks(all: &[Settings], plugins: &[String], environment: &Environment) -> Vec<Finding> {
    let found: Vec<(&Path, Found)> = all
        .iter()
        .flat_map(|settings| hooks::found(&settings.value).into_iter().map(|found| (settings.path.as_path(), found)))
        .collect();
    let Some((path, _)) = found.first() else {
        return vec![match plugins.first() {
            Some(plugin) => Finding::ok("hooks", format!("the plugin {plugin} brings them")),
            None => Finding::warn("hooks", "Claude Code calls no hook of Baton", "baton install"),
        }];
    };
    let mut findings = Vec::new();
    if let Some(plugin) = plugins.first() {
        findings.push(Finding::error(
            "hooks",
            format!("they are called twice: by {} and by the plugin {plugin}", path.display()),
            "baton uninstall, or take the plugin out with `/plugin` in Claude Code",
        ));
    }
    findings.extend(found.iter().filter_map(|(path, found)| fault(path, found, environment)));
    let missing: Vec<&str> = EVENTS
        .iter()
        .map(|(event, _)| *event)
        .filter(|event| !found.iter().any(|(_, found)| found.event == *event))
        .collect();
    if !missing.is_empty() {
        findings.push(Finding::warn("hooks", format!("not called for {}", missing.join(", ")), "baton install"));
    }
    for (event, _) in EVENTS {
        let mut lines: Vec<&str> =
            found.iter().filter(|(_, found)| found.event == event).map(|(_, found)| found.line.as_str()).collect();
        lines.sort_unstable();
        lines.dedup();
        // The same line in several files is called once.
        if lines.len() > 1 {
            let lines = lines.join(" and ");
            findings.push(Finding::warn("hooks", format!("{event} is told twice, by {lines}"), "baton install"));
        }
    }
    if findings.is_empty() {
        findings.push(Finding::ok("hooks", format!("all {} are in {}", EVENTS.len(), path.display())));
    }
    findings
}

/// What is wrong with one hook.
fn fault(path: &Path, found: &Found, environment: &Environment) -> Option<Finding> {
    let (event, shown, program) = (&found.event, path.display(), &found.own.program);
    let is_there = match program.is_absolute() {
        true => program::is_program(program),
        false => program::find(&program.display().to_string()).is_some(),
    };
    if !is_there {
        return Some(Finding::error(
            "hooks",
            format!("{event} in {shown} calls {}, which is not there", program.display()),
            "baton install",
        ));
    }
    if !found.is_sound() {
        let what = match &found.timeout {
            Some(timeout) if timeout.as_u64().is_none_or(|seconds| seconds > hooks::TIMEOUT_S_MAX) => {
                format!("waits {timeout} seconds: a timeout is in seconds")
            }
            Some(_) if event == "SessionEnd" => "has a timeout, which an exit may wait for".to_owned(),
            _ => "is not called each time, or not waited for".to_owned(),
        };
        return Some(Finding::warn("hooks", format!("{event} in {shown} {what}"), "baton install"));
    }
    let home = found.own.home.as_ref().map(PathBuf::from).or_else(|| {
        // It then takes what Claude Code was started with, which is likely what this was started with.
        Some(environment.home.clone())
    })?;
    (home != environment.home).then(|| {
        Finding::warn(
            "hooks",
            format!("{event} in {shown} speaks to {}, and this home is {}", home.display(), environment.home.display()),
            "set BATON_HOME to the one that is meant, and run `baton install`",
        )
    })
}

fn server(environment: &Environment, directory: &Path, project: &Place, plugins: &[String]) -> Finding {
    let Ok(programs) = Programs::own() else { return Finding::unknown("mcp", "this program's own path is not known") };
    let server = Server::new(&programs, place::other_home(environment));
    let files = place::registries(environment).into_iter().chain(project.servers.clone());
    let files: Vec<(PathBuf, Value)> =
        files.filter_map(|path| read(&path).ok().flatten().map(|value| (path, value))).collect();
    let for_all = files.iter().map(|(path, value)| (path, server.in_file(value), ""));
    let here_only =
        files.iter().map(|(path, value)| (path, server.in_project(value, directory), " for this project only"));
    let mut registered = for_all.chain(here_only).filter(|(_, registered, _)| *registered != Registered::Nothing);
    let add = server::command_line(&server.add());
    match (registered.next(), plugins.first()) {
        (Some((path, Registered::This, whose)), _) => {
            Finding::ok("mcp", format!("registered in {}{whose}", path.display()))
        }
        (Some((path, Registered::Otherwise(command), whose)), _) => {
            let is_there = match Path::new(&command).is_absolute() {
                true => program::is_program(Path::new(&command)),
                false => program::find(&command).is_some(),
            };
            let remove = if whose.is_empty() { Server::remove() } else { Server::remove_from_project() };
            match is_there {
                true => Finding::ok("mcp", format!("registered in {}{whose} as {command}", path.display())),
                false => Finding::error(
                    "mcp",
                    format!("{} names {command}{whose}, which is not there", path.display()),
                    format!("run: {} && {add}", server::command_line(&remove)),
                ),
            }
        }
        (Some((_, Registered::Foreign(command), _)), _) => {
            Finding::error("mcp", server::foreign(&command), format!("run: {add}"))
        }
        (_, Some(plugin)) => Finding::ok("mcp", format!("the plugin {plugin} brings the server")),
        _ => Finding::warn("mcp", "Claude Code does not know the MCP server", format!("run: {add}")),
    }
}
