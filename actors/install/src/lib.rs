//! Sets Baton up in an agent: hooks in its settings, the MCP server, and on request a block in its instructions; for
//! Claude Code also all of it as a plugin. [`agents`] lists what each agent has, and where.
//!
//! The files changed here belong to other programs. So everything is planned and shown first, only Baton's own entries
//! are touched, and removing them restores the files byte for byte.

pub(crate) mod agents;
pub mod codex_config;
pub mod document;
mod edit;
mod entry_form;
pub mod foreign_file;
mod guidance;
pub mod hook_command;
pub mod hooks;
pub mod locations;
mod plan;
pub mod plugin;
mod registration;
mod remark;
pub mod script;
pub mod server;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use agents::{Servers, Setup};
use baton_base::program;
use baton_home::environment::Environment;
use edit::Part;
use foreign_file::Target;
use hook_command::HookCommand;
use locations::{AgentFiles, Programs};
use plan::Kind;
use remark::switched_off;
use server::{Registered, Server};

pub use agents::Host;
pub use locations::Scope;
pub use plan::{Change, ChangeError, Plan};
use remark::RETENTION;
pub use remark::{reads_other_file, retention};

/// Reason why nothing can be planned.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read or changed.
    #[error(transparent)]
    Target(#[from] foreign_file::Error),
    /// A file's content is not as required.
    #[error("{}: {source}; nothing was written: {remedy}", path.display())]
    Content {
        /// Which file.
        path: PathBuf,
        /// The reason.
        source: Unfit,
        /// What to do, with the text that Baton would have added.
        remedy: String,
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
    #[error("cannot find this program's own path: {0}; run it by its full path")]
    Own(#[source] std::io::Error),
}

impl Error {
    /// The same error of a removal.
    fn of_removal(self) -> Self {
        match self {
            Self::Content { path, source, .. } => {
                Self::Content { path, source, remedy: "fix it, or remove Baton's entries by hand".to_owned() }
            }
            other => other,
        }
    }
}

/// Reason why a file's content cannot be used.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Unfit(#[from] UnfitKind);

#[derive(Debug, thiserror::Error)]
enum UnfitKind {
    #[error(transparent)]
    Document(#[from] document::Error),
    #[error("it is a link to {}, which may be managed elsewhere", .0.display())]
    Link(PathBuf),
    #[error("it is not Baton's")]
    Foreign,
}

/// Sets up one agent in one scope.
pub struct Installer {
    host: Host,
    setup: Setup,
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
    /// Creates an installer for the project that contains `directory`. Only Claude Code has project scope.
    pub fn new(host: Host, scope: Scope, environment: &Environment, directory: &Path) -> Result<Self, Error> {
        let programs = Programs::own().map_err(Error::Own)?;
        let home = locations::other_home(environment);
        let of_scope = |scope| AgentFiles::new(host, scope, environment, directory);
        let settings = |scope| (of_scope(scope).settings, scope == Scope::Project);
        let (registries, project_servers, other_places) = match host {
            Host::Claude => (
                locations::registries(environment),
                of_scope(Scope::Project).servers,
                [Scope::User, Scope::Project].map(settings).into(),
            ),
            _ => (Vec::new(), None, Vec::new()),
        };
        Ok(Self {
            host,
            setup: host.setup(),
            files: of_scope(scope),
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

    /// The agent's name for display.
    pub fn title(&self) -> &'static str {
        self.host.title()
    }

    /// True if it sets up Codex.
    pub fn is_of_codex(&self) -> bool {
        self.host == Host::Codex
    }

    /// Removes temporary files left by killed runs.
    pub fn sweep(&self) {
        let AgentFiles { settings, script, guidance, servers, .. } = &self.files;
        for path in [settings].into_iter().chain(script).chain(guidance).chain(servers) {
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
        for mut place in self.places() {
            if self.files.instead.is_some() {
                place.parts.retain(|part| *part != Part::Hooks);
            }
            let target = Target::read(&place.path)?;
            let value = place.value(target.text()).map_err(|source| self.content(&target, source))?;
            if place.parts.contains(&Part::Hooks) {
                self.remark_on_settings(&value, &mut plan)?;
            }
            if place.parts.contains(&Part::Server)
                && let Registered::Foreign(command) = self.server.in_file(&value)
            {
                plan.remarks.push(server::foreign(&command));
            }
            if !place.is_strict(target.text()) {
                plan.remarks.push(self.remark_on_comments(&target));
            }
            let text = self.put_in(&place, target.text()).map_err(|source| self.content(&target, source))?;
            plan.changes.extend(self.write(target, text)?);
        }
        plan.remarks
            .extend(self.files.instead.as_deref().map(|path| remark::reads_other_file(self.host.title(), path)));
        if let Some(path) = &self.files.script {
            plan.changes.extend(self.plan_script(path)?);
        }
        if let (Host::Codex, Some(config)) = (self.host, &self.files.servers) {
            let found = hooks::find(&hooks::CLAUDE_AND_CODEX, &self.value(&Target::read(&self.files.settings)?)?);
            let untrusted =
                hooks::events_codex_does_not_run(&codex_config::read(config)?, &self.files.settings, &found);
            plan.remarks.extend((!plan.changes.is_empty() || !untrusted.is_empty()).then(|| {
                "Codex runs no hook that you have not trusted: start `codex` once and accept them where it says that hooks \
                 need review"
                    .to_owned()
            }));
        }
        plan.remarks.extend(self.remarks_on_programs());
        if self.is_registered_by_command() {
            self.plan_registration(&mut plan);
        }
        Ok(plan)
    }

    /// True if the agent's own command registers the server.
    fn is_registered_by_command(&self) -> bool {
        self.setup.servers == Servers::Command && self.files.servers.is_none()
    }

    /// Adds remarks on what Claude Code's settings do to hooks and transcripts. An enabled plugin is an error.
    fn remark_on_settings(&self, value: &Value, plan: &mut Plan) -> Result<(), Error> {
        if self.host != Host::Claude {
            return Ok(());
        }
        let all = self.all_settings(value);
        for (path, settings) in &all {
            if let Some(plugin) = plugin::enabled(settings).into_iter().next() {
                return Err(Error::Plugin(plugin, path.clone()));
            }
            plan.remarks.extend(switched_off(path, settings));
        }
        // User settings apply in a project that does not override them.
        let kept = all.iter().map(|(_, settings)| settings).find(|settings| settings.get(RETENTION).is_some());
        plan.remarks.extend(retention(kept.unwrap_or(value)));
        Ok(())
    }

    fn remark_on_comments(&self, target: &Target) -> String {
        format!(
            "{} has comments or trailing commas, which stay; if {} does not accept the file{}, nothing in it counts",
            target.path.display(),
            self.host.title(),
            if self.host == Host::Claude { " (`/doctor` there says so)" } else { "" }
        )
    }

    /// Plans adding or updating the block in `CLAUDE.md`; `None` if it is up to date.
    pub fn plan_guidance(&self) -> Result<Option<Change>, Error> {
        let Some(path) = self.files.guidance.as_ref().filter(|_| self.host == Host::Claude) else { return Ok(None) };
        let target = Target::read(path)?;
        let text = guidance::put_in(guidance::HANDOFF, target.text());
        self.write(target, text)
    }

    /// True if the agent has a file of instructions for rules.
    pub fn has_rules(&self) -> bool {
        self.host != Host::Claude && self.files.guidance.is_some()
    }

    /// Plans adding or updating the block in the instructions of an agent other than Claude Code.
    pub fn plan_rules(&self) -> Result<Plan, Error> {
        let mut plan = Plan::default();
        let Some(path) = self.files.guidance.as_ref().filter(|_| self.has_rules()) else { return Ok(plan) };
        let target = Target::read(path)?;
        if let Ok(leads_to) = std::fs::read_link(path) {
            let remedy = format!("add this to it by hand:\n{}", guidance::RULES.trim_end());
            return Err(Error::Content { path: path.clone(), source: Unfit(UnfitKind::Link(leads_to)), remedy });
        }
        let is_new = target.text.is_none();
        let text = guidance::put_in(guidance::RULES, target.text());
        plan.changes.extend(self.write(target, text)?);
        plan.remarks.extend(self.setup.guidance.and_then(|file| file.remark(path, is_new)));
        Ok(plan)
    }

    /// Plans the removal of everything Baton has added.
    pub fn plan_removal(&self) -> Result<Plan, Error> {
        let mut plan = Plan::default();
        if self.host == Host::Claude {
            let others = self.other_places.iter().map(|(path, _)| path.clone());
            plan.remarks.extend(plugin::remarks(others.chain(self.files.overriding())));
        }
        for place in self.places() {
            plan.changes.extend(self.plan_undo(&place).map_err(Error::of_removal)?);
        }
        if let Some(path) = &self.files.script {
            plan.changes.extend(self.plan_script_removal(path)?);
        }
        if self.is_registered_by_command() {
            self.plan_deregistration(&mut plan);
        }
        match self.plan_guidance_removal() {
            Ok(change) => plan.changes.extend(change),
            // It may never have had a block.
            Err(Error::Target(why)) => plan.remarks.push(format!("{why}; if it has a block of Baton's, that stays")),
            Err(other) => plan.refused.push(other.of_removal().to_string()),
        }
        Ok(plan)
    }

    /// Plans the removal of the block in the agent's instructions.
    fn plan_guidance_removal(&self) -> Result<Option<Change>, Error> {
        let Some(path) = &self.files.guidance else { return Ok(None) };
        let target = Target::read(path)?;
        if !guidance::is_in(target.text()) {
            return Ok(None);
        }
        self.must_be_ours_to_change(&target)?;
        let text = guidance::take_out(target.text());
        let backups = target.backups();
        let is_known = backups.iter().any(|(_, copy)| *copy == text);
        // True if a copy contains nothing but an older block of ours.
        let is_all_ours = |copy: &str| guidance::is_in(copy) && guidance::take_out(copy).is_empty();
        Ok(Some(Change(match text.is_empty() && backups.iter().all(|(_, copy)| is_all_ours(copy)) {
            true => Kind::Remove { target, folder: None },
            // Backups of a file changed since then are kept.
            false => Kind::Write { target, text, is_undone: is_known },
        })))
    }

    /// The parts to add by hand.
    pub fn printed(&self) -> Printed {
        let files = self.places().into_iter().map(|place| (self.manual_text(&place), place.path));
        let script = self.files.script.as_ref().map(|path| (self.script(), path.clone()));
        let servers = json!({ self.setup.entry.key: { server::NAME: self.server } });
        Printed {
            files: files.chain(script).collect(),
            servers: serde_json::to_string_pretty(&servers).ok().filter(|_| self.host == Host::Claude),
            command: (self.setup.servers == Servers::Command).then(|| self.server.add_line()),
        }
    }

    /// Writes a plugin folder. Returns the files that were written.
    pub fn write_plugin(&self, folder: &Path) -> Result<Vec<PathBuf>, Error> {
        for (path, is_project) in &self.other_places {
            let target = Target::read(path)?;
            if !hooks::find(&hooks::CLAUDE_AND_CODEX, &self.value(&target)?).is_empty() {
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
        if is_ours(self.registered()) {
            return Err(Error::Registered(false));
        }
        Ok(plugin::write(folder, &self.hook_command, &self.server)?)
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
}

/// The parts to add by hand.
pub struct Printed {
    /// The text for each file, with the file.
    pub files: Vec<(String, PathBuf)>,
    /// The server as JSON for `.mcp.json`, if the agent has such files in projects.
    pub servers: Option<String>,
    /// The command that registers the server for a user, if that is not in one of the files.
    pub command: Option<String>,
}
