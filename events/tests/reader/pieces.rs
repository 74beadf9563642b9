//! A transcript read as it grows gives the same result as one read at once, wherever the pieces end.

use baton_conversation::transcript::Observation;
use proptest::prelude::*;

use crate::read::{MAIN, in_pieces, sources, whole};
use crate::record;

/// Lines of any kinds.
pub(crate) fn lines(most: usize) -> impl Strategy<Value = Vec<String>> {
    let line = (0..record::kinds(), any::<u64>()).prop_map(|(kind, seed)| record::line(kind, seed));
    proptest::collection::vec(line, 0..most)
}

fn text(lines: &[String]) -> Vec<u8> {
    lines.iter().flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect()
}

#[test]
fn every_byte_may_be_the_last_for_now() {
    // Each kind of line after another one; every length of the file is a time at which it is read.
    for kind in 0..record::kinds() {
        let short = |kind| (0..).map(|seed| record::line(kind, seed)).find(|line| line.len() < 450).unwrap();
        let bytes = text(&[short(kind + 7), short(kind)]);
        for source in sources().into_iter().filter(|source| !source.subagent) {
            let expected = whole(source, &bytes);
            for length in 0..bytes.len() {
                assert_eq!(in_pieces(source, &bytes, &[length]), expected, "kind {kind}, {source:?}, cut at {length}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pieces_come_to_the_whole(lines in lines(24), cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..6)) {
        let bytes = text(&lines);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.sort_unstable();
        for source in sources() {
            prop_assert_eq!(in_pieces(source, &bytes, &cuts), whole(source, &bytes), "{:?}", source);
        }
    }

    #[test]
    fn observations_add_up_in_any_grouping(lines in lines(12)) {
        // The observation of a file is the sum over its lines, however they are combined.
        let bytes = text(&lines);
        let ends: Vec<usize> = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
        let expected = whole(MAIN, &bytes).seen;
        let each = in_pieces(MAIN, &bytes, &ends).seen;
        prop_assert_eq!(&each, &expected);
        let mut none = Observation::default();
        none.absorb(&expected);
        none.absorb(&Observation::default());
        prop_assert_eq!(none, expected);
    }
}
