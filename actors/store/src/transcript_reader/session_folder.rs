//! Files that the agent stores beside a transcript, in the session's own folder: tool outputs that are too large for
//! the transcript, and the title that a person gave the session.
//!
//! The transcript names an output by a path, which may have been forged, so only its file name is used. The file is
//! looked up only in the session's own `tool-results` folder, where the agent puts such files. No link is followed on
//! the way from the transcript to a file.
//!
//! # Hazards
//!
//! - At most 16 MB of an output are read. Once such a file has been deleted by age, reading the transcript from its
//!   start gives another hash. A title beside a transcript (`custom-title.json`) is read when the session is indexed: a
//!   rename alone waits for the next change.

use std::fs::File;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use baton_conversation::transcript::{MAX_SPILLED_BYTES, Spilled};

use crate::plain_file::open;

/// The folder of tool outputs, in a session's own folder.
const FOLDER: &str = "tool-results";
/// The file with the session's title.
const TITLE: &str = "custom-title.json";
/// A title in JSON takes some dozen bytes.
const MAX_TITLE_BYTES: u64 = 64 * 1024;
/// The folder of a session with its subagents' transcripts; their outputs are in the session's `tool-results`.
const SUBAGENTS: &str = "subagents";
/// Longest file name in bytes.
const MAX_NAME_BYTES: usize = 255;

/// The files beside one transcript.
pub(crate) struct SessionFolder {
    /// The session's own folder; it may not exist.
    session: PathBuf,
}

impl SessionFolder {
    /// Finds the session's folder for the transcript at `path`: `<id>/` for `<id>.jsonl`, and for every transcript
    /// below `<id>/subagents/`.
    pub(crate) fn of_transcript(path: &str) -> Self {
        let path = Path::new(path);
        let parent = path.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == SUBAGENTS));
        let session = parent.and_then(Path::parent).map_or_else(|| path.with_extension(""), Path::to_path_buf);
        Self { session }
    }

    /// The title that a person gave the session, if any.
    pub(crate) fn title(&self) -> Option<String> {
        let mut bytes = Vec::new();
        let path = self.session.join(TITLE);
        open(&[&self.session], &path, MAX_TITLE_BYTES)?.take(MAX_TITLE_BYTES).read_to_end(&mut bytes).ok()?;
        let value: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
        value.get("customTitle").and_then(|title| title.as_str()).map(str::to_owned)
    }

    /// Opens an output, if its name is plain and nothing from the session's folder on is a link.
    fn output(&self, name: &str) -> Option<File> {
        let mut parts = Path::new(name).components();
        let plain = matches!((parts.next(), parts.next()), (Some(Component::Normal(only)), None) if only == name);
        if !plain || name.starts_with('.') || name.len() > MAX_NAME_BYTES || name.contains(['/', '\\', ':']) {
            return None;
        }
        let folder = self.session.join(FOLDER);
        open(&[&self.session, &folder], &folder.join(name), MAX_SPILLED_BYTES)
    }
}

impl Spilled for SessionFolder {
    fn text(&self, name: &str) -> Option<String> {
        let mut bytes = Vec::new();
        // It may grow while it is read.
        self.output(name)?.take(MAX_SPILLED_BYTES + 1).read_to_end(&mut bytes).ok()?;
        let fits = u64::try_from(bytes.len()).is_ok_and(|length| length <= MAX_SPILLED_BYTES);
        fits.then(|| String::from_utf8_lossy(&bytes).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::fs;

    #[test]
    fn only_a_file_of_the_sessions_own_folder_is_read() {
        let temp = tempfile::tempdir().unwrap();
        let session = temp.path().join("s-1");
        let folder = session.join(FOLDER);
        fs::create_dir_all(folder.join("folder.txt")).unwrap();
        fs::create_dir_all(session.join("subagents/workflows/wf_1")).unwrap();
        fs::write(folder.join("out.txt"), "one\ntwo \u{fffd}").unwrap();
        fs::write(folder.join("odd.txt"), b"bad \xff byte").unwrap();
        fs::write(folder.join(".hidden"), "x").unwrap();
        fs::write(session.join("outside.txt"), "x").unwrap();
        let large = File::create(folder.join("large.txt")).unwrap();
        large.set_len(MAX_SPILLED_BYTES + 1).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(session.join("outside.txt"), folder.join("link.txt")).unwrap();

        let of = |path: &str| SessionFolder::of_transcript(temp.path().join(path).to_str().unwrap());
        let main = of("s-1.jsonl");
        assert_eq!(main.text("out.txt").as_deref(), Some("one\ntwo \u{fffd}"));
        assert_eq!(main.text("odd.txt").as_deref(), Some("bad \u{fffd} byte"));
        for none in [
            "",
            ".",
            "..",
            "../outside.txt",
            "/etc/passwd",
            "out.txt/",
            "./out.txt",
            "folder.txt",
            ".hidden",
            "gone.txt",
            "large.txt",
            "link.txt",
            "a\\out.txt",
            "c:out.txt",
            &"x".repeat(300),
        ] {
            assert_eq!(main.text(none), None, "{none}");
        }
        for subagent in ["s-1/subagents/agent-1.jsonl", "s-1/subagents/workflows/wf_1/agent-2.jsonl"] {
            assert!(of(subagent).text("out.txt").is_some(), "{subagent}");
        }
        assert_eq!(of("s-2.jsonl").text("out.txt"), None);
    }

    #[test]
    fn a_sessions_name_is_read_where_it_is_one() {
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir(temp.path().join("s-1")).unwrap();
        let path = temp.path().join("s-1").join(TITLE);
        let title = || SessionFolder::of_transcript(temp.path().join("s-1.jsonl").to_str().unwrap()).title();
        assert_eq!(title(), None);
        let long = format!("{{\"customTitle\":\"{}\"}}", "x".repeat(70_000));
        for (content, expected) in [
            (r#"{"customTitle":"docks"}"#, Some("docks")),
            (r#"{"other":1,"customTitle":"docks, again"}"#, Some("docks, again")),
            (r#"{"customTitle":7}"#, None),
            (r#""docks""#, None),
            (r#"{"customTitle":"#, None),
            ("", None),
            (&long, None),
        ] {
            fs::write(&path, content).unwrap();
            assert_eq!(title().as_deref(), expected, "{}", content.chars().take(40).collect::<String>());
        }
        #[cfg(unix)]
        {
            fs::write(temp.path().join("elsewhere.json"), r#"{"customTitle":"x"}"#).unwrap();
            fs::remove_file(&path).unwrap();
            std::os::unix::fs::symlink(temp.path().join("elsewhere.json"), &path).unwrap();
            assert_eq!(title(), None, "a link is not followed");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_is_a_link_is_not_entered() {
        let temp = tempfile::tempdir().unwrap();
        let elsewhere = temp.path().join("elsewhere");
        fs::create_dir_all(elsewhere.join(FOLDER)).unwrap();
        fs::write(elsewhere.join(FOLDER).join("out.txt"), "x").unwrap();
        std::os::unix::fs::symlink(&elsewhere, temp.path().join("s-1")).unwrap();
        fs::create_dir(temp.path().join("s-2")).unwrap();
        std::os::unix::fs::symlink(elsewhere.join(FOLDER), temp.path().join("s-2").join(FOLDER)).unwrap();
        for linked in ["s-1.jsonl", "s-2.jsonl"] {
            assert_eq!(
                SessionFolder::of_transcript(temp.path().join(linked).to_str().unwrap()).text("out.txt"),
                None,
                "{linked}"
            );
        }
    }
}
