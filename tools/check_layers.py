#!/usr/bin/env python3
"""Checks the #include lines of the sources against the list of layers in docs/design.md.

Usage: tools/check_layers.py [ROOT]

The list is the block of docs/design.md that begins with ```layers: one line per layer, in order, "src/DIRECTORY/  description". A
file of a layer may include headers of its own layer and of those before it. The layer of a public header (include/attend/X.h) is in
tools/public_headers.txt: "include/attend/X.h: DIRECTORY". The command (cli/) may include only public headers and its own. Only files
in test/ may include headers of the tests. Only src/model/architecture.c and src/model/config.c may name an architecture
(ATTEND_ARCHITECTURE_...), so that a new one touches its own files and the lists. Prints every violation with file and line, and then
exits with 1."""
import os
import re
import sys

NAME_ARCHITECTURES = ("src/model/architecture.c", "src/model/config.c")
INCLUDE = re.compile(r'\s*#\s*include\s*(["<])([^">]+)[">]')


def read_layers(root):
    text = open(os.path.join(root, "docs/design.md"), encoding="utf-8").read()
    block = re.search(r"^```layers\n(.*?)^```", text, re.S | re.M)
    if not block:
        sys.exit("check_layers: docs/design.md has no ```layers block")
    layers = re.findall(r"^src/([a-z_]+)/", block.group(1), re.M)
    folders = sorted(d for d in os.listdir(os.path.join(root, "src")) if os.path.isdir(os.path.join(root, "src", d)))
    if sorted(layers) != folders:
        sys.exit("check_layers: docs/design.md lists %s, and src/ has %s" % (sorted(layers), folders))
    return layers


def read_public(root, layers):
    """The layer of each public header."""
    owner = {}
    for number, line in enumerate(open(os.path.join(root, "tools/public_headers.txt"), encoding="utf-8"), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        folder, *headers = line.split()
        folder = folder.rstrip(":")
        if folder != "all" and folder not in layers:
            sys.exit("check_layers: tools/public_headers.txt:%d: there is no layer '%s'" % (number, folder))
        for header in headers:
            owner["attend/" + header] = folder
    there = {"attend/" + h for h in os.listdir(os.path.join(root, "include/attend")) if h.endswith(".h")}
    for header in sorted(there - set(owner)):
        sys.exit("check_layers: tools/public_headers.txt does not name the layer of include/%s" % header)
    for header in sorted(set(owner) - there):
        sys.exit("check_layers: tools/public_headers.txt names include/%s, which does not exist" % header)
    return owner


def sources(root, folder):
    for path, _, names in sorted(os.walk(os.path.join(root, folder))):
        for name in sorted(names):
            if name.endswith((".c", ".h")):
                yield os.path.join(path, name)


def includes(path):
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        found = INCLUDE.match(line)
        if found:
            yield number, found.group(1) == '"', found.group(2)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    layers = read_layers(root)
    public = read_public(root, layers)
    rank = {layer: i for i, layer in enumerate(layers)}
    rank["all"] = len(layers)
    breaches, files = [], 0

    def check(path, layer):
        """A file of a layer, or of the command (layer None)."""
        nonlocal files
        files += 1
        shown = os.path.relpath(path, root)
        for number, quoted, header in includes(path):
            breach = None
            top = header.split("/")[0]
            if header in public:
                if layer is not None and rank[public[header]] > rank[layer]:
                    breach = "belongs to %s, a layer above %s" % (public[header], layer)
            elif quoted and (top in ("unit", "support", "gradient", "golden", "test") or header.startswith("../")):
                breach = "is a header of the tests, or lies outside the sources"
            elif quoted and top in rank and "/" in header:
                if layer is None:
                    breach = "is internal; the command uses public headers alone"
                elif rank[top] > rank[layer]:
                    breach = "belongs to %s, a layer above %s" % (top, layer)
            if breach:
                breaches.append("%s:%d: %s %s" % (shown, number, header, breach))
        if not shown.startswith("include") and shown not in NAME_ARCHITECTURES:
            for number, line in enumerate(open(path, encoding="utf-8"), 1):
                if "ATTEND_ARCHITECTURE_" in line:
                    breaches.append("%s:%d: names an architecture; ask for a property of the configuration" % (shown, number))

    for layer in layers:
        for path in sources(root, os.path.join("src", layer)):
            check(path, layer)
    for path in sources(root, "include/attend"):
        check(path, public["attend/" + os.path.basename(path)])
    for path in sources(root, "cli"):
        check(path, None)
    if breaches:
        print("\n".join(breaches))
        sys.exit("check_layers: %d breaches in %d files" % (len(breaches), files))
    print("layers: %d files, no breach" % files)


main()
