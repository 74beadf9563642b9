//! Properties of everything that is stored or sent: what is written is read back as it was, and no bytes whatever make a
//! decoder panic.

use std::collections::BTreeMap;
use std::fmt::Debug;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::{cursor::CursorV3, export, home, item, session, state};
use crate::envelope::{ChainHash, Tail};
use crate::projection::table::Row;
use crate::session::{
    Agent, Ask, CallOutcome, CallTokens, Checked, CloseReason, Cost, Counts, EffectId, End, EnrichedBy, Enrichment,
    EpisodeRef, Event, Failure, FailureWhy, FileIdentity, Follows, GaveUp, Handoff, Job, Kind, ModelAnswer, ModelCall,
    Owed, Phase, Place, Signal, SignalDetail, SignalKind, Signals, State, TailDigest, Tier, Transcript, Why,
};
use baton_conversation::hash::{ContentHash, Mark};
use baton_conversation::item::{Body, Call, Edit, Item, Meta, Outcome, TitleSource, ToolResult};
use baton_conversation::record::{Position, SequenceNumber, SessionId, Timestamp};
use baton_conversation::transcript::{Cursor, MAX_QUEUED, Queued, Window};
use baton_protocol as protocol;
use baton_protocol::{answer, tool};

fn config() -> ProptestConfig {
    ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() }
}

fn time() -> impl Strategy<Value = Timestamp> {
    any::<i64>().prop_map(Timestamp)
}

/// A time that RFC 3339 can write, as items do.
fn written_time() -> impl Strategy<Value = Timestamp> {
    (-60_000_000_000_000_i64..250_000_000_000_000).prop_map(Timestamp)
}

fn hash() -> impl Strategy<Value = ContentHash> {
    any::<[u8; 32]>().prop_map(ContentHash)
}

fn id() -> impl Strategy<Value = SessionId> {
    "[ -.0-\\[\\]-~äß☃]{1,40}".prop_filter_map("no id", |text| SessionId::new(&text))
}

fn identity() -> impl Strategy<Value = FileIdentity> {
    any::<(u64, u64)>().prop_map(|(device, inode)| FileIdentity { device, inode })
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![Just(Kind::Main), option::of(id()).prop_map(|parent| Kind::Subagent { parent })]
}

fn place() -> impl Strategy<Value = Place> {
    any::<(String, String)>().prop_map(|(cwd, project)| Place { cwd, project })
}

fn one_of<T: Copy + Debug + 'static>(all: &'static [T]) -> impl Strategy<Value = T> {
    proptest::sample::select(all)
}

fn marks<const MAX: usize>() -> impl Strategy<Value = Window<Mark, MAX>> {
    vec(any::<u64>().prop_map(Mark), 0..MAX + 3).prop_map(|marks| marks.into_iter().collect())
}

fn cursor() -> impl Strategy<Value = Cursor> {
    let mark = || option::of(any::<u64>().prop_map(Mark));
    let queued = any::<(u64, u64)>().prop_map(|(mark, line)| Queued { mark: Mark(mark), line });
    let queue = vec(queued, 0..MAX_QUEUED + 3).prop_map(|queue| queue.into_iter().collect());
    let windows = (marks(), marks(), marks(), queue, marks());
    (any::<(u64, u64, bool, bool, u64)>(), windows, (mark(), mark()), (mark(), mark(), mark(), mark())).prop_map(
        |(plain, (open_calls, own_calls, recent_messages, queue, said), (cwd, branch), titles)| {
            let (offset, line, unterminated, working, overcounted) = plain;
            let titles = [titles.0, titles.1, titles.2, titles.3];
            let windows = Cursor { open_calls, own_calls, recent_messages, queue, said, ..Cursor::default() };
            Cursor { offset, line, unterminated, working, overcounted, cwd, branch, titles, ..windows }
        },
    )
}

fn counts() -> impl Strategy<Value = Counts> {
    let named = || btree_map(any::<String>(), any::<u64>(), 0..4);
    (any::<[u64; 6]>(), named(), named()).prop_map(|(numbers, by_type, unknown)| {
        let [records, conversation, messages, prompts, malformed, oversize] = numbers;
        Counts { records, conversation, messages, prompts, malformed, oversize, by_type, unknown }
    })
}

