//! Topics are complete, listed, and narrow enough for a terminal.

use std::collections::BTreeSet;
use std::path::Path;

use super::*;

/// A terminal of the usual width.
const COLUMNS: usize = 80;

#[test]
fn every_file_is_a_topic_and_says_what_it_is_about() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/help");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let files: BTreeSet<String> = files.filter_map(|name| Some(name.strip_suffix(".md")?.to_owned())).collect();
    let listed: BTreeSet<String> = TOPICS.iter().map(|topic| topic.name.to_owned()).collect();
    assert_eq!(files, listed);
    assert_eq!(listed.len(), TOPICS.len());
    for topic in TOPICS {
        let heading = topic.source.lines().next().unwrap().to_lowercase();
        assert!(heading.starts_with(&format!("# {}: ", topic.name)), "{heading}");
        assert!((10..=60).contains(&topic.about().len()), "{}", topic.about());
    }
}

#[test]
fn synonyms_lead_to_topics_and_are_none_themselves() {
    for (word, topic) in SYNONYMS {
        assert!(Topic::named(topic).is_some() && Topic::named(word).is_none(), "{word}: {topic}");
        assert_eq!(Topic::find(&word.to_uppercase()).unwrap().name, *topic);
    }
    assert!(SYNONYMS.is_sorted());
}

#[test]
fn lines_fit_a_terminal() {
    for topic in TOPICS {
        let text = topic.text();
        let prose: String = text.split("```").step_by(2).collect();
        for line in prose.lines() {
            let is_one_word = line.trim_start_matches(['-', ' ']).split(' ').count() == 1;
            assert!(line.chars().count() <= COLUMNS || is_one_word, "{}: {line}", topic.name);
        }
        assert_eq!(text.matches("```").count() % 2, 0, "{}: a block is not closed", topic.name);
    }
}

#[test]
fn lists_are_made_from_the_tables() {
    let configuration = Topic::named("configuration").unwrap().text();
    for key in keys() {
        assert!(configuration.contains(&format!("- `{}`\n", key.name)), "{}", key.name);
    }
    for (name, _) in former_keys() {
        assert!(configuration.contains(&format!("- `{name}`:")), "{name}");
    }
    let mcp = Topic::named("mcp").unwrap().text();
    for tool in tool::all() {
        assert!(mcp.contains(&format!("- `{}`(", tool.name)), "{}", tool.name);
    }
    for topic in TOPICS {
        assert!(!topic.text().contains("{{"), "{}: a marker has no list", topic.name);
    }
}

#[test]
fn paragraphs_are_wrapped() {
    let long = "word ".repeat(40);
    let lines = wrapped(&long, "  ");
    assert!(lines.lines().all(|line| line.starts_with("  word") && line.len() <= WIDTH), "{lines}");
    assert_eq!(lines.split_whitespace().count(), 40);
    assert_eq!(wrapped_item("a b"), "- a b\n");
}
