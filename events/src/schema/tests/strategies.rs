//! Arbitrary values of everything that is stored or sent.

use std::fmt::Debug;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use uuid::Uuid;

use crate::row::Row;
use crate::session::{
    Agent, Ask, CallOutcome, CallTokens, Checked, CloseReason, CorrectedEntry, Correction, Corrections, Cost, Counts,
    EffectId, End, EnrichedBy, Enrichment, EpisodeRef, Event, Failure, FailureReason, FileIdentity, Follows, GaveUp,
    Handoff, Job, Kind, ModelAnswer, ModelCall, Owed, Phase, Place, Signal, SignalDetail, SignalKind, Signals, State,
    TailDigest, Tier, Transcript, UnindexedReason, Verdict,
};
use baton_conversation::hash::{ContentHash, Mark};
use baton_conversation::item::{Body, Call, Edit, Item, Meta, Outcome, TitleSource, ToolResult};
use baton_conversation::record::{Position, SequenceNumber, SessionId, Timestamp};
use baton_conversation::transcript::{Cursor, MAX_QUEUED, Queued, Window};
use baton_protocol as protocol;

pub(super) fn time() -> impl Strategy<Value = Timestamp> {
    any::<i64>().prop_map(Timestamp)
}

/// A time that RFC 3339 can express, as items need it.
pub(super) fn written_time() -> impl Strategy<Value = Timestamp> {
    (-60_000_000_000_000_i64..250_000_000_000_000).prop_map(Timestamp)
}

pub(super) fn hash() -> impl Strategy<Value = ContentHash> {
    any::<[u8; 32]>().prop_map(ContentHash)
}

pub(super) fn id() -> impl Strategy<Value = SessionId> {
    "[ -.0-\\[\\]-~äß☃]{1,40}".prop_filter_map("no id", |text| SessionId::new(&text))
}

pub(super) fn identity() -> impl Strategy<Value = FileIdentity> {
    any::<(u64, u64)>().prop_map(|(device, inode)| FileIdentity { device, inode })
}

pub(super) fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![Just(Kind::Main), option::of(id()).prop_map(|parent| Kind::Subagent { parent })]
}

pub(super) fn place() -> impl Strategy<Value = Place> {
    any::<(String, String, Option<String>)>()
        .prop_map(|(cwd, project, remote)| Place::new(cwd, project).with_remote(remote))
}

pub(super) fn one_of<T: Copy + Debug + 'static>(all: &'static [T]) -> impl Strategy<Value = T> {
    proptest::sample::select(all)
}

pub(super) fn marks<const MAX: usize>() -> impl Strategy<Value = Window<Mark, MAX>> {
    vec(any::<u64>().prop_map(Mark), 0..MAX + 3).prop_map(|marks| marks.into_iter().collect())
}

pub(super) fn cursor() -> impl Strategy<Value = Cursor> {
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

pub(super) fn counts() -> impl Strategy<Value = Counts> {
    let named = || btree_map(any::<String>(), any::<u64>(), 0..4);
    let version = option::of(any::<String>());
    (any::<[u64; 6]>(), named(), named(), version).prop_map(|(numbers, by_type, unknown, agent_version)| {
        let [records, conversation, messages, prompts, malformed, oversize] = numbers;
        Counts { records, conversation, messages, prompts, malformed, oversize, by_type, unknown, agent_version }
    })
}

pub(super) fn effect() -> impl Strategy<Value = EffectId> {
    any::<(u32, u32)>().prop_map(|(generation, start)| EffectId { generation, start })
}

pub(super) fn reason() -> impl Strategy<Value = CloseReason> {
    one_of(CloseReason::ALL)
}

pub(super) fn episode() -> impl Strategy<Value = EpisodeRef> {
    let tier = one_of(&[Tier::Extractive, Tier::Enriched]);
    (any::<(u128, u32, u32, u64, u64)>(), tier, hash(), hash(), time()).prop_map(|(plain, tier, hash, manifest, at)| {
        let (uuid, filter_version, generation, to, items) = plain;
        let uuid = Uuid::from_u128(uuid);
        EpisodeRef { uuid, tier, hash, filter_version, generation, to, manifest, items, at }
    })
}

pub(super) fn appended() -> impl Strategy<Value = Event> {
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

/// Any event; [`super::every_event_type_is_tried`] checks that each variant occurs.
pub(super) fn event() -> impl Strategy<Value = Event> {
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
        (effect(), one_of(FailureReason::ALL), any::<u32>(), time())
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
        1 => one_of(UnindexedReason::ALL).prop_map(|why| Event::Abandoned { why }),
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
        1 => (correction(), time()).prop_map(|(correction, at)| Event::Corrected { correction, at }).boxed(),
        1 => any::<u128>().prop_map(|episode| Event::EpisodeRestored { episode: Uuid::from_u128(episode) }),
        1 => (option::of(episode()), vec((hash(), hash()), 0..3))
            .prop_map(|(episode, notes)| Event::Redacted { episode, notes }),
        1 => episode().prop_map(|episode| Event::Shortened { episode }),
        5 => of_enrichment().boxed(),
    ]
}

pub(super) fn correction() -> impl Strategy<Value = Correction> {
    let entry = (any::<(u64, u64, bool)>(), one_of(Verdict::ALL))
        .prop_map(|((line, print, withdrawn), verdict)| Correction::Entry { line, print, verdict, withdrawn });
    prop_oneof![option::of(hash()).prop_map(Correction::Title), entry]
}

pub(super) fn corrections() -> impl Strategy<Value = Corrections> {
    let entry = (any::<(u64, u64)>(), one_of(Verdict::ALL), time())
        .prop_map(|((line, print), verdict, at)| CorrectedEntry { line, print, verdict, at });
    (option::of(hash()), vec(entry, 0..3)).prop_map(|(title, entries)| Corrections { title, entries })
}

pub(super) fn model_call() -> impl Strategy<Value = ModelCall> {
    let plain = any::<(u32, u32, u32, bool, u64, u64, u64)>();
    (plain, any::<String>(), hash(), hash(), one_of(Ask::ALL), time()).prop_map(
        |(plain, model, content, request, ask, at)| {
            let (id, part, parts, again, tokens_in, tokens_out, nanos) = plain;
            ModelCall { id, model, content, request, ask, part, parts, again, tokens_in, tokens_out, nanos, at }
        },
    )
}

pub(super) fn enriched_by() -> impl Strategy<Value = EnrichedBy> {
    (hash(), any::<String>(), any::<[u64; 2]>(), time())
        .prop_map(|(answer, model, [unseen, not_held], at)| EnrichedBy { answer, model, unseen, not_held, at })
}

pub(super) fn of_enrichment() -> impl Strategy<Value = Event> {
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
            let EnrichedBy { answer, model, unseen, not_held, at } = by;
            let episode = Uuid::from_u128(episode);
            Event::Enriched { episode, answer, model, facts, dropped, unseen, not_held, at }
        }),
        (hash(), one_of(GaveUp::ALL)).prop_map(|(content, why)| Event::EnrichmentGivenUp { content, why }),
    ]
}

