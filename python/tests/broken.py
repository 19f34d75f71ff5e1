"""Broken problems. Each is a change of GOOD; the line of the mistake has the comment "# here"."""

GOOD = '''
import numpy, furlong

class Taste(furlong.Problem):
    metrics = {"mae": "min"}
    def __init__(self):
        self.x = numpy.random.default_rng(1).normal(size=(20, 3)).astype(numpy.float32)
        self.y = self.x.sum(axis=1)
    def parameters(self, seed):
        return {"w": numpy.full(3, 0.5, numpy.float32), "b": numpy.zeros(1, numpy.float32)}
    def clients(self):
        return [furlong.Client("anna", 15, 0, 5), furlong.Client("ben", 20)]
    def errors(self, step):
        return self.x[step.examples] @ step.parameters["w"] + step.parameters["b"] - self.y[step.examples]
    def gradient(self, step):
        error = self.errors(step)
        if "w" in step.gradients:
            step.gradients["w"][:] = 2 * error @ self.x[step.examples] / len(error)
        if "b" in step.gradients:
            step.gradients["b"][:] = 2 * error.mean()
        return (error ** 2).mean()
    def evaluate(self, step):
        error = self.errors(step)
        return {"loss": ((error ** 2).sum(), len(error)), "mae": (abs(error).sum(), len(error))}
    def predict(self, step):
        return self.errors(step).tolist()
'''

