//! Sessions in agents' SQLite databases, while the agents write to them.
//!
//! The agent must not notice: a database is opened read-only, no file is created beside it, and a read transaction ends
//! within [a slice](slices); the next one continues after its last row. Only the tables and columns listed in the
//! agent's [`Table`] can be read: SQLite asks [`is_listed`] about each column of a statement, and each table must be an
//! ordinary one, so that no view, trigger or virtual table ever runs.
//!
//! # Hazards
//!
//! - If this process opens and closes a database's file while SQLite has it open, all locks that SQLite holds on it are
//!   gone (POSIX). So all access is behind [`ACCESS`], and no other part of Baton opens a database; `stat` is harmless.
//! - Opening a database in WAL mode makes the files `-wal` and `-shm` if they are missing. So one without `-wal`, which no
//!   process has open, is read as immutable, and again if it changed meanwhile; one with `-wal` but without `-shm` is
//!   not read.
//! - File systems stamp files every few milliseconds: a database whose stamp is that young is looked at again.

mod bounds;
mod slices;
mod value;

use std::cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use baton_base::limits;
use baton_base::transcript_file::{self, FileStat};
use baton_conversation::item::Agent;
use baton_conversation::transcript::{DatabaseSchema, Lines, Table, table};
use baton_events::session::FileIdentity;
use rusqlite::hooks::Authorization;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{Rendered, SessionSeen};

use self::bounds::{configure, is_listed};
use self::slices::{Clock, PATIENCE, SLICE};
use self::value::Owned;

/// Attempts to read a database that changes although no process seemed to have it open.
const ATTEMPTS: usize = 3;
/// A change this young may share its time with the next one.
const YOUNG: Duration = Duration::from_millis(100);
/// Most databases whose last look is remembered.
const KNOWN_MAX: usize = 64;
/// The beginning of a database, up to the version of its format: 2 is WAL mode.
const MAGIC: &[u8] = b"SQLite format 3\0";
const VERSION: usize = 18;

/// Held while this process has a database open.
static ACCESS: Mutex<()> = Mutex::new(());
/// The last look at each database.
static KNOWN: Mutex<BTreeMap<PathBuf, Known>> = Mutex::new(BTreeMap::new());
/// Databases that were locked at the last attempt.
static LOCKED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Returns all sessions in a database. It is opened only if it has changed since the last look.
///
/// # Errors
///
/// `NotFound` if it does not exist, `InvalidData` if it is damaged or has other tables, otherwise something temporary.
pub(crate) fn sessions(agent: Agent, path: &Path) -> io::Result<Arc<[SessionSeen]>> {
    let (began, stamp) = (SystemTime::now(), Stamp::of(path)?);
    if let Some(known) = lock(&KNOWN).get(path).filter(|known| known.stamp == stamp && known.is_settled) {
        return known.sessions.clone().map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why));
    }
    let listed = with(agent, path, |database| database.sessions(path));
    let is_settled = began.duration_since(stamp.newest()).is_ok_and(|age| age > YOUNG);
    let sessions = match &listed {
        Ok(sessions) => Ok(sessions.clone()),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(error.to_string()),
        Err(_) => return listed,
    };
    let mut known = lock(&KNOWN);
    if known.len() >= KNOWN_MAX {
        known.clear();
    }
    known.insert(path.to_owned(), Known { stamp, is_settled, sessions });
    listed
}

/// Renders a session. Errors are as for [`sessions`]; `NotFound` also if the database does not have it.
pub(crate) fn render(agent: Agent, path: &Path, session: &str) -> io::Result<Rendered> {
    with(agent, path, |database| {
        let (lines, title) = database.render(session)?;
        Ok(Rendered { metadata: metadata(path)?, lines, title })
    })
}

struct Known {
    stamp: Stamp,
    /// True if a later change must have another stamp.
    is_settled: bool,
    /// The sessions, or why there will be none until the database is written to.
    sessions: Result<Arc<[SessionSeen]>, String>,
}

