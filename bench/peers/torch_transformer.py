"""The Transformer of bench/transformer.c in PyTorch: width 256, 4 heads, feed-forward 1024 with ReLU, 4 + 4 layers, normalised before each part.

    train-transformer [FILE]          a training step: forward, backward, clipping, Adam (fused); a line of FILE is a batch, "source:target ..";
                                      without FILE 164 pairs of 25 words each way. In several forms, of which the fastest counts.
    decode-transformer BATCH BEAM     25 words in, exactly 25 steps out, keys and values of earlier words kept; BEAM 1: the best word each step"""
import math
import warnings

import torch
import torch.nn.functional as F
from torch import nn

warnings.filterwarnings("ignore", message="enable_nested_tensor")

VOCABULARY, WIDTH, HEADS, INNER, LAYERS, WORDS, PAIRS = 10000, 256, 4, 1024, 4, 25, 164


def sinusoids(length):
    angle = torch.arange(length)[:, None] * 10000.0 ** (-torch.arange(0, WIDTH, 2) / WIDTH)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)


def heads(x):
    return x.unflatten(-1, (HEADS, -1)).transpose(1, 2)


class Layer(nn.Module):
    """Of the encoder, or with `cross` of the decoder."""

    def __init__(self, cross):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.inner, self.outer = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
        self.norm_self, self.norm_feed = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        if cross:
            self.query, self.memory = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 2 * WIDTH)
            self.cross_out, self.norm_cross = nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH)

    def look_at_self(self, x, mask, causal):
        q, k, v = (heads(y) for y in self.qkv(self.norm_self(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
        return x + self.out(y.transpose(1, 2).flatten(2))

    def look_at_source(self, x, keys, values, mask):
        y = F.scaled_dot_product_attention(heads(self.query(self.norm_cross(x))), keys, values, attn_mask=mask)
        return x + self.cross_out(y.transpose(1, 2).flatten(2))

    def feed(self, x):
        return x + self.outer(F.relu(self.inner(self.norm_feed(x)), inplace=True))


class Transformer(nn.Module):
    """By scaled_dot_product_attention. Padding is at the end, so a causal mask hides it from words; what comes of padding rows is left out
    before the output layer."""

    def __init__(self):
        super().__init__()
        self.source, self.target = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(VOCABULARY, WIDTH)
        self.encoder = nn.ModuleList(Layer(False) for _ in range(LAYERS))
        self.decoder = nn.ModuleList(Layer(True) for _ in range(LAYERS))
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.output = nn.Linear(WIDTH, VOCABULARY)
        self.register_buffer("places", sinusoids(1000), persistent=False)

    def embed(self, table, words):
        return table(words) * math.sqrt(WIDTH) + self.places[: words.shape[1]]

    def encode(self, source, mask):
        x = self.embed(self.source, source)
        for layer in self.encoder:
            x = layer.feed(layer.look_at_self(x, mask, False))
        return self.encoder_norm(x)

    def forward(self, batch):
        memory = self.encode(batch.source, batch.seen)
        y = self.embed(self.target, batch.target)
        for layer in self.decoder:
            keys, values = (heads(x) for x in layer.memory(memory).chunk(2, -1))
            y = layer.look_at_self(y, None, True)
            y = layer.feed(layer.look_at_source(y, keys, values, batch.seen))
        return self.output(self.decoder_norm(y)[batch.real])


class Modules(nn.Module):
    """By nn.Transformer."""

    def __init__(self):
        super().__init__()
        self.source, self.target = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.Transformer(WIDTH, HEADS, LAYERS, LAYERS, INNER, dropout=0.0, batch_first=True, norm_first=True)
        self.output = nn.Linear(WIDTH, VOCABULARY)
        self.register_buffer("places", sinusoids(1000), persistent=False)

    embed = Transformer.embed

    def forward(self, batch):
        causal = nn.Transformer.generate_square_subsequent_mask(batch.target.shape[1])
        y = self.layers(self.embed(self.source, batch.source), self.embed(self.target, batch.target), tgt_mask=causal,
                        src_key_padding_mask=batch.hidden, memory_key_padding_mask=batch.hidden, tgt_is_causal=True)
        return self.output(y[batch.real])


class Batch:
    """Padded to its longest."""

    def __init__(self, lengths):
        sources, targets = torch.tensor([s for s, _ in lengths]), torch.tensor([t for _, t in lengths])
        self.source = torch.randint(3, VOCABULARY, (len(lengths), int(sources.max())))
        self.target = torch.randint(3, VOCABULARY, (len(lengths), int(targets.max())))
        self.hidden = torch.arange(self.source.shape[1])[None] >= sources[:, None]
        self.seen = None if not self.hidden.any() else torch.zeros(self.hidden.shape).masked_fill(
            self.hidden, -math.inf)[:, None, None]
        self.real = torch.arange(self.target.shape[1])[None] < targets[:, None]
        self.wanted = torch.randint(3, VOCABULARY, (int(self.real.sum()),))
        if self.seen is None:
            self.hidden = None


def train(file=None):
    if file:
        with open(file) as lines:
            batches = [Batch([tuple(map(int, pair.split(":"))) for pair in line.split()]) for line in lines]
    else:
        batches = [Batch([(WORDS, WORDS)] * PAIRS)]

    def runner(kind):
        model = kind()
        adam = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)

        def run():
            for batch in batches:
                adam.zero_grad(set_to_none=True)
                F.cross_entropy(model(batch), batch.wanted).backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                adam.step()

        return run

    return [runner(Transformer), runner(Modules)]


class Decoder:
    """Only the last word is computed. Keys and values of earlier ones are kept, and of a beam they are picked by parent; those of the source are
    the same for all hypotheses of a sentence, which are so many queries at once."""

    def __init__(self, batch, beam, grow):
        self.model, self.batch, self.beam, self.rows = Transformer().eval(), batch, beam, batch * beam
        self.past = self.grown if grow else self.placed
        for p in self.model.parameters():
            p.requires_grad_(False)
        self.source = torch.randint(3, VOCABULARY, (batch, WORDS))
        # step after step, so that what is there lies together; twice, so that it can be picked from one into the other
        self.kept = [torch.empty(2, 2, WORDS, self.rows, HEADS, WIDTH // HEADS) for _ in range(LAYERS)]
        self.now = [None] * LAYERS

    def encode(self):
        memory = self.model.encode(self.source, None)
        return [[heads(x).contiguous() for x in layer.memory(memory).chunk(2, -1)] for layer in self.model.decoder]

    def placed(self, i, t, k, v, parents):
        """In arrays with room for all steps."""
        side = 0 if self.beam == 1 else t % 2
        now, before = self.kept[i][side], self.kept[i][1 - side]
        if parents is not None:
            for old, new in zip(before, now):
                torch.index_select(old[:t], 1, parents, out=new[:t])
        now[0, t], now[1, t] = k, v
        return now[0, : t + 1].permute(1, 2, 0, 3), now[1, : t + 1].permute(1, 2, 0, 3)

    def grown(self, i, t, k, v, parents):
        """In arrays made anew at each step."""
        k, v = k[:, :, None], v[:, :, None]
        if t > 0:
            old = self.now[i] if parents is None else [x.index_select(0, parents) for x in self.now[i]]
            k, v = torch.cat([old[0], k], 2), torch.cat([old[1], v], 2)
        self.now[i] = (k, v)
        return k, v

    def step(self, t, words, sources, parents):
        m = self.model
        x = m.target(words) * math.sqrt(WIDTH) + m.places[t]
        for i, (layer, (keys, values)) in enumerate(zip(m.decoder, sources)):
            q, k, v = layer.qkv(layer.norm_self(x)).view(self.rows, 3, HEADS, -1).unbind(1)
            k, v = self.past(i, t, k, v, parents)
            x = x + layer.out(F.scaled_dot_product_attention(q[:, :, None], k, v).reshape(self.rows, WIDTH))
            q = layer.query(layer.norm_cross(x)).view(self.batch, self.beam, HEADS, -1).transpose(1, 2)
            y = F.scaled_dot_product_attention(q, keys, values)
            x = x + layer.cross_out(y.transpose(1, 2).reshape(self.rows, WIDTH))
            x = layer.feed(x)
        return m.output(m.decoder_norm(x))

    @torch.inference_mode()
    def greedy(self):
        sources, words, out = self.encode(), torch.ones(self.rows, dtype=torch.long), []
        for t in range(WORDS):
            words = self.step(t, words, sources, None).argmax(-1)
            out.append(words)
        return torch.stack(out)

    @torch.inference_mode()
    def search(self):
        beam, sources, words = self.beam, self.encode(), torch.ones(self.rows, dtype=torch.long)
        first = (torch.arange(self.batch) * beam)[:, None]
        scores, parents, history = torch.full((self.batch, beam), -1e9), None, []
        scores[:, 0] = 0
        for t in range(WORDS):
            logits = self.step(t, words, sources, parents)
            best, which = logits.topk(beam, -1)  # the best of each hypothesis, and their sum alone
            best = best - torch.logsumexp(logits, -1, keepdim=True)
            scores, at = (best.view(self.batch, beam, beam) + scores[:, :, None]).view(self.batch, -1).topk(beam, -1)
            words = which.view(self.batch, -1).gather(1, at).view(-1)
            parents = (torch.div(at, beam, rounding_mode="floor") + first).view(-1)
            history.append((words, parents))
        at, out = first[:, 0], []
        for words, parents in reversed(history):
            out.append(words[at])
            at = parents[at]
        return torch.stack(out[::-1])


def decode(batch, beam):
    both = [Decoder(int(batch), int(beam), grow) for grow in (False, True)]
    return [d.greedy if d.beam == 1 else d.search for d in both]
