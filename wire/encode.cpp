#include "wire/encode.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "models/digest.hpp"
#include "wire/detail/frame.hpp"
#include "wire/detail/pack.hpp"

namespace furlong::wire {

namespace {

using detail::copy_into;
using detail::data_words;
using detail::field_of;
using detail::frame;
using detail::placed_row;
using detail::refuse;
using detail::sorted_rows;
using detail::word_bytes;
using federated::broadcast;
using federated::client_update;
using federated::number_format;
using federated::partial_aggregate;
using federated::task_id;

constexpr std::size_t longest_data = (std::size_t{1} << 29U) - 1;  // bytes; Cap'n Proto counts them in 29 bits
constexpr std::size_t most_members = (std::size_t{1} << 28U);      // words of a list of structs, within its 29 bits
constexpr std::size_t longest_frame = std::size_t{1} << 31U;       // bytes; a segment's limit is 4 GiB

capnp::Data::Reader as_data(const digest& hash) { return {hash.data(), hash.size()}; }

void fill(schema::Task::Builder builder, const task_id& id) {
  builder.setRun(id.run);
  builder.setVersion(id.version);
  builder.setClient(id.client);
  builder.setAttempt(id.attempt);
}

tl::unexpected<error> too_long(std::string field, std::size_t bytes) {
  return refuse(std::move(field),
                "holds " + std::to_string(bytes) + " bytes, at most " + std::to_string(longest_data) + " fit");
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

void copy_rows(capnp::Data::Builder target, std::span<const float> source, std::span<const placed_row> order,
               std::size_t cols, bool keep_places) {
  const std::size_t row_bytes = cols * sizeof(float);
  if (row_bytes == 0) return;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t place = keep_places ? order[i].row : i;
    std::memcpy(target.begin() + place * row_bytes, source.data() + order[i].place * cols, row_bytes);
  }
}

result<void> fill_tensor(schema::Tensor::Builder builder, const models::delta& change, std::size_t tensor,
                         update_format format) {
  const auto& spec = (*change.shape)[tensor];
  const auto values = change.values_of(tensor);
  if (!change.pieces[tensor].by_rows) {
    builder.setDense();
    copy_into(builder.initValues(static_cast<unsigned>(values.size_bytes())), values);
    return {};
  }
  auto order = sorted_rows(change, tensor);
  if (!order) return tl::unexpected(order.error());
  if (format == update_format::dense) {
    builder.setDense();  // the frame is zero where nothing is written
    copy_rows(builder.initValues(static_cast<unsigned>(spec.size() * sizeof(float))), values, *order, spec.cols, true);
    return {};
  }
  auto rows = builder.initRows(static_cast<unsigned>(order->size() * sizeof(std::uint32_t)));
  for (std::size_t i = 0; i < order->size(); ++i)
    std::memcpy(rows.begin() + i * sizeof(std::uint32_t), &(*order)[i].row, sizeof(std::uint32_t));
  copy_rows(builder.initValues(static_cast<unsigned>(values.size_bytes())), values, *order, spec.cols, false);
  return {};
}

result<void> check_partial(const partial_aggregate& partial) {
  const auto not_before = [](const auto& a, const auto& b) { return a.client >= b.client; };
  if (const auto found = std::ranges::adjacent_find(partial.folded, not_before); found != partial.folded.end())
    return refuse("partial.folded", "client " + std::to_string(found->client) + " does not stand before the next");
  if (!std::ranges::is_sorted(partial.refused, {}, [](const auto& each) { return each.who.client; }))
    return refuse("partial.refused", "is not sorted by client");
  const std::size_t members = partial.folded.size() + 2 * partial.refused.size();
  if (members > most_members) return refuse("partial.folded", "has too many members: " + std::to_string(members));
  const std::size_t sum_bytes = partial.sums.words.size() * sizeof(std::int64_t);
  if (sum_bytes > longest_data) return too_long("partial.sums", sum_bytes);
  return {};
}

// federated::rejection travels by number.
static_assert(static_cast<int>(schema::Rejection::CLIENT_FAILED) ==
                  static_cast<int>(federated::rejection::client_failed) &&
              federated::rejection_count == static_cast<std::size_t>(schema::Rejection::CLIENT_FAILED) + 1);

void fill_members(schema::Partial::Builder builder, const partial_aggregate& partial) {
  auto folded = builder.initFolded(static_cast<unsigned>(partial.folded.size()));
  for (unsigned i = 0; i < folded.size(); ++i) {
    auto member = folded[i];
    member.setClient(partial.folded[i].client);
    member.setAttempt(partial.folded[i].attempt);
  }
  auto refused = builder.initRefused(static_cast<unsigned>(partial.refused.size()));
  for (unsigned i = 0; i < refused.size(); ++i) {
    auto member = refused[i];
    member.setClient(partial.refused[i].who.client);
    member.setAttempt(partial.refused[i].who.attempt);
    member.setWhy(static_cast<schema::Rejection>(partial.refused[i].why));
  }
}

// federated::number_format travels by number.
static_assert(static_cast<int>(schema::Encoding::INT8) == static_cast<int>(number_format::int8));

void fill_tensor(schema::Tensor::Builder builder, const detail::packed_tensor& source) {
  builder.setZstd(source.values.zstd);
  builder.setDense();
  if (source.by_rows)
    copy_into(builder.initRows(static_cast<unsigned>(source.rows.size() * sizeof(std::uint32_t))),
              std::span<const std::uint32_t>(source.rows));
  copy_into(builder.initValues(static_cast<unsigned>(source.values.bytes.size())),
            std::span<const std::byte>(source.values.bytes));
}

void fill_head(schema::Update::Builder builder, const client_update& update, const digest& layout) {
  fill(builder.initTask(), update.id);
  builder.setWeight(update.weight);
  builder.setExamples(update.examples);
  builder.setLossSum(update.loss_sum);
  builder.setLayout(as_data(layout));
}

result<void> check_broadcast(const broadcast& message, const models::layout& shape,
                             const std::optional<federated::rule_sizes>& rule) {
  if (auto same = check_shape("broadcast.layout", message.model.shape(), shape); !same) return same;
  const std::size_t bytes = message.model.values().size_bytes();
  if (bytes > longest_data) return too_long("broadcast.values", bytes);
  if (rule && !message.reference.empty() && message.reference.size() != rule->reference)
    return refuse("broadcast.reference", "has " + std::to_string(message.reference.size()) +
                                             " numbers, and the aggregation rule's constants are " +
                                             std::to_string(rule->reference));
  return {};
}

}  // namespace

result<void> check_lengths(const models::layout& down, const models::layout& up, const federated::rule_sizes& rule) {
  const auto refuse_length = [](std::string subject, std::size_t bytes, std::size_t most, std::string fix) {
    return fail(error::kind::usage, std::move(subject),
                "takes " + std::to_string(bytes) + " bytes in a message, which holds " + std::to_string(most),
                std::move(fix));
  };
  const std::string smaller = "make the model smaller (model.*)";
  if (const auto bytes = down.size() * sizeof(float); bytes > longest_data)
    return refuse_length("the model", bytes, longest_data, smaller);
  std::size_t words = detail::update_words(up.count()) * word_bytes;
  for (const auto& spec : up.tensors()) {
    const auto bytes = std::max(spec.size(), std::size_t{spec.rows}) * sizeof(float);
    if (bytes > longest_data) return refuse_length("the tensor " + spec.name, bytes, longest_data, smaller);
    words += data_words(spec.size() * sizeof(float)) * word_bytes + data_words(spec.rows * sizeof(float)) * word_bytes;
  }
  if (words > longest_frame) return refuse_length("an update", words, longest_frame, smaller);
  const std::string advice = "choose another algorithm.aggregation.rule, or make the model smaller (model.*)";
  if (const auto bytes = rule.words * sizeof(std::int64_t); bytes > longest_data)
    return refuse_length("the sum of the updates", bytes, longest_data, advice);
  const auto model = largest_broadcast(down, rule.reference);
  if (model > longest_frame)
    return refuse_length("the model with the constants of the rule", model, longest_frame, advice);
  return {};
}

encoder::encoder(models::layout_ptr down, models::layout_ptr up, std::optional<federated::rule_sizes> rule)
    : down_(std::move(down)),
      up_(std::move(up)),
      rule_(rule),
      down_digest_(models::layout_digest(*down_)),
      up_digest_(up_ == down_ ? down_digest_ : models::layout_digest(*up_)) {}

encoder::encoder(const models::layout_ptr& shared) : encoder(shared, shared) {}

encoded encoder::encode(const task_id& task) {
  frame out(encoded_size(task));
  fill(out.message().initTask(), task);
  return encoded(out.finish());
}

result<encoded> encoder::encode(const broadcast& message, const packing& scheme) const {
  if (auto fits = check_broadcast(message, *down_, rule_); !fits) return tl::unexpected(fits.error());
  detail::payload packed;
  auto values = std::as_bytes(message.model.values());
  if (!scheme.plain()) {
    auto done = detail::pack_model(message.model, scheme);
    if (!done) return tl::unexpected(done.error());
    packed = std::move(*done);
    values = packed.bytes;
  }
  frame out(detail::broadcast_words(values.size(), message.reference.size()) * word_bytes);
  auto builder = out.message().initBroadcast();
  builder.setRun(message.run);
  builder.setVersion(message.version);
  builder.setLayout(as_data(down_digest_));
  builder.setEncoding(static_cast<schema::Encoding>(scheme.numbers));
  builder.setZstd(packed.zstd);
  builder.setNormLimit(message.limits.norm);
  builder.setRowLimit(message.limits.row);
  builder.setWeightLimit(message.limits.weight);
  copy_into(builder.initValues(static_cast<unsigned>(values.size())), values);
  auto reference = builder.initReference(static_cast<unsigned>(message.reference.size()));
  for (unsigned i = 0; i < reference.size(); ++i) reference.set(i, message.reference[i]);
  return encoded(out.finish());
}

result<encoded> encoder::encode_masked(const client_update& update) const {
  const auto bytes = update.words.size() * sizeof(std::int64_t);
  if (bytes > longest_data) return too_long("update.words", bytes);
  frame out(encoded_size(update, update_format::dense));
  auto builder = out.message().initMaskedUpdate();
  fill(builder.initTask(), update.id);
  builder.setLayout(as_data(up_digest_));
  copy_into(builder.initWords(static_cast<unsigned>(bytes)), std::span<const std::int64_t>(update.words));
  builder.setVersion(update.masked_for);
  return encoded(out.finish());
}

result<encoded> encoder::encode(const client_update& update, update_format format, const packing& scheme) const {
  if (!update.words.empty()) return encode_masked(update);
  if (auto fits = check_update(update, *up_); !fits) return tl::unexpected(fits.error());
  const std::size_t size = encoded_size(update, format);
  if (size > longest_frame) return refuse("update", "takes " + std::to_string(size) + " bytes, a frame at most 2 GiB");
  return scheme.plain() ? encode_plain(update, format) : encode_packed(update, format, scheme);
}

result<encoded> encoder::encode_plain(const client_update& update, update_format format) const {
  frame out(encoded_size(update, format));
  auto builder = out.message().initUpdate();
  fill_head(builder, update, up_digest_);
  auto tensors = builder.initTensors(static_cast<unsigned>(up_->count()));
  for (unsigned t = 0; t < tensors.size(); ++t)
    if (auto done = fill_tensor(tensors[t], update.change, t, format); !done) return tl::unexpected(done.error());
  return encoded(out.finish());
}

result<encoded> encoder::encode_packed(const client_update& update, update_format format, const packing& scheme) const {
  std::vector<detail::packed_tensor> packed;
  std::size_t size = detail::update_words(up_->count());
  for (std::size_t t = 0; t < up_->count(); ++t) {
    auto next = detail::pack_tensor(update.change, t, format, scheme);
    if (!next) return tl::unexpected(next.error());
    size += data_words(next->values.bytes.size()) + data_words(next->rows.size() * sizeof(std::uint32_t));
    packed.push_back(std::move(*next));
  }
  frame out(size * word_bytes);
  auto builder = out.message().initUpdate();
  fill_head(builder, update, up_digest_);
  builder.setEncoding(static_cast<schema::Encoding>(scheme.numbers));
  auto tensors = builder.initTensors(static_cast<unsigned>(up_->count()));
  for (unsigned t = 0; t < tensors.size(); ++t) fill_tensor(tensors[t], packed[t]);
  return encoded(out.finish());
}

result<encoded> encoder::encode(const partial_aggregate& partial) const {
  if (auto fits = check_partial(partial); !fits) return tl::unexpected(fits.error());
  frame out(encoded_size(partial));
  auto builder = out.message().initPartial();
  builder.setRun(partial.run);
  builder.setVersion(partial.version);
  builder.setAggregator(partial.aggregator);
  builder.setWeight(partial.weight);
  builder.setExamples(partial.examples);
  builder.setLossFixed(partial.loss_fixed);
  builder.setLayout(as_data(up_digest_));
  fill_members(builder, partial);
  const std::span<const std::int64_t> sums(partial.sums.words);
  copy_into(builder.initSums(static_cast<unsigned>(sums.size_bytes())), sums);
  return encoded(out.finish());
}

}  // namespace furlong::wire
