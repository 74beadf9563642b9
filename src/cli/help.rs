//! `baton help`: long help on a topic, the help of a command, or the list of both.

use std::process::ExitCode;

use clap::Command;
use clap::builder::PossibleValuesParser;
use serde_json::json;

use super::{Error, overview};
use crate::help::{self, TOPICS, Topic};
use crate::print::{self, Output, Style};

const HELP: &str = "\
Without a topic it lists commands and topics. If a topic and a command have the same name, the topic is printed; \
`baton COMMAND --help` prints the command's options. On a terminal long texts are shown with $PAGER, or with `less -FRX` \
if there is one.

JSON: {\"topics\":[{\"topic\",\"about\"}]}, with a topic {\"topic\",\"text\"}.

Examples:
  baton help                 commands and topics
  baton help agents          whose transcripts are read, and how to connect an agent
  baton help configuration   every key of config.json
  baton help log tail        the options of a command";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// A topic, or a command with its subcommand
    topic: Vec<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<ExitCode, Error> {
    let output = Output::new();
    if args.topic.is_empty() {
        match args.json {
            true => {
                let topics = TOPICS.iter().map(|topic| json!({ "topic": topic.name, "about": topic.about() }));
                output.data(&json!({ "topics": topics.collect::<Vec<_>>() }).to_string());
            }
            false => print::paged(&listing(&output)),
        }
        return Ok(ExitCode::SUCCESS);
    }
    let name = args.topic.join(" ");
    let command = super::command();
    let text = match Topic::named(&name) {
        Some(topic) => of_topic(topic, &command),
        None => match (of_command(&command, &args.topic), Topic::find(&name)) {
            (Some(help), _) => help,
            (None, Some(topic)) => of_topic(topic, &command),
            (None, None) => return Err(Error::Usage(unknown(&name, &command))),
        },
    };
    match args.json {
        true => output.data(&json!({ "topic": name, "text": text }).to_string()),
        false => print::paged(&text),
    }
    Ok(ExitCode::SUCCESS)
}

/// Adds topics and commands as completions of `baton help`.
pub(super) fn completed(command: Command) -> Command {
    let topics = TOPICS.iter().map(|topic| topic.name).filter(|name| !overview::commands().any(|known| known == *name));
    let words: Vec<&str> = topics.chain(overview::commands()).collect();
    command.mut_subcommand("help", |help| {
        help.mut_arg("topic", |topic| topic.value_parser(PossibleValuesParser::new(words)))
    })
}

/// The usual help, followed by one line per topic.
fn listing(output: &Output) -> String {
    let help = super::command().render_long_help().to_string();
    let width = TOPICS.iter().map(|topic| topic.name.len()).max().unwrap_or(0);
    let line = |topic: &Topic| format!("  {:width$}  {}\n", topic.name, topic.about());
    let topics: String = TOPICS.iter().map(line).collect();
    let head = output.styled(Style::Strong, "Topics:");
    format!("{}\n\n{head}\n{topics}\n`baton help TOPIC` prints a topic.\n", help.trim_end())
}

/// A topic's text, with a pointer to the options of the command with the same name.
fn of_topic(topic: &Topic, command: &Command) -> String {
    let text = topic.text();
    let is_command = command.get_subcommands().any(|sub| sub.get_name() == topic.name);
    let more = if is_command { format!("\nOptions: `baton {} --help`.\n", topic.name) } else { String::new() };
    text + &more
}

/// The `--help` text of the command named by `words`.
fn of_command(command: &Command, words: &[String]) -> Option<String> {
    words.iter().try_fold(command, |command, word| command.find_subcommand(word))?;
    let mut command = command.clone();
    let line = ["baton"].into_iter().chain(words.iter().map(String::as_str)).chain(["--help"]);
    if let Err(help) = command.try_get_matches_from_mut(line) {
        return Some(help.render().to_string());
    }
    // A command that passes on all its arguments has no `--help` of its own.
    let named = words.iter().try_fold(&mut command, |command, word| command.find_subcommand_mut(word))?;
    Some(named.render_long_help().to_string())
}

fn unknown(name: &str, command: &Command) -> String {
    let topics = help::names().map(|name: &str| name);
    let mut names: Vec<&str> = topics.chain(command.get_subcommands().map(Command::get_name)).collect();
    let near: Vec<String> = (0..3)
        .map_while(|_| {
            let near = baton_protocol::tool::nearest(name, names.iter().copied())?;
            names.retain(|name| *name != near);
            Some(format!("`{near}`"))
        })
        .collect();
    let meant = if near.is_empty() { String::new() } else { format!(" did you mean {}?", near.join(", ")) };
    format!("there is no topic or command `{}`;{meant} `baton help` lists all", print::one_line(name, 80))
}

#[cfg(test)]
mod tests;