/// What `stat` says of a database and its log.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    file: FileStat,
    identity: FileIdentity,
    log: Option<FileStat>,
    journal: Option<FileStat>,
}

impl Stamp {
    fn of(path: &Path) -> io::Result<Self> {
        let file = metadata(path)?;
        let beside = |suffix| match metadata(&beside(path, suffix)) {
            Ok(metadata) => Ok(Some(FileStat::new(&metadata))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        };
        let (log, journal) = (beside("-wal")?, beside("-journal")?);
        Ok(Self { file: FileStat::new(&file), identity: transcript_file::identity(&file), log, journal })
    }

    fn newest(&self) -> SystemTime {
        let newest = [Some(self.file), self.log, self.journal].into_iter().flatten().map(|stat| stat.modified_ns).max();
        SystemTime::UNIX_EPOCH + Duration::from_nanos(u64::try_from(newest.unwrap_or(0)).unwrap_or(0))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn lasting(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

/// The file that SQLite keeps beside a database.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// Metadata of a regular file of this user's own.
fn metadata(path: &Path) -> io::Result<Metadata> {
    let metadata = fs::symlink_metadata(path)?;
    if !metadata.is_file() {
        return Err(lasting("it is a link, or no regular file"));
    }
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::uid(&metadata) != rustix::process::geteuid().as_raw() {
        return Err(lasting("it belongs to another user"));
    }
    Ok(metadata)
}

/// Opens a database and works on it. Repeats the work if an idle database changed meanwhile.
fn with<T>(agent: Agent, path: &Path, work: impl Fn(&Database) -> io::Result<T>) -> io::Result<T> {
    let Some(table) = table(agent) else { return Err(lasting("it is no database")) };
    let _access = lock(&ACCESS);
    for _ in 0..ATTEMPTS {
        let before = Stamp::of(path)?;
        let opened = Database::open(agent, table, path, &before);
        let is_idle = opened.as_ref().is_ok_and(|database| database.is_idle);
        let worked = opened.and_then(|database| work(&database));
        match worked.as_ref().is_err_and(is_locked) {
            true => lock(&LOCKED).insert(path.to_owned()),
            false => lock(&LOCKED).remove(path),
        };
        if !is_idle || Stamp::of(path)? == before {
            return worked;
        }
    }
    Err(io::Error::other("it changes while it is read"))
}

struct Database {
    connection: Connection,
    schema: &'static DatabaseSchema,
    render: fn() -> Box<dyn baton_conversation::transcript::Render>,
    /// True if no process has it open, so that it is read without locks.
    is_idle: bool,
    /// True if a reader keeps its writer waiting.
    is_locking: bool,
    /// The rollback journal, which exists while a change is being written.
    journal: PathBuf,
    may_be_quiet: cell::Cell<bool>,
    patience: Duration,
    clock: Clock,
}

/// Why a statement gave no further row.
enum Failure {
    /// The slice was over.
    Interrupted,
    Error(io::Error),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Error(match error.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => return Self::Interrupted,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                io::Error::new(io::ErrorKind::WouldBlock, "its agent has locked it")
            }
            Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::SystemIoFailure | ErrorCode::OutOfMemory) => {
                io::Error::other(format!("it cannot be opened: {error}"))
            }
            _ => lasting(format!("it is damaged or of an unknown form: {error}")),
        })
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Error(error)
    }
}

