use std::fs;
use std::time::Duration;

use super::*;

struct World {
    temp: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        Self { temp: tempfile::tempdir().unwrap() }
    }

    fn open(&self) -> Configuration {
        let lookup = |name: &str| match name {
            "HOME" => Some("/home/u".to_owned()),
            "CLAUDE_CONFIG_DIR" => Some("/home/u/.claude".to_owned()),
            _ => None,
        };
        let roots = vec![PathBuf::from("/home/u/.claude/projects")];
        Configuration::with_lookup(self.temp.path(), Settings::default(), roots, Box::new(lookup))
    }

    fn write(&self, text: &str) {
        durable::write_file(&self.temp.path().join("config.json"), text.as_bytes()).unwrap();
    }

    fn text(&self) -> String {
        fs::read_to_string(self.temp.path().join("config.json")).unwrap()
    }
}

use baton_base::durable;

fn timeout(seconds: u64) -> String {
    format!("{{\n  \"session_tracking\": {{\"inactivity_timeout\": {seconds}}}\n}}\n")
}

fn timeout_of(configuration: &Configuration) -> i64 {
    configuration.settings().now().policy.inactivity_timeout_ms / 1000
}

fn shown(configuration: &Configuration, key: &str) -> (String, String) {
    let shown = configuration.for_display();
    let value = shown.values.iter().find(|value| value.key == key).unwrap();
    (value.value.to_string(), value.origin.clone())
}

const TIMEOUT: &str = "session_tracking.inactivity_timeout";

#[test]
fn without_a_file_the_defaults_hold() {
    let world = World::new();
    let configuration = world.open();
    assert_eq!(*configuration.settings().now(), Settings::default());
    assert_eq!(shown(&configuration, TIMEOUT), ("1800".to_owned(), "default".to_owned()));
    assert_eq!(
        shown(&configuration, "session_tracking.watch_directories"),
        ("[\"/home/u/.claude/projects\"]".to_owned(), "default".to_owned())
    );
    assert!(!world.temp.path().join("config.json").exists(), "looking writes nothing");
}

#[test]
fn every_key_reaches_the_settings() {
    let world = World::new();
    world.write(
        r#"{"session_tracking": {"enabled": false, "watch_directories": ["~/t"], "inactivity_timeout": 0,
            "check_interval": 7, "projects": {"/srv/a": {"enabled": true}}, "exclude": ["/srv/b"],
            "filtering": {"keep_user_messages": false, "keep_agent_responses": false, "keep_tool_structure": false,
                          "omit_tool_outputs": false, "max_output_summary_chars": 9},
            "lazy_index": {"budget_ms": 11}},
            "hooks": {"enabled": false, "socket_path": "/run/b.sock", "timeout_ms": 12}, "handoff": {"max_bytes": 300},
            "memory": {"embedding": {"base_url": "http://[::1]:8080/v1/", "model": "bge ", "api_key_env": "K", "dimensions": 8}}}"#,
    );
    let configuration = world.open();
    let settings = configuration.settings().now();
    assert!(!settings.policy.tracked && settings.policy.timeout_disabled());
    assert_eq!(settings.policy.check_interval_ms, 7_000);
    assert_eq!(settings.lazy_budget, Duration::from_millis(11));
    let hooks =
        crate::settings::Hooks { enabled: false, socket_path: Some("/run/b.sock".into()), timeout_ms: Some(12) };
    assert_eq!((&settings.hooks, settings.handoff_bytes), (&hooks, 300));
    let endpoint = crate::endpoint::Endpoint {
        base_url: crate::endpoint::BaseUrl::new("http://[::1]:8080/v1").unwrap(),
        model: "bge".to_owned(),
        key: Some(crate::endpoint::KeySource::variable("K")),
    };
    assert_eq!(settings.embedding, Some(crate::settings::Embedding { endpoint, dimensions: Some(8) }));
    assert_eq!(settings.watch_directories, Some(vec![PathBuf::from("/home/u/t")]));
    assert_eq!(settings.switches.projects().collect::<Vec<_>>(), [("/srv/a", true)]);
    assert_eq!(settings.switches.exclude().collect::<Vec<_>>(), ["/srv/b"]);
    let filtering = baton_episode::digest::Show {
        keep_user_messages: false,
        keep_agent_responses: false,
        keep_tool_structure: false,
        omit_tool_outputs: false,
        max_output_summary_chars: 9,
    };
    assert_eq!(settings.filtering, filtering);
    assert_eq!(shown(&configuration, TIMEOUT), ("0".to_owned(), "config.json:1".to_owned()));
    assert_eq!(
        shown(&configuration, "session_tracking.projects./srv/a.enabled"),
        ("true".to_owned(), "config.json:2".to_owned())
    );
}

