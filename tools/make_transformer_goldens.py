#!/usr/bin/env python3
"""Writes test/golden/model_transformer_*.golden: results of whole Transformers in PyTorch, in float64.

    make_transformer_goldens.py             write the files
    make_transformer_goldens.py --check     compare with the existing files, to 1e-13; write nothing

Format and names are those of make_model_goldens.py, with weights of all three attention kinds:
    weights, weights.encoder, weights.decoder   layers x heads x query tokens x key tokens for each pair

The reference is nn.TransformerEncoder and nn.TransformerDecoder on a padded batch with masks (a language model is an encoder with a
causal mask). A plain implementation for one pair at a time without padding must agree; it provides the weights and what nn.* lacks:
rotary positions, and gated feed-forward layers. Models whose gradients PyTorch itself does not reproduce in float to ROUGH are
rejected, since they would test rounding.
"""
import copy
import math
import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call
from torch.nn.utils.rnn import pad_sequence

import make_goldens
from make_attention_goldens import redraw
from make_model_goldens import BEGIN, END, FAINT, LINKS, SOURCES, TARGETS, guided, parse

DEFAULTS = ("task=translation norm=pre positions=sinusoidal feed-forward=relu layers=2 decoder-layers=2 hidden=6 heads=2 "
            "feed-forward-width=5 max-positions=6")


ROUGH = 2e-6  # tolerance, relative to the maximum


class Golden(make_goldens.Golden):
    maker = "tools/make_transformer_goldens.py"


# ---- parameters, with attend's names ----

class Model:
    def __init__(self, g, words):
        self.g, self.o, self.p = g, parse(f"{DEFAULTS} {words}"), {}
        self.margin = math.inf  # minimum distance of a ReLU argument from zero
        o = self.o
        self.width, self.heads, self.pre = o["hidden"], o["heads"], o["norm"] == "pre"
        self.translates = o["task"] == "translation"
        self.tables()
        if self.translates:
            for i in range(o["layers"]):
                self.layer(f"encoder.{i}", cross=False)
            self.last_norm("encoder")
        for i in range(o["decoder_layers"]):
            self.layer(f"decoder.{i}", cross=self.translates)
        self.last_norm("decoder")
        if not o["tie_embeddings"]:
            self.draw("output.w", o["target_vocab"], self.width)
        self.output = self.target_table if o["tie_embeddings"] else self.p["output.w"]
        self.draw("output.b", o["target_vocab"])

    def in_float(self):
        """A copy with float32 parameters."""
        m = copy.copy(self)
        m.p = {k: nn.Parameter(v.detach().float()) for k, v in self.p.items()}
        shared = m.p.get("embedding")
        m.source_table, m.target_table = (m.p.get(f"{side}.embedding", shared) for side in ("source", "target"))
        m.output = m.p.get("output.w", m.target_table)
        return m

    def draw(self, name, *shape, **numbers):
        self.p[name] = self.g.leaf(name, self.g.numbers(*shape, **({"bound": 28} | numbers)))
        return self.p[name]

    def tables(self):
        o = self.o
        sides = {"source": self.translates, "target": True}
        if o["shared_vocab"]:
            self.source_table = self.target_table = self.draw("embedding", o["source_vocab"], self.width)
        else:
            if self.translates:
                self.source_table = self.draw("source.embedding", o["source_vocab"], self.width)
            self.target_table = self.draw("target.embedding", o["target_vocab"], self.width)
        for side, there in sides.items():
            if there and o["positions"] == "learned":
                self.draw(f"{side}.position", o["max-positions"], self.width)

    def linear(self, name, rows, columns):
        self.draw(f"{name}.w", rows, columns)
        self.draw(f"{name}.b", rows)

    def norm(self, name):
        self.draw(f"{name}.gain", self.width, bound=16, shift=1.0)
        self.draw(f"{name}.bias", self.width)

    def last_norm(self, side):
        if self.pre:
            self.norm(f"{side}.norm")

    def layer(self, prefix, cross):
        d, f = self.width, self.o["feed_forward_width"]
        self.linear(f"{prefix}.self.qkv", 3 * d, d)
        self.linear(f"{prefix}.self.out", d, d)
        self.norm(f"{prefix}.self.norm")
        if cross:
            self.linear(f"{prefix}.cross.query", d, d)
            self.linear(f"{prefix}.cross.memory", 2 * d, d)
            self.linear(f"{prefix}.cross.out", d, d)
            self.norm(f"{prefix}.cross.norm")
        self.linear(f"{prefix}.ff.in", 2 * f if self.o["feed_forward"] == "gated" else f, d)
        self.linear(f"{prefix}.ff.out", d, f)
        self.norm(f"{prefix}.ff.norm")


