use std::path::Path;

use baton_conversation::hash::ContentHash;
use baton_conversation::record::SessionId;
use baton_events::schema::item;
use baton_events::session::{EffectId, Place, Tier};
use baton_sharing::batch::{MAX_NAME_BYTES, Said, StoredEvent, VERSION};
use baton_store::chunks::{Header, Manifest};

use super::*;
use crate::boxes;
use crate::folder::Folder;
use crate::keys::TeamKeys;
use crate::team::State;

const NOW: Timestamp = Timestamp(1_900_000_000_000);

/// A member who takes in what others say.
struct Reader {
    relay: Folder,
    keys: Keys,
    folder: tempfile::TempDir,
    state: State,
}

impl Reader {
    fn new(team: &TeamKeys) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let relay = Folder::create(&folder.path().join("relay"), team.team_name()).unwrap();
        let keys = Keys::generate(team.clone()).unwrap();
        let state = State::new(&keys);
        Self { relay, keys, folder, state }
    }

    fn records(&self) -> &Path {
        self.folder.path()
    }

    /// What comes of a frame: `recorded`, `known`, or the kind of refusal.
    async fn take(&mut self, frame: &[u8]) -> &'static str {
        let header = Frame::parse(frame).unwrap().header;
        let known = self.state.known((header.writer, header.stream));
        let inbound =
            Inbound { relay: &self.relay, keys: &self.keys, folder: self.folder.path(), now: NOW, later: &[] };
        match inbound.receive(&known, frame).await {
            Ok(Taken::Recorded(mut change)) => {
                self.state.apply(&self.keys.team, &mut change);
                if change.refused.is_some() { "void" } else { "recorded" }
            }
            Ok(Taken::Known) => "known",
            Err(NotTaken::Held { .. }) => "held",
            Err(NotTaken::Refused(_)) => "refused",
            Err(NotTaken::Failed(_)) => "failed",
            Err(NotTaken::Unsure(_)) => "unsure",
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
        let form = ContentHash([0; 32]);
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
    let team = Keys::begin_team().unwrap().team;
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
        // None can be left out unseen, and one that is wrong does not silence its writer.
        (ann.says(3, Said::Left), "held"),
        (ann.says(2, Said::Forgot { session: SessionId::new("other").unwrap(), sequence: 1 }), "recorded"),
        (ann.says(4, Said::Left), "held"),
        (ann.says(3, removal(&ann.keys, &[], 2).0), "void"),
        (ann.says(4, Said::Left), "recorded"),
    ] {
        assert_eq!(reader.take(&frame).await, expected);
    }
}

#[tokio::test]
async fn a_message_waits_for_its_key_and_a_new_beginning_ends_the_key_of_before() {
    let team = Keys::begin_team().unwrap().team;
    let (mut reader, ann, old, new) = (Reader::new(&team), Speaker::new(&team), secret(), secret());
    ann.puts_key(&reader.relay, &old).await;
    assert_eq!(reader.take(&ann.joins()).await, "recorded");
    assert_eq!(reader.take(&ann.batch(1, true, "shop", &old)).await, "recorded");
    assert_eq!(reader.take(&ann.batch(2, true, "shop", &new)).await, "held", "the slot has not arrived");
    ann.puts_key(&reader.relay, &new).await;
    assert_eq!(reader.take(&ann.batch(2, true, "shop", &new)).await, "recorded");
    let record = Record::new(reader.records(), &ann.keys.writer());
    let writer = &reader.state.writers[&ann.keys.writer()];
    assert!(writer.needs_compaction());
    record.compact(&writer.retention()).unwrap();
    let lines = record.read().unwrap();
    let keys: Vec<_> = lines.iter().filter_map(|line| line.key.clone()).collect();
    assert_eq!(keys, [new], "the key of before is in no line");
    let folded = record.fold(&ann.keys.writer()).unwrap().unwrap();
    assert_eq!(folded.sessions[&ann.session].sequence, 2);
}

#[tokio::test]
async fn what_was_forgotten_is_not_shown_again_by_its_old_messages() {
    let team = Keys::begin_team().unwrap().team;
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
        // Also without the key, which goes first: nothing waits for it.
        let slot = Slot::Named(team.key_name(ann.stream()));
        reader.relay.delete(slot).await.unwrap();
        assert_eq!(reader.take(&ann.batch(2, true, "shop", &key)).await, "known");
        assert_eq!(reader.take(&ann.batch(3, true, "shop", &key)).await, "held");
        ann.puts_key(&reader.relay, &key).await;
        assert_eq!(reader.take(&ann.batch(3, true, "shop", &key)).await, "recorded", "shared again");
    }
}

