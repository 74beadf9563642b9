//! Manifests: files that list packages. An edit of one shows which packages were added.

/// A file that lists packages.
#[derive(Clone, Copy)]
pub enum Manifest {
    /// `Cargo.toml`
    Cargo,
    /// `package.json`
    Node,
    /// `requirements*.txt`
    Requirements,
    /// `pyproject.toml`
    Python,
    /// `go.mod`
    Go,
}

impl Manifest {
    /// The kind of manifest at a path; `None` for any other file.
    pub fn from_path(path: &str) -> Option<Self> {
        match path.rsplit(['/', '\\']).next()? {
            "Cargo.toml" => Some(Self::Cargo),
            "package.json" => Some(Self::Node),
            "pyproject.toml" => Some(Self::Python),
            "go.mod" => Some(Self::Go),
            name if name.starts_with("requirements") && name.ends_with(".txt") => Some(Self::Requirements),
            _ => None,
        }
    }
}
