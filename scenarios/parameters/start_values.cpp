#include "scenarios/parameters/start_values.hpp"

#include <algorithm>
#include <cmath>

#include "models/class_model.hpp"
#include "models/feature_model.hpp"
#include "models/forwarding_model.hpp"
#include "scenarios/parameters/array_file.hpp"
#include "scenarios/python/problem.hpp"

namespace furlong::scenarios {

namespace {

using models::examples_view;
using models::tensor_view;

/// Another model but for its initial values.
/// @tparam Base model, class_model or feature_model
template <class Base>
class started_model : public models::forwarding_model<Base> {
 public:
  /// @param values of each tensor; empty: those of `like`
  started_model(std::shared_ptr<const Base> like, std::vector<std::vector<float>> values)
      : models::forwarding_model<Base>(std::move(like)), values_(std::move(values)) {}

  /// Rows of a table that are drawn alone are of clients that are not in the file.
  void initialize(std::size_t tensor, random_stream stream, std::span<float> values) const override {
    if (values_[tensor].size() == values.size())
      std::ranges::copy(values_[tensor], values.begin());
    else
      this->like_->initialize(tensor, stream, values);
  }

 private:
  std::vector<std::vector<float>> values_;
};

/// The same of a model that knows probabilities.
/// @tparam Base class_model or feature_model
template <class Base>
class started_class_model : public started_model<Base> {
 public:
  using started_model<Base>::started_model;
  std::uint32_t classes() const override { return this->like_->classes(); }
  void probabilities(std::span<const tensor_view> weights, const examples_view& batch,
                     std::span<float> out) const override {
    this->like_->probabilities(weights, batch, out);
  }
};

/// The same of one with features and a head.
class started_feature_model final : public started_class_model<models::feature_model> {
 public:
  using started_class_model::started_class_model;
  std::uint32_t width() const override { return like_->width(); }
  models::linear_head head() const override { return like_->head(); }
  void features(std::span<const tensor_view> weights, const examples_view& batch, std::span<float> out) const override {
    like_->features(weights, batch, out);
  }
  double gradient_with(std::span<const tensor_view> weights, const examples_view& batch,
                       const models::feature_loss& added, models::gradient_views& out) const override {
    return like_->gradient_with(weights, batch, added, out);
  }
};

std::span<const std::uint32_t> without_leading_ones(std::span<const std::uint32_t> shape) {
  while (!shape.empty() && shape.front() == 1) shape = shape.subspan(1);
  return shape;
}

/// Reads the values of a file for a model: its tensors, and what else a module's state has.
class start_reader {
 public:
  start_reader(const models::layout& tensors, const dataset& data, std::string file)
      : tensors_(tensors), data_(data), file_(std::move(file)), values_(tensors.count()), found_(tensors.count()) {}

  void add(const named_array& array) {
    if (const auto tensor = tensors_.find(array.name)) return add_tensor(*tensor, array);
    if (data_.problem != nullptr) {
      const auto& aliases = data_.problem->aliases();
      const auto alias = std::ranges::find(aliases, array.name, &std::pair<std::string, std::string>::first);
      if (alias != aliases.end()) {
        aliases_.emplace_back(&array, *tensors_.find(alias->second));
        return;
      }
      const auto& constants = data_.problem->constants();
      if (std::ranges::find(constants, array.name, &problem_constant::name) != constants.end())
        return constants_.push_back(&array);
    }
    refuse(array.name + " is no tensor of the model");
  }

  /// The values of all tensors; empty ones are those of the model. Fails with all that does not match.
  result<std::vector<std::vector<float>>> finish(std::span<const std::string> private_names) {
    for (const auto& [array, tensor] : aliases_)
      if (!found_[tensor])
        add_tensor(tensor, *array);
      else if (array->bytes != bytes_of(values_[tensor]))
        refuse(array->name + " and " + tensors_[tensor].name + " are one tensor of the model, and differ");
    for (std::size_t t = 0; t < tensors_.count(); ++t)
      if (!found_[t] && std::ranges::find(private_names, tensors_[t].name) == private_names.end())
        refuse(tensors_[t].name + " is missing");
    if (wrong_.empty()) return std::move(values_);
    return fail(error::kind::data, file_, "does not fit the model: " + wrong_,
                "name a file of such a model in model.start_from");
  }

