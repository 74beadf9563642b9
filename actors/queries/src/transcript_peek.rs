//! Reads a transcript without recording anything, for previews and lists.

use baton_conversation::item::{Body, Item, Meta};
use baton_conversation::record::{SessionId, Timestamp};
use baton_conversation::tokens;
use baton_conversation::transcript::{NullSink, Sink, Source};
use baton_episode::digest::Abridged;
use baton_events::session::{Kind, Place, State};

use baton_base::limits;
use baton_base::project;
use baton_base::transcript_file::FileSeen;
use baton_store::transcript_reader;
use baton_store::transcript_reader::{Done, Pass, Start, working_directory};
use baton_views::clones;

/// Bytes at the head of a transcript that are searched for its directory.
const HEAD_BYTES: u64 = 256 * 1024;

/// What was seen in a transcript.
#[derive(Clone, Debug, Default)]
pub(super) struct TranscriptSummary {
    /// Typed prompts and assistant messages that carry text.
    pub(super) messages: u64,
    /// Records that belong to the conversation.
    pub(super) conversation: u64,
    /// Time of the last of these.
    pub(super) last_at: Option<Timestamp>,
    /// Where the session works.
    pub(super) place: Option<Place>,
    /// The parent, if the transcript says that it is a subagent's.
    pub(super) parent: Option<SessionId>,
}

/// Summarises what the file holds beyond what the session has read. Returns `None` if it cannot be read. Blocks for
/// disk reads.
pub(super) fn summarise_unread(state: Option<&State>, file: &FileSeen) -> Option<TranscriptSummary> {
    let known = state.filter(|state| {
        let transcript = state.transcript.as_ref();
        transcript.is_some_and(|transcript| *transcript.path == *file.path && transcript.identity == file.identity)
    });
    let start = match known {
        Some(state) => Start { cursor: state.read.clone(), tail: state.tail, ..beginning(file) },
        None => beginning(file),
    };
    summarise(start, file, u64::MAX, &mut NullSink)
}

/// Summarises the head of the file, mainly for the session's directory. Blocks for disk reads.
pub(super) fn summarise_head(file: &FileSeen) -> Option<TranscriptSummary> {
    summarise(beginning(file), file, HEAD_BYTES, &mut NullSink)
}

/// Summarises the whole file, and passes its items to a sink. Blocks for disk reads.
pub(super) fn read_whole(file: &FileSeen, sink: &mut dyn Sink) -> Option<TranscriptSummary> {
    summarise(beginning(file), file, u64::MAX, sink)
}

/// Returns true if the head of the file contains a compaction. Blocks for disk reads.
pub(super) fn is_compacted(file: &FileSeen) -> bool {
    #[derive(Default)]
    struct Compactions(bool);
    impl Sink for Compactions {
        fn wants_text(&self) -> bool {
            true
        }

        fn item(&mut self, item: Item) {
            self.0 |= matches!(item.body, Body::Meta(Meta::Compaction(_)));
        }
    }
    let mut seen = Compactions::default();
    summarise(beginning(file), file, limits::READ_PASS_BYTES, &mut seen).is_some() && seen.0
}

/// The current file of a session. Looks at the disk.
pub(super) fn file_of(id: &SessionId, state: &State) -> Option<FileSeen> {
    let transcript = state.transcript.as_ref()?;
    let metadata = baton_base::transcript_file::metadata(transcript.path.as_ref()).ok()?;
    Some(FileSeen {
        session: id.clone(),
        agent: transcript.agent,
        kind: transcript.kind.clone(),
        path: transcript.path.as_str().into(),
        stat: baton_base::transcript_file::FileStat::new(&metadata),
        identity: transcript.identity,
    })
}

/// The start of a file.
pub(super) fn beginning(file: &FileSeen) -> Start {
    let source = Source { agent: file.agent, subagent: matches!(file.kind, Kind::Subagent { .. }) };
    Start::beginning(source, &*file.path)
}