#[test]
fn a_model_is_asked_only_where_it_is_switched_on() {
    use crate::endpoint::KeySource;
    let told = |text: &str| {
        let world = World::new();
        world.write(&format!("{{\"llm\": {{{text}}}}}"));
        let configuration = world.open();
        assert!(configuration.mistakes().is_empty(), "{text}: {:?}", configuration.mistakes());
        let settings = configuration.settings().now();
        settings.llm.clone()
    };
    assert_eq!(told(""), None);
    assert_eq!(told("\"base_url\": \"http://localhost:1/v1\", \"model\": \"m\""), None);
    let usual = told("\"enabled\": true").unwrap();
    assert_eq!(usual.endpoint.base_url.as_str(), "https://api.openai.com/v1");
    assert_eq!(usual.endpoint.key, Some(KeySource::variable("OPENAI_API_KEY")));
    assert_eq!((usual.endpoint.model.as_str(), usual.max_output_tokens), ("gpt-4.1-mini", 2_000));
    assert_eq!((usual.session_budget_usd, usual.daily_budget_usd), (Some(0.5), Some(5.0)));
    let local = "\"enabled\": true, \"base_url\": \"http://127.0.0.1:8080/v1\"";
    assert_eq!(told(local).unwrap().endpoint.key, None, "a local server needs no key of somebody else");
    let near = "\"enabled\": true, \"base_url\": \"http://192.168.1.20:8000/v1\"";
    assert_eq!(told(near).unwrap().endpoint.key, None, "unasked, no key goes anywhere in the clear");
    let named = told(&format!("{near}, \"api_key_env\": \"K\"")).unwrap();
    assert_eq!(named.endpoint.key, Some(KeySource::variable("K")));
    let elsewhere = told("\"enabled\": true, \"base_url\": \"https://models.example.org/v1\"").unwrap();
    assert_eq!(elsewhere.endpoint.key, Some(KeySource::variable("OPENAI_API_KEY")));
    for (more, key) in [
        ("\"api_key_env\": \"K\"", KeySource::variable("K")),
        ("\"api_key_env\": \"K\", \"api_key_file\": \"/run/key\"", KeySource::file("/run/key")),
        ("\"api_key_file\": \"~/key\"", KeySource::file("/home/u/key")),
    ] {
        assert_eq!(told(&format!("{local}, {more}")).unwrap().endpoint.key, Some(key), "{more}");
    }
    let said = told(
        "\"enabled\": true, \"model\": \"m \", \"max_output_tokens\": 9, \"timeout_ms\": 8, \"max_concurrency\": 7, \
         \"session_budget_usd\": 0, \"daily_budget_usd\": null, \"base_url\": null",
    )
    .unwrap();
    assert_eq!((said.endpoint.model.as_str(), said.max_output_tokens, said.max_concurrency), ("m", 9, 7));
    assert_eq!((said.timeout, said.session_budget_usd), (Duration::from_millis(8), Some(0.0)));
    assert_eq!(said.daily_budget_usd, None);
}

