//! Where an export goes: standard output, or a file that has all of it or stays as it was.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::super::Error;
use crate::unfinished::{self, Unfinished};

/// See the module.
pub(super) enum Destination {
    /// Standard output.
    Out(BufWriter<io::Stdout>),
    /// A file beside the one that is meant, for its owner only.
    Beside(BufWriter<Unfinished>, PathBuf),
    /// Something that is no file (a pipe, a device), and is written to as it is.
    Through(BufWriter<File>, PathBuf),
}

impl Destination {
    /// Opens it; nothing is replaced yet.
    pub(super) fn open(path: Option<&Path>) -> Result<Self, Error> {
        let Some(path) = path.filter(|path| *path != Path::new("-")) else {
            return Ok(Self::Out(BufWriter::new(io::stdout())));
        };
        // What a link points to is replaced, not the link.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let failed = |source| Error::Output { path: path.clone(), source };
        match std::fs::metadata(&path) {
            Ok(found) if found.is_dir() => Err(failed(io::ErrorKind::IsADirectory.into())),
            Ok(found) if !found.is_file() => {
                let file = std::fs::OpenOptions::new().write(true).open(&path).map_err(failed)?;
                Ok(Self::Through(BufWriter::new(file), path))
            }
            _ => {
                unfinished::remove_abandoned(folder_of(&path));
                let file = unfinished::create_in(folder_of(&path)).map_err(failed)?;
                Ok(Self::Beside(BufWriter::new(file), path))
            }
        }
    }

    /// Where what is on its way may be kept: on the same disk as the result.
    pub(super) fn spool(&self) -> io::Result<File> {
        match self {
            Self::Beside(_, path) => tempfile::tempfile_in(folder_of(path)),
            Self::Out(_) | Self::Through(..) => tempfile::tempfile(),
        }
    }

    /// What is written to.
    pub(super) fn writer(&mut self) -> &mut dyn Write {
        match self {
            Self::Out(out) => out,
            Self::Beside(file, _) => file,
            Self::Through(file, _) => file,
        }
    }

    /// Gives the file its name, durably.
    pub(super) fn finish(self) -> Result<(), Error> {
        match self {
            Self::Out(mut out) => {
                out.flush().map_err(|error| Error::Archive(baton_actors::queries::archive::Error::Write(error)))
            }
            Self::Through(mut file, path) => file.flush().map_err(|source| Error::Output { path, source }),
            Self::Beside(file, path) => {
                let failed = |source| Error::Output { path: path.clone(), source };
                let file = file.into_inner().map_err(|error| failed(error.into_error()))?;
                file.file().sync_all().map_err(failed)?;
                file.persist(&path).map_err(failed)?;
                baton_base::durable::sync_folder(folder_of(&path)).map_err(failed)
            }
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
