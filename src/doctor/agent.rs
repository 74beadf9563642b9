//! Checks the installed agents: hooks, MCP server, and how long Claude Code keeps transcripts.

use std::path::{Path, PathBuf};

use baton_conversation::item::Agent;
use serde_json::Value;

use super::{Finding, Link, Part};
use crate::environment::{self, Environment, in_time};
use baton_base::program;
use baton_install::Host;
use baton_install::codex_config;
use baton_install::document::Document;
use baton_install::foreign_file::Target;
use baton_install::hook_command::HookCommand;
use baton_install::hooks::{self, CLAUDE_AND_CODEX, FoundHook, HookForm};
use baton_install::locations::{self, AgentFiles, Programs, Scope};
use baton_install::script::{self, Found};
use baton_install::server::{self, Registered, Server};
use baton_install::{plugin, reads_other_file, retention};

/// An existing settings file.
struct Settings {
    path: PathBuf,
    value: Value,
}

pub(super) fn check(hosts: &[Host], environment: &Environment, directory: &Path) -> Vec<Finding> {
    let of = |host: &Host| {
        let findings = match host {
            Host::Claude => claude(environment, directory),
            Host::Codex => codex(environment),
            other => of_files(*other, environment, directory),
        };
        let word = host.cli_name();
        findings.into_iter().map(move |finding| Finding { agent: Some(word.clone()), ..finding })
    };
    hosts.iter().flat_map(of).collect()
}

fn claude(environment: &Environment, directory: &Path) -> Vec<Finding> {
    let (user, project) = (
        AgentFiles::new(Host::Claude, Scope::User, environment, directory),
        AgentFiles::new(Host::Claude, Scope::Project, environment, directory),
    );
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
            Err(why) => {
                let what = format!("{} cannot be read, so Claude Code runs none of its hooks: {why}", path.display());
                let fix = "fix the file; `/doctor` in Claude Code says where it is wrong";
                findings.push(Finding::error("settings", what, fix).on(Part::Hooks, Link::Unknown));
            }
        }
    }
    let plugins: Vec<String> = all.iter().flat_map(|settings| plugin::enabled(&settings.value)).collect();
    findings.extend(all.iter().filter_map(switched_off));
    findings.extend(hooks(&all, &plugins, environment));
    findings.push(server(environment, directory, &project, &plugins));
    let of_user = all.iter().find(|settings| settings.path == user.settings);
    findings.push(match retention(of_user.map_or(&Value::Null, |settings| &settings.value)) {
        None => Finding::ok("retention", "transcripts are kept for as long as cleanupPeriodDays says"),
        Some(what) => Finding::warn(
            "retention",
            what,
            format!(
                "set \"cleanupPeriodDays\" in {} to the number of days you want, such as 365",
                user.settings.display()
            ),
        ),
    });
    findings
}

fn codex(environment: &Environment) -> Vec<Finding> {
    const FIX: &str = "baton install codex";
    let mut findings = Vec::new();
    for root in environment::roots(environment).into_iter().filter(|root| root.agent == Agent::Codex).take(1) {
        let (shown, there) = (root.projects.display().to_string(), in_time(move || root.projects.is_dir()));
        findings.extend(match there {
            Some(true) => Some(Finding::ok("codex", format!("{shown} is read"))),
            Some(false) => None,
            None => Some(Finding::unknown("codex", format!("{shown} does not answer"))),
        });
    }
    let files = AgentFiles::new(Host::Codex, Scope::User, environment, Path::new(""));
    let Some(config) = &files.servers else { return findings };
    let config = codex_config::read(config);
    if let Err(why) = &config {
        let broken = Finding::error("codex", why.to_string(), format!("fix the file, then run: {FIX}"));
        findings.push(broken.on(Part::Server, Link::Unknown));
    }
    let config = config.ok();
    match read(&files.settings) {
        Ok(value) => {
            let found = hooks::find(&CLAUDE_AND_CODEX, &value.unwrap_or_default());
            findings.extend(codex_hooks(&files.settings, found, config.as_ref(), environment, FIX));
        }
        Err(why) => {
            let what = format!("{} cannot be read, so Codex runs none of its hooks: {why}", files.settings.display());
            let broken = Finding::error("codex", what, format!("fix the file, then run: {FIX}"));
            findings.push(broken.on(Part::Hooks, Link::Unknown));
        }
    }
    if let (Some(config), Ok(programs)) = (config, Programs::own()) {
        let server = Server::new(Host::Codex, &programs, environment);
        findings.push(registered(&server, &config, FIX.to_owned()));
    }
    findings
}

