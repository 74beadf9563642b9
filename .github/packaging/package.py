#!/usr/bin/env python3
"""Makes the packages of a release from built programs. Standard library only; every command may be repeated.

  package.py archive TARGET BIN OUT     archive, npm package and wheel of one target, from the programs in BIN
  package.py manifests OUT              checksums and manifests for all archives in OUT
  package.py version                    name and version, as the manifests have them

TARGET is a triple of `names.json`; one of this machine that is not there (…-linux-gnu) is packaged for trying out.
REPOSITORY (`owner/name`) names where releases are downloaded from. SOURCE_DATE_EPOCH dates the files in archives, so
that the same programs come to the same bytes.
"""

import base64
import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import sys
import tarfile
import tomllib
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
STAGED = ROOT / "target/packaging"
NAMES = json.loads((HERE / "names.json").read_text())
CARGO = tomllib.loads((ROOT / "Cargo.toml").read_text())
NAME = CARGO["package"]["name"]
VERSION = CARGO["workspace"]["package"]["version"]
LICENSE = CARGO["workspace"]["package"]["license"]
DESCRIPTION = CARGO["package"]["description"]
PROGRAMS = [NAME, "baton-hook"]
EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "1767225600"))


def fail(why):
    sys.exit(f"package.py: {why}")


def repository():
    named = os.environ.get("REPOSITORY", "")
    if not re.fullmatch(r"[A-Za-z0-9._-]+/[A-Za-z0-9._-]+", named):
        fail("set REPOSITORY to owner/name, where releases are downloaded from")
    return f"https://github.com/{named}"


def facts_of(target):
    """What `names.json` says of a target. One with glibc runs where its glibc is, so it is only for trying out."""
    if target in NAMES["targets"]:
        return NAMES["targets"][target]
    like = NAMES["targets"].get(target.replace("-gnu", "-musl"))
    if like is None or not target.endswith("-linux-gnu"):
        fail(f"{target} is no target of names.json: {', '.join(NAMES['targets'])}")
    libc = os.confstr("CS_GNU_LIBC_VERSION").split()[1].replace(".", "_")
    return {**like, "wheel": f"manylinux_{libc}_{target.split('-')[0]}"}


def programs(target, folder):
    ending = ".exe" if "windows" in target else ""
    found = [pathlib.Path(folder) / (name + ending) for name in PROGRAMS]
    missing = [str(path) for path in found if not path.is_file()]
    if missing:
        fail(f"{', '.join(missing)} is missing: cargo build --profile dist --target {target}")
    return found


def staged():
    """What goes with the programs: completions, man pages, licences. `stage.sh` makes them."""
    files = {f"{part.parent.name}/{part.name}": part for kind in ("completions", "man") for part in sorted((STAGED / kind).glob("*"))}
    if not files:
        fail(f"{STAGED} has no completions: run stage.sh first")
    files |= {"README.md": ROOT / "README.md", "LICENSE": ROOT / "LICENSE", "THIRD_PARTY.html": STAGED / "THIRD_PARTY.html"}
    missing = [str(path) for path in files.values() if not path.is_file()]
    if missing:
        fail(f"{', '.join(missing)} is missing: run stage.sh first")
    return files


