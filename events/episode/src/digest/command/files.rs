//! Files that a command line writes and reads: redirections, and arguments of some known programs.

use super::words::{self, Word};

/// Maximum number of files of one line.
const MAX_FILES: usize = 20;
/// Programs that print the files given to them.
const PRINTING: [&str; 8] = ["cat", "head", "tail", "less", "more", "bat", "nl", "tac"];
/// Files whose names have no extension.
const KNOWN: [&str; 8] = ["Makefile", "Dockerfile", "Justfile", "justfile", "LICENSE", "README", "Procfile", "Gemfile"];

/// A file, as the line names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::digest) enum Touch {
    Written(String),
    Read(String),
    Removed(String),
}

/// Returns the files that a line names literally, in order, relative to where it runs. Only names that look like files
/// count, and none that the shell would expand.
pub(in crate::digest) fn touched_files(line: &str) -> Vec<Touch> {
    let directory = super::leading_cd(line);
    let mut all = Vec::new();
    for part in words::parts(super::without_leading_cd(line)) {
        let words: Vec<&str> = part.words.iter().map(Word::as_str).collect();
        let (reads, writes) = program_files(&words);
        let removed = removed(&words).into_iter().filter(|path| is_literal(path));
        let redirected = part.writes.iter().map(Word::as_str);
        all.extend(
            redirected.chain(writes).filter(|path| is_file(path)).map(|path| Touch::Written(joined(directory, path))),
        );
        all.extend(reads.into_iter().filter(|path| is_file(path)).map(|path| Touch::Read(joined(directory, path))));
        all.extend(removed.map(|path| Touch::Removed(joined(directory, path))));
        if all.len() >= MAX_FILES {
            break;
        }
    }
    all.truncate(MAX_FILES);
    all
}

/// Returns what a program reads, and what it writes.
fn program_files<'w>(words: &[&'w str]) -> (Vec<&'w str>, Vec<&'w str>) {
    let Some((program, rest)) = words.split_first() else { return (Vec::new(), Vec::new()) };
    let program = program.rsplit('/').next().unwrap_or(program);
    let files = || rest.iter().copied().filter(|word| !word.starts_with(['-', '+'])).collect::<Vec<&str>>();
    let edits_in_place = || rest.iter().any(|word| word.starts_with("-i") || *word == "--in-place" || *word == "-pi");
    match program {
        _ if PRINTING.contains(&program) => (files(), Vec::new()),
        "sed" | "perl" => {
            let scripted = rest.iter().any(|word| matches!(*word, "-e" | "-f" | "-pe" | "-ne"));
            // The first word that is not a flag is the script.
            let files: Vec<&str> = files().into_iter().skip(usize::from(!scripted)).collect();
            if edits_in_place() { (Vec::new(), files) } else { (files, Vec::new()) }
        }
        "tee" | "touch" => (Vec::new(), files()),
        "cp" | "mv" => (Vec::new(), files().last().copied().into_iter().collect()),
        "git" => match rest {
            ["checkout", .., "--"] => (Vec::new(), Vec::new()),
            ["checkout", rest @ ..] => {
                let named = rest.iter().position(|word| *word == "--").and_then(|at| rest.get(at + 1..));
                (Vec::new(), named.unwrap_or_default().to_vec())
            }
            ["rm", ..] if !rest.contains(&"--cached") => (Vec::new(), files().split_off(1)),
            ["restore", ..] if !rest.contains(&"--staged") => (Vec::new(), files().split_off(1)),
            _ => (Vec::new(), Vec::new()),
        },
        _ => (Vec::new(), Vec::new()),
    }
}

/// Returns what a program removes, or moves elsewhere.
fn removed<'w>(words: &[&'w str]) -> Vec<&'w str> {
    let Some((program, rest)) = words.split_first() else { return Vec::new() };
    let mut files: Vec<&str> = rest.iter().copied().filter(|word| !word.starts_with('-')).collect();
    match *program {
        // A file that git removes was part of the work, so it counts as changed.
        "git" if files.first() == Some(&"rm") && !rest.contains(&"--cached") => drop(files.remove(0)),
        "rm" | "unlink" | "trash" => {}
        "mv" => drop(files.pop()),
        _ => files.clear(),
    }
    files
}

/// Returns true if the shell takes a word as it stands.
fn is_literal(word: &str) -> bool {
    !word.is_empty() && !word.contains(['*', '?', '$', '{', '`', '[', '\n', '…', '(', '|', ';', '\\'])
}

/// Returns true if a word is literal and looks like a file.
fn is_file(word: &str) -> bool {
    let last = word.rsplit('/').next().unwrap_or(word);
    let ending = last.rsplit_once('.').is_some_and(|(_, ending)| {
        (1..=8).contains(&ending.len())
            && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && ending.bytes().any(|byte| byte.is_ascii_alphabetic())
    });
    is_literal(word) && !word.contains("://") && (ending || KNOWN.contains(&last))
}

/// Returns a path as seen from where the directory is named.
pub(in crate::digest) fn joined(directory: &str, path: &str) -> String {
    match directory.is_empty() || path.starts_with(['/', '~']) {
        true => path.to_owned(),
        false => format!("{}/{path}", directory.trim_end_matches('/')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_touches_what_it_names() {
        let check = |line: &str, expected: &[&str]| {
            let told = |touch: Touch| match touch {
                Touch::Written(path) => format!("> {path}"),
                Touch::Read(path) => path,
                Touch::Removed(path) => format!("- {path}"),
            };
            assert_eq!(touched_files(line).into_iter().map(told).collect::<Vec<_>>(), expected, "{line:?}");
        };
        check("cat > src/new.rs <<'EOF'\nfn main() { cat > x.rs }\nEOF", &["> src/new.rs"]);
        check("cat <<EOF >> notes.md\nx\nEOF\ncat a.txt", &["> notes.md", "a.txt"]);
        check("sed -i 's/a/b/' src/a.rs src/b.rs", &["> src/a.rs", "> src/b.rs"]);
        check("sed -i '' -e 's/a.b/c/' a.rs", &["> a.rs"]);
        check("sed -n '1,20p' src/a.rs", &["src/a.rs"]);
        check("cd api && cat src/a.rs | head -3", &["api/src/a.rs"]);
        check("cargo test 2>&1 | tee out.log", &["> out.log"]);
        check("cargo test 2>/dev/null >log.txt", &["> log.txt"]);
        check("cp a.rs src/b.rs; touch c.toml", &["> src/b.rs", "> c.toml"]);
        check("rm -rf out src/a.rs *.log; mv a.rs b.rs", &["- out", "- src/a.rs", "> b.rs", "- a.rs"]);
        check("git rm -q a.rs && git rm --cached b.rs", &["> a.rs", "- a.rs"]);
        check("git checkout -- src/a.rs && git restore b.rs", &["> src/a.rs", "> b.rs"]);
        check("git checkout main.rs-branch; git restore --staged a.rs", &[]);
        check("head -n 5 Makefile", &["Makefile"]);
        check("cat $FILE *.rs https://a.org/x.html 0.5", &[]);
        check("grep -rn x src/a.rs; echo done", &[]);
        check("", &[]);
    }
}