def words(m, side, ids):
    """sqrt(D) E w + P for one sentence."""
    x = math.sqrt(m.width) * F.embedding(torch.tensor(ids, dtype=torch.long), getattr(m, f"{side}_table"))
    if m.o["positions"] == "learned":
        return x + m.p[f"{side}.position"][:len(ids)]
    if m.o["positions"] == "rotary":
        return x
    angle = torch.arange(len(ids)).double()[:, None] * frequencies(m.width)
    return x + torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1).to(x.dtype)


def frequencies(width):
    return 10000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)


# ---- plain implementation, one pair at a time ----

def rotate(m, x):
    """Rotates (heads, tokens, D): each pair of elements, as a complex number, times e^(i p w)."""
    angle = torch.arange(x.shape[1]).double()[:, None] * frequencies(x.shape[2])
    pairs = torch.view_as_complex(x.reshape(*x.shape[:2], -1, 2).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angle), angle).to(pairs.dtype)).flatten(2)


def heads_of(m, x):
    return x.reshape(len(x), m.heads, -1).transpose(0, 1)


def attention(m, out, q, k, v, causal):
    """Output (tokens, D), and the weights (heads, tokens, tokens)."""
    e = q @ k.transpose(1, 2) / math.sqrt(q.shape[2])
    if causal:
        e = e.masked_fill(torch.ones_like(e[0], dtype=torch.bool).triu(1), -math.inf)
    w = torch.softmax(e, dim=-1)
    return plain_linear(m, out, (w @ v).transpose(0, 1).flatten(1)), w


def plain_linear(m, name, x):
    return F.linear(x, m.p[f"{name}.w"], m.p[f"{name}.b"])


def plain_norm(m, name, x):
    return F.layer_norm(x, (m.width,), m.p[f"{name}.gain"], m.p[f"{name}.bias"], 1e-5)


def part(m, name, x, f):
    """Post-norm norm(x + f(x)) or pre-norm x + f(norm(x))."""
    return x + f(plain_norm(m, name, x)) if m.pre else plain_norm(m, name, x + f(x))


def plain_self(m, prefix, x, causal, seen):
    q, k, v = (heads_of(m, y) for y in plain_linear(m, f"{prefix}.self.qkv", x).chunk(3, dim=1))
    if m.o["positions"] == "rotary":
        q, k = rotate(m, q), rotate(m, k)
    y, w = attention(m, f"{prefix}.self.out", q, k, v, causal)
    seen.append(w)
    return y


def plain_cross(m, prefix, x, memory, seen):
    q = heads_of(m, plain_linear(m, f"{prefix}.cross.query", x))
    k, v = (heads_of(m, y) for y in plain_linear(m, f"{prefix}.cross.memory", memory).chunk(2, dim=1))
    y, w = attention(m, f"{prefix}.cross.out", q, k, v, False)
    seen.append(w)
    return y


def plain_feed(m, prefix, x):
    h = plain_linear(m, f"{prefix}.ff.in", x)
    if m.o["feed_forward"] == "relu":
        m.margin = min(m.margin, h.detach().abs().min().item())
        h = torch.relu(h)
    elif m.o["feed_forward"] == "gelu":
        h = F.gelu(h)
    else:
        a, b = h.chunk(2, dim=1)
        h = F.silu(a) * b
    return plain_linear(m, f"{prefix}.ff.out", h)


