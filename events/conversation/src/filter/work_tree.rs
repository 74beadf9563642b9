//! What git prints about a work tree: the branch, the commits that are not pushed, the files that are not committed.
//!
//! Later lines of an output count over earlier ones, as several commands may print one after the other.

use std::borrow::Cow;

use super::git_output::{commit_place, is_hash};
use crate::item::{ListedFiles, WorkTree};
use baton_redaction::redact_owned;

/// Most files kept of one status.
const MAX_LISTED: usize = 100;
/// Longest path and name of a branch, in bytes.
const MAX_NAME_BYTES: usize = 250;
/// Marks before the path in a short status.
const CODES: &str = " MADRCUT?!";
/// Beginnings of lines that name the branch to which a work tree was switched, up to the quote.
const SWITCHED: [&str; 4] =
    ["Switched to a new branch '", "Switched to branch '", "Switched to and reset branch '", "Already on '"];

/// Subcommands of git that print the commit that they make.
const COMMITTING: [&str; 4] = ["commit", "merge", "revert", "cherry-pick"];
/// Commands that print nothing, so that what follows them is the status alone.
const SILENT: [&str; 6] = ["cd", "git add", "git fetch", "rm", "set", "export"];

/// Part of a status that the next lines belong to.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Section {
    #[default]
    None,
    Staged,
    Unstaged,
    Untracked,
    Short,
}

/// Reads an output that is redacted and without colours. `line` is the command line, or its beginning with a `…`.
pub(super) fn find(output: &str, line: &str) -> Option<WorkTree> {
    let is_short =
        line.contains(" status") && [" -s", " --short", " --porcelain"].iter().any(|flag| line.contains(flag));
    let mut reader = Reader {
        commits: line.ends_with('…') || COMMITTING.iter().any(|word| line.contains(word)),
        pushes: line.ends_with('…') || line.contains(" push"),
        pushes_branches: !line.contains(" --tags") && !line.contains(" --delete"),
        follows: is_short && !comes_first(line),
        ..Reader::default()
    };
    if is_short && (output.is_empty() || !output.contains("## ")) {
        reader.tree.files = Some(ListedFiles::default());
        reader.section = Section::Short;
        // The blank before the first mark is lost.
        let first = output.lines().next().unwrap_or_default();
        if first.as_bytes().get(1) == Some(&b' ') && first.as_bytes().get(2).is_some_and(|byte| *byte != b' ') {
            reader.read(&format!(" {first}"));
            output.lines().skip(1).for_each(|line| reader.read(line));
            return reader.found();
        }
    }
    output.lines().for_each(|line| reader.read(line));
    if line.contains("git branch") || line.ends_with("rev-parse --abbrev-ref HEAD") {
        let starred = output.lines().find_map(|line| line.strip_prefix("* "));
        let shown = || {
            let is_alone = ["branch --show-current", "--abbrev-ref HEAD"].iter().any(|end| line.ends_with(end));
            output.lines().last().filter(|_| is_alone)
        };
        reader.on(starred.or_else(shown).unwrap_or_default());
    }
    reader.found()
}

/// Returns true if what stands before a status prints nothing.
fn comes_first(line: &str) -> bool {
    let before = line.split_once(" status").map_or(line, |(before, _)| before);
    let own = before.rfind(['&', ';', '|', '\n']).map_or(0, |at| at + 1);
    let is_silent = |part: &str| part.is_empty() || SILENT.iter().any(|silent| part.starts_with(silent));
    before[..own].split(['&', ';', '|', '\n']).all(|part| is_silent(part.trim()))
}

#[derive(Default)]
struct Reader {
    tree: WorkTree,
    section: Section,
    /// True if the last line that names a remote says that commits go there, false if they come from there.
    sends: Option<bool>,
    /// True if the remote branch of the last line has the name of the branch.
    is_own_remote: bool,
    /// True if the command line may make commits.
    commits: bool,
    /// True if the number of files of a commit may follow.
    counts: bool,
    /// True if it may push, and if what it pushes may be branches.
    pushes: bool,
    pushes_branches: bool,
    /// True if something else may be printed before the first entry of a short status.
    follows: bool,
    /// True if the remote took a branch, and if it refused one.
    sent: bool,
    refused: bool,
}

