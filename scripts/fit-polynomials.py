#!/usr/bin/env python3
"""Fits the polynomials of the CPU kernels and measures them in f32 arithmetic; needs numpy.

usage: fit-polynomials.py [GELU_COEFFICIENTS]

Prints Rust constants for
  exp2: 2^f on [-1/2, 1/2], degree 5, least maximal relative error;
  GELU: phi(x) - 1/2 = t P(t^2 - CENTER) with t = x clamped to [-LIMIT, LIMIT], least maximal error
        of gelu(x) = x phi(x), with GELU_COEFFICIENTS coefficients (14 if none are named).

P is a polynomial in t^2 - CENTER and not in t^2: up to t^2 = 29 the monomials t^2k cancel one
another, and Horner's scheme in f32 then errs by 7e-4. Centered it errs by 8e-7 and costs the same,
because the square becomes a fused multiply-add.
"""

import math
import sys

import numpy as np

# Even, so that no Chebyshev point is 0.
POINTS = 8000
GELU_COEFFICIENTS = 14


def minimax(basis, target, weight, rounds=50):
    """Coefficients of the rows of `basis` with the least maximum of |weight (target - fit)| over
    the points: Remez' exchange, each round taking the largest error of every run of one sign."""
    count, points = basis.shape
    scale = np.abs(basis).max(axis=1)
    rows = (basis / scale[:, None] * weight).T
    goal = target * weight
    signs = (-1.0) ** np.arange(count + 1)
    nodes = (points - 1) * (0.5 - 0.5 * np.cos(np.pi * np.arange(count + 1) / count))
    nodes = np.clip(nodes.round().astype(int), 1, points - 2)
    best_error, best = math.inf, None
    for _ in range(rounds):
        *fit, level = np.linalg.solve(np.column_stack([rows[nodes], signs]), goal[nodes])
        error = goal - rows @ np.array(fit)
        largest = np.abs(error).max()
        if largest < best_error:
            best_error, best = largest, fit / scale
        if largest <= abs(level) * 1.0001:
            break
        nodes = alternating_extrema(error, count + 1)
        if nodes is None:
            break
    return best


def alternating_extrema(error, count):
    """The points of `count` errors that alternate in sign, the largest of them among these."""
    runs = np.split(np.arange(len(error)), np.flatnonzero(np.diff(np.sign(error))) + 1)
    extrema = [run[np.abs(error[run]).argmax()] for run in runs]
    while len(extrema) > count:
        size = np.abs(error[extrema])
        if len(extrema) == count + 1:
            extrema.pop(0 if size[0] < size[-1] else -1)
        else:
            # Leaving out two neighbors keeps the signs alternating.
            pair = np.maximum(size[:-1], size[1:]).argmin()
            del extrema[pair : pair + 2]
    return np.array(extrema) if len(extrema) == count else None


def minimax_f32(variable, target, weight, count):
    """The same for 1, z, z^2, ... with coefficients that are f32: from the highest down, each is
    rounded and the others fitted anew, so that they make up for what the rounding did."""
    basis = np.vander(variable, count, increasing=True).T
    coefficients = np.zeros(count)
    for highest in range(count - 1, -1, -1):
        fit = minimax(basis[: highest + 1], target - coefficients @ basis, weight)
        coefficients[highest] = np.float32(fit[-1])
    return coefficients.astype(np.float32)


def fma(a, b, c):
    """f32 multiply-add with one rounding: in f64 the product of two f32 is exact. The sum is rounded
    twice, which differs from hardware in one case of some 2^29."""
    return (np.float64(a) * np.float64(b) + np.float64(c)).astype(np.float32)


