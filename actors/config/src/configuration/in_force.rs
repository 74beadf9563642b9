//! Converts a parsed configuration into settings, and lists each key with its value and origin.

use std::path::{Path, PathBuf};
use std::time::Duration;

use baton_episode::digest::Show;
use baton_events::prices::{Price, Prices};
use serde_json::Value;

use super::Source;
use super::key::{KEYS, PROJECTS, Use};
use super::parse::{Parsed, Remark};
use crate::endpoint::{BaseUrl, Endpoint, KeySource};
use crate::settings::pattern::Pattern;
use crate::settings::{Embedding, Hooks, Llm, Relay, Settings, Switches, Update, Vault};
use baton_protocol::HOOK_END_MS;

/// The keys that are required for vectors.
const EMBEDDING: [&str; 2] = ["memory.embedding.base_url", "memory.embedding.model"];

/// The default endpoint, its model, and the variable of its key.
const OPENAI: &str = "https://api.openai.com/v1";
const OPENAI_MODEL: &str = "gpt-4.1-mini";
const OPENAI_KEY: &str = "OPENAI_API_KEY";

/// A configuration for display.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The file.
    pub path: PathBuf,
    /// Every key that has an effect, in a fixed order.
    pub values: Vec<ShownValue>,
    /// Warnings about settings that have no effect, or a limited one.
    pub warnings: Vec<Remark>,
    /// Mistakes in the file.
    pub mistakes: Vec<Remark>,
}

/// A key with the value in force.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownValue {
    /// The path of the key, joined with dots.
    pub key: String,
    /// The value in force.
    pub value: Value,
    /// `default`, `environment`, `config.json:LINE`, `last good copy`, or `until config.json is mended`.
    pub origin: String,
}

/// The settings in force. `base` holds the values of keys that are not set.
pub(super) fn settings(parsed: &Parsed, base: &Settings) -> Settings {
    let said = |name: &str| parsed.values.get(name).map(|(value, _)| value);
    let switch = |name: &str, otherwise: bool| said(name).and_then(Value::as_bool).unwrap_or(otherwise);
    let whole = |name: &str| said(name).and_then(Value::as_u64);
    let ms = |name: &str, otherwise: i64| {
        whole(name).map_or(otherwise, |s| i64::try_from(s.saturating_mul(1000)).unwrap_or(i64::MAX))
    };
    let texts =
        |name: &str| -> Option<Vec<&str>> { Some(said(name)?.as_array()?.iter().filter_map(Value::as_str).collect()) };
    let mut policy = base.policy.clone();
    policy.tracked = switch("session_tracking.enabled", policy.tracked);
    policy.inactivity_timeout_ms = ms("session_tracking.inactivity_timeout", policy.inactivity_timeout_ms);
    policy.check_interval_ms = ms("session_tracking.check_interval", policy.check_interval_ms);
    // Parsing has already checked these patterns by the same rules, so none is dropped here.
    let globs = texts("session_tracking.exclude").unwrap_or_default();
    let exclude = globs.into_iter().filter_map(|glob| Some(Pattern::new(glob).ok()?.through_links())).collect();
    let projects = parsed.projects.iter().map(|project| (project.pattern.clone(), project.enabled)).collect();
    let filtering = |name: &str, otherwise: bool| switch(&format!("session_tracking.filtering.{name}"), otherwise);
    let shown = base.filtering;
    let is_named = ["llm.model", "llm.base_url"].iter().any(|name| said(name).is_some_and(|value| !value.is_null()));
    let (enabled, disabled) = match llm(parsed) {
        Some((llm, true)) => (Some(llm), None),
        Some((llm, false)) => (None, Some(llm).filter(|_| is_named)),
        None => (None, None),
    };
    Settings {
        policy,
        lazy_budget: whole("session_tracking.lazy_index.budget_ms").map_or(base.lazy_budget, Duration::from_millis),
        switches: match parsed.projects.is_empty() && said("session_tracking.exclude").is_none() {
            true => base.switches.clone(),
            false => Switches::new(projects, exclude),
        },
        watch_directories: texts("session_tracking.watch_directories")
            .map(|texts| texts.into_iter().map(PathBuf::from).collect())
            .or_else(|| base.watch_directories.clone()),
        project_stores: texts("session_tracking.project_stores")
            .map_or_else(|| base.project_stores.clone(), |texts| texts.into_iter().map(PathBuf::from).collect()),
        hooks: Hooks {
            enabled: switch("hooks.enabled", base.hooks.enabled),
            socket_path: said("hooks.socket_path")
                .map_or_else(|| base.hooks.socket_path.clone(), |path| path.as_str().map(PathBuf::from)),
            timeout_ms: said("hooks.timeout_ms").map_or(base.hooks.timeout_ms, Value::as_u64),
        },
        handoff_bytes: whole("handoff.max_bytes")
            .and_then(|bytes| usize::try_from(bytes).ok())
            .unwrap_or(base.handoff_bytes),
        handoff_of_team: said("handoff.from").map_or(base.handoff_of_team, |from| from == "team"),
        filtering: Show {
            keep_user_messages: filtering("keep_user_messages", shown.keep_user_messages),
            keep_agent_responses: filtering("keep_agent_responses", shown.keep_agent_responses),
            keep_tool_structure: filtering("keep_tool_structure", shown.keep_tool_structure),
            omit_tool_outputs: filtering("omit_tool_outputs", shown.omit_tool_outputs),
            max_output_summary_chars: whole("session_tracking.filtering.max_output_summary_chars")
                .and_then(|chars| usize::try_from(chars).ok())
                .unwrap_or(shown.max_output_summary_chars),
        },
        prices: said("llm.prices").map_or_else(|| base.prices.clone(), prices),
        embedding: embedding(parsed).or_else(|| base.embedding.clone()),
        llm: enabled.or_else(|| base.llm.clone()),
        llm_off: disabled.or_else(|| base.llm_off.clone()),
        vault: Vault {
            enabled: switch("vault.enabled", base.vault.enabled),
            path: said("vault.path").map_or_else(|| base.vault.path.clone(), |path| path.as_str().map(PathBuf::from)),
            root: said("vault.root").and_then(Value::as_str).map_or_else(|| base.vault.root.clone(), str::to_owned),
            compact_lines: whole("vault.compact_lines").unwrap_or(base.vault.compact_lines),
            compact_days: whole("vault.compact_days").unwrap_or(base.vault.compact_days),
            promote_recalls: whole("vault.promote_recalls").unwrap_or(base.vault.promote_recalls),
        },
        update: Update {
            check: switch("update.check", base.update.check),
            url: said("update.url")
                .map_or_else(|| base.update.url.clone(), |url| url.as_str().and_then(|url| BaseUrl::new(url).ok())),
            key: said("update.key").map_or_else(|| base.update.key.clone(), |key| key.as_str().map(str::to_owned)),
        },
        relay: Relay {
            enabled: switch("relay.enabled", base.relay.enabled),
            url: said("relay.url").map_or_else(|| base.relay.url.clone(), |url| url.as_str().map(str::to_owned)),
            name: said("relay.name").map_or_else(|| base.relay.name.clone(), |name| name.as_str().map(str::to_owned)),
            share: texts("relay.share")
                .map_or_else(|| base.relay.share.clone(), |texts| texts.into_iter().map(str::to_owned).collect()),
            key_file: said("relay.key_file")
                .map_or_else(|| base.relay.key_file.clone(), |path| path.as_str().map(PathBuf::from)),
            credentials_file: said("relay.credentials_file")
                .map_or_else(|| base.relay.credentials_file.clone(), |path| path.as_str().map(PathBuf::from)),
        },
        imported: base.imported.clone(),
        home: base.home.clone(),
    }
}

