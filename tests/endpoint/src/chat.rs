//! Answers of the chat model.

use serde_json::{Value, json};

use super::{Fault, Request};

/// The body of an answer in which the model says `said`, changed by `fault`.
pub(super) fn answer(request: &Request, said: &str, fault: Option<&Fault>) -> String {
    let asked: Value = serde_json::from_str(&request.body).unwrap_or_default();
    let middle = (0..=said.len() / 2).rev().find(|at| said.is_char_boundary(*at)).unwrap_or_default();
    let (text, finish) = match fault {
        Some(Fault::Says(said)) => (said.clone(), "stop"),
        Some(Fault::Cut) => (said[..middle].to_owned(), "length"),
        Some(Fault::Fenced) => (format!("```json\n{said}\n```"), "stop"),
        _ => (said.to_owned(), "stop"),
    };
    let message = match fault {
        Some(Fault::Declines(why)) => json!({"role": "assistant", "content": null, "refusal": why}),
        _ => json!({"role": "assistant", "content": text, "refusal": null}),
    };
    let choice = json!({"index": 0, "message": message, "finish_reason": finish});
    if fault == Some(&Fault::Bare) {
        return json!({"choices": [{"message": choice["message"]}]}).to_string();
    }
    let (input, output) =
        (request.texts.iter().map(|text| estimated_tokens(text)).sum::<u64>(), estimated_tokens(&text));
    json!({
        "id": "chatcmpl-fake",
        "object": "chat.completion",
        "created": 0,
        "model": asked["model"],
        "choices": [choice],
        "usage": {"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output},
    })
    .to_string()
}

/// The default answer: a short summary of the record in the request, with each statement pointing at a line of it. The
/// same record always gives the same summary.
pub(super) fn default_summary(request: &Request) -> String {
    let lines = numbered_lines(request);
    let by = |who: &str| lines.iter().find(|(_, said)| said.starts_with(who)).or(lines.first());
    let claim = |what: &str, line: Option<&(u64, &str)>| -> Value {
        line.map(|(line, said)| json!({"text": format!("{what} {}", first_words(said)), "line": line}))
            .into_iter()
            .collect()
    };
    let (asked, replied, last) = (by("user:"), by("assistant:"), lines.last());
    let entry = |key: &str, name: &str, line: Option<&(u64, &str)>| -> Value {
        let entry = |(line, said): &(u64, &str)| json!({key: name, "text": format!("made of {}", first_words(said)), "line": line});
        line.map(entry).into_iter().collect()
    };
    let entities = |name: &str, line: u64| json!({"name": name, "type": "Topic", "summary": format!("{name} as the model has it"), "lines": [line]});
    let facts: Vec<Value> = asked
        .map(|(line, _)| {
            json!({
                "source": "synthetic summary", "source_type": "Topic", "relation": "TELLS_OF", "target": "synthetic record",
                "target_type": "Topic", "fact": "the synthetic summary tells of the synthetic record", "lines": [line],
            })
        })
        .into_iter()
        .collect();
    let entities: Vec<Value> = asked.map(|(line, _)| entities("synthetic summary", *line)).into_iter().collect();
    json!({
        "objective": format!("Summarised: {}", asked.map_or_else(String::new, |(_, said)| first_words(said))),
        "work_completed": entry("category", "synthetic", replied),
        "external_research": [],
        "knowledge_stored": [],
        "decisions": claim("decided upon", asked),
        "errors": [],
        "unresolved": claim("left open:", last),
        "next_steps": claim("go on with", last),
        "continuation_context": format!("Continue behind line {}.", last.map_or(0, |(line, _)| *line)),
        "entities": entities,
        "facts": facts,
    })
    .to_string()
}

/// The lines of a record, `12| user: …`, with their numbers; for the merge of parts, one line for each part.
fn numbered_lines(request: &Request) -> Vec<(u64, &str)> {
    let lines = request.texts.iter().skip(1).flat_map(|text| text.lines());
    let numbered = lines.clone().filter_map(|line| {
        let (number, said) = line.split_once("| ")?;
        Some((number.parse().ok()?, said))
    });
    let numbered: Vec<(u64, &str)> = numbered.collect();
    if !numbered.is_empty() {
        return numbered;
    }
    let of_part = |line: &str| {
        let (_, after) = line.split_once("\"line\":")?;
        let digits = after.find(|c: char| !c.is_ascii_digit()).map_or(after, |end| &after[..end]);
        digits.parse().ok()
    };
    lines
        .filter(|line| line.starts_with("part ") || line.starts_with("parts "))
        .filter_map(|line| Some((of_part(line)?, "user: parts")))
        .collect()
}

/// The first words of a turn, without its speaker.
fn first_words(said: &str) -> String {
    let text = said.split_once(": ").map_or(said, |(_, text)| text);
    text.split_whitespace().take(6).collect::<Vec<_>>().join(" ")
}

/// Estimated number of tokens: four ASCII characters are one, any other character is one.
fn estimated_tokens(text: &str) -> u64 {
    let (ascii, other): (Vec<char>, Vec<char>) = text.chars().partition(char::is_ascii);
    (ascii.len() as u64).div_ceil(4) + other.len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_points_at_lines_of_the_record_that_it_is_given() {
        let texts = vec![
            "be brief".to_owned(),
            "<conversation ab>\n3| user: mend the gate\n  | please\n5| assistant: done\n".to_owned(),
        ];
        let said: Value = serde_json::from_str(&default_summary(&Request { texts, ..Request::default() })).unwrap();
        assert_eq!((&said["decisions"][0]["line"], &said["next_steps"][0]["line"]), (&json!(3), &json!(5)));
        assert_eq!(said["objective"], "Summarised: mend the gate");
        let nothing: Value = serde_json::from_str(&default_summary(&Request::default())).unwrap();
        assert_eq!(nothing["decisions"], json!([]));
    }
}
