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

_START = "import numpy, furlong"
_OPEN = "    def __init__(self):"
_STEP = "        error = self.errors(step)\n        if"
_CLASS = 'class Taste(furlong.Problem):\n    metrics = {"mae": "min"}'
_CLIENTS = '    def clients(self):\n        return [furlong.Client("anna", 15, 0, 5)'
_PARAMETERS = '    def parameters(self, seed):\n        return {"w": numpy.full(3, 0.5, numpy.float32)'
_MAE = '"mae": (abs(error).sum(), len(error))}'
_EVALUATE = """    def evaluate(self, step):
        error = self.errors(step)
        return {"loss": ((error ** 2).sum(), len(error)), "mae": (abs(error).sum(), len(error))}"""


def _first(line):
    """The line before a step."""
    return _STEP, f"        {line}  # here\n{_STEP}"


def _members(lines):
    """The lines at the beginning of the class."""
    return _CLASS, _CLASS.replace(":\n", f":  # here\n    {lines}\n", 1)


def _metric(value):
    """Another sum and count of the metric."""
    return _EVALUATE, _EVALUATE.replace("step):", "step):  # here").replace(_MAE, f'"mae": {value}}}')


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
    "indentation": ("    def errors(self, step):", "   def errors(self, step):  # here", "IndentationError", ""),
    "exit at import": (_START, _START + "; exit('no data')  # here", "the problem called exit('no data')",
                       "return from the method"),
    "command at import": (_START, _START + "; furlong.run({'scenario': {}})  # here",
                          "this line starts furlong run in each trainer process", 'under if __name__ == "__main__"'),
    "no file": (_OPEN, _OPEN + "\n        open('/nowhere/data.csv')  # here", "FileNotFoundError", ""),
    "no memory": (_OPEN, _OPEN + "\n        self.z = numpy.zeros(1 << 50)  # here", "MemoryError", ""),
    "arguments": (_OPEN, "    def __init__(self, alpha):  # here", 'Taste.__init__() has the argument "alpha"',
                  'options = {"alpha": DEFAULT}'),
    "list of options": (*_members("options = ['alpha']"), "options is ['alpha'] (list)", "set it to a dict"),
    "option of a method": (*_members("options = {'gradient': 1}"), 'the option "gradient" hides', "another name"),
    "option of a list": (*_members("options = {'alpha': [1]}"), 'the option "alpha" has the default [1] (list)',
                         "a finite number"),
    "infinite option": (*_members("options = {'alpha': float('inf')}"), 'the option "alpha" has the default inf',
                        "a finite number"),
    "name of an option": (*_members("options = {'a b': 1}"), "options has the name 'a b'", "use letters"),
    "option set anew": (_CLASS + "\n" + _OPEN, _CLASS + "\n    options = {'alpha': 1}\n" + _OPEN
                        + "  # here\n        self.alpha = 2", 'sets self.alpha to 2 (int), and the option "alpha" is 1',
                        "read the option"),
    "list of metrics": (_CLASS, "class Taste(furlong.Problem):  # here\n    metrics = ['mae']", "metrics is ['mae'] (list)",
                        "set it to a dict"),
    "name of a metric": (_CLASS, "class Taste(furlong.Problem):  # here\n    metrics = {'MAE': 'min'}",
                         "metrics has the name 'MAE'", "use small letters"),
    "loss as a metric": (_CLASS, "class Taste(furlong.Problem):  # here\n    metrics = {'loss': 'min'}",
                         "metrics has the name 'loss'", "and not loss"),
    "many metrics": (_CLASS, "class Taste(furlong.Problem):  # here\n    metrics = {f'm{i}': 'min' for i in range(20)}",
                     "metrics has 20 names", "leave 16 at most"),
    "integers": (_PARAMETERS, _PARAMETERS.replace("numpy.float32", "int").replace("seed):", "seed):  # here"),
                 'parameter "w" is an array of int64', "astype(numpy.float32)"),
    "text": (_PARAMETERS, _PARAMETERS.replace("numpy.full(3, 0.5, numpy.float32)", "'abc'").replace(
        "seed):", "seed):  # here"), "parameter \"w\" is 'abc' (str)", "return a float32 array"),
    "not implemented": (_PARAMETERS, _PARAMETERS.replace("        return", "        raise NotImplementedError  # here\n"
                                                         "        return"), "NotImplementedError", ""),
    "list of clients": (_CLIENTS, _CLIENTS.replace("[furlong", "None and [furlong").replace("self):", "self):  # here"),
                        "clients() returned no list", "return a list of furlong.Client"),
    "pairs": (_CLIENTS, _CLIENTS.replace('furlong.Client("anna", 15, 0, 5)', '("anna", 15)').replace(
        "self):", "self):  # here"), "clients()[0] is ('anna', 15) (tuple)", "return furlong.Client"),
    "negative size": (_CLIENTS, _CLIENTS.replace("15", "-15").replace("self):", "self):  # here"),
                      'client "anna" has train = -15', "a number of examples"),
    "broken size": (_CLIENTS, _CLIENTS.replace("15", "1.5").replace("self):", "self):  # here"),
                    'client "anna" has train = 1.5', "a number of examples"),
    "many examples": (_CLIENTS, _CLIENTS.replace("15", "2**32 - 1").replace("self):", "self):  # here"),
                      "clients() has 4294967320 examples in all", "fewer than 2^32"),
    "name of a client": (_CLIENTS, _CLIENTS.replace('"anna"', r'"\udc80"').replace("self):", "self):  # here"),
                         r"clients()[0] has the name '\udc80'", "that UTF-8 can have"),
    "unknown gradient": (_STEP, "        step.gradients['v'][:] = 0  # here\n" + _STEP, "step.gradients has no 'v'",
                         "not trained in this step"),
    "text as a gradient": (*_first("step.gradients['w'][:] = 'abc'"), "ValueError: could not convert", ""),
    "vector as a loss": ("        return (error ** 2).mean()", "        return error ** 2", "gradient() returned", "the mean loss"),
    "text as a loss": ("        return (error ** 2).mean()", "        return '0.5'", "gradient() returned '0.5' (str)",
                       "the mean loss"),
    "name of an attribute": (*_first("self.z"), "AttributeError: 'Taste' object has no attribute 'z'", ""),
    "type": (*_first("len(1)"), "TypeError: object of type 'int' has no len()", ""),
    "counter": (_STEP, "        self.x_calls = getattr(self, 'x_calls', 0) + 1\n" + _STEP,
                'two calls of gradient() with the same seed leave different values of "self.x_calls"',
                "keep no state between calls"),
    "time": (_STEP, "        import time\n        self.y = self.y + time.time() % 1\n" + _STEP,
             "two calls of gradient() with the same seed give different", "draw from step.random"),
    "own generator": (_STEP, "        self.rng = getattr(self, 'rng', None) or numpy.random.default_rng(1)\n"
                      "        noise = self.rng.random()\n" + _STEP.replace("(step)", "(step) + noise"),
                      "two calls of gradient() with the same seed give different", "draw from step.random"),
    "stop": (*_first("next(iter([]))"), "StopIteration", ""),
    "odd message": (*_first(r"raise RuntimeError('\udc80\n' + 'x' * 10**7)"), r"RuntimeError: \udc80 xxx", ""),
    "no message": (*_first("raise type('Odd', (Exception,), {'__str__': lambda self: 1 / 0})"), "Odd", ""),
    "lock": (*_first("import threading; lock = threading.Lock(); lock.acquire(); lock.acquire()"), "takes too long",
             "does not end"),
    "child that does not end": (*_first("import subprocess; subprocess.run(['sleep', '600'])"), "takes too long",
                                "does not end"),
}

