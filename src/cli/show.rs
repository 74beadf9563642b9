//! `baton show`: one session with its episode, or its messages.

mod messages;
mod usage;

use std::collections::BTreeMap;
use std::process::ExitCode;

use baton_conversation::transcript::named_lines;
use baton_protocol::answer::{Metadata, Relation, Row, SessionEnrichment, Show};
use baton_protocol::{Agent, ShowParams, method};

use super::Error;
use crate::environment::{Environment, zone};
use crate::print::{self, Output, Style};

/// Most types of records shown in one line.
const TYPES_SHOWN: usize = 12;
/// Most related sessions shown per kind.
const RELATIONS_SHOWN: usize = 8;

const HELP: &str = "\
Prints the session's state, the contents of its transcript, the usage of its models and the related sessions, then its \
episode. With --messages: what was said, message by message, each call with its result; what was abandoned by going \
back is marked as given up. With --line: the place that a search has found, even if the transcript is gone.

JSON: the fields of `baton sessions --json`, \"episode\", \
\"usage\":{\"models\",\"total\",\"cost_usd\",\"course\",\"copied\",\"subagents\"}, \"relations\":[{\"name\",\"session_id\"}]. \
With --messages: {\"session_id\",\"episode_uuid\",\"total\",\"messages\":[{\"role\",\"line\", \
\"at\",\"message_id\",\"abandoned\",\"sidechain\",\"parts\":[{\"kind\",\"line\",\"text\",\"tool\"}]}],\"next\"}; pass \
`next` as --from to continue, until it is null. With --line also \"focus\": the index of that message.

Examples:
  baton show a94e0d17                  a session and its episode
  baton show a94e0d17 --messages       what was said in it
  baton show a94e0d17 --messages --from 812 --limit 20
  baton show a94e0d17 --line 812 -C 5  what was said there, with five messages on either side";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// The id of a session or of a note, or the beginning of one
    session: String,
    /// Print what was said, message by message
    #[arg(long)]
    messages: bool,
    /// Start at this line of the transcript
    #[arg(long, value_name = "LINE", requires = "messages")]
    from: Option<u64>,
    /// Print the message at this line of the transcript, with those around it
    #[arg(long, value_name = "LINE", conflicts_with_all = ["messages", "from", "limit"])]
    line: Option<u64>,
    /// With --line: how many messages on either side
    #[arg(long, short = 'C', value_name = "K", requires = "line", default_value_t = 3, value_parser = super::number::<u32, 0, 50>)]
    context: u32,
    /// How many messages to print
    #[arg(long, short = 'n', value_name = "N", requires = "messages", value_parser = super::number::<u32, 1, 500>)]
    limit: Option<u32>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    if args.messages || args.line.is_some() {
        return messages::run(environment, args);
    }
    let params = ShowParams { session: super::session(&args.session) };
    let result = super::ask(environment, |client| client.call_raw(method::SHOW, &params, |_| {}))?;
    let output = Output::new();
    if args.json {
        output.json(&result);
        return Ok(ExitCode::SUCCESS);
    }
    let shown: Show = super::parse_result(&result)?;
    output.line(&output.styled(Style::Strong, &shown.row.session_id));
    let mut facts = facts(&shown.row);
    if !shown.unread_lines.is_empty() {
        facts.push(("left out", format!("{}, which this version could not read", named_lines(&shown.unread_lines))));
    }
    // Skip notes: they have no duration and are never sent to a model.
    let is_session = shown.row.source.is_none();
    facts.extend(shown.episode.iter().filter(|_| is_session).flat_map(|episode| numbers(&episode.metadata)));
    facts.extend(shown.usage.iter().flat_map(usage::lines));
    facts.extend(relations(&shown.relations));
    let resume = shown.episode.as_ref().and_then(|episode| episode.resume.clone());
    facts.extend(resume.map(|line| ("go on with", line)));
    for (name, value) in facts {
        output.line(&format!("{} {}", output.styled(Style::Faint, &format!("{name:13}")), print::plain(&value)));
    }
    output.line("");
    match &shown.episode {
        Some(episode) => output.line(print::plain(&episode.content).trim_end()),
        None if shown.row.why.as_deref() == Some("empty") => output.line("Nothing was said in it."),
        None if shown.row.state == "forgotten" => {}
        None if shown.row.episode_deleted => output.line(&print::plain(&format!(
            "Its episode was deleted, or cleared with its group: it is hidden until the session has new messages. `baton forget \
             --undo {}` shows it again; `baton explain` says when it was deleted.",
            shown.row.session_id
        ))),
        None => output.line("No episode yet: `baton close` or any search indexes it."),
    }
    Ok(ExitCode::SUCCESS)
}

