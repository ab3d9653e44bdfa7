"""Attention on PyTorch tensors, with automatic differentiation. Needs PyTorch; nothing else of attend does.

    context = attend.torch.attention(q, k, v, heads=8, causal=True)
    context, weights = attend.torch.attention(q, k, v, score="additive", parameters=[wq, wk, b, u], return_weights=True)

Tensors are float32 in the memory of the CPU, and are shared with the library without a copy if they are contiguous.
float64 is for torch.autograd.gradcheck: it is slow.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.utils.dlpack import from_dlpack

from . import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

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
        if a.weights is None:
            return context
        return context, from_dlpack(a.weights)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dcontext: Tensor | None, dweights: Tensor | None = None) -> Any:
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


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor | None = None,
    *,
    parameters: dict[str, Tensor] | Sequence[Tensor] = (),
    bias: Tensor | None = None,
    position: Tensor | None = None,
    previous: Tensor | None = None,
    return_weights: bool = False,
    **options: Any,
) -> Any:
    """Attention with gradients of query, key, value, bias, position, previous and the parameters of the score.

    Returns the context or, with return_weights, (context, weights); the weights have a gradient too. The arguments are
    those of attend.Attention. A tensor that is not contiguous is copied.
    """
    names: list[str] | None = None
    values: list[Tensor] = []
    if isinstance(parameters, dict):
        names, values = list(parameters), list(parameters.values())
    else:
        values = list(parameters)
    tensors = [query, key, value, bias, position, previous, *values]
    contiguous = [None if t is None else t.contiguous() for t in tensors]
    return _Attention.apply({**options, "return_weights": return_weights}, names, *contiguous)
