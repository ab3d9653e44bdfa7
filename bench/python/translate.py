"""Model.translate against CTranslate2's Python, in one run: the Transformer of bench/decoding.c with random weights, 25
source tokens and 25 steps, int8, on two threads; 1 and 64 sentences; greedy search and a beam of 5.

    PYTHONPATH=BUILD/python python3 translate.py [PYTHON]

PYTHON is an interpreter with ctranslate2 and numpy; without it, attend alone is measured. Both have the best of several settings of
threads and batches (bench/peers/ctranslate2_peer.py). attend reads and writes text, CTranslate2 lists of tokens."""

import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import attend

VOCABULARY, TOKENS, END = 10000, 25, 2  # END: the id of the token that ends a sentence
ROUNDS, SECONDS = 3, 1.0
CASES = [(1, 1), (1, 5), (64, 1), (64, 5)]
WORDS = [f"t{i}" for i in range(VOCABULARY - 3)]
PEER = Path(__file__).resolve().parents[1] / "peers" / "ctranslate2_peer.py"


def lower_end(path):
    """Gives the end of a sentence the bias -1000, so that no hypothesis ends before the last step."""
    data = bytearray(path.read_bytes())
    size = int.from_bytes(data[:8], "little")
    begin = json.loads(data[8 : 8 + size])["output.b"]["data_offsets"][0]
    struct.pack_into("<f", data, 8 + size + begin + 4 * END, -1000.0)
    path.write_bytes(data)


def new_model(folder):
    """Trains for one update, of no size, on pairs that have all words."""
    pairs = [" ".join(WORDS[i : i + 20]) for i in range(0, len(WORDS), 20)]
    data = folder / "pairs.tsv"
    data.write_text("".join(f"{p}\t{p}\n" for p in pairs))
    attend.train(data, folder / "model", False, architecture="transformer", hidden=256, heads=4, feed_forward_width=1024, layers=4,
                 tokens="word", updates=1, learning_rate=0, batch_tokens=100, threads=2, dropout=0)
    lower_end(folder / "model")
    return folder / "model"


def seconds(model, lines, **options):
    best, end = float("inf"), time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        start = time.perf_counter()
        results = model.translate(lines, length_ratio=0, length_extra=TOKENS - 1, **options)
        best = min(best, time.perf_counter() - start)
        assert all(len(t.tokens) == TOKENS for t in results), len(results[0].tokens)
    return best


def start_peer(python):
    settings = {"OMP_NUM_THREADS": "2", "OMP_PROC_BIND": "true", "OMP_PLACES": "cores",
                "GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=4294967295:glibc.malloc.trim_threshold=4294967295"}  # as bench/peer.c
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | settings
    peer = subprocess.Popen([python, "-B", str(PEER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    return peer, peer.stdout.readline().strip()


def peer_seconds(peer, batch, beam):
    peer.stdin.write(f"decode-transformer {batch} {beam} int8\n")
    peer.stdin.flush()
    return float(peer.stdout.readline() or 0)


with tempfile.TemporaryDirectory() as folder:
    path = new_model(Path(folder))
    models = [attend.Model.load(path, precision="int8", threads=n, verify=False) for n in (2, 1)]
peer, version = start_peer(sys.argv[1]) if len(sys.argv) > 1 else (None, "")
print(f"kernels {attend.kernel_name()}, CTranslate2 {version or 'not available'}, load average {os.getloadavg()[0]:.1f}")
generator = random.Random(1)
for batch, beam in CASES:
    lines = [" ".join(generator.choices(WORDS, k=TOKENS - 1)) for _ in range(batch)]  # and the end
    settings = [{"batch_tokens": batch * TOKENS // parts} for parts in (2, 4)] if batch > 1 else [{}]
    ours = theirs = float("inf")
    for _ in range(ROUNDS):  # one after another, so that both see the same machine
        for s in settings:
            for m in models if batch == 1 else models[:1]:
                ours = min(ours, seconds(m, lines, beam=beam, **s))
        theirs = min(theirs, (peer and peer_seconds(peer, batch, beam)) or float("inf"))
    against = f", CTranslate2 {batch / theirs:.1f}: {theirs / ours:.2f} x" if theirs < float("inf") else ""
    print(f"int8, batch {batch:2}, beam {beam}        {batch / ours:.1f} sentences/s{against}", flush=True)
if peer:
    peer.stdin.close()
    peer.wait()
