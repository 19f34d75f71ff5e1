#!/usr/bin/python3
"""Writes parity.json: loss, gradients and 20 SGD steps of Furlong's models, computed by PyTorch.

    apt-get install python3-torch      # Debian 12: PyTorch 1.13.1
    tests/models/golden/make_golden.py

PyTorch computes in float64 from float32 starting values, and knows nothing of Furlong but the models' definitions
(models/matrix_factorization.cpp, models/logistic_regression.cpp). The seed below makes the file reproducible.
"""
import json
import pathlib
import platform

import torch

SEED = 20190901
FEATURES, CLIENTS, EXAMPLES, STEPS, BATCH = 9, 4, 30, 20, 7


def single(values):
    """Float64 values that float32 holds exactly."""
    return torch.tensor(values, dtype=torch.float32).double()


def draw(generator, *shape):
    return (torch.rand(*shape, generator=generator) - 0.5).float().double().requires_grad_()


def factorization(options, generator):
    """rating = mean + user_bias + item_bias + <user, item>; an example's loss adds l2 times its squared
    vectors and l2_bias times its squared biases."""
    owners = [int(x) for x in torch.randint(0, CLIENTS, (EXAMPLES,), generator=generator)]
    items = [int(x) for x in torch.randint(0, FEATURES - 1, (EXAMPLES,), generator=generator)]
    labels = [float(x) for x in torch.randint(1, 6, (EXAMPLES,), generator=generator)]
    weights = {"user": draw(generator, CLIENTS, options["rank"])}
    if options["user_bias"]:
        weights["user_bias"] = draw(generator, CLIENTS, 1)
    weights["item"] = draw(generator, FEATURES, options["rank"])
    if options["item_bias"]:
        weights["item_bias"] = draw(generator, FEATURES, 1)
    if options["mean"]:
        weights["mean"] = draw(generator, 1, 1)
    table = {"features": items, "values": [], "offsets": [], "labels": labels, "owners": owners}

    def loss_of(picks):
        who, what = torch.tensor([owners[i] for i in picks]), torch.tensor([items[i] for i in picks])
        user, item = weights["user"][who], weights["item"][what]
        score = (user * item).sum(1)
        penalty = options["l2"] * ((user ** 2).sum(1) + (item ** 2).sum(1))
        for name, rows in (("user_bias", who), ("item_bias", what)):
            if name in weights:
                bias = weights[name][rows].squeeze(1)
                score, penalty = score + bias, penalty + options["l2_bias"] * bias ** 2
        if "mean" in weights:
            score = score + weights["mean"].squeeze()
        target = single([labels[i] for i in picks])
        return torch.nn.functional.mse_loss(score, target, reduction="sum") + penalty.sum()

    return weights, table, loss_of


def regression(options, generator):
    """log-odds = bias + user_bias + sum of value * weight; an example's loss adds l2 times each weight it names."""
    features, values, offsets = [], [], [0]
    for _ in range(EXAMPLES):
        for _ in range(int(torch.randint(0, 5, (1,), generator=generator))):
            features.append(int(torch.randint(0, FEATURES - 1, (1,), generator=generator)))
            values.append(float((torch.rand(1, generator=generator) * 4 - 2).float()))
        offsets.append(len(features))
    labels = [float(x) for x in torch.randint(0, 2, (EXAMPLES,), generator=generator)]
    weights = {"weight": draw(generator, FEATURES, 1), "bias": draw(generator, 1, 1)}
    if options["user_bias"]:
        weights["user_bias"] = draw(generator, 1, 1)
    table = {"features": features, "values": values, "offsets": offsets, "labels": labels, "owners": []}

    def loss_of(picks):
        total = single([0.0]).sum()
        for i in picks:
            odds = sum(weights[name].squeeze() for name in ("bias", "user_bias") if name in weights)
            for at in range(offsets[i], offsets[i + 1]):
                own = weights["weight"][features[at], 0]
                odds = odds + values[at] * own
                total = total + options["l2"] * own ** 2
            total = total + torch.nn.functional.binary_cross_entropy_with_logits(odds, single(labels[i]))
        return total

    return weights, table, loss_of


def listed(tensors):
    return {name: tensor.detach().flatten().tolist() for name, tensor in tensors.items()}


def record(kind, make, options, momentum, rate, generator):
    weights, table, loss_of = make(options, generator)
    start = listed(weights)
    everyone = list(range(EXAMPLES))
    loss = loss_of(everyone)
    gradients = torch.autograd.grad(loss / EXAMPLES, list(weights.values()))
    optimizer = torch.optim.SGD(weights.values(), lr=rate, momentum=momentum)
    batches, losses = [], []
    for step in range(STEPS):
        first = (step * BATCH) % EXAMPLES
        last = min(first + BATCH, EXAMPLES)
        picks = everyone[first:last]
        optimizer.zero_grad()
        batch_loss = loss_of(picks)
        (batch_loss / len(picks)).backward()
        optimizer.step()
        batches.append([first, last])
        losses.append(batch_loss.item())
    return {"kind": kind, "options": options, "examples": table, "start": start, "loss": loss.item(),
            "gradients": listed(dict(zip(weights, gradients))), "momentum": momentum, "rate": rate,
            "batches": batches, "losses": losses, "end": listed(weights)}


def main():
    generator = torch.Generator().manual_seed(SEED)
    cases = []
    for biases in (False, True):
        for momentum, l2 in ((0.0, 0.0), (0.9, 0.0), (0.0, 0.05), (0.9, 0.05)):
            options = {"rank": 5, "user_bias": biases, "item_bias": biases, "mean": biases, "l2": l2,
                       "l2_bias": l2 / 2, "user_table": True}
            cases.append(record("matrix-factorization", factorization, options, momentum, 0.05, generator))
            options = {"user_bias": biases, "l2": l2}
            cases.append(record("logistic-regression", regression, options, momentum, 0.2, generator))
    golden = {"written_by": "tests/models/golden/make_golden.py", "seed": SEED, "torch": torch.__version__,
              "python": platform.python_version(), "features": FEATURES, "clients": CLIENTS, "cases": cases}
    lines = ",\n".join(json.dumps(case) for case in golden.pop("cases"))
    head = json.dumps(golden)[:-1]
    pathlib.Path(__file__).with_name("parity.json").write_text(f'{head}, "cases": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
