//! A project as the configuration names it: a directory, a glob, or a bare name.
//!
//! `/srv/app` means that directory and everything below it; `/srv/*` each directory in `/srv` and everything below it;
//! `scratch-*`, without a slash, every directory of such a name and everything below it. `*`, `?` and `[abc]` do not
//! match `/`, `**` does; a `[` without its `]` stands for itself. A backslash is a separator on Windows and after a
//! drive letter, and an ordinary character elsewhere.
//!
//! Matching takes time proportional to the pattern's length times the path's, whatever they contain: paths come from
//! transcripts.
//!
//! # Decisions
//!
//! - A pattern without a slash matches a directory name at any level; a plain path covers what lies below it. Links in
//!   a project's path are resolved where the directory exists.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use baton_events::session::Place;

/// Longest pattern: a longer text is no path.
const CHARS_MAX: usize = 1024;

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    written: String,
    bare: bool,
    /// The pattern as written and, where links lead elsewhere, with links resolved.
    forms: Vec<Form>,
}

/// How well a pattern matches a project: the better match takes precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// By a glob, or by a parent directory; a longer pattern is better.
    Covers(usize),
    /// It is the project's own path.
    Exact,
}

#[derive(Clone, Debug, PartialEq)]
struct Form {
    steps: Vec<Step>,
    /// The only path it matches, if it has no wildcards.
    literal: Option<String>,
}

/// What a pattern accepts next.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    One(char),
    /// `?`
    Any,
    /// `[a-z]`, or with `!` any character not in it.
    Class {
        ranges: Vec<(char, char)>,
        negated: bool,
    },
    /// `*`
    Some,
    /// `**/` before a name: any number of directories. [`Step::InDirectory`] follows it.
    Directories,
    /// `**/` while inside a directory's name.
    InDirectory,
    /// `**` at the end.
    Rest,
}

impl Pattern {
    /// Parses a pattern in which `~` and variables are already expanded. The error says what is wrong with it.
    pub fn new(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let plain = normal(text);
        if plain.is_empty() {
            return Err("it is empty".to_owned());
        }
        if plain.chars().count() > CHARS_MAX {
            return Err(format!("it is longer than {CHARS_MAX} characters"));
        }
        let form = Form::new(steps(&plain)?);
        Ok(Self { bare: !plain.contains('/'), written: plain.into_owned(), forms: vec![form] })
    }

    /// Adds the pattern with links resolved, because projects are recorded without links. Blocks for a look at the
    /// disk.
    pub fn through_links(mut self) -> Self {
        if let Some(real) = self.forms.first().and_then(Form::without_links).filter(|real| !self.forms.contains(real)) {
            self.forms.push(real);
        }
        self
    }

    /// The pattern as text, with `/` between names.
    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// True if both match the same directories, however they are written.
    pub fn is_same(&self, other: &Self) -> bool {
        self.forms.last() == other.forms.last()
    }

    /// True if it has a wildcard.
    pub fn is_glob(&self) -> bool {
        self.forms.iter().any(|form| form.literal.is_none())
    }

    /// True if it is a name that matches at any level.
    pub(super) fn is_bare(&self) -> bool {
        self.bare
    }

    /// The paths that it names without wildcards.
    pub(super) fn literals(&self) -> impl Iterator<Item = &str> {
        self.forms.iter().filter_map(|form| form.literal.as_deref()).chain([self.as_str()])
    }

    /// The quality of a match with something below it.
    pub(super) fn covering(&self) -> Fit {
        Fit::Covers(self.written.chars().count())
    }

    /// Matches a project; returns how well.
    pub fn fits(&self, place: &Place) -> Option<Fit> {
        let (project, cwd) = (normal(&place.project), normal(&place.cwd));
        if self.literals().any(|literal| literal == project) {
            return Some(Fit::Exact);
        }
        let covers = self.covers(&project) || (cwd != project && self.covers(&cwd));
        covers.then(|| self.covering())
    }