#: name: (text of GOOD, its replacement, what the message says, what the fix says)
BROKEN = {
    "syntax": ("        return self.errors(step).tolist()", "        return self.errors(step  # here", "SyntaxError", ""),
    "import": ("import numpy, furlong", "import furlong, numpy_of_mine  # here", "No module named 'numpy_of_mine'",
               "install numpy_of_mine"),
    "import error": ("import numpy, furlong", "import numpy, furlong\nnumpy.nothing  # here", "AttributeError", ""),
    "other class": ("class Taste(furlong.Problem):", "class Tasty(furlong.Problem):", "has no class Taste", "Tasty"),
    "no problem": ("class Taste(furlong.Problem):", "class Taste:", "class Taste is not a problem",
                   "derive it from furlong.Problem"),
    "missing method": ("    def gradient(self, step):", "    def gradients(self, step):", "has no method gradient()",
                       "define it"),
    "constructor": ("    def __init__(self):", "    def __init__(self):\n        1 / 0  # here", "ZeroDivisionError", ""),
    "parameters": ("    def parameters(self, seed):\n        return {", "    def parameters(self, seed):  # here\n        {",
                   "parameters() returned None", "return a dict"),
    "dtype": ("    def parameters(self, seed):\n        return {\"w\": numpy.full(3, 0.5, numpy.float32)",
              "    def parameters(self, seed):  # here\n        return {\"w\": numpy.full(3, 0.5)",
              'parameter "w" is an array of float64', "astype(numpy.float32)"),
    "ragged": ("    def parameters(self, seed):\n        return {\"w\": numpy.full(3, 0.5, numpy.float32)",
               "    def parameters(self, seed):  # here\n        return {\"w\": [[1], [2, 3]]", 'parameter "w" is',
               "return a float32 array"),
    "not finite": ("    def parameters(self, seed):\n        return {\"w\": numpy.full(3, 0.5, numpy.float32)",
                   "    def parameters(self, seed):  # here\n        return {\"w\": numpy.full(3, numpy.nan, numpy.float32)",
                   'parameter "w" has values that are not finite', "correct its initial values"),
    "empty": ("    def parameters(self, seed):\n        return {\"w\": numpy.full(3, 0.5, numpy.float32)",
              "    def parameters(self, seed):  # here\n        return {\"w\": numpy.full(0, 0.5, numpy.float32)",
              'parameter "w" has the shape (0,)', "leave it out"),
    "name": ("    def parameters(self, seed):\n        return {\"w\"", "    def parameters(self, seed):  # here\n        return {\"w x\"",
             "parameters() has the name 'w x'", "use letters"),
    "metrics": ("class Taste(furlong.Problem):\n    metrics = {\"mae\": \"min\"}",
                "class Taste(furlong.Problem):  # here\n    metrics = {\"mae\": \"small\"}", "metrics[\"mae\"] is 'small'",
                'write "max"'),
    "no clients": ("    def clients(self):\n        return [", "    def clients(self):  # here\n        return [] and [",
                   "clients() returned no client", "return a list"),
    "same name": ("    def clients(self):\n        return [furlong.Client(\"anna\"",
                  "    def clients(self):  # here\n        return [furlong.Client(\"ben\"", "the name 'ben'",
                  "a name of its own"),
    "group": ("    def clients(self):\n        return [furlong.Client(\"anna\", 15, 0, 5)",
              "    def clients(self):  # here\n        return [furlong.Client(\"anna\", 15, 0, 5, \"tests\")",
              "has the group 'tests'", '"train", "validation" or "test"'),
    "no loss": ("    def gradient(self, step):", "    def gradient(self, step):  # here\n        return self.steps(step) and None\n"
                "    def steps(self, step):", "gradient() returned None", "return the mean loss"),
    "gradient shape": ('step.gradients["w"][:] = 2 * error @', 'step.gradients["w"][:] = numpy.ones(7)  # here\n            2 * error @',
                       "ValueError: could not broadcast", ""),
    "not written": ("    def gradient(self, step):\n        error = self.errors(step)",
                    "    def gradient(self, step):  # here\n        error = self.errors(step)\n        return 0.0",
                    'gradient() did not write all of step.gradients["w"]', "assign it"),
    "writes parameters": ("        error = self.errors(step)\n        if", "        step.parameters[\"w\"][:] = 0  # here\n"
                          "        error = self.errors(step)\n        if", "read-only", ""),
    "index": ("""        return [furlong.Client("anna", 15, 0, 5), furlong.Client("ben", 20)]
    def errors(self, step):
""", """        return [furlong.Client("ben", 30)]
    def errors(self, step):
        self.x[step.examples]  # here
""", "IndexError", ""),
    "exit": ("        error = self.errors(step)\n        if", "        exit(1)  # here\n        if", "the problem called exit(1)",
             "return from the method"),
    "memory": ("        error = self.errors(step)\n        if", "        numpy.zeros(1 << 50)  # here\n        if", "MemoryError", ""),
    "recursion": ("        error = self.errors(step)\n        if",
                  "        error = self.gradient(step)  # here\n        if", "RecursionError", ""),
    "random": ("    def gradient(self, step):\n        error = self.errors(step)",
               "    def gradient(self, step):  # here\n        import os\n        error = self.errors(step) + os.urandom(1)[0]",
               "two calls of gradient() with the same seed give different", "draw from step.random"),
    "adds": ('    def gradient(self, step):\n        error = self.errors(step)\n        if "w" in step.gradients:\n            step.gradients["w"][:] = 2',
             '    def gradient(self, step):  # here\n        error = self.errors(step)\n        if "w" in step.gradients:\n            step.gradients["w"][:] += 2',
             'did not write all of step.gradients["w"]', "assign it"),
    "endless": ("        error = self.errors(step)\n        if", "        while True: pass  # here\n        if",
                "takes too long", "does not end"),
}

#: Those of BROKEN that show in the first step; the others show when the problem is opened.
STEPS = {"no loss", "gradient shape", "not written", "writes parameters", "index", "exit", "memory", "recursion", "random",
         "adds", "endless"}

_STEP = "        error = self.errors(step)\n        if"
_OPEN = "    def __init__(self):"

