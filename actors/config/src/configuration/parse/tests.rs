use super::*;

fn lookup(name: &str) -> Option<String> {
    match name {
        "HOME" => Some("/home/u".to_owned()),
        "CLAUDE_CONFIG_DIR" => Some("/home/u/.claude".to_owned()),
        _ => None,
    }
}

fn parsed(text: &str) -> Parsed {
    parse(text, &lookup)
}

/// The mistakes of a text, one per line.
fn mistakes(text: &str) -> String {
    let told: Vec<String> = parsed(text).mistakes.iter().map(ToString::to_string).collect();
    told.join("\n")
}

fn warnings(text: &str) -> String {
    let parsed = parsed(text);
    assert_eq!(parsed.mistakes, [], "{text}");
    let told: Vec<String> = parsed.warnings.iter().map(ToString::to_string).collect();
    told.join("\n")
}

#[test]
fn every_key_of_today_is_taken() {
    let text = r#"{
  "_comment": {"anything": [1, 2]},
  "session_tracking": {
    "enabled": false, "_enabled_help": "help",
    "watch_directories": ["$CLAUDE_CONFIG_DIR/projects", "~/other/projects", "${HOME}/third"], "project_stores": ["~/shop"],
    "inactivity_timeout": 0,
    "check_interval": 5,
    "projects": {"~/app": {"enabled": true, "_why": "it is mine"}, "/srv/*": {"enabled": false}},
    "exclude": ["~/private", "scratch-*"],
    "filtering": {"keep_user_messages": false, "keep_agent_responses": false, "keep_tool_structure": false,
                  "omit_tool_outputs": false, "max_output_summary_chars": 0},
    "lazy_index": {"budget_ms": 0}
  },
  "hooks": {"enabled": false, "socket_path": "~/run/baton.sock", "timeout_ms": 300},
  "handoff": {"from": "team", "max_bytes": 4096},
  "memory": {"embedding": {"base_url": "http://127.0.0.1:11434/v1/", "model": "nomic", "api_key_env": "MY_KEY",
                           "dimensions": 256}},
  "vault": {"enabled": true, "path": "~/notes", "root": "agents/claude", "compact_lines": 300, "compact_days": 7,
            "promote_recalls": 2},
  "update": {"check": true, "url": "https://example.com/latest.json", "key": "RW"},
  "relay": {"enabled": true, "url": "/mnt/team", "name": "Ann", "share": ["~/shop"], "key_file": "~/keys.json",
            "credentials_file": "~/relay.creds"},
  "llm": {"enabled": true, "base_url": "http://127.0.0.1:11434/v1", "model": "m", "api_key_env": "K", "api_key_file": "~/key",
          "context_tokens": 8000, "max_output_tokens": 500, "timeout_ms": 1000, "max_concurrency": 1,
          "session_budget_usd": 0.1, "daily_budget_usd": null,
          "prices": {"_why": "a contract", "claude-*": {"input": 3, "_unit": "USD", "output": 15.5, "cache_read": 0}}}
}"#;
    let parsed = parsed(text);
    assert_eq!((&parsed.mistakes, &parsed.warnings), (&vec![], &vec![]));
    let now = super::key::KEYS.iter().filter(|key| key.used == Use::Now).count();
    assert_eq!(parsed.values.len(), now, "{:?}", parsed.values.keys());
    let (directories, line) = &parsed.values["session_tracking.watch_directories"];
    assert_eq!(
        *directories,
        serde_json::json!(["/home/u/.claude/projects", "/home/u/other/projects", "/home/u/third"])
    );
    assert_eq!(*line, 5);
    assert_eq!(parsed.values["hooks.socket_path"].0, "/home/u/run/baton.sock");
    assert_eq!(parsed.values["vault.path"].0, "/home/u/notes");
    assert_eq!(parsed.values["memory.embedding.base_url"].0, "http://127.0.0.1:11434/v1");
    let prices = serde_json::json!({"claude-*": {"input": 3, "output": 15.5, "cache_read": 0}});
    assert_eq!(parsed.values["llm.prices"].0, prices);
    assert_eq!(parsed.values["session_tracking.exclude"].0, serde_json::json!(["/home/u/private", "scratch-*"]));
    let projects: Vec<_> =
        parsed.projects.iter().map(|p| (p.written.as_str(), p.pattern.as_str(), p.enabled, p.line)).collect();
    assert_eq!(projects, [("~/app", "/home/u/app", true, 8), ("/srv/*", "/srv/*", false, 8)]);
}