def plain_run(m, source, target):
    """Logits, and the weights of each attention kind: layers x heads x tokens x tokens."""
    seen = {"encoder": [], "decoder": [], "source": []}
    if m.translates:
        memory = words(m, "source", source)
        for i in range(m.o["layers"]):
            prefix = f"encoder.{i}"
            memory = part(m, f"{prefix}.self.norm", memory, lambda x: plain_self(m, prefix, x, False, seen["encoder"]))
            memory = part(m, f"{prefix}.ff.norm", memory, lambda x: plain_feed(m, prefix, x))
        memory = plain_norm(m, "encoder.norm", memory) if m.pre else memory
    y = words(m, "target", [BEGIN, *target])
    for i in range(m.o["decoder_layers"]):
        prefix = f"decoder.{i}"
        y = part(m, f"{prefix}.self.norm", y, lambda x: plain_self(m, prefix, x, True, seen["decoder"]))
        if m.translates:
            y = part(m, f"{prefix}.cross.norm", y, lambda x: plain_cross(m, prefix, x, memory, seen["source"]))
        y = part(m, f"{prefix}.ff.norm", y, lambda x: plain_feed(m, prefix, x))
    y = plain_norm(m, "decoder.norm", y) if m.pre else y
    return F.linear(y, m.output, m.p["output.b"]), {k: torch.stack(v) for k, v in seen.items() if v}


# ---- with the modules of nn.Transformer, all pairs at once ----

def layer_weights(m, layer, prefix, cross):
    """Our parameters under the names of nn.Transformer*Layer."""
    p = {k.removeprefix(f"{layer}."): v for k, v in m.p.items() if k.startswith(f"{layer}.")}
    named = {"self_attn.in_proj_weight": p["self.qkv.w"], "self_attn.in_proj_bias": p["self.qkv.b"],
             "self_attn.out_proj.weight": p["self.out.w"], "self_attn.out_proj.bias": p["self.out.b"],
             "linear1.weight": p["ff.in.w"], "linear1.bias": p["ff.in.b"],
             "linear2.weight": p["ff.out.w"], "linear2.bias": p["ff.out.b"]}
    if cross:
        named |= {"multihead_attn.in_proj_weight": torch.cat([p["cross.query.w"], p["cross.memory.w"]]),
                  "multihead_attn.in_proj_bias": torch.cat([p["cross.query.b"], p["cross.memory.b"]]),
                  "multihead_attn.out_proj.weight": p["cross.out.w"], "multihead_attn.out_proj.bias": p["cross.out.b"]}
    for i, norm in enumerate(["self", "cross", "ff"] if cross else ["self", "ff"], start=1):
        named |= {f"norm{i}.weight": p[f"{norm}.norm.gain"], f"norm{i}.bias": p[f"{norm}.norm.bias"]}
    return {prefix + k: v for k, v in named.items()}


def stack(m, side, layers, cross):
    """nn.TransformerEncoder or nn.TransformerDecoder with the parameters of one side, as a function."""
    kinds = (nn.TransformerDecoderLayer, nn.TransformerDecoder) if cross else (nn.TransformerEncoderLayer,
                                                                              nn.TransformerEncoder)
    options = dict(dropout=0.0, activation=m.o["feed_forward"], batch_first=True, norm_first=m.pre, dtype=torch.float64)
    one = kinds[0](m.width, m.heads, m.o["feed_forward_width"], **options)
    last = nn.LayerNorm(m.width, dtype=torch.float64) if m.pre else None
    module = kinds[1](one, layers, norm=last, **({} if cross else dict(enable_nested_tensor=False)))
    weights = {}
    for i in range(layers):
        weights |= layer_weights(m, f"{side}.{i}", f"layers.{i}.", cross)
    if m.pre:
        weights |= {"norm.weight": m.p[f"{side}.norm.gain"], "norm.bias": m.p[f"{side}.norm.bias"]}
    assert set(weights) == set(dict(module.named_parameters()))
    return lambda *values, **named: functional_call(module, weights, values, named)


def padded(rows):
    """A batch, and its padding mask."""
    lengths = torch.tensor([len(x) for x in rows])
    batch = pad_sequence(rows, batch_first=True)
    return batch, torch.arange(batch.shape[1])[None] >= lengths[:, None]


def torch_run(m):
    """The logits of each pair."""
    y, y_padding = padded([words(m, "target", [BEGIN, *target]) for target in TARGETS])
    causal = torch.ones(y.shape[1], y.shape[1], dtype=torch.bool).triu(1)
    if m.translates:
        x, x_padding = padded([words(m, "source", source) for source in SOURCES])
        memory = stack(m, "encoder", m.o["layers"], False)(x, src_key_padding_mask=x_padding)
        y = stack(m, "decoder", m.o["decoder_layers"], True)(y, memory, tgt_mask=causal,
                                                             tgt_key_padding_mask=y_padding,
                                                             memory_key_padding_mask=x_padding)
    else:
        y = stack(m, "decoder", m.o["decoder_layers"], False)(y, mask=causal, src_key_padding_mask=y_padding)
    logits = F.linear(y, m.output, m.p["output.b"])
    return [rows[:len(target) + 1] for rows, target in zip(logits, TARGETS)]


