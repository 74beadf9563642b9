//! Vectors from their owner's point of view: durability, removal and the cost of damage.

use std::collections::HashSet;
use std::fs;

use tempfile::TempDir;

use super::{Error, Key, Model, Table, Vectors, file_name, key, passage};

fn model(name: &str) -> Model {
    Model { name: name.to_owned(), dimensions: None }
}

fn vector(key: Key) -> Vec<f32> {
    (1..=6).map(|at| (((key + 1) * at) as f32).sin()).collect()
}

fn given(keys: impl IntoIterator<Item = Key>) -> Vec<(Key, Vec<f32>)> {
    keys.into_iter().map(|key| (key, vector(key))).collect()
}

fn open(dir: &TempDir, name: &str) -> (Vectors, std::sync::Arc<Table>) {
    let vectors = Vectors::new(dir.path());
    let table = vectors.select(Some(&model(name))).unwrap().unwrap();
    (vectors, table)
}

/// A table filled with frames of three vectors each.
fn filled(dir: &TempDir, frames: u64) -> (Vectors, std::sync::Arc<Table>) {
    let (vectors, table) = open(dir, "m");
    for frame in 0..frames {
        assert!(table.add(&given(3 * frame..3 * frame + 3), 0).unwrap());
    }
    (vectors, table)
}

fn held(table: &Table) -> Vec<Key> {
    (0..100).filter(|key| table.holds(*key)).collect()
}

#[test]
fn what_was_added_is_there_the_next_time() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(filled(&dir, 4).1.count(), 12);
    let (_, table) = open(&dir, "m");
    assert_eq!((held(&table), table.dimensions()), ((0..12).collect(), Some(6)));
    // Adding twice changes nothing, and vectors without direction are left out.
    let size = fs::metadata(table.path()).unwrap().len();
    table.add(&[(3, vector(9)), (50, vec![0.0; 6])], 0).unwrap();
    assert_eq!((held(&table).len(), fs::metadata(table.path()).unwrap().len()), (12, size));
    assert!(matches!(table.add(&[(60, vec![1.0; 7])], 0), Err(Error::Dimensions { held: 6, given: 7 })));
    assert_eq!(open(&dir, "m").1.count(), 12);
}

#[test]
fn each_model_has_vectors_of_its_own_until_another_has_taken_over() {
    let dir = tempfile::tempdir().unwrap();
    filled(&dir, 1);
    let (vectors, other) = open(&dir, "n");
    assert_eq!((other.count(), other.dimensions()), (0, None));
    other.add(&[(1, vec![1.0, 2.0])], 0).unwrap();
    assert_eq!(vectors.select(Some(&model("m"))).unwrap().unwrap().count(), 3);
    let shorter = Model { dimensions: Some(5), ..model("m") };
    let shorter = vectors.select(Some(&shorter)).unwrap().unwrap();
    assert_eq!(shorter.count(), 0);
    assert!(matches!(shorter.add(&given([1]), 0), Err(Error::Dimensions { held: 5, given: 6 })));
    assert_eq!(vectors.select(Some(&model("n"))).unwrap().unwrap().count(), 1);
    assert_eq!(vectors.delete_others().unwrap(), 1);
    assert_eq!(open(&dir, "m").1.count(), 0);
    assert_eq!(open(&dir, "n").1.count(), 1);
    assert!(vectors.select(None).unwrap().is_none() && vectors.current().is_none());
    assert!(matches!(vectors.select(Some(&model(""))), Err(Error::Name)));
}

#[test]
fn a_tail_that_is_torn_anywhere_costs_itself_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = filled(&dir, 3).1.path().to_owned();
    let bytes = fs::read(&path).unwrap();
    let ends: Vec<usize> = (1..=3)
        .map(|frames| {
            let dir = tempfile::tempdir().unwrap();
            fs::metadata(filled(&dir, frames).1.path()).unwrap().len() as usize
        })
        .collect();
    for cut in 0..bytes.len() {
        fs::write(&path, &bytes[..cut]).unwrap();
        let (_, table) = open(&dir, "m");
        let whole = ends.iter().filter(|end| **end <= cut).count();
        assert_eq!(table.count(), 3 * whole, "cut at {cut}");
        assert!(table.add(&given(70..72), 0).unwrap());
        let (_, table) = open(&dir, "m");
        assert_eq!(table.count(), 3 * whole + 2, "added behind a cut at {cut}");
    }
}

