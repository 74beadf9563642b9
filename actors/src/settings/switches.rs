//! Which projects are tracked: the switches of single projects, and those that are never read.

use std::fmt;

use baton_events::session::Place;

use super::pattern::{Fit, Pattern};

/// What the configuration says of projects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Switches {
    projects: Vec<(Pattern, bool)>,
    exclude: Vec<Pattern>,
}

/// What of the configuration stops a session. Said with the way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Its project is never read.
    Excluded {
        /// The pattern that fits.
        pattern: String,
    },
    /// The switch of its project is off.
    Project {
        /// The pattern whose switch it is.
        pattern: String,
    },
    /// The global switch is off, and none of its project says otherwise.
    Global,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Excluded { pattern } => write!(
                f,
                "its project is excluded: take {pattern:?} out of session_tracking.exclude in config.json to have it read"
            ),
            Self::Project { pattern } => write!(
                f,
                "session tracking is off for {pattern}: run `baton session-tracking enable --project {pattern}`, or track \
                 this session alone with `track_session` and `force`"
            ),
            Self::Global => f.write_str(
                "session tracking is off: run `baton session-tracking enable`, or track this session alone with \
                 `track_session` and `force`",
            ),
        }
    }
}

impl Switches {
    /// With the switches of projects, and those that are never read.
    pub fn new(projects: Vec<(Pattern, bool)>, exclude: Vec<Pattern>) -> Self {
        Self { projects, exclude }
    }

    /// The switches of projects as they were written.
    pub fn projects(&self) -> impl Iterator<Item = (&str, bool)> {
        self.projects.iter().map(|(pattern, enabled)| (pattern.as_str(), *enabled))
    }

    /// The projects that are never read, as they were written.
    pub fn exclude(&self) -> impl Iterator<Item = &str> {
        self.exclude.iter().map(Pattern::as_str)
    }

    /// The pattern by which a project is excluded.
    pub fn excludes(&self, place: &Place) -> Option<&Pattern> {
        self.exclude.iter().find(|pattern| pattern.fits(place).is_some())
    }

    /// What stops a session that works there, with the global switch on or off. A project's own switch counts before
    /// the global one, its path before a glob, a longer glob before a shorter; of two that are alike, the last.
    pub fn stop_of(&self, place: Option<&Place>, global: bool) -> Option<Stop> {
        if let Some(place) = place {
            if let Some(pattern) = self.excludes(place) {
                return Some(Stop::Excluded { pattern: pattern.as_str().to_owned() });
            }
            if let Some((pattern, enabled)) = self.of(place) {
                return (!enabled).then(|| Stop::Project { pattern: pattern.as_str().to_owned() });
            }
        }
        (!global).then_some(Stop::Global)
    }

    fn of(&self, place: &Place) -> Option<(&Pattern, bool)> {
        let fitting = |(pattern, enabled): &'_ (Pattern, bool)| pattern.fits(place).map(|fit: Fit| (fit, *enabled));
        let best =
            self.projects.iter().enumerate().filter_map(|(at, project)| fitting(project).map(|(fit, _)| (fit, at)));
        best.max().map(|(_, at)| (&self.projects[at].0, self.projects[at].1))
    }

    /// Whether where a session works decides whether it is tracked.
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
            let place = Place { cwd: project.to_owned(), project: project.to_owned() };
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
}
