//! `config`: the configuration with the origin of each value, and the import of settings from the original.

use std::sync::Arc;

use baton_protocol::{ConfigParams, answer, code};
use baton_redaction::redact;

use super::{QueryError, internal};
use crate::client::failure;
use baton_config::configuration::{Configuration, Remark, WriteError};

pub(crate) async fn config(
    asked: ConfigParams,
    configuration: &Arc<Configuration>,
) -> Result<answer::Config, QueryError> {
    let ConfigParams { import, force, dry_run } = asked;
    let imported = match import {
        None => Vec::new(),
        Some(original) => {
            let configuration = configuration.clone();
            let importing = baton_base::task::spawn_blocking(move || configuration.import(&original, force, dry_run));
            importing.await.map_err(|error| internal("importing broke", error))?.map_err(refused)?
        }
    };
    let shown = configuration.for_display();
    let redacted_texts =
        |remarks: &[Remark]| remarks.iter().map(|remark| redact(&remark.to_string()).into_owned()).collect();
    Ok(answer::Config {
        path: shown.path.display().to_string(),
        values: shown
            .values
            .iter()
            .map(|value| answer::ConfigValue {
                key: redact(&value.key).into_owned(),
                value: clean(&value.value),
                origin: value.origin.clone(),
            })
            .collect(),
        warnings: redacted_texts(&shown.warnings),
        mistakes: redacted_texts(&shown.mistakes),
        imported: imported
            .into_iter()
            .map(|imported| answer::ImportedKey {
                key: redact(&imported.key).into_owned(),
                became: imported.became.map(|became| redact(&became).into_owned()),
                value: imported.value.as_ref().map(clean),
                outcome: imported.outcome.as_str().to_owned(),
                message: redact(&imported.message).into_owned(),
            })
            .collect(),
    })
}

/// The failure if nothing was written.
pub(super) fn refused(error: WriteError) -> QueryError {
    let code = match &error {
        WriteError::Io(_) => code::INTERNAL,
        WriteError::Mistaken(_) | WriteError::Refused(_) => code::REFUSED,
    };
    failure(code, error.to_string()).into()
}

/// Redacts the texts in a value: a key may have been put where its name belongs.
fn clean(value: &serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::String(text) => Value::String(redact(text).into_owned()),
        Value::Array(values) => values.iter().map(clean).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (redact(name).into_owned(), clean(value))).collect()
        }
        plain => plain.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_shown_neither_as_a_value_nor_as_a_name() {
        let key = format!("sk-ant-api03-{}", "a1B2c3D4e5F6".repeat(4));
        let redacted_texts = clean(&serde_json::json!({"m": [key, {&key: 1}]})).to_string();
        assert!(!redacted_texts.contains(&key), "{redacted_texts}");
    }
}
