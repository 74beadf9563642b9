//! What an agent writes to a hook's standard input: one JSON object, of which a few texts are taken.
//!
//! Read byte by byte as it comes, so that neither its end nor its size matters: what is not asked for is passed over and
//! never kept, and of an object that breaks off or goes wrong everything before that counts.
//!
//! # Decisions
//!
//! - A hook waits longer for its input than for the daemon, whose time begins when the input is there:
//!   otherwise a late input would lose the signal.

/// Bytes after which nothing more is read; prompts may be long, and what is taken comes before them.
const BYTES: usize = 8 * 1024 * 1024;
/// Longest text that is taken, as it is written, with escapes. A path has 4 KB at most.
const TEXT_BYTES: usize = 16 * 1024;

/// What is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Session,
    Transcript,
    Directory,
    EventName,
    Source,
    Reason,
    Trigger,
    Agent,
    AgentTranscript,
}

const FIELDS: [(&str, Field); 9] = [
    ("session_id", Field::Session),
    ("transcript_path", Field::Transcript),
    ("cwd", Field::Directory),
    ("hook_event_name", Field::EventName),
    ("source", Field::Source),
    ("reason", Field::Reason),
    ("trigger", Field::Trigger),
    ("agent_id", Field::Agent),
    ("agent_transcript_path", Field::AgentTranscript),
];

/// An object, as far as it has come.
#[derive(Debug, Default)]
pub(super) struct Input {
    found: [Option<String>; FIELDS.len()],
    read: usize,
    /// Objects and lists that are open.
    depth: usize,
    /// Whether the object is over, or none.
    over: bool,
    /// The text that is being read.
    text: Option<Text>,
    /// Whether the next text in the object is a member's value.
    is_value: bool,
    /// The member whose value comes, if it is taken.
    member: Option<Field>,
}

/// A text that has begun.
#[derive(Debug)]
struct Text {
    /// What there is of it between the quotes; `None`: nobody wants it.
    kept: Option<Vec<u8>>,
    /// The byte before was a backslash that escapes.
    escaping: bool,
    has_escapes: bool,
}

impl Input {
    /// Takes the next piece. Whether nothing more is wanted.
    pub(super) fn take(&mut self, piece: &[u8]) -> bool {
        for byte in piece {
            if self.over || self.read >= BYTES {
                return true;
            }
            self.read += 1;
            match &mut self.text {
                Some(_) => self.in_text(*byte),
                None => self.between(*byte),
            }
        }
        self.over || self.read >= BYTES
    }

    /// What a member says, if it was there and a text.
    pub(super) fn get(&mut self, field: Field) -> Option<String> {
        self.found[field as usize].take().filter(|text| !text.is_empty())
    }

    fn in_text(&mut self, byte: u8) {
        let Some(text) = &mut self.text else { return };
        if byte == b'"' && !text.escaping {
            let ended = self.text.take();
            self.text_ended(ended);
            return;
        }
        text.escaping = byte == b'\\' && !text.escaping;
        text.has_escapes |= text.escaping;
        if text.kept.as_ref().is_some_and(|kept| kept.len() >= TEXT_BYTES) {
            text.kept = None;
        }
        if let Some(kept) = &mut text.kept {
            kept.push(byte);
        }
    }

    fn text_ended(&mut self, text: Option<Text>) {
        let written = text.and_then(|text| Some((text.kept?, text.has_escapes)));
        let read = written.and_then(|(kept, has_escapes)| unescaped(kept, has_escapes));
        if self.depth != 1 {
            return;
        }
        if !self.is_value {
            let name = read.unwrap_or_default();
            self.member = FIELDS.iter().find(|(known, _)| *known == name).map(|(_, field)| *field);
            return;
        }
        if let Some(member) = self.member.take() {
            self.found[member as usize] = read;
        }
        // Whatever comes before the next comma, a second text is no part of this value.
        self.is_value = false;
    }

    fn between(&mut self, byte: u8) {
        match byte {
            b'{' | b'[' if self.depth > 0 => self.depth += 1,
            b'{' => self.depth = 1,
            b' ' | b'\t' | b'\r' | b'\n' => {}
            // A byte order mark.
            0xef | 0xbb | 0xbf if self.depth == 0 && self.read <= 3 => {}
            // No object.
            _ if self.depth == 0 => self.over = true,
            b'}' | b']' => {
                self.depth -= 1;
                self.over = self.depth == 0;
            }
            b'"' => {
                let is_wanted = self.depth == 1 && (!self.is_value || self.member.is_some());
                self.text = Some(Text { kept: is_wanted.then(Vec::new), escaping: false, has_escapes: false });
            }
            b':' if self.depth == 1 => self.is_value = true,
            b',' if self.depth == 1 => (self.is_value, self.member) = (false, None),
            _ => {}
        }
    }
}

