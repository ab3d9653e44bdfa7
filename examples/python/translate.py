"""Translate with a model, and look at its attention with NumPy.

    python3 translate.py MODEL [SENTENCE]...

A script of cells: Jupyter, VS Code and Spyder open it as a notebook. Needs attend and numpy."""

# %% The model and a translation
import sys

import numpy as np

import attend

model = attend.Model.load(sys.argv[1])
sentences = sys.argv[2:] or ["one two three"]
translations = model.translate(sentences, beam=5, return_attention=True)
for sentence, t in zip(sentences, translations, strict=True):
    print(f"{sentence} -> {t.text}    log p {t.log_probability:.3f}, confidence {t.confidence:.2f}")

# %% Its attention: a row for each token of the translation, a column for each token of the source; the last are the ends
t = translations[0]
attention = np.asarray(t.attention)  # the memory of the library, not a copy
assert attention.shape == (len(t.tokens), len(t.source_tokens))
print("\n" + " " * 12 + "".join(f"{token:>10}" for token in t.source_tokens))
for token, row in zip(t.tokens, attention, strict=True):
    print(f"{token:>12}" + "".join(f"{weight:10.2f}" for weight in row))

# %% How concentrated it is: the entropy of each row, in bits; 0: one token has all the weight
entropy = -(attention * np.log2(np.maximum(attention, 1e-12))).sum(axis=1)
print("\nentropy", np.round(entropy, 2), "at most", round(float(np.log2(attention.shape[1])), 2))

# %% The attention of every layer and head, while the model reads its own translation (forced decoding)
page = model.map(sentences[0], t.text)  # in Jupyter, `page` alone shows itself
every = np.asarray(page.attention)
print("\nmaps", every.shape, "layers, heads, target tokens, source tokens")
sharpest = np.unravel_index(every.max(axis=3).mean(axis=2).argmax(), every.shape[:2])
print(f"the sharpest is head {sharpest[1]} of layer {sharpest[0]}")
