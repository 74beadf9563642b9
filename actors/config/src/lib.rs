//! What a person has configured: the file, its keys, and the settings that it comes to.

pub mod configuration;
pub mod endpoint;
pub mod import_boundary;
pub mod settings;
