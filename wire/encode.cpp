#include "wire/encode.hpp"

#include <algorithm>
#include <bit>
#include <capnp/message.h>
#include <cstring>
#include <string>

#include "wire/furlong.capnp.h"

namespace furlong::wire {

static_assert(std::endian::native == std::endian::little, "Data fields are little-endian; swap them here");
static_assert(sizeof(capnp::word) == sizeof(std::uint64_t));

namespace {

using federated::broadcast;
using federated::client_update;
using federated::partial_aggregate;
using federated::task_id;

constexpr std::size_t longest_data = (std::size_t{1} << 29U) - 1;  // bytes; Cap'n Proto counts them in 29 bits
constexpr std::size_t longest_list = (std::size_t{1} << 28U);      // words of a list of structs, within its 29 bits
constexpr std::size_t longest_frame = std::size_t{1} << 31U;       // bytes; a segment's limit is 4 GiB

tl::unexpected<error> refuse(std::string field, std::string reason) {
  return fail(error::kind::runtime, std::move(field), std::move(reason));
}

// A frame under construction, of exactly the length that was predicted.
class frame {
 public:
  explicit frame(std::size_t bytes)
      : count_(bytes / sizeof(std::uint64_t)),
        words_(std::make_shared<std::uint64_t[]>(count_)),
        builder_(kj::arrayPtr(reinterpret_cast<capnp::word*>(words_.get() + 1), count_ - 1)) {
    // One segment: zero more of them, then its length.
    words_[0] = static_cast<std::uint64_t>(count_ - 1) << 32U;
  }

  schema::Message::Builder message() {
    auto root = builder_.initRoot<schema::Message>();
    root.setProtocol(protocol_version);
    return root;
  }

  std::pair<std::shared_ptr<const std::uint64_t[]>, std::size_t> finish() {
    builder_.requireFilled();
    return {words_, count_};
  }

