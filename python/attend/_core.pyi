"""The types and functions of the extension module attend._core. help() has their documentation."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from os import PathLike
from typing import Any, Final, Literal, Union, final

from _typeshed import structseq

_Path = Union[str, bytes, PathLike[str], PathLike[bytes]]
_Paths = Union[_Path, Iterable[_Path]]
_Pairs = Iterable[tuple[str, str]]
_Links = Iterable[tuple[int, int]]
_Precision = Literal["fp32", "bf16", "int8"]
_Compute = Literal["fp32", "bf16x3", "bf16"]
_Unit = Literal["auto", "word", "piece", "character"]

__version__: str

class Error(Exception): ...
class FailedError(Error, RuntimeError): ...
class UsageError(Error, ValueError): ...
class DataError(Error, ValueError): ...
class ModelError(Error, ValueError): ...
class FileError(Error, OSError): ...
class OutOfMemoryError(Error, MemoryError): ...
class BusyError(Error, RuntimeError): ...

@final
class Array:
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def dtype(self) -> str: ...
    def tolist(self) -> list[Any]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Any: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __dlpack__(
        self,
        *,
        stream: None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

@final
class Hypothesis(structseq[Any], tuple[Any, ...]):
    __match_args__: Final = (
        "text",
        "score",
        "log_probability",
        "confidence",
        "tokens",
        "ids",
        "alignment",
        "attention",
    )
    @property
    def text(self) -> str: ...
    @property
    def score(self) -> float: ...
    @property
    def log_probability(self) -> float: ...
    @property
    def confidence(self) -> float: ...
    @property
    def tokens(self) -> list[str]: ...
    @property
    def ids(self) -> list[int]: ...
    @property
    def alignment(self) -> list[tuple[int, int]] | None: ...
    @property
    def attention(self) -> Array | None: ...

@final
class Translation(structseq[Any], tuple[Any, ...]):
    __match_args__: Final = (
        "text",
        "score",
        "log_probability",
        "confidence",
        "tokens",
        "ids",
        "alignment",
        "attention",
        "hypotheses",
        "source_tokens",
        "unknown",
        "fault",
    )
    @property
    def text(self) -> str: ...
    @property
    def score(self) -> float: ...
    @property
    def log_probability(self) -> float: ...
    @property
    def confidence(self) -> float: ...
    @property
    def tokens(self) -> list[str]: ...
    @property
    def ids(self) -> list[int]: ...
    @property
    def alignment(self) -> list[tuple[int, int]] | None: ...
    @property
    def attention(self) -> Array | None: ...
    @property
    def hypotheses(self) -> list[Hypothesis]: ...
    @property
    def source_tokens(self) -> list[str]: ...
    @property
    def unknown(self) -> list[str]: ...
    @property
    def fault(self) -> str | None: ...

@final
class ScoredPair(structseq[Any], tuple[Any, ...]):
    __match_args__: Final = (
        "log_probability",
        "token_log_probabilities",
        "tokens",
        "source_tokens",
        "alignment",
        "attention",
        "fault",
    )
    @property
    def log_probability(self) -> float: ...
    @property
    def token_log_probabilities(self) -> list[float]: ...
    @property
    def tokens(self) -> list[str]: ...
    @property
    def source_tokens(self) -> list[str]: ...
    @property
    def alignment(self) -> list[tuple[int, int]] | None: ...
    @property
    def attention(self) -> Array | None: ...
    @property
    def fault(self) -> str | None: ...

@final
class Model:
    @staticmethod
    def load(
        paths: _Paths,
        *,
        precision: _Precision | None = None,
        threads: int | None = None,
        compute: _Compute = "fp32",
        memory: int | str | None = None,
        verify: bool = True,
    ) -> Model: ...
    def save(self, path: _Path, /) -> None: ...
    def translate(
        self,
        lines: Iterable[str],
        *,
        beam: int = 5,
        n_best: int = 1,
        length_penalty: float = 1.0,
        coverage_penalty: float = 0.0,
        length_ratio: float = 2.0,
        length_extra: int | None = None,
        max_length: int = 0,
        no_repeat_ngram: int = 0,
        shortlist: bool = False,
        prefixes: Iterable[str] | None = None,
        replace_unknown: bool = False,
        dictionary: _Path | None = None,
        unit: _Unit = "auto",
        return_alignment: bool = False,
        return_attention: bool | Literal["all"] = False,
        batch_tokens: int = 1000,
        max_input_length: int = 1000,
    ) -> list[Translation]: ...
    def sample(
        self,
        lines: Iterable[str],
        *,
        n: int = 1,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
        length_ratio: float = 2.0,
        length_extra: int | None = None,
        max_length: int = 0,
        no_repeat_ngram: int = 0,
        prefixes: Iterable[str] | None = None,
        replace_unknown: bool = False,
        dictionary: _Path | None = None,
        unit: _Unit = "auto",
        return_alignment: bool = False,
        return_attention: bool | Literal["all"] = False,
        batch_tokens: int = 1000,
        max_input_length: int = 1000,
    ) -> list[Translation]: ...
    def submit(
        self,
        line: str,
        *,
        timeout: float | None = None,
        prefix: str | None = None,
        beam: int = 5,
        n_best: int = 1,
        length_penalty: float = 1.0,
        coverage_penalty: float = 0.0,
        length_ratio: float = 2.0,
        length_extra: int | None = None,
        max_length: int = 0,
        no_repeat_ngram: int = 0,
        shortlist: bool = False,
        return_alignment: bool = False,
        return_attention: bool = False,
    ) -> Future[Translation]: ...
    def score(
        self,
        pairs: _Pairs | Iterable[str],
        *,
        return_attention: bool = False,
        layer: int | None = None,
        head: int | None = None,
        shift: bool = False,
        unit: _Unit = "auto",
    ) -> list[ScoredPair]: ...
    def align(
        self,
        pairs: _Pairs,
        *,
        layer: int | None = None,
        head: int | None = None,
        shift: bool = False,
        unit: _Unit = "auto",
    ) -> list[list[tuple[int, int]]]: ...
    def map(
        self,
        source: str | None,
        target: str | None = None,
        *,
        kind: Literal["cross", "encoder", "decoder"] = "cross",
        beam: int = 5,
    ) -> Map: ...
    def _decode(self, ids: Iterable[int], /) -> Decoding: ...
    @property
    def config(self) -> dict[str, int | float | bool | str]: ...
    @property
    def precision(self) -> _Precision: ...
    @property
    def compute(self) -> _Compute: ...
    @property
    def task(self) -> Literal["translation", "language-model"]: ...
    @property
    def parameter_count(self) -> int: ...
    @property
    def member_count(self) -> int: ...
    @property
    def paths(self) -> tuple[str, ...]: ...
    @property
    def threads(self) -> int: ...
    @property
    def source_tokenizer(self) -> Tokenizer: ...
    @property
    def target_tokenizer(self) -> Tokenizer: ...

@final
class Decoding:
    @property
    def max_length(self) -> int: ...
    def step(self, parents: Iterable[int], tokens: Iterable[int], /) -> None: ...
    def log_probabilities(self, hypothesis: int, /) -> Array: ...
    def attention(self, hypothesis: int, layer: int, head: int, /) -> Array | None: ...

@final
class Map:
    @property
    def attention(self) -> Array | None: ...
    @property
    def source_tokens(self) -> list[str]: ...
    @property
    def target_tokens(self) -> list[str]: ...
    @property
    def source_words(self) -> list[str]: ...
    @property
    def target_words(self) -> list[str]: ...
    @property
    def probabilities(self) -> list[float] | None: ...
    @property
    def log_probability(self) -> float: ...
    def weights(self, *, layer: int = -1, head: int = -1, by_token: bool = False) -> Array: ...
    def html(self, *, layer: int = -1, head: int = -1, by_token: bool = False, width: int = 0) -> str: ...
    def json(self, *, layer: int = -1, head: int = -1, by_token: bool = False, width: int = 0) -> str: ...
    def terminal(self, *, layer: int = -1, head: int = -1, by_token: bool = False, width: int = 0) -> str: ...
    def npz(self, *, layer: int = -1, head: int = -1, by_token: bool = False, width: int = 0) -> bytes: ...
    def svg(self, *, layer: int = -1, head: int = -1, by_token: bool = False, width: int = 0) -> str: ...
    def _repr_html_(self) -> str: ...
    def _repr_svg_(self) -> str | None: ...

@final
class Tokenizer:
    @staticmethod
    def learn(
        lines: Iterable[str],
        *,
        kind: Literal["bpe", "word", "char", "jamo"] = "bpe",
        vocab_size: int = 0,
        min_count: int = 1,
        lowercase: bool = False,
        split: Literal["classes", "spaces"] = "classes",
    ) -> Tokenizer: ...
    def encode(self, text: str, *, dropout: float = 0.0, seed: int = 0) -> list[int]: ...
    def tokenize(self, text: str, /) -> list[str]: ...
    def spans(self, text: str, /) -> list[tuple[int, int]]: ...
    def decode(self, ids: Iterable[int], /) -> str: ...
    def normalize(self, text: str, /) -> str: ...
    def token(self, id: int, /) -> str: ...
    @property
    def kind(self) -> Literal["bpe", "word", "char", "jamo"]: ...
    @property
    def lowercase(self) -> bool: ...
    def __len__(self) -> int: ...

@final
class MetricScore(structseq[Any], tuple[Any, ...]):
    __match_args__: Final = ("score", "low", "high", "p", "signature")
    @property
    def score(self) -> float: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...
    @property
    def p(self) -> float | None: ...
    @property
    def signature(self) -> str: ...

@final
class AlignmentScore(structseq[Any], tuple[Any, ...]):
    __match_args__: Final = ("aer", "precision", "recall")
    @property
    def aer(self) -> float: ...
    @property
    def precision(self) -> float: ...
    @property
    def recall(self) -> float: ...

def metric(
    name: str,
    hypotheses: Iterable[str],
    references: Iterable[str | Iterable[str]],
    *,
    tokenizer: str = "13a",
    ignore_case: bool = False,
    bootstrap: int = 0,
    against: Iterable[str] | None = None,
    seed: int = 1,
) -> MetricScore: ...
def aer(
    predicted: Iterable[_Links], gold: Iterable[Iterable[tuple[int, int] | tuple[int, int, bool]]], /
) -> AlignmentScore: ...
def symmetrize(forward: _Links, reverse: _Links, method: str = "grow-diag-final-and") -> list[tuple[int, int]]: ...

@final
class Aligner:
    @staticmethod
    def train(
        pairs: _Pairs,
        *,
        unit: Literal["auto", "word", "character"] = "auto",
        threshold: float = 0.5,
        model1_iterations: int = 5,
        hmm_iterations: int = 5,
        threads: int | None = None,
        memory: int | str = 0,
    ) -> Aligner: ...
    @staticmethod
    def load(path: _Path, *, threshold: float = 0.5, threads: int | None = None) -> Aligner: ...
    def save(self, path: _Path, /) -> None: ...
    def align(self, pairs: _Pairs | None = None, *, method: str = "agreed") -> list[list[tuple[int, int]]]: ...

@final
class DataSizes(structseq[Any], tuple[Any, ...]):
    __match_args__: Final = ("pairs", "usable", "words", "characters", "median_characters", "max_characters")
    @property
    def pairs(self) -> int: ...
    @property
    def usable(self) -> int: ...
    @property
    def words(self) -> tuple[int, int]: ...
    @property
    def characters(self) -> tuple[int, int]: ...
    @property
    def median_characters(self) -> tuple[int, int]: ...
    @property
    def max_characters(self) -> tuple[int, int]: ...

@final
class DataExample(structseq[Any], tuple[Any, ...]):
    __match_args__: Final = ("file", "line", "excerpt")
    @property
    def file(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def excerpt(self) -> str: ...

@final
class Finding(structseq[Any], tuple[Any, ...]):
    __match_args__: Final = ("name", "severity", "occurrences", "what", "advice", "examples")
    @property
    def name(self) -> str: ...
    @property
    def severity(self) -> Literal["error", "warning", "info"]: ...
    @property
    def occurrences(self) -> int: ...
    @property
    def what(self) -> str: ...
    @property
    def advice(self) -> str: ...
    @property
    def examples(self) -> list[DataExample]: ...

@final
class DataReport(structseq[Any], tuple[Any, ...]):
    __match_args__: Final = ("train", "valid", "findings", "stops", "text")
    @property
    def train(self) -> DataSizes: ...
    @property
    def valid(self) -> DataSizes | None: ...
    @property
    def findings(self) -> list[Finding]: ...
    @property
    def stops(self) -> bool: ...
    @property
    def text(self) -> str: ...

def check_data(
    train: _Paths, valid: _Paths | None = None, *, lines: bool = False, quick: bool = False
) -> DataReport: ...

@final
class AttentionGradients(structseq[Any], tuple[Any, ...]):
    __match_args__: Final = ("query", "key", "value", "bias", "position", "previous", "parameters")
    @property
    def query(self) -> Array | None: ...
    @property
    def key(self) -> Array | None: ...
    @property
    def value(self) -> Array | None: ...
    @property
    def bias(self) -> Array | None: ...
    @property
    def position(self) -> Array | None: ...
    @property
    def previous(self) -> Array | None: ...
    @property
    def parameters(self) -> dict[str, Array]: ...

@final
class Attention:
    def __new__(
        cls,
        query: Any,
        key: Any,
        value: Any = None,
        *,
        score: str = "scaled-dot",
        parameters: Mapping[str, Any] | Sequence[Any] | None = None,
        heads: int = 1,
        key_heads: int = 0,
        heads_first: bool = True,
        lengths: Any = None,
        query_lengths: Any = None,
        mask: Any = None,
        bias: Any = None,
        causal: bool = False,
        window: Literal["global", "local-m", "local-p"] = "global",
        window_size: int = 0,
        position: Any = None,
        first_position: int = 0,
        selection: Literal["soft", "sparsemax", "entmax15", "hard"] = "soft",
        scale: float = 0.0,
        soft_cap: float = 0.0,
        dropout: float = 0.0,
        training: bool = False,
        seed: int = 0,
        stream: int = 0,
        previous: Any = None,
        estimator: Literal["straight-through", "reinforce"] = "straight-through",
        temperature: float = 1.0,
        entropy_bonus: float = 0.0,
        advantage: Iterable[float] | None = None,
        return_weights: bool = False,
        return_scores: bool = False,
        recompute: bool = False,
        threads: int | None = None,
    ) -> Attention: ...
    @property
    def context(self) -> Array: ...
    @property
    def weights(self) -> Array | None: ...
    @property
    def scores(self) -> Array | None: ...
    def backward(
        self, dcontext: Any, dweights: Any = None, *, wanted: Iterable[str] | None = None
    ) -> AttentionGradients: ...

@final
class TrainProgress(structseq[Any], tuple[Any, ...]):
    __match_args__: Final = (
        "update",
        "updates",
        "epoch",
        "loss",
        "learning_rate",
        "gradient_norm",
        "tokens_per_second",
        "seconds",
        "seconds_left",
        "validated",
        "valid_loss",
        "valid_score",
        "best",
        "better",
        "saved",
        "member",
    )
    @property
    def update(self) -> int: ...
    @property
    def updates(self) -> int: ...
    @property
    def epoch(self) -> float: ...
    @property
    def loss(self) -> float: ...
    @property
    def learning_rate(self) -> float: ...
    @property
    def gradient_norm(self) -> float: ...
    @property
    def tokens_per_second(self) -> float: ...
    @property
    def seconds(self) -> float: ...
    @property
    def seconds_left(self) -> float | None: ...
    @property
    def validated(self) -> bool: ...
    @property
    def valid_loss(self) -> float | None: ...
    @property
    def valid_score(self) -> float | None: ...
    @property
    def best(self) -> float | None: ...
    @property
    def better(self) -> bool: ...
    @property
    def saved(self) -> bool: ...
    @property
    def member(self) -> int: ...

@final
class TrainResult(structseq[Any], tuple[Any, ...]):
    __match_args__: Final = (
        "end",
        "update",
        "best",
        "chosen",
        "notices",
    )
    @property
    def end(self) -> Literal["done", "patience", "stopped"]: ...
    @property
    def update(self) -> int: ...
    @property
    def best(self) -> float | None: ...
    @property
    def chosen(self) -> dict[str, str]: ...
    @property
    def notices(self) -> list[str]: ...

def _train(
    train: _Paths,
    model: _Path,
    valid: _Paths | float | None,
    on_progress: Callable[[TrainProgress], object] | None,
    check: bool,
    options: dict[str, Any],
) -> TrainResult: ...
def _array(shape: tuple[int, ...], bytes: bytes, /) -> Array: ...
def kernel_name() -> str: ...
def split_sentences(text: str, /) -> list[str]: ...
