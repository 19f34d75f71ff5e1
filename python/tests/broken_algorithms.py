"""Broken algorithms, as in broken.py. Each is a change of GOOD."""

import broken

_OWN = '''
class Own(furlong.Algorithm):
    options = {"mu": 1.0}
    groups = {"own": furlong.kept("model", first="received"), "c": furlong.shared("w"),
              "sent": furlong.broadcast("model"), "n": furlong.report((2, 3), rule="sum")}
    predicts = "kept"
    def train(self, t):
        for numbers in t.batches().numbers():
            loss, gradient = t.gradient(numbers)
            t.weights -= t.rate * gradient
            t.count(len(numbers), loss)
        t["own"] = t.weights
        t.report["n"][0] = 1
    def personalize(self, t):
        if t.has_state:
            t.weights = t["own"]
    def cost(self, examples, settings):
        return examples * settings["epochs"]
'''
GOOD = broken.GOOD + _OWN

_TRAIN = "    def train(self, t):"
_LOOP = _TRAIN + "\n        for"
_COUNT = "            t.count(len(numbers), loss)\n"
_PERSONALIZE = "    def personalize(self, t):"
_CLASS = "class Own(furlong.Algorithm):"
_OWN_GROUP = 'furlong.kept("model", first="received")'
_GROUPS = '    groups = {"own": ' + _OWN_GROUP
_COST = 'return examples * settings["epochs"]'
_MOVE = "            t.weights -= t.rate * gradient\n"


def _first(line):
    """A line at the beginning of train()."""
    return _LOOP, f"{_TRAIN}\n        {line}  # here\n        for"


def _personalizing(line):
    """A line at the beginning of personalize()."""
    return _PERSONALIZE, f"{_PERSONALIZE}\n        {line}  # here"


def _of(mark, *changes):
    """Changes whose mistake is reported at the line of `mark`."""
    return tuple(zip((mark, mark + "  # here"), *changes))


def _of_train(*changes):
    return _of(_TRAIN, *changes)


def _members(lines):
    """Members of the class, reported at its first line."""
    return _of(_CLASS, ('    options = {"mu": 1.0}', f'    options = {{"mu": 1.0}}\n    {lines}'))


def _last(lines):
    """The same, after the others."""
    return _of(_CLASS, (_COST, f"{_COST}\n    {lines}"))


def _step(line, first="s.optimize(s.mean)"):
    """A step that ends with this line."""
    return _COST, f"{_COST}\n    def step(self, s):\n        {first or 'pass'}\n        {line}  # here"


def _of_step(line):
    """The same, with a mistake that is reported at the step's first line."""
    return _COST, f"{_COST}\n    def step(self, s):  # here\n        s.optimize(s.mean)\n        {line}"


def _group(text):
    """Another group at the line of the first."""
    return _GROUPS + ",", f'    groups = {{"own": {_OWN_GROUP}, "bad": {text},  # here\n             '