  /// Constants that differ from those of the class, which are used.
  std::vector<std::string> other_constants() const {
    std::vector<std::string> names;
    if (constants_.empty()) return names;
    const auto own = data_.problem->constant_values();
    const auto& constants = data_.problem->constants();
    for (const auto* array : constants_) {
      const auto constant = std::ranges::find(constants, array->name, &problem_constant::name);
      const auto& value = own[static_cast<std::size_t>(constant - constants.begin())];
      const bool is_wider = array->is_float32() && constant->type->npy.empty();  // an .npz
      const bool equal =
          is_wider ? array->bytes == widened(value) : array->type == constant->type && array->bytes == value;
      if (!equal) names.push_back(array->name);
    }
    return names;
  }

 private:
  void refuse(const std::string& problem) { wrong_ += (wrong_.empty() ? "" : ", ") + problem; }

  void add_tensor(std::size_t tensor, const named_array& array) {
    if (found_[tensor]) refuse(array.name + " is there twice");
    found_[tensor] = true;
    const auto wanted = shape_of(data_, tensors_, tensor);
    if (!array.is_float32())
      return refuse(array.name + " is " + std::string(array.type->name) + ", not float32 (convert it)");
    if (!std::ranges::equal(without_leading_ones(array.shape), without_leading_ones(wanted)))
      return refuse(array.name + " is " + shape_text(array.shape) + ", not " + shape_text(wanted));
    values_[tensor].resize(array.bytes.size() / sizeof(float));
    if (!array.bytes.empty()) std::memcpy(values_[tensor].data(), array.bytes.data(), array.bytes.size());
    if (!std::ranges::all_of(values_[tensor], [](float value) { return std::isfinite(value); }))
      refuse(array.name + " has values that are not finite");
  }

  const models::layout& tensors_;
  const dataset& data_;
  std::string file_;
  std::vector<std::vector<float>> values_;
  std::vector<bool> found_;
  std::vector<std::pair<const named_array*, std::size_t>> aliases_;
  std::vector<const named_array*> constants_;
  std::string wrong_;
};

}  // namespace

result<std::shared_ptr<const models::model>> start_from(std::shared_ptr<const models::model> model,
                                                        const std::filesystem::path& file,
                                                        std::span<const std::string> private_names, const dataset& data,
                                                        std::vector<std::string>* notes) try {
  if (auto known = check_array_file_name(file, "model.start_from"); !known) return tl::unexpected(known.error());
  auto arrays = read_array_file(file);
  if (!arrays) {
    if (arrays.error().fix.empty()) arrays.error().fix = "name a file that exists in model.start_from";
    return tl::unexpected(arrays.error());
  }
  start_reader reader(*model->tensors(), data, file.string());
  for (const auto& array : *arrays) reader.add(array);
  auto values = reader.finish(private_names);
  if (!values) return tl::unexpected(values.error());
  if (notes != nullptr)
    for (const auto& name : reader.other_constants())
      notes->push_back("model.start_from: " + name +
                       " is not trained: it has the value that the class's module() gives it, not that of the file");
  if (auto with_features = std::dynamic_pointer_cast<const models::feature_model>(model))
    return std::make_shared<const started_feature_model>(std::move(with_features), std::move(*values));
  if (auto of_classes = std::dynamic_pointer_cast<const models::class_model>(model))
    return std::make_shared<const started_class_model<models::class_model>>(std::move(of_classes), std::move(*values));
  return std::make_shared<const started_model<models::model>>(std::move(model), std::move(*values));
} catch (const models::model_failure& failed) {
  return tl::unexpected(failed.why);
}

result<void> check_start_on_nodes(const std::filesystem::path& file, std::span<const std::string> private_names) {
  const auto arrays = read_array_file(file);
  if (!arrays) return tl::unexpected(arrays.error());
  for (const auto& view : *arrays)
    if (std::ranges::find(private_names, view.name) != private_names.end())
      return fail(error::kind::usage, file.string(),
                  "has first values of the private tensor " + view.name + ", and nodes do not get the file",
                  "write it without private ones: furlong export --model without --client");
  return {};
}

}  // namespace furlong::scenarios
