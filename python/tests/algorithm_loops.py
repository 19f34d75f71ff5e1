"""The algorithms of docs/python-examples.md as loops in PyTorch alone: all clients in each round, batches in order.

Each function takes a Federation and returns the model, and what clients have that predicts, by client.
"""

import copy

import torch
import torch.nn.functional as F

torch.set_num_threads(1)  # small nets: threads only wait for each other


class Federation:
    """Clients' examples, and the model before any training.

    clients   (x, y) of each client's train part
    net       a module with the initial values
    """

    def __init__(self, clients, net, rate=0.1, batch=10, epochs=2, rounds=3):
        self.clients, self.net, self.rate, self.batch, self.epochs, self.rounds = clients, net, rate, batch, epochs, rounds

    def batches(self, client, epochs=None):
        x, y = self.clients[client]
        for _ in range(self.epochs if epochs is None else epochs):
            for first in range(0, len(y), self.batch):
                yield x[first : first + self.batch], y[first : first + self.batch]

    def net_at(self, values):
        net = copy.deepcopy(self.net)
        for name, p in net.named_parameters():
            p.data.copy_(values[name])
        return net

    def initial(self):
        return values_of(self.net)


def values_of(net):
    return {name: p.detach().clone() for name, p in net.named_parameters()}


def mean(models, weights=None):
    weights = torch.tensor([1.0] * len(models) if weights is None else [float(w) for w in weights])
    return {name: sum(w * m[name] for w, m in zip(weights / weights.sum(), models)) for name in models[0]}


def sgd(net, rate, momentum, batches, loss_of):
    optimizer = torch.optim.SGD(net.parameters(), rate, momentum=momentum)
    for x, y in batches:
        optimizer.zero_grad()
        loss_of(x, y).backward()
        optimizer.step()


def moon(world, mu=1.0, tau=0.5):
    model, previous = world.initial(), {}
    for _ in range(world.rounds):
        made = []
        for i in range(len(world.clients)):
            net, theirs, own = world.net_at(model), world.net_at(model), world.net_at(previous.get(i, model))

            def loss(x, y):
                z = net.body(x)
                positive = F.cosine_similarity(z, theirs.body(x).detach()) / tau
                negative = F.cosine_similarity(z, own.body(x).detach()) / tau
                contrast = -(positive.exp() / (positive.exp() + negative.exp())).log().mean()
                return F.cross_entropy(net.head(z), y) + mu * contrast

            sgd(net, world.rate, 0.9, world.batches(i), loss)
            previous[i] = values_of(net)
            made.append(previous[i])
        model = mean(made, [len(y) for _, y in world.clients])
    return model, previous


def ditto(world, pull=1.0, rate=0.05):
    model, own = world.initial(), {}
    for _ in range(world.rounds):
        made = []
        for i in range(len(world.clients)):
            net, mine = world.net_at(model), world.net_at(own.get(i, model))
            sgd(net, world.rate, 0, world.batches(i), lambda x, y: F.cross_entropy(net(x), y))
            received = list(model.values())
            sgd(mine, rate, 0, world.batches(i), lambda x, y: F.cross_entropy(mine(x), y) + pull / 2 * sum(
                ((p - r) ** 2).sum() for p, r in zip(mine.parameters(), received)))
            own[i] = values_of(mine)
            made.append(values_of(net))
        model = mean(made, [len(y) for _, y in world.clients])
    return model, own


def apfl(world, share_rate=0.1):
    model, own, shares = world.initial(), {}, {}
    for _ in range(world.rounds):
        made = []
        for i in range(len(world.clients)):
            net, mine, a = world.net_at(model), world.net_at(own.get(i, model)), shares.get(i, 0.5)
            for x, y in world.batches(i):
                mixed = world.net_at({name: a * p.data + (1 - a) * dict(net.named_parameters())[name].data
                                      for name, p in mine.named_parameters()})
                gradient = torch.autograd.grad(F.cross_entropy(net(x), y), list(net.parameters()))
                at_mixed = torch.autograd.grad(F.cross_entropy(mixed(x), y), list(mixed.parameters()))
                slope = sum(((p.data - w.data) * g).sum().item()
                            for p, w, g in zip(mine.parameters(), net.parameters(), at_mixed))
                for w, p, g, h in zip(net.parameters(), mine.parameters(), gradient, at_mixed):
                    w.data -= world.rate * g
                    p.data -= world.rate * a * h
                a = min(max(a - share_rate * slope, 0.0), 1.0)
            own[i], shares[i] = values_of(mine), a
            made.append(values_of(net))
        model = mean(made, [len(y) for _, y in world.clients])
    return model, {i: {name: shares[i] * own[i][name] + (1 - shares[i]) * model[name] for name in model} for i in own}


def fedphp(world, teach=0.3, momentum=0.9, heat=2.0):
    model = world.initial()
    own = {i: world.initial() for i in range(len(world.clients))}
    for number in range(1, world.rounds + 1):
        made = []
        for i in range(len(world.clients)):
            net, teacher = world.net_at(model), world.net_at(own[i])

            def loss(x, y):
                log_p, q = F.log_softmax(net(x) / heat, 1), F.softmax(teacher(x).detach() / heat, 1)
                divergence = (q * (q.log() - log_p)).sum(1).mean()
                return (1 - teach) * F.cross_entropy(net(x), y) + teach * heat**2 * divergence

            sgd(net, world.rate, 0, world.batches(i), loss)
            made.append(values_of(net))
            old = momentum * number / world.rounds
            own[i] = {name: old * own[i][name] + (1 - old) * made[-1][name] for name in model}
        model = mean(made, [len(y) for _, y in world.clients])
    return model, own


