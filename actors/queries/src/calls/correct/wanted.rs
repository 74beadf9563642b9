//! Which entries the arguments mean.

use baton_episode::digest::Correctable;
use baton_events::session::{CorrectedEntry, Correction, EntryKind, Verdict};
use baton_protocol::CorrectParams;

use super::Listing;

/// Takes back the title.
const TITLE: &str = "title";
/// Takes back everything.
const ALL: &str = "all";

/// True if the arguments correct no entry.
pub(super) fn gives_no_verdict(asked: &CorrectParams) -> bool {
    given_verdicts(asked).iter().all(|(_, names)| names.is_empty())
}

fn given_verdicts(asked: &CorrectParams) -> [(Verdict, &[String]); 4] {
    [
        (Verdict::Wrong, &asked.wrong),
        (Verdict::Superseded, &asked.superseded),
        (Verdict::Done, &asked.done),
        (Verdict::NotAFix, &asked.not_a_fix),
    ]
}

/// Returns the corrections of entries, and what is taken back; a new title is not among them. The error says what is
/// wrong and what to do.
pub(super) fn corrections(asked: &CorrectParams, listing: &Listing) -> Result<Vec<Correction>, String> {
    let mut corrections = Vec::new();
    for name in &asked.undo {
        match name.as_str() {
            TITLE => corrections.push(Correction::Title(None)),
            ALL => {
                corrections.push(Correction::Title(None));
                corrections.extend(listing.standing.entries.iter().map(retraction));
            }
            name => {
                let entries = matching_entries(name, listing, |entry| listing.verdicts.contains_key(&key(entry)))?;
                corrections.extend(entries.into_iter().flat_map(|entry| standing(entry, listing)).map(retraction));
            }
        }
    }
    for (verdict, names) in given_verdicts(asked) {
        for name in names {
            let entry = find_entry(name, verdict, listing)?;
            let (line, print) = key(entry);
            // A verdict from before the file was rewritten names another line.
            let elsewhere = standing(entry, listing).filter(|known| known.line != line);
            corrections.extend(elsewhere.map(retraction));
            corrections.push(Correction::Entry { line, print, verdict, withdrawn: false });
        }
    }
    Ok(corrections)
}

fn key(entry: &Correctable) -> (u64, u64) {
    (entry.said.line, entry.print)
}

fn standing<'a>(entry: &'a Correctable, listing: &'a Listing) -> impl Iterator<Item = &'a CorrectedEntry> {
    listing.standing.entries.iter().filter(|known| listing.is_about(known, entry))
}

fn retraction(known: &CorrectedEntry) -> Correction {
    let CorrectedEntry { line, print, verdict, .. } = *known;
    Correction::Entry { line, print, verdict, withdrawn: true }
}

/// The one entry of the verdict's kind that a name means.
fn find_entry<'a>(name: &str, verdict: Verdict, listing: &'a Listing) -> Result<&'a Correctable, String> {
    let kind = verdict.kind();
    let found = matching_entries(name, listing, |entry| entry.kind == kind)?;
    match found.as_slice() {
        [entry] if entry.kind == kind => Ok(entry),
        [entry] => Err(format!(
            "{name} is {}, which cannot be {verdict}; {} can be {}",
            describe_kind(entry.kind),
            describe_kind(entry.kind),
            verdicts_of(entry.kind)
        )),
        [] => Err(format!(
            "line {} has nothing that can be {verdict}; without a correction, the entries are listed",
            &name[1..]
        )),
        several => {
            let numbers = listing.entries.iter().zip(1..).filter(|(entry, _)| several.contains(entry));
            let numbers: Vec<String> = numbers.map(|(_, number): (_, u64)| number.to_string()).collect();
            Err(format!("line {} has several: {}; name one by its number", &name[1..], numbers.join(", ")))
        }
    }
}

/// The entry with this number, or those on this line that fit.
fn matching_entries<'a>(
    name: &str,
    listing: &'a Listing,
    fits: impl Fn(&Correctable) -> bool,
) -> Result<Vec<&'a Correctable>, String> {
    let count = listing.entries.len();
    if let Some(line) = name.strip_prefix(['L', 'l']).and_then(|line| line.parse::<u64>().ok()) {
        return Ok(listing.entries.iter().filter(|entry| entry.said.line == line && fits(entry)).collect());
    }
    let Ok(number) = name.parse::<usize>() else {
        return Err(format!(
            "{name:?} names no entry; give its number in the list, or L and its transcript line, such as L120"
        ));
    };
    match number.checked_sub(1).and_then(|at| listing.entries.get(at)) {
        Some(entry) => Ok(vec![entry]),
        None if count == 0 => Err("the session has no entry that can be corrected, only its title".to_owned()),
        None => Err(format!("there is no entry {number}: they are numbered 1 to {count}")),
    }
}

