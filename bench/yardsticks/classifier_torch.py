"""The document classifier as PyTorch users write it, on packed sequences, trained on the work that `bench_classifier
--dump` wrote. Prints one JSON object. By hand: classifier_torch.py FILE --threads 1 --passes 1
"""
import argparse
import json
import pathlib
import time

import torch
from blas import blas_in_use
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence


class Classifier(nn.Module):
    def __init__(self, tensors):
        super().__init__()
        shape = {name: (one["rows"], one["cols"]) for name, one in tensors.items()}
        units = shape["forward_recurrent"][1]
        self.user = nn.Parameter(torch.empty(shape["user"]))
        self.embedding = nn.Embedding(*shape["embedding"])
        self.lstm = nn.LSTM(shape["embedding"][1], units, batch_first=True, bidirectional=True)
        self.hidden = nn.Linear(shape["hidden"][1], shape["hidden"][0])
        self.output = nn.Linear(shape["output"][1], shape["output"][0])
        self.load(tensors)

    def load(self, tensors):
        places = {"user": self.user, "embedding": self.embedding.weight, "hidden": self.hidden.weight,
                  "hidden_bias": self.hidden.bias, "output": self.output.weight, "output_bias": self.output.bias}
        for direction, end in (("forward", ""), ("backward", "_reverse")):
            for name, own in (("input", "weight_ih"), ("recurrent", "weight_hh"), ("bias", "bias_ih")):
                places[f"{direction}_{name}"] = getattr(self.lstm, f"{own}_l0{end}")
            second = getattr(self.lstm, f"bias_hh_l0{end}")  # which only adds to the first
            second.requires_grad_(False).zero_()
        with torch.no_grad():
            for name, one in tensors.items():
                places[name].copy_(torch.tensor(one["values"]).reshape(places[name].shape))

    def forward(self, texts):
        lengths = torch.tensor([len(text) for text in texts])
        x = self.embedding(pad_sequence(texts, batch_first=True))
        packed, _ = self.lstm(pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False))
        states, _ = pad_packed_sequence(packed, batch_first=True, padding_value=float("-inf"))
        text = states.max(1).values
        return self.output(self.hidden(torch.cat([text, self.user.expand(len(texts), -1)], 1)).relu())


def train(work, passes):
    features, offsets = torch.tensor(work["features"]), work["offsets"]
    texts = [features[begin:end] for begin, end in zip(offsets, offsets[1:])]
    labels = torch.tensor(work["labels"]).long()
    model = Classifier(work["tensors"])
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], work["rate"])

    def one_pass():
        losses = []
        for first in range(0, len(texts), work["batch"]):
            last = first + work["batch"]
            optimizer.zero_grad(set_to_none=True)
            loss = nn.functional.cross_entropy(model(texts[first:last]), labels[first:last])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    losses = one_pass()
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(passes):
        one_pass()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    trained = passes * len(texts)
    return {"texts_per_second": trained / wall, "texts_per_cpu_second": trained / cpu,
            "loss_difference": max(abs(ours / theirs - 1) for ours, theirs in zip(losses, work["losses"]))}


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("file")
    arguments.add_argument("--threads", type=int, default=1)
    arguments.add_argument("--passes", type=int, default=1)
    asked = arguments.parse_args()
    torch.set_num_threads(asked.threads)
    work = json.loads(pathlib.Path(asked.file).read_text())
    print(json.dumps({**train(work, asked.passes), "blas": blas_in_use()}))


if __name__ == "__main__":
    main()
