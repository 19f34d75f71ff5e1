"""What protocol 2 adds for all problems: options, the round, digests of sources."""

import hashlib

import pytest
from host import Host, TrainerError

from furlong import check, loading
from furlong.errors import ProblemError

TEXT = """
import furlong
import helper_of_a_problem

class Own(furlong.Problem):
    options = {"alpha": 0.1, "count": 3, "kind": "plain", "deep": False}
    def __init__(self):
        self.at_start = [self.alpha, self.count, self.kind, self.deep]
    def parameters(self, seed):
        return {"w": [float(self.at_start[1])]}
    def clients(self):
        return [furlong.Client("a", 4)]
    def gradient(self, step):
        step.gradients["w"][:] = self.alpha * step.round
        return self.alpha * step.round * float(step.parameters["w"][0])
    def evaluate(self, step):
        return {"loss": (step.round * len(step.examples), len(step.examples))}
    def predict(self, step):
        return [self.at_start + [step.round]] * len(step.examples)
"""


@pytest.fixture
def own(tmp_path):
    (tmp_path / "helper_of_a_problem.py").write_text("import inner_of_a_problem.part\n")
    (tmp_path / "inner_of_a_problem").mkdir()
    (tmp_path / "inner_of_a_problem" / "__init__.py").write_text("")
    (tmp_path / "inner_of_a_problem" / "part.py").write_text("VALUE = 1\n")
    (tmp_path / "not_imported.py").write_text("")
    file = tmp_path / "own_options.py"
    file.write_text(TEXT)
    return f"{file}:Own"


def test_options_are_attributes_before_the_constructor(own):
    with Host(own) as host:
        reply = host.open(options={"alpha": 2, "deep": True})
        assert list(reply["options"].items()) == [("alpha", 2.0), ("count", 3), ("kind", "plain"), ("deep", True)]
        assert host.initial()["w"] == [3]
        assert host.predict([(0, "train", [0])]) == [[2.0, 3, "plain", True, 0]]
    with Host(own) as host:
        assert host.open()["options"]["alpha"] == 0.1


def test_steps_know_the_round(own):
    with Host(own) as host:
        host.open()
        host.initial()
        for number in (1, 7):
            loss, gradients = host.gradient([(0, "train", [0, 1])], round=number)
            assert loss == pytest.approx(0.6 * number) and gradients["w"][0] == pytest.approx(0.1 * number)
            pooled = host.gradient([(0, "train", [0]), (0, "train", [1])], round=number)
            assert pooled[0] == pytest.approx(0.6 * number)
        assert host.evaluate([(0, "train", [0, 1])], round=5)[0] == 10


def test_digests_are_those_of_the_sources_of_the_class(own, tmp_path):
    with Host(own) as host:
        files = host.open(first=False)["files"]
    names = ["helper_of_a_problem.py", "inner_of_a_problem/__init__.py", "inner_of_a_problem/part.py", "own_options.py"]
    assert list(files) == names
    assert files == {name: hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in names}


def test_digests_are_also_those_of_sources_outside_of_the_folder(tmp_path):
    for name, text in {"own/own_options.py": "import os, sys, tempfile\n"
                       "here = os.path.dirname(os.path.dirname(__file__))\n"
                       "made = tempfile.mkdtemp()\nopen(made + '/made_for_a_problem.py', 'w').close()\n"
                       "sys.path += [here + '/common', here + '/site-packages', made]\n"
                       "import installed_for_a_problem, made_for_a_problem\n" + TEXT,
                       "common/helper_of_a_problem.py": "", "common/not_imported.py": "",
                       "site-packages/installed_for_a_problem.py": ""}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    with Host(f"{tmp_path}/own/own_options.py:Own") as host:
        files = host.open(first=False)["files"]
    assert files == {"../common/helper_of_a_problem.py": hashlib.sha256(b"").hexdigest(),
                     "own_options.py": hashlib.sha256((tmp_path / "own/own_options.py").read_bytes()).hexdigest()}


@pytest.mark.parametrize("given, reason, fix", [
    ({"alpa": 1.0}, 'class Own has no option "alpa"', 'the nearest is "alpha"'),
    ({"zzz": 1.0}, 'class Own has no option "zzz"', "it has: alpha, count, kind, deep"),
    ({"alpha": "x"}, 'the option "alpha" is \'x\' (str), and its default 0.1 (float)', "type float"),
    ({"alpha": True}, 'the option "alpha" is True (bool)', "type float"),
    ({"count": 2.5}, 'the option "count" is 2.5 (float)', "type int"),
    ({"count": False}, 'the option "count" is False (bool)', "type int"),
    ({"kind": 3}, 'the option "kind" is 3 (int)', "type str"),
    ({"deep": 1}, 'the option "deep" is 1 (int)', "type bool"),
])
def test_options_of_another_name_or_type_are_refused(own, given, reason, fix):
    with Host(own) as host:
        with pytest.raises(TrainerError) as error:
            host.open(options=given)
        assert error.value.reply["error"].startswith(reason) and fix in error.value.reply["fix"]
        assert error.value.reply["line"] == 5
        assert host.open()["options"]["count"] == 3


def test_check_has_options(own, capsys):
    assert check.main([own, "--option", "alpha=0.5", "--option", "kind=other"]) == 0
    out = capsys.readouterr().out
    assert "option      alpha = 0.5\n" in out and "option      kind = 'other'\n" in out
    assert check.main([own, "--option", "alpha"]) == 1
    assert 'the option "alpha" has no value; write NAME=VALUE' in capsys.readouterr().err


def test_a_problem_without_options_says_how_to_declare_them(tmp_path):
    file = tmp_path / "no_options.py"
    file.write_text(TEXT.replace('    options = {"alpha": 0.1, "count": 3, "kind": "plain", "deep": False}\n', "")
                    .replace("import helper_of_a_problem\n", ""))
    with pytest.raises(ProblemError, match='declare it on the class: options = {"alpha": 0.5}'):
        loading.load(f"{file}:Own", options={"alpha": 0.5})