/// The embedding model, if both address and model are set.
fn embedding(parsed: &Parsed) -> Option<Embedding> {
    let said = |name: &str| parsed.values.get(name).map(|(value, _)| value);
    let text = |name: &str| said(name).and_then(Value::as_str);
    let endpoint = Endpoint {
        // Parsing has already checked it by the same rules.
        base_url: BaseUrl::new(text(EMBEDDING[0])?).ok()?,
        model: text(EMBEDDING[1])?.trim().to_owned(),
        key: text("memory.embedding.api_key_env").map(KeySource::variable),
    };
    let dimensions = said("memory.embedding.dimensions").and_then(Value::as_u64);
    Some(Embedding { endpoint, dimensions: dimensions.and_then(|count| usize::try_from(count).ok()) })
}

/// The configured language model, and whether it is enabled.
fn llm(parsed: &Parsed) -> Option<(Llm, bool)> {
    let said = |name: &str| parsed.values.get(name).map(|(value, _)| value).filter(|value| !value.is_null());
    let text = |name: &str| said(name).and_then(Value::as_str).map(str::trim);
    let whole = |name: &str, otherwise: u64| said(name).and_then(Value::as_u64).unwrap_or(otherwise);
    // For a budget, `null` means no limit.
    let budget = |name: &str, otherwise: f64| match parsed.values.get(name) {
        Some((value, _)) => value.as_f64(),
        None => Some(otherwise),
    };
    let is_enabled = said("llm.enabled").and_then(Value::as_bool).unwrap_or(false);
    // Parsing has already checked it by the same rules.
    let base_url = BaseUrl::new(text("llm.base_url").unwrap_or(OPENAI)).ok()?;
    let key = match (text("llm.api_key_file"), text("llm.api_key_env")) {
        (Some(path), _) => Some(KeySource::file(path)),
        (None, Some(name)) => Some(KeySource::variable(name)),
        // A local server needs no OpenAI key, and the key is never sent unencrypted unless it is configured explicitly.
        (None, None) => (base_url.is_encrypted() && !base_url.is_local()).then(|| KeySource::variable(OPENAI_KEY)),
    };
    let llm = Llm {
        endpoint: Endpoint { base_url, model: text("llm.model").unwrap_or(OPENAI_MODEL).to_owned(), key },
        context_tokens: whole("llm.context_tokens", 128_000),
        max_output_tokens: whole("llm.max_output_tokens", 2_000),
        timeout: Duration::from_millis(whole("llm.timeout_ms", 120_000)),
        max_concurrency: usize::try_from(whole("llm.max_concurrency", 2)).unwrap_or(1),
        session_budget_usd: budget("llm.session_budget_usd", 0.5),
        daily_budget_usd: budget("llm.daily_budget_usd", 5.0),
    };
    Some((llm, is_enabled))
}

