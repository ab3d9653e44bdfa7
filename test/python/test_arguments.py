"""Arguments that are out of range, empty, unaligned or not UTF-8."""

import array
import copy
import ctypes
import errno
import gc
import os
import pathlib
import pickle
import shutil
import time
import weakref

import pytest

import attend
from conftest import FIXTURES
from test_arrays import numbers

PATH = FIXTURES / "transformer-learned.model"


@pytest.mark.parametrize("seed", [-1, 2**64, 2**70])
def test_seeds_do_not_wrap_around(model, seed):
    for call in (
        lambda: model.sample(["one"], seed=seed),
        lambda: attend.metric("bleu", ["a"], ["a"], seed=seed),
        lambda: model.source_tokenizer.encode("one", seed=seed),
        lambda: attend.attention(numbers(1, 2, 4), numbers(1, 3, 4), seed=seed),
        lambda: attend.train(PATH, "m", seed=seed),
    ):
        with pytest.raises(ValueError, match="seed"):
            call()
    assert model.sample(["one"], seed=2**64 - 1)
    with pytest.raises(TypeError):
        model.sample(["one"], seed=1.5)


@pytest.mark.parametrize("n", [2**31 - 1, 2**31, 2**70, -1])
def test_numbers_have_limits(model, n):
    for call in (
        lambda: model.translate(["one"], beam=n),
        lambda: model.submit("one", beam=n),
        lambda: model.map("one", beam=n),
        lambda: list(attend.explore.beam(model, "one", beam=n)),
        lambda: attend.metric("bleu", ["a"], ["a"], bootstrap=n),
        lambda: attend.Model.load(PATH, threads=n),
        lambda: attend.Aligner.train([("a", "b")], threads=n),
        lambda: attend.Aligner.train([("a", "b")], model1_iterations=n),
        lambda: attend.attention(numbers(1, 2, 4), numbers(1, 3, 4), threads=n),
        lambda: attend.attention(numbers(1, 2, 4), numbers(1, 3, 4), lengths=[n]),
        lambda: attend.train(PATH, "m", threads=n),
    ):
        with pytest.raises(ValueError):
            call()


def test_memory():
    for memory in (-5, 2**64, "2X", "G", "-1", ""):
        with pytest.raises(ValueError, match="memory"):
            attend.Model.load(PATH, memory=memory)
        with pytest.raises(ValueError, match="memory"):
            attend.Aligner.train([("a", "b")], memory=memory)
    with pytest.raises(TypeError):
        attend.Model.load(PATH, memory=1.5)
    for memory in (0, None, "2G", "500M", 10**10):
        assert attend.Model.load(PATH, memory=memory).translate(["one"])[0].fault is None
    with pytest.raises(ValueError, match="1k"):
        attend.Model.load(PATH, memory="1k").translate(["one"])


def test_types(model, tmp_path):
    with pytest.raises(TypeError, match="text must be a str"):
        attend.split_sentences(3)
    with pytest.raises(TypeError, match="text must be a str"):
        model.source_tokenizer.tokenize(3)
    with pytest.raises(TypeError, match="on_progress"):
        attend.train(FIXTURES / "pairs.tsv", tmp_path / "m", on_progress=3)
    with pytest.raises(TypeError, match="source must be a str"):
        model.map(3)
    assert not os.listdir(tmp_path)


def test_file_errors_have_their_number(model, tmp_path):
    for call in (
        lambda: attend.Model.load(tmp_path / "none"),
        lambda: model.save(tmp_path / "none" / "m"),
        lambda: attend.check_data(tmp_path / "none.tsv"),
        lambda: attend.Aligner.load(tmp_path / "none"),
    ):
        with pytest.raises(OSError) as e:
            call()
        assert e.value.errno == errno.ENOENT and isinstance(e.value, attend.FileError)
        assert "none" in str(e.value)


