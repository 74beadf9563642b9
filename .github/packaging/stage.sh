#!/usr/bin/env bash
# Makes what goes with the programs, into target/packaging: man pages, completions, licences of what is built in, and the
# bill of materials. Needs cargo-about and cargo-cyclonedx; tools.sh installs them. May be repeated.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out=target/packaging
# `--profile NAME` uses the dependencies of that build.
cargo run --quiet --locked "$@" --features packaging --example man -- "$out"
gzip --keep --force --best --no-name "$out"/man/*.1
mkdir -p "$out/man.gz" && mv "$out"/man/*.gz "$out/man.gz/"
cargo about generate --locked --fail --config .github/packaging/about.toml .github/packaging/about.hbs \
  --output-file "$out/THIRD_PARTY.html"
# One file for the whole: the graph of the package that has both programs. It is written beside the manifest.
cargo cyclonedx --manifest-path Cargo.toml --format json --spec-version 1.5 --describe crate --override-filename sbom
mv sbom.json "$out/baton.cdx.json"
find . -name sbom.json -not -path './target/*' -delete
ls "$out"
