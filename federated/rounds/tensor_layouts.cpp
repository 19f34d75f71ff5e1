#include "federated/rounds/tensor_layouts.hpp"

#include <algorithm>
#include <cmath>

#include "federated/experiment/algorithm.hpp"
#include "federated/experiment/population.hpp"
#include "federated/experiment/quantized_traffic.hpp"
#include "federated/privacy/clipping.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/participation.hpp"

namespace furlong::federated {

namespace {

using models::row_index;
using models::tensor_spec;

// Cap'n Proto counts the bytes of one field in 29 bits.
constexpr std::size_t most_values = (std::size_t{1} << 27U) - 1;

constexpr auto unsent = "unsent.";

tl::unexpected<error> refuse(const std::string& what, std::string why, std::string fix) {
  return fail(error::kind::usage, what, std::move(why), std::move(fix));
}

bool is_at_server(place where) { return where == place::broadcast || where == place::shared || where == place::server; }
bool is_down(place where) { return where == place::broadcast || where == place::shared; }
bool is_up(place where) { return where == place::report || where == place::shared; }

/// The model must not use names of added tensors.
result<void> check_model_names(const models::layout& model) {
  for (const auto& spec : model.tensors())
    if (spec.name.find('/') != std::string::npos || spec.name.starts_with(unsent))
      return refuse("model tensor \"" + spec.name + "\"", "has a name that is reserved for added tensors",
                    "choose one without \"/\" that does not begin with \"" + std::string(unsent) + "\"");
  return {};
}

std::uint32_t rows_of(const models::layout& model, row_index index) {
  for (const auto& spec : model.tensors())
    if (spec.index == index) return spec.rows;
  return 0;
}

class layout_builder {
 public:
  layout_builder(experiment& e) : e_(e), kind_(e.settings.algorithm->kind) {}

  result<void> build(const std::vector<tensor_group>& groups) {
    auto& parts = e_.parts;
    parts.sends_model = e_.settings.algorithm->does->sends_model();
    for (const auto& group : groups) {
      if (auto sound = check(group); !sound) return sound;
      e_.groups.push_back({group});
    }
    if (!parts.sends_model && std::ranges::none_of(groups, [](const auto& group) { return is_up(group.where); }))
      return refuse("algorithm " + kind_, "sends neither the model nor a group", "let sends_model() be true");
    if (auto fits = check_settings(); !fits) return fits;
    std::vector<tensor_spec> down(parts.shared->tensors().begin(), parts.shared->tensors().end());
    auto up = parts.sends_model ? down : std::vector<tensor_spec>{};
    std::vector<tensor_spec> reported;
    std::vector<tensor_spec> server;
    for (auto& group : e_.groups) {
      if (is_down(group.where)) place_group(group, group.in_down, down);
      if (is_up(group.where)) place_group(group, group.in_up, up);
      if (is_up(group.where)) place_group(group, group.in_reported, reported);
      if (is_at_server(group.where)) place_group(group, group.in_server, server);
    }
    const auto make = [](std::vector<tensor_spec>& specs) {
      return std::make_shared<const models::layout>(std::move(specs));
    };
    if (down.size() > parts.shared->count()) parts.down = make(down);
    if (!reported.empty()) parts.up = make(up);
    if (!reported.empty()) parts.reported = make(reported);
    if (!server.empty()) parts.server = make(server);
    return {};
  }

  /// Adds kept groups after the model's private tensors and the unsent values.
  result<void> add_kept() {
    std::vector<tensor_spec> kept(e_.parts.private_->tensors().begin(), e_.parts.private_->tensors().end());
    const auto before = kept.size();
    for (auto& group : e_.groups)
      if (group.where == place::kept) place_group(group, group.in_private, kept);
    if (kept.size() > before) e_.parts.private_ = std::make_shared<const models::layout>(std::move(kept));
    for (const auto& [layout, what] : {std::pair(e_.parts.down, "a broadcast"),
                                       {e_.parts.up, "an update"},
                                       {e_.parts.server, "the server's state"},
                                       {e_.parts.private_, "a client's state"}})
      if (!e_.groups.empty() && layout->size() > most_values)
        return refuse("algorithm " + kind_,
                      "makes " + std::string(what) + " of " + std::to_string(layout->size()) + " values, and at most " +
                          std::to_string(most_values) + " fit",
                      "make the model smaller (model.*)");
    return {};
  }

 private:
  void place_group(const placed_group& group, std::size_t& at, std::vector<tensor_spec>& to) const {
    at = to.size();
    for (std::size_t i = 0; i < group.count(); ++i) {
      auto spec = group.copies_of.empty() ? group.specs[i] : (*e_.parts.model)[group.copies_of[i]];
      spec.name = kind_ + '/' + group.name + '/' + spec.name;
      spec.exact = group.exact || spec.buffer;
      spec.buffer = false;
      if (group.clients > 0) spec = {spec.name, group.clients, static_cast<std::uint32_t>(spec.size())};
      to.push_back(std::move(spec));
    }
  }