#: Mistakes that show when the class is opened.
OPENED = {
    "no class": (_CLASS, "class Other(furlong.Algorithm):", "has no class Own", "its algorithms are: Other"),
    "no algorithm": (_CLASS, "class Own(furlong.Problem):  # here", "class Own is not an algorithm",
                     "derive it from furlong.Algorithm"),
    "constructor fails": (_GROUPS, f"    def __init__(self):\n        1 / 0  # here\n{_GROUPS}", "ZeroDivisionError", ""),
    "constructor with an argument": (_GROUPS, f"    def __init__(self, k):  # here\n        pass\n{_GROUPS}",
                                     'Own.__init__() has the argument "k"', "declare an option"),
    "no argument": (_TRAIN, "    def train(self):  # here", "train() has other arguments", "def train(self, t)"),
    "cost without settings": ("    def cost(self, examples, settings):", "    def cost(self, examples):  # here\n        settings = {}",
                              "cost() has other arguments", "def cost(self, examples, settings)"),
    "unknown tensors": (*_group('furlong.kept(["v", "w"])'), 'the group "bad" has "v", which matches no parameter',
                        "there are: w, b"),
    "no extent": (*_group("furlong.kept(None)"), "kept() is given None", "a list of patterns of names"),
    "shape of zero": (*_group("furlong.kept((0, 3))"), "kept() is given (0, 3) (tuple)", "a shape such as (10, 16)"),
    "first of a shape": (*_group('furlong.kept((2, 3), first="received")'), "kept() is given first = 'received' (str)",
                         "a group with a shape is no copy"),
    "first unknown": (*_group('furlong.kept("model", first="zero")'), "kept() is given first = 'zero' (str)",
                      'a number, or "received" or "initial"'),
    "initial values of the server": (*_group('furlong.broadcast("model", first="initial")'),
                                     "broadcast() is given first = 'initial' (str)", 'a number, or "received"'),
    "server without step": (*_group('furlong.server("w")'), 'the group "bad" is the server\'s alone', "define step(self, s)"),
    "step without argument": (_COST, f"{_COST}\n    def step(self):  # here\n        pass", "step() has other arguments",
                              "def step(self, s)"),
    "unknown rule": (*_group('furlong.report("w", rule="median")'), "report() is given rule = 'median' (str)", '"sum"'),
    "norm of 0": (*_group('furlong.shared("w", max_norm=0)'), "shared() is given max_norm = 0 (int)", "above 0"),
    "group of no place": (*_last('groups = {"own": "model"}'), 'the group "own" is \'model\' (str)',
                          "make it by furlong.kept"),
    "name of a group": (*_of(_CLASS, ('"own": ' + _OWN_GROUP, '"Own-1": ' + _OWN_GROUP)), "groups has the name 'Own-1'",
                        "small letters, digits and _"),
    "groups of a list": (*_last("groups = [1]"), "groups is [1] (list)", "a dict such as"),
    "private": (*_members('private = "yes"'), "private is 'yes' (str)", "'ignored' or 'allowed' or 'required'"),
    "exact state": (*_members("exact_state = 1"), "exact_state is 1 (int)", "True or False"),
    "predicts": (*_of(_CLASS, ('predicts = "kept"', 'predicts = "own"')), "predicts is 'own' (str)", "'examples'"),
    "rules": (*_members('rules = "mean"'), "rules is 'mean' (str)", 'such as ("mean",)'),
    "nothing sent": (*_last('sends_model, groups = False, {"own": ' + _OWN_GROUP + "}"),
                     "sends_model is False, and no group is reported", "add a furlong.report"),
    "scores without personalize": (*_of(_CLASS, (_PERSONALIZE, '    scores = ("before",)\n    def adapt(self, t):')),
                                   "scores has names, and the class has no personalize()", "define it"),
    "score twice": (*_members('scores = ("before", "before")'), "scores has the name 'before'", "each name once"),
    "too many scores": (*_members("scores = tuple('abcdefgh')"), "are 17 figures besides the loss", "leave 16 at most"),
    "option": (*_of(_CLASS, ('{"mu": 1.0}', '{"mu": None}')), 'the option "mu" has the default None', "a finite number"),
    "option that hides": (*_of(_CLASS, ('{"mu": 1.0}', '{"train": 1.0}')), 'the option "train" hides Own.train',
                          "another name"),
    "bound of an option": ('    options = {"mu": 1.0}', '    options = {"mu": furlong.option(1.0, above=2)}  # here',
                           "the default 1.0 of an option is not above 2", "correct the default"),
}

