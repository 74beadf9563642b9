//! A replay as one file for a browser: its events, on request what was said in its sessions, and a script that shows
//! them. It loads nothing, and its policy lets nothing but its own script run.

use std::collections::BTreeSet;
use std::io::{self, Write};

use baton_protocol::answer::{HistoryEvent, Message, Replayed};
use serde_json::{Value, json};

const SCRIPT: &str = include_str!("page.js");
const STYLE: &str = include_str!("page.css");
/// SHA-256 of [`SCRIPT`] and [`STYLE`] in base64; a test compares them.
const SCRIPT_HASH: &str = "QRWXghOhfhIOsIzcl7YbZCVRnlTyX2CFRDsPmpfzKVI=";
const STYLE_HASH: &str = "LQa+sxGquyalF3kzeSnb7y2CCxFVpPihYKh/k9z68kc=";

/// The buttons: id and name.
const BUTTONS: [(&str, &str); 7] = [
    ("first", "First"),
    ("back", "Back"),
    ("forward", "Forward"),
    ("last", "Last"),
    ("before", "Session's event before"),
    ("next", "Session's next event"),
    ("change", "Next change of state"),
];

/// Events as they come. All text in them is redacted already.
#[derive(Default)]
pub struct Page {
    events: Vec<String>,
    sessions: BTreeSet<String>,
    /// What was said, by stream.
    texts: Vec<String>,
    notes: Vec<String>,
}

impl Page {
    /// Adds an event, without its stored data.
    pub fn add(&mut self, happened: &HistoryEvent) {
        let happened = HistoryEvent { data: None, ..happened.clone() };
        self.events.push(safe(&json!(happened)));
        self.sessions.extend(happened.stream.strip_prefix("session:").map(str::to_owned));
    }

    /// The ids of the sessions with events.
    pub fn sessions(&self) -> impl Iterator<Item = &str> {
        self.sessions.iter().map(String::as_str)
    }

    /// Adds what was said in a session. Returns its length in bytes.
    pub fn add_text(&mut self, session: &str, messages: &[Message]) -> usize {
        let said = |message: &Message| {
            let parts = message.parts.iter().filter_map(|part| match (&part.text, &part.tool) {
                (Some(text), _) => Some(text.clone()),
                (None, tool) => tool.as_ref().map(|tool| format!("[{}]", tool.name)),
            });
            let text = parts.collect::<Vec<_>>().join("\n");
            json!({ "line": message.line, "at": message.at, "role": message.role, "text": text })
        };
        let said: Vec<Value> = messages.iter().map(said).collect();
        let stream = json!(format!("session:{session}"));
        let text = format!("{}:{}", safe(&stream), safe(&json!(said)));
        let bytes = text.len();
        self.texts.push(text);
        bytes
    }

    /// Adds a remark.
    pub fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Writes the page.
    ///
    /// # Errors
    ///
    /// As `out` does.
    pub fn write(&self, replayed: &Replayed, out: &mut impl Write) -> io::Result<()> {
        write!(
            out,
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-{SCRIPT_HASH}'; \
             style-src 'sha256-{STYLE_HASH}'; base-uri 'none'; form-action 'none'\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <title>Replay · Baton</title><style>{STYLE}</style></head><body><h1>Replay</h1>\
             <p><label for=\"at\">Event</label> <output id=\"place\" for=\"at\">no events</output></p>\
             <input id=\"at\" type=\"range\" min=\"0\" max=\"0\" value=\"0\"><p>"
        )?;
        for (id, name) in BUTTONS {
            write!(out, "<button id=\"{id}\">{name}</button>")?;
        }
        write!(
            out,
            "</p><section id=\"event\"></section><section id=\"said\"></section><section id=\"sessions\"></section>"
        )?;
        for note in self.notes.iter().chain(&replayed.notes).chain(&replayed.differences) {
            write!(out, "<p>{}</p>", note.replace('&', "&amp;").replace('<', "&lt;"))?;
        }
        write!(
            out,
            "<script id=\"data\" type=\"application/json\">{{\"events\":[{}],\"texts\":{{{}}}}}</script>",
            self.events.join(",\n"),
            self.texts.join(",\n")
        )?;
        writeln!(out, "<script>{SCRIPT}</script></body></html>")
    }
}

/// JSON that cannot end the element around it.
fn safe(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use baton_protocol::answer::MessagePart;
    use sha2::{Digest, Sha256};

    use super::*;

    /// In base64.
    fn hash(text: &str) -> String {
        const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let digest = Sha256::digest(text.as_bytes());
        let mut encoded = String::new();
        for part in digest.chunks(3) {
            let bits = (0..3).fold(0, |bits, at| (bits << 8) | u32::from(part.get(at).copied().unwrap_or(0)));
            for at in 0..4 {
                let digit = char::from(DIGITS[((bits >> (18 - 6 * at)) & 63) as usize]);
                encoded.push(if at <= part.len() { digit } else { '=' });
            }
        }
        encoded
    }

    #[test]
    fn the_policy_allows_the_script_and_the_style() {
        assert_eq!((SCRIPT_HASH, STYLE_HASH), (hash(SCRIPT).as_str(), hash(STYLE).as_str()));
    }

    #[test]
    fn no_text_leaves_its_element() {
        let mut page = Page::default();
        let told = "</script><script>alert(1)</script><!--".to_owned();
        let part = MessagePart { text: Some(told.clone()), ..MessagePart::default() };
        page.add_text("</script>", &[Message { parts: vec![part], ..Message::default() }]);
        page.add(&HistoryEvent { told: told.clone(), data: Some(json!("stored")), ..HistoryEvent::default() });
        let mut out = Vec::new();
        let replayed = Replayed { notes: vec!["<b>".to_owned()], ..Replayed::default() };
        page.write(&replayed, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(!text.contains("alert(1)</script>") && !text.contains("<!--") && !text.contains("<b>"), "{text}");
        assert!(!text.contains("stored"));
        let (_, rest) = text.split_once("application/json\">").unwrap();
        let data: Value = serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap();
        assert_eq!(
            (&data["events"][0]["told"], &data["texts"]["session:</script>"][0]["text"]),
            (&json!(told), &json!(told))
        );
    }
}
