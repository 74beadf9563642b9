//! Events of memos, and the file of their words.

use serde::{Deserialize, Serialize};

use crate::memo::Words;

pub use crate::memo::{KINDS, decode, encode};

/// A file of words.
#[derive(Serialize, Deserialize)]
struct WordsFile<W> {
    format: u32,
    #[serde(flatten)]
    words: W,
}

/// Format of a file of words.
const WORDS_FORMAT: u32 = 1;

/// The file of a memo's words: one JSON object, the same bytes for the same words.
pub fn encode_words(words: &Words) -> String {
    serde_json::to_string(&WordsFile { format: WORDS_FORMAT, words }).unwrap_or_default()
}

/// Reads such a file. The error describes what is wrong with it.
pub fn decode_words(text: &str) -> Result<Words, String> {
    let WordsFile { format, words } = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if format != WORDS_FORMAT {
        return Err(format!("it has format {format}, and this version of Baton reads format {WORDS_FORMAT}"));
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Error;

    /// Files of words have shipped: these must stay readable and be written unchanged for ever.
    #[test]
    fn words_are_stored_like_this() {
        let note =
            r#"{"format":1,"name":"Deploys","body":"Never on \"Friday\".\nAsk ops.","description":"team rules"}"#;
        let plain = r#"{"format":1,"name":"n","body":"b"}"#;
        let triplet = r#"{"format":1,"name":"team PREFERS sled","body":"The team prefers sled.","triplet":{"source":"team","edge":"PREFERS","target":"sled"}}"#;
        for text in [note, plain, triplet] {
            assert_eq!(encode_words(&decode_words(text).unwrap()), text);
        }
        assert_eq!(decode_words(triplet).unwrap().triplet.unwrap().edge, "PREFERS");
        for (text, expected) in
            [("{", "EOF"), (r#"{"format":1}"#, "missing field"), (r#"{"format":2,"name":"n","body":"b"}"#, "format 2")]
        {
            let refused = decode_words(text).expect_err(text);
            assert!(refused.contains(expected), "{refused}");
        }
    }

    #[test]
    fn what_no_version_wrote_is_named() {
        assert!(matches!(decode("memo_sung", 1, "{}"), Err(Error::UnknownType { kind }) if kind == "memo_sung"));
        let wrong = r#"{"source":"song","group":"g","words":"","bytes":1,"at":0}"#;
        assert!(matches!(decode("memo_added", 1, wrong), Err(Error::Malformed { kind: "memo_added", .. })));
        for kind in KINDS {
            assert!(decode(kind, 99, "{}").is_err() && decode(kind, 1, "[nonsense").is_err());
        }
    }
}
