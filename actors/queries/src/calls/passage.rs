//! `passage`: the surroundings of a line of a session within a token budget, for an agent without a shell to open the
//! file.

use baton_views::visibility;

use baton_conversation::record::SessionId;
use baton_conversation::tokens;
use baton_events::projection::table::Row;
use baton_protocol::{MessagesParams, PassageParams, answer, code};

use super::{QueryError, messages};
use crate::client::failure;
use crate::resolve;
use crate::resolve::SessionResolver;
use baton_views::catalog::Catalog;

/// Tokens for the notice and the fields of every answer.
const AROUND_TOKENS: u64 = 120;
/// Longest input and longest result of a tool, in characters each.
const TOOL_CHARS: usize = 1_500;
/// Parameters that state the purpose of a tool call.
const PURPOSE_PARAMETERS: [&str; 9] =
    ["command", "file_path", "notebook_path", "path", "pattern", "query", "url", "prompt", "description"];

pub(crate) async fn passage(
    asked: PassageParams,
    resolver: SessionResolver<'_>,
) -> Result<answer::Passage, QueryError> {
    let session = named(resolver.catalog(), &asked.session);
    let place = MessagesParams {
        session: session.as_ref().map_or_else(|| asked.session.clone(), SessionId::to_string),
        around: Some(u64::from(asked.line)),
        context: asked.context,
        ..MessagesParams::default()
    };
    let found = messages::messages(&place, resolver).await?;
    let (table, settings) = resolver.catalog().including_others();
    if visibility::is_hidden(&table, &settings, &[], &found.session_id) {
        let row = SessionId::new(&found.session_id).and_then(|id| table.get(&id).cloned());
        let is_deleted = row.is_some_and(|row| table.is_deleted(&row));
        let why = if is_deleted { "was deleted or cleared" } else { "is forgotten, or of a project that is excluded" };
        return Err(failure(code::NOT_FOUND, format!("session {} {why}", found.session_id)).into());
    }
    Ok(fit_to_budget(found, u64::from(asked.line), u64::from(asked.budget_tokens)))
}

/// The session whose current episode has this uuid.
fn named(catalog: &Catalog, text: &str) -> Option<SessionId> {
    let uuid: uuid::Uuid = text.parse().ok()?;
    let (table, _) = catalog.including_others();
    if resolve::known_session(&table, text).is_some() {
        return None;
    }
    let of_it = |row: &Row| row.state.episode.as_ref().is_some_and(|it| it.uuid == uuid);
    table.iter().find(|(_, row)| of_it(row)).map(|(id, _)| id.clone())
}

/// The part at a line with as many parts on either side as fit, the nearest first. The first one is cut if it does not
/// fit.
fn fit_to_budget(found: answer::Messages, line: u64, budget: u64) -> answer::Passage {
    let parts: Vec<answer::PassagePart> = found.messages.iter().flat_map(parts_of).collect();
    let mut left = budget.saturating_sub(AROUND_TOKENS);
    let mut passage = answer::Passage {
        session_id: found.session_id,
        episode_uuid: found.episode_uuid,
        note: found.note,
        tokens: AROUND_TOKENS,
        ..answer::Passage::default()
    };
    let focus = parts.iter().rposition(|part| part.line <= line).unwrap_or(0);
    let Some(first) = parts.get(focus) else { return passage };
    let first = cut(first.clone(), left);
    let mut take = |part: &answer::PassagePart| {
        let cost = tokens_of(part);
        let fits = cost <= left;
        if fits {
            left -= cost;
            passage.tokens += cost;
        }
        fits
    };
    take(&first);
    let (mut start, mut end) = (focus, focus + 1);
    let (mut back, mut on) = (true, true);
    while back || on {
        // The following part comes before the preceding one, because it shows the result.
        on = on && parts.get(end).is_some_and(&mut take);
        end += usize::from(on);
        back = back && start.checked_sub(1).and_then(|before| parts.get(before)).is_some_and(&mut take);
        start -= usize::from(back);
    }
    passage.before = start.checked_sub(1).and_then(|before| parts.get(before)).map(|part| part.line).or(found.before);
    passage.next = parts.get(end).map(|part| part.line).or(found.next);
    passage.said = parts.into_iter().take(end).skip(start).collect();
    if let Some(part) = passage.said.get_mut(focus - start) {
        *part = first;
    }
    passage
}

/// Cuts a part at its end until it fits.
fn cut(mut part: answer::PassagePart, budget: u64) -> answer::PassagePart {
    let mut most = part.text.chars().count();
    let whole = part.text.clone();
    while tokens_of(&part) > budget && most > 0 {
        most /= 2;
        let end = whole.char_indices().nth(most).map_or(whole.len(), |(at, _)| at);
        part.text.clear();
        part.text.push_str(&whole[..end]);
        part.text.push('…');
        let before = part.chars_left_out.unwrap_or_default();
        part.chars_left_out = Some(before.max(whole[end..].chars().count() as u64));
    }
    part
}

