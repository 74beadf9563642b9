//! Complaints about how a program was called.

/// Complaints about how a program was called or where.
const USAGE: [&str; 16] = [
    "Missing script",
    "cript not found",
    "unexpected argument",
    "unrecognized argument",
    "unrecognized option",
    "unrecognized subcommand",
    "unknown argument",
    "unknown option",
    "unknown flag",
    "unknown command",
    "invalid option",
    "illegal option",
    "o such option",
    "command not found",
    "o such file or directory",
    "or directory not found",
];

/// Returns true if a program complains about how it was called or where: it has not done anything yet.
pub(in crate::digest) fn is_misuse(complaint: &str) -> bool {
    USAGE.iter().any(|words| complaint.contains(words))
}
