"""Decoding with the RNNsearch of torch_models.py: 25 words in, exactly 25 steps out.

    decode BATCH BEAM      BEAM 1: the best word each step; else beam search in two forms, of which the faster counts"""
import torch

from torch_models import HIDDEN, VOCABULARY, WORDS, RNNsearch


class Decoder:
    def __init__(self, batch):
        self.model = RNNsearch().eval()
        for p in self.model.parameters():
            p.requires_grad_(False)
        self.source = torch.randint(3, VOCABULARY, (WORDS, batch))
        self.batch = batch

    def encode(self):
        m = self.model
        states, state = m.encoder(self.source, None, False)
        memory = states.transpose(0, 1).contiguous()
        return memory, m.keys(memory), state

    def finish(self, words, context, state):
        """The cell and the readout, from the words' embeddings and the context."""
        m = self.model
        x, h = m.word_gates(words) + m.context_gates(context), m.state_gates(state)
        reset, update = torch.sigmoid(x[:, : 2 * HIDDEN] + h[:, : 2 * HIDDEN]).chunk(2, -1)
        new = torch.tanh(x[:, 2 * HIDDEN :] + reset * h[:, 2 * HIDDEN :])
        state = new + update * (state - new)
        return m.output(torch.tanh(m.readout(torch.cat([state, context, words], -1)))), state

    def step(self, words, state, memory, keys):
        """One hypothesis a row of memory."""
        m = self.model
        scores = torch.matmul((keys + m.query(state)[:, None, :]).tanh_(), m.u)
        context = torch.bmm(torch.softmax(scores, -1)[:, None, :], memory)[:, 0]
        return self.finish(m.table(words), context, state)

    def step_shared(self, words, state, memory, keys, beam):
        """`beam` hypotheses for each source, whose keys are not copied."""
        m = self.model
        query = m.query(state).view(self.batch, beam, 1, -1)
        scores = torch.matmul((keys[:, None] + query).tanh_(), m.u)
        context = torch.bmm(torch.softmax(scores, -1), memory).view(self.batch * beam, -1)
        return self.finish(m.table(words), context, state)

    @torch.inference_mode()
    def greedy(self):
        memory, keys, state = self.encode()
        words, out = torch.ones(self.batch, dtype=torch.long), []
        for _ in range(WORDS):
            logits, state = self.step(words, state, memory, keys)
            words = logits.argmax(-1)
            out.append(words)
        return torch.stack(out)

    def beam(self, beam, shared):
        @torch.inference_mode()
        def run():
            memory, keys, state = self.encode()
            state = state.repeat_interleave(beam, 0)
            if not shared:
                memory, keys = memory.repeat_interleave(beam, 0), keys.repeat_interleave(beam, 0)
            first = (torch.arange(self.batch) * beam)[:, None]
            words = torch.ones(self.batch * beam, dtype=torch.long)
            scores = torch.full((self.batch, beam), -1e9)
            scores[:, 0] = 0
            history = []
            for _ in range(WORDS):
                if shared:  # the best of each hypothesis, and their sum alone: no pass over the vocabulary to normalise
                    logits, state = self.step_shared(words, state, memory, keys, beam)
                    best, which = logits.topk(beam, -1)
                    best = best - torch.logsumexp(logits, -1, keepdim=True)
                    all_scores = best.view(self.batch, beam, beam) + scores[:, :, None]
                    scores, at = all_scores.view(self.batch, -1).topk(beam, -1)
                    words = which.view(self.batch, -1).gather(1, at).view(-1)
                    parent = (torch.div(at, beam, rounding_mode="floor") + first).view(-1)
                else:
                    logits, state = self.step(words, state, memory, keys)
                    log_p = torch.log_softmax(logits, -1).view(self.batch, beam, -1) + scores[:, :, None]
                    scores, at = log_p.view(self.batch, -1).topk(beam, -1)
                    words = (at % VOCABULARY).view(-1)
                    parent = (torch.div(at, VOCABULARY, rounding_mode="floor") + first).view(-1)
                state = state.index_select(0, parent)
                history.append((words, parent))
            at, out = first[:, 0], []
            for words, parent in reversed(history):
                out.append(words[at])
                at = parent[at]
            return torch.stack(out[::-1])

        return run


def decode(batch, beam):
    d, beam = Decoder(int(batch)), int(beam)
    return [d.greedy] if beam == 1 else [d.beam(beam, False), d.beam(beam, True)]