def tarball(path, files):
    """A .tar.gz of {name: (bytes, mode)}, the same bytes for the same files."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, (data, mode) in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = len(data), mode, EPOCH
            archive.addfile(entry, io.BytesIO(data))
    write(path, gzip.compress(plain.getvalue(), 9, mtime=EPOCH))


def zipped(path, files):
    """A .zip of {name: (bytes, mode)}, the same bytes for the same files."""
    import time

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, (data, mode) in files.items():
            entry = zipfile.ZipInfo(name, time.gmtime(EPOCH)[:6])
            entry.external_attr, entry.compress_type = (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    write(path, out.getvalue())


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    data = data.encode() if isinstance(data, str) else data
    unfinished = path.with_name(path.name + ".new")
    unfinished.write_bytes(data)
    unfinished.replace(path)
    print(f"{path}  {len(data):,} bytes")


def archive(target, folder, out):
    found, top = programs(target, folder), f"{NAME}-{VERSION}-{target}"
    files = {f"{top}/{path.name}": (path.read_bytes(), 0o755) for path in found}
    files |= {f"{top}/{name}": (path.read_bytes(), 0o644) for name, path in staged().items()}
    make, ending = (zipped, "zip") if "windows" in target else (tarball, "tar.gz")
    make(out / f"{top}.{ending}", files)
    npm(target, found, out)
    wheel(target, found, out)
    bundle(target, found, out)


def bundle(target, found, out):
    """An MCP bundle (.mcpb): the server with its manifest, which desktop programs install by a click."""
    server = f"server/{found[0].name}"
    manifest = {
        "manifest_version": "0.4",
        "name": NAME,
        "display_name": "Baton",
        "version": VERSION,
        "description": DESCRIPTION,
        "author": {"name": "Baton"},
        "license": LICENSE,
        "server": {
            "type": "binary",
            "entry_point": server,
            "mcp_config": {"command": "${__dirname}/" + server, "args": ["mcp"]},
        },
        "tools_generated": True,
        "compatibility": {"platforms": [facts_of(target)["os"]]},
    }
    files = {"manifest.json": (json.dumps(manifest, indent=2).encode(), 0o644), server: (found[0].read_bytes(), 0o755)}
    files["LICENSE"] = ((ROOT / "LICENSE").read_bytes(), 0o644)
    zipped(out / f"{NAME}-{VERSION}-{target}.mcpb", files)


def npm(target, found, out):
    """One package for each target with the programs, and one that depends on them all: npm installs the fitting one."""
    facts, name = facts_of(target), NAMES["npm"]
    shared = {"version": VERSION, "description": DESCRIPTION, "license": LICENSE}
    if os.environ.get("REPOSITORY"):
        shared["repository"] = {"type": "git", "url": f"git+{repository()}.git"}
        # By this the MCP registry knows that both are of one owner.
        shared["mcpName"] = f"io.github.{os.environ['REPOSITORY'].split('/')[0]}/{NAME}"
    own = {"name": f"{name}-{facts['os']}-{facts['cpu']}", **shared, "os": [facts["os"]], "cpu": [facts["cpu"]], "files": ["bin"]}
    packed = {"package/package.json": (json.dumps(own, indent=2).encode(), 0o644)}
    packed |= {f"package/bin/{path.name}": (path.read_bytes(), 0o755) for path in found}
    packed["package/LICENSE"] = ((ROOT / "LICENSE").read_bytes(), 0o644)
    tarball(out / f"{own['name']}-{VERSION}.tgz", packed)
    fitting = {f"{name}-{each['os']}-{each['cpu']}": VERSION for each in NAMES["targets"].values()}
    main = {
        "name": name,
        **shared,
        "bin": {program: f"bin/{program}.js" for program in PROGRAMS},
        "files": ["bin"],
        "engines": {"node": ">=18"},
        "optionalDependencies": fitting,
    }
    shim = (HERE / "templates/shim.js").read_text()
    packed = {"package/package.json": (json.dumps(main, indent=2).encode(), 0o644)}
    packed |= {f"package/bin/{program}.js": (shim.replace("@PROGRAM@", program).encode(), 0o755) for program in PROGRAMS}
    packed["package/README.md"] = ((ROOT / "README.md").read_bytes(), 0o644)
    packed["package/LICENSE"] = ((ROOT / "LICENSE").read_bytes(), 0o644)
    tarball(out / f"{name}-{VERSION}.tgz", packed)


def wheel(target, found, out):
    """A wheel whose scripts are the programs themselves."""
    tag, name = facts_of(target)["wheel"], NAMES["pypi"].replace("-", "_")
    info = f"{name}-{VERSION}.dist-info"
    metadata = [
        "Metadata-Version: 2.4",
        f"Name: {NAMES['pypi']}",
        f"Version: {VERSION}",
        f"Summary: {DESCRIPTION}",
        f"License-Expression: {LICENSE}",
        "License-File: LICENSE",
        "Description-Content-Type: text/markdown",
        *([f"Project-URL: Source, {repository()}"] if os.environ.get("REPOSITORY") else []),
        "",
        (ROOT / "README.md").read_text(),
    ]
    tags = "".join(f"Tag: py3-none-{each}\n" for each in tag.split("."))
    files = {f"{name}-{VERSION}.data/scripts/{path.name}": (path.read_bytes(), 0o755) for path in found}
    files[f"{info}/METADATA"] = ("\n".join(metadata).encode(), 0o644)
    files[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: package.py\nRoot-Is-Purelib: false\n{tags}".encode(), 0o644)
    files[f"{info}/licenses/LICENSE"] = ((ROOT / "LICENSE").read_bytes(), 0o644)
    digest = lambda data: base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    record = [f"{path},sha256={digest(data)},{len(data)}" for path, (data, _) in files.items()] + [f"{info}/RECORD,,"]
    files[f"{info}/RECORD"] = ("\n".join(record) + "\n").encode(), 0o644
    zipped(out / f"{name}-{VERSION}-py3-none-{tag}.whl", files)


def manifests(out):
    """SHA256SUMS of everything in the folder, and what package managers and `baton update` read."""
    known = {"SHA256SUMS", "latest.json"}
    files = sorted(path for path in out.iterdir() if path.is_file() and path.name not in known and path.suffix not in (".minisig", ".new"))
    sums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    if not sums:
        fail(f"{out} is empty")
    write(out / "SHA256SUMS", "".join(f"{digest}  {name}\n" for name, digest in sums.items()))
    values = {"NAME": NAME, "VERSION": VERSION, "LICENSE": LICENSE, "DESCRIPTION": DESCRIPTION, "SHORT": DESCRIPTION.split(":")[0], "REPOSITORY": repository(), "WINGET": NAMES["winget"], "NPM": NAMES["npm"]}
    values["OWNER"] = os.environ["REPOSITORY"].split("/")[0]
    for target in NAMES["targets"]:
        top = f"{NAME}-{VERSION}-{target}"
        values[f"SHA256:{target}"] = sums.get(f"{top}.zip" if "windows" in target else f"{top}.tar.gz")
        values[f"MCPB:{target}"] = sums.get(f"{top}.mcpb")
    write(out / "latest.json", json.dumps({"version": VERSION, "notes": f"{repository()}/releases/tag/v{VERSION}"}) + "\n")
    for template in sorted((HERE / "templates").rglob("*.in")):
        text, missing = template.read_text(), []
        for key in set(re.findall(r"@([A-Z0-9]+(?::[a-z0-9_-]+)?)@", text)):
            if values.get(key) is None:
                missing.append(key)
            else:
                text = text.replace(f"@{key}@", values[key])
        if missing:
            # A partial release has no manifest that names what it lacks.
            print(f"{template.name}: not made, {', '.join(sorted(missing))} is not in {out}", file=sys.stderr)
            continue
        write(out / "manifests" / template.relative_to(HERE / "templates").with_suffix(""), text)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["archive", target, folder, out]:
            archive(target, folder, pathlib.Path(out))
        case ["manifests", out]:
            manifests(pathlib.Path(out))
        case ["version"]:
            print(NAME, VERSION)
        case _:
            fail(__doc__)
