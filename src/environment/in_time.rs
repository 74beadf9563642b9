//! Time limits for access to file systems that may not answer.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use baton_base::limits;

/// Runs `look` and returns its result within [`limits::ROOT`]. `None` if it has not returned by then; its thread lives
/// until it does.
pub(crate) fn in_time<T: Send + 'static>(look: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    within(limits::ROOT, look)
}

/// Like [`in_time`], with another time limit.
pub(crate) fn within<T: Send + 'static>(time: Duration, look: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (sender, result) = mpsc::channel();
    thread::Builder::new().spawn(move || drop(sender.send(look()))).ok()?;
    result.recv_timeout(time).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_that_hangs_is_given_up() {
        let (release, hang) = mpsc::channel::<()>();
        assert_eq!(within(Duration::from_millis(1), move || hang.recv().is_ok()), None);
        assert_eq!(in_time(|| 7), Some(7));
        drop(release);
    }
}
