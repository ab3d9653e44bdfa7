"""The Transformer of bench/transformer.c in PyTorch: width 256, 4 heads, feed-forward 1024 with ReLU, 4 + 4 layers, pre-norm.

    train-transformer [FILE]          a training step: forward, backward, clipping, Adam (fused). Each line of FILE is a batch,
                                      "source:target source:target ..."; without FILE, 164 pairs of 25 source and 25 target
                                      tokens. In two forms; the faster is used.
    train-transformer FILE|- bf16     the same with autocast to bfloat16
    decode-transformer BATCH BEAM     25 source tokens and exactly 25 steps with a key/value cache; BEAM 1: greedy search"""
import math
import warnings

import torch
import torch.nn.functional as F
from torch import nn

warnings.filterwarnings("ignore", message="enable_nested_tensor")

VOCABULARY, WIDTH, HEADS, INNER, LAYERS, LENGTH, PAIRS = 10000, 256, 4, 1024, 4, 25, 164


def sinusoids(length):
    angle = torch.arange(length)[:, None] * 10000.0 ** (-torch.arange(0, WIDTH, 2) / WIDTH)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)


def heads(x):
    return x.unflatten(-1, (HEADS, -1)).transpose(1, 2)


class Layer(nn.Module):
    """An encoder layer, or with `cross` a decoder layer."""

    def __init__(self, cross):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.inner, self.outer = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
        self.norm_self, self.norm_feed = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        if cross:
            self.query, self.memory = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 2 * WIDTH)
            self.cross_out, self.norm_cross = nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH)

    def self_attention(self, x, mask, causal):
        q, k, v = (heads(y) for y in self.qkv(self.norm_self(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
        return x + self.out(y.transpose(1, 2).flatten(2))

    def cross_attention(self, x, keys, values, mask):
        y = F.scaled_dot_product_attention(heads(self.query(self.norm_cross(x))), keys, values, attn_mask=mask)
        return x + self.cross_out(y.transpose(1, 2).flatten(2))

    def feed(self, x):
        return x + self.outer(F.relu(self.inner(self.norm_feed(x)), inplace=True))


class Transformer(nn.Module):
    """With scaled_dot_product_attention. Padding is at the end, so the causal mask hides it in the decoder; padding rows are removed
    before the output layer."""

    def __init__(self):
        super().__init__()
        self.source, self.target = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(VOCABULARY, WIDTH)
        self.encoder = nn.ModuleList(Layer(False) for _ in range(LAYERS))
        self.decoder = nn.ModuleList(Layer(True) for _ in range(LAYERS))
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.output = nn.Linear(WIDTH, VOCABULARY)
        self.register_buffer("positions", sinusoids(1000), persistent=False)

    def embed(self, table, tokens):
        return table(tokens) * math.sqrt(WIDTH) + self.positions[: tokens.shape[1]]

    def encode(self, source, mask):
        x = self.embed(self.source, source)
        for layer in self.encoder:
            x = layer.feed(layer.self_attention(x, mask, False))
        return self.encoder_norm(x)

    def forward(self, batch):
        memory = self.encode(batch.source, batch.mask)
        y = self.embed(self.target, batch.target)
        for layer in self.decoder:
            keys, values = (heads(x) for x in layer.memory(memory).chunk(2, -1))
            y = layer.self_attention(y, None, True)
            y = layer.feed(layer.cross_attention(y, keys, values, batch.mask))
        return self.output(self.decoder_norm(y)[batch.real])


class Modules(nn.Module):
    """With nn.Transformer."""

    def __init__(self):
        super().__init__()
        self.source, self.target = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.Transformer(WIDTH, HEADS, LAYERS, LAYERS, INNER, dropout=0.0, batch_first=True, norm_first=True)
        self.output = nn.Linear(WIDTH, VOCABULARY)
        self.register_buffer("positions", sinusoids(1000), persistent=False)

    embed = Transformer.embed

    def forward(self, batch):
        causal = nn.Transformer.generate_square_subsequent_mask(batch.target.shape[1])
        y = self.layers(self.embed(self.source, batch.source), self.embed(self.target, batch.target), tgt_mask=causal,
                        src_key_padding_mask=batch.hidden, memory_key_padding_mask=batch.hidden, tgt_is_causal=True)
        return self.output(y[batch.real])


class Batch:
    """Padded to the longest sequence."""

    def __init__(self, lengths):
        sources, targets = torch.tensor([s for s, _ in lengths]), torch.tensor([t for _, t in lengths])
        self.source = torch.randint(3, VOCABULARY, (len(lengths), int(sources.max())))
        self.target = torch.randint(3, VOCABULARY, (len(lengths), int(targets.max())))
        self.hidden = torch.arange(self.source.shape[1])[None] >= sources[:, None]
        self.mask = None if not self.hidden.any() else torch.zeros(self.hidden.shape).masked_fill(
            self.hidden, -math.inf)[:, None, None]
        self.real = torch.arange(self.target.shape[1])[None] < targets[:, None]
        self.labels = torch.randint(3, VOCABULARY, (int(self.real.sum()),))
        if self.mask is None:
            self.hidden = None


def train(file=None, precision="float32"):
    if file and file != "-":
        with open(file) as lines:
            batches = [Batch([tuple(map(int, pair.split(":"))) for pair in line.split()]) for line in lines]
    else:
        batches = [Batch([(LENGTH, LENGTH)] * PAIRS)]

    def runner(kind):
        model = kind()
        adam = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)

        def run():
            for batch in batches:
                adam.zero_grad(set_to_none=True)
                with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
                    loss = F.cross_entropy(model(batch), batch.labels)
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                adam.step()

        return run

    return [runner(Transformer), runner(Modules)]


class Decoder:
    """Decodes one token at a time with a key/value cache, which a beam reorders by parent. The hypotheses of a sentence share the keys
    and values of its source."""

    def __init__(self, batch, beam, grow):
        self.model, self.batch, self.beam, self.rows = Transformer().eval(), batch, beam, batch * beam
        self.append = self.concatenated if grow else self.preallocated
        for p in self.model.parameters():
            p.requires_grad_(False)
        self.source = torch.randint(3, VOCABULARY, (batch, LENGTH))
        # time first, so that the filled part is contiguous; two buffers, so that reordering copies from one to the other
        self.buffers = [torch.empty(2, 2, LENGTH, self.rows, HEADS, WIDTH // HEADS) for _ in range(LAYERS)]
        self.cached = [None] * LAYERS

    def encode(self):
        memory = self.model.encode(self.source, None)
        return [[heads(x).contiguous() for x in layer.memory(memory).chunk(2, -1)] for layer in self.model.decoder]

    def preallocated(self, i, t, k, v, parents):
        """Appends to arrays with capacity for all steps."""
        side = 0 if self.beam == 1 else t % 2
        current, previous = self.buffers[i][side], self.buffers[i][1 - side]
        if parents is not None:
            for old, new in zip(previous, current):
                torch.index_select(old[:t], 1, parents, out=new[:t])
        current[0, t], current[1, t] = k, v
        return current[0, : t + 1].permute(1, 2, 0, 3), current[1, : t + 1].permute(1, 2, 0, 3)

    def concatenated(self, i, t, k, v, parents):
        """Concatenates into new arrays at each step."""
        k, v = k[:, :, None], v[:, :, None]
        if t > 0:
            old = self.cached[i] if parents is None else [x.index_select(0, parents) for x in self.cached[i]]
            k, v = torch.cat([old[0], k], 2), torch.cat([old[1], v], 2)
        self.cached[i] = (k, v)
        return k, v

    def step(self, t, tokens, sources, parents):
        m = self.model
        x = m.target(tokens) * math.sqrt(WIDTH) + m.positions[t]
        for i, (layer, (keys, values)) in enumerate(zip(m.decoder, sources)):
            q, k, v = layer.qkv(layer.norm_self(x)).view(self.rows, 3, HEADS, -1).unbind(1)
            k, v = self.append(i, t, k, v, parents)
            x = x + layer.out(F.scaled_dot_product_attention(q[:, :, None], k, v).reshape(self.rows, WIDTH))
            q = layer.query(layer.norm_cross(x)).view(self.batch, self.beam, HEADS, -1).transpose(1, 2)
            y = F.scaled_dot_product_attention(q, keys, values)
            x = x + layer.cross_out(y.transpose(1, 2).reshape(self.rows, WIDTH))
            x = layer.feed(x)
        return m.output(m.decoder_norm(x))

    @torch.inference_mode()
    def greedy(self):
        sources, tokens, out = self.encode(), torch.ones(self.rows, dtype=torch.long), []
        for t in range(LENGTH):
            tokens = self.step(t, tokens, sources, None).argmax(-1)
            out.append(tokens)
        return torch.stack(out)

    @torch.inference_mode()
    def search(self):
        beam, sources, tokens = self.beam, self.encode(), torch.ones(self.rows, dtype=torch.long)
        first = (torch.arange(self.batch) * beam)[:, None]
        scores, parents, history = torch.full((self.batch, beam), -1e9), None, []
        scores[:, 0] = 0
        for t in range(LENGTH):
            logits = self.step(t, tokens, sources, parents)
            best, which = logits.topk(beam, -1)  # top k of each hypothesis and one logsumexp
            best = best - torch.logsumexp(logits, -1, keepdim=True)
            scores, at = (best.view(self.batch, beam, beam) + scores[:, :, None]).view(self.batch, -1).topk(beam, -1)
            tokens = which.view(self.batch, -1).gather(1, at).view(-1)
            parents = (torch.div(at, beam, rounding_mode="floor") + first).view(-1)
            history.append((tokens, parents))
        at, out = first[:, 0], []
        for tokens, parents in reversed(history):
            out.append(tokens[at])
            at = parents[at]
        return torch.stack(out[::-1])


def one_thread(run):
    """For a single sentence, waiting for the other thread may cost more than it computes."""

    def alone():
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        run()
        torch.set_num_threads(threads)

    return alone


def decode(batch, beam):
    both = [Decoder(int(batch), int(beam), grow) for grow in (False, True)]
    runs = [d.greedy if d.beam == 1 else d.search for d in both]
    return runs + [one_thread(run) for run in runs] if int(batch) == 1 else runs
