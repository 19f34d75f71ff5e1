"""The problem and the algorithms with outputs() of python_algorithm_test.py. TROUBLE in the environment makes them
fail."""
import furlong
import furlong.torch
import normalized
from normalized import TROUBLE


class Guesses(normalized.Normalized):
    """Its predictions are the classes."""

    def predictions(self, outputs):
        return outputs.argmax(1)


class Reversed(furlong.torch.Algorithm):
    """It predicts the class that it takes for the least likely."""

    def train(self, t):
        t.fit()

    def outputs(self, t, inputs):
        if TROUBLE == "raise outputs":
            raise LookupError("no outputs for this client")
        return -t.module(inputs)


class Voted(furlong.torch.Algorithm):
    """The model as received and the client's own predict together."""

    groups = {"own": furlong.kept("model", first="received")}

    def train(self, t):
        t.fit()
        t.fit(at="own", epochs=2, pull=0.5)

    def personalize(self, t):
        if t.has_state:
            t.weights = t["own"]

    def outputs(self, t, inputs):
        return t.module(inputs).softmax(1) + t.frozen("received")(inputs).softmax(1)