fn effect() -> impl Strategy<Value = EffectId> {
    any::<(u32, u32)>().prop_map(|(generation, start)| EffectId { generation, start })
}

fn reason() -> impl Strategy<Value = CloseReason> {
    one_of(CloseReason::ALL)
}

fn episode() -> impl Strategy<Value = EpisodeRef> {
    let tier = one_of(&[Tier::Extractive, Tier::Enriched]);
    (any::<(u128, u32, u32, u64, u64)>(), tier, hash(), hash(), time()).prop_map(|(plain, tier, hash, manifest, at)| {
        let (uuid, filter_version, generation, to, items) = plain;
        let uuid = Uuid::from_u128(uuid);
        EpisodeRef { uuid, tier, hash, filter_version, generation, to, manifest, items, at }
    })
}

fn appended() -> impl Strategy<Value = Event> {
    let times = (option::of(time()), option::of(time()), option::of(time()), option::of(time()));
    (any::<(u32, u64, [u8; 16])>(), cursor(), counts(), times).prop_map(
        |((generation, from, tail), to, counts, (first_at, last_at, last_conversation_at, late_index_at))| {
            let (to, tail) = (Box::new(to), TailDigest(tail));
            Event::RecordsAppended {
                generation,
                from,
                to,
                tail,
                counts,
                first_at,
                last_at,
                last_conversation_at,
                late_index_at,
            }
        },
    )
}

/// Any event; each variant is there, which [`every_event_type_is_tried`] holds.
fn event() -> impl Strategy<Value = Event> {
    let bare = one_of(&[0_u8, 1, 2, 3, 4, 5]).prop_map(|which| match which {
        0 => Event::Resumed,
        1 => Event::WentIdle,
        2 => Event::TrackingStopped,
        3 => Event::TrackingResumed,
        4 => Event::TrackingForced,
        _ => Event::Forgotten,
    });
    let agent = Agent::ClaudeCode;
    let discovered = (any::<String>(), identity(), kind(), time())
        .prop_map(move |(path, identity, kind, at)| Event::Discovered { agent, path, identity, kind, at });
    let index = prop_oneof![
        (effect(), reason(), any::<u64>()).prop_map(|(effect, reason, to)| Event::IndexingStarted {
            effect,
            reason,
            to
        }),
        (effect(), episode()).prop_map(|(effect, episode)| Event::Indexed { effect, episode }),
        (option::of(effect()), any::<(u128, u64)>()).prop_map(|(effect, (episode, to))| {
            Event::IndexSkipped { effect, episode: Uuid::from_u128(episode), to }
        }),
        (effect(), one_of(FailureWhy::ALL), any::<u32>(), time())
            .prop_map(|(effect, why, attempts, retry_at)| Event::IndexingFailed { effect, why, attempts, retry_at }),
    ];
    prop_oneof![
        6 => bare,
        4 => index,
        2 => appended(),
        1 => discovered,
        1 => (any::<String>(), identity()).prop_map(|(path, identity)| Event::Moved { path, identity }),
        1 => place().prop_map(|place| Event::Located { place }),
        1 => id().prop_map(|parent| Event::ParentFound { parent }),
        1 => (any::<u32>(), identity()).prop_map(|(generation, identity)| Event::Rewritten { generation, identity }),
        1 => (reason(), option::of(hash())).prop_map(|(reason, note)| Event::CloseRequested { reason, note }),
        1 => (reason(), time(), any::<bool>()).prop_map(|(reason, at, by_self)| Event::Ended { reason, at, by_self }),
        1 => one_of(Why::ALL).prop_map(|why| Event::Abandoned { why }),
        1 => any::<String>().prop_map(|group| Event::GroupAssigned { group }),
        1 => any::<(u32, bool)>()
            .prop_map(|(generation, file_exists)| Event::Restored { generation, file_exists }),
        2 => signal().prop_map(|signal| Event::Signalled { signal }),
        1 => (any::<u128>(), id(), time()).prop_map(|(episode, from, at)| Event::HandoffOffered {
            episode: Uuid::from_u128(episode),
            from,
            at,
        }),
        1 => any::<u128>().prop_map(|episode| Event::HandoffClaimed { episode: Uuid::from_u128(episode) }),
        1 => any::<u128>().prop_map(|episode| Event::EpisodeDeleted { episode: Uuid::from_u128(episode) }),
        1 => any::<u128>().prop_map(|episode| Event::EpisodeRestored { episode: Uuid::from_u128(episode) }),
        1 => (option::of(episode()), vec((hash(), hash()), 0..3))
            .prop_map(|(episode, notes)| Event::Redacted { episode, notes }),
        5 => of_enrichment().boxed(),
    ]
}

