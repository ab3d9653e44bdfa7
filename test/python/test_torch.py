"""attend.torch: gradients in double precision, and parity with PyTorch's own attention. Skipped without PyTorch."""

import pytest

torch = pytest.importorskip("torch")

import attend  # noqa: E402
from test_arrays import PARAMETERS  # noqa: E402


def tensors(*shapes, dtype=torch.float64):
    g = torch.Generator().manual_seed(1)
    return [torch.randn(*s, generator=g, dtype=dtype).requires_grad_() for s in shapes]


@pytest.mark.parametrize("score", PARAMETERS)
@pytest.mark.parametrize("selection", ["soft", "sparsemax", "entmax15"])
@pytest.mark.parametrize("window", ["global", "local-m", "local-p"])
def test_gradcheck(score, selection, window):
    q, k, v, *p = tensors((2, 3, 8), (2, 5, 8), (2, 5, 8), *PARAMETERS[score].values())
    options = {"score": score, "selection": selection, "window": window, "lengths": [5, 4]}
    if window != "global":
        options["window_size"] = 2
    position = (torch.rand(2, 3, dtype=torch.float64) * 0.5 + 0.25).requires_grad_() if window == "local-p" else None
    previous = tensors((2, 1, 3, 5))[0] if score == "location-sensitive" else None

    def f(q, k, v, position, previous, *p):
        return attend.torch.attention(
            q, k, v, parameters=p, position=position, previous=previous, return_weights=True, **options
        )

    assert torch.autograd.gradcheck(f, (q, k, v, position, previous, *p), atol=1e-6)


def test_gradcheck_of_heads_and_bias():
    q, k, v, bias = tensors((2, 4, 3, 5), (2, 2, 6, 5), (2, 2, 6, 7), (1, 4, 3, 6))
    f = lambda q, k, v, bias: attend.torch.attention(q, k, v, bias=bias, soft_cap=3.0, causal=True)  # noqa: E731
    assert torch.autograd.gradcheck(f, (q, k, v, bias))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("key_heads", [4, 2])
def test_parity_with_pytorch(causal, key_heads):
    q, k, v = tensors((3, 4, 7, 16), (3, key_heads, 7, 16), (3, key_heads, 7, 16), dtype=torch.float32)
    ours = attend.torch.attention(q, k, v, causal=causal)
    wide = [x.repeat_interleave(4 // key_heads, 1) for x in (k, v)]
    theirs = torch.nn.functional.scaled_dot_product_attention(q, *wide, is_causal=causal)
    g = torch.randn_like(theirs)
    torch.testing.assert_close(ours, theirs, atol=2e-6, rtol=1e-5)
    for a, b in zip(torch.autograd.grad(ours, (q, k, v), g), torch.autograd.grad(theirs, (q, k, v), g), strict=True):
        torch.testing.assert_close(a, b, atol=5e-6, rtol=1e-5)


def test_parity_with_masks():
    q, k, v = tensors((3, 2, 5, 8), (3, 2, 6, 8), (3, 2, 6, 8), dtype=torch.float32)
    mask = torch.rand(3, 1, 5, 6) > 0.3
    mask[..., 0] = True
    ours = attend.torch.attention(q, k, v, mask=mask)
    torch.testing.assert_close(
        ours, torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask), atol=2e-6, rtol=1e-5
    )


def test_parity_of_the_additive_score():
    q, k, v, wq, wk, b, u = tensors(
        (3, 4, 8), (3, 6, 8), (3, 6, 8), (10, 8), (10, 8), (10,), (10,), dtype=torch.float32
    )
    parameters = {"u": u, "b": b, "wk": wk, "wq": wq}  # a dict has any order
    ours = attend.torch.attention(q, k, v, score="additive", parameters=parameters)
    e = torch.tanh((q @ wq.T)[:, :, None] + (k @ wk.T + b)[:, None]) @ u
    theirs = torch.softmax(e, -1) @ v
    torch.testing.assert_close(ours, theirs, atol=2e-6, rtol=1e-5)
    inputs, g = (q, k, v, wq, wk, b, u), torch.randn_like(theirs)
    for a, r in zip(torch.autograd.grad(ours, inputs, g), torch.autograd.grad(theirs, inputs, g), strict=True):
        torch.testing.assert_close(a, r, atol=2e-5, rtol=1e-4)


def test_no_copy_and_no_surprise():
    q, k = tensors((2, 3, 8), (2, 5, 8), dtype=torch.float32)
    c = attend.torch.attention(q, k)
    with torch.no_grad():
        c += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        c.sum().backward()
    c = attend.torch.attention(q.transpose(0, 1).contiguous().transpose(0, 1), k)  # not contiguous: copied
    c.sum().backward()
    assert q.grad is not None and k.grad is not None
    with pytest.raises(TypeError, match="float32"):
        attend.torch.attention(q.bfloat16(), k.bfloat16())
    with pytest.raises(attend.UsageError):
        attend.torch.attention(q.double(), k.double(), heads=3)
    assert torch.from_dlpack(attend.attention(q.detach(), k.detach())).shape == (2, 3, 8)


@pytest.mark.parametrize("weights", [False, True])
def test_masks_and_scores(weights):
    """A mask may be a view; the scores come last, and have no gradient."""
    q, k, v = tensors((2, 3, 8), (2, 5, 8), (2, 5, 8), dtype=torch.float32)
    mask = torch.tensor([[True, False, True, True, False]] * 3)
    lengths = torch.tensor([[5, 9], [4, 9]])[:, 0]
    result = attend.torch.attention(
        q, k, v, mask=mask.expand(2, 3, 5), lengths=lengths, return_weights=weights, return_scores=True
    )
    assert len(result) == 2 + weights
    context, scores = result[0], result[-1]
    inner = (q @ k.transpose(1, 2) / 8**0.5)[:, None]
    allowed = (mask & (torch.arange(5) < lengths[:, None, None]))[:, None]
    assert torch.allclose(scores[allowed], inner[allowed], atol=1e-5)
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=allowed[:, 0])
    assert torch.allclose(context, expected, atol=1e-5) and not scores.requires_grad
    context.square().sum().backward()
    gradient, q.grad = q.grad, None
    expected.square().sum().backward()
    assert torch.allclose(gradient, q.grad, atol=1e-4)