/// Codex's hooks, and whether it has recorded that its user trusts them.
fn codex_hooks(
    path: &Path,
    found: Vec<FoundHook>,
    config: Option<&Value>,
    environment: &Environment,
    fix: &str,
) -> Vec<Finding> {
    if found.is_empty() {
        return vec![Finding::warn("codex", not_called(Host::Codex), fix).on(Part::Hooks, Link::Absent)];
    }
    let untrusted = config.map(|config| hooks::events_codex_does_not_run(config, path, &found));
    let found: Vec<(&Path, FoundHook)> = found.into_iter().map(|found| (path, found)).collect();
    let mut findings = faults(&CLAUDE_AND_CODEX, &found, environment, fix);
    if findings.is_empty() {
        let what = format!("all {} hooks are in {}", CLAUDE_AND_CODEX.events.len(), path.display());
        findings.push(Finding::ok("codex", what).on(Part::Hooks, Link::Present));
    }
    findings.extend(untrusted.map(|untrusted| {
        match untrusted.as_slice() {
        [] => Finding::ok("codex", "you have trusted these hooks").on(Part::Trust, Link::Present),
        events => Finding::warn(
            "codex",
            format!(
                "Codex does not run these hooks, because you have not trusted them or have switched them off: {}",
                events.join(", ")
            ),
            "start `codex` once and accept them where it says that hooks need review; later `/hooks` there shows them",
        )
        .on(Part::Trust, Link::Off),
    }
    }));
    findings
}

/// Fix for a server registered with another home.
const OTHER_HOME: &str = "set BATON_HOME to the right one, then run: baton install";

/// Hooks and server of an agent whose files Baton changes itself.
fn of_files(host: Host, environment: &Environment, directory: &Path) -> Vec<Finding> {
    let (check, title, fix) = (host.program(), host.title(), format!("baton install {}", host.cli_name()));
    let files = AgentFiles::new(host, Scope::User, environment, directory);
    let contents = |path: &Path, part| {
        let unreadable = |why| {
            let what = format!("{} cannot be read, so Baton cannot be set up in {title}: {why}", path.display());
            Finding::error(check, what, format!("fix the file, then run: {fix}")).on(part, Link::Unknown)
        };
        read(path).map(Option::unwrap_or_default).map_err(unreadable)
    };
    let mut findings = Vec::new();
    if let Some(path) = &files.instead {
        let moved = Finding::warn(check, reads_other_file(title, path), format!("move them there, then run: {fix}"));
        findings.push(moved.on(Part::Hooks, Link::Absent));
    } else if let Some(form) = host.setup().hooks {
        match contents(&files.settings, Part::Hooks) {
            Err(finding) => findings.push(finding),
            Ok(value) => {
                let path = files.settings.as_path();
                let found: Vec<_> = hooks::find(form, &value).into_iter().map(|found| (path, found)).collect();
                let faults = faults(form, &found, environment, &fix);
                findings.extend(match (found.is_empty(), faults.is_empty()) {
                    (true, _) => vec![Finding::warn(check, not_called(host), &fix).on(Part::Hooks, Link::Absent)],
                    (_, true) => {
                        let what = format!("all {} hooks are in {}", form.events.len(), path.display());
                        vec![Finding::ok(check, what).on(Part::Hooks, Link::Present)]
                    }
                    (_, false) => faults,
                });
            }
        }
    }
    let Ok(programs) = Programs::own() else { return findings };
    if let Some(path) = &files.script {
        findings.push(script(host, path, &programs, environment, fix.clone()));
    }
    let Some(path) = files.servers else { return findings };
    let server = Server::new(host, &programs, environment);
    match contents(&path, Part::Server) {
        // One file with both is complained of once.
        Err(finding) => match findings.iter_mut().find(|known| known.what == finding.what) {
            Some(_) => {}
            None => findings.push(finding),
        },
        Ok(value) => {
            findings.push(registered(&server, &value, fix));
        }
    }
    findings
}