#: Those of BROKEN that show in the first step; the others show when the problem is opened.
STEPS = {*list(BROKEN)[list(BROKEN).index("unknown gradient"):], "no loss", "gradient shape", "not written", "writes parameters", "index", "exit", "memory", "recursion", "random",
         "adds", "endless"}

#: Mistakes in the evaluation, which a run makes before its first round or at the end.
SCORES = {
    "no metric": (*_metric("1")[:1], _metric("1")[1].replace('"mae"', '"other"'), 'evaluate() returned no "mae"',
                  "take it out of metrics"),
    "extra metric": (*_metric('(1, 1), "other": (1, 1)'), 'evaluate() returned "other", which is not in metrics',
                     'add "other" to metrics'),
    "no pair": (*_metric("3.0"), 'evaluate() returned 3.0 (float) for "mae"', "return (sum, count)"),
    "no dict": (_EVALUATE, _EVALUATE.replace("step):", "step):  # here").replace("return {", "return {} and {").replace(
        "{} and {", "3 or {"), "evaluate() returned 3 (int)", "return a dict"),
    "negative count": (*_metric("(1, -5)"), 'evaluate() returned "mae" with the count -5', "count what the sum is over"),
    "sum of nothing": (*_metric("(1, 0)"), 'evaluate() returned "mae" with the sum 1 and the count 0',
                       "count what the sum is over"),
    "metric not finite": (*_metric("(numpy.nan, 2)"), 'evaluate() returned "mae" with the sum nan, and the loss is finite',
                          "look for a division by zero"),
    "count not finite": (*_metric("(1, numpy.inf)"), 'evaluate() returned "mae" with the count inf',
                         "count what the sum is over"),
    "share": ((_CLASS, _EVALUATE), (_CLASS.replace("mae", "accuracy").replace("min", "max"),
                                    _metric("(100000, 1)")[1].replace('"mae"', '"accuracy"')),
              'evaluate() returned "accuracy" with the sum 100000 and the count 1, and it is no share of 0 to 1',
              "return a sum over examples and their number"),
    "mistake": (_EVALUATE, _EVALUATE.replace("error = self.errors(step)", "1 / 0  # here"), "ZeroDivisionError", ""),
    "count of the loss": (_EVALUATE, _EVALUATE.replace("step):", "step):  # here").replace("len(error)),", "1),"),
                          "with the count 1 for", "count examples"),
}

