"""Python's own allocations fail, one at a time: each must raise MemoryError, and leave nothing broken."""

import asyncio
import concurrent.futures
import threading

import pytest

import attend
from conftest import FIXTURES
from test_arrays import numbers

_testcapi = pytest.importorskip("_testcapi", reason="Python's own test modules are not installed")
PATH = str(FIXTURES / "transformer-learned.model")  # Python hides a MemoryError when it converts a Path
MODEL = attend.Model.load(PATH, threads=1)
LANGUAGE_MODEL = None
LIMIT = 3000  # requests of one call


def refused(call):
    """Runs a call with each of its allocations refused once, until no more is refused. Returns the number of errors."""
    call()
    errors = successes = 0
    for n in range(LIMIT):
        _testcapi.set_nomemory(n, n + 1)
        try:
            call()
        except MemoryError:
            errors += 1
            successes = 0
        else:
            successes += 1
        finally:
            _testcapi.remove_mem_hooks()
        if successes > 60:  # Python itself survives some without an exception
            break
    call()
    return errors


def explore():
    for step in attend.explore.beam(MODEL, "one", beam=1):
        pass


def training(tmp_path, model="m", **options):
    path = tmp_path / "t.tsv"
    path.write_text("one\teins\ntwo\tzwei\n" * 10)
    return lambda: attend.train(str(path), str(tmp_path / model), False, updates=1, hidden=4, embedding=4, fresh=True, threads=1,
                                **options)


CALLS = {
    "load": lambda: attend.Model.load([PATH, PATH], threads=1),
    "translate": lambda: MODEL.translate(["one"], beam=1, prefixes=["e"], return_alignment=True, return_attention=True),
    "all": lambda: MODEL.translate(["one"], beam=1, return_attention="all"),
    "sample": lambda: MODEL.sample(["one"], max_length=3),
    "fault": lambda: MODEL.translate(["one " * 1001]),
    "empty": lambda: MODEL.translate([""]),
    "score": lambda: MODEL.score([("one", "eins")], return_attention=True),
    "align": lambda: MODEL.align([("one", "eins")], layer=0, head=0),
    "map": lambda: MODEL.map("one"),
    "shown": lambda: MODEL.map("one", "eins")._repr_html_(),
    "weights": lambda: MODEL.map("one", "eins").weights().tolist(),
    "properties": lambda: (MODEL.config, MODEL.paths, repr(MODEL), MODEL.source_tokenizer, MODEL.parameter_count),
    "encode": lambda: MODEL.source_tokenizer.encode("one"),
    "decode": lambda: MODEL.source_tokenizer.decode([5, 6]),
    "spans": lambda: MODEL.source_tokenizer.spans("one"),
    "learn": lambda: attend.Tokenizer.learn(["one two"], kind="word"),
    "metric": lambda: attend.metric("bleu", ["a"], [["a", "b"]], bootstrap=2, against=["b"]),
    "aer": lambda: attend.aer([[(0, 0)]], [[(0, 0, False)]]),
    "symmetrize": lambda: attend.symmetrize([(0, 0)], [(0, 0)]),
    "aligner": lambda: attend.Aligner.train([("one", "eins")], threads=1).align(method="union"),
    "check": lambda: attend.check_data(str(FIXTURES / "pairs.tsv")),
    "sentences": lambda: attend.split_sentences("One. Two."),
    "attention": lambda: attend.Attention(numbers(1, 2, 4), numbers(1, 3, 4), lengths=[2], return_weights=True, threads=1)
    .backward(numbers(1, 2, 4), wanted=["query"]),
    "parameters": lambda: attend.attention(numbers(1, 2, 4), numbers(1, 3, 4), score="bilinear",
                                           parameters={"w": numbers(4, 4)}, threads=1),
    "dlpack": lambda: attend.attention(numbers(1, 4), numbers(1, 4), threads=1).__dlpack__(),
    "pickle": lambda: attend.attention(numbers(1, 4), numbers(1, 4), threads=1).__reduce__(),
    "explore": explore,
    "error": lambda: attended_error(),
}


def attended_error():
    with pytest.raises(attend.UsageError):
        MODEL.translate(["one"], beam=0)


@pytest.mark.parametrize("name", CALLS)
def test_no_memory(name):
    assert refused(CALLS[name]) > 0


def test_no_memory_to_train(tmp_path):
    assert refused(training(tmp_path)) > 0
    assert refused(training(tmp_path, on_progress=lambda p: None)) > 0
    assert refused(training(tmp_path, "several", ensemble=2, guided_alignment="auto")) > 0


@pytest.mark.parametrize("method", ["set_running_or_notify_cancel", "set_result", "set_exception"])
def test_no_memory_for_a_future(method, monkeypatch):
    """A future ends whatever allocation fails: otherwise one would wait for it forever."""
    original, calls = getattr(concurrent.futures.Future, method), []

    def fails_twice(self, *arguments):
        calls.append(self)
        if len(calls) < 3:
            raise MemoryError
        return original(self, *arguments)

    monkeypatch.setattr(concurrent.futures.Future, method, fails_twice)
    timeout = 1e-9 if method == "set_exception" else None
    futures = [MODEL.submit("one two", beam=1, timeout=timeout) for _ in range(3)]
    for f in futures:
        assert isinstance(f.exception(60), TimeoutError if timeout else type(None))
    assert len(calls) == 5


def test_no_memory_to_submit():
    futures = []
    assert refused(lambda: futures.append(MODEL.submit("one", beam=1))) > 0
    assert all(f.exception(60) is None or isinstance(f.exception(), MemoryError) for f in futures)
