// Checks of buffers: tensors that a model moves by itself in training, such as the running statistics of BatchNorm.
#include <algorithm>

#include "federated/settings/algorithm_traits.hpp"
#include "scenarios/schema/draft.hpp"

namespace furlong::scenarios {

namespace {

constexpr auto instead = "use torch.nn.GroupNorm or LayerNorm";

/// A buffer that clients share; null: there is none.
const models::tensor_spec* shared_buffer(const draft& document, const models::layout& tensors) {
  const auto own = private_tensors(document);
  const auto is_shared = [&](const models::tensor_spec& spec) {
    return spec.buffer && std::ranges::find(own, spec.name) == own.end();
  };
  const auto found = std::ranges::find_if(tensors.tensors(), is_shared);
  return found == tensors.tensors().end() ? nullptr : &*found;
}

}  // namespace

void check_buffers(draft& document, const models::model& probe) {
  if (!document.good({"model.private"})) return;
  const auto* buffer = shared_buffer(document, *probe.tensors());
  if (buffer == nullptr) return;
  const auto name = toml_string(buffer->name);
  if (!document.algorithm->traits.sends)
    document.report("algorithm.kind",
                    "is " + toml_string(algorithm_word(document)) +
                        ", whose batches have examples of several clients, and " + name +
                        " is moved by the examples of one",
                    std::string("choose another algorithm, or ") + instead);
  for (const std::string key : {"privacy.noise", "algorithm.aggregation.noise"})
    if (document.exceeds(key))
      document.report(
          key,
          "would be added to " + name + ", which clients share: of running statistics it can make variances negative",
          "keep it on the clients (kind = \"furl\" with private = [" + name + "]), or " + std::string(instead));
}

}  // namespace furlong::scenarios