fn model_call() -> impl Strategy<Value = ModelCall> {
    let plain = any::<(u32, u32, u32, bool, u64, u64, u64)>();
    (plain, any::<String>(), hash(), hash(), one_of(Ask::ALL), time()).prop_map(
        |(plain, model, content, request, ask, at)| {
            let (id, part, parts, again, tokens_in, tokens_out, nanos) = plain;
            ModelCall { id, model, content, request, ask, part, parts, again, tokens_in, tokens_out, nanos, at }
        },
    )
}

fn enriched_by() -> impl Strategy<Value = EnrichedBy> {
    (hash(), any::<String>(), any::<[u64; 2]>(), time())
        .prop_map(|(answer, model, [unseen, not_held], at)| EnrichedBy { answer, model, unseen, not_held, at })
}

fn of_enrichment() -> impl Strategy<Value = Event> {
    let tokens = any::<[u64; 3]>().prop_map(|[input, output, cached]| CallTokens { input, output, cached });
    let times = (option::of(time()), time());
    let outcome = one_of(CallOutcome::ALL);
    let answer = (any::<(u32, Option<u64>, u64)>(), outcome, option::of(tokens), option::of(hash()), times).prop_map(
        |((id, nanos, duration_ms), outcome, tokens, answer, (retry_at, at))| Event::ModelAnswered {
            answer: ModelAnswer { id, outcome, tokens, nanos, duration_ms, answer, retry_at, at },
        },
    );
    prop_oneof![
        (time(), any::<bool>()).prop_map(|(at, asked)| Event::EnrichmentOwed { at, asked }),
        model_call().prop_map(|call| Event::ModelCalled { call }).boxed(),
        answer.boxed(),
        (any::<(u128, u32, u32)>(), enriched_by()).prop_map(|((episode, facts, dropped), by)| {
            Event::Enriched { episode: Uuid::from_u128(episode), by, facts, dropped }
        }),
        (hash(), one_of(GaveUp::ALL)).prop_map(|(content, why)| Event::EnrichmentGivenUp { content, why }),
    ]
}

fn enrichment() -> impl Strategy<Value = Enrichment> {
    let outcome = || option::of(one_of(CallOutcome::ALL));
    let cost = (any::<(i64, String)>(), any::<[u64; 7]>()).prop_map(|((day, model), numbers)| {
        let [calls, unknown, tokens_in, tokens_out, tokens_cached, nanos, unknown_nanos] = numbers;
        Cost { day, model, calls, unknown, tokens_in, tokens_out, tokens_cached, nanos, unknown_nanos }
    });
    let owed = (time(), any::<bool>()).prop_map(|(at, asked)| Owed { at, asked });
    let call = (option::of(owed), option::of(hash()), option::of(model_call()), vec((hash(), hash()), 0..3));
    let course = (outcome(), any::<u32>(), outcome(), option::of(time()));
    let given_up = option::of((hash(), one_of(GaveUp::ALL)));
    (call, course, given_up, option::of(enriched_by()), any::<u32>(), vec(cost, 0..3)).prop_map(
        |(call, course, given_up, current, calls, costs)| {
            let (owed, content, call, answers) = call;
            let (complaint, failures, failed, retry_at) = course;
            Enrichment {
                owed,
                content,
                call,
                answers,
                complaint,
                failures,
                failed,
                retry_at,
                given_up,
                current,
                calls,
                costs,
            }
        },
    )
}

