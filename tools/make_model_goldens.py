#!/usr/bin/env python3
"""Writes test/golden/model_*.golden: results of whole encoder-decoders in PyTorch, in float64.

    make_model_goldens.py             write the files
    make_model_goldens.py --check     compare with the existing files, to 1e-13; write nothing

Format, seeds and rounding are those of make_goldens.py. Sentences are processed one at a time, without padding;
encoders and language models are nn.RNN, nn.GRU and nn.LSTM, decoders their cells, projected heads
nn.MultiheadAttention, the loss is F.cross_entropy. What PyTorch lacks (a GRU with reset before, the other
scores, windows) is implemented here. Names:
    source, source_lengths      tokens of all sources, and the length of each; likewise target and target_lengths. A
                                language model has no source, and lengths of 0
    links                       rows of (pair, target token, source token); only with guidance
    options                     scale, label smoothing, guidance: those of attend_loss_options
    encoder.0.forward.w, ...    every parameter of the model, with its name in attend; grad.NAME is its gradient
    loss, nll                   of all pairs, and of each row
    weights                     heads x rows x source tokens for each pair, one pair after another
The configuration, in attend's syntax, is in the first line and in the table of test/golden/test_golden_models.c; DEFAULTS
has the settings that it omits.
"""
import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

import make_goldens
from make_attention_goldens import EDGE, redraw, soft

# The settings of tiny_config in test/support/tiny_pairs.h. All widths differ, so that a transposition is detected.
DEFAULTS = ("task=translation cell=gru layers=1 hidden=4 embedding=3 bidirectional=yes start=map attention=additive context=before "
            "input-feeding=no readout=deep heads=1 attention-width=5 filters=2 filter-size=3 window=global "
            "window-size=1 tie-embeddings=no shared-vocab=no source-vocab=7 target-vocab=6")
BEGIN, END = 1, 2
FAINT = 2e-3  # minimum largest derivative of every parameter: a parameter without effect would not be tested
GUIDED_TINY = 1e-6  # added to a weight before the logarithm in attend_alignment_loss

SOURCES = [[3, 4, 2], [2], [5, 6, 3, 6, 0, 2], [4, 2]]
TARGETS = [[3, 5, 4], [], [4, 3, 3, 5, 0], [5]]
LINKS = [(0, 0, 1), (0, 1, 0), (0, 1, 2), (2, 0, 5), (2, 3, 1), (3, 0, 0)]

MODULES = {"simple": (nn.RNN, nn.RNNCell), "gru": (nn.GRU, nn.GRUCell), "lstm": (nn.LSTM, nn.LSTMCell)}
GATES = {"simple": 1, "gru": 3, "gru-reset-before": 3, "lstm": 4}
CELL_NAMES = {"w": "weight_ih", "u": "weight_hh", "bw": "bias_ih", "bu": "bias_hh"}


class Golden(make_goldens.Golden):
    maker = "tools/make_model_goldens.py"


def parse(words):
    """A configuration as a dictionary: "input-feeding=yes" is input_feeding: True, numbers are numbers."""
    read = {"yes": True, "no": False}
    pairs = (word.split("=") for word in f"{DEFAULTS} {words}".split())
    return {name.replace("-", "_"): read.get(value, int(value) if value.isdigit() else value) for name, value in pairs}


# ---- parameters, with attend's names ----

