#!/usr/bin/env python3
"""A reference LSTMN (Cheng, Dong, Lapata 2016), token by token in float64; writes test/golden/lstmn*.golden and model_lstmn*.golden.

    lstmn_reference.py             write the files
    lstmn_reference.py --check     compare with the existing files, to 1e-13; write nothing

No batches, no padding, no precomputation: one sentence, one token and one equation at a time, in the notation of the
paper. PyTorch only differentiates, and the gradients are compared with finite differences (torch.autograd.gradcheck) for every golden.
Format, seeds and rounding are those of make_goldens.py. Names of the tensors:
    lengths, x                  tokens of each sequence, and their rows
    span                        maximum number of previous tokens to attend to; 0: all
    wk, wx, wt, lb, v           the attention over the past: W_h, W_x, W_h~ of the paper, a bias, and v
    w, u, b                     the gates, rows i, f, g (the paper's c^), o; for x, for h~, and a bias
    source_lengths, gamma, alpha   tapes of the sources, for deep fusion
    swk, swx, swt, slb, sv      the attention over the source: W_gamma, W_x, W_gamma~, a bias, and u
    rw, ru, rb                  the gate r: for x, for gamma~, and a bias
    y, c                        outputs: h and c of every row
    weights, source_weights     outputs: (sequence, 1, token, attended token), 0 in padding
Names of whole models are those of make_model_goldens.py, and besides `weights` (over the source) weights.encoder and
weights.decoder: layers x tokens x attended tokens for each pair, one pair after another.
"""
import itertools
import sys

import torch
import torch.nn.functional as F

import make_goldens
import make_model_goldens as models
from make_attention_goldens import redraw


def attend_to_tape(p, x, before, hidden_tape, memory_tape):
    """Equations 4 to 6 (with a bias): the attention of a token x over a tape.

    before: the attended hidden state of the previous token (h~ of equation 4). Returns h~, c~ and the weights s."""
    if not hidden_tape:
        return torch.zeros_like(before), torch.zeros(p["memory"], dtype=torch.float64), []
    a = [p["v"] @ torch.tanh(p["wk"] @ h_i + p["wx"] @ x + p["wt"] @ before + p["b"]) for h_i in hidden_tape]
    exponentials = [torch.exp(a_i - max(a)) for a_i in a]
    s = [e / sum(exponentials) for e in exponentials]
    return sum(s_i * h_i for s_i, h_i in zip(s, hidden_tape)), sum(s_i * c_i for s_i, c_i in zip(s, memory_tape)), s


def read(p, rows, span=0, source=None):
    """A sentence, token by token. source: the tapes (gamma, alpha) for deep fusion.

    Returns the tapes, and for every token its weights over previous tokens and over the source."""
    size = p["u"].shape[1]
    hidden_tape, memory_tape, weights, source_weights = [], [], [], []
    h_seen = torch.zeros(size, dtype=torch.float64)
    g_seen = torch.zeros(source[0].shape[1], dtype=torch.float64) if source else None
    for x in rows:
        near = slice(-span, None) if span else slice(None)
        h_seen, c_seen, s = attend_to_tape(p["attention"], x, h_seen, hidden_tape[near], memory_tape[near])
        i, f, c_hat, o = (p["w"] @ x + p["u"] @ h_seen + p["b"]).split(size)                    # equation 7
        c = torch.sigmoid(f) * c_seen + torch.sigmoid(i) * torch.tanh(c_hat)                    # equation 8
        if source:                                                                              # equations 11 to 15
            gamma, alpha = (list(tape) for tape in source)
            g_seen, a_seen, w = attend_to_tape(p["source_attention"], x, g_seen, gamma, alpha)
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


def draw_attention(g, s, prefix, tape):
    g.leaf(f"{prefix}wk", g.numbers(s.attention, tape, bound=32))
    g.leaf(f"{prefix}wx", g.numbers(s.attention, s.width, bound=32))
    g.leaf(f"{prefix}wt", g.numbers(s.attention, tape, bound=32))
    if s.bias:
        numbers = g.numbers(s.attention)
        for channel in range(0, s.attention if s.far else 0, 3):  # every third channel, beyond the range of exp
            numbers[channel] += s.far * (1 if channel % 2 else -1)
        g.leaf(f"{prefix}lb", numbers)
    g.leaf(f"{prefix}v", g.numbers(s.attention, bound=48))


