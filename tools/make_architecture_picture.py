#!/usr/bin/env python3
"""Writes docs/pictures/architecture.svg: the layers of the code, and how data passes through them.

    tools/make_architecture_picture.py docs/pictures/architecture.svg

The picture adapts to light and dark pages. Needs nothing but Python's standard library.
"""

import sys
from html import escape

LAYERS = [  # from the top; each uses only what lies below it
    ("cli", "the command: one file for each verb", "app"),
    ("view", "attention maps: terminal, pictures, pages", "use"),
    ("train", "optimizers, training loop, checkpoints, log", "use"),
    ("decode", "beam search, sampling, translator, scorer", "use"),
    ("metric", "BLEU, chrF, TER, error rates, AER, bootstrap", "use"),
    ("text", "tokenizers, pairs, corpus, batches, data check", "use"),
    ("model", "configuration, architectures, loss, model file", "model"),
    ("attention", "score functions, masks, selections, caches", "model"),
    ("op", "differentiable operations: forward, backward", "base"),
    ("kernel", "arithmetic on arrays: C, AVX2, AVX-512, NEON, GEMM", "base"),
    ("format", "safetensors, JSON, SVG plots", "base"),
    ("core", "memory, tape, threads, random numbers, files", "base"),
]

STYLE = """
  .page { fill: #ffffff } text { fill: #1f2733; font: 13px system-ui, "DejaVu Sans", sans-serif }
  .title { font-weight: 600; font-size: 15px } .name { font-weight: 600 } .note { fill: #5a6675; font-size: 12px }
  rect, path.box { stroke-width: 1.2 } .app { fill: #f3e8fb; stroke: #9b6fc0 } .use { fill: #e4f0fb; stroke: #5b8fc4 }
  .model { fill: #fdf0dc; stroke: #c8974a } .base { fill: #e7f4e8; stroke: #65a26a } .file { fill: #f4f5f7; stroke: #8d99a6 }
  .arrow { fill: none; stroke: #5a6675; stroke-width: 1.5 } .head { fill: #5a6675 }
  @media (prefers-color-scheme: dark) {
    .page { fill: #14181d } text { fill: #dde4ec } .note { fill: #9fabb8 }
    .app { fill: #35264a; stroke: #a884cf } .use { fill: #1d3348; stroke: #6aa0d6 } .model { fill: #43341c; stroke: #d0a45c }
    .base { fill: #1e3a24; stroke: #74b57b } .file { fill: #262c33; stroke: #8d99a6 } .arrow { stroke: #9fabb8 } .head { fill: #9fabb8 }
  }
"""


class Picture:
    def __init__(self, width, height):
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">',
            "<title>attend: the layers of the code, and the flow of data through them</title>",
            f"<style>{STYLE}</style>",
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            '<path class="head" d="M0 0 L8 4 L0 8 Z"/></marker></defs>',
            f'<rect class="page" width="{width}" height="{height}"/>',
        ]

    def text(self, x, y, words, kind="", anchor="start"):
        self.parts.append(f'<text class="{kind}" x="{x}" y="{y}" text-anchor="{anchor}">{escape(words)}</text>')

    def box(self, x, y, width, height, kind, name, *notes):
        """A rounded box, or a sheet with a folded corner for a file, with a name and lines below it."""
        if kind == "file":
            fold = 10
            self.parts.append(
                f'<path class="box file" d="M{x} {y} h{width - fold} l{fold} {fold} v{height - fold} h{-width} Z '
                f'M{x + width - fold} {y} v{fold} h{fold}"/>'
            )
        else:
            self.parts.append(f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="6"/>')
        top = y + height / 2 + 4.5 - 8.5 * len(notes)
        self.text(x + width / 2, top, name, "name", "middle")
        for i, note in enumerate(notes):
            self.text(x + width / 2, top + 17 * (i + 1), note, "note", "middle")

    def arrow(self, *points):
        path = "M" + " L".join(f"{x} {y}" for x, y in points)
        self.parts.append(f'<path class="arrow" d="{path}" marker-end="url(#head)"/>')


def draw():
    p = Picture(1100, 590)

    # The layers.
    p.text(20, 30, "Code: each layer uses only those below it", "title")
    for i, (name, note, kind) in enumerate(LAYERS):
        y = 46 + 41 * i
        p.parts.append(f'<rect class="{kind}" x="20" y="{y}" width="410" height="36" rx="6"/>')
        p.text(34, y + 23, ("" if name == "cli" else "src/") + name, "name")
        p.text(138, y + 23, note, "note")
    p.text(20, 562, "cli includes only the public headers of include/attend.", "note")

    # Training.
    left, width = 480, 150
    second, third = left + 205, left + 410
    p.text(left, 30, "Data: attend train", "title")
    p.box(left, 46, width, 54, "file", "pairs", "source TAB target")
    p.box(second, 46, width, 54, "use", "text", "check, tokenize, batch")
    p.box(third, 46, width, 54, "model", "model", "loss, one tape a shard")
    p.box(third, 142, width, 54, "use", "train", "sum, clip, optimizer")
    p.box(second, 142, width, 54, "use", "train", "validate, best model")
    p.box(left, 142, width, 54, "file", "model file", "weights, tokenizers")
    p.arrow((left + width, 73), (second - 2, 73))
    p.arrow((second + width, 73), (third - 2, 73))
    p.arrow((third + 55, 100), (third + 55, 140))
    p.text(third + 48, 125, "gradients", "note", "end")
    p.arrow((third + 105, 142), (third + 105, 102))
    p.text(third + 112, 125, "weights", "note")
    p.arrow((third, 169), (second + width + 2, 169))
    p.arrow((second, 169), (left + width + 2, 169))
    p.box(second, 218, width, 40, "file", "checkpoint, log")
    p.arrow((second + 75, 196), (second + 75, 216))

    # Translating.
    p.text(left, 312, "Data: attend translate", "title")
    p.box(left, 328, width, 54, "file", "lines", "UTF-8")
    p.box(second, 328, width, 54, "use", "text", "tokens of each line")
    p.box(third, 328, width, 54, "model", "model", "encode; decoder step")
    p.box(third, 424, width, 54, "use", "decode", "beam search, sampling")
    p.box(second, 424, width, 54, "use", "decode", "tokens to text, links")
    p.box(left, 424, width, 54, "file", "translations", "a line for each line")
    p.arrow((left + width, 355), (second - 2, 355))
    p.arrow((second + width, 355), (third - 2, 355))
    p.arrow((third + 55, 382), (third + 55, 422))
    p.text(third + 48, 407, "log p", "note", "end")
    p.arrow((third + 105, 424), (third + 105, 384))
    p.text(third + 112, 407, "hypotheses", "note")
    p.arrow((third, 451), (second + width + 2, 451))
    p.arrow((second, 451), (left + width + 2, 451))

    # Showing attention.
    p.box(third, 524, width, 46, "model", "attention weights", "all layers and heads")
    p.box(second, 524, width, 46, "use", "view", "attention maps")
    p.box(left, 524, width, 46, "file", "pictures, pages", "attend show")
    p.arrow((third + 75, 478), (third + 75, 522))
    p.arrow((third, 547), (second + width + 2, 547))
    p.arrow((second, 547), (left + width + 2, 547))

    return "\n".join(p.parts + ["</svg>"]) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        raise SystemExit(__doc__)
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(draw())
