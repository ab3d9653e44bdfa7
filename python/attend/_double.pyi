"""Attention in double precision, for checks of gradients. The types are those of attend._core."""

from ._core import Array as Array, Attention as Attention, AttentionGradients as AttentionGradients
