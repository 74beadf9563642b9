//! What `baton help` prints. Also checks that every command line in the help topics and README is valid.

use clap::Command;

use super::*;
use crate::cli::{command, word_args};
use crate::help::TOPICS;

const README: &str = include_str!("../../../README.md");

#[test]
fn an_unknown_topic_names_near_ones() {
    let command = command();
    let said = unknown("configuraton", &command);
    assert!(said.contains("did you mean `configuration`") && said.ends_with("`baton help` lists all"), "{said}");
    let said = unknown("zzzzzzzzzzzzzzz", &command);
    assert_eq!(said, "there is no topic or command `zzzzzzzzzzzzzzz`; `baton help` lists all");
}

#[test]
fn a_topic_comes_before_a_command_and_a_command_before_a_synonym() {
    let command = command();
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    assert!(of_topic(Topic::named("search").unwrap(), &command).ends_with("`baton search --help`.\n"));
    assert!(!of_topic(Topic::named("agents").unwrap(), &command).contains("Options: `baton"));
    assert!(of_command(&command, &words("log tail")).unwrap().contains("Usage: baton log tail"));
    assert!(of_command(&command, &words("log nothing")).is_none());
}

#[test]
fn shells_complete_topics_and_commands() {
    let command = completed(command());
    let help = command.find_subcommand("help").unwrap();
    let values: Vec<String> = help
        .get_arguments()
        .flat_map(clap::Arg::get_possible_values)
        .map(|value| value.get_name().to_owned())
        .collect();
    for word in ["search", "privacy", "doctor"] {
        assert_eq!(values.iter().filter(|value| *value == word).count(), 1, "{values:?}");
    }
}

/// Every text that shows command lines, with its name.
fn texts() -> Vec<(&'static str, String)> {
    TOPICS.iter().map(|topic| (topic.name, topic.text())).chain([("README.md", README.to_owned())]).collect()
}

/// The calls of `baton` in a shell line, without quotes, comments, pipes and redirections.
fn calls(line: &str) -> Vec<Vec<String>> {
    let mut calls = vec![Vec::new()];
    let (mut word, mut quote, mut in_word) = (String::new(), None, false);
    for c in line.chars().chain(['\n']) {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => (quote, in_word) = (Some(c), true),
            (None, '#') if !in_word => break,
            (None, c) if c.is_whitespace() || c == '|' => {
                let ended = std::mem::take(&mut word);
                if std::mem::take(&mut in_word) {
                    calls.last_mut().unwrap().push(ended);
                }
                if c == '|' {
                    calls.push(Vec::new());
                }
            }
            (_, c) => {
                word.push(c);
                in_word = true;
            }
        }
    }
    let is_call = |words: &Vec<String>| words.first().is_some_and(|word| word == "baton");
    let own = |words: Vec<String>| words.into_iter().take_while(|word| !word.contains('>')).collect();
    calls.into_iter().filter(is_call).map(own).collect()
}

/// True if the command line is valid; placeholders such as `POSITION` may stand for numbers.
fn is_understood(words: &[String]) -> bool {
    let parses = |words: Vec<String>| {
        let words = word_args::options_first(words.iter().map(Into::into).collect());
        command().try_get_matches_from(words).is_ok()
    };
    let is_name = |word: &String| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_uppercase());
    let numbers = words.iter().map(|word| if is_name(word) { "1".to_owned() } else { word.clone() }).collect();
    parses(words.to_vec()) || parses(numbers)
}

/// True if the command and the options that running text names exist.
fn is_there(words: &[String]) -> bool {
    let mut command = command();
    command.build();
    let mut named: &Command = &command;
    let mut words = words.iter().skip(1).skip_while(|word| *word == "--examples").peekable();
    while let Some(sub) = words.peek().and_then(|word| named.find_subcommand(word)) {
        named = sub;
        words.next();
    }
    let is_command = named.get_name() != "baton" || words.peek().is_none_or(|word| *word == "COMMAND");
    let known =
        |option: &str| option == "help" || named.get_arguments().any(|argument| argument.get_long() == Some(option));
    let options = words.filter_map(|word| word.trim_matches(['[', ']']).strip_prefix("--").map(str::to_owned));
    is_command && options.filter(|option| !option.is_empty()).all(|option| known(&option))
}

#[test]
fn every_command_line_in_a_block_is_one_that_the_program_takes() {
    let mut checked = 0;
    for (name, text) in texts() {
        for block in text.split("```").skip(1).step_by(2) {
            let is_session = block.starts_with("console\n");
            let lines = block.lines().skip(1).filter_map(|line| match is_session {
                true => line.strip_prefix("$ "),
                false => block.starts_with("sh\n").then_some(line),
            });
            for call in lines.flat_map(calls) {
                assert!(is_understood(&call), "{name}: {call:?}");
                checked += 1;
            }
        }
    }
    assert!(checked > 50, "{checked}");
}

#[test]
fn every_command_that_a_text_names_is_there() {
    let mut checked = 0;
    for (name, text) in texts() {
        let prose: String = text.split("```").step_by(2).collect();
        for span in prose.split('`').skip(1).step_by(2) {
            for call in calls(&span.replace(['\n', '…'], " ")) {
                assert!(is_there(&call) || is_understood(&call), "{name}: `{span}`");
                if let ["baton", "help", topic] = call.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                    let is_name = topic == "TOPIC" || Topic::named(topic).is_some();
                    assert!(is_name, "{name}: no topic is called {topic}");
                }
                checked += 1;
            }
        }
    }
    assert!(checked > 50, "{checked}");
}

#[test]
fn a_line_of_a_shell_is_taken_apart() {
    let check = |line: &str, expected: &[&[&str]]| assert_eq!(calls(line), expected, "{line}");
    check("baton search '\"lock file\" after:7d'", &[&["baton", "search", "\"lock file\" after:7d"]]);
    check("cargo test 2>&1 | baton fix -  # all", &[&["baton", "fix", "-"]]);
    check("baton completions bash > file", &[&["baton", "completions", "bash"]]);
    check("claude mcp add baton -- baton mcp", &[]);
    assert!(is_understood(&calls("baton log repair --cut-at POSITION")[0]));
    assert!(!is_understood(&calls("baton log repair --cut-of 3")[0]) && !is_there(&calls("baton log --cut-of")[0]));
    assert!(is_there(&calls("baton COMMAND --help")[0]) && !is_there(&calls("baton serch")[0]));
}
