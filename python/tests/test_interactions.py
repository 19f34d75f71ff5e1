"""furlong.data.leave_one_out: files of ratings for rankings."""

import numpy
import pytest

from furlong import check
from furlong.data import leave_one_out
from furlong.errors import ProblemError

#: user, item, rating, time; not in the order of time.
RATINGS = [(7, 10, 5, 400), (3, 20, 4, 50), (7, 30, 1, 100), (7, 20, 2, 300), (3, 60, 4, 70), (3, 10, 1, 60),
           (7, 40, 3, 200), (7, 50, 3, 400)]


def write(folder, separator="::", header="", ratings=RATINGS, columns=4):
    file = folder / "ratings.dat"
    file.write_text(header + "".join(separator.join(map(str, row[:columns])) + "\n" for row in ratings))
    return file


def many(folder, users=40, items=60, seed=1):
    """Each user has 5 to 19 items, at times of which some are equal."""
    random = numpy.random.default_rng(seed)
    ratings = [(user, int(item), 3, int(random.integers(10)))
               for user in range(users) for item in random.choice(items, random.integers(5, 20), replace=False)]
    return write(folder, ratings=ratings), ratings


@pytest.mark.parametrize("separator, header", [
    ("::", ""), ("\t", ""), (",", ""), (",", "userId,movieId,rating,timestamp\n"), ("\t", "user\titem\trating\ttime\n"),
    ("::", "\ufeff")])
def test_the_last_items_are_held_out(tmp_path, separator, header):
    own, asked = leave_one_out(write(tmp_path, separator, header), negatives=1)
    assert own.names == ["3", "7"] and own.item_names == ["10", "20", "30", "40", "50", "60"] and own.items == 6
    # By time user 7 has 30, 40, 20, 10, 50: the last two at one time, in the order of the file.
    assert [items.tolist() for items in own] == [[1], [2, 3, 1]] and len(own) == 2
    assert asked["validation"][:, 0, 0].tolist() == [0, 0] and asked["test"][:, 0, 0].tolist() == [5, 4]
    assert asked["test"].shape == asked["validation"].shape == (2, 1, 2)
    assert asked["test"][1, 0, 1] == asked["validation"][1, 0, 1] == 5  # the only item that user 7 has not rated


def test_without_validation_and_times(tmp_path):
    own, asked = leave_one_out(write(tmp_path, ",", "user,item,rating\n", columns=3), 1, validation=False)
    assert [items.tolist() for items in own] == [[1, 5], [0, 2, 1, 3]]
    assert list(asked) == ["test"] and asked["test"][:, 0, 0].tolist() == [0, 4]


@pytest.mark.parametrize("seed", range(10))
def test_others_were_never_rated(tmp_path, seed):
    file, ratings = many(tmp_path, seed=seed)
    own, asked = leave_one_out(file, negatives=30, seed=seed)
    rated = {}
    for user, item, *_ in ratings:
        rated.setdefault(str(user), set()).add(str(item))
    drawn = numpy.random.default_rng(seed)
    for user, name in enumerate(own.names):
        for part in ("validation", "test"):
            held_out, *others = [own.item_names[item] for item in asked[part][user, 0]]
            assert held_out in rated[name] and len(set(others)) == 30 and not rated[name] & set(others)
        assert asked["test"][user].tolist() != asked["validation"][user].tolist()
        absent = own.absent(user, 500, drawn)
        assert {own.item_names[item] for item in absent} <= set(own.item_names) - rated[name]
        assert len(set(absent.tolist())) > 0.9 * (own.items - len(rated[name]))
        negatives = set(own.negatives(user, 1000, drawn).tolist())
        assert not negatives & set(own[user].tolist())
        assert all(asked[part][user, 0, 0] in negatives for part in asked)
        assert len(own[user]) == len(rated[name]) - 2


def test_the_seed_draws_the_others(tmp_path):
    file, _ = many(tmp_path)
    drawn = lambda seed: leave_one_out(file, negatives=20, seed=seed)[1]["test"]
    assert numpy.array_equal(drawn(1), drawn(1)) and not numpy.array_equal(drawn(1), drawn(2))
    assert drawn(1)[0, 0, :8].tolist() == [44, 55, 15, 42, 41, 33, 30, 49]


def test_a_batch_of_a_part(tmp_path):
    _, asked = leave_one_out(write(tmp_path), negatives=1)
    assert asked["test"][1][numpy.array([0])].shape == (1, 2)


