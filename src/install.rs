//! Sets Baton up in an agent: hooks in its settings, the MCP server, and in Claude Code a block of guidance, or all of
//! it as a plugin.
//!
//! The files changed here belong to other programs. So everything is planned and shown first, only Baton's own entries
//! are touched, and removing them restores the files byte for byte.

pub(crate) mod document;
mod guidance;
pub(crate) mod hook_command;
pub(crate) mod hooks;
pub(crate) mod locations;
mod plan;
pub(crate) mod plugin;
mod remark;
pub(crate) mod server;
pub(crate) mod target;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::environment::Environment;
use crate::program;
use document::Document;
use hook_command::HookCommand;
use locations::{AgentFiles, Programs};
use plan::Kind;
use remark::switched_off;
use server::{Registered, Server};
use target::Target;

pub use locations::{Host, Scope};
pub use plan::{Change, ChangeError, Plan};
use remark::RETENTION;
pub(crate) use remark::retention;

/// Reason why nothing can be planned.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read or changed.
    #[error(transparent)]
    Target(#[from] target::Error),
    /// A file's content is not as required.
    #[error("{}: {source}; nothing was written: fix it, or add the hooks by hand (`baton install --print`)", path.display())]
    Content {
        /// Which file.
        path: PathBuf,
        /// The reason.
        source: Unfit,
    },
    /// A plugin is enabled; hooks in settings would be called in addition.
    #[error(
        "the plugin {0} is enabled in {path} and has the same hooks; both would be called: remove it first (`/plugin` in \
         Claude Code), or use only the plugin",
        path = .1.display()
    )]
    Plugin(String, PathBuf),
    /// The settings contain hooks; a plugin's would be called in addition.
    #[error(
        "{} has Baton's hooks already, and a plugin would add them again; run `baton uninstall{}` first",
        .0.display(),
        if *.1 { " --scope project" } else { "" }
    )]
    Settings(PathBuf, bool),
    /// The MCP server is registered; a plugin's would be started in addition.
    #[error(
        "Baton's MCP server is registered already{}, and a plugin would add it again; run `baton uninstall{}` first",
        if *.0 { " in the project's .mcp.json" } else { "" },
        if *.0 { " --scope project" } else { "" }
    )]
    Registered(bool),
    /// This program's path is unknown.
    #[error("cannot find this program's own path: {0}")]
    Own(#[source] std::io::Error),
}

/// Reason why a file's content cannot be used.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Unfit(#[from] document::Error);

/// Sets up one agent in one scope.
pub struct Installer {
    host: Host,
    files: AgentFiles,
    programs: Programs,
    hook_command: HookCommand,
    server: Server,
    registries: Vec<PathBuf>,
    directory: PathBuf,
    cli: Option<PathBuf>,
    other_places: Vec<(PathBuf, bool)>,
    project_servers: Option<PathBuf>,
}

impl Installer {
    /// Creates an installer for the project that contains `directory`. Codex has user scope only.
    pub fn new(host: Host, scope: Scope, environment: &Environment, directory: &Path) -> Result<Self, Error> {
        let programs = Programs::own().map_err(Error::Own)?;
        let home = locations::other_home(environment);
        let settings = |scope| (AgentFiles::for_scope(scope, environment, directory).settings, scope == Scope::Project);
        let (files, registries, project_servers, other_places) = match host {
            Host::Claude => (
                AgentFiles::for_scope(scope, environment, directory),
                locations::registries(environment),
                AgentFiles::for_scope(Scope::Project, environment, directory).servers,
                [Scope::User, Scope::Project].map(settings).into(),
            ),
            Host::Codex => (AgentFiles::for_codex(environment), Vec::new(), None, Vec::new()),
        };
        Ok(Self {
            host,
            files,
            hook_command: HookCommand::new(programs.hook.as_deref(), &programs.baton, home),
            server: Server::new(host, &programs, environment),
            registries,
            directory: directory.to_owned(),
            cli: program::find(host.program()),
            project_servers,
            other_places,
            programs,
        })
    }

    /// True if it sets up Codex.
    pub fn is_of_codex(&self) -> bool {
        self.host == Host::Codex
    }

    /// Removes temporary files left by killed runs.
    pub fn sweep(&self) {
        for path in [&self.files.settings, &self.files.guidance].into_iter().chain(&self.files.servers) {
            if let Ok(target) = Target::read(path)
                && self.must_be_ours_to_change(&target).is_ok()
            {
                target.sweep();
            }
        }
    }

