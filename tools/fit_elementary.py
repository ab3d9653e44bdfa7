#!/usr/bin/env python3
"""Prints the constants of src/kernel/vector_math.h.   Needs mpmath and numpy.

exp, tanh and sigmoid are computed from e^r = 1 + r + r^2 q(r) on |r| <= ln2 / 2. q is the polynomial of degree 4
that minimises the maximum relative error of e^r (minimax). Lawson's iteration finds it: repeated least squares,
with larger weights where the error is large. The coefficients are rounded to float one at a time, lowest first, and
the remaining ones are fitted again, so that they compensate for the rounding.

The tail of the normal distribution is e^(-a^2 / 2) t r(t) with t = 1 / (1 + 0.35 a) and a polynomial r of degree 8:
divided by the exponential, the tail is nearly linear in t. r minimises the maximum relative error up to a = 14.
"""
import mpmath as mp
import numpy as np

DEGREE = 4
BOUND = float(mp.log(2) / 2) * (1 + 2.0**-12)  # n = round(x log2 e) is off by a rounding error
ROUNDS = 2000

mp.mp.dps = 50


def target(r):
    """q(r), without cancellation."""
    return float((mp.expm1(r) - r) / mp.mpf(r) ** 2)


def lawson(columns, values, weight):
    """The c that minimises max |weight (columns c - values)|, and that maximum."""
    lawson_weight = np.full(len(values), 1.0 / len(values))
    best, best_c = np.inf, None
    for _ in range(ROUNDS):
        s = np.sqrt(lawson_weight) * weight
        c = np.linalg.lstsq(columns * s[:, None], values * s, rcond=None)[0]
        error = np.abs(weight * (columns @ c - values))
        if error.max() < best:
            best, best_c = error.max(), c
        lawson_weight *= np.sqrt(error / error.max()) + 1e-4
        lawson_weight /= lawson_weight.sum()
    return best_c, best


def fit():
    """Coefficients of q in float, lowest first, and the largest relative error of 1 + r + r^2 q(r)."""
    # Chebyshev points; an even number of them, so 0 is not one
    points = BOUND * np.cos(np.pi * (np.arange(400) + 0.5) / 400)
    t = points / BOUND
    values = np.array([target(r) for r in points])
    weight = np.array([float(mp.mpf(r) ** 2 / mp.exp(r)) for r in points])
    columns = np.vander(t, DEGREE + 1, increasing=True)
    rounded = []
    for k in range(DEGREE + 1):
        rest = values - columns[:, :k] @ np.array([c * BOUND**j for j, c in enumerate(rounded)]) if k else values
        c, _ = lawson(columns[:, k:], rest, weight)
        rounded.append(float(np.float32(c[0] / BOUND**k)))
    error = weight * (columns @ np.array([c * BOUND**j for j, c in enumerate(rounded)]) - values)
    return rounded, np.abs(error).max()


TAIL_DEGREE, TAIL_BEND, TAIL_END = 8, float(np.float32(0.35)), 14.0


def fit_tail():
    """Coefficients of r in float, lowest first, and the largest relative error of t r(t) e^(-a^2 / 2)."""
    least = 1 / (1 + TAIL_BEND * TAIL_END)
    t = (1 + least) / 2 + (1 - least) / 2 * np.cos(np.pi * (np.arange(400) + 0.5) / 400)
    a = (1 / t - 1) / TAIL_BEND
    values = np.array([float(mp.erfc(mp.mpf(x) / mp.sqrt(2)) / 2 * mp.exp(mp.mpf(x) ** 2 / 2)) for x in a]) / t
    columns = np.vander(t, TAIL_DEGREE + 1, increasing=True)
    rounded = []
    for k in range(TAIL_DEGREE + 1):
        rest = values - columns[:, :k] @ np.array(rounded) if k else values
        c, _ = lawson(columns[:, k:], rest, 1 / values)
        rounded.append(float(np.float32(c[0])))
    return rounded, np.abs(columns @ np.array(rounded) / values - 1).max()


def show(name, value):
    digits, power = float(np.float32(value)).hex().split("p")
    print(f"#define {name:9} {digits.rstrip('0')}p{power}f")


high = float(np.float32(mp.log(2)))
show("VLN2_HIGH", high)
show("VLN2_LOW", mp.log(2) - mp.mpf(high))
show("VLOG2_E", 1 / mp.log(2))
coefficients, worst = fit()
for k, c in enumerate(coefficients):
    show(f"VQ{k}", c)
print(f"/* relative error of e^r: {worst:.3g} = 2^{np.log2(worst):.2f} */")
coefficients, worst = fit_tail()
for k, c in enumerate(coefficients):
    show(f"VTAIL{k}", c)
print(f"/* relative error of the tail: {worst:.3g} = 2^{np.log2(worst):.2f} */")
