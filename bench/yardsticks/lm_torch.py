"""gru-lm small with tied weights as PyTorch users write it: trained on the work that `bench_lm --dump` wrote, ten of them
aggregated by FedAtt's equations, or the fastest product alone. Prints one JSON object. By hand: lm_torch.py FOLDER --batch 10 --form packed
"""
import argparse
import json
import pathlib
import time

import numpy as np
import torch
from blas import blas_in_use
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pack_sequence, pad_sequence

WARM_UP, COMPARED = 3, 5


class LanguageModel(nn.Module):
    def __init__(self, words, width):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.gru = nn.GRU(width, width, batch_first=True)
        self.output = nn.Linear(width, words)
        self.output.weight = self.embedding.weight

    def load(self, tensors):
        names = {"embedding": self.embedding.weight, "gru0_input": self.gru.weight_ih_l0,
                 "gru0_recurrent": self.gru.weight_hh_l0, "gru0_bias_input": self.gru.bias_ih_l0,
                 "gru0_bias_recurrent": self.gru.bias_hh_l0, "output_bias": self.output.bias}
        with torch.no_grad():
            for name, values in tensors.items():
                names[name].copy_(torch.from_numpy(values).reshape(names[name].shape))

    def padded(self, sentences):
        """Mean loss per token; padding is computed and then left out of the mean."""
        inputs = pad_sequence([s[:-1] for s in sentences], batch_first=True)
        targets = pad_sequence([s[1:] for s in sentences], batch_first=True, padding_value=-100)
        states, _ = self.gru(self.embedding(inputs))
        return nn.functional.cross_entropy(self.output(states).flatten(0, 1), targets.flatten())

    def packed(self, sentences):
        """Mean loss per token; the output layer sees no padding."""
        sentences = sorted(sentences, key=len, reverse=True)
        inputs = pad_sequence([s[:-1] for s in sentences], batch_first=True)
        lengths = torch.tensor([len(s) - 1 for s in sentences])
        targets = pack_sequence([s[1:] for s in sentences]).data
        states, _ = self.gru(pack_padded_sequence(self.embedding(inputs), lengths, batch_first=True))
        return nn.functional.cross_entropy(self.output(states.data), targets)


class Work:
    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.facts = json.loads((folder / "facts.json").read_text())
        self.tokens = torch.from_numpy(np.fromfile(folder / "tokens.u32", "<u4").astype(np.int64))
        self.offsets = np.fromfile(folder / "offsets.u32", "<u4").astype(np.int64)
        values = np.fromfile(folder / "weights.f32", "<f4")
        self.tensors, at = {}, 0
        for one in self.facts["tensors"]:
            size = one["rows"] * one["cols"]
            self.tensors[one["name"]] = values[at:at + size]
            at += size

    def batch(self, number, size):
        return [self.tokens[self.offsets[i]:self.offsets[i + 1]] for i in range(number * size, (number + 1) * size)]


def train(work, size, steps, form):
    model = LanguageModel(work.facts["words"], work.facts["tensors"][0]["cols"])
    model.load(work.tensors)
    optimizer = torch.optim.SGD(model.parameters(), work.facts["rate"], work.facts["momentum"])
    loss_of = getattr(model, form)

    def step(number):
        sentences = work.batch(number, size)
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(sentences)
        loss.backward()
        optimizer.step()
        return loss.item(), sum(len(s) - 1 for s in sentences)

    expected = work.facts["losses"][str(size)]
    losses = [step(number)[0] for number in range(COMPARED)]
    wall, cpu = time.perf_counter(), time.process_time()
    tokens = sum(step(number)[1] for number in range(WARM_UP, WARM_UP + steps))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"tokens_per_second": tokens / wall, "tokens_per_cpu_second": tokens / cpu,
            "loss_difference": max(abs(ours / theirs - 1) for ours, theirs in zip(losses, expected))}


def aggregate(work, repetitions):
    """FedAtt, equations 2 to 4: for each tensor a softmax of the distances weighs the differences."""
    model = [torch.from_numpy(values.copy()) for values in work.tensors.values()]
    clients = [[w + 1e-3 * torch.rand_like(w) for w in model] for _ in range(10)]
    seconds = []
    for repetition in range(repetitions + 1):
        cpu = time.process_time()
        for layer, w in enumerate(model):
            theirs = torch.stack([client[layer] for client in clients])
            change = w - theirs
            attention = torch.softmax(torch.linalg.vector_norm(change, dim=1), 0)
            w -= attention @ change
        if repetition > 0:
            seconds.append(time.process_time() - cpu)
    return {"cpu_ms": float(np.median(seconds)) * 1e3}


def fastest_product(work):
    """Large matrices, and those of the logits of a batch: the best of many, because other load only slows them down."""
    words, width = (work.facts["tensors"][0][size] for size in ("rows", "cols"))
    speeds = []
    for m, n, k in ((1024, 1024, 1024), (2048, 2048, 2048), (200, words, width), (400, words, width)):
        a, b, c = torch.rand(m, k), torch.rand(k, n), torch.empty(m, n)
        for _ in range(15):
            cpu = time.process_time()
            torch.mm(a, b, out=c)
            speeds.append(2e-9 * m * n * k / (time.process_time() - cpu))
    return {"gflops": max(speeds)}


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder")
    arguments.add_argument("--batch", type=int, default=10)
    arguments.add_argument("--steps", type=int, default=40)
    arguments.add_argument("--threads", type=int, default=1)
    arguments.add_argument("--form", choices=["packed", "padded"], default="packed")
    arguments.add_argument("--aggregate", type=int, metavar="REPETITIONS")
    arguments.add_argument("--product", action="store_true")
    asked = arguments.parse_args()
    torch.set_num_threads(asked.threads)
    work = Work(asked.folder)
    if asked.aggregate:
        result = aggregate(work, asked.aggregate)
    elif asked.product:
        result = fastest_product(work)
    else:
        result = train(work, asked.batch, asked.steps, asked.form)
    print(json.dumps({**result, "blas": blas_in_use()}))


if __name__ == "__main__":
    main()