    /// Plans the changes that complete the setup.
    pub fn plan(&self) -> Result<Plan, Error> {
        let mut plan = Plan::default();
        let target = Target::read(&self.files.settings)?;
        let mut document = self.document(&target)?;
        let value = document.value().map_err(|source| self.content(&target, source))?;
        let all = if self.host == Host::Claude { self.all_settings(&value) } else { Vec::new() };
        for (path, settings) in &all {
            if let Some(plugin) = plugin::enabled(settings).into_iter().next() {
                return Err(Error::Plugin(plugin, path.clone()));
            }
            plan.remarks.extend(switched_off(path, settings));
        }
        if !document.is_strict() {
            plan.remarks.push(format!(
                "{} has comments or trailing commas, which stay; if {} does not accept the file{}, no hook runs",
                target.path.display(),
                self.host.title(),
                if self.host == Host::Claude { " (`/doctor` there says so)" } else { "" }
            ));
        }
        // User settings apply in a project that does not override them.
        let all = [&value].into_iter().chain(all.iter().map(|(_, settings)| settings));
        let kept = all.clone().find(|settings| settings.get(RETENTION).is_some());
        plan.remarks.extend(retention(kept.unwrap_or(&value)).filter(|_| self.host == Host::Claude));
        plan.remarks.extend(self.remarks_on_programs());
        hooks::put_in(&mut document, &self.hook_command).map_err(|source| self.content(&target, source))?;
        let change = self.write(target, document.text())?;
        if self.host == Host::Codex {
            let untrusted = hooks::untrusted(&server::codex_config(&self.files)?);
            plan.remarks.extend((change.is_some() || !untrusted.is_empty()).then(|| {
                "Codex runs no hook that you have not trusted: start `codex` once and accept them where it says that hooks \
                 need review"
                    .to_owned()
            }));
        }
        plan.changes.extend(change);
        self.plan_server(&mut plan)?;
        Ok(plan)
    }

    /// Plans adding or updating the block in `CLAUDE.md`; `None` if it is up to date.
    pub fn plan_guidance(&self) -> Result<Option<Change>, Error> {
        if self.host == Host::Codex {
            return Ok(None);
        }
        let target = Target::read(&self.files.guidance)?;
        let text = guidance::put_in(target.text());
        self.write(target, text)
    }

    /// Plans the removal of everything Baton has added.
    pub fn plan_removal(&self) -> Result<Plan, Error> {
        let mut plan = Plan::default();
        if self.host == Host::Claude {
            let others = self.other_places.iter().map(|(path, _)| path.clone());
            plan.remarks.extend(plugin::remarks(others.chain(self.files.overriding())));
        }
        let put_in = |document: &mut Document| hooks::put_in(document, &self.hook_command);
        plan.changes.extend(self.undone(&self.files.settings, &put_in, &hooks::take_out)?);
        self.plan_server_removal(&mut plan)?;
        let target = Target::read(&self.files.guidance)?;
        if guidance::is_in(target.text()) {
            self.must_be_ours_to_change(&target)?;
            let text = guidance::take_out(target.text());
            let backups = target.backups();
            let is_known = backups.iter().any(|(_, copy)| *copy == text);
            // True if a copy contains nothing but an older block of ours.
            let is_all_ours = |copy: &str| guidance::is_in(copy) && guidance::take_out(copy).is_empty();
            let change = match text.is_empty() && backups.iter().all(|(_, copy)| is_all_ours(copy)) {
                true => Kind::Remove { target, folder: None },
                // Backups of a file changed since then are kept.
                false => Kind::Write { target, text, is_undone: is_known },
            };
            plan.changes.push(Change(change));
        }
        Ok(plan)
    }

    /// The parts to add by hand: the hooks for `settings.json`, and the way to register the server.
    pub fn printed(&self) -> Printed {
        let servers = json!({ "mcpServers": { server::NAME: self.server } });
        Printed {
            settings: self.files.settings.clone(),
            hooks: printed_hooks(&self.hook_command),
            servers: serde_json::to_string_pretty(&servers).ok().filter(|_| self.host == Host::Claude),
            command: self.server.add_line(),
        }
    }

    /// Writes a plugin folder. Returns the files that were written.
    pub fn write_plugin(&self, folder: &Path) -> Result<Vec<PathBuf>, Error> {
        for (path, is_project) in &self.other_places {
            let target = Target::read(path)?;
            if !hooks::find(&self.value(&target)?).is_empty() {
                return Err(Error::Settings(path.clone(), *is_project));
            }
        }
        let is_ours =
            |registered| matches!(registered, Registered::This | Registered::Otherwise(_) | Registered::OtherHome(_));
        if let Some(path) = &self.project_servers
            && is_ours(self.server.in_file(&self.value(&Target::read(path)?)?))
        {
            return Err(Error::Registered(true));
        }
        if is_ours(self.registered()?) {
            return Err(Error::Registered(false));
        }
        Ok(plugin::write(folder, &self.hook_command, &self.server)?)
    }

