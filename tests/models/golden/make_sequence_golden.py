#!/usr/bin/python3
"""Writes sequence_parity.json: loss, gradients and 20 SGD steps of Furlong's sequence models, computed by PyTorch.

    apt-get install python3-torch      # Debian 12: PyTorch 1.13.1
    tests/models/golden/make_sequence_golden.py

PyTorch computes in float64 from float32 starting values with its own GRU, LSTM and losses, on batches padded to their
longest sequence, and knows nothing of Furlong but the models' definitions (models/gru_lm.cpp, models/lstm_nwp.cpp,
models/doc_classifier.cpp). The seed below makes the file reproducible. Of the wide cases, the last five, the first
values follow from a seed and only every 13th element of each tensor is compared: the file stays small.
"""
import json
import pathlib
import platform

import torch
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, embedding, linear
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

SEED = 20190902
EXAMPLES, STEPS, BATCH = 13, 20, 4
START, END, UNKNOWN = 0, 1, 2
IGNORED = -100  # what cross_entropy leaves out
EVERY = 13  # of the wide cases; no width of theirs is a multiple of it


def draw(generator, *shape):
    """In float32, nearest to a number of three decimals: short to write down."""
    return ((torch.rand(*shape, generator=generator) - 0.5).double() * 1000).round().div(1000).float().double(
    ).requires_grad_()


