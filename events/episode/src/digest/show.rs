//! What of a conversation a digest shows: a person's wish, plain data.

use baton_conversation::item::Body;

/// Longest line of a tool's result, in characters, unless told otherwise.
const MAX_OUTPUT_SUMMARY_CHARS: usize = 200;

/// What a digest shows. The default shows everything. The content hash does not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Show {
    /// What a person typed. Without: no prompts, no objective beyond the title, no decision or question of theirs.
    pub keep_user_messages: bool,
    /// What the agent said. Without: no answers, no decision of the agent, no step it announced.
    pub keep_agent_responses: bool,
    /// What tools did. Without: no commands, files, errors, todo items, research or knowledge.
    pub keep_tool_structure: bool,
    /// Whether a tool's result is told by one line of at most [`max_output_summary_chars`](Self::max_output_summary_chars).
    /// Without it is told by all that was kept of it, which is a line as well.
    pub omit_tool_outputs: bool,
    /// Longest line that is told of a tool's result, in characters.
    pub max_output_summary_chars: usize,
}

impl Default for Show {
    fn default() -> Self {
        Self {
            keep_user_messages: true,
            keep_agent_responses: true,
            keep_tool_structure: true,
            omit_tool_outputs: true,
            max_output_summary_chars: MAX_OUTPUT_SUMMARY_CHARS,
        }
    }
}

impl Show {
    /// Whether anything is shown of an item of this kind. What the harness tells is what tools have done.
    pub fn keeps(&self, body: &Body) -> bool {
        match body {
            Body::Prompt { .. } | Body::Answer { .. } => self.keep_user_messages,
            Body::Reply { .. } | Body::Thinking { .. } => self.keep_agent_responses,
            Body::Call(_) | Body::Result(_) | Body::Notice { .. } => self.keep_tool_structure,
            Body::Media { .. } | Body::Summary { .. } | Body::Meta(_) => true,
        }
    }

    /// Most characters that are told of a tool's result; `all` where nothing is to be left out.
    pub fn output_chars(&self, all: usize) -> usize {
        if self.omit_tool_outputs { self.max_output_summary_chars.min(all) } else { all }
    }
}
