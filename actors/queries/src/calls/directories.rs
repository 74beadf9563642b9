//! Probes the directories that a call names before it is answered. Resolving a directory blocks until its file system
//! answers; these probes do not, and a directory found to hang is not waited for afterwards.

use serde_json::Value;
use serde_json::value::RawValue;

use baton_base::project;

/// Fields in which calls and tools name directories, including groups.
const FIELDS: [&str; 7] = ["project", "project_namespace", "directory", "groups", "group_ids", "group_id", "group"];
/// Fields that contain such fields.
const WITHIN: [&str; 2] = ["caller", "arguments"];
/// Most directories that are probed per call.
const MOST: usize = 16;

/// Returns once every named directory was probed or counts as hung.
pub(super) async fn probe_named(raw: Option<&RawValue>) {
    let Some(params) = raw.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok()) else { return };
    let mut looks = tokio::task::JoinSet::new();
    for directory in named(&params) {
        looks.spawn(async move { project::probe(&directory).await });
    }
    let _ = looks.join_all().await;
}

fn named(params: &Value) -> Vec<String> {
    let within = WITHIN.iter().filter_map(|field| params.get(field)).chain([params]);
    let values = within.flat_map(|params| FIELDS.iter().filter_map(|field| params.get(field)));
    let texts = values.flat_map(|value| match value {
        Value::Array(several) => several.iter().collect(),
        one => vec![one],
    });
    let mut directories: Vec<String> =
        texts.filter_map(Value::as_str).filter(|text| text.starts_with('/')).map(str::to_owned).collect();
    directories.sort_unstable();
    directories.dedup();
    directories.truncate(MOST);
    directories
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn directories_are_named_by_calls_and_by_tools() {
        let call =
            json!({"query": "/etc", "project": "/srv/b", "caller": {"directory": "/srv/a"}, "groups": ["/srv/c", "x"]});
        assert_eq!(named(&call), ["/srv/a", "/srv/b", "/srv/c"]);
        let tool = json!({"name": "recall", "arguments": {"project": "/srv/b", "query": "/etc"}, "caller": {}});
        assert_eq!(named(&tool), ["/srv/b"]);
        assert_eq!(named(&json!([])), [""; 0]);
    }
}
