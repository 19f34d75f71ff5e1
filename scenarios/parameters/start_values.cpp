#include "scenarios/parameters/start_values.hpp"

#include <algorithm>

#include "scenarios/parameters/array_file.hpp"
#include "scenarios/python/problem.hpp"

namespace furlong::scenarios {

namespace {

using models::examples_view;
using models::tensor_view;

/// Another model but for its initial values.
class started_model final : public models::model {
 public:
  /// @param values of each tensor; empty: those of `like`
  started_model(std::shared_ptr<const models::model> like, std::vector<std::vector<float>> values)
      : like_(std::move(like)), values_(std::move(values)) {}

  std::string_view kind() const override { return like_->kind(); }
  const models::layout_ptr& tensors() const override { return like_->tensors(); }
  models::objective objective() const override { return like_->objective(); }
  std::span<const models::model_metric> metrics() const override { return like_->metrics(); }
  /// Rows of a table that are drawn alone are of clients that are not in the file.
  void initialize(std::size_t tensor, random_stream stream, std::span<float> values) const override {
    if (values_[tensor].size() == values.size())
      std::ranges::copy(values_[tensor], values.begin());
    else
      like_->initialize(tensor, stream, values);
  }
  double gradient(std::span<const tensor_view> weights, const examples_view& batch,
                  models::gradient_views& out) const override {
    return like_->gradient(weights, batch, out);
  }
  void predict(std::span<const tensor_view> weights, const examples_view& batch, std::span<float> out) const override {
    like_->predict(weights, batch, out);
  }
  void score(std::span<const tensor_view> weights, const examples_view& batch,
             models::class_scores& to) const override {
    like_->score(weights, batch, to);
  }
  bool affine_in(std::span<const std::size_t> tensors) const override { return like_->affine_in(tensors); }
  bool affine_in_rows(std::span<const std::size_t> tensors) const override { return like_->affine_in_rows(tensors); }
  void affine_design(std::span<const tensor_view> weights, const examples_view& batch,
                     std::span<const std::size_t> tensors, std::span<float> x, std::span<float> offset) const override {
    like_->affine_design(weights, batch, tensors, x, offset);
  }

 private:
  std::shared_ptr<const models::model> like_;
  std::vector<std::vector<float>> values_;
};

std::span<const std::uint32_t> without_leading_ones(std::span<const std::uint32_t> shape) {
  while (!shape.empty() && shape.front() == 1) shape = shape.subspan(1);
  return shape;
}

}  // namespace

result<std::shared_ptr<const models::model>> start_from(std::shared_ptr<const models::model> model,
                                                        const std::filesystem::path& file,
                                                        std::span<const std::string> private_names,
                                                        const dataset& data) {
  if (auto known = check_array_file_name(file, "model.start_from"); !known) return tl::unexpected(known.error());
  auto arrays = read_array_file(file);
  if (!arrays) {
    if (arrays.error().fix.empty()) arrays.error().fix = "name a file that exists in model.start_from";
    return tl::unexpected(arrays.error());
  }
  const auto& tensors = *model->tensors();
  std::vector<std::vector<float>> values(tensors.count());
  std::vector<bool> found(tensors.count(), false);
  std::string wrong;
  const auto add = [&](const std::string& what) { wrong += (wrong.empty() ? "" : ", ") + what; };
  for (auto& one : *arrays) {
    const auto tensor = tensors.find(one.name);
    if (!tensor) {
      add(one.name + " is no tensor of the model");
      continue;
    }
    if (found[*tensor]) add(one.name + " is there twice");
    found[*tensor] = true;
    const auto wanted = shape_of(data, tensors, *tensor);
    if (std::ranges::equal(without_leading_ones(one.shape), without_leading_ones(wanted)))
      values[*tensor] = std::move(one.values);
    else
      add(one.name + " is " + shape_text(one.shape) + ", not " + shape_text(wanted));
  }
  for (std::size_t t = 0; t < tensors.count(); ++t)
    if (!found[t] && std::ranges::find(private_names, tensors[t].name) == private_names.end())
      add(tensors[t].name + " is missing");
  if (!wrong.empty())
    return fail(error::kind::data, file.string(), "does not fit the model: " + wrong,
                "name a file of such a model in model.start_from");
  return std::make_shared<const started_model>(std::move(model), std::move(values));
}

result<void> check_start_on_nodes(const std::filesystem::path& file, std::span<const std::string> private_names) {
  const auto arrays = read_array_file(file);
  if (!arrays) return tl::unexpected(arrays.error());
  for (const auto& one : *arrays)
    if (std::ranges::find(private_names, one.name) != private_names.end())
      return fail(error::kind::usage, file.string(),
                  "has first values of the private tensor " + one.name + ", and nodes do not get the file",
                  "write it without private ones: furlong export --model without --client");
  return {};
}

}  // namespace furlong::scenarios
