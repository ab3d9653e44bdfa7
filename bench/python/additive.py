"""Additive attention, forward and backward, on two threads: attend.torch against PyTorch's forms of the same, in one run.

    PYTHONPATH=BUILD/python python3 additive.py [compile]

With `compile` also against torch.compile, which takes minutes."""

import os
import sys
import time

import torch
import torch.nn.functional as F

import attend
import attend.torch

print(f"kernels {attend.kernel_name()}, PyTorch {torch.__version__}, load average {os.getloadavg()[0]:.1f}")
torch.set_num_threads(2)
width = 512
ROUNDS = 9


def best_of_each(functions):
    """The fastest of some runs of each, one after another, so that all see the same machine."""
    seconds = dict.fromkeys(functions, float("inf"))
    for _ in range(ROUNDS):
        for name, run in functions.items():
            start = time.perf_counter()
            run()
            seconds[name] = min(seconds[name], time.perf_counter() - start)
    return seconds


def forms(batch, length):
    """attend.torch, and PyTorch's forms of the same."""
    tensors = [torch.randn(batch, length, width, requires_grad=True) for _ in range(2)]
    wq, wk = [(torch.randn(width, width) * width**-0.5).requires_grad_() for _ in range(2)]
    b, u = [(torch.randn(width) * width**-0.5).requires_grad_() for _ in range(2)]
    q, k = tensors
    leaves, gradient = [q, k, wq, wk, b, u], torch.randn(batch, length, width)

    def ours():
        return attend.torch.attention(q, k, k, score="additive", parameters=[wq, wk, b, u], threads=2)

    def softmax_of(scores):
        return torch.bmm(torch.softmax(scores, -1), k)

    def broadcast():
        return softmax_of(torch.matmul(torch.tanh(F.linear(q, wq)[:, :, None] + F.linear(k, wk, b)[:, None]), u))

    def in_place():
        return softmax_of(torch.matmul((F.linear(q, wq)[:, :, None] + F.linear(k, wk, b)[:, None]).tanh_(), u))

    def steps():
        a, c = F.linear(q, wq), F.linear(k, wk, b)
        return softmax_of(torch.stack([torch.matmul((c + a[:, t, None]).tanh_(), u) for t in range(length)], 1))

    def runner(f):
        return lambda: torch.autograd.grad(f(), leaves, gradient)

    everything = {"attend": ours, "broadcast": broadcast, "in place": in_place, "steps": steps}
    if "compile" in sys.argv:
        everything["compiled"] = torch.compile(broadcast)
    torch.testing.assert_close(ours(), broadcast(), atol=1e-4, rtol=1e-3)
    return {name: runner(f) for name, f in everything.items()}


for batch, length in ((64, 25), (4, 200)):
    times = best_of_each(forms(batch, length))
    ours = times.pop("attend")
    name = min(times, key=times.get)
    print(f"additive, B {batch} T {length}         {times[name] / ours:.2f} x PyTorch's best form ({name}), {1000 * ours:.1f} ms")
