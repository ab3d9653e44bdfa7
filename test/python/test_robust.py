"""Threads, fork and spawn, reference counts, and allocations that fail."""

import atexit
import ctypes
import gc
import json
import multiprocessing
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

import attend
from attend import _core
from conftest import FIXTURES
from test_arrays import numbers

PATH = str(FIXTURES / "transformer-learned.model")
IS_SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")


def test_threads(model, lines):
    expected = model.translate(lines), model.align([("one two", "eins zwei")])
    failures = []

    def work():
        for _ in range(10):
            if (model.translate(lines), model.align([("one two", "eins zwei")])) != expected:
                failures.append("differs")

    threads = [threading.Thread(target=work) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


def test_the_gil_is_released(model, lines):
    """While one thread translates, another one runs."""
    count, stop = 0, threading.Event()

    def tick():
        nonlocal count
        while not stop.is_set():
            count += 1
            time.sleep(0.001)

    t = threading.Thread(target=tick)
    t.start()
    model.translate(list(lines) * 200, beam=5)
    stop.set()
    t.join()
    assert count > 2


def child(expected, lines):
    model = child.model
    a = attend.attention(numbers(2, 3, 4), numbers(2, 5, 4))
    ok = [t.text for t in model.translate(lines)] == expected and a.shape == (2, 3, 4)
    ok = ok and model.score([("one", "eins")])[0].fault is None
    os._exit(0 if ok else 1)


@pytest.mark.parametrize("used", [False, True])
def test_fork(used, lines):
    child.model = attend.Model.load(PATH, threads=3)
    expected = [t.text for t in attend.Model.load(PATH).translate(lines)]
    if used:
        child.model.translate(lines)
        child.model.score([("one", "eins")])
        attend.attention(numbers(2, 3, 4), numbers(2, 5, 4))
    process = multiprocessing.get_context("fork").Process(target=child, args=(expected, lines))
    process.start()
    process.join(60)
    assert process.exitcode == 0
    assert [t.text for t in child.model.translate(lines)] == expected


@pytest.mark.skipif(IS_SANITIZED, reason="a child of a fork waits for AddressSanitizer's allocator, if another thread was in it")
def test_fork_while_threads_work(lines):
    """A child uses a model whose weights another thread of the parent was packing, or for which it was searching."""
    models, stop = [attend.Model.load(FIXTURES / "rnn-bpe.model", threads=2)], threading.Event()
    expected = [t.text for t in models[0].translate(lines)]
    models[0].submit(lines[0]).result(60)  # no thread is importing a module, whose lock a child would inherit

    def load():
        while not stop.is_set():
            models[0] = attend.Model.load(FIXTURES / "rnn-bpe.model", threads=2)
            models[0].translate(lines)

    def submit():
        while not stop.is_set():
            models[0].submit(lines[0]).result(60)
            models[0].score([("one", "eins")])

    threads = [threading.Thread(target=work) for work in (load, submit)]
    for t in threads:
        t.start()
    try:
        for _ in range(20):
            pid = os.fork()
            if pid == 0:
                signal.alarm(60)
                m = models[0]
                ok = [t.text for t in m.translate(lines)] == expected
                os._exit(0 if ok and m.submit(lines[0]).result(60).text == expected[0] else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    finally:
        stop.set()
        for t in threads:
            t.join()


def spawned(lines):
    import attend

    return [t.text for t in attend.Model.load(PATH).translate(lines)]


def test_spawn(lines):
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        results = pool.map(spawned, [lines] * 3)
    assert all(r == spawned(lines) for r in results)


def memory_blocks():
    gc.collect()
    return sys.getallocatedblocks()


CALLS = {
    "translate": lambda m: m.translate(["one two"], beam=1, return_attention=True),
    "fault": lambda m: m.translate(["one " * 1001], beam=1),
    "score": lambda m: m.score([("one", "eins")], return_attention=True),
    "encode": lambda m: m.source_tokenizer.encode("one two"),
    "config": lambda m: m.config,
    "metric": lambda m: attend.metric("bleu", ["a b"], [["a b", "c"]], bootstrap=2),
    "attention": lambda m: attend.Attention(numbers(1, 2, 4), numbers(1, 3, 4), return_weights=True, lengths=[2])
    .backward(numbers(1, 2, 4)),
    "dlpack": lambda m: attend.attention(numbers(1, 4), numbers(1, 4)).__dlpack__(),
    "error": lambda m: raised(lambda: m.translate(["one"], beam=0)),
    "type": lambda m: raised(lambda: m.score([("a", 3)])),
    "aer": lambda m: attend.aer([[(0, 0)]], [[(0, 0, False)]]),
    "map": lambda m: m.map("one", "eins").weights(),
}


def raised(call):
    with pytest.raises((attend.Error, TypeError)):
        call()


@pytest.mark.parametrize("name", CALLS)
def test_references_are_released(name, model):
    """No Python object leaks. ATTEND_TEST_LONG=1: 100,000 calls."""
    call = CALLS[name]
    repeats = 100_000 if os.environ.get("ATTEND_TEST_LONG") else 300
    counts = []
    for _ in range(4):
        for _ in range(repeats // 4):
            call(model)
        counts.append(memory_blocks())
    # caches fill in the first part, and something else may allocate in one of the others; a leak grows in each
    assert min(after - before for before, after in zip(counts, counts[1:])) < 20, counts


def small_training(name="m"):
    folder = Path(tempfile.gettempdir()) / f"attend-{os.getpid()}"
    folder.mkdir(exist_ok=True)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "t.tsv").write_text("one\teins\ntwo\tzwei\n" * 20)
    return folder / "t.tsv", folder / name


def refused_once(call):
    """Runs a call with one after another of the library's allocations refused, 150 of them or, with ATTEND_TEST_LONG=1, all; each must raise
    MemoryError, or succeed."""
    _core._refuse_memory(-1)
    expected = call()
    count = _core._refuse_memory(0)
    assert count > 0
    errors = 0
    step = 1 if os.environ.get("ATTEND_TEST_LONG") else max(1, count // 150)
    for n in range(1, count + 1, step):
        _core._refuse_memory(n)
        try:
            result = call()
        except MemoryError as e:
            assert isinstance(e, attend.OutOfMemoryError) and "memory" in str(e)
            errors += 1
        else:
            assert result == expected or type(expected) not in (list, float)
        finally:
            _core._refuse_memory(0)
    assert errors > 0
    assert call() == expected or type(expected) not in (list, float)


@pytest.mark.skipif(not hasattr(_core, "_refuse_memory"), reason="a build without tests")
@pytest.mark.parametrize(
    "call",
    [
        lambda: attend.Model.load(PATH, threads=1) and None,
        lambda: attend.Model.load(PATH, threads=1).translate(["one two"], n_best=2),
        lambda: attend.Model.load(PATH, threads=1).translate(["one"], return_attention="all") and None,
        lambda: attend.Model.load(PATH, threads=1).score([("one", "eins")]),
        lambda: attend.Model.load(PATH, threads=1).map("one", "eins").html() and None,
        lambda: attend.Model.load(PATH, threads=1).source_tokenizer.encode("one two"),
        lambda: attend.Tokenizer.learn(["one two"], kind="bpe", vocab_size=300).encode("one"),
        lambda: attend.Aligner.train([("one", "eins"), ("two", "zwei")], threads=1).align(),
        lambda: attend.metric("bleu", ["a b c"], ["a b c"]).score,
        lambda: attend.check_data(FIXTURES / "pairs.tsv") and None,
        lambda: attend.train(*small_training(), hidden=4, embedding=4, updates=1, threads=1, fresh=True) and None,
        lambda: attend.train(*small_training("several"), hidden=4, embedding=4, updates=1, threads=1, fresh=True,
                             ensemble=2) and None,
        lambda: attend.Attention(numbers(1, 2, 4), numbers(1, 3, 4), threads=1).backward(numbers(1, 2, 4)) and None,
    ],
    ids=["load", "translate", "all", "score", "map", "tokenizer", "learn", "align", "metric", "check", "train", "ensemble",
         "attention"],
)
def test_every_allocation_fails_once(call):
    refused_once(call)


@pytest.mark.parametrize("first", ["attend", "numpy", "torch"])
def test_import_order(first):
    other = "numpy" if first == "attend" else first
    program = f"import {first}, {other}, attend; print(attend.Model.load({PATH!r}).translate(['one'])[0].text)"
    pytest.importorskip(other)
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip()


def test_no_other_module_is_needed():
    program = "import sys, attend; print([m for m in ('numpy', 'torch', 'typing', 'asyncio') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-I", "-S", "-c", "import sys; sys.path[:0] = %r\n" % sys.path + program],
                         capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def words(count, seed, letters=3):
    """A line of words of a few letters, of which there are many."""
    line = []
    for _ in range(count):
        seed = (seed * 6364136223846793005 + 1442695040888963407) % 2**64
        line.append("".join(chr(97 + (seed >> (33 + 4 * k)) % 16) for k in range(letters)))
    return " ".join(line)


# Arguments, and a call with them that takes more than five seconds.
LONG = {
    "translate": (lambda: ["one two three two"] * 20000, lambda m, x: m.translate(x, beam=200)),
    "sample": (lambda: ["one two three"] * 20000, lambda m, x: m.sample(x, n=500)),
    "learn": (lambda: [words(200, i, 7) for i in range(3000)],
              lambda m, x: attend.Tokenizer.learn(x, vocab_size=10**6)),
    "ter": (lambda: [words(100, i, 1) for i in range(200)] * 100, lambda m, x: attend.ter(x, x[1:] + x[:1])),
    "aligner": (lambda: [(words(20, i), words(20, ~i)) for i in range(5000)],
                lambda m, x: attend.Aligner.train(x, model1_iterations=1000, hmm_iterations=1000, threads=2)),
}


@pytest.mark.skipif(IS_SANITIZED, reason="too slow under AddressSanitizer")
@pytest.mark.parametrize("name", LONG)
def test_interrupt(name, model):
    """Ctrl-C ends a long call within a second, here with room for a busy machine, and leaves nothing broken."""
    make, call = LONG[name]
    arguments, sent = make(), []
    timer = threading.Timer(1, lambda: (sent.append(time.monotonic()),
                                        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        call(model, arguments)
    assert time.monotonic() - sent[0] < 3
    assert model.translate(["one"])[0].fault is None
    assert attend.ter(["a"], ["a"]) == 0


def test_handlers_of_signals(model, lines):
    """A handler that raises nothing does not end a call."""
    seen = []
    old = signal.signal(signal.SIGUSR1, lambda *_: seen.append(1))
    expected = model.translate(lines * 20, beam=20)
    timer = threading.Timer(0.2, lambda: signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1))
    timer.start()
    while not seen:
        assert model.translate(lines * 20, beam=20) == expected
    signal.signal(signal.SIGUSR1, old)


def test_documentation():
    for name in attend.__all__:
        thing = getattr(attend, name)
        if name != "__version__":
            assert thing.__doc__, name
        for member, value in vars(thing).items() if isinstance(thing, type) else ():
            if not member.startswith("_") and callable(value):
                assert value.__doc__, (name, member)


def test_odd_arguments(model, tmp_path):
    def empty(*shape):
        kind = ctypes.c_float
        for x in reversed(shape):
            kind = kind * x
        return kind()

    with pytest.raises(attend.Error, match="no heads"):
        attend.Attention(empty(1, 0, 3, 8), empty(1, 0, 3, 8))
    for call in (
        lambda: model.score([("one\0two", "eins")]),
        lambda: model.map("one\0two", "eins"),
        lambda: attend.metric("exact", ["a\0b"], ["a\0c"]),
        lambda: model.translate(["one\0two"], return_attention="all"),
    ):
        with pytest.raises(attend.Error, match="NUL"):
            call()
    with pytest.raises(UnicodeEncodeError):
        attend.train(tmp_path / "x.tsv", tmp_path / "m", tokens="\ud800")
    with pytest.raises(attend.Error):
        model.align([("one", "eins")], layer=2**32)


def test_files_of_another_kind_stay(tmp_path):
    """save replaces a model by a model and an aligner by an aligner, and nothing else."""
    model = attend.Model.load(FIXTURES / "rnn-bpe.model")
    aligner = attend.Aligner.train([("a b", "b a"), ("b c", "c b")])
    model.save(tmp_path / "model")
    aligner.save(tmp_path / "aligner")
    shutil.copy(FIXTURES / "stopped.model.checkpoint", tmp_path / "checkpoint")
    (tmp_path / "text").write_text("a text of the user\n")
    (tmp_path / "empty").write_text("")
    for saved, own in ((model, "model"), (aligner, "aligner")):
        for name in ("model", "aligner", "checkpoint", "text"):
            before = (tmp_path / name).read_bytes()
            if name == own:
                saved.save(tmp_path / name)
            else:
                with pytest.raises(ValueError, match=name):
                    saved.save(tmp_path / name)
            assert (tmp_path / name).read_bytes() == before
        saved.save(tmp_path / "empty")
        (tmp_path / "empty").write_text("")


def test_weights_that_overflow(tmp_path):
    """A model that computes nothing finite is an error that names it, not a list of empty texts."""
    data = bytearray((FIXTURES / "rnn-bpe.model").read_bytes())
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    for name, tensor in header.items():
        if name != "__metadata__" and tensor["dtype"] == "F32":
            begin, end = (8 + size + at for at in tensor["data_offsets"])
            numbers_there = struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])
            largest = max(map(abs, numbers_there)) or 1
            data[begin:end] = struct.pack(f"<{len(numbers_there)}f", *(x / largest * 3e38 for x in numbers_there))
    path = tmp_path / "overflow.model"
    path.write_bytes(data)
    model = attend.Model.load(path, verify=False)
    for compute in (
        lambda: model.translate(["a b c"]),
        lambda: model.score([("a b c", "a")]),
        lambda: model.align([("a b c", "a")]),
    ):
        with pytest.raises(attend.ModelError, match="overflow.model.*lower learning rate"):
            compute()
    assert model.translate([""])[0].text == ""