/// A warning if some embedding key is set but a required one is not.
pub(super) fn embedding_warning(parsed: &Parsed) -> Option<Remark> {
    let is_set = |name: &str| parsed.values.get(name).filter(|(value, _)| !value.is_null());
    let missing = EMBEDDING.into_iter().find(|name| is_set(name).is_none())?;
    let known = KEYS.iter().filter(|key| key.name.starts_with("memory.embedding."));
    let (name, (_, line)) = known.filter_map(|key| Some((key.name, is_set(key.name)?))).next()?;
    let what = format!("{name} is set and {missing} is not, so no vectors are made; set {missing}, or remove {name}");
    Some(Remark { line: Some(*line), what })
}

/// A warning if the hook timeout exceeds what counts at a session's end.
fn hook_timeout_warning(parsed: &Parsed) -> Option<Remark> {
    let (value, line) = parsed.values.get("hooks.timeout_ms")?;
    let ms = value.as_u64().filter(|ms| *ms > HOOK_END_MS)?;
    let what = format!(
        "hooks.timeout_ms is {ms}, but at a session's end at most {HOOK_END_MS} applies: agents give all its hooks 1.5 s \
         together"
    );
    Some(Remark { line: Some(*line), what })
}

/// A warning if an enabled model's answers leave no room for a conversation.
fn answer_room_warning(parsed: &Parsed) -> Option<Remark> {
    let (what, fix) = llm(parsed).filter(|(_, is_enabled)| *is_enabled)?.0.answer_room_warning()?;
    let line = ["llm.max_output_tokens", "llm.context_tokens"].iter().find_map(|name| parsed.values.get(*name));
    Some(Remark { line: line.map(|(_, line)| *line), what: format!("{what}; {fix}") })
}

/// Converts parsed prices; each has input and output.
fn prices(value: &Value) -> Prices {
    let price = |(model, fields): (&String, &Value)| {
        let amount = |name: &str| fields.get(name).and_then(Value::as_f64);
        let usual = Price::new(amount("input")?, amount("output")?);
        let price = Price {
            cache_read: amount("cache_read").unwrap_or(usual.cache_read),
            cache_write: amount("cache_write").unwrap_or(usual.cache_write),
            cache_write_1h: amount("cache_write_1h").unwrap_or(usual.cache_write_1h),
            ..usual
        };
        Some((model.clone(), price))
    };
    Prices::new(value.as_object().into_iter().flatten().filter_map(price).collect())
}

/// The daemon's default directories, and whether they are where the agent has them by default.
pub(super) struct OwnDirectories {
    pub(super) directories: Vec<PathBuf>,
    pub(super) usual: bool,
}

/// Every key with its value and origin.
pub(super) fn shown(path: &Path, parsed: &Parsed, source: Source, mistakes: &[Remark], own: &OwnDirectories) -> Shown {
    let mut values = Vec::new();
    for key in KEYS.iter().filter(|key| !matches!(key.used, Use::Former(_))) {
        let (value, origin) = match parsed.values.get(key.name) {
            Some((value, line)) => (value.clone(), origin_of(source, *line)),
            None if key.name == "session_tracking.watch_directories" => {
                let paths: Vec<String> = own.directories.iter().map(|path| path.display().to_string()).collect();
                (paths.into(), if own.usual { "default" } else { "environment" }.to_owned())
            }
            // Defaults are valid JSON: a test parses them all.
            None => (serde_json::from_str(key.default).unwrap_or_default(), "default".to_owned()),
        };
        values.push(ShownValue { key: key.name.to_owned(), value, origin });
        if key.name == "session_tracking.exclude" {
            values.extend(parsed.projects.iter().map(|project| ShownValue {
                key: format!("{PROJECTS}.{}.enabled", project.written),
                value: project.enabled.into(),
                origin: origin_of(source, project.line),
            }));
        }
    }
    let warnings = parsed
        .warnings
        .iter()
        .cloned()
        .chain(embedding_warning(parsed))
        .chain(answer_room_warning(parsed))
        .chain(hook_timeout_warning(parsed))
        .collect();
    Shown { path: path.to_owned(), values, warnings, mistakes: mistakes.to_vec() }
}

fn origin_of(source: Source, line: usize) -> String {
    match source {
        Source::LastGoodCopy => "last good copy".to_owned(),
        Source::Stopped => "until config.json is mended".to_owned(),
        _ => format!("{}:{line}", super::file::NAME),
    }
}
