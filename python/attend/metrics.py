"""Scores of translations: short forms of attend.metric."""

from __future__ import annotations

from ._core import MetricScore, metric

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Union

    References = Iterable[Union[str, Iterable[str]]]

NAMES = ("bleu", "chrf", "chrf++", "ter", "wer", "cer", "exact", "token-accuracy", "line-error")


def bleu(
    hypotheses: Iterable[str], references: References, *, tokenizer: str = "13a", ignore_case: bool = False
) -> float:
    """BLEU of a corpus, 0 to 100, as sacreBLEU computes it. A reference is a str, or a list of alternatives."""
    return metric("bleu", hypotheses, references, tokenizer=tokenizer, ignore_case=ignore_case).score


def chrf(
    hypotheses: Iterable[str], references: References, *, words: bool = False, ignore_case: bool = False
) -> float:
    """chrF of a corpus, 0 to 100; with words, chrF++."""
    return metric("chrf++" if words else "chrf", hypotheses, references, ignore_case=ignore_case).score


def ter(hypotheses: Iterable[str], references: References, *, ignore_case: bool = False) -> float:
    """Translation edit rate of a corpus, in percent; lower is better."""
    return metric("ter", hypotheses, references, ignore_case=ignore_case).score


def wer(hypotheses: Iterable[str], references: References, *, ignore_case: bool = False) -> float:
    """Word error rate of a corpus, in percent; lower is better."""
    return metric("wer", hypotheses, references, ignore_case=ignore_case).score


def cer(hypotheses: Iterable[str], references: References, *, ignore_case: bool = False) -> float:
    """Character error rate of a corpus, in percent; lower is better."""
    return metric("cer", hypotheses, references, ignore_case=ignore_case).score


def evaluate(
    hypotheses: Iterable[str],
    references: References,
    *,
    metrics: Iterable[str] = NAMES,
    tokenizer: str = "13a",
    ignore_case: bool = False,
    bootstrap: int = 0,
    against: Iterable[str] | None = None,
    seed: int = 1,
) -> dict[str, MetricScore]:
    """All scores of a system, by the name of the metric, as `attend evaluate --json` prints them.

    The arguments are those of attend.metric.
    """
    lines, gold = list(hypotheses), list(references)
    other = None if against is None else list(against)
    return {
        name: metric(
            name,
            lines,
            gold,
            tokenizer=tokenizer,
            ignore_case=ignore_case,
            bootstrap=bootstrap,
            against=other,
            seed=seed,
        )
        for name in metrics
    }