/// What was written; `None` where that is no text: half a surrogate pair, or no UTF-8.
fn unescaped(mut written: Vec<u8>, has_escapes: bool) -> Option<String> {
    if !has_escapes {
        return String::from_utf8(written).ok();
    }
    written.insert(0, b'"');
    written.push(b'"');
    serde_json::from_slice(&written).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Read whole, and a byte at a time: the same.
    fn read(bytes: &[u8]) -> (Input, bool) {
        let mut whole = Input::default();
        let is_over = whole.take(bytes);
        let mut slowly = Input::default();
        let mut is_over_slowly = false;
        for byte in bytes {
            is_over_slowly = slowly.take(&[*byte]);
        }
        assert_eq!((&whole.found, is_over), (&slowly.found, is_over_slowly), "{}", String::from_utf8_lossy(bytes));
        (whole, is_over)
    }

    fn check(bytes: &[u8], session: Option<&str>, directory: Option<&str>, over: bool) {
        let (mut input, is_over) = read(bytes);
        let shown = String::from_utf8_lossy(bytes);
        assert_eq!(input.get(Field::Session).as_deref(), session, "{shown}");
        assert_eq!(input.get(Field::Directory).as_deref(), directory, "{shown}");
        assert_eq!(is_over, over, "{shown}");
    }

    #[test]
    fn what_is_asked_for_is_found_and_nothing_else() {
        check(br#"{"session_id":"a","cwd":"/b"}"#, Some("a"), Some("/b"), true);
        check(b" \r\n{ \"cwd\" :\t\"/b\" , \"session_id\" : \"a\" } trailing", Some("a"), Some("/b"), true);
        check(b"\xef\xbb\xbf{\"session_id\":\"a\"}", Some("a"), None, true);
        check(br#"{"prompt":"{\"session_id\":\"no\"}","session_id":"a"}"#, Some("a"), None, true);
        check(br#"{"x":{"session_id":"no","cwd":["/no",{"cwd":"/no"}]},"session_id":"a"}"#, Some("a"), None, true);
        check(br#"{"x":["session_id","cwd"],"cwd":"/b"}"#, None, Some("/b"), true);
        check(br#"{"session_id":"a","session_id":"b"}"#, Some("b"), None, true);
        check(br#"{"session_id":"a","cwd":null,"x":true,"y":-1.5e3}"#, Some("a"), None, true);
        check(br#"{"session_id":{"a":"no"},"cwd":["/no"]}"#, None, None, true);
        check(br#"{"session\u005fid":"\u0061","cwd":"/\u00fc\\\"\ud83d\ude00"}"#, Some("a"), Some("/ü\\\"😀"), true);
        check(br#"{"session_id":"","cwd":""}"#, None, None, true);
        check(b"{}", None, None, true);
    }

    #[test]
    fn what_breaks_off_or_goes_wrong_costs_nothing_that_came_before() {
        check(br#"{"session_id":"a","cwd":"/b"#, Some("a"), None, false);
        check(br#"{"session_id":"a","prompt":"and so on"#, Some("a"), None, false);
        check(br#"{"session_id":"a","cwd":"/b","prompt":"\"#, Some("a"), Some("/b"), false);
        check(br#"{"session_id":"a" oops "cwd" : "/b" }"#, Some("a"), Some("/b"), true);
        check(br#"{"session_id":"a"}}}]"#, Some("a"), None, true);
        check(br#"{"session_id":"a","cwd":"half \ud83d of it"}"#, Some("a"), None, true);
        check(b"{\"cwd\":\"\xff\xfe\",\"p\":\"\xc3\x28\",\"session_id\":\"a\"}", Some("a"), None, true);
        check(b"{\"session_id\":\"a\",\"\xff\":\"b\",\"cwd\":\"/b\"}", Some("a"), Some("/b"), true);
        for nothing in ["", " ", "null", "[{\"session_id\":\"a\"}]", "session_id", "\"session_id\"", "}{"] {
            let over = !nothing.trim().is_empty();
            check(nothing.as_bytes(), None, None, over);
        }
    }

    #[test]
    fn nothing_long_is_kept_and_nothing_endless_read() {
        let long = format!("{{\"cwd\":\"/{}\",\"session_id\":\"a\"}}", "x".repeat(TEXT_BYTES));
        check(long.as_bytes(), Some("a"), None, true);
        let mut input = Input::default();
        assert!(!input.take(br#"{"session_id":"a","prompt":""#));
        let piece = vec![b'x'; 1024 * 1024];
        let pieces = (1..100).find(|_| input.take(&piece));
        assert_eq!(pieces, Some(8));
        assert!(input.text.as_ref().is_some_and(|text| text.kept.is_none()), "a prompt is never kept");
        assert_eq!(input.get(Field::Session).as_deref(), Some("a"));
        let deep = [br#"{"a":"#.repeat(200_000), b"1".to_vec(), b"}".repeat(200_000)].concat();
        check(&deep, None, None, true);
    }
}
