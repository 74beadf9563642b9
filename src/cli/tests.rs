use super::{number, session};

#[test]
fn ids_are_taken_in_capital_letters_too() {
    for (typed, known) in
        [("7ACD37A8", "7acd37a8"), ("7ACD37A8-1F2E", "7acd37a8-1f2e"), ("agent-7ACD", "agent-7ACD"), ("Named", "Named")]
    {
        assert_eq!(session(typed), known);
    }
}

#[test]
fn a_number_out_of_bounds_is_refused_with_the_bounds() {
    assert_eq!(number::<u32, 1, 20>("20"), Ok(20));
    for wrong in ["x", "", "0", "21", "-1", "1.5"] {
        assert_eq!(number::<u32, 1, 20>(wrong), Err("write a number from 1 to 20".to_owned()), "{wrong}");
    }
    assert_eq!(number::<u64, 1, { u64::MAX }>("0"), Err("write a number, at least 1".to_owned()));
}
