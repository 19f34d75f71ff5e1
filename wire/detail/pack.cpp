#include "wire/detail/pack.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "wire/detail/zstd.hpp"

namespace furlong::wire::detail {

namespace {

result<void> check_rounded(const std::string& field, bool exact, federated::number_format numbers) {
  if (exact) return {};
  return refuse(field, "holds numbers that were not rounded to " + std::string(to_string(numbers)));
}

// Takes what is packed already.
payload finish_payload(std::vector<std::byte> packed, bool zstd) {
  if (!zstd) return {std::move(packed), false};
  auto shorter = deflate(packed);
  if (shorter.empty()) return {std::move(packed), false};
  return {std::move(shorter), true};
}

// The values of a tensor in the order in which they travel, and their rows.
result<std::vector<float>> travelling_values(const models::delta& change, std::size_t tensor, update_format format,
                                             packed_tensor& target) {
  const auto& spec = (*change.shape)[tensor];
  const auto values = change.values_of(tensor);
  if (!change.pieces[tensor].by_rows) return std::vector<float>(values.begin(), values.end());
  const auto order = sorted_rows(change, tensor);
  if (!order) return tl::unexpected(order.error());
  target.by_rows = format == update_format::sparse;
  std::vector<float> travelling(target.by_rows ? values.size() : spec.size(), 0.0F);
  if (target.by_rows)
    for (const auto& each : *order) target.rows.push_back(each.row);
  for (std::size_t i = 0; i < order->size(); ++i) {
    const std::size_t place = target.by_rows ? i : (*order)[i].row;
    std::ranges::copy(values.subspan((*order)[i].place * std::size_t{spec.cols}, spec.cols),
                      travelling.begin() + static_cast<std::ptrdiff_t>(place * spec.cols));
  }
  return travelling;
}

}  // namespace

tl::unexpected<error> refuse(std::string field, std::string reason) {
  return fail(error::kind::runtime, std::move(field), std::move(reason));
}

std::string field_of(std::size_t tensor, const char* part) {
  return "update.tensors[" + std::to_string(tensor) + "]." + part;
}

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

result<payload> pack_model(const models::shared_parameters& model, const packing& scheme) {
  const auto& shape = *model.shape();
  std::size_t size = 0;
  for (const auto& spec : shape.tensors())
    size += federated::packed_size(numbers_of(spec, scheme.numbers), spec.size());
  std::vector<std::byte> packed(size);
  std::size_t position = 0;
  for (std::size_t t = 0; t < shape.count(); ++t) {
    const auto numbers = numbers_of(shape[t], scheme.numbers);
    const std::size_t bytes = federated::packed_size(numbers, shape[t].size());
    const bool exact = federated::pack(model.tensor(t), numbers, std::span(packed).subspan(position, bytes));
    if (auto sound = check_rounded("broadcast.values of " + shape[t].name, exact, scheme.numbers); !sound)
      return tl::unexpected(sound.error());
    position += bytes;
  }
  return finish_payload(std::move(packed), scheme.zstd);
}

result<packed_tensor> pack_tensor(const models::delta& change, std::size_t tensor, update_format format,
                                  const packing& scheme) {
  packed_tensor made;
  const auto values = travelling_values(change, tensor, format, made);
  if (!values) return tl::unexpected(values.error());
  const auto numbers = numbers_of((*change.shape)[tensor], scheme.numbers);
  std::vector<std::byte> packed(federated::packed_size(numbers, values->size()));
  const bool exact = federated::pack(*values, numbers, packed);
  if (auto sound = check_rounded(field_of(tensor, "values"), exact, scheme.numbers); !sound)
    return tl::unexpected(sound.error());
  made.values = finish_payload(std::move(packed), scheme.zstd);
  return made;
}

}  // namespace furlong::wire::detail
