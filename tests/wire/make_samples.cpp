// Writes the files that the tests of wire/ compare with. Run it only when the format is meant to change:
//
//   wire_samples golden tests/wire/golden
//   wire_samples corpus tests/wire/corpus
#include <capnp/common.h>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <span>
#include <string_view>

#include "tests/wire/control_samples.hpp"
#include "tests/wire/samples.hpp"

namespace {

using namespace furlong::wire;

const std::vector<std::string_view> task_words = {
    "frame: one segment (0 more), of 6 words",
    "root pointer: Message, 1 word of data, 1 pointer",
    "Message: protocol 1, kind 0 (task)",
    "Message.task: Task, 3 words of data, no pointers",
    "Task.run",
    "Task.version 9",
    "Task.client 5, Task.attempt 1",
};

const std::vector<std::string_view> update_words = {
    "frame: one segment (0 more), of 28 words",
    "root pointer: Message, 1 word of data, 1 pointer",
    "Message: protocol 1, kind 2 (update)",
    "Message.update: Update, 3 words of data, 3 pointers",
    "Update.weight 7, padding",
    "Update.examples 12",
    "Update.lossSum 2.5",
    "Update.task: Task",
    "Update.layout: 32 bytes",
    "Update.tensors: list of structs, 6 words after its tag",
    "Task.run",
    "Task.version 9",
    "Task.client 5, Task.attempt 1",
    "layout: SHA-256 of \"items 4 2\\nbias 1 3\\n\", bytes 0 to 7",
    "bytes 8 to 15",
    "bytes 16 to 23",
    "bytes 24 to 31",
    "tensors: tag, 2 elements of 1 word of data and 2 pointers",
    "items: format 1 (rows)",
    "items.values: 16 bytes",
    "items.rows: 8 bytes",
    "bias: format 0 (dense)",
    "bias.values: 12 bytes",
    "bias.rows: absent",
    "items.rows 1, 3",
    "items.values of row 1: 1, -1",
    "items.values of row 3: 3, -3",
    "bias.values 0.5, 0.25",
    "0.125, padding",
};

const std::vector<std::string_view> hello_words = {
    "frame: one segment (0 more), of 31 words",
    "root pointer: Message, 1 word of data, 1 pointer",
    "Message: protocol 1, kind 4 (hello)",
    "Message.hello: Hello, 3 words of data, 6 pointers",
    "Hello.first 5, Hello.last 6",
    "Hello.run",
    "Hello.instance 0: none was drawn",
    "Hello.software: 14 bytes",
    "Hello.holding: 48 bytes",
    "Hello.avoid: 15 bytes",
    "Hello.kernelLevel: 9 bytes",
    "Hello.claim: StoreClaim, 4 words of data, no pointers",
    "Hello.kernelLevels: 19 bytes",
    "software \"furlong \"",
    "\"0.1.0\", a zero, padding",
    "holding[0].run",
    "holding[0].version 9",
    "holding[0].client 5, holding[0].attempt 1",
    "holding[1].run",
    "holding[1].version 9",
    "holding[1].client 6, holding[1].attempt 0",
    "avoid \"b.exampl\"",
    "\"e:4711\", a zero, padding",
    "kernelLevel \"x86-64-v\"",
    "\"3\", a zero, padding",
    "claim.store 815",
    "claim.openings 3",
    "claim.served 10",
    "claim.acceptsLoss false",
    "kernelLevels \"portable\"",
    "\",x86-64-\"",
    "\"v3\", a zero, padding",
};

const std::vector<std::string_view> assignment_words = {
    "frame: one segment (0 more), of 10 words",
    "root pointer: Message, 1 word of data, 1 pointer",
    "Message: protocol 1, kind 8 (assignment)",
    "Message.assignment: Assignment, 3 words of data, 1 pointer",
    "Assignment.run",
    "Assignment.version 9",
    "Assignment.begins true",
    "Assignment.tasks: 24 bytes",
    "tasks[0]: client 5, attempt 1",
    "tasks[1]: client 6, attempt 0",
    "tasks[2]: client 9, attempt 0",
};

const std::vector<std::string_view> settled_words = {
    "frame: one segment (0 more), of 42 words",
    "root pointer: Message, 1 word of data, 1 pointer",
    "Message: protocol 1, kind 19 (settled)",
    "Message.settled: Settled, no data, 12 pointers",
    "Settled.tasks: 72 bytes",
    "Settled.outcomes: 3 bytes",
    "Settled.reasons: 3 bytes",
    "Settled.stages: 3 bytes",
    "Settled.examples: 24 bytes",
    "Settled.bytes: 24 bytes",
    "Settled.losses: 24 bytes",
    "Settled.distanceCounts: 12 bytes",
    "Settled.distances: 8 bytes",
    "Settled.normLevels: 3 bytes",
    "Settled.rowLevels: 3 bytes",
    "Settled.weightLevels: 3 bytes",
    "tasks[0].run",
    "tasks[0].version 9",
    "tasks[0].client 5, tasks[0].attempt 1",
    "tasks[1].run",
    "tasks[1].version 9",
    "tasks[1].client 6, tasks[1].attempt 0",
    "tasks[2].run",
    "tasks[2].version 9",
    "tasks[2].client 6, tasks[2].attempt 0",
    "outcomes: folded, rejected, dropped, padding",
    "reasons: none, not finite, none, padding",
    "stages: none, none, upload, padding",
    "examples[0] 12",
    "examples[1] 7",
    "examples[2] 0",
    "bytes[0] 232",
    "bytes[1] 232",
    "bytes[2] 0",
    "losses[0] 0.5",
    "losses[1] 2.5",
    "losses[2] 0",
    "distanceCounts[0] 2, distanceCounts[1] 0",
    "distanceCounts[2] 0, padding",
    "distances of tasks[0]: 0.25, 1.5",
    "normLevels: 120, none, none, padding",
    "rowLevels: 110, none, none, padding",
    "weightLevels: 141, none, none, padding",
};

const std::map<std::string_view, std::vector<std::string_view>> control_words = {
    {"hello", hello_words}, {"assignment", assignment_words}, {"settled", settled_words}};

// As update_words, but for the encoding and what the values become.
std::vector<std::string_view> update_int8_words() {
  auto words = update_words;
  words[0] = "frame: one segment (0 more), of 27 words";
  words[4] = "Update.weight 7, Update.encoding 2 (int8), padding";
  words[19] = "items.values: 8 bytes";
  words[22] = "bias.values: 7 bytes";
  words.resize(25);
  words.insert(words.end(),
               {"items.values: their scale, 3 / 127 rounded up, and codes 42, -42, 127, -127 (rows 1 and 3)",
                "bias.values: their scale, 0.5 / 127 rounded up, and codes 127, 64, 32, padding"});
  return words;
}

void write_golden(const std::filesystem::path& file, std::span<const std::byte> frame, const std::string& what,
                  const std::vector<std::string_view>& labels) {
  if (frame.size() != 8 * labels.size())
    throw std::runtime_error(file.string() + ": the frame has " + std::to_string(frame.size() / 8) +
                             " words, the notes are for " + std::to_string(labels.size()));
  std::ofstream out(file);
  out << "# " << what << "\n# Protocol " << protocol_version << ", Cap'n Proto " << CAPNP_VERSION / 1000000 << '.'
      << CAPNP_VERSION / 1000 % 1000 << '.' << CAPNP_VERSION % 1000
      << "; written by tests/wire/make_samples.cpp from tests/wire/samples.cpp.\n";
  for (std::size_t word = 0; word < labels.size(); ++word) {
    for (std::size_t i = 0; i < 8; ++i) {
      char text[4];
      std::snprintf(text, sizeof text, "%02x ", std::to_integer<unsigned>(frame[8 * word + i]));
      out << text;
    }
    out << " # " << labels[word] << '\n';
  }
  if (!out.flush()) throw std::runtime_error("cannot write " + file.string());
}

void write_all_golden(const std::filesystem::path& folder) {
  const encoder make(samples::small_layout());
  write_golden(folder / "task.txt", encoder::encode(samples::small_task()).bytes(), "The frame of small_task().",
               task_words);
  const auto update = make.encode(samples::small_update(), update_format::sparse).value();
  write_golden(folder / "update.txt", update.bytes(), "The frame of small_update(), row-sparse.", update_words);
  const packing int8{furlong::federated::number_format::int8, false};
  write_golden(folder / "update-int8.txt",
               make.encode(samples::small_update(int8.numbers), update_format::sparse, int8).value().bytes(),
               "The frame of small_update(), rounded to int8, row-sparse.", update_int8_words());
  for (const auto& [name, message] : samples::small_controls())
    for (const auto& [noted, words] : control_words)
      if (name == noted)
        write_golden(folder / (std::string(name) + ".txt"), encoder::encode(message).value().bytes(),
                     "The frame of " + std::string(name) + " in small_controls().", words);
}

void write_corpus(const std::filesystem::path& folder) {
  for (const auto& [name, frame] : samples::corpus()) {
    std::ofstream out(folder / name, std::ios::binary);
    out.write(reinterpret_cast<const char*>(frame.data()), static_cast<std::streamsize>(frame.size()));
    if (!out.flush()) throw std::runtime_error("cannot write " + (folder / name).string());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char*> arguments(argv, static_cast<std::size_t>(argc));
  const std::string_view what = argc == 3 ? arguments[1] : "";
  try {
    if (what == "golden") {
      write_all_golden(arguments[2]);
    } else if (what == "corpus") {
      write_corpus(arguments[2]);
    } else {
      std::cerr << "usage: wire_samples golden|corpus FOLDER\n";
      return 2;
    }
  } catch (const std::exception& broken) {
    std::cerr << "wire_samples: " << broken.what() << '\n';
    return 1;
  }
}
