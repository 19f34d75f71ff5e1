#include "models/layout.hpp"

#include <algorithm>

namespace furlong::models {

layout::layout(std::vector<tensor_spec> specs) : specs_(std::move(specs)) {
  offsets_.reserve(specs_.size() + 1);
  std::size_t next = 0;
  for (const auto& spec : specs_) {
    offsets_.push_back(next);
    next += spec.size();
  }
  offsets_.push_back(next);
}

std::optional<std::size_t> layout::find(std::string_view name) const {
  const auto found = std::ranges::find(specs_, name, &tensor_spec::name);
  if (found == specs_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - specs_.begin());
}

std::string layout::signature() const {
  std::string text;
  for (const auto& spec : specs_)
    text += spec.name + ' ' + std::to_string(spec.rows) + ' ' + std::to_string(spec.cols) +
            (spec.buffer ? " buffer\n" : "\n");
  return text;
}

namespace {

std::string names_of(const layout& tensors) {
  std::string list;
  for (const auto& spec : tensors.tensors()) list += (list.empty() ? "" : ", ") + spec.name;
  return list;
}

}  // namespace

result<partition> split(const layout_ptr& model, std::span<const std::string> private_names) {
  std::vector<bool> is_private(model->count(), false);
  for (const auto& name : private_names) {
    const auto tensor = model->find(name);
    if (!tensor)
      return fail(error::kind::usage, "model.private", "the model has no tensor \"" + name + "\"",
                  "name some of: " + names_of(*model));
    if (is_private[*tensor])
      return fail(error::kind::usage, "model.private", "tensor \"" + name + "\" is named twice", "name it once");
    if ((*model)[*tensor].index == row_index::by_client)
      return fail(error::kind::usage, "model.private", "tensor \"" + name + "\" is a table over all clients",
                  "set user_table = false to give each client its own");
    is_private[*tensor] = true;
  }
  std::vector<tensor_spec> shared;
  std::vector<tensor_spec> own;
  partition parts;
  parts.model = model;
  for (std::size_t t = 0; t < model->count(); ++t) {
    auto& side = is_private[t] ? own : shared;
    parts.slots.push_back({is_private[t], side.size()});
    side.push_back((*model)[t]);
    if (is_private[t]) parts.own_tensors.push_back(t);
    if ((*model)[t].buffer) {
      parts.buffers.push_back(t);
      continue;
    }
    parts.all_tensors.push_back(t);
    (is_private[t] ? parts.private_tensors : parts.shared_tensors).push_back(t);
  }
  if (parts.shared_tensors.empty())
    return fail(error::kind::usage, "model.private", "every trained tensor is private, so nothing is left to federate",
                "leave at least one of " + names_of(*model) + " shared");
  parts.shared = parts.down = parts.up = std::make_shared<layout>(std::move(shared));
  parts.reported = parts.server = std::make_shared<layout>(std::vector<tensor_spec>{});
  parts.private_ = std::make_shared<layout>(std::move(own));
  return parts;
}

void moved_buffers(const partition& parts, std::span<const std::size_t> tensors, std::vector<std::size_t>& out) {
  out.clear();
  if (parts.buffers.empty() || tensors.empty()) return;
  bool shared_moves = false;
  bool private_moves = parts.private_tensors.empty();
  for (const auto t : tensors)
    if (!(*parts.model)[t].buffer) (parts.slots[t].is_private ? private_moves : shared_moves) = true;
  for (const auto t : parts.buffers)
    if ((parts.slots[t].is_private ? private_moves : shared_moves) || std::ranges::find(tensors, t) != tensors.end())
      out.push_back(t);
}

}  // namespace furlong::models
