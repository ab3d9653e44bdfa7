"""Attention on PyTorch tensors, with automatic differentiation. Needs PyTorch; nothing else of attend does.

    context = attend.torch.attention(q, k, v, heads=8, causal=True)
    context, weights = attend.torch.attention(q, k, v, score="additive", parameters=[wq, wk, b, u], return_weights=True)

Tensors are float32 in the memory of the CPU, and are shared with the library without a copy if they are contiguous.
float64 is for torch.autograd.gradcheck: it is slow.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.utils.dlpack import from_dlpack

from . import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Unpack

    from ._options import TensorOptions

# The inputs with a gradient, in the order of the arguments of _Attention, and then the parameters of the score.
_INPUTS = ("query", "key", "value", "bias", "position", "previous")


def _module(dtype: torch.dtype) -> Any:
    if dtype == torch.float64:
        from . import _double

        return _double
    return _core


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, options: dict[str, Any], names: Sequence[str] | None, *tensors: Tensor | None) -> Any:
        inputs: dict[str, Any] = {n: t.detach() for n, t in zip(_INPUTS, tensors) if t is not None}
        given = [t.detach() for t in tensors[len(_INPUTS) :] if t is not None]
        if given:
            inputs["parameters"] = dict(zip(names, given)) if names else given
        a = _module(tensors[0].dtype if tensors[0] is not None else torch.float32).Attention(**inputs, **options)
        context = from_dlpack(a.context)
        ctx.attention, ctx.names = a, names
        ctx.save_for_backward(*(t for t in tensors if t is not None), context)
        ctx.set_materialize_grads(False)
        ctx.has_weights = a.weights is not None
        results = [context]
        if a.weights is not None:
            results.append(from_dlpack(a.weights))
        if a.scores is not None:
            results.append(from_dlpack(a.scores))
            ctx.mark_non_differentiable(results[-1])
        return tuple(results) if len(results) > 1 else context

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dcontext: Tensor | None, *others: Tensor | None) -> Any:
        dweights = others[0] if ctx.has_weights else None
        *_, context = ctx.saved_tensors  # raises an exception if one was changed since forward
        if dcontext is None:
            dcontext = torch.zeros_like(context)
        needs = ctx.needs_input_grad[2:]
        wanted = [name for name, need in zip(_INPUTS, needs) if need]
        if any(needs[len(_INPUTS) :]):
            wanted.append("parameters")
        g = ctx.attention.backward(
            dcontext.contiguous(), None if dweights is None else dweights.contiguous(), wanted=wanted
        )
        gradients = [getattr(g, name) if need else None for name, need in zip(_INPUTS, needs)]
        parameters = [g.parameters.get(n) for n in ctx.names] if ctx.names else list(g.parameters.values())
        gradients += [x if need else None for x, need in zip(parameters, needs[len(_INPUTS) :])]
        gradients += [None] * (len(needs) - len(gradients))
        return (None, None, *(None if x is None else from_dlpack(x) for x in gradients))


def _plain(value: Any) -> Any:
    """An option without a gradient, such as a mask or lengths: contiguous, and flags as bytes."""
    if not isinstance(value, Tensor):
        return value
    value = value.detach()
    return (value.to(torch.uint8) if value.dtype == torch.bool else value).contiguous()


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor | None = None,
    *,
    parameters: Mapping[str, Tensor] | Sequence[Tensor] = (),
    bias: Tensor | None = None,
    position: Tensor | None = None,
    previous: Tensor | None = None,
    return_weights: bool = False,
    return_scores: bool = False,
    **options: Unpack[TensorOptions],
) -> Any:
    """Attention with gradients of query, key, value, bias, position, previous and the parameters of the score.

    Returns the context, or a tuple of it and of the weights and scores that are requested; the weights have a gradient
    too, the scores have none. The arguments are those of attend.Attention; mask and lengths may be tensors. A tensor that
    is not contiguous is copied.
    """
    names: list[str] | None = None
    values: list[Tensor] = []
    if isinstance(parameters, Mapping):
        names, values = list(parameters), list(parameters.values())
    else:
        values = list(parameters)
    tensors = [query, key, value, bias, position, previous, *values]
    contiguous = [None if t is None else t.contiguous() for t in tensors]
    plain = {name: _plain(option) for name, option in options.items()}
    plain.update(return_weights=return_weights, return_scores=return_scores)
    return _Attention.apply(plain, names, *contiguous)
