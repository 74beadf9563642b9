//! A person's settings for which parts of a conversation a digest may quote.

use baton_conversation::item::Body;

/// Default maximum length of a tool result's line, in characters.
const MAX_OUTPUT_SUMMARY_CHARS: usize = 200;

/// What a digest shows. The default shows everything. The content hash does not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Show {
    /// What a person typed. Without it: no prompts, no objective beyond the title, no decision or question of theirs.
    pub keep_user_messages: bool,
    /// What the agent said. Without it: no answers, no decision of the agent, no announced step.
    pub keep_agent_responses: bool,
    /// What tools did. Without it: no commands, files, errors, todo items, research or knowledge.
    pub keep_tool_structure: bool,
    /// True if a tool's result is shown as one line of at most
    /// [`max_output_summary_chars`](Self::max_output_summary_chars). Otherwise everything that was kept of it is shown,
    /// which is one line as well.
    pub omit_tool_outputs: bool,
    /// Maximum length of a tool result's line, in characters.
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
    /// Returns true if items of this kind are shown. Notices of the harness count as tool activity.
    pub fn keeps(&self, body: &Body) -> bool {
        match body {
            Body::Prompt { .. } | Body::Answer { .. } => self.keep_user_messages,
            Body::Reply { .. } | Body::Thinking { .. } => self.keep_agent_responses,
            Body::Call(_) | Body::Result(_) | Body::Notice { .. } => self.keep_tool_structure,
            Body::Media { .. } | Body::Summary { .. } | Body::Meta(_) => true,
        }
    }

    /// Returns the maximum number of characters of a tool's result; `all` is the limit without this setting.
    pub fn output_chars(&self, all: usize) -> usize {
        if self.omit_tool_outputs { self.max_output_summary_chars.min(all) } else { all }
    }
}
