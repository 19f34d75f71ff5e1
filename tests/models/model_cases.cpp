#include "tests/models/model_cases.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace furlong::tests {

namespace {

constexpr std::uint32_t features = 6;
constexpr std::uint32_t clients = 4;
constexpr std::uint32_t count = 12;
constexpr std::uint32_t classes = 3;

/// Every combination of the boolean options, each with and without l2 where there is such an option; every other
/// choice, and a second layer, by itself. Widths are small, and such that tensors may be tied.
std::vector<std::pair<std::string, option_values>> combinations(const models::model_entry& entry) {
  std::vector<std::pair<std::string, option_values>> all = {{entry.kind, defaults(entry.options)}};
  const auto branch = [&](const std::string& name, const option_value& value) {
    const auto before = all;
    for (auto [text, values] : before) {
      values.set(name, value);
      all.emplace_back(text + " +" + name, values);
    }
  };
  for (const auto& option : entry.options)
    for (const char* width : {"rank", "embedding", "hidden", "projection", "mlp"})
      if (option.name == width) all.front().second.set(width, std::int64_t{3});
  for (const auto& option : entry.options) {
    if (option.type == option_type::boolean) branch(option.name, true);
    if (option.name == "l2") {
      const std::size_t before = all.size();
      branch("l2", 0.15);
      for (std::size_t i = before; i < all.size(); ++i) all[i].second.set("l2_bias", 0.07);  // read where there is one
    }
  }
  const auto plain = all.front();
  const auto alone = [&](const std::string& name, const option_value& value, const std::string& text) {
    all.emplace_back(plain.first + " +" + text, plain.second).second.set(name, value);
  };
  for (const auto& option : entry.options) {
    for (const auto& choice : option.choices)
      if (option.name != "size" && option_value(choice) != option.fallback)
        alone(option.name, choice, option.name + "=" + choice);
    if (option.name == "layers") alone("layers", std::int64_t{2}, "layers");
  }
  return all;
}

/// Ratings, some items and users repeated.
models::examples ratings(random_stream& stream, bool one_client) {
  models::examples data;
  for (std::uint32_t i = 0; i < count; ++i) {
    data.features.push_back(i < 2 ? 1 : stream.below(features - 1));  // the last feature never occurs
    data.labels.push_back(static_cast<float>(1 + stream.below(5)));
    data.owners.push_back(one_client ? 0 : stream.below(clients - 1));
  }
  return data;
}

/// Classes on sparse vectors: one empty, one that names a feature twice.
models::examples sets(random_stream& stream, bool valued) {
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

models::examples classes_of_one_feature(random_stream& stream) {
  auto data = ratings(stream, true);
  data.owners.clear();
  for (auto& label : data.labels) label = label > 3 ? 1.0F : 0.0F;
  return data;
}

/// Items of which some are interactions and others are not.
models::examples interactions(random_stream& stream, bool one_client) {
  auto data = ratings(stream, one_client);
  for (auto& label : data.labels) label = label > 3 ? 1.0F : 0.0F;
  return data;
}

/// Pairs of an item with an interaction and one without.
models::examples ranked_pairs(random_stream& stream, bool one_client) {
  auto data = ratings(stream, one_client);
  const auto above = std::exchange(data.features, {});
  data.offsets.push_back(0);
  for (const auto item : above) {
    data.features.push_back(item);
    data.features.push_back(stream.below(features - 1));
    data.offsets.push_back(static_cast<std::uint32_t>(data.features.size()));
  }
  std::ranges::fill(data.labels, 1.0F);
  return data;
}

/// Ragged sequences of tokens below `bound`, each beginning with a start token and ending with an end token.
models::examples sentences(random_stream& stream, std::uint32_t bound) {
  models::examples data;
  data.offsets.push_back(0);
  for (const std::uint32_t inner : {3U, 0U, 5U, 1U, 3U}) {
    data.features.push_back(models::start_token);
    for (std::uint32_t i = 0; i < inner; ++i)
      data.features.push_back(i == 2 ? bound - 1 : models::unknown_token + stream.below(bound - models::unknown_token));
    data.features.push_back(models::end_token);
    data.offsets.push_back(static_cast<std::uint32_t>(data.features.size()));
    data.labels.push_back(0.0F);
  }
  return data;
}

/// Ragged texts of several users, labelled.
models::examples texts(random_stream& stream, std::uint32_t labels, bool one_client) {
  models::examples data;
  data.offsets.push_back(0);
  for (const std::uint32_t length : {4U, 1U, 6U, 2U, 4U}) {
    for (std::uint32_t i = 0; i < length; ++i) data.features.push_back(stream.below(vocabulary));
    data.offsets.push_back(static_cast<std::uint32_t>(data.features.size()));
    data.labels.push_back(static_cast<float>(stream.below(labels)));
    data.owners.push_back(one_client ? 0 : stream.below(clients - 1));
  }
  return data;
}

struct table {
  std::string name;
  models::data_facts facts;
  models::examples data;
};

/// What models may be built for and trained on.
std::vector<table> tables(random_stream& stream, bool one_client) {
  using models::objective;
  const std::uint32_t users = one_client ? 1 : clients;
  const models::data_facts rated{features, users, objective::squared_error};
  const models::data_facts binary{features, users, objective::logistic};
  const models::data_facts implicit{features, users, objective::ranking};
  return {
      {"", rated, ratings(stream, one_client)},
      {" one feature", binary, classes_of_one_feature(stream)},
      {" sets", binary, sets(stream, false)},
      {" sparse vectors", binary, sets(stream, true)},
      {" texts", {vocabulary, users, objective::logistic, 0, vocabulary}, texts(stream, 2, one_client)},
      {" classes",
       {vocabulary, users, objective::categorical, classes, vocabulary},
       texts(stream, classes, one_client)},
      {" sentences", {vocabulary, users, objective::next_token, 0, vocabulary}, sentences(stream, vocabulary)},
      {" buckets", {vocabulary + 2, users, objective::next_token, 0, vocabulary}, sentences(stream, vocabulary + 2)},
      {" interactions", implicit, interactions(stream, one_client)},
      {" pairs", implicit, ranked_pairs(stream, one_client)}};
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
  random_stream stream(21, purpose::test);
  for (const auto& entry : models::registered_models())
    for (const auto& one : tables(stream, one_client))
      for (const auto& [name, options] : combinations(entry)) {
        const auto built = entry.build(options, one.facts);
        if (!built) continue;  // a model for other data
        if (one.facts.labels == models::objective::ranking && (*built)->ranks_pairs() != (one.name == " pairs"))
          continue;
        std::vector<float> weights((*built)->tensors()->size());
        for (auto& weight : weights) weight = stream.uniform(-0.8F, 0.8F);
        cases.push_back({name + one.name, *built, one.data, std::move(weights)});
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
  std::uint32_t stamps[2][vocabulary + clients] = {};
  std::uint32_t touched[2][vocabulary + clients] = {};
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
