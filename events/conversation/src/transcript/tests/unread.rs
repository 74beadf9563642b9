//! Lines on which the reader itself panics.

use super::*;
use crate::hash::ContentHash;

#[test]
fn a_line_over_which_the_reader_stumbles_is_left_out_alone() {
    let bad = r#"{"type":"baton:stumble","uuid":"x"}"#;
    let lines = [
        user(r#""mend the crane""#),
        call("t1", "Bash", r#"{"command":"make"}"#),
        bad.to_owned(),
        bad.replace("\"uuid\"", "\"subtype\":\"text\",\"uuid\""),
        result("t1", r#""ok""#, false),
        assistant("m2", r#"{"type":"text","text":"It is mended."}"#),
    ];
    let bytes = format!("{}\n", lines.join("\n")).into_bytes();
    let (items, cursor, seen) = read_as(MAIN, &bytes);
    let unread: Vec<u64> = items.iter().filter(|item| is_unread(item)).map(|item| item.line).collect();
    assert_eq!(unread, [3, 4]);
    let whole = [&lines[0], &lines[1], &lines[4], &lines[5]].map(String::as_str).join("\n") + "\n";
    let (others, _, good) = read_as(MAIN, whole.as_bytes());
    let said = |items: &[Item]| {
        items.iter().filter(|item| !is_unread(item)).map(|item| format!("{:?}", item.body)).collect::<Vec<_>>()
    };
    assert_eq!(said(&items), said(&others));
    assert_eq!(ContentHash::digest(&items), ContentHash::digest(&others));
    assert_eq!((seen.messages, seen.lines, seen.unknown["unread"]), (good.messages, 6, 2));
    assert_eq!((cursor.line, cursor.offset, cursor.calls_in_flight()), (6, bytes.len() as u64, 0));
    // Nothing is left of such a line: neither items nor what was remembered.
    for at in 1..lines.len() {
        let border = lines[..at].iter().map(|line| line.len() + 1).sum::<usize>();
        let (mut pieces, middle, _) = read_as(MAIN, &bytes[..border]);
        let open = pieces.iter().collect();
        let mut reader = Reader::new(MAIN, middle, open, &mut pieces);
        reader.feed(&bytes[border..]);
        let end = reader.into_parts().0;
        assert_eq!((&pieces, &end), (&items, &cursor), "at {at}");
    }
}