def redraw(weights, seed):
    """Thousandths below 0.16 by a linear congruential generator, which tests/models/golden.hpp repeats."""
    state = seed
    for parameter in weights.values():
        drawn = []
        for _ in range(parameter.numel()):
            state = (state * 1103515245 + 12345) % 2**31
            drawn.append((state // 2**16 % 321 - 160) / 1000)
        parameter.data = torch.tensor(drawn, dtype=torch.float32).double().reshape(parameter.shape)


def below(bound, generator, low=0):
    return int(torch.randint(low, bound, (1,), generator=generator))


def take_over(layer, names, generator):
    """Draws a recurrent layer's weights; returns them under Furlong's names. A weight without a name stays zero: of
    PyTorch's two biases of an LSTM, Furlong has the first."""
    weights = {}
    for own, parameter in layer.named_parameters():
        name = names.get(own)
        parameter.data = draw(generator, *parameter.shape).detach() if name else torch.zeros_like(parameter).double()
        parameter.requires_grad_(bool(name))
        if name:
            weights[name] = parameter
    return weights


def table_of(sequences, labels, owners):
    offsets = [0]
    for one in sequences:
        offsets.append(offsets[-1] + len(one))
    return {"features": [token for one in sequences for token in one], "values": [], "offsets": offsets,
            "labels": labels, "owners": owners}


def sentences(facts, generator):
    inner = [below(7, generator) for _ in range(EXAMPLES)]
    return [[START] + [below(facts["features"], generator, UNKNOWN) for _ in range(n)] + [END] for n in inner]


def next_token_loss(text, picks, words, logits_of):
    """The mean over all predictions, times the sentences."""
    inputs = pad_sequence([torch.tensor(text[i][:-1]) for i in picks], batch_first=True)
    targets = pad_sequence([torch.tensor(text[i][1:]) for i in picks], batch_first=True, padding_value=IGNORED)
    targets[targets >= words] = UNKNOWN
    return cross_entropy(logits_of(inputs).flatten(0, 1), targets.flatten()) * len(picks)


def transposed(text, picks):
    """The batches of FedAtt's published code: as many sequences as the shortest sentence has tokens."""
    return [list(column) for column in zip(*(text[i] for i in picks))]


def gru_lm(options, facts, generator):
    layer = torch.nn.GRU(options["embedding"], options["hidden"], options["layers"], batch_first=True).double()
    names = {}
    for l in range(options["layers"]):
        names.update({f"weight_ih_l{l}": f"gru{l}_input", f"weight_hh_l{l}": f"gru{l}_recurrent",
                      f"bias_ih_l{l}": f"gru{l}_bias_input", f"bias_hh_l{l}": f"gru{l}_bias_recurrent"})
    weights = {"embedding": draw(generator, facts["features"], options["embedding"])}
    weights.update(take_over(layer, names, generator))
    if not options["tied"]:
        weights["output"] = draw(generator, facts["words"], options["hidden"])
    weights["output_bias"] = draw(generator, facts["words"])
    published = options.get("protocol") == "fedatt-2018"
    text = sentences(facts, generator)
    if published:  # all batches full: one of a single sentence predicts nothing
        text = text[:EXAMPLES - EXAMPLES % BATCH]

    def logits_of(inputs):
        states, _ = layer(embedding(inputs, weights["embedding"]))
        return linear(states, weights["embedding" if options["tied"] else "output"], weights["output_bias"])

    def loss_of(picks):
        if not published:
            return next_token_loss(text, picks, facts["words"], logits_of)
        columns = transposed(text, picks)
        mean = next_token_loss(columns, range(len(columns)), facts["words"], logits_of) / len(columns)
        return mean * len(picks)

    return weights, table_of(text, [0.0] * len(text), []), loss_of


def lstm_nwp(options, facts, generator):
    layer = torch.nn.LSTM(options["embedding"], options["hidden"], batch_first=True).double()
    weights = {"embedding": draw(generator, facts["words"], options["embedding"])}
    if facts["features"] > facts["words"]:
        weights["oov_embedding"] = draw(generator, facts["features"] - facts["words"], options["embedding"])
    weights.update(take_over(layer, {"weight_ih_l0": "lstm_input", "weight_hh_l0": "lstm_recurrent",
                                     "bias_ih_l0": "lstm_bias"}, generator))
    weights["projection"] = draw(generator, options["projection"], options["hidden"])
    weights["projection_bias"] = draw(generator, options["projection"])
    weights["output"] = draw(generator, facts["words"], options["projection"])
    weights["output_bias"] = draw(generator, facts["words"])
    text = sentences(facts, generator)

    def logits_of(inputs):
        tables = [weights[name] for name in ("embedding", "oov_embedding") if name in weights]
        states, _ = layer(embedding(inputs, torch.cat(tables)))
        projected = linear(states, weights["projection"], weights["projection_bias"])
        return linear(projected, weights["output"], weights["output_bias"])

    return weights, table_of(text, [0.0] * EXAMPLES, []), lambda picks: next_token_loss(text, picks, facts["words"],
                                                                                        logits_of)


def doc_classifier(options, facts, generator):
    width, hidden, mlp = options["embedding"], options["hidden"], options["mlp"]
    classes = max(facts["classes"], 1)
    layer = torch.nn.LSTM(width, hidden, batch_first=True, bidirectional=True).double()
    weights = {}
    if options["user_embedding"] > 0:
        rows = facts["clients"] if options["user_table"] else 1
        weights["user"] = draw(generator, rows, options["user_embedding"])
    weights["embedding"] = draw(generator, facts["features"], width)
    names = {}
    for direction, end in (("forward", ""), ("backward", "_reverse")):
        names.update({f"weight_ih_l0{end}": f"{direction}_input", f"weight_hh_l0{end}": f"{direction}_recurrent",
                      f"bias_ih_l0{end}": f"{direction}_bias"})
    weights.update(take_over(layer, names, generator))
    weights["hidden"] = draw(generator, mlp, 2 * hidden + options["user_embedding"])
    weights["hidden_bias"] = draw(generator, mlp)
    weights["output"] = draw(generator, classes, mlp)
    weights["output_bias"] = draw(generator, classes)
    texts = [[below(facts["features"], generator) for _ in range(below(10, generator, 1))] for _ in range(EXAMPLES)]
    labels = [below(max(facts["classes"], 2), generator) for _ in texts]
    owners = [below(facts["clients"], generator) for _ in texts]

    def text_vectors(picks):
        cut = [torch.tensor(texts[i][:options["max_length"]]) for i in picks]
        lengths = torch.tensor([len(one) for one in cut])
        x = embedding(pad_sequence(cut, batch_first=True), weights["embedding"])
        packed, (last, _) = layer(pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False))
        if options["pooling"] == "last":
            return torch.cat([last[0], last[1]], 1)
        states, _ = pad_packed_sequence(packed, batch_first=True, padding_value=float("-inf"))
        return states.max(1).values

    def loss_of(picks):
        joint = text_vectors(picks)
        if "user" in weights:
            rows = [owners[i] if options["user_table"] else 0 for i in picks]
            joint = torch.cat([joint, weights["user"][rows]], 1)
        outputs = linear(linear(joint, weights["hidden"], weights["hidden_bias"]).relu(), weights["output"],
                         weights["output_bias"])
        right = torch.tensor([labels[i] for i in picks])
        if facts["labels"] == "categorical":
            return cross_entropy(outputs, right, reduction="sum")
        return binary_cross_entropy_with_logits(outputs.squeeze(1), right.double(), reduction="sum")

    return weights, table_of(texts, [float(one) for one in labels], owners), loss_of


def rounded(loss):
    """Without the last digits, in which one BLAS differs from another."""
    return float(f"{loss.item():.12g}")


def listed(tensors, every=1):
    """Seven digits: a hundred times what is compared."""
    return {name: [float(f"{x:.7g}") for x in tensor.detach().flatten()[::every].tolist()]
            for name, tensor in tensors.items()}


def record(kind, make, options, facts, momentum, generator, wide=False):
    weights, table, loss_of = make(options, facts, generator)
    rate = 0.1
    if wide:
        redraw(weights, SEED)
    every = EVERY if wide else 1
    start = SEED if wide else listed(weights)
    examples = len(table["labels"])
    everyone = list(range(examples))
    loss = loss_of(everyone)
    gradients = torch.autograd.grad(loss / examples, list(weights.values()))
    optimizer = torch.optim.SGD(weights.values(), lr=rate, momentum=momentum)
    batches, losses = [], []
    for step in range(STEPS):
        first = (step * BATCH) % examples
        last = min(first + BATCH, examples)
        optimizer.zero_grad()
        batch_loss = loss_of(everyone[first:last])
        (batch_loss / (last - first)).backward()
        optimizer.step()
        batches.append([first, last])
        losses.append(rounded(batch_loss))
    case = {"kind": kind, "options": options, "facts": facts, "examples": table, "start": start, "loss": rounded(loss),
            "gradients": listed(dict(zip(weights, gradients)), every), "momentum": momentum, "rate": rate,
            "batches": batches, "losses": losses, "end": listed(weights, every)}
    return {**case, "every": every} if wide else case


def cases(generator):
    words = {"features": 11, "words": 11, "classes": 0, "clients": 1, "labels": "next_token"}
    hashed = {**words, "features": 14}
    for layers in (1, 2):
        for momentum in (0.0, 0.5):
            options = {"embedding": 4, "hidden": 4, "layers": layers, "tied": True}
            yield record("gru-lm", gru_lm, options, words, momentum, generator)
            options = {"embedding": 3, "hidden": 5, "layers": layers, "tied": False}
            yield record("gru-lm", gru_lm, options, hashed, momentum, generator)
    for momentum, sizes in ((0.0, (4, 6, 3)), (0.9, (3, 9, 5))):
        options = dict(zip(("embedding", "hidden", "projection"), sizes))
        yield record("lstm-nwp", lstm_nwp, options, hashed, momentum, generator)
        yield record("lstm-nwp", lstm_nwp, options, words, momentum, generator)
    binary = {"features": 9, "words": 9, "classes": 0, "clients": 4, "labels": "logistic"}
    multi = {**binary, "classes": 5, "labels": "categorical"}
    for facts in (binary, multi):
        for user, table, pooling, momentum, hidden in ((0, False, "max", 0.0, 3), (2, False, "max", 0.9, 5),
                                                       (3, True, "max", 0.0, 4), (3, True, "last", 0.9, 3)):
            options = {"embedding": 4, "hidden": hidden, "mlp": 6, "user_embedding": user, "user_table": table,
                       "pooling": pooling, "max_length": 7}
            yield record("doc-classifier", doc_classifier, options, facts, momentum, generator)
    options = {"embedding": 3, "hidden": 5, "layers": 1, "tied": False, "protocol": "fedatt-2018"}
    yield record("gru-lm", gru_lm, options, words, 0.5, generator)
    yield from wide_cases(generator)


def wide_cases(generator):
    """Widths beyond a vector of 16 lanes and a panel of 32 columns, and no multiples of them."""
    words = {"features": 70, "words": 70, "classes": 0, "clients": 1, "labels": "next_token"}
    options = {"embedding": 40, "hidden": 37, "layers": 1, "tied": False}
    yield record("gru-lm", gru_lm, options, words, 0.5, generator, wide=True)
    options = {"embedding": 34, "hidden": 37, "projection": 40}
    yield record("lstm-nwp", lstm_nwp, options, {**words, "features": 73}, 0.9, generator, wide=True)
    facts = {"features": 70, "words": 70, "classes": 5, "clients": 4, "labels": "categorical"}
    options = {"embedding": 35, "hidden": 34, "mlp": 40, "user_embedding": 3, "user_table": True, "pooling": "max",
               "max_length": 7}
    yield record("doc-classifier", doc_classifier, options, facts, 0.9, generator, wide=True)
    options = {"embedding": 37, "hidden": 37, "layers": 2, "tied": True}
    yield record("gru-lm", gru_lm, options, words, 0.5, generator, wide=True)
    options = {"embedding": 36, "hidden": 36, "layers": 1, "tied": True, "protocol": "fedatt-2018"}
    yield record("gru-lm", gru_lm, options, words, 0.5, generator, wide=True)


def main():
    generator = torch.Generator().manual_seed(SEED)
    lines = ",\n".join(json.dumps(case) for case in cases(generator))
    head = json.dumps({"written_by": "tests/models/golden/make_sequence_golden.py", "seed": SEED,
                       "torch": torch.__version__, "python": platform.python_version()})[:-1]
    pathlib.Path(__file__).with_name("sequence_parity.json").write_text(f'{head}, "cases": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
