"""The algorithms of docs/python-examples.md with a step of the server as loops in numpy alone, in float64: all clients
in each round, batches in order.

Clients are pairs of images and labels; weights are arrays by the names of docs/python-examples.md's network.
"""

import numpy


def forward(w, x):
    """What the body makes of images, and the logarithms of the classes' chances."""
    z = numpy.tanh(x @ w["body.0.weight"].T + w["body.0.bias"])
    scores = z @ w["head.weight"].T + w["head.bias"]
    scores = scores - scores.max(axis=1, keepdims=True)
    return z, scores - numpy.log(numpy.exp(scores).sum(axis=1, keepdims=True))


def loss_of(w, x, y):
    return -forward(w, x)[1][range(len(y)), y].mean()


def gradient(w, x, y, slope_of_z=lambda z, y: 0.0):
    """Of the cross-entropy, and of what adds `slope_of_z` to the gradient by what the body makes."""
    z, log = forward(w, x)
    d = (numpy.exp(log) - numpy.eye(10)[y]) / len(y)
    da = (d @ w["head.weight"] + slope_of_z(z, y)) * (1 - z**2)
    return {"body.0.weight": da.T @ x, "body.0.bias": da.sum(axis=0), "head.weight": d.T @ z, "head.bias": d.sum(axis=0)}


def trained(w, x, y, rate=0.1, batch=10, epochs=2, **more):
    for _ in range(epochs):
        for first in range(0, len(y), batch):
            step = gradient(w, x[first : first + batch], y[first : first + batch], **more)
            w = {name: value - rate * step[name] for name, value in w.items()}
    return w


def fedproto(clients, start, rounds, pull=1.0):
    """The prototypes, and each client's weights."""
    means, known, own = numpy.zeros((10, 32)), numpy.zeros(10), [start] * len(clients)
    for _ in range(rounds):
        slope = lambda z, y: pull * known[y][:, None] * 2 * (z - means[y]) / (z.shape[1] * len(y))
        own = [trained(w, x, y, slope_of_z=slope) for w, (x, y) in zip(own, clients)]
        z = numpy.concatenate([forward(w, x)[0] for w, (x, _) in zip(own, clients)])
        of = numpy.concatenate([y for _, y in clients])
        seen = [k for k in range(10) if (of == k).any()]
        means, known = means.copy(), known.copy()
        for k in seen:
            means[k], known[k] = z[of == k].mean(axis=0), 1
    return means, own


def ifca(clients, start, rounds, first):
    """The three models, and which each client trained last. `first`: which it trains in the first round."""
    nets, chosen = [start] * 3, list(first)
    for number in range(rounds):
        if number:
            chosen = [int(numpy.argmin([loss_of(w, x, y) for w in nets])) for x, y in clients]
        made = [trained(nets[k], x, y) for k, (x, y) in zip(chosen, clients)]
        nets = [{name: numpy.mean([w[name] for w, c in zip(made, chosen) if c == k], axis=0) for name in net}
                if k in chosen else net for k, net in enumerate(nets)]
    return nets, chosen


def kmeans(points, centers, rounds):
    for _ in range(rounds):
        near = ((points[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
        centers = numpy.array([points[near == k].mean(axis=0) if (near == k).any() else centers[k]
                               for k in range(len(centers))])
    return centers
