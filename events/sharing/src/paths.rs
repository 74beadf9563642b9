//! Takes the directories of the writer's machine out of texts: the project's directory becomes relative, the home
//! directory `~`.

use std::borrow::Cow;

use baton_events::project;
use baton_events::schema::item;
use baton_events::session::Place;
use baton_redaction::json::redact_json;
use baton_redaction::redact;
use serde_json::Value;

/// Shortest directory that is looked for: `/a` would be found in too many texts.
const MIN_BYTES: usize = 3;

/// The directories that must not leave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paths {
    /// Longest first: a directory, and what stands for it.
    replaced: Vec<Replaced>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Replaced {
    text: String,
    /// As it is written in JSON.
    escaped: String,
    by: By,
    /// True for the name of a folder that an agent has made of a directory: what follows behind `-` lies below it.
    is_folder_name: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum By {
    /// What follows stands alone: `src/a.rs`; without anything behind it `.`.
    Nothing,
    /// This text.
    Text(String),
}

impl Paths {
    /// The directories of a session that works in `place`, of a person with this home directory.
    pub fn new(place: Option<&Place>, home: Option<&str>) -> Self {
        let mut paths = Self::default();
        if let Some(place) = place {
            let name = project::name(&place.project).to_owned();
            let is_below =
                place.cwd.strip_prefix(place.project.as_str()).is_some_and(|rest| rest.starts_with(['/', '\\']));
            for directory in [&place.project, place.recorded_project(), &place.cwd].map(trimmed) {
                if directory == trimmed(&place.cwd) && is_below {
                    continue;
                }
                paths.add(directory, By::Nothing, false);
                // Agents name a project's folder by its path.
                paths.add(&folder_name(directory), By::Text(name.clone()), true);
            }
        }
        if let Some(home) = home.map(trimmed) {
            paths.add(home, By::Text("~".to_owned()), false);
            paths.add(&folder_name(home), By::Text("-~".to_owned()), true);
        }
        paths.replaced.sort_by_key(|replaced| std::cmp::Reverse(replaced.text.len()));
        paths
    }

    fn add(&mut self, text: &str, by: By, is_folder_name: bool) {
        if text.len() >= MIN_BYTES && !self.replaced.iter().any(|known| known.text == text) {
            let escaped = serde_json::to_string(text).unwrap_or_default().trim_matches('"').to_owned();
            self.replaced.push(Replaced { text: text.to_owned(), escaped, by, is_folder_name });
        }
    }

    /// The text without these directories.
    pub fn relative<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for replaced in &self.replaced {
            if let Some(changed) = replaced.out_of(&text) {
                text = Cow::Owned(changed);
            }
        }
        text
    }

    /// A place as it is published: the project by its name, the directory relative to it, both and the remote redacted
    /// by the rules of today.
    pub fn place(&self, place: &Place) -> Place {
        let place = self.relative_place(place);
        let remote = place.remote.as_deref().map(|remote| redact(remote).into_owned());
        Place::new(redact(&place.cwd), redact(&place.project)).with_remote(remote)
    }

    /// A place with the project by its name, and the directory relative to it.
    pub fn relative_place(&self, place: &Place) -> Place {
        let cwd = match self.relative(&place.cwd) {
            cwd if cwd.is_empty() => Cow::Borrowed("."),
            cwd => cwd,
        };
        Place::new(cwd, project::name(&place.project)).with_remote(place.remote.clone())
    }

    /// An item's line as it is published: redacted by the rules of today, without these directories, without a line
    /// break.
    ///
    /// # Errors
    ///
    /// The reason why the line is no item.
    pub fn published_line(&self, line: &str) -> Result<Vec<u8>, String> {
        let redacted = redact_json(line);
        let line = redacted.as_deref().unwrap_or(line);
        if !self.replaced.iter().any(|replaced| line.contains(&replaced.escaped)) {
            return Ok(line.as_bytes().to_vec());
        }
        let mut value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        self.relative_value(&mut value);
        // Encoded again, so that the fields have the order of every other item.
        let item = item::decode(value.to_string().as_bytes()).map_err(|error| error.to_string())?;
        let mut out = Vec::new();
        item::encode(&item, &mut out).map_err(|error| error.to_string())?;
        out.truncate(out.trim_ascii_end().len());
        Ok(out)
    }

    fn relative_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(changed) = self.relative(text) {
                    *text = changed;
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.relative_value(value)),
            Value::Object(fields) => {
                let taken = std::mem::take(fields);
                fields.extend(taken.into_iter().map(|(name, mut value)| {
                    self.relative_value(&mut value);
                    (self.relative(&name).into_owned(), value)
                }));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

impl Replaced {
    /// The text with this directory replaced wherever it stands as a whole; `None` if it does not occur.
    fn out_of(&self, text: &str) -> Option<String> {
        let mut out: Option<String> = None;
        let mut copied = 0;
        for (at, _) in text.match_indices(&self.text) {
            let rest = &text[at + self.text.len()..];
            let goes_on = match self.is_folder_name {
                true => rest.starts_with(|c: char| c.is_ascii_alphanumeric()),
                false => goes_on(rest),
            };
            if at < copied || !begins_here(&text[..at]) || goes_on {
                continue;
            }
            let out = out.get_or_insert_default();
            out.push_str(&text[copied..at]);
            copied = at + self.text.len();
            match &self.by {
                By::Text(by) => out.push_str(by),
                By::Nothing => {
                    let below = rest.strip_prefix(['/', '\\']).filter(|below| below.starts_with(is_of_name));
                    match below {
                        Some(_) => copied += 1,
                        None => out.push('.'),
                    }
                }
            }
        }
        let mut out = out?;
        out.push_str(&text[copied..]);
        Some(out)
    }
}

fn trimmed(path: &(impl AsRef<str> + ?Sized)) -> &str {
    path.as_ref().trim_end_matches(['/', '\\'])
}

/// The name that agents give to the folder of a directory.
fn folder_name(directory: &str) -> String {
    directory.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '@' | '+')
}

/// True if a path may begin behind this text: not in the middle of another one, such as `/mnt/home/ann`.
fn begins_here(before: &str) -> bool {
    let name = before.trim_end_matches(is_of_name);
    !before.ends_with('~') && (name.len() == before.len() || !name.ends_with(['/', '~']))
}

/// True if the last name of a path goes on: `/srv/shop` in `/srv/shop-2`, but not in `/srv/shop.`
fn goes_on(rest: &str) -> bool {
    let mut rest = rest.chars();
    match rest.next() {
        Some('.') => rest.next().is_some_and(char::is_alphanumeric),
        Some(c) => is_of_name(c),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(cwd: &str) -> Paths {
        let place = Place::new(cwd, "/home/ann/work/shop");
        Paths::new(Some(&place), Some("/home/ann"))
    }

    #[test]
    fn directories_of_the_machine_leave_texts() {
        for (text, expected) in [
            ("Read /home/ann/work/shop/src/a.rs: 3 lines", "Read src/a.rs: 3 lines"),
            ("cd /home/ann/work/shop && ls", "cd . && ls"),
            ("in /home/ann/work/shop.", "in .."),
            ("/home/ann/work/shop/", "./"),
            ("\"/home/ann/work/shop\"", "\".\""),
            ("/home/ann/work/shop-2/x", "~/work/shop-2/x"),
            ("/home/ann/work/shop.git", "~/work/shop.git"),
            ("/mnt/home/ann/x", "/mnt/home/ann/x"),
            ("file:///home/ann/work/shop/a", "file://a"),
            ("/home/ann/.ssh/config", "~/.ssh/config"),
            ("/home/anna/x", "/home/anna/x"),
            ("~/.claude/projects/-home-ann-work-shop/x.jsonl", "~/.claude/projects/shop/x.jsonl"),
            ("~/.claude/projects/-home-ann-work-secret/x.jsonl", "~/.claude/projects/-~-work-secret/x.jsonl"),
            ("~/.claude/projects/-home-ann-work-shop-api/x.jsonl", "~/.claude/projects/shop-api/x.jsonl"),
            ("~/.claude/projects/-home-anna-work/x.jsonl", "~/.claude/projects/-home-anna-work/x.jsonl"),
            ("/home/ann/work/shop/.env", ".env"),
            ("nothing of it", "nothing of it"),
            ("cc -I/home/ann/include x.c", "cc -I~/include x.c"),
            ("-L/home/ann/work/shop/lib", "-Llib"),
            ("\\nin\\n/home/ann/x", "\\nin\\n~/x"),
            ("PATH=/home/ann/bin:/home/ann/y", "PATH=~/bin:~/y"),
        ] {
            assert_eq!(paths("/home/ann/work/shop").relative(text), expected, "{text}");
        }
    }

    #[test]
    fn a_place_is_published_relative_to_its_project() {
        for (cwd, expected) in [
            ("/home/ann/work/shop", "."),
            ("/home/ann/work/shop/api/v2", "api/v2"),
            ("/home/ann/work/shop-worktrees/fix", "."),
        ] {
            let place = Place::new(cwd, "/home/ann/work/shop").with_remote(Some("github.com/acme/shop".to_owned()));
            let published = Paths::new(Some(&place), Some("/home/ann")).place(&place);
            assert_eq!((published.cwd.as_str(), published.project.as_str()), (expected, "shop"));
            assert_eq!(published.remote, place.remote);
        }
    }

    #[test]
    fn a_place_is_published_without_what_is_secret_in_its_names() {
        const KEY: &str = "AKIAQ3EGV5XJ7NN2MZLK";
        let project = format!("/home/ann/{KEY}");
        let place = Place::new(format!("{project}/{KEY}"), project).with_remote(Some(format!("git.example/{KEY}")));
        let published = Paths::new(Some(&place), Some("/home/ann")).place(&place);
        for text in [&published.cwd, &published.project, published.remote.as_ref().unwrap()] {
            assert!(text.contains("[redacted:") && !text.contains(KEY), "{text}");
        }
    }

    #[test]
    fn a_line_is_redacted_and_relative_and_still_an_item() {
        let line = r#"{"line":3,"kind":"reply","text":"see /home/ann/work/shop/a \"b\" key AKIAQ3EGV5XJ7NN2MZLK end"}"#;
        let published = String::from_utf8(paths("/home/ann/work/shop").published_line(line).unwrap()).unwrap();
        assert!(published.contains("see a \\\"b\\\"") && !published.contains("AKIAQ3EGV5XJ7NN2MZLK"), "{published}");
        assert!(item::decode(published.as_bytes()).is_ok());
        assert!(paths("/home/ann/work/shop").published_line("{\"a\":\"/home/ann/x\"}").is_err());
    }
}