def draw_leaves(g, s):
    g.put("lengths", s.lengths)
    g.put("span", [s.span])
    g.leaf("x", g.numbers(sum(s.lengths), s.width, bound=48))
    draw_attention(g, s, "", s.hidden)
    g.leaf("w", g.numbers(4 * s.hidden, s.width, bound=32))
    g.leaf("u", g.numbers(4 * s.hidden, s.hidden, bound=32))
    if s.bias:
        g.leaf("b", g.numbers(4 * s.hidden))
    if not s.sources:
        return
    g.put("source_lengths", s.sources)
    g.leaf("gamma", g.numbers(sum(s.sources), s.gamma, bound=48))
    g.leaf("alpha", g.numbers(sum(s.sources), s.hidden, bound=48))
    draw_attention(g, s, "s", s.gamma)
    g.leaf("rw", g.numbers(s.hidden, s.width))
    g.leaf("ru", g.numbers(s.hidden, s.gamma))
    if s.bias:
        g.leaf("rb", g.numbers(s.hidden))


def attention_of(s, leaves, prefix):
    none = torch.zeros(s.attention, dtype=torch.float64)
    return {"wk": leaves[prefix + "wk"], "wx": leaves[prefix + "wx"], "wt": leaves[prefix + "wt"],
            "v": leaves[prefix + "v"], "b": leaves.get(prefix + "lb", none), "memory": s.hidden}


def pad(weights, positions, shape):
    """All weights as one tensor; positions: for each row the sequence, the token, and the first token it attends to."""
    index, flat = [], []
    for (b, t, first), row in zip(positions, weights, strict=True):
        index += [(b, 0, t, first + j) for j in range(len(row))]
        flat += row
    out = torch.zeros(shape, dtype=torch.float64)
    return out.index_put(tuple(torch.tensor(i) for i in zip(*index)), torch.stack(flat))


def run(s, leaves):
    """Outputs by name."""
    p = {name: leaves.get(name) for name in ("w", "u", "rw", "ru")}
    p["b"] = leaves.get("b", torch.zeros(4 * s.hidden, dtype=torch.float64))
    p["rb"] = leaves.get("rb", torch.zeros(s.hidden, dtype=torch.float64))
    p["attention"] = attention_of(s, leaves, "")
    tapes = None
    if s.sources:
        p["source_attention"] = attention_of(s, leaves, "s")
        tapes = list(zip(leaves["gamma"].split(s.sources), leaves["alpha"].split(s.sources)))
    y, c, weights, source_weights, positions = [], [], [], [], []
    for b, rows in enumerate(leaves["x"].split(s.lengths)):
        hidden, memory, seen, source_seen = read(p, rows, s.span, tapes[b] if tapes else None)
        y, c, weights, source_weights = y + hidden, c + memory, weights + seen, source_weights + source_seen
        positions += [(b, t, t - len(row)) for t, row in enumerate(seen)]
    longest = max(s.lengths)
    out = {"y": torch.stack(y), "c": torch.stack(c),
           "weights": pad(weights, positions, (len(s.lengths), 1, longest, longest))}
    if tapes:
        positions = [(b, t, 0) for b, t, _ in positions]
        out["source_weights"] = pad(source_weights, positions, (len(s.lengths), 1, longest, max(s.sources)))
    return out


def check(g, s):
    """Finite differences at these inputs; for large ones along random directions only."""
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
    yield golden("lstmn_wide", "LSTMN wider than a vector, span of three tokens; an empty sequence",
                 Shape([5, 0, 2, 4], span=3, hidden=17, attention=19))
    yield golden("lstmn_span", "LSTMN, span of two tokens; without biases", Shape([6, 2], span=2, bias=False))
    yield golden("lstmn_far", "LSTMN whose attention has some channels far from 0, deep fusion",
                 Shape([4, 3], far=24.0, sources=[2, 3]))
    yield golden("lstmn_deep", "LSTMN, deep fusion; an empty source", Shape([2, 1, 4], sources=[3, 0, 5]))
    yield golden("lstmn_deep_span", "LSTMN, deep fusion, span of three tokens; without biases",
                 Shape([5, 3], span=3, hidden=4, gamma=6, bias=False, sources=[1, 4]))


# ---- whole models ----

FAINT = 4e-4  # minimum largest derivative of every parameter
DEFAULTS = "task=translation fusion=shallow span=0 decoder-layers=1 bidirectional=no context=after readout=plain"


