//! The configuration of a home: the file, its keys and the settings they result in.

pub mod configuration;
pub mod endpoint;
pub mod import_boundary;
pub mod settings;
