"""Classes whose fit() is broken, as in broken.py. Each is a change of GOOD."""

import broken

_FIT = '''
    def fit(self, phase):
        for examples in phase.batches():
            loss = self.gradient(phase.step(examples))
            phase.correct()
            for name in phase.trained:
                phase.weights[name] -= phase.rate * phase.gradients[name]
            phase.record(loss, len(examples))
'''
GOOD = broken.GOOD + _FIT

_HEAD = "    def fit(self, phase):\n        for"
_CORRECT = "            phase.correct()\n"
_MOVE = "                phase.weights[name] -="
_RECORD = "            phase.record(loss, len(examples))\n"
_BATCHES = "phase.batches():"


def _first(line):
    """A line at the beginning of fit()."""
    return _HEAD, f"    def fit(self, phase):\n        {line}  # here\n        for"


def _record(call):
    return _RECORD, f"            phase.record({call})  # here\n"


def _batches(arguments):
    return _BATCHES, f"phase.batches({arguments}):  # here"


_OF_FIT = ("    def fit(self, phase):", "    def fit(self, phase):  # here")


def _mark(*changes):
    """Changes whose mistake is reported at the first line of fit()."""
    return tuple(zip(_OF_FIT, *changes))


#: name: (text of GOOD, its replacement, what the message says, what the fix says)
BROKEN = {
    "exception": (*_first("1 / 0"), "ZeroDivisionError", ""),
    "no record": (*_mark((_CORRECT + _FIT.split(_CORRECT)[1], _FIT.split(_CORRECT)[1].replace(_RECORD, ""))), "fit() records no step", "call phase.record(loss, n) after each step"),
    "nothing done": (*_mark((_BATCHES, "[]:")), "fit() records no step", "call phase.record(loss, n)"),
    "no examples recorded": (*_record("loss, 0"), "phase.record() is given 0 (int) as the number of examples",
                             "len(targets)"),
    "half an example recorded": (*_record("loss, 0.5"), "phase.record() is given 0.5 (float) as the number", "len("),
    "no loss recorded": (*_record("None, 3"), "phase.record() is given None as the loss", "give the mean loss"),
    "loss recorded as a text": (*_record("'0.3', 3"), "phase.record() is given '0.3' (str) as the loss", "give the mean"),
    "losses recorded": (*_record("numpy.ones(3), 3"), "phase.record() is given array([1., 1., 1.]) (ndarray) as the loss",
                        "give the mean loss"),
    "record without arguments": (*_record(""), "TypeError", ""),
    "no correction": ((_CORRECT, _RECORD), ("", _RECORD.replace("\n", "  # here\n")),
                      "a step is recorded without phase.correct()", "between the backward pass and the step"),
    "two corrections": (_CORRECT, _CORRECT + "            phase.correct()  # here\n",
                        "phase.correct() is called again before phase.record()", "call each once"),
    "a correction too many": (*_mark((_RECORD, _RECORD + "        phase.correct()\n")),
                              "fit() corrects a step and does not record it", "call phase.record(loss, n) after it"),
    "rate below 0": (_CORRECT, "            phase.correct(rate=-1)  # here\n", "is given the learning rate -1 (int)",
                     "a number of at least 0"),
    "rate that is no number": (_CORRECT, "            phase.correct('fast')  # here\n",
                               "is given the learning rate 'fast' (str)", "a number of at least 0"),
    "shape": (*_first("phase.weights[phase.trained[0]] = numpy.ones(7)"), "array of float64 of the shape (7,)",
              "give numbers of the shape"),
    "text": (*_first("phase.weights[phase.trained[0]] = 'abc'"), "is set to an array of <U3", "give numbers"),
    "shape in place": (*_first("phase.weights[phase.trained[0]][...] = numpy.ones(7)"),
                       "ValueError: could not broadcast", ""),
    "unknown name": (*_first("phase.weights['v'] = 1"), "phase.weights has no 'v'", "it has: w, b"),
    "unknown weights": (*_first("phase.weights['v']"), "KeyError", ""),
    "other weights": (*_first("for name in {*phase.weights} - {*phase.trained}: phase.weights[name] = 1"),
                      "is not trained in this phase", "assign only those in phase.trained"),
    "frozen weights in place": (*_first("for name in {*phase.weights} - {*phase.trained}: phase.weights[name][...] = 1"),
                                "read-only", ""),
    "frozen weights by force": (*_mark(("        for examples in phase.batches():",
                                         """        for name in {*phase.weights} - {*phase.trained}:
            phase.weights[name].base[...] = 1
        for examples in phase.batches():""")), "which is not trained in this phase",
                                "train only what phase.trained names"),
    "weights deleted": (*_first("del phase.weights['w']"), "AttributeError", ""),
    "random": (*_mark((_MOVE, "                import os\n                phase.weights[name] += os.urandom(1)[0]\n" + _MOVE)),
               "two calls of fit() with the same seed give different values of", "draw from phase.random"),
    "momentum of the last client": (*_mark((_MOVE, "                self.v = getattr(self, 'v', 0.0) + 1.0\n"
                                            "                phase.weights[name] += self.v\n" + _MOVE)),
                                    "two calls of fit() with the same seed give different", "begin with a new optimizer"),
    "counter": (*_mark((_MOVE, "                self.calls = getattr(self, 'calls', 0) + 1\n" + _MOVE)),
                'two calls of fit() with the same seed leave different values of "self.calls"', "keep no state"),
    "other losses": (*_mark((_RECORD, "            import os\n            phase.record(os.urandom(1)[0], 4)\n")),
                     "two calls of fit() with the same seed give different losses or steps", "draw from phase.random"),
    "endless": (*_first("while True: pass"), "takes too long", "does not end"),
    "exit": (*_first("exit(1)"), "the problem called exit(1)", "return from the method"),
    "negative epochs": (*_batches("epochs=-1"), "phase.batches() is given epochs = -1 (int)", "a whole number"),
    "half a batch": (*_batches("batch_size=0.5"), "phase.batches() is given batch_size = 0.5 (float)", "a whole number"),
    "steps that are no number": (*_batches("steps='all'"), "phase.batches() is given steps = 'all' (str)", "a whole"),
    "unknown argument": (*_batches("size=4"), "TypeError", ""),
    "examples of others": (*_batches("examples=[1000]"), "phase.batches() is given examples = [1000] (list)",
                           "numbers out of phase.examples"),
    "gradient of others": (_first("")[0], _first("self.gradient(phase.step(numpy.array([1000])))")[1].replace("  # here", ""),
                           "IndexError", ""),
    "no gradient": (*_first("phase.gradients['v']"), "step.gradients has no 'v'", "not trained in this step"),
    "memory": (*_first("numpy.zeros(1 << 50)"), "MemoryError", ""),
    "recursion": (*_first("self.fit(phase)"), "RecursionError", ""),
    "no argument": (_OF_FIT[0], "    def fit(self):  # here\n        phase = None", "fit() has no argument for the phase",
                    "write def fit(self, phase)"),
    "plain": ("    def fit", "    plain = 1\n    def fit", "plain is 1 (int)", "set it to True"),
    "steps that are not plain": (*_mark((_MOVE, "                phase.weights[name] -= 0.1 * phase.gradients[name]\n" + _MOVE),
                                        ("    def fit", "    plain = True\n    def fit")),
                                 'plain is True, and "', "give phase.correct() the rate of each step"),
    "steps without a rate": (*_mark((_CORRECT, _CORRECT.replace("()", "(0.0)")), ("    def fit", "    plain = True\n    def fit")),
                             "all steps of fit() have the learning rate 0", "one of them above 0"),
    "no evaluation": ((_FIT, "    def gradient", "    def evaluate"),
                      (_FIT.replace("self.gradient", "self.other"), "    def other", "    def score"),
                      "class Taste has no method evaluate()", "define it"),
}
#: These show when the class is opened.
OPENED = {"no argument", "plain", "no evaluation"}
