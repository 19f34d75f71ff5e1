#include "wire/decode.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <capnp/message.h>
#include <cstring>
#include <kj/exception.h>
#include <string>
#include <utility>

#include "wire/furlong.capnp.h"

namespace furlong::wire {

static_assert(std::endian::native == std::endian::little, "Data fields are little-endian; swap them here");

namespace {

using std::to_string;
using words = std::span<const std::uint64_t>;

constexpr std::size_t word_bytes = sizeof(std::uint64_t);
constexpr std::size_t header_bytes = word_bytes;
// Cap'n Proto counts the root pointer against the traversal limit when it opens a message and when it follows it.
constexpr std::size_t root_counts_twice = 1;

// "FIELD: found FOUND, expected EXPECTED".
tl::unexpected<error> unexpected_content(std::string field, const std::string& found, const std::string& expected) {
  return fail(error::kind::runtime, std::move(field), "found " + found + ", expected " + expected);
}

// The only segment of a frame. Checks the frame's length; copies the frame only if it is misaligned.
result<words> segment_of(std::span<const std::byte> frame, std::vector<std::uint64_t>& aligned) {
  if (frame.size() < header_bytes)
    return unexpected_content("frame", to_string(frame.size()) + " bytes", "at least the 8 of its header");
  std::uint32_t header[2];
  std::memcpy(header, frame.data(), header_bytes);
  if (header[0] != 0) return unexpected_content("frame.segments", to_string(std::uint64_t{header[0]} + 1), "1");
  const std::size_t claimed = header_bytes + std::size_t{header[1]} * word_bytes;
  if (frame.size() != claimed)
    return unexpected_content("frame", to_string(frame.size()) + " bytes", to_string(claimed) + " as its header says");
  const auto body = frame.subspan(header_bytes);
  if (reinterpret_cast<std::uintptr_t>(body.data()) % word_bytes == 0)
    return words(reinterpret_cast<const std::uint64_t*>(body.data()), body.size() / word_bytes);
  aligned.resize(body.size() / word_bytes);
  if (!body.empty()) std::memcpy(aligned.data(), body.data(), body.size());
  return words(aligned);
}

// Data begins at a multiple of 8 bytes, since the segment does and Cap'n Proto places objects at whole words.
template <class T>
std::span<const T> as_values(capnp::Data::Reader data) {
  return {reinterpret_cast<const T*>(data.begin()), data.size() / sizeof(T)};
}

result<void> check_length(std::string field, capnp::Data::Reader data, std::size_t bytes) {
  if (data.size() != bytes)
    return unexpected_content(std::move(field), to_string(data.size()) + " bytes", to_string(bytes));
  return {};
}

result<void> check_layout(std::string field, capnp::Data::Reader found, const federated::digest& expected) {
  if (auto fits = check_length(field, found, expected.size()); !fits) return fits;
  if (!std::ranges::equal(std::span(found.begin(), found.size()), expected))
    return unexpected_content(std::move(field), federated::hex({found.begin(), found.size()}),
                              federated::hex(expected));
  return {};
}

federated::task_id task_of(schema::Task::Reader from) {
  return {from.getRun(), from.getVersion(), from.getClient(), from.getAttempt()};
}

std::string field_of(std::size_t tensor, const char* part) {
  return "update.tensors[" + to_string(tensor) + "]." + part;
}

result<void> check_rows(std::span<const std::uint32_t> rows, std::size_t tensor, const models::tensor_spec& spec) {
  if (rows.size() > spec.rows)
    return unexpected_content(field_of(tensor, "rows"), to_string(rows.size()) + " rows",
                              "at most " + to_string(spec.rows));
  const auto unsorted = std::ranges::adjacent_find(rows, std::ranges::greater_equal{});
  if (unsorted != rows.end())
    return unexpected_content(field_of(tensor, "rows"),
                              "row " + to_string(*(unsorted + 1)) + " after row " + to_string(*unsorted),
                              "strictly increasing rows");
  if (!rows.empty() && rows.back() >= spec.rows)
    return unexpected_content(field_of(tensor, "rows"), "row " + to_string(rows.back()),
                              "rows below " + to_string(spec.rows));
  return {};
}

result<tensor_view> read_tensor(schema::Tensor::Reader from, std::size_t tensor, const models::tensor_spec& spec) {
  tensor_view view;
  std::size_t row_count = spec.rows;
  switch (from.which()) {
    case schema::Tensor::DENSE: break;
    case schema::Tensor::ROWS: {
      const auto data = from.getRows();
      if (data.size() % sizeof(std::uint32_t) != 0)
        return unexpected_content(field_of(tensor, "rows"), to_string(data.size()) + " bytes", "a multiple of 4");
      view.by_rows = true;
      view.rows = as_values<std::uint32_t>(data);
      if (auto sound = check_rows(view.rows, tensor, spec); !sound) return tl::unexpected(sound.error());
      row_count = view.rows.size();
      break;
    }
    default:
      return unexpected_content("update.tensors[" + to_string(tensor) + "]",
                                "format " + to_string(static_cast<unsigned>(from.which())), "0 (dense) or 1 (rows)");
  }
  const auto values = from.getValues();
  if (auto fits = check_length(field_of(tensor, "values"), values, row_count * spec.cols * sizeof(float)); !fits)
    return tl::unexpected(fits.error());
  view.values = as_values<float>(values);
  return view;
}

result<void> read_folded(capnp::List<schema::Member>::Reader from, std::vector<federated::member>& into) {
  into.clear();
  into.reserve(from.size());
  for (const auto each : from) {
    const federated::member next{each.getClient(), each.getAttempt()};
    if (!into.empty() && next.client <= into.back().client)
      return unexpected_content("partial.folded",
                                "client " + to_string(next.client) + " after client " + to_string(into.back().client),
                                "clients strictly increasing");
    into.push_back(next);
  }
  return {};
}

result<void> read_refused(capnp::List<schema::Refused>::Reader from, std::vector<federated::refused_member>& into) {
  into.clear();
  into.reserve(from.size());
  for (const auto each : from) {
    const auto why = static_cast<std::size_t>(each.getWhy());
    if (why >= federated::rejection_count)
      return unexpected_content("partial.refused.why", to_string(why),
                                "less than " + to_string(federated::rejection_count));
    const federated::member who{each.getClient(), each.getAttempt()};
    if (!into.empty() && who.client < into.back().who.client)
      return unexpected_content(
          "partial.refused", "client " + to_string(who.client) + " after client " + to_string(into.back().who.client),
          "clients in order");
    into.push_back({who, static_cast<federated::rejection>(why)});
  }
  return {};
}

// Each read_ function below checks one message and returns a view that lies in the frame and in `room`. They call every
// getter that yields a struct, a list or Data once, because each call counts against the traversal limit. Cap'n Proto
// throws where a pointer is not sound.

result<message> read_broadcast(schema::Broadcast::Reader from, decoder::workspace& room) {
  if (auto same = check_layout("broadcast.layout", from.getLayout(), room.digest); !same)
    return tl::unexpected(same.error());
  const auto values = from.getValues();
  if (auto fits = check_length("broadcast.values", values, room.shape->size() * sizeof(float)); !fits)
    return tl::unexpected(fits.error());
  const auto reference = from.getReference();
  room.reference.resize(reference.size());
  for (unsigned i = 0; i < reference.size(); ++i) room.reference[i] = reference[i];
  return broadcast_view{from.getRun(), from.getVersion(), as_values<float>(values), room.reference};
}

result<message> read_update(schema::Update::Reader from, decoder::workspace& room) {
  if (auto same = check_layout("update.layout", from.getLayout(), room.digest); !same)
    return tl::unexpected(same.error());
  if (!from.hasTask()) return unexpected_content("update.task", "nothing", "a task");
  const auto tensors = from.getTensors();
  if (tensors.size() != room.shape->count())
    return unexpected_content("update.tensors", to_string(tensors.size()) + " tensors", to_string(room.shape->count()));
  room.tensors.clear();
  for (unsigned t = 0; t < tensors.size(); ++t) {
    auto view = read_tensor(tensors[t], t, (*room.shape)[t]);
    if (!view) return tl::unexpected(view.error());
    room.tensors.push_back(*view);
  }
  return update_view{task_of(from.getTask()), from.getWeight(), from.getExamples(), from.getLossSum(), room.tensors};
}

result<message> read_partial(schema::Partial::Reader from, decoder::workspace& room) {
  if (auto same = check_layout("partial.layout", from.getLayout(), room.digest); !same)
    return tl::unexpected(same.error());
  if (auto sound = read_folded(from.getFolded(), room.folded); !sound) return tl::unexpected(sound.error());
  if (auto sound = read_refused(from.getRefused(), room.refused); !sound) return tl::unexpected(sound.error());
  const auto sums = from.getSums();
  if (sums.size() % sizeof(std::int64_t) != 0)
    return unexpected_content("partial.sums", to_string(sums.size()) + " bytes", "a multiple of 8");
  partial_view view;
  view.run = from.getRun();
  view.version = from.getVersion();
  view.aggregator = from.getAggregator();
  view.weight = from.getWeight();
  view.examples = from.getExamples();
  view.loss_fixed = from.getLossFixed();
  view.folded = room.folded;
  view.refused = room.refused;
  view.sums = as_values<std::int64_t>(sums);
  return view;
}

result<message> read_message(schema::Message::Reader from, std::size_t frame_bytes, decoder::workspace& room) {
  if (from.getProtocol() != protocol_version)
    return unexpected_content("protocol", "version " + to_string(from.getProtocol()), to_string(protocol_version));
  switch (from.which()) {
    case schema::Message::TASK:
      if (!from.hasTask()) return unexpected_content("task", "nothing", "a task");
      return task_of(from.getTask());
    case schema::Message::BROADCAST: return read_broadcast(from.getBroadcast(), room);
    case schema::Message::UPDATE:
      if (frame_bytes > room.largest_update)
        return unexpected_content("update", to_string(frame_bytes) + " bytes",
                                  "at most " + to_string(room.largest_update) + " with this layout");
      return read_update(from.getUpdate(), room);
    case schema::Message::PARTIAL: return read_partial(from.getPartial(), room);
  }
  return unexpected_content("message", "kind " + to_string(static_cast<unsigned>(from.which())), "0 to 3");
}

std::string kind_of(const message& found) {
  constexpr std::array names{"a task", "a broadcast", "an update", "a partial aggregate"};
  return names[found.index()];
}

template <class View>
result<View> expect(result<message> found, const char* expected) {
  if (!found) return tl::unexpected(found.error());
  if (const auto* view = std::get_if<View>(&*found)) return *view;
  return unexpected_content("message", kind_of(*found), expected);
}

void copy_tensors(std::span<const tensor_view> from, const models::layout_ptr& shape, models::delta& into) {
  std::size_t row_count = 0;
  std::size_t value_count = 0;
  for (const auto& tensor : from) {
    row_count += tensor.rows.size();
    value_count += tensor.values.size();
  }
  into.shape = shape;
  into.pieces.resize(from.size());
  into.rows.resize(row_count);
  into.values.resize(value_count);
  auto row = into.rows.begin();
  auto value = into.values.begin();
  for (std::size_t t = 0; t < from.size(); ++t) {
    into.pieces[t] = {from[t].by_rows, static_cast<std::uint32_t>(row - into.rows.begin()),
                      static_cast<std::uint32_t>(from[t].rows.size()),
                      static_cast<std::size_t>(value - into.values.begin())};
    row = std::ranges::copy(from[t].rows, row).out;
    value = std::ranges::copy(from[t].values, value).out;
  }
}

}  // namespace

decoder::decoder(models::layout_ptr shared) {
  room_.digest = federated::layout_digest(*shared);
  room_.largest_update = largest_update(*shared);
  room_.shape = std::move(shared);
}

result<message> decoder::decode(std::span<const std::byte> frame) {
  const auto segment = segment_of(frame, room_.aligned);
  if (!segment) return tl::unexpected(segment.error());
  const kj::ArrayPtr<const capnp::word> only(reinterpret_cast<const capnp::word*>(segment->data()), segment->size());
  capnp::ReaderOptions limits;
  limits.traversalLimitInWords = segment->size() + root_counts_twice;
  limits.nestingLimit = 8;
  try {
    capnp::SegmentArrayMessageReader reader(kj::arrayPtr(&only, 1), limits);
    return read_message(reader.getRoot<schema::Message>(), frame.size(), room_);
  } catch (const kj::Exception& broken) {
    // Not kj::str(broken): that would look symbols of the stack trace up in a child process.
    return fail(error::kind::runtime, "frame", std::string("not sound: ") + broken.getDescription().cStr());
  }
}

result<federated::task_id> decoder::decode_task(std::span<const std::byte> frame) {
  return expect<federated::task_id>(decode(frame), "a task");
}

result<void> decoder::decode_broadcast(std::span<const std::byte> frame, federated::broadcast& into) {
  const auto view = expect<broadcast_view>(decode(frame), "a broadcast");
  if (!view) return tl::unexpected(view.error());
  into.run = view->run;
  into.version = view->version;
  if (into.model.shape() != room_.shape) into.model = models::shared_parameters(room_.shape);
  std::ranges::copy(view->values, into.model.values().begin());
  into.reference.assign(view->reference.begin(), view->reference.end());
  return {};
}

result<void> decoder::decode_update(std::span<const std::byte> frame, federated::client_update& into) {
  const auto view = expect<update_view>(decode(frame), "an update");
  if (!view) return tl::unexpected(view.error());
  into.id = view->id;
  into.weight = view->weight;
  into.examples = view->examples;
  into.loss_sum = view->loss_sum;
  copy_tensors(view->tensors, room_.shape, into.change);
  return {};
}

result<void> decoder::decode_partial(std::span<const std::byte> frame, federated::partial_aggregate& into) {
  const auto view = expect<partial_view>(decode(frame), "a partial aggregate");
  if (!view) return tl::unexpected(view.error());
  into.run = view->run;
  into.version = view->version;
  into.aggregator = view->aggregator;
  into.weight = view->weight;
  into.examples = view->examples;
  into.loss_fixed = view->loss_fixed;
  into.folded.assign(view->folded.begin(), view->folded.end());
  into.refused.assign(view->refused.begin(), view->refused.end());
  into.sums.words.assign(view->sums.begin(), view->sums.end());
  return {};
}

}  // namespace furlong::wire
