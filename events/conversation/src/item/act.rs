//! The kind of work that a tool call does: after the reader, no part of Baton matches a tool by its name.

use baton_protocol::named;

named! {
    /// Kind of work that a tool call does, whatever the agent calls the tool.
    #[derive(Default)]
    Act {
        /// Runs a command line.
        Shell = "shell",
        /// Changes a file.
        Edit = "edit",
        /// Reads a file, or looks after something that runs.
        Read = "read",
        /// Searches files, or the list of tools.
        Search = "search",
        /// Gets something from the web.
        Fetch = "fetch",
        /// Presents a plan, or begins planning.
        Plan = "plan",
        /// Changes the list of tasks.
        Todo = "todo",
        /// Asks the person.
        Ask = "ask",
        /// Starts a subagent.
        Spawn = "spawn",
        /// Calls a tool of an MCP server.
        Mcp = "mcp",
        /// Anything else.
        #[default]
        Other = "other",
    }
}

/// Name of the tool of commands that a person ran in the agent's prompt.
pub const PERSONS_SHELL: &str = "!";

/// Tools of the known agents, by act, with [`PERSONS_SHELL`].
const TOOLS: [(Act, &str); 9] = [
    (Act::Shell, "Bash PowerShell Shell shell bash !"),
    (Act::Edit, "Edit Write MultiEdit NotebookEdit apply_patch"),
    (
        Act::Read,
        "Read NotebookRead BashOutput TaskOutput AgentOutput AgentOutputTool KillShell KillBash view_image write_stdin",
    ),
    (Act::Search, "Grep Glob LS ToolSearch tool_search"),
    (Act::Fetch, "WebSearch WebFetch web_search web_fetch"),
    (Act::Plan, "ExitPlanMode EnterPlanMode"),
    (Act::Todo, "TodoWrite TaskCreate TaskUpdate TaskList TaskGet update_plan"),
    (Act::Ask, "AskUserQuestion request_user_input"),
    (Act::Spawn, "Task Agent spawn_agent"),
];

impl Act {
    /// The act of a known agent's tool.
    pub fn of_tool(name: &str) -> Self {
        if name.starts_with("mcp__") {
            return Self::Mcp;
        }
        TOOLS.iter().find(|(_, names)| names.split(' ').any(|known| known == name)).map_or(Self::Other, |(act, _)| *act)
    }

    /// True if it only looks: finding nothing is no failure of the work.
    pub fn only_looks(self) -> bool {
        matches!(self, Self::Read | Self::Search)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acts_are_read_as_written() {
        for act in Act::ALL {
            assert_eq!(Act::parse(act.as_str()), Some(*act));
        }
        assert_eq!(Act::parse("Shell"), None);
    }

    #[test]
    fn tools_of_known_agents_have_an_act() {
        for (name, expected) in [
            ("Bash", Act::Shell),
            ("apply_patch", Act::Edit),
            ("update_plan", Act::Todo),
            ("mcp__github__create_issue", Act::Mcp),
            ("Skill", Act::Other),
            ("", Act::Other),
        ] {
            assert_eq!(Act::of_tool(name), expected, "{name}");
        }
    }
}
