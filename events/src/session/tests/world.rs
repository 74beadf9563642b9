//! The world of the tables: one session, its history, and commands and events as words.

use crate::session::*;
use baton_conversation::hash::Mark;
use baton_conversation::record::{Metadata, StreamId};
use baton_conversation::transcript::Cursor;

pub(super) struct World {
    pub(super) aggregate: Aggregate,
    history: Vec<Recorded<Event>>,
    pub(super) policy: Policy,
    position: u64,
}

impl World {
    pub(super) fn new() -> Self {
        Self { aggregate: Aggregate::new(session()), history: Vec::new(), policy: Policy::default(), position: 0 }
    }

    pub(super) fn step(&mut self, line: &str) {
        let (command, expected) = line.split_once("->").unwrap_or_else(|| panic!("no `->` in {line:?}"));
        let words: Vec<&str> = command.split_whitespace().collect();
        let now = Timestamp(words[0].strip_suffix('s').unwrap().parse::<i64>().unwrap() * 1000);
        if self.configure(&words[1..]) {
            return;
        }
        let command = self.command(&words[1..], now);
        let id = words.iter().find_map(|word| word.strip_prefix("id=")).map(CommandId::new);
        let actual = match self.aggregate.propose(&command, id.as_ref(), &self.policy, now) {
            Err(rejection) => format!("refused: {}", refusal(&rejection)),
            Ok(events) => {
                let names: Vec<String> = events.iter().map(name).collect();
                self.record(events, id, now);
                format!("{} | {}", names.join(" "), self.after()).trim().to_owned()
            }
        };
        assert_eq!(actual, expected.split_whitespace().collect::<Vec<_>>().join(" "), "in {line:?}");
    }

    fn configure(&mut self, words: &[&str]) -> bool {
        match words {
            ["policy", "timeout=0"] => self.policy.inactivity_timeout_ms = 0,
            ["policy", "untracked"] => self.policy.tracked = false,
            ["policy", "tracked"] => self.policy.tracked = true,
            ["policy", since] if since.starts_with("model=") => {
                let since = since.trim_start_matches("model=").trim_end_matches('s');
                self.policy.model_since = since.parse().ok().map(|seconds: i64| Timestamp(seconds * 1000));
            }
            ["policy", "filter=next"] => self.policy.filter_version += 1,
            _ => return false,
        }
        true
    }

    pub(super) fn record(&mut self, events: Vec<Event>, cause: Option<CommandId>, now: Timestamp) {
        for event in events {
            self.position += 1;
            let recorded = Recorded {
                position: Position(self.position),
                stream: StreamId::session(&session()),
                sequence: self.aggregate.version().next(),
                at: now,
                metadata: Metadata { correlation: None, cause: cause.clone() },
                event,
            };
            self.aggregate.commit(&recorded).unwrap();
            self.history.push(recorded);
        }
    }