fn signal() -> impl Strategy<Value = Signal> {
    (one_of(SignalKind::ALL), option::of(one_of(SignalDetail::ALL)), time(), option::of(id()))
        .prop_map(|(kind, detail, at, follows)| Signal { kind, detail, at, follows })
}

fn signals() -> impl Strategy<Value = Signals> {
    let follows = option::of((id(), time()).prop_map(|(session, at)| Follows { session, at }));
    (option::of(time()), follows, option::of(time()), option::of(time()), option::of(reason())).prop_map(
        |(started_at, follows, active_at, disconnected_at, close_owed)| Signals {
            started_at,
            follows,
            active_at,
            disconnected_at,
            close_owed,
        },
    )
}

fn handoff() -> impl Strategy<Value = Handoff> {
    (any::<(u128, bool)>(), id(), time()).prop_map(|((episode, claimed), from, at)| Handoff {
        episode: Uuid::from_u128(episode),
        from,
        at,
        claimed,
    })
}

fn row() -> impl Strategy<Value = Row> {
    let others = [Phase::New, Phase::Active, Phase::Inactive, Phase::Indexing, Phase::Indexed, Phase::Failed];
    let phase = prop_oneof![
        proptest::sample::select(others.to_vec()),
        Just(Phase::Forgotten),
        one_of(Why::ALL).prop_map(Phase::Unindexed)
    ];
    let transcript = (any::<String>(), identity(), kind()).prop_map(|(path, identity, kind)| Transcript {
        agent: Agent::ClaudeCode,
        path,
        identity,
        kind,
    });
    let end = (reason(), time(), any::<bool>()).prop_map(|(reason, at, by_self)| End { reason, at, by_self });
    let job = (effect(), any::<(u64, u64, bool)>(), reason(), option::of(reason()))
        .prop_map(|(effect, (to, covers, resumed), reason, again)| Job { effect, to, reason, covers, again, resumed });
    let failure = (one_of(FailureWhy::ALL), any::<u32>(), time()).prop_map(|(why, attempts, retry_at)| Failure {
        why,
        attempts,
        retry_at,
    });
    let checked = any::<(u32, u64)>().prop_map(|(generation, to)| Checked { generation, to });
    let whole = (phase, option::of(transcript), option::of(place()), option::of(any::<String>()), cursor(), counts());
    let times = (option::of(time()), time(), option::of(time()), option::of(time()), option::of(time()));
    let course = (option::of(end), option::of(reason()), option::of(hash()), option::of(episode()));
    let deleted = option::of(any::<u128>().prop_map(Uuid::from_u128));
    let work = (option::of(checked), option::of(job), option::of(failure), deleted);
    let plain = any::<(u64, bool, u32, [u8; 16], u64, u32)>();
    let last = (option::of(handoff()), option::of(enrichment().prop_map(Box::new).boxed()));
    (whole, times, course, work, plain, signals(), last).prop_map(
        |(whole, times, course, work, plain, signals, (handoff, enrichment))| {
            let (phase, transcript, place, group, read, counts) = whole;
            let (first_at, discovered_at, last_at, last_conversation_at, late_index_at) = times;
            let (end, last_close, close_note, episode) = course;
            let (checked, job, failure, deleted) = work;
            let (version, forced, generation, tail, unindexed, starts) = plain;
            let tail = TailDigest(tail);
            let state = State {
                phase,
                transcript,
                place,
                group,
                forced,
                generation,
                read,
                tail,
                counts,
                first_at,
                discovered_at,
                last_at,
                last_conversation_at,
                end,
                last_close,
                close_note,
                episode,
                deleted,
                checked,
                unindexed,
                late_index_at,
                job,
                failure,
                starts,
                signals,
                handoff,
                enrichment,
            };
            Row { version: SequenceNumber(version), state, since: Position::default() }
        },
    )
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<String>().prop_map(Into::into),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Into::into),
            btree_map(any::<String>(), inner, 0..4)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

