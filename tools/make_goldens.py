#!/usr/bin/env python3
"""Writes test/golden/*.golden: results of PyTorch in float64, for the tests of test/golden.

    make_goldens.py             write the files
    make_goldens.py --check     compare with the existing files, to 1e-13; write nothing

Inputs are multiples of 1/32 or of another power of two, which float represents exactly; they come from Python's own
generator, seeded with SEED and the name of the file, and are the same on every machine. Results are byte-identical on
the same machine; on another processor the last digit may differ.

If PyTorch has the layer (nn.RNN, nn.GRU, nn.LSTM), its result is written. Otherwise (reset before, ReLU in place of
tanh) the result is that of the loop `run_loop`, which is compared with nn.* where both exist, and whose derivatives are compared with finite differences (torch.autograd.gradcheck).

The format, read by test/golden/golden.c: lines that start with # are comments; a tensor is a line
`name rank d0 d1 ...`, then its numbers, row-major, one row on each line, printed with %.17g. Names:
    x, f0.w, ...   an input; f0 is layer 0 forward, r1 layer 1 in reverse
    y, f0.hn, ...  an output
    bar.NAME       the cotangent of an output: the loss is the sum over outputs of sum(bar.NAME * NAME)
    grad.NAME      the derivative of that loss with respect to an input
"""
import argparse
import itertools
import pathlib
import random
import sys

import torch
import torch.nn.functional as F
from torch import nn

SEED = 20150901
DIRECTORY = pathlib.Path(__file__).resolve().parent.parent / "test" / "golden"
KINK = 1e-3  # minimum distance of any ReLU argument from zero, so that float decides as double does


class Golden:
    """The tensors of one file, in order of creation."""

    maker = "tools/make_goldens.py (which documents the format)"

    def __init__(self, name, title, draw=0, seed=None):
        self.name, self.title = name, title
        self.random = random.Random(f"{SEED} {seed or name} {draw}")
        self.tensors, self.leaves, self.loss = {}, {}, 0

    def put(self, name, value):
        assert name not in self.tensors, name
        self.tensors[name] = torch.as_tensor(value, dtype=torch.float64).detach().clone()

    def numbers(self, *shape, bound=16, unit=32, shift=0.0):
        """Multiples of 1/unit in [-bound, bound]/unit, moved by shift."""
        count = torch.Size(shape).numel()
        flat = [shift + self.random.randint(-bound, bound) / unit for _ in range(count)]
        value = torch.tensor(flat, dtype=torch.float64).reshape(shape)
        assert torch.equal(value.float().double(), value), "not exact in float"
        return value

    def leaf(self, name, value):
        """An input whose gradient is a result."""
        self.put(name, value)
        self.leaves[name] = nn.Parameter(value.clone())
        return self.leaves[name]

    def output(self, name, value):
        self.put(name, value)
        bar = self.numbers(*value.shape)
        self.put("bar." + name, bar)
        self.loss = self.loss + (bar * value).sum()

    def finish(self):
        if self.leaves:
            self.loss.backward()
        for name, leaf in self.leaves.items():
            self.put("grad." + name, torch.zeros_like(leaf) if leaf.grad is None else leaf.grad)
        return self

    def text(self):
        lines = [f"# {self.title}",
                 f"# Made by {self.maker} with PyTorch {torch.__version__},",
                 f"# float64, seed {SEED}. Do not edit."]
        for name, value in self.tensors.items():
            assert torch.isfinite(value).all(), (self.name, name)
            lines.append(" ".join([name, str(value.dim()), *map(str, value.shape)]))
            lines += [" ".join("%.17g" % v for v in row) for row in value.reshape(-1, value.shape[-1]).tolist()]
        return "\n".join(lines) + "\n"


# ---- recurrent cells (op.h), as loops over one sequence after another ----

class Activation:
    """tanh or ReLU, and the minimum distance of a ReLU argument from zero."""

    def __init__(self, name):
        self.relu, self.margin = name == "relu", float("inf")

    def __call__(self, a):
        if not self.relu:
            return torch.tanh(a)
        self.margin = min(self.margin, a.detach().abs().min().item())
        return torch.relu(a)


def step_simple(f, w, x, h, _):
    return f(w["w"] @ x + w["bw"] + w["u"] @ h + w["bu"]), None


def gru_parts(w, x, h):
    hidden = h.shape[0]
    gx = (w["w"] @ x + w["bw"]).split(hidden)
    u, b = w["u"].split(hidden), w["bu"].split(hidden)
    r = torch.sigmoid(gx[0] + u[0] @ h + b[0])
    z = torch.sigmoid(gx[1] + u[1] @ h + b[1])
    return r, z, gx[2], u[2], b[2]


