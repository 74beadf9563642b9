//! Setting a key in a configuration text and leaving everything else as it is: comments, order, unknown keys, spaces.

use super::document::Node;

/// Sets what `path` leads to, making the objects on the way. The text must be JSON, with an object at the top and
/// wherever the path leads through; the error says where it is not.
pub(super) fn set(text: &str, path: &[&str], value: &serde_json::Value) -> Result<String, String> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let mut node = Node::parse(text).map_err(|error| format!("line {}: not JSON: {}", error.line, error.reason))?;
    for (depth, name) in path.iter().enumerate() {
        let members = node.members().ok_or_else(|| format!("line {}: not an object", node.line()))?;
        let Some(member) = members.iter().find(|member| member.name == *name) else {
            return Ok(insert(
                text,
                &node,
                members.last().map(|member| (member.at, member.value.end())),
                &path[depth..],
                value,
            ));
        };
        node = member.value;
    }
    Ok(replaced(text, node.start(), node.end(), &value.to_string()))
}

fn replaced(text: &str, from: usize, to: usize, by: &str) -> String {
    format!("{}{by}{}", &text[..from], &text[to..])
}

/// Puts a new member at the end of an object, on a line of its own unless the object stands on one line with others.
fn insert(
    text: &str,
    object: &Node<'_>,
    last: Option<(usize, usize)>,
    path: &[&str],
    value: &serde_json::Value,
) -> String {
    let indent = indent_at(text, object.start());
    match last {
        Some((at, end)) if text[object.start()..at].contains('\n') => {
            let indent = indent_at(text, at);
            let member = member(path, value, &indent);
            replaced(text, end, end, &format!(",\n{indent}{member}"))
        }
        Some((_, end)) => replaced(text, end, end, &format!(", {}", member(path, value, &indent))),
        None => {
            let inner = format!("{indent}  ");
            let member = member(path, value, &inner);
            replaced(text, object.start(), object.end(), &format!("{{\n{inner}{member}\n{indent}}}"))
        }
    }
}

/// The white space that the line of a byte begins with.
fn indent_at(text: &str, at: usize) -> String {
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    text[line..].chars().take_while(|c| matches!(c, ' ' | '\t')).collect()
}

/// `"a": {"b": value}`, with a line for each object.
fn member(path: &[&str], value: &serde_json::Value, indent: &str) -> String {
    let Some((name, rest)) = path.split_first() else { return String::new() };
    let name = serde_json::Value::from(*name);
    if rest.is_empty() {
        return format!("{name}: {value}");
    }
    let inner = format!("{indent}  ");
    format!("{name}: {{\n{inner}{}\n{indent}}}", member(rest, value, &inner))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_is_set_and_nothing_else_is_touched() {
        for (text, path, value, expected) in [
            ("", &["a"][..], json!(1), "{\n  \"a\": 1\n}\n"),
            ("{}", &["a", "b"], json!(true), "{\n  \"a\": {\n    \"b\": true\n  }\n}"),
            ("{\"a\": 1, \"b\" : 2}", &["b"], json!(3), "{\"a\": 1, \"b\" : 3}"),
            ("{\"a\": 1}", &["b"], json!("x"), "{\"a\": 1, \"b\": \"x\"}"),
            (
                "{\n\t\"_why\": \"x\",\n\t\"s\": {\n\t\t\"on\": true\n\t},\n\t\"z\": 1\n}\n",
                &["s", "p", "/srv/\"q\""],
                json!(false),
                "{\n\t\"_why\": \"x\",\n\t\"s\": {\n\t\t\"on\": true,\n\t\t\"p\": {\n\t\t  \"/srv/\\\"q\\\"\": false\n\t\t}\n\t},\n\t\"z\": 1\n}\n",
            ),
            ("{\n  \"s\": {}\n}", &["s", "on"], json!(1), "{\n  \"s\": {\n    \"on\": 1\n  }\n}"),
            ("{\"s\": {\"on\": 1 }, \"größe\": 2}", &["s", "on"], json!([1]), "{\"s\": {\"on\": [1] }, \"größe\": 2}"),
        ] {
            let edited = set(text, path, &value).unwrap();
            assert_eq!(edited, expected, "{text}");
            let read: serde_json::Value = serde_json::from_str(&edited).unwrap();
            assert_eq!(path.iter().fold(&read, |read, name| &read[name]), &value);
            assert_eq!(set(&edited, path, &value).unwrap(), edited, "twice is once");
        }
    }

    #[test]
    fn what_cannot_be_edited_is_said() {
        assert!(set("{\n  x", &["a"], &json!(1)).unwrap_err().contains("line 2: not JSON"));
        assert!(set("{\n\"a\":\n3}", &["a", "b"], &json!(1)).unwrap_err().contains("line 3: not an object"));
        assert!(set("[1]", &["a"], &json!(1)).unwrap_err().contains("line 1: not an object"));
    }
}