#[test]
fn a_mistake_keeps_what_held_while_running_and_over_a_restart() {
    let world = World::new();
    world.write(&timeout(60));
    let configuration = world.open();
    assert_eq!(timeout_of(&configuration), 60);
    assert_eq!(shown(&configuration, TIMEOUT).1, "config.json:2");

    world.write("{\n  \"session_tracking\": {\"inactivity_timeout\": \"soon\"}\n}\n");
    configuration.look();
    assert_eq!(timeout_of(&configuration), 60);
    assert_eq!(shown(&configuration, TIMEOUT), ("60".to_owned(), "last good copy".to_owned()));
    let told = configuration.mistakes()[0].to_string();
    assert!(
        told.starts_with("config.json, line 2: session_tracking.inactivity_timeout must be a whole number"),
        "{told}"
    );
    drop(configuration);

    // The mistake survives a restart, and a file with a mistake is not edited.
    let configuration = world.open();
    assert_eq!(timeout_of(&configuration), 60);
    assert_eq!(shown(&configuration, TIMEOUT), ("60".to_owned(), "last good copy".to_owned()));
    let error = configuration.enable(false).unwrap_err();
    assert!(matches!(&error, WriteError::Mistaken(_)) && error.to_string().contains("line 2"), "{error}");

    // Fixed.
    world.write(&timeout(61));
    configuration.look();
    assert_eq!((timeout_of(&configuration), configuration.mistakes()), (61, vec![]));
}

#[test]
fn a_file_that_vanishes_lifts_nothing_until_its_copy_is_deleted_too() {
    let world = World::new();
    let path = |name: &str| world.temp.path().join(name);
    let text = "{\"session_tracking\": {\"inactivity_timeout\": 61, \"exclude\": [\"/srv/private\"]}}";
    world.write(text);
    let configuration = world.open();
    fs::remove_file(path("config.json")).unwrap();
    configuration.look();
    for configuration in [&configuration, &world.open()] {
        let excluded = configuration.settings().now().switches.exclude().count();
        assert_eq!((timeout_of(configuration), excluded), (61, 1));
        let told = configuration.mistakes()[0].to_string();
        assert!(told.contains("it is missing") && told.contains("config.last-good.json"), "{told}");
    }
    // Setting a switch writes it anew with the configuration in force.
    configuration.enable(false).unwrap();
    assert!(world.text().contains("/srv/private") && world.text().contains("false"), "{}", world.text());
    assert_eq!(configuration.mistakes(), []);
    fs::remove_file(path("config.json")).unwrap();
    configuration.enable(false).unwrap();
    assert!(world.text().contains("/srv/private"), "with nothing to change too: {}", world.text());

    fs::remove_file(path("config.json")).unwrap();
    configuration.look();
    fs::remove_file(path("config.last-good.json")).unwrap();
    configuration.look();
    assert_eq!((timeout_of(&configuration), configuration.mistakes()), (1800, vec![]));
}

#[test]
fn a_mistake_without_a_good_copy_stops_tracking_until_it_is_mended() {
    let world = World::new();
    world.write("{\n\"session_tracking\": {\"exclude\": \"/srv/private\"}}");
    let configuration = world.open();
    let tracked = || configuration.settings().now().policy.tracked;
    assert!(!tracked() && configuration.mistakes()[0].line == Some(2));
    assert!(configuration.fix().contains("session tracking is off"), "{}", configuration.fix());
    assert_eq!(shown(&configuration, "session_tracking.enabled").0, "false");
    configuration.look();
    assert!(!tracked());
    let error = configuration.enable(true).unwrap_err();
    assert!(error.to_string().contains("line 2"), "{error}");
    world.write("{\n\"session_tracking\": {\"exclude\": [\"/srv/private\"]}}");
    configuration.look();
    assert!(tracked() && configuration.mistakes().is_empty());
    assert!(configuration.fix().contains("last good"));
}

#[test]
fn no_kind_of_file_stops_anything() {
    let world = World::new();
    world.write(&timeout(60));
    let configuration = world.open();
    let path = world.temp.path().join("config.json");
    let check = |what: &str| {
        configuration.look();
        assert_eq!(timeout_of(&configuration), 60, "{what}");
        assert_eq!(timeout_of(&world.open()), 60, "{what}, after a restart");
        assert!(configuration.mistakes()[0].to_string().contains(what), "{:?}", configuration.mistakes());
    };
    for (text, what) in [
        (&b"\xef\xbb\xbf{}"[..], "byte order mark"),
        (b"{\"a\": \"\xff\"}", "not UTF-8"),
        (b"[]", "must be an object"),
        (b"{\"a\":1,\"a\":2}", "occurs twice"),
    ] {
        durable::write_file(&path, text).unwrap();
        check(what);
    }
    durable::write_file(&path, &vec![b' '; 2 * 1024 * 1024]).unwrap();
    check("larger than");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    check("is a directory");
}

