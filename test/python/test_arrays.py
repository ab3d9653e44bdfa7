"""Attention on arrays, with the standard library alone, and with NumPy where it is installed."""

import array
import copy
import math
import pickle

import pytest

import attend


def numbers(*shape, seed=1):
    """A contiguous float32 memoryview of the given shape."""
    count = math.prod(shape)
    values = array.array("f", (math.sin(seed + 0.7 * i * i) for i in range(count)))
    return memoryview(values).cast("B").cast("f", shape)


def softmax(row):
    e = [math.exp(x - max(row)) for x in row]
    return [x / sum(e) for x in e]


def test_context_and_weights():
    q, k, v = numbers(1, 2, 4), numbers(1, 3, 4, seed=2), numbers(1, 3, 4, seed=3)
    context, weights = attend.attention(q, k, v, return_weights=True)
    for i in range(2):
        row = softmax([sum(q[0, i, d] * k[0, j, d] for d in range(4)) / 2 for j in range(3)])
        assert weights[0][0][i].tolist() == pytest.approx(row, abs=1e-6)
        for d in range(4):
            expected = sum(w * v[0, j, d] for j, w in enumerate(row))
            assert context[0][i][d] == pytest.approx(expected, abs=1e-6)


def test_layouts_agree():
    q, k = numbers(2, 3, 8), numbers(2, 5, 8, seed=2)
    flat = attend.attention(q, k, heads=2)
    four = attend.attention(q.cast("B").cast("f", (2, 3, 2, 4)), k.cast("B").cast("f", (2, 5, 2, 4)), heads_first=False)
    assert four.shape == (2, 3, 2, 4) and bytes(flat) == bytes(four)
    first = attend.attention(numbers(2, 2, 3, 4), numbers(2, 2, 5, 4))
    assert first.shape == (2, 2, 3, 4)
    assert attend.attention(numbers(3, 8), numbers(5, 8)).shape == (3, 8)


def test_pickle_and_copy(model):
    empty = model.translate([""], return_attention=True)[0].attention
    for a in (attend.attention(numbers(2, 3, 4), numbers(2, 5, 4)), empty):
        for b in (pickle.loads(pickle.dumps(a)), copy.deepcopy(a)):
            assert b.tolist() == a.tolist() and b.shape == a.shape and b.dtype == a.dtype
        if bytes(a):
            memoryview(b).cast("B")[0] ^= 1
            assert bytes(a) != bytes(b)
            assert pickle.loads(pickle.dumps(a[0])).tolist() == a[0].tolist()
    assert empty.tolist() == []
    make = attend._core._array
    for shape in ((3,), (2, 2, 2, 2, 2), (-1,), (1 << 40, 1 << 40)):
        with pytest.raises(attend.UsageError):
            make(shape, bytes(8))
    with pytest.raises(TypeError):
        make(("a",), bytes(8))


PARAMETERS = {
    "dot": {},
    "scaled-dot": {},
    "bilinear": {"w": (8, 8)},
    "additive": {"wq": (6, 8), "wk": (6, 8), "b": (6,), "u": (6,)},
    "projected": {"wq": (6, 8), "wk": (6, 8), "wv": (6, 8), "wo": (8, 6)},
    "location": {"wa": (10, 8)},
    "location-sensitive": {"wq": (6, 8), "wk": (6, 8), "b": (6,), "u": (6,), "uf": (6, 3), "f": (3, 5)},
}
WINDOWS = [{}, {"window": "local-m", "window_size": 1}, {"window": "local-p", "window_size": 2}]


