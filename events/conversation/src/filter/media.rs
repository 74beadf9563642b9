//! Images and documents as one line: kind and size, never the content.

use memchr::memchr;

use baton_redaction::raw_json::{Text, Value};

use super::one_line;

/// Longest media type, in characters.
const MAX_TYPE_CHARS: usize = 60;

/// An image or a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Media {
    /// `image`, `document`.
    pub(crate) what: &'static str,
    /// Media type such as `image/png`, if given; one line, redacted and bounded.
    kind: Option<String>,
    /// Decoded size in bytes, if the transcript contains the data.
    pub(crate) bytes: Option<usize>,
}

impl Media {
    /// Reads a content block; `None` if it is neither image nor document.
    pub(crate) fn parse(block: Value<'_>) -> Option<Self> {
        let (mut what, mut source) = (None, Value::Null);
        for (key, value) in block.fields() {
            match key.raw() {
                b"type" => what = value.text().and_then(|kind| name(kind.raw())),
                b"source" => source = value,
                _ => {}
            }
        }
        // Some agents put type and data into the block itself.
        let source = if source == Value::Null { block } else { source };
        Some(Self { what: what?, ..Self::from_source(source) })
    }

    /// Reads Gemini's form of a block: `{"inlineData":{"mimeType":"image/png","data":"…"}}`.
    pub(crate) fn inline(part: Value<'_>) -> Option<Self> {
        let inline = part.get(b"inlineData").filter(|inline| matches!(inline, Value::Object(_)))?;
        let kind = inline.get(b"mimeType").and_then(Value::text).map(|kind| one_line(&kind.decode(), MAX_TYPE_CHARS));
        let what = if kind.as_ref().is_some_and(|kind| kind.starts_with("image/")) { "image" } else { "document" };
        Some(Self { what, kind, bytes: inline.get(b"data").and_then(Value::text).map(decoded_bytes) })
    }

    /// Reads an image that has its data in the block itself: `{"type":"image","data":"…","mimeType":"image/png"}`.
    pub(crate) fn attached(block: Value<'_>) -> Option<Self> {
        let is_text = |name: &[u8]| block.get(name).is_some_and(|value| value.text().is_some());
        (is_text(b"data") && is_text(b"mimeType")).then(|| Self::image(block))
    }

    /// An image with this source, or with these fields of one.
    pub(crate) fn image(source: Value<'_>) -> Self {
        Self { what: "image", ..Self::from_source(source) }
    }

    /// Reads a block's source: `{"type":"base64","media_type":"image/png","data":"…"}`, or one of type `text`, `url`,
    /// `file`.
    fn from_source(source: Value<'_>) -> Self {
        let (mut encoded, mut kind, mut data) = (true, None, None);
        for (key, value) in source.fields() {
            match key.raw() {
                b"type" => encoded = value.text().is_none_or(|kind| kind.raw() != b"text"),
                b"media_type" | b"mimeType" => kind = value.text(),
                b"data" => data = value.text(),
                _ => {}
            }
        }
        let kind = kind.map(|kind| one_line(&kind.decode(), MAX_TYPE_CHARS)).filter(|kind| !kind.is_empty());
        let bytes = data.map(|data| if encoded { decoded_bytes(data) } else { data.size().bytes });
        Self { what: "", kind, bytes }
    }

    /// `[image image/png, 34 KB]`, without unknown parts.
    pub(crate) fn line(&self) -> String {
        let kind = self.kind.as_ref().map_or(String::new(), |kind| format!(" {kind}"));
        let size = self.bytes.map_or(String::new(), |bytes| format!(", {}", size(bytes)));
        format!("[{}{kind}{size}]", self.what)
    }
}

/// Name of the kind of a content block, if it is one of media.
pub(crate) fn name(kind: &[u8]) -> Option<&'static str> {
    match kind {
        b"image" => Some("image"),
        b"document" => Some("document"),
        _ => None,
    }
}

/// A size for display: `812 B`, `34 KB`, `1.2 MB`.
pub(crate) fn size(bytes: usize) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KB", ((bytes + 512) / 1024).min(1023)),
        _ => format!("{}.{} MB", bytes / 1_048_576, bytes % 1_048_576 * 10 / 1_048_576),
    }
}

/// Decoded size of a base64 text.
fn decoded_bytes(data: Text<'_>) -> usize {
    // Some writers escape the slash, which is a base64 digit.
    let decoded = memchr(b'\\', data.raw()).map(|_| data.decode());
    let digits = decoded.as_ref().map_or(data.raw(), |text| text.as_bytes());
    let padding = digits.iter().rev().take_while(|digit| **digit == b'=').count();
    (digits.len() - padding) * 3 / 4
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(block: &str, expected: Option<&str>) {
        let line = Media::parse(Value::Object(block.as_bytes().into())).map(|media| media.line());
        assert_eq!(line.as_deref(), expected, "{block}");
    }

    #[test]
    fn what_is_no_text_is_one_line() {
        let image = |data: &str| {
            format!(r#"{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{data}"}}}}"#)
        };
        check(&image("AAAA"), Some("[image image/png, 3 B]"));
        check(&image("AAA="), Some("[image image/png, 2 B]"));
        check(&image("AA=="), Some("[image image/png, 1 B]"));
        check(&image(r"A\/A\/"), Some("[image image/png, 3 B]"));
        check(&image(&"A".repeat(46_421)), Some("[image image/png, 34 KB]"));
        check(&image(&"A".repeat(1_700_000)), Some("[image image/png, 1.2 MB]"));
        check(r#"{"type":"image","source":{"type":"url","url":"https://a.b/c.png"}}"#, Some("[image]"));
        check(
            r#"{"source":{"data":"hé\n","type":"text","media_type":"text/plain"},"type":"document"}"#,
            Some("[document text/plain, 3 B]"),
        );
        check(r#"{"type":"document"}"#, Some("[document]"));
        check(r#"{"type":"text","text":"a"}"#, None);
        check(r#"{"type":"image","source":{"media_type":"a\nb","data":"AAAA"}}"#, Some("[image a b, 3 B]"));
    }

    #[test]
    fn sizes_are_told_for_people() {
        for (bytes, expected) in [
            (0, "0 B"),
            (1_023, "1023 B"),
            (1_024, "1 KB"),
            (34_816, "34 KB"),
            (1_048_575, "1023 KB"),
            (1_048_576, "1.0 MB"),
        ] {
            assert_eq!(size(bytes), expected);
        }
    }
}