    /// True if it matches the path or a directory above it.
    fn covers(&self, path: &str) -> bool {
        if self.literals().any(|literal| is_above(literal, self.bare, path)) {
            return true;
        }
        let globs = || self.forms.iter().filter(|form| form.literal.is_none());
        match self.bare {
            true => globs().any(|glob| path.split('/').any(|name| !name.is_empty() && fits(&glob.steps, name))),
            false => globs().any(|glob| fits(&glob.steps, path)),
        }
    }
}

fn is_above(literal: &str, bare: bool, path: &str) -> bool {
    match bare {
        true => path.split('/').any(|name| name == literal),
        false => path.strip_prefix(literal).is_some_and(|below| below.is_empty() || below.starts_with('/')),
    }
}

impl Form {
    fn new(steps: Vec<Step>) -> Self {
        let one = |step: &Step| if let Step::One(c) = step { Some(*c) } else { None };
        Self { literal: steps.iter().map(one).collect(), steps }
    }

    /// The same form with links resolved before the first wildcard, as far as that path exists. `None` if it is no path
    /// of this machine.
    fn without_links(&self) -> Option<Self> {
        let is_one = |step: &&Step| matches!(step, Step::One(_));
        let ones = self.steps.iter().take_while(is_one).count();
        let names = match ones == self.steps.len() {
            true => ones,
            false => self.steps[..ones].iter().rposition(|step| *step == Step::One('/'))?,
        };
        let plain: String = self.steps[..names]
            .iter()
            .filter_map(|step| if let Step::One(c) = step { Some(*c) } else { None })
            .collect();
        let path = Path::new(&plain);
        if cfg!(windows) || !path.is_absolute() {
            return None;
        }
        let (above, real) = path.ancestors().find_map(|above| Some((above, fs::canonicalize(above).ok()?)))?;
        let real = real.join(path.strip_prefix(above).ok()?);
        // Joining an empty path leaves a trailing slash.
        let real = normal(real.to_str()?).into_owned();
        let root = if real == "/" && names < self.steps.len() { "" } else { &real };
        Some(Self::new(root.chars().map(Step::One).chain(self.steps[names..].iter().cloned()).collect()))
    }
}

/// Escapes a path so that, as a pattern, it matches only itself.
pub fn escaped(path: &str) -> String {
    let kept = path.trim();
    let special = |at: usize, c: char| {
        let inside = kept.as_ptr() as usize - path.as_ptr() as usize;
        matches!(c, '*' | '?' | '[' | '$') || !(inside..inside + kept.len()).contains(&at)
    };
    let each = path.char_indices().map(|(at, c)| if special(at, c) { format!("[{c}]") } else { c.to_string() });
    each.collect()
}

fn steps(pattern: &str) -> Result<Vec<Step>, String> {
    let chars: Vec<char> = pattern.chars().collect();
    let (mut steps, mut at) = (Vec::new(), 0);
    while let Some(c) = chars.get(at).copied() {
        at += 1;
        match c {
            '?' => steps.push(Step::Any),
            '*' => {
                let stars = 1 + chars[at..].iter().take_while(|c| **c == '*').count();
                let begins = at == 1 || chars[at - 2] == '/';
                at += stars - 1;
                match (stars, chars.get(at)) {
                    (1, _) => steps.push(Step::Some),
                    (2, None) if begins => steps.push(Step::Rest),
                    (2, Some('/')) if begins => {
                        steps.extend([Step::Directories, Step::InDirectory]);
                        at += 1;
                    }
                    (2, _) => return Err("the wildcard `**` must stand alone between slashes".to_owned()),
                    _ => return Err("a wildcard is `*` or `**`".to_owned()),
                }
            }
            '[' => match class(&chars[at..]) {
                Some((step, length)) => {
                    steps.push(step);
                    at += length;
                }
                None => steps.push(Step::One('[')),
            },
            c => steps.push(Step::One(c)),
        }
    }
    Ok(steps)
}