    pub(super) fn command(&self, words: &[&str], now: Timestamp) -> Command {
        let state = self.aggregate.state();
        let number =
            |key: &str| words.iter().find_map(|word| word.strip_prefix(key)).map(|n| n.parse::<i64>().unwrap());
        let effect =
            EffectId { generation: state.generation, start: number("job=").map_or(state.starts, |n| n as u32) };
        match words[0] {
            "discover" => Command::Discover(Discover {
                agent: Agent::ClaudeCode,
                path: words.get(1).unwrap_or(&"/t/a.jsonl").to_string(),
                identity: FileIdentity { device: 1, inode: 1 },
                kind: Kind::Main,
                takes_over: words.contains(&"takes_over"),
                written_at: number("written=").map(|seconds| Timestamp(seconds * 1_000)),
            }),
            "observe" => {
                let records = number("records=").unwrap_or(1) as u64;
                let from = number("from=").map_or(state.read.offset, |n| n as u64);
                let spoken = if words.contains(&"meta") { 0 } else { records };
                Command::Observe(Box::new(Observe {
                    generation: number("generation=").map_or(state.generation, |n| n as u32),
                    from,
                    to: Cursor {
                        offset: from + records * 100,
                        line: state.read.line + records,
                        open_calls: words.contains(&"call").then_some(Mark(1)).into_iter().collect(),
                        ..Cursor::default()
                    },
                    tail: TailDigest([1; 16]),
                    counts: Counts {
                        records,
                        conversation: spoken,
                        messages: if words.contains(&"silent") { 0 } else { spoken },
                        prompts: u64::from(words.contains(&"prompt")),
                        ..Counts::default()
                    },
                    first_at: None,
                    last_at: None,
                    last_conversation_at: number("at=").map(|s| Timestamp(s * 1000)).or(Some(now)),
                    place: Some(Place::new("/p/sub", "/p")),
                    parent: None,
                }))
            }
            "rewrite" => Command::Rewrite { identity: FileIdentity { device: 1, inode: 2 } },
            "vanish" => Command::Vanish,
            "close" => Command::Close(Close {
                reason: CloseReason::parse(words[1]).unwrap(),
                note: None,
                by_self: words.contains(&"by_self"),
                unread: words.contains(&"unread"),
            }),
            "wake" => {
                let asleep = Asleep {
                    since_sign_ms: number("asleep=").unwrap_or(0) * 1000,
                    since_disconnect_ms: number("apart=").unwrap_or(0) * 1000,
                };
                Command::Wake { unread: words.contains(&"unread"), asleep }
            }
            "complete" => {
                let hash = ContentHash([number("hash=").unwrap_or(1) as u8; 32]);
                let episode = episode_uuid(&session(), &hash);
                Command::Complete(Complete {
                    effect,
                    generation: state.generation,
                    to: state.job.map_or(0, |job| job.to),
                    hash,
                    filter_version: self.policy.filter_version,
                    stored: (!words.contains(&"same")).then_some(Stored { episode, manifest: hash, items: 3 }),
                })
            }
            "fail" => Command::Fail { effect, why: FailureReason::parse(words[1]).unwrap() },
            "reindex" => Command::Reindex,
            "redact" => {
                let [of, hash] = [("of=", 1), ("hash=", 2)]
                    .map(|(key, usual)| ContentHash([number(key).unwrap_or(usual) as u8; 32]));
                let stored = Stored { episode: episode_uuid(&session(), &hash), manifest: hash, items: 3 };
                let conversation = (!words.contains(&"notes")).then_some(ReplacedConversation { of, hash, stored });
                // The model's answer: see "answer".
                let notes = vec![(ContentHash([7; 32]), ContentHash([8; 32]))];
                let notes = if words.contains(&"notes") { notes } else { Vec::new() };
                Command::Redact(Box::new(Redact { conversation, notes }))
            }
            "shorten" => {
                let [of, hash] = ["of=", "hash="].map(|key| ContentHash([number(key).unwrap_or(1) as u8; 32]));
                let stored =
                    Stored { episode: episode_uuid(&session(), &hash), manifest: ContentHash([9; 32]), items: 1 };
                Command::Shorten(Box::new(ReplacedConversation { of, hash, stored }))
            }
            "track" => Command::Track { force: words.contains(&"force") },
            "untrack" => Command::Untrack,
            "assign" => Command::Assign { group: words[1].to_owned() },
            "forget" => Command::Forget,
            "restore" => Command::Restore { file_exists: !words.contains(&"gone") },
            "signal" => Command::Signal(Signal {
                kind: SignalKind::parse(words[1]).unwrap(),
                detail: words.get(2).and_then(|word| SignalDetail::parse(word)),
                at: number("at=").map_or(now, |s| Timestamp(s * 1000)),
                follows: words.iter().find_map(|word| word.strip_prefix("follows=")).and_then(SessionId::new),
            }),
            "offer" => Command::Offer {
                episode: episode_uuid(&session(), &ContentHash([number("hash=").unwrap_or(1) as u8; 32])),
                from: SessionId::new("before").unwrap(),
            },
            "enrich" => Command::Enrich,
            "call" => Command::CallModel(Box::new(CallModel {
                model: "m".to_owned(),
                content: number("hash=").map_or_else(
                    || state.episode.as_ref().map_or(ContentHash([1; 32]), |episode| episode.hash),
                    |n| ContentHash([n as u8; 32]),
                ),
                request: ContentHash([number("request=").unwrap_or(9) as u8; 32]),
                ask: words.get(1).and_then(|word| Ask::parse(word)).unwrap_or(Ask::Whole),
                part: 0,
                parts: 1,
                tokens_in: 100,
                tokens_out: 50,
                nanos: 1_000,
            })),
            "answer" => {
                let outcome = CallOutcome::parse(words[1]).unwrap();
                let retry_after_ms = number("after=").map(|seconds| seconds * 1000);
                Command::TakeAnswer(Box::new(TakeAnswer {
                    id: number("call=").map_or(state.enrichment().map_or(0, |known| known.calls), |n| n as u32),
                    end: match outcome {
                        CallOutcome::Good => CallEnd::Good {
                            answer: ContentHash([7; 32]),
                            facts: 1,
                            dropped: 2,
                            unseen: number("unseen=").unwrap_or(0) as u64,
                            not_held: number("not_held=").unwrap_or(0) as u64,
                        },
                        outcome => CallEnd::Failed { outcome, retry_after_ms },
                    },
                    tokens: None,
                    nanos: number("nanos=").map(|n| n as u64),
                    duration_ms: 5,
                }))
            }
            "lose" => Command::LoseCall {
                id: number("call=").map_or(state.enrichment().map_or(0, |known| known.calls), |n| n as u32),
            },
            "give_up" => Command::GiveUpEnrichment {
                content: ContentHash([number("hash=").unwrap_or(1) as u8; 32]),
                why: words.iter().find_map(|word| GaveUp::parse(word)).unwrap_or(GaveUp::Unreadable),
            },
            "claim" => Command::Claim,
            "title" => Command::Correct(vec![Correction::Title(number("hash=").map(|n| ContentHash([n as u8; 32])))]),
            "correct" | "withdraw" => Command::Correct(vec![Correction::Entry {
                line: number("line=").unwrap_or(1) as u64,
                print: number("print=").unwrap_or(7) as u64,
                verdict: Verdict::parse(words[1]).unwrap(),
                withdrawn: words[0] == "withdraw",
            }]),
            "delete" => Command::DeleteEpisode {
                episode: episode_uuid(&session(), &ContentHash([number("hash=").unwrap_or(1) as u8; 32])),
            },
            "show" => Command::RestoreEpisode {
                episode: episode_uuid(&session(), &ContentHash([number("hash=").unwrap_or(1) as u8; 32])),
                is_cleared: words.contains(&"cleared"),
            },
            other => panic!("no such wish: {other}"),
        }
    }

