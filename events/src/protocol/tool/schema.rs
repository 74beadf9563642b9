//! What a tool takes, as JSON Schema (draft 2020-12).

use serde_json::{Map, Value, json};

use super::{Argument, Kind, Tool};

impl Tool {
    /// The arguments that are told.
    pub(super) fn listed(&self) -> impl Iterator<Item = &'static Argument> {
        self.arguments.iter().filter(|argument| argument.kind != Kind::Ignored)
    }

    /// The JSON Schema of the arguments. Aliases are accepted and not in it.
    pub fn input_schema(&self) -> Map<String, Value> {
        let properties: Map<String, Value> =
            self.listed().map(|argument| (argument.name.to_owned(), argument.schema())).collect();
        let is_needed =
            |argument: &&Argument| matches!(argument.kind, Kind::Needed | Kind::Long { .. } | Kind::TextsNeeded);
        let needed: Vec<&str> = self.listed().filter(is_needed).map(|needed| needed.name).collect();
        let mut schema = Map::new();
        schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        schema.insert("type".to_owned(), json!("object"));
        schema.insert("properties".to_owned(), Value::Object(properties));
        if !needed.is_empty() {
            schema.insert("required".to_owned(), json!(needed));
        }
        let takes_more = self.listed().count() < self.arguments.len();
        schema.insert("additionalProperties".to_owned(), json!(takes_more));
        schema
    }
}

impl Argument {
    fn schema(&self) -> Value {
        let mut schema = match self.kind {
            Kind::Needed => json!({"type": "string", "minLength": 1}),
            Kind::Long { most_bytes } => json!({"type": "string", "minLength": 1, "maxLength": most_bytes}),
            Kind::Ignored => json!({}),
            Kind::Text => json!({"type": "string"}),
            Kind::Texts | Kind::TextsNeeded => {
                json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]})
            }
            Kind::Count { default, least, most } => {
                json!({"type": "integer", "default": default, "minimum": least, "maximum": most})
            }
            Kind::Flag { default } => json!({"type": "boolean", "default": default}),
        };
        schema["description"] = json!(self.description);
        schema
    }
}
