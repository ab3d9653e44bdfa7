"""Attention on arrays, without a gradient."""

from __future__ import annotations

from ._core import Attention

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def attention(query: Any, key: Any, value: Any = None, *, return_weights: bool = False, **options: Any) -> Any:
    """Attention on arrays: the context, an Array, or with return_weights the tuple (context, weights).

    The arguments are those of attend.Attention, which also has the scores and the gradients.
    """
    a = Attention(query, key, value, return_weights=return_weights, **options)
    return (a.context, a.weights) if return_weights else a.context