#[test]
fn a_switch_is_written_and_everything_else_stays() {
    let world = World::new();
    let text = "{\n  \"_mine\": \"a comment\",\n  \"unknown\": [1,  2],\n  \"session_tracking\": {\n    \"projects\": {\"~/app\": {\"enabled\": true}}\n  }\n}\n";
    world.write(text);
    let configuration = world.open();
    configuration.enable_project("/home/u/app", false).unwrap();
    assert_eq!(world.text(), text.replace("true", "false"), "the same project under another spelling");
    configuration.enable(false).unwrap();
    configuration.enable_project("/srv/größe", true).unwrap();
    let settings = configuration.settings().now();
    assert!(!settings.policy.tracked);
    assert_eq!(settings.switches.projects().collect::<Vec<_>>(), [("/home/u/app", false), ("/srv/größe", true)]);
    for kept in ["\"_mine\": \"a comment\"", "\"unknown\": [1,  2]", "\"~/app\""] {
        assert!(world.text().contains(kept), "{}", world.text());
    }
    assert_eq!(world.open().settings().now(), settings);
    let error = configuration.enable_project("/a***", true).unwrap_err();
    assert!(error.to_string().contains("not a path or glob"), "{error}");
}

#[test]
fn a_project_whose_stores_are_read_is_named_once_and_taken_out_again() {
    let world = World::new();
    let configuration = world.open();
    let named = || configuration.settings().now().project_stores.clone();
    for (project, is_read, expected) in [
        ("/srv/a", true, &["/srv/a"][..]),
        ("/srv/b", true, &["/srv/a", "/srv/b"]),
        ("/srv/a", true, &["/srv/b", "/srv/a"]),
        ("/srv/b", false, &["/srv/a"]),
        ("/srv/c", false, &["/srv/a"]),
        ("/srv/a", false, &[]),
    ] {
        configuration.read_stores_in(project, is_read).unwrap();
        assert_eq!(named(), expected.iter().map(std::path::PathBuf::from).collect::<Vec<_>>(), "{project}");
    }
    assert!(configuration.read_stores_in("a/b", true).is_err());
}

#[test]
fn an_import_is_shown_first_and_then_written() {
    let world = World::new();
    let configuration = world.open();
    let original = timeout(77);
    let told = configuration.import(&original, false, true).unwrap();
    assert_eq!((told.len(), told[0].outcome), (1, Outcome::Taken));
    assert_eq!(timeout_of(&configuration), 1800, "a dry run");
    configuration.import(&original, false, false).unwrap();
    assert_eq!(timeout_of(&configuration), 77);
    let told = configuration.import(&timeout(78), false, false).unwrap();
    assert_eq!((told[0].outcome, timeout_of(&configuration)), (Outcome::Kept, 77));
    assert!(matches!(configuration.import("nonsense", false, false), Err(WriteError::Refused(_))));
}

proptest::proptest! {
    /// Whatever is at the path of the file and of its copy, the defaults or the last good values hold, and the reason
    /// is given.
    #[test]
    fn arbitrary_bytes_are_no_configuration(
        bytes in proptest::collection::vec(proptest::num::u8::ANY, 1..200),
        copy in proptest::collection::vec(proptest::num::u8::ANY, 0..200),
        has_good_copy in proptest::bool::ANY,
    ) {
        let world = World::new();
        let copy = if has_good_copy { timeout(77).into_bytes() } else { copy };
        fs::write(world.temp.path().join("config.json"), &bytes).unwrap();
        fs::write(world.temp.path().join("config.last-good.json"), &copy).unwrap();
        let configuration = world.open();
        let mistaken = !configuration.mistakes().is_empty();
        let expected = if has_good_copy && mistaken { 77 } else { 1800 };
        proptest::prop_assert_eq!(timeout_of(&configuration), expected);
        proptest::prop_assert!(mistaken || std::str::from_utf8(&bytes).is_ok());
        proptest::prop_assert_eq!(fs::read(world.temp.path().join("config.json")).unwrap(), bytes, "left as it is");
    }
}