@pytest.mark.parametrize("score", PARAMETERS)
@pytest.mark.parametrize("selection", ["soft", "sparsemax", "entmax15", "hard"])
@pytest.mark.parametrize("window", WINDOWS, ids=["global", "local-m", "local-p"])
def test_every_score_window_and_selection(score, selection, window):
    q, k, v = numbers(2, 3, 8), numbers(2, 5, 8, seed=2), numbers(2, 5, 8, seed=3)
    p = {n: numbers(*shape, seed=i + 5) for i, (n, shape) in enumerate(PARAMETERS[score].items())}
    window = dict(window)
    if window.get("window") == "local-p":
        window["position"] = memoryview(array.array("f", [0.5] * 6)).cast("B").cast("f", (2, 3))
    if score == "location-sensitive":
        window["previous"] = numbers(2, 3, 5, seed=9)
    options = {"score": score, "parameters": p, "selection": selection, "lengths": [5, 3], "training": True, **window}
    options |= {"return_weights": True, "return_scores": not p}  # scores that project queries or keys return none
    if selection == "hard" and window.get("window") == "local-p":
        with pytest.raises(attend.UsageError, match="hard selection"):
            attend.Attention(q, k, v, **options)
        return
    a = attend.Attention(q, k, v, **options)
    assert a.context.shape == (2, 3, 8) and a.weights.shape == (2, 1, 3, 5)
    assert a.scores.shape == (2, 1, 3, 5) if not p else a.scores is None
    for b, length in enumerate((5, 3)):
        for i, row in enumerate(a.weights[b][0].tolist()):
            assert row[length:] == [0] * (5 - length)
            if not window.get("position"):
                assert sum(row) == pytest.approx(1, abs=1e-5)
    g = a.backward(numbers(2, 3, 8, seed=4), a.weights)
    assert g.query.shape == (2, 3, 8) and g.value.shape == (2, 5, 8) and list(g.parameters) == list(p)
    again = attend.Attention(q, k, v, threads=3, **options)
    assert bytes(again.context) == bytes(a.context)
    assert bytes(again.backward(numbers(2, 3, 8, seed=4), a.weights).query) == bytes(g.query)
    assert bytes(a.backward(numbers(2, 3, 8, seed=4), again.weights).query) == bytes(g.query)


def test_gradient_is_the_derivative():
    """Central differences of the sum of the context, with float32's precision."""
    q, k, dcontext = numbers(1, 2, 4), numbers(1, 3, 4, seed=2), numbers(1, 2, 4, seed=3)

    def loss():
        c = memoryview(attend.attention(q, k))
        return sum(c[0, i, d] * dcontext[0, i, d] for i in range(2) for d in range(4))

    g = attend.Attention(q, k).backward(dcontext, wanted=["query"])
    assert g.key is None and g.parameters == {}
    for d in range(4):
        at = q[0, 1, d]
        q[0, 1, d] = at + 1e-2
        high = loss()
        q[0, 1, d] = at - 1e-2
        low = loss()
        q[0, 1, d] = at
        assert g.query[0][1][d] == pytest.approx((high - low) / 2e-2, abs=1e-3)


def test_masks():
    q, k = numbers(2, 3, 4), numbers(2, 5, 4, seed=2)
    mask = memoryview(bytes([1, 1, 0, 0, 0] * 3)).cast("B", (3, 5))
    w = attend.attention(q, k, mask=mask, return_weights=True)[1]
    assert all(row[2:] == [0, 0, 0] for row in w[1][0].tolist())
    bias = array.array("f", [0, 0, -math.inf, -math.inf, -math.inf] * 3)
    b = attend.attention(q, k, bias=memoryview(bias).cast("B").cast("f", (3, 5)), return_weights=True)[1]
    assert b.tolist() == w.tolist()
    causal = attend.attention(q, q, causal=True, return_weights=True)[1]
    assert causal[0][0].tolist()[0] == [1, 0, 0]


