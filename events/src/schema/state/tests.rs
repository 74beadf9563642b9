use uuid::Uuid;

use super::*;
use crate::session::{
    Agent, Ask, CallOutcome, Checked, CloseReason, CorrectedEntry, Corrections, Cost, Counts, EffectId, End,
    EnrichedBy, Enrichment, EpisodeRef, Failure, FailureReason, Follows, GaveUp, Handoff, Job, Kind, ModelCall, Owed,
    Phase, Place, Signals, TailDigest, Tier, Transcript, UnindexedReason, Verdict,
};
use baton_conversation::hash::ContentHash;
use baton_conversation::record::{SessionId, Timestamp};
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
            agent_version: Some("2.1".to_owned()),
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

/// The hash of the states depends on every byte.
#[test]
fn a_row_is_stored_like_this() {
    let check = |state: State, expected: &str| {
        assert_eq!(encode(&Row { version: SequenceNumber(77), state, since: Position(1) }), expected);
    };
    let new = concat!(
        r#"{"version":77,"phase":"new","generation":1,"read":{"offset":0,"line":0},"#,
        r#""tail":"00000000000000000000000000000000","counts":{"records":0,"conversation":0,"messages":0,"#,
        r#""prompts":0,"malformed":0,"oversize":0},"discovered_at":0,"unindexed":0,"starts":0}"#,
    );
    check(State::default(), new);
    let full_row = concat!(
        r#"{"version":77,"phase":"unindexed","why":"gone","transcript":{"agent":"claude_code","#,
        r#""path":"/t/a.jsonl","file":{"device":1,"inode":2},"subagent":true,"parent":"p"},"#,
        r#""place":{"cwd":"/w/x","project":"/w"},"group":"team","forced":true,"generation":3,"#,
        r#""read":{"offset":9,"line":4},"tail":"07070707070707070707070707070707","counts":{"records":1,"#,
        r#""conversation":2,"messages":3,"prompts":4,"malformed":5,"oversize":6,"by_type":{"user":8},"#,
        r#""unknown":{"mood":7},"agent_version":"2.1"},"first_at":-1,"discovered_at":10,"last_at":20,"last_conversation_at":19,"#,
        r#""end":{"reason":"hook_clear","at":30,"by_self":true},"last_close":"sync","#,
        r#""close_note":"0101010101010101010101010101010101010101010101010101010101010101","#,
        r#""episode":{"uuid":"00000000-0000-0000-0000-000000000005","tier":"enriched","#,
        r#""hash":"0202020202020202020202020202020202020202020202020202020202020202","filter_version":8,"#,
        r#""generation":3,"to":9,"manifest":"0303030303030303030303030303030303030303030303030303030303030303","#,
        r#""items":11,"at":40},"deleted":"00000000-0000-0000-0000-000000000005","#,
        r#""corrections":{"title":"0606060606060606060606060606060606060606060606060606060606060606","#,
        r#""entries":[[{"line":4,"print":"0000000000000007","verdict":"not_a_fix"},41]]},"#,
        r#""checked":{"generation":3,"to":9},"unindexed":12,"late_index_at":50,"job":{"effect":{"generation":3,"#,
        r#""start":4},"to":9,"reason":"explicit","covers":12,"again":"lazy_query","resumed":true},"#,
        r#""failure":{"why":"not_stored","attempts":2,"retry_at":60},"starts":4,"started_at":70,"#,
        r#""follows":{"session":"before","at":71},"active_at":72,"disconnected_at":73,"#,
        r#""close_owed":"hook_other","handoff":{"episode":"00000000-0000-0000-0000-000000000006","#,
        r#""from":"before","at":74,"claimed":true},"enrichment":{"owed_at":80,"asked":true,"#,
        r#""content":"0404040404040404040404040404040404040404040404040404040404040404","call":{"id":3,"#,
        r#""model":"m","content":"0404040404040404040404040404040404040404040404040404040404040404","#,
        r#""request":"0505050505050505050505050505050505050505050505050505050505050505","ask":"part","part":2,"#,
        r#""parts":4,"again":true,"tokens_in":100,"tokens_out":50,"nanos":1000,"at":81},"#,
        r#""answers":[["0606060606060606060606060606060606060606060606060606060606060606","#,
        r#""0707070707070707070707070707070707070707070707070707070707070707"]],"complaint":"invalid","#,
        r#""failures":2,"failed":"rate_limited","retry_at":82,"#,
        r#""given_up":["0808080808080808080808080808080808080808080808080808080808080808","cut_off"],"#,
        r#""current":{"answer":"0909090909090909090909090909090909090909090909090909090909090909","model":"m","#,
        r#""unseen":5,"not_held":3,"at":83},"calls":3,"costs":[{"day":20000,"model":"m","calls":2,"unknown":1,"#,
        r#""tokens_in":0,"tokens_out":0,"tokens_cached":0,"nanos":7,"unknown_nanos":8}]}}"#,
    );
    check(full(), full_row);
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
