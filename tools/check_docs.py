#!/usr/bin/env python3
"""Checks that what the documents name exists: links, files, identifiers and, given the command, options.

    tools/check_docs.py [ATTEND]        in the root of the repository; ATTEND: build/attend

Reports file, line and name of everything that does not exist, and exits with 1. CHANGELOG.md is not checked: it names what is gone.
"""

import fnmatch
import os
import re
import subprocess
import sys

FILE = re.compile(r"[\w./*<>-]*[\w*>]\.(?:c|h|py|sh|cmake|awk|md|txt|html|css|js|golden)\b")
IDENTIFIER = re.compile(r"\b(?:attend_[a-z0-9_]+|ATTEND_[A-Z0-9_]+)\b")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
# Files of the reader and of examples, tensor names, options of other programs, made-up identifiers.
OTHER_FILES = re.compile(r"(.*/)?(page|attention|comparison)\.html|(sentences|train|valid|test|a|comparison|lengths)\.txt|start\.L\.[hc]|(build/|\*).*|.*(cmd_VERB|score_cosine)\.c")
OTHER_OPTIONS = {"--cflags", "--libs", "--test-dir", "--output-on-failure", "--check", "--only", "--brief", "--smoke",
                 "--host", "--map-by", "--bind-to", "--mpi", "--ntasks-per-node", "--kill-on-bad-exit", "--cpus-per-task", "--signal",
                 "--now", "--rm", "--read-only", "--cap-drop"}
OTHER_IDENTIFIERS = {"attend_double", "attend_command", "attend_thing"}


def git(*arguments):
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout.split("\n")


def known_options(attend):
    """Every option that the help of a verb lists."""
    options = set()
    main = subprocess.run([attend, "--help"], capture_output=True, text=True).stdout
    options |= set(OPTION.findall(main))
    for verb in re.findall(r"(?m)^  (\w+) {2,}\S", main):
        options |= set(OPTION.findall(subprocess.run([attend, verb, "--help-all"], capture_output=True, text=True).stdout))
    return options


def main(arguments):
    files = [name for name in git("ls-files", "--cached", "--others", "--exclude-standard") if name]
    source = "\n".join(
        open(name, encoding="utf-8", errors="replace").read()
        for name in files
        if re.match(r"(include|src|cli|examples|test|bench|recipes)/.*\.(c|h|cmake|txt|py)$", name)
    )
    identifiers = set(IDENTIFIER.findall(source))
    options = known_options(arguments[0]) if arguments else None
    documents = [name for name in files if name.endswith(".md") and name != "CHANGELOG.md"]
    problems = []

    def exists(name, directory):
        name = re.sub(r"<\w+>", "*", name.rstrip("."))
        candidates = {name, "*/" + name.lstrip("./"), directory + name}
        return any(fnmatch.fnmatch(file, pattern) for file in files for pattern in candidates)

    for document in documents:
        directory = document.rpartition("/")[0]
        directory = directory + "/" if directory else ""
        fenced = False
        for number, line in enumerate(open(document, encoding="utf-8"), 1):
            where = f"{document}:{number}"
            if line.startswith("```"):
                fenced = not fenced
            for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", line):
                path = os.path.normpath(directory + target)
                if not re.match(r"\w+:", target) and not (path in files or any(f.startswith(path + "/") for f in files)):
                    problems.append(f"{where}: link to {target}")
            code = " ".join(re.findall(r"`([^`]+)`", line)) if not (line.startswith("    ") or fenced) else line
            for name in re.findall(IDENTIFIER, code):
                if name not in identifiers and name not in OTHER_IDENTIFIERS and not name.endswith("_"):
                    problems.append(f"{where}: identifier {name}")
            if not (line.startswith("    ") or fenced):
                for name in FILE.findall(code):
                    if not OTHER_FILES.fullmatch(name.removeprefix("OUT/")) and not exists(name, directory):
                        problems.append(f"{where}: file {name}")
            if options is not None:
                for name in OPTION.findall(code):
                    if name not in options and name not in OTHER_OPTIONS:
                        problems.append(f"{where}: option {name}")
    print("\n".join(problems) if problems else f"{len(documents)} documents: every link, file, identifier and option exists")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