#: Trouble that only another process sees, in a run by the command: name: (text of GOOD, its replacement, exit code, what
#: the message or log.txt says)..
PROCESSES = {
    "exit in the constructor": (_OPEN, _OPEN + "\n        exit()  # here", 2, ["taste.py:7: the problem called exit(None); return"]),
    "exit at once in the constructor": (_OPEN, _OPEN + "\n        import os; os._exit(3)", 2, [
        "taste.py:7: the trainer ended at its start with status 3; look at this line"]),
    "crash in a library": (_STEP, "        import ctypes, numpy.ctypeslib\n        sorted([1, 2], key=ctypes.string_at)\n" + _STEP,
                           4, ["taste.py:17: the trainer ended 5 times at the same work"]),
    "exit at once": (_STEP, "        import os; os._exit(3)\n" + _STEP, 4, [
        "taste.py:16: the trainer ended 5 times at the same work (client ben, round 1), last with status 3; look at",
        'trainer 0 (client ben, round 1):   File "taste.py", line 16 in gradient']),
    "crash": (_STEP, "        import ctypes; ctypes.string_at(0)\n" + _STEP, 4, [
        "taste.py:16: the trainer ended 5 times at the same work (client ben, round 1), last with signal 11 (Seg",
        'trainer 0 (client ben, round 1):   File "taste.py", line 16 in gradient']),
    "fork": (_STEP, "        import os, time\n        if os.fork() == 0: time.sleep(600)\n" + _STEP, 0, []),
    "prints": (_STEP, "        print('looks at', step.client)\n" + _STEP, 0, ["trainer 0 (client ben, round 1): looks at 1"]),
    "much memory": (_OPEN, _OPEN + "\n        self.more = numpy.ones(1 << 30, numpy.int8)", 0, [
        "taste.py:Taste: takes 1", " MiB of memory of its own; keep less data in it"]),
    "interrupt": (_STEP, "        raise KeyboardInterrupt\n" + _STEP, 4, ["taste.py:16: KeyboardInterrupt"]),
    "abort": (_STEP, "        import os; os.abort()\n" + _STEP, 4, [
        "taste.py:16: the trainer ended 5 times at the same work (client ben, round 1), last with signal 6 (Abor",
        'trainer 0 (client ben, round 1):   File "taste.py", line 16 in gradient']),
    "kill": (_STEP, "        import os; os.kill(os.getpid(), 9)\n" + _STEP, 4, [
        "taste.py:Taste: the trainer ended 5 times at the same work (client ben, round 1), last with signal 9 (Kill"]),
    "timer": (_STEP, "        import signal, time; signal.setitimer(0, 0.01); time.sleep(9)\n" + _STEP, 4, [
        "last with signal 14 (Alarm"]),
    "stop": (_STEP, "        import os; os.kill(os.getpid(), 19)\n" + _STEP, 4, [
        "did not answer within 1.0 seconds, and was ended (client ben, round 1); correct taste.py:Taste"]),
    "endless and deaf": (_STEP, "        import signal; signal.pthread_sigmask(0, range(1, 65))\n        while True: pass\n"
                         + _STEP, 4, ["did not answer within 1.0 seconds"]),
    "endless and catching": (_STEP, "        import time\n        while True:\n            try: time.sleep(600)\n"
                             "            except BaseException: pass\n" + _STEP, 4, ["did not answer within 1.0 seconds"]),
    "all descriptors closed": (_STEP, "        import os; os.closerange(3, 4096)\n" + _STEP, 4, [
        "the trainer cannot go on: [Errno 9] Bad file descriptor; a problem must not close descriptors",
        "the trainer ended 5 times at the same work (client ben, round 1), last with status 1"]),
    "low descriptors closed": (_STEP, "        import os; os.closerange(3, 10)\n" + _STEP, 0, []),
    "output closed": (_STEP, "        import os, sys; sys.stdout = sys.stderr = None; os.closerange(0, 3); print(1)\n" + _STEP, 0, []),
    "memory file shrunk": (_STEP, "        import os\n        for f in os.listdir('/proc/self/fd'):\n"
                           "            if 'memfd' in os.readlink(f'/proc/self/fd/{f}'): os.ftruncate(int(f), 0)\n"
                           + _STEP, 4, ["taste.py:18: PermissionError"]),
    "bytes printed": (_STEP, "        import sys; sys.stdout.buffer.write(bytes(range(128, 256)) + b'\\n')\n" + _STEP, 0, []),
    "much printed": (_STEP, "        print('x' * 10**6, end='')\n" + _STEP, 0, []),
    "thread that does not end": (_STEP, "        import threading, time\n        threading.Thread(target=time.sleep, "
                                 "args=(600,)).start()\n" + _STEP, 0, []),
    "thread that fails": (_STEP, "        import threading; threading.Thread(target=int, args=('x',)).start()\n" + _STEP, 0, [
        "ValueError: invalid literal for int()"]),
    "no environment": (_STEP, "        import os; os.environ.clear(); os.chdir('/')\n" + _STEP, 0, []),
    "children": (_OPEN, _OPEN + "\n        import subprocess; subprocess.Popen(['sleep', '600'])", 0, []),
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
    "means": ("    def evaluate(self, step):\n        error = self.errors(step)\n        return {\"loss\": ((error ** 2).sum()",
              "    def evaluate(self, step):  # here\n        error = self.errors(step)\n        return {\"loss\": ((error ** 2).mean()",
              '"loss" of a batch is', "return sums"),
    "predictions": ("    def predict(self, step):\n        return ", "    def predict(self, step):  # here\n        return [1] or ",
                    "the predictions of 5 examples are 1 entries", "one entry for each"),
    "predictions that are no JSON": ("    def predict(self, step):\n        return self", "    def predict(self, step):  # here\n        return [{1}] * 5 or self",
                                     "the predictions are not JSON: set has no form", "return finite numbers"),
    "predictions that are not finite": ("    def predict(self, step):\n        return self", "    def predict(self, step):  # here\n        return [numpy.nan] * 5 or self",
                                        "the predictions are not JSON: ", "return finite numbers"),
    "predictions without a form": ("    def predict(self, step):\n        return self", "    def predict(self, step):  # here\n        return ['\\udc80'] * 5 or self",
                                   "the predictions are not JSON: ", "return finite numbers"),
    "labels": ("    def predict(self, step):", "    def true_labels(self, step):  # here\n        return numpy.zeros(3)\n    def predict(self, step):",
               "the labels of 5 examples are 3 entries", "one entry for each"),
    "labels that are no JSON": ("    def predict(self, step):", "    def true_labels(self, step):  # here\n        return [{1}] * 5\n    def predict(self, step):",
                                "the labels are not JSON: set has no form", "return finite numbers"),
    "counter of evaluations": (_EVALUATE, _EVALUATE.replace("step):", "step):  # here\n        self.seen = getattr(self, 'seen', 0) + 1"),
                               'two calls of evaluate() with the same seed leave different values of "self.seen"', "keep no state"),
}


def text_of(change, text=GOOD):
    """The broken file, and the line of its mistake (None: no single one)."""
    for old, new in zip(*((part,) if isinstance(part, str) else part for part in change[:2])):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    lines = [number for number, line in enumerate(text.splitlines(), 1) if "# here" in line]
    return text, lines[0] if lines else None