#[test]
fn each_kind_of_mistake_is_told_with_its_line_and_what_is_allowed() {
    for (text, told) in [
        ("\u{feff}{}", "line 1: it begins with a byte order mark"),
        ("", "line 1: not JSON: EOF"),
        ("[]", "line 1: it must be an object {…}, not this list"),
        ("\n \"x\"", "line 2: it must be an object"),
        ("{\n\"a\": 1,\n}", "line 3: not JSON: a key in double quotes belongs here"),
        ("{\n\"session_tracking\": 7}", "line 2: session_tracking must be an object {…}, not 7"),
        (
            "{\"session_tracking\":\n{\"enabled\":\n \"yes\"}}",
            "line 3: session_tracking.enabled must be true or false, not \"yes\"",
        ),
        (
            "{\"session_tracking\":{\"inactivity_timeout\": -1}}",
            "session_tracking.inactivity_timeout must be a whole number of seconds from 0 to 31622400, not -1",
        ),
        ("{\"session_tracking\":{\"inactivity_timeout\": 1.5}}", "from 0 to 31622400, not 1.5"),
        ("{\"session_tracking\":{\"inactivity_timeout\": null}}", "from 0 to 31622400, not null"),
        (
            "{\"hooks\":{\"timeout_ms\": 30000}}",
            "line 1: hooks.timeout_ms must be a whole number of milliseconds from 1 to 3000, or null (agents end a hook that takes \
             longer; at a session's end 1000 counts at most), not 30000",
        ),
        ("{\"session_tracking\":{\"check_interval\": 0}}", "from 1 to 86400, not 0"),
        ("{\"session_tracking\":{\"check_interval\": 1e99}}", "from 1 to 86400"),
        ("{\"session_tracking\":{\"lazy_index\":{\"budget_ms\": 60001}}}", "from 0 to 60000"),
        (
            "{\"session_tracking\":{\"watch_directories\": \"/a\"}}",
            "must be a list of absolute directories, not \"/a\"",
        ),
        ("{\"session_tracking\":{\"watch_directories\": []}}", "must be a list of absolute directories, not this list"),
        ("{\"session_tracking\":{\"watch_directories\": [1]}}", "must be a list of absolute directories"),
        ("{\"hooks\":{\"socket_path\": \"run/baton.sock\"}}", "hooks.socket_path: \"run/baton.sock\" is not absolute"),
        ("{\"hooks\":{\"socket_path\": 7}}", "hooks.socket_path must be an absolute path, or null, not 7"),
        ("{\"handoff\":{\"max_bytes\": 100}}", "must be a whole number of bytes from 256 to 8192, not 100"),
        ("{\"session_tracking\":{\"watch_directories\": [\"a/b\"]}}", "\"a/b\" is not absolute"),
        (
            "{\"session_tracking\":{\"watch_directories\": [\"/a\",\n\"$NOPE/b\"]}}",
            "line 2: session_tracking.watch_directories: \"$NOPE/b\" names $NOPE, which is not set",
        ),
        ("{\"session_tracking\":{\"watch_directories\": [\"${HOME\"]}}", "has a `${` without its `}`"),
        ("{\"session_tracking\":{\"exclude\": [\"/a***\"]}}", "\"/a***\" is not a glob"),
        ("{\"session_tracking\":{\"projects\": []}}", "session_tracking.projects must be an object"),
        (
            "{\"session_tracking\":{\"projects\": {\"/a\": true}}}",
            "session_tracking.projects.\"/a\" must be an object {…}, not true",
        ),
        (
            "{\"session_tracking\":{\"projects\": {\"/a\": {\"enabled\": 1}}}}",
            "\"/a\".enabled must be true or false, not 1",
        ),
        ("{\"session_tracking\":{\"projects\": {\"\": {}}}}", "is not a path or glob: it is empty"),
        ("{\"a\": 1,\n\"b\": 2,\n\"a\": 3}", "line 3: \"a\" occurs twice, in lines 1 and 3; remove one"),
        (
            "{\"session_tracking\":{\"enabled\":true,\n\"enabled\":true}}",
            "line 2: \"enabled\" occurs twice, in lines 1 and 2",
        ),
        (
            "{\"memory\":{\"embedding\":{\n\"base_url\": \"127.0.0.1:8080\"}}}",
            "line 2: memory.embedding.base_url: its value is not an address",
        ),
        (
            "{\"memory\":{\"embedding\":{\"base_url\": 7}}}",
            "must be an address that begins with http:// or https://, or null",
        ),
        (
            "{\"memory\":{\"embedding\":{\"dimensions\": 0}}}",
            "a whole number of dimensions from 1 to 65536, or null, not 0",
        ),
        ("{\"memory\":{\"embedding\":{\"api_key_env\": \"sk-x\"}}}", "must be the name of an environment variable"),
        ("{\"llm\":{\"enabled\":1}}", "llm.enabled must be true or false, not 1"),
        ("{\"llm\":{\"daily_budget_usd\":-0.5}}", "llm.daily_budget_usd must be a number of US dollars from 0"),
        ("{\"llm\":{\"prices\":3}}", "llm.prices must be an object"),
        ("{\"llm\":{\"prices\":{\"m\": 1}}}", "llm.prices.\"m\" must be an object {…}, not 1"),
        ("{\"llm\":{\"prices\":{\"\": {}}}}", "is not a model's name or glob"),
        (
            "{\"llm\":{\"prices\":{\n\"m\": {\"input\": 1}}}}",
            "line 2: llm.prices.\"m\" has no output: a price needs input and output",
        ),
        (
            "{\"llm\":{\"prices\":{\"m\": {\"input\": 1,\n\"output\": -2}}}}",
            "line 2: llm.prices.\"m\".output must be a number of US dollars for a million tokens from 0 to 100000, not -2",
        ),
        ("{\"llm\":{\"prices\":{\"m\": {\"input\": \"3\", \"output\": 1}}}}", "not \"3\""),
        ("{\"vault\":{\"path\":\"\"}}", "vault.path must be an absolute path, or null, not \"\""),
    ] {
        let found = mistakes(text);
        assert!(found.contains(told) && found.starts_with("config.json"), "{text:?}\n{found}\n{told}");
        assert_eq!(found.lines().count(), 1, "{text:?}\n{found}");
    }
}