 private:
  std::size_t count_;
  std::shared_ptr<std::uint64_t[]> words_;
  capnp::FlatMessageBuilder builder_;
};

template <class T>
void copy_into(capnp::Data::Builder to, std::span<const T> from) {
  if (!from.empty()) std::memcpy(to.begin(), from.data(), from.size_bytes());
}

capnp::Data::Reader as_data(const federated::digest& hash) { return {hash.data(), hash.size()}; }

void fill(schema::Task::Builder to, const task_id& id) {
  to.setRun(id.run);
  to.setVersion(id.version);
  to.setClient(id.client);
  to.setAttempt(id.attempt);
}

tl::unexpected<error> too_long(std::string field, std::size_t bytes) {
  return refuse(std::move(field),
                "holds " + std::to_string(bytes) + " bytes, at most " + std::to_string(longest_data) + " fit");
}

std::string field_of(std::size_t tensor, const char* part) {
  return "update.tensors[" + std::to_string(tensor) + "]." + part;
}

// A changed row and where its values stand in the update.
struct placed_row {
  std::uint32_t row;
  std::uint32_t place;
};

result<std::vector<placed_row>> sorted_rows(const models::delta& change, std::size_t tensor) {
  const auto rows = change.rows_of(tensor);
  const std::uint32_t bound = (*change.shape)[tensor].rows;
  std::vector<placed_row> order(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) order[i] = {rows[i], static_cast<std::uint32_t>(i)};
  if (!std::ranges::is_sorted(rows)) std::ranges::sort(order, {}, &placed_row::row);
  if (!order.empty() && order.back().row >= bound)
    return refuse(field_of(tensor, "rows"), "row " + std::to_string(order.back().row) + " of " + std::to_string(bound));
  const auto twice = std::ranges::adjacent_find(order, {}, &placed_row::row);
  if (twice != order.end())
    return refuse(field_of(tensor, "rows"), "row " + std::to_string(twice->row) + " is listed twice");
  return order;
}

result<void> check_piece(const models::delta& change, std::size_t tensor) {
  const auto& piece = change.pieces[tensor];
  const auto& spec = (*change.shape)[tensor];
  const std::size_t row_count = piece.by_rows ? piece.row_count : spec.rows;
  if (row_count > spec.rows)
    return refuse(field_of(tensor, "rows"),
                  "lists " + std::to_string(row_count) + " rows of " + std::to_string(spec.rows));
  if (piece.by_rows && (piece.row_begin > change.rows.size() || row_count > change.rows.size() - piece.row_begin))
    return refuse(field_of(tensor, "rows"), "reaches past the " + std::to_string(change.rows.size()) + " rows");
  const std::size_t values = row_count * spec.cols;
  if (piece.value_begin > change.values.size() || values > change.values.size() - piece.value_begin)
    return refuse(field_of(tensor, "values"), "reaches past the " + std::to_string(change.values.size()) + " values");
  if (std::max(spec.size(), std::size_t{spec.rows}) * sizeof(float) > longest_data)
    return too_long(field_of(tensor, "values"), spec.size() * sizeof(float));
  return {};
}

result<void> check_shape(const std::string& field, const models::layout_ptr& found, const models::layout& expected) {
  if (found == nullptr) return refuse(field, "has no layout");
  if (found.get() != &expected && found->signature() != expected.signature())
    return refuse(field, "is of another layout than this encoder's");
  return {};
}

result<void> check_update(const client_update& update, const models::layout& expected) {
  if (auto same = check_shape("update.layout", update.change.shape, expected); !same) return same;
  if (update.change.pieces.size() != expected.count())
    return refuse("update.tensors", "has " + std::to_string(update.change.pieces.size()) + " pieces for " +
                                        std::to_string(expected.count()) + " tensors");
  for (std::size_t t = 0; t < expected.count(); ++t)
    if (auto fits = check_piece(update.change, t); !fits) return fits;
  return {};
}

void copy_rows(capnp::Data::Builder to, std::span<const float> from, std::span<const placed_row> order,
               std::size_t cols, bool keep_places) {
  const std::size_t row_bytes = cols * sizeof(float);
  if (row_bytes == 0) return;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t place = keep_places ? order[i].row : i;
    std::memcpy(to.begin() + place * row_bytes, from.data() + order[i].place * cols, row_bytes);
  }
}

result<void> fill_tensor(schema::Tensor::Builder to, const models::delta& change, std::size_t tensor,
                         update_format format) {
  const auto& spec = (*change.shape)[tensor];
  const auto values = change.values_of(tensor);
  if (!change.pieces[tensor].by_rows) {
    to.setDense();
    copy_into(to.initValues(static_cast<unsigned>(values.size_bytes())), values);
    return {};
  }
  auto order = sorted_rows(change, tensor);
  if (!order) return tl::unexpected(order.error());
  if (format == update_format::dense) {
    to.setDense();  // the frame is zero where nothing is written
    copy_rows(to.initValues(static_cast<unsigned>(spec.size() * sizeof(float))), values, *order, spec.cols, true);
    return {};
  }
  auto rows = to.initRows(static_cast<unsigned>(order->size() * sizeof(std::uint32_t)));
  for (std::size_t i = 0; i < order->size(); ++i)
    std::memcpy(rows.begin() + i * sizeof(std::uint32_t), &(*order)[i].row, sizeof(std::uint32_t));
  copy_rows(to.initValues(static_cast<unsigned>(values.size_bytes())), values, *order, spec.cols, false);
  return {};
}

result<void> check_partial(const partial_aggregate& partial) {
  const auto not_before = [](const auto& a, const auto& b) { return a.client >= b.client; };
  if (const auto at = std::ranges::adjacent_find(partial.folded, not_before); at != partial.folded.end())
    return refuse("partial.folded", "client " + std::to_string(at->client) + " does not stand before the next");
  if (!std::ranges::is_sorted(partial.refused, {}, [](const auto& each) { return each.who.client; }))
    return refuse("partial.refused", "is not sorted by client");
  const std::size_t members = partial.folded.size() + 2 * partial.refused.size();
  if (members > longest_list) return refuse("partial.folded", "has too many members: " + std::to_string(members));
  const std::size_t sum_bytes = partial.sums.words.size() * sizeof(std::int64_t);
  if (sum_bytes > longest_data) return too_long("partial.sums", sum_bytes);
  return {};
}

// federated::rejection travels by number.
static_assert(static_cast<int>(schema::Rejection::CLIENT_FAILED) ==
                  static_cast<int>(federated::rejection::client_failed) &&
              federated::rejection_count == static_cast<std::size_t>(schema::Rejection::CLIENT_FAILED) + 1);

void fill_members(schema::Partial::Builder to, const partial_aggregate& partial) {
  auto folded = to.initFolded(static_cast<unsigned>(partial.folded.size()));
  for (unsigned i = 0; i < folded.size(); ++i) {
    auto member = folded[i];
    member.setClient(partial.folded[i].client);
    member.setAttempt(partial.folded[i].attempt);
  }
  auto refused = to.initRefused(static_cast<unsigned>(partial.refused.size()));
  for (unsigned i = 0; i < refused.size(); ++i) {
    auto member = refused[i];
    member.setClient(partial.refused[i].who.client);
    member.setAttempt(partial.refused[i].who.attempt);
    member.setWhy(static_cast<schema::Rejection>(partial.refused[i].why));
  }
}

}  // namespace