/// What it means that an agent calls no hook.
fn not_called(host: Host) -> String {
    format!("{} calls none of Baton's hooks, so its sessions end by a close, a search or silence", host.title())
}

/// The plugin by which an agent calls the hook.
fn script(host: Host, path: &Path, programs: &Programs, environment: &Environment, fix: String) -> Finding {
    let command = HookCommand::new(programs.hook.as_deref(), &programs.baton, locations::other_home(environment));
    let (check, title, shown) = (host.program(), host.title(), path.display());
    let there = match Target::read(path) {
        Ok(target) => target.text,
        Err(why) => return Finding::error(check, why.to_string(), fix).on(Part::Hooks, Link::Unknown),
    };
    let (finding, link) = match script::compare(there.as_deref(), &script::text(&command, host)) {
        Found::This => (Finding::ok(check, format!("{title} loads {shown}, which calls the hook")), Link::Present),
        Found::Otherwise => (
            Finding::warn(check, format!("{shown} is of another version or calls another program"), fix),
            Link::Changed,
        ),
        Found::Foreign => {
            let away = format!("move it away, then run: {fix}");
            (Finding::error(check, format!("{shown} is not Baton's"), away), Link::Absent)
        }
        Found::Nothing => (Finding::warn(check, not_called(host), fix), Link::Absent),
    };
    finding.on(Part::Hooks, link)
}

/// How an agent has registered the server; `fix` registers it.
fn registered(server: &Server, file: &Value, fix: String) -> Finding {
    let (check, title) = (server.host().program(), server.host().title());
    let registered = server.in_file(file);
    let link = link(&registered);
    if matches!(link, Link::Present | Link::Changed) && server.is_off(file) {
        let what = format!("{title} has the MCP server switched off");
        return Finding::warn(check, what, "switch it on there, if you want it").on(Part::Server, Link::Off);
    }
    let finding = match registered {
        Registered::This => Finding::ok(check, format!("{title} knows the MCP server")),
        Registered::Otherwise(command) if link == Link::Changed => {
            Finding::ok(check, format!("{title} knows the MCP server as {command}"))
        }
        Registered::OtherHome(_) if link == Link::Changed => Finding::warn(
            check,
            format!("{title} starts the MCP server with another BATON_HOME, so there are two memories"),
            OTHER_HOME,
        ),
        Registered::Otherwise(command) | Registered::OtherHome(command) => {
            Finding::error(check, format!("{title} starts {command} as MCP server, which does not exist"), fix)
        }
        Registered::Foreign(command) => Finding::error(check, server::foreign(&command), fix),
        Registered::Nothing => Finding::warn(check, format!("{title} does not know the MCP server"), fix),
    };
    finding.on(Part::Server, link)
}

/// How a server is connected that is registered in this way.
fn link(registered: &Registered) -> Link {
    match registered {
        Registered::Nothing => Link::Absent,
        Registered::This => Link::Present,
        Registered::Otherwise(command) | Registered::OtherHome(command) if !is_there(Path::new(command)) => Link::Gone,
        // Somebody has put another server in its place.
        Registered::Otherwise(_) | Registered::OtherHome(_) | Registered::Foreign(_) => Link::Changed,
    }
}