/// What an administrator says to give a team another key than these had before, and the key.
fn removal(of: &Keys, left: &[&Keys], epoch: u32) -> (Said, Secret) {
    let key = secret();
    let seal = |it: &&Keys| (it.writer().to_string(), boxes::seal(it.box_key().to_bytes(), &key).unwrap());
    let boxes = left.iter().map(seal).collect();
    (Said::Removed { writers: vec![of.writer().to_string()], epoch, key: key.hash(), boxes }, key)
}

/// A reader who has the keys of the first epoch, or of both, and has read what the administrator has said, or not.
#[tokio::test]
async fn who_has_old_keys_alone_joins_only_if_the_administrator_knows_them() {
    let admin = Keys::begin_team().unwrap();
    let ann = Speaker { keys: admin.clone(), session: SessionId::new("wombat").unwrap() };
    let old = [(); 3].map(|()| Speaker::new(&admin.team));
    let (removed, known) = (old[0].keys.clone(), old[1].keys.clone());
    let (said, key) = removal(&removed, &[&admin, &known], 2);
    let mut newest = admin.team.clone();
    newest.add_epoch(2, key.clone());
    let new = Speaker::new(&newest);
    for (has_key, has_read, expected) in [
        // Removed, known, not known, come by the new key.
        (false, false, ["recorded", "recorded", "recorded", "held"]),
        (true, false, ["held", "held", "held", "recorded"]),
        (true, true, ["refused", "recorded", "refused", "recorded"]),
    ] {
        for (speaker, expected) in old.iter().chain([&new]).zip(expected) {
            let mut reader = Reader::new(if has_key { &newest } else { &admin.team });
            if has_read {
                assert_eq!(reader.take(&ann.joins()).await, "recorded");
                assert_eq!(reader.take(&ann.says(2, said.clone())).await, "recorded");
            }
            assert_eq!(reader.take(&speaker.joins()).await, expected, "{has_key} {has_read}");
        }
    }
}

/// What stands in the place of a session's key, where anybody can write, loses nothing of the session.
#[tokio::test]
async fn a_key_that_is_half_there_or_another_one_is_waited_for() {
    let team = Keys::begin_team().unwrap().team;
    let (mut reader, ann, key) = (Reader::new(&team), Speaker::new(&team), secret());
    assert_eq!(reader.take(&ann.joins()).await, "recorded");
    ann.puts_key(&reader.relay, &key).await;
    let slot = Slot::Named(team.key_name(ann.stream()));
    let right = reader.relay.get(slot).await.unwrap().unwrap();
    let other = Speaker::new(&team);
    let foreign = other.frame(Kind::Key, ann.stream(), 0, &key.0, team.current().1);
    let short = ann.frame(Kind::Key, ann.stream(), 0, b"short", team.current().1);
    let batch = ann.batch(1, true, "shop", &key);
    let mut changed = right.clone();
    changed[120] ^= 1;
    for wrong in [&b""[..], &right[..right.len() / 2], &changed, &foreign, &short, &batch] {
        reader.relay.put(slot, wrong.to_vec()).await.unwrap();
        assert_eq!(reader.take(&batch).await, "held");
    }
    let path = reader.records().join("relay/s").join(team.key_name(ann.stream()).to_string());
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    assert_eq!(reader.take(&batch).await, "held", "a folder in its place");
    std::fs::remove_dir(&path).unwrap();
    reader.relay.put(slot, right).await.unwrap();
    assert_eq!(reader.take(&batch).await, "recorded");
}

/// A batch whose conversation has these chunks of one item each, and the objects that hold them.
fn told(ann: &Speaker, sequence: u64, key: &Secret, texts: &[&str]) -> (Vec<u8>, Vec<(ContentHash, Vec<u8>)>) {
    let (mut chunks, mut objects) = (Vec::new(), Vec::new());
    for text in texts {
        let lines = format!("{{\"line\":1,\"kind\":\"reply\",\"text\":\"{text}\"}}\n").into_bytes();
        let sealed = seal::seal_object(&lines, key, &ann.stream().0).unwrap();
        let object = ContentHash::of(&sealed);
        chunks.push(batch::Chunk { name: ContentHash::of(&lines), items: 1, bytes: lines.len() as u64, object });
        objects.push((object, sealed));
    }
    let references = chunks.iter().map(conversation::reference).collect();
    let header = Header { item_version: item::ITEM_VERSION, ..Header::default() };
    let (manifest, _) = Manifest::assemble(header, references).unwrap();
    let episode = EpisodeRef {
        uuid: serde_json::from_str("\"00000000-0000-0000-0000-000000000001\"").unwrap(),
        tier: Tier::Extractive,
        hash: ContentHash([0; 32]),
        filter_version: 1,
        generation: 0,
        to: 1,
        manifest,
        items: texts.len() as u64,
        at: NOW,
    };
    let effect = EffectId { generation: 0, start: 1 };
    let events = vec![StoredEvent::new(&Event::Indexed { effect, episode })];
    let conversation =
        batch::Conversation { generation: 0, filter_version: 0, item_version: item::ITEM_VERSION, chunks };
    let form = ContentHash([0; 32]);
    let batch = Batch {
        v: VERSION,
        session: ann.session.clone(),
        begin: sequence == 1,
        through: sequence,
        events,
        conversation: Some(conversation),
        form,
    };
    (ann.frame(Kind::Batch, ann.stream(), sequence, &batch.encode(), key), objects)
}