#[test]
fn what_stands_where_a_variables_name_belongs_is_not_repeated() {
    for (value, is_taken) in [
        ("OPENAI_API_KEY", true),
        ("_x9", true),
        ("9x", false),
        ("hunter2-is-secret", false),
        ("has space", false),
        (&"x".repeat(65), false),
    ] {
        let found = mistakes(&format!("{{\"llm\": {{\"api_key_env\": \"{value}\"}}}}"));
        assert_eq!(found.is_empty(), is_taken, "{found}");
        assert!(is_taken || (found.contains("name of an environment variable") && !found.contains(value)), "{found}");
    }
}

#[test]
fn a_name_that_is_there_twice_is_told_without_secrets_and_in_a_line() {
    let key = format!("sk-ant-api03-{}", "a1B2c3D4e5F6".repeat(4));
    for name in [key, "x".repeat(10_000)] {
        let found = mistakes(&format!("{{\"{name}\": 1, \"{name}\": 2}}"));
        assert!(found.contains("occurs twice") && !found.contains(&name) && found.len() < 300, "{found}");
    }
}

#[test]
fn a_file_of_unknown_keys_is_told_of_in_a_moment() {
    let members: Vec<String> = (0..20_000).map(|n| format!("\"unknown_key_number_{n}\":\n{n}")).collect();
    let parsed = parsed(&format!("{{{}}}", members.join(",\n")));
    assert_eq!((parsed.warnings.len(), parsed.warnings[49].line), (REMARKS_MAX, Some(99)));
}

#[test]
fn globs_of_projects_are_bounded_and_directories_are_not() {
    let text = |star: &str, count: usize| {
        let members: Vec<String> = (0..count).map(|n| format!("\"/srv/p{n}{star}\": {{\"enabled\": false}}")).collect();
        format!("{{\"session_tracking\": {{\"projects\": {{{}}}}}}}", members.join(","))
    };
    assert_eq!(mistakes(&text("*", GLOBS_MAX)), "");
    assert!(mistakes(&text("*", GLOBS_MAX + 1)).contains("more than 256 globs"));
    assert_eq!(mistakes(&text("", 2_000)), "");
}

#[test]
fn what_does_not_count_is_warned_about_with_what_does() {
    for (text, told) in [
        ("{\"sesion_tracking\": {}}", ""),
        (
            "{\"session_tracking\":{\"inactivity_timout\": 3}}",
            "is not a key; did you mean session_tracking.inactivity_timeout?",
        ),
        ("{\"database\": {\"uri\": \"x\"}}", "line 1: \"database\" is not a key"),
        (
            "{\"session_tracking\":{\"projects\": {\"/a\": {\"enabld\": true}}}}",
            "\"enabld\" is not a key; a project has `enabled`",
        ),
        ("{\"version\": \"2.0\"}", "line 1: version is not used: not needed"),
        ("{\"projects\": {\"h__1\": {\"project_root\": \"/p\"}}}", "use session_tracking.projects.{path}.enabled"),
        ("{\"hooks\": {\"hook_timeout\": 30000}}", "use hooks.timeout_ms"),
        (
            "{\"llm\": {\"prices\": {\"m\": {\"input\": 1, \"output\": 2, \"chace_read\": 3}}}}",
            "a price has input, output, cache_read",
        ),
    ] {
        let found = warnings(text);
        assert!(found.contains(told) && !found.is_empty(), "{text:?}\n{found}\n{told}");
    }
    assert_eq!(warnings("{\"_x\": 1, \"session_tracking\": {\"_y\": 1, \"_y_\": 2}}"), "");
}

