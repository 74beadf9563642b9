//! The command line by which an agent calls a hook of Baton: how it is written, and how one is recognised.

use std::path::{Path, PathBuf};

/// Names of the programs that can be called as a hook. The second takes `hook` as its first argument.
const PROGRAMS: [&str; 2] = ["baton-hook", "baton"];

/// How hooks are called from a settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    /// The program, with what stands before the event's name.
    words: Vec<String>,
    /// `BATON_HOME`, where it is not the default: an agent that is started elsewhere may not have it.
    home: Option<String>,
}

impl Caller {
    /// The small program if it is there, else the large one, which does the same.
    pub(crate) fn new(hook: Option<&Path>, baton: &Path, home: Option<&Path>) -> Self {
        let words = match hook {
            Some(hook) => vec![portable(hook)],
            None => vec![portable(baton), "hook".to_owned()],
        };
        Self { words, home: home.map(|home| home.display().to_string()) }
    }

    /// The command for one event, as a shell takes it: `bash`, and where there is none `PowerShell`.
    pub(crate) fn line(&self, event: &str) -> String {
        let home = self.home.iter().filter(|_| cfg!(unix)).map(|home| format!("BATON_HOME={}", quoted(home)));
        let words = self.words.iter().map(|word| quoted(word));
        home.chain(words).chain([event.to_owned()]).collect::<Vec<_>>().join(" ")
    }

    /// The program.
    pub(crate) fn program(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }
}

/// A hook of Baton in a settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Own {
    /// The program as it is named there.
    pub(crate) program: PathBuf,
    /// `BATON_HOME` as it is given there.
    pub(crate) home: Option<String>,
}

impl Own {
    /// Reads a command line: `None` if it calls something else.
    pub(crate) fn read(line: &str) -> Option<Self> {
        let mut words = words(line).into_iter().peekable();
        let mut home = None;
        while let Some((name, value)) = words.peek().and_then(|word| word.split_once('=')) {
            if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                break;
            }
            if name == "BATON_HOME" {
                home = Some(value.to_owned());
            }
            words.next();
        }
        let program = words.next()?;
        let file = program.rsplit(['/', '\\']).next().unwrap_or_default();
        let file = file.strip_suffix(".exe").unwrap_or(file);
        let is_own = match PROGRAMS.iter().position(|name| *name == file)? {
            0 => true,
            _ => words.next().as_deref() == Some("hook"),
        };
        is_own.then(|| Self { program: PathBuf::from(program), home })
    }
}

/// A path as every shell takes it: on Windows with slashes, which Git Bash keeps.
fn portable(path: &Path) -> String {
    let text = path.display().to_string();
    if cfg!(windows) { text.replace('\\', "/") } else { text }
}

/// A word as a shell takes it, quoted only where that is needed.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+@%:,=~".contains(letter);
    let is_literal = |letter: char| !"\"$`\\!".contains(letter);
    if !word.is_empty() && !word.starts_with('~') && word.chars().all(is_plain) {
        word.to_owned()
    } else if word.chars().all(is_literal) {
        format!("\"{word}\"")
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// The words of a command line, without their quotes. What no simple command has (pipes, variables) is left as it stands.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = line.chars().peekable();
    let mut quote = None;
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (Some(open), _) if letter == open => quote = None,
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            // Before anything else a backslash is one of Windows.
            (None | Some('"'), '\\') if letters.peek().is_some_and(|next| "\"\\ '$`!".contains(*next)) => {
                word.get_or_insert_default().extend(letters.next());
            }
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_recognised() {
        for path in
            ["/usr/bin/baton-hook", "/a b/baton-hook", "/it's \"$HOME\"/baton-hook", "/ü/baton-hook", "~x/baton-hook"]
        {
            for home in [None, Some(Path::new("/h o/me"))] {
                let line = Caller::new(Some(Path::new(path)), Path::new("/b/baton"), home).line("Stop");
                let own = Own::read(&line).unwrap_or_else(|| panic!("{line}"));
                assert_eq!(own.program, Path::new(path), "{line}");
                assert_eq!(own.home.as_deref(), home.and_then(Path::to_str), "{line}");
            }
        }
        let large = Caller::new(None, Path::new("/b/baton"), None);
        assert_eq!(large.line("SessionEnd"), "/b/baton hook SessionEnd");
    }

    #[test]
    fn a_hook_of_baton_is_told_from_others() {
        for (line, program) in [
            ("baton-hook Stop", Some("baton-hook")),
            ("\"/x y/baton-hook\" stop", Some("/x y/baton-hook")),
            ("C:/b/baton-hook.exe Stop", Some("C:/b/baton-hook.exe")),
            ("\"C:\\b\\baton-hook.exe\" Stop", Some("C:\\b\\baton-hook.exe")),
            ("/b/baton hook session-start", Some("/b/baton")),
            ("A=1 B='2 3' /b/baton hook stop", Some("/b/baton")),
            ("/b/baton status", None),
            ("/b/baton", None),
            ("/b/my-baton-hook Stop", None),
            ("/b/baton-hook.sh Stop", None),
            ("echo baton-hook", None),
            ("'unclosed baton-hook", None),
            ("", None),
            ("A=1", None),
        ] {
            let own = Own::read(line).map(|own| own.program);
            assert_eq!(own, program.map(PathBuf::from), "{line}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_shell_reads_the_words_that_were_meant() {
        for word in ["plain", "with space", "it's", "a\"b", "$HOME", "`x`", "back\\slash", "!", "a;b", "~", "ü", ""] {
            let ran = std::process::Command::new("sh").args(["-c", &format!("printf %s {}", quoted(word))]).output();
            assert_eq!(String::from_utf8_lossy(&ran.unwrap().stdout), word);
        }
    }
}
