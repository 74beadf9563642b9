//! The input schema of a tool, as JSON Schema draft 2020-12, which MCP assumes for a schema that names none.

use serde_json::{Map, Value, json};

use super::{Argument, Kind, Tool};

impl Tool {
    /// Returns the arguments that are listed.
    pub(super) fn listed(&self) -> impl Iterator<Item = &'static Argument> {
        self.arguments.iter().filter(|argument| argument.kind != Kind::Ignored)
    }

    /// Returns the JSON Schema of the arguments, as short as possible, because it costs context in every session of an
    /// agent. It is not closed, because aliases are accepted but left out. Numeric bounds are left to the check of the
    /// arguments.
    pub fn input_schema(&self) -> Map<String, Value> {
        let properties: Map<String, Value> =
            self.listed().map(|argument| (argument.name.to_owned(), argument.schema())).collect();
        let is_needed = |argument: &&Argument| {
            matches!(argument.kind, Kind::Needed | Kind::Words | Kind::Long { .. } | Kind::TextsNeeded)
        };
        let needed: Vec<&str> = self.listed().filter(is_needed).map(|needed| needed.name).collect();
        let mut schema = Map::new();
        schema.insert("type".to_owned(), json!("object"));
        schema.insert("properties".to_owned(), Value::Object(properties));
        if !needed.is_empty() {
            schema.insert("required".to_owned(), json!(needed));
        }
        schema
    }
}

impl Argument {
    fn schema(&self) -> Value {
        let mut schema = match self.kind {
            Kind::Needed | Kind::Words | Kind::Text | Kind::Agent | Kind::Long { .. } => json!({"type": "string"}),
            Kind::Ignored => json!({}),
            Kind::Texts | Kind::TextsNeeded => {
                // A single string is accepted, too.
                json!({"type": "array", "items": {"type": "string"}})
            }
            Kind::Count { default, .. } | Kind::Entries { default } => json!({"type": "integer", "default": default}),
            Kind::AtMost { .. } => json!({"type": "integer"}),
            Kind::Flag { default: false } => json!({"type": "boolean"}),
            Kind::Flag { default } => json!({"type": "boolean", "default": default}),
        };
        schema["description"] = json!(self.description);
        schema
    }
}
