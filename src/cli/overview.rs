//! The parts that all help texts share: groups of commands, and the ending of each text.

use clap::builder::StyledStr;
use clap::{Arg, ArgAction, ColorChoice, Command};

use super::EXAMPLES;

/// Commands in the order in which they are shown. A command in no group is shown last.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Use",
        &[
            "browse", "search", "recall", "blame", "fix", "how", "patterns", "show", "resume", "close", "handoff",
            "mcp", "hook",
        ],
    ),
    (
        "Look",
        &[
            "today",
            "ui",
            "timeline",
            "project",
            "graph",
            "sessions",
            "explain",
            "unindexed",
            "costs",
            "status",
            "doctor",
            "hook-stats",
            "logs",
            "help",
        ],
    ),
    ("Configure", &["install", "uninstall", "service", "config", "session-tracking", "relay", "completions"]),
    (
        "Maintain",
        &[
            "sync", "enrich", "vault", "correct", "forget", "keep", "reindex", "backup", "log", "replay", "daemon",
            "stop", "update", "bench",
        ],
    ),
];

const TOP: &str = "\
{about-with-newline}
{usage-heading} {usage}
";

const EXIT: &str = "\
Exit codes: 0 done, 1 failed (standard error says why and what to do), 2 not understood";

const JSON: &str = "\
With --json one object goes to standard output, an error to standard error as {\"error\":{\"code\",\"message\"}}.";

const ENVIRONMENT: &str = "\
Environment: BATON_HOME (Baton's files), CLAUDE_CONFIG_DIR and CODEX_HOME (transcripts), NO_COLOR; see `baton --help`";

/// Commands that refuse `--examples`: they set up the machine, manage daemons, or need no home.
pub(super) const WITHOUT_EXAMPLES: &[&str] =
    &["help", "completions", "replay", "hook", "install", "uninstall", "doctor", "service", "daemon", "stop", "bench"];

/// The names of all commands.
pub(super) fn commands() -> impl Iterator<Item = &'static str> {
    GROUPS.iter().flat_map(|(_, names)| names.iter().copied())
}

/// Adds the groups and the endings to all help texts.
pub(super) fn complete(command: Command) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    let command = names.iter().fold(command, |command, name| command.mut_subcommand(name, with_end));
    let command = WITHOUT_EXAMPLES.iter().fold(command, |command, name| command.mut_subcommand(name, without_examples));
    let template = template(&command);
    command.help_template(template).color(ColorChoice::Auto)
}

/// Hides `--examples` in the help of a command and of its subcommands.
fn without_examples(command: Command) -> Command {
    // Defined here, it is not inherited from the program.
    let hidden = Arg::new(EXAMPLES).long(EXAMPLES).action(ArgAction::SetTrue).global(true).hide(true);
    command.arg(hidden)
}

/// Appends the common ending to the help of a command and of its subcommands.
fn with_end(command: Command) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    let is_leaf = names.is_empty();
    let command = names.iter().fold(command, |command, name| command.mut_subcommand(name, with_end));
    if !is_leaf {
        return command;
    }
    let own = command.get_after_long_help().or_else(|| command.get_after_help()).map(StyledStr::to_string);
    let has_json = command.get_arguments().any(|argument| argument.get_id() == "json");
    let parts: Vec<String> =
        own.into_iter().chain([EXIT.to_owned()]).chain(has_json.then(|| JSON.to_owned())).collect();
    command.after_long_help(format!("{}\n{ENVIRONMENT}", parts.join("\n\n")))
}

