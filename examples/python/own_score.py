"""A score function of your own, built from the library's, and checked against PyTorch.

    python3 own_score.py

Attention to the nearest key: the score is minus the squared distance, -|q - k|^2 / s, with s = 2 sqrt(width). It is the
dot product 2 q . k / s, minus |k|^2 / s, which a bias adds, minus |q|^2 / s, which is the same for all keys of a query and
which the softmax cancels. A script of cells. Needs attend and torch."""

# %% The score in PyTorch's operations, and the same attention by the library
import time

import torch

import attend
import attend.torch


def by_pytorch(q, k, v):
    s = 2 * q.shape[-1] ** 0.5
    distance = (q[:, :, None, :] - k[:, None, :, :]).square().sum(-1)  # (batch, queries, keys, width) in memory
    return torch.softmax(-distance / s, -1) @ v


def by_attend(q, k, v):
    s = 2 * q.shape[-1] ** 0.5
    bias = -(k.square().sum(-1) / s)[:, None, None, :].expand(-1, 1, q.shape[1], -1).contiguous()
    return attend.torch.attention(2 * q / s, k, v, score="dot", bias=bias)


# %% The same values and the same gradients
generator = torch.Generator().manual_seed(1)


def tensors(dtype, batch=4, queries=40, keys=60, width=32):
    shapes = (batch, queries, width), (batch, keys, width), (batch, keys, width)
    return [torch.randn(*s, generator=generator, dtype=dtype).requires_grad_() for s in shapes]


inputs = tensors(torch.float32)
ours, theirs = by_attend(*inputs), by_pytorch(*inputs)
g = torch.randn(ours.shape, generator=generator)
worst = max(
    float((a - b).detach().abs().max())
    for a, b in zip((ours, *torch.autograd.grad(ours, inputs, g)), (theirs, *torch.autograd.grad(theirs, inputs, g)))
)
print(f"largest difference of values and gradients: {worst:.1e}")
assert worst < 1e-4

# %% The gradients in double precision, against differences
assert torch.autograd.gradcheck(by_attend, tensors(torch.float64, batch=2, queries=3, keys=5, width=4))
print("the gradients are those of the function")

# %% And its speed, forward and backward
for name, function in (("attend", by_attend), ("PyTorch", by_pytorch)):
    best = float("inf")
    for _ in range(10):
        start = time.perf_counter()
        torch.autograd.grad(function(*inputs), inputs, g)
        best = min(best, time.perf_counter() - start)
    print(f"{name:8} {1000 * best:6.2f} ms")