/// Parses a character class after its `[`; returns it and its length including the `]`. A `]` that comes first is a
/// member.
fn class(chars: &[char]) -> Option<(Step, usize)> {
    let negated = chars.first() == Some(&'!');
    let begin = usize::from(negated);
    let end = begin + 1 + chars.get(begin + 1..)?.iter().position(|c| *c == ']')?;
    let mut members = &chars[begin..end];
    if let ([only], false) = (members, negated) {
        return Some((Step::One(*only), end + 1));
    }
    let mut ranges = Vec::new();
    while let Some((first, rest)) = members.split_first() {
        (ranges, members) = match rest {
            ['-', last, rest @ ..] => ([ranges, vec![(*first, *last)]].concat(), rest),
            rest => ([ranges, vec![(*first, *first)]].concat(), rest),
        };
    }
    Some((Step::Class { ranges, negated }, end + 1))
}

/// True if the steps match a path or a directory above it. All alternatives advance at once, so there is no
/// backtracking.
fn fits(steps: &[Step], path: &str) -> bool {
    let (mut here, mut next) = (vec![false; steps.len() + 1], vec![false; steps.len() + 1]);
    reach(steps, &mut here, 0);
    for (at, c) in path.char_indices() {
        if at > 0 && c == '/' && here[steps.len()] {
            return true;
        }
        next.fill(false);
        for (number, step) in steps.iter().enumerate().filter(|(number, _)| here[*number]) {
            let (goes, to) = match step {
                Step::One(one) => (*one == c, number + 1),
                Step::Any => (c != '/', number + 1),
                Step::Class { ranges, negated } => {
                    let is_member = ranges.iter().any(|(first, last)| (*first..=*last).contains(&c));
                    (c != '/' && is_member != *negated, number + 1)
                }
                Step::Some => (c != '/', number),
                Step::Directories => (true, if c == '/' { number } else { number + 1 }),
                Step::InDirectory => (true, if c == '/' { number - 1 } else { number }),
                Step::Rest => (true, number),
            };
            if goes {
                reach(steps, &mut next, to);
            }
        }
        std::mem::swap(&mut here, &mut next);
    }
    here[steps.len()]
}

/// Marks a step and those that it reaches without a character.
fn reach(steps: &[Step], marked: &mut [bool], mut number: usize) {
    while !std::mem::replace(&mut marked[number], true) {
        number += match steps.get(number) {
            Some(Step::Some | Step::Rest) => 1,
            Some(Step::Directories) => 2,
            _ => return,
        };
    }
}

/// The path with `/` as its separator and without a trailing slash.
pub(super) fn normal(path: &str) -> Cow<'_, str> {
    let has_drive = matches!(path.as_bytes(), [drive, b':', b'/' | b'\\', ..] if drive.is_ascii_alphabetic());
    if (cfg!(windows) || has_drive) && path.contains('\\') {
        let slashes = path.replace('\\', "/");
        return Cow::Owned(without_end(&slashes).to_owned());
    }
    Cow::Borrowed(without_end(path))
}