/// The session's state and the contents of its transcript.
fn facts(row: &Row) -> Vec<(&'static str, String)> {
    let state = match &row.why {
        Some(why) => format!("{} ({why})", row.state),
        None if row.state == "forgotten" => {
            format!("forgotten; `baton forget --undo {}` lifts that", row.session_id)
        }
        None => row.state.clone(),
    };
    // After a close that did not end it, such as by a search, or after which it went on, only that is known.
    let closed = row.ending(zone::minute).or_else(|| row.close_reason.clone());
    let time = |at: &Option<String>| at.as_deref().map(zone::minute);
    let lines = |count: u64| (count > 0).then(|| print::counted(count, "line"));
    let facts = [
        ("state", Some(state)),
        ("project", row.project.clone()),
        ("agent", row.agent.as_deref().map(|agent| Agent::title_of(agent).to_owned())),
        ("by", row.from.as_ref().map(|from| format!("{} on {}", from.name, from.machine))),
        ("transcript", row.file_path.clone()),
        ("subagent of", row.parent_session_id.clone()),
        ("messages", row.source.is_none().then(|| row.message_count.to_string())),
        ("note", row.source.clone()),
        ("last activity", time(&row.last_activity)),
        ("closed", closed),
        ("indexed", time(&row.last_indexed_at)),
        ("episode", row.episode_uuid.clone()),
        ("enrichment", row.enrichment.as_ref().map(enrichment)),
        ("records", by_type(&row.records_by_type)),
        ("unknown", by_type(&row.unknown_types)),
        ("not readable", lines(row.malformed_lines)),
        ("newer", newer(row.unreadable_events)),
        ("too long", lines(row.oversize_lines)),
    ];
    facts.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// Describes the events that this version cannot read.
fn newer(events: u64) -> Option<String> {
    let events = (events > 0).then(|| print::counted(events, "event"))?;
    Some(format!("{events} of a newer version of Baton; nothing new is recorded until that is installed again"))
}

/// `enriched by gpt-4.1-mini, 2026-03-14 09:26`, `given_up (cut_off)`, `owed (timed_out), again at …`, `enriched by …;
/// asked again: given_up (refused)`.
fn enrichment(enriched: &SessionEnrichment) -> String {
    let by = enriched.model.as_ref().map(|model| format!(" by {model}"));
    let at = enriched.at.as_ref().map(|at| format!(", {}", zone::minute(at)));
    let dropped = (enriched.dropped_claims > 0).then(|| {
        format!(
            "; {} dropped, because their lines do not exist",
            print::counted(enriched.dropped_claims.into(), "claim")
        )
    });
    let unseen = (enriched.unseen > 0)
        .then(|| format!("; {} in the middle not sent", print::counted(enriched.unseen, "message")));
    let asked = enriched.again.as_ref().map(|again| format!("; asked again: {again}"));
    let why = enriched.why.as_ref().map(|why| format!(" ({why})"));
    let again = enriched.retry_at.as_ref().map(|at| format!(", again at {}", zone::minute(at)));
    let step = enriched.next_step.as_ref().map(|step| format!("; {step}"));
    let more = [by, at, dropped, unseen, asked, why, again, step].map(Option::unwrap_or_default).concat();
    format!("{}{more}", enriched.state)
}

/// `assistant 120, user 80, 3 more types`: the most frequent first. `None` if there are none.
fn by_type(counts: &BTreeMap<String, u64>) -> Option<String> {
    let mut types: Vec<(&String, &u64)> = counts.iter().collect();
    types.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
    let mut shown: Vec<String> =
        types.iter().take(TYPES_SHOWN).map(|(name, count)| format!("{name} {count}")).collect();
    let rest = types.len().saturating_sub(TYPES_SHOWN);
    if rest > 0 {
        shown.push(print::counted(rest as u64, "more type"));
    }
    (!shown.is_empty()).then(|| shown.join(", "))
}

/// The related sessions, one line per kind.
fn relations(relations: &[Relation]) -> Vec<(&'static str, String)> {
    let kinds = [
        ("spawned_agent", "subagents"),
        ("continues", "continues"),
        ("continued_by", "continued by"),
        ("preceded_by", "after"),
        ("followed_by", "before"),
    ];
    let line = |name: &str| {
        let found: Vec<&Relation> = relations.iter().filter(|relation| relation.name == name).collect();
        let mut shown: Vec<String> = found.iter().take(RELATIONS_SHOWN).map(|relation| related(relation)).collect();
        let rest = found.len().saturating_sub(RELATIONS_SHOWN);
        if rest > 0 {
            shown.push(format!("{rest} more"));
        }
        shown.join("; ")
    };
    let lines = kinds.into_iter().map(|(name, shown)| (shown, line(name)));
    lines.filter(|(_, line)| !line.is_empty()).collect()
}

fn related(relation: &Relation) -> String {
    let about = [&relation.agent_type, &relation.description, &relation.title];
    let aside: Vec<String> = about.into_iter().flatten().cloned().collect();
    let shared = relation.shared_records.map(|count| format!("{} in common", print::counted(count, "record")));
    match aside.into_iter().chain(shared).collect::<Vec<_>>() {
        aside if aside.is_empty() => relation.session_id.clone(),
        aside => format!("{} ({})", relation.session_id, aside.join(", ")),
    }
}

/// Duration and size of the session, for people.
fn numbers(metadata: &Metadata) -> Vec<(&'static str, String)> {
    let mut numbers = Vec::new();
    if metadata.duration_seconds > 0 {
        numbers.push(("lasted", duration(metadata.duration_seconds)));
    }
    let (raw, kept) = (metadata.token_count, metadata.filtered_token_count);
    let price = metadata.llm_cost_estimate;
    let text = format!("about {kept} kept of {raw}; a summary by gpt-4.1-mini would cost ${price:.4} at least");
    numbers.push(("tokens", text));
    if !metadata.mcp_tools_used.is_empty() {
        numbers.push(("MCP tools", metadata.mcp_tools_used.join(", ")));
    }
    numbers
}

/// The two largest non-zero units: `3 d 4 h`, `12 min`.
fn duration(seconds: u64) -> String {
    let units = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];
    let first = units.iter().position(|(size, _)| seconds >= *size).unwrap_or(units.len() - 1);
    let parts = units[first..].iter().take(2).scan(seconds, |rest, (size, unit)| {
        let count = *rest / size;
        *rest %= size;
        Some((count, unit))
    });
    let parts: Vec<_> = parts.filter(|(count, _)| *count > 0).map(|(count, unit)| format!("{count} {unit}")).collect();
    if parts.is_empty() { "0 s".to_owned() } else { parts.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_two_units_at_most() {
        for (seconds, expected) in
            [(0, "0 s"), (59, "59 s"), (60, "1 min"), (3_725, "1 h 2 min"), (86_401, "1 d"), (97_200, "1 d 3 h")]
        {
            assert_eq!(duration(seconds), expected);
        }
    }

    #[test]
    fn how_the_enrichment_stands_is_one_line() {
        let enriched = SessionEnrichment {
            state: "enriched".into(),
            model: Some("m".into()),
            at: Some("then".into()),
            unseen: 1,
            again: Some("given_up".into()),
            why: Some("cut_off".into()),
            next_step: Some("do this".into()),
            ..SessionEnrichment::default()
        };
        let owed = SessionEnrichment {
            state: "owed".into(),
            why: Some("timed_out".into()),
            retry_at: Some("then".into()),
            ..SessionEnrichment::default()
        };
        for (told, line) in [
            (
                &enriched,
                "enriched by m, then; 1 message in the middle not sent; asked again: given_up \
                 (cut_off); do this",
            ),
            (&owed, "owed (timed_out), again at then"),
        ] {
            assert_eq!(enrichment(told), line);
        }
    }

    #[test]
    fn types_are_listed_by_frequency_and_bounded() {
        let counts = |names: &[&str]| -> BTreeMap<String, u64> {
            names.iter().zip(1..).map(|(name, count)| ((*name).to_owned(), count)).collect()
        };
        assert_eq!(by_type(&counts(&[])), None);
        assert_eq!(by_type(&counts(&["user", "assistant"])).as_deref(), Some("assistant 2, user 1"));
        let names: Vec<String> = (0..20).map(|number| format!("t{number:02}")).collect();
        let told = by_type(&counts(&names.iter().map(String::as_str).collect::<Vec<_>>())).unwrap();
        assert!(told.starts_with("t19 20, ") && told.ends_with(", 8 more types"), "{told}");
    }

    #[test]
    fn relations_of_a_kind_share_a_line() {
        let relation =
            |name: &str, id: &str| Relation { name: name.into(), session_id: id.into(), ..Relation::default() };
        let agent = Relation {
            agent_type: Some("Explore".into()),
            description: Some("look about".into()),
            ..relation("spawned_agent", "agent-1")
        };
        let fork = Relation { shared_records: Some(1), ..relation("continued_by", "f") };
        assert_eq!(
            relations(&[agent, relation("spawned_agent", "agent-2"), fork, relation("preceded_by", "p")]),
            [
                ("subagents", "agent-1 (Explore, look about); agent-2".to_owned()),
                ("continued by", "f (1 record in common)".to_owned()),
                ("after", "p".to_owned()),
            ]
        );
        let many: Vec<Relation> = (0..10).map(|number| relation("continues", &number.to_string())).collect();
        assert_eq!(relations(&many), [("continues", "0; 1; 2; 3; 4; 5; 6; 7; 2 more".to_owned())]);
    }
}