def step_gru(f, w, x, h, _):
    r, z, gx, u, b = gru_parts(w, x, h)
    n = f(gx + r * (u @ h + b))
    return (1 - z) * n + z * h, None


def step_gru_before(f, w, x, h, _):
    r, z, gx, u, b = gru_parts(w, x, h)
    n = f(gx + u @ (r * h) + b)
    return (1 - z) * n + z * h, None


def step_lstm(f, w, x, h, c):
    i, forget, g, o = (w["w"] @ x + w["bw"] + w["u"] @ h + w["bu"]).split(h.shape[0])
    c = torch.sigmoid(forget) * c + torch.sigmoid(i) * f(g)
    return torch.sigmoid(o) * f(c), c


STEPS = {"simple": step_simple, "gru": step_gru, "gru_before": step_gru_before, "lstm": step_lstm}
GATES = {"simple": 1, "gru": 3, "gru_before": 3, "lstm": 4}


class Shape:
    """The specification of a recurrent golden. directions: "f", "r" or "fr"."""

    def __init__(self, kind, hidden, width, lengths, activation="tanh", directions="f", layers=1, bias=True,
                 state=True):
        self.kind, self.activation, self.directions, self.layers = kind, activation, directions, layers
        self.hidden, self.width, self.lengths, self.bias, self.state = hidden, width, lengths, bias, state
        self.prefixes = [f"{d}{layer}" for layer in range(layers) for d in directions]
        self.torch_has_it = kind != "gru_before" and (activation == "tanh" or kind == "simple") and min(lengths) > 0

    def states(self):
        return ("h", "c") if self.kind == "lstm" else ("h",)


def draw_leaves(g, s):
    """The inputs and weights of every layer and direction, by name."""
    g.put("lengths", s.lengths)
    g.leaf("x", g.numbers(sum(s.lengths), s.width, bound=32))
    rows = GATES[s.kind] * s.hidden
    for prefix in s.prefixes:
        width = s.width if prefix[1] == "0" else s.hidden * len(s.directions)
        g.leaf(f"{prefix}.w", g.numbers(rows, width))
        g.leaf(f"{prefix}.u", g.numbers(rows, s.hidden))
        for bias in ("bw", "bu") if s.bias else ():
            g.leaf(f"{prefix}.{bias}", g.numbers(rows))
        for state in s.states() if s.state else ():
            g.leaf(f"{prefix}.{state}0", g.numbers(len(s.lengths), s.hidden, bound=32))


def run_loop(s, leaves, f):
    """Outputs by name: y, and the final states of every layer and direction."""
    zeros = torch.zeros(GATES[s.kind] * s.hidden, dtype=torch.float64)
    initial = torch.zeros(len(s.lengths), s.hidden, dtype=torch.float64)
    outputs, rows = {}, leaves["x"]
    for layer in range(s.layers):
        sides = []
        for prefix in (p for p in s.prefixes if p[1] == str(layer)):
            w = {k: leaves.get(f"{prefix}.{k}", zeros) for k in ("w", "u", "bw", "bu")}
            side, finals = [], []
            for b, sequence in enumerate(rows.split(s.lengths)):
                h, c = (leaves.get(f"{prefix}.{k}0", initial)[b] for k in ("h", "c"))
                seen = []
                for x in sequence.flip(0) if prefix[0] == "r" else sequence:
                    h, c = STEPS[s.kind](f, w, x, h, c)
                    seen.append(h)
                side += reversed(seen) if prefix[0] == "r" else seen
                finals.append((h, c))
            sides.append(torch.stack(side))
            for k, state in enumerate(s.states()):
                outputs[f"{prefix}.{state}n"] = torch.stack([final[k] for final in finals])
        rows = torch.cat(sides, dim=1)
    return {"y": rows, **outputs}


