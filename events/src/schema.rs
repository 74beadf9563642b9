//! Stored shapes: the serialised form, apart from the domain. Domain types carry no serde; these carry no behaviour.

pub mod checkpoint_row;
mod correction;
pub mod cursor;
mod enrichment;
pub mod export;
pub mod home;
pub mod item;
pub mod memo;
pub mod outcomes;
pub mod session;
pub mod state;
mod version;

#[cfg(test)]
mod tests;

/// True for 0, which is left out of a stored shape.
fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}

/// Reads an optional field: `Some(None)` if it is absent, `None` if it is there and cannot be read.
fn read_optional<T, U>(value: Option<T>, read: impl FnOnce(T) -> Option<U>) -> Option<Option<U>> {
    value.map_or(Some(None), |value| read(value).map(Some))
}
