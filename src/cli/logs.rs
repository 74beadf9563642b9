//! `baton logs`: the daemon's log file. Needs no daemon and starts none.

use std::collections::VecDeque;
use std::io;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;

use clap::ValueEnum;

use super::Error;
use crate::environment::Environment;
use crate::logfile::Follower;
use crate::print::{self, Output, Style};

/// Polling interval of a followed log; too short for a person to notice.
const LOOK: Duration = Duration::from_millis(200);
/// Most lines held in memory to find the last ones. The current and the previous log file together have fewer.
const LINES_MAX: usize = 1_000_000;

const HELP: &str = "\
Prints the last lines of `daemon.log` and, if these are too few, of the previous one (`daemon.log.1`, rotated at 10 \
MB), oldest first: time, level, part of the program, what happened. The log never holds text of a conversation, a \
query or a note. BATON_LOG, read when the daemon starts, sets what is logged. The file is read directly: no daemon is \
needed, none is started.

Examples:
  baton logs -f                        what the daemon does now, until Ctrl-C; across restarts
  baton logs -n all --level warn       everything that went wrong
  baton logs -n all | grep a94e0d17    what became of one session";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// Keep printing new lines, until Ctrl-C
    #[arg(long, short)]
    follow: bool,
    /// How many lines, from the end: a number or `all`
    #[arg(long, short = 'n', value_name = "LINES", default_value = "100")]
    lines: Count,
    /// Only lines of this level and more severe ones
    #[arg(long, short, value_name = "L", ignore_case = true)]
    level: Option<Level>,
}

/// Number of lines to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Count(usize);

impl FromStr for Count {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Self(LINES_MAX)),
            number => number
                .parse()
                .map(|lines: usize| Self(lines.min(LINES_MAX)))
                .map_err(|_| "expected a number or `all`".to_owned()),
        }
    }
}

/// Severity of a line, most severe first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
enum Level {
    /// Something failed
    Error,
    /// Something is wrong, and work continues
    Warn,
    /// What the daemon does
    Info,
    /// With details
    Debug,
    /// With everything
    Trace,
}

impl Level {
    /// Parses the level of a line that begins with a time and a level.
    fn of_line(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let time = words.next()?;
        if !time.ends_with('Z') || !time.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        match words.next()? {
            "ERROR" => Some(Self::Error),
            "WARN" => Some(Self::Warn),
            "INFO" => Some(Self::Info),
            "DEBUG" => Some(Self::Debug),
            "TRACE" => Some(Self::Trace),
            _ => None,
        }
    }

    fn style(self) -> Style {
        match self {
            Self::Error => Style::Bad,
            Self::Warn => Style::Warning,
            Self::Info => Style::Good,
            Self::Debug | Self::Trace => Style::Faint,
        }
    }
}

/// Keeps lines of the wanted level or a more severe one. A line without a level counts as part of the line before it.
struct LevelFilter {
    wanted: Option<Level>,
    last: Option<Level>,
}

impl LevelFilter {
    fn passes(&mut self, line: &str) -> bool {
        self.last = Level::of_line(line).or(self.last);
        match (self.wanted, self.last) {
            (Some(wanted), Some(level)) => level <= wanted,
            // Lines before the first level are the last output of a process that crashed.
            (Some(_), None) | (None, _) => true,
        }
    }
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let path = environment.log_file();
    let failed = |source: io::Error| Error::Log { path: path.clone(), source };
    let output = Output::new();
    let mut follower = Follower::new(path.clone());
    if !follower.is_there() {
        let next = if args.follow { "waiting for one" } else { "any other command starts one" };
        print::note(&format!("There is no log at {} yet: no daemon ever ran in this home; {next}.", path.display()));
        if !args.follow {
            return Ok(ExitCode::SUCCESS);
        }
    }
    let mut filter = LevelFilter { wanted: args.level, last: None };
    let mut last = VecDeque::new();
    let mut keep = |line: &str| {
        if filter.passes(line) && args.lines.0 > 0 {
            if last.len() == args.lines.0 {
                last.pop_front();
            }
            last.push_back(line.to_owned());
        }
    };
    follower.read(&mut keep).map_err(failed)?;
    if !args.follow {
        follower.finish(&mut keep);
        last.iter().for_each(|line| show(&output, line));
        return Ok(ExitCode::SUCCESS);
    }
    last.iter().for_each(|line| show(&output, line));
    drop(last);
    loop {
        std::thread::sleep(LOOK);
        let mut each = |line: &str| {
            if filter.passes(line) {
                show(&output, line);
            }
        };
        follower.read(&mut each).map_err(failed)?;
    }
}

fn show(output: &Output, line: &str) {
    let line = print::plain(line);
    match Level::of_line(&line).and_then(|level| Some((level, line.split_once(char::is_whitespace)?))) {
        Some((level, (time, rest))) => {
            // The level comes before the rest and is padded with spaces to one width.
            let word = rest.trim_start().split(' ').next().unwrap_or_default();
            let at = rest.len() - rest.trim_start().len();
            let (spaces, after) = (&rest[..at], &rest[at + word.len()..]);
            let (time, word) = (output.styled(Style::Faint, time), output.styled(level.style(), word));
            output.line(&format!("{time} {spaces}{word}{after}"));
        }
        None => output.line(&line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_level_and_graver_ones_pass_with_what_belongs_to_them() {
        let lines = [
            "the program's own last words",
            "2026-11-03T09:26:53.589123Z  INFO baton_actors::system: daemon started",
            "2026-11-03T09:26:54.000000Z  WARN baton_tracking::watcher: root not watched",
            "  its second line",
            "2026-11-03T09:26:55.000000Z DEBUG baton: greeted",
            "2026-11-03T09:26:56.000000Z ERROR baton: panic",
        ];
        let cases: [(Option<Level>, &[usize]); 4] = [
            (None, &[0, 1, 2, 3, 4, 5]),
            (Some(Level::Error), &[0, 5]),
            (Some(Level::Warn), &[0, 2, 3, 5]),
            (Some(Level::Info), &[0, 1, 2, 3, 5]),
        ];
        for (wanted, expected) in cases {
            let mut filter = LevelFilter { wanted, last: None };
            let passed: Vec<usize> = (0..lines.len()).filter(|at| filter.passes(lines[*at])).collect();
            assert_eq!(passed, expected, "{wanted:?}");
        }
    }

    #[test]
    fn a_count_is_a_number_or_all() {
        assert_eq!("7".parse(), Ok(Count(7)));
        assert_eq!("all".parse(), Ok(Count(LINES_MAX)));
        assert_eq!("99999999999".parse(), Ok(Count(LINES_MAX)));
        assert!("-1".parse::<Count>().is_err() && "many".parse::<Count>().is_err());
    }
}
