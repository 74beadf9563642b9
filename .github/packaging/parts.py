#!/usr/bin/env python3
"""The largest parts of a program, by crate: parts.py PROGRAM [COUNT]. PROGRAM must have its symbols
(CARGO_PROFILE_DIST_STRIP=none); the size of what is shipped is that of a stripped copy. Needs nm and strip."""

import collections
import os
import re
import subprocess
import sys
import tempfile

program, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20
symbols = subprocess.run(["nm", "--print-size", "--size-sort", "--demangle", program], capture_output=True, text=True, check=True)
sizes = collections.Counter()
for line in symbols.stdout.splitlines():
    _, size, kind, name = (line.split(maxsplit=3) + [""])[:4]
    if kind.lower() not in "trdv":
        continue
    # `<a::B as c::D>::e` and `a::b::<…>` belong to `a`; names without a path are C.
    crate = re.match(r"[<&*\[( ]*(?:mut |dyn |const )*([A-Za-z_][A-Za-z0-9_]*)(?:\[[0-9a-f]+\])?::", name)
    owner = crate.group(1) if crate else "C: " + re.match(r"[A-Za-z0-9]*", name.lstrip("_.")).group(0)[:8].rstrip("0123456789")
    sizes[owner] += int(size, 16)
c = [name for name in sizes if name.startswith("C: ")]
zstd = sum(sizes.pop(name) for name in c if re.match(r"C: (ZSTD|HUF|FSE|POOL|XXH|HIST|COVER|ZDICT|FASTCOV)", name))
sqlite = sum(sizes.pop(name) for name in c if name in sizes and re.match(r"C: (sqlite|yy|fts|rtree|json|btree|pager|vdbe|wal|unix|mem)", name))
rest = sum(sizes.pop(name) for name in c if name in sizes)
sizes |= {"zstd (C)": zstd, "SQLite (C)": sqlite, "other C, constants": rest}
with tempfile.NamedTemporaryFile() as stripped:
    subprocess.run(["strip", "-o", stripped.name, program], check=True)
    shipped = os.path.getsize(stripped.name)
print(f"{os.path.basename(program)}: {shipped / 1e6:.2f} MB stripped, {sum(sizes.values()) / 1e6:.2f} MB in symbols\n")
print("| part | KB |\n|---|---|")
for name, size in sizes.most_common(count):
    print(f"| {name} | {size // 1000:,} |")
