//! Reports a failed command: as a sentence, or with `--json` as one object; and chooses the exit code.

use std::process::ExitCode;

use baton_protocol::code;
use clap::error::ErrorKind;

use super::Error;
use crate::{client, print};

/// Error code for a command line that is not understood.
const USAGE: &str = "usage";
/// Exit code for a command line that is not understood.
const USAGE_EXIT: u8 = 2;
/// Error code of failures without a code of their own.
const FAILED: &str = "failed";

/// Audience for errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorFormat {
    /// A person.
    Sentence,
    /// A program: `{"error":{"code","message"}}`.
    Object,
}

impl ErrorFormat {
    /// Returns `Object` if the arguments before `--` contain `--json`.
    pub fn from_arguments(arguments: &[std::ffi::OsString]) -> Self {
        let asked = arguments.iter().take_while(|word| *word != "--").any(|word| word == "--json");
        if asked { Self::Object } else { Self::Sentence }
    }

    /// Prints an error on standard error.
    pub fn print_error(self, error: &Error) -> ExitCode {
        match (self, is_usage(error)) {
            // In clap's form, like all other usage errors.
            (Self::Sentence, true) => {
                let message = format!("{}\n\nFor more information, try '--help'.\n", print::plain(&error.to_string()));
                self.print_usage_error(&clap::Error::raw(ErrorKind::ValueValidation, message))
            }
            (_, is_usage) => {
                self.print(code_of(error), &error.to_string());
                ExitCode::from(if is_usage { USAGE_EXIT } else { 1 })
            }
        }
    }

    /// Prints an error that has no code of its own on standard error.
    pub fn print_message(self, message: &str) -> ExitCode {
        self.print(FAILED, message);
        ExitCode::FAILURE
    }

    /// Prints clap's error, or the help that was asked for.
    pub fn print_usage_error(self, error: &clap::Error) -> ExitCode {
        match self {
            Self::Object if error.use_stderr() => {
                let text = error.render().to_string();
                self.print(USAGE, text.strip_prefix("error: ").unwrap_or(&text).trim_end());
            }
            _ => {
                // Standard output may be closed already.
                let _ = error.print();
            }
        }
        ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(USAGE_EXIT))
    }

    fn print(self, code: &str, message: &str) {
        match self {
            Self::Sentence => print::error(message),
            Self::Object => print::error_object(code, message),
        }
    }
}

/// True if the command line is to blame, not what happened afterwards.
fn is_usage(error: &Error) -> bool {
    match error {
        Error::Usage(_) => true,
        Error::Client(client::Error::Refused(failure)) => failure.code == code::INVALID_PARAMS,
        _ => false,
    }
}

/// Returns the error code for programs.
fn code_of(error: &Error) -> &'static str {
    match error {
        Error::Usage(_) => USAGE,
        Error::Client(client::Error::Refused(failure)) => match failure.code {
            code::NOT_FOUND => "not_found",
            code::INVALID_PARAMS | code::REFUSED => "invalid",
            code::STOPPING => "stopping",
            code::DEADLINE => "deadline",
            code::TOO_MUCH => "too_much",
            code::OTHER_VERSION => "other_version",
            _ => "internal",
        },
        Error::Client(client::Error::NewerDaemon { .. }) => "other_version",
        Error::Client(client::Error::NotStarted(_)) => "not_started",
        Error::Client(client::Error::NotAnswering(_)) => "not_answering",
        Error::Client(client::Error::Broken(_)) => "connection",
        _ => FAILED,
    }
}
