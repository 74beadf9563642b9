//! Many homes that read the same messages in any order come to the same members and keys.

use std::collections::VecDeque;

use baton_sharing::batch::{Batch, Notice, VERSION};

use super::*;
use crate::boxes;
use crate::folder::Folder;
use crate::inbound::{Inbound, NotTaken, Taken};
use crate::keys::Secret;
use crate::record::Line;
use crate::seal::{self, Frame, Kind};

const NOW: Timestamp = Timestamp(1_900_000_000_000);

/// Says something, by the newest keys that it has.
fn says(by: &Keys, sequence: u64, said: Said) -> Vec<u8> {
    let (epoch, key) = by.team.current();
    let (writer, stream) = (by.team.writer_name(&by.writer()), by.team.notices_name(&by.writer()));
    let header = seal::Header { kind: Kind::Notice, epoch, writer, stream, sequence };
    seal::seal(&header, &Notice::new(NOW, said).encode(), key, &by.signing()).unwrap()
}

fn joins(by: &Keys) -> Vec<u8> {
    let of = |bytes: &[u8]| baton_conversation::hex::encode(bytes);
    let (key, box_key) = (of(by.signing().verifying_key().as_bytes()), of(by.box_key().as_bytes()));
    says(by, 1, Said::Joined { name: "a".to_owned(), machine: "b".to_owned(), key, box_key })
}

fn removed(gone: &[&Keys], epoch: u32, key: &Secret, left: &[&Keys]) -> Said {
    let boxes = left.iter().map(|it| (it.writer().to_string(), boxes::seal(it.box_key().to_bytes(), key).unwrap()));
    let writers = gone.iter().map(|gone| gone.writer().to_string()).collect();
    Said::Removed { writers, epoch, key: key.hash(), boxes: boxes.collect() }
}

/// A home that takes in frames as they come.
struct Home {
    keys: Keys,
    state: State,
    folder: tempfile::TempDir,
    relay: Folder,
}

impl Home {
    fn new(keys: &Keys) -> Self {
        // In memory where there is such a folder: each line that is recorded is synced.
        let memory = std::path::Path::new("/dev/shm");
        let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
        let relay = Folder::create(&folder.path().join("relay"), keys.team.team_name()).unwrap();
        let state = State::new(keys);
        Self { keys: keys.clone(), state, folder, relay }
    }

    /// Takes in frames in this order. What is held is tried again, what is refused is not.
    async fn read(&mut self, frames: &[Vec<u8>]) {
        let mut left: VecDeque<Vec<u8>> = frames.iter().cloned().collect();
        let mut waited = 0;
        while let Some(frame) = left.pop_front() {
            let header = Frame::parse(&frame).unwrap().header;
            let known = self.state.known((header.writer, header.stream));
            let folder = self.folder.path();
            let inbound = Inbound { relay: &self.relay, keys: &self.keys, folder, now: NOW, later: &[] };
            match inbound.receive(&known, &frame).await {
                Ok(Taken::Recorded(mut change)) => {
                    self.state.apply(&self.keys.team, &mut change);
                    for (epoch, key) in self.state.new_keys(&self.keys) {
                        self.keys.team.add_epoch(epoch, key);
                    }
                    waited = 0;
                }
                Ok(Taken::Known) => {}
                // The first message of a writer stands before all others in their log.
                Err(NotTaken::Refused(_)) if header.sequence > 1 && known.writer.is_none() => left.push_back(frame),
                Err(NotTaken::Held { .. }) => left.push_back(frame),
                Err(NotTaken::Refused(_)) => {}
                Err(NotTaken::Failed(why) | NotTaken::Unsure(why)) => panic!("{why}"),
            }
            waited += 1;
            if waited > 2 * left.len() + 1 {
                return;
            }
        }
    }

    fn comes_to(&self) -> (Vec<String>, Vec<u32>) {
        let members = self.state.members().map(|member| member.id.to_string()).collect();
        (members, (0..9).filter(|epoch| self.keys.team.key_of_epoch(*epoch).is_some()).collect())
    }
}

