"""Partitions: what each promises for many seeds, the same arrays everywhere, and messages."""

import hashlib
import math
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy
import pytest

from furlong import draws, partition
from furlong.errors import ProblemError

PACKAGE = Path(__file__).resolve().parents[1]
SEEDS = range(30)
#: 1,000 examples of ten classes of unequal sizes, 10 to 190, in a mixed order.
LABELS = numpy.repeat(numpy.arange(10), numpy.arange(10, 200, 20))[numpy.arange(1000) * 377 % 1000]
EQUAL = numpy.arange(2000) % 10


def check(parts, clients, total, complete=True):
    """Disjoint arrays in ascending order, one for each client, of all examples."""
    assert len(parts) == clients
    assert all(part.dtype == numpy.int64 and (numpy.diff(part) > 0).all() for part in parts)
    together = numpy.sort(numpy.concatenate(parts))
    assert (numpy.diff(together) > 0).all() and together[0] >= 0 and together[-1] < total
    assert len(together) == total or not complete
    return numpy.array([len(part) for part in parts])


def counts(parts, labels):
    """[client, class]"""
    return numpy.array([numpy.bincount(labels[part], minlength=10) for part in parts])


@pytest.mark.parametrize("seed", SEEDS)
def test_iid(seed):
    sizes = check(partition.iid(1000, 7, seed), 7, 1000)
    assert set(sizes) == {142, 143}
    mix = counts(partition.iid(EQUAL, 4, seed), EQUAL)
    assert abs(mix - 50).max() < 30  # 5 standard deviations are 27


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("alpha", [0.1, 0.5, 5])
def test_dirichlet(seed, alpha):
    sizes = check(partition.dirichlet(LABELS, 5, alpha, seed=seed), 5, 1000)
    assert sizes.min() >= 10
    sizes = check(partition.dirichlet(LABELS, 20, alpha, least=0, seed=seed), 20, 1000)
    assert sizes.sum() == 1000


@pytest.mark.parametrize("seed", SEEDS)
def test_dirichlet_lies_between_the_mix_and_single_classes(seed):
    mix = counts(partition.dirichlet(EQUAL, 10, 1e5, seed=seed), EQUAL)
    assert abs(mix - 20).max() <= 3
    single = counts(partition.dirichlet(EQUAL, 10, 1e-4, least=0, seed=seed), EQUAL)
    assert (single.max(axis=1) == 200).all() and (single > 0).sum() == 10  # a full client gets no second class


def test_shares_of_a_class_have_the_moments_of_a_dirichlet_distribution():
    """One class: no client is full before it is divided."""
    labels, clients, alpha = numpy.zeros(2000, int), 5, 0.5
    shares = numpy.array([[len(part) for part in partition.dirichlet(labels, clients, alpha, least=0, seed=seed)]
                          for seed in range(300)]) / len(labels)
    variance = (1 / clients) * (1 - 1 / clients) / (clients * alpha + 1)
    assert abs(shares.mean(axis=0) - 1 / clients).max() < 4 * math.sqrt(variance / 300)
    assert shares.var() == pytest.approx(variance, rel=0.15)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("clients, classes", [(20, 2), (7, 3), (10, 1), (13, 10)])
def test_pathological(seed, clients, classes):
    parts = partition.pathological(EQUAL, clients, classes, seed)
    check(parts, clients, 2000)
    mix = counts(parts, EQUAL)
    assert ((mix > 0).sum(axis=1) == classes).all()
    holders = (mix > 0).sum(axis=0)
    assert holders.max() - holders.min() <= 1
    for one in range(10):
        held = mix[mix[:, one] > 0, one]
        assert held.max() - held.min() <= 1


def test_pathological_leaves_out_classes_of_no_client():
    parts = partition.pathological(EQUAL, 3, 2, seed=1)
    assert check(parts, 3, 2000, complete=False).tolist() == [400, 400, 400]
    assert (counts(parts, EQUAL).sum(axis=0) > 0).sum() == 6


