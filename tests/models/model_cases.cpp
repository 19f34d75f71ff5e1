#include "tests/models/model_cases.hpp"

#include <limits>

namespace furlong::tests {

namespace {

constexpr std::uint32_t features = 6;
constexpr std::uint32_t clients = 4;
constexpr std::uint32_t count = 12;

/// Every combination of the boolean options, each with and without l2 where there is such an option.
std::vector<std::pair<std::string, models::option_values>> combinations(const models::model_entry& entry) {
  std::vector<std::pair<std::string, models::option_values>> all = {{entry.kind, models::defaults(entry.options)}};
  const auto branch = [&](const std::string& name, const models::option_value& value) {
    const auto before = all;
    for (auto [text, values] : before) {
      values.set(name, value);
      all.emplace_back(text + " +" + name, values);
    }
  };
  for (const auto& option : entry.options) {
    if (option.name == "rank")
      for (auto& [text, values] : all) values.set("rank", std::int64_t{3});
    if (option.type == models::option_type::boolean) branch(option.name, true);
    if (option.name == "l2") {
      const std::size_t before = all.size();
      branch("l2", 0.15);
      for (std::size_t i = before; i < all.size(); ++i) all[i].second.set("l2_bias", 0.07);  // read where there is one
    }
  }
  return all;
}

/// Ratings, some items and users repeated.
models::examples ratings(models::random_stream& stream, bool one_client) {
  models::examples data;
  for (std::uint32_t i = 0; i < count; ++i) {
    data.features.push_back(i < 2 ? 1 : stream.below(features - 1));  // the last feature never occurs
    data.labels.push_back(static_cast<float>(1 + stream.below(5)));
    data.owners.push_back(one_client ? 0 : stream.below(clients - 1));
  }
  return data;
}

/// Classes on sparse vectors: one empty, one that names a feature twice.
models::examples classes(models::random_stream& stream, bool valued) {
  models::examples data;
  data.offsets.push_back(0);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t named = i == 3 ? 0 : 1 + stream.below(4);
    for (std::uint32_t f = 0; f < named; ++f) {
      data.features.push_back(i == 5 ? 2 : stream.below(features - 1));
      if (valued) data.values.push_back(stream.uniform(-2.0F, 2.0F));
    }
    data.offsets.push_back(static_cast<std::uint32_t>(data.features.size()));
    data.labels.push_back(static_cast<float>(stream.below(2)));
  }
  return data;
}

models::examples classes_of_one_feature(models::random_stream& stream) {
  auto data = ratings(stream, true);
  data.owners.clear();
  for (auto& label : data.labels) label = label > 3 ? 1.0F : 0.0F;
  return data;
}

}  // namespace

std::vector<models::tensor_view> model_case::views(std::vector<float>& values) const {
  std::vector<models::tensor_view> all;
  const auto& shape = *model->tensors();
  for (std::size_t t = 0; t < shape.count(); ++t)
    all.push_back({values.data() + shape.offset(t), shape[t].rows, shape[t].cols});
  return all;
}

std::vector<model_case> model_cases(bool one_client) {
  std::vector<model_case> cases;
  models::random_stream stream(21, models::purpose::test);
  for (const auto& entry : models::registered_models())
    for (const auto labels : {models::objective::squared_error, models::objective::logistic})
      for (const auto& [name, options] : combinations(entry)) {
        auto built = entry.build(options, {features, one_client ? 1 : clients, labels});
        if (!built) continue;  // the other kind of labels
        const auto add = [&, text = name](models::examples data, const std::string& with) {
          std::vector<float> weights((*built)->tensors()->size());
          for (auto& weight : weights) weight = stream.uniform(-0.8F, 0.8F);
          cases.push_back({text + with, *built, std::move(data), std::move(weights)});
        };
        if (labels == models::objective::squared_error) {
          add(ratings(stream, one_client), "");
        } else {
          add(classes_of_one_feature(stream), " one feature");
          add(classes(stream, false), " sets");
          add(classes(stream, true), " sparse vectors");
        }
      }
  return cases;
}

written_gradient gradient_of(const model_case& of, std::vector<float>& weights, const std::vector<bool>& frozen) {
  const auto& shape = *of.model->tensors();
  // What is not written must not be read: it starts as NaN.
  std::vector<float> buffer(shape.size(), std::numeric_limits<float>::quiet_NaN());
  std::vector<float*> targets;
  for (std::size_t t = 0; t < shape.count(); ++t)
    targets.push_back(frozen[t] ? nullptr : buffer.data() + shape.offset(t));
  std::uint32_t stamps[2][features + clients] = {};
  std::uint32_t touched[2][features + clients] = {};
  models::gradient_views out{targets, {stamps[0], touched[0], 1, 0}, {stamps[1], touched[1], 1, 0}};
  written_gradient result;
  result.loss = of.model->gradient(of.views(weights), of.data.view(), out);
  for (std::size_t t = 0; t < shape.count(); ++t) {
    auto& values = result.tensors.emplace_back();
    if (frozen[t]) continue;
    const float* from = targets[t];
    values.assign(from, from + shape[t].size());
    if (shape[t].index == models::row_index::none) continue;
    const auto& marks = shape[t].index == models::row_index::by_feature ? out.by_feature : out.by_client;
    for (std::size_t row = 0; row < shape[t].rows; ++row)
      if (marks.stamp[row] != marks.now)
        std::fill_n(values.begin() + static_cast<long>(row * shape[t].cols), shape[t].cols, 0.0F);
  }
  return result;
}

}  // namespace furlong::tests
