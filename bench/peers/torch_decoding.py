"""Decoding with the RNNsearch of torch_models.py: 25 source tokens and exactly 25 steps.

    decode BATCH BEAM      BEAM 1: greedy search; otherwise beam search in two forms; the faster is used"""
import torch

from torch_models import HIDDEN, VOCABULARY, LENGTH, RNNsearch


class Decoder:
    def __init__(self, batch):
        self.model = RNNsearch().eval()
        for p in self.model.parameters():
            p.requires_grad_(False)
        self.source = torch.randint(3, VOCABULARY, (LENGTH, batch))
        self.batch = batch

    def encode(self):
        m = self.model
        states, state = m.encoder(self.source, None, False)
        memory = states.transpose(0, 1).contiguous()
        return memory, m.keys(memory), state

    def finish(self, tokens, context, state):
        """The cell and the readout, from the token embeddings and the context."""
        m = self.model
        x, h = m.token_gates(tokens) + m.context_gates(context), m.state_gates(state)
        reset, update = torch.sigmoid(x[:, : 2 * HIDDEN] + h[:, : 2 * HIDDEN]).chunk(2, -1)
        new = torch.tanh(x[:, 2 * HIDDEN :] + reset * h[:, 2 * HIDDEN :])
        state = new + update * (state - new)
        return m.output(torch.tanh(m.readout(torch.cat([state, context, tokens], -1)))), state

    def step(self, tokens, state, memory, keys):
        """One hypothesis for each row of memory."""
        m = self.model
        scores = torch.matmul((keys + m.query(state)[:, None, :]).tanh_(), m.u)
        context = torch.bmm(torch.softmax(scores, -1)[:, None, :], memory)[:, 0]
        return self.finish(m.table(tokens), context, state)

    def step_shared(self, tokens, state, memory, keys, beam):
        """`beam` hypotheses for each source, which share its keys."""
        m = self.model
        query = m.query(state).view(self.batch, beam, 1, -1)
        scores = torch.matmul((keys[:, None] + query).tanh_(), m.u)
        context = torch.bmm(torch.softmax(scores, -1), memory).view(self.batch * beam, -1)
        return self.finish(m.table(tokens), context, state)

    @torch.inference_mode()
    def greedy(self):
        memory, keys, state = self.encode()
        tokens, out = torch.ones(self.batch, dtype=torch.long), []
        for _ in range(LENGTH):
            logits, state = self.step(tokens, state, memory, keys)
            tokens = logits.argmax(-1)
            out.append(tokens)
        return torch.stack(out)

    def beam(self, beam, shared):
        @torch.inference_mode()
        def run():
            memory, keys, state = self.encode()
            state = state.repeat_interleave(beam, 0)
            if not shared:
                memory, keys = memory.repeat_interleave(beam, 0), keys.repeat_interleave(beam, 0)
            first = (torch.arange(self.batch) * beam)[:, None]
            tokens = torch.ones(self.batch * beam, dtype=torch.long)
            scores = torch.full((self.batch, beam), -1e9)
            scores[:, 0] = 0
            history = []
            for _ in range(LENGTH):
                if shared:  # top k of each hypothesis and one logsumexp: no normalised copy of the logits
                    logits, state = self.step_shared(tokens, state, memory, keys, beam)
                    best, which = logits.topk(beam, -1)
                    best = best - torch.logsumexp(logits, -1, keepdim=True)
                    all_scores = best.view(self.batch, beam, beam) + scores[:, :, None]
                    scores, at = all_scores.view(self.batch, -1).topk(beam, -1)
                    tokens = which.view(self.batch, -1).gather(1, at).view(-1)
                    parent = (torch.div(at, beam, rounding_mode="floor") + first).view(-1)
                else:
                    logits, state = self.step(tokens, state, memory, keys)
                    log_p = torch.log_softmax(logits, -1).view(self.batch, beam, -1) + scores[:, :, None]
                    scores, at = log_p.view(self.batch, -1).topk(beam, -1)
                    tokens = (at % VOCABULARY).view(-1)
                    parent = (torch.div(at, VOCABULARY, rounding_mode="floor") + first).view(-1)
                state = state.index_select(0, parent)
                history.append((tokens, parent))
            at, out = first[:, 0], []
            for tokens, parent in reversed(history):
                out.append(tokens[at])
                at = parent[at]
            return torch.stack(out[::-1])

        return run


def decode(batch, beam):
    d, beam = Decoder(int(batch)), int(beam)
    return [d.greedy] if beam == 1 else [d.beam(beam, False), d.beam(beam, True)]
