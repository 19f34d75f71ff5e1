#include "wire/decode.hpp"

#include <algorithm>
#include <capnp/message.h>
#include <cstring>
#include <kj/exception.h>
#include <string>
#include <utility>

#include "models/digest.hpp"
#include "wire/detail/message_checker.hpp"
#include "wire/detail/pack.hpp"
#include "wire/detail/read_control.hpp"
#include "wire/detail/unpack.hpp"

namespace furlong::wire {

namespace {

using detail::as_values;
using detail::check_length;
using detail::field_of;
using detail::read_encoding;
using detail::read_packed;
using detail::unexpected_content;
using detail::unpack_into;
using detail::word_bytes;
using federated::number_format;
using std::to_string;
using words = std::span<const std::uint64_t>;

constexpr std::size_t header_bytes = word_bytes;
// Cap'n Proto counts the root pointer against the traversal limit when it opens a message and when it follows it.
constexpr std::size_t root_counts_twice = 1;

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

result<void> check_layout(std::string field, capnp::Data::Reader found, const digest& expected) {
  if (auto fits = check_length(field, found, expected.size()); !fits) return fits;
  if (!std::ranges::equal(std::span(found.begin(), found.size()), expected))
    return unexpected_content(std::move(field), hex({found.begin(), found.size()}), hex(expected));
  return {};
}

federated::task_id task_of(schema::Task::Reader reader) {
  return {reader.getRun(), reader.getVersion(), reader.getClient(), reader.getAttempt()};
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

// Takes room for the values of all tensors, so that spans of it stay where they are.
std::span<float> room_for_numbers(const models::layout& shape, decoder::workspace& room) {
  room.numbers.resize(shape.size());
  return room.numbers;
}

result<std::span<const float>> read_values(schema::Tensor::Reader reader, std::size_t tensor, std::size_t count,
                                           number_format numbers, decoder::workspace& room) {
  const auto packed = read_packed(field_of(tensor, "values"), reader.getValues(), reader.getZstd(),
                                  federated::packed_size(numbers, count), room.inflated);
  if (!packed) return tl::unexpected(packed.error());
  if (packing{numbers, reader.getZstd()}.plain())
    return std::span(reinterpret_cast<const float*>(packed->data()), count);
  const auto values = room_for_numbers(*room.up, room).subspan(room.up->offset(tensor), count);
  if (auto done = unpack_into(field_of(tensor, "values"), *packed, numbers, values); !done)
    return tl::unexpected(done.error());
  return values;
}

result<tensor_view> read_tensor(schema::Tensor::Reader reader, std::size_t tensor, number_format numbers,
                                decoder::workspace& room) {
  const auto& spec = (*room.up)[tensor];
  tensor_view view;
  std::size_t row_count = spec.rows;
  switch (reader.which()) {
    case schema::Tensor::DENSE: break;
    case schema::Tensor::ROWS: {
      const auto data = reader.getRows();
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
                                "format " + to_string(static_cast<unsigned>(reader.which())), "0 (dense) or 1 (rows)");
  }
  const auto values = read_values(reader, tensor, row_count * spec.cols, numbers_of(spec, numbers), room);
  if (!values) return tl::unexpected(values.error());
  view.values = *values;
  return view;
}

result<void> read_folded(capnp::List<schema::Member>::Reader reader, std::vector<federated::member>& into) {
  into.clear();
  into.reserve(reader.size());
  for (const auto each : reader) {
    const federated::member next{each.getClient(), each.getAttempt()};
    if (!into.empty() && next.client <= into.back().client)
      return unexpected_content("partial.folded",
                                "client " + to_string(next.client) + " after client " + to_string(into.back().client),
                                "clients strictly increasing");
    into.push_back(next);
  }
  return {};
}

result<void> read_refused(capnp::List<schema::Refused>::Reader reader, std::vector<federated::refused_member>& into) {
  into.clear();
  into.reserve(reader.size());
  for (const auto each : reader) {
    const auto why = static_cast<std::size_t>(each.getWhy());
    if (why >= federated::rejection_count)
      return unexpected_content("partial.refused.why", to_string(why),
                                "less than " + to_string(federated::rejection_count));
    const federated::member member{each.getClient(), each.getAttempt()};
    if (!into.empty() && member.client < into.back().who.client)
      return unexpected_content(
          "partial.refused",
          "client " + to_string(member.client) + " after client " + to_string(into.back().who.client),
          "clients in order");
    into.push_back({member, static_cast<federated::rejection>(why)});
  }
  return {};
}

// Each read_ function below checks one message and returns a view that lies in the frame and in `room`. They call every
// getter that yields a struct, a list or Data once, because each call counts against the traversal limit. Cap'n Proto
// throws where a pointer is not sound.

// All tensors of a broadcast that came packed, one after another.
result<std::span<const float>> unpack_model(std::span<const std::byte> packed, number_format numbers,
                                            decoder::workspace& room) {
  const auto& shape = *room.down;
  const auto values = room_for_numbers(shape, room);
  for (std::size_t t = 0; t < shape.count(); ++t) {
    const auto format = numbers_of(shape[t], numbers);
    const auto target = values.subspan(shape.offset(t), shape[t].size());
    const auto source = packed.first(federated::packed_size(format, target.size()));
    if (auto done = unpack_into("broadcast.values", source, format, target); !done) return tl::unexpected(done.error());
    packed = packed.subspan(source.size());
  }
  return values;
}

result<std::span<const float>> read_model(schema::Broadcast::Reader reader, decoder::workspace& room) {
  const auto numbers = read_encoding("broadcast.encoding", reader.getEncoding());
  if (!numbers) return tl::unexpected(numbers.error());
  std::size_t bytes = 0;
  for (const auto& spec : room.down->tensors()) bytes += packed_size(numbers_of(spec, *numbers), spec.size());
  const auto packed = read_packed("broadcast.values", reader.getValues(), reader.getZstd(), bytes, room.inflated);
  if (!packed) return tl::unexpected(packed.error());
  if (packing{*numbers, reader.getZstd()}.plain())
    return std::span(reinterpret_cast<const float*>(packed->data()), room.down->size());
  return unpack_model(*packed, *numbers, room);
}

result<message> read_broadcast(schema::Broadcast::Reader reader, decoder::workspace& room) {
  if (auto same = check_layout("broadcast.layout", reader.getLayout(), room.down_digest); !same)
    return tl::unexpected(same.error());
  const auto values = read_model(reader, room);
  if (!values) return tl::unexpected(values.error());
  const auto reference = reader.getReference();
  if (room.rule && reference.size() > 0 && reference.size() != room.rule->reference)
    return unexpected_content("broadcast.reference", to_string(reference.size()) + " numbers",
                              to_string(room.rule->reference) + " or none");
  room.reference.resize(reference.size());
  for (unsigned i = 0; i < reference.size(); ++i) room.reference[i] = reference[i];
  const federated::update_limits limits{reader.getNormLimit(), reader.getRowLimit(), reader.getWeightLimit()};
  return broadcast_view{reader.getRun(), reader.getVersion(), *values, room.reference, limits};
}

result<message> read_masked_update(schema::MaskedUpdate::Reader reader, const decoder::workspace& room) {
  const auto same = check_layout("update.layout", reader.getLayout(), room.up_digest);
  if (!same) return tl::unexpected(same.error());
  if (!reader.hasTask()) return unexpected_content("update.task", "nothing", "a task");
  const auto masked = reader.getWords();
  if (masked.size() == 0 || masked.size() % sizeof(std::int64_t) != 0)
    return unexpected_content("update.words", to_string(masked.size()) + " bytes", "a multiple of 8");
  update_view view;
  view.id = task_of(reader.getTask());
  view.words = as_values<std::int64_t>(masked);
  view.masked_for = reader.getVersion();
  return view;
}

result<void> check_update_size(std::size_t frame_bytes, std::size_t most) {
  if (frame_bytes <= most) return {};
  return unexpected_content("update", to_string(frame_bytes) + " bytes",
                            "at most " + to_string(most) + " with this layout");
}

result<message> read_update(schema::Update::Reader reader, decoder::workspace& room) {
  if (auto same = check_layout("update.layout", reader.getLayout(), room.up_digest); !same)
    return tl::unexpected(same.error());
  if (!reader.hasTask()) return unexpected_content("update.task", "nothing", "a task");
  const auto numbers = read_encoding("update.encoding", reader.getEncoding());
  if (!numbers) return tl::unexpected(numbers.error());
  const auto tensors = reader.getTensors();
  if (tensors.size() != room.up->count())
    return unexpected_content("update.tensors", to_string(tensors.size()) + " tensors", to_string(room.up->count()));
  room.tensors.clear();
  for (unsigned t = 0; t < tensors.size(); ++t) {
    auto view = read_tensor(tensors[t], t, *numbers, room);
    if (!view) return tl::unexpected(view.error());
    room.tensors.push_back(*view);
  }
  return update_view{task_of(reader.getTask()), reader.getWeight(), reader.getExamples(),
                     reader.getLossSum(),       room.tensors,       {}};
}

result<message> read_partial(schema::Partial::Reader reader, decoder::workspace& room) {
  if (auto same = check_layout("partial.layout", reader.getLayout(), room.up_digest); !same)
    return tl::unexpected(same.error());
  if (auto sound = read_folded(reader.getFolded(), room.folded); !sound) return tl::unexpected(sound.error());
  if (auto sound = read_refused(reader.getRefused(), room.refused); !sound) return tl::unexpected(sound.error());
  const auto sums = reader.getSums();
  if (sums.size() % sizeof(std::int64_t) != 0)
    return unexpected_content("partial.sums", to_string(sums.size()) + " bytes", "a multiple of 8");
  partial_view view;
  view.run = reader.getRun();
  view.version = reader.getVersion();
  view.aggregator = reader.getAggregator();
  view.weight = reader.getWeight();
  view.examples = reader.getExamples();
  view.loss_fixed = reader.getLossFixed();
  view.folded = room.folded;
  view.refused = room.refused;
  view.sums = as_values<std::int64_t>(sums);
  return view;
}

const char* name_of(schema::Message::Which kind) {
  switch (kind) {
    case schema::Message::BROADCAST: return "a broadcast";
    case schema::Message::UPDATE: return "an update";
    case schema::Message::MASKED_UPDATE: return "a masked update";
    default: return "a partial aggregate";
  }
}

result<message> read_message(schema::Message::Reader reader, std::size_t frame_bytes, decoder::workspace& room) {
  if (reader.getProtocol() != protocol_version)
    return unexpected_content("protocol", "version " + to_string(reader.getProtocol()), to_string(protocol_version));
  if (detail::is_control(reader.which())) {
    auto found = detail::read_control(reader);
    if (!found) return tl::unexpected(found.error());
    return std::visit([](auto&& content) { return message(std::move(content)); }, std::move(*found));
  }
  const auto kind = static_cast<std::size_t>(reader.which());
  constexpr std::size_t last_kind = schema::Message::MASKED_UPDATE;
  static_assert(last_kind == std::variant_size_v<message>);  // a masked update is shown as an update
  if (kind > last_kind) return unexpected_content("message", "kind " + to_string(kind), "0 to " + to_string(last_kind));
  if (reader.which() != schema::Message::TASK && room.down == nullptr)
    return unexpected_content("message", name_of(reader.which()), "none of a run's layout before the run is known");
  switch (reader.which()) {
    case schema::Message::BROADCAST: return read_broadcast(reader.getBroadcast(), room);
    case schema::Message::UPDATE:
      if (auto fits = check_update_size(frame_bytes, room.largest_update); !fits) return tl::unexpected(fits.error());
      return read_update(reader.getUpdate(), room);
    case schema::Message::MASKED_UPDATE:
      if (room.rule)
        if (auto fits = check_update_size(frame_bytes, largest_masked_update(room.rule->words)); !fits)
          return tl::unexpected(fits.error());
      return read_masked_update(reader.getMaskedUpdate(), room);
    case schema::Message::PARTIAL: return read_partial(reader.getPartial(), room);
    default: break;
  }
  if (!reader.hasTask()) return unexpected_content("task", "nothing", "a task");
  return task_of(reader.getTask());
}

void copy_tensors(std::span<const tensor_view> tensors, const models::layout_ptr& shape, models::delta& into) {
  std::size_t row_count = 0;
  std::size_t value_count = 0;
  for (const auto& tensor : tensors) {
    row_count += tensor.rows.size();
    value_count += tensor.values.size();
  }
  into.shape = shape;
  into.pieces.resize(tensors.size());
  into.rows.resize(row_count);
  into.values.resize(value_count);
  auto row = into.rows.begin();
  auto value = into.values.begin();
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    into.pieces[t] = {tensors[t].by_rows, static_cast<std::uint32_t>(row - into.rows.begin()),
                      static_cast<std::uint32_t>(tensors[t].rows.size()),
                      static_cast<std::size_t>(value - into.values.begin())};
    row = std::ranges::copy(tensors[t].rows, row).out;
    value = std::ranges::copy(tensors[t].values, value).out;
  }
}

}  // namespace

decoder::decoder(models::layout_ptr down, models::layout_ptr up, std::optional<federated::rule_sizes> rule) {
  if (down == nullptr) return;
  room_.rule = rule;
  room_.down_digest = models::layout_digest(*down);
  room_.up_digest = up == down ? room_.down_digest : models::layout_digest(*up);
  room_.largest_update = largest_update(*up);
  room_.down = std::move(down);
  room_.up = std::move(up);
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

void decoder::copy(const broadcast_view& view, federated::broadcast& into) const {
  into.run = view.run;
  into.version = view.version;
  if (into.model.shape() != room_.down) into.model = models::shared_parameters(room_.down);
  std::ranges::copy(view.values, into.model.values().begin());
  into.reference.assign(view.reference.begin(), view.reference.end());
  into.limits = view.limits;
}

void decoder::copy(const update_view& view, federated::client_update& into) const {
  into.id = view.id;
  into.weight = view.weight;
  into.examples = view.examples;
  into.loss_sum = view.loss_sum;
  copy_tensors(view.tensors, room_.up, into.change);
  into.words.assign(view.words.begin(), view.words.end());
  into.masked_for = view.masked_for;
}

void decoder::copy(const partial_view& view, federated::partial_aggregate& into) const {
  into.run = view.run;
  into.version = view.version;
  into.aggregator = view.aggregator;
  into.weight = view.weight;
  into.examples = view.examples;
  into.loss_fixed = view.loss_fixed;
  into.folded.assign(view.folded.begin(), view.folded.end());
  into.refused.assign(view.refused.begin(), view.refused.end());
  into.sums.words.assign(view.sums.begin(), view.sums.end());
}

}  // namespace furlong::wire
