"""The PyTorch side of the benchmark. Prints the version of PyTorch; then reads tasks from standard input, one on each line, and
prints the best time in seconds of a few runs (0: failure, such as out of memory). bench/peer.c starts it with two pinned threads.

Tasks:  gru | lstm
        additive B Tq Tk D projected|unprojected
                                           forward and backward, with or without projections; the best of four forms
        dot T full|causal forward|both     scaled_dot_product_attention, B 8, H 8, d 64
        train NAME [FILE|-] [bf16]         see torch_models.py; with FILE, the total time of its batches
        decode BATCH BEAM                  see torch_decoding.py
        train-transformer [FILE|-] [bf16]  see torch_transformer.py
        decode-transformer BATCH BEAM      see torch_transformer.py
        gpu-...                            see torch_gpu.py
        memory NAME                        peak memory of a training step in a separate process, in MiB instead of seconds"""
import gc
import os
import subprocess
import sys
import time

try:
    import torch
    import torch.nn.functional as F
    from torch.utils.checkpoint import checkpoint

    import torch_decoding
    import torch_gpu
    import torch_models
    import torch_transformer
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


def additive(batch, queries, keys, width, projections):
    """Additive attention (Bahdanau et al. 2015) for all queries at once, in every form that fits into memory."""
    batch, queries, keys, width = int(batch), int(queries), int(keys), int(width)
    scale = width**-0.5
    q = torch.randn(batch, queries, width, requires_grad=True)
    k = torch.randn(batch, keys, width, requires_grad=True)
    values = torch.randn(batch, keys, width, requires_grad=True) if projections == "unprojected" else k
    wq = (torch.randn(width, width) * scale).requires_grad_()
    wk = (torch.randn(width, width) * scale).requires_grad_()
    u = (torch.randn(width) * scale).requires_grad_()
    gradient = torch.randn(batch, queries, width)
    leaves = [q, k, u] + ([wq, wk] if projections == "projected" else [values])

    def broadcast(a, b):
        return torch.matmul(torch.tanh(a[:, :, None, :] + b[:, None, :, :]), u)

    def in_place(a, b):
        return torch.matmul((a[:, :, None, :] + b[:, None, :, :]).tanh_(), u)

    def steps(a, b):
        return torch.stack([torch.matmul((b + a[:, t, None, :]).tanh_(), u) for t in range(queries)], 1)

    def recompute(a, b):
        def step(b, row, u):
            return torch.matmul((b + row).tanh_(), u)

        return torch.stack([checkpoint(step, b, a[:, t, None, :], u, use_reentrant=False) for t in range(queries)], 1)

    def runner(form):
        def run():
            for leaf in leaves:
                leaf.grad = None
            a, b = (F.linear(q, wq), F.linear(k, wk)) if projections == "projected" else (q, k)
            torch.bmm(torch.softmax(form(a, b), -1), values).backward(gradient)

        return run

    fits = batch * queries * keys * width * 4 * 3 < 6e9  # several copies of the largest array
    forms = [broadcast, in_place, steps, recompute] if fits else [steps, recompute]
    if batch * queries * keys * width * 4 * 2 > 16e9:
        forms = [recompute]
    return [runner(form) for form in forms]


def dot(length, mask, passes):
    length = int(length)
    q, k, v = (torch.randn(8, 8, length, 64, requires_grad=passes == "both") for _ in range(3))
    gradient = torch.randn(8, 8, length, 64)

    def forward():
        with torch.no_grad():
            F.scaled_dot_product_attention(q, k, v, is_causal=mask == "causal")

    def both():
        q.grad = k.grad = v.grad = None
        F.scaled_dot_product_attention(q, k, v, is_causal=mask == "causal").backward(gradient)

    return forward if passes == "forward" else both


MAKERS = {
    "gru": lambda: layer(torch.nn.GRU),
    "lstm": lambda: layer(torch.nn.LSTM),
    "additive": additive,
    "dot": dot,
    "train": torch_models.train,
    "decode": torch_decoding.decode,
    "train-transformer": torch_transformer.train,
    "decode-transformer": torch_transformer.decode,
    **torch_gpu.MAKERS,
}


def memory(name):
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_models.py")
    return float(subprocess.run([sys.executable, "-B", script, name], capture_output=True, text=True).stdout or 0)


def best(run, seconds):
    begin = time.perf_counter()
    run()
    first = time.perf_counter() - begin
    if first > 5:  # warm-up is negligible
        return first
    times = []
    end = time.perf_counter() + seconds
    while len(times) < 2 or time.perf_counter() < end:
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return min(times)


made = {}
print(torch.__version__, flush=True)
for line in sys.stdin:
    fields = line.split()
    answer = 0
    try:
        if fields[0] == "memory":
            made.clear()
            gc.collect()
            print(memory(fields[1]), flush=True)
            continue
        if line not in made:
            made.clear()  # keep the arrays of one task only
            gc.collect()
            runs = MAKERS[fields[0]](*fields[1:])
            made[line] = runs if isinstance(runs, list) else [runs]
        forms = made[line]
        times = [best(run, 1.5 / len(forms)) for run in forms]
        answer = min(times)
        made[line] = [forms[times.index(answer)]]  # later requests measure only the best form
    except Exception as error:  # whatever it is, the benchmark goes on without this figure
        print("torch: %s: %s" % (line.strip(), error), file=sys.stderr)
        made.clear()
    print(answer, flush=True)
