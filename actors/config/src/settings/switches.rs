//! Decides which projects are tracked: switches of single projects, and exclusions.

use std::collections::BTreeMap;
use std::fmt;

use baton_events::session::Place;

use super::pattern::{Fit, Pattern, normal};

/// The project switches and exclusions of a configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Switches {
    projects: Vec<(Pattern, bool)>,
    exclude: Vec<Pattern>,
    /// Index into `projects` by path, and by bare name: every call checks every session, so literal patterns are looked
    /// up.
    paths: BTreeMap<String, usize>,
    names: BTreeMap<String, usize>,
    /// Indices of the globs in `projects`.
    globs: Vec<usize>,
}

/// The setting that stops a session. Its text includes the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Its project is excluded.
    Excluded {
        /// The pattern that matches.
        pattern: String,
    },
    /// The switch of its project is off.
    Project {
        /// The pattern of that switch.
        pattern: String,
    },
    /// It works in Baton's home, so Baton itself has started it.
    Own,
    /// The global switch is off, and no switch of its project overrides it.
    Global,
    /// It was imported, and its transcript lies in no directory that is read here.
    Elsewhere {
        /// The path of its transcript.
        transcript: String,
    },
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Excluded { pattern } => write!(
                f,
                "its project is excluded: remove {pattern:?} from session_tracking.exclude in config.json to read it"
            ),
            Self::Project { pattern } => write!(
                f,
                "session tracking is off for {pattern}: run `baton session-tracking enable --project {pattern}`, or track \
                 this session alone with `track_session` and `force`"
            ),
            Self::Elsewhere { transcript } => write!(
                f,
                "it was imported, and its transcript {transcript} is in no directory that is read here, so it stays \
                 as imported: to continue reading it, add that directory to session_tracking.watch_directories"
            ),
            Self::Own => f.write_str("it works in Baton's own home, where only Baton itself works"),
            Self::Global => f.write_str(
                "session tracking is off: run `baton session-tracking enable`, or track this session alone with \
                 `track_session` and `force`",
            ),
        }
    }
}

impl Stop {
    /// True if `force` overrides it.
    pub fn is_lifted_by_force(&self) -> bool {
        !matches!(self, Self::Excluded { .. } | Self::Elsewhere { .. } | Self::Own)
    }
}

impl Switches {
    /// Builds the lookup tables from switches and exclusions, both in file order.
    pub fn new(projects: Vec<(Pattern, bool)>, exclude: Vec<Pattern>) -> Self {
        let mut switches = Self { projects, exclude, ..Self::default() };
        for (at, (pattern, _)) in switches.projects.iter().enumerate() {
            let known = if pattern.is_bare() { &mut switches.names } else { &mut switches.paths };
            known.extend(pattern.literals().map(|literal| (literal.to_owned(), at)));
            if pattern.is_glob() {
                switches.globs.push(at);
            }
        }
        switches
    }

    /// The project switches, with patterns as written.
    pub fn projects(&self) -> impl Iterator<Item = (&str, bool)> {
        self.projects.iter().map(|(pattern, enabled)| (pattern.as_str(), *enabled))
    }

    /// The exclusions, as written.
    pub fn exclude(&self) -> impl Iterator<Item = &str> {
        self.exclude.iter().map(Pattern::as_str)
    }

    /// The exclusion that matches a project, if any.
    pub fn excludes(&self, place: &Place) -> Option<&Pattern> {
        self.exclude.iter().find(|pattern| pattern.fits(place).is_some())
    }

    /// The setting that stops a session in `place`, if any; `global` is the global switch. A project's switch takes
    /// precedence over the global one, its exact path over a glob, a longer pattern over a shorter one; of two equal
    /// ones the last wins.
    pub fn stop_of(&self, place: Option<&Place>, global: bool) -> Option<Stop> {
        if let Some(place) = place {
            if let Some(pattern) = self.excludes(place) {
                return Some(Stop::Excluded { pattern: pattern.as_str().to_owned() });
            }
            if let Some((pattern, enabled)) = self.switch_of(place) {
                return (!enabled).then(|| Stop::Project { pattern: pattern.as_str().to_owned() });
            }
        }
        (!global).then_some(Stop::Global)
    }

    fn switch_of(&self, place: &Place) -> Option<(&Pattern, bool)> {
        let (project, cwd) = (normal(&place.project), normal(&place.cwd));
        let above =
            |path| std::iter::successors(Some(path), |path: &&str| path.rsplit_once('/').map(|(above, _)| above));
        let paths = above(&*project).chain(above(&*cwd)).filter_map(|path| self.paths.get(path));
        let names = project.split('/').chain(cwd.split('/')).filter_map(|name| self.names.get(name));
        let covering = paths.chain(names).map(|at| (self.projects[*at].0.covering(), *at));
        let exact = self.paths.get(&*project).or_else(|| self.names.get(&*project)).map(|at| (Fit::Exact, *at));
        let globs = self.globs.iter().filter_map(|at| Some((self.projects[*at].0.fits(place)?, *at)));
        let (_, at) = covering.chain(exact).chain(globs).max()?;
        Some((&self.projects[at].0, self.projects[at].1))
    }

    /// True if a session's project may decide whether it is tracked.
    pub fn depend_on_project(&self) -> bool {
        !self.projects.is_empty() || !self.exclude.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_switch_counts() {
        let switch = |(pattern, enabled): (&str, bool)| (Pattern::new(pattern).unwrap(), enabled);
        let projects = [("/srv/*", false), ("/srv/app*", true), ("/srv/app-secret", false), ("tmp", false)];
        let switches = Switches::new(projects.map(switch).to_vec(), vec![Pattern::new("/srv/**/never").unwrap()]);
        for (project, global, expected) in [
            ("/home/one", true, None),
            ("/home/one", false, Some("session tracking is off:")),
            ("/srv/one", true, Some("off for /srv/*")),
            ("/srv/app", true, None),
            ("/srv/app", false, None),
            ("/srv/app/sub", false, None),
            ("/srv/app-secret", true, Some("off for /srv/app-secret")),
            ("/home/tmp/x", true, Some("off for tmp")),
            ("/srv/app/never", true, Some("excluded")),
            ("/srv/never", false, Some("excluded")),
        ] {
            let place = Place::new(project, project);
            let stop = switches.stop_of(Some(&place), global).map(|stop| stop.to_string());
            match (&stop, expected) {
                (None, None) => {}
                (Some(said), Some(wanted)) => assert!(said.contains(wanted), "{project}: {said}"),
                _ => panic!("{project}, {global}: {stop:?}"),
            }
        }
        assert_eq!(switches.stop_of(None, true), None);
        assert_eq!(switches.stop_of(None, false), Some(Stop::Global));
    }

    /// Ten thousand sessions under four thousand switches, which a single call may have to check.
    #[test]
    fn many_switches_are_looked_up() {
        let switch =
            |number: usize| (Pattern::new(&format!("/srv/project-{number}")).unwrap(), number.is_multiple_of(2));
        let switches = Switches::new((0..4000).map(switch).collect(), Vec::new());
        assert_eq!((switches.globs.len(), switches.paths.len()), (0, 4000));
        for session in 0..10_000 {
            let path = format!("/srv/project-{}/deep/below/it", session % 5000);
            let place = Place::new(format!("{path}/sub"), path);
            let stopped = switches.stop_of(Some(&place), true).is_some();
            assert_eq!(stopped, session % 5000 < 4000 && session % 2 == 1, "{session}");
        }
    }
}
