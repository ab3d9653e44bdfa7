"""Allocations of attend convert --shortlist, one after another, are refused: an error that names memory and no output, or the same model.

shortlist_memory.py ATTEND LIBRARY: of refuse_memory.c.
"""

import mmap
import os
import random
import struct
import subprocess
import sys
import tempfile

ATTEND, LIBRARY = (os.path.abspath(path) for path in sys.argv[1:3])
MANY = 1 << 40


def main():
    r = random.Random(1)
    with open("pairs.tsv", "w", encoding="utf-8") as f:
        for _ in range(40):
            words = [r.choice("abcde") for _ in range(r.randint(1, 4))]
            f.write(" ".join(words) + "\t" + " ".join(reversed(words)) + "\n")
    subprocess.run([ATTEND, "train", "--train", "pairs.tsv", "--valid", "none", "--model", "m", "--tokens", "word", "--hidden", "8", "--embedding", "8",
                    "--updates", "2", "--quiet"], check=True)
    with open("left", "wb") as f:
        f.write(bytes(8))
    with open("left", "r+b") as f:
        left = mmap.mmap(f.fileno(), 8)
    environment = {**os.environ, "LD_PRELOAD": LIBRARY, "ATTEND_TEST_REFUSE": os.path.abspath("left")}

    def convert(granted):
        """The status, the message, the output (None: there is none) and how many allocations were left."""
        if os.path.exists("short"):
            os.remove("short")
        left[:] = struct.pack("q", granted)
        done = subprocess.run([ATTEND, "convert", "--model", "m", "--output", "short", "--shortlist", "pairs.tsv", "--quiet", "--threads", "1"],
                              env=environment, capture_output=True, check=False)
        output = None
        if os.path.exists("short"):
            with open("short", "rb") as f:
                output = f.read()
        return done.returncode, done.stderr.decode(), output, struct.unpack("q", left[:])[0]

    status, message, right, rest = convert(MANY)
    if status != 0 or right is None:
        sys.exit("exit status %d: %s" % (status, message))
    allocations, refused = MANY - rest, 0
    for n in range(1, allocations + 1):
        status, message, output, _ = convert(n)
        if status == 0 and output != right:
            sys.exit("allocation %d of %d refused: another model" % (n, allocations))
        if status != 0 and (status < 0 or "memory" not in message or output is not None):
            sys.exit("allocation %d of %d refused: exit status %d, %s a model: %s"
                     % (n, allocations, status, "with" if output else "without", message))
        refused += status != 0
    if refused < allocations / 2:
        sys.exit("only %d of %d allocations are noticed" % (refused, allocations))
    print("%d of %d allocations are noticed" % (refused, allocations))


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
    os.chdir("/")
