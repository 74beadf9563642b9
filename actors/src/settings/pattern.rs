//! A project as the configuration names it: a directory, a glob, or a bare name.
//!
//! `/srv/app` is that directory and all below it; `/srv/*` each directory in `/srv`, and all below it; `scratch-*`,
//! without a slash, every directory of such a name and all below it. `*` and `?` stop at `/`, `**` does not. A backslash
//! is a slash, so that Windows' paths need no thought.

use baton_events::session::Place;
use glob::MatchOptions;

const OPTIONS: MatchOptions =
    MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: false };

/// Longest pattern: longer ones are no path.
const CHARS_MAX: usize = 1024;

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    written: String,
    glob: glob::Pattern,
    bare: bool,
}

/// How well a pattern fits a project: a pattern that fits better counts more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// By a glob, or by a directory above; the longer, the better.
    Covers(usize),
    /// It is the project's own path.
    Exact,
}

impl Pattern {
    /// Reads a pattern in which `~` and variables have been expanded. The error says what is wrong with it.
    pub fn new(text: &str) -> Result<Self, String> {
        let plain = normal(text);
        if plain.is_empty() {
            return Err("it is empty".to_owned());
        }
        if plain.chars().count() > CHARS_MAX {
            return Err(format!("it is longer than {CHARS_MAX} characters"));
        }
        let glob = glob::Pattern::new(&plain).map_err(|error| error.msg.to_owned())?;
        Ok(Self { written: plain.clone(), glob, bare: !plain.contains('/') })
    }

    /// The pattern as text, with `/` between names.
    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// Whether it fits a project, and how well.
    pub fn fits(&self, place: &Place) -> Option<Fit> {
        let (project, cwd) = (normal(&place.project), normal(&place.cwd));
        if project == self.written {
            return Some(Fit::Exact);
        }
        let covers = self.covers(&project) || (cwd != project && self.covers(&cwd));
        covers.then(|| Fit::Covers(self.written.chars().count()))
    }

    /// Whether it fits the path or a directory above it.
    fn covers(&self, path: &str) -> bool {
        let above = std::iter::successors(Some(path), |path| path.rsplit_once('/').map(|(above, _)| above));
        above.filter(|path| !path.is_empty()).any(|path| {
            let text = if self.bare { path.rsplit('/').next().unwrap_or(path) } else { path };
            text == self.written || self.glob.matches_with(text, OPTIONS)
        })
    }
}

/// With `/` between names and none at the end.
fn normal(path: &str) -> String {
    let slashes = path.trim().replace('\\', "/");
    match slashes.trim_end_matches('/') {
        "" => slashes.chars().take(1).collect(),
        plain => plain.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_pattern_fits() {
        const NO: Option<bool> = None;
        const EXACT: Option<bool> = Some(true);
        const COVERS: Option<bool> = Some(false);
        for (pattern, project, expected) in [
            ("/srv/app", "/srv/app", EXACT),
            ("/srv/app/", "/srv/app", EXACT),
            ("/srv/app", "/srv/app/", EXACT),
            ("/srv/app", "/srv/app/sub/deep", COVERS),
            ("/srv/app", "/srv/application", NO),
            ("/srv/*", "/srv/app", COVERS),
            ("/srv/*", "/srv/app/sub", COVERS),
            ("/srv/*", "/srv", NO),
            ("/srv/*/secret", "/srv/app/secret", COVERS),
            ("/srv/*/secret", "/srv/a/b/secret", NO),
            ("/srv/**/secret", "/srv/a/b/secret", COVERS),
            ("scratch-*", "/home/u/scratch-7", COVERS),
            ("scratch-*", "/home/u/scratch-7/sub", COVERS),
            ("scratch-*", "/home/u/my-scratch-7", NO),
            ("app", "/srv/app", COVERS),
            ("/srv/größe *", "/srv/größe 日本", COVERS),
            ("/srv/[ab]pp", "/srv/app", COVERS),
            ("/srv/a[pp", "/srv/a[pp", NO),
            (r"C:\Users\dev\*", r"C:\Users\dev\app", COVERS),
            (r"C:/Users/dev/app", r"C:\Users\dev\app\", EXACT),
            ("/", "/srv", NO),
            ("/**", "/srv/app", COVERS),
        ] {
            let fits = Pattern::new(pattern)
                .ok()
                .and_then(|pattern| pattern.fits(&Place { cwd: project.to_owned(), project: project.to_owned() }));
            assert_eq!(fits.map(|fit| fit == Fit::Exact), expected, "{pattern} on {project}");
        }
        for (wrong, why) in [("", "empty"), ("  ", "empty"), ("/a***b", "wildcard"), ("/srv/a[pp", "range")] {
            let error = Pattern::new(wrong).unwrap_err();
            assert!(error.contains(why), "{wrong}: {error}");
        }
        assert!(Pattern::new(&"x".repeat(2000)).is_err());
    }

    #[test]
    fn the_working_directory_counts_as_well_as_the_project() {
        let place = Place { cwd: "/repo/private/notes".to_owned(), project: "/repo".to_owned() };
        let fits = |pattern| Pattern::new(pattern).unwrap().fits(&place);
        assert_eq!(fits("/repo"), Some(Fit::Exact));
        assert_eq!(fits("/repo/private"), Some(Fit::Covers(13)));
        assert_eq!(fits("/repo/public"), None);
    }
}
