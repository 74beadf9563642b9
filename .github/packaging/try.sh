#!/usr/bin/env bash
# Tries the packages of this machine's target: try.sh OUT [clean]. Each is installed, run and removed again; what is left
# must be nothing but the home. Without `clean` archive, wheel and npm package go into folders of their own; with `clean`
# the .deb goes into a fresh Debian (needs root, debootstrap and a network). May be repeated.
set -euo pipefail
out=$(cd "${1:?the folder with packages}" && pwd) what=${2:-here}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
say() { printf '%-9s %s\n' "$1" "$2"; }
fail() { echo "try.sh: $*" >&2; exit 1; }
# One file, or nothing.
one() { find "$out" -maxdepth 1 -name "$1" | sort | tail -1; }
case "$(uname -s)-$(uname -m)" in
  Linux-x86_64) like=x86_64 os=linux cpu=x64 wheel="manylinux*x86_64" ;;
  Linux-aarch64) like=aarch64 os=linux cpu=arm64 wheel="manylinux*aarch64" ;;
  Darwin-arm64) like=aarch64 os=darwin cpu=arm64 wheel="macosx*arm64" ;;
  Darwin-x86_64) like=x86_64 os=darwin cpu=x64 wheel="macosx*x86_64" ;;
  MINGW*|MSYS*) like=x86_64 os=win32 cpu=x64 wheel=win_amd64 ;;
  *) fail "no package is for $(uname -s) on $(uname -m)" ;;
esac
# An answer from example transcripts: the daemon starts, reads, answers and ends.
answers() {
  local program=$1 home="$work/home.$RANDOM"
  mkdir -p "$home/claude/projects/-srv-demo"
  printf '%s\n' \
    '{"type":"user","uuid":"1","sessionId":"5b0c0000-0000-4000-8000-000000000001","timestamp":"2026-03-14T09:26:53.589Z","cwd":"/srv/demo","message":{"role":"user","content":"why does the heron leave the pond"}}' \
    '{"type":"assistant","uuid":"2","sessionId":"5b0c0000-0000-4000-8000-000000000001","timestamp":"2026-03-14T09:26:59.589Z","cwd":"/srv/demo","message":{"role":"assistant","id":"m1","content":[{"type":"text","text":"Because the pond froze over."}]}}' \
    > "$home/claude/projects/-srv-demo/5b0c0000-0000-4000-8000-000000000001.jsonl"
  local run=(env HOME="$home" BATON_HOME="$home/bh" CLAUDE_CONFIG_DIR="$home/claude" "$program")
  "${run[@]}" --version
  "${run[@]}" search heron --json > "$home/found" || fail "$program does not answer"
  grep -q 5b0c0000 "$home/found" || fail "$program did not find the session: $(cat "$home/found")"
  "${run[@]}" stop > /dev/null
  [ -z "$(find "$home" -mindepth 1 -maxdepth 1 -not -name bh -not -name claude -not -name found)" ] || fail "$program left something beside its home"
}
if [ "$what" = clean ]; then
  deb=$(one "baton_*.deb")
  [ -n "$deb" ] || fail "there is no .deb in $out"
  root="$work/root"
  trap 'umount "$root/proc" 2>/dev/null || true; rm -rf "$work"' EXIT
  debootstrap --variant=minbase bookworm "$root" > "$work/log" 2>&1 || { tail -5 "$work/log" >&2; fail "debootstrap failed"; }
  mount -t proc proc "$root/proc"
  inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "$@"; }
  (cd "$root" && find . -xdev -not -path './proc/*' | sort) > "$work/before"
  cp "$deb" "$root/baton.deb"
  begun=$(date +%s)
  inside dpkg -i /baton.deb > /dev/null
  mkdir -p "$root/root/.claude/projects/-srv-demo"
  printf '%s\n' '{"type":"user","uuid":"1","sessionId":"5b0c0000-0000-4000-8000-000000000001","timestamp":"2026-03-14T09:26:53.589Z","cwd":"/srv/demo","message":{"role":"user","content":"why does the heron leave the pond"}}' \
    > "$root/root/.claude/projects/-srv-demo/5b0c0000-0000-4000-8000-000000000001.jsonl"
  inside baton search heron | grep -q 5b0c0000 || fail "the installed program does not find the session"
  say deb "installed and answered in $(($(date +%s) - begun)) s"
  inside baton help security > /dev/null
  inside test -s /usr/share/man/man1/baton.1.gz
  inside baton stop > /dev/null
  inside dpkg --purge baton > /dev/null
  rm "$root/baton.deb"
  (cd "$root" && find . -xdev -not -path './proc/*' -not -path './var/lib/dpkg/*' -not -path './var/log/*' -not -path './root/.claude*' | sort) > "$work/after"
  left=$(comm -13 "$work/before" "$work/after" | grep -v '^./root/\.baton' || true)
  [ -z "$left" ] || fail "removing the .deb leaves: $left"
  say deb "removed; left is only ~/.baton"
  exit 0
fi
archive=$(one "baton-*-$like-*.tar.gz")
if [ -n "$archive" ]; then
  mkdir "$work/archive" && tar -xzf "$archive" -C "$work/archive" --strip-components=1
  answers "$work/archive/baton"
  (cd "$work/archive" && test -x baton-hook && test -s LICENSE && test -s man/baton.1 && test -s completions/baton.bash)
  say archive "${archive##*/}"
fi
whl=$(one "*$wheel*.whl")
if [ -n "$whl" ] && command -v python3 > /dev/null; then
  python3 -m venv "$work/venv"
  pip=("$work"/venv/*/pip "$work"/venv/*/pip.exe)
  if [ ! -e "${pip[0]}" ]; then pip=("${pip[1]}"); fi
  "${pip[0]}" install --quiet --disable-pip-version-check --no-index "$whl"
  answers "$(dirname "${pip[0]}")/baton"
  "${pip[0]}" uninstall --quiet --yes baton-memory
  [ ! -e "$(dirname "${pip[0]}")/baton" ] || fail "the wheel leaves a program"
  say wheel "${whl##*/}"
fi
main=$(one "baton-memory-[0-9]*.tgz") own=$(one "baton-memory-$os-$cpu-*.tgz")
if [ -n "$main" ] && [ -n "$own" ] && command -v npm > /dev/null; then
  mkdir "$work/npm" && (cd "$work/npm" && npm init --yes > /dev/null && npm install --silent --offline --no-audit --no-fund --ignore-scripts "$own" "$main")
  answers "$work/npm/node_modules/.bin/baton"
  (cd "$work/npm" && npm uninstall --silent baton-memory "baton-memory-$os-$cpu")
  [ -z "$(ls "$work/npm/node_modules" 2>/dev/null)" ] || fail "the npm package leaves $(ls "$work/npm/node_modules")"
  say npm "${main##*/}"
fi