class Model:
    def __init__(self, g, words):
        self.g, self.o, self.p = g, parse(words), {}
        self.fit = True  # no source token is close to the edge of a window
        o = self.o
        self.is_language_model = o["task"] == "language-model"  # targets without sources
        self.lstm, self.before = o["cell"] == "lstm", o["attention"] != "none" and o["context"] == "before"
        self.after = o["attention"] != "none" and o["context"] == "after"
        self.ways = ("forward", "backward") if o["bidirectional"] else ("forward",)
        self.hidden, self.encoded = o["hidden"], o["hidden"] * len(self.ways)
        self.mapped = o["attention"] == "dot" and self.encoded != self.hidden
        self.memory = self.hidden if self.mapped else self.encoded
        self.context = self.hidden if o["attention"] == "projected" else self.memory
        self.draw_embeddings()
        if not self.is_language_model:
            self.draw_encoder()
            self.draw_attention()
        self.draw_decoder()

    def draw(self, name, *shape):
        self.p[name] = self.g.leaf(name, self.g.numbers(*shape, bound=28))

    def draw_embeddings(self):
        o, (source, target) = self.o, ("source.embedding", "target.embedding")
        if self.is_language_model:
            self.draw(target, o["target_vocab"], o["embedding"])
            self.target_table = self.p[target]
            return
        if o["shared_vocab"]:
            source = target = "embedding"
        self.draw(source, o["source_vocab"], o["embedding"])
        if source != target:
            self.draw(target, o["target_vocab"], o["embedding"])
        self.source_table, self.target_table = self.p[source], self.p[target]

    def draw_cell(self, prefix, width):
        rows = GATES[self.o["cell"]] * self.hidden
        for name, shape in {"w": (rows, width), "u": (rows, self.hidden), "bw": (rows,), "bu": (rows,)}.items():
            self.draw(f"{prefix}.{name}", *shape)

    def draw_encoder(self):
        for layer in range(self.o["layers"]):
            for way in self.ways:
                self.draw_cell(f"encoder.{layer}.{way}", self.encoded if layer else self.o["embedding"])
            for state in ("h", "c")[:1 + self.lstm] if self.o["start"] == "map" else ():
                self.draw(f"start.{layer}.{state}.w", self.hidden, self.encoded)
                self.draw(f"start.{layer}.{state}.b", self.hidden)
        if self.mapped:
            self.draw("memory.w", self.hidden, self.encoded)
            self.draw("memory.b", self.hidden)

    def draw_attention(self):
        o, inner = self.o, self.o["attention_width"]
        additive = {"wq": (inner, self.hidden), "wk": (inner, self.memory), "b": (inner,), "u": (inner,)}
        shapes = {"none": {}, "dot": {}, "bilinear": {"w": (self.hidden, self.memory)}, "additive": additive,
                  "location-sensitive": additive | {"uf": (inner, o["filters"]), "f": (o["filters"], o["filter_size"])},
                  "projected": {"wq": (inner, self.hidden), "wk": (inner, self.memory), "wv": (inner, self.memory),
                                "wo": (self.hidden, inner)}}
        for name, shape in shapes[o["attention"]].items():
            self.draw(f"attention.{name}", *shape)
        if o["window"] == "local-p":
            self.draw("position.w", self.hidden, self.hidden)
            self.draw("position.v", 1, self.hidden)

    def draw_decoder(self):
        o, rows = self.o, GATES[self.o["cell"]] * self.hidden
        for layer in range(o["layers"]):
            self.draw_cell(f"decoder.{layer}", self.hidden if layer else o["embedding"])
        attended = self.context if o["attention"] != "none" else 0
        width = self.hidden
        if self.after or o["readout"] == "deep":
            width = o["embedding"] if o["tie_embeddings"] else self.hidden
            self.draw("readout.w", width, self.hidden + attended + (0 if self.after else o["embedding"]))
            self.draw("readout.b", width)
        self.feed = width
        if self.before:
            self.draw("decoder.0.context", rows, self.context)
        if o["input_feeding"]:
            self.draw("decoder.0.feed", rows, width)
        if not o["tie_embeddings"]:
            self.draw("output.w", o["target_vocab"], width)
        self.output = self.target_table if o["tie_embeddings"] else self.p["output.w"]
        self.draw("output.b", o["target_vocab"])

    def linear(self, name, x):
        return F.linear(x, self.p[name + ".w"], self.p[name + ".b"])


# ---- source to memory and initial states ----

