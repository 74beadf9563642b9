//! The names that agents give to their tools and to the parameters of these.

use serde_json::Value;

use crate::item::Act;
use baton_redaction::raw_json;

/// How an agent names its tools and their parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tools {
    /// Names of tools, separated by spaces, by the act they are.
    pub(crate) acts: &'static [(Act, &'static str)],
    /// Parameters that Claude Code names otherwise: the name here, and Claude Code's, by which they are stored.
    pub(crate) parameters: &'static [(&'static str, &'static str)],
}

impl Tools {
    /// Tools that are named as [`Act::of_tool`] knows them.
    pub(crate) const USUAL: Self = Self { acts: &[], parameters: &[] };

    /// The act of a tool.
    pub(crate) fn act(&self, name: &str) -> Act {
        let named = self.acts.iter().find(|(_, names)| names.split(' ').any(|known| known == name));
        named.map_or_else(|| Act::of_tool(name), |(act, _)| *act)
    }

    /// The parameters of a call under the names by which they are stored, as JSON; `None` if they have them already.
    pub(crate) fn renamed(&self, parameters: raw_json::Value<'_>) -> Option<String> {
        let raw_json::Value::Object(bytes) = parameters else { return None };
        if self.parameters.is_empty() {
            return None;
        }
        let mut whole: Value = serde_json::from_slice(&bytes).ok()?;
        self.rename(&mut whole);
        Some(whole.to_string())
    }

    /// Renames the fields of an object and of the objects in its lists.
    fn rename(&self, object: &mut Value) {
        let Value::Object(fields) = object else { return };
        for (written, stored) in self.parameters {
            if !fields.contains_key(*stored)
                && let Some(value) = fields.remove(*written)
            {
                fields.insert((*stored).to_owned(), value);
            }
        }
        fields.values_mut().filter_map(Value::as_array_mut).flatten().for_each(|element| self.rename(element));
    }
}