impl Reader {
    fn found(mut self) -> Option<WorkTree> {
        self.tree.pushed = self.sent && !self.refused;
        Some(self.tree).filter(|tree| *tree != WorkTree::default())
    }

    fn read(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix("On branch ") {
            self.restart();
            return self.on(name);
        }
        if let Some(header) = line.strip_prefix("## ").or_else(|| line.strip_prefix("📌 ")) {
            if let Some((branch, rest)) =
                header.split_once("...").filter(|(branch, rest)| is_name(branch) && rest.contains('/'))
            {
                self.restart();
                self.tree.files = Some(ListedFiles::default());
                self.section = if line.starts_with('#') { Section::Short } else { Section::None };
                self.on(branch);
                self.compare(rest);
            }
            return;
        }
        if let Some(name) = SWITCHED.iter().find_map(|start| line.strip_prefix(start)?.split_once('\'')) {
            self.tree.ahead = None;
            return self.on(name.0);
        }
        if let Some(place) = commit_place(line).filter(|_| self.commits) {
            (self.counts, self.tree.committed) = (true, 0);
            return self.on(place.trim_end_matches(" (root-commit)"));
        }
        if self.counts && line.starts_with(' ') && line.contains(" changed, ") {
            let count = line.trim_start().split_once(" file").and_then(|(count, _)| count.parse().ok());
            (self.counts, self.tree.committed) = (false, count.unwrap_or(0));
        }
        if line.starts_with("Your branch ") || line.starts_with("and have ") {
            return self.compare_in_words(line);
        }
        self.push(line);
        self.list(line);
    }

    /// A new status begins.
    fn restart(&mut self) {
        (self.tree.files, self.tree.ahead, self.section) = (None, None, Section::None);
    }

    fn on(&mut self, branch: &str) {
        if is_name(branch) && branch != "HEAD" {
            self.tree.branch = Some(branch.to_owned());
        }
    }

    /// Reads what follows the branch in a short status: `origin/main [ahead 2, behind 1]`.
    fn compare(&mut self, rest: &str) {
        let (remote, counts) = rest.split_once(' ').unwrap_or((rest, ""));
        let counts = counts.trim_matches(['[', ']']);
        self.is_own_remote = self.is_of_branch(remote);
        if self.is_own_remote && counts != "gone" {
            let ahead = counts.split(", ").find_map(|count| count.strip_prefix("ahead "));
            self.tree.ahead = ahead.map_or(Some(0), |count| count.parse().ok());
        }
    }

    /// Reads a sentence of a long status.
    fn compare_in_words(&mut self, line: &str) {
        if let Some(counts) = line.strip_prefix("and have ") {
            let count = counts.split(' ').next().and_then(|count| count.parse().ok());
            self.tree.ahead = count.filter(|_| self.is_own_remote);
            return;
        }
        self.is_own_remote = line.split('\'').nth(1).is_some_and(|remote| self.is_of_branch(remote));
        let ahead = match line.split_once("' by ").filter(|_| line.contains(" is ahead of ")) {
            Some((_, rest)) => rest.split(' ').next().and_then(|count| count.parse().ok()),
            None => (line.contains(" up to date with ") || line.contains(" is behind ")).then_some(0),
        };
        self.tree.ahead = ahead.filter(|_| self.is_own_remote);
    }

    fn is_of_branch(&self, remote: &str) -> bool {
        let Some(branch) = self.tree.branch.as_deref() else { return true };
        remote.strip_suffix(branch).is_some_and(|place| place.ends_with('/'))
    }