def run_torch(s, leaves):
    """The same with nn.RNN, nn.GRU or nn.LSTM on a packed batch."""
    options = dict(num_layers=s.layers, bidirectional=s.directions == "fr", bias=s.bias, dtype=torch.float64)
    if s.kind == "simple":
        options["nonlinearity"] = s.activation
    module = {"simple": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}[s.kind](s.width, s.hidden, **options)
    theirs = {"w": "weight_ih", "u": "weight_hh", "bw": "bias_ih", "bu": "bias_hh"}
    for prefix, (ours, name) in itertools.product(s.prefixes, theirs.items()):
        if f"{prefix}.{ours}" in leaves:
            reverse = "_reverse" if s.directions == "fr" and prefix[0] == "r" else ""
            setattr(module, f"{name}_l{prefix[1]}{reverse}", leaves[f"{prefix}.{ours}"])
    sequences = leaves["x"].split(s.lengths)
    is_reversed = s.directions == "r"  # nn.* has no layer that only runs backward: reverse the sequences
    if is_reversed:
        sequences = [x.flip(0) for x in sequences]
    state = None
    if s.state:
        state = tuple(torch.stack([leaves[f"{p}.{k}0"] for p in s.prefixes]) for k in s.states())
        state = state if s.kind == "lstm" else state[0]
    y, final = module(nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False), state)
    sequences = nn.utils.rnn.unpack_sequence(y)
    outputs = {"y": torch.cat([x.flip(0) for x in sequences] if is_reversed else sequences)}
    for k, values in zip(s.states(), final if s.kind == "lstm" else (final,)):
        outputs |= {f"{prefix}.{k}n": values[i] for i, prefix in enumerate(s.prefixes)}
    return outputs


def check_loop(g, s):
    """Finite differences of the loop at these inputs."""
    names = list(g.leaves)

    def function(*values):
        return tuple(run_loop(s, dict(zip(names, values)), Activation(s.activation)).values())

    assert torch.autograd.gradcheck(function, tuple(g.leaves.values()), eps=1e-6, atol=1e-7, rtol=1e-6)


def draw_recurrent(g, s):
    """Fills g. Returns whether the numbers are suitable: far from the kinks of ReLU, and every unit has an effect."""
    draw_leaves(g, s)
    f = Activation(s.activation)
    outputs = run_loop(s, g.leaves, f)
    if s.torch_has_it:
        theirs = run_torch(s, g.leaves)
        for key, value in outputs.items():
            torch.testing.assert_close(value, theirs[key], rtol=0, atol=1e-14)
        outputs = theirs
    for key in sorted(outputs):
        g.output(key, outputs[key])
    g.finish()
    return f.margin > KINK and all((leaf.grad != 0).any(dim=-1).all() for leaf in g.leaves.values())


def recurrent(name, title, s):
    draws = (Golden(name, title, draw) for draw in itertools.count())
    g = next(g for g in draws if draw_recurrent(g, s))
    if not s.torch_has_it:
        check_loop(g, s)
    return g


def recurrent_goldens():
    ragged, empty = [3, 1, 4, 2], [2, 0, 3, 1]
    yield recurrent("gru", "GRU, reset after: torch.nn.GRU", Shape("gru", 17, 3, ragged))
    yield recurrent("gru_reverse", "GRU, reset after, in reverse: torch.nn.GRU on reversed sequences",
                    Shape("gru", 5, 3, ragged, directions="r"))
    yield recurrent("gru_both", "GRU, reset after, both directions: torch.nn.GRU",
                    Shape("gru", 4, 3, ragged, directions="fr"))
    yield recurrent("gru_relu", "GRU, reset after, ReLU for tanh; an empty sequence: a loop",
                    Shape("gru", 5, 3, empty, activation="relu"))
    yield recurrent("gru_before", "GRU, reset before; an empty sequence: a loop",
                    Shape("gru_before", 9, 3, empty))
    yield recurrent("gru_before_relu", "GRU, reset before, in reverse, ReLU for tanh: a loop",
                    Shape("gru_before", 5, 3, ragged, activation="relu", directions="r"))
    yield recurrent("lstm", "LSTM: torch.nn.LSTM", Shape("lstm", 17, 3, ragged))
    yield recurrent("lstm_reverse", "LSTM in reverse: torch.nn.LSTM on reversed sequences",
                    Shape("lstm", 5, 3, ragged, directions="r"))
    yield recurrent("lstm_relu", "LSTM, ReLU for tanh; an empty sequence: a loop",
                    Shape("lstm", 5, 3, empty, activation="relu"))
    yield recurrent("lstm_stacked", "LSTM, two layers, both directions: torch.nn.LSTM",
                    Shape("lstm", 3, 2, ragged, directions="fr", layers=2))
    yield recurrent("lstm_bare", "LSTM without biases, from zeros: torch.nn.LSTM",
                    Shape("lstm", 3, 3, ragged, bias=False, state=False))
    yield recurrent("simple_tanh", "simple RNN: torch.nn.RNN", Shape("simple", 17, 3, ragged))
    yield recurrent("simple_relu", "simple RNN in reverse, ReLU: torch.nn.RNN on reversed sequences",
                    Shape("simple", 5, 3, ragged, activation="relu", directions="r"))
    yield recurrent("simple_bare", "simple RNN without biases, from zeros: torch.nn.RNN",
                    Shape("simple", 5, 3, ragged, bias=False, state=False))