/// Orders that are as good as random, and the same each time.
fn shuffled(frames: &[Vec<u8>], seed: u64) -> Vec<Vec<u8>> {
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut frames = frames.to_vec();
    for at in (1..frames.len()).rev() {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        frames.swap(at, usize::try_from(random % (at as u64 + 1)).unwrap());
    }
    frames
}

#[tokio::test]
async fn whatever_is_read_first_all_agree_on_members_and_keys_and_the_removed_get_none() {
    let ann = Keys::begin_team().unwrap();
    let member = |team: &Keys| Keys::generate(team.team.clone()).unwrap();
    let [bob, carl, dora, wolf, again] = [(); 5].map(|()| member(&ann));
    let (second, third) = (Secret::random().unwrap(), Secret::random().unwrap());
    let mut later = ann.clone();
    later.team.add_epoch(2, second.clone());
    let eve = member(&later);
    let mut last = later.clone();
    last.team.add_epoch(3, third.clone());
    let all = [&ann, &bob, &carl, &dora, &wolf];
    let frames = [
        joins(&ann),
        // Wolf is removed, then Carl, who was there when Wolf was; Eve has come in between.
        says(&ann, 2, removed(&[&wolf], 2, &second, &[&ann, &bob, &carl, &dora])),
        says(&later, 3, removed(&[&carl], 3, &third, &[&ann, &bob, &dora, &eve])),
        joins(&bob),
        joins(&carl),
        joins(&dora),
        joins(&wolf),
        joins(&eve),
        // Wolf removes everybody, gives keys, and comes again under a new name by the old keys.
        says(&wolf, 2, removed(&[&ann, &bob, &dora], 2, &third, &[&wolf])),
        says(&wolf, 3, removed(&all, 4, &third, &[&wolf, &again])),
        joins(&again),
        // Bob only says that he removes Dora, and says something behind it; Carl leaves.
        says(&bob, 2, removed(&[&dora], 2, &second, &[&bob])),
        says(&bob, 3, Said::Acknowledged { writer: wolf.writer().to_string(), notices: 1 }),
        says(&carl, 2, Said::Left),
    ];
    let mut members: Vec<String> = [&ann, &bob, &dora, &eve].map(|it| it.writer().to_string()).to_vec();
    members.sort();
    let stays: [(&Keys, &[u32]); 4] = [(&ann, &[1, 2, 3]), (&bob, &[1, 2, 3]), (&dora, &[1, 2, 3]), (&eve, &[1, 2, 3])];
    let goes: [(&Keys, &[u32]); 3] = [(&wolf, &[1]), (&again, &[1]), (&carl, &[1, 2])];
    for (seed, (reader, epochs)) in (0..28).zip(stays.iter().chain(&goes).cycle()) {
        let mut home = Home::new(reader);
        home.read(&shuffled(&frames, seed)).await;
        let (found, keys) = home.comes_to();
        assert_eq!(keys, *epochs, "seed {seed}");
        if epochs.len() == 3 {
            assert_eq!(found, members, "seed {seed}");
            assert_eq!(home.state.writers[&bob.writer()].notices, 3, "a wrong notice silences nobody");
        }
    }
}

/// Nothing that one writer has said can be kept away from a reader while what follows is not.
#[tokio::test]
async fn a_notice_that_is_missing_holds_those_behind_it() {
    let ann = Keys::begin_team().unwrap();
    let bob = Keys::generate(ann.team.clone()).unwrap();
    let key = Secret::random().unwrap();
    let forgot = |name: &str| Said::Forgot { session: SessionId::new(name).unwrap(), sequence: 1 };
    let frames = [
        joins(&ann),
        says(&ann, 2, forgot("wombat")),
        says(&ann, 3, removed(&[], 2, &key, &[&ann, &bob])),
        says(&ann, 4, forgot("numbat")),
    ];
    for missing in 1..frames.len() {
        let mut home = Home::new(&bob);
        let rest: Vec<_> =
            frames.iter().enumerate().filter(|(at, _)| *at != missing).map(|(_, it)| it.clone()).collect();
        home.read(&rest).await;
        let notices = home.state.writers[&ann.writer()].notices;
        assert_eq!(notices, missing as u64, "nothing behind the gap counts");
        home.read(&frames[missing..]).await;
        assert_eq!(home.state.writers[&ann.writer()].notices, 4);
        assert_eq!(home.comes_to().1, [1, 2]);
    }
}