/// Converts the parts of a message.
fn parts_of(message: &answer::Message) -> Vec<answer::PassagePart> {
    let to_part = |part: &answer::MessagePart| {
        let role = match (part.kind.as_str(), &part.tool) {
            (_, Some(_)) => "tool",
            ("thinking", _) => "thinking",
            _ => message.role.as_str(),
        };
        let text = part.tool.as_ref().map(tool_text).or_else(|| part.text.clone()).unwrap_or_default();
        answer::PassagePart {
            line: part.line,
            role: role.to_owned(),
            at: message.at.clone(),
            text,
            chars_left_out: part.chars_left_out,
        }
    };
    message.parts.iter().map(to_part).filter(|said| !said.text.trim().is_empty()).collect()
}

/// `Bash cargo test -> failed, exit 101: error[E0382] …`.
fn tool_text(tool: &answer::ToolUse) -> String {
    let given = PURPOSE_PARAMETERS.iter().find_map(|name| tool.input.get(*name)).and_then(serde_json::Value::as_str);
    let given = match given {
        Some(given) => given.to_owned(),
        None if tool.input.is_empty() => String::new(),
        None => serde_json::to_string(&tool.input).unwrap_or_default(),
    };
    let head = format!("{} {given}", tool.name).trim_end().to_owned();
    let mut text = bounded(&head);
    text.push_str(" -> ");
    text.push_str(tool.outcome.as_deref().unwrap_or("no result"));
    if let Some(code) = tool.exit_code.filter(|code| *code != 0) {
        text.push_str(&format!(", exit {code}"));
    }
    // A result often begins with the command itself.
    let result = tool.result.as_deref().map(|result| result.strip_prefix(&head).unwrap_or(result));
    let result = result.map(|result| result.trim_start_matches([':', ' ']));
    if let Some(result) = result.filter(|result| !result.is_empty()) {
        text.push_str(": ");
        text.push_str(&bounded(result));
    }
    text
}

fn bounded(text: &str) -> String {
    match text.char_indices().nth(TOOL_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn tokens_of(said: &answer::PassagePart) -> u64 {
    serde_json::to_string(said).map_or(u64::MAX, |json| tokens::of_text(&json)) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(lines: &[(u64, usize)]) -> answer::Messages {
        let message = |(line, chars): &(u64, usize)| answer::Message {
            role: "user".to_owned(),
            line: *line,
            parts: vec![answer::MessagePart { line: *line, text: Some("x ".repeat(*chars / 2)), ..Default::default() }],
            ..Default::default()
        };
        answer::Messages {
            messages: lines.iter().map(message).collect(),
            before: Some(1),
            next: Some(99),
            ..Default::default()
        }
    }

    #[test]
    fn the_nearest_parts_are_told_as_far_as_the_budget_goes() {
        let five: Vec<(u64, usize)> = [2, 4, 6, 8, 10].map(|line| (line, 800)).to_vec();
        for (lines, line, budget, expected, before, next) in [
            (five.as_slice(), 6, 5_000, "2 4 >6 8 10", Some(1), Some(99)),
            (&five, 7, 700, ">6 8", Some(4), Some(10)),
            (&five, 6, 950, "4 >6 8", Some(2), Some(10)),
            (&five, 1, 700, ">2 4", Some(1), Some(6)),
            (&five, 50, 700, "8 >10", Some(6), Some(99)),
            (&[(2, 40_000), (4, 10)], 2, 700, ">2… 4", Some(1), Some(99)),
            (&[], 3, 700, "", None, None),
        ] {
            let text = fit_to_budget(messages(lines), line, budget);
            let focus = lines.iter().rposition(|(at, _)| *at <= line).map_or(2, |at| lines[at].0);
            let said: Vec<String> = text
                .said
                .iter()
                .map(|part| {
                    let cut = if part.chars_left_out.is_some() { "…" } else { "" };
                    format!("{}{}{cut}", if part.line == focus { ">" } else { "" }, part.line)
                })
                .collect();
            assert_eq!((said.join(" ").as_str(), text.before, text.next), (expected, before, next), "{line} {budget}");
            assert!(text.tokens <= budget, "{} of {budget}", text.tokens);
        }
    }

    #[test]
    fn a_tool_is_told_with_what_came_of_it() {
        let input = [("command".to_owned(), "cargo test".into()), ("timeout".to_owned(), 5.into())].into();
        let ran = answer::ToolUse {
            name: "Bash".to_owned(),
            input,
            outcome: Some("failed".to_owned()),
            exit_code: Some(101),
            result: Some("Bash cargo test: error[E0382]".to_owned()),
            ..Default::default()
        };
        assert_eq!(tool_text(&ran), "Bash cargo test -> failed, exit 101: error[E0382]");
        assert_eq!(tool_text(&answer::ToolUse { name: "X".to_owned(), ..Default::default() }), "X -> no result");
        let long = answer::ToolUse { result: Some("y".repeat(9_000)), ..ran };
        assert!(tool_text(&long).chars().count() < 2 * TOOL_CHARS);
    }
}