    /// Reads what a push prints: `   1a2b3c4..2a2b3c4  main -> main` below `To …`.
    fn push(&mut self, line: &str) {
        if line.starts_with("To ") || line.starts_with("From ") {
            self.sends = Some(line.starts_with("To "));
        }
        if line == "Everything up-to-date" && self.pushes && self.pushes_branches {
            (self.sent, self.tree.ahead) = (true, None);
        }
        self.refused |= line.trim_start().starts_with("! [") || line.starts_with("error: failed to push");
        let Some((from, to)) = line.trim_start_matches([' ', '+', '*']).split_once(" -> ") else { return };
        let mut hashes = from.split(' ').next().unwrap_or_default().split("..");
        let is_range = hashes.next().is_some_and(is_hash)
            && hashes.next().is_some_and(|hash| is_hash(hash.trim_start_matches('.')));
        let is_sent = self.sends.unwrap_or(!to.contains('/') && to != "FETCH_HEAD");
        if (is_range || from.starts_with("[new branch]")) && is_sent {
            let source = from.rsplit(' ').next().unwrap_or_default();
            let is_own = self.tree.branch.as_deref().map_or(self.pushes, |branch| [branch, "HEAD"].contains(&source));
            (self.sent, self.tree.ahead) = (self.sent || is_own, None);
        }
    }

    /// Reads the list of files.
    fn list(&mut self, line: &str) {
        let heading = match line.split(':').next().unwrap_or_default() {
            "Changes to be committed" | "✅ Staged" => Section::Staged,
            "Changes not staged for commit" | "Unmerged paths" | "📝 Modified" => Section::Unstaged,
            "Untracked files" | "❓ Untracked" => Section::Untracked,
            _ if line.starts_with("nothing to commit") || line.starts_with("no changes added to commit") => {
                self.tree.files.get_or_insert_default();
                Section::None
            }
            _ => {
                let entry = line.strip_prefix('\t').or_else(|| line.strip_prefix("   "));
                match (self.section, entry) {
                    (Section::Short, _) => self.short_entry(line),
                    (Section::None, _) => {}
                    (_, Some(entry)) => self.entry(entry),
                    // A hint.
                    (_, None) if line.starts_with("  (") => {}
                    (_, None) => self.section = Section::None,
                }
                return;
            }
        };
        if heading != Section::None {
            self.tree.files.get_or_insert_default();
        }
        self.section = heading;
    }

    /// Reads `modified:   src/a.rs`, or a path alone.
    fn entry(&mut self, entry: &str) {
        if let Some(rest) = entry.strip_prefix("... +") {
            let count = rest.split(' ').next().and_then(|count| count.parse().ok());
            self.cut(self.section);
            let files = self.tree.files.as_mut().filter(|_| self.section != Section::Untracked);
            files.into_iter().for_each(|files| files.missing = files.missing.saturating_add(count.unwrap_or(0)));
            return;
        }
        let path = match entry.split_once(':') {
            Some((how, path)) if path.starts_with("  ") && !how.contains(['/', '.']) => path.trim(),
            _ => entry.trim(),
        };
        let path = path.split(" (").next().unwrap_or(path);
        self.add(self.section, path);
    }

    /// Reads ` M src/a.rs`.
    fn short_entry(&mut self, line: &str) {
        let mut chars = line.chars();
        let (index, tree) = (chars.next().unwrap_or('\n'), chars.next().unwrap_or('\n'));
        let path = chars.as_str().strip_prefix(' ').unwrap_or_default();
        let is_name = path.starts_with('"') || path.contains(" -> ") || !path.contains(' ');
        if !CODES.contains(index) || !CODES.contains(tree) || (index, tree) == (' ', ' ') || path.is_empty() || !is_name
        {
            if self.follows {
                return self.cut(Section::Short);
            }
            self.section = Section::None;
            return;
        }
        self.follows = false;
        if matches!(index, '?' | '!') {
            if index == '?' {
                self.add(Section::Untracked, path);
            }
            return;
        }
        if index != ' ' {
            self.add(Section::Staged, path);
        }
        if tree != ' ' {
            self.add(Section::Unstaged, path);
        }
    }