    /// I-2: the recorded events, encoded and decoded, give the same aggregate. Also checks what must hold in every
    /// state.
    pub(super) fn replay(&self) {
        let read_back = self.history.iter().map(|recorded| {
            let encoded = crate::schema::session::encode(&recorded.event);
            let event = crate::schema::session::decode(encoded.kind, encoded.v, &encoded.data).unwrap();
            Recorded { event, ..recorded.clone() }
        });
        assert_eq!(Aggregate::rehydrate(session(), read_back).as_ref(), Ok(&self.aggregate));
        let state = self.aggregate.state();
        assert_eq!(state.phase == Phase::Indexing, state.job.is_some(), "{state:?}");
        assert!(state.job.is_none_or(|job| job.to <= state.read.offset && job.covers <= state.unindexed), "{state:?}");
        let ranges = self.history.iter().filter_map(|recorded| match &recorded.event {
            Event::RecordsAppended { generation, from, to, .. } => Some((*generation, *from, to.offset)),
            _ => None,
        });
        let mut end = (1, 0);
        for (generation, from, to) in ranges {
            let expected = if generation == end.0 { end.1 } else { 0 };
            assert_eq!(from, expected, "I-6: every byte in one range");
            end = (generation, to);
        }
    }

    /// Phase, end, episode and what is owed, as the tables show them.
    fn after(&self) -> String {
        let state = self.aggregate.state();
        let mut text = state.phase.as_str().to_owned();
        if let Phase::Unindexed(why) = state.phase {
            text += &format!("({why})");
        }
        if let Some(end) = state.end {
            text += &format!(" end={}", end.reason);
        }
        if let Some(episode) = &state.episode {
            text += &format!(" episode={}", episode.hash.0[0]);
            if episode.tier == Tier::Enriched {
                text += "(enriched)";
            }
            if state.deleted == Some(episode.uuid) {
                text += "(deleted)";
            }
        }
        if state.generation > 1 {
            text += &format!(" generation={}", state.generation);
        }
        for effect in self.aggregate.pending(&self.policy) {
            match effect {
                Effect::Index(job) => text += &format!(" owes=index..{}", job.to),
                Effect::Close(reason) => text += &format!(" owes=close({reason})"),
                Effect::Enrich(job) => {
                    let again = if job.again.is_some() { " again" } else { "" };
                    text += &format!(" enrich={}s{again}", job.due.0 / 1000);
                }
                Effect::Wake(at) => text += &format!(" wake={}s", at.0 / 1000),
            }
        }
        text
    }
}