def test_refusals():
    q, k = numbers(2, 3, 4), numbers(2, 5, 4, seed=2)
    with pytest.raises(TypeError, match="contiguous array of float32"):
        attend.attention(array.array("d", [1, 2]), k)
    with pytest.raises(TypeError, match="buffer protocol or __dlpack__"):
        attend.attention([[1.0]], k)
    with pytest.raises(TypeError, match="numpy.ascontiguousarray"):
        attend.attention(memoryview(array.array("f", range(8)))[::2], k)
    with pytest.raises(attend.UsageError, match="score='cosine': must be one of dot"):
        attend.attention(q, k, score="cosine")
    with pytest.raises(attend.UsageError, match="needs parameters"):
        attend.attention(q, k, score="additive")
    with pytest.raises(attend.UsageError, match=r"'wk' must have the shape \(6, 4\)"):
        attend.attention(q, k, score="additive", parameters=[numbers(6, 4), numbers(5, 4), numbers(6), numbers(6)])
    with pytest.raises(attend.UsageError, match="needs a parameter 'u'"):
        attend.attention(q, k, score="additive", parameters={"wq": numbers(6, 4), "wk": numbers(6, 4), "b": numbers(6)})
    with pytest.raises(attend.UsageError, match="has 0 parameters"):
        attend.attention(q, k, parameters=[q])
    with pytest.raises(attend.UsageError, match="2 sequences"):
        attend.attention(q, k, lengths=[1])
    with pytest.raises(attend.UsageError):
        attend.attention(q, k, lengths=[9, 1])
    with pytest.raises(attend.UsageError, match="3 heads do not divide"):
        attend.attention(q, k, heads=3)
    with pytest.raises(attend.UsageError, match="differ"):
        attend.attention(q, numbers(1, 5, 4))
    with pytest.raises(attend.UsageError, match="heads=0"):
        attend.attention(q, k, heads=0)
    with pytest.raises(attend.UsageError, match="dcontext"):
        attend.Attention(q, k).backward(k)
    with pytest.raises(attend.UsageError, match="wanted"):
        attend.Attention(q, k).backward(q, wanted=["everything"])


def test_array():
    a = attend.attention(numbers(2, 3, 4), numbers(2, 5, 4))
    assert a.shape == (2, 3, 4) and a.ndim == 3 and a.dtype == "float32" and len(a) == 2
    assert a[-1][0].tolist() == a.tolist()[1][0] and "shape (2, 3, 4)" in repr(a)
    with pytest.raises(IndexError):
        a[2]
    m = memoryview(a)
    assert m.format == "f" and m.shape == (2, 3, 4) and not m.readonly and m.c_contiguous
    m[0, 0, 0] = 7
    assert a[0][0][0] == 7
    row = a[0]
    del a, m
    assert row[0][0] == 7
    assert row.__dlpack_device__() == (1, 0) and "dltensor" in repr(row.__dlpack__())
    with pytest.raises(BufferError):
        row.__dlpack__(copy=True)


def test_numpy():
    np = pytest.importorskip("numpy")
    q, k = np.asarray(numbers(2, 3, 4)), np.asarray(numbers(2, 5, 4))
    a = attend.attention(q, k, lengths=np.array([5, 2]))
    view = np.asarray(a)
    view[0, 0, 0] = 5
    assert a[0][0][0] == 5 and view.dtype == np.float32
    shared = np.from_dlpack(a)
    assert shared.__array_interface__["data"][0] == view.__array_interface__["data"][0]
    del a, view
    assert shared[0, 0, 0] == 5
    mask = np.zeros((3, 5), dtype=bool)
    mask[:, 1] = True
    assert np.asarray(attend.attention(q, k, mask=mask, return_weights=True)[1])[..., 1].min() == 1


def test_scores_are_returned():
    q, k = numbers(1, 2, 4), numbers(1, 3, 4, seed=2)
    o = attend.Attention(q, k, return_weights=True, return_scores=True)
    context, weights, scores = attend.attention(q, k, return_weights=True, return_scores=True)
    assert [bytes(x) for x in (context, weights, scores)] == [bytes(x) for x in (o.context, o.weights, o.scores)]
    assert bytes(attend.attention(q, k, return_scores=True)[1]) == bytes(scores)