@pytest.mark.parametrize("seed", SEEDS)
def test_shards(seed):
    parts = partition.shards(EQUAL, 20, seed=seed)
    assert set(check(parts, 20, 2000)) == {100}  # 40 shards of 50, of one class each
    mix = counts(parts, EQUAL)
    assert ((mix > 0).sum(axis=1) <= 2).all() and (mix % 50 == 0).all()
    sizes = check(partition.shards(LABELS, 7, 3, seed), 7, 1000)
    assert sizes.max() - sizes.min() <= 3


@pytest.mark.parametrize("seed", SEEDS)
def test_sizes(seed):
    assert check(partition.sizes(LABELS, [500, 1, 499], seed), 3, 1000).tolist() == [500, 1, 499]
    assert check(partition.sizes(1000, numpy.array([5, 6]), seed), 2, 1000, complete=False).tolist() == [5, 6]
    for drawn in (partition.log_normal_sizes(1000, 20, 1.0, least=5, seed=seed),
                  partition.power_law_sizes(LABELS, 20, 2.5, least=5, seed=seed)):
        assert drawn.dtype == numpy.int64 and drawn.sum() == 1000 and drawn.min() >= 5 and drawn.max() > 50
        check(partition.sizes(LABELS, drawn, seed), 20, 1000)


def test_drawn_sizes_have_their_distributions():
    logs = numpy.log(partition.log_normal_sizes(10**9, 20_000, 1.5, least=0, seed=3))
    assert logs.std() == pytest.approx(1.5, rel=0.03)
    assert ((logs - logs.mean()) ** 3).mean() / logs.std() ** 3 == pytest.approx(0, abs=0.1)
    sizes = partition.power_law_sizes(10**9, 20_000, 3.0, least=0, seed=3)
    assert (sizes > 10 * sizes.min()).mean() == pytest.approx(0.01, rel=0.25)  # P(x > 10) = 10^-(exponent - 1)
    assert partition.log_normal_sizes(1000, 8, 0).tolist() == [125] * 8


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("alpha", [1e-4, 0.3, 1e4])
def test_inner_dirichlet(seed, alpha):
    numbers = partition.log_normal_sizes(LABELS, 12, 0.8, least=10, seed=seed)
    parts = partition.inner_dirichlet(LABELS, numbers, alpha, seed)
    assert check(parts, 12, 1000).tolist() == numbers.tolist()
    some = partition.inner_dirichlet(LABELS, [20] * 10, alpha, seed)
    assert check(some, 10, 1000, complete=False).tolist() == [20] * 10


@pytest.mark.parametrize("seed", SEEDS)
def test_inner_dirichlet_lies_between_equal_shares_and_single_classes(seed):
    single = counts(partition.inner_dirichlet(EQUAL, [20] * 10, 1e-4, seed), EQUAL)
    assert (single.max(axis=1) == 20).all()
    equal = counts(partition.inner_dirichlet(EQUAL, [200] * 5, 1e5, seed), EQUAL)
    assert abs(equal - 20).max() < 23  # 5 standard deviations are 21


def test_inner_dirichlet_equals_drawing_one_place_after_the_other():
    """Two clients, three classes of 2, 3 and 40: mean counts of many seeds, against a plain simulation."""
    labels, numbers, alpha, seeds = numpy.repeat([0, 1, 2], [2, 3, 40]), [20, 15], 1.0, 800
    mean = sum(counts(partition.inner_dirichlet(labels, numbers, alpha, seed), labels)[:, :3] for seed in range(seeds))
    random = numpy.random.default_rng(1)
    expected = numpy.zeros((2, 3))
    for _ in range(seeds):
        shares, left = random.dirichlet([alpha] * 3, 2), numpy.array([2, 3, 40])
        for client in random.permutation(numpy.repeat([0, 1], numbers)):
            weights = shares[client] * (left > 0)
            drawn = random.choice(3, p=weights / weights.sum())
            left[drawn] -= 1
            expected[client, drawn] += 1
    assert abs(mean - expected).max() / seeds < 0.2


