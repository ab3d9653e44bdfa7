#!/usr/bin/env python3
"""Writes test/golden/attention_*.golden: results of attention in PyTorch, in float64.

    make_attention_goldens.py             write the files
    make_attention_goldens.py --check     compare with the existing files, to 1e-13; write nothing

Format, seeds and rounding are those of make_goldens.py. If PyTorch has the attention
(scaled_dot_product_attention, nn.MultiheadAttention), its result is written and must agree with the formulas below;
otherwise the formulas are the reference. Names:
    query, key, value           (B, T, heads, width); no value: the keys serve as values
    query_lengths, key_lengths  rows of each sequence; absent: T. The other rows contain numbers that must have no
                                effect, and their gradients are zero
    allowed, bias, previous     (B, H, Tq, Tk), or 1 for an axis that is broadcast
    position                    (B, Tq), the center of local-p as a fraction of the source length
    wq, u, ...                  parameters of the score, with the names of attend_score.parameter
    context, weights, scores    (B, Tq, H, width), (B, H, Tq, Tk), and the scores after cap, bias and mask
Options (scale, cap, window) are in the table of test/golden/test_golden_attention.c.
"""
import itertools
import math
import sys

import torch
import torch.nn.functional as F
from torch import nn

import make_goldens

EDGE = 1e-3  # minimum distance to any point where a key becomes visible or hidden, so that float decides as double does


class Golden(make_goldens.Golden):
    maker = "tools/make_attention_goldens.py"


# ---- definitions ----

