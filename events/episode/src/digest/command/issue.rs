//! What a command line does with the issues of a tracker: `gh issue create`, `bd close`.

use super::words;
use super::wrapper::unwrapped;

/// Trackers whose subcommands act on issues.
const TRACKERS: [&str; 3] = ["bd", "br", "beads"];
/// What other command lines call an issue.
const ISSUES: [&str; 4] = ["issue", "issues", "ticket", "bug"];
/// Number of first words among which the verb stands: `gh issue create`.
const HEAD_WORDS: usize = 3;

/// What is done with issues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::digest) enum IssueAct {
    /// Files one of this title with this program.
    File { program: String, title: String },
    /// Closes those of these ids.
    Close(Vec<String>),
}

/// Returns what a command line does with issues, in order.
pub(in crate::digest) fn issue_acts(line: &str) -> Vec<IssueAct> {
    // Most lines need no parsing.
    if !["create", "new", "close"].iter().any(|verb| line.contains(verb)) {
        return Vec::new();
    }
    let act = |part: words::Part<'_>| {
        let (words, _) = unwrapped(part.words);
        act(&words.iter().map(AsRef::as_ref).collect::<Vec<_>>())
    };
    words::parts(line).into_iter().filter_map(act).collect()
}

fn act(words: &[&str]) -> Option<IssueAct> {
    let verb = words.iter().take(HEAD_WORDS).skip(1).position(|word| matches!(*word, "create" | "new" | "close"))? + 1;
    let rest = &words[verb + 1..];
    if rest.contains(&"--help") || !TRACKERS.contains(&words[0]) && !ISSUES.contains(&words[verb - 1]) {
        return None;
    }
    if words[verb] == "close" {
        let ids = rest.iter().take_while(|word| !word.starts_with('-'));
        return Some(IssueAct::Close(ids.map(|id| (*id).to_owned()).collect()));
    }
    let option = rest.iter().enumerate().find_map(|(at, word)| match word.strip_prefix("--title") {
        Some("") => rest.get(at + 1).copied(),
        Some(value) => value.strip_prefix('='),
        None if *word == "-t" && !TRACKERS.contains(&words[0]) => rest.get(at + 1).copied(),
        None => None,
    });
    let title = option.or_else(|| rest.first().copied().filter(|word| !word.starts_with('-')))?;
    (!title.is_empty()).then(|| IssueAct::File { program: words[0].to_owned(), title: title.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issues_are_filed_and_closed_by_the_words_of_their_tracker() {
        let file = |program: &str, title: &str| IssueAct::File { program: program.to_owned(), title: title.to_owned() };
        let close = |ids: &[&str]| IssueAct::Close(ids.iter().map(|id| (*id).to_owned()).collect());
        let check = |line: &str, expected: &[IssueAct]| assert_eq!(issue_acts(line), expected, "{line}");
        check("cd web && bd create --title=\"Mend the jib\" --type=bug 2>&1", &[file("bd", "Mend the jib")]);
        check(
            "bd create 'Mend the jib' -t bug -p 1; bd close web-1 web-2 --reason=x",
            &[file("bd", "Mend the jib"), close(&["web-1", "web-2"])],
        );
        check("gh issue create -t 'Mend it' --body 'x close y'", &[file("gh", "Mend it")]);
        check("gh issue close 12 --comment done", &[close(&["12"])]);
        for nothing in
            ["gh pr create --title x", "docker create -t x", "npm create vite", "bd create --help", "bd list"]
        {
            check(nothing, &[]);
        }
    }
}