# ---- goldens ----

def loss_of(logits, seen, scale, smoothing, guidance):
    loss = 0
    for pair, (rows, target) in enumerate(zip(logits, TARGETS)):
        loss = loss + scale * F.cross_entropy(rows, torch.tensor([*target, END]), label_smoothing=smoothing, reduction="sum")
        if guidance:  # the second to last layer
            loss = loss + scale * guidance * guided(seen[pair]["source"][-2], [link[1:] for link in LINKS if link[0] == pair])
    return loss


def smooth(m, sources, options):
    """Whether the gradients in float agree with those in double."""
    f = m.in_float()
    plain = [plain_run(f, source, target) for source, target in zip(sources, TARGETS)]
    loss_of([rows for rows, _ in plain], [seen for _, seen in plain], *options).backward()
    apart = ((f.p[k].grad - p.grad).abs().max() / p.grad.abs().max() for k, p in m.p.items())
    return all(a < ROUGH for a in apart)


def transformer(name, title, settings, smoothing=0.0, guidance=0.0):
    scale = 0.125

    def make(draw):
        g = Golden(f"model_transformer_{name}", f"{title}: {settings}", draw)
        m_words = parse(f"{DEFAULTS} {settings}")
        sources = SOURCES if m_words["task"] == "translation" else [[]] * len(TARGETS)
        for side, sentences in ("source", sources), ("target", TARGETS):
            g.put(side, sum(sentences, []) or [0])
            g.put(f"{side}_lengths", [len(sentence) for sentence in sentences])
        if guidance:
            g.put("links", LINKS)
        g.put("options", [scale, smoothing, guidance])
        m = Model(g, settings)
        plain = [plain_run(m, source, target) for source, target in zip(sources, TARGETS)]
        logits = [rows for rows, _ in plain]
        if m.o["positions"] != "rotary" and m.o["feed_forward"] != "gated":
            logits = torch_run(m)
            for ours, theirs in zip(plain, logits):
                torch.testing.assert_close(ours[0], theirs, rtol=0, atol=1e-12)
        g.loss = loss_of(logits, [seen for _, seen in plain], scale, smoothing, guidance)
        g.put("loss", g.loss.reshape(1))
        nll = [F.cross_entropy(rows, torch.tensor([*t, END]), reduction="none") for rows, t in zip(logits, TARGETS)]
        g.put("nll", torch.cat(nll))
        for kind, golden_name in ("source", "weights"), ("encoder", "weights.encoder"), ("decoder", "weights.decoder"):
            if kind in plain[0][1]:
                g.put(golden_name, torch.cat([seen[kind].flatten() for _, seen in plain]))
        g.finish()
        clear = all(leaf.grad.abs().max() > FAINT for leaf in g.leaves.values())
        return g if m.margin > make_goldens.KINK and clear and smooth(m, sources, g.tensors["options"].tolist()) else None

    return redraw(make)


def transformer_goldens():
    yield transformer("pre", "nn.Transformer, norm_first", "norm=pre positions=sinusoidal feed-forward=relu")
    yield transformer("post", "nn.Transformer as published (Vaswani et al. 2017), label smoothing",
                      "norm=post positions=sinusoidal feed-forward=relu layers=1 decoder-layers=2 heads=3", smoothing=0.1)
    yield transformer("learned", "nn.Transformer with learned positions and one shared embedding table, guided alignment",
                      "norm=pre positions=learned feed-forward=gelu tie-embeddings=yes shared-vocab=yes target-vocab=7",
                      guidance=0.5)
    yield transformer("rotary", "rotary positions (Su et al. 2021) and SwiGLU (Shazeer 2020)",
                      "norm=pre positions=rotary feed-forward=gated hidden=8 layers=2 decoder-layers=1")
    yield transformer("language", "a language model: nn.TransformerEncoder with a causal mask, label smoothing",
                      "task=language-model norm=pre positions=sinusoidal feed-forward=gelu", smoothing=0.25)


if __name__ == "__main__":
    sys.exit(make_goldens.main(transformer_goldens(), __doc__.splitlines()[0]))
