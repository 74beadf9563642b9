use std::path::Path;

use baton_events::session::Place;
use baton_sharing::batch::{Said, StoredEvent, VERSION};

use super::*;
use crate::folder::Folder;
use crate::keys::TeamKeys;

const NOW: Timestamp = Timestamp(1_900_000_000_000);

/// A member who takes in what one writer says.
struct Reader {
    relay: Folder,
    keys: Keys,
    folder: tempfile::TempDir,
    writer: Option<Writer>,
    vouched: BTreeSet<String>,
    is_member: bool,
}

impl Reader {
    fn new(team: &TeamKeys) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let relay = Folder::create(&folder.path().join("relay"), team.team_name()).unwrap();
        let keys = Keys::generate(team.clone()).unwrap();
        Self { relay, keys, folder, writer: None, vouched: BTreeSet::new(), is_member: true }
    }

    fn records(&self) -> &Path {
        self.folder.path()
    }

    /// What comes of a frame: `recorded`, `known`, or the kind of refusal.
    async fn take(&mut self, frame: &[u8]) -> &'static str {
        let stream = Frame::parse(frame).unwrap().header.stream;
        let writer = self.writer.as_ref();
        let known = Known {
            writers: 1,
            is_waiting: false,
            is_complete: true,
            session: writer.and_then(|it| it.sessions.get(it.streams.get(&stream)?).cloned()),
            vouched: self.vouched.clone(),
            writer: writer.map(|it| KnownWriter {
                id: it.id.clone(),
                key: it.key,
                notices: it.notices,
                is_removed: false,
                is_member: self.is_member,
                forgotten: it.forgotten.clone(),
                sessions: it.sessions.len(),
                stored: it.stored,
            }),
        };
        let inbound =
            Inbound { relay: &self.relay, keys: &self.keys, folder: self.folder.path(), now: NOW, later: &[] };
        match inbound.take(&known, frame).await {
            Ok(Taken::Recorded(change)) => {
                match &mut self.writer {
                    Some(writer) => writer.apply(&change.line).unwrap(),
                    None => self.writer = Writer::joined(&change.writer, &change.line),
                }
                "recorded"
            }
            Ok(Taken::Known) => "known",
            Err(NotTaken::Held(_)) => "held",
            Err(NotTaken::Refused(_)) => "refused",
            Err(NotTaken::PassedOver(_)) => {
                self.writer.as_mut().unwrap().notices += 1;
                "passed over"
            }
            Err(NotTaken::Failed(why)) => panic!("{why}"),
        }
    }
}

/// A writer, who may say anything.
struct Speaker {
    keys: Keys,
    session: SessionId,
}

impl Speaker {
    fn new(team: &TeamKeys) -> Self {
        Self { keys: Keys::generate(team.clone()).unwrap(), session: SessionId::new("wombat").unwrap() }
    }

    fn frame(&self, kind: Kind, stream: Name, sequence: u64, message: &[u8], key: &Secret) -> Vec<u8> {
        let writer = self.keys.team.writer_name(&self.keys.writer());
        let header = seal::Header { kind, epoch: self.keys.team.current().0, writer, stream, sequence };
        seal::seal(&header, message, key, &self.keys.signing()).unwrap()
    }

    fn says(&self, sequence: u64, said: Said) -> Vec<u8> {
        let stream = self.keys.team.notices_name(&self.keys.writer());
        self.frame(Kind::Notice, stream, sequence, &Notice::new(NOW, said).encode(), self.keys.team.current().1)
    }

    fn joins(&self) -> Vec<u8> {
        self.says(
            1,
            Said::Joined {
                name: "Ann".to_owned(),
                machine: "one".to_owned(),
                key: baton_conversation::hex::encode(self.keys.signing().verifying_key().as_bytes()),
                box_key: baton_conversation::hex::encode(self.keys.box_key().as_bytes()),
            },
        )
    }

    fn stream(&self) -> Name {
        self.keys.team.session_name(&self.keys.writer(), &self.session)
    }

    fn batch(&self, sequence: u64, begin: bool, project: &str, key: &Secret) -> Vec<u8> {
        let events = vec![StoredEvent::new(&Event::Located { place: Place::new(".", project) })];
        let session = self.session.clone();
        let form = baton_conversation::hash::ContentHash([0; 32]);
        let batch = Batch { v: VERSION, session, begin, through: sequence, events, conversation: None, form };
        self.frame(Kind::Batch, self.stream(), sequence, &batch.encode(), key)
    }

    async fn puts_key(&self, relay: &Folder, key: &Secret) {
        let sealed = self.frame(Kind::Key, self.stream(), 0, &key.0, self.keys.team.current().1);
        relay.put(Slot::Named(self.keys.team.key_name(self.stream())), sealed).await.unwrap();
    }
}

fn secret() -> Secret {
    Secret::random().unwrap()
}