# ---- single operations ----

def linear():
    g = Golden("linear", "torch.nn.functional.linear with and without a bias")
    x = g.leaf("x", g.numbers(5, 4))
    w, b, bare = g.leaf("w", g.numbers(21, 4)), g.leaf("b", g.numbers(21)), g.leaf("bare", g.numbers(3, 4))
    g.output("y", F.linear(x, w, b))
    g.output("y_bare", F.linear(x, bare))
    return g.finish()


def matmul():
    g = Golden("matmul", "torch.matmul, all four transpositions: nn, tn, nt, tt")
    a, a_t = g.leaf("a", g.numbers(3, 5)), g.leaf("a_t", g.numbers(5, 3))
    b, b_t = g.leaf("b", g.numbers(5, 7)), g.leaf("b_t", g.numbers(7, 5))
    for name, value in ("nn", a @ b), ("tn", a_t.T @ b), ("nt", a @ b_t.T), ("tt", a_t.T @ b_t.T):
        g.output(name, value)
    return g.finish()


def elementwise():
    g = Golden("elementwise", "elementwise sums and products; v is broadcast to each row")
    a, b, v = g.leaf("a", g.numbers(3, 19)), g.leaf("b", g.numbers(3, 19)), g.leaf("v", g.numbers(19))
    for name, value in (("add", a + b), ("add_row", a + v), ("mul", a * b), ("mul_row", a * v), ("twice", a * a),
                        ("scale", a * -0.75), ("sum", a.sum().reshape(1))):
        g.output(name, value)
    return g.finish()


def activations():
    g = Golden("activations", "torch.tanh, sigmoid, relu, gelu; arguments include 0, tiny and saturated ones")
    x = g.numbers(3, 19, bound=128)
    x[0, :10] = torch.tensor([0, 2**-20, -(2**-20), 9.5, -9.5, 20, -20, 100, -100, 0.0625])
    x = g.leaf("x", x)
    for function in torch.tanh, torch.sigmoid, torch.relu, F.gelu:
        g.output(function.__name__, function(x))
    return g.finish()


def swiglu():
    g = Golden("swiglu", "torch.nn.functional.silu of one half of each row, times the other")
    ab = g.numbers(3, 38, bound=128)
    ab[0, :6] = torch.tensor([0, 9.5, -9.5, 20, -20, -100])
    a, b = g.leaf("ab", ab).chunk(2, dim=1)
    g.output("y", F.silu(a) * b)
    return g.finish()


