//! Names the program under test as cargo does for tests of its own package: `baton` beside what is built here. `cargo test`
//! builds it; after a change of the program, `cargo test -p baton-browser` alone does not build it again.

use std::path::Path;

fn main() {
    let out = std::env::var("OUT_DIR").unwrap_or_default();
    // <target>/<profile>/build/<package>/out
    let profile = Path::new(&out).ancestors().nth(3).unwrap_or(Path::new(""));
    let program = profile.join(format!("baton{}", std::env::consts::EXE_SUFFIX));
    println!("cargo::rustc-env=CARGO_BIN_EXE_baton={}", program.display());
    println!("cargo::rerun-if-changed=build.rs");
}
