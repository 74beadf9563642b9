//! Questions to the daemon, asked beside the screen. A lane is a thread with a connection; a question that has not been
//! asked yet is replaced by the next one of its lane, and one that is being asked can see that it was.

use std::io::ErrorKind;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use baton_protocol::code;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::client::{Client, Error};
use crate::environment::Environment;

/// How often a call is made if the daemon ends over it.
const TRIES: u32 = 3;
/// Pause in which a stopping daemon removes its socket.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(100);

type Job = Box<dyn FnOnce(&mut Asking<'_>) + Send>;

/// See the module. The thread ends with the lane.
pub(super) struct Lane {
    queue: Arc<Queue>,
}

#[derive(Default)]
struct Queue {
    next: Mutex<Next>,
    changed: Condvar,
}

#[derive(Default)]
struct Next {
    job: Option<Job>,
    is_over: bool,
}

impl Queue {
    fn next(&self) -> MutexGuard<'_, Next> {
        self.next.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Waits for the next job; `None` at the end.
    fn take(&self) -> Option<Job> {
        let mut next = self.next();
        loop {
            if next.is_over {
                return None;
            }
            match next.job.take() {
                Some(job) => return Some(job),
                None => next = self.changed.wait(next).unwrap_or_else(|poisoned| poisoned.into_inner()),
            }
        }
    }
}

impl Lane {
    /// Starts a lane. It connects with its first question, or goes on with `client`.
    pub(super) fn start(environment: &Environment, client: Option<Client>) -> Self {
        let queue = Arc::<Queue>::default();
        let (jobs, environment) = (queue.clone(), environment.clone());
        std::thread::spawn(move || {
            let mut client = client;
            while let Some(job) = jobs.take() {
                job(&mut Asking { environment: &environment, client: &mut client, queue: &jobs });
            }
        });
        Self { queue }
    }

    /// Asks; `tell` turns answers into messages. Replaces a question that waits.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        to: &Sender<T>,
        question: impl FnOnce(&mut Asking<'_>, &dyn Fn(T)) + Send + 'static,
    ) {
        let to = to.clone();
        let job: Job = Box::new(move |asking| {
            // The screen is gone when nobody receives.
            question(asking, &|told| drop(to.send(told)));
        });
        self.queue.next().job = Some(job);
        self.queue.changed.notify_one();
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.queue.next().is_over = true;
        self.queue.changed.notify_one();
    }
}

/// The connection, for one question.
pub(super) struct Asking<'a> {
    environment: &'a Environment,
    client: &'a mut Option<Client>,
    queue: &'a Queue,
}

impl Asking<'_> {
    /// False if another question waits, or the screen is gone: then the answer is of no use.
    pub(super) fn is_wanted(&self) -> bool {
        let next = self.queue.next();
        next.job.is_none() && !next.is_over
    }

    /// Calls a method that only reads; starts a daemon if none runs. The error is a sentence.
    pub(super) fn call<T: DeserializeOwned>(&mut self, method: &str, params: &impl Serialize) -> Result<T, String> {
        let mut tries = 0;
        loop {
            let error = match self.try_call(method, params) {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            *self.client = None;
            tries += 1;
            let is_ending = match &error {
                Error::Refused(failure) => failure.code == code::STOPPING,
                // A daemon that does not answer in time is not asked again.
                Error::Broken(cause) => !matches!(cause.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock),
                _ => false,
            };
            if !is_ending || tries == TRIES {
                return Err(error.to_string());
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn try_call<T: DeserializeOwned>(&mut self, method: &str, params: &impl Serialize) -> Result<T, Error> {
        let mut client = match self.client.take() {
            Some(client) => client,
            None => Client::connect_or_start_silently(self.environment)?,
        };
        let answer = client.call(method, params, |_| {})?;
        *self.client = Some(client);
        Ok(answer)
    }
}
