use super::*;

fn root(number: usize) -> NamedRoot {
    NamedRoot { config_dir: format!("/home/u/.claude-{number}"), named_by: "mcp".to_owned() }
}

#[test]
fn a_model_is_switched_on_and_off_once() {
    let mut state = State::default();
    for (enabled, now, expected, since) in [
        (false, 1, vec![], None),
        (true, 2, vec![Event::ModelEnabled { at: Timestamp(2) }], Some(2)),
        (true, 3, vec![], Some(2)),
        (false, 4, vec![Event::ModelDisabled], None),
        (true, 5, vec![Event::ModelEnabled { at: Timestamp(5) }], Some(5)),
    ] {
        let events = switch_model(&state, enabled, Timestamp(now));
        assert_eq!(events, expected, "{now}");
        state = events.into_iter().fold(state, evolve);
        assert_eq!(state.model_since, since.map(Timestamp), "{now}");
    }
}

#[test]
fn a_root_is_added_once_and_not_without_end() {
    let mut state = State::default();
    for number in 0..ROOTS_MAX {
        let events = add_root(&state, root(number)).unwrap();
        assert_eq!(events, [Event::RootAdded(root(number))]);
        state = events.into_iter().fold(state, evolve);
        assert_eq!(add_root(&state, root(number)), Ok(Vec::new()), "known");
    }
    assert_eq!(add_root(&state, root(ROOTS_MAX)), Err(Rejection::TooManyRoots));
    assert_eq!(add_root(&state, root(0)), Ok(Vec::new()), "a known one is no news at the bound either");
}

