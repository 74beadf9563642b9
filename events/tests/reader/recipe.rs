//! An oddity of `replay-fixtures/transcripts/oddities/`: how its bytes are made, and the expected result.

use serde::Deserialize;
use serde_json::Value;

/// One fixture.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recipe {
    /// Description of the oddity.
    pub(crate) what: String,
    /// `files`: only readers of files treat it as expected.
    pub(crate) only: Option<String>,
    parts: Vec<Part>,
    pub(crate) expected: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
struct Part {
    /// Literal text.
    text: Option<String>,
    /// Two hex digits per byte.
    hex: Option<String>,
    /// How often the text or the bytes are repeated.
    times: Option<usize>,
    /// A whole record of a prompt, with its newline.
    prompt: Option<String>,
    /// Adds the prompt by which the transcript is searched for, to show that the oddity did no harm.
    #[serde(default)]
    sane: bool,
}

impl Recipe {
    pub(crate) fn of(json: &[u8]) -> Self {
        serde_json::from_slice(json).unwrap()
    }

    /// The transcript, for a session with this name.
    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        self.parts.iter().flat_map(|part| part.bytes(name)).collect()
    }

    /// The word that occurs in it and in no other transcript, if there is one.
    pub(crate) fn word(&self, name: &str) -> Option<String> {
        self.parts.iter().any(|part| part.sane).then(|| word(name))
    }
}

fn word(name: &str) -> String {
    format!("odd{}", name.replace('-', ""))
}

impl Part {
    fn bytes(&self, name: &str) -> Vec<u8> {
        let times = self.times.unwrap_or(1);
        let prompt = if self.sane { Some(format!("all is well in {}", word(name))) } else { self.prompt.clone() };
        match (&self.text, &self.hex, prompt) {
            (Some(text), None, None) => text.repeat(times).into_bytes(),
            (None, Some(hex), None) => {
                let digits = hex.as_bytes().chunks(2).map(|pair| str::from_utf8(pair).unwrap());
                digits.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect::<Vec<u8>>().repeat(times)
            }
            (None, None, Some(prompt)) => {
                let record = serde_json::json!({
                    "type": "user", "uuid": format!("{name}-{prompt}"), "timestamp": "2026-03-14T09:26:53.589Z",
                    "cwd": "/srv/odd", "sessionId": name, "version": "2.1.120",
                    "message": {"role": "user", "content": prompt},
                });
                format!("{record}\n").into_bytes()
            }
            _ => panic!("a part is a text, bytes in hex, or a prompt"),
        }
    }
}