/// True if the program exists, at its path or on `PATH`.
fn is_there(program: &Path) -> bool {
    match program.is_absolute() {
        true => program::is_program(program),
        false => program::find(&program.display().to_string()).is_some(),
    }
}

fn read(path: &Path) -> Result<Option<Value>, String> {
    let target = Target::read(path).map_err(|error| error.to_string())?;
    let Some(text) = target.text else { return Ok(None) };
    Document::read(&text).and_then(|document| document.value()).map(Some).map_err(|error| error.to_string())
}

fn switched_off(settings: &Settings) -> Option<Finding> {
    let key = ["disableAllHooks", "allowManagedHooksOnly"].into_iter().find(|key| settings.value[*key] == true)?;
    let off = Finding::error(
        "hooks",
        format!("{} sets {key}: none of your hooks run", settings.path.display()),
        format!("remove {key}, if you may decide that; without hooks Baton still reads every session"),
    );
    Some(off.on(Part::Hooks, Link::Off))
}

fn hooks(all: &[Settings], plugins: &[String], environment: &Environment) -> Vec<Finding> {
    let found: Vec<(&Path, FoundHook)> = all
        .iter()
        .flat_map(|settings| {
            hooks::find(&CLAUDE_AND_CODEX, &settings.value).into_iter().map(|found| (settings.path.as_path(), found))
        })
        .collect();
    let Some((path, _)) = found.first() else {
        return vec![match plugins.first() {
            Some(plugin) => {
                Finding::ok("hooks", format!("they come with the plugin {plugin}")).on(Part::Hooks, Link::Present)
            }
            None => Finding::warn("hooks", not_called(Host::Claude), "baton install").on(Part::Hooks, Link::Absent),
        }];
    };
    let mut findings = Vec::new();
    if let Some(plugin) = plugins.first() {
        let twice = Finding::error(
            "hooks",
            format!("they are called twice: by {} and by the plugin {plugin}", path.display()),
            "baton uninstall, or remove the plugin with `/plugin` in Claude Code",
        );
        findings.push(twice.on(Part::Hooks, Link::Changed));
    }
    findings.extend(faults(&CLAUDE_AND_CODEX, &found, environment, "baton install"));
    if findings.is_empty() {
        let all = Finding::ok("hooks", format!("all {} are in {}", CLAUDE_AND_CODEX.events.len(), path.display()));
        findings.push(all.on(Part::Hooks, Link::Present));
    }
    findings
}

/// Problems of one agent's hooks. `fix` is the command that repairs them.
fn faults(form: &HookForm, found: &[(&Path, FoundHook)], environment: &Environment, fix: &str) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        found.iter().filter_map(|(path, found)| fault(form, path, found, environment, fix)).collect();
    let missing: Vec<&str> = form
        .events
        .iter()
        .map(|(event, _)| *event)
        .filter(|event| !found.iter().any(|(_, found)| found.event == *event))
        .collect();
    if !missing.is_empty() {
        let not_called = Finding::warn("hooks", format!("not called for {}", missing.join(", ")), fix);
        findings.push(not_called.on(Part::Hooks, Link::Changed));
    }
    for (event, _) in form.events {
        let mut lines: Vec<&str> =
            found.iter().filter(|(_, found)| found.event == *event).map(|(_, found)| found.line.as_str()).collect();
        lines.sort_unstable();
        lines.dedup();
        // Claude Code runs an identical line from several files once.
        if lines.len() > 1 {
            let lines = lines.join(" and ");
            let twice = Finding::warn("hooks", format!("{event} is reported twice, by {lines}"), fix);
            findings.push(twice.on(Part::Hooks, Link::Changed));
        }
    }
    findings
}