    fn plan_server(&self, plan: &mut Plan) -> Result<(), Error> {
        if let Some(path) = &self.files.servers {
            let target = Target::read(path)?;
            let mut document = self.document(&target)?;
            let value = document.value().map_err(|source| self.content(&target, source))?;
            if let Registered::Foreign(command) = self.server.in_file(&value) {
                plan.remarks.push(server::foreign(&command));
            }
            self.server.put_in(&mut document).map_err(|source| self.content(&target, source))?;
            plan.changes.extend(self.write(target, document.text())?);
            return Ok(());
        }
        let command = self.server.add_line();
        if let Some(path) = self.registered_here_only() {
            plan.remarks.push(format!(
                "the MCP server is registered for this project only, in {}; for all projects run: {command}",
                path.display()
            ));
            return Ok(());
        }
        match (self.registered()?, &self.cli) {
            (Registered::This, _) => {}
            (Registered::Foreign(command), _) => plan.remarks.push(server::foreign(&command)),
            (_, Some(cli)) => {
                plan.changes.push(Change(Kind::Register { server: self.server.clone(), cli: cli.clone() }));
            }
            (_, None) => plan.remarks.push(format!(
                "`{0}` was not found on the path; to register the MCP server, run this in a shell that has `{0}`: {command}",
                self.host.program()
            )),
        }
        Ok(())
    }

    fn plan_server_removal(&self, plan: &mut Plan) -> Result<(), Error> {
        if let Some(path) = &self.files.servers {
            let put_in = |document: &mut Document| self.server.put_in(document);
            let take_out = |document: &mut Document| self.server.take_out(document);
            plan.changes.extend(self.undone(path, &put_in, &take_out)?);
            return Ok(());
        }
        if let Some(path) = self.registered_here_only() {
            plan.remarks.push(format!(
                "the MCP server is registered for this project only, in {}; to remove it, run here: {}",
                path.display(),
                server::command_line(self.host, &Server::remove_from_project())
            ));
            return Ok(());
        }
        match (self.registered()?, &self.cli) {
            (Registered::Foreign(_) | Registered::Nothing, _) => {}
            (_, None) => plan.remarks.push(format!(
                "`{0}` was not found on the path; to remove the MCP server, run this in a shell that has `{0}`: {1}",
                self.host.program(),
                self.server.remove_line()
            )),
            (_, Some(cli)) => {
                plan.changes.push(Change(Kind::Unregister { server: self.server.clone(), cli: cli.clone() }));
            }
        }
        Ok(())
    }

    /// The file that registers the server for this project only and not for the user. The output of `claude` would not
    /// tell these apart.
    fn registered_here_only(&self) -> Option<&Path> {
        let (path, file) = self.registries.iter().find_map(|path| Some((path, target::json(path)?)))?;
        let is_for_user = self.server.in_file(&file) != Registered::Nothing;
        let is_here = self.server.in_project(&file, &self.directory) != Registered::Nothing;
        (is_here && !is_for_user).then_some(path)
    }

    /// How the server is registered, according to the agent's file or else its command. The file is never written here,
    /// because running sessions rewrite it.
    fn registered(&self) -> Result<Registered, Error> {
        let in_file = match self.host {
            Host::Claude => {
                self.registries.iter().find_map(|path| target::json(path)).map(|file| self.server.in_file(&file))
            }
            Host::Codex => Some(self.server.in_codex(&server::codex_config(&self.files)?)),
        };
        Ok(match (in_file.unwrap_or(Registered::Nothing), &self.cli) {
            // A command that does not answer is reported when it has to do something.
            (Registered::Nothing, Some(cli)) => self.server.query(cli).unwrap_or(Registered::Nothing),
            (registered, _) => registered,
        })
    }

    /// Plans a file without our entries: restored from the backup it was made from, removed if there was none before
    /// us, or otherwise only without the entries. `None` if it has none.
    fn undone(&self, path: &Path, put_in: Edit, take_out: Edit) -> Result<Option<Change>, Error> {
        let target = Target::read(path)?;
        if target.text.is_none() {
            return Ok(None);
        }
        let mut document = self.document(&target)?;
        let had = document.text();
        take_out(&mut document).map_err(|source| self.content(&target, source))?;
        if document.text() == had {
            return Ok(None);
        }
        self.must_be_ours_to_change(&target)?;
        let backups = target.backups();
        // The origin is the backup without our entries that becomes the current text when they are added.
        let origin = backups.iter().rev().find(|(_, copy)| {
            let edited = |edit: Edit| Document::read(copy).and_then(|mut then| edit(&mut then).map(|()| then.text()));
            let is_without = edited(&|_| Ok(())) == edited(take_out);
            is_without && edited(put_in).is_ok_and(|then| then == target.text())
        });
        let is_empty = document.value().is_ok_and(|value| value == json!({}));
        if let Some((_, copy)) = origin {
            let text = copy.clone();
            return Ok(Some(Change(Kind::Write { target, text, is_undone: true })));
        }
        let text = document.text();
        let is_known = backups.iter().any(|(_, copy)| *copy == text);
        // The backups are removed as well, so they must contain only our entries.
        let is_of_ours = |copy: &str| {
            let emptied = Document::read(copy).and_then(|mut then| take_out(&mut then).and_then(|()| then.value()));
            emptied.is_ok_and(|value| value == json!({}))
        };
        let are_ours = backups.iter().all(|(_, copy)| is_of_ours(copy));
        if is_empty && !is_known && are_ours && is_our_own_form(&target, put_in) {
            let folder = target.path.parent().filter(|_| self.files.scope == Scope::Project);
            let folder = folder.filter(|folder| folder.ends_with(".claude")).map(Path::to_owned);
            return Ok(Some(Change(Kind::Remove { target, folder })));
        }
        Ok(Some(Change(Kind::Write { target, text, is_undone: is_known })))
    }