def layers_module(m, prefixes):
    """All layers as one module; prefixes(layer) lists the prefixes of the parameters of its one or two directions."""
    o = m.o
    module = MODULES[o["cell"]][0](o["embedding"], o["hidden"], num_layers=o["layers"],
                                   bidirectional=len(prefixes(0)) == 2, dtype=torch.float64)
    for layer in range(o["layers"]):
        for prefix, way in zip(prefixes(layer), ("", "_reverse")):
            for ours, theirs in CELL_NAMES.items():
                name = f"{theirs}_l{layer}{way}"
                assert getattr(module, name).shape == m.p[f"{prefix}.{ours}"].shape
                setattr(module, name, m.p[f"{prefix}.{ours}"])
    return module


def encoder_module(m):
    return layers_module(m, lambda layer: [f"encoder.{layer}.{way}" for way in m.ways])


def encode_reset_before(m, x):
    finals = []
    for layer in range(m.o["layers"]):
        sides = []
        for way in m.ways:
            h, seen = torch.zeros(m.hidden, dtype=torch.float64), []
            for row in x.flip(0) if way == "backward" else x:
                h, = step(m, f"encoder.{layer}.{way}", row, (h,))
                seen.append(h)
            sides.append(torch.stack(seen[::-1] if way == "backward" else seen))
            finals.append(h)
        x = torch.cat(sides, dim=1)
    return x, torch.stack(finals)


def encode(m, source):
    """The memory (tokens, width), and the initial state of each decoder layer: (h,) or (h, c)."""
    x = F.embedding(torch.tensor(source), m.source_table)
    y, final = encode_reset_before(m, x) if m.o["cell"] == "gru-reset-before" else encoder_module(m)(x)
    finals = [states.reshape(m.o["layers"], m.encoded) for states in (final if m.lstm else (final,))]
    starts = [tuple(states[layer] for states in finals) for layer in range(m.o["layers"])]
    if m.o["start"] == "map":
        starts = [(torch.tanh(m.linear(f"start.{layer}.h", state[0])),
                   *(m.linear(f"start.{layer}.c", c) for c in state[1:])) for layer, state in enumerate(starts)]
    return m.linear("memory", y) if m.mapped else y, starts


# ---- attention of one query over one memory ----

