#!/usr/bin/env python3
"""Writes a wheel of an installed package, with the standard library alone.

    python/make_wheel.py DIRECTORY OUTPUT

DIRECTORY has the package as `cmake --install --component python` puts it there, OUTPUT receives the wheel. pip builds the
same wheel from pyproject.toml, with scikit-build-core. The same files give the same bytes."""

import base64
import hashlib
import os
import re
import sys
import sysconfig
import tomllib
import zipfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as f:
        return f.read()


def metadata():
    project = tomllib.loads(read("pyproject.toml"))["project"]
    version = ".".join(re.findall(r"ATTEND_VERSION_\w+ (\d+)", read("include", "attend", "version.h"))[:3])
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {project['name']}",
        f"Version: {version}",
        f"Summary: {project['description']}",
        f"License: {project['license']['text']}",
        f"Requires-Python: {project['requires-python']}",
        "Description-Content-Type: text/markdown",
        "",
        read(project["readme"]),
    ]
    return project["name"], version, "\n".join(lines)


def files_of(directory):
    for folder, folders, names in os.walk(directory):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            with open(path, "rb") as f:
                yield os.path.relpath(path, directory), f.read()


def main(directory, output):
    name, version, text = metadata()
    tag = "cp311-abi3-" + re.sub("[-.]", "_", sysconfig.get_platform())
    info = f"{name}-{version}.dist-info"
    wheel = f"Wheel-Version: 1.0\nGenerator: make_wheel.py\nRoot-Is-Purelib: false\nTag: {tag}\n"
    files = list(files_of(directory))
    files += [(f"{info}/METADATA", text.encode()), (f"{info}/WHEEL", wheel.encode())]
    files += [(f"{info}/LICENSE", read("LICENSE").encode())]
    record = ""
    for path, content in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(content)}\n"
    files.append((f"{info}/RECORD", (record + f"{info}/RECORD,,\n").encode()))
    os.makedirs(output, exist_ok=True)
    path = os.path.join(output, f"{name}-{version}-{tag}.whl")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
        for file, content in files:
            entry = zipfile.ZipInfo(file, (2020, 1, 1, 0, 0, 0))
            entry.external_attr = (0o755 if file.endswith(".so") else 0o644) << 16
            z.writestr(entry, content, zipfile.ZIP_DEFLATED)
    print(f"{path}: {os.path.getsize(path) / 1e6:.2f} MB")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
