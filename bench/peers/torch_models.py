"""The models of bench/models.c in PyTorch, each in the fastest form known for a CPU: everything that does not depend on the previous
step (embeddings, encoder, the gates' input from the tokens, readout and output) is one matrix product over all steps.

    train NAME            a training step: forward, backward, clipping, Adam; 64 pairs of 25 source and 25 target tokens, vocabulary 10,000
    train NAME FILE       the same on real lengths: each line of FILE is a batch, "source:target source:target ..."
    train NAME FILE|- bf16                 the same with autocast to bfloat16
    python torch_models.py NAME      peak memory of a process that runs a few steps, in MiB"""
import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

VOCABULARY, EMBEDDING, HIDDEN, BATCH, LENGTH = 10000, 256, 512, 64, 25


class Encoder(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.table = nn.Embedding(VOCABULARY, EMBEDDING)
        self.layer = kind(EMBEDDING, HIDDEN, bidirectional=True)
        self.start = nn.Linear(2 * HIDDEN, HIDDEN)

    def forward(self, source, lengths, packed):
        x = self.table(source)
        if packed:
            x = pack_padded_sequence(x, lengths, enforce_sorted=False)
        states, last = self.layer(x)
        if packed:
            states, _ = pad_packed_sequence(states)
        last = last[0] if isinstance(last, tuple) else last
        return states, torch.tanh(self.start(torch.cat([last[0], last[1]], -1)))


class RNNsearch(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder(nn.GRU)
        self.table = nn.Embedding(VOCABULARY, EMBEDDING)
        self.keys = nn.Linear(2 * HIDDEN, HIDDEN)
        self.query = nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.u = nn.Parameter(torch.randn(HIDDEN) * HIDDEN**-0.5)
        self.token_gates = nn.Linear(EMBEDDING, 3 * HIDDEN)
        self.context_gates = nn.Linear(2 * HIDDEN, 3 * HIDDEN, bias=False)
        self.state_gates = nn.Linear(HIDDEN, 3 * HIDDEN)
        self.readout = nn.Linear(3 * HIDDEN + EMBEDDING, HIDDEN)
        self.output = nn.Linear(HIDDEN, VOCABULARY)

    def forward(self, source, lengths, target, packed, hidden):
        states, state = self.encoder(source, lengths, packed)
        memory = states.transpose(0, 1).contiguous()
        keys = self.keys(memory)
        tokens = self.table(target)
        token_gates = self.token_gates(tokens)
        all_states, contexts = [], []
        for t in range(target.shape[0]):
            scores = torch.matmul((keys + self.query(state)[:, None, :]).tanh_(), self.u)
            if hidden is not None:
                scores = scores.masked_fill(hidden, float("-inf"))
            context = torch.bmm(torch.softmax(scores, -1)[:, None, :], memory)[:, 0]
            x, h = token_gates[t] + self.context_gates(context), self.state_gates(state)
            reset, update = torch.sigmoid(x[:, : 2 * HIDDEN] + h[:, : 2 * HIDDEN]).chunk(2, -1)
            new = torch.tanh(x[:, 2 * HIDDEN :] + reset * h[:, 2 * HIDDEN :])
            state = new + update * (state - new)
            all_states.append(state)
            contexts.append(context)
        features = torch.cat([torch.stack(all_states), torch.stack(contexts), tokens], -1)
        return self.output(torch.tanh(self.readout(features)))


class Luong(nn.Module):
    def __init__(self, feed):
        super().__init__()
        self.feed = feed
        self.encoder = Encoder(nn.LSTM)
        self.cell_start = nn.Linear(2 * HIDDEN, HIDDEN)
        self.memory = nn.Linear(2 * HIDDEN, HIDDEN)
        self.table = nn.Embedding(VOCABULARY, EMBEDDING)
        self.layer = nn.LSTMCell(EMBEDDING + HIDDEN, HIDDEN) if feed else nn.LSTM(EMBEDDING, HIDDEN)
        self.mix = nn.Linear(2 * HIDDEN, HIDDEN)
        self.output = nn.Linear(HIDDEN, VOCABULARY)

    def attend(self, queries, memory, hidden):
        scores = torch.bmm(queries, memory.transpose(1, 2))
        if hidden is not None:
            scores = scores.masked_fill(hidden[:, None, :], float("-inf"))
        return torch.bmm(torch.softmax(scores, -1), memory)

    def forward(self, source, lengths, target, packed, hidden):
        states, h = self.encoder(source, lengths, packed)
        memory = self.memory(states).transpose(0, 1).contiguous()
        tokens, c = self.table(target), torch.zeros_like(h)
        if not self.feed:
            s = self.layer(tokens, (h[None], c[None]))[0].transpose(0, 1)
            mixed = torch.tanh(self.mix(torch.cat([self.attend(s, memory, hidden), s], -1)))
            return self.output(mixed.transpose(0, 1))
        mixed, rows = torch.zeros_like(h), []
        for t in range(target.shape[0]):
            h, c = self.layer(torch.cat([tokens[t], mixed], -1), (h, c))
            context = self.attend(h[:, None], memory, hidden)[:, 0]
            mixed = torch.tanh(self.mix(torch.cat([context, h], -1)))
            rows.append(mixed)
        return self.output(torch.stack(rows))


MODELS = {"rnnsearch": RNNsearch, "luong": lambda: Luong(False), "luong-feeding": lambda: Luong(True)}


class Batch:
    """Padded to the longest sequence; labels of padding are -1."""

    def __init__(self, lengths):
        self.lengths = torch.tensor([s for s, _ in lengths])
        targets = torch.tensor([t for _, t in lengths])
        self.source = torch.randint(3, VOCABULARY, (int(self.lengths.max()), len(lengths)))
        self.target = torch.randint(3, VOCABULARY, (int(targets.max()), len(lengths)))
        self.labels = torch.randint(3, VOCABULARY, tuple(self.target.shape))
        self.labels[torch.arange(self.target.shape[0])[:, None] >= targets[None, :]] = -1
        ragged = bool((self.lengths != self.lengths[0]).any())
        self.hidden = torch.arange(self.source.shape[0])[None, :] >= self.lengths[:, None] if ragged else None


def train(name, file=None, precision="float32"):
    model = MODELS[name]()
    adam = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    if file and file != "-":
        with open(file) as lines:
            batches = [Batch([tuple(map(int, pair.split(":"))) for pair in line.split()]) for line in lines]
    else:
        batches = [Batch([(LENGTH, LENGTH)] * BATCH)]

    def runner(packed):
        def run():
            for batch in batches:
                adam.zero_grad(set_to_none=True)
                with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
                    logits = model(batch.source, batch.lengths, batch.target, packed, batch.hidden)
                    loss = F.cross_entropy(logits.reshape(-1, VOCABULARY), batch.labels.reshape(-1), ignore_index=-1)
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                adam.step()

        return run

    # without packing, the encoder also reads the padding: a slightly different model, but maybe faster; the faster is used
    return [runner(True), runner(False)] if file and file != "-" else [runner(False)]


def peak(name):
    torch.set_num_threads(2)
    run = train(name)[0]
    for _ in range(3):
        run()
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    print(peak(sys.argv[1]))