#[test]
fn a_changed_byte_costs_its_frame_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = filled(&dir, 3).1.path().to_owned();
    let bytes = fs::read(&path).unwrap();
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 0x10;
        fs::write(&path, &changed).unwrap();
        let (vectors, table) = open(&dir, "m");
        // A changed head is no longer a head; a changed length hides what follows.
        assert!(table.count() < 9, "byte {at}");
        assert!(held(&table).iter().all(|key| *key < 9));
        table.add(&given(0..9), 0).unwrap();
        assert_eq!(held(&open(&dir, "m").1), (0..9).collect::<Vec<_>>(), "byte {at}");
        if at % 16 > 0 {
            continue;
        }
        // Nothing of texts that are not live stays in the file, damaged or not.
        vectors.retain(|| HashSet::from([4])).unwrap();
        assert_eq!(held(&open(&dir, "m").1), [4]);
    }
    let mut changed = bytes.clone();
    let middle = bytes.len() / 2;
    changed[middle] ^= 1;
    fs::write(&path, &changed).unwrap();
    assert_eq!(held(&open(&dir, "m").1), [0, 1, 2, 6, 7, 8]);
}

#[test]
fn what_is_not_live_is_in_no_file() {
    let dir = tempfile::tempdir().unwrap();
    filled(&dir, 3);
    let (vectors, table) = open(&dir, "n");
    table.add(&given(0..9), 0).unwrap();
    fs::write(dir.path().join("x.vectors"), "not ours").unwrap();
    fs::write(dir.path().join("y.vectors.tmp"), "not finished").unwrap();
    let in_files = |key: Key| {
        fs::read_dir(dir.path()).unwrap().any(|entry| {
            let bytes = fs::read(entry.unwrap().path()).unwrap();
            bytes.windows(8).any(|window| window == key.to_le_bytes())
        })
    };
    // Bytes that occur nowhere else in the file.
    let far = |key: Key| 0x0077_6655_4433_2200 + key;
    table.add(&given((0..9).map(far)), 0).unwrap();
    let live: HashSet<Key> = [1, 2, 5, 99].into_iter().chain([far(1), far(2), far(5)]).collect();
    assert!((0..9).map(far).all(in_files));
    assert_eq!((table.count_dead(&live), vectors.retain(|| live.clone()).unwrap()), (12, 18));
    assert!((0..9).map(far).all(|key| in_files(key) == live.contains(&key)));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    assert_eq!(held(&table), [1, 2, 5]);
    // A caller that determined live texts before the removal must do so again.
    assert!(!table.add(&given([3]), 0).unwrap() && !table.holds(3));
    assert!(table.add(&given([3]), table.removals()).unwrap() && table.holds(3));
    assert_eq!(held(&open(&dir, "m").1), [1, 2, 5]);
    assert_eq!(vectors.retain(|| live.clone()).unwrap(), 1);
    assert_eq!(vectors.retain(|| live.clone()).unwrap(), 0);
    assert_eq!(Vectors::new(&dir.path().join("never")).retain(|| live.clone()).unwrap(), 0);
}

#[test]
fn a_passage_is_what_a_small_model_reads() {
    let long = "word ".repeat(1_000);
    let check = |text: &str, expected: Option<usize>| {
        assert_eq!(passage(text).map(|passage| passage.chars().count()), expected, "{text:?}");
    };
    check("", None);
    check(" \n…!", None);
    check(" ok ", Some(2));
    check("é", Some(1));
    check(&long, Some(1_999));
    check(&"ü".repeat(3_000), Some(2_000));
    assert_eq!(key("a"), key("a"));
    assert_ne!(key("a"), key("b"));
    assert_ne!(file_name(&model("a")), file_name(&Model { dimensions: Some(1), ..model("a") }));
}
