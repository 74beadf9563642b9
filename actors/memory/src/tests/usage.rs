//! Usage of models: stored with its session, read with all others.

use baton_conversation::usage::{Course, ModelUsage, Part};

use super::*;

fn course(model: &str, output: u64) -> Course {
    let usage = ModelUsage { model: model.to_owned(), messages: 1, output, ..ModelUsage::default() };
    Course { first: Some(7), left_out: 0, parts: vec![Part { at: Some(1), usage }] }
}

/// All that is known, by session: model and output.
fn told(memory: &Memory) -> String {
    let mut told: Vec<String> = memory
        .searcher
        .courses()
        .unwrap()
        .into_iter()
        .map(|known| {
            let parts = known.course.parts.iter().map(|part| format!(" {} {}", part.usage.model, part.usage.output));
            known.session.to_string() + &parts.collect::<String>()
        })
        .collect();
    told.sort();
    told.join(", ")
}

#[test]
fn the_usage_of_a_session_is_read_with_all_others_and_goes_with_it() {
    let mut one = Session { usage: course("opus", 5), ..Session::new("one", &["hello"]) };
    let two = Session { usage: course("haiku", 7), ..Session::new("two", &["hello"]) };
    let mut memory = Memory::of(&[one.clone(), two, Session::new("none", &["hello"])]);
    assert_eq!(told(&memory), "none, one opus 5, two haiku 7");
    assert_eq!(memory.searcher.courses().unwrap().iter().filter(|known| known.course.first == Some(7)).count(), 2);
    one.usage = course("opus", 9);
    memory.store.put(&one.entry(0)).unwrap();
    memory.store.remove(&SessionId::new("two").unwrap()).unwrap();
    memory.store.commit(checkpoint(2)).unwrap();
    assert_eq!(told(&memory), "none, one opus 9", "also after it was read once");
}
