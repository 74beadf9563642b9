//! Progress of long work, on standard error and only if that is a terminal.

use std::cell::Cell;
use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use baton_protocol as protocol;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::text::one_line;

/// Rate and estimate are shown only after this time: before, they would jump.
const ESTIMATE_AFTER: Duration = Duration::from_secs(2);
/// Work that ends sooner is not mentioned.
const PATIENCE: Duration = Duration::from_millis(500);
/// Longest description of the work, in columns.
const WHAT: usize = 40;

fn target() -> ProgressDrawTarget {
    match io::stderr().is_terminal() {
        true => ProgressDrawTarget::stderr_with_hz(10),
        false => ProgressDrawTarget::hidden(),
    }
}

/// A progress bar for work of known size. Hidden until the first step; after two seconds it shows the rate and the
/// remaining time.
pub struct Progress {
    bar: ProgressBar,
    begun: Cell<bool>,
    estimates: Cell<bool>,
}

impl Progress {
    /// Creates a hidden bar.
    pub fn new() -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len}") {
            bar.set_style(style);
        }
        Self { bar, begun: Cell::new(false), estimates: Cell::new(false) }
    }

    /// Shows the progress.
    pub fn show(&self, update: &protocol::Progress) {
        if update.total == 0 {
            return;
        }
        // Both at once: otherwise the position of the previous work would show for this one.
        self.bar.update(|state| {
            state.set_len(update.total);
            state.set_pos(update.done);
        });
        let what = one_line(&update.what, WHAT);
        if self.bar.message() != what {
            // Another kind of work has its own rate.
            self.bar.reset_eta();
            self.bar.set_message(what);
        }
        if !self.begun.replace(true) {
            // Draw only from the first step on.
            self.bar.reset_elapsed();
            self.bar.set_draw_target(target());
        }
        if !self.estimates.get() && self.bar.elapsed() > ESTIMATE_AFTER {
            self.estimates.set(true);
            let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len}  {rate}, {eta} left");
            if let Ok(style) = style {
                self.bar.set_style(style.with_key("rate", rate));
            }
        }
    }

    /// Removes the bar.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}

fn rate(state: &ProgressState, out: &mut dyn Write) {
    let per_second = state.per_sec();
    let _ = if per_second < 10.0 { write!(out, "{per_second:.1}/s") } else { write!(out, "{per_second:.0}/s") };
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}

/// A spinner for a wait of unknown length. It appears after half a second and ends with this value.
pub struct Waiting {
    over: Option<Sender<()>>,
    shown: Option<JoinHandle<()>>,
}

impl Waiting {
    /// Starts the wait; `what` is shown if it takes long.
    pub fn new(what: &'static str) -> Self {
        if !io::stderr().is_terminal() {
            return Self { over: None, shown: None };
        }
        let (over, ended) = mpsc::channel::<()>();
        let shown = std::thread::spawn(move || {
            if ended.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = ProgressBar::with_draw_target(None, target()).with_message(what);
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
                bar.set_style(style);
            }
            while ended.recv_timeout(PATIENCE / 5) == Err(RecvTimeoutError::Timeout) {
                bar.tick();
            }
            bar.finish_and_clear();
        });
        Self { over: Some(over), shown: Some(shown) }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        drop(self.over.take());
        if let Some(shown) = self.shown.take() {
            let _ = shown.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use indicatif::TermLike;

    use super::*;

    /// Collects every line drawn.
    #[derive(Clone, Debug, Default)]
    struct Drawn(Arc<Mutex<Vec<String>>>);

    impl TermLike for Drawn {
        fn width(&self) -> u16 {
            80
        }
        fn move_cursor_up(&self, _lines: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _lines: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _columns: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _columns: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, line: &str) -> io::Result<()> {
            self.write_str(line)
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            self.0.lock().unwrap().push(text.to_owned());
            Ok(())
        }
        fn clear_line(&self) -> io::Result<()> {
            Ok(())
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_is_done_is_never_more_than_there_is() {
        let drawn = Drawn::default();
        let progress = Progress::new();
        progress.begun.set(true);
        progress.bar.set_draw_target(ProgressDrawTarget::term_like_with_hz(Box::new(drawn.clone()), 255));
        for (what, done, total) in [
            ("reading", 887, 900),
            ("reading", 900, 900),
            ("indexing", 0, 119),
            ("indexing", 119, 119),
            ("writing", 7, 9),
        ] {
            progress.show(&protocol::Progress { what: what.to_owned(), done, total });
            progress.bar.force_draw();
        }
        let lines = drawn.0.lock().unwrap().clone();
        let counts: Vec<(u64, u64)> = lines
            .iter()
            .filter_map(|line| line.split_whitespace().find_map(|word| word.split_once('/')))
            .filter_map(|(done, total)| Some((done.parse().ok()?, total.parse().ok()?)))
            .collect();
        assert!(counts.contains(&(119, 119)) && counts.contains(&(7, 9)), "{lines:?}");
        assert!(counts.iter().all(|(done, total)| done <= total), "{counts:?}");
    }
}
