//! The address of a home's daemon: a Unix socket in the home, at a short path for homes with a long one, or at the
//! configured path; on Windows a named pipe.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::trust;

/// Longest socket path accepted on every Unix, in bytes (macOS: 103).
const PATH_BYTES: usize = 100;

/// The address of a home's daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    path: PathBuf,
}

impl Endpoint {
    /// Derives the endpoint of a home. Always the same for one home.
    pub fn for_home(home: &Path) -> Self {
        if cfg!(windows) {
            // All users' pipes share one namespace, and two users' homes may have the same path.
            let user = std::env::var_os("USERNAME").unwrap_or_default();
            let pipe = format!(r"\\.\pipe\baton-{}-{}", fingerprint(Path::new(&user)), fingerprint(home));
            return Self { path: PathBuf::from(pipe) };
        }
        let inside = home.join("baton.sock");
        if inside.as_os_str().len() <= PATH_BYTES {
            return Self { path: inside };
        }
        let folder = std::env::temp_dir().join(format!("baton-{}", trust::user()));
        Self { path: folder.join(format!("{}.sock", fingerprint(home))) }
    }

    /// Uses a configured path.
    pub fn from_path(path: PathBuf) -> Self {
        Self { path }
    }

    /// The path, for messages and for clients.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn fingerprint(home: &Path) -> String {
    let digest = Sha256::digest(home.as_os_str().as_encoded_bytes());
    digest[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_home_with_a_long_path_has_a_short_endpoint() {
        assert_eq!(Endpoint::for_home(Path::new("/home/a/.baton")).path(), Path::new("/home/a/.baton/baton.sock"));
        let long = PathBuf::from(format!("/home/{}", "x".repeat(120)));
        let endpoint = Endpoint::for_home(&long);
        assert!(endpoint.path().as_os_str().len() <= PATH_BYTES + 3, "{endpoint:?}");
        assert_ne!(endpoint, Endpoint::for_home(&long.join("y")));
        assert_eq!(endpoint, Endpoint::for_home(&long));
    }
}