fn files(reader: &Reader, ann: &Speaker) -> usize {
    let blobs = Record::new(reader.records(), &ann.keys.writer()).blobs();
    std::fs::read_dir(blobs.folder_of(&ann.session)).map_or(0, Iterator::count)
}

#[tokio::test]
async fn a_conversation_waits_for_its_parts_and_of_a_refused_one_nothing_stays() {
    let team = Keys::begin_team().unwrap().team;
    let (mut reader, ann, key) = (Reader::new(&team), Speaker::new(&team), secret());
    ann.puts_key(&reader.relay, &key).await;
    assert_eq!(reader.take(&ann.joins()).await, "recorded");
    let (first, objects) = told(&ann, 1, &key, &["one", "two"]);
    let put = async |reader: &Reader, (object, sealed): &(ContentHash, Vec<u8>)| {
        reader.relay.put(Slot::Object(*object), sealed.clone()).await.unwrap();
    };
    put(&reader, &objects[0]).await;
    assert_eq!((reader.take(&first).await, files(&reader, &ann)), ("held", 1));
    put(&reader, &objects[1]).await;
    assert_eq!((reader.take(&first).await, files(&reader, &ann)), ("recorded", 3));
    // Its last chunk is no conversation: what came before it is removed again, and what was recorded stays.
    let (second, objects) = told(&ann, 2, &key, &["one", "two", "three", "\",\"no item"]);
    for object in &objects {
        put(&reader, object).await;
    }
    assert_eq!((reader.take(&second).await, files(&reader, &ann)), ("refused", 3));
    // An object serves the stream alone that it was sealed for.
    let other = Speaker { keys: ann.keys.clone(), session: SessionId::new("numbat").unwrap() };
    other.puts_key(&reader.relay, &key).await;
    let (third, _) = told(&other, 1, &key, &["one"]);
    let (_, objects) = told(&ann, 1, &key, &["one"]);
    let (_, of_other) = told(&other, 1, &key, &["one"]);
    assert_ne!(objects[0].0, of_other[0].0);
    assert_eq!(reader.take(&third).await, "held");
}

/// A disk that is full is not the writer's fault: the message comes again.
#[tokio::test]
async fn what_cannot_be_stored_here_is_neither_refused_nor_recorded() {
    let team = Keys::begin_team().unwrap().team;
    let (mut reader, ann, key) = (Reader::new(&team), Speaker::new(&team), secret());
    ann.puts_key(&reader.relay, &key).await;
    assert_eq!(reader.take(&ann.joins()).await, "recorded");
    let (frame, objects) = told(&ann, 1, &key, &["one"]);
    reader.relay.put(Slot::Object(objects[0].0), objects[0].1.clone()).await.unwrap();
    let blobs = reader.records().join(ann.keys.writer().as_str()).join("blobs");
    std::fs::write(&blobs, b"no folder").unwrap();
    assert_eq!(reader.take(&frame).await, "failed");
    std::fs::remove_file(&blobs).unwrap();
    // Nor is a relay that is not there any more a reason to read what is recorded anew.
    let [relay, away] = ["relay", "away"].map(|name| reader.records().join(name));
    std::fs::rename(&relay, &away).unwrap();
    assert_eq!(reader.take(&frame).await, "failed");
    std::fs::rename(&away, &relay).unwrap();
    // But whether a line was written may be unknown.
    let [log, other] = ["log", "other"].map(|name| reader.records().join(ann.keys.writer().as_str()).join(name));
    std::fs::rename(&log, &other).unwrap();
    std::fs::create_dir(&log).unwrap();
    assert_eq!(reader.take(&frame).await, "unsure");
    std::fs::remove_dir(&log).unwrap();
    std::fs::rename(&other, &log).unwrap();
    assert_eq!(reader.take(&frame).await, "recorded");
}
