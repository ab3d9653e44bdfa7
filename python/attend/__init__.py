"""Sequence-to-sequence with attention: translation, training and attention from Python.

    import attend

    m = attend.Model.load("en-de", precision="int8")
    r = m.translate(["a dog runs ."], beam=5, n_best=3, return_attention=True)
    r[0].text, r[0].score, r[0].alignment, r[0].attention

Models     Model.load; then translate, submit, sample, score, align and map. Any number of threads may call them at once.
Training   train, check_data
Text       Tokenizer, split_sentences
Scores     metric, evaluate, bleu, chrf, ter, wer, cer, aer, symmetrize
Alignment  Aligner: word alignments without a neural model
Arrays     Attention, attention: attention on arrays, forward and backward, for any score function
Searches   attend.explore: beam search step by step
PyTorch    attend.torch: attention with automatic differentiation; it is imported at its first use

Array, the type of all numbers, shares its memory with NumPy (numpy.asarray) and PyTorch (torch.from_dlpack) without
a copy; neither is needed. Errors are exceptions with the library's message: Error is the base of all. Work is done
without the GIL. docs/python.md has the manual.
"""

from __future__ import annotations

from ._core import (
    Aligner,
    AlignmentScore,
    Array,
    Attention,
    AttentionGradients,
    BusyError,
    DataError,
    DataExample,
    DataReport,
    DataSizes,
    Error,
    FailedError,
    FileError,
    Finding,
    Hypothesis,
    Map,
    MetricScore,
    Model,
    ModelError,
    OutOfMemoryError,
    ScoredPair,
    Tokenizer,
    TrainProgress,
    TrainResult,
    Translation,
    UsageError,
    __version__,
    aer,
    check_data,
    kernel_name,
    metric,
    split_sentences,
    symmetrize,
)
from .arrays import attention
from .metrics import bleu, cer, chrf, evaluate, ter, wer
from .training import train

__all__ = [
    "Aligner",
    "AlignmentScore",
    "Array",
    "Attention",
    "AttentionGradients",
    "BusyError",
    "DataError",
    "DataExample",
    "DataReport",
    "DataSizes",
    "Error",
    "FailedError",
    "FileError",
    "Finding",
    "Hypothesis",
    "Map",
    "MetricScore",
    "Model",
    "ModelError",
    "OutOfMemoryError",
    "ScoredPair",
    "Tokenizer",
    "TrainProgress",
    "TrainResult",
    "Translation",
    "UsageError",
    "__version__",
    "aer",
    "attention",
    "bleu",
    "cer",
    "check_data",
    "chrf",
    "evaluate",
    "kernel_name",
    "metric",
    "split_sentences",
    "symmetrize",
    "ter",
    "train",
    "wer",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """Imports attend.explore and attend.torch at their first use."""
    if name in ("explore", "torch"):
        import importlib

        return importlib.import_module("." + name, __name__)
    raise AttributeError(f"module 'attend' has no attribute '{name}'")
