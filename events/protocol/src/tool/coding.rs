//! Tools that answer questions about earlier attempts and their outcomes.

use super::{AGENT, CALLER, Effect, Kind, PROJECT, Tool, argument, renamed};
use crate::method;

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        method: method::FIX,
        name: "fix",
        aliases: &[],
        title: "Fix an error",
        description: "What fixed this error before, and what did not help. Call it when something fails.",
        effect: Effect::Reads,
        listed: true,
        context: CALLER,
        arguments: &[
            argument("error", Kind::Needed, "The error, or the whole output."),
            argument("project", Kind::Text, PROJECT),
        ],
    },
    Tool {
        method: method::HOW,
        name: "how",
        aliases: &[],
        title: "How to run it",
        description: "How a command is really run here: lines with flags, counts, success rate, last failure.",
        effect: Effect::Reads,
        listed: false,
        context: CALLER,
        arguments: &[
            argument("command", Kind::Needed, "A program: cargo test. Or words: run tests."),
            argument("project", Kind::Text, PROJECT),
        ],
    },
    Tool {
        method: method::BLAME,
        name: "blame",
        aliases: &[],
        title: "Blame a file",
        description: "Sessions that changed or read a file or decided about it, newest first.",
        effect: Effect::Reads,
        listed: false,
        context: CALLER,
        arguments: &[
            argument("path", Kind::Needed, "A path, or the end of one."),
            argument("project", Kind::Text, PROJECT),
        ],
    },
    Tool {
        method: method::PATTERNS,
        name: "patterns",
        aliases: &[],
        title: "See recurring patterns",
        description: "Recurring patterns in past sessions: sequences of tools and how they end, commands that mostly \
                      fail, retry loops.",
        effect: Effect::Reads,
        listed: false,
        context: CALLER,
        arguments: &[
            argument("project", Kind::Text, PROJECT),
            AGENT,
            renamed("diagram", &["format"], Kind::Text, "Also draw the sequences: mermaid or dot.").field("format"),
        ],
    },
];