impl Database {
    fn open(agent: Agent, table: &'static Table, path: &Path, stamp: &Stamp) -> io::Result<Self> {
        let has_log = stamp.log.is_some_and(|log| log.size > 0);
        let has_index = || beside(path, "-shm").symlink_metadata().is_ok_and(|metadata| metadata.is_file());
        let logs = version(path)? == 2;
        if has_log && !has_index() {
            return Err(io::Error::other("its file -shm is missing: it is read once its agent has opened it again"));
        }
        let is_idle = logs && !has_log;
        // Links above the database are fine, as for any transcript.
        let folder = fs::canonicalize(path.parent().unwrap_or(Path::new("/")))?;
        let real = folder.join(path.file_name().unwrap_or_default());
        let only_read =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let opened = match is_idle {
            true => Connection::open_with_flags(immutable(&real)?, only_read | OpenFlags::SQLITE_OPEN_URI),
            false => Connection::open_with_flags(&real, only_read),
        };
        let clock = Clock::new();
        let prepare = || -> Result<Self, Failure> {
            let mut connection = opened?;
            clock.begin(SLICE);
            let over = clock.clone();
            configure(&mut connection, move || over.is_over())?;
            // Replaced below.
            let schema = table.schemas.first().ok_or_else(|| lasting("it is of an unknown form"))?;
            let (is_locking, clock) = (!logs, clock.clone());
            let journal = beside(&real, "-journal");
            let (render, may_be_quiet) = (table.render, cell::Cell::new(true));
            let patience = if lock(&LOCKED).contains(path) { Duration::ZERO } else { PATIENCE };
            let mut database =
                Self { connection, schema, render, is_idle, is_locking, journal, may_be_quiet, patience, clock };
            database.schema = database.known_schema(agent, table)?;
            let schema = database.schema;
            database.connection.authorizer(Some(move |context: rusqlite::hooks::AuthContext<'_>| {
                if is_listed(schema, &context.action) { Authorization::Allow } else { Authorization::Deny }
            }))?;
            Ok(database)
        };
        prepare().map_err(|failure| match failure {
            Failure::Interrupted => slow(),
            Failure::Error(error) => error,
        })
    }

    /// The first known schema whose tables are all there.
    fn known_schema(&self, agent: Agent, table: &'static Table) -> Result<&'static DatabaseSchema, Failure> {
        let mut why = String::new();
        for schema in table.schemas {
            match self.misfit(schema)? {
                None => return Ok(schema),
                Some(misfit) => why = misfit,
            }
        }
        Err(lasting(format!("its tables are not those of {}: {why}", agent.title())).into())
    }

    /// The first element of a schema that the database does not have as an ordinary table or column.
    fn misfit(&self, schema: &DatabaseSchema) -> Result<Option<String>, Failure> {
        for (table, columns) in schema.tables {
            let mut found: Vec<(String, i64, String)> = Vec::new();
            self.rows(
                "SELECT rowid, type, rootpage, sql FROM sqlite_schema WHERE name = ?1 AND rowid > ?2 ORDER BY rowid",
                &[Owned::Text(table.as_bytes().to_owned())],
                vec![Owned::Integer(i64::MIN)],
                &mut |row| {
                    let text = |at: usize| row[at].text().unwrap_or_default().to_owned();
                    found.push((text(1), row[2].integer(), text(3)));
                    Ok(true)
                },
            )?;
            let is_ordinary = |(kind, page, sql): &(String, i64, String)| {
                let is_virtual = sql.get(..14).is_some_and(|start| start.eq_ignore_ascii_case("CREATE VIRTUAL"));
                kind == "table" && *page > 0 && !is_virtual
            };
            match found.as_slice() {
                [] => return Ok(Some(format!("no table {table}"))),
                [only] if is_ordinary(only) => {}
                _ => return Ok(Some(format!("{table} is not an ordinary table"))),
            }
            let mut ordinary: Vec<String> = Vec::new();
            // The name comes from our schema.
            let sql =
                format!("SELECT cid, name, hidden FROM pragma_table_xinfo('{table}') WHERE cid > ?1 ORDER BY cid");
            self.rows(&sql, &[], vec![Owned::Integer(-1)], &mut |row| {
                // Hidden columns are of virtual tables, or computed.
                ordinary.extend(row[1].text().filter(|_| row[2].integer() == 0).map(str::to_owned));
                Ok(true)
            })?;
            if let Some(missing) = columns.iter().find(|column| !ordinary.iter().any(|name| name == *column)) {
                return Ok(Some(format!("no column {table}.{missing}")));
            }
        }
        Ok(None)
    }

    fn sessions(&self, path: &Path) -> io::Result<Arc<[SessionSeen]>> {
        let Some(database) = path.to_str() else { return Err(lasting("its path is not UTF-8")) };
        let identity = transcript_file::identity(&metadata(path)?);
        let mut found = Vec::new();
        let read = self.rows(self.schema.sessions, &[], vec![Owned::Integer(i64::MIN)], &mut |row| {
            let [_, id, parent, version, at] = row else { return Err(lasting("it is of an unknown form")) };
            let (parent, size) = (parent.text(), u64::try_from(version.integer()).unwrap_or(0));
            let stat = FileStat { modified_ns: at.integer().saturating_mul(1_000_000), size };
            let parts = [Some(database), parent, id.text()].into_iter().flatten();
            let path = parts.collect::<Vec<_>>().join(std::path::MAIN_SEPARATOR_STR);
            if id.text().is_some() {
                found.push(SessionSeen { path, stat, identity });
            }
            Ok(found.len() < limits::TRANSCRIPTS)
        });
        finished(read)?;
        Ok(found.into())
    }

    fn render(&self, session: &str) -> io::Result<(Vec<u8>, Option<String>)> {
        let (mut lines, mut render) = (Lines::default(), (self.render)());
        let id = [Owned::Text(session.as_bytes().to_owned())];
        let mut is_there = false;
        finished(self.rows(self.schema.session, &id, Vec::new(), &mut |row| {
            is_there = true;
            render.session(row, &mut lines);
            Ok(false)
        }))?;
        if !is_there {
            return Err(io::Error::new(io::ErrorKind::NotFound, "its database no longer has it"));
        }
        let first = self.schema.before_first.iter().map(|cell| Owned::from(*cell)).collect();
        finished(self.rows(self.schema.rows, &id, first, &mut |row| {
            let goes_on = render.row(row, &mut lines);
            match lines.size() as u64 > limits::DOCUMENT_BYTES {
                true => Err(lasting(format!("it is a session of more than {} MB", limits::DOCUMENT_BYTES >> 20))),
                false => Ok(goes_on),
            }
        }))?;
        Ok(lines.finish())
    }
}

