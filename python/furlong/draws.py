"""Random numbers that are the same with every version of numpy and on every processor.

numpy keeps the stream of a bit generator (NEP 19), but neither what its Generator makes of it nor the last bits of its
logarithms, which differ between processors. Here everything is made of the words of Philox by integers and by
+ - * / and square roots of float64, which IEEE 754 rounds in one way only; sums are cumulative, in one order.
"""

from __future__ import annotations

import math
from typing import Sequence, Union

import numpy

_LN2 = 0.6931471805599453
_SQRT_HALF = 0.7071067811865476
_LEAST_EXPONENT = -700.0


class Draws:
    """A stream of random numbers, given by a seed and the number of a purpose: both from 0 to 2^64 - 1."""

    def __init__(self, seed: int, purpose: int) -> None:
        self._philox = numpy.random.Philox(key=numpy.array([seed, purpose], numpy.uint64))

    def words(self, count: int) -> numpy.ndarray:
        """Random words, uint64."""
        return self._philox.random_raw(count)

    def uniform(self, count: int) -> numpy.ndarray:
        """Uniform in (0, 1), without both ends: odd multiples of 2^-53."""
        return ((self.words(count) >> numpy.uint64(12)).astype(numpy.float64) + 0.5) * 2.0**-52

    def permutation(self, count: int) -> numpy.ndarray:
        """0 ... count - 1 in a random order, int64."""
        return numpy.argsort(self.words(count), kind="stable").astype(numpy.int64)

    def distinct(self, count: int, below: int) -> numpy.ndarray:
        """`count` different numbers from 0 to below - 1, in a random order, int64. At most `below`."""
        if 3 * count > below:
            return self.permutation(below)[:count]
        found = self.words(0)
        while len(found) < count:
            found = numpy.concatenate([found, self.words(count) % numpy.uint64(below)])
            found = found[numpy.sort(numpy.unique(found, return_index=True)[1])]
        return found[:count].astype(numpy.int64)

    def normal(self, count: int) -> numpy.ndarray:
        """Standard normal, by Marsaglia's polar method."""
        values = numpy.empty(count)
        left = numpy.arange(count)
        while len(left):
            x, y = 2 * self.uniform(len(left)) - 1, 2 * self.uniform(len(left)) - 1
            square = x * x + y * y
            good = square < 1
            values[left[good]] = x[good] * numpy.sqrt(-2 * logarithm(square[good]) / square[good])
            left = left[~good]
        return values

    def log_gamma(self, shape: float, count: int) -> numpy.ndarray:
        """Logarithms of gamma variates (Marsaglia and Tsang: "A simple method for generating gamma variables", 2000).
        With small shapes the variates themselves are below what float64 has."""
        d = shape + 1 - 1 / 3  # of shape + 1; the factor U^(1/shape) leads back to shape
        c = 1 / math.sqrt(9 * d)
        values = numpy.empty(count)
        left = numpy.arange(count)
        while len(left):
            x, u = self.normal(len(left)), self.uniform(len(left))
            v = (1 + c * x) * (1 + c * x) * (1 + c * x)
            log_v = logarithm(numpy.where(v > 0, v, 1.0))
            good = (v > 0) & (logarithm(u) < 0.5 * x * x + d - d * v + d * log_v)
            values[left[good]] = log_v[good] + logarithm(d)
            left = left[~good]
        return values + logarithm(self.uniform(count)) / shape


def cumulative_shares(weights: numpy.ndarray) -> numpy.ndarray:
    """Along the last axis: the cumulative shares of weights that are not all zero. The last is 1."""
    sums = numpy.cumsum(weights, axis=-1)
    return sums / sums[..., -1:]


def exponentials(logarithms: numpy.ndarray) -> numpy.ndarray:
    """Weights with these logarithms, scaled along the last axis such that the largest is 1. That of -infinity is 0; one
    logarithm of each row at least must be finite."""
    return exponential(logarithms - logarithms.max(axis=-1, keepdims=True))


def logarithm(x: Union[float, numpy.ndarray]) -> numpy.ndarray:
    """The natural logarithm of positive numbers, to about 2^-51."""
    mantissa, exponent = numpy.frexp(x)
    low = mantissa < _SQRT_HALF
    mantissa = numpy.where(low, 2 * mantissa, mantissa)
    s = (mantissa - 1) / (mantissa + 1)  # log(m) = 2 artanh(s), |s| < 0.172
    return (exponent - low) * _LN2 + 2 * s * _polynomial([1 / (2 * k + 1) for k in range(12)], s * s)


def exponential(x: numpy.ndarray) -> numpy.ndarray:
    """The exponentials of numbers up to 700, to about 2^-44; 0 below -700."""
    bounded = numpy.maximum(x, _LEAST_EXPONENT)
    twos = numpy.rint(bounded / _LN2)
    rest = bounded - twos * _LN2  # |rest| < 0.347
    value = numpy.ldexp(_polynomial([1 / math.factorial(k) for k in range(15)], rest), twos.astype(numpy.int32))
    return numpy.where(x < _LEAST_EXPONENT, 0.0, value)


def _polynomial(coefficients: Sequence[float], x: numpy.ndarray) -> numpy.ndarray:
    value = numpy.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value = value * x + coefficient
    return value


def whole_numbers(shares: numpy.ndarray, total: int) -> numpy.ndarray:
    """Whole numbers that add up to `total`, from cumulative shares: int64. Bounds are rounded to the nearest number, so
    that after a share of nearly 1 one of nearly 0 gets nothing."""
    return numpy.diff(numpy.floor(shares * total + 0.5).astype(numpy.int64), prepend=0)


__all__ = ["Draws", "cumulative_shares", "exponential", "exponentials", "logarithm", "whole_numbers"]