fn body() -> impl Strategy<Value = Body> {
    let text = || any::<String>();
    let short = || any::<String>().prop_map(String::into_boxed_str);
    let edit = any::<(String, u32, u32)>().prop_map(|(path, added, removed)| Edit { path, added, removed });
    let call = (short(), text(), btree_map(text(), json(), 0..4), option::of(edit))
        .prop_map(|(id, name, input, edit)| Body::Call(Call { id, name, input, edit }));
    let outcome = one_of(&[Outcome::Ok, Outcome::Failed, Outcome::Denied, Outcome::Interrupted]);
    let result = (short(), option::of(text()), outcome, any::<Option<i32>>(), text(), option::of(text())).prop_map(
        |(id, name, outcome, exit_code, text, error)| {
            Body::Result(ToolResult { id, name, outcome, exit_code, text, error, duration_ms: None, agent: None })
        },
    );
    let source = one_of(&[TitleSource::Summary, TitleSource::Model, TitleSource::Person]);
    prop_oneof![
        text().prop_map(|text| Body::Prompt { text }),
        text().prop_map(|text| Body::Answer { text }),
        text().prop_map(|text| Body::Reply { text }),
        text().prop_map(|text| Body::Thinking { text }),
        text().prop_map(|text| Body::Summary { text }),
        text().prop_map(|text| Body::Notice { text }),
        call,
        result,
        (source, text()).prop_map(|(source, text)| Body::Meta(Meta::Title { source, text })),
        text().prop_map(|text| Body::Meta(Meta::Branch(text))),
        text().prop_map(|text| Body::Meta(Meta::Cwd(text))),
    ]
}

fn conversation_item() -> impl Strategy<Value = Item> {
    let short = || option::of(any::<String>().prop_map(String::into_boxed_str));
    (any::<(u64, bool)>(), option::of(written_time()), short(), short(), body())
        .prop_map(|((line, sidechain), at, uuid, message, body)| Item { line, at, uuid, message, sidechain, body })
}

/// Bytes that are nothing, or that are almost a valid text: cut, or with one byte changed.
fn almost(valid: impl Strategy<Value = String>) -> impl Strategy<Value = Vec<u8>> {
    let wrong = (valid, any::<prop::sample::Index>(), any::<u8>(), any::<bool>()).prop_map(|(text, at, byte, cut)| {
        let mut bytes = text.into_bytes();
        let at = at.index(bytes.len().max(1));
        match bytes.get_mut(at) {
            Some(_) if cut => bytes.truncate(at),
            Some(there) => *there ^= byte,
            None => {}
        }
        bytes
    });
    prop_oneof![1 => vec(any::<u8>(), 0..120), 4 => wrong]
}

/// A frame survives being written and read: what is read is written as it was.
fn comes_back<T: Serialize + DeserializeOwned>(frame: &T) -> Result<(), TestCaseError> {
    let text = serde_json::to_string(frame).map_err(|error| TestCaseError::fail(error.to_string()))?;
    let back: T = serde_json::from_str(&text).map_err(|error| TestCaseError::fail(format!("{error} in {text}")))?;
    let again = serde_json::to_string(&back).map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert_eq!(text, again);
    Ok(())
}

fn caller() -> impl Strategy<Value = protocol::Caller> {
    any::<(Option<String>, Option<String>, Option<i64>)>()
        .prop_map(|(agent_session, directory, since)| protocol::Caller { agent_session, directory, since })
}