def test_paths(model, tmp_path):
    for path in (str(PATH), os.fsencode(PATH), pathlib.Path(PATH), [PATH], (p for p in [str(PATH), PATH])):
        assert attend.Model.load(path).translate(["one"])
    for paths in (3, [3], [], None, [[PATH]]):
        with pytest.raises(TypeError, match="path|Path"):
            attend.Model.load(paths)
    two = [tmp_path / "a", tmp_path / "b"]
    pairs = FIXTURES / "pairs.tsv"
    for call in (
        lambda: model.save(two),
        lambda: model.translate(["one"], dictionary=two),
        lambda: attend.Aligner.load(two),
        lambda: attend.train(pairs, two),
        lambda: attend.train(pairs, two[0], init_from=two),
        lambda: attend.train(pairs, two[0], log=two),
    ):
        with pytest.raises(TypeError, match="must be a path"):
            call()
    with pytest.raises(ValueError):
        attend.Model.load("a\0b")
    assert not os.listdir(tmp_path)


def test_paths_that_are_not_utf8(tmp_path):
    def path(name):
        return os.fsencode(tmp_path) + b"/" + name + b"\xe9"

    shutil.copy(PATH, path(b"m"))
    shutil.copy(FIXTURES / "pairs.tsv", path(b"pairs") + b".tsv")
    for name in (path(b"m"), os.fsdecode(path(b"m")), pathlib.Path(os.fsdecode(path(b"m")))):
        model = attend.Model.load(name)
        assert os.fsencode(model.paths[0]) == path(b"m") and "udce9" in repr(model)
        m = model.map("one", "eins")
        assert all((m.html(), m.json(), m.npz(), m.terminal(), m._repr_html_(), str(m)))
        m.html().encode()
    model.save(os.fsdecode(path(b"copy")))
    assert os.path.exists(path(b"copy"))
    assert attend.check_data(path(b"pairs") + b".tsv").train.pairs > 0
    attend.train(path(b"pairs") + b".tsv", path(b"new"), updates=1, hidden=4, embedding=4, log=path(b"log"))
    attend.train(os.fsdecode(path(b"pairs") + b".tsv"), path(b"tuned"), updates=1, init_from=path(b"new"))
    assert os.path.exists(path(b"log")) and os.path.exists(path(b"tuned"))
    with pytest.raises(attend.FileError):
        attend.Model.load(path(b"none"))
    attend.Aligner.train([("one", "eins")]).save(path(b"aligner"))
    assert attend.Aligner.load(os.fsdecode(path(b"aligner"))).align([("one", "eins")])


# ---- arrays ----


