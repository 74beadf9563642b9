//! Paths of work trees.

use std::borrow::Cow;

use crate::digest::command::joined;

/// Returns a path without `.` and `..`, without a trailing slash.
pub(in crate::digest) fn absolute(directory: &str, path: &str) -> String {
    let path: Cow<'_, str> =
        if path.starts_with(['/', '~']) { Cow::Borrowed(path) } else { Cow::Owned(joined(directory, path)) };
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." => {}
            "" if !parts.is_empty() => {}
            ".." if parts.last().is_some_and(|last| !last.is_empty() && *last != "..") => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// Returns what follows a directory in a path below it; empty for the directory itself.
pub(in crate::digest) fn rest_below<'p>(directory: &str, path: &'p str) -> Option<&'p str> {
    if directory.is_empty() {
        return (!path.starts_with(['/', '~'])).then_some(path);
    }
    let rest = path.strip_prefix(directory)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}