#[test]
fn every_event_type_is_tried() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut seen = BTreeMap::<&str, u32>::new();
    for _ in 0..2_000 {
        let tree = event().new_tree(&mut runner).unwrap();
        *seen.entry(session::encode(&tree.current()).kind).or_default() += 1;
    }
    assert_eq!(seen.len(), session::KINDS.len(), "{seen:?}");
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_event_survives(event in event()) {
        let encoded = session::encode(&event);
        prop_assert!(!encoded.data.contains('\n'));
        prop_assert_eq!(session::decode(encoded.kind, encoded.v, &encoded.data).unwrap(), event);
    }

    #[test]
    fn any_home_event_survives(config_dir in any::<String>(), named_by in any::<String>()) {
        let event = crate::home::Event::RootAdded(crate::home::NamedRoot { config_dir, named_by });
        let encoded = home::encode(&event);
        prop_assert_eq!(home::decode(encoded.kind, encoded.v, &encoded.data).unwrap(), event);
    }

    #[test]
    fn any_row_survives_and_its_line_tells_it_apart(one in row(), other in row()) {
        let line = state::encode(&one);
        prop_assert!(!line.contains('\n'));
        prop_assert_eq!(line == state::encode(&other), one == other);
        prop_assert_eq!(state::decode(&line), Some(one));
    }

    #[test]
    fn any_cursor_survives(cursor in cursor()) {
        let text = serde_json::to_string(&CursorV3::from(&cursor)).unwrap();
        prop_assert_eq!(serde_json::from_str::<CursorV3>(&text).unwrap().read(), Some(cursor));
    }

    #[test]
    fn any_item_survives(items in vec(conversation_item(), 0..4)) {
        let mut lines = Vec::new();
        items.iter().for_each(|item| item::encode(item, &mut lines).unwrap());
        prop_assert_eq!(lines.iter().filter(|byte| **byte == b'\n').count(), items.len());
        prop_assert_eq!(item::decode_all(&lines).collect::<Result<Vec<_>, _>>().unwrap(), items);
    }

    #[test]
    fn any_export_line_survives(
        (numbers, chain) in any::<([u64; 5], [u8; 16])>(),
        session in id(),
        name in hash(),
        (content, text, whole) in (json(), any::<String>(), any::<bool>()),
    ) {
        let content = serde_json::json!({ "content": content }).to_string();
        let raw: &RawValue = serde_json::from_str(&content).unwrap();
        let [position, records, items, bytes, redacted] = numbers;
        let tail = Tail { position: Position(position), chain: ChainHash(chain) };
        let state_version = u32::from(chain[0]);
        let lines = [
            export::Line::Header(export::Header { format: 1, whole, tail }),
            export::Line::Record(export::Record { format: 1, json: &content, chain: tail.chain }),
            export::Line::Manifest { session: session.clone(), id: name, content: raw },
            export::Line::Chunk { session: session.clone(), name, items, bytes },
            export::Line::Item(raw),
            export::Line::Missing { session: session.clone(), id: name },
            export::Line::Note { session: session.clone(), id: name, text },
            export::Line::Forgotten { session: session.clone(), marks: numbers.map(Mark).to_vec(), copy_of: None },
            export::Line::Forgotten { session: session.clone(), marks: Vec::new(), copy_of: Some(session) },
            export::Line::End(export::End { tail, state_hash: name, state_version, records, items, redacted }),
        ];
        for line in lines {
            let written = export::write(&line);
            prop_assert!(!written.contains('\n'));
            let back = export::read(&written).map_err(|error| TestCaseError::fail(format!("{error} in {written}")))?;
            prop_assert_eq!(format!("{back:?}"), format!("{line:?}"));
        }
    }

    #[test]
    fn any_frame_survives(
        (protocol, version, client, dir) in any::<(u32, String, String, Option<String>)>(),
        (works_in, words, pid) in any::<(Vec<String>, Vec<String>, u32)>(),
        (limit, wait, days, text) in any::<(u32, bool, Option<u32>, String)>(),
        caller in caller(),
        params in json(),
    ) {
        let hello = protocol::Hello { protocol, version: version.clone(), client, claude_config_dir: dir.clone(), codex_home: dir.clone(), works_in };
        comes_back(&hello)?;
        comes_back(&protocol::Welcome { protocol, version, pid, roots: words.clone(), root_refused: dir.clone(), codex_refused: dir.clone(), roots_configured: dir.is_some() })?;
        comes_back(&protocol::Progress { what: text.clone(), done: u64::from(limit), total: u64::from(pid) })?;
        comes_back(&protocol::Failure { code: i64::from(limit) - 40_000, message: text.clone() })?;
        let (project, query) = (dir.clone(), text.clone());
        comes_back(&protocol::SearchParams { query, project, limit, turns: None, wait, caller: caller.clone() })?;
        comes_back(&protocol::SessionsParams { state: dir.clone(), project: dir.clone(), subagents: wait })?;
        comes_back(&protocol::ShowParams { session: text.clone() })?;
        let (session, reason, command_id) = (dir.clone(), dir.clone(), Some(text.clone()));
        let deadline_ms = u64::from(pid);
        comes_back(&protocol::CloseParams { session, caller: caller.clone(), reason, command_id, deadline_ms })?;
        comes_back(&protocol::UnindexedParams { project: dir.clone(), include_inactive: wait })?;
        comes_back(&protocol::SyncParams { project: dir.clone(), days, max_sessions: days, dry_run: wait })?;
        comes_back(&protocol::TrackingParams { enabled: Some(wait), project: dir.clone() })?;
        let (session, group) = (dir.clone(), dir.clone());
        comes_back(&protocol::TrackParams { session, group, force: wait, caller: caller.clone() })?;
        comes_back(&protocol::UntrackParams { session: text.clone() })?;
        comes_back(&protocol::ConfigParams { import: dir.clone(), force: wait, dry_run: wait })?;
        let (groups, center, cursor) = (words.clone(), dir.clone(), dir.clone());
        let query = text.clone();
        comes_back(&protocol::NodesParams {
            query, groups, limit, center, labels: words.clone(), wait, cursor, caller: caller.clone(),
        })?;
        let (groups, center, cursor) = (words.clone(), dir.clone(), dir.clone());
        let during = protocol::During { after: dir.clone(), before: None };
        comes_back(&protocol::FactsParams {
            query: text, groups, limit, center, relations: words.clone(), valid: during.clone(), invalid: during, wait,
            cursor, caller: caller.clone(),
        })?;
        let uuids = words.clone();
        comes_back(&protocol::EpisodesParams {
            groups: words, uuids, limit, budget_tokens: limit, wait, cursor: dir, caller,
        })?;

        let call = protocol::Call { jsonrpc: "2.0", id: 7, method: "m", params: &params };
        let line = serde_json::to_string(&call).unwrap();
        let request: protocol::Request<'_> = serde_json::from_str(&line).unwrap();
        prop_assert_eq!((request.jsonrpc.as_str(), request.method.as_str()), ("2.0", "m"));
        prop_assert_eq!(request.id.map(RawValue::get), Some("7"));
        let given: serde_json::Value = serde_json::from_str(request.params.map_or("null", RawValue::get)).unwrap();
        prop_assert_eq!(&given, &params);

        let result = serde_json::value::to_raw_value(&params).unwrap();
        let answer = protocol::Answer { jsonrpc: "2.0", id: request.id, result: Some(result), error: None };
        let incoming: protocol::Incoming = serde_json::from_str(&serde_json::to_string(&answer).unwrap()).unwrap();
        prop_assert_eq!((incoming.id, incoming.error), (Some(7), None));
        let result = incoming.result.map_or_else(|| "null".to_owned(), |raw| raw.get().to_owned());
        prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&result).unwrap(), params);
    }

    #[test]
    fn whatever_fits_a_tool_is_taken_as_it_was_given(which in 0..tool::all().count(), text in "[a-zäö☃]{1,20}", number in 1_u32..100, flag in any::<bool>()) {
        let tool = tool::all().nth(which).unwrap();
        let mut given = serde_json::Map::new();
        for argument in tool.arguments {
            let value = match argument.kind {
                tool::Kind::Needed | tool::Kind::Words | tool::Kind::Long { .. } | tool::Kind::Text => {
                    serde_json::json!(text)
                }
                tool::Kind::Ignored => serde_json::json!({text.clone(): number}),
                tool::Kind::Texts | tool::Kind::TextsNeeded => serde_json::json!([text, text]),
                tool::Kind::Count { least, most, .. } => serde_json::json!(number.clamp(least, most)),
                tool::Kind::Entries { .. } | tool::Kind::AtMost { .. } => serde_json::json!(number),
                tool::Kind::Flag { .. } => serde_json::json!(flag),
            };
            given.insert(argument.name.to_owned(), value);
        }
        let taken = tool.check(Some(&serde_json::Value::Object(given).to_string())).map_err(TestCaseError::fail)?;
        for argument in tool.arguments {
            match argument.kind {
                tool::Kind::Needed | tool::Kind::Words | tool::Kind::Long { .. } | tool::Kind::Text => {
                    prop_assert_eq!(taken.text(argument.name), Some(text.clone()));
                }
                tool::Kind::Ignored => prop_assert!(taken.ignored().contains(&argument.name)),
                tool::Kind::Texts | tool::Kind::TextsNeeded => prop_assert_eq!(taken.texts(argument.name), [text.clone(), text.clone()]),
                tool::Kind::Count { least, most, .. } => {
                    prop_assert_eq!(taken.count(argument.name), number.clamp(least, most));
                }
                tool::Kind::Entries { .. } | tool::Kind::AtMost { .. } => {
                    prop_assert_eq!(taken.count(argument.name), number);
                }
                tool::Kind::Flag { .. } => prop_assert_eq!(taken.flag(argument.name), flag),
            }
        }
    }

    #[test]
    fn no_bytes_make_a_reader_of_what_is_stored_panic(
        data in almost(event().prop_map(|event| session::encode(&event).data)),
        line in almost(row().prop_map(|row| state::encode(&row))),
        cursor in almost(cursor().prop_map(|cursor| serde_json::to_string(&CursorV3::from(&cursor)).unwrap())),
        stored in almost(conversation_item().prop_map(|item| {
            let mut line = Vec::new();
            item::encode(&item, &mut line).unwrap();
            String::from_utf8(line).unwrap()
        })),
        v in 0_u32..3,
    ) {
        let data = String::from_utf8_lossy(&data);
        for kind in session::KINDS {
            // Whatever is taken for an event can be written again, and means the same.
            if let Ok(event) = session::decode(kind, v, &data) {
                let again = session::encode(&event);
                prop_assert_eq!(session::decode(again.kind, again.v, &again.data).unwrap(), event);
            }
        }
        let _ = session::decode(&data, v, &data);
        home::KINDS.iter().for_each(|kind| drop(home::decode(kind, v, &data)));
        if let Some(row) = state::decode(&String::from_utf8_lossy(&line)) {
            prop_assert_eq!(state::decode(&state::encode(&row)), Some(row));
        }
        let _ = serde_json::from_slice::<CursorV3>(&cursor).map(|cursor| cursor.read());
        item::decode_all(&stored).for_each(drop);
        let _ = export::read(&data);
    }

    #[test]
    fn no_bytes_make_a_reader_of_frames_panic(
        frame in almost(json().prop_map(|params| {
            serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "search", "params": params, "result": params}).to_string()
        })),
        params in almost(json().prop_map(|value| value.to_string())),
    ) {
        let _ = serde_json::from_slice::<protocol::Request<'_>>(&frame).map(|request| request.params.map(RawValue::get));
        let _ = serde_json::from_slice::<protocol::Incoming>(&frame);
        let _ = serde_json::from_slice::<protocol::Hello>(&params);
        let _ = serde_json::from_slice::<protocol::Welcome>(&params);
        let _ = serde_json::from_slice::<protocol::SearchParams>(&params);
        let _ = serde_json::from_slice::<protocol::CloseParams>(&params);
        let _ = serde_json::from_slice::<protocol::SyncParams>(&params);
        let _ = serde_json::from_slice::<answer::Search>(&params);
        let _ = serde_json::from_slice::<answer::Status>(&params);
        let text = String::from_utf8_lossy(&params);
        tool::all().for_each(|tool| drop(tool.check(Some(&text))));
        let _ = tool::unknown(&text);
    }
}
