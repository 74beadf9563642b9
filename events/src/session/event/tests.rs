use std::collections::BTreeMap;

use uuid::Uuid;

use super::super::{Ask, CallOutcome, CallTokens, SignalDetail, SignalKind, Tier, Verdict};
use super::*;

#[test]
fn every_event_is_told_in_one_line() {
    let id = || SessionId::new("s1").unwrap();
    let file = FileIdentity::default();
    let (at, effect, hash) =
        (Timestamp(1_773_480_413_589), EffectId { generation: 2, start: 3 }, ContentHash([0xab; 32]));
    let discovered =
        |kind| Event::Discovered { agent: Agent::ClaudeCode, path: "/t/s1.jsonl".to_owned(), identity: file, kind, at };
    let located = |cwd: &str| Event::Located { place: Place::new(cwd, "/p") };
    let appended = |counts, late_index_at| Event::RecordsAppended {
        generation: 2,
        from: 10,
        to: Box::new(Cursor { offset: 90, line: 4, ..Cursor::default() }),
        tail: TailDigest::default(),
        counts,
        first_at: None,
        last_at: None,
        last_conversation_at: late_index_at,
        late_index_at,
    };
    let unknown = BTreeMap::from([("mood\n".to_owned(), 6)]);
    let counts = Counts {
        records: 7,
        conversation: 5,
        messages: 4,
        prompts: 3,
        malformed: 2,
        oversize: 1,
        by_type: Default::default(),
        unknown,
        agent_version: None,
    };
    let episode = EpisodeRef {
        uuid: Uuid::nil(),
        tier: Tier::Extractive,
        hash,
        filter_version: 1,
        generation: 2,
        to: 90,
        manifest: hash,
        items: 8,
        at,
    };
    let shorter = EpisodeRef { items: 3, ..episode };
    let reason = CloseReason::Explicit;
    let nil = Uuid::nil();
    let signalled = |kind, detail, follows| Event::Signalled { signal: Signal { kind, detail, at, follows } };
    let corrected = |correction| Event::Corrected { correction, at };
    let entry =
        |withdrawn| corrected(Correction::Entry { line: 12, print: 7, verdict: Verdict::Superseded, withdrawn });
    let enriched = |facts, dropped, unseen, not_held| Event::Enriched {
        episode: nil,
        answer: hash,
        model: "gpt-4.1-mini".to_owned(),
        facts,
        dropped,
        unseen,
        not_held,
        at,
    };
    let called = |ask, part, parts, again| Event::ModelCalled {
        call: ModelCall {
            id: 3,
            model: "gpt-4.1-mini".to_owned(),
            content: hash,
            request: hash,
            ask,
            part,
            parts,
            again,
            tokens_in: 1_200,
            tokens_out: 2_000,
            nanos: 3_680_000,
            at,
        },
    };
    let answered = |outcome, nanos, retry_at| Event::ModelAnswered {
        answer: ModelAnswer {
            id: 3,
            outcome,
            tokens: Some(CallTokens { input: 1_200, output: 70, cached: 200 }),
            nanos,
            duration_ms: 900,
            answer: None,
            retry_at,
            at,
        },
    };
    let cases = [
        (discovered(Kind::Main), "transcript of claude_code found at /t/s1.jsonl"),
        (
            discovered(Kind::Subagent { parent: Some(id()) }),
            "transcript of claude_code found at /t/s1.jsonl, a subagent's of s1",
        ),
        (discovered(Kind::Subagent { parent: None }), "transcript of claude_code found at /t/s1.jsonl, a subagent's"),
        (Event::Moved { path: "/u/s1.jsonl".to_owned(), identity: file }, "transcript is now at /u/s1.jsonl"),
        (located("/p"), "works in /p"),
        (located("/p/sub"), "works in /p/sub, project /p"),
        (Event::ParentFound { parent: id() }, "subagent of s1"),
        (appended(Counts::default(), None), "read bytes 10 to 90 (line 4) of reading 2: 0 records"),
        (
            appended(counts, Some(at)),
            "read bytes 10 to 90 (line 4) of reading 2: 7 records, 5 of conversation, 4 messages, 3 typed, \
             2 malformed lines, 1 line too long, 6 of unknown type \"mood\\n\"; last message at \
             2026-03-14T09:26:53.589Z; they belong to the end, indexed at 2026-03-14T09:26:53.589Z at the latest",
        ),
        (
            appended(Counts { records: 1, messages: 1, malformed: 1, ..Counts::default() }, None),
            "read bytes 10 to 90 (line 4) of reading 2: 1 record, 1 message, 1 malformed line",
        ),
        (Event::Rewritten { generation: 2, identity: file }, "transcript was rewritten, read again from its beginning"),
        (Event::Resumed, "continues: there are messages after the end or the index"),
        (Event::WentIdle, "nothing new for a while"),
        (Event::CloseRequested { reason, note: None }, "close: explicit"),
        (Event::CloseRequested { reason, note: Some(hash) }, "close: explicit, with a reason in words"),
        (Event::Ended { reason, at, by_self: false }, "over since 2026-03-14T09:26:53.589Z: explicit"),
        (
            Event::Ended { reason, at, by_self: true },
            "over since 2026-03-14T09:26:53.589Z: explicit, by the session itself",
        ),
        (Event::IndexingStarted { effect, reason, to: 90 }, "indexing begins, up to byte 90: explicit"),
        (
            Event::Indexed { effect, episode },
            "indexed: episode 00000000-0000-0000-0000-000000000000 (extractive, 8 items, up to byte 90, \
             hash abababababababab, filter 1)",
        ),
        (
            Event::IndexSkipped { effect: Some(effect), episode: nil, to: 90 },
            "indexing found the content unchanged up to byte 90: episode \
             00000000-0000-0000-0000-000000000000 stays",
        ),
        (
            Event::IndexSkipped { effect: None, episode: nil, to: 90 },
            "nothing to index, all is known up to byte 90: episode 00000000-0000-0000-0000-000000000000 stays",
        ),
        (
            Event::IndexingFailed { effect, why: FailureReason::Unreadable, attempts: 2, retry_at: at },
            "indexing failed: unreadable, 2 in a row; next at 2026-03-14T09:26:53.589Z",
        ),
        (Event::Abandoned { why: UnindexedReason::Empty }, "given up without an index: empty"),
        (Event::TrackingStopped, "tracking stopped"),
        (Event::TrackingResumed, "tracking resumed"),
        (Event::TrackingForced, "tracked from now on, whatever the configuration says"),
        (Event::GroupAssigned { group: "g".to_owned() }, "put in group g"),
        (Event::Forgotten, "forgotten"),
        (Event::Restored { generation: 2, file_exists: true }, "no longer forgotten, read anew"),
        (Event::Restored { generation: 3, file_exists: false }, "no longer forgotten, without a transcript"),
        (
            signalled(SignalKind::SessionEnd, Some(SignalDetail::Clear), None),
            "told by session_end (clear) at 2026-03-14T09:26:53.589Z",
        ),
        (signalled(SignalKind::Stop, None, None), "told by stop at 2026-03-14T09:26:53.589Z"),
        (
            signalled(SignalKind::SessionStart, Some(SignalDetail::Resume), Some(id())),
            "told by session_start (resume) at 2026-03-14T09:26:53.589Z, after s1",
        ),
        (
            Event::HandoffOffered { episode: nil, from: id(), at },
            "was told of episode 00000000-0000-0000-0000-000000000000 of session s1",
        ),
        (Event::HandoffClaimed { episode: nil }, "has taken over from episode 00000000-0000-0000-0000-000000000000"),
        (
            Event::EpisodeDeleted { episode: nil },
            "episode 00000000-0000-0000-0000-000000000000 deleted, until its content changes",
        ),
        (corrected(Correction::Title(Some(hash))), "titled by a person: abababababababab"),
        (corrected(Correction::Title(None)), "a person's title taken back"),
        (entry(false), "decision of line 12 corrected by a person: superseded"),
        (entry(true), "decision of line 12 corrected by a person: superseded, taken back"),
        (Event::EpisodeRestored { episode: nil }, "episode 00000000-0000-0000-0000-000000000000 is found again"),
        (
            Event::Redacted { episode: None, notes: vec![(ContentHash([1; 32]), ContentHash([2; 32]))] },
            "stored text redacted again: the conversation is the same, notes and answers 1",
        ),
        (Event::Shortened { episode: shorter }, "conversation shortened to what its episode needs: 3 items"),
        (Event::EnrichmentOwed { at, asked: false }, "to be enriched by a model"),
        (Event::EnrichmentOwed { at, asked: true }, "to be enriched by a model, asked for"),
        (
            called(Ask::Whole, 0, 1, false),
            "call 3 of gpt-4.1-mini begins: about 1200 tokens, at most 2000 back, at most 0.003680 USD",
        ),
        (
            called(Ask::Part, 2, 5, true),
            "call 3 (part 2 of 5) of gpt-4.1-mini begins: about 1200 tokens, at most 2000 back, at most 0.003680 USD, \
             asked once more",
        ),
        (
            answered(CallOutcome::Good, Some(1_000), None),
            "call 3 ended: good after 900 ms, 1200 tokens read (200 cached), 70 written, 0.000001 USD",
        ),
        (
            answered(CallOutcome::Limited, None, Some(at)),
            "call 3 ended: rate_limited after 900 ms, 1200 tokens read (200 cached), 70 written, cost unknown; next at \
             2026-03-14T09:26:53.589Z at the earliest",
        ),
        (
            enriched(4, 0, 310, 0),
            "episode 00000000-0000-0000-0000-000000000000 enriched by gpt-4.1-mini: answer abababababababab, facts 4; \
             not sent, beyond llm.context_tokens: 310 things said or done",
        ),
        (
            enriched(0, 0, 350, 40),
            "episode 00000000-0000-0000-0000-000000000000 enriched by gpt-4.1-mini: answer abababababababab, facts 0; \
             not sent, beyond llm.context_tokens: 310 things said or done; beyond what is kept of a conversation: 40",
        ),
        (
            enriched(4, 2, 0, 0),
            "episode 00000000-0000-0000-0000-000000000000 enriched by gpt-4.1-mini: answer abababababababab, facts 4; \
             claims of lines that do not exist, dropped: 2",
        ),
        (
            Event::EnrichmentGivenUp { content: hash, why: GaveUp::Cut },
            "no model is asked any more: cut_off; the episode of content abababababababab stays as it is",
        ),
        (
            Event::EnrichmentGivenUp { content: hash, why: GaveUp::NoMore },
            "not asked about again: a model would receive no more than before",
        ),
    ];
    for (event, expected) in cases {
        assert_eq!(event.to_string(), expected, "{event:?}");
    }
}