class Model:
    """The parameters of a configuration, with attend's names."""

    def __init__(self, g, words):
        self.g, self.o, self.p, self.fit = g, models.parse(f"{DEFAULTS} {words}"), {}, True
        o = self.o
        self.hidden = self.memory = o["hidden"]
        self.translates, self.deep = o["task"] == "translation", o["fusion"] == "deep"
        if self.translates and not o["shared_vocab"]:
            self.draw("source.embedding", o["source_vocab"], o["embedding"])
        self.target_name = "embedding" if self.translates and o["shared_vocab"] else "target.embedding"
        self.draw(self.target_name, o["target_vocab"], o["embedding"])
        for layer in range(o["layers"] if self.translates else 0):
            self.draw_layer(f"encoder.{layer}", layer)
        for layer in range(o["decoder_layers"]):
            self.draw_layer(f"decoder.{layer}", layer)
            if self.translates and self.deep:
                self.draw_parts(f"decoder.{layer}.source", f"decoder.{layer}.read", 1, layer, "b")
        width = self.hidden
        if self.translates and not self.deep:
            models.Model.draw_attention(self)
            width = o["embedding"] if o["tie_embeddings"] else self.hidden
            self.draw("readout.w", width, 2 * self.hidden)
            self.draw("readout.b", width)
        if not o["tie_embeddings"]:
            self.draw("output.w", o["target_vocab"], width)
        self.draw("output.b", o["target_vocab"])

    def draw(self, name, *shape):
        """Uses large attention weights, largest in v, since attention over the past has little effect in a tiny network."""
        bound = 128 if name.endswith(".v") else 64 if name.endswith("embedding") else 48
        self.p[name] = self.g.leaf(name, self.g.numbers(*shape, bound=bound))

    def draw_parts(self, attention_name, gates, blocks, layer, bias):
        size, inner, width = self.hidden, self.o["attention_width"], self.hidden if layer else self.o["embedding"]
        for name, shape in {"wk": (inner, size), "wx": (inner, width), "wt": (inner, size), "b": (inner,),
                            "v": (inner,)}.items():
            self.draw(f"{attention_name}.{name}", *shape)
        for name, shape in {"w": (blocks * size, width), "u": (blocks * size, size), bias: (blocks * size,)}.items():
            self.draw(f"{gates}.{name}", *shape)

    def draw_layer(self, prefix, layer):
        self.draw_parts(f"{prefix}.look", prefix, 4, layer, "bw")

    def linear(self, name, x):
        return F.linear(x, self.p[name + ".w"], self.p[name + ".b"])

    def attention(self, prefix):
        return {k: self.p[f"{prefix}.{k}"] for k in ("wk", "wx", "wt", "b", "v")} | {"memory": self.hidden}

    def layer(self, prefix, rows, source=None):
        """Runs one LSTMN over a sentence; returns the result of `read`."""
        p = {"attention": self.attention(f"{prefix}.look"), "w": self.p[f"{prefix}.w"], "u": self.p[f"{prefix}.u"],
             "b": self.p[f"{prefix}.bw"]}
        if source:
            p |= {"source_attention": self.attention(f"{prefix}.source"), "rw": self.p[f"{prefix}.read.w"],
                  "ru": self.p[f"{prefix}.read.u"], "rb": self.p[f"{prefix}.read.b"]}
        return read(p, rows, self.o["span"], source)


def full_map(seen, width, first_of):
    """Weights of all tokens of a sentence as one matrix; first_of: the first token that token t with n weights attends to."""
    rows = []
    for t, row in enumerate(seen):
        first = first_of(t, len(row))
        rows += [torch.cat([torch.zeros(first, dtype=torch.float64), *(w.reshape(1) for w in row),
                            torch.zeros(width - first - len(row), dtype=torch.float64)])]
    return torch.stack(rows)


