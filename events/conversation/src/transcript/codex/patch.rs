//! Patches in the form of Codex: `*** Begin Patch`, a heading per file, lines with `+`, `-` or a space.

/// Most files of one patch that become calls of their own.
pub(super) const MAX_FILES: usize = 32;

/// Change of one file by a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change<'p> {
    pub(super) path: &'p str,
    /// `add`, `update`, `delete` or `move`.
    pub(super) how: &'static str,
    /// The new path, if the file is moved.
    pub(super) to: Option<&'p str>,
    pub(super) added: u32,
    pub(super) removed: u32,
    /// The lines below the heading.
    pub(super) text: String,
}

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const HEADINGS: [(&str, &str); 3] =
    [("*** Add File: ", "add"), ("*** Update File: ", "update"), ("*** Delete File: ", "delete")];
const MOVE: &str = "*** Move to: ";

/// The patch in a text: the whole text, or what a shell passes to `apply_patch`.
pub(super) fn find(text: &str) -> Option<&str> {
    let start = text.find(BEGIN)?;
    let end = text[start..].find(END).map_or(text.len(), |at| start + at);
    Some(&text[start..end])
}

/// The changes of a patch by file, at most [`MAX_FILES`].
pub(super) fn changes(patch: &str) -> Vec<Change<'_>> {
    let mut changes: Vec<Change<'_>> = Vec::new();
    let mut full = false;
    for line in patch.lines() {
        let heading = HEADINGS.iter().find_map(|(start, how)| Some((line.strip_prefix(start)?.trim(), *how)));
        if let Some((path, how)) = heading {
            full |= changes.len() >= MAX_FILES;
            if !full && !path.is_empty() {
                changes.push(Change { path, how, to: None, added: 0, removed: 0, text: String::new() });
            }
            continue;
        }
        let Some(change) = changes.last_mut().filter(|_| !full) else { continue };
        if let Some(to) = line.strip_prefix(MOVE) {
            (change.how, change.to) = ("move", Some(to.trim()));
            continue;
        }
        match line.as_bytes().first() {
            Some(b'+') => change.added += 1,
            Some(b'-') => change.removed += 1,
            _ => {}
        }
        change.text.push_str(line);
        change.text.push('\n');
    }
    changes
}

/// Lines added and removed by a unified diff.
pub(super) fn count(diff: &str) -> (u32, u32) {
    let body = diff.lines().filter(|line| !line.starts_with("+++ ") && !line.starts_with("--- "));
    body.fold((0, 0), |(added, removed), line| match line.as_bytes().first() {
        Some(b'+') => (added + 1, removed),
        Some(b'-') => (added, removed + 1),
        _ => (added, removed),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_of_a_patch_is_counted_alone() {
        let text = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a.rs\n+one\n+two\n*** Update File: src/b c.rs\n*** Move to: src/d.rs\n@@ fn x\n-old\n+new\n kept\n*** Delete File: e.rs\n*** End Patch\nEOF\n";
        let patch = find(text).unwrap();
        let found = changes(patch);
        let shown: Vec<_> = found.iter().map(|c| (c.path, c.how, c.to, c.added, c.removed)).collect();
        assert_eq!(
            shown,
            [
                ("a.rs", "add", None, 2, 0),
                ("src/b c.rs", "move", Some("src/d.rs"), 1, 1),
                ("e.rs", "delete", None, 0, 0)
            ]
        );
        assert_eq!(found[0].text, "+one\n+two\n");
        assert_eq!(find("no patch"), None);
        assert!(changes("*** Begin Patch\n+stray").is_empty());
        let many: String = (0..100).map(|n| format!("*** Delete File: {n}\n")).collect();
        assert_eq!(changes(&many).len(), MAX_FILES);
    }

    #[test]
    fn a_unified_diff_is_counted_without_its_heading() {
        assert_eq!(count("--- a\n+++ b\n@@ -1,2 +1,2 @@\n-x\n+y\n+z\n k\n"), (2, 1));
        assert_eq!(count(""), (0, 0));
    }
}