def horner(coefficients, z):
    value = np.full_like(z, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value = fma(value, z, coefficient)
    return value


def chebyshev_points(low, high):
    angles = np.pi * (np.arange(POINTS) + 0.5) / POINTS
    return low + (high - low) * (0.5 - 0.5 * np.cos(angles))


def fit_exp2():
    """A fit that is 1 at 0: with f taken out, what is left to fit is (2^f - 1) / f."""
    f = chebyshev_points(-0.5, 0.5)
    rest = minimax_f32(f, np.expm1(f * math.log(2.0)) / f, np.abs(f) * np.exp2(-f), 5)
    coefficients = np.array([1.0, *rest], np.float32)
    dense = np.linspace(-0.5, 0.5, 2_000_001).astype(np.float32)
    exact = np.exp2(np.float64(dense))
    fitted = np.polynomial.polynomial.polyval(np.float64(dense), np.float64(coefficients))
    return coefficients, relative(fitted, exact), relative(horner(coefficients, dense), exact)


def relative(value, exact):
    return np.abs(value / exact - 1.0).max()


def normal_cdf(x):
    # erfc keeps its relative precision where the value is close to 0.
    return np.array([0.5 * math.erfc(-value / math.sqrt(2.0)) for value in x.tolist()])


class Gelu:
    """A fit for |x| <= `limit`."""

    def __init__(self, limit, count):
        x = chebyshev_points(0.0, limit)
        self.limit = np.float32(limit)
        self.center = np.float32(limit * limit / 2.0)
        # gelu(x) = x / 2 + x^2 P, so an error of P counts x^2 fold.
        target = (normal_cdf(x) - 0.5) / x
        self.coefficients = minimax_f32(x * x - float(self.center), target, x * x, count)

    def cdf(self, x, limit=None):
        limit = self.limit if limit is None else limit
        t = np.clip(x, -limit, limit)
        return fma(t, horner(self.coefficients, fma(t, t, -self.center)), np.float32(0.5))

    def __call__(self, x):
        return x * self.cdf(x)

    def saturate(self):
        """Moves `limit` to a near f32 where phi is 1 and, at -limit, nearest to 0, so that beyond it
        gelu(x) is x and 0 however large x is. Says whether there is one."""
        bits = self.limit.view(np.uint32) + np.arange(-100_000, 100_000)
        near = bits.astype(np.uint32).view(np.float32)
        near = near[self.cdf(near, near) == 1.0]
        if len(near) == 0:
            return False
        self.limit = near[np.abs(self.cdf(-near, near)).argmin()]
        return True


def fit_gelu(count, dense, exact):
    """The fit whose limit balances what clamping costs, limit * phi(-limit), and what fitting a
    longer interval costs."""
    best_error, best = math.inf, None
    for limit in np.arange(4.4, 5.7, 0.05):
        gelu = Gelu(limit, count)
        if not gelu.saturate():
            continue
        error = np.abs(gelu(dense) - exact).max()
        if error < best_error:
            best_error, best = error, gelu
    return best


def rust(value):
    """The shortest literal that reads back as this f32, its digits in groups as clippy wants them."""
    mantissa, _, exponent = np.format_float_scientific(value, trim="0").partition("e")
    whole, fraction = mantissa.split(".")
    groups = "_".join(fraction[i : i + 3] for i in range(0, len(fraction), 3))
    return f"{whole}.{groups}" + (f"e{int(exponent)}" if int(exponent) else "")


def rust_array(name, values):
    lines = "".join(f"    {rust(value)},\n" for value in values)
    return f"const {name}: [f32; {len(values)}] = [\n{lines}];"


def main():
    if len(sys.argv) > 2:
        raise SystemExit(__doc__)
    count = int(sys.argv[1]) if len(sys.argv) == 2 else GELU_COEFFICIENTS

    coefficients, fitted, in_f32 = fit_exp2()
    print("// 2^f, |f| <= 1/2, lowest degree first. Maximal relative error:")
    print(f"// {fitted:.2e}; evaluated in f32 (Horner, fused) {in_f32:.2e}.")
    print(rust_array("EXP2", coefficients) + "\n")

    dense = np.linspace(-8.0, 8.0, 1_000_001).astype(np.float32)
    exact = np.float64(dense) * normal_cdf(np.float64(dense))
    gelu = fit_gelu(count, dense, exact)
    error = np.abs(gelu(dense) - exact)
    z = np.float64(np.clip(dense, -gelu.limit, gelu.limit))
    fitted = np.polynomial.polynomial.polyval(
        z * z - float(gelu.center), np.float64(gelu.coefficients)
    )
    fit_error = np.abs(np.float64(dense) * (0.5 + z * fitted) - exact).max()
    ends = gelu.cdf(np.array([-gelu.limit, gelu.limit]))
    print("// gelu(x) = x (1/2 + t P(t^2 - GELU_CENTER)), t = x clamped to +-GELU_LIMIT.")
    print("// The coefficients of P, lowest degree first. Maximal absolute error on [-8, 8]:")
    print(f"// {fit_error:.2e}; evaluated in f32 (Horner, fused) {error.max():.2e}, at x =")
    print(f"// {dense[error.argmax()]:.3f}. The factor of x beyond the limit is {ends[1]:.9g} above and")
    print(f"// {ends[0]:.2g} below.")
    print(f"const GELU_LIMIT: f32 = {rust(gelu.limit)};")
    print(f"const GELU_CENTER: f32 = {rust(gelu.center)};")
    print(rust_array("GELU", gelu.coefficients))


if __name__ == "__main__":
    main()