class Rows:
    """Queries, keys and values of a batch. value 0: the keys serve as values."""

    def __init__(self, g, batch, queries, keys, heads=1, key_heads=0, query=3, key=0, value=2, query_lengths=None,
                 key_lengths=None):
        self.g, self.heads, self.key_heads = g, heads, key_heads or heads
        self.query_lengths = torch.tensor(query_lengths or [queries] * batch)
        self.key_lengths = torch.tensor(key_lengths or [keys] * batch)
        for name, lengths in ("query_lengths", query_lengths), ("key_lengths", key_lengths):
            if lengths:
                g.put(name, lengths)
        self.q = g.leaf("query", g.numbers(batch, queries, heads, query, bound=48))
        self.k = g.leaf("key", g.numbers(batch, keys, self.key_heads, key or query, bound=48))
        self.v = g.leaf("value", g.numbers(batch, keys, self.key_heads, value, bound=32)) if value else self.k
        self.i, self.j = torch.arange(queries)[:, None], torch.arange(keys)[None, :]
        self.query_valid = torch.arange(queries) < self.query_lengths[:, None]  # (B, Tq)
        key_valid = torch.arange(keys) < self.key_lengths[:, None]
        self.key_valid = key_valid[:, None, None, :]  # (B, 1, 1, Tk)
        self.visible = (self.key_valid & self.query_valid[:, None, :, None]).expand(batch, heads, queries, keys)

    def share(self, x):
        """Repeats key heads, so that there is one for each query head."""
        return x.repeat_interleave(self.heads // self.key_heads, dim=2)

    def causal(self):
        """Aligned at the end of each sequence. (B, 1, Tq, Tk)"""
        past = (self.key_lengths - self.query_lengths)[:, None, None, None]
        return self.j <= self.i + past

    def window(self, at, size):
        """Keys within `size` of `at` (..., Tq, 1), and whether no key is close to the edge."""
        distance = (self.j - at.detach()).abs()
        return distance <= size, (distance - size).abs().min() > EDGE


def dot(s, scale=1.0):
    return scale * torch.einsum("bihd,bjhd->bhij", s.q, s.share(s.k))


def scaled_dot(s):
    return dot(s, 1 / math.sqrt(s.q.shape[-1]))


def soft(e, visible):
    """Softmax over the visible keys; zeros if there are none."""
    e = e.masked_fill(~visible, -math.inf).masked_fill(~visible.any(-1, keepdim=True), 0.0)
    return torch.softmax(e, dim=-1) * visible


def sparse_row(z, threshold, power):
    """max(z - tau, 0)^power, with the tau of the largest support whose smallest element exceeds it."""
    order = z.detach().sort(descending=True).values
    taus = [threshold(order[:n]) for n in range(1, len(order) + 1)]
    support = max(n for n, tau in enumerate(taus, 1) if order[n - 1] > tau)
    tau = threshold(z[z.detach() >= order[support - 1]])
    clear = min(abs(x - t) for x, t in zip(order.tolist(), taus)) > EDGE and (order - tau.detach()).abs().min() > EDGE
    return (z - tau).clamp(min=0) ** power, support, clear


def sparsemax_threshold(z):
    return (z.sum() - 1) / len(z)


def entmax_threshold(z):
    """For half the scores: mean - sqrt((1 - variance n) / n); the support is invalid if the radicand is negative."""
    rest = (1 - ((z - z.mean()) ** 2).sum()) / len(z)
    return z.mean() - torch.sqrt(rest) if rest > 0 else z.detach().max() + 1


def select_sparse(e, visible, threshold, power):
    """Weights row by row, and whether they are suitable: far from every edge, some rows with zeros, some with several keys."""
    p, fit, supports = torch.zeros_like(e), True, []
    for index in itertools.product(*map(range, e.shape[:-1])):
        row = visible[index]
        if row.any():
            values, support, clear = sparse_row(e[index][row], threshold, power)
            p = p.index_put((*(torch.tensor(x) for x in index), row.nonzero()[:, 0]), values)
            supports.append((support, int(row.sum())))
            fit = fit and clear
    return p, fit and sum(a < b for a, b in supports) >= 3 and sum(a > 1 for a, _ in supports) >= 3


def context_of(s, p):
    return torch.einsum("bhij,bjhd->bihd", p, s.share(s.v))


def finish(s, context, weights=None, without_effect=()):
    """Writes the outputs, zero in padding, and requires that every input except `without_effect` has an effect."""
    g = s.g
    g.output("context", torch.where(s.query_valid[:, :, None, None], context, 0.0))
    if weights is not None:
        g.output("weights", weights)
    g.finish()
    for name in g.leaves:
        assert (g.tensors["grad." + name] != 0).any() == (name not in without_effect), (g.name, name)
    return g


def redraw(make):
    """The first suitable random draw."""
    return next(g for g in (make(draw) for draw in itertools.count()) if g is not None)


# ---- torch.nn.functional.scaled_dot_product_attention ----

def torch_attention(s, mask=None, **options):
    heads_first = (x.transpose(1, 2) for x in (s.q, s.k, s.v))
    return F.scaled_dot_product_attention(*heads_first, attn_mask=mask, enable_gqa=s.heads != s.key_heads,
                                          **options).transpose(1, 2)


def agreed(theirs, ours):
    torch.testing.assert_close(theirs, ours, rtol=0, atol=1e-14)
    return theirs


def plain():
    s = Rows(Golden("attention_plain", "scaled_dot_product_attention"), 2, 3, 4, heads=2)
    return finish(s, agreed(torch_attention(s), context_of(s, soft(scaled_dot(s), s.visible))))


def causal():
    s = Rows(Golden("attention_causal", "scaled_dot_product_attention, is_causal, as many queries as keys"), 1, 9, 9,
             heads=2)
    ours = context_of(s, soft(scaled_dot(s), s.visible & s.causal()))
    return finish(s, agreed(torch_attention(s, is_causal=True), ours))


def tail():
    s = Rows(Golden("attention_tail", "scaled_dot_product_attention, more keys than queries, causal from the end of "
                    "each sequence by an explicit mask; ragged; weights"), 2, 9, 19, query_lengths=[9, 3],
             key_lengths=[19, 12])
    visible = s.visible & s.causal()
    p = soft(scaled_dot(s), visible)
    mask = visible | ~s.query_valid[:, None, :, None]  # a row without visible keys would be NaN there
    theirs = torch.where(s.query_valid[:, :, None, None], torch_attention(s, mask), 0.0)
    return finish(s, agreed(theirs, context_of(s, p)), p)


def mask():
    g = Golden("attention_mask", "scaled_dot_product_attention, boolean mask; weights")
    s = Rows(g, 2, 3, 5, heads=2)
    allowed = torch.tensor([g.random.random() < 0.5 for _ in range(60)]).reshape(s.visible.shape)
    allowed[..., 2] |= ~allowed.any(-1)
    g.put("allowed", allowed)
    p = soft(scaled_dot(s), allowed)
    return finish(s, agreed(torch_attention(s, allowed), context_of(s, p)), p)


def mask_shared():
    g = Golden("attention_mask_shared", "scaled_dot_product_attention, boolean mask for all sequences, heads and "
               "queries")
    s = Rows(g, 2, 2, 5, heads=2)
    allowed = torch.tensor([True, False, True, True, False]).reshape(1, 1, 1, 5)
    g.put("allowed", allowed)
    p = soft(scaled_dot(s), allowed & s.visible)
    return finish(s, agreed(torch_attention(s, allowed), context_of(s, p)))


def bias():
    g = Golden("attention_bias", "scaled_dot_product_attention, float mask")
    s = Rows(g, 2, 3, 4, heads=2)
    b = g.leaf("bias", g.numbers(2, 2, 3, 4, bound=64))
    return finish(s, agreed(torch_attention(s, b), context_of(s, soft(scaled_dot(s) + b, s.visible))))


def bias_shared():
    g = Golden("attention_bias_shared", "scaled_dot_product_attention, float mask by head and key for all sequences "
               "and queries")
    s = Rows(g, 2, 3, 4, heads=2)
    b = g.leaf("bias", g.numbers(1, 2, 1, 4, bound=64))
    return finish(s, agreed(torch_attention(s, b), context_of(s, soft(scaled_dot(s) + b, s.visible))))


def grouped():
    s = Rows(Golden("attention_grouped", "scaled_dot_product_attention, enable_gqa: 4 query heads, 2 key heads; weights"), 2, 4, 4,
             heads=4, key_heads=2, query=2)
    p = soft(scaled_dot(s), s.visible)
    return finish(s, agreed(torch_attention(s), context_of(s, p)), p)


def scale():
    s = Rows(Golden("attention_scale", "scaled_dot_product_attention, scale 0.75, values wider than keys"), 2, 3, 4,
             heads=2, value=5)
    return finish(s, agreed(torch_attention(s, scale=0.75), context_of(s, soft(dot(s, 0.75), s.visible))))


def wide():
    s = Rows(Golden("attention_wide", "scaled_dot_product_attention, rows longer than a vector"), 1, 8, 10, query=19,
             value=9)
    return finish(s, agreed(torch_attention(s), context_of(s, soft(scaled_dot(s), s.visible))))


# ---- caps, and selections other than softmax ----

def cap():
    g = Golden("attention_cap", "scaled dot, soft cap 1.5, then a float mask for all sequences and heads; weights, "
               "scores")
    s = Rows(g, 2, 3, 4, heads=2, query=2)
    b = g.leaf("bias", g.numbers(1, 1, 3, 4, bound=48))
    e = 1.5 * torch.tanh(scaled_dot(s) / 1.5) + b
    g.put("scores", e)
    p = soft(e, s.visible)
    return finish(s, context_of(s, p), p)


def sparse(name, title, threshold, half, power):
    def make(draw):
        s = Rows(Golden(name, title, draw), 2, 3, 5, heads=2, query=2, key_lengths=[5, 3])
        p, fit = select_sparse(scaled_dot(s) * half, s.visible, threshold, power)
        return finish(s, context_of(s, p), p) if fit else None
    return redraw(make)


# ---- learned scores ----

def learn(g, **shapes):
    return (g.leaf(name, g.numbers(*shape, bound=32)) for name, shape in shapes.items())


def additive(q, k, wq, wk, b, u):
    """u . tanh(Wq q_i + Wk k_j + b) for one head: (B, 1, Tq, Tk)"""
    inside = (q[:, :, 0] @ wq.T)[:, :, None] + (k[:, :, 0] @ wk.T)[:, None] + b
    return (torch.tanh(inside) @ u)[:, None]


def bahdanau():
    g = Golden("attention_bahdanau", "Bahdanau et al. 2015: u . tanh(Wq q + Wk k + b); ragged; weights")
    s = Rows(g, 5, 2, 4, query=3, key=4, value=2, query_lengths=[2, 1, 2, 2, 1], key_lengths=[3, 4, 1, 2, 4])
    p = soft(additive(s.q, s.k, *learn(g, wq=(5, 3), wk=(5, 4), b=(5,), u=(5,))), s.visible)
    return finish(s, context_of(s, p), p)


def luong_dot():
    s = Rows(Golden("attention_luong_dot", "Luong et al. 2015, dot, the keys serve as values; ragged keys"), 3, 2, 4,
             value=0, key_lengths=[2, 4, 3])
    return finish(s, context_of(s, soft(dot(s), s.visible)))


def general(s, w):
    return torch.einsum("bid,de,bje->bij", s.q[:, :, 0], w, s.k[:, :, 0])[:, None]


def luong_general():
    g = Golden("attention_luong_general", "Luong et al. 2015, general: q' W k; ragged keys; weights")
    s = Rows(g, 3, 2, 4, query=3, key=4, key_lengths=[2, 4, 3])
    p = soft(general(s, *learn(g, w=(3, 4))), s.visible)
    return finish(s, context_of(s, p), p)


def luong_concat():
    g = Golden("attention_luong_concat", "Luong et al. 2015, concat: u . tanh(W [q; k]), W = [Wq | Wk], with a bias of "
               "0")
    s = Rows(g, 2, 3, 4, query=3, key=2)
    wq, wk, u = learn(g, wq=(4, 3), wk=(4, 2), u=(4,))
    b = g.leaf("b", torch.zeros(4, dtype=torch.float64))
    pairs = torch.cat([s.q[:, :, 0][:, :, None].expand(2, 3, 4, 3), s.k[:, :, 0][:, None].expand(2, 3, 4, 2)], dim=-1)
    e = torch.tanh(pairs @ torch.cat([wq, wk], dim=1).T + b) @ u
    return finish(s, context_of(s, soft(e[:, None], s.visible)))


def luong_location():
    g = Golden("attention_luong_location", "Luong et al. 2015, location: row j of Wa q, for at most 6 positions; "
               "ragged keys")
    s = Rows(g, 2, 3, 5, key_lengths=[5, 3])
    wa, = learn(g, wa=(6, 3))
    e = (s.q[:, :, 0] @ wa.T)[:, None, :, :5]
    return finish(s, context_of(s, soft(e, s.visible)), without_effect=("key",))


def local_m():
    g = Golden("attention_local_m", "Luong et al. 2015, dot, local-m: within 2 keys of positions 38 to 40; ragged "
               "keys; weights")
    s = Rows(g, 2, 3, 44, query=2, key_lengths=[44, 40])
    near, _ = s.window(s.i + 38.0, 2)
    p = soft(dot(s), s.visible & near)
    return finish(s, context_of(s, p), p)


def local_p_weights(s, e, position, size):
    """Softmax inside the window times the Gaussian, sigma = size / 2, and whether no key is close to the edge."""
    at = (s.key_lengths[:, None] * position)[:, None, :, None]
    near, fit = s.window(at, size)
    return soft(e, s.visible & near) * torch.exp(-(s.j - at) ** 2 / (2 * (size / 2) ** 2)), fit


def local_p(name, title, score, **rows):
    """With given positions, so that their gradient is one of the results."""
    def make(draw):
        g = Golden(name, title, draw)
        s = Rows(g, 2, 3, 6, **rows)
        w = learn(g, w=(3, 4)) if score is general else ()
        position = g.leaf("position", g.numbers(2, 3, bound=14, shift=0.5))
        p, fit = local_p_weights(s, score(s, *w), position, 2)
        return finish(s, context_of(s, p), p) if fit else None
    return redraw(make)


def local_p_learned():
    def make(draw):
        g = Golden("attention_local_p_learned", "Luong et al. 2015, general, local-p around S sigmoid(vp . tanh(Wp "
                   "q)), D = 2; ragged keys", draw)
        s = Rows(g, 2, 3, 6, query=3, key=4, key_lengths=[6, 5])
        w, wp, vp = learn(g, w=(3, 4), wp=(4, 3), vp=(1, 4))
        position = torch.sigmoid(torch.tanh(s.q[:, :, 0] @ wp.T) @ vp.T)[..., 0]
        p, fit = local_p_weights(s, general(s, w), position, 2)
        return finish(s, context_of(s, p)) if fit else None
    return redraw(make)


def location_sensitive():
    g = Golden("attention_location_sensitive", "Chorowski et al. 2015: u . tanh(Wq q + Wk k + b + Uf (F * previous)), "
               "F by conv1d over the keys of each sequence; ragged; weights")
    s = Rows(g, 2, 2, 5, query=3, key=2, query_lengths=[2, 1], key_lengths=[3, 5])
    wq, wk, b, u, uf, f = learn(g, wq=(4, 3), wk=(4, 2), b=(4,), u=(4,), uf=(4, 2), f=(2, 3))
    previous = g.leaf("previous", g.numbers(2, 1, 2, 5, bound=16, shift=0.5))
    located = F.conv1d((previous * s.key_valid).reshape(4, 1, 5), f[:, None], padding=3 // 2)  # (B Tq, filters, Tk)
    located = located.reshape(2, 2, 2, 5).transpose(2, 3) @ uf.T
    inside = (s.q[:, :, 0] @ wq.T)[:, :, None] + (s.k[:, :, 0] @ wk.T)[:, None] + b + located
    p = soft((torch.tanh(inside) @ u)[:, None], s.visible)
    return finish(s, context_of(s, p), p)


def multihead():
    g = Golden("attention_multihead", "torch.nn.MultiheadAttention, 2 heads, no bias; ragged keys; weights")
    s = Rows(g, 2, 3, 4, heads=2, query=3, value=3, key_lengths=[3, 4])
    wq, wk, wv, wo = learn(g, wq=(6, 6), wk=(6, 6), wv=(6, 6), wo=(6, 6))
    module = nn.MultiheadAttention(6, 2, bias=False, batch_first=True, dtype=torch.float64)
    weights = {"in_proj_weight": torch.cat([wq, wk, wv]), "out_proj.weight": wo}
    rows = tuple(x.flatten(2) for x in (s.q, s.k, s.v))
    context, p = torch.func.functional_call(module, weights, rows, dict(
        key_padding_mask=~s.key_valid[:, 0, 0], need_weights=True, average_attn_weights=False))
    return finish(s, context[:, :, None], p)


def attention_goldens():
    for make in (plain, causal, tail, mask, mask_shared, bias, bias_shared, grouped, scale, wide, cap):
        yield make()
    yield sparse("attention_sparsemax", "scaled dot, sparsemax (Martins, Astudillo 2016); ragged keys; weights",
                 sparsemax_threshold, 1.0, 1)
    yield sparse("attention_entmax15", "scaled dot, 1.5-entmax (Peters, Niculae, Martins 2019); ragged keys; weights",
                 entmax_threshold, 0.5, 2)
    for make in (bahdanau, luong_dot, luong_general, luong_concat, luong_location, local_m):
        yield make()
    yield local_p("attention_local_p", "dot, local-p around given positions, D = 2, two heads; weights", dot, heads=2)
    yield local_p("attention_local_p_general", "Luong et al. 2015, general, local-p around given positions, D = 2; "
                  "ragged; weights", general, query=3, key=4, query_lengths=[2, 3], key_lengths=[6, 5])
    for make in (local_p_learned, location_sensitive, multihead):
        yield make()


if __name__ == "__main__":
    sys.exit(make_goldens.main(attention_goldens(), __doc__.splitlines()[0]))
