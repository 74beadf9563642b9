//! Result of `config`.

use serde::{Deserialize, Serialize};

/// Result of `config`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Config {
    /// The file.
    pub path: String,
    /// Every key, in a fixed order.
    pub values: Vec<ConfigValue>,
    /// Settings without effect, each with its line and the reason.
    pub warnings: Vec<String>,
    /// Errors in the file, each with its line. While there are any, the last good configuration applies.
    pub mistakes: Vec<String>,
    /// The outcome for each key of an imported file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub imported: Vec<ImportedKey>,
}

/// A key of the configuration.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ConfigValue {
    /// The path of the key, joined by dots.
    pub key: String,
    /// The effective value.
    pub value: serde_json::Value,
    /// `default`, `environment`, `config.json:LINE` or `last good copy`.
    pub origin: String,
}

/// A key of an imported file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ImportedKey {
    /// Its name in that file.
    pub key: String,
    /// Its name in Baton's configuration.
    pub became: Option<String>,
    /// The imported value, if any.
    pub value: Option<serde_json::Value>,
    /// `taken`, `kept` (the current value stays), `dropped` or `wrong`.
    pub outcome: String,
    /// The reason, or the effect.
    pub message: String,
}