def per_fedavg(world, alpha=0.05, step=1e-3):
    """In float64, with products of the Hessian by central differences."""
    model = {name: value.double() for name, value in world.initial().items()}
    clients = [(x.double(), y) for x, y in world.clients]
    net = copy.deepcopy(world.net).double()

    def gradient(values, x, y):
        for name, p in net.named_parameters():
            p.data.copy_(values[name])
        return dict(zip(values, torch.autograd.grad(F.cross_entropy(net(x), y), list(net.parameters()))))

    moved = lambda values, factor, by: {name: value + factor * by[name] for name, value in values.items()}
    for _ in range(world.rounds):
        made, weights = [], []
        for i, (x, y) in enumerate(clients):
            w, count = dict(model), 0
            every = [(x[k : k + world.batch], y[k : k + world.batch]) for k in range(0, len(y), world.batch)] * world.epochs
            for first, second in zip(every[::2], every[1::2]):
                outer = gradient(moved(w, -alpha, gradient(w, *first)), *second)
                up, down = (gradient(moved(w, sign * step, outer), *first) for sign in (1, -1))
                w = {name: w[name] - world.rate * (outer[name] - alpha * (up[name] - down[name]) / (2 * step)) for name in w}
                count += len(first[1]) + len(second[1])
            made.append(w)
            weights.append(count)
        model = mean(made, weights)
    after = {i: moved(model, -alpha, gradient(model, x, y)) for i, (x, y) in enumerate(clients)}
    return ({name: value.float() for name, value in model.items()},
            {i: {name: value.float() for name, value in one.items()} for i, one in after.items()})


def scaffold(world):
    model = world.initial()
    zero = {name: torch.zeros_like(value) for name, value in model.items()}
    control, own = zero, {i: zero for i in range(len(world.clients))}
    for _ in range(world.rounds):
        made, before = [], dict(own)
        for i in range(len(world.clients)):
            net, steps = world.net_at(model), 0
            for x, y in world.batches(i):
                for (name, p), g in zip(net.named_parameters(),
                                        torch.autograd.grad(F.cross_entropy(net(x), y), list(net.parameters()))):
                    p.data -= world.rate * (g - before[i][name] + control[name])
                steps += 1
            made.append(values_of(net))
            own[i] = {name: before[i][name] - control[name] + (model[name] - made[-1][name]) / (steps * world.rate)
                      for name in model}
        model = mean(made)
        control = {name: control[name] + sum(own[i][name] - before[i][name] for i in own) / len(own) for name in model}
    return model, own


def gpfedrec(world, absent, item_rate=40.0, pull=0.5):
    """As pfedrec(); returns the model, what each client has, and the items as its neighbours see them."""
    shared = {name: value for name, value in world.initial().items() if name.startswith("items")}
    scores = {i: {name: value for name, value in world.initial().items() if name.startswith("score")}
              for i in range(len(world.clients))}
    near, own = {i: shared["items.weight"] for i in scores}, {}
    for _ in range(world.rounds):
        made = []
        for i, (items, random) in enumerate(world.clients):
            net = world.net_at({**shared, **scores[i]})
            random = random()
            for _ in range(world.epochs):
                for first in range(0, len(items), world.batch):
                    some = items[first : first + world.batch]
                    asked = torch.cat([some, torch.tensor(absent(i, 4 * len(some), random))])
                    targets = torch.tensor([1.0] * len(some) + [0.0] * (4 * len(some)))
                    for part, rate in ((net.score, world.rate), (net.items, world.rate * item_rate)):
                        loss = F.binary_cross_entropy_with_logits(net(asked), targets)
                        loss = loss + pull * F.mse_loss(net.items.weight, near[i])
                        for p, g in zip(part.parameters(), torch.autograd.grad(loss, list(part.parameters()), allow_unused=True)):
                            p.data -= rate * g
            own[i] = values_of(net)
            scores[i] = {name: own[i][name] for name in scores[i]}
            made.append(own[i]["items.weight"])
        alike = torch.stack([torch.stack([F.cosine_similarity(a.double().flatten(), b.double().flatten(), 0)
                                          for b in made]) for a in made])
        near = {i: torch.stack([made[j] for j in range(len(made)) if alike[i, j] >= alike.mean()]).mean(0)
                for i in range(len(made))}
        shared = {"items.weight": torch.stack(list(near.values())).mean(0)}
    return shared, own, near


def pfedrec(world, absent, item_rate=40.0):
    """`absent(client, number, random)` draws items; the draws of a client are the same in each task."""
    shared = {name: value for name, value in world.initial().items() if name.startswith("items")}
    scores = {i: {name: value for name, value in world.initial().items() if name.startswith("score")}
              for i in range(len(world.clients))}
    own = {}
    for _ in range(world.rounds):
        made = []
        for i, (items, random) in enumerate(world.clients):
            net = world.net_at({**shared, **scores[i]})
            random = random()
            for _ in range(world.epochs):
                for first in range(0, len(items), world.batch):
                    some = items[first : first + world.batch]
                    asked = torch.cat([some, torch.tensor(absent(i, 4 * len(some), random))])
                    targets = torch.tensor([1.0] * len(some) + [0.0] * (4 * len(some)))
                    for part, rate in ((net.score, world.rate), (net.items, world.rate * item_rate)):
                        loss = F.binary_cross_entropy_with_logits(net(asked), targets)
                        for p, g in zip(part.parameters(), torch.autograd.grad(loss, list(part.parameters()))):
                            p.data -= rate * g
            own[i] = values_of(net)
            scores[i] = {name: own[i][name] for name in scores[i]}
            made.append({name: own[i][name] for name in shared})
        shared = mean(made, [len(items) * world.epochs for items, _ in world.clients])
    return shared, own
