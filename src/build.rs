//! Links the programs of a debug build on Linux at a fixed address.
//!
//! A position-independent program writes 300,000 addresses before its first line: most of the processor time of a short
//! command, and the tests start thousands. Optimised programs stay position-independent.

fn main() {
    println!("cargo::rerun-if-changed=src/build.rs");
    let target =
        ["CARGO_CFG_TARGET_OS", "CARGO_CFG_TARGET_ENV", "PROFILE"].map(|it| std::env::var(it).unwrap_or_default());
    if target == ["linux", "gnu", "debug"] {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
