//! Tools that answer what agents ask of a memory of coding: what was tried, and how it went.

use super::{Effect, Kind, PROJECT, Tool, Which, argument, renamed};

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        which: Which::Fix,
        name: "fix",
        aliases: &[],
        title: "Find what made an error go away",
        description: "What made this error go away in past sessions, and what was tried in vain. Call it when something \
                      fails, before you try.",
        effect: Effect::Reads,
        listed: true,
        arguments: &[
            argument("error", Kind::Needed, "The error, or the whole output."),
            argument("project", Kind::Text, PROJECT),
        ],
    },
    Tool {
        which: Which::How,
        name: "how",
        aliases: &[],
        title: "See how a command is run here",
        description: "How a command is really run here: the lines with their flags, how often, how often they succeed, \
                      the last failure.",
        effect: Effect::Reads,
        listed: true,
        arguments: &[
            argument("command", Kind::Needed, "A program, with or without a subcommand: cargo test."),
            argument("project", Kind::Text, PROJECT),
        ],
    },
    Tool {
        which: Which::Blame,
        name: "blame",
        aliases: &[],
        title: "Find the sessions behind a file",
        description: "Which sessions changed a file, read it or decided about it, newest first. Call it before you change \
                      what you do not understand.",
        effect: Effect::Reads,
        listed: true,
        arguments: &[
            argument("path", Kind::Needed, "A path, or the end of one."),
            argument("project", Kind::Text, PROJECT),
        ],
    },
    Tool {
        which: Which::Patterns,
        name: "patterns",
        aliases: &[],
        title: "See what is done again and again",
        description: "What past sessions do again and again: sequences of tools with how they end, commands that mostly \
                      fail, retry loops.",
        effect: Effect::Reads,
        listed: false,
        arguments: &[
            argument("project", Kind::Text, PROJECT),
            renamed("diagram", &["format"], Kind::Text, "Draw the sequences, too: mermaid or dot."),
        ],
    },
];
