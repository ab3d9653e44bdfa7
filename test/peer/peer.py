"""What the checks against other programs share.

The part of a check that needs a package is a test of its own (--package). It is run by the Python that ATTEND_PEER_PYTHON names, or else by
the one that runs the check, and skipped if that has no such package."""
import importlib
import os
import sys

SKIPPED = 77  # SKIP_RETURN_CODE in peer.cmake


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def use_packages(*names):
    """Continues in the Python that ATTEND_PEER_PYTHON names, and skips the check if a package is missing there."""
    python = os.environ.pop("ATTEND_PEER_PYTHON", None)
    if python:
        os.execvp(python, [python, "-B", *sys.argv])
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            skip(f"{sys.executable} has no package {name}; ATTEND_PEER_PYTHON can name a Python that has it")
