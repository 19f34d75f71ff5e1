"""Means, spreads and intervals of figures of a few runs."""
import math
import statistics


def mean_sd(values):
    """Mean and standard deviation (0 of a single value)."""
    return statistics.mean(values), statistics.stdev(values) if len(values) > 1 else 0.0


def probability_within(t, freedom):
    """P(|T| < t) of Student's t, exactly, for whole degrees of freedom (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    angle = math.atan(t / math.sqrt(freedom))
    odd = freedom % 2 == 1
    term, total = math.cos(angle) if odd else 1.0, 0.0
    for power in range(1 if odd else 0, freedom - 1, 2):
        total += term
        term *= math.cos(angle) ** 2 * (power + 1) / (power + 2)
    return 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total


def t_quantile(freedom, level=0.95):
    """The t with P(|T| < t) = level."""
    low, high = 0.0, 1.0
    while probability_within(high, freedom) < level:
        high *= 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if probability_within(middle, freedom) < level else (low, middle)
    return high


def mean_interval(values):
    """Mean, and half the width of its 95 % interval by Student's t; infinite of a single value."""
    mean, sd = mean_sd(values)
    if len(values) < 2:
        return mean, math.inf
    return mean, t_quantile(len(values) - 1) * sd / math.sqrt(len(values))