#[test]
fn configured_prices_hold_and_what_they_leave_out_is_as_usual() {
    let world = World::new();
    world.write("{\"llm\": {\"prices\": {\"my-*\": {\"input\": 2, \"output\": 9, \"cache_read\": 1}}}}");
    let prices = world.open().settings().now().prices.clone();
    let price = prices.price("my-model").unwrap();
    assert_eq!((price.input, price.output, price.cache_read), (2.0, 9.0, 1.0));
    assert_eq!((price.cache_write, price.cache_write_1h), (2.5, 4.0));
    assert_eq!(prices.price("claude-opus-4-5"), Settings::default().prices.price("claude-opus-4-5"));
}

#[test]
fn vectors_are_made_only_where_both_address_and_model_are_set() {
    let (url, model) = ("\n\"base_url\": \"http://localhost:1/v1\"", "\"model\": \"m\"");
    let (unset, key) = ("\"base_url\": null, \"model\": null", "\"api_key_env\": \"K\"");
    for (text, on, lacking) in [
        (String::new(), false, None),
        (unset.to_owned(), false, None),
        (format!("{url}, {model}"), true, None),
        (url.to_owned(), false, Some("line 2: memory.embedding.base_url is set and memory.embedding.model is not")),
        (model.to_owned(), false, Some("line 1: memory.embedding.model is set and memory.embedding.base_url is not")),
        (key.to_owned(), false, Some("memory.embedding.api_key_env is set and memory.embedding.base_url is not")),
        (format!("{unset}, {key}"), false, Some("memory.embedding.api_key_env is set")),
    ] {
        let world = World::new();
        world.write(&format!("{{\"memory\": {{\"embedding\": {{{text}}}}}}}"));
        let configuration = world.open();
        assert!(configuration.mistakes().is_empty(), "{text}: {:?}", configuration.mistakes());
        assert_eq!(configuration.settings().now().embedding.is_some(), on, "{text}");
        let told = configuration.embedding_warning().map(|remark| remark.to_string());
        assert_eq!(told.is_some(), lacking.is_some(), "{text}: {told:?}");
        assert!(told.unwrap_or_default().contains(lacking.unwrap_or_default()), "{text}");
        assert_eq!(
            configuration.for_display().warnings,
            configuration.embedding_warning().into_iter().collect::<Vec<_>>(),
            "{text}"
        );
    }
}

#[test]
fn an_answer_that_leaves_no_room_for_a_conversation_is_warned_of_where_a_model_is_switched_on() {
    for (text, warned) in [
        ("\"enabled\": true", None),
        ("\"context_tokens\": 4096", None),
        ("\"enabled\": true,\n\"context_tokens\": 4096", Some("line 2: llm.max_output_tokens is 2000")),
        (
            "\"enabled\": true, \"context_tokens\": 4096,\n\"max_output_tokens\": 5000",
            Some("line 2: llm.max_output_tokens is 5000"),
        ),
        ("\"enabled\": true, \"context_tokens\": 4096, \"max_output_tokens\": 300", None),
    ] {
        let world = World::new();
        world.write(&format!("{{\"llm\": {{{text}}}}}"));
        let shown = world.open().for_display();
        assert!(shown.mistakes.is_empty(), "{text}: {:?}", shown.mistakes);
        let told: Vec<String> = shown.warnings.iter().map(ToString::to_string).collect();
        match warned {
            None => assert_eq!(told, Vec::<String>::new(), "{text}"),
            Some(warned) => assert!(told.len() == 1 && told[0].contains(warned), "{text}: {told:?}"),
        }
    }
}
