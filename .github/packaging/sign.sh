#!/usr/bin/env bash
# Signs the checksums and what `baton update` reads: sign.sh OUT. The keys are in MINISIGN_SECRET_KEY (without a password)
# and MINISIGN_PUBLIC_KEY. The key is written to memory only, and each signature is checked before this ends.
set -euo pipefail
out=${1:?the folder with SHA256SUMS}
: "${MINISIGN_SECRET_KEY:?}" "${MINISIGN_PUBLIC_KEY:?}"
held=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
trap 'rm -rf "$held"' EXIT
(umask 077 && printf '%s\n' "$MINISIGN_SECRET_KEY" > "$held/key")
for file in SHA256SUMS latest.json; do
  # What is signed says which file and which version it is, so that one cannot stand for another.
  minisign -S -s "$held/key" -m "$out/$file" -t "$file $(date -u +%Y-%m-%dT%H:%M:%SZ)" < /dev/null
  minisign -V -q -P "$MINISIGN_PUBLIC_KEY" -m "$out/$file"
done
printf 'untrusted comment: public key of Baton releases\n%s\n' "$MINISIGN_PUBLIC_KEY" > "$out/minisign.pub"