pub(super) fn enrichment() -> impl Strategy<Value = Enrichment> {
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

pub(super) fn signal() -> impl Strategy<Value = Signal> {
    (one_of(SignalKind::ALL), option::of(one_of(SignalDetail::ALL)), time(), option::of(id()))
        .prop_map(|(kind, detail, at, follows)| Signal { kind, detail, at, follows })
}

pub(super) fn signals() -> impl Strategy<Value = Signals> {
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

pub(super) fn handoff() -> impl Strategy<Value = Handoff> {
    (any::<(u128, bool)>(), id(), time()).prop_map(|((episode, claimed), from, at)| Handoff {
        episode: Uuid::from_u128(episode),
        from,
        at,
        claimed,
    })
}

pub(super) fn row() -> impl Strategy<Value = Row> {
    let others = [Phase::New, Phase::Active, Phase::Inactive, Phase::Indexing, Phase::Indexed, Phase::Failed];
    let phase = prop_oneof![
        proptest::sample::select(others.to_vec()),
        Just(Phase::Forgotten),
        one_of(UnindexedReason::ALL).prop_map(Phase::Unindexed)
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
    let failure = (one_of(FailureReason::ALL), any::<u32>(), time()).prop_map(|(why, attempts, retry_at)| Failure {
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
    let last = (corrections(), option::of(handoff()), option::of(enrichment().prop_map(Box::new).boxed()));
    (whole, times, course, work, plain, signals(), last).prop_map(
        |(whole, times, course, work, plain, signals, (corrections, handoff, enrichment))| {
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
                corrections,
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

pub(super) fn json() -> impl Strategy<Value = serde_json::Value> {
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

pub(super) fn body() -> impl Strategy<Value = Body> {
    let text = || any::<String>();
    let short = || any::<String>().prop_map(String::into_boxed_str);
    let edit = any::<(String, u32, u32, String)>().prop_map(|(path, added, removed, new_text)| Edit {
        path,
        added,
        removed,
        new_text,
        ..Edit::default()
    });
    let aside = (option::of(text()), option::of(text()), option::of(text()));
    let call = (short(), text(), btree_map(text(), json(), 0..4), option::of(edit), aside).prop_map(
        |(id, name, input, edit, (commit, plan, git_line))| {
            let act = baton_conversation::item::Act::of_tool(&name);
            Body::Call(Call { act, id, name, input, edit, commit, plan, git_line })
        },
    );
    let outcome = one_of(&[Outcome::Ok, Outcome::Failed, Outcome::Denied, Outcome::Interrupted]);
    let result = (short(), option::of(text()), outcome, any::<Option<i32>>(), text(), option::of(text())).prop_map(
        |(id, name, outcome, exit_code, text, error)| {
            Body::Result(ToolResult {
                id,
                name,
                outcome,
                exit_code,
                text,
                error,
                duration_ms: None,
                agent: None,
                report: None,
            })
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

pub(super) fn conversation_item() -> impl Strategy<Value = Item> {
    let short = || option::of(any::<String>().prop_map(String::into_boxed_str));
    (any::<(u64, bool)>(), option::of(written_time()), short(), short(), body())
        .prop_map(|((line, sidechain), at, uuid, message, body)| Item { line, at, uuid, message, sidechain, body })
}

/// Arbitrary bytes, or an almost valid text: truncated, or with one byte changed.
pub(super) fn almost(valid: impl Strategy<Value = String>) -> impl Strategy<Value = Vec<u8>> {
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

pub(super) fn caller() -> impl Strategy<Value = protocol::Caller> {
    any::<(Option<String>, Option<String>, Option<i64>, Option<String>)>()
        .prop_map(|(agent_session, directory, since, zone)| protocol::Caller { agent_session, directory, since, zone })
}
