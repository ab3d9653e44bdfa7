#!/usr/bin/env python3
"""The LSTMN (Cheng, Dong, Lapata 2016) word by word in float64, and test/golden/lstmn*.golden made with it.

    lstmn_reference.py             write the files
    lstmn_reference.py --check     write nothing; compare with the files that are there, to 1e-13

No batches, no padding, nothing computed ahead: one sentence, one word, one equation after another, in the letters of the
paper. PyTorch only differentiates, and that is compared with finite differences (torch.autograd.gradcheck) for every golden.
Format, seeds and rounding are those of make_goldens.py. Names of the tensors:
    lengths, x                  words of each sequence, and their rows
    span                        words that are looked back at; 0: all
    wk, wx, wt, lb, v           the look at the past: W_h, W_x, W_h~ of the paper, a bias, and v
    w, u, b                     the gates, rows i, f, g (the paper's c^), o; what multiplies x, what multiplies h~, a bias
    source_lengths, gamma, alpha   tapes of the sources, for deep fusion
    swk, swx, swt, slb, sv      the look at the source: W_gamma, W_x, W_gamma~, a bias, and u
    rw, ru, rb                  the gate r: what multiplies x, what multiplies gamma~, a bias
    y, c                        outputs: h and c of every row
    weights, source_weights     outputs: (sequence, 1, word, word it looks at), 0 where there is none
"""
import itertools
import sys

import torch

import make_goldens


def look(p, x, before, hidden_tape, memory_tape):
    """Equations 4 to 6 (with a bias): where a word x looks on a tape, and what it sees there.

    before: what the word before saw on the hidden tape (h~ of equation 4). Returns h~, c~ and the weights s."""
    if not hidden_tape:
        return torch.zeros_like(before), torch.zeros(p["memory"], dtype=torch.float64), []
    a = [p["v"] @ torch.tanh(p["wk"] @ h_i + p["wx"] @ x + p["wt"] @ before + p["b"]) for h_i in hidden_tape]
    exponentials = [torch.exp(a_i - max(a)) for a_i in a]
    s = [e / sum(exponentials) for e in exponentials]
    return sum(s_i * h_i for s_i, h_i in zip(s, hidden_tape)), sum(s_i * c_i for s_i, c_i in zip(s, memory_tape)), s


def read(p, rows, span=0, source=None):
    """A sentence, word by word. source: the tapes (gamma, alpha) for deep fusion.

    Returns the tapes, and for every word the weights on the words before it that it sees and on those of the source."""
    size = p["u"].shape[1]
    hidden_tape, memory_tape, weights, source_weights = [], [], [], []
    h_seen = torch.zeros(size, dtype=torch.float64)
    g_seen = torch.zeros(source[0].shape[1], dtype=torch.float64) if source else None
    for x in rows:
        near = slice(-span, None) if span else slice(None)
        h_seen, c_seen, s = look(p["look"], x, h_seen, hidden_tape[near], memory_tape[near])
        i, f, c_hat, o = (p["w"] @ x + p["u"] @ h_seen + p["b"]).split(size)                    # equation 7
        c = torch.sigmoid(f) * c_seen + torch.sigmoid(i) * torch.tanh(c_hat)                    # equation 8
        if source:                                                                              # equations 11 to 15
            gamma, alpha = (list(tape) for tape in source)
            g_seen, a_seen, w = look(p["source_look"], x, g_seen, gamma, alpha)
            r = torch.sigmoid(p["rw"] @ x + p["ru"] @ g_seen + p["rb"])
            c = r * a_seen + c
            source_weights.append(w)
        hidden_tape.append(torch.sigmoid(o) * torch.tanh(c))                                    # equation 9
        memory_tape.append(c)
        weights.append(s)
    return hidden_tape, memory_tape, weights, source_weights


# ---- goldens ----

class Golden(make_goldens.Golden):
    maker = "tools/lstmn_reference.py"


class Shape:
    def __init__(self, lengths, span=0, hidden=5, attention=7, width=3, bias=True, sources=None, gamma=4, far=0):
        self.lengths, self.span, self.hidden, self.attention, self.width = lengths, span, hidden, attention, width
        self.bias, self.sources, self.gamma, self.far = bias, sources, gamma, far


def draw_look(g, s, prefix, tape):
    g.leaf(f"{prefix}wk", g.numbers(s.attention, tape, bound=32))
    g.leaf(f"{prefix}wx", g.numbers(s.attention, s.width, bound=32))
    g.leaf(f"{prefix}wt", g.numbers(s.attention, tape, bound=32))
    if s.bias:
        numbers = g.numbers(s.attention)
        for channel in range(0, s.attention if s.far else 0, 3):  # every third one where no exponential can follow
            numbers[channel] += s.far * (1 if channel % 2 else -1)
        g.leaf(f"{prefix}lb", numbers)
    g.leaf(f"{prefix}v", g.numbers(s.attention, bound=48))


