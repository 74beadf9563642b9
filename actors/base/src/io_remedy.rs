//! Classifies I/O errors by cause and names what a person can do about each.

use std::io::{self, ErrorKind};

/// The cause of a refused file operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoCause {
    /// No space left: on the disk, or within the user's or process's quota.
    Full,
    /// The file system is mounted read-only.
    ReadOnly,
    /// This user lacks the permission for the file or folder.
    Forbidden,
    /// The disk reports I/O errors.
    Failing,
    /// Any other error.
    Other,
}

impl IoCause {
    /// Classifies an error.
    pub fn from_error(error: &io::Error) -> Self {
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => Self::Full,
            ErrorKind::ReadOnlyFilesystem => Self::ReadOnly,
            ErrorKind::PermissionDenied => Self::Forbidden,
            _ if cfg!(unix) && error.raw_os_error() == Some(5) => Self::Failing,
            _ => Self::Other,
        }
    }

    /// Classifies an error message by the operating system's error number in it, however it was wrapped.
    pub fn in_message(text: &str) -> Self {
        number(text).map_or(Self::Other, |number| Self::from_error(&io::Error::from_raw_os_error(number)))
    }

    /// True if the cause affects every write to the disk, not one file alone.
    pub fn is_of_the_disk(self) -> bool {
        matches!(self, Self::Full | Self::ReadOnly)
    }

    /// What the user should do, as an imperative phrase.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Full => "free space on the disk of BATON_HOME",
            Self::ReadOnly => "make the file system of BATON_HOME writable again (`mount -o remount,rw`)",
            Self::Forbidden => "make the files in BATON_HOME readable and writable for you (`chown`, `chmod u+rwX`)",
            Self::Failing => "the disk of BATON_HOME is failing: save its data, and check the system's log",
            Self::Other => "see `baton logs`",
        }
    }
}

/// Reduces a message to the operating system's own text if it holds an error number of a known cause; otherwise returns
/// it unchanged.
pub fn system_message(text: &str) -> String {
    match number(text).map(io::Error::from_raw_os_error) {
        Some(error) if IoCause::from_error(&error) != IoCause::Other => error.to_string(),
        _ => text.to_owned(),
    }
}

/// The error number in a message: `(os error N)` as `Display` prints it, or `Os { code: N, … }` as `Debug` does.
fn number(text: &str) -> Option<i32> {
    let behind = |mark: &str| {
        let (_, rest) = text.rsplit_once(mark)?;
        let end = rest.find([')', ',', ' '])?;
        rest[..end].parse().ok()
    };
    behind("(os error ").or_else(|| behind("Os { code: "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_known_by_its_kind_and_by_what_was_told_of_it() {
        for (kind, cause) in [
            (ErrorKind::StorageFull, IoCause::Full),
            (ErrorKind::QuotaExceeded, IoCause::Full),
            (ErrorKind::ReadOnlyFilesystem, IoCause::ReadOnly),
            (ErrorKind::PermissionDenied, IoCause::Forbidden),
            (ErrorKind::NotFound, IoCause::Other),
        ] {
            assert_eq!(IoCause::from_error(&kind.into()), cause, "{kind:?}");
        }
        for text in ["", "no number", "(os error )", "(os error x)", "(os error 99999999999999)", "(os error 28"] {
            assert_eq!((IoCause::in_message(text), system_message(text)), (IoCause::Other, text.to_owned()));
        }
    }

    #[cfg(unix)]
    #[test]
    fn numbers_of_the_system_are_known_however_they_are_wrapped() {
        for (number, cause) in [
            (28, IoCause::Full),
            (27, IoCause::Full),
            (30, IoCause::ReadOnly),
            (13, IoCause::Forbidden),
            (1, IoCause::Forbidden),
            (5, IoCause::Failing),
            (2, IoCause::Other),
        ] {
            let error = io::Error::from_raw_os_error(number);
            let told = format!("the log cannot be written: {error}, said 'it'");
            assert_eq!((IoCause::from_error(&error), IoCause::in_message(&told)), (cause, cause), "{told}");
            let shown = format!("index: {error:?}");
            assert_eq!(IoCause::in_message(&shown), cause, "{shown}");
            let known = cause != IoCause::Other;
            assert_eq!(system_message(&shown), if known { error.to_string() } else { shown.clone() });
            assert!(!cause.remedy().is_empty());
        }
    }
}