def run_model(m, source, target):
    """Logits (rows, vocabulary); maps by name: a matrix for each layer; `weights` over the source with heads first."""
    o, maps, tapes = m.o, {"weights.encoder": [], "weights.decoder": [], "weights": []}, None

    def before(t, n):
        return t - n

    if m.translates:
        rows = F.embedding(torch.tensor(source), m.p.get("source.embedding", m.p[m.target_name]))
        for layer in range(o["layers"]):
            hidden, memory, seen, _ = m.layer(f"encoder.{layer}", rows)
            maps["weights.encoder"].append(full_map(seen, len(source), before))
            rows, tapes = torch.stack(hidden), (torch.stack(hidden), torch.stack(memory))
    x = F.embedding(torch.tensor([models.BEGIN, *target]), m.p[m.target_name])
    for layer in range(o["decoder_layers"]):
        hidden, _, seen, source_seen = m.layer(f"decoder.{layer}", x, tapes if m.translates and m.deep else None)
        maps["weights.decoder"].append(full_map(seen, len(target) + 1, before))
        if source_seen:
            maps["weights"].append(full_map(source_seen, len(source), lambda t, n: 0)[None])
        x = torch.stack(hidden)
    if m.translates and not m.deep:
        previous, readout, rows = torch.zeros(len(source), dtype=torch.float64), [], []
        for t, h in enumerate(x):
            context, weights = models.attend(m, h, tapes[0], t, previous)
            previous = weights[0]
            rows.append(weights)
            readout.append(torch.tanh(m.linear("readout", torch.cat([context, h]))))
        x = torch.stack(readout)
        maps["weights"].append(torch.stack(rows, dim=1))
    output = m.p[m.target_name] if o["tie_embeddings"] else m.p["output.w"]
    return x @ output.T + m.p["output.b"], maps


def model(name, title, words, smoothing=0.0, guidance=0.0):
    scale = 0.125

    def make(draw):
        g = Golden(f"model_{name}", f"{title}: architecture=lstmn {words}", draw)
        alone = "task=language-model" in words  # targets without sources
        sources = [[]] * len(models.SOURCES) if alone else models.SOURCES
        for side, sentences in ("source", sources), ("target", models.TARGETS):
            if any(sentences):
                g.put(side, sum(sentences, []))
            g.put(f"{side}_lengths", [len(sentence) for sentence in sentences])
        if guidance:
            g.put("links", models.LINKS)
        g.put("options", [scale, smoothing, guidance])
        m = Model(g, words)
        nll, all_maps = [], {}
        for pair, (source, target) in enumerate(zip(sources, models.TARGETS)):
            logits, maps = run_model(m, source, target)
            wanted = torch.tensor([*target, models.END])
            g.loss = g.loss + scale * F.cross_entropy(logits, wanted, label_smoothing=smoothing, reduction="sum")
            nll.append(F.cross_entropy(logits, wanted, reduction="none"))
            for kind, layers in maps.items():
                all_maps.setdefault(kind, []).extend(layer.flatten() for layer in layers)
            if guidance:  # of the second to last layer, if there are several
                layer = maps["weights"][-2] if len(maps["weights"]) > 1 else maps["weights"][0]
                links = [link[1:] for link in models.LINKS if link[0] == pair]
                g.loss = g.loss + scale * guidance * models.guided(layer, links)
        g.put("loss", g.loss.reshape(1))
        g.put("nll", torch.cat(nll))
        for kind, flat in all_maps.items():
            if flat:
                g.put(kind, torch.cat(flat))
        g.finish()
        return g if m.fit and all(leaf.grad.abs().max() > FAINT for leaf in g.leaves.values()) else None

    return redraw(make)


def model_goldens():
    yield model("lstmn_shallow", "LSTMN, shallow fusion", "attention=bilinear")
    yield model("lstmn_shallow_layers", "LSTMN, shallow fusion, two layers and one, a span, label smoothing, guided alignment",
                "attention=additive layers=2 decoder-layers=1 span=3", smoothing=0.1, guidance=0.5)
    yield model("lstmn_shallow_location", "LSTMN, shallow fusion by location-sensitive attention",
                "attention=location-sensitive")
    yield model("lstmn_deep", "LSTMN, deep fusion, guided alignment", "fusion=deep", guidance=0.5)
    yield model("lstmn_deep_layers", "LSTMN, deep fusion, one layer and two, a span, tied embeddings of one vocabulary",
                "fusion=deep layers=1 decoder-layers=2 span=3 embedding=4 tie-embeddings=yes shared-vocab=yes "
                "target-vocab=7", guidance=0.5)
    yield model("lstmn_language", "LSTMN, language model of two layers", "task=language-model decoder-layers=2 span=3")


def all_goldens():
    yield from lstmn_goldens()
    yield from model_goldens()


if __name__ == "__main__":
    sys.exit(make_goldens.main(all_goldens(), __doc__.splitlines()[0]))
