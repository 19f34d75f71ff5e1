// Fuzz target: whatever the bytes are, the decoder answers with an error or with a message that keeps all promises of
// wire/decode.hpp. Built with libFuzzer when FURLONG_FUZZ is on; the tests replay the corpus through it in every build.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>

#include "tests/support/decode.hpp"
#include "tests/wire/control_samples.hpp"
#include "tests/wire/samples.hpp"
#include "wire/decode.hpp"
#include "wire/encode.hpp"

namespace {

using namespace furlong;
using namespace furlong::wire;

void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

// Reads every value, so that a sanitizer sees a span that leaves the frame.
template <class T>
void touch(std::span<const T> values) {
  std::uint64_t sum = 0;
  for (const T& value : values) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    sum += bits;
  }
  [[maybe_unused]] volatile std::uint64_t sink = sum;
}

template <class Message>
void must_be_as_long_as_predicted(const encoded& frame, const Message& message) {
  must(frame.size() == encoded_size(message), "the encoded size is the predicted one");
}

constexpr auto as_control = []<class Found>(const Found& found) -> control {
  if constexpr (std::is_constructible_v<control, const Found&>)
    return found;
  else
    std::abort();
};

struct harness {
  models::layout_ptr shape = samples::small_layout();
  encoder make{shape};
  decoder read{shape};
  decoder again{shape};
  decoder before;
  federated::client_update update;
  federated::broadcast message;
  federated::partial_aggregate partial;

  void check(std::span<const std::byte> /*frame*/, const federated::task_id& task) {
    const encoded copy = encoder::encode(task);
    must_be_as_long_as_predicted(copy, task);
    must(std::get<federated::task_id>(again.decode(copy.bytes()).value()) == task, "a task survives a round trip");
  }

  void check(std::span<const std::byte> frame, const broadcast_view& view) {
    touch(view.values);
    touch(view.reference);
    must(view.values.size() == shape->size(), "a broadcast has all values");
    must(tests::decode_into(again, frame, message).has_value(), "a broadcast that was valid can be copied out");
    const auto copy = make.encode(message);
    must(copy.has_value(), "a decoded broadcast can be encoded");
    must_be_as_long_as_predicted(*copy, message);
    must(tests::decode_into(again, copy->bytes(), message).has_value(), "a broadcast survives a round trip");
    must(samples::copy_of(*make.encode(message)) == samples::copy_of(*copy), "and stays the same");
  }

  void check(std::span<const std::byte> frame, const update_view& view) {
    must(view.tensors.size() == shape->count(), "an update has all tensors");
    for (std::size_t t = 0; t < view.tensors.size(); ++t) {
      const auto& tensor = view.tensors[t];
      touch(tensor.rows);
      touch(tensor.values);
      const std::size_t rows = tensor.by_rows ? tensor.rows.size() : (*shape)[t].rows;
      must(tensor.values.size() == rows * (*shape)[t].cols, "a tensor has the values of its rows");
      for (std::size_t i = 0; i < tensor.rows.size(); ++i)
        must(tensor.rows[i] < (*shape)[t].rows && (i == 0 || tensor.rows[i - 1] < tensor.rows[i]), "rows are sound");
    }
    for (const auto format : {update_format::sparse, update_format::dense}) {
      must(tests::decode_into(again, frame, update).has_value(), "an update that was valid can be copied out");
      const auto copy = make.encode(update, format);
      must(copy.has_value(), "a decoded update can be encoded");
      must(copy->size() == encoded_size(update, format), "the encoded size is the predicted one");
      must(tests::decode_into(again, copy->bytes(), update).has_value(), "an update survives a round trip");
      must(samples::copy_of(*make.encode(update, format)) == samples::copy_of(*copy), "and stays the same");
    }
  }

  void check(std::span<const std::byte> frame, const partial_view& view) {
    touch(view.folded);
    touch(view.sums);
    must(view.folded.size() + view.refused.size() <= frame.size(), "members do not outnumber the frame's bytes");
    for (const auto& each : view.refused)
      must(federated::to_string(each.why) != "unknown", "every refused member has a reason that exists");
    must(tests::decode_into(again, frame, partial).has_value(), "a partial that was valid can be copied out");
    const auto copy = make.encode(partial);
    must(copy.has_value(), "a decoded partial can be encoded");
    must_be_as_long_as_predicted(*copy, partial);
    must(tests::decode_into(again, copy->bytes(), partial).has_value(), "a partial survives a round trip");
    must(samples::copy_of(*make.encode(partial)) == samples::copy_of(*copy), "and stays the same");
  }

  // A control message. What does not travel (a reason of what was not rejected) may differ from the first copy only.
  void check(std::span<const std::byte> frame, const control& found) {
    const auto once = encoder::encode(found);
    must(once.has_value(), "a decoded control message can be encoded");
    must_be_as_long_as_predicted(*once, found);
    must(once->size() <= largest_control(frame.size()), "no control message is longer than its kind gets");
    const auto read_back = before.decode(once->bytes());
    must(read_back.has_value(), "a control message survives a round trip, and needs no layout");
    const auto twice = encoder::encode(std::visit(as_control, *read_back));
    must(twice.has_value() && samples::copy_of(*twice) == samples::copy_of(*once), "and stays the same");
    must(before.decode(frame).has_value(), "a layout decides nothing about a control message");
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static harness all;
  // A buffer of exactly this size one byte off alignment, then one that is aligned: the answers must agree.
  const auto input = std::as_bytes(std::span(data, size));
  samples::bytes shifted(1);
  shifted.insert(shifted.end(), input.begin(), input.end());
  const auto off = all.read.decode(std::span(shifted).subspan(1));
  const std::string complaint = off ? "" : off.error().text();
  const samples::bytes aligned(input.begin(), input.end());
  const auto found = all.read.decode(aligned);
  must(found.has_value() == complaint.empty(), "alignment decides nothing");
  if (found) {
    std::visit([&](const auto& view) { all.check(aligned, view); }, *found);
  } else {
    must(found.error().text() == complaint, "alignment changes no error");
    must(!found.error().place.empty() && !found.error().reason.empty(), "an error names a field and a reason");
  }
  return 0;
}
