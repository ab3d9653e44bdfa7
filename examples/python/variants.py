"""Train variants of a model on the same pairs and compare them: a table, and their learning curves with matplotlib.

    python3 variants.py [DIRECTORY]

Writes the pairs, the models and curves.png. A script of cells, about half a minute on two cores. Needs attend and matplotlib."""

# %% Pairs: numbers in words, written backwards. Without attention, a model must keep the whole source in one vector
import pathlib
import random
import sys

import matplotlib.pyplot as plt

import attend

directory = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "variants")
directory.mkdir(exist_ok=True)
words = "one two three four five six seven eight nine".split()
draw = random.Random(1)
lines = []
for _ in range(1500):
    source = draw.choices(words, k=draw.randint(3, 8))
    lines.append(" ".join(source) + "\t" + " ".join(reversed(source)))
(directory / "train.tsv").write_text("\n".join(lines[:1300]) + "\n")
(directory / "valid.tsv").write_text("\n".join(lines[1300:]) + "\n")

# %% One training for each variant, with the same options and the same seed
VARIANTS = ("none", "dot", "additive")
options = {"tokens": "word", "hidden": 32, "embedding": 16, "learning_rate": 0.01, "batch_tokens": 600}
curves: dict[str, list[tuple[int, float]]] = {}
for name in VARIANTS:
    curve = curves[name] = []

    def note(p: attend.TrainProgress, curve: list[tuple[int, float]] = curve) -> None:
        if p.valid_loss is not None and p.validated:
            curve.append((p.update, p.valid_loss))

    attend.train(
        directory / "train.tsv", directory / name, directory / "valid.tsv",
        attention=name, updates=300, valid_every=25, on_progress=note, **options,
    )

# %% A table: scores with 95 % intervals, and the probability that a system is not better than the first
pairs = [line.split("\t") for line in (directory / "valid.tsv").read_text().splitlines()]
sources, references = [p[0] for p in pairs], [p[1] for p in pairs]
outputs = {n: [t.text for t in attend.Model.load(directory / n).translate(sources)] for n in VARIANTS}
print(f"{'attention':10} {'BLEU':>6} {'95 %':>15} {'p':>6} {'exact':>7}")
for name, output in outputs.items():
    bleu = attend.metric("bleu", output, references, bootstrap=300, against=None if name == "none" else outputs["none"])
    exact = attend.metric("exact", output, references)
    p = "" if bleu.p is None else f"{bleu.p:.3f}"
    print(f"{name:10} {bleu.score:6.1f} {bleu.low:7.1f}-{bleu.high:<7.1f} {p:>6} {exact.score:6.1f}%")

# %% The curves; a notebook shows them
figure, axes = plt.subplots(figsize=(6, 4))
for name, curve in curves.items():
    axes.plot(*zip(*curve, strict=True), label=name)
axes.set(xlabel="update", ylabel="validation loss", title="Reversing numbers, by attention")
axes.legend()
figure.savefig(directory / "curves.png", dpi=120)
print(f"wrote {directory / 'curves.png'}")