/// The files that the original's documentation prints, with every key in them.
#[test]
fn every_key_of_the_original_documents_is_known() {
    let originals = r#"{
  "version": "2.0",
  "session_tracking": {
    "enabled": true, "mode": "claude_code_jsonl", "incremental": true, "auto_summarize_on_close": true,
    "inactivity_timeout": 300, "_inactivity_timeout_help": "…", "watch_directories": ["/w"],
    "chunking": {"strategy": "exchange", "max_chunk_tokens": 1000},
    "filtering": {"keep_user_messages": true, "keep_agent_responses": true, "keep_tool_structure": true,
                  "omit_tool_outputs": true, "omit_file_contents": true, "max_output_summary_chars": 200},
    "indexing": {"frequency": "realtime", "batch_interval_minutes": 5},
    "summarization": {"model": "gpt-4.1-mini", "max_summary_tokens": 2000},
    "hooks": {"enabled": true, "socket_enabled": true, "socket_path": null, "hook_timeout": 30000, "async_indexing": false}
  },
  "hooks": {"socket_enabled": true, "async_indexing": false, "hook_timeout": 30000},
  "projects": {"hostname__abc123": {"project_root": "/p", "jsonl_path": "~/x", "session_tracking_enabled": true}},
  "global": {"track_session_logs": true, "session_log_sources": []}
}"#;
    let parsed = parsed(originals);
    assert_eq!(parsed.mistakes, []);
    for warning in &parsed.warnings {
        assert!(warning.what.contains(" is not used: "), "{warning}");
    }
    assert_eq!(parsed.warnings.len(), 14, "{:#?}", parsed.warnings);
}

#[test]
fn the_folder_for_notes_is_a_name_on_every_system() {
    for (text, fits) in [
        ("claude", true),
        ("notes/claude", true),
        ("Notizen für später", true),
        ("", false),
        ("/claude", false),
        ("claude/", false),
        ("../claude", false),
        ("a/../b", false),
        (".obsidian", false),
        ("a/.git", false),
        ("c:", false),
        ("a\\b", false),
        ("a#b", false),
        ("name.", false),
        ("name ", false),
        ("a\nb", false),
        ("CON", false),
        ("notes/aux.md", false),
        ("LPT1", false),
        ("nul", false),
        ("concert", true),
        (&"x".repeat(121), false),
    ] {
        assert_eq!(is_below(text), fits, "{text:?}");
    }
}

#[test]
fn a_wrong_value_that_is_a_secret_is_not_repeated() {
    let key = format!("sk-{}", "a1B2c3D4e5F6".repeat(3));
    let found = mistakes(&format!("{{\"llm\": {{\"max_output_tokens\": \"{key}\"}}}}"));
    assert!(found.contains("must be") && !found.contains(&key), "{found}");
}

#[test]
fn variables_are_expanded_and_a_dollar_alone_is_one() {
    for (text, expected) in [
        ("~", "/home/u"),
        ("~/a", "/home/u/a"),
        ("~other/a", "~other/a"),
        ("a~", "a~"),
        ("$HOME/x$HOME", "/home/u/x/home/u"),
        ("${HOME}x", "/home/ux"),
        ("/a$/b", "/a$/b"),
        ("/größe/日本", "/größe/日本"),
    ] {
        assert_eq!(expand(text, &lookup).as_deref(), Ok(expected), "{text}");
    }
    assert!(expand("$HOMEX", &lookup).unwrap_err().contains("$HOMEX, which is not set"));
}

proptest::proptest! {
    /// Arbitrary text gives remarks, each on an existing line, and never panics.
    #[test]
    fn arbitrary_text_is_remarked_on(
        text in "\\PC{0,200}",
        like in "[\\[\\]{}\":,a-z_0-9. \n\\\\u]{0,120}",
        patch in "\\PC{0,4}",
        at in 0_usize..400,
    ) {
        let whole = r#"{"session_tracking": {"enabled": true, "check_interval": 60, "projects": {"/srv/*": {"enabled": false}}},
"llm": {"enabled": false, "prices": {}}, "_note": "é"}"#;
        let cut = (0..=at.min(whole.len())).rev().find(|at| whole.is_char_boundary(*at)).unwrap_or(0);
        let patched = format!("{}{patch}{}", &whole[..cut], &whole[cut..]);
        for text in [&text, &like, &patched, &whole[..cut].to_owned()] {
            let parsed = parsed(text);
            let lines = text.lines().count().max(1) + 1;
            for remark in parsed.mistakes.iter().chain(&parsed.warnings) {
                proptest::prop_assert!(remark.line.is_none_or(|line| (1..=lines).contains(&line)), "{remark} of {text:?}");
                proptest::prop_assert!(!remark.what.is_empty());
            }
        }
    }
}
