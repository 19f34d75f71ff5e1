#include "tests/wire/samples.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include "tests/wire/control_samples.hpp"

namespace furlong::wire::samples {

namespace {

std::uint64_t any_number(random_stream& random) { return std::uint64_t{random()} << 32U | random(); }
float any_float(random_stream& random) { return std::bit_cast<float>(random()); }

std::vector<std::uint32_t> some_rows(std::uint32_t rows, random_stream& random) {
  std::vector<std::uint32_t> all(rows);
  std::iota(all.begin(), all.end(), 0U);
  random.shuffle(std::span(all));
  all.resize(random.below(rows + 1));
  return all;
}

void must(const result<void>& outcome) {
  if (!outcome) throw std::logic_error(outcome.error().text());
}

bytes changed(bytes frame, std::size_t at, std::uint8_t value) {
  frame[at] = std::byte{value};
  return frame;
}

}  // namespace

models::layout_ptr small_layout() {
  return std::make_shared<models::layout>(
      std::vector<models::tensor_spec>{{"items", 4, 2, models::row_index::by_feature}, {"bias", 1, 3}});
}

federated::task_id small_task() { return {0x1122334455667788, 9, 5, 1}; }

federated::broadcast small_broadcast() {
  federated::broadcast message{0x1122334455667788, 9, models::shared_parameters(small_layout()), {0.25, 4.0}};
  for (std::size_t i = 0; i < message.model.values().size(); ++i)
    message.model.values()[i] = 0.5F * static_cast<float>(i);
  return message;
}

federated::client_update small_update() {
  federated::client_update update{small_task(), 7, 12, 2.5, {small_layout(), {}, {}, {}}};
  update.change.pieces = {{true, 0, 2, 0}, {false, 0, 0, 4}};
  update.change.rows = {3, 1};
  update.change.values = {3.0F, -3.0F, 1.0F, -1.0F, 0.5F, 0.25F, 0.125F};
  return update;
}

federated::broadcast small_broadcast(federated::number_format numbers) {
  auto message = small_broadcast();
  random_stream rounding(1, purpose::test);
  must(federated::round_model(message.model, numbers, rounding));
  return message;
}

federated::client_update small_update(federated::number_format numbers) {
  auto update = small_update();
  models::delta carried;
  random_stream rounding(1, purpose::test);
  must(federated::round_change(update.change, carried, numbers, rounding));
  return update;
}

federated::broadcast even_broadcast() {
  auto message = small_broadcast();
  std::ranges::fill(message.model.values(), 0.5F);
  return message;
}

federated::client_update even_update() {
  auto update = small_update();
  update.change = models::to_dense(update.change);
  std::ranges::fill(update.change.values, 0.5F);
  return update;
}

federated::partial_aggregate small_partial() {
  federated::partial_aggregate partial;
  partial.run = 0x1122334455667788;
  partial.version = 9;
  partial.aggregator = 2;
  partial.folded = {{4, 0}, {5, 1}, {9, 0}};
  partial.refused = {{{6, 0}, federated::rejection::norm_bound}, {{6, 1}, federated::rejection::client_failed}};
  partial.examples = 40;
  partial.weight = 21;
  partial.loss_fixed = -3;
  partial.sums.words = {1, -1, INT64_MAX, INT64_MIN};
  return partial;
}

models::layout_ptr random_layout(random_stream& random) {
  std::vector<models::tensor_spec> specs(random.below(7));
  for (std::size_t t = 0; t < specs.size(); ++t) {
    auto& spec = specs[t];
    spec.name = "tensor " + std::to_string(t);
    switch (random.below(5)) {
      case 0: spec.rows = 0; break;
      case 1: spec.rows = 1; break;
      default: spec.rows = 1 + random.below(40);
    }
    spec.cols = random.below(6) == 0 ? 0 : 1 + random.below(9);
  }
  return std::make_shared<models::layout>(std::move(specs));
}

federated::client_update random_update(const models::layout_ptr& shape, random_stream& random) {
  federated::client_update update;
  update.id = {any_number(random), any_number(random), random(), random()};
  update.weight = random();
  update.examples = any_number(random);
  update.loss_sum = std::bit_cast<double>(any_number(random));
  auto& change = update.change;
  change.shape = shape;
  change.pieces.resize(shape->count());
  std::vector<std::size_t> order(shape->count());
  std::iota(order.begin(), order.end(), std::size_t{0});
  random.shuffle(std::span(order));
  for (const std::size_t t : order) {
    const auto& spec = (*shape)[t];
    auto& piece = change.pieces[t];
    piece.value_begin = change.values.size();
    std::size_t values = spec.size();
    if (random.below(3) != 0) {
      const auto rows = some_rows(spec.rows, random);
      piece = {true, static_cast<std::uint32_t>(change.rows.size()), static_cast<std::uint32_t>(rows.size()),
               change.values.size()};
      change.rows.insert(change.rows.end(), rows.begin(), rows.end());
      values = rows.size() * spec.cols;
    }
    for (std::size_t i = 0; i < values; ++i) change.values.push_back(any_float(random));
  }
  return update;
}

federated::broadcast random_broadcast(const models::layout_ptr& shape, random_stream& random) {
  federated::broadcast message{any_number(random), any_number(random), models::shared_parameters(shape), {}};
  for (float& value : message.model.values()) value = any_float(random);
  message.reference.resize(random.below(5));
  for (double& value : message.reference) value = std::bit_cast<double>(any_number(random));
  return message;
}

federated::partial_aggregate random_partial(random_stream& random) {
  federated::partial_aggregate partial;
  partial.run = any_number(random);
  partial.version = any_number(random);
  partial.aggregator = random();
  partial.examples = any_number(random);
  partial.weight = any_number(random);
  partial.loss_fixed = static_cast<std::int64_t>(any_number(random));
  std::uint32_t client = random.below(3);
  for (std::uint32_t i = random.below(20); i > 0; --i) {
    partial.folded.push_back({client, random()});
    client += 1 + random.below(100);
  }
  client = random.below(3);
  for (std::uint32_t i = random.below(20); i > 0; --i) {
    partial.refused.push_back(
        {{client, random()}, static_cast<federated::rejection>(random.below(federated::rejection_count))});
    client += random.below(3);
  }
  partial.sums.words.resize(random.below(50));
  for (auto& word : partial.sums.words) word = static_cast<std::int64_t>(any_number(random));
  return partial;
}

bytes copy_of(const encoded& frame) { return {frame.bytes().begin(), frame.bytes().end()}; }

namespace {

// Sound frames of all formats, and control messages.
std::vector<named_frame> newer_frames() {
  const encoder make(small_layout());
  std::vector<named_frame> frames;
  for (const auto numbers : {federated::number_format::float16, federated::number_format::int8}) {
    const std::string name(to_string(numbers));
    frames.push_back({"broadcast-" + name, copy_of(make.encode(small_broadcast(numbers), {numbers, false}).value())});
    const auto update = small_update(numbers);
    frames.push_back(
        {"update-sparse-" + name, copy_of(make.encode(update, update_format::sparse, {numbers, false}).value())});
  }
  const packing zstd{federated::number_format::float32, true};
  frames.push_back({"broadcast-zstd", copy_of(make.encode(even_broadcast(), zstd).value())});
  frames.push_back({"update-zstd", copy_of(make.encode(even_update(), update_format::dense, zstd).value())});
  for (const auto& [name, message] : small_controls())
    frames.push_back({std::string(name), copy_of(encoder::encode(message).value())});
  return frames;
}

}  // namespace

std::vector<named_frame> corpus() {
  const encoder make(small_layout());
  const bytes sparse = copy_of(make.encode(small_update(), update_format::sparse).value());
  const bytes partial = copy_of(make.encode(small_partial()).value());
  auto nobody = small_partial();
  nobody.folded.clear();
  nobody.refused.clear();
  nobody.sums.words.clear();
  bytes cut = sparse;
  cut.resize(cut.size() - 8);
  bytes shorter = cut;
  shorter[4] = std::byte{static_cast<std::uint8_t>(shorter.size() / 8 - 1)};
  std::vector<named_frame> all{
      {"task", copy_of(encoder::encode(small_task()))},
      {"broadcast", copy_of(make.encode(small_broadcast()).value())},
      {"update-sparse", sparse},
      {"update-dense", copy_of(make.encode(small_update(), update_format::dense).value())},
      {"partial", partial},
      {"partial-nobody", copy_of(make.encode(nobody).value())},
      {"damaged-protocol", changed(sparse, 16, 9)},
      {"damaged-kind", changed(sparse, 18, 9)},
      {"damaged-segments", changed(sparse, 0, 1)},
      {"damaged-claim", changed(sparse, 7, 0xFF)},
      {"damaged-layout", changed(sparse, 13 * 8, static_cast<std::uint8_t>(~std::to_integer<int>(sparse[13 * 8])))},
      {"damaged-rows", changed(sparse, 24 * 8, 3)},
      {"damaged-cut", cut},
      {"damaged-cut-header-agrees", shorter},
      {"damaged-pointer", changed(partial, 3 * 8 + 1, 0x7F)},
      {"empty", {}}};
  for (auto& each : newer_frames()) all.push_back(std::move(each));
  return all;
}

}  // namespace furlong::wire::samples