fn describe_kind(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::Decision => "a decision",
        EntryKind::Fix => "a fix",
        EntryKind::Open => "an open item",
    }
}

fn verdicts_of(kind: EntryKind) -> String {
    let all = Verdict::ALL.iter().filter(|verdict| verdict.kind() == kind);
    all.map(|verdict| verdict.as_str()).collect::<Vec<_>>().join(" or ")
}

#[cfg(test)]
mod tests {
    use baton_conversation::record::{SessionId, Timestamp};
    use baton_episode::digest::{Episode, ErrorLine, Pointed, verdicts};
    use baton_events::session::Corrections;

    use super::*;

    fn said(text: &str, line: u64) -> Pointed {
        Pointed { text: text.to_owned(), line, at: None }
    }

    fn listing(standing: Corrections) -> Listing {
        let resolution = Some(said("it passed after an edit of a.rs", 40));
        let episode = Episode {
            decisions: vec![said("use sled", 10), said("one file", 12), said("no cache", 12)],
            errors: vec![ErrorLine { text: "cargo test: boom".to_owned(), line: 30, at: None, resolution }],
            next_steps: vec![said("write the docs", 50)],
            ..Episode::default()
        };
        let entries = episode.correctable(&SessionId::new("s").unwrap());
        let verdicts = verdicts(&entries, &standing);
        Listing { entries, verdicts, standing, title: String::new(), is_titled_by_person: false }
    }

    #[test]
    fn entries_are_named_by_number_and_by_line() {
        let listing = listing(Corrections::default());
        let check = |verdict: Verdict, name: &str, expected: Result<u64, &str>| {
            let found = find_entry(name, verdict, &listing).map(|entry| entry.said.line);
            match expected {
                Ok(line) => assert_eq!(found, Ok(line), "{name}"),
                Err(says) => assert!(found.as_ref().is_err_and(|error| error.contains(says)), "{name}: {found:?}"),
            }
        };
        check(Verdict::Wrong, "1", Ok(10));
        check(Verdict::Superseded, "L10", Ok(10));
        check(Verdict::NotAFix, "4", Ok(30));
        check(Verdict::Done, "l50", Ok(50));
        check(Verdict::Wrong, "L12", Err("line 12 has several: 2, 3; name one"));
        check(Verdict::Done, "1", Err("1 is a decision, which cannot be done; a decision can be wrong or superseded"));
        check(Verdict::Done, "L10", Err("line 10 has nothing that can be done"));
        check(Verdict::Wrong, "6", Err("there is no entry 6: they are numbered 1 to 5"));
        check(Verdict::Wrong, "0", Err("there is no entry 0"));
        check(Verdict::Wrong, "first", Err("\"first\" names no entry"));
    }

    #[test]
    fn what_is_taken_back_is_what_stands() {
        let plain = listing(Corrections::default());
        let entry = |at: usize, line: u64, verdict| CorrectedEntry {
            line,
            print: plain.entries[at].print,
            verdict,
            at: Timestamp(1),
        };
        // The file was written anew: the second decision stood on another line.
        let (here, moved) = (entry(0, 10, Verdict::Wrong), entry(1, 99, Verdict::Wrong));
        let gone = CorrectedEntry { line: 7, print: 7, ..here };
        let listing = listing(Corrections { title: None, entries: vec![here, moved, gone] });
        let undo = |names: &[&str]| {
            let undo = names.iter().map(|name| (*name).to_owned()).collect();
            corrections(&CorrectParams { undo, ..CorrectParams::default() }, &listing)
        };
        assert_eq!(undo(&["1"]), Ok(vec![retraction(&here)]));
        assert_eq!(undo(&["L12"]), Ok(vec![retraction(&moved)]));
        assert_eq!(undo(&["3"]), Ok(Vec::new()), "it is not corrected");
        let all = [&here, &moved, &gone].map(retraction);
        assert_eq!(undo(&["all"]), Ok([&[Correction::Title(None)], &all[..]].concat()));
        let again = CorrectParams { superseded: vec!["2".to_owned()], ..CorrectParams::default() };
        let (line, print) = key(&listing.entries[1]);
        let now = Correction::Entry { line, print, verdict: Verdict::Superseded, withdrawn: false };
        assert_eq!(corrections(&again, &listing), Ok(vec![retraction(&moved), now]));
    }
}