#: Trouble that only another process sees, in a run by the command: name: (text of GOOD, its replacement, exit code, what
#: the message or log.txt says)..
PROCESSES = {
    "exit in the constructor": (_OPEN, _OPEN + "\n        exit()  # here", 2, ["taste.py:7: the problem called exit(None); return"]),
    "exit at once": (_STEP, "        import os; os._exit(3)\n" + _STEP, 4, [
        "taste.py:Taste: the trainer ended 5 times at the same work (client ben, round 1), last with status 3; look at",
        'trainer 0 (client ben, round 1):   File "taste.py", line 16 in gradient']),
    "crash": (_STEP, "        import ctypes; ctypes.string_at(0)\n" + _STEP, 4, [
        "taste.py:Taste: the trainer ended 5 times at the same work (client ben, round 1), last with signal 11 (Seg",
        'trainer 0 (client ben, round 1):   File "taste.py", line 16 in gradient']),
    "fork": (_STEP, "        import os, time\n        if os.fork() == 0: time.sleep(600)\n" + _STEP, 0, []),
    "prints": (_STEP, "        print('looks at', step.client)\n" + _STEP, 0, ["trainer 0 (client ben, round 1): looks at 1"]),
    "much memory": (_OPEN, _OPEN + "\n        self.more = numpy.ones(1 << 30, numpy.int8)", 0, [
        "taste.py:Taste: takes 1", " MiB of memory of its own; keep less data in it"]),
    "nan": (_STEP, _STEP.replace("(step)", "(step) * numpy.nan"), 4, [
        "taste.py:15: gradient() returned the loss nan for client "]),
    "nan gradient": ("= 2 * error.mean()", "= numpy.nan", 4, [
        'taste.py:15: gradient() wrote values that are not finite to step.gradients["b"] for client ']),
}

#: Only found by furlong.check.
CHECKED = {
    "wrong derivative": ("    def gradient(self, step):\n        error = self.errors(step)",
                         "    def gradient(self, step):  # here\n        error = 2 * self.errors(step)", 'the gradient of "w" at',
                         "correct the derivative"),
    "nan loss": ("    def gradient(self, step):\n        error = self.errors(step)",
                 "    def gradient(self, step):  # here\n        error = self.errors(step) * numpy.nan", "the loss is nan",
                 "look for a division"),
    "seedless": ("    def parameters(self, seed):\n        return {\"w\": numpy.full(3, 0.5, numpy.float32)",
                 "    def parameters(self, seed):  # here\n        import os\n        return {\"w\": numpy.full(3, os.urandom(1)[0], numpy.float32)",
                 "two calls of parameters(1) give different values", "from the seed"),
    "other process": ("    def clients(self):", "    def clients(self):  # here\n        return [furlong.Client(n, 20) for n in set('abcdefghijklmnopqrst')]\n    def others(self):",
                      "clients() gives different values in another process", "order of a set"),
    "no metric": ("    def evaluate(self, step):", "    def evaluate(self, step):  # here\n        return {'loss': (self.errors(step).sum(), len(step.examples))}\n    def other(self, step):",
                  'evaluate() returned no "mae"', "take it out of metrics"),
    "means": ("    def evaluate(self, step):\n        error = self.errors(step)\n        return {\"loss\": ((error ** 2).sum()",
              "    def evaluate(self, step):  # here\n        error = self.errors(step)\n        return {\"loss\": ((error ** 2).mean()",
              '"loss" of a batch is', "return sums"),
    "count": ("    def evaluate(self, step):\n        error = self.errors(step)\n        return {\"loss\": ((error ** 2).sum(), len(error))",
              "    def evaluate(self, step):  # here\n        error = self.errors(step)\n        return {\"loss\": ((error ** 2).sum(), 1)",
              "with the count 1 for", "count examples"),
    "predictions": ("    def predict(self, step):\n        return ", "    def predict(self, step):  # here\n        return [1] or ",
                    "the predictions of 20 examples are 1 entries", "one entry for each"),
}


def text_of(change):
    """The broken file, and the line of its mistake (None: no single one)."""
    old, new = change[:2]
    assert GOOD.count(old) == 1, old
    text = GOOD.replace(old, new)
    lines = [number for number, line in enumerate(text.splitlines(), 1) if "# here" in line]
    return text, lines[0] if lines else None
