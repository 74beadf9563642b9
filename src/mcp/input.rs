//! Standard input that signals its end: when the end is read, or earlier when the writer has closed it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

#[cfg(unix)]
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::watch;

/// Wraps `reader`; the second value resolves at its end.
pub(super) fn watch_end<R>(reader: R) -> (WatchedInput<R>, InputEnd) {
    let (ended, end) = watch::channel(false);
    (WatchedInput { reader, ended }, InputEnd(end))
}

/// A reader that notes the end of its input.
pub(super) struct WatchedInput<R> {
    reader: R,
    ended: watch::Sender<bool>,
}

/// Resolves at the end of the input.
pub(super) struct InputEnd(watch::Receiver<bool>);

impl InputEnd {
    /// Resolves when the input has ended or the reader was dropped.
    pub(super) async fn reached(mut self) {
        let _ = self.0.wait_for(|ended| *ended).await;
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for WatchedInput<R> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.reader).poll_read(context, buffer);
        if let Poll::Ready(result) = &read
            && (result.is_err() || (buffer.filled().len() == before && buffer.remaining() > 0))
        {
            this.ended.send_replace(true);
        }
        read
    }
}

/// Resolves when the writer of standard input has closed it, even if input is still unread.
#[cfg(unix)]
pub(super) async fn writer_closed() {
    use std::os::fd::AsFd;

    #[expect(deprecated, reason = "a descriptor of our own stays open; the other way is unsafe for those that may not")]
    let input = io::stdin().as_fd().try_clone_to_owned().and_then(AsyncFd::new);
    while let Ok(input) = &input
        && let Ok(mut ready) = input.readable().await
    {
        if ready.ready().is_read_closed() {
            return;
        }
        ready.clear_ready();
    }
    // A regular file has no writer.
    std::future::pending::<()>().await;
}

/// Not available on this platform: never resolves.
#[cfg(not(unix))]
pub(super) async fn writer_closed() {
    std::future::pending::<()>().await;
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[test]
    fn the_end_is_told_and_nothing_before_it() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (mut input, ended) = watch_end(&b"abc"[..]);
            let mut bytes = [0; 2];
            assert_eq!(input.read(&mut bytes).await.unwrap(), 2);
            assert!(!*ended.0.borrow());
            let mut rest = Vec::new();
            input.read_to_end(&mut rest).await.unwrap();
            assert_eq!(rest, b"c");
            ended.reached().await;
        });
    }
}
