"""PyTorch's side of the benchmark. Prints its version; then, for each task named on a line of standard input, the best
time in seconds of a few runs. bench/peer.c starts it with two pinned threads."""
import sys
import time

try:
    import torch
except ImportError:
    sys.exit(1)

torch.set_num_threads(2)
torch.manual_seed(0)


def layer(kind, steps=25, batch=64, width=512):
    """Forward and backward of one recurrent layer, with the gradients of input, weights and biases."""
    module = kind(width, width)
    x = torch.randn(steps, batch, width, requires_grad=True)
    gradient = torch.randn(steps, batch, width)

    def run():
        module.zero_grad(set_to_none=True)
        x.grad = None
        module(x)[0].backward(gradient)

    return run


MAKERS = {"gru": lambda: layer(torch.nn.GRU), "lstm": lambda: layer(torch.nn.LSTM)}
made = {}


def best(run, seconds=2.0):
    for _ in range(2):
        run()
    times = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return min(times)


print(torch.__version__, flush=True)
for line in sys.stdin:
    task = line.strip()
    if task not in made and task in MAKERS:
        made[task] = MAKERS[task]()
    print(best(made[task]) if task in made else 0, flush=True)