def scores(m, query, memory, previous):
    p, kind = {k.removeprefix("attention."): v for k, v in m.p.items() if k.startswith("attention.")}, m.o["attention"]
    pairs = torch.cat([query.expand(len(memory), -1), memory], dim=1)
    if kind == "dot":
        return memory @ query
    if kind == "bilinear":
        return F.bilinear(query.expand(len(memory), -1).contiguous(), memory, p["w"][None])[:, 0]
    inside = F.linear(pairs, torch.cat([p["wq"], p["wk"]], dim=1), p["b"])  # Luong's concat, the same as additive
    if kind == "location-sensitive":
        located = F.conv1d(previous[None, None], p["f"][:, None], padding=m.o["filter_size"] // 2)[0]
        inside = inside + F.linear(located.T, p["uf"])
    return torch.tanh(inside) @ p["u"]


def project(m, query, memory):
    module = nn.MultiheadAttention(m.hidden, m.o["heads"], bias=False, kdim=m.memory, vdim=m.memory,
                                   dtype=torch.float64)
    theirs = {"q_proj_weight": "wq", "k_proj_weight": "wk", "v_proj_weight": "wv", "out_proj.weight": "wo"}
    weights = {name: m.p["attention." + ours] for name, ours in theirs.items()}
    context, p = functional_call(module, weights, (query[None], memory, memory),
                                 dict(need_weights=True, average_attn_weights=False))
    return context[0], p[:, 0]


def attend(m, query, memory, t, previous):
    """Context, and weights (heads, tokens)."""
    if m.o["attention"] == "projected":
        return project(m, query, memory)
    j, size, at = torch.arange(len(memory)), m.o["window_size"], None
    seen = torch.ones(len(memory), dtype=torch.bool)
    if m.o["window"] == "local-m":
        seen = (j - t).abs() <= size
    if m.o["window"] == "local-p":
        at = len(memory) * torch.sigmoid(m.p["position.v"] @ torch.tanh(m.p["position.w"] @ query))
        distance = (j - at.detach()).abs()
        seen = distance <= size
        m.fit = m.fit and bool((distance - size).abs().min() > EDGE)
    p = soft(scores(m, query, memory, previous), seen)
    if at is not None:
        p = p * torch.exp(-(j - at) ** 2 / (2 * (size / 2) ** 2))
    return p @ memory, p[None]


# ---- decoder ----

def step(m, prefix, x, state, second=None):
    """One step of a cell; `second` is the part of the matrix for the end of x."""
    w = {name: m.p[f"{prefix}.{name}"] for name in CELL_NAMES}
    if second is not None:
        w["w"] = torch.cat([w["w"], m.p[f"{prefix}.{second}"]], dim=1)
    if m.o["cell"] == "gru-reset-before":
        return make_goldens.step_gru_before(torch.tanh, w, x, state[0], None)[:1]
    module = MODULES[m.o["cell"]][1](len(x), m.hidden, dtype=torch.float64)
    weights = {theirs: w[ours] for ours, theirs in CELL_NAMES.items()}
    out = functional_call(module, weights, (x, state if m.lstm else state[0]))
    return out if m.lstm else (out,)


def run_language_model(m, target):
    """Logits (rows, vocabulary) of a language model, all rows at once."""
    y = F.embedding(torch.tensor([BEGIN, *target]), m.target_table)
    x, _ = layers_module(m, lambda layer: [f"decoder.{layer}"])(y)
    if m.o["readout"] == "deep":
        x = torch.tanh(m.linear("readout", torch.cat([x, y], dim=1)))
    return F.linear(x, m.output, m.p["output.b"])


def run(m, source, target):
    """Logits (rows, vocabulary) and weights (heads, rows, tokens), or None without attention."""
    if m.is_language_model:
        return run_language_model(m, target), None
    memory, states = encode(m, source)
    feed, previous = torch.zeros(m.feed, dtype=torch.float64), torch.zeros(len(source), dtype=torch.float64)
    logits, all_weights = [], []
    for t, word in enumerate([BEGIN, *target]):
        y = m.target_table[word]
        x, second = y, None
        if m.before:
            context, weights = attend(m, states[0][0], memory, t, previous)
            x, second = torch.cat([y, context]), "context"
        elif m.o["input_feeding"]:
            x, second = torch.cat([y, feed]), "feed"
        for layer, state in enumerate(states):
            states[layer] = step(m, f"decoder.{layer}", x, state, None if layer else second)
            x = states[layer][0]
        if m.after:
            context, weights = attend(m, x, memory, t, previous)
            feed = x = torch.tanh(m.linear("readout", torch.cat([context, x])))
        elif m.o["readout"] == "deep":
            x = torch.tanh(m.linear("readout", torch.cat([x, context, y] if m.before else [x, y])))
        if m.before or m.after:
            all_weights.append(weights)
            previous = weights[0]
        logits.append(m.output @ x + m.p["output.b"])
    return torch.stack(logits), torch.stack(all_weights, dim=1) if all_weights else None


# ---- goldens ----

def guided(weights, links):
    """-log of the weight on each link, averaged over the links of a target token."""
    loss = 0
    for target, source in links:
        share = 1 / sum(t == target for t, _ in links)
        loss = loss - share * torch.log(weights.mean(dim=0)[target, source] + GUIDED_TINY)
    return loss


def model(name, title, words, smoothing=0.0, guidance=0.0):
    scale = 0.125

    def make(draw):
        g = Golden(f"model_{name}", f"{title}: {words}", draw)
        sources = [[]] * len(SOURCES) if parse(words)["task"] == "language-model" else SOURCES
        for side, sentences in ("source", sources), ("target", TARGETS):
            if any(sentences):
                g.put(side, sum(sentences, []))
            g.put(f"{side}_lengths", [len(sentence) for sentence in sentences])
        if guidance:
            g.put("links", LINKS)
        g.put("options", [scale, smoothing, guidance])
        m = Model(g, words)
        nll, all_weights = [], []
        for pair, (source, target) in enumerate(zip(sources, TARGETS)):
            logits, weights = run(m, source, target)
            wanted = torch.tensor([*target, END])
            g.loss = g.loss + scale * F.cross_entropy(logits, wanted, label_smoothing=smoothing, reduction="sum")
            nll.append(F.cross_entropy(logits, wanted, reduction="none"))
            if weights is not None:
                all_weights.append(weights.flatten())
            if guidance:
                g.loss = g.loss + scale * guidance * guided(weights, [link[1:] for link in LINKS if link[0] == pair])
        g.put("loss", g.loss.reshape(1))
        g.put("nll", torch.cat(nll))
        if all_weights:
            g.put("weights", torch.cat(all_weights))
        g.finish()
        clear = all(leaf.grad.abs().max() > FAINT for leaf in g.leaves.values())
        return g if m.fit and clear else None

    return redraw(make)


def model_goldens():
    yield model("simple", "simple RNNs without attention",
                "cell=simple attention=none readout=plain bidirectional=no")
    yield model("simple_attention", "simple RNNs with attention before the step",
                "cell=simple attention=additive context=before readout=plain bidirectional=no")
    yield model("rnnsearch", "RNNsearch (Bahdanau et al. 2015)",
                "cell=gru attention=additive context=before readout=deep")
    for score in "dot", "bilinear", "additive":
        for feeding in "no", "yes":
            yield model(f"luong_{score}" + ("_feeding" if feeding == "yes" else ""), "Luong et al. 2015",
                        f"cell=lstm attention={score} context=after readout=plain input-feeding={feeding} "
                        f"bidirectional={'yes' if (score == 'dot') == (feeding == 'no') else 'no'}")
    for score in "dot", "bilinear":
        yield model(f"local_p_{score}", "Luong et al. 2015, local-p",
                    f"cell=lstm attention={score} context=after readout=plain window=local-p "
                    f"input-feeding={'yes' if score == 'bilinear' else 'no'}")
    yield model("local_m", "RNNsearch with a window around the query's own position",
                "cell=gru attention=additive context=before readout=deep window=local-m")
    yield model("stacked", "two layers, label smoothing, guided alignment",
                "cell=lstm layers=2 attention=bilinear context=after readout=plain input-feeding=yes", smoothing=0.1,
                guidance=0.5)
    yield model("tied", "GRUs with reset before, two layers, tied embeddings of one vocabulary, label smoothing",
                "cell=gru-reset-before layers=2 bidirectional=no start=copy attention=additive context=before "
                "readout=deep tie-embeddings=yes shared-vocab=yes target-vocab=7", smoothing=0.25)
    yield model("copied", "two LSTM layers that start from the encoder's final states, deep readout without attention",
                "cell=lstm layers=2 bidirectional=no start=copy attention=none readout=deep")
    yield model("heads", "two projected heads, guided alignment",
                "cell=gru attention=projected heads=2 attention-width=4 context=after readout=plain", guidance=0.5)
    yield model("location", "location-sensitive attention (Chorowski et al. 2015), guided alignment",
                "cell=gru attention=location-sensitive context=before readout=deep", guidance=0.5)
    alone = "task=language-model attention=none"
    yield model("lines_lstm", "a language model", f"{alone} cell=lstm readout=plain")
    yield model("lines_stacked", "a language model of two layers, label smoothing",
                f"{alone} cell=lstm layers=2 readout=plain", smoothing=0.1)
    yield model("lines_gru", "a language model with a deep readout", f"{alone} cell=gru readout=deep")
    yield model("lines_tied", "a language model with tied embeddings",
                f"{alone} cell=lstm readout=deep tie-embeddings=yes")
    yield model("lines_simple", "a simple recurrent language model (Mikolov et al. 2010)",
                f"{alone} cell=simple readout=plain")


if __name__ == "__main__":
    sys.exit(make_goldens.main(model_goldens(), __doc__.splitlines()[0]))