    fn cut(&mut self, section: Section) {
        let files = self.tree.files.get_or_insert_default();
        match section {
            Section::Untracked => files.untracked_is_cut = true,
            _ => files.is_cut = true,
        }
    }

    fn add(&mut self, section: Section, path: &str) {
        let files = self.tree.files.get_or_insert_default();
        let path = unquoted(path.rsplit_once(" -> ").map_or(path, |(_, new)| new));
        let count = files.staged.len() + files.unstaged.len() + files.untracked.len();
        if path.is_empty() || path.len() > MAX_NAME_BYTES || count >= MAX_LISTED {
            return self.cut(section);
        }
        let list = match section {
            Section::Staged => &mut files.staged,
            Section::Untracked => &mut files.untracked,
            _ => &mut files.unstaged,
        };
        // Written in octal, it was not recognised as a secret before.
        list.push(redact_owned(path.into_owned()));
    }
}

fn is_name(branch: &str) -> bool {
    !branch.is_empty() && branch.len() <= MAX_NAME_BYTES && !branch.contains(|c: char| c.is_whitespace() || c == '(')
}

/// The path between quotes, in which git writes bytes in octal: `"caf\303\251.md"`.
fn unquoted(path: &str) -> Cow<'_, str> {
    let Some(inner) = path.strip_prefix('"').and_then(|path| path.strip_suffix('"')) else {
        return Cow::Borrowed(path);
    };
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let octal = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = octal.filter(|_| first == b'\\').and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match (byte, after.split_first()) {
            (Some(byte), _) => (bytes.push(byte), rest = &after[3..]).1,
            (None, Some((&escaped, after))) if first == b'\\' => (bytes.push(escaped), rest = after).1,
            _ => (bytes.push(first), rest = after).1,
        }
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, output: &str, expected: &str) {
        let told = find(output, line).map(|tree| {
            let files = tree.files.map_or_else(String::new, |files| {
                let cut = ["", " …", "|…", " …|…"][usize::from(files.is_cut) + 2 * usize::from(files.untracked_is_cut)];
                format!(" {}|{}|{}{cut}", files.staged.join(","), files.unstaged.join(","), files.untracked.join(","))
            });
            let ahead = tree.ahead.map_or_else(String::new, |ahead| format!(" +{ahead}"));
            let pushed = if tree.pushed { " pushed" } else { "" };
            let committed = if tree.committed > 0 { format!(" ={}", tree.committed) } else { String::new() };
            format!("{}{ahead}{pushed}{committed}{files}", tree.branch.unwrap_or_default())
        });
        assert_eq!(told.unwrap_or_default(), expected, "{output:?}");
    }

    #[test]
    fn a_commit_counts_its_files() {
        let commits =
            "[dev 1a2b3c4] One\n 8 files changed, 6 insertions(+)\n[dev 2a2b3c4] Two\n 1 file changed, 1 deletion(-)";
        check("git commit -m Two", commits, "dev =1");
        check("git commit -m One", &commits[..commits.find("\n[dev 2").unwrap_or(0)], "dev =8");
        check("git commit -m One", "[dev 1a2b3c4] One", "dev");
        check("git diff --stat", " 8 files changed, 6 insertions(+)", "");
    }

    #[test]
    fn a_status_is_read_in_each_of_its_forms() {
        let long = "On branch dev\nYour branch is ahead of 'origin/dev' by 2 commits.\n  (use \"git push\")\n\nChanges to be committed:\n  (use \"x\")\n\trenamed:    a.rs -> b.rs\n\nChanges not staged for commit:\n\tmodified:   src/c.rs\n\tmodified:   lib (new commits)\n\nUntracked files:\n  (use)\n\ttmp/\n\nno changes";
        check("git status", long, "dev +2 b.rs|src/c.rs,lib|tmp/");
        check("git status", "On branch dev\nnothing to commit, working tree clean\n x", "dev ||");
        let diverged =
            "On branch dev\nYour branch and 'origin/dev' have diverged,\nand have 1 and 2 different commits each.";
        check("git status", diverged, "dev +1");
        let of_another = "On branch dev\nYour branch is ahead of 'origin/main' by 3 commits.";
        check("git status", of_another, "dev");
        let short = "## dev...origin/dev [ahead 3, behind 1]\nM  a.rs\nMM b.rs\n?? \"caf\\303\\251 1.md\"\nR  c.rs -> d.rs\nplain\n M e.rs";
        check("git status -sb && git diff", short, "dev +3 a.rs,b.rs,d.rs|b.rs|café 1.md");
        check("git status --short --branch", "## dev...origin/dev\n?? x", "dev +0 ||x");
        check("git status --short --branch", "## dev...origin/dev [gone]", "dev ||");
        check("git status --porcelain", "M a.rs\n M b.rs\nA  c.rs", " c.rs|a.rs,b.rs|");
        check("git status --short", "", " ||");
        check(
            "rtk git status",
            "📌 dev...origin/dev [ahead 9]\n✅ Staged: 1 files\n   a.rs\n📝 Modified: 3 files\n   b.rs\n   ... +2 more\n❓ Untracked: 4 files\n   ... +3 more",
            "dev +9 a.rs|b.rs| …|…",
        );
        check("git status --short; cat notes", "## Notes\n- M x", "");
    }

    #[test]
    fn a_status_after_something_else_may_miss_entries() {
        check("git log --oneline -3 && git status --short", "1a2b3c4 Oil\n2a2b3c4 Paint\n M a.rs", " |a.rs| …");
        check("git diff --stat; git status --porcelain", " a.rs | 2 +-\n 1 file changed", " || …");
        check("git diff --stat; git status --porcelain", " M a.rs\n?? b.rs", " |a.rs|b.rs");
        check("cd x && git status --short; git log --oneline", "1a2b3c4 Oil", " ||");
    }

    #[test]
    fn a_push_a_commit_and_a_switch_are_read() {
        check("git push", "To github.com:o/r.git\n   1a2b3c4..2a2b3c4  dev -> dev", " pushed");
        check("git push -u origin HEAD", "To x\n * [new branch]      HEAD -> feat/x", " pushed");
        check("git push | tail -1", " + 1a2b3c4...2a2b3c4 dev -> dev (forced update)", " pushed");
        check("git push", "To x\n ! [rejected]        dev -> dev (fetch first)", "");
        check("git push origin a b", "To x\n ! [rejected]   a -> a (fetch first)\n   1a2b3c4..2a2b3c4  b -> b", "");
        check("git commit -m x; git push origin main", "[feat 1a2b3c4] Oil\n   1a2b3c4..2a2b3c4  main -> main", "feat");
        check("git push", "Everything up-to-date", " pushed");
        check("git push --tags", "Everything up-to-date", "");
        check("make release", "Everything up-to-date", "");
        check("git log --format='[%an %h] %s'", "[Bob 1a2b3c4] Oil", "");
        check("git fetch", "From x\n   1a2b3c4..2a2b3c4  main       -> origin/main", "");
        check("git commit -m x", "[feat/y 1a2b3c4] Pay\n 1 file changed", "feat/y");
        check("git commit -m x", "[detached HEAD 1a2b3c4] Pay\n[WARN 1a2b3c4 x] y", "");
        check("git switch -c a/b", "Switched to a new branch 'a/b'", "a/b");
        check("cd x && git branch --show-current", "a/b", "a/b");
        check("git branch", "  main\n* a/b\n", "a/b");
        check("cat notes.md", "On branchless days\n## Plan...\n", "");
        let first_clean = "On branch dev\nnothing to commit, working tree clean\nOn branch dev\nChanges not staged for commit:\n\tdeleted:    a.rs";
        check("git status; touch a; git status", first_clean, "dev |a.rs|");
    }
}
