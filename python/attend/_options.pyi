"""The options of attend.train and attend.attention, for type checkers. There is no such module when a program runs."""

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict

_Path = str | bytes | PathLike[str] | PathLike[bytes]

class TrainOptions(TypedDict, total=False):
    accumulate: int | None
    activation: str | None
    alignment_head: bool | None
    architecture: str | None
    attention: str | None
    attention_dropout: float | None
    attention_width: int | None
    average: float | None
    average_last: int | None
    batch_tokens: int | None
    bidirectional: bool | None
    bpe_dropout: float | None
    bpe_split: str | None
    cell: str | None
    clip: float | None
    compute: str | None
    context: str | None
    crop: float | None
    decoder_layers: int | None
    diagonal_start: bool | None
    dropout: float | None
    dropout_along_time: bool | None
    embedding: int | None
    ensemble: int | None
    entropy_bonus: float | None
    epochs: int | None
    estimator: str | None
    feed_forward: str | None
    feed_forward_width: int | None
    filter_size: int | None
    filters: int | None
    fresh: bool | None
    fusion: str | None
    guidance: float | None
    guided_alignment: _Path | None
    heads: int | None
    hidden: int | None
    init_from: _Path | None
    input_feeding: bool | None
    keep: int | None
    label_smoothing: float | None
    layers: int | None
    learning_rate: float | None
    log: _Path | None
    log_every: int | None
    lowercase: str | None
    max_length: int | None
    max_positions: int | None
    memory: int | str | None
    min_count: int | None
    momentum: float | None
    new_vocab: bool | None
    norm: str | None
    optimizer: str | None
    patience: int | None
    positions: str | None
    preset: str | None
    readout: str | None
    save_every: int | None
    schedule: str | None
    seed: int | None
    selection: str | None
    shared_vocab: bool | None
    source_tokens: str | None
    source_vocab_size: int | None
    span: int | None
    start: str | None
    target_tokens: str | None
    target_vocab_size: int | None
    task: str | None
    temperature: float | None
    threads: int | None
    tie_embeddings: bool | None
    tokens: str | None
    updates: int | None
    valid_every: int | None
    valid_metric: str | None
    vocab_size: int | None
    warmup: int | None
    weight_decay: float | None
    window: str | None
    window_size: int | None

class TensorOptions(TypedDict, total=False):
    score: str
    heads: int
    key_heads: int
    heads_first: bool
    lengths: Any
    query_lengths: Any
    mask: Any
    causal: bool
    window: Literal["global", "local-m", "local-p"]
    window_size: int
    first_position: int
    selection: Literal["soft", "sparsemax", "entmax15", "hard"]
    scale: float
    soft_cap: float
    dropout: float
    training: bool
    seed: int
    stream: int
    estimator: Literal["straight-through", "reinforce"]
    temperature: float
    entropy_bonus: float
    advantage: Iterable[float] | None
    recompute: bool
    threads: int | None

class AttentionOptions(TensorOptions, total=False):
    parameters: Mapping[str, Any] | Sequence[Any] | None
    bias: Any
    position: Any
    previous: Any