@pytest.mark.parametrize("text, line, reason, fix", [
    ("1::2::3::4\n1::x::3::4\n", 2, "found 1, x, 3, 4", "whole numbers"),
    ("1::2::3::4\n1::2.5::3::4\n", 2, "found 1, 2.5, 3, 4", "whole numbers"),
    ("1::2::3::4\nx::2::3::4\n", 2, "found x, 2, 3, 4", "whole numbers"),
    ("1::2::3::4\n-1::2::3::4\n", 2, "found -1, 2, 3, 4", "whole numbers"),
    ("1::2::3::4\n1::3::nan::4\n", 2, "found 1, 3, nan, 4", "whole numbers"),
    ("1::2::3::4\n1::2::3\n", 2, "found 3 fields", "write 4, between ::, tabs or commas"),
    ("1 2 3\n", 1, "found 1 fields", "write 3 or 4"),
    ("user,item,rating\n1,2,3\n1,4,3\n2,2,3\n1,2,5\n", 5, "user 1 rated item 2 more than once, on lines 2 and 5",
     "keep one"),
    ("", 1, "the file has no ratings", "one a line"),
    ("user,item,rating\n", 1, "the file has no ratings", "one a line"),
])
def test_mistakes_in_a_file(tmp_path, text, line, reason, fix):
    file = tmp_path / "ratings.csv"
    file.write_text(text)
    with pytest.raises(ProblemError) as error:
        leave_one_out(file)
    assert error.value.place == (str(file), line)
    assert reason in error.value.reason and fix in error.value.fix


@pytest.mark.parametrize("ratings, settings, reason, fix", [
    (RATINGS, {"negatives": 2}, "user 7 of FILE has rated all but 1 of 6 items", "lower negatives to 1"),
    (RATINGS + [(7, 60, 1, 1)], {"negatives": 1}, "user 7 of FILE has rated all but 0 of 6 items", "remove this user"),
    (RATINGS + [(1, 10, 1, 1), (1, 20, 1, 1)], {"negatives": 1}, "user 1 of FILE has 2 ratings, and 2 are held out",
     "fewer than 3"),
    (RATINGS, {"negatives": 0}, "negatives is 0", "at least 1"),
])
def test_users_who_cannot_be_ranked(tmp_path, ratings, settings, reason, fix):
    file = write(tmp_path, ratings=ratings)
    with pytest.raises(ProblemError) as error:
        leave_one_out(file, **settings)
    assert error.value.place[0] == __file__
    assert reason.replace("FILE", str(file)) in error.value.reason and fix in error.value.fix


def test_no_file(tmp_path):
    with pytest.raises(ProblemError, match="none.dat does not exist; correct the path"):
        leave_one_out(tmp_path / "none.dat")


RANKING = """
import numpy, furlong

class Ranking(furlong.Problem):
    metrics = {"hits": "max"}
    def __init__(self):
        self.own, self.asked = furlong.data.leave_one_out(FILE, negatives=10, validation=VALIDATION)
    def parameters(self, seed):
        return {"items": numpy.zeros(self.own.items, numpy.float32)}
    def clients(self):
        return [furlong.Client(name, len(own), len(self.asked.get("validation", [])) and 1, 1)
                for name, own in zip(self.own.names, self.own)]
    def gradient(self, step):
        known = self.own[step.client][step.examples]
        asked = numpy.concatenate([known, self.own.absent(step.client, len(known), step.random)])
        error = step.parameters["items"][asked] - numpy.repeat([1, 0], len(known))
        gradient = numpy.zeros(self.own.items)
        numpy.add.at(gradient, asked, error / len(known))
        step.gradients["items"][...] = gradient
        return (error ** 2).sum() / 2 / len(known)
    def evaluate(self, step):
        scores = step.parameters["items"][self.asked[step.part][step.client][step.examples]]
        return {"loss": ((scores[:, 0] - 1).sum() ** 2, len(scores)),
                "hits": ((scores[:, 1:] < scores[:, :1]).sum(axis=1).mean(), len(scores))}
    def predict(self, step):
        return self.asked[step.part][step.client][step.examples].argmax(axis=1).tolist()
    def true_labels(self, step):
        return self.asked[step.part][step.client][step.examples][:, 0].tolist()
"""


@pytest.mark.parametrize("validation", [True, False])
def test_a_ranking_passes_the_check(tmp_path, capsys, validation):
    """It can score what is held out, and not the items that a user trains on."""
    file = tmp_path / f"ranking_{validation}.py"
    file.write_text(RANKING.replace("FILE", repr(str(many(tmp_path)[0]))).replace("VALIDATION", str(validation)))
    assert check.main([f"{file}:Ranking"]) == 0, capsys.readouterr().err
    told = capsys.readouterr().out
    assert f" on a {'validation' if validation else 'test'} batch of the initial model" in told
    assert told.endswith("no errors\n")
