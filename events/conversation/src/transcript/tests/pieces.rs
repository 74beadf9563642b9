//! Reading in pieces gives the result of reading at once, for any bytes.

use proptest::prelude::*;

use super::*;
use crate::hash::ContentHash;

/// A transcript with everything that a cursor must carry over a break.
fn eventful() -> Vec<u8> {
    let own = "mcp__baton__search_memory_nodes";
    let mut lines = vec![
        r#"{"type":"custom-title","customTitle":"mine"}"#.to_owned(),
        user(r#""start é 😀""#).replacen(
            '{',
            r#"{"version":"2.0.37","cwd":"/a","gitBranch":"main","sessionId":"s","#,
            1,
        ),
        assistant("m1", r#"{"type":"text","text":"one"}"#),
        call("t1", "Bash", r#"{"command":"cargo test"}"#),
        call("t2", own, r#"{"query":"x"}"#),
        r#"{"type":"queue-operation","operation":"enqueue","content":"b"}"#.to_owned(),
        result("t2", r#""found""#, false),
        result("t1", r#""Exit code 1\nboom""#, true),
        assistant("m1", r#"{"type":"text","text":"two"}"#),
        user(r#""b\nc""#).replacen('{', r#"{"cwd":"/a","gitBranch":"dev","#, 1),
        r#"{"type":"custom-title","customTitle":"mine"}"#.to_owned(),
        "not json".to_owned(),
        String::new(),
        format!("{}{}", user(r#""x""#), user(r#""y""#)),
        r#"{"type":"odd"}"#.to_owned(),
        call("t3", "Edit", r#"{"file_path":"a.rs","old_string":"a","new_string":"b"}"#),
    ];
    lines.push(result("t3", r#""ok""#, false));
    let counted = |output: u32| {
        let text =
            assistant("m9", r#"{"type":"text","text":"x"}"#).replacen('{', r#"{"forkedFrom":{"sessionId":"s-0"},"#, 1);
        text.replacen(r#""content""#, &format!(r#""usage":{{"output_tokens":{output}}},"content""#), 1)
    };
    lines.extend([counted(1), counted(1), counted(9)]);
    lines.push(r#"{"type":"last-prompt","lastPrompt":"b"}"#.to_owned());
    lines.push(result("t4", r#""early""#, false));
    lines.push(call("t4", "Read", r#"{"file_path":"a.rs"}"#));
    lines.push(user(r#"[{"type":"image","source":{"data":"AAAA"}}]"#).replacen('{', r#"{"parentUuid":"p","#, 1));
    lines.join("\n").into_bytes()
}

#[test]
fn reading_in_pieces_equals_reading_at_once() {
    let bytes = eventful();
    let (whole, end, all) = read(&bytes);
    assert!(whole.len() > 12 && end.unterminated);
    for split in 0..=bytes.len() {
        // One reader, fed twice.
        let mut items = Vec::new();
        let mut reader = Reader::new(MAIN, Cursor::default(), OpenCalls::default(), &mut items);
        let fed = reader.feed(&bytes[..split]);
        let fed = fed + reader.feed(&bytes[fed..]);
        reader.finish(&bytes[fed..]);
        assert_eq!(reader.into_parts(), (end.clone(), all.clone()), "fed at {split}");
        assert_eq!(items, whole, "fed at {split}");

        // Two readers, with nothing but the cursor and the stored items between them.
        let (mut items, cursor, mut seen) = read_as(MAIN, &bytes[..split]);
        let mut tail = Vec::new();
        let mut reader = Reader::new(MAIN, cursor.clone(), items.iter().collect(), &mut tail);
        let rest = &bytes[usize::try_from(cursor.offset).unwrap()..];
        let fed = reader.feed(rest);
        reader.finish(&rest[fed..]);
        let (cursor, later) = reader.into_parts();
        seen.absorb(&later);
        items.append(&mut tail);
        assert_eq!((cursor, seen), (end.clone(), all.clone()), "resumed at {split}");
        assert_eq!(ContentHash::digest(&items), ContentHash::digest(&whole), "resumed at {split}");
        assert_eq!(items, whole, "resumed at {split}");
    }
}

#[test]
fn a_cursor_stays_small_whatever_the_transcript_holds() {
    let mut text = user(r#""start""#).replacen('{', r#"{"version":"2.0.37","#, 1);
    for id in 0..1_000 {
        let queued = format!(r#"{{"type":"queue-operation","operation":"enqueue","content":"q {id}"}}"#);
        let own = call(&format!("o{id}"), "mcp__baton__get_episodes", "{}");
        let spoken = assistant(&format!("m{id}"), r#"{"type":"text","text":"x"}"#);
        text = [text, call(&format!("t{id}"), "Read", "{}"), own, spoken, queued].join("\n");
    }
    let (_, cursor, _) = read(format!("{text}\n").as_bytes());
    assert_eq!((cursor.open_calls.len(), cursor.own_calls.len()), (MAX_OPEN_CALLS, MAX_OPEN_CALLS));
    assert_eq!((cursor.recent_messages.len(), cursor.queue.len()), (MAX_RECENT_MESSAGES, 0));
}

/// Invalid bytes that resemble transcripts.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"\n".to_vec()),
        Just(b"{\"type\":\"user\",".to_vec()),
        Just(b"\"message\":{\"content\":".to_vec()),
        Just(b"[{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content\":".to_vec()),
        Just(b"{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"Edit\",\"input\":".to_vec()),
        Just(b"\"<task-notification>".to_vec()),
        Just(b"\"\\ud83d\\u00\"".to_vec()),
        Just(b"\"a\"".to_vec()),
        Just(b",".to_vec()),
        Just(b"}]".to_vec()),
        Just(b"}}".to_vec()),
        Just(b"\0".to_vec()),
        Just(b"\xef\xbb\xbf".to_vec()),
        Just(user("\"x\"").into_bytes()),
        Just(call("t", "Write", "{\"file_path\":\"a\",\"content\":\"b\"}").into_bytes()),
        proptest::collection::vec(any::<u8>(), 0..20),
    ];
    proptest::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_and_every_split_gives_the_same(bytes in hostile(), split in any::<prop::sample::Index>()) {
        // A last line is read if it is whole; only its newline settles that it does not go on.
        let bytes = [bytes.as_slice(), b"\n"].concat();
        let (whole, end, all) = read(&bytes);
        prop_assert!(end.offset <= bytes.len() as u64);
        let split = split.index(bytes.len() + 1);
        let (mut items, cursor, mut seen) = read_as(MAIN, &bytes[..split]);
        let mut tail = Vec::new();
        let mut reader = Reader::new(MAIN, cursor.clone(), items.iter().collect(), &mut tail);
        let rest = &bytes[usize::try_from(cursor.offset).unwrap()..];
        let fed = reader.feed(rest);
        reader.finish(&rest[fed..]);
        let (cursor, later) = reader.into_parts();
        seen.absorb(&later);
        items.append(&mut tail);
        prop_assert_eq!(items, whole);
        prop_assert_eq!(cursor, end);
        prop_assert_eq!(seen, all);
    }
}
