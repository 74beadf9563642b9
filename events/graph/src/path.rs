//! Names of files and web pages: different spellings of one location give the same name.

use super::one_line::one_line;
use super::{Label, MAX_NAME_CHARS, Surroundings};
use baton_events::project;

/// URL schemes of pages.
const SCHEMES: [&str; 2] = ["https://", "http://"];

/// Normalises the name of an entity as the extraction rules do, so that the same thing is one entity regardless of its
/// source.
pub fn entity_name(label: Label, name: &str, at: &Surroundings<'_>, cwd: Option<&str>) -> String {
    let name = match label {
        Label::File => file_name(name, cwd, at),
        Label::Url => page_name(name).unwrap_or_else(|| name.to_owned()),
        _ => name.to_owned(),
    };
    one_line(&name, MAX_NAME_CHARS)
}

/// Returns the path relative to the project's directory or the session's working directory; a path outside of both, or
/// a relative one, is kept. Backslashes become slashes; `.` and `..` are resolved where possible.
pub fn file_name(path: &str, cwd: Option<&str>, at: &Surroundings<'_>) -> String {
    let path = resolve_dots(&path.trim().replace('\\', "/"));
    let below = |directory: Option<&str>| {
        let directory = resolve_dots(&directory?.replace('\\', "/"));
        if directory.len() < 2 {
            return None;
        }
        path.strip_prefix(&directory)?.strip_prefix('/').filter(|rest| !rest.is_empty())
    };
    if let Some(rest) = at.project.and_then(|project| project::below_worktree(&path, project)) {
        return rest;
    }
    // Another worktree may lie outside of its project: paths below the session's working directory are treated like the
    // project's.
    below(at.project).or_else(|| below(cwd)).unwrap_or(&path).to_owned()
}

/// Returns true if a name that [`file_name`] made lies outside of the project.
pub(super) fn is_elsewhere(name: &str) -> bool {
    name.starts_with(['/', '~']) || name.starts_with("..")
}

/// Resolves `.`, `..` and doubled slashes lexically; removes a trailing slash.
fn resolve_dots(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

/// Returns host and path of a URL, without scheme, `www.`, query, fragment and user. `None` if there is no host, or if
/// it is this machine.
pub(super) fn page_name(url: &str) -> Option<String> {
    let rest = SCHEMES.iter().find_map(|scheme| url.trim().strip_prefix(scheme))?;
    let rest = rest.split(['?', '#']).next().unwrap_or(rest);
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.rsplit('@').next().unwrap_or(host).to_ascii_lowercase();
    let host = host.strip_prefix("www.").unwrap_or(&host);
    let name = host.split(':').next().unwrap_or(host);
    let local = name == "localhost" || name.starts_with("127.") || name == "0.0.0.0" || !name.contains('.');
    let path = path.trim_end_matches('/');
    (!local).then(|| if path.is_empty() { host.to_owned() } else { format!("{host}/{path}") })
}

/// Returns the URLs of a text in order; linear. A URL inside another one belongs to that one.
pub(super) fn page_names(text: &str) -> impl Iterator<Item = String> {
    let ends = |c: char| {
        c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>' | ')' | ']' | '}' | '|' | '\\' | '”' | '’')
    };
    let mut read = 0;
    text.match_indices("http").filter_map(move |(at, _)| {
        let rest = &text[at..];
        if at < read || !SCHEMES.iter().any(|scheme| rest.starts_with(scheme)) {
            return None;
        }
        let end = rest.find(ends).unwrap_or(rest.len());
        read = at + end;
        if names_a_format(&text[..at], &rest[..end]) {
            return None;
        }
        page_name(rest[..end].trim_end_matches(['.', ',', ';', ':', '!', '?']))
    })
}

/// Returns true if a URL only names the format of a document: a namespace (`xmlns="…"`) or a document type.
fn names_a_format(before: &str, url: &str) -> bool {
    let attribute = before.trim_end_matches(['"', '\'', '\\']).strip_suffix('=');
    let name = attribute.and_then(|before| before.rsplit(|c: char| c.is_whitespace() || c == '<').next());
    url.ends_with(".dtd") || url.ends_with(".xsd") || name.is_some_and(|name| name.starts_with("xmlns"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_conversation::record::SessionId;

    #[test]
    fn a_file_has_one_name() {
        let session = SessionId::new("s").unwrap();
        let at =
            Surroundings { session: &session, group: "g", project: Some("/srv/shop"), parent: None, follows: None };
        let check =
            |path: &str, name: &str| assert_eq!(file_name(path, Some("/tmp/worktree/api/"), &at), name, "{path:?}");
        check("/srv/shop/src/auth.rs", "src/auth.rs");
        check("/srv/shop//src/./auth.rs", "src/auth.rs");
        check("src/auth.rs", "src/auth.rs");
        check("./src/x/../auth.rs", "src/auth.rs");
        check("/tmp/worktree/api/src/auth.rs", "src/auth.rs");
        check("/srv/shop-worktrees/fix/src/auth.rs", "src/auth.rs");
        check("/srv/shop/.claude/worktrees/fix/src/auth.rs", "src/auth.rs");
        check("/srv/shopping/list", "/srv/shopping/list");
        check("/srv/shop", "/srv/shop");
        check("../other/a", "../other/a");
        check("C:\\code\\a.rs", "C:/code/a.rs");
        check("", "");
    }

    #[test]
    fn a_page_is_host_and_path() {
        let check = |url: &str, name: Option<&str>| assert_eq!(page_name(url).as_deref(), name, "{url:?}");
        check("https://www.Docs.rs/tokio/latest/?search=x#y", Some("docs.rs/tokio/latest"));
        check("http://me:pw@example.org:8080/", Some("example.org:8080"));
        check("http://localhost:3000/a", None);
        check("https://build/", None);
        check("ftp://example.org", None);
        check("https://", None);
        let found: Vec<_> = page_names("see (https://a.org/x), <http://b.org/y?z>. httpx https:// and http").collect();
        assert_eq!(found, ["a.org/x", "b.org/y"]);
        let markup =
            "<svg xmlns=\"http://n.org/svg\" xmlns:x='http://n.org/x' href=\"http://a.org\"> http://n.org/list-1.0.dtd";
        assert_eq!(page_names(markup).collect::<Vec<_>>(), ["a.org"]);
        let found: Vec<_> = page_names("https://kept.org/2020/https://a.org/x and https://b.org").collect();
        assert_eq!(found, ["kept.org/2020/https://a.org/x", "b.org"]);
    }
}