/// The problem of one hook.
fn fault(form: &HookForm, path: &Path, found: &FoundHook, environment: &Environment, fix: &str) -> Option<Finding> {
    let (event, shown, program) = (&found.event, path.display(), &found.own.program);
    if !is_there(program) {
        let what = format!("{event} in {shown} calls {}, which does not exist", program.display());
        return Some(Finding::error("hooks", what, fix).on(Part::Hooks, Link::Gone));
    }
    if !found.is_sound(form) {
        let what = match &found.timeout {
            Some(timeout) if timeout.as_u64().is_none_or(|seconds| seconds > hooks::TIMEOUT_S_MAX) => {
                format!("has a timeout of {timeout} seconds: it is in seconds, not in milliseconds")
            }
            Some(_) if event == "SessionEnd" => "has a timeout, which may delay an exit".to_owned(),
            _ => "is not always called, or not waited for".to_owned(),
        };
        return Some(Finding::warn("hooks", format!("{event} in {shown} {what}"), fix).on(Part::Hooks, Link::Changed));
    }
    let home = found.own.home.as_ref().map(PathBuf::from).or_else(|| {
        // Without a home of its own it uses the one Claude Code was started with, which is probably the one this
        // process was started with.
        Some(environment.home.clone())
    })?;
    (home != environment.home).then(|| {
        let (home, own) = (home.display(), environment.home.display());
        let what = format!("{event} in {shown} uses the home {home}, and this one is {own}");
        let fix = format!("set BATON_HOME to the right one, then run: {fix}");
        Finding::warn("hooks", what, fix).on(Part::Hooks, Link::Changed)
    })
}

fn server(environment: &Environment, directory: &Path, project: &AgentFiles, plugins: &[String]) -> Finding {
    let Ok(programs) = Programs::own() else { return Finding::unknown("mcp", "cannot find this program's own path") };
    let server = Server::new(Host::Claude, &programs, environment);
    let files = locations::registries(environment).into_iter().chain(project.servers.clone());
    let files: Vec<(PathBuf, Value)> =
        files.filter_map(|path| read(&path).ok().flatten().map(|value| (path, value))).collect();
    let for_all = files.iter().map(|(path, value)| (path, server.in_file(value), ""));
    let here_only =
        files.iter().map(|(path, value)| (path, server.in_project(value, directory), " for this project only"));
    let mut registered = for_all.chain(here_only).filter(|(_, registered, _)| *registered != Registered::Nothing);
    let add = server.add_line();
    let (file, registered) = match (registered.next(), plugins.first()) {
        (Some((path, registered, whose)), _) => ((path.display().to_string(), whose), registered),
        (None, Some(plugin)) => {
            let with = Finding::ok("mcp", format!("it comes with the plugin {plugin}"));
            return with.on(Part::Server, Link::Present);
        }
        (None, None) => (Default::default(), Registered::Nothing),
    };
    let ((path, whose), link) = (file, link(&registered));
    let finding = match registered {
        Registered::This => Finding::ok("mcp", format!("registered in {path}{whose}")),
        Registered::OtherHome(_) if link == Link::Changed => {
            let what = format!("{path}{whose} starts it with another BATON_HOME, so there are two memories");
            Finding::warn("mcp", what, OTHER_HOME)
        }
        Registered::Otherwise(command) if link == Link::Changed => {
            Finding::ok("mcp", format!("registered in {path}{whose} as {command}"))
        }
        Registered::Otherwise(command) | Registered::OtherHome(command) => {
            let remove = if whose.is_empty() { Server::remove() } else { Server::remove_from_project() };
            let fix = format!("run: {} && {add}", server::command_line(&remove));
            Finding::error("mcp", format!("{path} names {command}{whose}, which does not exist"), fix)
        }
        Registered::Foreign(command) => Finding::error("mcp", server::foreign(&command), format!("run: {add}")),
        Registered::Nothing => Finding::warn("mcp", "Claude Code does not know the MCP server", format!("run: {add}")),
    };
    finding.on(Part::Server, link)
}