pub(super) fn session() -> SessionId {
    SessionId::new("5b0c").unwrap()
}

fn name(event: &Event) -> String {
    match event {
        Event::ParentFound { .. } => "parent".to_owned(),
        Event::RecordsAppended { late_index_at: None, .. } => "appended".to_owned(),
        Event::RecordsAppended { .. } => "appended(late)".to_owned(),
        Event::WentIdle => "idle".to_owned(),
        Event::CloseRequested { .. } => "requested".to_owned(),
        Event::IndexingStarted { .. } => "started".to_owned(),
        Event::IndexSkipped { .. } => "skipped".to_owned(),
        Event::IndexingFailed { attempts, .. } => format!("failed({attempts})"),
        Event::TrackingStopped => "stopped".to_owned(),
        Event::TrackingResumed => "tracked".to_owned(),
        Event::TrackingForced => "forced".to_owned(),
        Event::GroupAssigned { .. } => "assigned".to_owned(),
        Event::Signalled { signal } => format!("signalled({})", signal.kind),
        Event::HandoffOffered { .. } => "offered".to_owned(),
        Event::HandoffClaimed { .. } => "claimed".to_owned(),
        Event::EpisodeDeleted { .. } => "deleted".to_owned(),
        Event::EpisodeRestored { .. } => "shown".to_owned(),
        Event::Corrected { correction: Correction::Title(title), .. } => {
            if title.is_some() { "titled" } else { "untitled" }.to_owned()
        }
        Event::Corrected { correction: Correction::Entry { line, verdict, withdrawn, .. }, .. } => {
            format!("{}({line} {verdict})", if *withdrawn { "withdrawn" } else { "corrected" })
        }
        Event::EnrichmentOwed { asked: false, .. } => "owed".to_owned(),
        Event::EnrichmentOwed { asked: true, .. } => "owed(asked)".to_owned(),
        Event::ModelCalled { call } if call.again => format!("called({} again)", call.ask),
        Event::ModelCalled { call } => format!("called({})", call.ask),
        Event::ModelAnswered { answer } => format!("answered({})", answer.outcome),
        Event::EnrichmentGivenUp { why, .. } => format!("given_up({why})"),
        other => crate::schema::session::encode(other).kind.to_owned(),
    }
}

fn refusal(rejection: &Rejection) -> &'static str {
    match rejection {
        Rejection::NotDiscovered => "not discovered",
        Rejection::Forgotten => "forgotten",
        Rejection::NotForgotten => "not forgotten",
        Rejection::Untracked => "untracked",
        Rejection::SwitchedOff => "switched off",
        Rejection::StaleRange { .. } => "stale range",
        Rejection::UnknownEffect => "unknown effect",
        Rejection::TooManyCorrections => "too many corrections",
        Rejection::WrongEpisode => "wrong episode",
        Rejection::SecondFile { .. } => "second file",
        Rejection::NoSuchContent => "no such content",
        Rejection::CallRunning => "call running",
        Rejection::UnknownCall => "unknown call",
    }
}
