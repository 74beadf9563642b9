//! Selects the tools to list, because every listed tool costs an agent context.

use super::{Tool, all, named, nearest};

/// The tools of Graphiti's server that Baton offers under the same names.
pub(super) const GRAPHITI: [&str; 11] = [
    "add_memory",
    "search_nodes",
    "search_memory_facts",
    "get_episodes",
    "get_episode_entities",
    "get_entity_edge",
    "delete_episode",
    "delete_entity_edge",
    "add_triplet",
    "clear_graph",
    "get_status",
];
/// Names of sets of tools.
const SETS: [&str; 3] = ["all", "core", "graphiti"];

/// Returns the tools named in a comma-separated list, in table order. `all`, `core` (the default) and `graphiti` name
/// sets.
///
/// # Errors
///
/// Names the unknown tool, the one that was probably meant, and all tools.
pub fn selected(wanted: &str) -> Result<Vec<&'static Tool>, String> {
    let mut chosen: Vec<&'static str> = Vec::new();
    for name in wanted.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        match name {
            "all" => chosen.extend(all().map(|tool| tool.name)),
            "core" => chosen.extend(all().filter(|tool| tool.listed).map(|tool| tool.name)),
            "graphiti" => chosen.extend(GRAPHITI),
            name => chosen.push(named(name).ok_or_else(|| unknown(name))?.name),
        }
    }
    if chosen.is_empty() {
        return Err(format!("no tool is named; there are {} and {}", SETS.join(", "), names()));
    }
    Ok(all().filter(|tool| chosen.contains(&tool.name)).collect())
}

fn unknown(name: &str) -> String {
    let shown: String = name.chars().take(80).collect();
    let known = || {
        SETS.into_iter().chain(all().flat_map(|tool| std::iter::once(tool.name).chain(tool.aliases.iter().copied())))
    };
    let meant = nearest(name, known()).map_or_else(|| ".".to_owned(), |near| format!("; did you mean {near}?"));
    format!("no tool and no set of tools {shown:?}{meant} There are {} and {}", SETS.join(", "), names())
}

fn names() -> String {
    all().map(|tool| tool.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_chosen_by_set_and_name() {
        let names = |wanted: &str| selected(wanted).map(|tools| tools.iter().map(|tool| tool.name).collect::<Vec<_>>());
        let every: Vec<&str> = all().map(|tool| tool.name).collect();
        assert_eq!(names("all").unwrap(), every);
        assert_eq!(names(" core , all").unwrap(), every);
        assert_eq!(names("get_episodes,search_nodes,get_episodes").unwrap(), ["search_nodes", "get_episodes"]);
        let graphiti = names("graphiti").unwrap();
        assert!(graphiti.contains(&"search_memory_facts") && !graphiti.contains(&"session_tracking_close"));
        for (wanted, says) in [
            ("", "no tool is named; there are all, core, graphiti and"),
            (" , ", "no tool is named"),
            ("timelin", "did you mean timeline?"),
            ("al", "no tool and no set of tools \"al\""),
            ("nosuch", "tools \"nosuch\". There are"),
        ] {
            let error = names(wanted).unwrap_err();
            assert!(error.contains(says) && error.contains("session_tracking_close"), "{wanted}: {error}");
        }
    }

    #[test]
    fn what_is_listed_is_little_and_has_what_every_agent_needs() {
        let core: Vec<&str> = selected("core").unwrap().iter().map(|tool| tool.name).collect();
        assert!(core.len() <= 14, "{core:?}");
        for needed in [
            "recall",
            "search_nodes",
            "search_memory_facts",
            "get_episodes",
            "track_session",
            "stop_tracking_session",
            "session_tracking_close",
            "session_tracking_list_unindexed",
            "session_tracking_sync_history",
            "session_tracking_status",
        ] {
            assert!(core.contains(&needed), "{needed}");
        }
    }
}
