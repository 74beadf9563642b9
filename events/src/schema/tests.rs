//! Properties of everything that is stored or sent: it reads back as it was written, and no bytes make a decoder panic.

mod strategies;

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::{export, home, item, session, state};
use crate::envelope::{ChainHash, Tail};
use baton_conversation::hash::Mark;
use baton_conversation::record::Position;
use baton_conversation::transcript::Cursor;
use baton_protocol as protocol;
use baton_protocol::{answer, tool};
use strategies::{almost, caller, conversation_item, cursor, event, hash, id, json, row};

fn config() -> ProptestConfig {
    ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() }
}

/// Checks that a frame that was written and read is written the same again.
fn comes_back<T: Serialize + DeserializeOwned>(frame: &T) -> Result<(), TestCaseError> {
    let text = serde_json::to_string(frame).map_err(|error| TestCaseError::fail(error.to_string()))?;
    let back: T = serde_json::from_str(&text).map_err(|error| TestCaseError::fail(format!("{error} in {text}")))?;
    let again = serde_json::to_string(&back).map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert_eq!(text, again);
    Ok(())
}

#[test]
fn every_event_type_is_tried() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut seen = BTreeMap::<&str, u32>::new();
    for _ in 0..2_000 {
        let tree = event().new_tree(&mut runner).unwrap();
        *seen.entry(session::encode(&tree.current()).kind).or_default() += 1;
    }
    assert_eq!(seen.len(), session::KINDS.len(), "{seen:?}");
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_event_survives(event in event()) {
        let encoded = session::encode(&event);
        prop_assert!(!encoded.data.contains('\n'));
        prop_assert_eq!(session::decode(encoded.kind, encoded.v, &encoded.data).unwrap(), event);
    }

    #[test]
    fn any_home_event_survives(config_dir in any::<String>(), named_by in any::<String>()) {
        let event = crate::home::Event::RootAdded(crate::home::NamedRoot { config_dir, named_by });
        let encoded = home::encode(&event);
        prop_assert_eq!(home::decode(encoded.kind, encoded.v, &encoded.data).unwrap(), event);
    }

    #[test]
    fn any_row_survives_and_its_line_tells_it_apart(one in row(), other in row()) {
        let line = state::encode(&one);
        prop_assert!(!line.contains('\n'));
        prop_assert_eq!(line == state::encode(&other), one == other);
        prop_assert_eq!(state::decode(&line), Some(one));
    }

    #[test]
    fn any_cursor_survives(cursor in cursor()) {
        let text = serde_json::to_string(&cursor).unwrap();
        prop_assert_eq!(serde_json::from_str::<Cursor>(&text).unwrap(), cursor);
    }

    #[test]
    fn any_item_survives(items in vec(conversation_item(), 0..4)) {
        let mut lines = Vec::new();
        items.iter().for_each(|item| item::encode(item, &mut lines).unwrap());
        prop_assert_eq!(lines.iter().filter(|byte| **byte == b'\n').count(), items.len());
        prop_assert_eq!(item::decode_all(&lines).collect::<Result<Vec<_>, _>>().unwrap(), items);
    }

    #[test]
    fn any_export_line_survives(
        (numbers, chain) in any::<([u64; 5], [u8; 16])>(),
        session in id(),
        name in hash(),
        (content, text, whole) in (json(), any::<String>(), any::<bool>()),
    ) {
        let content = serde_json::json!({ "content": content }).to_string();
        let raw: &RawValue = serde_json::from_str(&content).unwrap();
        let [position, records, items, bytes, redacted] = numbers;
        let tail = Tail { position: Position(position), chain: ChainHash(chain) };
        let state_version = u32::from(chain[0]);
        let lines = [
            export::Line::Header(export::Header { format: 1, whole, tail }),
            export::Line::Record(export::Record { format: 1, json: &content, chain: tail.chain }),
            export::Line::Manifest { session: session.clone(), id: name, content: raw },
            export::Line::Chunk { session: session.clone(), name, items, bytes },
            export::Line::Item(raw),
            export::Line::Missing { session: session.clone(), id: name },
            export::Line::Note { session: session.clone(), id: name, text },
            export::Line::Forgotten { session: session.clone(), marks: numbers.map(Mark).to_vec(), copy_of: None },
            export::Line::Forgotten { session: session.clone(), marks: Vec::new(), copy_of: Some(session) },
            export::Line::End(export::End { tail, state_hash: name, state_version, records, items, redacted }),
        ];
        for line in lines {
            let written = export::write(&line);
            prop_assert!(!written.contains('\n'));
            let back = export::read(&written).map_err(|error| TestCaseError::fail(format!("{error} in {written}")))?;
            prop_assert_eq!(format!("{back:?}"), format!("{line:?}"));
        }
    }

    #[test]
    fn any_frame_survives(
        (protocol, version, client, dir) in any::<(u32, String, String, Option<String>)>(),
        (works_in, words, pid) in any::<(Vec<String>, Vec<String>, u32)>(),
        (limit, wait, days, text) in any::<(u32, bool, Option<u32>, String)>(),
        caller in caller(),
        params in json(),
    ) {
        let hello = protocol::Hello { protocol, version: version.clone(), client, claude_config_dir: dir.clone(), codex_home: dir.clone(), directories: dir.iter().map(|one| ("pi".to_owned(), one.clone())).collect(), works_in };
        comes_back(&hello)?;
        comes_back(&protocol::Welcome { protocol, version, pid, roots: words.clone(), root_refused: dir.clone(), codex_refused: dir.clone(), refused: dir.iter().map(|one| ("pi".to_owned(), one.clone())).collect(), roots_configured: dir.is_some() })?;
        comes_back(&protocol::Progress { what: text.clone(), done: u64::from(limit), total: u64::from(pid) })?;
        comes_back(&protocol::Failure { code: i64::from(limit) - 40_000, message: text.clone() })?;
        let (project, query) = (dir.clone(), text.clone());
        comes_back(&protocol::SearchParams { query, project, limit, turns: None, wait, stored: wait, caller: caller.clone() })?;
        comes_back(&protocol::SessionsParams { who: dir.clone(), state: dir.clone(), project: dir.clone(), agent: wait.then_some(protocol::Agent::Codex), subagents: wait, since: dir.clone(), until: dir.clone(), ids: words.clone(), limit: days, skip: limit, stored: wait, caller: caller.clone() })?;
        comes_back(&protocol::ShowParams { session: text.clone() })?;
        let (session, reason, command_id) = (dir.clone(), dir.clone(), Some(text.clone()));
        let deadline_ms = u64::from(pid);
        comes_back(&protocol::CloseParams { session, caller: caller.clone(), reason, command_id, deadline_ms })?;
        comes_back(&protocol::UnindexedParams { project: dir.clone(), include_inactive: wait })?;
        comes_back(&protocol::SyncParams { project: dir.clone(), days, max_sessions: days, dry_run: wait })?;
        comes_back(&protocol::TrackingParams { enabled: Some(wait), project: dir.clone(), stores: Some(wait) })?;
        let (session, group) = (dir.clone(), dir.clone());
        comes_back(&protocol::TrackParams { session, group, force: wait, caller: caller.clone() })?;
        comes_back(&protocol::UntrackParams { session: text.clone() })?;
        comes_back(&protocol::ConfigParams { import: dir.clone(), force: wait, dry_run: wait })?;
        let (groups, center, cursor) = (words.clone(), dir.clone(), dir.clone());
        let query = text.clone();
        comes_back(&protocol::NodesParams {
            query, groups, limit, center, labels: words.clone(), wait, cursor, caller: caller.clone(),
        })?;
        let (groups, center, cursor) = (words.clone(), dir.clone(), dir.clone());
        let during = protocol::During { after: dir.clone(), before: None };
        comes_back(&protocol::FactsParams {
            query: text, groups, limit, center, relations: words.clone(), valid: during.clone(), invalid: during, wait,
            cursor, caller: caller.clone(),
        })?;
        let uuids = words.clone();
        comes_back(&protocol::EpisodesParams {
            groups: words, uuids, limit, budget_tokens: limit, wait, cursor: dir, caller,
        })?;

        let call = protocol::Call { jsonrpc: "2.0", id: 7, method: "m", params: &params };
        let line = serde_json::to_string(&call).unwrap();
        let request: protocol::Request<'_> = serde_json::from_str(&line).unwrap();
        prop_assert_eq!((request.jsonrpc.as_str(), request.method.as_str()), ("2.0", "m"));
        prop_assert_eq!(request.id.map(RawValue::get), Some("7"));
        let given: serde_json::Value = serde_json::from_str(request.params.map_or("null", RawValue::get)).unwrap();
        prop_assert_eq!(&given, &params);

        let result = serde_json::value::to_raw_value(&params).unwrap();
        let answer = protocol::Answer { jsonrpc: "2.0", id: request.id, result: Some(result), error: None };
        let incoming: protocol::Incoming = serde_json::from_str(&serde_json::to_string(&answer).unwrap()).unwrap();
        prop_assert_eq!((incoming.id, incoming.error), (Some(7), None));
        let result = incoming.result.map_or_else(|| "null".to_owned(), |raw| raw.get().to_owned());
        prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&result).unwrap(), params);
    }

    #[test]
    fn whatever_fits_a_tool_is_taken_as_it_was_given(which in 0..tool::all().count(), text in "[a-zäö☃]{1,20}", number in 1_u32..100, flag in any::<bool>()) {
        let tool = tool::all().nth(which).unwrap();
        let mut given = serde_json::Map::new();
        for argument in tool.arguments {
            let value = match argument.kind {
                tool::Kind::Needed | tool::Kind::Words | tool::Kind::Long { .. } | tool::Kind::Text => {
                    serde_json::json!(text)
                }
                tool::Kind::Agent => serde_json::json!("codex"),
                tool::Kind::Ignored => serde_json::json!({text.clone(): number}),
                tool::Kind::Texts | tool::Kind::TextsNeeded => serde_json::json!([text, text]),
                tool::Kind::Count { least, most, .. } => serde_json::json!(number.clamp(least, most)),
                tool::Kind::Entries { .. } | tool::Kind::AtMost { .. } => serde_json::json!(number),
                tool::Kind::Flag { .. } => serde_json::json!(flag),
            };
            given.insert(argument.name.to_owned(), value);
        }
        let taken = tool.check(Some(&serde_json::Value::Object(given).to_string())).map_err(TestCaseError::fail)?;
        for argument in tool.arguments {
            let fields = serde_json::json!(taken.fields);
            let field = argument.field.split('.').fold(&fields, |fields, name| &fields[name]).clone();
            let expected = match argument.kind {
                tool::Kind::Needed | tool::Kind::Words | tool::Kind::Long { .. } | tool::Kind::Text => serde_json::json!(text),
                tool::Kind::Agent => serde_json::json!("codex"),
                tool::Kind::Ignored => {
                    prop_assert!(taken.fields["ignored"].as_array().is_some_and(|names| names.contains(&serde_json::json!(argument.name))));
                    continue;
                }
                tool::Kind::Texts | tool::Kind::TextsNeeded => serde_json::json!([text, text]),
                tool::Kind::Count { least, most, .. } => serde_json::json!(number.clamp(least, most)),
                tool::Kind::Entries { .. } | tool::Kind::AtMost { .. } => serde_json::json!(number),
                tool::Kind::Flag { .. } => serde_json::json!(flag),
            };
            prop_assert_eq!(field, expected);
        }
    }

    #[test]
    fn no_bytes_make_a_reader_of_what_is_stored_panic(
        data in almost(event().prop_map(|event| session::encode(&event).data)),
        line in almost(row().prop_map(|row| state::encode(&row))),
        cursor in almost(cursor().prop_map(|cursor| serde_json::to_string(&cursor).unwrap())),
        stored in almost(conversation_item().prop_map(|item| {
            let mut line = Vec::new();
            item::encode(&item, &mut line).unwrap();
            String::from_utf8(line).unwrap()
        })),
        v in 0_u32..3,
    ) {
        let data = String::from_utf8_lossy(&data);
        for kind in session::KINDS {
            // Whatever decodes as an event encodes to something with the same meaning.
            if let Ok(event) = session::decode(kind, v, &data) {
                let again = session::encode(&event);
                prop_assert_eq!(session::decode(again.kind, again.v, &again.data).unwrap(), event);
            }
        }
        let _ = session::decode(&data, v, &data);
        home::KINDS.iter().for_each(|kind| drop(home::decode(kind, v, &data)));
        if let Some(row) = state::decode(&String::from_utf8_lossy(&line)) {
            prop_assert_eq!(state::decode(&state::encode(&row)), Some(row));
        }
        let _ = serde_json::from_slice::<Cursor>(&cursor);
        item::decode_all(&stored).for_each(drop);
        let _ = export::read(&data);
    }

    #[test]
    fn no_bytes_make_a_reader_of_frames_panic(
        frame in almost(json().prop_map(|params| {
            serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "search", "params": params, "result": params}).to_string()
        })),
        params in almost(json().prop_map(|value| value.to_string())),
    ) {
        let _ = serde_json::from_slice::<protocol::Request<'_>>(&frame).map(|request| request.params.map(RawValue::get));
        let _ = serde_json::from_slice::<protocol::Incoming>(&frame);
        let _ = serde_json::from_slice::<protocol::Hello>(&params);
        let _ = serde_json::from_slice::<protocol::Welcome>(&params);
        let _ = serde_json::from_slice::<protocol::SearchParams>(&params);
        let _ = serde_json::from_slice::<protocol::CloseParams>(&params);
        let _ = serde_json::from_slice::<protocol::SyncParams>(&params);
        let _ = serde_json::from_slice::<answer::Search>(&params);
        let _ = serde_json::from_slice::<answer::Status>(&params);
        let text = String::from_utf8_lossy(&params);
        tool::all().for_each(|tool| drop(tool.check(Some(&text))));
        let _ = tool::unknown_tool_message(&text);
    }
}
