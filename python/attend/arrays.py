"""Attention on arrays, without a gradient."""

from __future__ import annotations

from ._core import Attention

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Unpack

    from ._options import AttentionOptions


def attention(
    query: Any,
    key: Any,
    value: Any = None,
    *,
    return_weights: bool = False,
    return_scores: bool = False,
    **options: Unpack[AttentionOptions],
) -> Any:
    """Attention on arrays: the context, an Array, or a tuple of it and of the weights and scores that are requested.

    The arguments are those of attend.Attention, which also has the gradients.
    """
    a = Attention(query, key, value, return_weights=return_weights, return_scores=return_scores, **options)
    if not return_weights and not return_scores:
        return a.context
    return (a.context, *([a.weights] if return_weights else []), *([a.scores] if return_scores else []))