  result<void> check(const tensor_group& group) const {
    const auto what = "algorithm " + kind_ + ", group \"" + group.name + "\"";
    const auto bad = [&](std::string why) { return refuse(what, std::move(why), "correct the algorithm's tensors()"); };
    if (group.name.empty() || group.name.find('/') != std::string::npos) return bad("has no proper name");
    if (std::ranges::any_of(e_.groups, [&](const auto& one) { return one.name == group.name; }))
      return bad("is there twice");
    if (group.copies_of.empty() && group.specs.empty())
      return refuse(what, "has no tensors", "let it have some, or leave it out");
    if (!group.copies_of.empty() && !group.specs.empty()) return bad("has both copies and shapes of its own");
    if (!(group.max_norm > 0) || !std::isfinite(group.max_norm) || !std::isfinite(group.constant))
      return bad("has bounds that are no positive numbers");
    if (group.clients > 0 && e_.clients != nullptr && group.clients < e_.clients->facts().clients)
      return bad("has values for " + std::to_string(group.clients) + " clients, and there are more");
    const auto& model = *e_.parts.model;
    if (group.clients > 0 && group.where != place::broadcast)
      return bad("has values for each client, and is not broadcast");
    for (const auto t : group.copies_of) {
      if (t >= model.count()) return bad("copies a tensor that the model does not have");
      if (std::ranges::count(group.copies_of, t) > 1) return bad("copies \"" + model[t].name + "\" twice");
      if (group.where == place::kept && model[t].index == row_index::by_client)
        return refuse(what, "would keep \"" + model[t].name + "\", a table over all clients, on each of them",
                      "give each client its own (user_table = false)");
      if (group.first == first_value::received && group.where != place::kept && e_.parts.slots[t].is_private)
        return bad("begins as \"" + model[t].name + "\", which the server does not have");
    }
    for (const auto& spec : group.specs) {
      if (spec.name.empty() || spec.name.find('/') != std::string::npos)
        return bad("has a tensor without a proper name");
      if (spec.size() == 0) return bad("has the tensor \"" + spec.name + "\" without values");
      if (std::ranges::count(group.specs, spec.name, &tensor_spec::name) > 1)
        return bad("has the tensor \"" + spec.name + "\" twice");
      if (spec.index != row_index::none && spec.rows != rows_of(model, spec.index))
        return bad("has " + std::to_string(spec.rows) + " rows of \"" + spec.name + "\", and the model has " +
                   std::to_string(rows_of(model, spec.index)));
      if (group.where == place::kept && spec.index == row_index::by_client)
        return bad("would keep a table over all clients on each of them");
    }
    const bool is_drawn = group.first == first_value::random;
    if (is_drawn && (group.where == place::kept || group.where == place::report))
      return bad("begins with random values, and the server does not have it");
    if (is_drawn && e_.model->may_fail()) return bad("begins with random values, which this model does not draw");
    const bool as_model = is_drawn || group.first == first_value::received || group.first == first_value::initial;
    if (as_model && group.copies_of.empty()) return bad("begins as the model, and copies none of its tensors");
    if (group.first == first_value::initial && group.where != place::kept)
      return bad("begins as the model before the first round, and is not kept");
    if (group.where == place::kept && !e_.settings.algorithm->traits.keeps_state)
      return bad("is kept, and the algorithm's traits say that clients keep nothing");
    return {};
  }

  /// Checks settings that these groups do not support.
  [[nodiscard]] result<void> check_settings() const {
    const auto& settings = e_.settings;
    const auto& traits = settings.algorithm->traits;
    const auto is_weighted = [](const auto& one) { return is_up(one.where) && one.rule == sum_rule::mean; };
    if (settings.privacy->noise > 0 && std::ranges::any_of(e_.groups, is_weighted))
      return refuse("privacy.noise", "cannot hide a client: " + kind_ + " weighs what clients report by their examples",
                    "set it to 0");
    const auto& how = *settings.participation;
    if (!e_.parts.sends_model && how.mode == participation_mode::async && how.async == async_kind::model)
      return refuse("participation.update", "is \"model\", and clients of " + kind_ + " send none",
                    "write update = \"change\"");
    if (traits.needs_all_rows && rows_of(*e_.parts.shared, row_index::by_client) > 0)
      return refuse("model.kind",
                    "has a shared table over all clients, and tasks of " + kind_ + " work on whole tensors",
                    "give each client its own (user_table = false)");
    return {};
  }

  experiment& e_;
  const std::string& kind_;
};

}  // namespace

result<void> lay_out(experiment& e, std::span<const std::string> private_names) {
  auto parts = models::split(e.model->tensors(), private_names);
  if (!parts) return tl::unexpected(parts.error());
  e.parts = std::move(*parts);
  e.groups.clear();
  if (auto sound = check_model_names(*e.parts.model); !sound) return sound;
  layout_builder made(e);
  auto groups = e.settings.algorithm->does->tensors(*e.model, e.parts);
  for (auto& group : clip_groups(*e.settings.privacy)) groups.push_back(std::move(group));
  if (auto done = made.build(groups); !done) return done;
  if (carries_errors(e.settings)) add_unsent(e.parts);
  return made.add_kept();
}

models::shared_parameters initial_added(const experiment& e, const models::shared_parameters& model) {
  if (e.parts.server->count() == 0) return {};
  models::shared_parameters added(e.parts.server);
  for (std::uint32_t g = 0; g < e.groups.size(); ++g) {
    const auto& group = e.groups[g];
    for (std::size_t i = 0; group.in_server != placed_group::nowhere && i < group.count(); ++i) {
      const auto to = added.tensor(group.in_server + i);
      if (group.first == first_value::random) {
        const auto t = group.copies_of[i];
        e.model->initialize(t, {e.settings.seed, purpose::initialize_shared, 0, 1 + g, static_cast<std::uint32_t>(t)},
                            to);
        continue;
      }
      if (group.first == first_value::received) {
        const auto values = model.tensor(e.parts.slots[group.copies_of[i]].tensor);
        for (std::size_t copied = 0; copied < to.size(); copied += values.size())
          std::ranges::copy(values, to.begin() + static_cast<std::ptrdiff_t>(copied));
      } else
        std::ranges::fill(to, group.first == first_value::constant ? group.constant : 0.0F);
    }
  }
  e.settings.algorithm->does->set_first_values(e, model, added);
  return added;
}

}  // namespace furlong::federated