fn without_end(path: &str) -> &str {
    match path.trim_end_matches('/') {
        "" => &path[..path.len().min(1)],
        plain => plain,
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
            ("/srv/[!ab]pp", "/srv/app", NO),
            ("/srv/[!ab]pp/*", "/srv/cpp/x", COVERS),
            ("/srv/v[0-9]", "/srv/v7/sub", COVERS),
            ("/srv/v[0-9]", "/srv/vx", NO),
            ("/srv/?pp", "/srv/app", COVERS),
            ("/srv?app", "/srv/app", NO),
            ("/srv/[]x]", "/srv/]", COVERS),
            ("/srv/a[pp", "/srv/a[pp", EXACT),
            ("/srv/a[pp", "/srv/a[pp/sub", COVERS),
            ("/srv/app[12]", "/srv/app1", COVERS),
            ("/srv/app[[]12]", "/srv/app[12]", EXACT),
            ("/srv/app[[]12]", "/srv/app1", NO),
            (" /srv/x[ ] ", "/srv/x ", EXACT),
            ("/srv/x", "/srv/x ", NO),
            (r"/srv/a\b", "/srv/a/b", NO),
            (r"/srv/a\b", r"/srv/a\b/c", COVERS),
            ("**/secret", "/srv/a/secret/b", COVERS),
            ("/srv/**/secret", "/srv/secret", COVERS),
            ("/srv/**/secret", "/srv/asecret", NO),
            ("/srv/**", "/srv", NO),
            (r"C:\Users\dev\*", r"C:\Users\dev\app", COVERS),
            (r"C:/Users/dev/app", r"C:\Users\dev\app\", EXACT),
            ("/", "/srv", NO),
            ("/**", "/srv/app", COVERS),
        ] {
            let fits = Pattern::new(pattern).ok().and_then(|pattern| pattern.fits(&Place::new(project, project)));
            assert_eq!(fits.map(|fit| fit == Fit::Exact), expected, "{pattern} on {project}");
        }
        for (wrong, why) in [("", "empty"), ("  ", "empty"), ("/a***b", "wildcard"), ("/a**", "wildcard")] {
            let error = Pattern::new(wrong).unwrap_err();
            assert!(error.contains(why), "{wrong}: {error}");
        }
        assert!(Pattern::new(&"x".repeat(2000)).is_err());
    }

    #[test]
    fn the_working_directory_counts_as_well_as_the_project() {
        let place = Place::new("/repo/private/notes", "/repo");
        let fits = |pattern| Pattern::new(pattern).unwrap().fits(&place);
        assert_eq!(fits("/repo"), Some(Fit::Exact));
        assert_eq!(fits("/repo/private"), Some(Fit::Covers(13)));
        assert_eq!(fits("/repo/public"), None);
    }

    /// A backtracking matcher would try so many alternatives here that this test would not end.
    #[test]
    fn no_pair_of_pattern_and_path_takes_long() {
        let at = |path: String| Place::new(path.clone(), path);
        let long = at(format!("/a/{}/b", "x".repeat(60)));
        for pattern in [format!("/a/{}*y", "*x".repeat(12)), format!("/a/{}*y", "*x".repeat(50))] {
            assert_eq!(Pattern::new(&pattern).unwrap().fits(&long), None, "{pattern}");
        }
        let deep = at("/x".repeat(2000));
        assert_eq!(Pattern::new(&format!("/{}y", "**/x/".repeat(150))).unwrap().fits(&deep), None);
        assert!(Pattern::new(&format!("/{}x", "**/x/".repeat(150))).unwrap().fits(&deep).is_some());
    }

    #[test]
    fn an_escaped_path_means_itself_alone() {
        for path in ["/srv/app", "/srv/app[12]", "/srv/a[pp", "/srv/co$t", "/srv/*", "/srv/a?", "/srv/x ", r"/srv/a\b"]
        {
            let pattern = Pattern::new(&escaped(path)).unwrap();
            let at = |path: &str| pattern.fits(&Place::new(path, path));
            assert_eq!(at(path), Some(Fit::Exact), "{path}");
            assert!(!pattern.is_glob(), "{path}");
            for other in ["/srv/app1", "/srv/x", "/srv/a/b", "/srv/ab"] {
                assert_eq!(at(other), None, "{path}: {other}");
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_pattern_through_a_link_fits_where_it_leads() {
        let temp = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(temp.path()).unwrap();
        fs::create_dir_all(root.join("real/app")).unwrap();
        std::os::unix::fs::symlink(root.join("real"), root.join("link")).unwrap();
        let place = |path: &str| {
            let path = root.join(path).to_str().unwrap().to_owned();
            Place::new(path.clone(), path)
        };
        for (pattern, project, expected) in [
            ("link", "real", Some(true)),
            ("link", "real/app", Some(false)),
            ("link/app", "real/app", Some(true)),
            ("link/./app", "real/app", Some(true)),
            ("link/*", "real/app", Some(false)),
            ("link/**/later", "real/app/later", Some(false)),
            ("link/later", "real/later", Some(true)),
            ("link/app", "link/app", Some(true)),
            ("link/app", "real", None),
            ("lin*/app", "real/app", None),
        ] {
            let pattern = Pattern::new(root.join(pattern).to_str().unwrap()).unwrap().through_links();
            let fit = pattern.fits(&place(project));
            assert_eq!(fit.map(|fit| fit == Fit::Exact), expected, "{} on {project}", pattern.as_str());
        }
        let all = Pattern::new("/*").unwrap().through_links();
        assert_eq!(all.fits(&place("real")), Some(Fit::Covers(2)));
    }
}
