"""Model.submit: futures, deadlines, cancelling, asyncio and many threads."""

import asyncio
import concurrent.futures
import gc
import os
import subprocess
import sys
import threading
import weakref

import pytest

import attend
from conftest import FIXTURES

PATH = str(FIXTURES / "transformer-learned.model")
LINE = "one two three two one three two"  # takes some time with a wide beam


def test_the_same_as_translate(any_model, lines):
    expected = any_model.translate(lines, beam=3, n_best=2, return_attention=True)
    futures = [any_model.submit(line, beam=3, n_best=2, return_attention=True) for line in lines]
    for f, e in zip(futures, expected, strict=True):
        t = f.result(60)
        assert (t.text, t.score, t.tokens, t.alignment, t.fault) == (e.text, e.score, e.tokens, e.alignment, e.fault)
        assert [h.text for h in t.hypotheses] == [h.text for h in e.hypotheses]
        maps = [x.attention if x.attention is None else (x.attention.shape, x.attention.tolist()) for x in (t, e)]
        assert maps[0] == maps[1]


def test_options(model):
    assert isinstance(model.submit("one"), concurrent.futures.Future)
    assert model.submit("one two", prefix="zwei").result(60) == model.translate(["one two"], prefixes=["zwei"])[0]
    assert model.submit("one two", beam=1).result(60) == model.translate(["one two"], beam=1)[0]
    with pytest.raises(attend.UsageError):
        model.submit("one", beam=0)
    with pytest.raises(attend.UsageError, match="timeout"):
        model.submit("one", timeout=-1)
    with pytest.raises(TypeError):
        model.submit(["one"])
    with pytest.raises(attend.UsageError, match="translate"):
        model.submit("one", return_attention="all")


def test_deadlines_and_cancelling(model):
    line = LINE
    futures = [model.submit(line, beam=512, timeout=1e-6) for _ in range(20)]
    assert any(isinstance(f.exception(60), TimeoutError) for f in futures)
    futures = [model.submit(line, beam=512) for _ in range(50)]
    cancelled = [f for f in reversed(futures) if f.cancel()]
    assert cancelled and all(f.cancelled() for f in cancelled)
    concurrent.futures.wait(futures, 60)
    assert all(f.done() for f in futures) and model.submit("one").result(60).fault is None


def test_asyncio(model, lines):
    async def main():
        futures = [asyncio.wrap_future(model.submit(line)) for line in list(lines) * 10]
        return [t.text for t in await asyncio.gather(*futures)]

    assert asyncio.run(main()) == [t.text for t in model.translate(list(lines) * 10)]


def test_asyncio_cancelling(model):
    async def main():
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.wrap_future(model.submit(LINE, beam=1024)), 1e-4)
        return (await asyncio.wrap_future(model.submit("one"))).text

    assert asyncio.run(main()) == model.translate(["one"])[0].text


def test_many_threads(model, lines):
    expected, failures = [t.text for t in model.translate(lines)], []

    def work():
        for _ in range(10):
            if [f.result(60).text for f in [model.submit(line) for line in lines]] != expected:
                failures.append("differs")

    threads = [threading.Thread(target=work) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


def test_the_model_lives_as_long_as_its_requests(lines):
    """The last reference may be dropped by a thread of the batcher."""
    for _ in range(20):
        futures = [attend.Model.load(PATH, threads=2).submit(line) for line in lines]
        gone = [weakref.ref(f) for f in futures]
        assert all(f.result(60).fault is None or True for f in futures)
        del futures
    gc.collect()
    assert not any(r() for r in gone)


def test_dropped_futures(model):
    for _ in range(100):
        model.submit("one two three")
    assert model.submit("one").result(60).text


def test_fork_has_its_own_batcher(lines):
    model = attend.Model.load(PATH, threads=2)
    expected = model.submit(lines[0]).result(60).text
    pid = os.fork()
    if pid == 0:
        os._exit(0 if model.submit(lines[0]).result(60).text == expected else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert model.submit(lines[0]).result(60).text == expected


def test_exit_with_requests():
    """The interpreter ends at once, whatever waits."""
    program = f"""
import attend
m = attend.Model.load({PATH!r})
futures = [m.submit({LINE!r}, beam=512) for _ in range(300)]
print("leaving")
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "leaving\n", "")


def test_busy(model):
    """Requests beyond the limit are refused."""
    line, futures = LINE, []
    with pytest.raises(attend.BusyError):
        for _ in range(20_000):
            futures.append(model.submit(line, beam=5))
    for f in futures:
        f.cancel()
    concurrent.futures.wait(futures, 120)
