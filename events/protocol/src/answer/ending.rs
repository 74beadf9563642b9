//! Why a session ended, for people.

use super::Row;

impl Row {
    /// Why the session ended, in a sentence that begins with the reason; `None` if it has not. `shown` writes an RFC 3339
    /// time on the person's clock.
    pub fn ending(&self, shown: impl Fn(&str) -> String) -> Option<String> {
        let end = self.end.as_deref()?;
        let note = self.close_note.as_deref().map(str::trim).filter(|note| !note.is_empty());
        if let Some(note) = note {
            return Some(format!("{note:?}: the reason that was given when it was closed."));
        }
        let sentence = match end {
            "explicit" => "Closed because a person or its agent asked for it, without a reason in words.",
            "hook_clear" => "Ended because its conversation was cleared in the agent.",
            "hook_logout" => "Ended because the person logged out of the agent.",
            "hook_prompt_input_exit" => "Ended because the person left the agent.",
            "hook_resume" => "Ended because another session was resumed in its place.",
            "hook_other" => "Ended because the agent said that it was over.",
            "mcp_disconnect" => "Closed because the agent's connection to Baton closed and nothing came after it.",
            "inactivity_timeout" => {
                let after = self.last_activity.as_deref().map(|at| format!(" after {}", shown(at)));
                let after = after.unwrap_or_default();
                return Some(format!("Closed because nothing was said{after}; no agent reported its end."));
            }
            other => return Some(format!("Ended: {}.", other.replace('_', " "))),
        };
        Some(sentence.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_told_in_a_sentence_with_its_reason_first() {
        let ending = |end: Option<&str>, note: Option<&str>| {
            let (end, close_note) = (end.map(str::to_owned), note.map(str::to_owned));
            let row = Row { end, close_note, last_activity: Some("T".to_owned()), ..Row::default() };
            row.ending(|at| format!("<{at}>"))
        };
        assert_eq!(ending(None, Some("of an earlier close")), None, "it goes on");
        for (end, note, expected) in [
            ("explicit", Some("story done"), "\"story done\": the reason that was given"),
            ("explicit", Some(" "), "Closed because a person"),
            ("inactivity_timeout", None, "Closed because nothing was said after <T>; no agent reported its end."),
            ("hook_new", None, "Ended: hook new."),
        ] {
            let sentence = ending(Some(end), note).unwrap();
            assert!(sentence.starts_with(expected), "{sentence}");
        }
    }
}