fn summarise(mut start: Start, file: &FileSeen, enough: u64, sink: &mut dyn Sink) -> Option<TranscriptSummary> {
    let mut summary = TranscriptSummary::default();
    let mut read = 0;
    loop {
        let from = start.cursor.offset;
        match transcript_reader::look(&start, enough.min(limits::READ_PASS_BYTES), sink) {
            Pass::Read(done) => {
                let Done { cursor, seen, tail, more, .. } = *done;
                summary.messages += seen.messages;
                summary.conversation += seen.conversation;
                summary.last_at = summary.last_at.max(seen.last_conversation_at.or(seen.last_at));
                summary.parent = summary.parent.take().or(seen.agent_session.as_deref().and_then(SessionId::new));
                if summary.place.is_none()
                    && let Some(cwd) = working_directory::settle(start.source.agent, &start.path, seen.cwd)
                {
                    let place = project::resolve_in_time(&cwd);
                    summary.place = place.map(|place| clones::with_remote(place, seen.remote.as_deref()));
                }
                read += cursor.offset - from;
                (start.cursor, start.tail) = (cursor, tail);
                if !more || read >= enough {
                    return Some(summary);
                }
            }
            // The file was rewritten, so all of it is new.
            Pass::Rewritten { .. } if start.cursor.offset > 0 && read == 0 => start = beginning(file),
            Pass::Rewritten { .. } | Pass::Gone | Pass::Unreadable { .. } => return None,
        }
    }
}

/// A state that holds only what was seen, to be checked against the settings.
pub(super) fn as_state(summary: &TranscriptSummary) -> State {
    State { place: summary.place.clone(), ..State::default() }
}

/// Counts tokens of items, and keeps what an episode is made of.
#[derive(Debug, Default)]
pub(super) struct EpisodeItems {
    /// Tokens of all items.
    pub(super) tokens: u64,
    /// The items, abridged.
    pub(super) items: Abridged,
}

impl Sink for EpisodeItems {
    fn wants_text(&self) -> bool {
        true
    }

    fn item(&mut self, item: Item) {
        self.tokens += tokens::of_items(std::slice::from_ref(&item));
        self.items.push(item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_conversation::item::Agent;
    use baton_events::session::{FileIdentity, Transcript};

    fn record(text: &str) -> String {
        format!(
            r#"{{"type":"user","uuid":"u-{text}","sessionId":"s","timestamp":"2026-03-14T09:26:53.589Z","cwd":"/srv/work","message":{{"role":"user","content":"{text}"}}}}"#
        ) + "\n"
    }

    #[test]
    fn a_glance_counts_what_the_session_has_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        std::fs::write(&path, record("one") + &record("two")).unwrap();
        let metadata = std::fs::metadata(&path).unwrap();
        let seen = FileSeen {
            session: SessionId::new("s").unwrap(),
            agent: Agent::ClaudeCode,
            kind: Kind::Main,
            path: path.to_str().unwrap().into(),
            stat: baton_base::transcript_file::FileStat::new(&metadata),
            identity: baton_base::transcript_file::identity(&metadata),
        };
        let all = summarise_unread(None, &seen).unwrap();
        assert_eq!((all.messages, all.conversation), (2, 2));
        assert_eq!(all.place.as_ref().map(|place| place.cwd.as_str()), Some("/srv/work"));

        let Pass::Read(done) = transcript_reader::observe(&beginning(&seen)) else { panic!("not read") };
        let transcript =
            Transcript { agent: seen.agent, path: seen.path.to_string(), identity: seen.identity, kind: Kind::Main };
        let mut state = State { transcript: Some(transcript), read: done.cursor, tail: done.tail, ..State::default() };
        assert_eq!(summarise_unread(Some(&state), &seen).map(|summary| summary.conversation), Some(0));
        std::fs::write(&path, record("one") + &record("two") + &record("three")).unwrap();
        assert_eq!(summarise_unread(Some(&state), &seen).map(|summary| summary.messages), Some(1));
        state.tail = baton_events::session::TailDigest([9; 16]);
        assert_eq!(summarise_unread(Some(&state), &seen).map(|summary| summary.messages), Some(3), "rewritten");
        state.transcript.as_mut().unwrap().identity = FileIdentity { device: 1, inode: 1 };
        assert_eq!(summarise_unread(Some(&state), &seen).map(|summary| summary.messages), Some(3), "another file");

        let mut kept = EpisodeItems::default();
        assert_eq!(read_whole(&seen, &mut kept).map(|summary| summary.messages), Some(3));
        let said = |item: Item| matches!(item.body, Body::Prompt { .. }).then_some(item.line);
        let lines: Vec<u64> = kept.items.into_items().into_iter().filter_map(said).collect();
        assert!(kept.tokens > 3 && lines == [1, 2, 3], "{}: {lines:?}", kept.tokens);
        std::fs::remove_file(&path).unwrap();
        assert!(summarise_head(&seen).is_none());
    }
}
