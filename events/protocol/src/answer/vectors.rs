//! The state of vectors.

use serde::{Deserialize, Serialize};

/// The state of vectors in `status`: whether searches also rank by meaning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Vectors {
    /// `off`: none are configured, or the configuration is incomplete. `ready`: every text has one. `filling`: texts
    /// are being sent. `waiting`: texts remain but are not being sent, for the reason in `problem`.
    pub state: String,
    /// The configured name of the embedding model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its base URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The variable that holds its key, if it needs one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// Texts with a vector.
    pub done: u64,
    /// Texts still without one.
    pub pending: u64,
    /// Why no texts are being sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The remedy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_step: Option<String>,
}

impl Default for Vectors {
    fn default() -> Self {
        Self {
            state: "off".to_owned(),
            model: None,
            base_url: None,
            api_key_env: None,
            done: 0,
            pending: 0,
            problem: None,
            next_step: None,
        }
    }
}