fn template(command: &Command) -> StyledStr {
    let header = command.get_styles().get_header();
    let (start, end) = (header.render(), header.render_reset());
    let width = command.get_subcommands().map(|sub| sub.get_name().len()).max().unwrap_or(0);
    let mut text = TOP.to_owned();
    let mut add = |group: &str, commands: &[&Command]| {
        if commands.is_empty() {
            return;
        }
        text.push_str(&format!("\n{start}{group}:{end}\n"));
        for command in commands {
            let about = command.get_about().map(StyledStr::to_string).unwrap_or_default();
            text.push_str(&format!("  {:width$}  {about}\n", command.get_name()));
        }
    };
    let shown = || command.get_subcommands().filter(|sub| !sub.is_hide_set());
    for (group, names) in GROUPS {
        let of_group: Vec<&Command> =
            names.iter().filter_map(|name| shown().find(|sub| sub.get_name() == *name)).collect();
        add(group, &of_group);
    }
    let others: Vec<&Command> = shown().filter(|sub| group_of(sub.get_name()).is_none()).collect();
    add("More", &others);
    text.push_str(&format!("\n{start}Options:{end}\n{{options}}{{after-help}}"));
    text.into()
}

fn group_of(name: &str) -> Option<&'static str> {
    GROUPS.iter().find(|(_, names)| names.contains(&name)).map(|(group, _)| *group)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command;

    fn leaves<'a>(command: &'a Command, path: &str, found: &mut Vec<(String, &'a Command)>) {
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            let path = format!("{path} {}", sub.get_name());
            match sub.has_subcommands() {
                true => leaves(sub, &path, found),
                false => found.push((path, sub)),
            }
        }
    }

    #[test]
    fn every_command_stands_in_a_group_and_says_what_it_is_for() {
        let command = command();
        let mut shown: Vec<&Command> = command.get_subcommands().collect();
        shown.retain(|sub| !sub.is_hide_set());
        assert!(shown.len() >= 10);
        for sub in shown {
            assert!(group_of(sub.get_name()).is_some(), "`{}` stands in no group of GROUPS", sub.get_name());
            let about = sub.get_about().map(StyledStr::to_string).unwrap_or_default();
            assert!((10..=90).contains(&about.len()), "`{}`: {about:?}", sub.get_name());
        }
        command.debug_assert();
    }

    #[test]
    fn the_help_of_every_command_tells_how_it_ends() {
        let command = command();
        let mut found = Vec::new();
        leaves(&command, "", &mut found);
        assert!(found.len() >= 10);
        for (path, mut sub) in found.into_iter().map(|(path, sub)| (path, sub.clone())) {
            let help = sub.render_long_help().to_string();
            assert!(help.contains("Exit codes: 0 done") && help.contains("BATON_HOME"), "{path}: {help}");
            let has_json = sub.get_arguments().any(|argument| argument.get_id() == "json");
            assert_eq!(help.contains("{\"error\":"), has_json, "{path}: {help}");
        }
    }

    #[test]
    fn every_option_is_described_and_every_command_has_an_example() {
        let mut command = command();
        command.build();
        let mut found = Vec::new();
        leaves(&command, "", &mut found);
        for (path, sub) in found {
            for argument in sub.get_arguments().filter(|argument| !argument.is_hide_set()) {
                assert!(argument.get_help().is_some(), "{path}: {}", argument.get_id());
                for value in argument.get_possible_values() {
                    let is_word = ["bash", "active", "search"]
                        .iter()
                        .any(|word| argument.get_possible_values()[0].matches(word, true));
                    assert!(
                        value.get_help().is_some() || is_word,
                        "{path}: {} {}",
                        argument.get_id(),
                        value.get_name()
                    );
                }
            }
            let help = sub.clone().render_long_help().to_string();
            assert!(help.contains("Examples:\n"), "{path}: {help}");
        }
    }

    #[test]
    fn examples_are_offered_only_where_they_are_accepted() {
        let mut command = command();
        command.build();
        let mut found = Vec::new();
        leaves(&command, "", &mut found);
        for (path, sub) in found {
            let name = path.split_whitespace().next().unwrap();
            let help = sub.clone().render_long_help().to_string();
            assert_eq!(help.contains("--examples\n"), !WITHOUT_EXAMPLES.contains(&name), "{path}: {help}");
        }
    }
}
