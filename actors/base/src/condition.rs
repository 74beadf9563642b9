//! An operation that fails for a while: logged once when it begins to fail and once when it succeeds again, however
//! often it is tried; `status` shows it in between.

use std::sync::{Mutex, MutexGuard};

use crate::io_remedy::IoCause;

/// One such operation. Shared by those that try it and those that report it.
#[derive(Debug)]
pub struct Condition {
    what: &'static str,
    lasting: Mutex<Option<Lasting>>,
}

#[derive(Debug)]
struct Lasting {
    reason: String,
    tries: u64,
}

impl Condition {
    /// `what` is the failure as a whole sentence: "conversations cannot be stored".
    pub fn new(what: &'static str) -> Self {
        Self { what, lasting: Mutex::new(None) }
    }

    /// Records a failed try. It is logged only if it is the first, or if its reason is of another kind than the last.
    pub fn failed(&self, reason: &str) {
        let mut lasting = self.lock();
        match &mut *lasting {
            Some(known) if is_same(&known.reason, reason) => known.tries += 1,
            Some(known) => {
                tracing::warn!(%reason, tries = known.tries, "still failing: {}", self.what);
                *known = Lasting { reason: reason.to_owned(), tries: known.tries + 1 };
            }
            None => {
                tracing::error!(%reason, "{}, trying again", self.what);
                *lasting = Some(Lasting { reason: reason.to_owned(), tries: 1 });
            }
        }
    }

    /// Records success.
    pub fn succeeded(&self) {
        if let Some(Lasting { reason, tries }) = self.lock().take() {
            tracing::info!(%reason, tries, "resolved: {}", self.what);
        }
    }

    /// The reason of the failure while it lasts.
    pub fn reason(&self) -> Option<String> {
        self.lock().as_ref().map(|lasting| lasting.reason.clone())
    }

    /// The sentence and the reason while the failure lasts.
    pub fn describe(&self) -> Option<String> {
        self.reason().map(|reason| format!("{}: {reason}", self.what))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Lasting>> {
        self.lasting.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Two reasons count as the same if their cause is: a full disk fails one file after another.
fn is_same(known: &str, now: &str) -> bool {
    known == now
        || (IoCause::in_message(known) == IoCause::in_message(now) && IoCause::in_message(now) != IoCause::Other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_lasts_from_the_first_failure_to_the_next_success() {
        let condition = Condition::new("nothing can be kept");
        assert_eq!(condition.describe(), None);
        condition.succeeded();
        for reason in ["no room", "no room", "no leave"] {
            condition.failed(reason);
            assert_eq!(condition.reason().as_deref(), Some(reason));
            assert_eq!(condition.describe(), Some(format!("nothing can be kept: {reason}")));
        }
        condition.succeeded();
        assert_eq!(condition.describe(), None);
        condition.failed("cannot write a: no room (os error 28)");
        condition.failed("cannot write b: no room (os error 28)");
        let reason = condition.reason().unwrap();
        assert_eq!(reason.contains(" a: "), cfg!(unix), "another file is no news: {reason}");
    }
}
