//! The command line by which an agent calls a hook of Baton: writes it and recognises it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use baton_base::shell::is_plain;
pub use baton_base::shell::quoted;
use baton_events::session::SignalKind;

/// Programs that can be called as a hook. The second takes `hook` as its first argument.
const PROGRAMS: [&str; 2] = ["baton-hook", "baton"];
/// May precede the program.
const HOME: &str = "BATON_HOME=";
/// May precede the event, with an agent's name.
const AGENT: &str = "--agent";

/// How a settings file calls hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookCommand {
    /// The program and the arguments before the event's name.
    words: Vec<String>,
    /// `BATON_HOME` if it is not the default, because the agent's environment may lack it.
    home: Option<String>,
}

impl HookCommand {
    /// Prefers the small program; the large one does the same.
    pub fn new(hook: Option<&Path>, baton: &Path, home: Option<&Path>) -> Self {
        let words = match hook {
            Some(hook) => vec![portable(hook)],
            None => vec![portable(baton), "hook".to_owned()],
        };
        Self { words, home: home.map(portable) }
    }

    /// The command for one event, for `bash` or, if there is none, `PowerShell`; with the agent's name, if there is one.
    pub(crate) fn line(&self, agent: Option<&str>, event: &str) -> String {
        let home = self.home.iter().filter(|_| cfg!(unix)).map(|home| format!("BATON_HOME={}", quoted(home)));
        let words = self.words.iter().map(|word| quoted(word));
        let agent = agent.iter().flat_map(|agent| [AGENT, agent]).map(str::to_owned);
        home.chain(words).chain(agent).chain([event.to_owned()]).collect::<Vec<_>>().join(" ")
    }

    /// The command without a shell, up to the event's name, and the variables that it needs.
    pub(crate) fn words(&self, agent: &str) -> (Vec<String>, BTreeMap<&'static str, String>) {
        let words = self.words.iter().map(String::as_str).chain([AGENT, agent]).map(str::to_owned).collect();
        (words, self.home.iter().map(|home| ("BATON_HOME", home.clone())).collect())
    }

    /// The program.
    pub(crate) fn program(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }
}

/// A hook of Baton in a settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnHook {
    /// The program as written there.
    pub program: PathBuf,
    /// `BATON_HOME` as written there.
    pub home: Option<String>,
}

impl OwnHook {
    /// Parses a command line. `None` unless it calls a hook of Baton for one known event and does nothing else: a line
    /// that a person has extended is theirs and stays.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let mut words = words(line)?.into_iter().peekable();
        let home = words.next_if(|word| word.starts_with(HOME)).map(|word| word[HOME.len()..].to_owned());
        let program = words.next()?;
        let file = program.rsplit(['/', '\\']).next().unwrap_or_default();
        let file = file.strip_suffix(".exe").unwrap_or(file);
        if file == PROGRAMS[1] {
            words.next_if(|word| word == "hook")?;
        } else if file != PROGRAMS[0] {
            return None;
        }
        if words.next_if(|word| word == AGENT).is_some() {
            words.next()?;
        }
        let event = words.next()?;
        let is_all = words.next().is_none() && SignalKind::from_hook_name(&event) != SignalKind::Other;
        is_all.then(|| Self { program: PathBuf::from(program), home })
    }
}

/// A path that every shell accepts: on Windows with slashes, which Git Bash keeps. Never with two slashes in a row,
/// because Cursor takes them for a comment, even in a string.
fn portable(path: &Path) -> String {
    let text = path.components().collect::<PathBuf>().display().to_string();
    if cfg!(windows) { text.replace('\\', "/") } else { text }
}

