//! Blocks of a message's content, as other agents have them too.

use baton_redaction::raw_json::{Text, Value};

/// The relevant fields of a content block.
#[derive(Clone, Copy, Default)]
pub(in crate::transcript) struct Block<'r> {
    pub(in crate::transcript) kind: &'r [u8],
    pub(in crate::transcript) text: Option<Text<'r>>,
    pub(in crate::transcript) thinking: Option<Text<'r>>,
    pub(in crate::transcript) id: Option<Text<'r>>,
    pub(in crate::transcript) name: Option<Text<'r>>,
    pub(in crate::transcript) input: Option<Value<'r>>,
    pub(in crate::transcript) answers: Option<Text<'r>>,
    pub(in crate::transcript) content: Option<Value<'r>>,
    pub(in crate::transcript) is_error: bool,
}

impl<'r> Block<'r> {
    pub(in crate::transcript) fn read(block: Value<'r>) -> Self {
        let mut read = Self::default();
        for (key, value) in block.fields() {
            match key.raw() {
                b"type" => read.kind = value.text().map_or(&b""[..], Text::raw),
                b"text" => read.text = value.text(),
                b"thinking" => read.thinking = value.text(),
                b"id" => read.id = value.text(),
                b"name" => read.name = value.text(),
                b"input" => read.input = Some(value),
                b"tool_use_id" => read.answers = value.text(),
                b"content" => read.content = Some(value),
                b"is_error" => read.is_error = value.is_true(),
                _ => {}
            }
        }
        read
    }

    /// Takes each block of a message with its value; a bare text is a block with that text.
    pub(in crate::transcript) fn each(content: Value<'r>, mut take: impl FnMut(Value<'r>, &Self)) {
        let mut one = |value: Value<'r>| match value {
            Value::Text(text) => take(value, &Self { kind: b"text", text: Some(text), ..Self::default() }),
            Value::Object(_) => take(value, &Self::read(value)),
            _ => {}
        };
        match content {
            Value::Text(_) => one(content),
            array => array.elements().for_each(one),
        }
    }
}