fn finished(read: Result<(), Failure>) -> io::Result<()> {
    read.map_err(|failure| match failure {
        Failure::Interrupted => slow(),
        Failure::Error(error) => error,
    })
}

fn is_locked(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}

fn slow() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "it takes too long to read")
}

/// The version of the database's format: 2 in WAL mode. Called only while no connection is open.
fn version(path: &Path) -> io::Result<u8> {
    let mut head = [0; VERSION + 1];
    match transcript_file::open(path)?.read_exact(&mut head) {
        Ok(()) if head.starts_with(MAGIC) => Ok(head[VERSION]),
        // An agent makes the file before it writes to it.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && metadata(path)?.len() == 0 => {
            Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it is empty"))
        }
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => Err(error),
        _ => Err(lasting("it is no SQLite database")),
    }
}

/// The address by which a database is opened without locks.
fn immutable(path: &Path) -> io::Result<String> {
    let text = path.to_str().ok_or_else(|| lasting("its path is not UTF-8"))?;
    let text = if cfg!(windows) { format!("/{}", text.replace('\\', "/")) } else { text.to_owned() };
    let mut address = "file://".to_owned();
    for byte in text.bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b':' => address.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => address.push(char::from(byte)),
            byte => address.push_str(&format!("%{byte:02X}")),
        }
    }
    Ok(address + "?mode=ro&immutable=1")
}

#[cfg(test)]
mod tests;