/// Splits a command line into words without quotes. `None` if it contains anything with a meaning to a shell:
/// operators, variables, comments, a second line.
fn words(line: &str) -> Option<Vec<String>> {
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
            (None, ' ' | '\t') => words.extend(word.take()),
            // An apostrophe as written by `quoted`.
            (None, '\\') => word.get_or_insert_default().push(letters.next_if_eq(&'\'')?),
            (None, _) if !is_plain(letter) => return None,
            (Some('"'), '$' | '`') => return None,
            // Before other characters a backslash is a Windows separator.
            (Some('"'), '\\') if letters.peek().is_some_and(|next| "\"\\$`".contains(*next)) => {
                word.get_or_insert_default().extend(letters.next());
            }
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_recognised() {
        for path in
            ["/usr/bin/baton-hook", "/a b/baton-hook", "/it's \"$HOME\"/baton-hook", "/ü/baton-hook", "~x/baton-hook"]
        {
            for (home, agent) in [(None, None), (Some(Path::new("/h o/me")), Some("qwen"))] {
                let line = HookCommand::new(Some(Path::new(path)), Path::new("/b/baton"), home).line(agent, "Stop");
                let own = OwnHook::parse(&line).unwrap_or_else(|| panic!("{line}"));
                assert_eq!(own.program, Path::new(path), "{line}");
                assert_eq!(own.home.as_deref(), home.and_then(Path::to_str), "{line}");
            }
        }
        let large = HookCommand::new(None, Path::new("/b/baton"), None);
        assert_eq!(large.line(None, "SessionEnd"), "/b/baton hook SessionEnd");
        let doubled = HookCommand::new(Some(Path::new("/b//baton-hook")), Path::new("/b"), Some(Path::new("/h//b")));
        assert_eq!(doubled.line(Some("cursor"), "stop"), "BATON_HOME=/h/b /b/baton-hook --agent cursor stop");
    }

    #[test]
    fn a_hook_of_baton_is_distinguished_from_others() {
        for (line, program) in [
            ("baton-hook Stop", Some("baton-hook")),
            ("\"/x y/baton-hook\" stop", Some("/x y/baton-hook")),
            ("C:/b/baton-hook.exe Stop", Some("C:/b/baton-hook.exe")),
            ("\"C:\\b\\baton-hook.exe\" Stop", Some("C:\\b\\baton-hook.exe")),
            ("/b/baton hook session-start", Some("/b/baton")),
            ("BATON_HOME='2 3' /b/baton hook stop", Some("/b/baton")),
            (" BATON_HOME=/h  '/it'\\''s/baton-hook' Stop ", Some("/it's/baton-hook")),
            ("/b/baton-hook --agent gemini BeforeAgent", Some("/b/baton-hook")),
            ("/b/baton hook --agent copilot agentStop", Some("/b/baton")),
            // Lines that a person has extended.
            ("/b/baton-hook --agent Stop", None),
            ("/b/baton-hook --loud qwen Stop", None),
            ("A=1 /b/baton hook stop", None),
            ("/usr/bin/baton-hook Stop && notify-send done", None),
            ("/usr/bin/baton-hook Stop&", None),
            ("/usr/bin/baton-hook Stop; true", None),
            ("/usr/bin/baton-hook Stop # mine", None),
            ("/usr/bin/baton-hook Stop\nnotify-send done", None),
            ("/usr/bin/baton-hook Stop > /tmp/log", None),
            ("/usr/bin/baton-hook Stop twice", None),
            ("/usr/bin/baton-hook \"$(date)\"", None),
            ("/opt/$X/baton-hook Stop", None),
            ("/opt/x/baton hook notify --to me", None),
            ("/opt/x/baton hook notify", None),
            ("baton hook | my-guard", None),
            ("baton hook", None),
            ("baton-hook", None),
            ("timeout 5 baton-hook Stop", None),
            ("/b/baton status", None),
            ("/b/baton", None),
            ("/b/my-baton-hook Stop", None),
            ("/b/baton-hook.sh Stop", None),
            ("echo baton-hook", None),
            ("'unclosed baton-hook", None),
            ("", None),
            ("A=1", None),
        ] {
            let own = OwnHook::parse(line).map(|own| own.program);
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
