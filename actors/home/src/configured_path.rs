//! Values of the configuration that name a file. The daemon and its clients read them the same way.

use std::path::Path;

/// True if the value of a key says anything and may be a path.
pub fn is_text(text: &str) -> bool {
    !text.trim().is_empty() && !text.contains('\0')
}

/// Expands `~/` and requires an absolute path. Variables are not expanded, because other readers of this key may have
/// other values. The error says what is wrong.
pub fn expand(text: &str, user_home: impl FnOnce() -> Option<String>) -> Result<String, String> {
    let path = match text.strip_prefix("~/") {
        Some(below) => format!("{}/{below}", user_home().ok_or("names $HOME, which is not set")?),
        None => text.to_owned(),
    };
    if Path::new(&path).is_absolute() { Ok(path) } else { Err("is not absolute".to_owned()) }
}
