#!/usr/bin/env python3
"""Checks the #include lines of the sources against the list of layers in docs/design.md.

Usage: tools/check_layers.py [ROOT]

The list is the block of docs/design.md that begins with ```layers: one line for each layer, in order, "src/DIRECTORY/  description". A file of a
layer may include headers of its own layer and of those before it. The layer of a public header (include/attend/X.h) is in
tools/public_headers.txt, "DIRECTORY: X.h ...". The command (cli/) may include public headers and its own only. No source includes a header of the
tests. #include "X" and #include <X> are treated alike. Only src/kernel/ and src/device/ include headers of kernels; the layers above see the table of
device functions and the types of its arguments (SEAM) and name no device (attend_device_cpu, attend_cpu_..., attend_guard_...). Only src/model/architecture.c and src/model/config.c may name an architecture
(ATTEND_ARCHITECTURE_...), so that a new one touches its own files and the lists. Prints every breach with its file and line; exit status 1 if there
is one. test/tools/test_check_layers.py tests this script."""
import os
import re
import sys

NAME_ARCHITECTURES = ("src/model/architecture.c", "src/model/config.c")
# What the layers above src/device/ may include of it, and what these headers may include of src/kernel/: types, which call nothing.
SEAM = ("device/device.h", "device/arguments.h", "device/attention.h", "device/ragged.h", "device/scores.h")
KERNEL_TYPES = "kernel/arguments.h"
DEVICE_NAME = re.compile(r"\battend_(device_(cpu|guard|cuda)|cpu_|guard_)")
INCLUDE = re.compile(r'\s*#\s*include\s*["<]([^">]+)[">]')


def read_layers(root):
    with open(os.path.join(root, "docs/design.md"), encoding="utf-8") as f:
        block = re.search(r"^```layers\n(.*?)^```", f.read(), re.S | re.M)
    if not block:
        sys.exit("check_layers: docs/design.md has no ```layers block")
    layers = re.findall(r"^src/([a-z_]+)/", block.group(1), re.M)
    directories = sorted(d for d in os.listdir(os.path.join(root, "src")) if os.path.isdir(os.path.join(root, "src", d)))
    if sorted(layers) != directories:
        sys.exit("check_layers: docs/design.md lists %s, and src/ has %s" % (sorted(layers), directories))
    return layers


def read_public(root, layers):
    """The layer of each public header."""
    owner = {}
    with open(os.path.join(root, "tools/public_headers.txt"), encoding="utf-8") as f:
        lines = f.readlines()
    for number, line in enumerate(lines, 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        layer, *headers = line.split()
        layer = layer.rstrip(":")
        if layer != "all" and layer not in layers:
            sys.exit("check_layers: tools/public_headers.txt:%d: there is no layer '%s'" % (number, layer))
        for header in headers:
            owner["attend/" + header] = layer
    present = {"attend/" + h for h in os.listdir(os.path.join(root, "include/attend")) if h.endswith(".h")}
    for header in sorted(present - set(owner)):
        sys.exit("check_layers: tools/public_headers.txt does not name the layer of include/%s" % header)
    for header in sorted(set(owner) - present):
        sys.exit("check_layers: tools/public_headers.txt names include/%s, which does not exist" % header)
    return owner


def sources(root, directory):
    for path, _, names in sorted(os.walk(os.path.join(root, directory))):
        for name in sorted(names):
            if name.endswith((".c", ".h", ".cpp", ".cu")):
                yield os.path.join(path, name)


def includes(path):
    """The number of the line and the header of every #include."""
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            found = INCLUDE.match(line)
            if found:
                yield number, found.group(1)


def test_directories(root):
    """The directories of test/ that have headers, which tests include as "support/X.h"."""
    return {os.path.relpath(os.path.dirname(path), os.path.join(root, "test")).split(os.sep)[0] for path in sources(root, "test")} | {"test"}


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    layers = read_layers(root)
    public = read_public(root, layers)
    tests = test_directories(root)
    rank = {layer: i for i, layer in enumerate(layers)}
    rank["all"] = len(layers)
    breaches, files = [], 0

    def crosses_seam(header, shown, layer):
        """Why a file may not include a header of a kernel or a device. None if it may."""
        if layer == "kernel" or not header.startswith(("kernel/", "device/")):
            return None
        if layer == "device":
            is_seam = os.path.relpath(shown, "src") in SEAM
            return "is no type of an argument (%s)" % KERNEL_TYPES if is_seam and header.startswith("kernel/") and header != KERNEL_TYPES else None
        return None if header in SEAM else "is beneath the device functions of device/device.h"

    def breach_of(header, layer):
        """Why a file of a layer, or of the command (layer None), may not include a header. None if it may."""
        directory = header.split("/")[0] if "/" in header else None
        if header in public:
            if layer is not None and rank[public[header]] > rank[layer]:
                return "belongs to %s, a layer above %s" % (public[header], layer)
        elif header.startswith("../"):
            return "is outside the directory of the sources"
        elif directory in rank:
            if layer is None:
                return "is internal; the command uses public headers only"
            if rank[directory] > rank[layer]:
                return "belongs to %s, a layer above %s" % (directory, layer)
        elif directory in tests:
            return "is a header of the tests"
        return None

    def check(directory, layer_of):
        nonlocal files
        for path in sources(root, directory):
            files += 1
            shown = os.path.relpath(path, root)
            for number, header in includes(path):
                layer = layer_of(path)
                breach = breach_of(header, layer) or (crosses_seam(header, shown, layer) if layer else None)
                if breach:
                    breaches.append("%s:%d: %s %s" % (shown, number, header, breach))
            if shown.startswith("include"):
                continue
            for number, line in enumerate(open(path, encoding="utf-8"), 1):
                if DEVICE_NAME.search(line) and layer_of(path) not in ("kernel", "device"):
                    breaches.append("%s:%d: names a device; use that of the context or the parameter" % (shown, number))
                if "ATTEND_ARCHITECTURE_" in line and shown not in NAME_ARCHITECTURES:
                    breaches.append("%s:%d: names an architecture; ask for a property of the configuration" % (shown, number))

    for layer in layers:
        check(os.path.join("src", layer), lambda path, layer=layer: layer)
    check("include/attend", lambda path: public["attend/" + os.path.basename(path)])
    check("cli", lambda path: None)
    if breaches:
        print("\n".join(breaches))
        sys.exit("check_layers: %d breaches in %d files" % (len(breaches), files))
    print("layers: %d files, no breach" % files)


main()
