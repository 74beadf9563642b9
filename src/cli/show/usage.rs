//! The tokens and cost of a session's models, in a few lines.

use baton_protocol::answer::{Tokens, Usage};

use crate::print;

/// Returns named lines; none if the transcript reports no tokens.
pub(super) fn lines(usage: &Usage) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    for model in &usage.models {
        lines.push(("model", format!("{}: {}", model.model, tokens_text(&model.tokens))));
    }
    if usage.models.len() > 1 {
        lines.push(("in all", tokens_text(&usage.total)));
    }
    if usage.copied.messages > 0 {
        lines.push(("copied", format!("{} of that, counted in the session it continues", tokens_text(&usage.copied))));
    }
    let subagents = &usage.subagents;
    if subagents.total.messages > 0 {
        let sessions = print::counted(subagents.sessions, "subagent");
        lines.push(("beside", format!("{} by {sessions}", tokens_text(&subagents.total))));
    }
    lines
}

/// `12 messages, 3400 in, 900 out, 120000 read from cache, 4000 written to it, about $0.12`.
fn tokens_text(tokens: &Tokens) -> String {
    let more = if tokens.output_is_lower_bound { "at least " } else { "" };
    let mut parts = vec![
        print::counted(tokens.messages, "message"),
        format!("{} in", tokens.input_tokens),
        format!("{more}{} out", tokens.output_tokens),
    ];
    if tokens.cache_read_input_tokens > 0 {
        parts.push(format!("{} read from the cache", tokens.cache_read_input_tokens));
    }
    if tokens.cache_creation_input_tokens > 0 {
        parts.push(format!("{} written to it", tokens.cache_creation_input_tokens));
    }
    parts.push(match tokens.cost_usd {
        Some(usd) => format!("about ${usd:.2}"),
        None => "no price known (llm.prices)".to_owned(),
    });
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use baton_protocol::answer::ModelUsage;

    use super::*;

    #[test]
    fn tokens_are_shown_with_or_without_a_price() {
        let tokens = |messages, cost_usd| Tokens { messages, output_tokens: 9, cost_usd, ..Tokens::default() };
        let model = |name: &str, tokens| ModelUsage { model: name.into(), tokens };
        assert_eq!(lines(&Usage::default()), []);
        let mut usage = Usage { models: vec![model("opus", tokens(1, Some(0.126)))], ..Usage::default() };
        assert_eq!(lines(&usage), [("model", "opus: 1 message, 0 in, 9 out, about $0.13".to_owned())]);
        usage.models.push(model("own", Tokens { output_is_lower_bound: true, ..tokens(2, None) }));
        usage.total = Tokens { cache_read_input_tokens: 5, cache_creation_input_tokens: 6, ..tokens(3, Some(0.1)) };
        let told = lines(&usage);
        assert_eq!(told[1].1, "own: 2 messages, 0 in, at least 9 out, no price known (llm.prices)");
        assert_eq!(told[2].1, "3 messages, 0 in, 9 out, 5 read from the cache, 6 written to it, about $0.10");
    }
}