    /// Plans a change; `None` if the file is up to date.
    fn write(&self, target: Target, text: String) -> Result<Option<Change>, Error> {
        let is_different = target.text.as_deref().map_or(!text.is_empty(), |before| before != text);
        if !is_different {
            return Ok(None);
        }
        self.must_be_ours_to_change(&target)?;
        Ok(Some(Change(Kind::Write { target, text, is_undone: false })))
    }

    /// In project scope, refuses a file outside the project: a repository may contain links to anywhere.
    fn must_be_ours_to_change(&self, target: &Target) -> Result<(), Error> {
        match &self.files.top {
            Some(top) => Ok(target.must_lie_below(top)?),
            None => Ok(()),
        }
    }

    /// All settings files that apply here with their contents, starting with the one already read.
    fn all_settings(&self, value: &Value) -> Vec<(PathBuf, Value)> {
        let others = self.other_places.iter().map(|(path, _)| path.clone()).chain(self.files.overriding());
        let others = others.filter(|path| *path != self.files.settings);
        let others = others.filter_map(|path| document::value_of(&path).map(|value| (path, value)));
        std::iter::once((self.files.settings.clone(), value.clone())).chain(others).collect()
    }

    fn remarks_on_programs(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.programs.hook.is_none() {
            remarks.push(format!(
                "there is no baton-hook beside {}: hooks will call `baton hook`, which does the same but takes longer",
                self.programs.baton.display()
            ));
        }
        if self.programs.are_built_here() {
            remarks.push(format!(
                "{} is in a build folder: hooks fail when that is cleaned; `cargo install --path .` installs it for good",
                self.hook_command.program()
            ));
        }
        if self.files.scope == Scope::Project {
            remarks.push(
                "the paths are those of this machine: other people in the project need the same ones, or their own setup"
                    .to_owned(),
            );
        }
        remarks
    }

    fn document(&self, target: &Target) -> Result<Document, Error> {
        Document::read(target.text()).map_err(|source| self.content(target, source))
    }

    fn value(&self, target: &Target) -> Result<Value, Error> {
        self.document(target)?.value().map_err(|source| self.content(target, source))
    }

    fn content(&self, target: &Target, source: document::Error) -> Error {
        Error::Content { path: target.path.clone(), source: Unfit(source) }
    }
}

/// An edit of a document.
type Edit<'a> = &'a dyn Fn(&mut Document) -> Result<(), document::Error>;

/// The parts to add by hand.
pub struct Printed {
    /// The file for the hooks.
    pub settings: PathBuf,
    /// The hooks, as JSON.
    pub hooks: String,
    /// The server as JSON for `.mcp.json`, if the agent has such files.
    pub servers: Option<String>,
    /// The command that registers the server for a user.
    pub command: String,
}

/// The hooks as JSON, in the order of events.
fn printed_hooks(command: &HookCommand) -> String {
    let document = Document::read("").and_then(|mut document| hooks::put_in(&mut document, command).map(|()| document));
    document.map(|document| document.text().trim_end().to_owned()).unwrap_or_default()
}

/// True if a file is exactly what we would create from nothing.
fn is_our_own_form(target: &Target, put_in: Edit) -> bool {
    let made = Document::read("").and_then(|mut document| put_in(&mut document).map(|()| document.text()));
    // A file made by another installation differs only in the paths.
    let is_same = |(made, line): (&str, &str)| {
        let is_path =
            |line: &str| ["\"command\":", "\"BATON_HOME\":"].iter().any(|key| line.trim_start().starts_with(key));
        made == line || is_path(made) && is_path(line)
    };
    made.is_ok_and(|made| {
        made.lines().count() == target.text().lines().count() && made.lines().zip(target.text().lines()).all(is_same)
    })
}
