"""Beam search step by step: which hypotheses there are, what they could continue with, and what they attend to.

for step in attend.explore.beam(model, "a dog runs .", beam=3):
    print(step)

The search is that of Model.translate, written in Python on the same decoder: its best result is the same text.
"""

from __future__ import annotations

import heapq
import math

from ._core import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._core import Array, Decoding, Model, Tokenizer

BEGIN, END = 1, 2


class Candidate:
    """A token that may follow a hypothesis."""

    __slots__ = ("hypothesis", "token", "piece", "log_probability", "total", "kept")

    def __init__(self, hypothesis: int, token: int, piece: str, log_probability: float, total: float) -> None:
        self.hypothesis = hypothesis  #: index of the hypothesis in the step
        self.token = token
        self.piece = piece  #: the token as text
        self.log_probability = log_probability
        self.total = total  #: of the hypothesis and the token
        self.kept = False  #: it is in the beam of the next step, or finished

    def __repr__(self) -> str:
        return f"{'*' if self.kept else ' '}{self.piece!r} {math.exp(self.log_probability):.3f}"


class Partial:
    """A hypothesis of a step."""

    __slots__ = ("ids", "text", "log_probability", "score", "attention", "candidates")

    def __init__(self, ids: list[int], text: str, log_probability: float, score: float) -> None:
        self.ids = ids
        self.text = text
        self.log_probability = log_probability
        self.score = score  #: log_probability, normalised by length
        self.attention: Array | None = None  #: of the last token to the source, by the model's first layer and head
        self.candidates: list[Candidate] = []  #: the most probable tokens that may follow, best first

    def __repr__(self) -> str:
        return f"{self.score:8.3f} {self.text!r}  {' '.join(map(repr, self.candidates))}"


class Step:
    """A step of a search."""

    __slots__ = ("number", "beam", "finished")

    def __init__(self, number: int, beam: list[Partial], finished: list[Partial]) -> None:
        self.number = number  #: from 0
        self.beam = beam  #: hypotheses that still grow, best first
        self.finished = finished  #: complete ones, best first

    def __repr__(self) -> str:
        lines = [f"step {self.number}"]
        lines += [f"  {p!r}" for p in self.beam]
        lines += [f"  {p.score:8.3f} {p.text!r}  finished" for p in self.finished]
        return "\n".join(lines)


def _best_tokens(row: memoryview, count: int) -> list[int]:
    return heapq.nsmallest(count, (t for t in range(len(row)) if t != BEGIN), key=lambda t: (-row[t], t))


def beam(
    model: Model,
    line: str,
    *,
    beam: int = 5,
    length_penalty: float = 1.0,
    length_ratio: float = 2.0,
    length_extra: int = 10,
    layer: int = 0,
    head: int = 0,
) -> Iterator[Step]:
    """The steps of a beam search for the translation of a line.

    Each step shows the hypotheses of the beam and, for each, its most probable next tokens; those that the search
    keeps are marked. The last step has only finished hypotheses. `layer` and `head` say which attention is shown.
    An iterator is read once, and can be closed at any step; each has a decoder of its own.
    """
    if not isinstance(line, str):
        raise TypeError("line must be a str")
    if not 1 <= beam <= 1024:
        raise UsageError(f"beam is {beam}; it must be from 1 to 1024")
    source = model.source_tokenizer.encode(line) + [END]
    if len(source) == 1:  # as translate: an empty line has an empty translation
        return iter([Step(0, [], [Partial([], "", 0.0, 0.0)])])
    decoding = model._decode(source)
    limit = min(int(length_ratio * len(source) + length_extra), decoding.max_length)
    return _search(model.target_tokenizer, decoding, limit, beam, length_penalty, layer, head)


def _search(
    target: Tokenizer, decoding: Decoding, limit: int, beam: int, length_penalty: float, layer: int, head: int
) -> Iterator[Step]:

    def score(log_probability: float, rows: int) -> float:
        return log_probability / math.pow((5 + rows) / 6, length_penalty)

    def can_improve(log_probability: float) -> bool:
        return not finished or score(log_probability, limit + 1 if length_penalty > 0 else 1) > finished[0].score

    running, parents, tokens = [Partial([], "", 0.0, 0.0)], [0], [BEGIN]
    finished: list[Partial] = []
    rows = 0
    while running:
        rows += 1
        decoding.step(parents, tokens)
        for i, p in enumerate(running):
            p.attention = decoding.attention(i, layer, head)
            row = memoryview(decoding.log_probabilities(i))
            p.candidates = [
                Candidate(i, t, target.token(t), row[t], p.log_probability + row[t])
                for t in ([END] if rows > limit else _best_tokens(row, beam))
            ]
        candidates = [c for p in running for c in p.candidates]
        candidates.sort(key=lambda c: (-c.total, c.hypothesis, c.token))
        grown: list[Partial] = []
        parents, tokens = [], []
        for c in candidates[:beam]:
            p = running[c.hypothesis]
            if c.token == END:
                finished.append(Partial(p.ids, p.text, c.total, score(c.total, rows)))
                finished.sort(key=lambda f: -f.score)
            elif can_improve(c.total):
                ids = [*p.ids, c.token]
                grown.append(Partial(ids, target.decode(ids), c.total, score(c.total, rows)))
                parents.append(c.hypothesis)
                tokens.append(c.token)
            else:
                continue
            c.kept = True
        yield Step(rows - 1, running, list(finished))
        running = grown
    yield Step(rows, [], finished)
