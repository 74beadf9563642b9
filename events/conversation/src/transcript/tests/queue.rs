//! Prompts that were typed while the agent was working.

use super::*;
use crate::hash::Mark;
use crate::messages::message_count;
use crate::queued_prompts::{Withdrawn, without_withdrawn};

/// A story in words: `start` an agent that begins to work, `call` one that continues, `done` one that waits; `+text`
/// added to the queue, `-` and `-text` removed (`remove`), `>` taken by an agent that begins anew (`dequeue`), `^` and
/// `^text` taken back (`popAll`); `user:text` and `attached:text` delivered. In a text `~` is a space and `|` a line
/// break.
fn lines(story: &str) -> Vec<String> {
    let json = |text: &str| serde_json::Value::from(text.replace('~', " ").replace('|', "\n")).to_string();
    let moved = |operation: &str, text: &str| {
        let content = if text.is_empty() { String::new() } else { format!(r#","content":{}"#, json(text)) };
        format!(r#"{{"type":"queue-operation","operation":"{operation}"{content}}}"#)
    };
    let line = |(at, word): (usize, &str)| match word.split_at(1) {
        ("+", text) => moved("enqueue", text),
        ("-", text) => moved("remove", text),
        (">", text) => moved("dequeue", text),
        ("^", text) => moved("popAll", text),
        _ => match word.split_once(':') {
            Some(("user", text)) => user(&json(text)),
            Some(("attached", text)) => {
                let prompt = json(text);
                format!(
                    r#"{{"type":"attachment","uuid":"a","attachment":{{"type":"queued_command","prompt":{prompt},"commandMode":"prompt"}}}}"#
                )
            }
            _ if word == "start" => user(r#""start""#),
            _ if word == "call" => call(&format!("t{at}"), "Bash", r#"{"command":"x"}"#),
            _ if word == "done" => assistant(&format!("m{at}"), r#"{"type":"text","text":"done"}"#),
            _ => panic!("{word}"),
        },
    };
    story.split_whitespace().enumerate().map(line).collect()
}

/// Checks the prompts that stand in the end, each with its line, the lines of those that never reached the agent, and
/// that the counts agree.
fn check(story: &str, stands: &str, never: &[u64]) {
    let (items, cursor, seen) = read(format!("{}\n", lines(story).join("\n")).as_bytes());
    let prompts = without_withdrawn(&items)
        .iter()
        .filter_map(|item| match &item.body {
            Body::Prompt { text } => Some(format!("{}:{}", item.line, text.replace('\n', "|").replace(' ', "~"))),
            _ => None,
        })
        .collect::<Vec<_>>();
    assert_eq!(prompts.join(" "), stands, "{story}");
    let withdrawn = Withdrawn::from_items(&items);
    let lines = items.iter().filter(|item| withdrawn.is_undelivered(item)).map(|item| item.line);
    assert_eq!(lines.collect::<Vec<_>>(), never, "{story}");
    assert_eq!(seen.messages - cursor.overcounted, message_count(&items), "{story}");
    assert_eq!(seen.malformed, 0, "{story}");
}

#[test]
fn what_is_never_delivered_stands_nowhere_and_is_undelivered() {
    // The agent was killed, or its version does not record what leaves the queue.
    check("start +b", "1:start", &[2]);
    check("start +b call done", "1:start", &[2]);
    check("start call +b +c~c done user:d", "1:start 6:d", &[3, 4]);
    check("start +b +<task-notification>x</task-notification>", "1:start", &[2]);
    check("start +b >", "1:start", &[2]);
    // It was taken back.
    check("start +b ^", "1:start", &[2]);
    check("start +b ^b done", "1:start", &[2]);
    check("start +b +c ^b", "1:start", &[2, 3]);
    // The agent was waiting.
    check("+b", "", &[1]);
    check("start done +b", "1:start", &[3]);
    check("start done +b >", "1:start", &[3]);
    check("start done +b -b", "1:start", &[3]);
    check("start done +b +c > user:c", "1:start 6:c", &[3]);
}

#[test]
fn what_a_working_agent_takes_stands_where_it_took_it() {
    check("start +b - call done user:d", "1:start 3:b 6:d", &[]);
    check("start call +b - done", "1:start", &[3]);
    check("start +b +c - call", "1:start 4:b", &[3]);
    check("start +b +c - - call", "1:start 4:b 5:c", &[]);
    check("start +<task-notification>x</task-notification> +b - - call", "1:start 4:b", &[]);
    check("start +/model~a +{} +b - call", "1:start 5:b", &[2, 3]);
    // Another record repeats it, or it had left before.
    check("start +b - call attached:b", "1:start 5:b", &[]);
    check("start +b ^ - call", "1:start", &[2]);
    check("start +b ^b +c - call", "1:start 5:c", &[2]);
    check("start +b done user:c - call", "1:start 4:c", &[2]);
    check("start - call", "1:start", &[]);
}

#[test]
fn what_is_delivered_stands_where_the_agent_got_it() {
    check("start +b > user:b done", "1:start 4:b", &[]);
    check("start +b - attached:b done", "1:start 4:b", &[]);
    check("start +b attached:b - done", "1:start 3:b", &[]);
    check("start +b attached:b -b done", "1:start 3:b", &[]);
    check("start +b +c -b -c attached:b attached:c done", "1:start 6:b 7:c", &[]);
    check("+b > user:b", "3:b", &[]);
    check("start done +b > user:b", "1:start 5:b", &[]);
    check("start done +b user:b +c", "1:start 4:b", &[5]);
    check("> - ^ start", "4:start", &[]);
    // No record says that it left, but it is delivered: alone, with others, as the command that it is.
    check("start +b user:b", "1:start 3:b", &[]);
    check("start +b +c user:b|c|d done", "1:start 4:b|c|d", &[]);
    check("start +b|b +c user:b|b|c user:c", "1:start 4:b|b|c 5:c", &[]);
    check("start +<ide_opened_file>x</ide_opened_file>b user:b", "1:start 3:b", &[]);
    check("start +b +c ^b|c user:b|c|d", "1:start 5:b|c|d", &[]);
    check("start +b +c ^c ^b user:c", "1:start 6:c", &[2]);
}

#[test]
fn a_command_alone_and_news_are_nobody_s_words() {
    check("start +/plan", "1:start", &[]);
    check("start done +/plan > user:<command-name>/plan</command-name>", "1:start", &[]);
    check(
        "start done +/plan~b > user:<command-name>/plan</command-name><command-args>b</command-args>",
        "1:start 5:/plan~b",
        &[],
    );
    check("start done +<task-notification>x</task-notification>", "1:start", &[]);
}

#[test]
fn what_an_earlier_version_held_as_queued_is_withdrawn_when_reading_goes_on() {
    for (story, stands, never) in [("user:b", "2:b", &[][..]), ("- call", "", &[1]), ("+c user:b|c", "3:b|c", &[])] {
        // A standing prompt, as that version emitted it.
        let waiting = Item {
            line: 1,
            at: None,
            uuid: None,
            message: None,
            sidechain: false,
            body: Body::Prompt { text: "b".to_owned() },
        };
        let mut cursor = Cursor { line: 1, ..Cursor::default() };
        cursor.queue.push(cursor::Queued { mark: Mark::digest(b"b"), line: 1 });
        let mut items = vec![waiting];
        let mut later = Vec::new();
        let mut reader = Reader::new(MAIN, cursor, items.iter().collect(), &mut later);
        reader.feed(format!("{}\n", lines(story).join("\n")).as_bytes());
        let (cursor, _) = reader.into_parts();
        items.append(&mut later);
        assert_eq!(cursor.queue.len(), 0, "{story}");
        let prompts = without_withdrawn(&items)
            .iter()
            .filter_map(|item| match &item.body {
                Body::Prompt { text } => Some(format!("{}:{}", item.line, text.replace('\n', "|"))),
                _ => None,
            })
            .collect::<Vec<_>>();
        assert_eq!(prompts.join(" "), stands, "{story}");
        let withdrawn = Withdrawn::from_items(&items);
        let lines = items.iter().filter(|item| withdrawn.is_undelivered(item)).map(|item| item.line);
        assert_eq!(lines.collect::<Vec<_>>(), never, "{story}");
    }
}

#[test]
fn a_queue_is_read_in_pieces_as_at_once() {
    let story = "start +b +c call - attached:b +d > user:c ^d +<task-notification>x</task-notification> +e done user:e";
    let bytes = format!("{}\n", lines(story).join("\n")).into_bytes();
    let (whole, end, all) = read(&bytes);
    for split in 0..=bytes.len() {
        let (mut items, cursor, mut seen) = read_as(MAIN, &bytes[..split]);
        let rest = &bytes[usize::try_from(cursor.offset).unwrap()..];
        let mut later = Vec::new();
        let mut reader = Reader::new(MAIN, cursor, items.iter().collect(), &mut later);
        reader.feed(rest);
        let (cursor, more) = reader.into_parts();
        seen.absorb(&more);
        items.append(&mut later);
        assert_eq!((&items, &cursor, &seen), (&whole, &end, &all), "split at {split}");
    }
}