#: Mistakes in train().
TRAINED = {
    "exception": (*_first("1 / 0"), "ZeroDivisionError", ""),
    "nothing counted": (*_of_train((_COUNT, "")), "train() counts no examples", "call t.count(len(targets), loss)"),
    "nothing changed": (*_of_train((_MOVE, ""), ('        t.report["n"][0] = 1\n', "")),
                        "train() changes no weights and no group, and reports nothing", "train t.module"),
    "count of none": (_COUNT, "            t.count(0, loss)  # here\n", "t.count() is given 0 (int)", "len(targets)"),
    "count without a loss": (_COUNT, "            t.count(3, None)  # here\n", "t.count() is given None as the loss",
                             "the mean loss"),
    "weight of 0": (*_first("t.weigh(0)"), "t.weigh() is given 0 (int)", "above 0"),
    "unknown group": (*_first('t["old"]'), "t['old'] is no group", "the groups are: own, c, sent, n"),
    "reported group read": (*_first('t["n"] + 1'), 'the group "n" is reported, and has no values', 'write to t.report["n"]'),
    "unknown report": (*_first('t.report["own"] = 0'), "t.report has no 'own'", "it has: c, n"),
    "shape of a report": (*_first('t.report["n"] = numpy.ones(7)'), "array of float64 of the shape (7,)",
                          "numbers of the shape (2, 3)"),
    "shape of weights": (*_first('t.weights["w"] = numpy.ones(7)'), 't.weights["w"] is set to an array of float64 of the '
                         "shape (7,)", "numbers of the shape (3,)"),
    "unknown weights": (*_first('t.weights["v"]'), "t.weights has no 'v'", "it has: w, b"),
    "text": (*_first('t["own"]["w"] = "abc"'), 't["own"]["w"] is set to an array of <U3', "numbers of the shape"),
    "numbers for a group": (*_first('t["own"] = numpy.ones(3)'), 't["own"] is set to array([1., 1., 1.]) (ndarray)',
                            "arrays by name"),
    "other names": (*_first('t["own"] = {"w": 0, "v": 1}'), 't["own"] has "b" and no "v"', "over the same parameters"),
    "broadcast written": (*_first('t["sent"] = t.weights'), 't["sent"] cannot be written: it is a broadcast group',
                          "furlong.shared"),
    "broadcast written by name": (*_first('t["sent"]["w"] = 0'), 't["sent"] cannot be written: clients only receive them',
                                  "write to t.weights"),
    "broadcast written in place": (*_first('t["sent"]["w"][0] = 1'), "train() writes to values that are read-only",
                                   "values.copy()"),
    "shared written": (*_first('t["c"] = t.weights'), 't["c"] cannot be written: it is a shared group', 't.report["c"]'),
    "received written": (*_first("t.received.update(t.weights)"), "t.received cannot be written", "write to t.weights"),
    "received written by force": (*_of_train((_COUNT, _COUNT + '            t.received["w"].base[...] = 1\n')),
                                  'train() changes t.received["w"]', "write to t.weights"),
    "random": (*_of_train((_MOVE, _MOVE + "            import os\n            t.weights += os.urandom(1)[0]\n")),
               "two calls of train() with the same seed give different values of", "draw from t.random"),
    "state of its own": (*_of_train((_MOVE, _MOVE + "            self.calls = getattr(self, 'calls', 0) + 1\n")),
                         "train() changes self.calls", "a client keeps is a group"),
    "state of clients": (*_of_train((_GROUPS, f"    def __init__(self):\n        self.kept = {{}}\n{_GROUPS}"),
                                    (_MOVE, _MOVE + "            self.kept[t.client] = t.weights.copy()\n")),
                         "train() changes self.kept", "a client keeps is a group"),
    "state in an array": (*_of_train((_GROUPS, f"    def __init__(self):\n        self.v = numpy.zeros(3)\n{_GROUPS}"),
                                     (_MOVE, _MOVE + '            self.v += t.weights["w"]\n')),
                          "train() changes self.v", "a client keeps is a group"),
    "state in the problem": (*_of_train((_MOVE, _MOVE + "            t.problem.calls = getattr(t.problem, 'calls', 0) + 1\n")),
                             'leave different values of "self.calls"', "keep no state"),
    "unknown tensors to fit": (*_first('t.fit("v*")'), "t.fit() is given the tensors 'v*'", "there are: w, b"),
    "no private tensors": (*_first('t.fit("private")'), "of which t.weights has none", "it has: w, b"),
    "rate below 0": (*_first("t.fit(rate=-1)"), "t.fit() is given rate = -1 (int)", "at least 0"),
    "half an epoch": (*_first("t.fit(epochs=0.5)"), "t.fit() is given epochs = 0.5 (float)", "a whole number"),
    "examples of others": (*_first("t.fit(examples=[1000])"), "t.fit() is given examples = [1000] (list)",
                           "numbers out of t.examples"),
    "fit at what is received": (*_first("t.fit(at=t.received)"), "t.received cannot be written", "a group that the client keeps"),
    "term of no values": (*_first("t.fit(add=[(1, 2)])"), "t.fit() is given 2 (int) for the gradient", "values over"),
    "factor": (*_first('t.fit(add=[("x", t["c"])])'), "t.fit() is given the factor 'x' (str)", "a finite number"),
    "gradient of no examples": (*_first("t.gradient([])"), "t.gradient() is given no examples", "numbers out of t.examples"),
    "arithmetic": (*_first('t.weights + "x"'), "t.weights is computed with 'x' (str)", "give a number"),
    "has_state": (*_first("t.has_state"), "t.has_state is read in train()", "leave it to personalize()"),
    "score": (*_first('t.score("before")'), "t.score() is called in train()", "personalize()"),
    "endless": (*_first("while True: pass"), "takes too long", "does not end"),
    "exit": (*_first("exit(1)"), "the problem called exit(1)", "return from the method"),
    "thread": (*_of_train((_COUNT, _COUNT + "            import threading, time\n"
                           "            threading.Thread(target=time.sleep, args=(9,), daemon=True).start()\n")),
               "train() leaves the thread", "let it end before train() returns"),
    "memory": (*_first("numpy.zeros(1 << 50)"), "MemoryError", ""),
    "recursion": (*_first("self.train(t)"), "RecursionError", ""),
}

