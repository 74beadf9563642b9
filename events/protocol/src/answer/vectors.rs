//! How the making of vectors is.

use serde::{Deserialize, Serialize};

/// What `status` says of vectors: whether searches also go by likeness of meaning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Vectors {
    /// `off`: none are configured, or what is configured lacks something; `ready`: every text has one; `filling`: texts
    /// are being sent; `waiting`: texts have yet to be sent and nothing is sent now, `problem` says why.
    pub state: String,
    /// The model that makes them, as the configuration names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The variable that holds its key, if it is to have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// Texts that have one.
    pub done: u64,
    /// Texts that have yet to get one.
    pub pending: u64,
    /// Why they do not get it now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// What to do about it.
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