fn groups(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn folded(state: State, events: Result<Vec<Event>, Rejection>) -> State {
    events.unwrap().into_iter().fold(state, evolve)
}

#[test]
fn what_is_cleared_is_what_was_there() {
    let mut state = State::default();
    let clears = |state: &State, group, since| state.clears(group, Position(since));
    assert!(!clears(&state, Some("a"), 1));
    state = folded(state.clone(), clear(&state, &groups(&["a"]), Position(5)));
    assert_eq!([1, 5, 6].map(|at| clears(&state, Some("a"), at)), [true, true, false]);
    assert_eq!([Some("b"), None].map(|group| clears(&state, group, 1)), [false, false]);
    assert_eq!(clear(&state, &groups(&["a"]), Position(4)), Ok(Vec::new()), "no news");
    state = folded(state.clone(), clear(&state, &[], Position(7)));
    assert_eq!(state.cleared.len(), 0, "all is more than one");
    assert_eq!([Some("a"), Some("b"), None].map(|group| clears(&state, group, 7)), [true; 3]);
    assert_eq!(clear(&state, &[], Position(7)), Ok(Vec::new()));
    assert_eq!(clear(&state, &groups(&["b"]), Position(7)), Ok(Vec::new()));
    state = folded(state.clone(), clear(&state, &groups(&["b", "b"]), Position(9)));
    assert_eq!([Some("a"), Some("b")].map(|group| clears(&state, group, 9)), [false, true]);
    assert!(state.deletes() && !State::default().deletes());
}

#[test]
fn what_was_cleared_comes_back() {
    let mut state = State::default();
    assert_eq!((restore(&state, None), restore(&state, Some("a"))), (vec![], vec![]));
    state = folded(state.clone(), clear(&state, &groups(&["a", "b"]), Position(5)));
    state = folded(state.clone(), Ok(restore(&state, Some("a"))));
    assert_eq!([Some("a"), Some("b")].map(|group| state.clears(group, Position(1))), [false, true]);
    state = folded(state.clone(), clear(&state, &[], Position(7)));
    assert_eq!(restore(&state, Some("a")), [], "it was cleared with all");
    state = folded(state.clone(), Ok(restore(&state, None)));
    assert_eq!(state, State::default());
}

#[test]
fn at_a_bound_a_wish_is_refused_and_nothing_is_dropped() {
    let names: Vec<String> = (0..CLEARED_MAX).map(|number| format!("g{number}")).collect();
    let state = folded(State::default(), clear(&State::default(), &names, Position(1)));
    assert_eq!(clear(&state, &groups(&["one-more"]), Position(2)), Err(Rejection::TooManyCleared));
    assert_eq!(clear(&state, &groups(&["g3"]), Position(2)).map(|events| events.len()), Ok(1), "a known one fits");
    let long = vec!["x".repeat(CLEARED_MAX_BYTES + 1)];
    assert_eq!(clear(&State::default(), &long, Position(2)), Err(Rejection::TooManyCleared));
    let deleted_facts = (0..DELETED_FACTS_MAX as u128).map(Uuid::from_u128).collect();
    let state = State { deleted_facts, ..State::default() };
    assert_eq!(delete_fact(&state, Uuid::max()), Err(Rejection::TooManyFacts));
    assert_eq!(delete_fact(&state, Uuid::from_u128(3)), Ok(Vec::new()));
}

#[test]
fn a_fact_is_deleted_until_it_is_told_anew() {
    let (fact, mut state) = (Uuid::from_u128(7), State::default());
    assert_eq!(restore_fact(&state, fact), []);
    state = folded(state.clone(), delete_fact(&state, fact));
    assert_eq!(delete_fact(&state, fact), Ok(Vec::new()));
    let events = restore_fact(&state, fact);
    assert_eq!(events, [Event::FactRestored { fact }]);
    assert_eq!(folded(state, Ok(events)), State::default());
}

#[test]
fn only_the_first_recall_in_another_project_is_an_event() {
    let (entity, mut state) = (Uuid::from_u128(7), State::default());
    for project in ["/a", "/b", "/a", "/c", "/b"] {
        state = folded(state.clone(), Ok(recall(&state, entity, project)));
    }
    assert_eq!((state.recalled_in(entity), state.recalled_in(Uuid::max())), (3, 0));
    assert_eq!(recall(&state, entity, "/c"), []);
    for number in 0..2 * RECALLED_IN_MAX {
        state = folded(state.clone(), Ok(recall(&state, entity, &format!("/more/{number}"))));
    }
    assert_eq!(state.recalled_in(entity), RECALLED_IN_MAX, "more change nothing");
    assert!(!state.deletes(), "nothing is deleted");
}

#[test]
fn recalls_are_remembered_up_to_a_bound_and_the_oldest_give_way() {
    let mut state = State::default();
    let mut recalled = |entity: u128, project: &str| {
        let events = recall(&state, Uuid::from_u128(entity), project);
        state = events.into_iter().fold(std::mem::take(&mut state), evolve);
        let known: Vec<u128> = state.recalled.iter().map(|(entity, _)| entity.as_u128()).collect();
        let pairs: usize = state.recalled.iter().map(|(_, projects)| projects.len()).sum();
        assert!(pairs <= RECALLS_MAX, "{pairs}");
        (known, state.recalled_in(Uuid::from_u128(entity)))
    };
    for entity in 0..RECALLS_MAX as u128 {
        recalled(entity, "/a");
    }
    // The second entity joins a new project, so it becomes the youngest and the first one is dropped.
    let (known, of_it) = recalled(1, "/b");
    assert_eq!((known.len(), known[0], *known.last().unwrap(), of_it), (RECALLS_MAX - 1, 2, 1, 2));
    // A new entity can still be shared, whatever was recalled before.
    let new = u128::MAX;
    let shared = ["/a", "/b", "/c"].map(|project| recalled(new, project).1);
    assert_eq!(shared, [1, 2, 3]);
    // An entity with several projects is dropped as a whole.
    let (known, _) = (6..RECALLS_MAX as u128).map(|entity| recalled(entity, "/z")).last().unwrap();
    assert!(!known.contains(&2) && known.contains(&new), "{known:?}");
    // A dropped entity counts as new again.
    assert_eq!(recalled(0, "/a").1, 1);
}