def test_classes_that_are_used_up_leave_equal_chances_to_the_others():
    """Two clients with one example each, of three classes with one each and equal shares."""
    pairs = numpy.zeros(3)
    for seed in range(2000):
        one, other = partition.inner_dirichlet([0, 1, 2], [1, 1], 1e6, seed)
        pairs[3 - one[0] - other[0]] += 1  # by the class that is left
    assert abs(pairs / 2000 - 1 / 3).max() < 0.042  # 4 standard deviations


def test_natural():
    column = ["bo", "al", "bo", "cy", "al", "bo"]
    for given in (column, numpy.array(column), numpy.array(column, object)):
        assert [part.tolist() for part in partition.natural(given)] == [[1, 4], [0, 2, 5], [3]]
    check(partition.natural(LABELS), 10, 1000)


class Column:
    """As of a data set of Hugging Face: neither list nor array."""

    def __init__(self, values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def __getitem__(self, index):
        return self.values[index]


def test_labels_come_in_many_forms():
    names = numpy.array(list("abcdefghij"))[LABELS]
    expected = partition.dirichlet(LABELS, 5, 1.0)
    for labels in (LABELS.tolist(), names, names.tolist(), names.astype(object), LABELS.astype(float),
                   LABELS.astype(numpy.uint8), Column(LABELS.tolist()), SimpleNamespace(targets=LABELS.tolist()),
                   SimpleNamespace(labels=LABELS)):
        given = partition.dirichlet(labels, 5, 1.0)
        assert all(numpy.array_equal(one, other) for one, other in zip(given, expected))


def test_labels_of_libraries():
    expected = [part.tolist() for part in partition.shards(LABELS, 5)]
    torch, pandas = sys.modules.get("torch"), None
    try:
        import pandas
        import torch
    except ImportError:
        pass
    if torch is None and pandas is None:
        pytest.skip("neither torch nor pandas")
    forms = [torch.tensor(LABELS), SimpleNamespace(targets=torch.tensor(LABELS))] if torch else []
    forms += [pandas.Series(LABELS), pandas.Series(LABELS, dtype="category"), pandas.Series(LABELS, dtype="Int64"),
              pandas.DataFrame({"label": LABELS})["label"]] if pandas else []
    for labels in forms:
        assert [part.tolist() for part in partition.shards(labels, 5)] == expected
        if hasattr(labels, "__len__"):
            assert partition.iid(labels, 3)[0].tolist() == partition.iid(1000, 3)[0].tolist()


# ---- the same everywhere --------------------------------------------------------------------------------------------

ALL = """
import hashlib, numpy
from furlong import partition as p
labels = numpy.repeat(numpy.arange(10), numpy.arange(10, 200, 20))[numpy.arange(1000) * 377 % 1000]
sizes = p.log_normal_sizes(1000, 12, 1.3, seed=5)
made = [p.iid(1000, 7, 5), p.dirichlet(labels, 8, 0.3, seed=5), p.dirichlet(labels, 8, 40, seed=5),
        p.pathological(labels, 9, 3, 5), p.shards(labels, 9, 3, 5), p.sizes(1000, sizes, 5),
        [sizes, p.power_law_sizes(1000, 12, 2.2, seed=5)], p.inner_dirichlet(labels, sizes, 0.4, 5), p.natural(labels)]
digest = lambda arrays: hashlib.sha256(b"|".join(a.astype("<i8").tobytes() for a in arrays)).hexdigest()[:8]
print(*map(digest, made))
"""
DIGESTS = "d96eca8b 0fb37e17 63491b02 58985468 5e4f7345 48e69090 9d4221df 1f506825 2ec2f1fa"


def test_another_process_makes_the_same():
    """Those of any numpy and processor: a change of these digests breaks what users have published."""
    out = subprocess.run([sys.executable, "-c", ALL], capture_output=True, text=True, check=True,
                         env=dict(os.environ, PYTHONPATH=str(PACKAGE), PYTHONHASHSEED="7")).stdout
    assert out.strip() == DIGESTS


def test_arrays_of_a_seed():
    labels = [0, 1, 0, 2, 1, 0, 2, 2, 1, 0]
    lists = lambda parts: [part.tolist() for part in parts]
    assert lists(partition.iid(10, 3, seed=1)) == [[0, 3, 5, 6], [4, 7, 9], [1, 2, 8]]
    assert lists(partition.dirichlet(labels, 2, 0.5, least=2, seed=1)) == [[1, 2, 4, 5, 8, 9], [0, 3, 6, 7]]
    assert lists(partition.shards(labels, 2, seed=1)) == [[1, 3, 6, 7], [0, 2, 4, 5, 8, 9]]
    assert lists(partition.inner_dirichlet(labels, [4, 3], 0.5, seed=1)) == [[1, 2, 4, 9], [0, 5, 8]]


def test_seeds_and_functions_have_streams_of_their_own():
    assert len({hashlib.sha256(numpy.concatenate(partition.iid(1000, 4, seed)).tobytes()).digest()
                for seed in (0, 1, 2, 2**32, 2**64 - 1)}) == 5
    assert partition.iid(1000, 2, 1)[0].tolist() != partition.sizes(1000, [500, 500], 1)[0].tolist()


def test_elementary_functions():
    x = numpy.concatenate([numpy.random.default_rng(1).uniform(0, 3, 10_000), 10.0 ** numpy.arange(-300, 300)])
    assert numpy.allclose(draws.logarithm(x), numpy.log(x), rtol=1e-14, atol=1e-15)
    x = numpy.concatenate([numpy.linspace(-699, 700, 10_000), [0.0]])
    assert numpy.allclose(draws.exponential(x), numpy.exp(x), rtol=1e-12)
    assert draws.exponential(numpy.array([-701.0, -numpy.inf])).tolist() == [0, 0]


@pytest.mark.parametrize("shape", [0.05, 0.7, 1.0, 30.0])
def test_gamma_variates(shape):
    values = numpy.exp(draws.Draws(3, 1).log_gamma(shape, 40_000))
    assert values.mean() == pytest.approx(shape, abs=5 * math.sqrt(shape / 40_000))
    assert values.var() == pytest.approx(shape, rel=0.2 if shape < 0.1 else 0.06)


@pytest.mark.parametrize("count, below", [(5, 5), (4, 10), (99, 4000), (1, 1)])
def test_distinct_numbers(count, below):
    found = numpy.array([draws.Draws(seed, 2).distinct(count, below) for seed in range(200)])
    assert all(len(set(row)) == count for row in found.tolist())
    assert found.min() >= 0 and found.max() < below
    mean = (below - 1) / 2
    assert found[:, 0].mean() == pytest.approx(mean, abs=5 * below / math.sqrt(12 * 200))


def test_distinct_numbers_of_a_seed():
    assert draws.Draws(1, 2).distinct(4, 11).tolist() == [4, 2, 0, 6]
    assert draws.Draws(1, 2).distinct(4, 13).tolist() == [10, 9, 12, 7]


# ---- messages -------------------------------------------------------------------------------------------------------

NAN = float("nan")
WRONG = [
    (lambda p: p.iid(5, 6), "clients is 6", "from 1 to 5, the number of examples"),
    (lambda p: p.iid(5, 2.0), "clients is 2.0 (float)", "give a whole number"),
    (lambda p: p.iid("text", 2), "examples is 'text' (str)", "give their number, or the data itself"),
    (lambda p: p.iid(0, 1), "examples is 0", "at least 1"),
    (lambda p: p.iid(5, 2, seed=-1), "seed is -1", "from 0 to"),
    (lambda p: p.dirichlet(LABELS, 5, 0), "alpha is 0 (int)", "from 1e-06 to 1e+06"),
    (lambda p: p.dirichlet(LABELS, 5, NAN), "alpha is nan (float)", "give a number"),
    (lambda p: p.dirichlet(LABELS, 5, "0.1"), "alpha is '0.1' (str)", "give a number"),
    (lambda p: p.dirichlet(LABELS, 2000, 0.1), "clients is 2000", "from 1 to 1000"),
    (lambda p: p.dirichlet(LABELS, 50, 1, least=21), "least is 21",
     "from 0 to 20, the mean number of examples of a client"),
    (lambda p: p.dirichlet(LABELS, 50, 0.05, least=20),
     "in 1000 draws with alpha 0.05 some client always had fewer than 20",
     "set least to 0 at most, or raise alpha, or give fewer clients"),
    (lambda p: p.dirichlet([0, 1, NAN], 2, 1), "labels[2] is missing", "leave out these examples"),
    (lambda p: p.dirichlet(["a", None], 2, 1), "labels[1] is missing", "leave out these examples"),
    (lambda p: p.dirichlet(["a", "b", NAN], 2, 1), "labels[2] is missing", "leave out these examples"),
    (lambda p: p.natural(numpy.array(["a", NAN], object)), "column[1] is missing", "leave out these examples"),
    (lambda p: p.iid(5, True), "clients is True (bool)", "give a whole number"),
    (lambda p: p.dirichlet([0.5, 1.0], 2, 1), "labels[0] is 0.5, which is no class", "numpy.digitize"),
    (lambda p: p.dirichlet(numpy.eye(3), 2, 1), "labels has the shape (3, 3)", "argmax(1)"),
    (lambda p: p.dirichlet([[0], [1]], 2, 1), "labels[0] is [0] (list)", "one number or string"),
    (lambda p: p.dirichlet([], 2, 1), "labels is empty", "one label for each example"),
    (lambda p: p.dirichlet("label", 2, 1), "labels is 'label' (str)", 'dataset["label"]'),
    (lambda p: p.dirichlet(SimpleNamespace(column_names=["label"]), 2, 1), "labels is ", 'dataset["label"]'),
    (lambda p: p.dirichlet(numpy.array([1, "a"], object), 2, 1), "the types int, str, which have no order",
     "all strings"),
    (lambda p: p.pathological(LABELS, 5, 11), "classes is 11", "from 1 to 10, the number of classes"),
    (lambda p: p.pathological(LABELS, 200, 2), "has 10 examples for 40 clients", "fewer clients"),
    (lambda p: p.shards(LABELS, 400, 3), "shards is 3", "from 1 to 2, the mean number of examples of a client"),
    (lambda p: p.sizes(10, [5, 6]), "numbers add up to 11, and there are 10 examples", "lower them"),
    (lambda p: p.sizes(10, [5, 0]), "numbers is [5, 0] (list)", "at least 1"),
    (lambda p: p.sizes(10, [5.0]), "numbers is [5.0] (list)", "whole number"),
    (lambda p: p.sizes(10, []), "numbers is [] (list)", "whole number"),
    (lambda p: p.log_normal_sizes(10, 3, -1), "sigma is -1", "from 0 to 100"),
    (lambda p: p.log_normal_sizes(10, 3, 1, least=4), "least is 4", "from 0 to 3"),
    (lambda p: p.power_law_sizes(10, 3, 1), "exponent is 1", "from 1.01"),
    (lambda p: p.inner_dirichlet(LABELS, [600, 600], 1), "numbers add up to 1200", "lower them"),
    (lambda p: p.natural([]), "column is empty", "one value"),
    (lambda p: p.natural(["a", None]), "column[1] is missing", "leave out"),
]


@pytest.mark.parametrize("call, reason, fix", WRONG)
def test_messages(call, reason, fix):
    with pytest.raises(ProblemError) as error:
        call(partition)
    assert reason in error.value.reason and fix in error.value.fix
    assert error.value.place[0] == __file__ and error.value.place[1] == call.__code__.co_firstlineno