#: Mistakes in personalize().
PERSONALIZED = {
    "exception in personalize": (*_personalizing("1 / 0"), "ZeroDivisionError", ""),
    "no state": (*_personalizing('t["own"]'), 'the client has kept no "own"', "read it only if t.has_state"),
    "kept written": (*_of("            t.weights = t[\"own\"]", ('t.weights = t["own"]', 't["own"] = t.weights')),
                     't["own"] cannot be written: it is only read in personalize()', "write it in train()"),
    "reports": (*_personalizing('t.report["n"] = 1'), "t.report has no 'n'", "only train() reports groups"),
    "examples": (*_personalizing("t.fit()"), 't.fit() is called in personalize(), and predicts is "kept"',
                 'set predicts = "examples"'),
    "no score": (*_of(_PERSONALIZE, ('    predicts = "kept"', '    predicts = "kept"\n    scores = ("before",)')),
                 'personalize() does not call t.score("before")', "call it for each name"),
    "unknown score": (*_personalizing('t.score("before")'), "t.score() is given 'before'", "add it"),
    "random personalization": (*_of(_PERSONALIZE, ("            t.weights = t[\"own\"]", "            import os; t.weights *= os.urandom(1)[0]")),
                               "two calls of personalize() with the same seed give different", "draw from t.random"),
}

#: Mistakes in cost().
COSTS = {
    "cost of nothing": (*_of("    def cost(self, examples, settings):", (_COST, "return None")), "cost() returned None",
                        "the number of examples"),
    "half a cost": (*_of("    def cost(self, examples, settings):", (_COST, "return 0.5")), "cost() returned 0.5 (float)",
                    "the number of examples"),
    "cost fails": (_COST, "return t  # here", "NameError", ""),
}

#: Mistakes in step().
STEPPED = {
    "step fails": (*_step("1 / 0"), "ZeroDivisionError", ""),
    "no group of the server": (*_step('s["own"]'), 'the group "own" is kept by clients', "furlong.report"),
    "unknown group of the server": (*_step('s["x"]'), "s['x'] is no group", "the groups are: own, c, sent, n"),
    "shape of the server": (*_step('s["sent"]["w"] = [1, 2]'), 's["sent"]["w"] is set to an array', "numbers of the shape"),
    "reports are read": (*_step('s.reported["n"] = 0'), 's.reported["n"] cannot be written', "write to s.model"),
    "optimized twice": (*_step("s.optimize(s.mean)"), "s.optimize() is called a second time", "call it once"),
    "half a change": (*_step('s.optimize({"w": s.mean["w"]})', ""), 's.optimize() is given no change of "b"', "all parameters"),
    "written and optimized": (*_of_step("s.model *= 2.0"), "is written, and s.optimize() is called", "do one of the two"),
    "infinite step": (*_of_step('s["c"]["w"][...] = numpy.inf'), 'values in s["c"]["w"] that are not finite', "of zero"),
    "random step": (*_of_step('import os; s["c"]["w"][...] = os.urandom(1)[0]'), "two calls of step() with the same seed",
                    "draw from s.random"),
    "state of the server": (*_of_step('self.v = s.mean.copy()'), "step() changes self.v", 'furlong.server("model")'),
    "long step": (*_step("while True: pass"), "the call takes too long", "raise the timeout"),
}

BROKEN = {**OPENED, **TRAINED, **PERSONALIZED, **COSTS, **STEPPED}
