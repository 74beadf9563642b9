use baton_conversation::record::Timestamp;
use baton_sharing::batch::{Notice, Said};

use super::*;
use crate::keys::TeamKeys;
use crate::record::Line;

/// A writer who came under an epoch, and what they said afterwards.
fn writer(keys: &Keys, epoch: u32, since: i64, said: Vec<Said>) -> Writer {
    let hex = baton_conversation::hex::encode;
    let joined = Said::Joined {
        name: "Ann".to_owned(),
        machine: "one".to_owned(),
        key: hex(keys.signing().verifying_key().as_bytes()),
        box_key: hex(keys.box_key().as_bytes()),
    };
    let lines = (1..).zip([joined].into_iter().chain(said)).map(|(sequence, said)| {
        let notice = Some(Notice::new(Timestamp(since), said));
        Line { sequence, epoch, at: Timestamp(since), notice, ..Line::default() }
    });
    Writer::fold(&keys.writer(), &lines.collect::<Vec<_>>()).unwrap()
}

fn state(own: &Keys, epoch: u32, giver: Option<&Keys>, writers: Vec<Writer>) -> State {
    let writers = writers.into_iter().map(|writer| (writer.id.clone(), writer)).collect();
    State { writers, own: Some(own.writer()), epoch, epoch_giver: giver.map(Keys::writer), ..State::default() }
}

fn removes(keys: &Keys) -> Said {
    Said::Removed { writer: keys.writer().to_string() }
}

fn gives(to: &[&Keys]) -> Said {
    Said::Rekeyed { boxes: to.iter().map(|keys| (keys.writer().to_string(), "sealed".to_owned())).collect() }
}

#[test]
fn who_was_removed_stays_removed_whoever_else_is() {
    let team = TeamKeys::generate().unwrap();
    let [own, ann, walt, carl] = [(); 4].map(|()| Keys::generate(team.clone()).unwrap());
    let all = |of_ann: Vec<Said>, of_carl: Vec<Said>, of_own: Vec<Said>| {
        let writers = vec![
            writer(&own, 1, 0, of_own),
            writer(&ann, 1, 1, of_ann),
            writer(&walt, 1, 2, Vec::new()),
            writer(&carl, 1, 3, of_carl),
        ];
        state(&own, 1, None, writers)
    };
    let state = all(vec![removes(&walt)], vec![removes(&ann)], Vec::new());
    assert!(state.is_removed(&walt.writer()) && state.is_removed(&ann.writer()));
    assert!(!state.is_removed(&carl.writer()) && state.contested().is_none());
    // What one says whom this home itself has removed does not count.
    let state = all(vec![removes(&walt)], Vec::new(), vec![removes(&ann)]);
    assert!(!state.is_removed(&walt.writer()) && state.is_removed(&ann.writer()));
}

#[test]
fn two_who_have_removed_each_other_are_contested_until_this_home_decides() {
    let team = TeamKeys::generate().unwrap();
    let [own, ann, walt] = [(); 3].map(|()| Keys::generate(team.clone()).unwrap());
    for (decided, expected) in [(None, [true, true, true]), (Some(&walt), [false, false, true])] {
        let writers = vec![
            writer(&own, 1, 0, decided.iter().map(|keys| removes(keys)).collect()),
            writer(&ann, 1, 1, vec![removes(&walt)]),
            writer(&walt, 1, 2, vec![removes(&ann)]),
        ];
        let state = state(&own, 1, None, writers);
        let removed = |keys: &Keys| state.is_removed(&keys.writer());
        assert_eq!([state.contested().is_some(), removed(&ann), removed(&walt)], expected);
    }
}

/// Walt, who was removed, has come back by the old key at a home that did not know of it yet.
#[test]
fn who_came_by_an_old_key_is_a_member_only_if_the_giver_of_the_newest_names_them() {
    let team = TeamKeys::generate().unwrap();
    let [own, ann, bob, walt, dora] = [(); 5].map(|()| Keys::generate(team.clone()).unwrap());
    let writers = || {
        vec![
            writer(&own, 1, 0, Vec::new()),
            writer(&ann, 1, 1, vec![gives(&[&ann, &own, &bob])]),
            writer(&bob, 1, 1, Vec::new()),
            writer(&walt, 1, 2, vec![gives(&[&walt, &own])]),
            writer(&dora, 7, 3, Vec::new()),
        ]
    };
    let members = |epoch: u32, giver: Option<&Keys>| {
        let state = state(&own, epoch, giver, writers());
        [&own, &ann, &bob, &walt, &dora].map(|keys| state.is_member(&state.writers[&keys.writer()]))
    };
    assert_eq!(members(1, None), [true; 5], "before");
    assert_eq!(members(7, Some(&ann)), [true, true, true, false, true]);
    // One whom a member named has the newest key, whatever the one they came by.
    let line = |vouched_epoch| Line { vouched_epoch, epoch: 1, sequence: 1, ..Line::default() };
    for (vouched_epoch, expected) in [(0, 1), (7, 7)] {
        let joined = writer(&bob, 1, 1, Vec::new());
        let notice = Notice::new(
            Timestamp(1),
            Said::Joined {
                name: joined.name,
                machine: joined.machine,
                key: baton_conversation::hex::encode(joined.key.as_bytes()),
                box_key: String::new(),
            },
        );
        let line = Line { notice: Some(notice), ..line(vouched_epoch) };
        assert_eq!(Writer::joined(&bob.writer(), &line).unwrap().joined_epoch, expected);
    }
}
