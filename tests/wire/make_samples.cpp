// Writes the files that the tests of wire/ compare with. Run it only when the format is meant to change:
//
//   wire_samples golden tests/wire/golden
//   wire_samples corpus tests/wire/corpus
#include <capnp/common.h>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <span>
#include <string_view>

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

void write_golden(const std::filesystem::path& file, std::span<const std::byte> frame, std::string_view what,
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
