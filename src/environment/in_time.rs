//! Looks at what may lie on a file system that does not answer: it keeps nobody waiting for ever.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use baton_base::limits;

/// What a look comes to within [`limits::ROOT`]. `None`: it has not come back; it keeps its thread until it does.
pub(crate) fn in_time<T: Send + 'static>(look: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    within(limits::ROOT, look)
}

/// The same within another time.
pub(crate) fn within<T: Send + 'static>(time: Duration, look: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (tell, told) = mpsc::channel();
    thread::Builder::new().spawn(move || drop(tell.send(look()))).ok()?;
    told.recv_timeout(time).ok()
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