#[tokio::test]
async fn behind_a_refused_message_nothing_counts_until_the_session_is_begun_anew() {
    let team = TeamKeys::generate().unwrap();
    let (mut reader, ann, key) = (Reader::new(&team), Speaker::new(&team), secret());
    ann.puts_key(&reader.relay, &key).await;
    let long = "x".repeat(17 * MAX_NAME_BYTES);
    assert_eq!(reader.take(&ann.batch(1, true, "shop", &key)).await, "refused", "nobody knows its writer");
    for (frame, expected) in [
        (ann.joins(), "recorded"),
        (ann.batch(1, true, "shop", &key), "recorded"),
        (ann.batch(2, false, &long, &key), "refused"),
        (ann.batch(3, false, "shop", &key), "refused"),
        (ann.batch(4, true, "shop", &key), "recorded"),
        (ann.batch(5, false, "shop", &key), "recorded"),
        (ann.batch(4, true, "shop", &key), "known"),
        // Whoever keeps the relay cannot leave a notice out unseen, and one that is refused does not silence its writer.
        (ann.says(3, Said::Left), "held"),
        (ann.says(2, Said::Removed { writer: long.clone() }), "passed over"),
        (ann.says(2, Said::Left), "known"),
        (ann.says(3, Said::Left), "recorded"),
    ] {
        assert_eq!(reader.take(&frame).await, expected);
    }
}

#[tokio::test]
async fn a_message_waits_for_its_key_and_a_new_beginning_ends_the_key_of_before() {
    let team = TeamKeys::generate().unwrap();
    let (mut reader, ann, old, new) = (Reader::new(&team), Speaker::new(&team), secret(), secret());
    ann.puts_key(&reader.relay, &old).await;
    assert_eq!(reader.take(&ann.joins()).await, "recorded");
    assert_eq!(reader.take(&ann.batch(1, true, "shop", &old)).await, "recorded");
    assert_eq!(reader.take(&ann.batch(2, true, "shop", &new)).await, "held", "the slot has not arrived");
    ann.puts_key(&reader.relay, &new).await;
    assert_eq!(reader.take(&ann.batch(2, true, "shop", &new)).await, "recorded");
    let record = Record::new(reader.records(), &ann.keys.writer());
    let lines = record.read().unwrap().unwrap();
    let keys: Vec<_> = lines.iter().filter_map(|line| line.key.clone()).collect();
    assert_eq!(keys, [new], "the key of before is in no line");
    let folded = Writer::fold(&ann.keys.writer(), &lines).unwrap();
    assert_eq!(folded.sessions[&ann.session].sequence, 2);
}

/// What lies in a slot is nobody's word: it may be cut off, another one, or no file at all, and become right later.
#[tokio::test]
async fn whatever_lies_in_the_place_of_a_key_only_its_session_waits() {
    let team = TeamKeys::generate().unwrap();
    let (mut reader, ann, key) = (Reader::new(&team), Speaker::new(&team), secret());
    assert_eq!(reader.take(&ann.joins()).await, "recorded");
    let slot = Slot::Named(team.key_name(ann.stream()));
    ann.puts_key(&reader.relay, &key).await;
    let whole = reader.relay.get(slot).await.unwrap().unwrap();
    let stranger = Speaker { keys: Keys::generate(team.clone()).unwrap(), session: ann.session.clone() };
    let other = stranger.frame(Kind::Key, ann.stream(), 0, &key.0, team.current().1);
    for lies in [&b""[..], &whole[..whole.len() - 1], &other, &ann.joins()] {
        reader.relay.put(slot, lies.to_vec()).await.unwrap();
        assert_eq!(reader.take(&ann.batch(1, true, "shop", &key)).await, "held");
    }
    reader.relay.delete(slot).await.unwrap();
    let path = reader.records().join("relay").join("s").join(team.key_name(ann.stream()).to_string());
    std::fs::create_dir(&path).unwrap();
    assert_eq!(reader.take(&ann.batch(1, true, "shop", &key)).await, "held");
    std::fs::remove_dir(&path).unwrap();
    reader.relay.put(slot, whole).await.unwrap();
    assert_eq!(reader.take(&ann.batch(1, true, "shop", &key)).await, "recorded");
    reader.is_member = false;
    assert_eq!(reader.take(&ann.batch(2, false, "shop", &key)).await, "refused");
}

#[tokio::test]
async fn what_was_forgotten_is_not_shown_again_by_its_old_messages() {
    let team = TeamKeys::generate().unwrap();
    let (ann, key) = (Speaker::new(&team), secret());
    for had_it in [true, false] {
        let mut reader = Reader::new(&team);
        ann.puts_key(&reader.relay, &key).await;
        assert_eq!(reader.take(&ann.joins()).await, "recorded");
        if had_it {
            assert_eq!(reader.take(&ann.batch(1, true, "shop", &key)).await, "recorded");
        }
        let forgot = Said::Forgot { session: ann.session.clone(), sequence: 2 };
        assert_eq!(reader.take(&ann.says(2, forgot)).await, "recorded");
        for sequence in [1, 2] {
            assert_eq!(reader.take(&ann.batch(sequence, true, "shop", &key)).await, "known");
        }
        assert_eq!(reader.take(&ann.batch(3, true, "shop", &key)).await, "recorded", "shared again");
    }
}

#[tokio::test]
async fn who_has_old_keys_alone_joins_only_if_a_member_names_them() {
    let old = TeamKeys::generate().unwrap();
    let mut new = old.clone();
    new.add_epochs(&old.next_epoch().unwrap(), &Speaker::new(&old).keys.writer());
    for (theirs, mine, is_vouched, expected) in [
        (&old, &old, false, "recorded"),
        (&new, &new, false, "recorded"),
        (&old, &new, false, "refused"),
        (&old, &new, true, "recorded"),
        (&new, &old, false, "held"),
    ] {
        let (mut reader, speaker) = (Reader::new(mine), Speaker::new(theirs));
        if is_vouched {
            reader.vouched.insert(speaker.keys.writer().to_string());
        }
        assert_eq!(reader.take(&speaker.joins()).await, expected);
    }
}
