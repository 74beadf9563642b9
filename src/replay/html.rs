//! A replay as one file for a browser: its events, and a script that shows them. It loads nothing, and its policy lets
//! nothing but its own script run.

use std::io::{self, Write};

use baton_protocol::answer::{HistoryEvent, Replayed};
use serde_json::json;

const SCRIPT: &str = include_str!("page.js");
const STYLE: &str = include_str!("page.css");
/// SHA-256 of [`SCRIPT`] and [`STYLE`] in base64; a test compares them.
const SCRIPT_HASH: &str = "EsAphNGThULDPZrwekQMCBl5uDKbgQQJz3p9jsnsRdA=";
const STYLE_HASH: &str = "TMTdJPEZfbZnYJMmtjviO3wMz7YzPUhbTzj/9nCs4TY=";

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
}

impl Page {
    /// Adds an event, without its stored data.
    pub fn add(&mut self, happened: &HistoryEvent) {
        let happened = HistoryEvent { data: None, ..happened.clone() };
        self.events.push(safe(&json!(happened)));
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
        write!(out, "</p><section id=\"event\"></section><section id=\"sessions\"></section>")?;
        for note in replayed.notes.iter().chain(&replayed.differences) {
            write!(out, "<p>{}</p>", note.replace('&', "&amp;").replace('<', "&lt;"))?;
        }
        write!(
            out,
            "<script id=\"data\" type=\"application/json\">{{\"events\":[{}]}}</script>",
            self.events.join(",\n")
        )?;
        writeln!(out, "<script>{SCRIPT}</script></body></html>")
    }
}

/// JSON that cannot end the element around it.
fn safe(value: &serde_json::Value) -> String {
    value.to_string().replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
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
        page.add(&HistoryEvent { told: told.clone(), data: Some(json!("stored")), ..HistoryEvent::default() });
        let mut out = Vec::new();
        let replayed = Replayed { notes: vec!["<b>".to_owned()], ..Replayed::default() };
        page.write(&replayed, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(!text.contains("alert(1)</script>") && !text.contains("<!--") && !text.contains("<b>"), "{text}");
        assert!(!text.contains("stored"));
        let (_, rest) = text.split_once("application/json\">").unwrap();
        let data: serde_json::Value = serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap();
        assert_eq!(data["events"][0]["told"], told);
    }
}