/// A crash between what others say and what follows from it leaves nothing of what they have withdrawn.
#[tokio::test]
async fn of_what_was_withdrawn_before_a_crash_no_line_no_key_and_no_conversation_stays() {
    let (temp, ann) = (tempfile::tempdir().unwrap(), Keys::begin_team().unwrap());
    let record = Record::new(temp.path(), &ann.writer());
    let (gone, stays) = (SessionId::new("wombat").unwrap(), SessionId::new("numbat").unwrap());
    let line = |frame: Vec<u8>, sequence: u64| {
        let frame = Frame::parse(&frame).unwrap();
        let notice = Notice::decode(&frame.unseal(ann.team.current().1).unwrap()).unwrap();
        Line { sequence, epoch: 1, notice: Some(notice), ..Line::default() }
    };
    let of = |session: &SessionId, key: u8| {
        let form = baton_conversation::hash::ContentHash([0; 32]);
        let (session, events) = (session.clone(), Vec::new());
        let batch = Batch { v: VERSION, session, begin: true, through: 1, events, conversation: None, form };
        Line { sequence: 1, batch: Some(batch), key: Some(Secret([key; 32])), ..Line::default() }
    };
    let forgot = says(&ann, 2, Said::Forgot { session: gone.clone(), sequence: 1 });
    for line in [line(joins(&ann), 1), of(&gone, 7), of(&stays, 8), line(forgot, 2)] {
        record.append(&line).unwrap();
    }
    for session in [&gone, &stays] {
        std::fs::create_dir_all(record.blobs().folder_of(session)).unwrap();
    }
    let me = Keys::generate(ann.team.clone()).unwrap().writer();
    let writers = read_writers(temp.path(), &me).unwrap();
    assert_eq!(writers[&ann.writer()].sessions.keys().collect::<Vec<_>>(), [&stays]);
    let left = record.read().unwrap();
    assert_eq!(left.iter().filter_map(|line| line.key.clone()).collect::<Vec<_>>(), [Secret([8; 32])]);
    assert!(left.iter().any(|line| line.gone.is_none() && line.sequence == 2), "that it was withdrawn stays known");
    assert!(!record.blobs().folder_of(&gone).exists() && record.blobs().folder_of(&stays).exists());
}

/// A damaged record is received again from the damage on; what stands before it, and the conversations, stay.
#[tokio::test]
async fn of_a_damaged_record_only_what_follows_the_damage_goes() {
    let (temp, ann) = (tempfile::tempdir().unwrap(), Keys::begin_team().unwrap());
    let record = Record::new(temp.path(), &ann.writer());
    let frame = joins(&ann);
    let notice = Notice::decode(&Frame::parse(&frame).unwrap().unseal(ann.team.current().1).unwrap()).unwrap();
    let first = record.append(&Line { sequence: 1, notice: Some(notice), ..Line::default() }).unwrap();
    let log = temp.path().join(ann.writer().as_str()).join("log");
    std::fs::write(&log, [std::fs::read(&log).unwrap(), b"no line\n".to_vec()].concat()).unwrap();
    std::fs::write(temp.path().join("cursor.json"), b"{}").unwrap();
    let conversation = record.blobs().folder_of(&SessionId::new("wombat").unwrap());
    std::fs::create_dir_all(&conversation).unwrap();
    let me = Keys::generate(ann.team.clone()).unwrap().writer();
    assert!(read_writers(temp.path(), &me).unwrap().contains_key(&ann.writer()));
    assert_eq!(record.size(), first);
    assert!(conversation.exists() && !temp.path().join("cursor.json").exists());
}
