//! Values as SQLite gives and takes them.

use baton_conversation::transcript::Cell;
use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, ValueRef};

/// A value of a row, or one that is passed to a statement.
#[derive(Clone, Debug)]
pub(super) enum Owned {
    Null,
    Integer(i64),
    Real(f64),
    Text(Vec<u8>),
    Blob(Vec<u8>),
}

impl Owned {
    pub(super) fn cell(&self) -> Cell<'_> {
        match self {
            Self::Null => Cell::Null,
            Self::Integer(number) => Cell::Integer(*number),
            Self::Real(number) => Cell::Real(*number),
            Self::Text(bytes) => Cell::Text(bytes),
            Self::Blob(bytes) => Cell::Blob(bytes),
        }
    }
}

impl From<ValueRef<'_>> for Owned {
    fn from(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(number) => Self::Integer(number),
            ValueRef::Real(number) => Self::Real(number),
            ValueRef::Text(bytes) => Self::Text(bytes.to_owned()),
            ValueRef::Blob(bytes) => Self::Blob(bytes.to_owned()),
        }
    }
}

impl From<Cell<'_>> for Owned {
    fn from(cell: Cell<'_>) -> Self {
        value_ref(cell).into()
    }
}

impl ToSql for Owned {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(value_ref(self.cell())))
    }
}

fn value_ref(cell: Cell<'_>) -> ValueRef<'_> {
    match cell {
        Cell::Null => ValueRef::Null,
        Cell::Integer(number) => ValueRef::Integer(number),
        Cell::Real(number) => ValueRef::Real(number),
        Cell::Text(bytes) => ValueRef::Text(bytes),
        Cell::Blob(bytes) => ValueRef::Blob(bytes),
    }
}
