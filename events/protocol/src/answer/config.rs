//! The answer of `config`.

use serde::{Deserialize, Serialize};

/// Result of `config`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Config {
    /// The file.
    pub path: String,
    /// Every key, in a fixed order.
    pub values: Vec<ConfigValue>,
    /// What does not count, and why, each with its line.
    pub warnings: Vec<String>,
    /// What is wrong with the file, each with its line: then the last good configuration holds.
    pub mistakes: Vec<String>,
    /// What became of each key of an imported file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub imported: Vec<ImportedKey>,
}

/// A key of the configuration.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ConfigValue {
    /// With dots between the objects.
    pub key: String,
    /// What holds.
    pub value: serde_json::Value,
    /// `default`, `environment`, `config.json:LINE` or `last good copy`.
    pub origin: String,
}

/// A key of an imported file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ImportedKey {
    /// Its name there.
    pub key: String,
    /// Its name here.
    pub became: Option<String>,
    /// The value, as far as one is taken.
    pub value: Option<serde_json::Value>,
    /// `taken`, `kept` (what was set stays), `dropped` or `wrong`.
    pub outcome: String,
    /// Why, or with what effect.
    pub message: String,
}