class Shared:
    """An object with DLPack alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self):
        return self.array.__dlpack__()


def zeros(*shape):
    kind = ctypes.c_float
    for x in reversed(shape):
        kind = kind * x
    return kind()


def test_empty_arrays():
    a = attend.Attention(zeros(1, 0, 4), numbers(1, 3, 4), return_weights=True)
    assert a.context.shape == (1, 0, 4) and a.weights.shape == (1, 1, 0, 3) and a.context.tolist() == [[]]
    assert memoryview(a.context).shape == (1, 0, 4) and bytes(a.context) == b""
    assert a.backward(zeros(1, 0, 4)).key.tolist() == [[[0.0] * 4] * 3]
    again = attend.attention(Shared(a.context), numbers(1, 3, 4))
    assert again.shape == (1, 0, 4)
    assert attend.attention(numbers(1, 2, 4), zeros(1, 0, 4)).tolist() == [[[0.0] * 4] * 2]
    assert attend.attention(zeros(0, 2, 4), zeros(0, 3, 4), lengths=array.array("i")).shape == (0, 2, 4)


def test_memory_that_is_not_aligned():
    bytes_ = bytearray(4 * 8 + 1)
    odd = (ctypes.c_float * 8).from_buffer(bytes_, 1)
    odd = memoryview(odd).cast("B").cast("f", (1, 2, 4))
    with pytest.raises(TypeError, match="aligned"):
        attend.attention(odd, numbers(1, 3, 4))


def test_memory_that_cannot_be_written():
    fixed = memoryview(bytes(numbers(1, 3, 4))).cast("f", (1, 3, 4))
    assert fixed.readonly and bytes(attend.attention(fixed, fixed)) == bytes(attend.attention(*[numbers(1, 3, 4)] * 2))


def test_inputs_may_share_memory():
    q = numbers(1, 3, 4)
    a, b = attend.Attention(q, q, q), attend.Attention(*[numbers(1, 3, 4) for _ in range(3)])
    assert bytes(a.context) == bytes(b.context)
    assert bytes(a.backward(a.context).key) == bytes(b.backward(b.context).key)


def test_mappings_of_parameters():
    import collections
    import types

    w = {"w": numbers(4, 4)}
    expected = bytes(attend.attention(numbers(1, 2, 4), numbers(1, 3, 4), score="bilinear", parameters=w))
    for p in (types.MappingProxyType(w), collections.UserDict(w), list(w.values())):
        assert bytes(attend.attention(numbers(1, 2, 4), numbers(1, 3, 4), score="bilinear", parameters=p)) == expected


# ---- empty translations ----


def test_empty_translations_have_empty_maps(model):
    for r in model.translate(["", "  "], return_attention=True):
        assert (r.text, r.fault, r.alignment, r.attention.shape) == ("", None, [], (0, 0))
    assert model.submit("", return_attention=True).result(60).attention.shape == (0, 0)
    r = model.translate([""], return_attention="all")[0]
    layers, heads = r.attention.shape[:2]
    assert layers > 0 and heads > 0 and r.attention.shape[2:] == (0, 0)
    none = dict(length_ratio=0, length_extra=0)
    r = model.translate(["one"], return_attention=True, **none)[0]
    assert r.text == "" and r.attention.shape == (1, 4) and r.alignment == []
    r = model.translate(["one"], return_attention="all", **none)[0]
    assert r.attention.shape == (layers, heads, 0, 4)
    assert model.translate(["one " * 1001], return_attention=True)[0].attention is None


# ---- searches, copies ----


def test_searches_can_be_left(model):
    steps = attend.explore.beam(model, "one two", beam=3)
    assert next(steps).number == 0
    steps.close()
    assert list(steps) == []
    with pytest.raises(KeyError):
        for _ in attend.explore.beam(model, "one two"):
            raise KeyError
    first, second = (attend.explore.beam(model, "one two") for _ in range(2))
    assert [repr(a) == repr(b) for a, b in zip(first, second)]
    assert list(attend.explore.beam(model, ""))[-1].finished[0].text == model.translate([""])[0].text
    with pytest.raises(TypeError):
        attend.explore.beam(model, 3)


def test_copies(model):
    for make in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="attend.Model"):
            make(model)
    t = model.translate(["one"])[0]
    assert pickle.loads(pickle.dumps(t)) == t


def test_callbacks_are_released(model, tmp_path):
    """What a callback refers to is freed after the call, and a request after it was cancelled."""

    class Seen:
        pass

    def train(fails):
        seen = Seen()
        seen.self = seen  # a cycle

        def on_progress(progress):
            seen.progress = progress
            if fails:
                raise KeyError

        try:
            attend.train(FIXTURES / "pairs.tsv", tmp_path / "m", updates=2, hidden=4, embedding=4, fresh=True,
                         on_progress=on_progress)
        except KeyError:
            pass
        return weakref.ref(seen)

    gone = [train(False), train(True)]
    futures = [model.submit("one two three", beam=100) for _ in range(20)]
    for f in futures:
        f.cancel()
        gone.append(weakref.ref(f))
    model.submit("one").result(60)
    del f, futures
    for _ in range(100):
        gc.collect()
        if not any(r() for r in gone):
            break
        time.sleep(0.05)
    assert not any(r() for r in gone)