encoder::encoder(models::layout_ptr shared) : shape_(std::move(shared)), digest_(federated::layout_digest(*shape_)) {}

encoded encoder::encode(const task_id& task) {
  frame out(encoded_size(task));
  fill(out.message().initTask(), task);
  auto [words, count] = out.finish();
  return {std::move(words), count};
}

result<encoded> encoder::encode(const broadcast& message) const {
  if (auto same = check_shape("broadcast.layout", message.model.shape(), *shape_); !same)
    return tl::unexpected(same.error());
  const auto values = message.model.values();
  if (values.size_bytes() > longest_data) return too_long("broadcast.values", values.size_bytes());
  const std::size_t reference_bytes = message.reference.size() * sizeof(double);
  if (reference_bytes > longest_data) return too_long("broadcast.reference", reference_bytes);
  frame out(encoded_size(message));
  auto to = out.message().initBroadcast();
  to.setRun(message.run);
  to.setVersion(message.version);
  to.setLayout(as_data(digest_));
  copy_into(to.initValues(static_cast<unsigned>(values.size_bytes())), values);
  auto reference = to.initReference(static_cast<unsigned>(message.reference.size()));
  for (unsigned i = 0; i < reference.size(); ++i) reference.set(i, message.reference[i]);
  auto [words, count] = out.finish();
  return encoded(std::move(words), count);
}

result<encoded> encoder::encode(const client_update& update, update_format format) const {
  if (auto fits = check_update(update, *shape_); !fits) return tl::unexpected(fits.error());
  const std::size_t size = encoded_size(update, format);
  if (size > longest_frame) return refuse("update", "takes " + std::to_string(size) + " bytes, a frame at most 2 GiB");
  frame out(size);
  auto to = out.message().initUpdate();
  fill(to.initTask(), update.id);
  to.setWeight(update.weight);
  to.setExamples(update.examples);
  to.setLossSum(update.loss_sum);
  to.setLayout(as_data(digest_));
  auto tensors = to.initTensors(static_cast<unsigned>(shape_->count()));
  for (unsigned t = 0; t < tensors.size(); ++t)
    if (auto done = fill_tensor(tensors[t], update.change, t, format); !done) return tl::unexpected(done.error());
  auto [words, count] = out.finish();
  return encoded(std::move(words), count);
}

result<encoded> encoder::encode(const partial_aggregate& partial) const {
  if (auto fits = check_partial(partial); !fits) return tl::unexpected(fits.error());
  frame out(encoded_size(partial));
  auto to = out.message().initPartial();
  to.setRun(partial.run);
  to.setVersion(partial.version);
  to.setAggregator(partial.aggregator);
  to.setWeight(partial.weight);
  to.setExamples(partial.examples);
  to.setLossFixed(partial.loss_fixed);
  to.setLayout(as_data(digest_));
  fill_members(to, partial);
  const std::span<const std::int64_t> sums(partial.sums.words);
  copy_into(to.initSums(static_cast<unsigned>(sums.size_bytes())), sums);
  auto [words, count] = out.finish();
  return encoded(std::move(words), count);
}

}  // namespace furlong::wire
