//! Extracts a few strings from the JSON object that an agent writes to a hook's standard input.
//!
//! Parsed byte by byte as it arrives, so that neither its end nor its size matters. Unwanted members are skipped
//! without being stored, and of a truncated or malformed object everything before the fault counts.
//!
//! # Decisions
//!
//! - A hook waits longer for its input than for the daemon, and the daemon's time starts once the input is read:
//!   otherwise a late input would lose the signal.

/// Most bytes that are read. Prompts may be long, but the wanted members come before them.
const BYTES: usize = 8 * 1024 * 1024;
/// Longest string that is kept, in bytes with its escapes. A path has at most 4 KB.
const TEXT_BYTES: usize = 16 * 1024;

/// A wanted member.
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
    /// The session in Copilot CLI's spelling.
    CamelSession,
    /// The session in Cursor's payload, equal to `session_id` where that is there too.
    Conversation,
    /// The first of Cursor's directories.
    Roots,
    CursorVersion,
    /// The prompt, kept only as far as to tell whether it is empty.
    Prompt,
    /// The agent that wrote the prompt, in Copilot CLI's payload of a prompt to a subagent.
    PromptingAgent,
}

/// Wanted members; one field may have a name for each spelling.
const FIELDS: [(&str, Field); 16] = [
    ("session_id", Field::Session),
    ("transcript_path", Field::Transcript),
    ("cwd", Field::Directory),
    ("hook_event_name", Field::EventName),
    ("source", Field::Source),
    ("reason", Field::Reason),
    ("trigger", Field::Trigger),
    ("agent_id", Field::Agent),
    ("agent_transcript_path", Field::AgentTranscript),
    ("sessionId", Field::CamelSession),
    ("transcriptPath", Field::Transcript),
    ("parentAgentId", Field::PromptingAgent),
    ("prompt", Field::Prompt),
    ("conversation_id", Field::Conversation),
    ("workspace_roots", Field::Roots),
    ("cursor_version", Field::CursorVersion),
];

/// The part of an object that has arrived.
#[derive(Debug, Default)]
pub(super) struct Input {
    found: [Option<String>; Field::PromptingAgent as usize + 1],
    read: usize,
    /// Depth of open objects and lists.
    depth: usize,
    /// True if the object has ended, or the input is no object.
    over: bool,
    /// The string being read.
    text: Option<Text>,
    /// True if the next string in the object is a value.
    is_value: bool,
    /// The wanted member whose value comes next.
    member: Option<Field>,
    /// True within the list of [`Field::Roots`].
    is_in_roots: bool,
}

/// A string being read.
#[derive(Debug)]
struct Text {
    /// Its bytes so far, without quotes; `None` if it is not wanted.
    kept: Option<Vec<u8>>,
    /// True after a backslash that starts an escape.
    escaping: bool,
    has_escapes: bool,
}

impl Input {
    /// Parses the next bytes. Returns true if no more input is needed.
    pub(super) fn push(&mut self, piece: &[u8]) -> bool {
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

    /// Takes a member's value, if it was a non-empty string.
    pub(super) fn get(&mut self, field: Field) -> Option<String> {
        self.found[field as usize].take().filter(|text| !text.is_empty())
    }

    /// True if a member was a non-empty string.
    pub(super) fn has(&self, field: Field) -> bool {
        self.found[field as usize].as_ref().is_some_and(|text| !text.is_empty())
    }

    /// True if a person has typed nothing of the prompt: it is empty, or an agent wrote it.
    pub(super) fn is_untyped(&self) -> bool {
        self.has(Field::PromptingAgent) || self.found[Field::Prompt as usize].as_ref().is_some_and(String::is_empty)
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
        if self.depth == 2 && self.is_in_roots {
            self.found[Field::Roots as usize] = read;
            // Only the first one counts.
            self.is_in_roots = false;
            return;
        }
        if self.depth != 1 {
            return;
        }
        if !self.is_value {
            let name = read.unwrap_or_default();
            self.member = FIELDS.iter().find(|(known, _)| *known == name).map(|(_, field)| *field);
            return;
        }
        if let Some(member) = self.member.take() {
            self.found[member as usize] = read.filter(|text| member != Field::Prompt || text.is_empty());
        }
        // A second string before the next comma is not part of this value.
        self.is_value = false;
    }

    fn between(&mut self, byte: u8) {
        match byte {
            b'{' | b'[' if self.depth > 0 => {
                self.is_in_roots =
                    byte == b'[' && self.depth == 1 && self.is_value && self.member == Some(Field::Roots);
                self.depth += 1;
            }
            b'{' => self.depth = 1,
            b' ' | b'\t' | b'\r' | b'\n' => {}
            // A byte order mark.
            0xef | 0xbb | 0xbf if self.depth == 0 && self.read <= 3 => {}
            // The input is no object.
            _ if self.depth == 0 => self.over = true,
            b'}' | b']' => {
                self.is_in_roots = false;
                self.depth -= 1;
                self.over = self.depth == 0;
            }
            b'"' => {
                let is_member = self.depth == 1 && (!self.is_value || self.member.is_some());
                let is_wanted = is_member || (self.depth == 2 && self.is_in_roots);
                self.text = Some(Text { kept: is_wanted.then(Vec::new), escaping: false, has_escapes: false });
            }
            b':' if self.depth == 1 => self.is_value = true,
            b',' if self.depth == 1 => (self.is_value, self.member) = (false, None),
            _ => {}
        }
    }
}

/// Unescapes a string; `None` if it is not valid: half a surrogate pair, or not UTF-8.
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

    /// Parses the input whole and byte by byte, and requires the same result.
    fn read(bytes: &[u8]) -> (Input, bool) {
        let mut whole = Input::default();
        let is_over = whole.push(bytes);
        let mut slowly = Input::default();
        let mut is_over_slowly = false;
        for byte in bytes {
            is_over_slowly = slowly.push(&[*byte]);
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
    fn of_a_list_of_directories_the_first_counts() {
        for (bytes, expected) in [
            (&br#"{"workspace_roots":["/a","/b"],"x":["/c"]}"#[..], Some("/a")),
            (br#"{"workspace_roots":[],"x":["/c"]}"#, None),
            (br#"{"workspace_roots":[["/a"],"/b"]}"#, None),
            (br#"{"workspace_roots":{"a":"/a"}}"#, None),
            (br#"{"x":{"workspace_roots":["/a"]}}"#, None),
            (br#"{"workspace_roots":["/a"#, None),
        ] {
            assert_eq!(read(bytes).0.get(Field::Roots).as_deref(), expected, "{}", String::from_utf8_lossy(bytes));
        }
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
        assert!(!input.push(br#"{"session_id":"a","prompt":""#));
        let piece = vec![b'x'; 1024 * 1024];
        let pieces = (1..100).find(|_| input.push(&piece));
        assert_eq!(pieces, Some(8));
        assert!(input.text.as_ref().is_some_and(|text| text.kept.is_none()), "a prompt is never kept");
        assert_eq!(input.get(Field::Session).as_deref(), Some("a"));
        let deep = [br#"{"a":"#.repeat(200_000), b"1".to_vec(), b"}".repeat(200_000)].concat();
        check(&deep, None, None, true);
    }
}