def positions():
    g = Golden("positions", "positional encodings: sinusoids, learned (torch.nn.functional.embedding), and rotary (pairs as complex numbers); "
               "options: scale, first position, heads", seed="places")
    lengths, scale, first, heads, width = [3, 0, 1, 5], 0.75, 7, 2, 12
    g.put("lengths", lengths)
    g.put("options", [scale, first, heads])
    x, table = g.leaf("x", g.numbers(sum(lengths), width)), g.leaf("table", g.numbers(14, width))
    at = torch.tensor([first + t for length in lengths for t in range(length)])

    def angles(numbers):
        frequency = 10000.0 ** -(torch.arange(0, numbers, 2, dtype=torch.float64) / numbers)
        return at[:, None] * frequency

    wave = angles(width)
    g.output("sinusoids", scale * x + torch.stack([wave.sin(), wave.cos()], dim=-1).flatten(1))
    g.output("rows", scale * x + F.embedding(at, table))
    pairs = torch.view_as_complex(x.reshape(len(at), heads, width // heads // 2, 2))
    rotations = torch.polar(torch.ones(()).double(), angles(width // heads))
    g.output("rotary", torch.view_as_real(pairs * rotations[:, None]).flatten(1))
    return g.finish()


def embedding():
    g = Golden("embedding", "torch.nn.functional.embedding; some rows are read often, some never")
    table, ids = g.leaf("table", g.numbers(9, 19)), [4, 0, 4, 8, 4]
    g.put("ids", ids)
    g.output("y", F.embedding(torch.tensor(ids), table))
    return g.finish()


def rows():
    g = Golden("rows", "gather, concatenation along either axis, columns, reshape")
    table, a = g.leaf("table", g.numbers(9, 6)), g.leaf("a", g.numbers(5, 3))
    ids = [4, 0, 4, 8, 4]
    g.put("ids", ids)
    taken = table[ids]
    g.output("gather", taken)
    g.output("concat", torch.cat([a, taken, a], dim=1))
    g.output("stack", torch.cat([taken, table], dim=0))
    g.output("slice", table[:, 2:5])
    g.output("reshape", a.reshape(3, 5))
    return g.finish()


def layer_norm(name, title, epsilon, **numbers):
    g = Golden(name, title)
    g.put("epsilon", [epsilon])
    x = g.leaf("x", g.numbers(3, 19, **numbers))
    gain, bias = g.leaf("gain", g.numbers(19, shift=1.0)), g.leaf("bias", g.numbers(19))
    g.output("y", F.layer_norm(x, (19,), gain, bias, epsilon))
    return g.finish()


def cross_entropy(name, smoothing):
    g = Golden(name, f"torch.nn.functional.cross_entropy, label_smoothing {smoothing}, some rows ignored")
    scale, width = 0.375, 37
    targets = [5, -1, 36, 0, -1, 30]
    g.put("options", [smoothing, scale])
    g.put("targets", targets)
    logits = g.numbers(len(targets), width, bound=64)
    logits[3] += 80.0  # overflows exp in float unless the maximum is subtracted
    logits[2] -= 80.0
    logits[5, 30] -= 40.0  # a target with probability near 0
    logits = g.leaf("logits", logits)
    ids = torch.tensor(targets)
    options = dict(ignore_index=-1, reduction="none")
    loss = scale * F.cross_entropy(logits, ids, label_smoothing=smoothing, **options).sum()
    # the formula of op.h
    log_p = torch.log_softmax(logits.detach(), dim=1)
    rows_of = [-((1 - smoothing) * log_p[i, t] + smoothing / width * log_p[i].sum()) for i, t in enumerate(targets)
               if t >= 0]
    torch.testing.assert_close(loss.detach(), scale * sum(rows_of), rtol=1e-14, atol=0)
    g.put("nll", F.cross_entropy(logits, ids, **options))
    g.output("loss", loss.reshape(1))
    return g.finish()


def op_goldens():
    yield linear()
    yield matmul()
    yield elementwise()
    yield activations()
    yield swiglu()
    yield positions()
    yield embedding()
    yield rows()
    yield layer_norm("layer_norm", "torch.nn.functional.layer_norm", 1e-5)
    yield layer_norm("layer_norm_flat", "torch.nn.functional.layer_norm, rows nearly constant: epsilon dominates", 1e-3,
                     bound=16, unit=1024)
    yield layer_norm("layer_norm_far", "torch.nn.functional.layer_norm, mean 1000 and deviation about 0.04", 1e-5,
                     shift=1000.0, bound=64, unit=1024)
    yield cross_entropy("cross_entropy", 0.0)
    yield cross_entropy("cross_entropy_smoothed", 0.1)


# ---- optimizers: ten updates with given gradients ----

UPDATES = 10
NO_CLIP = 0.0


def clip(parameters, max_norm):
    """clip_grad_norm_ with the factor max_norm / norm instead of max_norm / (norm + 1e-6); returns the norm."""
    norm = nn.utils.get_total_norm([p.grad for p in parameters])
    if max_norm > 0:
        nn.utils.clip_grad_norm_(parameters, max_norm * (norm + 1e-6) / norm)
    return norm


def optimize(g, kind, momentum=0.0, beta1=0.9, beta2=0.999, epsilon=1e-8, decay=0.0, max_norm=NO_CLIP):
    """The parameters by name after one update and after all, and the norms of the gradients."""
    parameters = {k: nn.Parameter(g.tensors[k].clone()) for k in ("matrix", "vector", "table")}
    if kind == "sgd":  # its weight decay is added to the gradient, which without momentum is the decoupled form
        assert momentum == 0 or decay == 0
        optimizer = torch.optim.SGD(parameters.values(), lr=1, momentum=momentum, weight_decay=decay)
    else:
        optimizer = torch.optim.AdamW(parameters.values(), lr=1, betas=(beta1, beta2), eps=epsilon, weight_decay=decay)
    ids = g.tensors["ids"].long()
    norms, first = [], {}
    for t in range(UPDATES):
        for group in optimizer.param_groups:
            group["lr"] = g.tensors["rates"][t].item()
        for k in "matrix", "vector":
            parameters[k].grad = g.tensors[f"g.{k}"][t].clone()
        table = parameters["table"]
        table.grad = torch.zeros_like(table).index_add(0, ids[t], g.tensors["g.rows"][t])
        norms.append(clip(list(parameters.values()), max_norm))
        optimizer.step()
        if t == 0:
            first = {k: p.detach().clone() for k, p in parameters.items()}
    return first, parameters, norms


def optimizers():
    g = Golden("optimizers", "torch.optim.SGD, Adam(W), clip_grad_norm_: parameters after 1 and after 10 updates; the "
               "table is read row by row (ids), as an embedding; options: kind (0 SGD, 1 Adam), momentum, beta1, "
               "beta2, epsilon, weight decay (decoupled), largest norm")
    g.put("matrix", g.numbers(3, 6, bound=32))
    g.put("vector", g.numbers(5, bound=32))
    g.put("table", g.numbers(6, 3, bound=32))
    g.put("rates", [0.0625 * (1 - t / 16) for t in range(UPDATES)])
    size = torch.tensor([2.0 ** (t % 4 - 2) for t in range(UPDATES)], dtype=torch.float64)
    g.put("g.matrix", g.numbers(UPDATES, 3, 6) * size.reshape(-1, 1, 1))
    g.put("g.vector", g.numbers(UPDATES, 5) * size.reshape(-1, 1))
    g.tensors["g.vector"][:, 3] = 0.0  # no gradient: only weight decay changes it
    g.put("ids", [[g.random.choice([0, 1, 3, 4]) for _ in range(4)] for _ in range(UPDATES)])
    g.put("g.rows", g.numbers(UPDATES, 4, 3) * size.reshape(-1, 1, 1))
    kinds = {"sgd": dict(kind="sgd"), "momentum": dict(kind="sgd", momentum=0.9),
             "sgd_decay": dict(kind="sgd", decay=0.125), "sgd_clip": dict(kind="sgd", momentum=0.5, max_norm=1.0),
             "adam": dict(kind="adam"), "adam_epsilon": dict(kind="adam", beta1=0.8, beta2=0.98, epsilon=0.03125),
             "adamw": dict(kind="adam", decay=0.125), "adam_clip": dict(kind="adam", max_norm=1.0)}
    for name, options in kinds.items():
        first, last, norms = optimize(g, **options)
        full = dict(momentum=0.0, beta1=0.9, beta2=0.999, epsilon=1e-8, decay=0.0, max_norm=NO_CLIP) | options
        g.put(f"{name}.options", [float(full.pop("kind") == "adam"), *full.values()])
        for k in first:
            g.put(f"{name}.first.{k}", first[k])
            g.put(f"{name}.last.{k}", last[k])
    assert min(norms) < 0.9 and max(norms) > 1.1, "some updates are to be clipped, some not"
    g.put("norms", torch.stack(norms))
    return g.finish()


# ---- command line ----

def differences(old, new):
    """Lines in which two files differ by more than rounding."""
    a, b = ([line.split() for line in text.splitlines() if not line.startswith("#")] for text in (old, new))
    if len(a) != len(b):
        return ["the number of lines"]
    return [" ".join(y)[:60] for x, y in zip(a, b) if x != y and not nearly(x, y)]


def nearly(x, y):
    try:
        pairs = [(float(p), float(q)) for p, q in zip(x, y, strict=True)]
        return all(abs(p - q) <= 1e-13 * max(1.0, abs(q)) for p, q in pairs)
    except ValueError:
        return False


def all_goldens():
    yield from recurrent_goldens()
    yield from op_goldens()
    yield optimizers()


def main(goldens, summary):
    """Writes the files that `goldens` yields, or checks them."""
    parser = argparse.ArgumentParser(description=summary)
    parser.add_argument("--check", action="store_true", help="compare with the existing files; write nothing")
    parser.add_argument("--directory", type=pathlib.Path, default=DIRECTORY, help="where the files are (test/golden)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    total, wrong = 0, 0
    for g in goldens:
        path, text = options.directory / f"{g.name}.golden", g.text()
        total += len(text)
        if not options.check:
            path.write_text(text)
            continue
        found = differences(path.read_text() if path.exists() else "", text)
        wrong += bool(found)
        for what in found[:3]:
            print(f"{path.name}: differs in: {what}", file=sys.stderr)
    print(f"{total} bytes; {wrong} files differ" if options.check else f"{total} bytes")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(all_goldens(), __doc__.splitlines()[0]))