def draw_leaves(g, s):
    g.put("lengths", s.lengths)
    g.put("span", [s.span])
    g.leaf("x", g.numbers(sum(s.lengths), s.width, bound=48))
    draw_look(g, s, "", s.hidden)
    g.leaf("w", g.numbers(4 * s.hidden, s.width, bound=32))
    g.leaf("u", g.numbers(4 * s.hidden, s.hidden, bound=32))
    if s.bias:
        g.leaf("b", g.numbers(4 * s.hidden))
    if not s.sources:
        return
    g.put("source_lengths", s.sources)
    g.leaf("gamma", g.numbers(sum(s.sources), s.gamma, bound=48))
    g.leaf("alpha", g.numbers(sum(s.sources), s.hidden, bound=48))
    draw_look(g, s, "s", s.gamma)
    g.leaf("rw", g.numbers(s.hidden, s.width))
    g.leaf("ru", g.numbers(s.hidden, s.gamma))
    if s.bias:
        g.leaf("rb", g.numbers(s.hidden))


def look_of(s, leaves, prefix):
    none = torch.zeros(s.attention, dtype=torch.float64)
    return {"wk": leaves[prefix + "wk"], "wx": leaves[prefix + "wx"], "wt": leaves[prefix + "wt"],
            "v": leaves[prefix + "v"], "b": leaves.get(prefix + "lb", none), "memory": s.hidden}


def pad(weights, places, shape):
    """All weights as one tensor; places: of each row the sequence, the word, and the first word it sees."""
    index, flat = [], []
    for (b, t, first), row in zip(places, weights, strict=True):
        index += [(b, 0, t, first + j) for j in range(len(row))]
        flat += row
    out = torch.zeros(shape, dtype=torch.float64)
    return out.index_put(tuple(torch.tensor(i) for i in zip(*index)), torch.stack(flat))


def run(s, leaves):
    """Outputs by name."""
    p = {name: leaves.get(name) for name in ("w", "u", "rw", "ru")}
    p["b"] = leaves.get("b", torch.zeros(4 * s.hidden, dtype=torch.float64))
    p["rb"] = leaves.get("rb", torch.zeros(s.hidden, dtype=torch.float64))
    p["look"] = look_of(s, leaves, "")
    tapes = None
    if s.sources:
        p["source_look"] = look_of(s, leaves, "s")
        tapes = list(zip(leaves["gamma"].split(s.sources), leaves["alpha"].split(s.sources)))
    y, c, weights, source_weights, places = [], [], [], [], []
    for b, rows in enumerate(leaves["x"].split(s.lengths)):
        hidden, memory, seen, source_seen = read(p, rows, s.span, tapes[b] if tapes else None)
        y, c, weights, source_weights = y + hidden, c + memory, weights + seen, source_weights + source_seen
        places += [(b, t, t - len(row)) for t, row in enumerate(seen)]
    longest = max(s.lengths)
    out = {"y": torch.stack(y), "c": torch.stack(c),
           "weights": pad(weights, places, (len(s.lengths), 1, longest, longest))}
    if tapes:
        places = [(b, t, 0) for b, t, _ in places]
        out["source_weights"] = pad(source_weights, places, (len(s.lengths), 1, longest, max(s.sources)))
    return out


def check(g, s):
    """Finite differences, at these very inputs; of large ones along random directions only."""
    names = list(g.leaves)

    def function(*values):
        return tuple(run(s, dict(zip(names, values))).values())

    assert torch.autograd.gradcheck(function, tuple(g.leaves.values()), eps=1e-6, atol=1e-7, rtol=1e-6,
                                    fast_mode=s.hidden > 8)


def golden(name, title, s):
    for draw in itertools.count():
        g = Golden(name, title, draw)
        draw_leaves(g, s)
        for key, value in run(s, g.leaves).items():
            g.output(key, value)
        g.finish()
        if draw == 100:
            raise RuntimeError(f"{name}: some input never matters")
        if all((leaf.grad != 0).any() for leaf in g.leaves.values()):
            check(g, s)
            return g


def lstmn_goldens():
    yield golden("lstmn", "LSTMN", Shape([3, 1, 5, 2]))
    yield golden("lstmn_wide", "LSTMN wider than a vector, that looks back at three words; a sequence of none",
                 Shape([5, 0, 2, 4], span=3, hidden=17, attention=19))
    yield golden("lstmn_span", "LSTMN that looks back at two words; without biases", Shape([6, 2], span=2, bias=False))
    yield golden("lstmn_far", "LSTMN in whose looks some channels are far from 0, deep fusion",
                 Shape([4, 3], far=24.0, sources=[2, 3]))
    yield golden("lstmn_deep", "LSTMN, deep fusion; a source of no words", Shape([2, 1, 4], sources=[3, 0, 5]))
    yield golden("lstmn_deep_span", "LSTMN, deep fusion, looks back at three words; without biases",
                 Shape([5, 3], span=3, hidden=4, gamma=6, bias=False, sources=[1, 4]))


if __name__ == "__main__":
    sys.exit(make_goldens.main(lstmn_goldens(), __doc__.splitlines()[0]))
