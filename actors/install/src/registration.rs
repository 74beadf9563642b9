//! Plans registering the MCP server through `claude`, because running sessions rewrite Claude Code's file.

use std::path::Path;

use super::plan::{Change, Kind, Plan};
use super::server::{self, Registered, Server};
use super::{Installer, foreign_file};

impl Installer {
    /// Plans registering the server through `claude`.
    pub(super) fn plan_registration(&self, plan: &mut Plan) {
        let command = self.server.add_line();
        if let Some(path) = self.registered_here_only() {
            plan.remarks.push(format!(
                "the MCP server is registered for this project only, in {}; for all projects run: {command}",
                path.display()
            ));
            return;
        }
        match (self.registered(), &self.cli) {
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
    }

    pub(super) fn plan_deregistration(&self, plan: &mut Plan) {
        if let Some(path) = self.registered_here_only() {
            plan.remarks.push(format!(
                "the MCP server is registered for this project only, in {}; to remove it, run here: {}",
                path.display(),
                server::command_line(&Server::remove_from_project())
            ));
            return;
        }
        match (self.registered(), &self.cli) {
            (Registered::Foreign(_) | Registered::Nothing, _) => {}
            (_, None) => plan.remarks.push(format!(
                "`{0}` was not found on the path; to remove the MCP server, run this in a shell that has `{0}`: {1}",
                self.host.program(),
                Server::remove_line()
            )),
            (_, Some(cli)) => {
                plan.changes.push(Change(Kind::Unregister { server: self.server.clone(), cli: cli.clone() }));
            }
        }
    }

    /// The file that registers the server for this project only and not for the user. The output of `claude` would not
    /// tell these apart.
    pub(super) fn registered_here_only(&self) -> Option<&Path> {
        let (path, file) = self.registries.iter().find_map(|path| Some((path, foreign_file::json(path)?)))?;
        let is_for_user = self.server.in_file(&file) != Registered::Nothing;
        let is_here = self.server.in_project(&file, &self.directory) != Registered::Nothing;
        (is_here && !is_for_user).then_some(path)
    }

    /// How the server is registered, according to Claude Code's file or else its command. The file is never written
    /// here, because running sessions rewrite it.
    pub(super) fn registered(&self) -> Registered {
        let file = self.registries.iter().find_map(|path| foreign_file::json(path));
        match (file.map_or(Registered::Nothing, |file| self.server.in_file(&file)), &self.cli) {
            // A command that does not answer is reported when it has to do something.
            (Registered::Nothing, Some(cli)) => self.server.query(cli).unwrap_or(Registered::Nothing),
            (registered, _) => registered,
        }
    }
}
