"""Training from files."""

from __future__ import annotations

import os

from . import _core
from ._core import TrainProgress, TrainResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Union, Unpack

    from ._options import TrainOptions

    Path = Union[str, bytes, os.PathLike[str], os.PathLike[bytes]]


_PATHS = ("init_from", "log", "guided_alignment")


def _text(value: Any) -> str:
    """The value of an option as on the command line."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (bytes, os.PathLike)):
        return os.fsdecode(value)
    return str(value)


def train(
    train: Path | Iterable[Path],
    model: Path,
    valid: Path | Iterable[Path] | float | None = None,
    *,
    on_progress: Callable[[TrainProgress], object] | None = None,
    check: bool = True,
    **options: Unpack[TrainOptions],
) -> TrainResult:
    """Trains a model from files, or resumes from its checkpoint: the same model, to the byte, as `attend train`.

    train        a .tsv file, two files whose lines correspond, or a list of such files; with
                 task='language-model' files of lines
    model        the file to write; also writes MODEL.checkpoint, MODEL.log.jsonl and MODEL.svg
    valid        validation data: files; a float, the fraction of the training data that is held out; False: none;
                 None: a tenth, at most 2000 pairs
    on_progress  called with a TrainProgress after every update. Training stops, with a checkpoint and after at most
                 one more update, if it returns True; an exception stops training and is raised again
    check        check the data first
    options      those of `attend train`, with _ for -: hidden=256, learning_rate=0.001,
                 architecture='transformer', fresh=True, init_from='other.model', guided_alignment='auto',
                 threads=4. Those that are not given are chosen from the data; TrainResult.chosen has them. With
                 ensemble=3, three models with the seeds seed, seed + 1 and seed + 2 are trained one after another;
                 model is written when all are trained, and predicts with all of them

    Ctrl-C saves a checkpoint and raises KeyboardInterrupt; the same call resumes. Works without the GIL.
    """
    texts = {
        name.replace("_", "-"): value if name in _PATHS else _text(value)
        for name, value in options.items()
        if value is not None
    }
    return _core._train(train, model, valid, on_progress, check, texts)
