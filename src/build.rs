//! Links the programs of a debug build on Linux at a fixed address.
//!
//! A position-independent program writes 300,000 addresses before its first line: most of the processor time of a short
//! command, and the tests start thousands. Optimised programs stay position-independent.

fn main() {
    println!("cargo::rerun-if-changed=src/build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|it| it == value);
    let is_linux = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    if is("PROFILE", "debug") && is_linux {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
