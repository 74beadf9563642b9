#!/usr/bin/env bash
# Installs the tools that the scripts in this folder need, at the versions with which they were tried. May be repeated.
set -euo pipefail
install() { cargo install --locked --quiet "$1" --version "$2"; }
for tool in "${@:-cargo-about cargo-cyclonedx cargo-deb cargo-generate-rpm cargo-deny}"; do
  for name in $tool; do
    case $name in
      cargo-about) install cargo-about 0.9.3 ;;
      cargo-cyclonedx) install cargo-cyclonedx 0.5.9 ;;
      cargo-deb) install cargo-deb 3.8.0 ;;
      cargo-generate-rpm) install cargo-generate-rpm 0.21.1 ;;
      cargo-deny) install cargo-deny 0.20.2 ;;
      *) echo "tools.sh: unknown tool $name" >&2; exit 2 ;;
    esac
  done
done
