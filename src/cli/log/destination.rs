//! Destination of an export: standard output, or a file that is replaced only by a complete export.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::super::Error;
use baton_base::atomic_file::{self, Unfinished};

pub(in crate::cli) enum Destination {
    /// Standard output.
    Out(BufWriter<io::Stdout>),
    /// A temporary file beside the destination, readable by its owner only.
    Beside(BufWriter<Unfinished>, PathBuf),
    /// A pipe or a device, written directly.
    Through(BufWriter<File>, PathBuf),
}

impl Destination {
    /// Opens the destination; nothing is replaced yet.
    pub(super) fn open(path: Option<&Path>) -> Result<Self, Error> {
        let Some(path) = path.filter(|path| *path != Path::new("-")) else {
            return Ok(Self::Out(BufWriter::new(io::stdout())));
        };
        // Replace the target of a link, not the link.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let failed = |source| Error::Output { path: path.clone(), source };
        match std::fs::metadata(&path) {
            Ok(found) if found.is_dir() => Err(failed(io::ErrorKind::IsADirectory.into())),
            Ok(found) if !found.is_file() => {
                let file = std::fs::OpenOptions::new().write(true).open(&path).map_err(failed)?;
                Ok(Self::Through(BufWriter::new(file), path))
            }
            _ => {
                atomic_file::remove_abandoned(folder_of(&path));
                let file = atomic_file::create_in(folder_of(&path)).map_err(failed)?;
                Ok(Self::Beside(BufWriter::new(file), path))
            }
        }
    }

    /// Creates a scratch file, on the same disk as the result if that is a file.
    pub(super) fn spool(&self) -> io::Result<File> {
        match self {
            Self::Beside(_, path) => tempfile::tempfile_in(folder_of(path)),
            Self::Out(_) | Self::Through(..) => tempfile::tempfile(),
        }
    }

    /// The stream to write to.
    pub(super) fn writer(&mut self) -> &mut dyn Write {
        match self {
            Self::Out(out) => out,
            Self::Beside(file, _) => file,
            Self::Through(file, _) => file,
        }
    }

    /// Moves the file to its destination, durably.
    pub(in crate::cli) fn finish(self) -> Result<(), Error> {
        match self {
            Self::Out(mut out) => {
                out.flush().map_err(|error| Error::Archive(baton_upkeep::archive::Error::Write(error)))
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
