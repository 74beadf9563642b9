//! JSON as other programs write it: other order of keys, white space, non-ASCII characters escaped.

use std::fmt::Write;

use serde_json::Value;

/// How a value is written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Style {
    /// Keys in reverse order.
    pub(crate) backwards: bool,
    /// Spaces around everything, but no line breaks.
    pub(crate) blanks: bool,
    /// `\u00e9` for `é`, and `\/` for `/`.
    pub(crate) escaped: bool,
}

impl Style {
    /// The value as text, on one line.
    pub(crate) fn write(self, value: &Value) -> String {
        let mut out = String::new();
        self.value(value, &mut out);
        out
    }

    fn value(self, value: &Value, out: &mut String) {
        match value {
            Value::Object(fields) => {
                let mut fields: Vec<_> = fields.iter().collect();
                if self.backwards {
                    fields.reverse();
                }
                self.list(['{', '}'], fields.len(), out, |at, out| {
                    self.text(fields[at].0, out);
                    out.push_str(if self.blanks { " : " } else { ":" });
                    self.value(fields[at].1, out);
                });
            }
            Value::Array(values) => self.list(['[', ']'], values.len(), out, |at, out| self.value(&values[at], out)),
            Value::String(text) => self.text(text, out),
            leaf => out.push_str(&leaf.to_string()),
        }
    }

    fn list(self, brackets: [char; 2], length: usize, out: &mut String, mut write: impl FnMut(usize, &mut String)) {
        let blank = if self.blanks { "\t " } else { "" };
        out.push(brackets[0]);
        for at in 0..length {
            out.push_str(if at > 0 { "," } else { "" });
            out.push_str(blank);
            write(at, out);
        }
        out.push_str(blank);
        out.push(brackets[1]);
    }

    fn text(self, text: &str, out: &mut String) {
        let plain = Value::from(text).to_string();
        if !self.escaped {
            out.push_str(&plain);
            return;
        }
        for c in plain.chars() {
            match c {
                '/' => out.push_str("\\/"),
                c if c.is_ascii() => out.push(c),
                c => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| write!(out, "\\u{unit:04x}").unwrap()),
            }
        }
    }
}

#[test]
fn every_style_means_the_same() {
    let value = serde_json::json!({ "a": ["é/\"\\", { "z": 1, "b": null }], "🦀": 1.5 });
    for (backwards, blanks, escaped) in [(false, false, false), (true, true, true), (true, false, true)] {
        let written = Style { backwards, blanks, escaped }.write(&value);
        assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), value, "{written}");
        assert!(!escaped || written.is_ascii(), "{written}");
    }
}
