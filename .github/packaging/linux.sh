#!/usr/bin/env bash
# Packages built programs as .deb and .rpm: linux.sh TARGET OUT. Needs cargo-deb, cargo-generate-rpm (tools.sh) and what
# stage.sh makes. May be repeated.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
target=${1:?the target, such as x86_64-unknown-linux-musl} out=${2:?the folder to write to}
profile=${PROFILE:-dist}
mkdir -p "$out"
# The target of this machine may have been built without naming it.
into="${CARGO_TARGET_DIR:-target}"
named=(--target "$target")
if [ ! -e "$into/$target/$profile/baton" ] && [ -e "$into/$profile/baton" ]; then named=(); fi
cargo deb --locked --no-build --no-strip --profile "$profile" "${named[@]}" --output "$out/"
cargo generate-rpm --profile "$profile" "${named[@]}" --target-dir "$into" --output "$out/"
