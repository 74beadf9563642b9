use super::*;
use crate::session::{
    Ask, CallOutcome, CorrectedEntry, Corrections, Cost, EffectId, EnrichedBy, Enrichment, GaveUp, ModelCall, Owed,
    Verdict,
};
use baton_conversation::transcript::Cursor;

fn full() -> State {
    State {
        phase: Phase::Unindexed(UnindexedReason::Gone),
        transcript: Some(Transcript {
            agent: Agent::ClaudeCode,
            path: "/t/a.jsonl".to_owned(),
            identity: crate::session::FileIdentity { device: 1, inode: 2 },
            kind: Kind::Subagent { parent: SessionId::new("p") },
        }),
        place: Some(Place::new("/w/x", "/w")),
        group: Some("team".to_owned()),
        forced: true,
        generation: 3,
        read: Cursor { offset: 9, line: 4, ..Cursor::default() },
        tail: TailDigest([7; 16]),
        counts: Counts {
            records: 1,
            conversation: 2,
            messages: 3,
            prompts: 4,
            malformed: 5,
            oversize: 6,
            by_type: [("user".to_owned(), 8)].into(),
            unknown: [("mood".to_owned(), 7)].into(),
        },
        first_at: Some(Timestamp(-1)),
        discovered_at: Timestamp(10),
        last_at: Some(Timestamp(20)),
        last_conversation_at: Some(Timestamp(19)),
        end: Some(End { reason: CloseReason::HookClear, at: Timestamp(30), by_self: true }),
        last_close: Some(CloseReason::Sync),
        close_note: Some(ContentHash([1; 32])),
        episode: Some(EpisodeRef {
            uuid: Uuid::from_u128(5),
            tier: Tier::Enriched,
            hash: ContentHash([2; 32]),
            filter_version: 8,
            generation: 3,
            to: 9,
            manifest: ContentHash([3; 32]),
            items: 11,
            at: Timestamp(40),
        }),
        deleted: Some(Uuid::from_u128(5)),
        corrections: Corrections {
            title: Some(ContentHash([6; 32])),
            entries: vec![CorrectedEntry { line: 4, print: 7, verdict: Verdict::NotAFix, at: Timestamp(41) }],
        },
        checked: Some(Checked { generation: 3, to: 9 }),
        unindexed: 12,
        late_index_at: Some(Timestamp(50)),
        job: Some(Job {
            effect: EffectId { generation: 3, start: 4 },
            to: 9,
            reason: CloseReason::Explicit,
            covers: 12,
            again: Some(CloseReason::LazyQuery),
            resumed: true,
        }),
        failure: Some(Failure { why: FailureReason::NotStored, attempts: 2, retry_at: Timestamp(60) }),
        starts: 4,
        signals: Signals {
            started_at: Some(Timestamp(70)),
            follows: Some(Follows { session: SessionId::new("before").unwrap(), at: Timestamp(71) }),
            active_at: Some(Timestamp(72)),
            disconnected_at: Some(Timestamp(73)),
            close_owed: Some(CloseReason::HookOther),
        },
        handoff: Some(Handoff {
            episode: Uuid::from_u128(6),
            from: SessionId::new("before").unwrap(),
            at: Timestamp(74),
            claimed: true,
        }),
        enrichment: Some(Box::new(Enrichment {
            owed: Some(Owed { at: Timestamp(80), asked: true }),
            content: Some(ContentHash([4; 32])),
            call: Some(ModelCall {
                id: 3,
                model: "m".to_owned(),
                content: ContentHash([4; 32]),
                request: ContentHash([5; 32]),
                ask: Ask::Part,
                part: 2,
                parts: 4,
                again: true,
                tokens_in: 100,
                tokens_out: 50,
                nanos: 1_000,
                at: Timestamp(81),
            }),
            answers: vec![(ContentHash([6; 32]), ContentHash([7; 32]))],
            complaint: Some(CallOutcome::Invalid),
            failures: 2,
            failed: Some(CallOutcome::Limited),
            retry_at: Some(Timestamp(82)),
            given_up: Some((ContentHash([8; 32]), GaveUp::Cut)),
            current: Some(EnrichedBy {
                answer: ContentHash([9; 32]),
                model: "m".to_owned(),
                unseen: 5,
                not_held: 3,
                at: Timestamp(83),
            }),
            calls: 3,
            costs: vec![Cost { calls: 2, unknown: 1, nanos: 7, unknown_nanos: 8, ..Cost::new(20_000, "m") }],
        })),
    }
}

fn check(state: State) {
    let row = Row { version: SequenceNumber(77), state, since: Position::default() };
    let line = encode(&row);
    assert!(!line.contains('\n'), "{line}");
    assert_eq!(decode(&line), Some(row), "{line}");
}

#[test]
fn a_row_comes_back_as_it_was() {
    check(State::default());
    check(full());
    let others = [Phase::Active, Phase::Inactive, Phase::Indexing, Phase::Indexed, Phase::Failed, Phase::Forgotten];
    let unindexed = UnindexedReason::ALL.iter().map(|why| Phase::Unindexed(*why));
    for phase in others.into_iter().chain(unindexed) {
        check(State { phase, ..full() });
    }
}

#[test]
fn what_is_no_row_is_none() {
    let line = encode(&Row { version: SequenceNumber(1), state: full(), since: Position::default() });
    for (from, to) in [
        ("\"unindexed\",\"why\"", "\"active\",\"why\""),
        ("gone", "bored"),
        ("hook_clear", "boredom"),
        ("claude_code", "abacus"),
        ("enriched", "gilded"),
        ("not_stored", "lost"),
        ("\"part\",\"part\":2", "\"half\",\"part\":2"),
        ("rate_limited", "tired"),
        ("cut_off", "bored"),
    ] {
        assert!(line.contains(from), "{line} lacks {from}");
        assert_eq!(decode(&line.replacen(from, to, 1)), None, "{from} -> {to}");
    }
    assert_eq!(decode(&line[..line.len() - 1]), None);
    assert_eq!(decode(""), None);
}
